# SPDX-License-Identifier: Apache-2.0
"""Geometries of GPUs' kernels: tried while the device is idle, kept, never in the way.

The device is the stand-in, whose times mean nothing: which candidate wins is open, that
one is settled on is not.
"""

import os
import pathlib
import signal
import struct
import time

import pytest
from harness import alive, children, find_standin, is_sanitized, wait_until
from test_cuda import Gpu

pytestmark = [
    pytest.mark.skipif(find_standin() is None, reason="no stand-in driver was built"),
    # unit/test_cuda_tune runs the same code there.
    pytest.mark.skipif(is_sanitized(), reason="a sanitized stand-in takes minutes for trials"),
]

SETTLED = ("tuned", "model (tried)")
# A map by vectors, one by tiles, reductions by rows and by columns.
BEGIN = "x = np.asarray(numpy.arange(40000.).reshape(200, 200) / 7); braze.wait(x)"
ROUND = """
made = [x * 2 + 1, x.T + x, x.sum(axis=1), x.sum(axis=0)]
for m in made:
    braze.wait(m)
"""
MANY = "for i in range(60):\n" + ROUND.replace("\n", "\n    ")
BYTES = "out = [numpy.asarray(m).tobytes().hex() for m in made]"


class Tuning(Gpu):
    def __init__(self, env=None, **options):
        super().__init__(env={"BRAZE_WORKER_TUNE": "1", **(env or {})}, **options)
        # What other tests left on disk is of their kernels' geometries, too.
        self.daemon.arguments = [a for a in self.daemon.arguments if "cache_dir" not in a]
        self.daemon.arguments.append(f"-ocache_dir={self.daemon.folder}/cache")

    def kernels(self):
        rows = self.daemon.kernels()
        return [k for k in rows if k["arch"] and k["runs"] >= 50]

    def settled(self, seconds=60):
        wait_until(lambda: (k := self.kernels()) and all(r["geometry"] in SETTLED for r in k),
                   seconds, "tuning")
        return self.kernels()

    def geometries(self, kernel):
        return self.daemon.get(f"/kernels/{kernel['id']}")["geometries"]

    def found(self):
        """What trials found, by nest."""
        return {k["key"]: [g for g in self.geometries(k) if g["state"] in SETTLED]
                for k in self.kernels()}

    def tuned_on_disk(self):
        """Kernels on disk with the geometries that trials found for them."""
        # Behind magic, four words and two sizes in the header of cache/disk.c.
        return sum(struct.unpack_from("Q", path.read_bytes(), 40)[0] > 0
                   for path in pathlib.Path(self.daemon.folder, "cache").glob("*.bzk"))

    def trials(self):
        return self.daemon.status()["tuning"]["trials"]


@pytest.fixture
def gpu():
    with Tuning() as gpu:
        gpu.usable()
        yield gpu


def switches(pid):
    """Times that threads of a process went to sleep."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/status"):
        line = next(s for s in task.read_text().splitlines() if s.startswith("voluntary"))
        total += int(line.split()[1])
    return total


def test_idle_device_tunes_and_bits_stay(gpu):
    a = gpu.talker()
    a.do(BEGIN)
    before = a.do(ROUND + BYTES)
    assert all(k["geometry"] in ("", "model") for k in gpu.daemon.kernels())
    a.do(MANY)
    kernels = gpu.settled()
    assert len(kernels) >= 4
    for k in kernels:
        for g in gpu.geometries(k):
            assert 32 <= g["threads"] <= 256 and g["blocks"] >= 1 and g["units"] == 4
            assert g["least_bytes"] < g["most_bytes"]
            if g["state"] == "tuned":
                assert g["gain_percent"] >= 3 and g["seconds"] < g["model_seconds"]
            elif g["state"] == "model (tried)":
                assert g["gain_percent"] == 0 and g["threads"] == g["model_threads"]
    assert gpu.trials() > 0 and gpu.daemon.status()["tuning"]["seconds"] > 0
    assert a.do(ROUND + BYTES) == before
    assert gpu.deaths() == 0
    shown = gpu.daemon.ctl("kernels", str(kernels[0]["id"])).stdout
    assert "geometries" in shown and kernels[0]["geometry"] in shown


def test_tuned_machine_sleeps(gpu):
    a = gpu.talker()
    a.do(BEGIN)
    a.do(MANY)
    gpu.settled()
    time.sleep(0.3)
    pids = [gpu.device()["worker_pid"], gpu.daemon.pid]
    before = [switches(p) for p in pids]
    time.sleep(0.5)
    after = [switches(p) for p in pids]
    assert after[0] == before[0], "the worker wakes up"
    # It answers our own question for the worker's number, at most.
    assert after[1] - before[1] <= 5


def test_restarted_daemon_tries_nothing_again(gpu):
    a = gpu.talker()
    a.do(BEGIN)
    before = a.do(MANY + ROUND + BYTES)
    gpu.settled()
    found = gpu.found()
    wait_until(lambda: gpu.tuned_on_disk() >= len(found), what="writing")
    gpu.daemon.kill()
    gpu.daemon.start()
    gpu.usable()
    b = gpu.talker()
    b.do(BEGIN)
    assert b.do(MANY + ROUND + BYTES) == before
    assert gpu.found() == found
    time.sleep(0.3)
    assert gpu.trials() == 0
    # A new worker of the same daemon gets them as well.
    os.kill(gpu.device()["worker_pid"], signal.SIGKILL)
    wait_until(lambda: gpu.deaths() == 1 and gpu.usable(), what="a new worker")
    b.do(BEGIN)
    assert b.do(MANY + ROUND + BYTES) == before
    time.sleep(0.3)
    assert gpu.trials() == 0 and gpu.found() == found


# Trials of this one take half a second: 7 ms each.
LONG = """
y = np.asarray(numpy.arange(1000000.)); braze.wait(y)
for i in range(51):
    z = y * 3 + 1; braze.wait(z)
