# SPDX-License-Identifier: Apache-2.0
"""What braze does not compute: NumPy does, on read-only zero-copy data.

Arguments become NumPy arrays, results become braze arrays where braze has the
type, and every such call is counted by name.
"""

import collections
import functools
import operator
import re
import warnings

import numpy

from braze import _core, errors
from braze.numpy import _names, _operators, _sharing, _writes

ndarray = _core.ndarray
counts = collections.Counter()
wrappers = []  # types of other libraries whose objects hold arrays of ours: they are asked first


def native_dtype(dtype):
    """Does braze compute with this numpy.dtype?"""
    return dtype.isnative and dtype.char in "?bhilqBHILQefdFD" and dtype.fields is None


def _shown(a):
    return _core.value(a) if a._is_scalar else numpy.asarray(a)


def to_numpy(x, lists=None):
    """x with every braze array in it as NumPy's; other objects as they are.  Lists that
    had to be copied for it are noted in `lists`."""
    if type(x) is ndarray or type(x) is _core.selection:
        return _shown(_core.settle(x))
    return _writes.walk(x, _shown, [] if lists is None else lists)


_DATA = frozenset(
    (int, float, complex, bool, type(None), list, tuple, numpy.ndarray, numpy.memmap)
)


def is_foreign(x):
    """Is x for NumPy, or for itself, to interpret: a subclass of numpy.ndarray, a data
    frame, an array of another library, an iterator?"""
    kind = type(x)
    if kind is _core.selection:
        _core.settle(x)
        return False
    return kind is not ndarray and kind not in _DATA and not issubclass(kind, numpy.generic)


def is_output(out, *args):
    """May a native call of these arguments write this out=?  If not, NumPy interprets it."""
    if out is not None and type(out) is not ndarray and type(out) is not numpy.ndarray:
        return False
    for x in args:
        kind = type(x)
        if kind is not ndarray and kind not in _DATA and not issubclass(kind, numpy.generic):
            return False
    return True


def _unwrapped(x):
    """What an object gives as its array, where that is a braze array: NumPy refuses it."""
    kind = type(x)
    if kind is list or kind is tuple:
        return kind(_unwrapped(y) for y in x)
    if kind is dict:
        return {k: _unwrapped(v) for k, v in x.items()}
    if not is_foreign(x) or isinstance(x, (type, numpy.ndarray)) or not hasattr(x, "__array__"):
        return x
    made = x.__array__()
    return made if type(made) is ndarray else x


def run(function, args, kwargs):
    """function(*args, **kwargs), which NumPy's arrays are given to."""
    try:
        return function(*args, **kwargs)
    except ValueError as error:
        if "__array__ method not producing an array" not in str(error):
            raise
    return function(*to_numpy(_unwrapped(args)), **to_numpy(_unwrapped(kwargs)))


def array(x, dtype=None):
    """numpy.array(x, dtype), for the extension."""
    return run(numpy.array, (x, dtype), {})


def is_wrapped(*args):
    """Is one of them, or an item of one, of a type that holds arrays of ours?"""
    if not wrappers:
        return False
    held = tuple(wrappers)
    return any(isinstance(x, held) or type(x) in (list, tuple) and is_wrapped(*x) for x in args)


def numpys(function, args, kwargs):
    """What NumPy's function returns, given NumPy's arrays for ours."""
    if is_wrapped(*args, *kwargs.values()):
        # By its protocol, which gets ours as they are, and may know no out=.
        given = {k: v for k, v in kwargs.items() if k != "out" or v is not None}
        return run(function, args, given)
    lists = []
    try:
        return run(function, to_numpy(args, lists), to_numpy(kwargs, lists))
    finally:
        if lists:
            _writes.put_back(lists, {})


def _other(x):
    """NumPy's array of a type that is not its own: bfloat16 is braze's too."""
    if x.dtype.kind != "V" or x.dtype.type.__name__ != "bfloat16":
        return x
    from braze.numpy import _bfloat16

    made = _bfloat16.taken(x) if _bfloat16.is_type(x.dtype) else None
    return x if made is None else made


def from_numpy(x):
    """A NumPy result as braze's: arrays and scalars of braze's types, in containers too."""
    kind = type(x)
    if kind is numpy.ndarray:
        made = _core.from_any(x)  # None: of a type or with more axes than braze has
        return _other(x) if made is None else made
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
        if x.base is None and x.flags.writeable:
            return from_numpy(x)
        return _lent(x)
    if kind is tuple or kind is list:
        return kind(result(y) for y in x)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return kind(*(result(y) for y in x))
    return from_numpy(x)


def _lent(x):
    """As result, of an array that does not own its memory or may not be written."""
    shared = None if x.base is None else _sharing.of(x)
    if shared is not None:
        return shared
    made = from_numpy(x)
    if type(made) is ndarray and x.size and (not x.flags.writeable or _sharing.is_foreign(x)):
        _core.set_writing(made, 1)
    return made


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
    return any(w in text for w in ("read-only", "not writeable", "writable", "WRITEABLE"))


