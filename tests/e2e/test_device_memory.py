# SPDX-License-Identifier: Apache-2.0
"""Memory of a GPU that other libraries of a client's process have: what they see, how long, what it
costs, and clients that misuse it.  The other library is programs/foreign_gpu.py."""

import contextlib
import itertools
import os
import pathlib
import signal

import pytest
import raw
from gpu import Gpu
from harness import find_standin, standin_environment, wait_until
from raw import DTYPE, Raw, Trace
from test_cuda_calls import counted

pytestmark = pytest.mark.skipif(find_standin() is None, reason="no stand-in driver was built")

PROGRAMS = pathlib.Path(__file__).parent / "programs"
E_INVALID, E_NOMEM, E_UNKNOWN, E_LIMIT, E_PROTOCOL, E_DEVICE = 1, 2, 9, 12, 13, 18
BEGIN = f"""
import sys
sys.path.insert(0, {str(PROGRAMS)!r})
import braze, braze.numpy as np, numpy, foreign_gpu as foreign, gc, os
"""
MADE = BEGIN + """
x = np.asarray(numpy.arange(50000.0))
y = x * 2
wanted = numpy.arange(50000.0) * 2
"""


def environment(**more):
    return {"BRAZE_DEVICE": "cuda:0", "BRAZE_STANDIN": "race=1",
            "BRAZE_LIBCUDA": standin_environment()["BRAZE_LIBCUDA"]} | more


def held(pid):
    """Mappings and descriptors of exported memory that a process has."""
    links = (f"/proc/{pid}/fd/{fd}" for fd in os.listdir(f"/proc/{pid}/fd"))
    names = []
    for link in links:
        with contextlib.suppress(FileNotFoundError):  # it is closed meanwhile
            names.append(os.readlink(link))
    return pathlib.Path(f"/proc/{pid}/maps").read_text().count("standin-memory-") + sum(
        "standin-memory-" in name for name in names)


@pytest.fixture(scope="module")
def gpu():
    with Gpu(race=1) as g:
        g.usable()
        yield g


def run(gpu, text, **env):
    return gpu.daemon.run(text, **environment(**env))


@pytest.mark.parametrize("seed, count, deaths", [(1, 60, 0), (2, 30, 1)])
def test_random_sequences(seed, count, deaths):
    """No byte is wrong, and nothing is left: memory and descriptors are counted."""
    with Gpu(race=1) as gpu:
        gpu.usable()
        out = gpu.daemon.run(PROGRAMS / "device_random.py", seed, count, gpu.daemon.process.pid, deaths,
                             timeout=300, **environment())
        left, worker, theirs, lost, exported, brought, carried = map(int, out.split())
        assert (left, worker, theirs) == (0, 0, 0)
        assert exported > count and brought and carried
        wait_until(lambda: gpu.device()["used_bytes"] == 0, what="the device's memory to be free")


def test_a_snapshot_where_it_lies(gpu):
    run(gpu, MADE + """
before = braze.counters()["exported"]
t = foreign.take(y)
again = foreign.take(y[10:20])
assert t.flags == 1 and t.dtype == "f8" and t.shape == (50000,) and t.strides == (8,)
assert again.shape == (10,)
y *= 3
assert (t.read() == wanted).all() and (again.read() == wanted[10:20]).all()
assert (numpy.asarray(y) == wanted * 3).all()
del y
assert (t.read() == wanted).all()
t.close(); again.close()
assert braze.counters()["exported"] - before == 2
""")


def test_only_the_first_export_copies():
    gpu = Gpu(race=1)
    path = pathlib.Path(gpu.daemon.folder) / "calls"
    gpu.daemon.env["BRAZE_STANDIN"] += f",count={path}"
    with gpu:
        gpu.usable()

        def copies():
            return counted(path).get("cuMemcpyDtoDAsync_v2", 0)

        talker = gpu.talker(**{k: v for k, v in environment().items() if k != "BRAZE_DEVICE"})
        talker.do(MADE + "t = [foreign.take(y)]")
        first = copies()
        talker.do("t += [foreign.take(y) for _ in range(5)]")
        assert first == 1 and copies() == 1
        talker.do("for one in t: one.close()")
        talker.do("c = foreign.take(y, None); c.close()")
        assert copies() == 2, "an array of its own, by a kernel, and its memory"
        down = counted(path).get("bytes down", 0)
        assert down == 0, "nothing went by the host"


