# SPDX-License-Identifier: Apache-2.0
"""Loops that add up scalars, on a GPU against the processor's code of the same kernel, to the bit.

`like(kernel, ...)` calls it with arrays of braze and with copies in NumPy's, which stay on the processor, compares
all arrays and results, and returns how often was waited and what the device has run of it: (waits, loops gone).
"""

import itertools

import braze
import braze.numpy as np
import numpy
from loops_on_gpu import at_hand, compare, where  # noqa: F401 - for those who import all

EDGES = 0, 1, 2, 63, 64, 65, 1023, 1024, 1025, 65537


def of(body, dtype="float64", result="s"):
    """A kernel of x, y, z (written), of the type, and n, that returns the scalar it is given, or several."""
    head = ", ".join(f"{name}: {dtype}" for name in result)
    begun = "\n".join(f"{name} = first" for name in result)
    return braze.kernel_from_text(
        f"kernel f(x: {dtype}[:], y: {dtype}[:], inout z: {dtype}[:], n: int64, first: {dtype}) -> ({head}) "
        f"{{\n{begun}\n{body}\n}}\n")


def bits(v):
    """Of numbers, with one NaN for all: which of its bits are set is the device's, as in every operation."""
    numbers = [numpy.array(x) for x in (v if isinstance(v, tuple) else (v,))]
    for x in numbers:
        if x.dtype.kind in "fc":
            x[numpy.isnan(x)] = numpy.nan
    return [(x.dtype, x.tobytes()) for x in numbers]


def like(f, *args):
    ours = [at_hand(numpy.array(a)) if isinstance(a, numpy.ndarray) else a for a in args]
    theirs = [numpy.array(a) if isinstance(a, numpy.ndarray) else a for a in args]
    arrays = [a for a, b in zip(ours, theirs) if isinstance(b, numpy.ndarray)]
    braze.wait(*arrays)
    before = braze.counters()
    got = f(*ours)
    waits = braze.counters()["round_trips"] - before["round_trips"]
    want = f(*theirs)
    assert bits(got) == bits(want), (got, want)
    for a, b in zip(ours, theirs):
        if isinstance(b, numpy.ndarray):
            compare(a, b, 0)
    return waits


def values(dtype, n, seed=1):
    rng = numpy.random.default_rng(seed)
    if dtype.startswith("float"):
        return rng.standard_normal(n).astype(dtype)
    return rng.integers(0, 200, n).astype(dtype)


# Each loop adds up one scalar; what of it holds for which types.
FLOATS, INTEGERS = ("float64", "float32"), ("int64", "int32", "uint8")
LOOPS = {
    "a dot": ("for i in 0..n reduction(+: s) { s += x[i] * y[i] }", FLOATS),
    "a product": ("for i in 0..n reduction(*: s) { s *= x[i] }", FLOATS),
    "a claimed difference": ("for i in 0..n reduction(+: s) { s -= x[i] }", FLOATS),
    "a sum": ("for i in 0..n { s += x[i] * y[i] }", INTEGERS),
    "a product of integers": ("for i in 0..n { s *= x[i] }", INTEGERS),
    "all bits": ("for i in 0..n { s &= x[i] }", (*INTEGERS, "bool")),
    "any bits": ("for i in 0..n { s |= x[i] }", (*INTEGERS, "bool")),
    "odd bits": ("for i in 0..n { s ^= x[i] }", (*INTEGERS, "bool")),
    "the most": ("for i in 0..n { s = max(s, x[i]) }", FLOATS + INTEGERS),
    "the least": ("for i in 0..n { s = min(x[i], s) }", FLOATS + INTEGERS),
    "the most, as Python asks": ("for i in 0..n { let v = x[i]; if v > s { s = v } }", FLOATS + INTEGERS),
    "the last of the least": ("for i in 0..n { let v = x[i]; if v <= s { s = v } }", FLOATS + INTEGERS),
}
CASES = [(name, dtype) for name, (_, types) in LOOPS.items() for dtype in types]


def edges(name, dtype):
    """All numbers of turns; how many have waited, which those of no turn do not."""
    f = of(LOOPS[name][0], dtype)
    x, y, z = values(dtype, EDGES[-1]), values(dtype, EDGES[-1], 2), values(dtype, 3)
    first = numpy.dtype(dtype).type(3)
    return [like(f, x, y, z, n, first) for n in EDGES]


def zeros_and_nans(name, dtype):
    """Which zero and which NaN, at each place: a scalar that is one of either, too."""
    f = of(LOOPS[name][0], dtype)
    special = numpy.array([0.0, -0.0, numpy.nan, 1.0], dtype)
    y = z = values(dtype, 3)
    for some in itertools.product(special, repeat=3):
        for first in special[:3]:
            like(f, numpy.array(some, dtype), y, z, 3, first)


@braze.jit
def jacobi(u, v, tolerance, most):
    turns, error = 0, 2 * tolerance
    while error > tolerance and turns < most:
        error = 0.0
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) * 0.25
                error = max(error, abs(v[i, j] - u[i, j]))
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = v[i, j]
        turns += 1
    return turns, error


@braze.jit
def norms(x):
    s = n = 0.0
    count = 0
    #pragma parallel for reduction(sum:s, n)
    for i in range(len(x)):
        s += x[i] * x[i]
        n += abs(x[i])
        if x[i] > 1.0:
            count += 1
    return s ** 0.5, n / len(x), count


@braze.jit
def triangle_most(a):
    most = -1.0
    for i in range(a.shape[0]):
        for j in range(i, a.shape[1]):
            most = max(most, a[i, j])
    return most


@braze.jit
def histogram_of_one(x, low, high):
    n = 0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if low <= x[i, j] < high:
                n += 1
    return n


# Several loops of a function are one kernel where a loop is around them.


@braze.jit
def scaled(x, y, turns):
    s = 0.0
    for _ in range(turns):
        s = 0.0
        #pragma parallel for reduction(sum:s)
        for i in range(len(x)):
            s += x[i] * x[i]
        for i in range(len(x)):
            y[i] = y[i] + x[i] / s
    return s


@braze.jit
def noted(x, y, turns):
    for _ in range(turns):
        s = 0.0
        #pragma parallel for reduction(sum:s)
        for i in range(len(x)):
            s += x[i]
        if s == s:
            y[0] = s
        for i in range(1, len(y)):
            y[i] = y[i] + 1.0


@braze.jit
def in_order(x, y):
    s = 0.0
    for i in range(len(x)):
        v = x[i]
        for _ in range(40):
            v = v * 0.5 + x[i] * 0.25 + 1.0
        s += v
        y[i] = v
    return s
