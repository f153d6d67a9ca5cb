# SPDX-License-Identifier: Apache-2.0
"""Loops of kernels on cuda:0: each has code of its own, whose threads share out its turns."""

import os
import pathlib
import struct
import time

import pytest
import raw
from gpu import Gpu
from harness import find_nvrtc, find_standin, wait_until
from raw import Raw, Trace
from test_cuda_calls import counted
from test_grid import AXPY, E_CANCELLED, E_INDEX, ENDLESS, LATE, TABLE, TWO, axpy, define, f64, imm, loop

pytestmark = [
    pytest.mark.skipif(find_standin() is None, reason="no stand-in driver was built"),
    pytest.mark.skipif(find_nvrtc() is None, reason="there is no NVRTC"),
]

TURN = ("kernel f(inout z: complex64[:], w: complex64, v: complex128) {\n"
        "  for i in 0..len(z) { z[i] = z[i] * w + complex64(v) }\n}")


@pytest.fixture(scope="module")
def machine():
    gpu = Gpu(env={"BRAZE_WORKER_HANG_MS": "60000"})
    path = pathlib.Path(gpu.daemon.folder) / "calls"
    gpu.daemon.env["BRAZE_STANDIN"] += f",count={path}"
    with gpu:
        gpu.usable()
        yield gpu, path


class Client(Raw):
    """Whose arrays are cuda:0's."""

    def __init__(self, path):
        super().__init__(path, greet=False)
        self.request(raw.hello(device="cuda:0"))
        welcome, (self.arena,) = self.receive_fds()
        assert welcome.kind == "welcome"

    def __exit__(self, *exc):
        os.close(self.arena)
        super().__exit__(*exc)

    def buffers(self, ticket, *ids):
        """Bytes of each array's buffer, which lies in the arena."""
        for extent in self.read(ticket, *ids).fields[2]:
            got = raw.parse(extent)
            assert not got.get(5), got[6]
            at, size = got.get(2, [0])[0], got.get(3, [0])[0]
            yield got[4][0] if 4 in got else os.pread(self.arena, size, at)

    def values(self, ticket, *ids):
        return [struct.unpack(f"<{len(data) // 8}d", data) for data in self.buffers(ticket, *ids)]


@pytest.fixture
def client(machine):
    deaths = machine[0].deaths()
    with Client(machine[0].daemon.socket) as c:
        yield c
    assert machine[0].deaths() == deaths


def launches(path):
    return counted(path).get("cuLaunchKernel", 0) + counted(path).get("cuGraphLaunch", 0)


def copies(path):
    now = counted(path)
    return sum(n for name, n in now.items() if name.startswith(("cuMemcpyHtoD", "cuMemcpyDtoH")))


def test_it_is_the_devices(machine, client):
    """Nothing goes to the host and back between what is computed before and behind."""
    gpu, path = machine
    define(client, gpu.daemon, 1, AXPY)
    t = Trace().full(1, [5000], 2.0).full(2, [5000], 3.0)
    client.request(axpy(t, 1, 2, 10.0, 5000).op("SUM", 3, [1], [1]).message())
    assert client.values(1, 3) == [(160000.0,)]
    before, moved = launches(path), copies(path)
    client.request(axpy(Trace(), 1, 2, 1.0, 5000).op("SUM", 4, [1], [1]).message())
    assert client.values(2, 4) == [(175000.0,)]
    assert launches(path) > before
    assert copies(path) - moved <= 2, "the sum is copied, and the loop's word"


def test_a_long_loop_is_cut(machine, client):
    """By what is said of its work: each part of the turns is done once."""
    gpu, path = machine
    define(client, gpu.daemon, 1, AXPY)
    t = Trace().full(1, [5000], 2.0).op("ARANGE", 2, [imm("FLOAT64")] * 2, [f64(0), f64(1), 5000])
    client.request(t.message())
    client.values(1, 1, 2)
    took = {}
    for ticket, hint in ((2, 12), (3, 36)):
        before = launches(path)
        t = loop(Trace(), 1, [1, 2], [("FLOAT64", f64(3.0)), ("INT64", 5000)], hint=hint)
        client.request(t.message())
        assert client.values(ticket, 1) == [tuple(2.0 + 3.0 * (ticket - 1) * i for i in range(5000))]
        took[hint] = launches(path) - before
    # The first parts tell how long those behind them may be, so that nobody knows how many there are.
    assert took[12] == 1 < took[36], took


