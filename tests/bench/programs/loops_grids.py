# SPDX-License-Identifier: Apache-2.0
"""Grids, bodies, sums by groups and naive Bayes, all by elements."""

import math

import numpy as np


def covariance(data):
    n, m = data.shape
    cov = np.zeros((m, m))
    for j in range(m):
        mean = 0.0
        for i in range(n):
            mean += data[i, j]
        mean /= n
        for i in range(n):
            data[i, j] -= mean
    for i in range(m):
        for j in range(i, m):
            s = 0.0
            for k in range(n):
                s += data[k, i] * data[k, j]
            cov[i, j] = cov[j, i] = s / (n - 1)
    return cov


def gesummv(alpha, beta, a, b, x):
    n = len(x)
    out = np.empty(n)
    for i in range(n):
        s, t = 0.0, 0.0
        for j in range(n):
            s += a[i, j] * x[j]
            t += b[i, j] * x[j]
        out[i] = alpha * s + beta * t
    return out


def fdtd_2d(ex, ey, hz, source):
    n, m = hz.shape
    for t in range(len(source)):
        for j in range(m):
            ey[0, j] = source[t]
        for i in range(1, n):
            for j in range(m):
                ey[i, j] -= 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in range(n):
            for j in range(1, m):
                ex[i, j] -= 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in range(n - 1):
            for j in range(m - 1):
                hz[i, j] -= 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])
    return ex, ey, hz


def laplacian(f, i, j, k):
    return 4.0 * f[i, j, k] - (f[i + 1, j, k] + f[i - 1, j, k] + f[i, j + 1, k] + f[i, j - 1, k])


def limited(near, far, slope):
    """A flux, none where it runs up the slope."""
    flux = far - near
    return 0.0 if flux * slope > 0 else flux


def hdiff(f, coefficient):
    """Horizontal diffusion: each Laplacian is made where it is used."""
    n, m, depth = coefficient.shape
    out = np.empty((n, m, depth))
    for i in range(n):
        for j in range(m):
            for k in range(depth):
                here = laplacian(f, i + 2, j + 2, k)
                up, down = laplacian(f, i + 1, j + 2, k), laplacian(f, i + 3, j + 2, k)
                left, right = laplacian(f, i + 2, j + 1, k), laplacian(f, i + 2, j + 3, k)
                v = f[i + 2, j + 2, k]
                out[i, j, k] = v - coefficient[i, j, k] * (
                    limited(here, down, f[i + 3, j + 2, k] - v)
                    - limited(up, here, v - f[i + 1, j + 2, k])
                    + limited(here, right, f[i + 2, j + 3, k] - v)
                    - limited(left, here, v - f[i + 2, j + 1, k]))
    return out


def warmer(s, t):
    """A step of heat from one block into the other."""
    n, m, depth = s.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            for k in range(1, depth - 1):
                v = s[i, j, k]
                t[i, j, k] = (0.125 * (s[i + 1, j, k] - 2.0 * v + s[i - 1, j, k])
                              + 0.125 * (s[i, j + 1, k] - 2.0 * v + s[i, j - 1, k])
                              + 0.125 * (s[i, j, k + 1] - 2.0 * v + s[i, j, k - 1]) + v)


def heat_3d(steps, a, b):
    for t in range(1, steps):
        warmer(a, b)
        warmer(b, a)
    return a, b


