# SPDX-License-Identifier: Apache-2.0
"""What people write first who come from Numba, each a function whose loops become kernels."""

import math

import braze
import numpy as np

G = 2.5
TABLE = np.array([1.0, 2.0, 4.0, 8.0])
PAIR = (3, 4)


def tuple_arg(x, shape):
    s = 0.0
    for i in range(shape[0]):
        for j in range(shape[1]):
            s += x[i] * j
    return s


def tuple_result(x):
    s, c = 0.0, 0
    for v in x:
        s += v
        c += 1
    return s, c


def global_tuple(x):
    s = 0.0
    for i in range(PAIR[0]):
        s += x[i] * PAIR[1]
    return s


def list_index(xs):
    s = 0.0
    for i in range(3):
        s += xs[0][i] * xs[1][i]
    return s


def empty_like(x):
    y = np.empty_like(x)
    for i in range(len(x)):
        y[i] = x[i] + 1
    return y


def enum_zip(x, y):
    s = 0.0
    for i, (a, b) in enumerate(zip(x, y)):
        s += i * a * b
    return s


def row_sums(m):
    out = np.zeros(len(m))
    for i, row in enumerate(m):
        out[i] = row.sum()
    return out


def shapes(m):
    s = 0.0
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            s += m[i, j] / m.size
    return s


def shape_unpack_inside(m):
    s = 0.0
    for t in range(2):
        n, k = m.shape
        s += n * k
    return s


def transposed(m):
    s = 0.0
    for i in range(m.T.shape[0]):
        s += m.T[i, 0]
    return s


def dot_rows(m, x3):
    out = np.zeros(len(m))
    for i in range(len(m)):
        out[i] = np.dot(m[i], x3)
    return out


def mean_inside(m):
    out = np.zeros(len(m))
    for i in range(len(m)):
        out[i] = m[i].mean()
    return out


def chained(x):
    c = 0
    for v in x:
        if 0 < v <= 2 < 5:
            c += 1
    return c


def mixing(x, k):
    s = 0
    for i in range(len(x)):
        s += k[i] // 2 + x[i] * 3
    return s


def float32s(x):
    s = np.float32(0)
    for v in x:
        s += np.float32(v) * np.float32(0.1)
    return s


def global_array(x):
    s = 0.0
    for i in range(len(x)):
        s += TABLE[i % 4] * G * x[i]
    return s


def closure(x):
    w = 0.25
    def inner(v):
        return v * w
    s = 0.0
    for v in x:
        s += inner(v)
    return s


def asserts(x):
    s = 0.0
    for v in x:
        assert v >= 0, "negative"
        s += v
    return s


def raises(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] < 0:
            raise ValueError("negative")
        s += x[i]
    return s


def raises_f(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 2:
            raise ValueError(f"element {i}")
        s += x[i]
    return s


def for_else(x):
    found = -1
    for i in range(len(x)):
        if x[i] > 100:
            found = i
            break
    else:
        found = -2
    return found


def inner_for_else(m):
    c = 0
    for i in range(len(m)):
        for j in range(m.shape[1]):
            if m[i, j] > 5:
                break
        else:
            c += 1
    return c


def mask_elements(x):
    mask = x > 1
    s = 0.0
    for i in range(len(x)):
        if mask[i]:
            s += x[i]
    return s


def complexes(x):
    z = 0j
    for v in x:
        z = z * z + complex(v, 1)
        if abs(z) > 10:
            z /= 10
    return z, z.real


def complex_parts(c):
    s = 0.0
    for i in range(len(c)):
        s += c[i].real ** 2 + c[i].imag ** 2 + np.conj(c[i]).imag
        s += c[i].conjugate().imag
    return s


def string_compare(x, mode):
    s = 0.0
    for v in x:
        if mode == "square":
            s += v * v
        else:
            s += v
    return s


def none_compare(x, w):
    s = 0.0
    for i in range(len(x)):
        if w is None:
            s += x[i]
        else:
            s += x[i] * w[i]
    return s


def set_member(k):
    c = 0
    for v in k:
        if v in (1, 2, 3):
            c += 1
    return c


def numpy_funcs(x):
    s = 0.0
    for i in range(len(x)):
        s += np.sqrt(x[i]) + np.power(x[i], 2) + np.maximum(x[i], 1) + np.clip(x[i], 0, 1) + np.sign(x[i])
    return s


def swap_rows(m):
    for i in range(len(m) // 2):
        for j in range(m.shape[1]):
            m[i, j], m[-1 - i, j] = m[-1 - i, j], m[i, j]
    return m


def row_assign(m, x):
    for i in range(len(m)):
        m[i] = x[:m.shape[1]] * i
    return m


def row_add(m, x):
    for i in range(len(m)):
        m[i] += x[:m.shape[1]]
    return m


def ravel(m):
    r = m.ravel()
    s = 0.0
    for v in r:
        s += v
    return s


def len_range_2d(m):
    s = 0.0
    for i in range(len(m)):
        for j in range(len(m[i])):
            s += m[i][j]
    return s


def bit_tricks(k):
    s = 0
    for v in k:
        s ^= int(v) << 3
        s |= int(v) & 5
    return s, bin(s)


def star_args(*xs):
    s = 0.0
    for i in range(3):
        s += xs[0][i]
    return s


def with_errstate(x):
    s = 0.0
    with np.errstate(all="ignore"):
        for v in x:
            s += v
    return s


def break_outer(m):
    for i in range(len(m)):
        done = False
        for j in range(m.shape[1]):
            if m[i, j] > 4:
                done = True
                break
        if done:
            break
    return i, j


def int_floor(x):
    s = 0
    for v in x:
        s += int(v) + int(np.floor(v)) + np.int64(v)
    return s


def astype_inside(k):
    s = 0.0
    for i in range(len(k)):
        s += k[i].astype(np.float64) / 2
    return s


def reversed_array(x):
    s = 0.0
    for v in reversed(x):
        s = s * 0.5 + v
    return s


class Box:
    SCALE = 2.0

    def __init__(self):
        self.x = np.arange(4.0)
        self.k = 3

    def method(self):
        s = 0.0
        for i in range(len(self.x)):
            s += self.x[i] * self.SCALE * self.k
        return s

    def calls(self):
        s = 0.0
        for i in range(len(self.x)):
            s += self.one(i)
        return s

    def one(self, i):
        return self.x[i] + 1



def else_assigns(x, y):
    for i in range(len(x)):
        for n in range(int(x[i])):
            if n * n > y[i]:
                break
        else:
            n = -1
        y[i] = n
    return y


def assigned_before_break(x):
    s = 0.0
    for v in x:
        while True:
            half = v * 0.5
            if half < 1:
                break
            v = half
        s += half
    return s


def enumerate_from(x, y):
    s = 0.0
    for n, (a, b) in enumerate(zip(x, y), start=3):
        s += n * a - b
    for n, a in enumerate(x, start=len(y)):
        s -= n * a
    return s
