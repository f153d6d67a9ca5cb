# SPDX-License-Identifier: Apache-2.0
"""Loops of functions where nobody names a device: on the processor at first, on the GPU from when that pays, and back
where it fails.  The device is the stand-in with its modelled clock; what loops take here is measured, so the ones
that go take hundreds of times as long here as is predicted for there, and those that stay the other way round."""

import os
import time

import pytest
from gpu import TALKER, Gpu, Refused
from harness import find_nvrtc, find_standin, wait_until
from test_peers import usable as both
from test_place_several import pair

pytestmark = [
    pytest.mark.skipif(find_standin() is None, reason="no stand-in driver was built"),
    pytest.mark.skipif(find_nvrtc() is None, reason="there is no NVRTC"),
]

SETUP = f"""
import pathlib, sys
sys.path.insert(0, {str(TALKER.parent)!r})
from loops_on_gpu import *
n = 1000
x, y = np.asarray(numpy.linspace(0, 1, n)), np.asarray(numpy.zeros(n))
want = numpy.zeros(n)
grind.py_func(numpy.linspace(0, 1, n), want, 200)
def until_sent(f, *args):
    # How often f was called before its loops were recorded.
    braze.flush()
    before = braze.counters()["ops"]
    for k in range(20000):
        f(*args)
        braze.flush()
        if braze.counters()["ops"] > before:
            return k
    raise AssertionError("its loops stayed")
def afar(f, *args):
    (line,) = [line.strip() for line in str(braze.explain(f, *args)).splitlines() if "on the GPU" in line]
    return line
"""


def auto(device="auto", **options):
    return Gpu(device, **{"clock": "model", "sms": 100, "race": 0, **options})


def ready(gpu, device="auto", **env):
    gpu.usable()
    talker = gpu.talker(device, **env)
    talker.do(SETUP)
    return talker


def runs(gpu):
    return gpu.device("cpu")["runs"], gpu.device()["runs"]


def turn(talker, call="grind(x, y, 200)", times=3):
    """So many calls, each waited for."""
    talker.do(f"for _ in range({times}): {call}; braze.wait(y)")


def until_there(gpu, talker):
    """Call until a run was the device's."""
    before = gpu.device()["runs"]
    calls = talker.do("out = until_sent(grind, x, y, 200); braze.wait(y)")
    assert gpu.device()["runs"] > before
    return calls


def test_a_loop_goes_there_after_a_while():
    """First here: nobody waits for a compiler of GPUs whose loops take less than 0.2 s together."""
    with auto() as gpu:
        a = ready(gpu)
        turn(a, times=2)
        assert gpu.device()["runs"] == 0 and not any(k["arch"] for k in gpu.daemon.kernels())
        assert "its runs have taken" in a.do("out = afar(grind, x, y, 200)")
        assert until_there(gpu, a) > 20
        assert a.do("out = numpy.asarray(y).tobytes() == want.tobytes()")
        before = runs(gpu)
        turn(a)
        assert gpu.device()["runs"] >= before[1] + 3 and gpu.device("cpu")["runs"] == before[0]
        said = a.do("out = afar(grind, x, y, 200)")
        assert said.startswith("on the GPU: 1 loops, whose turns are threads: about "), said
        assert "loops that their client sent there" in gpu.daemon.ctl("explain").stdout


def test_a_call_that_is_small_stays():
    """Though its kernel's other calls go."""
    with auto() as gpu:
        a = ready(gpu)
        until_there(gpu, a)
        a.do("p, q = np.asarray(numpy.ones(4)), np.asarray(numpy.ones(4))")
        before = gpu.device()["runs"]
        turn(a, "grind(p, q, 2)", 500)
        assert gpu.device()["runs"] == before
        assert a.do("out = afar(grind, p, q, 2)").startswith("not on the GPU: about ")


def test_a_loop_that_mostly_moves_bytes_stays():
    """Over a slow link, whose rate was measured."""
    with auto(link_gbs=0.02) as gpu:
        a = ready(gpu)
        a.do("""
big, other = np.asarray(numpy.ones(1000000)), np.asarray(numpy.ones(1000000))
with braze.device("cuda:0"):
    numpy.asarray(np.asarray(numpy.ones(100000)) + 1)""")
        before = gpu.device()["runs"]
        a.do("import time\nend = time.perf_counter() + 2\n"
             "while time.perf_counter() < end: axpy(0.5, big, other)")
        assert gpu.device()["runs"] == before
        said = a.do("out = afar(axpy, 0.5, big, other)")
        assert said.startswith("not on the GPU: about ") and "us there" in said, said


def test_a_loop_whose_indices_are_read_stays():
    """A wrong one is an error in the call, with its place."""
    with auto() as gpu:
        a = ready(gpu)
        a.do("""
at = np.asarray(numpy.arange(300000) % n)
z = np.asarray(numpy.zeros(300000))
import time
end = time.perf_counter() + 1
while time.perf_counter() < end: gathered(x, at, z)
""")
        assert gpu.device()["runs"] == 0
        assert "a wrong index would be told late there" in a.do("out = afar(gathered, x, at, z)")


@pytest.mark.parametrize("device", ["cpu", "auto"])
def test_who_names_the_processor_has_it(device):
    with auto() as gpu:
        a = ready(gpu, device, **({} if device == "cpu" else {"BRAZE_KERNEL_GPU": "0"}))
        a.do("import time\nend = time.perf_counter() + 1\n"
             "while time.perf_counter() < end: grind(x, y, 200)")
        assert gpu.device()["runs"] == 0
        assert a.do("out = numpy.asarray(y).tobytes() == want.tobytes()")


