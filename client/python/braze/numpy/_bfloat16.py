# SPDX-License-Identifier: Apache-2.0
"""Arrays of bfloat16, whose type is ml_dtypes' and not NumPy's own.

An array is its bits, which are one of braze's arrays of uint16, and so lies in memory, is cut,
joined and moved as those are.  To compute, bits become numbers of float32 and what comes out is rounded to
the nearest, ties to even, as ml_dtypes does; the daemon makes one kernel of it.  NumPy's
functions, and braze's, ask it by NumPy's protocols; what has no row here NumPy computes, with the
real type.  ml_dtypes itself is never imported: an array of it has brought it.
"""

import numpy
from numpy.lib import mixins

from braze import _core
from braze.numpy import _fallback

ndarray = _core.ndarray

_SMALL = ("bool", "int8", "uint8")  # each of their numbers is one of bfloat16
_EXACT = 256  # of larger integers bfloat16 has not all
_real = None  # numpy.dtype of ml_dtypes.bfloat16, once an array of it was seen


def is_type(dtype):
    """Is it the numpy.dtype of ml_dtypes.bfloat16?"""
    if dtype is _real:
        return _real is not None
    return dtype.kind == "V" and dtype.isnative and (
        dtype.type.__name__, dtype.type.__module__) == ("bfloat16", "ml_dtypes")


def _note(dtype):
    global _real
    if _real is None:
        _real = dtype
        _fallback.wrappers.append(Bfloat16Array)


def taken(a):
    """NumPy's array of bfloat16 as braze's; None where it has too many axes."""
    bits = _core.from_any(a.view(numpy.uint16))
    if bits is None:
        return None
    _note(a.dtype)
    return Bfloat16Array(bits)


def rounded(a, dtype):
    """One of braze's arrays as numbers of bfloat16."""
    _note(dtype)
    return Bfloat16Array(_core.brain_bits(a))


def _np():
    from braze import numpy as braze_numpy

    return braze_numpy


# ---- What NumPy computes ----


def _walk(x, of):
    """x with each of its arrays, in lists and the like too, as `of` has them."""
    kind = type(x)
    if kind is list or kind is tuple:
        return kind(_walk(y, of) for y in x)
    if kind is dict:
        return {k: _walk(v, of) for k, v in x.items()}
    return of(x) if kind is Bfloat16Array else _fallback.to_numpy(x)


def _shown(x):
    return numpy.asarray(x)


class _Copies:
    """Arrays that may be written, and were ours before: what was written is put back."""

    def __init__(self):
        self.made = []

    def __call__(self, x):
        for mine, copy in self.made:
            if mine is x:
                return copy
        copy = numpy.array(x)
        self.made.append((x, copy))
        return copy

    def put_back(self):
        for mine, copy in self.made:
            mine._bits[...] = copy.view(numpy.uint16)

    def named(self, x):
        """What was given out of the call: one of ours, if it is its copy."""
        for mine, copy in self.made:
            if copy is x:
                return mine
        return _fallback.result(x)


def _by_numpy(name, function, args, kwargs):
    _fallback.counts[name] += 1
    try:
        made = function(*_walk(args, _shown), **_walk(kwargs, _shown))
    except ValueError as error:
        if not _fallback._read_only(error) and "output array is not acceptable" not in str(error):
            raise
        copies = _Copies()
        made = function(*_walk(args, copies), **_walk(kwargs, copies))
        copies.put_back()
        return copies.named(made)
    return _fallback.result(made) if kwargs.get("out") is None else made  # that array, then


# ---- Elementwise operations ----

_KEPT = ("isnan isinf isfinite signbit logical_not equal not_equal less less_equal greater "
         "greater_equal logical_and logical_or logical_xor radians degrees matmul").split()
_ROUNDED = ("negative positive absolute square sqrt cbrt reciprocal exp expm1 exp2 log log2 log10 "
            "log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh floor "
            "ceil trunc rint deg2rad rad2deg conjugate add subtract multiply divide floor_divide "
            "remainder fmod power arctan2 hypot copysign heaviside logaddexp minimum maximum fmin "
            "fmax sign").split()
# What the operation makes, of operands of bfloat16: False: of float32 or of bools, True: rounded.
_ELEMENTWISE = {getattr(numpy, name): name in _ROUNDED for name in _KEPT + _ROUNDED}


