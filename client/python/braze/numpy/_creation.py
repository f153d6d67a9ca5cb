# SPDX-License-Identifier: Apache-2.0
"""Making arrays: from data, from a rule, or uninitialised."""

import math
import numbers
import operator

import numpy

from braze import _core
from braze.numpy import _fallback, _flags, _order

ndarray = _core.ndarray
native = _fallback.native_dtype


def extent(n):
    """One extent of a shape.  NumPy takes no bool for one."""
    if isinstance(n, (bool, numpy.bool_)):
        raise TypeError("an integer is required")
    return operator.index(n)


def shape_tuple(shape):
    """An int or a sequence of ints as a tuple."""
    if type(shape) is int:
        shape = (shape,)
    elif isinstance(shape, (tuple, list)):
        shape = tuple([n if type(n) is int else extent(n) for n in shape])
    elif type(shape) is ndarray and shape.ndim or isinstance(shape, numpy.ndarray) and shape.ndim:
        shape = tuple(int(n) for n in shape)
    else:
        shape = (extent(shape),)
    if shape and min(shape) < 0:
        raise ValueError("negative dimensions are not allowed")
    if shape and max(shape) >= 1 << 63:
        raise ValueError("Maximum allowed dimension exceeded")
    return shape


def dtype_of(dtype):
    """numpy.dtype(dtype); of a class of types (numpy.dtypes.StrDType) its default."""
    made = numpy.dtype(dtype)
    if made.hasobject and isinstance(dtype, type) and issubclass(dtype, numpy.dtype):
        made = numpy.empty(0, dtype).dtype
    return made


def check_device(device):
    """To NumPy's functions all arrays are where Python is; braze.device() says more."""
    if device not in (None, "cpu"):
        raise ValueError(
            f'Device not understood. Only "cpu" is allowed, but received: {device}'
        )


_COPY_MODES = {
    numpy._CopyMode.ALWAYS: True,
    numpy._CopyMode.IF_NEEDED: None,
    numpy._CopyMode.NEVER: False,
}


def copy_mode(copy):
    """copy= as True, False or None."""
    if copy is None or type(copy) is bool:
        return copy
    if isinstance(copy, numpy._CopyMode):
        return _COPY_MODES[copy]
    if isinstance(copy, str):
        raise ValueError("strings are not allowed for 'copy' keyword. Use True/False/None instead.")
    return bool(copy)


def c_strides(shape, itemsize):
    """The strides of a C-contiguous array."""
    strides = []
    for n in reversed(shape):
        strides.append(itemsize)
        itemsize *= n
    return tuple(reversed(strides))


def _usable(dtype, shape):
    return native(dtype) and len(shape) <= 8


def ndarray_new(shape, dtype=float, buffer=None, offset=0, strides=None, order=None):
    """ndarray(shape, dtype): uninitialised; on a buffer a view of it, NumPy's where the
    buffer is not an array of braze's."""
    if isinstance(shape, numbers.Rational) and not isinstance(shape, numbers.Integral):
        # statistics: a result in its data's type
        return _core.scalar(numpy.float64(shape))
    if buffer is None and strides is None and offset == 0:
        return empty(shape, dtype, order or "C")
    made = numpy.ndarray(shape, dtype, _fallback.to_numpy(buffer), offset, strides, order)
    if type(buffer) is ndarray:
        return _fallback.result(made)
    return _fallback.from_numpy(made) if buffer is None else made


def empty(shape, dtype=float, order="C", *, device=None, like=None):
    """Uninitialised array."""
    if device is not None:
        check_device(device)
    shape, dtype = shape_tuple(shape), dtype_of(dtype)
    if not _usable(dtype, shape):
        return numpy.empty(shape, dtype, order)
    if order == "C":
        return _core.empty(shape, dtype)
    return _new(shape, order, lambda s: _core.empty(s, dtype))


def _new(shape, order, make):
    """A new array in C or Fortran order."""
    if _order.parse_new(order) == "C":
        return make(shape)
    return _order.arranged(tuple(range(len(shape)))[::-1], shape, make)


def zeros(shape, dtype=float, order="C", *, device=None, like=None):
    """Array of zeros."""
    if device is not None:
        check_device(device)
    shape, dtype = shape_tuple(shape), dtype_of(dtype)
    if not _usable(dtype, shape):
        return numpy.zeros(shape, dtype, order)
    if order == "C":
        return _core.full(shape, dtype, 0)
    return _new(shape, order, lambda s: _core.full(s, dtype, 0))


