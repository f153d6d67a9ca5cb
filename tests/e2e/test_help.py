# SPDX-License-Identifier: Apache-2.0
"""What brazectl says of itself: help, man page and completion are one table's."""

import re
import shutil
import subprocess

import pytest
from harness import ROOT, find_ctl

ROW = re.compile(r'^(COMMAND|OPTION)\("([^"]+)", "([^"]*)", "([^"]*)"\)$', re.M)
ROWS = ROW.findall((ROOT / "client/ctl/commands.def").read_text())
NAMES = sorted({name for _, name, _, _ in ROWS})


def ctl(*arguments):
    return subprocess.run([find_ctl(), *arguments], capture_output=True, text=True)


def completed(*words):
    """What bash offers behind these words, of which the last may be begun."""
    script = (f"{ctl('completion').stdout}\nCOMP_WORDS=(\"$@\"); COMP_CWORD=$(($#-1)); _brazectl; "
              "echo \"${COMPREPLY[*]}\"")
    done = subprocess.run(["bash", "-uc", script, "bash", "brazectl", *words], check=True,
                          capture_output=True, text=True)
    return done.stdout.split()


def test_help_has_every_row():
    text = ctl("--help").stdout
    assert len(ROWS) > 15
    for _, name, arguments, what in ROWS:
        assert re.search(rf"^  {re.escape((name + ' ' + arguments).rstrip())} +{re.escape(what)}$",
                         text, re.M), name


def test_every_command_is_one(daemon):
    for name in NAMES:
        if name == "page":  # it ends with a signal
            with subprocess.Popen([find_ctl(), "--socket", daemon.status_socket, name], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True) as server:
                assert server.stdout.readline().startswith("http://127.0.0.1:")
                server.terminate()
            continue
        done = ctl("--socket", daemon.status_socket, *(() if name[0] == "-" else (name,)))
        bare = any(n == name and arguments[:1] in ("", "[") for _, n, arguments, _ in ROWS)
        assert name[0] == "-" or done.returncode in ((0, 1) if bare else (2,)), name
        assert "no command" not in done.stderr
    wrong = ctl("nonsense")
    assert wrong.returncode == 2 and "no command is called nonsense" in wrong.stderr
    assert ctl("completion", "more").returncode == 2


def test_bash_completes_them():
    assert sorted(completed("")) == NAMES
    assert completed("ker") == ["kernels"]
    assert completed("cache", "") == ["clear"]
    assert completed("kernels", "--n") == ["--nest"]
    assert completed("--js") == ["--json"]


@pytest.mark.skipif(not shutil.which("help2man"), reason="there is no help2man")
def test_the_man_pages_say_what_help_says():
    for program in ("brazed", "brazectl"):
        page = ROOT / f"build/deploy/{program}.1"
        if not page.exists():
            pytest.skip("help2man came after the build was configured")
        text = re.sub(r"\\f[BR]|\\", "", page.read_text())
        if program == "brazectl":
            assert all(name in text for name in NAMES)
        else:
            rows = (ROOT / "daemon/config.def").read_text()
            for setting in re.findall(r"^SETTING\((\w+),", rows, re.M):
                assert re.search(rf"^{setting}$", text, re.M), setting


def test_the_man_page_has_every_field_and_metric():
    """As deploy/man.awk makes it of the operators' page; test_status.py compares that with the daemon."""
    page = ROOT / "docs/operators.md"
    text = subprocess.run(["awk", "-f", ROOT / "deploy/man.awk", page], check=True, capture_output=True, text=True).stdout
    source = page.read_text()
    part = source[source.index("## The last seconds"):source.index("What to watch:")]
    cells = [row.split("|")[1] for row in re.findall(r"^\|.*$", part, re.M) if not row.startswith(("|--", "| in", "| metric", "| slice"))]
    assert len(cells) > 100
    told = {line for block in text.split(".TP\n")[1:] for line in block.split("\n")[:1]}
    for cell in cells:
        assert re.sub(r"`([^`]+)`", r"\\fB\1\\fR", cell.strip()).replace("-", "\\-") in told, cell
    metrics = re.findall(r'^STAT\("(\w+)"', (ROOT / "daemon/ctl/stats.def").read_text(), re.M)
    assert len(metrics) > 20 and all(f"\\fB{m}\\fR\n" in text for m in metrics)
    assert text.isascii() and not re.search(r"^[.'](?!TP$|SS )", text, re.M)
    made = ROOT / "build/deploy/brazectl.1"
    assert not made.exists() or all(m in made.read_text() for m in metrics)


def test_every_command_is_in_the_operators_page():
    text = (ROOT / "docs/operators.md").read_text()
    line = re.search(r"brazectl ping \|[^`]*?completion", text)[0]
    assert set(re.findall(r"\w+", line)) >= {n for kind, n, _, _ in ROWS if kind == "COMMAND"}
    for kind, name, arguments, _ in ROWS:
        for option in re.findall(r"--\w+", f"{name} {arguments}" if kind == "OPTION" else arguments):
            short = {"--follow": "-f", "--lines": "-n", "--socket": "PATH", "--help": "--help"}
            assert option in text or f" {short.get(option)}" in text, option


def test_every_table_of_what_users_call_has_it():
    """braze's own names are in the pages for users."""
    text = "".join(p.read_text() for p in (ROOT / "docs").glob("*.md"))
    init = (ROOT / "client/python/braze/__init__.py").read_text()
    names = re.findall(r'^    "(\w+)",$', init[init.index("__all__"):init.index("_CAPTURING =")], re.M)
    assert len(names) > 15
    assert [n for n in names if not re.search(rf"\b{n}\b", text)] == []


OF_WORKERS = {"BRAZE_WORKER_DEVICE", "BRAZE_WORKER_THREADS"}  # what a daemon tells its worker


def test_every_variable_that_programs_read_is_in_the_docs():
    docs = "".join(p.read_text() for p in (ROOT / "docs").glob("*.md"))
    found = set()
    for path in (*(ROOT / "client").rglob("*.[ch]"), *(ROOT / "daemon").rglob("*.[ch]"), *(ROOT / "client").rglob("*.py")):
        found |= set(re.findall(r"""(?:getenv\(|environ\.get\(|environ\[|environment\()\s*["'](BRAZE_\w+)""", path.read_text()))
    found |= {f"BRAZE_{name.upper()}" for name in re.findall(r"^SETTING\((\w+),", (ROOT / "daemon/config.def").read_text(), re.M)}
    assert len(found) > 25 and OF_WORKERS <= found
    assert [name for name in sorted(found - OF_WORKERS) if not re.search(rf"\b{name}\b", docs)] == []
