# SPDX-License-Identifier: Apache-2.0
"""Programs that are few expressions over arrays, as a user of numexpr writes them.

Each takes numexpr's module in the place of the array module."""

import numpy


def arc_distance(ne, t0, p0, t1, p1):
    h = ne.evaluate("sin((t1 - t0) / 2) ** 2 + cos(t0) * cos(t1) * sin((p1 - p0) / 2) ** 2")
    return ne.evaluate("2 * arctan2(sqrt(h), sqrt(1 - h))")


def arc_distance_pairs(ne, a, b):
    return arc_distance(ne, a[:, :1], a[:, 1:], b[:, 0], b[:, 1])


def harris(ne, image):
    dx = image[1:, 1:] - image[:-1, 1:]
    dy = image[1:, 1:] - image[1:, :-1]
    a, b, c = dx * dx, dy * dy, dx * dy
    return ne.evaluate("a * b - c * c - 0.05 * (a + b) ** 2")


def l1norm(ne, x, y):
    left = x[:, None, :]
    return ne.evaluate("sum(abs(left - y), axis=2)")


def l2norm(ne, x):
    s = ne.evaluate("sum(abs(x) ** 2, axis=1)")
    return ne.evaluate("sqrt(s)")


def laplacien(ne, x):
    c, n, s, w, e = x[1:-1, 1:-1], x[:-2, 1:-1], x[2:, 1:-1], x[1:-1, :-2], x[1:-1, 2:]
    o = ne.evaluate("abs(4 * c - n - s - w - e)")
    scale = max(1, o.max()) + 1e-9
    return ne.evaluate("o / scale")


def log_likelihood(ne, x, mean, sigma):
    root = numpy.sqrt(2 * numpy.pi) * sigma
    return ne.evaluate("sum(log(exp(-((x - mean) ** 2 / (2 * sigma ** 2))) / root))")


def lstsqr(ne, x, y):
    n = x.shape[0]
    x_mean, y_mean = ne.evaluate("sum(x)") / n, ne.evaluate("sum(y)") / n
    slope = ne.evaluate("sum((x - x_mean) * (y - y_mean))") / ne.evaluate("sum((x - x_mean) ** 2)")
    return slope, y_mean - slope * x_mean


def pairwise(ne, x):
    a, b = x[None, :, :], x[:, None, :]
    s = ne.evaluate("sum((a - b) ** 2, axis=2)")
    return ne.evaluate("sqrt(s)")


def pythagorean_id(ne, x):
    return ne.evaluate("sin(x) ** 2 + cos(x) ** 2")


def rosen(ne, x):
    a, b = x[1:], x[:-1]
    return ne.evaluate("sum(100 * (a - b ** 2) ** 2 + (1 - b) ** 2)")


def vibr_energy(ne, harmonic, anharmonic, i):
    return ne.evaluate("exp(-harmonic * i - anharmonic * i ** 2)")


def vadd(ne, a, b):
    return ne.evaluate("a + b")


def saxpy(ne, alpha, x, y):
    alpha = numpy.float32(alpha)
    return ne.evaluate("alpha * x + y")


def nstream(ne, steps, a, b, c):
    for _ in range(steps):
        ne.evaluate("a + b + 3.0 * c", out=a)
    return a


def black_scholes(ne, s, x, t, r, v):
    d1 = ne.evaluate("(log(s / x) + (r + v * v / 2) * t) / (v * sqrt(t))")
    d2 = ne.evaluate("d1 - v * sqrt(t)")
    discounted = ne.evaluate("x * exp(-r * t)")
    n1, n2 = normal_share(ne, d1), normal_share(ne, d2)
    return (ne.evaluate("s * n1 - discounted * n2"),
            ne.evaluate("discounted * (1 - n2) - s * (1 - n1)"))


def normal_share(ne, d):
    k = ne.evaluate("1 / (1 + 0.2316419 * abs(d))")
    p = ne.evaluate("k * (0.31938153 + k * (-0.356563782 + k * (1.781477937"
                    " + k * (-1.821255978 + k * 1.330274429))))")
    root = (2 * numpy.pi) ** -0.5
    c = ne.evaluate("root * exp(-d * d / 2) * p")
    return ne.evaluate("where(d > 0, 1 - c, c)")


def sobel(ne, image):
    a, b, c = image[:-2, 2:], image[1:-1, 2:], image[2:, 2:]
    d, e, f = image[:-2, :-2], image[1:-1, :-2], image[2:, :-2]
    g, h = image[2:, 1:-1], image[:-2, 1:-1]
    gx = ne.evaluate("a + 2 * b + c - d - 2 * e - f")
    gy = ne.evaluate("f + 2 * g + c - d - 2 * h - a")
    return ne.evaluate("sqrt(gx ** 2 + gy ** 2)"), ne.evaluate("arctan2(gy, gx)")


def hilbert(ne, n):
    i = numpy.arange(n)
    j = i[:, None]
    return ne.evaluate("1 / (i + j + 1.0)")
