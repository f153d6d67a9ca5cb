# SPDX-License-Identifier: Apache-2.0
"""The most memory that a process took, with what the daemon took for it.

Of braze: the client's and the worker's own pages and those of its arena, at the same
moment.  What the same processes took before the program's first array is subtracted:
the interpreter, NumPy, the compilers' children do not count.
"""

import os
import subprocess
import sys
import time

SAMPLE_SECONDS = 0.004


def anonymous(pid):
    """Bytes of a process's own pages; 0 when it has ended."""
    try:
        with open(f"/proc/{pid}/status") as f:
            return next((int(line.split()[1]) * 1024 for line in f if line.startswith("RssAnon")), 0)
    except (FileNotFoundError, ProcessLookupError):
        return 0


def arenas(pid):
    """Bytes of shared memory behind the descriptors of the daemon."""
    found = {}
    folder = f"/proc/{pid}/fd"
    for name in os.listdir(folder):
        try:
            if "memfd:braze-arena" in os.readlink(f"{folder}/{name}"):
                state = os.stat(f"{folder}/{name}")
                found[state.st_ino] = state.st_blocks * 512
        except OSError:
            continue
    return sum(found.values())


def watch(command, env, others):
    """The most bytes of a process and of what `others()` gives beside it."""
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    most = 0
    while process.poll() is None:
        most = max(most, anonymous(process.pid) + others())
        time.sleep(SAMPLE_SECONDS)
    return most


def peak(arguments, env, daemon):
    """Bytes that the program took above an empty one: `whole` of hasting, three numbers."""
    def others():
        return 0
    if arguments[2] != "numpy":
        worker = daemon.ask("/status")["worker_pid"]

        def others():
            return anonymous(worker) + arenas(daemon.process.pid)
    empty = [*arguments[:3], "hasting", "tiny"]
    low, high = (watch([sys.executable, "-m", *a], env, others) for a in (empty, arguments))
    return max(high - low, 0)
