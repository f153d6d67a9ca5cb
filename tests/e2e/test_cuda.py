# SPDX-License-Identifier: Apache-2.0
"""The device cuda:0, a stand-in for a GPU: where values lie, and what goes wrong.

Every kernel here went through the real NVRTC; the stand-in runs its PTX and finds
accesses out of bounds, races and reads of memory that was freed.
"""

import json
import os
import signal

import pytest
from gpu import PATIENT, STRICT, Gpu, Refused
from harness import find_standin, wait_until

pytestmark = pytest.mark.skipif(find_standin() is None, reason="no stand-in driver was built")


@pytest.fixture
def gpu():
    with Gpu() as gpu:
        gpu.usable()
        yield gpu


# ---- Where values lie ----


def test_results_stay_on_the_device(gpu):
    a = gpu.talker()
    a.do("a = np.asarray(numpy.arange(10000.)); b = a * 2 + 1; braze.wait(b)")
    runs = gpu.device()["runs"]
    assert runs > 0
    assert a.do("c = b.sum(); out = float(c)") == sum(2 * i + 1 for i in range(10000))
    status = gpu.daemon.status()
    assert status["device_used_bytes"] > 0
    a.do("del a, b, c; braze.flush()")
    wait_until(lambda: gpu.daemon.status()["device_used_bytes"] == 0, what="freeing")


def test_what_reads_the_sum_of_nothing_comes_behind_it(gpu):
    """Of a reduction over no element the result is written all the same: in a graph, whose steps
    are ordered by what they touch, the next one must wait for it."""
    a = gpu.talker(BRAZE_NEAR="0")
    a.do("e = np.asarray(numpy.zeros(0, 'uint32'))\n"
         "v = np.asarray(numpy.ones((1, 1, 33), 'uint32'))")
    for _ in range(3):
        assert a.do("np.less(1, e.sum() - 3, out=v)\n"
                    "w = np.arctan2(np.negative(v.reshape(-1)), np.float16(1.5))\n"
                    "w[w < -1] += 1\nout = float(w[3])") == pytest.approx(1.5707963, abs=1e-6)
    assert gpu.device()["worker_deaths"] == 0


def test_phases_of_other_sizes_do_not_meet(gpu):
    """A warp alone waits for no other: what it keeps in a phase of two reductions must lie where no
    warp's phase of one does."""
    a = gpu.talker(BRAZE_NEAR="0")
    a.do("x = numpy.random.default_rng(1).standard_normal((40, 50)); a = np.asarray(x)")
    assert a.do("lo = a.min(axis=1, keepdims=True); hi = a.max(axis=1, keepdims=True)\n"
                "y = numpy.asarray(((a - lo) / (hi - lo)).sum(axis=1))\n"
                "lo = x.min(axis=1, keepdims=True); hi = x.max(axis=1, keepdims=True)\n"
                "out = numpy.allclose(y, ((x - lo) / (hi - lo)).sum(axis=1), rtol=1e-12)") is True
    device = gpu.device()
    assert device["runs"] > 0 and device["worker_deaths"] == 0


def test_what_is_only_waited_for_stays_there(gpu):
    """It is computed and not brought to the host: a read does that, once."""
    a = gpu.talker()
    a.do("a = np.asarray(numpy.arange(100_000.)); b = a * 2 + 1; braze.wait(b)")
    status = gpu.daemon.status()
    assert status["device_fetches"] == 0 and status["steps"] > 0
    assert a.do("out = braze.is_stored(b)") is False
    assert a.do("braze.wait(b); out = float(b[70000])") == 140001
    assert gpu.daemon.status()["device_fetches"] == 0, "one element is computed, not all fetched"
    steps = gpu.daemon.status()["steps"]
    assert a.do("out = float(numpy.asarray(b)[70000])") == 140001
    status = gpu.daemon.status()
    assert (status["device_fetches"], status["steps"]) == (1, steps)
    assert a.do("out = float(b.sum())") == 1e10
    a.do("c = b * 2; braze.wait(c, b)")
    assert a.do("out = float(c[3])") == 14
    # What one waits for that another reads meanwhile is brought.
    assert a.do("d = a - 1; braze.wait(d, a); out = numpy.asarray(d)[:2].tolist()") == [-1, 0]


