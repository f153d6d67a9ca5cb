# SPDX-License-Identifier: Apache-2.0
"""A library that has arrays on a GPU, as others have them: it takes and gives DLPack's capsules and
`__cuda_array_interface__`, by the driver that BRAZE_LIBCUDA names, and checks what it is given."""

import ctypes
import os

import numpy

driver = ctypes.CDLL(os.environ["BRAZE_LIBCUDA"])
CODES = {"b": 6, "i": 0, "u": 1, "f": 2, "c": 5}
KINDS = {code: kind for kind, code in CODES.items()}
api = ctypes.pythonapi
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetDestructor.argtypes = [ctypes.py_object, ctypes.c_void_p]
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def call(name, *arguments):
    error = getattr(driver, name)(*arguments)
    if error:
        raise RuntimeError(f"{name} -> {error}")


def begin(device=0):
    context = ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)


begin()


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_uint64), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class Old(ctypes.Structure):
    pass


class Versioned(ctypes.Structure):
    pass


OLD_DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(Old))
DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(Versioned))
Old._fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", OLD_DELETER)]
Versioned._fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                      ("deleter", DELETER), ("flags", ctypes.c_uint64), ("tensor", Tensor)]


def stream():
    made = ctypes.c_void_p()
    call("cuStreamCreate", ctypes.byref(made), 1)
    return made.value


def read(address, shape, strides, dtype, on=None):
    """The elements, by copies of each row's bytes in the order of a stream."""
    out = numpy.empty(shape, dtype)
    if not out.size:
        return out
    lo = sum(min(0, (n - 1) * s) for n, s in zip(shape, strides, strict=True))
    hi = sum(max(0, (n - 1) * s) for n, s in zip(shape, strides, strict=True)) + out.itemsize
    raw = numpy.empty(hi - lo, numpy.uint8)
    call("cuMemcpyDtoHAsync_v2", ctypes.c_void_p(raw.ctypes.data), ctypes.c_uint64(address + lo),
         ctypes.c_size_t(hi - lo), ctypes.c_void_p(on))
    call("cuStreamSynchronize", ctypes.c_void_p(on))
    view = numpy.ndarray(shape, dtype, raw, -lo, strides)
    out[...] = view
    return out


def write(address, data, on=None):
    data = numpy.ascontiguousarray(data)
    call("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(address), ctypes.c_void_p(data.ctypes.data),
         ctypes.c_size_t(data.nbytes), ctypes.c_void_p(on))
    call("cuStreamSynchronize", ctypes.c_void_p(on))


class Taken:
    """What was given by a capsule."""

    def __init__(self, capsule, on=None):
        self.on = on
        self.versioned = bool(api.PyCapsule_IsValid(capsule, b"dltensor_versioned"))
        name = b"dltensor_versioned" if self.versioned else b"dltensor"
        assert api.PyCapsule_IsValid(capsule, name)
        pointer = api.PyCapsule_GetPointer(capsule, name)
        self.managed = ctypes.cast(pointer, ctypes.POINTER(Versioned if self.versioned else Old))
        api.PyCapsule_SetName(capsule, b"used_dltensor_versioned" if self.versioned else b"used_dltensor")
        api.PyCapsule_SetDestructor(capsule, None)
        t = self.managed.contents.tensor
        assert t.lanes == 1
        self.device = (t.device_type, t.device_id)
        self.dtype = numpy.dtype(f"{KINDS[t.code]}{t.bits // 8}")
        self.shape = tuple(t.shape[i] for i in range(t.ndim))
        self.strides = tuple(t.strides[i] * self.dtype.itemsize for i in range(t.ndim))
        self.address = t.data + t.byte_offset
        self.flags = self.managed.contents.flags if self.versioned else 0

    def read(self):
        return read(self.address, self.shape, self.strides, self.dtype, self.on)

    def close(self):
        if self.managed:
            self.managed.contents.deleter(self.managed)
            self.managed = None


def take(array, version=(1, 0), copy=None, on=None):
    """As CuPy, PyTorch and JAX do it: ask for the device, then say the stream."""
    assert array.__dlpack_device__() == (2, 0), array.__dlpack_device__()
    kwargs = {"copy": copy} if copy is not None else {}
    if version is not None:
        kwargs["max_version"] = version
    return Taken(array.__dlpack__(stream=on or 1, **kwargs), on)


def shown(array):
    """By __cuda_array_interface__: address, elements."""
    told = array.__cuda_array_interface__
    assert told["version"] == 3 and told["stream"] != 0
    dtype = numpy.dtype(told["typestr"])
    strides = told["strides"] or numpy.empty(told["shape"], dtype).strides
    return told["data"], lambda: read(told["data"][0], told["shape"], strides, dtype)


class Array:
    """An array of this library's."""

    live = 0

    def __init__(self, data, on=None):
        data = numpy.asarray(data)
        self.dtype, self.shape, self.strides = data.dtype, data.shape, data.strides
        self.on = on
        base = numpy.lib.array_utils.byte_bounds(data)
        self.offset = data.__array_interface__["data"][0] - base[0]
        size = base[1] - base[0]
        address = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        self.base = address.value
        raw = (ctypes.c_uint8 * size).from_address(base[0])
        write(self.base, numpy.frombuffer(raw, numpy.uint8), on)
        self.address = self.base + self.offset
        self.kept = {}
        Array.live += 1

    def close(self):
        call("cuMemFree_v2", ctypes.c_uint64(self.base))
        Array.live -= 1

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False), "version": 3,
                "strides": self.strides, "stream": self.on}


class Giver(Array):
    """The same with DLPack; `version`: None for one from before 1.0."""

    version = (1, 0)
    deleted = 0

    def __dlpack_device__(self):
        return (2, 0)

    def _tensor(self):
        n = len(self.shape)
        shape = (ctypes.c_int64 * n)(*self.shape)
        strides = (ctypes.c_int64 * n)(*(s // self.dtype.itemsize for s in self.strides))
        tensor = Tensor(self.base, 2, 0, n, CODES[self.dtype.kind], 8 * self.dtype.itemsize, 1, shape, strides,
                        self.offset)
        return tensor, (shape, strides)

    def __dlpack__(self, stream=None, **kwargs):
        assert stream in (1, 2, -1) or stream > 2
        if kwargs and self.version is None:
            raise TypeError("unexpected keyword")
        tensor, keep = self._tensor()

        def delete(managed):
            Giver.deleted += 1

        if self.version is None:
            deleter = OLD_DELETER(delete)
            managed = Old(tensor, None, deleter)
            name = b"dltensor"
        else:
            deleter = DELETER(delete)
            managed = Versioned(1, 0, None, deleter, 0, tensor)
            name = b"dltensor_versioned"
        self.kept[len(self.kept)] = (managed, deleter, keep, name)
        return api.PyCapsule_New(ctypes.addressof(managed), name, None)
