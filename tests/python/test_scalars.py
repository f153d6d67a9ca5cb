# SPDX-License-Identifier: Apache-2.0
"""Scalars where NumPy's scalar serves as a Python number: they work, or the error says float(x)."""

import copy
import datetime
import decimal
import fractions
import io
import json
import math
import numbers
import operator
import os
import pickle
import random
import sqlite3
import statistics
import struct
import subprocess
import sys
import time

import numpy
import pytest

import braze
import braze.numpy as np

N = numpy.int64(3)
X = numpy.float64(7.25)


def n():
    return np.arange(4).max()


def x():
    return np.array([2.25, 5.0]).sum()


@pytest.mark.parametrize("sequence", [[0], [1, 2], (1, 2), "ab", b"ab", bytearray(b"ab"), []])
def test_an_integer_repeats_a_sequence_on_either_side(sequence):
    expect = sequence * 3
    for made in (sequence * n(), n() * sequence, operator.mul(sequence, n())):
        assert type(made) is type(sequence) and made == expect
    held = copy.copy(sequence)
    held *= n()
    assert type(held) is type(sequence) and held == expect
    number = n()
    number *= sequence
    assert number == expect
    assert sequence * np.arange(3)[0] == sequence * 0


def test_other_products_of_lists_are_numpys():
    assert type([1, 2] * np.arange(2)) is np.ndarray
    assert type([2] * np.array(3)) is np.ndarray and ([2] * np.array(3)).tolist() == [6]
    assert ([1, 2] + n()).tolist() == ([1, 2] + N).tolist()
    for one in ([1], "a", (1,)):
        with pytest.raises(TypeError):
            one * x()
    with pytest.warns(DeprecationWarning):
        assert [1] * (n() > 2) == [1]


class Doubling:
    """Repeats, and knows a product of its own."""

    def __mul__(self, other):
        return "mine"

    __rmul__ = __mul__


def test_a_sequence_with_a_product_of_its_own_keeps_it():
    assert Doubling() * n() == "mine"


METHODS = ["is_integer()", "as_integer_ratio()", "hex()"]


@pytest.mark.parametrize("call", METHODS)
def test_methods_of_a_float_scalar(call):
    assert eval("value." + call, {"value": x()}) == eval("value." + call, {"value": X})


def test_methods_of_an_integer_scalar_and_none_of_an_array():
    assert n().bit_count() == N.bit_count() == 2
    assert n().is_integer() is True
    assert n().numerator == 3 and n().denominator == 1
    for name in ("is_integer", "hex", "bit_count", "numerator", "as_integer_ratio"):
        assert not hasattr(np.arange(3), name)
        assert not hasattr(np.array(3), name)
    assert not hasattr(n(), "hex")


def test_asking_whether_a_scalar_has_a_method_computes_nothing():
    value = np.arange(100.0).sum()
    before = braze.counters()["demands"]
    assert hasattr(value, "is_integer")
    assert isinstance(value, np.floating)
    assert braze.counters()["demands"] == before


@pytest.mark.parametrize("function", [math.trunc, math.floor, math.ceil, round])
def test_rounding_to_an_integer(function):
    assert type(function(x())) is int
    assert function(x()) == function(X)
    assert function(-x()) == function(-X)


def test_rounding_of_arrays_is_refused():
    with pytest.raises(TypeError):
        math.trunc(np.arange(3.0))
    with pytest.raises(TypeError):
        math.floor(np.arange(3.0))


