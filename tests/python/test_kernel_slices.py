# SPDX-License-Identifier: Apache-2.0
"""Slices and reductions in kernels, against NumPy."""

import itertools
import os
import random

import numpy as np
import pytest

import braze
import braze.numpy as bnp
from kernel_ways import kernel, way  # noqa: F401
from slice_random import Program


def test_random_programs(way):
    seed = int(os.environ.get("SEED", 1))
    count = int(os.environ.get("PROGRAMS", 60 if way == "compiled" else 600))
    ends = {}
    for number in range(count):
        program = Program(random.Random(f"{seed}/{number}"))
        (arrays, buffer), (twins, wanted) = program.arrays(), program.arrays()
        result, error = program.run(twins)
        where = (f"SEED={seed} program {number}:\n{program.text}\n{program.shapes} "
                 f"{program.layouts} {error}")
        ends[type(error)] = ends.get(type(error), 0) + 1
        try:
            k = kernel(program.text)
        except ValueError as refused:
            # NumPy finds that when it gets there.
            assert "does not go into" in str(refused), where
            continue
        if error is None:
            np.testing.assert_array_equal(k(**arrays, i=1), result, err_msg=where)
        else:
            # Of two errors in one line either.
            with pytest.raises((ValueError, IndexError)) as caught:
                k(**arrays, i=1)
            assert f"line {program.at + 2}:" in str(caught.value), where
        np.testing.assert_array_equal(buffer, wanted, err_msg=where)
    assert ends[type(None)] > count / 3 and ends[ValueError] > count / 20


# ---- Places and shapes ----

@pytest.mark.parametrize("base", [0, 1])
@pytest.mark.parametrize("step", [1, 2, -1, -3, 2**63 - 1, -2**63])
def test_bounds_are_clipped_as_pythons(base, step):
    """From 1 the same places have other numbers, and 0 is before the first."""
    k = kernel("kernel f(x: int64[:], a: int64, b: int64, c: int64) -> (s: int64, t: int64, u: int64)"
               f" base {base} {{ s = sum(x[a:b:c] ** 2); t = sum(x[:b:c]); u = sum(x[a::c]) }}")
    x = np.arange(1, 6)

    def place(v):
        return v if v < 0 or not base else v - 1 if v else -len(x) - 1

    numbers = (-2**63, -6, -5, -2, -1, 0, 1, 2, 4, 5, 6, 7, 2**63 - 1)
    for a, b in itertools.product(numbers, numbers):
        wanted = ((x[place(a):place(b):step] ** 2).sum(), x[:place(b):step].sum(),
                  x[place(a)::step].sum())
        assert k(x, a, b, step) == wanted, (a, b)


@pytest.mark.parametrize("text,error,message", [
    ("x[::n] = 1", ValueError, "line 2: the step is 0"),
    ("x[1:3] = x[1:4]", ValueError, "line 2: slices do not go together: 3 elements, not 2"),
    ("m[0, :] += m[:, 0]", ValueError, "3 elements, not 4"),
    ("m[3, :] = 0", IndexError, "line 2: index 3 is out of bounds for axis 0 of 'm' with size 3"),
    ("s = dot(x[1:3], x[1:2])", ValueError, "do not go together"),
    ("s = min(x[n:n])", ValueError, "line 2: min of no elements"),
    ("s = max(x[3:] + m[:, 1])", ValueError, "do not go together: 3 elements, not 2"),
])
def test_runs_that_end(text, error, message):
    k = kernel("kernel f(inout x: float64[:], inout m: float64[:,:], n: int64) -> (s: float64) {\n"
               f"x[0] = 7; {text}; x[0] = 9 }}")
    x, m = np.arange(5.0), np.ones((3, 4))
    with pytest.raises(error, match=message):
        k(x, m, 0)
    assert x.tolist() == [7, 1, 2, 3, 4] and (m == 1).all()


def test_the_right_side_is_whole_before_anything_is_stored():
    """Two parameters, of two types, are views of one memory."""
    k = kernel("kernel f(inout x: int32[:], y: int64[:]) {"
               " x[:] = int32(y[:2:-1]) * 3 + int32(y[3]) }")
    memory = np.arange(1, 9)
    x = memory.view(np.int32)[4:9]
    wanted = memory.copy()
    wanted.view(np.int32)[4:9] = memory[:2:-1] * 3 + memory[3]
    k(x, memory)
    np.testing.assert_array_equal(memory, wanted)


