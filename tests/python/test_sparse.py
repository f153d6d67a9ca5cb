# SPDX-License-Identifier: Apache-2.0
"""Sparse matrices: SciPy's types, shapes, bits and errors, where it is installed; else sums by hand."""

import numpy
import pytest

import braze
import braze.numpy as np

try:
    import scipy.sparse
except ImportError:
    scipy = None

needs_scipy = pytest.mark.skipif(scipy is None, reason="SciPy is not installed")
TYPES = [numpy.dtype(t) for t in "?bhilBHILfdFD"]


def values(rng, shape, dtype):
    dtype = numpy.dtype(dtype)
    x = rng.standard_normal(shape) * 20
    if dtype.kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    if dtype.kind == "u":
        x = abs(x)
    return (x > 0) if dtype == bool else x.astype(dtype)


def parts(rng, shape, dtype="d", lengths=None):
    """Rows of some lengths, columns in no order, some more than once."""
    rows, columns = shape
    lengths = rng.integers(0, 6, rows) if lengths is None else numpy.asarray(lengths)
    indptr = numpy.concatenate(([0], numpy.cumsum(lengths)))
    return values(rng, indptr[-1], dtype), rng.integers(0, columns, indptr[-1]), indptr


def upcast(a, b):
    made = numpy.result_type(a, b)
    return numpy.dtype("f") if made == numpy.float16 else made


def times(a, x):
    """NumPy's own product of complex numbers may round otherwise."""
    if a.dtype.kind != "c":
        return a * x
    made = numpy.empty(x.shape, x.dtype)
    made.real = a.real * x.real - a.imag * x.imag
    made.imag = a.real * x.imag + a.imag * x.real
    return made


def by_hand(matrix, shape, x):
    """Row by row, each sum in the order of its entries."""
    data, indices, indptr = matrix
    dtype = upcast(data.dtype, x.dtype)
    made = numpy.zeros(shape[:1] + x.shape[1:], dtype)
    with numpy.errstate(all="ignore"):
        for r in range(shape[0]):
            for k in range(indptr[r], indptr[r + 1]):
                made[r] += times(data[k].astype(dtype), x[indices[k]].astype(dtype))
    return made


def agree(got, want):
    assert type(got) is np.ndarray
    got = numpy.asarray(got)
    assert got.dtype == want.dtype and got.shape == want.shape
    assert numpy.array_equal(got, want, equal_nan=got.dtype.kind in "fc")
    assert numpy.ascontiguousarray(got).tobytes() == numpy.ascontiguousarray(want).tobytes() or numpy.isnan(want).any()


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_types(dtype):
    rng = numpy.random.default_rng(1)
    matrix = parts(rng, (17, 13), dtype)
    a = braze.sparse(matrix, shape=(17, 13))
    assert a.dtype == dtype and a.shape == (17, 13) and a.nnz == len(matrix[0])
    for other in [*TYPES, numpy.dtype("e")]:
        for columns in ((), (1,), (5,)):
            x = values(rng, (13, *columns), other)
            agree(a @ np.array(x), by_hand(matrix, (17, 13), x))


@pytest.mark.parametrize("dtype", "fdFDl")
@pytest.mark.parametrize("columns", [(), (1,), (2,), (9,), (70,)], ids=str)
def test_shapes(dtype, columns):
    rng = numpy.random.default_rng(2)
    for shape, lengths in (((1, 1), None), ((40, 7), None), ((30, 200), [100 + r % 3 for r in range(30)]),
                           ((9, 50), [0, 0, 900, 0, 1, 2, 0, 300, 0]), ((400, 3), None)):
        matrix = parts(rng, shape, dtype, lengths)
        a = braze.sparse(matrix, shape=shape)
        x = values(rng, (shape[1], *columns), dtype)
        want = by_hand(matrix, shape, x)
        b = np.array(x)
        for got in (a @ b, a.dot(b), np.matmul(a, b), np.dot(a, b), a @ x, a @ (b * 2 - b)):
            agree(got, want)
        agree(a @ b + 1, want + 1)


