# SPDX-License-Identifier: Apache-2.0
"""brazectl drain: another program goes on in the daemon's process, and nobody loses anything."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
from collections import Counter

import pytest
import raw
from gpu import Gpu, Refused
from harness import (Daemon, alive, children, fetch, find_daemon, find_standin, finish, kill9,
                     standin_environment, wait_until)


def drain(daemon, *arguments, good=True):
    """By brazectl; what it said.  On a machine that is busy with others' work it may be refused
    for being late: nothing has happened then, and it is asked again."""
    for _ in range(10):
        done = daemon.ctl("drain", *arguments)
        if not good or "try again" not in done.stderr:
            break
    assert (done.returncode == 0) == good, done.stdout + done.stderr + daemon.log_text()[-3000:]
    return done.stdout if good else done.stderr


def none_more(pid, before):
    """Has it no more open than it had?  A page of the status socket may have been under way then."""
    return not Counter(descriptors(pid)) - Counter(before)


def descriptors(pid):
    """What a process has open, by kind: pages of the status socket come and go."""
    found = []
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.append(os.readlink(fd).split(":")[0])
        except FileNotFoundError:
            pass
    return found


ARRAYS = """
import numpy, sys, braze, braze.numpy as np
rng = numpy.random.default_rng(7)
want, have = {}, {}
want["imported"] = rng.standard_normal(50_000)
have["imported"] = np.asarray(want["imported"])
want["stored"] = want["imported"] * 2 + 1
have["stored"] = have["imported"] * 2 + 1
braze.wait(have["stored"])
want["view"] = want["stored"][100:40_000:3][::-1]
have["view"] = have["stored"][100:40_000:3][::-1]
want["snapshot"] = want["stored"].copy()
have["snapshot"] = have["stored"].copy()
have["stored"][5:500] = 3; want["stored"][5:500] = 3
want["pending"] = numpy.sin(want["stored"]).reshape(250, 200).sum(axis=0)
have["pending"] = np.sin(have["stored"]).reshape(250, 200).sum(axis=0)
whole = rng.integers(-9, 9, (500, 100)).astype(float)  # exact in any order
want["matrix"] = whole.T @ whole
have["matrix"] = np.asarray(whole).T @ np.asarray(whole)
for name, d in (("i8", "int8"), ("u64", "uint64"), ("c128", "complex128"), ("b", "bool")):
    want[name] = rng.integers(0, 2, 999).astype(d)
    have[name] = np.asarray(want[name]) | np.asarray(want[name]) if d != "complex128" \\
        else np.asarray(want[name]) + 0
have["empty"], want["empty"] = np.zeros((0, 3)), numpy.zeros((0, 3))
have["none"], want["none"] = np.float64(2) + np.zeros(()), numpy.float64(2) + numpy.zeros(())
x = np.ones(3) + 1
braze.wait(x)  # what is recorded is sent with it
print("ready", flush=True)
for line in sys.stdin:
    if line == "end\\n":
        break
    print("ready", flush=True)
for name in want:
    got = numpy.asarray(have[name])
    assert got.dtype == want[name].dtype and got.shape == want[name].shape, name
    numpy.testing.assert_allclose(got, want[name], rtol=1e-12, err_msg=name)
