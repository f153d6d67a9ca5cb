# SPDX-License-Identifier: Apache-2.0
"""Matrix products on cuda:0 by a vendor's library: the stand-in for cuBLAS, which checks
what it is told, and what happens where there is none or where it fails."""

import pytest
from gpu import PATIENT, STRICT, Gpu
from harness import find_standin, wait_until

pytestmark = pytest.mark.skipif(find_standin() is None, reason="no stand-in driver was built")

# Both sides make the same operands; a product is compared with NumPy's, and with itself.
SETUP = """
def make(dtype, *shape, seed=1):
    rng = numpy.random.default_rng(seed)
    if numpy.dtype(dtype).kind in "iu":
        return rng.integers(0, 256, shape, "uint8").astype(dtype)
    x = rng.standard_normal(shape)
    if numpy.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)

def near(got, want):
    if want.dtype.kind in "iub":
        return got.dtype == want.dtype and numpy.array_equal(got, want)
    eps = numpy.finfo(want.dtype).eps
    room = 64 * eps * max(1, numpy.abs(want).max(initial=0))
    if want.dtype == "float16":  # added up in float32, as NumPy's, and rounded once
        room = numpy.spacing(numpy.abs(want)) + 2e-6 * numpy.abs(want).max(initial=0)
    return (got.shape == want.shape and got.dtype == want.dtype
            and bool((numpy.abs(got - want) <= room).all()))

def check(a, b, of=lambda x, y: x @ y):
    m, n = np.asarray(a), np.asarray(b)
    first = numpy.array(of(m, n))
    again = numpy.array(of(m, n))
    assert first.tobytes() == again.tobytes(), "other bits"
    with numpy.errstate(all="ignore"):
        assert near(first, numpy.asarray(of(a, b))), (first, of(a, b))
"""
TYPES = ["float16", "float32", "float64", "complex64", "complex128"]
PLAIN = "check(make('float64', 70, 50), make('float64', 50, 60, seed=2))"
PRODUCTS = {"float16": "cublasGemmStridedBatchedEx", "float32": "cublasSgemmStridedBatched", "float64": "cublasDgemmStridedBatched",
            "complex64": "cublasCgemmStridedBatched", "complex128": "cublasZgemmStridedBatched"}
SHAPES = [((5,), (5,)), ((5,), (5, 3)), ((4, 5), (5,)), ((4, 5), (5, 3)), ((1, 1), (1, 1)),
          ((1, 7), (7, 1)), ((7, 1), (1, 7)), ((130, 70), (70, 65)), ((1, 200), (200, 129)),
          ((2, 3, 4, 5), (5, 6)), ((4, 5), (3, 5, 6)), ((3, 1, 4, 5), (1, 2, 5, 6)),
          ((2, 70, 6, 7), (2, 70, 7, 8)), ((70, 1, 9), (70, 9, 1)), ((3, 4, 5), (5,)),
          ((5,), (3, 5, 4)), ((0, 5), (5, 3)), ((4, 0), (0, 3)), ((4, 5), (5, 0)),
          ((0, 4, 5), (0, 5, 3)), ((2, 4, 0), (2, 0, 3))]


class Products:
    """A talker that multiplies, and what its daemon has counted."""

    def __init__(self, gpu):
        self.gpu = gpu
        self.talker = gpu.talker()
        self.talker.do(SETUP)
        self.seen = gpu.daemon.status()["device_products"]

    def do(self, code):
        return self.talker.do(code)

    def by(self):
        """What has computed products since the last call: "library", "own"."""
        now, before = self.gpu.daemon.status()["device_products"], self.seen
        self.seen = now
        return {k for k in now if now[k] > before[k]}


@pytest.fixture(scope="module")
def shared():
    with Gpu() as gpu:
        gpu.usable()
        yield Products(gpu)


@pytest.fixture
def products(shared):
    shared.by()
    return shared


# ---- What it computes ----


@pytest.mark.parametrize("dtype", TYPES)
def test_shapes(products, dtype):
    products.do(f"for s, t in {SHAPES}: check(make('{dtype}', *s), make('{dtype}', *t, seed=2))")
    assert products.by() == {"library"}


