# SPDX-License-Identifier: Apache-2.0
"""a[places] = values, adds to places, and counts: as NumPy's, to the bit, whatever is pending."""

import itertools
import warnings

import numpy
import pytest

import braze
import braze.numpy as np

TYPES = ["?", "b", "h", "i", "l", "B", "H", "I", "L", "e", "f", "d", "F", "D"]
PLACES = ["b", "h", "i", "l", "B", "H", "I", "L"]


def values(rng, dtype, shape):
    """Numbers of a type, with what is special in it."""
    kind = numpy.dtype(dtype).kind
    if kind == "b":
        return rng.random(shape) < 0.5
    if kind in "iu":
        info = numpy.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    x = rng.standard_normal(shape).astype(numpy.float32)
    x[rng.random(shape) < 0.1] = 0
    x[rng.random(shape) < 0.1] *= -0.0
    if kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def places(rng, dtype, n, shape):
    """Places of an axis of n, negative ones where there are such, many of them twice."""
    if numpy.dtype(dtype).kind == "u":
        return rng.integers(0, n, shape).astype(dtype)
    return rng.integers(-n, n, shape).astype(dtype)


def bits(a):
    a = numpy.asarray(a)
    return a.shape, a.dtype.str, numpy.ascontiguousarray(a).tobytes()


def outcome(f):
    """What f raises, or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            f()
        except Exception as e:  # noqa: BLE001
            return type(e), str(e)
    return None


def mine(x, pending):
    """An array of ours with x's values and layout, stored or to be computed."""
    if not isinstance(x, numpy.ndarray):
        return x
    a = np.asarray(x)
    if pending:
        return np.where(np.ones((), bool), a, a)
    braze.wait(a)
    return a


def assign(target, key, value):
    target[key] = value


def mapped(key, f):
    if isinstance(key, tuple):
        return tuple(mapped(k, f) for k in key)
    return f(key) if isinstance(key, numpy.ndarray) else key


def check(target, key, value, cut=None, write=assign):
    """The same write by both, for each of the operands pending and not."""
    for pending in itertools.product((False, True), repeat=3):
        theirs = target.copy()
        ours = mine(target, pending[0])
        shown = theirs if cut is None else theirs[cut]
        view = ours if cut is None else ours[cut]
        k, v = mapped(key, lambda x: mine(x, pending[1])), mine(value, pending[2])  # noqa: B023
        expected = outcome(lambda: write(shown, key, value))  # noqa: B023
        got = outcome(lambda: write(view, k, v))  # noqa: B023
        assert got == expected, (pending, key, value)
        assert bits(ours) == bits(theirs), (pending, key, value)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", (1, 7, 300, 2000))
