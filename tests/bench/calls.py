# SPDX-License-Identifier: Apache-2.0
"""make bench, part calls: what a call costs Python before anything is computed.

Each row is one statement on arrays of a few elements, beside NumPy's, results not
waited for: nanoseconds as the least of several repeats.  `calls.py --count` runs under
callgrind instead and prints instructions, which do not depend on the machine's load;
`--profile` counts braze's alone, and then those under braze.profile().
"""

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import timeit

import _daemon
import numpy

REPEATS = int(os.environ.get("BENCH_ROUNDS", "15"))

# name: statement.  np is either module; a, b, c: 4 elements, d: 3, m: 2 by 3, i: integers,
# x, y: elements of a, t: one element, g: a generator; p: 9000 integers, all below 1000, q, v: as many.
CALLS = {
    "add operator": "a + b",
    "add a number": "a + 1.0",
    "in place": "c += b",
    "compare": "a < b",
    "negative": "-a",
    "power 2": "a ** 2",
    "np.add": "np.add(a, b)",
    "np.sqrt": "np.sqrt(a)",
    "np.exp": "np.exp(a)",
    "np.maximum": "np.maximum(a, 0.0)",
    "np.power": "np.power(a, 2)",
    "np.add out=": "np.add(a, b, out=c)",
    "np.sqrt out=": "np.sqrt(a, out=c)",
    "np.add positional out": "np.add(a, b, c)",
    "np.add dtype=": "np.add(a, b, dtype='f8')",
    "np.sqrt of a float": "np.sqrt(2.0)",
    "np.sum": "np.sum(a)",
    "np.sum axis": "np.sum(m, axis=0)",
    "np.max": "np.max(a)",
    "np.mean": "np.mean(a)",
    "np.any": "np.any(a)",
    "a.sum": "a.sum()",
    "a.sum axis": "m.sum(axis=1)",
    "a.sum keepdims": "m.sum(axis=1, keepdims=True)",
    "a.max": "a.max()",
    "a.mean": "a.mean()",
    "a.mean axis": "m.mean(axis=0)",
    "a.std": "a.std()",
    "a.argmax": "a.argmax()",
    "a.all": "a.all()",
    "a.shape": "a.shape",
    "a.dtype": "a.dtype",
    "a.T": "m.T",
    "len": "len(a)",
    "a.reshape": "m.reshape(3, 2)",
    "a.reshape tuple": "m.reshape((-1, 1))",
    "np.reshape": "np.reshape(m, (3, 2))",
    "a.ravel": "m.ravel()",
    "a.transpose": "m.transpose(1, 0)",
    "np.transpose": "np.transpose(m)",
    "a.astype": "a.astype(np.float32)",
    "a.astype float": "i.astype(float)",
    "a.copy": "a.copy()",
    "np.copy": "np.copy(a)",
    "a.fill": "c.fill(0.5)",
    "a.clip": "a.clip(0.0, 1.0)",
    "np.clip": "np.clip(a, 0.0, 1.0)",
    "a.round": "a.round()",
    "np.where": "np.where(k, a, b)",
    "np.dot": "np.dot(a, b)",
    "a.dot": "a.dot(b)",
    "matmul operator": "m @ m.T",
    "np.matmul": "np.matmul(a, b)",
    "np.outer": "np.outer(a, b)",
    "np.zeros": "np.zeros(4)",
    "np.zeros tuple": "np.zeros((2, 3))",
    "np.zeros dtype": "np.zeros(4, dtype=np.int64)",
    "np.ones": "np.ones(4)",
    "np.empty": "np.empty(4)",
    "np.full": "np.full(4, 0.5)",
    "np.arange": "np.arange(4)",
    "np.arange of floats": "np.arange(0.0, 1.0, 0.25)",
    "np.linspace": "np.linspace(0.0, 1.0, 4)",
    "np.eye": "np.eye(3)",
    "np.zeros_like": "np.zeros_like(a)",
    "np.ones_like": "np.ones_like(a)",
    "np.asarray": "np.asarray(a)",
    "np.array of a list": "np.array([1.0, 2.0, 3.0])",
    "np.concatenate": "np.concatenate((a, b))",
    "np.stack": "np.stack((a, b))",
    "np.linalg.norm": "np.linalg.norm(a)",
    "np.random.rand": "np.random.rand(3)",
    "read an element": "s[1]",
    "read two axes": "n[1, 2]",
    "write an element": "s[1] = 2.5",
    "rows at a list": "m[[1, 0]]",
    "change rows by lists": "w[[0, 1]] = w[[1, 0]]",
    "np.take": "np.take(a, i)",
    "a.take": "a.take(i)",
    "write at places": "c[i] = d",
    "write at many places": "v[p] = q",
    "add at many places": "np.add.at(v, p, q)",
    "count many": "np.bincount(p)",
    "add up many": "np.bincount(p, q)",
    "sort in place": "c.sort()",
    "shuffle": "g.shuffle(c)",
    "apply_along_axis": "np.apply_along_axis(len, 0, m)",
    "view": "a[1:3]",
    "row": "m[1]",
    "column": "m[:, 1]",
    "write a slice": "c[:2] = 0.5",
    "copy a slice": "c[:2] = a[1:3]",
    "slice in place": "w[1, :2] -= 1.0",
    "scalar add": "x + y",
    "scalar divide": "x / y",
    "scalar and number": "x * 2.0",
    "scalar power": "x ** 2",
    "scalar compare": "x < y",
    "scalar negative": "-x",
    "scalar truth": "bool(b0)",
    "np.sqrt of a scalar": "np.sqrt(x)",
    "np.tanh of a scalar": "np.tanh(x)",
    "np.tanh of a float": "np.tanh(0.25)",
    "np.arctan2 of scalars": "np.arctan2(x, y)",
    "float": "float(x)",
    "errstate": "with np.errstate(divide='ignore'): pass",
}

