# SPDX-License-Identifier: Apache-2.0
"""Calls with plain arguments: no Python frame, and what the function in Python answers."""

import copy
import inspect
import itertools
import math
import operator
import pickle
import random
import sys
import warnings

import braze
import braze.numpy as np
import numpy
import pytest
from braze import _core
from frames import frames_of
from on_device import DEVICE, processor_alone

np.random  # noqa: B018 what is looked up for the first time runs Python

A, B = np.array([1.5, -2.0, 3.25]), np.array([4.0, 0.5, 2.0])
M, N = np.arange(6.0).reshape(2, 3), np.arange(24).reshape(2, 3, 4)
I, F, C, K = np.arange(5), np.arange(4, dtype="f4"), np.ones(3, "c16") * 1j, A > 0
H, T, Z, E = np.ones(3, "f2"), M.T, np.array(2.5), np.zeros((0, 3))
S, V = A[1], A.sum()
R = np.broadcast_to(A, (2, 3))
_names = "A B M N I F C K H T Z E S V R"
ARRAYS = {n: globals()[n] for n in _names.split()}
OUT = np.zeros(3)
braze.wait(*ARRAYS.values(), OUT)  # what is stored outlives its session, which another file may close


def described(f, *args, **kwargs):
    """What a call gives, as far as a program can see it."""
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            made = f(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 any error is compared
        return type(error), str(error)
    return seen(made), [str(w.message) for w in told]


def seen(x):
    if isinstance(x, (numpy.ndarray, numpy.generic)) and type(x) is not np.ndarray:  # of a type that braze lacks
        return type(x), str(x.dtype), x.shape, str(x.tolist())
    if type(x) is not np.ndarray:
        return [seen(y) for y in x] if type(x) in (tuple, list) else (type(x), x)
    writing = _core.writing(x) if not x._is_scalar else "scalar"
    owner = [n for n, a in ARRAYS.items() if x is a or _core.same_buffer(x, a)]
    strides = x.strides if x.size else None
    return x.shape, str(x.dtype), strides, writing, x.base is None, owner, numpy.array(x).tobytes()


OF_NUMPY = _core.numpys_counts()  # those of numpys.def: test_numpys.py


def natives():
    """Every function and method with a path in C: (name, itself)."""
    for name in dir(np):
        if type(getattr(np, name)) is _core.native_function and name not in OF_NUMPY:
            yield name, getattr(np, name)
    for name, value in vars(np.ndarray).items():
        if type(value) is _core.native_descriptor and "ndarray." + name not in OF_NUMPY:
            yield "ndarray." + name, value


NATIVES = dict(natives())
AXES = [None, 0, 1, -1, 5, (0, 1), (1, 0), (0, 0), True, 1.0]
TYPES = [None, float, int, "f4", np.float32, numpy.dtype("i8"), "c16", complex, bool, "O", ">f8", "nonsense"]
SHAPES = [3, (2, 3), [3, 2], -1, (3, -1), (-1, -1), (), 0, (2, -3), (1,) * 9, 6, (6,), 2.0, True, numpy.int64(3),
          (numpy.int64(2), 3)]
VALUES = [0.5, 1, True, -7, 2**70, 1 + 2j, math.inf, math.nan, [1, 2, 3], numpy.float64(2), "x", None, S, V, Z]


def keyed(key, values):
    return [{key: v} for v in values]


ALIASES = {"amax": "max", "amin": "min", "around": "round", "concat": "concatenate", "permute_dims": "transpose"}


OTHERS = [([1, 2, 3],), ([[1.0, 2], [3, 4]],), (2.5,), (3,), (numpy.arange(3.0),), (None,)]


def alone():
    return [(a,) for a in ARRAYS.values()]


def of_reductions(others):
    some = [((*a, axis), {}) for a in alone() for axis in AXES]
    options = [*keyed("keepdims", [True, False, None]), *keyed("axis", AXES), *keyed("dtype", TYPES),
               {"out": np.zeros(())}, {"out": None}, {"no": 1}, {}]
    return some + [(a, k) for a in alone() for k in options] + [(a, {}) for a in others]


def of_reshape(others):
    some = [((*a, s), k) for a in alone() for s in SHAPES for k in ({}, {"order": "F"}, {"copy": True})]
    return some + [((a, 2, 3), {}) for a in (M, T, I)] + [((M, -1, 2), {}), ((M,), {}), ((M,), {"shape": (3, 2)})]


def of_items(others):
    places = [(), (0,), (-1,), (5,), (7,), (1, 2), (-1, 0), (2, 2), ((1, 2),), (True,), (1.0,), (0, 0, 0), (numpy.int64(1),), (None,)]
    return [((*a, *p), {}) for a in alone() for p in places]


def of_squeeze(others):
    some = [*alone(), *others, (A.reshape(1, 3, 1),), (A[:1],), (np.ones((1, 1)),), (np.ones((1, 0)),)]
    return [((*a, *x), {}) for a in some for x in ((), (0,), (None,), ((0, 2),))] + [((A.reshape(1, 3),), {"axis": 0})]


def of_flip(others):
    return [((*a, *x), {}) for a in alone() + others for x in ((), (0,), (1,), (-1,), (None,), ((0, 1),), (5,), (True,))]


def of_at_least(others):
    return [(a, {}) for a in alone() + others] + [((A, B), {}), ((), {}), ((A[:0],), {}), ((N[..., :1],), {})]


def of_copies(others):
    return [(a, k) for a in alone() + others for k in ({}, {"order": "F"}, {"order": "K"})]


def of_axes(others):
    some = [(None,), ((1, 0),), ([1, 0],), (1, 0), (0, 1), (0, 0), (-1, 0), (1,), (-1,), (3,), (0, 2, 1), ((0, 2, 1),),
            ((2, 0, 1),), (2, 0, 1), (True,)]
    return [(a, {}) for a in alone() + others] + [((a, *x), {}) for a in (M, N, T, A, Z, S) for x in some]


def of_astype(others):
    return [((*a, t), k) for a in alone() for t in TYPES for k in ({}, {"copy": False})]


def of_clip(others):
    return [((*a, x, y), {}) for a in alone() for x in VALUES for y in (2, 1.5, None, B, 2**70)]


def of_where(others):
    some = [((c, x, y), {}) for c in (K, Z, A, True, [1, 0, 1]) for x in (*VALUES, A, M) for y in (0, 0.5, B, 2**70)]
    return [*some, ((K,), {}), ((K, A), {}), ((K,), {"x": A})]


def of_products(others):
    return [((x, y), {}) for x in (*ARRAYS.values(), 2, [1, 2, 3]) for y in (*ARRAYS.values(), 2.0, [1, 2, 3])]


def of_round(others):
    some = [*alone(), *others, (A * 1.2345678912,), (F * 1.2345678912,), (np.array([1e300, -0.5, math.nan, -math.inf, 5e-324]),)]
    return [((*a, *d), {}) for a in some for d in ((), (0,), (1,), (2,), (-1,), (8,), (-8,), (9,), (None,))]


def of_bytes(others):
    data = [b"", b"1234567", bytes(16), bytes(range(24)), bytearray(8), "text"]
    return [((d, *x), k) for d in data for x in ((), ("i4",), ("u1", 3), ("u1", -1, 2), (None,), ("?",)) for k in ({}, {"offset": 8}, {"count": 0}, {"no": 1})]


def of_rounded(others):
    some = [(x,) for x in (A[0], I[0], A, F[0], K[0], Z)]
    some += [(x,) for x in np.array([2.5, -0.5, 1e300, math.nan, math.inf, -0.0, 0.125, 2.675, 1e16])]
    return [((*a, *d), {}) for a in some for d in ((), (0,), (1,), (2,), (-1,), (9,), (None,))]


def of_view(others):
    return [((*a, *t), {}) for a in alone() for t in ((), ("i8",), (None,), ("i4",))]


def of_diagonals(others):
    offsets = ((), (0,), (1,), (-1,), (2,), (9,), (-9,), (1.0,), (True,), (None,))
    some = [*alone(), *others, (A[:0],), (M[::-1, ::2],), (np.arange(12).reshape(4, 3)[:, ::-1],)]
    return [((*a, *k), {}) for a in some for k in offsets] + [((M, 0, 1, 0), {}), ((N, 1, 0, 2), {}), ((M,), {"offset": 1}), ((M,), {"k": 1}), ((M,), {"dtype": "f4"})]


def of_new(others):
    return [((s,), k) for s in SHAPES for k in [{}, {"order": "F"}, {"device": "cpu"}, *keyed("dtype", TYPES)]]


def of_full(others):
    return [((s, v), k) for s in SHAPES for v in VALUES for k in [{}, *keyed("dtype", [float, "i8", bool])]]


def of_likes(others):
    return [(a, k) for a in alone() + others for k in [{}, {"shape": (2, 2)}, *keyed("dtype", TYPES)]]


def of_full_like(others):
    return [((*a, v), k) for a in alone() for v in VALUES for k in ({}, {"dtype": float})]


def of_arange(others):
    ends = [0, 3, -4, 2.5, -0.5, 0.1, math.inf, True, None, numpy.int64(3), "x"]
    some = [((x,), {}) for x in ends] + [((x, y), {}) for x in ends for y in ends]
    some += [((2**62, 2**62 + 3), {}), ((-(2**63), -(2**63) + 4, 3), {}), ((2**63 - 5, 2**63 - 1, 3), {}),
             ((2**63 - 1, 2**63 - 9, -4), {}), ((2**70, 2**70 + 2), {})]
    return some + [((x, y, z), {"dtype": t}) for x in (0, 1.5, -3) for y in (0, 4, 7.25, -9)
                   for z in (1, -1, 0.1, 3, 0, None) for t in (None, float, int, "f4", "i4")]


def of_eye(others):
    return [((n, *x), k) for n in (0, 1, 3, -1, 2.0, True) for x in ((), (2,), (None,), (3, 1), (3, 0))
            for k in ({}, *keyed("dtype", [int, "f4", bool, None]))]


def of_identity(others):
    return [((n,), k) for n in (0, 1, 3, -1, 2.0, True) for k in ({}, *keyed("dtype", [int, "f4", bool, None]))]


def of_data(others):
    data = [[], [1], [1.0, 2], [True, 2], [1, 2**70], [[1, 2], [3, 4]], [[1, 2], [3]], [[1.5], 2], [[]], [[1], [2.0]],
            [math.nan, -0.0], ["a"], (1, 2), [[[1]]], [None], [S, 1.0], [A, B], 5, *ARRAYS.values()]
    return [((x,), k) for x in data for k in [{}, *keyed("dtype", TYPES)]]


def of_joins(others, options=({}, {"axis": 1}, {"axis": -1}, {"axis": 5}, {"axis": None}, {"dtype": "f4"})):
    groups = [(A, B), [A, B, A], (M, M), (M, T), (A, I), (Z, Z), (M, R), (E, M), [A], [], (A, [1, 2, 3]), A, (N, N), (T, T)]
    return [((g,), k) for g in groups for k in options]


def of_stacks(others):
    return of_joins(others, ({}, {"dtype": "f4"}))


def of_plain_stacks(others):
    return of_joins(others, ({},)) + [(([[A, A], [A, A]],), {}), (([[M, M], [M, M]],), {}), (([[A, 1.0]],), {}), (([[M], [A, A]],), {})]


def of_two(others):
    return [((a, b), k) for a in (A, M, E, S, R, T) for b in (A, M, 1.0, [1, 2], E) for k in ({}, {"axis": 0}, {"axis": None}, {"axis": 9})]


def of_times(others):
    pairs = [((a, n), k) for a in (A, M, T, E, R, S) for n in (0, 1, 2, 64, 65, -1, 2.0, (2, 2), [1, 2, 1])
             for k in ({}, {"axis": 0}, {"axis": -1}, {"axis": None}, {"axis": 9})]
    return [((a, n), k) for (a, n), k in pairs if a is not E or n != 2.0]


def of_tiles(others):
    return [(args, {}) for args, k in of_times(others) if not k] + [((A,), {"reps": 2}), ((M, (2,)), {}), ((M, [2, 1]), {})]


def of_pads(others):
    widths = (0, 1, (1, 2), ((1, 2),), ((1, 2), (3, 0)), [1, 2], [[1, 2]], -1, (1, -2), 1.5, (1, 2, 3), "x", True)
    return [((a, w, *m), k) for a in (A, M, T, E, R, S) for w in widths for m in ((), ("constant",), ("edge",))
            for k in ({}, {"constant_values": 3})]


CASES = {of_items: "item", of_squeeze: "squeeze", of_flip: "flip", of_at_least: "atleast_1d atleast_2d", of_reductions: "sum prod min max any all argmin argmax mean", of_reshape: "reshape", of_copies: "ravel flatten copy",
         of_axes: "transpose swapaxes expand_dims shape ndim", of_astype: "astype", of_clip: "clip", of_where: "where",
         of_products: "dot outer vdot inner", of_diagonals: "diagonal diag trace", of_round: "round", of_rounded: "__round__", of_bytes: "frombuffer", of_view: "view", of_new: "zeros ones empty", of_full: "full",
         of_likes: "zeros_like ones_like empty_like", of_full_like: "full_like", of_arange: "arange", of_eye: "eye",
         of_identity: "identity", of_data: "asarray array ascontiguousarray asfortranarray", of_joins: "concatenate stack", of_stacks: "vstack hstack",
         of_plain_stacks: "column_stack dstack block", of_two: "append", of_times: "repeat roll", of_tiles: "tile", of_pads: "pad"}


def cases(name):
    """Arguments for a function: what is plain, what nearly is, what is wrong."""
    short = ALIASES.get(name, name).removeprefix("ndarray.")
    make = next(f for f, names in CASES.items() if short in names.split())
    return make([] if name.startswith("ndarray.") else OTHERS)


UNINITIALISED = ("empty", "empty_like")


@pytest.mark.parametrize("name", sorted(set(NATIVES) - {"ndarray.fill"}))
def test_the_path_in_c_answers_as_python_does(name):
    fast, general = NATIVES[name], NATIVES[name].__wrapped__
    some = cases(name)
    assert len(some) > 10
    for args, kwargs in some:
        mine, theirs = described(fast, *args, **kwargs), described(general, *args, **kwargs)
        if name in UNINITIALISED and not isinstance(mine[0], type):
            mine, theirs = mine[0][:-1], theirs[0][:-1]
        assert mine == theirs, (name, args, kwargs)


@pytest.mark.parametrize("name", ["add", "multiply", "minimum", "maximum", "logical_and", "logical_or"])
def test_the_reduction_of_a_ufunc_answers_as_python_does(name):
    fast = getattr(np, name).reduce
    assert type(fast) is _core.native_function
    places = [((*a, axis), {}) for a in alone() for axis in AXES]
    for args, kwargs in [*of_reductions(OTHERS), *places, ((A,), {"initial": 3}), ((A,), {"where": K}), ((A, 0, None, None, True), {}), ((), {})]:
        assert described(fast, *args, **kwargs) == described(fast.__wrapped__, *args, **kwargs), (args, kwargs)


def test_filling_writes_what_python_writes():
    for value, dtype in itertools.product(VALUES, ["f8", "i8", "f4", "?", "c16", "u1"]):
        mine, theirs = np.zeros(3, dtype), np.zeros(3, dtype)
        assert described(mine.fill, value) == described(np.ndarray.fill.__wrapped__, theirs, value), (value, dtype)
        assert seen(mine) == seen(theirs)
    for a in (np.ones(3)[1:], np.ones((2, 3)).T, R, S):
        given = described(a.fill, 2.0)
        assert given == described(np.ndarray.fill.__wrapped__, a, 2.0)


PLAIN = """np.add(A, B); np.sqrt(B); np.maximum(A, 0.0); np.add(A, B, out=OUT); np.add(A, B, OUT); np.power(A, 2)
np.add(A, B, dtype=float); np.matmul(A, B); np.sum(A); np.sum(M, axis=0); np.mean(M, 1); np.max(A); np.any(K); A.sum(); A.mean()
M.sum(axis=1, keepdims=True); M.argmax(axis=0); A.all(); np.prod(A); np.argmin(A); M.max((0, 1)); M.reshape(3, 2); M.reshape((-1,))
np.reshape(M, (3, 2)); M.ravel(); M.flatten(); M.transpose(); M.transpose(1, 0); np.transpose(M); np.swapaxes(M, 0, 1)
np.expand_dims(A, 0); A.astype(np.float32); I.astype(float); I.astype('f8'); A.copy(); np.copy(A); OUT.fill(1.0); A.clip(0.0, 1.0)
np.clip(A, 0, 1); A.round(); np.round(A); np.where(K, A, B); np.where(K, A, 0.0); np.dot(A, B); A.dot(B); np.outer(A, B)
np.vdot(A, B); np.inner(A, B); np.trace(M); M.trace(1); np.diagonal(M); M.diagonal(-1); np.diag(A); np.diag(M, k=1); np.add.reduce(A); np.maximum.reduce(M, axis=1)
np.round(A, 2); A.round(3); np.einsum('i,i->', A, B); np.einsum('ij,j->i', M, A); np.tensordot(A, B, 1); np.tensordot(M, A, axes=1)
list(A); list(M); np.random.rand(3); np.random.random(3); np.random.uniform(0.0, 1.0, 3); np.random.rand(); np.random.randn(3); np.linalg.eigh(M[:, :2])
np.zeros(3); np.zeros((2, 3)); np.zeros(3, dtype=np.int64); np.ones(3, int); np.empty(3); np.full(3, 0.5); np.zeros_like(A)
np.ones_like(A); np.empty_like(A); np.full_like(A, 2.0); np.arange(3); np.arange(0.0, 1.0, 0.25); np.arange(1, 5, 2); np.eye(3)
np.identity(2); np.ascontiguousarray(A); np.ascontiguousarray(T); np.asfortranarray(M); M.view('u1'); A.view(np.int64); OUT[:2] = [1.0, 2]; np.asarray(A); np.array([1.0, 2.0]); np.array([[1, 2], [3, 4]]); np.concatenate((A, B)); np.concatenate([M, M], axis=1)
np.stack((A, B)); np.vstack((A, B)); np.hstack((A, B)); np.column_stack((A, B)); np.dstack((A, B)); np.append(A, B); np.block([A, B]); np.tile(A, 2)
np.repeat(A, 2); np.roll(A, 1); np.pad(A, 1); np.pad(M, ((1, 0), (0, 2))); A + B; A + 1.0; A < B; -A; A ** 2; OUT += B; A[1:]; M[0]; M[:, 1]; M[0, 1]
OUT[1] = 2.0; OUT[:2] = 0.5; OUT[:2] = A[1:]; OUT[:2] -= 1.0; M.T; A.shape; A.dtype; len(A); S + S; S / S; S * 2.0; S < 1.0
-S; S ** 2; np.sqrt(2.0); np.exp(S); np.abs(S); float(S); bool(S < 1); np.float64(2) if False else S"""


def statements():
    return [s.strip() for line in PLAIN.splitlines() for s in line.split(";") if s.strip()]


@pytest.mark.parametrize("statement", statements())
def test_a_plain_call_enters_no_python_frame(statement):
    if DEVICE and "linalg" in statement:
        pytest.skip("a device has a solver of its own, which is asked for in Python")
    assert frames_of(statement, dict(globals())) == []


# ---- What such functions and methods say of themselves ----


def test_a_method_is_bound_as_pythons_are():
    total = M.sum
    assert total.__self__ is M and total.__func__ is np.ndarray.sum
    assert total.__name__ == "sum" and total.__doc__ == numpy.ndarray.sum.__doc__
    assert total == M.sum and total != A.sum and total != M.max and hash(total) == hash(M.sum)
    assert total() == 15 and total(axis=0).tolist() == [3, 5, 7] and list(map(total, [0])) [0].tolist() == [3, 5, 7]
    assert "axis" in inspect.signature(total).parameters and "a" not in inspect.signature(total).parameters
    assert "sum" in repr(total) and callable(total)
    assert pickle.loads(pickle.dumps(total))() == 15
    assert copy.copy(total)() == 15
    with pytest.raises(AttributeError):
        total.nonsense  # noqa: B018


def test_the_type_of_methods_cannot_change_so_that_python_remembers_them():
    for kind in (_core.native_descriptor, _core.native_function):
        with pytest.raises(TypeError, match="immutable"):
            kind.new = 1


def test_methods_are_found_in_the_class_and_pickled_by_name():
    assert np.ndarray.sum(M) == 15
    assert pickle.loads(pickle.dumps(np.ndarray.sum)) is np.ndarray.sum
    assert list(map(np.ndarray.max, [A, B])) == [3.25, 4.0]
    assert operator.methodcaller("sum", axis=0)(M).tolist() == [3, 5, 7]
    many = {f"no{k}": k for k in range(40)}
    with pytest.raises(TypeError):
        M.sum(**many)


def test_a_wrong_call_raises_pythons_error():
    for wrong in (lambda: np.sum(), lambda: np.sum(A, A, A, A, A, A, A, A, A, A), lambda: A.sum(0, axis=0),
                  lambda: np.zeros(), lambda: np.concatenate(arrays=(A, B)), lambda: np.add(), lambda: np.add(A),
                  lambda: np.add(A, B, nonsense=1), lambda: np.where(condition=K, x=A, y=B)):
        with pytest.raises(TypeError):
            wrong()


def test_a_daemon_is_asked_about_no_function():
    before = dict(np.sum.__dict__)
    np.sum(A)
    assert np.sum.__dict__ == before and np.sum.__wrapped__.__name__ == "sum"


# ---- Numbers without an array ----

NUMBERS = [0.0, -0.0, 1.0, -2.5, 3.7, 1e300, -1e300, 1e-300, 5e-324, math.inf, -math.inf, math.nan, 2.0**53, 0.1]
INTEGERS = [0, 1, -1, 2, -7, 3, 2**31, 2**62, -(2**63), 2**63 - 1, 2**53 + 1]
BINARY = [getattr(operator, n) for n in "add sub mul truediv floordiv mod pow lt le eq ne gt ge and_ or_ xor lshift rshift".split()]


def given(f, *args):
    """A result's type and bits, or the error, with what NumPy warns of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            made = f(*args)
        except Exception as error:  # noqa: BLE001 any error is compared
            return type(error)
    if type(made) is np.ndarray:
        assert made._is_scalar
        made = _core.value(made)
    bits = made.tobytes() if isinstance(made, numpy.generic) else made
    if isinstance(made, (numpy.inexact, float, complex)) and made != made:
        bits = str(made)  # of a NaN the sign is nobody's promise
    return type(made), bits, [(w.category, str(w.message)) for w in told]


def values():
    """A scalar of ours and NumPy's of the same bits, of several types."""
    for x in NUMBERS:
        yield _core.scalar(numpy.float64(x)), numpy.float64(x)
    for i in INTEGERS:
        yield _core.scalar(numpy.int64(i)), numpy.int64(i)
    for other in (numpy.float32(1.5), numpy.int8(-3), numpy.uint64(2**63), numpy.bool_(True), numpy.complex128(1 + 2j),
                  numpy.float16(0.5)):
        yield _core.scalar(other), other


@pytest.mark.parametrize("f", BINARY, ids=lambda f: f.__name__)
def test_numbers_are_computed_as_numpys_scalars(f):
    all_values = list(values())
    plain = [*NUMBERS, *INTEGERS, True, 2**70, 1j]
    for mine, theirs in all_values:
        for other, others in all_values:
            assert given(f, mine, other) == given(f, theirs, others), (theirs, others)
        for other in plain:
            assert given(f, mine, other) == given(f, theirs, other), (theirs, other)
            if type(other) is complex and f in (operator.eq, operator.ne):
                continue  # NumPy's float64 is a Python float, whose comparison gives a bool
            assert given(f, other, mine) == given(f, other, theirs), (other, theirs)


@pytest.mark.parametrize("f", [operator.neg, operator.pos, operator.abs, operator.invert, *(
    getattr(np, n) for n in "sqrt floor ceil rint square absolute fabs negative".split())],
    ids=lambda f: f.__name__)
def test_functions_of_one_number_are_numpys(f):
    theirs = getattr(numpy, f.__name__) if type(f) is np.ufunc else f
    for mine, number in values():
        assert given(f, mine) == given(theirs, number), number
    for number in NUMBERS if type(f) is np.ufunc else ():
        assert given(f, number) == given(theirs, number), number


@processor_alone
@pytest.mark.parametrize("name", ["exp", "log", "sin", "tanh", "cbrt", "expm1"])
def test_other_functions_of_one_number_have_an_arrays_bits(name):
    """Whether arrays are near or not."""
    f = getattr(np, name)
    for x in (0.1, 0.7, 1.3, 2.5, 17.0, 300.25):
        assert float(f(x)) == float(f(np.array([x]))[0]), x


def test_numbers_at_random_have_numpys_bits():
    rng = random.Random(7)
    for _ in range(3000):
        x = rng.choice([rng.uniform(-10, 10), rng.gauss(0, 1e100), float(rng.randrange(-5, 6))])
        y = rng.choice([rng.uniform(-3, 3), float(rng.randrange(-4, 5)), rng.randrange(-4, 5)])
        f = rng.choice(BINARY[:13])
        mine = _core.scalar(numpy.float64(x))
        assert given(f, mine, y) == given(f, numpy.float64(x), y), (f, x, y)


def test_watched_numbers_are_asked_of_numpy():
    zero, one = _core.scalar(numpy.float64(0)), _core.scalar(numpy.float64(1))
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        one / zero
    with np.errstate(under="raise"), pytest.raises(FloatingPointError):
        _core.scalar(numpy.float64(1e-300)) * 1e-300