def test_a_section_that_leaves_the_choice():
    """In a process that names the processor."""
    with auto() as gpu:
        a = ready(gpu, "cpu")
        a.do("import time\nend = time.perf_counter() + 0.5\n"
             "while time.perf_counter() < end: grind(x, y, 200)")
        assert gpu.device()["runs"] == 0
        a.do("with braze.device('auto'):\n for _ in range(5): grind(x, y, 200); braze.wait(y)")
        assert gpu.device()["runs"] > 0
        assert a.do("out = numpy.asarray(y).tobytes() == want.tobytes()")


def test_what_loops_leave_there_is_not_copied_to_go_on():
    """Their arrays stay; an operation on them goes where they are, and everything has its value in order."""
    with auto() as gpu:
        a = ready(gpu)
        until_there(gpu, a)
        turn(a, times=3)
        before = gpu.daemon.status()["device_fetches"]
        a.do("""
x0 = numpy.array(x)
for _ in range(5):
    grind(x, y, 200); grind(y, x, 200)
braze.wait(x, y)""")
        assert gpu.daemon.status()["device_fetches"] == before + 0
        assert a.do("""
p, q = x0.copy(), want.copy()
for _ in range(5):
    grind.py_func(p, q, 200); grind.py_func(q, p, 200)
out = numpy.asarray(x).tobytes() == p.tobytes() and numpy.asarray(y).tobytes() == q.tobytes()
""")


def test_where_the_device_dies_the_processor_does_it():
    """Nobody asked for that device: a run that kills its worker twice is done here, and what comes next is not sent
    for a while."""
    with auto() as gpu:
        a = ready(gpu)
        until_there(gpu, a)
        for strike in (1, 2):
            gpu.usable()
            gpu.inject("fault=cuLaunchKernel:1:700")
            a.do("x = np.asarray(numpy.linspace(0, 1, n)); y = np.asarray(numpy.zeros(n))\n"
                 "grind(x, y, 200); braze.wait(y)")
            assert a.do("out = numpy.asarray(y).tobytes() == want.tobytes()")
            assert gpu.deaths() == strike
        gpu.usable()
        before = runs(gpu)
        turn(a, times=2)
        assert gpu.device()["runs"] == before[1] and gpu.deaths() == 2
        a.do("braze.wait(x, y)")
        time.sleep(1.1)  # what the daemon has told is believed for a second
        turn(a)
        said = runs(gpu)
        turn(a)
        assert runs(gpu) == said, "it is done in the client"
        assert a.do("out = numpy.asarray(y).tobytes() == want.tobytes()")


def test_a_device_without_room_is_not_tried():
    with auto(vram="16M") as gpu:
        a = ready(gpu)
        a.do("""
import time
big, other = np.asarray(numpy.linspace(0, 1, 1000000)), np.asarray(numpy.zeros(1000000))
end = time.perf_counter() + 1
while time.perf_counter() < end: grind(big, other, 40)""")
        assert gpu.device()["runs"] == 0
        assert "has no room for its arrays" in a.do("out = afar(grind, big, other, 40)")


def test_clients_spread_over_several_gpus():
    with pair() as gpu:
        both(gpu)
        homes = []
        for _ in range(2):
            a = gpu.talker("auto")
            a.do(SETUP)
            before = [gpu.device(n)["runs"] for n in ("cuda:0", "cuda:1")]
            for _ in range(2):
                a.do("until_sent(grind, x, y, 200); braze.wait(y)")
            homes.append([gpu.device(n)["runs"] > old for n, old in zip(("cuda:0", "cuda:1"), before)])
            assert a.do("out = numpy.asarray(y).tobytes() == want.tobytes()")
        assert homes == [[True, False], [False, True]], homes


def test_a_users_own_worker():
    """With isolation it begins when loops are to go there; until it is there they stay."""
    with auto(settings={"isolation": "user"}) as gpu:
        a = ready(gpu)
        assert gpu.device()["users"] == []
        until_there(gpu, a)
        assert [row["uid"] for row in gpu.device()["users"]] == [os.getuid()]
        assert a.do("out = numpy.asarray(y).tobytes() == want.tobytes()")
        assert gpu.device("cpu")["runs"] <= 2, "nothing with loops"


def test_values_of_a_lost_device_are_lost():
    """As those of operations are: what lies there only goes with it, and is an error where it is read."""
    with auto() as gpu:
        a = ready(gpu)
        until_there(gpu, a)
        before = gpu.device()["runs"]
        a.do("p, q = np.asarray(numpy.linspace(0, 1, 20000)), np.asarray(numpy.zeros(20000))\n"
             "until_sent(grind, p, q, 40); braze.wait(q)")
        assert gpu.device()["runs"] > before
        deaths = gpu.deaths()
        os.kill(gpu.usable()["worker_pid"], 9)
        wait_until(lambda: gpu.deaths() > deaths, what="the worker's death")
        gpu.usable()
        with pytest.raises(Refused, match="LostError"):
            a.do("out = float(numpy.asarray(q).sum())")
        a.do("x, y = np.asarray(numpy.linspace(0, 1, n)), np.asarray(numpy.zeros(n)); grind(x, y, 200)")
        assert a.do("out = numpy.asarray(y).tobytes() == want.tobytes()")
