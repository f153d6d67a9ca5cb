# SPDX-License-Identifier: Apache-2.0
"""Elements at places that arrays name: a[i, j], take, take_along_axis.

Places in braze arrays are part of the computation and are checked when it runs;
those in lists and NumPy arrays are known, and are checked here, as NumPy does it.
A mask alone is _choose.py's; masks beside other keys, and what braze has no room for, are
left to NumPy.
"""

import math
import operator
import os
import sys

import numpy
from numpy.lib.array_utils import normalize_axis_index

from braze import _core
from braze.numpy import _choose, _creation, _fallback

ndarray = _core.ndarray
_RAISE, _WRAP, _CLIP, _KNOWN = range(4)
_MODES = {"raise": _RAISE, "wrap": _WRAP, "clip": _CLIP}
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_NDIM = 7  # axes of a result; braze arrays have one more


class _Refused(Exception):
    """NumPy computes this one."""


def _note_line():
    """Errors of what is recorded next name the line of the program that asks for it."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    _core.site(f"{frame.f_code.co_filename}:{frame.f_lineno}")


def _integers(places):
    """Places as a braze array, or as a NumPy array where their values are known."""
    if type(places) is ndarray:
        if places.dtype.kind not in "iu":
            raise _Refused
        return places
    if _fallback.is_foreign(places):
        raise _Refused
    try:
        known = numpy.asarray(_fallback.to_numpy(places))
    except (TypeError, ValueError):
        raise _Refused from None
    if not known.size and not isinstance(places, numpy.ndarray):
        known = known.astype(numpy.int64)
    if known.dtype.kind not in "iu" or type(known) is not numpy.ndarray:
        raise _Refused
    return known


def _checked(known, axis, size, mode=_RAISE):
    """Known places in 0 .. size - 1, or NumPy's error."""
    known = known.astype(numpy.int64)
    if mode == _WRAP:
        return known % size if size else known
    if mode == _CLIP:
        return known.clip(0, max(size - 1, 0))
    if known.size and (known.min() < -size or known.max() >= size):
        bad = known[(known < -size) | (known >= size)].flat[0]
        raise IndexError(f"index {bad} is out of bounds for axis {axis} with size {size}")
    return numpy.where(known < 0, known + size, known)


def _as_braze(known):
    return _core.from_any(known)


def _gather(array, axes, names, places, mode, ordered=False):
    """The places sorted out by what is known of them; then one operation.

    ordered: with a result in the order of memory of a[places], not in C order."""
    known = all(type(p) is not ndarray for p in places)
    ready = []
    for axis, name, p in zip(axes, names, places, strict=True):
        if isinstance(p, int):
            p = p % array.shape[axis]
        elif isinstance(p, numpy.ndarray):
            p = _as_braze(_checked(p, name, array.shape[axis], mode))
        ready.append(p)
    if not known and mode == _RAISE:
        _note_line()
    mode = _KNOWN if known else mode
    return _core.gather(array, axes, names, tuple(ready), mode, ordered)


def _spread(places):
    """The shape that the arrays among the places have together."""
    shapes = [p.shape for p in places if not isinstance(p, int)]
    try:
        return numpy.broadcast_shapes(*shapes)
    except ValueError:
        text = " ".join(str(s).replace(", ", ",") for s in shapes)
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {text} "
        ) from None


