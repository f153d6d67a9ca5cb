# SPDX-License-Identifier: Apache-2.0
"""Loops of which compilers make vectors have the bits of arrays, however many elements are left over."""

import numpy as np
import pytest

import braze.numpy as bnp
from kernel_ways import kernel, way  # noqa: F401

COUNTS = (0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 70, 4095, 4099)
ONE = ("cbrt exp expm1 exp2 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh "
       "arctanh").split()
SPECIAL = [0.0, -0.0, 1, -1, np.nan, np.inf, -np.inf, 5e-324, 1e-40, 700, -745.2, 89, 1e300, 0.5, -0.5, 1e22]


def same(a, b, what=""):
    """To the bit, but for the sign of a NaN."""
    np.testing.assert_array_equal(a, b, err_msg=what)
    np.testing.assert_array_equal(np.signbit(a) & ~np.isnan(a), np.signbit(b) & ~np.isnan(b), err_msg=what)


def numbers(n, dtype, seed=3):
    with np.errstate(over="ignore"):
        x = (np.random.default_rng(seed).standard_normal(max(n, len(SPECIAL))) * 3).astype(dtype)
        x[::3][:len(SPECIAL)] = np.array(SPECIAL, dtype)[:len(x[::3])]
    return x[:n]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_of_one_number(dtype):
    """In a loop, behind a condition, in a function of the text, and of slices that lie closely or do not."""
    for name in ONE:
        k = kernel(f"""
        fn one(a: {dtype}) -> {dtype} {{ let b = {name}(a); if b > {dtype}(0) {{ b = b + a }}; return b }}
        kernel f(x: {dtype}[:], inout y: {dtype}[:, :]) {{
            for i in 0..len(x) {{ y[0, i] = {name}(x[i]) }}
            for i in 0..len(x) {{ if x[i] > {dtype}(1) {{ y[1, i] = {name}(x[i]) }} }}
            for i in 0..len(x) {{ y[2, i] = one(x[i]) }}
            y[3, :] = {name}(x[:])
            y[4, ::-1] = {name}(x[::-1])
        }}""")
        for n in COUNTS:
            x, y = numbers(n, dtype), np.full((5, n), 2, dtype)
            with np.errstate(all="ignore"):
                wanted = np.asarray(getattr(bnp, name)(bnp.asarray(x)))
                k(x, y)
                for row, values in enumerate((wanted, np.where(x > 1, wanted, np.array(2, dtype)),
                                              np.where(wanted > 0, wanted + x, wanted), wanted, wanted)):
                    same(y[row], values, f"{name}, {n}, {row}")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["power", "arctan2", "hypot"])
def test_functions_of_two_numbers(name, dtype):
    term = "x[i] ** z[i]" if name == "power" else f"{name}(x[i], z[i])"
    k = kernel(f"kernel f(x: {dtype}[:], z: {dtype}[:], inout y: {dtype}[:]) -> (s: {dtype}) {{"
               f" for i in 0..len(x) {{ y[i] = {term}; s = s + y[i] }} }}")
    for n in COUNTS:
        x, z, y = numbers(n, dtype), numbers(n, dtype, 4)[::-1].copy(), np.zeros(n, dtype)
        with np.errstate(all="ignore"):
            s = k(x, z, y)
            same(y, np.asarray(getattr(bnp, name)(bnp.asarray(x), bnp.asarray(z))), f"{n}")
            total = np.zeros((), dtype)
            for v in y:
                total = total + v
        same(s, total, f"sum of {n}")


def test_a_function_that_returns_early():
    k = kernel("""
    fn share(a: float64) -> float64 { if a <= 0.5 { return 0.25 }; return log(a - 0.5) }
    fn outer(a: float64) -> float64 { return exp(share(a)) + share(a + 0.25) }
    kernel f(x: float64[:], inout y: float64[:]) { for i in 0..len(x) { y[i] = outer(x[i]) - share(x[i]) } }""")

    def share(a):
        with np.errstate(all="ignore"):
            return np.where(a <= 0.5, 0.25, np.asarray(bnp.log(bnp.asarray(a - 0.5))))

    for n in COUNTS:
        x, y = numbers(n, "float64"), np.zeros(n)
        k(x, y)
        with np.errstate(all="ignore"):
            same(y, np.asarray(bnp.exp(bnp.asarray(share(x)))) + share(x + 0.25) - share(x), f"{n}")


# ---- Sums of slices ----

