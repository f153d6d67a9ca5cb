# SPDX-License-Identifier: Apache-2.0
"""Objects that are neither NumPy's plain arrays nor ours, and how a result of NumPy's is
compared with one of ours: values, types, masks, units, errors.
"""

import warnings

import numpy

import braze.numpy


class Tagged(numpy.ndarray):
    """A subclass that only wants to stay one."""

    def __array_finalize__(self, base):
        self.tag = getattr(base, "tag", None)


class Quantity(numpy.ndarray):
    """A subclass that looks at every call, as one with units does."""

    unit = ""

    def __array_finalize__(self, base):
        self.unit = getattr(base, "unit", "")

    def _made(self, result, call):
        if isinstance(result, (tuple, list)):
            return type(result)(self._made(r, call) for r in result)
        if not isinstance(result, (numpy.ndarray, numpy.generic)):
            return result
        made = numpy.asarray(result).view(Quantity)
        made.unit = f"{call}({self.unit})"
        return made

    def __array_ufunc__(self, function, method, *inputs, out=None, **kwargs):
        plain = [numpy.asarray(x) if isinstance(x, Quantity) else x for x in inputs]
        if out:
            kwargs["out"] = tuple(
                numpy.asarray(o) if isinstance(o, Quantity) else o for o in out
            )
        result = super().__array_ufunc__(function, method, *plain, **kwargs)
        if result is NotImplemented or (out and all(type(o) is numpy.ndarray for o in out)):
            return result
        return self._made(result, function.__name__)

    def __array_function__(self, function, types, args, kwargs):
        if not all(issubclass(t, numpy.ndarray) for t in types):
            return NotImplemented
        result = super().__array_function__(function, types, args, kwargs)
        return self._made(result, function.__name__)


class Duck:
    """An array of another library: both protocols, no relation of numpy.ndarray's."""

    __array_priority__ = 50

    def __init__(self, data):
        self.data = numpy.asarray(data)
        self.shape, self.dtype, self.ndim = self.data.shape, self.data.dtype, self.data.ndim

    def __array_ufunc__(self, function, method, *inputs, out=None, **kwargs):
        return "ufunc", function.__name__, method, [kind_of(x) for x in inputs], kind_of(out)

    def __array_function__(self, function, types, args, kwargs):
        return "function", function.__name__, sorted(t.__name__ for t in types)

    def __repr__(self):
        return "Duck"


def _reflected(names):
    def decorate(cls):
        for name in names.split():
            def answer(self, other, name=name):
                return name, kind_of(other), numpy.asarray(other).tolist()
            setattr(cls, f"__{name}__", answer)
        cls.__repr__ = lambda self: type(self).__name__
        cls.__hash__ = object.__hash__
        return cls
    return decorate


_ANSWERS = (
    "radd rsub rmul rtruediv rfloordiv rmod rdivmod rpow rlshift rrshift rand rxor ror rmatmul "
    "eq ne lt le gt ge"
)


@_reflected(_ANSWERS)
class Proud:
    """Wants no ufunc to touch it."""

    __array_ufunc__ = None


@_reflected(_ANSWERS)
class Ranked:
    """Outranks arrays in the way that is older than __array_ufunc__."""

    __array_priority__ = 5

    def __array__(self, dtype=None, copy=None):
        return numpy.array([[1.0, 2.0], [3.0, 4.0]])


class Wary:
    """Outranks arrays, and knows NumPy's only, as sparse matrices do."""

    __array_priority__ = 10.1

    def __repr__(self):
        return "Wary"


def _wary(name):
    def answer(self, other):
        if not isinstance(other, (numpy.ndarray, numpy.generic)):
            return NotImplemented
        return name, numpy.asarray(other).tolist()
    return answer


for _name in _ANSWERS.split():
    setattr(Wary, f"__{_name}__", _wary(_name))


@_reflected(_ANSWERS)
class Humble(Ranked):
    """Is ranked below arrays, so it is an operand like others."""

    __array_priority__ = -5


class Frame:
    """Methods named as NumPy's functions, which those call."""

    def __init__(self, data):
        self.data = data

    def __array__(self, dtype=None, copy=None):
        return numpy.asarray(self.data)

    def sum(self, axis=None, out=None):
        return "its own sum", axis

    def mean(self, axis=None, dtype=None, out=None):
        return "its own mean", axis

    def round(self, decimals=0, out=None):
        return "its own round", decimals

    def clip(self, *args, **kwargs):
        return "its own clip"

    def __repr__(self):
        return "Frame"


class Held:
    """Gives its data as an array, and nothing else."""

    def __init__(self, data):
        self.data = data

    def __array__(self, dtype=None, copy=None):
        return self.data

    def __repr__(self):
        return "Held"


def matrix(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return numpy.matrix(data)


def quantity(data):
    made = numpy.array(data).view(Quantity)
    made.unit = "m"
    return made


def tagged(data):
    made = numpy.array(data).view(Tagged)
    made.tag = "t"
    return made


DATA = [[1.0, 2.0], [3.0, -4.0]]
KINDS = {
    "masked": lambda: numpy.ma.array(DATA, mask=[[0, 1], [0, 0]]),
    "matrix": lambda: matrix(DATA),
    "tagged": lambda: tagged(DATA),
    "quantity": lambda: quantity(DATA),
    "duck": lambda: Duck(DATA),
    "proud": Proud,
    "ranked": Ranked,
    "wary": Wary,
    "humble": Humble,
    "frame": lambda: Frame(DATA),
    "held": lambda: Held(numpy.array(DATA)),
}


def kind_of(x):
    """A type's name, the same for our arrays and NumPy's."""
    if isinstance(x, (tuple, list)):
        return [kind_of(y) for y in x]
    if type(x) is braze.numpy.ndarray:
        return type(braze.numpy._fallback.to_numpy(x)).__name__
    return type(x).__name__


def facts(x):
    """What two results must agree in."""
    if isinstance(x, (tuple, list)):
        return [kind_of(x) if not isinstance(x, (tuple, list)) else type(x).__name__,
                *(facts(y) for y in x)]
    if type(x) is braze.numpy.ndarray:
        x = braze.numpy._fallback.to_numpy(x)
    if isinstance(x, numpy.ma.MaskedArray):
        return "masked", str(x.dtype), x.shape, repr(x.tolist())
    if isinstance(x, (numpy.ndarray, numpy.generic)):
        extra = getattr(x, "unit", None) or getattr(x, "tag", None)
        return type(x).__name__, extra, str(x.dtype), numpy.shape(x), repr(numpy.asarray(x).tolist())
    return type(x).__name__, x if isinstance(x, (str, int, float, bool, dict)) else None


def outcome(f, *args):
    """facts of f(*args), or the class of its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with numpy.errstate(all="ignore"):
            try:
                return facts(f(*args))
            except Exception as error:  # whatever NumPy raises
                return "raised", error_name(error)


def error_name(error):
    """Private subclasses count as the class that can be named."""
    for cls in type(error).__mro__:
        if not cls.__name__.startswith("_"):
            return "UFuncTypeError" if cls.__name__ == "UFuncTypeError" else cls.__name__
    return None
