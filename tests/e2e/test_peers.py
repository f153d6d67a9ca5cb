# SPDX-License-Identifier: Apache-2.0
"""Several GPUs: what one has computed goes to another past the host, or by way of it where the
driver refuses; a death of either worker in the middle loses nothing that is anywhere else."""

import os
import pathlib
import re
import signal
import time

import pytest
from gpu import Gpu, Refused
from harness import find_standin, wait_until
from test_cuda_calls import counted
from test_device_memory import held

pytestmark = pytest.mark.skipif(find_standin() is None, reason="no stand-in driver was built")

NAMES = ("cuda:0", "cuda:1")
N = 400000
BYTES = 8 * N
# More operations than are made again: what is on a device only is lost with it.
MAKE = f"""
x = np.asarray(numpy.arange({N}.))
with braze.device("cuda:0"):
    y = x * 2
    for k in range(40): y = y + 1
    braze.wait(y)
wanted = numpy.arange({N}.) * 2 + 40"""
USE = """
with braze.device("cuda:1"):
    z = y + 1; braze.wait(z)"""
COMPARE = "out = bool((numpy.asarray(z) == wanted + 1).all())"


def pair(least="0", **options):
    """Values of so many KiB and more go from one to the other."""
    gpu = Gpu("cpu,cuda:0,cuda:1", devices=2, env={"BRAZE_PEER_KIB": least}, **options)
    gpu.counts = pathlib.Path(gpu.daemon.folder) / "calls"
    gpu.daemon.env["BRAZE_STANDIN"] += f",count={gpu.counts}"
    return gpu


def usable(gpu):
    for name in NAMES:
        gpu.usable(name)


def ready(gpu):
    """A client whose kernels both devices have; its `y` lies on cuda:0."""
    usable(gpu)
    a = gpu.talker("auto")
    for code in (MAKE, USE, MAKE):
        a.do(code)
    return a


def moved(gpu, code, talker):
    """Bytes by way: up, down, from device to device."""
    ways = ("bytes up", "bytes down", "bytes peer")
    before = counted(gpu.counts)
    talker.do(code)
    after = counted(gpu.counts)
    return tuple(after.get(w, 0) - before.get(w, 0) for w in ways)


def came(gpu, to="cuda:1"):
    (row,) = gpu.device(to)["peers"]
    return row


@pytest.fixture(scope="module")
def gpus():
    with pair(clock="model", peer_gbs=40) as gpu:
        usable(gpu)
        yield gpu


def test_values_go_past_the_host(gpus):
    a = gpus.talker("auto")
    a.do(MAKE)
    before = came(gpus)["values"]
    up, down, peer = moved(gpus, USE, a)
    assert peer == BYTES and up < 4096 and down < 4096
    assert a.do(COMPARE)
    row = came(gpus)
    assert row["from"] == "cuda:0" and row["reached"] and row["values"] == before + 1
    assert 20e9 < row["rate"] < 41e9
    text = gpus.daemon.ctl("doctor").stdout
    assert re.search(r"cuda:1: copies from cuda:0 go past the host, [23]\d\.?\d* GB/s", text), text
    assert "cuda:0: copies from cuda:1 go past the host, not known yet" in text, text


def test_both_have_it_then(gpus):
    a = gpus.talker("auto")
    a.do(MAKE)
    a.do(USE)
    for name in NAMES * 2:
        assert max(moved(gpus, f"""
with braze.device("{name}"):
    braze.wait(y * 3)""", a)) < 4096
    assert moved(gpus, "out = float(numpy.asarray(y)[5])", a)[1] == BYTES
    assert a.do("out = float(y[5])") == 50


