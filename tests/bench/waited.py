# SPDX-License-Identifier: Apache-2.0
"""make bench, part waited: single statements at every size, each result waited for.

Both modules run in this one process in turns; a cell is NumPy's time through braze's, of
medians.  Arguments are parts of statements: only those run.  SIZES=1,1000 chooses sizes,
QUICK=1 leaves out the largest and takes fewer rounds.
"""

import math
import os
import statistics
import sys
import time

import _daemon
import numpy

QUICK = bool(os.environ.get("QUICK"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "7" if QUICK else "15"))
SIZES = [int(n) for n in os.environ.get(
    "SIZES", "1,10,100,1000,10000" if QUICK else "1,10,100,1000,10000,100000,1000000").split(",")]
# Seconds of NumPy's between two looks at the clock, about: so long that each module's threads are
# awake, as in a program that does this in a loop.
BATCH = 4e-3
SECONDS = 1.5  # of a cell, about

# np is either module.  a, b: floats, m: the same as a matrix, i: places, j: small counts,
# k: a mask, s: sorted, c: to be written, w: as c, q: square, v: its rows' number,
# g: a generator.
STATEMENTS = """
np.sort(a); np.argsort(a); np.argsort(a, kind='stable'); np.sort(m, axis=0); np.partition(a, 0); np.argpartition(a, 0)
np.lexsort((a, b)); np.unique(j); np.unique(j, return_counts=True); np.searchsorted(s, a); np.digitize(a, s)
np.sort_complex(a); c.sort(); a.argsort(); s.searchsorted(a); np.median(a); np.percentile(a, 30); np.quantile(a, [0.25, 0.5])
np.cumsum(a); np.cumprod(a); a.cumsum(); np.cumsum(m, axis=1); np.add.accumulate(a); np.maximum.accumulate(a); np.add.reduce(a)
np.add.reduceat(a, [0]); np.multiply.outer(v, v); np.add.at(c, i, 1.0); np.diff(a); np.ediff1d(a); np.gradient(s) if len(s) > 1 else s
np.take(a, i); a.take(i); a[i]; a[k]; m[:, 0]; c[k] = 0.5; c[i] = b; c[i] = 0.5; c[i] += 1.0; c[k] += 1.0; np.put(c, i, b)
np.compress(k, a); np.extract(k, a); np.nonzero(k); k.nonzero(); np.flatnonzero(k); np.where(k); np.argwhere(k); np.count_nonzero(k)
np.take_along_axis(a, i, 0); np.choose(j % 2, (a, b)); np.select([k, a > 0.5], [a, b]); np.place(c, k, 0.5); np.putmask(c, k, b)
np.where(k, a, b); np.where(k, a, 0.0)
np.concatenate((a, b)); np.stack((a, b)); np.hstack((a, b)); np.vstack((a, b)); np.column_stack((a, b)); np.concatenate([m, m], axis=1)
np.append(a, b); np.insert(a, 0, 1.0); np.delete(a, 0); np.tile(a, 2); np.repeat(a, 2); np.roll(a, 1); np.flip(a); np.pad(a, 1)
np.atleast_2d(a); np.broadcast_to(a, (2, n)); np.split(a, 1); np.array_split(a, 2); np.meshgrid(v, v); np.rot90(m); np.tril(m); np.triu(m)
np.squeeze(a); np.ravel(m); np.moveaxis(m, 0, 1); np.expand_dims(a, 0)
np.random.rand(n); np.random.randn(n); np.random.normal(0.0, 1.0, n); np.random.uniform(0.0, 1.0, n); np.random.randint(0, 9, n)
np.random.random(n); np.random.permutation(n); np.random.choice(a, 5); g.random(n); g.normal(size=n); g.integers(0, 9, n)
g.standard_normal(n); g.permutation(a); g.shuffle(c); np.random.shuffle(c); np.random.rand(); g.random(); np.random.seed(0)
np.linalg.norm(a); np.linalg.norm(m, axis=1); np.linalg.inv(q); np.linalg.solve(q, v); np.linalg.det(q); np.linalg.eigh(q)
np.linalg.qr(q); np.linalg.svd(q); np.linalg.cholesky(q); np.linalg.lstsq(q, v, rcond=None)
np.histogram(a, 10); np.bincount(j); np.bincount(j, weights=a); np.einsum('i,i->', a, b); np.einsum('ij,j->i', q, v); np.tensordot(v, v, 1)
np.outer(v, v); np.trace(q); np.diag(v); np.diagonal(q); np.dot(a, b); np.inner(a, b); np.vdot(a, b); q @ v; np.kron(v, v); np.cross(t, t)
np.convolve(a, t); np.correlate(a, t); np.interp(a, s, b); np.polyfit(v, v, 1); np.polyval(t, a); np.fft.fft(a); np.fft.rfft(a); np.fft.ifft(a)
np.fft.fft2(m); np.fft.fftfreq(n)
np.std(a); a.std(); np.var(a); np.std(m, axis=0); m.var(axis=1); np.mean(m, axis=0); np.argmin(a); np.argmax(m, axis=0); a.argmax()
np.average(a, weights=b); np.ptp(a); np.nansum(a); np.nanmean(a); np.nanmax(a); np.cov(a, b); np.corrcoef(a, b); np.any(k); np.all(k)
a.sum(); np.sum(m, axis=0); np.sum(m, axis=1); a.max(); np.max(m, axis=1); np.prod(a); np.logical_and.reduce(k)
np.allclose(a, b); np.array_equal(a, b); np.isclose(a, b); np.isin(j, t); np.intersect1d(j, j); np.union1d(j, j); np.setdiff1d(j, j)
np.nan_to_num(a); np.clip(a, 0.2, 0.8); a.round(2); np.around(a, 1); np.unravel_index(0, (n, 2)); np.ravel_multi_index((0, 0), (n, 2))
np.apply_along_axis(len, 0, a); np.vectorize(float)(t); np.indices((n, 2)); np.linspace(0, 1, n); np.zeros(n); np.arange(n); np.full(n, 0.5)
a.tolist(); a.item(0); a.tobytes(); list(t); a.copy(); a.astype('f4'); j.astype(float); np.asarray(t); np.array(a); a.reshape(-1, 1); m.T; m.flatten()
a + b; np.exp(a); np.sqrt(a); a * 2.0; a ** 2; a ** 1.7; np.sin(a); a > 0.5; c += 1.0; a[1:]; a[::2] * 2; m + v0; m[0]; c[:] = b; a[0]; c[0] = 0.5; float(a[0]) * 2
np.divmod(a, b); np.modf(a); np.frexp(a); np.maximum(a, b); np.hypot(a, b); np.power(a, b); np.arctan2(a, b); np.mod(j, 3); j // 2; np.isnan(a).any()
with np.errstate(divide='ignore'): a / b
with np.errstate(all='ignore'): pass
"""

