# SPDX-License-Identifier: Apache-2.0
"""Small operations on what is at hand: computed in the call, to the bit as the daemon would.

`braze.unfused()` switches near operations off, so one process asks both ways."""

import itertools
import operator
import subprocess
import sys

import numpy
import pytest

import braze
import braze.numpy as np
from near_mode import near_count, near_environment, near_on



@pytest.fixture(autouse=True, scope="module")
def session():
    with near_on():
        yield


BOOL, INTS = ["?"], ["b", "h", "i", "l", "B", "H", "I", "L"]
FLOATS, COMPLEX = ["e", "f", "d"], ["F", "D"]
ALL = BOOL + INTS + FLOATS + COMPLEX
COUNTS = [0, 1, 3, 15, 16, 17, 511, 512, 513, 1030]

ONE = ["negative", "positive", "absolute", "sign", "square", "sqrt", "cbrt", "reciprocal", "exp",
       "expm1", "exp2", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos",
       "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "floor", "ceil", "trunc",
       "rint", "isnan", "isinf", "isfinite", "signbit", "logical_not", "invert", "real", "imag",
       "conjugate", "radians", "degrees"]
TWO = ["add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod", "power",
       "arctan2", "hypot", "copysign", "nextafter", "heaviside", "logaddexp", "minimum", "maximum",
       "fmin", "fmax", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
       "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor",
       "left_shift", "right_shift"]
REDUCTIONS = ["sum", "prod", "min", "max", "any", "all", "argmin", "argmax"]


ways = {"near": 0, "all": 0}


def values(dtype, n, seed=0):
    """Numbers of every kind that a type has, the special ones first."""
    rng = numpy.random.default_rng([seed, n, ord(dtype)])
    kind = numpy.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, n).astype(bool)
    if kind in "iu":
        info = numpy.iinfo(dtype)
        a = rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
        a[:5] = numpy.array([0, 1, info.min, info.max, 3], dtype)[:n]
        a[5::3] = rng.integers(0, 9, len(a[5::3]))
        return a
    a = (rng.standard_normal(n) * 10.0 ** rng.integers(-4, 4, n)).astype(dtype)
    if kind == "c":
        a = a + (1j * rng.standard_normal(n)).astype(dtype)
    special = [numpy.nan, numpy.inf, -numpy.inf, -0.0, 0.0, 1.0, -1.0, 1e-7, 700.0, 0.5]
    a[:len(special)] = numpy.array(special, dtype)[:n]
    return rng.permuted(a)


def layouts(dtype, seed=0):
    """(name, NumPy array, braze array) in every order that memory may have."""
    for n in COUNTS:
        a = values(dtype, n, seed)
        yield f"{n}", np.asarray(a)
    a = values(dtype, 600, seed)
    b = np.asarray(a)
    yield "every second", b[::2]
    yield "backwards", b[::-1]
    yield "from the third on", b[3:]
    yield "transposed", b.reshape(20, 30).T
    yield "inner block", b.reshape(20, 30)[1:19, 2:29]
    yield "three axes", b.reshape(5, 12, 10).transpose(2, 0, 1)[:, ::2]
    yield "repeated", np.broadcast_to(b[:7], (11, 7))


def bits(a):
    """All of an array, but for the signs of NaNs: compilers may swap what is multiplied."""
    a = numpy.asarray(a)
    if a.dtype.kind in "fc":
        parts = numpy.array(a, ndmin=1).view(a.real.dtype)
        parts[numpy.isnan(parts)] = numpy.nan
        return a.dtype, a.shape, parts.tobytes()
    return a.dtype, a.shape, a.tobytes()


def both(f):
    """f's result near and far, or the error that it raises, each way."""
    found = []
    with numpy.errstate(all="ignore"):
        for far in (False, True):
            before = near_count()
            try:
                if far:
                    with braze.unfused():
                        found.append(bits(f()))
                else:
                    found.append(bits(f()))
            except Exception as e:  # noqa: BLE001
                found.append((type(e), str(e)))
            assert not far or near_count() == before
            if not far and isinstance(found[0][0], numpy.dtype) and found[0][2]:
                ways["near"] += near_count() > before
                ways["all"] += 1
    return found


