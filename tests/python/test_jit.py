# SPDX-License-Identifier: Apache-2.0
"""Captured functions give what they give uncaptured: values, types, what they write, errors."""

import linecache
import math
import random

import numpy as np
import pytest

import braze
import braze.numpy as bnp
import jit_random
from braze import jit
from jit_checks import both, captured, same

FACTOR = 3


def total(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "i1", "u1", "u8", "c16", "c8"])
def test_sums_have_the_types_of_elements(dtype):
    both(total, np.arange(7).astype(dtype))


def test_sums_of_nothing():
    assert same(jit(total)(np.zeros(0)), 0.0)


def test_elements_rows_and_columns():
    def f(a):
        n, m = a.shape
        for i in range(n):
            row = a[i]
            for j in range(1, m):
                row[j] += row[j - 1] * FACTOR
                a[-1, j] = max(a[i][j], a[-1, j])
        return a[0, 0]
    both(f, np.arange(12.0).reshape(3, 4))


def test_counters_and_variables_live_on():
    def f(x, y):
        last = -1
        for i in range(len(x)):
            if x[i] > y:
                last = i
                break
            seen = x[i] * 2
        return last, i, seen
    both(f, np.arange(10.0), 4)


def test_a_loop_without_turns_leaves_what_was():
    def f(x):
        i = "before"
        k = 5
        for i in range(len(x)):
            k = i
        return i if len(x) else "none", k
    both(f, np.arange(3))
    assert jit(f)(np.zeros(0)) == ("none", 5)

    def g(x):
        for v in x:
            last = v
        return last
    both(g, np.arange(3.0))
    with pytest.raises(UnboundLocalError):
        jit(g)(np.zeros(0))


def test_returns_from_inside():
    def f(a, v):
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                if a[i, j] == v:
                    return i, j
                if a[i, j] < 0:
                    return -1, 0
        return None
    for v in (5, 99, 0):
        both(f, np.arange(12).reshape(3, 4), v)

    def g(x):
        for v in x:
            if v > 2:
                return v
        return -1
    both(g, np.arange(9.0))
    both(g, np.arange(2.0))


def test_functions_of_numbers_become_functions():
    def clip(v, low, high):
        if v < low:
            return low
        return high if v > high else v

    def f(x):
        for i in range(len(x)):
            x[i] = clip(x[i], 2.5, 6.0) * scale(x[i])
        return x[0]
    both(f, np.arange(9.0))


def scale(v):
    t = 1
    while t < v:
        t *= 2
    return t + FACTOR


def test_free_names_are_read_at_each_call():
    global FACTOR
    f = jit(lambda_free)
    x = np.arange(3.0)
    assert f(x) == 9
    FACTOR = 2.5
    assert f(x) == 7.5
    FACTOR = 3

    value = 2

    def g(x):
        s = 0
        for v in x:
            s += v * value
        return s
    h = jit(g)
    assert h(x) == 6
    value = 4
    assert h(x) == 12


def lambda_free(x):
    s = 0
    for v in x:
        s += v * FACTOR
    return s


class Thing:
    def __init__(self):
        self.x = np.arange(4.0)
        self.rate = 0.5

    @jit
    def step(self, n):
        for _ in range(n):
            for i in range(len(self.x)):
                self.x[i] = self.x[i] * self.rate + math.pi
        return self.x.sum()


def test_methods_and_attributes():
    one, two = Thing(), Thing()
    want = Thing.step.py_func(one, 3)
    assert np.float64(two.step(3)) == want
    assert (one.x == two.x).all()
    captured(Thing.step)
    two.rate = 2
    one.rate = 2
    assert np.float64(two.step(2)) == Thing.step.py_func(one, 2)


def test_conditions_do_only_what_they_need():
    def f(x, n):
        hits = 0
        i = 0
        while i < 2 * n and (i >= n or x[i] >= 0):
            v = x[i] if i < n else -1.0
            hits += 0 < v <= 5 and (x[i] > 2 or i + 1 < n and x[i + 1] > 2)
            i += 1
        return hits, i
    both(f, np.array([1.0, 3, 0, 5, 2]), 5)


def test_python_and_numpy_differ_in_extremes():
    def f(x, y):
        out = np.zeros(4)
        for i in range(len(x)):
            out[0] += min(x[i], y[i])
            out[1] += np.minimum(x[i], y[i])
            out[2] = max(out[2], x[i], y[i])
            out[3] = max(x[i], out[3])
        return out
    both(f, np.array([1, np.nan, 3.0]), np.array([2.0, 1, np.nan]))


