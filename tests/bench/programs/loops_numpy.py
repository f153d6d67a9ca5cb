# SPDX-License-Identifier: Apache-2.0
"""What the programs of loops are as array programs: what one writes who has NumPy and no compiler.

ARRAYS has a function for each program that has such a form, over the same arguments.  Where a turn needs
what the turn before has left in every element there is none: crc16, smith_waterman, queens, gauss_seidel,
union_find, time_warping.
"""

import numpy as np

from . import images, learning, linear, simulation, stencils, tabular
from .loops_particles import ATOM, CHARGE, ELECTRON, STEP, VOLTS

# ---- Turns that depend on each other ----


def lu(a):
    for k in range(a.shape[0] - 1):
        a[k + 1:, k] /= a[k, k]
        a[k + 1:, k + 1:] -= np.outer(a[k + 1:, k], a[k, k + 1:])
    return a


def cholesky(a):
    """Column by column; what is above the diagonal stays."""
    for j in range(a.shape[0]):
        a[j:, j] -= a[j:, :j] @ a[j, :j]
        a[j, j] = np.sqrt(a[j, j])
        a[j + 1:, j] /= a[j, j]
    return a


def sieve(n):
    prime = np.ones(n, np.bool_)
    prime[:2] = False
    for i in range(2, int(n ** 0.5) + 1):
        if prime[i]:
            prime[i * i::i] = False
    return int(np.count_nonzero(prime))


def levenshtein(one, two):
    return int(tabular.edit_distance(np, one, two)[-1])


def nussinov(bases):
    n = len(bases)
    table = np.zeros((n, n), np.int64)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            best = max(table[i + 1, j], table[i, j - 1])
            if i + 1 < j:
                both = bases[i] + bases[j]
                best = max(best, table[i + 1, j - 1] + int(both == 3 or both == 5),
                           (table[i, i + 1:j] + table[i + 2:j + 1, j]).max())
            table[i, j] = best
    return table


def histogram_of_labels(labels, weights, count):
    return np.bincount(labels, minlength=count), np.bincount(labels, weights, count)


def run_lengths(data):
    starts = np.concatenate(([0], np.flatnonzero(data[1:] != data[:-1]) + 1))
    return data[starts], np.diff(starts, append=len(data))


def ray_sphere(rays, spheres):
    """A sphere at a time."""
    u = rays / np.sqrt((rays * rays).sum(axis=1))[:, None]
    nearest, distance = np.full(len(rays), -1), np.full(len(rays), np.inf)
    for k, (x, y, z, r) in enumerate(spheres):
        b = u[:, 0] * x + u[:, 1] * y + u[:, 2] * z
        under = b * b - (x * x + y * y + z * z - r * r)
        with np.errstate(invalid="ignore"):
            t = b - np.sqrt(under)
            hit = (t > 0) & (t < distance)
        distance[hit] = t[hit]
        nearest[hit] = k
    return nearest, distance


# ---- Nests ----


def conway(alive):
    out = alive.copy()
    n = (alive[:-2, :-2] + alive[:-2, 1:-1] + alive[:-2, 2:] + alive[1:-1, :-2] + alive[1:-1, 2:]
         + alive[2:, :-2] + alive[2:, 1:-1] + alive[2:, 2:])
    out[1:-1, 1:-1] = (n == 3) | ((alive[1:-1, 1:-1] == 1) & (n == 2))
    return out


def fbcorr(images, filters):
    """A tap at a time, all filters at once."""
    count, rows, columns, _ = images.shape
    bank, fh, fw, _ = filters.shape
    h, w = rows - fh + 1, columns - fw + 1
    out = np.zeros((count, h, w, bank))
    for p in range(fh):
        for q in range(fw):
            out += images[:, p:p + h, q:q + w] @ filters[:, p, q].T
    return out.transpose(0, 3, 1, 2)


def escape_counts(zr, zi, cr, ci, most, inside):
    """How many turns each point stays inside; only those that still do are turned."""
    counts = np.zeros(zr.size, np.int64)
    here = np.flatnonzero(inside(zr.ravel(), zi.ravel()))
    zr, zi = zr.ravel()[here], zi.ravel()[here]
    for k in range(most):
        if not here.size:
            break
        counts[here] += 1
        zr, zi = zr * zr - zi * zi + cr[here], 2 * zr * zi + ci[here]
        stay = inside(zr, zi)
        here, zr, zi = here[stay], zr[stay], zi[stay]
    return counts


def mandelbrot(width, height, most):
    cr = np.broadcast_to(-2 + 2.5 * np.arange(width) / width, (height, width)).ravel()
    ci = np.repeat(-1.25 + 2.5 * np.arange(height) / height, width)
    zero = np.zeros(width * height)
    with np.errstate(over="ignore", invalid="ignore"):
        return escape_counts(zero, zero, cr, ci, most,
                             lambda x, y: x * x + y * y <= 4).reshape(height, width)


