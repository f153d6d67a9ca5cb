# SPDX-License-Identifier: Apache-2.0
"""The device "auto" on a machine with two GPUs: which of them each client's work goes to, and why.
Both are the stand-in with its modelled clock."""

import os
import signal
import time

import pytest
from gpu import Gpu
from harness import find_standin, wait_until
from test_cuda_calls import counted
from test_place import CHAIN, HEAVY, compiled, reasons
from test_peers import usable

pytestmark = pytest.mark.skipif(find_standin() is None, reason="no stand-in driver was built")

NAMES = ("cpu", "cuda:0", "cuda:1")


def pair(**options):
    gpu = Gpu("cpu,cuda:0,cuda:1", devices=2, **{"clock": "model", "sms": 100, "race": 0, **options})
    gpu.counts = gpu.control.with_name("calls")
    gpu.daemon.env["BRAZE_STANDIN"] += f",count={gpu.counts}"
    return gpu


def where(gpu, talker, code):
    before = [gpu.device(n)["runs"] for n in NAMES]
    talker.do(code)
    return [n for n, old in zip(NAMES, before) if gpu.device(n)["runs"] > old]


def settled(gpu, talker, code=HEAVY):
    """The GPU that its work goes to, once it goes to one."""
    talker.do("a = np.asarray(numpy.linspace(0, 1, 40000))")

    def found():
        ran = where(gpu, talker, code)
        return compiled(gpu) and ran != ["cpu"] and ran

    (name,) = wait_until(found, 60, "a GPU")
    return name


def explained(gpu):
    return gpu.daemon.ctl("explain").stdout


def test_clients_do_not_pile_up_on_the_first():
    """Four notebooks, one after the other, each idle while the next begins."""
    with pair() as gpu:
        usable(gpu)
        talkers = [gpu.talker("auto") for _ in range(4)]
        homes = [settled(gpu, t) for t in talkers]
        assert sorted(homes) == ["cuda:0", "cuda:0", "cuda:1", "cuda:1"], (homes, reasons(gpu))
        for _ in range(3):
            for t, home in zip(talkers, homes):
                assert where(gpu, t, HEAVY) == [home], reasons(gpu)
        text = explained(gpu)
        assert "on cuda:1 of several, where" in text, text


def test_who_leaves_makes_room():
    with pair() as gpu:
        usable(gpu)
        a, b = gpu.talker("auto"), gpu.talker("auto")
        first, second = settled(gpu, a), settled(gpu, b)
        assert {first, second} == {"cuda:0", "cuda:1"}
        a.process.stdin.close()
        a.process.wait()
        wait_until(lambda: gpu.daemon.status()["clients_count"] == 1, what="its end")
        assert settled(gpu, gpu.talker("auto")) == first


def test_work_goes_where_its_arrays_are():
    with pair() as gpu:
        usable(gpu)
        a = gpu.talker("auto")
        assert settled(gpu, a) == "cuda:0"
        a.do("""
with braze.device("cuda:1"):
    b = np.exp(np.asarray(numpy.linspace(0, 1, 300000)))
    for k in range(12): b = b * 1.01 + 0.5
    braze.wait(b)""")
        code = HEAVY.replace("(a)", "(b)")
        before = counted(gpu.counts)
        for _ in range(6):
            a.do(code)
            wait_until(lambda: compiled(gpu), 60, "its kernels")
        assert where(gpu, a, code) == ["cuda:1"], reasons(gpu)
        after = counted(gpu.counts)
        assert after.get("bytes peer", 0) == before.get("bytes peer", 0)
        assert "on cuda:1 of several, where 2.4 MB of it lie" in explained(gpu), explained(gpu)
        # And so does what comes after it, of data that lie nowhere yet; `a` is where it was.
        a.do("d = np.asarray(numpy.linspace(0, 2, 40000))")
        assert [where(gpu, a, HEAVY.replace("(a)", "(d)")) for _ in range(4)][-1] == ["cuda:1"], reasons(gpu)
        assert where(gpu, a, HEAVY) == ["cuda:0"], reasons(gpu)


def test_braze_explain_says_why():
    with pair() as gpu:
        usable(gpu)
        a = gpu.talker("auto")
        settled(gpu, a, "c = " + CHAIN.format("a") + "; braze.wait(c)")
        assert "  on cuda:0 of several, " in a.do("out = str(braze.explain(c))")


def test_busy_device_is_left():
    """Another client's long work waits on cuda:0, whose worker stands still."""
    with pair(slow=1) as gpu:
        usable(gpu)
        a, b = gpu.talker("auto"), gpu.talker("cuda:0")
        assert settled(gpu, a) == "cuda:0"
        for _ in range(6):
            a.do(HEAVY)
        assert where(gpu, a, HEAVY) == ["cuda:0"]
        gpu.control.write_text("slow=20000")
        long = "c = np.full(300000, 1.5) * 3 + 1; braze.wait(c)"
        for _ in range(3):
            b.do(long)
        worker = gpu.device()["worker_pid"]
        gpu.control.write_text("slow=1")
        os.kill(worker, signal.SIGSTOP)
        b.begin(long)
        time.sleep(0.3)
        try:
            seen = [where(gpu, a, HEAVY) for _ in range(4)]
        finally:
            os.kill(worker, signal.SIGCONT)
        b.end()
        assert ["cuda:0"] not in seen and seen[-1] == ["cuda:1"], (seen, reasons(gpu))
        assert "us of other clients' work" in explained(gpu), explained(gpu)


def test_device_that_dies_is_not_waited_for():
    with pair() as gpu:
        usable(gpu)
        a = gpu.talker("auto")
        assert settled(gpu, a) == "cuda:0"
        want = a.do(HEAVY)
        os.kill(gpu.device()["worker_pid"], signal.SIGKILL)
        assert a.do(HEAVY) == pytest.approx(want, rel=1e-12)