def test_a_wait_tells_of_errors_and_of_a_lost_device(gpu):
    a = gpu.talker()
    a.do("a = np.asarray(numpy.arange(1000.)); i = np.asarray(numpy.array([5000]))")
    with pytest.raises(Refused, match="IndexError"):
        a.do("t = a[i] * 2; braze.wait(t)")
    a.do("b = a + 1; braze.wait(b)")
    os.kill(gpu.usable()["worker_pid"], signal.SIGKILL)
    wait_until(lambda: gpu.deaths() == 1, what="the death")
    assert a.do("braze.wait(b); out = float(b[9])") == 10.0


@pytest.mark.parametrize("made", [
    "np.empty(5001)", "np.empty(5001, dtype='u1')", "np.empty((70, 70)) * 1", "np.empty(300)[::3].copy()",
    "np.empty_like(np.asarray(numpy.ones(2000)))"])
def test_what_nobody_wrote_is_nobodys(gpu, made):
    """The stand-in's fresh memory is full of somebody's bytes, as a GPU's may be."""
    a = gpu.talker("cuda:0")
    a.do(f"e = {made}; e[:1] = 0; t = e + 1; braze.wait(t)")
    assert gpu.device()["runs"] > 0
    assert a.do("out = (numpy.asarray(e) != 0).sum().item(), (numpy.asarray(t) != 1).sum().item()") == [0, 0]


def test_intermediate_results_are_fetched_only_when_read(gpu):
    a = gpu.talker()
    a.do("a = np.asarray(numpy.arange(1000.)); b = a.cumsum() if False else np.sqrt(a)")
    a.do("s = b.sum(); t = b * 3; out = float(s)")
    fetches = gpu.daemon.status()["device_fetches"]
    assert a.do("out = float(t[9])") == 9.0
    assert a.do("out = numpy.asarray(b)[:5].tolist()")[4] == 2.0
    assert gpu.daemon.status()["device_fetches"] >= fetches


@pytest.mark.parametrize("step", [
    "np.cumsum(v)", "np.sort(v)", "np.argsort(v)", "v[v > 1]", "np.nonzero(v > 1)[0]",
    "np.random.default_rng(1).random(136) * v"])
def test_library_steps_take_nothing_else_along(gpu, step):
    """What they read and what reads their result has the bits of the device that was asked for:
    its log10 is not the processor's."""
    a = gpu.talker()
    bits = "numpy.log10(numpy.arange(1, 137.)).tobytes().hex()"
    a.do("v = np.log10(np.arange(1, 137.)); alone = numpy.asarray(v).tobytes().hex()")
    assert a.do("out = alone") != a.do(f"out = {bits}"), "log10 does not tell the devices apart"
    a.do(f"""
v = np.log10(np.arange(1, 137.))
w = np.log10({step} + 1)
both = numpy.asarray(v).tobytes().hex(), numpy.asarray(w).tobytes().hex()""")
    then = a.do(f"""
with braze.eager():
    w = np.log10({step} + 1)
out = numpy.asarray(w).tobytes().hex()""")
    assert a.do("out = list(both)") == [a.do("out = alone"), then]


def test_arrays_move_between_devices(gpu):
    a = gpu.talker("auto")
    assert a.do("out = braze.devices()") == ["cpu", "cuda:0"]
    a.do("""
a = np.asarray(numpy.arange(1000.))
with braze.device("cuda:0"):
    b = a + 1
    braze.wait(b)
with braze.device("cpu"):
    c = b * 2
    b += 10
with braze.device("cuda:0"):
    d = b - c
    a[10:20] = d[10:20]
out = [numpy.asarray(x)[15] for x in (a, b, c, d)]
""")
    x = 15.0
    assert a.do("out = [float(numpy.asarray(v)[15]) for v in (a, b, c, d)]") == [
        x + 11 - 2 * (x + 1), x + 11, 2 * (x + 1), x + 11 - 2 * (x + 1)]