def ones(shape, dtype=None, order="C", *, device=None, like=None):
    """Array of ones."""
    if device is not None:
        check_device(device)
    shape, dtype = shape_tuple(shape), dtype_of(float if dtype is None else dtype)
    if not _usable(dtype, shape):
        return numpy.ones(shape, dtype, order)
    if order == "C":
        return _core.full(shape, dtype, 1)
    return _new(shape, order, lambda s: _core.full(s, dtype, 1))


def written(value, dtype, casting="unsafe"):
    """What numpy.copyto writes of a value that is not braze's, in the value's shape."""
    value = _fallback.to_numpy(value)
    if type(value) is numpy.ndarray and value.dtype == dtype:
        return value
    made = numpy.empty(numpy.shape(value), dtype)
    numpy.copyto(made, value, casting)
    return made


def full(shape, fill_value, dtype=None, order="C", *, device=None, like=None):
    """Array of one value."""
    if device is not None:
        check_device(device)
    if _fallback.is_foreign(fill_value):
        return _fallback.leave(numpy.full, shape, fill_value, dtype, order)
    shape = shape_tuple(shape)
    if dtype is None:
        dtype = numpy.asarray(_fallback.to_numpy(fill_value)).dtype
    dtype = dtype_of(dtype)
    if not _usable(dtype, shape):
        return numpy.full(shape, _fallback.to_numpy(fill_value), dtype, order)
    if type(fill_value) is not ndarray:
        fill_value = written(fill_value, dtype)
        if not fill_value.ndim:
            if order == "C":
                return _core.full(shape, dtype, fill_value[()])
            return _new(shape, order, lambda s: _core.full(s, dtype, fill_value[()]))
    made = empty(shape, dtype, order)
    made[...] = fill_value.astype(dtype)  # casts unasked, where an assignment would check
    return made


def _axes_like(a, to, order):
    """How the axes of a new array of the shape `to` lie, fastest last; None: as in C."""
    if order == "A":
        order = "F" if _order.is_fortran(a) else "C"
    if order == "F":
        return tuple(range(len(to)))[::-1]
    return _order.layout(a, order) if len(to) == a.ndim else None


def _like(a, dtype, shape, order, make):
    """A new array of another's shape, type and order; make gives one of a shape and type."""
    if shape is None and type(a) is ndarray and order == "K" and _core.orders(a) & 1:
        return make(a.shape, a.dtype if dtype is None else numpy.dtype(dtype))
    if type(a) is not ndarray and not hasattr(a, "dtype"):
        a = numpy.asarray(_fallback.to_numpy(a))
    order = _order.parse(order, "K")
    dtype = a.dtype if dtype is None else numpy.dtype(dtype)
    to = a.shape if shape is None else shape_tuple(shape)
    axes = _axes_like(a, to, order)
    if axes is None or not _usable(dtype, to):
        return make(to, dtype)
    return _order.arranged(axes, to, lambda s: make(s, dtype))


def empty_like(prototype, dtype=None, order="K", subok=True, shape=None, *, device=None):
    """Uninitialised array of another's shape and type."""
    if device is not None:
        check_device(device)
    if type(prototype) is not ndarray and _fallback.is_foreign(prototype):
        return _fallback.leave(numpy.empty_like, prototype, dtype, order, subok, shape)
    return _like(prototype, dtype, shape, order, empty)


