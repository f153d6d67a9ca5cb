# SPDX-License-Identifier: Apache-2.0
"""Time loops by strips: the bits of loops that run as they are written."""

import contextlib
import hashlib
import os
import random

import numpy as np

import braze
from lean_random import Program
from test_kernel_fusion import explained
from thread_ways import lines_of

STRIPS = int(os.environ.get("BRAZE_STRIPS", 16))  # programs

def strips_text(rng):
    """A loop of loops whose turns mostly keep to themselves: what does not must keep its order."""
    loose = rng.random() < .5

    def place(name):
        return f"{name}[{rng.choice(('i',) * (20 if loose else 400) + ('i + 1', 'i - 1', 'n - 1 - i', 't', '(i + t) % n'))}]"

    def statement():
        x, y, z = (place(rng.choice("abc")) for _ in range(3))
        v = f"v{rng.randrange(10 ** 9)}"
        plain = (f"{x} = 0.5 * {y} + {z}", f"{x} += {y} * 0.25")
        return rng.choice((*plain, *plain, f"if {y} > {z} {{ {x} -= {y} }}",
                           f"let {v} = {y} * 0.5; {x} = {v} - {z}", f"{x} = {y} + float64(t)",
                           f"{x} = max({y}, {z})", *[f"m += int64({y} > 0.5)", f"s = s * 0.5 + {y}"][:2 * loose],
                           f"last = {y}; {x} = last * 0.25"))
    loops = []
    for _ in range(rng.randrange(1, 4)):
        body = "; ".join(statement() for _ in range(rng.randrange(1, 3)))
        if rng.random() < .2:
            body = f"for j in 0..3 {{ {body}; w[i, j] += {place('a')} }}"
        loops.append(f"        for i in {rng.choice(('1..n - 1',) * 7 + ('1..n - 2', '1..n - 1 - t'))} {{ {body} }}")
    return ("kernel strips(inout a: float64[:], inout b: float64[:], inout c: float64[:], inout w: float64[:,:],\n"
            "              n: int64, turns: int64) -> (m: int64, s: float64, last: float64) {\n"
            "    for t in 0..turns {\n" + "\n".join(loops) + "\n    }\n}")


def strips_run(kernel, seed, n, far):
    made = np.random.default_rng(seed)
    memory = made.random(4 * n + 16)
    views = [memory[:n], memory[n + 8 - far:2 * n + 8 - far], memory[2 * n + 16:3 * n + 16]]
    wide = made.random((n, 3))
    try:
        results = kernel(*views, wide, n, 6)
    except IndexError as error:
        results = str(error)
    return memory.tobytes() + wide.tobytes(), repr(results)


def test_random_strips():
    taken = 0
    for seed in range(STRIPS):
        rng = random.Random(seed)
        kernel = braze.kernel_from_text(strips_text(rng))
        n, far = rng.choice((700, 6000, 9001, 9001)), rng.choice((0, 0, 0, 9, 10))
        with braze.unfused():
            want = strips_run(kernel, seed, n, far)
        for compiled in (False, True)[:1 + (seed % 8 == 0)]:
            if compiled:
                kernel.compile()
            for _ in range(2):
                assert strips_run(kernel, seed, n, far) == want, (seed, compiled, strips_text(random.Random(seed)))
        views = [np.ones(n) for _ in range(3)]
        taken += "for one strip of" in str(braze.explain(kernel, *views, np.ones((n, 3)), n, 6))
    assert taken > STRIPS // 8, f"{taken} programs were run by strips"


SMOOTH = """
kernel smooth(inout a: float64[:], inout b: float64[:], n: int64, turns: int64) {
    for t in 0..turns {
        for i in 0..n { b[i] = a[i] * 0.5 }
        for i in 0..n { a[i] = b[i] + 1.0 }
    }
}
"""


def test_strips_are_told_and_refused():
    kernel = braze.kernel_from_text(SMOOTH)
    told = "line 3: all its turns for one strip of the loops inside after the other"
    many, few = np.ones(20_000), np.ones(100)
    assert explained(kernel, many, many.copy(), 20_000, 9)[0] == told
    assert told not in explained(kernel, few, few.copy(), 100, 9)
    memory = np.arange(20_010.0)
    for far in (0, 1):  # the same array twice, and one that is moved
        with braze.unfused():
            want = memory.copy()
            kernel(want[far:far + 20_000], want[:20_000], 20_000, 5)
        got = memory.copy()
        kernel(got[far:far + 20_000], got[:20_000], 20_000, 5)
        assert (got == want).all()
    for text in (SMOOTH.replace("a[i] * 0.5", "a[i] * a[i - 1]"), SMOOTH.replace("b[i] = a", "b[t] = a"),
                 SMOOTH.replace("0..n { a", "0..n - t { a"), SMOOTH.replace("b[i] + 1.0 }", "b[i] + 1.0 }\n        b[0] = 1.0")):
        kernel = braze.kernel_from_text(text.replace("0..n", "1..n"))
        assert told not in explained(kernel, many, many.copy(), 20_000, 9)