def test_who_may_write_gets_a_copy(gpu):
    run(gpu, MADE + """
for kwargs in ({"version": None}, {"copy": True}, {"version": (0, 8)}):
    t = foreign.take(y, **kwargs)
    assert t.flags == (2 if t.versioned else 0)
    foreign.write(t.address, numpy.full(50000, 7.0))
    assert (t.read() == 7).all() and (numpy.asarray(y) == wanted).all()
    t.close()
try:
    y.__dlpack__(stream=1, copy=False)
except BufferError as e:
    assert "max_version" in str(e)
else:
    raise AssertionError
""")


def test_the_interface_of_cuda(gpu):
    run(gpu, MADE + """
(address, fixed), read = foreign.shown(y)
assert not fixed and (read() == wanted).all()
assert y.__cuda_array_interface__["data"][0] == address, "the same while y does not change"
y += 1
(other, _), newer = foreign.shown(y)
assert other != address and (read() == wanted).all() and (newer() == wanted + 1).all()
z = (y.reshape(500, 100) * 1).T
assert (foreign.shown(z)[1]() == (wanted + 1).reshape(500, 100).T).all()
near = np.asarray([1.0, 2.0])
assert not hasattr(near, "__cuda_array_interface__") and not hasattr(x, "__cuda_array_interface__")
assert near.__dlpack_device__() == (1, 0) and x.__dlpack_device__() == (1, 0)
""")


def test_arguments(gpu):
    run(gpu, MADE + """
def refused(kind, text, **kwargs):
    try:
        y.__dlpack__(**kwargs)
    except kind as e:
        assert text in str(e), e
    else:
        raise AssertionError(kwargs)

refused(ValueError, "ambiguous", stream=0)
refused(ValueError, "no stream", stream=-2)
refused(TypeError, "", stream="1")
refused(BufferError, "not on (2, 5)", stream=1, max_version=(1, 0), dl_device=(2, 5))
for stream in (-1, 1, 2, foreign.stream()):
    foreign.Taken(y.__dlpack__(stream=stream, max_version=(1, 0), dl_device=(2, 0))).close()
# Who says nothing of a device reads on the host, as NumPy does.
assert (numpy.from_dlpack(y) == wanted).all()
assert (numpy.asarray(y) == wanted).all()
capsule = y.__dlpack__(stream=1)
del capsule  # nobody took it
for name in ("bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"):
    a = np.asarray(numpy.arange(30000) % 2).astype(name) * np.ones(1, name)
    if a.__dlpack_device__() == (2, 0):
        t = foreign.take(a)
        assert t.dtype == numpy.dtype(name) and (t.read() == numpy.arange(30000) % 2).all(), name
        t.close()
""")


def test_what_is_taken(gpu):
    run(gpu, MADE + """
theirs = foreign.Giver(wanted)
before = braze.counters()
a = braze.asarray(theirs)
foreign.write(theirs.address, numpy.zeros(50000))
assert (numpy.asarray(a * 2) == wanted * 2).all(), "a copy"
theirs.close()
assert a.__dlpack_device__() == (2, 0) and foreign.Giver.deleted == 1
now = braze.counters()
assert (now["brought"] - before["brought"], now["carried"] - before["carried"]) == (1, 0)
theirs = foreign.Array(wanted.reshape(500, 100)[:, ::-3], foreign.stream())
assert (numpy.asarray(braze.asarray(theirs)) == wanted.reshape(500, 100)[:, ::-3]).all()
assert braze.counters()["carried"] - before["carried"] == 1, "strided: by the host"
theirs.close()
assert braze.asarray(foreign.Giver(numpy.ones((3, 4), "f4")), "f8").dtype == numpy.float64
""")


