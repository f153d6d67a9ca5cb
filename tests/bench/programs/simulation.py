# SPDX-License-Identifier: Apache-2.0
"""Simulations: bodies, chances, epidemics, prices; roots and steps in time."""


def nbody(np, place, speed, mass, steps, dt):
    """Bodies under gravity, all pairs at once, softened."""
    for _ in range(steps):
        d = place[None, :, :] - place[:, None, :]
        r2 = (d**2).sum(axis=2) + 0.01
        pull = (d * (mass / (r2 * np.sqrt(r2)))[:, :, None]).sum(axis=1)
        speed += dt * pull
        place += dt * speed
    energy = 0.5 * (mass * (speed**2).sum(axis=1)).sum()
    return place, speed, energy


def nb1d(np, x, y, z, m, steps, dt):
    """Bodies under gravity, one after the other, with vectors of all others."""
    n = x.shape[0]
    fx, fy, fz = np.zeros(n), np.zeros(n), np.zeros(n)
    vx, vy, vz = np.zeros(n), np.zeros(n), np.zeros(n)
    for _ in range(steps):
        for k in range(n):
            dx, dy, dz = x - x[k], y - y[k], z - z[k]
            r2 = dx * dx + dy * dy + dz * dz
            r2[k] = 1.0
            weight = m * m[k]
            weight[k] = 0.0
            f = 1e-11 * weight / (r2 * np.sqrt(r2))
            fx[k] = (f * dx).sum()
            fy[k] = (f * dy).sum()
            fz[k] = (f * dz).sum()
        vx += fx / m * dt
        vy += fy / m * dt
        vz += fz / m * dt
        x += vx * dt
        y += vy * dt
        z += vz * dt
    return fx, fy, fz, vx, vy, vz, x, y, z


def nb3d(np, r, m, steps, dt):
    """The same bodies with an array of all displacements."""
    n = m.shape[0]
    v = np.zeros((n, 3))
    diagonal = np.arange(n)
    weight = m[:, None] * m
    weight[diagonal, diagonal] = 0.0
    for _ in range(steps):
        d = r[None, :, :] - r[:, None, :]
        r2 = (d * d).sum(axis=2)
        r2[diagonal, diagonal] = 1.0
        f = (d * (1e-11 * weight / (r2 * np.sqrt(r2)))[:, :, None]).sum(axis=1)
        v += f / m[:, None] * dt
        r += v * dt
    return f, v, r


