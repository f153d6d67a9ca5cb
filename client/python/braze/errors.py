# SPDX-License-Identifier: Apache-2.0
"""Exceptions, by the names that proto/errors.def gives them."""

import numpy
from numpy._core._exceptions import UFuncTypeError as _NumpyUFuncTypeError


class BrazeError(RuntimeError):
    """Something only braze can be blamed for, or that only braze has."""


class DaemonGone(BrazeError, ConnectionError):
    """The daemon ended, or none could be reached or started."""


class LostError(BrazeError):
    """The array's value was lost: a worker died while writing it."""


class DeviceError(BrazeError):
    """The device cannot be used."""


class PerformanceWarning(UserWarning):
    """The program is right, and would be quicker otherwise."""


class AxisError(numpy.exceptions.AxisError):
    """An axis is out of bounds or repeated."""

    def __init__(self, message):
        super().__init__(message)


class UFuncTypeError(_NumpyUFuncTypeError):
    """A result that its output array's type cannot take."""

    def __init__(self, message):
        super().__init__(None)
        self.message = message

    def __str__(self):
        return self.message


BY_NAME = {
    "braze.BrazeError": BrazeError,
    "braze.DaemonGone": DaemonGone,
    "braze.LostError": LostError,
    "braze.DeviceError": DeviceError,
    "braze.PerformanceWarning": PerformanceWarning,
    "braze.AxisError": AxisError,
    "braze.UFuncTypeError": UFuncTypeError,
}
for _cls in (
    ValueError,
    TypeError,
    IndexError,
    LookupError,
    OverflowError,
    NotImplementedError,
    MemoryError,
    KeyboardInterrupt,
    TimeoutError,
    OSError,
    ZeroDivisionError,
    FloatingPointError,
):
    BY_NAME[_cls.__name__] = _cls
