# SPDX-License-Identifier: Apache-2.0
"""float16 against NumPy's: every number, every tie, casts from and to every type."""

import numpy
import pytest

import braze
import braze.numpy as np
import harness
from versions import NUMPY

TYPES = "?bhilBHILfdFD"
ALL = numpy.arange(65536, dtype="u2").view("f2")
PLAIN = ALL[(ALL.view("u2") & 0x7E00) != 0x7C00]  # without the NaN that signal
FINITE = PLAIN[numpy.isfinite(PLAIN)]


def same(got, want, ulps=0):
    """Equal bits, or units in the last place; one NaN is as good as another."""
    assert type(got) is np.ndarray
    got = numpy.asarray(got)
    assert got.dtype == want.dtype and got.shape == want.shape
    if want.dtype.kind not in "fc":
        assert (got == want).all()
        return
    nan = numpy.isnan(want)
    assert (numpy.isnan(got) == nan).all()
    if ulps:
        places = (numpy.where(x < 0, -(x & 0x7FFF), x) for x in
                  (got.view("i2").astype(int), want.view("i2").astype(int)))
        assert (nan | (abs(next(places) - next(places)) <= ulps)).all()
    else:
        assert (nan | (got == want)).all()
        assert (nan | (numpy.signbit(got.real) == numpy.signbit(want.real))).all()


@pytest.fixture(autouse=True)
def quiet():
    with numpy.errstate(all="ignore"):
        yield


def test_every_number_goes_and_comes_without_change():
    a = np.asarray(ALL)
    assert (numpy.asarray(a).view("u2") == ALL.view("u2")).all()
    assert (numpy.asarray(np.array(a)[::-1]).view("u2") == ALL[::-1].view("u2")).all()


@pytest.mark.parametrize("to", TYPES)
def test_casts_to_every_type(to):
    same(np.asarray(PLAIN).astype(to), PLAIN.astype(to))


@pytest.mark.parametrize("of", "?bhilBHIL")
def test_casts_of_integers(of):
    if of == "?":
        x = numpy.array([True, False])
    else:
        low, high = numpy.iinfo(of).min, numpy.iinfo(of).max
        some = numpy.random.default_rng(1).integers(low, high, 3000, of, endpoint=True)
        x = numpy.concatenate([some, numpy.arange(max(low, -70000), min(high, 70000)).astype(of)])
    same(np.asarray(x).astype("f2"), x.astype("f2"))


@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.parametrize("of", "fdFD")
def test_casts_of_floats_are_rounded_once(of):
    x = FINITE.astype("d")
    above = numpy.nextafter(FINITE, numpy.float16(numpy.inf)).astype("d")
    tie = (x + numpy.where(numpy.isinf(above), 65536, above)) / 2
    x = numpy.concatenate([x, tie, numpy.nextafter(tie, numpy.inf), numpy.nextafter(tie, -numpy.inf),
                           tie * (1 + 2**-30), tie * (1 - 2**-30),
                           [65520, 65519.999, 1e300, numpy.inf, numpy.nan, 5e-324, 2.0**-25, 0]])
    x = numpy.concatenate([x, -x]).astype(of)
    same(np.asarray(x).astype("f2"), x.astype("f2"))


EXACT_1 = ("negative positive absolute sign square sqrt reciprocal radians degrees floor ceil trunc rint isnan isinf "
           "isfinite signbit logical_not conjugate").split()
CLOSE_1 = ("cbrt exp expm1 exp2 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh "
           "tanh arcsinh arccosh arctanh").split()
EXACT_2 = ("add subtract multiply divide floor_divide remainder fmod copysign nextafter heaviside "
           "minimum maximum fmin fmax equal less less_equal greater logical_and logical_xor").split()
CLOSE_2 = "power arctan2 hypot logaddexp".split()


