# SPDX-License-Identifier: Apache-2.0
"""unique and the functions of sets: NumPy's elements, places and counts, whatever is pending."""

import itertools

import numpy
import pytest

import braze
import braze.numpy as np
from braze import _core

from near_mode import near_on

TYPES = "?bhilBHILefdFD"
# None, one, few, around a block of ranks, more than are at hand at a time.
SIZES = [0, 1, 2, 7, 300, 4097, 150_000]
MANY_HALVES = 4096  # of more, NumPy's sort leaves some out of order on some processors
FLAGS = list(itertools.product((False, True), repeat=3))


def make(n, dtype, seed=0, spread=30):
    """Many doubles, zeros of either sign, nans."""
    rng = numpy.random.default_rng([seed, n])
    x = numpy.round(rng.standard_normal(n) * spread)
    if dtype in "BHIL?":
        x = abs(x)
    if dtype in "FD":
        x = numpy.round(x / 8) + 1j * numpy.round(rng.standard_normal(n) * 2)
    x = (x > spread / 3) if dtype == "?" else x.astype(dtype)
    if x.dtype.kind in "fc" and n:
        flat = x.view(x.real.dtype)
        for value in (-0.0, numpy.inf, -numpy.inf, numpy.nan):
            flat[rng.integers(0, flat.size, 1 + flat.size // 30)] = value
    return x


def pending(x):
    a = np.asarray(x)
    return np.where(np.asarray(True), a, a)


WAYS = [np.asarray, pending]


def agree(got, want, text=""):
    """Types, shapes and values; which zero, and which nan, of equal ones is nobody's promise."""
    if isinstance(want, tuple):
        assert type(got).__name__ == type(want).__name__ and len(got) == len(want), text
        for g, w in zip(got, want, strict=True):
            agree(g, w, text)
        return
    got = numpy.asarray(_core.settle(got))
    want = numpy.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, (text, got.dtype, got.shape, want.dtype, want.shape)
    assert numpy.array_equal(got, want, equal_nan=want.dtype.kind in "fc"), text


@pytest.mark.parametrize("dtype", TYPES)
def test_unique(dtype):
    for n, way in itertools.product(SIZES, WAYS):
        if dtype == "e" and n > MANY_HALVES:
            continue
        x = make(n, dtype)
        agree(np.unique(way(x)), numpy.unique(x), (n, way))
        for flags in FLAGS:
            agree(np.unique(way(x), *flags), numpy.unique(x, *flags), (n, way, flags))
        agree(np.unique(way(x), equal_nan=False), numpy.unique(x, equal_nan=False), (n, way))


@pytest.mark.parametrize("shape", [(6, 50), (3, 4, 5), (2, 0), (400, 400), ()])
def test_unique_of_shapes_and_views(shape):
    x = make(int(numpy.prod(shape)), "d", 3).reshape(shape)
    for way, flags in itertools.product(WAYS, FLAGS):
        agree(np.unique(way(x), *flags), numpy.unique(x, *flags), flags)
        agree(np.unique(way(x).T, *flags), numpy.unique(x.T, *flags), flags)
    if x.ndim:
        for way in WAYS:
            agree(np.unique(way(x)[::-2], True, True), numpy.unique(x[::-2], True, True))
            agree(np.unique(way(x), axis=0), numpy.unique(x, axis=0))


@pytest.mark.parametrize("name", ["unique_all", "unique_counts", "unique_inverse", "unique_values"])
def test_in_the_standards_names(name):
    for n, dtype, way in itertools.product((0, 9, 150_000), "dliD", WAYS):
        x = make(n, dtype)
        if name == "unique_inverse":  # which nan is which is not told
            x[x != x] = 7
        agree(getattr(np, name)(way(x)), getattr(numpy, name)(x), (n, dtype))


PAIRS = ["union1d", "intersect1d", "setdiff1d", "setxor1d", "isin", *(["in1d"] if hasattr(numpy, "in1d") else [])]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.filterwarnings("ignore:`in1d` is deprecated")
def test_pairs(name, dtype):
    for (n, m), way in itertools.product([(0, 5), (5, 0), (1, 1), (40, 7), (9, 3000), (150_000, 3), (140_000, 150_001)], WAYS):
        if dtype == "e" and n + m > MANY_HALVES:
            continue
        x, y = make(n, dtype, 1), make(m, dtype, 2, 20)
        agree(getattr(np, name)(way(x), way(y)), getattr(numpy, name)(x, y), (n, m, way))
        agree(getattr(np, name)(way(x), y), getattr(numpy, name)(x, y), (n, m, way))
        if name in ("isin", "in1d"):
            agree(getattr(np, name)(way(x), way(y), invert=True), getattr(numpy, name)(x, y, invert=True), (n, m))
            if dtype not in "efdFD":
                agree(getattr(np, name)(way(x), way(y), kind="sort"), getattr(numpy, name)(x, y, kind="sort"), (n, m))


@pytest.mark.parametrize("name", ["intersect1d", "setdiff1d", "setxor1d", "isin"])
def test_pairs_that_are_unique(name):
    rng = numpy.random.default_rng(5)
    for n, m in ((6, 9), (5000, 140_000), (140_000, 140_000)):
        x, y = rng.permutation(2 * n)[:n], rng.permutation(3 * m)[:m]
        for way, dtype in itertools.product(WAYS, "lid"):
            a, b = x.astype(dtype), y.astype(dtype)
            agree(getattr(np, name)(way(a), way(b), assume_unique=True), getattr(numpy, name)(a, b, assume_unique=True), (n, m))


def test_places_of_what_is_in_both():
    for n, m in ((6, 9), (5000, 140_000)):
        x, y = make(n, "l", 1), make(m, "l", 2)
        for way in WAYS:
            agree(np.intersect1d(way(x), way(y), return_indices=True), numpy.intersect1d(x, y, return_indices=True))
            u, v = numpy.unique(x)[::-1].copy(), numpy.unique(y)
            agree(np.intersect1d(way(u), way(v), True, True), numpy.intersect1d(u, v, True, True))


def test_whole_range_of_integers():
    """Whose difference has no room in the type."""
    for dtype in "bilBIL":
        info = numpy.iinfo(dtype)
        x = numpy.array([info.min, info.max, 0, 1, info.max, info.min, info.max - 1], dtype)
        y = numpy.array([info.max, 3, info.min], dtype)
        for way, name in itertools.product(WAYS, ("isin", "setdiff1d", "setxor1d", "intersect1d", "union1d")):
            agree(getattr(np, name)(way(numpy.tile(x, 30_000)), way(y)), getattr(numpy, name)(numpy.tile(x, 30_000), y))


@pytest.mark.parametrize("name", ["union1d", "intersect1d", "setdiff1d", "setxor1d", "isin"])
def test_what_numpy_joins_otherwise(name):
    """Types that differ, lists, numbers, shapes."""
    for x, y in (((make(50, "i"), make(40, "d")), (make(50, "l"), [1, 2, 3]), ([1, 2, 3], make(50, "l")),
                  (make(60, "d").reshape(6, 10), make(20, "d").reshape(4, 5)), (make(9, "d"), 2.0), (make(9, "L"), make(9, "l")))):
        a, b = (np.asarray(v) if isinstance(v, numpy.ndarray) else v for v in (x, y))
        agree(getattr(np, name)(a, b), getattr(numpy, name)(x, y))


def test_what_is_written_later_is_another_value():
    x = make(150_000, "d")
    a = pending(x)
    made = np.unique(a, True, True, True)
    a[:] = 7.0
    agree(made, numpy.unique(x, True, True, True))


def test_errors_are_numpys():
    x = numpy.arange(5.0)
    a = np.asarray(x)
    for call in (lambda m, v: m.unique(v, axis=3), lambda m, v: m.unique(v, nonsense=1), lambda m, v: m.isin(v, v, kind="x"),
                 lambda m, v: m.isin(v, v, kind="table"), lambda m, v: m.union1d(v), lambda m, v: m.intersect1d(v, v, 1, 1, 1)):
        for module, given in ((numpy, x), (np, a)):
            with pytest.raises((TypeError, ValueError)):
                call(module, given)


def test_what_is_brazes_own():
    """What a sort with places, or a search, is most of; NumPy keeps what its sort or a table does."""
    with near_on():
        x, y = make(200_000, "d", 1), make(200_000, "d", 2)
        wide = make(200_000, "l", 1) * 10**6
        a, b, w = (np.asarray(v) for v in (x, y, wide))
        before = dict(braze.fallbacks())
        np.unique(a, True, True, True), np.unique(a, return_inverse=True), np.unique_all(a), np.unique_inverse(a)
        np.isin(a, b), np.intersect1d(a, b, return_indices=True), np.isin(w, w[::2])
        assert dict(braze.fallbacks()) == before
        np.unique(a), np.union1d(a, b)
        after = dict(braze.fallbacks())
        assert after["unique"] > before.get("unique", 0) and after["union1d"] > before.get("union1d", 0)


def test_near_and_far_agree():
    with near_on():
        for n, dtype in itertools.product((5, 1000, 200_000), "dlf"):
            x, y = make(n, dtype, 1), make(n, dtype, 2)
            a, b = np.asarray(x), np.asarray(y)
            for flags in FLAGS:
                agree(np.unique(a, *flags), numpy.unique(x, *flags))
            for name in PAIRS[:5]:
                agree(getattr(np, name)(a, b), getattr(numpy, name)(x, y), (name, n, dtype))
