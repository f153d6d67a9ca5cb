# SPDX-License-Identifier: Apache-2.0
"""Gradients, covariances, products of many: NumPy's answers, and lazy."""

import numpy
import pytest

import braze
import braze.numpy as np
from test_composed import check, made

REAL = ("f8", "f4", "i4", "u1", "i8")


@pytest.mark.parametrize("dtype", (*REAL, "f2", "D", "F"))
def test_gradients(dtype):
    exact = True  # without sums: near, where NumPy's loops do what is small, and far agree to the bit
    v, m, d = made(9, dtype), made((4, 5), dtype), made((3, 4, 5), dtype)
    for order in (1, 2):
        check(lambda n: n.gradient(n.asarray(v), edge_order=order), exact)
        for step in (2, 0.5, -3.0, numpy.float64(0.3), numpy.float32(0.3), numpy.int64(3)):
            check(lambda n: n.gradient(n.asarray(v), step, edge_order=order), exact)
        for axis in (0, 1, -1, (1,)):
            check(lambda n: n.gradient(n.asarray(m), axis=axis, edge_order=order), exact)
            check(lambda n: n.gradient(n.asarray(m).T, 0.25, axis=axis, edge_order=order), exact)
        for k in range(3):
            check(lambda n: n.gradient(n.asarray(d), edge_order=order)[k], exact)
            check(lambda n: n.gradient(n.asarray(d), 2.0, 3, 0.5, edge_order=order)[k], exact)
        check(lambda n: n.gradient(n.asarray(d), 2.0, 0.5, axis=(2, 0), edge_order=order)[1], exact)
    check(lambda n: len(n.gradient(n.asarray(d), axis=(0, 2))) * n.ones(1))


@pytest.mark.parametrize("dtype", ("f8", "f4", "i4"))
@pytest.mark.parametrize("kind", ("f8", "i8", "u1", "f4"))
def test_gradients_by_coordinates(dtype, kind):
    v, m = made(6, dtype), made((5, 6), dtype)
    for x in (numpy.arange(6), numpy.array([0, 1, 3, 4, 9, 11]), numpy.array([11, 9, 5, 4, 2, 1])):
        x = x.astype(kind)
        for order in (1, 2):
            check(lambda n: n.gradient(n.asarray(v), n.asarray(x), edge_order=order), True)
            check(lambda n: n.gradient(n.asarray(v), x.tolist(), edge_order=order), True)
            check(lambda n: n.gradient(n.asarray(m), n.asarray(x), axis=1, edge_order=order), True)
            check(lambda n: n.gradient(n.asarray(m), 2.0, n.asarray(x), edge_order=order)[1], True)


def test_gradients_that_are_numpys():
    v, m = made(6), made((3, 4))
    for call in (lambda n: n.gradient(n.asarray(v), edge_order=3), lambda n: n.gradient(n.zeros(1)),
                 lambda n: n.gradient(n.zeros(2), edge_order=2), lambda n: n.gradient(n.zeros(0)),
                 lambda n: n.gradient(n.asarray(v), 1.0, 2.0), lambda n: n.gradient(n.asarray(v), 0),
                 lambda n: n.gradient(n.asarray(m), 1.0, 0.0, edge_order=2), lambda n: n.gradient(n.asarray(v), n.zeros(3)),
                 lambda n: n.gradient(n.asarray(m), n.asarray(m), 1.0), lambda n: n.gradient(n.asarray([True, False, True]))):
        check(call, left=("gradient",))
    for axis in (2, (0, 0)):
        with pytest.raises(ValueError):
            np.gradient(np.asarray(m), axis=axis)
    assert np.gradient(np.asarray(2.5)) == ()


@pytest.mark.parametrize("dtype", (*REAL, "f2", "?", "D"))
def test_covariances(dtype):
    v, w, m = made(9, dtype, False), made(9, "f4", False), made((4, 9), dtype, False)
    for name in ("cov", "corrcoef"):
        left = (name,) if dtype == "D" and name == "corrcoef" else ()
        for a in (v, m, m[:1], m.T):
            for rowvar in (True, False):
                # Numbers that agree within an operation's rounding give no correlation.
                if name == "corrcoef" and a is not v and (a.shape[0] == 1) is not rowvar and 1 in a.shape:
                    continue
                less = 1 in a.shape and a.shape != (9,) and (a.shape[1] == 1) is rowvar
                check(lambda n: getattr(n, name)(n.asarray(a), rowvar=rowvar), left=(name,) if less else left)
        check(lambda n: getattr(n, name)(n.asarray(v), n.asarray(w)), left=left)
        check(lambda n: getattr(n, name)(n.asarray(m), n.asarray(w)), left=left)
        check(lambda n: getattr(n, name)(n.asarray(m.T), n.asarray(w), rowvar=False), left=left)
        check(lambda n: getattr(n, name)(v.tolist(), w.tolist()), left=left)
    check(lambda n: n.cov(n.asarray(m), bias=True))
    check(lambda n: n.cov(n.asarray(m), None, True, False, 3))


