# SPDX-License-Identifier: Apache-2.0
"""Loop nests whose turns are independent but for sums: what ALPyNA and Velociraptor are measured on, and
the linear algebra and sums of the NumPy suites, all by elements."""

import math

import numpy as np

# ---- ALPyNA's ----


def vadd(a, b):
    c = np.empty(len(a))
    for i in range(len(a)):
        c[i] = a[i] + b[i]
    return c


def saxpy(alpha, x, y):
    out = np.empty(len(x), np.float32)
    for i in range(len(x)):
        out[i] = alpha * x[i] + y[i]
    return out


def conway(alive):
    """One turn; the border stays."""
    out = alive.copy()
    h, w = alive.shape
    for i in range(1, h - 1):
        for j in range(1, w - 1):
            n = (alive[i - 1, j - 1] + alive[i - 1, j] + alive[i - 1, j + 1] + alive[i, j - 1]
                 + alive[i, j + 1] + alive[i + 1, j - 1] + alive[i + 1, j] + alive[i + 1, j + 1])
            if n == 3 or (alive[i, j] == 1 and n == 2):
                out[i, j] = 1
            else:
                out[i, j] = 0
    return out


def hilbert(n):
    h = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            h[i, j] = 1.0 / (i + j + 1)
    return h


def jacobi_error(x):
    """A sweep, and how much each element changed."""
    n, m = x.shape
    new, error = np.empty((n, m)), np.empty((n, m))
    for i in range(n):
        for j in range(m):
            if 0 < i < n - 1 and 0 < j < m - 1:
                new[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])
            else:
                new[i, j] = x[i, j]
            error[i, j] = abs(new[i, j] - x[i, j])
    return new, error


def normal_share(d):
    """The share of a normal distribution below d, by a polynomial."""
    k = 1 / (1 + 0.2316419 * abs(d))
    powers = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (
        -1.821255978 + k * 1.330274429))))
    c = math.exp(-0.5 * d * d) * powers / math.sqrt(2 * math.pi)
    return 1 - c if d > 0 else c


def black_scholes(price, strike, years, rate, volatility):
    n = len(price)
    call, put = np.empty(n), np.empty(n)
    for i in range(n):
        spread = volatility * math.sqrt(years[i])
        d1 = (math.log(price[i] / strike[i])
              + (rate + volatility * volatility / 2) * years[i]) / spread
        share1, share2 = normal_share(d1), normal_share(d1 - spread)
        later = strike[i] * math.exp(-rate * years[i])
        call[i] = price[i] * share1 - later * share2
        put[i] = later * (1 - share2) - price[i] * (1 - share1)
    return call, put


def fbcorr(images, filters):
    """A bank of filters over pictures with channels."""
    count, rows, columns, channels = images.shape
    bank, fh, fw, _ = filters.shape
    out = np.zeros((count, bank, rows - fh + 1, columns - fw + 1))
    for n in range(count):
        for r in range(rows - fh + 1):
            for c in range(columns - fw + 1):
                for h in range(fh):
                    for w in range(fw):
                        for ch in range(channels):
                            for f in range(bank):
                                out[n, f, r, c] += images[n, r + h, c + w, ch] * filters[f, h, w, ch]
    return out


def conv_2d(x, taps):
    """Nothing is outside."""
    n, m = x.shape
    k = taps.shape[0]
    out = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            s = 0.0
            for p in range(k):
                for q in range(k):
                    r, c = i + k // 2 - p, j + k // 2 - q
                    if 0 <= r < n and 0 <= c < m:
                        s += taps[p, q] * x[r, c]
            out[i, j] = s
    return out


def mandelbrot(width, height, most):
    counts = np.zeros((height, width), np.int64)
    for y in range(height):
        for x in range(width):
            cr, ci = -2 + 2.5 * x / width, -1.25 + 2.5 * y / height
            zr, zi, k = 0.0, 0.0, 0
            while k < most and zr * zr + zi * zi <= 4:
                zr, zi = zr * zr - zi * zi + cr, 2 * zr * zi + ci
                k += 1
            counts[y, x] = k
    return counts


