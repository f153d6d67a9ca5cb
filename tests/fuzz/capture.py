# SPDX-License-Identifier: Apache-2.0
"""tests/fuzz/capture.py - seeds of fuzz_decode and fuzz_reply from a real program.

In:  a daemon's socket and a Python program that uses braze:
         capture.py /run/user/1000/braze/braze-1.sock NAME program.py
Out: corpus/decode/NAME and corpus/reply/NAME: the packets of the client and of the
     daemon, each after its length in two bytes. At most LIMIT bytes of each.

Stands between the two and hands every packet on, descriptors included.
"""

import os
import select
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

CORPUS = Path(__file__).resolve().parent / "corpus"
PACKET, LIMIT = 60 * 1024, 4096


def forward(source, target):
    """One packet; None at the end of the connection."""
    data, fds, _, _ = socket.recv_fds(source, PACKET, 2)
    if not data:
        return None
    socket.send_fds(target, [data], fds)
    for fd in fds:
        os.close(fd)
    return data


def exchange(client, daemon):
    said = {client: [], daemon: []}
    other = {client: daemon, daemon: client}
    while True:
        for end in select.select([client, daemon], [], [])[0]:
            packet = forward(end, other[end])
            if packet is None:
                return said[client], said[daemon]
            said[end].append(packet)


def write(path, first, packets):
    seed = first
    for packet in packets:
        piece = len(packet).to_bytes(2, "little") + packet
        if len(seed) + len(piece) > LIMIT:
            break
        seed += piece
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(seed)


def main():
    real, name, program = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/b.sock"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(path)
        listener.listen()
        child = subprocess.Popen([sys.executable, program],
                                 env=dict(os.environ, BRAZE_SOCKET=path))
        client = listener.accept()[0]
        daemon = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        daemon.connect(real)
        requests, replies = exchange(client, daemon)
        child.wait()
    write(CORPUS / "decode" / name, b"", requests)
    # The first byte of fuzz_reply's input chooses the hello (0) or what follows it;
    # the hello is told how many descriptors come with it.
    write(CORPUS / "reply" / f"{name}_hello", b"\0\1", replies[:1])
    write(CORPUS / "reply" / name, b"\1", replies[1:])


if __name__ == "__main__":
    main()
