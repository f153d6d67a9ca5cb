# SPDX-License-Identifier: Apache-2.0
"""Clients that break the protocol harm themselves only."""

import os
import random
import socket
import struct

import pytest
import raw
from raw import DTYPE, OP, Raw, Trace

BIG = (1 << 64) - 1
E_PROTOCOL, E_VERSION, E_LIMIT, E_UNKNOWN, E_INVALID = 13, 14, 12, 9, 1


def refused(connection, code=None):
    """The connection ends with a goodbye that says why."""
    reply = connection.ended()
    assert reply is not None and reply.text
    if code is not None:
        assert reply.code == code, reply.text
    return reply.text


def test_honest_raw_client(siege):
    """The raw client itself is right: what it is refused below is not its own fault."""
    with Raw(siege.daemon.socket) as c:
        c.request(Trace().full(1, [4], 2.0).op("ADD", 2, [1, 1]).message())
        (code, _, data), = c.read(7, 2).extents()
        assert code == 0 and struct.unpack("<4d", data) == (4.0,) * 4
        c.request(Trace().drop(1, 2).message())
    siege.check()


@pytest.mark.parametrize("data", [
    b"\0", b"\xff" * 8, b"\x08", b"\x08\x01\x12", b"\x12\xff\xff\xff\xff\x7f",
    b"\x08" + b"\xff" * 11, b"GET / HTTP/1.1\r\n\r\n", os.urandom(4096) + b"\xff",
    raw.number(1, 1) + raw.nested(9, b""), raw.number(1, 1) + raw.number(1, 1),
    raw.nested(2, raw.nested(2, b"\x08\x01") * 50), b"\x0b\x0c" * 100,
    raw.number(1, 1) + raw.hello()[:-3], raw.number(1, 1) + raw.nested(2, b"\x0a\x01\x01"),
], ids=range(14))
def test_garbage(siege, data):
    for greet in (False, True):
        with Raw(siege.daemon.socket, greet) as c:
            c.send(data)
            refused(c, E_PROTOCOL)
    siege.check()


def test_truncated_packets(siege):
    """A good packet cut at every length is an error or a smaller good one."""
    trace = Trace().full(1, [8]).op("ADD", 2, [1, 1]).message()
    good = raw.number(1, 2) + trace + raw.demand(1, 2)
    for cut in range(1, len(good), 3):
        with Raw(siege.daemon.socket) as c:
            c.send(good[:cut])
            c.socket.shutdown(socket.SHUT_WR)
            c.ended()
    siege.check()


def test_flipped_bits(siege):
    rng = random.Random(1)
    trace = Trace().full(1, [8]).op("ADD", 2, [1, 1]).op("VIEW", 3, [2], [1, 0, 4, 16])
    good = raw.number(1, 2) + trace.message() + raw.demand(1, 2, 3)
    for _ in range(150):
        bad = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        with Raw(siege.daemon.socket) as c:
            c.send(bytes(bad))
            c.socket.shutdown(socket.SHUT_WR)
            c.ended()
    siege.check()


@pytest.mark.parametrize("size", [raw.PACKET + 1, 150_000])
def test_packet_too_long(siege, size):
    with Raw(siege.daemon.socket) as c:
        c.send(b"\0" * size)
        c.ended()
    siege.check()


def test_longest_packet_is_taken(siege):
    """60 KiB are allowed: a trace that fills them is recorded."""
    with Raw(siege.daemon.socket) as c:
        trace, i = Trace().full(1, [4]), 2
        while len(trace.message()) < raw.PACKET - 1000 and len(trace.head) < 4096:
            trace.op("ADD", i, [1, 1])
            i += 1
        c.request(trace.message())
        assert c.read(1, i - 1).extents()[0][0] == 0
    siege.check()


@pytest.mark.parametrize("count", [1, 2, 3, 200])
def test_descriptors(siege, count):
    """Descriptors are not taken, and none stays open."""
    with Raw(siege.daemon.socket) as c:
        with open("/dev/null") as null:
            socket.send_fds(c.socket, [raw.number(1, 2)], [null.fileno()] * count)
        c.ended()
    siege.check()


@pytest.mark.parametrize("seq", [0, 1, 3, BIG])
def test_wrong_sequence_number(siege, seq):
    with Raw(siege.daemon.socket) as c:
        c.request(Trace().full(1, [4]).message(), seq=seq)
        assert "after" in refused(c, E_PROTOCOL)
    siege.check()