@pytest.mark.parametrize("name", EXACT_1 + CLOSE_1)
def test_functions_of_every_number(name):
    same(getattr(np, name)(np.asarray(PLAIN)), getattr(numpy, name)(PLAIN), name in CLOSE_1)


@pytest.mark.parametrize("name", EXACT_2 + CLOSE_2)
def test_functions_of_two(name):
    some = numpy.array([0, -0.0, 1, -1, 0.5, 3, numpy.inf, -numpy.inf, numpy.nan, 65504, 6e-8], "f2")
    some = numpy.concatenate([some, PLAIN[::613]])
    x, y = numpy.repeat(some, some.size), numpy.tile(some, some.size)
    if name == "nextafter" and NUMPY >= (2, 5):  # gives the second of two zeros
        x, y = x[(x != 0) | (y != 0)], y[(x != 0) | (y != 0)]
    same(getattr(np, name)(np.asarray(x), np.asarray(y)), getattr(numpy, name)(x, y),
         name in CLOSE_2)


@pytest.mark.parametrize("other", TYPES)
def test_common_types(other):
    x, y = numpy.ones(3, "f2"), numpy.ones(3, other)
    for name in ("add", "divide", "maximum"):
        same(getattr(np, name)(np.asarray(x), np.asarray(y)), getattr(numpy, name)(x, y))
    if other not in "FD":
        assert np.hypot(np.asarray(x), np.asarray(y)).dtype == numpy.hypot(x, y).dtype
    assert (np.asarray(x) + 2.5).dtype == (np.asarray(x) * 3).dtype == numpy.float16
    assert (np.asarray(x) + 1j).dtype == numpy.complex64
    assert (np.asarray(y) * numpy.float16(2)).dtype == (y * numpy.float16(2)).dtype


@pytest.mark.parametrize("small", "?bB")
def test_functions_of_bytes_are_halves(small):
    x = numpy.arange(2 if small == "?" else 120).astype(small)
    before = braze.fallbacks()
    for name in ("sqrt", "sin", "log1p", "rint", "arctan"):
        same(getattr(np, name)(np.asarray(x)), getattr(numpy, name)(x), 1)
    assert braze.fallbacks() == before


@pytest.mark.parametrize("shape, axis", [((70001,), None), ((300, 70), 0), ((300, 70), 1),
                                         ((9, 30, 40), (0, 2)), ((9, 30, 40), 1)])
def test_sums_are_rounded_once(shape, axis):
    x = numpy.random.default_rng(2).normal(size=shape).astype("f2")
    a = np.asarray(x)
    for name in ("sum", "prod"):
        f = getattr(np, name)
        made = f(a, axis=axis)
        same(made[...], numpy.asarray(f(a.astype("f4"), axis=axis)).astype("f2"))
    exact = x.astype("f8").sum(axis=axis)
    error = abs(numpy.asarray(a.sum(axis=axis)).astype("f8") - exact)
    assert (error <= 0.51 * numpy.spacing(abs(exact).astype("f2"))).all()
    for name in ("min", "max", "any", "all"):
        same(getattr(a, name)(axis=axis)[...], numpy.asarray(getattr(x, name)(axis=axis)))
    same(a.mean(axis=axis)[...], numpy.asarray(x.astype("f4").mean(axis=axis)).astype("f2"), 1)
    if not isinstance(axis, tuple):
        same(a.argmin(axis=axis)[...], numpy.asarray(x.argmin(axis=axis)))
        same(a.argmax(axis=axis)[...], numpy.asarray(x.argmax(axis=axis)))


