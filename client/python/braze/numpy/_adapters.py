# SPDX-License-Identifier: Apache-2.0
"""Adapters: other packages that know NumPy's types by name and ask for no protocol.

Where a package has a protocol (__array__, __conform__, __index__, ...), the array type
speaks it.  Where it tests for the very types float and numpy.ndarray, the one function
that decides is wrapped here: as soon as the package is imported, and not before.
"""

import functools
import importlib
import os
import sys
import types

import numpy

from braze import _core
from braze.numpy import _fallback

ndarray = _core.ndarray
_adapters = {}  # module name -> function(module)


def _adapter(name):
    """Registers a function of a module, which runs when that has been imported."""

    def register(function):
        _adapters[name] = function
        return function

    return register


def _is_scalar(x):
    return type(x) is ndarray and x._is_scalar


def _is_float(x):
    """A scalar whose counterpart in NumPy is a Python float."""
    return _is_scalar(x) and x.dtype.char == "d"


# ---- What adapters are made of ----


def _find(module, path):
    """What stands at a path; None in a version that lacks it."""
    for name in path.split("."):
        module = getattr(module, name, None)
    return module


def _wrap(module, path, make):
    """Replace a function by what make() makes of it."""
    parent, _, name = path.rpartition(".")
    parent = _find(module, parent) if parent else module
    found = getattr(parent, name, None)
    if found is not None:
        _put(parent, name, make(found))


def _wrap_public(space):
    """Every public function of a class or module."""
    for name, found in list(vars(space).items()) if space is not None else ():
        if isinstance(found, types.FunctionType) and not name.startswith("_"):
            _put(space, name, _with_plain_arguments(found))


def _put(space, name, made):
    if type(made) is type(_core.adapted(None, None)):
        place = (f"{space.__qualname__}.{name}" if isinstance(space, type) else name)
        module = space.__module__ if isinstance(space, type) else space.__name__
        made._pickled = (placed, (module, place))
    setattr(space, name, made)


def placed(module, path):
    """Unpickle: what stands there in this process."""
    return _find(importlib.import_module(module), path)


def _with_plain_arguments(inner, plain=None):
    return functools.update_wrapper(_core.adapted(inner, plain or _plain), inner)


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


# ---- The standard library ----


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
    _wrap(module, "Fraction.__new__", _with_python_number)
    from_float = _with_python_number(module.Fraction.from_float.__func__)
    module.Fraction.from_float = classmethod(from_float)


@_adapter("random")
def _random(module):
    """A seed may be a float."""
    _wrap(module, "Random.seed", _with_python_number)
    module.seed = module._inst.seed


def _with_python_number(inner):
    """The first argument after self or cls: a Python number in place of a scalar."""

    @functools.wraps(inner)
    def function(self, *args, **kwargs):
        if args and _is_scalar(args[0]):
            args = (args[0].item(), *args[1:])
        return inner(self, *args, **kwargs)

    return function


# ---- pandas ----

# Classes and modules all of whose public functions take arguments as NumPy's: pandas tells
# arrays and numbers by their types in too many places to name them.
_PANDAS_PUBLIC = """
core.generic.NDFrame DataFrame Series Index Categorical
core.groupby.groupby.BaseGroupBy core.groupby.groupby.GroupBy
core.groupby.generic.DataFrameGroupBy core.groupby.generic.SeriesGroupBy
core.window.rolling.BaseWindow core.window.rolling.Rolling core.window.expanding.Expanding
core.window.ewm.ExponentialMovingWindow core.strings.accessor.StringMethods
""".split()
_PANDAS = """
core.common.apply_if_callable DataFrame.__setitem__ Categorical.__init__
core.indexing._ScalarAccessIndexer.__getitem__ core.indexing._ScalarAccessIndexer.__setitem__
core.indexing._AtIndexer.__getitem__ core.indexing._AtIndexer.__setitem__
""".split()


@_adapter("pandas")
def _pandas(pandas):
    """Keys, groups, columns and numbers reach pandas as NumPy's; data as a copy, which
    pandas may write."""
    for name in _PANDAS:
        _wrap(pandas, name, _with_plain_arguments)
    _wrap_public(pandas)
    for name in _PANDAS_PUBLIC:
        _wrap_public(_find(pandas, name))
    for name in ("Series.__init__", "DataFrame.__init__"):
        _wrap(pandas, name, _with_copied_data)
    _wrap(pandas, "_libs.lib.maybe_convert_objects", _with_plain_objects)


def _writable(x):
    """Data that becomes pandas' own.  Lists may be long: _with_plain_objects sees to them."""
    if type(x) is ndarray:
        return _core.value(x) if x._is_scalar else numpy.array(x)
    if type(x) is dict:
        return {_fallback.to_numpy(k): _writable(v) for k, v in x.items()}
    return x


def _with_copied_data(inner):
    return _with_plain_arguments(inner, _writable)


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


# ---- scikit-learn ----


@_adapter("sklearn.utils._param_validation")
@_adapter("sklearn.base")
def _sklearn_parameters(module):
    """A parameter's type is tested on NumPy's scalar or array."""
    _wrap(module, "validate_parameter_constraints", _with_plain_arguments)


@_adapter("sklearn.model_selection._search")
def _sklearn_search(module):
    """Values to try may stand in an array."""
    for name in ("ParameterGrid.__init__", "ParameterSampler.__init__"):
        _wrap(module, name, _with_plain_arguments)


# ---- SciPy ----


@_adapter("scipy.ndimage")
def _ndimage(module):
    """output= may be a braze array: a filter writes a copy, which is assigned back."""
    for name in module.__all__:
        _wrap(module, name, _with_written_output)


def _with_written_output(inner):
    import inspect  # here: nothing else needs it, and it takes long

    try:
        signature = inspect.signature(inner)
    except (TypeError, ValueError):
        return inner
    if "output" not in signature.parameters:
        return inner

    @functools.wraps(inner)
    def function(*args, **kwargs):
        if ndarray not in map(type, (*args, *kwargs.values())):
            return inner(*args, **kwargs)
        bound = signature.bind(*args, **kwargs)
        output = bound.arguments.get("output")
        if type(output) is not ndarray:
            return inner(*args, **kwargs)
        bound.arguments["output"] = written = numpy.array(output)
        made = inner(*bound.args, **bound.kwargs)
        output[...] = written
        return output if made is written else made

    return function


# ---- Pillow ----


@_adapter("PIL.Image")
def _pillow(module):
    """Pixels in a sequence are numbers: what has items is none to Pillow."""
    _wrap(module, "Image.putdata", _with_plain_arguments)


# ---- Dask ----


def _dask(part):
    """Adapts a module of Dask's by a function of _dask, which is loaded for it."""

    def adapt(module):
        getattr(importlib.import_module("braze.numpy._dask"), part)(module)

    return adapt


_adapters.update({
    "dask.array": _dask("arrays"), "dask.sizeof": _dask("sizes"), "dask.tokenize": _dask("tokens"),
    "distributed.protocol.serialize": _dask("serializer"), "distributed.worker": _dask("worker"),
})


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
    """Adapt what is imported already; the rest when it comes.  BRAZE_ADAPTERS=0: nothing."""
    if os.environ.get("BRAZE_ADAPTERS") == "0":
        return
    for name, adapt in _adapters.items():
        if name in sys.modules:
            adapt(sys.modules[name])
    sys.meta_path.insert(0, _Hook)
