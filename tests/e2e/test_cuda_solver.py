# SPDX-License-Identifier: Apache-2.0
"""numpy.linalg on cuda:0 by a vendor's library: the stand-in for cuSOLVER, which checks what it is
told, and what happens where there is none or where it fails."""

import time

import pytest
from gpu import PATIENT, STRICT, Refused
from gpu_calls import fixtures
from harness import find_standin, wait_until

pytestmark = pytest.mark.skipif(find_standin() is None, reason="no stand-in driver was built")

# Both sides make the same operands.  What is unique is compared with NumPy's, what is not by what it makes.
SETUP = """
import warnings
L, N = np.linalg, numpy.linalg

def make(dtype, *shape, seed=1):
    rng = numpy.random.default_rng(seed)
    x = rng.standard_normal(shape) * 3
    if numpy.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)

def positive(dtype, *shape, seed=1):
    x = make(dtype, *shape, seed=seed).astype("c16" if numpy.dtype(dtype).kind == "c" else "f8")
    return (x @ x.swapaxes(-1, -2).conj() + numpy.eye(shape[-1])).astype(dtype)

def near(got, want, room=200):
    assert type(got) is np.ndarray or not want.ndim, type(got)
    got = numpy.asarray(got)
    assert got.shape == want.shape and got.dtype == want.dtype, (got.dtype, want.dtype, got.shape, want.shape)
    most = room * numpy.finfo(want.dtype).eps * max(1, numpy.abs(want).max(initial=0))
    off = numpy.abs(got.astype("c16") - want).max(initial=0)
    assert off <= most, (off, most, got, want)

def upright(q):
    q = numpy.asarray(q)
    near(np.asarray(q.swapaxes(-1, -2).conj() @ q), numpy.broadcast_to(numpy.eye(q.shape[-1], dtype=q.dtype), q.shape[:-2] + q.shape[-1:] * 2))

def host(*parts):
    return [numpy.asarray(x) for x in parts]

def check_qr(a, x, **kw):
    (q, r), theirs = host(*L.qr(x, **kw)), N.qr(a, **kw)
    assert (q.shape, q.dtype, r.shape, r.dtype) == (theirs.Q.shape, theirs.Q.dtype, theirs.R.shape, theirs.R.dtype)
    upright(q)
    near(np.asarray(q @ r), a.astype(q.dtype))
    near(np.asarray(r), theirs.R, 2000)
    assert not numpy.tril(r, -1).any()

def check_eigh(a, x, *args):
    made, theirs = L.eigh(x, *args), N.eigh(a, *args)
    assert type(made) is type(theirs)
    near(made.eigenvalues, theirs.eigenvalues)
    near(L.eigvalsh(x, *args), N.eigvalsh(a, *args))
    w, v = host(*made)
    assert (v.shape, v.dtype) == (theirs.eigenvectors.shape, theirs.eigenvectors.dtype)
    upright(v)
    near(np.asarray(v * w[..., None, :] @ v.swapaxes(-1, -2).conj()),
         (theirs.eigenvectors * theirs.eigenvalues[..., None, :]) @ theirs.eigenvectors.swapaxes(-1, -2).conj())

def check_svd(a, x):
    for full in (True, False):
        made, theirs = L.svd(x, full), N.svd(a, full)
        assert type(made) is type(theirs)
        near(made.S, theirs.S)
        u, s, vh = host(*made)
        assert [(p.shape, p.dtype) for p in (u, vh)] == [(p.shape, p.dtype) for p in (theirs.U, theirs.Vh)]
        upright(u)
        upright(vh.swapaxes(-1, -2).conj())
        k = s.shape[-1]
        near(np.asarray(u[..., :k] * s[..., None, :] @ vh[..., :k, :]), a.astype(u.dtype))
    near(L.svd(x, compute_uv=False), N.svd(a, compute_uv=False))

def told(call, *args):
    try:
        call(*args)
    except Exception as error:
        return [type(error).__name__, str(error)]
    return "done"
"""
TYPES = ["float32", "float64", "complex64", "complex128"]
OTHERS = ["bool", "int8", "uint16", "int64"]
SIZES = [1, 2, 3, 5, 8, 17, 40]
LAYOUTS = ["lambda x: x", "lambda x: x[::2, ::2]", "lambda x: x[::-1, ::-1]", "lambda x: x.T", "lambda x: x[1:9, 2:10]",
           "lambda x: x.reshape(4, 4, 4, 4)[:, 1, :, 2]", "lambda x: x.reshape(4, 8, 8)[::3]",
           "lambda x: x.reshape(16, 4, 4).transpose(1, 0, 2)[:, :4]", "lambda x: x[None, :, None].transpose(0, 2, 3, 1)"]