@pytest.mark.parametrize("dtype", TYPES)
def test_views(products, dtype):
    """Transposed, with gaps, from the middle: all of them the library's."""
    products.do(f"""
a, b = make('{dtype}', 60, 50), make('{dtype}', 50, 40, seed=2)
at, bt = numpy.ascontiguousarray(a.T), numpy.ascontiguousarray(b.T)
check(at, b, lambda x, y: x.T @ y)
check(a, bt, lambda x, y: x @ y.T)
check(at, bt, lambda x, y: x.T @ y.T)
check(a, a, lambda x, y: x.T @ y)
check(a, b, lambda x, y: x[::2] @ y[:, 3:30])
check(a, b, lambda x, y: x[5:9, 20:] @ y[20:, 1:])
check(a, b, lambda x, y: x[:, 7] @ x[:, 8])
check(a, b, lambda x, y: x[3:4] @ y)
check(make('{dtype}', 6, 7, 8), make('{dtype}', 6, 8, 9, seed=2), lambda x, y: x[::2] @ y[1::2])
check(make('{dtype}', 6, 7, 8), make('{dtype}', 8, 9, seed=2), lambda x, y: x[::-1] @ y)
check(make('{dtype}', 7, 6, 8), make('{dtype}', 8, 6, 9, seed=2),
      lambda x, y: x.transpose(1, 0, 2) @ y.transpose(1, 0, 2))
""")
    assert products.by() == {"library"}


@pytest.mark.parametrize("dtype", TYPES)
def test_what_cannot_be_told_to_the_library(products, dtype):
    """Both strides of a matrix are more than an element, or run backwards."""
    products.do(f"""
a, b = make('{dtype}', 30, 40), make('{dtype}', 40, 50, seed=2)
check(a, b, lambda x, y: x[:, ::2] @ y[::2])
check(a, b, lambda x, y: x @ y[:, ::-1])
check(a, b, lambda x, y: x[:, ::-1] @ y[::-1])
""")
    assert products.by() == {"own"}


# ---- Bytes: packed ----

BYTES = [((130, 70), (70, 129)), ((130, 71), (71, 130)), ((17, 300), (300, 250)), ((3, 80, 90), (90, 150)),
         ((2, 3, 64, 66), (3, 66, 68)), ((64, 66), (2, 3, 66, 68)), ((3, 1, 64, 66), (1, 2, 66, 68))]


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_bytes(products, dtype):
    """Added up in 32 bits, of which the lowest eight are NumPy's; short ones are the own kernel's."""
    products.do(f"""
for s, t in {[(s, t) for s, t in BYTES if s[-2] * s[-1] * t[-1] > 1 << 20]}:
    check(make('{dtype}', *s), make('{dtype}', *t, seed=2))""")
    assert products.by() == {"library"}
    products.do(f"""
for s, t in {[(s, t) for s, t in BYTES if s[-2] * s[-1] * t[-1] <= 1 << 20]}:
    check(make('{dtype}', *s), make('{dtype}', *t, seed=2))""")
    assert products.by() == {"own"}


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_views_of_bytes(products, dtype):
    """However they lie, and wherever they begin: they are packed."""
    products.do(f"""
a, b = make('{dtype}', 131, 129), make('{dtype}', 129, 132, seed=2)
at, bt = numpy.ascontiguousarray(a.T), numpy.ascontiguousarray(b.T)
check(at, b, lambda x, y: x.T @ y)
check(a, bt, lambda x, y: x @ y.T)
check(at, bt, lambda x, y: x.T @ y.T)
check(a, b, lambda x, y: x[1:, 3:] @ y[3:, 1:])
check(a, b, lambda x, y: x[:, ::-1] @ y[::-1])
check(make('{dtype}', 131, 258), b, lambda x, y: (x[:, ::2] @ y) * 3 + x[:, :132])
check(make('{dtype}', 258, 131), b, lambda x, y: x[::2].T @ y[:, ::-1])
check(make('{dtype}', 4, 120, 110), make('{dtype}', 4, 110, 100, seed=2), lambda x, y: x[::-2] @ y[1::2])
out = np.zeros((131, 300), '{dtype}')
out[:, 7:139] = np.asarray(a) @ np.asarray(b)
assert numpy.array_equal(numpy.asarray(out)[:, 7:139], a @ b) and not numpy.asarray(out)[:, 139:].any()
""")
    assert products.by() == {"library"}


