# SPDX-License-Identifier: Apache-2.0
"""Published arrays: who may open them, that nobody can write them, how long they live, and what
clients that break the rules get."""

import ctypes
import mmap
import os
import pickle
import socket
import traceback

import pytest
import raw
from harness import Daemon, kill9, wait_until
from raw import Raw, Trace

E_PROTOCOL, E_UNKNOWN, E_INVALID, E_LIMIT, E_READONLY, E_UNPUBLISHED = 13, 9, 1, 12, 8, 28
OWN, USER, GROUP, KEY = 1, 2, 3, 4
ROOT_ONLY = pytest.mark.skipif(os.getuid() != 0, reason="only root becomes somebody else")
STRANGER = 65534
HEAD = "import braze, numpy, sys\nimport braze.numpy as np\n"
# A client that does one line after the other, and says what it made of each.
LINES = HEAD + """
for line in sys.stdin:
    try:
        said = eval(line)
    except Exception as e:
        said = f"{type(e).__name__}: {e}"
    print(said, flush=True)
"""


class Lines:
    """Another process, line by line."""

    def __init__(self, daemon, **env):
        self.client = daemon.popen(LINES, **env)

    def __call__(self, line):
        self.client.stdin.write(line + "\n")
        self.client.stdin.flush()
        return self.client.stdout.readline().rstrip("\n")


def numbers(daemon):
    return daemon.status()["shared"]


def answer(c, *parts):
    c.request(*parts)
    reply = c.receive()
    assert reply is not None, "the connection ended"
    return reply


def publish(c, label="x", array=1, **access):
    reply = answer(c, raw.publish(77, array, label, **access))
    assert reply.kind == "published", (reply.kind, getattr(reply, "text", ""))
    return reply


def refusal(c, *parts):
    reply = answer(c, *parts)
    assert reply.kind == "failure" and reply.text, reply.kind
    return reply.code


def opened(c, label="x", array=2, **who):
    """(reply, descriptors)"""
    c.request(raw.open_published(78, array, label, **who))
    reply, fds = c.receive_fds()
    assert reply.kind == "opened", (reply.kind, getattr(reply, "text", ""))
    return reply, fds


def as_user(uid, groups, do):
    """What `do` gives in a process of another user."""
    back, forth = os.pipe()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            os.setgroups(groups)
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            os.write(forth, pickle.dumps(do()))
            status = 0
        except BaseException:
            traceback.print_exc()
        os._exit(status)
    os.close(forth)
    with os.fdopen(back, "rb") as f:
        said = f.read()
    assert os.waitpid(pid, 0)[1] == 0
    return pickle.loads(said)


@pytest.fixture
def for_all():
    """A daemon that other users can connect to."""
    with Daemon() as daemon:
        os.chmod(daemon.folder, 0o755)
        os.chmod(daemon.socket, 0o666)
        yield daemon


# ---- Who may ----

def publish_each_way(c):
    """Array 1 by names that tell to whom; the key of the last."""
    c.request(Trace().full(1, [4], 2.0).message())
    publish(c, "own")
    publish(c, "user", access=USER, number_=STRANGER)
    publish(c, "group", access=GROUP, number_=4711)
    return publish(c, "key", access=KEY).fields[4][0].decode()


def code_of(daemon, **who):
    """To be called as somebody: the error that opening it gives, 0 for none."""
    def ask():
        with Raw(daemon.socket) as c:
            return getattr(answer(c, raw.open_published(5, 9, **who)), "code", 0)
    return ask


@ROOT_ONLY
def test_access_is_the_kernels_word(for_all):
    """Of each way to publish: a stranger, one who is named, a member of the group."""
    def code(**who):
        return code_of(for_all, **who)

    theirs = {"owner": 1}  # of user 0
    with Raw(for_all.socket) as c:
        key = publish_each_way(c)
        assert len(key) == 32
        for label in ("own", "user", "group", "key"):
            assert answer(c, raw.open_published(5, 9, label)).kind == "opened"
            c.request(Trace().drop(9).message())
        for uid, groups, label, want in (
                (STRANGER, [], "own", E_UNPUBLISHED), (STRANGER, [], "user", 0), (4242, [], "user", E_UNPUBLISHED),
                (STRANGER, [], "group", E_UNPUBLISHED), (STRANGER, [17, 4711], "group", 0), (4711, [], "group", 0),
                (STRANGER, [], "key", E_UNPUBLISHED), (STRANGER, [], "none", E_UNPUBLISHED)):
            assert as_user(uid, groups, code(label=label, **theirs)) == want, (uid, groups, label)
        # A name is its own user's: the same one of another user is another name.
        assert as_user(STRANGER, [], code(label="user")) == E_UNPUBLISHED
        assert as_user(STRANGER, [], code(key=key)) == 0
        assert as_user(STRANGER, [], code(key=key[:-1] + "x")) == E_UNPUBLISHED
        assert as_user(STRANGER, [], code(key="")) == E_UNPUBLISHED
        publish(c, "key", access=OWN)
        assert as_user(STRANGER, [], code(key=key)) == E_UNPUBLISHED
    assert numbers(for_all)["refused"] == 9


