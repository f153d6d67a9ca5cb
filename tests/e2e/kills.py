# SPDX-License-Identifier: Apache-2.0
"""A campaign of kills: workers, compile helpers, compilers, clients and the daemon itself.

A daemon lives through a few dozen kills, then is killed as well, and another one starts on
its sockets and its cache.  Meanwhile innocents compute and compare every result, and others
who overwrite arrays are killed with what they hold.  Counted are

    wrong        a result that is not NumPy's, of anybody
    lost         an innocent's computation that ended in an error while its daemon lived
    hangs        an innocent who had no turn for HANG_SECONDS
    quarantined  kernels with a strike: a kill is nobody's fault
    left         descriptors, arrays, bytes, processes, files that stayed

and each of them must be 0.  `kills.py KILLS [--seed N] [--spinners N]` goes on where it was
interrupted; its figures are in build/reports/kills.json.
"""

import argparse
import collections
import contextlib
import glob
import json
import os
import pathlib
import random
import signal
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
from busy import busy  # noqa: E402
from harness import ROOT, Daemon, alive, children, kill9, wait_until  # noqa: E402
from siege import LEVELS  # noqa: E402

REPORT = ROOT / "build/reports/kills.json"
HANG_SECONDS = 180  # however loaded: a turn takes milliseconds on a quiet machine
KILLS_OF_A_LIFE = 50
RSS_SLACK = 16 << 20  # freed pages that the C library keeps
PLAN_SLACK = 32 << 10  # of a plan and its kernel, which the daemon keeps on purpose
INNOCENTS, VICTIMS = 2, 2

INNOCENT = """
import sys, time, numpy, braze, braze.numpy as np
rng = numpy.random.default_rng(int(sys.argv[1]))
host = rng.uniform(1, 2, 200_000)
kept = np.asarray(host)
grid = np.asarray(host.reshape(2000, 100))
braze.wait(kept, grid)
turn = 0

def check(got, want, what):
    if not numpy.array_equal(numpy.asarray(got), want):
        print("wrong", what, turn, flush=True)
        sys.exit(3)

while True:
    k = float(rng.integers(1, 9))
    try:
        check(kept * k + 1.0, host * k + 1.0, "map")
        check(np.sqrt(kept * kept) - k, numpy.sqrt(host * host) - k, "chain")
        check((grid * 0 + k).sum(0), numpy.full(100, 2000 * k), "columns")
        check((np.arange(70_000) + turn).sum(), numpy.int64(sum(range(70_000)) + 70_000 * turn),
              "sum")
        y = np.zeros(50_000)
        y[1:] += k
        check(y[1:] - k, numpy.zeros(49_999), "written")
        check(kept, host, "stored")
    except (braze.Error, MemoryError) as error:
        print("lost", type(error).__name__, str(error).replace(chr(10), " "), flush=True)
        sys.exit(4)
    turn += 1
    print("turn", turn, flush=True)
"""

# Overwrites what it holds: that may be lost by name, and then by name only.
VICTIM = """
import sys, numpy, braze, braze.numpy as np
rng = numpy.random.default_rng(int(sys.argv[1]))
x = rng.uniform(1, 2, 300_000)
while True:
    a, h = np.asarray(x), x.copy()
    for k in range(3):
        r = float(rng.uniform())
        a, h = np.sqrt(a * a + r), numpy.sqrt(h * h + r)
        a[1:] += a[:-1]
        h[1:] += h[:-1].copy()
    try:
        if not numpy.array_equal(numpy.asarray(a), h):
            print("wrong", flush=True)
            sys.exit(3)
    except braze.LostError:
        pass
    # Another kernel each time, so that there is something to compile.
    b = np.asarray(x)
    for k in range(int(rng.integers(2, 12))):
        b = b * 2.0 if rng.integers(2) else np.sqrt(b) + 1.0
    try:
        float(b.sum())
    except braze.LostError:
        pass
"""


def descendants(pid):
    found = []
    for child in children(pid):
        found += [child, *descendants(child)]
    return found


def arenas(pid):
    """Clients' memory that a process has open; it is closed a while after they have gone."""
    found = 0
    for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found += "braze-arena" in os.readlink(link)
    return found


