# SPDX-License-Identifier: Apache-2.0
"""What masks choose: a[mask], nonzero and its kind, compress, extract, as NumPy does them."""

import braze
import braze.numpy as np
import numpy
import pytest
from braze import _core
from braze.numpy import _fallback

from near_mode import near_on

TYPES = "?bhilBHILefdFD"
SHAPES = [(0,), (1,), (7,), (4096,), (4097,), (150000,), (3, 5), (5, 0), (70, 90), (1, 1, 1), (6, 7, 8), (2, 3, 4, 5, 6),
          (2, 1, 3, 2, 2, 2)]


def make(shape, dtype="d", seed=0):
    rng = numpy.random.default_rng(seed)
    x = rng.standard_normal(shape) * 50
    x[x > 60] = 0.0
    with numpy.errstate(all="ignore"):
        x = x.astype(dtype)
    if x.size > 5 and x.dtype.kind == "f":
        x.reshape(-1)[:5] = [numpy.nan, -0.0, 0.0, numpy.inf, -numpy.inf]
    return x


def agree(got, want):
    got = _core.settle(got)
    assert type(got) is type(np.asarray(want))
    assert got.shape == want.shape and got.dtype == want.dtype
    assert numpy.asarray(got).tobytes() == want.tobytes()


def layouts(x):
    yield x
    yield x[::-1]
    yield x.T
    yield numpy.repeat(x, 2, axis=-1)[..., ::2]


@pytest.mark.parametrize("dtype", TYPES)
def test_every_type(dtype):
    for n in (9, 5000, 140000):
        x = make(n, dtype)
        for every in (2, 7, n):
            m = numpy.arange(n) % every == 1
            agree(np.asarray(x)[np.asarray(m)], x[m])


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_and_leading_axes(shape):
    x = make(shape)
    for k in range(1, len(shape) + 1):
        m = make(shape[:k], seed=k) > 0
        for mask in (m, numpy.zeros_like(m), numpy.ones_like(m)):
            agree(np.asarray(x)[np.asarray(mask)], x[mask])
            agree(np.asarray(x)[mask], x[mask])  # a mask of NumPy's


@pytest.mark.parametrize("shape", [(9,), (300,), (20, 30), (5, 6, 7), (600, 300)])
def test_layouts(shape):
    for x in layouts(make(shape)):
        for m in layouts(make(x.shape, seed=3)):
            if m.shape != x.shape:
                continue
            a, mask = np.asarray(make(shape)), np.asarray(m) > 0
            want = x[m > 0]
            for view in (a, a[::-1], a.T):
                if view.shape == x.shape and numpy.array_equal(numpy.asarray(view), x, equal_nan=True):
                    agree(view[mask], want)
            agree(np.asarray(x)[mask], want)
    wide = np.broadcast_to(np.asarray(make((1, 30))), (20, 30))
    m = make((20, 30), seed=1) > 0
    agree(wide[np.asarray(m)], numpy.asarray(wide)[m])
    stretched = np.broadcast_to(np.asarray(m[:1]), (20, 30))
    agree(wide[stretched], numpy.asarray(wide)[numpy.asarray(stretched)])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["?", "d", "i", "D"])
def test_places(shape, dtype):
    x = make(shape, dtype)
    a = np.asarray(x)
    for of in (a, a.nonzero, lambda: np.nonzero(a), lambda: np.where(a)):
        got = of() if callable(of) else np.nonzero(of)
        want = numpy.nonzero(x)
        assert type(got) is tuple and len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            agree(g, w)
    agree(np.flatnonzero(a), numpy.flatnonzero(x))
    agree(np.argwhere(a), numpy.argwhere(x))
    agree(np.argwhere(a.T), numpy.argwhere(x.T))
    agree(np.flatnonzero(a[::-2]), numpy.flatnonzero(x[::-2]))
    assert int(np.count_nonzero(a)) == numpy.count_nonzero(x)


