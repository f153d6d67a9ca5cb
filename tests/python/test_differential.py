# SPDX-License-Identifier: Apache-2.0
"""Each expression runs in NumPy and in braze: dtype, shape and values must agree.

+ - * / sqrt, integers, comparisons and copies agree to the bit; other functions
within 4 units in the last place (float16: 1); sums to 1e-12 relative (float32: 1e-5,
float16, which NumPy rounds more often: 1e-2).
"""

import warnings

import numpy
import pytest

import braze.numpy

DTYPES = ["bool", "int8", "int32", "int64", "uint8", "uint32", "float16", "float32", "float64",
          "complex128"]
SHAPES = [(), (1,), (7,), (3, 4), (2, 3, 5), (0,), (3, 0)]

UNARY = (
    "-a|+a|abs(a)|~a|a**2|a**1|a**0|a**-1|a**0.5|a**3|a+1|1+a|a-1|2-a|a*3|3*a|a/2|2/a|a//2|a%3|"
    "a+1.5|a*0.5|a<1|a<=1|a==1|a!=1|a>1|a>=1|a&1|a|1|a^1|a<<1|a>>1|divmod(a, 3)|a+True|a*1j|"
    "np.square(a)|np.sign(a)|np.negative(a)|np.absolute(a)|np.conj(a)|np.isnan(a)|np.isfinite(a)|"
    "np.isinf(a)|np.logical_not(a)|np.floor(a)|np.ceil(a)|np.trunc(a)|np.rint(a)|np.sqrt(abs(a))|"
    "np.maximum(a, 1)|np.minimum(a, 1)|np.clip(a, 0, 2)|np.where(a > 1, a, 0)|np.real(a)|"
    "np.imag(a)|"
    "a.real|a.imag|a.conj()|a.copy()|a.T|a.ravel()|a.flatten()|a.reshape(-1)|a.astype('float64')|"
    "a.astype('int32')|a.astype(bool)|np.zeros_like(a)|np.ones_like(a)|np.full_like(a, 1)|"
    "a[...]|a[None]|a[..., None]|np.expand_dims(a, 0)|np.squeeze(a)|np.atleast_1d(a)|"
    "np.atleast_2d(a)|np.count_nonzero(a)|np.logical_and(a, 1)|np.logical_or(a, 0)|"
    "np.logical_xor(a, 1)|np.add(a, 1)|np.equal(a, 1)|np.power(a, 2)|np.fmax(a, 1)|np.fmin(a, 1)|"
    "a.any()|a.all()|np.any(a)|np.all(a)|a.size|a.ndim|a.shape|a.nbytes|a.itemsize|"
    "np.tile(a, 2)|np.repeat(a, 2)|np.flip(a)|np.roll(a, 1)|np.ndim(a)|np.size(a)|np.shape(a)|"
    "np.concatenate([np.ravel(a), np.ravel(a)])|np.stack([a, a])|np.vstack([a, a])|"
    "np.hstack([a, a])|"
    "np.float64(2) * a|a * np.float32(2)|a + np.int8(1)|np.int64(3) + a|a - np.uint8(1)|"
    "np.array_equal(a, a)|np.cumsum(a)|np.sort(a, axis=None)|np.unique(a)|a == None|a.tolist()|"
    "np.heaviside(a, 1)|np.copysign(a, -1)|np.signbit(a)|a.round()|np.round(a)|np.isreal(a)"
).split("|")
# "a|1" was cut in two by the separator; put it back.
UNARY = [e for e in UNARY if e not in ("a", "1")] + ["a | 1"]

FLOATING = [
    f"np.{f}(a)"
    for f in (
        "exp expm1 exp2 sin cos tan arctan sinh cosh tanh arcsinh log log2 log10 log1p arcsin "
        "arccos arctanh arccosh cbrt reciprocal"
    ).split()
] + ["np.arctan2(a, 2)", "np.hypot(a, 2)", "np.logaddexp(a, 1)", "np.nextafter(a, 2)", "a**2.5"]