have["view"][:7] = -1; want["view"][:7] = -1
numpy.testing.assert_array_equal(numpy.asarray(have["stored"]), want["stored"])
more = np.asarray(want["imported"]) + have["snapshot"]
numpy.testing.assert_array_equal(numpy.asarray(more), want["imported"] + want["snapshot"])
print("good")
"""


def test_arrays_views_snapshots_and_pending_work_stay(daemon):
    client = daemon.popen(ARRAYS, BRAZE_NO_START="1")
    assert client.stdout.readline() == "ready\n"
    before = {k: v for k, v in daemon.clients()[0].items() if k not in ("age_seconds", "doing")}
    said = drain(daemon)
    assert "goes on with 1 clients" in said
    after = daemon.clients()[0]
    for key in ("session", "pid", "uid", "name", "program", "arrays", "pending", "ops", "near",
                "bytes", "peak_bytes", "demands", "device_seconds"):
        assert after[key] == before[key], key
    assert before["device_seconds"] > 0
    assert before["pending"] > 0 and before["arrays"] > 10
    assert finish_with(client, "end\n") == "good\n"
    assert alive(daemon.pid) and daemon.status()["pid"] == daemon.pid


def finish_with(client, text):
    out, err = client.communicate(text, timeout=120)
    assert client.returncode == 0, out + err
    return out


def ten_in_a_row(daemon, client):
    """Drains, with the client at work behind each; what the daemon had open before them."""
    drain(daemon)
    wait_until(daemon.worker, 20, "a worker")
    before = sorted(descriptors(daemon.pid))
    for _ in range(10):
        drain(daemon)
        client.stdin.write("more\n")
        client.stdin.flush()
        assert client.stdout.readline() == "ready\n"
    wait_until(daemon.worker, 20, "a worker")
    return before


def test_ten_in_a_row_leak_nothing(daemon):
    client = daemon.popen(ARRAYS, BRAZE_NO_START="1")
    assert client.stdout.readline() == "ready\n"
    before = ten_in_a_row(daemon, client)
    wait_until(lambda: none_more(daemon.pid, before), 20, "the same descriptors")
    assert daemon.status()["takeovers"]["count"] == 11
    # Workers and helpers of the programs before have ended, and were waited for.
    for child in children(daemon.pid):
        assert alive(child), "a zombie was left"
    assert finish_with(client, "end\n") == "good\n"


def test_who_comes_meanwhile_waits_and_is_served(daemon):
    drain(daemon)
    clients = [daemon.popen("import braze.numpy as np; print(float(np.ones(1000).sum()))",
                            BRAZE_NO_START="1") for _ in range(3)]
    drain(daemon)
    for c in clients:
        assert finish(c) == "1000.0\n"


LOAD = """
import sys, time, numpy, braze, braze.numpy as np
seed = int(sys.argv[1])
rng = numpy.random.default_rng(seed)
kept = [(np.asarray(v), v) for v in (rng.standard_normal(20_000) for _ in range(30))]
turns = 0; worst = 0; last = time.monotonic()
print("ready", flush=True)
import threading
over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), over.set()), daemon=True).start()
while not over.is_set():
    i, j = (int(k) for k in rng.integers(0, len(kept), 2))
    (a, wa), (b, wb) = kept[i], kept[j]
    y, wy = a * 2 + b, wa * 2 + wb
    y[: 100 + turns % 50] = turns; wy[: 100 + turns % 50] = turns
    kept[i] = (y / 3, wy / 3)
    if turns % 3 == 0:
        numpy.testing.assert_array_equal(numpy.asarray(kept[i][0][::7]), kept[i][1][::7])
    if turns % 11 == 0:
        s = float(np.maximum(y, b).max())
        assert s == float(numpy.maximum(wy, wb).max())
    now = time.monotonic(); worst = max(worst, now - last); last = now
    turns += 1
for a, w in kept:
    numpy.testing.assert_array_equal(numpy.asarray(a), w)
