# SPDX-License-Identifier: Apache-2.0
"""Reductions along the first axis, or a middle one: the tree's bits in the call, interpreted, compiled and on two threads."""

import contextlib
import time

import numpy
import pytest

import braze
import braze.numpy as np
from near_mode import near_count, near_on
from on_device import comparable

SHAPES = ((1, 1), (1, 40), (40, 1), (2, 3), (33, 10), (64, 64), (65, 7), (255, 5), (256, 9), (257, 300), (1000, 4), (1023, 13), (1024, 20),
          (1025, 33), (2100, 1027), (70_000, 9))
WIDER = (3, 1500)  # more columns than a tile has
KINDS = ("float64", "float32", "int64", "int8", "bool", "complex64")


def values(shape, dtype, seed=1):
    r = numpy.random.default_rng([seed, *shape])
    if dtype == "bool":
        return r.random(shape) < 0.01
    if dtype[0] == "i":
        return r.integers(-100, 100, shape).astype(dtype)
    x = r.standard_normal(shape) * 10.0 ** r.integers(-5, 5, shape)
    return (x + 1j * x[::-1] if dtype[0] == "c" else x).astype(dtype)


def tree(x):
    """Columns' sums as kernels/tree.h defines them."""
    part = x.real.dtype.itemsize
    lanes, stack, blocks = 64 if part <= 4 else 32, [], 0
    for lo in range(0, len(x), 1024):
        block = x[lo : lo + 1024]
        lane = numpy.full((lanes, x.shape[1]), -0.0, x.dtype)
        if x.dtype.kind == "c":
            lane[:] = complex(-0.0, -0.0)
        for k in range(0, len(block), lanes):
            lane[: len(block[k : k + lanes])] += block[k : k + lanes]
        width = lanes // 2
        while width:
            used = max(0, min(width, len(block) - width))
            lane[:used] += lane[width : width + used]
            width //= 2
        value, blocks = lane[0].copy(), blocks + 1
        n = blocks
        while n % 2 == 0:
            value, n = stack.pop() + value, n // 2
        stack.append(value)
    value = stack.pop()
    while stack:
        value = stack.pop() + value
    return value


@contextlib.contextmanager
def near():
    with near_on():
        yield


@contextlib.contextmanager
def far():
    braze.wait(np.zeros(1))
    yield


def bits(a):
    return comparable(a).tobytes()


def until_compiled(function):
    """So long that another kernel has had the time to take over."""
    for _ in range(8):
        bits(function())
        time.sleep(0.15)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex64", "complex128"])
@pytest.mark.parametrize("way", [near, far])
def test_sums_are_the_trees(way, dtype):
    with way():
        for shape in (*SHAPES, WIDER):
            x = values(shape, dtype)
            assert bits(np.array(x).sum(0)) == bits(tree(x)), shape


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_compiled_sums_are_the_trees(dtype):
    m, mu = np.array(values((1000, 100), dtype)), np.array(values((1, 100), dtype)[0])
    until_compiled(lambda: m.sum(0))
    until_compiled(lambda: ((m - mu) ** 2).sum(0))
    for shape in (*SHAPES, WIDER):
        x = values(shape, dtype)
        m, mu = np.array(x), np.array(x[0])
        assert bits(m.sum(0)) == bits(tree(x)), shape
        assert bits(((m - mu) ** 2).sum(0)) == bits(tree((x - x[0]) ** 2)), shape


@pytest.mark.parametrize("dtype", KINDS)
def test_near_and_far_agree(dtype):
    names = ("sum", "prod", "min", "max", "any", "all", "argmin", "argmax")
    names = names if dtype[0] != "c" else ("sum", "prod")
    for shape in (*SHAPES, WIDER):
        x = values(shape, dtype)
        results = []
        for way in (near, far):
            with way(), numpy.errstate(all="ignore"):
                m = np.array(x)
                results.append([bits(getattr(m, name)(0)) for name in names])
        assert results[0] == results[1], shape


def layouts(x):
    """The same values in memory of other kinds."""
    wide = numpy.zeros((x.shape[0], x.shape[1] * 2), x.dtype)
    wide[:, ::2] = x
    inner = numpy.zeros((x.shape[0] + 2, x.shape[1] + 3), x.dtype)
    inner[1:-1, 2:-1] = x
    return {"back": lambda np: np.array(x[::-1].copy())[::-1], "mirror": lambda np: np.array(x[:, ::-1].copy())[:, ::-1],
            "every other": lambda np: np.array(wide)[:, ::2], "inner": lambda np: np.array(inner)[1:-1, 2:-1],
            "Fortran": lambda np: np.array(x.T.copy()).T, "repeated": lambda np: np.array(numpy.repeat(x, 2, 0))[::2]}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("way", [near, far])
def test_layouts_change_no_bits(way, dtype):
    with way():
        for shape in ((33, 10), (100, 70), (1025, 33)):
            x = values(shape, dtype)
            for name, make in layouts(x).items():
                assert bits(make(np).sum(0)) == bits(tree(x)), (name, shape)
                assert bits(make(np).T.sum(1)) == bits(tree(x)), (name, shape)


@pytest.mark.parametrize("way", [near, far])
def test_middle_axes(way):
    with way():
        for shape in ((5, 40, 3), (3, 33, 10), (10, 100, 65), (2, 1030, 300), (300, 4, 9)):
            x = values(shape, "float64")
            want = numpy.array([tree(part) for part in x])
            assert bits(np.array(x).sum(1)) == bits(want), shape


@pytest.mark.parametrize("way", [near, far])
def test_special_values(way):
    x = numpy.array([[-0.0, 0.0, numpy.nan, numpy.inf, -numpy.inf, numpy.inf, 1e308, 5e-324, -0.0]] * 3)
    x[1, 3:6] = -x[1, 3:6]
    x[2, 0] = 0.0
    with way(), numpy.errstate(all="ignore"):
        for rows in (1, 2, 3):
            got = np.array(x[:rows]).sum(0)
            want = tree(x[:rows])
            assert numpy.array_equal(got, want, equal_nan=True), rows
            assert numpy.array_equal(numpy.signbit(got)[want == want], numpy.signbit(want)[want == want]), rows
        for name in ("min", "max"):
            assert numpy.array_equal(getattr(np.array(x), name)(0), getattr(x, name)(0), equal_nan=True)


def test_large_ones_near_are_shared_by_threads():
    for shape in ((130, 1100), (1100, 130)):
        with near_on(first=True):
            x = values(shape, "float64")
            m = np.array(x)
            before = near_count()
            got = m.sum(0)
            assert near_count() > before, shape
            assert bits(got) == bits(tree(x)), shape


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_means_and_deviations(dtype):
    for shape in ((64, 64), (1025, 33), (2100, 1027)):
        x = values(shape, dtype)
        m = np.array(x)
        for name in ("mean", "var", "std"):
            for _ in range(2):
                numpy.testing.assert_allclose(getattr(m, name)(0), getattr(x.astype("float64"), name)(0), rtol=2e-4 if dtype == "float32" else 1e-12,
                                              atol=1e-3 if dtype == "float32" else 1e-11)
