# SPDX-License-Identifier: Apache-2.0
"""numpy.random's generators: NumPy's own streams, drawn into braze arrays.

They derive from NumPy's classes, so that a library which asks for a numpy.random
generator takes one of these.
"""

import functools

import numpy

from braze import _core
from braze.numpy import _fallback

ndarray = _core.ndarray

# Where a method that can draw into an array takes it, counted without self.
_OUT = {"random": 2, "standard_normal": 2, "standard_exponential": 3, "standard_gamma": 3}
_NOT_DRAWN = ("bit_generator", "spawn", "shuffle")


_SCATTERED = numpy.zeros((2, 2))[:, :1]
_WHOLE = 0x401  # the bits of flags.num: C-contiguous and writeable


def _draws_into(out, dtype=numpy.float64, **others):
    """May what is drawn be assigned to out, in the order in which NumPy would draw into it?"""
    return (not others and type(out) is ndarray and out.ndim
            and _core.facts(out) & _WHOLE == _WHOLE and out.dtype == dtype)


def _draw(theirs, name):
    theirs_does = getattr(theirs, name)
    place = _OUT.get(name) if theirs is numpy.random.Generator else None

    def draw(self, *args, **kwargs):
        if place is not None and len(args) == place + 1:
            args, kwargs = args[:place], {**kwargs, "out": args[place]}
        out = kwargs.get("out")
        if out is not None and not args and _draws_into(**kwargs):
            given = {k: v for k, v in kwargs.items() if k != "out"}
            out[...] = getattr(self, name)(size=out.shape, **given)
            return out
        if type(out) is ndarray and not _core.orders(out):
            kwargs = {**kwargs, "out": _SCATTERED}  # a copy, which NumPy would take, is contiguous
        return _fallback.call("random." + name, getattr(self._numpy, name), args, kwargs)

    shown = _core.native(draw, f"random.{theirs.__name__}.{name}", True)
    # What nobody sees needs no name: half of what this module's import takes would go there.
    functools.update_wrapper(shown or draw, theirs_does, updated=())
    if shown is None:
        return draw
    shown.__wrapped__ = draw
    return shown


def _shuffle(inner, args, kwargs):
    """A shuffle in place, of braze arrays too."""
    at = next((i for i, x in enumerate(args) if type(x) is ndarray), None)
    x = kwargs.get("x") if at is None else args[at]
    if type(x) is not ndarray:
        inner(*args, **kwargs)  # whatever it is, itself is shuffled
        return
    _fallback.counts["random.shuffle"] += 1
    spare = numpy.array(x)
    if at is None:
        inner(*args, **{**kwargs, "x": spare})
    else:
        inner(*args[:at], spare, *args[at + 1 :], **kwargs)
    x[...] = spare


class _Method:
    """A method that is made when it is first asked for: a program has few of forty."""

    def __init__(self, theirs):
        self._theirs = theirs

    def __set_name__(self, owner, name):
        self._owner, self._name = owner, name

    def __get__(self, of, kind=None):
        made = _draw(self._theirs, self._name)
        setattr(self._owner, self._name, made)
        return made.__get__(of, kind)


def _drawing(theirs):
    """Methods of one of NumPy's generators that give braze arrays.

    They run on a generator of NumPy's own with the same state (_numpy), whose methods
    call each other and compute with what they get.
    """
    names = [
        n for n, method in vars(theirs).items()
        if not n.startswith("_") and n not in _NOT_DRAWN and callable(method)
    ]
    methods = {n: _Method(theirs) for n in names}

    @functools.wraps(theirs.shuffle, updated=())
    def method(self, *args, **kwargs):
        _shuffle(self._numpy.shuffle, args, kwargs)

    shown = _core.native(method, f"random.{theirs.__name__}.shuffle", True)
    functools.update_wrapper(shown, method, updated=())
    return type("drawing", (), methods | {"shuffle": shown})


@functools.cache
def _is_known():
    """Does PCG64's memory hold what braze takes it for?"""
    bits = numpy.random.PCG64(1)
    bits.state = bits.state | {"has_uint32": 1, "uinteger": 0x12345678}
    bits.random_raw(3)
    state = bits.state
    wide = state["state"]["state"] | state["state"]["inc"] << 128
    words = tuple(wide >> 64 * k & (1 << 64) - 1 for k in range(4))
    return _core.pcg64_words(bits) == (*words, 1 << 32 | 0x12345678)


_PCG64 = numpy.random.PCG64
_kind = None  # of default_rng's bit generators, once there was one: to make one takes as long as all that is above
_new_stream = _core.stream
_core.draw_of(numpy.random.mtrand._rand)
_core.draw_by(numpy.random.Generator.standard_normal, numpy.random.Generator.standard_exponential)


class _Theirs:
    """NumPy's own generator of the same stream, made when it is asked for."""

    def __get__(self, of, kind=None):
        if of is None:
            return self
        made = of.__dict__["_numpy"] = numpy.random.Generator(of.bit_generator)
        return made


class _Stream:
    """The same for what draws uniform numbers."""

    def __get__(self, of, kind=None):
        if of is None:
            return self
        bits = of.bit_generator
        made = of.__dict__["_stream"] = _new_stream(
            bits, type(bits) is _PCG64 and _is_known())
        return made


class Generator(_drawing(numpy.random.Generator), numpy.random.Generator):
    """numpy.random.Generator whose draws are braze arrays."""

    # Most generators draw by one of the two.
    _numpy, _stream = _Theirs(), _Stream()

    def __reduce__(self):
        return type(self), (self.bit_generator,)


def _random_state():
    """The class of the older generators, of which most programs have none."""

    class RandomState(_drawing(numpy.random.RandomState), numpy.random.RandomState):
        """numpy.random.RandomState whose draws are braze arrays."""

        def __init__(self, seed=None):
            super().__init__(_fallback.to_numpy(seed))
            self._numpy = numpy.random.RandomState(self._bit_generator)

        def __reduce__(self):
            return type(self), (self._bit_generator,), self._numpy.get_state(legacy=False)

        def __setstate__(self, state):
            self._numpy.set_state(state)

    return _named(RandomState)


def _named(public):
    public.__module__, public.__qualname__ = "braze.numpy.random", public.__name__
    return public


@functools.wraps(numpy.random.default_rng)
def default_rng(seed=None):
    global _kind
    if type(seed) is int and _kind:
        return Generator(_kind(seed))  # as NumPy makes it
    if isinstance(seed, Generator):
        return seed
    made = numpy.random.default_rng(_fallback.to_numpy(seed)).bit_generator
    if type(seed) is int:
        _kind = type(made)
    return Generator(made)


def _public_shuffle():
    @functools.wraps(numpy.random.shuffle)
    def shuffle(*args, **kwargs):
        _shuffle(numpy.random.shuffle, args, kwargs)

    shown = _core.native(shuffle, "random.shuffle", False)
    shown.__wrapped__, shown.__doc__, shown.__name__ = shuffle, shuffle.__doc__, "shuffle"
    return shown


shuffle = _public_shuffle()
for _public in (Generator, default_rng, shuffle):
    _named(_public)
OWN = {
    "random.Generator": Generator,
    "random.default_rng": default_rng,
    "random.shuffle": shuffle,
}
LATER = {"random.RandomState": _random_state, "random.mtrand.RandomState": _random_state}