def test_another_connection_names_the_device_that_is_asked_for_by_then(gpu):
    """What is near is decided by the environment that the daemon was told, not by the first one."""
    python = gpu.talker("auto", BRAZE_NEAR="1")
    reason = "out = str(braze.explain(np.ones(3) + 1)).splitlines()[1]"
    assert python.do(reason) == "near: made in this process, in the call itself"
    for name, told in ("cuda:0", "far: left to the daemon, since the session names a device"), (
            "", "near: made in this process, in the call itself"):
        python.do(f"import os; braze.close(); os.environ['BRAZE_DEVICE'] = {name!r}")
        assert python.do(reason) == told, name


def test_client_writes_reach_the_device(gpu):
    a = gpu.talker()
    a.do("a = np.asarray(numpy.zeros(100)); s = a.sum(); first = float(s)")
    a.do("a[7] = 5.0; out = float(a.sum())")
    assert a.do("a[7] = 5.0; a[8] = 1.0; out = float(a.sum())") == 6.0
    assert a.do("""
with braze.host(a) as h:
    h[:] = 2
out = float(a.sum())""") == 200.0


def test_write_of_nothing_leaves_the_value(gpu):
    """Its plan has no step, yet the value must get to the device."""
    a = gpu.talker()
    out = a.do("""
a = np.asarray(numpy.arange(10.))
a[:0] = 2
braze.wait(a)
out = numpy.asarray(a + 1).tolist()""")
    assert a.do("out = numpy.asarray(a + 1).tolist()") == list(range(1, 11)), out


def test_snapshot_keeps_its_value(gpu):
    a = gpu.talker()
    out = a.do("""
a = np.asarray(numpy.arange(10.)) + 0
n = numpy.asarray(a)
a += 1
out = [n.tolist(), numpy.asarray(a).tolist()]""")
    assert out == [list(range(10)), list(range(1, 11))]


def test_matrix_product_on_the_device(gpu):
    a = gpu.talker()
    a.do("""
m = numpy.arange(600.).reshape(20, 30)
out = numpy.asarray(np.asarray(m) @ np.asarray(m.T) + 1)
ok = numpy.array_equal(out, m @ m.T + 1)""")
    assert a.do("out = bool(ok)")
    cpu = next(d for d in gpu.daemon.status()["devices"] if d["name"] == "cpu")
    assert cpu["runs"] == 0


def test_several_devices():
    with Gpu("cpu,cuda:0,cuda:1", devices=2) as gpu:
        wait_until(lambda: all(d["state"] == "usable" for d in gpu.daemon.status()["devices"]))
        a = gpu.talker("auto")
        assert a.do("""
a = np.asarray(numpy.arange(1000.))
with braze.device("cuda:0"):
    b = a * 2; braze.wait(b)
with braze.device("cuda:1"):
    c = b + 1; braze.wait(c)
out = numpy.asarray(c)[:3].tolist()""") == [1, 3, 5]
        assert gpu.device("cuda:0")["runs"] and gpu.device("cuda:1")["runs"]


# ---- Room ----


def test_cold_arrays_make_room():
    """Ten arrays of 8 MB on a device of 64 MB."""
    with Gpu(vram="64M") as gpu:
        a = gpu.talker()
        a.do("kept = [np.full(1000000, float(i)) + 0.5 for i in range(10)]")
        a.do("for k in kept: braze.wait(k)")
        assert a.do("out = [float(k[123]) for k in kept]") == [i + 0.5 for i in range(10)]
        status = gpu.daemon.status()
        assert status["device_spills"] > 0
        assert status["device_used_bytes"] <= 64 << 20


def test_array_beyond_the_device_names_its_holders():
    with Gpu(vram="32M") as gpu:
        a = gpu.talker()
        a.do("small = np.ones(1000) + 0; braze.wait(small)")
        with pytest.raises(Refused, match="MemoryError.*cuda:0 has no room.*talker"):
            a.do("big = np.full(10000000, 1.0) + 0; braze.wait(big)")
        assert a.do("out = float(small.sum())") == 1000
        assert a.do("""
with braze.device("cpu"):
    out = float((np.full(10000000, 1.0) + 0).sum())""") == 1e7


