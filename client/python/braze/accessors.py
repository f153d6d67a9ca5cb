# SPDX-License-Identifier: Apache-2.0
"""`.braze` on columns and tables of pandas, and on arrays of xarray.

    import braze.accessors

    table.price.braze.array()                       # a column, as an array of braze's
    table.braze.eval(lambda t: t.price * t.count)   # a column made of columns
    field.braze.map(np.sin)                         # the same coordinates, other values

Importing it registers them with those of the two that are there; others, and their versions, are of
no concern.  Names, indices and coordinates stay theirs; values are copied once, into the memory that
the daemon knows, and what comes back is computed when the library first reads it.
"""

import numpy

import braze
import braze.numpy


def _values(result, length):
    """What a function gave, as memory that its library may keep and write."""
    values = numpy.array(result)
    if values.ndim != 1 or len(values) != length:
        raise ValueError(f"a column of {length} elements was expected, the function gave shape {values.shape}")
    return values


class ColumnAccessor:
    """Of a pandas Series."""

    def __init__(self, series):
        self._series = series

    def array(self):
        """Its values; those that are missing are NaN."""
        return braze.asarray(self._series)

    def map(self, function):
        """function(array), of as many elements, with the same index and name."""
        values = _values(function(self.array()), len(self._series))
        return type(self._series)(values, index=self._series.index, name=self._series.name)


class TableAccessor:
    """Of a pandas DataFrame."""

    def __init__(self, frame):
        self._frame = frame

    def array(self, columns=None):
        """Rows and columns, of the type that all columns fit into."""
        return braze.asarray(self._frame if columns is None else self._frame[list(columns)])

    def columns(self, names=None):
        """Arrays by the names of their columns."""
        names = self._frame.columns if names is None else names
        return {name: braze.asarray(self._frame[name]) for name in names}

    def eval(self, function):
        """function(t), where t.name is the array of a column: only those that it asks for are
        made.  An array becomes a Series, a dictionary of them a DataFrame, with the same index."""
        result = function(_Lazily(self._frame))
        index, length = self._frame.index, len(self._frame)
        if isinstance(result, dict):
            made = {name: _values(values, length) for name, values in result.items()}
            return type(self._frame)(made, index=index)
        return self._frame._constructor_sliced(_values(result, length), index=index)


class _Lazily:
    """Columns as attributes, or by their names in brackets; each is made once."""

    __slots__ = ("__frame", "__made")

    def __init__(self, frame):
        self.__frame = frame
        self.__made = {}

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no column {name!r}") from None

    def __getitem__(self, name):
        if name not in self.__made:
            self.__made[name] = braze.asarray(self.__frame[name])
        return self.__made[name]


class FieldAccessor:
    """Of an xarray DataArray."""

    def __init__(self, field):
        self._field = field

    def array(self):
        """Its values, with its axes."""
        return braze.numpy.asarray(self._field.values)

    def map(self, function):
        """function(array), of the same shape, with the same coordinates, names and attributes."""
        values = numpy.array(function(self.array()))
        if values.shape != self._field.shape:
            raise ValueError(f"shape {self._field.shape} was expected, the function gave {values.shape}")
        return self._field.copy(data=values)


def _register():
    """With those that can be imported; their names."""
    there = []
    try:
        import pandas.api.extensions as extensions
    except ImportError:
        pass
    else:
        extensions.register_series_accessor("braze")(ColumnAccessor)
        extensions.register_dataframe_accessor("braze")(TableAccessor)
        there.append("pandas")
    try:
        import xarray
    except ImportError:
        pass
    else:
        xarray.register_dataarray_accessor("braze")(FieldAccessor)
        there.append("xarray")
    return there


registered = _register()
