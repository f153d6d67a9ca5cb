# SPDX-License-Identifier: Apache-2.0
"""Scalars of NumPy's beside scalars of braze's, and short ways of small calls: NumPy's answers,
and nothing is left to NumPy's arrays."""

import inspect
import itertools
import operator
import warnings

import numpy
import pytest
from on_device import DEVICE, comparable

import braze
import braze.numpy as np

TYPES = "? i1 u1 i4 i8 u8 f2 f4 f8 F D".split()
OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv,
             operator.mod, operator.pow, operator.lt, operator.le, operator.eq, operator.ne,
             operator.gt, operator.and_, operator.or_, operator.xor, operator.lshift,
             operator.rshift, divmod]
if DEVICE:  # whose powers are not the processor's
    OPERATORS.remove(operator.pow)
FUNCTIONS = ["add", "multiply", "subtract", "divide", "remainder", "maximum", "hypot", "arctan2",
             "power", "equal", "less", "logical_and", "bitwise_xor", "left_shift"]


def outcome(call):
    """What a call gives: type, value and text; or its error's class."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = call()
        except (TypeError, ValueError, OverflowError) as error:
            return [c for c in (TypeError, ValueError, OverflowError) if isinstance(error, c)]
    made = made if isinstance(made, tuple) else (made,)
    return [(x.dtype, x.shape, comparable(x).tobytes(), repr(x), str(x)) for x in made]


def scalar_of(module, kind, value):
    return module.array([value, value]).astype(kind)[1]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("values", [(3, 2), (0, 1), (1, 0), (100, 7)])
def test_operators_of_a_numpy_scalar_and_ours(kind, values):
    for other in TYPES:
        given = scalar_of(numpy, kind, values[0])
        ours, theirs = (scalar_of(m, other, values[1]) for m in (np, numpy))
        for op in OPERATORS:
            assert outcome(lambda: op(given, ours)) == outcome(lambda: op(given, theirs))
            assert outcome(lambda: op(ours, given)) == outcome(lambda: op(theirs, given))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_a_numpy_scalar_and_ours(name):
    for kind, other in itertools.product(TYPES, TYPES):
        given = scalar_of(numpy, kind, 3)
        ours, theirs = (scalar_of(m, other, 2) for m in (np, numpy))
        for order in (1, -1):
            mine = outcome(lambda: getattr(np, name)(*(given, ours)[::order]))
            expect = outcome(lambda: getattr(numpy, name)(*(given, theirs)[::order]))
            if name in ("hypot", "arctan2", "power") and expect and type(expect[0]) is tuple:
                mine, expect = ([x[:2] for x in r] for r in (mine, expect))
            assert mine == expect, (name, kind, other)


def test_nothing_is_left_to_numpys_arrays():
    x, n = np.array([0.5, 2.5])[1], np.array([3, 4])[1]
    step, count = numpy.float64(0.25), numpy.int64(2)
    tries = [
        (lambda: step * x, 0.625), (lambda: x * step, 0.625), (lambda: step + n, 4.25),
        (lambda: count - n, -2), (lambda: x < step, False), (lambda: step >= x, False),
        (lambda: count == n, False), (lambda: n % count, 0), (lambda: np.maximum(step, x), 2.5),
        (lambda: np.add(count, n), 6), (lambda: x == None, False),  # noqa: E711
        (lambda: None != n, True), (lambda: n**2, 16), (lambda: 2**n, 16),  # noqa: E711
        (lambda: 2 ** np.arange(5), [1, 2, 4, 8, 16]), (lambda: n << 1, 8), (lambda: ~(x > 1), False),
        (lambda: np.arange(5) ** np.arange(5), [1, 1, 4, 27, 256]),
        (lambda: (x > 1) & (n > 1), True),
    ]
    for call, expect in tries:
        before = dict(braze.fallbacks())
        made = call()
        assert dict(braze.fallbacks()) == before, inspect.getsource(call)
        assert (made if type(made) is bool else numpy.asarray(made).tolist()) == expect


def test_a_sum_that_begins_with_a_numpy_scalar():
    for start in (numpy.float64(0), numpy.int64(0), numpy.float32(0)):
        total, expect = start, start
        for v, w in zip(np.linspace(0, 1, 7), numpy.linspace(0, 1, 7), strict=True):
            total, expect = total + v, expect + w
        assert total == expect and total.dtype == expect.dtype


@pytest.mark.parametrize("kind", "i1 i2 i4 i8 u1 u8 ? f4".split())
@pytest.mark.parametrize("exponent", "i1 i4 i8".split())
def test_integer_powers_whose_exponents_are_at_hand(kind, exponent):
    def tries(m):
        b = m.array([0, 1, 2, 5, 7]).astype(kind)
        e = m.array([3, 0, 1, 2, 5]).astype(exponent)
        return [lambda: b ** e, lambda: 2 ** e, lambda: True ** e, lambda: e ** 62,
                lambda: e[0] ** 63, lambda: b ** (e - 4), lambda: b.reshape(5, 1) ** e,
                lambda: b ** e[::-1], lambda: b ** e[:1], lambda: e[0] ** -1,
                lambda: b[:0] ** e[:0], lambda: b[3] ** e, lambda: b[3] ** e[0]]

    for mine, theirs in zip(tries(np), tries(numpy), strict=True):
        assert outcome(mine) == outcome(theirs)


def test_parts_of_complex_numbers():
    for kind in ("c8", "c16"):
        z, w = (m.array([1 + 2j, 3 - 4j, 5j]).astype(kind) for m in (np, numpy))
        for name in ("real", "imag"):
            for a, b in ((z, w), (z[1], w[1]), (z[::-1], w[::-1]), (z.sum(), w.sum())):
                assert outcome(lambda: getattr(a, name)) == outcome(lambda: getattr(b, name))
            assert getattr(z, name).base is z
        z.imag[1] = 8
        assert z[1] == 3 + 8j
        z.flags.writeable = False
        assert not z.real.flags.writeable
    for name in ("real", "imag"):
        with pytest.raises(AttributeError, match="not writable"):
            setattr(z[0], name, 1)


def test_views_of_another_type():
    def tries(m):
        a = m.arange(12.0).reshape(3, 4)
        return [lambda a=a, t=t: a.view(t) for t in ("i8", "u1", "c16", m.float32, m.dtype("i4"))] + [
            lambda: a.T.view("i8"), lambda: a.T.view("f4"), lambda: a[:, :3].view("c16"),
            lambda: a[:, :2].view("i8"), lambda: m.array(3.0).view("i8"), lambda: a[1].view("u2"),
            lambda: m.zeros((0, 4)).view("f4"), lambda: a[0, 0].view("i8")]

    for mine, theirs in zip(tries(np), tries(numpy), strict=True):
        assert outcome(mine) == outcome(theirs)
    a = np.arange(3.0)
    v = a.view("i8")
    v[0] = 1
    assert a[0] == 5e-324 and v.base is a
    a.flags.writeable = False
    assert not a.view("u8").flags.writeable


def test_flat_sees_what_is_written_meanwhile():
    def seen(m):
        a = m.arange(6).reshape(2, 3)
        made = []
        for b in (a, a.T, a[:, ::2]):
            it = b.flat
            for v in it:
                made.append((int(v), it.index, it.coords))
                a[-1, -1] += 1
        return made, a.tolist(), list(map(int, m.array(5).flat)), list(m.zeros((0, 3)).flat)

    assert seen(np) == seen(numpy)
    it = np.arange(3).flat
    assert iter(it) is it and next(it) == 0 and it.index == 1 and list(it) == [1, 2]


@pytest.mark.parametrize("name", ["random", "standard_normal", "standard_exponential"])
def test_draws_into_arrays(name):
    def drawn(m):
        g = m.random.default_rng(5)
        draw, made = getattr(g, name), []
        for out in (m.zeros(7), m.zeros((3, 4)), m.zeros((3, 4), order="F"), m.zeros(5)[1:],
                    m.zeros(0), m.zeros((4, 6))[::2], m.zeros(4, int), m.zeros(3, "f4"), m.array(2.0)):
            try:
                assert draw(out=out) is out
            except (ValueError, TypeError) as error:
                made.append((type(error), str(error)))
            made.append(out.tolist())
        one = m.zeros(3, "f4")
        made.append(draw(dtype=m.float32, out=one).tolist())
        return made, float(g.random())

    assert drawn(np) == drawn(numpy)
