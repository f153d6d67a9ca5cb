# SPDX-License-Identifier: Apache-2.0
"""An installation lies where it was told, whatever the build was configured for."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

import pytest
from harness import ROOT, alive, clean_environment, wait_until

BUILD = ROOT / "build"
PREFIXES = ["/usr", "/usr/local", "/opt/x"]


def install(prefix, root):
    subprocess.run(["make", "-C", ROOT, "install", f"PREFIX={prefix}", f"DESTDIR={root}"],
                   check=True, capture_output=True, env=clean_environment())


@pytest.fixture(scope="module", params=PREFIXES)
def installed(request, tmp_path_factory):
    """(prefix, DESTDIR) of an installation."""
    root = tmp_path_factory.mktemp("root")
    install(request.param, root)
    return request.param, root


def etc_of(prefix):
    return "/etc" if prefix == "/usr" else prefix + "/etc"


def files(root):
    return [p for p in root.rglob("*") if not p.is_dir()]


def python_dir(prefix):
    """Where the python3 of that prefix looks; the documented folder where there is none."""
    python = {"/usr": "/usr/bin/python3", "/usr/local": "/usr/local/bin/python3"}.get(prefix)
    if prefix == "/usr/local" and not os.path.exists(python):
        python = "/usr/bin/python3"
    if python and os.path.exists(python):
        text = subprocess.run([python, "-c", "import site; print(*site.getsitepackages())"],
                              check=True, capture_output=True, text=True).stdout
        for folder in text.split():
            if folder.startswith(prefix + "/") and not (
                    prefix == "/usr" and folder.startswith("/usr/local/")):
                return folder
    return prefix + "/lib/python3/dist-packages"


def test_every_file_lies_below_the_prefix_or_its_etc(installed):
    prefix, root = installed
    names = ["/" + str(p.relative_to(root)) for p in files(root)]
    assert all(n.startswith((prefix + "/", etc_of(prefix) + "/")) for n in names), names
    if prefix == "/usr":
        assert not [n for n in names if n.startswith("/usr/local")]
    for name in ("/bin/brazed", "/bin/brazectl", "/include/braze.h",
                 "/lib/systemd/system/brazed.service", "/lib/systemd/system/brazed.socket",
                 "/lib/systemd/user/brazed.service", "/lib/sysusers.d/brazed.conf",
                 "/lib/tmpfiles.d/brazed.conf", "/share/braze/manifest",
                 "/share/braze/monitoring/braze-alerts.yml", "/share/braze/monitoring/braze-dashboard.json"):
        assert prefix + name in names, name
    assert etc_of(prefix) + "/braze/brazed.conf" in names
    assert python_dir(prefix) + "/braze/__init__.py" in names
    assert python_dir(prefix) + "/braze/_core.abi3.so" in names
    assert sum(n.endswith("/pkgconfig/braze.pc") for n in names) == 1
    assert sum(n.endswith("/cmake/braze/brazeConfig.cmake") for n in names) == 1


def test_no_file_names_another_place(installed):
    prefix, root = installed
    # Programs look for others' libraries in /usr/local; for braze's own nowhere by name.
    text = re.compile(rb"(?<![\w.])(/usr/local|/opt/x)(?=/(?:bin|etc|lib|include|share)\b)")
    program = re.compile(rb"(/usr/local|/opt/x)(?=/(?:bin/braze|etc/braze|lib/libbraze))")
    for path in files(root):
        data = path.read_bytes()
        assert str(root).encode() not in data, path
        elf = data[:4] == b"\x7fELF"
        assert elf or str(ROOT).encode() not in data, path
        strange = program if elf else text
        found = {m.decode() for m in strange.findall(data)} - {prefix}
        assert not found, (path, found)


def test_the_units_name_the_prefix(installed):
    prefix, root = installed
    system = pathlib.Path(f"{root}{prefix}/lib/systemd/system/brazed.service").read_text()
    user = pathlib.Path(f"{root}{prefix}/lib/systemd/user/brazed.service").read_text()
    assert f"ExecStart={prefix}/bin/brazed -f {etc_of(prefix)}/braze/brazed.conf\n" in system
    assert f"ExecStart={prefix}/bin/brazed --user\n" in user
    for text in (system, user):
        assert "ExecReload=/bin/kill -HUP $MAINPID\n" in text and "@BRAZE" not in text


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd-analyze")
@pytest.mark.parametrize("kind", ["system", "user"])
def test_systemd_accepts_the_units(installed, tmp_path, kind):
    """Copies that name the program where it is, so that systemd finds it."""
    prefix, root = installed
    units = []
    for name in ("brazed.service", "brazed.socket"):
        text = pathlib.Path(f"{root}{prefix}/lib/systemd/{kind}/{name}").read_text()
        units.append(tmp_path / name)
        units[-1].write_text(text.replace(f"ExecStart={prefix}", f"ExecStart={root}{prefix}"))
    done = subprocess.run(["systemd-analyze", f"--{kind}", "verify", "--man=no", *units],
                          capture_output=True, text=True,
                          env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)})
    said = done.stdout + done.stderr
    assert done.returncode == 0 and not re.search(r"brazed\.(service|socket):", said), said


def test_the_daemon_of_the_prefix_is_started(installed, tmp_path):
    """By Python from the installed package, and by a program that links the library; with
    its own settings file."""
    prefix, root = installed
    run = tmp_path / "run"
    run.mkdir(mode=0o700)
    site = pathlib.Path(f"{root}{python_dir(prefix)}")
    env = clean_environment(XDG_RUNTIME_DIR=str(run), XDG_CACHE_HOME=str(tmp_path),
                            PYTHONPATH=str(site), PATH="/usr/bin:/bin", HOME=str(tmp_path))
    code = """
        import braze, braze.numpy as np
        print(braze.__file__, float((np.arange(10.0) * 2).sum()))
    """
    done = subprocess.run([sys.executable, "-P", "-c", textwrap.dedent(code)], env=env,
                          capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(site / "braze/__init__.py"), "90.0"]
    ctl = [f"{root}{prefix}/bin/brazectl", "--socket", f"{run}/braze/braze-1.status.sock"]
    status = subprocess.run([*ctl, "status"], env=env, check=True, capture_output=True,
                            text=True).stdout
    pid = int(re.search(r"^pid +(\d+)", status, re.M)[1])
    try:
        assert os.readlink(f"/proc/{pid}/exe") == f"{root}{prefix}/bin/brazed"
    finally:
        os.kill(pid, 15)
    wait_until(lambda: not alive(pid), 30, "the daemon's end")
    if prefix != "/usr":  # there it is the machine's /etc
        conf = pathlib.Path(f"{root}{etc_of(prefix)}/braze/brazed.conf")
        shipped = conf.read_text()
        conf.write_text(shipped + "\nthreads = 3\n")
        text = subprocess.run([f"{root}{prefix}/bin/brazed", "--check-config"], env=env,
                              check=True, capture_output=True, text=True).stdout
        conf.write_text(shipped)
        assert "threads = 3" in text and str(conf) in text


def test_uninstalling_leaves_what_was_there_before(installed, tmp_path):
    prefix, _ = installed
    install(prefix, tmp_path)
    mine = pathlib.Path(f"{tmp_path}{prefix}/bin/mine")
    mine.write_text("mine")
    conf = pathlib.Path(f"{tmp_path}{etc_of(prefix)}/braze/brazed.conf")
    uninstall = ["make", "-C", ROOT, "uninstall", f"PREFIX={prefix}", f"DESTDIR={tmp_path}"]
    env = clean_environment()
    subprocess.run(uninstall, check=True, capture_output=True, env=env)
    assert files(tmp_path) == [mine]
    assert not [p for p in tmp_path.rglob("*") if "braze" in p.name]
    done = subprocess.run(uninstall, capture_output=True, text=True, env=env)
    assert done.returncode and "nothing is installed" in done.stderr
    # Settings that somebody changed stay: over an installation, and after it.
    install(prefix, tmp_path)
    conf.write_text("threads = 2\n")
    install(prefix, tmp_path)
    assert conf.read_text() == "threads = 2\n"
    subprocess.run(uninstall, check=True, capture_output=True, env=env)
    assert sorted(files(tmp_path)) == sorted([mine, conf])


# ---- The environment that make sets up ----

FAKE_PIP = "import sys\nopen(__file__ + '.calls', 'a').write(' '.join(sys.argv[1:]) + '\\n')\n"


@pytest.fixture
def tree(tmp_path):
    """deploy/setup.sh in a tree with an environment whose pip only writes down its calls."""
    (tmp_path / "deploy").mkdir()
    for name in ("setup.sh", "requirements.txt", "requirements-cuda.txt"):
        shutil.copy(ROOT / "deploy" / name, tmp_path / "deploy")
    venv = tmp_path / "build/venv"
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", venv], check=True)
    site = next((venv / "lib").glob("python3*/site-packages"))
    (site / "pip").mkdir()
    (site / "pip/__main__.py").write_text(FAKE_PIP)
    (site / "pip/__init__.py").write_text("")
    (site / "mine.py").write_text("x = 1\n")
    return tmp_path


def set_up(tree, *options, **env):
    return subprocess.run(["sh", tree / "deploy/setup.sh", *options], capture_output=True, text=True,
                          env=clean_environment(BRAZE_NO_INSTALL="1", PYTHON="/usr/bin/python3", **env))


def test_other_requirements_keep_what_a_user_installed(tree):
    calls = next(tree.glob("build/venv/lib/python3*/site-packages/pip")) / "__main__.py.calls"
    done = set_up(tree)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "-r deploy/requirements.txt" in calls.read_text()
    before = calls.read_text()
    set_up(tree)
    assert calls.read_text().count("-r deploy/requirements.txt") == before.count(
        "-r deploy/requirements.txt"), "nothing changed"
    with open(tree / "deploy/requirements.txt", "a") as f:
        f.write("# other\n")
    assert set_up(tree).returncode == 0
    assert calls.read_text().count("-r deploy/requirements.txt") == 2
    assert next(tree.glob("build/venv/lib/python3*/site-packages/mine.py")).read_text() == "x = 1\n"


def test_an_environment_of_another_python_is_moved_aside(tree):
    (tree / "build/venv/bin/python").unlink()
    (tree / "build/venv/bin/python").symlink_to("/nonexistent/python3.4")
    # The new one is filled from a registry, which a test does not ask: only the move counts.
    (tree / "deploy/requirements.txt").write_text("--no-index\nno-such-package==1\n")
    done = set_up(tree)
    assert "build/venv.old1" in done.stdout
    assert list(tree.glob("build/venv.old1/lib/python3*/site-packages/mine.py"))


def test_packages_that_may_not_be_installed_are_named(tree):
    """Those of the build end it; those of the long tests do not."""
    told = tree / "bin/dpkg-query"
    told.parent.mkdir()
    told.write_text('#!/bin/sh\nfor last; do :; done\n[ "$last" = "$LACKS" ] || echo installed\n')
    told.chmod(0o755)
    path = f"{told.parent}:/usr/bin:/bin"
    plain, long = (set_up(tree, *options, PATH=path, LACKS="lintian") for options in ((), ("--long",)))
    assert plain.returncode == long.returncode == 0, plain.stderr + long.stderr
    assert "lintian" not in plain.stdout and "their tests are skipped: lintian" in long.stdout
    needed = set_up(tree, "--long", PATH=path, LACKS="cmake")
    assert needed.returncode == 1 and "packages are missing: cmake" in needed.stderr
