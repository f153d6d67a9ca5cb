# SPDX-License-Identifier: Apache-2.0
"""What NumPy's test files import in the place of numpy.

SUITE_SIDE=numpy: NumPy itself, through the same doors.  SUITE_SIDE=braze: the public
namespace is braze.numpy's.  NumPy's internals (numpy._core, numpy.lib._x) stay its
own, with the public functions that they hold replaced by braze's.  The asserts of
numpy.testing get braze arrays as NumPy arrays, so that they judge values, types and
shapes and nothing else.
"""

import contextlib
import functools
import importlib
import os
import types

import numpy
import numpy.testing
import pytest

SIDE = os.environ.get("SUITE_SIDE", "numpy")
if SIDE == "braze":
    import braze
    import braze.numpy as xp
    from braze.numpy._fallback import to_numpy
else:
    xp = numpy

    def to_numpy(x):
        return x


# Asserts that are given values; the others are given functions to call.
_GIVEN_FUNCTIONS = ("raises", "warns", "no_warnings", "no_gc_cycles")
LEFT_OUT_MEMORY = "left out: needs gigabytes"


def _needs_memory(free_bytes):
    """In the place of NumPy's decorator: such tests are left out on both sides."""
    return pytest.mark.skip(reason=LEFT_OUT_MEMORY)


def _converting(function):
    @functools.wraps(function)
    def converted(*args, **kwargs):
        return function(*to_numpy(args), **to_numpy(kwargs))

    return converted


def _testing_name(name, value):
    given_values = name.startswith("assert") and not any(w in name for w in _GIVEN_FUNCTIONS)
    if name == "requires_memory":
        return _needs_memory
    return _converting(value) if callable(value) and given_values else value


@functools.cache
def _replaced():
    """id of a public function or type of NumPy's -> braze's."""
    if SIDE == "numpy":
        return {}
    found = {}
    for path in ("", "linalg", "fft", "random"):
        theirs_space = getattr(numpy, path) if path else numpy
        mine_space = getattr(xp, path) if path else xp
        for name in dir(theirs_space):
            if name.startswith("_"):
                continue
            theirs = getattr(theirs_space, name)
            mine = getattr(mine_space, name, theirs)
            if mine is not theirs and callable(theirs):
                found[id(theirs)] = mine
    return found


class _Internal(types.ModuleType):
    """One of NumPy's inner modules, its public functions replaced."""

    def __init__(self, theirs):
        super().__init__(theirs.__name__, theirs.__doc__)
        own = _replaced()
        self.__dict__.update({
            name: own.get(id(value), value)
            for name, value in vars(theirs).items()
            if not isinstance(value, types.ModuleType)
        })
        self.__dict__["_theirs"] = theirs

    def __getattr__(self, name):
        value = getattr(self._theirs, name)
        return module(value.__name__) if isinstance(value, types.ModuleType) else value


class _Testing(types.ModuleType):
    """numpy.testing and what is below it."""

    def __init__(self, theirs):
        super().__init__(theirs.__name__)
        self._theirs = theirs

    def __getattr__(self, name):
        value = getattr(self._theirs, name)
        if isinstance(value, types.ModuleType):
            return module(value.__name__) if value.__name__.startswith("numpy") else value
        return _testing_name(name, value)


class _errstate(contextlib.ContextDecorator):  # noqa: N801 as numpy.errstate
    """np.errstate for tests that expect an error in the line that computes: braze's, in
    braze.eager(), which its documentation names for that."""

    def __init__(self, **wishes):
        self._wishes, self._open = wishes, []

    def __enter__(self):
        stack = contextlib.ExitStack()
        stack.enter_context(xp.errstate(**self._wishes))
        if any(value not in (None, "ignore") for value in self._wishes.values()):
            stack.enter_context(braze.eager())
        self._open.append(stack)

    def __exit__(self, *exception):
        self._open.pop().__exit__(*exception)


class _Space(types.ModuleType):
    """braze.numpy, with NumPy's internals below it."""

    errstate = _errstate

    def __getattr__(self, name):
        if name in ("_core", "core", "lib", "testing"):
            return module("numpy." + name)
        return getattr(xp, name)

    def __setattr__(self, name, value):
        setattr(xp, name, value)

    def __dir__(self):
        return dir(xp)


def _below_braze(path):
    """braze's own module of a public path, where it has one."""
    found = xp
    for part in path.split(".")[1:]:
        if part.startswith("_") or not hasattr(found, part):
            return None
        found = getattr(found, part)
    return None if isinstance(found, types.ModuleType) and found.__name__ == path else found


@functools.cache
def module(path):
    """The module that a test file gets for an import of path."""
    theirs = importlib.import_module(path)
    if path.startswith("numpy.testing"):
        return _Testing(theirs)
    if SIDE == "numpy":
        return theirs
    if path == "numpy":
        return _Space("numpy")
    if ".tests" in path or path.rpartition(".")[2].endswith("_tests"):
        return theirs
    return _below_braze(path) or _Internal(theirs)


def name(path, attribute):
    """What `from path import attribute` binds."""
    try:
        return getattr(module(path), attribute)
    except AttributeError:
        return module(f"{path}.{attribute}")
