# SPDX-License-Identifier: Apache-2.0
"""NumPy's functions that are composed of operations: NumPy's answers, and nothing left to NumPy."""

import warnings

import numpy
import pytest

import braze
import braze.numpy as np

RNG = numpy.random.default_rng(11)


def made(shape, dtype="f8", nans=True):
    a = RNG.standard_normal(shape) * 8
    if numpy.dtype(dtype).kind == "c":
        a = a + 1j * RNG.standard_normal(shape)
    a = a.astype(dtype)
    if nans and a.dtype.kind in "fc" and a.ndim:
        a[RNG.random(shape) < 0.2] = numpy.nan
    return a


def outcome(call, module):
    """The answer, or the class of the error, and what was warned of."""
    with warnings.catch_warnings(record=True) as told, numpy.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            got = call(module)
        except Exception as error:  # noqa: BLE001
            got = type(error)
    return got, sorted({str(w.message) for w in told if "freedom" in str(w.message)
                        or "empty slice" in str(w.message)})


def same(want, got, exact):
    if isinstance(want, type):
        assert isinstance(got, type) and issubclass(got, want)
        return
    if isinstance(want, bool):
        assert got is want
        return
    want, given = numpy.asarray(want), got
    assert type(given) is np.ndarray
    got = numpy.asarray(given)
    assert (want.dtype, want.shape) == (got.dtype, got.shape)
    if exact or want.dtype.kind in "biu":
        assert numpy.array_equal(want, got, equal_nan=want.dtype.kind in "fc")
        assert want.dtype.kind != "f" or (numpy.signbit(want) == numpy.signbit(got))[want == want].all()
    else:
        few = 2e-3 if want.dtype.char == "e" else 1e-4 if want.dtype.char in "fF" else 1e-11
        numpy.testing.assert_allclose(got, want, few, few)


def check(call, exact=False, left=()):
    """The same from both; nothing falls back but what `left` names."""
    before = dict(braze.fallbacks())
    got, told = outcome(call, np)
    after = braze.fallbacks()
    assert {k for k in after if after[k] != before.get(k, 0)} <= set(left)
    want, warned = outcome(call, numpy)
    same(want, got, exact)
    assert told == warned


FLOATS = ("f8", "f4", "F", "D")
ALL = (*FLOATS, "i4", "u1", "i8", "?")


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", ("nansum", "nanprod", "nanmean", "nanvar", "nanstd"))
def test_sums_without_nans(name, dtype):
    left = (name,) if name in ("nanvar", "nanstd") and dtype not in FLOATS else ()
    for shape in ((7,), (6, 5), (2, 3, 4), (1,)):
        a = made(shape, dtype)
        for axis in (None, 0, -1, *(((0, 1),) if len(shape) > 1 else ())):
            check(lambda m, a=a, axis=axis: getattr(m, name)(m.asarray(a), axis), left=left)
            check(lambda m, a=a, axis=axis: getattr(m, name)(m.asarray(a), axis, keepdims=True), left=left)
        check(lambda m, a=a: getattr(m, name)(m.asarray(a)[..., ::-1].T), left=left)


@pytest.mark.parametrize("name", ("nansum", "nanprod", "nanmean", "nanvar", "nanstd"))
def test_slices_of_nans_alone(name):
    a = made((4, 6), nans=False)
    a[1] = a[:, 2] = numpy.nan
    for axis in (0, 1, None):
        check(lambda m, axis=axis: getattr(m, name)(m.asarray(a), axis))
    check(lambda m: getattr(m, name)(m.asarray(a[1])))
    check(lambda m: getattr(m, name)(m.zeros(0)))
    check(lambda m: getattr(m, name)(m.asarray(a), 2), left=(name,))
    if name in ("nanvar", "nanstd"):
        check(lambda m: getattr(m, name)(m.asarray(a), 0, ddof=3))


