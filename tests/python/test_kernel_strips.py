# SPDX-License-Identifier: Apache-2.0
"""Time loops by strips: the bits of loops that run as they are written."""

import hashlib
import os
import random

import numpy as np

import braze
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
