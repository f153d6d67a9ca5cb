# SPDX-License-Identifier: Apache-2.0
"""Programs made of loops give captured what they give as Python, and are captured wholly.

The text of each program's kernels is kept in tests/golden/jit, so that a change of the capture is seen;
BRAZE_UPDATE_GOLDEN=1 writes the files anew.
"""

import ast
import copy
import gc
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import braze
import braze.numpy as bnp

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "bench"))
from programs.answers import wrong  # noqa: E402
from programs.loop_child import same  # noqa: E402
from programs.loop_table import LOOPS, sums  # noqa: E402
from programs.loops_numpy import array_form  # noqa: E402

GOLDEN = TESTS / "golden/jit"
PYTHONS = {}  # name -> what plain Python gives, and its arguments afterwards


def plain(program):
    if program.name not in PYTHONS:
        arguments = program.arguments("test")
        with np.errstate(all="ignore"):
            answer = program.twin(*arguments)
        PYTHONS[program.name] = copy.deepcopy((answer, arguments))
    return PYTHONS[program.name]


def texts(functions):
    """The kernels of captured functions, each behind the line of its loop, of a unit's with its name."""
    return "\n".join(text for f in functions for text in _texts(f.__braze_jit__, len(functions) > 1))


def _texts(known, named):
    first = known.function.__code__.co_firstlineno
    name = f" of {known.function.__name__}" if named else ""
    for site in known.sites:
        for special in (s for specials in site.specials.values() for s in specials if s.made is not None):
            if site.is_row and special.refusal is not None:
                continue  # its loops have kernels of their own
            yield f"# line {site.loop.lineno - first + 1}{name}\n{special.made.text}\n"


def outermost(captured):
    """Sites whose loops are in no other one's; of rows those that became kernels."""
    sites = [s for s in captured.__braze_jit__.sites if s.calls or not s.is_row]
    return [s for s in sites if not any(_holds(t.loop, s.loop) for t in sites)]


def _holds(loop, other):
    """Sites have copies of their loops."""
    wanted = ast.dump(other, include_attributes=True)
    return any(n is not loop and ast.dump(n, include_attributes=True) == wanted
               for n in ast.walk(loop) if type(n) is type(other))


@pytest.mark.parametrize("name", LOOPS)
def test_python_gives_the_reference(name):
    program = LOOPS[name]
    have = sums(plain(program)[0])
    tolerance = 2e-5 if program.check == "single" else 1e-10
    for number, (got, want) in enumerate(zip(have, program.reference)):
        if want is not None:
            assert abs(got - want) <= tolerance * abs(want), (name, number, got, want)


@pytest.mark.parametrize("name", [name for name in LOOPS if array_form(name)])
def test_the_array_form_gives_what_the_loops_give(name):
    program = LOOPS[name]
    assert same(array_form(name)(*program.arguments("test")), plain(program)[0], program) is None


@pytest.mark.parametrize("kind", ["numpy", "braze"])
@pytest.mark.parametrize("name", LOOPS)
def test_a_captured_program_gives_what_python_gives(name, kind):
    program = LOOPS[name]
    want, want_arguments = plain(program)
    runs = program.runnable()
    arguments = program.arguments("test")
    if kind == "braze":
        arguments = tuple(bnp.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments)
    have = runs(*arguments)
    assert wrong(have, want, program.check) is None, wrong(have, want, program.check)
    fault = wrong([np.asarray(a) for a in arguments], [np.asarray(a) for a in want_arguments],
                  program.check)
    assert fault is None, f"the arguments afterwards: {fault}"
    assert program.captured(runs)
    for captured in program.captured(runs):
        refused = [s for s in outermost(captured) if not s.calls]
        known = captured.__braze_jit__
        assert known.sites, "it has no loops"
        assert bool(refused or known.left or known.whole) == bool(program.python), braze.explain(captured)


@pytest.mark.long
@pytest.mark.parametrize("name", LOOPS)
def test_every_way_gives_the_same_bits(name):
    """The reference interpreter, the code that is made at once, the compiler's; small inputs are larger than a test's."""
    said = [subprocess.run([sys.executable, str(TESTS / "python/loop_ways.py"), name, "small", way], text=True,
                           stdout=subprocess.PIPE, check=True).stdout.split()
            for way in ("interpreted", "once", "compiled")]
    assert all(int(calls) for _, calls in said), said
    assert len({digest for digest, _ in said}) == 1, said


@pytest.mark.parametrize("name", LOOPS)
def test_the_kernels_are_those_that_are_kept(name):
    program = LOOPS[name]
    runs = program.runnable()
    runs(*program.arguments("test"))
    file = GOLDEN / f"{name}.txt"
    have = texts(program.captured(runs))
    if os.environ.get("BRAZE_UPDATE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        file.write_text(have)
    assert have == file.read_text()


def test_every_kept_text_belongs_to_a_program():
    assert {f.stem for f in GOLDEN.glob("*.txt")} == set(LOOPS)


def test_bodies_and_atoms_end_where_other_runs_end():
    for name in ("nb1d", "nb3d"):
        program = LOOPS[name]
        out = braze.jit(program.function)(*program.inputs(30, 366))
        parts = [out[k:k + len(out) // 3] for k in range(0, len(out), len(out) // 3)]
        have = [sum(np.abs(part).sum() for part in third) for third in parts]
        assert np.allclose(have, [1.06026245659e-9, 7.98935122429e-11, 47294.1694728], rtol=1e-8, atol=0)
    for name in ("examinimd", "examinimd_units"):
        program = LOOPS[name]
        motion, potential, _, _, forces = program.runnable()(*program.inputs(4, 20))
        have = [motion, potential, np.abs(forces).sum()]
        assert np.allclose(have, [283.020095262, -1368.60462104, 10768.0858526], rtol=1e-8, atol=0), have
    gc.collect()  # a captured function goes with its cycle, and only then the descriptors of its code


def test_a_cavity_rings_as_in_other_runs():
    program = LOOPS["fdtd_3d"]
    record, *fields = braze.jit(program.function)(*program.inputs(50, 25, 20, 15))
    have = [np.abs(record).sum(), *(np.abs(f).sum() for f in fields)]
    assert np.allclose(have, [4.71452606542, 39.7872237435, 52.2006750645, 97.3977954271, 0.218024469925,
                              0.211960990878, 0.117568916496], rtol=1e-6, atol=0), have
    gc.collect()


@pytest.mark.parametrize("name", ["dsmc", "dsmc_units"])
def test_electrons_multiply_as_in_other_runs(name):
    program = LOOPS[name]
    count, density, x, v, w, field, draws, kind, energy = program.inputs(2000)
    g = np.random.default_rng(0)
    g.standard_normal((count, 3))
    runs, hits = program.runnable(), np.zeros(3, int)
    for _ in range(3):
        draws, kind, energy = g.random((count, 7)), np.zeros(count, np.int64), np.zeros(count)
        count = runs(count, density, x, v, w, field, draws, kind, energy)[0]
        hits += np.bincount(kind, minlength=3)
    assert (count, *hits[1:]) == (2577, 4102, 577)
    assert np.allclose([x.sum(), np.abs(v).sum()], [2554.90752998, 9326506356.59], rtol=1e-9, atol=0)
