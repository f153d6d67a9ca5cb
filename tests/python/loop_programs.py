# SPDX-License-Identifier: Apache-2.0
"""Time loops as programs write them: of a module (NumPy or braze.numpy), turns and a size, arrays."""


def jacobi_2d(m, turns, n):
    """Two arrays overwrite each other's inside."""
    a = m.arange(n * n).reshape(n, n) / n
    b = a * 1.5
    for _ in range(turns):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])
    return a, b


def heat_3d(m, turns, n):
    """Every turn makes an array."""
    n = min(n, 20)
    a = m.arange(n * n * n).reshape(n, n, n) / n
    for _ in range(turns):
        c = a[1:-1, 1:-1, 1:-1]
        new = a.copy()
        new[1:-1, 1:-1, 1:-1] = (0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * c + a[:-2, 1:-1, 1:-1])
                                 + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * c + a[1:-1, :-2, 1:-1])
                                 + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * c + a[1:-1, 1:-1, :-2]) + c)
        a = new
    return (a,)


def fdtd_2d(m, turns, n):
    """In place, with a number of each turn's."""
    ex = m.arange(n * n).reshape(n, n) / n
    ey, hz, drive = ex * 0.5, ex * 0.25, m.arange(turns) / turns
    for t in range(turns):
        ey[0, :] = drive[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


def adi_sweep(m, u, v, p, q):
    """Half a step: along columns there, and back."""
    n = u.shape[0]
    v[0, 1:-1], p[1:-1, 0], q[1:-1, 0] = 1.0, 0.0, v[0, 1:-1]
    for j in range(1, n - 1):
        p[1:-1, j] = 0.25 / (0.25 * p[1:-1, j - 1] + 1.5)
        q[1:-1, j] = (0.125 * u[j, :-2] + 0.75 * u[j, 1:-1] + 0.125 * u[j, 2:] + 0.25 * q[1:-1, j - 1]) / (0.25 * p[1:-1, j - 1] + 1.5)
    v[-1, 1:-1] = 1.0
    for j in range(n - 2, 0, -1):
        v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]


def adi(m, turns, n):
    """Sweeps within steps: as many columns, there and back twice, as make so many turns."""
    u = m.arange(n * n).reshape(n, n) % 11 / 11.0
    v, p, q = (m.zeros((n, n)) for _ in range(3))
    for _ in range(max(1, turns // (4 * n))):
        adi_sweep(m, u, v, p, q)
        adi_sweep(m, v, u, p, q)
    return u, v


def deriche(m, turns, n):
    """There and back over columns; what begins each sweep looks like a part of its turns."""
    x = m.arange(n * turns).reshape(n, turns) % 17 / 18
    y, z = m.zeros((n, turns)), m.zeros((n, turns))
    y[:, 0] = 0.2 * x[:, 0]
    y[:, 1] = 0.2 * x[:, 1] - 0.1 * x[:, 0] + 0.6 * y[:, 0]
    for j in range(2, turns):
        y[:, j] = 0.2 * x[:, j] - 0.1 * x[:, j - 1] + 0.6 * y[:, j - 1] - 0.25 * y[:, j - 2]
    z[:, -2] = 0.15 * x[:, -1]
    for j in range(turns - 3, -1, -1):
        z[:, j] = 0.15 * x[:, j + 1] - 0.12 * x[:, j + 2] + 0.6 * z[:, j + 1] - 0.25 * z[:, j + 2]
    return (y + z,)


def lu(m, turns, n):
    """Column updates; extents that move."""
    n = min(turns, 400)
    a = (m.arange(n * n).reshape(n, n) * 7 % 23) / 29.0 + 2.0 * n * m.eye(n)
    for k in range(n - 1):
        a[k + 1:, k] /= a[k, k]
        a[k + 1:, k + 1:] -= m.outer(a[k + 1:, k], a[k, k + 1:])
    return (a,)


def gathered(m, turns, n):
    """Places that move, and a row of each turn."""
    a, i = m.arange(n) / 8.0, m.arange(n) * 7 % n
    rows = m.zeros((turns, n))
    for t in range(turns):
        a = a * 0.5 + a[i] * 0.25
        i = (i + 1) % n
        rows[t] = a
    return a, rows


PROGRAMS = (jacobi_2d, heat_3d, fdtd_2d, adi, deriche, lu, gathered)
