# SPDX-License-Identifier: Apache-2.0
"""make bench, part million: library steps at 10^6 elements, on all cores, each result waited for.

Both modules run in this one process in turns of some milliseconds; a row has the medians of
BENCH_ROUNDS (15) turns and NumPy's time through braze's, beside the least that is wanted.
Arguments are parts of rows' names: only those run.
"""

import os
import statistics
import sys
import time

import _daemon
import numpy

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "15"))
N = 1_000_000
TURN = 5e-3  # seconds of NumPy's in a row, about

daemon = _daemon.Daemon()
os.environ["BRAZE_SOCKET"] = daemon.socket
import braze  # noqa: E402
import braze.numpy  # noqa: E402
import braze.random  # noqa: E402

# What, the least ratio, a statement or a value, and what braze does in its place where that
# is another.  a, b, w: floats, i: places, all different, j: small counts, k: a mask, c: what
# statements write, g: a generator with seed 1, r: one of braze.random.
ROWS = (
    ("sort", 0.95, "np.sort(a)", None),
    ("argsort", 0.95, "np.argsort(a)", None),
    ("cumsum", 1.5, "np.cumsum(a)", None),
    ("mask read", 1.5, "a[k]", None),
    ("mask write", 1.5, "c[k] = 0.5; c", None),
    ("mask write of an array", 1.5, "c[k] = w; c", None),
    ("scatter", 0.95, "c[i] = b; c", None),
    ("bincount", 0.95, "np.bincount(j)", None),
    ("bincount with weights", 0.95, "np.bincount(j, weights=a)", None),
    ("add.at", 0.95, "np.add.at(c, i, 1.0); c", None),
    ("concatenate, 10^6 in all", 1.5, "np.concatenate((a[:500000], b[:500000]))", None),
    ("concatenate, 10^6 each", 1.5, "np.concatenate((a, b))", None),
    ("random, uniform", 1.5, "g.random(n)", None),
    ("random, normal", 0.95, "g.normal(size=n)", None),
    ("braze.random, uniform", 1.5, "g.random(n)", "r.random(n)"),
    ("braze.random, normal", 1.5, "g.normal(size=n)", "r.normal(size=n)"),
)


def space(np):
    """Arguments of a module's, the same of both."""
    make = numpy.random.default_rng(7)
    mask = make.random(N) < 0.5
    values = {"a": make.random(N), "b": make.random(N), "c": make.random(N),
              "i": make.permutation(N), "j": make.integers(0, 1000, N), "k": mask,
              "w": make.random(int(mask.sum()))}
    values = {name: np.asarray(v) for name, v in values.items()}
    return {"np": np, "n": N, "g": np.random.default_rng(1), "r": braze.random.Generator(1),
            **values}


def runner(statement, names, wait=""):
    """A function that does the statement so many times, each to its end."""
    before, _, value = statement.rpartition("; ")
    body = f"{before or 'pass'}; {wait}({value})"
    exec(f"def run(turns):\n    for _ in range(turns):\n        {body}\n", names)
    return names["run"]


def seconds(run, turns):
    start = time.perf_counter()
    run(turns)
    return (time.perf_counter() - start) / turns


def main():
    theirs, ours = space(numpy), space(braze.numpy)
    ours["wait"] = braze.wait
    print(f"million: {N} elements, medians of {ROUNDS} turns, ms")
    print(f"{'':28}{'NumPy':>9}{'braze':>9}{'ratio':>8}{'wanted':>8}")
    for what, least, statement, other in ROWS:
        if sys.argv[1:] and not any(part in what for part in sys.argv[1:]):
            continue
        runs = runner(statement, theirs), runner(other or statement, ours, "wait")
        turns = max(1, round(TURN / seconds(runs[0], 2)))
        for run in runs:  # memory, kernels and threads are there
            run(2 * turns)
        times = [], []
        for _ in range(ROUNDS):
            for took, run in zip(times, runs, strict=True):
                took.append(seconds(run, turns))
        numpys, brazes = (statistics.median(t) * 1e3 for t in times)
        print(f"{what:28}{numpys:9.3f}{brazes:9.3f}{numpys / brazes:8.2f}{least:8.2f}", flush=True)


if __name__ == "__main__":
    try:
        main()
    finally:
        daemon.close()
