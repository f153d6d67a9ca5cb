# SPDX-License-Identifier: Apache-2.0
"""Products over chosen axes, differences and polynomials: composed of braze's operations.

What is unusual (outputs, types that braze lacks, other forms of arguments) NumPy computes.
"""

import functools
import math
import operator

import numpy
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from braze import _core
from braze.numpy import _creation, _errstate, _fallback, _order, _reductions, _shape

ndarray = _core.ndarray
_MISSING = numpy._NoValue
_AXES = 8
leave = _fallback.leave


def _both(a, b):
    if _fallback.is_foreign(a) or _fallback.is_foreign(b):
        return None
    a, b = _creation.asarray(a), _creation.asarray(b)
    return (a, b) if type(a) is ndarray and type(b) is ndarray else None


def _product(a, b):
    return _errstate.silently(operator.matmul, a, b)


# ---- Products ----

def _pairs(axes, a, b):
    """The axes of each that are summed over together."""
    if isinstance(axes, (int, numpy.integer)):
        n = int(axes)
        return list(range(a.ndim - n, a.ndim)), list(range(n))
    of_a, of_b = axes
    of_a = list(of_a) if hasattr(of_a, "__len__") else [of_a]
    of_b = list(of_b) if hasattr(of_b, "__len__") else [of_b]
    return [k + a.ndim if k < 0 else k for k in of_a], [k + b.ndim if k < 0 else k for k in of_b]


def _agree(a, b, of_a, of_b):
    if len(of_a) != len(of_b):
        return False
    inside = all(0 <= i < a.ndim and 0 <= k < b.ndim for i, k in zip(of_a, of_b, strict=True))
    distinct = len(set(of_a)) == len(of_a) and len(set(of_b)) == len(of_b)
    return inside and distinct and all(
        a.shape[i] == b.shape[k] for i, k in zip(of_a, of_b, strict=True)
    )


def _arranged(a, order, shape):
    """a with its axes in an order, and joined."""
    if order != sorted(order):
        a = _core.transpose(a, order)
    return a if a.shape == shape else a.reshape(shape)


def tensordot(a, b, axes=2):
    """Sum of products over pairs of axes."""
    both = _both(a, b)
    if both is None:
        return leave(numpy.tensordot, a, b, axes)
    x, y = both
    try:
        of_x, of_y = _pairs(axes, x, y)
    except (TypeError, ValueError):
        return leave(numpy.tensordot, a, b, axes)
    if not _agree(x, y, of_x, of_y) or x.ndim + y.ndim - 2 * len(of_x) > _AXES:
        return leave(numpy.tensordot, a, b, axes)
    rest_x = [k for k in range(x.ndim) if k not in of_x]
    rest_y = [k for k in range(y.ndim) if k not in of_y]
    inner = math.prod(x.shape[k] for k in of_x)
    shape = [x.shape[k] for k in rest_x] + [y.shape[k] for k in rest_y]
    rows, columns = math.prod(x.shape[k] for k in rest_x), math.prod(y.shape[k] for k in rest_y)
    x = _arranged(x, rest_x + of_x, (rows, inner))
    y = _arranged(y, of_y + rest_y, (inner, columns))
    made = _product(x, y)
    return made if list(made.shape) == shape else made.reshape(shape)


def kron(a, b):
    """Every element of a times b, as one array."""
    both = _both(a, b)
    if both is None or 2 * max(both[0].ndim, both[1].ndim) > _AXES:
        return leave(numpy.kron, a, b)
    x, y = both
    n = max(x.ndim, y.ndim)
    if not min(x.ndim, y.ndim):
        return x * y
    of_x, of_y = (1,) * (n - x.ndim) + x.shape, (1,) * (n - y.ndim) + y.shape
    x = x.reshape(tuple(v for k in of_x for v in (k, 1)))
    y = y.reshape(tuple(v for k in of_y for v in (1, k)))
    return (x * y).reshape(tuple(i * k for i, k in zip(of_x, of_y, strict=True)))


