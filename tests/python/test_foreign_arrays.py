# SPDX-License-Identifier: Apache-2.0
"""What is more than data is left to NumPy, or to itself: masked arrays, matrices, other
subclasses of numpy.ndarray, arrays of other libraries, objects that outrank arrays.

Each line runs with NumPy's arrays and with ours, next to the same object.
"""

import operator
import warnings

import numpy
import pytest
from foreign_kinds import KINDS, Held, facts, matrix, outcome

import braze
import braze.numpy as np


def _table(text):
    """Entries stand apart by two spaces or a line's end."""
    return [entry for line in text.splitlines() for entry in line.split("  ") if entry]


# a, v, i: arrays of floats and integers, s: a number, all of the module; x: the object.
OPERATORS = _table("""
a + x  x + a  a - x  x - a  a * x  x * a  a / x  x / a  a // x  a % x  divmod(a, x)
divmod(x, a)  a ** x  x ** a  i ** x  a @ x  x @ a  v @ x  x @ v  a == x  x == a  a != x  a < x
x < a  a >= x  x > a  i << x  i & x  x & i  i | x  i ^ x  s + x  x + s  s * x  x * s  s ** x
s == x  x < s  s @ x  a + [x, x]  a[x]
""")
FUNCTIONS = _table("""
np.sum(x)  np.sum(x, axis=0)  np.sum(x, 0, keepdims=True)  np.prod(x)  np.prod(x, axis=1)
np.min(x)  np.max(x, axis=0)  np.any(x)  np.all(x, axis=0)  np.argmin(x)  np.argmax(x, axis=1)
np.mean(x)  np.mean(x, axis=0)  np.var(x)  np.std(x)  np.std(x, axis=0)  np.ptp(x)
np.ptp(x, axis=0)  np.count_nonzero(x)  np.count_nonzero(x, axis=0)  np.average(x)
np.average(x, axis=0)  np.average(a, weights=x)  np.average(x, weights=a)  np.sum(a, where=x)
np.array(x)  np.array(x, subok=True)  np.asarray(x)  np.asanyarray(x)  np.ascontiguousarray(x)
np.copy(x)  np.copy(x, subok=True)  np.zeros_like(x)  np.ones_like(x)  np.empty_like(x).shape
np.full_like(x, 3)  np.full((2, 2), x)  np.tril(x)  np.triu(x)
np.meshgrid(x, v)  np.shape(x)  np.ndim(x)  np.size(x)  np.reshape(x, (4,))  np.reshape(x, 4)
np.ravel(x)  np.transpose(x)  np.permute_dims(x)  np.matrix_transpose(x)  np.swapaxes(x, 0, 1)
np.moveaxis(x, 0, 1)  np.rollaxis(x, 1)  np.expand_dims(x, 0)  np.squeeze(x)
np.broadcast_to(x, (2, 2, 2))  np.broadcast_to(x, (2, 2, 2), subok=True)
np.broadcast_arrays(x, v)  np.broadcast_arrays(x, v, subok=True)  np.atleast_1d(x)
np.atleast_1d(x, a)  np.atleast_2d(x)  np.atleast_3d(x)  np.concatenate([x, a])
np.concatenate([a, x])  np.concatenate((a, x), axis=1)  np.concatenate([x, a], axis=None)
np.concat([a, x])  np.concatenate(x)  np.stack([a, x])  np.stack([x, a], axis=1)  np.stack(x)
np.vstack([a, x])  np.hstack([a, x])  np.dstack([a, x])  np.column_stack([v, x])
np.block([a, x])  np.append(a, x)  np.append(x, a, axis=0)  np.split(x, 2)  np.array_split(x, 2)
np.hsplit(x, 2)  np.vsplit(x, 2)  np.unstack(x)  np.flip(x)  np.flip(x, 0)  np.fliplr(x)
np.flipud(x)  np.rot90(x)  np.roll(x, 1)  np.roll(x, 1, axis=0)  np.tile(x, 2)  np.repeat(x, 2)
np.repeat(x, 2, axis=0)  np.diagonal(x)  np.trace(x)  np.diag(x)  np.diff(x)  np.diff(x, axis=0)
np.where(x)  np.where(x, a, 0)  np.where(a > 6, x, a)  np.where(a > 6, a, x)  np.clip(x, 0, 1)
np.clip(a, x, 10)  np.clip(a, None, x)  a.clip(0, x)  np.real(x)  np.imag(x)  np.astype(x, 'f4')
np.take(x, [0])  np.take(x, i)  np.take(a, x)  np.take_along_axis(x, i, 0)
np.take_along_axis(a, x, 0)  np.matmul(x, a)  np.matmul(a, x)  np.dot(a, x)  np.dot(x, a)
a.dot(x)  np.inner(a, x)  np.outer(a, x)  np.vdot(a, x)  np.vecdot(a, x)  np.vecdot(x, a)
np.round(x)  np.round(x, 1)  np.array_equal(x, a)  np.array_equal(a, x)  np.isscalar(x)
np.iscomplexobj(x)  np.result_type(x)  np.can_cast(x, 'f4')  np.median(x)  np.cumsum(x)
np.cumsum(x, axis=0)  np.sort(x)  np.argsort(x)  np.unique(x)  np.nansum(x)
np.nanmean(x, axis=0)  np.isclose(a, x)  np.allclose(a, x)  np.isin(a, x)
np.einsum('ij,ij', a, x)  np.tensordot(a, x)  np.kron(a, x)  np.interp(v, v, x)  np.gradient(x)
np.pad(x, 1)  np.insert(x, 0, 1)  np.nonzero(x)  np.searchsorted(v, x)  np.histogram(x)[0]
np.bincount(x)  np.linalg.norm(x)  np.linalg.inv(x)  np.linalg.solve(a, x)
np.linalg.solve(x, a)  np.fft.fft(x)  np.add(a, x)  np.add(x, a)  np.add(x, x)  np.add(s, x)
np.add(x, 1)  np.add(x, 1, subok=False)  np.add(a, x, dtype='f4')  np.multiply(a, x)
np.multiply(x, v)  np.subtract(1, x)  np.divide(a, x)  np.power(a, x)  np.power(x, a)
np.power(x, 2)  np.power(i, x)  np.maximum(a, x)  np.equal(a, x)  np.less(x, a)
np.logical_and(a, x)  np.sqrt(x)  np.exp(x)  np.absolute(x)  np.negative(x)  np.isnan(x)
np.isfinite(x)  np.floor(x)  np.sign(x)  np.conjugate(x)  np.square(x)  np.arctan2(a, x)
np.modf(x)  np.divmod(a, x)  np.deg2rad(x)  np.bitwise_count(x)  np.add.reduce(x)
np.add.reduce(x, axis=1)  np.maximum.reduce(x)  np.logical_or.reduce(x)  np.add.accumulate(x)
np.add.reduceat(x, [0, 1])  np.add.outer(v, x)  np.add.outer(x, v)  np.multiply.outer(x, x)
np.array([x, x])  np.array([a, x])  np.asarray([x, 1])  np.sum([x, a], axis=0)
a.sum(axis=0).shape  a.take(x)  a.repeat(x)  a.astype(x)  a.reshape(x)  np.zeros(3, x)  a.sum(x)
np.sum(a, x)  np.dtype(x)
""")
STATEMENTS = _table("""
a += x  a -= x  a *= x  a /= x  a //= x  a **= x  a %= x  a @= x  a = i; a += x  a = i; a &= x
x += a  x *= a  x -= s  x @= a  a = s; a += x  a[...] = x  a[0] = x  a[:] = x  a[0, 0] = x
a[[0, 1]] = x  a[a > 6] = x  a.fill(x)  a[x] = 1  x[0] = a[0]  x[...] = a
r = np.add(a, a, out=x)  r = np.add(a, x, out=a)  r = np.add(x, x, out=a)  r = np.sqrt(a, out=x)
r = np.sqrt(a, x)  r = np.sum(a, axis=0, out=x)  r = np.sum(a, axis=0, keepdims=False, out=x[0])
r = np.sum(x, axis=0, out=v)  r = np.cumsum(a, axis=0, out=x)  r = np.cumsum(x, axis=0, out=a)
r = np.clip(a, 5, 6, out=x)  r = np.clip(x, 0, 1, out=a)  r = a.clip(5, 6, x)
r = np.matmul(a, a, out=x)  r = np.dot(a, a, out=x)  r = np.dot(a, a, x)
r = np.maximum(a, 6, x)  r = np.mean(a, axis=0, out=x[0])  r = np.round(a, 0, x)
r = np.take(a, i, out=x)  r = np.concatenate([a[:1], a[1:]], out=x)
r = np.stack([a[0], a[1]], out=x)  r = np.trace(a, out=x)  r = np.argmax(a, axis=0, out=x)
r = np.modf(a, x)  r = np.divmod(a, 2, x)  np.copyto(a, x)  np.copyto(x, a)
np.copyto(a, 0, where=x)  np.put(a, [0, 1], x)  np.put(x, [0, 1], a)  np.putmask(a, a > 6, x)
np.place(a, a > 6, x)  np.put_along_axis(a, i, x, 0)  np.put_along_axis(x, i, a, 0)
np.fill_diagonal(a, x)  np.fill_diagonal(x, v)  np.add.at(a, 0, x)  np.add.at(x, 0, v)
a.put([0, 1], x)
""")