def test_columns_and_rows_of_one_matrix():
    k = kernel("""
    kernel gauss(inout a: float64[:,:]) {
        for p in 0..len(a) - 1 {
            a[p + 1:, p] /= a[p, p]
            for i in p + 1..len(a) { a[i, p + 1:] -= a[i, p] * a[p, p + 1:] }
        }
        a[:, 1] += a[:, 0]; a[:, ::-1] *= 1 * a[:, :]
    }""")
    a = np.random.default_rng(1).random((8, 8)) + 8 * np.eye(8)
    for order in "CF":
        b, w = a.copy(order), a.copy()
        k(b)
        for p in range(7):
            w[p + 1:, p] /= w[p, p]
            w[p + 1:, p + 1:] -= np.multiply.outer(w[p + 1:, p], w[p, p + 1:])
        w[:, 1] += w[:, 0]
        w[:, ::-1] *= 1 * w
        assert w.tobytes() == b.tobytes()


def test_arrays_of_braze():
    k = kernel("kernel f(inout x: float64[:], y: float64[:]) -> (s: float64) {"
               " x[1:] += y[:-1] * 2; s = sum(x) }")
    x = bnp.arange(6.0)
    kept = x + 0
    assert k(x[::1], x) == 35
    assert np.asarray(x).tolist() == [0, 1, 4, 7, 10, 13] and np.asarray(kept).tolist()[5] == 5


# ---- Reductions ----

@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "uint64", "float16", "float32",
                                   "float64", "complex64", "complex128"])
