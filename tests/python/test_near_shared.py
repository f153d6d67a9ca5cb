# SPDX-License-Identifier: Apache-2.0
"""Near loops that several threads share have the bits of one thread's and of the daemon's.

A process counts its threads once, so each way is a process of its own: four threads for
whatever is worth a few microseconds, one thread, and all at the daemon."""

import subprocess
import sys

import pytest
from near_mode import near_environment

PROGRAM = r"""
import hashlib, numpy, braze, braze.numpy as np

def arrays(n, types):
    rng = numpy.random.default_rng(n)
    return [(rng.standard_normal(n) * 9).astype(t) for t in types]

# Small enough for the low bound, and worth several parts.
for n in (8_191, 8_192, 9_217, 20_000, 20_005, 70_003):
    a, b, i, f, c, t = arrays(n, "ddlfDb")
    mine = [np.asarray(x) for x in (a, b, i, f, c, t)]
    braze.wait(*mine)
    A, B, I, F, C, T = mine
    view = A[3:]
    results = {
        "sum of two": A + B, "product with a number": A * 1.5, "a number less": 2.5 - A, "exp": np.exp(F),
        "sin": np.sin(A), "compared": A < B, "equal": I == 3, "choice": np.where(A < B, A, B), "cast": A.astype("f"),
        "cast to bool": (A > 0).astype("d"), "half": T.astype("e"), "complex": C * C, "of a part": view + view,
        "mixed": A + F, "integers": I // 7, "shifted": I << 2, "root": np.sqrt(np.abs(A)), "turned": A[::-1] - B,
        "one row": np.concatenate([A, B, A[5:]]), "types": np.concatenate([A, F]), "short": np.concatenate([I, I[:1]]),
        "rows": np.concatenate([A[:n // 8 * 8].reshape(-1, 8), B[:n // 8 * 8].reshape(-1, 8)], axis=1),
        "stacked": np.stack([A, B], axis=1), "piled": np.stack([A, B]), "truth": np.concatenate([A > 0, B > 0]),
    }
    X, Y = A.copy(), A.copy()
    X += 1.5
    X *= B
    X[7:] -= Y[:-7]
    Y[1:] *= 0.5
    Z = I.copy()
    Z ^= 3
    results.update(added=X, halved=Y, other=Z)
    braze.wait(*results.values())
    for name, x in results.items():
        x = numpy.asarray(x)
        print(n, name, x.dtype, hashlib.sha256(x.tobytes()).hexdigest()[:16])
    assert numpy.array_equal(results["one row"], numpy.concatenate([a, b, a[5:]]))
    assert numpy.array_equal(results["sum of two"], a + b)

# More than a thread reads alone: of one result its chunks are shared, of many the results.
for t, n in (("d", 150_001), ("f", 300_007), ("l", 200_003), ("b", 1_300_000), ("D", 70_001), ("?", 1_100_000), ("e", 600_001)):
    (a,) = arrays(n, t)
    A = np.asarray(a)
    braze.wait(A)
    for name in ("sum", "max", "min", "prod", "any", "argmax", "mean"):
        for shape in ((n,), (-1, 1000), (-1, 33), (-1, 16), (-1, 3), (10, -1)):
            cut = A[:n // 66_000 * 66_000] if len(shape) > 1 else A
            print(n, t, name, shape, hashlib.sha256(numpy.asarray(getattr(cut.reshape(shape), name)(axis=-1)).tobytes()).hexdigest()[:16])
        for columns in (1000, 240, 66, 22_000):
            print(n, t, name, columns, hashlib.sha256(numpy.asarray(getattr(cut.reshape(-1, columns), name)(axis=0)).tobytes()).hexdigest()[:16])
# Memory alone: what is stored, copied, and added up in pairs.
for t, n in (("d", 650_001), ("f", 1_300_003), ("l", 400_001), ("b", 5_000_001), ("D", 310_001), ("e", 2_400_005)):
    a, b = arrays(n, t * 2)
    A, B = np.asarray(a), np.asarray(b)
    braze.wait(A, B)
    X, Y, Z, W = A.copy(), np.full(n, A[7]), np.zeros(n, t), A + B
    X[1:] = B[:-1]
    Y[:] = A
    Z[3:] = 5
    W += A
    W[:-1] = W[1:]
    V = np.exp(A) if t in "df" else A * B
    sums = (np.dot(A, B),) if t in "dfD" else ()
    for x in (X, Y, Z, W, V, *sums):
        print(n, t, hashlib.sha256(numpy.asarray(x).tobytes()).hexdigest()[:16])
    assert numpy.array_equal(X[1:], b[:-1]) and numpy.array_equal(Y, a) and not numpy.any(numpy.asarray(Z)[:3])

# A vector with a matrix: rows and columns, alone and of a stack.
for t in "dfDl":
    for r, k in ((7, 300), (66, 301), (513, 333), (1200, 40), (3, 90_001), (900, 129), (1, 40_000), (2, 49_153), (6, 70_001), (1, 131_072), (1, 250_007)):
        a, x, y = (v[:size].reshape(shape) for v, size, shape in zip(arrays(r * k, t * 3), (r * k, k, r), ((r, k), k, r)))
        A, X, Y = np.asarray(a), np.asarray(x), np.asarray(y)
        braze.wait(A, X, Y)
        stack = A[None] + np.zeros((2, 1, 1), t)
        for z in (A @ X, Y @ A, X @ A.T, A.T @ Y, A[:, ::-1] @ X, stack @ X):
            print(t, r, k, hashlib.sha256(numpy.asarray(z).tobytes()).hexdigest()[:16])
        assert numpy.allclose(A @ X, a @ x, rtol=1e-3 if t == "f" else 1e-7, atol=1e-1 if t == "f" else 1e-6)

# Rows that overlap end beside each other, and rows that are one row.
(a,) = arrays(60_000, "d")
A = np.asarray(a)
braze.wait(A)
for window in (41, 57, 100):
    rows = np.lib.stride_tricks.sliding_window_view(A[:window + 3300], window)
    for name in ("sum", "max"):
        print(window, name, hashlib.sha256(numpy.asarray(getattr(rows, name)(axis=1)).tobytes()).hexdigest()[:16])
print("spread", hashlib.sha256(numpy.asarray(np.broadcast_to(A[-1003:], (300, 1003)).sum(axis=1)).tobytes()).hexdigest()[:16])
print("near", braze.counters()["near"])
"""

