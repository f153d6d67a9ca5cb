# SPDX-License-Identifier: Apache-2.0
"""Errors of wrong types and shapes are told in NumPy's words, those of the version that is there."""

import operator

import numpy
import pytest

import braze.numpy as np


def _arrays(m):
    return {"m": m, "a": m.arange(6).reshape(2, 3), "f": m.arange(3.0), "b": m.arange(3) > 1,
            "x": m.arange(3.0)[1], "operator": operator}


CASES = """a + m.arange(4)
f * m.ones((2, 2))
m.add(f, m.ones(4))
m.maximum(a, m.arange(4))
f > m.ones(4)
f << 1
round(f)
round(a, 2)
round(m.array(2.5))
~f
f & 1
-b
b - b
m.sign(b)
m.invert(f)
f @ 3
3 @ f
a @ a
f @ m.ones(2)
m.matmul(a, a)
m.dot(a, f[:2])
m.dot(a, m.ones((2, 3)))
m.dot(m.ones((2, 2, 3)), m.ones((2, 2, 2)))
m.inner(a, m.ones(2))
m.vdot(f, m.ones(2))
operator.iadd(a, 1.5)
operator.itruediv(a, 2)
operator.iadd(b, 2)
operator.iadd(f, m.zeros((3, 3)))
m.add(f, 1, out=m.zeros(3, int))
m.add(m.arange(3), 1.5, out=m.zeros(3, int))
operator.setitem(a, 0, [1, 2])
operator.setitem(f, slice(None), m.arange(4))
operator.setitem(a, slice(None), m.ones((3, 2)))
operator.setitem(a, (0, 0), m.array([3, 4]))
operator.setitem(a, (0, 0), [3, 4])
m.full((2,), [1, 2, 3])
m.broadcast_to(f, (2, 4))
m.broadcast_to(a, (3,))
a.reshape(4)
a.reshape(5, -1)
f.reshape((3, 2))
f.reshape(2, 2, 1)
a.sum(axis=(0, 0))
a.max(axis=(1, -1))
m.empty(2**63)
m.zeros((2, 2**64))
m.asarray([1], copy=False)
m.array([1], copy=False)
f.is_integer
a[[0, 1], [0, 1, 2]]""".splitlines()


@pytest.mark.parametrize("text", CASES)
def test_an_error_has_numpys_words(text):
    told = []
    for module in (numpy, np):
        with pytest.raises((TypeError, ValueError, AttributeError, IndexError)) as caught:
            eval(text, _arrays(module))
        told.append((caught.type.__name__, str(caught.value)))
    assert told[0] == told[1]


def test_values_are_not_waited_for():
    # An error of the values would come first.
    a = np.arange(3) * 1
    bad = a[np.array([7, 1]) * 1]
    with pytest.raises(ValueError, match="could not be broadcast"):
        bad + np.ones(3)
