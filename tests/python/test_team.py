# SPDX-License-Identifier: Apache-2.0
"""Loops of kernels by several threads: the bits of one thread, whatever they do."""

import hashlib
import os
import random
import subprocess
import sys

import numpy as np
import pytest

import braze
import braze.numpy as bnp
from nest_random import Nest
from thread_ways import lines_of

CASES = int(os.environ.get("BRAZE_NESTS", 30))


def outcome(kernel, nest, seed):
    nest.rng = random.Random(seed)
    memory, args = nest.arrays()
    try:
        result = repr(kernel(*args))
    except (IndexError, ValueError) as error:
        result = str(error)
    return hashlib.sha256(memory.tobytes() + result.encode()).hexdigest()[:12]


def nests(first, count, compiled):
    """One line for each of `count` random nests."""
    for seed in range(first, first + count):
        nest = Nest(random.Random(seed))
        kernel = braze.kernel_from_text(nest.text)
        if compiled:
            kernel.compile()
        yield " ".join([str(seed)] + [outcome(kernel, nest, seed * 100 + k) for k in range(3)])


def test_random_nests_on_any_number_of_threads():
    want = lines_of(f"test_team.nests(0, {CASES}, False)", 1, BRAZE_KERNEL_CODE="0")
    assert len(want) == CASES
    for threads in (0, 1, 2, 4):  # 0: by code that is made at once
        got = lines_of(f"test_team.nests(0, {CASES}, {threads > 0})", max(threads, 1), BRAZE_KERNEL_CODE="1")
        wrong = [w for w, g in zip(want, got) if w != g]
        assert len(got) == CASES and not wrong, f"{threads} threads: {wrong[:5]}"


def said_by(code, threads):
    return subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, stdin=subprocess.DEVNULL,
                          env=dict(os.environ, BRAZE_THREADS=threads, BRAZE_SHARE_WORK="0")).stdout


MEETS_LATER = """kernel f(inout m: float64[:,:], c: int64) {
    for i in 0..len(m) { parallel for j in 0..3 { m[i, i + j] = m[i, c - i + j] + 1.0 } } }"""


def test_a_claim_inside_is_looked_at_in_the_same_turns_by_any_number_of_threads():
    """With 12 the turns 5 and 7 would refute it, which are not looked at; with 9 turn 4, which is."""
    code = f"""import numpy as np, braze
kernel = braze.kernel_from_text({MEETS_LATER!r})
kernel.compile()
m = np.zeros((9, 20))
kernel(m, 12)
print(m.tobytes().hex())
try:
    kernel(m, 9)
except ValueError as error:
    print(error)
"""
    said = [said_by(code, threads) for threads in ("1", "3")]
    assert said[0] == said[1] and "the loop is not parallel" in said[0]


FAILS_TWICE = """kernel f(inout m: float64[:,:], c: int64) {
    for i in 0..len(m) {
        for l in 0..(3 - i) * 500000 { m[i, 85] = m[i, 85] * 0.5 + 1.0 }
        parallel for j in 0..c - 1 { m[i, j] = m[i, j + c - i] + 1.0 } } }"""


def test_the_claim_that_is_told_of_is_the_first_one_on_any_number_of_threads():
    """Turns 2 and 16 refute it; another thread comes to turn 16, before which there is less to do, first."""
    code = f"""import numpy as np, braze
kernel = braze.kernel_from_text({FAILS_TWICE!r})
kernel.compile()
for turn in range(3):
    try:
        kernel(np.zeros((32, 90)), 40)
    except ValueError as error:
        print(error)
"""
    said = [said_by(code, threads) for threads in ("1", "3", "8")]
    assert said[0].count("38 turns apart") == 3 and said[1] == said[0] and said[2] == said[0]


MEETS_UNSEEN = """kernel f(inout m: float64[:,:], c: int64) {
    for i in 0..len(m) { for k in 0..i + 1 {
        parallel for j in 0..3 { m[i, 20 + j] = m[i, 20 + j + c - i] + 1.0 } } } }"""