REDUCE = (
    "a.sum();a.prod();a.mean();a.var();a.std();np.sum(a, axis=0);a.sum(axis=-1);"
    "a.sum(axis=0, keepdims=True);a.mean(axis=0);a.std(axis=0);a.var(ddof=1);np.prod(a, axis=-1);"
    "a.min();a.max();a.argmin();a.argmax();np.min(a, axis=0);np.max(a, axis=-1, keepdims=True);"
    "np.argmin(a, axis=0);np.argmax(a, axis=-1);a.any(axis=0);a.all(axis=-1);np.ptp(a, axis=0);"
    "np.sum(a, dtype='float64');np.add.reduce(a);np.average(a);np.median(a);a.sum(axis=7);"
    "np.mean(a, axis=(0,));np.sum(a, axis=());np.diff(a);np.trace(a);np.diagonal(a);np.diag(a);"
    "np.triu(a);np.tril(a);a.cumsum();np.cumprod(a);np.dot(a, a);a @ a;np.inner(a, a);"
    "np.outer(a, a);np.vdot(a, a);a.dot(a);np.swapaxes(a, 0, 1);np.moveaxis(a, 0, -1);"
    "a[0];a[-1];a[1:];a[::-1];a[::2];a[..., 0];a[0:0];a[5];a[1:, 0];a[None, 0];a[1, 2];a[[0, 0]];"
    "a[a > 1];a.nonzero();np.where(a > 1);np.split(a, 2);np.transpose(a);len(a);list(a)[0] + 1;"
    "a.reshape(4, 3);a.reshape(2, -1);a.reshape(5);np.broadcast_to(a, (2,) + a.shape);1 in a;"
    "np.searchsorted(np.sort(a, axis=None), 1);np.percentile(a, 30);a.swapaxes(0, -1);"
    "np.add.outer(a, a);np.einsum('i...->...', a);bool(a);float(a);int(a);complex(a);"
    "np.linalg.norm(a);np.fft.fft(a);np.array([a, a]);np.meshgrid(a, a)[0];np.nansum(a);a.item(0);"
    "np.concatenate([a, a], axis=-1);np.concatenate([a, a[..., None]]);np.rot90(a);np.fliplr(a)"
).split(";")

BINARY = (
    "a+b a-b a*b a/b a//b a%b a**b a<b a<=b a==b a!=b a>b a>=b a&b a^b a<<b a>>b np.maximum(a,b) "
    "np.minimum(a,b) np.where(a>b,a,b) np.arctan2(a,b) np.hypot(a,b) np.fmod(a,b) np.equal(a,b) "
    "np.logical_and(a,b) np.dot(a,b) a@b np.add(a,b) np.subtract(a,b) np.copysign(a,b)"
).split()

APPROXIMATE = ("exp", "log", "sin", "cos", "tan", "cbrt", "hypot", "**", "power", "arc", "abs")
SUMS = (
    "sum mean var std prod average dot @ inner vdot trace norm fft einsum median percentile "
    "cumprod outer reduce"
).split()


CLOSE = {"float16": (1e-2, 4e-3), "float32": (1e-5, 1e-6), "complex64": (1e-5, 1e-6)}  # sums
ULPS = {"float16": 1}


def data(dtype, shape, seed=0):
    rng = numpy.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool) if shape else numpy.array(True)
    if dtype[0] in "iu":
        low = 0 if dtype[0] == "u" else -5
        return numpy.asarray(rng.integers(low, 9, shape)).astype(dtype)
    if dtype == "complex128":
        return numpy.asarray(rng.normal(size=shape) + 1j * rng.normal(size=shape))
    return numpy.asarray(rng.normal(size=shape) * 2).astype(dtype)


def outcome(expression, module, **names):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = eval(expression, {"np": module, **names})
            return plain(value), None
        except Exception as error:  # noqa: BLE001 - any class is compared
            return None, error


def plain(x):
    if isinstance(x, (tuple, list)):
        return [plain(y) for y in x]
    return numpy.array(x) if type(x) is braze.numpy.ndarray else x


def ulp_close(got, want, ulps):
    parts = [(got, want)]
    if got.dtype.kind == "c":
        # Error of complex functions is measured against the modulus.
        scale = numpy.abs(want)
        with numpy.errstate(all="ignore"):
            bad = numpy.abs(got - want) > ulps * numpy.finfo(want.dtype).eps * scale
        nan = numpy.isnan(got) | numpy.isnan(want) | numpy.isinf(want)
        return not (bad & ~nan).any() and (numpy.isnan(got) == numpy.isnan(want)).all()
    for g, w in parts:
        with numpy.errstate(all="ignore"):
            step = numpy.spacing(numpy.abs(w))
            ok = (g == w) | (numpy.isnan(g) & numpy.isnan(w)) | (numpy.abs(g - w) <= ulps * step)
        if not ok.all():
            return False
    return True


def as_exact(got, want, exact):
    """Within 4 units of the exact value, or no further from it than NumPy, at every place."""
    off, numpys = numpy.abs(got - exact), numpy.abs(want - exact)
    return (off <= numpy.maximum(4 * numpy.finfo(want.dtype).eps * numpy.abs(exact), numpys)).all()