@ROOT_ONLY
def test_another_user_cannot_make_the_descriptor_writable(for_all):
    """Neither what is published, nor before that the memory of a session's own large result."""
    def tries():
        with Raw(for_all.socket) as c:
            _, fds = opened(c, owner=1)
            return [write_ways(fd, 32) for fd in fds]

    def own():
        c = Raw(for_all.socket, greet=False)
        c.request(raw.hello(minor=7))
        assert c.receive().kind == "welcome"
        c.request(Trace().full(1, [64 << 17], 2.0).message(), raw.demand(3, 1))
        reply, fds = c.receive_fds()
        assert reply.kind == "resolved" and raw.parse(reply.fields[2][0])[1][0] >= 1 << 30
        return [write_ways(fd, 4096) for fd in fds]

    with Raw(for_all.socket) as c:
        c.request(Trace().full(1, [4], 2.0).message())
        publish(c, access=USER, number_=STRANGER)
        assert as_user(STRANGER, [], tries) == [[]]
        assert as_user(STRANGER, [], own) == [[]]
        reply, fds = opened(c)
        assert os.pread(fds[0], 32, 0) == b"\0\0\0\0\0\0\0@" * 4
        socket.close(fds[0])


def write_ways(fd, size):
    """Which ways to write through a descriptor work: none should."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    worked = []

    def tried(name, way):
        try:
            way()
        except (OSError, ValueError):
            return
        worked.append(name)

    def reopened(flags):
        again = os.open(f"/proc/self/fd/{fd}", flags)
        try:
            mmap.mmap(again, size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE).close()
        finally:
            os.close(again)

    def written_again():
        again = os.open(f"/proc/self/fd/{fd}", os.O_RDWR)
        try:
            os.pwrite(again, b"\1", 0)
        finally:
            os.close(again)

    at = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
    assert at != ctypes.c_void_p(-1).value

    def protect():
        if libc.mprotect(at, size, mmap.PROT_READ | mmap.PROT_WRITE):
            raise OSError("refused")

    def by_memory():
        with open("/proc/self/mem", "r+b", buffering=0) as f:
            f.seek(at)
            f.write(b"\1")

    tried("map", lambda: mmap.mmap(fd, size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE))
    tried("write", lambda: os.pwrite(fd, b"\1", 0))
    tried("reopen", lambda: reopened(os.O_RDWR))
    tried("reopen and write", written_again)
    tried("mprotect", protect)
    tried("memory", by_memory)
    tried("truncate", lambda: os.ftruncate(fd, 0))
    tried("punch", lambda: os.posix_fallocate(fd, 0, 1 << 20))
    return worked


def test_a_reader_cannot_write(siege):
    """By its descriptor, by its mapping, by opening either anew: as the daemon's own user, too."""
    with Raw(siege.daemon.socket) as a, Raw(siege.daemon.socket) as b:
        a.request(Trace().full(1, [1024], 2.0).message())
        publish(a)
        _, fds = opened(b)
        ways = write_ways(fds[0], 8192)
        assert ways == [], ways
        assert os.pread(fds[0], 8, 0) == b"\0\0\0\0\0\0\0@"
        socket.close(fds[0])
    siege.check()


# ---- How long ----

def test_the_publisher_is_killed_and_readers_keep_it():
    with Daemon() as daemon:
        publisher, reader = Lines(daemon), Lines(daemon)
        assert publisher("setattr(braze, 'a', np.arange(1000.0) + 1) or braze.publish(braze.a, 'x').version") == "1"
        assert reader("setattr(braze, 'b', braze.open('x')) or braze.b[:2].tolist()") == "[1.0, 2.0]"
        kill9(publisher.client.pid)
        wait_until(lambda: daemon.status()["clients_count"] == 1)
        assert reader("float((braze.b * 2).sum())") == "1001000.0"
        # As long as a reader has it, others can open it.
        other = Lines(daemon)
        assert other("float(braze.open('x')[999])") == "1000.0"
        assert numbers(daemon)["names"] == 1
        assert reader("delattr(braze, 'b') or braze.flush()") == "None"
        wait_until(lambda: numbers(daemon) | {"names": 0, "bytes": 0} == numbers(daemon))
        assert other("braze.open('x')").startswith("LookupError")