shared, solver, made = fixtures(SETUP, "cusolverDnX")


# ---- What it computes ----


@pytest.mark.parametrize("dtype", TYPES)
def test_solve_and_inv(solver, dtype):
    solver.do(f"""
for n in {SIZES}:
    a, b = make('{dtype}', n, n) + numpy.eye(n, dtype='{dtype}') * 9, make('{dtype}', n, 4, seed=2)
    x, y = np.asarray(a), np.asarray(b)
    near(L.solve(x, y), N.solve(a, b))
    near(L.solve(x, y[:, 1]), N.solve(a, b[:, 1]))
    near(L.inv(x), N.inv(a))
    assert numpy.array_equal(numpy.asarray(x), a) and numpy.array_equal(numpy.asarray(y), b), "an operand has changed"
""")
    assert solver.calls("cusolverDnXgetrs") == 3 * len(SIZES)


@pytest.mark.parametrize("dtype", TYPES)
def test_determinants(solver, dtype):
    solver.do(f"""
for n in {SIZES}:
    a = make('{dtype}', 3, n, n)
    a /= 3 * n ** 0.5  # of a size that single precision has
    for p, q in ((a, np.asarray(a)), (a[0], np.asarray(a[0])), (a[:, ::-1], np.asarray(a)[:, ::-1])):
        near(L.det(q) / N.det(p), N.det(p) / N.det(p))
        mine, theirs = L.slogdet(q), N.slogdet(p)
        assert type(mine) is type(theirs)
        near(mine.sign, theirs.sign)
        near(mine.logabsdet, theirs.logabsdet)
""")
    assert solver.calls("cusolverDnXgetrf") == 14 * len(SIZES)


def test_a_determinant_is_a_number_and_not_waited_for(solver):
    assert solver.do("""
a = make('float64', 5, 5)
x = np.asarray(a)
braze.wait(x + 1)
before = braze.counters()['round_trips']
d, s = L.det(x), L.slogdet(x)
out = [braze.counters()['round_trips'] - before, type(d) is type((x * 1).sum()), type(s[0]) is type(d)]
near(d * 2, N.det(a) * 2)
""") == [0, True, True]


@pytest.mark.parametrize("dtype", TYPES)
def test_cholesky(solver, dtype):
    solver.do(f"""
for n in {SIZES}:
    a = positive('{dtype}', 2, n, n)
    x = np.asarray(a)
    near(L.cholesky(x), N.cholesky(a))
    near(L.cholesky(x[1]), N.cholesky(a[1]))
    near(L.cholesky(x + np.asarray(numpy.triu(a, 1))), N.cholesky(a + numpy.triu(a, 1)))
    if numpy.__version__ >= '2':
        near(L.cholesky(x, upper=True), N.cholesky(a, upper=True))
        near(L.cholesky(np.triu(x), upper=True), N.cholesky(numpy.triu(a), upper=True))
""")
    assert solver.calls("cusolverDnXpotrf") >= 5 * len(SIZES)


@pytest.mark.parametrize("dtype", TYPES)
def test_qr(solver, dtype):
    solver.do(f"""
for m, n in ((1, 1), (4, 4), (7, 3), (3, 7), (1, 5), (5, 1), (40, 17)):
    for a in (make('{dtype}', m, n), make('{dtype}', 3, m, n)):
        x = np.asarray(a)
        check_qr(a, x)
        check_qr(a, x, mode='complete')
        near(L.qr(x, 'r'), N.qr(a, 'r'), 2000)
""")
    assert solver.calls("cusolverDnXgeqrf") == 7 * 3 * 4


@pytest.mark.parametrize("dtype", TYPES)
def test_eigh(solver, dtype):
    solver.do(f"""
for n in {SIZES}:
    for a in (make('{dtype}', n, n), positive('{dtype}', 3, n, n)):
        x = np.asarray(a)
        check_eigh(a, x)
        check_eigh(a, x, 'U')
        check_eigh(a, x, 'l')
""")
    assert solver.calls("cusolverDnXsyevd") == 3 * 2 * 4 * len(SIZES)