def inner(a, b, /):
    """Sum over the last axes of both."""
    from braze.numpy import _linear

    both = _both(a, b)
    if both is None or (both[0].ndim <= 2 and both[1].ndim <= 2) or not (both[0].ndim and both[1].ndim):
        return _linear.inner(a, b)
    if both[0].shape[-1] != both[1].shape[-1]:
        raise ValueError(f"shapes {both[0].shape} and {both[1].shape} not aligned")
    return tensordot(*both, (-1, -1))


def _labels(text, n):
    """The labels of n operands and of the result; None: what only NumPy reads."""
    text = text.replace(" ", "")
    given, arrow, result = text.partition("->")
    operands = given.split(",")
    known = text.isascii() and all(c.isalpha() for o in operands for c in o)
    if not known or len(operands) != n or any(len(set(o)) != len(o) for o in operands):
        return None
    if not arrow:
        result = "".join(sorted(c for c in set(given) if c.isalpha() and given.count(c) == 1))
    if len(set(result)) != len(result) or not set(result) <= set(given) - {","}:
        return None
    return operands, result


class _Plan:
    """How one operand's axes are summed, ordered and joined: None where nothing is to be done."""

    def __init__(self, labels, shape, keep, groups):
        self.gone = tuple(k for k, c in enumerate(labels) if c not in keep) or None
        have = [c for c in labels if c in keep]
        order = [c for group in groups for c in group]
        extents = dict(zip(labels, shape, strict=True))
        self.axes = None if order == have else [have.index(c) for c in order]
        joined = tuple(math.prod(extents[c] for c in group) for group in groups)
        self.shape = None if all(len(g) == 1 for g in groups) else joined

    def run(self, a):
        """The operand so."""
        if self.gone:
            a = _reductions.sum(a, self.gone, a.dtype)
        if self.axes:
            a = _core.transpose(a, self.axes)
        return a if self.shape is None else a.reshape(self.shape)


def _extents(shapes, operands):
    """Each label's; None where operands do not agree."""
    extents = {}
    for shape, labels in zip(shapes, operands, strict=True):
        if len(shape) != len(labels):
            return None
        for c, extent in zip(labels, shape, strict=True):
            if extents.setdefault(c, extent) != extent:
                return None
    return extents if len(extents) <= _AXES else None


def _groups(of_a, of_b, result):
    """Labels by their part: a stack of products, rows, what is summed, columns."""
    stack = [c for c in result if c in of_a and c in of_b]
    inside = [c for c in of_a if c in of_b and c not in result]
    rows = [c for c in of_a if c not in of_b and c in result]
    return stack, rows, inside, [c for c in of_b if c not in of_a and c in result]


@functools.lru_cache(256)
def _planned(text, *shapes):
    """The operands' plans and what becomes of their product; None: NumPy's affair."""
    labels = _labels(text, len(shapes))
    extents = labels and _extents(shapes, labels[0])
    if not extents:
        return None
    operands, result = labels
    if len(shapes) == 1:
        return [_Plan(operands[0], shapes[0], result, [[c] for c in result])], False, None, None, False
    return _planned_pair(operands, shapes, result, extents)


def _planned_pair(operands, shapes, result, extents):
    of_a, of_b = operands
    stack, rows, inside, columns = _groups(of_a, of_b, result)
    if columns and not stack + inside and list(result) == columns + rows:
        # The other way round it lies as NumPy's.
        turned = _planned_pair((of_b, of_a), shapes[::-1], result, extents)
        return *turned[:-1], True
    left = right = [[c] for c in stack]
    # A vector stays one: products of those have ways of their own.
    if rows or stack or not inside:
        left = [*left, rows]
    if columns or stack or not inside:
        right = [*right, inside, columns]
    else:
        right = [inside]
    plans = (
        _Plan(of_a, shapes[0], result + of_b, [*left, inside]),
        _Plan(of_b, shapes[1], result + of_a, right),
    )
    have = stack + rows + columns
    order = None if have == list(result) else [have.index(c) for c in result]
    return plans, bool(inside), tuple(extents[c] for c in have), order, False


