# SPDX-License-Identifier: Apache-2.0
"""braze: NumPy programs, recorded here and computed by a resident daemon.

``import braze.numpy as np`` is the drop-in.  This module holds what NumPy has
no name for: sessions, devices, eager mode, arrays in shared memory.
"""

import collections
import contextlib
import importlib
import math
import operator
import os
import sys
import threading

import numpy as _numpy

if int(_numpy.__version__.partition(".")[0]) < 2:
    raise ImportError(f"braze needs NumPy 2.0 or newer, and this Python has {_numpy.__version__} in "
                      f"{os.path.dirname(_numpy.__file__)}")
if "t" in sys.abiflags:
    raise ImportError("braze does not run in a free-threaded Python (its state is guarded by the "
                      "interpreter lock): use the ordinary build of this version")

from braze import _core, _cuda, _kernel, _who  # noqa: E402
from braze._arrow import asarray
from braze._kernel import kernel_from_text
from braze._publish import open, publish, shared, unpublish  # noqa: A004
from braze.errors import (
    AxisError,
    BrazeError,
    DaemonGone,
    DeviceError,
    LostError,
    PerformanceWarning,
    UFuncTypeError,
)

__version__ = _core.version
__all__ = [
    "AxisError",
    "BrazeError",
    "DaemonGone",
    "DeviceError",
    "LostError",
    "PerformanceWarning",
    "UFuncTypeError",
    "asarray",
    "close",
    "counters",
    "device",
    "devices",
    "eager",
    "empty",
    "explain",
    "fallbacks",
    "flush",
    "host",
    "is_stored",
    "kernel_from_text",
    "open",
    "precision",
    "profile",
    "publish",
    "session",
    "session_name",
    "shared",
    "shared_arrays",
    "sparse",
    "unfused",
    "unpublish",
    "wait",
]

_CAPTURING = frozenset((
    "atomic_compare_exchange", "jit", "kernel", "prange", "vectorize",
    "MDRangePolicy", "RangePolicy", "parallel_for", "parallel_reduce", "parallel_scan",
    *(f"atomic_{fetch}{word}" for fetch in ("", "fetch_")
      for word in ("add", "sub", "mul", "min", "max", "and", "or", "xor", "exchange"))))
__all__ += sorted(_CAPTURING)

_EAGER = 1
_UNFUSED = 2


def _environment_flags():
    flags = 0
    for name, bit in (("BRAZE_EAGER", _EAGER), ("BRAZE_UNFUSED", _UNFUSED)):
        if os.environ.get(name, "0") not in ("", "0"):
            flags |= bit
    return flags


_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


_cuda.name_packages()
_core.set_package(_PACKAGE)
_core.set_name(_who.name())
_core.set_place(_who.file(), _who.environment())
_core.set_flags(_environment_flags())
os.register_at_fork(after_in_child=_core.forked)


_flag_lock = threading.Lock()
_flag_users = {_EAGER: 0, _UNFUSED: 0}


def _count_flag(bit, change):
    """The flags belong to the session, which threads share: set while any wants them."""
    with _flag_lock:
        _flag_users[bit] += change
        wanted = (b for b, users in _flag_users.items() if users)
        _core.set_flags(sum(wanted) | _environment_flags())


@contextlib.contextmanager
def _flag(bit):
    _count_flag(bit, 1)
    try:
        yield
    finally:
        _count_flag(bit, -1)


def eager():
    """Context: every operation runs when it is recorded (for debugging)."""
    return _flag(_EAGER)


def unfused():
    """Context: one kernel for each operation (for debugging)."""
    return _flag(_UNFUSED)


@contextlib.contextmanager
def device(name):
    """Context: operations recorded here run on the named device.

    "cpu", "cuda:0", ... as ``braze.devices()`` lists them; "auto": the daemon chooses
    by cost.  Of the session, which the process's threads share.  BRAZE_DEVICE names
    one for the whole process; braze.device("cpu")(f)(x) makes one call, and
    @braze.device("cpu") a function, run there.  DeviceError: the daemon has no such
    device; a device that it has but cannot use fails when a result is read.
    """
    old = _core.set_device(name)
    try:
        yield
    finally:
        _core.set_device(old)


@contextlib.contextmanager
def precision(name):
    """Context: how exact matrix products of float32 and complex64 recorded here are on a GPU.

    "full": as exact as their type; "tf32": the tensor cores may multiply operands rounded to 10
    bits of mantissa, several times as fast, and add up in float32.  What the CPU or braze's own kernels compute
    does not change.  Of the session, which the process's threads share.  BRAZE_PRECISION names one
    for the whole process; braze.precision("tf32")(f)(x) is for one call, and
    @braze.precision("tf32") for a function.
    """
    old = _core.set_precision(name)
    try:
        yield
    finally:
        _core.set_precision(old)