def gemm(alpha, beta, c, a, b):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += alpha * a[i, k] * b[k, j]
            c[i, j] = beta * c[i, j] + s
    return c


def gemver(alpha, beta, a, u1, v1, u2, v2, y, z, x, w):
    n = len(u1)
    for i in range(n):
        for j in range(n):
            a[i, j] += u1[i] * v1[j] + u2[i] * v2[j]
    for i in range(n):
        for j in range(n):
            x[i] += beta * a[j, i] * y[j]
    for i in range(n):
        x[i] += z[i]
    for i in range(n):
        for j in range(n):
            w[i] += alpha * a[i, j] * x[j]
    return a, x, w


def syr2k(alpha, beta, c, a, b):
    """The lower half."""
    for i in range(c.shape[0]):
        for j in range(i + 1):
            c[i, j] *= beta
        for k in range(a.shape[1]):
            for j in range(i + 1):
                c[i, j] += alpha * (a[j, k] * b[i, k] + b[j, k] * a[i, k])
    return c


# ---- Velociraptor's ----


def arc_distance_pairs(a, b):
    out = np.empty((len(a), len(b)))
    for i in range(len(a)):
        for j in range(len(b)):
            s, t = math.sin((b[j, 0] - a[i, 0]) / 2), math.sin((b[j, 1] - a[i, 1]) / 2)
            h = s * s + math.cos(a[i, 0]) * math.cos(b[j, 0]) * t * t
            out[i, j] = 2 * math.atan2(math.sqrt(h), math.sqrt(1 - h))
    return out


def julia(n, limit, most):
    counts = np.zeros((n, n), np.uint32)
    for i in range(n):
        for j in range(n):
            zr, zi = -1.5 + 3.0 * i / (n - 1), -1.5 + 3.0 * j / (n - 1)
            k = 0
            while zr * zr + zi * zi < limit * limit and k < most:
                zr, zi = zr * zr - zi * zi + 0.285, 2 * zr * zi + 0.01
                k += 1
            counts[i, j] = k
    return counts


def growcut(image, state, radius):
    """A turn of a fight of colonies for pixels, and how often one changed hands."""
    h, w = image.shape[0], image.shape[1]
    after = np.empty_like(state)
    changes = 0
    for i in range(h):
        for j in range(w):
            colony, defence = state[i, j, 0], state[i, j, 1]
            for jj in range(max(0, j - radius), min(w, j + radius + 1)):
                for ii in range(max(0, i - radius), min(h, i + radius + 1)):
                    if ii == i and jj == j:
                        continue
                    s = 0.0
                    for k in range(3):
                        d = image[i, j, k] - image[ii, jj, k]
                        s += d * d
                    attack = (1 - math.sqrt(s) / math.sqrt(3)) * state[ii, jj, 1]
                    if attack > defence:
                        defence = attack
                        colony = state[ii, jj, 0]
                        changes += 1
            after[i, j, 0] = colony
            after[i, j, 1] = defence
    return after[:, :, 0], after[:, :, 1], changes


def rosen_der(x):
    n = len(x)
    d = np.empty(n)
    d[0] = -400 * x[0] * (x[1] - x[0] ** 2) - 2 * (1 - x[0])
    for i in range(1, n - 1):
        d[i] = (200 * (x[i] - x[i - 1] ** 2) - 400 * (x[i + 1] - x[i] ** 2) * x[i]
                - 2 * (1 - x[i]))
    d[n - 1] = 200 * (x[n - 1] - x[n - 2] ** 2)
    return d


def nb1d(steps, step, m, x, y, z, vx, vy, vz, fx, fy, fz):
    """Bodies that attract each other: all forces, then all velocities and places."""
    n = len(m)
    for t in range(steps):
        for k in range(n):
            sx, sy, sz = 0.0, 0.0, 0.0
            for i in range(n):
                if i != k:
                    dx, dy, dz = x[i] - x[k], y[i] - y[k], z[i] - z[k]
                    r2 = dx * dx + dy * dy + dz * dz
                    f = 1e-11 * m[i] * m[k] / (r2 * math.sqrt(r2))
                    sx += f * dx
                    sy += f * dy
                    sz += f * dz
            fx[k], fy[k], fz[k] = sx, sy, sz
        for k in range(n):
            vx[k] += fx[k] / m[k] * step
            vy[k] += fy[k] / m[k] * step
            vz[k] += fz[k] / m[k] * step
            x[k] += vx[k] * step
            y[k] += vy[k] * step
            z[k] += vz[k] * step
    return fx, fy, fz, vx, vy, vz, x, y, z


