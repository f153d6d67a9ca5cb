# SPDX-License-Identifier: Apache-2.0
"""How many indices are checked in the innermost loops of the code that a compiler gets."""

import os
import re
import subprocess
import sys

import harness
import pytest

BENCH = harness.ROOT / "tests/bench"
KEEPS = """#!/bin/sh
f=$(mktemp "{folder}/source-XXXXXXXX")
cat > "$f"
exec gcc "$@" < "$f"
"""
CHILD = """
import sys
from programs import loop_child
from programs.loop_table import LOOPS
program = LOOPS[sys.argv[1]]
runs = program.runnable()
runs(*program.arguments("test"))
loop_child.compiled(loop_child.sites_of(program, runs))
"""


def sources(folder, name):
    """The C of the kernels of a program of tests/bench."""
    keeps = folder / "keeps"
    keeps.write_text(KEEPS.format(folder=folder))
    keeps.chmod(0o755)
    with harness.Daemon(compiler=str(keeps)) as daemon:
        path = os.pathsep.join((str(BENCH), str(harness.PACKAGE)))
        subprocess.run([sys.executable, "-c", CHILD, name], check=True, stdin=subprocess.DEVNULL,
                       env=harness.clean_environment(BRAZE_SOCKET=daemon.socket, PYTHONPATH=path))
    return [file.read_text() for file in folder.glob("source-*")]


def unchecked_copies(source):
    """Of bz_unit the copies of loops behind a test of bounds that have no test inside."""
    code = source[source.index("int bz_unit("):source.index("int bz_any(")]
    tests = list(re.finditer(r"if \(BZ_RARE\(bad\)\) goto (K\d+);", code))
    copies = [code[test.end():code.index(f"{test[1]}:;", test.end())] for test in tests]
    return [copy for copy in copies if "BZ_RARE(bad)" not in copy]


@pytest.mark.parametrize("name", ["arc_distance_pairs", "julia", "growcut", "rosen_der", "nb1d", "clos", "nb3d",
                                  "fdtd_3d"])
def test_no_index_is_checked_in_the_copies_of_loops(tmp_path, name):
    """Velociraptor's programs: every index is proven inside before the loop."""
    copies = [copy for source in sources(tmp_path, name) for copy in unchecked_copies(source)]
    assert copies and not sum(copy.count("BZ_INDEX") for copy in copies)


def test_an_index_from_an_array_is_checked(tmp_path):
    """In a sparse product the columns' places are not known before."""
    copies = [copy for source in sources(tmp_path, "spmv") for copy in unchecked_copies(source)]
    assert copies and sum(copy.count("BZ_INDEX") for copy in copies)