def rk4(np, y, steps, h):
    """Lorenz's system of three numbers by Runge and Kutta's method."""
    def f(y):
        return np.array([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])

    for _ in range(steps):
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h / 2 * k2)
        k4 = f(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def rk4_many(np, x, v, steps, h):
    """Many pendulums at once."""
    for _ in range(steps):
        k1x, k1v = v, -np.sin(x)
        k2x, k2v = v + h / 2 * k1v, -np.sin(x + h / 2 * k1x)
        k3x, k3v = v + h / 2 * k2v, -np.sin(x + h / 2 * k2x)
        k4x, k4v = v + h * k3v, -np.sin(x + h * k3x)
        x = x + h / 6 * (k1x + 2 * k2x + 2 * k3x + k4x)
        v = v + h / 6 * (k1v + 2 * k2v + 2 * k3v + k4v)
    return x, v


def monte_carlo_pi(np, n):
    g = np.random.default_rng(1)
    x, y = g.random(n), g.random(n)
    return 4 * (x * x + y * y <= 1).mean()


def monte_carlo_option(np, paths, steps):
    """An Asian option: the mean along each path decides."""
    g = np.random.default_rng(2)
    dt, rate, sigma = 1 / steps, 0.03, 0.2
    price, total = np.full(paths, 100.0), np.zeros(paths)
    for _ in range(steps):
        z = g.standard_normal(paths)
        price = price * np.exp((rate - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * z)
        total += price
    pay = np.maximum(total / steps - 100.0, 0)
    return np.exp(-rate) * pay.mean(), pay.std() / np.sqrt(paths)


def normal_share(np, d):
    k = 1 / (1 + 0.2316419 * np.abs(d))
    p = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    c = (2 * np.pi) ** -0.5 * np.exp(-d * d / 2) * p
    return np.where(d > 0, 1 - c, c)


def black_scholes(np, s, x, t, r, v):
    """Prices of calls and puts by the formula."""
    d1 = (np.log(s / x) + (r + v * v / 2) * t) / (v * np.sqrt(t))
    d2 = d1 - v * np.sqrt(t)
    discounted = x * np.exp(-r * t)
    n1, n2 = normal_share(np, d1), normal_share(np, d2)
    return s * n1 - discounted * n2, discounted * (1 - n2) - s * (1 - n1)


def binomial_option(np, steps):
    """An American put by a tree: a vector that gets shorter each step."""
    dt, rate, sigma, strike = 1 / steps, 0.03, 0.2, 105.0
    up = np.exp(sigma * np.sqrt(dt))
    share = (np.exp(rate * dt) - 1 / up) / (up - 1 / up)
    k = np.arange(steps + 1)
    value = np.maximum(strike - 100.0 * up ** (2.0 * k - steps), 0)
    for i in range(steps - 1, -1, -1):
        value = np.exp(-rate * dt) * (share * value[1:] + (1 - share) * value[:-1])
        price = 100.0 * up ** (2.0 * np.arange(i + 1) - i)
        value = np.maximum(value, strike - price)
    return value


def random_walks(np, walkers, steps):
    """Walks by cumulative sums: how far they come, and how often home."""
    g = np.random.default_rng(3)
    step = 2 * g.integers(0, 2, (walkers, steps)) - 1
    walk = step.cumsum(axis=1)
    return np.abs(walk).max(axis=1).mean(), (walk == 0).sum(axis=1), walk[:, -1].std()


def random_walk_loop(np, walkers, steps):
    """The same step by step, with absorbing walls: how many still walk is read each step."""
    g = np.random.default_rng(4)
    x, alive, left = np.zeros(walkers), np.ones(walkers, dtype=bool), []
    for _ in range(steps):
        x = np.where(alive, x + np.where(g.random(walkers) < 0.5, -1.0, 1.0), x)
        alive &= np.abs(x) < 10
        left.append(int(alive.sum()))
        if left[-1] == 0:
            break
    return x, np.array(left)


def sir(np, s, i, r, beta, gamma, days):
    """Epidemics in many towns that exchange some people; totals are kept each day."""
    history = np.zeros((days, 3))
    for d in range(days):
        n = s + i + r
        new = beta * s * i / n
        well = gamma * i
        s = s - new
        i = i + new - well
        r = r + well
        i = 0.98 * i + 0.02 * i.mean()
        history[d, 0] = s.sum()
        history[d, 1] = i.sum()
        history[d, 2] = r.sum()
    return history, s, i, r


def annealing(np, points, turns):
    """A tour through points: two places are reversed if that is shorter, or by chance."""
    g = np.random.default_rng(6)
    n = points.shape[0]
    order = np.arange(n)
    warm = 1.0

    def length(order):
        p = points[order]
        return float(np.sqrt(((p - np.roll(p, 1, axis=0)) ** 2).sum(axis=1)).sum())

    best = length(order)
    for _ in range(turns):
        a, b = sorted(int(k) for k in g.integers(0, n, 2))
        new = order.copy()
        new[a : b + 1] = order[a : b + 1][::-1]
        other = length(new)
        if other < best or g.random() < np.exp((best - other) / warm):
            order, best = new, other
        warm *= 0.97
    return order, best


def annealing_many(np, x, turns):
    """Many walkers look for the deepest hole of a function of one number."""
    g = np.random.default_rng(7)
    n, warm = x.shape[0], 2.0

    def height(x):
        return x**2 / 20 + np.sin(3 * x)

    here = height(x)
    for _ in range(turns):
        new = x + g.standard_normal(n) * warm
        there = height(new)
        take = g.random(n) < np.exp(np.minimum((here - there) / warm, 0))
        x, here = np.where(take, new, x), np.where(take, there, here)
        warm *= 0.95
    return x, here.min()


def newton(np, a):
    """Cube roots of many numbers, until the largest step is small."""
    x, turns = np.ones_like(a), 0
    while turns < 100:
        step = (x**3 - a) / (3 * x**2)
        x = x - step
        turns += 1
        if np.abs(step).max() < 1e-12:
            break
    return x, turns


def newton_masked(np, a):
    """Kepler's equation, only where it has not converged."""
    e = a.copy()
    todo = np.ones(a.shape, dtype=bool)
    for _ in range(50):
        step = (e[todo] - 0.6 * np.sin(e[todo]) - a[todo]) / (1 - 0.6 * np.cos(e[todo]))
        e[todo] -= step
        todo[todo] = np.abs(step) > 1e-13
        if not todo.any():
            break
    return e


def bisection(np, target, turns):
    """Zeros of many functions at once."""
    low, high = np.zeros_like(target), np.full_like(target, 3.0)
    for _ in range(turns):
        mid = (low + high) / 2
        above = mid * np.exp(mid) > target
        high = np.where(above, mid, high)
        low = np.where(above, low, mid)
    return (low + high) / 2


def pagerank(np, links, tolerance):
    """Ranks by a dense matrix, until they stay."""
    n = links.shape[0]
    out = links.sum(axis=0)
    m = links / np.where(out == 0, 1, out)
    rank = np.ones(n) / n
    for turn in range(100):
        new = 0.85 * (m @ rank) + 0.15 / n
        if np.abs(new - rank).sum() < tolerance:
            break
        rank = new
    return new / new.sum(), turn


def pagerank_edges(np, source, target, n, turns):
    """Ranks by lists of edges."""
    degree = np.maximum(np.bincount(source, minlength=n), 1)
    rank = np.ones(n) / n
    for _ in range(turns):
        rank = 0.15 / n + 0.85 * np.bincount(target, weights=(rank / degree)[source], minlength=n)
    return rank
