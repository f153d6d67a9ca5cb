# SPDX-License-Identifier: Apache-2.0
"""Elements at places along inner and outer axes, near and far: NumPy's values, strides and errors, and
what is at hand is gathered in its call."""

import numpy
import pytest

import braze
import braze.numpy as np
from near_mode import near_count, near_on

TYPES = ("float64", "float32", "int8", "int16", "complex64", "complex128", "bool")
SHAPES = ((7, 9), (64, 64), (20, 300), (300, 20), (3, 1000), (5, 6, 7), (130, 140), (4, 2, 6, 3))
VIEWS = {
    "as it is": lambda a: a,
    "T": lambda a: a.T,
    "[::2]": lambda a: a[::2],
    "[..., ::-1]": lambda a: a[..., ::-1],
}


@pytest.fixture(params=["near", "far"])
def ways(request):
    """With small operations computed in their call, and without any."""
    if request.param == "far":
        yield
        return
    with near_on(first=True):
        yield


def values(shape, dtype, seed=0):
    return (numpy.random.default_rng(seed).random(shape) * 100).astype(dtype)


def places(n, count, seed=1):
    return numpy.random.default_rng(seed).integers(-n, n, count)


def agree(got, want, strides=True):
    there = numpy.asarray(got)
    assert there.dtype == want.dtype and there.shape == want.shape
    assert there.tobytes() == want.tobytes()
    if strides and want.size:
        ours = [(s, n) for s, n in zip(got.strides, want.shape, strict=True) if n > 1]
        assert ours == [(s, n) for s, n in zip(want.strides, want.shape, strict=True) if n > 1]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", TYPES)
