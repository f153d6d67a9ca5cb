# SPDX-License-Identifier: Apache-2.0
"""Kernels from text against the same programs in Python."""

import itertools
import os
import random
import signal
import threading
import time

import numpy as np
import pytest

import braze
import braze.numpy as bnp
from kernel_random import Program
from kernel_ways import kernel, way  # noqa: F401


# ---- Programs and their twins ----

def test_axpy():
    k = kernel("kernel axpy(in x: float64[:], inout y: float64[:], a: float64) {"
               " for i in 0..len(y) { y[i] += a * x[i] } }")
    x, y = np.linspace(0, 1, 7), np.linspace(3, 4, 7)
    wanted = y + 0.3 * x
    assert k(x, y, 0.3) is None
    assert y.tobytes() == wanted.tobytes()


def test_crc16():
    k = kernel("""
    kernel crc(data: uint8[:]) -> (crc: uint16) {
        let crc = 0xffff
        for i in 0..len(data) {
            crc ^= uint16(data[i]) << 8
            for bit in 0..8 {
                if crc & 0x8000 != 0 { crc = (crc << 1) ^ 0x1021 } else { crc <<= 1 }
            }
        }
    }""")
    assert k(np.frombuffer(b"123456789", np.uint8)) == 0x29B1


def test_sieve():
    k = kernel("""
    kernel sieve(out prime: bool[:]) -> (count: int64) {
        let n = len(prime)
        for i in 0..n { prime[i] = i >= 2 }
        let i = 2
        while i * i < n {
            if prime[i] { for j in i * i..n step i { prime[j] = false } }
            i += 1
        }
        for j in 0..n { if prime[j] { count += 1 } }
    }""".replace("for i in 0..n", "for k in 0..n").replace("prime[i] = i >= 2", "prime[k] = k >= 2"))
    prime = np.ones(1000, bool)
    assert k(prime) == 168
    assert np.flatnonzero(prime)[:6].tolist() == [2, 3, 5, 7, 11, 13]


def test_lu():
    k = kernel("""
    kernel lu(inout a: float64[:,:]) {
        let n = len(a)
        for k in 0..n { for i in k + 1..n {
            a[i, k] /= a[k, k]
            for j in k + 1..n { a[i, j] -= a[i, k] * a[k, j] }
        } }
    }""")
    a = np.random.default_rng(1).random((8, 8)) + 8 * np.eye(8)
    b = a.copy(order="F")
    k(b)
    w = a.copy()
    for p in range(8):
        for i in range(p + 1, 8):
            w[i, p] /= w[p, p]
            for j in range(p + 1, 8):
                w[i, j] -= w[i, p] * w[p, j]
    assert (w == b).all()


def test_levenshtein():
    k = kernel("""
    kernel edit(a: uint8[:], b: uint8[:], inout d: int64[:,:]) -> (n: int64) {
        for i in 0..len(a) + 1 { d[i, 0] = i }
        for j in 0..len(b) + 1 { d[0, j] = j }
        for i in 1..len(a) + 1 { for j in 1..len(b) + 1 {
            let cost = where(a[i - 1] == b[j - 1], 0, 1)
            d[i, j] = min(min(d[i - 1, j] + 1, d[i, j - 1] + 1), d[i - 1, j - 1] + cost)
        } }
        n = d[-1, -1]
    }""")
    a, b = (np.frombuffer(s, np.uint8) for s in (b"kitten", b"sitting"))
    assert k(a, b, np.zeros((7, 8), np.int64)) == 3


def test_floyd_warshall():
    k = kernel("""
    kernel paths(inout d: float64[:,:]) {
        for k in 0..len(d) { for i in 0..len(d) { for j in 0..len(d, 1) {
            if d[i, k] + d[k, j] < d[i, j] { d[i, j] = d[i, k] + d[k, j] }
        } } }
    }""")
    d = np.random.default_rng(2).random((9, 9)) * 100
    w = d.copy()
    for p in range(9):
        w = np.minimum(w, w[:, p:p + 1] + w[p:p + 1, :])
    k(d)
    assert (d == w).all()