def test_bytes_at_the_end_of_32_bits():
    """131 071 products of -128 with itself are the last sum that fits."""
    with Gpu(env=PATIENT) as gpu:
        gpu.usable()
        p = Products(gpu)
        p.do("""
a = numpy.full((17, 131071), -128, 'int8')
check(a, a, lambda x, y: x @ y.T)""")
        assert p.by() == {"library"}


def test_products_of_bytes_in_pieces():
    """Of 128 rows and columns and 4096 of k, which add up apart, and are copied when all are in."""
    with Gpu(khz=1) as gpu:
        gpu.usable()
        p = Products(gpu)
        for dtype in ("int8", "uint8"):
            p.do(f"check(make('{dtype}', 300, 90), make('{dtype}', 90, 300, seed=2))")
            p.do(f"check(make('{dtype}', 20, 9000), make('{dtype}', 9000, 30, seed=2))")
            p.do(f"check(make('{dtype}', 3, 150, 61), make('{dtype}', 3, 61, 150, seed=2))")
        assert p.by() == {"library"}
        gpu.inject("fail=cublasGemmStridedBatchedEx:4:15")
        p.do("check(make('int8', 300, 90), make('int8', 90, 300, seed=2))")
        assert p.by() == {"library", "own"}


def test_no_room_to_pack():
    """45 of 72 MB are taken, 33 by the handle and its workspace."""
    with Gpu(vram="96M", env=PATIENT) as gpu:
        gpu.usable()
        p = Products(gpu)
        p.do("check(make('int8', 300, 90), make('int8', 90, 300, seed=2))")
        assert p.by() == {"library"}
        p.do("""
a = np.asarray(make('int8', 3600, 40)); b = np.asarray(make('int8', 40, 3600, seed=2))
c = a @ b
assert numpy.array_equal(numpy.asarray(c)[::500], make('int8', 3600, 40)[::500] @ make('int8', 40, 3600, seed=2))""")
        assert p.by() == {"own"}
        assert "a product by braze's own kernel: " in gpu.daemon.log_text()


@pytest.mark.parametrize("dtype", ["int16", "int32", "uint64", "bool"])
def test_other_integers_are_no_librarys(products, dtype):
    products.do(f"check(make('{dtype}', 110, 105), make('{dtype}', 105, 100, seed=2))")
    assert "library" not in products.by()


def test_explained(products):
    """`explain` says by what, and why."""
    def told(dtype, view="x @ y"):
        return products.do(f"""
x, y = np.asarray(make('{dtype}', 120, 110)), np.asarray(make('{dtype}', 110, 120, seed=2))
c = {view}; braze.wait(c)
out = braze.explain(c)""")
    assert "by cuBLAS" in told("float16") and "packed" not in told("float16")
    assert "by cuBLAS, operands packed" in told("int8")
    assert "by braze's own kernel: cuBLAS has none of this type" in told("int32")
    assert "own kernel: neither rows nor columns" in told("float32", "x[:, ::2] @ y[::2]")
    assert "own kernel: it is short" in told("int8", "x[:20] @ y")


# ---- TF32: for who asks for it ----

