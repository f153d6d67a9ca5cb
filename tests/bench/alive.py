# SPDX-License-Identifier: Apache-2.0
"""How long another client waits while one client computes without end.

    build/venv/bin/python tests/bench/alive.py [--seconds 6] [name ...]

For each endless computation (e2e/endless.py): the round trips of a second client that
sums a million elements anew each time, at the median, the 99th percentile and most;
then how long until the endless one is cancelled, and how long until its client's death
is noticed; and how many workers died.  The targets, on cores that are otherwise idle:
99th percentile 100 ms, cancel and death 500 ms, no worker's death.

This measures; it is no test.  On a machine that is busy with other things the figures
say little: the load stands beside them.
"""

import argparse
import os
import pathlib
import struct
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "e2e")]
import raw  # noqa: E402
from endless import ENDLESS  # noqa: E402
from harness import Daemon, wait_until  # noqa: E402
from raw import Raw, Trace  # noqa: E402

ELEMENTS = 1_000_000


def bystander(c, ticket):
    """Milliseconds of a request that only the daemon can answer."""
    t = Trace().full(2, [1], float(ticket))
    t.op("ADD", 3, [1, 2]).op("SUM", 4, [3], [1])
    begin = time.perf_counter()
    c.request(t.message(), raw.demand(ticket, 4))
    reply = c.receive()
    took = time.perf_counter() - begin
    (code, text, data), = reply.extents()
    assert code == 0, text
    assert struct.unpack("<d", data) == (ELEMENTS * (1.0 + ticket),)
    c.request(Trace().drop(2, 3, 4).message())
    return took * 1e3


def endless_client(daemon, name):
    trace, wanted = ENDLESS[name]
    c = Raw(daemon.socket)
    c.socket.settimeout(60)
    c.request(trace.message(), raw.demand(1, wanted))
    return c


def in_flight(daemon):
    return daemon.status()["jobs_in_flight_count"]


def measure(daemon, other, name, seconds, ticket):
    times = []
    endless = endless_client(daemon, name)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ticket += 1
        times.append(bystander(other, ticket))
        time.sleep(0.002)
    begin = time.perf_counter()
    endless.request(raw.cancel(1))
    endless.receive()
    wait_until(lambda: not in_flight(daemon), 60)
    cancelled = (time.perf_counter() - begin) * 1e3
    endless.socket.close()
    endless = endless_client(daemon, name)
    time.sleep(0.5)
    begin = time.perf_counter()
    endless.socket.close()
    wait_until(lambda: not in_flight(daemon) and daemon.status()["clients_count"] == 1, 60)
    died = (time.perf_counter() - begin) * 1e3
    times.sort()
    print(f"{name:24} {len(times):5} round trips, ms: median {times[len(times) // 2]:7.1f}, "
          f"99 % {times[int(len(times) * 0.99)]:7.1f}, most {times[-1]:7.1f}; cancelled "
          f"{cancelled:6.0f}, its death seen {died:6.0f}; worker deaths "
          f"{daemon.status()['worker_deaths_count']}; load {os.getloadavg()[0]:.1f}", flush=True)
    return ticket


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--seconds", type=float, default=6)
    options.add_argument("names", nargs="*", default=list(ENDLESS))
    options = options.parse_args()
    with Daemon() as daemon, Raw(daemon.socket) as other:
        other.socket.settimeout(60)
        other.request(Trace().full(1, [ELEMENTS]).message())
        assert other.read(1, 1).kind == "resolved"
        alone = sorted(bystander(other, t) for t in range(2, 202))
        print(f"{'alone':24} {len(alone):5} round trips, ms: median {alone[100]:7.1f}, "
              f"99 % {alone[198]:7.1f}, most {alone[-1]:7.1f}", flush=True)
        ticket = 1000
        for name in options.names:
            ticket = measure(daemon, other, name, options.seconds, ticket)


if __name__ == "__main__":
    main()
