# SPDX-License-Identifier: Apache-2.0
"""Arrays that lie on a GPU, given to other libraries of this process and taken from them.

Given is a snapshot where it lies, to be read; who may write it (DLPack before 1.0, `copy=True`,
`__cuda_array_interface__`) gets a copy of its own, made on the device.  Nothing needs to be waited
for: what computes the value is over before its memory is given.  Taken is a copy, as of all data.
"""

import functools
import operator
import weakref

import numpy

from braze import _core

CPU, CUDA = 1, 2
_READ_ONLY, _COPIED = 1, 2
_CODES = {"b": 6, "i": 0, "u": 1, "f": 2, "c": 5}
_KINDS = {code: kind for kind, code in _CODES.items()}
_LEGACY = 1  # the number of the driver's legacy stream


def device_of(array):
    """(number of the GPU in this process, its name at the daemon) or None."""
    device, name = _core.device_of(array)
    return (device, name) if device >= 0 else None


def check_stream(stream):
    """The streams that DLPack has for CUDA."""
    if stream is None:
        return
    number = operator.index(stream)
    if number < -1 or number == 0:
        raise ValueError(f"{number} is no stream: None, -1, 1 (legacy), 2 (per thread) and handles are; 0 is ambiguous")


def _copied_there(array, name):
    import braze

    with braze.device(name):
        return _core.copy(array)


def dlpack(array, versioned, copy, dl_device):
    """A capsule on the device's memory; None: the array lies on no device."""
    where = device_of(array)
    if where is None:
        return None
    if dl_device is not None and tuple(dl_device) != (CUDA, where[0]):
        raise BufferError(f"the array lies on device {(CUDA, where[0])}, not on {tuple(dl_device)}")
    if copy or not versioned:
        if copy is False:
            raise BufferError("a read-only snapshot cannot be given without max_version=(1, 0): leave copy=False out")
        return _core.export_dlpack(_copied_there(array, where[1]), versioned, True, _COPIED)
    return _core.export_dlpack(array, True, False, _READ_ONLY)


_shown = {}  # id of an array: it, weakly, and by version the copies whose addresses were told


def _forget(key, ref, shown=_shown):
    shown.pop(key, None)


def cuda_array_interface(self):
    """A copy on the device, of the array as it is now, which lives as long as this very array."""
    where = device_of(self)
    if where is None:
        raise AttributeError("__cuda_array_interface__: the array lies on no GPU of this process")
    entry = _shown.get(id(self))
    if entry is None or entry[0]() is not self:
        entry = _shown[id(self)] = (weakref.ref(self, functools.partial(_forget, id(self))), {})
    version = _core.version_of(self)
    if version not in entry[1]:
        copy = _copied_there(self, where[1])
        exported = _core.export_memory(copy, True)
        if exported is None:
            raise AttributeError("__cuda_array_interface__: the array lies on no GPU of this process")
        entry[1][version] = (exported, copy.strides)
    (address, _, _), strides = entry[1][version]
    return {
        "shape": self.shape,
        "typestr": self.dtype.str,
        "data": (address, False),
        "strides": strides,
        "version": 3,
        "stream": None,
    }


# ---- Taken ----


def is_foreign(x):
    """Does it say that it lies on a GPU?"""
    if hasattr(type(x), "__dlpack_device__") and hasattr(type(x), "__dlpack__"):
        return x.__dlpack_device__()[0] == CUDA
    return hasattr(x, "__cuda_array_interface__")


def _type(code, bits, lanes):
    kind = _KINDS.get(code)
    if kind is None or lanes != 1 or (kind == "b" and bits != 8):
        raise BufferError(f"no array of braze has elements of DLPack's type {code} with {bits} bits and {lanes} lanes")
    return numpy.dtype(f"{kind}{bits // 8}")


def _capsule(x):
    try:
        return x.__dlpack__(stream=_LEGACY, max_version=(1, 0))
    except TypeError:  # it is older than max_version
        return x.__dlpack__(stream=_LEGACY)


def _take_dlpack(x):
    kind, device, address, code, bits, lanes, shape, strides, keeper = _core.take_dlpack(_capsule(x))
    if kind != CUDA:
        raise BufferError(f"a capsule on device {(kind, device)} came from {(CUDA, device)}")
    dtype = _type(code, bits, lanes)
    if strides is not None:
        strides = tuple(n * dtype.itemsize for n in strides)
    made = _core.from_device(address, device, _LEGACY, dtype, shape, strides)
    del keeper
    return made


def _take_interface(x):
    told = x.__cuda_array_interface__
    if told.get("mask") is not None:
        raise BufferError("an array with a mask cannot be taken")
    stream = told.get("stream")
    if stream == 0:
        raise BufferError("stream 0 is ambiguous in a __cuda_array_interface__")
    dtype = numpy.dtype(told["typestr"])
    strides = told.get("strides")
    return _core.from_device(
        told["data"][0], -1, stream or _LEGACY, dtype, tuple(told["shape"]), None if strides is None else tuple(strides)
    )


def take(x):
    """An array with a copy of what lies on a GPU."""
    if hasattr(type(x), "__dlpack_device__") and hasattr(type(x), "__dlpack__"):
        return _take_dlpack(x)
    return _take_interface(x)
