# SPDX-License-Identifier: Apache-2.0
"""What a call costs a Python program before anything is waited for, counted in instructions.

Counts hold on a machine of any load; the processor that valgrind makes believe has AVX2."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from harness import ROOT, clean_environment, find_daemon, is_sanitized

pytestmark = pytest.mark.skipif(not shutil.which("valgrind") or is_sanitized(),
                                reason="needs valgrind and a daemon without sanitizers")


def counted(statements, near="1", *options):
    """Of one turn of each, as tests/bench/calls.py counts: NumPy's and ours; ours alone and under a profile."""
    path = f"{pathlib.Path(find_daemon()).parent}:/usr/bin:/bin"
    done = subprocess.run([sys.executable, ROOT / "tests/bench/calls.py", "--count", *options, *statements],
                          env=clean_environment(BRAZE_NEAR=near, PATH=path), check=True,
                          capture_output=True, text=True)
    rows = re.findall(r"^(\S.*?) +(\d+) +(\d+) +\d", done.stdout, re.M)
    return {name: (int(theirs), int(ours)) for name, theirs, ours in rows}


@pytest.mark.parametrize(("near", "most"), [("1", 700), ("0", 620)], ids=["near", "recorded"])
def test_an_addition_of_few_elements(near, most):
    theirs, ours = counted(["add operator"], near)["add operator"]
    assert ours <= most
    assert ours < theirs


SINGLE = {"read an element": 440, "read two axes": 560, "write an element": 420, "rows at a list": 2500, "change rows by lists": 4400,
          "np.tanh of a scalar": 1800, "np.tanh of a float": 1700, "np.arctan2 of scalars": 2000, "np.sqrt of a scalar": 1200}


def test_single_values_cost_less_than_numpys():
    rows = counted(SINGLE)
    assert set(SINGLE) <= set(rows)
    dear = {name: rows[name] for name, most in SINGLE.items() if rows[name][1] > most or rows[name][1] >= rows[name][0]}
    assert not dear


# Attributes are looked up as of any type; where Python found a method it remembers, and calls it without binding it.
METHODS = {"a.sum": 2150, "a.reshape": 1300, "a.ravel": 1110, "a.shape": 500, "a.dtype": 230, "a.copy": 1100, "a.T": 660}


def test_methods_and_attributes():
    rows = counted(METHODS)
    assert set(METHODS) <= set(rows)
    assert not {name: rows[name] for name, most in METHODS.items() if rows[name][1] > most}


# Calls that C answers: an element chosen, moved, found or written costs no array of NumPy's.
CHOSEN = {"a.take": 1320, "np.take": 1400, "np.linspace": 1360, "write at places": 920, "a.argmax": 1500, "sort in place": 1560,
          "view": 1020, "row": 620, "column": 1450, "np.zeros": 1200, "np.random.rand": 2350}


def test_calls_that_choose_and_order_elements():
    rows = counted(CHOSEN)
    assert set(CHOSEN) <= set(rows)
    assert not {name: rows[name] for name, most in CHOSEN.items() if rows[name][1] > most}


# Of 9000 places or numbers: what an element takes, since memory is gone through once and places are read where they lie.
ELEMENTS = {"add at many places": 17, "count many": 9, "add up many": 12}


def test_elements_at_places_and_counts():
    rows = counted(ELEMENTS)
    assert set(ELEMENTS) <= set(rows)
    assert not {name: rows[name] for name, most in ELEMENTS.items() if rows[name][1] > 9000 * most}


# Most of theirs is NumPy's own work.
BESIDE_NUMPYS = {"errstate": 10800, "shuffle": 11600}


def test_states_of_errors_and_shuffles():
    rows = counted(BESIDE_NUMPYS)
    assert set(BESIDE_NUMPYS) <= set(rows)
    assert not {name: rows[name] for name, most in BESIDE_NUMPYS.items() if rows[name][1] > most}


# One of each way into the library, and what else a program does.
UNDER_A_PROFILE = ("add operator", "np.exp", "np.sqrt out=", "np.add out=", "in place", "slice in place", "copy a slice",
                   "a.sum axis", "a.copy", "np.empty", "np.array of a list", "np.matmul", "change rows by lists", "np.random.rand",
                   "comparisons", "where of a comparison", "columns in place", "rows by slices", "np.max axis",
                   "mean over two axes", "a normal draw", "a generator's draw", "a draw of braze's own", "np.sort", "np.cumsum",
                   "a mask's rows", "data come in")
READS = ("a value is read", "a sum is read", "a list of it")
# What daemon and worker spend besides, as callgrind counts them: on an operation that is recorded and dropped, at
# least, and on a value that is read.
A_DROP, A_TRIP = 1_100, 33_000


@pytest.mark.parametrize("near", ["0", "1"], ids=["recorded", "near"])
def test_a_profile_costs_at_most_3_percent(near):
    names, dear = UNDER_A_PROFILE + READS, {}
    for _ in range(2):  # a machine of many can have a short call of NumPy's last long: then it is told of by itself
        rows = counted(names, near, "--profile")
        whole = {name: rows[name][0] + (near == "0") * (A_TRIP if name in READS else A_DROP) for name in names}
        shares = {name: (rows[name][1] - rows[name][0]) / whole[name] for name in names}
        dear = {name: share for name, share in shares.items() if share > 0.03}
        names = tuple(dear)
        if not names:
            break
    assert not dear


def test_a_profile_counts_an_operation_once():
    code = ("import os, braze, braze.numpy as np\n"
            "a = np.ones(4)\nfloat(a[0])\n"
            "with braze.profile() as p:\n"
            "    for _ in range(5000):\n"
            "        a + 1.0\n"
            "print(sum(r.near_ops for r in p.lines), sum(r.far_ops for r in p.lines))")
    path = f"{pathlib.Path(find_daemon()).parent}:/usr/bin:/bin"
    for near, counts in (("1", "5000 0"), ("0", "0 5000")):
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True,
                              env=clean_environment(BRAZE_NEAR=near, PATH=path))
        assert done.stdout.split() == counts.split()
