# SPDX-License-Identifier: Apache-2.0
"""searchsorted, digitize and interp: NumPy's places and values, to the bit."""

import numpy
import pytest

import braze.numpy as np
from braze import _core

TYPES = [numpy.dtype(t) for t in "?bhilBHILefdFD"]
SIDES = ("left", "right")
SIZES = [(1, 1), (2, 7), (9, 40), (64, 65), (300, 33), (1000, 1000), (5000, 20000), (70000, 9)]


def make(n, dtype, seed, spread=40):
    rng = numpy.random.default_rng(seed)
    x = rng.standard_normal(n) * spread
    if dtype.kind == "c":
        x = numpy.round(x / 8) + 1j * numpy.round(rng.standard_normal(n) * 3)
    if dtype.kind == "u":
        x = abs(x)
    x = (x > 0.3) if dtype == bool else x.astype(dtype)
    if dtype.kind in "fc" and n:
        flat = x.view(x.real.dtype)
        for value in (0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan):
            flat[rng.integers(0, flat.size, 1 + flat.size // 20)] = value
    return x


def agree(got, want):
    got = numpy.asarray(got)
    assert got.dtype == want.dtype and got.shape == want.shape
    assert got.tobytes() == want.tobytes()


def lent(x):
    return np.asarray(x)


def pending(x):
    return np.where(np.asarray(True), np.asarray(x), np.asarray(x))


def as_list(x):
    return x.tolist()


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_every_type(dtype):
    for n, m in SIZES:
        a, v = numpy.sort(make(n, dtype, n)), make(m, dtype, m + 1)
        for side in SIDES:
            want = numpy.searchsorted(a, v, side)
            for way in (lent, pending):
                agree(np.searchsorted(way(a), way(v), side), want)
                agree(way(a).searchsorted(way(v), side=side), want)
                agree(np.searchsorted(way(a), v, side), want)
                agree(np.searchsorted(a, way(v), side), want)


def test_types_that_differ():
    for x in TYPES:
        for y in TYPES:
            a, v = numpy.sort(make(200, x, 3)), make(100, y, 4)
            want = numpy.searchsorted(a, v)
            agree(np.searchsorted(lent(a), lent(v)), want)
            agree(np.searchsorted(pending(a), pending(v)), want)


def test_shapes_and_views():
    a = numpy.sort(make(5000, numpy.dtype(float), 1))
    v = make(6000, numpy.dtype(float), 2)
    for way in (lent, pending):
        b, w = way(a), way(v)
        agree(np.searchsorted(b[::3], w), a[::3].searchsorted(v))
        agree(np.searchsorted(b, w[::-2]), a.searchsorted(v[::-2]))
        agree(np.searchsorted(b[::-1][::-1], w), a.searchsorted(v))
        agree(np.searchsorted(b, w.reshape(20, 300).T), a.searchsorted(v.reshape(20, 300).T))
        agree(np.searchsorted(b, w.reshape(2, 3, 1000)[:, ::2, 5:]), a.searchsorted(v.reshape(2, 3, 1000)[:, ::2, 5:]))
        agree(np.searchsorted(b, w[:0]), a.searchsorted(v[:0]))
        agree(np.searchsorted(b[:0], w), a[:0].searchsorted(v))
        agree(np.searchsorted(b[:0], w[:0].reshape(3, 0)), a[:0].searchsorted(v[:0].reshape(3, 0)))
        agree(np.searchsorted(b, w[7]), numpy.asarray(a.searchsorted(v[7])))
        agree(np.searchsorted(b, w[7:8].reshape(())), numpy.asarray(a.searchsorted(v[7])))
        assert np.searchsorted(b, w[7])._is_scalar
        for needle in (0.5, 3, True, [1, 2.5], (3,), numpy.float32(7)):
            agree(np.searchsorted(b, needle), numpy.asarray(a.searchsorted(needle)))
            agree(b.searchsorted(needle, "right"), numpy.asarray(a.searchsorted(needle, "right")))
        agree(np.searchsorted(as_list(a[:50]), w), numpy.searchsorted(a[:50], v))


def test_whole_numbers_beyond_a_float():
    a = numpy.array([2**53 - 1, 2**53, 2**53 + 1, 2**62], numpy.int64)
    for dtype in (numpy.int64, numpy.uint64):
        v = a.astype(dtype)
        for way in (lent, pending):
            agree(np.searchsorted(way(a), way(v), "right"), a.searchsorted(v, "right"))


@pytest.mark.parametrize("kind", ("l", "i", "b", "H"))
def test_sorter(kind):
    a = make(100, numpy.dtype(float), 5)
    v = make(400, numpy.dtype(float), 6)
    sorter = numpy.argsort(a, kind="stable").astype(kind)
    for side in SIDES:
        want = a.searchsorted(v, side, sorter)
        for way in (lent, pending):
            agree(np.searchsorted(way(a), way(v), side, way(sorter)), want)
            agree(way(a).searchsorted(way(v), side=side, sorter=sorter), want)
    agree(np.searchsorted(pending(a), pending(v), sorter=np.argsort(pending(a))), a.searchsorted(v, sorter=sorter))


def test_wrong_sorters():
    a, v = numpy.arange(5.0), numpy.arange(-1.0, 7.0)
    for sorter in ([0, 1, 2], [[0, 1, 2, 3, 4]], [0.0, 1, 2, 3, 4], [0, 1, 2, 3, 9], [0, -1, 2, 3, 4]):
        for way in (lent, pending):
            with pytest.raises((ValueError, TypeError, IndexError)):
                numpy.asarray(np.searchsorted(way(a), way(v), sorter=way(numpy.array(sorter))))


@pytest.mark.parametrize("way", (lent, pending))
def test_wrong_arguments(way):
    a, v = way(numpy.arange(6.0)), way(numpy.arange(3.0))
    for call in (
        lambda np_, a, v: np_.searchsorted(a.reshape(2, 3), v),
        lambda np_, a, v: np_.searchsorted(a, v, "middle"),
        lambda np_, a, v: np_.searchsorted(a, v, side=7),
        lambda np_, a, v: np_.searchsorted(a),
        lambda np_, a, v: np_.searchsorted(a, v, among=1),
        lambda np_, a, v: np_.digitize(v * 1j, a),
        lambda np_, a, v: np_.digitize(v, a.reshape(2, 3)),
        lambda np_, a, v: np_.digitize(v, a * (a - 3)),
        lambda np_, a, v: np_.interp(v, a, a[:3]),
        lambda np_, a, v: np_.interp(v, a[:0], a[:0]),
        lambda np_, a, v: np_.interp(v, a.reshape(2, 3), a),
        lambda np_, a, v: np_.interp(v, a, a, period=0),
    ):
        with pytest.raises(Exception) as theirs:
            call(numpy, numpy.asarray(a), numpy.asarray(v))
        with pytest.raises(theirs.type) as ours:
            call(np, a, v)
        assert theirs.type in (TypeError,) or str(ours.value) == str(theirs.value)


def test_it_stays_lazy():
    a, v = numpy.sort(make(300000, numpy.dtype(float), 8)), make(200000, numpy.dtype(float), 9)
    edges = numpy.arange(-50.0, 50.0)
    b, w = pending(a), pending(v)
    before = _core.numpys_counts()
    found = [np.searchsorted(b, w * 2), np.digitize(w, edges), np.interp(w, edges, numpy.sqrt(edges + 50))]
    assert not any(_core.is_stored(x) for x in (b, w, *found))
    assert _core.numpys_counts() == before
    agree(found[0] + 1, a.searchsorted(v * 2) + 1)
    agree(found[1], numpy.digitize(v, edges))
    agree(found[2], numpy.interp(v, edges, numpy.sqrt(edges + 50)))


def test_what_is_in_no_order_has_places_all_the_same():
    a, v = make(10000, numpy.dtype(float), 1), make(5000, numpy.dtype(float), 2)
    for way in (lent, pending):
        places = numpy.asarray(np.searchsorted(way(a), way(v)))
        assert places.min() >= 0 and places.max() <= a.size


# ---- digitize ----


@pytest.mark.parametrize("dtype", [t for t in TYPES if t.kind != "c"], ids=str)
def test_digitize(dtype):
    for n, m in SIZES[:-1]:
        edges, x = numpy.sort(make(n, dtype, n)), make(m, dtype, m)
        for bins in (edges, edges[::-1], edges[:1].repeat(4), numpy.unique(edges)[::-1]):
            try:
                want = [numpy.digitize(x, bins, right) for right in (False, True)]
            except ValueError:  # nans at the front
                continue
            for way in (lent, pending):
                for right in (False, True):
                    agree(np.digitize(way(x), way(bins), right), want[right])
                    agree(np.digitize(way(x), bins, right=right), want[right])
    agree(np.digitize(pending(x).reshape(-1, 10), as_list(edges)), numpy.digitize(x.reshape(-1, 10), edges))


# ---- interp ----


def lines(n, m, seed):
    rng = numpy.random.default_rng(seed)
    xp, fp, x = numpy.sort(rng.standard_normal(n)), rng.standard_normal(n), rng.standard_normal(m) * 2
    x[:: max(m // 9, 1)] = xp[rng.integers(0, n, x[:: max(m // 9, 1)].size)]
    return x, xp, fp


@pytest.mark.parametrize("n,m", [(2, 5), (3, 3), (4, 100), (5, 100), (1000, 30), (300, 5000), (3000, 30000)])
def test_interp(n, m):
    x, xp, fp = lines(n, m, n)
    for way in (lent, pending):
        agree(np.interp(way(x), way(xp), way(fp)), numpy.interp(x, xp, fp))
        agree(np.interp(way(x), xp, fp), numpy.interp(x, xp, fp))
        agree(np.interp(way(x), way(xp), way(fp), -7, 9.5), numpy.interp(x, xp, fp, -7, 9.5))
        agree(np.interp(way(x), way(xp), way(fp), right=numpy.float64(3)), numpy.interp(x, xp, fp, right=3))
        agree(np.interp(way(x), way(xp), way(fp), period=1.5), numpy.interp(x, xp, fp, period=1.5))
        agree(np.interp(way(x)[::-2].reshape(1, -1), way(xp), way(fp)), numpy.interp(x[::-2].reshape(1, -1), xp, fp))
        agree(np.interp(way(x)[1], way(xp), way(fp)), numpy.asarray(numpy.interp(x[1], xp, fp)))
        agree(np.interp(0.25, way(xp), way(fp)), numpy.asarray(numpy.interp(0.25, xp, fp)))
        agree(np.interp([0.25, 1], way(xp), way(fp)), numpy.interp([0.25, 1], xp, fp))


def test_interp_of_what_is_not_finite():
    """Infinities at either end, nans, equal points in a row."""
    values = numpy.array([0.0, -0.0, 1.0, 2.5, numpy.inf, -numpy.inf, numpy.nan])
    rng = numpy.random.default_rng(1)
    for round_ in range(200):
        xp = numpy.sort(rng.choice(values[:6], 6))
        fp = rng.choice(values, 6)
        x = numpy.concatenate([values, rng.standard_normal(20), xp])
        with numpy.errstate(all="ignore"):
            want = numpy.interp(x, xp, fp)
        for way in (lent, pending):
            got = numpy.asarray(np.interp(way(x), way(xp), way(fp)))
            assert numpy.array_equal(got, want, equal_nan=True), (xp, fp)
            there = ~numpy.isnan(want)
            assert (numpy.signbit(got) == numpy.signbit(want))[there].all()


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_interp_of_other_types(dtype):
    x, xp, fp = lines(50, 300, 2)
    x, xp, fp = (numpy.abs(a * 9).astype(dtype) for a in (x, xp, fp))
    xp = numpy.sort(xp)
    try:
        want = numpy.interp(x, xp, fp)
    except TypeError:
        with pytest.raises(TypeError):
            np.interp(lent(x), lent(xp), lent(fp))
        return
    for way in (lent, pending):
        agree(np.interp(way(x), way(xp), way(fp)), want)


# ---- isin ----


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_isin(dtype):
    for n, m in [(1, 1), (9, 40), (200, 65), (3000, 1000), (900, 90000)]:
        others, x = make(n, dtype, n, 5), make(m, dtype, m + 1, 5)
        for invert in (False, True):
            want = numpy.isin(x, others, invert=invert)
            for way in (lent, pending):
                agree(np.isin(way(x), way(others), invert=invert), want)
                agree(np.isin(way(x), others, False, invert), want)
    agree(np.isin(pending(x).reshape(-1, 10), pending(others).reshape(2, -1)), want.reshape(-1, 10) ^ True)
    agree(np.isin(pending(x), pending(others)[:0]), numpy.isin(x, others[:0]))
    agree(np.isin(pending(x)[:0], pending(others)), numpy.isin(x[:0], others))
    agree(np.isin(pending(x), as_list(others[:5])), numpy.isin(x, as_list(others[:5])))
    agree(np.isin(pending(x), pending(others), kind="sort"), numpy.isin(x, others, kind="sort"))


def test_isin_stays_lazy():
    x, others = make(200000, numpy.dtype(float), 1), make(300000, numpy.dtype(float), 2)
    before = _core.numpys_counts()
    found = np.isin(pending(x), pending(others))
    assert not _core.is_stored(found) and _core.numpys_counts() == before
    agree(found, numpy.isin(x, others))
