# SPDX-License-Identifier: Apache-2.0
"""A stand-in for JAX with a GPU: the names of it that gpubench.py calls."""

import os
import types

import numpy as host  # jax.numpy takes the other name
from peer_array import Array, note

config = types.SimpleNamespace(update=lambda name, value: note(f"jax: {name}={value}"))
note("jax: XLA_PYTHON_CLIENT_PREALLOCATE=" + os.environ.get("XLA_PYTHON_CLIENT_PREALLOCATE", ""))


class Traced(Array):
    """NumPy may read JAX's arrays: it brings them to the host."""

    def __array__(self, *_, **__):
        return host.array(self.data)

    def block_until_ready(self):
        note("jax waited")
        return self


def devices():
    return [types.SimpleNamespace(platform="gpu",
                                  memory_stats=lambda: {"peak_bytes_in_use": 7 << 20})]


def device_put(a):
    return Traced(host.array(a))


def jit(function):
    note("jax compiled")
    return function
