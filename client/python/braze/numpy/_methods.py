# SPDX-License-Identifier: Apache-2.0
"""ndarray's methods that take keywords, attached to the extension's type."""

import operator

import numpy

from braze import _arrow, _core
from braze.numpy import (
    _choose,
    _creation,
    _device,
    _fallback,
    _flags,
    _flat,
    _gather,
    _interop,
    _linear,
    _names,
    _order,
    _reductions,
    _scalars,
    _search,
    _shape,
    _space,
    _ufuncs,
    _views,
)

ndarray = _core.ndarray
_conjugate = _ufuncs.make(numpy.conjugate)


def rebuild(data):
    """Unpickle: a new array with the pickled values."""
    return _fallback.from_numpy(data)


def _repr(self):
    return repr(_fallback.to_numpy(self))


def _str(self):
    return str(_fallback.to_numpy(self))


def _complex(self):
    return complex(_fallback.to_numpy(self))


def _round(self, ndigits=None):
    if not self._is_scalar:  # as Python says it of NumPy's arrays
        raise TypeError("type numpy.ndarray doesn't define __round__ method")
    return _fallback.from_numpy(round(_core.value(self), ndigits))


def _array(self, dtype=None, copy=None):
    data = numpy.asarray(memoryview(self)) if self.ndim else numpy.array(_core.value(self))
    if dtype is not None and numpy.dtype(dtype) != data.dtype:
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return data.astype(dtype)
    return data.copy() if copy else data


def _contains(self, value):
    return bool((self == value).any())


def _reduce(self):
    return rebuild, (numpy.array(_fallback.to_numpy(self)) if not self._is_scalar
                     else _core.value(self),)


def _copy(self):
    return copy(self, "K")


def _deepcopy(self, memo):
    return copy(self, "K")


def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
    """The elements in another type."""
    given, dtype = dtype, numpy.dtype(dtype)
    if not numpy.can_cast(self.dtype, dtype, casting):
        raise TypeError(
            f"Cannot cast array data from {self.dtype!r} to {dtype!r} "
            f"according to the rule {casting!r}"
        )
    order = "K" if order == "K" else _order.parse(order, "K")
    if dtype == self.dtype:
        if not copy and (_core.orders(self) if order == "A" else _order.has(self, order)):
            return self
        return _like_self(self, _order.copied(self, order))
    if not _fallback.native_dtype(dtype):
        if dtype.kind == "V" and self.dtype.kind != "c" and order == "K":
            from braze.numpy import _bfloat16

            if _bfloat16.is_type(dtype):
                return _bfloat16.rounded(self, dtype)
        if self._is_scalar:
            return _scalars.astype(self, dtype)
        # A class of types is the array's to choose from.
        return _fallback.call("ndarray.astype", numpy.ndarray.astype,
                              (numpy.asarray(self), given, order), {})
    return _creation.array_cast(self, dtype, order)


def _like_self(self, made):
    return _core.scalar(_core.value(made)) if self._is_scalar else made


def copy(self, order="C"):
    """A copy."""
    if order == "C":
        return self if self._is_scalar else _core.copy(self)
    order = _order.parse(order)
    return self if self._is_scalar else _order.copied(self, order)


def reshape(self, *shape, order="C", copy=None):
    """The same elements in another shape."""
    if len(shape) == 1 and not isinstance(shape[0], int):
        shape = shape[0]
    if shape is None:
        return self[...]
    return _shape.reshape(self, shape, order, copy=copy)


def flatten(self, order="C"):
    """A copy with one axis."""
    made = _shape.ravel(self, order)
    return _core.copy(made) if _core.same_buffer(made, self) else made


def transpose(self, *axes):
    """A view with permuted axes."""
    if len(axes) == 1 and not isinstance(axes[0], int):
        axes = axes[0]
    return self.T if axes is None or type(axes) is tuple and not axes else _shape.transpose(
        self, axes
    )


def fill(self, value):
    """Set every element."""
    if type(value) is not ndarray:
        cell = numpy.empty((), self.dtype)
        cell.fill(value)
        value = cell[()]
    elif value.ndim and value.size != 1:
        raise ValueError("setting an array element with a sequence.")
    self[...] = value


def _place(i):
    """An index of `item`, which takes integers only."""
    if isinstance(i, (bool, numpy.bool)):
        raise TypeError("an integer is required")
    return operator.index(i)


