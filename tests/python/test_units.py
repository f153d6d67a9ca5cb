# SPDX-License-Identifier: Apache-2.0
"""Work units, atomics and vectorized functions against the loops that they stand for."""

import numpy as np
import pytest

import braze
import braze.numpy as bnp
from braze import jit
from jit_checks import both

FACTOR = 3


@braze.kernel
def axpy(i, y, x, a):
    if i == 3:
        return
    y[i] += a * x[i]


@braze.kernel
def dot(i: int, acc: float, x, y):
    acc += x[i] * y[i]


@braze.kernel
def scan(i, acc, last, x):
    acc += x[i]
    if last:
        x[i] = acc


@braze.kernel
def outer(i, j, a, x):
    a[i, j] = x[i] * x[j]


@pytest.mark.parametrize("array", [np.asarray, bnp.asarray])
def test_work_units(array):
    x, y = array(np.arange(6.0)), array(np.ones(6))
    braze.parallel_for("axpy", 6, axpy, y=y, x=x, a=2.0)
    assert np.asarray(y).tolist() == [1, 3, 5, 1, 9, 11]
    braze.parallel_for(range(1, 3), axpy, x=x, y=y, a=1)
    assert np.asarray(y).tolist() == [1, 4, 7, 1, 9, 11]
    assert braze.parallel_reduce(braze.RangePolicy(2, 6), dot, x=x, y=y) == 14 + 3 + 36 + 55
    assert braze.parallel_scan(6, scan, x=x) == 15
    assert np.asarray(x).tolist() == [0, 1, 3, 6, 10, 15]
    a = array(np.zeros((6, 6)))
    braze.parallel_for(braze.MDRangePolicy([0, 1], [6, 5]), outer, a=a, x=x)
    want = np.outer(np.asarray(x), np.asarray(x))
    want[:, [0, 5]] = 0
    assert (np.asarray(a) == want).all()
    braze.parallel_for((6, 6), outer, a=a, x=x)
    assert (np.asarray(a) == np.outer(np.asarray(x), np.asarray(x))).all()
    for unit in (axpy, dot, scan, outer):
        assert "called 0 times" not in str(braze.explain(unit)).split("\n")[1]
    assert axpy(1, y, x, 1) is None


def test_work_units_wrongly_called():
    x = np.ones(3)
    for wrong in (lambda: braze.parallel_for(3, axpy, y=x, x=x),
                  lambda: braze.parallel_for(3, axpy, y=x, x=x, a=1, b=2),
                  lambda: braze.parallel_for(2.5, axpy, y=x, x=x, a=1),
                  lambda: braze.parallel_for(3, 4),
                  lambda: braze.parallel_for(3),
                  lambda: braze.parallel_reduce((1, 2, 3, 4), dot, x=x, y=x),
                  lambda: braze.kernel(3)):
        with pytest.raises(TypeError):
            wrong()

    def gives(i, x):
        return x[i]
    with pytest.raises(TypeError, match="returns no value"):
        braze.parallel_for(3, gives, x=x)


ATOMICS = ["add", "sub", "mul", "min", "max", "and", "or", "xor", "exchange"]


@pytest.mark.parametrize("name", ATOMICS)
@pytest.mark.parametrize("dtype", ["i8", "f8"])
def test_atomics(name, dtype):
    if dtype == "f8" and name in ("and", "or", "xor"):
        return
    do, fetch = getattr(braze, "atomic_" + name), getattr(braze, "atomic_fetch_" + name)

    def f(a, b, v):
        s = 0
        for i in range(len(v)):
            do(a, i % 3, v[i])
            old = fetch(b, [i % 2, 1], v[i])
            s += old
        return s
    both(f, np.arange(3).astype(dtype), np.arange(4).reshape(2, 2).astype(dtype),
         np.array([5, 3, 9, 1, 7]).astype(dtype))


@pytest.mark.parametrize("dtype", ["i8", "u1"])
def test_a_comparison_and_exchange(dtype):
    """A set of slots, each of which the first that comes takes."""
    def f(slots, where, won):
        for i in range(len(where)):
            old = braze.atomic_compare_exchange(slots, where[i], 0, won[i])
            won[i] = old
    both(f, np.zeros(4, dtype), np.array([1, 3, 1, -1, 0, 1]), np.arange(1, 7).astype(dtype))


def test_a_comparison_and_exchange_of_floats_is_refused():
    with pytest.raises(TypeError, match="of integers, not of float64"):
        braze.atomic_compare_exchange(np.zeros(2), 0, 0.0, 1.0)


def test_an_atomic_inside_an_expression_stays_python():
    def f(a):
        for i in range(3):
            a[0] = a[1] * 2 + braze.atomic_fetch_add(a, 1, 5) + a[1]
    x, y = np.arange(3), np.arange(3)
    f(x)
    jit(f)(y)
    assert (x == y).all()


def test_gups_by_work_units():
    @braze.kernel
    def update(i, data, index, datum):
        braze.atomic_fetch_xor(data, [index[i]], datum)
    g = np.random.default_rng(0)
    index = g.integers(0, 4096, (10, 512))
    data = np.full(4096, 10101010101)
    for row in index:
        braze.parallel_for(len(row), update, data=data, index=row, datum=-1)
    assert (data < 0).sum() == 1860


def test_vectorize():
    @braze.vectorize
    def step(x, low, high):
        if x < low:
            return 0.0
        return 1.0 if x > high else (x - low) / (high - low) * FACTOR
    x = np.linspace(-1, 2, 12).reshape(3, 4)
    want = np.vectorize(step.function)(x, 0.25, np.array([0.5, 1, 1, 2]))
    have = step(x, 0.25, np.array([0.5, 1, 1, 2]))
    assert have.dtype == want.dtype and np.array_equal(np.asarray(have), want)
    assert np.array_equal(np.asarray(step(bnp.asarray(x[::-1, ::2]), 0, 1)), np.vectorize(step.function)(x[::-1, ::2], 0, 1))
    assert step(0.5, 0, 1) == 0.5 * FACTOR
    assert step(np.zeros((0, 3)), 0, 1).shape == (0, 3)
    assert "a kernel, gives float64" in str(braze.explain(step))

    @braze.vectorize
    def words(x):
        return "a" * int(x)
    assert words(np.array([1, 2])).tolist() == ["a", "aa"]
    assert "numpy.vectorize" in str(braze.explain(words))
