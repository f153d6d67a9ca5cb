# SPDX-License-Identifier: Apache-2.0
"""Norms of vectors and matrices, whole and along axes: NumPy's values, types, shapes and errors."""

import warnings

import numpy as np
import pytest

import braze
import braze.numpy as bnp

SHAPES = [(5,), (1,), (4, 3), (3, 1), (2, 3, 4), (0,), (0, 3), (3, 0), ()]
ORDERS = [None, 1, 2, np.inf, -np.inf, 0, 3, -1, 0.5, "fro", "f", "nuc", 1.0, 2.0]
AXES = [None, 0, -1, 1, (0,), (0, 1), (1, 0), (-1, 0), (0, 0), (0, 5), 7, (0, 1, 2), [0]]


def made(shape, dtype, seed=1):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(shape) * 4
    return np.asarray(a + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else a).astype(dtype)


def outcome(f, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return f(*args, **kwargs)
        except Exception as error:
            return error


def check(mine, theirs, what):
    if isinstance(theirs, Exception):
        assert type(mine) is type(theirs) and str(mine) == str(theirs), f"{what}: {mine!r}, not {theirs!r}"
        return
    assert not isinstance(mine, Exception), f"{what}: {mine!r}"
    have, want = np.asarray(mine), np.asarray(theirs)
    assert have.dtype == want.dtype and have.shape == want.shape, f"{what}: {have.dtype} {have.shape}"
    np.testing.assert_allclose(have, want, rtol=1e-12 if want.dtype == float else 2e-3 if want.dtype == "f2" else 2e-6, err_msg=what)


@pytest.mark.parametrize("pending", [False, True], ids=["at hand", "pending"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "c16", "c8", "i4", "u1", "?"])
def test_norms_are_numpys(dtype, pending):
    for shape in SHAPES:
        a = made(shape, dtype)
        b = bnp.asarray(a)
        for axis in AXES:
            for order in ORDERS:
                for keep in (False, True):
                    x = b & b if pending and dtype == "?" else b + b - b if pending else b
                    args = {"ord": order, "axis": axis, "keepdims": keep}
                    check(outcome(bnp.linalg.norm, x, **args), outcome(np.linalg.norm, a, **args), f"{shape} {args}")


@pytest.mark.skipif(not hasattr(np.linalg, "vector_norm"), reason="of NumPy 2")
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i8"])
def test_norms_of_the_array_standard(dtype):
    for shape in SHAPES:
        a = made(shape, dtype)
        b = bnp.asarray(a)
        for axis in AXES:
            for order in (2, 1, np.inf, -np.inf, 0, 3, None):
                args = {"ord": order, "axis": axis, "keepdims": True}
                check(outcome(bnp.linalg.vector_norm, b + 0, **args), outcome(np.linalg.vector_norm, a, **args), f"{shape} {args}")


def test_what_numpy_is_asked_for_comes_here():
    a = made((40, 3), "f8")
    b = bnp.asarray(a)
    assert type(np.linalg.norm(b, axis=1)) is bnp.ndarray
    check(np.linalg.norm(b, axis=1), np.linalg.norm(a, axis=1), "by NumPy's name")


def test_norms_along_an_axis_are_not_numpys_work():
    x = bnp.asarray(made((50_000, 3), "f8"))
    before = braze.fallbacks().get("linalg.norm", 0)
    braze.wait(bnp.linalg.norm(x, axis=1), bnp.linalg.norm(x * 2), bnp.linalg.norm(x, 1, axis=0))
    assert braze.fallbacks().get("linalg.norm", 0) == before


@np.errstate(all="ignore")
def test_special_values():
    a = np.array([[np.nan, 1, 2], [np.inf, -np.inf, 0], [-0.0, 0.0, -0.0], [1e200, 1e200, 1]])
    for order in (None, 1, 2, np.inf, -np.inf):
        for x in (a, a.astype(complex) * (1 + 0.5j)):
            have, want = np.asarray(bnp.linalg.norm(bnp.asarray(x), order, axis=1)), np.linalg.norm(x, order, axis=1)
            np.testing.assert_allclose(have, want, rtol=4.5e-16)  # of a complex number's size the last bit differs


def test_arguments_by_place_and_foreign_arrays():
    a = made((4, 3), "f8")
    check(bnp.linalg.norm(bnp.asarray(a), 2, 1, True), np.linalg.norm(a, 2, 1, True), "by place")
    check(bnp.linalg.norm(a, axis=0), np.linalg.norm(a, axis=0), "NumPy's array")
    check(bnp.linalg.norm(a.tolist(), axis=0), np.linalg.norm(a, axis=0), "a list")
    masked = np.ma.masked_array(a, a > 1)
    check(bnp.linalg.norm(masked, axis=0), np.linalg.norm(masked, axis=0), "another library's")