@pytest.mark.parametrize("first, code", [
    (raw.hello(major=2), E_VERSION), (raw.hello(table=1), E_VERSION),
    (Trace().full(1, [4]).message(), E_PROTOCOL), (raw.demand(1, 1), E_PROTOCOL),
    (raw.hello() + Trace().full(1, [4]).message(), E_PROTOCOL), (b"", E_PROTOCOL),
], ids=["major", "table", "trace", "demand", "not alone", "nothing"])
def test_wrong_first_request(siege, first, code):
    with Raw(siege.daemon.socket, greet=False) as c:
        c.request(first)
        refused(c, code)
    siege.check()


def test_second_hello(siege):
    with Raw(siege.daemon.socket) as c:
        c.request(raw.hello())
        assert "hello" in refused(c, E_PROTOCOL)
    siege.check()


def test_unknown_device(siege):
    with Raw(siege.daemon.socket, greet=False) as c:
        c.request(raw.hello(device="cuda:9\n\x1b[2J" + "x" * 1000))
        refused(c)
    siege.check()


def test_hostile_name(siege):
    """A name is for people: no byte of it breaks a page or the log."""
    name = '"}]\\\x1b[2J\n<script>' + "x" * 300
    with Raw(siege.daemon.socket, greet=False) as c:
        c.request(raw.hello(name=name))
        assert c.receive().kind == "welcome"
        shown = siege.daemon.clients()[0]["name"]
        assert shown.isprintable() and len(shown) < 64
        assert siege.daemon.ctl("clients").returncode == 0
    siege.check()