WRITTEN = ("c", "w")


def statements():
    # Semicolons part statements; none stands within one.
    return [s.strip() for line in STATEMENTS.strip().splitlines() for s in line.split(";")]


def arrays(n):
    """NumPy's, by name."""
    rng = numpy.random.default_rng(0)
    a, b = rng.random(n), rng.random(n) + 0.5
    side = max(1, math.isqrt(n))
    few = min(side, 200)
    q = rng.random((few, few))
    m = a[: side * side].reshape(side, side)
    return {
        "a": a, "b": b, "m": m, "i": rng.permutation(n), "j": rng.integers(0, 50, n), "k": a > 0.5, "s": numpy.sort(a),
        "c": a.copy(), "w": a.copy(), "q": q @ q.T + numpy.eye(few), "v": rng.random(few), "v0": m[0].copy(), "t": numpy.array([1.0, 2.0, 3.0]),
    }


def written(statement):
    """What the statement writes in place; None: nothing."""
    return next((x for x in WRITTEN if statement.startswith((f"{x}[", f"{x}.", f"{x} ")) or f"({x}" in statement), None)


def runner(np, statement, n, wait):
    """A function of a number of turns; of expressions each result is waited for."""
    given = {k: (x.copy() if np is numpy else np.array(x)) for k, x in arrays(n).items()}
    space = {"np": np, "n": n, "g": np.random.default_rng(0), **given, "_repeat": __import__("itertools").repeat}
    try:
        compile(statement, "", "eval")
        body = f"_r = {statement}"
    except SyntaxError:
        body = statement
    kept = written(statement) or ("_r" if body.startswith("_r = ") else None)
    space["_wait"] = waiter(result(body, kept, space), wait) if wait and kept else None
    if space["_wait"]:
        body += f"\n        _wait({kept})"
    names = ", ".join(f"{k}={k}" for k in given)
    exec(f"def run(_n, {names}):\n    for _ in _repeat(None, _n):\n        {body}\n", space)
    return space["run"]