def test_a_claim_whose_turns_nobody_can_count_before_is_looked_at_in_the_same_ones_by_any_number_of_threads():
    """The claim is refuted between the 326th and the 465th time, of which none is looked at; a part of the loop that
    counted for itself would look at its first."""
    code = f"""import numpy as np, braze
kernel = braze.kernel_from_text({MEETS_UNSEEN!r})
kernel.compile()
m = np.zeros((40, 60))
kernel(m, 27)
print(m.tobytes().hex())
"""
    said = [said_by(code, threads) for threads in ("1", "3")]
    assert said[0] and said[1] == said[0]


NEGATIVE = """kernel f(n: int64, inout x: uint64[:], inout m: float64[:,:]) {
    for i in -1..-n - 1 step -1 { x[i] = x[i] * maximum(x[i], x[i]) }
    let half = len(m) // 2
    let below = half - len(m)
    for i in below..0 { for j in -half..0 { m[i, j] += 2.0 } } }"""


def test_parts_know_what_their_tests_are_about():
    """Values that only the bounds' own arithmetic names, of places that are counted from the end."""
    code = f"""import numpy as np, braze
kernel = braze.kernel_from_text({NEGATIVE!r})
kernel.compile()
x, m = np.arange(1, 201, dtype=np.uint64), np.zeros((60, 40))
kernel(50, x[75:125], m[20:40])
want = np.arange(1, 201, dtype=np.uint64)
want[75:125] **= 2
assert (x == want).all(), x
assert (m[30:40, 30:] == 2).all() and m.sum() == 200, m
"""
    for threads in ("1", "3"):
        env = dict(os.environ, BRAZE_THREADS=threads, BRAZE_SHARE_WORK="0")
        done = subprocess.run([sys.executable, "-c", code], env=env, text=True, capture_output=True)
        assert done.returncode == 0, (threads, done.stderr[-2000:])


IN_ORDER = """kernel f(x: float64[:,:], y: float32[:], inout z: float64[:], n: int64)
    -> (s: float64, d: float64, e: float32, count: int64) {
    s = 0.1; e = float32(3.0); d = -0.0
    for i in 0..n {
        let w = 0.0
        let v = float32(0.0)
        for j in 0..len(x, 1) { w = w + x[i, j] * 0.3; v += y[j] }
        for j in 0..len(x, 1) { if x[i, j] > w { w = w * 0.9 + 1.0 } }
        s += w * w
        if w > 20.0 { count += 1; d = d - w; if w > 21.0 { d = d - w * 1e9 } }
        e = y[i] * v + e
        z[i] = w
    } }"""


def test_sums_of_floats_have_the_bits_of_their_order():
    """Numbers of each turn, some of which are left out, added up behind the loop."""
    code = f"""import numpy as np, braze
kernel = braze.kernel_from_text({IN_ORDER!r})
kernel.compile()
rng = np.random.default_rng(1)
x, y, z = rng.random((5000, 130)) * 1e3 ** rng.random((5000, 1)), rng.random(5000, np.float32), np.zeros(5000)
for n in (0, 1, 2, 3, 17, 100, 5000):
    print(*(v.hex() if isinstance(v, float) else np.asarray(v).tobytes().hex() for v in kernel(x, y, z, n)), z.sum().hex())
print(braze.explain(kernel, x, y, z, 500))
"""
    said = [subprocess.run([sys.executable, "-c", code], text=True, capture_output=True,
                           env=dict(os.environ, BRAZE_THREADS=threads, BRAZE_SHARE_WORK="0")).stdout
            for threads in ("1", "2", "3")]
    assert "parallel, 500 turns: no turn needs another, sums are put together" in said[0]
    assert said[0] == said[1] == said[2]