def holder(talker, mib):
    """How an error names it."""
    return rf"talker.py \(pid {talker.process.pid}\) {mib} MiB"


# An array of so many MiB that is on the device only: no recipe makes it again, and what was
# read is its sum.
ONLY_THERE = """
def only_there(value, mib):
    x = np.full((2, mib << 17), value).sum(axis=0)
    assert float(x.sum()) == 2 * value * (mib << 17)
    return x
"""


def test_one_clients_cold_arrays_make_room_for_another():
    """12 MiB of one and 10 of another, on a device with room for 14."""
    with Gpu(vram="16M", env=PATIENT) as gpu:
        a, b = gpu.talker(), gpu.talker()
        a.do(ONLY_THERE + "kept = [only_there(float(i), 2) for i in range(6)]")
        assert gpu.daemon.status()["device_spills"] == 0
        b.do(ONLY_THERE + "mine = [only_there(i + 0.5, 2) for i in range(5)]")
        status = gpu.daemon.status()
        assert status["device_spills"] >= 4 and status["device_fetches"] >= 4
        assert status["device_used_bytes"] <= 15 << 20
        # Nothing is lost, and what was colder comes back to the device when it is used.
        assert b.do("out = [float(m.sum()) for m in mine]") == [
            (i + 0.5) * 2**19 for i in range(5)]
        assert a.do("out = [float((k + 1).sum()) for k in kept]") == [
            (2 * i + 1) * 2.0**18 for i in range(6)]
        assert a.do("out = [float(numpy.asarray(k)[7]) for k in kept]") == [
            2.0 * i for i in range(6)]
        assert gpu.deaths() == 0


def test_a_limit_on_the_devices_memory():
    """Copies of what the host has go first; then who asked for the device is told, nobody else."""
    with Gpu() as gpu:
        gpu.usable()
        a, b = gpu.talker(), gpu.talker()
        a.do("here = [np.asarray(numpy.full(1 << 17, float(i))) for i in range(6)]")
        b.do("kept = np.full(1 << 19, 1.0) + 1; braze.wait(kept)")
        session, = (c["session"] for c in gpu.daemon.clients() if c["pid"] == a.process.pid)
        assert gpu.daemon.ctl("limit", f"session:{session}", "device_bytes=4M").returncode == 0
        assert [a.do(f"out = float((here[{i}] + 1).sum())") for i in range(6)] == [
            (i + 1.0) * 2**17 for i in range(6)]
        with pytest.raises(Refused, match=rf"MemoryError.*over the limit device_bytes = 4M of session {session} "):
            a.do("braze.wait(np.full(1 << 20, 1.0) + 1)")
        assert a.do("out = float((here[2] * 2).sum())") == 4.0 * 2**17
        assert b.do("out = float(kept.sum())") == 2.0 * (1 << 19)
        freed = json.loads(gpu.daemon.ctl("--json", "evict", str(session)).stdout)
        assert freed["device_bytes"] > 0
        assert a.do("out = float((here[2] * 2).sum())") == 4.0 * 2**17
        assert gpu.deaths() == 0


def test_what_cannot_leave_is_named():
    """Cold arrays leave for their client's part of the host's memory.  Where that is full they
    stay, and who asks for more than the rest is told whose they are."""
    with Gpu(vram="16M", env=PATIENT, settings={"quota_bytes": 176 << 20}) as gpu:
        a, b = gpu.talker(), gpu.talker()
        b.do(ONLY_THERE + "big = np.full(1 << 19, 1.0) + 1; numpy.asarray(big)")
        a.do(ONLY_THERE + "kept, host = [only_there(float(i), 2) for i in range(4)], []")
        with pytest.raises(Refused, match="MemoryError.*quota"):
            a.do("""
with braze.device("cpu"):
    while True:
        new = np.full(1 << 18, 1.0) + len(host)
        braze.wait(new)
        host.append(new)""")
        with pytest.raises(Refused, match="MemoryError.*cuda:0 has no room for 8 MiB of its 14"
                           " MiB; held by: " + holder(a, 8)):
            b.do("more = only_there(1.0, 8)")
        give_back(gpu, a, "new, host[-1]")  # some of the host's memory, for the sum
        b.do("less = only_there(1.0, 6)")
        b.do("del less; braze.flush()")
        assert b.do("out = float(big.sum())") == 2.0 * (1 << 19)
        assert a.do("out = [float(k.sum()) for k in kept]") == [2.0 * i * 2**18 for i in range(4)]
        # Freed by A, it is B's.
        give_back(gpu, a, "kept, host")
        b.do("more = only_there(1.0, 8)")
        assert gpu.deaths() == 0


