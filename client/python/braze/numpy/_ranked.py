# SPDX-License-Identifier: Apache-2.0
"""What elements in order tell: medians and quantiles."""

import math
import operator

import numpy

import braze.numpy as np
from braze import _core
from braze.numpy import _fallback, _order

ndarray = _core.ndarray
_WHERE = _core.op_find("where")[0]


def _axis(a, axis, out):
    """The axis, from the front, of an array that braze sorts; None: the call is NumPy's."""
    if type(a) is not ndarray or out is not None or not a.ndim or not a.size:
        return None
    if a.dtype.kind not in "biuf" or isinstance(axis, (bool, tuple, list)):
        return None
    if axis is None:
        return 0
    try:
        axis = operator.index(axis)
    except TypeError:
        return None
    return axis % a.ndim if -a.ndim <= axis < a.ndim else None


def _in_order(a, axis):
    """Elements in order, flat for None; a function for those at places along the axis; the last,
    if it can be a nan."""
    rows = a.reshape(-1) if axis is None else a
    axis = 0 if axis is None else axis
    order = np.sort(rows, axis)
    front = (slice(None),) * axis

    def at(place):
        return order[(*front, place)]

    return at, at(-1) if a.dtype.kind == "f" else None


def _or_nan(made, last):
    """The result, but a nan where the last element is one."""
    made = made if last is None else _core.apply(_WHERE, last != last, last, made)
    return made if made.ndim else made[()]


def _kept(made, a, axis, keepdims):
    if not keepdims:
        return made
    shape = (1,) * a.ndim if axis is None else a.shape[:axis] + (1,) + a.shape[axis + 1 :]
    return made.reshape(shape)


def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """The middle of the elements in order, or the mean of the two in the middle."""
    along = _axis(a, axis, out)
    if along is None:
        kwargs = {"axis": axis, "out": out, "overwrite_input": overwrite_input, "keepdims": keepdims}
        return _fallback.call("median", numpy.median, (a,), kwargs)
    along = None if axis is None else along
    n = a.size if along is None else a.shape[along]
    at, last = _in_order(a, along)
    middle = at(slice((n - 1) // 2, n // 2 + 1)).mean(axis=along or 0)
    return _kept(_or_nan(middle, last), a, along, keepdims)


# ---- Quantiles ----

_MANY = 64  # quantiles at a time that are worth an operation each


def _places(method, n, q):
    """Where a quantile lies among n elements: the place before it, the one behind, and how far
    it has come from one to the other, or None where it is one of them."""
    virtual = (n - 1) * q
    if method in _ONE_OF_THEM:
        return _ONE_OF_THEM[method](virtual), None, None
    if method == "midpoint":
        virtual = 0.5 * (math.floor(virtual) + math.ceil(virtual))
    before = math.floor(virtual)
    behind = before + 1
    if virtual >= n - 1:
        before = behind = -1
    if method == "midpoint":
        return before, behind, 0.0 if virtual % 1 == 0 else 0.5
    return before, behind, virtual - before


_ONE_OF_THEM = {"lower": math.floor, "higher": math.ceil, "nearest": round}
_METHODS = {"linear", "midpoint", *_ONE_OF_THEM}


def _between(at, place):
    before, behind, share = place
    low = at(before)
    if share is None:
        return low
    high = at(behind)
    if share >= 0.5:
        return high - (high - low) * (1 - share)
    return low + (high - low) * share


def _asked(a, q, percent):
    """The quantiles of a plain call as floats, and whether they are a list; None: others."""
    many = type(q) in (list, tuple)
    asked = list(q) if many else [q]
    if not 0 < len(asked) <= _MANY or any(type(x) not in (int, float) for x in asked):
        return None, many
    if percent:
        asked = [x / 100 for x in asked]
    elif a.dtype.kind != "f" and all(type(x) is int for x in asked):
        return None, many  # NumPy interpolates nothing then
    return ([float(x) for x in asked] if all(0 <= x <= 1 for x in asked) else None), many


def _quantile(name, a, q, axis, out, overwrite_input, method, keepdims, rest):
    along = _axis(a, axis, out)
    asked, many = None, False
    if along is not None and a.dtype.char in "bhilqBHILQd" and not rest:
        if type(method) is str and method in _METHODS:
            asked, many = _asked(a, q, name == "percentile")
    if asked is None:
        kwargs = {"axis": axis, "out": out, "overwrite_input": overwrite_input, "method": method}
        kwargs.update({"keepdims": keepdims, **rest})
        return _fallback.call(name, getattr(numpy, name), (a, q), kwargs)
    along = None if axis is None else along
    n = a.size if along is None else a.shape[along]
    at, last = _in_order(a, along)
    made = [
        _order.in_c(_kept(_or_nan(_between(at, _places(method, n, x)), last), a, along, keepdims))
        for x in asked
    ]
    return np.stack(made) if many else made[0]


def _rest(weights, interpolation):
    named = {"weights": weights, "interpolation": interpolation}
    return {name: x for name, x in named.items() if x is not None}


def quantile(
    a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False,
    *, weights=None, interpolation=None,
):
    """What a share of the elements lie below."""
    return _quantile("quantile", a, q, axis, out, overwrite_input, method, keepdims, _rest(weights, interpolation))


def percentile(
    a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False,
    *, weights=None, interpolation=None,
):
    """What so many of a hundred elements lie below."""
    return _quantile("percentile", a, q, axis, out, overwrite_input, method, keepdims, _rest(weights, interpolation))