print("turns", turns, "worst", worst)
"""


def test_four_clients_at_work_notice_a_pause_only(daemon):
    clients = [daemon.popen(LOAD, n, BRAZE_NO_START="1") for n in range(4)]
    for c in clients:
        assert c.stdout.readline() == "ready\n"
    sessions = {row["session"] for row in daemon.clients()}
    for n in range(5):
        time.sleep(0.3)
        drain(daemon)
    assert {row["session"] for row in daemon.clients()} == sessions
    for c in clients:
        assert finish_with(c, "over\n").startswith("turns")
    assert daemon.status()["worker_deaths_count"] == 0


LONG = """
import braze, braze.numpy as np
x = np.ones(1_000_000)
y = x
for _ in range(300): y = np.sin(y) + np.cos(y)
print('ready', flush=True)
print(round(float(y.sum()) / 1_000_000, 9))
"""


def test_open_waits_and_running_jobs_go_over(daemon):
    want = daemon.run(LONG).split()[1]
    client = daemon.popen(LONG, BRAZE_NO_START="1")
    assert client.stdout.readline() == "ready\n"
    for n in range(2):
        wait_until(lambda: daemon.status()["jobs_in_flight_count"] or client.poll() is not None,
                   60, "work")
        drain(daemon)
    assert finish(client).strip() == want


def test_replies_that_nobody_took_yet_go_over(daemon):
    """A client that does not read has replies in the daemon; they come in their order."""
    with raw.Raw(daemon.socket) as client:
        trace = raw.Trace().full(1, [8])
        client.request(trace.message())
        client.socket.settimeout(1)
        sent = 0
        with pytest.raises(TimeoutError):  # its replies are not read, so nothing is from it
            while sent < 100_000:
                client.request(raw.explain(sent + 1, 1))
                sent += 1
        client.seq -= 1
        client.socket.settimeout(60)
        drain(daemon)
        tickets = [client.receive().ticket for _ in range(sent)]
        assert tickets == list(range(1, sent + 1)) and sent > 20
        assert client.read(200_000, 1).kind == "resolved"


def test_who_has_said_nothing_yet_goes_over(daemon):
    with raw.Raw(daemon.socket, greet=False) as client:
        wait_until(lambda: daemon.status()["clients_count"] == 1, 20, "a connection")
        drain(daemon)
        client.request(raw.hello())
        assert client.receive().kind == "welcome"
        client.request(raw.Trace().full(1, [3]).message())
        assert client.read(1, 1).kind == "resolved"


def script(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o700)
    return str(path)


def test_a_program_that_cannot_take_over_changes_nothing(daemon, tmp_path):
    client = daemon.popen(ARRAYS, BRAZE_NO_START="1")
    assert client.stdout.readline() == "ready\n"
    before = sorted(descriptors(daemon.pid))
    for text, words in (("echo too old; exit 3", "cannot take over: too old"),
                        ("exit 1", "without a word"), ("kill -9 $$", "without a word")):
        said = drain(daemon, "--binary", script(tmp_path / "other", text), good=False)
        assert words in said and "goes on as it was" in said
    said = drain(daemon, "--binary", "/etc/passwd", good=False)
    assert "no program" in said
    assert "No such file" in drain(daemon, "--binary", str(tmp_path / "none"), good=False)
    wait_until(lambda: none_more(daemon.pid, before), 20, "the same descriptors")
    status = daemon.status()["takeovers"]
    assert (status["count"], status["refused"]) == (0, 3)
    assert finish_with(client, "end\n") == "good\n"


def test_a_program_that_is_gone_at_the_last_moment(daemon, tmp_path):
    """What can take over, but is not there when it is to: the old one goes on from its own state."""
    client = daemon.popen(ARRAYS, BRAZE_NO_START="1")
    assert client.stdout.readline() == "ready\n"
    other = tmp_path / "other"
    script(other, f'rm {other}; exec {find_daemon()} "$@"')
    drain(daemon, "--binary", str(other))
    assert "cannot execute" in daemon.log_text()
    assert finish_with(client, "end\n") == "good\n"


def test_settings_that_do_not_fit_are_refused(tmp_path):
    conf = tmp_path / "brazed.conf"
    conf.write_text("log = info\n")
    with Daemon("-f", str(conf)) as daemon:
        client = daemon.popen(ARRAYS, BRAZE_NO_START="1")
        assert client.stdout.readline() == "ready\n"
        conf.write_text("log = chatty\n")
        assert "log = chatty" in drain(daemon, good=False)
        conf.write_text("log = debug\n")
        drain(daemon)
        wait_until(lambda: " debug " in daemon.log_text(), 20, "the new setting")
        assert finish_with(client, "end\n") == "good\n"


def test_a_newer_version_goes_on(tmp_path):
    """The file that the daemon was started from is replaced, as a package's upgrade does it."""
    own = shutil.copytree(pathlib.Path(find_daemon()).parent, tmp_path / "bin", symlinks=True)
    program = own / "brazed"
    daemon = Daemon()
    os.environ["BRAZED"], before = str(program), os.environ.get("BRAZED")
    try:
        daemon.start()
        version = daemon.status()["version"]
        client = daemon.popen(ARRAYS, BRAZE_NO_START="1")
        assert client.stdout.readline() == "ready\n"
        newer = "9" + version[1:]
        data = program.read_bytes()
        assert data.count(version.encode() + b"\0")
        (own / "next").write_bytes(data.replace(version.encode() + b"\0",
                                                newer.encode() + b"\0"))
        (own / "next").chmod(0o755)
        (own / "next").rename(program)
        # Who connects is told of it.
        told = daemon.popen("import braze.numpy as np; np.ones(3)", BRAZE_NO_START="1")
        out, err = told.communicate(timeout=60)
        assert told.returncode == 0 and "brazectl drain" in err, err
        assert f"brazed {newer} goes on" in drain(daemon)
        assert daemon.status()["version"] == newer
        told = daemon.popen("import braze.numpy as np; np.ones(3)", BRAZE_NO_START="1")
        out, err = told.communicate(timeout=60)
        assert told.returncode == 0 and "brazectl drain" not in err, err
        assert finish_with(client, "end\n") == "good\n"
    finally:
        if before is None:
            del os.environ["BRAZED"]
        else:
            os.environ["BRAZED"] = before
        daemon.close()


