# SPDX-License-Identifier: Apache-2.0
"""np.errstate on what braze computes, against NumPy: which errors, when, and where."""

import contextlib
import contextvars
import gc
import inspect
import io
import os
import sys
import threading
import warnings

import numpy
import pytest
from harness import Daemon

import braze
import braze.numpy as np
from versions import NUMPY

CLASSES = {1: "divide", 2: "over", 4: "under", 8: "invalid"}
TEXTS = {"divide by zero": 1, "overflow": 2, "underflow": 4, "invalid value": 8}


def line():
    """The caller's line number, for the line below it."""
    return inspect.currentframe().f_back.f_lineno + 1


def theirs(function, *args):
    """NumPy's result and the errors it reports, as bits."""
    seen = []
    with numpy.errstate(all="call", call=lambda text, _: seen.append(TEXTS[text])):
        result = function(*args)
    return result, sum(set(seen))


class Checked:
    """Operations recorded with their errors gathered, read together."""

    def __init__(self):
        self.results, self.seen = [], []

    def record(self, function, *args):
        seen = []
        with np.errstate(all="call", call=lambda text, _: seen.append(TEXTS[text])):
            self.results.append(function(*args))
        self.seen.append(seen)
        return self.results[-1]

    def errors(self):
        """The bits of each operation; every one is told at its first reader."""
        for result in self.results:
            if isinstance(result, np.ndarray):
                numpy.asarray(result)
        return [sum(set(seen)) for seen in self.seen]


def ours(function, *args):
    checked = Checked()
    result = checked.record(function, *args)
    return result, checked.errors()[0]


def specials(dtype):
    """Values around which errors begin."""
    if dtype[0] in "iu":
        info = numpy.iinfo(dtype)
        return numpy.array([0, 1, 2, 7, info.max, info.min] + [-1] * (dtype[0] == "i"), dtype)
    info = numpy.finfo(dtype)
    tiny, sub, most = info.tiny, info.smallest_subnormal, info.max
    values = [0.0, -0.0, 1, -1, 0.5, 2, -3.7, 10, most, -most, tiny, tiny * 1.5, sub, sub * 3,
              tiny / 2, numpy.sqrt(tiny), numpy.sqrt(most) * 2, info.eps, 1 - info.epsneg,
              numpy.inf, -numpy.inf, numpy.nan]
    return numpy.array(values, dtype)


UNARY = """negative positive absolute sign square sqrt cbrt reciprocal exp expm1 exp2 log log2 log10
log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh floor ceil trunc rint
isnan isinf isfinite signbit logical_not radians degrees""".split()
BINARY = """add subtract multiply divide floor_divide remainder fmod power arctan2 hypot copysign
nextafter heaviside logaddexp minimum maximum fmin fmax equal not_equal less less_equal greater
greater_equal logical_and""".split()
FLOATS, INTEGERS = ("f2", "f4", "f8"), ("i1", "i2", "i4", "i8", "u1", "u4", "u8")

# Where what NumPy reports depends on the processor's vector units: the underflow of functions
# near zero, where they are nearly their argument, and of powers that are exact.
VAGUE_UNDERFLOW = {"sin", "tan", "arcsin", "arctan", "sinh", "tanh", "expm1", "log1p", "arcsinh",
                   "arctanh", "cos", "log", "exp", "exp2", "power", "hypot", "arctan2", "logaddexp",
                   "cbrt", "cosh", "radians", "degrees"}


def certain(name, args, result):
    """The error bits that NumPy's own choice of routine cannot change."""
    if name == "power" and numpy.isinf(args[1]):
        return 8
    if name in VAGUE_UNDERFLOW:
        small = [x.dtype.kind == "f" and 0 < abs(x) < numpy.finfo(x.dtype).tiny * 1.01
                 for x in args]
        if any(small) or result != 0:
            return 11
    return 15


