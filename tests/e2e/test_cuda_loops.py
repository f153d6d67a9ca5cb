# SPDX-License-Identifier: Apache-2.0
"""Loops of functions on cuda:0: what the stand-in computes for them, against Python's own loops, which of them go
there, and what becomes of versions, views and failures."""

import os

import pytest
from gpu import Gpu
from harness import find_nvrtc, find_standin, wait_until

pytestmark = [
    pytest.mark.skipif(find_standin() is None, reason="no stand-in driver was built"),
    pytest.mark.skipif(find_nvrtc() is None, reason="there is no NVRTC"),
]

SETUP = """
import pathlib, sys
sys.path.insert(0, {folder!r})
from loops_on_gpu import *
rng = numpy.random.default_rng(7)
f8 = lambda *shape: rng.standard_normal(shape)
def sparse(n, m, most):
    # Offsets of n rows of up to `most` numbers, some of none, and columns below m.
    ptr = numpy.concatenate([[0], numpy.cumsum(rng.integers(0, most + 1, n) * (rng.random(n) < 0.7))])
    return ptr, rng.integers(0, m, ptr[-1])
ptr, col = sparse(300, 200, 9)
f4 = lambda *shape: f8(*shape).astype("f4")
whole = lambda *shape: rng.integers(-50, 50, shape)
"""


@pytest.fixture(scope="module")
def talker(gpu):
    return gpu.talker().prepared(SETUP)