def test_from_dlpack_takes_it_as_well(gpu):
    run(gpu, MADE + """
theirs = foreign.Giver(wanted)
before = braze.counters()["brought"]
b = np.from_dlpack(theirs)
b += 1
assert (numpy.asarray(b) == wanted + 1).all()
try:
    np.from_dlpack(theirs, copy=False)
except BufferError as e:
    assert "copy=False" in str(e)
else:
    raise AssertionError
theirs.close()
assert braze.counters()["brought"] == before + 1 and foreign.Giver.deleted == 1
""")


def test_another_device_is_none_of_the_daemons(gpu):
    run(gpu, MADE + """
foreign.begin(1)
theirs, there = foreign.Array(wanted), braze.counters()
foreign.begin(0)
here = foreign.Array(wanted)
for one, way in ((theirs, "carried"), (here, "brought")):
    assert (numpy.asarray(braze.asarray(one)) == wanted).all()
    now = braze.counters()
    assert now[way] == there[way] + 1, way
nothing = type("N", (), {"__cuda_array_interface__": {**here.__cuda_array_interface__, "data": (4096, False)}})()
try:
    braze.asarray(nothing)
except braze.BrazeError as e:
    assert "GPU" in str(e)
else:
    raise AssertionError
""", BRAZE_STANDIN="race=1,devices=2")


def test_a_worker_that_dies(gpu):
    out = run(gpu, MADE + f"""
import signal, time
a = braze.asarray(foreign.Giver(wanted))  # it is nowhere else
t, u = foreign.take(a), foreign.take(y)
os.kill({gpu.device()["worker_pid"]}, signal.SIGKILL)
for _ in range(3):
    assert (t.read() == wanted).all() and (u.read() == wanted).all()
    time.sleep(0.1)
try:
    numpy.asarray(a)
except braze.LostError as e:
    print("lost", e)
assert (numpy.asarray(y + 0) == wanted).all(), "it can be made again"
assert (t.read() == wanted).all()
t.close(); u.close()
b = x * 5
for _ in range(200):
    float(b[0]); b = x * 5
    if b.__dlpack_device__() == (2, 0):
        break
    time.sleep(0.05)
t = foreign.take(b)
assert (t.read() == numpy.arange(50000.0) * 5).all()
t.close()
""")
    assert out.startswith("lost")
    gpu.usable()


def test_a_client_that_dies_holding(gpu):
    client = gpu.daemon.popen(MADE + """
keep = [foreign.take(x * k) for k in range(2, 8)]
print("held", flush=True)
sys.stdin.read()
""", **environment())
    assert client.stdout.readline() == "held\n"
    worker = gpu.device()["worker_pid"]
    assert held(worker) >= 6 and held(client.pid) >= 6
    client.send_signal(signal.SIGKILL)
    client.wait()
    wait_until(lambda: held(worker) == 0 and gpu.device()["used_bytes"] == 0, what="the memory to be free")


def test_a_daemon_that_goes():
    """Another program goes on in its place, and it is killed: what was given stays readable."""
    with Gpu(race=1) as gpu:
        gpu.usable()
        talker = gpu.talker(**{k: v for k, v in environment().items() if k != "BRAZE_DEVICE"})
        talker.do(MADE + "t = foreign.take(y); a = braze.asarray(foreign.Giver(wanted)); u = foreign.take(a)")
        gpu.daemon.ctl("drain")
        gpu.usable()
        same = "out = bool((t.read() == wanted).all() and (u.read() == wanted).all())"
        assert talker.do(same)
        assert talker.do("out = bool((numpy.asarray(a) == wanted).all() and (numpy.asarray(y) == wanted).all())")
        talker.do("z = x * 7; v = foreign.take(z); del a")
        assert talker.do("out = bool((v.read() == wanted * 3.5).all())")
        os.kill(gpu.daemon.process.pid, signal.SIGKILL)
        wait_until(lambda: gpu.daemon.process.poll() is not None, what="its end")
        assert talker.do(same)
        talker.do("t.close(); u.close(); v.close(); del z")