def test_a_version_goes_with_its_last_holder():
    with Daemon() as daemon:
        before = daemon.status()["fds_count"]
        with Raw(daemon.socket) as a, Raw(daemon.socket) as b:
            connected = wait_until(lambda: daemon.status()["clients_count"] == 2 and daemon.status()["fds_count"])
            for turn in range(20):
                a.request(Trace().full(1, [1 << 14], float(turn)).message())
                assert publish(a).fields[2] == [turn + 1]
                a.request(Trace().drop(1).message())
            wait_until(lambda: numbers(daemon)["bytes"] == 8 << 14)
            _, fds = opened(b)
            a.request(Trace().full(1, [1 << 14]).message())
            publish(a)
            wait_until(lambda: numbers(daemon)["bytes"] == 16 << 14)
            socket.close(fds[0])
            b.request(Trace().drop(2).message())
            wait_until(lambda: numbers(daemon)["bytes"] == 8 << 14)
            assert refusal(b, raw.publish(3, 0, "y")) == E_UNPUBLISHED
            assert answer(b, raw.publish(3, 0, "x")).kind == "published"
            a.request(Trace().drop(1).message())
            wait_until(lambda: numbers(daemon)["bytes"] == 0 and numbers(daemon)["names"] == 0)
            wait_until(lambda: daemon.status()["fds_count"] <= connected)
        wait_until(lambda: daemon.status()["fds_count"] <= before)


def test_the_workers_death_leaves_it(daemon):
    """The next worker maps what is published to be read only, and computes with it."""
    publisher, reader = Lines(daemon), Lines(daemon)
    large = 64 << 17
    assert publisher(f"setattr(braze, 'a', np.ones({large}) * 3) or braze.publish(braze.a, 'x').copied") == "0"
    assert publisher(f"setattr(braze, 'c', np.ones({large}) * 5) or float(braze.c[7])") == "5.0"
    assert reader("setattr(braze, 'b', braze.open('x')) or float(braze.b[5])") == "3.0"
    kill9(daemon.worker())
    wait_until(lambda: daemon.status()["worker_deaths_count"] == 1)
    assert reader("float((braze.b + 1).sum())") == f"{4.0 * large}"
    # The publisher's own go on: the one that is published by a copy, the other where it lies.
    assert publisher("braze.a.__iadd__(1) is braze.a and float(braze.a.sum())") == f"{4.0 * large}"
    assert publisher("braze.c.__iadd__(1) is braze.c and float(braze.c.sum())") == f"{6.0 * large}"
    assert reader("float(braze.open('x').sum())") == f"{3.0 * large}"
    assert daemon.status()["worker_deaths_count"] == 1


def test_readers_memory_counts_for_the_publisher():
    with Daemon(quota_bytes=512 << 20) as daemon:
        publisher, reader = Lines(daemon), Lines(daemon)
        assert publisher(f"braze.publish(np.ones({32 << 20}), 'x').copied") == "0"
        assert reader("setattr(braze, 'b', braze.open('x')) or float(braze.b[0])") == "1.0"
        assert publisher(f"float((np.ones({36 << 20}) + 1)[1])").startswith("MemoryError")
        assert publisher("braze.unpublish('x')") == "None"
        # It is still there, and nobody's but the reader's.
        assert publisher(f"float((np.ones({36 << 20}) + 1)[1])").startswith("MemoryError")
        assert reader("delattr(braze, 'b') or braze.flush()") == "None"
        wait_until(lambda: numbers(daemon)["bytes"] == 0)
        assert publisher(f"float((np.ones({36 << 20}) + 1)[1])") == "2.0"


# ---- Who breaks the rules ----

def test_wrong_requests_are_refused_and_nothing_else_happens(siege):
    with Raw(siege.daemon.socket) as c:
        c.request(Trace().full(1, [4], 2.0).message())
        for label in ("", "a b", "a/b", "\x1b[2J", "\x00", "ä", "x" * 64, "x" * 5000, "a\n"):
            assert refusal(c, raw.publish(3, 1, label)) == E_INVALID
            assert refusal(c, raw.open_published(4, 5, label)) in (E_INVALID, E_UNPUBLISHED)
        assert refusal(c, raw.publish(3, 1, "x", access=5)) == E_INVALID
        assert refusal(c, raw.publish(3, 0, "x")) == E_UNPUBLISHED
        for owner in (0, 1 << 32, 1 << 33, (1 << 64) - 1):
            assert refusal(c, raw.open_published(4, 5, "x", owner=owner)) == E_UNPUBLISHED
        for key in ("", "0" * 31, "0" * 32, "0" * 5000):
            assert refusal(c, raw.open_published(4, 5, key=key)) == E_UNPUBLISHED
        assert publish(c).fields[2] == [1]
    siege.check()


