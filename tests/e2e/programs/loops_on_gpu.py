# SPDX-License-Identifier: Apache-2.0
"""Functions whose loops go to a GPU, and how they are compared with Python's own loops.

`same(f, ...)` calls f with arrays of braze and f.py_func with copies in NumPy's, and compares all arrays and what
is returned, to the bit, or as near as `near` says.  It returns what braze.explain says of where the loops ran."""

import math

import braze
import braze.numpy as np
import numpy


def at_hand(a):
    return np.asarray(a) if isinstance(a, numpy.ndarray) else a


def where(f, *args):
    """"gpu", or why not."""
    lines = braze.explain(f, *[at_hand(numpy.array(a)) if isinstance(a, numpy.ndarray) else a for a in args])
    found = [line.strip() for line in str(lines).splitlines() if "on the GPU" in line]
    return [line.removeprefix("not on the GPU: ") if line.startswith("not") else "gpu" for line in found]


def compare(got, want, near):
    got, want = numpy.asarray(got), numpy.asarray(want)
    assert got.shape == want.shape and got.dtype == want.dtype, (got.dtype, want.dtype)
    if near:
        assert numpy.allclose(got, want, rtol=near, atol=near, equal_nan=True), (got, want)
    else:
        assert got.tobytes() == want.tobytes(), (got, want)


def same(f, *args, near=0):
    ours = [at_hand(numpy.array(a)) if isinstance(a, numpy.ndarray) else a for a in args]
    theirs = [numpy.array(a) if isinstance(a, numpy.ndarray) else a for a in args]
    got, want = f(*ours), f.py_func(*theirs)
    for a, b in zip(ours, theirs):
        if isinstance(b, numpy.ndarray):
            compare(a, b, near)
    assert got == want, (got, want)
    return where(f, *args)


@braze.jit
def axpy(a, x, y):
    for i in range(len(x)):
        y[i] = a * x[i] + y[i]


@braze.jit
def heat(u, v, turns):
    for _ in range(turns):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) * 0.25
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = v[i, j]