# What else a program does: values are read, data come in, NumPy draws.  For --profile.
# h: 4096 of NumPy's, l: as many; o: a generator of braze's own.
FORMS = {
    "comparisons": "(a > 1.0) & (b < 3.0) | ~k",
    "where of a comparison": "np.where(a > 2.0, a, 0.0)",
    "columns in place": "w[:, 1:] *= 0.5",
    "rows by slices": "w[:1] += w[1:]",
    "np.max axis": "np.max(m, axis=1)",
    "mean over two axes": "m.mean(axis=(0, 1))",
    "a normal draw": "np.random.normal(0.0, 1.0, 3)",
    "a generator's draw": "g.standard_normal(3)",
    "a draw of braze's own": "o.normal(size=3)",
    "np.sort": "np.sort(a)",
    "np.cumsum": "np.cumsum(a)",
    "a mask's rows": "a[a > 1.5]",
    "data come in": "np.asarray(h)",
    "a value is read": "float((a * 2.0)[1])",
    "a sum is read": "float((l * 2.0).sum())",
    "a list of it": "(a + b).tolist()",
}

SETUP = """
a = np.array([1.0, 2.0, 3.0, 4.0]); b = np.array([0.5, 1.5, 2.5, 3.5]); c = np.ones(4)
m = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]); i = np.array([1, 2, 3]); k = a > 2
s = np.array([1.0, 2.0, 3.0]); n = m.copy(); w = m.copy()
d = np.array([0.25, 0.75, 1.25]); g = np.random.default_rng(0)
p = np.arange(9000) * 7 % 1000; q = np.ones(9000); v = np.zeros(9000)
float(s[0]); float(s[1]); float(n[0, 0]); float(n[1, 1])
for _ in range(20): s[1] = 2.5
x = s[0]; y = s[1]; b0 = x < y; bool(b0)
"""
MORE = """
import braze, numpy
h = numpy.arange(4096.0); l = np.asarray(h); o = braze.random.Generator(1)
"""
PROFILE = "--profile" in sys.argv


def runner(np, statement):
    """A function of a number of turns."""
    setup = SETUP + MORE if PROFILE else SETUP
    lines = "".join(f"    {line}\n" for line in setup.strip().splitlines())
    space = {"np": np, "_repeat": __import__("itertools").repeat}
    names = ", ".join(f"{n}={n}" for n in ("a b c d g m i k s n w x y b0 p q v" + " h l o" * PROFILE).split())
    exec(f"def make():\n{lines}    def run(_n, {names}):\n        for _ in _repeat(None, _n):\n"
         f"            {statement}\n    return run\n", space)
    return space["make"]()


