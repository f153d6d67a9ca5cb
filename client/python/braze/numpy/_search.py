# SPDX-License-Identifier: Apache-2.0
"""Where elements belong among others in order, and what is composed of that."""

import numpy

import braze.numpy as np
from braze import _core
from braze.numpy import _creation, _fallback, _gather

ndarray = _core.ndarray
_SIDES = {"left": 0, "right": 1}
_WHERE, _LESS, _EQUAL, _NOT_EQUAL = (
    _core.op_find(name)[0] for name in ("where", "less", "equal", "not_equal")
)


def _arrays(*given):
    """All as braze's arrays; None: NumPy's affair."""
    if not any(type(x) is ndarray for x in given):
        return None
    arrays = [_creation.asarray(x) for x in given]
    return arrays if all(type(x) is ndarray for x in arrays) else None


def _in_order(a, sorter):
    """The elements as a sorter names them; negative places are wrong, as they are to NumPy."""
    places = _creation.asarray(sorter)
    if type(places) is not ndarray or places.shape != a.shape or not a.size:
        return None
    if places.dtype.kind not in "iu" or places.dtype == numpy.uint64:
        return None
    if places.dtype.kind == "i":
        places = _core.apply(_WHERE, _core.apply(_LESS, places, 0), a.size, places)
    return _gather.take(a, places)


def searchsorted(a, v, side="left", sorter=None):
    """Where elements would have to be put to keep an array in order."""
    both = _arrays(a, v)
    if both and both[0].ndim == 1 and type(side) is str and side in _SIDES:
        among = both[0] if sorter is None else _in_order(both[0], sorter)
        if among is not None:
            return _core.search(among, both[1], _SIDES[side])
    return _fallback.leave(numpy.searchsorted, a, v, side, sorter)


def method_searchsorted(self, v, side="left", sorter=None):
    """Where elements would have to be put to keep the array in order."""
    if type(self) is ndarray:
        return searchsorted(self, v, side, sorter)
    return _fallback.call("ndarray.searchsorted", numpy.ndarray.searchsorted, (self, v, side, sorter), {})


# ---- Bins ----


def _direction(edges):
    """1: the edges rise; -1: they fall; 0: NumPy says."""
    if edges.ndim != 1 or not edges.size or edges.dtype.kind not in "iuf":
        return 0
    if edges.dtype.kind == "f" and numpy.isnan(edges.min()):
        return 0
    least = -numpy.inf if edges.dtype.kind == "f" else numpy.iinfo(edges.dtype).min
    # Raises where they do neither, and tells of the least number in which bin it is.
    return -1 if numpy.digitize(edges.dtype.type(least), edges, True) else 1


def digitize(x, bins, right=False):
    """The number of the bin that each element lies in.  Which way the bins run must be known."""
    if type(x) is ndarray and x.dtype.kind in "biuf":
        edges = numpy.asarray(_fallback.to_numpy(bins))
        way = _direction(edges)
        if way:
            among = bins if type(bins) is ndarray else _creation.asarray(edges)
            places = _core.search(among[::way], x, _SIDES["left" if right else "right"])
            return places if way > 0 else edges.size - places
    return _fallback.leave(numpy.digitize, x, bins, right)


# ---- Sets ----

_KNOWN = 3  # places, of which those beyond the end are limited to it
_TABLE = 6  # elements of NumPy's table for each one of both arrays
_LOOK = 256  # elements that are looked at


def _has_table(element, others):
    """Do these integers seem so close to each other that NumPy looks them up in a table?  They are waited for."""
    if element.dtype.kind not in "biu":
        return False
    if element.dtype.itemsize == 1:
        return True
    some = numpy.asarray(others).reshape(-1)[:: max(1, others.size // _LOOK)]
    return int(some.max()) - int(some.min()) <= _TABLE * (element.size + others.size)


def isin(element, test_elements, assume_unique=False, invert=False, *, kind=None):
    """Is each element among others?  They are searched among those in order."""
    both = _arrays(element, test_elements)
    plain = both and both[0].ndim and both[0].dtype == both[1].dtype and both[0].dtype.kind in "biufc" and both[1].size
    plain = plain and type(assume_unique) is bool and type(invert) is bool and kind in (None, "sort")
    if not plain or kind is None and _has_table(*both):
        return _fallback.call(
            "isin", numpy.isin, (element, test_elements, assume_unique, invert), {"kind": kind}
        )
    element, others = both
    others = np.sort(others.reshape(-1))
    nearest = _core.gather(others, (0,), (0,), (_core.search(others, element, _SIDES["left"]),), _KNOWN, False)
    return _core.apply(_NOT_EQUAL if invert else _EQUAL, nearest, element)


# ---- Lines ----

_ENDS = (type(None), int, float, numpy.float64, numpy.float32)


def _plain(x, xp, fp, left, right):
    """Points and the values there; None: NumPy's affair."""
    arrays = _arrays(x, xp, fp)
    if not arrays or type(left) not in _ENDS or type(right) not in _ENDS:
        return None
    if any(a.dtype.kind not in "biuf" for a in arrays):
        return None
    if arrays[1].ndim != 1 or arrays[1].size < 2 or arrays[2].shape != arrays[1].shape:
        return None
    return arrays


def interp(x, xp, fp, left=None, right=None, period=None):
    """Values on the straight lines between points, by NumPy's formulas."""
    plain = _plain(x, xp, fp, left, right) if period is None else None
    if plain is None:
        return _fallback.leave(numpy.interp, x, xp, fp, left, right, period)
    x, xp, fp = plain
    made = _core.interp(x, xp, fp)
    if left is not None:
        made = _core.apply(_WHERE, _core.apply(_LESS, x, xp[0]), float(left), made)
    if right is not None:
        made = _core.apply(_WHERE, _core.apply(_LESS, xp[-1], x), float(right), made)
    return made if made.ndim else made[()]
