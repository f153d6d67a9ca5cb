# SPDX-License-Identifier: Apache-2.0
"""Sparse matrices by rows, as SciPy's csr_array has them: their products with dense arrays.

A matrix is a value: entries and structure are copied when it is made, and read-only from then on,
so what its transposed needs is made once.  The structure, an array of where each row's entries
begin with the entries' columns behind, is checked here; what reads it checks it again.
"""

import operator

import numpy

from braze import _core
from braze.numpy import _creation, _shape

ndarray = _core.ndarray

_LOOPS = frozenset(numpy.dtype(c) for c in "fdFD")
_WORD = numpy.dtype(numpy.int64)
_HALF = numpy.dtype(numpy.float16)
_INT32 = 2**31 - 1


def _loop(dtype):
    """The type that products of a type are computed in: sums of integers wrap to any of theirs."""
    return dtype if dtype in _LOOPS else _WORD


def _upcast(a, b):
    """The result's type: SciPy has no float16."""
    made = numpy.result_type(a, b)
    return numpy.dtype(numpy.float32) if made == _HALF else made


class _Rows:
    """A matrix by its rows."""

    __slots__ = ("cast", "count", "entries", "plain", "shape", "structure")

    def __init__(self, shape, entries, structure):
        self.shape = shape
        # The type whose products need no cast, of a matrix that has elements.
        self.plain = entries.dtype if entries.dtype in _LOOPS and shape[0] and entries.shape[0] else None
        self.entries = _core.set_writing(entries, 1)
        self.structure = _core.set_writing(structure, 1)
        self.count = entries.shape[0]
        self.cast = {entries.dtype: entries}

    def of(self, dtype):
        """The entries in a loop's type."""
        made = self.cast.get(dtype)
        if made is None:
            made = self.cast[dtype] = self.entries.astype(dtype)
        return made

    def transposed(self):
        structure = numpy.asarray(self.structure)
        rows, columns = self.shape
        turned = numpy.empty(columns + 1 + self.count, _index_type(self.count, rows, columns))
        order = numpy.empty(self.count, numpy.int64)
        _core.sparse_transpose(structure, rows, columns, turned, order)
        return _Rows((columns, rows), self.entries[_creation.array(order)], _creation.array(turned))

    def product(self, x):
        """With columns that fit, by the operation."""
        if self.plain is not None and x.dtype == self.plain and x.size:
            return _core.sparse_matmul(self.entries, self.structure, x)
        dtype = _upcast(self.entries.dtype, x.dtype)
        shape = self.shape[:1] + x.shape[1:]
        if not self.count or 0 in shape:
            return _creation.zeros(shape, dtype)
        loop = _loop(dtype)
        made = _core.sparse_matmul(self.of(loop), self.structure, x if x.dtype == loop else x.astype(loop))
        return made if dtype == loop else made.astype(dtype)


def _refuse_scalar(x):
    if numpy.isscalar(x) or (isinstance(x, (ndarray, numpy.ndarray)) and not x.ndim):
        raise ValueError("Scalar operands are not allowed, use '*' instead")


class Sparse:
    """A sparse matrix; see braze.sparse."""

    __slots__ = ("_pair", "_side")
    __array_ufunc__ = None  # operators of dense arrays ask for ours
    format = "csr"
    ndim = 2

    def __init__(self, pair, side):
        self._pair = pair  # by rows, and by columns as soon as that is asked for
        self._side = side

    @property
    def _rows(self):
        if self._pair[self._side] is None:
            self._pair[self._side] = self._known.transposed()
        return self._pair[self._side]

    @property
    def _known(self):
        return self._pair[0]

    @property
    def shape(self):
        """Rows and columns."""
        shape = self._known.shape
        return shape[::-1] if self._side else shape

    @property
    def dtype(self):
        """The entries' type."""
        return self._known.entries.dtype

    @property
    def nnz(self):
        """How many entries there are."""
        return self._known.count

    @property
    def data(self):
        """The entries, row by row: read-only."""
        return self._rows.entries

    @property
    def indices(self):
        """The column of each entry: read-only."""
        return _core.set_writing(self._rows.structure[self.shape[0] + 1:], 1)

    @property
    def indptr(self):
        """Where each row's entries begin, and the last one's end: read-only."""
        return _core.set_writing(self._rows.structure[:self.shape[0] + 1], 1)

    @property
    def T(self):  # noqa: N802
        """The transposed matrix."""
        return Sparse(self._pair, 1 - self._side)

    def transpose(self):
        """The transposed matrix."""
        return self.T

    def toarray(self):
        """The same as a dense array, what is there twice summed."""
        structure, entries = numpy.asarray(self._rows.structure), numpy.asarray(self._rows.entries)
        first = self.shape[0] + 1
        made = numpy.zeros(self.shape, self.dtype)
        rows = numpy.repeat(numpy.arange(self.shape[0]), numpy.diff(structure[:first]))
        numpy.add.at(made, (rows, structure[first:]), entries)
        return _creation.array(made)

    def tocsr(self):
        """SciPy's csr_array of the same entries."""
        from scipy.sparse import csr_array

        parts = (self.data, self.indices, self.indptr)
        return csr_array(tuple(numpy.array(part) for part in parts), shape=self.shape)

    def dot(self, other):
        """The product with a dense array, or with a number."""
        if numpy.isscalar(other):
            rows = self._rows
            return Sparse([_Rows(rows.shape, rows.entries * other, rows.structure), None], 0)
        return self @ other

    def __matmul__(self, x):
        rows = self._pair[self._side]
        if type(x) is ndarray and rows and x.ndim in (1, 2) and x.shape[0] == rows.shape[1]:
            return rows.product(x)
        _refuse_scalar(x)
        if isinstance(x, Sparse) or hasattr(x, "tocsr"):
            raise TypeError("braze multiplies sparse matrices with dense arrays: "
                            "for the product of two of them use A.tocsr() @ B.tocsr()")
        x = _creation.asarray(x)
        if type(x) is not ndarray:
            return NotImplemented
        if x.ndim not in (1, 2):
            raise ValueError("could not interpret dimensions")
        columns = self.shape[1]
        if x.shape[0] != columns:
            of = "1?" if x.ndim == 1 or x.shape[1] == 1 else "m"
            raise ValueError("matmul: dimension mismatch with signature "
                             f"(n,k={columns}),(k={x.shape[0]},{of})->(n,{of})")
        return self._rows.product(x)

    def __rmatmul__(self, x):
        _refuse_scalar(x)
        x = _creation.asarray(x)
        if type(x) is not ndarray:
            return NotImplemented
        made = self.T @ _shape.transpose(x)
        return _shape.transpose(made)

    def __repr__(self):
        return (f"<braze sparse matrix of dtype '{self.dtype}' with {self.nnz} stored elements "
                f"and shape {self.shape}>")