HEAD = OP["ADD"][0] | 2 << 24
TRACES = {
    "for a device that is not there": lambda t: setattr(t, "device", 3),
    "for a device beyond reason": lambda t: setattr(t, "device", (1 << 32) - 1),
    "unknown op": lambda t: t.head.append(15 | 2 << 24) or t.out.append(2),
    "op 65535": lambda t: t.head.append(65535) or t.out.append(2),
    "wrong arity": lambda t: t.head.append(HEAD | 1 << 24) or t.out.append(2),
    "no operands": lambda t: t.head.append(HEAD) or t.out.append(2),
    "surplus operands": lambda t: t.inputs.extend([1] * 1000),
    "surplus immediates": lambda t: t.imm.extend([1] * 1000),
    "more results than ops": lambda t: t.out.append(5),
    "unknown id": lambda t: t.op("ADD", 2, [1, 77]),
    "id 0": lambda t: t.op("ADD", 2, [1, 0]),
    "id beyond the table": lambda t: t.op("ADD", 2, [1, (1 << 31) - 1]),
    "result 0": lambda t: t.op("ADD", 0, [1, 1]),
    "result in use": lambda t: t.op("ADD", 1, [1, 1]),
    "result 2^22": lambda t: t.op("ADD", 1 << 22, [1, 1]),
    "result 2^32-1": lambda t: t.op("ADD", (1 << 32) - 1, [1, 1]),
    "bad immediate": lambda t: t.op("ADD", 2, [1, 1 << 31 | 99], [0]),
    "bits in an immediate": lambda t: t.op("ADD", 2, [1, 1 << 31 | 1 << 20 | 11], [0]),
    "drop of nothing": lambda t: t.drop(9),
    "double drop": lambda t: t.drop(1, 1),
    "dtype 200": lambda t: t.head.append(OP["EMPTY"][0] | 200 << 16 | 1 << 28)
    or t.out.append(2) or t.imm.append(0),
    "shapes that do not fit": lambda t: t.full(2, [5]).op("ADD", 3, [1, 2]),
    "types without a loop": lambda t: t.op("INVERT", 2, [1]),
    "axis out of range": lambda t: t.op("SUM", 2, [1], [1 << 9]),
    "attribute bits": lambda t: t.op("SUM", 2, [1], [1 << 40]),
    "9 dimensions": lambda t: t.full(2, [1] * 9),
    "2^63 dimensions": lambda t: t.op("EMPTY", 2, [], [1 << 63, 1]),
    "negative extent": lambda t: t.full(2, [-5]),
    "2^62 elements": lambda t: t.full(2, [1 << 62]),
    "overflowing product": lambda t: t.full(2, [1 << 33, 1 << 33]),
    "overflow to zero": lambda t: t.full(2, [1 << 32, 1 << 32]),
    "2^44 bytes and more": lambda t: t.full(2, [1 << 42]),
    "view past the end": lambda t: t.op("VIEW", 2, [1], [1, 0, 9, 8]),
    "view before the start": lambda t: t.op("VIEW", 2, [1], [1, -8, 4, 8]),
    "view backwards": lambda t: t.op("VIEW", 2, [1], [1, 0, 4, -8]),
    "view of huge strides": lambda t: t.op("VIEW", 2, [1], [1, 0, 3, 1 << 62]),
    "view that wraps": lambda t: t.op("VIEW", 2, [1], [2, 0, 2, 2, 1 << 63, 1 << 63]),
    "view with another type that is too long": lambda t: t.op("VIEW", 2, [1], [1, 0, 5, 16],
                                                              "COMPLEX128"),
    "view with another type off its grid": lambda t: t.op("VIEW", 2, [1], [1, 4, 2, 8],
                                                          "INT64"),
    "view cut short": lambda t: t.op("VIEW", 2, [1], [1, 0, 4]),
    "import without a lease": lambda t: t.op("IMPORT", 2, [], [1 << 40, 1, 8]),
    "import off the grid": lambda t: t.op("IMPORT", 2, [], [1, 1, 8]),
    "import at 2^64": lambda t: t.op("IMPORT", 2, [], [BIG & ~63, 1, 8]),
    "import of too much": lambda t: t.op("IMPORT", 2, [], [0, 1, 1 << 40]),
    "import twice": lambda t: t.op("IMPORT", 2, [], [0, 1, 8]).op("IMPORT", 3, [], [0, 1, 8]),
    "dirty without a fence": lambda t: t.op("DIRTY", 0, [1]),
    "write to a snapshot": lambda t: t.op("PIN", 2, [1]).op("ASSIGN", 0, [2, 1]),
    "dirty snapshot": lambda t: t.op("PIN", 2, [1]).op("DIRTY", 0, [2]),
    "matrix product of a number": lambda t: t.op("MATMUL", 2, [1, 1 << 31 | 11], [0], dtype="none"),
    "matrix product of misfits": lambda t: t.full(2, [3, 5]).op("MATMUL", 3, [2, 2], dtype="none"),
    "matrix product of no precision": lambda t: t.full(2, [3, 3]).op("MATMUL", 3, [2, 2], dtype="INT16"),
    "ranks of a float": lambda t: t.op("RANKS", 2, [1]),
    "ranks of a grid with gaps": lambda t: (t.full(2, [4, 8]).op("CAST", 3, [2], dtype="BOOL")
                                            .op("VIEW", 4, [3], [2, 0, 2, 4, 16, 1], "BOOL")
                                            .op("RANKS", 5, [4])),
    "places of more than there are": lambda t: masked(t).op("PLACES", 4, [2, 3], [9]),
    "places of a huge number": lambda t: masked(t).op("PLACES", 4, [2, 3], [BIG]),
    "places by ranks of another type": lambda t: masked(t).op("PLACES", 4, [2, 1], [3]),
    "places by ranks of another length": lambda t: (
        masked(t).op("ARANGE", 5, [1 << 31 | DTYPE["INT64"]] * 2, [0, 1, 2], "INT64")
        .op("PLACES", 4, [2, 5], [3])),
    "elements of another length": lambda t: masked(t).full(5, [9]).op("COMPACT", 4, [5, 2, 3], [3]),
    "elements of a cube": lambda t: (masked(t).full(5, [8, 1, 1])
                                     .op("COMPACT", 4, [5, 2, 3], [3])),
    "elements of a number": lambda t: masked(t).op("COMPACT", 4, [1 << 31 | 11, 2, 3], [0, 3]),
    "sparse product of a number": lambda t: numbers(t, 2, 12).op("SPARSE", 3, [1, 2, 1 << 31 | 11], [0]),
    "sparse product by a floating structure": lambda t: t.full(2, [12]).op("SPARSE", 3, [1, 2, 1]),
    "sparse product of other types": lambda t: numbers(t, 2, 12).op("SPARSE", 3, [1, 2, 2]),
    "sparse product of less than no rows": lambda t: numbers(t, 2, 8).op("SPARSE", 3, [1, 2, 1]),
    "sparse product with gaps": lambda t: (numbers(t, 2, 24).op("VIEW", 3, [2], [1, 0, 12, 16], "INT64")
                                           .op("SPARSE", 4, [1, 3, 1])),
    "sparse product with a cube": lambda t: numbers(t, 2, 12).full(3, [2, 2, 2]).op("SPARSE", 4, [1, 2, 3]),
    "sparse product without entries": lambda t: numbers(t, 2, 4).full(3, [0]).op("SPARSE", 4, [3, 2, 1]),
    "sparse product of no columns": lambda t: numbers(t, 2, 12).full(3, [0]).op("SPARSE", 4, [1, 2, 3]),
    "list of nothing": lambda t: t.op("CONCATENATE", 2, [0], [0]),
    "list beyond the limit": lambda t: t.op("CONCATENATE", 2, [65, *[1] * 65], [0]),
    "list of 2^32-1": lambda t: t.op("CONCATENATE", 2, [(1 << 32) - 1, 1], [0]),
    "list cut short": lambda t: t.op("CONCATENATE", 2, [4, 1, 1], [0]),
    "list without a length": lambda t: t.op("CONCATENATE", 2, [], [0]),
    "list with a number": lambda t: t.op("CONCATENATE", 2, [2, 1, 1 << 31 | 11], [0, 0]),
    "list of an unknown id": lambda t: t.op("CONCATENATE", 2, [2, 1, 77], [0]),
    "list along an axis that is not there": lambda t: t.op("CONCATENATE", 2, [2, 1, 1], [1]),
    "list along axis 2^32-1": lambda t: t.op("CONCATENATE", 2, [2, 1, 1], [(1 << 32) - 1]),
    "list stacked beyond the axes": lambda t: t.full(2, [1] * 8).op("CONCATENATE", 3, [2, 2, 2], [1 << 32]),
    "list of misfits": lambda t: t.full(2, [3, 5]).op("CONCATENATE", 3, [2, 1, 2], [0]),
    "list of too much": lambda t: t.full(2, [1 << 40]).op("CONCATENATE", 3, [64, *[2] * 64], [0]),
    "empty maximum": lambda t: t.full(2, [0]).op("MAX", 3, [2], [1]),
}


