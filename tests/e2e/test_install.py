# SPDX-License-Identifier: Apache-2.0
"""An installed tree serves programs in C and Fortran, which print NumPy's numbers."""

import os
import shutil
import socket
import subprocess

import numpy
import pytest
from harness import ROOT

BUILD = ROOT / "build"


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    place = tmp_path_factory.mktemp("prefix")
    subprocess.run(["cmake", "--install", BUILD, "--prefix", place], check=True,
                   capture_output=True)
    return place


def libraries(prefix):
    return next(p.parent for p in prefix.rglob("libbraze.so"))


def environment(prefix):
    env = {k: v for k, v in os.environ.items() if not k.startswith("BRAZE_")}
    env.update(PATH=f"{prefix / 'bin'}{os.pathsep}{env['PATH']}", BRAZE_PRIVATE="1",
               LD_LIBRARY_PATH=str(libraries(prefix)),
               PKG_CONFIG_PATH=str(libraries(prefix) / "pkgconfig"),
               XDG_CACHE_HOME=str(prefix / "cache"))
    return env


def compiled(prefix, compiler, package, source, target):
    """Compile a program by pkg-config alone and return what it prints."""
    env = environment(prefix)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", package], env=env, check=True,
                           capture_output=True, text=True).stdout.split()
    assert str(prefix) in " ".join(flags)
    subprocess.run([compiler, str(source), "-o", str(target), *flags, "-lm"], check=True,
                   cwd=target.parent, env=env)
    done = subprocess.run([str(target)], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_c_pythagoras(prefix, tmp_path):
    text = compiled(prefix, "cc", "braze", ROOT / "client/c/examples/pythagoras.c",
                    tmp_path / "p")
    x = numpy.linspace(0, 1, 1_000_000)
    want = (numpy.sin(x) ** 2 + numpy.cos(x) ** 2).sum()
    assert text.split()[-1] == f"{want:.6f}"


def test_c_arc(prefix, tmp_path):
    text = compiled(prefix, "cc", "braze", ROOT / "client/c/examples/arc.c", tmp_path / "a")
    lat = numpy.radians([48.8566, 40.7128, 35.6762, -33.8688])
    lon = numpy.radians([2.3522, -74.0060, 139.6503, 151.2093])
    lat0, lon0 = numpy.radians(52.52), numpy.radians(13.405)
    h = (numpy.sin((lat - lat0) / 2) ** 2
         + numpy.cos(lat) * numpy.cos(lat0) * numpy.sin((lon - lon0) / 2) ** 2)
    want = 2 * 6371.0 * numpy.arcsin(numpy.sqrt(h))
    got = [line.split()[-2] for line in text.splitlines() if line.endswith("km")]
    assert got == [f"{km:.1f}" for km in want]


def test_c_stencil(prefix, tmp_path):
    text = compiled(prefix, "cc", "braze", ROOT / "client/c/examples/stencil.c", tmp_path / "s")
    rod = numpy.zeros(12)
    rod[0] = 100
    for _ in range(100):
        rod[1:-1] = rod[1:-1] + 0.25 * (rod[:-2] + rod[2:] + -2 * rod[1:-1])
    assert "E_SHAPE" in text
    assert text.splitlines()[-1].split() == [f"{v:.4f}" for v in rod]


@pytest.mark.skipif(not shutil.which("gfortran"), reason="there is no Fortran compiler")
def test_fortran_heat(prefix, tmp_path):
    text = compiled(prefix, "gfortran", "braze-fortran",
                    ROOT / "client/fortran/examples/heat.f90", tmp_path / "h")
    u = numpy.zeros((16, 12))
    u[0] = 100
    for _ in range(20):
        mid = u[1:-1, 1:-1]
        u[1:-1, 1:-1] = mid + 0.125 * ((u[:-2, 1:-1] + u[2:, 1:-1])
                                       + (u[1:-1, :-2] + u[1:-1, 2:]) - 4 * mid)
    plain, braze = text.splitlines()
    assert plain.split()[1:] == braze.split()[1:]
    assert braze.split()[1] == f"{u[2, 5]:.6f}"
    assert braze.split()[-1] == f"{u.sum():.6f}"


def test_cmake_package(prefix, tmp_path):
    """find_package(braze) is enough for a project of its own."""
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\nproject(user LANGUAGES C)\n"
        "find_package(braze REQUIRED)\nadd_executable(user user.c)\n"
        "target_link_libraries(user PRIVATE braze::braze m)\n")
    shutil.copy(ROOT / "client/c/examples/pythagoras.c", tmp_path / "user.c")
    env = environment(prefix)
    for command in (["cmake", "-S", ".", "-B", "b", f"-DCMAKE_PREFIX_PATH={prefix}"],
                    ["cmake", "--build", "b"]):
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run([tmp_path / "b/user"], env=env, capture_output=True, text=True)
    assert done.returncode == 0 and "1000000.0" in done.stdout


NEAR_PROGRAM = """
#include <stdio.h>
#include <braze.h>
int main(void)
{
	braze_session *s = NULL;
	braze_array *a = NULL, *b = NULL;
	braze_arg two[2];
	struct braze_counters c;
	double x[3] = {1, 2, 3};
	int64_t n = 3;

	if (braze_connect(&s, NULL, NULL) ||
	    braze_from_data(&a, s, BRAZE_FLOAT64, 1, &n, NULL, x, NULL))
		return 1;
	two[0] = braze_arg_array(a);
	two[1] = braze_arg_double(2);
	if (braze_apply(&b, s, braze_op_find("multiply"), 2, two, NULL) || braze_read(x, b, NULL))
		return 1;
	braze_get_counters(s, &c);
	printf("%g %d\\n", x[2], c.near > 0);
	braze_release(a);
	braze_release(b);
	braze_close(s);
	return 0;
}
"""


def test_c_near(prefix, tmp_path):
    """The loops of small operations are installed beside the library and found there."""
    (tmp_path / "near.c").write_text(NEAR_PROGRAM)
    assert compiled(prefix, "cc", "braze", tmp_path / "near.c", tmp_path / "n") == "6 1\n"


def test_c_a_stale_socket_is_no_error(prefix, tmp_path):
    """A daemon that was killed leaves its socket: the next is started, and nothing is told."""
    compiled(prefix, "cc", "braze", ROOT / "client/c/examples/pythagoras.c", tmp_path / "p")
    (tmp_path / "run/braze").mkdir(parents=True)
    for folder in (tmp_path / "run", tmp_path / "run/braze"):
        folder.chmod(0o700)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stale:
        stale.bind(str(tmp_path / "run/braze/braze-1.sock"))
    env = dict(environment(prefix), XDG_RUNTIME_DIR=str(tmp_path / "run"), BRAZE_PRIVATE="0",
               BRAZE_IDLE_EXIT_SECONDS="1")
    done = subprocess.run([tmp_path / "p"], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "1000000.0" in done.stdout and done.stderr == ""
