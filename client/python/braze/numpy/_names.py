# SPDX-License-Identifier: Apache-2.0
"""How functions present themselves: NumPy's documentation, NumPy's binding.

A Python function that a class holds becomes a method.  NumPy's functions written in C
do not (`class Model: zeros = numpy.zeros`), so what stands for them must not either.
"""

from braze import _core


class builtin(staticmethod):  # noqa: N801 it is shown as NumPy's are
    """A function that a class may hold without binding it; called as fast as C calls."""

    def __repr__(self):
        return f"<built-in function {self.__name__}>"

    def __reduce__(self):
        return self.__qualname__  # pickled by its name in its module


def binds(theirs):
    """Does NumPy's function become a method in a class?"""
    return hasattr(type(theirs), "__get__")


def present(name, mine, theirs):
    """mine as what stands for NumPy's function of that name."""
    if isinstance(theirs.__doc__, str):
        mine.__doc__ = theirs.__doc__
    if isinstance(mine, type):
        shown = mine
    elif (shown := _core.native(mine, name, binds(theirs))) is not None:  # with a path in C
        shown.__wrapped__, shown.__doc__ = mine, mine.__doc__
    elif binds(theirs):
        return mine
    else:
        shown = builtin(mine)
    shown.__module__, shown.__qualname__, shown.__name__ = "braze.numpy", name, name
    return shown


def method(name, function):
    """A method of the array type: with a path in C where the extension's table has one."""
    made = _core.native(function, "ndarray." + name, True)
    if made is None:
        made = function
    else:
        made.__wrapped__ = function
    made.__name__, made.__qualname__ = name, "ndarray." + name
    made.__module__, made.__doc__ = "braze.numpy", function.__doc__
    return made