TF32 = """
def cut(x):
    \"\"\"To ten bits of mantissa, the even one of two.\"\"\"
    bits = numpy.ascontiguousarray(x).view('uint32')
    bits = bits + numpy.uint32(0xfff) + ((bits >> 13) & 1)
    return (bits & ~numpy.uint32(0x1fff)).view(x.dtype)

def rounded(x, y, of=lambda x, y: x @ y):
    wide = 'complex128' if x.dtype.kind == 'c' else 'float64'
    return of(cut(x).astype(wide), cut(y).astype(wide)).astype(x.dtype)
"""


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_tf32(products, dtype):
    """Inside of the section only, the same bits at every run; views and stacks as well."""
    products.do(TF32)
    for view in ("x @ y", "x.T @ y.T", "x[3:60, 5:] @ y[5:]", "x[:, 7:8] @ y[2:3]"):
        products.do(f"""
a, b = make('{dtype}', 70, 70), make('{dtype}', 70, 70, seed=2)
x, y = np.asarray(a), np.asarray(b)
of = lambda x, y: {view}
with braze.precision("tf32"):
    one, two = of(x, y), of(x, y)
full = of(x, y)
one, two, full = [numpy.array(v) for v in (one, two, full)]
assert one.tobytes() == two.tobytes() != full.tobytes()
assert near(full, of(a, b)) and near(one, rounded(a, b, of)) and not near(one, of(a, b))""")
    assert products.by() == {"library"}
    products.do(f"""
a, b = make('{dtype}', 3, 20, 30), make('{dtype}', 3, 30, 40, seed=2)
got = numpy.array(braze.precision("tf32")(np.matmul)(np.asarray(a), np.asarray(b)))
assert near(got, rounded(a, b)) and not near(got, a @ b)""")


def test_tf32_of_one_trace(products):
    """Each product as the section said in which it was recorded, innermost first; sums around them stay."""
    products.do(TF32 + """
a, b = make('float32', 60, 60), make('float32', 60, 60, seed=2)
x, y = np.asarray(a), np.asarray(b)
with braze.precision("tf32"):
    one = x @ y
    with braze.precision("full"):
        two = y @ x
    three = y @ (x + 1)
four = x @ x
total = (one + two) + (three + four)
want = rounded(a, b) + b @ a + rounded(b, a + numpy.float32(1)) + a @ a
assert near(numpy.array(total), want)
assert near(numpy.array(two), b @ a) and near(numpy.array(four), a @ a)
assert near(numpy.array(three), rounded(b, a + numpy.float32(1)))""")


def test_tf32_is_for_single_precision(products):
    """Other types, and what is braze's own kernel, have the bits they had."""
    products.do("""
for dtype in ('float16', 'float64', 'complex128', 'int8', 'int32'):
    x, y = np.asarray(make(dtype, 120, 110)), np.asarray(make(dtype, 110, 120, seed=2))
    full = numpy.array(x @ y)
    assert numpy.array(braze.precision("tf32")(np.matmul)(x, y)).tobytes() == full.tobytes()
x, y = np.asarray(make('float32', 60, 50)), np.asarray(make('float32', 50, 40, seed=2))
with braze.precision("tf32"):
    own, vector = x[:, ::2] @ y[::2], x @ y[:, 3]
assert numpy.array(own).tobytes() == numpy.array(x[:, ::2] @ y[::2]).tobytes()
assert numpy.array(vector).tobytes() == numpy.array(x @ y[:, 3]).tobytes()""")


def test_tf32_explained(products):
    assert "by cuBLAS in TF32" in products.do("""
x = np.asarray(make('float32', 90, 90))
with braze.precision("tf32"):
    c = x @ x
braze.wait(c)
out = braze.explain(c)""")
    assert "TF32" not in products.do("c = x @ x; braze.wait(c); out = braze.explain(c)")


def test_tf32_in_pieces_and_where_there_is_none():
    """Pieces are added up; a GPU without TF32 is asked for full precision."""
    with Gpu(khz=1) as gpu:
        gpu.usable()
        p = Products(gpu)
        p.do(TF32 + """
a, b = make('float32', 20, 5000), make('float32', 5000, 30, seed=2)
x, y = np.asarray(a), np.asarray(b)
with braze.precision("tf32"):
    got = numpy.array(x @ y)
assert near(got, rounded(a, b)) and not near(got, a @ b)""")
        gpu.inject("fail=cublasGemmStridedBatchedEx:1:15,fail=cublasGemmStridedBatchedEx:2:15")
        assert p.do("""
with braze.precision("tf32"):
    got = numpy.array(x @ y)
out = near(got, a @ b)""")
        assert p.by() == {"library"} and gpu.deaths() == 0


def test_fused_around(products):
    products.do("""
a, b = make('float64', 33, 44), make('float64', 44, 22, seed=2)
check(a, b, lambda x, y: ((x * 2 + 1) @ (y - 1)) * 3 + 0.5)
check(a, a, lambda x, y: (x @ y.T) @ (x * y))
""")
    assert products.by() == {"library"}


