# SPDX-License-Identifier: Apache-2.0
"""Calls that NumPy refuses, or only just does not: axes, shapes, numbers, types and texts of
the wrong kind.  Ours refuse with the same class of error, and answer where NumPy does; what
was to be written is as NumPy leaves it.
"""

import numpy
import pytest
from foreign_kinds import outcome

import braze.numpy as np


def _table(text):
    """Entries stand apart by two spaces or a line's end."""
    return [entry for line in text.splitlines() for entry in line.split("  ") if entry]


CALLS = _table("""
np.sum(a, axis='foo')  np.min(a, axis=1.0)  np.min(a, axis=[0])  np.argmax(a, axis=1.0)
np.argmax(a, axis=True)  np.argmax(a, (0,))  a.reshape(True, 4)  a.reshape((2., 2))
a.reshape('x')  a.reshape(2, 2.)  np.reshape(a, True)  np.hstack(x for x in [a])
np.stack(x for x in [a])  np.stack(a)  np.unstack([1, 2])  np.unstack(f)
np.astype([1, 2], float)  np.zeros(True)  np.zeros((2, True))  np.zeros(2.0)  np.zeros('x')
np.zeros([2, 3])  np.zeros(-1)  np.ones(numpy.float64(2))  np.full(True, 1)  np.arange('x')
np.arange(True)  np.eye(True)  np.eye(2.0)  np.eye('x')  np.eye(-1)  np.tri(2.0)
np.identity(2.5)  np.linspace(0, 1, 2.5)  np.linspace(0, 1, -1)  np.broadcast_to(a, (3, 2))
np.broadcast_to(a, -1)  np.broadcast_to(a, (True, 2, 2))  np.swapaxes(a, 0, 5)
np.swapaxes(a, 0, True)  np.swapaxes(a, 0, 1.0)  np.moveaxis(a, 0, 3)
np.moveaxis(a, [0, 1], [0])  np.moveaxis(a, True, 0)  np.transpose(a, (0, 0))
np.transpose(a, (0, 1, 2))  np.transpose(a, (0, 2))  np.transpose(a, 0)
np.transpose(a, (0., 1))  a.transpose(1)  a.transpose(1, 0)  a.transpose([1, 0])
np.expand_dims(a, 5)  np.expand_dims(a, (0, 0))  np.expand_dims(a, 1.0)  np.squeeze(a, 0)
np.squeeze(a, 7)  np.squeeze(f, 0)  np.concatenate([])  np.concatenate([f])
np.concatenate([a, v])  np.concatenate([a, a], 5)  np.concatenate([a, a], 1.0)
np.concatenate(5)  np.concatenate([a, a], dtype='i4')  np.stack([])  np.stack([a, v])
np.stack([a, a], 9)  np.vstack([])  np.hstack([])  np.hstack([a, v])  np.column_stack([a, m3])
np.split(a, 3)  np.split(a, 0)  np.split(v, [1, 5])  np.split(v, 2.0)  np.array_split(v, 0)
np.array_split(v, -1)  np.array_split(v, 2.5)  np.split(f, 1)  np.hsplit(f, 1)  np.vsplit(v, 1)
np.flip(a, 5)  np.flip(a, 1.0)  np.fliplr(v)  np.flipud(f)  np.rot90(v)  np.rot90(a, 1, (0, 0))
np.rot90(a, 1, (0, 5))  np.rot90(a, 1, (0,))  np.roll(a, 1, 5)  np.roll(a, (1, 2), (0,))
np.roll(a, 1.5)  np.roll(a, 1.5, 0)  np.roll(a, 'x')  np.tile(a, -1)  np.tile(a, 1.5)
np.tile(a, (2, 1.5))  np.tile(a, 'x')  np.repeat(a, -1)  np.repeat(a, 1.5)
np.repeat(a, [1, 2], 0)  np.repeat(a, [1, 2, 3], 0)  np.repeat(f, 3, axis=0)  np.repeat(a, 2, 5)
np.repeat(a, True)  np.diagonal(v)  np.diagonal(a, 0, 0, 0)  np.diagonal(a, 1.5)
np.diagonal(a, 9)  np.trace(v)  np.diag(f)  np.diag(m3)  np.diff(f)  np.diff(a, -1)
np.diff(a, 1.5)  np.diff(a, 0)  np.diff(a, 5)  np.diff(a, 1, 7)  np.where(a > 1, a)
np.where(a > 1, a, m3)  np.where(a, v, m3)  np.clip(a)  np.clip(a, None, None)  np.clip(a, 1)
np.clip(a, 'x', 1)  np.clip(a, m3, 1)  np.take(a, 9)  np.take(a, [0.5])  np.take(a, [0], 5)
np.take(a, [0], 0.5)  np.take(a, [0], mode='x')  np.take(f, [0, 0], axis=0)
np.take(f, 0, axis=-1)  np.take(f, 1, axis=0)  np.take(f, [0], axis=1)  np.take(f, [0])
np.take(5.0, [0, 0], axis=0)  np.take_along_axis(a, [0], 0)
np.take_along_axis(a, np.array([[0.5]]), 0)  np.take_along_axis(a, np.array([[5, 5]]), 0)
np.matmul(a, 2)  np.matmul(f, a)  np.matmul(a, m3)  np.dot(a, m3)  np.dot(v, m3)
np.inner(a, m3)  np.vdot(a, v)  np.outer(a, v, out=v)  np.vecdot(a, m3)  a @ m3  a @ f  a + m3
np.add(a, m3)  np.add(a)  np.add(a, a, a, a)  np.add(a, a, dtype='x')  np.add(a, a, dtype='i4')
np.add(a, a, casting='x')  np.add(a, a, foo=1)  np.add(a, a, out=1)  np.add(a, a, out=[a])
np.add(a, a, out=v)  np.add(v, v, out=a)  np.add(a, a, out=i)  np.add(a, m3, out=i)
np.add(a, a, out=i[0])  np.sqrt(a, out=i[0])  np.sqrt(i, out=i)  np.left_shift(a, 1)
np.invert(a)  np.bitwise_and(a, a)  np.logical_not(a, out=v)  np.sum(a, out=v)
np.sum(a, axis=0, out=i[0])  np.sum(a, axis=0, out=f)  np.mean(a, axis=0, out=i[0])
np.max(a, axis=0, out=i[0])  np.max(np.zeros((0, 2)))  np.max(np.zeros((0, 2)), axis=1)
np.argmax(np.zeros((0, 2)), axis=0)  np.std(a, axis=9)  np.std(a, axis='x')
np.var(a, axis=True)  np.average(a, axis=9)  np.average(a, weights=v)  np.average(a, weights=m3)
np.average(v, weights=[0, 0])  np.average(a, 0, weights=[1, 2, 3])  np.ptp(a, axis=4)
np.count_nonzero(a, axis=4)  np.copyto(a, 'x')  np.copyto(i, a)  np.copyto(i, m3)
np.copyto(i, np.zeros((3, 3)))  np.copyto(a, m3)  np.copyto(a, a, casting='x')
np.copyto(a, a, where=[1, 0])  np.copyto([1], a)  np.copyto(i, np.array([1.5]), where=False)
a.astype('x')  a.astype('i4', casting='safe')  a.astype('i4', casting='x')  a.item(9)
a.item(0, 0, 0)  a.item('x')  a.item(1.0)  v.item()  a.fill('x')  a.fill([1, 2])  a.fill(m3)
a.take(9)  a.dot(m3)  a.round('x')  a.round(1.5)  np.round(a, 'x')  len(f)  iter(f)  float(a)
int(v)  bool(a)  bool(v)  [1, 2][a]  [1, 2][f]  range(f)  a[5]  a[0, 0, 0]  a['x']  a[1.0]
a[None, 9]  a[[0, 5]]  a[m3 > 0]  a[..., ...]  a[1:2:0]  a[:1.5]  a[[[0, 1], [1]]]  v[[True]]
v[[True, False, True]]  f[0]  f[[0]]  np.size(a, 5)  np.size(a, 'x')
np.meshgrid(a, indexing='x')  np.broadcast_arrays(a, m3)  np.real('x')  np.can_cast(a, 'x')
np.result_type()  np.array(a, dtype='x')  np.array(a, ndmin=99)  np.array([[1, 2], [3]])
np.asarray([[1, 2], [3]])  np.array([1, 'x'], dtype=float)  np.empty_like(a, shape=-1)
np.empty(3, 'x')  np.full((2, 2), [1, 2, 3])  np.full((2, 2), 'x', float)
np.full_like(a, [1, 2, 3])  np.ones_like('x')  np.cumsum(a, axis=9)  np.sort(a, axis=9)
np.linalg.inv(v)  np.einsum('ij,jk', a, m3)  np.isscalar()  np.array_equal(a)  np.tril(f)
np.tril(a, 1.5)  np.triu(a, 'x')  np.add.reduce(a, axis=9)  np.add.reduce(a, axis='x')
np.add.reduce(f)  np.add.reduce(f, axis=None)  np.subtract.reduce(a, axis=None)
np.add.reduce(a, foo=1)  np.add.outer(a)  np.add.at(a, 9, 1)  np.add.at(a, 'x', 1)
np.sqrt.reduce(a)  np.sqrt.at(a, [9])  np.power(i, -1)  i ** -1  np.power(i, np.array(-1))
i // 'x'  a < 'x'  a == 'x'  a == m3  a != None  a == None  a @ None  +a  np.rollaxis(a, 5)
np.rollaxis(a, 0, 9)  np.matrix_transpose(v)  np.atleast_1d()  np.atleast_2d(f, v)
np.ravel(a, 'C')  np.permute_dims(a, (0,))
""")
STATEMENTS = _table("""
i += 1.5  i += a  i += m3  i *= np.zeros((3, 3))  i /= 2  a += m3  v += a  i -= 'x'  i @= m3
a @= m3  a **= m3  i **= -1  i **= -1.0  i //= 2.0  i //= np.zeros((3, 3))  i |= 1.5  i <<= a
u -= 1  u += -1  u += 300  i[...] = m3  i[0] = 'x'  i[0] = 1j  i[0] = [1j, 2]
a[...] = np.array([1j, 2, 3])  a[...] = np.zeros(3, complex)  i[5] = 1  i[0, 0] = [1]
i[[0, 5]] = 1  i[m3 > 0] = 1  i['x'] = 1  i[1.5] = 1  f[0] = 1  f[...] = [1]  del a[0]
a.shape = (3,)  a.shape = (4,)  a.shape = True, 4  s[...] = 1  s[()] = 1  i.flat[0] = 9
a[0] = [[5, 6]]  v[...] = ([1], [2])  a[...] = [[[5, 6]]]  a[0] = [[1, 2, 3]]
u[0] = 300  u[0] = -1  u[...] = 300  u[...] = numpy.array(300)  u[u > 0] = 300  np.add(a, 1, i)
np.add(i, 1.5, out=i)  np.multiply(i, m3, out=i)
""")