"""


def in_the_middle(gpu, a):
    """Until trials are under way."""
    pid = gpu.device()["worker_pid"]
    a.do(LONG)
    busy = lambda: sum(int(p.read_text().rpartition(")")[2].split()[11])  # noqa: E731
                       for p in pathlib.Path(f"/proc/{pid}/task").glob("*/stat"))
    begun = busy()
    wait_until(lambda: busy() > begun + 5, what="a trial")


def test_run_in_the_middle_of_trials_is_right(gpu):
    a = gpu.talker()
    a.do("s = np.asarray(numpy.arange(1000.)); t = s + 1; braze.wait(t)")
    in_the_middle(gpu, a)
    for i in range(5):
        assert a.do(f"out = float(numpy.asarray(s + {i})[999])") == 999 + i
        time.sleep(0.07)
    wait_until(lambda: any(g["state"] in SETTLED for k in gpu.daemon.kernels()
                           for g in gpu.geometries(k)), 60, "tuning")
    assert a.do("out = float(numpy.asarray(z)[5])") == 16
    assert gpu.deaths() == 0


def test_worker_killed_in_the_middle_of_trials(gpu):
    a = gpu.talker()
    a.do("s = np.asarray(numpy.arange(1000.)); t = s + 1; braze.wait(t)")
    in_the_middle(gpu, a)
    os.kill(gpu.device()["worker_pid"], signal.SIGKILL)
    wait_until(lambda: gpu.deaths() == 1 and gpu.usable(), what="a new worker")
    assert a.do("out = float(numpy.asarray(z)[5])") == 16
    a.do(LONG)
    wait_until(lambda: any(g["state"] in SETTLED for k in gpu.daemon.kernels()
                           for g in gpu.geometries(k)), 60, "tuning")
    assert all(k["state"] != "quarantined" for k in gpu.daemon.kernels())


@pytest.mark.parametrize("rule", ["fault=cuLaunchKernel:1:700", "hang=cuLaunchKernel:1"])
def test_trial_that_ends_the_worker_is_nobodys_fault(rule):
    env = {"BRAZE_WORKER_HANG_MS": "400", "BRAZE_WORKER_GRACE_MS": "200"}
    with Tuning(env=env) as gpu:
        gpu.usable()
        a = gpu.talker()
        a.do(LONG)
        gpu.inject(rule)
        wait_until(lambda: gpu.deaths() == 1, 20, "the worker's end")
        gpu.usable()
        assert a.do("out = float(numpy.asarray(z)[5])") == 16
        a.do(LONG)
        time.sleep(0.5)
        assert gpu.trials() == 0, "it was tried again"
        assert gpu.deaths() == 1
        assert all(k["state"] != "quarantined" for k in gpu.daemon.kernels())
        assert a.do("out = float(numpy.asarray(z)[7])") == 22


def test_switched_off():
    with Tuning(env={"BRAZE_WORKER_TUNE": "0"}) as gpu:
        gpu.usable()
        a = gpu.talker()
        a.do(BEGIN)
        a.do(MANY)
        time.sleep(0.3)
        kernels = gpu.kernels()
        assert kernels and all(k["geometry"] == "model" for k in kernels)
        assert gpu.trials() == 0


def test_no_room_for_trials():
    """A launch whose operands are more than a share of what is free is not tried."""
    with Tuning(vram="40M") as gpu:
        gpu.usable()
        a = gpu.talker()
        a.do(LONG)
        time.sleep(0.4)
        assert gpu.trials() == 0
        assert a.do("out = float(numpy.asarray(z)[5])") == 16
        # Small ones are.
        a.do("del y, z; x = np.asarray(numpy.arange(40000.) / 7); braze.wait(x)")
        a.do("for i in range(60):\n    w = x * 2 + 1; braze.wait(w)")
        wait_until(lambda: gpu.trials() > 0, 60, "tuning")


def test_helpers_are_what_is_left():
    """The daemon's children end with it, also in the middle of trials."""
    with Tuning() as gpu:
        gpu.usable()
        in_the_middle(gpu, gpu.talker())
        pids = children(gpu.daemon.pid)
        gpu.daemon.stop()
        wait_until(lambda: not any(alive(p) for p in pids),
                   what="their end")