def served(work):
    """work(braze.numpy) with a daemon of its own."""
    # callgrind's address space has no room for a whole arena.
    daemon = _daemon.Daemon(*(["-o", "arena_bytes=1G"] if "--inside" in sys.argv else []))
    os.environ["BRAZE_SOCKET"] = daemon.socket
    try:
        import braze.numpy

        work(braze.numpy)
    finally:
        daemon.close()


def least(run, turns=400):
    """Nanoseconds of a turn."""
    return min(timeit.repeat(lambda: run(turns), number=1, repeat=REPEATS)) / turns * 1e9


def table(rows, unit, first="numpy", second="braze"):
    """rows: (name, the first's, the second's), the worst excess first."""
    rows = sorted(rows, key=lambda r: r[1] - r[2])
    print(f"{'call':24} {first + ' ' + unit:>13} {second + ' ' + unit:>13} {'ratio':>7} {'excess':>8}")
    for name, theirs, mine in rows:
        print(f"{name:24} {theirs:13.0f} {mine:13.0f} {mine / theirs:7.3f} {mine - theirs:8.0f}")
    dearer = sum(mine > theirs for _, theirs, mine in rows)
    if first == "numpy":
        print(f"{dearer} of {len(rows)} calls cost more than NumPy's")


def chosen():
    wanted = [w for w in sys.argv[1:] if not w.startswith("-")]
    rows = CALLS | FORMS if PROFILE else CALLS
    return {n: s for n, s in rows.items() if not wanted or any(w in n for w in wanted)}


def times(mine):
    rows = []
    for name, statement in chosen().items():
        import braze

        rows.append((name, least(runner(numpy, statement)), least(runner(mine, statement))))
        braze.flush()
    table(rows, "ns")


def mark():
    """callgrind dumps its counts before this function of C is called."""
    os.getppid()


TURNS = 500
ROUNDS = 2  # of a profile's: something else may happen in one


def marked(run):
    mark()
    run(TURNS)
    mark()


def counted(mine):
    """Inside callgrind: marks around each loop."""
    import braze

    for statement in ["pass", *chosen().values()]:
        for np in (numpy, mine):
            run = runner(np, statement)
            run(50)
            braze.flush()
            marked(run)


def profiled(mine):
    """Inside callgrind: each loop as it is and under a profile, in one process: what else a loop costs is the same."""
    import braze

    for statement in ["pass", *chosen().values()]:
        run = runner(mine, statement)
        run(50)
        with braze.profile():
            run(50)
        for _ in range(ROUNDS):
            braze.flush()
            marked(run)
            with braze.profile():
                marked(run)


def counts():
    """Instructions of a turn, by a run of this file under callgrind."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["valgrind", "--tool=callgrind", "--dump-before=getppid",
                        f"--callgrind-out-file={folder}/out", sys.executable, __file__,
                        "--inside", *sys.argv[1:]], check=True, stderr=subprocess.DEVNULL)
        dumps = sorted(pathlib.Path(folder).glob("out.*"), key=lambda p: int(p.suffix[1:]))
        totals = [_total(p) for p in dumps]
    loops = [totals[k] / TURNS for k in range(1, len(totals), 2)]
    names = ["pass", *chosen()]
    if PROFILE:
        loops = [min(loops[k + way:k + 2 * ROUNDS:2]) for k in range(0, len(loops), 2 * ROUNDS) for way in (0, 1)]
    pairs = [(loops[2 * k] - loops[0], loops[2 * k + 1] - loops[PROFILE < 1]) for k in range(1, len(names))]
    table([(name, *pair) for name, pair in zip(names[1:], pairs, strict=True)], "instr", *(("plain", "profile") if PROFILE else ()))


def _total(path):
    with open(path) as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(("summary:", "totals:")))


if __name__ == "__main__":
    if "--count" in sys.argv and "--inside" not in sys.argv:
        counts()
    else:
        served((profiled if PROFILE else counted) if "--inside" in sys.argv else times)
