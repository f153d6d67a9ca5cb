# SPDX-License-Identifier: Apache-2.0
"""Values of types that braze lacks, written into its arrays: NumPy's casts, NumPy's
refusals.  Every form of writing, with float16, long doubles, dates, objects, text and
foreign byte orders, and with numbers that the array's type cannot hold.
"""

import fractions
import operator
import warnings

import numpy
import pytest

import braze.numpy as np

TYPES = ("?", "i1", "i8", "u1", "f4", "f8", "c8")
REFUSED = (TypeError, ValueError, OverflowError)
MASK = numpy.array([True, False, True])

VALUES = {
    "float16": numpy.float16(1.5), "float16 nan": numpy.float16("nan"),
    "float16s": numpy.array([1.5, -2.5, 3], "f2"), "float16 0-d": numpy.array(2.5, "f2"),
    "longdouble": numpy.longdouble(1.5), "longdoubles": numpy.array([1, 2, 3], "g"),
    "clongdouble": numpy.clongdouble(1 + 2j), "clongdoubles": numpy.array([1, 2, 3j], "G"),
    "date": numpy.datetime64("2020-01-01"), "dates": numpy.array(["2020", "2021", "2022"], "M8[D]"),
    "duration": numpy.timedelta64(5, "s"), "durations": numpy.array([1, 2, 3], "m8[s]"),
    "objects": numpy.array([1, 2.5, True], object), "no numbers": numpy.array([1, {}, "x"], object),
    "object 0-d": numpy.array(3, object), "texts": numpy.array(["1", "2", "3"]),
    "words": numpy.array(["1", "x", "3"]), "text": "5", "numpy text": numpy.str_("5"),
    "bytes": b"5", "numpy bytes": numpy.bytes_(b"5"), "none": None,
    "other bytes": numpy.array([1, 2, 3], ">f8"), "other 0-d": numpy.array(2, ">i4"),
    "records": numpy.array([(1, 2)] * 3, [("a", "i4"), ("b", "f8")]),
    "list of float16": [numpy.float16(1)] * 3, "list with nan": [1, float("nan"), 2],
    "list with 300": [1, 300, -1], "list with none": [1, None, 2], "fraction": fractions.Fraction(1, 2),
    "nan": numpy.float64("nan"), "float32 inf": numpy.float32("inf"), "1e300": numpy.float64(1e300),
    "2**63": numpy.uint64(1 << 63), "300": numpy.int64(300), "-3": numpy.int8(-3),
    "1j": numpy.complex128(1j), "int": 3, "-1": -1, "float": 2.5, "float nan": float("nan"),
    "2**70": 1 << 70,
}


def written(write):
    """A form of writing: the array after write(module, array, value)."""
    def form(m, dtype, value):
        array = m.array(numpy.arange(1, 4).astype(dtype))
        write(m, array, value)
        return array
    return form


def in_place(function):
    def form(m, dtype, value):
        array = m.array(numpy.arange(1, 4).astype(dtype))
        changed = function(array, value)
        assert changed is array
        return array
    return form


def number(m, dtype):
    return m.array(numpy.array(7).astype(dtype))


def into_number(write):
    def form(m, dtype, value):
        array = number(m, dtype)
        write(m, array, value)
        return array
    return form