TRIANGLE = """kernel f(inout a: float64[:,:], b: float64[:,:], k: int64) {
    for t in 0..len(a) - k { for i in t..len(a) - k { for j in 0..len(a, 1) {
        a[i + k, j] = a[i + k, j] * 0.5 + b[i, j] + b[t, j] } } } }"""


def test_what_was_found_of_a_loop_holds_for_arrays_that_lie_alike_only():
    """Answers are kept for the values of each turn: of arrays that are apart whatever their addresses, of
    others for these."""
    code = f"""import numpy as np, braze
kernel = braze.kernel_from_text({TRIANGLE!r})
kernel.compile()
def done(rows, first, second, k):
    m = np.random.default_rng(1).random((90, 7))
    kernel(m[first:first + rows], m[second:second + rows], k)
    return m.tobytes().hex()
for rows, first, second, k in ((30, 0, 40, 0), (30, 40, 0, 0), (30, 0, 0, 0), (30, 0, 0, 3), (30, 5, 0, 0), (30, 0, 5, 2),
                               (30, 0, 40, 0), (30, 0, 60, 0), (29, 0, 40, 0), (30, 0, 40, 3), (30, 0, 29, 0), (30, 0, 30, 0)):
    print(done(rows, first, second, k))
"""
    said = [subprocess.run([sys.executable, "-c", code], text=True, capture_output=True,
                           env=dict(os.environ, BRAZE_THREADS=threads, BRAZE_SHARE_WORK="0")).stdout
            for threads in ("1", "2", "3")]
    assert said[0] and said[0] == said[1] == said[2]


# ---- What texts say of loops ----

SHIFT = "kernel f(inout x: float64[:], k: int64) {{ {} for i in 0..16 {{ x[i + k] = x[i] + 1.0 }} }}"


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("word", ["parallel", "simd"])
def test_a_wrong_claim_is_an_error_that_names_both_accesses(word, compiled):
    kernel = braze.kernel_from_text(SHIFT.format(word))
    if compiled:
        kernel.compile()
    x = np.zeros(40)
    kernel(x, 0)
    kernel(x, 16)
    with pytest.raises(ValueError, match=rf"the loop is not {word}: 'x' in line 1 and 'x' in line 1 "
                                         "touch the same bytes, 3 turns apart"):
        kernel(x, 3)
    with pytest.raises(IndexError):
        kernel(x, 30)


def test_the_other_claims_change_nothing():
    x, y = np.zeros(40), np.zeros(40)
    braze.kernel_from_text(SHIFT.format("sequential"))(x, 1)
    braze.kernel_from_text(SHIFT.format(""))(y, 1)
    assert (x == y).all() and x[16] == 16


def test_what_may_not_happen_is_not_refuted():
    kernel = braze.kernel_from_text(
        "kernel f(inout x: float64[:], c: bool[:]) { parallel for i in 0..16 { if c[i] { x[i + 1] = x[i] + 1.0 } } }")
    x, c = np.zeros(17), np.zeros(16, bool)
    kernel(x, c)
    c[3] = c[4] = True
    kernel(x, c)
    assert x[4] == 1 and x[5] == 2 and x.sum() == 3
    assert "may touch the same bytes" in str(braze.explain(kernel, x, c))


@pytest.mark.parametrize("compiled", [False, True])
def test_a_loop_that_comes_again_is_looked_at_now_and_then(compiled):
    kernel = braze.kernel_from_text("""kernel f(inout x: float64[:], k: int64[:]) -> (turns: int64) {
        for t in 0..len(k) {
            turns = t
            let by = k[t]
            simd for i in 0..16 { x[i + by] = x[i] + 1.0 }
        } }""")
    if compiled:
        kernel.compile()
    told = []
    for wrong in range(20):
        k = np.zeros(20, int)
        k[wrong] = 3
        try:
            assert kernel(np.zeros(40), k) == 19
        except ValueError as error:
            assert "3 turns apart" in str(error)
            told.append(wrong)
    assert told == [0, 1, 2, 4, 8, 16]
    with pytest.raises(ValueError, match="the loop is not simd"):
        kernel(np.zeros(40), np.full(100, 3))


