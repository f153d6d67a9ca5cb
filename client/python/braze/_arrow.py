# SPDX-License-Identifier: Apache-2.0
"""Columns of other libraries: the Arrow C data interface, DLPack and data frames.

What is given is a snapshot, without a copy where the array lies in one piece: whoever takes it keeps
it, and later writes are not seen.  What is taken is read where it lies, and copied once, into the
memory that the daemon knows.
"""

import numpy

from braze import _core

# Arrow's letters of the types that both have; of truth values it keeps a bit each.
_LETTERS = {"int8": "c", "uint8": "C", "int16": "s", "uint16": "S", "int32": "i", "uint32": "I", "int64": "l",
            "uint64": "L", "float16": "e", "float32": "f", "float64": "g"}
_TYPES = {letter: numpy.dtype(name) for name, letter in _LETTERS.items()}


def arrow_c_array(self, requested_schema=None):
    """Capsules of an ArrowSchema and an ArrowArray, for whoever takes a column (`pyarrow.array(a)`).

    One axis; complex numbers have no type there.  A schema that is asked for is left to who asks.
    """
    if self.ndim != 1:
        raise ValueError(f"a column of Arrow has one axis, this array has {self.ndim}: give it row by row, or flat")
    data = numpy.ascontiguousarray(numpy.asarray(self))
    if data.dtype == bool:
        return _core.arrow_give(numpy.packbits(data, bitorder="little"), "b", data.size)
    letter = _LETTERS.get(data.dtype.name)
    if letter is None:
        raise TypeError(f"Arrow has no type for {data.dtype.name}: give its real and imaginary parts")
    return _core.arrow_give(data, letter, data.size)


def _bits(memory, offset, length):
    packed = numpy.frombuffer(memory, numpy.uint8)
    return numpy.unpackbits(packed, count=offset + length, bitorder="little")[offset:].view(bool)


def column(x):
    """The elements of an object with __arrow_c_array__, where they lie; nulls of floats are NaN."""
    letter, length, offset, nulls, valid, memory = _core.arrow_take(*x.__arrow_c_array__())
    if letter == "b":
        data = _bits(memory, offset, length)
    else:
        data = numpy.frombuffer(memory, _TYPES[letter])[offset:offset + length]
    if nulls and valid is not None:
        there = _bits(valid, offset, length)
        missing = length - int(numpy.count_nonzero(there))
        if missing and data.dtype.kind != "f":
            raise ValueError(f"the column has {missing} nulls, for which {data.dtype.name} has no value: fill them first, "
                             "or make floats of it")
        if missing:
            data = numpy.where(there, data, data.dtype.type(numpy.nan))
    return data


def _of_frame(df):
    """The columns of a data frame beside each other, of the type that all of them fit into."""
    values = numpy.asarray(df)
    if values.dtype == object:
        words = ", ".join(f"{name} ({kind})" for name, kind in zip(df.columns, df.dtypes, strict=True)
                          if numpy.asarray(df[name]).dtype.kind not in "biufc")
        raise TypeError(f"columns that are no numbers: {words}: choose the others first")
    return values


def asarray(x, dtype=None):
    """An array of a data frame, a column, a tensor or whatever NumPy makes an array of.

    Data frames (pandas, polars) become two axes; objects with `__array__` go by it; others by the Arrow C
    data interface, then by DLPack.  Arrays of braze are given back.  The elements are copied once; of what
    lies on a GPU, within it where the daemon has the same one.
    """
    import braze.numpy as bnp
    from braze.numpy import _device

    if type(x) is bnp.ndarray:
        return bnp.asarray(x, dtype)
    if _device.is_foreign(x):
        return bnp.asarray(_device.take(x), dtype)
    if hasattr(x, "columns") and hasattr(x, "dtypes"):
        x = _of_frame(x)
    elif not hasattr(x, "__array__"):
        if hasattr(x, "__arrow_c_array__"):
            x = column(x)
        elif hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__"):
            x = numpy.from_dlpack(x)
    return bnp.asarray(x, dtype)
