# SPDX-License-Identifier: Apache-2.0
"""Medians and quantiles are NumPy's, of every type and layout, with nans, and lazy where they are large."""

import warnings

import numpy
import pytest

import braze
import braze.numpy as np

TYPES = [numpy.dtype(t) for t in "?bhilBHILefd"]
SHAPES = [(1,), (2,), (9,), (64,), (1001,), (3, 17), (40, 70), (2, 3, 4), (5, 1, 6), (1, 4), (0,), (3, 0), (0, 3), ()]


def make(shape, dtype, seed):
    rng = numpy.random.default_rng(seed)
    x = (rng.standard_normal(shape) * 40).astype("f8")
    if dtype.kind in "bu":
        x = abs(x)
    return numpy.asarray(x).astype(dtype)


def both(x, *args, name="median", **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            theirs = getattr(numpy, name)(x, *args, **kwargs)
        except Exception as error:
            with pytest.raises(type(error)):
                numpy.asarray(getattr(np, name)(np.asarray(x), *args, **kwargs))
            return
        ours = getattr(np, name)(np.asarray(x), *args, **kwargs)
        shown = numpy.asarray(ours)
    assert isinstance(theirs, numpy.generic) == (isinstance(ours, numpy.generic) or ours._is_scalar)
    assert shown.dtype == numpy.asarray(theirs).dtype and shown.shape == numpy.shape(theirs)
    assert numpy.array_equal(shown, theirs, equal_nan=shown.dtype.kind == "f"), (name, x.dtype, x.shape, args, kwargs)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_every_type_shape_and_axis(dtype):
    for seed, shape in enumerate(SHAPES):
        x = make(shape, dtype, seed)
        for axis in (None, *range(-len(shape), len(shape) + 1)):
            both(x, axis)
            both(x, axis=axis, keepdims=True)


@pytest.mark.parametrize("dtype", "efd")
def test_nans_infinities_and_zeros(dtype):
    rng = numpy.random.default_rng(3)
    for k in range(40):
        x = make((7, 6 + k % 2), numpy.dtype(dtype), k)
        for value in (0.0, -0.0, numpy.inf, -numpy.inf) + ((numpy.nan,) if k % 3 else ()):
            x.reshape(-1)[rng.integers(0, x.size, 2)] = value
        for axis in (None, 0, 1):
            both(x, axis)


def test_layouts():
    x = make((12, 30), numpy.dtype("f8"), 1)
    for y in (x.T, x[::-1], x[:, ::3], x[::2, ::-2], numpy.broadcast_to(x[0], (5, 30)), numpy.asfortranarray(x)):
        for axis in (None, 0, 1):
            both(y, axis)
    a = np.asarray(x)
    for mine, theirs in ((a.T, x.T), (a[::-2, 1:], x[::-2, 1:])):
        assert numpy.array_equal(np.median(mine, 0), numpy.median(theirs, 0))


def test_what_is_left_to_numpy():
    x = make((4, 6), numpy.dtype("f8"), 2)
    both(x, (0, 1))
    both(x, (0,), keepdims=True)
    both(x + 1j)
    both(x, 5)
    both(x, 1.5)
    out, want = np.zeros(4), numpy.zeros(4)
    assert np.median(np.asarray(x), 1, out) is out
    assert numpy.array_equal(out, numpy.median(x, 1, want))
    assert np.median([3, 1, 2]) == 2


def test_operand_stays():
    x = make((400000,), numpy.dtype("f8"), 5)
    a = np.asarray(x)
    b = a * 1
    middle = np.median(b)
    assert float(middle) == numpy.median(x) and numpy.array_equal(b, x)


def test_is_lazy_where_it_is_large():
    a = np.asarray(make((400, 1000), numpy.dtype("f8"), 6)) * 2
    before = braze.fallbacks()
    made = np.median(a, axis=0) + 1
    assert braze.fallbacks() == before
    assert numpy.array_equal(made, numpy.median(numpy.asarray(a), axis=0) + 1)


METHODS = ["linear", "lower", "higher", "nearest", "midpoint", "weibull", "inverted_cdf", "nonsense"]


@pytest.mark.parametrize("method", METHODS)
def test_quantiles(method):
    for seed, (dtype, shape) in enumerate(
        (d, s) for d in ("f8", "f4", "i8", "u1", "i2", "?") for s in ((1,), (2,), (10,), (101,), (6, 9), (2, 3, 4))
    ):
        x = make(shape, numpy.dtype(dtype), seed)
        for q in (0.0, 0.1, 0.5, 0.83, 1.0, 0, 1, [0.25, 0.5, 0.75], [0, 1], (0.1, 1), [], 1.5, -0.1, True, [[0.5]]):
            for axis in (None, 0, -1):
                both(x, q, axis, name="quantile", method=method)
            both(x, q, name="quantile", method=method, keepdims=True)
        for q in (0, 3, 50, 75.0, 99.9, 100, [25, 50, 75], [10.0], 101, None):
            both(x, q, -1, name="percentile", method=method, keepdims=True)
            both(x, q, name="percentile", method=method)


@pytest.mark.parametrize("method", METHODS[:5])
def test_quantiles_of_nans_and_infinities(method):
    rng = numpy.random.default_rng(4)
    for k in range(30):
        x = make((6, 7 + k % 2), numpy.dtype("f8"), k)
        for value in (numpy.inf, -numpy.inf) + ((numpy.nan,) if k % 3 else ()):
            x.reshape(-1)[rng.integers(0, x.size, 2)] = value
        for axis in (None, 0, 1):
            both(x, [0.0, 0.3, 0.5, 0.9, 1.0], axis, name="quantile", method=method)


def test_other_arguments_of_quantiles():
    x = make((40,), numpy.dtype("f8"), 9)
    w = numpy.arange(40.0)
    a = np.asarray(x)
    assert np.quantile(a, 0.3, method="inverted_cdf", weights=w) == numpy.quantile(
        x, 0.3, method="inverted_cdf", weights=w
    )
    assert np.quantile(a, np.asarray([0.2, 0.4])).tolist() == numpy.quantile(x, [0.2, 0.4]).tolist()
    with pytest.raises(TypeError):
        np.quantile(a, 0.5, nonsense=1)
    with pytest.raises(TypeError):
        np.percentile(a)


def test_quantiles_are_lazy_where_they_are_large():
    a = np.asarray(make((400, 1000), numpy.dtype("f8"), 6)) * 2
    before = braze.fallbacks()
    made = np.percentile(a, [5, 95], axis=1, keepdims=True) + 1
    assert braze.fallbacks() == before
    assert numpy.array_equal(made, numpy.percentile(numpy.asarray(a), [5, 95], axis=1, keepdims=True) + 1)
