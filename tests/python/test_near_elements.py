# SPDX-License-Identifier: Apache-2.0
"""Single elements, lists of places and functions of numbers, where all is at hand."""

import itertools
import operator
import warnings

import braze
import braze.numpy as np
import numpy
import pytest
from near_mode import near_on


@pytest.fixture(autouse=True, scope="module")
def session():
    with near_on():
        float(np.ones(1)[0])
        yield


def said_of(function):
    """What it gives, or its error, and the warnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            answer = function()
        except Exception as error:
            answer = type(error).__name__, str(error)
    return answer, sorted(str(w.message) for w in told)


# ---- Functions of numbers ----

ONE = ("sign square sqrt cbrt reciprocal exp expm1 exp2 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh "
       "arccosh arctanh floor ceil trunc rint negative absolute isnan isinf isfinite signbit").split()
TWO = ("add subtract multiply divide floor_divide remainder fmod power arctan2 hypot copysign nextafter heaviside logaddexp minimum "
       "maximum fmin fmax equal not_equal less less_equal greater greater_equal").split()
RNG = numpy.random.default_rng(5)
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-300, 5e-324, 1e308, 700.0, -750.0, 1e22, numpy.inf, -numpy.inf, numpy.nan, 3e-39]
MANY = [*SPECIAL, *RNG.normal(0, 2, 60), *RNG.random(40), *(10.0 ** RNG.uniform(-30, 30, 20))]


def is_plain(value):
    """Nothing that NumPy might report: then the bits are those of arrays."""
    value = numpy.asarray(value)
    if value.dtype == bool:
        return True
    return bool(numpy.isfinite(value)) and abs(value) >= numpy.finfo(value.dtype).tiny


def check(name, values, numbers):
    """np.NAME of numbers, beside an array's element and NumPy's scalar."""
    arrays = [np.array([v]) for v in values]
    mine, told = said_of(lambda: getattr(np, name)(*numbers))
    theirs, warned = said_of(lambda: getattr(numpy, name)(*values))
    assert told == warned, (name, values)
    if isinstance(theirs, tuple):
        assert mine == theirs
        return 0
    assert mine.dtype == theirs.dtype and type(mine) is np.ndarray and mine.shape == (), (name, values)
    with numpy.errstate(all="ignore"), np.errstate(all="ignore"):
        array = numpy.asarray(getattr(np, name)(*arrays))[0]
    plain = is_plain(array) and all(map(numpy.isfinite, values))
    expect = array if plain else theirs
    assert numpy.asarray(mine).tobytes() == expect.tobytes(), (name, values, mine, expect)
    return plain


@pytest.mark.parametrize("dtype", [numpy.float64, numpy.float32])
@pytest.mark.parametrize("name", ONE)
def test_a_function_of_a_number_has_an_arrays_bits(name, dtype):
    plain = 0
    with numpy.errstate(over="ignore"):
        values = [dtype(v) for v in MANY]
    for v in values:
        plain += check(name, [v], [np.array([v])[0]])
        if dtype is numpy.float64:
            check(name, [v], [float(v)])
    assert plain > 20


@pytest.mark.parametrize("dtype", [numpy.float64, numpy.float32])
@pytest.mark.parametrize("name", TWO)
def test_a_function_of_two_numbers_has_an_arrays_bits(name, dtype):
    plain = 0
    with numpy.errstate(over="ignore"):
        pairs = [(dtype(v), dtype(w)) for v, w in [*itertools.product(SPECIAL, SPECIAL), *RNG.normal(0, 3, (80, 2))]]
    for v, w in pairs:
        plain += check(name, [v, w], [np.array([v])[0], np.array([w])[0]])
        if dtype is numpy.float64:
            check(name, [v, w], [np.array([v])[0], float(w)])
    assert plain > 20


@pytest.mark.parametrize("name", ONE)
def test_a_function_of_an_integer_is_that_of_its_type(name):
    for i in (1, 2, 3, 100, -7, 0, 2**53 + 1, 2**70):
        mine, told = said_of(lambda i=i: getattr(np, name)(i))
        theirs, warned = said_of(lambda i=i: getattr(numpy, name)(i))
        assert told == warned
        if isinstance(theirs, tuple) or not isinstance(theirs, numpy.generic):
            assert mine == theirs or i == 2**70
            continue
        assert mine.dtype == theirs.dtype
        assert numpy.isclose(numpy.asarray(mine), theirs, rtol=1e-14, equal_nan=True)
        if abs(i) < 2**60:
            assert said_of(lambda i=i: getattr(np, name)(np.array([i])[0]))[0].dtype == theirs.dtype


def test_numbers_of_two_types_meet_as_numpys():
    numbers = [lambda m: 2, lambda m: 2.5, lambda m: m.float64(1.5), lambda m: m.float32(1.5), lambda m: m.int64(3), lambda m: m.int8(3),
               lambda m: True, lambda m: m.bool_(True), lambda m: 1j, lambda m: 2**63, lambda m: m.float16(0.5)]
    for name in ("add", "divide", "arctan2", "hypot", "power", "maximum", "fmod", "less", "logaddexp", "bitwise_and", "left_shift"):
        for a, b in itertools.product(numbers, numbers):
            mine, _ = said_of(lambda a=a, b=b, f=getattr(np, name): f(a(np), b(np)))
            theirs, _ = said_of(lambda a=a, b=b, f=getattr(numpy, name): f(a(numpy), b(numpy)))
            if isinstance(theirs, tuple):
                assert isinstance(mine, tuple) and mine[0] == theirs[0], (name, mine, theirs)
            else:
                assert mine.dtype == theirs.dtype and numpy.isclose(numpy.asarray(mine), theirs, rtol=1e-6, equal_nan=True), (name, mine, theirs)


def test_watched_errors_are_told_as_ever():
    for f, v in (("log", -1.0), ("exp", 800.0), ("exp", -800.0), ("log", 0.0), ("tanh", 0.5)):
        for state in ("raise", "warn", "ignore"):
            def of(m, f=f, v=v, state=state):
                with m.errstate(all=state):
                    return getattr(m, f)(v)
            mine, theirs = said_of(lambda: of(np)), said_of(lambda: of(numpy))
            assert mine[1] == theirs[1]
            assert (mine[0][0] == theirs[0][0]) if isinstance(theirs[0], tuple) else numpy.array_equal(
                numpy.asarray(mine[0]), theirs[0], equal_nan=True)


# ---- Lists of places ----

SHAPES = [(7,), (7, 5), (5, 3, 2), (7, 0), (300, 40), (4, 3000)]
LISTS = [[0], [1, 3], [3, 1], [-1, 0], [2, 2, 2], [], [0, 1, 2, 3], [-4, 3]]


def pair(shape, dtype="f8"):
    data = numpy.array(numpy.random.default_rng(1).random(shape) * 100).astype(dtype)
    return np.array(data), data


def trips():
    return braze.counters()["round_trips"]


def same(mine, theirs):
    return mine.dtype == theirs.dtype and mine.shape == theirs.shape and numpy.asarray(mine).tobytes() == theirs.tobytes()


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "c16", "?", "u1", "f2"])
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_at_a_list_are_numpys(shape, dtype):
    mine, theirs = pair(shape, dtype)
    for key in LISTS:
        assert same(mine[key], theirs[key]), key
        mine[key][...] = 1  # a copy
    assert same(mine, theirs)
    for array, its in ((mine[::-1], theirs[::-1]), (mine[1:], theirs[1:]), (mine.T, theirs.T)):
        for key in ([0], [-1, 0], [1, 1]):
            a, b = said_of(lambda array=array, key=key: array[key])[0], said_of(lambda its=its, key=key: its[key])[0]
            assert isinstance(a, tuple) and a[0] == b[0] if isinstance(b, tuple) else same(a, b)


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_are_written_at_a_list_as_numpys(shape):
    mine, theirs = pair(shape)
    new, given = pair(shape)
    new += 1
    given += 1
    for key in LISTS:
        for a, v in ((mine, new), (theirs, given)):
            a[key] = v[key]
            a[key] = 2.5
            a[key] = a[key[::-1]]
            a[key] = v[0]
            a[key] += v[key]
        assert same(mine, theirs), key


def test_rows_change_places_by_lists_without_a_trip():
    mine, theirs = pair((8, 8))
    order, its = np.arange(8), numpy.arange(8)
    before = trips()
    for k in range(7):
        for a, o in ((mine, order), (theirs, its)):
            p = 7 - k
            a[[k, p]] = a[[p, k]]
            o[[k, p]] = o[[p, k]]
            a[[0, 2], 1] = a[[2, 0], 3]
            a[:, [0, 1]] = a[:, [1, 0]]
            o[[0, 1]] = [o[1], o[0]]
    read = mine[[0, 2], 1], mine[:, [0, 1]], order[[1, 2]], mine[[1, -1]]
    assert trips() == before
    assert same(mine, theirs) and same(order, its)
    for a, b in zip(read, (theirs[[0, 2], 1], theirs[:, [0, 1]], its[[1, 2]], theirs[[1, -1]]), strict=True):
        assert same(a, b)


def test_what_was_exported_keeps_its_rows():
    mine, theirs = pair((4, 3))
    shown = numpy.asarray(mine)
    view = mine[1:]
    mine[[0, 1]] = mine[[1, 0]]
    assert shown.tobytes() == theirs.tobytes()
    theirs[[0, 1]] = theirs[[1, 0]]
    assert same(mine, theirs) and same(view, theirs[1:])


WRONG = [[9], [-8], [0, 99], [True, False], [True] * 7, [1.0], ["a"], [None], [[0, 1], [2, 3]], [2**70], [-2**70], [0, -1, 2**63 - 1],
         ([0, 1], [0, 9]), ([0, 1, 2], [0, 1]), (slice(None), [9]), (slice(None), slice(None), [0])]


@pytest.mark.parametrize("key", WRONG, ids=str)
def test_other_lists_are_as_ever(key):
    for shape in ((7,), (7, 5)):
        mine, theirs = pair(shape)
        a, b = said_of(lambda: mine[key].tolist())[0], said_of(lambda: theirs[key].tolist())[0]
        assert a[0] == b[0] if isinstance(b, tuple) else a == b
        a, b = said_of(lambda: operator.setitem(mine, key, 1.0))[0], said_of(lambda: operator.setitem(theirs, key, 1.0))[0]
        assert a[0] == b[0] if isinstance(b, tuple) else a == b
        assert same(mine, theirs)


# ---- Elements ----

@pytest.mark.parametrize("dtype", "?bhilBHILefdFD")
def test_each_element_is_numpys(dtype):
    theirs = (numpy.random.default_rng(2).normal(0, 60, (4, 6)).astype("i1")).astype(dtype)
    mine = np.array(theirs)
    for a, b in ((mine, theirs), (mine[::-1, ::2], theirs[::-1, ::2]), (mine.T, theirs.T), (mine[1], theirs[1]), (mine[:, -1], theirs[:, -1])):
        before = trips()
        for key in itertools.product(*(range(-n, n) for n in b.shape)):
            key = key if b.ndim > 1 else key[0]
            assert a[key].dtype == b[key].dtype and a[key].item() == b[key].item()
        if b.ndim == 1:
            assert [x.item() for x in a] == [x.item() for x in b]
        assert trips() == before


KEYS = [(1, 1), (9, 0), (0, -5), (2**70, 0), (-2**70, 0), (True, 0), (1,), (), (1, 1, 1), 1, -1, 4, 2**70, -2**63, (numpy.int8(1), 2), (1.0, 1)]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_a_key_of_integers_does_what_numpys_does(key):
    for shape in ((4, 4), (4,), ()):
        mine, theirs = pair(shape)
        a, b = said_of(lambda: mine[key].tolist())[0], said_of(lambda: theirs[key].tolist())[0]
        assert a[0] == b[0] if isinstance(b, tuple) else a == b
        for value in (2, 2.5, 2**70, 1j, "x", None, [1.0], numpy.float32(3)):
            a = said_of(lambda value=value: operator.setitem(mine, key, value))[0]
            b = said_of(lambda value=value: operator.setitem(theirs, key, value))[0]
            assert (a is None) == (b is None) and (b is None or a[0] == b[0]), (key, value, a, b)
            assert same(mine, theirs)


def test_elements_of_what_may_not_be_written_and_of_snapshots():
    mine = np.array([[1.0, 2.0], [3.0, 4.0]])
    shown = numpy.asarray(mine)
    mine[1, 1] = 9.0
    assert shown[1, 1] == 4.0 and float(mine[1, 1]) == 9.0
    mine.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        mine[1, 1] = 1.0
    assert float(mine[1, 1]) == 9.0


NUMBERS = [0, 1, -1, 2, 127, 128, -128, -129, 255, 256, 65535, 65536, -32769, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, -2**63, 2**63, 2**64, 10**400, True, False,
           0.0, -0.0, 1.5, 65520.0, 1e-9, 1e39, 1e300, float("inf"), float("nan"), 1 + 2j, 1e39 + 1j, 2j, -0.0j]


@pytest.mark.parametrize("dtype", "?bhilBHILefdFD")
def test_a_python_number_in_any_place_is_numpys(dtype):
    for number in NUMBERS:
        for key in (1, slice(1, 3), Ellipsis):
            mine, theirs = np.zeros(4, dtype), numpy.zeros(4, dtype)
            a = said_of(lambda: operator.setitem(mine, key, number))
            b = said_of(lambda: operator.setitem(theirs, key, number))
            assert (a[0] is None) == (b[0] is None) and (b[0] is None or a[0][0] == b[0][0]), (number, key, a, b)
            assert numpy.asarray(mine).tobytes() == theirs.tobytes(), (number, key)


@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow, operator.lt, operator.ge, operator.eq, operator.ne])
@pytest.mark.parametrize("kinds", ["dd", "dl", "ld", "ll", "fd", "df", "?d"])
def test_an_element_and_a_near_result_meet_as_numpys(op, kinds):
    def made(m):
        one, two = m.array([[2, 0], [5, -3]], dtype=kinds[0]), m.array([3, -1], dtype=kinds[1])
        return [op(x, y) for a in (one[0, 0], one[0, 1], one[1, 0]) for b in (two.sum(), two.min(), m.dot(two, two)) for x, y in ((a, b), (b, a))]

    with numpy.errstate(all="ignore"):
        try:
            theirs = made(numpy)
        except Exception as error:  # noqa: BLE001
            with pytest.raises(type(error)):
                made(np)
            return
        for a, b in zip(made(np), theirs, strict=True):
            assert a.dtype == b.dtype and numpy.asarray(a).tobytes() == b.tobytes()


# ---- One number at many places ----

APART = [numpy.s_[::2], numpy.s_[::-3], numpy.s_[1::7], numpy.s_[4:5], numpy.s_[5:5], numpy.s_[:, 1], numpy.s_[::2, ::3],
         numpy.s_[1::2, ::-1], numpy.s_[:, 2:9], numpy.s_[..., None, 3], numpy.s_[2], numpy.s_[2, 3:6], numpy.s_[3::4, 5]]


@pytest.mark.parametrize("dtype", "? b h i q B H I Q e f d F D".split())
def test_a_number_is_stored_at_each_place_and_nowhere_else(dtype):
    host = numpy.arange(13 * 21).reshape(13, 21).astype(dtype)
    for key, value in itertools.product(APART, [0, 1, True, 7, host[1, 1], 2.5 if dtype in "efdFD" else 3]):
        mine, theirs = np.array(host), host.copy()
        mine[key] = value
        theirs[key] = value
        assert numpy.array_equal(mine, theirs), (key, value)
        turned, side = np.array(host).T, host.copy().T
        turned[::2, 1:8] = value
        side[::2, 1:8] = value
        assert numpy.array_equal(turned, side), value


def test_a_truth_that_is_stored_as_any_byte_is_one_where_it_is_put():
    odd = np.asarray(numpy.array([2, 0, 255], "u1")).view(bool)
    for at, value in enumerate([True, False, True]):
        mine = np.zeros(40, bool)
        mine[1::3] = odd[at:at + 1]
        mine[:1] = odd[at:at + 1]
        assert mine.view("u1").tolist() == [int(value and (k == 0 or k % 3 == 1)) for k in range(40)]
