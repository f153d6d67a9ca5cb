# SPDX-License-Identifier: Apache-2.0
"""tests/campaign_loops.py - random programs of loops, each by every way to run one: a part of tests/campaign.py.

A structure is a text; it is called many times, with arrays of other sizes, other data and other
places in memory.  The reference is the interpreter, with loops as they are written
(braze.unfused()); against it stand the interpreter with loops that are joined, code that is made
at once, the compiler's on one thread and on four, which share every loop that may be.  Compared
are memory, results and errors, to the bit (but for the sign of a NaN); where a claim is refuted, what is said of it.
With a daemon that has a GPU there is one way more, with all arrays on the device.

    tests/campaign_loops.py FIRST LAST WAY CALLS    what structures [FIRST, LAST) do one way, a line for each
"""

import contextlib
import hashlib
import random
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Of a structure.  It takes some 0.75 s of a quiet core, 0.4 of them gcc, whose time goes to the structure's own code: what all
# sources begin with is 0.03, so that several in one call of it would save next to nothing, and -O0 takes longer.
CALLS = 17
LIMIT = 60  # seconds of a structure by one way, before it counts as one that hangs
REFERENCE = "interpreted, as written"
WAYS = {
    REFERENCE: {"BRAZE_KERNEL_CODE": "0", "BRAZE_THREADS": "1"},
    "interpreted": {"BRAZE_KERNEL_CODE": "0", "BRAZE_THREADS": "1"},
    "at once": {"BRAZE_THREADS": "1"},
    "compiled": {"BRAZE_THREADS": "1"},
    "compiled, four threads": {"BRAZE_THREADS": "4", "BRAZE_SHARE_WORK": "0"},
}

ON_DEVICE = "on a GPU"
DEVICE_CALLS = 10
WAYS_ON_DEVICE = {REFERENCE: WAYS[REFERENCE], ON_DEVICE: {"BRAZE_DEVICE": "cuda:0", "BRAZE_THREADS": "1"}}

sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/python")]


# ---- The child: some structures by one way ----


class Scalars:
    """Statements of all kinds and types (kernel_random.py)."""

    def __init__(self, rng):
        import kernel_random

        self.program = kernel_random.Program(rng)
        self.text = self.program.text

    def case(self, rng):
        from kernel_random import SIZE

        size = SIZE + rng.choice((0, 0, 0, 1, 5, -1))
        made = [self.values(rng, size, dtype) for dtype in self.program.types.values()]
        return made, made

    def values(self, rng, size, dtype):
        import numpy as np

        return np.random.default_rng(rng.randrange(1 << 30)).integers(0, 9, size).astype(dtype)


class Nests:
    """Loops that nearly run at once, whose arrays meet (nest_random.py)."""

    claim = ""

    def __init__(self, rng):
        import nest_random

        self.nest = nest_random.Nest(rng)
        self.text = self.nest.text.replace("for ", self.claim + "for ")

    def case(self, rng):
        import nest_random

        self.nest.rng = rng
        usual = nest_random.SIDE
        nest_random.SIDE = rng.choice((usual, usual, usual, usual + 1, usual + 9, usual - 1))
        try:
            memory, arguments = self.nest.arrays()
        finally:
            nest_random.SIDE = usual
        return [memory], arguments


class Claimed(Nests):
    """The same, all said to be parallel, rightly or not."""

    claim = "parallel "


class Rows:
    """Loops in a row, which may be one (fusion_random.py)."""

    def __init__(self, rng):
        import fusion_random

        self.program = fusion_random.Program(rng, rng.random() < 0.6)
        self.text = self.program.text

    def case(self, rng):
        from test_kernel_fusion import arrays_of

        p = self.program
        if p.big:
            p.n = rng.randrange(2000, 9000) if p.rank == 1 else rng.randrange(60, 150)
        else:
            p.n = rng.randrange(1, 14)
        memory, views = arrays_of(p, rng)
        return [memory], [*views, p.n, rng.choice((3, 4, 5, 4, 9))]


class Strips:
    """A time loop of loops (test_kernel_strips.py)."""

    def __init__(self, rng):
        from test_kernel_strips import strips_text

        self.text = strips_text(rng)

    def case(self, rng):
        import numpy as np

        n, far = rng.choice((700, 2500, 6000, 9001)), rng.choice((0, 0, 0, 9, 10))
        made = np.random.default_rng(rng.randrange(1 << 30))
        memory, wide = made.random(4 * n + 16), made.random((n, 3))
        views = [memory[:n], memory[n + 8 - far:2 * n + 8 - far], memory[2 * n + 16:3 * n + 16]]
        return [memory, wide], [*views, wide, n, rng.randrange(1, 7)]


class Slices:
    """Statements of slices, whose arrays lie on each other in every way (slice_random.py)."""

    def __init__(self, rng):
        import slice_random

        self.program = slice_random.Program(rng)
        self.text = self.program.text

    def case(self, rng):
        p = self.program
        p.seed = rng.randrange(1 << 30)
        for name, shape in p.shapes.items():
            p.shapes[name] = tuple(n if rng.random() < 0.97 else rng.choice((1, 2, 3, 4)) for n in shape)
            strides, step, order = [0] * len(shape), rng.choice((1, 1, 2, 3)), list(range(len(shape)))
            for k in order[::rng.choice((-1, -1, 1))]:
                strides[k] = step * rng.choice((1, 1, -1))
                step *= p.shapes[name][k]
            p.layouts[name] = strides, rng.randrange(8)
        arrays, memory = p.arrays()
        return [memory], [*arrays.values(), 1]


