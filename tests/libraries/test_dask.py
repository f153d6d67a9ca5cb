# SPDX-License-Identifier: Apache-2.0
"""Dask's collections with braze's arrays as chunks: in this process, and on two hosts."""

import json
import os
import signal
import time

import dask
import dask.array as da
import distributed.protocol
import numpy
import pytest
from hosts import Cluster

import braze
import braze.numpy as bnp

SHAPE, CHUNKS = (120, 90), (50, 40)
VALUES = numpy.random.default_rng(5).standard_normal(SHAPE)

# Of c, whose chunks are NumPy's or braze's, and m, an array of the same module.
EXPRESSIONS = """
c + 1 ; 2 ** c ; c * m[0] ; m[0] * c ; m[:1] - c ; c @ m.T ; m.T @ c ; -c ; c > m ; m > c
np.sin(c) ; np.hypot(c, 1) ; np.add(m, c) ; divmod(c, 0.3)[1] ; abs(c) // 0.1 ; c.astype('i4') & 3
c.sum() ; c.sum(axis=0) ; c.mean() ; c.mean(axis=1, keepdims=True) ; c.std(axis=0) ; c.var(ddof=1)
c.min() ; c.max(axis=1) ; c.prod(axis=0) ; (c > 0).any(axis=1) ; (c > -9).all() ; c.argmax(axis=0)
c.cumsum(axis=0) ; c.argmin() ; da.nanmean(c) ; da.nansum(c, axis=1) ; c - c.mean(axis=0)
c[3] ; c[::3, 1:7] ; c[::-1, [1, 5, 7]] ; c[c > 0.5] ; c[[0, 119, 4]] ; c[None, :, 2] ; c[..., 0]
c.T ; c.reshape(-1) ; c.reshape(40, 3, 90) ; c.ravel()[5:77] ; c.rechunk((30, 90)) ; c.swapaxes(0, 1)
da.concatenate([c, c[:4]]) ; da.stack([c, c + 1]) ; da.concatenate([c, da.ones((2, 90))])
np.concatenate([m, c]) ; np.stack([c, m]) ; np.vstack([m, c]) ; da.block([[c, c], [c, c]])
da.where(c > 0, c, 0) ; np.where(m > 0, c, 1.0) ; da.clip(c, -1, 1) ; c.round(2) ; np.clip(c, 0, 1)
da.dot(c, c.T) ; c @ c.T ; da.tensordot(c, c, ((0, 1), (0, 1))) ; da.einsum('ij,kj->ik', c, c)
da.outer(c[:, 0], c[0]) ; np.tensordot(c, m.T, 1) ; da.linalg.norm(c) ; da.trace(c[:50, :50])
da.roll(c, 3, axis=0) ; da.diff(c, axis=1) ; da.pad(c, 2, mode='reflect') ; da.flip(c, 1) ; da.tril(c)
da.histogram(c, bins=8, range=(-3, 3))[0] ; da.digitize(c, numpy.array([-1.0, 0.0, 1.0]))
da.bincount(abs(c * 3).astype(int).ravel(), minlength=20) ; da.unique((c * 2).astype(int))
da.percentile(c.ravel(), [10, 50, 90]) ; da.topk(c.ravel(), 5) ; da.median(c, axis=1) ; da.ptp(c, 0)
da.ones_like(c) ; da.zeros_like(c, dtype='f4') ; da.full_like(c, 3) ; da.coarsen(np.mean, c, {0: 2})
da.linalg.svd(c.rechunk((40, 90)))[1] ; da.linalg.cholesky((c.T @ c).rechunk(45))
da.apply_along_axis(np.sum, 0, c) ; da.apply_gufunc(lambda x: x.mean(-1), '(i)->()', c, allow_rechunk=True)
c.map_blocks(lambda x: x[::2] * 2, chunks=((25, 25, 10), (40, 40, 10))) ; da.isclose(c, m) ; da.take(c, [3, 1], 0)
c.map_overlap(lambda x: 4 * x - np.roll(x, 1, 0) - np.roll(x, 1, 1), depth=1, boundary='periodic')
c.map_overlap(lambda x: x[:-2, 1:-1] + x[2:, 1:-1], depth=1, boundary='reflect', trim=False)
c.map_overlap(lambda x: x.copy(), depth={0: 2}, boundary={0: 0.5}) ; da.fft.fft(c.rechunk((50, 90)))
"""


@pytest.fixture(autouse=True)
def _synchronous(request):
    with dask.config.set(scheduler="synchronous"):
        yield


def chunked(module):
    return da.from_array(module.asarray(VALUES), chunks=CHUNKS)


@pytest.mark.parametrize("text", [e.strip() for line in EXPRESSIONS.strip().splitlines()
                                  for e in line.split(" ; ")])
