# SPDX-License-Identifier: Apache-2.0
"""What braze does not compute: NumPy does, on read-only zero-copy data.

Arguments become NumPy arrays, results become braze arrays where braze has the
type, and every such call is counted by name.
"""

import collections
import functools
import operator
import warnings

import numpy

from braze import _core, errors
from braze.numpy import _sharing

ndarray = _core.ndarray
counts = collections.Counter()


def native_dtype(dtype):
    """Does braze compute with this numpy.dtype?"""
    return dtype.isnative and dtype.char in "?bhilqBHILQefdFD" and dtype.fields is None


def to_numpy(x):
    """x with every braze array in it as NumPy's; other objects as they are."""
    if type(x) is ndarray:
        return _core.value(x) if x._is_scalar else numpy.asarray(x)
    kind = type(x)
    if kind is tuple or kind is list:
        return kind(to_numpy(y) for y in x)
    if kind is dict:
        return {k: to_numpy(v) for k, v in x.items()}
    return x


def _copied(x):
    if type(x) is ndarray:
        return numpy.array(x)
    kind = type(x)
    if kind is tuple or kind is list:
        return kind(_copied(y) for y in x)
    if kind is dict:
        return {k: _copied(v) for k, v in x.items()}
    return x


def from_numpy(x):
    """A NumPy result as braze's: arrays and scalars of braze's types, in containers too."""
    kind = type(x)
    if kind is numpy.ndarray:
        if native_dtype(x.dtype) and x.ndim <= 8:
            made = _core.from_any(x)
            return x if made is None else made
        return x
    if isinstance(x, numpy.generic):
        return _core.scalar(x) if native_dtype(x.dtype) else x
    if kind is tuple or kind is list:
        return kind(from_numpy(y) for y in x)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return kind(*(from_numpy(y) for y in x))
    return x


def result(x):
    """As from_numpy, of what NumPy made of our arrays: what lies in one of them is a
    view of it, and what may not be written stays so."""
    kind = type(x)
    if kind is numpy.ndarray:
        shared = None if x.base is None else _sharing.of(x)
        if shared is not None:
            return shared
        made = from_numpy(x)
        if type(made) is ndarray and x.size and (
            not x.flags.writeable or _sharing.is_foreign(x)
        ):
            _core.set_writing(made, 1)
        return made
    if kind is tuple or kind is list:
        return kind(result(y) for y in x)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return kind(*(result(y) for y in x))
    return from_numpy(x)


def cast(value, dtype):
    """A result of a type that braze lacks as NumPy's ufuncs cast it to an output's."""
    if not isinstance(value, (numpy.ndarray, numpy.generic)):
        value = numpy.asarray(value, object)  # what a Python object's own method gave
    if not numpy.can_cast(value.dtype, dtype, "same_kind"):
        raise errors.UFuncTypeError(
            f"cannot cast {value.dtype} to {dtype} with casting rule 'same_kind'"
        )
    return numpy.asarray(value).astype(dtype)


def _read_only(error):
    text = str(error)
    return "read-only" in text or "not writeable" in text or "WRITEABLE" in text


def has_out(kwargs):
    """Does the call name a braze array as its output?"""
    out = kwargs.get("out")
    if isinstance(out, tuple):
        return any(type(o) is ndarray for o in out)
    return type(out) is ndarray


def _store(out, made):
    if type(out) is tuple:
        results = made if isinstance(made, tuple) else (made,)
        for o, r in zip(out, results, strict=True):
            if o is not None:
                _store(o, r)
        return made if len(out) > 1 else out[0]
    if type(out) is not ndarray:
        return out
    if made.shape != out.shape:
        raise ValueError(
            f"non-broadcastable output operand with shape {out.shape} "
            f"doesn't match the broadcast shape {made.shape}"
        )
    _core.assign(out, made, True)
    return out