def resident(daemon):
    """Bytes of its memory, but for what its caches hold."""
    for line in pathlib.Path(f"/proc/{daemon.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return (int(line.split()[1]) << 10) - daemon.status()["plans"]["count"] * PLAN_SLACK
    return 0


class Client:
    """One process, and what it says; never waited for while it may be silent."""

    def __init__(self, daemon, program, seed):
        self.log = tempfile.TemporaryFile("w+", dir=daemon.folder)
        self.process = daemon.popen(program, str(seed), stdout=self.log)
        self.turns, self.seen = 0, time.monotonic()
        self.verdict = None

    def look(self):
        """Read on; its verdict, once it has ended by itself."""
        self.log.seek(0)
        words = [line.split(maxsplit=1) for line in self.log.read().splitlines()]
        turns = sum(w[0] == "turn" for w in words)
        if turns > self.turns:
            self.turns, self.seen = turns, time.monotonic()
        if words and words[-1][0] in ("wrong", "lost"):
            self.verdict = words[-1]
        return self.verdict

    def end(self):
        self.process.kill()
        self.process.wait()
        self.look()
        self.log.close()


class Life:
    """One daemon from its start to its death."""

    def __init__(self, folder, rng, counts):
        self.rng, self.counts, self.kills = rng, counts, collections.Counter()
        self.daemon = Daemon(folder=folder)
        for path in (self.daemon.socket, self.daemon.status_socket):
            pathlib.Path(path).unlink(missing_ok=True)
        self.daemon.start()
        self.innocents = [self.client(INNOCENT) for _ in range(INNOCENTS)]
        self.victims = [self.client(VICTIM) for _ in range(VICTIMS)]

    def client(self, program):
        return Client(self.daemon, program, self.rng.randrange(1 << 30))

    def levels(self):
        """Of a moment when no file of the cache is being read or written."""
        while (status := self.daemon.status())["kernels"]["disk_work"]:
            time.sleep(0.01)
        return {name: status[name] for name in LEVELS}

    def count(self, what, text):
        self.counts[what] += 1
        print(f"{what}: {text}", flush=True)

    def look(self):
        """Judge the innocents; one who ended is replaced."""
        for i, each in enumerate(self.innocents):
            verdict = each.look()
            ended = each.process.poll() is not None
            if not ended and time.monotonic() - each.seen > HANG_SECONDS:
                self.count("hangs", f"no turn for {HANG_SECONDS} s\n{self.daemon.log_text()[-3000:]}")
                ended = True
            elif ended:
                self.count(verdict[0] if verdict else "lost",
                           f"{verdict} {each.process.stderr.read()[-2000:]}")
            if ended:
                each.end()
                self.innocents[i] = self.client(INNOCENT)
        for i, each in enumerate(self.victims):
            if each.look():
                self.count("wrong", f"of one who overwrites: {each.verdict}")
            if each.process.poll() is not None:
                if not each.verdict:
                    self.count("lost", f"a victim: {each.process.stderr.read()[-2000:]}")
                each.end()
                self.victims[i] = self.client(VICTIM)

    def kill(self):
        """One victim, if it is there; what it was."""
        what = self.rng.choice(["worker", "worker", "helper", "compiler", "client"])
        worker = self.daemon.worker()
        helpers = [p for p in children(self.daemon.pid) if p != worker and alive(p)]
        compilers = descendants(helpers[0]) if helpers else []
        if what == "worker" and worker:
            os.kill(worker, self.rng.choice([signal.SIGKILL, signal.SIGTERM]))
        elif what == "helper" and helpers:
            kill9(helpers[0])
        elif what == "compiler" and compilers:
            try:
                kill9(self.rng.choice(compilers))
            except ProcessLookupError:
                return
        elif what == "client":
            i = self.rng.randrange(VICTIMS)
            self.victims[i].end()
            self.victims[i] = self.client(VICTIM)
        else:
            return
        self.kills[what] += 1

    def turns(self):
        return [each.turns for each in self.innocents]

    def campaign(self, kills):
        while self.kills.total() < kills:
            time.sleep(self.rng.uniform(0.0, 0.5))
            self.kill()
            self.look()

    def settle(self):
        """After the last kill each innocent has another turn."""
        before = {each: each.turns for each in self.innocents}
        while any(each.turns <= before.get(each, 0) + 1 for each in self.innocents):
            time.sleep(0.05)
            self.look()

    def check_left(self, baseline):
        """All clients gone: nothing of them is left."""
        for each in self.innocents + self.victims:
            each.end()
        self.innocents, self.victims = [], []
        deadline = time.monotonic() + HANG_SECONDS
        while self.levels() != baseline and time.monotonic() < deadline:
            time.sleep(0.1)
        if self.levels() != baseline:
            self.count("left", f"{self.levels()}, not {baseline}")
        strikes = [k for k in self.daemon.kernels() if k["strikes"]]
        for k in strikes:
            self.count("quarantined", f"kernel {k['id']}: {k['strikes']} strikes\n"
                       f"{self.daemon.log_text()[-3000:]}")

    def end(self):
        """The daemon's own kill, in the midst of work: its processes go with it."""
        family = [self.daemon.pid, *descendants(self.daemon.pid)]
        self.kills["daemon"] += 1
        self.daemon.kill()
        for each in self.innocents + self.victims:
            each.end()
            if each.verdict and each.verdict[0] == "wrong":
                self.count("wrong", f"{each.verdict}")
        try:
            wait_until(lambda: not any(alive(p) for p in family), HANG_SECONDS, "their end")
        except AssertionError:
            self.count("left", f"processes {[p for p in family if alive(p)]}")


def baseline_of(life):
    """Levels without a client, and the daemon's memory after the first ones."""
    wait_until(lambda: min(life.turns(), default=0) >= 3 or life.look(), HANG_SECONDS, "turns")
    for each in life.innocents + life.victims:
        each.end()
    life.innocents, life.victims = [], []
    wait_until(lambda: life.levels()["clients_count"] == 0
               and not life.levels()["client_bytes"] and not arenas(life.daemon.pid),
               HANG_SECONDS, "their leaving")
    return life.levels(), resident(life.daemon)


def one_life(folder, seed, kills, counts):
    """Its kills: a life that ends in order is checked for what is left, another one dies."""
    rng = random.Random(seed)
    life = Life(folder, rng, counts)
    try:
        level, memory = baseline_of(life)
        for half in range(2):
            life.innocents = [life.client(INNOCENT) for _ in range(INNOCENTS)]
            life.victims = [life.client(VICTIM) for _ in range(VICTIMS)]
            life.campaign(kills * (half + 1) // 2)
            life.settle()
            life.check_left(level)
            grown = resident(life.daemon) - memory
            if grown > RSS_SLACK:
                life.count("left", f"{grown >> 20} MiB of the daemon's memory")
        counts["most_grown_mib"] = max(counts["most_grown_mib"], grown >> 20)
        turn = life.daemon.status()["loop_longest_iteration_seconds"]
        counts["longest_turn_us"] = max(counts["longest_turn_us"], round(turn * 1e6))
        life.innocents = [life.client(INNOCENT) for _ in range(INNOCENTS)]
        life.victims = [life.client(VICTIM) for _ in range(VICTIMS)]
        time.sleep(rng.uniform(0, 2))
        life.end()
    finally:
        life.daemon.close()
    return life.kills


def leftovers():
    return set(glob.glob("/dev/shm/braze*") + glob.glob("/tmp/braze-cc-*"))


BAD = ("wrong", "lost", "hangs", "quarantined", "left")


def run(total, seed, report=None):
    """Counts of a campaign of `total` kills; goes on from `report` where that has some."""
    state = {"seed": seed, "lives": 0, "kills": {}, "counts": {}}
    if report and report.exists():
        old = json.loads(report.read_text())
        state = old if old["seed"] == seed else state
    kills = collections.Counter(state["kills"])
    counts = collections.Counter({name: 0 for name in BAD})
    counts.update(state["counts"])
    with tempfile.TemporaryDirectory(prefix="brazed-kills-") as folder:
        while kills.total() < total:
            start = time.monotonic()
            kills += one_life(folder, f"{seed}-{state['lives']}",
                              min(KILLS_OF_A_LIFE, total - kills.total()), counts)
            state.update(lives=state["lives"] + 1, kills=dict(kills), counts=dict(counts))
            print(f"{kills.total()} kills {dict(kills)}, {dict(counts)}, "
                  f"{time.monotonic() - start:.0f} s", flush=True)
            if report:
                report.parent.mkdir(parents=True, exist_ok=True)
                report.write_text(json.dumps(state, indent=1))
    return kills, counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kills", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--spinners", type=int, default=8)
    arguments = parser.parse_args()
    before = leftovers()
    with busy(arguments.spinners):
        _, counts = run(arguments.kills, arguments.seed, REPORT)
    # A helper that was killed leaves its folder to the next one's start.
    print(f"folders left of killed helpers: {len(leftovers() - before)}")
    return 1 if any(counts[name] for name in BAD) else 0


if __name__ == "__main__":
    sys.exit(main())
