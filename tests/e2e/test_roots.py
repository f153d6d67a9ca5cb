# SPDX-License-Identifier: Apache-2.0
"""Clean Debians into which the wheel, the packages or make install put braze; two notebooks, programs in C and Fortran
run, it is removed, and nothing is left."""

import fnmatch
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest
from harness import ROOT, children, clean_environment, wait_until
from roots import HOME, RELEASES, USER, Root, available
from wheels import BOOKS, books, check_books, make

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not available(), reason="a root of Debian is made by root, with debootstrap"),
]
NAMES = ("brazed", "libbraze1", "libbraze-dev", "python3-braze")
JUPYTER = ("python3-nbclient", "python3-ipykernel")
NEWEST_NUMPY = "numpy==2.2.6"  # Debian 12 has none of 2.0
PROFILED = '["%load_ext braze\\nimport braze.numpy as np", "%%braze\\nx = np.ones(200_000)\\ny = float((x * 2).sum())", "y"]'
EXAMPLES = """
cc C/pythagoras.c -o p $(pkg-config --cflags --libs braze) -lm
gfortran F/heat.f90 -o h $(pkg-config --cflags --libs braze-fortran)
./p; ./h; brazectl ping; brazectl doctor
"""


@pytest.fixture(scope="module", params=RELEASES)
def base(request, tmp_path_factory):
    return Root(tmp_path_factory.mktemp(request.param), request.param)


@pytest.fixture
def root(base, tmp_path):
    """A clean one."""
    (tmp_path / "root").mkdir()
    yield Root(tmp_path / "root", like=base)
    shutil.rmtree(tmp_path / "root")


def two_notebooks(root, python):
    check_books(root.run(python, "-c", BOOKS, books(), user=True).stdout)


def a_profile(root, python):
    done = root.run(python, "-c", BOOKS, f"[{PROFILED}]", user=True)
    assert '"400000.0"' in done.stdout and "y = float((x * 2).sum())" in done.stdout, done.stdout


def examples(root, c, fortran):
    """From the folders of examples, as a user who has what is installed."""
    done = root.run("sh", "-ec", EXAMPLES.replace("C/", c + "/").replace("F/", fortran + "/"), user=True)
    lines = done.stdout.splitlines()
    assert "1000000.0" in done.stdout and "brazed 0" in done.stdout and "FAIL" not in done.stdout, done.stdout
    plain, ours = (line.split()[1:] for line in lines if line.split()[:1] in (["plain"], ["braze"]))
    assert plain == ours


def with_numpy(root, *more):
    """A Python of the user's with Jupyter, and with NumPy 2: where Debian's is older, in an environment of their own
    that sees the system's packages."""
    if RELEASES[root.release] >= 13:
        root.install("python3-numpy", *JUPYTER, *more)
        return "/usr/bin/python3"
    root.install("python3-venv", *JUPYTER, *more)
    root.run("python3", "-m", "venv", "--system-site-packages", "v", user=True)
    root.run("v/bin/pip", "install", "--quiet", NEWEST_NUMPY, user=True)
    root.run("v/bin/python", "-m", "ipykernel", "install", "--sys-prefix", user=True)
    return "v/bin/python"


# ---- The wheel ----

@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return make(tmp_path_factory.mktemp("dist"))


@pytest.mark.parametrize("compiler", [False, True], ids=["no compiler", "gcc"])
def test_the_wheel(root, wheel, compiler):
    root.install("python3-venv", *(("gcc", "libc6-dev") if compiler else ()))
    root.run("python3", "-m", "venv", "v", user=True)
    where = root.give(wheel, wheel.name)
    root.run("v/bin/pip", "install", "--quiet", where, "ipykernel", "nbclient", user=True)
    doctor = root.run("v/bin/python", "-m", "braze", user=True).stdout
    assert ("no C compiler" in doctor) != compiler and "daemon answers" in doctor, doctor
    two_notebooks(root, "v/bin/python")
    a_profile(root, "v/bin/python")
    root.run("v/bin/pip", "uninstall", "--quiet", "--yes", "braze", user=True)
    assert root.left() == []
    own = [p for p in (root.folder / HOME).rglob("*braze*") if ".cache" not in p.parts]
    assert own == []