def test_special_values(products):
    """NaN and infinity go where they belong; what was in C's memory does not."""
    assert products.do("""
a = numpy.ones((20, 20)); b = numpy.ones((20, 20))
a[3, 4] = numpy.nan; a[5, 6] = numpy.inf
got = numpy.asarray(np.asarray(a) @ np.asarray(b))
out = [bool(numpy.isnan(got[3]).all()), bool(numpy.isinf(got[5]).all()),
       int(numpy.isfinite(got).sum())]""") == [True, True, 18 * 20]
    assert products.by() == {"library"}


def test_each_client_has_a_handle(products):
    other = Products(products.gpu)
    products.talker.begin("check(make('float64', 90, 80), make('float64', 80, 70))")
    other.do("check(make('float32', 90, 80), make('float32', 80, 70))")
    products.talker.end()
    assert products.by() == other.by() == {"library"}


# ---- Pieces: a clock so slow that a piece is 128 x 128 ----



@pytest.mark.parametrize("dtype", TYPES)
def test_pieces(dtype):
    """9 pieces of 128 columns and rows at most; along k, 2 of 4096."""
    with Gpu(khz=1) as gpu:
        gpu.usable()
        p = Products(gpu)
        p.do(f"check(make('{dtype}', 300, 90), make('{dtype}', 90, 300, seed=2))")
        p.do(f"check(make('{dtype}', 20, 5000), make('{dtype}', 5000, 30, seed=2))")
        p.do(f"check(make('{dtype}', 300, 90), make('{dtype}', 300, 90, seed=2),"
             " lambda x, y: x[:200] @ y.T)")
        p.do(f"check(make('{dtype}', 3, 150, 9), make('{dtype}', 3, 9, 150, seed=2))")
        assert p.by() == {"library"}
        # The tenth call of the library is the second product's first.
        gpu.inject(f"fail={PRODUCTS[dtype]}:10:15")
        p.do(f"a, b = np.asarray(make('{dtype}', 300, 90)), np.asarray(make('{dtype}', 90, 300))")
        p.do("c = a @ b; braze.wait(c)")
        assert p.by() == {"library"}
        p.do("c = a @ b; braze.wait(c)")
        assert "own" in p.by()


@pytest.mark.parametrize(("shapes", "call"), [
    (((300, 70), (70, 290)), 1), (((300, 70), (70, 290)), 5),
    (((200, 3, 8), (200, 8, 8)), 3), (((200, 3, 8), (200, 8, 8)), 8)])
@pytest.mark.parametrize("code", [13, 15])
def test_refused_half_way(shapes, call, code):
    """The rest, or all, by the own kernel, in slices that do not end where pieces do."""
    with Gpu(khz=1, delay_us=5000) as gpu:
        gpu.usable()
        p = Products(gpu)
        p.do(f"a, b = make('float64', *{shapes[0]}), make('float64', *{shapes[1]}, seed=2)")
        p.do("x, y = np.asarray(a), np.asarray(b); braze.wait(x @ y)")
        p.do("float((x @ y).sum())")  # measured: it copies next to nothing
        slices = gpu.daemon.status()["slices"]
        assert p.do("out = near(numpy.asarray(x @ y), a @ b)")
        assert gpu.daemon.status()["slices"] >= slices + 2
        assert p.by() == {"library"}
        gpu.inject(f"fail=cublasDgemmStridedBatched:{call}:{code}")
        assert p.do("out = near(numpy.asarray(x @ y), a @ b)")
        assert "own" in p.by()
        # 15 concerned one call, 13 the handle.
        assert p.do("out = near(numpy.asarray(x @ y), a @ b)")
        assert p.by() == ({"library"} if code == 15 else {"own"})
        assert gpu.deaths() == 0


# ---- Libraries that fail ----


@pytest.mark.parametrize("library", ["", "/nowhere/libcublas.so.13", __file__])
def test_no_library(library):
    with Gpu(env={"BRAZE_LIBCUBLAS": library}) as gpu:
        gpu.usable()
        p = Products(gpu)
        p.do(PLAIN)
        assert p.by() == {"own"}
        assert ("cuBLAS does not load" in gpu.daemon.log_text()) == (library == __file__)


