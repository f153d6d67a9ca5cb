# SPDX-License-Identifier: Apache-2.0
"""Sorting: NumPy's elements and places, the places always as kind="stable" gives them."""

import numpy
import pytest

import braze
import braze.numpy as np

TYPES = [numpy.dtype(t) for t in "?bhilBHILefdFD"]
SHAPES = [(1,), (2,), (9,), (63,), (64,), (65,), (300,), (2047,), (4100,), (9000,), (3, 17), (9, 17), (40, 70), (70, 40),
          (2, 3, 4), (5, 1, 6), (0,), (3, 0), (0, 3), (2000, 3)]


def special(x, rng):
    """Zeros of either sign, infinities, nans of several payloads, equal ones in a row."""
    if x.dtype.kind not in "fc" or not x.size:
        return x
    flat = x.reshape(-1).view(x.real.dtype)
    for value in (0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, -numpy.nan, 1.0):
        flat[rng.integers(0, flat.size, 1 + flat.size // 15)] = value
    word = flat.view("u%d" % flat.itemsize)
    odd = numpy.flatnonzero(numpy.isnan(flat))[::3]
    word[odd] ^= numpy.array(5, word.dtype)
    return x


def make(shape, dtype, spread=40, seed=0):
    rng = numpy.random.default_rng(seed)
    x = rng.standard_normal(shape) * spread
    if dtype.kind == "c":
        x = numpy.round(x / 8) + 1j * numpy.round(rng.standard_normal(shape) * 3)
    if dtype.kind == "u":
        x = abs(x)
    return special((x > 0.3) if dtype == bool else x.astype(dtype), rng)


def agree(got, want):
    """To the bit: what compares equal keeps its order."""
    got = numpy.asarray(got)
    assert got.dtype == want.dtype and got.shape == want.shape
    assert got.tobytes() == want.tobytes()


def by_places(x, axis):
    """np.sort(x, kind="stable") with all bits of each element: NumPy may give other zeros and nans."""
    return numpy.take_along_axis(x, numpy.argsort(x, axis, kind="stable"), axis)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_axis(dtype, shape):
    for spread in (40, 1e-3):
        x = make(shape, dtype, spread)
        a = np.asarray(x)
        for axis in range(-len(shape), len(shape)):
            places = numpy.argsort(x, axis, kind="stable")
            agree(np.argsort(a, axis), places)
            agree(np.argsort(a[::-1][::-1], axis=axis, kind="stable"), places)
            agree(np.sort(a, axis), by_places(x, axis))
            numpy.testing.assert_array_equal(numpy.asarray(np.sort(a, axis)), numpy.sort(x, axis))
            b = a.copy()
            assert b.sort(axis) is None
            agree(b, by_places(x, axis))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("shape", [(1_000_000,), (300_001, 3), (3, 150_000), (20, 20, 2500)], ids=str)
def test_on_all_cores(dtype, shape):
    if dtype.itemsize == 1 or dtype.char in "HIL":
        shape = tuple(n // 2 for n in shape)
    x = make(shape, dtype, 1e4, 1)
    a = np.asarray(x)
    for axis in range(len(shape)):
        agree(np.argsort(a, axis), numpy.argsort(x, axis, kind="stable"))
        agree(np.sort(a, axis), by_places(x, axis))


def inputs(n):
    rng = numpy.random.default_rng(7)
    yield numpy.arange(n, dtype="d")
    yield numpy.arange(n, dtype="d")[::-1]
    yield numpy.zeros(n)
    yield numpy.arange(n) % 7.0
    yield rng.integers(0, 3, n).astype("d")
    yield 1 + rng.random(n) * 1e-9  # all differ in their last bits
    yield numpy.where(rng.random(n) < 0.5, 1.0, -1.0) * (1 + rng.integers(0, 1 << 12, n) * 2.0**-52)
    yield rng.integers(-(1 << 62), 1 << 62, n)
    yield rng.integers(-50, 50, n)
    yield rng.integers(0, 1 << 63, n).astype("L") * numpy.array(2, "L")
    yield rng.standard_normal(n) ** 31
    yield numpy.concatenate([rng.random(n // 2), numpy.sort(rng.random(n - n // 2))])
    yield numpy.where(numpy.arange(n) % 2 == 0, -0.0, 0.0)
    yield numpy.where(rng.random(n) < 0.5, -0.0, numpy.where(rng.random(n) < 0.5, 0.0, rng.random(n) - 0.5))
    yield numpy.full(n, numpy.nan)
    yield (rng.integers(0, 2, n) + 1j * rng.integers(0, 2, n)).astype("D")
    yield (rng.random(n) * 1e-12 + 1j * rng.random(n)).astype("D")


@pytest.mark.parametrize("n", (30, 500, 3000, 5000, 16_385, 40_000, 140_001))
def test_orders_and_repetitions(n):
    for x in inputs(n):
        a = np.asarray(x)
        agree(np.argsort(a), numpy.argsort(x, kind="stable"))
        agree(np.sort(a), by_places(x, 0))


def test_bytes_of_bools():
    x = numpy.array([1, 0, 3, 0, 255, 2], "B")
    a = np.asarray(x).view("?")
    agree(np.argsort(a), numpy.array([1, 3, 0, 2, 4, 5]))
    agree(np.sort(a), numpy.array([0, 0, 1, 1, 1, 1], "?"))


@pytest.mark.parametrize("index", [numpy.s_[::-1], numpy.s_[::2], numpy.s_[:, ::-1], numpy.s_[::-2, 1::3],
                                   numpy.s_[5], numpy.s_[:, 3], numpy.s_[None, 4:]], ids=str)
@pytest.mark.parametrize("transposed", (False, True))
def test_views(index, transposed):
    x = make((50, 1300), numpy.dtype("d"))
    a = np.asarray(x)
    y, b = (x.T[index], a.T[index]) if transposed else (x[index], a[index])
    for axis in range(y.ndim):
        agree(np.argsort(b, axis), numpy.argsort(y, axis, kind="stable"))
        agree(np.sort(b, axis), by_places(y, axis))
    agree(np.sort(b, None), by_places(y.ravel(), 0))
    agree(np.argsort(b, axis=None), numpy.argsort(y, axis=None, kind="stable"))
    c = np.asarray(x.copy())
    d, z = (c.T[index], x.copy()) if transposed else (c[index], x.copy())
    d.sort(0)
    w = z.T[index] if transposed else z[index]
    w[...] = by_places(y, 0)
    agree(c, z)


def test_results_lie_as_numpys_do():
    x = numpy.arange(24.0).reshape(2, 3, 4)
    for view in (x, x.T, x.transpose(1, 0, 2), x[:, :, ::-1].transpose(2, 0, 1), x[0], x[0].T):
        for axis in range(view.ndim):
            ours = np.array(view, order="K")
            theirs = numpy.array(view, order="K")
            for name in ("sort", "argsort"):
                want = getattr(numpy, name)(theirs, axis)
                got = getattr(np, name)(ours, axis)
                assert got.strides == want.strides and got.flags.owndata
                numpy.testing.assert_array_equal(numpy.asarray(got), want)
    wide = np.broadcast_to(np.asarray(numpy.array([2.0, 1, 3]))[:, None], (3, 4)).T
    agree(np.sort(wide, 1), numpy.sort(numpy.asarray(wide), 1))
    agree(np.argsort(wide, 0), numpy.argsort(numpy.asarray(wide), 0, kind="stable"))


def test_arguments():
    x = make((6, 7), numpy.dtype("d"))
    a = np.asarray(x)
    for kind in ("quicksort", "stable", "mergesort", "heapsort", None):
        agree(np.argsort(a, kind=kind), numpy.argsort(x, kind="stable"))
        agree(np.sort(a, 0, kind), by_places(x, 0))
        b = a.copy()
        b.sort(kind=kind)
        agree(b, by_places(x, 1))
    for stable in (True, False, None):
        agree(a.argsort(stable=stable), numpy.argsort(x, kind="stable"))
        agree(np.sort(a, stable=stable), by_places(x, 1))
    for bad in (lambda n, y: n.sort(y, 2), lambda n, y: n.argsort(y, -3), lambda n, y: n.sort(y, kind="bubble"),
                lambda n, y: n.sort(y, kind="stable", stable=True), lambda n, y: n.sort(y, order="x"),
                lambda n, y: n.sort(n.asarray(3.0)), lambda n, y: y.sort(5), lambda n, y: n.sort(y, 1.5)):
        with pytest.raises(Exception) as want:
            bad(numpy, x)
        with pytest.raises(type(want.value)) as got:
            bad(np, a)
        assert str(got.value) == str(want.value)
    agree(np.argsort(np.asarray(3.0)), numpy.argsort(numpy.asarray(3.0)))
    fixed = np.broadcast_to(np.asarray([3.0, 1.0]), (2, 2))
    with pytest.raises(ValueError, match="read-only"):
        fixed.sort()


def test_it_is_lazy_and_fuses_around():
    x = make((3, 5000), numpy.dtype("d"))
    x = numpy.where(numpy.isfinite(x), x, 1.0)
    a = np.asarray(x)
    agree(np.sort(a * 2 + 1, axis=1)[:, ::7] - 3, by_places(x * 2 + 1, 1)[:, ::7] - 3)
    b = a + 1
    b.sort()
    c = b * 2
    agree(c, by_places(x + 1, 1) * 2)
    agree(np.take_along_axis(a, np.argsort(a, 1), 1), by_places(x, 1))


def test_in_place_is_seen_by_views_and_not_by_copies():
    x = make((4, 50), numpy.dtype("i"))
    a = np.asarray(x.copy())
    view, copy, row = a[::-1], a.copy(), a[1]
    shown = numpy.asarray(a)
    a.sort()
    agree(view, by_places(x, 1)[::-1])
    agree(row, by_places(x, 1)[1])
    agree(copy, x)
    agree(shown, x)


def test_what_was_computed_twice_is_the_same():
    x = make((200_000,), numpy.dtype("f"))
    a = np.asarray(x)
    with braze.eager():
        first = numpy.asarray(np.argsort(a))
    agree(np.argsort(a), first)