def test_functions_of_the_standard_library_take_scalars():
    assert [10, 20, 30, 40][n()] == 40
    assert list(range(n())) == [0, 1, 2] and "abcd"[: n()] == "abc"
    assert f"{x():.3f} {n():5d} {n():x}" == f"{X:.3f} {N:5d} {N:x}"
    assert "%d %.1f %s" % (n(), x(), x()) == "3 7.2 7.25"
    assert struct.pack("dif", x(), n(), x()) == struct.pack("dif", X, 3, X)
    assert math.sqrt(x()) == math.sqrt(X) and math.hypot(x(), n()) == math.hypot(X, N)
    assert math.gcd(n(), 6) == 3 and math.factorial(n()) == 6 and math.comb(n(), 2) == 3
    assert math.isclose(x(), 7.25) and math.fsum(np.ones(3)) == 3.0
    assert len(random.sample(range(10), k=n())) == 3
    assert len(random.choices(range(10), k=n())) == 3
    assert random.Random(1).randrange(n() + 5) == random.Random(1).randrange(8)
    assert random.Random(1).uniform(n(), x()) == random.Random(1).uniform(N, X)
    assert hex(n()) == "0x3" and bin(n()) == "0b11" and chr(n() + 62) == "A" and bytes(n()) == bytes(3)
    assert operator.index(n()) == 3 and complex(x()) == 7.25 and divmod(n(), 2) == (1, 1)
    assert {3: "a"}[n()] == "a" and hash(x()) == hash(7.25)
    time.sleep(np.arange(1)[0])


def test_json_writes_float64_as_a_number_everywhere():
    for options in ({}, {"indent": 1}, {"default": str}, {"indent": 1, "default": repr}):
        data = {"loss": [x(), x() * numpy.inf], "n": 1}
        plain = {"loss": [X, X * numpy.inf], "n": 1}
        assert json.dumps(data, **options) == json.dumps(plain, **options)
    stream = io.StringIO()
    json.dump([x()], stream)
    assert stream.getvalue() == "[7.25]"
    # What NumPy's are refused as, ours are.
    for mine, theirs in ((n(), N), (np.ones(1, "f4")[0], numpy.float32(1))):
        with pytest.raises(TypeError) as expect:
            json.dumps(theirs)
        with pytest.raises(TypeError) as found:
            json.dumps(mine)
        assert str(found.value) == str(expect.value)
        assert json.dumps(mine, default=str) == json.dumps(theirs, default=str)
    with pytest.raises(TypeError, match="ndarray is not JSON"):
        json.dumps(np.ones(2))


@pytest.mark.parametrize("name", ["mean", "fmean", "median", "stdev", "pstdev", "variance",
                                  "pvariance", "geometric_mean", "harmonic_mean", "mode",
                                  "median_low", "median_high", "multimode", "quantiles"])
def test_statistics_of_an_array(name):
    data = [1.5, 2.5, 4.0, 2.5]
    mine = getattr(statistics, name)(np.array(data))
    theirs = getattr(statistics, name)(numpy.array(data))
    assert mine == theirs
    assert isinstance(mine, (list, float)) or mine.dtype == numpy.float64


def test_statistics_of_two_arrays():
    a, b = np.array([1.0, 2.0, 4.0]), np.array([2.0, 3.5, 9.0])
    assert statistics.correlation(a, b) == pytest.approx(statistics.correlation([1, 2, 4], [2, 3.5, 9]), rel=1e-14)
    assert statistics.linear_regression(a, b).slope == pytest.approx(
        statistics.linear_regression([1.0, 2.0, 4.0], [2, 3.5, 9]).slope, rel=1e-14)
    assert statistics.NormalDist(x(), n()).mean == 7.25


def test_fractions_are_exact():
    assert fractions.Fraction(x()) == fractions.Fraction(29, 4)
    assert fractions.Fraction(n()) == 3 and type(fractions.Fraction(n()).numerator) is int
    assert fractions.Fraction(1, 3) == fractions.Fraction("1/3")
    with pytest.raises(TypeError):
        fractions.Fraction(np.arange(3))


@pytest.mark.parametrize("refused", [
    lambda v: decimal.Decimal(v),
    lambda v: datetime.timedelta(seconds=v),
    lambda v: datetime.datetime.fromtimestamp(v),
    lambda v: time.sleep(v),
    lambda v: [1] * v,
    lambda v: [1, 2][v],
    lambda v: range(v),
])
def test_what_only_a_python_float_can_do_says_how_to_make_one(refused):
    with pytest.raises(TypeError, match=r"float\(x\)"):
        refused(x())


def test_an_attribute_that_nobody_has_is_named():
    for value in (np.ones(3), np.ones(3).sum()):
        with pytest.raises(AttributeError, match="ndarray' object has no attribute 'colour'") as error:
            _ = value.colour
        assert error.value.name == "colour" and error.value.obj is value


