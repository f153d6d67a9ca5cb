# SPDX-License-Identifier: Apache-2.0
"""Every operation and type on the values where answers go wrong: not-a-number,
infinities, signed zeros, denormals, the ends of integers, shifts by the width.

Run twice: by the interpreter at first use, and compiled when the daemon has had
time; contiguous and strided, whole vectors and their rest.
"""

import os
import sys
import warnings

import numpy
import pytest

import braze.numpy as np
from versions import NUMPY
from harness import Daemon, wait_until
from random_check import NATIVE, differ, sums, ulp

COMPILE_SECONDS = 1800  # some thousand kernels
FLOATS = [numpy.nan, numpy.inf, -numpy.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 5e-324, -5e-324,
          1e-310, 1e-40, 1e308, -1e308, 3.0, 2.0, 1e10, 709.9, -745.2, 88.8]
UNARY = ("negative positive absolute sign square sqrt cbrt reciprocal exp expm1 exp2 log log2 log10 "
         "radians degrees log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh floor ceil "
         "trunc rint isnan isinf isfinite signbit logical_not invert conjugate").split()
BINARY = ("add subtract multiply divide floor_divide remainder fmod power arctan2 hypot copysign "
          "nextafter heaviside logaddexp minimum maximum fmin fmax equal not_equal less less_equal "
          "greater greater_equal logical_and logical_or logical_xor bitwise_and bitwise_or "
          "bitwise_xor left_shift right_shift").split()
ROUNDED = set("cbrt exp expm1 exp2 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh "
              "tanh arcsinh arccosh arctanh power arctan2 hypot logaddexp".split())
EXTREMES = {"minimum", "maximum", "fmin", "fmax"}  # which of two zeros is NumPy's to choose


def values(dtype):
    """All special values of a type."""
    dtype = numpy.dtype(dtype)
    if dtype.kind == "b":
        return numpy.array([True, False])
    if dtype.kind in "iu":
        info, width = numpy.iinfo(dtype), dtype.itemsize * 8
        low = [] if dtype.kind == "u" else [info.min, info.min + 1, -1, -2, -7, -width]
        return numpy.array([*low, 0, 1, 2, 3, 7, width - 1, width, info.max - 1, info.max], dtype)
    with numpy.errstate(all="ignore"):
        return numpy.array(FLOATS).astype(dtype)


def pairs(dtype):
    one = values(dtype)
    a, b = (x.ravel() for x in numpy.meshgrid(one, one))
    return a.copy(), b.copy()


def check(name, operands):
    """One operation, on whole arrays and on every second element."""
    theirs, ours = getattr(numpy, name), getattr(np, name)
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            want, bound = theirs(*operands), None
        except (TypeError, ValueError) as error:
            with pytest.raises(TypeError if isinstance(error, TypeError) else ValueError):
                numpy.asarray(ours(*map(np.array, operands)))
            return
        if name in ROUNDED:
            want, bound = ulp(theirs, *operands)
        elif name in EXTREMES:
            bound = 0
        mine = [np.array(x) for x in operands]
        for part in (slice(None), slice(None, None, -2), slice(1, 8)):
            text = differ(numpy.asarray(ours(*(x[part] for x in mine))), want[part],
                          bound[part] if isinstance(bound, numpy.ndarray) else bound)
            assert not text, f"{name} {[x.dtype.name for x in operands]} {part}: {text}"


@pytest.mark.parametrize("dtype", NATIVE[:11])
@pytest.mark.parametrize("name", UNARY)
def test_one_operand(name, dtype):
    check(name, [values(dtype)])


@pytest.mark.parametrize("dtype", NATIVE[:11])
@pytest.mark.parametrize("name", BINARY)
def test_two_operands(name, dtype):
    a, b = pairs(dtype)
    if name == "power" and a.dtype.kind == "i":
        a, b = a[b >= 0], b[b >= 0]  # negative powers of integers raise
    if name == "nextafter" and dtype == "float16" and NUMPY >= (2, 5):  # gives the second of two zeros
        a, b = a[(a != 0) | (b != 0)], b[(a != 0) | (b != 0)]
    check(name, [a, b])


