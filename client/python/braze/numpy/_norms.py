# SPDX-License-Identifier: Apache-2.0
"""Norms of vectors along axes, composed of braze's operations.

Norms of matrices by their singular values, other orders than 1, 2 and the infinities, other
types and every error are NumPy's.  So is the norm of a whole array that is there: one call of
its library beats any trip.
"""

import math

import numpy

from braze import _core
from braze.numpy import _fallback, _ufuncs

ndarray = _core.ndarray
_DOUBLE = numpy.dtype(float)
_absolute, _sqrt = _ufuncs.make(numpy.absolute), _ufuncs.make(numpy.sqrt)
_norm = _fallback.wrapper("linalg.norm", numpy.linalg.norm)
_vector_norm = _fallback.wrapper("linalg.vector_norm", numpy.linalg.vector_norm)


def _of(x):
    """x as an array of ours whose norms are the composed ones; None: NumPy's affair."""
    if type(x) is not ndarray:
        return None
    kind = x.dtype.kind
    if kind in "biu":
        x = _core.cast(x, _DOUBLE)
    elif kind not in "fc" or x.dtype.itemsize < 4:
        return None
    return x if x.size and x.ndim else None


def _axes(x, axis):
    """An axis, or a tuple of some that differ; None: NumPy's affair."""
    given = axis if type(axis) is tuple else (axis,)
    if not given or not all(type(k) is int and -x.ndim <= k < x.ndim for k in given):
        return None
    return axis if len({k % x.ndim for k in given}) == len(given) else None


def _along(x, order, axis, keepdims):
    if order == 2:
        squares = x * x if x.dtype.kind == "f" else x.real * x.real + x.imag * x.imag
        return _sqrt(squares.sum(axis=axis, keepdims=keepdims))
    size = _absolute(x)
    if order == 1:
        return size.sum(axis=axis, keepdims=keepdims)
    return (size.max if order > 0 else size.min)(axis=axis, keepdims=keepdims)


def _order(ord, axis):
    """2, 1 or an infinity; None: NumPy's affair."""
    if ord is None or axis == 2 and ord in ("fro", "f"):
        return 2
    plain = axis == 1 and type(ord) in (int, float) and ord in (1, 2, math.inf, -math.inf)
    return ord if plain else None


def _start(x, axis):
    """The array and its axes, each None where it is NumPy's affair."""
    a = _of(x) if axis is not None or not _core.is_stored(x) else None
    if a is None:
        return None, None
    return a, tuple(range(a.ndim)) if axis is None else _axes(a, axis)


def norm(x, ord=None, axis=None, keepdims=False):
    """Norm of a vector or matrix, or of those that lie along axes."""
    a, along = _start(x, axis)
    count = len(along) if type(along) is tuple else 1
    few = count < 3 or axis is None and ord is None
    fits = along is not None and few and type(keepdims) is bool
    order = _order(ord, count) if fits else None
    return _norm(x, ord, axis, keepdims) if order is None else _along(a, order, along, keepdims)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """Norm of vectors along one axis or several, or of all elements."""
    a, along = _start(x, axis)
    fits = along is not None and ord is not None and type(keepdims) is bool
    order = _order(ord, 1) if fits else None
    if order is None:
        return _vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)
    return _along(a, order, along, keepdims)