@pytest.mark.parametrize("what", ["publish no array", "open as 0", "open as a used id", "open beyond the ids"])
def test_ids_that_are_wrong_end_the_connection(siege, what):
    with Raw(siege.daemon.socket) as c:
        c.request(Trace().full(1, [4], 2.0).message())
        publish(c)
        c.request({"publish no array": raw.publish(3, 9, "y"), "open as 0": raw.open_published(3, 0, "x"),
                   "open as a used id": raw.open_published(3, 1, "x"),
                   "open beyond the ids": raw.open_published(3, 1 << 22, "x")}[what])
        goodbye = c.ended()
        assert goodbye.code in (E_UNKNOWN, E_PROTOCOL), goodbye.text
    siege.check()


@pytest.mark.parametrize("op", ["ASSIGN", "DIRTY", "FENCE"])
def test_an_opened_array_is_written_by_no_operation(siege, op):
    with Raw(siege.daemon.socket) as a, Raw(siege.daemon.socket) as c:
        a.request(Trace().full(1, [4], 2.0).message())
        publish(a)
        _, fds = opened(c)
        if op == "FENCE":
            c.request(raw.fence(5, 2))
        elif op == "DIRTY":
            c.request(Trace().op("DIRTY", 0, [2]).message())
        else:
            c.request(Trace().full(3, [4], 5.0).op("ASSIGN", 0, [2, 3]).message())
        assert c.ended().code == E_READONLY
        assert os.pread(fds[0], 8, 0) == b"\0\0\0\0\0\0\0@"
        socket.close(fds[0])
    siege.check()


def test_published_twice_dropped_and_while_pending(siege):
    """What is asked at once is answered in order, and the array may be gone by then."""
    with Raw(siege.daemon.socket) as c:
        t = Trace().full(1, [1 << 20], 2.0)
        for i in range(1, 40):
            t.op("SIN", i + 1, [i])
        c.request(t.message(), raw.publish(1, 40, "x"))
        c.request(Trace().drop(*range(1, 41)).message())
        c.request(raw.open_published(2, 41, "x"))
        c.request(Trace().full(1, [8], 1.0).message(), raw.publish(3, 1, "x"))
        c.request(raw.publish(4, 1, "x"))
        c.request(raw.publish(5, 0, "x"))
        kinds = {}
        while len(kinds) < 5:
            reply = c.receive()
            kinds[reply.ticket] = (reply.kind, reply.fields.get(2, [0])[0])
        assert kinds[1] == ("published", kinds[1][1]) and kinds[3][0] == kinds[4][0] == "published"
    siege.check()


def test_cancelled_and_left_while_pending(siege):
    for leave in (False, True):
        with Raw(siege.daemon.socket) as c:
            t = Trace().full(1, [1 << 22], 2.0)
            for i in range(1, 30):
                t.op("SIN", i + 1, [i])
            c.request(t.message(), raw.publish(1, 30, "x"))
            if leave:
                continue
            c.request(raw.cancel(1))
            assert c.receive().ticket == 1
            c.request(raw.publish(2, 30, "x"))
            assert c.receive().kind == "published"
    siege.check()


def test_too_many_are_refused(siege):
    """Of names, and of arrays with memory of their own: each user has his bounds."""
    with Raw(siege.daemon.socket) as c:
        c.request(Trace().full(1, [0]).full(2, [4], 1.0).message())
        for i in range(256):
            publish(c, f"n{i}")
        assert refusal(c, raw.publish(3, 1, "more")) == E_LIMIT
        publish(c, "n0")
        for i in range(256):
            answer(c, raw.publish(3, 0, f"n{i}"))
        kinds = []
        for i in range(300):
            c.request(Trace().op("ADD", 3, [2, 2]).message(), raw.publish(4, 3, f"m{i % 250}"))
            kinds.append(c.receive().kind)
            c.request(raw.open_published(5, 1000 + i, f"m{i % 250}"))
            c.receive()
            c.request(Trace().drop(3).message())
        assert kinds[0] == "published" and kinds[-1] == "failure"
        assert 250 <= kinds.count("published") <= 256
    siege.check()