def masked(t):
    """Array 2 is a mask of the eight elements of array 1, array 3 its ranks."""
    return t.op("CAST", 2, [1], dtype="BOOL").op("RANKS", 3, [2])


def test_a_count_that_the_mask_does_not_have(siege):
    """The worker looks: nothing is written beyond the result, and only this client is told."""
    with Raw(siege.daemon.socket) as c:
        for k, (op, claim) in enumerate([("COMPACT", 7), ("COMPACT", 0), ("PLACES", 3),
                                         ("PLACES", 7)]):
            t = masked(Trace().full(1, [8]))
            t.op(op, 4, [1, 2, 3] if op == "COMPACT" else [2, 3], [claim])
            t.op("SQRT", 5, [4])
            c.request(t.message())
            (code, text, _), = c.read(10 + k, 5).extents()
            if claim:  # of none there is nothing to look at
                assert code == E_INVALID and f"the {claim} elements" in text
            else:
                assert code == 0
            c.request(Trace().drop(1, 2, 3, 4, 5).message())
        t = masked(Trace().full(1, [8]))
        t.op("ARANGE", 6, [1 << 31 | DTYPE["INT64"]] * 2, [8, 1, 1], "INT64")
        c.request(t.op("PLACES", 7, [2, 6], [8]).message())
        (code, _, _), = c.read(20, 7).extents()
        assert code == 0
        t = Trace().op("ARANGE", 8, [1 << 31 | DTYPE["INT64"]] * 2, [(1 << 62), 1, 1], "INT64")
        c.request(t.op("PLACES", 9, [2, 8], [8]).message())
        (code, _, _), = c.read(21, 9).extents()
        assert code == E_INVALID
    siege.check()


def numbers(t, out, n, start=0, step=1):
    return t.op("ARANGE", out, [1 << 31 | DTYPE["INT64"]] * 2, [start & BIG, step & BIG, n], "INT64")


@pytest.mark.parametrize("start, step, rows, right", [
    (0, 1, 7, True), (0, 1, 6, False), (0, 0, 7, False), (1, 0, 7, False), (1, 1, 9, False), (0, -1, 7, False),
    (0, 2, 20, False), (3, 0, 7, False), (1 << 62, 1, 7, False), (-5, 0, 7, False), (-(1 << 63), 1 << 62, 7, False),
    ((1 << 63) - 1, 0, 7, False)])