def julia(n, limit, most):
    line = -1.5 + 3.0 * np.arange(n) / (n - 1)
    x, y = np.repeat(line, n), np.tile(line, n)
    cr, ci = np.full(n * n, 0.285), np.full(n * n, 0.01)
    counts = escape_counts(x, y, cr, ci, most, lambda x, y: x * x + y * y < limit * limit)
    return counts.astype(np.uint32).reshape(n, n)


def gemver(alpha, beta, a, u1, v1, u2, v2, y, z, x, w):
    return linear.gemver(np, alpha, beta, a, u1, v1, u2, v2, x, y, z, w)


def growcut(image, state, radius):
    """A neighbour's place at a time, in the order of the loops."""
    h, w = state.shape[:2]
    colony, defence = state[:, :, 0].copy(), state[:, :, 1].copy()
    changes = 0
    for dj in range(-radius, radius + 1):
        for di in range(-radius, radius + 1):
            if di == 0 and dj == 0 or abs(di) >= h or abs(dj) >= w:
                continue
            here = slice(max(0, -di), min(h, h - di)), slice(max(0, -dj), min(w, w - dj))
            there = slice(max(0, di), min(h, h + di)), slice(max(0, dj), min(w, w + dj))
            apart = image[here] - image[there]
            attack = (1 - np.sqrt((apart * apart).sum(axis=2)) / np.sqrt(3)) * state[there][:, :, 1]
            won = attack > defence[here]
            defence[here][won] = attack[won]
            colony[here][won] = state[there][:, :, 0][won]
            changes += int(np.count_nonzero(won))
    return colony, defence, changes


def nb1d(steps, step, m, x, y, z, vx, vy, vz, fx, fy, fz):
    return simulation.nb1d(np, x, y, z, m, steps, step)


def nb3d(steps, step, m, r, v, f):
    return simulation.nb3d(np, r, m, steps, step)


def clos(n):
    i = np.arange(1, n + 1)
    a = np.eye(n)
    row, column = np.nonzero(np.multiply.outer(i, i) < n / 2)
    a[n - row - 2, row + column + 1] = 1
    a[row, n - row - column - 3] = 1
    return a, linear.clos(np, a)


def fdtd_3d(*arguments):
    *fields, record = stencils.fdtd_3d(np, *arguments)
    return (record, *fields)


# ---- The NumPy suites' ----


def spmv(rows, columns, values, x):
    """Differences of a running sum are inexact: sums of rows that are not empty."""
    y = np.zeros(len(rows) - 1)
    full = np.flatnonzero(rows[1:] > rows[:-1])
    y[full] = np.add.reduceat(values * x[columns], rows[full])
    return y


def go_fast(a):
    trace = np.tanh(np.diagonal(a)).sum()
    return a + trace, float(trace)


def lower_half(c, product, beta):
    half = np.tril_indices(len(c))
    c[half] = beta * c[half] + product[half]
    return c


def syrk(alpha, beta, c, a):
    return lower_half(c, alpha * a @ a.T, beta)


def syr2k(alpha, beta, c, a, b):
    product = alpha * a @ b.T
    return lower_half(c, product + product.T, beta)


def trmm(alpha, b, a):
    b[:] = alpha * (np.tril(a, -1).T @ b + b)
    return b


def symm(alpha, beta, c, a, b):
    c[:] = beta * c + alpha * (np.tril(a) + np.tril(a, -1).T) @ b
    return c


# ---- Streams and particles ----


def babelstream(turns, scale, a, b, c):
    for _ in range(turns):
        c[:] = a
        b[:] = scale * c
        c[:] = a + b
        a[:] = b + scale * c
    return a, b, c, float(a @ b) / len(a)


def nstream(turns, scale, a, b, c):
    for _ in range(turns):
        a += b + scale * c
    return a


def transpose(turns, a, b):
    return stencils.transpose(np, turns, a, b)[::-1]


def negative_and(data):
    return int(np.count_nonzero(data < 0)), data


def gups(data, places, datum):
    for turn in places:
        data[turn] = data[turn] ^ datum
    return negative_and(data)


def gups_atomic(data, places, datum):
    np.bitwise_xor.at(data, places.ravel(), datum)
    return negative_and(data)


def all_pulls(x, side, cutoff):
    d = x[:, None, :] - x
    d -= side * np.floor(d / side + 0.5)
    r2 = (d * d).sum(axis=2)
    np.fill_diagonal(r2, np.inf)
    near = r2 < cutoff * cutoff
    q = np.where(near, 1 / r2, 0.0)
    w, least = q * q * q, cutoff ** -6
    energy = (4 * (w * w - w) - 4 * (least * least - least))[near].sum()
    return (d * (w * (48 * w - 24) * q)[:, :, None]).sum(axis=1), float(energy)


def examinimd(steps, step, side, cutoff, mass, kind, x, v, f):
    """All pairs at once."""
    m = mass[kind][:, None]
    f[:], potential = all_pulls(x, side, cutoff)
    for t in range(1, steps + 1):
        v += step / (2 * m) * f
        x += step * v
        if t % 20 == 0:
            x += np.where(x > side, -side, np.where(x < 0, side, 0.0))
        f[:], potential = all_pulls(x, side, cutoff)
        v += step / (2 * m) * f
    return float((0.5 * m * v * v).sum()), potential / 2, x, v, f


