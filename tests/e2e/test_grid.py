# SPDX-License-Identifier: Apache-2.0
"""Loops of kernels as operations, as a client that is not ours says them (docs/protocol.md)."""

import functools
import struct
import time

import pytest
import raw
from raw import DTYPE, Raw, Trace
from test_drain import drain

E_INVALID, E_INDEX, E_READONLY, E_UNSUPPORTED, E_LIMIT, E_PROTOCOL, E_CANCELLED = 1, 6, 8, 10, 12, 13, 19

AXPY = ("kernel f(inout y: float64[:], in x: float64[:], a: float64) {\n"
        "  for i in 0..len(y) { y[i] += a * x[i] }\n}")
TABLE = ("kernel f(inout t: float64[:,:], in v: float64[:]) {\n"
         "  for i in 0..len(t, 0) { for j in 0..len(t, 1) { t[i, j] = t[i, j] * 10 + v[j] } }\n}")
TWO = ("kernel f(inout y: float64[:], inout z: float64[:]) {\n"
       "  for i in 0..len(y) { y[i] += 1; z[i] = y[i] }\n}")
LATE = ("kernel f(inout y: float64[:], k: int64) {\n"
        "  for i in 0..len(y) { y[i + k] = 1 }\n}")
ENDLESS = ("kernel f(inout y: float64[:]) {\n"
           "  for i in 0..len(y) { while true { y[i] += 1 } }\n}")


