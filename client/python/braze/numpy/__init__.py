# SPDX-License-Identifier: Apache-2.0
"""NumPy's namespace on braze: ``import braze.numpy as np``.

Functions that braze computes are lazy; every other public name of NumPy is
there too and runs NumPy itself on the same data (braze.fallbacks() counts).
"""

import builtins as _builtins  # this module's bool, sum, min, ... are NumPy's
import gc as _gc
import sys as _sys

import numpy as _numpy

import braze as _braze
from braze import _core, errors as _errors


class _NoCollection:
    """Nothing that an import makes is garbage, and to look for it takes a fifteenth of ours."""

    def __enter__(self):
        self._collects = _gc.isenabled()
        _gc.disable()

    def __exit__(self, *_):
        if self._collects:
            _gc.enable()


with _NoCollection():
    from braze.numpy import (
        _adapters,
        _choose,
        _classes,
        _composed,
        _creation,
        _derived,
        _errstate,
        _fallback,
        _gather,
        _interop,
        _iterate,
        _linear,
        _methods,
        _names,
        _nans,
        _norms,
        _parts,
        _ranked,
        _reductions,
        _scalars,
        _search,
        _selection,
        _sets,
        _shape,
        _sharing,
        _space,
        _type,
        _ufuncs,
        _views,
    )

ndarray = _core.ndarray
ufunc = _core.ufunc
_core.setup(
    _errors.BY_NAME,
    _fallback.ufunc,
    _gather.getitem,
    _fallback.setitem,
    _fallback.cast,
    _fallback.result,
)
_core.use_array(_fallback.array)

_NATIVE = (
    (
        _creation,
        "array asarray asanyarray ascontiguousarray asfortranarray require zeros ones empty full zeros_like ones_like "
        "empty_like full_like arange linspace eye identity tri tril triu meshgrid copy",
    ),
    (
        _reductions,
        "sum prod min max any all argmin argmax mean var std ptp count_nonzero average",
    ),
    (_ranked, "median percentile quantile"),
    (_search, "searchsorted digitize interp isin"),
    (_sets, "unique unique_all unique_inverse intersect1d in1d"),
    (
        _shape,
        "shape ndim size reshape ravel transpose matrix_transpose swapaxes moveaxis rollaxis "
        "expand_dims squeeze broadcast_to broadcast_arrays atleast_1d atleast_2d concatenate "
        "stack vstack hstack column_stack split array_split hsplit vsplit unstack flip fliplr "
        "flipud rot90 roll tile repeat diagonal trace diag diff where clip real imag astype "
        "copyto",
    ),
    (_gather, "take take_along_axis put_along_axis ix_"),
    (_choose, "nonzero flatnonzero argwhere compress extract putmask place"),
    (_errstate, "errstate seterr geterr seterrcall geterrcall"),
    (_linear, "matmul dot outer vdot vecdot"),
    (
        _nans,
        "nansum nanprod nanmean nanvar nanstd nancumsum nancumprod isclose allclose nan_to_num",
    ),
    (_composed, "tensordot kron inner einsum ediff1d trapezoid cross polyval sinc"),
    (_derived, "gradient cov corrcoef"),
    (_sharing, "shares_memory may_share_memory"),
    (_iterate, "nditer nested_iters"),
    (_views, "from_dlpack"),
)
_ALIASES = {
    "amin": "min",
    "amax": "max",
    "concat": "concatenate",
    "permute_dims": "transpose",
    "around": "round",
}

_functions = _space.natives  # NumPy's function -> braze's
_NAMES = set(dir(_numpy)) - {"__getattr__"}  # which would make every look-up slower
_space.own.update(_classes.OWN)
__all__ = list(_numpy.__all__)


def _is_plain(theirs):
    """A dtype, a constant, an exception: NumPy's own serves."""
    return not isinstance(theirs, type(_numpy)) and (
        isinstance(theirs, type) or not callable(theirs)
    )


def _present(name, mine):
    theirs = getattr(_numpy, name)
    return mine if isinstance(theirs, _numpy.ufunc) else _names.present(name, mine, theirs)


def _define():
    space = globals()
    public = {n: theirs for n, theirs in vars(_numpy).items() if not n.startswith("_")}
    for module, names in _NATIVE:
        # Python finds interned names without comparing them.  What this NumPy lacks (an older
        # one has no unstack, a newer one no in1d) braze.numpy lacks, too.
        for name in map(_sys.intern, names.split()):
            if hasattr(_numpy, name):
                space[name] = _present(name, getattr(module, name))
    # The package's own keeps scalars.
    space["asarray"] = _present("asarray", _creation.public_asarray)
    for name in ("round", "result_type"):
        space[name] = _present(name, space[f"_{name}"])
    for name in ("array_equal", "can_cast"):
        space[name] = _present(name, space[name])
    for alias, name in _ALIASES.items():
        space[alias] = space[name]
    for name, theirs in public.items():
        if theirs is not None and name not in space:
            if name in _space.own:
                space[name] = _space.own[name]
            elif isinstance(theirs, _numpy.ufunc):
                space[name] = _ufuncs.make(theirs)
            elif _is_plain(theirs):
                space[name] = theirs
    _map_functions(space, public)


def _map_functions(space, public):
    """Fill _functions, which __array_function__ looks things up in."""
    for name, theirs in public.items():
        replaced = name in space and space[name] is not theirs
        if replaced and callable(theirs) and not isinstance(theirs, (type, _numpy.ufunc)):
            _functions[theirs] = space[name]


def _round(a, decimals=0, out=None):
    """Rounded to a number of decimals, halves to even."""
    a = _creation.asarray(a)
    if type(a) is not ndarray or not _fallback.is_output(out):
        return _fallback.call("round", _numpy.round, (a, decimals), {"out": out})
    return a.round(decimals, out)


def array_equal(a1, a2, equal_nan=False):
    """Have both the same shape and elements?"""
    a1, a2 = _creation.asarray(a1), _creation.asarray(a2)
    if type(a1) is not ndarray or type(a2) is not ndarray or equal_nan:
        return _fallback.call("array_equal", _numpy.array_equal, (a1, a2, equal_nan), {})
    return a1.shape == a2.shape and _builtins.bool((a1 == a2).all())


def isscalar(element):
    """Is it a number rather than an array?"""
    if type(element) is ndarray:
        return element._is_scalar
    return _numpy.isscalar(element)


def iscomplexobj(x):
    """Has x a complex type?"""
    return x.dtype.kind == "c" if type(x) is ndarray else _numpy.iscomplexobj(x)


def isrealobj(x):
    """Has x a real type?"""
    return not iscomplexobj(x)


def _result_type(*arrays_and_dtypes):
    """The type that NumPy's promotion gives."""
    return _numpy.result_type(*(_type_probe(x) for x in arrays_and_dtypes))


def can_cast(from_, to, casting="safe"):
    """May one type be cast to another under a rule?"""
    return _numpy.can_cast(from_.dtype if type(from_) is ndarray else from_, to, casting)


def _type_probe(x):
    return x.dtype if type(x) is ndarray else x


class _Grid:
    """np.mgrid and its kind: NumPy builds them, braze takes them over."""

    def __init__(self, maker, name):
        self._maker, self._name = maker, name
        self._made = _core.native(self._general, name, False)

    def _general(self, key):
        _fallback.counts[self._name] += 1
        return _fallback.from_numpy(self._maker[_fallback.to_numpy(key)])

    def __getitem__(self, key):
        return self._made(key)


_space.own.update({
    "linalg.diagonal": _views.linalg_diagonal,
    "lib.stride_tricks.as_strided": _views.as_strided,
    "lib.stride_tricks.sliding_window_view": _views.sliding_window_view,
    "ctypeslib.as_ctypes": _interop.as_ctypes,
})
_functions[_numpy.linalg.diagonal] = _views.linalg_diagonal
_functions[_numpy.lib.stride_tricks.sliding_window_view] = _views.sliding_window_view
for _name in ("norm", "vector_norm"):
    _theirs = getattr(_numpy.linalg, _name)
    _made = _names.present(f"linalg.{_name}", getattr(_norms, _name), _theirs)
    _made.__module__, _made.__name__, _made.__qualname__ = "braze.numpy.linalg", _name, _name
    _space.own[f"linalg.{_name}"] = _functions[_theirs] = _made


for _name in ("mgrid", "ogrid", "r_", "c_"):
    globals()[_name] = _Grid(getattr(_numpy, _name), _name)
s_ = _numpy.s_
index_exp = _numpy.index_exp
newaxis = None
with _NoCollection():
    _define()
    _methods.attach(_functions)
    _type.complete()
    _selection.complete()
    _adapters.install()
__version__ = _numpy.__version__
for _name in ("__array_api_version__", "__array_namespace_info__"):
    if hasattr(_numpy, _name):  # from NumPy 2.1 on
        globals()[_name] = getattr(_numpy, _name)
empty_shared = _braze.empty

# Functions about types, settings and text need no arrays and are NumPy's own.
for _name in (
    "dtype finfo iinfo promote_types issubdtype isdtype min_scalar_type "
    "printoptions set_printoptions get_printoptions broadcast_shapes ndindex "
    "format_float_positional format_float_scientific typename mintypecode show_config show_runtime getbufsize setbufsize"
).split():
    if hasattr(_numpy, _name):
        globals()[_sys.intern(_name)] = getattr(_numpy, _name)


def __dir__():
    own = {n for n in globals() if not n.startswith("_")} - vars(_numpy).keys() - _LATER
    return sorted(own | _NAMES)


# All other names of NumPy's: functions that run NumPy and are counted, and modules.  A module without a
# __getattr__ is looked into three times as fast.
_space.fill(_sys.modules[__name__], _numpy, dunder=True)
# Those that NumPy itself imports when it is asked for; the last two it does not always list.
_LATER = _numpy.__numpy_submodules__ | {"testing", "matlib"}
for _name in (_NAMES | _LATER) - globals().keys():
    if _name in _LATER:
        globals()[_sys.intern(_name)] = _space.space(f"numpy.{_name}")
    elif hasattr(_numpy, _name):
        globals()[_sys.intern(_name)] = _space.wrap(__name__, _name, getattr(_numpy, _name))