def call(name, function, args, kwargs):
    """function(*args, **kwargs) by NumPy."""
    counts[name] += 1
    if has_out(kwargs):
        # NumPy cannot write an export: it writes copies, which are assigned back.
        kwargs = dict(kwargs)
        out = kwargs["out"]
        buffers = tuple(_copied(o) for o in out) if isinstance(out, tuple) else _copied(out)
        kwargs["out"] = buffers
        function(*to_numpy(args), **to_numpy(kwargs))
        return _store(out, buffers)
    try:
        return result(function(*to_numpy(args), **to_numpy(kwargs)))
    except ValueError as error:
        if not _read_only(error):
            raise
    # The function writes its argument: let it, on a copy, and write that back.
    spare = _copied(args)
    made = function(*spare, **to_numpy(kwargs))
    for mine, theirs in zip(args, spare, strict=True):
        if type(mine) is ndarray:
            mine[...] = theirs
            if made is theirs:
                made = mine
    return from_numpy(made)


def wrapper(name, function):
    """A function that leaves the call to NumPy's."""

    @functools.wraps(function, updated=())
    def fallback(*args, **kwargs):
        return call(name, function, args, kwargs)

    fallback.numpy = function
    return fallback


def ufunc(name, *args):
    """Called by the extension for operands it has no loop for."""
    if name in ("float", "int"):
        return {"float": float, "int": int}[name](to_numpy(args[0]))
    name, function = _OPERATORS.get(name) or (name, getattr(numpy, name))
    if any(type(x) is ndarray and not x._is_scalar for x in args) or not all(
        type(x) in (ndarray, int, float, complex, bool) for x in args
    ):
        counts[name] += 1
    # Scalars alone are computed by NumPy's scalar arithmetic: not a fallback.
    return from_numpy(function(*(to_numpy(x) for x in args)))


def getitem(array, key):
    """array[key] for a key with arrays in it: NumPy gathers."""
    counts["getitem"] += 1
    return result(numpy.asarray(array)[to_numpy(key)])


def _is_mask(array, key):
    return (
        isinstance(key, (ndarray, numpy.ndarray))
        and key.dtype == bool
        and 0 < key.ndim <= array.ndim
        and key.shape == array.shape[: key.ndim]
    )


def setitem(array, key, value):
    """array[key] = value for a key with arrays in it."""
    if _is_mask(array, key) and (
        isinstance(value, (bool, int, float, complex, numpy.generic))
        or (type(value) is ndarray and value.ndim == 0)
    ):
        # A scalar under a mask is a predicated update: no compaction.
        mask = _core.from_any(key) if type(key) is not ndarray else key
        if mask.ndim < array.ndim:
            mask = mask.reshape(mask.shape + (1,) * (array.ndim - mask.ndim))
        if type(value) is ndarray:
            fill = _core.cast(value, array.dtype)
        else:
            fill = _core.full((), array.dtype, numpy.array(value, array.dtype)[()])
        _core.assign(array, _core.apply(_WHERE, mask, fill, array), True)
        return
    counts["setitem"] += 1
    key, value = to_numpy(key), to_numpy(value)
    memory = _core.host_open(array)
    try:
        numpy.asarray(memory)[key] = value
    finally:
        _core.host_close(memory)


def method(array, name):
    """Attributes that braze's type lacks: NumPy's methods, bound to the data."""
    if name.startswith("_") or not hasattr(numpy.ndarray, name):
        raise AttributeError(f"'ndarray' object has no attribute {name!r}")
    found = getattr(numpy.ndarray, name)
    if not callable(found):
        counts["ndarray." + name] += 1
        return from_numpy(getattr(numpy.asarray(array), name))

    def bound(*args, **kwargs):
        own = numpy.asarray(array) if array._is_scalar else array
        return call("ndarray." + name, found, (own, *args), kwargs)

    if name in _MUTATING:

        def bound(*args, **kwargs):
            counts["ndarray." + name] += 1
            memory = _core.host_open(array)
            try:
                return from_numpy(found(numpy.asarray(memory), *to_numpy(args), **kwargs))
            finally:
                _core.host_close(memory)

    bound.__name__ = name
    return bound


# Operators that do other than the ufunc of the counted name.
_OPERATORS = {
    "==": ("equal", operator.eq),
    "!=": ("not_equal", operator.ne),
    "**": ("power", operator.pow),
}
_MUTATING = ("sort", "partition", "put", "setfield")


def warn_complex():
    warnings.warn(
        "Casting complex values to real discards the imaginary part",
        numpy.exceptions.ComplexWarning,
        stacklevel=3,
    )


_WHERE = _core.op_find("where")[0]