def compare(name, cases, checked, want):
    wrong = []
    for args, bits, (result, expected) in zip(cases, checked.errors(), want, strict=True):
        mask = certain(name, args, result) if result.dtype.kind == "f" else 15
        if (bits ^ expected) & mask:
            wrong.append((*args, "result", result, "braze", bits, "numpy", expected))
    assert not wrong, f"{name}: {len(wrong)} of {len(cases)}: {wrong[:12]}"


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_operand_report_what_numpys_do(name, dtype):
    cases = [(x,) for x in specials(dtype)]
    checked, want = Checked(), []
    try:
        with numpy.errstate(all="ignore"):
            getattr(numpy, name)(specials(dtype)[:1])
    except TypeError:
        pytest.skip("NumPy has no such loop")
    for (x,) in cases:
        checked.record(getattr(np, name), np.array([x]))
        want.append(theirs(getattr(numpy, name), numpy.array([x])))
    want = [(r[0], bits) for r, bits in want]
    compare(name, cases, checked, want)


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_operands_report_what_numpys_do(name, dtype):
    values = specials(dtype)
    if dtype[0] == "i" and name == "power":
        pytest.skip("NumPy computes it: values tell its errors")
    cases = [(x, y) for x in values for y in values]
    checked, want = Checked(), []
    for x, y in cases:
        checked.record(getattr(np, name), np.array([x]), np.array([y]))
        want.append(theirs(getattr(numpy, name), numpy.array([x]), numpy.array([y])))
    want = [(r[0], bits) for r, bits in want]
    compare(name, cases, checked, want)


# ---- Complex numbers -----------------------------------------------------------------


def complex_values(dtype, parts):
    info = numpy.finfo(dtype)
    known = {"most": info.max, "tiny": info.tiny, "sub": info.smallest_subnormal}
    parts = [known.get(p, p) for p in parts]
    return [complex(x, y) for x in parts for y in parts]


def compare_complex(name, dtype, cases, mask=15):
    checked, want, wrong = Checked(), [], []
    for args in cases:
        args = [numpy.array([x], dtype) for x in args]
        checked.record(getattr(np, name), *map(np.array, args))
        want.append(theirs(getattr(numpy, name), *args))
    same = 0
    found = zip(cases, checked.errors(), checked.results, want, strict=True)
    for args, bits, mine, (result, expected) in found:
        # Where NumPy fuses a product and a sum its values are others, and its errors too.
        if numpy.array_equal(numpy.asarray(mine), result, equal_nan=True):
            same += 1
            if (bits ^ expected) & mask:
                wrong.append((*args, "result", result[0], "braze", bits, "numpy", expected))
    assert same > len(cases) // 2
    assert not wrong, f"{name}: {len(wrong)} of {same}: {wrong[:8]}"


@pytest.mark.parametrize("dtype", ("F", "D"))
@pytest.mark.parametrize("name", ("add", "subtract", "divide", "equal", "maximum"))
def test_complex_arithmetic_reports_what_numpys_does(name, dtype):
    values = complex_values(dtype, [0.0, -2, 1e3, "most", "tiny", "sub", numpy.inf, numpy.nan])
    cases = [(x, y) for x in values for y in values]
    compare_complex(name, dtype, cases[::5] + cases[::7])


@pytest.mark.parametrize("dtype", ("F", "D"))
def test_complex_products_report_what_numpys_do(dtype):
    values = complex_values(dtype, [0.0, 1, -2, 1e3, "most"])
    compare_complex("multiply", dtype, [(x, y) for x in values for y in values])
    compare_complex("square", dtype, [(x,) for x in values])


@pytest.mark.parametrize("dtype", ("F", "D"))
@pytest.mark.parametrize("name", """negative reciprocal sqrt log log10 log1p sin cos tan arcsin arccos
arctan sinh cosh tanh arcsinh arccosh arctanh exp expm1 absolute conjugate isnan""".split())
def test_complex_functions_report_what_numpys_do(name, dtype):
    values = complex_values(dtype, [0.0, 1, -2, 1e3, "most", numpy.inf])
    if name == "reciprocal":
        values += complex_values(dtype, [0.0, "tiny", "sub", numpy.nan])
    # What glibc reports of infinite parts is its own affair.
    values = [v for v in values if name == "reciprocal" or numpy.isfinite(v)]
    compare_complex(name, dtype, [(v,) for v in values], 15 if name == "reciprocal" else 11)