def test_compress_and_extract():
    x = make((40, 50, 6))
    a = np.asarray(x)
    for axis, n in ((0, 40), (1, 50), (2, 6), (-1, 6), (None, 12000)):
        c = make(n, seed=5) > 0
        agree(np.compress(np.asarray(c), a, axis), numpy.compress(c, x, axis))
        agree(a.compress(c, axis=axis), x.compress(c, axis=axis))
        agree(np.compress(c[: n // 2], a, axis), numpy.compress(c[: n // 2], x, axis))
        agree(np.compress(list(c), a, axis), numpy.compress(list(c), x, axis))
    agree(np.compress(np.asarray(make(40, "i")), a, 0), numpy.compress(make(40, "i"), x, 0))
    agree(np.extract(a > 0, a), numpy.extract(x > 0, x))
    agree(np.extract(a.T > 0, a), numpy.extract(x.T > 0, x))
    out = np.empty(int(numpy.count_nonzero(x[:, 0, 0] > 0)), "d")
    assert np.compress(a[:, 0, 0] > 0, a[:, 0, 0], out=out) is out
    agree(out, numpy.compress(x[:, 0, 0] > 0, x[:, 0, 0]))


@pytest.mark.parametrize("call", [
    lambda m, a: a[m.asarray(numpy.ones(3, bool))],
    lambda m, a: a[m.asarray(numpy.ones((6, 9), bool))],
    lambda m, a: a[m.asarray(numpy.ones((6, 7, 1), bool))],
    lambda m, a: m.compress(m.asarray(numpy.ones(9, bool)), a, 0),
    lambda m, a: m.compress(m.asarray(numpy.ones((2, 2), bool)), a),
    lambda m, a: m.compress(m.asarray(numpy.ones(6, bool)), a, 2),
    lambda m, a: m.nonzero(m.asarray(2.5)),
    lambda m, a: m.nonzero(),
    lambda m, a: m.extract(m.asarray(numpy.ones(99, bool)), a),
], ids=range(9))
def test_errors_are_numpys(call):
    x = make((6, 7))
    with pytest.raises(Exception) as want:  # noqa: B017 whatever NumPy raises
        call(numpy, x)
    with pytest.raises(want.type) as got:
        call(np, np.asarray(x))
    assert str(got.value) == str(want.value)


def test_masks_beside_other_keys():
    x = make((6, 7, 8))
    m = x[:, 0, 0] > 0
    a, mask = np.asarray(x), np.asarray(m)
    agree(a[mask, 2], x[m, 2])
    agree(a[:, mask[0] & (a[0, :, 0] > 0)], x[:, m[0] & (x[0, :, 0] > 0)])
    agree(a[None, ...][:, mask], x[None, ...][:, m])
    agree(a[mask[0] & True], x[m[0] & True])


def test_the_rest_is_lazy_and_none_of_it_numpys():
    """The count is waited for, and nothing else; a mask that is written afterwards was another."""
    x = make(200000)
    a = np.asarray(x)
    _fallback.counts.clear()
    m = a > 0
    r = a[m]
    places = np.flatnonzero(m)
    a *= 2
    m[:] = False
    agree(r + 1, x[x > 0] + 1)
    agree(places, numpy.flatnonzero(x > 0))
    y = np.sqrt(np.abs(a))[np.isfinite(a) & (a > 1)]
    with numpy.errstate(all="ignore"):
        agree(y * 1, numpy.sqrt(numpy.abs(x * 2))[numpy.isfinite(x) & (x * 2 > 1)])
    assert "getitem" not in _fallback.counts and "flatnonzero" not in _fallback.counts


def test_it_may_be_written():
    x = make(3000)
    r = np.asarray(x)[np.asarray(x) > 0]
    want = x[x > 0]
    r[3] = 7.0
    want[3] = 7.0
    agree(r, want)


def test_of_a_result_that_was_chosen():
    x = make(150000, "i")
    a = np.asarray(x)
    for _ in range(5):
        a, x = a[a % 3 != 1] + 1, x[x % 3 != 1] + 1
    agree(a, x)


def test_small_ones_take_no_trip():
    x = make(50)
    with near_on():
        a = np.asarray(x)
        m = a > 0
        before = braze.counters()["round_trips"]
        agree(a[m], x[x > 0])
        agree(np.flatnonzero(m), numpy.flatnonzero(x > 0))
        agree(np.extract(m, a), numpy.extract(x > 0, x))
        assert braze.counters()["round_trips"] == before


def test_large_ones_are_the_daemons_near_or_not():
    x = make(300000)
    with near_on():
        a = np.asarray(x)
        agree(a[a > 0], x[x > 0])
        agree(np.flatnonzero(a > 0), numpy.flatnonzero(x > 0))


VALUES = [2, 2.5, True, -1, [7], numpy.float32(1.5), numpy.int64(3), numpy.array([4.0]), "same", "one", "first", "few",
          [1, 2, 3], numpy.arange(3), 300, 1e300, 1j, [], None]


@pytest.mark.parametrize("dtype", ["?", "b", "i", "d", "f", "e", "D"])
@pytest.mark.parametrize("name", ["putmask", "place"])
@pytest.mark.parametrize("k", range(len(VALUES)))
@pytest.mark.filterwarnings("ignore")
def test_putmask_and_place(name, dtype, k):
    for shape in ((9,), (3, 5), (0,), (140000,)):
        x = make(shape, dtype)
        m = make(shape, seed=4) > 0
        other = make(shape, dtype, 6)
        for turned in (False, True):
            values = {"same": other, "one": other.reshape(-1)[:1], "first": other.reshape(-1)[: int(m.sum()) + 1],
                      "few": other.reshape(-1)[:2]}.get(VALUES[k], VALUES[k]) if type(VALUES[k]) is str else VALUES[k]
            mine, want, said = np.asarray(x), x.copy(), []
            a, b = (mine.T, want.T) if turned else (mine, want)
            for module, array, mask in ((np, a, np.asarray(m.T if turned else m)), (numpy, b, m.T if turned else m)):
                given = np.asarray(values) if module is np and isinstance(values, numpy.ndarray) else values
                try:
                    said.append(getattr(module, name)(array, mask, given))
                except Exception as error:  # noqa: BLE001 whatever NumPy raises
                    said.append((type(error).__name__, str(error)))
            assert said[0] == said[1], (shape, said)
            agree(mine, want)


def test_putmask_of_what_it_reads():
    """Values and masks that lie in the array itself."""
    for n in (20, 150000):
        x = make(n)
        a, want = np.asarray(x), x.copy()
        np.putmask(a, a > 0, a[::-1])
        numpy.putmask(want, want > 0, want[::-1].copy())
        agree(a, want)
        np.place(a[::2], a[::2] < 5, a[:1])
        numpy.place(want[::2], want[::2] < 5, want[:1].copy())
        agree(a, want)
        np.putmask(a[:10].reshape(2, 5), numpy.arange(10) % 3 == 0, 8.5)
        numpy.putmask(want[:10].reshape(2, 5), numpy.arange(10) % 3 == 0, 8.5)
        agree(a, want)


def test_putmask_is_lazy():
    x = make(150000)
    a = np.asarray(x) * 1
    before = braze.counters()["demands"]
    np.putmask(a, a > 10, 3.0)
    np.place(a, a < -10, [1.0])
    assert braze.counters()["demands"] == before
    numpy.putmask(x, x > 10, 3.0)
    numpy.place(x, x < -10, [1.0])
    agree(a, x)
    a.flags.writeable = False
    for name in ("putmask", "place"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(np, name)(a, a > 0, 1.0)


def test_explained():
    a = np.asarray(make(150000))
    r = a[a > 0]
    braze.wait(r)
    assert "by a mask" in braze.explain(r)