@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 63, 65, 1000, 1023, 1024, 1025, 2048, 3000, 65536, 3 * 65536 + 1030])
def test_sums_of_expressions_have_the_bits_of_arrays(dtype, n):
    k = kernel(f"kernel f(x: {dtype}[:], y: {dtype}[:]) -> (s: {dtype}, t: {dtype}, u: {dtype}) {{"
               " s = sum(x[:] * y[:]); t = dot(x[:], y[::-1]); u = sum(x[1:] - y[:-1]) + sum(-y[:]) }")
    rng = np.random.default_rng(n)
    x, y = (rng.standard_normal(2 * n).astype(dtype) for _ in range(2))
    for a, b in ((x[:n], y[:n]), (x[::2], y[n:]), (x[::-2], y[1::2])):
        p, q = bnp.asarray(a), bnp.asarray(b)
        wanted = (p * q).sum(), (p * q[::-1]).sum(), (p[1:] - q[:-1]).sum() + (-q).sum()
        assert [float(v).hex() for v in k(a, b)] == [float(v).hex() for v in wanted]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_rows_go_on_in_the_blocks_of_those_before(dtype):
    k = kernel(f"kernel f(m: {dtype}[:, :]) -> (s: {dtype}, t: {dtype}) {{"
               " s = sum(m[:, :] * m[:, :]); t = sum(m[1:, :] - m[:-1, ::-1]) }")
    for columns in (1, 31, 32, 1000, 1024, 1030, 2048, 3000):
        m = np.random.default_rng(columns).standard_normal((5, columns)).astype(dtype)
        p = bnp.asarray(m)
        wanted = (p * p).sum(), (p[1:] - p[:-1, ::-1]).sum()
        assert [float(v).hex() for v in k(m)] == [float(v).hex() for v in wanted], columns


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_zeros_and_of_numbers_that_are_none(dtype):
    k = kernel(f"kernel f(x: {dtype}[:]) -> (s: {dtype}) {{ s = sum(-x[:]) }}")
    for n in (0, 1, 5, 64, 1024, 1030):
        for value in (0.0, -0.0, np.inf, np.nan):
            x = np.full(n, value, dtype)
            same(k(x), np.asarray((-bnp.asarray(x)).sum()), f"{n} of {value}")
            if n > 1:
                x[n // 2] = -np.inf
                same(k(x), np.asarray((-bnp.asarray(x)).sum()), f"{n} of {value}")


def test_sums_one_behind_the_other_and_one_for_each_row():
    """Those of other types, and of a view alone, are done elsewhere: neither may see what the other has left."""
    k = kernel("""
    kernel f(m: float64[:, :], inout y: float64[:, :]) -> (n: int64, f: float32) {
        for i in 0..len(m) {
            y[i, 0] = dot(m[i, :], m[i, :])
            y[i, 1] = sum(m[i, :])
            y[i, 2] = sum(m[i, :i] + m[i, :i])
            n = n + sum(int64(m[i, :] > 0.0))
            y[i, 3] = max(m[i, :] + 0.0) + prod(m[i, :3] + 1.0)
            f = f + sum(float32(m[i, :]) * float32(m[i, :]))
        }
    }""")
    for rows, columns in ((3, 5), (5, 1024), (4, 2600), (2, 70000)):
        m = np.random.default_rng(rows).standard_normal((rows, columns))
        y, n, f = np.zeros((rows, 4)), 0, np.float32(0)
        got = k(m, y)
        for i in range(rows):
            p, z = bnp.asarray(m[i]), bnp.asarray(m[i].astype("float32"))
            assert y[i].tolist() == [float((p * p).sum()), float(p.sum()), float((p[:i] + p[:i]).sum()),
                                     float((p + 0.0).max()) + float((p[:3] + 1).prod())]
            n += int((m[i] > 0).sum())
            f = f + np.float32((z * z).sum())
        assert got == (n, f)


# ---- Slices that are written ----

def test_values_that_meet_what_is_written():
    k = kernel("""
    kernel f(inout x: float64[:], a: int64, b: int64, c: int64, n: int64) {
        x[a:a + n] = x[b:b + n] * 2.0 + x[c:c + n]
        x[b:b + n] += x[a:a + n]
        x[c:c + n] = x[c:c + n] - 1.0
    }""")
    for n in (0, 1, 3, 8, 17, 40):
        for a, b, c in ((0, 0, 0), (1, 0, 2), (0, 1, 0), (5, 5, 4), (8, 0, 16), (3, 2, 1)):
            x = np.random.default_rng(n).random(100)
            w = x.copy()
            k(x, a, b, c, n)
            w[a:a + n] = w[b:b + n] * 2 + w[c:c + n]
            w[b:b + n] += w[a:a + n].copy()
            w[c:c + n] -= 1
            assert x.tobytes() == w.tobytes(), (n, a, b, c)


@pytest.mark.parametrize("base", [0, 1])
def test_a_view_with_a_wrong_index_ends_the_run(base):
    k = kernel(f"kernel f(inout m: float64[:, :], i: int64) -> (s: float64) base {base} {{\n"
               "  m[1, :] += 1.0\n  s = dot(m[i, 1:], m[1, 1:])\n  m[1, :] += 1.0\n}")
    for i in (3 + base, -4, 2**63 - 1, -2**63, *([0] if base else [])):
        m = np.zeros((3, 4))
        with pytest.raises(IndexError, match=f"line 3: index {i} is out of bounds for axis 0 of 'm' with size 3"):
            k(m, i)
        assert m[1 - base].tolist() == [1] * 4


def test_one_element_that_goes_with_all_others():
    """Its stride is none, wherever it lies."""
    k = kernel("""
    kernel f(x: float64[:], m: float64[:, :], inout y: float64[:], inout z: float64[:, :], a: int64) -> (s: float64) {
        y[:] = x[a:a + 1] * 2.0 + y[:]
        z[:, :] = m[:, a:a + 1] + x[:]
        z[a, :] += z[a, a:a + 1]
        s = sum(x[a:a + 1] * y[:]) + sum(m[:, a:a + 1] * x[:]) + sum(m[a:a + 1, :] - m[:, :])
    }""")
    rng = np.random.default_rng(2)
    for n in (1, 2, 8, 19, 40):
        x, m, y = rng.random(n), rng.random((n, n)), rng.random(n)
        for a in {0, n // 2, n - 1}:
            got, w, z, v = y.copy(), y.copy(), np.zeros((n, n)), np.zeros((n, n))
            s = k(x, m, got, z, a)
            w[:] = x[a:a + 1] * 2 + w
            v[:, :] = m[:, a:a + 1] + x
            v[a, :] += v[a, a:a + 1].copy()
            assert got.tobytes() == w.tobytes() and z.tobytes() == v.tobytes(), (n, a)
            p, q, r = bnp.asarray(x), bnp.asarray(w), bnp.asarray(m)
            assert s == float((p[a:a + 1] * q).sum()) + float((r[:, a:a + 1] * p).sum()) + float((r[a:a + 1] - r).sum())


# ---- Elements that all turns read and one of them writes ----

@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_what_one_turn_writes_and_all_read(dtype):
    """Lengths of ways with some below 0, so that rows change themselves; Gauss and Jordan; the first of all; in each
    the turns behind see what that one wrote, wherever it lies."""
    ways = kernel(f"kernel f(inout d: {dtype}[:, :]) {{ let n = len(d); for k in 0..n {{ for i in 0..n {{ for j in 0..n {{"
                  " let way = d[i, k] + d[k, j]; if way < d[i, j] { d[i, j] = way } } } } }")
    jordan = kernel(f"kernel f(inout d: {dtype}[:, :]) {{ let n = len(d); for k in 0..n {{ for i in 0..n {{ if i != k {{"
                    " for j in 0..n { d[i, j] = d[i, j] - d[i, k] * d[k, j] } } } } }")
    row = kernel(f"kernel f(inout d: {dtype}[:, :]) {{ let n = len(d); for k in 0..n {{ for j in 1..n {{"
                 " d[k, j] = d[k, j] + d[k, 0] + d[0, k] }; for j in 0..n { d[0, j] = d[0, j] + d[0, n - 1] - d[0, k] } } }")

    def ways_by_hand(d):
        for k in range(len(d)):
            for i in range(len(d)):
                for j in range(len(d)):
                    d[i, j] = min(d[i, j], d[i, k] + d[k, j])

    def jordan_by_hand(d):
        for k in range(len(d)):
            for i in range(len(d)):
                for j in range(len(d)):
                    if i != k:
                        d[i, j] = d[i, j] - d[i, k] * d[k, j]

    def row_by_hand(d):
        n = len(d)
        for k in range(n):
            for j in range(1, n):
                d[k, j] = d[k, j] + d[k, 0] + d[0, k]
            for j in range(n):
                d[0, j] = d[0, j] + d[0, n - 1] - d[0, k]

    for n in (1, 2, 9, 16, 37):
        start = np.random.default_rng(n).integers(-3, 90, (n, n)).astype(dtype) / np.array(1 + (dtype != "int64") * 7, dtype)
        for runs, by_hand in ((ways, ways_by_hand), (jordan, jordan_by_hand), (row, row_by_hand)):
            for view in (np.s_[:, :], np.s_[:, ::-1]):
                got, want = start.astype(dtype)[view], start.astype(dtype)[view].copy()
                with np.errstate(all="ignore"):
                    by_hand(want)
                runs(got)
                same(got, want, f"{by_hand.__name__}, {n}")
