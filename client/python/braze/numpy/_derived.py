# SPDX-License-Identifier: Apache-2.0
"""Gradients and covariances: composed of braze's operations.

What is unusual (weights, types that braze lacks, degrees of freedom that do not suffice) and
every error is NumPy's.
"""

import operator

import numpy
from numpy.lib.array_utils import normalize_axis_tuple

from braze import _core
from braze.numpy import _creation, _errstate, _fallback, _reductions, _shape

ndarray = _core.ndarray
_DOUBLE = numpy.dtype(float)
_MISSING = numpy._NoValue
leave = _fallback.leave


def _of(x, kinds):
    """x as an array of ours of one of these kinds; None: NumPy's affair."""
    if type(x) is not ndarray:
        x = None if _fallback.is_foreign(x) else _creation.asarray(x)
    return x if type(x) is ndarray and x.dtype.kind in kinds else None


def _to(a, dtype):
    return a if a.dtype == dtype else _core.cast(a, dtype)


# ---- Gradients ----

def _distances(x, extent):
    """Between coordinates: a number where they are all the same, which is waited for."""
    x = _of(x, "iuf")
    if x is None or x.shape != (extent,) or extent < 2:
        return None
    if x.dtype.kind != "f":
        x = _core.cast(x, _DOUBLE)
    x = x[1:] - x[:-1]
    first = x[0]
    return first if _reductions.all(x == first) else x


def _spacing(x, extent):
    """A number, or distances along an axis; None: NumPy's affair."""
    if type(x) in (int, float) or isinstance(x, (numpy.floating, numpy.integer)):
        return x if x else None  # NumPy warns, or raises
    if type(x) is ndarray and not x.ndim:
        return x if x._is_scalar and x.dtype.kind in "iuf" else None
    return _distances(x, extent)


def _spacings(given, shape, axes):
    if not given:
        return [1.0] * len(axes)
    if len(given) == 1 and len(axes) != 1:
        return [_spacing(given[0], -1)] * len(axes)
    if len(given) != len(axes):
        return [None]
    return [_spacing(x, shape[k]) for x, k in zip(given, axes, strict=True)]


def _is_number(d):
    return type(d) is not ndarray or not d.ndim


def _at_front(d):
    """The factors of the first three elements."""
    if _is_number(d):
        return -1.5 / d, 2.0 / d, -0.5 / d
    p, q = d[0], d[1]
    return -(2.0 * p + q) / (p * (p + q)), (p + q) / (p * q), -p / (q * (p + q))


def _at_back(d):
    """The factors of the last three."""
    if _is_number(d):
        return 0.5 / d, -2.0 / d, 1.5 / d
    p, q = d[-2], d[-1]
    return q / (p * (p + q)), -(q + p) / (p * q), (2.0 * q + p) / (q * (p + q))


class _Line:
    """One axis of an array: its elements from a place to another."""

    def __init__(self, a, axis):
        self.a, self.front, self.rank = a, (slice(None),) * axis, a.ndim - axis

    def at(self, start, stop):
        """The key of the elements from start to stop."""
        return (*self.front, slice(start, stop))

    def part(self, start, stop):
        """Those elements."""
        return self.a[self.at(start, stop)]

    def along(self, d):
        """Factors of the elements inside, as the array's shape asks."""
        return d if self.rank == 1 else d.reshape((-1,) + (1,) * (self.rank - 1))

    def inside(self, d):
        """By the neighbours on both sides."""
        before, after = self.part(None, -2), self.part(2, None)
        if _is_number(d):
            return (after - before) / (2.0 * d)
        p, q = d[:-1], d[1:]
        a, b, c = -q / (p * (p + q)), (q - p) / (p * q), p / (q * (p + q))
        return self.along(a) * before + self.along(b) * self.part(1, -1) + self.along(c) * after

    def edge(self, d, order, is_front):
        """At an end, by the elements next to it."""
        if order == 2:
            at = ((0, 1), (1, 2), (2, 3)) if is_front else ((-3, -2), (-2, -1), (-1, None))
            a, b, c = (_at_front if is_front else _at_back)(d)
            x, y, z = (self.part(*k) for k in at)
            return a * x + b * y + c * z
        step = self.part(1, 2) - self.part(0, 1) if is_front else self.part(-1, None) - self.part(-2, -1)
        if not _is_number(d):
            d = d[0] if is_front else d[-1]
        return step / d