@pytest.mark.filterwarnings("ignore")
def test_a_collection_of_our_chunks_gives_what_one_of_numpys_gives(text):
    def value(module):
        return eval(text, {"c": chunked(module), "m": module.asarray(VALUES), "np": numpy, "da": da,
                           "numpy": numpy})

    theirs, mine = value(numpy), value(bnp)
    assert isinstance(mine, da.Array) and mine.dtype == theirs.dtype
    mine, theirs = mine.compute(), theirs.compute()
    assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
    numpy.testing.assert_allclose(numpy.asarray(mine), theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("text", [
    "c + 1", "c + VALUES", "VALUES * c", "bnp.ones(90) * c", "numpy.sqrt(abs(c))", "c.mean(axis=0)",
    "c @ c.T", "c[::2]", "c.rechunk(30)", "da.concatenate([c, c])", "da.ones_like(c)", "c.sum(0)",
    "da.where(c > 0, c, 0)", "bnp.concatenate([c, c])", "bnp.exp(c)", "bnp.sum(c, axis=0)",
    "c.map_overlap(lambda x: x * 2, depth=1, boundary=0)", "c.cumsum(axis=0)", "c.astype('f4')",
])
def test_chunks_stay_ours_and_lazy(text):
    made = eval(text, {**globals(), "c": chunked(bnp)})
    assert type(made._meta) is bnp.ndarray
    before = braze.fallbacks()
    computed = made.compute()
    assert type(computed) is bnp.ndarray
    asked = {k for k, v in braze.fallbacks().items() if v != before.get(k)}
    assert asked <= {"cumsum"}, asked  # Dask asks for it with an output


def test_a_collection_of_numpys_becomes_one_of_ours_and_back():
    x = da.random.default_rng(1).random(SHAPE, chunks=CHUNKS)
    mine = x.map_blocks(bnp.asarray)
    assert type(mine.compute()) is bnp.ndarray
    assert bool((mine == x.compute()).all()) and float(mine.sum()) > 0
    assert type(x.to_backend("braze").compute()) is bnp.ndarray
    assert type(mine.to_backend("numpy").compute()) is numpy.ndarray
    with dask.config.set({"array.backend": "braze"}):
        for made in (da.ones((4, 6), chunks=2), da.zeros(5), da.full((4, 4), 2.5, chunks=2),
                     da.arange(10, chunks=5), da.empty((3, 3))):
            assert type(made._meta) is bnp.ndarray and type(made.compute()) is bnp.ndarray
        assert da.full((4, 4), 2.5, chunks=2).sum().compute() == 40
    assert type(da.ones(3).compute()) is numpy.ndarray


ARRAYS = {
    "rows": lambda: bnp.ones((5, 7)), "a view": lambda: bnp.arange(70.0).reshape(7, 10)[::2, 1:],
    "columns": lambda: bnp.arange(6, dtype="i2").reshape(2, 3).T, "nothing": lambda: bnp.zeros((0, 4)),
    "rows of one": lambda: bnp.broadcast_to(bnp.arange(3.0), (4, 3)), "masks": lambda: bnp.arange(4) > 1,
    "a scalar": lambda: bnp.arange(5).sum(), "no axes": lambda: bnp.array(2.5),
    "halves": lambda: bnp.arange(5, dtype="f2"), "complex": lambda: bnp.ones((3, 2), "c8") * 1j,
}


@pytest.mark.parametrize("what", ARRAYS)
def test_a_chunk_travels_as_its_elements(what):
    mine = ARRAYS[what]()
    header, frames = distributed.protocol.serialize(mine)
    assert header["serializer"] == "dask"
    made = distributed.protocol.deserialize(header, [bytes(f) for f in frames])
    assert type(made) is bnp.ndarray and made.dtype == mine.dtype and made.shape == mine.shape
    assert made._is_scalar == mine._is_scalar
    assert numpy.array_equal(numpy.asarray(made), numpy.asarray(mine))
    if not made._is_scalar and made.size:
        made[...] = 1  # it is the receiver's own


def test_sizes_and_names():
    sizeof, tokenize = dask.sizeof.sizeof, dask.base.tokenize
    for name in ("rows", "a view", "columns", "nothing", "rows of one", "no axes"):
        assert sizeof(ARRAYS[name]()) == sizeof(numpy.asarray(ARRAYS[name]())), name
    a = bnp.arange(12.0)
    assert tokenize(a) == tokenize(a + 0) != tokenize(a.reshape(3, 4))
    assert len({tokenize(f()) for f in ARRAYS.values()}) == len(ARRAYS)
    assert tokenize(a) != tokenize(numpy.asarray(a))


def test_what_dask_does_not_know_it_refuses_as_with_numpys_arrays():
    a, c = bnp.ones(90), chunked(bnp)
    for theirs in (numpy.ones(90), a):
        with pytest.raises((TypeError, NotImplementedError)):
            theirs += c[0]
    with pytest.raises(ValueError):
        (a[:5] + c)
    assert a.sum() == 90


# ---- Two hosts ----

CLIENT = """
import json, os, sys, time
import dask, dask.array as da, numpy
import braze, braze.numpy as bnp
from distributed import Client, wait
client = Client(scheduler_file=sys.argv[1])
client.wait_for_workers(2, timeout=60)
x = da.random.default_rng(7).random((1000, 800), chunks=(300, 300))
b = x.map_blocks(bnp.asarray)
def laplace(c):
    out = 4 * c
    out[1:-1, 1:-1] -= c[:-2, 1:-1] + c[2:, 1:-1] + c[1:-1, :-2] + c[1:-1, 2:]
    return out
"""


@pytest.fixture(scope="module")
def cluster():
    made = Cluster()
    try:
        yield made.start()
    finally:
        made.close()


def test_workers_on_two_hosts_compute_with_a_daemon_each(cluster):
    out = cluster.run(CLIENT + """
made = {}
for name, c in (("numpy", x), ("braze", b)):
    smooth = c.map_overlap(laplace, depth=1, boundary="periodic")
    made[name] = [float(v) for v in dask.compute(
        c.sum(), c.mean(), smooth.std(), (c @ c.T).max(), c[::7, 3:].sum(), (c - c.mean(axis=0)).var())]
    made[name].append(numpy.asarray(smooth[:3, :5].compute()).tolist())
kinds = client.run(lambda: braze.counters()["ops"])
whole = b.compute()
made["kind"] = type(whole).__name__, type(whole).__module__
made["equal"] = bool((whole == x.compute()).all())
made["ops"] = sorted(kinds.values())
print(json.dumps(made))
""")
    made = json.loads(out.splitlines()[-1])
    for mine, theirs in zip(made["braze"], made["numpy"], strict=True):
        numpy.testing.assert_allclose(mine, theirs, rtol=1e-11, atol=1e-11)
    assert made["kind"] == ["ndarray", "braze.numpy"] and made["equal"]
    assert len(made["ops"]) == 2 and made["ops"][0] > 0, "a worker recorded no operation"
    assert [len(h.daemons()) for h in cluster.hosts] == [1, 1]


def test_chunks_beyond_a_workers_memory_are_spilled_and_come_back(cluster):
    out = cluster.run(CLIENT + """
rows = da.arange(1.0, 9.0, chunks=1)[:, None]
big = (da.ones((8, 2_000_000), chunks=(1, 1_000_000)) * rows).map_blocks(bnp.asarray)
held = big.persist()
wait(held)
spilled = client.run(lambda dask_worker: len(dask_worker.data.disk))
sums = held.sum(axis=1).compute()
print(json.dumps([sum(spilled.values()), numpy.asarray(sums).tolist()]))
""")
    spilled, sums = json.loads(out.splitlines()[-1])
    assert spilled > 0
    assert sums == [2e6 * (1 + i) for i in range(8)]


SLOW = CLIENT + """
def slowly(c):
    time.sleep(0.2)
    return bnp.sqrt(c) + 1
c = b
for _ in range(3):
    c = c.map_blocks(slowly, dtype=float)
want = float((numpy.sqrt(numpy.sqrt(numpy.sqrt(x.compute(retries=9)) + 1) + 1) + 1).sum())
held = b.persist()
wait(held)
print("begun", flush=True)
with dask.config.set({"optimization.fuse.active": False}):
    got = float(c.sum().compute(retries=9, optimize_graph=False))
assert abs(got - want) < 1e-9 * want, (got, want)
assert float(held.sum().compute(retries=9)) > 0
print("right")
"""


def _once_begun(cluster, act):
    def meanwhile(program):
        host = cluster.hosts[0]
        log = host.folder / f"log.{len(host.started) - 1}"
        while "begun" not in log.read_text() and program.poll() is None:
            time.sleep(0.05)
        time.sleep(0.5)
        assert program.poll() is None, log.read_text()
        act()

    return meanwhile


def test_a_daemon_that_is_killed_costs_a_retry(cluster):
    host = cluster.hosts[1]
    (old,) = host.daemons()
    out = cluster.run(SLOW, meanwhile=_once_begun(cluster, lambda: os.kill(old, signal.SIGKILL)))
    assert "right" in out
    assert old not in host.daemons() and len(host.daemons()) == 1, "another was started"


def test_a_worker_that_is_killed_costs_its_chunks_only(cluster):
    host = cluster.hosts[1]
    victim = next(p for p in host.started if p.poll() is None)
    out = cluster.run(SLOW, meanwhile=_once_begun(cluster, victim.kill))
    assert "right" in out
    cluster.add_worker(host)
    assert "right" in cluster.run(CLIENT + "assert float((b - b).sum().compute()) == 0\nprint('right')")
