# SPDX-License-Identifier: Apache-2.0
"""What a warm read costs on a GPU, as far as it can be counted: calls of the driver, threads
woken, packets to the worker, bytes copied.  Bounds, not times."""

import pathlib
import struct

import pytest
from gpu import Gpu
from harness import find_standin

pytestmark = pytest.mark.skipif(find_standin() is None, reason="no stand-in driver was built")

READS = 64
ROW = struct.Struct("56sQ")
CHAIN = """def f(i):
    y = a * 2 + 1
    for k in range(4):
        y = y * 0.5 + b
    return y"""

# Name: what it is before; a read; bounds of one: calls but for events, packets, bytes up and
# down.  Events time a run: three calls, at every long run and one short one in sixteen; and
# staged copies wait for one.  A loop's turns are launches of one graph, none of whose nodes is set.
PROGRAMS = {
    "ten operations": (CHAIN + "\nread = lambda i: numpy.asarray(f(i))", (3, 1, 0, 16000)),
    "ten operations and a sum": (CHAIN + "\nread = lambda i: float(f(i).sum())", (3, 1, 0, 4)),
    "a stencil": ("read = lambda i: numpy.asarray(a[:-2] * 0.25 + a[1:-1] * 0.5 + a[2:] * 0.25)",
                  (3, 1, 0, 16000)),
    "fresh data": ("h = numpy.ones(4000, 'f4'); read = lambda i: numpy.asarray(np.asarray(h + i) * a + b)",
                   (4, 1, 16000, 16000)),
    "three results": ("""
def read(i):
    x, y, z = a * 2 + b, a - b, a * b
    braze.wait(x, y, z)
    return [float(v[i]) for v in (x, y, z)]""", (6, 1, 0, 48000)),
    "sums of many lengths": ("""
def read(i):
    t = a[:100].sum()
    for n in range(200, 800, 100):
        t = t * 0.5 + a[:n].sum()
    return float(t)""", (3, 1, 0, 4)),
    "a loop of turns": ("""
def read(i):
    t = a
    for n in range(12):
        t = t * 0.5 + (t * b).sum()
    return float(t.sum())""", (3, 1, 0, 4)),
}


def counted(path):
    """The stand-in's table: name to number."""
    rows = ROW.iter_unpack(path.read_bytes())
    return {name.rstrip(b"\0").decode(): n for name, n in rows if name.strip(b"\0")}


@pytest.fixture(scope="module")
def machine():
    """A worker that looks for what comes next as long as a slow machine may take."""
    gpu = Gpu(clock="model", env={"BRAZE_WORKER_SPIN_US": "2000000", "BRAZE_WORKER_TIME_EACH": "16"})
    path = pathlib.Path(gpu.daemon.folder) / "calls"
    gpu.daemon.env["BRAZE_STANDIN"] += f",count={path}"
    with gpu:
        gpu.usable()
        yield gpu, path


def sleeps(pid):
    """How often the first thread of a process has gone to sleep."""
    text = pathlib.Path(f"/proc/{pid}/task/{pid}/status").read_text()
    return int(text.split("\nvoluntary_ctxt_switches:")[1].split()[0])


def measure(machine, client, reads):
    """What so many reads took: calls by name, packets, wakes of the worker, daemon and client."""
    gpu, path = machine

    def look():
        row = gpu.device()
        return {**counted(path), "packets": row["packets"], "wakes": row["wakes"],
                "daemon": sleeps(gpu.daemon.pid), "client": sleeps(client.process.pid)}

    before = look()
    client.do(f"for i in range({reads}): read(i)")
    after = look()
    return {k: (v - before.get(k, 0)) / reads for k, v in after.items() if v != before.get(k, 0)}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_warm_read(machine, name):
    code, (calls, packets, up, down) = PROGRAMS[name]
    client = machine[0].talker()
    client.do("a, b = (np.asarray(numpy.linspace(0, 1, 4000, dtype='f4') + k) for k in range(2)); braze.wait(a, b)")
    client.do(code)
    measure(machine, client, READS)  # kernels are compiled, graphs made
    took = measure(machine, client, READS)
    made = {k: v for k, v in took.items() if k.startswith("cu")}
    events = sum(v for k, v in made.items() if k.startswith("cuEvent"))
    print(name, sum(made.values()), took)
    assert sum(made.values()) - events <= calls, made
    assert events <= 3, made
    assert took["packets"] <= packets, took
    assert took.get("bytes up", 0) <= up and took.get("bytes down", 0) <= down, took
    assert took["wakes"] + took["daemon"] + took["client"] <= 4 * packets + 0.5, took