@pytest.mark.parametrize("dtype", ALL)
def test_running_sums(dtype):
    for name in ("nancumsum", "nancumprod"):
        for a in (made(9, dtype), made((3, 4), dtype)):
            for axis in (None, 0, -1):
                check(lambda m, a=a, axis=axis, name=name: getattr(m, name)(m.asarray(a), axis))
        check(lambda m, name=name: getattr(m, name)(m.zeros(3), 1), left=("ndarray." + name[3:],))
        check(lambda m, name=name: getattr(m, name)(m.zeros(3), out=m.zeros(3)), left=(name,))


def test_outputs_and_types_of_sums():
    a = made((5, 6))
    check(lambda m: m.nansum(m.asarray(a), 0, "f4"))
    check(lambda m: m.nansum(m.asarray(a), 0, None, m.zeros(6)))
    check(lambda m: m.nansum(m.asarray(a), where=m.asarray(a > 0)), left=("nansum",))
    check(lambda m: m.nanmean(m.asarray(a), out=m.zeros(())), left=("nanmean",))


SPECIAL = numpy.array([0.0, -0.0, 1, 1 + 1e-9, 1 + 1e-4, -1, numpy.inf, -numpy.inf, numpy.nan, 1e-9, 1e300])


@pytest.mark.parametrize("dtype", ("f8", "f4", "f2", "i8", "D"))
def test_tolerance(dtype):
    with numpy.errstate(all="ignore"):
        s = SPECIAL.astype(dtype)
    a, b = numpy.repeat(s, len(s)), numpy.tile(s, len(s))
    for more in ({}, {"equal_nan": True}, {"rtol": 1e-3, "atol": 0.0}):
        check(lambda m, more=more: m.isclose(m.asarray(a), m.asarray(b), **more))
        check(lambda m, more=more: m.allclose(m.asarray(a), m.asarray(a), **more))
        check(lambda m, more=more: m.isclose(m.asarray(a), 1.0, **more))
    check(lambda m: m.isclose(m.asarray(a)[:, None], m.asarray(s)))
    check(lambda m: m.allclose(m.asarray(s[:3]), m.asarray(s[:3])))
    check(lambda m: m.isclose(m.zeros(3), m.zeros(4)), left=("isclose",))


@pytest.mark.parametrize("dtype", ("f8", "f4", "f2"))
def test_numbers_for_nans(dtype):
    with numpy.errstate(all="ignore"):
        s = SPECIAL.astype(dtype)
    check(lambda m: m.nan_to_num(m.asarray(s)), exact=True)
    check(lambda m: m.nan_to_num(m.asarray(s), nan=2.0, posinf=5, neginf=-3.5), exact=True)
    ours, theirs = np.array(s), s.copy()
    assert np.nan_to_num(ours, copy=False) is ours
    numpy.nan_to_num(theirs, copy=False)
    assert numpy.array_equal(numpy.asarray(ours), theirs)


@pytest.mark.parametrize("dtype", ("f8", "f4", "D", "i8", "u1"))
def test_products(dtype):
    m34, m45, c = made((3, 4), dtype, False), made((4, 5), dtype, False), made((2, 3, 4), dtype, False)
    d, v = made((4, 3, 6), dtype, False), made(4, dtype, False)
    for axes in (0, 1, (1, 0), ([1], [0]), ([-1], [-2])):
        check(lambda m, axes=axes: m.tensordot(m.asarray(m34), m.asarray(m45), axes))
    check(lambda m: m.tensordot(m.asarray(c), m.asarray(d), ([2, 1], [0, 1])))
    check(lambda m: m.tensordot(m.asarray(m34), m.asarray(m45)), left=("tensordot",))
    check(lambda m: m.kron(m.asarray(m34), m.asarray(m45)), exact=dtype != "D")
    check(lambda m: m.kron(m.asarray(v), m.asarray(c)), exact=dtype != "D")
    check(lambda m: m.kron(m.asarray(v[0]), m.asarray(v)), exact=dtype != "D")
    check(lambda m: m.inner(m.asarray(c), m.asarray(m34)))
    for text, a, b in (("ij,jk->ik", m34, m45), ("ij,jk", m34, m45), ("ij,jk->ki", m34, m45), ("ij,ij->", m34, m34),
                       ("ij,ij->i", m34, m34), ("ij,ij->ji", m34, m34), ("i,j", v, v), ("i,i", v, v),
                       ("bij,jbk->bik", c, made((4, 2, 6), dtype, False)), ("bij,jik->kb", c, d), ("bij,jck->b", c, d), ("ij,j->i", m34, v)):
        check(lambda m, text=text, a=a, b=b: m.einsum(text, m.asarray(a), m.asarray(b)))
    for text in ("ij->ji", "ij->i", "ij->j", "ij->", "ij"):
        check(lambda m, text=text: m.einsum(text, m.asarray(m34)))
    check(lambda m: m.einsum("ij,k->k", m.asarray(m34), m.asarray(m45[0].astype("f8"))))
    check(lambda m: m.einsum("ij,jk->k", m.asarray(m34.astype("u1")), m.asarray(m45)))
    check(lambda m: m.einsum("ii", m.asarray(m34[:, :3])), left=("einsum",))
    check(lambda m: m.einsum("ij,jk", m.asarray(m34), m.asarray(m34)), left=("einsum",))