@braze.jit
def matmul(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = c[i, j] * 0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s


@braze.jit
def mandelbrot(x, y, out, most):
    for i in range(len(y)):
        for j in range(len(x)):
            re, im, n = 0.0, 0.0, 0
            while n < most and re * re + im * im < 4.0:
                re, im = re * re - im * im + x[j], 2 * re * im + y[i]
                n += 1
            out[i, j] = n


@braze.jit
def triangle(a, c):
    n = a.shape[0]
    for i in range(n):
        for j in range(i, n):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * a[j, k]
            c[i, j] = s


@braze.jit
def transposed(a, b):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            b[j, i] = a[i, j]


@braze.jit
def sin_cos(x, s, c):
    for i in range(len(x)):
        if x[i] > 0:
            s[i] = math.sin(x[i])
            c[i] = math.cos(x[i])
        else:
            s[i] = c[i] = 0.0


@braze.jit
def backwards(x, y):
    for i in range(len(x) - 1, 0, -3):
        y[-i] = x[i] + i


@braze.jit
def bits(x, y, k):
    for i in range(len(x)):
        y[i] = (x[i] // 3) ^ (x[i] % 7) | (x[i] << 2) & k


@braze.jit
def eliminate(a):
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] = a[i, k] / a[k, k]
        for i in range(k + 1, n):
            for j in range(k + 1, n):
                a[i, j] = a[i, j] - a[i, k] * a[k, j]


@braze.jit
def volume(a, b):
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            for k in range(1, a.shape[2] - 1):
                b[i, j, k] = a[i - 1, j, k] + a[i + 1, j, k] - 2 * a[i, j, k] + a[i, j - 1, k] * a[i, j, k + 1]


@braze.jit
def first_above(x, out, bound):
    for i in range(x.shape[0]):
        out[i] = -1
        for j in range(x.shape[1]):
            if x[i, j] > bound:
                out[i] = j
                break


def clamped(v, lo, hi):
    return lo if v < lo else hi if v > hi else v


@braze.jit
def clamp(x, y):
    for i in range(len(x)):
        y[i] = clamped(x[i], -1.0, 1.5)


@braze.jit
def edge(x, y):
    y[0] = 1.0
    for i in range(1, len(x)):
        y[i] = x[i]


@braze.jit
def bodies(x, v, dt):
    for i in range(len(x)):
        v[i] = v[i] - x[i] * dt
        x[i] = x[i] + v[i] * dt


@braze.jit
def both(a, b, first, second):
    for i in range(len(a)):
        b[i] = first
        a[i] = second


# Indices and bounds that are read from arrays.


@braze.jit
def gathered(x, at, y):
    for i in range(len(at)):
        y[i] = x[at[i]]


@braze.jit
def gathered_plane(x, rows, columns, y):
    for i in range(len(rows)):
        for j in range(len(columns)):
            y[i, j] = x[rows[i], columns[j]] + 1.0


@braze.jit
def histograms(bins, h):
    for i in range(bins.shape[0]):
        for j in range(bins.shape[1]):
            h[i, bins[i, j]] += 1


@braze.jit
def spmv(ptr, col, val, x, y):
    for i in range(len(y)):
        s = 0.0
        for j in range(ptr[i], ptr[i + 1]):
            s += val[j] * x[col[j]]
        y[i] = s


@braze.jit
def page_rank(ptr, edge, degree, rank, fresh, damping, turns):
    n = len(rank)
    for _ in range(turns):
        for i in range(n):
            s = 0.0
            for j in range(ptr[i], ptr[i + 1]):
                s += rank[edge[j]] / degree[edge[j]]
            fresh[i] = (1.0 - damping) / n + damping * s
        for i in range(n):
            rank[i] = fresh[i]


@braze.jit
def backwards_rows(first, last, val, y):
    for i in range(len(y)):
        s = 0.0
        for j in range(first[i], last[i], -1):
            s = s * 0.5 + val[j]
        y[i] = s


@braze.jit
def rows_cut(count, x, y):
    for i in range(len(count)):
        for j in range(count[i]):
            if j > 0:
                y[i, j] = x[i, j] - x[i, j - 1]


@braze.jit
def places(sorted, x, y):
    for i in range(len(x)):
        low, high = 0, len(sorted)
        while low < high:
            middle = (low + high) // 2
            if sorted[middle] < x[i]:
                low = middle + 1
            else:
                high = middle
        y[i] = low


# What stays on the processor.


@braze.jit
def total(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s


@braze.jit
def running(x, y):
    for i in range(1, len(x)):
        y[i] = y[i - 1] + x[i]


@braze.jit
def scattered(x, at, y):
    for i in range(len(at)):
        y[at[i]] = x[i]


@braze.jit
def gathered_from_itself(at, y):
    for i in range(len(at)):
        y[i] = y[at[i]] + 1.0


@braze.jit
def rows_scaled(ptr, val, by):
    for i in range(len(by)):
        for j in range(ptr[i], ptr[i + 1]):
            val[j] *= by[i]


@braze.jit
def exchange(x, y):
    for i in range(len(x)):
        t = x[i]
        x[i] = y[i]
        y[i] = t


@braze.jit
def bounce(x, y, u, v, dt, wide, high, turns):
    hits, most = 0, 0.0
    for t in range(turns):
        for i in range(len(x)):
            x[i] += u[i] * dt
            y[i] += v[i] * dt
            if x[i] < 0.0 or x[i] > wide:
                x[i] = -x[i] if x[i] < 0.0 else 2.0 * wide - x[i]
                u[i] = -u[i]
                hits += 1
            if y[i] < 0.0:
                y[i] = -y[i]
                v[i] = -0.5 * v[i]
                hits += 1
            v[i] -= 9.81 * dt
            most = max(most, v[i] * v[i] + u[i] * u[i])
    return hits, most


@braze.jit
def smooth_in_turn(a, b, hot):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            for k in range(3):
                b[i, j] += a[i, j] * 0.5
                a[i, j] -= b[i, j] * 0.25
            hot[i, j] = a[i, j] > b[i, j]
            if hot[i, j]:
                a[i, j] = b[i, j]


@braze.jit
def two_elements(x, y):
    for i in range(len(x)):
        x[i] = y[i, 0]
        y[i, 0] = x[i] * 2
        y[i, 1] = x[i]
        x[i] += y[i, 0]


@braze.jit
def exchange_and_add(x, y):
    for i in range(len(x)):
        t = x[i]
        x[i] = y[i]
        y[i] = t + x[i] - y[i]


@braze.jit
def rotate(x, y, c, s):
    for i in range(len(x)):
        p, q = x[i], y[i]
        x[i] = c * p + s * q
        y[i] = c * q - s * p


@braze.jit
def prey(x, y, dt, turns):
    eaten = 0.0
    for t in range(turns):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                a, b = x[i, j], y[i, j]
                x[i, j] = a + dt * (a - a * b)
                y[i, j] = b + dt * (a * b - b)
                eaten = max(eaten, a * b)
    return eaten


@braze.jit
def ring(x, y, z):
    for i in range(len(x)):
        t = x[i]
        x[i] = y[i]
        y[i] = z[i]
        z[i] = t


@braze.jit
def grind(x, y, turns):
    for i in range(len(x)):
        v = x[i]
        for _ in range(turns):
            v = v * 0.999 + 0.25 * x[i]
        y[i] = v
