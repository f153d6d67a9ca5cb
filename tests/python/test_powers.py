# SPDX-License-Identifier: Apache-2.0
"""NumPy's operator ** has short cuts for some exponents: a root for 0.5, a square for 2, a
quotient for -1, ones for 0.  They show in types, in signs and at infinities."""

import numpy
import pytest

import braze.numpy as np
from versions import NUMPY

VALUES = [-numpy.inf, -2.0, -0.0, 0.0, 0.25, 3.0, numpy.inf, numpy.nan]

EXPONENTS = {
    "python": lambda m, e: e,
    "integer": lambda m, e: int(e),
    "float64": lambda m, e: numpy.float64(e),
    "float32": lambda m, e: numpy.float32(e),
    "without axes": lambda m, e: m.array(e),
    "an element": lambda m, e: m.array([e, 1.0])[0],
    "still to be computed": lambda m, e: m.minimum(m.array(e) + 0, 100.0),
    "an array": lambda m, e: m.array([e]),
}


def by_operator(x, e):
    return x ** e


def in_place(x, e):
    x **= e
    return x


def of_a_scalar(x, e):
    return x[:1].sum() ** e


def same(got, want):
    got = numpy.asarray(got)
    assert got.dtype == want.dtype
    numpy.testing.assert_allclose(got, want, rtol=1e-3 if want.itemsize == 2 else 1e-5)
    if want.dtype.kind == "f":
        numbers = ~numpy.isnan(want)
        assert numpy.array_equal(numpy.signbit(got)[numbers], numpy.signbit(want)[numbers])


def same_bits(got, want):
    got = numpy.asarray(got)
    return got.dtype == want.dtype and ((got == want) | ((got != got) & (want != want))).all() and (
        numpy.signbit(got) == numpy.signbit(want)).all()


@pytest.mark.parametrize("how", [by_operator, in_place, of_a_scalar, pow])
@pytest.mark.parametrize("kind", EXPONENTS)
@pytest.mark.parametrize("dtype", "efdFD")
def test_powers_are_those_of_numpys_operator(dtype, kind, how):
    if NUMPY >= (2, 3) and (dtype in "FD" or kind == "an array" or (kind, how) == ("without axes", of_a_scalar)):
        pytest.skip("values at infinities are those of NumPy 2.2")
    for e in (0.5, 2.0, -1.0, 0.0, 1.0, 1.5, 3.0, -0.5):
        values = numpy.array(VALUES).astype(dtype)
        with numpy.errstate(all="ignore"):
            try:
                want = how(values.copy(), EXPONENTS[kind](numpy, e))
            except TypeError:
                with pytest.raises(TypeError):
                    how(np.array(values), EXPONENTS[kind](np, e))
                continue
        same(how(np.array(values), EXPONENTS[kind](np, e)), want)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3])
@pytest.mark.parametrize("dtype", "bhilBHILefdFD")
def test_a_power_of_an_array_without_axes_is_a_scalar(dtype, exponent):
    """Writing to an array made of it does not reach it."""
    for m in (numpy, np):
        power = m.array(2, dtype) ** exponent
        copy = m.asarray(power)
        m.add(copy, copy, copy)
        assert power == 2 ** exponent
        assert copy == 2 * 2 ** exponent


@pytest.mark.parametrize("dtype", "efd")
@pytest.mark.parametrize("n", [1, 2, 3, 7, 200, 4099])
def test_the_third_power_has_the_same_bits_beside_any_other(dtype, n):
    """An element raised to 3 is multiplied, whatever the elements beside it are raised to."""
    rng = numpy.random.default_rng(n)
    large = numpy.log10(numpy.finfo(dtype).max) / 4
    x = (rng.normal(size=n) * 10.0 ** rng.integers(-large, large, n, endpoint=True)).astype(dtype)
    exponents = numpy.where(rng.random(n) < 0.5, 3, rng.integers(-2, 6, n)).astype(dtype)
    with numpy.errstate(all="ignore"):
        cubes, want = x * x * x, numpy.power(x, exponents)
        if dtype == "e":
            wide = x.astype("f")
            cubes = (wide * wide * wide).astype("e")
    third = exponents == 3
    assert same_bits(np.array(x) ** 3, cubes)
    made = numpy.asarray(np.power(np.array(x), np.array(exponents)))
    assert same_bits(made[third], cubes[third])
    same(made, want)
