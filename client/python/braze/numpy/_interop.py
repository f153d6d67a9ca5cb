# SPDX-License-Identifier: Apache-2.0
"""Other programs' ways to an array's memory.

Who reads gets a snapshot.  Who may write gets the memory itself, which is open, as
in braze.host(), until what was given is gone: until then operations on the array
raise an error.
"""

import functools
import weakref

import numpy

from braze import _core
from braze.numpy import _device, _fallback

ndarray = _core.ndarray


class Address(int):
    """An address, and what must live as long as somebody uses it."""

    def __new__(cls, value, keep):
        self = super().__new__(cls, value)
        self.keep = keep
        return self


_shown = {}  # id of an array: it, weakly, and the snapshot whose address was told


def _forget(key, ref, shown=_shown):
    shown.pop(key, None)


def _snapshot(array):
    """By the buffer protocol alone: asarray would come back here where that fails."""
    return numpy.asarray(memoryview(array))


def array_interface(self):
    """A read-only snapshot: it lives until the next one is asked for."""
    shown = _snapshot(self)
    key = id(self)
    if not self._is_scalar:
        _shown[key] = (weakref.ref(self, functools.partial(_forget, key)), shown)
    made = dict(shown.__array_interface__)
    made["data"] = (Address(made["data"][0], shown), True)
    return made


def array_struct(self):
    """A read-only snapshot, which lives as long as the capsule."""
    return _snapshot(self).__array_struct__


def array_wrap(self, array, context=None, return_scalar=True):
    """What a function of NumPy's made of this array, as an array of braze's."""
    if type(array) is numpy.ndarray and return_scalar and not array.ndim:
        return _fallback.from_numpy(array[()])
    return _fallback.from_numpy(array)


def dlpack(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    """A snapshot; a copy for whoever does not know of read-only memory.

    On a GPU for who asks so: by a stream, as its consumers do, or by `dl_device`.
    """
    on_gpu = dl_device is not None and tuple(dl_device)[0] == _device.CUDA
    if stream is not None or on_gpu:
        _device.check_stream(stream)
        versioned = max_version is not None and tuple(max_version) >= (1, 0)
        made = _device.dlpack(self, versioned, copy, dl_device)
        if made is not None:
            return made
        if on_gpu:
            raise BufferError(f"the array lies on no GPU of this process, so not on {tuple(dl_device)}")
    kwargs = {"stream": stream, "max_version": max_version, "dl_device": dl_device}
    if max_version is None or tuple(max_version) < (1, 0):
        if copy is False:
            raise BufferError(
                "a read-only snapshot cannot be given without max_version=(1, 0): leave "
                "copy=False out, or use numpy.array(a)"
            )
        return numpy.array(self).__dlpack__(**kwargs)
    return numpy.asarray(self).__dlpack__(**kwargs, copy=copy)


def dlpack_device(self):
    """Where the array's memory is: (2, number) on a GPU of this process, else the host's."""
    where = _device.device_of(self)
    return (_device.CPU, 0) if where is None else (_device.CUDA, where[0])


def opened(array):
    """A NumPy array on the array's own memory, which is open while it lives; of one
    that may not be written, a copy."""
    if array._is_scalar or _core.writing(array) == 1:
        return numpy.array(array)
    return numpy.asarray(_core.host_open(array))


class _Ctypes:
    """a.ctypes: addresses of the array's own memory, which is open while they live."""

    def __init__(self, array):
        self._array = array

    @property
    def data(self):
        """The address as an integer.  Keep this very object while it is used."""
        memory = opened(self._array)
        return Address(memory.ctypes.data, memory)

    @property
    def _as_parameter_(self):
        return opened(self._array).ctypes._as_parameter_

    @property
    def shape(self):
        """The shape as an array of C's."""
        return self.shape_as(numpy.ctypeslib.c_intp)

    @property
    def strides(self):
        """The strides as an array of C's."""
        return self.strides_as(numpy.ctypeslib.c_intp)

    def data_as(self, obj):
        """A pointer of a type."""
        return opened(self._array).ctypes.data_as(obj)

    def shape_as(self, obj):
        """The shape as an array of a type of C's."""
        return (obj * self._array.ndim)(*self._array.shape)

    def strides_as(self, obj):
        """The strides as an array of a type of C's."""
        return (obj * self._array.ndim)(*self._array.strides)


ctypes = property(_Ctypes, doc="Pointers to the memory, for ctypes.")


def as_ctypes(obj):
    """A ctypes object on the array's own memory, which is open while it lives."""
    if type(obj) is not ndarray:
        return numpy.ctypeslib.as_ctypes(obj)
    if _core.writing(obj) == 1:
        raise TypeError("readonly arrays unsupported: use numpy.array(a)")
    return numpy.ctypeslib.as_ctypes(opened(obj))