def same(expression, got, want, exact=None):
    if isinstance(want, list):
        assert isinstance(got, list) and len(got) == len(want), expression
        for g, w in zip(got, want, strict=True):
            same(expression, g, w)
        return
    if not isinstance(want, (numpy.ndarray, numpy.generic)):
        got = got.item() if isinstance(got, numpy.ndarray) else got
        assert type(got) is type(want), (expression, got, want)
        if isinstance(want, float):
            both_nan = got != got and want != want
            assert got == want or both_nan or abs(got - want) < 1e-12 * abs(want)
        else:
            assert got == want, expression
        return
    got, want = numpy.asarray(got), numpy.asarray(want)
    assert got.dtype == want.dtype, f"{expression}: dtype {got.dtype}, NumPy {want.dtype}"
    assert got.shape == want.shape, f"{expression}: shape {got.shape}, NumPy {want.shape}"
    same_values(expression, got, want, exact)


def same_values(expression, got, want, exact):
    text = f"{expression}: {got!r}, NumPy {want!r}"
    if want.dtype.kind in "fc" and any(word in expression for word in SUMS):
        rtol, atol = CLOSE.get(str(want.dtype), (1e-12, 1e-13))
        numpy.testing.assert_allclose(got, want, rtol=rtol, atol=atol, err_msg=text)
    elif want.dtype.kind in "fc" and any(word in expression for word in APPROXIMATE):
        assert (ulp_close(got, want, ULPS.get(str(want.dtype), 4))
                or exact is not None and as_exact(got, want, exact)), text
    elif want.dtype.kind == "c":
        assert ulp_close(got, want, 2), text
    else:
        assert ((got == want) | ((got != got) & (want != want))).all(), text


def compare(expression, **names):
    want, error = outcome(expression, numpy, **names)
    mine = {k: braze.numpy.array(v) for k, v in names.items()}
    got, raised = outcome(expression, braze.numpy, **mine)
    if error is None:
        assert raised is None, f"{expression}: raised {raised!r}, NumPy gives {want!r}"
        exact = None
        if "**" in expression and getattr(want, "dtype", None) == "complex128":
            # NumPy's own complex powers are up to ten units off.
            exact, _ = outcome(expression, numpy, **{k: v.astype("clongdouble")
                                                     for k, v in names.items()})
        same(expression, got, want, exact)
        return
    base = next(c for c in (TypeError, ValueError, IndexError, OverflowError, AttributeError,
                            ZeroDivisionError, Exception) if isinstance(error, c))
    assert isinstance(raised, base), f"{expression}: NumPy raises {error!r}, braze {raised or got!r}"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("expression", UNARY)
def test_one_operand(expression, dtype):
    for shape in SHAPES:
        compare(expression, a=data(dtype, shape))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex128", "int64", "int8"])
@pytest.mark.parametrize("expression", FLOATING)
def test_functions(expression, dtype):
    compare(expression, a=data(dtype, (40,)))
    compare(expression, a=data(dtype, (3, 4))[::2, 1:])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("expression", REDUCE)
def test_reductions_shapes_and_indices(expression, dtype):
    for shape in [(7,), (3, 4), (4, 4), (1,), (2, 3, 5), ()]:
        compare(expression, a=data(dtype, shape))


@pytest.mark.parametrize("expression", BINARY)
@pytest.mark.parametrize("left", DTYPES)
@pytest.mark.parametrize("right", ["bool", "int8", "int64", "uint8", "float16", "float32", "float64"])
def test_two_operands(expression, left, right):
    for s, t in [((4,), (4,)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((), (3,)), ((3,), (4,))]:
        compare(expression, a=data(left, s), b=data(right, t, 1))


STATEMENTS = [
    "a += b", "a -= b", "a *= 2", "a /= 2", "a //= 2", "a **= 2", "a[0] = 5", "a[1:] = a[:-1]",
    "a[:-1] = a[1:]", "a[::-1] = a", "a[1:] += a[:-1]", "a[a > 1] = 0", "a[a > 1] += 1",
    "a[[0, 1]] = 7", "a[...] = 3.7", "a[:] = b[::-1]", "a[1:3] = [8, 9]", "a[2] = a[0]",
    "a.fill(2)", "c = a[1:4]; c += 1", "c = a[::2]; c[1] = 9; a = c", "a[-1] = b.sum()",
    "np.add(a, b, out=a)", "np.multiply(a, b, a)", "np.exp(a, out=a)", "a += 1.5", "a += 1j",
    "a[9] = 1", "a[1, 1] = 0", "a[1:3] = [1, 2, 3]", "a.sort()", "a.shape = (5, 1)",
    "a.shape = (4, 2)", "b = a; b += 1", "s = a.sum(); t = s; s += 1; a = t",
    "s = a[0]; a[0] = 6; b = s", "np.copyto(a, b)", "a.flat[2] = 4", "a @= b", "a <<= 1",
    "a &= 1", "for i in range(5): a[i] = a[i - 1] + 1", "a[a < 0] = np.float32(1)",
    "for i in range(40): a[i % 5] = i", "c = a.T; c[0] = 3", "a.real[1] = 4", "a, b = b, a",
    "a = np.add(a, b, dtype='float64')", "np.negative(a, out=a, where=a > 0)",
    "c = a.reshape(5, 1); c[2] = 5", "c = np.broadcast_to(a, (2, 5)); a = c + b",
]


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float16", "float32", "float64", "complex128",
                                   "bool"])