FORMS = {
    "[...]": written(lambda m, a, v: operator.setitem(a, ..., v)),
    "slice": written(lambda m, a, v: operator.setitem(a, slice(0, 1), v)),
    "mask": written(lambda m, a, v: operator.setitem(a, m.array(MASK), v)),
    "indices": written(lambda m, a, v: operator.setitem(a, [0, 2, 1], v)),
    "fill": written(lambda m, a, v: a.fill(v)),
    "flat": written(lambda m, a, v: setattr(a, "flat", v)),
    "real": written(lambda m, a, v: setattr(a, "real", v)),
    "copyto": written(lambda m, a, v: m.copyto(a, v)),
    "copyto safe": written(lambda m, a, v: m.copyto(a, v, casting="safe")),
    "copyto unsafe": written(lambda m, a, v: m.copyto(a, v, casting="unsafe")),
    "copyto where": written(lambda m, a, v: m.copyto(a, v, where=MASK)),
    "copyto where=value": written(lambda m, a, v: m.copyto(a, 1, where=v)),
    "out=": written(lambda m, a, v: m.negative(v, out=a)),
    "out positional": written(lambda m, a, v: m.sqrt(v, a)),
    "out=()": written(lambda m, a, v: m.multiply(v, v, out=(a,))),
    "out= of itself": written(lambda m, a, v: m.add(a, v, out=a)),
    "out= no loop": written(lambda m, a, v: m.spacing(v, out=a)),
    "out= where=": written(lambda m, a, v: m.add(a, v, out=a, where=MASK)),
    "out= unsafe": written(lambda m, a, v: m.add(a, v, out=a, casting="unsafe")),
    "out= float16": written(lambda m, a, v: m.add(a, v, out=a, dtype="f2")),
    "out= longdouble": written(lambda m, a, v: m.add(a, v, out=a, dtype="g")),
    "clip out=": written(lambda m, a, v: m.clip(a, v, 3, out=a)),
    "round out=": written(lambda m, a, v: m.round(v, out=a)),
    "cumsum out=": written(lambda m, a, v: m.cumsum(v, out=a)),
    "sum out=": into_number(lambda m, a, v: m.sum(v, out=a)),
    "max out=": into_number(lambda m, a, v: m.max(v, out=a)),
    "mean out=": into_number(lambda m, a, v: m.mean(v, out=a)),
    "std out=": into_number(lambda m, a, v: m.std(v, out=a)),
    "add.reduce out=": into_number(lambda m, a, v: m.add.reduce(v, out=a)),
    "+=": in_place(operator.iadd), "-=": in_place(operator.isub), "*=": in_place(operator.imul),
    "/=": in_place(operator.itruediv), "**=": in_place(operator.ipow),
    "&=": in_place(operator.iand), "//=": in_place(operator.ifloordiv),
    "full": lambda m, dtype, v: m.full((3,), v, dtype),
    "full_like": lambda m, dtype, v: m.full_like(m.array(MASK), v, dtype),
    "where": lambda m, dtype, v: m.where(m.array(MASK), number(m, dtype), v),
    "==": lambda m, dtype, v: m.array(numpy.arange(1, 4).astype(dtype)) == v,
    "!=": lambda m, dtype, v: m.array(numpy.arange(1, 4).astype(dtype)) != v,
    "**": lambda m, dtype, v: m.array(numpy.arange(1, 4).astype(dtype)) ** v,
    "outer out=": lambda m, dtype, v: m.outer([1, 2], v, out=m.array(numpy.ones((2, 3), dtype))),
}


def outcome(form, m, dtype, value):
    """The array that a form gives, or NumPy's refusal."""
    try:
        return form(m, dtype, value)
    except REFUSED as error:
        return error


def check(got, want):
    if isinstance(want, Exception):
        assert isinstance(got, REFUSED), f"braze {got!r}, NumPy {want!r}"
        return
    assert not isinstance(got, Exception), f"braze {got!r}, NumPy {want!r}"
    assert type(got) is np.ndarray or not np._fallback.native_dtype(want.dtype)
    got = numpy.asarray(got)
    assert got.dtype == want.dtype and got.shape == want.shape
    if want.dtype.kind in "fc":
        numpy.testing.assert_allclose(got, want, rtol=1e-6)
    else:
        assert numpy.array_equal(got, want), f"braze {got!r}, NumPy {want!r}"


@pytest.mark.parametrize("name", FORMS)
def test_writes(name):
    for title, value in VALUES.items():
        for dtype in TYPES:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                want = outcome(FORMS[name], numpy, dtype, value)
                got = outcome(FORMS[name], np, dtype, value)
            try:
                check(got, want)
            except AssertionError as error:
                raise AssertionError(f"{name} of {title} into {dtype}: {error}") from None


def test_out_of_a_computed_float16():
    """log1p of a bool is a float16, and so is what follows; the output is float64."""
    for m in (numpy, np):
        out = m.array(0.0)
        flag = m.log1p(m.any(m.array([1.0, 0.0])))
        m.negative(flag - -1, out=out)
        assert float(out) == -float(numpy.log1p(numpy.True_) + 1)


def test_refusals_are_numpys():
    a = np.ones(3, "i8")
    with pytest.raises(numpy._core._exceptions.UFuncTypeError):
        a += numpy.longdouble(1)
    with pytest.raises(numpy._core._exceptions.UFuncTypeError):
        np.negative(numpy.float16(1), out=a)
    with pytest.raises(ValueError, match="broadcast"):
        np.negative(numpy.ones((1,) * 9 + (3,), "f2"), out=np.ones(3))
    assert a.tolist() == [1, 1, 1]


def test_negative_powers_of_integers():
    """Only the values tell, so NumPy's own exponents are looked at."""
    a = np.array([1, 2, 3])
    for power in (numpy.int8(-3), numpy.array([1, -1, 2]), [1, -1, 2], numpy.array(-1)):
        with pytest.raises(ValueError, match="negative integer powers"):
            a ** power
    assert (a ** numpy.array([2, 1, 0])).tolist() == [1, 2, 1]


def test_none_is_a_value_of_where():
    assert np.where(np.array([True, False]), np.ones(2), None).tolist() == [1.0, None]
