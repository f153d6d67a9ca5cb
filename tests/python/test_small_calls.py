# SPDX-License-Identifier: Apache-2.0
"""Calls of few elements that C answers or lends NumPy memory for: NumPy's answers, and whose the memory is."""

import itertools
import operator
import random

import braze
import braze.numpy as np
import numpy
import pytest
from braze import _core
from frames import frames_of
from near_mode import near_on
from on_device import DEVICE


@pytest.fixture(autouse=True, scope="module", params=["near", "far"])
def near(request):
    if request.param == "far":
        yield False
        return
    with near_on():
        float(np.ones(1)[0])
        yield True


def both(statement, **given):
    """A statement's answer, or error, on NumPy's arrays and on ours."""
    answers = []
    for module in (numpy, np):
        space = {"np": module, **{k: module.array(v) if isinstance(v, numpy.ndarray) else v for k, v in given.items()}}
        try:
            exec(f"_r = {statement}" if "=" not in statement.replace("==", "") else statement, space)
            answers.append([plain(space[k]) for k in (*given, "_r") if k in space])
        except Exception as error:  # noqa: BLE001 any error is compared
            answers.append((type(error).__name__, str(error)))
    return answers


def plain(x):
    if isinstance(x, (list, tuple)):
        return [plain(y) for y in x]
    if isinstance(x, (numpy.ndarray, numpy.generic, np.ndarray)):
        x = numpy.asarray(x)
        return x.shape, str(x.dtype), x.tobytes()
    return x


def same(statement, **given):
    theirs, mine = both(statement, **given)
    assert mine == theirs, statement


# ---- Elements and parts ----

VALUES = [0.5, 7, -1, True, 300, 2**70, -(2**63), 1e300, float("nan"), -0.0, 1j, "x", None, [1], numpy.float32(0.1), numpy.int8(3)]


@pytest.mark.parametrize("dtype", "? i1 i4 i8 u1 u8 f2 f4 f8 c8 c16".split())
def test_elements_are_written_as_numpy_writes_them(dtype, recwarn):
    for value, key in itertools.product(VALUES, (0, -1, 2, 3, -4)):
        theirs, mine = both(f"a[{key}] = v", a=numpy.ones(3, dtype), v=value)
        if mine != theirs and theirs[0] in ("OverflowError", "TypeError", "ValueError"):
            assert mine[0] == theirs[0], (value, key)
        else:
            assert mine == theirs, (value, key)


def test_an_element_is_written_where_nobody_else_sees_it():
    a = np.arange(4.0)
    before, shown, part = np.array(a), numpy.asarray(a).copy(), a[1:]
    a[1] = 9.5
    assert part[0] == 9.5 and before[1] == 1.0 and shown[1] == 1.0
    kept = braze.snapshot(a) if hasattr(braze, "snapshot") else a.copy()
    a[2] = 8.5
    assert float(kept[2]) == 2.0 and float(a[2]) == 8.5
    fixed = np.broadcast_to(a, (2, 4))
    with pytest.raises(ValueError, match="read-only"):
        fixed[0, 0] = 1.0
    with braze.host(a) as memory, pytest.raises(braze.BrazeError):
        memory[0] = 3.0
        a[0] = 1.0


def test_parts_of_arrays_are_numpys():
    m, n = numpy.arange(12.0).reshape(3, 4), numpy.arange(24).reshape(2, 3, 4)
    keys = ["0", "-1", "3", "-4", "1:", "::-1", "5:", ":0", "-2:1", ":, 0", "0, :", "..., 1", "None, 1", "1, 2", "True", "2.0",
            "0, 0, 0", "0, 0, 0, 0", "...", "()", "(1,)"]
    for key, a in itertools.product(keys, (m, m.T, n, m[0], m[:, 1], m[:0], numpy.array(2.5))):
        same(f"a[{key}]", a=a)
    a = np.array(m)
    assert a[1:].base is a and a[1].base is a and a.T.base is a and a[:, 1].base is a
    a[1][2] = -1.0
    a[2:][0, 0] = -2.0
    a.T[3, 0] = -3.0
    assert (a[1, 2], a[2, 0], a[0, 3]) == (-1.0, -2.0, -3.0)