def _operand(x):
    """x for an operation in float32, and whether it is, or becomes, one of bfloat16; None: it is
    NumPy's to understand."""
    kind = type(x)
    if kind is Bfloat16Array:
        return x._numbers(), True
    if kind is bool or kind is int:
        if abs(x) > _EXACT:
            x = float(_real.type(x))
        return x, True
    if kind is float or kind is complex:
        return x, False
    if kind is ndarray or kind is numpy.ndarray or isinstance(x, numpy.generic):
        if kind is not ndarray and is_type(x.dtype):
            return Bfloat16Array(_core.from_any(numpy.asarray(x).view(numpy.uint16)))._numbers(), True
        if _fallback.native_dtype(x.dtype):
            return x, x.dtype.name in _SMALL
    return None


def _sign(x):
    """A zero's is the zero: ml_dtypes says so."""
    np = _np()
    return np.where(x == 0, x, np.sign(x))


def _power(x, y):
    return _np().square(x) if type(y) is int and y == 2 else _np().power(x, y)


_OWN = {numpy.sign: _sign, numpy.power: _power}


def _operands(inputs):
    """All of them for float32, and whether what is made of them is one of bfloat16; None: one is
    NumPy's to understand."""
    given = [_operand(x) for x in inputs]
    if None in given:
        return None
    return [x for x, _ in given], all(small for _, small in given)


def _computed(function, inputs):
    """By braze's operation; None: it has none."""
    rounds = _ELEMENTWISE.get(function)
    if rounds is None or not any(type(x) is Bfloat16Array for x in inputs):
        return None
    if function is numpy.matmul and all(type(x) is Bfloat16Array and x.ndim for x in inputs):
        return _core.brain_matmul(*[x._bits for x in inputs])
    given = _operands(inputs)
    if given is None:
        return None
    made = (_OWN.get(function) or getattr(_np(), function.__name__))(*given[0])
    if type(made) is not ndarray:
        return None
    return Bfloat16Array(_core.brain_bits(made)) if rounds and given[1] else made


# ---- Reductions ----

_NOTHING = numpy._NoValue


def _reduction(name, rounds):
    """Of all elements or along axes, in float32; rounds: once, at the end."""

    def function(a, axis=None, dtype=None, out=None, keepdims=False, **more):
        if type(a) is not Bfloat16Array or out is not None or more:
            return NotImplemented
        if dtype is not None and is_type(numpy.dtype(dtype)):
            dtype = None
        named = {} if dtype is None else {"dtype": dtype}
        keep = {} if keepdims is _NOTHING or not keepdims else {"keepdims": True}
        made = getattr(_np(), name)(a._numbers(), axis, **named, **keep)
        if type(made) is not ndarray:
            return NotImplemented
        return Bfloat16Array(_core.brain_bits(made)) if rounds and dtype is None else made

    return function


_sum, _prod = _reduction("sum", True), _reduction("prod", True)
_mean = _reduction("mean", True)


def _extreme(name, rounds):
    reduce = _reduction(name, rounds)

    def function(a, axis=None, out=None, keepdims=False, **more):
        return reduce(a, axis, None, out, keepdims, **more)

    return function


_max, _min = _extreme("max", True), _extreme("min", True)
_all, _any = _extreme("all", False), _extreme("any", False)
_argmax, _argmin = _extreme("argmax", False), _extreme("argmin", False)
_REDUCTIONS = {numpy.sum: _sum, numpy.prod: _prod, numpy.mean: _mean, numpy.max: _max, numpy.amax: _max,
               numpy.min: _min, numpy.amin: _min, numpy.all: _all, numpy.any: _any, numpy.argmax: _argmax,
               numpy.argmin: _argmin}
_REDUCED = {numpy.add: _sum, numpy.multiply: _prod, numpy.maximum: _max, numpy.minimum: _min,
            numpy.logical_and: _all, numpy.logical_or: _any}


# ---- What only moves elements ----


def _wrapped(made):
    if type(made) in (list, tuple):
        return type(made)(_wrapped(x) for x in made)
    return Bfloat16Array(made)


_PLAIN = (int, bool, type(None), str, list, tuple)  # what says where elements go