def test_integers_of_pythons():
    def f(n):
        s, t, u = 0, 1, 0.0
        for i in range(1, n, 3):
            s += i // 2 - (-i) // 3 + i % 5 - (-i) % 7
            t = (t * 31 + i) & 0xffff | 1 << 3
            u += i / 4 + 2 ** i + i ** 0.5 + 2.0 ** -i
        return s, t, u, ~s
    both(f, 40)


@pytest.mark.parametrize("weak", [True, 3, 2.5, 1j])
@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"])
def test_pythons_numbers_beside_elements(weak, dtype):
    x = np.array([0, 1, 1, 1]).astype(dtype)

    def f(x, w):
        for i in range(len(x)):
            a = x[i] + w
            b = w * x[i]
            c = x[i] == w
        return a, b, c
    # Whether an integer is negative is not known beforehand, and no type holds both then.
    both(f, x, weak, kernel=not (dtype == "u8" and type(weak) is int))

    def g(x, w):
        for i in range(len(x)):
            a = x[i] / (w + 1)
        return a
    both(g, x, weak)


def test_stores_cast_as_numpys():
    def f(a, b, c, v):
        for i in range(len(a)):
            a[i] = v * i
            b[i] = v * i > 3
            c[i] = i
            c[i] += v
    both(f, np.zeros(5, "i4"), np.zeros(5, "?"), np.zeros(5, "f4"), 1.7)


def test_zips_enumerations_and_reversals():
    def f(x, y):
        s = 0
        for k, (a) in enumerate(x):
            s += k * a
        for a, b in zip(x, y):
            s = s * 2 + a - b
        for i in reversed(range(len(x))):
            s = s // 2 + x[i]
        for i in braze.prange(2, len(y)):
            s += y[i]
        return s
    both(f, np.arange(5), np.arange(3) * 7)


