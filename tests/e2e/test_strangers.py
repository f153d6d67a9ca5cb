# SPDX-License-Identifier: Apache-2.0
"""What another user can do to a daemon that he may connect to, and publishers that die between any
two of their requests."""

import os
import signal

import pytest
import raw
from harness import Daemon, fetch, wait_until
from raw import Raw, Trace
from test_published import (E_UNPUBLISHED, ROOT_ONLY, STRANGER, answer, as_user, numbers, opened, publish,
                            refusal)

ORDERS = ("/sessions/%d/end", "/sessions/%d/cancel", "/sessions/%d/pause", "/sessions/%d/resume",
          "/sessions/%d/evict", "/limits?scope=session&name=%d&weight=1000", "/limits?scope=user&name=0&queue=1",
          "/cache/clear", "/drain", "/drain?binary=/bin/true")


@pytest.fixture
def for_all():
    with Daemon() as daemon:
        os.chmod(daemon.folder, 0o755)
        os.chmod(daemon.socket, 0o666)
        os.chmod(daemon.status_socket, 0o666)
        yield daemon


# ---- Another user ----

@ROOT_ONLY
def test_orders_are_refused_and_told(for_all):
    with Raw(for_all.socket) as victim:
        victim.request(Trace().full(1, [4], 2.0).message())
        assert victim.read(1, 1).kind == "resolved"
        session = for_all.clients()[0]["session"]
        orders = [order % session if "%d" in order else order for order in ORDERS]
        before = fetch(for_all.status_socket, "/limits")
        said = as_user(STRANGER, [], lambda: [fetch(for_all.status_socket, o, "POST") for o in orders])
        assert [code for code, _ in said] == [403] * len(orders), said
        assert all("only the daemon's user" in text for _, text in said)
        assert fetch(for_all.status_socket, "/limits") == before
        # The log tells; the audit keeps the last acts only, and nobody pushes others' out of it.
        assert for_all.log_text().count(f"(uid {STRANGER}, pid ") == len(orders)
        assert for_all.status()["audit"] == []
        assert for_all.status()["takeovers"]["count"] == 0
        assert victim.read(2, 1).kind == "resolved", "the session is as it was"


@ROOT_ONLY
def test_names_are_their_users(for_all):
    """Who knows a name can neither take it, nor end it, nor have it by the number of its user."""
    def tries():
        with Raw(for_all.socket) as c:
            c.request(Trace().full(1, [4], 7.0).message())
            told = [refusal(c, raw.publish(3, 0, "x")), refusal(c, raw.open_published(4, 9, "x", owner=1)),
                    refusal(c, raw.open_published(5, 9, "x", owner=STRANGER + 1))]
            # A name of his own that is called alike.
            publish(c, "x")
            told.append(answer(c, raw.open_published(6, 9, "x")).kind)
            told.append(refusal(c, raw.open_published(7, 10, "x", owner=1)))
            return told

    with Raw(for_all.socket) as owner, Raw(for_all.socket) as reader:
        owner.request(Trace().full(1, [4], 2.0).message())
        publish(owner, "x")
        assert as_user(STRANGER, [], tries) == [E_UNPUBLISHED] * 3 + ["opened"] + [E_UNPUBLISHED]
        wait_until(lambda: for_all.status()["clients_count"] == 2)
        _, fds = opened(reader, "x")
        assert os.pread(fds[0], 8, 0) == b"\0\0\0\0\0\0\0@"
        os.close(fds[0])
        assert numbers(for_all)["names"] == 1


# ---- Publishers that die ----

STEPS = (
    ("connected", lambda c: None),
    ("made", lambda c: c.request(Trace().full(1, [1 << 16], 2.0).message())),
    ("asked to publish", lambda c: c.request(raw.publish(11, 1, "x"))),
    ("published", lambda c: c.receive()),
    ("dropped", lambda c: c.request(Trace().drop(1).message())),
    ("made again", lambda c: c.request(Trace().full(1, [1 << 16], 3.0).message())),
    ("asked to renew", lambda c: c.request(raw.publish(12, 1, "x"))),
    ("renewed", lambda c: c.receive()),
    ("asked for its own", lambda c: c.request(raw.open_published(13, 5, "x"))),
    ("opened its own", lambda c: c.receive()),
    ("asked to unpublish", lambda c: c.request(raw.publish(14, 0, "x"))),
    ("unpublished", lambda c: c.receive()),
)


def publisher(daemon, steps):
    """A process that does so many steps, and is killed at once."""
    pid = os.fork()
    if not pid:
        try:
            c = Raw(daemon.socket)
            for _, do in STEPS[:steps]:
                do(c)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL


@pytest.mark.parametrize("steps", range(1, len(STEPS) + 1), ids=[name for name, _ in STEPS])
def test_a_publisher_dies_at_any_step(siege, steps):
    """Nothing of it stays, neither names nor memory nor descriptors; a reader keeps what it has."""
    daemon = siege.daemon
    for _ in range(5):
        publisher(daemon, steps)
    wait_until(lambda: numbers(daemon) | {"names": 0, "bytes": 0} == numbers(daemon))
    with Raw(daemon.socket) as c:
        assert refusal(c, raw.open_published(4, 9, "x")) == E_UNPUBLISHED
    siege.check()


def test_a_reader_keeps_what_its_publisher_left(siege):
    daemon = siege.daemon
    with Raw(daemon.socket) as reader:
        with Raw(daemon.socket) as first:
            first.request(Trace().full(1, [1 << 16], 5.0).message())
            publish(first)
            _, fds = opened(reader)
        for steps in range(1, len(STEPS) + 1):
            publisher(daemon, steps)
            assert os.pread(fds[0], 8, 0) == b"\0\0\0\0\0\0\x14@"
        os.close(fds[0])
        reader.request(Trace().drop(2).message())
    wait_until(lambda: numbers(daemon) | {"names": 0, "bytes": 0} == numbers(daemon))
    siege.check()
