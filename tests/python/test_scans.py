# SPDX-License-Identifier: Apache-2.0
"""Running sums, products and extremes: NumPy's up to 1024 elements of a lane, then block by block."""

import contextlib

import numpy
import pytest
from near_mode import near_on

import braze
import braze.numpy as np

BLOCK = 1024
TYPES = [numpy.dtype(t) for t in "?bhilBHILfdFD"]
OPERATIONS = {
    "cumsum": (np.cumsum, numpy.add),
    "cumprod": (np.cumprod, numpy.multiply),
    "minimum": (np.minimum.accumulate, numpy.minimum),
    "maximum": (np.maximum.accumulate, numpy.maximum),
}


def blocks(x, ufunc, dtype, axis):
    """What docs/ops.md says: each block by itself, then onto the last result before it."""
    kwargs = {} if dtype is None else {"dtype": dtype}
    parts, last = [], None
    lanes = numpy.moveaxis(x, axis, 0)
    for at in range(0, max(lanes.shape[0], 1), BLOCK):
        made = ufunc.accumulate(lanes[at:at + BLOCK], axis=0, **kwargs)
        if last is not None:
            with numpy.errstate(all="ignore"):
                made = ufunc(last, made, dtype=made.dtype)
        parts.append(made)
        last = made[-1] if len(made) else None
    return numpy.moveaxis(numpy.concatenate(parts), 0, axis)


def make(shape, dtype, seed=0):
    rng = numpy.random.default_rng(seed)
    x = rng.standard_normal(shape) * 3
    if dtype.kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    if dtype.kind == "u":
        x = abs(x)
    return (x > 0.3) if dtype == bool else x.astype(dtype)


def agree(got, want, close=False):
    got = numpy.asarray(got)
    assert got.dtype == want.dtype and got.shape == want.shape
    if close:  # NumPy's complex products are contracted, or not, as it likes
        numpy.testing.assert_allclose(got, want, rtol=4000 * numpy.finfo(want.dtype).eps)
    else:
        assert numpy.array_equal(got, want, equal_nan=want.dtype.kind in "fc")


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("shape", [(1,), (9,), (1024,), (1025,), (5000,), (3, 17), (40, 2100), (2100, 40),
                                   (2, 3, 4), (6, 1500, 5), (0,), (3, 0), (0, 3), (20000, 3)], ids=str)
def test_every_axis(name, dtype, shape):
    ours, ufunc = OPERATIONS[name]
    x = make(shape, dtype)
    if name == "cumprod" and dtype.kind in "fc":
        x = (1 + x / 100).astype(dtype)  # what overflows is NumPy's own affair, nan by nan
    wide = dtype.kind in "?biu" and ufunc in (numpy.add, numpy.multiply)
    to = ("uint64" if dtype.kind == "u" else "int64") if wide else None
    close = name == "cumprod" and dtype.kind == "c"
    a = np.asarray(x)
    for axis in range(len(shape)):
        with numpy.errstate(all="ignore"):
            want = blocks(x, ufunc, to, axis)
            agree(ours(a, axis=axis), want, close)
            agree(ours(a[::-1][::-1] + a.dtype.type(0), axis=axis - len(shape)), want, close)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("shape, axis", [((1000,), 0), ((7, 1000), 1), ((300, 40), 0), ((300, 1), 0)])
def test_each_product_of_complex_parts_is_rounded(dtype, shape, axis):
    """By hand, since NumPy's own loops round some of them and others not."""
    x = make(shape, numpy.dtype(dtype))
    x /= abs(x)
    want, lanes = numpy.moveaxis(x.copy(), axis, 0), numpy.moveaxis(x, axis, 0)
    for i in range(1, len(want)):
        before, by = want[i - 1], lanes[i]
        want.real[i] = before.real * by.real - before.imag * by.imag
        want.imag[i] = before.real * by.imag + before.imag * by.real
    for where in (contextlib.nullcontext(), near_on()):
        with where:
            got = numpy.asarray(np.cumprod(np.asarray(x), axis=axis))
        assert numpy.array_equal(numpy.moveaxis(got, axis, 0), want)


@pytest.mark.parametrize("shape", [(1_000_000,), (300_000, 3), (3, 300_000), (2000, 500), (20, 20, 2500)], ids=str)
def test_on_all_cores(shape):
    x = make(shape, numpy.dtype("d"))
    a = np.asarray(x)
    for axis in range(len(shape)):
        agree(np.cumsum(a, axis), blocks(x, numpy.add, None, axis))
        agree(np.maximum.accumulate(a[::-1], axis)[::-1], numpy.maximum.accumulate(x[::-1], axis)[::-1])


