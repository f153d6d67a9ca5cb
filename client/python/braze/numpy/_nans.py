# SPDX-License-Identifier: Apache-2.0
"""Sums and means that pass nans by; tests and replacements of nans: composed of operations.

Where NumPy warns of a slice without a number, what tells so is waited for.
"""

import warnings

import numpy

from braze import _core
from braze.numpy import _creation, _fallback, _reductions, _ufuncs

ndarray = _core.ndarray
_MISSING = numpy._NoValue
_INT = numpy.dtype("int64")
_apply, _cast = _core.apply, _core.cast


def _op(name):
    return _core.op_find(name)[0]


def _native(a, out, *more):
    """Is it an array whose nans braze passes by?"""
    plain = all(x is _MISSING for x in more)
    return type(a) is ndarray and plain and (out is None or type(out) is ndarray)


def _left(name, a, kwargs):
    given = {k: v for k, v in kwargs.items() if v is not _MISSING}
    return _fallback.call(name, getattr(numpy, name), (a,), given)


def _without(a, other):
    return _apply(_WHERE, _apply(_ISNAN, a), other, a) if a.dtype.kind in "fc" else a


def _sum(name, of, other, a, axis, dtype, out, keepdims, initial, where):
    given, a = a, a if type(a) is ndarray else _creation.asarray(a)
    if not _native(a, out, initial, where):
        return _left(name, given, {"axis": axis, "dtype": dtype, "out": out, "keepdims": keepdims,
                                   "initial": initial, "where": where})
    return of(_without(a, other), axis, dtype, out, keepdims)


def nansum(a, axis=None, dtype=None, out=None, keepdims=_MISSING, initial=_MISSING, where=_MISSING):
    """Sum over axes, of what is not a nan."""
    return _sum("nansum", _reductions.sum, 0.0, a, axis, dtype, out, keepdims, initial, where)


def nanprod(a, axis=None, dtype=None, out=None, keepdims=_MISSING, initial=_MISSING, where=_MISSING):
    """Product over axes, of what is not a nan."""
    return _sum("nanprod", _reductions.prod, 1.0, a, axis, dtype, out, keepdims, initial, where)


def nancumsum(a, axis=None, dtype=None, out=None):
    """Running sum along an axis, nans counted as 0."""
    return _running("nancumsum", a, 0.0, axis, dtype, out)


def nancumprod(a, axis=None, dtype=None, out=None):
    """Running product along an axis, nans counted as 1."""
    return _running("nancumprod", a, 1.0, axis, dtype, out)


def _running(name, a, other, axis, dtype, out):
    if type(a) is not ndarray or out is not None:
        return _left(name, a, {"axis": axis, "dtype": dtype, "out": out})
    of = ndarray.cumsum if other == 0 else ndarray.cumprod
    return of(_without(a, other), axis, dtype)


def _over(total, count):
    """total / count, in total's type."""
    return _cast(_apply(_DIVIDE, total, count), total.dtype)


def _counted(a, axis, keepdims):
    """Where nans are, the elements without them, and how many there are along the axes."""
    nans = _apply(_ISNAN, a)
    count = _reductions.sum(_apply(_NOT, nans), axis, _INT, None, keepdims)
    return nans, _apply(_WHERE, nans, 0.0, a), count


def nanmean(a, axis=None, dtype=None, out=None, keepdims=_MISSING, *, where=_MISSING):
    """Mean over axes, of what is not a nan."""
    given, a = a, a if type(a) is ndarray else _creation.asarray(a)
    # A float16's sum is rounded by NumPy before it is divided.
    if not _native(a, out, where) or out is not None or dtype is not None or a.dtype.char == "e":
        return _left("nanmean", given, {"axis": axis, "dtype": dtype, "out": out,
                                        "keepdims": keepdims, "where": where})
    if a.dtype.kind not in "fc":
        return _reductions.mean(a, axis, None, None, keepdims)
    _, numbers, count = _counted(a, axis, keepdims)
    made = _over(_reductions.sum(numbers, axis, None, None, keepdims), count)
    if _reductions.min(count) == 0 if count.size else False:
        warnings.warn("Mean of empty slice", RuntimeWarning, stacklevel=2)
    return made