@pytest.mark.parametrize("statement", STATEMENTS)
def test_statements(statement, dtype):
    """After the statement, a and b are what NumPy makes of them."""
    results = []
    for module in (numpy, braze.numpy):
        space = {
            "np": module,
            "a": module.array(data(dtype, (5,))),
            "b": module.array(data(dtype, (5,), 1)),
        }
        error = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                exec(statement, space)
            except Exception as e:  # noqa: BLE001
                error = e
        results.append((plain(space["a"]), plain(space["b"]), error))
    (a, b, wanted), (x, y, raised) = results
    if wanted is not None:
        base = next(c for c in (TypeError, ValueError, IndexError, OverflowError, Exception)
                    if isinstance(wanted, c))
        assert isinstance(raised, base), f"NumPy raises {wanted!r}, braze {raised!r}"
    else:
        assert raised is None, repr(raised)
    same(statement, x, a)
    same(statement, y, b)


CREATION = [
    "np.zeros(3)", "np.zeros((2, 3), dtype='int32')", "np.ones(4, 'float32')", "np.full((2, 2), 7)",
    "np.full(3, 1.5)", "np.full(3, True)", "np.arange(5)", "np.arange(2, 9)", "np.arange(2, 9, 3)",
    "np.arange(9, 2, -2)", "np.arange(0, 1, 0.1)", "np.arange(3.0)",
    "np.arange(5, dtype='float32')", "np.arange(0, 2, 0.1, dtype='float16')", "np.eye(3, dtype='e')",
    "np.linspace(0, 1, 9, dtype='e')", "np.full(3, 1e5, 'e')", "np.array([1.1, 2], 'e').astype('D')",
    "np.arange(0, 70000, 9000, dtype='e')", "np.ones(3, 'e') * 2.1 + np.ones(3, 'i1')",
    "np.arange(0)", "np.arange(5, 2)", "np.linspace(0, 1, 7)", "np.linspace(0, 1)",
    "np.linspace(2, 5, 6, endpoint=False)", "np.linspace(0, 10, 5, retstep=True)[0]",
    "np.linspace(1, 1, 3)", "np.linspace(0, 1, 1)", "np.eye(3)", "np.eye(3, 4, 1)",
    "np.eye(2, k=-1)",
    "np.identity(3)", "np.tri(3)", "np.tri(3, 4, 1, int)", "np.array([1, 2, 3])",
    "np.tri(-1)", "np.tri(2, -1)", "np.tri(-1, 3)",
    "np.array([[1.5, 2], [3, 4]])", "np.array(5)", "np.array([1, 2], dtype='float32')",
    "np.array([1, 2], ndmin=2)", "np.asarray([True, False])", "np.array([1j, 2])",
    "np.zeros((2, 0))", "np.mgrid[0:3, 0:2]", "np.meshgrid(np.arange(3), np.arange(2))",
    "np.logspace(0, 2, 4)", "np.zeros(3, 'float16')", "np.array(['x', 'y'])", "np.r_[1:4, 0]",
    "np.fromfunction(lambda i, j: i + j, (2, 3))", "np.indices((2, 3))", "np.zeros(-1)",
    "np.array([1, 2, 300], dtype='int8')", "np.arange(1, 2, 0)", "np.geomspace(1, 8, 4)",
    "np.vander([1, 2, 3])", "np.pi", "np.sqrt(2.0)", "np.add(1, 2)", "np.add([1, 2], [3, 4])",
    "np.sum([1, 2, 3])", "np.mean([[1, 2], [3, 4]], axis=0)", "np.dot([1, 2], [3, 4])",
    "np.concatenate(([1, 2], [3.5]))", "np.maximum([1, 5], 3)", "np.where([True, False], 1, 2)",
    "np.result_type('int8', 'float32')", "np.pad(np.arange(3), 1)", "np.kron([1, 2], [3, 4])",
    "np.cross([1, 2, 3], [4, 5, 6])", "np.histogram([1, 2, 1], bins=2)[0]",
    "np.cov([[1, 2], [3, 5]])",
    "np.linalg.solve(np.eye(2), np.ones(2))", "np.linalg.inv(2 * np.eye(2))", "np.finfo(float).eps",
    "np.apply_along_axis(sum, 0, np.eye(2))", "np.interp(1.5, [1, 2], [3, 4])",
]


@pytest.mark.parametrize("expression", CREATION)
def test_creation(expression):
    compare(expression)
