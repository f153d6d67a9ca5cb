# SPDX-License-Identifier: Apache-2.0
"""What a mask chooses: nonzero and its kind, compress, extract, a[mask].

The number of elements is waited for; the elements, or their places, are computed when
they are asked for.  What is small and at hand NumPy's loops do (numpys.c).
"""

import operator

import numpy
from numpy.lib.array_utils import normalize_axis_index

from braze import _core
from braze.numpy import _creation, _fallback

ndarray = _core.ndarray
_AXES = 5  # of a mask whose places are asked for
_KNOWN = 3
_BOOL = numpy.dtype(bool)


def _mask(a):
    return a if a.dtype == bool else _core.cast(a, _BOOL)


def _places(a):
    """Where elements are not zero: an array of numbers, or rows of coordinates; None: NumPy
    knows better."""
    a = a if type(a) is ndarray else _creation.asarray(a)
    if type(a) is not ndarray or not 0 < a.ndim <= _AXES:
        return None
    return _core.nonzero(_mask(a))


def nonzero(a):
    """Places of the elements that are not zero, an array for each axis."""
    places = _places(a)
    if places is None:
        return _fallback.call("nonzero", numpy.nonzero, (a,), {})
    if places.ndim == 1:
        return (places,)
    return tuple(places[:, k] for k in range(places.shape[1]))


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
    if places.ndim == 1:
        return places.reshape(-1, 1)
    return _core.copy(places.T).T  # column by column, as NumPy has them


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
                return _core.select(array, mask)
            return _core.gather(array, (along,), (along,), (_core.nonzero(mask),), _KNOWN)
    return _fallback.call("compress", numpy.compress, (condition, a, axis), {"out": out})


def method_compress(self, condition, axis=None, out=None):
    """Elements along an axis where a condition holds."""
    return compress(condition, self, axis, out)


def extract(condition, arr):
    """Elements of an array, in C order, where a condition of as many elements holds."""
    array, mask = _creation.asarray(arr), _creation.asarray(condition)
    if type(array) is ndarray and type(mask) is ndarray and array.size == mask.size:
        return _core.select(array.reshape(-1), _mask(mask.reshape(-1)))
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
    return _core.select(array, mask)