@pytest.mark.parametrize("columns", [(), (1,), (3,), (40,)])
def test_a_structure_that_lies(siege, start, step, rows, right, columns):
    """The worker looks at each number of it: nothing beyond the operands is touched, and only this
    client is told."""
    with Raw(siege.daemon.socket) as c:
        # Three rows of an entry each, of columns 4 to 6, where it is right.
        t = numbers(Trace().full(1, [3]), 2, 7, start, step).full(3, [rows, *columns])
        t.op("SPARSE", 4, [1, 2, 3]).op("SQRT", 5, [4])
        c.request(t.message())
        (code, text, _), = c.read(10, 5).extents()
        assert code == (0 if right else E_INVALID), text
        assert right or "sparse matrix" in text
        c.request(Trace().full(6, [4]).op("ADD", 7, [6, 6]).message())
        assert c.read(11, 7).extents()[0][0] == 0
    siege.check()


@pytest.mark.parametrize("name", TRACES)
def test_wrong_trace(siege, name):
    with Raw(siege.daemon.socket) as c:
        trace = Trace().full(1, [8])
        TRACES[name](trace)
        c.request(trace.message())
        refused(c)
    siege.check()


@pytest.mark.parametrize("request_, code", [
    (raw.demand(1, 5), E_UNKNOWN), (raw.demand(1), E_LIMIT),
    (raw.demand(1, *[1] * 257), E_LIMIT), (raw.demand(1, 1, (1 << 32) - 1), E_UNKNOWN),
    (raw.demand(1, 1, also=[1, 5]), E_UNKNOWN), (raw.demand(1, 1, also=[0]), E_UNKNOWN),
    (raw.demand(1, 1, also=[1] * 65), E_LIMIT), (raw.demand(1, also=[1]), E_LIMIT),
    (raw.demand(1, 5, also=[1]), E_UNKNOWN),
    (raw.nested(4, raw.number(1, 1) + raw.column(2, "I", [1]) + raw.number(4, 1)), E_PROTOCOL),
    (raw.nested(4, raw.number(1, 1) + raw.column(2, "I", [1]) + raw.nested(4, b"123")), E_PROTOCOL),
    (raw.explain(1, 5), E_UNKNOWN), (raw.nested(9, raw.number(1, 1) + raw.number(2, 1)), E_PROTOCOL),
    (raw.number(10, 1) + raw.number(10, 2), E_PROTOCOL), (raw.fixed64(10, 1), E_PROTOCOL),
    (raw.fence(1, 5), E_UNKNOWN), (raw.unlease(1 << 40, 64), E_PROTOCOL),
    (raw.unlease(0, 0), E_PROTOCOL), (raw.unlease(3, 64), E_PROTOCOL),
    (raw.unlease(0, BIG), E_PROTOCOL), (raw.offer(1, 9), E_PROTOCOL),
    (raw.offer(1, (1 << 32) - 1), E_PROTOCOL), (raw.nested(16, raw.nested(1, b"1")), E_PROTOCOL),
], ids=["demand unknown", "demand none", "demand 257", "demand some", "also unknown", "also 0",
        "also 65", "also alone", "also of an unknown", "also a number", "also of 3 bytes",
        "explain unknown", "explain of a varint", "near twice", "near of 8 bytes", "fence unknown",
        "unlease beyond", "unlease nothing", "unlease off the grid", "unlease all",
        "offer of a device beyond", "offer of the last number", "offer of bytes"])
def test_wrong_request(siege, request_, code):
    with Raw(siege.daemon.socket) as c:
        c.request(Trace().full(1, [8]).message())
        c.request(request_)
        refused(c, code)
    siege.check()


def test_the_processor_offers_nothing_besides(siege):
    """Nor does a choice by cost; who asks twice is told twice."""
    with Raw(siege.daemon.socket) as c:
        for device in (0, 1, 2):
            for rates in (0, 1):
                c.request(raw.offer(7, device, rates))
                told = c.receive()
                assert (told.kind, told.ticket, told.fields) == ("offered", 7, {1: [7], 3: [1]})


