# SPDX-License-Identifier: Apache-2.0
"""Arrays of ml_dtypes' bfloat16: lazy, with its types and bits; what has no row in braze is NumPy's."""

import copy
import os
import pickle
import subprocess
import sys

import numpy
import pytest

import braze
import braze.numpy as np

ml_dtypes = pytest.importorskip("ml_dtypes")
BF = numpy.dtype(ml_dtypes.bfloat16)
OTHERS = ("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
          "complex64 complex128").split()
SPECIAL = numpy.array([0, 0x8000, 0x7F80, 0xFF80, 0x7FC0, 0xFFC0, 0x3F80, 0xBF80, 1, 0x8001, 0x7F7F, 0x4040,
                       0x3F00, 0x7FC1, 0x4000, 0xC000], "uint16")


def lazy(a):
    x = np.asarray(a.copy())
    assert type(x).__name__ == "Bfloat16Array" and x.dtype == BF and x.shape == a.shape
    return x


def some(*shape, seed=1):
    rng = numpy.random.default_rng(seed)
    return (rng.standard_normal(shape) * 3).astype(BF)


def same(got, want):
    """Type, shape and bits, but for those of NaNs; in other floats what a device may differ in."""
    got, want = numpy.asarray(got), numpy.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    if got.dtype == BF:
        one, two = got.view("uint16"), want.view("uint16")
        nans = (one & 0x7FFF > 0x7F80) & (two & 0x7FFF > 0x7F80)
        assert ((one == two) | nans).all(), (got, want)
    elif got.dtype.kind in "fc":
        assert numpy.allclose(got, want, 4 * numpy.finfo(got.dtype).eps, 0, equal_nan=True), (got, want)
    else:
        assert numpy.array_equal(got, want), (got, want)


def native(x):
    """Is it computed by braze, and not NumPy's?"""
    return type(x).__name__ == "Bfloat16Array" or type(x) is np.ndarray


UNARY = ("negative positive absolute sign square sqrt reciprocal floor ceil trunc rint isnan isinf isfinite signbit "
         "logical_not conjugate deg2rad rad2deg radians degrees").split()
NEARLY = ("cbrt exp expm1 exp2 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh "
          "arctanh").split()
BINARY = ("add subtract multiply divide floor_divide remainder fmod copysign heaviside minimum maximum fmin fmax equal "
          "not_equal less less_equal greater greater_equal logical_and logical_or logical_xor hypot").split()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", UNARY)
def test_all_numbers(name):
    a = numpy.arange(65536, dtype="uint16").view(BF)
    made = getattr(np, name)(lazy(a))
    assert native(made)
    same(made, getattr(numpy, name)(a))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NEARLY)
def test_functions(name):
    """Of float32, and rounded: another one next to it where that is nearly half-way."""
    a = numpy.arange(65536, dtype="uint16").view(BF)
    made, want = numpy.asarray(getattr(np, name)(lazy(a))), getattr(numpy, name)(a)
    assert made.dtype == BF
    one, two = made.view("int16").astype(int), want.view("int16").astype(int)
    nans = numpy.isnan(made) & numpy.isnan(want)
    assert (nans | (abs(one - two) <= 1)).all() and ((one != two) & ~nans).sum() < 20


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BINARY)
def test_pairs(name):
    rng = numpy.random.default_rng(2)
    first = numpy.concatenate([numpy.repeat(SPECIAL, len(SPECIAL)), rng.integers(0, 65536, 20000, "uint16"),
                               rng.integers(0x3F00, 0x4200, 20000, "uint16")]).view(BF)
    second = numpy.concatenate([numpy.tile(SPECIAL, len(SPECIAL)), rng.integers(0, 65536, 20000, "uint16"),
                                rng.integers(0x3F00, 0x4200, 20000, "uint16")]).view(BF)
    made = getattr(np, name)(lazy(first), lazy(second))
    assert native(made)
    same(made, getattr(numpy, name)(first, second))


def dtype_or_error(function):
    try:
        with numpy.errstate(all="ignore"):
            return numpy.asarray(function()).dtype
    except Exception as error:
        return type(error)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("other", OTHERS)
