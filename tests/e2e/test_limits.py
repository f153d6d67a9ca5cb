# SPDX-License-Identifier: Apache-2.0
"""Who may have how much: weights, limits and what operators do, with who did it."""

import contextlib
import json
import os
import pathlib
import re
import select
import signal
import threading
import time

import pytest
from harness import Daemon, fetch, wait_until
from raw import Raw, Trace, compile_text, demand, hello, lease

E_NOMEM, E_LIMIT, E_CANCELLED = 11, 12, 19
MIB = 1 << 20
OTHER = 65534  # a user who is not this one


@contextlib.contextmanager
def limited(rules="", **settings):
    """A daemon with these sections in its brazed.conf."""
    daemon = Daemon("-f", "PLACE", **settings)
    conf = pathlib.Path(daemon.folder) / "brazed.conf"
    daemon.arguments[1] = str(conf)
    daemon.conf = conf
    conf.write_text(rules)
    with daemon:
        yield daemon


def connect(daemon, name, uid=None):
    """A client of this name; of another user where a uid is given, which needs root."""
    client = Raw.__new__(Raw)
    if uid is not None:
        os.chmod(daemon.folder, 0o755)
        os.chmod(daemon.socket, 0o666)
        os.seteuid(uid)  # the kernel tells the daemon who connects by this
    try:
        client.__init__(daemon.socket, greet=False)
    finally:
        if uid is not None:
            os.seteuid(0)
    client.request(hello(name=name))
    client.welcome = client.receive()
    client.session = client.welcome.fields[3][0]
    return client


def answers(client, seconds=0.3):
    """Is there an answer soon?"""
    return bool(select.select([client.socket], [], [], seconds)[0])


