# SPDX-License-Identifier: Apache-2.0
"""What loops add up: by a tree over the turns where they claim it, else in order; on any number of threads."""

import numpy as np
import pytest

import braze
import braze.numpy as bnp
from kernel_ways import kernel, way  # noqa: F401
from thread_ways import lines_of

SIZES = (0, 1, 5, 63, 1024, 1025, 5000, 70001, 200000)
FLOATS = ("float32", "float64", "complex64", "complex128")


def values(n, dtype, seed=3):
    r = np.random.default_rng(seed + n)
    v = r.standard_normal(n) * 10.0 ** r.integers(-6, 6, n)
    return (v + 1j * v[::-1] if dtype[0] == "c" else v).astype(dtype)


def bits(*numbers):
    return b"".join(np.asarray(v).tobytes() for v in numbers)


# ---- What a claimed sum is ----

@pytest.mark.parametrize("dtype", FLOATS)
def test_a_claimed_sum_is_the_sum_of_an_array(dtype):
    f = kernel(f"kernel f(x: {dtype}[:], start: {dtype}) -> (s: {dtype}) {{ s = start\n"
               "for i in 0..len(x) reduction(+: s) { s += x[i] } }")
    t = np.dtype(dtype).type
    for n in SIZES:
        x = values(n, dtype)
        want = t(0.5) + (np.asarray(bnp.sum(x))[()] if n else t(-0.0))
        assert bits(f(x, 0.5)) == bits(want), n
    assert str(f(np.zeros(0, dtype), -0.0)) == str(t(-0.0))


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_claimed_product_is_the_product_of_an_array(dtype):
    f = kernel(f"kernel f(x: {dtype}[:]) -> (p: {dtype}) {{ p = 1.0\n"
               "for i in 0..len(x) reduction(*: p) { p *= x[i] } }")
    for n in SIZES:
        x = (1 + values(n, dtype) * 1e-7).astype(dtype)
        want = np.asarray(bnp.prod(x))[()]
        assert bits(f(x)) == bits(np.dtype(dtype).type(1) * want), n


def test_each_turn_adds_up_by_itself_first():
    f = kernel("""kernel f(m: float64[:,:]) -> (s: float64, q: float64) {
for i in 0..len(m) reduction(+: s, q) {
  if i % 3 == 0 { continue }
  for k in 0..len(m, 1) { s += m[i, k]; if m[i, k] > 4.0 { break } }
  q = m[i, 0] + q
  if m[i, 1] > 0.0 { q = q - 0.25 }
} }""")
    m = values(3 * 4000, "float64").reshape(4000, 3)
    s, q = np.full(4000, -0.0), np.full(4000, -0.0)
    for i in range(4000):
        if i % 3:
            for k in range(3):
                s[i] += m[i, k]
                if m[i, k] > 4:
                    break
            q[i] += m[i, 0]
            if m[i, 1] > 0:
                q[i] -= 0.25
    assert bits(*f(m)) == bits(0.0 + float(bnp.sum(s)), 0.0 + float(bnp.sum(q)))


def test_sums_in_sums():
    f = kernel("""fn norm(n: int64) -> float64 { let t = 0.0
for k in 0..n reduction(+: t) { t += 1.0 / float64(k + 1) }
return t }
kernel f(n: int64) -> (s: float64, q: float64) {
for i in 0..n reduction(+: s) { let w = 0.0
  for k in 0..i reduction(+: w, s) { w += 0.1 * float64(k); s += 0.3 }
  s += w * norm(i)
  q += w } }""")
    n = 300
    q, turn = 0.0, np.full(n, -0.0)
    for i in range(n):
        k = np.arange(i)
        w = 0.0 + (float(bnp.sum(0.1 * k)) if i else -0.0)
        turn[i] += float(bnp.sum(np.full(i, 0.3))) if i else -0.0
        turn[i] += w * (0.0 + (float(bnp.sum(1.0 / (k + 1.0))) if i else -0.0))
        q += w
    assert bits(*f(n)) == bits(0.0 + float(bnp.sum(turn)), q)


@pytest.mark.parametrize("body", [
    "s += x[i]; y[i] = s", "s += x[i]; s *= 0.5", "s = x[i] - s", "s += s", "if s > 3.0 { s += x[i] }",
    "s += x[i]; if x[i] > 1.5 { break }", "s = s + x[i] * s", "s = x[i]"])
def test_what_is_more_than_a_sum_goes_in_order(body):
    text = "kernel f(x: float64[:], inout y: float64[:]) -> (s: float64) {{ s = 0.1\nfor i in 0..len(x){} {{ {} }} }}"
    x = values(3000, "float64") / 1e5
    one, two = np.zeros(3000), np.zeros(3000)
    assert bits(kernel(text.format(" reduction(+: s)", body))(x, one)) == bits(kernel(text.format("", body))(x, two))
    assert bits(one) == bits(two)


