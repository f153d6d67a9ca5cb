# SPDX-License-Identifier: Apache-2.0
"""Elements without their doubles, and what two arrays have in common, where places are asked for.

Composed of sorts with places, masks and gathers; how many elements a result has is waited for.
NumPy's own are what its sort alone does (elements, how often each comes), what is small and at
hand (numpys.def), what is unusual (types that differ or that braze lacks, an axis), and every error.
"""

import warnings

import numpy

import braze.numpy as np
from braze import _core
from braze.numpy import _creation, _fallback, _gather, _search

ndarray = _core.ndarray
leave = _fallback.leave
_PLACE = numpy.dtype(numpy.int64)
# Since NumPy 2.0 places in what is unique have the array's shape.
_SHAPED = numpy.unique(numpy.zeros((1, 1)), return_inverse=True)[1].ndim == 2


def _flat(x):
    """An array of ours along one axis; None: NumPy's affair."""
    if type(x) is not ndarray:
        x = None if _fallback.is_foreign(x) else _creation.asarray(x)
    if type(x) is not ndarray or not x.size or x.dtype.kind not in "biufc":
        return None
    return x.reshape(-1)


def _both(a, b):
    """Two arrays of one type along one axis each; None: NumPy's affair."""
    if not (type(a) is ndarray or type(b) is ndarray):
        return None
    a, b = _flat(a), _flat(b)
    return None if a is None or b is None or a.dtype != b.dtype else (a, b)


def _firsts(order, equal_nan=True):
    """Which elements, in order, are the first of their kind."""
    before, after = order[:-1], order[1:]
    mask = before != after
    if equal_nan and order.dtype.kind in "fc":
        mask &= (before == before) | (after == after)
    first = _creation.empty(order.shape, bool)
    first[:1] = True
    first[1:] = mask
    return first


# ---- Of one array ----


def _inverse(places, first, shape):
    """For each element its place among those without doubles."""
    made = _creation.empty(places.shape, _PLACE)
    made[places] = np.cumsum(first) - 1
    return made.reshape(shape) if _SHAPED else made


def _lengths(starts, size):
    """From each start to the next one, from the last to the end."""
    ends = _creation.empty(starts.shape, _PLACE)
    ends[:-1] = starts[1:]
    ends[-1:] = size
    return ends - starts


def _unique(a, flat, index, inverse, counts, equal_nan):
    places = np.argsort(flat)
    order = _gather.take(flat, places)
    first = _firsts(order, equal_nan)
    starts = _core.nonzero(first)
    made = [_gather.take(order, starts)]
    if index:
        made.append(_gather.take(places, starts))
    if inverse:
        made.append(_inverse(places, first, a.shape))
    if counts:
        made.append(_lengths(starts, flat.size))
    return made


def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True, **rest):
    """The elements of an array in order, each once, with their places."""
    asked = (return_index, return_inverse, return_counts, equal_nan)
    plain = axis is None and not rest and all(type(x) is bool for x in asked) and (return_index or return_inverse)
    flat = _flat(ar) if plain and type(ar) is ndarray else None
    if flat is None:
        return leave(numpy.unique, ar, return_index, return_inverse, return_counts, axis, equal_nan=equal_nan, **rest)
    return tuple(_unique(ar, flat, *asked))


unique.__wrapped__ = numpy.unique  # whose signature it has, and later versions' have more


def _named(function, x, *asked):
    """As unique, in the standard's tuples: nans differ."""
    flat = _flat(x) if type(x) is ndarray else None
    if flat is None:
        return leave(function, x)
    return type(function(numpy.zeros(0)))(*_unique(x, flat, *asked, False))


def unique_all(x):
    """The elements in order, each once; their places, the places of all among them, how many there are."""
    return _named(numpy.unique_all, x, True, True, True)


def unique_inverse(x):
    """The elements in order, each once, and the places of all among them."""
    return _named(numpy.unique_inverse, x, False, True, False)


# ---- Of two ----


def _common(a, b, assume_unique):
    """What is in both, with its places in each."""
    if not assume_unique:
        (a, in_a), (b, in_b) = (unique(x, return_index=True) for x in (a, b))
    every = np.concatenate((a, b))
    places = np.argsort(every)
    order = _gather.take(every, places)
    at = _core.nonzero(order[1:] == order[:-1])
    of_a, of_b = _gather.take(places, at), _gather.take(places, at + 1) - a.size
    if not assume_unique:
        of_a, of_b = _gather.take(in_a, of_a), _gather.take(in_b, of_b)
    return _gather.take(order, at), of_a, of_b


def intersect1d(ar1, ar2, assume_unique=False, return_indices=False):
    """What is in both of two arrays, with its places."""
    plain = type(assume_unique) is bool and return_indices is True
    both = _both(ar1, ar2) if plain else None
    if both is None:
        return leave(numpy.intersect1d, ar1, ar2, assume_unique, return_indices)
    return _common(*both, assume_unique)


def in1d(ar1, ar2, assume_unique=False, invert=False, *, kind=None):
    """As isin, of elements along one axis."""
    flat = _flat(ar1) if type(ar1) is ndarray else None
    if flat is None:
        return leave(numpy.in1d, ar1, ar2, assume_unique, invert, kind=kind)
    warnings.warn("`in1d` is deprecated. Use `np.isin` instead.", DeprecationWarning, stacklevel=2)
    return _search.isin(flat, ar2, assume_unique, invert, kind=kind)
