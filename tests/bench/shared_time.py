# SPDX-License-Identifier: Apache-2.0
"""make bench, part shared: who waits mostly beside who computes mostly, on one daemon.

    build/venv/bin/python tests/bench/shared_time.py [--rounds 4] [--seconds 8]

Two programs always have work.  A third asks for a new sum of 1 000 000 numbers each 100 ms:
how long does it wait (median, 99 of 100, longest), and how much less do the two get done than
without it?  Both are measured in turns.  Then the two have weights 1 and 3: what device time does
each get, and do the sessions' times make the device's?  At last three attackers go over the limits on
reads, bytes, operations and compilers' time, again and again: how long does the third wait now, and what
were they told?  QUICK=1 takes fewer rounds.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import _daemon

ROOT = Path(__file__).resolve().parents[2]
QUICK = os.environ.get("QUICK", "") not in ("", "0")
PERIOD = 0.1
CONF = "[session attacker]\nqueue = 8\npending = 4096\nbytes = 64M\ncompile_seconds = 1\n"

HEAVY = """
import sys, braze.numpy as np
x = np.linspace(0, 1, 1_000_000)
print(float(x.sum()), flush=True)
sys.stdin.readline()
while True:
    y = x
    for _ in range(40):
        y = np.sin(y) + 0.5
    float(y.sum())
"""

LIGHT = """
import json, sys, time, braze.numpy as np
x = np.linspace(0, 1, 1_000_000)
k = 0.0
for _ in range(20):
    k += 1
    float((x * k).sum())
print(json.dumps(0), flush=True)
for line in sys.stdin:
    took, due = [], time.monotonic()
    for _ in range(int(line)):
        due += PERIOD
        time.sleep(max(0, due - time.monotonic()))
        k += 1
        began = time.perf_counter()
        total = float((x * k).sum())
        took.append(time.perf_counter() - began)
        assert abs(total - k * 500000) < 1e-6 * k * 500000, total
    print(json.dumps(took), flush=True)
""".replace("PERIOD", str(PERIOD))


class Program:
    """A client in a process of its own, which says a line when it is ready."""

    def __init__(self, daemon, name, text, *arguments):
        env = dict(os.environ, BRAZE_SOCKET=daemon.socket, BRAZE_NAME=name, BRAZE_NEAR="0",
                   PYTHONPATH=os.pathsep.join([str(_daemon.BUILD / "python"), str(ROOT / "tests/e2e"),
                                               str(ROOT / "tests")]))
        self.name = name
        self.process = subprocess.Popen([sys.executable, "-c", text, *arguments], env=env, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.process.stdout.readline()

    def tell(self, line=""):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def hear(self):
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


ATTACK = """
import contextlib, json, sys, socket, time
from raw import OP, Raw, Trace, compile_text, demand, hello
kind, path = sys.argv[1:]
print(flush=True)
KERNEL = "kernel f(inout x: float64[:]) { for i in 0..len(x) { %s } }" % (
    "x[i] = sqrt(x[i]) * x[i] + @;" * 40)
told = {}

def note(reply):
    if reply is None or reply.kind not in ("failure", "goodbye"):
        return
    told[reply.text.partition(" of ")[0].rpartition("limit ")[2].rpartition("; ")[2]] = reply.text
    print(json.dumps(told), flush=True)

def once(c, turn):
    if kind == "queue":
        c.request(Trace().full(1, [100_000]).message())
        for ticket in range(40):
            c.request(demand(1 + ticket, 1))
        for _ in range(40):
            note(c.receive())
    elif kind == "bytes":
        for ticket in range(4):
            c.request(Trace().full(1 + ticket, [5 << 20]).message(), demand(1 + ticket, 1 + ticket))
            note(c.receive())
    elif kind == "pending":
        for i in range(8):
            trace = Trace()
            for n in range(1000):
                trace.full(1 + 1000 * i + n, [1 << 20])
            with contextlib.suppress(BrokenPipeError, ConnectionError):
                c.request(trace.message())
        note(c.ended())
    else:
        c.request(compile_text(1, KERNEL.replace("@", str(turn)).encode()))
        note(c.receive())

turn = 0
c = None
while True:
    turn += 1
    time.sleep(0.02)  # the cores that it takes by itself are the system's to share
    try:
        if c is None or kind != "compile":
            c = Raw(path, greet=False)
            c.request(hello(name="attacker"))
            c.receive()
        once(c, turn)
    except (BrokenPipeError, ConnectionError, AssertionError):
        c = None
    finally:
        if c and kind != "compile":
            c.socket.close()