GO = {
    "axpy": "axpy, 2.5, f8(1000), f8(1000)",
    "axpy of one": "axpy, 2.5, f8(1), f8(1)",
    "axpy of none": "axpy, 2.5, f8(0), f8(0)",
    "axpy of float32": "axpy, numpy.float32(0.1), f4(777), f4(777)",
    "axpy of integers": "axpy, 3, whole(500), whole(500)",
    "axpy of complex numbers": "axpy, 2 - 1j, f8(300) + 1j * f8(300), f8(300) + 0j",
    "every second": "axpy, 0.5, f8(800)[::2], f8(1200)[::3]",
    "heat": "heat, f8(40, 50), f8(40, 50), 7",
    "heat for long, in one run": "heat, f8(10, 12), f8(10, 12), 70",
    "heat in a view": "heat, f8(60, 90)[::2, ::3], f8(30, 30), 3",
    "heat of no turns": "heat, f8(5, 5), f8(5, 5), 0",
    "matmul": "matmul, f8(33, 20), f8(20, 45), f8(33, 45)",
    "matmul of float32": "matmul, f4(17, 65), f4(65, 9), f4(17, 9)",
    "matmul of integers": "matmul, whole(20, 30), whole(30, 20), whole(20, 20)",
    "matmul of transposes": "matmul, f8(20, 33).T, f8(45, 20).T, f8(45, 33).T",
    "mandelbrot": "mandelbrot, numpy.linspace(-2, 1, 60), numpy.linspace(-1, 1, 40), whole(40, 60), 50",
    "triangle": "triangle, f8(40, 12), f8(40, 40)",
    "transposed": "transposed, f8(35, 70), f8(70, 35)",
    "backwards": "backwards, f8(100), f8(200)",
    "bits": "bits, whole(900), whole(900), 0xff",
    "eliminate": "eliminate, f8(18, 18) + 20 * numpy.eye(18)",
    "volume": "volume, f8(12, 13, 14), f8(12, 13, 14)",
    "first above": "first_above, f8(50, 30), whole(50), 1.2",
    "a loop behind an element": "edge, f8(100), f8(100)",
    "two arrays that need each other one way": "bodies, f8(100), f8(100), 0.1",
    "gathered": "gathered, f8(100), numpy.arange(99, -1, -1), f8(100)",
    "gathered from the end": "gathered, f8(100), rng.integers(-100, 100, 70), f8(80)",
    "gathered by int32": "gathered, f4(100), rng.integers(-100, 100, 70).astype('i4'), f4(80)",
    "gathered from a view": "gathered, f8(100)[::-2], rng.integers(-50, 50, 90)[::3], f8(80)[5:]",
    "gathered into a view of the other half": "gathered, *(lambda a: (a[:50], rng.integers(0, 50, 50), a[50:]))(f8(100))",
    "gathered plane": "gathered_plane, f8(40, 50), rng.integers(0, 40, 33), rng.integers(-50, 0, 70), f8(33, 70)",
    "histograms": "histograms, rng.integers(0, 7, (60, 100)), whole(60, 7)",
    "spmv": "spmv, ptr, col, f8(len(col)), f8(200), f8(300)",
    "spmv of int32": "spmv, ptr.astype('i4'), col.astype('i4'), f4(len(col)), f4(200), f4(300)",
    "spmv of empty rows": "spmv, numpy.zeros(101, 'i8'), col, f8(len(col)), f8(200), f8(100)",
    "spmv of rows whose offsets fall": "spmv, ptr[::-1].copy(), col, f8(len(col)), f8(200), f8(300)",
    "page rank": "page_rank, *sparse(200, 200, 12), 1.0 + rng.integers(1, 9, 200), f8(200), f8(200), 0.85, 5",
    "rows backwards": "backwards_rows, rng.integers(-1, 90, 80), rng.integers(-1, 90, 80), f8(100), f8(80)",
    "rows that are cut": "rows_cut, rng.integers(-3, 40, 100), f8(100, 40), f8(100, 40)",
    "places": "places, numpy.sort(f8(500)), f8(300), whole(300)",
    "clamp": "clamp, 3 * f8(400), f8(400)",
    "exchange": "exchange, f8(100), f8(100)",
    "rotate": "rotate, f8(300)[::3], f8(100), 0.6, 0.8",
    "rotate float32": "rotate, f4(300), f4(300), numpy.float32(0.6), numpy.float32(0.8)",
    "prey": "prey, 1 + f8(20, 30), 1 + f8(20, 30), 0.01, 9",
    "exchange and add": "exchange_and_add, f8(100), f8(100)",
    "bounce": "bounce, 2 * f8(300), 2 * f8(300), f8(300), f8(300), 0.05, 2.0, 0.0, 30",
    "bounce float32": "bounce, 2 * f4(100), f4(100), f4(100), f4(100), numpy.float32(0.05), numpy.float32(2.0), numpy.float32(0.0), 5",
    "bounce in views": "bounce, f8(200)[::-2], f8(300)[::3], f8(100), f8(100, 2)[:, 1], 0.05, 1.0, 0.0, 9",
    "smooth in turn": "smooth_in_turn, f8(30, 20), f8(30, 20), f8(30, 20) > 0",
    "ring": "ring, f8(77), f8(77), f8(77)",
}


@pytest.mark.parametrize("call", GO.values(), ids=GO)
def test_loops_on_the_device(gpu, talker, call):
    before = gpu.device()["runs"], gpu.device("cpu")["runs"]
    assert talker.do(f"out = same({call})") == ["gpu"]
    assert gpu.device()["runs"] > before[0] or "f8(0)" in call or ", 0" in call
    assert gpu.device("cpu")["runs"] == before[1]


def test_functions_within_their_error(talker):
    assert talker.do("out = same(sin_cos, f8(500), f8(500), f8(500), near=1e-14)") == ["gpu"]


STAY = {
    "total": ("total, f8(100)", "passes from turn to turn"),
    "running": ("running, f8(100), f8(100)", "1 turn apart"),
    "scattered": ("scattered, f8(100), rng.integers(0, 100, 90), f8(100)", "the same bytes"),
    "gathered from itself": ("gathered_from_itself, rng.integers(0, 100, 90), f8(100)", "the same bytes"),
    "rows scaled": ("rows_scaled, ptr, f8(len(col)), f8(300)", "the same bytes"),
    "two elements of an array that needs another": ("two_elements, f8(100), f8(100, 2)", "need each other"),
}