def test_who_writes_in_place_leaves_no_old_copy(gpus):
    a = gpus.talker("auto")
    a.do(MAKE)
    a.do(USE)
    assert a.do("""
with braze.device("cuda:1"):
    y += 1; braze.wait(y)
with braze.device("cuda:0"):
    w = y * 1; braze.wait(w)
out = bool((numpy.asarray(w) == wanted + 1).all())""")
    assert a.do("""
with braze.host(y) as h:
    h[7] = -5
with braze.device("cuda:0"):
    w = y * 1; braze.wait(w)
with braze.device("cuda:1"):
    v = y * 1; braze.wait(v)
wanted[7] = -6
out = bool((numpy.asarray(w) == wanted + 1).all() and (numpy.asarray(v) == wanted + 1).all())""")


def test_nothing_is_left():
    """Neither memory nor descriptors: the giver's, the taker's, the daemon's."""
    with pair() as gpu:
        a = ready(gpu)
        for _ in range(5):
            a.do(USE)
            a.do("""
with braze.device("cuda:0"):
    y = y + 0; braze.wait(y)""")
        assert a.do(COMPARE)
        a.process.stdin.close()
        a.process.wait()
        wait_until(lambda: all(gpu.device(n)["used_bytes"] == 0 for n in NAMES), what="no mirrors")
        b = gpu.talker("auto")
        for name in NAMES:  # drops go to the workers with what somebody wants next
            b.do(f"""
with braze.device("{name}"):
    braze.wait(np.ones(100) + 1)""")
        pids = [gpu.daemon.process.pid] + [gpu.device(n)["worker_pid"] for n in NAMES]
        wait_until(lambda: not any(map(held, pids)), what="all memory to be given back")


@pytest.mark.parametrize("options", [{"apart": "0:1"},
                                     {"missing": "cuMemImportFromShareableHandle"},
                                     {"missing": "cuDeviceCanAccessPeer"},
                                     {"missing": "cuMemCreate"}])
def test_by_the_host_where_the_driver_cannot(options):
    with pair(**options) as gpu:
        usable(gpu)
        a = gpu.talker("auto")
        a.do(MAKE)
        up, down, peer = moved(gpu, USE, a)
        assert peer == 0 and up >= BYTES and down >= BYTES
        assert a.do(COMPARE)
        assert not came(gpu)["reached"]
        assert "cuda:1: copies from cuda:0 go by way of the host" in gpu.daemon.ctl("doctor").stdout


@pytest.mark.parametrize("name, function", [
    ("cuda:1", "cuMemImportFromShareableHandle"), ("cuda:1", "cuMemSetAccess"), ("cuda:1", "cuMemMap"),
    ("cuda:1", "cuMemAddressReserve"), ("cuda:0", "cuMemExportToShareableHandle")])
def test_refusals_go_by_the_host_and_after_three_nobody_asks(name, function):
    with pair() as gpu:
        usable(gpu)
        a = gpu.talker("auto")
        gpu.inject(",".join(f"fail={function}:{n}:801" for n in range(1, 5)), name)
        for _ in range(4):
            a.do(MAKE)
            up, down, peer = moved(gpu, USE, a)
            assert peer == 0 and up >= BYTES and down >= BYTES
            assert a.do(COMPARE)
        assert not came(gpu)["reached"] and came(gpu, "cuda:0")["reached"]
        assert gpu.deaths("cuda:0") == gpu.deaths("cuda:1") == 0
        events = gpu.daemon.ctl("events").stdout
        assert events.count("cuda:1 cannot have memory of cuda:0") == 3, events
        assert events.count("and is not asked again") == 1, events


