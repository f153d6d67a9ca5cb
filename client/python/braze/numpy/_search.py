# SPDX-License-Identifier: Apache-2.0
"""Where elements belong among others in order, and what is composed of that."""

import numpy

from braze import _core
from braze.numpy import _creation, _fallback, _gather

ndarray = _core.ndarray
_SIDES = {"left": 0, "right": 1}
_KNOWN = 3  # places that are inside
_WHERE, _LESS, _CLIP = (_core.op_find(name)[0] for name in ("where", "less", "clip"))


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
    """1: no edge lies below the one before it; -1: none above; 0: NumPy says."""
    if edges.ndim != 1 or not edges.size or edges.dtype.kind not in "biuf":
        return 0
    if edges.dtype.kind == "f" and numpy.isnan(edges).any():
        return 0
    if (edges[1:] >= edges[:-1]).all():
        return 1
    falls = (edges[1:] <= edges[:-1]).all() and float(edges[0]) > float(edges[-1])
    return -1 if falls else 0


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


# ---- Lines ----

_ENDS = (type(None), int, float, numpy.float64, numpy.float32)


def _plain(x, xp, fp, left, right):
    """Points and the values there, as float64; None: NumPy's affair."""
    arrays = _arrays(x, xp, fp)
    if not arrays or type(left) not in _ENDS or type(right) not in _ENDS:
        return None
    if any(a.dtype.kind not in "biuf" for a in arrays):
        return None
    if arrays[1].ndim != 1 or arrays[1].size < 2 or arrays[2].shape != arrays[1].shape:
        return None
    return [a if a.dtype == numpy.float64 else _core.cast(a, numpy.float64) for a in arrays]


def _at(a, places):
    return _core.gather(a, (0,), (0,), (places,), _KNOWN)


def interp(x, xp, fp, left=None, right=None, period=None):
    """Values on the straight lines between points, by NumPy's formulas."""
    plain = _plain(x, xp, fp, left, right) if period is None else None
    if plain is None:
        return _fallback.leave(numpy.interp, x, xp, fp, left, right, period)
    x, xp, fp = plain
    n = xp.size
    place = _core.search(xp, x, _SIDES["right"])  # one behind the point at or before x
    before = _core.apply(_CLIP, place - 1, 0, n - 2)
    rise = (fp[1:] - fp[:-1]) / (xp[1:] - xp[:-1])
    if n > x.size:
        rise = None
    behind = before + 1
    x0, x1, y0, y1 = _at(xp, before), _at(xp, behind), _at(fp, before), _at(fp, behind)
    slope = (y1 - y0) / (x1 - x0) if rise is None else _at(rise, before)
    made = slope * (x - x0) + y0
    # Where one end is infinite the other may tell.
    other = slope * (x - x1) + y1
    other = _where((other != other) & (y0 == y1), y0, other)
    made = _where(made != made, other, made)
    made = _where(x0 == x, y0, made)
    made = _where(place == n, fp[-1], made)
    made = _where(place == 0, fp[0] if left is None else float(left), made)
    made = _where(x > xp[-1], fp[-1] if right is None else float(right), made)
    made = _where(x != x, x, made)
    return made if made.ndim else made[()]


def _where(mask, a, b):
    return _core.apply(_WHERE, mask, a, b)
