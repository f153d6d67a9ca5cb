# SPDX-License-Identifier: Apache-2.0
"""Clients that ask for too much, too often, or never listen."""

import contextlib
import os
import signal
import time

import pytest
import raw
from harness import kill9, wait_until
from raw import Raw, Trace
from siege import besieged

PER_UID = 64  # LIMIT_CLIENTS_PER_UID
E_NOMEM = 11


@pytest.fixture
def siege():
    with besieged() as siege:
        yield siege


def test_silence(siege):
    """Connections that never say hello, or nothing after it."""
    with contextlib.ExitStack() as stack:
        for i in range(20):
            stack.enter_context(Raw(siege.daemon.socket, greet=i % 2 == 0))
        assert siege.daemon.status()["clients_count"] == 21
        time.sleep(0.5)
    siege.check()


def test_connections_beyond_the_limit(siege):
    """Those beyond the limit are closed at once; a place that is free is given."""
    with contextlib.ExitStack() as stack:
        for _ in range(PER_UID - 1):
            stack.enter_context(Raw(siege.daemon.socket))
        for _ in range(50):
            with Raw(siege.daemon.socket, greet=False) as surplus:
                assert surplus.ended() is None
        assert siege.daemon.status()["clients_count"] == PER_UID
    wait_until(lambda: siege.daemon.status()["clients_count"] == 1)
    with Raw(siege.daemon.socket):
        pass
    siege.check()


def test_connections_that_come_and_go(siege):
    for i in range(300):
        with Raw(siege.daemon.socket, greet=i % 3 == 0):
            pass
    siege.check()


def test_never_reads(siege):
    """Its requests are not read any more, so that its answers do not pile up; the others
    do not wait for it, and when it reads at last, all answers are there."""
    with Raw(siege.daemon.socket) as c:
        c.request(Trace().full(1, [8]).message())
        c.read(1, 1)
        c.socket.setblocking(False)
        sent = refused = 0
        while refused < 3 and sent < 1000:
            try:
                c.request(raw.demand(2 + sent, *[1] * 256))
                sent += 1
                refused = 0
            except BlockingIOError:
                c.seq -= 1
                refused += 1
                siege.pass_turns(5)
        assert 20 < sent < 1000, "what two sockets hold, and no more"
        assert siege.daemon.status()["clients_count"] == 2
        c.socket.settimeout(60)
        for i in range(sent):
            answer = c.receive()
            assert answer.ticket == 2 + i and len(answer.extents()) == 256
        assert c.read(2 + sent, 1).extents()[0][0] == 0
    siege.check()


def test_who_waits_for_much_is_told_of_nothing_besides(siege):
    """What is only told of counts like what is waited for, but fails no demand."""
    limit = 1 << 16
    siege.rest()
    with Raw(siege.daemon.socket) as c:
        c.request(Trace().full(1, [8]).message())
        c.read(1, 1)
        worker = siege.daemon.worker()
        os.kill(worker, signal.SIGSTOP)
        try:
            c.request(Trace().full(2, [1 << 12]).op("SQRT", 3, [2]).message())
            load = sent = 0
            while load + 2 * 257 < limit:
                c.request(raw.demand(2 + sent, *[3] * 256))
                sent, load = sent + 1, load + 257
            # Then there is room for 60 more, but not for 64.
            c.request(raw.demand(8000, *[3] * (limit - 62 - load - 65), also=[1] * 64))
            c.request(raw.demand(8001, *[3] * 60, also=[1] * 4))
            wait_until(lambda: sent + 3 in [each["demands"] for each in siege.daemon.clients()],
                       20, "the last demand")
        finally:
            os.kill(worker, signal.SIGCONT)
        siege.go()
        answers = {a.ticket: a for a in (c.receive() for _ in range(sent + 2))}
        assert all(a.kind == "resolved" for a in answers.values())
        assert len(answers[8000].also()) == 64
        assert answers[8001].also() == [] and len(answers[8001].extents()) == 60
    siege.check()