def test_small_values_go_by_the_host():
    with pair("") as gpu:
        usable(gpu)
        a = gpu.talker("auto")
        a.do(MAKE)
        assert moved(gpu, USE, a)[2] == BYTES
        a.do(MAKE.replace(str(N), str(N // 2)))
        assert moved(gpu, USE, a)[1:] == (BYTES // 2, 0)
        assert a.do(COMPARE)


def test_one_gpu_by_two_names_is_used_once():
    with pair(twins=1) as gpu:
        states = wait_until(lambda: [s for s in (sorted(gpu.device(n)["state"] for n in NAMES),)
                                     if s[0] != "starting"], what="both workers")
        assert states == [["unusable", "usable"]]
        assert re.search(r"cuda:[01] is unusable: it is the same GPU as cuda:[01]",
                         gpu.daemon.ctl("doctor").stdout)


def test_one_refusal_is_forgotten():
    with pair() as gpu:
        usable(gpu)
        a = gpu.talker("auto")
        for _ in range(4):
            gpu.inject("fail=cuMemSetAccess:1:801", "cuda:1")
            for refused in (True, False):
                a.do(MAKE)
                peer = moved(gpu, USE, a)[2]
                assert peer == (0 if refused else BYTES)
                assert a.do(COMPARE)
        assert came(gpu)["reached"]


def begin(gpu, a, code):
    """Have it wait in the middle; what it was is told by end()."""
    a.begin(code)
    time.sleep(0.3)


def test_taker_dies_in_the_middle():
    with pair() as gpu:
        a = ready(gpu)
        gpu.inject("hang=cuMemcpyDtoDAsync:1", "cuda:1")
        begin(gpu, a, USE)
        os.kill(gpu.device("cuda:1")["worker_pid"], signal.SIGKILL)
        a.end()
        assert a.do(COMPARE) and a.do("out = float(y[3])") == 46
        assert gpu.deaths("cuda:1") == 1 and gpu.deaths("cuda:0") == 0


def test_giver_dies_before_it_gives():
    """What was only there is lost, and says so; what can be made again is."""
    with pair() as gpu:
        a = ready(gpu)
        a.do("""
with braze.device("cuda:0"):
    few = x * 3; braze.wait(few)""")
        giver = gpu.device()["worker_pid"]
        os.kill(giver, signal.SIGSTOP)
        begin(gpu, a, USE)
        os.kill(giver, signal.SIGKILL)
        with pytest.raises(Refused, match="LostError.*cuda:"):
            a.end()
        gpu.usable()
        assert a.do("""
with braze.device("cuda:1"):
    out = float((few + 1)[5])""") == 16
        a.do(MAKE)
        a.do(USE)
        assert a.do(COMPARE)


def test_giver_dies_when_it_has_given():
    """The memory is the taker's, too: the copy is made, and the value lives there."""
    with pair() as gpu:
        a = ready(gpu)
        giver, taker = (gpu.device(n)["worker_pid"] for n in NAMES)
        os.kill(taker, signal.SIGSTOP)
        begin(gpu, a, USE)
        wait_until(lambda: held(giver), what="the export")
        time.sleep(0.3)
        os.kill(giver, signal.SIGKILL)
        wait_until(lambda: gpu.deaths() == 1, what="its end")
        os.kill(taker, signal.SIGCONT)
        a.end()
        assert a.do(COMPARE)
        assert a.do("out = float(y[3])") == 46, "y itself is there, though its maker has died"
        assert counted(gpu.counts)["bytes peer"] == 2 * BYTES


def test_client_goes_in_the_middle():
    with pair() as gpu:
        a = ready(gpu)
        taker = gpu.device("cuda:1")["worker_pid"]
        os.kill(taker, signal.SIGSTOP)
        begin(gpu, a, USE)
        a.process.kill()
        a.process.wait()
        time.sleep(0.2)
        os.kill(taker, signal.SIGCONT)
        wait_until(lambda: gpu.daemon.status()["clients_count"] == 0, what="the session's end")
        wait_until(lambda: all(gpu.device(n)["used_bytes"] == 0 for n in NAMES), what="no mirrors")
        b = gpu.talker("auto")
        b.do(MAKE)
        b.do(USE)
        assert b.do(COMPARE)


def test_room_for_a_copy_is_made():
    """Devices of 40 MiB, six values of 8 that go from one to the other and back."""
    with pair("", vram="40M") as gpu:
        usable(gpu)
        a = gpu.talker("auto")
        a.do("""
def turn(name, k):
    with braze.device(name):
        for i in range(6):
            v[i] = v[i] + k; braze.wait(v[i])
v = [np.asarray(numpy.full(1000000, float(i))) for i in range(6)]""")
        for k, name in enumerate(NAMES * 3):
            a.do(f"turn('{name}', {k})")
        assert a.do("out = [float(i) for w in v for i in (w.min(), w.max())]") == [
            i + 15.0 for i in range(6) for _ in range(2)]


RANDOM = """
import random
r = random.Random({seed})
devices = ["cpu", "cuda:0", "cuda:1"]
pairs, wrong, done = [], 0, 0

def fresh():
    n = r.choice([7, 1000, 40000, {most}])
    h = numpy.arange(n) % 11 * 1.0
    pairs.append([np.asarray(h.copy()), h])

def check(p):
    global wrong
    got = numpy.asarray(p[0])
    wrong += not (got.shape == p[1].shape and (got == p[1]).all())

def step():
    p = r.choice(pairs)
    q = r.choice([q for q in pairs if len(q[1]) == len(p[1])])
    what, k = r.random(), float(r.randrange(1, 5))
    with braze.device(r.choice(devices)):
        if what < 0.35:
            pairs.append([(p[0] + q[0]) % 97 + k, (p[1] + q[1]) % 97 + k])
            if r.random() < 0.7: braze.wait(pairs[-1][0])
        elif what < 0.55:
            p[0] += k; p[1] = p[1] + k
            if r.random() < 0.7: braze.wait(p[0])
        elif what < 0.65:
            i = r.randrange(len(p[1])); p[1] = p[1].copy()
            p[0][i:i + 500] = k; p[1][i:i + 500] = k
            if r.random() < 0.5: braze.wait(p[0])
        elif what < 0.75:
            pairs.append([p[0][::-1] * 1, p[1][::-1] * 1])
        elif what < 0.85:
            check(p)
        elif what < 0.9:
            global_sum = float(p[0].sum()); globals()["wrong"] += global_sum != p[1].sum()
    if 0.9 <= what < 0.93:
        p[1] = p[1].copy()
        with braze.host(p[0]) as h:
            h[3] = k
        p[1][3] = k
    elif what >= 0.93 and len(pairs) > 3:
        pairs[:] = [q for q in pairs if q is not p]
    if len(pairs) > 12: pairs.pop(r.randrange(12))

for _ in range(4): fresh()
for done in range({count}):
    if r.random() < 0.05: fresh()
    step()
for p in pairs: check(p)
out = wrong"""


@pytest.mark.parametrize("seed, options, most", [
    (1, {}, 70000), (2, {"apart": "0:1"}, 70000), (3, {"vram": "24M"}, 300000),
    (4, {"delay_us": 200}, 70000)])
def test_random_sequences(seed, options, most):
    """A thousand computations, writes in place, reads and drops on any device: 0 wrong."""
    with pair(**options) as gpu:
        usable(gpu)
        a = gpu.talker("auto")
        assert a.do(RANDOM.format(seed=seed, count=1000, most=most)) == 0
        assert gpu.deaths("cuda:0") == gpu.deaths("cuda:1") == 0
        if not options:
            assert min(came(gpu, n)["values"] for n in NAMES) > 20


def test_random_sequences_with_deaths():
    """Workers are killed at any moment.  What is lost says so; nothing is wrong."""
    with pair() as gpu:
        usable(gpu)
        a = gpu.talker("auto")
        code = RANDOM.replace("    step()\n", """
    try: step()
    except braze.LostError: pairs[:] = []; [fresh() for _ in range(4)]
""").replace("for p in pairs: check(p)", """
for p in pairs:
    try: check(p)
    except braze.LostError: pass""")
        a.begin(code.format(seed=5, count=600, most=70000))
        for k in range(8):
            time.sleep(0.15)
            os.kill(gpu.usable(NAMES[k % 2])["worker_pid"], signal.SIGKILL)
        assert a.end() == 0
