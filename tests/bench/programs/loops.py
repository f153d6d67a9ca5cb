# SPDX-License-Identifier: Apache-2.0
"""Programs that people write loops for: each turn needs what the turn before has left.

Plain Python over NumPy's arrays, as one writes it for a compiler of loops; loop_table.py has a row
for each, with inputs and sizes.
"""

import math

import numpy as np


def crc16(data):
    """CRC-16 with polynomial 0x1021 and first value 0xFFFF, bit by bit."""
    crc = 0xFFFF
    for byte in data:
        crc ^= int(byte) << 8
        for _ in range(8):
            if crc & 0x8000:
                crc = ((crc << 1) ^ 0x1021) & 0xFFFF
            else:
                crc = (crc << 1) & 0xFFFF
    return crc


def lu(a):
    """LU without pivoting, in place: L below the diagonal, U on and above it."""
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            s = a[i, j]
            for k in range(j):
                s -= a[i, k] * a[k, j]
            a[i, j] = s / a[j, j]
        for j in range(i, n):
            s = a[i, j]
            for k in range(i):
                s -= a[i, k] * a[k, j]
            a[i, j] = s
    return a


def cholesky(a):
    """The lower factor of a definite matrix, in place; what is above the diagonal stays."""
    for i in range(a.shape[0]):
        for j in range(i):
            s = a[i, j]
            for k in range(j):
                s -= a[i, k] * a[j, k]
            a[i, j] = s / a[j, j]
        s = a[i, i]
        for k in range(i):
            s -= a[i, k] * a[i, k]
        a[i, i] = math.sqrt(s)
    return a


def smith_waterman(one, two, same, other, gap):
    """The score of the best local alignment, and where it ends."""
    n, m = len(one), len(two)
    score = np.zeros((n + 1, m + 1), np.int64)
    best, best_i, best_j = 0, 0, 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            s = score[i - 1, j - 1] + (same if one[i - 1] == two[j - 1] else other)
            s = max(0, s, score[i - 1, j] + gap, score[i, j - 1] + gap)
            score[i, j] = s
            if s > best:
                best, best_i, best_j = s, i, j
    return int(best), best_i, best_j


def floyd_warshall(d):
    """Lengths of shortest ways, in place."""
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                way = d[i, k] + d[k, j]
                if way < d[i, j]:
                    d[i, j] = way
    return d


def life(cells, turns):
    """Conway's game on a torus."""
    n, m = cells.shape
    now, then = cells.copy(), np.zeros_like(cells)
    for t in range(turns):
        for i in range(n):
            for j in range(m):
                alive = 0
                for di in range(-1, 2):
                    for dj in range(-1, 2):
                        if di != 0 or dj != 0:
                            alive += now[(i + di) % n, (j + dj) % m]
                then[i, j] = 1 if alive == 3 or (alive == 2 and now[i, j] == 1) else 0
        for i in range(n):
            for j in range(m):
                now[i, j] = then[i, j]
    return now


def sieve(n):
    """How many primes there are below n."""
    prime = np.ones(n, np.bool_)
    prime[:2] = False
    count = 0
    for i in range(2, n):
        if prime[i]:
            count += 1
            for k in range(i * i, n, i):
                prime[k] = False
    return count


def queens(n):
    """In how many ways n queens stand on a board, none beside another's line; by sets of bits."""
    full = (1 << n) - 1
    columns, left = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    right, free = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    free[0] = full
    count, row = 0, 0
    while row >= 0:
        if free[row] == 0:
            row -= 1
            continue
        bit = free[row] & -free[row]
        free[row] ^= bit
        if row == n - 1:
            count += 1
            continue
        columns[row + 1] = columns[row] | bit
        left[row + 1] = (left[row] | bit) << 1
        right[row + 1] = (right[row] | bit) >> 1
        row += 1
        free[row] = full & ~(columns[row] | left[row] | right[row])
    return count


