# SPDX-License-Identifier: Apache-2.0
"""Loops, and calls of work units, that stand in a row in a captured function: one kernel, the bits of each by itself."""

import numpy as np
import pytest

import braze
import braze.numpy as bnp
from braze import jit
from jit_checks import both

N = 20_000


def rows(f):
    return [site for site in f.__braze_jit__.sites if site.is_row]


def check(f, *args, calls=1):
    """As Python, captured, and captured with calls apart; how many kernels ran."""
    want = [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]
    with np.errstate(all="ignore"):
        expected = f(*want)
    quick = jit(f)
    for make in (np.copy, bnp.array):
        for apart in (False, True, False):
            got = [make(a) if isinstance(a, np.ndarray) else a for a in args]
            before = sum(site.calls for site in quick.__braze_jit__.sites)
            if apart:
                with braze.unfused():
                    result = quick(*got)
            else:
                result = quick(*got)
                assert sum(site.calls for site in quick.__braze_jit__.sites) - before == calls, braze.explain(quick)
            assert np.array_equal(result, expected, equal_nan=True) if expected is not None else result is None
            for have, wanted in zip(got, want):
                assert np.asarray(have).tobytes() == np.asarray(wanted).tobytes()
    return quick


def stream(a, b, c, n):
    for i in range(n):
        c[i] = a[i] + b[i]
    for i in range(n):
        b[i] = 0.5 * c[i]
    for j in range(n):
        a[j] = b[j] - c[j]


def made(count=3, n=N):
    g = np.random.default_rng(1)
    return [g.random(n) for _ in range(count)]


def test_loops_at_the_top():
    quick = check(stream, *made(), N)
    said = str(braze.explain(quick, *made(), N))
    assert "a row, called" in said and "one loop with line" in said


def test_loops_that_do_not_become_one_stay_by_themselves():
    def f(a, b, n):
        s = 0.0
        for i in range(n):
            s += a[i]
        for i in range(n - 1):
            b[i + 1] = b[i] + s
        return s
    quick = check(f, *made(2, 100), 100, calls=2)
    assert not any(site.calls for site in rows(quick))
    assert "a row" not in str(braze.explain(quick))


def test_what_ends_early_is_in_no_row():
    def f(a, n):
        for i in range(n):
            a[i] += 1
        for i in range(n):
            if a[i] > 1e9:
                return i
        for i in range(n):
            assert a[i] < 1e9, i
        for i in range(n):
            a[i] *= 2
        else:
            n += 1
        return n
    quick = both(f, np.arange(50.0), 50)
    assert not rows(quick)


def test_a_wrong_index_comes_behind_what_was_written_before():
    def f(a, b, n):
        for i in range(n):
            a[i] = 2.0
        for i in range(n):
            b[i] = a[i] + 1.0
    quick = jit(f)
    a, b = np.zeros(N), np.zeros(N - 10)
    with pytest.raises(IndexError, match="test_rows.py"):
        quick(a, b, N)
    assert (a == 2).all() and (b == 3).all()
    quick(a, np.zeros(N), N)
    assert rows(quick)[0].calls == 2


def test_readonly_and_new_types_go_to_the_loops():
    quick = jit(stream)
    a, b, c = made()
    quick(a, b, c, N)
    for wrong in (a.astype(np.float32), [1.0] * N):
        quick(wrong, b, c, N)
    c.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        quick(a, b, c, N)


# ---- Units ----

@braze.kernel
def add(i, y, x, by):
    y[i] += x[i] * by


@braze.kernel
def cross(i, j, m, x, by):
    m[i, j] = m[i, j] * by + x[j]


@braze.kernel
def odd(i, y):
    if i % 2 == 0:
        return
    y[i] = -y[i]


@braze.kernel
def gives(i, y):
    return y[i]


@braze.kernel
def sums(i, y):
    s = 0.0
    # pragma parallel for reduction(sum:s)
    for k in range(3):
        s += y[k]
    y[i] += s