"""


def times(daemon):
    """Device seconds of sessions by name, and of the device."""
    rows = {c["name"]: c for c in daemon.ask("/clients")["clients"]}
    return rows, daemon.ask("/status")["device_busy_seconds"]


def waits(light, seconds):
    light.tell(round(seconds / PERIOD))
    return light.hear()


def done(daemon, seconds, light=None):
    """Sums that the two have made in so many seconds, by the second, and what the light one waited."""
    before, began = times(daemon)[0], time.monotonic()
    took = waits(light, seconds) if light else time.sleep(seconds) or []
    after, ended = times(daemon)[0], time.monotonic()
    sums = sum(after[n]["device_seconds"] - before[n]["device_seconds"] for n in ("one", "three"))
    return sums / (ended - began), took


def show(title, took):
    ms = sorted(1e3 * t for t in took)
    print(f"{title:34} {len(ms):5} reads, ms: median {statistics.median(ms):6.2f}  "
          f"p99 {ms[min(len(ms) - 1, int(len(ms) * 0.99))]:6.2f}  longest {ms[-1]:6.2f}")


def measure(daemon, rounds, seconds):
    heavies = [Program(daemon, name, HEAVY) for name in ("one", "three")]
    light = Program(daemon, "light", LIGHT)
    attackers = []
    try:
        show("the light one alone", waits(light, seconds))
        for heavy in heavies:
            heavy.tell()
        time.sleep(2)
        daemon.settle()
        demands = times(daemon)[0]["light"]["demands"]
        alone, beside, took = [], [], []
        for _ in range(rounds):
            alone.append(done(daemon, seconds)[0])
            rate, more = done(daemon, seconds, light)
            beside.append(rate)
            took += more
        rows, _ = times(daemon)
        show("beside two that always have work", took)
        print(f"{'':34} {rows['light']['demands'] - demands:.0f} round trips; the two get "
              f"{statistics.median(beside):.3f} s of device time a second instead of {statistics.median(alone):.3f}: "
              f"{100 - 100 * statistics.median(beside) / statistics.median(alone):.1f} % less")
        weigh(daemon, rows, seconds)
        attackers = [Program(daemon, "attacker", ATTACK, kind, daemon.socket)
                     for kind in ("queue", "bytes", "pending", "compile")]
        time.sleep(1)
        show("and four that go over limits", [t for _ in range(rounds) for t in waits(light, seconds)])
        for attacker in attackers:
            attacker.process.kill()
            last = attacker.process.stdout.read().strip().splitlines()
            for text in (json.loads(last[-1]) if last else {"nothing": "it was told nothing"}).values():
                print(f"{'':34} told: {text}")
    finally:
        for program in [*heavies, light, *attackers]:
            program.end()


def weigh(daemon, rows, seconds):
    ctl = [str(_daemon.BUILD / "bin/brazectl"), "--socket", daemon.status, "limit"]
    subprocess.run([*ctl, f"session:{rows['three']['session']:.0f}", "weight=3"], check=True,
                   stdout=subprocess.DEVNULL)
    before, device = times(daemon)
    time.sleep(seconds)
    after, device_after = times(daemon)
    one, three = (after[n]["device_seconds"] - before[n]["device_seconds"] for n in ("one", "three"))
    print(f"{'weights 1 and 3':34} {one:.3f} s and {three:.3f} s of device time: 1 to {three / one:.2f}")
    sums = sum(r["device_seconds"] for r in after.values())
    print(f"{'':34} sessions {sums:.3f} s, device {device_after:.3f} s: {100 * sums / device_after - 100:+.2f} %")
    assert device_after > device


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--rounds", type=int, default=2 if QUICK else 4)
    options.add_argument("--seconds", type=float, default=4 if QUICK else 8)
    options = options.parse_args()
    conf = Path("/dev/shm" if os.path.isdir("/dev/shm") else "/tmp") / f"braze-shared-{os.getpid()}.conf"
    conf.write_text(CONF)
    daemon = _daemon.Daemon("-f", str(conf), "-oidle_exit_seconds=600", "-olog=error")
    try:
        measure(daemon, options.rounds, options.seconds)
    finally:
        daemon.close()
        conf.unlink()


if __name__ == "__main__":
    sys.exit(main())