def test_iterations_end_as_numpys():
    for a in (numpy.arange(3.0), numpy.arange(6).reshape(3, 2), numpy.arange(8).reshape(2, 2, 2), numpy.ones((0, 2)), numpy.array(1.0)):
        same("list(a)", a=a)
        same("[x for x in a]", a=a)
        same("operator.itemgetter(3)(a)", a=a, operator=operator)
    rows = list(np.arange(6.0).reshape(3, 2))
    rows[1][0] = 7.0
    assert all(type(r) is np.ndarray and r.base is not None for r in rows) and rows[1].base[2] == 7.0
    pending = np.ones(3) * 2.0
    assert [float(x) for x in pending] == [2.0, 2.0, 2.0]


def test_what_is_in_order_already_is_left():
    for a in (numpy.ones(1), numpy.ones(0), numpy.ones((3, 1)), numpy.ones((1, 3))):
        same("a.sort()", a=a)
        same("a.sort(axis=0)", a=a)
    for wrong in ("a.sort(3)", "a.sort(kind='nonsense')", "a.sort(order='x')"):
        same(wrong, a=numpy.ones(1))


# ---- Masks ----

def test_masks_write_take_and_count_as_numpys():
    rng = numpy.random.default_rng(3)
    for dtype, n in itertools.product("? i1 i2 i8 u4 f2 f4 f8 c8 c16".split(), (0, 1, 7, 8, 9, 40)):
        a, b = (rng.integers(0, 100, n).astype(dtype) for _ in range(2))
        k = rng.random(n) > 0.5
        few = b[: int(k.sum())]
        for statement in ("np.putmask(a, k, b)", "np.putmask(a, k, few)", "np.putmask(a, k, 3)", "np.putmask(a, k, 0.5)", "np.putmask(a, k, True)",
                          "np.place(a, k, b)", "np.place(a, k, few)", "np.place(a, k, 3)", "np.place(a, k, 0.5)", "np.putmask(a, k, 300)",
                          "np.extract(k, a)", "np.compress(k, a)", "np.compress(k, a, 0)", "np.compress(k[:3], a)", "np.count_nonzero(k)",
                          "np.count_nonzero(a)", "np.putmask(a, k, a[::-1])", "np.place(a, k, a[::-1])", "np.putmask(a, a, b)",
                          "np.extract(k, a[::-1])", "np.putmask(a[::-1], k, b)", "np.putmask(a[1:], k[1:], a[:-1])", "np.place(a[1:], k[1:], a[:-1])", "np.count_nonzero(k[::2])"):
            same(statement, a=a, b=b, k=k, few=few)
    m, k = numpy.arange(6.0).reshape(2, 3), numpy.arange(6).reshape(2, 3) % 2 == 0
    for statement in ("np.putmask(m, k, m * 2)", "np.putmask(m.T, k.T, 9.0)", "np.place(m, k, 1.5)", "np.extract(k, m)", "np.extract(k.T, m)",
                      "np.compress(k[0], m)", "np.compress(k[0], m, 1)", "np.count_nonzero(k)", "np.count_nonzero(k, 0)", "np.place(m, k, [])",
                      "np.putmask(m, k[0], 1.0)", "np.count_nonzero(k, axis=1, keepdims=True)", "np.extract(k, 3.0)", "np.place(m, k)"):
        same(statement, m=m, k=k)


def test_masks_of_few_elements_enter_no_python_frame(near):
    if not near:
        return
    space = {"np": np, "a": np.arange(4.0), "b": np.ones(4), "k": np.arange(4) > 1}
    for statement in ("np.putmask(a, k, b)", "np.putmask(a, k, 2.0)", "np.place(a, k, 0.5)", "np.extract(k, a)", "np.compress(k, a)", "np.count_nonzero(k)"):
        left = braze.fallbacks()
        assert frames_of(statement, space) == [], statement
        assert braze.fallbacks() == left or statement.startswith("np.count") and core_version() >= 203, statement