def _spread(name, a, axis, dtype, out, ddof, keepdims, where, mean, correction):
    given, a = a, a if type(a) is ndarray else _creation.asarray(a)
    native = _native(a, out, where, mean, correction) and out is None and dtype is None
    if not native or a.dtype.char not in "fdFD":
        return _left(name, given, {"axis": axis, "dtype": dtype, "out": out, "ddof": ddof,
                                   "keepdims": keepdims, "where": where, "mean": mean,
                                   "correction": correction})
    nans, numbers, count = _counted(a, axis, True)
    distance = numbers - _over(_reductions.sum(numbers, axis, None, None, True), count)
    distance = _apply(_WHERE, nans, 0.0, distance)
    if a.dtype.kind == "c":
        square = distance.real * distance.real + distance.imag * distance.imag
    else:
        square = distance * distance
    made = _reductions.sum(square, axis, None, None, keepdims)
    degrees = count.reshape(made.shape) - ddof
    made = _apply(_WHERE, degrees > 0, _over(made, degrees), numpy.nan)
    if count.size and _reductions.min(degrees) <= 0:
        warnings.warn("Degrees of freedom <= 0 for slice.", RuntimeWarning, stacklevel=3)
    return _apply(_SQRT, made) if name == "nanstd" else made


def nanvar(a, axis=None, dtype=None, out=None, ddof=0, keepdims=_MISSING, *, where=_MISSING,
           mean=_MISSING, correction=_MISSING):
    """Variance over axes, of what is not a nan."""
    return _spread("nanvar", a, axis, dtype, out, ddof, keepdims, where, mean, correction)


def nanstd(a, axis=None, dtype=None, out=None, ddof=0, keepdims=_MISSING, *, where=_MISSING,
           mean=_MISSING, correction=_MISSING):
    """Standard deviation over axes, of what is not a nan."""
    return _spread("nanstd", a, axis, dtype, out, ddof, keepdims, where, mean, correction)


def _operands(a, b, *numbers):
    """Both as arrays of numbers that braze compares; None: NumPy's affair."""
    if any(map(_fallback.is_foreign, (a, b))) or any(type(x) not in (int, float) for x in numbers):
        return None
    a, b = _creation.asarray(a), _creation.asarray(b)
    if type(a) is not ndarray or type(b) is not ndarray:
        return None
    return a, b


def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Which elements are equal within a tolerance?"""
    both = None if _core.is_watching() else _operands(a, b, rtol, atol)
    if both is None:
        return _fallback.call("isclose", numpy.isclose, (a, b, rtol, atol, equal_nan), {})
    x, y = both
    to = numpy.result_type(y.dtype, 1.0)
    y = y if y.dtype == to else _cast(y, to)
    near = _apply(_LESS_EQUAL, abs(x - y), atol + rtol * abs(y))
    made = _apply(_OR, _apply(_AND, near, _apply(_ISFINITE, y)), _apply(_EQUAL, x, y))
    if equal_nan:
        made = _apply(_OR, made, _apply(_AND, _apply(_ISNAN, x), _apply(_ISNAN, y)))
    return made


def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Are all elements equal within a tolerance?"""
    if _fallback.is_foreign(a) or _fallback.is_foreign(b):
        return _fallback.call("allclose", numpy.allclose, (a, b, rtol, atol, equal_nan), {})
    return bool(_reductions.all(isclose(a, b, rtol, atol, equal_nan)))


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """x with numbers in place of nans and infinities."""
    a = x if type(x) is ndarray else None
    plain = all(v is None or type(v) in (int, float) for v in (nan, posinf, neginf))
    if a is None or a.dtype.kind != "f" or not plain or nan is None or not a.ndim:
        kwargs = {"copy": copy, "nan": nan, "posinf": posinf, "neginf": neginf}
        return _fallback.call("nan_to_num", numpy.nan_to_num, (x,), kwargs)
    limits = numpy.finfo(a.dtype)
    posinf = float(limits.max) if posinf is None else posinf
    neginf = float(limits.min) if neginf is None else neginf
    made = _apply(_WHERE, _apply(_EQUAL, a, -numpy.inf), neginf, a)
    made = _apply(_WHERE, _apply(_EQUAL, a, numpy.inf), posinf, made)
    made = _apply(_WHERE, _apply(_ISNAN, a), nan, made)
    if copy:
        return made
    return _ufuncs.store(a, made)


_WHERE, _ISNAN, _ISFINITE, _NOT, _AND, _OR = map(
    _op, ("where", "isnan", "isfinite", "logical_not", "logical_and", "logical_or")
)
_DIVIDE, _SQRT, _LESS_EQUAL, _EQUAL = map(_op, ("divide", "sqrt", "less_equal", "equal"))