def _gradient(a, axis, d, order):
    line, made = _Line(a, axis), _creation.empty_like(a)
    made[line.at(1, -1)] = line.inside(d)
    made[line.at(0, 1)] = line.edge(d, order, True)
    made[line.at(-1, None)] = line.edge(d, order, False)
    return made


def gradient(f, *varargs, axis=None, edge_order=1):
    """Differences of neighbours over their distances, along each axis."""
    a = _of(f, "iufc")
    plain = a is not None and edge_order in (1, 2) and (axis is None or type(axis) in (int, tuple))
    axes, steps = (), (None,)
    if plain:
        axes = range(a.ndim) if axis is None else normalize_axis_tuple(axis, a.ndim)
        plain = all(a.shape[k] > edge_order for k in axes)
    if plain and axes:
        steps = _spacings(varargs, a.shape, axes)
    if any(d is None for d in steps):
        return leave(numpy.gradient, f, *varargs, axis=axis, edge_order=edge_order)
    if a.dtype.kind in "iu":
        a = _core.cast(a, _DOUBLE)
    made = tuple(_gradient(a, k, d, edge_order) for k, d in zip(axes, steps, strict=True))
    return made[0] if len(made) == 1 else made


# ---- Covariances ----

def _variables(x, rowvar, to):
    """Of one or two axes, as rows of a matrix."""
    x = _to(x, to)
    if x.ndim == 1:
        return x.reshape(1, -1)
    return x if rowvar else _core.transpose(x, (1, 0))


def _samples(m, y, rowvar):
    """All variables as rows; None: NumPy's affair."""
    m = _of(m, "biufc")
    others = [] if y is None else [_of(y, "biufc")]
    if any(x is None or x.ndim not in (1, 2) or not x.size for x in (m, *others)):
        return None
    to = numpy.result_type(_DOUBLE, m.dtype, *(x.dtype for x in others))
    rows = [_variables(m, rowvar, to)]
    # A second argument of one row is a variable as it is.
    rows += [_variables(x, rowvar or x.shape[0] == 1, to) for x in others]
    if len({x.shape[1] for x in rows}) != 1:
        return None
    return rows[0] if y is None else _core.join(rows, 0, to, False)


def _covariance(m, y, rowvar, less):
    rows = _samples(m, y, rowvar) if type(less) is int else None
    if rows is None or rows.shape[1] <= less or rows.shape[0] > _VARIABLES:
        return None
    distance = rows - _reductions.mean(rows, 1, None, None, True)
    other = distance.conj() if rows.dtype.kind == "c" else distance
    if rows.shape[0] <= _PAIRS:
        made = _reductions.sum(distance[:, None] * other[None], -1)
    else:
        made = _errstate.silently(operator.matmul, distance, _core.transpose(other, (1, 0)))
    return _shape.squeeze(made * (1 / (rows.shape[1] - less)))


def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    """Covariances of variables."""
    made, plain = None, fweights is None and aweights is None and dtype is None
    if plain and type(bias) in (bool, int) and type(rowvar) in (bool, int):
        made = _covariance(m, y, rowvar, int(not bias) if ddof is None else ddof)
    if made is None:
        return leave(numpy.cov, m, y, rowvar, bias, ddof, fweights, aweights, dtype=dtype)
    return made


def corrcoef(x, y=None, rowvar=True, bias=_MISSING, ddof=_MISSING, *, dtype=None):
    """Correlations of variables."""
    plain = bias is _MISSING and ddof is _MISSING and dtype is None and type(rowvar) in (bool, int)
    made = _covariance(x, y, rowvar, 1) if plain else None
    if made is None or made.dtype.kind == "c":
        given = {"bias": bias, "ddof": ddof}  # which NumPy has up to 2.3
        return leave(numpy.corrcoef, x, y, rowvar, dtype=dtype, **{k: v for k, v in given.items() if v is not _MISSING})
    if not made.ndim:
        return made / made
    spread = _core.apply(_SQRT, made.diagonal())
    return _shape.clip(made / spread[:, None] / spread, -1.0, 1.0)


_SQRT = _core.op_find("sqrt")[0]
_PAIRS = 4  # variables each pair of which is one sum: a product of so few rows is read slowly
_VARIABLES = 512  # of more, half a product is quicker, as NumPy computes it