def test_along_every_axis(ways, dtype, view):
    for shape in SHAPES:
        theirs = values(shape, dtype)
        a, b = VIEWS[view](theirs), VIEWS[view](np.asarray(theirs))
        for axis, n in enumerate(a.shape):
            for p in (places(n, 1), places(n, 3), places(n, 17), places(n, 200), places(n, (2, 5)),
                      numpy.full(9, n // 2), numpy.sort(places(n, 40)), places(n, (3, 4)).T):
                key = (slice(None),) * axis
                q = np.asarray(p)
                agree(b[(*key, q)], a[(*key, p)])
                agree(b[(*key, q, ...)], a[(*key, p, ...)])
                agree(np.take(b, q, axis=axis), a.take(p, axis=axis))
                agree(b[(*key, p.ravel().tolist())], a[(*key, p.ravel().tolist())])


@pytest.mark.parametrize("dtype", "bhilBHIL")
def test_every_type_of_places(ways, dtype):
    a, p = values((20, 30), "float32"), numpy.array([0, 19, 3, 3, 7], dtype)
    b, q = np.asarray(a), np.asarray(p)
    agree(b[:, q], a[:, p])
    agree(b[q], a[p])
    agree(b[q[::2]], a[p[::2]])
    agree(b[:, q[::-1]], a[:, p[::-1]])


KEYS = [
    lambda r, c: (r[:, None], c),
    lambda r, c: (r[:4], c),
    lambda r, c: (0, c),
    lambda r, c: (r, -1),
    lambda r, c: (r, slice(None, None, 2)),
    lambda r, c: (slice(1, None), c),
    lambda r, c: (slice(None, None, -1), c),
    lambda r, c: (slice(2, 2), c),
    lambda r, c: (None, r),
    lambda r, c: (r, None, c[:1]),
    lambda r, c: (..., c),
    lambda r, c: (slice(0, 10**9), c),
]


@pytest.mark.parametrize("key", range(len(KEYS)))
def test_keys(ways, key):
    for view in VIEWS.values():
        theirs = values((40, 30), "float64")
        a, b = view(theirs), view(np.asarray(theirs))
        r, c = places(a.shape[0], 5), places(a.shape[1], 4)
        agree(b[KEYS[key](np.asarray(r), np.asarray(c))], a[KEYS[key](r, c)])


def test_modes(ways):
    a, p = values((30, 20), "float64"), numpy.array([3, -7, 25, 0, -100])
    b, q = np.asarray(a), np.asarray(p)
    for mode in ("wrap", "clip"):
        agree(np.take(b, q, axis=1, mode=mode), a.take(p, axis=1, mode=mode))
        agree(np.take(b, q % 5, axis=1, mode=mode), a.take(p % 5, axis=1, mode=mode))
    agree(np.take(b, q[:1] - 4, axis=1, mode="clip"), a.take(p[:1] - 4, axis=1, mode="clip"))


@pytest.mark.parametrize("bad", [30, -31, 2**62, -(2**63)])
def test_wrong_places(ways, bad):
    b, q = np.asarray(values((30, 30), "float64")), np.asarray(numpy.array([0, bad, 3]))
    for read in (lambda: b[:, q], lambda: b[q], lambda: b[q, q], lambda: np.take(b, q, axis=1),
                 lambda: b[1:, q][0]):
        with pytest.raises(IndexError, match=rf"index {bad} is out of bounds for axis \d with size (30|29)"):
            numpy.asarray(read())
    with pytest.raises(IndexError):
        numpy.asarray(b[:, [0, bad]])


def test_no_places_and_no_elements(ways):
    a, none = values((4, 5), "float64"), numpy.zeros(0, int)
    b = np.asarray(a)
    agree(b[:, np.asarray(none)], a[:, none])
    agree(b[:0][:, np.asarray([1, 2])], a[:0][:, [1, 2]])
    with pytest.raises(IndexError):
        numpy.asarray(np.asarray(a[:, :0])[:, np.asarray([0])])


def test_any_byte_is_a_truth_value(ways):
    raw = numpy.arange(600, dtype="int8").reshape(20, 30)
    want = raw.astype(bool)
    b = np.asarray(raw).view(bool)
    for key in ((slice(None), [3, 0, 29]), ([7, 7],), ([1, 2], [3, 4])):
        keys = tuple(np.asarray(k) if isinstance(k, list) else k for k in key)
        assert numpy.asarray(b[keys]).astype(bool).tolist() == want[key].tolist()
        assert int(b[keys].sum()) == want[key].sum()


def test_what_is_gathered_is_a_copy(ways):
    a = np.asarray(values((10, 10), "float64"))
    q = np.asarray([1, 2])
    got = a[:, q]
    a[:] = 0
    q[:] = 9
    assert float(got.min()) > 0
    got[:] = 5
    assert float(a.max()) == 0


@pytest.mark.parametrize("shape", [(1000, 1100), (100, 11_000), (11_000, 100)])
@pytest.mark.parametrize("dtype", ["float64", "int8"])
def test_many_elements_are_the_daemons(shape, dtype):
    """More than a million, and as many at once as a slice has: rows are cut, and shared by parts."""
    a = values(shape, dtype)
    for count in (shape[1], 3 * shape[1] + 1):
        p = places(shape[1], count)
        agree(np.asarray(a)[:, np.asarray(p)], a[:, p])
    p = places(shape[0], 2 * shape[0])
    agree(np.asarray(a)[np.asarray(p)], a[p])
    p[77] = shape[0] + 5
    with pytest.raises(IndexError, match=f"index {shape[0] + 5} is out of bounds for axis 0"):
        numpy.asarray(np.asarray(a)[np.asarray(p)])


def test_what_is_at_hand_is_gathered_at_once():
    with near_on(first=True):
        a, q = np.asarray(values((500, 400), "float64")), np.asarray(places(400, 300))
        braze.wait(a, q)
        before = near_count()
        made = a[:, q], a[q], a[q, q], a[:, [1, 3, 5]], a.T[:, q], np.take(a, q[:9], axis=1), np.take(a, q, axis=1)
        assert near_count() - before == len(made)
        p = numpy.asarray(q)
        agree(made[-1], numpy.asarray(a).take(p, axis=1))
        agree(made[0], numpy.asarray(a)[:, p])
        before = near_count()
        far = a[:, np.asarray(numpy.tile(places(400, 300), 10))]  # 1.5 million
        assert near_count() == before
        wrong = a[:, q + 400]
        agree(far[:, 0], numpy.asarray(far)[:, 0])
        with pytest.raises(IndexError):
            numpy.asarray(wrong)


def test_what_waits_for_pending_values_is_recorded():
    theirs, p = values((2000, 1500), "float64"), places(1500, 40)
    with near_on():
        a = np.asarray(theirs) * 2  # too large for the low bound
        before = near_count()
        got = a[:, np.asarray(p)] + 1
        assert near_count() == before
        agree(got, (theirs * 2)[:, p] + 1)


def test_open_meshes_are_views():
    before = dict(braze.fallbacks())
    r, c, f = np.arange(4), np.arange(12)[::3], np.asarray([0.5])
    mesh = np.ix_(r, c, f)
    assert [m.shape for m in mesh] == [(4, 1, 1), (1, 4, 1), (1, 1, 1)]
    assert all(np.shares_memory(m, x) for m, x in zip(mesh, (r, c, f), strict=True))
    a = values((9, 12), "float64")
    agree(np.asarray(a)[np.ix_(r, c)], a[numpy.ix_(range(4), range(0, 12, 3))])
    assert np.ix_() == ()
    assert dict(braze.fallbacks()) == before
    for args in (([0, 1], [2]), ([True, False], [2, 1]), (np.asarray([True, False, True]), r)):
        want = numpy.ix_(*(numpy.asarray(x) for x in args))
        for got, m in zip(np.ix_(*args), want, strict=True):
            agree(got, m, strides=False)
    with pytest.raises(ValueError, match="Cross index must be 1 dimensional"):
        np.ix_(np.zeros((2, 2)), r)
