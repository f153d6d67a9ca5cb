# SPDX-License-Identifier: Apache-2.0
"""Arrays that NumPy cannot read: what the stand-ins for CuPy, PyTorch and JAX beside this
file have in common.  In: operands of gpubench.py's programs.  Out: NumPy's results in a
wrapper that, as a GPU's array, must be brought to the host by its library's own call."""

import os
import types

import numpy


class Array:
    """Operators and slices give the class of their operand."""

    def __init__(self, data):
        self.data = numpy.asarray(data)

    def __array__(self, *_, **__):
        raise TypeError("an array of the device does not become NumPy's by itself")

    def __getitem__(self, key):
        return type(self)(self.data[unwrap(key)])


def unwrap(x):
    return x.data if isinstance(x, Array) else x


def lift(function):
    """A function of NumPy as one of device arrays."""
    def call(*arguments, **named):
        kind = next(type(x) for x in arguments if isinstance(x, Array))
        return kind(function(*map(unwrap, arguments), **named))

    return call


def operator(name):
    return lambda self, other: type(self)(getattr(self.data, name)(unwrap(other)))


for word in "add sub mul matmul truediv pow".split():
    for name in f"__{word}__", f"__r{word}__":
        setattr(Array, name, operator(name))
Array.__gt__ = operator("__gt__")
fft = types.SimpleNamespace(fft=lift(numpy.fft.fft))


def note(what):
    """Tell the test, which reads the file, that this was called."""
    with open(os.environ["PEER_CALLS"], "a") as f:
        print(what, file=f)
