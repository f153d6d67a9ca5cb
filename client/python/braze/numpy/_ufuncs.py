# SPDX-License-Identifier: Apache-2.0
"""Universal functions: NumPy's names and call signature over braze's op table.

A ufunc whose name is in the op table records an operation; the others, and the
keywords braze has no loops for, are left to NumPy.
"""

import numpy

from braze import _core, errors
from braze.numpy import _fallback, _operators

ndarray = _core.ndarray
_apply = _core.apply
_MISSING = numpy._NoValue
by_numpy = {}  # NumPy's own ufuncs -> ufunc


def store(out, result, broadcast=False):
    """Write a result into out= with NumPy's shape and casting rules; returns out.
    Functions of elements broadcast their operands to out, the others do not."""
    if type(out) is not ndarray:
        if not isinstance(out, numpy.ndarray):
            raise TypeError("return arrays must be of ArrayType")
    elif out._is_scalar:
        raise TypeError("return arrays must be of ArrayType")
    elif type(result) is not ndarray:
        result = _fallback.cast(result, out.dtype)
    if result.shape != out.shape and not (broadcast and _spreads(result.shape, out.shape)):
        check_cast(result.dtype, out.dtype)
        raise ValueError(
            f"non-broadcastable output operand with shape {out.shape} "
            f"doesn't match the broadcast shape {result.shape}"
        )
    if type(out) is ndarray:
        _core.assign(out, result, True)
    else:
        numpy.copyto(out, _fallback.to_numpy(result), casting="same_kind")
    return out


def check_cast(of, to):
    """NumPy's error of a wrong type, which comes before that of a wrong shape."""
    if not numpy.can_cast(of, to, "same_kind"):
        raise errors.UFuncTypeError(
            f"Cannot cast ufunc output from {of!r} to {to!r} with casting rule 'same_kind'"
        )


_TAKEN = ("out", "dtype", "subok")  # arguments that a native call understands
_DEFAULTS = {"casting": "same_kind", "order": "K"}


def is_default(key, value):
    """Does a native call do what this argument asks for?"""
    if key in _TAKEN:
        return True
    return value is True if key == "where" else isinstance(value, str) and (
        _DEFAULTS.get(key) == value
    )


def _spreads(shape, to):
    """Does a shape broadcast to another?"""
    return len(shape) <= len(to) and all(
        n in (1, m) for n, m in zip(reversed(shape), reversed(to), strict=False)
    )


def is_numpys(function):
    """Is it the ufunc of that name in NumPy's namespace?"""
    return getattr(numpy, function.__name__, None) is function


ufunc = _core.ufunc


def new(function, general, op):
    """A ufunc that stands for a function of NumPy's; what C does not answer is left to
    general(ufunc, args, kwargs)."""
    made = _core.new_ufunc(function, general, function.nin, -1 if op is None else op)
    made.__name__ = made.__qualname__ = function.__name__
    made.__doc__ = function.__doc__
    for fact in ("nin", "nout", "nargs", "identity", "signature", "ntypes", "types"):
        setattr(made, fact, getattr(function, fact))
    made._op = op
    if is_numpys(function):
        _lend_methods(made)
    return made


def _lend_methods(made):
    """Methods with a path in C: of the ufuncs that programs use."""
    for name in ("reduce", "accumulate", "reduceat", "at"):
        inner = getattr(made, name)
        shown = _core.native(inner, f"{made.__name__}.{name}", False)
        if shown is not None:
            shown.__wrapped__, shown.__name__, shown.__doc__ = inner, name, inner.__doc__
            setattr(made, name, shown)


def _general(self, args, kwargs):
    kwargs = dict(kwargs)
    outs = args[self.nin :]
    if outs:  # positional
        if "out" in kwargs or len(outs) > self.nout:
            return self.numpy(*_fallback.to_numpy(args), **_fallback.to_numpy(kwargs))
        kwargs["out"] = outs + (None,) * (self.nout - len(outs))
        args = args[: self.nin]
    out = kwargs.get("out")
    if type(out) is tuple and len(out) == 1:
        out = out[0]
    plain = len(args) == self.nin and all(map(is_default, kwargs, kwargs.values()))
    result = None
    if self._op is not None and plain and _fallback.is_output(out, *args):
        result = _natively(self, args, kwargs.get("dtype"), out)
    if result is not None:
        return result if out is None else _stored(self, args, out, result)
    return left(self, args, kwargs)


