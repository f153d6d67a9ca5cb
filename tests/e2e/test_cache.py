# SPDX-License-Identifier: Apache-2.0
"""Compiled kernels outlive programs and daemons, and no damage to them matters."""

import json
import os
import pathlib
import random
import time

import pytest
from harness import Daemon, finish, wait_until

PROGRAM = """
import json, sys, numpy
import braze.numpy as np
host = numpy.linspace(0.1, 2, 100_000)
x = np.asarray(host)
for _ in range(int(sys.argv[1])):
    a = float((np.sin(x) * 2 + np.sqrt(x)).sum())
    b = numpy.asarray(np.exp(x) - x * 3)
    c = numpy.asarray((x.reshape(100, 1000) * 2).sum(axis=0))
    d = int((np.arange(50_000) % 7).max())
assert numpy.allclose(a, (numpy.sin(host) * 2 + numpy.sqrt(host)).sum(), rtol=1e-12)
assert numpy.allclose(b, numpy.exp(host) - host * 3, rtol=1e-12)
assert d == 6
print(json.dumps([a, b.tobytes().hex(), c.tobytes().hex(), d]))
"""


def compiled(daemon):
    """Wait until nothing is left to compile and to write; the kernels' figures."""
    def rest():
        figures = daemon.status()["kernels"]
        busy = any(k["state"] == "compiling" for k in daemon.kernels())
        return figures if not busy and figures["disk_writes"] >= figures["compiles"] else None

    wait_until(rest, 30, "the end of compiling")
    # A kernel whose last run has just been counted may be worth it now.
    time.sleep(0.05)
    return wait_until(rest, 30, "the end of compiling")


def files(daemon):
    return sorted(pathlib.Path(daemon.folder, "cache").glob("*.bzk"))


def test_compiled_once_for_ever(daemon):
    """A second process compiles nothing, nor does one after a restart."""
    first = daemon.run(PROGRAM, 6)
    figures = compiled(daemon)
    assert figures["compiles"] >= 3 and figures["compile_failures"] == 0
    ready = [k for k in daemon.kernels() if k["state"] == "ready"]
    assert len(ready) == figures["compiles"] and all(k["tier"] == 1 for k in ready)
    assert len(files(daemon)) == figures["compiles"]

    assert daemon.run(PROGRAM, 6) == first
    assert compiled(daemon)["compiles"] == figures["compiles"]

    assert daemon.stop() == 0
    daemon.start()
    assert daemon.run(PROGRAM, 6) == first
    again = compiled(daemon)
    assert again["compiles"] == 0 and again["disk_hits"] == figures["compiles"]
    assert all(k["from_disk"] for k in daemon.kernels() if k["state"] == "ready")


def test_two_cold_processes(daemon):
    """What two programs want at once is compiled once."""
    both = [daemon.popen(PROGRAM, 6) for _ in range(2)]
    assert len({finish(p) for p in both}) == 1
    compiled(daemon)
    keys = [k["key"] for k in daemon.kernels()]
    assert len(keys) == len(set(keys))
    figures = daemon.status()["kernels"]
    ready = sum(k["state"] == "ready" for k in daemon.kernels())
    assert figures["compiles"] == ready == len(files(daemon))


def test_tiers_agree():
    """Interpreted and compiled kernels give the same bits."""
    answers = []
    for tier in (0, 1):
        with Daemon(tier=tier) as daemon:
            answers.append([daemon.run(PROGRAM, n) for n in (1, 4)])
            assert (compiled(daemon)["compiles"] > 0) == (tier == 1)
            answers[-1].append(daemon.run(PROGRAM, 4))
    assert len({a for run in answers for a in run}) == 1


LARGE = """
import hashlib, sys, numpy
import braze.numpy as np
rng = numpy.random.default_rng(5)
x = rng.uniform(size=(1500, 2001))
y = rng.uniform(size=5_000_001).astype("float32")
z = rng.uniform(size=1_200_000) * (1 + 2j)
a, b, c = np.asarray(x), np.asarray(y), np.asarray(z)
flag = np.full(2_000_000, 5)
digest = set()
for _ in range(int(sys.argv[1])):
    out = np.asarray(x).copy()
    out[1:-1, 1:-1] = a[:-2, 1:-1] + a[2:, 1:-1] * 0.5
    parts = [out, b[1:] * 3 - b[:-1], c + c, a[:, :7] + 1, flag > 4, a - a[0]]
    parts = [numpy.asarray(p) for p in parts]
    digest.add(hashlib.sha256(b"".join(p.tobytes() for p in parts)).hexdigest())
want = x.copy()
want[1:-1, 1:-1] = x[:-2, 1:-1] + x[2:, 1:-1] * 0.5
for p, q in zip(parts, [want, y[1:] * numpy.float32(3) - y[:-1], z + z, x[:, :7] + 1,
                        numpy.full(2_000_000, True), x - x[0]], strict=True):
    assert p.dtype == q.dtype and numpy.array_equal(p, q)
assert len(digest) == 1
print(*digest)
"""