def test_queens():
    k = kernel("""
    kernel queens(n: int64, out at: int64[:]) -> (count: int64) {
        let row = 0
        at[0] = -1
        while row >= 0 {
            at[row] += 1
            if at[row] >= n { row -= 1; continue }
            let free = true
            for r in 0..row {
                if at[r] == at[row] or abs(at[r] - at[row]) == row - r { free = false; break }
            }
            if not free { continue }
            if row == n - 1 { count += 1 }
            else { row += 1; at[row] = -1 }
        }
    }""")
    assert [k(n, np.zeros(n, np.int64)) for n in range(1, 8)] == [1, 0, 0, 2, 10, 4, 40]


def test_histogram():
    k = kernel("kernel h(x: float32[:], inout n: int64[:]) {"
               " for i in 0..len(x) { n[int64(x[i] * 10)] += 1 } }")
    x = np.random.default_rng(3).random(500).astype(np.float32)
    n = np.zeros(10, np.int64)
    k(x, n)
    assert n.tolist() == np.bincount((x * 10).astype(np.int64), minlength=10).tolist()


def test_gauss_seidel():
    k = kernel("""
    kernel relax(inout u: float64[:], tolerance: float64) -> (turns: int64) {
        let change = 1.0
        while change > tolerance {
            change = 0.0
            for i in 1..len(u) - 1 {
                let v = (u[i - 1] + u[i + 1]) / 2
                change = max(change, abs(v - u[i]))
                u[i] = v
            }
            turns += 1
        }
    }""")
    u = np.array([0.0, 5, 1, 7, 3, 1])
    w, turns, change = u.copy(), 0, 1.0
    while change > 1e-9:
        change = 0.0
        for i in range(1, 5):
            v = (w[i - 1] + w[i + 1]) / 2
            change = max(change, abs(v - w[i]))
            w[i] = v
        turns += 1
    assert k(u, 1e-9) == turns
    assert u.tobytes() == w.tobytes()


def test_run_lengths():
    k = kernel("""
    kernel runs(x: int32[:], out value: int32[:], out length: int64[:]) -> (n: int64) {
        for i in 0..len(x) {
            if i > 0 and x[i] == x[i - 1] { length[n - 1] += 1 }
            else { value[n] = x[i]; length[n] = 1; n += 1 }
        }
    }""")
    x = np.array([4, 4, 4, 1, 2, 2, 4], np.int32)
    value, length = np.zeros(7, np.int32), np.zeros(7, np.int64)
    n = k(x, value, length)
    wanted = [(v, len(list(g))) for v, g in itertools.groupby(x.tolist())]
    assert list(zip(value[:n].tolist(), length[:n].tolist())) == wanted


def test_mandelbrot():
    k = kernel("""
    kernel points(c: complex128[:], out n: int64[:]) {
        for i in 0..len(c) {
            let z = 0 * 1j
            n[i] = 50
            for t in 0..50 {
                z = z * z + c[i]
                if real(z) * real(z) + imag(z) * imag(z) > 4 { n[i] = t; break }
            }
        }
    }""")
    c = np.array([0, 1, 0.3 + 0.5j, -1, 0.4 + 0.4j, 2j])
    n = np.zeros(6, np.int64)
    k(c, n)
    wanted = []
    for p in c.tolist():
        z, turns = 0j, 50
        for t in range(50):
            z = z * z + p
            if z.real * z.real + z.imag * z.imag > 4:
                turns = t
                break
        wanted.append(turns)
    assert n.tolist() == wanted


def test_functions_and_several_results():
    k = kernel("""
    fn gcd(a: int64, b: int64) -> int64 {
        let x = a; let y = b
        while y != 0 { let r = x % y; x = y; y = r }
        return x
    }
    fn lcm(a: int64, b: int64) -> int64 { return a // gcd(a, b) * b }
    kernel f(x: int64[:]) -> (g: int64, l: int64) base 1 {
        l = 1
        for i in 1..len(x) + 1 { g = gcd(g, x[i]); l = lcm(l, gcd(x[i], x[i])) }
    }""")
    assert k(np.array([12, 18, 30])) == (6, 180)


# ---- Values ----