@pytest.mark.parametrize("dtype", TYPES)
def test_svd(solver, dtype):
    solver.do(f"""
for m, n in ((1, 1), (4, 4), (7, 3), (3, 7), (1, 5), (5, 1), (33, 20), (20, 33)):
    for a in (make('{dtype}', m, n), make('{dtype}', 2, m, n)):
        check_svd(a, np.asarray(a))
check_svd(numpy.ones((6, 4), '{dtype}'), np.ones((6, 4), '{dtype}'))
check_svd(numpy.zeros((4, 6), '{dtype}'), np.zeros((4, 6), '{dtype}'))
if hasattr(N, 'svdvals'):
    near(L.svdvals(np.asarray(a)), N.svdvals(a))
""")
    assert solver.calls("cusolverDnXgesvd") == 8 * 3 * 3 + 6 + 2


@pytest.mark.parametrize("dtype", TYPES + OTHERS)
def test_what_is_made_of_singular_values(solver, dtype):
    solver.do(f"""
for a in (make('{dtype}', 7, 4), make('{dtype}', 2, 4, 7), make('{dtype}', 4, 3) @ make('{dtype}', 3, 6)):
    x = np.asarray(a)
    for got, want in ((L.matrix_rank(x), N.matrix_rank(a)), (L.matrix_rank(x, 2.5), N.matrix_rank(a, 2.5))):
        assert numpy.array_equal(numpy.asarray(got), want), (got, want)
        assert numpy.asarray(got).dtype == numpy.asarray(want).dtype
    if N.matrix_rank(a).min() == 4:
        near(L.cond(x), N.cond(a), 5000)
        near(L.cond(x, -2), N.cond(a, -2))
        near(L.pinv(x), N.pinv(a), 5000)
    near(L.pinv(x, 0.1), N.pinv(a, 0.1), 5000)
""")
    assert solver.calls("cusolverDnXgesvd")


def test_least_squares(solver):
    solver.do("""
for dtype in ('float32', 'float64', 'complex128', 'int64'):
    for m, n in ((9, 4), (4, 9), (5, 5)):
        a, b = make(dtype, m, n), make(dtype, m, 3, seed=2)
        for c in (b, b[:, 0]):
            got, want = L.lstsq(np.asarray(a), np.asarray(c), None), N.lstsq(a, c, None)
            for x, y in zip(got[:2] + got[3:], want[:2] + want[3:]):
                near(x, y, 5000)
            assert got[2] == want[2] and numpy.asarray(got[2]).dtype == numpy.asarray(want[2]).dtype
    a[:, 1] = a[:, 0]
    got, want = L.lstsq(np.asarray(a), np.asarray(b), None), N.lstsq(a, b, None)
    assert got[2] == want[2] == 4 and numpy.asarray(got[1]).shape == want[1].shape
    near(got[0], want[0], 5000)
""")
    assert solver.calls("cusolverDnXgesvd") == 4 * 7


@pytest.mark.parametrize("layout", range(len(LAYOUTS)))
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_layouts(solver, dtype, layout):
    solver.do(f"""
lay = {LAYOUTS[layout]}
a = positive('{dtype}', 16, 16)
p, x = lay(a), lay(np.asarray(a))
near(L.qr(x, 'r'), N.qr(p, 'r'), 20000)
check_svd(p, x)
if p.shape[-1] == p.shape[-2]:
    near(L.inv(x), N.inv(p), 20000)
    near(L.solve(x, x[..., ::-1, :] * 2), N.solve(p, p[..., ::-1, :] * 2), 20000)
    check_eigh(p, x)
assert numpy.array_equal(numpy.asarray(x), p)
""")
    assert solver.calls()


@pytest.mark.parametrize("dtype", OTHERS)
def test_other_types(solver, dtype):
    solver.do(f"""
a = (abs(make('float64', 3, 6, 6)) + 20 * numpy.eye(6)).astype('{dtype}')
if '{dtype}' == 'bool':
    a = numpy.broadcast_to(numpy.eye(6, dtype=bool), (3, 6, 6)).copy()
x = np.asarray(a)
near(L.inv(x), N.inv(a))
near(L.det(x), N.det(a))
near(L.solve(x, x), N.solve(a, a))
near(L.solve(x, np.asarray(make('float32', 6, 2))), N.solve(a, make('float32', 6, 2)))
near(L.solve(np.asarray(make('complex64', 6, 6)), x[0]), N.solve(make('complex64', 6, 6), a[0]))
check_qr(a, x)
check_svd(a, x)
check_eigh(a, x)
""")
    assert solver.calls()