def sections(e):
    """Of collisions without loss, and of ionising ones."""
    t = e + 1e-13
    a, b = np.log(t / 11.71) ** 2, np.log(t / 0.2347) ** 2
    elastic = (9.9e-20 * (3.27 + 3.679 * a) / (1 + 3.679 * a) * (0.008787 + 0.07243 * b)
               / (1 + 0.07243 * b) / (1 + 0.007048 * t ** 0.9737))
    above = np.maximum(e, 15.76)
    ionising = 2.86e-20 / np.log(74.24) * np.log(above - 14.76) * np.exp(-0.01 * ((e - 90) / 90) ** 2)
    return elastic, np.where(e <= 15.76, 0.0, ionising)


def turned(u, e, speed, a, b, h):
    """Velocities after collisions."""
    ux, uy, uz = u.T
    cosine = 1 - 2 * a / (1 + 8 * e * (1 - a))
    sine = np.sqrt(1 - cosine * cosine)
    y = np.sqrt(uy * uy + uz * uz) * np.where(h > 0.5, 1.0, -1.0)
    p, q = sine * np.sin(2 * np.pi * b) / y, sine * np.cos(2 * np.pi * b) / y
    return speed[:, None] * np.column_stack((
        cosine * ux + q * (uy * uy + uz * uz), cosine * uy + p * uz - q * ux * uy,
        cosine * uz - p * uy - q * ux * uz))


def dsmc(count, density, x, v, w, field, draws, kind, energy):
    """Who collides, the new ones behind all others, and the move."""
    s = np.sqrt((v[:count] ** 2).sum(axis=1))
    e = 0.5 * ELECTRON * VOLTS * s * s
    first, second = sections(e)
    p = 1 - np.exp(-STEP * s * density * (first + second))
    hit = draws[:, 0] < p
    with np.errstate(invalid="ignore"):
        kind[:] = np.where(hit, np.where(draws[:, 0] < p * first / (first + second), 1, 2), 0)
    at, new = np.flatnonzero(hit), np.flatnonzero(kind == 2)
    total = count + len(new)
    u = v[:count] / s[:, None]
    slow = np.sqrt(np.abs(e[new] - 15.76) / (ELECTRON * VOLTS))
    x[count:total], w[count:total] = x[new], w[new]
    v[count:total] = turned(u[new], e[new], slow, draws[new, 3], draws[new, 5], draws[new, 6])
    a = draws[:, 1]
    after = s * np.sqrt(1 - 2 * (ELECTRON / ATOM) * (2 * a / (1 + 8 * e * (1 - a))))
    after[new] = slow
    v[at] = turned(u[at], e[at], after[at], a[at], draws[at, 2], draws[at, 4])
    cells = len(field)
    cell = np.clip(np.floor(x[:count] * (cells / 2)).astype(np.int64), 0, cells - 1)
    x[:count] += 100 * STEP * v[:count, 0]
    v[:count, 0] -= STEP * (CHARGE / ELECTRON) * 100 * field[cell]
    gone = (x[:count] <= 0) | (x[:count] >= 2) | (w[:count] == 0)
    w[:count][gone] = 0
    v[:count][gone] = 0
    energy[:] = 0.5 * ELECTRON * VOLTS * (v[:count] ** 2).sum(axis=1)
    return total, kind, x, v, w, energy


def with_numpy(function):
    """An array program of the other table, which takes NumPy first."""
    return lambda *arguments: function(np, *arguments)


ARRAYS = {f.__name__: f for f in (
    lu, cholesky, sieve, levenshtein, nussinov, histogram_of_labels, run_lengths, ray_sphere, conway,
    fbcorr, mandelbrot, julia, gemver, growcut, nb1d, nb3d, clos, fdtd_3d, spmv, go_fast, syrk, syr2k,
    trmm, symm, babelstream, nstream, transpose, gups, gups_atomic, examinimd, dsmc)}
ARRAYS.update({f.__name__: with_numpy(f) for f in (
    images.life, learning.gaussian_bayes, learning.kmeans, linear.covariance, linear.gemm,
    linear.gesummv, linear.gramschmidt, linear.mvt, linear.trisolv, simulation.black_scholes,
    stencils.adi, stencils.arc_distance_pairs, stencils.azimint_naive, stencils.conv_2d,
    stencils.fdtd_2d, stencils.floyd_warshall, stencils.hdiff, stencils.heat_3d, stencils.hilbert,
    stencils.jacobi_1d, stencils.jacobi_2d, stencils.jacobi_error, stencils.rosen_der, stencils.saxpy,
    stencils.softmax, stencils.vadd)})
ARRAYS.update(azimint=ARRAYS["azimint_naive"], gups_units=gups_atomic)


def array_form(name):
    """Of a program of the table of loops: work units and slices have the loops' one; None: there is none."""
    loops = name.removesuffix("_units").removesuffix("_slices").removesuffix("_pragmas")
    return ARRAYS.get(name) or ARRAYS.get(loops)
