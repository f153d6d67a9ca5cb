# SPDX-License-Identifier: Apache-2.0
"""Products of sparse matrices on cuda:0 by a vendor's library, for who names it: the stand-in for cuSPARSE,
which checks what it is told, and what happens where it refuses or its client lies."""

import pathlib

import pytest
from gpu import Gpu, Refused
from harness import find_nvrtc, find_standin
from test_cuda_calls import counted

pytestmark = [
    pytest.mark.skipif(find_standin() is None, reason="no stand-in driver was built"),
    pytest.mark.skipif(find_nvrtc() is None, reason="there is no NVRTC"),
]

SETUP = """
def make(dtype, *shape, seed=1):
    rng = numpy.random.default_rng(seed)
    x = rng.standard_normal(shape) * 3
    if numpy.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)

def parts(dtype, rows, columns):
    rng = numpy.random.default_rng(rows)
    starts = numpy.concatenate(([0], numpy.cumsum(rng.integers(0, 9, rows))))
    return make(dtype, starts[-1]), rng.integers(0, columns, starts[-1]), starts

def dense(given, shape):
    entries, names, starts = given
    made = numpy.zeros(shape, entries.dtype)
    numpy.add.at(made, (numpy.repeat(numpy.arange(shape[0]), numpy.diff(starts)), names), entries)
    return made

def check(dtype, rows, columns, of=()):
    given = parts(dtype, rows, columns)
    a = braze.sparse(given, shape=(rows, columns))
    x = make(dtype, columns, *of)
    return near(a @ np.asarray(x), dense(given, (rows, columns)) @ x)

def near(got, want):
    got = numpy.asarray(got)
    assert got.shape == want.shape and got.dtype == want.dtype, (got.dtype, want.dtype)
    assert numpy.allclose(got, want, rtol=1e-4 if want.dtype.char in "fF" else 1e-12, atol=1e-4), (got, want)
"""


class Products:
    """A talker that multiplies, and the library's calls that its worker has made."""

    def __init__(self, gpu, path):
        self.gpu, self.path = gpu, path
        self.talker = gpu.talker(BRAZE_NEAR="0")
        self.do(SETUP)
        self.seen = counted(path)

    def do(self, code):
        return self.talker.do(code)

    def calls(self, *names):
        """Of the library since this was asked last."""
        now, before = counted(self.path), self.seen
        self.seen = now
        return [now.get(k, 0) - before.get(k, 0) for k in names]


@pytest.fixture
def made():
    """A daemon of the test's own."""
    all_made = []

    def make(library=None, **options):
        gpu = Gpu(env={"BRAZE_LIBCUSPARSE": str(find_standin() / "libcusparse.so.12") if library is None else library},
                  **options)
        path = pathlib.Path(gpu.daemon.folder) / "calls"
        gpu.daemon.env["BRAZE_STANDIN"] += f",count={path}"
        gpu.__enter__()
        gpu.usable()
        all_made.append(gpu)
        return Products(gpu, path)

    yield make
    for gpu in all_made:
        gpu.__exit__(None, None, None)


RUNS = "cusparseSpMV", "cusparseSpMM"


def test_more_products_in_a_run_than_it_has_checks(made):
    """Each of them can find its structure wrong; they share the word that says so."""
    made().do("""
given = parts("f8", 40, 30)
a, x = braze.sparse(given, shape=(40, 30)), make("f8", 30)
got = sum(a @ (np.asarray(x) + k) for k in range(80))
near(got, sum(dense(given, (40, 30)) @ (x + k) for k in range(80)))
""")


def test_types_and_sizes(made):
    t = made()
    for dtype in "fdFD":
        for rows, columns in ((1, 1), (64, 40), (301, 77), (1000, 3)):
            t.do(f"check('{dtype}', {rows}, {columns}, ())")
            t.do(f"check('{dtype}', {rows}, {columns}, (1,))")
            t.do(f"check('{dtype}', {rows}, {columns}, (8,))")
    vector, matrix = t.calls(*RUNS)
    assert vector >= 20 and matrix >= 10, (vector, matrix)
    assert t.gpu.device()["worker_deaths"] == 0


