# SPDX-License-Identifier: Apache-2.0
"""Functions of elements: the types that the standard's promotion table gives, values
and special values as NumPy's, over shapes that broadcast."""

import braze.numpy as np
import hypothesis.extra.numpy as hynp
import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

SIGNED, UNSIGNED = ("int8", "int16", "int32", "int64"), ("uint8", "uint16", "uint32", "uint64")
REAL, COMPLEX = ("float32", "float64"), ("complex64", "complex128")
INTEGER, FLOATING, BOOL = SIGNED + UNSIGNED, REAL + COMPLEX, ("bool",)
NUMERIC = INTEGER + FLOATING
ALL = BOOL + NUMERIC

UNARY = {
    "abs": NUMERIC, "negative": SIGNED + FLOATING, "positive": NUMERIC, "square": NUMERIC,
    "sign": NUMERIC, "bitwise_invert": BOOL + INTEGER, "logical_not": BOOL,
    "isfinite": NUMERIC, "isinf": NUMERIC, "isnan": NUMERIC, "signbit": REAL,
    "ceil": INTEGER + REAL, "floor": INTEGER + REAL, "trunc": INTEGER + REAL,
    "round": NUMERIC, "conj": COMPLEX, "real": COMPLEX, "imag": COMPLEX,
} | dict.fromkeys(("acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p log2 log10 "
                   "sin sinh sqrt tan tanh").split(), FLOATING)
BINARY = {
    "add": NUMERIC, "subtract": NUMERIC, "multiply": NUMERIC, "divide": FLOATING,
    "pow": FLOATING, "floor_divide": INTEGER + REAL, "remainder": INTEGER + REAL,
    "atan2": REAL, "copysign": REAL, "hypot": REAL, "logaddexp": REAL,
    "maximum": INTEGER + REAL, "minimum": INTEGER + REAL,
    "bitwise_and": BOOL + INTEGER, "bitwise_or": BOOL + INTEGER, "bitwise_xor": BOOL + INTEGER,
    "bitwise_left_shift": INTEGER, "bitwise_right_shift": INTEGER,
    "logical_and": BOOL, "logical_or": BOOL, "logical_xor": BOOL,
    "equal": ALL, "not_equal": ALL, "less": INTEGER + REAL, "less_equal": INTEGER + REAL,
    "greater": INTEGER + REAL, "greater_equal": INTEGER + REAL,
}
TRUTHS = ("equal not_equal less less_equal greater greater_equal logical_and logical_or "
          "logical_xor logical_not isfinite isinf isnan signbit").split()
OPERATORS = {
    "add": "__add__", "subtract": "__sub__", "multiply": "__mul__", "divide": "__truediv__",
    "pow": "__pow__", "floor_divide": "__floordiv__", "remainder": "__mod__",
    "bitwise_and": "__and__", "bitwise_or": "__or__", "bitwise_xor": "__xor__",
    "bitwise_left_shift": "__lshift__", "bitwise_right_shift": "__rshift__",
    "equal": "__eq__", "not_equal": "__ne__", "less": "__lt__", "less_equal": "__le__",
    "greater": "__gt__", "greater_equal": "__ge__",
}
SPECIAL = (float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5,
           -2.0, 3.0, 1e-40, 1e30)


def promoted(a, b):
    """The standard's table of type promotion; None: it does not say."""
    kinds = {np.dtype(a).kind, np.dtype(b).kind}
    size = max(np.dtype(a).itemsize, np.dtype(b).itemsize)
    if a == b:
        return a
    if len(kinds) == 1:
        return max(a, b, key=lambda d: np.dtype(d).itemsize)
    if kinds == {"i", "u"}:
        unsigned = np.dtype(a if np.dtype(a).kind == "u" else b).itemsize
        return None if unsigned == 8 else f"int{max(size, 2 * unsigned) * 8}"
    if kinds == {"f", "c"}:
        real = np.dtype(a if np.dtype(a).kind == "f" else b).itemsize
        return f"complex{max(size, 2 * real) * 8}"
    return None


def arrays(dtype, shape=None):
    if np.dtype(dtype).kind not in "fc":
        return hynp.arrays(dtype, SHAPES if shape is None else shape)
    parts = st.sampled_from(SPECIAL) | st.floats(-100, 100, width=32)
    elements = parts if np.dtype(dtype).kind == "f" else st.builds(complex, parts, parts)
    return hynp.arrays(dtype, SHAPES if shape is None else shape, elements=elements.map(np.dtype(dtype).type))


