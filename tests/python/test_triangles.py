# SPDX-License-Identifier: Apache-2.0
"""Loops whose extents move, as those of factorisations: one plan for all turns, with the bits that each
operation by itself has."""

import os

import numpy
import pytest

import braze
import braze.numpy as np


def definite(m, n):
    a = (m.arange(n * n).reshape(n, n) * 7 % 23) / 29.0
    return a + a.T + 2.0 * n * m.eye(n)


def lu(m, n):
    a = definite(m, n)
    for k in range(n - 1):
        a[k + 1:, k] /= a[k, k]
        a[k + 1:, k + 1:] -= m.outer(a[k + 1:, k], a[k, k + 1:])
    return (a,)


def cholesky(m, n):
    a, low = definite(m, n), m.zeros((n, n))
    for k in range(n):
        column = a[k:, k] - low[k:, :k] @ low[k, :k]
        low[k:, k] = column / m.sqrt(column[0])
    return (low,)


def covariance(m, n):
    data = m.arange((n + 9) * n).reshape(n + 9, n) * 5 % 17 / 19.0
    cov = m.zeros((n, n))
    for i in range(n):
        cov[i:, i] = cov[i, i:] = data[:, i] @ data[:, i:] / (n + 8)
    return (cov,)


def gram_schmidt(m, n):
    a, q = definite(m, n), m.zeros((n, n))
    for k in range(n):
        v = a[:, k] - q[:, :k] @ (q[:, :k].T @ a[:, k])
        q[:, k] = v / m.sqrt((v * v).sum())
    return (q,)


def durbin(m, n):
    r = m.arange(n) * 3 % 11 / 500.0
    y, beta, alpha = m.zeros(n), m.ones(1), -r[0:1]
    y[0:1] = alpha
    for k in range(1, n):
        beta = (1 - alpha * alpha) * beta
        alpha = -(r[k] + (r[k - 1::-1] * y[:k]).sum()) / beta
        y[:k] = y[:k] + alpha * y[k - 1::-1]
        y[k:k + 1] = alpha
    return (y,)


def kept_tables(m, n):
    """A table of each turn's size that two sums read: it cannot fuse away."""
    a, out = definite(m, n), m.zeros(n)
    for k in range(2, n):
        table = m.outer(a[k, :k], a[:k, k]) + a[:k, :k]
        out[k] = (table.sum(axis=0) * table.T.sum(axis=1)).max() / n
        a[k, :k] *= 0.5
    return a, out