@pytest.mark.parametrize("to", NATIVE[:11])
@pytest.mark.parametrize("dtype", NATIVE[:11])
def test_casts(dtype, to):
    """Where C defines them: a float outside an integer's range has no answer."""
    x = values(dtype)
    if x.dtype.kind == "f" and numpy.dtype(to).kind in "iu":
        info = numpy.iinfo(to)
        with numpy.errstate(all="ignore"):
            x = x[numpy.isfinite(x) & (x > info.min - 1.0) & (x < float(info.max))]
    with numpy.errstate(all="ignore"):
        want = x.astype(to)
    for part in (slice(None), slice(None, None, -2)):
        assert not differ(numpy.asarray(np.array(x)[part].astype(to)), want[part])


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "any", "all", "argmin", "argmax"])
@pytest.mark.parametrize("dtype", NATIVE[:11])
def test_reductions(name, dtype):
    x = values(dtype)
    with numpy.errstate(all="ignore"):
        for rows in (x[None], x[:, None], numpy.tile(x, (5, 1)), numpy.tile(x[::-1], (40, 3)),
                     numpy.roll(numpy.tile(x, (40, 1)), 3, 1)):
            for axis in (0, 1, None):
                got = numpy.asarray(getattr(np, name)(np.array(rows), axis=axis))
                want, bound = numpy.asarray(getattr(rows, name)(axis=axis)), None
                if name in ("sum", "prod") and want.dtype.kind == "f":
                    want, bound = sums(rows, axis=axis, what=name)
                elif name in ("min", "max"):
                    bound = 0
                text = differ(got, want, bound)
                assert not text, f"{name} {dtype} {rows.shape} axis {axis}: {text}"


def test_clip_and_where_with_not_a_number():
    a, b = pairs("float64")
    mine = np.array(a), np.array(b)
    assert not differ(np.clip(mine[0], mine[1], 2.0), numpy.clip(a, b, 2.0), 0)
    assert not differ(np.where(mine[0] > mine[1], *mine), numpy.where(a > b, a, b))
    assert not differ(np.where(mine[0], *mine), numpy.where(a, a, b))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("n", [1, 3, 200])
def test_clip_keeps_a_zero_that_is_a_bound(dtype, n):
    for zero, bound in ((-0.0, 0.0), (0.0, -0.0)):
        for low, high in ((bound, 1.0), (-1.0, bound), (bound, bound)):
            x = numpy.full(n, zero, dtype)
            want = numpy.clip(x, low, high)
            for made in (np.clip(np.array(x), low, high), np.array(x).clip(low, high),
                         np.clip(np.array(x), np.array(low, dtype), np.array(high, dtype))):
                assert not differ(made, want)
            for i in (0, -1):
                assert not differ(np.clip(np.array(x)[i], low, high), want[i])


@pytest.mark.parametrize("bounds", [
    lambda v: (v, -1), lambda v: (-1, v), lambda v: (v, 300), lambda v: (v, 2 ** 70)])
@pytest.mark.parametrize("clip", [lambda np, a, *b: np.clip(a, *b), lambda np, a, *b: a.clip(*b)])
def test_of_several_mistakes_clip_tells_the_one_that_numpy_tells(clip, bounds):
    a, v = numpy.ones((1, 2, 1, 16), "uint64"), numpy.zeros((0, 1, 4), "uint64")
    with pytest.raises((ValueError, OverflowError)) as theirs:
        clip(numpy, a, *bounds(v))
    with pytest.raises(theirs.type) as ours:
        clip(np, np.array(a), *(np.array(b) if b is v else b for b in bounds(v)))
    assert str(ours.value) == str(theirs.value)