SMALL = {
    "int8": [-128, -7, -1, 0, 1, 3, 127], "uint8": [0, 1, 3, 200, 255],
    "int64": [-2**63, -7, -1, 0, 1, 3, 2**63 - 1], "uint64": [0, 1, 2**63, 2**64 - 1],
    "int32": [-2**31, -3, 0, 2, 2**31 - 1], "uint16": [0, 5, 65535],
    "float32": [-2.5, -0.0, 0.0, 1.5, 3e38, np.inf, np.nan],
    "float64": [-2.5, -0.0, 0.0, 0.1, 1e300, -np.inf, np.nan],
}


@pytest.mark.parametrize("dtype", SMALL)
@pytest.mark.parametrize("sign", ["+", "-", "*", "/", "//", "%", "<", "<=", "==", "!="])
def test_operators_have_arrays_bits(dtype, sign):
    values = np.array(SMALL[dtype], dtype)
    x, y = (v.ravel() for v in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        wanted = eval(f"x {sign} y")
    k = kernel(f"kernel f(x: {dtype}[:], y: {dtype}[:], out z: {wanted.dtype}[:]) {{"
               f" for i in 0..len(x) {{ z[i] = x[i] {sign} y[i] }} }}")
    z = np.zeros(x.size, wanted.dtype)
    k(x, y, z)
    np.testing.assert_array_equal(z, wanted)


@pytest.mark.parametrize("name", ["sqrt", "exp", "log", "sin", "cos", "tanh", "arctan", "floor",
                                  "square", "absolute", "sign", "negative"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_have_arrays_bits(name, dtype):
    x = np.random.default_rng(4).random(50).astype(dtype) * 3
    wanted = np.asarray(getattr(bnp, name)(bnp.asarray(x)))
    k = kernel(f"kernel f(x: {dtype}[:], out y: {dtype}[:]) {{"
               f" for i in 0..len(x) {{ y[i] = {name}(x[i]) }} }}")
    y = np.zeros_like(x)
    k(x, y)
    assert y.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "complex128"])
@pytest.mark.parametrize("power", ["2", "3", "0"])
def test_powers_have_arrays_bits(dtype, power):
    x = np.random.default_rng(5).random(40).astype(dtype) * 9
    wanted = np.asarray(eval(f"x ** {power}", {"x": bnp.asarray(x)}))
    k = kernel(f"kernel f(x: {dtype}[:], out y: {dtype}[:]) {{"
               f" for i in 0..len(x) {{ y[i] = x[i] ** {power} }} }}")
    y = np.zeros_like(x)
    k(x, y)
    assert y.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_powers_of_each_its_own_have_arrays_bits(dtype):
    rng = np.random.default_rng(6)
    x = (rng.random(203) * 9).astype(dtype)
    e = np.where(rng.random(203) < 0.5, 3, rng.integers(-2, 6, 203)).astype(dtype)
    wanted = np.asarray(bnp.power(bnp.asarray(x), bnp.asarray(e)))
    k = kernel(f"kernel f(x: {dtype}[:], e: {dtype}[:], out y: {dtype}[:]) {{"
               f" for i in 0..len(x) {{ y[i] = x[i] ** e[i] }} }}")
    y = np.zeros_like(x)
    k(x, e, y)
    assert y.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("bounds", [(0, 5, 1), (5, 0, -2), (5, 0, 1), (-3, 4, 3), (0, 0, 1),
                                    (2**63 - 3, 2**63 - 1, 1), (-2**63, 2**63 - 1, 2**62)])
def test_for_is_range(bounds):
    k = kernel("kernel f(a: int64, b: int64, c: int64, out x: int64[:]) -> (n: int64) {"
               " for i in a..b step c { x[n] = i; n += 1 } }")
    x = np.zeros(10, np.int64)
    n = k(*bounds, x)
    assert x[:n].tolist() == list(range(*bounds))


def test_weak_numbers_give_way():
    k = kernel("kernel f(x: float32, n: uint8) -> (a: float32, b: uint8, c: float64, d: int64) {"
               " a = x * 0.1 + 1; b = n + 1; c = float64(n) / 2; d = n // 2 }")
    a, b, c, d = k(np.float32(3), 255)
    assert (a, b, c, d) == (np.float32(3) * np.float32(0.1) + np.float32(1), 0, 127.5, 127)
    assert [v.dtype.name for v in (a, b, c, d)] == ["float32", "uint8", "float64", "int64"]


# ---- Random programs ----

def test_random_programs(way):
    seed = int(os.environ.get("SEED", 1))
    count = int(os.environ.get("PROGRAMS", 60 if way == "compiled" else 300))
    for number in range(count):
        program = Program(random.Random(f"{seed}/{number}"))
        arrays = program.arrays()
        twins = {name: a.copy() for name, a in arrays.items()}
        made = kernel(program.text)(**arrays)
        wanted = program.run(twins)
        where = f"SEED={seed} program {number}:\n{program.text}\n{program.python}"
        np.testing.assert_array_equal(made, wanted, err_msg=where)
        for name, a in arrays.items():
            np.testing.assert_array_equal(a, twins[name], err_msg=where)


# ---- Arguments ----

ADD_ONE = "kernel f(inout x: float64[:]) { for i in 0..len(x) { x[i] += 1 } }"


def test_arrays_of_braze_are_written_in_place():
    x = bnp.arange(6.0) * 2  # pending, maybe
    view, kept = x[::2], x.copy()
    kernel(ADD_ONE)(x)
    kernel(ADD_ONE)(view)
    assert (np.asarray(x) == np.arange(6.0) * 2 + 1 + (np.arange(6) % 2 == 0)).all()
    assert (np.asarray(kept) == np.arange(6.0) * 2).all()
    assert (np.asarray(x + 1) == np.asarray(x) + 1).all()


def test_an_array_that_is_open_is_refused():
    x = bnp.zeros(3)
    with braze.host(x):
        for _ in range(3):
            with pytest.raises(braze.BrazeError, match="open for writing"):
                kernel(ADD_ONE)(x)
    kernel(ADD_ONE)(x)
    assert np.asarray(x).tolist() == [1, 1, 1]


@pytest.fixture
def ctrl_c():
    """SIGINT raises KeyboardInterrupt, though who started the tests had it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_what_runs_is_refused_to_others():
    k = kernel("kernel f(inout x: float64[:]) { while x[1] == 0 { x[0] += 1 } }")
    x, seen = bnp.zeros(2), []

    def other():
        time.sleep(0.1)
        try:
            x + 1
        except braze.BrazeError:
            seen.append(True)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=other)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        k(x)
    thread.join()
    assert seen == [True]
    assert float((x + 1)[1]) == 1


def test_the_same_array_twice():
    k = kernel("kernel f(x: float64[:], inout y: float64[:]) {"
               " for i in 1..len(x) { y[i] += x[i - 1] } }")
    for module in np, bnp:
        x = module.ones(5)
        k(x, x)
        assert np.asarray(x).tolist() == [1, 2, 3, 4, 5]


def test_what_is_pending_keeps_the_old_value():
    x = bnp.arange(100000.0)
    before = x + 1
    kernel(ADD_ONE)(x)
    kernel(ADD_ONE)(x)
    assert float(before[10]) == 11 and float(x[10]) == 12


def test_overlapping_arguments():
    k = kernel("kernel f(x: float64[:], out y: float64[:]) { for i in 0..len(x) { y[i] = x[i] } }")
    for module in np, bnp:
        a = module.arange(6.0)
        k(a[:-1], a[1:])
        assert np.asarray(a).tolist() == [0.0] * 6
    a = np.arange(6.0)
    k(a[1:][::-1], a[:-1])
    assert a.tolist() == [5, 4, 3, 3, 4, 5]


def test_arguments_that_do_not_fit():
    k = kernel("kernel f(inout x: float64[:], n: int64) { }")
    x = np.zeros(3)
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    for error, args in [(TypeError, (x.astype("f4"), 1)), (ValueError, (np.zeros((2, 2)), 1)),
                        (ValueError, (fixed, 1)), (TypeError, ([1.0], 1)),
                        (ValueError, (bnp.broadcast_to(bnp.zeros(1), (3,)), 1))]:
        with pytest.raises(error, match="'x'"):
            k(*args)
    for error, value in [(TypeError, 1.5), (TypeError, x), (TypeError, "1"), (TypeError, 1j)]:
        with pytest.raises(error, match="'n'"):
            k(x, value)
    with pytest.raises(OverflowError, match="'n'"):
        k(x, 2**70)
    with pytest.raises(TypeError, match="lacks a value for 'n'"):
        k(x)
    with pytest.raises(TypeError, match="no parameter 'm'"):
        k(x, m=1)
    with pytest.raises(TypeError, match="takes 2"):
        k(x, 1, 2)
    with pytest.raises(TypeError):
        kernel(b"kernel f() { }")
    assert k(x, n=True) is None


def test_a_wrong_index_keeps_what_was_written():
    k = kernel("kernel f(out x: float64[:,:]) {\n  for i in 0..9 { x[1, i] = 1 }\n}")
    for module in np, bnp:
        x = module.zeros((2, 3))
        with pytest.raises(IndexError, match=r"'f', line 2: index 3 .* axis 1 of 'x' with size 3"):
            k(x)
        assert np.asarray(x).tolist() == [[0, 0, 0], [1, 1, 1]]


@pytest.mark.parametrize("index,error", [("2", False), ("-3", False), ("3", True), ("-4", True),
                                         ("9223372036854775807", True)])
def test_indices(index, error):
    k = kernel(f"kernel f(out x: int8[:]) {{ x[{index}] = 7 }}")
    x = np.zeros(3, np.int8)
    if error:
        with pytest.raises(IndexError):
            k(x)
    else:
        k(x)
        assert x[int(index)] == 7


def test_turns_may_meet_at_a_place_that_is_said_to_be_atomic():
    """Of loops around it nothing is claimed; of others it is."""
    def f(said, inside):
        k = kernel(f"""kernel f(inout x: int64[:], w: int64[:]) {{
            parallel for i in 0..len(w) {{ {said} x[0] += w[i]; {inside} }} }}""")
        x = np.zeros(4, np.int64)
        k(x, np.array([1, 1, 3, 0, 1]))
        return x.tolist()
    assert f("atomic", "") == [6, 0, 0, 0]
    with pytest.raises(ValueError, match="not parallel: 'x' in line 2 and 'x' in line 2"):
        f("", "")
    with pytest.raises(ValueError, match="not parallel: 'x' in line 2 and 'x' in line 2"):
        f("atomic", "parallel for j in 0..2 { x[3] = j }")


def test_atomic_is_a_name_elsewhere():
    k = kernel("kernel f(inout atomic: int64[:]) { let simd = 2; atomic[0] = simd; atomic[1] += 1 }")
    x = np.zeros(2, np.int64)
    k(x)
    assert x.tolist() == [2, 1]


@pytest.mark.parametrize("text,error,message", [
    ("kernel f() { x = 1 }", ValueError, "line 1, column 14: there is no 'x'"),
    ("kernel f(", ValueError, "name of a parameter"),
    ("kernel f(x: float64[:]) {\n x[0] = 1 }", ValueError, "line 2, column 2: 'x' is only read"),
    ("kernel f(out x: uint8[:]) { x[0] = 300 }", OverflowError, "does not fit uint8"),
    ("kernel f(out x: int8[:]) { x[0] = 0.5 }", TypeError, "write int8"),
    ("kernel f() { let a = 1 < 2 < 3 }", ValueError, "one comparison"),
    ("fn f(x: int64) -> int64 { return f(x) }\nkernel g() { }", ValueError, "no function 'f'"),
    ("kernel f() { let y = 1; atomic y += 3 }", ValueError, "line 1, column .*: atomic is about elements"),
    ("kernel f() { for i in 0..2 { atomic i = 3 } }", ValueError, "atomic is about elements"),
    ("kernel f() { atomic i ^= 3 atomic w[1] = 2 }", ValueError, "atomic is about elements"),
    ("kernel f() { atomic let y = 3 }", ValueError, "an expression is wanted, not 'let'"),
])
def test_texts_that_mean_nothing(text, error, message):
    with pytest.raises(error, match=message):
        kernel(text)


def test_floats_that_no_integer_holds_though_the_compiler_knows_them():
    k = kernel("""kernel f() -> (a: int64, b: int32, c: int16, d: int8, e: uint8, g: uint16, h: uint32, u: uint64) {
        let z = 0.0; let n = z / z; let w = 1e300
        a = int64(n) ^ int64(w) >> 1; b = int32(n) ^ int32(w) >> 1; c = int16(n) ^ int16(w) ^ int16(70000.0)
        d = int8(n) ^ int8(w) ^ int8(300.5); e = uint8(w) ^ uint8(-3.0); g = uint16(n) ^ uint16(-70000.0)
        h = uint32(n) ^ uint32(-5.0) ^ uint32(1e12); u = uint64(n) ^ uint64(-5.0) ^ uint64(1e30) }""")
    assert k() == (1 << 62, 1 << 30, 4464, 44, 253, 61072, 727379963, 2**64 - 5)


# ---- Ends ----

@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_an_endless_kernel():
    k = kernel("kernel f(inout x: float64[:]) { while true { x[0] += 1 } }")
    x, sent = np.zeros(1), []

    def interrupt():
        time.sleep(0.3)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        k(x)
    took = time.monotonic() - sent[0]
    thread.join()
    assert took < 0.25
    assert x[0] > 0


# ---- Code ----

SUMS = """kernel f(inout x: float64[:], t: int64) -> (s: float64) {
    for j in 0..t { for i in 1..len(x) { x[i] += 0.5 * x[i - 1]; s += x[i] } } }"""


def test_code_comes_by_itself_where_runs_are_long(way):
    long, short = kernel(SUMS), kernel(SUMS.replace("0.5", "0.25"))
    end, made = time.monotonic() + 60, None
    while made is None or (not long.compiled and time.monotonic() < end):
        x, y = np.arange(20000.0) / 20000, np.arange(3.0)
        made = long(x, 8)
        short(y, 1)
    assert long.compiled and short.compiled == (way == "compiled")
    again = np.arange(20000.0) / 20000
    assert long(again, 8) == made
    np.testing.assert_array_equal(again, x)


def test_a_loop_inside_of_few_turns_and_of_many():
    """Rows of no numbers, of some on both sides of what has no strips, and of strips; a wrong index in each."""
    k = kernel("""
    kernel rows(first: int64[:], at: int64[:], x: float64[:], inout y: float64[:]) {
        for i in 0..len(y) { for p in first[i]..first[i + 1] { y[i] += x[at[p]] * 0.1 } }
    }
    """)
    lengths = [0, 1, 63, 64, 65, 66, 0, 4095, 4096, 4097, 9000, 2, 5, -3]
    first = np.cumsum([3, *lengths])
    rng = np.random.default_rng(3)
    at, x = rng.integers(-50, 50, 30_000), rng.random(50)
    have, want = np.ones(len(lengths)), np.ones(len(lengths))
    for i in range(len(lengths)):
        for p in range(first[i], first[i + 1]):
            want[i] += x[at[p]] * 0.1
    k(first, at, x, have)
    assert have.tobytes() == want.tobytes()
    for row in range(1, len(lengths)):
        if lengths[row] > 0:
            wrong, have = at.copy(), np.ones(len(lengths))
            wrong[first[row + 1] - 1] = 50
            with pytest.raises(IndexError, match="50"):
                k(first, wrong, x, have)
            assert have[:row].tobytes() == want[:row].tobytes() and (have[row + 1:] == 1).all()


def test_threads_share_a_kernel_while_its_code_comes():
    k, made = kernel(SUMS), []

    def run():
        made.extend(k(np.arange(5000.0), 30) for _ in range(6))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 24 and len(set(made)) == 1


def test_a_text_that_is_too_long_is_interpreted():
    k = braze.kernel_from_text("kernel f() -> (n: int64) {" + "n += 1;" * 5000 + "}")
    assert k() == 5000
    with pytest.raises(RuntimeError, match="f is not compiled: a text of .* is too long"):
        k.compile()
    assert k() == 5000 and not k.compiled