# ---- Debian's packages ----

@pytest.fixture(scope="module")
def debs(tmp_path_factory):
    """lintian has looked at them, too: deploy/deb.sh."""
    if not shutil.which("lintian") or not shutil.which("dh_python3"):
        pytest.skip("Debian's tools are missing: deploy/setup.sh --long installs them")
    out = tmp_path_factory.mktemp("debs")
    done = subprocess.run([ROOT / "deploy/deb.sh", out], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {path.name.split("_")[0]: path for path in out.glob("*.deb")}
    assert sorted(found) == sorted(NAMES)
    return found


PLACES = ("usr/bin/brazed", "usr/bin/brazectl", "etc/braze/brazed.conf", "usr/lib/systemd/system/brazed.socket",
          "usr/lib/systemd/user/brazed.service", "usr/lib/x86_64-linux-gnu/libbraze.so.1", "usr/include/braze.h",
          "usr/lib/python3/dist-packages/braze/__init__.py", "usr/share/bash-completion/completions/brazectl",
          "usr/share/man/man1/brazectl.1.gz", "usr/share/man/man1/brazed.1.gz",
          "usr/share/braze/monitoring/braze-alerts.yml", "usr/share/braze/monitoring/braze-dashboard.json",
          "usr/share/doc/brazed/operators.md.gz", "usr/share/doc/python3-braze/examples/loops.ipynb")


def test_the_packages(root, debs):
    python = with_numpy(root, "gcc", "gfortran", "libc6-dev", "pkg-config", "systemd-standalone-sysusers")
    root.install(*(root.give(path, path.name) for path in debs.values()))
    for path in PLACES:
        assert (root.folder / path).exists(), path
    unit = (root.folder / "usr/lib/systemd/system/brazed.service").read_text()
    assert "/usr/bin/brazed -f /etc/braze/brazed.conf" in unit
    assert root.run("getent", "passwd", "braze").stdout.startswith("braze:")
    two_notebooks(root, python)
    a_profile(root, python)
    examples(root, *("/usr/share/doc/libbraze-dev/examples",) * 2)  # the packages are all that is there
    older = root.run("/usr/bin/python3", "-c", "import braze, numpy; print(numpy.__version__)", user=True, check=False)
    assert older.returncode == 0 and older.stdout >= "2" if RELEASES[root.release] >= 13 else (
        "braze needs NumPy 2.0 or newer" in older.stderr or "No module named 'numpy'" in older.stderr)
    root.run("apt-get", "purge", "-y", *NAMES)
    assert root.left() == []
    assert root.run("getent", "passwd", "braze", check=False).returncode
    assert root.run("getent", "group", "braze", check=False).returncode


def test_an_older_numpy_is_refused_by_name(root, debs):
    if RELEASES[root.release] >= 13:
        pytest.skip("this Debian has NumPy 2")
    root.install("python3-numpy", *(root.give(debs[n], debs[n].name) for n in NAMES if n != "libbraze-dev"))
    done = root.run("python3", "-c", "import braze", check=False, user=True)
    assert done.returncode == 1
    assert "ImportError: braze needs NumPy 2.0 or newer, and this Python has 1.24" in done.stderr


# ---- The container ----

def instructions():
    """(word, rest) of the Containerfile, lines joined."""
    text = (ROOT / "deploy/Containerfile").read_text().replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line and line[0] != "#"]


SHARED = """
import sys, time
import braze, braze.numpy as np
x = np.linspace(0, 1, 300_000)
for _ in range(40):
    s = float((np.sin(x) ** 2 + np.cos(x) ** 2).sum())
print(round(s, 6), braze.devices()[0])
"""