def _space(m, kind):
    a = m.array([[5.0, 6.0], [7.0, 8.0]])
    return {"np": m, "a": a, "s": a[0, 1], "v": m.array([1.0, 2.0]),
            "i": m.array([[1, 0], [0, 1]]), "x": KINDS[kind]()}


def _value(m, kind, text):
    return eval(text, _space(m, kind))


def _after(m, kind, text):
    space = _space(m, kind)
    exec(text, space)
    return [space[name] for name in "avix"], space.get("r")


def _compare(form, text):
    different = {}
    for kind in KINDS:
        theirs, ours = outcome(form, numpy, kind, text), outcome(form, np, kind, text)
        if theirs != ours:
            different[kind] = f"NumPy {theirs}, braze {ours}"
    assert not different


@pytest.mark.parametrize("text", OPERATORS)
def test_an_operator_leaves_it_to_what_is_more_than_an_array(text):
    _compare(_value, text)


@pytest.mark.parametrize("text", FUNCTIONS)
def test_a_function_leaves_it_to_what_is_more_than_an_array(text):
    _compare(_value, text)


@pytest.mark.parametrize("text", STATEMENTS)
def test_writing_leaves_it_to_what_is_more_than_an_array(text):
    _compare(_after, text)


def test_a_masked_array_keeps_its_mask():
    masked = numpy.ma.array([1, 2, 3], mask=[0, 0, 1])
    assert np.sum(masked) == 3
    assert np.mean(numpy.ma.array([1.0, 2, 30], mask=[0, 0, 1])) == 1.5
    assert np.max(np.ma.masked_invalid([1.0, numpy.nan])) == 1.0
    for made in (np.arange(3) + masked, masked + np.arange(3), np.add(masked, np.arange(3))):
        assert made.tolist() == [1, 3, None]
    for f in (np.sqrt, np.exp, np.asanyarray, np.diff):
        assert isinstance(f(masked), numpy.ma.MaskedArray)
    assert isinstance(np.ma.array([1, 2], mask=[0, 1]) + np.arange(2), numpy.ma.MaskedArray)


