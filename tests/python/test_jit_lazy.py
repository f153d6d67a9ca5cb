# SPDX-License-Identifier: Apache-2.0
"""Captured loops between array operations: each sees what was written before it, and nothing later."""

import os
import random

import braze
import braze.numpy as bnp
import numpy as np
import pytest
from braze import jit
from on_device import new_daemon


@jit
def running(x, k):
    """Sums so far, in place."""
    for i in range(1, len(x)):
        x[i] += x[i - 1] * k
    return x[-1]


@jit
def copied(x, y):
    for i in range(len(x)):
        y[i] = x[i]


def running_of(n, k=1.0):
    x = np.arange(n, dtype=np.float64)
    running.py_func(x, k)
    return x


@pytest.mark.parametrize("n", [5, 20_000])
def test_operations_recorded_before_keep_their_values(n):
    x = bnp.arange(float(n))
    double, view, total = x * 2, x[::-1], x.sum()
    assert float(running(x, 1.0)) == running_of(n)[-1]
    after = x + 1
    assert (np.asarray(double) == np.arange(n) * 2.0).all() and float(total) == n * (n - 1) / 2
    assert (np.asarray(view) == running_of(n)[::-1]).all()
    assert (np.asarray(after) == running_of(n) + 1).all()


@pytest.mark.parametrize("n", [5, 20_000])
def test_snapshots_keep_their_values(n):
    x = bnp.arange(float(n)) + 0
    snapshot = np.asarray(x)
    running(x, 1.0)
    assert (snapshot == np.arange(n)).all() and not snapshot.flags.writeable
    assert (np.asarray(x) == running_of(n)).all()


def test_scalars_that_are_pending():
    x = bnp.arange(6.0)
    k = (bnp.arange(4.0) / 3).sum() / 2
    last = running(x, k)
    assert (np.asarray(x) == running_of(6)).all() and float(last) == running_of(6)[-1]
    assert float(bnp.sqrt(last * 1.0)) == np.sqrt(running_of(6)[-1])


def test_views_are_written_in_their_base():
    a = bnp.arange(12.0).reshape(3, 4)
    want = np.arange(12.0).reshape(3, 4)
    before = a + 0
    for of in (lambda m: m[1], lambda m: m[:, 2], lambda m: m[::-1, 0], lambda m: m.T[3]):
        running(of(a), 0.5)
        running.py_func(of(want), 0.5)
    assert (np.asarray(a) == want).all()
    assert (np.asarray(before) == np.arange(12.0).reshape(3, 4)).all()
    copied(a[0], a[2])
    assert (np.asarray(a)[2] == want[0]).all()


def test_pending_masks_and_gathers():
    x = bnp.arange(10.0)
    x[x > 5] = 0
    y = x[bnp.asarray(np.array([5, 4, 3, 9, 1]))]
    running(y, 1.0)
    assert np.asarray(y).tolist() == [5, 9, 12, 12, 13]
    assert np.asarray(x).tolist() == [0, 1, 2, 3, 4, 5, 0, 0, 0, 0]


def test_what_is_open_elsewhere_is_refused():
    x = bnp.arange(4.0)
    with braze.host(x) as n:
        with pytest.raises(braze.BrazeError):
            running(x, 1.0)
        n[0] = 5
    assert float(running(x, 1.0)) == 11


def test_arrays_of_an_earlier_connection():
    x = bnp.arange(5.0) + 0
    braze.wait(x)
    braze.close()
    y = bnp.ones(5)
    try:
        copied(x, y)
        assert np.asarray(y).tolist() == [0, 1, 2, 3, 4]
        assert float(running(y, 1.0)) == 10
    finally:
        braze.close()


def test_after_the_daemons_death():
    old = os.environ["BRAZE_SOCKET"]
    braze.close()
    try:
        with new_daemon() as own:
            os.environ["BRAZE_SOCKET"] = own.socket
            x, y = bnp.arange(5.0) + 0, np.arange(5.0)
            np.asarray(x)
            pending = x * 2
            own.process.kill()
            own.process.wait()
            assert running(y, 1.0) == 10  # NumPy's need nobody
            with pytest.raises(braze.DaemonGone):
                running(pending, 1.0)
        os.environ["BRAZE_SOCKET"] = old
        assert np.asarray(x).tolist() == [0, 1, 2, 3, 4]
        z = bnp.zeros(5)
        copied(x, z)
        assert np.asarray(z + 1).tolist() == [1, 2, 3, 4, 5]
    finally:
        os.environ["BRAZE_SOCKET"] = old
        braze.close()


def step(held, kept, kind, i, j):
    """One of an array's operations, or a loop."""
    a, b, n = held[i], held[j], len(held[0])
    if kind == 0:
        held[i] = a * 0.5 + b
    elif kind == 1:
        a += b
    elif kind == 2:
        kept.append(a - b)
    elif kind == 3 and n:
        running(a, 0.5)
    elif kind == 4:
        copied(b[::-1], a)
    elif kind == 5:
        a[1:] = b[:-1]
    elif kind == 6:
        copied(a[: n // 2], b[n - n // 2:])
    else:
        kept.append(a[::-1] + 0)


@pytest.mark.parametrize("seed", range(40))
def test_random_mixtures(seed):
    """Array operations and loops in any order, on NumPy's arrays and braze's."""
    rng = random.Random(seed)
    n = rng.choice((0, 1, 7, 3000))
    steps = [(rng.randrange(8), rng.randrange(3), rng.randrange(3)) for _ in range(30)]
    results = []
    for module in (np, bnp):
        held = [module.arange(float(n)) % 7, module.ones(n), module.arange(float(n)) % 3]
        kept = []
        for of in steps:
            step(held, kept, *of)
        results.append([np.asarray(v) for v in held + kept])
    for one, other in zip(*results):
        assert np.allclose(one, other, rtol=1e-12, atol=0, equal_nan=True)