def fill(client, ticket, array, mib):
    """Ask for an array of so many MiB."""
    client.request(Trace().full(array, [mib * MIB // 8]).message(), demand(ticket, array))


def row(daemon, session):
    users = daemon.get("/limits")["users"]
    return next(s for u in users for s in u["sessions"] if s["session"] == session)


class Heavy(threading.Thread):
    """A client that asks for more than the devices can do: the next before the last is there."""

    def __init__(self, client):
        super().__init__(daemon=True)
        self.client, self.failed, self.ends = client, [], False
        client.request(Trace().full(1, [MIB], 0.5).message())
        self.start()

    def ask(self, ticket):
        trace, last = Trace(), 1
        for i in range(24):
            trace.op("SIN", 10 + i, [last])
            last = 10 + i
        self.client.request(trace.op("ADD", 100 + ticket % 16, [last, 1]).drop(*range(10, 34)).message(),
                            demand(ticket, 100 + ticket % 16))

    def run(self):
        for ticket in range(3):
            self.ask(ticket)
        ticket = 3
        while not self.ends:
            reply = self.client.receive()
            if reply is None:
                return
            if reply.kind != "resolved":
                self.failed.append(reply.text)
                return
            self.client.request(Trace().drop(100 + reply.ticket % 16).message())
            self.ask(ticket)
            ticket += 1

    def end(self):
        self.ends = True
        self.join(20)
        self.client.socket.close()
        assert not self.failed, self.failed


def shares(daemon, heavies, wanted, error=0.05):
    """Device times come to be in these proportions, by 5 %.  It takes as long as the packets are that
    the machine's other load makes long."""
    def look():
        times = {c["session"]: c["device_seconds"] for c in daemon.clients()}
        return [times[h.client.session] for h in heavies]

    def near():
        had = [b - a for a, b in zip(before, look())]
        return sum(had) > 2 and all(abs(h / sum(had) * sum(wanted) / w - 1) < error
                                    for h, w in zip(had, wanted))

    wait_until(lambda: all(look()), 20)
    before = look()
    wait_until(near, 40, f"device time {wanted}")


def test_weights_are_shares_of_device_time():
    with limited("[session twice]\nweight = 3\n", threads=2) as daemon:
        heavies = [Heavy(connect(daemon, name)) for name in ("once", "twice")]
        shares(daemon, heavies, (1, 3))
        # By brazectl, from now on: the other way round.
        first, second = (str(h.client.session) for h in heavies)
        assert daemon.ctl("limit", f"session:{first}", "weight=9").returncode == 0
        shares(daemon, heavies, (3, 1))
        for heavy in heavies:
            heavy.end()
        wait_until(lambda: daemon.status()["clients_count"] == 0)
        user, = daemon.get("/limits")["users"]
        total = daemon.status()["device_busy_seconds"]
        assert user["device_seconds"] == pytest.approx(total, rel=0.001)  # also of those who left


def test_sessions_device_times_are_the_devices():
    with limited(threads=2) as daemon:
        heavies = [Heavy(connect(daemon, name)) for name in "abc"]
        wait_until(lambda: daemon.status()["device_busy_seconds"] > 1)
        for heavy in heavies:
            assert daemon.ctl("pause", str(heavy.client.session)).returncode == 0
        # What has been sent ends.
        total = wait_until(lambda: (a := daemon.status()["device_busy_seconds"])
                           == (time.sleep(0.2) or daemon.status()["device_busy_seconds"]) and a)
        assert sum(c["device_seconds"] for c in daemon.clients()) == pytest.approx(total, rel=0.02)
        for heavy in heavies:
            assert daemon.ctl("kill", str(heavy.client.session)).returncode == 0
            heavy.join(20)
            heavy.client.socket.close()


def test_a_user_has_a_share_whatever_the_number_of_sessions():
    if os.geteuid():
        pytest.skip("only root can be somebody else")
    with limited(f"[user {OTHER}]\nweight = 2\n", threads=2) as daemon:
        heavies = [Heavy(connect(daemon, "mine")) for _ in range(3)]
        heavies.append(Heavy(connect(daemon, "theirs", OTHER)))
        shares(daemon, heavies, (1, 1, 1, 6), 0.08)
        for heavy in heavies:
            heavy.end()


# ---- Limits ----

def test_queue():
    rules = f"[session small]\nqueue = 2\n[user {os.geteuid()}]\nqueue = 6\n"
    with limited(rules) as daemon:
        small, large, third = (connect(daemon, name) for name in ("small", "large", "third"))
        for client in (small, large):
            assert daemon.ctl("pause", str(client.session)).returncode == 0
            client.request(Trace().full(1, [5]).message())
        for ticket in range(3):
            small.request(demand(ticket, 1))
        reply = small.receive()
        assert (reply.kind, reply.ticket, reply.code) == ("failure", 2, E_LIMIT)
        assert f"queue = 2 of session {small.session} (small)" in reply.text
        # Six of one user: two are small's, so that large has room for four.
        for ticket in range(5):
            large.request(demand(ticket, 1))
        reply = large.receive()
        assert (reply.kind, reply.ticket, reply.code) == ("failure", 4, E_LIMIT)
        assert f"queue = 6 of user {os.geteuid()}, held by {large.session} large" in reply.text
        assert f"{small.session} small (pid {os.getpid()}) 2" in reply.text
        # A third is not locked out: half an even share is its own.
        assert third.request(Trace().full(1, [3]).message()) is None
        assert third.read(1, 1).kind == "resolved"
        for client in (small, large):
            daemon.ctl("resume", str(client.session))
        assert sorted(small.receive().ticket for _ in range(2)) == [0, 1]
        assert sorted(large.receive().ticket for _ in range(4)) == [0, 1, 2, 3]
        assert small.read(9, 1).kind == "resolved"  # nothing was lost


def test_pending_is_met_by_not_reading_on():
    """Who records more than it may, while nothing of it runs, is not read from; nothing is lost."""
    with limited("[session much]\npending = 4096\n") as daemon:
        client = connect(daemon, "much")
        daemon.ctl("pause", str(client.session))
        sent = threading.Thread(target=lambda: [
            client.request(adds(1000 * i, 1000).message()) for i in range(40)], daemon=True)
        client.request(Trace().full(1, [5]).message())
        sent.start()
        wait_until(lambda: row(daemon, client.session)["pending"] >= 1024)
        assert not answers(client)
        assert row(daemon, client.session)["pending"] <= 4096
        daemon.ctl("resume", str(client.session))
        sent.join(30)
        assert client.read(1, 2).kind == "resolved"


def adds(begin, n):
    """x = x + x, as a program's loop would have it, into the next names."""
    trace = Trace()
    for i in range(begin, begin + n):
        trace.op("ADD", 2 + i, [1, 1])
    return trace


def test_pending_without_room_ends_the_connection():
    with limited("[session much]\npending = 4096\nbytes = 1M\n") as daemon, \
            Raw(daemon.socket) as other:
        client = connect(daemon, "much")
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for i in range(8):
                trace = Trace()
                for k in range(1000):
                    trace.full(1 + 1000 * i + k, [MIB])
                client.request(trace.message())
        goodbye = client.ended()
        assert goodbye.code == E_LIMIT
        assert f"pending = 4096 of session {client.session} (much)" in goodbye.text
        other.request(Trace().full(1, [5]).message())
        assert other.read(1, 1).kind == "resolved"


def test_bytes():
    # A connection begins with 64 MiB for its data, or a quarter of what it may have.
    rules = f"[session small]\nbytes = 8M\n[user {os.geteuid()}]\nbytes = 400M\n"
    with limited(rules) as daemon:
        small, large, third = (connect(daemon, name) for name in ("small", "large", "third"))
        assert small.welcome.fields[6] == [2 * MIB]
        fill(small, 1, 1, 4)
        assert small.receive().kind == "resolved"
        fill(small, 2, 2, 4)
        reply = small.receive()
        assert (reply.kind, reply.code) == ("failure", E_NOMEM)
        assert f"bytes = 8M of session {small.session} (small)" in reply.text, reply.text
        fill(large, 1, 1, 16)
        assert large.receive().kind == "resolved"
        fill(large, 2, 2, 300)
        reply = large.receive()
        assert (reply.kind, reply.code) == ("failure", E_NOMEM)
        assert f"bytes = 400M of user {os.geteuid()}, held by {large.session} large" in reply.text, reply.text
        third.request(lease(1, 300 * MIB))
        reply = third.receive()
        assert (reply.kind, reply.code) == ("failure", E_NOMEM)
        assert "bytes = 400M of user" in reply.text, reply.text
        assert large.read(3, 1).kind == "resolved"


def test_messages_name_no_other_user():
    if os.geteuid():
        pytest.skip("only root can be somebody else")
    with limited("[user *]\nqueue = 2\n") as daemon:
        mine, theirs = connect(daemon, "mine"), connect(daemon, "theirs", OTHER)
        for client in (mine, theirs):
            daemon.ctl("pause", str(client.session))
            client.request(Trace().full(1, [5]).message())
            for ticket in range(3):
                client.request(demand(ticket, 1))
        one, two = mine.receive(), theirs.receive()
        assert one.code == two.code == E_LIMIT
        assert "mine" in one.text and "theirs" not in one.text and "user 0" in one.text
        assert "theirs" in two.text and "mine" not in two.text and f"user {OTHER}" in two.text


# The compiler has work for a moment.
KERNEL = "kernel f(inout x: float64[:]) { for i in 0..len(x) { %s } }" % (
    "x[i] = sqrt(x[i]) * x[i] + @;" * 40)


def kernel(number):
    """A kernel in braze's language, as no other."""
    return KERNEL.replace("@", str(number)).encode()


def test_compile_seconds():
    with limited("[session much]\ncompile_seconds = 1\n") as daemon, Raw(daemon.socket) as other:
        client = connect(daemon, "much")
        reply = None
        for ticket in range(200):
            client.request(compile_text(ticket, kernel(ticket)))
            reply = client.receive()
            if reply.kind == "failure":
                break
        assert reply.kind == "failure" and reply.code == E_LIMIT, getattr(reply, "text", reply.kind)
        assert f"compile_seconds = 1 of session {client.session} (much)" in reply.text
        # The last one that began may take what it takes.
        longest = max(k["compile_seconds"] for k in daemon.kernels())
        assert 0.9 < row(daemon, client.session)["compile_seconds"] < 1 + longest
        # What it computes is interpreted, and right; others' kernels are compiled.
        for i in range(8):
            client.request(Trace().full(1, [1000], 2.0).op("SQUARE", 2, [1]).op("SQRT", 3, [2]).message())
            assert client.read(300 + i, 3).kind == "resolved"
            client.request(Trace().drop(1, 2, 3).message())
        other.request(compile_text(1, kernel(100_000)))
        assert other.receive().kind == "compiled"
        page = wait_until(lambda: next((page for k in daemon.kernels() if (
            page := daemon.get(f"/kernels/{k['id']}"))["error"].startswith("not compiled: over the limit")), None))
        assert page["state"] == "absent" and "compile_seconds = 1 of session" in page["error"]
        # Who has time left has it compiled.
        other.request(Trace().full(1, [1000], 2.0).op("SQUARE", 2, [1]).op("SQRT", 3, [2]).message())
        assert other.read(2, 3).kind == "resolved"
        wait_until(lambda: (now := daemon.get(f"/kernels/{page['id']}"))["state"] == "ready" and not now["error"])


# ---- Operators ----

def test_pause_and_resume(daemon):
    client, other = connect(daemon, "train"), connect(daemon, "other")
    assert daemon.ctl("pause", str(client.session)).returncode == 0
    client.request(Trace().full(1, [5]).message(), demand(1, 1))
    assert not answers(client)
    other.request(Trace().full(1, [5]).message())
    assert other.read(1, 1).kind == "resolved"
    shown = {c["session"]: c for c in daemon.clients()}
    assert shown[client.session]["paused"] and not shown[other.session]["paused"]
    assert shown[client.session]["doing"].startswith("paused by ")
    assert f"uid {os.geteuid()}" in shown[client.session]["doing"]
    assert daemon.ctl("resume", str(client.session)).returncode == 0
    assert client.receive().ticket == 1


def test_what_operators_said_goes_over_to_another_program(daemon):
    client, other = connect(daemon, "train"), connect(daemon, "other")
    assert daemon.ctl("limit", "session:train", "weight=3", "queue=2").returncode == 0
    assert daemon.ctl("limit", f"user:{os.geteuid()}", "bytes=4G").returncode == 0
    assert daemon.ctl("pause", str(client.session)).returncode == 0
    client.request(Trace().full(1, [5]).message(), demand(1, 1))
    wait_until(lambda: any(c["queue"] for c in daemon.clients()))
    before = daemon.get("/limits")["rules"]
    done = daemon.ctl("drain")
    assert done.returncode == 0, done.stdout + done.stderr
    assert daemon.get("/limits")["rules"] == before and len(before) == 2
    limits = row(daemon, client.session)["limits"]
    assert limits["weight"] == 3 and limits["queue"] == 2
    assert not answers(client)
    shown = {c["session"]: c for c in daemon.clients()}
    assert shown[client.session]["doing"].startswith("paused by ") and not shown[other.session]["paused"]
    other.request(Trace().full(1, [5]).message())
    assert other.read(1, 1).kind == "resolved"
    assert daemon.ctl("resume", str(client.session)).returncode == 0
    assert client.receive().ticket == 1


def test_compilers_do_not_wait_for_a_paused_session(daemon):
    """They let jobs end first that are about to: its are not."""
    client, other = connect(daemon, "train"), connect(daemon, "other")
    assert daemon.ctl("pause", str(client.session)).returncode == 0
    client.request(Trace().full(1, [5]).message(), demand(1, 1))
    wait_until(lambda: any(c["queue"] for c in daemon.clients()))
    for i in range(3):
        other.request(Trace().full(1, [5000], 0.5).op("SIN", 2, [1]).op("ADD", 3, [2, 1]).message())
        assert other.read(i, 3).kind == "resolved"
        other.request(Trace().drop(1, 2, 3).message())
    wait_until(lambda: daemon.status()["kernels"]["compiles"] > 0)
    assert not answers(client, 0)
    assert daemon.ctl("resume", str(client.session)).returncode == 0
    assert client.receive().ticket == 1


def test_cancel_ends_waits_and_loses_nothing(daemon):
    client = connect(daemon, "train")
    daemon.ctl("pause", str(client.session))
    client.request(Trace().full(1, [5], 3.0).message(), demand(1, 1), )
    client.request(demand(2, 1))
    assert daemon.ctl("cancel", str(client.session)).returncode == 0
    for ticket in (1, 2):
        reply = client.receive()
        assert (reply.kind, reply.ticket, reply.code) == ("failure", ticket, E_CANCELLED)
        assert re.search(rf"by an operator: .*\(uid {os.geteuid()}, pid \d+\)", reply.text)
    daemon.ctl("resume", str(client.session))
    (code, _, data), = client.read(3, 1).extents()
    assert code == 0 and data == bytes.fromhex("0000000000000840") * 5


def test_kill_ends_a_paused_session(daemon):
    client = connect(daemon, "train")
    daemon.ctl("pause", str(client.session))
    fill(client, 1, 1, 4)
    assert not answers(client)
    assert daemon.ctl("kill", str(client.session)).returncode == 0
    assert "an operator ended the session" in client.ended().text
    wait_until(lambda: daemon.status()["clients_count"] == 0 and not daemon.status()["jobs_in_flight_count"])


def test_evict_gives_free_memory_back(daemon):
    client = connect(daemon, "train")
    for array in range(1, 5):
        fill(client, array, array, 16)
        assert client.receive().kind == "resolved"
    client.request(Trace().drop(1, 2, 3).message())
    client.request(Trace().full(9, [3]).message())
    assert client.read(9, 9).kind == "resolved"
    held = daemon.status()["arena_bytes"]
    done = daemon.ctl("--json", "evict", str(client.session))
    freed = json.loads(done.stdout)
    assert freed["evicted"] and freed["arena_bytes"] >= 48 * MIB
    assert daemon.status()["arena_bytes"] <= held - 48 * MIB
    assert client.read(10, 4).kind == "resolved"
    fill(client, 11, 5, 16)
    assert client.receive().kind == "resolved"


def test_who_did_what(daemon):
    client = connect(daemon, "train\x1b[31m")
    for order in ("pause", "resume", "cancel", "evict", "kill"):
        assert daemon.ctl(order, str(client.session)).returncode == 0
    assert daemon.ctl("pause", "99").returncode == 1
    assert daemon.ctl("limit", "user:0", "weight=2").returncode == 0
    assert daemon.ctl("cache", "clear").returncode == 0
    audit = daemon.status()["audit"]
    who = f"session {client.session} (train?[31m, pid {os.getpid()})"
    assert [a["text"] for a in audit] == [
        *(f"{word} {who}" for word in ("paused", "resumed", "cancelled", "evicted", "ended")),
        "paused session 99: refused, no session has the number 99",
        "limited user 0: weight=2", "cleared the disk cache"]
    assert {a["uid"] for a in audit} == {os.geteuid()} and all(a["pid"] > 1 for a in audit)
    log = daemon.log_text()
    assert re.search(rf"info +control +.*\(uid {os.geteuid()}, pid \d+\) paused session", log)
    for _ in range(70):
        fetch(daemon.status_socket, "/sessions/99/pause", "POST")
    assert len(daemon.status()["audit"]) == 64


@pytest.mark.parametrize("words", [
    ["user:0", "colour=3"], ["user:0", "weight=0"], ["user:0", "weight=many"],
    ["user:0", "bytes=7"], ["user:0", "weight=99999999999999999999"], ["user:nobody-of-that-name", "weight=2"],
    ["robot:r2", "weight=2"], ["user:" + "x" * 200, "weight=2"], ["user:a]b", "weight=2"],
    ["session:s", "pending=10"]])
def test_wrong_limits_change_nothing(daemon, words):
    done = daemon.ctl("limit", words[0], "queue=5", *words[1:])
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1, done.stderr
    assert daemon.get("/limits")["rules"] == []


@pytest.mark.parametrize("words", [["limit", "user"], ["limit", "user:"], ["limit", "user:0", "weight"],
                                   ["limit", "user:0", "=3"], ["pause"], ["pause", "x"], ["pause", "1", "2"],
                                   ["kill", ""]])
def test_wrong_use(daemon, words):
    assert daemon.ctl(*words).returncode == 2
    assert daemon.status()["audit"] == []


def test_limits_are_read_again():
    with limited("[user *]\nqueue = 5\n") as daemon:
        client = connect(daemon, "train")

        def bounds():
            user, = daemon.get("/limits")["users"]
            return user["limits"], user["sessions"][0]["limits"]

        assert bounds() == ({"weight": 1, "queue": 5}, {"weight": 1})
        assert daemon.ctl("limit", f"user:{os.geteuid()}", "queue=7", "bytes=1G").returncode == 0
        daemon.conf.write_text(f"[user {os.geteuid()}]\nweight = 4\nqueue = 6\n"
                               "[session tr*]\n# by its name\nweight = 2\ndevice_bytes = 2M\n")
        daemon.process.send_signal(signal.SIGHUP)
        # What brazectl said goes on.
        wait_until(lambda: bounds() == ({"weight": 4, "queue": 7, "bytes": 1 << 30},
                                        {"weight": 2, "device_bytes": 2 * MIB}))
        assert daemon.ctl("limit", f"user:{os.geteuid()}", "queue=default").returncode == 0
        assert bounds()[0]["queue"] == 6
        daemon.conf.write_text("[user *]\nqueue = lots\n")
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "brazed.conf:2: queue = lots: wants 1 to 65536" in daemon.log_text())
        assert bounds()[0]["queue"] == 6
        shown = daemon.ctl("limit").stdout
        assert "session:tr*  by brazed.conf  weight 2, device_bytes 2.0M" in shown, shown
        assert client.session
