# SPDX-License-Identifier: Apache-2.0
"""Nobody's work, names or limits keep the daemon from the others.

bench/alive.py measures how long others wait; here only what happens counts.
"""

import array
import os
import resource
import signal
import socket
import struct

import pytest
import raw
from endless import ENDLESS
from harness import Daemon, is_sanitized, wait_until
from raw import DTYPE, Raw, Trace

E_NOMEM, E_PROTOCOL, E_SYSTEM = 11, 13, 23
PATIENCE = 120  # of a machine that is very busy


@pytest.fixture(scope="module")
def daemon():
    with Daemon(threads=2) as daemon:
        yield daemon


def other_is_served(daemon):
    with Raw(daemon.socket) as other:
        other.socket.settimeout(PATIENCE)
        other.request(Trace().full(1, [1000], 2.0).op("SUM", 2, [1], [1]).message())
        (code, text, data), = other.read(1, 2).extents()
        assert code == 0, text
        assert struct.unpack("<d", data) == (2000.0,)


def idle(daemon):
    status = daemon.status()
    return status["jobs_in_flight_count"] == 0 and status["clients_count"] == 0


@pytest.mark.parametrize("name", ENDLESS)
def test_an_endless_computation_is_cancelled(daemon, name):
    trace, wanted = ENDLESS[name]
    deaths = daemon.status()["worker_deaths_count"]
    with Raw(daemon.socket) as c:
        c.socket.settimeout(PATIENCE)
        c.request(trace.message(), raw.demand(1, wanted))
        wait_until(lambda: daemon.status()["jobs_in_flight_count"], PATIENCE)
        other_is_served(daemon)
        c.request(raw.cancel(1))
        reply = c.receive()
        assert reply is not None and reply.ticket == 1
        assert reply.kind == "failure" or reply.extents()[0][0] != 0
        wait_until(lambda: not daemon.status()["jobs_in_flight_count"], PATIENCE)
    wait_until(lambda: idle(daemon), PATIENCE)
    assert daemon.status()["worker_deaths_count"] == deaths


@pytest.mark.parametrize("name", ENDLESS)
def test_an_endless_computation_ends_with_its_client(daemon, name):
    trace, wanted = ENDLESS[name]
    deaths = daemon.status()["worker_deaths_count"]
    with Raw(daemon.socket) as c:
        c.request(trace.message(), raw.demand(1, wanted))
        wait_until(lambda: daemon.status()["jobs_in_flight_count"], PATIENCE)
        other_is_served(daemon)
    wait_until(lambda: idle(daemon), PATIENCE)
    other_is_served(daemon)
    assert daemon.status()["worker_deaths_count"] == deaths


# ---- Names ----

def views(c, first, n):
    """Names for one element, n more of them."""
    for at in range(first, first + n, 700):
        t = Trace()
        for i in range(at, min(at + 700, first + n)):
            t.op("VIEW", i, [1], [1, 0, 1, 8])
        c.request(t.message())


def resident_bytes(pid):
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * resource.getpagesize()


def test_names_are_charged_to_their_owner():
    """Views of eight bytes are not free: their records pass the quota, and the client
    is told what to do."""
    with Daemon(quota_bytes="80M") as daemon, Raw(daemon.socket) as c:
        c.request(Trace().full(1, [1]).message())
        assert c.read(1, 1).kind == "resolved"
        assert daemon.clients()[0]["bytes"] < 1 << 20
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            for first in range(2, 1 << 22, 35000):
                views(c, first, 35000)
        goodbye = c.ended()
        assert goodbye is not None and goodbye.code == E_NOMEM
        assert "are named" in goodbye.text and "quota_bytes" in goodbye.text, goodbye.text
        wait_until(lambda: daemon.status()["clients_count"] == 0, PATIENCE)
        other_is_served(daemon)


def test_names_are_seen_in_what_a_client_is_charged():
    with Daemon() as daemon, Raw(daemon.socket) as c:
        c.request(Trace().full(1, [1]).message())
        views(c, 2, 100_000)
        c.read(1, 1)
        assert daemon.clients()[0]["bytes"] > 100_000 * 40
        assert daemon.clients()[0]["arrays"] == 100_001


