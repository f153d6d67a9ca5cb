# SPDX-License-Identifier: Apache-2.0
"""Unwrapping of angles: NumPy's bits, along any axis, of any layout, in any slices."""

import math

import numpy
import pytest

import braze
import braze.numpy as np

LARGE = 8192  # elements that are not NumPy's affair


def angles(shape, dtype, seed=0):
    """A walk that is wrapped, with steps of every size and some that are half a turn."""
    rng = numpy.random.default_rng(seed)
    x = rng.standard_normal(shape).cumsum(axis=-1 if shape else None) * 2
    x = (x + math.pi) % (2 * math.pi) - math.pi
    flat = x.reshape(-1)
    at = rng.integers(0, max(1, flat.size), max(1, flat.size // 50))
    if flat.size:
        flat[at] = rng.choice([0.0, -0.0, math.pi, -math.pi, 2 * math.pi, 40.0, -1e6, 1e300], at.size)
    with numpy.errstate(over="ignore"):
        return x.astype(dtype)


def agree(got, want):
    got = numpy.asarray(got)
    assert got.dtype == want.dtype and got.shape == want.shape
    assert not want.size or got.strides == want.strides
    assert got.tobytes() == want.tobytes() or numpy.isnan(want).any()
    assert numpy.array_equal(got, want, equal_nan=True)


def native(call):
    """What the call gives, which is not NumPy's."""
    before = braze.fallbacks().get("unwrap", 0)
    made = call()
    assert braze.fallbacks().get("unwrap", 0) == before
    return made


@pytest.mark.parametrize("dtype", ["f", "d"])
@pytest.mark.parametrize("shape", [(LARGE,), (16384,), (16385,), (100_000,), (90, 100), (3, 40_000), (40_000, 3),
                                   (20, 30, 40), (1, 9000), (9000, 1), (2, 1, 20_000)], ids=str)
def test_every_axis(dtype, shape):
    x = angles(shape, dtype)
    for axis in range(-len(shape), len(shape)):
        with numpy.errstate(all="ignore"):
            agree(native(lambda axis=axis: np.unwrap(np.array(x), axis=axis)), numpy.unwrap(x, axis=axis))
    with numpy.errstate(all="ignore"):
        agree(native(lambda: np.unwrap(np.array(x))), numpy.unwrap(x))


@pytest.mark.parametrize("dtype", ["f", "d"])
def test_views(dtype):
    x = angles((300, 400), dtype)
    a = np.array(x)
    for of in (lambda v: v.T, lambda v: v[::-1, ::2], lambda v: v[:, ::-1], lambda v: v[::3, 5:],
               lambda v: v.reshape(-1)[::-2], lambda v: v[:, :, None]):
        for axis in range(-of(x).ndim, 0):
            with numpy.errstate(all="ignore"):
                agree(native(lambda of=of, axis=axis: np.unwrap(of(a), axis=axis)), numpy.unwrap(of(x), axis=axis))


@pytest.mark.parametrize("bad", [numpy.nan, numpy.inf, -numpy.inf])
def test_what_is_no_angle(bad):
    x = angles((3, 5000), "d")
    x[1, 2000] = bad
    with numpy.errstate(all="ignore"):
        agree(np.unwrap(np.array(x)), numpy.unwrap(x))


def test_what_is_pending_stays_so():
    """Between operations it is one step of their plan."""
    x = angles((3, 50_000), "d")
    a = np.array(x)
    with numpy.errstate(all="ignore"):
        made = native(lambda: np.unwrap(a * 1.5 - 2) * 2)
        want = numpy.unwrap(x * 1.5 - 2) * 2
    agree(made, want)


@pytest.mark.parametrize("small", [(5,), (0,), (3, 0), (0, 3), (100,)], ids=str)
def test_small_arrays(small):
    x = angles(small, "d")
    with numpy.errstate(all="ignore"):
        agree(np.unwrap(np.array(x)), numpy.unwrap(x))


def test_errors_that_are_asked_for():
    x = angles((9000,), "d")
    x[77] = numpy.inf
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        np.unwrap(np.array(x))


def test_numpys_affairs():
    x = angles((9000,), "d")
    a = np.array(x)
    agree(np.unwrap(a, 5.0), numpy.unwrap(x, 5.0))
    agree(np.unwrap(a, period=6.0), numpy.unwrap(x, period=6.0))
    whole = numpy.arange(10_000) * 7 % 360
    agree(np.unwrap(np.array(whole), period=360), numpy.unwrap(whole, period=360))
    for kind in "bhe":
        other = (x[:9000] % 3).astype(kind)
        agree(np.unwrap(np.array(other)), numpy.unwrap(other))
    for wrong in (lambda xp, v: xp.unwrap(v, axis=1), lambda xp, v: xp.unwrap(v, axis=1.5),
                  lambda xp, v: xp.unwrap(v[:, None].astype("D"))):
        with pytest.raises(Exception) as ours:  # noqa: PT011 - compared with NumPy's
            wrong(np, a)
        with pytest.raises(Exception) as theirs:  # noqa: PT011
            wrong(numpy, x)
        assert type(ours.value).__name__ == type(theirs.value).__name__


def test_lanes_of_many_blocks():
    """A lane of many blocks and lanes of one, many at a time, beside each other."""
    for shape in ((2_000_000,), (5, 300_001), (300_001, 5)):
        x = angles(shape, "d", 3)
        for axis in range(len(shape)):
            with numpy.errstate(all="ignore"):
                agree(native(lambda x=x, axis=axis: np.unwrap(np.array(x), axis=axis)), numpy.unwrap(x, axis=axis))