@pytest.mark.parametrize("word", ["parallel", "simd", ""])
@pytest.mark.parametrize("compiled", [False, True])
def test_what_no_call_decides_is_done_in_order(word, compiled):
    """Rows and columns come from arrays."""
    kernel = braze.kernel_from_text(f"""kernel f(rows: int64[:], columns: int64[:], x: float64[:], inout y: float64[:]) {{
        {word} for i in 0..len(y) {{
            {word} for p in rows[i]..rows[i + 1] {{ y[i] = y[i] * 0.5 + x[columns[p]] }}
        }} }}""")
    if compiled:
        kernel.compile()
    rng = np.random.default_rng(1)
    rows = np.concatenate([[0], np.cumsum(rng.integers(0, 9, 200))])
    columns, x = rng.integers(0, 50, rows[-1]), rng.random(50)
    y, want = np.zeros(200), np.zeros(200)
    for i in range(200):
        for p in range(rows[i], rows[i + 1]):
            want[i] = want[i] * 0.5 + x[columns[p]]
    kernel(rows, columns, x, y)
    assert (y == want).all()
    columns[7] = 50
    with pytest.raises(IndexError, match="index 50"):
        kernel(rows, columns, x, y)


@pytest.mark.parametrize("text,words", [
    ("parallel for i in 0..4 reduction(+: t) { s += i }", "no variable 't'"),
    ("for i in 0..4 reduction(-: s) { s += i }", "one of"),
    ("for i in 0..4 reduction(+ s) { s += i }", "':'"),
    ("for i in 0..4 reduction(+: x) { s += i }", "no variable 'x'"),
    ("parallel while s < 4 { s += 1 }", "'='"), ("simd s = 4", "'='"),
])
def test_claims_that_are_none(text, words):
    with pytest.raises(ValueError, match=words):
        braze.kernel_from_text(f"kernel f(x: float64[:]) -> (s: int64) {{ {text} }}")


def test_words_of_claims_are_names_elsewhere():
    text = ("kernel f() -> (s: int64) { let parallel = 1; let simd = 2; let reduction = 3\n"
            "parallel = parallel + 1; for i in 0..reduction { s += parallel + simd } }")
    assert braze.kernel_from_text(text)() == 12


def test_sums_of_claimed_loops():
    text = ("kernel f(x: float64[:], n: int64) -> (s: float64, m: int64, p: int64) { s = 0.5; m = 7; p = 1\n"
            "parallel for i in 0..n reduction(+: s, m) reduction_ { s += x[i]; m += i; p = max(p, i * 3 % 100) } }")
    kernel = braze.kernel_from_text(text.replace(" reduction_", ""))
    x = np.arange(50) / 3
    assert kernel(x, 50) == (0.5 + float(bnp.sum(x)), 7 + 49 * 25, 99)


@braze.jit
def racy_prange(x):
    """numba#8007: a turn reads what the one before has written."""
    for i in braze.prange(1, len(x)):
        x[i] = x[i - 1] + 1


@braze.jit
def sum_from(x, start):
    """numba#7344: a sum that does not begin at 0."""
    s = start
    for i in braze.prange(len(x)):
        s += x[i]
    return s


@braze.jit
def histogram(x, bins):
    """numba#9829: turns that add to the same places."""
    for i in braze.prange(len(x)):
        bins[x[i] % len(bins)] += 1


@braze.jit
def claimed(x):
    #pragma parallel for
    for i in range(1, len(x)):
        x[i] = x[i - 1] + 1


def test_loops_that_race_elsewhere():
    x = np.zeros(300000)
    racy_prange(x)
    assert x[-1] == len(x) - 1
    assert sum_from(np.arange(300000), 10) == 10 + 299999 * 150000
    bins = np.zeros(7, np.int64)
    histogram(np.arange(300000), bins)
    assert bins.sum() == 300000 and bins[0] == 42858
    with pytest.raises(ValueError, match="not parallel: 'x' in line .* 1 turn apart"):
        claimed(np.zeros(100))


