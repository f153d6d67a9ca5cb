# SPDX-License-Identifier: Apache-2.0
"""The benchmark programs at their smallest sizes give NumPy's answers.

Each is one text that takes the array module, as a program does whose import is
changed: inputs are made with that module, too.
"""

import json
import os
import pathlib
import subprocess
import sys

import numpy
import pytest

import braze.numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
from programs.answers import wrong  # noqa: E402
from programs.table import PROGRAMS  # noqa: E402


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_numpys_answer(name):
    program = PROGRAMS[name]
    size = program.sizes["tiny"]
    theirs, mine = program.inputs(numpy, *size), program.inputs(braze.numpy, *size)
    assert wrong(mine, theirs, program.check if program.check != "exact" else "element") is None
    fault = wrong(program.function(braze.numpy, *mine), program.function(numpy, *theirs),
                  program.check)
    assert fault is None, fault
    if program.writes:
        fault = wrong(mine, theirs, program.check)
        assert fault is None, f"the arguments written: {fault}"


def test_a_wrong_answer_is_found():
    """The comparison that the benchmarks rest on can fail."""
    right = numpy.arange(6.0).reshape(2, 3)
    assert wrong(right, right, "exact") is None
    assert "[6]" in wrong(right.ravel(), right, "exact")
    assert "float32" in wrong(right.astype("float32"), right, "element")
    assert "int" in wrong(3, 3.0, "element")
    off = right.copy()
    off[1, 2] += 1e-9
    assert "(1, 2)" in wrong(off, right, "reduction")
    assert wrong(off, right, "iteration") is None
    assert wrong(numpy.array([numpy.nan]), numpy.array([1.0]), "iteration")
    assert wrong((right,), (right, right), "exact")


def test_the_runner_measures_a_program_and_remembers_it(tmp_path):
    """A program of its own process, compared and timed; a second run measures nothing anew."""
    runner = pathlib.Path(__file__).resolve().parents[1] / "bench/run_programs.py"
    results = tmp_path / "results.json"
    command = [sys.executable, str(runner), "--only", "lstsqr", "--sizes", "tiny", "--no-peers",
               "--no-docs", "--results", str(results)]
    env = dict(os.environ, QUICK="1")
    done = subprocess.run(command, env=env, text=True, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    case = json.loads(results.read_text())["cases"]["lstsqr/tiny"]
    assert case["wrong"] is None and case["rounds"] >= 1
    assert case["warm"]["ops"] > 0 and case["cold"]["kernels"] >= 0
    assert case["numpy"] > 0 and case["whole"]["braze.numpy"] > 0
    assert "lstsqr/tiny" in done.stdout and "DelayRepay's 21" in done.stdout
    before = results.read_text()
    done = subprocess.run(command, env=env, text=True, capture_output=True, timeout=300)
    assert done.returncode == 0 and results.read_text() == before
