# SPDX-License-Identifier: Apache-2.0
"""Products of vectors and matrices."""

import operator

import numpy

from braze import _core
from braze.numpy import _creation, _fallback, _reductions, _shape, _ufuncs

ndarray = _core.ndarray


def _both(a, b):
    a, b = _creation.asarray(a), _creation.asarray(b)
    return a, b, type(a) is ndarray and type(b) is ndarray


def _result(made, out):
    return made if out is None else _ufuncs.store(out, made)


def matmul(x1, x2, /, out=None, **kwargs):
    """Matrix product."""
    a, b, native = _both(x1, x2)
    if type(out) is tuple:
        out = out[0]
    if kwargs or not native or not _fallback.is_output(out):
        return _fallback.call("matmul", numpy.matmul, (x1, x2), {"out": out, **kwargs})
    return _result(operator.matmul(a, b), out)


def dot(a, b, out=None):
    """Dot product: sum over a's last and b's last but one axis."""
    a, b, native = _both(a, b)
    if not native or not _fallback.is_output(out):
        return _fallback.call("dot", numpy.dot, (a, b), {"out": out})
    if a.ndim == 0 or b.ndim == 0:
        made = a * b
    elif a.ndim <= 2 and b.ndim <= 2 or b.ndim == 1:
        made = operator.matmul(a, b)
    else:
        n = a.shape[-1]
        if b.shape[-2] != n:
            raise ValueError(f"shapes {a.shape} and {b.shape} not aligned")
        # One 2-d product, b's contracted axis first.
        rest = b.shape[:-2] + b.shape[-1:]
        flat = _shape.moveaxis(b, -2, 0).reshape((n, -1))
        made = operator.matmul(a.reshape((-1, n)), flat).reshape(a.shape[:-1] + rest)
    return _result(made, out)


def inner(a, b, /):
    """Sum over the last axes of both."""
    a, b, native = _both(a, b)
    if not native or a.ndim > 2 or b.ndim > 2:
        return _fallback.call("inner", numpy.inner, (a, b), {})
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(f"shapes {a.shape} and {b.shape} not aligned")
    return operator.matmul(a, b.T)


def outer(a, b, out=None):
    """Products of all pairs."""
    a, b, native = _both(a, b)
    if not native or not _fallback.is_output(out):
        return _fallback.call("outer", numpy.outer, (a, b), {"out": out})
    made = _shape.ravel(a).reshape((-1, 1)) * _shape.ravel(b)
    return made if out is None else _ufuncs.store(out, made, broadcast=True)


def vdot(a, b, /):
    """Sum of products, the first conjugated."""
    a, b, native = _both(a, b)
    if not native:
        return _fallback.call("vdot", numpy.vdot, (a, b), {})
    a, b = _shape.ravel(a), _shape.ravel(b)
    if a.size != b.size:
        raise ValueError("cannot reshape array: vdot needs operands of one size")
    return operator.matmul(a.conj() if a.dtype.kind == "c" else a, b)


def vecdot(x1, x2, /, *, axis=-1, **kwargs):
    """Dot products of vectors along an axis."""
    a, b, native = _both(x1, x2)
    if not native or kwargs:
        return _fallback.call("vecdot", numpy.vecdot, (x1, x2), {"axis": axis, **kwargs})
    if a.shape[axis] != b.shape[axis]:
        raise ValueError(f"vecdot: axis {axis} differs: {a.shape} and {b.shape}")
    a = a.conj() if a.dtype.kind == "c" else a
    if axis >= 0:
        a, b = _shape.moveaxis(a, axis, -1), _shape.moveaxis(b, axis, -1)
        axis = -1
    product = a * b
    return _reductions.sum(product, axis, product.dtype)