def test_stopped_client_comes_back(siege):
    """Thousands of answers come while it reads nothing: it loses none of them."""
    n = 5000
    siege.rest()
    with Raw(siege.daemon.socket) as c:
        worker = siege.daemon.worker()
        os.kill(worker, signal.SIGSTOP)
        try:
            trace = Trace()
            for i in range(1, 9):
                trace.full(i, [1 << 12], float(i)).op("SQRT", 10 + i, [i])
            c.request(trace.message())
            # More of them than the socket holds: most are in the daemon now.
            for i in range(n):
                c.request(raw.demand(1 + i, 11 + i % 8))
        finally:
            os.kill(worker, signal.SIGCONT)
        wait_until(lambda: not siege.daemon.status()["jobs_in_flight_count"], 20, "its work")
        siege.go()
        siege.pass_turns(20)
        assert siege.daemon.status()["clients_count"] == 2
        answers = [c.receive() for _ in range(n)]
        assert sorted(a.ticket for a in answers) == [*range(1, n + 1)]
        assert all(a.extents()[0][0] == 0 for a in answers)
    siege.check()


def test_million_operations():
    """A trace without an end is cut, run and forgotten as it comes, a piece in each
    turn of the loop although its plans are there already."""
    with besieged() as siege:
        with Raw(siege.daemon.socket) as c:
            c.request(Trace().full(1, [16], 1.0).full(2, [16], 0.5).message())
            for turn in range(300):
                trace = Trace()
                for _ in range(800):
                    trace.op("ADD", 3, [1, 2]).drop(1).op("SUBTRACT", 1, [3, 2]).drop(3)
                c.request(trace.message())
                if turn % 100 == 99:
                    status = siege.daemon.status()
                    assert status["pending_ops_count"] < 100_000
                    assert status["client_bytes"] < 64 << 20
            (code, _, _), = c.read(1, 1).extents()
            assert code == 0
        siege.check()


def test_million_dead_operations(siege):
    """What nobody can observe never runs."""
    with Raw(siege.daemon.socket) as c:
        c.request(Trace().full(1, [16]).message())
        siege.rest()
        runs = siege.daemon.status()["runs"]
        for _ in range(250):
            trace = Trace()
            for _ in range(1500):
                trace.op("ADD", 2, [1, 1]).drop(2)
            c.request(trace.message())
        (code, _, _), = c.read(1, 1).extents()
        assert code == 0 and siege.daemon.status()["runs"] <= runs + 1
        siege.go()
    siege.check()


def test_many_arrays_and_death(siege):
    """Two hundred thousand live arrays, then the end."""
    with Raw(siege.daemon.socket) as c:
        for turn in range(100):
            trace = Trace()
            for i in range(2000):
                trace.op("EMPTY", 1 + turn * 2000 + i, [], [0])
            c.request(trace.message())
        c.read(1, 1)
        assert siege.daemon.status()["arrays_count"] > 200_000
    siege.check()


def test_leases_to_the_quota():
    with besieged(quota_bytes="512M") as siege:
        with Raw(siege.daemon.socket) as c:
            for ticket in range(1, 30):
                c.request(raw.lease(ticket, 64 << 20))
                reply = c.receive()
                if reply.kind == "failure":
                    break
                place = reply.fields[2][0], reply.fields[3][0]
            assert reply.code == E_NOMEM and "quota" in reply.text and ticket > 5
            c.request(Trace().full(1, [8 << 20]).message())
            refusal = c.read(98, 1)
            assert refusal.kind == "failure" and refusal.code == E_NOMEM
            c.request(raw.unlease(*place))
            assert c.read(99, 1).extents()[0][0] == 0
        siege.check()


def test_lease_in_crumbs(siege):
    """A lease cut into many pieces is served up to a limit."""
    def crumbs(c, first, count):
        trace = Trace()
        for i in range(first, first + count):
            trace.op("IMPORT", i, [], [c.lease_offset + 128 * i, 1, 8])
        c.request(trace.message())

    with Raw(siege.daemon.socket) as c:
        crumbs(c, 1, 400)
        assert c.read(1, 400).extents()[0][0] == 0
        crumbs(c, 401, 400)
        reply = c.receive()
        assert reply.kind == "goodbye" and "pieces" in reply.text
    siege.check()


def test_gigabyte_client_dies(siege):
    """Giving back the memory of a large client is not the loop's work."""
    victim = siege.daemon.popen(
        "import sys, braze, braze.numpy as np\n"
        "held = [np.ones(32_000_000) + i for i in range(4)]\n"
        "braze.wait(*held)\nprint('held', flush=True)\nsys.stdin.readline()")
    assert victim.stdout.readline() == "held\n"
    assert siege.daemon.status()["client_bytes"] > 1_000_000_000
    kill9(victim.pid)
    siege.check()
