# SPDX-License-Identifier: Apache-2.0
"""PyFuser's programs as its users write them: work units over ranges of indices.

A program's units are written for any order of their turns.  Its twin is an array program, or the same
program as loops (loop_table.py says which).
"""

import math

import braze
import numpy as np

from .loops_particles import (ATOM, ELECTRON, STEP, VOLTS, elastic_section, ionising_section, moved,
                              pull, turned)

# ---- The suite's ----


@braze.kernel
def column_sweep(i, n, u, v, p, q, a, b, d):
    """Line i of u along its columns into v; off its diagonal are a = c and d = f."""
    v[0, i] = 1.0
    p[i, 0] = 0.0
    q[i, 0] = 1.0
    for j in range(1, n - 1):
        p[i, j] = -a / (a * p[i, j - 1] + b)
        q[i, j] = (-d * u[j, i - 1] + (1 + 2 * d) * u[j, i] - d * u[j, i + 1] - a * q[i, j - 1]) / (
            a * p[i, j - 1] + b)
    v[n - 1, i] = 1.0
    for j in range(n - 2, 0, -1):
        v[j, i] = p[i, j] * v[j + 1, i] + q[i, j]


@braze.kernel
def row_sweep(i, n, u, v, p, q, a, d, e):
    u[i, 0] = 1.0
    p[i, 0] = 0.0
    q[i, 0] = 1.0
    for j in range(1, n - 1):
        p[i, j] = -d / (d * p[i, j - 1] + e)
        q[i, j] = (-a * v[i - 1, j] + (1 + 2 * a) * v[i, j] - a * v[i + 1, j] - d * q[i, j - 1]) / (
            d * p[i, j - 1] + e)
    u[i, n - 1] = 1.0
    for j in range(n - 2, 0, -1):
        u[i, j] = p[i, j] * u[i, j + 1] + q[i, j]


def adi_units(steps, u):
    n = u.shape[0]
    v, p, q = np.empty(u.shape), np.empty(u.shape), np.empty(u.shape)
    mu1, mu2 = 2.0 / steps * n * n, 1.0 / steps * n * n
    inner = braze.RangePolicy(1, n - 1)
    for t in range(steps):
        braze.parallel_for(inner, column_sweep, n=n, u=u, v=v, p=p, q=q, a=-mu1 / 2, b=1 + mu2,
                           d=-mu2 / 2)
        braze.parallel_for(inner, row_sweep, n=n, u=u, v=v, p=p, q=q, a=-mu1 / 2, d=-mu2 / 2,
                           e=1 + mu2)
    return u


@braze.kernel
def centre_column(j, data):
    mean = 0.0
    for i in range(data.shape[0]):
        mean += data[i, j]
    mean /= data.shape[0]
    for i in range(data.shape[0]):
        data[i, j] -= mean


@braze.kernel
def covary(i, data, cov):
    n = data.shape[0]
    for j in range(i, data.shape[1]):
        s = 0.0
        for k in range(n):
            s += data[k, i] * data[k, j]
        cov[i, j] = s / (n - 1)
        cov[j, i] = s / (n - 1)


def covariance_units(data):
    m = data.shape[1]
    cov = np.zeros((m, m))
    braze.parallel_for(m, centre_column, data=data)
    braze.parallel_for(m, covary, data=data, cov=cov)
    return cov


@braze.kernel
def enter(j, ey, now):
    ey[0, j] = now


@braze.kernel
def step_ey(i, j, ey, hz):
    ey[i, j] -= 0.5 * (hz[i, j] - hz[i - 1, j])


@braze.kernel
def step_ex(i, j, ex, hz):
    ex[i, j] -= 0.5 * (hz[i, j] - hz[i, j - 1])


@braze.kernel
def step_hz(i, j, ex, ey, hz):
    hz[i, j] -= 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])


def fdtd_2d_units(ex, ey, hz, source):
    n, m = hz.shape
    for now in source.tolist():
        braze.parallel_for(m, enter, ey=ey, now=now)
        braze.parallel_for(braze.MDRangePolicy([1, 0], [n, m]), step_ey, ey=ey, hz=hz)
        braze.parallel_for(braze.MDRangePolicy([0, 1], [n, m]), step_ex, ex=ex, hz=hz)
        braze.parallel_for((n - 1, m - 1), step_hz, ex=ex, ey=ey, hz=hz)
    return ex, ey, hz