def test_loops_inside_each_other(machine, client):
    gpu, _ = machine
    for number, (levels, fast) in enumerate([(1, 0), (2, 0), (2, 1)], 1):
        define(client, gpu.daemon, number, TABLE, levels, fast)
    t = Trace().full(1, [2, 3], 1.0).op("ARANGE", 2, [imm("FLOAT64")] * 2, [f64(0), f64(1), 3])
    for number in (1, 2, 3):
        loop(t, number, [1, 2], [("INT64", 2)])
    client.request(t.message())
    (got,) = client.values(1, 1)
    assert got == (1000.0, 1111.0, 1222.0) * 2


def test_one_array_is_written(machine, client):
    gpu, _ = machine
    define(client, gpu.daemon, 1, TWO, only=0)
    define(client, gpu.daemon, 2, TWO, only=1)
    t = Trace().full(1, [3], 5.0).full(2, [3], 7.0)
    client.request(loop(t, 2, [2, 1], [("INT64", 3)]).message())
    assert client.values(1, 1, 2) == [(5.0,) * 3, (5.0,) * 3]
    client.request(loop(Trace(), 1, [1, 2], [("INT64", 3)]).message())
    assert client.values(2, 1, 2) == [(6.0,) * 3, (5.0,) * 3]


def test_versions_and_views(machine, client):
    gpu, _ = machine
    define(client, gpu.daemon, 1, AXPY)
    t = Trace().full(1, [6], 1.0).full(2, [6], 1.0).op("PIN", 3, [1]).op("VIEW", 5, [1], [1, 8, 2, 16])
    client.request(axpy(t, 1, 2, 4.0, 6).op("ADD", 6, [5, 5]).message())
    assert client.values(1, 1, 3, 6) == [(5.0,) * 6, (1.0,) * 6, (10.0,) * 2]
    # Backwards through every second element, which another name reads.
    t = Trace().op("ARANGE", 7, [imm("FLOAT64")] * 2, [f64(0), f64(1), 7])
    t.op("VIEW", 8, [7], [1, 40, 3, -16])
    client.request(axpy(t, 8, 8, 2.0, 3).message())
    assert client.values(2, 7) == [(0.0, 3.0, 2.0, 9.0, 4.0, 15.0, 6.0)]


def test_complex_numbers_come_in(machine, client):
    gpu, _ = machine
    define(client, gpu.daemon, 1, TURN)
    one = [struct.unpack("<I", struct.pack("<f", x))[0] for x in (0.0, 1.0)]
    t = Trace().op("FULL", 1, [imm("COMPLEX64")], [*one, 1, 3], dtype="COMPLEX64")
    # Two words each: w = 2 + 1j, v = 1 - 3j.
    t.op("GRID", 0, [4, 1, imm("COMPLEX64"), imm("COMPLEX128"), imm("INT64")], [
        *(struct.unpack("<I", struct.pack("<f", x))[0] for x in (2.0, 1.0)), f64(1.0), f64(-3.0), 3, 1])
    t.head[-1] = t.head[-1] & ~0xff0000 | 10 << 16
    client.request(t.message())
    (data,) = client.buffers(1, 1)
    assert struct.unpack("<6f", data) == (0.0, -1.0) * 3


def test_an_index_that_is_wrong(machine, client):
    """The run fails as on the processor, the worker and other arrays do not."""
    gpu, _ = machine
    define(client, gpu.daemon, 1, LATE)
    t = Trace().full(1, [4], 3.0).full(2, [4], 7.0)
    client.request(loop(t, 1, [1], [("INT64", 2), ("INT64", 4)]).message())
    code, text, _ = client.read(1, 1).extents()[0]
    assert code == E_INDEX and "a loop's index lies outside of its array" in text, (code, text)
    assert client.values(2, 2) == [(7.0,) * 4]


def test_a_loop_without_end(machine, client):
    gpu, path = machine
    define(client, gpu.daemon, 1, ENDLESS)
    before = launches(path)
    client.request(loop(Trace().full(1, [4], 3.0), 1, [1], [("INT64", 4)]).message(), raw.demand(1, 1))
    wait_until(lambda: launches(path) > before, what="the loop")
    time.sleep(0.3)
    client.request(raw.cancel(1))
    reply = client.receive()
    assert reply.ticket == 1 and reply.kind == "failure" and reply.code == E_CANCELLED
