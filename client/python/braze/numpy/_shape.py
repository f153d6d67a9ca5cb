# SPDX-License-Identifier: Apache-2.0
"""Shapes: views where NumPy gives views, and joining by slice assignment."""

import math
import operator
import warnings

import numpy
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from braze import _core
from braze.numpy import _creation, _fallback, _flags, _operators, _order, _writes

ndarray = _core.ndarray
asarray = _creation.asarray
leave = _fallback.leave
_MISSING = numpy._NoValue


def _native(a):
    return type(a) is ndarray


def shape(a):
    """The extents of a's axes."""
    return a.shape if _native(a) else _fallback.numpys(numpy.shape, (a,), {})


def ndim(a):
    """The number of a's axes."""
    return a.ndim if _native(a) else _fallback.numpys(numpy.ndim, (a,), {})


def size(a, axis=None):
    """The number of elements, or the extent of an axis."""
    if not _native(a):
        return _fallback.numpys(numpy.size, (a, axis), {})
    if axis is None:
        return a.size
    if type(axis) is int and -a.ndim <= axis < a.ndim:
        return a.shape[axis]
    return numpy.size(numpy.broadcast_to(0, a.shape), axis)  # several axes, or NumPy's refusal


def _shape_tuple(shape):
    """A shape as NumPy takes it, a sequence, an array or a number, as a tuple of ints."""
    if isinstance(shape, numpy.ndarray) or _native(shape) and shape.ndim:
        shape = tuple(shape.ravel().tolist()) if shape.ndim == 1 else (shape,)
    elif not isinstance(shape, (tuple, list)):
        shape = (shape,)
    return tuple(n if type(n) is int else _creation.extent(n) for n in shape)