SHAPES = hynp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)


def same(mine, theirs, name):
    """Types and shapes agree; values to the last bits that docs/python.md promises."""
    mine, theirs = numpy.asarray(mine), numpy.asarray(theirs)
    assert mine.dtype == theirs.dtype
    assert mine.shape == theirs.shape
    if theirs.dtype.kind not in "fc":
        numpy.testing.assert_array_equal(mine, theirs)
        return
    eps = numpy.finfo(theirs.dtype).eps
    if theirs.dtype.kind == "f":
        assert (numpy.signbit(mine) == numpy.signbit(theirs))[theirs == 0].all(), name
    # Of complex functions a small part has the other's error.
    scale = numpy.abs(theirs) if theirs.dtype.kind == "c" else 0
    near = numpy.isclose(mine, theirs, rtol=8 * eps, atol=numpy.finfo(theirs.dtype).tiny,
                         equal_nan=True)
    with numpy.errstate(all="ignore"):
        near |= numpy.abs(mine - theirs) <= 16 * eps * scale
        # Which part of a complex number is nan, or what sign an infinite one has.
        near |= ~numpy.isfinite(theirs) & ~numpy.isfinite(mine)
    assert near.all(), (name, mine[~near], theirs[~near])


@pytest.mark.parametrize(("name", "dtype"), [(n, d) for n, ds in UNARY.items() for d in ds])
def test_a_function_of_one_array(name, dtype):
    @given(arrays(dtype))
    def check(x):
        with numpy.errstate(all="ignore"):
            theirs = getattr(numpy, name)(x)
        mine = getattr(np, name)(np.asarray(x))
        same(mine, theirs, name)
        if name in TRUTHS:
            assert mine.dtype == bool
        elif name not in ("abs", "real", "imag"):
            assert mine.dtype == dtype

    check()


@pytest.mark.parametrize(("name", "dtype"), [(n, d) for n, ds in BINARY.items() for d in ds])
def test_a_function_of_two_arrays(name, dtype):
    @given(hynp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, min_side=0, max_side=4)
           .flatmap(lambda s: st.tuples(*(arrays(dtype, shape) for shape in s.input_shapes))))
    def check(pair):
        x, y = pair
        if "shift" in name:
            y = (y % (8 * y.dtype.itemsize)).astype(y.dtype)
        with numpy.errstate(all="ignore"):
            theirs = getattr(numpy, name)(x, y)
        a, b = np.asarray(x), np.asarray(y)
        same(getattr(np, name)(a, b), theirs, name)
        if name in OPERATORS:
            same(getattr(a, OPERATORS[name])(b), theirs, name)

    check()


@pytest.mark.parametrize("name", BINARY)
def test_types_are_promoted_by_the_standards_table(name):
    for a in BINARY[name]:
        for b in BINARY[name]:
            wanted = promoted(a, b)
            if wanted is None:
                continue
            got = getattr(np, name)(np.ones(2, a), np.ones(2, b)).dtype
            assert got == ("bool" if name in TRUTHS else wanted), (a, b)
            assert np.result_type(a, b) == wanted
            assert np.result_type(np.ones(2, a), np.ones(2, b)) == wanted


@pytest.mark.parametrize("dtype", ALL)
def test_python_scalars_take_the_arrays_type(dtype):
    kind = np.dtype(dtype).kind
    scalars = {"b": [True], "i": [1], "u": [1], "f": [1, 1.5], "c": [1, 1.5, 2j]}[kind]
    for scalar in scalars:
        for f in ("__eq__", *(["__add__", "__mul__", "__radd__"] if kind != "b" else ["__and__"])):
            got = getattr(np.ones(2, dtype), f)(scalar).dtype
            assert got == ("bool" if f == "__eq__" else dtype), (f, scalar)


@pytest.mark.parametrize("dtype", INTEGER + REAL)
def test_clip(dtype):
    @given(arrays(dtype, (3, 4)), arrays(dtype, (4,)), arrays(dtype, (3, 1)))
    def check(x, low, high):
        a, b, c = (np.asarray(v) for v in (x, low, high))
        same(np.clip(a, b, c), numpy.clip(x, low, high), "clip")
        same(np.clip(a, min=b), numpy.clip(x, min=low), "clip")
        same(np.clip(a, max=c), numpy.clip(x, max=high), "clip")

    check()
