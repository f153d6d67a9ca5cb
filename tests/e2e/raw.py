# SPDX-License-Identifier: Apache-2.0
"""A client that says whatever the test wants, honest or not (docs/protocol.md).

Messages are made byte by byte here: a protobuf library would refuse to make the
wrong ones.
"""

import functools
import re
import socket
import struct

from harness import ROOT

MAJOR = 1
PACKET = 60 * 1024
LEASE = 64 << 20  # the first one
VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
LIST = 15  # arity of an operation whose operands come after their number

OP = {}
DTYPE = {}


@functools.cache
def op_table_hash(below=257, root=ROOT):
    """FNV-1a over the rows below a number, as proto/op.c makes it; fills OP and DTYPE."""
    text = ""
    for row in re.findall(r"^OP\((.*?)\)", (root / "proto/ops.def").read_text(), re.M):
        wire, name, _, kind, arity, rule = [w.strip() for w in row.split(",")[:6]]
        if root == ROOT:
            OP[name] = int(wire), LIST if arity == "OP_LIST" else int(arity)
        if int(wire) >= below:
            continue
        text += f"{wire} {name} {kind} {arity} {rule};"
    for row in re.findall(r"^DTYPE\((.*?)\)", (ROOT / "proto/dtypes.def").read_text(), re.M):
        wire, name, _, size = [w.strip() for w in row.split(",")[:4]]
        DTYPE[name] = int(wire)
        if int(wire) >= 14:  # types that came later are told by the minor version
            continue
        text += f"{wire} {name} {size};"
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return value


op_table_hash()
DTYPE["none"] = 255  # of a product: at full precision


# ---- Bytes ----

def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3 | VARINT) + varint(value)


def nested(field, content):
    return varint(field << 3 | LENGTH) + varint(len(content)) + content


def fixed32(field, value):
    return varint(field << 3 | FIXED32) + struct.pack("<I", value)


def fixed64(field, value):
    return varint(field << 3 | FIXED64) + struct.pack("<Q", value & (1 << 64) - 1)


def column(field, code, values):
    return nested(field, struct.pack(f"<{len(values)}{code}", *values))


def parse(data):
    """{field: [value, ...]}; nested messages stay bytes."""
    fields, at = {}, 0

    def take():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = take()
        if tag & 7 == VARINT:
            value = take()
        else:
            n = {LENGTH: take, FIXED64: lambda: 8, FIXED32: lambda: 4}[tag & 7]()
            value, at = data[at:at + n], at + n
        fields.setdefault(tag >> 3, []).append(value)
    return fields


# ---- Messages ----

def hello(major=MAJOR, table=None, name="raw", flags=0, device="", minor=0, ops=0):
    table = op_table_hash() if table is None else table
    ops = ops or 1 + max(wire for wire, _ in OP.values())
    return nested(2, number(1, major) + number(2, minor) + fixed64(3, table) + number(4, 1)
                  + nested(5, name.encode()) + nested(6, device.encode()) + number(7, flags)
                  + number(8, ops))


class Trace:
    """Columns of ops; every word can be given by hand."""

    def __init__(self):
        self.head, self.out, self.inputs, self.imm = [], [], [], []
        self.device = 0

    def op(self, name, out, inputs=(), imm=(), dtype="FLOAT64"):
        wire, arity = OP[name]
        words = [w & (1 << 64) - 1 for w in imm]
        self.head.append(wire | DTYPE[dtype] << 16 | arity << 24 | min(len(words), 15) << 28)
        self.out.append(out)
        self.inputs.extend(inputs)
        self.imm.extend(words)
        return self

    def full(self, out, shape, value=1.0):
        """An array of one float64 value."""
        bits, = struct.unpack("<Q", struct.pack("<d", value))
        return self.op("FULL", out, [1 << 31 | DTYPE["FLOAT64"]], [bits, len(shape), *shape])

    def drop(self, *ids):
        for i in ids:
            self.op("DROP", 0, [i])
        return self

    def message(self):
        return nested(3, column(1, "I", self.head) + column(2, "I", self.out)
                      + column(3, "I", self.inputs) + column(4, "Q", self.imm)
                      + number(5, self.device))


def demand(ticket, *ids, also=()):
    return nested(4, number(1, ticket) + column(2, "I", ids)
                  + (column(4, "I", also) if also else b""))


def fence(ticket, array):
    return nested(5, number(1, ticket) + fixed32(2, array))


def cancel(ticket):
    return nested(6, number(1, ticket))


