# SPDX-License-Identifier: Apache-2.0
"""Views by layout: another type, other strides, and arrays that change their own."""

import math
import operator
import sys

import numpy

from braze import _core
from braze.numpy import _creation, _device, _fallback, _flags, _order, _sharing

ndarray = _core.ndarray
_MISSING = numpy._NoValue


def view(self, *args, **kwargs):
    """The same memory, as another type."""
    if len(args) == 1 and not kwargs and not _is_class(args[0]):
        made = _reread(self, args[0])
        if made is not None:
            return made
    if _asks_for_subclass(*args, **kwargs):
        # NumPy's arrays alone have subclasses: one of them shows the value, read-only.
        return numpy.asarray(self).view(*args, **kwargs)
    dtype = _view_dtype(*args, **kwargs)
    if dtype is None or dtype == self.dtype:
        return self[...]
    if self._is_scalar:
        return _fallback.from_numpy(_core.value(self).view(dtype))
    probe = _sharing.probe(self).view(dtype)
    made = _sharing.probed(self, probe)
    # What braze cannot show is shown by NumPy, and not written.
    return made if made is not None else numpy.asarray(self).view(dtype)


def _reread(self, dtype):
    """Elements in C order as another type, which makes the last axis shorter or longer; None: that
    is for NumPy to work out."""
    dtype = numpy.dtype(dtype)
    if not (self.ndim and self.size and _flags.is_c(self) and _fallback.native_dtype(dtype)):
        return None
    shape, strides = self.shape, self.strides
    if dtype.itemsize != self.itemsize:
        last, rest = divmod(shape[-1] * self.itemsize, dtype.itemsize)
        if rest:
            return None
        shape, strides = (*shape[:-1], last), (*strides[:-1], dtype.itemsize)
    try:
        return _core.view(self, dtype, shape, strides, 0)
    except TypeError:  # elements between the multiples of their size
        return None


def _view_dtype(dtype=_MISSING, type=_MISSING):
    """The type asked for; None for the array's own.  A class of arrays is no type."""
    if _is_class(dtype):
        dtype, type = _MISSING, dtype
    if type is not _MISSING and not _is_class(type):
        raise ValueError("Type must be a sub-type of ndarray type")
    return None if dtype is _MISSING else numpy.dtype(dtype)


def _asks_for_subclass(dtype=None, type=None):
    return any(_is_class(x) and x not in (ndarray, numpy.ndarray) for x in (dtype, type))


def _is_class(kind):
    return isinstance(kind, type) and issubclass(kind, (ndarray, numpy.ndarray))


def retyped(self, dtype):
    """What the array becomes when its dtype is set: a new view."""
    probe = _sharing.probe(self)
    probe.dtype = dtype
    return _needed(_sharing.probed(self, probe), f"an array of {numpy.dtype(dtype)}")


def restrided(self, strides):
    """What the array becomes when its strides are set: a new view."""
    strides = tuple(operator.index(s) for s in strides)
    if len(strides) != self.ndim:
        raise ValueError(
            "strides must be same length as shape "
            f"({self.ndim})"
        )
    try:
        return _core.view(self, self.dtype, self.shape, strides, 0)
    except IndexError as error:
        raise ValueError("strides is not compatible with available memory") from error


def _needed(made, what):
    if made is None:
        raise TypeError(f"braze has no view as {what}: use numpy.array(a)")
    return made


def getfield(self, dtype, offset=0):
    """A part of each element, as a type."""
    if self._is_scalar:
        return _fallback.from_numpy(_core.value(self).getfield(dtype, offset))
    made = _sharing.probed(self, _sharing.probe(self).getfield(dtype, offset))
    return made if made is not None else numpy.asarray(self).getfield(dtype, offset)


