# SPDX-License-Identifier: Apache-2.0
"""An upgrade to a program that knows one operation more: a copy of the tree with a row added to the
table, built here (minutes, the first time), takes over under load; the way back is refused."""

import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest
import raw
from harness import ROOT, find_daemon
from test_drain import ARRAYS, LOAD, drain, finish_with

pytestmark = pytest.mark.long
PARTS = ("client", "daemon", "deploy", "docs", "kernels", "proto")
WHOLE = max(wire for wire, _ in raw.OP.values()) + 1
ROW = f'OP({WHOLE}, LATER, "random.later", DRAW, 1, HEAD, 0, none, 7)\n'
SETTINGS = ("CMAKE_BUILD_TYPE=Release", "BRAZE_TESTS=OFF", "BRAZE_PYTHON=OFF", "BRAZE_FORTRAN=OFF")


def renew(path, data):
    """Write what is not there already, so that only that is compiled anew."""
    if path.exists() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def files():
    for part in PARTS:
        yield from (f for f in (ROOT / part).rglob("*") if f.is_file() and "__pycache__" not in f.parts)
    yield from (f for f in ROOT.iterdir() if f.is_file() and f.name.startswith("CMake"))


@pytest.fixture(scope="module")
def longer():
    """(its tree, its brazed)"""
    tree = pathlib.Path(find_daemon()).resolve().parents[1] / "longer"
    for file in files():
        data = file.read_bytes()
        if file == ROOT / "proto/ops.def":
            data += ROW.encode()
        renew(tree / file.relative_to(ROOT), data)
        shutil.copymode(file, tree / file.relative_to(ROOT))
    ninja = ["-G", "Ninja"] if shutil.which("ninja") else []
    for command in (["cmake", "-S", str(tree), "-B", str(tree / "build"), *ninja, *(f"-D{s}" for s in SETTINGS)],
                    ["cmake", "--build", str(tree / "build"), "--target", "brazed", "-j", str(os.cpu_count())]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return tree, str(tree / "build/bin/brazed")


PUBLISHED = """
import sys, braze, braze.numpy as np
with braze.shared():
    a = np.arange(200_000) * 3.0
braze.publish(a, "upgraded")
print("ready", flush=True)
sys.stdin.readline()
got = braze.open("upgraded")
assert float(got.sum()) == 3.0 * 199_999 * 100_000, float(got.sum())
print("good")
"""


def says_hello(daemon, ops, root):
    """What a client is told that knows so many operations."""
    with raw.Raw(daemon.socket, greet=False) as client:
        client.request(raw.hello(table=raw.op_table_hash(ops, root), ops=ops))
        return client.receive()


def test_under_load_and_not_back(longer, daemon):
    tree, program = longer
    assert WHOLE + 1 == 1 + max(map(int, re.findall(r"^OP\((\d+)", (tree / "proto/ops.def").read_text(), re.M)))
    clients = [daemon.popen(LOAD, n, BRAZE_NO_START="1") for n in range(4)]
    others = [daemon.popen(text, BRAZE_NO_START="1") for text in (ARRAYS, PUBLISHED)]
    for c in (*clients, *others):
        assert c.stdout.readline() == "ready\n"
    sessions = {row["session"] for row in daemon.clients()}
    assert "brazectl drain" in says_hello(daemon, WHOLE + 1, tree).text
    drain(daemon, "--binary", program)
    assert says_hello(daemon, WHOLE + 1, tree).kind == "welcome"
    assert says_hello(daemon, WHOLE, ROOT).kind == "welcome"
    assert {row["session"] for row in daemon.clients()} == sessions
    for _ in range(3):
        said = drain(daemon, "--binary", find_daemon(), good=False)
        assert "have different operations" in said and "goes on as it was" in said, said
        time.sleep(0.2)
        drain(daemon)  # into itself
        assert says_hello(daemon, WHOLE + 1, tree).kind == "welcome"
    assert daemon.status()["takeovers"]["refused"] == 3
    for c, words in zip(others, ("end\n", "\n")):
        assert finish_with(c, words) == "good\n"
    for c in clients:
        said = finish_with(c, "over\n")
        assert said.startswith("turns")
        print(said, end="")