def lease(ticket, size):
    return nested(7, number(1, ticket) + number(2, size))


def unlease(offset, size):
    return nested(8, number(1, offset) + number(2, size))


def explain(ticket, array):
    return nested(9, number(1, ticket) + fixed32(2, array))


def compile_text(ticket, text):
    return nested(11, number(1, ticket) + nested(2, text))


def publish(ticket, array, label, access=0, number_=0):
    return nested(13, number(1, ticket) + fixed32(2, array) + nested(3, label.encode())
                  + number(4, access) + number(5, number_))


def open_published(ticket, array, label="", owner=0, key=""):
    return nested(14, number(1, ticket) + fixed32(2, array) + nested(3, label.encode())
                  + number(4, owner) + nested(5, key.encode()))


def export(ticket, array, room=0, dtype=0, shape=(), device="", look=0):
    return nested(15, number(1, ticket) + fixed32(2, array) + fixed32(3, room) + number(4, dtype)
                  + column(5, "q", shape) + nested(6, device.encode()) + number(7, look))


def offer(ticket, device, rates=0):
    return nested(16, number(1, ticket) + number(2, device) + (number(3, rates) if rates else b""))


def grid(number_, text, range_, levels=1, fast=0, only=0, sum_=0):
    """A loop of a kernel, for operations GRID."""
    return nested(17, number(1, number_) + nested(2, text.encode()) + number(3, range_)
                  + number(4, levels) + number(5, fast) + number(6, only)
                  + (number(7, sum_) if sum_ else b""))


class Reply:
    """One reply: its kind, its fields, and of a failure code and text."""

    KINDS = {1: "welcome", 2: "resolved", 3: "leased", 4: "failure", 5: "goodbye",
             6: "explained", 7: "compiled", 8: "published", 9: "opened", 10: "exported",
             11: "offered"}

    def __init__(self, data):
        (field, (content,)), = parse(data).items()
        self.kind = self.KINDS[field]
        self.fields = parse(content)
        self.ticket = self.fields.get(1, [0])[0]
        if self.kind in ("failure", "goodbye"):
            self.code = self.fields.get(2, [0])[0]
            self.text = self.fields.get(3, [b""])[0].decode()

    def extents(self):
        """Of a resolved: (error code, text, data) for each id."""
        rows = [parse(e) for e in self.fields.get(2, [])]
        return [(r.get(5, [0])[0], r.get(6, [b""])[0].decode(), r.get(4, [b""])[0])
                for r in rows]


    def also(self):
        """Of a resolved: (offset, alone) of each array asked of besides, None where it is not
        stored; [] when it tells of none."""
        words = [w for w, in struct.iter_unpack("<Q", self.fields.get(3, [b""])[0])]
        assert all(w % 64 in (1, 3) for w in words if w)
        return [(w - w % 64, w % 64 == 3) if w else None for w in words]


class Raw:
    """A connection.  request() counts; send() sends what it is given."""

    def __init__(self, path, greet=True):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(20)
        self.seq = 0
        self.welcome = None
        self.socket.connect(path)
        if greet:
            self.request(hello())
            self.welcome = self.receive()
            assert self.welcome.kind == "welcome", self.welcome.kind
            self.lease_offset = self.welcome.fields.get(5, [0])[0]
            self.lease_bytes = self.welcome.fields.get(6, [0])[0]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.socket.close()

    def send(self, data):
        self.socket.send(data)

    def request(self, *parts, seq=None):
        self.seq = self.seq + 1 if seq is None else seq
        self.send(number(1, self.seq) + b"".join(parts))

    def receive_fds(self):
        """The next reply with its descriptors; None when the connection is over."""
        try:
            data, fds, _, _ = socket.recv_fds(self.socket, 1 << 18, 4)
        except (ConnectionResetError, BrokenPipeError):
            return None, []
        return Reply(data) if data else None, fds

    def receive(self):
        """The next reply; None when the connection is over.  Descriptors are closed."""
        reply, fds = self.receive_fds()
        for fd in fds:
            socket.close(fd)
        return reply

    def ended(self):
        """Read to the end: the goodbye, or None when there was none."""
        last = None
        while True:
            reply = self.receive()
            if reply is None:
                return last
            last = reply if reply.kind == "goodbye" else last

    def read(self, ticket, *ids, also=()):
        """Demand and wait for the answer."""
        self.request(demand(ticket, *ids, also=also))
        while True:
            reply = self.receive()
            assert reply is not None, "the connection ended"
            if reply.ticket == ticket:
                return reply