def test_stacks_of_both_sides(solver):
    solver.do("""
a, b = make('float64', 2, 1, 5, 5), make('float64', 3, 5, 2, seed=2)
near(L.solve(np.asarray(a), np.asarray(b)), N.solve(a, b))
near(L.solve(np.asarray(a[0, 0]), np.asarray(b)), N.solve(a[0, 0], b))
near(L.solve(np.asarray(a), np.asarray(b[0])), N.solve(a, b[0]))
near(L.solve(np.asarray(a), np.asarray(b[0, :, 0])), N.solve(a, b[0, :, 0]))
""")
    assert solver.calls("cusolverDnXgetrs") == 6 + 3 + 2 + 2


def test_numpys_own_function_takes_it_too(solver):
    solver.do("""
a = make('float64', 5, 5)
near(numpy.linalg.inv(np.asarray(a)), N.inv(a))
near(numpy.linalg.svd(np.asarray(a)).S, N.svd(a).S)
""")
    assert solver.calls("cusolverDnXgetrf") == 1 and solver.seen["cusolverDnXgesvd"]


def test_it_stays_there_and_is_fused(solver):
    """What is read is one word; turning a matrix is a part of what makes it."""
    text = solver.do("""
a = make('float64', 200, 200) + 30 * numpy.eye(200)
x = np.asarray(a)
braze.wait(x + 1)
y = L.inv(x * 2 + 1)
z = y @ x
out = braze.explain(y * 1)
""")
    solver.do("near(z, N.inv(a * 2 + 1) @ a)")
    assert "solve of float64" not in text, text  # it was computed in the call


def test_several_factors_of_one_matrix(solver):
    """Each spoils a copy of its own."""
    solver.do("""
a = make('float64', 20, 20)
x = np.asarray(a)
braze.wait(x + 1)
for y, b in ((x, a), (x * 2 + 1, a * 2 + 1)):
    d, r, (q, s), e = L.det(y), L.qr(y, 'r'), L.qr(y), L.slogdet(y)[1]
    braze.wait(d, r, q, s, e)
    near(d, N.det(b), 2000)
    near(r, N.qr(b, 'r'), 2000)
    near(q @ s, b)
    near(e, N.slogdet(b)[1])
""")
    assert solver.calls() == 8


def test_in_a_loop(solver):
    """As a program of turns has it."""
    solver.do("""
a = make('float64', 6, 6) + 20 * numpy.eye(6)
x, want = np.asarray(a), a
for k in range(12):
    x = L.inv(x) * 100 + x.T * 0.1
    want = N.inv(want) * 100 + want.T * 0.1
    x[3, 3] = k + 9
    want[3, 3] = k + 9
near(x, want, 1e6)
q, p = np.asarray(a), a
for k in range(12):
    q, p = L.qr(q * 2, 'r') + 1, N.qr(p * 2, 'r') + 1
near(q, p, 1e5)
""")
    assert solver.calls("cusolverDnXgetrf") == 12


def test_extents_that_change_from_turn_to_turn(solver):
    solver.do("""
a = make('float64', 30, 30) / 8
x = np.asarray(a)
d, e = 0, 0
for k in range(2, 30):
    d = d + L.det(x[:k, :k])
    e = e + N.det(a[:k, :k])
near(d, numpy.asarray(e), 1e5)
y, z = np.zeros((30, 30)), numpy.zeros((30, 30))
for k in range(2, 30):
    y[:k, :k] += L.qr(x[:k, :k] + y[:k, :k] * 0.1, 'r')
    z[:k, :k] += N.qr(a[:k, :k] + z[:k, :k] * 0.1, 'r')
near(y, z, 1e7)
""")
    assert solver.calls("cusolverDnXgeqrf") == 28


