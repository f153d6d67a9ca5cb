# SPDX-License-Identifier: Apache-2.0
"""The 21 array programs that DelayRepay reports, from their formulas."""


def arc_distance(np, t0, p0, t1, p1):
    """Distances on the unit sphere, point by point."""
    h = np.sin((t1 - t0) / 2) ** 2 + np.cos(t0) * np.cos(t1) * np.sin((p1 - p0) / 2) ** 2
    return 2 * np.arctan2(np.sqrt(h), np.sqrt(1 - h))


def create_grid(np, n):
    """Coordinates of the nodes of a flat grid, a row for each."""
    x = np.arange(n) / n
    z = np.zeros((n, n, 3))
    z[:, :, 0] = x.reshape(-1, 1)
    z[:, :, 1] = x
    return z.reshape(n * n, 3)


def cronbach(np, scores):
    """Cronbach's alpha of a test whose items stand in rows."""
    n = scores.shape[0]
    items = scores.var(axis=1, ddof=1).sum()
    total = scores.sum(axis=0).var(ddof=1)
    return n / (n - 1) * (1 - items / total)


def euclidean_distance_square(np, x1, x2):
    """Squared distances of one point from many, by the product."""
    return -2 * np.dot(x1, x2.T) + np.sum(np.square(x1), axis=1)[:, None] + np.sum(np.square(x2), axis=1)


def evolve(np, grid, dt):
    """A step of diffusion on a torus."""
    around = (np.roll(grid, 1, axis=0) + np.roll(grid, -1, axis=0)
              + np.roll(grid, 1, axis=1) + np.roll(grid, -1, axis=1))
    return grid + dt * (around - 4 * grid)


def neighbours(z):
    return z[:-2, 1:-1] + z[1:-1, :-2] - 4 * z[1:-1, 1:-1] + z[1:-1, 2:] + z[2:, 1:-1]


def grayscott(np, big_u, big_v, steps):
    """Reaction and diffusion of two substances; the grids are written in place."""
    u, v = big_u[1:-1, 1:-1], big_v[1:-1, 1:-1]
    for _ in range(steps):
        lu, lv = neighbours(big_u), neighbours(big_v)
        w = u * v * v
        u += 0.16 * lu - w + 0.04 * (1 - u)
        v += 0.08 * lv + w - 0.1 * v
    return big_u, big_v


def harris(np, image):
    """Response of the corner detector with single differences."""
    dx = image[1:, 1:] - image[:-1, 1:]
    dy = image[1:, 1:] - image[1:, :-1]
    a, b, c = dx * dx, dy * dy, dx * dy
    return a * b - c * c - 0.05 * (a + b) ** 2


def hasting(np, y, a1, a2, b1, b2, d1, d2):
    """A food chain of three species: the derivatives, number by number."""
    f1 = a1 * y[0] * y[1] / (1 + b1 * y[0])
    f2 = a2 * y[1] * y[2] / (1 + b2 * y[1])
    return np.array([y[0] * (1 - y[0]) - f1, f1 - f2 - d1 * y[1], f2 - d2 * y[2]])


def l1norm(np, x, y):
    """Manhattan distance of each row of x from each of y."""
    return np.abs(x[:, None, :] - y).sum(axis=2)


def l2norm(np, x):
    return np.sqrt((np.abs(x) ** 2).sum(axis=1))


def laplacien(np, x):
    """Edges of a colour picture, scaled by the strongest."""
    o = np.abs(4 * x[1:-1, 1:-1] - x[:-2, 1:-1] - x[2:, 1:-1] - x[1:-1, :-2] - x[1:-1, 2:])
    return o / (np.maximum(1, o.max()) + 1e-9)


def log_likelihood(np, x, mean, sigma):
    density = np.exp(-((x - mean) ** 2 / (2 * sigma**2))) / (np.sqrt(2 * np.pi) * sigma)
    return np.log(density).sum()


def lstsqr(np, x, y):
    """Slope and offset of the line through points."""
    x_mean, y_mean = x.mean(), y.mean()
    slope = ((x - x_mean) * (y - y_mean)).sum() / ((x - x_mean) ** 2).sum()
    return slope, y_mean - slope * x_mean


def nn(np, x1, x2, y, rounds):
    """One neuron learns; its weights are Python's numbers."""
    w1, w2, b = 0.5, -0.5, 0.0
    for _ in range(rounds):
        o = 1 / (1 + np.exp(-(w1 * x1 + w2 * x2 + b)))
        e = o - y
        w1 -= float((e * x1).mean())
        w2 -= float((e * x2).mean())
        b -= float(e.mean())
    return o, w1, w2, b


def pairwise(np, x):
    """Distances between all pairs of rows."""
    return np.sqrt(((x[None, :, :] - x[:, None, :]) ** 2).sum(axis=2))


def pythagorean_id(np, x):
    return np.sin(x) ** 2 + np.cos(x) ** 2


def repeating(np, x, times):
    """A vector, and behind it each element repeated."""
    n = x.shape[0]
    out = np.empty(n * (1 + times))
    out[:n] = x
    out[n:].reshape(n, times)[...] = x.reshape(-1, 1)
    return out


def reverse_cumsum(np, x):
    return np.cumsum(x[::-1])[::-1]


def rosen(np, x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def specialconvolve(np, a):
    """A 3 by 3 box less nine times its centre, in unsigned integers that wrap around."""
    rows = a[:-2] + a[1:-1] + a[2:]
    return rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:] - 9 * a[1:-1, 1:-1]


def vibr_energy(np, harmonic, anharmonic, i):
    return np.exp(-harmonic * i - anharmonic * i**2)