def _whole(array, key):
    """The key as a list with an item for each axis, and newaxis between them."""
    items = list(key) if isinstance(key, tuple) else [key]
    used = sum(item is not None and item is not Ellipsis for item in items)
    dots = [k for k, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1 or used > array.ndim:
        raise _Refused  # masks count in another way; NumPy knows the error
    at = dots[0] if dots else len(items)
    items[at : at + len(dots)] = [slice(None)] * (array.ndim - used)
    return items


def _place(item):
    """What an item of a key is: None for slices and newaxis, a number, or places."""
    if item is None or isinstance(item, slice):
        return None
    if isinstance(item, (bool, numpy.bool_)):
        raise _Refused
    if isinstance(item, (int, numpy.integer)):
        return int(item)
    if type(item) is ndarray or isinstance(item, (list, tuple, numpy.ndarray)):
        return _integers(item)
    raise _Refused


def _sorted_out(array, key):
    """The view of what slices leave, its axes that have places, their names, the places."""
    basic, axes, names, places = [], [], [], []
    name = 0
    for item in _whole(array, key):
        place = _place(item)
        if place is not None:
            axes.append(len(basic))
            names.append(name)
            places.append(place)
            basic.append(slice(None))
        else:
            basic.append(item)
        name += item is not None
    if all(isinstance(p, int) for p in places) or len(basic) > 8:
        raise _Refused
    if any(item != slice(None) for item in basic):
        array = array[tuple(basic)]
    for axis, name, place in zip(axes, names, places, strict=True):
        size = array.shape[axis]
        if isinstance(place, int) and not -size <= place < size:
            raise IndexError(
                f"index {place} is out of bounds for axis {name} with size {size}"
            )
    return array, tuple(axes), tuple(names), tuple(places)


def _check_room(array, axes, spread):
    rest = [n for k, n in enumerate(array.shape) if k not in axes]
    # Places are checked when they are used: with nothing to take NumPy looks at them.
    if len(rest) + len(spread) > _NDIM or (0 in rest and math.prod(spread)):
        raise _Refused
    some = math.prod(spread) or len(axes) > 1  # the others' places are looked at
    if some and any(array.shape[k] == 0 for k in axes):
        raise _Refused


def _has_ellipsis(key):
    return isinstance(key, tuple) and any(item is Ellipsis for item in key)


def getitem(array, key):
    """array[key] for a key with arrays in it."""
    if _choose.is_mask(array, key) and type(key) in (ndarray, numpy.ndarray):
        return _choose.chosen(array, key)
    try:
        view, axes, names, places = _sorted_out(array, key)
        _check_room(view, axes, _spread(places))
        made = _gather(view, axes, names, places, _RAISE, ordered=True)
        # With an ellipsis in its key, a result of no axes is an array, no number.
        return made if made.ndim or not _has_ellipsis(key) else made[...]
    except _Refused:
        return _fallback.getitem(array, key)


def take(a, indices, axis=None, out=None, mode="raise"):
    """Elements of a along an axis, or of all its elements in C order."""
    array = _creation.asarray(a)
    try:
        if type(array) is not ndarray or out is not None or mode not in _MODES:
            raise _Refused
        places = _integers(indices)
        if axis is None or not array.ndim and axis in (0, -1):  # which NumPy lets 0-d have
            array, along = array.reshape(-1), 0
        else:
            along = normalize_axis_index(operator.index(axis), array.ndim)
        _check_room(array, (along,), places.shape)
        return _gather(array, (along,), (along,), (places,), _MODES[mode])
    except _Refused:
        return _fallback.call(
            "take", numpy.take, (a, indices, axis), {"out": out, "mode": mode}
        )


def take_along_axis(arr, indices, axis=-1):
    """Elements of arr at places along an axis, one place for each of the result's."""
    array = _creation.asarray(arr)
    try:
        places = _integers(indices)
        if type(array) is not ndarray or places.ndim != (1 if axis is None else array.ndim):
            raise _Refused
        if axis is None:
            array, axis = array.reshape(-1), 0
        axis = normalize_axis_index(operator.index(axis), array.ndim)
        rest = array.shape[:axis] + (1,) + array.shape[axis + 1 :]
        try:
            shape = numpy.broadcast_shapes(rest, places.shape)
        except ValueError:
            raise _Refused from None
        if array.ndim > _NDIM or (math.prod(places.shape) and not math.prod(shape)):
            raise _Refused
        if math.prod(shape) and not array.shape[axis]:
            raise _Refused
        if type(places) is ndarray:
            _note_line()
            return _core.take_along(array, places, axis, _RAISE)
        places = _as_braze(_checked(places, axis, array.shape[axis]))
        return _core.take_along(array, places, axis, _KNOWN)
    except _Refused:
        return _fallback.call(
            "take_along_axis", numpy.take_along_axis, (arr, indices, axis), {}
        )


def ix_(*args):
    """Views of the arrays, each along an axis of its own, which together name an open mesh."""
    n = len(args)
    if n > _NDIM or not all(
        type(a) is ndarray and a.ndim == 1 and a.dtype.kind != "b" for a in args
    ):
        return _fallback.call("ix_", numpy.ix_, args, {})
    return tuple(
        _core.reshape(a, (1,) * k + (a.size,) + (1,) * (n - 1 - k))
        for k, a in enumerate(args)
    )


def put_along_axis(arr, indices, values, axis):
    """Write values into arr at places along an axis, one place for each."""
    native = type(arr) is ndarray and type(indices) is ndarray and type(axis) is int
    native = native and not _fallback.is_foreign(values)
    if not native or indices.dtype.kind not in "iu" or not 0 < arr.ndim == indices.ndim:
        _fallback.call(
            "put_along_axis", numpy.put_along_axis, (arr, indices, values, axis), {}
        )
        return
    axis = normalize_axis_index(axis, arr.ndim)
    key = [
        _creation.arange(n).reshape((1,) * k + (-1,) + (1,) * (arr.ndim - 1 - k))
        for k, n in enumerate(arr.shape)
    ]
    key[axis] = indices
    arr[tuple(key)] = values