def test_integers_and_extremes_need_no_tree():
    f = kernel("kernel f(x: int8[:]) -> (s: int8, h: float16) {"
               "for i in 0..len(x) reduction(+: s) reduction(+: h) { s += x[i]; h += float16(x[i]) / 3.0 } }")
    x = np.arange(-100, 100, dtype=np.int8)
    h = np.float16(0)
    for v in x:
        h = np.float16(h + np.float16(v) / np.float16(3))
    assert bits(*f(x)) == bits(x.sum(dtype=np.int8), h)


def test_too_many_claims_are_refused():
    lines = "\n".join(f"for i in 0..3 reduction(+: s) {{ s += {k}.5 }}" for k in range(65))
    with pytest.raises(ValueError, match="line 66, .*more than 64 sums"):
        braze.kernel_from_text(f"kernel f() -> (s: float64) {{\n{lines}\n}}")
    assert kernel("kernel f() -> (s: float64) {\n" + "\n".join(lines.split("\n")[:64]) + "\n}")() == 3 * (32 + 63 * 32)


# ---- In Python ----

@braze.jit
def by_pragma(x):
    s = 0.0
    p = 1.0
    #pragma parallel for reduction(sum:s) reduction(prod:p)
    for i in range(len(x)):
        s += x[i] * x[i]
        p *= 1.0 + x[i] * 1e-7
    return s, p


@braze.kernel
def dot(i, acc: float, x, y):
    acc += x[i] * y[i]


def test_pragmas_and_work_units_add_by_the_tree():
    for n in (1, 999, 70000):
        x = values(n, "float64") / 1e5
        want = 0.0 + float(bnp.sum(x * x)), 1.0 * float(bnp.prod(1.0 + x * 1e-7))
        assert bits(*by_pragma(x)) == bits(*want)
        assert bits(braze.parallel_reduce(n, dot, x=x, y=x)) == bits(want[0])


# ---- On any number of threads ----

SHARED = """kernel f(x: float64[:], k: int32[:], f: float32[:], c: complex128[:])
-> (s: float64, z: complex128, g: float32, low: float64, high: float64, most: float64, least: float32, first: float64,
 a: int32, o: int32, e: int32, any: bool, every: bool, m: int32) {
  low = 1.0; high = -5.0; most = -1.0; least = 2.0; a = 255; every = true; first = 0.5
  for i in 0..len(x) reduction(+: s, z, g) { s += x[i]; z += c[i]; g += f[i] * 0.5 }
  for i in 0..len(x) { low = min(low, x[i]); high = max(x[i], high) }
  for i in 0..len(x) { let v = x[i]; most = where(v > most, v, most); if v >= first { first = v } }
  for i in 0..len(f) { let v = f[i]; least = where(least > v, v, least) }
  for i in 0..len(k) { a &= k[i]; o |= k[i]; e ^= k[i]; any |= k[i] == 77; every &= k[i] < 2000; m = max(m, k[i]) }
}"""


def shared(compiled):
    k = braze.kernel_from_text(SHARED)
    if compiled:
        k.compile()
    r = np.random.default_rng(5)
    for n in (0, 1, 2, 40, 1023, 5000, 33000, 140000):
        for odd in range(4):
            x = values(n, "float64")
            if n > 9 and odd:
                x[r.integers(0, n, 4)] = (0.0, -0.0, 0.0, -0.0)
                if odd > 1:
                    x[x != 0] = abs(x[x != 0]) * (-1 if odd == 3 else 1)
                if odd == 2:
                    x[r.integers(0, n, 2)] = np.array([0x7ff8000000000001, 0xfff8000000000002], "u8").view("f8")
            out = k(x, r.integers(0, 1000, n).astype("i4"), x.astype("f4"), x + 1j * x)
            yield f"{n} {odd} {bits(*out).hex()}"


def test_bits_do_not_depend_on_threads():
    want = lines_of("test_sums.shared(False)", 1)
    assert len(want) == 32
    for threads in (1, 2, 3, 7):
        got = lines_of("test_sums.shared(True)", threads)
        assert got == want, (threads, [w for w, g in zip(want, got) if w != g][:3])
    assert lines_of("test_sums.shared(False)", 3) == want


def test_what_is_told_of_sums():
    text = str(braze.explain(braze.kernel_from_text(SHARED), np.ones(3), np.ones(3, "i4"), np.ones(3, "f4"),
                             np.ones(3, complex)))
    told = [f"line {n}: parallel, 3 turns: no turn needs another, sums are put together"
            for n in (5, 6, 7, 8, 9)]
    told.insert(3, "line 8: apart from line 9: they do too little")
    assert text.splitlines() == told