@pytest.mark.parametrize(("call", "code", "text"), [
    ("cublasCreate", 1, "not initialised"), ("cublasCreate", 8, "not for this GPU"),
    ("cublasSetStream", 14, "internal error"), ("cublasSetWorkspace", 7, "an argument"),
    ("cublasSetMathMode", 15, "not supported"), ("cublasSetAtomicsMode", 16, "no licence"),
    ("cublasCreate", 99, "unknown")])
def test_no_handle(call, code, text):
    with Gpu(fail=f"{call}:1:{code}") as gpu:
        gpu.usable()
        p = Products(gpu)
        p.do(PLAIN)
        assert p.by() == {"own"}
        assert f"no cuBLAS handle, own products: {text}" in gpu.daemon.log_text()
        # Another client tries for itself.
        other = Products(gpu)
        other.do(PLAIN)
        assert other.by() == {"library"}


@pytest.mark.parametrize(("code", "lasts"), [(1, True), (7, False), (8, True), (11, True),
                                             (13, True), (14, True), (15, False), (16, True),
                                             (77, True)])
def test_refused_product(shared, code, lasts):
    p = Products(shared.gpu)
    p.do("braze.wait(np.ones((3, 3)) @ np.ones((3, 3)))")
    p.by()
    shared.gpu.inject(f"fail=cublasDgemmStridedBatched:1:{code}")
    p.do(PLAIN)
    assert p.by() == ({"own"} if lasts else {"library", "own"})
    assert f"cuBLAS status {code} " in shared.gpu.daemon.log_text()
    assert shared.gpu.deaths() == 0


def test_memory_that_the_pools_keep(shared):
    """Out of memory, once: what the pools keep is given back, and it is tried again."""
    shared.gpu.inject("fail=cublasCreate:1:3,fail=cublasDgemmStridedBatched:1:3")
    p = Products(shared.gpu)
    p.do(PLAIN)
    assert p.by() == {"library"}


def test_no_memory_for_a_product(shared):
    p = Products(shared.gpu)
    p.do("braze.wait(np.ones((3, 3)) @ np.ones((3, 3)))")
    p.by()
    shared.gpu.inject("fail=cublasDgemmStridedBatched:1:3,fail=cublasDgemmStridedBatched:2:3")
    p.do(PLAIN)
    assert p.by() == {"library", "own"}


def test_handle_takes_what_the_pools_keep():
    """42 MB of 72 are freed and kept; a handle needs 36."""
    with Gpu(vram="72M", env=PATIENT) as gpu:
        gpu.usable()
        p = Products(gpu)
        p.do("x = np.zeros(5250000) + 1; braze.wait(x); del x; braze.flush()")
        wait_until(lambda: gpu.daemon.status()["device_used_bytes"] == 0)
        p.do(PLAIN)
        assert p.by() == {"library"}


def test_no_room_for_a_workspace():
    with Gpu(vram="24M") as gpu:
        gpu.usable()
        p = Products(gpu)
        p.do(PLAIN)
        assert p.by() == {"own"}
        assert "no cuBLAS handle, own products: braze stand-in 0" in gpu.daemon.log_text()


@pytest.mark.parametrize("error", [700, 719])
def test_product_breaks_the_context(error):
    """Its worker is started again, and so is the product."""
    with Gpu() as gpu:
        gpu.usable()
        p = Products(gpu)
        p.do("a = np.asarray(make('float64', 40, 40)); braze.wait(a @ a)")
        gpu.inject(f"fault=cublasDgemmStridedBatched:1:{error}")
        p.do(PLAIN)
        assert gpu.deaths() == 1


def test_product_hangs():
    with Gpu(env=STRICT) as gpu:
        gpu.usable()
        p = Products(gpu)
        p.do("a = np.asarray(make('float64', 40, 40)); braze.wait(a @ a)")
        gpu.inject("hang=cublasDgemmStridedBatched:1")
        p.do(PLAIN)
        assert gpu.deaths() == 1
