# SPDX-License-Identifier: Apache-2.0
"""Short calls that C answers by itself, with arguments of every kind, against NumPy."""

import inspect
import itertools
import warnings

import numpy
import pytest
from near_mode import near_count, near_on

import braze
import braze.numpy as np


@pytest.fixture(autouse=True, scope="module")
def near():
    with near_on():
        yield


def answer(call, module):
    """What the call gives, as bits; or how it fails."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = call(module)
            if made is None:
                return None
            assert module is numpy or type(made) is np.ndarray
            made = numpy.asarray(made)
        return made.dtype, made.shape, made.tobytes()
    except (IndexError, TypeError, ValueError) as error:
        return type(error), str(error).split(" (")[0]


def check(call, *told):
    theirs, ours = answer(call, numpy), answer(call, np)
    assert ours == theirs, told


def counted(call):
    """Operations of braze's own that a call made here."""
    before = near_count()
    call()
    return near_count() - before


SHAPES = ((1,), (5,), (3, 4), (2, 3, 4), (0,), (3, 0), (0, 3))
LAYOUTS = {"as it is": lambda a: a, "from the end": lambda a: a[::-1], "transposed": lambda a: a.T,
           "every second": lambda a: a[..., ::2]}
PLACES = ([0], [1, 0, -1], [], 2, [True, False], [5], [-9], [[0, 1], [1, 0]], numpy.array(1), numpy.array([0, -1]),
          numpy.array([[0, 1], [1, -1]]), numpy.array([0, 1], "i4"), numpy.array([0.0]), numpy.array([], int),
          numpy.array([0, 9]), numpy.arange(2000) % 2, -(numpy.arange(2000) % 2), numpy.arange(40_000) % 2)
AXES = ({}, {"axis": None}, {"axis": 0}, {"axis": -1}, {"axis": 1}, {"axis": 7}, {"mode": "wrap"}, {"mode": "clip", "axis": 0})


def of(module, x):
    return module.array(x) if isinstance(x, numpy.ndarray) else x


@pytest.mark.parametrize("dtype", ("f8", "?", "c16", "f2", "i4"))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_take(dtype, layout):
    lay = LAYOUTS[layout]
    for shape, places, axes in itertools.product(SHAPES, PLACES, AXES):
        a = numpy.arange(numpy.prod(shape)).reshape(shape).astype(dtype)
        check(lambda m, a=a, places=places, axes=axes: lay(m.array(a)).take(of(m, places), **axes), shape, places, axes)


def test_take_is_a_call_of_c():
    a, i = np.array(numpy.arange(6.0).reshape(2, 3)), np.array([1, 0])
    assert counted(lambda: (a.take(i), np.take(a, i, axis=1), np.take(a, [0, -1]), a[i], a[[1, 0]])) == 5
    out = np.empty(2)
    assert a.take(i, out=out) is out and numpy.array_equal(numpy.asarray(out), (1, 0))


@pytest.mark.parametrize("dtype", ("f8", "i8", "f4", "?", "c16"))
def test_writes_at_places(dtype):
    for n, places, value in itertools.product((0, 1, 5, 3000), PLACES, (0.5, 1, True, None, "self", "places")):
        a = (numpy.arange(n) % 7).astype(dtype)

        def call(m, a=a, places=places, value=value):
            c, i = m.array(a), of(m, places)
            count = numpy.asarray(places).size
            if value == "places":
                c[i] = i
            elif value == "self":
                c[i] = c[:count]
            else:
                c[i] = m.array(numpy.arange(count).astype(dtype)) if value is None else value
            return c

        check(call, n, places, value)


def test_values_that_lie_where_they_are_written():
    def call(m):
        c = m.array([2, 0, 1, 5])
        view = c[1:]
        view[m.array([1, 0])] = c[:2]
        c[[3, 2, 1, 0]] = c
        return c

    check(call)
    c = np.array([2, 0, 1])
    c[c] = np.array([5, 6, 7])  # NumPy reads places that it has just written
    assert numpy.asarray(c).tolist() == [6, 7, 5]


ENDS = ((0, 1), (0.0, 1.0), (-3, 7), (5, 5), (1e-320, 3e-320), (0, 5e-324), (1e308, -1e308), (2**60, 5), (float("nan"), 1),
        (1, float("inf")), (True, 3), (-0.0, 0.0), (0.1, -0.3), (10, -10))
WAYS = ({}, {"endpoint": False}, {"dtype": float}, {"dtype": int}, {"dtype": "f4"}, {"axis": 0}, {"axis": -1}, {"axis": 3},
        {"endpoint": False, "dtype": None})


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_linspace(way):
    for ends, n in itertools.product(ENDS, (0, 1, 2, 3, 50, 101, 2049, 32_768, 40_000, -1)):
        check(lambda m, ends=ends, n=n: m.linspace(*ends, n, **way), ends, n)