def jacobi_2d(steps, a, b):
    n, m = a.shape
    for t in range(1, steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                a[i, j] = 0.2 * (b[i, j] + b[i, j - 1] + b[i, j + 1] + b[i + 1, j] + b[i - 1, j])
    return a, b


def softmax(x):
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(x.shape[2]):
                most, total = x[i, j, k, 0], np.float32(0)
                for p in range(1, x.shape[3]):
                    most = max(most, x[i, j, k, p])
                for p in range(x.shape[3]):
                    out[i, j, k, p] = np.exp(x[i, j, k, p] - most)
                    total += out[i, j, k, p]
                for p in range(x.shape[3]):
                    out[i, j, k, p] /= total
    return out


# ---- Velociraptor's ----


def magnetic(i, j, k, ex, ey, ez, hx, hy, hz, cx, cy, cz, step):
    """A step of the fields that are at this place, everywhere."""
    if j < ey.shape[1] and k < ez.shape[2]:
        hx[i, j, k] += step * ((ey[i, j, k + 1] - ey[i, j, k]) * cz - (ez[i, j + 1, k] - ez[i, j, k]) * cy)
    if i < ex.shape[0] and k < ez.shape[2]:
        hy[i, j, k] += step * ((ez[i + 1, j, k] - ez[i, j, k]) * cx - (ex[i, j, k + 1] - ex[i, j, k]) * cz)
    if i < ex.shape[0] and j < ey.shape[1]:
        hz[i, j, k] += step * ((ex[i, j + 1, k] - ex[i, j, k]) * cy - (ey[i + 1, j, k] - ey[i, j, k]) * cx)


def electric(i, j, k, ex, ey, ez, hx, hy, hz, cx, cy, cz, step):
    """Off the boundary."""
    if j > 0 and k > 0:
        ex[i, j, k] += step * ((hz[i, j, k] - hz[i, j - 1, k]) * cy - (hy[i, j, k] - hy[i, j, k - 1]) * cz)
    if i > 0 and k > 0:
        ey[i, j, k] += step * ((hx[i, j, k] - hx[i, j, k - 1]) * cz - (hz[i, j, k] - hz[i - 1, j, k]) * cx)
    if i > 0 and j > 0:
        ez[i, j, k] += step * ((hy[i, j, k] - hy[i - 1, j, k]) * cx - (hx[i, j, k] - hx[i, j - 1, k]) * cy)


def fdtd_3d(steps, ex, ey, ez, hx, hy, hz, cx, cy, cz, step_e, step_h):
    """A cavity, a sample of which is taken each step."""
    record = np.zeros((steps, 3))
    nx, ny, nz = ex.shape[0], ey.shape[1], ez.shape[2]
    for t in range(steps):
        for i in range(nx + 1):
            for j in range(ny + 1):
                for k in range(nz + 1):
                    magnetic(i, j, k, ex, ey, ez, hx, hy, hz, cx, cy, cz, step_h)
        for i in range(nx):
            for j in range(ny):
                for k in range(nz):
                    electric(i, j, k, ex, ey, ez, hx, hy, hz, cx, cy, cz, step_e)
        record[t, 0], record[t, 1], record[t, 2] = ex[3, 3, 3], ey[3, 3, 3], ez[3, 3, 3]
    return record, ex, ey, ez, hx, hy, hz


def nb3d(steps, step, m, r, v, f):
    """Bodies whose places are rows: all displacements of a step first."""
    n = len(m)
    apart = np.empty((n, n, 3))
    for t in range(steps):
        for k in range(n):
            for i in range(n):
                for c in range(3):
                    apart[k, i, c] = r[i, c] - r[k, c]
        for k in range(n):
            for c in range(3):
                f[k, c] = 0.0
            for i in range(n):
                r2 = 1.0 if i == k else 0.0
                for c in range(3):
                    r2 += apart[k, i, c] ** 2
                pull = 0.0 if i == k else 1e-11 * m[i] * m[k] / (r2 * math.sqrt(r2))
                for c in range(3):
                    f[k, c] += pull * apart[k, i, c]
        for k in range(n):
            for c in range(3):
                v[k, c] += f[k, c] / m[k] * step
                r[k, c] += v[k, c] * step
    return f, v, r


# ---- Groups ----


def kmeans(x, count, turns):
    """Lloyd's algorithm: sums by groups, whose numbers come from the turn itself."""
    n, d = x.shape
    centres = x[:count].copy()
    label, often, sums = np.zeros(n, np.int64), np.zeros(count, np.int64), np.zeros((count, d))
    for t in range(turns):
        for c in range(count):
            often[c] = 0
            for k in range(d):
                sums[c, k] = 0.0
        for i in range(n):
            best = math.inf
            for c in range(count):
                far = 0.0
                for k in range(d):
                    far += (x[i, k] - centres[c, k]) ** 2
                if far < best:
                    best = far
                    label[i] = c
            often[label[i]] += 1
            for k in range(d):
                sums[label[i], k] += x[i, k]
        for c in range(count):
            if often[c] > 0:
                for k in range(d):
                    centres[c, k] = sums[c, k] / often[c]
    return centres, label


def gaussian_bayes(x, y, z, classes):
    """Naive Bayes with normal densities: fit, then the likeliest class."""
    n, d = x.shape
    mean, var, prior = np.zeros((classes, d)), np.zeros((classes, d)), np.zeros(classes)
    joint = np.zeros((len(z), classes))
    most = 0.0
    for k in range(d):
        s, t = 0.0, 0.0
        for i in range(n):
            s += x[i, k]
        for i in range(n):
            t += (x[i, k] - s / n) ** 2
        most = max(most, t / n)
    for i in range(n):
        prior[y[i]] += 1
        for k in range(d):
            mean[y[i], k] += x[i, k]
    for c in range(classes):
        for k in range(d):
            mean[c, k] /= prior[c]
    for i in range(n):
        for k in range(d):
            var[y[i], k] += (x[i, k] - mean[y[i], k]) ** 2
    for c in range(classes):
        for k in range(d):
            var[c, k] = var[c, k] / prior[c] + 1e-9 * most
        prior[c] /= n
    for i in range(len(z)):
        for c in range(classes):
            s = 0.0
            for k in range(d):
                s += math.log(2.0 * math.pi * var[c, k]) + (z[i, k] - mean[c, k]) ** 2 / var[c, k]
            joint[i, c] = math.log(prior[c]) - 0.5 * s
    return mean, var, joint, np.argmax(joint, axis=1)