def test_swaps():
    def fibonacci(n):
        a, b = 0, 1
        for _ in range(n):
            a, b = b, (a + b) % 1000007
        return a
    both(fibonacci, 1000)

    def f(x):
        for i in range(len(x) // 2):
            x[i], x[-1 - i] = x[-1 - i], x[i]
    both(f, np.arange(7))


def test_arguments_that_overlap():
    def f(x, y):
        for i in range(len(x)):
            y[i] = x[i] + 1

    a = np.zeros(9)
    b = a.copy()
    f(a[:-1], a[1:])
    jit(f)(b[:-1], b[1:])
    assert (a == b).all() and a[-1] == 8


def test_layouts():
    def f(a, b):
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                a[i, j] = b[j, i] * 2
    a = np.zeros((4, 6))[::-1, ::2]
    b = np.arange(12.0).reshape(3, 4, order="F")
    jit(f)(a, b)
    assert (a == b.T * 2).all()


def test_errors_name_the_line():
    def f(x):
        s = 0.0
        for i in range(len(x) + 1):
            s += x[i]
            x[i] = 7
        return s
    x = np.zeros(3)
    line = f.__code__.co_firstlineno + 3
    with pytest.raises(IndexError, match=rf"test_jit.py:{line}: index 3 is out of bounds for axis 0"):
        jit(f)(x)
    assert (x == 7).all()

    def g(n):
        s = 0
        for i in range(0, 5, n):
            s += 1
        return s
    with pytest.raises(ValueError):
        jit(g)(0)


def test_what_is_read_only_stays_so():
    def f(x):
        for i in range(len(x)):
            x[i] = 1
    x = np.zeros(3)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        jit(f)(x)
    assert not x.any()


def test_an_integer_that_does_not_fit_raises_as_numpys():
    def f(x, start):
        s = start
        for v in x:
            s = s + v
        return s
    assert jit(f)(np.ones(3, "u1"), 250) == f(np.ones(3, "u1"), 250)
    with pytest.raises(OverflowError):
        jit(f)(np.ones(3, "u1"), 1000)


NOT = {
    "a list": ("s = [0]\nfor i in range(3):\n    s[0] += i\nreturn s[0]", "list"),
    "a string": ("s = ''\nfor i in range(3):\n    s += 'x'\nreturn s", "type str"),
    "a dict": ("d = {}\nfor i in range(3):\n    d[i] = 1\nreturn len(d)", "dict"),
    "a big integer": ("s = 1\nfor i in range(3):\n    s *= 2 ** 70\nreturn s", "64 bits"),
    "print": ("s = 0\nfor i in range(3):\n    print(end='')\nreturn s", "arguments by name"),
    "comprehension": ("s = 0\nfor i in range(3):\n    s += sum([1 for k in range(i)])\nreturn s",
                      "list comprehension"),
    "may be unbound": ("for i in range(3):\n    if i:\n        s = t\n    t = i\nreturn s", "before"),
    "try": ("s = 0\ntry:\n    for i in range(3):\n        s += i\nexcept IndexError:\n    pass\n"
            "return s", "try"),
    "an object": ("s = 0\nfor i in range(3):\n    s += THING.n\nreturn s", None),
}


@pytest.mark.parametrize("name", NOT)
def test_what_stays_python(name, tmp_path):
    body, reason = NOT[name]
    path = tmp_path / "made.py"
    path.write_text("class THING: n = 2\ndef f():\n" + "\n".join("    " + s for s in body.split("\n")))
    space = {"__name__": "made"}
    exec(compile(path.read_text(), str(path), "exec"), space)
    f = jit(space["f"])
    assert f() == space["f"]()
    text = str(braze.explain(f))
    assert ("stays Python" in text) == (reason is not None), text
    if reason:
        assert reason in text


def test_inner_loops_of_what_stays_python():
    def f(rows):
        out = []
        for r in rows:
            s = 0.0
            for v in r:
                s += v
            out.append(s)
        return out
    g = jit(f)
    rows = [np.arange(4.0), np.arange(3.0)]
    assert g(rows) == [6, 3]
    assert [site.calls for site in g.__braze_jit__.sites] == [0, 2]


def test_braze_arrays_that_are_pending():
    @jit
    def f(x, k):
        for i in range(1, len(x)):
            x[i] += x[i - 1] * k
        return x
    a = bnp.arange(5.0) * 2
    k = (bnp.arange(3.0) + 1).sum() / 6
    out = f(a, k)
    assert out is a
    assert np.asarray(a + 1).tolist() == [1, 3, 7, 13, 21]


def test_defaults_names_and_documents_stay():
    @jit
    def f(x, k=2, *rest, up=1, **more):
        """Doubles."""
        for i in range(len(x)):
            x[i] *= k + up
        return x
    assert f.__name__ == "f" and f.__doc__ == "Doubles."
    assert f(np.ones(2)).tolist() == [3, 3]
    assert f(np.ones(2), 4, up=2).tolist() == [6, 6]
    assert jit(f) is f
    with pytest.raises(TypeError):
        jit(3)


def test_types_can_be_named():
    @jit
    def f(n):
        s: np.float32 = 0
        for i in range(n):
            t: np.int8 = i
            s += 0.1
        return s
    assert f.__braze_jit__.sites

    @jit
    def g(x):
        for v in x:
            s: np.float32 = v
        return s
    assert g(np.array([0.1])) == np.float32(0.1)


def test_explain_says_what_became_of_loops():
    @jit
    def f(x):
        s = 0.0
        for v in x:
            s += v
        return s
    assert "called 0 times" in str(braze.explain(f))
    text = str(braze.explain(f, np.ones(3)))
    assert "s: float64" in text and "kernel f(" in text and "called 1 times" in text
    with pytest.raises(TypeError):
        braze.explain(bnp.ones(2), 3)


def test_calls_that_have_a_kernel_take_the_short_way():
    @jit
    def f(x, n, c, k):
        for i in range(len(x)):
            x[i] += n * c.real + k
        return n
    site = f.__braze_jit__.sites[0]
    x = np.zeros(3)
    short = []
    for n, c, k in ((1, 2j, np.int8(4)), (5, 1j, np.int8(-3)), (2**62, 0j, np.int8(0)), (True, 1j, np.int8(1))):
        before = site.entry.calls
        f(x, n, c, k)
        short.append(site.entry.calls - before)
    assert short == [0, 1, 1, 0] and "real" in str(braze.explain(f))

    @jit
    def g(x, n, k, big):
        s = 0
        for i in range(len(x)):
            x[i] += n * 2.5 + k
            s += n
        return s, big
    site = g.__braze_jit__.sites[0]
    x, y = np.zeros(3), np.zeros(3)
    for step, n in enumerate((1, 5, -7, True, 2, 2**70, 2.5)):
        before = site.entry.calls
        assert same(g.py_func(x, n, np.int8(4), 0), g(y, n, np.int8(4), 0))
        assert (x == y).all()
        # The first of a type has its kernel made; what has more than 64 bits is Python's.
        assert site.entry.calls - before == (n in (5, -7, 2) and n is not True), n
    y.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        g(y, 5, np.int8(4), 0)
    assert (x == y).all()


def test_a_number_after_an_array_has_a_kernel_of_its_own():
    def f(x, v, n):
        s = 0.0
        for i in range(n):
            x[i] += 1
            if n > 9:
                s += v[i]
        return s
    quick = jit(f)
    x = np.arange(3.0)
    for v in (np.ones(3), 2.5, np.ones(3), 1, np.float64(2)):
        assert quick(x, v, 3) == 0
    assert x.tolist() == [5, 6, 7]


def test_new_functions_at_each_call_are_not_kept():
    @jit
    def f(x, g):
        for i in range(len(x)):
            x[i] = g(x[i])
        return x
    for _ in range(100):
        assert f(np.arange(3.0), lambda v: v + 1).tolist() == [1, 2, 3]
    site = f.__braze_jit__.sites[0]
    assert sum(map(len, site.specials.values())) <= 64


def test_a_site_goes_with_its_function():
    import gc
    import weakref

    def make():
        big = np.zeros(1000)

        @jit
        def f(x):
            for i in range(len(x)):
                x[i] += big[i]
            return x
        f(np.ones(3))
        f(np.ones(3))
        return f, weakref.ref(big)
    f, ref = make()
    del f
    gc.collect()
    assert ref() is None


# ---- Functions that take arrays ----

TABLE = np.arange(5.0)


def find_first(a, value, begin):
    for i in range(begin, a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] == value:
                return i, j
    return -1, -1


def swap(a, i, j):
    a[i], a[j] = a[j], a[i]


def bump(row, k):
    row[k] += 1
    return row[k]


def from_table(k):
    return TABLE[k] * 2 if k < len(TABLE) else TABLE[0]


def sign_of_sum(row):
    s = 0.0
    for k in range(len(row)):
        s += row[k]
        if s > 100:
            return 2
    if s < 0:
        return -1
    return 1 if s > 0 else 0


def test_functions_take_arrays_and_give_several_values():
    def f(a, values):
        hits = 0
        for v in range(len(values)):
            i, j = find_first(a, values[v], 0)
            if i >= 0 and sign_of_sum(a[i]) == 1:
                hits += 10 * i + j
        return hits
    both(f, np.arange(12.0).reshape(3, 4) - 2, np.array([3.0, 99.0, -2.0, 8.0]))


def test_functions_write_arrays():
    def f(x, a):
        n = len(x)
        for i in range(n // 2):
            swap(x, i, n - 1 - i)
        for i in range(n):
            last = bump(a[i % 2], i)
            x[i] = bump(a[0], 0)
            if bump(a[1], 1) > 3:
                x[i] += last
            x[i] += from_table(i)
        return last
    both(f, np.arange(7.0), np.zeros((2, 7)))


def test_the_order_of_what_a_function_writes_is_pythons():
    def f(a):
        for i in range(len(a)):
            a[0] = a[0] + bump(a, 0)
        return a[0]
    quick = both(f, np.arange(3.0), kernel=False)
    assert "inside an expression" in braze.explain(quick)

    def g(a):
        s = 0.0
        for i in range(len(a)):
            x, y = a[0], bump(a, 0)
            s += bump(a, 1)
            s += x * 100 + y
        return s
    both(g, np.arange(3.0))


def test_what_functions_with_arrays_may_not():
    def recursive(a, k):
        return recursive(a, k - 1) if k else a[0]

    def other(a, k):
        a = a[k:]
        return a[0]

    def mixed(a, k):
        if k > 5:
            return a[0], 1
        return a[0]

    def explained(helper):
        def f(a):
            s = 0.0
            for i in range(len(a)):
                s += helper(a, i)
            return s
        return braze.explain(both(f, np.arange(3.0), kernel=False))

    assert "recursive() calls itself" in explained(recursive)
    assert "'a' of other() is an array, and is assigned" in explained(other)
    assert "mixed() returns different numbers of values" in explained(mixed)


# ---- What a loop leaves ----

def test_names_that_later_loops_use_again():
    def f(x):
        for i in range(len(x)):
            k = x[i] * 2
            x[i] = k
        s = 0.0
        for t in range(3):
            for i in range(len(x)):
                k = x[i] + t
                s += k
            for k in range(2):
                s += k
        for i in range(2):
            s += i
        return s
    quick = both(f, np.arange(4.0))
    assert all("_set" not in text for text in braze.explain(quick).split("\n"))


def test_a_name_that_some_way_reads_is_left():
    def f(x, stop):
        for t in range(3):
            for i in range(len(x)):
                x[i] += t
            if t == stop:
                print(end="")
                break
            i = -1
        return i
    both(f, np.arange(4.0), 1, kernel=False)
    both(f, np.arange(4.0), 5, kernel=False)

    def g(x, skip):
        out = 0
        for t in range(3):
            if t:
                out += last
                print(end="")
            for i in range(len(x)):
                last = i * t
            if t == skip:
                continue
            last = 100
        return out
    with pytest.raises(UnboundLocalError):
        jit(g)(np.zeros(0), 0)
    both(g, np.arange(4.0), 1, kernel=False)

    def h(x):
        for i in range(len(x)):
            v = x[i]

        def inner():
            return i, v
        for i in range(2):
            x[i] = i
        return inner()
    both(h, np.arange(4.0), kernel=False)


def test_comparisons_with_numbers_stay_in_their_type():
    def f(x):
        n = 0
        for i in range(len(x)):
            if x[i] > 100 or x[i] == -1 or x[i] < 1000:
                n += 1
            if x[i] == 300 or x[i] >= 2**40:
                n += 100
        return n
    for dtype in ("i1", "u1", "i4", "i8"):
        quick = both(f, np.array([0, 1, 100, 101, 127], dtype))
        text = braze.explain(quick)
        assert "x[i] > 100" in text or "x[k] > 100" in text


# ---- Loops over other things, arguments by name ----

def scaled(x, factor=2.0, shift=0):
    return x * factor + shift


def total_of(row, begin=0, step=1):
    s = 0.0
    for k in range(begin, len(row), step):
        s += row[k]
    return s


def test_arguments_by_name_and_defaults():
    def f(a):
        s = 0.0
        for i in range(len(a)):
            s += scaled(a[i, 0]) + scaled(a[i, 1], shift=i) + scaled(factor=0.5, x=a[i, 2])
            s += total_of(a[i]) + total_of(a[i], step=2) + total_of(row=a[i], begin=1)
        return s
    both(f, np.arange(12.0).reshape(3, 4))

    def g(a):
        for i in range(len(a)):
            a[i] = scaled(a[i], x=2)
    with pytest.raises(TypeError, match="multiple values"):
        jit(g)(np.arange(3.0))


def test_rows():
    def f(a, b):
        s = 0.0
        for row in a:
            for v in row:
                s += v
            row[0] = s
        for i, line in enumerate(a):
            s += line[i % 2] * i
        for one, other in zip(a, b):
            one[1] += other
        return s
    both(f, np.arange(12.0).reshape(3, 4), np.arange(3.0))
    both(f, np.arange(12.0).reshape(3, 4)[:, ::-1], np.arange(9.0)[::-2])


def test_loops_over_what_is_written_out():
    def f(grid):
        n, m = grid.shape
        edges = 0
        for i in range(n):
            for j in range(m):
                for di, dj in ((0, 1), (1, 0), (0, -1), (-1, 0)):
                    if not (0 <= i + di < n and 0 <= j + dj < m):
                        continue
                    if grid[i + di, j + dj] > 3:
                        edges += 1
                        break
        for weight in [0.25, 1, edges]:
            edges += weight
        return edges
    both(f, (np.arange(20).reshape(4, 5) * 7 % 6).astype(np.int32))


def test_infinities_by_their_names():
    def f(x):
        best, worst = float("inf"), -float("Infinity")
        for v in x:
            if best == float("inf") or v < best:
                best = v
            worst = max(worst, v, float("-inf"))
        return best, worst
    both(f, np.array([3.0, 1.0, 2.0]))


@pytest.mark.parametrize("start", range(0, 120, 10))
def test_random_functions(start):
    for seed in range(start, start + 10):
        program = jit_random.Program(random.Random(seed))
        text = jit_random.HELPERS + program.text
        name = f"<random function {seed}>"
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        space = {}
        exec(compile(text, name, "exec"), space)
        quick = jit(space["f"])
        want_in, have_in = program.arrays(np), program.arrays(np)
        with np.errstate(all="ignore"):
            want = space["f"](**want_in)
        have = quick(**have_in)
        assert all(map(same, map(np.asarray, want), map(np.asarray, have))), (seed, want, have, program.text)
        for k in want_in:
            assert same(want_in[k], have_in[k]), (seed, k, program.text)
        captured(quick)
