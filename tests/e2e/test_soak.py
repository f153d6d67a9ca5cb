# SPDX-License-Identifier: Apache-2.0
"""A daemon that serves for long: sessions come and go, and nothing of them stays.

BRAZE_SOAK_SECONDS says for how long; a short share runs always."""

import os
import pathlib
import random
import time

import pytest
from harness import Daemon, children, finish, wait_until

PYTHON = pathlib.Path(__file__).resolve().parents[1] / "python"
MIB = 1 << 20

# Random programs, as a notebook's cells: some arrays are held while others come.
CELLS = f"""
import sys
sys.path.insert(0, {str(PYTHON)!r})
import numpy, braze, braze.numpy as np
import random_check, random_make
first = int(sys.argv[1])
held = []
for seed in range(first, first + 12):
    text = random_check.fails(random_make.program(seed, length=15), ("lazy",))
    assert text is None, (seed, str(text))
    held.append(np.asarray(numpy.full(200_000, float(seed))) * 2)
    if len(held) > 4:
        assert float(held.pop(0)[7]) % 2 == 0
braze.close()
"""


def resident(pid):
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def cached(daemon):
    """Bytes of plans and kernels, which the daemon keeps on purpose up to bounds."""
    status = daemon.status()
    return status["plans"]["bytes"] + status["kernels"]["bytes"]


def open_files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def serve(daemon, rng, rounds):
    """Clients in pairs; one in four is killed half-way."""
    for _ in range(rounds):
        pair = [daemon.popen(CELLS, str(rng.randrange(1 << 30))) for _ in range(2)]
        if rng.random() < 0.5:
            pair[0].stdout.close()
            time.sleep(rng.uniform(0.3, 1.5))
            pair[0].kill()
            pair[0].wait()
        else:
            finish(pair[0], timeout=600)
        finish(pair[1], timeout=600)


def at_rest(daemon):
    status = daemon.status()
    return status["clients_count"] == 0 and status["arrays_count"] == 0 \
        and status["jobs_in_flight_count"] == 0


def soak(seconds):
    seed = random.SystemRandom().randrange(1 << 30)
    print(f"seed {seed}")
    rng = random.Random(seed)
    # Without code: compiled kernels and their descriptors are the cache's, and grow to its bound.
    with Daemon(tier=0, cache_memory_bytes="4M") as daemon:
        serve(daemon, rng, 4)
        wait_until(lambda: at_rest(daemon), 60, "the first clients' end")
        worker = daemon.worker()
        before = {pid: (resident(pid), open_files(pid)) for pid in (daemon.pid, worker)}
        kept = cached(daemon)
        end, rounds = time.monotonic() + seconds, 0
        while time.monotonic() < end or rounds < 4:
            serve(daemon, rng, 1)
            rounds += 1
        wait_until(lambda: at_rest(daemon), 60, "the last clients' end")
        assert daemon.worker() == worker and daemon.status()["worker_deaths_count"] == 0
        assert set(children(daemon.pid)) >= {worker}
        for pid, (memory, files) in before.items():
            wait_until(lambda pid=pid, files=files: open_files(pid) <= files + 2, 30,
                       f"process {pid} to close what it opened")
            grown = resident(pid) - memory
            if pid == daemon.pid:
                grown -= cached(daemon) - kept
            print(f"{rounds} rounds: process {pid} grew by {grown / MIB:.1f} MiB")
            # Freed pages that the C library keeps; what plans and kernels have beside their bytes.
            assert grown < 32 * MIB


def test_sessions_leave_nothing_behind():
    soak(float(os.environ.get("BRAZE_SOAK_SECONDS", "0")))


@pytest.mark.long
def test_ten_minutes_of_sessions():
    soak(float(os.environ.get("BRAZE_SOAK_SECONDS", "600")))