def test_the_masked_constant_is_written_as_nan():
    a = np.zeros(2)
    with pytest.warns(UserWarning, match="masked element"):
        a[0] = numpy.ma.masked
    assert numpy.isnan(float(a[0])) and float(a[1]) == 0


def test_a_matrix_multiplies_as_a_matrix():
    m = matrix([[1, 2], [3, 4]])
    assert (np.arange(2.0) * m).tolist() == [[3.0, 4.0]]
    assert (m * np.arange(2.0).reshape(2, 1)).tolist() == [[2.0], [4.0]]
    assert type(np.sum(m, axis=0)) is numpy.matrix


def test_a_memory_map_is_data(tmp_path):
    numpy.arange(6.0).tofile(tmp_path / "data")
    mapped = numpy.memmap(tmp_path / "data", "f8", "r")
    before = braze.fallbacks()
    for made in (np.sqrt(mapped), mapped + np.ones(6), np.ones(6) * mapped, np.asarray(mapped)):
        assert type(made) is np.ndarray
    assert float(np.sum(mapped)) == 15
    assert braze.fallbacks() == before


def test_data_takes_no_detour():
    before = braze.fallbacks()
    n, a = numpy.arange(4.0), np.arange(4.0)
    for x in (n, [1.0, 2, 3, 4], (1.0, 2, 3, 4), 2, 2.5, numpy.float32(1), a, a[0]):
        np.sum(x), np.add(a, x), a * x, np.stack([a, a + x]), np.clip(a, 0, x), np.ravel(x)
        np.concatenate([np.ravel(x), a]), np.where(a > 1, x, a), np.zeros_like(x)
        a += x
    assert braze.fallbacks() == before