def everything():
    """All of the above; for a process of its own."""
    for dtype in NATIVE[:11]:
        for name in UNARY:
            test_one_operand(name, dtype)
        for name in BINARY:
            test_two_operands(name, dtype)
        for to in NATIVE[:11]:
            test_casts(dtype, to)
        for name in ("sum", "prod", "min", "max", "any", "all", "argmin", "argmax"):
            test_reductions(name, dtype)


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_heaviside_of_not_a_number_has_no_sign(dtype):
    given = numpy.array([numpy.nan, -numpy.nan, 1, -1, 0] * 7, dtype)
    got = numpy.asarray(np.copysign(3, np.heaviside(np.asarray(given.copy()), 0.5)))
    assert (got == numpy.copysign(3, numpy.heaviside(given, 0.5))).all()


def compiled(daemon):
    return sum(k["state"] == "ready" for k in daemon.kernels())


@pytest.mark.parametrize("share", [0.11, pytest.param(1, marks=pytest.mark.long)])
def test_compiled_kernels(share):
    """The same by compiled code: a second time, when that many of the kernels are compiled."""
    code = "import test_special_values; test_special_values.everything()"
    paths = os.pathsep.join([os.path.dirname(__file__), *filter(None, sys.path)])
    with Daemon(tier=1) as daemon:
        daemon.run(code, timeout=COMPILE_SECONDS, PYTHONPATH=paths)
        wanted = share * len(daemon.kernels())
        assert wanted > 100
        # One after the other in the background; which come first is the daemon's business.
        wait_until(lambda: compiled(daemon) >= wanted, COMPILE_SECONDS, "compiling")
        daemon.run(code, timeout=COMPILE_SECONDS, PYTHONPATH=paths)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", ["fmax", "fmin", "maximum", "minimum"])
def test_of_two_zeros_the_second_is_taken(name, dtype):
    """As NumPy's vectors do; numbers that NumPy is asked for, and arrays, agree."""
    if name[0] == "f" and NUMPY >= (2, 3):
        pytest.skip("NumPy takes the first")
    for shape in ((), 1, 3, 20, 5000):
        for pair in ((0.0, -0.0), (-0.0, 0.0)):
            a, b = (numpy.full(shape, v, dtype) for v in pair)
            want, have = getattr(numpy, name)(a, b), getattr(np, name)(np.asarray(a), np.asarray(b))
            assert numpy.array_equal(numpy.signbit(want), numpy.signbit(numpy.asarray(have))), (shape, pair)


PRODUCTS = """
import numpy
import braze.numpy as np
LONE = [complex(x, y) for x in (numpy.inf, -numpy.inf, 2.0, 0.0, -0.0) for y in (numpy.inf, 0.0, -0.0, numpy.nan)]
numpy.seterr(all="ignore")
for dtype in ("c8", "c16"):
    for n in (1, 2):
        x = numpy.array([[z, 1 + 0j][:n] for z in LONE], dtype)
        for rows in (np.asarray(x), np.asarray(numpy.asfortranarray(x)), np.asarray(x).reshape(-1, n, 1)):
            want = x.prod(axis=1)
            for got in (rows.prod(axis=1), rows.reshape(-1, 1, n).prod(axis=(1, 2))):
                got = numpy.asarray(got).reshape(want.shape)
                for part in ("real", "imag"):
                    a, b = getattr(got, part), getattr(want, part)
                    numpy.testing.assert_array_equal(a, b)
                    if n == 1:
                        numpy.testing.assert_array_equal(numpy.signbit(a)[b == b], numpy.signbit(b)[b == b])
        columns = numpy.asarray(np.asarray(x.T.copy()).prod(axis=0))
        numpy.testing.assert_array_equal(columns, x.prod(axis=1))
"""


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("near", ["0", "1"])
def test_products_of_few_complex_numbers_are_of_these_alone(tier, near):
    """Lanes of the sum's tree that no element went to take no part: 1 + 0i makes NaN of an infinity."""
    with Daemon(tier=tier) as daemon:
        daemon.run(PRODUCTS, BRAZE_NEAR=near)
        if tier:
            wait_until(lambda: compiled(daemon) == len(daemon.kernels()), 60, "compiling")
            daemon.run(PRODUCTS, BRAZE_NEAR=near)
