# SPDX-License-Identifier: Apache-2.0
"""What people write first who come from Numba, each a function with a loop that stays Python.

The comment behind a line is what `braze.explain` says of it.
"""

import math

import numpy as np

NAMES = [1, 2, 3]


def list_of_arrays(xs):
    s = 0.0
    for x in xs:  # 'xs' is of type list, which no kernel takes
        for i in range(len(x)):
            s += x[i]
    return s


def zeros_inside(m):
    s = 0.0
    for i in range(len(m)):
        t = np.zeros(3)  # numpy.zeros is no part of a kernel: make the array before the loop
        for j in range(3):
            t[j] = m[i, j]
        s += t[0] + t[2]
    return s


def matvec_inside(m, x3):
    s = 0.0
    for t in range(3):
        y = m @ x3  # a product of arrays that is not assigned to a slice at once
        s += y[0]
    return s


def sum_axis(m):
    s = 0.0
    for t in range(2):
        s += np.sum(m, axis=0)[0]  # an index of what is no array, but of an expression
    return s


def sum_axis_store(m, out):
    for t in range(2):
        out[:] = np.sum(m, axis=1)  # a reduction along an axis inside a loop
    return out


def np_std(m):
    out = np.zeros(len(m))
    for i in range(len(m)):
        out[i] = np.std(m[i])  # numpy.std is no part of a kernel
    return out


def maths(x):
    s = 0.0
    for v in x:
        s += math.sin(v) + math.exp(-v) + math.pi * math.log(v + 1) + math.floor(v) + math.gamma(v + 1)  # math.gamma is no part of a kernel
    return s


def math_isclose(x):
    c = 0
    for v in x:
        if math.isclose(v, 1.0):  # math.isclose is no part of a kernel
            c += 1
    return c


def global_list(x):
    s = 0.0
    for i in range(3):
        s += NAMES[i] * x[i]  # 'NAMES' is of type list, which no kernel takes
    return s


def lambda_inside(x):
    f = lambda v: v * 2
    s = 0.0
    for v in x:
        s += f(v)  # <lambda> is no function that def makes
    return s


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)  # fib() calls itself


def recursion(x):
    s = 0.0
    for i in range(len(x)):
        s += fib(i) * x[i]
    return s


def prints(x):
    s = 0.0
    for v in x:
        s += v
        if s > 1e9:
            print("big", s)  # print() is no part of a kernel
    return s


def tries(x):
    s = 0.0
    for i in range(len(x) + 2):
        try:  # try is no part of a kernel
            s += x[i]
        except IndexError:
            s -= 1
    return s


def walrus(x):
    s, i = 0.0, 0
    while (v := x[i]) < 3:  # := is no part of a kernel
        s += v
        i += 1
    return s


def bool_mask(x):
    s = 0.0
    for t in range(2):
        s += x[x > 1].sum()  # a reduction of what is no array and no slice
    return s


def bool_mask_store(x):
    for t in range(2):
        x[x > 1] = 0  # an array as an index: a mask, or places
    return x


def structured(x):
    r = np.zeros(3, dtype=[("a", "f8"), ("b", "i4")])
    for i in range(3):
        r[i]["a"] = x[i]  # 'r' is an array of [('a', '<f8'), ('b', '<i4')]
        r["b"][i] = i
    return r["a"].copy(), r["b"].copy()


def gen_function(x):
    def g():
        for v in x:
            yield v + 1
    s = 0.0
    for v in g():  # a loop over what g() gives
        s += v
    return s


def strings(x):
    name = "abc"
    s = 0.0
    for c in name:  # 'name' is of type str, which no kernel takes
        s += x[0]
    return s


def comprehension(x):
    s = 0.0
    for i in range(3):
        y = [v * i for v in x]  # a list comprehension is no part of a kernel
        s += y[0]
    return s


def array_literal(x):
    s = 0.0
    for i in range(3):
        w = np.array([0.25, 0.5, 0.25])  # numpy.array is no part of a kernel: make the array before the loop
        s += w[i] * x[i]
    return s


def append(x):
    out = []
    for v in x:
        if v > 1:
            out.append(v)  # a call of out.append(), which no kernel has
    return len(out)


def dictionary(k):
    d = {}
    for v in k:
        d[v] = d.get(v, 0) + 1  # a call of d.get(), which no kernel has
    return len(d)


def round_digits(x):
    s = 0.0
    for v in x:
        s += round(v * 1.234, 1)  # round() with 2 arguments
    return s


def sum_builtin(m):
    s = 0.0
    for i in range(len(m)):
        s += sum(m[i])  # sum() is no part of a kernel: np.sum of a slice is
    return s


