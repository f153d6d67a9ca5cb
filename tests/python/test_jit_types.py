# SPDX-License-Identifier: Apache-2.0
"""Random loops over elements of all types and layouts, in Python against captured ones, interpreted and compiled.

BRAZE_TYPED=FIRST:LAST has these seeds checked in place of the sample.
"""

import os

import braze
import numpy as np
import pytest
from braze import jit
from jit_checks import both
from jit_types import Typed
from jit_wild import check_all

FIRST, LAST = map(int, os.environ.get("BRAZE_TYPED", "0:200").split(":"))
PART = max(20, (LAST - FIRST) // 50)


@pytest.mark.parametrize("start", range(FIRST, LAST, PART))
def test_typed_loops(start):
    check_all(range(start, min(start + PART, LAST)), Typed, part=3)


# ---- What they found, and what was found beside them ----


def test_chained_comparisons_go_on_only_while_true():
    def between(x, limit):
        n = 0
        for i in range(-9, 9):
            if 0 <= i < len(x) - 1 < x[i] < limit:
                n += 1
        return n

    def helper(x, i):
        return x[i] * 2

    def called(x):
        n = 0
        for i in range(-9, 9):
            if 0 <= i < 3 < helper(x, i) < x[i] + 9 < 12:
                n += 1
            m = 0 < i < helper(x, i % len(x))
        return n, m
    both(between, np.array([4.5, -7.5, 9, 1.5]), 20)
    both(called, np.array([4.5, 2.5, 1.0, 1.5]))

    def wrong(x):
        n = 0
        for i in range(7, 9):
            if 0 <= i < 9 > x[i]:
                n += 1
        return n
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        jit(wrong)(np.zeros(4))


NARROW = [np.array(v, t) for t, v in {"int8": [5, -3, 127, -128, 9], "uint8": [5, 253, 127, 128, 9],
                                      "uint16": [5, 65535, 0, 1, 9], "uint32": [2**32 - 1, 1, 0, 7, 9],
                                      "uint64": [2**63 - 1, 1, 0, 7, 9]}.items()]


@pytest.mark.parametrize("a", NARROW, ids=lambda a: str(a.dtype))
@pytest.mark.parametrize("n", [300, -300, 2**40])
def test_integers_of_pythons_beside_narrow_ones(a, n):
    def extremes(a, n):
        s = 0
        for i in range(len(a)):
            s += int(min(i * n, a[i])) % 1000003 + int(max(a[i], i + n)) % 1000003
        return s

    def variable(a, n):
        s = m = 0
        for i in range(len(a)):
            m = i * n
            if i % 3 == 2:
                m = a[i]
            s += int(m) % 1000003
        return s

    def chosen(a, n):
        s = 0
        for i in range(len(a)):
            s += int(a[i] if i % 3 else i * n) % 1000003 + int(a[i] or i * n) % 1000003
            for v in (a[i], i * n):
                s += int(v) % 1000003
        return s

    def given(v, i, n):
        if i % 2:
            return v
        return i * n

    def returned(a, n):
        s = 0
        for i in range(len(a)):
            s += int(given(a[i], i, n)) % 1000003
        return s
    for f in (extremes, variable, chosen, returned):
        quick = both(f, a, n, kernel=False)
        assert "where it may not fit" in braze.explain(quick)


def test_narrow_integers_keep_their_kernels():
    """What begins as a number of the text, or comes as an argument that fits, is of the array's type."""
    def best(a, first):
        low, high, h = 255, 0, 0
        for k in range(2):
            h = first
            for i in range(len(a)):
                high = max(high, a[i])
                low = min(low, a[i])
                h = (h * 33) ^ a[i]
        return low, high, h
    for a in NARROW[1:]:
        both(best, a, 5)


def test_a_uint64_beside_signed_integers():
    def compared(u, k):
        n = 0
        for i in range(len(u)):
            for j in range(len(k)):
                n = n * 4 % 1000003 + (u[i] < k[j]) + 2 * (k[j] <= u[i]) + 3 * (u[i] == k[j]) + (k[j] != u[i])
                n += 5 * (u[i] > k[j]) + 7 * (k[j] >= u[i])
        return n

    def computed(u, k):
        s = 0.0
        for i in range(len(u)):
            for j in range(len(k)):
                s = s * 0.5 + (u[i] + k[j]) - np.maximum(u[i], k[j]) + max(u[i], k[j])
        return s
    u = np.array([0, 1, 2**63, 2**64 - 1, 200], np.uint64)
    for dtype in ("int64", "int8"):
        info = np.iinfo(dtype)
        both(compared, u, np.array([0, 1, -1, info.max, info.min, 127], dtype))
        both(computed, u, np.array([0, 1, -1, info.max, info.min, 127], dtype))


def test_one_tuple_or_another():
    def f(x, left, right):
        s = n = 0
        for i in range(len(x)):
            near, far = (left[i], right[i]) if x[i] < 0 else (right[i], left[i])
            a, b = [i, x[i]] if near > far or i > 2 else [-1, x[i - 9]]
            near, far = (far, near) if near > 2 else (near + 1, far)
            x[i], n = (b, n + 1) if a > 0 else (n, n)
            s = s * 3 + near * far + n
        return s, a, b
    both(f, np.array([-1.0, 2, 3, 4, 5, 6, 7, 8, 9, 1]), np.arange(10), np.arange(10)[::-1].copy())

    def wrong(x, i):
        for k in range(2):
            a, b = (x[0], x[1]) if i < 3 else (x[i], x[0])
        return a + b
    both(wrong, np.arange(3.0), 1)
    with pytest.raises(IndexError, match="index 5"):
        jit(wrong)(np.arange(3.0), 5)
