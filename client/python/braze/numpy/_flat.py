# SPDX-License-Identifier: Apache-2.0
"""a.flat: the elements in C order."""

import numpy

from braze import _core
from braze.numpy import _fallback

ndarray = _core.ndarray


class flatiter(_core.elements):
    """Elements in C order, read lazily and written in place; an iterator, too."""

    index = property(lambda self: self._at)

    @property
    def coords(self):
        """Where the next element is; beyond the last as the axes count on."""
        at, coords = self._at, []
        for n in self.base.shape[:0:-1]:
            coords.append(at % n if n else 0)
            at //= n or 1
        return (*((at,) if self.base.ndim else ()), *reversed(coords))

    def __len__(self):
        return self.base.size

    def _ravelled(self):
        """The elements as they are, on one axis; a copy where there is no such view."""
        return _core.reshape(self.base, (self.base.size,))

    def copy(self):
        """The elements as an array of one axis."""
        made = self._ravelled()
        return _core.copy(made) if _core.same_buffer(made, self.base) else made

    def __getitem__(self, key):
        self._at = 0
        if isinstance(key, tuple) and len(key) == 1:
            key = key[0]
        elif isinstance(key, tuple):
            raise IndexError("unsupported iterator index")
        flat = self._ravelled()
        got = flat[key]
        return _core.copy(got) if _core.same_buffer(got, flat) else got

    def __setitem__(self, key, value):
        self._at = 0
        base, value = self.base, _values(value, self.base.dtype)
        if _core.writing(base) == 1:
            raise ValueError("assignment destination is read-only")
        if isinstance(key, tuple) and len(key) == 1:
            key = key[0]
        elif isinstance(key, tuple):
            raise IndexError("unsupported iterator index")
        flat = self._ravelled()
        places = _places(key, base.size)
        if places is None:
            if value.size != 1:
                raise ValueError("Error setting single item of array.")
            flat[key] = value[0]
        elif places and value.size:
            flat[key] = numpy.resize(value, places)
        if not _core.same_buffer(flat, base):
            base[...] = flat.reshape(base.shape)

    def __array__(self, dtype=None, copy=None):
        made = numpy.array(self.base).ravel()
        return made if dtype is None else made.astype(dtype)

    def __eq__(self, other):
        return self.copy() == _plain(other)

    def __ne__(self, other):
        return self.copy() != _plain(other)

    def __lt__(self, other):
        return self.copy() < _plain(other)

    def __le__(self, other):
        return self.copy() <= _plain(other)

    def __gt__(self, other):
        return self.copy() > _plain(other)

    def __ge__(self, other):
        return self.copy() >= _plain(other)

    __hash__ = None


def _plain(x):
    return x.copy() if isinstance(x, flatiter) else x


def _values(value, dtype):
    """The values to be written, repeated as often as there is room for them."""
    return numpy.array(_fallback.to_numpy(_plain(value)), dtype).reshape(-1)


def _places(key, size):
    """How many elements a key names; None: one, by its number."""
    key = _fallback.to_numpy(key)
    if isinstance(key, slice):
        return len(range(*key.indices(size)))
    if key is Ellipsis:
        return size
    if isinstance(key, bool):
        return int(key)
    named = numpy.asarray(key)
    if named.ndim == 0:
        return None
    return int(numpy.count_nonzero(named)) if named.dtype == bool else named.size


def set_flat(array, value):
    """a.flat = value: all elements, from the values in turn."""
    flatiter(array)[...] = value
