# SPDX-License-Identifier: Apache-2.0
"""What NumPy gives back of an argument's own memory, as a view of that argument.

NumPy works on exports of braze arrays.  A result that lies in an export's memory is
made a view of its array, so that a write through either is seen in both.  Where
braze has no such view (types that it lacks, more than eight axes, elements between
the multiples of their size) the result stays NumPy's, and read-only.
"""

import numpy

from braze import _core

ndarray = _core.ndarray
_ORIGIN = 1 << 44  # where probes lie: an address that nobody follows

class _Memory:
    """Something with an array interface at an address of its own."""

    def __init__(self, interface):
        self.__array_interface__ = interface


def probe(a):
    """A NumPy array with a's shape, strides and place in its buffer, and no data:
    only its layout may be looked at."""
    return numpy.asarray(_Memory({
        "version": 3,
        "typestr": a.dtype.str,
        "shape": a.shape,
        "strides": a.strides,
        "data": (_ORIGIN + _core.offset(a), _core.writing(a) == 1),
    }))


def window(a, owner, shown):
    """a's elements in the memory of a NumPy array, which shows an array of its buffer."""
    first = address(shown) - _core.offset(owner) + _core.offset(a)
    made = _Memory({
        "version": 3, "typestr": a.dtype.str, "shape": a.shape, "strides": a.strides,
        "data": (first, _core.writing(a) == 1),
    })
    made.keep = shown
    return numpy.asarray(made)


def address(array):
    """Of a NumPy array's first element."""
    return array.__array_interface__["data"][0]


def view(a, like, delta):
    """The view of a that a NumPy array shows: like, delta bytes from a's first
    element; None where braze has no such view."""
    from braze.numpy import _fallback

    if not _fallback.native_dtype(like.dtype) or like.ndim > 8:
        return None
    try:
        return _core.view(a, like.dtype, like.shape, like.strides, delta)
    except (IndexError, TypeError):
        return None


def probed(a, like):
    """The view of a that was made of its probe."""
    return view(a, like, address(like) - _ORIGIN - _core.offset(a))


def _export(result):
    """The export that a NumPy array lies in, and the memory that it shows."""
    while True:
        base = getattr(result, "base", None)
        if base is None or isinstance(base, memoryview):
            return result, base
        result = base


def is_foreign(result):
    """Does a NumPy array lie in memory that is not NumPy's own: a bytearray's, another
    library's?  A copy of it may be read only, since a write would be seen in it alone."""
    base = _export(result)[0].base
    return base is not None and not isinstance(base, numpy.ndarray)


def of(result):
    """The braze array, or its view, that a NumPy array is; None: it has memory of its own.

    An export of a value that its array has no more stays what it is."""
    theirs, memory = _export(result)
    mine = memory.obj if memory is not None else None
    if type(mine) is not ndarray or not result.size:
        return None
    if type(theirs) is not numpy.ndarray or _core.address(mine) != address(theirs):
        return None
    if result is theirs:
        return mine
    made = view(mine, result, address(result) - address(theirs))
    return result if made is None else made


def shares_memory(a, b, max_work=None):
    """Have the two a byte in common?"""
    return _share(numpy.shares_memory, a, b, max_work)


def may_share_memory(a, b, max_work=None):
    """Do the ranges of the two meet?"""
    return _share(numpy.may_share_memory, a, b, max_work)


def _share(ask, a, b, max_work):
    if type(a) is ndarray and type(b) is ndarray:
        same = _core.same_buffer(a, b)
        return same and bool(ask(probe(a), probe(b), max_work))
    from braze.numpy import _fallback

    return ask(_fallback.to_numpy(a), _fallback.to_numpy(b), max_work)