def test_layouts_that_it_cannot_be_told_are_our_kernels(made):
    t = made()
    t.do("given = parts('d', 50, 40); a = braze.sparse(given, shape=(50, 40)); d = dense(given, (50, 40))\n"
         "x = make('d', 40, 16); b = np.asarray(x)")
    for view, by in (("[:, :]", 1), ("[:, ::2]", 0), ("[::-1]", 0), ("[:, 3]", 0), ("[:, 2:8]", 1), ("[:, 1:8]", 0)):
        t.do(f"near(a @ b{view}, d @ x{view})")
        assert sum(t.calls(*RUNS)) == by, view
    t.do("y = make('d', 16, 40); near(a @ np.asarray(y).T, d @ y.T)")
    assert t.calls(*RUNS) == [0, 1]
    t.do("i = braze.sparse((numpy.arange(9), numpy.arange(9), numpy.arange(10)))\n"
         "near(i @ np.asarray(numpy.arange(9)), numpy.arange(9) ** 2)")
    assert t.calls(*RUNS) == [0, 0]


def test_wide_structures(made):
    t = made()
    t.do("from braze import _core\n"
         "e, s = np.asarray(numpy.arange(1.0, 4)), np.asarray(numpy.array([0, 1, 3, 2, 0, 4]))\n"
         "near(_core.sparse_matmul(e, s, np.asarray(numpy.arange(5.0))), numpy.array([2.0, 12.0]))")
    assert t.calls(*RUNS) == [1, 0]


def test_in_a_loop_and_beside_kernels(made):
    t = made()
    t.do("given = parts('d', 90, 90); a = braze.sparse(given, shape=(90, 90)); d = dense(given, (90, 90))\n"
         "x = make('d', 90); b = np.asarray(x)\n"
         "for _ in range(12):\n    b = (a @ (b * 2 + 1)) / 9; x = (d @ (x * 2 + 1)) / 9\n"
         "near(b, x)")
    assert t.calls(*RUNS) == [12, 0]
    assert t.do("del a, b; braze.flush(); out = 1") == 1


@pytest.mark.parametrize("call", ["cusparseCreate", "cusparseSetStream", "cusparseCreateCsr", "cusparseCreateDnVec",
                                  "cusparseSpMV_bufferSize", "cusparseSpMV"])
def test_a_call_that_fails_leaves_it_to_our_kernel(made, call):
    t = made()
    t.gpu.inject(f"fail={call}:1:10")
    t.do("check('d', 64, 40)")
    assert t.gpu.device()["worker_deaths"] == 0
    t.do("check('d', 64, 40)")
    assert t.calls("cusparseSpMV")[0] >= 1


@pytest.mark.parametrize("library", ["", "/nowhere/libcusparse.so.12", __file__])
def test_no_library(made, library):
    t = made(library)
    t.do("check('d', 64, 40)")
    assert t.calls(*RUNS) == [0, 0]


@pytest.mark.parametrize("columns", ["5", "5, 8"])
def test_a_structure_that_lies_is_an_error(made, columns):
    """The library is given a checked copy: the stand-in would break the context over another."""
    t = made()
    t.do(f"""
from braze import _core
right = numpy.array([0, 3, 3, 8, 0, 4, 2, 1, 1, 0, 3, 2], 'i4')
x, e = np.asarray(numpy.ones(({columns}))), np.asarray(numpy.arange(8.0))
def made(place, number):
    lie = right.copy()
    lie[place] = number
    y = _core.sparse_matmul(e, np.asarray(lie), x)
    braze.wait(y)
    return numpy.asarray(y).reshape(3, -1)[:, 0].tolist()
""")
    for place in range(12):
        for number in (-1, 9, {0: 1, 1: 7, 2: 2}.get(place, 1 << 30)):
            with pytest.raises(Refused, match="structure names columns that it does not have"):
                t.do(f"made({place}, {number})")
    assert t.do("out = made(0, 0)") == [3, 0, 25]
    assert sum(t.calls(*RUNS)) == 37
    assert t.gpu.device()["worker_deaths"] == 0