def levenshtein(one, two):
    """How many letters are put in, taken out or changed on the way from one word to the other."""
    m = len(two)
    above, here = np.arange(m + 1), np.zeros(m + 1, np.int64)
    for i in range(len(one)):
        here[0] = i + 1
        for j in range(m):
            cost = 0 if one[i] == two[j] else 1
            here[j + 1] = min(above[j] + cost, above[j + 1] + 1, here[j] + 1)
        for j in range(m + 1):
            above[j] = here[j]
    return int(above[m])


def gauss_seidel(u, f, tolerance, most):
    """The Poisson equation on a square, in place; how many sweeps, and the last change."""
    n, m = u.shape
    change, sweeps = tolerance + 1, 0
    while change > tolerance and sweeps < most:
        change = 0.0
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                v = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])
                change = max(change, abs(v - u[i, j]))
                u[i, j] = v
        sweeps += 1
    return u, sweeps


def pairs_of_bases(a, b):
    """A-U, C-G, G-U, of 0 to 3."""
    return a + b == 3 or a + b == 5


def nussinov(bases):
    """The most pairs of bases in a folded strand, for each part of it."""
    n = len(bases)
    table = np.zeros((n, n), np.int64)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            best = max(table[i + 1, j], table[i, j - 1])
            if i + 1 < j:
                pair = 1 if pairs_of_bases(bases[i], bases[j]) else 0
                best = max(best, table[i + 1, j - 1] + pair)
            for k in range(i + 1, j):
                best = max(best, table[i, k] + table[k + 1, j])
            table[i, j] = best
    return table


def histogram_of_labels(labels, weights, count):
    """How often each label occurs, and the sum of its weights."""
    often, sums = np.zeros(count, np.int64), np.zeros(count)
    for i in range(len(labels)):
        often[labels[i]] += 1
        sums[labels[i]] += weights[i]
    return often, sums


def run_lengths(data):
    """Values and lengths of runs of equal values."""
    values, lengths = np.zeros_like(data), np.zeros(len(data), np.int64)
    runs = 0
    for i in range(len(data)):
        if i > 0 and data[i] == data[i - 1]:
            lengths[runs - 1] += 1
        else:
            values[runs] = data[i]
            lengths[runs] = 1
            runs += 1
    return values[:runs], lengths[:runs]


def ray_sphere(rays, spheres):
    """For each ray from the origin the nearest sphere that it hits and how far that is; -1: none."""
    nearest = np.full(len(rays), -1)
    distance = np.full(len(rays), np.inf)
    for i in range(len(rays)):
        dx, dy, dz = rays[i, 0], rays[i, 1], rays[i, 2]
        length = math.sqrt(dx * dx + dy * dy + dz * dz)
        for k in range(len(spheres)):
            x, y, z, r = spheres[k, 0], spheres[k, 1], spheres[k, 2], spheres[k, 3]
            b = (dx * x + dy * y + dz * z) / length
            under = b * b - (x * x + y * y + z * z - r * r)
            if under < 0:
                continue
            t = b - math.sqrt(under)
            if 0 < t < distance[i]:
                distance[i] = t
                nearest[i] = k
    return nearest, distance


def root_of(parent, i):
    """Where the way up ends; what it passes is brought nearer."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


def union_find(n, edges):
    """How many parts a graph has, and the smallest node of each node's part."""
    parent = np.arange(n)
    parts = n
    for e in range(len(edges)):
        a, b = root_of(parent, edges[e, 0]), root_of(parent, edges[e, 1])
        if a != b:
            parent[max(a, b)] = min(a, b)
            parts -= 1
    for i in range(n):
        parent[i] = root_of(parent, i)
    return parts, parent


def time_warping(one, two):
    """The cost of the cheapest alignment of two series that keeps their order."""
    n, m = len(one), len(two)
    cost = np.full((n + 1, m + 1), np.inf)
    cost[0, 0] = 0
    for i in range(n):
        for j in range(m):
            step = min(cost[i, j], cost[i, j + 1], cost[i + 1, j])
            cost[i + 1, j + 1] = abs(one[i] - two[j]) + step
    return cost[n, m]