def test_a_result_may_be_written(solver):
    solver.do("""
a = positive('float64', 6, 6)
w, v = L.eigh(np.asarray(a))
w[0] = 7
v[:, 1] *= 2
want = N.eigh(a)
assert float(w[0]) == 7
near(w[1:], want[0][1:])
near(abs(v[:, 1]), abs(want[1][:, 1] * 2), 5000)
near(abs(v[:, 2:]), abs(want[1][:, 2:]), 5000)
u, s, vh = L.svd(np.asarray(a))
s += 1
near(u * (s - 1) @ vh, a)
""")


# ---- What cannot be had ----


@pytest.mark.parametrize("call", [
    "inv(z)", "inv(x * z)", "solve(z, x)", "solve(stack, x)", "cholesky(-x @ x.T)", "cholesky(z)", "inv(stack)",
    "solve(x, x[:3])", "solve(x[:3], x)", "inv(x[0])", "inv(x[:3])", "det(x[:3])", "cholesky(x[:3])", "eigh(x[:3])",
    "eigh(x, 'Q')", "qr(x[0])", "qr(x, 'no')", "svd(x[0])", "eigh(x * np.nan)", "svd(x * np.nan)", "det(x[0])",
    "matrix_rank(x * np.nan)", "cond(x * np.nan)", "solve(x)", "inv(x.astype('f2'))", "lstsq(x, x[:3], None)",
    "solve(stack, stack[:2])", "eigvalsh(stack * np.nan)", "qr(x.astype('f2'))", "inv(x, 3)", "inv(b=x)"])
def test_errors_are_numpys(solver, call):
    assert solver.do(f"""
def say(module, x, np):
    z = x * 0
    stack = np.concatenate([x[None], z[None], x[None]])
    return told(lambda: module.{call})
a = make('float64', 5, 5)
with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    ours, theirs = say(L, np.asarray(a), np), say(N, a, numpy)
out = [ours == theirs or (ours, theirs), theirs != 'done']""") == [True, True]


def test_singular_and_not_finite(solver):
    """No error where NumPy has none, and no warning."""
    solver.do("""
a = make('float64', 3, 5, 5)
a[1, 2] = 0
b = a.copy()
b[0, 3, 3] = numpy.nan
b[2, 1, 1] = numpy.inf
with warnings.catch_warnings():
    warnings.simplefilter('error')
    d, (sign, log) = L.det(np.asarray(a)), L.slogdet(np.asarray(a))
    n, i = L.det(np.asarray(b)), L.inv(np.asarray(b[::2]))
    d, n, sign, log = host(d, n, sign, log)
near(np.asarray(d), N.det(a))
assert d[1] == 0 and sign[1] == 0 and log[1] == -numpy.inf
assert numpy.isnan(n[0]) and not numpy.isnan(n[1])
assert numpy.isnan(numpy.asarray(i)[0]).any()
""")


def test_nothing_of_nothing(solver):
    solver.do("""
for shape in ((0, 0), (3, 0, 0), (0, 4, 4)):
    a = numpy.zeros(shape)
    for name in ('inv', 'det', 'slogdet', 'cholesky', 'eigh', 'eigvalsh', 'svd', 'qr', 'pinv'):
        mine, theirs = getattr(L, name)(np.asarray(a)), getattr(N, name)(a)
        for x, y in zip(mine, theirs) if isinstance(theirs, tuple) else ((mine, theirs),):
            assert numpy.asarray(x).shape == numpy.asarray(y).shape, (name, shape)
""")
    assert solver.calls() == 0


@pytest.mark.parametrize("device", ["cpu", "auto"])
def test_other_devices_are_numpys(solver, device):
    solver.do(f"""
a = make('float64', 40, 40)
with braze.device('{device}'):
    got = L.inv(np.asarray(a) * 1)
assert numpy.array_equal(numpy.asarray(got), N.inv(a))
""")
    assert solver.calls() == 0


def test_very_many_small_ones_are_numpys(solver):
    solver.do("a = make('float64', 5000, 2, 2)\n"
              "assert numpy.array_equal(numpy.asarray(L.inv(np.asarray(a) * 1)), N.inv(a))")
    assert solver.calls() == 0


