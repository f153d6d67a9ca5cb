# SPDX-License-Identifier: Apache-2.0
"""isolation = user: each user has a worker of his own on each GPU, as long as he needs it."""

import os
import signal
import subprocess
import sys
import time

import pytest
from gpu import Gpu, Refused
from harness import ROOT, find_daemon, find_standin, standin_environment, wait_until
from test_place import HEAVY, compiled
from test_published import ROOT_ONLY

pytestmark = [pytest.mark.skipif(find_standin() is None, reason="no stand-in driver was built"), ROOT_ONLY]

ANN, BOB, EVE = 65531, 65532, 65533
MANY = 8  # LIMIT_USER_WORKERS
SUM = "out = float((np.asarray(numpy.arange(1000.)) * {}).sum())"
# More operations than are made again: what is on a device only is lost with it.
KEEP = """
y = np.asarray(numpy.arange(200000.))
for k in range(40): y = y + 1
braze.wait(y)"""


class Shared(Gpu):
    """A daemon that every user may connect to."""

    def __init__(self, device="cpu,cuda:0", idle_ms=60000, isolation="user", **options):
        super().__init__(device, env={"BRAZE_ISOLATION_IDLE_MS": str(idle_ms)},
                         settings={"isolation": isolation}, **options)

    def __enter__(self):
        super().__enter__()
        os.chmod(self.daemon.folder, 0o755)
        os.chmod(self.daemon.socket, 0o666)
        self.usable()
        return self

    def user(self, uid, device="cuda:0"):
        return self.talker(device, TALKER_UID=str(uid))

    def own(self, name="cuda:0"):
        """Users' workers: uid to process."""
        return {row["uid"]: row["worker_pid"] for row in self.device(name)["users"]}


def leave(talker):
    talker.process.stdin.close()
    talker.process.wait()


def test_each_user_has_his_own_worker():
    with Shared() as gpu:
        assert gpu.own() == {}, "nobody has used it"
        a, b, b2 = gpu.user(ANN), gpu.user(BOB), gpu.user(BOB)
        assert a.do("out = braze.devices()") == ["cpu", "cuda:0"] and gpu.own() == {}
        for k, t in enumerate((a, b, b2)):
            assert t.do(SUM.format(k + 1)) == 499500 * (k + 1)
        own = gpu.own()
        assert set(own) == {ANN, BOB}
        assert len({*own.values(), gpu.device()["worker_pid"]}) == 3
        assert gpu.device()["runs"] >= 3
        users = {row["uid"]: row for row in gpu.daemon.get("/limits")["users"]}
        assert users[ANN]["device_seconds"] > 0 and users[BOB]["device_seconds"] > 0


def test_kernels_are_everybodys():
    with Shared() as gpu:
        a, b = gpu.user(ANN), gpu.user(BOB)
        a.do(SUM.format(7))
        compiles = gpu.daemon.status()["kernels"]["compiles"]
        known = gpu.daemon.status()["kernels"]["count"]
        assert b.do(SUM.format(7)) == 499500 * 7
        after = gpu.daemon.status()["kernels"]
        assert (after["compiles"], after["count"]) == (compiles, known)


def test_none_is_as_ever():
    with Shared(isolation="none") as gpu:
        a, b = gpu.user(ANN), gpu.user(BOB)
        assert a.do(SUM.format(2)) == 999000 and b.do(SUM.format(3)) == 1498500
        assert gpu.own() == {}


def test_a_worker_ends_after_its_user():
    with Shared(idle_ms=400) as gpu:
        a, a2, b = gpu.user(ANN), gpu.user(ANN), gpu.user(BOB)
        for t in (a, a2, b):
            t.do(KEEP)
        first = gpu.own()
        leave(a)
        time.sleep(0.8)
        assert gpu.own() == first, "he has another session"
        leave(a2)
        wait_until(lambda: set(gpu.own()) == {BOB}, what="its end")
        wait_until(lambda: not os.path.exists(f"/proc/{first[ANN]}"), what="its process's end")
        assert b.do("out = float(y[3])") == 43
        again = gpu.user(ANN)
        assert again.do(SUM.format(2)) == 999000
        assert gpu.own()[ANN] != first[ANN] and gpu.own()[BOB] == first[BOB]
        leave(again)
        time.sleep(0.2)
        back = gpu.user(ANN)
        assert back.do(SUM.format(3)) == 1498500
        time.sleep(0.8)
        assert back.do(SUM.format(4)) == 1998000 and ANN in gpu.own()


def test_there_are_so_many():
    with Shared(idle_ms=300) as gpu:
        users = [gpu.user(70000 + k) for k in range(MANY)]
        for t in users:
            assert t.do(SUM.format(2)) == 999000
        late = gpu.user(EVE)
        with pytest.raises(Refused, match=f"cuda:0 has workers of {MANY} users"):
            late.do(SUM.format(2))
        assert late.do("""
with braze.device("cpu"):
    """ + SUM.format(2)) == 999000
        leave(users[0])
        wait_until(lambda: len(gpu.own()) < MANY, what="room")
        assert late.do(SUM.format(5)) == 2497500


