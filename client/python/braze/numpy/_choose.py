# SPDX-License-Identifier: Apache-2.0
"""What a mask chooses: nonzero and its kind, compress, extract, a[mask]; putmask, place.

The number of elements is waited for; the elements, or their places, are computed when
they are asked for.  What is small and at hand NumPy's loops do (numpys.c).
"""

import operator

import numpy
from numpy.lib.array_utils import normalize_axis_index

from braze import _core
from braze.numpy import _creation, _fallback, _sharing

ndarray = _core.ndarray
_AXES = 5  # of a mask whose places are asked for
_KNOWN = 3
_BOOL = numpy.dtype(bool)


def _mask(a):
    return a if a.dtype == bool else _core.cast(a, _BOOL)


def _places(a):
    """Where elements are not zero: a row of numbers for each axis; None: NumPy knows better."""
    a = a if type(a) is ndarray else _creation.asarray(a)
    if type(a) is not ndarray or not 0 < a.ndim <= _AXES:
        return None
    places = _core.nonzero(_mask(a))
    return places.reshape(1, -1) if a.ndim == 1 else _core.copy(places.T)


def nonzero(a):
    """Places of the elements that are not zero, an array for each axis."""
    places = _places(a)
    if places is None:
        return _fallback.call("nonzero", numpy.nonzero, (a,), {})
    return tuple(places[k] for k in range(places.shape[0]))


def method_nonzero(self):
    """Places of the elements that are not zero, an array for each axis."""
    return nonzero(self) if type(self) is ndarray else numpy.ndarray.nonzero(self)


def flatnonzero(a):
    """Places of the elements that are not zero among all in C order."""
    array = _creation.asarray(a)
    if type(array) is not ndarray:
        return _fallback.call("flatnonzero", numpy.flatnonzero, (a,), {})
    return _core.nonzero(_mask(array.reshape(-1)))


def argwhere(a):
    """Coordinates of the elements that are not zero, a row for each."""
    places = _places(a)
    if places is None:
        return _fallback.call("argwhere", numpy.argwhere, (a,), {})
    return places.T  # column by column, as NumPy has them


def _condition(condition):
    """A condition as a mask of one axis; None: it is none."""
    mask = condition if type(condition) is ndarray else _creation.asarray(condition)
    return _mask(mask) if type(mask) is ndarray and mask.ndim == 1 else None


def compress(condition, a, axis=None, out=None):
    """Elements of an array along an axis where a condition holds."""
    array = a if type(a) is ndarray else _creation.asarray(a)
    mask = None if _fallback.is_foreign(condition) else _condition(condition)
    if type(array) is ndarray and mask is not None and out is None and array.ndim:
        if axis is None:
            array, along = array.reshape(-1), 0
        else:
            along = normalize_axis_index(operator.index(axis), array.ndim)
        if mask.shape[0] == array.shape[along] and array.ndim < 8:
            if along == 0:
                return _core.select(array, mask, False)
            return _core.gather(array, (along,), (along,), (_core.nonzero(mask),), _KNOWN, False)
    return _fallback.call("compress", numpy.compress, (condition, a, axis), {"out": out})


def method_compress(self, condition, axis=None, out=None):
    """Elements along an axis where a condition holds."""
    if type(self) is not ndarray:
        return numpy.ndarray.compress(self, condition, axis, out)
    return compress(condition, self, axis, out)


def extract(condition, arr):
    """Elements of an array, in C order, where a condition of as many elements holds."""
    array, mask = _creation.asarray(arr), _creation.asarray(condition)
    if type(array) is ndarray and type(mask) is ndarray and array.size == mask.size:
        return _core.select(array.reshape(-1), _mask(mask.reshape(-1)), False)
    return _fallback.call("extract", numpy.extract, (condition, arr), {})


def is_mask(array, key):
    """Is key a mask of the array's first axes?"""
    return (
        isinstance(key, (ndarray, numpy.ndarray))
        and key.dtype == bool
        and 0 < key.ndim <= array.ndim
        and key.shape == array.shape[: key.ndim]
    )


def chosen(array, mask):
    """array[mask] for such a mask."""
    mask = mask if type(mask) is ndarray else _core.from_any(numpy.asarray(mask))
    return _core.select(array, mask, True)


# ---- Writing ----

def _open(a, mask):
    """The mask in a's shape where a is written by an operation; None: NumPy writes it."""
    if type(a) is not ndarray or a._is_scalar or _core.writing(a) or _fallback.is_foreign(mask):
        return None
    mask = mask if type(mask) is ndarray else _creation.asarray(mask)
    if type(mask) is not ndarray or mask.size != a.size or a.ndim == 0:
        return None
    return _mask(mask).reshape(a.shape)


def _element(function, a, values):
    """The number that NumPy's function makes of one value, or its error; None: not one."""
    kind = type(values)
    one = kind in (bool, int, float, complex) or isinstance(values, numpy.generic)
    if not one and (kind not in (list, tuple, numpy.ndarray) or numpy.size(values) != 1):
        return None
    made = numpy.zeros(1, a.dtype)
    function(made, numpy.ones(1, bool), values)
    return made.item()


def _put(function, a, mask, values):
    """Is it written by an operation?"""
    mask = _open(a, mask)
    if mask is None:
        return False
    if type(values) is ndarray and not values._is_scalar:
        same = values.dtype == a.dtype
        fill = values.reshape(()) if same and values.size == 1 else None
        if fill is None and same and function is numpy.putmask and values.shape == a.shape:
            fill = values
    else:
        fill = _element(function, a, _core.value(values) if type(values) is ndarray else values)
        if fill is not None:
            a[mask] = fill
            return True
    if fill is None:
        return False
    _core.assign(a, _core.apply(_WHERE, mask, fill, a), True)
    return True


def putmask(a, mask, values):
    """a's elements where a mask is true become those of values at the same place."""
    if not _put(numpy.putmask, a, mask, values):
        _fallback.call("putmask", numpy.putmask, (a, mask, values), {})


def _meet(arr, *others):
    """Is something read that is written meanwhile?  NumPy goes from one to the next."""
    return any(type(x) is ndarray and _sharing.may_share_memory(arr, x) for x in others)


def _put_all(arr, mask, vals):
    """Values enough, of the type: are they written by an operation?"""
    mask = _open(arr, mask) if type(vals) is ndarray and vals.ndim == 1 else None
    if mask is None or vals.dtype != arr.dtype:
        return False
    count = int(mask.sum())
    if not vals.size >= count > 0:
        return False
    arr[mask] = vals[:count]
    return True


def place(arr, mask, vals):
    """arr's elements where a mask is true become vals, one after the other."""
    if _meet(arr, mask, vals) or not (
        _put(numpy.place, arr, mask, vals) or _put_all(arr, mask, vals)
    ):
        _fallback.call("place", numpy.place, (arr, mask, vals), {})


_WHERE = _core.op_find("where")[0]