def has_out(kwargs):
    """Does the call name a braze array as its output?"""
    out = kwargs.get("out")
    if isinstance(out, tuple):
        return any(type(o) is ndarray for o in out)
    return type(out) is ndarray


# Their fourth argument is an output, which NumPy writes although it is read-only.
_ACCUMULATES = re.compile(r"(ndarray\.|nan)?cum(sum|prod)|.*\.accumulate")


_ATOMS = frozenset((int, float, complex, bool, str, type(None)))  # hold no array


def call(name, function, args, kwargs):
    """function(*args, **kwargs) by NumPy."""
    counts[name] += 1
    if not kwargs and _ATOMS.issuperset(map(type, args)):
        return result(function(*args))
    if not kwargs and not wrappers and len(args) < 4:
        made = _core.lent_call(function, args)
        if made is not NotImplemented:
            return made
    if len(args) > 3 and type(args[3]) is ndarray and _ACCUMULATES.fullmatch(name):
        args, kwargs = args[:3], {**kwargs, "out": args[3]}
    if has_out(kwargs):  # NumPy cannot write an export
        return _writes.call(function, args, kwargs, written=kwargs["out"])
    try:
        made = numpys(function, args, kwargs)
    except ValueError as error:
        if not _read_only(error):
            raise
        return _writes.call(function, args, kwargs)
    # What was written into an array of NumPy's is that array.
    return result(made) if kwargs.get("out") is None else made


def leave(function, *args, **kwargs):
    """function(*args, **kwargs) by NumPy, counted by its name."""
    return call(function.__name__, function, args, kwargs)


def wrapper(name, function):
    """A function that leaves the call to NumPy's."""

    def fallback(*args, **kwargs):
        return call(name, function, args, kwargs)

    shown = _core.native(fallback, name, _names.binds(function))
    if shown is None:
        functools.update_wrapper(fallback, function, updated=())
        fallback.numpy = function
        return fallback if _names.binds(function) else _names.builtin(fallback)
    functools.update_wrapper(shown, function, updated=())
    # What nobody sees needs no name; its arguments are looked for.
    fallback.__wrapped__ = function
    shown.__wrapped__, shown.numpy = fallback, function
    return shown


def ufunc(name, *args):
    """Called by the extension for operands it has no loop for."""
    if name in ("float", "int"):
        return {"float": float, "int": int}[name](to_numpy(args[0]))
    if name[0] in "$?":
        return _operators.tell(name, *args)
    if name in _operators.REFLECTED:
        name, method = _operators.REFLECTED[name]
        answer = _operators.ask(method, *args)
        if answer is not NotImplemented:
            return answer
    in_place = _operators.IN_PLACE.get(name)
    name, function = in_place or _operators.BINARY.get(name) or (name, getattr(numpy, name, None))
    if not in_place and is_wrapped(*args):
        return run(getattr(numpy, name), args, {})
    if any(type(x) is ndarray and not x._is_scalar for x in args) or not all(
        type(x) in (ndarray, int, float, complex, bool) for x in args
    ):
        counts[name] += 1
    if in_place:
        return _writes.call(function, args, {}, written=args[0])
    # Scalars alone are computed by NumPy's scalar arithmetic: not a fallback.
    return from_numpy(numpys(function, args, {}))


def getitem(array, key):
    """array[key] for a key with arrays in it: NumPy gathers."""
    counts["getitem"] += 1
    return result(numpys(operator.getitem, (numpy.asarray(array), key), {}))


def setitem(array, key, value):
    """array[key] = value for a key with arrays in it."""
    from braze.numpy import _choose

    if _choose.is_mask(array, key) and (
        isinstance(value, (bool, int, float, complex, numpy.generic))
        or (type(value) is ndarray and value.ndim == 0)
    ):
        # A scalar under a mask is a predicated update: no compaction.
        mask = key if type(key) is ndarray else _core.from_any(numpy.asarray(key))
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
        run(operator.setitem, (numpy.asarray(memory), key, value), {})
    finally:
        _core.host_close(memory)


def method(array, name):
    """Attributes that braze's type lacks: NumPy's methods, bound to the data."""
    if not hasattr(numpy.ndarray, name):
        kind = array.dtype.type if array._is_scalar else numpy.ndarray
        raise AttributeError(f"'numpy.{kind.__name__}' object has no attribute {name!r}")
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
            # Values that lie in the array itself are read before it is opened.
            args, kwargs = to_numpy(args), to_numpy(kwargs)
            memory = _core.host_open(array)
            try:
                return from_numpy(run(found, (numpy.asarray(memory), *args), kwargs))
            finally:
                _core.host_close(memory)

    bound.__name__ = name
    return bound


_MUTATING = ("sort", "partition", "put", "setfield")


def warn_complex():
    warnings.warn(
        "Casting complex values to real discards the imaginary part",
        numpy.exceptions.ComplexWarning,
        stacklevel=3,
    )


_WHERE = _core.op_find("where")[0]