def test_one_axis(dtype, n):
    rng = numpy.random.default_rng(n)
    a, i = values(rng, dtype, n), places(rng, "l", n, n + n // 2)
    check(a, i, values(rng, dtype, i.shape))
    check(a, i, values(rng, dtype, (1,)))
    check(a, i, values(rng, dtype, ()))


@pytest.mark.parametrize("dtype", PLACES)
def test_types_of_places(dtype):
    rng = numpy.random.default_rng(1)
    for n in (5, 100):
        for shape in (4, 1000):
            a = values(rng, "d", n)
            i = places(rng, dtype, n, shape)
            check(a, i, values(rng, "d", shape))
            check(a.reshape(-1, 1), (i, 0), values(rng, "d", shape))


@pytest.mark.parametrize("to", TYPES)
@pytest.mark.parametrize("of", TYPES)
def test_types_of_values(to, of):
    rng = numpy.random.default_rng(2)
    for n in (4, 400):
        i = places(rng, "l", n, n)
        check(values(rng, to, n), i, values(rng, of, n))


NUMBERS = [0, 1, -1, 7, 200, 1e300, 0.5, True, 2.5 + 1j, 2**70, float("nan"), "x", None]


@pytest.mark.parametrize("dtype", TYPES)
def test_numbers_as_values(dtype):
    rng = numpy.random.default_rng(3)
    for n in (4, 400):
        for v in NUMBERS:
            check(values(rng, dtype, n), places(rng, "l", n, n), v)


def keys(rng):
    """Keys of an array of 5, 6, 7, and the shapes of what they choose."""
    i, j, k = (places(rng, "l", n, (8,)) for n in (5, 6, 7))
    ii, jj = places(rng, "l", 5, (3, 1)), places(rng, "l", 6, (1, 4))
    m = rng.random((5, 6, 7)) < 0.4
    return [
        (i,), (slice(None), j), (..., k), (i, j), (i, j, k), (i, slice(None), k), (i, slice(1, 5, 2), k),
        (slice(None, None, -1), j), (slice(1, 4), j, slice(None, None, -2)), (i, 2), (2, j), (1, slice(None), k),
        (0, j, -1), (ii, jj), (ii, slice(None), jj), (ii, jj, 3), (slice(None), ii, jj), (i, ..., 1), (None, i),
        (i, None, j), (i, slice(None), None), (..., j, k), ii, ii.T, (ii.T, jj.T), (i[::2], j[::-2]), m, (m[:, 0, 0],), (slice(None), m[0, :, 0]),
        (i[:5], m[0, :, 0].nonzero()[0][:1]), (m[..., 0], 1), (numpy.int64(1), j), (i[:0],), (i[:0], j[:0]), (slice(0, 0), j),
        (i, slice(3, 3)), numpy.asfortranarray(places(rng, "l", 5, (3, 3))), (numpy.broadcast_to(i[:1], 4), j[:4]),
    ]


@pytest.mark.parametrize("number", range(len(keys(numpy.random.default_rng(0)))))
def test_keys(number):
    rng = numpy.random.default_rng(4)
    key = keys(rng)[number]
    for dtype in "dHD":
        a = values(rng, dtype, (5, 6, 7))
        shape = a[key].shape
        for given in (shape, shape[1:], shape[-1:], (1,), (1, *shape), (2, 3, 9)):
            check(a, key, values(rng, dtype, given))
        check(a, key, values(rng, dtype, shape[::-1]).T)
        check(a, key, numpy.asfortranarray(values(rng, dtype, shape)))


CUTS = {
    "reversed": (slice(None, None, -1),), "strided": (slice(None, None, 2), slice(1, None, 2)),
    "column": (slice(None), 3), "row": (2,), "inner": (slice(1, -1), slice(1, -1), slice(1, -1)), "last": (..., 0),
    "new": (None, 1),
}


@pytest.mark.parametrize("cut", CUTS)
def test_views_are_written_where_they_lie(cut):
    rng = numpy.random.default_rng(5)
    for dtype in "dbF":
        a = values(rng, dtype, (8, 9, 10))
        view = a[CUTS[cut]]
        for key in ((0,), (-1,), (0, -1)):
            key = (0, 1) if len(key) > 1 and view.ndim > 1 else key[:1]
            arrays = tuple(places(rng, "l", view.shape[k], 12) for k in key)
            whole = arrays if key != (-1,) else (..., *arrays)
            check(a, whole, values(rng, dtype, view[whole].shape), CUTS[cut])
            check(a.T, numpy.arange(8)[::-1], values(rng, dtype, (1, 8)))


def test_wrong_places_write_nothing():
    rng = numpy.random.default_rng(6)
    for n in (3, 100, 5000):
        a, v = values(rng, "d", n), values(rng, "d", n)
        for dtype in ("l", "i", "b"):
            for at in {0, n // 2, n - 1}:
                for bad in {n, -n - 1, 127, -128}:
                    i = places(rng, dtype, min(n, 100), n)
                    i[at] = bad if dtype != "b" else max(min(bad, 127), -128)
                    check(a, i, v)
        i = places(rng, "l", n, n)
        i[0] = 2**63 - 1
        check(a, i, v)
        i[-1] = -(2**63)
        check(a, i, v)
    b = values(rng, "d", (4, 5))
    for i, j in (([0, 4], [0, 0]), ([0, 1], [5, 0]), ([9, 9], [9, 9]), ([0, 1, 2], [0, 1])):
        check(b, (numpy.array(i), numpy.array(j)), 1.0)
    check(b, (numpy.array([], int), numpy.array([7])), 1.0)
    check(b, (numpy.array([0]), numpy.array([0]), numpy.array([0])), 1.0)
    check(numpy.zeros((0, 3)), numpy.array([0]), 1.0)
    check(numpy.zeros((3, 0)), numpy.array([3]), 1.0)
    check(numpy.array(1.0), numpy.array([0]), 1.0)


@pytest.mark.parametrize("n", (6, 500))
def test_operands_that_share_memory(n):
    for k in range(8):
        for module in (numpy, np):
            a = module.arange(n) * 1 if k < 4 else module.arange(n) * 1.0
            i = module.arange(n) % (n // 2)
            if k == 0:
                a[i] = a[::-1]
            elif k == 1:
                a[a] = a[::-1]
            elif k == 2:
                a[a[::-1]] = 7
            elif k == 3:
                a[1:][i[:-1]] = a[:-1]
            elif k == 4:
                a[i] = a
            elif k == 5:
                a.reshape(2, -1)[i[:2]] = a.reshape(2, -1)[::-1]
            elif k == 6:
                a[::2][i[: n // 2] // 2] = a[::-2]
            else:
                a[i] += a
            if module is numpy:
                theirs = a
        assert bits(a) == bits(theirs), k


def test_what_may_not_be_written():
    for module in (numpy, np):
        a, i = module.zeros(400), module.arange(400)
        for b in (module.broadcast_to(module.zeros(1), 400), module.broadcast_to(module.zeros((1, 4)), (400, 4))):
            with pytest.raises(ValueError, match="read-only"):
                b[i] = 1
        a.flags.writeable = False
        with pytest.raises(ValueError, match="read-only"):
            a[i] = 1
        with pytest.raises(ValueError, match="read-only"):
            a[:][i] = 1


def test_snapshots_and_views_keep_what_they_are():
    for n in (10, 3000, 100_000):
        a, i = np.zeros(n), np.arange(0, n, 2)
        shown, view, before = numpy.asarray(a), a[1:], a + 0
        a[i] = 1
        assert shown.sum() == 0 and float(before.sum()) == 0 and float(view.sum()) == len(range(0, n, 2)) - 1
        later = a * 2
        a[i] = 5
        assert float(later.sum()) == 2 * len(range(0, n, 2))
        with braze.device("cpu"):
            b = a + 1
            b[i] = a[i] * 2
            assert float(b[0]) == 10 and float(b[1]) == 1


@pytest.mark.parametrize("shape", [(3000,), (700, 3), (3, 700), (40, 5, 60)])
def test_many_places_in_every_axis(shape):
    rng = numpy.random.default_rng(7)
    a = values(rng, "f", shape)
    for axis in range(len(shape)):
        i = places(rng, "i", shape[axis], 1500)
        key = (*[slice(None)] * axis, i)
        check(a, key, values(rng, "f", a[key].shape))
        check(a, key, values(rng, "f", a[key].shape)[..., :1])
        check(a, key, 2)


def test_writes_are_this_process_own():
    a, i, v = np.zeros(5000), np.arange(5000), np.ones(5000)
    before = braze.fallbacks().get("setitem", 0)
    a[i] = v
    a.reshape(50, 100)[i[:100] % 50, 3] = v[:100]
    a.reshape(50, 100)[:, i[:100]] = 2
    assert braze.fallbacks().get("setitem", 0) == before
    assert float(a.sum()) == 10_000


def counted(*args, pending=(False, False), **kwargs):
    ours = [mine(x, p) for x, p in itertools.zip_longest(args, pending[: len(args)], fillvalue=False)]
    expected, got = [], []
    said = outcome(lambda: expected.append(numpy.bincount(*args, **kwargs)))
    assert outcome(lambda: got.append(np.bincount(*ours, **kwargs))) == said, (args, kwargs)
    assert [bits(x) for x in got] == [bits(x) for x in expected], (args, kwargs)


@pytest.mark.parametrize("dtype", ["?", *PLACES])
@pytest.mark.parametrize("n", (0, 1, 5, 700, 20_000))
def test_bincount(dtype, n):
    rng = numpy.random.default_rng(n)
    for most in (1, 2, 100, 1000, 30_000):
        x = rng.integers(0, min(most, 2 if dtype == "?" else numpy.iinfo(dtype).max), n).astype(dtype)
        for pending in itertools.product((False, True), repeat=2):
            counted(x, pending=pending)
            counted(x[::-2], rng.standard_normal(x[::-2].shape), pending=pending)
            counted(x, rng.standard_normal(2 * n)[::2], pending=pending, minlength=most)
        counted(x, minlength=7)
        counted(x, None, 0)
        counted(x.repeat(3)[::3], values(rng, "f", n), 3000)


@pytest.mark.parametrize("dtype", ("b", "H", "l"))
@pytest.mark.parametrize("n", (513, 9000, 40_000))
def test_larger_numbers_that_come_late(dtype, n):
    """Beyond the bins that there are, and beyond the room that the table has for more."""
    x = (numpy.arange(n) % 50).astype(dtype)
    w = numpy.random.default_rng(5).standard_normal(n)
    for large in (50, 120) if dtype == "b" else (60, 1023, 1024, 1025, 50_000):
        for at in (0, 1, 510, 511, 512, n // 2, n - 4, n - 1):
            y = x.copy()
            y[at] = large
            y[at // 2] = large - 1
            for z in (y, y.repeat(2)[::2], y[::-1]):
                counted(z)
                counted(z, w)
                counted(z, w, minlength=large + 7)
            if dtype != "H":
                y[n - 1] = -1
                counted(y)
                counted(y, w)
    rising = numpy.sort(numpy.random.default_rng(6).integers(0, 2 * n, n))
    for z in (rising, rising[::-1], rising[::-1].copy()):
        counted(z)
        counted(z, w)


@pytest.mark.parametrize("n", (40, 700, 50_000))
def test_places_that_lie_in_every_way(n):
    """Where they are read as they lie, and where not: one of them below 0, others between, columns of places."""
    rng = numpy.random.default_rng(n)
    a, v = values(rng, "d", (n, 3)), values(rng, "d", n)
    i = rng.integers(0, n, n)
    apart = numpy.zeros((n, 2), "l")
    apart[:, 1] = i
    odd = numpy.zeros(8 * n + 1, "b")[1:].view("l")
    odd[:] = i
    wrong = i.copy()
    wrong[n - 1] = -n
    for k in (i, i[::-1], apart[:, 1], odd, wrong, i.astype("L"), i.astype("i"), i.reshape(-1, 10), i.reshape(10, -1).T):
        w = v.reshape(k.shape)
        for cut in (numpy.s_[:, 1], numpy.s_[::-1, 2], numpy.s_[:, 0]):
            check(a, k, w, cut)
            check(a, k, 2.5, cut)
            check(a, k, w, cut, at("add"))
        check(v, k, w)
        check(v, k, w, write=at("add"))
        check(a, k[:100], a[: k[:100].size].reshape(*k[:100].shape, 3))


@pytest.mark.parametrize("dtype", TYPES)
def test_weights_of_every_type(dtype):
    rng = numpy.random.default_rng(8)
    for n in (0, 9, 900):
        counted(rng.integers(0, 40, n), values(rng, dtype, n))
        counted(rng.integers(0, 40, n), values(rng, dtype, n + 1))


def test_wrong_counts():
    x = numpy.arange(5)
    for args in ((x - 1,), (x * 1.0,), (x.reshape(5, 1),), (numpy.array(3),), (x, x[:4]), (x, x.reshape(1, 5)), (x.astype("L"),), (x, None, -1),
                 (x, x, "a"), (x, x, 2.5), (x.astype("D"),), (x, x * 1j), (numpy.array([1, -(2**63)]),), (x, [1, 2, 3, 4, 5]), (x, 3.0)):
        counted(*args)
    counted(x, weights=x)
    counted(x, weights=None, minlength=numpy.int64(9))
    before = braze.fallbacks().get("bincount", 0)
    assert np.bincount(np.arange(5000) % 7, np.ones(5000)).tolist() == numpy.bincount(numpy.arange(5000) % 7).tolist()
    assert braze.fallbacks().get("bincount", 0) == before


def test_sums_are_made_in_order():
    x = numpy.array([0, 1, 0, 1, 0] * 1000)
    w = numpy.array([1e16, 1.0, 1.0, 1e16, -1e16] * 1000)
    counted(x, w)
    counted(x[::-1], w)


AT = "add subtract multiply maximum minimum fmax fmin bitwise_and bitwise_or bitwise_xor".split()


def at(name):
    """The write by a function's method at(), of the module whose arrays it gets."""

    def write(target, key, value):
        module = numpy if isinstance(target, numpy.ndarray) and type(target) is numpy.ndarray else np
        assert getattr(module, name).at(target, key, value) is None

    return write


@pytest.mark.parametrize("name", AT)
@pytest.mark.parametrize("dtype", TYPES)
def test_at(name, dtype):
    rng = numpy.random.default_rng(9)
    for n, count in ((5, 9), (300, 2000)):
        a, i = values(rng, dtype, n), places(rng, "l", n, count)
        if numpy.dtype(dtype).kind in "fc":
            a.flat[::3] = [numpy.nan, -0.0, 0.0, numpy.inf, -numpy.inf][n % 5]
        v = values(rng, dtype, count)
        if numpy.dtype(dtype).kind in "fc":
            v[::4] = numpy.nan
            v[1::5] = numpy.copysign(0.0, v[1::5].real)
        check(a, i, v, write=at(name))
        check(a, i, v[:1], write=at(name))
        check(a, i, values(rng, dtype, ()), write=at(name))


@pytest.mark.parametrize("name", ("add", "maximum", "bitwise_or"))
@pytest.mark.parametrize("to", TYPES)
def test_types_of_what_is_added(name, to):
    rng = numpy.random.default_rng(10)
    for of in TYPES:
        for n in (4, 300):
            check(values(rng, to, n), places(rng, "l", n, n), values(rng, of, n), write=at(name))
    for v in NUMBERS:
        check(values(rng, to, 9), places(rng, "l", 9, 20), v, write=at(name))


@pytest.mark.parametrize("number", range(len(keys(numpy.random.default_rng(0)))))
def test_keys_of_what_is_added(number):
    rng = numpy.random.default_rng(11)
    key = keys(rng)[number]
    for name, dtype in (("add", "d"), ("multiply", "H")):
        a = values(rng, dtype, (5, 6, 7))
        shape = a[key].shape
        for given in (shape, shape[1:], shape[-1:], (1,), (2, 3, 9)):
            check(a, key, values(rng, dtype, given), write=at(name))
        check(a, key, values(rng, dtype, shape[::-1]).T, write=at(name))


def test_terms_are_added_in_order():
    v = numpy.array([1e16, 1.0, -1e16, 1.0, 1e16, -1.0, 3.0, -1e16])
    i = numpy.array([0, 0, 0, 0, 1, 0, 1, 1])
    for n in (1, 200):
        check(numpy.ones(3), numpy.tile(i, n), numpy.tile(v, n), write=at("add"))
        check(numpy.ones(3), numpy.tile(i, n).reshape(-1, 4), numpy.tile(v, n).reshape(-1, 4), write=at("subtract"))
        check(numpy.ones((3, 2)), (numpy.tile(i, n), 1), numpy.tile(v, n), write=at("multiply"))
    check(numpy.ones(2), i.reshape(2, 4).T % 2, v.reshape(4, 2), write=at("add"))
    check(numpy.ones((2, 2)), (i[:4, None] % 2, i[None, 4:] % 2), numpy.asfortranarray(v[:4, None] * v[None, 4:]), write=at("add"))


def test_what_at_refuses():
    a, i = numpy.zeros(5), numpy.arange(5)
    for key, v in ((i + 1, 1.0), (i, "x"), (i, numpy.zeros(4)), (i, 1j), ((i, i), 1.0), (i * 1.0, 1.0), (i, None)):
        check(a, key, v, write=at("add"))
    b = np.zeros(5)
    b.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):  # which NumPy writes
        np.add.at(b, np.arange(5), 1.0)
    before = braze.fallbacks().get("add.at", 0)
    b = np.zeros(5000)
    np.add.at(b, np.arange(5000) % 50, np.ones(5000))
    assert b.tolist() == [100.0] * 50 + [0.0] * 4950
    assert braze.fallbacks().get("add.at", 0) == before


def test_at_of_what_shares_memory():
    for module in (numpy, np):
        a, i = module.arange(300) * 1.0, module.arange(300) % 7
        module.add.at(a, i, a)
        module.add.at(a[1:], i[:-1], a[:-1])
        module.multiply.at(a, i, a[::-1] / 300)
        b = module.arange(300) % 300
        module.add.at(b, b, b)
        if module is numpy:
            theirs = a, b
    assert bits(a) == bits(theirs[0]) and bits(b) == bits(theirs[1])


def test_errors_of_floating_point_are_told():
    big, inf, nan = 1.7e308, numpy.inf, numpy.nan
    for name, x, y in (("add", big, big), ("add", inf, -inf), ("subtract", -big, big), ("multiply", inf, 0.0), ("maximum", nan, 1.0), ("add", nan, 1.0),
                       ("minimum", 1.0, nan), ("fmax", nan, 1.0), ("multiply", 1e-300, 1e-300), ("add", 1.0, 2.0), ("fmin", 2.0, nan)):
        for dtype in ("d", "D") if name in ("add", "subtract", "multiply") else ("d",):
            said = []
            for module in (numpy, np):
                with warnings.catch_warnings(record=True) as told:
                    warnings.simplefilter("always")
                    a = module.array([x, 1.0], dtype)
                    getattr(module, name).at(a, module.array([0, 1]), module.array([y, 1.0], dtype))
                said.append([str(w.message) for w in told])
                assert all(w.filename == __file__ for w in told)
            assert said[0] == said[1], (name, x, y)
    a, both = np.zeros(2), np.array([big, inf])
    np.add.at(a, np.arange(2), both)
    with pytest.warns(RuntimeWarning) as told:
        np.add.at(a, np.arange(2), both * [1, -1])
    assert sorted(str(w.message) for w in told) == ["invalid value encountered in add", "overflow encountered in add"]
    for module in (numpy, np):
        a, i = module.array([1e308, 1.0]), module.array([0, 0])
        with module.errstate(over="raise"), pytest.raises(FloatingPointError):
            module.add.at(a, i, module.array([1e308, 1e308]))


def binned(a, *args, **kwargs):
    for pending in (False, True):
        expected, got = [], []
        said = outcome(lambda: expected.extend(numpy.histogram(a, *args, **kwargs)))
        ours = [mine(x, pending) for x in args]  # noqa: B023
        assert outcome(lambda: got.extend(np.histogram(mine(a, pending), *ours, **kwargs))) == said, (args, kwargs)  # noqa: B023
        assert [bits(x) for x in got] == [bits(x) for x in expected], (args, kwargs)


@pytest.mark.parametrize("dtype", ["?", *PLACES, "e", "f", "d", "D"])
def test_histogram(dtype):
    rng = numpy.random.default_rng(12)
    for n in (0, 1, 2, 5, 700, 70_000):
        a = rng.normal(50, 20, n).clip(0, 120).astype(dtype) if dtype != "d" else rng.standard_normal(n)
        binned(a)
        binned(a, 7)
        binned(a, bins=300, range=(-1, 1))
        binned(a, 10, (0.25, 77))
        binned(a, 3, (5, 5))
        binned(a, 5, None, weights=a)
        binned(a, 5, None, True)
        binned(a[::2], 4)
        binned(a.reshape(-1, 1), 4)
        binned(a, [0, 1, 2.5, 90])
        binned(a, (-3, 0, 0, 1, 7, 7))
        binned(a, numpy.array([-1.0, 0.0, 1.0, numpy.inf]))
        binned(a, numpy.arange(0, 100, 10))
        binned(a, "auto")
        binned(a, [0, 10, 20], (0, 15))


def test_histograms_at_the_edges_of_bins():
    rng = numpy.random.default_rng(13)
    for bins in (1, 3, 10, 49, 1000):
        edges = numpy.linspace(-0.7, 1.3, bins + 1)
        near = numpy.concatenate([edges, numpy.nextafter(edges, 9), numpy.nextafter(edges, -9), [numpy.nan, numpy.inf, -numpy.inf]])
        x = rng.permutation(numpy.tile(near, 9))
        binned(x, bins, (-0.7, 1.3))
        binned(x, edges)
        binned(x[numpy.isfinite(x)], bins)
        binned(x, edges.tolist())


def test_wrong_histograms():
    x, i = numpy.array([1.0, 2.0, 4.0]), numpy.array([1, 2, 4])
    for a in (x, i, numpy.array([1.0, numpy.nan]), numpy.array([numpy.inf]), numpy.array([2**62, 1]), numpy.array([1e308, -1e308])):
        for bins in (3, 0, -1, 2.5, "x", [3, 2, 1], [1], [], [[1, 2]], [1, numpy.nan, 2], None, True, numpy.int64(3)):
            for limits in (None, (1, 3), (3, 1), (1.0, numpy.inf), (1,), [1, 3], (True, 2), ("a", "b")):
                binned(a, bins, limits)
    before = braze.fallbacks().get("histogram", 0)
    assert np.histogram(np.arange(100.0), 4)[0].tolist() == [25] * 4
    assert braze.fallbacks().get("histogram", 0) == before


def put(target, key, value):
    target.put(key, value)


def put_function(target, key, value):
    module = numpy if type(target) is numpy.ndarray else np
    assert module.put(target, key, value) is None


@pytest.mark.parametrize("dtype", TYPES)
def test_put(dtype):
    rng = numpy.random.default_rng(14)
    for shape in ((7,), (300,), (20, 30)):
        a = values(rng, dtype, shape)
        i = places(rng, "l", a.size, (5, 20))
        for v in (values(rng, dtype, (5, 20)), values(rng, dtype, 100), values(rng, dtype, (20, 5)).T, values(rng, dtype, 3), values(rng, dtype, 1), 7, 0.5,
                  values(rng, "b", 100), values(rng, "d", 100), values(rng, dtype, 200), values(rng, dtype, 0)):
            check(a, i, v, write=put)
        check(a, i.astype("i4").T, values(rng, dtype, 100), write=put_function)
        check(a.T, i, values(rng, dtype, 100), write=put_function)
        check(a, i + a.size, values(rng, dtype, 100), write=put_function)
        check(a, i[:0], values(rng, dtype, 100), write=put_function)
        check(a, 3, 1, write=put_function)
        check(a, [1, 2, 2], [1, 0, 1], write=put_function)
    for module in (numpy, np):
        b = module.arange(50.0)
        module.put(b, module.arange(99), 7, mode="wrap")
        module.put(b, module.arange(99), 8, "clip")
        module.put(b, ind=module.arange(5), v=module.arange(5.0))
        module.put(b, module.arange(50), b[::-1])
        module.put(b[::2], module.arange(5), b[:5])
        if module is numpy:
            theirs = b
    assert bits(b) == bits(theirs)
    with pytest.raises(ValueError, match="read-only"):
        np.put(np.broadcast_to(np.ones(1), 9), np.arange(3), 1.0)
    before = braze.fallbacks().get("put", 0)
    np.put(b, np.arange(9), 1.0)
    assert braze.fallbacks().get("put", 0) == before


@pytest.mark.parametrize("axis", (0, 1, 2, -1, None, 3))
def test_put_along_axis(axis):
    rng = numpy.random.default_rng(15)
    a = values(rng, "d", (4, 50, 6))

    def write(target, key, value):
        module = numpy if type(target) is numpy.ndarray else np
        assert module.put_along_axis(target, key, value, axis) is None

    for shape in ((4, 50, 6), (3, 50, 6), (4, 9, 6), (4, 50, 2), (1, 50, 1), (4, 50), (4, 5, 5), (60,)):
        i = places(rng, "l", 4, shape)
        for v in (values(rng, "d", shape), 1.0, values(rng, "l", shape[-1:]), values(rng, "F", shape)):
            check(a, i, v, write=write)
        check(a, i * 40, 2.0, write=write)
        check(a, i * 1.0, 2.0, write=write)
