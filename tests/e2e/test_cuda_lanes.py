# SPDX-License-Identifier: Apache-2.0
"""On the stand-in for a GPU: independent steps of a plan side by side, and arrays whose
memory is registered with the driver while others are freed and made."""

import os

import numpy
import pytest
from gpu import Gpu
from harness import find_standin, wait_until

pytestmark = pytest.mark.skipif(find_standin() is None, reason="no stand-in driver was built")

# Sums of several lengths, each too short to be spread over the device, and two products, then all
# of them together.
SEVERAL = """
parts = [(x * {k} + 1).sum() for x in (a, b, c)] + [(p @ q).sum(), (p @ r).sum()]
t = parts[0]
for s in parts[1:]:
    t = t * 2 + s
out = float(t)
"""


def several(k):
    a, b, c = (numpy.arange(float(n)) for n in (20000, 19000, 18000))
    p = numpy.arange(40.0 * 400).reshape(40, 400) % 5
    q = numpy.arange(400.0 * 30).reshape(400, 30) % 7
    r = numpy.arange(400.0 * 20).reshape(400, 20) % 3
    parts = [(x * k + 1).sum() for x in (a, b, c)] + [(p @ q).sum(), (p @ r).sum()]
    t = parts[0]
    for s in parts[1:]:
        t = t * 2 + s
    return float(t)


def begin(gpu):
    client = gpu.talker()
    client.do("""
a, b, c = (np.asarray(numpy.arange(float(n))) for n in (20000, 19000, 18000))
p = np.asarray(numpy.arange(40.0 * 400).reshape(40, 400) % 5)
q = np.asarray(numpy.arange(400.0 * 30).reshape(400, 30) % 7)
r = np.asarray(numpy.arange(400.0 * 20).reshape(400, 20) % 3)
braze.wait(a + 0)""")
    return client


@pytest.mark.parametrize("delay", [0, 500])
def test_independent_steps(delay):
    """On several streams at first, as a graph from the second time on: the same values."""
    with Gpu(clock="model", delay_us=delay) as gpu:
        gpu.usable()
        client = begin(gpu)
        for k in (2, 3, 4, 5):
            assert client.do(SEVERAL.format(k=k)) == several(k)
        status = gpu.daemon.status()
        assert status["device_beside_steps"] >= 3, "of five on four streams"
        assert gpu.device()["beside_steps"] == status["device_beside_steps"]
        assert gpu.deaths() == 0


def test_a_wait_that_is_missing_is_found():
    """The check that the test above relies on."""
    with Gpu(delay_us=500) as gpu:
        gpu.usable()
        client = begin(gpu)
        gpu.inject(",".join(f"skip=cuStreamWaitEvent:{n}" for n in range(1, 9)))
        assert client.do(SEVERAL.format(k=2)) == several(2)
        assert gpu.deaths() == 1
        assert "race in device memory" in gpu.daemon.log_text()


def test_a_fault_among_several_is_blamed_on_none():
    """The job runs again, alone and step by step, and no kernel gets a strike."""
    with Gpu() as gpu:
        gpu.usable()
        client = begin(gpu)
        client.do("u = a * 7; braze.wait(u)")
        gpu.inject("fault=cuLaunchKernel:2:700")
        assert client.do(SEVERAL.format(k=2)) == several(2)
        assert gpu.deaths() == 1
        assert "strike" not in gpu.daemon.log_text()
        before = gpu.device()["beside_steps"]
        assert client.do(SEVERAL.format(k=3)) == several(3)
        assert gpu.device()["beside_steps"] >= before


# ---- memory ----

# Five arrays of 64 MiB, each uploaded twice.
ARRAYS = """
xs = [np.asarray(numpy.full(8 << 20, float({turn} * 10 + i))) for i in range(5)]
first = [float(x[::65536].sum()) for x in xs]
for i, x in enumerate(xs):
    with braze.host(x) as h:
        h[65536] = i + 0.5
out = [first, [float(x[::65536].sum()) for x in xs]]
"""


def test_registered_memory_is_given_back():
    """Freed and made again, with everything registered that can be: the values are right,
    and what is registered goes with what is freed, and with the client."""
    env = {"BRAZE_WORKER_PIN_MIB": "1024", "BRAZE_WORKER_PIN_CHUNK_KIB": "256"}
    with Gpu(env=env) as gpu:
        gpu.usable()
        client = gpu.talker()
        for turn in range(2):
            first, second = client.do(ARRAYS.format(turn=turn))
            for i in range(5):
                value = float(turn * 10 + i)
                assert first[i] == 128 * value
                assert second[i] == 127 * value + i + 0.5
            wait_until(lambda: gpu.device()["registered_bytes"] >= 300 << 20, 10,
                       "registrations")
            client.do("del xs, x, h; braze.flush()")
            # It gives back what is more than 256 MiB when the program is calm.
            wait_until(lambda: gpu.device()["registered_bytes"] <= 256 << 20, 20,
                       "memory that is given back")
        assert gpu.deaths() == 0
        client.process.stdin.close()
        client.process.wait()
        wait_until(lambda: gpu.daemon.status()["device_registered_bytes"] == 0, 20,
                   "the end of all registrations")


def test_a_worker_that_dies_while_memory_goes():
    """The punch that waits for its answer is done, and the next worker begins anew."""
    env = {"BRAZE_WORKER_PIN_MIB": "1024", "BRAZE_WORKER_PIN_CHUNK_KIB": "256"}
    with Gpu(env=env) as gpu:
        gpu.usable()
        client = gpu.talker()
        client.do(ARRAYS.format(turn=0))
        wait_until(lambda: gpu.device()["registered_bytes"] >= 300 << 20, 10)
        client.do("del xs, x, h; braze.flush()")
        os.kill(gpu.usable()["worker_pid"], 9)
        wait_until(lambda: gpu.deaths() == 1, 10)
        first, second = client.do(ARRAYS.format(turn=4))
        assert first == [128.0 * (40 + i) for i in range(5)]
        assert second == [127.0 * (40 + i) + i + 0.5 for i in range(5)]