def as_strided(x, shape=None, strides=None, subok=False, writeable=True):
    """Any layout inside the array's buffer."""
    a = _creation.public_asarray(x)
    if type(a) is not ndarray:
        return numpy.lib.stride_tricks.as_strided(a, shape, strides, subok, writeable)
    shape = a.shape if shape is None else _creation.shape_tuple(shape)
    if strides is not None:
        strides = tuple(operator.index(s) for s in strides)
    elif _flags.is_c(a):
        strides = _creation.c_strides(shape, a.itemsize)
    else:
        strides = a.strides
    try:
        made = _core.view(a, a.dtype, shape, strides, 0)
    except IndexError as error:
        raise ValueError(f"as_strided leaves the array's memory: {error}") from error
    return made if writeable else _core.set_writing(made, 1)


def sliding_window_view(x, window_shape, axis=None, *, subok=False, writeable=False):
    """A view of all windows of a shape."""
    a = _creation.public_asarray(x)
    theirs = numpy.lib.stride_tricks.sliding_window_view
    if type(a) is not ndarray:
        return theirs(a, window_shape, axis, subok=subok, writeable=writeable)
    # NumPy's arithmetic, of a layout without data.
    probe = theirs(_sharing.probe(a), window_shape, axis, writeable=writeable)
    made = _sharing.probed(a, probe)
    if made is None:
        return theirs(numpy.asarray(a), window_shape, axis)
    return made if writeable else _core.set_writing(made, 1)


def from_dlpack(x, /, *, device=None, copy=None):
    """An array on another library's memory: of braze's own a view, else a copy, which
    may not be written.  Of what lies on a GPU: a copy made there, an array like any other."""
    if type(x) is not ndarray:
        if device is None and _device.is_foreign(x):
            if copy is False:
                raise BufferError("memory of a GPU is taken by a copy within it: leave copy=False out")
            return _creation.public_asarray(_device.take(x))
        kwargs = {"device": device, "copy": copy}
        return _fallback.call("from_dlpack", numpy.from_dlpack, (x,), kwargs)
    if device not in (None, "cpu"):
        raise ValueError(f"Unsupported device found in the dtype: {device}")
    return _core.copy(x) if copy or x._is_scalar else x[...]


def linalg_diagonal(x, /, *, offset=0):
    """A view of the diagonals of matrices, which may not be written."""
    from braze.numpy import _shape

    return _shape.diagonal(x, offset, -2, -1)


class _Counter:
    """Calibrates the references that calling a method makes."""

    def count(self, *args, **kwargs):
        return sys.getrefcount(self)


_counter = _Counter()
_CALLED = _counter.count((2,))


def resize(self, *new_shape, refcheck=True):
    """Change the shape and size in place; what is new is zero."""
    references = sys.getrefcount(self)
    if not new_shape or new_shape[0] is None:
        return
    shape = _creation.shape_tuple(new_shape[0] if len(new_shape) == 1 else new_shape)
    if self._is_scalar or not (_flags.is_c(self) or _flags.is_f(self)):
        raise ValueError("resize only works on single-segment arrays")
    size = math.prod(shape)
    if size != self.size:
        if self.base is not None:
            raise ValueError("cannot resize this array: it does not own its data")
        if refcheck and references > _CALLED:
            raise ValueError(
                "cannot resize an array that references or is referenced\n"
                "by another array in this way.\n"
                "Use the np.resize function or refcheck=False"
            )
        if _core.writing(self) == 1:
            raise ValueError("cannot resize a read-only array")
    _core.become(self, _resized(self, shape, size))


def _resized(a, shape, size):
    """The elements as they lie in memory, cut off or followed by zeros."""
    fortran = _order.is_fortran(a)
    flat = _core.reshape(a.T if fortran else a, (a.size,))
    if size != a.size:
        made = _core.full((size,), a.dtype, 0)
        n = min(size, a.size)
        made[:n] = flat[:n]
        flat = made
    made = _core.reshape(flat, shape[::-1] if fortran else shape)
    return made.T if fortran else made


def byteswap(self, inplace=False):
    """The bytes of each element in the opposite order."""
    if inplace and not self._is_scalar:
        memory = _core.host_open(self)
        try:
            numpy.asarray(memory).byteswap(inplace=True)
        finally:
            _core.host_close(memory)
        return self
    return _fallback.result(numpy.asarray(self).byteswap())