def _space(m):
    return {"np": m, "numpy": numpy, "a": m.array([[1.0, 2], [3, 4]]), "v": m.array([1.0, 2.0]),
            "f": m.array(5.0), "i": m.array([[1, 2], [3, 4]]), "m3": m.zeros((3, 2)) + 1,
            "u": m.array([1, 2], "u1"), "s": m.array([1.0])[0]}


def _value(m, text):
    return eval(text, _space(m))


def _after(m, text):
    space = _space(m)
    error = None
    try:
        exec(text, space)
    except Exception as failure:
        error = outcome(_raise, failure)
    return error, [space[name] for name in "avfius"]


def _raise(error):
    raise error


@pytest.mark.parametrize("text", CALLS)
def test_a_call_is_refused_where_numpy_refuses_it(text):
    assert outcome(_value, np, text) == outcome(_value, numpy, text)


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_statement_is_refused_where_numpy_refuses_it(text):
    assert outcome(_after, np, text) == outcome(_after, numpy, text)


def test_a_wrong_type_is_told_before_a_wrong_shape():
    whole = np.arange(4)
    for run in (lambda: np.add(whole, np.ones(3), out=whole), lambda: np.add(1.5, [1, 2], out=whole),
                lambda: whole.__iadd__(np.ones(3)), lambda: whole.__imatmul__(np.ones((3, 3)))):
        with pytest.raises(TypeError):
            run()
    with pytest.raises(ValueError):
        whole += np.ones(3, int)
    assert whole.tolist() == [0, 1, 2, 3]
