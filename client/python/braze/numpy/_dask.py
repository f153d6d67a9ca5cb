# SPDX-License-Identifier: Apache-2.0
"""Dask's collections with braze's arrays as chunks, and Dask's workers with a daemon each.

Dask asks tables by the type of a chunk what to do with it; what stands there for `object` goes by
NumPy's protocols, so that only what NumPy has no protocol for is entered here.  An array that
leaves its process travels as its elements.
"""

import asyncio
import functools
import importlib

import numpy

import braze
from braze import _core
from braze.numpy import _fallback

ndarray = _core.ndarray


def arrays(module):
    """dask.array: our arrays may be chunks, and give way to a collection of them."""
    if ndarray not in module.chunk_types._HANDLED_CHUNK_TYPES:
        module.register_chunk_type(ndarray)
        _fallback.wrappers.append(module.Array)
    tables = module.dispatch
    tables.empty_lookup.register(ndarray, _made("empty"))
    percentiles = importlib.import_module("dask.array.percentile")
    tables.percentile_lookup.register(ndarray, percentiles._percentile)
    tables.to_numpy_dispatch.register(ndarray, _to_numpy)
    to_braze = importlib.import_module("dask.utils").Dispatch("to_braze_dispatch")
    to_braze.register(numpy.ndarray, _to_braze)
    to_braze.register(ndarray, _to_braze)
    module.backends.array_creation_dispatch.register_backend("braze", _backend(module, to_braze))


def _made(name):
    """A function of braze.numpy, which is not complete yet when this runs."""

    def function(*args, **kwargs):
        return getattr(braze.numpy, name)(*args, **kwargs)

    return function


def _to_numpy(data, **kwargs):
    return _fallback.to_numpy(data)


def _to_braze(data, **kwargs):
    return braze.numpy.asarray(data)


def _backend(module, dispatch):
    """Dask's `array.backend` named "braze": collections that are made have our chunks."""

    def made(name):
        def function(*args, meta=None, **kwargs):
            meta = braze.numpy.empty((0,)) if meta is None else meta
            with importlib.import_module("dask.config").set({"array.backend": "numpy"}):
                return getattr(module, name)(*args, meta=meta, **kwargs)

        return staticmethod(function)

    class Backend(module.backends.NumpyBackendEntrypoint):
        ones, zeros, empty, full = map(made, ("ones", "zeros", "empty", "full"))

        @staticmethod
        def arange(*args, **kwargs):
            with importlib.import_module("dask.config").set({"array.backend": "numpy"}):
                return Backend.to_backend(module.arange(*args, **kwargs))

        @classmethod
        def to_backend_dispatch(cls):
            return dispatch

        @classmethod
        def to_backend(cls, data, **kwargs):
            if type(data._meta) is ndarray:
                return data
            return data.map_blocks(dispatch, **kwargs)

    return Backend()


def sizes(module):
    """dask.sizeof: the bytes that a chunk keeps in memory, as of NumPy's."""

    @module.sizeof.register(ndarray)
    def sizeof(x):
        kept = (n for n, step in zip(x.shape, x.strides, strict=True) if step)
        return functools.reduce(int.__mul__, kept, x.itemsize)


def tokens(module):
    """dask.tokenize: equal arrays have equal names."""

    @module.normalize_token.register(ndarray)
    def normalize(x):
        return "braze.numpy.ndarray", x._is_scalar, module.normalize_token(_fallback.to_numpy(x))


def serializer(module):
    """distributed: a chunk's elements are sent, and written to disk, from where they lie."""
    theirs = importlib.import_module("distributed.protocol.numpy")

    @module.dask_serialize.register(ndarray)
    def serialize(x, context=None):
        header, frames = theirs.serialize_numpy_ndarray(numpy.asarray(x))
        return {**header, "scalar": x._is_scalar}, frames

    @module.dask_deserialize.register(ndarray)
    def deserialize(header, frames):
        made = theirs.deserialize_numpy_ndarray(header, frames)
        return _fallback.from_numpy(made[()] if header["scalar"] else made)


def worker(module):
    """distributed.worker: a task is done when its chunks are stored.

    Errors belong to the task that made them, a trip that counts has begun and ended, and what is
    stored outlives the daemon, so that a task that is tried again finds its operands.
    """
    for name, kind in (("_run_task_simple", _Stored), ("_run_task_async", _StoredLater)):
        setattr(module, name, _storing(getattr(module, name), kind))


class _Stored:
    """A task whose result is stored when it is there."""

    def __init__(self, task):
        self._task = task

    def __call__(self, data):
        result = self._task(data)
        braze.wait(*_arrays_in(result, []))
        return result


class _StoredLater(_Stored):
    """As _Stored, of a coroutine, whose loop goes on meanwhile."""

    async def __call__(self, data):
        result = await self._task(data)
        await asyncio.to_thread(braze.wait, *_arrays_in(result, []))
        return result


def _storing(run, kind):
    @functools.wraps(run)
    def function(task, *args, **kwargs):
        return run(kind(task), *args, **kwargs)

    return function


def _arrays_in(x, found):
    """The arrays in a task's result."""
    kind = type(x)
    if kind is ndarray:
        found.append(x)
    elif kind is dict:
        _arrays_in(list(x.values()), found)
    elif kind is list or kind is tuple:
        for y in x:
            _arrays_in(y, found)
    return found