def test_the_type_keeps_its_name():
    assert np.ndarray.__name__ == np.ndarray.__qualname__ == "ndarray"
    assert repr(np.ndarray) == "<class 'braze.numpy.ndarray'>"
    assert pickle.loads(pickle.dumps(np.ndarray)) is np.ndarray


def test_sqlite_stores_numbers():
    base = sqlite3.connect(":memory:")
    row = base.execute("select typeof(?1), ?1, typeof(?2), ?2, typeof(?3), ?3",
                       (x(), n(), n() > 2)).fetchone()
    assert row == ("real", 7.25, "integer", 3, "integer", 1)
    base.execute("create table t (v)")
    base.executemany("insert into t values (?)", [(v,) for v in np.arange(3.0)])
    assert base.execute("select typeof(v), sum(v) from t").fetchone() == ("real", 3.0)
    # An array is its bytes, as NumPy's is.
    assert base.execute("select ?", (np.arange(2),)).fetchone()[0] == numpy.arange(2).tobytes()


KINDS = [numpy.floating, numpy.inexact, numpy.integer, numpy.signedinteger, numpy.unsignedinteger,
         numpy.complexfloating, numpy.number, numpy.generic, numpy.bool_, numbers.Number,
         numbers.Complex, numbers.Real, numbers.Rational, numbers.Integral]


@pytest.mark.parametrize("dtype", "? b h i l B H I L e f d F D".split())
def test_a_scalar_is_of_the_kinds_that_numpys_is_of(dtype):
    mine, theirs = np.ones(2, dtype)[0], numpy.ones(2, dtype)[0]
    for kind in KINDS:
        assert isinstance(mine, kind) == isinstance(theirs, kind), kind
        for array in (np.ones(2, dtype), np.array(1, dtype)):
            assert not isinstance(array, kind)
    assert isinstance(mine, np.ndarray) and type(mine) is np.ndarray
    assert numpy.isscalar(mine) and np.isscalar(mine)
    assert mine.__class__(1) == theirs


def test_a_lazy_scalar_is_no_python_float():
    """C code reads a float's value where it lies: what is not computed must not say it is one."""
    assert not isinstance(x(), float) and not isinstance(np.ones(1, complex)[0], complex)


@pytest.mark.parametrize("to", ["O", "U", "S", "g", "M8[D]", "m8[s]", "G"])
def test_a_scalar_in_a_type_of_numpys_is_a_scalar(to):
    for mine, theirs in ((n(), N), (x(), X)):
        if theirs is X and to == "M8[D]":
            continue
        made, expect = mine.astype(to), theirs.astype(to)
        assert type(made) is type(expect) and made == expect


def test_copies_of_a_scalar_are_scalars():
    for made in (copy.copy(x()), copy.deepcopy(x()), pickle.loads(pickle.dumps(x()))):
        assert np.isscalar(made) and made == 7.25


def test_adapters_reach_modules_imported_before_and_after():
    for order in ("import json, fractions; import braze.numpy as np",
                  "import braze.numpy as np; import json, fractions"):
        code = (f"{order}\nv = np.array([0.5]).sum()\n"
                "assert json.dumps(v, default=str) == '0.5'\n"
                "assert fractions.Fraction(v) == fractions.Fraction(1, 2)\n")
        subprocess.run([sys.executable, "-c", code], check=True)


def test_adapters_can_be_left_out():
    code = ("import braze.numpy as np, json\nv = np.array([0.5]).sum()\n"
            "assert json.dumps(v, default=str) == '\"0.5\"'\n")
    subprocess.run([sys.executable, "-c", code], check=True,
                   env={**os.environ, "BRAZE_ADAPTERS": "0"})


# What numpy's functions make a scalar of is a scalar here: a value, which no later
# write in place may reach; what they make an array of is an array.