def waiter(r, wait):
    """What waits for all arrays in such a result; None: there are none."""
    import braze

    array = braze.numpy.ndarray
    if type(r) not in (tuple, list):
        return wait if type(r) is array else None
    if all(type(x) is array for x in r):
        return (lambda r: wait(*r)) if r else None
    return waited if any(waiter(x, wait) for x in r) else None


def result(body, name, space):
    exec(body, space)
    return space[name]


def measure(mine, statement, n):
    """Median seconds of a turn, of NumPy and of braze; None where NumPy refuses."""
    runs = []
    try:
        for np, wait in ((numpy, None), (mine, sys.modules["braze"].wait)):
            run = runner(np, statement, n, wait)
            run(2)
            runs.append(run)
    except (ValueError, TypeError, IndexError, numpy.linalg.LinAlgError) as error:
        if not runs:
            return None
        raise RuntimeError(f"{statement} at {n}: {error}") from error
    start = time.perf_counter()
    runs[0](1)
    once = time.perf_counter() - start
    turns = max(1, min(2000, int(BATCH / once)))
    rounds = max(3, min(ROUNDS, int(SECONDS / (once * turns))))
    took = [], []
    for _ in range(rounds):
        for times, run in zip(took, runs, strict=True):
            start = time.perf_counter()
            run(turns)
            times.append((time.perf_counter() - start) / turns)
    return [statistics.median(t) for t in took]


def waited(r):
    """All arrays in a result."""
    import braze

    if type(r) in (tuple, list):
        for x in r:
            waited(x)
    elif type(r) is braze.numpy.ndarray:
        braze.wait(r)


def report(rows):
    print("\nwaited: NumPy's time / braze's by size, the worst statement first (medians, in turns)\n")
    print("".join(f"{n:>10}" for n in SIZES) + "  statement")
    for statement, cells in sorted(rows.items(), key=lambda r: min(c[0] / c[1] for c in r[1].values())):
        print("".join(f"{cells[n][0] / cells[n][1]:10.2f}" if n in cells else f"{'':10}" for n in SIZES) + f"  {statement}")
    for n in SIZES:
        ratios = [cells[n][0] / cells[n][1] for cells in rows.values() if n in cells]
        if ratios:
            print(f"n = {n}: geometric mean {statistics.geometric_mean(ratios):.2f}, "
                  f"{sum(r < 0.9 for r in ratios)} of {len(ratios)} below 0.9")


def main():
    daemon = _daemon.Daemon()
    os.environ["BRAZE_SOCKET"] = daemon.socket
    import braze.numpy

    rows, wanted = {}, sys.argv[1:]
    try:
        for statement in statements():
            if wanted and not any(part in statement for part in wanted):
                continue
            cells = {n: measure(braze.numpy, statement, n) for n in SIZES}
            cells = {n: cell for n, cell in cells.items() if cell}
            if cells:
                rows[statement] = cells
                print(statement, " ".join(f"{n}:{c[0] * 1e6:.2f}/{c[1] * 1e6:.2f}" for n, c in cells.items()),
                      file=sys.stderr, flush=True)
    finally:
        report(rows)
        daemon.close()


if __name__ == "__main__":
    main()
