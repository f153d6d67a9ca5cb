# SPDX-License-Identifier: Apache-2.0
"""Random numbers that are the same to the bit on every device and any number of threads.

Element i of a draw is a function of the generator's key, the number of the draw and i
(Philox 4x32-10, a counter-based generator): no element waits for another, so that all
cores share a draw, and draws are lazy like other operations. braze.numpy.random has
NumPy's own streams.

    rng = braze.random.Generator(1)
    x = rng.normal(size=(1000, 1000))
"""

import functools
import math
import operator
import secrets

import numpy

import braze.numpy as np
from braze import _core

__all__ = [
    "Generator", "choice", "exponential", "integers", "normal", "permutation", "random",
    "seed", "shuffle", "standard_normal", "uniform",
]

_WORDS = 1 << 64
_FLOATS = (numpy.dtype(numpy.float64), numpy.dtype(numpy.float32))
_INT64, _UINT64 = numpy.dtype(numpy.int64), numpy.dtype(numpy.uint64)
_CHILDREN = 1 << 63  # draws from here on are keys


def _key(seed):
    if seed is None:
        return secrets.randbits(64)
    try:
        seed = operator.index(seed)
    except TypeError:
        seed = numpy.asarray(seed)
    else:
        if seed < 0:
            raise ValueError("seed must not be negative")
        if seed < _WORDS:
            return seed
    return int(numpy.random.SeedSequence(seed).generate_state(1, numpy.uint64)[0])


def _shape(size):
    """A size as Python's integers: None, one, or a tuple."""
    if size is None:
        return None
    try:
        return operator.index(size)
    except TypeError:
        return tuple(operator.index(n) for n in size)


def _count(shape):
    return 1 if shape is None else math.prod(shape) if isinstance(shape, tuple) else shape


def _float_type(dtype):
    dtype = numpy.dtype(dtype)
    if dtype not in _FLOATS:
        raise TypeError(f"random floats are float64 or float32, not {dtype}")
    return dtype


def _finite(name, value):
    value = float(value)
    if not math.isfinite(value):
        raise OverflowError(f"{name} must be finite")
    return value


def _is_number(x):
    return numpy.ndim(x) == 0


def _native(method):
    """A method of Generator: plain calls are answered in C (fast_draw.c)."""
    shown = _core.native(method, f"counter.{method.__name__}", True)
    functools.update_wrapper(shown, method, updated=())
    shown.__wrapped__ = method
    return shown