def test_explanations_come_in_any_state_and_have_a_bound(siege):
    with Raw(siege.daemon.socket) as c:
        trace = Trace().full(1, [64], 4.0).op("SQRT", 2, [1])
        c.request(trace.message(), raw.explain(1, 2))
        assert c.receive().fields[2] == [b"not computed yet\n"]
        c.request(raw.demand(2, 2), raw.explain(3, 2))
        replies = [c.receive(), c.receive()]
        told, = (r for r in replies if r.kind == "explained")
        assert told.ticket == 3 and told.fields[2] == [b"not computed yet\n"]
        c.request(raw.explain(4, 2))
        assert "sqrt" in c.receive().fields[2][0].decode()
        # A kernel for each: nine hundred sums of different lengths.
        many, last = Trace(), 5898
        for i in range(900):
            many.full(10 + i, [10 + i], 2.0).op("SUM", 2000 + i, [10 + i], [1])
        c.request(many.message())
        total = Trace().op("ADD", 5000, [2000, 2001])
        for i in range(2, 900):
            total.op("ADD", 4999 + i, [4998 + i, 2000 + i])
        c.request(total.message())
        c.read(5, last)
        c.request(raw.explain(6, last))
        text = c.receive().fields[2][0].decode()
        assert "plan" in text and len(text) < 16 << 10
        for i in range(300):
            c.request(raw.explain(100 + i, last))
            assert c.receive().ticket == 100 + i
        # Nothing is read from one who does not read; it may go with its answers unread.
        for i in range(5):
            c.request(raw.explain(500 + i, last))
    siege.check()


def test_what_is_asked_of_besides_runs_nothing(siege):
    """It is told of where it is stored by then, and neither waited for nor computed; an answer
    to who did not ask has no word of it."""
    with Raw(siege.daemon.socket) as c:
        trace = Trace().full(1, [64], 4.0)
        # An elementwise operation would be computed along.
        trace.op("SQRT", 2, [1]).op("SIN", 3, [2]).op("CUMSUM", 4, [1], [0]).op("SQRT", 5, [4])
        c.request(trace.drop(4).message())
        reply = c.read(7, 3, also=[1, 2, 3, 5])
        first, second, third, other = reply.also()
        assert reply.extents()[0][0] == 0
        # 5 reads 1, still, and the question itself reads 3.
        assert first[1] is False and second[1] is True and third[1] is False and other is None
        assert len({first[0], second[0], third[0]}) == 3
        assert siege.daemon.status()["pending_ops_count"] >= 2
        reply = c.read(8, 5, also=[1, 2])
        assert reply.also() == [(first[0], True), second]
        assert 3 not in c.read(9, 5).fields
        # A value that failed is not there; nor does it fail the answer.
        c.request(Trace().full(6, [4], 9.0).op("CAST", 7, [6], dtype="INT64").message())
        index = Trace().op("INDEX", 8, [7, 1 << 31 | DTYPE["INT64"]], [4, 0], dtype="BOOL")
        c.request(index.full(9, [4]).message())
        assert c.read(10, 8).extents()[0][0] != 0
        reply = c.read(11, 9, also=[8, 9])
        assert reply.extents()[0][0] == 0 and reply.also()[0] is None
    siege.check()


@pytest.mark.parametrize("size", [1 << 40, BIG, 1 << 63])
def test_lease_beyond_reason(siege, size):
    """Too much is refused; the connection goes on."""
    with Raw(siege.daemon.socket) as c:
        c.request(raw.lease(5, size))
        reply = c.receive()
        assert (reply.kind, reply.ticket) == ("failure", 5)
        c.request(Trace().full(1, [8]).message())
        assert c.read(6, 1).extents()[0][0] == 0
    siege.check()


def test_cancel_of_nothing(siege):
    with Raw(siege.daemon.socket) as c:
        c.request(raw.cancel(99))
        c.request(Trace().full(1, [8]).message())
        assert c.read(6, 1).extents()[0][0] == 0
    siege.check()


def test_same_ticket_twice(siege):
    """Tickets are the client's business: every demand is answered."""
    with Raw(siege.daemon.socket) as c:
        c.request(Trace().full(1, [100_000]).op("SUM", 2, [1], [1]).message())
        c.request(raw.demand(4, 2))
        c.request(raw.demand(4, 2))
        assert [c.receive().ticket, c.receive().ticket] == [4, 4]
    siege.check()


def test_scattered_ids(siege):
    """A client that picks its ids all over the table costs the others nothing."""
    with Raw(siege.daemon.socket) as c:
        c.request(Trace().op("EMPTY", (1 << 22) - 1, [], [0]).message())
        for turn in range(1, 4):
            trace = Trace()
            for i in range(3000):
                trace.op("EMPTY", i * 1000 + turn, [], [0])
            c.request(trace.message())
        assert c.read(6, 2_999_001).extents()[0][0] == 0
    siege.check()
