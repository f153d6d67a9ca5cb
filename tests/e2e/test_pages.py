# SPDX-License-Identifier: Apache-2.0
"""Large arrays lie in huge pages: what a client imports, and what the worker writes.

How many of them are made depends on how long one takes; the first that a process asks for
always is.
"""

import os
import re

import pytest

HUGE = 2 << 20
PROGRAM = """
import sys, numpy, braze, braze.numpy as np
def stop(word):
    print(word, flush=True)
    sys.stdin.readline()
host = numpy.arange(4e6)
mine = np.asarray(host)
stop("imported")
kept = [EXPRESSION]
braze.wait(*kept)
stop("computed")
assert numpy.array_equal(numpy.asarray(kept[0]), EXPRESSION_HOST)
"""


def can_be_had():
    """Does this kernel make huge pages for a file in memory on request?"""
    version = tuple(int(n) for n in re.findall(r"\d+", os.uname().release)[:2])
    return version >= (6, 1) and os.path.exists("/sys/kernel/mm/transparent_hugepage")


def by_huge_pages(pid):
    """Bytes of arenas that the process has mapped by huge pages."""
    with open(f"/proc/{pid}/smaps") as file:
        parts = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", file.read(), flags=re.M)
    return sum(1024 * int(size) for part in parts if "braze-arena" in part
               for size in re.findall(r"^(?:Shmem|File)PmdMapped: +(\d+) kB", part, re.M))


@pytest.mark.parametrize("mine, host", [
    ("mine * 2 + 1", "host * 2 + 1"),
    ("mine.reshape(2000, 2000).T + 1", "host.reshape(2000, 2000).T + 1"),
    ("mine.reshape(400_000, 10).sum(axis=1)", "host.reshape(400_000, 10).sum(axis=1)"),
    ("mine.reshape(-1, 100) - mine.reshape(-1, 100).mean(axis=1, keepdims=True)",
     "host.reshape(-1, 100) - host.reshape(-1, 100).mean(axis=1, keepdims=True)"),
    ("mine.reshape(-1, 10) @ np.ones((10, 10))", "host.reshape(-1, 10) @ numpy.ones((10, 10))"),
])
def test_of_imports_and_results(daemon, mine, host):
    least = HUGE if can_be_had() else 0
    client = daemon.popen(PROGRAM.replace("EXPRESSION_HOST", host).replace("EXPRESSION", mine))
    assert client.stdout.readline() == "imported\n", client.communicate()
    imported = by_huge_pages(client.pid)
    assert imported >= least
    client.stdin.write("\n")
    client.stdin.flush()
    assert client.stdout.readline() == "computed\n", client.communicate()
    # What was imported is mapped there by now, too.
    assert by_huge_pages(daemon.status()["worker_pid"]) >= imported + least
    _, errors = client.communicate("\n", timeout=60)
    assert client.returncode == 0, errors
    assert daemon.status()["worker_deaths_count"] == 0
