# SPDX-License-Identifier: Apache-2.0
"""Sums, extremes, means and their like, over any set of axes."""

import math
import operator
import warnings

import numpy
from numpy.lib.array_utils import normalize_axis_tuple

from braze import _core
from braze.numpy import _creation, _fallback, _ufuncs

ndarray = _core.ndarray
_OPS = {
    name: _core.op_find(name)[0]
    for name in ("sum", "prod", "min", "max", "any", "all", "argmin", "argmax")
}
_NO_IDENTITY = {"min": "minimum", "max": "maximum"}
_MISSING = numpy._NoValue


def _integer(axis):
    """One axis' number.  NumPy takes no bool for one."""
    if isinstance(axis, (bool, numpy.bool_)):
        raise TypeError("an integer is required for the axis")
    return operator.index(axis)


def _axes(axis, ndim):
    try:
        return normalize_axis_tuple(axis, ndim)
    except ValueError as error:
        if str(error) != "repeated axis":
            raise
        raise ValueError("duplicate value in 'axis'") from None


def axis_mask(axis, ndim):
    """None, an int or a tuple as a bit mask; NumPy's errors for others."""
    if axis is None:
        return (1 << ndim) - 1
    if type(axis) is int and 0 <= axis < ndim:
        return 1 << axis
    axis = tuple(map(_integer, axis)) if isinstance(axis, tuple) else _integer(axis)
    mask = 0
    for k in _axes(axis, ndim):
        mask |= 1 << k
    return mask


def _count(shape, mask):
    if mask == (1 << len(shape)) - 1:
        return math.prod(shape)
    n = 1
    for k, extent in enumerate(shape):
        if mask >> k & 1:
            n *= extent
    return n


def _mask_of(axis, ndim):
    """The axes that any form of the axis argument names, as bits."""
    if ndim == 0 and axis in (0, -1, (0,), (-1,)):
        axis = None  # NumPy lets 0-d arrays have an axis 0 here
    return axis_mask(axis, ndim)


def _check_identity(name, a, mask):
    """The smallest of nothing is an error, even where there is nothing to answer."""
    if _count(a.shape, mask) == 0:
        raise ValueError(
            f"zero-size array to reduction operation {_NO_IDENTITY[name]} which has no identity"
        )


def reduce(name, a, axis=None, dtype=None, out=None, keepdims=False):
    """Record a reduction of the op table."""
    if type(a) is not ndarray:
        a = _creation.asarray(a)
    if type(a) is not ndarray or out is not None and not _fallback.is_output(out):
        return _left_to_numpy(name, a, axis, dtype, out, keepdims, _MISSING, _MISSING)
    keepdims = keepdims is not _MISSING and bool(keepdims)
    if dtype is not None:
        dtype = numpy.dtype(dtype)
        if not _fallback.native_dtype(dtype):
            return _left_to_numpy(name, a, axis, dtype, out, keepdims, _MISSING, _MISSING)
    if name in _NO_IDENTITY or name in ("any", "all"):
        dtype = None
    ndim = a.ndim
    mask = (1 << ndim) - 1 if axis is None else _mask_of(axis, ndim)
    if name in _NO_IDENTITY:
        _check_identity(name, a, mask)
    if mask == 0:
        result = _no_axes(name, a, dtype)
        result = result if a.ndim else result[()]  # what has no axes is a scalar
    else:
        try:
            result = _core.reduce(_OPS[name], a, mask, keepdims, dtype)
        except NotImplementedError:  # complex numbers have no order here
            return _left_to_numpy(name, a, axis, dtype, out, keepdims, _MISSING, _MISSING)
    return _into(out, result, name, a, axis, dtype, keepdims)


def _into(out, result, name, a, axis, dtype, keepdims):
    """The result in out=.  One of another type decides how NumPy computes: NumPy does."""
    if out is None:
        return result
    if getattr(out, "dtype", None) != result.dtype:
        return _left_to_numpy(name, a, axis, dtype, out, keepdims, _MISSING, _MISSING)
    return _ufuncs.store(out, result)


def _no_axes(name, a, dtype):
    """Nothing to reduce: the elements, in the reduction's type."""
    if name in ("any", "all"):
        return _core.cast(a, numpy.dtype(bool))
    if name in ("sum", "prod"):
        if dtype is None:
            probe = numpy.zeros(1, a.dtype)
            dtype = probe.sum().dtype
        return _core.cast(a, dtype)
    return _core.copy(a)


def _special(initial, where):
    return initial is not _MISSING or where is not _MISSING and where is not True


def _left_to_numpy(name, a, axis, dtype, out, keepdims, initial, where):
    kwargs = {"axis": axis}
    for key, value in (("dtype", dtype), ("out", out)):
        if value is not None:
            kwargs[key] = value
    for key, value in (("keepdims", keepdims), ("initial", initial), ("where", where)):
        if value is not _MISSING:
            kwargs[key] = value
    return _fallback.call(name, getattr(numpy, name), (a,), kwargs)


