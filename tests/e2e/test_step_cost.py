# SPDX-License-Identifier: Apache-2.0
"""What a short step among many costs broker and worker, counted in instructions.

Counts hold on a machine of any load; they are of the interpreter at the level of
instructions that callgrind has (AVX2 at most), with one thread."""

import re
import shutil
import subprocess
import sys

import pytest
from harness import Daemon, clean_environment, find_daemon, is_sanitized, wait_until

STATEMENTS = 200
TURNS = 3
MOST = 8000  # of each of a statement's two steps, recording them and their loops included

PROGRAM = f"""
import subprocess
import braze, braze.numpy as np
a = np.ones(102)
def turn():
    for _ in range({STATEMENTS}):
        a[1:-1] += 0.1 * a[2:]
    braze.wait(a)
for _ in range(3):
    turn()
for turns in range(0, {TURNS + 1}, {TURNS}):
    for _ in range(turns):
        turn()
    for pid in PIDS:
        subprocess.run(["callgrind_control", "-d", str(pid)], check=True, capture_output=True)
"""


class Counted(Daemon):
    """A daemon whose processes callgrind runs."""

    def start(self):
        command = ["valgrind", "--tool=callgrind", "--trace-children=yes",
                   f"--callgrind-out-file={self.folder}/count.%p"]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*command, find_daemon(), "-S", self.socket, *self.arguments],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.env)
        wait_until(self._listens, 60, "brazed's start")
        return self


def counted(folder, pid):
    """Instructions between the program's two dumps."""
    with open(f"{folder}/count.{pid}.2") as f:
        return int(re.search(r"^totals: (\d+)$", f.read(), re.M).group(1))


@pytest.mark.skipif(not shutil.which("valgrind") or is_sanitized(),
                    reason="needs valgrind and a daemon without sanitizers")
def test_a_short_step_among_many_takes_at_most_8000_instructions():
    # An arena that valgrind finds room for.
    with Counted(tier=0, threads=1, arena_bytes="1G", spin_us=0) as daemon:
        pids = [daemon.pid, daemon.worker()]
        program = PROGRAM.replace("PIDS", repr(pids))
        subprocess.run([sys.executable, "-c", program], check=True, timeout=300,
                       env=clean_environment(BRAZE_SOCKET=daemon.socket))
        spent = sum(counted(daemon.folder, pid) for pid in pids)
    steps = 2 * STATEMENTS * TURNS
    assert spent / steps <= MOST, f"{spent / steps:.0f} instructions a step"
