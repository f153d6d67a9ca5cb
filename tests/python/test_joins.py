# SPDX-License-Identifier: Apache-2.0
"""Arrays put together: NumPy's answers, as one operation whatever their number."""

import itertools
import os

import numpy
import pytest

import braze
import braze.numpy as np
from near_mode import near_on
from on_device import DEVICE

TYPES = [numpy.dtype(t) for t in "?bhilBHILefdFD"]
NEAR = os.environ.get("BRAZE_NEAR", "1") != "0"
COUNTS = [1, 2, 3, 4, 9, 31, 32, 33, 63, 64, 65, 130]


def make(shape, dtype="f8", seed=0):
    rng = numpy.random.default_rng(seed)
    x = rng.standard_normal(shape) * 100
    return (x > 0) if numpy.dtype(dtype) == bool else abs(x).astype(dtype)


def ours(value):
    if isinstance(value, (list, tuple)):
        return type(value)(ours(v) for v in value)
    return np.asarray(value) if isinstance(value, numpy.ndarray) else value


def agree(got, want):
    got = numpy.asarray(got)
    assert got.dtype == want.dtype and got.shape == want.shape
    assert got.tobytes() == numpy.ascontiguousarray(want).tobytes()


def both(text, **names):
    """The expression by both modules: the same answer, or the same error."""
    try:
        want = eval(text, {"np": numpy, **names})
    except Exception as e:  # whatever NumPy raises
        with pytest.raises(type(e)) as mine:
            eval(text, {"np": np, **{k: ours(v) for k, v in names.items()}})
        assert str(mine.value) == str(e)
        return
    agree(eval(text, {"np": np, **{k: ours(v) for k, v in names.items()}}), want)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("n", [0, 1, 5, 1000])
def test_any_number_of_arrays(count, n):
    parts = [make(n, seed=k) for k in range(count)]
    for text in ("concatenate(a)", "stack(a)", "stack(a, 1)", "stack(a, -1)", "hstack(a)", "vstack(a)", "dstack(a)",
                 "column_stack(a)", "block(a)", "concatenate([x * 2 + 1 for x in a])", "concatenate([x[::-1] for x in a])",
                 "concatenate([x if len(x) % 2 else x + 1 for x in a]) * 2", "concatenate(a, None)",
                 "concatenate(a[:1] + [x * 2 for x in a[1:]])"):
        both("np." + text, a=parts)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_types_go_together_as_numpys(dtype):
    for other, count in itertools.product(TYPES, (2, 5)):
        parts = [make(7, other if k % 2 else dtype, k) for k in range(count)]
        both("np.concatenate(a)", a=parts)
        both("np.stack(a, 1)", a=parts)
    for to, rule in itertools.product("bilfdD", ("no", "safe", "same_kind", "unsafe")):
        parts = [make(7, dtype, 1), make(3, dtype, 2), make(2, "f4", 3)]
        with numpy.errstate(all="ignore"):
            both(f"np.concatenate(a, dtype={to!r}, casting={rule!r})", a=parts)


def test_three_types_meet_in_numpys_order():
    for three in itertools.permutations(["i8", "u8", "f4"]):
        both("np.concatenate(a)", a=[make(3, t) for t in three])
    for three in itertools.permutations(["i1", "u2", "f2"]):
        both("np.stack(a)", a=[make(3, t) for t in three])


@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (2, 3, 4), (5, 0), (40, 700), (3, 1, 2, 2)], ids=str)
def test_every_axis_and_layout(shape):
    wide = make(tuple(2 * n for n in shape))
    half = tuple(slice(None, None, 2) for _ in shape)
    kinds = [make(shape, seed=1), wide[half], make(shape[::-1], seed=2).T, make(shape, seed=3)[::-1],
             numpy.broadcast_to(make(shape[-1:], seed=4), shape), make(shape, "i4", 5)]
    for axis in range(-len(shape) - 1, len(shape) + 1):
        for parts in ([kinds[0], kinds[0]], kinds[:4], kinds, kinds * 8):
            both(f"np.concatenate(a, {axis})", a=parts)
            both(f"np.stack(a, {axis})", a=parts)
    for axis in range(len(shape)):
        uneven = [numpy.take(kinds[0], range(k % (shape[axis] + 1)), axis) for k in range(7)]
        both(f"np.concatenate(a, {axis})", a=uneven)
    both("np.concatenate(a, None)", a=kinds)


@pytest.mark.parametrize("value", [numpy.nan, -0.0, numpy.inf, -numpy.nan])
def test_bits_stay_as_they_are(value):
    x = numpy.array([value, 1.0, value])
    for parts in ([x, x], [x] * 10, [x, x.astype("f4")]):
        both("np.concatenate(a)", a=parts)
        both("np.concatenate(a, dtype='D')", a=parts)


