# SPDX-License-Identifier: Apache-2.0
"""NumPy's submodules under braze's name: importable, their functions run NumPy.

``import braze.numpy.linalg`` finds numpy.linalg's names; so does every other submodule
that the installed NumPy has.  A function is wrapped when it is asked for, by name, so
that it pickles; classes, constants and other objects are NumPy's own.

Python finds a name of a module three times as fast where it is an ordinary module without a
__getattr__.  So what programs use in loops gets all its names at once: braze.numpy when it is
imported, the modules in _WHOLE when they are first asked for something.
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
_MORE = {name: f"{OURS}._{name}" for name in ("random", "testing", "fft", "linalg")}
natives = {}  # NumPy's function -> braze's
_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    type(numpy.sort),  # what NumPy dispatches by __array_function__
    numpy.ufunc,
)


_WHOLE = ("numpy.linalg", "numpy.random", "numpy.fft")
_spaces = {}  # by the name of NumPy's module


class Space(types.ModuleType):
    """One submodule; NumPy's is imported when this is asked for something."""

    def __init__(self, theirs):
        super().__init__(OURS + theirs.removeprefix("numpy"))
        self._theirs, self._begun = theirs, False

    def __getattr__(self, name):
        """A name that is asked for for the first time."""
        # Other dunder names are what the import system asks for: NumPy's answers are not ours.
        if name in ("__path__", "__all__") or not name.startswith("__"):
            theirs = begin(self)
            if name not in vars(self) and not name.startswith("__") and hasattr(theirs, name):
                _give(self, name, getattr(theirs, name))
            if name in vars(self):
                return vars(self)[name]
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __repr__(self):
        return f"<module {self.__name__!r} ({self._theirs} on braze's arrays)>"

    def __dir__(self):
        return _listed(self, begin(self))


def _give(space, name, theirs):
    # Where another thread was faster, its object stays.
    vars(space).setdefault(name, wrap(space.__name__, name, theirs))


def _listed(space, theirs):
    public = {n for n in dir(theirs) if not n.startswith("__")}
    return sorted(public | vars(space).keys() - {"_theirs", "_begun", "__dir__"})


def begin(space):
    """NumPy's module; the space has what an import gives it, or all that it can have."""
    theirs = importlib.import_module(space._theirs)
    if not space._begun:
        # As an import does it, whose search takes ten times as long.
        space.__spec__ = space.__spec__ or _Finder.spec(space.__name__, theirs)
        space.__loader__, space.__package__ = _Finder, space.__spec__.parent
        space.__doc__ = theirs.__doc__
        if hasattr(theirs, "__path__"):
            space.__path__ = []  # it has submodules, all found by the finder below
        if "__all__" in vars(theirs):
            space.__all__ = list(theirs.__all__)
        sys.modules.setdefault(space.__name__, space)
        space._begun = True
    if space._theirs in _WHOLE and type(space) is Space:
        fill(space, theirs)
        space.__dir__ = functools.partial(_listed, space, theirs)
        space.__class__ = types.ModuleType
    return theirs


def fill(space, theirs, dunder=False):
    """All names that a module of NumPy's has now, dunder ones where they are asked for."""
    for name, value in list(vars(theirs).items()):
        if name in vars(space) or name == "__getattr__" or (name.startswith("__") and not dunder):
            continue
        _give(space, name, value)


def space(theirs):
    """The module that stands for one of NumPy's, by its name."""
    return _spaces.get(theirs) or _spaces.setdefault(theirs, Space(theirs))


def wrap(module, name, theirs):
    """What an object of NumPy's is in one of our modules."""
    if isinstance(theirs, types.ModuleType):
        return space(theirs.__name__) if theirs.__name__.startswith("numpy.") else theirs
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
        return importlib.machinery.ModuleSpec(
            name, _Finder, origin=f"{theirs.__name__} on braze's arrays", is_package=hasattr(theirs, "__path__"))

    @staticmethod
    def create_module(spec):
        """An import of a name that was found."""
        return space(spec.name.removeprefix("braze."))

    @staticmethod
    def exec_module(module):
        """Its names are wrapped when they are asked for."""
        begin(module)


sys.meta_path.append(_Finder)