def give_back(gpu, talker, names):
    """Delete arrays, and wait until the daemon knows: others' requests may come to it before."""
    used = gpu.daemon.status()["client_bytes"]
    talker.do(f"del {names}; braze.flush()")
    wait_until(lambda: gpu.daemon.status()["client_bytes"] < used, what="the arrays' end")


def test_holders_are_named_the_greatest_first():
    with Gpu(vram="64M") as gpu:
        a, b, c = gpu.talker(), gpu.talker(), gpu.talker()
        for talker, mib in (a, 2), (b, 16), (c, 2):
            talker.do(f"mine = np.full({mib} << 17, 1.0) + 1; braze.wait(mine)")
        with pytest.raises(Refused, match="held by: " + holder(b, 16) + ", talker"):
            a.do("big = np.full(8 << 20, 1.0) + 0; braze.wait(big)")
        assert c.do("out = float(mine.sum())") == 2.0**19


@pytest.mark.skipif(os.getuid() != 0, reason="only root becomes somebody else")
def test_holders_of_other_users_have_no_name():
    with Gpu(vram="64M") as gpu:
        ours, theirs = gpu.talker(), gpu.talker()
        os.chmod(gpu.daemon.folder, 0o755)
        os.chmod(gpu.daemon.socket, 0o666)
        theirs.do("import os; os.seteuid(65534)\nmine = np.full(16 << 17, 1.0) + 1; braze.wait(mine)")
        ours.do("mine = np.full(2 << 17, 1.0) + 1; braze.wait(mine)")
        assert {row["uid"] for row in gpu.daemon.clients()} == {0, 65534}
        big = "big = np.full(8 << 20, 1.0) + 0; braze.wait(big)"
        with pytest.raises(Refused, match="held by: " + holder(ours, 2) + ", other users 16 MiB$"):
            ours.do(big)
        with pytest.raises(Refused, match="held by: " + holder(theirs, 16) + ", other users 2 MiB$"):
            theirs.do(big)


@pytest.mark.parametrize("known", [True, False])
def test_device_has_less_memory_than_it_said(gpu, known):
    """Its driver refuses an allocation: colder arrays go and the run is made again."""
    a, b = gpu.talker(), gpu.talker()
    b.do("mine = np.asarray(numpy.arange(5000.)) * 2; braze.wait(mine)")
    if known:
        a.do("braze.wait(np.ones(10) + 1)")
    gpu.inject("fail=cuMemAllocFromPoolAsync:1:2,fail=cuMemAllocFromPoolAsync:2:2")
    a.do("x = np.asarray(numpy.arange(5000.)) + 1; braze.wait(x)")
    assert a.do("out = float(x[10])") == 11
    assert b.do("out = float(mine[10])") == 20
    assert gpu.deaths() == 0


# ---- Faults: two clients, one of which is innocent ----


def innocent(gpu):
    b = gpu.talker()
    b.do("host = np.asarray(numpy.arange(4000.)); braze.wait(host * 1)")
    b.do("recipe = np.sqrt(host) + 1; braze.wait(recipe)")
    b.do("read = np.asarray(numpy.ones(4000)) * 3; out = float(read.sum()); got = numpy.asarray(read)")
    return b