def test_what_is_wrong_is_numpys_error():
    a, m = make(3), make((2, 3))
    for text in ("concatenate([])", "concatenate([a, m])", "concatenate([m, m.T])", "concatenate([m, m], 2)",
                 "stack([])", "stack([a, m])", "stack([a, a], 2)", "vstack([a, m.T])", "hstack([m, a])", "concatenate([m, m[:1]], 1)",
                 "concatenate(3.0)", "concatenate([a[0] * 1.0, a])", "concatenate([a, a], out=m)", "concatenate([a, a], dtype='i4')",
                 "concatenate([a, a], axis=0, out=m, dtype='f8')", "column_stack([a, m])", "dstack([a, m])", "append(m, a, 0)",
                 "append(a, m, 7)", "tile(a, -1)", "repeat(a, -1)", "roll(a, 1, 5)", "block([[a, a], [a]])", "block([a, [a]])", "block([])"):
        both("np." + text, a=a, m=m)


def test_into_an_array_that_is_given():
    a, m = make(6), make((2, 3))
    for text, shape, dtype in (("concatenate([a, a], out=o)", 12, "f8"), ("concatenate([a, a], out=o)", 12, "f4"),
                               ("concatenate([a, a], out=o, casting='unsafe')", 12, "i4"), ("stack([m, m], 1, out=o)", (2, 2, 3), "f8"),
                               ("concatenate([m, m], None, out=o)", 12, "D"), ("concatenate([m.T, m.T], 1, out=o)", (3, 4), "f8")):
        want, got = numpy.zeros(shape, dtype), np.zeros(shape, dtype)
        eval("np." + text, {"np": numpy, "a": a, "m": m, "o": want})
        made = eval("np." + text, {"np": np, "a": np.asarray(a), "m": np.asarray(m), "o": got})
        assert made is got
        agree(got, want)
    # Parts of the output itself: one after the other, each read before it is written.
    want = numpy.arange(12.0)
    got = np.arange(12.0)
    numpy.concatenate([want[6:], want[:6]], out=want)
    np.concatenate([got[6:], got[:6]], out=got)
    agree(got, want)


def test_the_result_is_nobodys_view():
    a = np.asarray(make(5))
    for made in (np.concatenate([a]), np.stack([a]), np.tile(a, 1), np.roll(a, 0), np.repeat(a, 1), np.block([a]), np.append(a, a)):
        before = numpy.asarray(made).copy()
        a += 1
        agree(made, before)
        assert not np.shares_memory(made, a)


def test_later_writes_leave_it_alone():
    a, b = np.asarray(make(50000, seed=1)), np.asarray(make(50000, seed=2))
    want = numpy.concatenate([numpy.asarray(a), numpy.asarray(b), numpy.asarray(a)])
    made = np.concatenate([a, b, a])
    a[:] = 0.0
    b += 1
    agree(made, want)


@pytest.mark.parametrize("text", [
    "np.append(a, b)", "np.append(m, m)", "np.append(m, m, 0)", "np.append(m, m, -1)", "np.append(a, 1.0)", "np.append(a, [1, 2])",
    "np.append(a, i)", "np.append(m.T, a)", "np.tile(a, 3)", "np.tile(a, (2, 2))", "np.tile(m, 2)", "np.tile(m, (2,))", "np.tile(a, 0)",
    "np.tile(a, 100)", "np.tile(m, (2, 1, 2))", "np.repeat(a, 3)", "np.repeat(m, 2)", "np.repeat(m, 2, 0)", "np.repeat(m, 3, -1)",
    "np.repeat(m, [1, 2], 0)", "np.repeat(a, 0)", "np.repeat(a, 100)", "a.repeat(2)", "np.roll(a, 1)", "np.roll(a, -2)", "np.roll(a, 6)",
    "np.roll(a, 13)", "np.roll(m, 1)", "np.roll(m, 1, 0)", "np.roll(m, -1, 1)", "np.roll(m, (1, 2), (0, 1))", "np.roll(m, 2, (0, 1))",
    "np.roll(m.T, 1)", "np.roll(a[:0], 3)", "np.block([a, b])", "np.block([[a, b], [b, a]])", "np.block([[m, m], [m, m]])",
    "np.block([[m, m * 2], [m + i[:3], m]])", "np.block([a, 1.0])", "np.block([[1.0, 2.0], [3.0, 4.0]])", "np.block(a)",
    "np.block([[[m]], [[m]]])", "np.block([[m], [a[:3]]])", "np.block([m, m])", "np.dstack([m, m])", "np.dstack([a, b])",
    "np.dstack([np.dstack([m, m]), np.dstack([m, m])])", "np.column_stack([a, b])", "np.column_stack([m, m])",
    "np.column_stack([a[:2], m])", "np.pad(a, 2)", "np.pad(a, (1, 3))", "np.pad(m, 1)", "np.pad(m, ((1, 0), (2, 3)))", "np.pad(a, 0)",
    "np.pad(i, 2)", "np.pad(a, 2, 'edge')", "np.pad(a, 2, constant_values=7)", "np.pad(m, 1, 'constant', constant_values=((1, 2), (3, 4)))",
    "np.pad(a[:0], 1)", "np.pad(a, -1)", "np.pad(m, (1, 2))", "np.pad(m, ((1, 2),))", "np.pad(m[::-1, ::2], 1)", "np.pad(a > 50, 1)",
])
def test_what_is_made_of_it(text):
    both(text, a=make(6), b=make(6, seed=1), i=make(6, "i4"), m=make((2, 3)))