def _whole_shape(shape, size):
    """The shape as a tuple, with the one unknown extent worked out."""
    shape = _shape_tuple(shape)
    known = math.prod(n for n in shape if n >= 0)
    unknown = sum(n < 0 for n in shape)
    if unknown > 1:
        raise ValueError("can only specify one unknown dimension")
    if (unknown and (known == 0 or size % known)) or (not unknown and known != size):
        extents = ",".join("newaxis" if n < 0 else str(n) for n in shape)
        extents += "," if len(shape) == 1 else ""
        raise ValueError(f"cannot reshape array of size {size} into shape ({extents})")
    return tuple(size // known if n < 0 else n for n in shape) if unknown else shape


def _one_shape(a, shape, newshape):
    """The shape by either of reshape's two names."""
    if newshape is not None:
        if shape is not None:
            raise TypeError(
                "You cannot specify 'newshape' and 'shape' arguments at the same time."
            )
        warnings.warn(
            "`newshape` keyword argument is deprecated, use `shape=...` or pass shape "
            "positionally instead. (deprecated in NumPy 2.1)",
            DeprecationWarning,
            stacklevel=3,
        )
        return newshape
    if shape is None:
        numpy.reshape(0, None)  # a refusal up to NumPy 2.3
        return a.shape
    return shape


def reshape(a, /, shape=None, order="C", *, newshape=None, copy=None):
    """The same elements in another shape."""
    a = asarray(a)
    shape = _one_shape(a, shape, newshape)
    if not _native(a):
        kwargs = {} if copy is None else {"copy": copy}
        return leave(numpy.reshape, a, shape, order, **kwargs)
    if order != "C":
        order = _order.parse(order)
        if order == "K":
            raise ValueError("order 'K' is not permitted for reshaping")
    shape = _whole_shape(shape, a.size)
    if len(shape) > 8:
        return _fallback.call("reshape", numpy.reshape, (a, shape, order), {})
    if order == "F" or (order == "A" and _order.is_fortran(a)):
        made = _reshaped(a.T, shape[::-1], copy)
        return made.T if made.base is not None else _order.transposed_owner(made)
    return _reshaped(a, shape, copy)


def _reshaped(a, shape, copy):
    made = _core.reshape(a, shape)
    if copy is False and not _core.same_buffer(made, a):
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    return _core.copy(made) if copy and _core.same_buffer(made, a) else made


def ravel(a, order="C"):
    """One axis; a view of a contiguous array, else a copy."""
    a = asarray(a)
    if not _native(a):
        return leave(numpy.ravel, a, order)
    if order != "C":
        order = _order.parse(order)
        axes = _order.by_iteration(a) if order == "K" else _order.layout(a, order)
        a = a if axes is None else _core.transpose(a, axes)
    made = _core.reshape(a, (a.size,))
    if not _flags.is_c(a) and _core.same_buffer(made, a):
        return _core.copy(made)
    return made


def transpose(a, axes=None):
    """A view with permuted axes."""
    if issubclass(type(a), numpy.generic):
        return a.transpose(axes)
    a = asarray(a)
    if not _native(a):
        return leave(numpy.transpose, a, axes)
    if axes is None:
        return a.T
    axes = axes if isinstance(axes, (tuple, list)) or numpy.ndim(axes) else (axes,)
    if len(axes) != a.ndim:
        raise ValueError("axes don't match array")
    axes = tuple(normalize_axis_index(operator.index(k), a.ndim) for k in axes)
    if len(set(axes)) != len(axes):
        raise ValueError("repeated axis in transpose")
    return _core.transpose(a, axes)


def matrix_transpose(x, /):
    """A view with the last two axes swapped."""
    x = asarray(x)
    if not _native(x):
        return leave(numpy.matrix_transpose, x)
    if x.ndim < 2:
        raise ValueError(
            f"Input array must be at least 2-dimensional, but it is {x.ndim}"
        )
    return swapaxes(x, -1, -2)


def swapaxes(a, axis1, axis2):
    """A view with two axes exchanged."""
    a = asarray(a)
    if not _native(a):
        return leave(numpy.swapaxes, a, axis1, axis2)
    i, j = normalize_axis_index(axis1, a.ndim), normalize_axis_index(axis2, a.ndim)
    axes = list(range(a.ndim))
    axes[i], axes[j] = j, i
    return _core.transpose(a, axes)


def moveaxis(a, source, destination):
    """A view with axes moved."""
    a = asarray(a)
    if not _native(a):
        return leave(numpy.moveaxis, a, source, destination)
    if type(source) is int and type(destination) is int:
        order = list(range(a.ndim))
        moved = order.pop(normalize_axis_index(source, a.ndim, "source"))
        order.insert(normalize_axis_index(destination, a.ndim, "destination"), moved)
        return a.transpose(order)
    source = normalize_axis_tuple(source, a.ndim, "source")
    destination = normalize_axis_tuple(destination, a.ndim, "destination")
    if len(source) != len(destination):
        raise ValueError(
            "`source` and `destination` arguments must have the same number of elements"
        )
    order = [n for n in range(a.ndim) if n not in source]
    for to, of in sorted(zip(destination, source, strict=True)):
        order.insert(to, of)
    return transpose(a, order)


def rollaxis(a, axis, start=0):
    """A view with one axis rolled backwards."""
    a = asarray(a)
    if not _native(a):
        return leave(numpy.rollaxis, a, axis, start)
    axis = normalize_axis_index(axis, a.ndim)
    start = start + a.ndim if start < 0 else start
    if not 0 <= start <= a.ndim:
        raise numpy.exceptions.AxisError(start, a.ndim + 1)
    if axis < start:
        start -= 1
    return moveaxis(a, axis, start)


def expand_dims(a, axis):
    """New axes of extent 1."""
    a = asarray(a)
    if not _native(a):
        return leave(numpy.expand_dims, a, axis)
    axis = axis if isinstance(axis, (tuple, list)) else (axis,)
    n = len(axis) + a.ndim
    axis = normalize_axis_tuple(axis, n)
    extents = iter(a.shape)
    return reshape(a, [1 if k in axis else next(extents) for k in range(n)])


def squeeze(a, axis=None):
    """Without axes of extent 1."""
    if issubclass(type(a), numpy.generic):
        return a.squeeze(axis)
    a = asarray(a)
    if not _native(a):
        return leave(numpy.squeeze, a, axis)
    if axis is None:
        gone = [k for k, n in enumerate(a.shape) if n == 1]
        if not gone:
            return a
    elif not a.ndim and axis in (0, -1, ()):
        return a
    else:
        gone = normalize_axis_tuple(axis, a.ndim)
        if any(a.shape[k] != 1 for k in gone):
            raise ValueError(
                "cannot select an axis to squeeze out which has size not equal to one"
            )
    return a[tuple(0 if k in gone else slice(None) for k in range(a.ndim)) + (...,)]


def broadcast_to(array, shape, subok=False):
    """A view stretched to a shape."""
    a = asarray(array)
    shape = _creation.shape_tuple(shape)
    if not _native(a) or len(shape) > 8:
        return leave(numpy.broadcast_to, a, shape, subok)
    try:
        return _core.set_writing(_core.broadcast_to(a, shape), 1)
    except ValueError:
        _operators.refuse(numpy.broadcast_to, a, shape)
        raise


def broadcast_arrays(*args, subok=False):
    """Views of all arrays, stretched to their common shape."""
    if any(map(_fallback.is_foreign, args)):
        return leave(numpy.broadcast_arrays, *args, subok=subok)
    args = [_creation.public_asarray(a) for a in args]
    common = numpy.broadcast_shapes(*(a.shape for a in args))
    if len(common) > 8 or not all(_native(a) for a in args):
        return _fallback.call("broadcast_arrays", numpy.broadcast_arrays, tuple(args), {})
    made = []
    for a in args:
        if a.shape == common:
            made.append(a)
            continue
        wide = _core.broadcast_to(a, common)
        made.append(_core.set_writing(wide, 1 if _core.writing(a) == 1 else 2))
    return tuple(made)


def atleast_1d(*arys):
    """At least one axis."""
    arys = [asarray(a) for a in arys]
    if not all(map(_native, arys)):
        return leave(numpy.atleast_1d, *arys)
    done = [a if a.ndim else reshape(a, (1,)) for a in arys]
    return done[0] if len(done) == 1 else tuple(done)


def atleast_2d(*arys):
    """At least two axes."""
    arys = [asarray(a) for a in arys]
    if not all(map(_native, arys)):
        return leave(numpy.atleast_2d, *arys)
    done = [a if a.ndim > 1 else reshape(a, (1, -1)) for a in arys]
    return done[0] if len(done) == 1 else tuple(done)


def _sequence(arrays):
    """What arrays are stacked from: NumPy takes no generator."""
    if not hasattr(arrays, "__getitem__"):
        raise TypeError(
            'arrays to stack must be passed as a "sequence" type such as list or tuple.'
        )
    return [asarray(a) for a in arrays]


def _check_joint(arrays, axis):
    """All extents but the axis' agree, or NumPy's ValueError."""
    shape = arrays[0].shape
    for k, a in enumerate(arrays[1:], 1):
        if a.ndim != len(shape):
            raise ValueError(
                "all the input arrays must have same number of dimensions, but the array at "
                f"index 0 has {len(shape)} dimension(s) and the array at index {k} has "
                f"{a.ndim} dimension(s)"
            )
        for d, extent in enumerate(shape):
            if d != axis and a.shape[d] != extent:
                raise ValueError(
                    "all the input array dimensions except for the concatenation axis must "
                    f"match exactly, but along dimension {d}, the array at index 0 has size "
                    f"{extent} and the array at index {k} has size {a.shape[d]}"
                )


def _given(out, dtype, casting):
    """Arguments that are none of the defaults: another library's function may not know them."""
    given = {} if casting == "same_kind" else {"casting": casting}
    given |= {} if out is None else {"out": out}
    return given | ({} if dtype is None else {"dtype": dtype})


def concatenate(arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind"):
    """Arrays joined along an axis."""
    given, kwargs = arrays, {"axis": axis, **_given(out, dtype, casting)}
    arrays = [asarray(a) for a in arrays] if hasattr(arrays, "__getitem__") else []
    known = _fallback.is_output(out) and (out is None or dtype is None)
    if not known or not arrays or not all(map(_native, arrays)):
        return leave(numpy.concatenate, given, **kwargs)
    if axis is None:
        arrays, axis = [ravel(a) for a in arrays], 0
    if arrays[0].ndim == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = normalize_axis_index(axis, arrays[0].ndim)
    _check_joint(arrays, axis)
    to = _joint_type(arrays, out, dtype, casting)
    if to is None or out is not None and out.shape != _joint_shape(arrays, axis):
        return leave(numpy.concatenate, arrays, **{**kwargs, "axis": axis})
    return _core.join(arrays, axis, to, False) if out is None else _joined(arrays, axis, out)


def _joint_type(arrays, out, dtype, casting):
    """The result's type; None where it is none of ours or the rule refuses a cast to it."""
    types = [a.dtype for a in arrays]
    if out is not None:
        to = out.dtype
    else:
        to = numpy.result_type(*types) if dtype is None else numpy.dtype(dtype)
    fits = _fallback.native_dtype(to) and all(numpy.can_cast(t, to, casting) for t in types)
    return to if fits else None


def _joint_shape(arrays, axis):
    shape = arrays[0].shape
    return shape[:axis] + (sum(a.shape[axis] for a in arrays),) + shape[axis + 1 :]


def _joined(arrays, axis, out):
    """Each array to its part of out, one after the other, as NumPy does it."""
    at = 0
    for a in arrays:
        if a.size:
            out[(slice(None),) * axis + (slice(at, at + a.shape[axis]),)] = a.astype(out.dtype)
        at += a.shape[axis]
    return out


def stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    """Arrays joined along a new axis."""
    arrays = _sequence(arrays)
    if not _fallback.is_output(out) or not all(map(_native, arrays)):
        return leave(numpy.stack, arrays, axis, **_given(out, dtype, casting))
    if not arrays:
        raise ValueError("need at least one array to stack")
    if len({a.shape for a in arrays}) != 1:
        raise ValueError("all input arrays must have the same shape")
    axis = normalize_axis_index(axis, arrays[0].ndim + 1)
    arrays = [expand_dims(a, axis) for a in arrays]
    return concatenate(arrays, axis, out, dtype=dtype, casting=casting)


def vstack(tup, *, dtype=None, casting="same_kind"):
    """Arrays stacked as rows."""
    arrays = _sequence(tup)
    if not all(map(_native, arrays)):
        return leave(numpy.vstack, arrays, **_given(None, dtype, casting))
    return concatenate([atleast_2d(a) for a in arrays], 0, dtype=dtype, casting=casting)


def hstack(tup, *, dtype=None, casting="same_kind"):
    """Arrays joined along the second axis; the first for 1-d."""
    arrays = _sequence(tup)
    if not all(map(_native, arrays)):
        return leave(numpy.hstack, arrays, **_given(None, dtype, casting))
    arrays = [atleast_1d(a) for a in arrays]
    axis = 0 if arrays and arrays[0].ndim == 1 else 1
    return concatenate(arrays, axis, dtype=dtype, casting=casting)


def column_stack(tup):
    """1-d arrays as the columns of a 2-d array."""
    arrays = _sequence(tup)
    if not all(map(_native, arrays)):
        return leave(numpy.column_stack, arrays)
    return concatenate([atleast_2d(a).T if a.ndim < 2 else a for a in arrays], 1)


def array_split(ary, indices_or_sections, axis=0):
    """Views of parts, nearly equal where the extent does not divide."""
    ary = asarray(ary)
    if not _native(ary):
        return leave(numpy.array_split, ary, indices_or_sections, axis)
    n = ary.shape[axis]
    if not hasattr(indices_or_sections, "__len__"):
        parts = int(indices_or_sections)
        if parts <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, more = divmod(n, parts)
        cuts = [0]
        for k in range(parts):
            cuts.append(cuts[-1] + each + (k < more))
    else:
        cuts = [0, *(int(k) for k in indices_or_sections), n]
    axis = normalize_axis_index(axis, ary.ndim)
    front = (slice(None),) * axis
    return [ary[front + (slice(a, b),)] for a, b in zip(cuts, cuts[1:], strict=False)]


def split(ary, indices_or_sections, axis=0):
    """Views of equal parts."""
    ary = asarray(ary)
    if not _native(ary):
        return leave(numpy.split, ary, indices_or_sections, axis)
    if not hasattr(indices_or_sections, "__len__"):
        if ary.shape[axis] % indices_or_sections:
            raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


def hsplit(ary, indices_or_sections):
    """Parts along the second axis; the first for 1-d."""
    ary = asarray(ary)
    if not _native(ary):
        return leave(numpy.hsplit, ary, indices_or_sections)
    if ary.ndim == 0:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


def vsplit(ary, indices_or_sections):
    """Parts along the first axis."""
    ary = asarray(ary)
    if not _native(ary):
        return leave(numpy.vsplit, ary, indices_or_sections)
    if ary.ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


def unstack(x, /, *, axis=0):
    """Views of the elements along an axis."""
    if not _native(x):
        return leave(numpy.unstack, x, axis=axis)
    if not x.ndim:
        raise ValueError("Input array must be at least 1-d.")
    return tuple(moveaxis(x, axis, 0))


def flip(m, axis=None):
    """A view with axes reversed."""
    m = asarray(m)
    if not _native(m):
        return leave(numpy.flip, m, axis)
    axes = range(m.ndim) if axis is None else normalize_axis_tuple(axis, m.ndim)
    back = slice(None, None, -1)
    if m.ndim == 0:
        return m[()]  # a scalar, as NumPy's index gives
    return m[tuple(back if k in axes else slice(None) for k in range(m.ndim)) + (...,)]


def fliplr(m):
    """A view with the second axis reversed."""
    m = asarray(m)
    if not _native(m):
        return leave(numpy.fliplr, m)
    if m.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return flip(m, 1)


def flipud(m):
    """A view with the first axis reversed."""
    m = asarray(m)
    if not _native(m):
        return leave(numpy.flipud, m)
    if m.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return flip(m, 0)


def rot90(m, k=1, axes=(0, 1)):
    """A view turned by 90 degrees in a plane."""
    m = asarray(m)
    if not _native(m):
        return leave(numpy.rot90, m, k, axes)
    try:
        i, j = normalize_axis_tuple(axes, m.ndim)
    except ValueError:
        raise ValueError(f"Axes={axes} out of range for array of ndim={m.ndim}.") from None
    k %= 4
    if k == 0:
        return m[...]
    if k == 2:
        return flip(flip(m, i), j)
    return swapaxes(flip(m, j), i, j) if k == 1 else flip(swapaxes(m, i, j), j)


def roll(a, shift, axis=None):
    """Elements moved along axes; those pushed out come back in front."""
    a = asarray(a)
    if not _native(a):
        return leave(numpy.roll, a, shift, axis)
    if axis is None:
        return reshape(roll(ravel(a), shift, 0), a.shape)
    axes = normalize_axis_tuple(axis, a.ndim, allow_duplicate=True)
    pairs = numpy.broadcast(_fallback.to_numpy(shift), axes)
    if pairs.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    for by, k in pairs:
        n = a.shape[int(k)]
        by = int(by) % n if n else 0
        if not by:
            a = _core.copy(a)
            continue
        made = _core.empty(a.shape, a.dtype)
        front = (slice(None),) * int(k)
        made[front + (slice(by, None),)] = a[front + (slice(0, n - by),)]
        made[front + (slice(0, by),)] = a[front + (slice(n - by, None),)]
        a = made
    return a


def tile(A, reps):
    """a repeated as a block."""
    a = asarray(A)
    if not _native(a) or not isinstance(reps, (tuple, list, int, numpy.integer)):
        return leave(numpy.tile, a, reps)
    reps = tuple(reps) if isinstance(reps, (tuple, list)) else (operator.index(reps),)
    n = max(len(reps), a.ndim)
    reps = (1,) * (n - len(reps)) + reps
    extents = (1,) * (n - a.ndim) + a.shape
    total = tuple(r * e for r, e in zip(reps, extents, strict=True))
    if 2 * n > 8:
        return _fallback.call("tile", numpy.tile, (a, reps), {})
    pairs = tuple(x for e in extents for x in (1, e))
    wide = tuple(x for r, e in zip(reps, extents, strict=True) for x in (r, e))
    return reshape(_core.copy(_core.broadcast_to(reshape(a, pairs), wide)), total)


def repeat(a, repeats, axis=None):
    """Every element repeated."""
    a = asarray(a)
    plain = isinstance(repeats, (int, numpy.integer)) and repeats >= 0
    if not _native(a) or not plain or a.ndim > 7:
        return _fallback.call("repeat", numpy.repeat, (a, repeats), {"axis": axis})
    if axis is None or not a.ndim and axis in (0, -1):  # which NumPy lets 0-d have
        a, axis = ravel(a), 0
    axis = normalize_axis_index(axis, a.ndim)
    wide = a.shape[: axis + 1] + (int(repeats),) + a.shape[axis + 1 :]
    total = a.shape[:axis] + (a.shape[axis] * int(repeats),) + a.shape[axis + 1 :]
    return reshape(_core.copy(_core.broadcast_to(expand_dims(a, axis + 1), wide)), total)


def diagonal(a, offset=0, axis1=0, axis2=1):
    """A view of a diagonal of two axes, which may not be written."""
    a = asarray(a)
    if not _native(a):
        return leave(numpy.diagonal, a, offset, axis1, axis2)
    return _core.set_writing(_diagonal(a, operator.index(offset), axis1, axis2), 1)


def _diagonal(a, offset, axis1=0, axis2=1):
    if a.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    i, j = normalize_axis_index(axis1, a.ndim), normalize_axis_index(axis2, a.ndim)
    if i == j:
        raise ValueError("axis1 and axis2 cannot be the same")
    rows, columns = a.shape[i], a.shape[j]
    delta = a.strides[j] * offset if offset >= 0 else a.strides[i] * -offset
    n = min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns)
    n = max(n, 0)
    rest = [k for k in range(a.ndim) if k not in (i, j)]
    return _core.view(
        a,
        a.dtype,
        [a.shape[k] for k in rest] + [n],
        [a.strides[k] for k in rest] + [a.strides[i] + a.strides[j]],
        delta if n else 0,
    )


def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    """Sum of a diagonal."""
    from braze.numpy import _reductions

    a = asarray(a)
    known = dtype is None or _fallback.native_dtype(numpy.dtype(dtype))
    if not _native(a) or not known or not _fallback.is_output(out):
        return leave(numpy.trace, a, offset, axis1, axis2, dtype, out)
    return _reductions.sum(diagonal(a, offset, axis1, axis2), -1, dtype, out)


def diag(v, k=0):
    """A diagonal of a matrix, or the matrix with that diagonal."""
    v = asarray(v)
    if not _native(v) or v.ndim not in (1, 2):
        return _fallback.call("diag", numpy.diag, (v, k), {})
    if v.ndim == 2:
        return diagonal(v, k)
    n = v.shape[0] + abs(k)
    made = _creation.zeros((n, n), v.dtype)
    _diagonal(made, k)[...] = v
    return made


def diff(a, n=1, axis=-1, prepend=numpy._NoValue, append=numpy._NoValue):
    """Differences of neighbours."""
    if n == 0:
        return a
    a = asarray(a)
    plain = prepend is numpy._NoValue and append is numpy._NoValue
    if not _native(a) or not plain or a.dtype == bool or a.ndim == 0 or n < 0:
        kwargs = {"n": n, "axis": axis}
        kwargs.update({} if prepend is numpy._NoValue else {"prepend": prepend})
        kwargs.update({} if append is numpy._NoValue else {"append": append})
        return _fallback.call("diff", numpy.diff, (a,), kwargs)
    front = (slice(None),) * normalize_axis_index(axis, a.ndim)
    for _ in range(n):
        a = a[front + (slice(1, None),)] - a[front + (slice(None, -1),)]
    return a


def where(condition, x=_MISSING, y=_MISSING, /):
    """x where the condition holds, else y; with one argument, nonzero."""
    if x is _MISSING and y is _MISSING:
        if type(condition) is ndarray and condition.ndim:
            return condition.nonzero()
        return _fallback.call("where", numpy.where, (condition,), {})
    if x is _MISSING or y is _MISSING:
        raise ValueError("either both or neither of x and y should be given")
    if not any(type(v) is ndarray for v in (condition, x, y)):
        condition = asarray(condition)
    try:
        made = _core.apply(_WHERE, condition, x, y)
    except OverflowError:  # NumPy wraps a Python int that does not fit
        return _fallback.call("where", numpy.where, (condition, x, y), {})
    if type(made) is not ndarray or made.ndim:
        return made
    return made[...]  # no ufunc: an array, never a scalar


def clip(
    a, a_min=numpy._NoValue, a_max=numpy._NoValue, out=None, *,
    min=numpy._NoValue, max=numpy._NoValue, **kwargs
):
    """Elements limited to an interval."""
    missing = numpy._NoValue
    if a_min is missing and a_max is missing:
        a_min = None if min is missing else min
        a_max = None if max is missing else max
    elif a_min is missing or a_max is missing:
        name = "a_min" if a_min is missing else "a_max"
        raise TypeError(f"clip() missing 1 required positional argument: {name!r}")
    elif min is not missing or max is not missing:
        raise ValueError(
            "Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided "
            "is forbidden."
        )
    a = asarray(a)
    if not _native(a) or kwargs or not _fallback.is_output(out, a_min, a_max):
        return _fallback.call("clip", numpy.clip, (a, a_min, a_max), {"out": out, **kwargs})
    return limited(a, a_min, a_max, out)


def limited(a, low, high, out):
    """clip, where no argument is for NumPy to interpret."""
    try:
        if low is not None and high is not None:
            made = _core.apply(_CLIP, a, low, high)
        elif high is not None:
            made = _core.apply(_MINIMUM, a, high)
        elif low is not None:
            made = _core.apply(_MAXIMUM, a, low)
        else:
            made = _core.copy(a) if a.ndim else a[()]
    except (OverflowError, ValueError):
        # NumPy has special rules for integers beyond the type, and for which mistake it tells of.
        return _fallback.call("clip", numpy.clip, (a, low, high), {"out": out})
    if out is None:
        return made
    from braze.numpy import _ufuncs

    return _ufuncs.store(out, made, broadcast=True)


def real(val):
    """The real part; a view of a complex array."""
    if issubclass(type(val), (int, float, complex, numpy.generic)):
        return val.real
    val = asarray(val)
    return _core.real(val) if _native(val) else leave(numpy.real, val)


def imag(val):
    """The imaginary part; a view of a complex array."""
    if issubclass(type(val), (int, float, complex, numpy.generic)):
        return val.imag
    val = asarray(val)
    if not _native(val):
        return leave(numpy.imag, val)
    made = _core.imag(val)
    if made is not None:
        return made
    # A new array, laid out as NumPy's: what is made of it is a view where NumPy's is one.
    made = _creation.zeros(val.shape, val.dtype, "F" if _order.is_fortran(val) else "C")
    return _core.set_writing(made, 1) if made.ndim or not val._is_scalar else made[()]


def astype(x, dtype, /, *, copy=True, device=None):
    """x in another type."""
    _creation.check_device(device)
    if type(x) is not ndarray:
        return leave(numpy.astype, x, dtype, copy=copy)
    return x.astype(dtype, copy=copy)


def copyto(dst, src, casting="same_kind", where=True):
    """dst[...] = src, with a casting rule."""
    if type(dst) is not ndarray:
        _fallback.numpys(numpy.copyto, (dst, src, casting), {"where": where})
        return
    if _fallback.is_foreign(src) or _fallback.is_foreign(where):
        _writes.call(numpy.copyto, (dst, src, casting), {"where": where}, written=dst)
        return
    if type(src) is not ndarray:
        src = _creation.written(src, dst.dtype, casting)
    elif not numpy.can_cast(src.dtype, dst.dtype, casting):
        raise TypeError(
            f"Cannot cast array data from {src.dtype!r} to {dst.dtype!r} according to "
            f"the rule {casting!r}"
        )
    if where is True:
        dst[...] = src.astype(dst.dtype)
        return
    if type(where) is not ndarray:
        mask = numpy.zeros(dst.shape, bool)
        numpy.copyto(mask, True, where=_fallback.to_numpy(where))
        where = asarray(mask)
    elif where.dtype != bool:
        raise TypeError(
            f"Cannot cast array data from {where.dtype!r} to dtype('bool') according to "
            "the rule 'safe'"
        )
    src = asarray(src)
    src = src if src.dtype == dst.dtype else src.astype(dst.dtype)
    dst[...] = _core.apply(_WHERE, where, src, dst)


_WHERE, _CLIP, _MINIMUM, _MAXIMUM = (
    _core.op_find(n)[0] for n in ("where", "clip", "minimum", "maximum")
)