def _moves(name):
    """The function on bits, of an array or a list of them."""
    many = name.startswith("atleast")  # takes several

    def function(a, *args, **kwargs):
        more = (*args, *kwargs.values())
        if many and more or any(
                type(x) not in _PLAIN and getattr(x, "dtype", _real).kind not in "iu" for x in more):
            return NotImplemented
        if "out" in kwargs or "dtype" in kwargs:
            return NotImplemented
        if type(a) is Bfloat16Array:
            bits = a._bits
        elif type(a) in (list, tuple) and a and all(type(x) is Bfloat16Array for x in a):
            bits = [x._bits for x in a]
        else:
            return NotImplemented
        return _wrapped(getattr(_np(), name)(bits, *args, **kwargs))

    return function


_MOVES = ("reshape transpose ravel swapaxes moveaxis expand_dims squeeze broadcast_to flip fliplr "
          "flipud rot90 roll repeat tile take copy atleast_1d atleast_2d atleast_3d diagonal "
          "concatenate stack vstack hstack dstack column_stack split array_split tril triu").split()


def _where(condition, *values):
    if len(values) != 2 or any(type(x) is not Bfloat16Array for x in values) or type(
            condition) is Bfloat16Array:
        return NotImplemented
    return Bfloat16Array(_np().where(condition, values[0]._bits, values[1]._bits))


def _dot(a, b, out=None):
    """Rounded, unlike matmul, which NumPy computes in float32."""
    if out is not None or type(a) is not Bfloat16Array or type(b) is not Bfloat16Array or not (
            0 < a.ndim < 3 and 0 < b.ndim < 3):
        return NotImplemented
    return Bfloat16Array(_core.brain_bits(_core.brain_matmul(a._bits, b._bits)))


_FUNCTIONS = {**_REDUCTIONS, **{getattr(numpy, name): _moves(name) for name in _MOVES},
              numpy.where: _where, numpy.dot: _dot}


# ---- The class ----


def _stored(out, made):
    """Did out=, one of ours, get what was made, of its shape?  Else NumPy's writes it."""
    if type(out) is ndarray and made.shape == out.shape and numpy.can_cast(made.dtype, out.dtype, "same_kind"):
        out[...] = made._numbers() if type(made) is Bfloat16Array else made
        return True
    if type(out) is not Bfloat16Array or made.shape != out.shape:
        return False
    if type(made) is ndarray and (made.dtype.kind not in "iuf" or made.dtype.itemsize == 1):
        return False
    out._bits[...] = made._bits if type(made) is Bfloat16Array else _core.brain_bits(made)
    return True


def _remade(elements):
    return taken(elements)