def operations():
    return braze.counters()["ops"]


@pytest.mark.skipif(NEAR, reason="small operations are near")
def test_it_is_one_operation():
    parts = [np.asarray(make(9, seed=k)) for k in range(64)]
    for p in parts:
        p.tolist()
    alive = [np.concatenate(parts)]
    for name in ("concatenate", "stack", "column_stack", "hstack", "vstack"):
        before = operations()
        alive.append(getattr(np, name)(parts))
        assert operations() - before == 1
        agree(alive[-1], getattr(numpy, name)([numpy.asarray(p) for p in parts]))


@pytest.mark.skipif(NEAR, reason="small operations are near")
def test_what_is_computed_is_stored_to_its_part():
    a, b = np.asarray(make(20000)), np.asarray(make(20000, seed=1))
    a.tolist(), b.tolist()
    made = np.concatenate([a * 2 + 1, b * 3, a])
    numpy.asarray(made)
    # What reads a is one kernel, which stores to two parts; b's stores to the third.
    assert "2 steps" in braze.explain(made)
    agree(made, numpy.concatenate([numpy.asarray(a) * 2 + 1, numpy.asarray(b) * 3, numpy.asarray(a)]))


@pytest.mark.skipif(NEAR, reason="small operations are near")
@pytest.mark.skipif(DEVICE, reason="a GPU copies each part by a step")
def test_what_is_stored_is_a_step():
    parts = [np.asarray(make((20, 300), seed=k)) for k in range(40)]
    for axis in (0, 1):
        made = np.concatenate(parts, axis)
        agree(made, numpy.concatenate([numpy.asarray(p) for p in parts], axis))
        assert "2 steps" in braze.explain(made) and "31 arrays of float64" in braze.explain(made)


def test_small_ones_are_near():
    with near_on():
        for count in (2, 10, 64):
            parts = [np.asarray(make(10, seed=k)) for k in range(count)]
            before = braze.counters()
            made = [np.concatenate(parts), np.stack(parts), np.column_stack(parts)]
            after = braze.counters()
            assert after["near"] - before["near"] == 3 and after["round_trips"] == before["round_trips"]
            for m, f in zip(made, (numpy.concatenate, numpy.stack, numpy.column_stack), strict=True):
                agree(m, f([numpy.asarray(p) for p in parts]))


@pytest.mark.parametrize("shape, axis", [((200000,), 0), ((500, 400), 0), ((500, 400), 1), ((100, 3, 500), 1), ((30000, 5), 1)])
def test_large_ones(shape, axis):
    for count in (2, 7, 40):
        parts = [make(shape, seed=k % 3) for k in range(count)]
        both(f"np.concatenate(a, {axis})", a=parts)
        both(f"np.stack(a, {axis})", a=parts)
        both(f"np.concatenate([x + 1 if k % 2 else x for k, x in enumerate(a)], {axis})", a=parts)


def test_large_near_ones_have_parts_of_any_size():
    """Those that are written past the caches, with pieces shorter than a line of them."""
    large, few = make(1_200_003), make(7)
    with near_on():
        a, b = np.asarray(large), np.asarray(few)
        before = braze.counters()["near"]
        for _ in range(10):
            for n in range(1, 8):
                got = numpy.asarray(np.concatenate([b[:n], a, b[:1], b]))
                assert numpy.array_equal(got, numpy.concatenate([few[:n], large, few[:1], few]))
        assert braze.counters()["near"] > before


def test_one_after_the_other_of_the_same_shapes_is_the_same_plan():
    for turn in range(3):
        parts = [make(3000, seed=turn + k) for k in range(5)]
        both("np.concatenate([a[0], a[1] * 2, a[2], a[3] - a[4], a[4]])", a=parts)


def test_an_operand_that_failed_fails_it():
    a = np.arange(5.0)
    bad = a[np.asarray([1, 99])]
    with pytest.raises(IndexError):
        numpy.asarray(np.concatenate([a, bad, a, a]))


def test_errors_are_watched_through_it():
    a = np.asarray([1.0, 0.0])
    with np.errstate(divide="raise"):
        made = np.concatenate([1.0 / a, a, a, a])
        with pytest.raises(FloatingPointError):
            made.tolist()