def item(self, *args):
    """One element as a Python number."""
    if len(args) == 1 and isinstance(args[0], tuple):
        args = args[0]
    if not args:
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return _core.value(self).item()
    args = tuple(map(_place, args))
    if len(args) == self.ndim:
        return _core.value(self[args]).item()
    if len(args) != 1:
        raise ValueError("incorrect number of indices for array")
    at = args[0] + self.size if args[0] < 0 else args[0]
    if not 0 <= at < self.size:
        raise IndexError(f"index {args[0]} is out of bounds for size {self.size}")
    return _core.value(self[numpy.unravel_index(at, self.shape)]).item()


def tolist(self):
    """Nested lists of Python numbers."""
    return _fallback.to_numpy(self).tolist()


def tobytes(self, order="C"):
    """The elements' bytes."""
    return _fallback.to_numpy(self).tobytes(_order.parse(order))


def _by_method(name, a, args, kwargs):
    """NumPy's method, which does not ask the arguments' __array_function__."""

    def function(a, *args, **kwargs):
        return getattr(a, name)(*args, **kwargs)

    return _fallback.call("ndarray." + name, function, (a, *args), kwargs)


def clip(self, min=None, max=None, out=None, **kwargs):
    """Elements limited to an interval."""
    if not _fallback.is_output(out, min, max):
        return _by_method("clip", self, (min, max, out), kwargs)
    if kwargs:
        return _shape.clip(self, min, max, out, **kwargs)
    return _shape.limited(self, min, max, out)


def conj(self, out=None, /):
    """Complex conjugate."""
    if self.dtype.kind == "c":
        return _conjugate(self) if out is None else _conjugate(self, out=out)
    return self if out is None else _ufuncs.store(out, self)


def round_(self, decimals=0, out=None):
    """Rounded to a number of decimals, halves to even."""
    if not _fallback.is_output(out):
        return _by_method("round", self, (decimals, out), {})
    if decimals == 0 and self.dtype.kind == "f":
        made = _ufuncs.make(numpy.rint)(self)
    elif decimals >= 0 and self.dtype.kind in "iu":
        made = self if self.ndim else self[()]
    else:
        made = _fallback.call("round", numpy.round, (self, decimals), {})
    return made if out is None else _ufuncs.store(out, made)


def dot(self, b, out=None):
    """Dot product."""
    if not _fallback.is_output(out) or _fallback.is_foreign(b):
        return _by_method("dot", self, (b, out), {})
    return _linear.dot(self, b, out)


# From NumPy 2.5 on a part is assigned; before, the value became an array of any type first.
_ASSIGNS = _core.numpy_version >= 205


def _refuse_scalar(self, name):
    if self._is_scalar:
        raise AttributeError(f"attribute '{name}' of 'numpy.generic' objects is not writable")


def _set_real(self, value):
    _refuse_scalar(self, "real")
    if type(value) is not ndarray and not _ASSIGNS:
        value = numpy.asarray(_fallback.to_numpy(value))
    if self.dtype.kind == "c":
        _core.real(self)[...] = value
    else:
        self[...] = value


def _set_imag(self, value):
    _refuse_scalar(self, "imag")
    if self.dtype.kind != "c":
        raise TypeError("array does not have imaginary part to set")
    if type(value) is not ndarray and not _ASSIGNS:
        value = numpy.asarray(_fallback.to_numpy(value))
    _core.imag(self)[...] = value


def to_numpy(self, dtype=None, copy=False):
    """A NumPy array with the values: a read-only snapshot, or a copy of one's own."""
    return numpy.array(self, dtype) if copy else numpy.asarray(self, dtype)


def _namespace(self, api_version=None):
    import braze.numpy

    return braze.numpy


def _sizeof(self):
    """As NumPy counts: an array's elements are its own, a view's are not."""
    own = 0 if self.base is not None or self._is_scalar else self.nbytes
    return object.__sizeof__(self) + 16 * self.ndim + own


def _set_device(self, device):
    raise AttributeError("attribute 'device' of 'numpy.ndarray' objects is not writable")


def _to_device(self, device, /, *, stream=None):
    if device != "cpu":
        raise ValueError(f"Unsupported device: {device}. Only 'cpu' is accepted.")
    if stream is not None:
        raise ValueError("The stream argument in to_device() is not supported")
    return self


