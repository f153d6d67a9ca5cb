# SPDX-License-Identifier: Apache-2.0
"""Ways out of captured loops: raise, assert, else of loops; and what is told before a kernel is made: None,
strings, tuples."""

import copy
import re
import traceback

import braze
import numpy as np
import pytest
from braze import jit
from jit_checks import both, captured, same


def outcome(function, *args):
    try:
        return function(*args), None
    except Exception as error:
        if isinstance(error, IndexError):  # a kernel's has the line in its words
            said = re.match(r"test_\w+\.py:(\d+): ", str(error))
            place = int(said[1]) if said else traceback.extract_tb(error.__traceback__)[-1].lineno
            return (IndexError, None), place
        place = traceback.extract_tb(error.__traceback__)[-1].lineno
        return (type(error), error.args, error.__cause__ and str(error.__cause__)), place


def alike(function, *args):
    """Also in the error, its words and its line, and in what is left in the arrays."""
    one, other = copy.deepcopy(args), copy.deepcopy(args)
    quick = jit(function)
    (want, line), (have, at) = outcome(function, *one), outcome(quick, *other)
    assert (same(want, have) if line is None else want == have) and line == at, (want, have, line, at)
    for a, b in zip(one, other):
        assert not isinstance(a, np.ndarray) or same(a, b)
    captured(quick)
    return want


def positive(x, y):
    s = 0.0
    for i in range(len(x)):
        y[i] = s
        if x[i] < 0:
            raise ValueError(f"element {i} is {x[i]}, behind {s}", i)
        s += x[i]
    return s


def test_raise():
    assert alike(positive, np.arange(4.0), np.zeros(4)) == 6
    assert alike(positive, np.array([1.0, 2, -3, 4]), np.zeros(4))[0] is ValueError


def test_raise_out_of_inner_loops():
    def f(a, limit):
        n = 0
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                k = 0
                while k < a[i, j]:
                    k += 1
                    n += 1
                    if n > limit:
                        raise OverflowError(f"{i} {j} {k} {n}")
                if a[i, j] == 7:
                    raise KeyError(j) from None
            n += 100
        return n
    a = np.arange(12).reshape(3, 4)
    for limit in (3, 5, 1000, 110):
        alike(f, a, limit)
    alike(f, a % 7, 10000)


def test_assert():
    def f(x):
        s = 0.0
        for i, v in enumerate(x):
            assert v >= 0, f"negative at {i}"
            assert v < 100
            s += v
        return s
    assert alike(f, np.arange(5.0)) == 10
    quick = jit(f)  # pytest has more words for asserts of this file's own
    for x, words in ((np.array([1.0, -1]), "negative at 1"), (np.array([1.0, 100]), "^$")):
        with pytest.raises(AssertionError, match=words):
            quick(x)
    captured(quick)


def test_a_raise_is_pythons_where_the_loop_is():
    def f(words):
        for w in words:
            if w == "no":
                raise LookupError(w)
        return len(words)
    quick = jit(f)
    assert quick(["a", "b"]) == 2
    with pytest.raises(LookupError, match="no"):
        quick(["a", "no"])


def test_raise_of_what_is_handled_stays_python():
    def f(x):
        s = 0.0
        try:
            s = 1 / 0
        except ZeroDivisionError:
            for v in x:
                if v > 1:
                    raise
                s += v
        return s
    quick = jit(f)
    assert quick(np.zeros(2)) == 0
    with pytest.raises(ZeroDivisionError):
        quick(np.ones(2) * 2)
    assert "stays Python" in str(braze.explain(quick))


def test_units_raise():
    @braze.kernel
    def unit(i, x):
        if x[i] < 0:
            raise ValueError("below")
        x[i] += 1
    x = np.array([1.0, 2, -1, 3])
    with pytest.raises(ValueError, match="below"):
        braze.parallel_for(4, unit, x=x)
    assert x.tolist() == [2, 3, -1, 3]


def search(a, v):
    out = np.zeros(len(a), np.int64)
    for i in range(len(a)):
        for j in range(a.shape[1]):
            if a[i, j] == v:
                out[i] = j
                break
        else:
            out[i] = -1
            if i == 2:
                break
    else:
        return out, "all", i
    return out, "left", i


def test_else_of_loops():
    for v in (5, 9, 99, 1):
        both(search, np.arange(12).reshape(3, 4), v)
    both(search, np.arange(12).reshape(3, 4) % 4, 2)

    def f(n, stop):
        k = 0
        while k < n:
            if k == stop:
                break
            k += 1
        else:
            for i in range(3):
                k += i
            else:
                k += 100
        return k
    for stop in (2, 50):
        both(f, 9, stop)
    both(f, 0, 1)

    def g(x):
        for v in x:
            if v > 3:
                return v
            if v < 0:
                continue
        else:
            x[0] = 9
        return -1.0
    both(g, np.arange(6.0))
    both(g, -np.arange(6.0))


def test_raise_in_an_else():
    def f(a, v):
        for i in range(len(a)):
            for j in range(a.shape[1]):
                if a[i, j] == v:
                    break
            else:
                raise LookupError(f"row {i} has no {v}")
        return j
    alike(f, np.ones((3, 3)), 1)
    alike(f, np.eye(3) + np.eye(3, k=1), 1)
    alike(f, np.arange(9).reshape(3, 3), 1)


