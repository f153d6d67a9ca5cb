# SPDX-License-Identifier: Apache-2.0
"""make bench: braze beside NumPy, hand-written C and the machine's own bounds.

Every table compares what ran alternately in this one process and prints medians;
ratios hold on a busy machine, single times do not.
"""

import ctypes
import os
import statistics
import subprocess
import sys
import time

import _daemon
import numpy

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "15"))
CORES = sorted(os.sched_getaffinity(0))
daemon = _daemon.Daemon()
os.environ["BRAZE_SOCKET"] = daemon.socket
import braze  # noqa: E402
import braze.numpy  # noqa: E402

# Peers' threads sleep between calls: spinning ones would slow what runs next.
os.environ["OMP_WAIT_POLICY"] = "passive"
peers = ctypes.CDLL(str(_daemon.BUILD / "tests/bench/libpeers.so"))
for name in ("spin triad read pythagoras chain stencil distance columns").split():
    getattr(peers, "peer_" + name).restype = ctypes.c_double


def pointer(a):
    return ctypes.c_void_p(a.ctypes.data)


def peer(name, *arguments):
    """Call a peer: arrays as pointers, numbers as int64."""
    cast = [pointer(a) if isinstance(a, numpy.ndarray) else ctypes.c_int64(a) for a in arguments]
    return getattr(peers, "peer_" + name)(*cast)


