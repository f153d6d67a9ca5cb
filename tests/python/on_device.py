# SPDX-License-Identifier: Apache-2.0
"""What tests may expect where arrays lie on a device (BRAZE_TEST_DEVICE): docs/gpu.md, Bits."""

import os

import numpy
import pytest
from harness import STANDIN_CACHE, Daemon, standin_environment

DEVICE = bool(os.environ.get("BRAZE_TEST_DEVICE"))

# Where the machine's own driver and its libraries lie (BRAZE_TEST_DRIVER=own).
OF_LIBRARIES = ("BRAZE_LIBCUDA", "BRAZE_NVRTC", "BRAZE_LIBCUBLAS", "BRAZE_LIBCUFFT", "BRAZE_LIBCUSOLVER", "BRAZE_LIBCUSPARSE",
                "BRAZE_CUDA_PATHS")


def new_daemon():
    """A daemon as the run has one: of BRAZE_TEST_DEVICE, which sessions then name."""
    device = os.environ.get("BRAZE_TEST_DEVICE")
    if not device:
        return Daemon()
    os.environ["BRAZE_DEVICE"] = device
    if os.environ.get("BRAZE_TEST_DRIVER") == "own":
        return Daemon(env={k: v for k, v in os.environ.items() if k in OF_LIBRARIES},
                      device=f"cpu,{device}")
    # All on the stand-in for a GPU, with the race detector on.
    return Daemon(env=standin_environment(race=1), device=f"cpu,{device}",
                  cache_dir=STANDIN_CACHE / "kernels")


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
