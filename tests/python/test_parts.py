# SPDX-License-Identifier: Apache-2.0
"""Functions with two results: NumPy's bits, types, outputs and errors, and nothing left to NumPy."""

import numpy
import pytest

import braze
import braze.numpy as np

RNG = numpy.random.default_rng(7)
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -7.75, 1e-300, 5e-324, -5e-324, 1e-310, 1e-42, 1e308, -1e308, 1e22,
           4503599627370497.0, 0.1, 0.3, -0.3, numpy.inf, -numpy.inf, numpy.nan]
TYPES = "f8 f4 f2 i1 u1 i2 i4 i8 u8 ?".split()


@pytest.fixture(autouse=True)
def quiet():
    with numpy.errstate(all="ignore"):
        yield


def numbers(dtype):
    return numpy.concatenate([SPECIAL, RNG.standard_normal(50) * 100]).astype(dtype)


def same(want, got):
    assert type(got) is np.ndarray
    assert (want.dtype, want.shape) == (got.dtype, got.shape)
    want, got = numpy.atleast_1d(want), numpy.atleast_1d(numpy.asarray(got))
    bits = f"u{want.itemsize}"
    equal = want.view(bits) == got.view(bits)
    assert (equal | ((want != want) & (got != got))).all(), (want[~equal], got[~equal])


def native(call):
    """call(numpy) and call(braze.numpy), which leaves nothing to NumPy."""
    before = braze.fallbacks()
    got = call(np)
    assert braze.fallbacks() == before
    want = call(numpy)
    assert type(got) is type(want) and len(want) == len(got)
    for w, g in zip(want, got, strict=True):
        same(numpy.asarray(w), g)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ("modf", "frexp"))
def test_one_operand(name, dtype):
    x = numbers(dtype)
    native(lambda m: getattr(m, name)(m.asarray(x)))
    native(lambda m: getattr(m, name)(m.asarray(x)[::-3]))
    native(lambda m: getattr(m, name)(m.asarray(x[:72].reshape(8, 9)).T))
    native(lambda m: getattr(m, name)(m.asarray(x[:0])))
    native(lambda m: getattr(m, name)(m.asarray(x[5])))


