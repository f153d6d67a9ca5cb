# SPDX-License-Identifier: Apache-2.0
"""What the class ndarray has besides what its arrays compute: annotations, every name of
numpy.ndarray, so that `ndarray.sort` and `dir(ndarray)` know them, too, and those of NumPy's
scalars, which scalars of ours have."""

import types

import numpy

from braze import _core
from braze.numpy import _names, _scalars

ndarray = _core.ndarray


def _class_getitem(cls, item):
    """ndarray[shape, dtype] in annotations."""
    given = item if isinstance(item, tuple) else (item,)
    if not 1 <= len(given) <= 2:
        few = "few" if not given else "many"
        raise TypeError(f"Too {few} arguments for {cls!r}")
    return types.GenericAlias(cls, item)


def _lent_method(name, theirs):
    def method(self, *args, **kwargs):
        return _scalars.method(self, name)(*args, **kwargs)

    method.__doc__ = theirs.__doc__
    return _names.method(name, method)


def _lent_attribute(name, theirs):
    return property(lambda self: _scalars.method(self, name), doc=theirs.__doc__)


def _document(name, theirs):
    """A method of ours is described by NumPy's words."""
    mine = getattr(ndarray, name)
    if isinstance(mine, (types.FunctionType, _core.native_descriptor)) and theirs.__doc__:
        mine.__doc__ = theirs.__doc__


def complete():
    """Give the class what it lacks; called when the methods are attached."""
    ndarray.__class_getitem__ = classmethod(_class_getitem)
    ours = set(dir(ndarray))
    for name, theirs in vars(numpy.ndarray).items():
        if name.startswith("_"):
            continue
        if name in ours:
            _document(name, theirs)
        else:
            lent = _lent_method if callable(theirs) else _lent_attribute
            setattr(ndarray, name, lent(name, theirs))
    for kind in (numpy.bool, numpy.int64, numpy.float64, numpy.complex128):
        for name in dir(kind):
            if not name.startswith("_") and not hasattr(ndarray, name):
                setattr(ndarray, name, _lent_attribute(name, getattr(kind, name)))
