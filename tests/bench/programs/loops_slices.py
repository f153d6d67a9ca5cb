# SPDX-License-Identifier: Apache-2.0
"""APPy's programs: loops and slices, with pragmas that say how they may run.

The order of the pragmas is that of the loops; a statement on slices says it of their lengths.
"""

import math

import numpy as np


def cholesky_slices(a):
    a[0, 0] = math.sqrt(a[0, 0])
    for i in range(1, a.shape[0]):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] -= np.dot(a[i, :i], a[i, :i])
        a[i, i] = math.sqrt(a[i, i])
    return a


def covariance_slices(data):
    n, m = data.shape
    cov = np.zeros((m, m))
    #pragma parallel for
    for j in range(m):
        mean = np.sum(data[:, j]) / n
        #pragma :n=>simd
        data[:, j] -= mean
    #pragma parallel for
    for i in range(m):
        for j in range(i, m):
            cov[i, j] = np.dot(data[:, i], data[:, j]) / (n - 1)
    for i in range(m):
        #pragma :m=>simd
        cov[i:, i] = cov[i, i:]
    return cov


def fdtd_2d_slices(ex, ey, hz, source):
    for t in range(source.shape[0]):
        ey[0, :] = source[t]
        #pragma :N=>parallel :M=>simd
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        #pragma :N=>parallel :M=>simd
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        #pragma :N=>parallel :M=>simd
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


def floyd_warshall_slices(d):
    n = d.shape[0]
    for k in range(n):
        #pragma parallel for
        for i in range(n):
            #pragma :n=>simd
            d[i, :] = np.minimum(d[i, :], d[i, k] + d[k, :])
    return d


def gemm_slices(alpha, beta, c, a, b):
    #pragma parallel for
    for i in range(c.shape[0]):
        #pragma :M=>simd
        c[i, :] *= beta
        for k in range(a.shape[1]):
            #pragma :M=>simd
            c[i, :] += alpha * a[i, k] * b[k, :]
    return c


def gemver_slices(alpha, beta, a, u1, v1, u2, v2, y, z, x, w):
    n = len(u1)
    #pragma parallel for
    for i in range(n):
        #pragma :n=>simd
        a[i, :] += u1[i] * v1 + u2[i] * v2
    #pragma parallel for
    for i in range(n):
        x[i] += beta * np.dot(a[:, i], y) + z[i]
    #pragma parallel for
    for i in range(n):
        w[i] += alpha * np.dot(a[i, :], x)
    return a, x, w


def gesummv_slices(alpha, beta, a, b, x):
    out = np.empty(len(x))
    #pragma parallel for
    for i in range(len(x)):
        out[i] = alpha * np.dot(a[i, :], x) + beta * np.dot(b[i, :], x)
    return out


def go_fast_slices(a):
    trace = 0.0
    #pragma parallel for reduction(sum:trace)
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    out = np.empty_like(a)
    #pragma parallel for
    for i in range(a.shape[0]):
        #pragma :M=>simd,le(256)
        out[i, :] = a[i, :] + trace
    return out, trace


def gramschmidt_slices(a):
    m, n = a.shape
    q, r = np.zeros((m, n)), np.zeros((n, n))
    for k in range(n):
        r[k, k] = np.sqrt(np.dot(a[:, k], a[:, k]))
        q[:, k] = a[:, k] / r[k, k]
        #pragma parallel for
        for j in range(k + 1, n):
            r[k, j] = np.dot(q[:, k], a[:, j])
            #pragma :m=>simd
            a[:, j] -= q[:, k] * r[k, j]
    return q, r, a


def hdiff_slices(f, coefficient):
    n, m, depth = coefficient.shape
    lap = np.empty((n + 2, m + 2, depth))
    fx, fy = np.empty((n + 1, m, depth)), np.empty((n, m + 1, depth))
    out = np.empty((n, m, depth))
    #pragma parallel for
    for i in range(n + 2):
        for j in range(m + 2):
            #pragma :depth=>simd
            lap[i, j, :] = 4.0 * f[i + 1, j + 1, :] - (f[i + 2, j + 1, :] + f[i, j + 1, :]
                                                       + f[i + 1, j + 2, :] + f[i + 1, j, :])
    #pragma parallel for
    for i in range(n + 1):
        for j in range(m):
            fx[i, j, :] = lap[i + 1, j + 1, :] - lap[i, j + 1, :]
            fx[i, j, :] = np.where(fx[i, j, :] * (f[i + 2, j + 2, :] - f[i + 1, j + 2, :]) > 0, 0,
                                   fx[i, j, :])
    #pragma parallel for
    for i in range(n):
        for j in range(m + 1):
            fy[i, j, :] = lap[i + 1, j + 1, :] - lap[i + 1, j, :]
            fy[i, j, :] = np.where(fy[i, j, :] * (f[i + 2, j + 2, :] - f[i + 2, j + 1, :]) > 0, 0,
                                   fy[i, j, :])
    #pragma parallel for
    for i in range(n):
        for j in range(m):
            out[i, j, :] = f[i + 2, j + 2, :] - coefficient[i, j, :] * (
                fx[i + 1, j, :] - fx[i, j, :] + fy[i, j + 1, :] - fy[i, j, :])
    return out


