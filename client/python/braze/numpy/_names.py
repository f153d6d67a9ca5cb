# SPDX-License-Identifier: Apache-2.0
"""How functions present themselves: NumPy's documentation, NumPy's binding.

A Python function that a class holds becomes a method.  NumPy's functions written in C
do not (`class Model: zeros = numpy.zeros`), so what stands for them must not either.
"""


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
    if binds(theirs):
        return mine
    shown = builtin(mine)
    shown.__module__, shown.__qualname__, shown.__name__ = "braze.numpy", name, name
    return shown