def devices():
    """Names of the daemon's devices, the CPU first."""
    return _core.devices()


def fallbacks():
    """How often each function was left to NumPy: a dict of name to count."""
    from braze.numpy import _fallback

    return dict(_fallback.counts + collections.Counter(_core.numpys_counts()))


class _Lines(str):
    """Text whose lines a prompt shows as lines."""

    __slots__ = ()

    def __repr__(self):
        return str(self)


def __getattr__(name):
    """Capturing loops takes Python's parser: it is loaded when a program first asks for it, as braze.random is."""
    if name in ("numpy", "random"):
        return importlib.import_module(f"braze.{name}")
    if name == "sparse":
        globals()[name] = importlib.import_module("braze._sparse").sparse
        return globals()[name]
    if name not in _CAPTURING:
        raise AttributeError(f"module 'braze' has no attribute '{name}'")
    from braze import _jit
    from braze._jit import units

    for known in _CAPTURING:
        globals()[known] = getattr(units if hasattr(units, known) else _jit, known)
    return globals()[name]


def explain(array, *args):
    """How was the array's value made, and why so?  Lines of text, for people.

    Near: in this process, in the call itself.  Far: by the daemon; then the reason why, the
    plan's steps with their kernels, loops and predicted times, and why steps stayed apart.
    The value is waited for first.

    Of a function that `braze.jit` made: which of its loops are kernels, their texts and the
    types of their variables, and why others stay Python.  With arguments it is called with
    copies of them first: that tells types, and of each loop whether it may run on several cores
    with these, and why not.  So of a kernel of text.
    """
    if args:
        import copy

        if not hasattr(array, "__braze_jit__") and not isinstance(array, _kernel._Kernel):
            raise TypeError("only kernels and functions that braze.jit made are explained with "
                            "arguments")
        _core.kernel_explain(True)
        try:
            array(*(copy.copy(a) for a in args))
        finally:
            _core.kernel_explain(False)
    if isinstance(array, _kernel._Kernel):
        return _Lines((_core.kernel_loops(array._kernel) or "it was not called").rstrip())
    known = getattr(array, "__braze_jit__", None)
    if known is not None:
        return _Lines(known.explain().rstrip())
    return _Lines(_core.explain(_elements(array)).rstrip())


def counters():
    """What this process's session did: ops, packets, demands, round trips."""
    return _core.counters()


wait = _core.wait


def flush():
    """Send what is recorded without waiting for anything."""
    _core.flush()


def close():
    """End the connection: stored arrays stay readable, the next use connects again."""
    _core.close()


def session(*, name):
    """Name this process's session for operators (brazectl sessions, top).

    From the call on; as a context, until the block ends.  BRAZE_NAME does the same from
    outside; without either it is the script's or the notebook's name.
    """
    return _who.Named(name)


def session_name(name):
    """Name this process's session for operators; returns the old name."""
    return _core.set_name(name)


def profile():
    """Context: what the block's time goes to, line by line.

    with braze.profile() as p: ...; then print(p.text()), or show p in a notebook.
    """
    from braze import _profile

    return _profile.Profile()


def load_ipython_extension(shell):
    """%load_ext braze: %%braze, %braze kernels, %braze status."""
    from braze import _magics

    _magics.load(shell)


def is_stored(array):
    """Would reading the array do without waiting?"""
    return _core.is_stored(_elements(array))


def _elements(array):
    """What an array of bfloat16 keeps its elements in; others as they are."""
    return getattr(array, "_bits", array)


@contextlib.contextmanager
def host(array):
    """Context: a writable NumPy array on the braze array's own memory.

    Until the block ends, operations on the array (or its views) raise
    BrazeError.  The NumPy array turns read-only when the block ends.
    """
    memory = _core.host_open(array)
    view = _numpy.asarray(memory)
    try:
        yield view
    finally:
        view.flags.writeable = False
        _core.host_close(memory)


def empty(shape, dtype=float):
    """A NumPy array, uninitialised, whose memory the daemon shares.

    Fill it, then ``braze.numpy.asarray`` takes it over without a copy and makes
    it read-only; write it afterwards through ``braze.host``.
    """
    if not isinstance(shape, (tuple, list)):
        shape = (operator.index(shape),)
    dtype = _numpy.dtype(dtype)
    if math.prod(shape) == 0:
        return _numpy.empty(shape, dtype)
    return _numpy.asarray(_core.host_empty(tuple(shape), dtype))


@contextlib.contextmanager
def shared_arrays():
    """Context: data of new NumPy arrays of this thread lies in shared memory.

    ``braze.numpy.asarray`` takes such arrays over by one copy less where their
    type allows.  After fork() parent and child share this memory.
    """
    old = _core.host_install()
    try:
        yield
    finally:
        _core.host_restore(old)