def unharmed(b):
    assert b.do("out = float(numpy.asarray(host)[9])") == 9
    assert b.do("out = float(numpy.asarray(recipe)[9])") == 4
    assert b.do("out = float(numpy.asarray(read).sum())") == 12000
    assert b.do("out = float((host + recipe).sum())") == pytest.approx(
        sum(i + i**0.5 + 1 for i in range(4000)))


@pytest.mark.parametrize("error", [700, 716, 719])
def test_sticky_error(gpu, error):
    """The worker is restarted; what ran is run again."""
    b, a = innocent(gpu), gpu.talker()
    a.do("x = np.asarray(numpy.arange(3000.)); braze.wait(x + 0)")
    gpu.inject(f"fault=cuLaunchKernel:1:{error}")
    a.do("y = x * 7 - 2; braze.wait(y)")
    assert a.do("out = float(y[3])") == 19
    assert gpu.deaths() == 1
    unharmed(b)


def test_what_was_on_the_device_only_is_lost_by_name(gpu):
    b, a = innocent(gpu), gpu.talker()
    a.do("x = np.asarray(numpy.arange(3000.)); s = x.reshape(30, 100).sum(axis=0); braze.flush()")
    a.do("t = s + 1; out = float(t[0]); u = s * 2; braze.wait(u)")
    gpu.inject("fault=cuLaunchKernel:1:700")
    a.do("out = float((x * 7)[3])")
    unharmed(b)
    # The sum's own value: on the host if it was read, else lost or made again.
    try:
        assert a.do("out = float(s[0])") == sum(range(0, 3000, 100))
    except Refused as e:
        assert "LostError" in str(e) and "cuda:0" in str(e)
    assert a.do("out = float((x + 1)[3])") == 4


def test_hang():
    """A kernel that does not end is ended with its worker, and others go on."""
    with Gpu(env=STRICT) as gpu:
        gpu.usable()
        b, a = innocent(gpu), gpu.talker()
        a.do("x = np.asarray(numpy.arange(3000.)); braze.wait(x + 0)")
        gpu.inject("hang=cuLaunchKernel:1")
        a.begin("y = x * 9; braze.wait(y); out = float(y[2])")
        wait_until(lambda: gpu.deaths() == 1, 10, "the worker's end")
        assert a.end() == 18
        unharmed(b)


@pytest.mark.long
def test_a_patient_watch_comes_before_the_daemons():
    """Where the environment makes the worker wait long for a step, the daemon waits longer."""
    with Gpu(env={"BRAZE_WORKER_HANG_MS": "12000"}) as gpu:
        gpu.usable()
        a = gpu.talker()
        a.do("x = np.asarray(numpy.arange(3000.)); braze.wait(x + 0)")
        gpu.inject("hang=cuLaunchKernel:1")
        a.begin("y = x * 9; braze.wait(y); out = float(y[2])")
        wait_until(lambda: gpu.deaths() == 1, 40, "the worker's end")
        log = gpu.daemon.log_text()
        assert "does not stop; the worker ends" in log and "did not come back in time" not in log
        assert a.end() == 18


def test_kernel_that_kills_twice_is_quarantined(gpu):
    b, a = innocent(gpu), gpu.talker()
    a.do("x = np.asarray(numpy.arange(3000.)); braze.wait(x + 0)")
    a.begin("pass")
    a.end()
    for _ in range(2):
        gpu.inject("fault=cuLaunchKernel:1:700")
        deaths = gpu.deaths()
        try:
            a.do("y = x * 11 - 5; braze.wait(y)")
        except Refused:
            break
        wait_until(lambda before=deaths: gpu.deaths() > before, 5)
    with pytest.raises(Refused, match="quarantined|killed the worker twice|not run again"):
        a.do("z = x * 11 - 5; braze.wait(z)")
    unharmed(b)


# ---- Devices that cannot be used ----


def test_no_library():
    with Gpu("auto", env={"BRAZE_LIBCUDA": "/nowhere/libcuda.so.1"}) as gpu:
        wait_until(lambda: gpu.device()["state"] == "unusable")
        assert "/nowhere/libcuda.so.1" in gpu.device()["text"]
        a = gpu.talker("auto")
        assert a.do("out = float(np.ones(100).sum())") == 100
        with pytest.raises(Refused, match="DeviceError.*cuda:0"):
            a.do("""
with braze.device("cuda:0"):
    out = float(np.ones(100).sum())""")
        doctor = gpu.daemon.ctl("doctor")
        assert "cuda:0 is unusable" in doctor.stdout


