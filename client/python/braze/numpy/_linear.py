# SPDX-License-Identifier: Apache-2.0
"""Products of vectors and matrices."""

import operator

import numpy

from braze import _core
from braze.numpy import _creation, _errstate, _fallback, _operators, _reductions, _shape, _ufuncs

ndarray = _core.ndarray


def _both(a, b):
    a, b = _creation.asarray(a), _creation.asarray(b)
    return a, b, type(a) is ndarray and type(b) is ndarray


def _is_sparse(x):
    """One of braze.sparse's: its operator is the product."""
    return getattr(type(x), "__module__", None) == "braze._sparse"


def _result(made, out):
    return made if out is None else _ufuncs.store(out, made)


def _product(function, native, op):
    """A generalized ufunc with a native form for the plain call and for out=."""

    def general(self, args, kwargs):
        if len(args) == 2 and not kwargs:
            made = native(*args)
            if made is not None:
                return made
            return _fallback.call(self.__name__, self.numpy, args, kwargs)
        return _with_keywords(self, native, args, kwargs)

    made = _ufuncs.new(function, general, op)
    _ufuncs.by_numpy[function] = made
    return made


def _with_keywords(self, native, args, kwargs):
    if len(args) == 3 and not kwargs:
        args, kwargs = args[:2], {"out": args[2]}
    out = kwargs.get("out")
    if type(out) is tuple and len(out) == 1:
        out = out[0]
    plain = len(args) == 2 and (not kwargs or len(kwargs) == 1 and "out" in kwargs)
    made = None
    if plain and (out is None or type(out) is ndarray):
        made = native(*args)
    # An output may stretch what is multiplied, but not what is summed: NumPy knows.
    if made is not None and (out is None or out.shape == made.shape):
        return _result(made, out)
    return _fallback.call(self.__name__, self.numpy, args, kwargs)


def _matmul(x1, x2):
    """The matrix product; None: NumPy's affair."""
    if _is_sparse(x1) or _is_sparse(x2):
        return operator.matmul(x1, x2)
    a, b, native = _both(x1, x2)
    return operator.matmul(a, b) if native else None


def dot(a, b, out=None):
    """Dot product: sum over a's last and b's last but one axis."""
    if _is_sparse(a) or _is_sparse(b):
        return _result(operator.matmul(a, b), out)
    a, b, native = _both(a, b)
    if not native or not _fallback.is_output(out):
        return _fallback.call("dot", numpy.dot, (a, b), {"out": out})
    if a.ndim and b.ndim and a.shape[-1] != b.shape[-2 if b.ndim > 1 else -1]:
        _operators.refuse(numpy.dot, a, b)
    if a.ndim == 0 or b.ndim == 0:
        made = _errstate.silently(operator.mul, a, b)
    elif a.ndim <= 2 and b.ndim <= 2 or b.ndim == 1:
        made = _errstate.silently(operator.matmul, a, b)
    else:
        n = a.shape[-1]
        # One 2-d product, b's contracted axis first.
        rest = b.shape[:-2] + b.shape[-1:]
        flat = _shape.moveaxis(b, -2, 0).reshape((n, -1))
        made = _errstate.silently(operator.matmul, a.reshape((-1, n)), flat).reshape(a.shape[:-1] + rest)
    return _result(made, out)


def inner(a, b, /):
    """Sum over the last axes of both."""
    a, b, native = _both(a, b)
    if not native or a.ndim > 2 or b.ndim > 2:
        return _fallback.call("inner", numpy.inner, (a, b), {})
    if a.ndim == 0 or b.ndim == 0:
        return _errstate.silently(operator.mul, a, b)
    if a.shape[-1] != b.shape[-1]:
        _operators.refuse(numpy.inner, a, b)
    return _errstate.silently(operator.matmul, a, b.T)


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
    if a.size != b.size:
        _operators.refuse(numpy.vdot, a, b)
    a, b = _shape.ravel(a), _shape.ravel(b)
    return _errstate.silently(operator.matmul, a.conj() if a.dtype.kind == "c" else a, b)


def _vecdot(x1, x2):
    """Dot products of vectors along the last axis; None: NumPy's affair."""
    a, b, native = _both(x1, x2)
    if not native or not a.ndim or not b.ndim or a.shape[-1] != b.shape[-1]:
        return None
    product = (a.conj() if a.dtype.kind == "c" else a) * b
    return _reductions.sum(product, -1, product.dtype)


matmul = _product(numpy.matmul, _matmul, _core.op_find("matmul")[0])
vecdot = _product(numpy.vecdot, _vecdot, None)