@pytest.mark.parametrize("call,why", STAY.values(), ids=STAY)
def test_what_stays_on_the_processor(talker, call, why):
    (said,) = talker.do(f"out = same({call})")
    assert why in said, said


WRONG = {
    "behind the end": "gathered, f8(100), numpy.where(numpy.arange(90) == 77, 100, 5), f8(90)",
    "before the first": "gathered, f8(100), numpy.where(numpy.arange(90) == 3, -101, 5), f8(90)",
    "far away": "gathered, f8(100), numpy.where(numpy.arange(90) == 0, -2**63, 5), f8(90)",
    "of an empty array": "gathered, f8(0), numpy.zeros(90, 'i8'), f8(90)",
    "a column": "spmv, ptr, numpy.where(numpy.arange(len(col)) == len(col) - 1, 200, col), f8(len(col)), f8(200), f8(300)",
    "an offset": "spmv, ptr + 1, col, f8(len(col)), f8(200), f8(300)",
    "offsets that are too few": "spmv, ptr[:-1], col, f8(len(col)), f8(200), f8(300)",
    "a bin": "histograms, rng.integers(0, 8, (60, 100)), whole(60, 7)",
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG)
def test_a_wrong_index_that_is_read(gpu, talker, call):
    """An IndexError, at the call or where its result is asked for; nothing that was computed from a wrong element."""
    talker.do(f"""
f, *args = {call}
*others, out = [np.asarray(a) for a in args]
before = [numpy.array(a) for a in others]
for k in range(2):
    try:
        f(*others, out)
        numpy.asarray(out)
        raise AssertionError("nothing was said")
    except IndexError:
        pass
for a, b in zip(others, before):
    compare(a, b, 0)
out = None
same(axpy, 2.0, f8(300), f8(300))
""")


def test_a_view_of_what_is_written(talker):
    """A shift within one buffer carries from turn to turn one way and does not the other: neither goes, and both
    are right."""
    talker.do("""
a = np.asarray(numpy.arange(50.0)); b = numpy.arange(50.0)
axpy(1.0, a[:-1], a[1:]); axpy.py_func(1.0, b[:-1], b[1:]); compare(a, b, 0)
axpy(1.0, a[1:], a[:-1]); axpy.py_func(1.0, b[1:], b[:-1]); compare(a, b, 0)
axpy(1.0, a[:25], a[25:]); axpy.py_func(1.0, b[:25], b[25:]); compare(a, b, 0)
axpy(1.0, a[::2], a[::2]); axpy.py_func(1.0, b[::2], b[::2]); compare(a, b, 0)
""")


def test_versions_of_an_exchange(talker):
    """What is read as it was before a loop: of arrays that nothing has computed yet, that are views, that others hold."""
    talker.do("""
a, b = f8(500), f8(500)
x, y = np.asarray(a) + 1, np.asarray(b) * 2
seen, copied = x[3:], x.copy()
for k in range(5):
    exchange(x, y)
    rotate(x, y, 0.6, 0.8)
u, v = a + 1, b * 2
for k in range(5):
    exchange.py_func(u, v)
    rotate.py_func(u, v, 0.6, 0.8)
compare(x, u, 0); compare(y, v, 0); compare(seen, u[3:], 0); compare(copied, a + 1, 0)
exchange(x[:250], x[:249:-1]); exchange.py_func(u[:250], u[:249:-1]); compare(x, u, 0)
ring(x[:100], y[::5], x[100:200]); ring.py_func(u[:100], v[::5], u[100:200]); compare(x, u, 0); compare(y, v, 0)
exchange(x[:300], x[200:]); exchange.py_func(u[:300], u[200:]); compare(x, u, 0)
""")