@pytest.mark.parametrize("n", (1, 7, 8, 513, 30000))
@pytest.mark.parametrize("dtype", ("f8", "f4", "f2"))
def test_parts_of_what_is_at_hand(dtype, n):
    """Computed in the call itself, of which nothing more is recorded then."""
    x = numpy.resize(numbers(dtype), n + 3)
    a = np.asarray(x) * 1
    for cut in (slice(None), slice(3, None), slice(1, -1)):
        native(lambda m, cut=cut: m.frexp((x if m is numpy else a)[cut]))
    m, e = np.frexp(a)
    native(lambda module: module.frexp((x if module is numpy else a)[: n // 2 * 2].reshape(2, -1)))
    a[0] = 48.0
    same(numpy.frexp(x)[0], m)
    same(numpy.frexp(x)[1], e)
    e += 1
    m *= 2
    same(numpy.frexp(x)[1] + 1, e)
    same(numpy.frexp(x)[0] * 2, m)


@pytest.mark.parametrize("dtype", TYPES)
def test_divmod(dtype):
    x = numbers(dtype)
    a, b = numpy.repeat(x, len(x)), numpy.tile(x, len(x))
    native(lambda m: m.divmod(m.asarray(a), m.asarray(b)))
    native(lambda m: m.divmod(m.asarray(a), 3))
    native(lambda m: m.divmod(7, m.asarray(a)))
    native(lambda m: divmod(m.asarray(a), m.asarray(b)))
    native(lambda m: m.divmod(m.asarray(x)[:, None], m.asarray(x)[::-1]))
    native(lambda m: m.divmod(m.asarray(x[:0]), 2))


@pytest.mark.parametrize("dtype", ("f8", "f4", "f2"))
def test_divisions_near_whole_quotients(dtype):
    """Quotients that round up to a whole number, great ones, and those of opposite signs."""
    y = (RNG.standard_normal(4000) * 10.0 ** RNG.uniform(-3, 3, 4000)).astype(dtype)
    x = (y * numpy.round(RNG.uniform(-1e5, 1e5, 4000))).astype(dtype)
    for a in (x, numpy.nextafter(x, numpy.inf, dtype=dtype), numpy.nextafter(x, -numpy.inf, dtype=dtype),
              (x * x).astype(dtype)):
        native(lambda m, a=a: m.divmod(m.asarray(a), m.asarray(y)))
        native(lambda m, a=a: (m.fmod(m.asarray(a), m.asarray(y)),))


def test_types_of_two_operands():
    for one in TYPES[:-1]:
        for other in TYPES[:-1]:
            a, b = numpy.arange(1, 9).astype(one), numpy.arange(2, 10).astype(other)
            native(lambda m, a=a, b=b: m.divmod(m.asarray(a), m.asarray(b)))


def test_outputs():
    x = numbers("f8")
    for where in ((0, 1), (0,), (1,)):
        outs = [[m.zeros(len(x)) if k in where else None for k in range(2)] for m in (numpy, np)]
        numpy.modf(x, out=tuple(outs[0]))
        made = np.modf(np.asarray(x), out=tuple(outs[1]))
        for k in where:
            assert made[k] is outs[1][k]
            same(outs[0][k], made[k])
    a, b = np.asarray(x), np.zeros(len(x), "f4")
    made = np.divmod(a, 2.5, a, b)  # the output is an operand as well
    assert made[0] is a and made[1] is b
    want = numpy.divmod(x, 2.5)
    same(want[0], a)
    same(want[1].astype("f4"), b)
    theirs = numpy.zeros(3), numpy.zeros(3)
    np.modf(np.asarray([1.5, 2, -3.5]), out=theirs)
    assert theirs[0].tolist() == [0.5, 0, -0.5]


def test_keywords():
    x = numbers("f8")
    native(lambda m: m.modf(m.asarray(x), dtype="f4", casting="same_kind"))
    native(lambda m: m.modf(m.asarray(x.astype("f4")), dtype="f8"))
    chosen = [m.divmod(m.asarray(x), 2, where=m.asarray(x > 0), out=(m.ones(len(x)), m.ones(len(x))))
              for m in (numpy, np)]
    for want, got in zip(*chosen, strict=True):
        same(want, got)


@pytest.mark.parametrize("call", (
    lambda m: m.divmod(m.asarray([1j]), 2),
    lambda m: m.modf(m.asarray([1j])),
    lambda m: m.frexp(m.asarray(["a"])),
    lambda m: m.divmod(m.zeros(3), m.zeros(4)),
    lambda m: m.modf(m.zeros(3), out=(m.zeros(4), None)),
    lambda m: m.modf(m.zeros(3), out=m.zeros(3)),
    lambda m: m.modf(m.zeros(3), out=(m.zeros(3, int), None)),
    lambda m: m.modf(m.zeros(3), m.zeros(3), m.zeros(3), m.zeros(3)),
    lambda m: m.divmod(m.zeros(3)),
    lambda m: m.modf(m.zeros(3), nonsense=1),
))
def test_errors(call):
    with pytest.raises(Exception) as want:  # noqa: PT011
        call(numpy)
    with pytest.raises(Exception) as got:  # noqa: PT011
        call(np)
    assert issubclass(got.type, want.type.__mro__[1] if "UFunc" in want.type.__name__ else want.type)


def test_watched_errors_are_divmods():
    with np.errstate(divide="warn", invalid="ignore"), pytest.warns(RuntimeWarning, match="divmod"):
        braze.wait(*np.divmod(np.ones(3), np.zeros(3)))
    with np.errstate(all="raise"):
        braze.wait(*np.modf(np.asarray([numpy.inf, 1.5])), *np.frexp(np.asarray([numpy.inf, 5e-324])))


def test_one_kernel():
    """Both results come from one pass over the operands."""
    a = np.asarray(RNG.standard_normal(400_000))
    for made in (np.divmod(a, 0.3), np.modf(a), np.frexp(a)):
        braze.wait(*made)
        assert "1 step," in str(braze.explain(made[0]))


def test_inner_types_of_one_of_numpys():
    q, r = numpy.divmod(np.asarray([7, -7]), 3)
    assert type(q) is np.ndarray and q.tolist() == [2, -3] and r.tolist() == [1, 2]