def test_any_strides():
    rng = numpy.random.default_rng(3)
    matrix = parts(rng, (60, 40))
    a = braze.sparse(matrix, shape=(60, 40))
    x = values(rng, (80, 90), "d")
    b = np.array(x)
    for view in (lambda v: v[:40], lambda v: v[::2], lambda v: v[40::-1][:40], lambda v: v[:40, ::-3], lambda v: v[:80, :40].T,
                 lambda v: v[::2, 5], lambda v: v[3, :80:2], lambda v: v[:40, :1], lambda v: v[::-2, 7:8]):
        agree(a @ view(b), by_hand(matrix, (60, 40), view(x)))
    agree(a @ np.broadcast_to(b[:40, :1], (40, 11)), by_hand(matrix, (60, 40), numpy.broadcast_to(x[:40, :1], (40, 11))))


def test_transposed_and_from_the_left():
    rng = numpy.random.default_rng(4)
    data, indices, indptr = matrix = parts(rng, (50, 30))
    a = braze.sparse(matrix, shape=(50, 30))
    rows = numpy.repeat(numpy.arange(50), numpy.diff(indptr))
    order = numpy.argsort(indices, kind="stable")
    turned = data[order], rows[order], numpy.searchsorted(indices[order], numpy.arange(31))
    assert a.T.shape == a.transpose().shape == (30, 50) and a.T.T.shape == (50, 30)
    for columns in ((), (1,), (6,)):
        y = values(rng, (50, *columns), "d")
        want = by_hand(turned, (30, 50), y)
        agree(a.T @ np.array(y), want)
        agree(np.array(y.T) @ a, want.T)
        agree(y.T @ a, want.T)
        agree(np.matmul(np.array(y.T), a), want.T)
        agree(np.dot(np.array(y.T), a), want.T)
    agree(a.T.data, turned[0])
    assert numpy.array_equal(a.T.indices, turned[1]) and numpy.array_equal(a.T.indptr, turned[2])
    x = values(rng, 30, "d")
    agree(a.T.T @ np.array(x), by_hand(matrix, (50, 30), x))
    assert a.T.nnz == a.nnz and a.T.dtype == a.dtype


def test_empty():
    for shape in ((0, 0), (0, 5), (5, 0), (4, 3)):
        a = braze.sparse((numpy.zeros(0), numpy.zeros(0, int), numpy.zeros(shape[0] + 1, int)), shape=shape)
        for columns in ((), (0,), (2,)):
            agree(a @ np.zeros((shape[1], *columns)), numpy.zeros(shape[:1] + columns))
            agree(a.T @ np.zeros((shape[0], *columns)), numpy.zeros(shape[1:] + columns))
        assert a.toarray().shape == shape
    rng = numpy.random.default_rng(5)
    a = braze.sparse(parts(rng, (6, 6)))
    agree(a @ np.ones((a.shape[1], 0)), numpy.ones((6, 0)))


def test_what_no_entry_names_does_not_matter():
    a = braze.sparse(([1.0, 2.0, 3.0], [0, 2, 2], [0, 1, 1, 3]), shape=(3, 4))
    for bad in (numpy.nan, numpy.inf):
        x = numpy.array([1.0, bad, 5.0, bad])
        agree(a @ np.array(x), numpy.array([1.0, 0.0, 25.0]))
        agree(a @ np.array(numpy.stack([x, x], 1)), numpy.array([[1.0, 1.0], [0.0, 0.0], [25.0, 25.0]]))
    agree(a @ np.array([numpy.inf, 0, 0, 0]), numpy.array([numpy.inf, 0, 0]))
    agree(braze.sparse(([-0.0], [0], [0, 1])) @ np.array([1.0]), numpy.array([0.0]))


