# SPDX-License-Identifier: Apache-2.0
"""How many indices are checked in the innermost loops of the code that a compiler gets."""

import itertools
import os
import re
import subprocess
import sys

import harness
import numpy as np
import pytest

import braze

BENCH = harness.ROOT / "tests/bench"
sys.path.insert(0, str(BENCH))
from programs import emitted  # noqa: E402

CHILD = """
import sys
from programs import loop_child
from programs.loop_table import LOOPS
program = LOOPS[sys.argv[1]]
runs = program.runnable()
runs(*program.arguments("test"))
loop_child.compiled(loop_child.sites_of(program, runs))
"""


def sources_of(folder, name):
    """The kernels of a program of tests/bench as a compiler gets them."""
    with harness.Daemon(compiler=emitted.compiler(folder)) as daemon:
        path = os.pathsep.join((str(BENCH), str(harness.PACKAGE)))
        subprocess.run([sys.executable, "-c", CHILD, name], check=True, stdin=subprocess.DEVNULL,
                       env=harness.clean_environment(BRAZE_SOCKET=daemon.socket, PYTHONPATH=path))
    return [source for source, _ in emitted.sources(folder)]


def copies_of(folder, name):
    """Copies of loops that run where a test before says so."""
    return [copy for source in sources_of(folder, name) for copy in emitted.unchecked_copies(source)]


@pytest.mark.parametrize("name", ["arc_distance_pairs", "julia", "growcut", "rosen_der", "nb1d", "clos", "nb3d",
                                  "fdtd_3d"])
def test_no_index_is_checked_in_the_copies_of_loops(tmp_path, name):
    """Velociraptor's programs: every index is proven inside before the loop."""
    copies = copies_of(tmp_path, name)
    assert copies and not sum(copy.count("BZ_INDEX") for copy in copies)


def test_an_index_from_an_array_is_checked(tmp_path):
    """In a sparse product the columns' places are not known before."""
    copies = copies_of(tmp_path, "spmv")
    assert copies and sum(copy.count("BZ_INDEX") for copy in copies)


QUICK = re.compile(r"if \(BZ_OFTEN\((.*)\)\) goto F\d+;")


@pytest.mark.parametrize("name, most", [("spmv", 1), ("spmv_pragmas", 1)])
def test_a_row_that_is_short_is_asked_for_one_comparison(tmp_path, name, most):
    """Values and columns of a row begin at the same place: its test has a short way, for both at once."""
    ways = [way for source in sources_of(tmp_path, name) for way in QUICK.findall(source)]
    assert ways and max(way.count("BZ_QUICK(") for way in ways) == most


def test_what_is_tested_once_has_no_short_way(tmp_path):
    """Of loops whose places are all proven before the outermost one nothing is asked inside."""
    sources = sources_of(tmp_path, "nb3d")
    assert sources and not any(map(QUICK.search, sources))


COUNTS = """
import ctypes, subprocess, sys
folder, name = sys.argv[1:]
subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", folder + "/number.so"], input=b"unsigned long bz_checks;", check=True)
number = ctypes.c_ulong.in_dll(ctypes.CDLL(folder + "/number.so", ctypes.RTLD_GLOBAL), "bz_checks")
from programs import loop_child
from programs.loop_table import LOOPS
program = LOOPS[name]
runs = program.runnable()
runs(*program.arguments("test"))
loop_child.compiled(loop_child.sites_of(program, runs))
before = number.value
runs(*program.arguments("test"))
print(number.value - before)
"""


@pytest.mark.parametrize("name, are_checked", [("sieve", False), ("nussinov", False), ("lu", False), ("spmv", True)])
def test_checks_of_a_run(tmp_path, name, are_checked):
    """Starts beyond the array (i * i, i + 1), with which a loop inside has no turn, spoil no test before the loops."""
    with harness.Daemon(compiler=emitted.compiler(tmp_path, emitted.COUNTING_CHECKS)) as daemon:
        path = os.pathsep.join((str(BENCH), str(harness.PACKAGE)))
        done = subprocess.run([sys.executable, "-c", COUNTS, str(tmp_path), name], check=True, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              env=harness.clean_environment(BRAZE_SOCKET=daemon.socket, PYTHONPATH=path, BRAZE_THREADS="1"))
    assert (int(done.stdout) > 0) == are_checked


# Statement: of i, m and s the (place, number) that are added, in order.
TURNS = {
    "for j in i + 1..m { x[i + 1] += 1.0; x[i + 3] += 2.0 }":
        lambda i, m, s: [add for j in range(i + 1, m) for add in ((i + 1, 1), (i + 3, 2))],
    "for j in i + 1..m { x[j] += 1.0 }; for k in i - 2..m { x[i - 1] += 2.0 }":
        lambda i, m, s: [(j, 1) for j in range(i + 1, m)] + [(i - 1, 2) for j in range(i - 2, m)],
    "for j in m..i { x[i - 1] += 1.0; x[m] += 2.0 }":
        lambda i, m, s: [add for j in range(m, i) for add in ((i - 1, 1), (m, 2))],
    "for j in i * i..m step s + i { x[j] += 1.0 }": lambda i, m, s: [(j, 1) for j in range(i * i, m, s + i)],
    "for j in m..i * i - 9 step -s { x[j] += 1.0 }": lambda i, m, s: [(j, 1) for j in range(m, i * i - 9, -s)],
}


@pytest.mark.parametrize("body", TURNS)
def test_indices_at_the_ends_of_loops_inside(body):
    """Bounds around those of the array: what is written, and whether an index is wrong, are Python's."""
    kernel = braze.kernel_from_text(
        f"kernel f(inout x: float64[:], n: int64, m: int64, s: int64) {{ for i in 0..n {{ {body} }} }}")
    kernel.compile()
    errors = 0
    for n, m, s in itertools.product((0, 1, 2, 4, 7, 9), (-3, -1, 0, 1, 5, 6, 7, 9), (1, 2, 9)):
        have, want, wrong = np.zeros(6), np.zeros(6), []
        try:
            for place, number in [add for i in range(n) for add in TURNS[body](i, m, s)]:
                want[place] += number
        except IndexError:
            wrong.append("NumPy's")
        try:
            kernel(have, n, m, s)
        except IndexError:
            wrong.append("the kernel's")
        assert len(wrong) != 1 and have.tolist() == want.tolist(), (n, m, s, wrong)
        errors += len(wrong)
    assert errors