@braze.kernel
def mean_of_three(i, old, new):
    new[i] = 0.33333 * (old[i - 1] + old[i] + old[i + 1])


def jacobi_1d_units(steps, a, b):
    inner = braze.RangePolicy(1, len(a) - 1)
    for t in range(1, steps):
        braze.parallel_for(inner, mean_of_three, old=a, new=b)
        braze.parallel_for(inner, mean_of_three, old=b, new=a)
    return a, b


@braze.kernel
def add_row(i, x, a, y):
    for j in range(len(y)):
        x[i] += a[i, j] * y[j]


@braze.kernel
def add_column(i, x, a, y):
    for j in range(len(y)):
        x[i] += a[j, i] * y[j]


def mvt_units(x1, x2, y1, y2, a):
    braze.parallel_for(len(x1), add_row, x=x1, a=a, y=y1)
    braze.parallel_for(len(x2), add_column, x=x2, a=a, y=y2)
    return x1, x2


@braze.kernel
def scale_half(i, c, beta):
    for j in range(i + 1):
        c[i, j] *= beta


@braze.kernel
def add_product(i, c, a, alpha):
    for k in range(a.shape[1]):
        for j in range(i + 1):
            c[i, j] += alpha * a[i, k] * a[j, k]


@braze.kernel
def add_products(i, c, a, b, alpha):
    for k in range(a.shape[1]):
        for j in range(i + 1):
            c[i, j] += a[j, k] * alpha * b[i, k] + b[j, k] * alpha * a[i, k]


def syrk_units(alpha, beta, c, a):
    braze.parallel_for(len(c), scale_half, c=c, beta=beta)
    braze.parallel_for(len(c), add_product, c=c, a=a, alpha=alpha)
    return c


def syr2k_units(alpha, beta, c, a, b):
    braze.parallel_for(len(c), scale_half, c=c, beta=beta)
    braze.parallel_for(len(c), add_products, c=c, a=a, b=b, alpha=alpha)
    return c


# ---- Naive Bayes with normal densities: groups of 3, 2, 5, 2 and 2 calls ----


@braze.kernel
def times_two_pi(k, var, s):
    s[k] = 2.0 * math.pi * var[k]


@braze.kernel
def logarithm_of(k, s, t):
    t[k] = math.log(s[k])


@braze.kernel
def half_sum(c, t, norm, d):
    s = 0.0
    for k in range(d):
        s += t[c * d + k]
    norm[c] = -0.5 * s