def test_types_of_ufuncs(other):
    """As NumPy has ml_dtypes' ufuncs take both: in either order, for each function; the values, too."""
    a, b = some(6), numpy.arange(1, 7).astype(other)
    for name in (*BINARY, "power", "arctan2", "logaddexp", "nextafter", "divmod", "matmul", "bitwise_and"):
        mine, theirs = getattr(np, name), getattr(numpy, name)
        assert dtype_or_error(lambda: mine(lazy(a), np.asarray(b))) == dtype_or_error(lambda: theirs(a, b)), name
        assert dtype_or_error(lambda: mine(np.asarray(b), lazy(a))) == dtype_or_error(lambda: theirs(b, a)), name
        if name in BINARY and not isinstance(dtype_or_error(lambda: theirs(a, b)), type):
            same(mine(lazy(a), np.asarray(b)), theirs(a, b))
            same(mine(np.asarray(b), lazy(a)), theirs(b, a))
            same(mine(lazy(a), b), theirs(a, b))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("other", [2, -3, 257, 100003, True, 1.5, 0.1, 1 + 2j, numpy.float32(1.1), numpy.int8(3),
                                   numpy.int64(3), numpy.float64(0.1), ml_dtypes.bfloat16(1.5)])
def test_numbers(other):
    a = some(50)
    for name in ("add", "subtract", "multiply", "divide", "maximum", "less", "equal", "power"):
        if name in ("less", "maximum") and isinstance(other, complex):
            continue
        if name != "power" or other == 2:
            same(getattr(np, name)(lazy(a), other), getattr(numpy, name)(a, other))
            same(getattr(np, name)(other, lazy(a)), getattr(numpy, name)(other, a)) if name != "power" else None
    x = lazy(a)
    same(x + other, a + other)
    same(other - x, other - a)
    same(x**2, a**2)
    same(-x, -a)
    same(abs(x), abs(a))
    same((x * 2 + 1) / x, (a * 2 + 1) / a)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("other", OTHERS)
def test_casts(other):
    with numpy.errstate(all="ignore"):
        a = numpy.concatenate([some(300), SPECIAL[:4].view(BF)]) if other in OTHERS[9:] else abs(some(300))
        same(lazy(a).astype(other), a.astype(other))
        b = numpy.concatenate([numpy.arange(-300, 300) * 77, [2**31 - 1, 65504, 3]]).astype(other)
        same(np.asarray(b).astype(BF), b.astype(BF))
    assert native(lazy(a).astype(other)) and (other[0] == "c" or native(np.asarray(b).astype(BF)))


def test_rounding():
    """To nearest, ties to even; from float64 by way of float32, as ml_dtypes."""
    bits = numpy.arange(0x3F7F0000, 0x3F830000, dtype="uint32")
    same(np.asarray(bits.view("float32")).astype(BF), bits.view("float32").astype(BF))
    wide = bits[::7].view("float32").astype("float64") * (1 + 2.0**-40)
    same(np.asarray(wide).astype(BF), wide.astype(BF))
    greatest = numpy.array([3.3895314e38, 3.4e38, -3.4e38, numpy.inf, 1e-40, -1e-45], "float32")
    same(np.asarray(greatest).astype(BF), greatest.astype(BF))


def test_reductions():
    """Extremes have its bits; sums are added up in float32 and rounded once, where ml_dtypes rounds each time."""
    a = some(30, 40)
    x = lazy(a)
    for axis in (None, 0, 1, (0, 1), -1):
        for name in ("max", "min", "any", "all"):
            same(getattr(np, name)(x, axis=axis), getattr(numpy, name)(a, axis=axis))
            same(getattr(x, name)(axis=axis, keepdims=True), getattr(a, name)(axis=axis, keepdims=True))
        same(np.sum(x, axis=axis), a.astype("float32").sum(axis=axis).astype(BF))
        assert native(np.sum(x, axis=axis))
    for axis in (None, 0, 1):
        same(x.argmax(axis), a.argmax(axis))
        same(np.argmin(x, axis=axis), numpy.argmin(a, axis=axis))
    same(x.mean(), a.astype("float32").mean().astype(BF))
    assert numpy.asarray(np.sum(x, dtype="float32")).dtype == "float32"
    same(np.max(lazy(SPECIAL.view(BF))), numpy.max(SPECIAL.view(BF)))
    same(np.prod(lazy(a[0, :5])), a[0, :5].astype("float32").prod().astype(BF))


