# SPDX-License-Identifier: Apache-2.0
"""a[mask] while nobody has asked how many elements that are: a selection.

Its sum, product, mean, any and all are computed without storing or counting the elements, and
with the bits that the array of them would give.  Everything else settles the object: it becomes
that array (client/python/selection.c).
"""

import numpy

from braze import _core

ndarray, selection, settle = _core.ndarray, _core.selection, _core.settle
_OPS = {name: _core.op_find(name)[0] for name in ("sum", "prod", "any", "all")}
_DIVIDE = _core.op_find("divide")[0]
_RANKS = 2  # in what the extension holds: the array, the mask, its ranks


def _reduced(op, x, dtype=None):
    """The reduction, lazily; None: x is an array by now, or will have to be one."""
    parts = _core.selected(x)
    if parts is None or parts[0].dtype.char == "e":
        return None
    made, parts[_RANKS] = _core.select_reduce(op, *parts, dtype)
    return made


def _mean(x):
    """The same of the sum divided by the number of elements, the last of the ranks."""
    parts = _core.selected(x)
    exact = parts is not None and parts[0].dtype.kind in "biu"
    total = _reduced(_OPS["sum"], x, numpy.dtype(float) if exact else None)
    if total is None:
        return None
    return _core.apply(_DIVIDE, total, _core.cast(parts[_RANKS][-1], total.dtype))


def _reduction(name):
    def method(self, *args, **kwargs):
        made = None
        if not args and not kwargs:
            made = _mean(self) if name == "mean" else _reduced(_OPS[name], self)
        return getattr(settle(self), name)(*args, **kwargs) if made is None else made

    return method


def _method(name):
    def method(self, *args, **kwargs):
        return getattr(settle(self), name)(*args, **kwargs)

    return method


def _attribute(name):
    def get(self):
        return getattr(settle(self), name)

    def put(self, value):
        setattr(settle(self), name, value)

    return property(get, put)


_OWN = {"__new__", "__init__", "__doc__", "__module__", "__class__", "__getattribute__",
        "__getattr__", "__setattr__", "__delattr__", "__dict__", "__weakref__",
        "__weaklistoffset__", "__buffer__", "__release_buffer__"}


def complete():
    """Whatever an array has, a selection has: it settles."""
    has = set(vars(selection))  # operators: the extension's
    for name, value in vars(ndarray).items():
        if name in _OWN or name in has:
            continue
        made = value if name == "__array_priority__" else None
        if made is None:
            made = _method(name) if callable(value) else _attribute(name)
        setattr(selection, name, made)
    for name in (*_OPS, "mean"):
        setattr(selection, name, _reduction(name))