@pytest.mark.parametrize("library", ["", "/nowhere/libcusolver.so.12", __file__])
def test_no_library(made, library):
    t = made(env={"BRAZE_LIBCUSOLVER": library})
    t.do("a = make('float64', 40, 40)\n"
         "assert numpy.array_equal(numpy.asarray(L.inv(np.asarray(a) * 1)), N.inv(a))")
    assert t.calls() == 0
    assert ("cuSOLVER does not load" in t.gpu.daemon.log_text()) == (library == __file__)
    # Whoever asks such a device all the same, as programs in C may, is answered by the processor.
    t.do("x = np.asarray(a) * 1\n"
         "f, rows, _, info = braze._core.factors('lu', x.T)\n"
         "f, rows = host(f, rows)\n"
         "p = numpy.eye(40)\n"
         "for k, r in enumerate(rows): p[[k, r - 1]] = p[[r - 1, k]]\n"
         "assert numpy.allclose((numpy.tril(f, -1) + numpy.eye(40)) @ numpy.triu(f), p @ a)")


@pytest.mark.parametrize("dtype", TYPES)
def test_the_processor_has_them_too(shared, dtype):
    """For C's clients, who may ask any device."""
    shared.calls()
    shared.do(f"""
from braze.numpy import _linalg
has, _linalg._core.has_factors = _linalg._core.has_factors, lambda: True
L, F = type('L', (), {{k: staticmethod(f) for k, f in _linalg.FUNCTIONS.items()}}), L
try:
    with braze.device('cpu'):
        for n in (1, 2, 5, 20):
            a, p = make('{dtype}', 3, n, n), positive('{dtype}', n, n)
            x = np.asarray(a)
            near(L.inv(x + np.eye(n, dtype=x.dtype) * 9), N.inv(a + numpy.eye(n, dtype=a.dtype) * 9))
            near(L.cholesky(np.asarray(p)), N.cholesky(p))
            check_eigh(a, x)
            check_svd(a, x)
            check_qr(a, x)
        a = make('{dtype}', 9, 4)
        for x in (a, a.T):
            check_svd(x, np.asarray(x))
            check_qr(x, np.asarray(x), mode='complete')
finally:
    L, _linalg._core.has_factors = F, has
""")
    assert shared.calls() == 0


def test_a_matrix_that_takes_the_processor_long_is_no_hang(made):
    """Whoever watches its worker sees it go on, and a client that goes has it stop."""
    t = made(env={"BRAZE_LIBCUSOLVER": ""})
    t.do("a = positive('float64', 340, 340)\nwith braze.device('cpu'): w = braze._core.factors('eigvalsh', np.asarray(a))[1]\n"
         "near(w, N.eigvalsh(a), 2000)")
    assert t.gpu.device("cpu")["worker_deaths"] == 0
    other = t.gpu.talker()
    other.do(SETUP + "a = make('float64', 3000, 3000)\nwith braze.device('cpu'):\n"
             "    w = braze._core.factors('eigvalsh', np.asarray(a))[1]\nbraze.flush()")
    time.sleep(1)  # it is under way, for minutes
    other.process.kill()
    t.do("with braze.device('cpu'): near(np.asarray(a) + 1, a + 1)")
    assert t.gpu.device("cpu")["worker_deaths"] == 0


def test_single_precision_in_c(solver):
    """Which NumPy does not compute in: of all four types."""
    solver.do("""
for dtype in ('float32', 'complex64', 'float64', 'complex128'):
    p, a = positive(dtype, 3, 12, 12), make(dtype, 3, 12, 7)
    c, _, _, info = braze._core.factors('cholesky', np.asarray(p).swapaxes(1, 2))
    near(np.tril(c), N.cholesky(p))
    v, w, _, _ = braze._core.factors('eigh', np.asarray(p).swapaxes(1, 2))
    near(w, N.eigvalsh(p))
    u, vh, s, _ = braze._core.factors('svd', np.asarray(a).swapaxes(1, 2))
    near(u * s[:, None] @ vh, a)
    r, q, _, _ = braze._core.factors('qr', np.asarray(a).swapaxes(1, 2))
    near(q @ np.triu(r[:, :7]), a)
    x, _, _, _ = braze._core.factors('solve', np.concatenate([np.asarray(p), np.asarray(a)], 2).swapaxes(1, 2))
    near(np.asarray(p) @ x, a, 1000)
    assert not numpy.asarray(info).any() and info.dtype == 'i4'
""")


