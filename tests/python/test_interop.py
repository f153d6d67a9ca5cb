# SPDX-License-Identifier: Apache-2.0
"""Protocols by which other programs read and write an array's memory."""

import ctypes
import inspect
import io
import struct

import numpy
import pytest

import braze
import braze.numpy as np


def both(code, *names):
    """The named variables after code, in NumPy and in braze."""
    results = []
    for m in (numpy, np):
        space = {"np": m, "io": io, "struct": struct, "ctypes": ctypes}
        exec(code, space)
        results.append([
            x.tolist() if hasattr(x, "tolist") else x for x in (space[n] for n in names)
        ])
    assert results[1] == results[0]


@pytest.mark.parametrize("code", [
    "r = io.BytesIO(b'abcd').readinto(a)", "r = struct.pack_into('i', a, 0, 77)",
    "r = io.BytesIO(b'ab').readinto(a[1:3])",
    "c = np.ctypeslib.as_ctypes(a); c[1] = 5; r = c[2]; del c",
    "p = a.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8)); p[1] = 5; r = p[2]; del p",
    "ctypes.memset(a.ctypes.data, 3, 2); r = 0", "ctypes.memset(a.ctypes, 3, 2); r = 0",
    "r = tuple(a.ctypes.shape), tuple(a.ctypes.strides)",
    "i = a.__array_interface__; r = i['shape'], i['strides'], i['typestr'], i['version']",
    "r = type(a.__array_struct__).__name__", "r = type(a.__dlpack__()).__name__",
    "r = np.asarray(np.from_dlpack(a)); np.from_dlpack(a)[0] = 9",
    "r = a.__dlpack_device__()", "b = a * 2; a.ctypes.data_as(ctypes.c_void_p); r = b + a",
    "r = np.lib.array_utils.byte_bounds(a)[1] - np.lib.array_utils.byte_bounds(a)[0]",
    "c = (ctypes.c_uint8 * 2)(8, 9); r = np.ctypeslib.as_array(c)",
    "r = np.frombuffer(bytearray(b'abc'), 'u1')",
])
def test_who_writes_writes_the_array(code):
    both(f"a = np.arange(1, 5).astype('u1'); {code}; a = a + 1", "a", "r")


def test_an_array_that_somebody_may_write_is_not_used():
    a = np.arange(3.0)
    pointer = a.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    for use in (lambda: a + 1, lambda: a[0], lambda: numpy.asarray(a), lambda: np.sort(a)):
        with pytest.raises(braze.BrazeError, match="open for writing"):
            use()
    pointer[0] = 5
    del pointer
    assert (a + 1).tolist() == [6.0, 2.0, 3.0]


def test_who_reads_an_array_cannot_write_it():
    a = np.arange(3.0)
    with pytest.raises(TypeError, match="read-only"):
        memoryview(a)[0] = 5
    a.setflags(write=False)
    with pytest.raises((ValueError, TypeError, BufferError)):
        io.BytesIO(bytes(8)).readinto(a)
    with pytest.raises(TypeError, match="readonly"):
        np.ctypeslib.as_ctypes(a)
    a.ctypes.data_as(ctypes.POINTER(ctypes.c_double))[0] = 5
    assert a.tolist() == [0.0, 1.0, 2.0]
    with pytest.raises((TypeError, BufferError, ValueError)):
        io.BytesIO(bytes(8)).readinto(a.sum())


def test_the_interface_is_a_snapshot():
    class Other:
        def __init__(self, array):
            self.__array_interface__ = array.__array_interface__

    a = np.arange(3.0)
    other = Other(a)
    a += 1
    assert numpy.asarray(other).tolist() == [0.0, 1.0, 2.0]
    assert not numpy.asarray(other).flags.writeable
    del a
    assert numpy.asarray(other).tolist() == [0.0, 1.0, 2.0]


def test_dlpack_without_read_only_memory_is_a_copy():
    class Old:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **kwargs):
            return self.array.__dlpack__()

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    a = np.arange(3.0)
    copy = numpy.from_dlpack(Old(a))
    assert copy.tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(BufferError):
        a.__dlpack__(copy=False)
    shown = numpy.from_dlpack(a)
    assert shown.tolist() == [0.0, 1.0, 2.0] and not shown.flags.writeable
    names = inspect.signature(np.ndarray.__dlpack__).parameters
    assert {"stream", "max_version", "dl_device", "copy"} <= set(names)


LOOPS = [
    "for x in np.nditer(a, op_flags=['readwrite']): x[...] = 2 * x",
    "for x in np.nditer(a, op_flags=[['readwrite']], flags=['external_loop']): x[...] = 2 * x",
    "for x in np.nditer(a, flags=['buffered'], op_flags=['readwrite'], op_dtypes=['f4'],"
    " casting='same_kind'): x[...] = x + 1",
    "with np.nditer([a, b], op_flags=[['readonly'], ['readwrite']]) as it:\n"
    "    for x, y in it: y[...] = x + 1",
    "with np.nditer([a, a.T], op_flags=[['readonly'], ['writeonly']]) as it:\n"
    "    for x, y in it: y[...] = x + 1",
    "it = np.nditer([a, None])\nfor x, y in it: y[...] = 2 * x\nb = it.operands[1]",
    "it = np.nditer(a, flags=['multi_index'], op_flags=['readwrite'])\n"
    "while not it.finished:\n    it[0] = it.multi_index[0]\n    it.iternext()\n",
    "it = np.nditer(a, flags=['c_index'])\nb = [it.index for x in it]",
    "b = [float(x) for x in np.nditer(a)], [float(x) for x in np.nditer(a.T, order='C')]",
    "it = np.nditer(a, op_flags=['readwrite'])\nfor x in it: x[...] = 1\nb = it.operands[0] is a",
]


@pytest.mark.parametrize("code", LOOPS)
def test_loops_that_write_their_operands(code):
    both(f"a = np.arange(4.).reshape(2, 2); b = np.zeros((2, 2))\n{code}\na = a + 1", "a", "b")


def test_an_iterator_is_not_used_after_its_end():
    a = np.arange(3.0)
    it = np.nditer(a, op_flags=["readwrite"])
    with pytest.raises(braze.BrazeError, match="open for writing"):
        a + 1
    list(it)
    assert (a + 1).tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="end"):
        it.reset()
    with pytest.raises(ValueError, match="host"):
        np.nested_iters([a.reshape(1, 3)], [[0], [1]], op_flags=["readwrite"])
