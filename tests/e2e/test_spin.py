# SPDX-License-Identifier: Apache-2.0
"""Who waits for a message looks for it for a moment (`spin_us`): the answers are the same, an idle daemon
sleeps, and a setting that is none is refused."""

import subprocess
import time

import pytest
from harness import Daemon, find_daemon

PROGRAM = """
import braze, braze.numpy as np, numpy
x = np.asarray(numpy.arange(100000.0))
for k in range(50):
    y = x * k + 1
    assert float(y.sum()) == float((numpy.arange(100000.0) * k + 1).sum())
    braze.wait(y)
"""


def spent(pid):
    """Seconds of processor time of a process."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


@pytest.mark.parametrize("daemons, clients", [("300", "300"), ("300", "0"), ("0", "300"), ("10000", "10000")])
def test_answers_are_the_same(daemons, clients):
    with Daemon(spin_us=daemons) as daemon:
        daemon.run(PROGRAM, BRAZE_SPIN_US=clients, BRAZE_NEAR="0")


def test_an_idle_daemon_sleeps():
    with Daemon(spin_us="10000") as daemon:
        daemon.run(PROGRAM, BRAZE_NEAR="0")
        time.sleep(0.2)
        before = spent(daemon.process.pid)
        time.sleep(2)
        assert spent(daemon.process.pid) - before <= 0.05


@pytest.mark.parametrize("wrong", ["often", "-5", "1.5"])
def test_a_setting_that_is_none(wrong, tmp_path):
    made = subprocess.run([find_daemon(), f"-osocket={tmp_path}/s", f"-ospin_us={wrong}"], capture_output=True,
                          text=True, timeout=20, check=False)
    assert made.returncode != 0 and "spin_us" in made.stderr and "auto" in made.stderr
