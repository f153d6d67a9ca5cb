# SPDX-License-Identifier: Apache-2.0
"""Single calls as people write them, of numbers, lists and small arrays: NumPy's values, types, classes of scalars,
layouts and errors, from paths that enter no Python frame."""

import contextlib
import copy
import itertools
import math
import pickle
import warnings

import braze
import braze.numpy as np
import numpy
import pytest

from near_mode import near_on
from on_device import DEVICE


def shown(x):
    """What a program can see of a result."""
    if isinstance(x, (tuple, list)):
        return type(x).__name__, [shown(y) for y in x]
    if isinstance(x, (np.ndarray, numpy.ndarray, numpy.generic)):
        a = numpy.asarray(x)
        scalar = x._is_scalar if type(x) is np.ndarray else isinstance(x, numpy.generic)
        writes = None if scalar else x.flags.writeable
        return scalar, str(a.dtype), a.shape, None if scalar else x.strides, repr(a.tolist()), writes
    return type(x).__name__, repr(x)


def told(function):
    """The result or the error, and warnings."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            made = shown(function())
        except Exception as error:  # noqa: BLE001 any error is compared
            return type(error).__mro__[-4:], str(error)
    return made, sorted({str(w.message) for w in said})


NUMBERS = [0, 1, -3, 7, 2**53 + 1, 2**63 - 1, -(2**63), 2**64, 0.0, -0.0, 0.5, 2.5, -1.25, 1e300, 5e-324, math.inf, -math.inf, math.nan, True, 1j]


def of(module, x, how):
    """A number as Python's, or as the module's scalar."""
    if how == "python":
        return x
    return module.array([x, x])[0] if x is not True else module.array([True])[0]


@pytest.mark.parametrize("how", ["python", "scalar"])
@pytest.mark.parametrize("name", ["minimum", "maximum", "add", "subtract", "multiply", "floor_divide", "remainder", "fmod", "power", "equal", "less", "greater_equal",
                                  "logical_and", "bitwise_or", "left_shift", "right_shift", "hypot", "gcd"])
def test_functions_of_two_numbers_are_numpys(name, how):
    for x, y in itertools.product(NUMBERS, NUMBERS):
        if x == 2**64 or y == 2**64:
            continue
        if name.endswith("shift") and how == "python" and not -64 < y.real < 200:
            continue
        mine, theirs = (told(lambda m=m: getattr(m, name)(of(m, x, how), of(m, y, how))) for m in (np, numpy))
        if name in ("hypot", "power") and len(theirs[0]) == 6 and mine[0][:3] == theirs[0][:3]:
            a, b = (eval(t[0][4], {"nan": math.nan, "inf": math.inf, "nanj": complex(0, math.nan)}) for t in (mine, theirs))
            assert abs(a - b) <= 4e-16 * abs(b) or a == b or (a != a and b != b), (name, x, y)
            continue
        assert mine == theirs, (name, x, y)


@pytest.mark.parametrize("how", ["python", "scalar"])
@pytest.mark.parametrize("name", ["absolute", "negative", "sign", "square", "positive", "invert", "reciprocal", "isnan", "floor", "rint", "deg2rad", "fabs", "spacing", "logical_not",
                                  "real", "imag", "isreal", "iscomplex", "signbit", "conj"])
def test_functions_of_one_number_are_numpys(name, how):
    for x in NUMBERS:
        mine, theirs = (told(lambda m=m: getattr(m, name)(of(m, x, how))) for m in (np, numpy))
        if x == 2**64 and how == "python":  # of an object, or of an unsigned integer
            continue
        assert mine == theirs or mine[0][-1] == theirs[0][-1], (name, x)


@pytest.mark.parametrize("how", ["python", "scalar"])
def test_clip_of_numbers_is_numpys(how):
    some = [x for x in NUMBERS if x not in (2**64, 1j)]
    for x, low, high in itertools.product(some, some, some):
        mine, theirs = (told(lambda m=m: m.clip(of(m, x, how), low, high)) for m in (np, numpy))
        assert mine == theirs, (x, low, high)


def test_round_of_numbers_is_numpys():
    rng = numpy.random.default_rng(3)
    some = [x for x in NUMBERS if x not in (2**64, 1j)] + (rng.standard_normal(300) * 10.0 ** rng.integers(-3, 6, 300)).tolist() + [2.675, 0.285, 1.005, 2.567, 1e16 + 2, 4.5e15 + 0.5]
    for x in some:
        for decimals in (0, 1, 2, 3, 8, 9, -1):
            assert told(lambda: np.round(x, decimals)) == told(lambda: numpy.round(x, decimals)), (x, decimals)
            if type(x) is not float:
                continue
            for text in ("round(a[0], d)", "a[0].round(d)", "round(a[0])", "a[0].__round__(None)"):
                mine, theirs = (told(lambda m=m, text=text: eval(text, {"a": m.array([x]), "d": decimals})) for m in (np, numpy))
                assert mine == theirs, (x, decimals, text)


LISTS = [
    [1, 2, 3], [1.5, 2], (1, 2), [[1, 2], [3, 4]], [True, False], [True, 2], [1j, 2], [[[1]]], [], [[]], [1, [2]], [2**70], [2**63], [1, None], ["a"], [b"a"], [1.0, "a"], [-1], [300], [2**60 + 1],
    [1e39], [math.nan], [0.5] * 200, list(range(100)), [[1] * 30] * 30, 5, 2.5, True, 1j, "abc", "", range(4), range(9, 0, -3), range(0), None, {}, [()], ((1,), [2]), [[1, 2], [3, 4], [5]], [numpy.float32(1), 2],
    [numpy.arange(3), [1, 2, 3]], numpy.float32(2),
]
TYPES = [None, float, int, "f4", "u1", "i2", bool, complex, "u8", "i8", "f2", "U3", object, "x"]


@pytest.mark.parametrize("name", ["array", "asarray"])
def test_arrays_of_lists_and_numbers_are_numpys(name):
    for data, dtype in itertools.product(LISTS, TYPES):
        mine, theirs = (told(lambda m=m: getattr(m, name)(data, dtype)) for m in (np, numpy))
        assert mine == theirs, (data, dtype)


def test_lists_of_ours_are_read_as_numpys():
    texts = ["[f[0], f[1]]", "[f[0], 1]", "[i[0], 2.5]", "[k[0], k[1]]", "[k[0], 2]", "[[f[0], i[0]], [1, 2]]", "[f, f]", "(f, p)", "[m, m]", "[f, i]", "[f, m]", "[f, f[:2]]", "[f[::2], f[::2]]", "[f, 1]", "[m[0], m[1]]",
             "[z, z]", "[z, 1]", "[f.sum(), f.max()]", "[g[0], 1]", "[u[0], u[1]]", "[c[0], 1]", "[x for x in f]", "[list(r) for r in m]", "[e, e]", "[f] * 70", "[i[0], 2**40]", "[f[0]] * 300", "[[f, f], [f, f]]"]
    for text, dtype in itertools.product(texts, [None, float, "f4", "i4", complex]):
        seen = []
        for module in (np, numpy):
            space = {"f": module.linspace(0, 1, 5), "p": module.arange(5.0), "i": module.arange(5), "k": module.arange(5) > 2, "m": module.arange(6.0).reshape(2, 3), "z": module.array(2.5), "g": module.ones(3, "f4"),
                     "u": module.ones(3, "u1"), "c": module.ones(3, complex), "e": module.zeros(0)}
            seen.append(told(lambda text=text, m=module, space=space: m.array(eval(text, space), dtype)))
        assert seen[0] == seen[1], (text, dtype)


def test_a_list_of_arrays_is_copied():
    a = np.arange(3.0)
    made = np.array([a, a])
    a[0] = 9
    made[1, 1] = 7
    assert made.tolist() == [[0, 1, 2], [0, 7, 2]] and a.tolist() == [9, 1, 2]


@pytest.mark.parametrize("text", ["a + [1, 2, 3]", "np.exp([1.0, 2.0])", "np.maximum([a, a], 1)", "np.sqrt([1, 4])", "a * (2, 3, 4)", "np.add([1, 2], [3, 4])", "np.add([True], [1])", "a == [0, 1, 5]", "np.abs([-1, 2.5])",
                                  "np.add([a[0], 2], 1)", "np.subtract([1j], 1)", "a + [1, 2]", "a + []", "np.negative([True])", "np.add([None], 1)", "a + ['x', 'y', 'z']"])
def test_operands_in_lists_are_numpys(text):
    seen = [told(lambda m=m: eval(text, {"np": m, "a": m.arange(3.0)})) for m in (np, numpy)]
    if isinstance(seen[1][0], tuple) and isinstance(seen[1][0][0], type):
        assert seen[0][0][-1] is seen[1][0][-1]
        return
    assert seen[0][0][:4] == seen[1][0][:4]
    assert numpy.allclose(eval(seen[0][0][4]), eval(seen[1][0][4]), rtol=4e-16, atol=0)


@pytest.mark.parametrize("text", [
    "2 ** i", "np.power(2, i)", "i ** i", "(-3) ** i", "2 ** -i", "i ** -i", "np.power(i, i)", "np.power(2, -i)", "k ** i", "2 ** u", "2.0 ** -i", "i ** m", "2 ** m.T", "(2**40) ** i", "2 ** i[:0]", "i[:3] ** m", "2 ** z", "True ** i",
    "np.append(f, 1)", "np.append(f, 2.5)", "np.append(i, 1)", "np.append(i, 2.5)", "np.append(f, f[0])", "np.append(f, [1, 2])", "np.append(m, 1)", "np.append(f[::2], 1)", "np.append(f, True)", "np.append(i, 2**70)", "np.append(f[:0], 1)",
    "np.append(f, 1, 0)", "np.append(c, 1j)", "np.append(f, 1j)", "np.append(f, None)", "np.append(k, True)", "np.append(g, g[0])", "np.append(g, 1)", "np.append(u, 1)", "np.append(1, 2)", "np.append(i, 2**60 + 1)",
    "np.tile(f, (2, 1))", "np.tile(f, (1, 2))", "np.tile(m, (2, 1))", "np.tile(m, (1, 3))", "np.tile(m, (2, 2))", "np.tile(m.T, (2, 1))", "np.tile(f, (0, 1))", "np.tile(d, (2, 1))", "np.tile(f, (1, 1))", "np.tile(m, (1, 1))", "np.tile(z, (2, 1))",
    "np.tile(f[::2], (3, 1))", "np.tile(f, (2, -1))", "np.tile(m.T, (1, 2))",
    "f.real", "f.imag", "c.real", "c.imag", "c[0].real", "c[0].imag", "f[0].real", "f[0].imag", "i.imag", "k.real", "z.imag", "c.T.real", "m.T.imag", "c[::2].imag", "np.real(f)", "np.imag(f)", "np.real(c)", "np.imag(c)", "np.real([1j, 2])", "np.imag(2.5)",
    "np.real(c[0])", "np.imag(f[::2])", "np.real(f[0])", "c.astype('c8').imag", "f[:0].imag", "c[:0].real", "np.real('a')",
    "np.isreal(f)", "np.iscomplex(f)", "np.isreal(c)", "np.iscomplex(c)", "np.isreal(m.T)", "np.isreal(2.5)", "np.iscomplex([1, 1j])", "np.isreal(z)", "np.isreal(f[0])", "np.iscomplex(f[:0])", "np.isreal(k)",
    "f.nonzero()", "(f * 0).nonzero()", "i.nonzero()", "u.nonzero()", "np.nonzero(-f)", "np.nonzero(f * float('nan'))", "np.flatnonzero(i)", "f[::2].nonzero()", "(-0.0 * f).nonzero()", "k.nonzero()", "(k & ~k).nonzero()",
    "np.flatnonzero(f * 0)", "np.where(k & ~k)[0]", "np.argwhere(f * 0)", "z.nonzero()",
    "f.view('i4')", "f.view(np.uint8)", "m.view('c16')", "d.view('f4')", "d[::-1].view('i8')", "m.T.view('i8')", "m.T.view('u1')", "f.view('c16')", "c.view(float)", "g.view(bool)", "f[:0].view('i4')", "f[::2].view('i8')", "u.view('i2')", "f[1].view('i8')",
    "np.ascontiguousarray(m)", "np.ascontiguousarray(m.T)", "np.ascontiguousarray(f[::2])", "np.ascontiguousarray(z)", "np.ascontiguousarray(m.T, 'f4')", "np.ascontiguousarray([1, 2])", "np.ascontiguousarray(f[:0])", "np.ascontiguousarray(d.T).flags.owndata",
    "np.asfortranarray(m)", "np.asfortranarray(m.T)", "np.asfortranarray(d)", "np.asfortranarray(d[::2])", "np.asfortranarray(f)", "np.asfortranarray(z)", "np.asfortranarray(d).flags.owndata", "np.asfortranarray(f[1])",
    "f.view()", "m.T.view()", "f.view('i8')", "z.view()", "f.view(None)", "f.view(type=None)",
    "str(f[0])", "repr(f[1])", "str(i[1])", "repr(k[0])", "str(f)", "repr(m)", "str(c[1])", "repr(g[1])", "str(z)", "'%s %r' % (f[1], f[1])", "f'{f[1]}'", "str(u[0])", "repr(f.sum())", "str(f[:0])",
    "int(f[1] * 10)", "int(i[1])", "int(float('inf') * (f[0] + 1))", "int(float('nan') + f[0])", "float(f[1])", "bool(f[0])", "bool(i[1])", "bool(k[0])", "int(c[0])", "int(z)", "bool(f[:1])", "int(-f[3] * 1e19)",
    "np.diag([1, 2, 3])", "np.diag([1.5, 2], 1)", "np.diag((1, 2), -1)", "np.diag([[1, 2], [3, 4]])", "np.diag([])", "np.diag([1, 2], k=1)", "np.diag(['a'])", "np.diag([f, f])",
    "np.frombuffer(b'12345678' * 3)", "np.frombuffer(b'12345678', 'u1')", "np.frombuffer(b'12345678', 'u1', 3)", "np.frombuffer(b'12345678', 'u1', 3, 2)", "np.frombuffer(b'12345678', dtype='i2', offset=1)", "np.frombuffer(b'123456789', 'i2', -1, 1)",
    "np.frombuffer(b'1234567')", "np.frombuffer(b'12345678', 'u1', 9)", "np.frombuffer(b'12345678', 'u1', -2)", "np.frombuffer(b'12345678', 'u1', 1, 8)", "np.frombuffer(b'12345678', 'u1', 1, -1)",
    "np.frombuffer(b'12345678', '>i4')", "np.frombuffer(b'1234', '?')", "np.frombuffer(b'12345678', None)", "np.frombuffer(b'12345678', 'i4', count=1, offset=4)",
    "[x.item() for x in np.nditer(f)]", "[x.item() for x in np.nditer(m.T)]", "np.nditer(m, ['multi_index']).multi_index", "np.nditer(f, ['x'])", "[x.tolist() for x in np.nditer(m, ['external_loop'])]", "np.nditer(f).operands[0]", "len(np.nditer(m))",
    "np.float32(f[1])", "np.int64(f[1] * 10)", "np.float64(f[1])", "np.int8(i[1])", "np.complex128(f[1])", "np.bool_(f[1])", "memoryview(f[1]).tolist()", "bytes(f[1])", "memoryview(f[1]).readonly", "np.float16(g[0])", "np.uint8(k[4])",
])
def test_small_calls_are_numpys(text):
    if DEVICE and text in OF_POWERS:
        pytest.skip("the device's functions are not the processor's")
    with near_on() if text in OF_NOTHING else contextlib.nullcontext():
        same_as_numpys(text)


OF_POWERS = ("2.0 ** -i", "2 ** z")
# Strides of nothing, where NumPy finds it.
OF_NOTHING = ("np.tile(f, (0, 1))", "np.flatnonzero(f * 0)", "np.argwhere(f * 0)", "np.flatnonzero(f < 0)")


def same_as_numpys(text):
    seen = []
    for module in (np, numpy):
        f = module.linspace(0, 1, 5)
        space = {"np": module, "f": f, "i": module.arange(5), "k": module.arange(5) > 2, "m": module.arange(6).reshape(2, 3), "z": module.array(2.5), "g": module.linspace(0, 1, 3, dtype="f4"), "u": module.arange(3, dtype="u1"),
                 "c": f * (1 + 2j), "d": module.arange(24.0).reshape(2, 3, 4)}
        seen.append(told(lambda space=space: eval(text, space)))
    if isinstance(seen[1][0][0], type):
        assert seen[0][0][-1] is seen[1][0][-1]
    else:
        assert seen[0] == seen[1]


@pytest.mark.parametrize("values", ["[1.5, 2]", "[1, 2]", "(1, 2.5)", "[True, False]", "[1j, 2]", "[-300, 70000]", "[2**70, 1]", "[None, 1]", "['1', '2']", "[3]", "[]", "[1, 2, 3]", "[[1, 2]]", "[[1], [2]]", "[[1, 2], [3, 4]]", "[[[1, 2]]]", "[a[0], 1]",
                                    "[float('nan'), 1]", "[1, [2]]", "range(2)"])
@pytest.mark.parametrize("dtype", ["f8", "i8", "i1", "f4", "?", "c16", "u2"])
def test_lists_are_written_as_numpys(values, dtype):
    for key in ("[:2]", "[::2, 1:]", "[1:, :2]", "[..., :2]", "[0, 1:]", "[2:2]"):
        seen = []
        for module in (np, numpy):
            a = module.arange(9).reshape(3, 3).astype(dtype)
            b = a.T
            _, said = told(lambda a=a, module=module: exec(f"a{key} = {values}", {"np": module, "a": a}))
            seen.append((said if isinstance(said, list) else "an error", a.tolist(), b.tolist()))
        assert repr(seen[0]) == repr(seen[1]), key


def test_views_as_another_type_and_arrays_in_order_share_memory():
    a = np.zeros((2, 3))
    b = a.view("i8")
    b[0, 1] = 1
    assert a[0, 1] == 5e-324 and b.base is a and a.view("u1").shape == (2, 24)
    assert np.ascontiguousarray(a) is a and np.asfortranarray(a.T).base is a
    c = np.asfortranarray(a)
    c[1, 2] = 7
    assert a[1, 2] == 0 and c.flags.f_contiguous and c.base is None
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        a.view("i8")[0, 0] = 1
    assert np.ascontiguousarray(a.T).flags.writeable


@pytest.mark.parametrize("value", [0.0, -0.0, 0.1, 1e16, 1e-5, 123456789.125, math.nan, -math.inf, 5e-324, 1 / 3])
def test_texts_of_scalars_are_numpys(value):
    mine, theirs = np.array([value])[0], numpy.array([value])[0]
    assert (str(mine), repr(mine), f"{mine}", f"{mine:.3f}") == (str(theirs), repr(theirs), f"{theirs}", f"{theirs:.3f}")
    with numpy.printoptions(legacy="1.13"):
        assert (str(mine), repr(mine)) == (str(theirs), repr(theirs))


def test_parts_are_views_and_zeros_that_nobody_writes():
    c = np.array([1 + 2j, 3 + 4j])
    c.real[0] = 9
    c.imag = [5, 6]
    c.real = 1
    assert c.tolist() == [1 + 5j, 1 + 6j] and c.real.base is c
    a = np.arange(3.0)
    assert a.real is a
    a.real = [7, 8, 9]
    assert a.tolist() == [7, 8, 9]
    with pytest.raises(ValueError, match="read-only"):
        a.imag[0] = 1
    with pytest.raises(TypeError, match="imaginary part"):
        a.imag = 1
    for name in ("real", "imag"):
        with pytest.raises(AttributeError):
            delattr(a, name)


# ---- Iterators and comparisons ----


def test_an_iterator_goes_over_elements_and_rows_as_pythons_does():
    a, m = np.arange(4.0), np.arange(6).reshape(2, 3)
    assert [float(x) for x in a] == [0, 1, 2, 3] and [r.tolist() for r in m] == [[0, 1, 2], [3, 4, 5]]
    it = iter(a)
    assert next(it) == 0 and it.__length_hint__() == 3 and iter(it) is it
    a[1] = 9
    assert next(it) == 9 and [float(x) for x in it] == [2, 3] and list(it) == [] and it.__length_hint__() == 0
    with pytest.raises(TypeError, match="0-d"):
        iter(np.array(1.0))
    it = iter(a)
    next(it)
    assert [float(x) for x in copy.copy(it)] == [float(x) for x in pickle.loads(pickle.dumps(it))] == [9, 2, 3]
    assert list(copy.copy(iter(np.zeros(0)))) == [] and list(np.zeros((0, 3))) == []
    next(iter(m))[0] = 5
    assert m[0, 0] == 5
    with pytest.raises(TypeError):
        type(iter(a))()


def test_scalars_are_ordered_and_equal_as_numpys():
    values = [0.0, -0.0, 1.5, math.nan, math.inf, 3, 2**53 + 1, -1, True, 2**63 - 1]
    for x, y in itertools.product(values, values):
        for ours, other in ((np.array([x])[0], np.array([y])[0]), (np.array([x])[0], y), (y, np.array([x])[0])):
            its, theirs = ((numpy.array([v])[0] if type(v) is np.ndarray else v) for v in (ours, other)) if False else (
                numpy.array([x])[0] if type(ours) is np.ndarray else y, numpy.array([x])[0] if ours is y else (numpy.array([y])[0] if type(other) is np.ndarray else y))
            for op in ("<", "<=", "==", "!=", ">", ">="):
                mine = eval(f"a {op} b", {"a": ours, "b": other})
                assert type(mine) is np.ndarray and mine._is_scalar and mine.dtype == bool
                assert bool(mine) == bool(eval(f"a {op} b", {"a": its, "b": theirs})), (x, op, y)


def test_the_answer_of_a_comparison_stays_a_value():
    a = np.arange(3.0)
    yes = a[0] < a[1]
    array = yes.reshape(1)  # makes an array of it
    array[0] = False
    again = a[0] < a[1]
    assert bool(again) and bool(yes) and not (a[1] < a[0]) and (yes + again).dtype == bool and (yes & again)
    assert np.array([again, yes]).tolist() == [True, True]


# ---- What calls the program ----


def test_functions_are_called_once_and_their_errors_are_theirs():
    calls = []

    def fails(x):
        calls.append(x)
        raise TypeError("mine")

    for call in (lambda m, a: m.piecewise(a, [a >= 0], [fails]), lambda m, a: m.apply_along_axis(fails, 0, a), lambda m, a: m.fromiter(map(fails, [1, 2]), float), lambda m, a: m.fromfunction(fails, (2,))):
        seen = []
        for module in (np, numpy):
            calls.clear()
            with pytest.raises(TypeError, match="mine"):
                call(module, module.arange(3.0))
            seen.append(len(calls))
        assert seen == [1, 1]


def test_what_a_called_function_writes_and_keeps_is_its_own():
    a = np.arange(4.0)
    kept = []

    def writes(x):
        kept.append(x)
        a[0] = 100
        return x * 2

    made = np.piecewise(a, [a > 1], [writes])
    assert made.tolist() == [0, 0, 4, 6] and a.tolist() == [100, 1, 2, 3] and kept[0].tolist() == [2, 3]
    rows = []
    np.apply_along_axis(lambda r: (rows.append(r), r.sum())[1], 0, a)
    assert rows[0].tolist() == [100, 1, 2, 3]
    a[1] = 50
    assert rows[0].tolist() == [100, 1, 2, 3]


def test_functions_of_ours_are_called_by_numpys_as_its_own():
    a = np.arange(12.0).reshape(3, 4)
    for name in ("sum", "max", "mean", "argmax", "sort", "cumsum", "median"):
        theirs = numpy.apply_along_axis(getattr(numpy, name), 1, numpy.asarray(a))
        mine = np.apply_along_axis(getattr(np, name), 1, a)
        assert type(mine) is np.ndarray and mine.tolist() == theirs.tolist() and mine.dtype == theirs.dtype
    assert np.apply_over_axes(np.sum, a, [0, 1]).tolist() == [[66]]


def test_small_calls_are_not_left_to_numpy_without_being_counted():
    with near_on():
        a = np.arange(5.0)
        before = dict(braze.fallbacks())
        np.clip(a[0], 0, 1), np.round(2.567, 2), np.minimum(3, 4), np.array("abc"), np.array([a, a]), 2 ** np.arange(5), np.append(a, 1), np.isclose(1.0, 1.0)
        assert dict(braze.fallbacks()) == before


# ---- Strides of nothing ----


@pytest.mark.parametrize("text", [
    "z[1:]", "z.T", "z[:, None]", "z.reshape(3, 0)", "z.reshape(0, 3)", "z.reshape(0, 3).T", "z.reshape(0, 3)[:]", "z.ravel()", "z.flatten()", "z[0]", "z[..., None]", "o[:, 1]", "o[0:0]", "o.T", "o[::2]", "e[::-1]", "e[:, None]", "e[None]",
    "m[2:]", "m[:, 3:]", "m[2:].T", "m[:, 3:][0]", "m[2:][:, 1]", "f[3:]", "f[3::2]", "f[:0:-1][5:]", "np.expand_dims(e, 0)", "np.swapaxes(z, 0, 1)", "np.flip(e)", "np.atleast_2d(e)", "np.nonzero(k)[0]", "k.nonzero()[0]", "np.nonzero(f * 0)[0]",
    "np.where(f < 0)[0]", "np.flatnonzero(f < 0)", "f[k]", "f[[]]", "e.view()", "np.zeros((0, 2), complex).real", "np.zeros((0, 2), complex).imag", "z.imag", "np.zeros((3, 0, 2))[1:]", "np.split(e, 1)[0]", "m[2:] + 1", "m[2:].copy()", "f[3:].reshape(0, 1)",
    "np.array([])", "np.array([[]])", "np.asarray([])", "e + []", "np.squeeze(np.zeros((1, 0)))", "m[2:].reshape(-1)", "z.reshape(-1)", "m[2:].reshape(0, 3)",
])
def test_strides_of_no_elements_are_numpys(text):
    with near_on() if text in OF_NOTHING else contextlib.nullcontext():
        seen = [strides_of(text, module) for module in (np, numpy)]
    assert seen[0] == seen[1]


def strides_of(text, module):
    space = {"np": module, "z": module.zeros((3, 0)), "o": module.zeros((0, 3)), "e": module.zeros(0), "m": module.zeros((2, 3)), "f": module.ones(3), "k": module.zeros(3, bool)}
    made = eval(text, space)
    return made.shape, made.strides