def clos(n):
    """Which nodes of a graph reach which, by squaring its matrix."""
    a = np.zeros((n, n))
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            if i == j:
                a[i - 1, j - 1] = 1
            if i * j < n / 2:
                a[n - i - 1, i + j - 1] = 1
                a[i - 1, n - i - j - 1] = 1
    b, c = a.copy(), np.empty((n, n))
    half = n / 2
    while half >= 1:
        for i in range(n):
            for j in range(n):
                s = 0.0
                for k in range(n):
                    s += b[i, k] * b[k, j]
                c[i, j] = s
        for i in range(n):
            for j in range(n):
                b[i, j] = c[i, j]
        half /= 2
    reach = np.zeros((n, n), np.bool_)
    for i in range(n):
        for j in range(n):
            reach[i, j] = b[i, j] > 0
    return a, reach


# ---- The NumPy suites' ----


def spmv(rows, columns, values, x):
    """A sparse matrix, its rows packed, times a vector."""
    y = np.empty(len(rows) - 1)
    for i in range(len(rows) - 1):
        s = 0.0
        for p in range(rows[i], rows[i + 1]):
            s += values[p] * x[columns[p]]
        y[i] = s
    return y


def go_fast(a):
    trace = 0.0
    for i in range(a.shape[0]):
        trace += math.tanh(a[i, i])
    out = np.empty(a.shape)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = a[i, j] + trace
    return out, trace


def azimint_naive(data, radius, count):
    """Means of data by rings of equal width."""
    top = radius[0]
    for k in range(1, len(radius)):
        if radius[k] > top:
            top = radius[k]
    out = np.zeros(count)
    for i in range(count):
        low, high = top * i / count, top * (i + 1) / count
        s, n = 0.0, 0
        for k in range(len(data)):
            if low <= radius[k] and radius[k] < high:
                s += data[k]
                n += 1
        out[i] = s / n
    return out


def syrk(alpha, beta, c, a):
    """The lower half."""
    for i in range(c.shape[0]):
        for j in range(i + 1):
            c[i, j] *= beta
        for k in range(a.shape[1]):
            for j in range(i + 1):
                c[i, j] += alpha * a[i, k] * a[j, k]
    return c


def trmm(alpha, b, a):
    m, n = b.shape
    for i in range(m):
        for j in range(n):
            for r in range(i + 1, m):
                b[i, j] += a[r, i] * b[r, j]
            b[i, j] *= alpha
    return b


def symm(alpha, beta, c, a, b):
    """Only the lower half of `a` is read."""
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            s = 0.0
            for k in range(i):
                c[k, j] += alpha * b[i, j] * a[i, k]
                s += b[k, j] * a[i, k]
            c[i, j] = beta * c[i, j] + alpha * b[i, j] * a[i, i] + alpha * s
    return c


def trisolv(lower, x, b):
    for i in range(len(x)):
        x[i] = b[i]
        for j in range(i):
            x[i] -= lower[i, j] * x[j]
        x[i] /= lower[i, i]
    return x


def gramschmidt(a):
    m, n = a.shape
    q, r = np.zeros((m, n)), np.zeros((n, n))
    for k in range(n):
        s = 0.0
        for i in range(m):
            s += a[i, k] * a[i, k]
        r[k, k] = math.sqrt(s)
        for i in range(m):
            q[i, k] = a[i, k] / r[k, k]
        for j in range(k + 1, n):
            for i in range(m):
                r[k, j] += q[i, k] * a[i, j]
            for i in range(m):
                a[i, j] -= q[i, k] * r[k, j]
    return q, r, a