def sum(
    a, axis=None, dtype=None, out=None, keepdims=_MISSING, initial=_MISSING, where=_MISSING
):
    """Sum over axes."""
    if _special(initial, where):
        return _left_to_numpy("sum", a, axis, dtype, out, keepdims, initial, where)
    return reduce("sum", a, axis, dtype, out, keepdims)


def prod(
    a, axis=None, dtype=None, out=None, keepdims=_MISSING, initial=_MISSING, where=_MISSING
):
    """Product over axes."""
    if _special(initial, where):
        return _left_to_numpy("prod", a, axis, dtype, out, keepdims, initial, where)
    return reduce("prod", a, axis, dtype, out, keepdims)


def min(a, axis=None, out=None, keepdims=_MISSING, initial=_MISSING, where=_MISSING):
    """Smallest element over axes."""
    if _special(initial, where):
        return _left_to_numpy("min", a, axis, None, out, keepdims, initial, where)
    return reduce("min", a, axis, None, out, keepdims)


def max(a, axis=None, out=None, keepdims=_MISSING, initial=_MISSING, where=_MISSING):
    """Largest element over axes."""
    if _special(initial, where):
        return _left_to_numpy("max", a, axis, None, out, keepdims, initial, where)
    return reduce("max", a, axis, None, out, keepdims)


def any(a, axis=None, out=None, keepdims=_MISSING, *, where=_MISSING):
    """Is any element true?"""
    if _special(_MISSING, where):
        return _left_to_numpy("any", a, axis, None, out, keepdims, _MISSING, where)
    return reduce("any", a, axis, None, out, keepdims)


def all(a, axis=None, out=None, keepdims=_MISSING, *, where=_MISSING):
    """Are all elements true?"""
    if _special(_MISSING, where):
        return _left_to_numpy("all", a, axis, None, out, keepdims, _MISSING, where)
    return reduce("all", a, axis, None, out, keepdims)


def _arg(name, a, axis, out, keepdims):
    a = _creation.asarray(a)
    if type(a) is not ndarray or not _fallback.is_output(out):
        return _left_to_numpy(name, a, axis, None, out, keepdims, _MISSING, _MISSING)
    if axis is not None:
        axis = _integer(axis)
    if a.ndim == 0 and axis in (0, -1):
        axis = None
    mask = axis_mask(axis, a.ndim)
    if _count(a.shape, mask) == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    keep = keepdims is not _MISSING and bool(keepdims)
    if a.ndim == 0:
        result = _core.scalar(numpy.int64(0))
    else:
        try:
            result = _core.reduce(_OPS[name], a, mask, keep, None)
        except NotImplementedError:
            return _left_to_numpy(name, a, axis, None, out, keep, _MISSING, _MISSING)
    return _into(out, result, name, a, axis, None, keep)


def argmin(a, axis=None, out=None, *, keepdims=_MISSING):
    """Index of the first smallest element."""
    return _arg("argmin", a, axis, out, keepdims)


def argmax(a, axis=None, out=None, *, keepdims=_MISSING):
    """Index of the first largest element."""
    return _arg("argmax", a, axis, out, keepdims)


def _float_dtype(a, dtype):
    if dtype is not None:
        return numpy.dtype(dtype)
    return numpy.dtype(float) if a.dtype.kind in "biu" else None


def _divides(dtype):
    """Is a mean of this type a sum divided?  Of integers it is cut, too."""
    return numpy.dtype(dtype).char in "efdFD"


def _over(total, n):
    """total / n in total's type.  A count may have more digits than a float16."""
    if total.dtype.char != "e":
        return total / n
    return _core.cast(_core.cast(total, numpy.dtype(float)) / n, total.dtype)


def mean(a, axis=None, dtype=None, out=None, keepdims=_MISSING, *, where=_MISSING):
    """Arithmetic mean over axes."""
    if type(a) is not ndarray:
        a = _creation.asarray(a)
    special = dtype is not None and not _divides(dtype) or _special(_MISSING, where)
    if type(a) is not ndarray or special or out is not None and not _fallback.is_output(out):
        return _left_to_numpy("mean", a, axis, dtype, out, keepdims, _MISSING, where)
    n = _count(a.shape, axis_mask(axis, a.ndim))
    if n == 0:
        warnings.warn("Mean of empty slice", RuntimeWarning, stacklevel=2)
    if a.dtype.char == "e" and dtype is None:
        return _half_mean(a, axis, out, keepdims, n)
    total = reduce("sum", a, axis, _float_dtype(a, dtype), None, keepdims)
    return _into(out, _over(total, n), "mean", a, axis, dtype, keepdims)


