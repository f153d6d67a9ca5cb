# SPDX-License-Identifier: Apache-2.0
"""Rows of a packed matrix, whose bounds and columns are read from arrays: wrong ones in every place, against Python."""

import random

import numpy as np
import pytest
from kernel_ways import kernel, way  # noqa: F401

FEW = 64  # turns of a loop that has a short way around the test of its bounds (kernels/lang.h)

SUMS = """
kernel sums(ptr: {ptr}[:], col: {col}[:], val: float64[:], x: float64[:], inout y: float64[:]) {{
    for i in 0..len(ptr) - 1 {{
        let s = 0.0
        for p in int64(ptr[i])..int64(ptr[i + 1]) {{
            s = s + val[p + {far}] * x[col[p]]
        }}
        y[i] = s
    }}
}}
"""
# Each element is written: what was before a wrong index stays.
ADDS = """
kernel adds(ptr: {ptr}[:], col: {col}[:], val: float64[:], x: float64[:], inout y: float64[:]) {{
    for i in 0..len(ptr) - 1 {{
        y[i] = 0.0
        for p in int64(ptr[i])..int64(ptr[i + 1]) {{
            y[i] = y[i] + val[p + {far}] * x[col[p]]
        }}
    }}
}}
"""
KINDS = [(SUMS, "int64", "uint32", 0), (SUMS, "int32", "int64", 3), (ADDS, "int64", "int32", -2),
         (ADDS, "uint32", "uint8", 1), (SUMS, "uint64", "int16", 0)]


class Wrong(Exception):
    pass


def at(array, index):
    if not -len(array) <= index < len(array):
        raise Wrong(f"index {index} is out of bounds for axis 0 of '{array.name}' with size {len(array)}")
    return array.values[index]


class Named:
    def __init__(self, name, values):
        self.name, self.values = name, values.tolist()

    def __len__(self):
        return len(self.values)


def wrapped(v):
    """As int64."""
    return (int(v) + 2**63) % 2**64 - 2**63


def expected(text, far, ptr, col, val, x, y):
    """What y becomes, and the error or None."""
    col, val, x, to = Named("col", col), Named("val", val), Named("x", x), Named("y", y)
    adds = text is ADDS
    try:
        for i in range(len(ptr) - 1):
            if adds:
                at(to, i)
                to.values[i] = 0.0
            s = 0.0
            for p in range(wrapped(ptr[i]), wrapped(ptr[i + 1])):
                s += at(val, wrapped(p + far)) * at(x, at(col, p))
                if adds:
                    to.values[i] = s
            at(to, i)
            to.values[i] = s
    except Wrong as error:
        return np.array(to.values), str(error)
    return np.array(to.values), None


def check(k, text, far, ptr, col, val, x, y):
    want, error = expected(text, far, ptr, col, val, x, y)
    if error is None:
        k(ptr, col, val, x, y)
    else:
        with pytest.raises(IndexError) as told:
            k(ptr, col, val, x, y)
        assert error in str(told.value)
    assert y.tobytes() == want.tobytes()
    return error


def made(kind):
    text, ptr, col, far = kind
    return kernel(text.format(ptr=ptr, col=col, far=far))


@pytest.mark.parametrize("kind", KINDS)
def test_one_row_at_any_place(kind):
    """All begins and lengths around the ends of arrays, with and without room for the most turns of the short way."""
    k, (text, ptr, col, far) = made(kind), kind
    x, wrong = np.arange(1.0, 10), 0
    for n, more in ((FEW - 1, 0), (FEW + 2, -2), (2 * FEW, 3)):
        columns, values = (np.arange(n) % 9).astype(col), np.arange(n + more) * 0.5
        begins = [*range(0 if ptr[0] == "u" else -4, 3), *range(max(n - FEW - 3, 3), n - FEW + 5), *range(n - 3, n + 3)]
        for begin in begins:
            for count in (-1, 0, 1, 2, FEW - 1, FEW, FEW + 1):
                if begin + count >= 0 or ptr[0] == "i":
                    bounds = np.array([begin, begin + count], ptr)
                    wrong += check(k, text, far, bounds, columns, values, x, np.full(1, 7.0)) is not None
    assert wrong > 60


def spoiled(draw, ptr, col, m):
    """Something that Python refuses, or counts from the end, or that has no turns."""
    kind, at = draw.randrange(8), draw.choice([0, len(ptr) - 1, draw.randrange(len(ptr))])
    where = draw.choice([0, len(col) - 1, draw.randrange(len(col))])
    big = np.iinfo(ptr.dtype)
    if kind == 0:
        ptr[at] = draw.choice([big.min, big.max, big.max - 1, big.max // 2])
    elif kind == 1:
        ptr[at] = len(col) + draw.randrange(3)
    elif kind == 2 and big.min < 0:
        ptr[at] = -draw.randrange(1, 4)
    elif kind == 3:
        ptr[:] = ptr[::-1].copy()
    elif kind == 4:
        col[where] = min(m, np.iinfo(col.dtype).max)
    elif kind == 5:
        col[where] = np.iinfo(col.dtype).max
    elif kind == 6 and np.iinfo(col.dtype).min < 0:
        col[where] = draw.choice([-1, -m, -m - 1, np.iinfo(col.dtype).min])


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_any_lengths(kind):
    k, (text, ptr, col, far) = made(kind), kind
    draw, errors = random.Random(str(kind)), 0
    for _ in range(100):
        most = draw.choice([1, 3, 9, 80])
        bounds = np.cumsum([0] + [draw.randrange(most + 1) for _ in range(draw.randrange(1, 30))])
        m = draw.randrange(1, 100)
        columns = np.array([draw.randrange(m) for _ in range(bounds[-1] + 1)], col)
        bounds = bounds.astype(ptr)
        if draw.random() < 0.6:
            spoiled(draw, bounds, columns, m)
        values = np.random.default_rng(1).random(max(len(columns) + max(far, 0) + draw.choice([0, 0, 0, -1, 5]), 0))
        y = np.full(max(len(bounds) - 1 - (draw.random() < 0.05), 0), 7.0)
        errors += check(k, text, far, bounds, columns, values, np.arange(1.0, m + 1), y) is not None
    assert 12 < errors < 90


@pytest.mark.parametrize("text", [SUMS, ADDS])
@pytest.mark.parametrize("stop, is_wrong", [(2, False), (90, False), (100, False), (101, True), (1 << 40, True)])
def test_rows_whose_bounds_the_loop_writes(text, stop, is_wrong):
    """The first row's sum has the bits of the second one's stop, which lies where it is stored."""
    k = kernel(text.format(ptr="int64", col="uint32", far=0))
    memory = np.array([0, 5, 9, 9], np.int64)
    columns, values = np.zeros(100, "uint32"), np.zeros(100)
    values[0] = np.array(stop, np.int64).view(float)
    arguments = memory[:3], columns, values, np.ones(1), memory[2:].view(float)
    if is_wrong:
        with pytest.raises(IndexError, match="index 100 is out of bounds for axis 0 of 'val' with size 100"):
            k(*arguments)
    else:
        k(*arguments)
    assert memory[2] == stop and memory[3] == (9 if is_wrong and text is SUMS else 0)
