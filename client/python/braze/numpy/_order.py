# SPDX-License-Identifier: Apache-2.0
"""Orders: how the axes of a new array lie in memory.

A layout is an order of axes, the outermost first; None is C order.  An array of
another layout is a C-contiguous one whose axes are permuted.
"""

import numpy

from braze import _core
from braze.numpy import _flags

ndarray = _core.ndarray
_KNOWN = {**{k: k for k in "CFAK"}, **{k.lower(): k for k in "CFAK"}}


def parse(order, default="C"):
    """One of C, F, A, K; NumPy's error for anything else."""
    if order is None:
        return default
    found = _KNOWN.get(order) if isinstance(order, str) else None
    if found is None:
        numpy.empty(0).copy(order)  # raises
        found = order.decode().upper() if isinstance(order, bytes) else default
    return found


def parse_new(order):
    """An order in which an array is made: C or F."""
    found = parse(order)
    if found not in "CF":
        raise ValueError("only 'C' or 'F' order is permitted")
    return found


def is_fortran(a):
    """Is the array in Fortran order and not in C order, too?"""
    return a.ndim > 1 and _flags.is_f(a) and not _flags.is_c(a)


def by_strides(strides):
    """The layout of strides."""
    axes = tuple(sorted(range(len(strides)), key=lambda k: -abs(strides[k])))
    return None if axes == tuple(range(len(axes))) else axes


def by_iteration(a):
    """The layout in which NumPy's iterator goes over a: stretched axes stay in place."""
    axes = []
    for axis in reversed(range(a.ndim)):
        step, to = abs(a.strides[axis]) if a.shape[axis] > 1 else 0, 0
        for k, other in enumerate(axes):
            inner = abs(a.strides[other]) if a.shape[other] > 1 else 0
            if step and inner:
                if inner <= step:
                    break
                to = k + 1
        axes.insert(to, axis)
    return None if axes == list(range(a.ndim)) else tuple(axes)


def layout(a, order):
    """The layout that an order, parsed, means for what is made of a."""
    ndim = len(a.shape)
    if order == "C" or ndim < 2:
        return None
    if order == "F":
        return tuple(range(ndim))[::-1]
    if _flags.is_c(a):
        return None
    if _flags.is_f(a):
        return tuple(range(ndim))[::-1]
    return None if order == "A" else by_strides(a.strides)


def arranged(axes, shape, make):
    """The array of a shape and layout; make gives a new one of a shape, C-contiguous."""
    if axes is None:
        return make(shape)
    made = make([shape[k] for k in axes])
    return _core.own(_core.transpose(made, inverse(axes)))


def inverse(axes):
    """The permutation that undoes another."""
    back = [0] * len(axes)
    for k, axis in enumerate(axes):
        back[axis] = k
    return back


def transposed_owner(a):
    """The transpose of an array that nobody else has, as the owner of its buffer."""
    return _core.own(_core.transpose(a, tuple(range(a.ndim))[::-1]))


def copied(a, order):
    """A copy of a braze array in an order, parsed."""
    if order == "C" or order == "K" and _core.orders(a) & 1:
        return _core.copy(a)
    axes = layout(a, order)
    if axes is None:
        return _core.copy(a)
    made = _core.copy(_core.transpose(a, axes))
    return _core.own(_core.transpose(made, inverse(axes)))


def has(a, order):
    """Does the array lie in an order, parsed?"""
    return order in "AK" or (_flags.is_c(a) if order == "C" else _flags.is_f(a))


def in_c(a):
    """An array of ours in C order: itself where it lies so, else a copy."""
    return a if _flags.is_c(a) else _core.copy(a)