def _whole(x, name):
    """Integers of one axis, in NumPy's memory."""
    x = numpy.asarray(x)
    if x.ndim != 1:
        raise ValueError("data, indices, and indptr should be 1-D")
    if x.dtype.kind not in "iu" and x.size:
        raise ValueError(f"{name} of a sparse matrix are integers, not {x.dtype}")
    return x


def _index_type(count, rows, columns):
    return numpy.dtype(numpy.int32 if max(count, rows, columns) <= _INT32 else numpy.int64)


def _put(to, x):
    """Numbers that the type holds: no other is taken for one of them."""
    if x.size and (x.min() < 0 or x.max() > numpy.iinfo(to.dtype).max):
        raise ValueError("indices of a sparse matrix are not negative, and no larger than the matrix")
    to[:] = x


def _structure(indices, indptr, shape):
    """Checked: where rows begin, then columns."""
    rows, columns = shape
    if indptr.size != rows + 1:
        raise ValueError(f"index pointer size {indptr.size} should be {rows + 1}")
    made = numpy.empty(rows + 1 + indices.size, _index_type(indices.size, rows, columns))
    _put(made[:rows + 1], indptr)
    _put(made[rows + 1:], indices)
    _core.sparse_check(made, rows, columns)
    return _creation.array(made)


def _entries(data, count):
    """A copy of the first entries."""
    data = _creation.asarray(data)
    if type(data) is not ndarray or data.dtype == _HALF:
        raise ValueError(f"braze.sparse does not support dtype {data.dtype}")
    if data.ndim != 1:
        raise ValueError("data, indices, and indptr should be 1-D")
    return data[:count].copy()


def _from_parts(data, indices, indptr, shape):
    indices, indptr = _whole(indices, "indices"), _whole(indptr, "index pointers")
    if not indptr.size:
        raise ValueError("index pointer size 0 should be at least 1")
    if shape is None:
        shape = indptr.size - 1, int(indices.max()) + 1 if indices.size else 0
    shape = tuple(operator.index(n) for n in shape)
    if len(shape) != 2 or min(shape) < 0:
        raise ValueError(f"a sparse matrix has two axes, not the shape {shape}")
    if len(data) != indices.size:
        raise ValueError("indices and data should have the same size")
    count = int(indptr[-1])
    if not 0 <= count <= indices.size:
        raise ValueError("Last value of index pointer should be less than the size of index and data arrays")
    structure = _structure(indices[:count], indptr, shape)
    return Sparse([_Rows(shape, _entries(data, count), structure), None], 0)


def sparse(matrix, shape=None):
    """A sparse matrix whose products with dense arrays braze computes.

    `matrix` is one of SciPy's, of any format, or ``(data, indices, indptr)`` as its csr_array takes
    them, or a dense array.  It is copied.  ``A @ x``, ``x @ A``, ``A.T @ x`` and ``A.dot(x)`` are
    lazy arrays of braze's, of SciPy's type and shape; on the processor they have SciPy's bits.
    """
    if isinstance(matrix, Sparse):
        return matrix
    if isinstance(matrix, tuple):
        if len(matrix) != 3:
            raise ValueError("three arrays are expected: data, indices, indptr")
        return _from_parts(*matrix, shape)
    if hasattr(matrix, "tocsr"):
        if len(matrix.shape) != 2:
            raise ValueError(f"a sparse matrix has two axes, not the shape {matrix.shape}")
        matrix = matrix.tocsr()
        return _from_parts(matrix.data, matrix.indices, matrix.indptr, matrix.shape)
    dense = numpy.asarray(matrix)
    if dense.ndim != 2:
        raise ValueError(f"a sparse matrix has two axes, not the shape {dense.shape}")
    rows, columns = numpy.nonzero(dense)
    starts = numpy.searchsorted(rows, numpy.arange(dense.shape[0] + 1))
    return _from_parts(dense[rows, columns], columns, starts, dense.shape)
