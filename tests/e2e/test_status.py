# SPDX-License-Identifier: Apache-2.0
"""What operators are told is true, complete and the same everywhere."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from harness import ROOT, Daemon, fetch, find_ctl, finish, wait_until

PROGRAM = ("import sys, numpy, braze.numpy as np\n"
           "x = np.asarray(numpy.linspace(0, 1, 50_000))\n"
           "for _ in range(5):\n"
           "    a = float((np.sin(x) + x * 2).sum())\n"
           "    b = numpy.asarray(x[::-1] * x + 1)\n"
           "print('done', flush=True)\nsys.stdin.readline()\n")
LEVELS = ("clients_count", "arrays_count", "pending_ops_count", "jobs_in_flight_count",
          "fds_count", "client_bytes", "arena_bytes")


def stats():
    """Rows of stats.def: (metric, type, labels, path)."""
    text = (ROOT / "daemon/ctl/stats.def").read_text()
    rows = re.findall(r'^STAT\("(\w+)", (\w+), "((?:[^"\\]|\\.)*)", "([\w.]+)"', text, re.M)
    assert len(rows) > 20
    return [(m, t, labels.replace('\\"', '"'), path) for m, t, labels, path in rows]


def at(status, path):
    for word in path.split("."):
        status = status[word]
    return status


def metrics(daemon):
    status, text = fetch(daemon.status_socket, "/metrics")
    assert status == 200
    return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))


@pytest.fixture(scope="module")
def used():
    """A daemon after a client's life, with its kernels compiled."""
    with Daemon() as daemon:
        client = daemon.popen(PROGRAM)
        assert client.stdout.readline() == "done\n"
        wait_until(lambda: all(k["state"] != "compiling" for k in daemon.kernels()), 20)
        daemon.living = daemon.status(), daemon.clients()
        finish(client)
        wait_until(lambda: daemon.status()["clients_count"] == 0)
        yield daemon


def test_back_to_the_baseline(daemon):
    """A client leaves nothing behind."""
    run = "import numpy, braze.numpy as np\nx = np.ones(100_000) * 2\nassert float(x.sum()) == 2e5"
    for _ in range(4):
        daemon.run(run)
    wait_until(lambda: daemon.status()["kernels"]["disk_writes"]
               >= daemon.status()["kernels"]["compiles"] > 0, 20)
    before = daemon.status()
    client = daemon.popen(PROGRAM)
    client.stdout.readline()
    living = daemon.status()
    assert living["clients_count"] == 1 and living["arrays_count"] > 0
    assert living["client_bytes"] >= 400_000 and living["fds_count"] > before["fds_count"]
    finish(client)
    wait_until(lambda: [daemon.status()[n] for n in LEVELS] == [before[n] for n in LEVELS])


def test_client_is_shown(used):
    status, (client,) = used.living
    assert client["uid"] == pathlib.Path(used.folder).stat().st_uid
    assert client["ops"] > 20 and client["demands"] >= 10
    assert client["bytes"] == status["client_bytes"] and client["arrays"] == status["arrays_count"]
    assert client["device_seconds"] > 0
    assert client["near"] == 0  # it computes nothing itself here


def test_operations_that_a_client_computed_itself_are_shown(daemon):
    client = daemon.popen("import os\ndel os.environ['BRAZE_NEAR']\nimport sys, braze.numpy as np\n"
                          "x = np.ones(7)\nfor _ in range(9):\n    x = x + 1\n"
                          "big = np.arange(1e6) * 2\nfloat(big[3] + x[0])\n"
                          "print('done', flush=True)\nsys.stdin.readline()\n")
    assert client.stdout.readline() == "done\n"
    row, = daemon.clients()
    assert 10 <= row["near"] <= 12 and row["ops"] >= 2
    finish(client)


def test_every_path_is_there(used):
    status = used.status()
    for _, _, _, path in stats():
        assert isinstance(at(status, path), (int, float)), path


def test_metrics_agree(used):
    """/metrics, /status and /kernels tell one story."""
    before, shown, after = used.status(), metrics(used), used.status()
    for metric, kind, labels, path in stats():
        value = float(shown[f"{metric}{{{labels}}}" if labels else metric])
        assert at(before, path) * 0.999 - 1e-6 <= value, metric
        assert kind == "GAUGE" or value <= at(after, path) * 1.001 + 1e-6, metric
    kernels = used.kernels()
    assert len(kernels) == int(shown["braze_kernels"]) == after["kernels"]["count"]
    ready = [k for k in kernels if k["state"] == "ready"]
    assert len(ready) == int(shown["braze_compiles_total"]) > 0
    seconds = sum(k["compile_seconds"] for k in kernels)
    assert seconds == pytest.approx(float(shown['braze_compile_seconds_total{tier="1"}']), rel=1e-3)


