# SPDX-License-Identifier: Apache-2.0
"""np.errstate and its kind: what to do about floating-point errors, by context.

NumPy's state is set along, for what NumPy computes.  Ours begins unset: only classes
that a program names are checked, since checking costs operations.  An operation is
treated by the state in which it was recorded, whenever its value is read.
"""

import functools
import sys
import warnings
from contextvars import ContextVar

import numpy

from braze import _core

_CLASSES = ("divide", "over", "under", "invalid")  # bits 1, 2, 4, 8: NumPy's too
_state = ContextVar("braze_errstate", default=None)
_live = 0  # states in some context that ask for anything
_actions = []  # (modes, call) by tag
_tags = {}
_registries = {}  # file name: the warnings given there


class _Unset(str):
    """What geterr says of a class that no program named: seterr leaves it so."""

    __slots__ = ()


class _State:
    """What was asked for.  It dies with the last context that has it."""

    __slots__ = ("masks", "modes", "quiet")

    def __init__(self, modes, call):
        global _live
        self.modes = modes
        raised = sum(1 << k for k, mode in enumerate(modes) if mode == "raise")
        told = sum(1 << k for k, mode in enumerate(modes) if mode not in (None, "ignore", "raise"))
        self.masks = (raised, told, _tag(modes, call) if told else 0)
        self.quiet = not (raised or told)
        if not self.quiet:
            _live += 1
            if _live == 1:
                _core.watching(True)

    def __del__(self):
        global _live
        if not self.quiet:
            _live -= 1
            if _live == 0:
                _core.watching(False)


def _tag(modes, call):
    key = modes, id(call)
    if key not in _tags:
        _actions.append((modes, call))  # keeps call alive, so its id stays its own
        _tags[key] = len(_actions) - 1
    return _tags[key]


def _merged(wishes):
    """The state after these wishes; NumPy's was set already."""
    old = _state.get()
    modes = old.modes if old else (None,) * 4
    every = wishes.get("all")
    modes = tuple(
        mode if new is None else None if isinstance(new, _Unset) else new
        for mode, new in zip(
            modes,
            (every if wishes.get(k) is None else wishes[k] for k in _CLASSES),
            strict=True,
        )
    )
    return _State(modes, numpy.geterrcall()) if any(modes) else None


def _plain(wishes):
    return {k: str(v) if isinstance(v, _Unset) else v for k, v in wishes.items()}


_numpys = numpy.errstate


class errstate(numpy.errstate):
    """Context and decorator: what to do about floating-point errors.

    Of operations recorded here: "raise", "warn", "call", "print" and "log" come where
    the value is read, or at the line within ``braze.eager()``.
    """

    __slots__ = ("_inside", "_wishes")  # _inside: what takes both states back, once entered

    def __init__(self, **wishes):
        _numpys.__init__(self, **_plain(wishes))
        self._wishes, self._inside = wishes, None

    def __enter__(self):
        if self._inside is not None:
            raise TypeError("Cannot enter `np.errstate` twice.")
        _numpys.__init__(self, **_plain(self._wishes))  # C only notes what is wished
        _numpys.__enter__(self)
        self._inside = _state.set(_merged(self._wishes))

    def __exit__(self, *exception):
        _state.reset(self._inside)
        _numpys.__exit__(self)

    def __call__(self, function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            with errstate(**self._wishes):
                return function(*args, **kwargs)

        return inner


def _without_frames():
    """with errstate(...) by fast_errstate.c, which does what NumPy's class does."""
    try:
        from numpy._core.umath import _extobj_contextvar, _make_extobj
    except ImportError:
        return
    _core.errstate_setup(_make_extobj, _extobj_contextvar, _merged, _state)
    for name in ("__init__", "__enter__", "__exit__"):
        general = errstate.__dict__[name]
        shown = _core.native(general, "errstate." + name, True)
        functools.update_wrapper(shown, general)
        setattr(errstate, name, shown)


_without_frames()


def seterr(all=None, divide=None, over=None, under=None, invalid=None):
    """Set what to do about floating-point errors in this context; returns the old state."""
    wishes = {"all": all, "divide": divide, "over": over, "under": under, "invalid": invalid}
    old = geterr()
    numpy.seterr(**_plain(wishes))
    _state.set(_merged(wishes))
    return old


def geterr():
    """What is done about floating-point errors here, by class."""
    modes = getattr(_state.get(), "modes", (None,) * 4)
    theirs = numpy.geterr()
    return {
        k: _Unset(theirs[k]) if mode is None else theirs[k]
        for k, mode in zip(_CLASSES, modes, strict=True)
    }


def seterrcall(func):
    """Set the function for "call" or the object for "log"; returns the old one."""
    old = numpy.seterrcall(func)
    _state.set(_merged({}))
    return old


geterrcall = numpy.geterrcall


def silently(function, *args):
    """function(*args) for a function of NumPy's that reports no errors."""
    if not _live or _state.get() is None:
        return function(*args)
    token = _state.set(None)
    try:
        return function(*args)
    finally:
        _state.reset(token)


def _module(file):
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) == file:
            return name
    return "__main__"


def _warn(message, place):
    if place is None:
        warnings.warn(message, RuntimeWarning, stacklevel=2)
        return
    file, _, line = place.rpartition(":")
    registry = _registries.setdefault(file, {})
    warnings.warn_explicit(message, RuntimeWarning, file, int(line), _module(file), registry)


def _told(error, everything, text, op, place, tag):
    """An error that does not raise reached its first reader."""
    modes, call = _actions[tag]
    mode = modes[error.bit_length() - 1]
    message = f"{text} encountered in {op}"
    if mode == "warn":
        _warn(message, place)
    elif mode == "print":
        sys.stderr.write(f"Warning: {message}\n")
    elif mode == "call":
        if call is None:
            raise NameError(
                f"python callback specified for {text} (in  {op}) but no function found."
            )
        call(text, everything)
    elif mode == "log":
        if call is None:
            raise NameError(
                f"log specified for {text} (in {op}) but no object with write method found."
            )
        call.write(f"Warning: {message}\n")


_core.watch_setup(_state.get, _told)
