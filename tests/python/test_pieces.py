# SPDX-License-Identifier: Apache-2.0
"""Rolls, borders and concatenations that elementwise code reads piece by piece."""

import random

import numpy
import pytest

import braze
import braze.numpy as np

SHAPES = [(100, 100), (7, 2000), (300, 64), (2000, 9), (129, 257)]
TYPES = ["f8", "f4", "i4", "?", "i1", "c16"]


def step(np, x, y, dtype, rng):
    """An array of x's shape out of both."""
    kind = rng.randint(0, 8)
    if kind < 3:
        return np.roll(x, rng.randint(-3, 3), axis=rng.randint(0, 1))
    if kind == 3:
        return np.roll(x, (rng.randint(-3, 3), 1), axis=(0, 1))
    if kind == 4:
        return np.pad(x, 1)[2:, 1:-1]
    if kind == 5:
        return np.concatenate((x[3:], y[:3]))
    if kind == 6:
        return np.roll(x, rng.randint(0, 40))
    if kind == 7 and dtype != "c16":
        return np.where(x > y, x, y)
    return x + y


def program(np, a, dtype, seed):
    """Some of the arrays made on the way; a may be written, as a view of what is returned."""
    rng = random.Random(seed)
    live = [a, a[::-1]]
    for _ in range(rng.randint(2, 8)):
        live.append(step(np, rng.choice(live), rng.choice(live), dtype, rng))
        if rng.random() < 0.15:
            live[-1][1:3] = 1
        if rng.random() < 0.1:
            live.append(live[-1][::-1])
    return [x for x in live[2:] if x is live[-1] or rng.random() < 0.6]


@pytest.mark.parametrize("part", range(4))
def test_random_programs(part):
    for seed in range(part * 40, part * 40 + 40):
        rng = random.Random(-seed)
        shape, dtype = rng.choice(SHAPES), rng.choice(TYPES)
        a = (numpy.random.default_rng(seed).random(shape) * 9).astype(dtype)
        b = np.array(a)
        want, got = program(numpy, a, dtype, seed), program(np, b, dtype, seed)
        for x, y in zip([*want, a], [*got, b], strict=True):
            assert numpy.asarray(y).tobytes() == numpy.ascontiguousarray(x).tobytes(), seed


def neighbours(np, w):
    """Of each cell of a torus, the eight around it."""
    return sum(np.roll(np.roll(w, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)


@pytest.mark.parametrize("shape", [(400, 400), (1000, 70), (3, 30000)])
def test_many_turns_on_a_torus(shape):
    w = numpy.random.default_rng(3).random(shape) < 0.4
    x = np.array(w)
    for _ in range(5):
        n, m = neighbours(numpy, w), neighbours(np, x)
        w, x = (n == 3) | (w & (n == 2)), (m == 3) | (x & (m == 2))
    assert numpy.array_equal(numpy.asarray(x), w)


def test_what_a_roll_was_of_is_written_before_it_is_read():
    a = numpy.arange(40000.0).reshape(200, 200)
    b = np.array(a)
    for x in (a, b):
        y = (numpy if x is a else np).roll(x, 1, axis=0)
        x += 1
        x[5:9] = y[5:9] * 2 + x[5:9]
    assert numpy.array_equal(numpy.asarray(b), a)


def test_numbers_that_are_not_the_same_keep_their_bits():
    a = numpy.zeros((200, 100))
    a[::3] = -0.0
    a[1::5] = numpy.array([0x7ff8000000001234], "u8").view("f8")[0]
    b = np.array(a)
    got = np.where(np.roll(b, 7, axis=1) == 1, 0.0, np.roll(b, 7, axis=1))
    want = numpy.where(numpy.roll(a, 7, axis=1) == 1, 0.0, numpy.roll(a, 7, axis=1))
    braze.wait(got)
    assert numpy.asarray(got).tobytes() == want.tobytes()