def test_products():
    """float32's, which NumPy makes of them."""
    a, b = some(33, 70), some(70, 41, seed=2)
    for mine, theirs in ((lazy(a) @ lazy(b), a @ b), (lazy(a) @ lazy(b)[:, 3], a @ b[:, 3]),
                         (np.matmul(lazy(a), np.asarray(b.astype("float32"))), a @ b.astype("float32"))):
        got, want = numpy.asarray(mine), numpy.asarray(theirs)
        assert native(mine) and got.dtype == want.dtype == "float32" and got.shape == want.shape
        assert numpy.allclose(got, want, rtol=1e-5, atol=1e-4)
    assert numpy.asarray(np.dot(lazy(a), lazy(b))).dtype == BF == numpy.dot(a, b).dtype
    with pytest.raises(ValueError, match="matmul"):
        lazy(a) @ lazy(a)


def test_moves():
    a, b = some(6, 8), some(6, 8, seed=2)
    x, y = lazy(a), lazy(b)
    for of in (lambda m: m.T, lambda m: m[1:5, ::2], lambda m: m[::-1], lambda m: m.reshape(4, 12), lambda m: m.ravel(),
               lambda m: m[[3, 1, 1]], lambda m: m[numpy.array([[0, 1], [2, 3]])], lambda m: m[..., None],
               lambda m: m.swapaxes(0, 1), lambda m: m[m > 0], lambda m: m.copy(), lambda m: m[2], lambda m: m[2, 3]):
        same(of(x), of(a))
    for name, args in (("flip", ()), ("roll", (3,)), ("repeat", (2,)), ("tile", (2,)), ("expand_dims", (0,)),
                       ("broadcast_to", ((3, 6, 8),)), ("take", ([1, 4],)), ("tril", ())):
        made = getattr(np, name)(x, *args)
        same(made, getattr(numpy, name)(a, *args))
        assert native(made)
    for name in ("concatenate", "stack", "vstack", "hstack"):
        same(getattr(np, name)([x, y]), getattr(numpy, name)([a, b]))
    same(np.where(x > y, x, y), numpy.where(a > b, a, b))
    same(np.concatenate([x, np.asarray(a.astype("float32"))]), numpy.concatenate([a, a.astype("float32")]))
    with pytest.raises(TypeError):
        numpy.concatenate([a, a.astype("int32")])
    with pytest.raises(TypeError):
        np.concatenate([x, np.asarray(a.astype("int32"))])
    for mine, theirs in zip(np.split(x, 2), numpy.split(a, 2), strict=True):
        same(mine, theirs)


def test_writing():
    a = some(6, 8)
    x = lazy(a)
    old = x * 1
    before = a.copy()
    for m in (a, x):
        m[0] = 1.1
        m[1:3, ::2] = 7
        m[5] = m[4]
        m += 1
        m *= m
        m[3] -= 0.3
    same(x, a)
    x[2] = np.asarray(numpy.linspace(0, 1, 8))
    a[2] = numpy.linspace(0, 1, 8)
    x[x > 2] = 0
    a[a > 2] = 0
    same(x, a)
    same(old, before)


