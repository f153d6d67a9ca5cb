# SPDX-License-Identifier: Apache-2.0
"""make bench, part floor: simple operations beside NumPy, at every size and shape.

Both run in this one process in turns, each keeps its last result, and a row is a pair of
medians; the worst ratios come first.  Arguments are parts of rows' names: only those run.
QUICK=1 leaves the largest sizes out and takes fewer rounds.
"""

import os
import statistics
import sys
import time

import _daemon
import numpy

QUICK = bool(os.environ.get("QUICK"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5" if QUICK else "15"))
LEAST_ROUNDS = 3
SECONDS = 0.2 if QUICK else 1.0  # of NumPy's time in a row, about
BATCH = 1e-3  # of NumPy's time between two looks at the clock, about
SIZES = (1, 100, 10_000, 1_000_000) + (() if QUICK else (20_000_000,))
TYPES = ("float64", "float32", "int64")

daemon = _daemon.Daemon()
os.environ["BRAZE_SOCKET"] = daemon.socket
import braze  # noqa: E402
import braze.numpy  # noqa: E402

# What runs on one array a, with another b of its shape.
MAPS = {
    "copy": lambda np, a, b: a.copy(),
    "a+b": lambda np, a, b: a + b,
    "sqrt": lambda np, a, b: np.sqrt(a),
    "clip": lambda np, a, b: np.clip(a, 10, 50),
    "where": lambda np, a, b: np.where(a > 50, a, b),
    "diff": lambda np, a, b: np.diff(a),
    "a[::2]*2": lambda np, a, b: a[::2] * 2,
    "a[::-1].copy": lambda np, a, b: a[::-1].copy(),
    "astype float32": lambda np, a, b: a.astype("float32"),
    "astype int32": lambda np, a, b: a.astype("int32"),
    "roll": lambda np, a, b: np.roll(a, 7),
    "concatenate": lambda np, a, b: np.concatenate((a, b)),
    "sum": lambda np, a, b: a.sum(),
    "max": lambda np, a, b: a.max(),
    "argmax": lambda np, a, b: a.argmax(),
}
# On samples x features and the like.
REDUCTIONS = {
    "sum(0)": lambda np, a: a.sum(axis=0),
    "sum(1)": lambda np, a: a.sum(axis=1),
    "mean(0)": lambda np, a: a.mean(axis=0),
    "max(0)": lambda np, a: a.max(axis=0),
    "max(1)": lambda np, a: a.max(axis=1),
    "argmin(0)": lambda np, a: a.argmin(axis=0),
    "std(0)": lambda np, a: a.std(axis=0),
    "std(1)": lambda np, a: a.std(axis=1),
    "argmax(1)": lambda np, a: a.argmax(axis=1),
    "a+row": lambda np, a: a + a[0],
    "a+column": lambda np, a: a + a[:, :1],
    "T.copy": lambda np, a: a.T.copy(),
}
# Along the first axis, as people write it of samples x features; of the same elements in Fortran's
# order along the last one, and along the middle one of three.
COLUMNS = {
    "sum(0)": lambda np, a: a.sum(0),
    "mean(0)": lambda np, a: a.mean(0),
    "var(0)": lambda np, a: a.var(0),
    "std(0)": lambda np, a: a.std(0),
    "max(0)": lambda np, a: a.max(0),
    "min(0)": lambda np, a: a.min(0),
    "argmax(0)": lambda np, a: a.argmax(0),
    "((a - a[0])**2).sum(0)": lambda np, a: ((a - a[0]) ** 2).sum(0),
    "a.T.sum(1)": lambda np, a: a.T.sum(1),
}
MIDDLE = {
    "sum(1) of 3": lambda np, a: a.sum(1),
    "max(1) of 3": lambda np, a: a.max(1),
}
SAMPLES = ((8, 8), (64, 64), (1000, 4), (3, 1000), (100, 100), (316, 316), (500, 1000), (100_000, 4), (3, 100_000), (50_000, 20), (1000, 1000))
LARGE = ((1_000_000, 20), (4000, 5000), (10, 2_000_000))
STACKS = ((10, 10, 10), (10, 100, 100), (1000, 10, 100), (100, 100, 100), (3, 1000, 300))
# Elements at places p along an axis of a matrix, and along both.
PLACES = {
    "a[p]": (0, lambda np, a, p: a[p]),
    "a.T[:, p]": (0, lambda np, a, p: a.T[:, p]),
    "take(p, 0)": (0, lambda np, a, p: np.take(a, p, axis=0)),
    "a[:, p]": (1, lambda np, a, p: a[:, p]),
    "take(p, 1)": (1, lambda np, a, p: np.take(a, p, axis=1)),
}
MESHES = {
    "a[r][:, c]": lambda np, a, r, c: a[r][:, c],
    "a[ix_(r, c)]": lambda np, a, r, c: a[np.ix_(r, c)],
    "a[:, [1, 3, 5]]": lambda np, a, r, c: a[:, [1, 3, 5]],
}
MATRICES = ((20, 20), (64, 64), (1000, 1000), (200, 5000), (5000, 200), (100_000, 10), (3, 100_000))
PLACES_TYPES = ("float64",) if QUICK else ("float64", "float32", "int8", "complex128")
PLACES_BYTES = 120 << 20  # of a result, at most
ORDERS = {
    "random": lambda p: p,
    "sorted": numpy.sort,
    "one": lambda p: numpy.full_like(p, p[0]),
}
# A matrix with a vector of its columns' number, x, and of its rows', y.
PRODUCTS = {
    "A @ x": lambda np, A, x, y: A @ x,
    "y @ A": lambda np, A, x, y: y @ A,
    "A.T @ y": lambda np, A, x, y: A.T @ y,
    "x @ A.T": lambda np, A, x, y: x @ A.T,
    "A[::2] @ x": lambda np, A, x, y: A[::2] @ x,
    "A[:, ::2] @ x[::2]": lambda np, A, x, y: A[:, ::2] @ x[::2],
    "y @ A[:, ::2]": lambda np, A, x, y: y @ A[:, ::2],
}

# Small, skinny and stacked products of matrices: the shapes of both.
SHORT = (
    ((2, 2), (2, 2)),
    ((3, 3), (3, 3)),
    ((10, 10), (10, 10)),
    ((32, 32), (32, 32)),
    ((1000, 3), (3, 3)),
    ((3, 1000), (1000, 3)),
    ((100_000, 3), (3, 3)),
    ((1000, 2), (2, 50)),
    ((10, 100_000), (100_000, 10)),
    ((1000, 1000), (1000, 10)),
    ((1000, 3, 3), (1000, 3, 3)),
    ((1000, 4, 4), (4, 1)),
)


def values(shape, dtype):
    return (numpy.random.default_rng(0).random(shape) * 100).astype(dtype)


def shapes(n):
    """n elements with a short axis, with a middling one, and square."""
    for short in (2, 3, 10, 100):
        if n >= 10 * short:
            yield n // short, short
            yield short, n // short
    yield int(n**0.5), int(n**0.5)


def columns_cases():
    """As cases()."""
    for dtype in TYPES:
        for shape in SAMPLES + (() if QUICK else LARGE):
            for name, f in COLUMNS.items():
                yield f"columns {name} {shape[0]}x{shape[1]} {dtype}", f, (values(shape, dtype),)
        for shape in STACKS:
            for name, f in MIDDLE.items():
                yield f"columns {name} {'x'.join(map(str, shape))} {dtype}", f, (values(shape, dtype),)


def some_places(n, count, order):
    return ORDERS[order](numpy.random.default_rng(count).integers(0, n, count))


def places_cases():
    """As cases()."""
    for dtype in PLACES_TYPES:
        for rows, columns in MATRICES:
            a = values((rows, columns), dtype)
            for order in ORDERS:
                name = f"{rows}x{columns} {dtype} {order}"
                for what, (axis, f) in PLACES.items():
                    n = a.shape[axis]
                    for count in sorted({3, 10, 100, n, 3 * n}):
                        if count * (a.nbytes // n) <= PLACES_BYTES:
                            yield f"places {what} {count} {name}", f, (a, some_places(n, count, order))
                both = [some_places(n, min(n, 1000), order) for n in a.shape]
                for what, f in MESHES.items():
                    yield f"places {what} {name}", f, (a, *both)


def cases():
    """(name, function, arrays)."""
    for dtype in TYPES:
        for n in SIZES:
            a, b = values(n, dtype), values(n, dtype)[::-1].copy()
            for name, f in MAPS.items():
                yield f"{name} {n} {dtype}", f, (a, b)
            for shape in shapes(n) if n >= 10_000 else ():
                matrix = values(shape, dtype)
                for name, f in REDUCTIONS.items():
                    yield f"{name} {shape[0]}x{shape[1]} {dtype}", f, (matrix,)
    yield from columns_cases()
    yield from places_cases()
    for dtype in ("float64", "float32"):
        for rows, columns in ((100, 100), (1000, 1000), (4000, 5000)):
            if QUICK and rows > 1000:
                continue
            arrays = values((rows, columns), dtype), values(columns, dtype), values(rows, dtype)
            for name, f in PRODUCTS.items():
                yield f"{name} {rows}x{columns} {dtype}", f, arrays
    for dtype in ("float64", "float32", "complex128", "int64"):
        for one, two in SHORT:
            name = f"{'x'.join(map(str, one))} @ {'x'.join(map(str, two))} {dtype}"
            yield name, lambda np, a, b: a @ b, (values(one, dtype), values(two, dtype))
    for dtype in ("float64", "float32"):
        yield f"A.T @ A 100000x10 {dtype}", lambda np, a: a.T @ a, (values((100_000, 10), dtype),)


def warm(function, arrays):
    """Until its kernels are compiled, if they are going to be."""
    for _ in range(4):
        braze.wait(function(braze.numpy, *arrays))
    daemon.settle()
    braze.wait(function(braze.numpy, *arrays))


def measure(function, arrays):
    """Median seconds of NumPy and of braze."""
    ours = [braze.numpy.asarray(a) for a in arrays]
    warm(function, ours)
    start = time.perf_counter()
    last = function(numpy, *arrays)
    once = time.perf_counter() - start
    rounds = max(LEAST_ROUNDS, min(ROUNDS, int(SECONDS / max(once, 1e-6))))
    turns = max(1, min(100, int(BATCH / max(once, 1e-6))))
    times = [], []
    kept = None
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(turns):
            last = function(numpy, *arrays)
        between = time.perf_counter()
        for _ in range(turns):
            kept = function(braze.numpy, *ours)
            braze.wait(kept)
        times[0].append((between - start) / turns)
        times[1].append((time.perf_counter() - between) / turns)
    del last, kept
    return [statistics.median(t) for t in times]


def report(rows):
    print("\nfloor: NumPy's time / braze's, the worst first (medians, in turns)\n")
    print(f"{'ratio':>7}  {'NumPy us':>12} {'braze us':>12}  operation")
    for ratio, name, theirs, ours in sorted(rows):
        print(f"{ratio:7.2f}  {theirs * 1e6:12.1f} {ours * 1e6:12.1f}  {name}")
    if rows:
        print(f"{statistics.geometric_mean(row[0] for row in rows):7.2f}  geometric mean of {len(rows)}; "
              f"{sum(row[0] < 1 for row in rows)} slower than NumPy")


def main():
    rows, wanted = [], sys.argv[1:]
    try:
        for name, function, arrays in cases():
            if not wanted or any(part in name for part in wanted):
                theirs, ours = measure(function, arrays)
                rows.append((theirs / ours, name, theirs, ours))
    finally:
        report(rows)
        daemon.close()


if __name__ == "__main__":
    main()