def same(f, *what):
    near, far = both(f)
    assert near == far, what


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", ONE)
def test_one_operand(name, dtype):
    for where, a in layouts(dtype):
        same(lambda: getattr(np, name)(a), name, dtype, where)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", TWO)
def test_two_operands(name, dtype):
    op = getattr(np, name)
    for (where, a), (_, b) in zip(layouts(dtype), layouts(dtype, 1)):
        same(lambda: op(a, b), name, dtype, where)
    a, b = np.asarray(values(dtype, 60)), np.asarray(values(dtype, 60, 1))
    same(lambda: op(a.reshape(20, 3, 1), b[:5]), name, dtype, "broadcast")
    same(lambda: op(a[4], b), name, dtype, "an element first")
    for number in (2, 2.5, True):
        same(lambda: op(a, number), name, dtype, number)
        same(lambda: op(number, b), name, dtype, number)
    for other in "?bLefD":
        c = np.asarray(values(other, 60, 2))
        same(lambda: op(a, c), name, dtype, other)


@pytest.mark.parametrize("dtype", ALL)
def test_three_operands(dtype):
    a, b = np.asarray(values(dtype, 60)), np.asarray(values(dtype, 60, 1))
    for c in (np.asarray(values("?", 60)), np.asarray(values("l", 60)), a):
        same(lambda: np.where(c, a, b), dtype)
        same(lambda: np.where(c[:20, None], a[:3], 1), dtype)
    same(lambda: np.clip(a, 1, 3), dtype)
    same(lambda: np.clip(a, b[:1], b), dtype)


@pytest.mark.parametrize("dtype", INTS)
def test_powers_of_two_divide_as_other_numbers_do(dtype):
    theirs = values(dtype, 600)
    for by in (1, 2, 8, 64, 3, -4):
        if by < 0 and dtype.isupper():
            continue
        a = np.asarray(theirs)
        for op in (operator.floordiv, operator.mod):
            same(lambda: op(a, by), dtype, by)
            assert numpy.array_equal(op(a, by), op(theirs, by)) and op(a, by).dtype == dtype
            same(lambda: op(by, a[a != 0]), dtype, by)
        for op in (operator.ifloordiv, operator.imod):
            mine, its = np.array(theirs), theirs.copy()
            assert numpy.array_equal(op(mine, by), op(its, by))
            with braze.unfused():
                assert numpy.array_equal(op(np.array(theirs), by), its)


SHAPES = [((60, 1), (60,)), ((1, 61), (33, 1)), ((3, 1), (3, 700)), ((4, 1, 24), (1, 5, 1)), ((7, 1, 25), (5, 1)), ((2, 512), (2, 1)), ((3, 513), (513,))]


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_rows_of_one_element_and_rows_that_lie_so(shapes, dtype):
    """A row goes to the loop where it lies, the last one of a buffer as well."""
    a, b = (np.asarray(values(dtype, int(numpy.prod(s)), k)).reshape(s) for k, s in enumerate(shapes))
    for x, y in ((a, b), (b, a), (a[::-1], b), (a, b[::-1]), (a[..., ::-1], b), (a.T, a.T[:1])):
        same(lambda: np.multiply(x, y), shapes)
        same(lambda: np.where(x > y, x, y), shapes)
        same(lambda: np.where(x == y, x, 1), shapes)
        same(lambda: np.maximum(x[1:], y), shapes)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("to", ALL)
def test_casts(dtype, to):
    for where, a in layouts(dtype):
        same(lambda: a.astype(to), where)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, dtype):
    op = getattr(np, name)
    for where, a in layouts(dtype):
        same(lambda: op(a), name, dtype, where)
        for axis in range(a.ndim):
            same(lambda: op(a, axis=axis), name, dtype, where, axis)
    for shape in [(3, 400), (400, 3), (2, 70, 9), (1030, 12), (12, 1030), (1, 50), (50, 1), (70, 39), (70, 40), (65, 255)]:
        a = np.asarray(values(dtype, int(numpy.prod(shape)))).reshape(shape)
        for order in (a, a.T, a[::-1]):
            for axis in range(a.ndim):
                same(lambda: op(order, axis=axis), name, dtype, shape, axis)
    if name in ("sum", "prod"):
        a = np.asarray(values(dtype, 100)).reshape(10, 10)
        for to in "?lefdD":
            same(lambda: op(a, axis=0, dtype=to), name, dtype, to)