def rows_that_are_met(m, n):
    """Each turn reads a row that one of them writes."""
    a, out = definite(m, n), m.zeros(n)
    for k in range(n):
        out[k] = (a[n // 2, ::-1] * 0.5).sum()
        a[k, :] = a[k, :] * 0.5 + a[n // 2, ::-1]
    return a, out


def lists(m, n):
    """What is kept of each turn is as long as the turn says."""
    a, kept = definite(m, n), []
    for k in range(n):
        a[k:, k] *= 0.5
        a[k, k:] += 0.25
        kept.append(a[k, k:] * 2.0 + k)
    return (a, *kept[::7])


def shrinking(m, n):
    v, out = m.arange(2 * n + 3) / n, m.zeros(n)
    for k in range(n):
        v = v[1:-1] * 0.5 + v[2:] * 0.25 + v[:-2] * 0.25
        out[k] = v.sum()
    return v, out


PROGRAMS = (lu, cholesky, covariance, gram_schmidt, durbin, kept_tables, rows_that_are_met, lists, shrinking)


def check(program, n):
    mine, theirs = program(np, n), program(numpy, n)
    with braze.unfused():
        alone = [numpy.asarray(x) for x in program(np, n)]
    for k, (x, y, z) in enumerate(zip(mine, theirs, alone, strict=True)):
        numpy.testing.assert_allclose(numpy.asarray(x), y, rtol=1e-9, atol=1e-11, err_msg=f"result {k}")
        numpy.testing.assert_array_equal(numpy.asarray(x), z, err_msg=f"result {k}")


@pytest.mark.parametrize("n", (3, 40, 203, 260))
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_program(program, n):
    check(program, n)


def test_a_thousand_turns_of_column_updates(request):
    """LU has one turn to plan beside its beginning and its end, and few packets."""
    if os.environ.get("BRAZE_TEST_DEVICE"):
        pytest.skip("a GPU's worker turns nothing by itself")
    daemon = request.config.braze_daemon

    def columns(m, turns):
        a = m.arange(turns * 60).reshape(turns, 60) % 13 / 16.0 + 1.0
        pivot = m.arange(turns) % 5 / 8.0 + 1.0
        braze.wait(*(x for x in (a, pivot) if m is np))
        before = daemon.status()
        for k in range(turns - 1):
            a[k + 1:, 0] /= pivot[k + 1:]
            a[k + 1:, 1:] -= m.outer(a[k + 1:, 0], a[k, 1:]) * 1e-3
        braze.wait(*((a,) if m is np else ()))
        return a, {name: daemon.status()[name] - before[name] for name in ("slices",)} | {
            "plans": daemon.status()["plans"]["misses"] - before["plans"]["misses"],
            "cuts": 1 + 8 * turns * 2 / 4096}

    mine, spent = columns(np, 1001)
    numpy.testing.assert_allclose(numpy.asarray(mine), columns(numpy, 1001)[0], rtol=1e-9)
    assert spent["plans"] <= 3, spent
    assert spent["slices"] <= spent["cuts"] + 10, spent


BLOCKS = ("[k:, :k]", "[:k, k:]", "[k:, k:]", "[:k, :k]", "[k:, 3:9]")


def random_program(seed):
    """Statements on parts of two matrices and two vectors that grow, shrink and wander."""
    rng = numpy.random.default_rng(seed)
    lines = []
    for _ in range(rng.integers(1, 5)):
        x, y, t = rng.integers(0, 2, 3)
        piece = rng.choice(("[k:]", "[:k]"))
        block = rng.choice(BLOCKS)
        mirror = {"[k:]": "[k:]", "[:k]": rng.choice(("[:k]", "[k - 1::-1]", "[n - k:]"))}
        lines.append(rng.choice([
            f"v[{x}]{piece} = v[{x}]{piece} * 0.5 + v[{y}]{mirror[piece]} * 0.25",
            f"v[{x}][k] = (v[{y}]{piece} * v[{x}]{mirror[piece]}).sum() / n",
            f"a[{x}]{block} = a[{x}]{block} * 0.5 + a[{y}]{block} * 0.25",
            f"a[{x}]{block} += a[{y}]{block} * (0.001 * k)",
            f"a[{x}][:k, k:] -= np.outer(a[{y}][:k, k], v[{t}][k:]) * 0.125",
            f"v[{x}]{piece} = np.maximum(a[{y}]{piece}{'.T' if rng.random() < 0.3 else ''}.max() * 0.5, v[{x}]{piece})",
            f"v[{x}][k:] += (a[{y}][k:, :k] @ v[{t}][:k]) / n",
            f"v[{x}][:k] = a[{y}][k:, :k].mean(axis=0) * 0.5 + v[{t}][:k] * 0.25",
            f"a[{x}][k, :k] = a[{y}][:k, k] * 0.5",
        ]))
    return "for k in range(1, n):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize("seed", range(60))
def test_random_program(seed):
    text = random_program(seed)

    def program(m, n):
        a = [m.arange(n * n).reshape(n, n) * (3 + i) % 31 / 32.0 for i in range(2)]
        v = [m.arange(n) * (5 + i) % 29 / 32.0 for i in range(2)]
        exec(compile(text, "program", "exec"), {"v": v, "a": a, "n": n, "np": m, "range": range})  # noqa: S102
        return (*a, *v)

    check(program, 230)
