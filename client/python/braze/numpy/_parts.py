# SPDX-License-Identifier: Apache-2.0
"""Universal functions with two results: divmod, modf, frexp.

Each result is an operation of its own; the daemon makes one kernel of both, which reads the
operands once.  ufunc.c records plain calls.
"""

import numpy

from braze import _core
from braze.numpy import _fallback, _ufuncs

ndarray = _core.ndarray
_INT32 = numpy.dtype("int32")


def _op(name):
    return _core.op_find(name)[0]


def _divmod(a, b):
    return _core.apply(_DIVIDE, a, b), _core.apply(_REMAINDER, a, b)


def _modf(a):
    fraction = _core.apply(_FRACTION, a)
    a = a if a.dtype == fraction.dtype else _core.cast(a, fraction.dtype)
    return fraction, _core.apply(_TRUNC, a)


def _frexp(a):
    return _core.apply(_MANTISSA, a), _core.cast(_core.apply(_EXPONENT, a), _INT32)


def _real(x):
    """The operand as braze takes it; None: it is NumPy's affair."""
    if type(x) in (int, float):
        return x
    x = x if type(x) is ndarray else _core.from_any(x)
    return x if type(x) is ndarray and x.dtype.kind in "biuf" else None


def _natively(self, args, dtype):
    """Both results, or None."""
    if self._is_watched and _core.is_watching():
        return None  # NumPy's words are its function's
    if dtype is not None:
        args = _ufuncs.cast_operands(args, numpy.dtype(dtype))
    args = [_real(x) for x in args or (None,)]
    if any(x is None for x in args) or not any(type(x) is ndarray for x in args):
        return None
    try:
        made = self._both(*args)
    except (ValueError, TypeError, OverflowError):
        return None
    return made if dtype is None or made[0].dtype == dtype else None


def _outputs(kwargs):
    """The outputs, one for each result; None: NumPy tells what is wrong with them."""
    out = kwargs.get("out")
    if out is None:
        return None, None
    known = type(out) is tuple and len(out) == 2
    return out if known and all(o is None or type(o) is ndarray for o in out) else None


def _fits(out, made):
    return out is None or (
        not out._is_scalar
        and out.shape == made.shape
        and numpy.can_cast(made.dtype, out.dtype, "same_kind")
    )


def _general(self, args, kwargs):
    kwargs = dict(kwargs)
    places = args[self.nin :]
    if places and ("out" in kwargs or len(places) > 2):
        return self.numpy(*_fallback.to_numpy(args), **_fallback.to_numpy(kwargs))
    if places:
        kwargs["out"] = places + (None,) * (2 - len(places))
        args = args[: self.nin]
    outs = _outputs(kwargs)
    plain = len(args) == self.nin and all(map(_ufuncs.is_default, kwargs, kwargs.values()))
    if plain and outs is not None and _fallback.is_output(None, *args):
        made = _natively(self, args, kwargs.get("dtype"))
        if made is not None and all(map(_fits, outs, made)):
            return tuple(
                m if o is None else _ufuncs.store(o, m) for o, m in zip(outs, made, strict=True)
            )
    return _ufuncs.left(self, args, kwargs)


_DIVIDE, _REMAINDER = _op("floor_divide"), _op("remainder")
_FRACTION, _TRUNC = _op("modf.fraction"), _op("trunc")
_MANTISSA, _EXPONENT = _op("frexp.mantissa"), _op("frexp.exponent")
_BOTH = {numpy.divmod: _divmod, numpy.modf: _modf, numpy.frexp: _frexp}
for _function, _both in _BOTH.items():
    _made = _ufuncs.new(_function, _general, None)
    _made._both, _made._is_watched = _both, _function is numpy.divmod
    _ufuncs.by_numpy[_function] = _made