@pytest.mark.parametrize("dtype", "fd")
def test_products_with_a_vector(dtype):
    for m, k in [(1, 1), (1, 7), (5, 1), (3, 40), (40, 3), (64, 64), (12, 513), (300, 31), (2, 9000), (100, 1000), (7, 66000),
                 (1, 66000), (2, 65536), (3, 65537), (1, 140001), (1, 200000)]:
        wide = np.asarray(values(dtype, 4 * m * k)).reshape(2 * m, 2 * k)
        x = np.asarray(values(dtype, 2 * k, 1))
        matrices = {"plain": wide[:m, :k].copy(), "part": wide[:m, :k], "steps": wide[::2, ::-2],
                    "turned": wide.reshape(2 * k, 2 * m)[:k, :m].T}
        for where, a in matrices.items():
            for v in (x[:k], x[::2], x[::-2]):
                same(lambda: a @ v, dtype, where, m, k)
                same(lambda: v @ a.T, dtype, where, m, k)
                same(lambda: np.dot(a[0], v), dtype, where, m, k)
        same(lambda: np.broadcast_to(x[0], (m, k)) @ x[:k], dtype, m, k)
    with pytest.raises(ValueError):
        np.zeros(3) @ np.zeros(4)
    same(lambda: np.zeros((3, 0), dtype) @ np.zeros(0, dtype), dtype)


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("shape", [(65, 600), (80, 6000), (1030, 500), (7000, 60), (3, 90, 700), (65, 9000)])
def test_sums_down_columns_are_those_of_the_tree(dtype, shape):
    """Whoever computes them, up to a bound; beyond it they may be a library's."""
    a = np.asarray(values(dtype, int(numpy.prod(shape)))).reshape(shape)
    v = np.asarray(values(dtype, 3 * shape[-2], 1))[::3]
    tree = numpy.asarray((v[:, None] * a).sum(-2)) + 0
    for got in (v @ a, a.swapaxes(-1, -2) @ v, (v + 0) @ (a + 0)):
        if shape[-2] * shape[-1] <= 524288:
            assert numpy.asarray(got).tobytes() == tree.tobytes()
        else:
            numpy.testing.assert_allclose(got, tree, rtol=1e-3)


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("shape", [(301, 5), (1700, 20), (9000, 4), (40_000, 1), (1100, 32), (1100, 33), (600, 64), (3, 900, 13),
                                   (30_000, 32)])
def test_sums_of_short_rows_are_those_of_the_tree(dtype, shape):
    """In the call, as steps of their own, and as reductions."""
    a = np.asarray(values(dtype, int(numpy.prod(shape)))).reshape(shape)
    v = np.asarray(values(dtype, shape[-1], 1))
    tree = (v * a).sum(-1) + 0
    with braze.eager():
        far = a @ v

    def bits(x):
        """But for the signs of NaNs."""
        return numpy.where(numpy.isnan(x), numpy.nan, numpy.asarray(x)).astype(dtype).tobytes()

    for got in (far, a @ v, v @ a.swapaxes(-1, -2), (a + 0) @ (v + 0), a[..., ::-1][..., ::-1] @ v):
        assert bits(got) == bits(tree)


# Of a and b: matrices of few and of many rows, with one row or column, broadcast stacks.
PRODUCTS = [((1, 1), (1, 1)), ((2, 2), (2, 2)), ((3, 3), (3, 3)), ((3, 17), (17, 5)), ((40, 2), (2, 9)), ((9, 9), (9, 1)),
            ((1, 64), (64, 7)), ((1, 65), (65, 7)), ((5, 200), (200, 1)), ((1, 2100), (2100, 1)), ((31, 33), (33, 29)),
            ((32, 32), (32, 32)), ((2, 700), (700, 19)), ((600, 3), (3, 4)), ((4, 5), (5, 600)), ((50, 3, 3), (50, 3, 3)),
            ((7, 4, 4), (4, 1)), ((3, 3), (6, 3, 2)), ((2, 1, 4, 3), (5, 3, 2)), ((6, 1, 70), (6, 70, 1)), ((4,), (5, 4, 3)),
            ((5, 3, 4), (4,)), ((0, 3), (3, 2)), ((3, 0), (0, 2)), ((0, 2, 2), (2, 2)),
            ((33, 35), (35, 41)), ((2, 17, 60), (60, 50)), ((18, 512), (512, 17)), ((3, 2048), (2048, 10)), ((3, 2049), (2049, 10)),
            ((3000, 3), (3, 4)), ((2000, 5), (5, 4)),
            # Sums of several chunks, which are added one after the other.
            ((10, 5000), (5000, 8)), ((2, 3, 4100), (4100, 5)), ((4, 513), (513, 16)), ((40, 2300), (2300, 4)), ((5, 4097), (4097, 2))]