def zeros_like(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
    """Zeros of another array's shape and type."""
    if device is not None:
        check_device(device)
    if type(a) is not ndarray and _fallback.is_foreign(a):
        return _fallback.leave(numpy.zeros_like, a, dtype, order, subok, shape)
    return _like(a, dtype, shape, order, zeros)


def ones_like(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
    """Ones of another array's shape and type."""
    if device is not None:
        check_device(device)
    if type(a) is not ndarray and _fallback.is_foreign(a):
        return _fallback.leave(numpy.ones_like, a, dtype, order, subok, shape)
    return _like(a, dtype, shape, order, ones)


def full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    """One value, in another array's shape and type."""
    if device is not None:
        check_device(device)
    if _fallback.is_foreign(a) or _fallback.is_foreign(fill_value):
        return _fallback.leave(numpy.full_like, a, fill_value, dtype, order, subok, shape)
    if numpy.ndim(_fallback.to_numpy(fill_value)):
        made = empty_like(a, dtype, order, subok, shape)
        made[...] = full(made.shape, fill_value, made.dtype)
        return made
    return _like(a, dtype, shape, order, lambda s, d: full(s, fill_value, d))


def _as_numpy(obj, dtype, **kwargs):
    if type(obj) in (list, tuple):
        found = _core.arrays_in(obj)
        if found:
            for k in range(0, len(found), 256):
                _core.wait(*found[k : k + 256])  # one round trip for many values
            obj = _fallback.to_numpy(obj)
    if not kwargs:
        return _fallback.array(obj, dtype)
    return _fallback.run(numpy.array, (obj,), {"dtype": dtype, **kwargs})


def array(object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0, like=None):
    """A new array from data, copied unless copy=False or None."""
    if copy is True and order == "K" and not ndmin:  # what most calls ask for
        if type(object) is not ndarray:
            if not subok or not _fallback.is_foreign(object):
                return _fallback.from_numpy(_as_numpy(object, dtype))
        elif dtype is None:
            return _order.copied(object, order)
    return _array(object, dtype, copy, order, subok, ndmin)


def _array(object, dtype, copy, order, subok, ndmin):
    if isinstance(copy, str):
        raise ValueError("strings are not allowed for 'copy' keyword. Use True/False/None instead.")
    if subok and isinstance(object, numpy.ndarray) and _fallback.is_foreign(object):
        return numpy.array(object, dtype, copy=copy, order=order, subok=True, ndmin=ndmin)
    order, copy = _order.parse(order, "K"), copy_mode(copy)
    if not copy:
        return _min_axes(public_asarray(object, dtype, order, copy=copy), ndmin, order)
    if type(object) is ndarray:
        if dtype is not None and not native(numpy.dtype(dtype)):
            return _fallback.from_numpy(
                numpy.array(object, dtype=dtype, order=order, ndmin=ndmin)
            )
        if dtype is None or numpy.dtype(dtype) == object.dtype:
            return _min_axes(_order.copied(object, order), ndmin, order)
        cast = array_cast(object, dtype, "K" if order == "A" else order)  # as NumPy's does
        return _min_axes(_no_scalar(cast), ndmin, order)
    return _fallback.from_numpy(_as_numpy(object, dtype, order=order, ndmin=ndmin))


def array_cast(a, dtype, order="K"):
    """A copy of a in another of braze's types, by value as astype casts."""
    dtype = numpy.dtype(dtype)
    if a.dtype.kind == "c" and dtype.kind not in "cb":
        _fallback.warn_complex()
    if order == "C" or order == "K" and _core.orders(a) & 1:
        made = _core.empty(a.shape, dtype)
    else:
        axes = _order.layout(a, order)
        made = _order.arranged(axes, a.shape, lambda s: _core.empty(s, dtype))
    _core.assign(made, _core.cast(a, dtype), True)
    return made if not a._is_scalar else _core.cast(a, dtype)


def _min_axes(a, ndmin, order):
    if a.ndim >= ndmin:
        return a
    if type(a) is not ndarray or ndmin > 8:
        return numpy.array(a, copy=None, ndmin=ndmin)
    made = a[(None,) * (ndmin - a.ndim) + (...,)]
    return _order.copied(made, order) if order in "CF" and not _order.has(made, order) else made


def asarray(a):
    """a as a braze array where it is data, also of shared memory, which is taken over;
    what braze cannot hold as NumPy's; what is more than data as it is."""
    return a if type(a) is ndarray or _fallback.is_foreign(a) else converted(a)


def converted(a, dtype=None, order=None, *, device=None, copy=None, like=None):
    """a as a braze array: itself, shared memory taken over, or a copy."""
    if device is not None:
        check_device(device)
    if type(a) is ndarray and dtype is None and order is None and not copy:
        return a
    order = "K" if order is None else _order.parse(order, "K")
    if copy:
        return array(a, dtype, order=order)
    if isinstance(a, (ndarray, numpy.ndarray)) and _fits(a, dtype, order):
        made = a if type(a) is ndarray else _core.adopt(a)
        if made is not None:
            _freeze(a)
            return made
    if copy is False:
        numpy.array([0], copy=False)  # NumPy's error, whose words depend on its version
    if type(a) is ndarray:
        return array(a, dtype, order=order)
    if _is_bfloat16(a, dtype):
        return a
    return _fallback.from_numpy(_as_numpy(a, dtype, copy=None, order=order))


def _is_bfloat16(a, dtype):
    """Is it an array of bfloat16, of ours, and to stay one?"""
    if not _fallback.wrappers:  # there are none
        return False
    from braze.numpy import _bfloat16

    return type(a) is _bfloat16.Bfloat16Array and dtype in (None, a.dtype)


def _fits(a, dtype, order):
    return (dtype is None or numpy.dtype(dtype) == a.dtype) and _order.has(a, order)


def _freeze(a):
    """The daemon reads this memory from now on: NumPy may not write it."""
    while isinstance(a, numpy.ndarray):
        a.flags.writeable = False
        a = a.base


def _no_scalar(a):
    """An array that may be written in the place of a scalar, which may not."""
    return a[...] if type(a) is ndarray and a._is_scalar else a


def public_asarray(a, dtype=None, order=None, *, device=None, copy=None, like=None):
    """a as a braze array: itself, shared memory taken over, or a copy."""
    made = converted(a, dtype, order, device=device, copy=copy)
    return made[...] if type(made) is ndarray and made._is_scalar else made


def asanyarray(a, dtype=None, order=None, *, device=None, copy=None, like=None):
    """As asarray, but subclasses of numpy.ndarray stay what they are."""
    if isinstance(a, numpy.ndarray) and _fallback.is_foreign(a):
        return numpy.asanyarray(a, dtype, order, device=device, copy=copy)
    return public_asarray(a, dtype, order, device=device, copy=copy, like=like)


def _contiguous(a, dtype, order):
    made = public_asarray(a, dtype, order)
    return made if made.ndim else made.reshape((1,))


def ascontiguousarray(a, dtype=None, *, like=None):
    """A C-contiguous array with at least one axis: a itself if it is one."""
    return _contiguous(a, dtype, "C")


def asfortranarray(a, dtype=None, *, like=None):
    """A Fortran-contiguous array with at least one axis: a itself if it is one."""
    return _contiguous(a, dtype, "F")


_REQUIRED = {
    "C": "C", "C_CONTIGUOUS": "C", "CONTIGUOUS": "C",
    "F": "F", "F_CONTIGUOUS": "F", "FORTRAN": "F",
    "A": "A", "ALIGNED": "A", "W": "W", "WRITEABLE": "W",
    "O": "O", "OWNDATA": "O", "E": "E", "ENSUREARRAY": "E",
}


def require(a, dtype=None, requirements=None, *, like=None):
    """a itself where it has the type and what is required, else a copy."""
    if not requirements:
        return asanyarray(a, dtype=dtype)
    wanted = {_REQUIRED[x.upper()] for x in requirements}
    if {"C", "F"} <= wanted:
        raise ValueError("Cannot specify both \"C\" and \"F\" order")
    order = "F" if "F" in wanted else "C" if "C" in wanted else "A"
    made = public_asarray(a, dtype, order)
    for name in wanted & {"A", "W", "O"}:
        if not made.flags[name]:
            return made.copy(order)
    return made


def copy(a, order="K", subok=False):
    """A copy of a."""
    if type(a) is not ndarray and _fallback.is_foreign(a):
        return _fallback.leave(numpy.copy, a, order, subok)
    return array(a, order=order)


_MISSING = numpy._NoValue
_REALS = (int, float, numpy.integer, numpy.floating)


def _range_bounds(start, stop, step):
    """The three numbers that arange's arguments stand for."""
    given = [_fallback.to_numpy(x) for x in (start, stop, step)]
    given = [x.item() if isinstance(x, numpy.ndarray) and not x.ndim else x for x in given]
    if given[1] is None:
        given = [0, given[0], given[2]]
    if given[2] is None:
        given[2] = 1
    return given


def _range_ends(start, stop):
    """NumPy's two ways of giving them: stop alone, or both."""
    if start is _MISSING and stop is _MISSING:
        raise TypeError("arange() requires stop to be specified.")
    if start is _MISSING:
        return 0, stop
    return (0, start) if stop is _MISSING else (start, stop)


def arange(
    start=_MISSING, stop=_MISSING, step=None, dtype=None, *, device=None, like=None
):
    """Evenly spaced values in [start, stop)."""
    if device is not None:
        check_device(device)
    first, last, step = given = _range_bounds(*_range_ends(start, stop), step)
    if dtype is None:
        dtype = numpy.arange(0, dtype=None).dtype if all(type(x) is int for x in given) else (
            numpy.result_type(*(numpy.asarray(x) for x in given))
        )
    dtype = numpy.dtype(dtype)
    numbers = (int, numpy.integer) if dtype.kind != "f" else _REALS
    plain = step != 0 and all(isinstance(x, numbers) and math.isfinite(x) for x in given)
    if not native(dtype) or dtype.kind not in "iuf" or not plain:
        return _fallback.call("arange", numpy.arange, (first, last, step), {"dtype": dtype})
    if dtype.kind == "f":
        n = math.ceil((float(last) - float(first)) / float(step))
        # NumPy's step is the rounded difference of the first two values.
        one = dtype.type(first)
        step = dtype.type(first + step) - one
        if dtype.char == "e":  # which is not rounded again
            step = float(dtype.type(first + given[2])) - float(one)
        first = one
    else:
        first, last, step = int(first), int(last), int(step)
        n = -((first - last) // step)
    return _core.arange(max(n, 0), dtype, first, step)


def linspace(
    start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None
):
    """num evenly spaced values from start to stop."""
    check_device(device)
    num = operator.index(num)
    start, stop = _fallback.to_numpy(start), _fallback.to_numpy(stop)
    real = (int, float, numpy.integer, numpy.floating)
    dt = numpy.dtype(float if dtype is None else dtype)
    parts = num - 1 if endpoint else num
    if (
        not isinstance(start, real)
        or not isinstance(stop, real)
        or num < 2
        or axis != 0
        or dt.kind != "f"
        or not native(dt)
        or isinstance(start, (numpy.float16, numpy.float32))
        or isinstance(stop, (numpy.float16, numpy.float32))
    ):
        kwargs = {"endpoint": endpoint, "retstep": retstep, "dtype": dtype, "axis": axis}
        return _fallback.call("linspace", numpy.linspace, (start, stop, num), kwargs)
    delta = float(stop * 1.0 - start * 1.0)
    step = delta / parts
    place = _core.arange(num, numpy.dtype(float), 0.0, 1.0)
    y = place * step if step != 0 else place / parts * delta
    y = y + float(start)
    if endpoint:  # the last value is exact; no write, so that it fuses
        y = _core.apply(_WHERE, place == num - 1.0, float(stop), y)
    if dt != y.dtype:
        y = _core.cast(y, dt)
    return (y, numpy.float64(step)) if retstep else y


def _diagonal(n, m, k, compare):
    rows = _core.arange(n, numpy.dtype("int64"), 0, 1).reshape((n, 1))
    columns = _core.arange(m, numpy.dtype("int64"), 0, 1)
    return compare(columns, rows + k)


def eye(N, M=None, k=0, dtype=float, order="C", *, device=None, like=None):
    """Ones on a diagonal, zeros elsewhere."""
    check_device(device)
    n = extent(N)
    m = n if M is None else extent(M)
    dtype = numpy.dtype(dtype)
    if not native(dtype):
        return numpy.eye(n, m, k, dtype, order)
    made = _diagonal(n, m, operator.index(k), operator.eq)
    return array_cast(made, dtype, _order.parse_new(order))


def identity(n, dtype=None, *, like=None):
    """The n by n identity."""
    return eye(n, dtype=float if dtype is None else dtype)


def tri(N, M=None, k=0, dtype=float, *, like=None):
    """Ones at and below a diagonal."""
    dtype = numpy.dtype(dtype)
    given = (N, k) if M is None else (N, M, k)
    if not native(dtype) or not all(isinstance(n, (int, numpy.integer)) for n in given):
        return _fallback.leave(numpy.tri, N, M, k, dtype)
    n = max(operator.index(N), 0)  # ranges of fewer are empty
    m = n if M is None else max(operator.index(M), 0)
    return array_cast(_diagonal(n, m, operator.index(k), operator.le), dtype)


def _triangle(a, k, compare, name):
    a = asarray(a)
    whole = isinstance(k, (int, numpy.integer))
    if type(a) is not ndarray or a.ndim < 2 or not whole:
        return _fallback.call(name, getattr(numpy, name), (a, k), {})
    mask = _diagonal(a.shape[-2], a.shape[-1], operator.index(k), compare)
    return _core.apply(_WHERE, mask, a, _core.full((), a.dtype, 0))


def tril(m, k=0):
    """The lower triangle; zeros above it."""
    return _triangle(m, k, operator.le, "tril")


def triu(m, k=0):
    """The upper triangle; zeros below it."""
    return _triangle(m, k, operator.ge, "triu")


def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    """Coordinate arrays from coordinate vectors."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    n = len(xi)
    parts = []
    for i, x in enumerate(xi):
        x = asarray(x)
        if type(x) is not ndarray:
            return _fallback.call(
                "meshgrid",
                numpy.meshgrid,
                xi,
                {"copy": copy, "sparse": sparse, "indexing": indexing},
            )
        at = 1 - i if indexing == "xy" and i < 2 and n > 1 else i
        parts.append(x.reshape((1,) * at + (-1,) + (1,) * (n - 1 - at)))
    if not sparse:
        shape = numpy.broadcast_shapes(*(p.shape for p in parts))
        parts = [_core.broadcast_to(p, shape) for p in parts]
    return tuple(_core.copy(p) for p in parts) if copy else tuple(parts)


_WHERE = _core.op_find("where")[0]