WAYS = {"four threads": {"BRAZE_THREADS": "4", "BRAZE_SHARE_WORK": "0", "BRAZE_NEAR": "1"},
        "one thread": {"BRAZE_THREADS": "1", "BRAZE_NEAR": "1"},
        "the daemon": {"BRAZE_NEAR": "0"}}


def run(settings):
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=near_environment(**settings), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    *lines, near = done.stdout.splitlines()
    return lines, int(near.split()[1])


def test_bits_are_the_same():
    ways = {name: run(settings) for name, settings in WAYS.items()}
    lines, near = ways["one thread"]
    assert len(lines) == 6 * 28 + 7 * 7 * (6 + 4) + 6 * 5 + 3 + 4 * 11 * 6 + 7 and near > 300
    assert ways["four threads"][0] == lines and ways["four threads"][1] >= near
    assert ways["the daemon"] == (lines, 0)


SHARED = r"""
import os, numpy, braze, braze.numpy as np
a = np.asarray(numpy.random.default_rng(1).standard_normal(20_000))
braze.wait(a)
def threads():
    return len(os.listdir("/proc/self/task"))
before = threads()
x = np.arctan2(a, a)
print(threads() - before)
print(hash(numpy.asarray(np.arctan2(a, a)).tobytes()) == hash(numpy.asarray(x).tobytes()))
"""


@pytest.mark.parametrize(("threads", "work", "begun"), [("3", "0", 2), ("1", "0", 0), ("3", "100000000", 0)])
def test_threads_begin_with_the_first_loop_that_is_worth_them(threads, work, begun):
    env = near_environment(BRAZE_THREADS=threads, BRAZE_SHARE_WORK=work, BRAZE_NEAR="1")
    out = subprocess.run([sys.executable, "-c", SHARED], env=env, capture_output=True, text=True, timeout=60)
    assert out.returncode == 0, out.stderr[-2000:]
    assert out.stdout.split() == [str(begun), "True"]