@pytest.fixture
def container(base, tmp_path, debs):
    """A root made as the Containerfile says, and its entry point."""
    steps = instructions()
    assert [word for word, _ in steps] == ["FROM", "COPY", "RUN", "USER", "ENTRYPOINT"]
    (_, image), (_, copied), (_, run), (_, user), (_, entry) = steps
    if image != f"docker.io/library/debian:{RELEASES[base.release]}-slim":
        pytest.skip("the image is another release's")
    (tmp_path / "root").mkdir()
    root = Root(tmp_path / "root", like=base)
    pattern, target = copied.split()
    assert fnmatch.fnmatch(debs["brazed"].name, pattern)
    shutil.copy(debs["brazed"], root.folder / target.strip("/"))
    root.run("sh", "-ec", run)
    assert root.run("getent", "passwd", user).stdout.startswith("braze:")
    yield root, json.loads(entry), user
    shutil.rmtree(root.folder)


def test_the_container_serves_programs_outside(container, tmp_path_factory):
    """As docs/operators.md starts it: as the user of the programs, who share its socket's folder and nothing else."""
    root, entry, _ = container
    for name in ("run/user/braze", "cache"):
        (root.folder / name).mkdir(parents=True, mode=0o700, exist_ok=True)
        os.chown(root.folder / name, USER, USER)
    near = tmp_path_factory.mktemp("s")  # a socket's path is short
    (near / "braze").symlink_to(root.folder / "run/user/braze")
    daemon = subprocess.Popen(**root.started(*entry, "--user", "-o", "idle_exit_seconds=0", user=True, XDG_RUNTIME_DIR="/run/user",
                                             XDG_CACHE_HOME="/cache"), stderr=subprocess.PIPE)
    try:
        wait_until(lambda: (near / "braze/braze-1.sock").exists() or daemon.poll() is not None, 60, "the socket")
        done = subprocess.run([sys.executable, "-c", SHARED], capture_output=True, text=True, timeout=300,
                              env=clean_environment(BRAZE_SOCKET=str(near / "braze/braze-1.sock"), BRAZE_NEAR="0"))
        assert done.stdout.split()[0] == "300000.0" and not done.stderr, done.stdout + done.stderr
        wait_until(lambda: list((root.folder / "cache/braze").iterdir()), 60, "a compiled kernel")
    finally:
        for served in children(daemon.pid):  # unshare itself minds no signal while it waits for it
            os.kill(served, signal.SIGTERM)
        said = daemon.communicate(timeout=60)[1]
    assert "error" not in said


def test_the_container_serves_as_the_packages_user(container):
    """Alone: the package's user has folders for its socket and kernels, and the image the tools to look at it."""
    root, entry, user = container
    who = ("setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups")
    script = f"{entry[0]} & until brazectl ping; do sleep 0.2; done; brazectl doctor; brazectl status"
    done = root.run(*who, "sh", "-c", script, seconds=120)
    assert "FAIL" not in done.stdout and "no C compiler" not in done.stdout, done.stdout + done.stderr
    assert re.search(r"^socket +/run/braze/braze-1.sock$", done.stdout, re.M), done.stdout


# ---- make install ----

COMPILED = """
deploy/setup.sh
cmake --preset release -DBRAZE_TESTS=OFF
cmake --build build -j2
make install PREFIX=/usr/local
"""


def give_sources(root):
    """What git knows, and what is new."""
    target = root.folder / "srv/braze"
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, check=True,
                           capture_output=True).stdout.decode().split("\0")
    for name in filter(None, names):
        if (ROOT / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def test_make_install(root):
    """Compiled there: by the release's compiler, for its Python."""
    give_sources(root)
    root.install("make")
    root.run("sh", "-ec", "cd /srv/braze; " + COMPILED, seconds=3600)
    root.run("ldconfig")
    python = with_numpy(root)
    two_notebooks(root, python)
    examples(root, "/srv/braze/client/c/examples", "/srv/braze/client/fortran/examples")
    root.run("make", "-C", "/srv/braze", "uninstall", "PREFIX=/usr/local")
    assert root.left() == []