def _stored(self, args, out, result):
    try:
        return store(out, result, broadcast=True)
    except errors.UFuncTypeError:
        _operators.check_types(self.numpy, *args, out)
        raise


def left(self, args, kwargs):
    """A call that is NumPy's."""
    out = kwargs.get("out")
    if type(out) is tuple and len(out) == 1:
        out = out[0]
    if isinstance(out, numpy.ndarray) or not _any_braze(args, kwargs):
        return _by_numpy(self, args, kwargs)
    return _fallback.call(self.__name__, self.numpy, args, kwargs)


def _natively(self, args, dtype, out):
    """The result; None when there is no such loop."""
    try:
        return _in_type(self, args, dtype)
    except ValueError:
        if out is not None:
            _operators.check_types(self.numpy, *args, out)
        raise


def _in_type(self, args, dtype):
    """The result, computed in the type; None when there is no such loop."""
    if dtype is None:
        return _apply(self._op, *args)
    dtype = numpy.dtype(dtype)
    cast = cast_operands(args, dtype)
    result = None if cast is None else _apply(self._op, *cast)
    return result if result is not None and result.dtype == dtype else None


def _by_numpy(self, args, kwargs):
    """Into a NumPy array, or without any braze array: NumPy's call as it is."""
    _fallback.counts[self.__name__] += 1
    made = _fallback.numpys(self.numpy, args, kwargs)
    return _fallback.from_numpy(made) if kwargs.get("out") is None else made


class _Methods:
    """What a ufunc has besides its call."""

    def __repr__(self):
        return f"<ufunc '{self.__name__}'>"

    def __reduce__(self):
        return make, (self.numpy,)

    def __delattr__(self, name):
        object.__delattr__(self, name)
        if name == "__doc__":  # a text that was set gives way to NumPy's
            self.__doc__ = self.numpy.__doc__

    def reduce(
        self, array, axis=0, dtype=None, out=None, keepdims=False, initial=_MISSING, where=True
    ):
        """Reduce along axes, natively where the op table has the reduction."""
        from braze.numpy import _creation, _reductions

        kwargs = {} if initial is _MISSING else {"initial": initial}
        if where is not True:
            kwargs["where"] = where
        name = _REDUCTIONS.get(self.__name__)
        array = _creation.asarray(array)
        if type(out) is tuple and len(out) == 1:
            out = out[0]
        if name is not None and not kwargs and _reduces(name, array, dtype, out):
            return _reductions.reduce(name, array, axis, dtype, out, keepdims)
        if dtype is not None:
            kwargs["dtype"] = dtype
        if out is not None:
            kwargs["out"] = out
        return _fallback.call(
            self.__name__ + ".reduce",
            self.numpy.reduce,
            (array,),
            {"axis": axis, "keepdims": keepdims, **kwargs},
        )

    def outer(self, a, b, **kwargs):
        """Apply to every pair of elements."""
        from braze.numpy import _creation

        a, b = _creation.asarray(a), _creation.asarray(b)
        native = type(a) is ndarray and type(b) is ndarray and not self.signature
        if not native or self.nin != 2:
            return _fallback.call(self.__name__ + ".outer", self.numpy.outer, (a, b), kwargs)
        return self(a.reshape(a.shape + (1,) * b.ndim), b, **kwargs)

    def at(self, array, *args):
        """Unbuffered in-place operation at indices."""
        _fallback.counts[self.__name__ + ".at"] += 1
        if type(array) is not ndarray:
            self.numpy.at(array, *_fallback.to_numpy(args))
            return
        args = _fallback.to_numpy(args)
        memory = _core.host_open(array)
        try:
            self.numpy.at(numpy.asarray(memory), *args)
        finally:
            _core.host_close(memory)

    def accumulate(self, array, *args, **kwargs):
        """Accumulate along an axis."""
        name = self.__name__ + ".accumulate"
        return _fallback.call(name, self.numpy.accumulate, (array, *args), kwargs)

    def reduceat(self, array, *args, **kwargs):
        """Reduce over slices."""
        name = self.__name__ + ".reduceat"
        return _fallback.call(name, self.numpy.reduceat, (array, *args), kwargs)

    def resolve_dtypes(self, *args, **kwargs):
        """The types that a call with operands of some types has."""
        return self.numpy.resolve_dtypes(*args, **kwargs)