class Bfloat16Array(mixins.NDArrayOperatorsMixin):
    """An array, or a scalar, of bfloat16."""

    __slots__ = ("_bits",)
    __array_priority__ = 200.0  # more than braze's arrays: an operation of both is this one's
    __hash__ = None

    def __init__(self, bits):
        self._bits = bits

    def _numbers(self):
        return _core.brain_numbers(self._bits)

    # ---- NumPy's protocols ----

    def __array__(self, dtype=None, copy=None):
        made = numpy.asarray(self._bits).view(_real)
        # What is no cast of the same kind (an index of it) is NumPy's to allow, or not.
        if dtype is not None and numpy.dtype(dtype) != _real and numpy.can_cast(_real, dtype, "same_kind"):
            return made.astype(dtype)
        return made.copy() if copy else made

    def __array_ufunc__(self, function, method, *inputs, out=None, **kwargs):
        made = None
        if method == "__call__" and not kwargs and (out is None or len(out) == 1):
            made = _computed(function, inputs)
        elif method == "reduce" and out is None and len(inputs) == 1 and function in _REDUCED:
            made = _REDUCED[function](inputs[0], **{"axis": 0, **kwargs})
            made = None if made is NotImplemented else made
        if made is not None and (out is None or _stored(out[0], made)):
            return made if out is None else out[0]
        if out is not None:
            kwargs["out"] = out
        return _by_numpy(function.__name__, getattr(function, method), inputs, kwargs)

    def __array_function__(self, function, types, args, kwargs):
        mine = _FUNCTIONS.get(function)
        if mine is not None:
            made = mine(*args, **kwargs)
            if made is not NotImplemented:
                return made
        inner = getattr(function, "_implementation", function)
        return _by_numpy(getattr(function, "__name__", str(function)), inner, args, kwargs)

    def __getattr__(self, name):
        found = getattr(numpy.ndarray, name, None)
        if name.startswith("__array") or found is None:
            raise AttributeError(f"'Bfloat16Array' object has no attribute {name!r}")
        if not callable(found):
            return _fallback.from_numpy(getattr(numpy.asarray(self), name))

        def bound(*args, **kwargs):
            return _by_numpy("ndarray." + name, found, (self, *args), kwargs)

        bound.__name__ = name
        return bound

    # ---- What it is ----

    dtype = property(lambda self: _real)
    shape = property(lambda self: self._bits.shape)
    ndim = property(lambda self: self._bits.ndim)
    size = property(lambda self: self._bits.size)
    itemsize = property(lambda self: 2)
    nbytes = property(lambda self: 2 * self._bits.size)
    strides = property(lambda self: self._bits.strides)
    T = property(lambda self: Bfloat16Array(self._bits.T))
    real = property(lambda self: self)
    flags = property(lambda self: self._bits.flags)
    base = property(lambda self: None if self._bits.base is None else Bfloat16Array(self._bits.base))

    def __len__(self):
        return len(self._bits)

    def __iter__(self):
        return (self[k] for k in range(len(self)))

    def __getitem__(self, key):
        if type(key) is Bfloat16Array:
            return numpy.asarray(self)[numpy.asarray(key)]  # NumPy's own error
        made = self._bits[key]
        # An element is ml_dtypes' scalar, as which lists of them are known for what they are.
        return numpy.asarray(made).view(_real)[()] if made._is_scalar else Bfloat16Array(made)

    def __setitem__(self, key, value):
        kind = type(value)
        if kind is Bfloat16Array:
            bits = value._bits
        elif kind is ndarray and value.dtype.kind in "biuf":
            bits = _core.brain_bits(value)
        else:
            bits = numpy.asarray(value, _real).view(numpy.uint16)
        self._bits[key] = bits

    def __repr__(self):
        return repr(numpy.asarray(self))

    def __str__(self):
        return str(numpy.asarray(self))

    def __format__(self, spec):
        return format(numpy.asarray(self)[()], spec)

    def __bool__(self):
        return bool(numpy.asarray(self))

    def __float__(self):
        return float(numpy.asarray(self))

    def __int__(self):
        return int(numpy.asarray(self))

    def __complex__(self):
        return complex(numpy.asarray(self))

    def __contains__(self, x):
        return x in numpy.asarray(self)

    def __reduce__(self):
        return _remade, (numpy.array(self),)

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    # ---- Methods ----

    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
        to = numpy.dtype(dtype)
        if to == _real:
            return self.copy() if copy else self
        if not _fallback.native_dtype(to) or order != "K" or not numpy.can_cast(_real, to, casting):
            return _by_numpy("ndarray.astype", numpy.ndarray.astype,
                             (self, dtype, order, casting, subok, copy), {})
        numbers = self._numbers()
        return numbers if to == numpy.float32 else numbers.astype(to)

    def copy(self, order="C"):
        bits = self._bits
        return Bfloat16Array(bits if bits._is_scalar else bits.copy(order))

    def reshape(self, *shape, **kwargs):
        return Bfloat16Array(self._bits.reshape(*shape, **kwargs))

    def transpose(self, *axes):
        return Bfloat16Array(self._bits.transpose(*axes))

    def ravel(self, order="C"):
        return Bfloat16Array(self._bits.ravel(order))

    def flatten(self, order="C"):
        return Bfloat16Array(self._bits.flatten(order))

    def squeeze(self, axis=None):
        return Bfloat16Array(self._bits.squeeze(axis))

    def swapaxes(self, axis1, axis2):
        return Bfloat16Array(self._bits.swapaxes(axis1, axis2))

    def dot(self, b):
        return numpy.dot(self, b)


def _method(name):
    function = getattr(numpy, name)

    def method(self, *args, **kwargs):
        return function(self, *args, **kwargs)

    method.__name__ = name
    return method


for _name in "sum prod mean max min all any argmax argmin repeat take".split():
    setattr(Bfloat16Array, _name, _method(_name))
