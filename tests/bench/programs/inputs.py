# SPDX-License-Identifier: Apache-2.0
"""Inputs of the programs: from seeds and formulas, made with either array module.

Each function takes the module and a size (a tuple of the table) and gives the arguments
behind `np`.  `uniforms(3)` and its like make such functions.
"""

ALPHA, BETA = 1.5, 1.2


def uniforms(count):
    def make(np, *shape):
        g = np.random.default_rng(0)
        return tuple(g.random(shape) for _ in range(count))
    return make


def normals(count):
    def make(np, *shape):
        g = np.random.default_rng(0)
        return tuple(g.standard_normal(shape) for _ in range(count))
    return make


def numbers(np, *size):
    """The size itself is what the program wants."""
    return size


def and_then(make, *more):
    """The arguments of another function, and more behind them."""
    return lambda np, *size: (*make(np, *size), *more)


def before(first, make):
    """Some arguments of the size go before the others: `first` of them."""
    return lambda np, *size: (*size[:first], *make(np, *size[first:]))


def behind(last, make):
    return lambda np, *size: (*make(np, *size[:-last]), *size[-last:])


def indices(np, *shape):
    """i and j as columns and rows that broadcast."""
    return np.arange(shape[0])[:, None], np.arange(shape[1])


# ---- array programs ----


def diffusion(np, n):
    grid = np.zeros((n, n))
    grid[int(0.4 * n) : int(0.5 * n), int(0.4 * n) : int(0.5 * n)] = 0.005
    return grid, 0.1