def test_signals_at_any_moment(daemon):
    """A reload during it is heard, an end ends; nobody is left over."""
    client = daemon.popen(ARRAYS, BRAZE_NO_START="1")
    assert client.stdout.readline() == "ready\n"
    for n in range(8):
        assert fetch(daemon.status_socket, "/drain", "POST")[0] == 200
        until = time.monotonic() + 0.02 * n
        while time.monotonic() < until:
            pass
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: answers(daemon) == n + 1, 60, "the next program")
        assert daemon.process.poll() is None
    wait_until(lambda: daemon.log_text().count("read its settings") == 8, 20, "all reloads")
    assert fetch(daemon.status_socket, "/drain", "POST")[0] == 200
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.process.wait(30) == 0


def answers(daemon):
    try:
        code, text = fetch(daemon.status_socket, "/status")
        return json.loads(text)["takeovers"]["count"] if code == 200 else -1
    except (OSError, ValueError, EOFError):
        return -1


def test_only_its_user_may(daemon):
    code, text = fetch(daemon.status_socket, "/drain")
    assert code == 404
    code, text = fetch(daemon.status_socket, "/drain?binary=relative", "POST")
    assert code == 409 and "whole path" in text


def test_a_state_that_is_none_is_refused(tmp_path):
    for content in (b"", b"braze-ho", os.urandom(4096)):
        fd = os.memfd_create("state", os.MFD_ALLOW_SEALING)
        try:
            os.write(fd, content)
            for option in ("--can-take-over", "--take-over"):
                done = subprocess.run(
                    [find_daemon(), option, str(fd), "-S", str(tmp_path / "s.sock"),
                     "-ocache_dir=none"], pass_fds=[fd], capture_output=True, text=True,
                    timeout=60)
                assert done.returncode == 1 and "memory file" in done.stderr, done.stderr
        finally:
            os.close(fd)


needs_standin = pytest.mark.skipif(find_standin() is None, reason="no stand-in driver was built")