def test_scalars_and_explanations(gpu):
    run(gpu, MADE + """
s = y.sum()
t = foreign.take(s)
assert t.shape == () and t.read() == wanted.sum()
t.close()
assert foreign.shown(s)[1]() == wanted.sum()
a = braze.asarray(foreign.Giver(wanted))
assert braze.explain(a)
for empty in (y[:0], np.zeros((0, 3)) * 2):
    assert empty.__dlpack_device__() == (1, 0)
try:
    with braze.host(y):
        y.__dlpack_device__()
except braze.BrazeError:
    pass
else:
    raise AssertionError
""")


def test_exports_count_for_the_quota():
    with Gpu(race=1, settings={"quota_bytes": 256 << 20}) as gpu:
        gpu.usable()
        out = gpu.daemon.run(BEGIN + """
keep = []
try:
    for k in range(40):
        a = np.ones(2 << 20) * k  # 16 MiB, on the device only
        keep.append(foreign.take(a))
except MemoryError as e:
    print(len(keep), e)
n = len(keep)
keep.pop().close()
del a
gc.collect()
t = foreign.take(np.ones(1 << 20) * 2)
assert (t.read() == 2).all()
""", **environment())
        n, text = out.split(" ", 1)
        assert 4 <= int(n) <= 16 and "quota" in text


def test_a_driver_without_exports():
    with Gpu(missing="cuMemCreate") as gpu:
        gpu.usable()
        out = gpu.daemon.run(MADE + """
assert y.__dlpack_device__() == (1, 0) and not hasattr(y, "__cuda_array_interface__")
assert (numpy.from_dlpack(y) == wanted).all()
a = braze.asarray(foreign.Giver(wanted))
print(braze.counters()["carried"], (numpy.asarray(a) == wanted).all())
""", **environment())
        assert out.split() == ["1", "True"]


@pytest.mark.parametrize("rules", [
    *(f"fail={call}:1:801" for call in ("cuMemCreate", "cuMemMap", "cuMemSetAccess", "cuMemAddressReserve",
                                        "cuMemExportToShareableHandle", "cuMemcpyDtoDAsync")),
    "fail=cuMemCreate:1:2,fail=cuMemCreate:2:2"])
def test_a_call_that_fails(gpu, rules):
    """The export is refused, the array is as it was, nothing is left."""
    worker = gpu.device()["worker_pid"]
    gpu.inject(rules)
    run(gpu, MADE + """
y.__dlpack_device__()
try:
    foreign.take(y)
except (MemoryError, braze.BrazeError) as e:
    assert str(e)
else:
    raise AssertionError
t = foreign.take(y)
assert (t.read() == wanted).all() and (numpy.asarray(y) == wanted).all()
t.close()
""")
    assert gpu.device()["worker_pid"] == worker
    wait_until(lambda: held(worker) == 0 and gpu.device()["used_bytes"] == 0, what="the memory to be free")


def test_memory_that_is_short_for_a_moment(gpu):
    gpu.inject("fail=cuMemCreate:1:2")
    run(gpu, MADE + "t = foreign.take(y); assert (t.read() == wanted).all(); t.close()")


# ---- Clients that break the rules ----


def refused(connection, code):
    reply = connection.ended()
    assert reply is not None and reply.code == code and reply.text, reply and reply.text
    return reply.text


def made(c, ids=(1, 2), elements=20000):
    """Array 1 on the device, and 2, frozen."""
    trace = Trace().full(3, [elements], 2.0).op("ADD", ids[0], [3, 3]).op("PIN", ids[1], [ids[0]])
    trace.device = 3
    c.request(trace.message())
    c.request(raw.nested(4, raw.number(1, 99) + raw.column(2, "I", ids[:1]) + raw.number(6, 1)))
    assert c.receive().kind == "resolved"


def answer(c, *parts):
    c.request(*parts)
    reply, fds = c.receive_fds()
    for fd in fds:
        os.close(fd)
    return reply, len(fds)