def _steps(operands, result, path):
    """A path's products of two, as the places of both and labels of the product; None: it has
    others."""
    operands, made = list(operands), []
    for places in path:
        if len(places) != 2:
            return None
        first, second = sorted(places)
        b, a = operands.pop(second), operands.pop(first)
        rest = set(result).union(*operands)
        labels = "".join(dict.fromkeys(c for c in a + b if c in rest)) if operands else result
        operands.append(labels)
        made.append((first, second, a, b, labels))
    return made


@functools.lru_cache(256)
def _planned_many(text, *shapes):
    """Products of two that give one of many, in NumPy's greedy order; None: NumPy's affair."""
    labels = _labels(text, len(shapes))
    extents = labels and _extents(shapes, labels[0])
    # Whether few are NumPy's is a matter of shapes alone: so near and far sum in one order.
    if not extents or math.prod(extents.values()) < _FEW:
        return None
    like = [numpy.broadcast_to(0.0, shape) for shape in shapes]
    path = numpy.einsum_path(text, *like, optimize="greedy")[0][1:]
    steps = _steps(*labels, path if len(path) > 1 else [(0, 1)] * (len(shapes) - 1))
    made = []
    for first, second, a, b, to in steps or ():
        both = (tuple(extents[c] for c in side) for side in (a, b))
        made.append((first, second, _planned(f"{a},{b}->{to}", *both)))
    return None if any(plan is None for _, _, plan in made) else made or None


def _einsum_many(text, arrays):
    """Of three operands and more; None: NumPy's affair."""
    steps = _planned_many(text, *(a.shape for a in arrays))
    if steps is None:
        return None
    to = numpy.result_type(*(a.dtype for a in arrays))
    arrays = [a if a.dtype == to else _core.cast(a, to) for a in arrays]
    for first, second, plan in steps:
        made = _einsum_pair(plan, arrays[first], arrays[second])
        del arrays[second], arrays[first]
        arrays.append(made)
    return arrays[0]


def _einsum_pair(plan, a, b):
    plans, summed, shape, order, turned = plan
    a, b = (b, a) if turned else (a, b)
    a, b = plans[0].run(a), plans[1].run(b)
    return _finished(_errstate.silently(operator.matmul if summed else operator.mul, a, b), shape, order)


def _is_summable(a):
    """Of bools and float16 NumPy's sums are of another kind."""
    return type(a) is ndarray and a.dtype.char not in "?e"


def einsum(*operands, out=None, optimize=False, **kwargs):
    """Sums of products by labels of axes."""
    arrays = operands[1:]
    plain = out is None and not kwargs and arrays and type(operands[0]) is str
    made = None
    if plain and all(map(_is_summable, arrays)):
        if len(arrays) < 3:
            made = _einsum_few(operands[0], arrays)
        # NumPy's products of two, where it makes them, are in the types of both.
        elif not optimize or len({a.dtype for a in arrays}) == 1:
            made = _einsum_many(operands[0], arrays)
    if made is None:
        return _fallback.call("einsum", numpy.einsum, operands,
                              {"out": out, "optimize": optimize, **kwargs})
    return made


def _einsum_few(text, arrays):
    """Of one operand or two; None: NumPy's affair."""
    plan = _planned(text, *(a.shape for a in arrays))
    if plan is None:
        return None
    if len(arrays) == 1:
        made = plan[0][0].run(arrays[0])
        return made[...] if made is arrays[0] else made
    return _einsum_pair(plan, *_of_one_type(*arrays))


def _of_one_type(a, b):
    """Both in their common type, in which they are summed."""
    if a.dtype == b.dtype:
        return a, b
    to = numpy.result_type(a.dtype, b.dtype)
    return a if a.dtype == to else _core.cast(a, to), b if b.dtype == to else _core.cast(b, to)