def core_version():
    major, minor, *_ = numpy.__version__.split(".")
    return 100 * int(major) + int(minor)


def test_what_a_mask_writes_nobody_else_sees():
    a, k = np.arange(4.0), np.arange(4) > 1
    copy = np.array(a)
    np.putmask(a, k, np.ones(4))
    np.place(a, ~k, 5.0)
    assert a.tolist() == [5.0, 5.0, 1.0, 1.0] and copy.tolist() == [0.0, 1.0, 2.0, 3.0]
    fixed = np.broadcast_to(a, (4,))
    for write in (np.putmask, np.place):
        with pytest.raises(ValueError, match="read-only"):
            write(fixed, k, 2.0)


# ---- Products ----

TEXTS = ["i,i->", "ij,j->i", "i,ij->j", "ij,jk->ik", "ij,jk->ki", "ii,i->i", "ij,j->j", "i,j->ij", "i,i->i", "ij,ij->", "ij,jk", "i , i ->", "Aj,jB->AB",
         "ij,jk->ikx", "ij,jk->i", "i,i", "ij,j->", "jj,j->j", "ij,ji->ii", "i,i->j", "i.i->", "", "ij,jk->ik->", "1j,jk->1k", "ij,jk-ik"]


def test_sums_of_products_are_numpys():
    rng = numpy.random.default_rng(1)
    v, w, m, n, one = rng.random(3), rng.random(4), rng.random((3, 3)), rng.random((3, 4)), rng.random((3, 1))
    for text, (a, b) in itertools.product(TEXTS, [(v, v), (m, v), (v, m), (m, n), (m, m), (n, w), (m.T, v), (v, w), (one, one.T), (n, v), (one, v)]):
        theirs, mine = both(f"np.einsum({text!r}, a, b)", a=a, b=b)
        close(mine, theirs, (text, a.shape, b.shape))
    for a, b in [(v, v), (m, v), (v, m), (m, n), (n, w), (v, w), (rng.random((2, 3, 4)), rng.random((3, 4, 2))), (one, one)]:
        for axes in (0, 1, 2, 3, -1, 1.0, True, [0, 0], ([0], [0]), "x"):
            theirs, mine = both(f"np.tensordot(a, b, {axes!r})", a=a, b=b)
            close(mine, theirs, (axes, a.shape, b.shape))
    for dtype in "? i4 f2 f4 c8".split():
        a = (v * 3).astype(dtype)
        close(*reversed(both("np.einsum('i,i->', a, a)", a=a)), dtype)
        close(*reversed(both("np.tensordot(a, a, 1)", a=a)), dtype)


def close(mine, theirs, what):
    if isinstance(theirs, tuple):  # an error
        assert mine[0] == theirs[0], what
        return
    for x, y in zip(mine, theirs, strict=True):
        if isinstance(y, (tuple, list)) and len(y) == 3 and isinstance(y[2], bytes):
            assert x[:2] == y[:2], what
            numpy.testing.assert_allclose(*(numpy.frombuffer(z[2], z[1]) for z in (x, y)), rtol=1e-3 if "16" in y[1] else 1e-6)
        else:
            assert numpy.allclose(x, y), what


def test_a_product_of_what_is_pending_stays_so():
    with_none = braze.fallbacks()
    a = np.ones(300_000) * 2.0
    made = np.einsum("i,i->", a, a), np.tensordot(a, a, 1)
    assert [float(x) for x in made] == [1.2e6, 1.2e6] and made[1].shape == () and not made[1]._is_scalar
    assert braze.fallbacks() == with_none


# ---- Draws of the older functions ----