def test_covariances_that_are_numpys():
    m, w = made((3, 6), nans=False), numpy.array([1, 2, 3, 1, 1, 2])
    for call in (lambda n: n.cov(n.asarray(m), fweights=w), lambda n: n.cov(n.asarray(m), aweights=n.asarray(w)),
                 lambda n: n.cov(n.asarray(m), ddof=6), lambda n: n.cov(n.asarray(m), ddof=1.5),
                 lambda n: n.cov(n.asarray(m), dtype="f4"), lambda n: n.cov(n.zeros((2, 2, 2))),
                 lambda n: n.cov(n.zeros((0, 3))), lambda n: n.cov(n.zeros(0)), lambda n: n.cov(n.asarray(m), n.zeros(5))):
        check(call, left=("cov",))
    for call in (lambda n: n.corrcoef(n.asarray(m), dtype="f4"), lambda n: n.corrcoef(n.zeros((3, 1)))):
        check(call, left=("corrcoef",))


def test_nans_and_constants():
    m = made((3, 6))
    check(lambda n: n.cov(n.asarray(m)) * 0)
    check(lambda n: n.corrcoef(n.asarray([[1.0, 2, 4], [2, 2, 2]])))
    check(lambda n: n.corrcoef(n.asarray([2.0, 2, 2])))


def check_product(text, arrays, left=(), **more):
    """As `check`, but what rounding may make of sums is measured by the sums of what has no sign."""
    size = numpy.einsum(text, *(abs(a.astype(complex)) for a in arrays), optimize=True)
    before = dict(braze.fallbacks())
    got, want = np.einsum(text, *map(np.asarray, arrays), **more), numpy.einsum(text, *arrays, **more)
    after = braze.fallbacks()
    assert {k for k in after if after[k] != before.get(k, 0)} <= set(left)
    assert got.shape == want.shape and got.dtype == want.dtype
    if want.dtype.kind in "iu":
        numpy.testing.assert_array_equal(got, want)
    else:
        far = numpy.abs(numpy.asarray(got) - want) / size.max()
        assert far.max() <= 64 * numpy.finfo(want.dtype).eps


@pytest.mark.parametrize("dtype", ("f8", "f4", "D", "i8", "u1"))
def test_products_of_many(dtype):
    a, b, c = made((23, 24), dtype, False), made((24, 15), dtype, False), made((15, 12), dtype, False)
    v, w, u = made(24, dtype, False), made(15, "f4", False), made(9000, dtype, False)
    for text, arrays in (("ij,jk,kl->il", (a, b, c)), ("ij,jk,kl", (a, b, c)), ("ij,jk,kl->li", (a, b, c)),
                         ("i,j,k->kij", (v, w, v)), ("i,i,i->i", (u, u, u)), ("i,i,i", (u, u, u)), ("ij,jk,l->", (a, b, v)),
                         ("ij,jk,kl,l->i", (a, b, c, c[0])), ("j,ij,jk,k->ik", (v, a, b, b[0])), ("ij,jk,k,i->kj", (a, b, w, a[:, 0]))):
        mixed = len({x.dtype for x in arrays}) > 1
        check_product(text, arrays)
        check_product(text, arrays, left=("einsum",) if mixed else (), optimize=True)
    check(lambda n: n.einsum("i,ij,j->", n.asarray(a[:, 0]), n.asarray(a), n.asarray(v)), left=("einsum",))
    check(lambda n: n.einsum("ii,ij,jk", n.asarray(a[:, :23]), n.asarray(a), n.asarray(b)), left=("einsum",))
    check(lambda n: n.einsum("ij,jk,kl", n.asarray(a), n.asarray(a), n.asarray(c)), left=("einsum",))


def test_they_stay_lazy():
    big = np.arange(300_000.0) * 1.5
    rows = big.reshape(3, 100_000)
    before = braze.counters()["round_trips"]
    results = [np.gradient(big), np.gradient(big, 0.5, edge_order=2), *np.gradient(rows), np.cov(rows), np.corrcoef(rows),
               np.einsum("i,ij,j->", rows[:, 0], rows, rows[0])]
    assert braze.counters()["round_trips"] == before
    assert not any(map(braze._core.is_stored, results))
    b = numpy.arange(300_000.0) * 1.5
    r = b.reshape(3, 100_000)
    wanted = [numpy.gradient(b), numpy.gradient(b, 0.5, edge_order=2), *numpy.gradient(r), numpy.cov(r), numpy.corrcoef(r),
              numpy.einsum("i,ij,j->", r[:, 0], r, r[0])]
    for got, want in zip(results, wanted, strict=True):
        numpy.testing.assert_allclose(numpy.asarray(got), want, 1e-11)
