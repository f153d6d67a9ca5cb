# SPDX-License-Identifier: Apache-2.0
"""Inputs of the programs made of loops, from seeds and formulas.  Each function takes a size of the
table and gives the arguments."""

import numpy as np

from . import inputs


def generator():
    return np.random.default_rng(0)


def size(*numbers):
    """The size itself is what the program wants."""
    return numbers


def grid(f, *shape):
    """Of a formula of the indices."""
    return np.asarray(f(*np.indices(shape)), np.float64)


# ---- turns that depend on each other ----


def bytes_of(n):
    return (np.array([49 + k % 9 for k in range(n)], np.uint8),)


def dominant(n):
    return (generator().random((n, n)) + n * np.eye(n),)


def definite(n):
    lower = np.tril(grid(lambda i, j: -j % n / n + 1, n, n), -1) + np.eye(n)
    return (lower @ lower.T,)


def strands(n, m):
    g = generator()
    return g.integers(0, 4, n, np.uint8), g.integers(0, 4, m, np.uint8), 3, -3, -2


def ways(n):
    i, j = np.indices((n, n))
    d = i * j % 7 + 1
    d[((i + j) % 13 == 0) | ((i + j) % 7 == 0) | ((i + j) % 11 == 0)] = 999
    return (d.astype(np.int32),)


def cells(n, turns):
    return (generator().random((n, n)) < 0.35).astype(np.int32), turns


def words(n, m):
    g = generator()
    return g.integers(97, 105, n, np.uint8), g.integers(97, 105, m, np.uint8)