DRAWS = ["np.random.rand()", "np.random.rand(3)", "np.random.rand(2, 3)", "np.random.random()", "np.random.random(5)", "np.random.random((2, 2))",
         "np.random.random(size=3)", "np.random.random_sample(4)", "np.random.ranf(2)", "np.random.sample()", "np.random.uniform(1.0, 4.0, 3)",
         "np.random.uniform()", "np.random.uniform(2, -1, size=2)", "np.random.uniform(high=3, size=(1, 2))", "np.random.uniform(0.0, np.inf)",
         "np.random.rand(0)", "np.random.rand(-1)", "np.random.random(-1)", "np.random.random(())", "np.random.rand(2.0)", "np.random.uniform(size=None)",
         "np.random.uniform([0.0, 1.0], 2.0)", "np.random.rand(5000)", "np.random.random(True)", "np.random.rand(10, 0)", "np.random.normal(size=3)"]


def test_older_draws_are_numpys_numbers_in_numpys_order():
    for order in range(3):
        some = random.Random(order).sample(DRAWS, len(DRAWS))
        numpy.random.seed(order)
        theirs = [both_one(numpy, s) for s in some]
        state = numpy.random.get_state()
        np.random.seed(order)
        assert [both_one(np, s) for s in some] == theirs
        assert plain(np.random.get_state()) == plain(state)


def both_one(module, statement):
    try:
        return plain(eval(statement, {"np": module}))
    except Exception as error:  # noqa: BLE001 any error is compared
        return type(error).__name__, str(error)


def test_older_draws_follow_the_generator_that_is_set():
    before = numpy.random.get_bit_generator() if hasattr(numpy.random, "get_bit_generator") else None
    if before is None:
        pytest.skip("this NumPy has one bit generator for good")
    np.random.seed(1)
    first = np.random.rand(3).tolist()
    try:
        numpy.random.set_bit_generator(numpy.random.PCG64(5))
        assert np.random.rand(3).tolist() == numpy.random.Generator(numpy.random.PCG64(5)).random(3).tolist()
    finally:
        numpy.random.set_bit_generator(before)
    np.random.seed(1)
    assert np.random.rand(3).tolist() == first


# ---- What is lent ----

def layouts(rng, dtype):
    """Arrays of few elements, as they can lie."""
    a = rng.integers(0, 50, (4, 6, 2)).astype(dtype)
    yield from (a, a[0], a[0, 0], a[:, 0], a.T, a[::2, ::-1], a[:, :, 0], a[:1], a[:, :1], a[:0], a[:, :0, 0], a[0].T, a[::3, :1, :1], a[1:, 1:, 1],
                a.reshape(-1)[1:], a.reshape(-1)[::5], a[0, 0, :1], a[..., 0].T, a.transpose(1, 0, 2))


def test_numpy_is_shown_how_an_array_lies():
    rng = numpy.random.default_rng(2)
    for turn in range(2):  # what was lent is lent again
        for dtype in "f8 ? c16 i2 f4 u1 c8 i8".split():
            for a in layouts(rng, dtype):
                # The bytes in an order that depends on how the array lies; a view must lie alike in ours.
                b = np.array(a.copy() if turn else a)
                lies = numpy.lib.stride_tricks.as_strided(numpy.asarray(b), b.shape, b.strides)
                assert b.tobytes("A") == lies.tobytes("A") and b.tobytes("F") == a.tobytes("F")
                assert numpy.asarray(np.lexsort((b.reshape(-1),))).tolist() == numpy.lexsort((a.reshape(-1),)).tolist()
                for part in (b[1:], b[::-1], b.T, b[..., :1]) if b.ndim else ():
                    theirs = numpy.asarray(part)
                    assert part.tobytes("A") == theirs.tobytes("A")
                    assert np.delete(part, 0, 0).tolist() == numpy.delete(theirs, 0, 0).tolist() if part.shape[0] else True


