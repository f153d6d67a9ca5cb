# SPDX-License-Identifier: Apache-2.0
"""numpy.fft's transforms where the device has a library for them: lazy operations.

A transform has no factor of its own: 1 / n is a multiplication, which becomes part of what follows.
Several axes are one transform after the other, as NumPy makes them.  Every other device, and
every call that is not plain, is NumPy's.
"""

import functools
import operator

import numpy

from braze import _core
from braze.numpy import _creation, _fallback, _names, _ufuncs

ndarray = _core.ndarray
_conjugate = _ufuncs.make(numpy.conjugate)
_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}
_OLD = numpy.lib.NumpyVersion(numpy.__version__) < "2.0.0"  # all in double precision
_REAL_IN, _REAL_OUT = ("rfft", "ihfft"), ("irfft", "hfft")


@functools.cache
def _types(dtype):
    """The type of NumPy's factors, that of its real results and the complex one it computes with."""
    real = numpy.dtype(float) if _OLD else numpy.result_type(numpy.zeros(0, dtype).real.dtype, 1.0)
    wide = real.itemsize > 4
    return real, numpy.dtype("f8" if wide else "f4"), numpy.dtype("c16" if wide else "c8")


def _cast(a, dtype):
    return a if a.dtype == dtype else _core.cast(a, dtype)


def _fitted(a, axis, n):
    """Of n elements along the axis: cropped, or with zeros behind."""
    have = a.shape[axis]
    if have > n:
        return a[(slice(None),) * axis + (slice(n),)]
    if have == n:
        return a
    shape = (*a.shape[:axis], n - have, *a.shape[axis + 1 :])
    return _core.join([a, _creation.zeros(shape, a.dtype)], axis, a.dtype, False)


def _transform(a, op, n, axis, norm):
    """One axis, not negative: "fft", "ifft", "rfft" or "irfft"."""
    factor_type, real, both = _types(a.dtype)
    norm = norm if op in ("fft", "rfft") else _SWAPPED[norm]
    factor = None
    if norm == "ortho":
        factor = numpy.reciprocal(numpy.sqrt(n, dtype=factor_type))
    elif norm == "forward":
        factor = numpy.reciprocal(n, dtype=factor_type)
    a = _cast(a, real if op == "rfft" else both)
    made = _core.fourier("fft." + op, _fitted(a, axis, n // 2 + 1 if op == "irfft" else n), axis, n)
    if factor is not None:
        made = made * float(factor)
    return _cast(made, factor_type) if op == "irfft" else made


def _one(a, name, n, axis, norm):
    """fft and its kind."""
    if name == "hfft":
        turned = _conjugate(a) if a.dtype.kind == "c" else a
        return _transform(turned, "irfft", n, axis, _SWAPPED[norm])
    if name == "ihfft":
        return _conjugate(_transform(a, "rfft", n, axis, _SWAPPED[norm]))
    return _transform(a, name, n, axis, norm)


def _number(x):
    """An int; None: it is none."""
    try:
        return None if isinstance(x, bool) else operator.index(x)
    except TypeError:
        return None


def _is_plain(a, name, norm, out):
    if type(a) is not ndarray or out is not None or not (norm is None or type(norm) is str):
        return False
    if norm not in _SWAPPED or not a.ndim:
        return False
    return (name not in _REAL_IN or a.dtype.kind != "c") and _core.has_fourier()


def _length(a, name, n, axis):
    """That of the transform; None: NumPy has words about it."""
    if n is None:
        n = 2 * (a.shape[axis] - 1) if name in _REAL_OUT else a.shape[axis]
    else:
        n = _number(n)
    return n if n is not None and n >= 1 and (n < 1 << 60) else None


def _axis(a, axis):
    axis = _number(axis)
    return axis % a.ndim if axis is not None and -a.ndim <= axis < a.ndim else None


def _of_one(name):
    def along(a, n=None, axis=-1, norm=None, out=None):
        if _is_plain(a, name, norm, out):
            k = _axis(a, axis)
            length = None if k is None else _length(a, name, n, k)
            if length is not None:
                return _one(a, name, length, k, norm)
        return _left(name, a, out, n=n, axis=axis, norm=norm)

    return along


def _axes(a, s, axes):
    """Axes, not negative, a list; None: NumPy's affair."""
    if axes is None:
        return list(range(a.ndim)) if s is None else None
    if type(axes) not in (tuple, list) or not axes:
        return None
    axes = [_axis(a, k) for k in axes]
    return None if None in axes else axes


def _lengths(a, name, s, axes):
    """(axis, length) of each transform; None: NumPy's affair, errors and warnings above all."""
    axes = _axes(a, s, axes)
    if axes is None:
        return None
    given = [None] * len(axes) if s is None else s
    if s is not None and (type(s) not in (tuple, list) or len(s) != len(axes) or None in s):
        return None
    kinds = [""] * (len(axes) - 1) + [name]  # of half as many numbers along the last
    found = [(k, _length(a, kind, n, k)) for k, n, kind in zip(axes, given, kinds)]
    return None if any(n is None for _, n in found) else found


def _several(a, name, plan, norm):
    """fftn and its kind."""
    last = plan[-1]
    plain = "ifft" if name in ("ifft", "irfft") else "fft"
    if name == "rfft":
        a = _transform(a, name, last[1], last[0], norm)
    for axis, n in reversed(plan[:-1] if name in ("rfft", "irfft") else plan):
        a = _transform(a, plain, n, axis, norm)
    return _transform(a, name, last[1], last[0], norm) if name == "irfft" else a


def _of_several(name, shown, standard):
    def along(a, s=None, axes=standard, norm=None, out=None):
        if _is_plain(a, name, norm, out):
            plan = _lengths(a, name, s, axes)
            if plan is not None:
                return _several(a, name, plan, norm)
        return _left(shown, a, out, s=s, axes=axes, norm=norm)

    return along


@functools.cache
def _numpys(name):
    return _fallback.wrapper("fft." + name, getattr(numpy.fft, name))


def _left(name, a, out, **given):
    if out is not None:  # which NumPy before 2 does not know
        given["out"] = out
    return _numpys(name)(a, **given)


def _shown(name, mine):
    made = _names.present("fft." + name, mine, getattr(numpy.fft, name))
    made.__module__, made.__name__, made.__qualname__ = "braze.numpy.fft", name, name
    return made


FUNCTIONS = {name: _of_one(name) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")}
for _name in ("fft", "ifft", "rfft", "irfft"):
    FUNCTIONS[_name + "2"] = _of_several(_name, _name + "2", (-2, -1))
    FUNCTIONS[_name + "n"] = _of_several(_name, _name + "n", None)
OWN = {"fft." + name: _shown(name, mine) for name, mine in FUNCTIONS.items()}