@pytest.mark.parametrize(("call", "told"), [
    ("'no', x", "there are no factors named no"), ("'lu', x[0]", "lu of an array of 1 axes"),
    ("'lu', x[:3]", "lu of 3 columns of 5 rows"), ("'solve', x", "solve of 5 columns of 5 rows"),
    ("'svd', np.zeros((6, 5))", "svd of 6 columns of 5 rows"), ("'eigh', x[:, :0]", "eigh of 5 columns of 0 rows"),
    ("'lu', x.astype('i4')", "TypeError.*int32")])
def test_what_the_library_of_c_refuses(shared, call, told):
    with pytest.raises(Refused, match=told):
        shared.do(f"x = np.asarray(make('float64', 5, 5))\nbraze._core.factors({call})")
    shared.do("near(L.inv(x), N.inv(make('float64', 5, 5)))")


# ---- A library that fails ----

WELL = "near(L.inv(x), N.inv(make('float64', 40, 40)), 5000)"
BEGIN = "x = np.asarray(make('float64', 40, 40)); braze.wait(x + 1)"


@pytest.mark.parametrize(("call", "code", "text"), [
    ("cusolverDnCreate", 7, "internal error"), ("cusolverDnCreateParams", 1, "not initialised"),
    ("cusolverDnSetDeterministicMode", 3, "an argument is not taken"), ("cusolverDnSetStream", 3, "an argument"),
    ("cusolverDnXgetrf_bufferSize", 8, "a type of matrix"), ("cusolverDnXgetrf", 31, "the work area is too small"),
    ("cusolverDnXgetrs", 6, "the launch failed"), ("cusolverDnXgetrf", 77, "unknown")])
def test_a_call_that_fails(made, call, code, text):
    """That matrix's error; the next one is well."""
    t = made()
    t.do(BEGIN)
    t.gpu.inject(f"fail={call}:1:{code}")
    with pytest.raises(Refused, match=rf"DeviceError.*cuSOLVER status {code} \({text}.*solve of 40 x 40"):
        t.do("L.inv(x)")
    t.do(WELL)
    assert t.gpu.deaths() == 0


def test_memory_that_the_pools_keep(made):
    t = made()
    t.do(BEGIN)
    t.gpu.inject("fail=cusolverDnCreate:1:2")
    t.do(WELL)
    assert t.calls("cusolverDnXgetrf") == 1


def test_no_room_for_a_work_area(made):
    t = made(vram="72M", env=PATIENT)
    t.do("a = np.asarray(make('float64', 1800, 1800)); braze.wait(a * 1)")
    with pytest.raises(Refused, match="MemoryError.*bytes were asked for"):
        t.do("L.eigvalsh(a)")
    t.do("near(L.eigvalsh(a[:30, :30]), N.eigvalsh(make('float64', 1800, 1800)[:30, :30]))")
    assert t.gpu.deaths() == 0


@pytest.mark.parametrize("error", [700, 719])
def test_a_call_breaks_the_context(made, error):
    """Its worker is started again, and so are the factors."""
    t = made()
    t.do(BEGIN)
    t.do(WELL)
    t.gpu.inject(f"fault=cusolverDnXgetrf:1:{error}")
    t.do(WELL)
    assert t.gpu.deaths() == 1


def test_a_call_hangs(made):
    t = made(env=STRICT)
    t.do(BEGIN)
    t.do(WELL)
    t.gpu.inject("hang=cusolverDnXgetrf:1")
    t.do(WELL)
    assert t.gpu.deaths() == 1


def test_two_clients(shared):
    other = shared.another()
    shared.talker.begin("for k in range(9): check_svd(make('float64', 20 + k, 9), np.asarray(make('float64', 20 + k, 9)))")
    other.do("for k in range(9): near(L.inv(np.asarray(make('complex128', 3, 9 + k, 9 + k))), N.inv(make('complex128', 3, 9 + k, 9 + k)), 5000)")
    shared.talker.end()
    assert other.calls() >= 54


def test_another_program_goes_on(made):
    """Pending factors are the new daemon's; a client that has asked knows."""
    t = made()
    t.do("a = make('float64', 6, 6); x = np.asarray(a); d = L.det(x * 2); r = L.qr(x, 'r'); braze.flush()")
    wait_until(lambda: t.gpu.daemon.ctl("drain").returncode == 0, what="another program")
    t.gpu.usable()
    t.do("near(d * 1, N.det(a * 2)); near(r, N.qr(a, 'r'), 2000); near(L.inv(x * 3), N.inv(a * 3), 2000)")