# ---- Casts, sums, products -------------------------------------------------------------

TYPES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "F", "D")


@pytest.mark.parametrize("to", TYPES)
@pytest.mark.parametrize("dtype", ("i1", "i4", "i8", "u8", "f2", "f4", "f8", "F", "D"))
def test_casts_report_what_numpys_do(dtype, to):
    if dtype in "FD":
        values = numpy.array(complex_values(dtype, [0, 1.5, 1e30, "most", "tiny", numpy.nan]))
    else:
        values = specials(dtype)
    if dtype in ("f4", "f8"):
        more = [1e5, 7e4, -3e9, 3e9, 2.0**63, -(2.0**63), 1e-5, 1e-40, 6e-8, 127, 300, -1]
        values = numpy.concatenate([values, numpy.array(more, dtype)])
    checked, want, wrong = Checked(), [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # imaginary parts are discarded
        for x in values:
            a = numpy.array([x], dtype)
            checked.record(lambda a: a.astype(to), np.array(a))
            want.append(theirs(lambda a: a.astype(to), a))
    for x, bits, (result, expected) in zip(values, checked.errors(), want, strict=True):
        if bits != expected:
            wrong.append((x, result[0], "braze", bits, "numpy", expected))
    assert not wrong, wrong[:8]


def test_an_assignment_that_casts_is_checked():
    with np.errstate(over="raise"):
        a = np.zeros(3, "f4")
        a[...] = np.array([1.0, 1e300, 2.0])
    with pytest.raises(FloatingPointError, match="overflow encountered in cast"):
        numpy.asarray(a)


WRITES = {
    "an element": lambda a, x: a.__setitem__(0, x),
    "the same element again": lambda a, x: [a.__setitem__(1, x) for _ in range(8)],
    "a row": lambda a, x: a.__setitem__(slice(None), x),
    "all of it": lambda a, x: a.__setitem__(..., x),
    "fill": lambda a, x: a.fill(x),
    "full": lambda a, x: (np if isinstance(a, np.ndarray) else numpy).full(2, x, a.dtype),
}


@pytest.mark.parametrize("dtype", ("f2", "f4", "F", "f8"))
@pytest.mark.parametrize("kind", (float, numpy.float64))
@pytest.mark.parametrize("way", WRITES)
def test_a_number_written_into_a_narrower_type_is_checked(way, kind, dtype):
    wrong = []
    for x in (7e4, -1e300, 3.4028235e38, 65503.0, 1e-300, 1e-40, 6e-8, 1e-5, numpy.inf, numpy.nan, 0.0):
        got = ours(WRITES[way], np.zeros(2, dtype), kind(x))[1]
        want = theirs(WRITES[way], numpy.zeros(2, dtype), kind(x))[1]
        if got != want:
            wrong.append((x, "braze", got, "numpy", want))
    assert not wrong, wrong


@pytest.mark.parametrize("dtype", ("f2", "f4", "F", "f8"))
@pytest.mark.parametrize("number", (7e4, 1e300, -1e39, 3.4028235e38, 65519.0, 65520.0, numpy.inf))
def test_a_number_that_the_arrays_type_cannot_hold_is_an_overflow_of_the_cast(dtype, number):
    a = numpy.full(2, 0.5, dtype)
    for f in (lambda a: a + number, lambda a: number == a, lambda a: number / a):
        got, want = ours(f, np.array(a))[1], theirs(f, a)[1]
        assert got & 11 == want & 11, (got, want)


REDUCTIONS = {
    "finite": [1, 2, 3], "overflow": ["most", "most"], "infinities": [numpy.inf, -numpy.inf],
    "nan": [numpy.nan, 1], "a nan and an infinity": [numpy.nan, numpy.inf], "empty": [],
    "inf": [numpy.inf, 1], "underflow": ["tiny", "tiny"], "zero": [0, "tiny"],
}


@pytest.mark.parametrize("dtype", ("f2", "f4", "f8", "F", "D"))
@pytest.mark.parametrize("name", ("sum", "prod", "mean", "min", "max", "any", "argmax"))
@pytest.mark.parametrize("values", REDUCTIONS)
def test_reductions_report_what_numpys_do(name, values, dtype):
    if name in ("min", "max", "argmax") and (dtype in "FD" or not REDUCTIONS[values]):
        pytest.skip("no such reduction")
    info = numpy.finfo(dtype)
    known = {"most": info.max, "tiny": info.tiny}
    a = numpy.array([known.get(v, v) for v in REDUCTIONS[values]], dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "Mean of empty slice"
        result, want = theirs(getattr(numpy, name), a)
        mine, got = ours(getattr(np, name), np.array(a))
    mask = 11 if dtype in "FD" else 15
    if numpy.array_equal(numpy.asarray(mine), result, equal_nan=True):
        assert got & mask == want & mask


@pytest.mark.parametrize("axis", (0, 1, (0, 1)))
def test_a_reduction_is_checked_line_by_line(axis):
    # NaN in one row does not hide the overflow in another.
    a = numpy.array([[numpy.nan, 1], [1e308, 1e308]])
    assert ours(lambda x: x.sum(axis), np.array(a))[1] == theirs(lambda x: x.sum(axis), a)[1]
    with np.errstate(all="raise"):
        s = np.add.reduce(np.array([[1e308, 1e308], [1, 2]]), axis=1)
    with pytest.raises(FloatingPointError, match="overflow encountered in reduce"):
        numpy.asarray(s)


@pytest.mark.parametrize("shapes", [((2,), (2,)), ((2, 2), (2,)), ((2,), (2, 2)), ((2, 2), (2, 2)),
                                    ((3, 2, 2), (2, 2)), ((3, 2, 2), (3, 2, 2))])
def test_matrix_products_report_and_dot_does_not(shapes):
    for fill, want in ((1.0, 0), (1e308, 2), (numpy.inf, 8)):
        a, b = (numpy.full(s, 1e10 if fill == 1e308 else 1.0) for s in shapes)
        a[...] = fill
        if want == 8:
            b[...] = 0
        assert ours(np.matmul, np.array(a), np.array(b))[1] == want == theirs(numpy.matmul, a, b)[1]
    if len(shapes[0]) < 3:
        a, b = numpy.full(shapes[0], 1e308), numpy.full(shapes[1], 1e10)
        assert ours(np.dot, np.array(a), np.array(b))[1] == 0
        assert NUMPY >= (2, 5) or theirs(numpy.dot, a, b)[1] == 0  # whose dot reports


# ---- Where the element lies --------------------------------------------------------------


@pytest.mark.parametrize("where", (0, 1, 7, -1))
@pytest.mark.parametrize("length", (1, 3, 16, 1000, 100_003))
@pytest.mark.parametrize("layout", ("contiguous", "strided", "reversed", "two axes", "numbers"))
def test_one_element_of_many_is_found_wherever_it_lies(length, where, layout):
    where %= length
    n = numpy.ones(2 * length if layout == "strided" else length)
    d = n[::2] if layout == "strided" else n[::-1] if layout == "reversed" else n
    clean = np.array(n)
    d[where] = 0
    a = np.array(n)
    if layout == "strided":
        a, clean = a[::2], clean[::2]
    elif layout == "reversed":
        a, clean = a[::-1], clean[::-1]
    elif layout == "two axes":
        a, clean = (np.broadcast_to(x, (2, length)) for x in (a, clean))
    by = 1.0 if layout == "numbers" else np.ones(length)
    assert ours(lambda x: by / x, a)[1] == 1
    assert ours(lambda x: by / x, clean)[1] == 0
    assert ours(lambda x: np.log(x) + 1 if layout == "numbers" else np.log(x), a)[1] == 1


def test_lanes_that_are_no_elements_report_nothing():
    # Padded tails divide by whatever lies there; where() computes both branches.
    for n in range(1, 40):
        a = np.arange(n) + 1.0
        assert ours(lambda x: np.log(1 / x), a)[1] == 0
    a = np.arange(5.0)
    assert ours(lambda x: np.where(x > 0, x, 1.0) / 2, a)[1] == 0
    assert ours(np.divide, np.zeros(0), np.zeros(0))[1] == 0
    assert ours(lambda x: x / np.zeros(1), np.zeros((0, 3)))[1] == 0


@pytest.mark.parametrize("tier", (0, 1))
def test_both_tiers_report_the_same(tier):
    program = """
import numpy, braze.numpy as np
seen = []
for turn in range(3):
    for n in (3, 50_000):
        with np.errstate(all="call", call=lambda text, _: seen.append(text)):
            x = np.arange(n) - 1.0
            y = np.sqrt(x) + 1 / x
            z = np.exp(x * 1000) * 1e-300
        numpy.asarray(y), numpy.asarray(z)
    print(sorted(seen)); seen.clear()
"""
    with Daemon(tier=tier) as daemon:
        done = daemon.run(program, PYTHONPATH=os.pathsep.join(filter(None, sys.path)), timeout=300)
    want = sorted(["divide by zero", "invalid value", "overflow", "underflow"] * 2)
    assert [eval(text) for text in done.splitlines()] == [want] * 3


# ---- What is done about errors -----------------------------------------------------------


def zeros():
    return np.array([1.0, 0.0, -1.0]), np.zeros(3)


def test_raise_names_the_operation_and_its_line_each_time_the_value_is_read():
    a, z = zeros()
    with np.errstate(all="raise"):
        at = line()
        y = a / z
    for _ in range(2):
        with pytest.raises(FloatingPointError) as caught:
            numpy.asarray(y)
        assert str(caught.value) == f"divide by zero encountered in divide ({__file__}:{at})"


@pytest.mark.parametrize("read", [
    numpy.asarray, lambda y: y.tolist(), lambda y: float(y[0]), lambda y: bool((y > 0).any()),
    str, braze.wait, lambda y: np.sort(y).tolist(), lambda y: y[y > 0].tolist(), lambda y: numpy.add(y, 1)[:1].item(),
    lambda y: braze.host(y).__enter__(), lambda y: y.sum().item(), lambda y: y[::2].tolist(),
    lambda y: np.concatenate([y, y]).tolist(), lambda y: y[np.array([0, 1])].tolist(),
    lambda y: next(iter(y)).item(), lambda y: y.copy().tolist(), lambda y: y.astype("f4").tolist(),
    lambda y: numpy.from_dlpack(y), memoryview, lambda y: y.reshape(3, 1).T.tolist(), lambda y: y[y > 0].sum().item(),
    lambda y: y[y > 0].mean().item(),
])
def test_every_way_to_read_raises_and_so_does_what_depends(read):
    a, z = zeros()
    with np.errstate(divide="raise"):
        y = a / z
    with pytest.raises(FloatingPointError):
        read(y)
    with pytest.raises(FloatingPointError):
        read(y * 2 + 1)
    read(a / z)


def test_what_does_not_depend_is_given():
    a, z = zeros()
    with np.errstate(all="raise"):
        y = a / z
        w = a + 1
    v = a * 2
    assert w.tolist() == [2, 1, 0] and v.tolist() == [2, 0, -2]
    braze.wait(w, v)
    with pytest.raises(FloatingPointError):
        braze.wait(w, y)


@pytest.mark.parametrize("mode", ("warn", "call", "print", "log"))
def test_other_modes_tell_once_and_give_the_value(mode, capsys):
    a, z = zeros()
    calls, log = [], io.StringIO()
    call = log if mode == "log" else lambda text, all_of_them: calls.append((text, all_of_them))
    with np.errstate(all=mode, call=call):
        at = line()
        y = a / z
    w = y + 1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            assert w.tolist() == [numpy.inf, numpy.inf, -numpy.inf] or numpy.isnan(w[1])
            numpy.asarray(y)
    texts = ["divide by zero encountered in divide", "invalid value encountered in divide"]
    told = [f"Warning: {text}" for text in texts]
    assert calls == ([("divide by zero", 9), ("invalid value", 9)] if mode == "call" else [])
    assert log.getvalue().splitlines() == (told if mode == "log" else [])
    assert capsys.readouterr().err.splitlines() == (told if mode == "print" else [])
    where = [(str(w.message), w.filename, w.lineno, w.category) for w in caught]
    assert where == ([(t, __file__, at, RuntimeWarning) for t in texts] if mode == "warn" else [])


def test_a_warning_that_is_an_error_comes_where_the_value_is_read():
    a, z = zeros()
    with np.errstate(divide="warn"):
        y = a / z
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            y.tolist()
    assert y[0].item() == numpy.inf  # it was told


def test_a_missing_function_is_an_error_as_in_numpy():
    a, z = zeros()
    for mode in ("call", "log"):
        with np.errstate(divide=mode, call=None):
            y = a / z
            with pytest.raises(NameError) as mine:
                y.tolist()
        with numpy.errstate(divide=mode, call=None), pytest.raises(NameError) as want:
            numpy.ones(1) / numpy.zeros(1)
        assert str(mine.value) == str(want.value)


def test_what_a_callback_raises_comes_where_the_value_is_read():
    a, z = zeros()

    def call(text, flags):
        raise KeyError(text)

    with np.errstate(divide="call", call=call):
        y = a / z
    with pytest.raises(KeyError):
        numpy.asarray(y)


def test_a_callback_may_compute_and_read():
    a, z = zeros()
    sums = []
    with np.errstate(divide="call", call=lambda *_: sums.append((a + 1).sum().item())):
        y = a / z
        y.tolist()
    assert sums == [3]


def test_the_state_counts_where_the_operation_is_recorded():
    a, z = zeros()
    with np.errstate(all="raise"):
        inside = a / z
        with np.errstate(all="ignore"):
            quiet = a / z
        with np.errstate(divide="ignore"):
            half = np.array([1.0]) / np.zeros(1)
            other = a / z
    outside = a / z
    with np.errstate(all="raise"):
        assert numpy.isinf(outside[0]) and numpy.isinf(quiet[0]) and numpy.isinf(half[0])
        with pytest.raises(FloatingPointError, match="invalid"):
            numpy.asarray(other)
    with pytest.raises(FloatingPointError, match="divide"):
        numpy.asarray(inside)


def test_unset_is_silent_and_geterr_says_what_numpy_says():
    a, z = zeros()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert numpy.isinf((a / z)[0])
        old = np.seterr(under="raise")
        try:
            assert numpy.isinf((a / z)[0])
        finally:
            np.seterr(**old)
        assert old == numpy.geterr() == np.geterr()
        assert numpy.isinf((a / z)[0])  # restored means unset, not "warn"
        with np.errstate(divide="warn"), pytest.raises(RuntimeWarning):
            (a / z).tolist()


def test_seterr_returns_the_old_state_and_sets_numpys():
    old = np.seterr(all="raise")
    try:
        assert old == {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
        assert np.geterr() == numpy.geterr() == dict.fromkeys(old, "raise")
        with pytest.raises(FloatingPointError):
            numpy.ones(1) / numpy.zeros(1)
        with pytest.raises(FloatingPointError):
            np.ones(1).astype("g") / np.zeros(1).astype("g")  # NumPy computes it
    finally:
        np.seterr(**old)
    assert numpy.geterr() == old
    with pytest.raises(ValueError):
        np.seterr(all="wrong")
    with pytest.raises(ValueError):
        np.errstate(all="wrong").__enter__()
    with pytest.raises(TypeError):
        np.errstate(wrong="raise")


def test_errstate_is_numpys_class_decorates_and_cannot_be_entered_twice():
    state = np.errstate(divide="raise")
    assert isinstance(state, numpy.errstate)
    with state, pytest.raises(TypeError):
        state.__enter__()

    @np.errstate(divide="raise")
    def divide(a, b, depth=1):
        return a / b if depth == 0 else divide(a, b, depth=depth - 1)

    a, z = zeros()
    assert divide.__name__ == "divide"
    with pytest.raises(FloatingPointError):
        divide(a, z, depth=3).tolist()
    assert numpy.isinf((a / z)[0])


def test_seterrcall_and_geterrcall():
    calls = []
    old = np.seterrcall(lambda *args: calls.append(args))
    try:
        with np.errstate(divide="call"):
            y = np.ones(1) / np.zeros(1)
            np.seterrcall(None)
        assert np.geterrcall() is not None  # the block's is gone with the block
        y.tolist()
        assert calls == [("divide by zero", 1)]
    finally:
        np.seterrcall(old)


def test_each_thread_and_context_has_its_own_state():
    a, z = zeros()
    results, barrier = {}, threading.Barrier(3)

    def work(mode):
        with np.errstate(all=mode):
            barrier.wait()
            rows = [a / z for _ in range(50)]
            barrier.wait()
        bad = 0
        for y in rows:
            try:
                y.tolist()
            except FloatingPointError:
                bad += 1
        results[mode] = bad

    threads = [threading.Thread(target=work, args=(mode,)) for mode in ("raise", "ignore")]
    for t in threads:
        t.start()
    barrier.wait()
    mine = [a / z for _ in range(50)]
    barrier.wait()
    for t in threads:
        t.join()
    for y in mine:
        y.tolist()
    assert results == {"raise": 50, "ignore": 0}
    with np.errstate(all="raise"):
        context = contextvars.copy_context()
    y = context.run(lambda: a / z)
    with pytest.raises(FloatingPointError):
        y.tolist()
    assert contextvars.Context().run(lambda: (a / z)[0].item()) == numpy.inf


def test_eager_errors_come_at_the_line():
    a, z = zeros()
    with braze.eager(), np.errstate(divide="raise"):
        with pytest.raises(FloatingPointError):
            a / z
        with pytest.raises(FloatingPointError):
            a /= z
    a = np.ones(3)
    with braze.eager(), np.errstate(all="warn"), pytest.warns(RuntimeWarning) as caught:
        at = line()
        a / z
    assert [w.lineno for w in caught] == [at]


def test_unfused_operations_report_the_same():
    a, z = zeros()
    with braze.unfused():
        assert ours(lambda x: np.log(x / z), a)[1] == 9


OPERATIONS = {
    "divide": lambda x: 1 / (x * 0), "over": lambda x: x * 1e200 * 1e200,
    "under": lambda x: x * 1e-200 * 1e-200, "invalid": lambda x: np.sqrt(-x),
}


@pytest.mark.parametrize("checked", OPERATIONS)
@pytest.mark.parametrize("mode", ("raise", "call", "warn"))
def test_a_class_is_checked_alone(checked, mode):
    x, seen = np.ones(5) + 1, []
    with np.errstate(**{checked: mode}, call=lambda text, flags: seen.append((text, flags))):
        results = {name: f(x) for name, f in OPERATIONS.items()}
    told = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for name, result in results.items():
            try:
                result.tolist()
            except FloatingPointError:
                told.append(name)
            if seen or caught:
                told.append(name)
                seen.clear()
                caught.clear()
    assert told == [checked]


# ---- Writing ------------------------------------------------------------------------------


def test_an_array_written_with_a_failed_value_raises_until_it_is_overwritten():
    a, z = zeros()
    view = a[1:]
    with np.errstate(all="raise"):
        a /= z
    for x in (a, view, a[::2]):
        with pytest.raises(FloatingPointError):
            x.tolist()
    a[:2] = 5
    with pytest.raises(FloatingPointError):
        a.tolist()
    a[...] = 7
    assert a.tolist() == [7, 7, 7] and view.tolist() == [7, 7]


def test_a_snapshot_from_before_keeps_its_value():
    a, z = zeros()
    before = numpy.asarray(a)
    old = a.copy()
    with np.errstate(all="raise"):
        a /= z
    assert before.tolist() == [1, 0, -1] == old.tolist()


def test_out_and_where():
    a, z = zeros()
    with np.errstate(all="raise"):
        out = np.zeros(3)
        np.divide(a, z, out=out)
        with pytest.raises(FloatingPointError, match="divide by zero"):
            out.tolist()
        # NumPy computes it, at once, where the mask lets it.
        out = np.divide(a, z, out=np.zeros(3), where=z > 0)
        assert out.tolist() == [0, 0, 0]
        with pytest.raises(FloatingPointError):
            np.divide(a, z, out=np.zeros(3), where=a > 0)
        out = np.zeros(3, "f4")
        np.multiply(a, 1e300, out=out)
        with pytest.raises(FloatingPointError, match="overflow encountered in cast"):
            out.tolist()


def test_numbers_of_both_kinds():
    a = np.array([1.0, 2.0])
    with np.errstate(all="raise"):
        one, none = np.float64(1.0), a.sum() * 0
        for f in (lambda: a / 0, lambda: 1 / (a * 0), lambda: a[0] / none, lambda: one / none,
                  lambda: a.sum() / 0.0, lambda: np.log(none)):
            with pytest.raises(FloatingPointError):
                numpy.asarray(f())
        big = a[0] * 1e200
        float(big)
        with pytest.raises(FloatingPointError):
            float(big * big)
    x, y = a[0], a[1]
    assert float(x) == 1 and float(y) == 2
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        float(x * 1e308 * (y * 1e308))


# ---- What it costs ---------------------------------------------------------------------------


def counted(function):
    gc.collect()
    function()
    before = braze.counters()["ops"]
    function()
    return braze.counters()["ops"] - before


def test_without_a_state_nothing_more_is_recorded():
    a, z = zeros()

    def plain():
        for _ in range(10):
            (a / z + np.sqrt(a)).sum()

    first = counted(plain)
    with np.errstate(all="ignore"):
        assert counted(plain) == first
    with np.errstate(all="raise"):
        assert counted(plain) > 2 * first
        assert counted(lambda: [np.maximum(a, z) for _ in range(10)]) == 20
        i = np.arange(3)
        assert counted(lambda: [i + i * i for _ in range(10)]) == 40
    assert counted(plain) == first


def test_a_long_loop_that_nobody_reads_keeps_little():
    a = np.ones(4)
    with np.errstate(all="raise"):
        for _ in range(3000):
            a = a * 0.999 + 0.001
    assert a.tolist() == pytest.approx([1] * 4)
    with np.errstate(all="warn"):
        b = np.ones(4)
        for _ in range(1000):
            b = b * 0 / 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        b.tolist()
    assert {str(w.message) for w in caught} == {"invalid value encountered in divide"}


def test_a_dead_daemon_is_no_floating_point_error():
    program = """
import os, signal, sys, braze, braze.numpy as np
with np.errstate(all="raise"):
    y = np.ones(3) / np.zeros(3)
os.kill(int(sys.argv[1]), signal.SIGKILL)
try:
    y.tolist()
except braze.DaemonGone:
    print("gone")
"""
    with Daemon() as daemon:
        pid = daemon.process.pid
        assert daemon.run(program, pid, PYTHONPATH=os.pathsep.join(filter(None, sys.path))) == "gone\n"