ONLY_THERE = "y = np.full((2, 1 << 17), 3.0).sum(axis=0); float(y.sum())"


@needs_standin
def test_what_lies_on_a_gpu_only_comes_home():
    with Gpu() as gpu:
        gpu.usable()
        talker = gpu.talker()
        talker.do("x = np.asarray(numpy.arange(50000.)); z = np.cumsum(x) * 2; float(z[7])")
        talker.do("w = x + 1; float(w.sum())")
        talker.do(ONLY_THERE)
        assert gpu.device()["used_bytes"] > 0
        drain(gpu.daemon)
        gpu.usable()
        assert talker.do("out = [numpy.array_equal(z, numpy.cumsum(numpy.arange(50000.)) * 2), "
                         "numpy.array_equal(w, numpy.arange(50000.) + 1)]") == [True, True]
        assert talker.do("out = (float(y[9]), float(y.sum()))") == [6, 6 << 17]
        assert talker.do("out = float((z + w).sum())") == talker.do(
            "out = float((numpy.asarray(z) + numpy.asarray(w)).sum())")
        assert gpu.daemon.status()["device_lost_arrays"] == 0


@needs_standin
def test_what_went_down_with_a_gpu_has_failed_on_the_other_side_too():
    with Gpu() as gpu:
        gpu.usable()
        talker = gpu.talker()
        talker.do("x = np.asarray(numpy.arange(50000.)); " + ONLY_THERE)
        kill9(gpu.device()["worker_pid"])
        wait_until(gpu.deaths, 20, "a death")
        drain(gpu.daemon)
        with pytest.raises(Refused, match="lost"):
            talker.do("out = float(y.sum())")
        assert talker.do("out = float(x.sum())") == 50000 * 49999 / 2


@needs_standin
def test_a_device_that_clients_know_must_be_there(tmp_path):
    conf = tmp_path / "brazed.conf"
    conf.write_text("device = cpu,cuda:0\n")
    env = {**standin_environment(), "BRAZE_DEVICE": ""}
    with Daemon("-f", str(conf), env=env) as daemon:
        client = daemon.popen(ARRAYS, BRAZE_NO_START="1")
        assert client.stdout.readline() == "ready\n"
        conf.write_text("device = cpu\n")
        assert "told of the device cuda:0" in drain(daemon, good=False)
        conf.write_text("device = cpu,cuda:0,cuda:1\n")
        drain(daemon)
        assert len(daemon.status()["devices"]) == 3
        assert finish_with(client, "end\n") == "good\n"


def test_a_shorter_table_of_operations_is_served(daemon):
    """Operations are only added: what a client does not know makes it no stranger."""
    whole = max(wire for wire, _ in raw.OP.values()) + 1
    for below in (whole, whole - 1, 200):
        with raw.Raw(daemon.socket, greet=False) as client:
            client.request(raw.hello(table=raw.op_table_hash(below), ops=below))
            assert client.receive().kind == "welcome"
            client.request(raw.Trace().full(1, [3]).message())
            assert client.read(1, 1).kind == "resolved"
    for below, table, words in ((whole + 1, raw.op_table_hash(), "brazectl drain"),
                                (whole - 1, raw.op_table_hash(), "matching versions")):
        with raw.Raw(daemon.socket, greet=False) as client:
            client.request(raw.hello(table=table, ops=below))
            assert words in client.ended().text


@pytest.mark.long
def test_random_programs_drained_every_300_ms(daemon):
    clients = [daemon.popen(LOAD, 100 + n, BRAZE_NO_START="1") for n in range(4)]
    for c in clients:
        assert c.stdout.readline() == "ready\n"
    until = time.monotonic() + 60
    n = 0
    while time.monotonic() < until:
        time.sleep(0.3)
        drain(daemon)
        n += 1
    assert n >= 20
    for c in clients:
        assert finish_with(c, "over\n").startswith("turns")
