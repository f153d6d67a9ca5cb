# SPDX-License-Identifier: Apache-2.0
"""Reductions of zeros of both signs, infinities and NaN: the tree's bits (kernels/tree.h), whatever
computes them, however wide its vectors are and however the array lies."""

import os
import sys

import numpy
import pytest

import braze.numpy as np
from harness import Daemon, wait_until

DTYPES = ("f", "d", "F", "D")
LENGTHS = (1, 2, 3, 5, 31, 32, 33, 63, 66, 90, 130, 1023, 1025, 2050, 3000)
FINITE = (1.0, -1.0, 2.0, -0.5, 0.0, -0.0)
NOT = (numpy.inf, -numpy.inf, numpy.nan)


def values(rows, n, dtype, seed=5):
    """Rows of few numbers: the first half finite, the others with some that are not."""
    rng = numpy.random.default_rng([seed, rows, n])

    def part():
        x = rng.choice(FINITE, (rows, n), p=(0.48, 0.48, 0.01, 0.01, 0.01, 0.01))
        x[rng.random((rows, n)) < 0.5] *= 0.0
        x[rows // 2:, rng.integers(n)] = rng.choice(NOT, rows - rows // 2)
        return x

    made = numpy.empty((rows, n), dtype)
    if made.dtype.kind == "c":
        made.real, made.imag = part(), part()
        return made
    made[:] = numpy.where(rng.random((rows, n)) < 0.5, 1, part())
    return made


def times(a, b):
    """NumPy's product, which its own loops over rows may contract."""
    made = numpy.empty(numpy.broadcast(a, b).shape, a.dtype)
    if made.dtype.kind != "c":
        return numpy.multiply(a, b, out=made)
    made.real = a.real * b.real - a.imag * b.imag
    made.imag = a.real * b.imag + a.imag * b.real
    return made


TREES = {"sum": (numpy.add, -0.0), "prod": (times, 1)}


def tree(name, x):
    """The tree of kernels/tree.h along the rows of x, one operation after another."""
    op, identity = TREES[name]
    if x.dtype.kind == "c" and name == "sum":
        identity = complex(-0.0, -0.0)
    lanes = 64 if x.real.dtype.itemsize <= 4 else 32
    stack = []
    for block, at in enumerate(range(0, x.shape[1], 1024), 1):
        lane = numpy.full((len(x), lanes), identity, x.dtype)
        for e in range(at, min(at + 1024, x.shape[1])):
            lane[:, e % lanes] = op(lane[:, e % lanes], x[:, e])
        used = min(x.shape[1] - at, lanes)  # lanes that no element went to take no part
        while lane.shape[1] > 1:
            half = lane.shape[1] // 2
            both = max(min(used, 2 * half) - half, 0)
            lane[:, :both] = op(lane[:, :both], lane[:, half:half + both])
            lane = lane[:, :half]
        value = lane[:, 0]
        while block % 2 == 0:
            value, block = op(stack.pop(), value), block // 2
        stack.append(value)
    value = stack.pop()
    while stack:
        value = op(stack.pop(), value)
    return value


def bits(x):
    """The bytes, with one NaN for all."""
    x = numpy.array(x, order="C")  # our own copy
    parts = x.view(x.real.dtype)
    parts[numpy.isnan(parts)] = numpy.nan
    return x.tobytes()


def ways(x):
    """The same rows in other places: along an axis, across, over two axes, backwards in memory."""
    n = x.shape[1]
    yield np.array(x), 1
    yield np.array(numpy.ascontiguousarray(x.T)), 0
    yield np.array(numpy.ascontiguousarray(x[:, ::-1]))[:, ::-1], 1
    yield np.array(numpy.repeat(x, 2, axis=1))[:, ::2], 1
    for by in (3, 5, 2):
        if n % by == 0:
            yield np.array(x.reshape(len(x), by, n // by)), (1, 2)
            break


def computed():
    """What each reduction of each array gives, for all ways."""
    with numpy.errstate(all="ignore"):
        for dtype in DTYPES:
            for n in LENGTHS:
                x = values(12, n, dtype)
                for name in TREES:
                    yield dtype, n, name, x, [bits(numpy.asarray(getattr(a, name)(axis=axis)))
                                              for a, axis in ways(x)]


def test_reductions_are_the_trees():
    with numpy.errstate(all="ignore"):
        for dtype, n, name, x, got in computed():
            want = bits(tree(name, x))
            assert all(one == want for one in got), (dtype, n, name, [one == want for one in got])


@pytest.mark.parametrize("dtype", DTYPES)
def test_few_finite_elements_are_numpys(dtype):
    x = values(40, 2, dtype)
    x = x[numpy.isfinite(x).all(1)]
    for part in (x, x[:, :1]):
        for name in ("sum", "prod", "min", "max"):
            want = getattr(part, name)(axis=1)
            for a, axis in ways(part):
                numpy.testing.assert_array_equal(getattr(a, name)(axis=axis), want)


@pytest.mark.parametrize("dtype", DTYPES)
def test_extremes_and_truths_are_numpys(dtype):
    for n in LENGTHS:
        x = values(12, n, dtype)
        for name in ("min", "max", "any", "all", "argmin", "argmax"):
            want = getattr(x, name)(axis=1)
            for a, axis in ways(x):
                if isinstance(axis, int) or name[:3] != "arg":
                    numpy.testing.assert_array_equal(getattr(a, name)(axis=axis), want)


def print_bits():
    """For a process of its own."""
    for *_, got in computed():
        print(*(one.hex() for one in got))


def test_both_tiers_near_and_far_give_the_same_bits():
    code = "import test_lanes; test_lanes.print_bits()"
    paths = os.pathsep.join([os.path.dirname(__file__), *filter(None, sys.path)])
    printed = []
    for tier, near in ((0, "0"), (0, "1"), (1, "0")):
        with Daemon(tier=tier) as daemon:
            for _ in range(1 + tier):  # tier 1: a second time, when all is compiled
                printed.append(daemon.run(code, timeout=300, PYTHONPATH=paths, BRAZE_NEAR=near))
                wait_until(lambda d=daemon: not any(
                    k["state"] == "compiling" for k in d.kernels()), 300, "the end of compiling")
            assert not tier or any(k["state"] == "ready" for k in daemon.kernels())
    assert printed[0] and len(set(printed)) == 1