@pytest.mark.parametrize("symbol", ["cuLaunchKernel", "cuMemcpyHtoDAsync_v2"])
def test_missing_symbol(symbol):
    with Gpu(missing=symbol) as gpu:
        wait_until(lambda: gpu.device()["state"] == "unusable")
        assert symbol in gpu.device()["text"]


def test_missing_optional_symbols():
    with Gpu(missing="cuGraphInstantiateWithFlags:cuStreamWriteValue32_v2") as gpu:
        gpu.usable()
        a = gpu.talker()
        assert a.do("out = float((np.ones(1000) * 3).sum())") == 3000


def test_no_nvrtc():
    """Kernels cannot be compiled for the device: their plans run on the CPU."""
    with Gpu(env={"BRAZE_NVRTC": "/nowhere/libnvrtc.so"}) as gpu:
        gpu.usable()
        a = gpu.talker()
        assert a.do("x = np.asarray(numpy.arange(777.)); out = float((x * 31 + 0.125).sum())") == (
            sum(i * 31 + 0.125 for i in range(777)))
        assert "/nowhere/libnvrtc.so" in gpu.daemon.log_text()


# ---- A device that is not there yet ----


@pytest.mark.parametrize("call, code, name", [
    ("cuDevicePrimaryCtxRetain", 2, "OUT_OF_MEMORY"), ("cuDevicePrimaryCtxRetain", 46, ""), ("cuInit", 802, ""),
    ("cuInit", 100, ""), ("cuDevicePrimaryCtxRetain", 999, "UNKNOWN")])
def test_a_device_that_cannot_start_is_tried_again(call, code, name):
    gpu = Gpu()
    gpu.control.write_text(f"fail={call}:1:{code}")
    with gpu:
        row = wait_until(lambda: gpu.device()["state"] == "unusable" and gpu.device(), what="the refusal")
        assert str(code) in row["text"] and name in row["text"], row
        assert "tried again" in gpu.daemon.log_text()
        gpu.control.write_text("seed=1")
        gpu.usable()
        client = gpu.talker()
        assert client.do("out = float((np.asarray(numpy.arange(10.)) + 1).sum())") == 55
        assert gpu.device()["runs"] > 0 and gpu.deaths() == 0


def test_a_device_that_never_will_be_is_not_tried_again():
    gpu = Gpu()
    gpu.control.write_text("fail=cuInit:1:803")
    with gpu:
        wait_until(lambda: gpu.device()["state"] == "unusable", what="the refusal")
        assert "tried again" not in gpu.daemon.log_text()


def test_variables_for_the_worker():
    """Profilers and sanitizers are told by their own variables."""
    variables = {"TOOL_ONE": "1", "TOOL_TWO": "2", "WANTED": "3", "WANTED_NOT": "4", "OTHER": "5"}
    with Gpu(settings={"worker_env": "TOOL_* WANTED"}, env=variables) as gpu:
        pid = gpu.usable()["worker_pid"]
        with open(f"/proc/{pid}/environ") as f:
            has = dict(v.split("=", 1) for v in f.read().split("\0") if v)
        assert {k: has[k] for k in variables if k in has} == {"TOOL_ONE": "1", "TOOL_TWO": "2", "WANTED": "3"}


def test_code_of_a_later_cuda_than_the_driver_is_told():
    """A library that is named is taken, whatever the driver is: then the reason must be seen."""
    with Gpu(driver=12040) as gpu:
        assert gpu.usable()["uuid"] == "GPU-5a5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a00"
        client = gpu.talker()
        assert client.do("out = float((np.asarray(numpy.arange(10000.)) + 1).sum())") == 50005000, "by the CPU"
        assert "does not fit this device or driver" in gpu.daemon.log_text()
        assert gpu.device()["runs"] == 0 and gpu.deaths() == 0