def timed(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def alternate(functions, rounds=ROUNDS):
    """Median seconds of each function, called in turns; a function may return its
    own seconds."""
    times = [[] for _ in functions]
    for f in functions:
        f()
    for _ in range(rounds):
        for k, f in enumerate(functions):
            start = time.perf_counter()
            own = f()
            spent = time.perf_counter() - start
            times[k].append(own if type(own) is float else spent)
    return [statistics.median(t) for t in times]


def heading(text):
    print(f"\n== {text}")


# ---- The machine ----


def machine():
    heading("the machine")
    n = 1 << 22
    big = 1 << 25
    a, b, c = (numpy.ones(big) for _ in range(3))
    rows = []
    for threads in (1, len(CORES)):
        peers.peer_threads(threads)
        rows.append(alternate([lambda: peer("spin", n), lambda: peer("triad", a, b, c, big),
                               lambda: peer("read", b, c, big)], 7))
    one, all_ = rows
    print(f"{len(CORES)} cores over one: arithmetic {one[0] / all_[0]:.2f}x, "
          f"triad {one[1] / all_[1]:.2f}x, reading {one[2] / all_[2]:.2f}x")
    print(f"triad {24 * big / all_[1] / 1e9:.1f} GB/s, reading {16 * big / all_[2] / 1e9:.1f} GB/s")


# ---- Recording ----


def bursts(p, q, number, settle):
    """Median seconds of one p + q, over bursts with the daemon idle at the start."""
    times = []
    turns = range(number)
    for _ in range(200):
        settle()
        start = time.perf_counter()
        for _ in turns:
            p + q
        times.append((time.perf_counter() - start) / number)
    return statistics.median(times)


def recording():
    heading("recording with n = 1, ns per operation")
    a, b = braze.numpy.ones(1), braze.numpy.ones(1)
    x, y = numpy.ones(1), numpy.ones(1)
    number = 500

    def settle():
        braze.flush()
        braze.wait(a + b)

    for name, p, q, u, v in (("a + b", a, b, x, y), ("a + 2.0", a, 2.0, x, 2.0)):
        mine, theirs, long_run, loop = [], [], [], []
        for _ in range(5):
            mine.append(bursts(p, q, number, settle))
            theirs.append(bursts(u, v, number, settle))
            long_run.append(bursts(p, q, 40 * number, settle))
            loop.append(bursts(1, 2, number, settle))
        mine, theirs, long_run, loop = (
            statistics.median(t) * 1e9 for t in (mine, theirs, long_run, loop))
        print(f"Python, {name}: braze {mine - loop:.1f} in bursts of {number}, "
              f"{long_run - loop:.1f} in bursts of {40 * number} (the daemon's pace); "
              f"NumPy {theirs - loop:.1f} ({(theirs - loop) / (mine - loop):.1f}x)")
    out = subprocess.run([str(_daemon.BUILD / "tests/bench/record_ns"), "301"], check=True,
                         capture_output=True, text=True).stdout.split()
    print(f"C, a + b: thread-safe call {out[0]} in bursts of 500, {out[1]} of 20000; "
          f"owned by the thread {out[2]} and {out[3]}")


# ---- Latency ----


def ten_ops(np, a, b):
    t = a + b
    t = t * a
    t = t - b
    t = t * 0.5
    t = t + a
    t = t * t
    t = t - a
    t = t * b
    t = t + 1.0
    return t * a


def round_trips(n, here, there):
    times = (ctypes.c_double * n)()
    if peers.peer_socket(times, n, here, there):
        raise RuntimeError("no socket pair")
    return statistics.median(times)


LATENCY = """
import os, statistics, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
import braze, braze.numpy as np
a, b = np.ones(1000), np.ones(1000)
braze.wait(a, b)
def ten(a, b):
    t = a + b; t = t * a; t = t - b; t = t * 0.5; t = t + a
    t = t * t; t = t - a; t = t * b; t = t + 1.0
    return t * a
times = []
for i in range(3000):
    start = time.perf_counter()
    braze.wait(ten(a, b))
    times.append(time.perf_counter() - start)
print(statistics.median(times[1000:]))
"""


def latency():
    heading("a 10-op trace on 1000 elements, plan cached, first op to stored result")
    if len(CORES) < 2:
        print("needs two cores")
        return
    pinned = _daemon.Daemon("-o", "threads=1", cores={CORES[1]})
    env = dict(os.environ, BRAZE_SOCKET=pinned.socket)
    mine, bare = [], []
    for _ in range(3):
        bare.append(round_trips(3000, CORES[0], CORES[1]))
        mine.append(float(subprocess.run([sys.executable, "-c", LATENCY, str(CORES[0])], env=env,
                                         check=True, capture_output=True, text=True).stdout))
    pinned.close()
    a, b = numpy.ones(1000), numpy.ones(1000)
    theirs = alternate([lambda: ten_ops(numpy, a, b)], 301)[0]
    mine, bare = statistics.median(mine), statistics.median(bare)
    print(f"client on core {CORES[0]}, daemon and worker on core {CORES[1]}: {mine * 1e6:.1f} us; "
          f"bare socket round trip {bare * 1e6:.1f} us ({mine / bare:.2f}x); "
          f"NumPy {theirs * 1e6:.1f} us")


def unseen(np, a, b, k):
    t = a * (1.5 + k) + b
    for i in range(9):
        t = t * b - a if (k >> i) & 1 else t + a * b
    return t


def first_result():
    heading("a never-seen 20-op expression on 100 000 elements, first result")
    a = braze.numpy.asarray(numpy.linspace(0, 1, 100000))
    b = braze.numpy.asarray(numpy.linspace(1, 2, 100000))
    braze.wait(a + b)
    x, y = numpy.asarray(a), numpy.asarray(b)
    times, theirs = [], []
    for k in range(1, 40):
        start = time.perf_counter()
        r = unseen(braze.numpy, a, b, k)
        braze.wait(r)
        times.append(time.perf_counter() - start)
        theirs.append(timed(lambda: unseen(numpy, x, y, k)))
    status = daemon.ask("/status")
    print(f"median {statistics.median(times) * 1e3:.2f} ms, worst {max(times) * 1e3:.2f} ms; "
          f"NumPy {statistics.median(theirs) * 1e3:.2f} ms; planning "
          f"{status['planning']['last_seconds'] * 1e3:.3f} ms, longest "
          f"{status['planning']['longest_seconds'] * 1e3:.3f} ms")


# ---- Throughput ----


def pythagoras(np, x):
    return np.sin(x) ** 2 + np.cos(x) ** 2


def chain(np, x, y):
    t = x * 2 + y
    t = t * t - x
    t = (t + 1) * y
    t = t / (x * x + 1)
    return np.sqrt(np.abs(t)) - y


def distance(np, x, y):
    return ((x - y) ** 2).sum()


def columns(np, x):
    return x.sum(axis=0)


def shared(a):
    """A braze array, and NumPy's view of the same memory: one state of the cache."""
    mine = braze.numpy.asarray(a)
    return mine, numpy.asarray(mine)


def row(name, n, traffic, program, inputs, hand, bound):
    """inputs: as shared() makes them; traffic: bytes that must move; bound: the peer
    that only moves bytes."""
    inputs, arrays = zip(*inputs, strict=True)
    keep = [None]

    def run():
        keep[0] = program(braze.numpy, *inputs)
        braze.wait(keep[0])

    first = timed(run)
    for _ in range(6):
        run()
        daemon.settle()
    rounds = max(5, ROUNDS if n < 1e7 else ROUNDS // 3)
    mine, theirs, by_hand, floor = alternate(
        [run, lambda: program(numpy, *arrays), hand, bound[0]], rounds)
    share = (traffic / mine) / (bound[1] / floor)
    print(f"{name:22}{n:>11,}{theirs * 1e3:10.2f}{first * 1e3:10.2f}{mine * 1e3:9.2f}"
          f"{theirs / mine:8.1f}x{by_hand / mine:10.2f}{share:10.0%}")
    keep[0] = None


def stencil(a, b):
    b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])