def test_another_connection_of_the_user_has_what_names_leave():
    with Daemon(quota_bytes="320M") as daemon, Raw(daemon.socket) as c:
        c.request(Trace().full(1, [1]).message())
        views(c, 2, 300_000)
        c.read(1, 1)
        free = (320 << 20) - 2 * raw.LEASE - daemon.clients()[0]["bytes"]
        with Raw(daemon.socket) as other:
            other.request(Trace().full(1, [int(free + (8 << 20)) // 8]).message())
            assert other.read(1, 1).kind == "failure"
            other.request(Trace().full(2, [int(free - (8 << 20)) // 8]).message())
            assert other.read(2, 2).kind == "resolved"


@pytest.mark.skipif(is_sanitized(), reason="a sanitizer keeps memory that was freed")
def test_memory_of_a_dead_client_goes_back_to_the_system():
    with Daemon() as daemon:
        other_is_served(daemon)
        before = resident_bytes(daemon.pid)
        with Raw(daemon.socket) as c:
            c.request(Trace().full(1, [1]).message())
            views(c, 2, 500_000)
            c.read(1, 1)
            grown = resident_bytes(daemon.pid) - before
            assert grown > 40 << 20
        wait_until(lambda: daemon.status()["clients_count"] == 0, PATIENCE)
        assert resident_bytes(daemon.pid) - before < grown / 8
        other_is_served(daemon)


# ---- Limits of the system ----

def refused_hello(daemon):
    """The goodbye that answers a hello, the last word; None where it is welcome."""
    with Raw(daemon.socket, greet=False) as c:
        c.request(raw.hello())
        reply = c.receive()
        if reply is None or reply.kind == "welcome":
            return None
        assert c.ended() is None
        return reply


def test_a_limit_on_file_sizes_halves_the_arena():
    with Daemon(limits={resource.RLIMIT_FSIZE: 1 << 30}) as daemon:
        with Raw(daemon.socket) as c:
            assert 128 << 20 <= c.welcome.fields[4][0] <= 1 << 30
        other_is_served(daemon)


def test_a_limit_on_file_sizes_below_any_arena_is_named():
    with Daemon(limits={resource.RLIMIT_FSIZE: 1 << 20}) as daemon:
        for _ in range(2):
            goodbye = refused_hello(daemon)
            assert goodbye.code == E_NOMEM and "RLIMIT_FSIZE" in goodbye.text, goodbye.text
        assert daemon.process.poll() is None


@pytest.mark.skipif(is_sanitized(), reason="sanitizers need all of the address space")
def test_a_limit_on_the_address_space_makes_arenas_small():
    with Daemon(threads=1, limits={resource.RLIMIT_AS: 2 << 30}) as daemon:
        for _ in range(3):
            other_is_served(daemon)


@pytest.mark.skipif(is_sanitized(), reason="sanitizers need all of the address space")
def test_an_arena_that_the_worker_cannot_map_names_the_limit():
    with Daemon(threads=1) as daemon:
        wait_until(daemon.worker)
        resource.prlimit(daemon.worker(), resource.RLIMIT_AS, (4 << 30, 4 << 30))
        with Raw(daemon.socket) as c:
            c.request(Trace().full(1, [1000], 2.0).op("SUM", 2, [1], [1]).message())
            (code, text, _), = c.read(1, 2).extents()
            assert code == E_NOMEM and "RLIMIT_AS" in text, text
        assert daemon.status()["worker_deaths_count"] == 0


def test_a_limit_on_descriptors_leaves_results_right():
    with Daemon(limits={resource.RLIMIT_NOFILE: 40}) as daemon:
        other_is_served(daemon)


def test_a_limit_on_descriptors_below_any_arena_is_named():
    with Daemon() as daemon:
        wait_until(daemon.worker)

        def starved():
            """What was open for a moment when they were counted leaves room for a hello."""
            used = len(os.listdir(f"/proc/{daemon.pid}/fd"))
            resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (used + 1, 256))
            return refused_hello(daemon)

        for _ in range(2):
            goodbye = wait_until(starved)
            assert goodbye.code == E_SYSTEM and "RLIMIT_NOFILE" in goodbye.text, goodbye.text
        assert daemon.process.poll() is None
        resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (256, 256))
        other_is_served(daemon)


def test_a_limit_on_locked_memory_is_none_for_the_cpu():
    with Daemon(limits={resource.RLIMIT_MEMLOCK: 0}) as daemon:
        other_is_served(daemon)


def test_a_limit_on_cpu_time_ends_the_daemon_in_order():
    """What the soft limit sends is met as SIGTERM is."""
    with Daemon() as daemon:
        with Raw(daemon.socket) as c:
            os.kill(daemon.pid, signal.SIGXCPU)
            assert c.ended().text
        assert daemon.process.wait(PATIENCE) == 0
        assert "stopping" in daemon.log_text()


# ---- Last words ----

def test_a_packet_that_is_too_long_gets_a_goodbye(daemon):
    with Raw(daemon.socket) as c:
        c.send(bytes(raw.PACKET + 1))
        goodbye = c.ended()
        assert goodbye.code == E_PROTOCOL and str(raw.PACKET) in goodbye.text
    other_is_served(daemon)


@pytest.mark.parametrize("count", [1, 2, 3, 10])
def test_descriptors_get_a_goodbye(daemon, count):
    with Raw(daemon.socket) as c:
        fds = array.array("i", [0] * count)
        c.socket.sendmsg([raw.number(1, 2)],
                         [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        goodbye = c.ended()
        assert goodbye.code == E_PROTOCOL and goodbye.text
    other_is_served(daemon)


@pytest.mark.parametrize("also", [raw.cancel(1), raw.unlease(0, 64), raw.lease(1, 64),
                                  raw.fence(1, 1), raw.demand(1, 1), Trace().message()],
                         ids=["cancel", "unlease", "lease", "fence", "demand", "trace"])
def test_hello_comes_alone(daemon, also):
    with Raw(daemon.socket, greet=False) as c:
        c.request(raw.hello(), also)
        goodbye = c.ended()
        assert goodbye.code == E_PROTOCOL and "alone" in goodbye.text
    other_is_served(daemon)


@pytest.mark.parametrize("op", ["CAST", "SUM"])
def test_an_unknown_type_is_refused_with_the_operations_name(daemon, op):
    with Raw(daemon.socket) as c:
        t = Trace().full(1, [4])
        DTYPE["nobody's"] = max(n for n in DTYPE.values() if n < 128) + 1
        t.op(op, 2, [1] * raw.OP[op][1], [1] if op == "SUM" else [], "nobody's")
        c.request(t.message())
        goodbye = c.ended()
        assert goodbye.text and not goodbye.text.startswith(":"), goodbye.text
    other_is_served(daemon)
