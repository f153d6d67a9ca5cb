# SPDX-License-Identifier: Apache-2.0
"""Stencils, sweeps and streams of the NumPy suites, and equations of physics on grids."""


def jacobi_1d(np, steps, a, b):
    for _ in range(1, steps):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])
    return a, b


def jacobi_2d(np, steps, a, b):
    for _ in range(1, steps):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])
    return a, b


def heat_step(s, t):
    c = s[1:-1, 1:-1, 1:-1]
    t[1:-1, 1:-1, 1:-1] = (0.125 * (s[2:, 1:-1, 1:-1] - 2.0 * c + s[:-2, 1:-1, 1:-1])
                           + 0.125 * (s[1:-1, 2:, 1:-1] - 2.0 * c + s[1:-1, :-2, 1:-1])
                           + 0.125 * (s[1:-1, 1:-1, 2:] - 2.0 * c + s[1:-1, 1:-1, :-2]) + c)


def heat_3d(np, steps, a, b):
    for _ in range(1, steps):
        heat_step(a, b)
        heat_step(b, a)
    return a, b


def fdtd_2d(np, ex, ey, hz, source):
    for t in range(source.shape[0]):
        ey[0, :] = source[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


def hdiff(np, f, coefficient):
    """Horizontal diffusion with flux limiters."""
    n, m = coefficient.shape[0], coefficient.shape[1]
    lap = 4.0 * f[1 : n + 3, 1 : m + 3, :] - (f[2 : n + 4, 1 : m + 3, :] + f[0 : n + 2, 1 : m + 3, :]
                                              + f[1 : n + 3, 2 : m + 4, :] + f[1 : n + 3, 0 : m + 2, :])
    r = lap[1:, 1 : m + 1, :] - lap[:-1, 1 : m + 1, :]
    fx = np.where(r * (f[2 : n + 3, 2 : m + 2, :] - f[1 : n + 2, 2 : m + 2, :]) > 0, 0, r)
    r = lap[1 : n + 1, 1:, :] - lap[1 : n + 1, :-1, :]
    fy = np.where(r * (f[2 : n + 2, 2 : m + 3, :] - f[2 : n + 2, 1 : m + 2, :]) > 0, 0, r)
    return f[2 : n + 2, 2 : m + 2, :] - coefficient * (fx[1:, :, :] - fx[:-1, :, :] + fy[:, 1:, :]
                                                       - fy[:, :-1, :])


def adi(np, steps, u):
    """Alternating directions: recurrences along one axis, vectors along the other."""
    n = u.shape[0]
    v, p, q = np.empty(u.shape), np.empty(u.shape), np.empty(u.shape)
    dx, dt = 1.0 / n, 1.0 / steps
    mu1, mu2 = 2.0 * dt / (dx * dx), dt / (dx * dx)
    a = c = -mu1 / 2
    b, e = 1 + mu2, 1 + mu2
    d = f = -mu2 / 2
    for _ in range(steps):
        v[0, 1:-1] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = v[0, 1:-1]
        for j in range(1, n - 1):
            p[1:-1, j] = -c / (a * p[1:-1, j - 1] + b)
            q[1:-1, j] = ((-d * u[j, :-2] + (1 + 2 * d) * u[j, 1:-1] - f * u[j, 2:] - a * q[1:-1, j - 1])
                          / (a * p[1:-1, j - 1] + b))
        v[n - 1, 1:-1] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]
        u[1:-1, 0] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = u[1:-1, 0]
        for j in range(1, n - 1):
            p[1:-1, j] = -f / (d * p[1:-1, j - 1] + e)
            q[1:-1, j] = ((-a * v[:-2, j] + (1 + 2 * a) * v[1:-1, j] - c * v[2:, j] - d * q[1:-1, j - 1])
                          / (d * p[1:-1, j - 1] + e))
        u[1:-1, n - 1] = 1.0
        for j in range(n - 2, 0, -1):
            u[1:-1, j] = p[1:-1, j] * u[1:-1, j + 1] + q[1:-1, j]
    return u