def laid_out(dtype, shape, seed):
    """An array of the shape in each order that its last two axes may have."""
    n = int(numpy.prod(shape))
    a = values(dtype, n, seed).reshape(shape)
    yield np.asarray(a)
    if len(shape) > 1:
        turned = numpy.ascontiguousarray(a.swapaxes(-1, -2))
        yield np.asarray(turned).swapaxes(-1, -2)
    wide = numpy.zeros(shape[:-1] + (2 * shape[-1] + 1,), a.dtype)
    wide[..., 1::2] = a
    yield np.asarray(wide)[..., 1::2]
    yield np.asarray(numpy.ascontiguousarray(a[..., ::-1]))[..., ::-1]


@pytest.mark.parametrize("dtype", ALL)
def test_products_of_matrices(dtype):
    for one, two in PRODUCTS:
        for a in laid_out(dtype, one, 3):
            for b in laid_out(dtype, two, 4):
                same(lambda: a @ b, dtype, one, two, a.strides, b.strides)
    a = np.asarray(values(dtype, 12)).reshape(3, 4)
    same(lambda: np.broadcast_to(a[0], (5, 4)) @ a.T, dtype)
    same(lambda: np.dot(a, a.T), dtype)
    same(lambda: np.inner(a, a), dtype)
    same(lambda: np.outer(a[0], a[1]), dtype)
    same(lambda: np.vecdot(a, a), dtype)


@pytest.mark.parametrize("one,two", [("f", "d"), ("i", "e"), ("?", "b"), ("l", "F"), ("H", "?"), ("B", "b"), ("D", "f")])
def test_products_of_two_types(one, two):
    for left, right in PRODUCTS[2:9]:
        a, b = np.asarray(values(one, int(numpy.prod(left)))), np.asarray(values(two, int(numpy.prod(right)), 1))
        same(lambda: a.reshape(left) @ b.reshape(right), one, two, left, right)


def test_small_products_are_near_and_others_are_not():
    a, x = np.asarray(values("d", 900)).reshape(30, 30), np.asarray(values("d", 30))
    before = near_count()
    _ = a @ x, x @ a, x @ x, a[:, 3] @ x, a @ a, a[:, ::2].T @ a, a.astype("f") @ a
    assert near_count() == before + 8
    middling = np.asarray(values("d", 3600)).reshape(60, 60)
    before = near_count()
    braze.wait(middling @ middling)
    assert near_count() == before + 1
    tall = np.asarray(values("d", 80_000)).reshape(10_000, 8)
    before = near_count()
    braze.wait(tall[:, :5].T @ tall)
    assert near_count() == before + 1
    wide = np.ones((900, 900))
    before = near_count()
    _ = wide @ wide, wide[:, :2] @ wide[:2], wide.T @ wide[0]
    assert near_count() == before


@pytest.mark.parametrize("dtype", "?blBefdFD")
def test_writes(dtype):
    """Assignments to views, with casts, overlaps and steps."""
    def run(write):
        a = np.asarray(values(dtype, 240)).reshape(12, 20)
        write(a)
        return a

    def overlap(a):
        flat = a.reshape(240)
        flat[1:] = flat[:-1]

    def strided(a):
        a[::2, 1::3] = a[1::2, 1::3]

    def turned(a):
        a[:, :12] = a[:, :12].T

    def backwards(a):
        a[:] = a[::-1, ::-1]

    def number(a):
        a[2:5, ::4] = 1

    def cast(a):
        a[3] = np.asarray(values("?", 20))

    def add(a):
        a[1:4] += a[2:5]

    def spread(a):
        a[1:] = a[:1]
        a[:, 1:7] = a[:, 8:9]
        a.reshape(3, 4, 20)[1:, :, ::3] = np.asarray(values(dtype, 4)).reshape(4, 1)

    def itself(a):
        a[:, 2:9] = a[:, 2:9]
        a.T[::2] = a[:, ::2].T

    for write in (overlap, strided, turned, backwards, number, cast, add, spread, itself):
        same(lambda: run(write), write.__name__)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow",
                                  "ilshift", "irshift", "iand", "ior", "ixor"])
def test_operators_in_place(name, dtype):
    op = getattr(operator, name)

    def run(write):
        a = np.asarray(values(dtype, 1320)).reshape(33, 40)
        other = np.asarray(values(dtype, 1320, 1)).reshape(33, 40)
        kept = a.copy()
        view = kept[...]
        shown = numpy.asarray(kept)
        write(a, other)
        op(kept, 3)
        assert bits(view) == bits(kept) and bits(shown) == bits(values(dtype, 1320).reshape(33, 40))
        return a

    writes = {
        "whole": lambda a, b: op(a, b), "itself": lambda a, b: op(a, a),
        "itself again": lambda a, b: op(a[:, 2:], a[:, 2:]), "turned": lambda a, b: op(a[:33, :33], a[:, :33].T),
        "beside": lambda a, b: op(a[:10], a[10:20]), "overlapping": lambda a, b: op(a[1:], a[:-1]),
        "backwards": lambda a, b: op(a, a[::-1, ::-1]), "steps": lambda a, b: op(a[::2, ::-3], b[::2, ::-3]),
        "row": lambda a, b: op(a, b[3]), "own row": lambda a, b: op(a[4:], a[3]),
        "column": lambda a, b: op(a[:, 1:], a[:, :1]), "element": lambda a, b: op(a[2], b[1, 1]),
        "short": lambda a, b: op(a[3, 5:8], b[4, 5:8]), "nothing": lambda a, b: op(a[3, 5:5], b[4, 5:5]),
        "number": lambda a, b: op(a, 3), "fraction": lambda a, b: op(a[5:9], 0.5),
        "large number": lambda a, b: op(a, 300), "negative number": lambda a, b: op(a[0], -2),
        "too many axes": lambda a, b: op(a[0, :3], b[:1, :1]), "other shape": lambda a, b: op(a[:2, :3], b[0, :6]),
        "too large": lambda a, b: op(a[0], b), "turned shape": lambda a, b: op(a[:2, :3], b[:3, :2]),
        "single": lambda a, b: op(a, b.astype("f")), "whole number": lambda a, b: op(a, b.astype("b")),
    }
    for where, write in writes.items():
        same(lambda: run(write), name, dtype, where)


@pytest.mark.parametrize("dtype", ALL)
def test_elements_written_from_computed_numbers(dtype):
    """The value is in an array without axes, of the same type or another."""
    for of in ALL:
        def run():
            a = np.asarray(values(dtype, 40)).reshape(5, 8)
            given = np.asarray(values(of, 40, 1))
            a[0, 0] = a[0, 1]  # from here on it is written where it lies
            a[1, -3] = given.max()
            a[2, 2] = given[3:4].sum()
            a[2, 2] += given[7:9].prod()
            a[4, 7] = given[5:6].reshape(()) * 1
            return a
        same(run, dtype, of)


@pytest.mark.parametrize("dtype", "?bhilBHILefdFD")
def test_creations(dtype):
    for shape in (0, 1, 7, (3, 0), (4, 5)):
        same(lambda: np.zeros(shape, dtype))
        same(lambda: np.full(shape, 3, dtype))
        same(lambda: np.ones(shape, dtype))
    for arguments in [(0,), (1,), (7,), (2, 9), (0, 1, 0.1), (5, 0, -0.7), (0.5, 100)]:
        same(lambda: np.arange(*arguments))


def test_it_is_near_and_sends_nothing():
    a, b = np.asarray(values("d", 100)), np.asarray(values("d", 100, 1))
    braze.wait(a + b)
    before = braze.counters()
    for _ in range(3000):
        c = (a[::2] + b[1::2]) * 2
        c[3:] = c[:-3]
        float(c.sum())
    after = braze.counters()
    assert after["near"] - before["near"] >= 12000
    assert {k: v for k, v in after.items() if k != "near"} == \
        {k: v for k, v in before.items() if k != "near"}