def test_units_in_a_row():
    def f(x, y, m, n, by):
        inner = braze.RangePolicy(1, n - 1)
        whole = braze.MDRangePolicy([0, 1], [5, 6])
        pair = (5, 6)
        braze.parallel_for(n, add, y=y, x=x, by=by)
        braze.parallel_for("named", inner, add, y=y, x=x, by=2 * by)
        braze.parallel_for(braze.RangePolicy(2, n), add, by=y[0], y=x, x=y)
        braze.parallel_for(range(n), add, y=x, x=y, by=x[n - 1] + by)
        braze.parallel_for(whole, cross, m=m, x=x, by=0.5)
        braze.parallel_for((5, 6), cross, m=m, x=x, by=len(x))
        braze.parallel_for(m.shape, cross, m=m, x=m[3], by=0.25)
        braze.parallel_for(pair, cross, m=m, x=x, by=True)
        braze.parallel_for(braze.MDRangePolicy((1, 1), (3, 2)), cross, m=m, x=y, by=n)
        braze.parallel_for(n, odd, y=y)
    check(f, *made(2, 300), np.ones((5, 6)), 300, 1.5)
    check(f, np.arange(40), np.arange(40) % 7, np.ones((5, 6), np.int64), 40, 3)


def test_rolled_calls():
    def f(x, y, n, turns):
        for t in range(turns):
            braze.parallel_for(n, add, y=y, x=x, by=0.5)
            braze.parallel_for(n, add, y=x, x=y, by=t)
    check(f, *made(2, N), N, 5)
    check(f, *made(2, 9), 9, 5)


def test_another_range_under_the_same_name():
    @jit
    def f(policy, x, y):
        braze.parallel_for(policy, add, y=y, x=x, by=2.0)
        braze.parallel_for(policy, add, y=y, x=x, by=1.0)
    x = np.ones(9)
    for policy in (braze.RangePolicy(0, 9), braze.RangePolicy(3, 5), 4, (9,), braze.RangePolicy(8), range(2, 6)):
        have, want = np.zeros(9), np.zeros(9)
        f(policy, x, have)
        f.py_func(policy, x, want)
        assert have.tolist() == want.tolist(), policy
    assert rows(f)[0].calls >= 5


def test_units_are_told_apart():
    @braze.kernel
    def twice(i, y):
        y[i] *= 2

    @braze.kernel
    def more(i, y):
        y[i] += 3

    @jit
    def f(first, second, y):
        braze.parallel_for(4, first, y=y)
        braze.parallel_for(4, second, y=y)
    for a, b, want in ((twice, more, 5), (more, twice, 8), (more, more, 7), (twice, more, 5)):
        y = np.ones(4)
        f(a, b, y)
        assert y.tolist() == [want] * 4


def test_units_that_run_by_themselves():
    def f(y):
        braze.parallel_for(4, odd, y=y)
        braze.parallel_for(4, sums, y=y)
    quick = both(f, np.arange(4.0), kernel=False)
    assert not any(site.calls for site in rows(quick))


@pytest.mark.parametrize("call", [
    "braze.parallel_for(4, add, y=y, x=y)", "braze.parallel_for(4, add, y=y, x=y, by=1, more=2)",
    "braze.parallel_for(4.5, odd, y=y)", "braze.parallel_for(4, 5, y=y)", "braze.parallel_for(4)",
    "braze.parallel_for(4, gives, y=y)", "braze.parallel_for((4, 4), odd, y=y)",
    "braze.parallel_for(braze.MDRangePolicy([0], [4, 4]), odd, y=y)"])
def test_wrong_calls_are_told(call, tmp_path):
    import importlib.util

    file = tmp_path / "wrong_calls.py"
    file.write_text("import braze\nfrom test_rows import add, gives, odd\n\n@braze.jit\ndef f(y):\n"
                    f"    braze.parallel_for(4, odd, y=y)\n    {call}\n")
    spec = importlib.util.spec_from_file_location("wrong_calls", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    y = np.arange(4.0)
    with pytest.raises(TypeError):
        module.f(y)
    assert y.tolist() == [0, -1, 2, -3]


def test_another_function_of_that_name_is_called_as_such():
    seen = []

    def parallel_for(n, what, **named):
        seen.append((n, what, named))

    @jit
    def f(y):
        parallel_for(3, odd, y=y)
        parallel_for(4, odd, y=y)
    f(np.ones(4))
    assert [n for n, *_ in seen] == [3, 4]
