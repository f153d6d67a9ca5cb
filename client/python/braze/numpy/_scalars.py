# SPDX-License-Identifier: Apache-2.0
"""What a scalar (an array of no axes that acts as a number) has and an array has not."""

import math
import sys

import numpy

from braze import _core
from braze.numpy import _fallback

ndarray = _core.ndarray


def _lazy(kind, names):
    """The class that scalars of a type say they are where NumPy's own is a Python float or
    complex: a number of that kind, but no float, since its value may not be computed yet."""
    return type(names, (kind,), {
        "__new__": lambda cls, *args: getattr(numpy, names)(*args),
        "__module__": "braze.numpy",
        "__doc__": f"The kind of number that a scalar of {names} is.",
    })


_LAZY = {"float64": _lazy(numpy.floating, "float64"),
         "complex128": _lazy(numpy.complexfloating, "complex128")}
_TYPES = ("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
          "complex64 complex128").split()  # braze's own order
_core.scalar_kinds([_LAZY.get(name) or getattr(numpy, name) for name in _TYPES])


# What Python's numbers have too: it gives objects of Python's.
_PYTHONS = frozenset(("is_integer", "as_integer_ratio", "hex", "bit_count"))


def method(array, name):
    """An attribute that braze's type lacks: of a scalar what NumPy's scalar has, else what
    NumPy's array has."""
    theirs = array.dtype.type if array._is_scalar else None
    if theirs is None or hasattr(numpy.ndarray, name) or not hasattr(theirs, name):
        return _fallback.method(array, name)
    found = getattr(theirs, name)
    if not callable(found):
        return _fallback.from_numpy(getattr(_core.value(array), name))

    def bound(*args):
        made = getattr(_core.value(array), name)(*args)
        return made if name in _PYTHONS else _fallback.from_numpy(made)

    bound.__name__, bound.__qualname__, bound.__doc__ = name, found.__qualname__, found.__doc__
    return bound


def astype(scalar, dtype):
    """A scalar in a type that braze lacks: NumPy's scalar, or a Python object."""
    return _core.value(scalar).astype(dtype)


def _rounding(function):
    def rounded(self):
        return function(float(self))  # Python's own error where that is none

    return rounded


def _trunc(self):
    if not self._is_scalar:
        raise TypeError("type braze.numpy.ndarray doesn't define __trunc__ method")
    value = _core.value(self).item()
    return math.trunc(value)


def _conform(self, protocol):
    """sqlite3 asks what to store: a number, where it would take an array's bytes."""
    sqlite3 = sys.modules.get("sqlite3")
    if sqlite3 and protocol is sqlite3.PrepareProtocol and self._is_scalar:
        return _core.value(self).item()
    return None


SPECIAL = {
    "__trunc__": _trunc,
    "__floor__": _rounding(math.floor),
    "__ceil__": _rounding(math.ceil),
    "__conform__": _conform,
}
