# SPDX-License-Identifier: Apache-2.0
"""Kill campaigns: anything that can die does, at random moments, many times.

A short share runs always; BRAZE_CAMPAIGN_ROUNDS makes it longer, as the long
tests do.  The seed is printed, so that a failing campaign can be run again.
"""

import os
import random
import signal
import time

import pytest
from harness import alive, children, wait_until
from kills import BAD, run
from siege import besieged

BUSY = """
import sys, numpy, braze, braze.numpy as np
rng = numpy.random.default_rng(int(sys.argv[1]))
x = numpy.asarray(rng.uniform(1, 2, 300_000))
while True:
    a = np.asarray(x)
    for k in range(4):
        a = np.sqrt(a * a + float(rng.uniform()))
        a[1:] += a[:-1]
    try:
        float(a.sum())
    except braze.LostError:
        pass
"""


def kill_something(siege, rng, clients):
    """One victim; True when it was the worker."""
    what = rng.choice(["client", "worker", "helper"])
    if what == "client":
        client = clients.pop(rng.randrange(len(clients)))
        client.kill()
        client.wait()
        clients.append(siege.daemon.popen(BUSY, str(rng.randrange(1 << 30))))
        return False
    worker = siege.daemon.worker()
    if what == "worker" and worker and alive(worker):
        os.kill(worker, rng.choice([signal.SIGKILL, signal.SIGTERM]))
        return True
    for pid in children(siege.pid):
        if pid != worker and alive(pid):
            os.kill(pid, signal.SIGKILL)
    return False


def campaign(rounds, seed):
    print(f"seed {seed}")
    rng = random.Random(seed)
    with besieged() as siege:
        deaths = siege.daemon.status()["worker_deaths_count"]
        clients = [siege.daemon.popen(BUSY, str(k)) for k in range(2)]
        killed = False
        for _ in range(rounds):
            time.sleep(rng.uniform(0.02, 0.6))
            killed |= kill_something(siege, rng, clients)
            siege.go()
        for client in clients:
            client.kill()
            client.wait()
        wait_until(lambda: siege.daemon.status()["clients_count"] == 1, 20, "the last end")
        # A worker that was asked to end may still be at it.
        wait_until(lambda: (siege.daemon.status()["worker_deaths_count"] > deaths) == killed,
                   20, "the count of its deaths")
        siege.check(worker_killed=killed)


def test_short_campaign():
    campaign(int(os.environ.get("BRAZE_CAMPAIGN_ROUNDS", "8")), 7)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_long_campaign(seed):
    campaign(60, 1000 + seed)


def test_short_campaign_of_kills():
    """Every kind of process dies, the daemon last: nothing wrong, lost, blamed or left."""
    kills, counts = run(12, 11)
    assert kills.total() >= 12 and kills["daemon"] == 1
    assert not any(counts[name] for name in BAD), counts


@pytest.mark.long
def test_long_campaign_of_kills():
    _, counts = run(200, 12)
    assert not any(counts[name] for name in BAD), counts