@pytest.mark.parametrize("index", [numpy.s_[::-1], numpy.s_[::2], numpy.s_[:, ::-1], numpy.s_[::-2, 1::3],
                                   numpy.s_[5], numpy.s_[:, 3], numpy.s_[None, 4:]], ids=str)
@pytest.mark.parametrize("transposed", (False, True))
def test_views(index, transposed):
    x = make((50, 1300), numpy.dtype("d"))
    a = np.asarray(x)
    x, a = (x.T[index], a.T[index]) if transposed else (x[index], a[index])
    for axis in range(x.ndim):
        agree(np.cumsum(a, axis), blocks(x, numpy.add, None, axis))
        agree(np.cumsum(a[::-1], axis)[::-1], blocks(x[::-1], numpy.add, None, axis)[::-1])
    agree(np.cumsum(a), blocks(x.ravel(), numpy.add, None, 0))
    x, a = 1 + x / 100, 1 + a / 100
    agree(a.cumprod(), blocks(x.ravel(), numpy.multiply, None, 0))


def test_results_lie_as_numpys_do():
    x = numpy.arange(24.0).reshape(2, 3, 4)
    for view in (x, x.T, x.transpose(1, 0, 2), x[:, :, ::-1].transpose(2, 0, 1), x[0], x[0].T):
        for axis in range(view.ndim):
            want = numpy.maximum.accumulate(view, axis)
            got = np.maximum.accumulate(np.array(view, order="K"), axis)
            assert got.strides == want.strides and got.flags.owndata
            agree(got, want)
    wide = np.broadcast_to(np.asarray(numpy.arange(3.0))[:, None], (3, 4)).T
    agree(np.cumsum(wide, 1), numpy.cumsum(numpy.asarray(wide), 1))


@pytest.mark.parametrize("dtype", ["f", "d", "i", "B", "?", "D"])
def test_accumulators(dtype):
    x = make((4, 30), numpy.dtype("h"))
    with numpy.errstate(all="ignore"):
        agree(np.cumsum(np.asarray(x), 1, dtype), numpy.cumsum(x, 1, dtype))
        agree(np.asarray(x).cumprod(0, dtype=dtype), x.cumprod(0, dtype=dtype))
        agree(np.add.accumulate(np.asarray(x), dtype=dtype), numpy.add.accumulate(x, dtype=dtype))


def test_what_is_numpys():
    half = numpy.arange(30, dtype="e").reshape(5, 6)
    agree(np.cumsum(np.asarray(half), 1), numpy.cumsum(half, 1))
    z = make((30,), numpy.dtype("D"))
    agree(np.maximum.accumulate(np.asarray(z)), numpy.maximum.accumulate(z))
    agree(np.cumsum(np.asarray(5.0)), numpy.cumsum(numpy.asarray(5.0)))
    out = np.empty(30, "D")
    assert np.cumsum(np.asarray(z), out=out) is out
    agree(out, numpy.cumsum(z))
    with pytest.raises(np.exceptions.AxisError):
        np.cumsum(np.asarray(half), 2)
    with pytest.raises(TypeError):
        np.add.accumulate(np.asarray(3.0))


def test_extremes_keep_a_nan():
    x = make((3000,), numpy.dtype("d"))
    x[700] = numpy.nan
    agree(np.minimum.accumulate(np.asarray(x)), numpy.minimum.accumulate(x))
    agree(np.maximum.accumulate(np.asarray(x)), numpy.maximum.accumulate(x))


def test_it_is_lazy_and_fuses_around():
    x = make((3, 5000), numpy.dtype("d"))
    a = np.asarray(x)
    y = np.cumsum(a * 2 + 1, axis=1)[:, ::7] - a.mean()
    agree(y, blocks(x * 2 + 1, numpy.add, None, 1)[:, ::7] - float(a.mean()))


def test_errors_of_floating_point():
    x = np.asarray([1e308, 1e308, -numpy.inf, 1.0])
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="accumulate"):
        braze.wait(np.cumsum(x))
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError, match="accumulate"):
        braze.wait(np.cumsum(x))
    with np.errstate(all="raise"):
        braze.wait(np.cumsum(np.asarray([numpy.inf, 1.0, numpy.nan, 2.0])))