def f64(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def imm(kind):
    return 1 << 31 | DTYPE[kind]


@functools.cache
def range_of(socket, text, levels=1, only=0):
    """Where its (first) loop begins: what no daemon refuses."""
    for at in range(100):
        with Raw(socket) as c:
            c.request(raw.grid(1, text, at, levels, only=only), Trace().full(1, [1]).message(),
                      raw.demand(1, 1))
            if c.receive().kind == "resolved":
                return at
    raise AssertionError("there is no loop")


def define(c, daemon, number, text, levels=1, fast=0, only=0):
    c.request(raw.grid(number, text, range_of(daemon.socket, text, levels, only), levels, fast,
                       only))


def loop(t, number, arrays, numbers=(), hint=10):
    """GRID: numbers are (type, bits)."""
    t.op("GRID", 0, [len(arrays) + len(numbers), *arrays, *(imm(kind) for kind, _ in numbers)],
         [*(bits for _, bits in numbers), number])
    t.head[-1] = t.head[-1] & ~0xff0000 | hint << 16
    return t


def values(reply):
    out = []
    for code, text, data in reply.extents():
        assert code == 0, text
        out.append(struct.unpack(f"<{len(data) // 8}d", data))
    return out


def peek(c, ticket, *ids):
    """What arrays are now, computed before or not."""
    got = []
    for k, i in enumerate(ids):  # an answer has the bytes of few
        c.request(Trace().op("POSITIVE", 1000, [i]).message())
        got += values(c.read(100 * ticket + k, 1000))
        c.request(Trace().drop(1000).message())
    return got


def axpy(t, y, x, a, n, number=1):
    return loop(t, number, [y, x], [("FLOAT64", f64(a)), ("INT64", n)])


def refused(c, code):
    reply = c.ended()
    assert reply is not None and reply.code == code, reply and reply.text
    return reply.text


def test_a_loop_runs(siege):
    with Raw(siege.daemon.socket) as c:
        define(c, siege.daemon, 1, AXPY)
        t = Trace().full(1, [4], 2.0).full(2, [4], 3.0)
        c.request(axpy(t, 1, 2, 10.0, 4).message())
        assert peek(c, 1, 1, 2) == [(32.0,) * 4, (3.0,) * 4]
        # Once more by the plan that there is, with another number; and a sum behind it.
        c.request(axpy(Trace(), 1, 2, 1.0, 4).op("SUM", 3, [1], [1]).message())
        assert peek(c, 2, 3, 1) == [(140.0,), (35.0,) * 4]
        c.request(Trace().drop(1, 2, 3).message())
    siege.check()


def test_a_loop_and_its_definition_in_one_packet(siege):
    with Raw(siege.daemon.socket) as c:
        t = Trace().full(1, [3], 1.0).full(2, [3], 2.0)
        c.request(raw.grid(9, AXPY, range_of(siege.daemon.socket, AXPY)),
                  axpy(t, 1, 2, 2.0, 3, number=9).message(), raw.demand(5, 1))
        reply = c.receive()
        assert reply.ticket == 5 and values(reply) == [(5.0,) * 3]
    siege.check()


def test_loops_inside_each_other(siege):
    with Raw(siege.daemon.socket) as c:
        for number, (levels, fast) in enumerate([(1, 0), (2, 0), (2, 1)], 1):
            define(c, siege.daemon, number, TABLE, levels, fast)
        t = Trace().full(1, [2, 3], 1.0).op("ARANGE", 2, [imm("FLOAT64")] * 2, [f64(0), f64(1), 3])
        # What comes in: both extents, asked for where each loop begins.
        for number in (1, 2, 3):
            loop(t, number, [1, 2], [("INT64", 2)])
        c.request(t.message())
        (got,) = peek(c, 1, 1)
        assert got == (1000.0, 1111.0, 1222.0) * 2
    siege.check()


def test_one_array_is_written(siege):
    """A loop that writes two arrays is two operations."""
    with Raw(siege.daemon.socket) as c:
        define(c, siege.daemon, 1, TWO, only=0)
        define(c, siege.daemon, 2, TWO, only=1)
        t = Trace().full(1, [3], 5.0).full(2, [3], 7.0)
        loop(t, 2, [2, 1], [("INT64", 3)])
        c.request(t.message())
        # The second operation's first array is as it was: its own store went nowhere.
        assert peek(c, 1, 1, 2) == [(5.0,) * 3, (5.0,) * 3]
        c.request(loop(Trace(), 1, [1, 2], [("INT64", 3)]).message())
        assert peek(c, 2, 1, 2) == [(6.0,) * 3, (5.0,) * 3]
    siege.check()


def test_versions(siege):
    """What read or kept the old value has it; views of the buffer have the new one."""
    with Raw(siege.daemon.socket) as c:
        define(c, siege.daemon, 1, AXPY)
        t = Trace().full(1, [6], 1.0).full(2, [6], 1.0)
        t.op("PIN", 3, [1]).op("ADD", 4, [1, 1]).op("VIEW", 5, [1], [1, 8, 2, 16])
        axpy(t, 1, 2, 4.0, 6)
        t.op("ADD", 6, [1, 1])
        c.request(t.message())
        got = peek(c, 1, 1, 3, 4, 6, 2)
        assert got == [(5.0,) * 6, (1.0,) * 6, (2.0,) * 6, (10.0,) * 6, (1.0,) * 6]
        c.request(Trace().op("ADD", 7, [5, 5]).message())
        assert peek(c, 2, 7) == [(10.0,) * 2]
        # Stored by now: the snapshot's bytes stay, whoever writes the other.
        c.request(axpy(Trace(), 1, 3, 1.0, 6).message())
        assert peek(c, 3, 1, 3) == [(6.0,) * 6, (1.0,) * 6]
        c.request(Trace().op("PIN", 8, [1]).message())
        c.request(axpy(Trace(), 1, 8, 1.0, 6).message())
        assert peek(c, 4, 1, 8) == [(12.0,) * 6, (6.0,) * 6]
    siege.check()


def test_views_are_written_in_place(siege):
    """Every second element, backwards; what lies between stays."""
    with Raw(siege.daemon.socket) as c:
        define(c, siege.daemon, 1, AXPY)
        t = Trace().op("ARANGE", 1, [imm("FLOAT64")] * 2, [f64(0), f64(1), 7])
        t.op("VIEW", 2, [1], [1, 40, 3, -16]).op("ARANGE", 3, [imm("FLOAT64")] * 2,
                                                 [f64(100), f64(100), 3])
        c.request(axpy(t, 2, 3, 1.0, 3).message())
        got = peek(c, 1, 1)
        assert got == [(0.0, 301.0, 2.0, 203.0, 4.0, 105.0, 6.0)]
    siege.check()


def test_what_is_written_may_be_read_by_another_name(siege):
    """y[i] += a * x[i] where x is y: each turn reads what it is about to write."""
    with Raw(siege.daemon.socket) as c:
        define(c, siege.daemon, 1, AXPY)
        t = Trace().op("ARANGE", 1, [imm("FLOAT64")] * 2, [f64(1), f64(1), 3])
        axpy(t, 1, 1, 2.0, 3)
        c.request(t.op("VIEW", 2, [1], [1, 0, 3, 8]).message())
        assert peek(c, 1, 1) == [(3.0, 6.0, 9.0)]
        c.request(axpy(Trace(), 2, 1, 1.0, 3).message())
        assert peek(c, 2, 1) == [(6.0, 12.0, 18.0)]
        # A turn reads behind a write what it wrote.
        define(c, siege.daemon, 2, TWO, only=0)
        c.request(loop(Trace(), 2, [1, 2], [("INT64", 3)]).message())
        assert peek(c, 3, 1) == [(7.0, 13.0, 19.0)]
    siege.check()


def test_what_is_dropped_does_not_run(siege):
    with Raw(siege.daemon.socket) as c:
        define(c, siege.daemon, 1, ENDLESS)
        t = Trace().full(1, [4]).full(2, [4])
        c.request(loop(t, 1, [1], [("INT64", 4)]).drop(1).message())
        assert peek(c, 1, 2) == [(1.0,) * 4]
    siege.check()


def test_a_fence_behind_a_loop(siege):
    with Raw(siege.daemon.socket) as c:
        define(c, siege.daemon, 1, AXPY)
        t = Trace().full(1, [40], 1.0).full(2, [40], 1.0)
        c.request(axpy(t, 1, 2, 1.0, 40).message(), raw.fence(1, 1))
        reply = c.receive()
        assert reply.kind == "resolved" and reply.extents()[0][0] == 0
        c.request(Trace().op("DIRTY", 0, [1]).message())
        c.request(axpy(Trace(), 1, 2, 1.0, 40).op("MAX", 3, [1], [1]).message())
        assert peek(c, 2, 3) == [(3.0,)]
    siege.check()


def test_nothing_to_do(siege):
    """Arrays without elements, loops without turns."""
    with Raw(siege.daemon.socket) as c:
        define(c, siege.daemon, 1, AXPY)
        t = Trace().full(1, [0]).full(2, [0]).full(3, [2], 6.0)
        axpy(t, 1, 2, 1.0, 0)
        axpy(t, 3, 2, 1.0, 0)
        c.request(t.message())
        assert peek(c, 1, 1, 3) == [(), (6.0, 6.0)]
        define(c, siege.daemon, 2, AXPY, fast=0)
        t = Trace().op("EMPTY", 4, [], [1, 3]).full(5, [3], 0.0).op("PIN", 6, [4])
        c.request(axpy(t, 4, 5, 0.0, 3, number=2).message())
        assert c.read(2, 4, 6).extents()[0][0] == 0
    siege.check()


def test_an_index_that_is_wrong(siege):
    """It fails what is written, with a reason, and nothing else."""
    with Raw(siege.daemon.socket) as c:
        define(c, siege.daemon, 1, LATE)
        t = Trace().full(1, [4]).full(2, [4])
        loop(t, 1, [1], [("INT64", 3), ("INT64", 4)]).op("ADD", 3, [1, 1])
        c.request(t.message())
        for code, text, _ in c.read(1, 1, 3).extents():
            assert code == E_INDEX and "index" in text
        assert peek(c, 2, 2) == [(1.0,) * 4]
    siege.check()


def test_a_loop_that_does_not_end_is_cancelled(siege):
    with Raw(siege.daemon.socket) as c, Raw(siege.daemon.socket) as other:
        define(c, siege.daemon, 1, ENDLESS)
        t = Trace().full(1, [8]).full(2, [8])
        # Once small enough for one thread, once by all.
        for ticket, hint in ((1, 3), (2, 40)):
            c.request(loop(Trace() if ticket > 1 else t, 1, [1], [("INT64", 8)], hint).message(),
                      raw.demand(ticket, 1))
            time.sleep(0.5)
            c.request(raw.cancel(ticket))
            reply = c.receive()
            assert reply.ticket == ticket and reply.kind == "failure" and reply.code == E_CANCELLED
            other.request(Trace().full(ticket, [2], 3.0).message())
            assert values(other.read(1, ticket)) == [(3.0, 3.0)]
        c.request(Trace().drop(1).message())
        assert peek(c, 9, 2) == [(1.0,) * 8]
    siege.check()


def test_who_leaves_stops_his_loop(siege):
    with Raw(siege.daemon.socket) as c:
        define(c, siege.daemon, 1, ENDLESS)
        c.request(loop(Trace().full(1, [8]), 1, [1], [("INT64", 8)], 40).message(),
                  raw.demand(1, 1))
        time.sleep(0.3)
    with Raw(siege.daemon.socket) as c:
        c.request(Trace().full(1, [2], 3.0).message())
        assert peek(c, 1, 1) == [(3.0, 3.0)]
    siege.check()


DEFINITIONS = {
    "number 0": (raw.grid(0, AXPY, 5), E_PROTOCOL),
    "a number beyond the limit": (raw.grid(4097, AXPY, 5), E_PROTOCOL),
    "no text": (raw.grid(1, "", 5), E_INVALID),
    "no program": (raw.grid(1, "kernel f(", 5), E_INVALID),
    "no loop": (raw.grid(1, AXPY, 0), E_INVALID),
    "a range beyond the program": (raw.grid(1, AXPY, (1 << 32) - 1), E_INVALID),
    "a text that is too long": (raw.grid(1, AXPY + "#" * 50000, 5), E_LIMIT),
    "unknown fields": (raw.nested(17, raw.number(7, 1)), E_PROTOCOL),
    "another wire type": (raw.nested(17, raw.nested(1, b"1")), E_PROTOCOL),
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_wrong_definition(siege, name):
    message, code = DEFINITIONS[name]
    with Raw(siege.daemon.socket) as c:
        c.request(message)
        refused(c, code)
    siege.check()


def test_wrong_definitions_of_a_loop_that_is_there(siege):
    at = range_of(siege.daemon.socket, AXPY)
    for levels, fast, only in [(0, 0, 0), (4, 0, 0), (1, 1, 0), (2, 0, 0), (1, 0, 1), (1, 0, 2),
                               (1, 0, (1 << 32) - 1)]:
        with Raw(siege.daemon.socket) as c:
            c.request(raw.grid(1, AXPY, at, levels, fast, only))
            assert c.ended().code in (E_INVALID, E_UNSUPPORTED)
    with Raw(siege.daemon.socket) as c:
        c.request(raw.grid(1, AXPY, at))
        c.request(raw.grid(1, AXPY, at))
        assert "again" in refused(c, E_PROTOCOL)
    siege.check()


ADDING = "kernel f(inout x: float64[:]) -> (k: int64) { for i in 0..len(x) { k += int64(x[i]) } }"


def test_what_turns_add(siege):
    """The register of k is one that nothing else is refused of; all others of the text's are refused, and so is an
    array that is not behind the kernel's."""
    taken = []
    for register in range(20):
        for at in range(20):
            with Raw(siege.daemon.socket) as c:
                c.request(raw.grid(1, ADDING, at, only=1, sum_=register + 1), Trace().full(1, [1]).message(),
                          raw.demand(1, 1))
                if c.receive().kind == "resolved":
                    taken.append((at, register + 1))
    assert len(taken) == 1
    (at, word), = taken
    for only in (0, 2, (1 << 32) - 1):
        with Raw(siege.daemon.socket) as c:
            c.request(raw.grid(1, ADDING, at, only=only, sum_=word))
            assert c.ended().code == E_INVALID
    with Raw(siege.daemon.socket) as c:
        c.request(raw.grid(1, ADDING, at, only=1, sum_=(1 << 32) - 1))
        assert c.ended().code == E_INVALID
    for elements in (1, 3, 10, 25):
        with Raw(siege.daemon.socket) as c:
            c.request(raw.grid(1, ADDING, at, only=1, sum_=word))
            t = Trace().full(1, [10], 2.5).op("EMPTY", 2, [], [1, elements], dtype="INT64")
            c.request(loop(t, 1, [2, 1], [("INT64", 10)]).op("SUM", 3, [2], [1]).op("CAST", 4, [3], dtype="FLOAT64")
                      .message(), raw.demand(1, 4))
            assert values(c.receive()) == [(20.0,)]
    siege.check()


F, I = ("FLOAT64", f64(1.0)), ("INT64", 8)
OPERATIONS = {
    "an unknown loop": lambda t: loop(t, 2, [1, 2], [F, I]),
    "loop 0": lambda t: loop(t, 0, [1, 2], [F, I]),
    "loop 2^64-1": lambda t: loop(t, (1 << 64) - 1, [1, 2], [F, I]),
    "no operands": lambda t: t.op("GRID", 0, [0], [1]),
    "too many operands": lambda t: t.op("GRID", 0, [65, *[1] * 65], [1]),
    "an array less": lambda t: loop(t, 1, [1], [F, I]),
    "an array more": lambda t: loop(t, 1, [1, 2, 2], [F, I]),
    "a number less": lambda t: loop(t, 1, [1, 2], [F]),
    "a number more": lambda t: loop(t, 1, [1, 2], [F, I, I]),
    "numbers in another order": lambda t: loop(t, 1, [1, 2], [I, F]),
    "a number in an array's place": lambda t: t.op("GRID", 0, [4, 1, imm("FLOAT64"), imm("FLOAT64"), imm("INT64")],
                                                   [0, 0, 8, 1]),
    "an array in a number's place": lambda t: t.op("GRID", 0, [4, 1, 2, 2, imm("INT64")], [8, 1]),
    "a weak number": lambda t: t.op("GRID", 0, [4, 1, 2, imm("FLOAT64") | 1 << 8, imm("INT64")], [0, 8, 1]),
    "an array of another type": lambda t: loop(t.op("CAST", 3, [2], dtype="FLOAT32"), 1, [1, 3], [F, I]),
    "an array of other axes": lambda t: loop(t.full(3, [2, 4]), 1, [1, 3], [F, I]),
    "a snapshot that is written": lambda t: loop(t.op("PIN", 3, [1]), 1, [3, 2], [F, I]),
    "an unknown array": lambda t: loop(t, 1, [1, 77], [F, I]),
    "a hint beyond all": lambda t: loop(t, 1, [1, 2], [F, I], hint=63),
    "no loop's number": lambda t: t.op("GRID", 0, [4, 1, 2, imm("FLOAT64"), imm("INT64")], [0, 8]),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_wrong_operation(siege, name):
    with Raw(siege.daemon.socket) as c:
        define(c, siege.daemon, 1, AXPY)
        t = Trace().full(1, [8]).full(2, [8])
        OPERATIONS[name](t)
        c.request(t.message())
        assert c.ended() is not None
    siege.check()


def test_arrays_of_too_many_extents(siege):
    """A step has eight loops: nine different extents are refused."""
    text = ("kernel f(inout y: float64[:,:,:,:,:,:,:,:], in x: float64[:]) {\n"
            "  for i in 0..len(x) { y[0, 0, 0, 0, 0, 0, 0, i % 2] += x[i] }\n}")
    for last, fine in ((9, True), (10, False)):
        with Raw(siege.daemon.socket) as c:
            define(c, siege.daemon, 1, text)
            t = Trace().full(1, [1, 2, 3, 4, 5, 6, 7, 9], 0.0).full(2, [last], 1.0)
            c.request(loop(t, 1, [1, 2], [("INT64", 0)]).message())
            if fine:
                c.request(Trace().op("MAX", 3, [1], [255]).message())
                assert peek(c, 1, 3) == [(0.0,)]
            else:
                refused(c, E_UNSUPPORTED)
    siege.check()


def test_two_sessions_share_a_plan(siege):
    with Raw(siege.daemon.socket) as a, Raw(siege.daemon.socket) as b:
        for c, number in ((a, 3), (b, 4096)):
            define(c, siege.daemon, number, AXPY)
            t = Trace().full(1, [5], 1.0).full(2, [5], 2.0)
            c.request(axpy(t, 1, 2, 3.0, 5, number=number).message())
        misses = siege.daemon.status()["plans"]["misses"]
        assert values(a.read(1, 1)) == [(7.0,) * 5]
        assert values(b.read(1, 1)) == [(7.0,) * 5]
        assert siege.daemon.status()["plans"]["misses"] <= misses + 1
    siege.check()


def test_another_program_goes_on_with_loops(daemon):
    """What was recorded and not asked for, and what names are for later."""
    with Raw(daemon.socket) as c:
        define(c, daemon, 7, AXPY)
        define(c, daemon, 8, TWO, only=0)
        t = Trace().full(1, [4], 2.0).full(2, [4], 3.0)
        c.request(axpy(t, 1, 2, 10.0, 4, number=7).message())
        c.request(raw.explain(1, 1))
        assert c.receive().kind == "explained"
        drain(daemon)
        assert peek(c, 1, 1, 2) == [(32.0,) * 4, (3.0,) * 4]
        c.request(loop(Trace(), 8, [1, 2], [("INT64", 4)]).message())
        assert peek(c, 2, 1, 2) == [(33.0,) * 4, (3.0,) * 4]
        with Raw(daemon.socket) as other:
            define(other, daemon, 1, AXPY)
            t = Trace().full(1, [4], 1.0).full(2, [4], 1.0)
            other.request(axpy(t, 1, 2, 1.0, 4).message())
            assert peek(other, 1, 1) == [(2.0,) * 4]


def test_what_is_told_of_a_loop(daemon):
    with Raw(daemon.socket) as c:
        define(c, daemon, 1, AXPY)
        t = Trace().full(1, [4], 2.0).full(2, [4], 3.0)
        c.request(axpy(t, 1, 2, 10.0, 4).message(), raw.demand(1, 1))
        assert c.receive().kind == "resolved"
        c.request(raw.explain(2, 1))
        assert b"loop of a kernel" in c.receive().fields[2][0]
