# SPDX-License-Identifier: Apache-2.0
"""Columns by the Arrow C data interface, data frames, and what else `braze.asarray` takes."""

import ctypes
import gc
import threading

import braze
import braze.numpy as np
import numpy
import pytest
from braze import _core

LETTERS = {"int8": b"c", "uint8": b"C", "int16": b"s", "uint16": b"S", "int32": b"i", "uint32": b"I", "int64": b"l",
           "uint64": b"L", "float16": b"e", "float32": b"f", "float64": b"g", "bool": b"b"}


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


END_SCHEMA = ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))
END_ARRAY = ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))
Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p),
                   ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64), ("children", ctypes.c_void_p),
                   ("dictionary", ctypes.c_void_p), ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p)]
Array._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                  ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64),
                  ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", ctypes.c_void_p),
                  ("dictionary", ctypes.c_void_p), ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p)]
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
pointer = ctypes.pythonapi.PyCapsule_GetPointer
pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class Column:
    """Somebody else's, with as many nulls and elements before it as one likes; counts who lets go."""

    def __init__(self, data, there=None, before=0, **wrong):
        whole = numpy.concatenate([data[:1].repeat(before), data]) if len(data) else data
        flags = numpy.ones(len(whole), bool) if there is None else numpy.concatenate([numpy.zeros(before, bool), there])
        bits = numpy.packbits(whole, bitorder="little") if data.dtype == bool else whole
        self.kept = bits, numpy.packbits(flags, bitorder="little"), (ctypes.c_void_p * 2)()
        if there is not None:
            self.kept[2][0] = self.kept[1].ctypes.data
        self.kept[2][1] = bits.ctypes.data
        self.released = 0
        self.ends = END_SCHEMA(lambda s: None), END_ARRAY(self.release)
        self.schema = Schema(LETTERS[data.dtype.name], b"", None, 0, 0, None, None,
                             ctypes.cast(self.ends[0], ctypes.c_void_p), None)
        self.array = Array(len(data), -1, before, 2, 0, self.kept[2], None, None,
                           ctypes.cast(self.ends[1], ctypes.c_void_p), None)
        for name, value in wrong.items():
            setattr(self.schema if hasattr(self.schema, name) and name != "n_children" else self.array, name, value)

    def release(self, array):
        array.contents.release = None
        self.released += 1

    def __arrow_c_array__(self, requested_schema=None):
        return (new_capsule(ctypes.addressof(self.schema), b"arrow_schema", None),
                new_capsule(ctypes.addressof(self.array), b"arrow_array", None))


def given(a):
    """What a taker sees of the capsules: the letter, length, offset, nulls, and the elements' address."""
    schema, array = a.__arrow_c_array__()
    s = Schema.from_address(pointer(schema, b"arrow_schema"))
    r = Array.from_address(pointer(array, b"arrow_array"))
    assert r.n_buffers == 2 and not r.buffers[0] and r.null_count == 0 and s.n_children == r.n_children == 0
    return s.format, r.length, r.offset, r.buffers[1], (schema, array)


@pytest.mark.parametrize("dtype", LETTERS)
@pytest.mark.parametrize("n", [0, 1, 9, 1000])
def test_there_and_back(dtype, n):
    values = numpy.arange(n).astype(dtype)

    class Only:  # no other way than this protocol
        def __init__(self, a):
            self.__arrow_c_array__ = a.__arrow_c_array__

    back = braze.asarray(Only(np.asarray(values)))
    assert type(back) is np.ndarray and back.dtype == values.dtype
    numpy.testing.assert_array_equal(numpy.asarray(back), values)


def test_what_is_given_is_no_copy_and_no_later_value():
    a = np.arange(1000.0)
    shown = numpy.asarray(a)
    letter, length, offset, address, capsules = given(a)
    assert (letter, length, offset) == (b"g", 1000, 0) and address == shown.ctypes.data
    a[:] = 7
    assert numpy.asarray(a)[3] == 7 and ctypes.cast(address, ctypes.POINTER(ctypes.c_double))[3] == 3
    del a, shown
    gc.collect()
    assert ctypes.cast(address, ctypes.POINTER(ctypes.c_double))[999] == 999
    del capsules