def test_two_views_of_what_is_written(talker):
    """The last store of a turn stays, whichever argument it goes through."""
    talker.do("""
x = f8(50)
for first, second in ((1.0, 2.0), (2.0, 1.0)):
    a, b = np.asarray(x.copy()), x.copy()
    both(a, a, first, second); both.py_func(b, b, first, second); compare(a, b, 0)
    both(a[:30], a[10:40], first, second); both.py_func(b[:30], b[10:40], first, second); compare(a, b, 0)
""")


def test_versions(talker):
    """What was read before a loop wrote keeps its value; what is made lazily before and behind sees the right one."""
    talker.do("""
x, y = np.asarray(f8(1000)), np.asarray(f8(1000))
before, old = y * 2, numpy.array(y)
snap = y.copy()
seen = numpy.asarray(y)
for k in range(3):
    axpy(1.0, x, y)
after = y + 1
xs, ys = numpy.asarray(x), old.copy()
for k in range(3):
    axpy.py_func(1.0, xs, ys)
compare(before, old * 2, 0); compare(snap, old, 0); compare(seen, old, 0)
compare(after, ys + 1, 0); compare(y, ys, 0)
""")


def test_nothing_is_waited_for(talker):
    """Loops are recorded: no demand, no trip."""
    assert talker.do("""
x, y = np.asarray(f8(100000)), np.asarray(f8(100000))
braze.wait(x, y); axpy(1.0, x, y); braze.wait(y)
t = braze.counters()
for k in range(10):
    axpy(1.0, x, y)
n = braze.counters()
out = [n["demands"] - t["demands"], n["round_trips"] - t["round_trips"]]
""") == [0, 0]


def test_what_the_device_and_the_processor_do_in_turns(talker):
    talker.do("""
x, y = f8(500), f8(500)
a, b = np.asarray(x.copy()), np.asarray(y.copy())
for k in range(4):
    axpy(0.5, a, b); running(b, a); b *= 0.5
    axpy.py_func(0.5, x, y); running.py_func(y, x); y *= 0.5
compare(a, x, 0); compare(b, y, 0)
""")


def test_switched_off(gpu):
    talker = gpu.talker(BRAZE_KERNEL_GPU="0").prepared(SETUP)
    assert talker.do("out = same(axpy, 2.0, f8(100), f8(100))") == []


def test_arrays_of_numpy_stay(talker):
    talker.do("""
x, y = f8(100), f8(100)
a, b = x.copy(), y.copy()
axpy(2.0, a, np.asarray(b)); axpy(2.0, a, b); axpy.py_func(2.0, x, y); compare(b, y, 0)
""")


def test_read_only_arrays_are_refused(talker):
    talker.do("""
x = np.asarray(f8(100)); y = np.broadcast_to(np.asarray(f8(1)), (100,))
try:
    axpy(1.0, x, y)
    raise AssertionError("it was written")
except ValueError:
    pass
""")


def test_after_the_death_of_a_worker(gpu):
    """It takes the arrays with it; the loop goes on with new ones."""
    talker = gpu.talker().prepared(SETUP)
    talker.do("x, y = np.asarray(f8(70000)), np.asarray(f8(70000)); axpy(1.0, x, y); braze.wait(y)")
    deaths = gpu.deaths()
    os.kill(gpu.usable()["worker_pid"], 9)
    wait_until(lambda: gpu.deaths() > deaths, what="the worker's death")
    gpu.usable()
    assert talker.do("out = same(axpy, 2.0, f8(300), f8(300))") == ["gpu"]


def test_another_connection_is_told_again():
    """What a daemon was told of loops ends with it; the client connects to the next one by itself."""
    with Gpu() as gpu:
        gpu.usable()
        talker = gpu.talker().prepared(SETUP)
        assert talker.do("out = same(axpy, 2.0, f8(300), f8(300))") == ["gpu"]
        gpu.daemon.stop()
        gpu.daemon.start()
        gpu.usable()
        assert talker.do("out = same(axpy, 2.0, f8(300), f8(300))") == ["gpu"]