for _name, _value in vars(_Methods).items():
    if callable(_value):
        setattr(ufunc, _name, _value)

_REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "minimum": "min",
    "maximum": "max",
    "logical_and": "all",
    "logical_or": "any",
}


def _reduces(name, array, dtype, out):
    """Is it braze's reduction?  Where the type of the loop is asked for, only sums and
    products are, and those of NumPy's types are not."""
    if type(array) is not ndarray:
        return False
    if out is not None and getattr(out, "dtype", None) != array.dtype:
        return False
    if dtype is None or name in ("sum", "prod"):
        return True
    return numpy.dtype(dtype) == (array.dtype if name in ("min", "max") else bool)


def _power(self, args, kwargs):
    """Integers to signed integer powers: only the values tell the error."""
    if len(args) >= 2 and _integer(args[0]) and _integer(args[1], signed=True):
        if _any_braze(args, kwargs):
            return _fallback.call("power", self.numpy, args, kwargs)
        return _by_numpy(self, args, kwargs)
    if len(args) == 2 and not kwargs:
        return _apply(self._op, *args)
    return _general(self, args, kwargs)


def _integer(x, signed=False):
    if isinstance(x, int):
        return not isinstance(x, bool) or not signed
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        dtype = numpy.asarray(x).dtype if isinstance(x, (list, tuple)) else None
    return dtype is not None and dtype.kind in ("i" if signed else "iub")


def _any_braze(args, kwargs):
    return any(type(x) is ndarray for x in args) or _fallback.has_out(kwargs)


def cast_operands(args, dtype):
    if not _fallback.native_dtype(dtype):
        return None
    cast = []
    for x in args:
        if isinstance(x, (bool, int, float, complex)) and not isinstance(x, numpy.generic):
            if numpy.result_type(dtype, x) != dtype:
                return None
            cast.append(x)
            continue
        x = _core.from_any(x)
        if x is None or not numpy.can_cast(x.dtype, dtype, "same_kind"):
            return None
        cast.append(x if x.dtype == dtype else _core.cast(x, dtype))
    if not any(type(x) is ndarray for x in cast):
        return None
    return cast


def make(function):
    """The ufunc that stands for one of NumPy's; another library's is not kept."""
    found = by_numpy.get(function)
    if found is None:
        # Another library's ufunc may have the name of an operation and mean another.
        known = is_numpys(function)
        op = _core.op_find(function.__name__) if known else None
        op = op[0] if op and op[2] == "e" else None
        found = new(function, _power if function is numpy.power else _general, op)
        if known:
            by_numpy[function] = found
    return found


def array_ufunc(self, function, method, *inputs, **kwargs):
    """__array_ufunc__: NumPy's ufuncs given a braze array end here."""
    if type(function) is ufunc:  # ours, given by hand
        function = function.numpy
    if not isinstance(function, numpy.ufunc):
        raise TypeError(f"a ufunc is expected, not {function!r}")
    out = kwargs.get("out")
    if _fallback.is_wrapped(*inputs, *(out or ())):
        return NotImplemented
    if out is not None and any(isinstance(o, numpy.ndarray) for o in out):
        # ndarray += braze: the caller wants NumPy's array written.
        _fallback.counts[function.__name__] += 1
        called = getattr(function, method)
        return called(*_fallback.to_numpy(inputs), **_fallback.to_numpy(kwargs))
    if out is not None and len(out) == 1:
        kwargs["out"] = out[0]
    mine = make(function)
    return mine(*inputs, **kwargs) if method == "__call__" else getattr(mine, method)(
        *inputs, **kwargs
    )