def test_another_thread_may_let_go():
    held = [given(np.arange(10.0))[4] for _ in range(20)]
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    assert not held


def test_steps_are_copied_and_more_axes_refused():
    a = np.arange(20.0)[::-2]
    letter, length, _, address, _ = given(a)
    got = numpy.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_double)), (length,))
    assert letter == b"g" and got.tolist() == numpy.arange(20.0)[::-2].tolist()
    with pytest.raises(ValueError, match="one axis"):
        np.ones((2, 2)).__arrow_c_array__()
    with pytest.raises(TypeError, match="complex128"):
        np.ones(2, complex).__arrow_c_array__()


@pytest.mark.parametrize("before", [0, 1, 13])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool"])
def test_offsets_and_nulls(dtype, before):
    values = (numpy.arange(50) % 3).astype(dtype)
    there = numpy.arange(50) % 7 != 2
    whole = Column(values, numpy.ones(50, bool), before)
    numpy.testing.assert_array_equal(numpy.asarray(braze.asarray(whole)), values)
    gc.collect()
    assert whole.released == 1
    holes = Column(values, there, before)
    if values.dtype.kind == "f":
        numpy.testing.assert_array_equal(numpy.asarray(braze.asarray(holes)), numpy.where(there, values, numpy.nan))
    else:
        with pytest.raises(ValueError, match="7 nulls"):
            braze.asarray(holes)
    gc.collect()
    assert holes.released == 1


@pytest.mark.parametrize("wrong", [{"format": b"u"}, {"format": b"+s"}, {"format": b""}, {"n_buffers": 3}, {"length": -1},
                                   {"offset": -2}, {"length": 2**62}, {"release": None}], ids=str)
def test_what_is_no_column_of_numbers_is_refused(wrong):
    with pytest.raises((TypeError, ValueError)):
        braze.asarray(Column(numpy.arange(5.0), **wrong))


def test_capsules_of_something_else_are_refused():
    other = new_capsule(ctypes.addressof(Schema()), b"something", None)
    with pytest.raises(ValueError):
        _core.arrow_take(other, other)
    with pytest.raises(ValueError):
        _core.arrow_take(3, None)


class Frame:
    """A data frame as far as it matters: names, types, and `__array__`."""

    def __init__(self, **columns):
        self.columns = list(columns)
        self.kept = {name: numpy.asarray(c) for name, c in columns.items()}
        self.dtypes = [c.dtype for c in self.kept.values()]

    def __getitem__(self, name):
        return self.kept[name]

    def __array__(self, dtype=None, copy=None):
        kinds = {c.dtype.kind for c in self.kept.values()}
        made = list(self.kept.values()) if "U" not in kinds else [c.astype(object) for c in self.kept.values()]
        return numpy.stack(made, axis=1)


def test_data_frames_are_two_axes():
    df = Frame(a=[1, 2, 3], b=[0.5, 1.5, 2.5])
    got = braze.asarray(df)
    assert type(got) is np.ndarray and got.shape == (3, 2) and got.dtype == float
    assert numpy.asarray(got).tolist() == [[1, 0.5], [2, 1.5], [3, 2.5]]
    with pytest.raises(TypeError, match=r"numbers: name \(.*U[^,]*$"):
        braze.asarray(Frame(a=[1, 2], name=["x", "y"]))


def test_tensors_and_what_numpy_takes():
    class Tensor:
        def __init__(self, a):
            self.a = a

        def __dlpack__(self, **kwargs):
            return self.a.__dlpack__(**kwargs)

        def __dlpack_device__(self):
            return self.a.__dlpack_device__()

    a = np.arange(3.0)
    assert braze.asarray(a) is a
    assert numpy.asarray(braze.asarray(Tensor(numpy.arange(6).reshape(2, 3)))).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert braze.asarray([1, 2], "float32").dtype == "float32"