@pytest.mark.parametrize("text", ["j,i->ij", "j,i", "i,j->ij", "ij,k->kij", "k,ij->ijk"])
def test_outer_products_lie_in_c_order(text):
    """Also those whose second operand has the first axes."""
    one, two = (numpy.arange(300.0).reshape(20, 15) if len(labels) == 2 else numpy.arange(40.0)
                for labels in text.partition("->")[0].split(","))
    made, want = np.einsum(text, np.asarray(one), np.asarray(two)), numpy.einsum(text, one, two)
    assert made.flags.c_contiguous and want.flags.c_contiguous
    assert (numpy.asarray(made) == want).all()


@pytest.mark.parametrize("dtype", ("f8", "f4", "i8", "u1"))
def test_differences_and_functions(dtype):
    v, m34, m3 = made(9, dtype, False), made((3, 4), dtype, False), made((5, 3), dtype, False)
    check(lambda m: m.ediff1d(m.asarray(v)), exact=True)
    check(lambda m: m.ediff1d(m.asarray(m34).T), exact=True)
    check(lambda m: m.trapezoid(m.asarray(v)))
    check(lambda m: m.trapezoid(m.asarray(m34), dx=0.5, axis=0))
    check(lambda m: m.trapezoid(m.asarray(m34), m.asarray(v[:4])))
    check(lambda m: m.cross(m.asarray(m3), m.asarray(m3[::-1].copy())), exact=True)
    check(lambda m: m.cross(m.asarray(m34), m.asarray(m34[:, ::-1]), axis=0), exact=True)
    check(lambda m: m.cross(m.asarray(m3), m.asarray(m3[0])), exact=True)
    check(lambda m: m.polyval([1.5, -2.0, 3.0], m.asarray(v)), exact=True)
    check(lambda m: m.polyval(m.asarray(v[:4]), m.asarray(m34)), exact=True)
    check(lambda m: m.sinc(m.asarray(v)), left=("sinc",) if dtype in ("i8", "u1") else ())


def test_a_view_is_one():
    a = np.zeros((2, 3))
    for text, key in (("ij->ji", (2, 1)), ("ij->ij", (1, 2))):
        view = np.einsum(text, a)
        assert view is not a
        view[key] = 5
        assert a[1, 2] == 5
        a[1, 2] = 0


def test_many_elements():
    """What is large is computed by the daemon."""
    a = made(300_000)
    for call in (lambda m: m.nansum(m.asarray(a)), lambda m: m.nanmean(m.asarray(a)), lambda m: m.nanstd(m.asarray(a)),
                 lambda m: m.isclose(m.asarray(a), m.asarray(a)), lambda m: m.nan_to_num(m.asarray(a)),
                 lambda m: m.ediff1d(m.asarray(a)), lambda m: m.trapezoid(m.nan_to_num(m.asarray(a)))):
        check(call)
