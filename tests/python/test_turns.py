# SPDX-License-Identifier: Apache-2.0
"""Time loops: what repeats is one plan whose turns the worker does by itself, with NumPy's answers."""

import os

import numpy
import pytest

import braze
import braze.numpy as np
import loop_programs
from loop_programs import adi, deriche, fdtd_2d, jacobi_2d


def jacobi_1d(m, turns, n):
    a = m.arange(n) / n
    b = a + 0.5
    for _ in range(turns):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])
    return a, b


def heat_3d(m, turns, n):
    return loop_programs.heat_3d(m, turns, min(n, 9))


def column_sweeps(m, turns, n):
    a = m.arange(n * (turns + 1)).reshape(n, turns + 1) % 7 / 8
    b = m.zeros((n, turns + 1))
    for j in range(1, turns + 1):
        b[:, j] = 0.5 * b[:, j - 1] + a[:, j] * a[:, j - 1] + 1.0
    for j in range(turns - 1, -1, -1):
        b[:, j] -= 0.25 * b[:, j + 1] * a[:, j]
    return (b,)


def recursive_filter(m, turns, n):
    """Two values of the turns before, and a column of each turn's."""
    x = m.arange(n * turns).reshape(n, turns) % 11 / 12
    out = m.zeros((n, turns))
    y1, y2, x1 = m.zeros(n), m.zeros(n), m.zeros(n)
    for j in range(turns):
        y = 0.25 * x[:, j] + 0.125 * x1 + 0.5 * y1 - 0.25 * y2
        out[:, j] = y
        x1, y2, y1 = x[:, j], y1, y
    return out, y1, y2


