# SPDX-License-Identifier: Apache-2.0
"""Programs made of loops give captured what they give as Python, and are captured wholly.

The text of each program's kernels is kept in tests/golden/jit, so that a change of the capture is seen;
BRAZE_UPDATE_GOLDEN=1 writes the files anew.
"""

import copy
import gc
import os
import pathlib
import sys

import numpy as np
import pytest

import braze
import braze.numpy as bnp

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "bench"))
from programs.answers import wrong  # noqa: E402
from programs.loop_table import LOOPS, sums  # noqa: E402

GOLDEN = TESTS / "golden/jit"
PYTHONS = {}  # name -> what plain Python gives, and its arguments afterwards


def plain(program):
    if program.name not in PYTHONS:
        arguments = program.arguments("test")
        with np.errstate(all="ignore"):
            answer = program.function(*arguments)
        PYTHONS[program.name] = copy.deepcopy((answer, arguments))
    return PYTHONS[program.name]


def texts(captured):
    """The kernels of a captured function, each behind the line of its loop."""
    first = captured.py_func.__code__.co_firstlineno
    return "\n".join(f"# line {site.loop.lineno - first + 1}\n{special.made.text}\n"
                     for site in captured.__braze_jit__.sites
                     for specials in site.specials.values() for special in specials
                     if special.made is not None)


def outermost(captured):
    """Sites whose loops are in no other one's."""
    sites = captured.__braze_jit__.sites
    return [s for s in sites if not any(
        t.loop.lineno < s.loop.lineno and s.loop.end_lineno <= t.loop.end_lineno for t in sites)]


@pytest.mark.parametrize("name", LOOPS)
def test_python_gives_the_reference(name):
    program = LOOPS[name]
    have = sums(plain(program)[0])
    tolerance = 2e-5 if program.check == "single" else 1e-10
    for number, (got, want) in enumerate(zip(have, program.reference)):
        if want is not None:
            assert abs(got - want) <= tolerance * abs(want), (name, number, got, want)


@pytest.mark.parametrize("kind", ["numpy", "braze"])
@pytest.mark.parametrize("name", LOOPS)
def test_a_captured_program_gives_what_python_gives(name, kind):
    program = LOOPS[name]
    want, want_arguments = plain(program)
    captured = braze.jit(program.function)
    arguments = program.arguments("test")
    if kind == "braze":
        arguments = tuple(bnp.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments)
    have = captured(*arguments)
    assert wrong(have, want, program.check) is None, wrong(have, want, program.check)
    fault = wrong([np.asarray(a) for a in arguments], [np.asarray(a) for a in want_arguments],
                  program.check)
    assert fault is None, f"the arguments afterwards: {fault}"
    refused = [s for s in outermost(captured) if not s.calls]
    known = captured.__braze_jit__
    assert known.sites, "it has no loops"
    assert bool(refused or known.left or known.whole) == bool(program.python), braze.explain(captured)


@pytest.mark.parametrize("name", LOOPS)
def test_the_kernels_are_those_that_are_kept(name):
    program = LOOPS[name]
    captured = braze.jit(program.function)
    captured(*program.arguments("test"))
    file = GOLDEN / f"{name}.txt"
    if os.environ.get("BRAZE_UPDATE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        file.write_text(texts(captured))
    assert texts(captured) == file.read_text()


def test_every_kept_text_belongs_to_a_program():
    assert {f.stem for f in GOLDEN.glob("*.txt")} == set(LOOPS)


def test_bodies_and_atoms_end_where_other_runs_end():
    program = LOOPS["nb1d"]
    out = braze.jit(program.function)(*program.inputs(30, 366))
    have = [sum(np.abs(part).sum() for part in out[k:k + 3]) for k in (0, 3, 6)]
    assert np.allclose(have, [1.06026245659e-9, 7.98935122429e-11, 47294.1694728], rtol=1e-8, atol=0)
    program = LOOPS["examinimd"]
    motion, potential, _, _, forces = braze.jit(program.function)(*program.inputs(4, 20))
    have = [motion, potential, np.abs(forces).sum()]
    assert np.allclose(have, [283.020095262, -1368.60462104, 10768.0858526], rtol=1e-8, atol=0), have
    gc.collect()  # a captured function goes with its cycle, and only then the descriptors of its code