def test_wrong_names(gpu):
    for ask, code in ((raw.export(1, 77), E_UNKNOWN), (raw.export(1, 0), E_UNKNOWN),
                      (raw.export(1, 1), E_PROTOCOL), (raw.export(1, 77, look=1), E_UNKNOWN),
                      (raw.export(1, 1, room=9, dtype=DTYPE["FLOAT64"], shape=[4], device="cuda:0"), E_PROTOCOL),
                      (raw.export(1, 9, room=2, dtype=DTYPE["FLOAT64"], shape=[4], device="cuda:0"), E_PROTOCOL),
                      (raw.export(1, 9, room=9, dtype=DTYPE["FLOAT64"], shape=[4], device="cuda:0"), E_PROTOCOL)):
        with Raw(gpu.daemon.socket) as c:
            made(c)
            c.request(ask)
            refused(c, code)
    with Raw(gpu.daemon.socket) as c:
        made(c)
        reply, fds = answer(c, raw.export(5, 2))
        assert reply.kind == "exported" and fds == 1 and reply.fields[3] == [b"cuda:0"]
    wait_until(lambda: gpu.device()["used_bytes"] == 0, what="the memory to be free")


def test_room_that_cannot_be(gpu):
    with Raw(gpu.daemon.socket) as c:
        for dtype, shape, device in ((99, [4], "cuda:0"), (DTYPE["FLOAT64"], [-1], "cuda:0"),
                                     (DTYPE["FLOAT64"], [0], "cuda:0"), (DTYPE["FLOAT64"], [1 << 62], "cuda:0"),
                                     (DTYPE["FLOAT64"], [4] * 9, "cuda:0"), (DTYPE["FLOAT64"], [4], "cpu"),
                                     (DTYPE["FLOAT64"], [4], "nothing"), (DTYPE["FLOAT64"], [1 << 31], "cuda:0")):
            reply, fds = answer(c, raw.export(7, 8, room=9, dtype=dtype, shape=shape, device=device))
            assert reply.kind == "failure" and reply.ticket == 7 and reply.text and not fds, (shape, device)
        c.request(raw.export(7, 8, room=9, dtype=DTYPE["FLOAT64"], shape=[4], device="cuda:0"))
        reply, (fd,) = c.receive_fds()
        size, = reply.fields[2]
        assert reply.kind == "exported" and size >= 2 << 20
        # What was another client's is not seen: the stand-in's fresh memory is 0xa5.
        assert os.pread(fd, size + 1, 0) == bytes(size)
        os.close(fd)
        (code, _, _), = c.read(8, 9).extents()
        assert code == 0


def test_too_many_exports(gpu):
    with Raw(gpu.daemon.socket) as c:
        made(c)
        trace = Trace()
        for k in range(10, 1100):
            trace.op("PIN", k, [1])
            if len(trace.head) == 500:
                c.request(trace.message())
                trace = Trace()
        c.request(trace.message())
        taken = 0
        for k in itertools.count(10):
            reply, fds = answer(c, raw.export(k, k))
            if reply.kind == "failure":
                break
            assert fds == 1
            taken += 1
        assert taken == 1024 and reply.code == E_LIMIT and "1024" in reply.text
        c.request(Trace().drop(10, 11).message())
        assert answer(c, raw.export(1, 1090))[0].kind == "exported"
        with Raw(gpu.daemon.socket) as other:
            made(other)
            assert answer(other, raw.export(5, 2))[0].kind == "exported", "others have theirs"


def test_questions_and_then_gone(gpu):
    """Connections that end with exports unanswered: nothing is left of them."""
    worker = gpu.device()["worker_pid"]
    for k in range(20):
        with Raw(gpu.daemon.socket) as c:
            made(c)
            c.request(raw.export(5, 2))
            if k % 2:
                c.request(Trace().drop(1, 2).message())
            if k % 3 == 0:
                c.request(raw.export(6, 8, room=9, dtype=DTYPE["FLOAT64"], shape=[5000], device="cuda:0"))
    wait_until(lambda: held(worker) == 0 and gpu.device()["used_bytes"] == 0, what="the memory to be free")
    assert gpu.device()["worker_pid"] == worker