def test_random_wrong_claims_are_refuted_or_safe():
    """Loops of random nests, all said to be parallel: what is not refuted has the right result."""
    refuted = 0
    for seed in range(200):
        nest = Nest(random.Random(seed))
        plain = braze.kernel_from_text(nest.text)
        said = braze.kernel_from_text(nest.text.replace("for ", "parallel for "))
        want = outcome(plain, nest, seed)
        nest.rng = random.Random(seed)
        memory, args = nest.arrays()
        try:
            result = repr(said(*args))
        except ValueError as error:
            assert "the loop is not parallel" in str(error)
            refuted += 1
            continue
        except IndexError as error:
            result = str(error)
        assert hashlib.sha256(memory.tobytes() + result.encode()).hexdigest()[:12] == want, nest.text
    assert refuted > 20


# ---- What is told of loops ----

def test_what_is_told():
    kernel = braze.kernel_from_text(
        "kernel f(inout a: float64[:,:]) -> (s: float64) {\n"
        "for i in 1..len(a) {\nfor j in 0..len(a, 1) {\na[i, j] = a[i - 1, j]\n}\n}\n"
        "for i in 0..len(a) {\ns += a[i, i]\n}\n}")
    a = np.ones((5, 5))
    text = str(braze.explain(kernel, a))
    assert text.splitlines() == [
        "line 2: sequential: 'a' in line 4 and 'a' in line 4 touch the same bytes, 1 turn apart (<=)",
        "  line 3: parallel, 5 turns: no turn needs another",
        "line 7: sequential: 's' in line 8 passes from turn to turn"]
    assert str(braze.explain(kernel)) == "it was not called"
    assert "sequential: 'x' in line" in str(braze.explain(racy_prange, np.zeros(9)))


# ---- Processes, threads, signals ----

LONG = ("kernel f(inout x: float64[:], n: int64) { for i in 0..len(x) { let s = x[i]\n"
        "for k in 0..n { s = s * 0.5 + 1.0 }\n x[i] = s } }")


def test_ctrl_c_ends_all_parts():
    code = f"""
import os, signal, threading, time, numpy as np, braze
signal.signal(signal.SIGINT, signal.default_int_handler)  # who runs the tests may ignore it
kernel = braze.kernel_from_text({LONG!r})
kernel.compile()
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
x = np.zeros(64)
try:
    kernel(x, 1 << 40)
except KeyboardInterrupt:
    print("stopped")
before = x.copy()
kernel(x, 1000)
print((x != before).all(), threading.active_count())
"""
    env = dict(os.environ, BRAZE_THREADS="3")
    done = subprocess.run([sys.executable, "-c", code], env=env, text=True, capture_output=True,
                          timeout=60)
    assert done.stdout.split() == ["stopped", "True", "1"], done.stdout + done.stderr[-2000:]


def test_forks_and_threads_have_parts_of_their_own():
    code = f"""
import os, threading, numpy as np, braze
kernel = braze.kernel_from_text({LONG!r})
kernel.compile()
def once():
    x = np.zeros(1000)
    kernel(x, 3000)
    return x.sum()
want = once()
wrong = []
def many():
    wrong.extend(v for v in (once() for _ in range(30)) if v != want)
threads = [threading.Thread(target=many) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
assert not wrong, (want, wrong)
child = os.fork()
if not child:
    os._exit(0 if once() == want else 1)
assert os.waitpid(child, 0)[1] == 0
assert once() == want
"""
    env = dict(os.environ, BRAZE_THREADS="3", BRAZE_SHARE_WORK="1000")
    done = subprocess.run([sys.executable, "-c", code], env=env, text=True, capture_output=True,
                          timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