class Leaning:
    """A time loop of passes that need their neighbours (lean_random.py)."""

    def __init__(self, rng):
        import lean_random

        self.program = lean_random.Program(rng)
        self.text = self.program.text

    def case(self, rng):
        return self.program.case(rng)


class Sparse:
    """Indices and bounds that are read from arrays (sparse_random.py)."""

    def __init__(self, rng):
        import sparse_random

        self.program = sparse_random.Sparse(rng)
        self.text = self.program.text

    def case(self, rng):
        return self.program.case(rng)


class Sums:
    """Scalars that loops add up, beside stores (sums_random.py)."""

    def __init__(self, rng):
        import sums_random

        self.program = sums_random.Sums(rng)
        self.text = self.program.text

    def case(self, rng):
        return self.program.case(rng)


class Turns:
    """Loops of turns that need no other and write several arrays (turn_random.py)."""

    def __init__(self, rng):
        import turn_random

        self.turns = turn_random.Turns(rng)
        self.text = self.turns.text

    def case(self, rng):
        self.turns.rng = rng
        _, arguments = self.turns.arrays()
        return arguments[:4], arguments


KINDS = (Rows, Nests, Scalars, Strips, Leaning, Nests, Slices, Claimed, Rows, Sparse, Sums, Turns)


def structure(number):
    return KINDS[number % len(KINDS)](random.Random(number))


def on_device(memory, arguments):
    """The same in arrays of braze, which share memory as these do."""
    import braze.numpy as np
    import numpy

    flat = [np.asarray(numpy.array(m).reshape(-1)) for m in memory]

    def place(a):
        if not isinstance(a, numpy.ndarray):
            return a
        for m, own in zip(memory, flat):
            at = a.ctypes.data - m.ctypes.data
            if m.dtype == a.dtype and m.flags.c_contiguous and 0 <= at <= m.nbytes and at % a.itemsize == 0:
                return np.lib.stride_tricks.as_strided(own[at // a.itemsize:], a.shape, a.strides)
        return np.asarray(numpy.array(a))

    return flat, [place(a) for a in arguments]


def outcome(kernel, made, number, call, way=REFERENCE):
    """Memory, results and error of a call, as a number."""
    import numpy as np

    memory, arguments = made.case(random.Random(f"{number}/{call}"))
    if way == ON_DEVICE:
        memory, arguments = on_device(memory, arguments)
    with np.errstate(all="ignore"):
        try:
            results = kernel(*arguments)
        except (IndexError, ValueError) as error:
            results = str(error)
    if isinstance(results, str) and "the loop is not" in results:
        memory = []  # of a claim that is wrong inside of a shared loop other threads may have done more
    digest = hashlib.sha256()
    parts = [results] if isinstance(results, str) or results is None else np.atleast_1d(results) \
        if not isinstance(results, tuple) else results
    for part in (*memory, *parts):
        part = part if isinstance(part, str) or part is None else np.array(part).reshape(-1)
        if not isinstance(part, np.ndarray):
            digest.update(repr(part).encode())
            continue
        if part.dtype.kind in "fc":
            part[np.isnan(part)] = np.nan
        digest.update(part.dtype.str.encode() + part.tobytes())
    return digest.hexdigest()[:12]


def child(first, last, way, calls=CALLS):
    """A line for each structure of [first, last)."""
    import braze

    for number in range(first, last):
        made = structure(number)
        try:
            kernel = braze.kernel_from_text(made.text)
        except ValueError as error:
            print(number, "refused", hashlib.sha256(str(error).encode()).hexdigest()[:12], ".", flush=True)
            continue
        if way.startswith("compiled"):
            kernel.compile()
            assert kernel.compiled, made.text
        with braze.unfused() if way == REFERENCE else contextlib.nullcontext():
            print(number, *(outcome(kernel, made, number, call, way) for call in range(calls)), ".", flush=True)


# ---- The parent ----


def lines_by(way, first, last, environment, ways=WAYS):
    """What the child says, and what was wrong with it."""
    calls = DEVICE_CALLS if ways is WAYS_ON_DEVICE else CALLS
    process = subprocess.Popen(
        [sys.executable, __file__, str(first), str(last), way, str(calls)], text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(environment, **ways[way]))
    try:
        out, err = process.communicate(timeout=LIMIT * (last - first))
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
    wrong = f"{way}: status {process.returncode}\n{err[-3000:]}" if process.returncode else None
    return {int(line.split()[0]): line for line in out.splitlines() if line.endswith(".")}, wrong


def chunk(first, last, environment, ways=WAYS):
    """Structures [first, last) by all ways: calls that agree by way, and what does not."""
    passed, failures = dict.fromkeys(list(ways)[1:], 0), []
    want, wrong = lines_by(REFERENCE, first, last, environment, ways)
    if wrong:
        failures.append(f"structures {first} to {last}, {wrong}")
    for way in passed:
        have, wrong = lines_by(way, first, last, environment, ways)
        if wrong:
            failures.append(f"structures {first} to {last}, {wrong}")
        for number in set(want) & set(have):
            if want[number] == have[number]:
                passed[way] += (len(want[number].split()) - 2) * ("refused" not in want[number])
                continue
            calls = [k - 1 for k, (a, b) in enumerate(zip(want[number].split(), have[number].split())) if a != b]
            failures.append(f"{way}, structure {number}, calls {calls}:\n{structure(number).text}")
    return passed, failures


if __name__ == "__main__":
    child(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
