# SPDX-License-Identifier: Apache-2.0
"""Streams, random updates and particles, by elements: what PyFuser is measured on."""

import math

import numpy as np

# ---- Streams ----


def babelstream(turns, scale, a, b, c):
    n = len(a)
    for t in range(turns):
        for i in range(n):
            c[i] = a[i]
        for i in range(n):
            b[i] = scale * c[i]
        for i in range(n):
            c[i] = a[i] + b[i]
        for i in range(n):
            a[i] = b[i] + scale * c[i]
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return a, b, c, total / n


def nstream(turns, scale, a, b, c):
    for t in range(turns):
        for i in range(len(a)):
            a[i] += b[i] + scale * c[i]
    return a


def transpose(turns, a, b):
    n = a.shape[0]
    for t in range(turns):
        for i in range(n):
            for j in range(n):
                b[i, j] += a[j, i]
                a[j, i] += 1.0
    return b, a


def gups(data, places, datum):
    """Random updates; what a turn reads is what the turn before has left."""
    turns, count = places.shape
    new = np.empty(count, np.int64)
    for t in range(turns):
        for k in range(count):
            new[k] = data[places[t, k]] ^ datum
        for k in range(count):
            data[places[t, k]] = new[k]
    negative = 0
    for i in range(len(data)):
        if data[i] < 0:
            negative += 1
    return negative, data


def gups_atomic(data, places, datum):
    """Random updates, each seen by the next."""
    for t in range(places.shape[0]):
        for k in range(places.shape[1]):
            data[places[t, k]] ^= datum
    negative = 0
    for i in range(len(data)):
        if data[i] < 0:
            negative += 1
    return negative, data


# ---- Atoms ----


def shortest(d, side):
    """A distance in a box whose sides are joined."""
    return d - side * math.floor(d / side + 0.5)


def pull(x, f, i, side, cutoff):
    """The Lennard-Jones force on an atom into `f`; twice its energy."""
    energy, fx, fy, fz = 0.0, 0.0, 0.0, 0.0
    least = cutoff ** -6
    for j in range(len(x)):
        if j == i:
            continue
        dx = shortest(x[i, 0] - x[j, 0], side)
        dy = shortest(x[i, 1] - x[j, 1], side)
        dz = shortest(x[i, 2] - x[j, 2], side)
        r2 = dx * dx + dy * dy + dz * dz
        if r2 < cutoff * cutoff:
            q = 1 / r2
            w = q * q * q
            s = w * (48 * w - 24) * q
            fx += dx * s
            fy += dy * s
            fz += dz * s
            energy += 4 * (w * w - w) - 4 * (least * least - least)
    f[i, 0] = fx
    f[i, 1] = fy
    f[i, 2] = fz
    return energy


def examinimd(steps, step, side, cutoff, mass, kind, x, v, f):
    """Atoms in a box: places, velocities and forces in place; energies of motion and of place."""
    n = len(x)
    potential = 0.0
    for i in range(n):
        potential += pull(x, f, i, side, cutoff)
    for t in range(1, steps + 1):
        for i in range(n):
            for k in range(3):
                v[i, k] += step / (2 * mass[kind[i]]) * f[i, k]
                x[i, k] += step * v[i, k]
        if t % 20 == 0:
            for i in range(n):
                for k in range(3):
                    if x[i, k] > side:
                        x[i, k] -= side
                    elif x[i, k] < 0:
                        x[i, k] += side
        potential = 0.0
        for i in range(n):
            potential += pull(x, f, i, side, cutoff)
        for i in range(n):
            for k in range(3):
                v[i, k] += step / (2 * mass[kind[i]]) * f[i, k]
    motion = 0.0
    for i in range(n):
        for k in range(3):
            motion += 0.5 * mass[kind[i]] * v[i, k] * v[i, k]
    return motion, potential / 2, x, v, f


# ---- Electrons in a gas ----

ELECTRON, ATOM = 9.10938e-31, 6.6e-26
CHARGE, VOLTS = 1.602e-19, 6.241509e18
STEP = 1 / 13.56e6 / 5e5


def elastic_section(e):
    """The cross section for a collision without loss, of an energy in eV."""
    t = e + 1e-13
    a, b = math.log(t / 11.71) ** 2, math.log(t / 0.2347) ** 2
    return (9.9e-20 * (3.27 + 3.679 * a) / (1 + 3.679 * a) * (0.008787 + 0.07243 * b)
            / (1 + 0.07243 * b) / (1 + 0.007048 * t ** 0.9737))


def ionising_section(e):
    if e <= 15.76:
        return 0.0
    return 2.86e-20 / math.log(74.24) * math.log(e - 14.76) * math.exp(-0.01 * ((e - 90) / 90) ** 2)


def turned(v, at, ux, uy, uz, e, speed, a, b, h):
    """A direction after a collision, as a velocity into v[at]."""
    cosine = 1 - 2 * a / (1 + 8 * e * (1 - a))
    sine = math.sqrt(1 - cosine * cosine)
    y = math.sqrt(uy * uy + uz * uz) * (1.0 if h > 0.5 else -1.0)
    p, q = sine * math.sin(2 * math.pi * b) / y, sine * math.cos(2 * math.pi * b) / y
    v[at, 0] = speed * (cosine * ux + q * (uy * uy + uz * uz))
    v[at, 1] = speed * (cosine * uy + p * uz - q * ux * uy)
    v[at, 2] = speed * (cosine * uz - p * uy - q * ux * uz)


def moved(i, x, v, w, field, energy):
    """An electron after its step; one that is outside is gone."""
    cells = len(field)
    c = min(max(int(math.floor(x[i] * (cells / 2))), 0), cells - 1)
    x[i] += 100 * STEP * v[i, 0]
    v[i, 0] -= STEP * (CHARGE / ELECTRON) * 100 * field[c]
    if x[i] <= 0 or x[i] >= 2 or w[i] == 0:
        w[i] = 0
        for k in range(3):
            v[i, k] = 0.0
    energy[i] = 0.5 * ELECTRON * VOLTS * (v[i, 0] ** 2 + v[i, 1] ** 2 + v[i, 2] ** 2)


def dsmc(count, density, x, v, w, field, draws, kind, energy):
    """A step of electrons among atoms: who collides, where to, and the move."""
    total = count
    for i in range(count):
        s = math.sqrt(v[i, 0] ** 2 + v[i, 1] ** 2 + v[i, 2] ** 2)
        e = 0.5 * ELECTRON * VOLTS * s * s
        first, second = elastic_section(e), ionising_section(e)
        p = 1 - math.exp(-STEP * s * density * (first + second))
        kind[i] = 0
        if draws[i, 0] < p:
            kind[i] = 1 if draws[i, 0] < p * first / (first + second) else 2
            ux, uy, uz = v[i, 0] / s, v[i, 1] / s, v[i, 2] / s
            if kind[i] == 2:
                s = math.sqrt(abs(e - 15.76) / (ELECTRON * VOLTS))
                x[total] = x[i]
                w[total] = w[i]
                turned(v, total, ux, uy, uz, e, s, draws[i, 3], draws[i, 5], draws[i, 6])
                total += 1
            else:
                a = draws[i, 1]
                s *= math.sqrt(1 - 2 * (ELECTRON / ATOM) * (2 * a / (1 + 8 * e * (1 - a))))
            turned(v, i, ux, uy, uz, e, s, draws[i, 1], draws[i, 2], draws[i, 4])
        moved(i, x, v, w, field, energy)
    return total, kind, x, v, w, energy