def test_what_braze_has_not():
    """NumPy's, with the real type; what writes into an array writes into ours."""
    a = some(5, 9)
    x = lazy(a)
    for name in ("sort", "cumsum", "std", "median", "nextafter", "clip", "argsort", "trace", "ptp"):
        more = {"nextafter": (1,), "clip": (-1, 1)}.get(name, ())
        same(getattr(np, name)(x, *more), getattr(numpy, name)(a, *more))
    x.sort(axis=0)
    a.sort(axis=0)
    same(x, a)
    x.fill(2.5)
    a.fill(2.5)
    same(x, a)
    np.put(x, [3, 4], [1, 2])
    numpy.put(a, [3, 4], [1, 2])
    np.copyto(x[1:2], 5)
    numpy.copyto(a[1:2], 5)
    same(x, a)
    out = lazy(a)
    np.add(x, 1, out=out)
    same(out, a + 1)
    assert np.dot(x[:, :5], x[:5, :5], out=(square := lazy(a[:, :5]))) is square
    same(square, numpy.dot(a[:, :5], a[:5, :5]))
    f, theirs = np.ones((5, 9), "float32"), numpy.ones((5, 9), "float32")
    for m, of in ((f, x), (theirs, a)):
        m += of
        m *= of + 1
        np.subtract(of, 0.3, out=m[:, ::-1])
        np.multiply(m, of, out=m)
    same(f, theirs)
    with pytest.raises(TypeError):
        np.add(x, 1, out=np.ones((5, 9), "int32"))
    assert x.tolist() == a.tolist() and repr(x) == repr(a) and str(x) == str(a)
    assert float(x[0, 0]) == float(a[0, 0]) and int(x[0, 0]) == int(a[0, 0]) and bool(x[0, 0] == 2.5)
    with pytest.raises(TypeError):
        x & x
    with pytest.raises(TypeError):
        x << 1
    with pytest.raises(AttributeError):
        x.nothing


def test_travels():
    a = some(4, 3)
    x = lazy(a) + 1
    same(pickle.loads(pickle.dumps(x)), a + 1)
    same(copy.copy(x), a + 1)
    same(copy.deepcopy(x), a + 1)
    assert np.asarray(x) is x and numpy.asarray(x).dtype == BF and numpy.asarray(x, "float64").dtype == "float64"
    same(np.array(x), a + 1)
    assert [float(v) for v in x[0]] == (a + 1)[0].astype(float).tolist() and len(x) == 4
    assert (x.size, x.ndim, x.nbytes, x.itemsize) == (12, 2, 24, 2)


@pytest.mark.skipif(bool(os.environ.get("BRAZE_EAGER") or os.environ.get("BRAZE_UNFUSED")), reason="not lazy, or not one")
def test_is_lazy_and_one_kernel():
    x = lazy(some(50, 60))
    y = (x * x + 1) / (abs(x) + 2)
    assert not braze.is_stored(y) or os.environ.get("BRAZE_NEAR") != "0"
    braze.wait(y)
    assert braze.is_stored(y) and braze.is_stored(np.ones(3)) in (True, False)
    if os.environ.get("BRAZE_NEAR") == "0":
        assert "1 step," in braze.explain(y)


def test_gives_way():
    """A function with an array of another type beside it, or an array as its output, asks bfloat16's."""
    a, f = some(4), numpy.ones(4, "float32")
    x = lazy(a)
    same(np.concatenate([np.asarray(f), x]), numpy.concatenate([f, a]))
    same(np.where(np.asarray(f) > 0, x, np.asarray(f)), numpy.where(f > 0, a, f))
    out, theirs = lazy(a), a.copy()
    np.arctan(np.asarray(f), out)
    numpy.arctan(f, theirs)
    same(out, theirs)
    for wrong in (lambda np, x: np.take(np.ones(3), x), lambda np, x: np.ones(3)[x], lambda np, x: np.sum(np.ones(3), axis=x),
                  lambda np, x: np.ones((3, 3)).var(x), lambda np, x: np.zeros(x)):
        with pytest.raises((TypeError, IndexError)):
            wrong(numpy, a)
        with pytest.raises((TypeError, IndexError)):
            wrong(np, x)
    same(np.asarray([x[0], x[1]]), numpy.asarray([a[0], a[1]]))
    assert type(x[0]) is ml_dtypes.bfloat16 and list(x) == list(a) and max(x) == max(a)


def test_ml_dtypes_is_not_imported():
    code = ("import sys, braze.numpy as np, numpy; x = np.arange(3) + 1; np.asarray(numpy.zeros(3, 'V2')); x.sum();"
            " assert 'ml_dtypes' not in sys.modules and 'braze.numpy._bfloat16' not in sys.modules")
    subprocess.run([sys.executable, "-c", code], check=True)