def test_memory_that_is_not_aligned_is_lent_as_it_is():
    raw = np.arange(80).astype("u1")
    for start, dtype in itertools.product((0, 1, 3, 4, 7, 8), ("f8", "i2", "c16", "f4")):
        size = numpy.dtype(dtype).itemsize
        a = raw[start : start + 64 // size * size].view(dtype)
        theirs = numpy.asarray(raw)[start : start + 64 // size * size].view(dtype)
        assert np.sort_complex(a).tobytes() == numpy.sort_complex(theirs).tobytes()
        assert np.partition(a, 1).tobytes() == numpy.partition(theirs, 1).tobytes()


        shown = _core.lent_call(lambda x: [x.flags.aligned, x.strides, x.flags.c_contiguous, x.flags.f_contiguous, x.flags.writeable], (a,))
        assert shown == [theirs.flags.aligned, theirs.strides, True, True, False]


def test_what_is_written_meanwhile_is_written_elsewhere(near):
    a = np.arange(3.0)
    if near:
        for write in (lambda: operator.setitem(a, 0, 9.0), lambda: operator.setitem(a, [1], 9.0), lambda: np.putmask(a, a == 2.0, 9.0)):
            assert _core.lent_call(lambda x, write=write: (x.tolist(), write(), x.tolist())[::2], (a,)) in [
                (list(x), list(x)) for x in ([0.0, 1.0, 2.0], [9.0, 1.0, 2.0], [9.0, 9.0, 2.0])]
        assert a.tolist() == [9.0, 9.0, 9.0]


def test_a_view_that_somebody_keeps_is_lent_to_nobody_else():
    kept, a, b = [], np.arange(3.0), np.arange(3.0) + 10.0
    for x in (a, b):
        assert _core.lent_call(lambda x: (kept.append(x), float(x.sum()))[1], (x,)) == x.sum()
    for _ in range(3):
        np.lexsort((b, b))
    assert [x.tolist() for x in kept] == [[0.0, 1.0, 2.0], [10.0, 11.0, 12.0]] and not kept[0].flags.writeable
    with pytest.raises(KeyError):
        _core.lent_call(lambda x: {}[kept.append(x)], (a,))
    assert _core.lent_call(len, ([a],)) is NotImplemented and kept[2].tolist() == [0.0, 1.0, 2.0]
    a[0] = 99.0
    assert kept[0].tolist()[1:] == [1.0, 2.0]


def test_functions_that_call_the_programs_are_numpys():
    def third(x, y=1):
        if y > 5:
            raise KeyError(y)
        return x / 3 + y

    t, m = numpy.array([1.0, 2.0, 3.0]), numpy.arange(6.0).reshape(2, 3)
    for statement in ("np.vectorize(f)(t)", "np.vectorize(f)(t, 2)", "np.vectorize(f)(t, t)", "np.vectorize(f)(t, 9)", "np.vectorize(float)(2.5)",
                      "np.vectorize(f, otypes=['i4'])(t)", "np.apply_along_axis(f, 0, m)", "np.apply_along_axis(len, 1, m)",
                      "np.apply_along_axis(f, 1, m, 2)", "np.apply_along_axis(f, 7, m)", "np.vectorize(f)([t, t], [1, 2, 3])", "np.vectorize(f)()"):
        same(statement, t=t, m=m, f=third)


def test_named_results_are_named():
    q = numpy.array([[2.0, 1.0], [1.0, 3.0]])
    for name in ("eigh", "svd", "qr", "eig", "slogdet"):
        theirs, mine = getattr(numpy.linalg, name)(q), getattr(np.linalg, name)(np.array(q))
        assert type(mine) is type(theirs) and type(mine[-1]) is np.ndarray
        assert DEVICE or plain(mine) == plain(theirs)  # a device's solver has last places and signs of its own


# ---- Numbers and lists in the place of arrays ----

@pytest.mark.parametrize("dtype", ["f8", "i8", "f4", "u1"])
def test_a_number_is_searched_as_numpy_searches_it(dtype, near):
    rng = numpy.random.default_rng(3)
    numbers = [0.5, 3, -1, 2.0, float("nan"), float("inf"), 2**53 + 1, 2**70, True, -0.0, numpy.float64(1.5), numpy.int64(2), 1j, "x", None]
    for n in (0, 1, 2, 7, 100):
        a = numpy.sort(rng.integers(0, 5, n).astype(dtype))
        unsorted = rng.permutation(a)
        given = [a, a[::2], *([unsorted, a[::-1]] if near else [])]  # who is far goes another way through what is in no order
        if dtype[0] == "f":
            given.append(numpy.sort(numpy.r_[a, [numpy.nan] * 3, numpy.inf]).astype(dtype))
        for x in given:
            for y in numbers:
                for how in ("", ", 'left'", ", 'right'", ", side='right'", ", 'x'"):
                    if n < 100 or x is a:
                        theirs, mine = both(f"a.searchsorted(y{how})", a=x, y=y)
                        assert theirs == mine or isinstance(theirs, tuple) and theirs[0] == mine[0], (x, y, how)
    same("np.searchsorted(a, 0.5)", a=rng.random((2, 2)))


@pytest.mark.parametrize("x", [3.0, 7, True, 2**70, -(2**63), 1j, None, "x", numpy.float32(0.5), numpy.float64(2), [1.0, 2], [], (3, 4), [[1, 2], [3, 4]], numpy.arange(3.0), numpy.array(2.5)])
def test_numbers_become_arrays_with_axes(x):
    for name in ("atleast_1d", "atleast_2d"):
        same(f"np.{name}(x)", x=x)
        same(f"np.{name}(x, 2.0)", x=x)
    assert np.atleast_1d(np.ones(3)[0]).shape == (1,) and type(np.atleast_1d(2.0)) is np.ndarray
    alone = np.atleast_1d(2.0)
    alone += 1
    assert alone.tolist() == [3.0] and np.atleast_1d(2.0).tolist() == [2.0]


@pytest.mark.parametrize("shape", [(), (3,), (0,), (1,), (2, 3), (2, 0), (1, 4), (2, 3, 4)])
@pytest.mark.parametrize("name", ["flipud", "fliplr"])
def test_turned_rows_and_columns_are_views_as_numpys(name, shape):
    a = numpy.arange(float(numpy.prod(shape))).reshape(shape)
    same(f"np.{name}(a)", a=a)
    same(f"np.{name}(a.T)", a=a)
    same(f"np.{name}(m=a)", a=a)
    same(f"np.{name}(a, 1)", a=a)
    if a.ndim > 1 and a.size and 1 not in shape:
        b = np.array(a)
        turned = getattr(np, name)(b)
        assert turned.base is b and turned.strides == getattr(numpy, name)(a).strides
        turned[...] = 7.0
        assert (b == 7).all()


SOURCES = [2.5, 3, True, 2**70, -1, 1j, None, "x", [1, 2, 3], numpy.arange(3.0), numpy.arange(3), numpy.arange(2.0), numpy.ones((1, 3)), numpy.array(2.0), numpy.ones((2, 3)),
           numpy.arange(6.0)[::2], numpy.float32(3), numpy.arange(3) + 1j]


@pytest.mark.parametrize("dtype", ["f8", "i8", "f4", "u1", "c16", "?"])
def test_copyto_is_numpys(dtype, recwarn):
    for src in SOURCES:
        for dst in (numpy.zeros(3, dtype), numpy.zeros((2, 3), dtype), numpy.zeros(6, dtype)[::2], numpy.zeros(0, dtype), numpy.zeros((), dtype)):
            for how in ("", ", 'unsafe'", ", 'no'", ", where=[True, False, True]"):
                if src is None and not dst.size:
                    continue  # nothing is cast
                theirs, mine = both(f"_ = np.copyto(c, s{how})", c=dst, s=src)
                assert theirs == mine or isinstance(theirs, tuple) and isinstance(mine, tuple) and theirs[0] == mine[0], (dst, src, how)
    a = np.arange(4.0)
    np.copyto(a[1:], a[:-1])  # they overlap
    assert a.tolist() == [0.0, 0.0, 1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        np.copyto(np.broadcast_to(a, (2, 4)), 1.0)
    with pytest.raises(ValueError, match="read-only"):
        np.copyto(np.broadcast_to(a, (2, 4)), a)
    kept = np.array(a)
    view = numpy.asarray(kept)
    np.copyto(kept, 5.0)
    assert kept.tolist() == [5.0] * 4 and view.tolist() == a.tolist()


def test_scalars_have_the_hashes_and_texts_of_numpys():
    values = [0, 1, -1, -2, 5, 2**31, 0.5, -0.0, 1e300, float("inf"), -float("inf"), 0.1]
    for dtype in "? i1 u1 i4 u4 i8 u8 f2 f4 f8 c8 c16".split():
        with numpy.errstate(all="ignore"):
            theirs = numpy.array(values).astype(dtype)
        mine = np.array(theirs)
        for k, x in enumerate(theirs):
            for y in (mine[k], mine.reshape(-1, 1)[k].sum() if dtype in ("f8", "i8") else mine[k]):
                assert hash(y) == hash(x) and {y: 1}[x] == 1 and {x: 1}[y] == 1, x
                for text in ("", ".3f", "5d", ">12", "e", "x", "nonsense", "+.2g"):
                    assert formatted(y, text) == formatted(x, text), (x, text)
    lazy = (np.arange(300_000.0) * 2).sum()
    assert f"{lazy:.1f}" == f"{float(lazy):.1f}" and hash(lazy) == hash(float(lazy))
    for a in (numpy.arange(3.0), numpy.array(2.5), numpy.zeros((0, 2))):
        for text in ("", ".2f"):
            assert formatted(np.array(a), text) == formatted(a, text)
        with pytest.raises(TypeError, match="unhashable"):
            hash(np.array(a))
    nan = np.array([numpy.nan])[0]
    assert nan in {nan} and hash(nan) == hash(nan)


def formatted(x, text):
    try:
        return format(x, text)
    except (TypeError, ValueError) as error:
        return type(error).__name__, str(error).replace("braze.", "")


def test_types_are_told_without_the_values():
    a, b = np.ones(300_000, "f4") * 2, np.ones(300_000, "i4") + 1
    before = braze.counters()["demands"]
    assert np.result_type(a, b) == numpy.result_type("f4", "i4") and np.result_type(a, 1.0) == numpy.dtype("f4")
    assert np.result_type(a, b.sum()) == numpy.result_type("f4", "i8") and braze.counters()["demands"] == before


def test_one_sample_warns_where_numpy_warns(near):
    for name, args in (("cov", "(x, x)"), ("corrcoef", "(x,)")):
        told = []
        for module in (numpy, np):
            with pytest.warns(RuntimeWarning) as said:
                eval(f"m.{name}{args}", {"m": module, "x": module.array([1.5])})
            told.append([(str(w.message), near and w.filename.rpartition("/")[2]) for w in said])
        assert told[0] == told[1]


def test_lists_of_numbers_reach_functions_of_the_programs():
    for text in ("np.vectorize(float)([1, 2, 3])", "np.vectorize(lambda x, y: x + y)([1, 2], (3, 4))", "np.vectorize(str)([1, 2])", "np.vectorize(len)(['a'])",
                 "np.vectorize(lambda x: 1 / x)([1, 0])", "np.vectorize(lambda x: x)([])", "np.vectorize(lambda n, x: len(n) + x, excluded=[0])([1, 2], [5, 6])"):
        same(text)


def test_matrices_become_lists_of_rows():
    for dtype in ("f8", "i8", "f4", "c16", "?"):
        for shape in ((2, 3), (3, 0), (0, 3), (2, 3, 4), (1, 1), (70, 3)):
            a = numpy.arange(numpy.prod(shape)).reshape(shape).astype(dtype)
            same("a.tolist()", a=a)
            same("a[..., 1:].tolist()", a=a)
