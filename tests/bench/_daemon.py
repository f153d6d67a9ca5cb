# SPDX-License-Identifier: Apache-2.0
"""A daemon of the benchmarks' own, and questions to its status socket."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("braze")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(10)
        self.sock.connect(self.path)


def ask(status, page):
    """A page of the status socket."""
    with contextlib.closing(Unix(status)) as connection:
        connection.request("GET", page)
        return json.loads(connection.getresponse().read())


def settle(status, seconds):
    """Wait until no kernel is being compiled."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if all(k["state"] != "compiling" for k in ask(status, "/kernels")["kernels"]):
            return
        time.sleep(0.02)


class Daemon:
    """brazed on a socket in a temporary folder."""

    def __init__(self, *options, cores=None):
        self.folder = tempfile.TemporaryDirectory(prefix="braze-bench-")
        self.socket = os.path.join(self.folder.name, "b.sock")
        self.status = os.path.join(self.folder.name, "b.status.sock")
        self.options = options
        self.cores = cores
        self.start()

    def start(self):
        # As what it is compared with: a library chooses its kernels by the processor.
        env = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"}
        env.update(BRAZE_CACHE_DIR=os.path.join(self.folder.name, "cache"), BRAZE_LOG="warn")
        command = [str(BUILD / "bin/brazed"), "-S", self.socket, *self.options]
        pin = (lambda: os.sched_setaffinity(0, self.cores)) if self.cores else None
        self.process = subprocess.Popen(command, env=env, preexec_fn=pin)
        deadline = time.monotonic() + 10
        while not os.path.exists(self.status):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("brazed did not start")
            time.sleep(0.01)

    def ask(self, page):
        return ask(self.status, page)

    def kernels(self):
        return {k["id"]: k for k in self.ask("/kernels")["kernels"]}

    def settle(self, seconds=20):
        settle(self.status, seconds)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(10)

    def close(self):
        self.stop()
        self.folder.cleanup()