@braze.kernel
def mean_of_class(m, x, mean, count, d):
    """Line m is of class m // d and of feature m % d; rows of a class are together."""
    s = 0.0
    for i in range(count):
        s += x[m // d * count + i, m % d]
    mean[m] = s / count


@braze.kernel
def variance_of_class(m, x, mean, var, count, d, least):
    s = 0.0
    for i in range(count):
        s += (x[m // d * count + i, m % d] - mean[m]) ** 2
    var[m] = s / count + least


@braze.kernel
def less_mean(i, k, z, mean, work, c, d):
    work[i, k] = z[i, k] - mean[c * d + k]


@braze.kernel
def squared(i, k, work):
    work[i, k] = work[i, k] * work[i, k]


@braze.kernel
def over_variance(i, k, work, var, c, d):
    work[i, k] = work[i, k] / var[c * d + k]


@braze.kernel
def row_sum(i, work, line):
    s = 0.0
    for k in range(work.shape[1]):
        s += work[i, k]
    line[i] = s


@braze.kernel
def halved(i, line):
    line[i] = -0.5 * line[i]


@braze.kernel
def plus_number(i, line, more, c):
    line[i] = line[i] + more[c]


@braze.kernel
def into_column(i, line, joint, c):
    joint[i, c] = line[i]


def bayes_units(x, z, classes):
    """Classes have as many rows of x each, one behind the other."""
    n, d = x.shape
    count, cells = n // classes, classes * d
    mean, var, s, t = np.zeros(cells), np.zeros(cells), np.zeros(cells), np.zeros(cells)
    norm, prior = np.zeros(classes), np.full(classes, math.log(1.0 / classes))
    joint, work, line = np.zeros((len(z), classes)), np.zeros(z.shape), np.zeros(len(z))
    braze.parallel_for(cells, mean_of_class, x=x, mean=mean, count=count, d=d)
    braze.parallel_for(cells, variance_of_class, x=x, mean=mean, var=var, count=count, d=d, least=1e-9)
    braze.parallel_for(cells, times_two_pi, var=var, s=s)
    braze.parallel_for(cells, logarithm_of, s=s, t=t)
    braze.parallel_for(classes, half_sum, t=t, norm=norm, d=d)
    for c in range(classes):
        braze.parallel_for(z.shape, less_mean, z=z, mean=mean, work=work, c=c, d=d)
        braze.parallel_for(z.shape, squared, work=work)
        braze.parallel_for(z.shape, over_variance, work=work, var=var, c=c, d=d)
        braze.parallel_for(len(z), row_sum, work=work, line=line)
        braze.parallel_for(len(z), halved, line=line)
        braze.parallel_for(len(z), plus_number, line=line, more=norm, c=c)
        braze.parallel_for(len(z), plus_number, line=line, more=prior, c=c)
        braze.parallel_for(len(z), into_column, line=line, joint=joint, c=c)
    return mean, var, joint


def bayes_arrays(x, z, classes):
    """The same by arrays."""
    n, d = x.shape
    rows = x.reshape(classes, n // classes, d)
    mean, var = rows.mean(1), rows.var(1) + 1e-9
    joint = -0.5 * np.log(2 * np.pi * var).sum(1) - 0.5 * (
        (z[:, None, :] - mean) ** 2 / var).sum(2) + math.log(1.0 / classes)
    return mean.ravel(), var.ravel(), joint


# ---- Streams, many calls each ----


@braze.kernel
def copy(i, a, c):
    c[i] = a[i]


@braze.kernel
def scaled(i, b, c, scale):
    b[i] = scale * c[i]


@braze.kernel
def added(i, a, b, c):
    c[i] = a[i] + b[i]


@braze.kernel
def triad(i, a, b, c, scale):
    a[i] = b[i] + scale * c[i]


@braze.kernel
def dot(i, acc: float, a, b):
    acc += a[i] * b[i]


def babelstream_units(turns, scale, a, b, c):
    n = len(a)
    for t in range(turns):
        braze.parallel_for(n, copy, a=a, c=c)
        braze.parallel_for(n, scaled, b=b, c=c, scale=scale)
        braze.parallel_for(n, added, a=a, b=b, c=c)
        braze.parallel_for(n, triad, a=a, b=b, c=c, scale=scale)
    return a, b, c, braze.parallel_reduce(n, dot, a=a, b=b) / n


@braze.kernel
def add_triad(i, a, b, c, scale):
    a[i] += b[i] + scale * c[i]


def nstream_units(turns, scale, a, b, c):
    for t in range(turns):
        braze.parallel_for(len(a), add_triad, a=a, b=b, c=c, scale=scale)
    return a


@braze.kernel
def turn_over(i, j, a, b):
    b[i, j] += a[j, i]
    a[j, i] += 1.0


def transpose_units(turns, a, b):
    for t in range(turns):
        braze.parallel_for(a.shape, turn_over, a=a, b=b)
    return b, a


@braze.kernel
def flip(k, data, places, datum):
    braze.atomic_fetch_xor(data, [places[k]], datum)


@braze.kernel
def below_zero(i, acc: int, data):
    if data[i] < 0:
        acc += 1


def gups_units(data, places, datum):
    for t in range(len(places)):
        braze.parallel_for(places.shape[1], flip, data=data, places=places[t], datum=datum)
    return braze.parallel_reduce(len(data), below_zero, data=data), data


# ---- Atoms: what each partition of a step is made of ----


@braze.kernel
def drift(i, x, v, f, mass, kind, step):
    for k in range(3):
        v[i, k] += step / (2 * mass[kind[i]]) * f[i, k]
        x[i, k] += step * v[i, k]


@braze.kernel
def wrap(i, x, side):
    for k in range(3):
        if x[i, k] > side:
            x[i, k] -= side
        elif x[i, k] < 0:
            x[i, k] += side


@braze.kernel
def clear(i, f):
    f[i, 0] = 0.0
    f[i, 1] = 0.0
    f[i, 2] = 0.0


@braze.kernel
def attract(i, energy: float, x, f, side, cutoff):
    energy += pull(x, f, i, side, cutoff)


@braze.kernel
def kick(i, v, f, mass, kind, step):
    for k in range(3):
        v[i, k] += step / (2 * mass[kind[i]]) * f[i, k]


@braze.kernel
def motion_of(i, energy: float, v, mass, kind):
    for k in range(3):
        energy += 0.5 * mass[kind[i]] * v[i, k] * v[i, k]


def examinimd_units(steps, step, side, cutoff, mass, kind, x, v, f):
    n = len(x)
    potential = braze.parallel_reduce(n, attract, x=x, f=f, side=side, cutoff=cutoff)
    for t in range(1, steps + 1):
        braze.parallel_for(n, drift, x=x, v=v, f=f, mass=mass, kind=kind, step=step)
        if t % 20 == 0:
            braze.parallel_for(n, wrap, x=x, side=side)
        braze.parallel_for(n, clear, f=f)
        potential = braze.parallel_reduce(n, attract, x=x, f=f, side=side, cutoff=cutoff)
        braze.parallel_for(n, kick, v=v, f=f, mass=mass, kind=kind, step=step)
    motion = braze.parallel_reduce(n, motion_of, v=v, mass=mass, kind=kind)
    return motion, potential / 2, x, v, f


# ---- Electrons: who collides, where to, the move ----


@braze.kernel
def select(i, v, draws, density, kind, is_new):
    s = math.sqrt(v[i, 0] ** 2 + v[i, 1] ** 2 + v[i, 2] ** 2)
    e = 0.5 * ELECTRON * VOLTS * s * s
    first, second = elastic_section(e), ionising_section(e)
    p = 1 - math.exp(-STEP * s * density * (first + second))
    kind[i] = 0
    is_new[i] = 0
    if draws[i, 0] < p:
        kind[i] = 1 if draws[i, 0] < p * first / (first + second) else 2
        is_new[i] = kind[i] // 2


@braze.kernel
def places_of(i, acc: int, last, is_new, place):
    if last:
        place[i] = acc
    acc += is_new[i]


@braze.kernel
def scatter(i, count, x, v, w, draws, kind, place):
    if kind[i] == 0:
        return
    s = math.sqrt(v[i, 0] ** 2 + v[i, 1] ** 2 + v[i, 2] ** 2)
    e = 0.5 * ELECTRON * VOLTS * s * s
    ux, uy, uz = v[i, 0] / s, v[i, 1] / s, v[i, 2] / s
    if kind[i] == 2:
        s = math.sqrt(abs(e - 15.76) / (ELECTRON * VOLTS))
        at = count + place[i]
        x[at] = x[i]
        w[at] = w[i]
        turned(v, at, ux, uy, uz, e, s, draws[i, 3], draws[i, 5], draws[i, 6])
    else:
        a = draws[i, 1]
        s *= math.sqrt(1 - 2 * (ELECTRON / ATOM) * (2 * a / (1 + 8 * e * (1 - a))))
    turned(v, i, ux, uy, uz, e, s, draws[i, 1], draws[i, 2], draws[i, 4])


@braze.kernel
def move(i, x, v, w, field, energy):
    moved(i, x, v, w, field, energy)


def dsmc_units(count, density, x, v, w, field, draws, kind, energy):
    is_new, place = np.zeros(count, np.int64), np.zeros(count, np.int64)
    braze.parallel_for(count, select, v=v, draws=draws, density=density, kind=kind, is_new=is_new)
    more = braze.parallel_scan(count, places_of, is_new=is_new, place=place)
    braze.parallel_for(count, scatter, count=count, x=x, v=v, w=w, draws=draws, kind=kind, place=place)
    braze.parallel_for(count, move, x=x, v=v, w=w, field=field, energy=energy)
    return count + more, kind, x, v, w, energy