@pytest.mark.parametrize("n", [0, 1, 5, 1024, 1025, 2 * 65536 + 3])
def test_reductions_have_arrays_types_and_bits(dtype, n):
    rng = np.random.default_rng(n)
    x = rng.integers(0, 90, 2 * n).astype(dtype)
    if np.dtype(dtype).kind in "fc":
        x = (rng.random(2 * n) * 4 - 1).astype(dtype)
        x[5:n // 2:7] *= np.array(1.125, dtype)
    for name in ("sum", "prod", "min", "max", "any", "all"):
        if name in ("min", "max") and (n == 0 or np.dtype(dtype).kind == "c"):
            continue
        with np.errstate(all="ignore"):
            made = getattr(x, name)().dtype
        arrays = bnp if name in ("sum", "prod") and np.dtype(dtype).kind in "fc" else np
        k = kernel(f"kernel f(x: {dtype}[:]) -> (s: {made}) {{ s = {name}(x) }}")
        for part in (x[:n], x[::2], x[::-2]):
            with np.errstate(all="ignore"):
                wanted = np.asarray(getattr(arrays, name)(arrays.asarray(part)))[()]
            got = k(part)
            assert got.dtype == wanted.dtype and got.tobytes() == wanted.tobytes(), name


def test_a_nan_is_the_least_and_the_greatest():
    k = kernel("kernel f(x: float64[:]) -> (a: float64, b: float64, c: bool, d: bool) {"
               " a = min(x); b = max(x); c = any(isnan(x)); d = all(x == x) }")
    a, b, c, d = k(np.array([3.0, np.nan, 1]))
    assert np.isnan(a) and np.isnan(b) and c and not d


def test_reductions_inside_of_loops_and_of_each_other():
    k = kernel("""
    fn twice(a: float64) -> float64 { return 2 * a }
    kernel f(m: float64[:,:], inout y: float64[:]) -> (s: float64, n: int64) {
        for i in 0..len(m) {
            if any(m[i] > 3) or all(m[:, i] == 0) { n += 1; continue }
            y[i] = dot(m[i, :], m[:, 0]) + sum(twice(m) * sum(m[i, :] - max(m[:, i])))
        }
        y[:] /= sum(y) + y[1]
        s = sum(m[1:, :] * y[:]) ** 0.5
        while sum(y) > 0.01 { y[:] *= 0.5 }
    }""".replace("m[i] >", "m[i, :] >"))
    m = np.arange(16.0).reshape(4, 4) % 5 % 3
    m[2, 1], y = 4, np.ones(4)
    w, n = np.ones(4), 0
    for i in range(4):
        if (m[i] > 3).any() or (m[:, i] == 0).all():
            n += 1
            continue
        w[i] = m[i] @ m[:, 0] + (2 * m * (m[i] - m[:, i].max()).sum()).sum()
    w /= w.sum() + w[1]
    s = (m[1:] * w).sum() ** 0.5
    while w.sum() > 0.01:
        w *= 0.5
    got, count = k(m, y)
    assert count == n == 1
    np.testing.assert_allclose(got, s, rtol=1e-14)
    np.testing.assert_allclose(y, w, rtol=1e-14)


def test_a_function_of_the_text_hides_a_reduction():
    k = kernel("fn sum(a: int64) -> int64 { return 3 * a }\n"
               "kernel f(inout x: int64[:]) { x[:] = sum(x[:]) + 1 }")
    x = np.arange(4)
    k(x)
    assert x.tolist() == [1, 4, 7, 10]


# ---- Products ----

def test_products(way):
    k = kernel("""kernel f(a: float64[:,:], b: float64[:,:], x: float64[:], inout y: float64[:],
                           inout c: float64[:,:]) -> (s: float64) {
        y[:] = a @ x
        y[1:] -= 2 * a[1:, :3] @ x[:3] + y[1:]
        c[:, :] = a @ b
        s = x @ x
        c[0, :] = x @ b + c[0, :] * 0.5
        y[:] = c[:, :len(y)] @ y
    }""")
    for n in (1, 4, 5, 37):
        a, b = np.arange(n * n).reshape(n, n) % 7 / 4, np.arange(n * (n + 3)).reshape(n, n + 3) % 5 / 8
        x, y, c = np.arange(n) % 3 / 2, np.zeros(n), np.zeros((n, n + 3))
        y2, c2 = a @ x, a @ b
        y2[1:] -= 2 * a[1:, :3] @ x[:3] + y2[1:]
        c2[0] = x @ b + c2[0] * 0.5
        y2 = c2[:, :n] @ y2
        assert k(a, b, x, y, c) == x @ x
        np.testing.assert_array_equal(y, y2)
        np.testing.assert_array_equal(c, c2)


def test_a_product_has_the_bits_of_sums(way):
    """Each element is the sum of products, in the order of arrays."""
    k = kernel("kernel f(a: float32[:,:], x: float32[:], inout y: float32[:]) { y[:] = a @ x - y[:] }")
    g = np.random.default_rng(3)
    a, x, y = (g.standard_normal(s).astype(np.float32) for s in ((3, 70_000), 70_000, 3))
    want = np.array([np.asarray(bnp.asarray(row * x).sum())[()] for row in a]) - y
    k(a, x, y)
    np.testing.assert_array_equal(y, want)


def test_products_of_no_terms(way):
    k = kernel("kernel f(a: float64[:,:], x: float64[:], inout y: float64[:]) { y[:] = a @ x }")
    y = np.ones(3)
    k(np.ones((3, 0)), np.ones(0), y)
    assert (y == 0).all()
    k(np.ones((0, 2)), np.ones(2), np.ones(0))
    with pytest.raises(ValueError, match="slices do not go together: 2 elements, not 1"):
        k(np.ones((3, 1)), np.ones(2), y)
    with pytest.raises(ValueError, match="slices do not go together"):
        k(np.ones((2, 2)), np.ones(2), y)


@pytest.mark.parametrize("text,error,message", [
    ("let a = x[1:3]", ValueError, "a slice has many elements"),
    ("x[0] = x[1:3]", ValueError, "line 1, column .*: a slice has many elements"),
    ("if x[:] > 0 { }", ValueError, "a slice has many elements"),
    ("x[:] = m[:, :] + 1", None, ""),
    ("x[:] += m[:, :]", ValueError, "a slice of 2 axes does not go into one of 1"),
    ("x[:] = x", ValueError, "'x' is an array"),
    ("x = 0", ValueError, r"as x\[i\] or x\[:\]"),
    ("x[:, 0] = 1", ValueError, "'x' has 1 axes, not 2 indices"),
    ("x[1.5:] = 1", TypeError, "an index is an integer"),
    ("x[x[:]:] = 1", ValueError, "a slice has many elements"),
    ("x[:] = 1j", TypeError, "write float64"),
    ("c[:] = 1", ValueError, "'c' is only read"),
    ("z[:] = 1", ValueError, "there is no array 'z'"),
    ("x[:] = not x[:]", ValueError, "write logical_and"),
    ("x[:] = x[1:::]", ValueError, "wanted"),
    ("let a = sum(1)", ValueError, "'sum' takes arrays or slices"),
    ("let a = sum()", ValueError, "'sum' takes 1 arguments"),
    ("let a = dot(x)", ValueError, "'dot' takes 2 arguments"),
    ("let a = dot(x, m)", ValueError, "two slices of one axis"),
    ("let a = any(1:2)", ValueError, "wanted"),
    ("let a = m @ x", ValueError, "this product is an array: assign it to a slice"),
    ("x[:] = (m @ m) @ x", ValueError, "inside of a product: assign it"),
    ("x[:] = sum(m @ m)", ValueError, "inside of a reduction: assign it"),
    ("x[:] = 3 @ x", ValueError, "'@' takes arrays or slices"),
    ("x[:] = t[:, :, :] @ x", ValueError, "slices of one axis or two"),
    ("x[:] += m @ m", ValueError, "a slice of 2 axes does not go into one of 1"),
    ("x[:] @= m", ValueError, "an '=' or"),
])
def test_texts_that_mean_nothing(text, error, message):
    text = f"kernel f(inout x: float64[:], m: float64[:,:], c: float64[:], t: float64[:,:,:]) {{ {text} }}"
    if error is None:
        kernel(text)
        return
    with pytest.raises(error, match=message):
        kernel(text)