class Generator(_core.counter):
    """A stream of random numbers.

    `key` and `draw` are its whole state: two generators of the same key give the same
    numbers, and each call that draws counts `draw` on by one. Both may be set. A seed that
    is an integer below 2**64 is the key; others are hashed, None asks the system.
    """

    def __init__(self, seed=None):
        self.key = _key(seed)
        self.draw = 0

    @_native
    def random(self, size=None, dtype=numpy.float64):
        """Uniform numbers in [0, 1), multiples of 2**-53 (float32: 2**-24)."""
        return self._draw("random.uniform", _shape(size), _float_type(dtype), 0.0, 1.0)

    @_native
    def uniform(self, low=0.0, high=1.0, size=None, dtype=numpy.float64):
        """Uniform numbers in [low, high); rounding can give high itself."""
        dtype = _float_type(dtype)
        if _is_number(low) and _is_number(high):
            low = _finite("low", low)
            span = _finite("high - low", float(high) - low)
            if span < 0:
                raise ValueError("high must not be below low")
            return self._draw("random.uniform", _shape(size), dtype, low, span)
        return self._scaled("random.uniform", size, dtype, low, np.subtract(high, low))

    @_native
    def standard_normal(self, size=None, dtype=numpy.float64):
        """Normal numbers of mean 0 and deviation 1, none above 8.6."""
        return self._draw("random.normal", _shape(size), _float_type(dtype), 0.0, 1.0)

    @_native
    def normal(self, loc=0.0, scale=1.0, size=None, dtype=numpy.float64):
        """Normal numbers of mean `loc` and deviation `scale`."""
        dtype = _float_type(dtype)
        if _is_number(loc) and _is_number(scale):
            loc, scale = _finite("loc", loc), _finite("scale", scale)
            if scale < 0:
                raise ValueError("scale < 0")
            return self._draw("random.normal", _shape(size), dtype, loc, scale)
        return self._scaled("random.normal", size, dtype, loc, scale)

    @_native
    def exponential(self, scale=1.0, size=None, dtype=numpy.float64):
        """Exponential numbers of mean `scale`."""
        dtype = _float_type(dtype)
        if _is_number(scale):
            scale = _finite("scale", scale)
            if scale < 0:
                raise ValueError("scale < 0")
            return self._draw("random.exponential", _shape(size), dtype, 0.0, scale)
        return self._scaled("random.exponential", size, dtype, 0.0, scale)

    def _scaled(self, operation, size, dtype, low, span):
        """low + span * x of arrays that broadcast."""
        size = _shape(size)
        if size is None:
            size = np.broadcast_shapes(numpy.shape(low), numpy.shape(span))
        x = self._draw(operation, size, dtype, 0.0, 1.0)
        low, span = (np.asarray(y, dtype=dtype) for y in (low, span))
        return low + span * x

    @_native
    def integers(self, low, high=None, size=None, dtype=numpy.int64, endpoint=False):
        """Integers in [low, high), or [low, high] with endpoint; of one number, below it.

        No integer is likelier than another by more than one part in 2**32.
        """
        low, high = (0, low) if high is None else (low, high)
        low, last = operator.index(low), operator.index(high) - (not endpoint)
        dtype = numpy.dtype(dtype)
        if dtype.kind not in "iu":
            raise TypeError(f"random integers of type {dtype}")
        info = numpy.iinfo(dtype)
        if low < info.min or last > info.max:
            raise ValueError(f"low or high is out of bounds for {dtype}")
        if last < low:
            raise ValueError("low >= high" if not endpoint else "low > high")
        made = _UINT64 if last > numpy.iinfo(numpy.int64).max else _INT64
        x = self._draw(
            "random.integers", _shape(size), made, low % _WORDS, (last - low + 1) % _WORDS
        )
        return x if size is None or dtype == made else x.astype(dtype)

    def permutation(self, x, axis=0):
        """The integers below x in a random order, or a copy of x in one, along an axis."""
        if _is_number(x):
            return self._order(operator.index(x))
        x = np.asarray(x)
        return np.take(x, self._order(x.shape[axis]), axis=axis)

    def _order(self, n):
        """That of n random words; of equal ones the earlier is first."""
        return np.argsort(self._draw("random.words", n, _UINT64, 0, 0), kind="stable")

    def shuffle(self, x, axis=0):
        """Put x in a random order along an axis, in place."""
        x[...] = self.permutation(x, axis)

    def choice(self, a, size=None, replace=True, p=None, axis=0):
        """Elements of a, or integers below it: each as likely, or as p says."""
        n = operator.index(a) if _is_number(a) else np.shape(a)[axis]
        shape = _shape(size)
        count = _count(shape)
        if n < 1 and count:
            raise ValueError("a must not be empty")
        if not replace and count > n:
            raise ValueError("cannot take a larger sample than population without replacement")
        if p is not None:
            p = self._likelihood(p, n)
        places = self._places(n, count, replace, p)
        places = places[0] if shape is None else np.reshape(places, shape)
        if _is_number(a):
            return int(places) if shape is None else places
        return np.take(np.asarray(a), places, axis=axis)

    @staticmethod
    def _likelihood(p, n):
        p = np.asarray(p, dtype=numpy.float64)
        if p.shape != (n,):
            raise ValueError("a and p must have the same size")
        if not bool((p >= 0).all()):
            raise ValueError("probabilities are not non-negative")
        if abs(float(p.sum()) - 1) > 1e-8:
            raise ValueError("probabilities do not sum to 1")
        return p

    def _places(self, n, count, replace, p):
        if p is None:
            return self.integers(0, n, count) if replace else self._order(n)[:count]
        if replace:
            until = np.cumsum(p)
            return np.searchsorted(until / until[-1], self.random(count), side="right")
        if int(np.count_nonzero(p)) < count:
            raise ValueError("fewer non-zero entries in p than size")
        # Who waits shortest, where each waits for a time of mean 1 / p.
        with np.errstate(divide="ignore"):
            return np.argsort(self.exponential(1.0, n) / p, kind="stable")[:count]

    def spawn(self, n_children):
        """Generators with keys of their own, which follow from this one's state."""
        children = []
        for k in range(operator.index(n_children)):
            child = type(self).__new__(type(self))
            child.key = _core.philox(k, _CHILDREN | self.draw, self.key)[0]
            child.draw = 0
            children.append(child)
        self.draw += 1
        return children

    def __repr__(self):
        return f"braze.random.Generator(key={self.key:#018x}, draw={self.draw})"

    def __getstate__(self):
        return self.key, self.draw

    def __setstate__(self, state):
        self.key, self.draw = state

    def __reduce__(self):
        return _new, (type(self),), self.__getstate__()


def _new(cls):
    return cls.__new__(cls)


_shared = Generator()
random, uniform, normal = _shared.random, _shared.uniform, _shared.normal
standard_normal, exponential = _shared.standard_normal, _shared.exponential
integers, permutation = _shared.integers, _shared.permutation
shuffle, choice = _shared.shuffle, _shared.choice


def seed(value=None):
    """Begin the stream of the module's own functions anew."""
    _shared.key, _shared.draw = _key(value), 0
