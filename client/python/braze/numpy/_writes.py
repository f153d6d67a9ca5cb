# SPDX-License-Identifier: Apache-2.0
"""Functions of NumPy's that write what they are given: copies, which go back.

NumPy cannot write an export of ours.  It gets copies, which share memory where the
arrays do, and of those what it has changed is assigned.  Python's lists it writes
itself; only one that holds arrays of ours was copied, and is put right afterwards.
"""

import ctypes
import operator

import numpy
from numpy.lib.array_utils import byte_bounds

from braze import _core

ndarray = _core.ndarray
_LINE = 64  # copies are aligned as what they are copies of, to this many bytes


def walk(x, leaf, lists):
    """x with leaf(a) for each braze array a in it.  What holds none stays what it is;
    a list that does is noted with its copy."""
    kind = type(x)
    if kind is ndarray:
        return leaf(x)
    if kind is list or kind is tuple:
        if not _core.holds(x):
            return x
        made = [walk(y, leaf, lists) for y in x]
        if all(map(operator.is_, made, x)):
            return x
        if kind is tuple:
            return tuple(made)
        lists.append((x, made, list(made)))
        return made
    if kind is dict and x:
        return {k: walk(v, leaf, lists) for k, v in x.items()}
    return x


def _arrays(x, found):
    kind = type(x)
    if kind is ndarray and not x._is_scalar and _core.writing(x) != 1:
        found[id(x)] = x
    elif kind is list or kind is tuple:
        for y in x:
            _arrays(y, found)
    elif kind is dict:
        _arrays(list(x.values()), found)
    return found


def _overlapping(shown):
    """Numbers of arrays, in groups whose memory ranges meet, with the range."""
    groups = []
    for k in sorted(range(len(shown)), key=lambda k: byte_bounds(shown[k])):
        low, high = byte_bounds(shown[k])
        if groups and low < groups[-1][2] and shown[k].size:
            members, start, end = groups[-1]
            groups[-1] = ([*members, k], start, max(end, high))
        else:
            groups.append(([k], low, high))
    return groups


def _copies(shown):
    """Writable copies, which share memory where the arrays do."""
    copies = [None] * len(shown)
    for members, low, high in _overlapping(shown):
        if len(members) == 1:
            copies[members[0]] = numpy.array(shown[members[0]])
            continue
        memory = numpy.empty(high - low + _LINE, numpy.uint8)
        start = (low - memory.ctypes.data) % _LINE
        ctypes.memmove(memory.ctypes.data + start, low, high - low)
        for k in members:
            a = shown[k]
            offset = start + a.__array_interface__["data"][0] - low
            copies[k] = numpy.ndarray(a.shape, a.dtype, memory, offset, a.strides)
    return copies


def _bits(a):
    """Numbers that tell every value of a's type from every other."""
    return a.view(f"u{a.itemsize}")


def _changed(a, b):
    if a.dtype.kind == "c":
        return _changed(a.real, b.real) or _changed(a.imag, b.imag)
    return bool((_bits(a) != _bits(b)).any())


def put_back(lists, given):
    """Lists that NumPy has changed a copy of; given: the objects that were converted."""
    from braze.numpy import _fallback

    for original, made, before in reversed(lists):
        if len(made) == len(before) and all(map(operator.is_, made, before)):
            continue
        for y, x in zip(before, original, strict=True):
            given[id(y)] = x
        original[:] = [
            given[id(y)] if id(y) in given else _fallback.from_numpy(y) for y in made
        ]


def _given(result, back):
    """A result, with our arrays in the place of their copies."""
    from braze.numpy import _fallback

    if type(result) is tuple:
        return tuple(_given(r, back) for r in result)
    mine = back.get(id(result))
    return _fallback.result(result) if mine is None else mine


def call(function, args, kwargs, written=None):
    """function(*args, **kwargs), which may write the arrays in `written`, or any."""
    from braze.numpy import _fallback

    mine = list(_arrays((args, kwargs) if written is None else written, {}).values())
    shown = [numpy.asarray(a) for a in mine]
    copies = _copies(shown)
    copy_of = {id(a): c for a, c in zip(mine, copies, strict=True)}
    back = {id(c): a for a, c in zip(mine, copies, strict=True)}
    lists = []

    def leaf(a):
        copy = copy_of.get(id(a))
        return _fallback.to_numpy(a) if copy is None else copy

    args, kwargs = walk(args, leaf, lists), walk(kwargs, leaf, lists)
    try:
        result = _fallback.run(function, args, kwargs)
    finally:  # a call that fails has written what it has written
        for a, copy, was in zip(mine, copies, shown, strict=True):
            if _changed(copy, was):
                a[...] = copy
        put_back(lists, dict(back))
    return _given(result, back)