def heat_3d_slices(steps, a, b):
    for t in range(1, steps):
        #pragma :N=>parallel :M=>parallel :K=>simd
        b[1:-1, 1:-1, 1:-1] = (
            0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[:-2, 1:-1, 1:-1])
            + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1])
            + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, 1:-1, :-2])
            + a[1:-1, 1:-1, 1:-1])
        #pragma :N=>parallel :M=>parallel :K=>simd
        a[1:-1, 1:-1, 1:-1] = (
            0.125 * (b[2:, 1:-1, 1:-1] - 2.0 * b[1:-1, 1:-1, 1:-1] + b[:-2, 1:-1, 1:-1])
            + 0.125 * (b[1:-1, 2:, 1:-1] - 2.0 * b[1:-1, 1:-1, 1:-1] + b[1:-1, :-2, 1:-1])
            + 0.125 * (b[1:-1, 1:-1, 2:] - 2.0 * b[1:-1, 1:-1, 1:-1] + b[1:-1, 1:-1, :-2])
            + b[1:-1, 1:-1, 1:-1])
    return a, b


def jacobi_2d_slices(steps, a, b):
    for t in range(1, steps):
        #pragma :N=>parallel :M=>simd
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        #pragma :N=>parallel :M=>simd
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])
    return a, b


def softmax_slices(x):
    out = np.empty_like(x)
    #pragma parallel for
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(x.shape[2]):
                most = np.max(x[i, j, k, :])
                #pragma :M=>simd
                out[i, j, k, :] = np.exp(x[i, j, k, :] - most)
                out[i, j, k, :] /= np.sum(out[i, j, k, :])
    return out


def spmv_pragmas(rows, columns, values, x):
    y = np.empty(len(rows) - 1)
    #pragma parallel for
    for i in range(len(rows) - 1):
        y[i] = 0.0
        #pragma simd
        for p in range(rows[i], rows[i + 1]):
            y[i] += values[p] * x[columns[p]]
    return y


def symm_slices(alpha, beta, c, a, b):
    #pragma parallel for
    for i in range(c.shape[0]):
        c[i, :] *= beta
    for i in range(c.shape[0]):
        #pragma parallel for
        for j in range(c.shape[1]):
            #pragma :i=>simd
            c[:i, j] += alpha * b[i, j] * a[i, :i]
            c[i, j] += alpha * b[i, j] * a[i, i] + alpha * np.dot(b[:i, j], a[i, :i])
    return c


def syr2k_slices(alpha, beta, c, a, b):
    #pragma parallel for
    for i in range(a.shape[0]):
        c[i, :i + 1] *= beta
        for k in range(a.shape[1]):
            #pragma :i=>simd
            c[i, :i + 1] += alpha * (a[:i + 1, k] * b[i, k] + b[:i + 1, k] * a[i, k])
    return c


def syrk_slices(alpha, beta, c, a):
    #pragma parallel for
    for i in range(a.shape[0]):
        c[i, :i + 1] *= beta
        for k in range(a.shape[1]):
            #pragma :i=>simd
            c[i, :i + 1] += alpha * a[i, k] * a[:i + 1, k]
    return c


def trisolv_slices(lower, x, b):
    #pragma sequential for
    for i in range(len(x)):
        x[i] = (b[i] - lower[i, :i] @ x[:i]) / lower[i, i]
    return x


def trmm_slices(alpha, b, a):
    for i in range(b.shape[0]):
        #pragma parallel for
        for j in range(b.shape[1]):
            b[i, j] += np.dot(a[i + 1:, i], b[i + 1:, j])
            b[i, j] *= alpha
    return b


def azimint_slices(data, radius, count):
    """A ring's mask is a condition of each element."""
    top = radius.max()
    out = np.zeros(count)
    #pragma parallel for
    for i in range(count):
        low, high = top * i / count, top * (i + 1) / count
        s = np.sum(np.where((low <= radius) & (radius < high), data, 0.0))
        out[i] = s / np.sum((low <= radius) & (radius < high))
    return out