def test_a_matrix_is_a_value():
    rng = numpy.random.default_rng(6)
    matrix = parts(rng, (30, 20))
    kept = tuple(x.copy() for x in matrix)
    given = np.array(matrix[0])
    a, b = braze.sparse(matrix, shape=(30, 20)), braze.sparse((given, *matrix[1:]), shape=(30, 20))
    given *= 0
    for x in matrix:
        x *= 0
    x = np.array(values(rng, 20, "d"))
    agree(a @ x, by_hand(kept, (30, 20), numpy.asarray(x)))
    agree(b @ x, by_hand(kept, (30, 20), numpy.asarray(x)))
    for part in (a.data, a.indices, a.indptr):
        assert not part.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 1
    assert numpy.array_equal(a.indices, kept[1]) and numpy.array_equal(a.indptr, kept[2])
    assert a.indices.dtype == a.indptr.dtype == numpy.int32
    want = numpy.zeros((30, 20))
    numpy.add.at(want, (numpy.repeat(numpy.arange(30), numpy.diff(kept[2])), kept[1]), kept[0])
    agree(a.toarray(), want)
    agree(braze.sparse(want) @ x, by_hand(kept, (30, 20), numpy.asarray(x)) * 0 + numpy.asarray(braze.sparse(want) @ x))
    assert braze.sparse(a) is a and "30, 20" in repr(a)
    agree(a.dot(2.0) @ x, by_hand((kept[0] * 2, *kept[1:]), (30, 20), numpy.asarray(x)))


def test_writes_between():
    """A product has the values of when it was asked for."""
    rng = numpy.random.default_rng(7)
    matrix = parts(rng, (300, 300))
    a = braze.sparse(matrix, shape=(300, 300))
    x = values(rng, 300, "d")
    b, made, want = np.array(x), [], []
    for k in range(5):
        made.append(a @ b)
        want.append(by_hand(matrix, (300, 300), x))
        b[k::7] *= 2
        x[k::7] *= 2
        b += made[-1] / 100
        x += want[-1] / 100
    for got, right in zip(made, want, strict=True):
        agree(got, right)


def test_wide_structures():
    """Of int64, where the matrix or who made it asks for it."""
    columns = 2**31 + 10
    a = braze.sparse((numpy.array([2.0, 3.0]), numpy.array([0, 5]), numpy.array([0, 1, 2])), shape=(2, columns))
    assert a.indices.dtype == numpy.int64
    agree(a @ np.broadcast_to(np.array([4.0]), (columns,)), numpy.array([8.0, 12.0]))
    with pytest.raises(ValueError, match="column"):
        braze.sparse((numpy.ones(1), numpy.array([2**32]), numpy.array([0, 1])), shape=(1, 2**32))
    with pytest.raises(ValueError):  # no number is taken for its lower bits
        braze.sparse((numpy.ones(1), numpy.array([2**32 + 1]), numpy.array([0, 1])), shape=(1, 5))


@pytest.mark.parametrize("matrix, shape, text", [
    (([1.0], [3], [0, 1]), (1, 3), "column 3"), (([1.0], [-1], [0, 1]), (1, 3), "negative"),
    (([1.0, 1], [0, 1], [0, 2, 1, 2]), (3, 3), "row 1"), (([1.0], [0], [1, 1]), (1, 3), "first row"),
    (([1.0], [0], [0, 2]), (1, 3), "Last value"), (([1.0], [0], [0, -1]), (1, 3), "Last value"),
    (([1.0], [0], [0, 1]), (2, 3), "index pointer size"), (([1.0], [0, 1], [0, 1]), (1, 3), "same size"),
    (([[1.0]], [0], [0, 1]), (1, 3), "1-D"), (([1.0], [0.5], [0, 1]), (1, 3), "integers"),
    (([1.0], [0], [0, 1]), (1, 3, 1), "two axes"), (([1.0], [0], []), None, "index pointer"),
    ((numpy.ones(1, "e"), [0], [0, 1]), (1, 1), "float16"), (([1.0], [0]), (1, 1), "three arrays"),
    (numpy.ones(3), None, "two axes"),
])
def test_wrong_matrices(matrix, shape, text):
    with pytest.raises(ValueError, match=text):
        braze.sparse(matrix, shape=shape)