def test_linspace_of_other_arguments():
    check(lambda m: m.linspace(0, 1))
    check(lambda m: m.linspace(stop=2, start=1, num=numpy.int64(4)))
    check(lambda m: m.linspace(m.array([0.0, 1.0]), 2, 3))
    check(lambda m: m.linspace(0, 1, 2.5))
    check(lambda m: m.linspace(0, 1j, 3))
    check(lambda m: m.linspace(0))
    for n in (1, 5):
        theirs, ours = numpy.linspace(0, 3, n, retstep=True), np.linspace(0, 3, n, retstep=True)
        assert numpy.array_equal(numpy.asarray(ours[0]), theirs[0])
        assert numpy.array_equal(ours[1], theirs[1], equal_nan=True)
    assert counted(lambda: np.linspace(0, 1, 7)) == 1


def test_ranges():
    for n in (*range(20), 255, 1000, 10_001, 70_000):
        for start, step in ((0, 1), (5, -3), (-(2**62), 2**40), (0.0, 1.0), (0.1, 0.3), (1e16, 1.5), (-0.0, -2.5), (-0.0, 2.5), (1e-310, 1e-311)):
            # The end lies between two values, so rounding does not choose how many there are.
            check(lambda m, a=start, b=step, n=n: m.arange(a, a + (n - 0.5) * b if isinstance(b, float) else a + n * b, b), start, step, n)
    check(lambda m: m.arange(3.0, 4.0))
    check(lambda m: m.arange(7, dtype="i4"))


def test_what_is_an_array_stays_it():
    a = np.arange(3.0)
    assert np.asarray(a) is a and np.asarray(a, float) is a and np.asarray(a, "f4") is not a
    assert type(np.asarray(a[0])) is np.ndarray and np.asarray(a[0]).shape == ()
    assert np.asarray(a[:0]).shape == (0,)
    for dtype in ("?", "i4", "u8", "f2", "f8", "c8", "c16"):
        check(lambda m, dtype=dtype: m.zeros((2, 3), dtype))
        check(lambda m, dtype=dtype: m.ones(4, dtype))


def generators(m, seed):
    return m.random.default_rng(seed), m.random.RandomState(seed)


@pytest.mark.parametrize("axes", ({}, {"axis": 0}, {"axis": 1}, {"axis": -1}, {"axis": 5}), ids=str)
def test_shuffle(axes):
    makes = (lambda m, n: m.array(numpy.arange(n) * 1.5), lambda m, n: m.array(numpy.arange(n * 3).reshape(n, 3)),
             lambda m, n: m.array(numpy.arange(n * 2))[::-2], lambda m, n: m.array(numpy.arange(n * 3).reshape(n, 3)).T)
    for n, make, old in itertools.product((0, 1, 2, 5, 1000), makes, (False, True)):

        def call(m, n=n, make=make, old=old):
            g, a = generators(m, 7)[old], make(m, n)
            assert (g.shuffle(a) if old else g.shuffle(a, **axes)) is None
            b = a.copy()
            g.shuffle(x=b)
            return m.concatenate([a.ravel(), b.ravel(), m.array([g.uniform()])])

        check(call, n, old)


def test_shuffle_of_what_is_no_array_of_ours():
    for old in (False, True):
        def call(m, old=old):
            g = generators(m, 3)[old]
            listed, theirs = list(range(9)), numpy.arange(9)
            g.shuffle(listed)
            g.shuffle(theirs)
            return m.array([*listed, *theirs])

        check(call)
    frozen = np.broadcast_to(np.array([1.0, 2.0]), (3, 2))
    with pytest.raises(ValueError, match="read-only"):
        np.random.default_rng(0).shuffle(frozen)


def test_a_shuffled_view_and_snapshots():
    a = np.array(numpy.arange(12.0))
    before, view = numpy.asarray(a), a[2:10]
    np.random.default_rng(1).shuffle(view)
    theirs = numpy.arange(12.0)
    numpy.random.default_rng(1).shuffle(theirs[2:10])
    assert numpy.array_equal(numpy.asarray(a), theirs)
    assert numpy.array_equal(before, numpy.arange(12.0))


@pytest.mark.parametrize("dtype", ("f8", "f4", "f2", "i8", "i2", "?", "c16"))
def test_sorts_in_place(dtype):
    rng = numpy.random.default_rng(5)
    for shape, layout in itertools.product(((0,), (1,), (2,), (700,), (5000,), (3, 40), (1, 9), (9, 1), (4, 3, 2)), LAYOUTS.values()):
        x = rng.integers(-3, 4, shape).astype(dtype)
        if dtype in ("f8", "f4", "f2", "c16"):
            x[rng.random(shape) < 0.1] = numpy.nan
            x[rng.random(shape) < 0.1] = -0.0
        for axis in range(-len(shape), len(shape) + 1):

            def call(m, x=x, axis=axis, layout=layout):
                a = m.array(x)
                before = m.array(a, copy=True)
                # Of equals, zeros and NaNs, NumPy keeps the order only if it is asked to.
                layout(a).sort(axis=axis, **({"kind": "stable"} if m is numpy else {}))
                return m.concatenate([a.ravel(), before.ravel()])

            check(call, shape, axis)