def poisson(n, tolerance, most):
    f = np.zeros((n, n))
    f[n // 3, n // 2] = 1.0
    return np.zeros((n, n)), f, tolerance, most


def bases(n):
    return (generator().integers(0, 4, n),)


def labels(n, count):
    g = generator()
    return g.integers(0, count, n), g.random(n), count


def runs(n):
    g = generator()
    return (np.repeat(g.integers(0, 5, n, np.int16), g.integers(1, 9, n))[:n],)


def rays(n, m):
    g = generator()
    balls = np.column_stack((g.normal(0, 5, (m, 3)), g.random(m)))
    return g.standard_normal((n, 3)), balls


def graph(n, m):
    return n, generator().integers(0, n, (m, 2))


def two_series(n, m):
    g = generator()
    return np.cumsum(g.standard_normal(n)), np.cumsum(g.standard_normal(m))


# ---- nests ----

ALPHA, BETA = 1.5, 1.2


def uniforms(*shapes):
    g = generator()
    return tuple(g.random(shape) for shape in shapes)


def pair(n):
    return uniforms(n, n)


def single_pair(n):
    x, y = uniforms(n, n)
    return 2.5, x.astype(np.float32), y.astype(np.float32)


def plane(n):
    return uniforms((n, n))


def lives(n):
    return cells(n, 0)[:1]


def options(n):
    s, x, t = uniforms(n, n, n)
    return 5 + 25 * s, 1 + 99 * x, 0.25 + 9.75 * t, 0.02, 0.3


def pictures(n, rows, channels, bank, taps):
    return uniforms((n, rows, rows, channels), (bank, taps, taps, channels))


def picture_and_taps(n, k):
    return uniforms((n, n), (k, k))


def products(n, m, k):
    """C (n, m), A (n, k), B (k, m)."""
    return (ALPHA, BETA, grid(lambda i, j: (i * j + 1) % n / n, n, m),
            grid(lambda i, j: i * (j + 1) % k / k, n, k), grid(lambda i, j: i * (j + 2) % m / m, k, m))


def vectors_and_matrix(n):
    i = np.arange(n, dtype=np.float64)
    u2, v1, v2, y, z = ((i + 1) / n / d for d in (2, 4, 6, 8, 9))
    return (ALPHA, BETA, grid(lambda i, j: i * j % n / n, n, n), i, v1, u2, v2, y, z,
            np.zeros(n), np.zeros(n))


def two_factors(m, n):
    return (ALPHA, BETA, grid(lambda i, j: (i * j + 3) % n / m, n, n),
            grid(lambda i, j: (i * j + 1) % n / n, n, m), grid(lambda i, j: (i * j + 2) % m / m, n, m))


def one_factor(m, n):
    return (ALPHA, BETA, grid(lambda i, j: (i * j + 2) % n / m, n, n),
            grid(lambda i, j: (i * j + 1) % n / n, n, m))


def angles(n, m):
    return uniforms((n, 2), (m, 2))


def colonies(n, radius):
    image, = uniforms((n, n, 3))
    state = np.zeros((n, n, 2))
    state[0, 0] = 1, 1
    state[n * 3 // 4, n * 5 // 8] = 2, 1
    return image, state, radius


def vector(n):
    return uniforms(n)


def heaven(n, steps):
    g = generator()
    places, masses = 1000.23 * g.random((n, 3)), 345 * g.random(n)
    return steps, 0.04165, masses, *places.T.copy(), *np.zeros((6, n))


def heaven_in_rows(n, steps):
    steps, step, masses, *columns = heaven(n, steps)
    places, speeds, forces = (np.stack(columns[k:k + 3], axis=1) for k in (0, 3, 6))
    return steps, step, masses, places, speeds, forces


def blocks(steps, n):
    return (steps, *inputs.block_pair(np, n))


def planes(steps, n):
    return (steps, *inputs.plane_pair(np, n))


def lines(steps, n):
    return (steps, *inputs.line_pair(np, n))


def grid_of_adi(steps, n):
    return (steps, *inputs.adi(np, n))


def packed_rows(n, m):
    g = generator()
    counts = g.integers(0, 9, n)
    rows = np.concatenate(([0], np.cumsum(counts)))
    columns = g.integers(0, m, rows[-1])
    return rows, columns.astype(np.uint32), g.random(rows[-1]), g.random(m)


def seed_42(*shape):
    return (np.random.default_rng(42).random(shape),)


def scattered(n, count):
    g = np.random.default_rng(42)
    return g.random(n), g.random(n), count


def triangle(m, n):
    a = grid(lambda i, j: i * j % m / m, m, m)
    np.fill_diagonal(a, 1)
    return ALPHA, grid(lambda i, j: (n + i - j) % n / n, m, n), a


def half_read(m, n):
    a = grid(lambda i, j: (i + j) % 100 / m, m, m)
    a[np.triu_indices(m, 1)] = -999
    return (ALPHA, BETA, grid(lambda i, j: (i + j) % 100 / m, m, n), a,
            grid(lambda i, j: (n + i - j) % 100 / m, m, n))


def solvable(n):
    return (grid(lambda i, j: (i + n - j + 1) * 2 / n, n, n), np.full(n, -999.0),
            np.arange(n, dtype=np.float64))


# ---- streams and particles ----


def stream(turns, n):
    return turns, 0.4, np.full(n, 0.1), np.full(n, 0.2), np.zeros(n)


def stream_of_twos(turns, n):
    return turns, 3.0, np.zeros(n), np.full(n, 2.0), np.full(n, 2.0)


def square(turns, n):
    return turns, grid(lambda i, j: i * n + j, n, n), np.zeros((n, n))


def updates(n, turns, count):
    return np.full(n, 10101010101), generator().integers(0, n, (turns, count)), -1


def crystal(cells, steps):
    """Four atoms a cell, and velocities of one temperature that sum to nothing."""
    side = (4 / 0.8442) ** (1 / 3)
    z, y, x = np.indices((cells, cells, cells)).reshape(3, -1, 1)
    basis = np.array([(0, 0, 0), (0.5, 0.5, 0), (0.5, 0, 0.5), (0, 0.5, 0.5)])
    places = np.stack([(x + basis[:, 0]), (y + basis[:, 1]), (z + basis[:, 2])], -1).reshape(-1, 3)
    n = len(places)
    v = generator().random((n, 3)) - 0.5
    v -= v.mean(axis=0)
    v *= np.sqrt(1.4 / (2 * (v * v).sum() / (3 * n - 3)))
    return (steps, 0.005, cells * side, 2.5, np.array([2.0]), np.zeros(n, np.int32), places * side,
            v, np.zeros((n, 3)))


def electrons(n):
    """With room for as many new ones."""
    g = generator()
    x, v, w = np.zeros(2 * n), np.zeros((2 * n, 3)), np.zeros(2 * n)
    x[:n] = 2 * (np.arange(n) + 0.5) / n
    v[:n] = g.standard_normal((n, 3)) * np.sqrt(20 * 1.75455e11)
    w[:n] = 1
    field = 100 * np.cos(np.pi * (np.arange(64) + 0.5) / 64)
    return (n, 3.22e22 * 1000, x, v, w, field, g.random((n, 7)), np.zeros(n, np.int64),
            np.zeros(n))


def rows_of_classes(n, m, classes):
    """Training rows, class by class, and others to be told."""
    g = np.random.default_rng(0)
    x = g.standard_normal((n, 4)) + 2.0 * (np.arange(n) * classes // n)[:, None]
    return x, g.standard_normal((m, 4)) + 2.0 * (np.arange(m) % classes)[:, None], classes
