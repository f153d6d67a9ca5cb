# SPDX-License-Identifier: Apache-2.0
"""Classes of NumPy's that hand out arrays: with braze's arrays in NumPy's place."""

import functools

import numpy

from braze.numpy import _fallback


class NpzFile(numpy.lib.npyio.NpzFile):
    """An open .npz archive: a mapping of names to arrays, each read when it is asked for."""

    def __getitem__(self, key):
        return _fallback.from_numpy(super().__getitem__(key))


@functools.wraps(numpy.load)
def load(*args, **kwargs):
    made = _fallback.call("load", numpy.load, args, kwargs)
    if type(made) is numpy.lib.npyio.NpzFile:
        made.__class__ = NpzFile
    return made


class vectorize(numpy.vectorize):
    """numpy.vectorize whose results are braze arrays."""

    def __call__(self, *args, **kwargs):
        return _fallback.call("vectorize", super().__call__, args, kwargs)


for _public in (load, vectorize):
    _public.__module__ = "braze.numpy"
OWN = {"load": load, "vectorize": vectorize}