def _array_function(functions):
    def array_function(self, func, types, args, kwargs):
        """__array_function__: NumPy's functions given a braze array end here."""
        held = tuple(_fallback.wrappers)
        if held and any(issubclass(t, held) for t in types):
            return NotImplemented
        if held and _fallback.is_wrapped(*args, *kwargs.values()):
            # As an option, which nobody is asked about: NumPy says what it thinks of it.
            inner = getattr(func, "_implementation", func)
            return _fallback.result(inner(*_fallback.to_numpy(args), **_fallback.to_numpy(kwargs)))
        mine = functions.get(func)
        module = getattr(func, "__module__", None)
        if mine is None and module in ("numpy.fft", "numpy.linalg"):
            # Modules that come when they are asked for, whoever asks.
            mine = functions[func] = _space.wrap("braze." + module, func.__name__, func)
        if mine is not None:
            return mine(*args, **kwargs)
        name = getattr(func, "__name__", str(func))
        inner = getattr(func, "_implementation", func)
        return _fallback.call(name, inner, args, kwargs)

    return array_function


def _method(function):
    def method(self, *args, **kwargs):
        return function(self, *args, **kwargs)

    method.__name__ = function.__name__
    method.__doc__ = function.__doc__
    method.__wrapped__ = function  # whose arguments inspect and help() show
    return method


def attach(functions):
    """Give the extension's type its Python half; functions: NumPy's to braze's."""
    special = {
        "__complex__": _complex,
        "__array__": _array,
        "__contains__": _contains,
        "__reduce__": _reduce,
        "__copy__": _copy,
        "__deepcopy__": _deepcopy,
        "__array_function__": _array_function(functions),
        "__array_priority__": 100.0,
        "__dlpack__": _interop.dlpack,
        "__arrow_c_array__": _arrow.arrow_c_array,
        "__dlpack_device__": _interop.dlpack_device,
        "__cuda_array_interface__": property(_device.cuda_array_interface),
        "__array_interface__": property(_interop.array_interface),
        "__array_struct__": property(_interop.array_struct),
        "__array_wrap__": _interop.array_wrap,
        "__array_namespace__": _namespace,
        "to_device": _to_device,
        "to_numpy": to_numpy,
        "flags": property(_flags.flags, doc="How the array lies in memory."),
        "setflags": _flags.set_flags,
        "flat": property(_flat.flatiter, _flat.set_flat, doc="Iterator over the elements."),
        "ctypes": _interop.ctypes,
        "_retyped": _views.retyped,
        "_restrided": _views.restrided,
        "mT": property(_shape.matrix_transpose),
        "device": property(lambda self: "cpu", _set_device),
        "__sizeof__": _sizeof,
        "conjugate": conj,
    }
    _core.use_ufuncs(_ufuncs.by_numpy, _fallback, _ufuncs.array_ufunc)
    for name, value in (special | _scalars.SPECIAL).items():
        setattr(ndarray, name, value)
    for function in (astype, copy, reshape, flatten, transpose, fill, clip, tolist, tobytes,
                     item):
        setattr(ndarray, function.__name__, _names.method(function.__name__, function))
    for name, function in (("__round__", _round), ("view", _views.view)):
        setattr(ndarray, name, _names.method(name, function))
    ndarray.conj = conj
    _core.texts_by(_repr, _str)
    _core.parts_by(_shape.real, _shape.imag, _set_real, _set_imag)
    for function in (_views.getfield, _views.resize, _views.byteswap):
        setattr(ndarray, function.__name__, function)
    for name in "sum prod mean min max any all argmin argmax".split():
        setattr(ndarray, name, _names.method(name, getattr(_reductions, name)))
    for name in ("std", "var"):
        setattr(ndarray, name, _method(getattr(_reductions, name)))
    ndarray.dot = _names.method("dot", dot)
    ndarray.round = _names.method("round", round_)
    ndarray.take = _names.method("take", _gather.take)
    ndarray.searchsorted = _names.method("searchsorted", _search.method_searchsorted)
    ndarray.nonzero = _names.method("nonzero", _choose.method_nonzero)
    ndarray.compress = _names.method("compress", _choose.method_compress)
    for name in ("ravel", "swapaxes", "repeat", "squeeze", "diagonal", "trace"):
        setattr(ndarray, name, _names.method(name, getattr(_shape, name)))