def wave(m, turns, n):
    before, now, heard = m.arange(n) / n, m.arange(n) / (n + 1), []
    for _ in range(turns):
        new = m.zeros(n)
        new[1:-1] = 2 * now[1:-1] - before[1:-1] + 0.1 * (now[2:] - 2 * now[1:-1] + now[:-2])
        before, now = now, new
        heard.append(now[n // 2])
    return (now, before, *heard)


def losses(m, turns, n):
    w, history = m.arange(n) / n, []
    x = w * 0.3 + 1
    for _ in range(turns):
        slope = x * (w * x - 1.0)
        w = w - 0.01 * slope
        history.append((slope * slope).sum())
    return (w, *history)


def numbers_of_the_turn(m, turns, n):
    w = m.arange(n) / n
    for t in range(turns):
        w = w + (0.5 - w) * (1.0 / (t + 1))
        w = w * (1 + 0.001 * t) / (1.0 + m.abs(w))
    return (w,)


def kept_copies(m, turns, n):
    """A snapshot of every eighth turn is somebody's own."""
    a, kept = m.arange(n) / n, []
    for t in range(turns):
        a[1:] = 0.5 * (a[1:] + a[:-1])
        a[:-1] *= 0.99
        if t % 8 == 0:
            kept.append(a.copy())
    return (a, *kept)


def heat_3d_in_place(m, turns, n):
    """Two arrays take turns, as programs of stencils write it."""
    n = min(n, 9)
    a = m.arange(n * n * n).reshape(n, n, n) / n
    b = a.copy()
    for _ in range(turns):
        for x, y in ((a, b), (b, a)):
            c = x[1:-1, 1:-1, 1:-1]
            y[1:-1, 1:-1, 1:-1] = (0.125 * (x[2:, 1:-1, 1:-1] - 2.0 * c + x[:-2, 1:-1, 1:-1])
                                   + 0.125 * (x[1:-1, 2:, 1:-1] - 2.0 * c + x[1:-1, :-2, 1:-1])
                                   + 0.125 * (x[1:-1, 1:-1, 2:] - 2.0 * c + x[1:-1, 1:-1, :-2]) + c)
    return a, b


def deriche_rows(m, turns, n):
    x = m.arange(n * turns).reshape(turns, n) % 17 / 18
    y = m.zeros((turns, n))
    y[0] = 0.2 * x[0]
    y[1] = 0.2 * x[1] - 0.1 * x[0] + 0.6 * y[0]
    for j in range(2, turns):
        y[j] = 0.2 * x[j] - 0.1 * x[j - 1] + 0.6 * y[j - 1] - 0.25 * y[j - 2]
    return (y,)


PROGRAMS = (jacobi_1d, jacobi_2d, heat_3d, heat_3d_in_place, fdtd_2d, column_sweeps, deriche, deriche_rows,
            recursive_filter, wave, losses,
            numbers_of_the_turn, kept_copies)


def sums_of_a_row_that_is_met(m, turns, n):
    """The turn's row and one that stays: apart in most turns, the same in one."""
    a, out = m.arange(turns * 64).reshape(turns, 64) % 13 / 16.0, m.zeros(turns)
    for t in range(turns):
        out[t] = (a[100, ::-1] * 0.5).sum()
        a[t, :] = a[t, :] * 0.5 + 0.125
        a[t, :] += a[100, ::-1]
    return a, out


def copies_of_a_row_that_is_met(m, turns, n):
    a, c = m.arange(turns * 64).reshape(turns, 64) % 13 / 16.0, m.zeros((turns, 64))
    for t in range(turns):
        a[t, :] = a[t, :] * 0.5 + 1.0
        c[t, :] = a[150, ::-1] * 2.0
    return a, c


@pytest.mark.parametrize("turns", (600, 2000))
@pytest.mark.parametrize("program", (sums_of_a_row_that_is_met, copies_of_a_row_that_is_met), ids=lambda p: p.__name__)
def test_order_holds_in_every_turn(program, turns):
    """What the first turn keeps apart another one brings together."""
    same(program(np, turns, 0), program(numpy, turns, 0))


def same(mine, theirs):
    for k, (x, y) in enumerate(zip(mine, theirs, strict=True)):
        numpy.testing.assert_allclose(numpy.asarray(x), y, rtol=1e-9, atol=1e-12, err_msg=f"result {k}")


@pytest.mark.parametrize(("turns", "n"), ((40, 12), (260, 30), (1000, 20)))
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_program(program, turns, n):
    same(program(np, turns, n), program(numpy, turns, n))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_twice_the_same_bits(program):
    first, second = ([numpy.asarray(x).tobytes() for x in program(np, 600, 17)] for _ in range(2))
    assert first == second


@pytest.mark.parametrize("program", (jacobi_1d, jacobi_2d, heat_3d, kept_copies), ids=lambda p: p.__name__)
def test_few_plans(request, program):
    """Whatever a loop's length, it has a beginning, one turn and an end to plan."""
    daemon = request.config.braze_daemon
    if os.environ.get("BRAZE_TEST_DEVICE"):
        pytest.skip("a GPU's worker turns nothing by itself")
    before = daemon.status()["plans"]["misses"]
    braze.wait(*program(np, 1000, 23))
    assert daemon.status()["plans"]["misses"] - before <= 6


CUT = 4096  # recorded operations that force the daemon to run what it has (LIMIT_PENDING_OPS)


def counted(daemon):
    status = daemon.status()
    operations = sum(client["ops"] for client in daemon.clients())
    return {"plans": status["plans"]["misses"], "packets": status["slices"], "steps": status["steps"],
            "cuts": operations / CUT}


# Of fdtd_2d, `drive` is a plan of its own, since each turn takes an element of it; of two sweeps each has its turn, of
# four in adi as well.
@pytest.mark.parametrize(("program", "plans"), (
    (jacobi_1d, 3), (jacobi_2d, 3), (heat_3d, 3), (heat_3d_in_place, 3), (fdtd_2d, 4), (column_sweeps, 5),
    (deriche, 6), (deriche_rows, 6), (recursive_filter, 5), (adi, 8)), ids=lambda p: getattr(p, "__name__", p))
def test_packets_plans_and_steps_of_a_thousand_turns(request, program, plans):
    """Beyond what recording so many operations takes, a loop has few packets, and few plans."""
    daemon = request.config.braze_daemon
    if os.environ.get("BRAZE_TEST_DEVICE"):
        pytest.skip("a GPU's worker turns nothing by itself")
    before = counted(daemon)
    mine = program(np, 1000, 27)
    braze.wait(*mine)
    spent = {name: number - before[name] for name, number in counted(daemon).items()}
    same(mine, program(numpy, 1000, 27))
    assert spent["cuts"] >= 1, spent
    assert spent["plans"] <= plans, spent
    assert spent["packets"] <= spent["cuts"] + 10, spent
    assert spent["steps"] <= 300, spent


def random_program(seed, gathers=False):
    """Statements on slices of three vectors, with places that move, numbers of the turn and lists."""
    rng = numpy.random.default_rng(seed)
    lines = []
    for _ in range(rng.integers(1, 6)):
        to, x, y = rng.integers(0, 3, 3)
        step, size = rng.integers(0, 3), rng.integers(3, 9)
        where = [f"[{rng.integers(0, 4)} + {step if rng.random() < 0.7 else 0} * t:][:{size}]" for _ in range(3)]
        value = f"0.5 * v[{x}]{where[1]} - 0.25 * v[{y}]{where[2]} + {rng.choice(['0.125', '0.01 * t', 'k[t % 3]'])}"
        lines.append(rng.choice([
            f"v[{to}]{where[0]}[...] = {value}",
            f"v[{to}] = v[{to}] * 0.5 + v[{x}] * 0.25",
            f"out.append((v[{x}]{where[1]} * 0.5).sum())",
            f"v[{to}], v[{x}] = v[{x}], v[{to}]",
            f"v[{to}]{where[0]}[...] += {value}",
        ] + gathers * [
            f"v[{to}]{where[0]}[...] = 0.5 * v[{x}]{where[1]}[i[:{size}] % {size}] + 0.125 * v[{y}]{where[2]}",
            f"v[{to}]{where[0]}[...] = v[{x}][i[:{size}]] * 0.25 - 0.5 * v[{y}]{where[2]}",
            f"v[{to}]{where[0]}[...] += v[{to}]{where[1]}[-1 - i[:{size}] % {size}] * 0.125",
            f"i = (i * 3 + {step}) % len(v[0])",
            f"out.append(v[{x}][i].sum())",
        ]))
    return "for t in range(turns):\n" + "".join(f"    {line}\n" for line in lines)


def run_random(text, m, turns):
    v = [m.arange(2 * turns + 40) % (7 + i) / 8.0 for i in range(3)]
    out, k = [], [0.5, 0.25, 0.125]
    i = m.arange(9) * 7 % 40
    exec(compile(text, "program", "exec"), {"v": v, "out": out, "k": k, "i": i, "turns": turns, "range": range})  # noqa: S102
    return (*v, *out)


@pytest.mark.parametrize("gathers", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_random_program(seed, gathers):
    text = random_program(seed, gathers)
    for turns in (70, 700):
        mine, theirs = run_random(text, np, turns), run_random(text, numpy, turns)
        for x, y in zip(mine, theirs, strict=True):
            numpy.testing.assert_allclose(numpy.asarray(x), y, rtol=1e-9, atol=1e-12, err_msg=text)
