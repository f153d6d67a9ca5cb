# SPDX-License-Identifier: Apache-2.0
"""jax.numpy: NumPy's names over the stand-in's arrays."""

import numpy
from peer_array import fft, lift  # noqa: F401


def __getattr__(name):
    return lift(getattr(numpy, name))
