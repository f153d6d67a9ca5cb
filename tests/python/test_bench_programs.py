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
from programs.answers import flat, wrong  # noqa: E402
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


# Sums of the results as other people's runs of the same formulas gave them, by NumPy.
PAPERS = {
    "arc_distance": ((1000,), [1426.91767338]),
    "create_grid": ((50,), [2450]),
    "cronbach": ((60, 60), [0.119336416579]),
    "euclidean_distance_square": ((64, 100), [1100.40301776]),
    "grayscott": ((60, 40), [3072.4933, 95.47908]),
    "harris": ((64, 64), [-7263.72440883]),
    "hasting": ((), [0.0462654839001]),
    "l1norm": ((40, 40), [21331.4590428]),
    "l2norm": ((100, 100), [576.333234942]),
    "laplacien": ((50, 50, 3), [1341.4252145]),
    "log_likelihood": ((1000,), [-1119.5379574]),
    "lstsqr": ((1000,), [-0.0103524515574, 0.48627320084]),
    "nn": ((1000, 20), [531.700550422, 1.26525202526, 0.763411585041, -0.89114657658]),
    "pairwise": ((50, 40), [52709.9007688]),
    "pythagorean_id": ((1000,), [1000]),
    "reverse_cumsum": ((1000,), [255640.749291]),
    "rosen": ((1000,), [1.98006993314e16]),
    "specialconvolve": ((100,), [2.08627866941e13]),
    "vibr_energy": ((1000,), [699.648433208]),
    "network": ((100, 8, 16, 20), [-27.9933719349, 12.6390385627, 99.8941405238]),
    "gemm": ((20, 25, 30), [4365]),
    "gemver": ((40,), [4742.52083333, 471.479887153, 104024.791001]),
    "gesummv": ((40,), [993.75]),
    "mvt": ((40,), [369.75, 369.5]),
    "syrk": ((20, 25), [2510.5]),
    "syr2k": ((20, 25), [4433.15]),
    "symm": ((20, 25), [17923.125]),
    "trmm": ((20, 25), [1777.5]),
    "trisolv": ((40,), [12.3651722142]),
    "gramschmidt": ((24, 20), [10.2157595201, 105.799869094, 22.6637503518]),
    "covariance": ((60, 50), [183076.25]),
    "clos": ((32,), [412]),
    "jacobi_1d": ((20, 30), [16.6195126384, 16.6704372042]),
    "jacobi_2d": ((20, 30), [7245.05548901, 7294.06039112]),
    "fdtd_2d": ((10, 20, 30), [3035.88546036, 1498.16658163, 3718.08439076]),
    "hdiff": ((8, 9, 10), [359.85712892]),
    "adi": ((5, 20), [-12935.3928865]),
    "floyd_warshall": ((60,), [6594]),
    "jacobi_error": ((32, 32), [526.595327693, 249.840883494]),
    "conv_2d": ((20, 5), [2735.14944902]),
    "babelstream": ((10, 1000), [66.4832635992, 27.701359833, 96.9547594154, 1.84167680783]),
    "nstream": ((50, 1000), [400000]),
    "transpose": ((50, 32), [574976, 27443200]),
    "vadd": ((1000,), [997.82829128]),
    "saxpy": ((1000,), [1773.1878]),
    "hilbert": ((32,), [43.8653253292]),
    "rosen_der": ((1000,), [32319.210722]),
    "arc_distance_pairs": ((30, 40), [589.562756624]),
    "softmax": ((2, 3, 8, 16), [48]),
    "azimint_naive": ((2000, 10), [5.02343661504]),
    "go_fast": ((40, 40), [31965.9490655]),
    "fdtd_3d": ((50, 25, 20, 15), [39.7872237435, 52.2006750645, 97.3977954271, 0.218024469925,
                                       0.211960990878, 0.117568916496, 4.71452606542]),
    "nb3d": ((30, 366), [None, None, 47294.1694728]),
    "black_scholes": ((1000,), [3496.83344349, 29592.6267594]),
}
OF_MAGNITUDES = {"fdtd_3d"}


@pytest.mark.parametrize("name", PAPERS)
def test_a_program_computes_what_the_paper_says(name):
    """A program that computes something else measures something else."""
    size, sums = PAPERS[name]
    program = PROGRAMS[name]
    results = flat(program.function(numpy, *program.inputs(numpy, *size)))
    for got, want in zip(results, sums, strict=False):
        if want is None:  # the paper gives no sum of it
            continue
        single = getattr(got, "dtype", None) == "float32"
        if name in OF_MAGNITUDES:
            got = numpy.abs(got)
        got = float(numpy.sum(got, dtype="float64"))
        assert abs(got - want) <= (2e-5 if single else 2e-9) * max(abs(want), 1e-2), (got, want)


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
    assert case["warm"]["ops"] + case["warm"]["near"] > 0 and case["cold"]["kernels"] >= 0
    assert case["numpy"] > 0 and case["whole"]["braze.numpy"] > 0
    assert "lstsqr/tiny" in done.stdout and "DelayRepay's 21" in done.stdout
    before = results.read_text()
    done = subprocess.run(command, env=env, text=True, capture_output=True, timeout=300)
    assert done.returncode == 0 and results.read_text() == before