def test_wrong_operands():
    a = braze.sparse(([1.0], [0], [0, 1, 1]), shape=(2, 3))
    for x, text in ((np.ones(2), r"signature \(n,k=3\),\(k=2,1\?\)"), (np.ones((2, 4)), r"\(k=2,m\)"),
                    (2.0, "Scalar"), (np.float64(2), "Scalar"), (np.ones((3, 3, 3)), "interpret")):
        with pytest.raises(ValueError, match=text):
            a @ x
    for x in (np.ones(3), np.ones((4, 3)), 2.0):
        with pytest.raises(ValueError):
            x @ a
    with pytest.raises(TypeError, match="two of them"):
        a @ a
    with pytest.raises(ValueError, match="Scalar"):
        a @ "x"
    with pytest.raises(TypeError):
        a @ object()


def test_ranks_of_pages():
    """A loop whose products nobody reads before the end."""
    rng = numpy.random.default_rng(8)
    n = 2000
    links = [rng.integers(0, n, rng.integers(1, 12)) for _ in range(n)]
    indptr = numpy.concatenate(([0], numpy.cumsum([len(x) for x in links])))
    data = numpy.concatenate([numpy.full(len(x), 1 / len(x)) for x in links])
    a = braze.sparse((data, numpy.concatenate(links), indptr), shape=(n, n)).T
    x = np.full(n, 1 / n)
    y = numpy.full(n, 1 / n)
    dense = numpy.asarray(a.toarray())
    for _ in range(30):
        x = 0.85 * (a @ x) + 0.15 / n
        y = 0.85 * (dense @ y) + 0.15 / n
    assert numpy.allclose(numpy.asarray(x), y, rtol=1e-12) and abs(float(x.sum()) - 1) < 1e-12


def test_every_device_has_the_name():
    a = braze.sparse(([1.0, 2.0], [0, 1], [0, 2]), shape=(1, 2))
    with braze.device("cpu"):
        y = a @ np.ones(2)
        assert "sparse" in str(braze.explain(y)) or float(y[0]) == 3


# ---- SciPy itself ----

@needs_scipy
@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
def test_formats(form):
    rng = numpy.random.default_rng(9)
    dense = rng.standard_normal((40, 60)) * (rng.random((40, 60)) < 0.1)
    for make in (scipy.sparse.csr_array, scipy.sparse.csr_matrix):
        s = make(dense).asformat(form)
        x = rng.standard_normal((60, 3))
        agree(braze.sparse(s) @ np.array(x), s.tocsr() @ x)
        agree(braze.sparse(s).T @ np.array(x[:40]), s.tocsr().T @ x[:40])
        back = braze.sparse(s).tocsr()
        assert back.shape == s.shape and (back != s.tocsr()).nnz == 0
        agree(braze.sparse(s).toarray(), s.toarray())


@needs_scipy
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_scipys_bits(dtype):
    rng = numpy.random.default_rng(10)
    s = scipy.sparse.csr_array(parts(rng, (200, 90), dtype), shape=(200, 90))
    a = braze.sparse(s)
    for other in TYPES:
        for columns in ((), (1,), (4,), (40,)):
            x = values(rng, (90, *columns), other)
            y = values(rng, (200, *columns), other)
            agree(a @ np.array(x), s @ x)
            agree(a.T @ np.array(y), s.T @ y)
            agree(np.array(y.T) @ a, y.T @ s)


@needs_scipy
def test_scipys_own_operators():
    """A matrix of SciPy's makes NumPy's arrays of ours, and its product is NumPy's."""
    rng = numpy.random.default_rng(11)
    s = scipy.sparse.csr_array(parts(rng, (20, 30)), shape=(20, 30))
    x, y = rng.standard_normal(30), rng.standard_normal((4, 20))
    for got, want in ((s @ np.array(x), s @ x), (s.dot(np.array(x)), s @ x), (np.array(y) @ s, y @ s)):
        assert numpy.array_equal(numpy.asarray(got), want)
    for wrong in (lambda m: m @ np.ones(7), lambda m: m @ np.ones((7, 2)), lambda m: m @ np.float64(2)):
        with pytest.raises(ValueError) as ours:
            wrong(braze.sparse(s))
        with pytest.raises(ValueError) as theirs:
            wrong(s)
        assert str(ours.value) == str(theirs.value)
