# SPDX-License-Identifier: Apache-2.0
"""A wheel of the build, installed into a clean environment, used, and removed again."""

import re
import subprocess
import sys
import time
import zipfile

import pytest
from harness import ROOT
from wheels import BOOKS, Environment, books, check_books, make, pythons

SUM = ("import braze, braze.numpy as np\nx = np.linspace(0, 1, 100_000)\n"
       "print(round(float((np.sin(x) ** 2 + np.cos(x) ** 2).sum()), 6), braze.__file__)\n")
FAR = {"BRAZE_NEAR": "0"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return make(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def site(wheel, tmp_path_factory):
    """An environment with the wheel and Jupyter."""
    made = Environment(tmp_path_factory.mktemp("site"))
    made.install("ipykernel", "nbclient")
    made.before = made.files()
    made.install(wheel)
    yield made
    for pid, program in made.processes():
        if program.endswith("/brazed"):
            subprocess.run(["kill", pid], check=False)


def test_the_name_says_what_is_inside(wheel):
    assert re.fullmatch(r"braze-[0-9.]+-cp311-abi3-manylinux_2_\d+_x86_64\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as z:
        names = z.namelist()
        told = z.read(next(n for n in names if n.endswith("/METADATA"))).decode()
    assert "Requires-Python: >=3.11" in told and "Requires-Dist: numpy>=2.0" in told
    assert {n.split("/")[0].partition("-")[0] for n in names} <= {"braze", "braze.libs"}
    assert [n for n in names if re.search(r"licenses/LICENSE$", n)]


def broken(wheel, folder, name, change, rename=None):
    """deploy/wheel/check.py on a copy in which one file is changed."""
    copy = folder / (rename or wheel.name)
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(copy, "w") as new:
        for info in old.infolist():
            data = old.read(info)
            if info.filename == name:
                data = change(data)
            if data is not None:
                new.writestr(info, data)
    return subprocess.run([ROOT / "build/venv-wheel/bin/python", ROOT / "deploy/wheel/check.py",
                           copy], capture_output=True, text=True)


@pytest.mark.parametrize("name, change, said", [
    ("braze/bin/brazectl", lambda data: None, "braze/bin/brazectl is missing"),
    ("braze/bin/brazed", lambda d: d.replace(b"libmvec.so.1\0", b"libmvex.so.1\0"),
     "needs libmvex.so.1, which is not inside"),
    ("braze/bin/brazed", lambda d: re.sub(rb"\$ORIGIN/\.\./\.\./braze\.libs",
                                          b"/usr/lib/x86_64-linu/libs", d),
     "looks for libraries in /usr/lib"),
])
def test_a_wheel_that_is_not_whole_is_refused(wheel, tmp_path, name, change, said):
    done = broken(wheel, tmp_path, name, change)
    assert done.returncode == 1 and said in done.stderr, done.stdout + done.stderr


def test_a_glibc_older_than_the_symbols_is_refused(wheel, tmp_path):
    older = re.sub(r"manylinux_2_\d+", "manylinux_2_17", wheel.name)
    done = broken(wheel, tmp_path, "", None, older)
    assert done.returncode == 1 and "the name says 2.17" in done.stderr


def test_the_first_program_starts_the_daemon(site):
    done = site.run(site.python, "-c", SUM, **FAR)
    assert done.stdout.split() == ["100000.0", f"{next(site.venv.glob('lib/*/site-packages'))}"
                                               "/braze/__init__.py"]
    assert not done.stderr
    assert all(str(site.venv) in program for _, program in site.processes())
    site.stop_daemon()


def test_python_m_braze(site):
    done = site.run(site.python, "-m", "braze")
    for word in ("brazed", "brazectl", "loops"):
        found = re.search(rf"^{word} +(/.*)$", done.stdout, re.M)
        assert found and found[1].startswith(str(site.venv)), done.stdout
    assert "daemon answers at" in done.stdout
    assert site.run(site.python, "-m", "braze", "ping").stdout.startswith("brazed ")
    site.stop_daemon()
    assert site.run(site.venv / "bin/brazed", "--version").stdout.startswith("brazed ")
    assert site.run(site.venv / "bin/brazectl", "ping", check=False).returncode == 1


def test_small_operations_stay_near(site):
    code = ("import braze, braze.numpy as np\na = np.arange(10.0) * 2\nprint(float(a.sum()), "
            "braze.counters()['near'] > 0)")
    assert site.run(site.python, "-c", code).stdout.split() == ["90.0", "True"]
    site.stop_daemon()


def test_without_a_compiler_one_warning(site, tmp_path):
    """The interpreter serves; the program is told once, the operator by doctor."""
    bare = str(site.venv / "bin")
    done = site.run(site.python, "-c", SUM + "print((x * 2).sum() > 0)", PATH=bare, **FAR)
    assert "100000.0" in done.stdout and "True" in done.stdout
    assert done.stderr.count("RuntimeWarning: brazed found no C compiler") == 1, done.stderr
    told = site.run(site.venv / "bin/brazectl", "doctor", PATH=bare).stdout
    assert "warn  no C compiler" in told
    strict = site.run(site.python, "-W", "error", "-c", SUM, check=False, PATH=bare, **FAR)
    assert strict.returncode == 1 and "brazed found no C compiler" in strict.stderr
    site.stop_daemon()


def test_two_notebooks_and_nothing_left(site):
    """Cells of two notebooks, then pip uninstall: no process, socket or file but the cache."""
    done = site.run(site.python, "-c", BOOKS, books())
    check_books(done.stdout)
    site.stop_daemon()
    site.run(site.python, "-m", "pip", "uninstall", "--quiet", "--yes", "braze")
    assert {f for f in site.files() - site.before if f.parts[-2] != "numpy"
            and "numpy" not in str(f) and "f2py" not in str(f)} == set()
    assert not site.processes()
    left = {str(p.relative_to(site.folder / "run")) for p in (site.folder / "run").rglob("*")}
    assert left <= {"braze", "braze/braze-1.sock.log", "braze/braze-1.sock.lock"}, left
    home = {p.relative_to(site.folder / "home").parts[0]
            for p in (site.folder / "home").rglob("*") if "braze" in str(p).split("home/")[1]}
    assert home <= {".cache"}


# ---- Every Python that is here, with the oldest and the newest NumPy ----

NUMPYS = {"3.11": ("2.0.0",), "3.12": ("2.0.0",), "3.13": ("2.1.0", "2.2.*", "2.3.*", "2.4.*")}


@pytest.mark.long
@pytest.mark.parametrize("version", sorted(pythons()))
def test_every_python_and_numpy(wheel, tmp_path, version):
    made = Environment(tmp_path, pythons()[version])
    for wanted in (*(f"numpy=={n}" for n in NUMPYS.get(version, ())), "numpy>=2"):
        made.install("--upgrade", wanted, wheel, pinned=False)
        done = made.run(made.python, ROOT / "client/python/examples/demo.py", **FAR)
        assert "braze" in done.stdout
        made.run(made.python, "-c", SUM, **FAR)
        made.run(made.python, "-c", SUM)
        made.run(made.python, ROOT / "tests/python/version_checks.py")
        made.stop_daemon()


@pytest.mark.long
def test_pip_installs_a_checkout(tmp_path):
    """Compiled from the sources that git knows, in a folder of their own."""
    source = tmp_path / "source"
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT,
                           check=True, capture_output=True).stdout.split(b"\0")
    for name in filter(None, names):
        target = source / name.decode()
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name.decode()).read_bytes())
    made = Environment(tmp_path, sys._base_executable)
    began = time.monotonic()
    made.install(source)
    print(f"compiled in {time.monotonic() - began:.0f} s")
    done = made.run(made.python, "-c", SUM, **FAR)
    assert done.stdout.startswith("100000.0")
    made.stop_daemon()