def reaction(np, n, steps):
    g = np.random.default_rng(0)
    big_u, big_v = np.zeros((n + 2, n + 2), "float32"), np.zeros((n + 2, n + 2), "float32")
    u, v = big_u[1:-1, 1:-1], big_v[1:-1, 1:-1]
    u += 1
    r = max(n // 15, 1)
    q = slice(n // 2 - r, n // 2 + r)
    big_u[q, q], big_v[q, q] = 0.5, 0.25
    u += 0.15 * g.random((n, n))
    v += 0.15 * g.random((n, n))
    return big_u, big_v, steps


def one_and_many(np, d, n):
    g = np.random.default_rng(0)
    return g.random((1, d)), g.random((n, d))


def food_chain(np):
    g = np.random.default_rng(0)
    y = g.random(3)
    return (y, *(float(p) for p in g.random(7)[1:]))


def neuron(np, n, rounds):
    g = np.random.default_rng(0)
    x1, x2 = g.random(n), g.random(n)
    return x1, x2, np.where(x1 + x2 > 1, 1.0, 0.0), rounds


def line(np, n, d):
    return (np.linspace(0, 10, n * d).reshape(n, d),)


def counting(np, n):
    return (np.arange(float(n)),)


def integers_32(np, n):
    return (np.random.default_rng(0).integers(0, 2**32, (n, n), dtype="uint32"),)


# ---- linear algebra ----


def gemm(np, n, m, k):
    i, j = indices(np, n, k)
    a = (i * (j + 1) % k) / k
    i, j = indices(np, k, m)
    b = (i * (j + 2) % m) / m
    i, j = indices(np, n, m)
    return ALPHA, BETA, ((i * j + 1) % n) / n, a, b


def gemver(np, n):
    i, j = indices(np, n, n)
    v = np.arange(n)
    return (ALPHA, BETA, (i * j % n) / n, v * 1.0, (v + 1) / n / 4, (v + 1) / n / 2, (v + 1) / n / 6,
            np.zeros(n), (v + 1) / n / 8, (v + 1) / n / 9, np.zeros(n))


def gesummv(np, n):
    i, j = indices(np, n, n)
    return ALPHA, BETA, ((i * j + 1) % n) / n, ((i * j + 2) % n) / n, np.arange(n) / n


def mvt(np, n):
    i, j = indices(np, n, n)
    v = np.arange(n)
    return (*((v + k) % n / n for k in (0, 1, 3, 4)), (i * j % n) / n)


def syrk(np, m, n):
    i, j = indices(np, n, n)
    p, q = indices(np, n, m)
    return ALPHA, BETA, ((i * j + 2) % n) / m, ((p * q + 1) % n) / n


def syr2k(np, m, n):
    i, j = indices(np, n, n)
    p, q = indices(np, n, m)
    return ALPHA, BETA, ((i * j + 3) % n) / m, ((p * q + 1) % n) / n, ((p * q + 2) % m) / m


def symm(np, m, n):
    i, j = indices(np, m, n)
    c, b = ((i + j) % 100) / m, ((n + i - j) % 100) / m
    i, j = indices(np, m, m)
    return ALPHA, BETA, c, np.where(i >= j, ((i + j) % 100) / m, -999.0), b


def trmm(np, m, n):
    i, j = indices(np, m, m)
    a = np.where(i == j, 1.0, (i * j % m) / m)
    i, j = indices(np, m, n)
    return ALPHA, a, ((n + i - j) % n) / n


def trisolv(np, n):
    i, j = indices(np, n, n)
    return (i + n - j + 1) * 2 / n, np.full(n, -999.0), np.arange(float(n))


def definite(np, n):
    """A symmetric positive definite matrix, well conditioned."""
    a = np.random.default_rng(0).random((n, n))
    return (a @ a.T / n + 2 * np.eye(n),)


def definite_with_tolerance(np, n):
    return (*definite(np, n), np.random.default_rng(1).random(n), 1e-20)


def diagonal_heavy(np, n):
    return (np.random.default_rng(0).random((n, n)) + n * np.eye(n),)


def seed_42(np, *shape):
    return (np.random.default_rng(42).random(shape),)


def covariance(np, n, m):
    i, j = indices(np, n, m)
    return (i * j / m,)


def reachable(np, n):
    """Ones on the diagonal, and beside some hyperbolas."""
    i, j = indices(np, n + 1, n + 1)
    near = (i * j < n / 2) & (i > 0) & (j > 0)
    rows, columns = np.nonzero(near)
    a = np.zeros((n + 1, n + 1))
    a[n - rows, rows + columns] = 1
    a[rows, n - rows - columns] = 1
    return ((np.maximum(a, np.eye(n + 1)))[1:, 1:],)


def systems(np, n, count):
    g = np.random.default_rng(0)
    return g.random((n, count)), 4 + g.random((n, count)), g.random((n, count)), g.random((n, count))


def symmetric_and_start(np, n):
    a = np.random.default_rng(0).random((n, n))
    return a + a.T, np.ones(n), 1e-9


# ---- stencils ----


def line_pair(np, n):
    v = np.arange(n)
    return (v + 2) / n, (v + 3) / n


def plane_pair(np, n):
    i, j = indices(np, n, n)
    return i * (j + 2) / n, i * (j + 3) / n


def block_pair(np, n):
    a = np.random.default_rng(0).random((n, n, n))
    return a, a.copy()


def cavity_2d(np, turns, n, m):
    i, j = indices(np, n, m)
    return i * (j + 1) / n, i * (j + 2) / m, i * (j + 3) / n, np.arange(float(turns))


def hdiff(np, n, m, k):
    g = np.random.default_rng(42)
    f = g.random((n + 4, m + 4, k))
    g.random((n, m, k))
    return f, g.random((n, m, k))


def adi(np, n):
    i, j = indices(np, n, n)
    return ((i + n - j) / n,)


def cavity_3d(np, steps, nx, ny, nz):
    ex, ey, ez = (np.zeros(s) for s in ((nx, ny + 1, nz + 1), (nx + 1, ny, nz + 1), (nx + 1, ny + 1, nz)))
    hx, hy, hz = (np.zeros(s) for s in ((nx + 1, ny, nz), (nx, ny + 1, nz), (nx, ny, nz + 1)))
    ex[0, 1, 1], ey[1, 0, 1], ez[1, 1, 0] = 1, 2, 3
    cx, cy, cz = nx / 0.05, ny / 0.04, nz / 0.03
    dt = 1 / (299792458 * 866.0254 * max(nx / 25, 1))
    return (steps, ex, ey, ez, hx, hy, hz, cx, cy, cz, dt / 8.8541878e-12, dt / (4e-7 * 3.141592653589793))


def ways(np, n):
    i, j = indices(np, n, n)
    s = i + j
    none = (s % 13 == 0) | (s % 7 == 0) | (s % 11 == 0)
    return (np.where(none, 999, i * j % 7 + 1).astype("int32"),)


def picture_and_taps(np, n, m):
    g = np.random.default_rng(0)
    return g.random((n, n)), g.random((m, m))


def hot_edge(np, n):
    x = np.zeros((n, n))
    x[0] = 1.0
    return x, 3e-4, 400


def drop(np, n, steps):
    i, j = indices(np, n, n)
    u = np.exp(-((i - n / 3) ** 2 + (j - n / 3) ** 2) / n)
    return u, u.copy(), steps, n // 2


def stream(np, n):
    return np.full(n, 0.1), np.full(n, 0.2), np.zeros(n)


def stream_twos(np, n):
    return np.zeros(n), np.full(n, 2.0), np.full(n, 2.0)


def transposable(np, n):
    return np.arange(float(n * n)).reshape(n, n), np.zeros((n, n))


def single_pair(np, n):
    g = np.random.default_rng(0)
    return 2.5, g.random(n).astype("float32"), g.random(n).astype("float32")


def angles(np, n, m):
    g = np.random.default_rng(0)
    return g.random((n, 2)), g.random((m, 2))


def single_42(np, *shape):
    return (np.random.default_rng(42).random(shape, dtype="float32"),)


def scattering(np, n, bins):
    g = np.random.default_rng(42)
    return g.random(n), g.random(n), bins


# ---- learning ----


def network(np, n, d, h, rounds):
    g = np.random.default_rng(0)
    x = g.random((n, d))
    y = np.where(x.sum(axis=1, keepdims=True) > d / 2, 1.0, 0.0)
    return x, y, g.standard_normal((d, h)), g.standard_normal((h, 1)), rounds


def regression(np, n, d, rounds):
    g = np.random.default_rng(0)
    x = g.standard_normal((n, d))
    return x, x @ np.arange(d) / d + 0.1 * g.standard_normal(n), np.zeros(d), rounds, 0.05


def two_classes(np, n, d, rounds):
    g = np.random.default_rng(0)
    x = g.standard_normal((n, d))
    return x, (x.sum(axis=1) + 0.3 * g.standard_normal(n) > 0).astype(float), rounds


def clusters(np, n, d, k, turns):
    g = np.random.default_rng(0)
    return g.standard_normal((n, d)) + 4 * g.integers(0, 3, (n, 1)), k, turns


def classes_4(np, n, classes):
    g = np.random.default_rng(0)
    y = np.arange(n) % classes
    x = g.standard_normal((n, 4)) + 2 * y[:, None]
    z = g.standard_normal((3 * n // 4, 4)) + 2 * (np.arange(3 * n // 4) % classes)[:, None]
    return x, y, z, classes


def tracked(np, steps):
    g = np.random.default_rng(0)
    f = np.eye(4) + 0.1 * np.eye(4, k=2)
    return g.standard_normal((steps, 2)).cumsum(axis=0), f, np.eye(2, 4), 0.01 * np.eye(4), np.eye(2)


def series(np, steps, many):
    return (np.random.default_rng(0).standard_normal((steps, many)),)


def observed(np, steps, count):
    return [float(z) for z in np.random.default_rng(0).standard_normal(steps)], count


def labelled(np, n, classes, d):
    g = np.random.default_rng(0)
    return g.integers(0, classes, n), classes, g.random((n, d))


def batches(np, n, d, size):
    g = np.random.default_rng(0)
    x = g.standard_normal((n, d))
    return x, x @ np.arange(d) / d, np.zeros(d), size, 0.05


# ---- simulations ----


def bodies(np, n, steps):
    g = np.random.default_rng(0)
    return g.random((n, 3)), 0.1 * g.standard_normal((n, 3)), g.random(n) / n, steps, 0.01


def heavenly(np, n, steps):
    g = np.random.default_rng(0)
    r = 1000.23 * g.random((n, 3))
    return r, 345 * g.random(n), steps, 0.04165


def heavenly_columns(np, n, steps):
    r, m, steps, dt = heavenly(np, n, steps)
    return r[:, 0].copy(), r[:, 1].copy(), r[:, 2].copy(), m, steps, dt


def lorenz(np, steps):
    return np.array([1.0, 1.0, 1.0]), steps, 0.001


def pendulums(np, n, steps):
    g = np.random.default_rng(0)
    return g.standard_normal(n), g.standard_normal(n), steps, 0.01


def pendulums_alone(np, n, turns):
    return 3 * np.random.default_rng(0).standard_normal(n), turns


def positive(np, n):
    return (1 + 10 * np.random.default_rng(0).random(n),)


def options(np, n):
    g = np.random.default_rng(0)
    return 5 + 25 * g.random(n), 1 + 99 * g.random(n), 0.25 + 9.75 * g.random(n), 0.02, 0.3


def towns(np, n, days):
    i = np.random.default_rng(0).random(n) * 5
    return 1000 - i, i, np.zeros(n), 0.3, 0.1, days


def points(np, n, turns):
    return np.random.default_rng(0).random((n, 2)), turns


def web(np, n):
    return (np.random.default_rng(0).random((n, n)) < 10 / n).astype(float), 1e-10


def edges(np, n, degree, turns):
    g = np.random.default_rng(0)
    return g.integers(0, n, n * degree), g.integers(0, n, n * degree), n, turns


# ---- pictures ----


def cells(np, n, turns):
    return (np.random.default_rng(0).random((n, n)) < 0.35).astype("int32"), turns


def signal(np, n):
    t = np.arange(n) / n
    return np.sin(40 * t) + 0.3 * np.random.default_rng(0).standard_normal(n), n // 20


def taps(np, n):
    k = np.arange(-4, 5)
    w = np.exp(-k * k / 8)
    return np.random.default_rng(0).random((n, n)), w / w.sum()


def colours(np, n):
    return (np.random.default_rng(0).integers(0, 256, (n, n, 3), dtype="uint8"),)


def dark(np, n):
    g = np.random.default_rng(0)
    return ((g.random((n, n)) ** 2 * 200).astype("uint8"),)


def bright_and_dark(np, n):
    g = np.random.default_rng(0)
    return (np.where(g.random((n, n)) < 0.4, 0.7, 0.2) + 0.1 * g.standard_normal((n, n)),)


def blobs(np, n):
    """Squares of 6 with bridges here and there, so that parts stay small."""
    i, j = indices(np, n, n)
    return (((i % 8 < 6) & (j % 8 < 6)) | ((i % 8 == 3) & (j % 32 < 20)),)


# ---- tables ----


def gaps(np, n, columns):
    g = np.random.default_rng(0)
    table = g.standard_normal((n, columns)) * 3 + 5
    return (np.where(g.random((n, columns)) < 0.02, np.nan, table),)


def keyed(np, n, groups):
    g = np.random.default_rng(0)
    return g.integers(0, groups, n), g.random(n)


def grouped(np, n, groups):
    return (*keyed(np, n, groups), groups)


def prices(np, n):
    return (100 * np.exp(np.cumsum(0.01 * np.random.default_rng(0).standard_normal(n))),)


def letters(np, n, m):
    g = np.random.default_rng(0)
    return g.integers(0, 4, n), g.integers(0, 4, m)


def items(np, n, room):
    g = np.random.default_rng(0)
    return g.integers(1, 50, n), g.random(n), room


def markov(np, states, steps):
    g = np.random.default_rng(0)
    move, emit = g.random((states, states)), g.random((states, 8))
    return (np.full(states, 1 / states), move / move.sum(axis=1)[:, None],
            emit / emit.sum(axis=1)[:, None], [int(k) for k in g.integers(0, 8, steps)])