def test_large_results_agree():
    """Compiled kernels write results larger than the caches in another way."""
    answers = set()
    for tier in (0, 1):
        with Daemon(tier=tier) as daemon:
            answers.add(daemon.run(LARGE, 3))
            figures = compiled(daemon)
            assert figures["compile_failures"] == 0
            assert (figures["compiles"] >= 4) == (tier == 1)
            answers.add(daemon.run(LARGE, 2))
    assert len(answers) == 1


def damage_truncate(path, _):
    os.truncate(path, path.stat().st_size // 2)


def damage_flip(path, rng):
    content = bytearray(path.read_bytes())
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)


def damage_empty(path, _):
    path.write_bytes(b"")


def damage_foreign(path, _):
    path.write_bytes(b"\x7fELF" + b"not a kernel" * 1000)


def damage_directory(path, _):
    path.unlink()
    path.mkdir()


def damage_link(path, _):
    """Somebody's link to a file that is not the daemon's."""
    path.unlink()
    path.symlink_to("/etc/passwd")


def damage_swap(path, _):
    """Another kernel's good file under this name."""
    other = next(p for p in path.parent.glob("*.bzk") if p != path and p.stat().st_size)
    path.write_bytes(other.read_bytes())


@pytest.mark.parametrize("damage", [damage_truncate, damage_flip, damage_empty, damage_foreign,
                                    damage_directory, damage_link, damage_swap])
def test_damaged_files(damage):
    """Never run, reported, and written anew where that is possible."""
    with Daemon(tier="1") as daemon:  # compiles whatever it costs
        first = daemon.run(PROGRAM, 6)
        count = compiled(daemon)["compiles"]
        assert daemon.stop() == 0
        rng = random.Random(5)
        for path in files(daemon):
            damage(path, rng)
        daemon.start()
        assert daemon.run(PROGRAM, 6) == first
        anew = count - 1 if damage is damage_swap else count
        figures = compiled_or_failed(daemon, anew)
        assert figures["disk_hits"] == (1 if damage is damage_swap else 0)
        assert figures["compiles"] == anew
        # Damaged files count as errors too, so that the last write may be under way.
        good = 0 if damage is damage_directory else count
        wait_until(lambda: len(good_files(daemon)) == good, what=f"{good} good files")


def good_files(daemon):
    return [p for p in files(daemon)
            if p.is_file() and not p.is_symlink() and p.stat().st_size > 1000]


def compiled_or_failed(daemon, count):
    """As compiled(), where a file may be impossible to write."""
    def rest():
        figures = daemon.status()["kernels"]
        busy = any(k["state"] == "compiling" for k in daemon.kernels())
        done = figures["disk_writes"] + figures["disk_errors"] >= figures["compiles"] >= count
        return figures if not busy and done else None

    return wait_until(rest, 30, f"{count} kernels")


def test_daemon_killed_while_compiling(daemon):
    """Whatever moment it dies at, the cache serves the next daemon."""
    for kill in range(5):
        client = daemon.popen(PROGRAM, 400)
        wait_until(lambda: daemon.status()["kernels"]["misses"] > 0, 20, "work")
        time.sleep(0.04 + 0.07 * kill)
        daemon.kill()
        client.communicate(timeout=30)  # it may have come to its end and print
        daemon.start()
    first = daemon.run(PROGRAM, 6)
    figures = compiled(daemon)
    assert figures["disk_errors"] == 0
    daemon.stop()
    daemon.start()
    assert daemon.run(PROGRAM, 6) == first
    assert compiled(daemon)["compiles"] == 0


def test_tiny_memory():
    """Kernels are evicted, and nothing else changes."""
    program = ("import json, numpy, braze.numpy as np\n"
               "h = numpy.linspace(0, 1, 4096)\n"
               "x = np.asarray(h)\n"
               "for turn in range(3):\n"
               "    for k in range(1, 30):\n"
               "        y, w = x, h\n"
               "        for _ in range(k):\n"
               "            y, w = y * 1.5 + 0.25, w * 1.5 + 0.25\n"
               "        assert numpy.array_equal(numpy.asarray(y), w)\n")
    with Daemon(cache_memory_bytes="64K") as daemon:
        daemon.run(program)
        figures = daemon.status()
        assert figures["kernels"]["count"] <= 40
        assert figures["worker_deaths_count"] == 0
        assert daemon.run(PROGRAM, 2) == daemon.run(PROGRAM, 2)


def test_cache_is_private(daemon):
    daemon.run(PROGRAM, 6)
    compiled(daemon)
    folder = pathlib.Path(daemon.folder, "cache")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert all(p.stat().st_mode & 0o777 == 0o600 for p in files(daemon))
    assert not list(folder.glob("tmp-*"))


def test_cache_clear(daemon):
    daemon.run(PROGRAM, 6)
    compiled(daemon)
    assert files(daemon) and daemon.ctl("cache", "clear").returncode == 0
    assert not files(daemon)
    assert json.loads(daemon.ctl("--json", "cache").stdout)
    daemon.run(PROGRAM, 6)