def test_a_sort_in_place_is_seen_by_views_and_not_by_snapshots():
    a = np.array([3.0, 1.0, 2.0, 0.0])
    view, before = a[:2], numpy.asarray(a)
    assert counted(a[1:].sort) == 1
    assert numpy.asarray(view).tolist() == [3.0, 0.0] and before.tolist() == [3.0, 1.0, 2.0, 0.0]
    with pytest.raises(ValueError):
        np.broadcast_to(a, (2, 4)).sort()


@pytest.mark.parametrize("dtype", ("f8", "f4", "i8", "i4", "?", "u1", "f2", "c16"))
@pytest.mark.parametrize("name", ("argmin", "argmax"))
def test_places_of_extremes(name, dtype):
    rng = numpy.random.default_rng(9)
    for n in (1, 2, 7, 8, 9, 64, 383, 384, 385, 1024, 1025, 3000):
        for k in range(6):
            x = rng.integers(0, (2, 5, 100)[k % 3], n).astype(dtype)
            if k > 2 and x.dtype.kind in "fc":
                x[rng.integers(0, n)] = (numpy.nan, numpy.inf, -0.0)[k - 3]
            for cut in (slice(None), slice(n // 3, None), slice(None, None, -1)):
                check(lambda m, x=x, cut=cut: m.asarray(getattr(m.array(x)[cut], name)()), n, cut)
                check(lambda m, x=x, cut=cut: getattr(m.array(x)[cut], name)(keepdims=True), n, cut)
    odd = numpy.zeros(40, "u1")
    odd[17] = 2  # a truth that is no 1
    assert getattr(np.asarray(odd.view("?")), name)() == getattr(odd.view("?"), name)()


# ---- errstate ----

WISHES = ({}, {"all": "ignore"}, {"divide": "ignore"}, {"all": None}, {"over": "warn", "invalid": "raise"}, {"call": None},
          {"call": print, "divide": "call"}, {"all": "raise", "under": "ignore"})


def states(m, wishes):
    """What is seen inside and behind, nested and again."""
    seen = [m.geterr(), m.geterrcall()]
    with m.errstate(**wishes):
        seen += [dict(m.geterr()), m.geterrcall()]
        with m.errstate(divide="print"):
            seen.append(dict(m.geterr()))
        with m.errstate(**wishes):
            seen.append(dict(m.geterr()))
    return [*seen, m.geterr()]


@pytest.mark.parametrize("wishes", WISHES, ids=str)
def test_states_of_errors(wishes):
    for _ in range(3):
        assert states(np, wishes) == states(numpy, wishes)
    assert numpy.geterr() == numpy.geterr()


def test_wrong_states_of_errors():
    for wishes in ({"divide": "loud"}, {"all": 3}, {"sideways": "ignore"}):
        errors = []
        for m in (numpy, np):
            with pytest.raises((ValueError, TypeError, KeyError)) as error, m.errstate(**wishes):
                pass
            errors.append(error.type)
            assert m.geterr() == numpy.geterr()
        assert errors[0] == errors[1]
    with pytest.raises(TypeError):
        np.errstate("ignore")


def test_a_state_of_errors_is_entered_once():
    for m in (numpy, np):
        for wishes in ({"divide": "ignore"}, {"call": None}):
            state = m.errstate(**wishes)
            with state, pytest.raises(TypeError, match="twice"), state:
                pass
            with pytest.raises(TypeError, match="twice"):
                state.__enter__()
            with pytest.raises(TypeError):
                m.errstate(**wishes).__exit__(None, None, None)


def test_states_of_errors_are_remembered_within_bounds():
    kept = []
    for k in range(600):  # each with a state of NumPy's of its own before it
        numpy.seterrcall(lambda *_, k=k: k)
        with np.errstate(divide="ignore"):
            kept.append(np.geterrcall())
            assert np.geterr()["divide"] == "ignore"
    numpy.seterrcall(None)
    assert [f() for f in kept] == list(range(600))


def test_a_class_of_errors_inside():
    class Mine(np.errstate):
        __slots__ = ()

    with Mine(divide="ignore"):
        assert numpy.geterr()["divide"] == "ignore"
    assert issubclass(np.errstate, numpy.errstate) and isinstance(Mine(), numpy.errstate)
    assert isinstance(Mine(), np.errstate) and np.errstate.__module__ == "braze.numpy"
    assert list(inspect.signature(np.errstate).parameters) == ["wishes"]
    assert isinstance(np.nditer(numpy.arange(3)), np.nditer)
    a = np.array([1.0, 0.0])
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        numpy.asarray(1.0 / a)
    assert not braze._core.is_watching()
    with np.errstate(divide="ignore"):
        assert numpy.asarray(1.0 / a)[1] == numpy.inf
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        assert numpy.asarray(1.0 / a)[1] == numpy.inf