def _half_mean(a, axis, out, keepdims, n):
    """A float16's mean: NumPy sums in float32, and divides a scalar in float64."""
    if out is not None:
        return _left_to_numpy("mean", a, axis, None, out, keepdims, _MISSING, _MISSING)
    total = reduce("sum", a, axis, numpy.dtype("float32"), None, keepdims)
    if not total.ndim:
        total = _core.cast(total, numpy.dtype(float))
    return _core.cast(total / n, a.dtype)


def _sums_in(out, a):
    """Does out= have another float's type, in which NumPy's var then sums?"""
    return out is not None and a.dtype.kind == "f" and out.dtype != a.dtype


def _degrees(ddof, correction):
    """The degrees of freedom by either of their two names."""
    if correction is _MISSING:
        return ddof
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


def _spread(name, a, axis, dtype, out, ddof, keepdims, where, mean, correction):
    """Variance, or its root (name "std"), by two passes; NumPy's for unusual arguments."""
    a = _creation.asarray(a)
    ddof = _degrees(ddof, correction)
    native = type(a) is ndarray and dtype is None and _fallback.is_output(out)
    if not native or _special(_MISSING, where) or _sums_in(out, a):
        kwargs = {"axis": axis, "dtype": dtype, "out": out, "ddof": ddof, "keepdims": keepdims,
                  "where": where, "mean": mean}
        return _fallback.call(name, getattr(numpy, name), (a,), kwargs)
    n = _count(a.shape, axis_mask(axis, a.ndim))
    if n <= ddof:
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=3)
    if mean is _MISSING:
        mean = _over(reduce("sum", a, axis, _float_dtype(a, None), None, True), n)
    d = a - mean
    square = d.real * d.real + d.imag * d.imag if d.dtype.kind == "c" else d * d
    total = reduce("sum", square, axis, None, None, keepdims)
    result = _over(total, n - ddof if n > ddof else 0)
    if name == "std":
        result = _ufuncs.make(numpy.sqrt)(result)
    return result if out is None else _ufuncs.store(out, result)


def var(
    a,
    axis=None,
    dtype=None,
    out=None,
    ddof=0,
    keepdims=_MISSING,
    *,
    where=_MISSING,
    mean=_MISSING,
    correction=_MISSING,
):
    """Variance over axes."""
    return _spread("var", a, axis, dtype, out, ddof, keepdims, where, mean, correction)


def std(
    a,
    axis=None,
    dtype=None,
    out=None,
    ddof=0,
    keepdims=_MISSING,
    *,
    where=_MISSING,
    mean=_MISSING,
    correction=_MISSING,
):
    """Standard deviation over axes."""
    return _spread("std", a, axis, dtype, out, ddof, keepdims, where, mean, correction)


def ptp(a, axis=None, out=None, keepdims=_MISSING):
    """Largest minus smallest element."""
    a = _creation.asarray(a)
    if type(a) is not ndarray or not _fallback.is_output(out):
        return _left_to_numpy("ptp", a, axis, None, out, keepdims, _MISSING, _MISSING)
    result = max(a, axis, None, keepdims) - min(a, axis, None, keepdims)
    return result if out is None else _ufuncs.store(out, result)


def count_nonzero(a, axis=None, *, keepdims=False):
    """Number of elements that are not zero."""
    a = _creation.asarray(a)
    if type(a) is not ndarray:
        return _fallback.call(
            "count_nonzero", numpy.count_nonzero, (a, axis), {"keepdims": keepdims}
        )
    made = reduce("sum", _core.cast(a, numpy.dtype(bool)), axis, None, None, keepdims)
    # NumPy's own kind of count, Python's before 2.3: one that is lazy would count as another in what follows.
    return made if axis is not None or keepdims else _COUNT(int(made))


_COUNT = type(numpy.count_nonzero(numpy.ones(1)))


def average(a, axis=None, weights=None, returned=False, *, keepdims=_MISSING):
    """Weighted mean over axes."""
    a = _creation.asarray(a)
    w = None if weights is None else _creation.asarray(weights)
    if type(a) is not ndarray or (w is not None and (type(w) is not ndarray or w.shape != a.shape)):
        kwargs = {"axis": axis, "weights": weights, "returned": returned}
        if keepdims is not _MISSING:
            kwargs["keepdims"] = keepdims
        return _fallback.call("average", numpy.average, (a,), kwargs)
    if axis is not None:  # in more forms than elsewhere
        axis = normalize_axis_tuple(axis, a.ndim, argname="axis")
    if w is None:
        result = mean(a, axis, keepdims=keepdims)
        scale = result.dtype.type(a.size / result.size)
        scale = _core.full(result.shape, result.dtype, scale)
    else:
        dtype = numpy.result_type(a.dtype, w.dtype)
        if a.dtype.kind in "biu":
            dtype = numpy.result_type(dtype, "f8")
        scale = sum(w, axis, dtype, keepdims=keepdims)
        if any(scale == 0.0):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        product = _core.apply(_core.op_find("multiply")[0], a, w)
        result = sum(product, axis, dtype, keepdims=keepdims) / scale
    return (result, scale) if returned else result