def _calls(held):
    a = np.ones(3)
    target = np.zeros(3)
    target[...] = held
    other = np.zeros(3)
    other += held
    return [np.asarray(held), np.array(held), np.sum(held), np.mean(held), np.sqrt(held),
            np.add(a, held), a + held, held + a, np.bincount(np.asarray(held).astype(int)),
            np.intersect1d(held, [1.0, 2.0]), np.concatenate([a, held]), np.stack([held, held]),
            np.array([held, held]), np.where(a > 0, held, a), np.dot(a, held), a == held,
            np.cumsum(held), np.reshape(held, (3, 1)), target, other, np.maximum.reduce(held),
            np.linalg.norm(held), np.full(3, held), np.median([held, held], axis=0)]


def test_an_object_may_give_a_braze_array_as_its_array():
    ours = _calls(Held(np.array([1.0, 2, 3])))
    for got, want in zip(ours, _calls(Held(numpy.array([1.0, 2, 3]))), strict=True):
        assert facts(got) == facts(want)


def test_numpys_functions_find_the_subclass_behind_our_array():
    masked = numpy.ma.array([1.0, 2, 3], mask=[0, 1, 0])
    made = numpy.concatenate([np.ones(3), masked])
    assert type(made) is numpy.ma.MaskedArray
    assert type(numpy.add(np.ones(3), masked)) is numpy.ma.MaskedArray
    assert type(numpy.where(np.ones(3) > 0, masked, 0)) is np.ndarray  # as NumPy's is plain


def test_in_place_with_an_object_that_outranks_arrays_gives_the_objects_answer():
    class Ranked:
        __array_priority__ = 5

        def __radd__(self, other):
            return "its own", type(other)

    a = np.ones(2)
    a += Ranked()
    assert a == ("its own", np.ndarray)


def test_a_subclass_in_place_writes_the_same_array():
    a = b = np.ones((2, 2))
    a += numpy.ma.array([[1.0, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    assert a is b and b.tolist() == [[2, 3], [4, 5]]
    with pytest.raises(TypeError):
        np.arange(2).__iadd__(numpy.ma.array([1.5, 2]))


@pytest.mark.parametrize("f", (operator.add, operator.eq, operator.matmul, operator.pow, divmod))
def test_what_is_left_to_numpy_is_counted(f):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = sum(braze.fallbacks().values())
        f(np.ones((2, 2)), numpy.ma.ones((2, 2)))
        assert sum(braze.fallbacks().values()) == before + 1
