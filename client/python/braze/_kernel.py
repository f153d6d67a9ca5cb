# SPDX-License-Identifier: Apache-2.0
"""Kernels: programs of loops over elements, as text (docs/language.md)."""

import numpy as _numpy

from braze import _core


class _Kernel:
    """A checked kernel: call it with its parameters' values, by place or by name."""

    __slots__ = ("__name__", "_kernel", "_parameters", "_results")

    def __init__(self, text):
        if not isinstance(text, str):
            raise TypeError(f"a kernel's text is a str, not {type(text).__name__}")
        self._kernel = _core.kernel_create(text)
        self.__name__, rows = _core.kernel_describe(self._kernel)
        self._parameters = [row for row in rows if not row[4]]
        self._results = len(rows) - len(self._parameters)

    def __repr__(self):
        names = ", ".join(row[0] for row in self._parameters)
        return f"<braze kernel {self.__name__}({names})>"

    def __call__(self, *args, **named):
        values = self._bind(args, named)
        plain = tuple(_argument(v, *row[:4]) for v, row in zip(values, self._parameters))
        out = _core.kernel_call(self._kernel, plain)
        if not self._results:
            return None
        return out[0] if self._results == 1 else out

    @property
    def compiled(self):
        """Does it run by compiled code?"""
        return _core.kernel_compiled(self._kernel)

    def compile(self):
        """Has the daemon compile it now, and waits.  Calls that take some milliseconds do that
        by themselves, without waiting.  RuntimeError where there is no compiler."""
        why = _core.kernel_compile(self._kernel)
        if why:
            raise RuntimeError(f"{self.__name__} is not compiled: {why}")

    def _bind(self, args, named):
        names = [row[0] for row in self._parameters]
        if len(args) > len(names):
            raise TypeError(f"{self.__name__}() takes {len(names)} arguments, not {len(args)}")
        given = dict(zip(names, args))
        for name, value in named.items():
            if name not in names:
                raise TypeError(f"{self.__name__}() has no parameter '{name}'")
            if name in given:
                raise TypeError(f"{self.__name__}() got '{name}' twice")
            given[name] = value
        missing = [name for name in names if name not in given]
        if missing:
            raise TypeError(f"{self.__name__}() lacks a value for '{missing[0]}'")
        return [given[name] for name in names]


def _argument(value, name, dtype, ndim, written):
    return _array(value, name, dtype, ndim, written) if ndim else _scalar(value, name, dtype)


def _array(value, name, dtype, ndim, written):
    ours = isinstance(value, _core.ndarray)
    if not ours and type(value) not in (_numpy.ndarray, _numpy.memmap):
        raise TypeError(f"parameter '{name}' is an array, not {type(value).__name__}")
    if value.dtype != dtype:
        raise TypeError(f"parameter '{name}' is an array of {dtype}, not of {value.dtype}: "
                        f"cast it with astype")
    if value.ndim != ndim:
        raise ValueError(f"parameter '{name}' has {ndim} axes, the array {value.ndim}")
    if written and not value.flags.writeable:
        raise ValueError(f"parameter '{name}' is written, and the array is read-only")
    return value


def _scalar(value, name, dtype):
    """The bytes of a number in the parameter's type."""
    if isinstance(value, _core.ndarray):
        value = _numpy.asarray(value)[()]
    if _numpy.ndim(value) or not isinstance(value, (bool, int, float, complex, _numpy.generic)):
        raise TypeError(f"parameter '{name}' is a scalar of {dtype}, "
                        f"not {type(value).__name__}")
    if isinstance(value, _numpy.generic):
        fits = _numpy.can_cast(value.dtype, dtype, "same_kind")
    else:
        # As NumPy's operators take Python's numbers: by their class.
        classes = "b", "iu", "f", "c"
        have = next(i for i, t in enumerate((bool, int, float, complex)) if isinstance(value, t))
        fits = have <= next(i for i, kinds in enumerate(classes) if dtype.kind in kinds)
    if not fits:
        raise TypeError(f"parameter '{name}' is a scalar of {dtype}, to which "
                        f"{getattr(value, 'dtype', type(value).__name__)} is not cast")
    try:
        return dtype.type(value).tobytes()
    except OverflowError as error:
        raise OverflowError(f"parameter '{name}': {error}") from None


def kernel_from_text(text):
    """The kernel that a text in braze's kernel language defines, as a function.

    Arrays of braze's or NumPy's, of the parameters' types and numbers of axes, and numbers
    go in; what the kernel writes is written in place.  Returns None, a scalar, or a tuple
    of scalars.  A mistake in the text raises ValueError, TypeError, ... with its line and
    column; a wrong index IndexError, after which what was written stays.
    """
    return _Kernel(text)