# ---- Told before ----


def test_none_and_strings_choose_the_kernel():
    def f(x, w, mode):
        s = 0.0
        for i in range(len(x)):
            v = x[i] if w is None else x[i] * w[i]
            if mode == "square" and w is not None:
                v *= v
            elif mode != "plain":
                v += 1
            s += v
        return s
    x, w = np.arange(4.0), np.ones(4) * 2
    quick = jit(f)
    for args in ((x, None, "square"), (x, w, "square"), (x, None, "plain"), (x, w, "other"), (x, w, "square")):
        assert same(f(*args), quick(*args))
    captured(quick)
    assert len([s for rows in quick.__braze_jit__.sites[0].specials.values() for s in rows]) == 4


def test_tuples_and_lists_are_read_by_numbers():
    def f(x, shape, parts):
        s = 0.0
        for i in range(shape[0]):
            n, m = shape
            for j in range(shape[-1]):
                s += parts[0][i] * parts[1][j] + n - m
            parts[1][i] = s
        return s
    x = np.arange(4.0)
    both(f, x, (3, 2), [x.copy(), x + 1])
    both(f, x, (3, 2), (x.copy(), x + 1))
    quick = jit(f)
    parts = [x.copy(), x + 1]
    for shape in ((3, 2), (2, 3), (2.0, 3)):
        for more in (parts, (parts[0], parts[1])):
            one, other = copy.deepcopy(more), copy.deepcopy(more)
            (want, line), (have, at) = outcome(f, x, shape, one), outcome(quick, x, shape, other)
            assert want == have and line == at
            assert all(map(same, one, other))
    with pytest.raises(ValueError):
        quick(x, (3, 2, 1), parts)
    with pytest.raises(IndexError):
        quick(x, (3, 2), [])
    parts.append(parts.pop(0))
    one, other = copy.deepcopy(parts), copy.deepcopy(parts)
    assert f(x, (3, 2), one) == quick(x, (3, 2), other) and all(map(same, one, other))


def test_items_that_are_assigned_are_pythons():
    def f(c, x):
        for i in range(len(x)):
            c[0] += x[i]
            c[1] = c[0] * 2
        return c
    assert jit(f)([0, 1], np.arange(3.0)) == [3, 6]


def test_in():
    def f(k, x, n):
        s = 0
        for i in range(len(k)):
            if k[i] in (1, 2, n):
                s += 1
            if k[i] not in [3, 4] and x[i] in {0.5, 2}:
                s += 10
        return s
    both(f, np.arange(6), np.array([0.5, 2, 3, np.nan, 2, 0.5]), 5)


def test_parts_and_methods_of_numbers():
    def f(c, h, k):
        s, t = 0.0, 0
        for i in range(len(c)):
            s += c[i].real - c[i].imag * 2 + h[i].real + k[i].imag + c[i].conjugate().imag + h[i].conj()
            s += k[i].astype(np.float32) / 3 + h[i].astype("f8") + (c[i] * 2).real
            t += k[i].item() * 3 + h[i].item()
        return s, t
    c = np.array([1 + 2j, -3j, 2.5])
    both(f, c, np.arange(3, dtype="f4"), np.arange(3, dtype="i2"))
    both(f, c.astype("c8"), np.arange(3.0), np.arange(3))


def test_means_and_clips():
    def f(m, x):
        out = np.zeros(len(m))
        for i in range(len(m)):
            out[i] = m[i].mean() + np.mean(m[:, 1]) + np.mean(m) + np.clip(x[i], 1, 2.5)
            m[i] = np.clip(m[i], 0, i)
        return out
    both(f, np.arange(12.0).reshape(4, 3), np.arange(4.0))
    both(f, np.arange(12).reshape(4, 3), np.arange(4))


def test_backwards_and_counted_pairs():
    def f(x, m):
        s = 0.0
        for v in reversed(x):
            s = s * 0.5 + v
        for row in reversed(m):
            s = s * 0.5 + row[0]
        for i, (a, b) in enumerate(zip(x, m), 2):
            s += i * a * b[1]
        return s
    both(f, np.arange(5.0), np.arange(6.0).reshape(3, 2))


def test_attributes_of_arrays():
    def f(a, c):
        s = 0.0
        for i in range(a.T.shape[0]):
            s += a.T[i, 0] + c.imag[i]
            c.real[i] = s
        return s
    both(f, np.arange(6.0).reshape(2, 3), np.arange(3) * (1 + 2j))


def test_a_part_that_is_not_there_raises_at_once():
    def first(r):
        return 1.0

    def f(a, n):
        s = 0.0
        for i in range(n):
            row = a[i]
            s += 1
        return s

    def g(a, n):
        s = 0.0
        for i in range(-n, 2):
            s += first(a[i])
        return s
    for h in (f, g):
        for n in (2, 4):
            result = alike(h, np.ones((3, 2)), n)
            assert isinstance(result, tuple) == (n == 4)
        alike(h, np.ones((3, 0)), 4)