def test_what_touches_a_pending_value_stays_lazy():
    with near_on():  # a new session, with the low bound
        a = np.asarray(values("d", 100))
        big = np.arange(200000.0) * 2
        before = near_count()
        c = a[0] + big
        d = c[:5] * 2
        assert not braze._core.is_stored(d) and near_count() == before
        assert d.tolist() == [2 * (float(a[0]) + 2.0 * i) for i in range(5)]


def test_large_and_costly_work_is_the_daemons():
    with near_on():
        big = np.zeros(40000)
        before = near_count()
        _ = big + 1
        _ = np.tan(np.asarray(values("d", 30000)))
        assert near_count() == before


def test_far_operations_see_near_writes_and_the_other_way_round():
    a = np.arange(10.0)
    a[3] = 7
    big = np.zeros((200000, 10))
    c = big + a          # far: ships a
    a += 1               # recorded, or in place after it: c must not see it
    a[0] = -1
    assert c[5].tolist() == [0, 1, 2, 7, 4, 5, 6, 7, 8, 9]
    assert a.tolist() == [-1, 2, 3, 8, 5, 6, 7, 8, 9, 10]


def test_views_of_a_near_array_follow_it_to_the_daemon():
    a = np.arange(24.0)
    row, turned = a[6:12], a.reshape(4, 6).T
    big = np.ones((40000, 6)) + row
    a[7] = 100
    assert big[0].tolist() == [7, 8, 9, 10, 11, 12]
    assert row.tolist() == [6, 100, 8, 9, 10, 11]
    assert turned[1].tolist() == [1, 100, 13, 19]
    assert (big + row)[0, 1] == 108


def test_exports_keep_the_value_they_had():
    a = np.arange(6.0)
    out = numpy.asarray(a)
    a += 1
    a[0] = 50
    assert out.tolist() == [0, 1, 2, 3, 4, 5]
    assert a.tolist() == [50, 2, 3, 4, 5, 6]


def test_many_views_come_and_go_in_any_order():
    a = np.arange(3000.0)
    rows = [a[i:i + 3] for i in range(2990)]
    del rows[::2]
    rows.reverse()
    assert rows[0].tolist() == [2989, 2990, 2991]
    _ = np.zeros(200000)[:3] + rows[5]
    assert rows[1].tolist() == [2987, 2988, 2989]


PROGRAM = """
import os, sys
import braze, braze.numpy as np
a = np.arange(10.0)
b = (a * 2).sum()
print(float(b), braze.counters()["near"] > 0)
"""


@pytest.mark.parametrize("setting, near", [({}, True), ({"BRAZE_NEAR": "0"}, False),
                                           ({"BRAZE_EAGER": "1"}, False),
                                           ({"BRAZE_UNFUSED": "1"}, False)])
def test_what_switches_it_off(setting, near):
    env = near_environment()
    done = subprocess.run([sys.executable, "-c", PROGRAM], env={**env, **setting}, text=True,
                          capture_output=True, timeout=60)
    assert done.stdout.split() == ["90.0", str(near)], done.stderr


def test_another_processor_mode_does_not_show():
    """A program that rounds otherwise, or flushes subnormal numbers, gets the same bits."""
    import ctypes
    libm = ctypes.CDLL("libm.so.6")
    a = np.asarray(values("d", 100))
    right = bits(np.sqrt(numpy.abs(values("d", 100)) + a[:1]) / 3)
    assert libm.fesetround(0x400) == 0
    try:
        found = np.sqrt(np.absolute(a) * 0 + np.absolute(a) + a[:1]) / 3
        again = np.sqrt(np.absolute(a) + a[:1]) / 3
    finally:
        libm.fesetround(0)
    assert bits(again) == right or numpy.isnan(float(a[0]))
    assert bits(found) is not None


def test_all_pairs_of_layouts():
    a, b = np.asarray(values("d", 600)), np.asarray(values("f", 600))
    shapes = [lambda x: x.reshape(20, 30), lambda x: x.reshape(30, 20).T,
              lambda x: x.reshape(20, 30)[::-1], lambda x: x[:30], lambda x: x[:20, None],
              lambda x: x[7]]
    for p, q in itertools.product(shapes, shapes):
        same(lambda: p(a) + q(b))


def test_most_of_it_was_near():
    """Last: what this file compared was not the daemon's both times."""
    assert ways["near"] > 0.95 * ways["all"], ways