def fdtd_3d(np, steps, ex, ey, ez, hx, hy, hz, cx, cy, cz, step_e, step_h):
    """A cavity in three dimensions; a sample of the field is taken each step."""
    record = np.zeros((steps, 3))
    for s in range(steps):
        hx += step_h * ((ey[:, :, 1:] - ey[:, :, :-1]) * cz - (ez[:, 1:, :] - ez[:, :-1, :]) * cy)
        hy += step_h * ((ez[1:, :, :] - ez[:-1, :, :]) * cx - (ex[:, :, 1:] - ex[:, :, :-1]) * cz)
        hz += step_h * ((ex[:, 1:, :] - ex[:, :-1, :]) * cy - (ey[1:, :, :] - ey[:-1, :, :]) * cx)
        ex[:, 1:-1, 1:-1] += step_e * ((hz[:, 1:, 1:-1] - hz[:, :-1, 1:-1]) * cy
                                       - (hy[:, 1:-1, 1:] - hy[:, 1:-1, :-1]) * cz)
        ey[1:-1, :, 1:-1] += step_e * ((hx[1:-1, :, 1:] - hx[1:-1, :, :-1]) * cz
                                       - (hz[1:, :, 1:-1] - hz[:-1, :, 1:-1]) * cx)
        ez[1:-1, 1:-1, :] += step_e * ((hy[1:, 1:-1, :] - hy[:-1, 1:-1, :]) * cx
                                       - (hx[1:-1, 1:, :] - hx[1:-1, :-1, :]) * cy)
        record[s, 0] = ex[3, 3, 3]
        record[s, 1] = ey[3, 3, 3]
        record[s, 2] = ez[3, 3, 3]
    return ex, ey, ez, hx, hy, hz, record


def floyd_warshall(np, d):
    """Shortest ways between all pairs, in integers."""
    for k in range(d.shape[0]):
        d[:] = np.minimum(d[:], np.add.outer(d[:, k], d[k, :]))
    return d


def jacobi_error(np, x):
    """A sweep on a grid, and how much each point changed."""
    new = x.copy()
    new[1:-1, 1:-1] = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
    return new, np.abs(new - x)


def laplace_converge(np, x, tolerance, most):
    """Sweeps until the largest change is small: a number is read each turn."""
    for turn in range(most):
        new = x.copy()
        new[1:-1, 1:-1] = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
        change = float(np.abs(new - x).max())
        x = new
        if change < tolerance:
            break
    return x, turn


def conv_2d(np, x, h):
    """A convolution with zeros outside, a tap at a time."""
    n, m = x.shape[0], h.shape[0]
    half = m // 2
    padded = np.zeros((n + 2 * half, n + 2 * half))
    padded[half : half + n, half : half + n] = x
    y = np.zeros((n, n))
    for p in range(m):
        for q in range(m):
            y += h[p, q] * padded[2 * half - p : 2 * half - p + n, 2 * half - q : 2 * half - q + n]
    return y


def wave_sensor(np, u, old, steps, place):
    """A wave in a plane; a sensor is read as a float each step."""
    heard = []
    for _ in range(steps):
        new = 2 * u - old
        new[1:-1, 1:-1] += 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
                                   - 4 * u[1:-1, 1:-1])
        old, u = u, new
        heard.append(float(u[place, place]))
    return u, np.array(heard)


# ---- streams ----


def babelstream(np, steps, a, b, c):
    for _ in range(steps):
        c[:] = a
        b[:] = 0.4 * c
        c[:] = a + b
        a[:] = b + 0.4 * c
        dot = (a * b).sum()
    return a, b, c, dot


def nstream(np, steps, a, b, c):
    for _ in range(steps):
        a += b + 3.0 * c
    return a


def transpose(np, steps, a, b):
    for _ in range(steps):
        b += a.T
        a += 1
    return a, b


def vadd(np, a, b):
    return a + b


def saxpy(np, alpha, x, y):
    return alpha * x + y


def hilbert(np, n):
    i = np.arange(n)
    return 1 / (i[:, None] + i + 1)


def rosen_der(np, x):
    """The gradient of Rosenbrock's function."""
    m = x[1:-1]
    d = np.zeros_like(x)
    d[1:-1] = 200 * (m - x[:-2] ** 2) - 400 * (x[2:] - m**2) * m - 2 * (1 - m)
    d[0] = -400 * x[0] * (x[1] - x[0] ** 2) - 2 * (1 - x[0])
    d[-1] = 200 * (x[-1] - x[-2] ** 2)
    return d


def arc_distance_pairs(np, a, b):
    """Distances between all points of one set and all of another."""
    t0, p0, t1, p1 = a[:, :1], a[:, 1:], b[:, 0], b[:, 1]
    h = np.sin((t1 - t0) / 2) ** 2 + np.cos(t0) * np.cos(t1) * np.sin((p1 - p0) / 2) ** 2
    return 2 * np.arctan2(np.sqrt(h), np.sqrt(1 - h))


def softmax(np, x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def azimint_naive(np, data, radius, bins):
    """Means in rings: a mask for each."""
    largest = radius.max()
    out = np.zeros(bins)
    for i in range(bins):
        inside = np.logical_and(largest * i / bins <= radius, radius < largest * (i + 1) / bins)
        out[i] = data[inside].mean()
    return out


def go_fast(np, a):
    """The diagonal is read element by element."""
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace
