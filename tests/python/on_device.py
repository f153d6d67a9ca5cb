# SPDX-License-Identifier: Apache-2.0
"""What tests may expect where arrays lie on a device (BRAZE_TEST_DEVICE): docs/gpu.md, Bits."""

import os

import numpy
import pytest

DEVICE = bool(os.environ.get("BRAZE_TEST_DEVICE"))

# Of tests that compare functions of the device with those of the client's processor, which may
# differ in the last places.
processor_alone = pytest.mark.skipif(DEVICE, reason="the device's functions are not the processor's")


def comparable(x):
    """x as NumPy's array; the sign of a NaN that a device made is its own, so all are alike there."""
    x = numpy.ascontiguousarray(x)
    if not DEVICE or x.dtype.kind not in "fc":
        return x
    parts = x.view(x.real.dtype)
    return numpy.where(numpy.isnan(parts), parts.dtype.type(numpy.nan), parts)