def test_numbers_behind_strips_are_what_they_are():
    """The strip's length is a number of the program's, and no 1."""
    a, b, w = np.zeros(20_000), np.ones(20_000), np.arange(5000.0)
    kernel = braze.kernel_from_text("""
kernel behind(inout a: float64[:], inout b: float64[:], inout w: float64[:], n: int64, turns: int64) -> (s: float64) {
    for t in 0..turns { for i in 0..n { a[i] += b[i] } }
    w[:] = 2.0 * w[:]
    s = sum(w)
}""")
    assert kernel(a, b, w, 20_000, 6) == 2 * np.arange(5000.0).sum()
    assert (w == 2 * np.arange(5000.0)).all() and (a == 6).all()


# ---- Strips that lean ----

LEANING = int(os.environ.get("BRAZE_LEANING", 15))  # programs
STENCIL = """
kernel stencil(inout a: float64[:], inout b: float64[:], n: int64, turns: int64) {
    for t in 0..turns {
        for i in 1..n - 1 { b[i] = 0.25 * a[i - 1] + 0.5 * a[i] + 0.25 * a[i + 1] }
        for i in 1..n - 1 { a[i] = b[i] * 0.99 }
    }
}
"""
LEANS = "line 3: some of its turns for one strip of the loops inside after the other, which lean"


def leaning_bits(compiled, apart):
    """Of each program what it leaves, and whether its strips lean."""
    for seed in range(LEANING):
        made = Program(random.Random(seed))
        kernel = braze.kernel_from_text(made.text)
        if compiled and seed % 4 == 0:
            kernel.compile()
        line = [str(seed), str(LEANS.split(": ")[1] in str(braze.explain(kernel, *made.case(random.Random(seed))[1])))]
        for call in range(2):
            memory, arguments = made.case(random.Random(f"{seed}/{call}"))
            with braze.unfused() if apart else contextlib.nullcontext():
                try:
                    kernel(*arguments)
                except IndexError as error:
                    line.append(hashlib.sha256(str(error).encode()).hexdigest()[:9])
            line.append(hashlib.sha256(memory[0].tobytes()).hexdigest()[:12])
        yield " ".join(line)


def test_random_strips_that_lean():
    want = lines_of("test_kernel_strips.leaning_bits(False, True)", 1, BRAZE_KERNEL_CODE="0")
    assert len(want) == LEANING
    assert sum(line.split()[1] == "True" for line in want) > LEANING // 5
    for compiled in (False, True):
        assert lines_of(f"test_kernel_strips.leaning_bits({compiled}, False)", 1) == want
    several = lines_of("test_kernel_strips.leaning_bits(True, False)", 3)
    assert [line.split()[2:] for line in several] == [line.split()[2:] for line in want]
    assert all(line.split()[1] == "False" for line in several)  # loops are the threads'


def leaning_told():
    """Whether strips lean, of texts and arguments near to those that do."""
    many = np.ones(80_000)

    def lean(text, a, b, n, turns=9):
        return LEANS in explained(braze.kernel_from_text(text), a, b, n, turns)

    wide = STENCIL.replace("a[i - 1]", "a[i - 17]").replace("1..n", "17..n")
    yield lean(STENCIL, many, many.copy(), 80_000)
    named = STENCIL.replace("1..n - 1 {", "low..high {").replace("n: int64,", "low: int64, high: int64,")
    yield LEANS in explained(braze.kernel_from_text(named), many, many.copy(), 1, 79_999, 9)
    yield lean(STENCIL, many[:9000], many[:9000].copy(), 9000)  # in the caches anyway
    yield lean(wide, many, many.copy(), 80_000)
    yield lean(wide.replace("17", "16"), many, many.copy(), 80_000)
    yield lean(STENCIL.replace("b[i] * 0.99", "b[n - 1 - i]"), many, many.copy(), 80_000)
    yield lean(STENCIL.replace("b[i] * 0.99", "a[i - 1] * 0.99"), many, many.copy(), 80_000)  # turn by turn
    yield lean(STENCIL.replace("b[i] * 0.99", "b[t]"), many, many.copy(), 80_000)
    yield lean(STENCIL.replace("1..n - 1 { a", "1..n // 2 { a"), many, many.copy(), 80_000)
    yield lean(STENCIL.replace("1..n - 1 { a", "1..n - t - 1 { a"), many, many.copy(), 80_000)
    yield lean(STENCIL.replace("0..turns {", "0..turns step 2 {"), many, many.copy(), 80_000)


def test_strips_that_lean_are_told_and_refused():
    assert lines_of("test_kernel_strips.leaning_told()", 1) == ["True", "True", "False", "False", "True", *["False"] * 6]


def thread_bits():
    """A line for what is left, and for each of some random programs."""
    kernel = braze.kernel_from_text(SMOOTH)
    kernel.compile()
    a, b = (np.random.default_rng(k).random(50_021) for k in (1, 2))
    kernel(a, b, 50_021, 30)
    yield hashlib.sha256(a.tobytes() + b.tobytes()).hexdigest()
    for seed in range(2):
        kernel = braze.kernel_from_text(strips_text(random.Random(seed)))
        kernel.compile()
        memory, results = strips_run(kernel, seed, 9001, 0)
        yield hashlib.sha256(memory).hexdigest() + results


def test_strips_by_threads():
    want = lines_of("test_kernel_strips.thread_bits()", 1)
    for threads in (2, 4):
        assert lines_of("test_kernel_strips.thread_bits()", threads) == want
