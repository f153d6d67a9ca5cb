# SPDX-License-Identifier: Apache-2.0
"""NumPy's submodules under braze's name: importable, their functions run NumPy.

``import braze.numpy.linalg`` finds numpy.linalg's names; so does every other submodule
that the installed NumPy has.  A function is wrapped when it is asked for, by name, so
that it pickles; classes, constants and other objects are NumPy's own.
"""

import functools
import importlib
import importlib.machinery
import sys
import types

import numpy

from braze.numpy import _fallback, _ufuncs

OURS = "braze.numpy"
own = {}  # "module.name" below numpy: what stands there instead of NumPy's
later = {}  # what makes such a thing when it is asked for
# Modules whose OWN, and LATER, come when they are asked for.
_MORE = {name: f"{OURS}._{name}" for name in ("random", "testing", "fft")}
natives = {}  # NumPy's function -> braze's
_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    type(numpy.sort),  # what NumPy dispatches by __array_function__
    numpy.ufunc,
)


class Space(types.ModuleType):
    """One submodule."""

    def __init__(self, theirs):
        super().__init__(_our_name(theirs), theirs.__doc__)
        self._theirs = theirs
        # As modules have it: a class with a __getattr__ takes longer for names that are there.
        self.__getattr__ = functools.partial(_find, self)
        if hasattr(theirs, "__path__"):
            self.__path__ = []  # it has submodules, all found by the finder below
        if "__all__" in vars(theirs):
            self.__all__ = list(theirs.__all__)

    def __repr__(self):
        return f"<module {self.__name__!r}: {self._theirs.__name__} on braze's arrays>"

    def __dir__(self):
        public = {n for n in dir(self._theirs) if not n.startswith("__")}
        return sorted(public | vars(self).keys() - {"_theirs", "__getattr__"})


def _find(space, name):
    """A name that is asked of a module for the first time."""
    # Dunder names are what the import system asks for: NumPy's answers are not ours.
    if name.startswith("__") or not hasattr(space._theirs, name):
        raise AttributeError(f"module {space.__name__!r} has no attribute {name!r}")
    value = wrap(space.__name__, name, getattr(space._theirs, name))
    setattr(space, name, value)
    return value


def _our_name(theirs):
    return OURS + theirs.__name__.removeprefix("numpy")


def space(theirs):
    """The module that stands for one of NumPy's."""
    name = _our_name(theirs)
    if name not in sys.modules:
        # As an import does it, whose search takes ten times as long.
        made = Space(theirs)
        made.__spec__ = _Finder.spec(name, theirs)
        made.__loader__, made.__package__ = _Finder, made.__spec__.parent
        sys.modules.setdefault(name, made)
    return sys.modules[name]


def wrap(module, name, theirs):
    """What an object of NumPy's is in one of our modules."""
    if isinstance(theirs, types.ModuleType):
        return space(theirs) if theirs.__name__.startswith("numpy.") else theirs
    short = f"{module}.{name}".removeprefix(OURS + ".")
    first = short.partition(".")[0]
    more = _MORE.get(first)
    if more:  # until its names are there, for other threads, too
        own.update(importlib.import_module(more).OWN)
        later.update(getattr(sys.modules[more], "LATER", {}))
        _MORE.pop(first, None)
    if short in later and short not in own:
        make = later[short]  # for several names and threads, but one thing
        own[short] = own.setdefault(make, make())
    if short in own:
        return own[short]
    if not _is_function(theirs) or short.startswith("testing."):
        return theirs
    if theirs in natives:
        return natives[theirs]
    if isinstance(theirs, numpy.ufunc):
        return _ufuncs.make(theirs)
    made = _fallback.wrapper(short, theirs)
    made.__module__, made.__name__, made.__qualname__ = module, name, name
    return made


def _is_function(theirs):
    return isinstance(theirs, _FUNCTIONS) or type(theirs).__name__ == "cython_function_or_method"


class _Finder:
    """Finds ``braze.numpy.X`` where numpy.X is: the last that the import system asks."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """The import system's question; None: there is no such module."""
        if not name.startswith(OURS + "."):
            return None
        theirs = name.removeprefix("braze.")
        try:
            return _Finder.spec(name, importlib.import_module(theirs))
        except ModuleNotFoundError as error:
            if error.name and (theirs + ".").startswith(error.name + "."):
                return None
            raise

    @staticmethod
    def spec(name, theirs):
        """Of the module of that name, which stands for one of NumPy's."""
        return importlib.machinery.ModuleSpec(name, _Finder, is_package=hasattr(theirs, "__path__"))

    @staticmethod
    def create_module(spec):
        """An import of a name that was found."""
        return Space(sys.modules[spec.name.removeprefix("braze.")])

    @staticmethod
    def exec_module(module):
        """Names are wrapped when they are asked for."""


sys.meta_path.append(_Finder)