def max_builtin(m):
    s = 0.0
    for i in range(len(m)):
        s += max(m[i])  # max() of one argument: np.max of a slice is one
    return s


def copy_row(m):
    s = 0.0
    for i in range(len(m)):
        row = m[i].copy()  # a call of 'm[i].copy', which the loop makes
        row[0] = 100
        s += row[0] - m[i, 0]
    return s


def temp_vector(m, x):
    s = 0.0
    for i in range(len(m)):
        d = m[i] - x[:m.shape[1]]  # an array in place of a number
        s += d[0] * d[1]
    return s


def norm_rows(m):
    s = 0.0
    for i in range(len(m)):
        s += np.linalg.norm(m[i])  # a call of np.linalg.norm(), which no kernel has
    return s


def argmax_rows(m):
    c = 0
    for i in range(len(m)):
        c += np.argmax(m[i])  # numpy.argmax is no part of a kernel
    return c


def tuple_index(m):
    s = 0.0
    for i in range(len(m)):
        p = (i, 0)  # a tuple is no part of a kernel
        s += m[p]
    return s


def nested_def_loop(x):
    s = 0.0
    for i in range(len(x)):
        def f(v):  # a function's definition is no part of a kernel
            return v + i
        s += f(x[i])
    return s


def np_arange(x):
    s = 0.0
    for i in np.arange(len(x)):  # a loop over what np.arange() gives
        s += x[i]
    return s


def ndindex(m):
    s = 0.0
    for i, j in np.ndindex(m.shape):  # a loop over what np.ndindex() gives
        s += m[i, j] * i
    return s


def flat(m):
    s = 0.0
    for v in m.flat:  # 'm.flat' is of type flatiter, which no kernel takes
        s += v
    return s


def ndenumerate(m):
    s = 0.0
    for (i, j), v in np.ndenumerate(m):  # a loop over what np.ndenumerate() gives
        s += v * i
    return s


def del_var(x):
    s = 0.0
    for v in x:
        t = v * 2
        s += t
        del t  # del is no part of a kernel
    return s


def nonlocal_sum(x):
    s = 0.0
    def add(v):
        nonlocal s
        s += v
    for v in x:
        add(v)  # add() has nonlocal
    return s


def match_case(k):
    s = 0
    for v in k:
        match int(v):  # match is no part of a kernel
            case 0:
                s += 1
            case 1 | 2:
                s += 10
            case _:
                s += 100
    return s


def random_inside(x):
    s = 0.0
    for i in range(3):
        s += np.random.random() * 0  # a call of np.random.random(), which no kernel has
    return s


def item_inside(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i].item() + x.item(i)  # a call of x.item(), which no kernel has
    return s


def reversed_step(x):
    s = 0.0
    for v in x[::-1]:  # a slice in place of an element
        s = s * 0.5 + v
    return s


def for_slice(x):
    s = 0.0
    for v in x[1:-1]:  # a slice in place of an element
        s += v
    return s


def any_gen(m):
    c = 0
    for i in range(len(m)):
        if any(v > 4 for v in m[i]):  # a generator is no part of a kernel
            c += 1
    return c


def whole_assign(x, y):
    for t in range(3):
        y[:] = x * 2 + y
        y += 1  # 'y' is an array of float64, and is assigned in the loop
    return y


def whole_aug(x, y):
    for t in range(3):
        y += x * 0.5  # 'y' is an array of float64, and is assigned in the loop
        y *= 2
    return y


def swap_buffers(x, y):
    for t in range(3):
        for i in range(1, len(x) - 1):
            y[i] = (x[i - 1] + x[i + 1]) / 2
        x, y = y, x  # is an array of float64, and is assigned in the loop
    return x


class Box:
    def __init__(self):
        self.x = np.arange(4.0)
        self.k = 3

    def one(self, i):
        return self.x[i] + 1


def calls(box):
    s = 0.0
    for i in range(len(box.x)):
        s += box.one(i)  # a call of box.one(), which no kernel has
    return s


def stores(box):
    for i in range(len(box.x)):
        box.k += 1  # an assignment to an attribute
    return box.k


def break_before_assigned(x, y):
    for i in range(len(x)):  # 'half' may be read before it is assigned
        for v in y:
            if v > x[i]:
                break
            half = v * 0.5
        else:
            half = 2.0
        x[i] = half
    return x


def break_inside_with(x):
    while True:
        with np.errstate(all="ignore"):  # with is no part of a kernel
            if x[0] < 9:
                break
            half = x[0] * 0.5
        break
    for i in range(len(x)):  # 'half' may be read before it is assigned
        x[i] = half
    return x