@pytest.mark.parametrize("shape", [(4000,), (300, 40), (40, 300)])
def test_deviations(shape):
    """What a half's mean makes of the elements is reduced in the same kernel."""
    x = numpy.random.default_rng(3).random(shape).astype(numpy.float16)
    a = np.asarray(x)
    for _ in range(3):
        for axis in (None, *range(len(shape))):
            got = numpy.asarray(np.var(a, axis=axis)).astype("f")
            # NumPy adds halves one by one where they lie apart; these are rounded where theirs are.
            mean = x.mean(axis=axis, keepdims=True, dtype="f").astype("e")
            d = x - mean
            want = ((d * d).sum(axis=axis, dtype="f").astype("e") / (x.size // max(1, got.size))).astype("f")
            numpy.testing.assert_allclose(got, want, rtol=4e-3)


def test_deviations_compile():
    program = """
import numpy, braze, braze.numpy as np
a = np.asarray(numpy.arange(12000).reshape(300, 40).astype("e"))
for axis in (None, 0, 1):
    braze.wait(np.var(a, axis=axis), np.std(a, axis=axis), a - a.mean(axis=axis, keepdims=True))
"""
    with harness.Daemon(tier=1) as daemon:
        daemon.run(program, timeout=300, BRAZE_NEAR="0")
        harness.wait_until(lambda: not any(k["state"] == "compiling" for k in daemon.kernels()), 300,
                           "the end of compiling")
        assert not daemon.failed_kernels()
        assert daemon.kernels() and all(k["state"] == "ready" for k in daemon.kernels())


def test_means_of_more_elements_than_a_half_can_count():
    x = numpy.ones(70000, "f2")
    a = np.asarray(x)
    assert float(a.mean()) == 1 and numpy.isinf(float(a.sum()))
    assert float(a[:3001].var()) == float(x[:3001].var())
    assert a.mean().dtype == a.std().dtype == numpy.float16
    assert float((a[:3001] * 3).sum(dtype="f8")) == 9003


def test_matrix_products():
    rng = numpy.random.default_rng(3)
    x, y = rng.normal(size=(2, 37, 65)).astype("f2"), rng.normal(size=(65, 20)).astype("f2")
    a, b = np.asarray(x), np.asarray(y)
    same(a @ b, x @ y, 1)
    same(a[0] @ b[:, 0], x[0] @ y[:, 0], 1)
    same(a[0].T @ a[1], x[0].T @ x[1], 1)
    same((b[:, 0] @ b[:, 0])[...], numpy.asarray(y[:, 0] @ y[:, 0]), 1)
    same(a @ np.ones((65, 2), "i1"), x @ numpy.ones((65, 2), "i1"), 1)


def test_views_writes_and_scalars():
    x = ALL[0x3C00:0x3C40].copy()
    a = np.array(x)
    for m in (x, a):
        m += 1
        m *= numpy.float16(3)
        m[2:5] = 7.3
        m[::2] -= m[1::2]
        m[7] = m[8]
        m[9] = 1e-8
        m[10] = numpy.inf
        m.reshape(8, 8).T[3] = 2
    same(a, x)
    with braze.host(a) as n:
        assert n.dtype == numpy.float16
        n[0] = 99
    assert float(a[0]) == 99 and hash(a[11]) == hash(x[11]) and a[11].item() == x[11].item()
    assert repr(a[11]) == repr(x[11]) and type(a[11] * 2) is np.ndarray
    assert memoryview(a).format == "e" and (a[3] ** 2).dtype == numpy.float16
    with pytest.warns(RuntimeWarning, match="overflow"), numpy.errstate(all="warn"):
        a[1] = 1e6


def test_memory_is_taken_over_without_a_copy():
    n = braze.empty(1000, "float16")
    n[:] = 3
    at = n.ctypes.data
    a = np.asarray(n)
    assert a.dtype == numpy.float16 and float((a * 2).sum()) == 6000
    assert numpy.asarray(a).ctypes.data == at


@pytest.mark.parametrize("args", [(0, 1, 0.1), (5,), (1, 70000, 1000), (0, 2000, 0.3), (3, -3, -0.7), (-0.0, 3.0)])
def test_ranges(args):
    same(np.arange(*args, dtype="f2"), numpy.arange(*args, dtype="f2"))
