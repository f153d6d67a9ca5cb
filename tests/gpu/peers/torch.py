# SPDX-License-Identifier: Apache-2.0
"""A stand-in for PyTorch with a GPU: the names of it that gpubench.py calls."""

import types

import numpy
from peer_array import Array, fft, lift, note  # noqa: F401

sin, cos, sqrt, abs, exp = map(lift, (numpy.sin, numpy.cos, numpy.sqrt, numpy.abs, numpy.exp))
asin = lift(numpy.arcsin)


class Tensor(Array):
    """One on the device: it has no numpy()."""

    def cpu(self):
        return types.SimpleNamespace(numpy=lambda: numpy.array(self.data))

    def sum(self, dim=None, keepdim=False):
        return Tensor(numpy.sum(self.data, axis=dim, keepdims=keepdim))

    def cumsum(self, dim):
        return Tensor(numpy.cumsum(self.data, axis=dim))

    def sort(self):
        return types.SimpleNamespace(values=Tensor(numpy.sort(self.data)))

    def amax(self, dim, keepdim):
        return Tensor(numpy.max(self.data, axis=dim, keepdims=keepdim))


def minimum(a, b):
    if not (isinstance(a, Tensor) and isinstance(b, Tensor)):
        raise TypeError("minimum(): arguments must be tensors")
    return Tensor(numpy.minimum(a.data, b.data))


def from_numpy(a):
    def to(device):
        assert device == "cuda"
        return Tensor(numpy.array(a))

    return types.SimpleNamespace(to=to)


def compile(function, *, dynamic):
    note(f"torch compiled, dynamic={dynamic}")
    return function


compiler = types.SimpleNamespace(reset=lambda: note("torch.compile forgot"))
cuda = types.SimpleNamespace(
    is_available=lambda: True, synchronize=lambda: note("torch waited"),
    max_memory_allocated=lambda: 5 << 20, empty_cache=lambda: note("torch freed"),
    reset_peak_memory_stats=lambda: None)