OPERANDS = {
    "a number": lambda np: 3.0,
    "NumPy's scalar": lambda np: numpy.float32(3),
    "a scalar": lambda np: np.arange(5.0)[2],
    "0-d": lambda np: np.array(2.0),
    "0-d of integers": lambda np: np.array(2),
    "1-d": lambda np: np.arange(4.0) + 1,
    "1-d of integers": lambda np: np.array([1, 2, 3]),
    "2-d": lambda np: np.arange(4.0).reshape(2, 2) + 1,
}
# They write files or state, make matrices, or (dot, of 0-d into 0-d) forget their out.
ELSEWHERE = set(
    "save savez savez_compressed savetxt show_config info memmap seterr seterrcall setbufsize "
    "get_include set_printoptions show_runtime fromfile loadtxt genfromtxt fromregex load empty "
    "empty_like asmatrix bmat dot test".split()
)


def functions():
    for name in sorted(set(dir(numpy)) & set(dir(np)) - ELSEWHERE):
        f = getattr(numpy, name)
        if callable(f) and not isinstance(f, type) and not name.startswith("_"):
            yield name


def form_of(made):
    if isinstance(made, tuple):
        return [form_of(x) for x in made]
    if type(made) is np.ndarray:
        return "scalar" if made._is_scalar else "array"
    return {numpy.ndarray: "array"}.get(type(made)) or (
        "scalar" if isinstance(made, numpy.generic) else "other"
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", functions())
def test_scalars_and_arrays_are_numpys(name):
    for kind, make in OPERANDS.items():
        for more in ([], [0], [1], [make], [make, make], ["before"]):
            def arguments(np):
                given = [m(np) if callable(m) else m for m in more if m != "before"]
                return [2, make(np)] if more == ["before"] else [make(np), *given]
            try:
                want = getattr(numpy, name)(*arguments(numpy))
            except Exception:  # not for such arguments
                continue
            made = getattr(np, name)(*arguments(np))
            if not isinstance(made, np.ndarray | numpy.ndarray | numpy.generic | tuple):
                continue
            assert form_of(made) == form_of(want), (kind, more)


def test_an_element_read_once_is_computed_alone():
    """Also where the array's place in memory was one's of which a second was read."""
    for _ in range(3):
        read = np.zeros(1000) + 1
        read.sum().item()
        assert float(read[0]) == float(read[1]) == 1
        del read
    a = np.zeros(1000) + 1
    before = braze.counters()["demands"]
    element = a[0]
    assert braze.counters()["demands"] == before
    assert float(element) == 1


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("settle", [None, str, numpy.asarray], ids=["pending", "read", "exported"])
def test_complex_scalars_are_ordered_by_numpys_operators(dtype, settle):
    """They look at imaginary parts only where the real ones are equal; np.less at both."""
    nan = float("nan")
    values = numpy.array([complex(2, nan), complex(nan, 2), 2, 2j + 2, 1, complex(3, nan)], dtype)
    others = [2, 2.5, 2 + 1j, True, numpy.float32(1), numpy.complex64(2), *values]
    for order in (operator.lt, operator.le, operator.gt, operator.ge):
        for k, value in enumerate(values):
            for other in others:
                mine = np.array(values)[k:k + 1].min()
                if settle:
                    settle(mine)
                same = np.array(values)[k:k + 1].max()
                pairs = [(order(mine, other), order(value, other)),
                         (order(mine, same), order(value, value))]
                if not isinstance(other, numpy.generic):  # NumPy's hands it to the function
                    pairs += [(order(other, mine), order(other, value))]
                for got, want in pairs:
                    assert got == want and type(got) is np.ndarray, (order, value, other)
    mine = np.array(values)[:1].min()
    assert not np.greater(mine, 1) and mine > 1
    assert not (np.array(values)[:1] > 1)[0] and not np.array(values[0]) > 1


@pytest.mark.parametrize("make", ["arange(6)", "arange(6).reshape(2, 3)", "ones(1)", "array(3.5)"])
@pytest.mark.parametrize("place", ["", "0", "-1", "7", "True", "1.0", "(1, 2)", "1, 2", "()", "[1]", "m.array(1)", "m.array([1])",
                                   "None", "slice(0, 1)", "numpy.int8(1)", "numpy.True_"])
def test_item_takes_integers_only(make, place):
    def item(m):
        try:
            return eval(f"m.{make}.item({place})", {"m": m, "numpy": numpy})
        except (IndexError, TypeError, ValueError) as error:
            return type(error)

    assert item(np) == item(numpy)