def test_source_compiles_alone(used, tmp_path):
    for kernel in used.kernels():
        if kernel["state"] != "ready":
            continue
        page = used.get(f"/kernels/{kernel['id']}")
        assert page["source"] and isinstance(page["reasons"], list) and not page["error"]
        path = tmp_path / f"k{kernel['id']}.c"
        done = used.ctl("kernels", str(kernel["id"]), "--export", str(path))
        assert done.returncode == 0, done.stderr
        assert path.read_text() == page["source"]
        done = subprocess.run(["gcc", "-c", "-O1", "-o", path.with_suffix(".o"), path],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_reasons(daemon):
    """What was not fused says why."""
    daemon.run("import braze.numpy as np\n"
               "x = np.linspace(0, 1, 100_000)\n"
               "y = np.sin(x)\n"
               "float((y / y.sum()).max())\n")
    assert daemon.status()["fusion_refusals"]
    reasons = [r for k in daemon.kernels() for r in daemon.get(f"/kernels/{k['id']}")["reasons"]]
    assert any("not fused" in r for r in reasons)
    assert "not fused" in daemon.ctl("explain").stdout


@pytest.mark.parametrize("path", ["/kernels/99999", "/kernels/x", "/kernels/-1", "/nothing",
                                  "/kernels/4294967297", "/status/", "/../etc/passwd"])
def test_unknown_pages(used, path):
    status, _ = fetch(used.status_socket, path)
    assert status in (400, 404)


@pytest.mark.parametrize("method", ["POST", "DELETE", "PUT"])
def test_read_only(used, method):
    status, _ = fetch(used.status_socket, "/status", method)
    assert status in (404, 405)
    assert used.status()["kernels"]["count"] > 0


@pytest.mark.parametrize("command", ["ping", "status", "clients", "kernels", "explain", "events",
                                     "cache"])
def test_brazectl(used, command):
    assert used.ctl(command).returncode == 0
    done = used.ctl("--json", command)
    assert done.returncode == 0 and isinstance(json.loads(done.stdout), dict)


def test_brazectl_doctor(used):
    done = used.ctl("doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok" in done.stdout and "FAIL" not in done.stdout


def test_brazectl_one_kernel(used):
    ready = next(k for k in used.kernels() if k["state"] == "ready")
    text = used.ctl("kernels", str(ready["id"]))
    assert text.returncode == 0 and "ready" in text.stdout
    assert used.ctl("kernels", "99999").returncode == 1
    assert used.ctl("kernels", "x").returncode == 2
    assert used.ctl("nonsense").returncode == 2


def test_brazectl_without_a_daemon(tmp_path):
    done = subprocess.run([find_ctl(), "--socket", str(tmp_path / "s"), "ping"],
                          capture_output=True, text=True)
    assert done.returncode == 1 and "no daemon" in done.stderr


def test_events_name_what_happened(daemon):
    os.kill(daemon.worker(), 9)
    wait_until(lambda: daemon.status()["worker_deaths_count"] == 1)
    assert any("died of signal 9" in e["text"] for e in daemon.get("/events")["events"])


def test_page_for_people(used):
    status, text = fetch(used.status_socket, "/")
    assert status == 200 and text.lstrip().lower().startswith("<!doctype html")
    text = text.replace("http://www.w3.org/2000/svg", "")  # a name, which nobody asks for
    assert "http://" not in text and "https://" not in text


def test_status_socket_is_private(used):
    assert pathlib.Path(used.status_socket).stat().st_mode & 0o777 == 0o600


# ---- What is documented, and how it is named ----

def documented():
    """Every word in the first column of a table of docs/operators.md, and metrics' paths."""
    text = (ROOT / "docs/operators.md").read_text()
    section = text[text.index("## What the pages say"):text.index("## Metrics")]
    tables = {}
    for head, body in re.findall(r"^\| ([^|\n]+) \| meaning \|\n\|[-|]+\n((?:\|.*\n)+)", section, re.M):
        page = re.findall(r"`/?([\w]+)`", head)[-1]
        tables[page] = {w for row in body.splitlines()
                        for w in re.findall(r"`(\w+)`", row.split("|")[1])}
    tables["kernel"] = tables["kernels"] | {"geometries"} | {
        w for w in ("source", "reasons", "error") if f"`{w}`" in section}
    return tables


def test_every_field_is_documented_and_every_documented_field_is_there(used):
    tables = documented()
    status, clients = used.living
    paths = {path.split(".")[0] for *_, path in stats()}
    kernel = used.kernels()[0]
    one = used.get(f"/kernels/{kernel['id']}")
    assert set(status) - paths == tables["status"] | {"devices"}
    assert set(status["devices"][0]) == tables["devices"]
    assert set(clients[0]) == tables["clients"]
    assert set(kernel) == tables["kernels"]
    assert set(one) == tables["kernel"]
    assert set(used.get("/events")["events"][0]) == tables["events"]
    # Only a GPU's kernels have rows of geometries: their names from the source.
    source = (ROOT / "daemon/report.c").read_text()
    body = source[source.index("static void put_geometries"):]
    body = body[:body.index("\n}\n")]
    history = used.get("/history")
    assert set(history["fields"]) == tables["history"] and set(history) == {"every_seconds", "kept", "fields", "samples"}
    names = set(re.findall(r'\brow,\s*"(\w+)"', body))
    assert names == tables["geometries"] and len(names) > 10
    for path in (path for *_, path in stats() if "." in path):
        at(status, path)


def lint(text):
    """What promtool complains about, of what we could do wrong."""
    found, helps, types = [], {}, {}
    for line in text.splitlines():
        if line.startswith("# HELP "):
            _, _, name, words = line.split(" ", 3)
            helps[name] = words
        elif line.startswith("# TYPE "):
            types[line.split()[2]] = line.split()[3]
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, labels = re.match(r"(\w+)(?:\{(.*)\})? ", line).groups()
        kind = types.get(name)
        words = set(name.split("_"))
        found += [f"{name}: {problem}" for problem, bad in (
            ("no help", not helps.get(name)), ("no type", kind not in ("counter", "gauge")),
            ("a counter without _total", kind == "counter" and not name.endswith("_total")),
            ("_total, but no counter", kind != "counter" and name.endswith("_total")),
            ("a suffix of histograms", re.search(r"_(count|sum|bucket)$", name)),
            ("its type in its name", words & {"counter", "gauge", "histogram", "summary"}),
            ("not the base unit", words & {
                "us", "ms", "ns", "s", "microseconds", "milliseconds", "nanoseconds", "minutes",
                "hours", "days", "kilobytes", "megabytes", "gigabytes", "kib", "mib", "gib",
                "bits", "kb", "mb", "gb", "percent"}),
            ("not snake_case", not re.fullmatch(r"[a-z][a-z0-9_]*", name)),
            ("a label's name", labels and not re.fullmatch(
                r'[a-z][a-z0-9_]*="[^"]*"(,[a-z][a-z0-9_]*="[^"]*")*', labels)),
            ("help without a full stop", not helps.get(name, "").endswith(".")),
        ) if bad]
    return found


def test_metrics_are_as_prometheus_wants_them(used):
    _, text = fetch(used.status_socket, "/metrics")
    assert lint(text) == []
    assert lint("# HELP a_us x.\n# TYPE a_us gauge\na_us 1\n") == ["a_us: not the base unit"]
    assert text.endswith("\n")


@pytest.mark.skipif(not shutil.which("promtool"), reason="there is no promtool")
def test_promtool_finds_nothing(used):
    _, text = fetch(used.status_socket, "/metrics")
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True,
                          text=True)
    assert done.returncode == 0 and not done.stdout + done.stderr, done.stdout + done.stderr


SCRIPT = """
import braze, braze.numpy as np
x = np.ones(50_000)
y = np.sin(x) ** 2 + x
total = y.sum()
print(float(total), flush=True)  # the line that asks
z = x @ x
print(float(z + y[0]), flush=True)
input()
"""


def test_kernels_and_clients_are_readable(tmp_path):
    script = tmp_path / "heat_equation.py"
    script.write_text(SCRIPT)
    with Daemon() as daemon:
        first = daemon.popen(script)
        second = daemon.popen("import braze, braze.numpy as np\nbraze.session_name('mine')\n"
                              "print(float(np.ones(3).sum()), flush=True); input()")
        third = daemon.popen("import braze, braze.numpy as np\n"
                             "print(float(np.ones(3).sum()), flush=True); input()",
                             BRAZE_NAME="training")
        for client in (first, first, second, third):
            assert client.stdout.readline()
        table = daemon.ctl("clients").stdout
        for name in ("heat_equation.py", "mine", "training"):
            assert re.search(rf"  {name} +\d", table), table
        rows = {k["operations"]: k for k in daemon.kernels()}
        line = SCRIPT.splitlines().index("print(float(total), flush=True)  # the line that asks") + 1
        asked = rows["sin, square, add, sum"]
        assert asked["origin"].startswith("heat_equation.py ")
        assert asked["origin"].endswith(f"heat_equation.py:{line}"), asked["origin"]
        table = daemon.ctl("kernels").stdout
        assert "sin, square, add" in table and f"heat_equation.py:{line}" in table
        assert "%0" not in table and "?" not in table
        page = daemon.ctl("explain").stdout
        assert f"heat_equation.py:{line}" in page and "sin, square, add" in page
        assert "%0" not in page and "?" not in page
        one = str(asked["id"])
        assert "%0" not in daemon.ctl("kernels", one).stdout
        nest = daemon.ctl("kernels", one, "--nest").stdout
        assert re.search(r"^%\d+ = \w+\.f64 ", nest, re.M) and "?" not in nest.split("\nsource\n")[0]