def test_a_death_is_its_users():
    with Shared() as gpu:
        a, b = gpu.user(ANN), gpu.user(BOB)
        a.do(KEEP)
        b.do(KEEP)
        os.kill(gpu.own()[ANN], signal.SIGKILL)
        with pytest.raises(Refused, match="LostError"):
            a.do("out = float(y[3])")
        assert b.do("out = float(y[3])") == 43
        assert gpu.deaths() == 1
        a.do(KEEP)
        assert a.do("out = float(y[3])") == 43


def test_room_is_made_of_others_cold_arrays():
    """The device has room for one of them."""
    with Shared(vram="64M") as gpu:
        a, b = gpu.user(ANN), gpu.user(BOB)
        make = """
v = [np.full(1000000, float(i)) + 0.5 for i in range(5)]
for w in v: braze.wait(w)"""
        a.do(make)
        b.do(make)
        for t in (a, b):
            assert t.do("out = [float(w[7]) for w in v]") == [i + 0.5 for i in range(5)]
        status = gpu.daemon.status()
        assert status["device_spills"] and status["device_used_bytes"] <= 64 << 20


def test_choices_by_cost():
    """What nobody asked for does not wait for a worker to start."""
    with Shared("auto", clock="model", sms=100, race=0) as gpu:
        for uid in (ANN, BOB):
            a = gpu.user(uid, "auto")
            a.do("a = np.asarray(numpy.linspace(0, 1, 40000))")

            def went():
                a.do(HEAVY)
                rows = [r for r in gpu.device()["users"] if r["uid"] == uid]
                return compiled(gpu) and rows and rows[0]["used_bytes"]

            wait_until(went, 60, "his worker's use")


def test_arrays_go_from_device_to_device():
    with Shared("cpu,cuda:0,cuda:1", devices=2) as gpu:
        gpu.usable("cuda:1")
        for uid in (ANN, BOB):
            a = gpu.user(uid)
            a.do("x = np.asarray(numpy.arange(400000.))\nfor k in range(40): x = x + 1\nbraze.wait(x)")
            assert a.do("""
with braze.device("cuda:1"):
    out = float((x * 2)[5])""") == 90
        (row,) = gpu.device("cuda:1")["peers"]
        assert row["values"] == 2 and set(gpu.own("cuda:1")) == {ANN, BOB}


def test_published_arrays_are_others_too():
    with Shared() as gpu:
        a, b = gpu.user(ANN), gpu.user(BOB)
        key = a.do("""
x = np.asarray(numpy.arange(100000.)) * 2
out = braze.publish(x, "x", to="key").name""")
        for _ in range(2):
            assert b.do(f"""
x = braze.open("{key}")
out = float((x + 1).sum())""") == 2 * 99999 * 50000 + 100000
        late = gpu.user(EVE)
        assert late.do(f"""
x = braze.open("{key}")
out = float((x + 2).sum())""") == 2 * 99999 * 50000 + 200000


def arenas(pid):
    """Of clients, that a worker has mapped."""
    with open(f"/proc/{pid}/maps") as f:
        return len({line.split()[4] for line in f if "braze-arena" in line})


def test_no_worker_has_another_users_arena():
    with Shared() as gpu:
        a, a2, b = gpu.user(ANN), gpu.user(ANN), gpu.user(BOB)
        for t in (a, b, a2):
            t.do(KEEP)
        own = gpu.own()
        assert (arenas(own[ANN]), arenas(own[BOB])) == (2, 1)
        a3 = gpu.user(ANN)
        a3.do(KEEP)
        assert (arenas(own[ANN]), arenas(own[BOB])) == (3, 1) and gpu.own() == own
        assert arenas(gpu.device()["worker_pid"]) == 0


def test_another_program_goes_on():
    with Shared() as gpu:
        a = gpu.user(ANN)
        a.do(KEEP)
        first = gpu.own()[ANN]
        assert gpu.daemon.ctl("drain").returncode == 0
        gpu.usable()
        assert a.do("out = float(y[3])") == 43
        assert a.do(SUM.format(2)) == 999000
        assert gpu.own()[ANN] != first


def test_no_other_value():
    gpu = Gpu(settings={"isolation": "some"})
    with pytest.raises(AssertionError, match="isolation = some: want none or user"), gpu:
        pass


def test_the_check_for_machines():
    """tests/gpu/gpuusers.py, as it is run on hardware."""
    env = {**os.environ, **standin_environment(race=0, devices=2), "BRAZE_DAEMON": find_daemon()}
    done = subprocess.run([sys.executable, ROOT / "tests/gpu/gpuusers.py"], capture_output=True, text=True,
                          env=env, timeout=300)
    assert done.returncode == 0 and "\n1..13\n" in done.stdout, done.stdout + done.stderr
    assert "reached: True, 1 values past the host" in done.stdout
