# SPDX-License-Identifier: Apache-2.0
"""Adapters: other packages that know NumPy's types by name and ask for no protocol.

Where a package has a protocol (__array__, __conform__, __index__, ...), the array type
speaks it.  Where it tests for the very types float and numpy.ndarray, the one function
that decides is wrapped here: as soon as the package is imported, and not before.
"""

import functools
import sys

import numpy

from braze import _core
from braze.numpy import _fallback

ndarray = _core.ndarray
_adapters = {}  # module name -> function(module)


def _adapter(name):
    def register(function):
        _adapters[name] = function
        return function

    return register


def _is_scalar(x):
    return type(x) is ndarray and x._is_scalar


def _is_float(x):
    """A scalar whose counterpart in NumPy is a Python float."""
    return _is_scalar(x) and x.dtype.char == "d"


@_adapter("json.encoder")
def _json(module):
    """NumPy's float64 is written as a number, before any `default` is asked."""
    for name in ("c_make_encoder", "_make_iterencode"):
        if getattr(module, name, None):
            setattr(module, name, _encoding(getattr(module, name)))


def _encoding(make):
    @functools.wraps(make, updated=())
    def made(markers, default, *args, **kwargs):
        def number_first(x):
            return float(x) if _is_float(x) else default(x)

        return make(markers, number_first, *args, **kwargs)

    return made


@_adapter("fractions")
def _fractions(module):
    """Fraction(x) is exact for a float, and so for a float64."""
    inner = module.Fraction.__new__

    @functools.wraps(inner)
    def new(cls, numerator=0, *args, **kwargs):
        if _is_scalar(numerator):
            numerator = numerator.item()
        return inner(cls, numerator, *args, **kwargs)

    module.Fraction.__new__ = new


# What of pandas takes arrays or numbers and tells them by their types.
_PANDAS = """
core.common.apply_if_callable
DataFrame.groupby DataFrame.set_index DataFrame.round DataFrame.insert DataFrame.__setitem__
DataFrame.replace DataFrame.rolling
Series.groupby Series.replace Series.rolling Series.map
core.indexing._ScalarAccessIndexer.__getitem__ core.indexing._ScalarAccessIndexer.__setitem__
core.indexing._AtIndexer.__getitem__ core.indexing._AtIndexer.__setitem__
factorize unique date_range to_datetime to_timedelta to_numeric Categorical.__init__
""".split()


@_adapter("pandas")
def _pandas(pandas):
    """Keys, groups, columns and numbers reach pandas as NumPy's; data as a copy, which
    pandas may write."""
    for name in _PANDAS:
        _wrap(pandas, name, _with_plain_arguments)
    for name in ("Series.__init__", "DataFrame.__init__"):
        _wrap(pandas, name, _with_copied_data)
    _wrap(pandas, "_libs.lib.maybe_convert_objects", _with_plain_objects)


def _wrap(module, path, make):
    """Replace a function by what make() makes of it; one that a version lacks stays away."""
    *parents, name = path.split(".")
    for parent in parents:
        module = getattr(module, parent, None)
    found = getattr(module, name, None)
    if found is not None:
        setattr(module, name, make(found))


def _plain(x):
    """An argument with NumPy's arrays and scalars in place of ours, one level down too."""
    kind = type(x)
    if kind is ndarray:
        return _fallback.to_numpy(x)
    if kind is slice:
        return slice(_plain(x.start), _plain(x.stop), _plain(x.step))
    if kind in (list, tuple) and not {ndarray, slice}.isdisjoint(map(type, x)):
        return kind(_plain(y) for y in x)
    if kind is dict and ndarray in {type(y) for pair in x.items() for y in pair}:
        return {_plain(k): _plain(v) for k, v in x.items()}
    return x


def _with_plain_arguments(inner):
    @functools.wraps(inner)
    def function(*args, **kwargs):
        return inner(*map(_plain, args), **{k: _plain(v) for k, v in kwargs.items()})

    return function


def _writable(x):
    """Data that becomes pandas' own."""
    if type(x) is dict:
        return {_plain(k): _writable(v) for k, v in x.items()}
    return numpy.array(x) if type(x) is ndarray and not x._is_scalar else _plain(x)


def _with_copied_data(inner):
    @functools.wraps(inner)
    def init(self, data=None, *args, **kwargs):
        kwargs = {k: _plain(v) for k, v in kwargs.items()}
        inner(self, _writable(data), *map(_plain, args), **kwargs)

    return init


def _with_plain_objects(inner):
    """The type of a column of Python objects, scalars of ours among them."""

    @functools.wraps(inner, updated=())
    def convert(objects, *args, **kwargs):
        made = inner(objects, *args, **kwargs)
        if getattr(made, "dtype", None) == object and ndarray in set(map(type, objects)):
            plain = numpy.empty(len(objects), object)
            plain[:] = [_core.value(x) if _is_scalar(x) else x for x in objects]
            made = inner(plain, *args, **kwargs)
        return made

    return convert


class _Hook:
    """Finds nothing itself: lets an adapter see its module once that has been executed."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """The import system's question, passed on to those that are asked after this."""
        adapt = _adapters.get(name)
        if adapt is None:
            return None
        for finder in sys.meta_path:
            spec = None if finder is _Hook else finder.find_spec(name, path, target)
            if spec is not None:
                _extend(spec.loader, adapt)
                return spec
        return None


def _extend(loader, adapt):
    execute = getattr(loader, "exec_module", None)
    if execute is None or isinstance(loader, type):
        return

    def exec_module(module):
        execute(module)
        adapt(module)

    loader.exec_module = exec_module


def install():
    """Adapt what is imported already; the rest when it comes."""
    for name, adapt in _adapters.items():
        if name in sys.modules:
            adapt(sys.modules[name])
    sys.meta_path.insert(0, _Hook)