def stencil_row(side):
    traffic = 16 * side * side
    grid = numpy.random.default_rng(0).uniform(size=(side, side))
    mine = [braze.numpy.asarray(grid).copy(), braze.numpy.asarray(grid).copy()]
    theirs = [grid.copy(), grid.copy()]
    by_hand = [grid.copy(), grid.copy()]
    n = side * side
    a, b, c = (numpy.ones(n) for _ in range(3))

    def step(pair, wait):
        stencil(pair[0], pair[1])
        if wait:
            braze.wait(pair[1])
        pair.reverse()

    first = timed(lambda: step(mine, True))
    for _ in range(8):
        step(mine, True)
        daemon.settle()

    def hand():
        t = peer("stencil", by_hand[1], by_hand[0], side, side)
        by_hand.reverse()
        return t

    m, t, h, floor = alternate(
        [lambda: step(mine, True), lambda: step(theirs, False), hand,
         lambda: peer("triad", a, b, c, n)], ROUNDS if n < 1e7 else max(5, ROUNDS // 3))
    share = (traffic / m) / (24 * n / floor)
    print(f"{'5-point stencil':22}{n:>11,}{t * 1e3:10.2f}{first * 1e3:10.2f}{m * 1e3:9.2f}"
          f"{t / m:8.1f}x{h / m:10.2f}{share:10.0%}")


def throughput():
    peers.peer_threads(len(CORES))
    heading("throughput, both cores, outputs recycled (milliseconds)")
    print(f"{'':22}{'elements':>11}{'NumPy':>10}{'first':>10}{'braze':>9}{'NumPy/':>9}"
          f"{'C/braze':>10}{'bandwidth':>10}")
    sizes = (10**6, 10**8) if os.environ.get("BENCH_SMALL", "") == "" else (10**6,)
    for n in sizes:
        both_x = shared(numpy.random.default_rng(1).uniform(-10, 10, n))
        both_y = shared(numpy.random.default_rng(2).uniform(1, 2, n))
        x, y = both_x[1], both_y[1]
        out, one = numpy.empty(n), numpy.zeros(1)
        triad = (lambda: peer("triad", out, x, y, n), 24 * n)
        read = (lambda: peer("read", x, y, n), 16 * n)
        row("sin(x)^2 + cos(x)^2", n, 16 * n, pythagoras, [both_x],
            lambda: peer("pythagoras", out, x, n), triad)
        row("12-op chain", n, 24 * n, chain, [both_x, both_y], lambda: peer("chain", out, x, y, n), triad)
        row("sum((x - y)^2)", n, 16 * n, distance, [both_x, both_y],
            lambda: peer("distance", one, x, y, n), read)
        side = int(n**0.5)
        both_z = tuple(a[: side * side].reshape(side, side) for a in both_x)
        z = both_z[1]
        line = numpy.zeros(side)
        row("sum over axis 0", n, 8 * n, columns, [both_z],
            lambda: peer("columns", line, z, side, side), read)
        del x, y, z, out, both_x, both_y, both_z
        stencil_row(side)


# ---- Sharing ----

SHARED = """
import braze, braze.numpy as np, sys, time
x = np.linspace(0, 1, 400000)
start = time.perf_counter()
for i in range(30):
    r = np.tanh(x) * 3 + np.exp(-x) / (1 + x * x)
    braze.wait(r)
    if i == 0:
        print(time.perf_counter() - start)
"""


# ---- What follows reductions ----


def softmax(np, x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def layer(np, x):
    below = x - x.mean(axis=-1, keepdims=True)
    return below / np.sqrt((below * below).mean(axis=-1, keepdims=True) + x.dtype.type(1e-5))


def variance(np, x):
    return np.var(x, axis=-1)


def centred(np, x):
    return x - x.mean(axis=-1, keepdims=True)


def own_time(before, after):
    """Seconds of a call, on average, that alternate() spent in the one kernel that ran meanwhile."""
    (now, then), = ((k, before[i]) for i, k in after.items() if k["runs"] > before[i]["runs"])
    return (now["busy_seconds"] - then["busy_seconds"]) / (ROUNDS + 1)


def phases():
    """Rows of an array of attention weights, in one kernel each."""
    heading("what follows reductions of rows, (64, 16, 128, 128); kernel: what its one kernel takes")
    peers.peer_threads(len(CORES))
    print(f"{'':24}{'braze ms':>10}{'over C':>8}{'kernel':>8}{'over C':>8}{'NumPy over braze':>18}")
    for dtype in "df":
        x = numpy.random.default_rng(1).standard_normal((64, 16, 128, 128)).astype(dtype)
        a, out = braze.numpy.asarray(x), numpy.empty_like(x)
        for program in (softmax, layer, variance, centred):
            hand = getattr(peers, f"peer_{program.__name__}_{dtype}")
            hand.restype = ctypes.c_double
            size = ctypes.c_int64(128)
            rows = ctypes.c_int64(x.size // 128)
            braze.wait(program(braze.numpy, a))
            daemon.settle()
            before = daemon.kernels()
            mine, c = alternate([lambda: braze.wait(program(braze.numpy, a)),
                                 lambda: hand(pointer(out), pointer(x), rows, size)])
            kernel = own_time(before, daemon.kernels())
            # Apart: after some 30 ms of NumPy's the way to the daemon takes 0.2 ms more.
            theirs, = alternate([lambda: program(numpy, x)], 5)
            print(f"{program.__name__ + ' ' + numpy.dtype(dtype).name:24}{mine * 1e3:10.1f}"
                  f"{mine / c:8.2f}{kernel * 1e3:8.1f}{kernel / c:8.2f}{theirs / mine:18.1f}")


def sharing():
    heading("two processes, one after the other, same program")
    times, compiles = [], []
    for _ in range(2):
        before = daemon.ask("/status")["kernels"]["compiles"]
        out = subprocess.run([sys.executable, "-c", SHARED], check=True, capture_output=True,
                             text=True).stdout
        daemon.settle()
        times.append(float(out))
        compiles.append(daemon.ask("/status")["kernels"]["compiles"] - before)
    print(f"first call {times[0] * 1e3:.2f} ms and {times[1] * 1e3:.2f} ms; "
          f"kernels compiled {compiles[0]} and {compiles[1]}")


def main():
    parts = sys.argv[1:] or ["machine", "recording", "latency", "first_result", "throughput",
                             "phases", "sharing"]
    try:
        for part in parts:
            globals()[part]()
    finally:
        braze.close()
        daemon.close()


if __name__ == "__main__":
    main()
