# SPDX-License-Identifier: Apache-2.0
"""Something of everything that a GPU's worker does, compared with NumPy.  The end of stdin ends it."""

import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import foreign_gpu  # noqa: E402

import braze  # noqa: E402
import braze.numpy as np  # noqa: E402


def same(a, wanted):
    assert numpy.array_equal(numpy.asarray(a), wanted), "wrong"


def close(a, wanted):
    assert numpy.allclose(numpy.asarray(a), wanted, 1e-12, 1e-11), "wrong"


def turns():
    data = numpy.arange(300000)
    for k in range(4):  # registered from the second copy on
        a = np.asarray(data + k)
        b = a * 3 + 1
        same(b, (data + k) * 3 + 1)
        assert int((a % 7).sum()) == int(((data + k) % 7).sum())
        c = a.copy()
        c[10:] += b[10:]
        wanted = data + k
        wanted[10:] += (wanted * 3 + 1)[10:]
        same(c, wanted)
        small = np.asarray(data[:500] - k)
        same((small * small)[::-1], ((data[:500] - k) ** 2)[::-1])


def beside():
    data = numpy.arange(4096 * 8).reshape(8, 4096)
    a = np.asarray(data)
    for _ in range(6):
        rows = [(a[k] * (k + 2)).reshape(64, 64).sum(axis=0) for k in range(8)]
        braze.wait(*rows)
        for k, row in enumerate(rows):
            same(row, (data[k] * (k + 2)).reshape(64, 64).sum(axis=0))


def products():
    a = numpy.arange(64.0 * 48).reshape(64, 48)
    same(np.asarray(a) @ np.asarray(a.T.copy()), a @ a.T)
    same(np.asarray(a.astype("f4") % 9) @ np.asarray(a.T.astype("f4") % 7), (a % 9) @ (a.T % 7))
    same(np.asarray(a.astype("i8")) @ np.asarray(a.T.astype("i8")), a.astype("i8") @ a.T.astype("i8"))
    # Halves whose sums are exact, bytes that wrap; in parts along the inner axis, and in batches.
    for shape, other in (((33, 4200), (4200, 30)), ((3, 9, 8), (3, 8, 9)), ((110, 101), (101, 102)),
                         ((3, 110, 101), (3, 101, 102))):
        x, y = (numpy.arange(numpy.prod(s)).reshape(s) % n for s, n in ((shape, 5), (other, 3)))
        same(np.asarray(x.astype("f2")) @ np.asarray(y.astype("f2")), (x @ y).astype("f2"))
        for kind in ("i1", "u1"):
            p, q = (x * 60).astype(kind), (y * 90).astype(kind)
            same(np.asarray(p) @ np.asarray(q), p @ q)


def transforms():
    z = numpy.arange(12.0 * 40).reshape(12, 40) % 7 + 1j * (numpy.arange(480.0).reshape(12, 40) % 5)
    a = np.asarray(z)
    for n in (32, 40):
        for axis in (0, 1):
            close(np.fft.fft(a * 2, n, axis), numpy.fft.fft(z * 2, n, axis))
            close(np.fft.ifft(a, n, axis) + 1, numpy.fft.ifft(z, n, axis) + 1)
    half = np.fft.rfft(a.real, 40)
    close(np.fft.irfft(half, 40), z.real)
    close(half * 2, numpy.fft.rfft(z.real, 40) * 2)


def factors():
    a = numpy.random.default_rng(5).standard_normal((2, 30, 30))
    x, b = np.asarray(a), a[0, :, :7].copy()
    close(np.linalg.solve(x[0], np.asarray(b)), numpy.linalg.solve(a[0], b))
    close(np.linalg.inv(x) @ x, numpy.broadcast_to(numpy.eye(30), a.shape))
    close(np.linalg.det(x), numpy.linalg.det(a))
    whole = a @ a.swapaxes(1, 2) + numpy.eye(30)
    made = np.linalg.cholesky(np.asarray(whole))
    close(made, numpy.linalg.cholesky(whole))
    w, v = np.linalg.eigh(np.asarray(whole))
    close(w, numpy.linalg.eigvalsh(whole))
    close(v * w[:, None] @ v.swapaxes(1, 2), whole)
    tall = a[:, :, :20].copy()
    q, r = np.linalg.qr(np.asarray(tall))
    close(q @ r, tall)
    close(q.swapaxes(1, 2) @ q, numpy.broadcast_to(numpy.eye(20), (2, 20, 20)))
    u, s, vh = np.linalg.svd(np.asarray(tall), False)
    close(s, numpy.linalg.svd(tall, compute_uv=False))
    close(u * s[:, None] @ vh, tall)


def sparse():
    starts = numpy.concatenate(([0], numpy.cumsum(numpy.arange(64) % 5)))
    names = numpy.arange(starts[-1]) * 7 % 40
    entries = numpy.arange(starts[-1]) % 9 - 4.0
    a, dense = braze.sparse((entries, names, starts), shape=(64, 40)), numpy.zeros((64, 40))
    numpy.add.at(dense, (numpy.repeat(numpy.arange(64), numpy.arange(64) % 5), names), entries)
    x = numpy.arange(40.0 * 12).reshape(40, 12) % 11
    for _ in range(2):
        same(a @ np.asarray(x[:, 3].copy()), dense @ x[:, 3])
        same(a @ np.asarray(x), dense @ x)
        same((a @ (np.asarray(x) + 1)) * 2, dense @ (x + 1) * 2)
        same(a @ np.asarray(x.T.copy()).T, dense @ x)


def memory():
    keep = [np.asarray(numpy.arange(100000)) * k for k in range(2, 9)]
    braze.wait(*keep)
    same(np.empty(40000) * 1, numpy.zeros(40000))
    for k, a in enumerate(keep, 2):
        t = foreign_gpu.take(a)
        same(t.read(), numpy.arange(100000) * k)
        a += 1
        same(a, numpy.arange(100000) * k + 1)
        same(t.read(), numpy.arange(100000) * k)
        raw = foreign_gpu.read(t.address + 800000, (2048,), (8,), numpy.int64)
        assert not raw.any(), "what lies behind it is another's"
        t.close()
    del keep, a, t
    big = [np.asarray(numpy.arange(3000000)) * k for k in range(2, 5)]  # freed past what is kept
    braze.wait(*big)
    del big
    same(braze.asarray(foreign_gpu.Giver(numpy.arange(9000.0))) + 1, numpy.arange(9000.0) + 1)


for part in (turns, beside, products, transforms, factors, sparse, memory, turns):
    part()
print("right")
