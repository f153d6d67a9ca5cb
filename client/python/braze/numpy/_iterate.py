# SPDX-License-Identifier: Apache-2.0
"""numpy.nditer over braze arrays: what it writes is open, as in braze.host(), from the
first element to the last."""

import numpy

from braze import _core
from braze.numpy import _fallback, _sharing

ndarray = _core.ndarray


class Opened:
    """NumPy arrays for braze arrays, of which some are written: all that lie in the
    memory of one that is written are views of it, the others snapshots."""

    def __init__(self, given, written):
        self._memories = []
        opened = []  # arrays, and NumPy's on their memory
        for x, writes in zip(given, written, strict=True):
            if writes and not any(_core.same_buffer(x, y) for y, _ in opened):
                owner = x if x.base is None else x.base
                memory = _core.host_open(owner if _core.writing(owner) == 0 else x)
                self._memories.append(memory)
                opened.append((owner, numpy.asarray(memory)))
        self.arrays = [self._shown(x, opened) for x in given]

    @staticmethod
    def _shown(x, opened):
        for owner, shown in opened:
            if type(x) is ndarray and _core.same_buffer(x, owner):
                return _sharing.window(x, owner, shown)
        return _fallback.to_numpy(x)

    def close(self):
        """The arrays may be used again."""
        for memory in self._memories:
            _core.host_close(memory)
        self._memories = []


_NONE = Opened((), ())


def _flags_of(op_flags, n):
    """The flags of each of n operands."""
    each = [] if op_flags is None else list(op_flags)
    if each and isinstance(each[0], str):
        return [each] * n
    return (each + [()] * n)[:n]


def _written(given, op_flags):
    """Which of the operands are braze arrays that the iterator writes."""
    return [
        type(x) is ndarray and not x._is_scalar
        and any(f in ("readwrite", "writeonly") for f in flags)
        for x, flags in zip(given, _flags_of(op_flags, len(given)), strict=True)
    ]


class nditer:
    """numpy.nditer; arrays of braze's that it writes are open until its end."""

    def __init__(self, op, flags=None, op_flags=None, *args, **kwargs):
        if op_flags is None and not args and not kwargs and type(op) is ndarray:  # it is read
            self._given, self._opened, self._writes = [op], _NONE, False
            self._it = numpy.nditer(_fallback.to_numpy(op), [] if flags is None else flags)
            return
        several = isinstance(op, (tuple, list))
        self._given = list(op) if several else [op]
        written = _written(self._given, op_flags)
        self._opened = Opened(self._given, written)
        self._writes = any(written)
        arrays = self._opened.arrays
        try:
            self._it = numpy.nditer(
                arrays if several else arrays[0], [] if flags is None else flags,
                *([] if op_flags is None and not args else [op_flags or [], *args]),
                **_fallback.to_numpy(kwargs),
            )
        except BaseException:
            self._opened.close()
            raise

    def _whole(self):
        """NumPy's iterator, unless what it would write was given back."""
        if self._writes and not self._opened._memories:
            raise ValueError("the iterator has come to its end, and its operands may be in use")
        return self._it

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._it, name)

    def __setattr__(self, name, value):
        if name.startswith("_"):
            object.__setattr__(self, name, value)
        else:
            setattr(self._whole(), name, value)

    def __len__(self):
        return len(self._it)

    def __getitem__(self, key):
        return self._it[key]

    def __setitem__(self, key, value):
        self._whole()[key] = _fallback.to_numpy(value)

    def __iter__(self):
        return self

    def __next__(self):
        try:
            return next(self._it)
        except StopIteration:
            self._opened.close()
            raise

    def iternext(self):
        """Go on; false at the end."""
        more = self._it.iternext()
        if not more:
            self._opened.close()
        return more

    def reset(self):
        """Back to the first element."""
        self._whole().reset()

    @property
    def operands(self):
        """What the iterator goes over: the arrays that it was given."""
        return tuple(
            x if type(x) is ndarray else _fallback.result(y)
            for x, y in zip(self._given, self._it.operands, strict=True)
        )

    def copy(self):
        """Another iterator at the same place, on the same operands."""
        made = object.__new__(nditer)
        made.__dict__.update(self.__dict__)
        made._it = self._it.copy()
        return made

    __copy__ = copy

    def close(self):
        """Write what is buffered, and give the operands back."""
        self._it.close()
        self._opened.close()

    def __enter__(self):
        self._it.__enter__()
        return self

    def __exit__(self, *error):
        self.close()


def nested_iters(op, axes, flags=None, op_flags=None, *args, **kwargs):
    """numpy.nested_iters over operands that are read."""
    given = list(op) if isinstance(op, (tuple, list)) else [op]
    if any(_written(given, op_flags)):
        raise ValueError(
            "nested_iters writes no braze array: give it numpy.array(a), or what "
            "`with braze.host(a) as n` gives"
        )
    rest = [] if op_flags is None and not args else [op_flags or [], *args]
    return numpy.nested_iters(
        _fallback.to_numpy(op), axes, [] if flags is None else flags, *rest, **kwargs
    )