def _finished(made, shape, order):
    if made.shape != shape:
        made = made.reshape(shape)
    if order is not None:
        made = _core.transpose(made, order)
    return made if made.ndim else made[()]


# ---- Differences ----

def ediff1d(ary, to_end=None, to_begin=None):
    """Differences of neighbours, of all elements in their order."""
    a = _creation.asarray(ary)
    if type(a) is not ndarray or to_end is not None or to_begin is not None or a.dtype == bool:
        return leave(numpy.ediff1d, ary, to_end, to_begin)
    a = _shape.ravel(a)
    return a[1:] - a[:-1]


def trapezoid(y, x=None, dx=1.0, axis=-1):
    """Integral along an axis, by trapezoids."""
    a = _creation.asarray(y)
    d = dx if x is None else _creation.asarray(x)
    plain = type(d) in (int, float) if x is None else type(d) is ndarray and d.ndim == 1
    if type(a) is not ndarray or not a.ndim or not plain or a.dtype.kind == "b":
        return leave(numpy.trapezoid, y, x, dx, axis)
    axis = normalize_axis_index(axis, a.ndim)
    if x is not None:
        d = (d[1:] - d[:-1]).reshape((-1,) + (1,) * (a.ndim - 1 - axis))
    front = (slice(None),) * axis
    made = d * (a[front + (slice(1, None),)] + a[front + (slice(None, -1),)]) / 2.0
    return _reductions.sum(made, axis)


def _vectors(a, b, axes):
    """Both with their three components as the last axis; None: NumPy's affair."""
    both = _both(a, b)
    if both is None or not both[0].ndim or not both[1].ndim:
        return None
    a, b = (_shape.moveaxis(x, k, -1) for x, k in zip(both, axes, strict=True))
    return (a, b) if a.shape[-1] == b.shape[-1] == 3 and "?" not in a.dtype.char + b.dtype.char else None


def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """Vector product of three components."""
    axes = (axisa, axisb, axisc) if axis is None else (axis,) * 3
    whole = all(type(k) is int for k in axes)
    both = _vectors(a, b, axes[:2]) if whole else None
    if both is None:
        return leave(numpy.cross, a, b, axisa, axisb, axisc, axis)
    x, y = ([v[..., k] for k in range(3)] for v in both)
    made = [x[(k + 1) % 3] * y[(k + 2) % 3] - x[(k + 2) % 3] * y[(k + 1) % 3] for k in range(3)]
    # NumPy's lies in C order until the components' axis is moved.
    whole = _order.in_c(_shape.stack(made, -1))
    return _shape.moveaxis(whole, -1, normalize_axis_tuple(axes[2], whole.ndim)[0])


# ---- Functions of elements ----

def polyval(p, x):
    """A polynomial's values, by Horner's rule."""
    if type(x) is not ndarray or x._is_scalar or _fallback.is_foreign(p) or x.dtype == bool:
        return leave(numpy.polyval, p, x)
    given, p = p, numpy.asarray(p) if type(p) in (list, tuple) else p
    if type(p) not in (numpy.ndarray, ndarray) or p.ndim != 1 or not 0 < p.size <= _TERMS:
        return leave(numpy.polyval, given, x)
    if type(p) is numpy.ndarray and not _fallback.native_dtype(p.dtype):
        return leave(numpy.polyval, given, x)
    made = _creation.zeros_like(x)
    # Numbers of Python's take x's type where that is the result's in any case.
    lists = type(p) is numpy.ndarray and numpy.result_type(p, x.dtype) == x.dtype
    for term in p.tolist() if lists else p:
        made = made * x + term
    return made


def sinc(x):
    """sin(pi x) / (pi x)."""
    if type(x) is not ndarray or x.dtype.kind != "f":
        return leave(numpy.sinc, x)
    y = numpy.pi * _core.apply(_WHERE, x == 0, 1.0e-20, x)
    return _core.apply(_SIN, y) / y


_TERMS = 64
_FEW = 8192
_WHERE, _SIN = _core.op_find("where")[0], _core.op_find("sin")[0]
