# SPDX-License-Identifier: Apache-2.0
"""Kernels of text that clients have compiled: whatever is asked, and by whoever leaves."""

import os

import pytest
import raw
from harness import Daemon, wait_until
from raw import Raw

E_INVALID, E_DTYPE, E_LIMIT, E_UNSUPPORTED = 1, 2, 12, 7
GOOD = b"kernel f(inout x: float64[:]) { for i in 0..len(x) { x[i] += %d } }"
# The compiler has work for a while.
SLOW = b"kernel f(inout x: float64[:]) { for i in 0..len(x) { %s } }" % (
    b"x[i] = sqrt(x[i]) * x[i] + %d;" * 60)


def code_of(connection, ticket, text):
    """The answer to a text, and whether there was an object with it."""
    connection.request(raw.compile_text(ticket, text))
    data, fds, _, _ = raw.socket.recv_fds(connection.socket, 1 << 16, 2)
    reply = raw.Reply(data)
    assert reply.ticket == ticket
    for fd in fds:
        assert os.pread(fd, 4, 0) == b"\x7fELF"
        os.close(fd)
    return reply, len(fds)


@pytest.mark.parametrize("text,code,words", [
    (b"", E_INVALID, "line 1"), (b"kernel f(", E_INVALID, "line 1, column 10"),
    (b"\xff\xfe\0", E_INVALID, "line 1"), (b"kernel f() {" + b"(" * 5000, None, "line 1"),
    (b"kernel f() { let a = 1.5 % true; let b: int8 = a }", None, "line 1"),
    (GOOD % 1 + b" " * (32 << 10), E_LIMIT, "too long"),
], ids=["nothing", "half", "no text", "brackets", "types", "too long"])
def test_texts_that_are_none(siege, text, code, words):
    with Raw(siege.daemon.socket) as c:
        reply, fds = code_of(c, 5, text)
        assert reply.kind == "failure" and words in reply.text and not fds
        assert code is None or reply.code == code
        reply, fds = code_of(c, 6, GOOD % 1)
        assert reply.kind == "compiled" and fds == 1
    siege.check()


def test_who_asks_for_many_waits_for_some(siege):
    with Raw(siege.daemon.socket) as c:
        # The first keeps the compiler busy, so that the others wait.
        for i in range(70):
            c.request(raw.compile_text(i + 1, (SLOW if i < 3 else GOOD).replace(b"%d", b"%d" % i)))
        replies = [c.receive() for _ in range(70)]
        assert sorted(r.ticket for r in replies) == list(range(1, 71))
        refused = [r for r in replies if r.kind == "failure"]
        assert all(r.code == E_LIMIT for r in refused)
        assert sum(r.kind == "compiled" for r in replies) >= 64
    siege.check()


def test_who_leaves_harms_nobody_who_waits_for_the_same(sieges):
    siege = sieges.attack()
    text = SLOW.replace(b"%d", b"77")
    with Raw(siege.daemon.socket) as stays:
        for _ in range(5):
            with Raw(siege.daemon.socket) as leaves:
                leaves.request(raw.compile_text(1, text))
        reply, fds = code_of(stays, 9, text)
        assert reply.kind == "compiled" and fds == 1
    siege.check()


PROGRAM = """
import sys
import numpy as np
import braze
k = braze.kernel_from_text("kernel f(inout x: float64[:], t: int64) -> (s: float64) {"
    " for j in 0..t { for i in 1..len(x) { x[i] += x[i - 1] / 2; s += x[i] } } }")
try:
    k.compile()
except RuntimeError as error:
    print(error, end=" ")
print(k.compiled, k(np.arange(9.0), 3))
"""


def test_code_is_kept_for_later_daemons():
    with Daemon() as daemon:
        first = daemon.run(PROGRAM)
        assert first.startswith("True")
        wait_until(lambda: daemon.status()["kernels"]["disk_writes"] == 1, 30, "writing")
        assert daemon.run(PROGRAM) == first
        assert daemon.status()["kernels"]["compiles"] == 1
        row, = daemon.kernels()
        assert row["state"] == "ready" and "kernel of text" in row["operations"]
        assert "bz_unit" in daemon.get(f"/kernels/{row['id']}")["source"]
        assert daemon.stop() == 0
        daemon.start()
        assert daemon.run(PROGRAM) == first
        figures = daemon.status()["kernels"]
        assert figures["compiles"] == 0 and figures["disk_hits"] == 1


def test_daemon_that_compiles_nothing():
    with Daemon(tier=0) as daemon:
        assert "compiles nothing" in daemon.run(PROGRAM)
        assert "False" in daemon.run(PROGRAM)
    with Daemon(env={"PATH": "/nowhere"}, compiler="/nowhere/cc") as daemon:
        assert "f is not compiled" in daemon.run(PROGRAM)


def test_environment_keeps_the_interpreter(daemon):
    assert "BRAZE_KERNEL_CODE=0" in daemon.run(PROGRAM, BRAZE_KERNEL_CODE="0")
    assert not daemon.kernels()


SHORT = """
import time
import numpy as np
import braze
k = braze.kernel_from_text("kernel f(inout x: float64[:]) { for i in 1..len(x) { x[i] += x[i - 1] / 2 } }")
x = np.zeros(1000)
k(x)
assert not k.compiled
end = time.monotonic() + 60
while not k.compiled and time.monotonic() < end:
    k(x)
print(k.compiled)
"""


def test_short_runs_are_compiled_when_they_are_many(daemon):
    assert daemon.run(SHORT).split() == ["True"]


ALONE = """
import sys
import numpy as np
import braze

@braze.jit
def total(x):
    s = 0.0
    for i in range(len(x)):
        s += np.sqrt(x[i])
    return s

@braze.jit
def beyond(x):
    for i in range(len(x) + 1):
        x[i] = 1.0

print(total(np.ones(50)), braze.explain(total, np.ones(3)).count("kernel"))
try:
    beyond(np.ones(5))
except IndexError as error:
    print(type(error) is IndexError)
print([m for m in sys.modules if m.startswith("braze.numpy")])
import braze.numpy as bnp
try:
    bnp.zeros(3)[7]
except IndexError:
    print(total(bnp.ones(4)))
"""


def test_kernels_of_numpys_arrays_need_no_braze_numpy(daemon):
    said = daemon.run(ALONE).splitlines()
    assert said[0].startswith("50.0 ") and said[1:] == ["True", "[]", "4.0"], said
