# SPDX-License-Identifier: Apache-2.0
"""Loops in a row that become one: the same bits as loops that stay as they are written."""

import random

import numpy as np
import pytest
from fusion_random import Program

import braze

SEEDS = 60


def arrays_of(program, rng):
    """Four arrays, or two of which share memory: the same, or moved by an element or two."""
    shape = (program.n + 8,) * program.rank
    made = np.random.default_rng(rng.randrange(1 << 30))
    many = int(np.prod(shape))
    memory = (made.integers(0, 9, 4 * many + 64) / (1 if program.dtype == "int64" else 8)).astype(program.dtype)
    places = [k * (many + 8) for k in range(4)]
    if rng.random() < .3:
        places[rng.randrange(4)] = places[rng.randrange(4)] + rng.randrange(0, 3)
    views = [memory[at:at + many].reshape(shape) for at in places]
    return memory, views


def outcome(kernel, program, seed):
    rng = random.Random(seed)
    memory, views = arrays_of(program, rng)
    with np.errstate(all="ignore"):
        try:
            results = kernel(*views, program.n, rng.choice((3, 4, 5, 4, 9)))
        except IndexError as error:
            results = str(error)
    return memory, results


def check(seed, big):
    rng = random.Random(seed)
    program = Program(rng, big)
    again = rng.randrange(1 << 30)
    kernel = braze.kernel_from_text(program.text)
    with braze.unfused():
        want, told = outcome(kernel, program, again)
    for compiled in (False, True):
        if compiled:
            kernel.compile()
        for _ in range(2):
            got, said = outcome(kernel, program, again)
            assert got.tobytes() == want.tobytes(), (seed, compiled, program.text)
            assert (said == told if isinstance(told, str) else np.array(said).tobytes() == np.array(told).tobytes()), \
                (seed, compiled, program.text)
    with braze.unfused():
        got, said = outcome(kernel, program, again)
    assert got.tobytes() == want.tobytes(), (seed, program.text)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random(seed):
    check(seed, seed % 3 != 0)


ROW = """
kernel row(inout a: float64[:], inout b: float64[:], n: int64) {
    for i in 0..n { a[i] = b[i] * 2.0 }
    for j in 0..n { b[j] = a[j] + 1.0 }
    for k in 0..n - 1 { a[k] = b[k + 1] }
}
"""


def explained(kernel, *args):
    return str(braze.explain(kernel, *args)).splitlines()


def test_explained():
    kernel = braze.kernel_from_text(ROW)
    many, few = np.ones(20_000), np.ones(20)
    told = explained(kernel, many, many.copy(), 20_000)
    assert told[0] == "line 3: one loop with line 4"
    assert told[1].startswith("line 3: parallel, 20000 turns")
    assert told[2].startswith("line 5: ")
    assert len(told) == 3
    assert explained(kernel, few, few.copy(), 20)[0] == "line 3: apart from line 4: they do too little"
    assert len(explained(kernel, few, few.copy(), 20)) == 4
    assert explained(kernel, many, many[1:], 19_999)[0].startswith("line 3: one loop")  # copies, which lie apart


def test_arguments_that_overlap():
    kernel = braze.kernel_from_text(ROW)
    memory = np.arange(20_010.0)
    for far in (0, 1, 7):
        with braze.unfused():
            want = memory.copy()
            kernel(want[far:far + 20_000], want[:20_000], 20_000)
        got = memory.copy()
        kernel(got[far:far + 20_000], got[:20_000], 20_000)
        assert (got == want).all()


def test_wrong_index_comes_where_it_came():
    """What was written before it stays: the first loop, whole."""
    kernel = braze.kernel_from_text(ROW)
    a, b = np.zeros(20_000), np.ones(19_990)
    with pytest.raises(IndexError, match="line 3"):
        kernel(a, b, 20_000)
    assert a.sum() == 2 * 19_990 and (b == 1).all()
    a, b = np.zeros(20_000), np.ones(20_010)
    with pytest.raises(IndexError, match="line 3"):
        kernel(a, b, 20_005)
    assert a.sum() == 2 * 20_000 and (b == 1).all()


def test_function():
    @braze.jit
    def stream(a, b, c, n):
        for _ in range(3):
            for i in range(n):
                c[i] = a[i]
            for i in range(n):
                b[i] = 0.4 * c[i]
            for i in range(n):
                a[i] = b[i] + 0.4 * c[i]

    made = [np.random.default_rng(0).random(30_000) for _ in range(3)]
    want, got = [x.copy() for x in made], [x.copy() for x in made]
    stream.py_func(*want, 30_000)
    stream(*got, 30_000)
    assert all((x == y).all() for x, y in zip(want, got))
    assert "for one strip of the loops inside" in str(braze.explain(stream, *got, 30_000))


@pytest.mark.parametrize("way", ["interpreted", "at once", "compiled"])
def test_what_a_condition_was_made_of_is_known(way, monkeypatch):
    """No loop names u, which the question whether they are one asks for nevertheless."""
    if way == "interpreted":
        monkeypatch.setenv("BRAZE_KERNEL_CODE", "0")
    kernel = braze.kernel_from_text("""
kernel f(inout a: float64[:], inout b: float64[:], c: int64[:], n: int64, k: int64, turns: int64) {
    let u = len(c) // 24
    let v = u - 2
    for i in 0..n { if i < v { a[i] = 1.0 } }
    for i in 0..n { if i < v { b[i] = a[i + k] } }
    for t in 0..turns {
        let w = 1000 * t + n // 2
        let z = w - 7
        for i in 0..n { if i < z { a[i] += 1.0 } }
        for i in 0..n { if i < z { b[i] = a[i + k] } }
    }
}""")
    if way == "compiled":
        kernel.compile()
    for turns in (0, 3):
        a, b = np.zeros(30_000), np.zeros(30_000)
        kernel(a, b, np.zeros(24 * 30_000, np.int64), 29_990, 1, turns)
        want = np.zeros(30_000)
        want[:29_990] = 1
        for t in range(turns):
            want[:1000 * t + 29_990 // 2 - 7] += 1
        assert (a == want).all()
        end = 1000 * (turns - 1) + 29_990 // 2 - 7 if turns else 29_989
        assert (b[:end] == want[1:end + 1]).all()
