# SPDX-License-Identifier: Apache-2.0
"""Clients, workers and compile helpers that are killed at bad moments."""

import ctypes
import os
import pathlib
import signal
import struct
import time

import pytest
from harness import alive, children, crash_environment, finish, kill9, wait_until
from siege import besieged

VICTIM = pathlib.Path(__file__).parent / "programs" / "victim.py"
OVERWRITE_RACE = 5  # tries until a kill falls into a kernel that overwrites
PROGRESS_HEAD = 8  # bytes of the progress page (contract/command.h) before its threads
PROGRESS_ROW = struct.Struct("QIII")  # ticket, step, kernel and id of one


@pytest.fixture
def siege():
    with besieged() as siege:
        yield siege


def start(siege, what):
    """A victim that has said "ready"."""
    victim = siege.daemon.popen(VICTIM, what)
    assert victim.stdout.readline() == "ready\n", victim.stderr.read()
    return victim


def helper_of(daemon):
    for pid in children(daemon.pid):
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if b"--compile-helper" in words:
            return pid
    return 0


@pytest.mark.parametrize("after", [0.0, 0.01, 0.05, 0.2])
def test_client_killed_while_importing(siege, after):
    victim = start(siege, "import")
    time.sleep(after)
    kill9(victim.pid)
    siege.check()


@pytest.mark.parametrize("after", [0.0, 0.02, 0.1])
def test_client_killed_while_waiting(siege, after):
    """What it waited for stops, or ends and is dropped."""
    victim = start(siege, "demand")
    time.sleep(after)
    kill9(victim.pid)
    siege.check()


def test_worker_killed(siege):
    """The plan in flight runs again: its client sees the right result, late."""
    siege.rest()
    victim = siege.daemon.popen(VICTIM, "demand")
    assert victim.stdout.readline() == "ready\n"
    wait_until(lambda: siege.daemon.status()["jobs_in_flight_count"], what="a long kernel")
    kill9(siege.daemon.worker())
    siege.go()
    assert finish(victim) == "right\n"
    siege.check(worker_killed=True)
    assert siege.daemon.status()["worker_deaths_count"] == 1


def test_worker_killed_while_overwriting(siege):
    """What was being overwritten is lost by name; all else survives."""
    for attempt in range(OVERWRITE_RACE):
        siege.rest()
        victim = siege.daemon.popen(VICTIM, "inplace")
        assert victim.stdout.readline() == "ready\n"
        wait_until(lambda: siege.daemon.status()["jobs_in_flight_count"], what="a kernel")
        kill9(siege.daemon.worker())
        siege.go()
        said = finish(victim)
        siege.check(worker_killed=True)
        if said == "lost\n":
            return
        assert said == "right\n"
    pytest.fail("no kill fell into the kernel")


def test_worker_killed_again_and_again(siege):
    for kills in range(1, 6):
        worker = wait_until(siege.daemon.worker, what="a new worker")
        kill9(worker)
        wait_until(lambda: siege.daemon.worker() not in (0, worker), 5, "a new worker")
        siege.daemon.run("import braze.numpy as np; assert float(np.ones(9).sum()) == 9")
        siege.check(worker_killed=True)
        assert siege.daemon.status()["worker_deaths_count"] == kills


def test_kernel_that_crashes_is_quarantined():
    """Two faults in one kernel: its client gets an error, nobody else does."""
    with besieged(env=crash_environment()) as siege:
        crash_twice(siege)


def crash_twice(siege):
    siege.rest()
    victim = siege.daemon.popen(VICTIM, "again")
    assert victim.stdout.readline() == "ready\n"
    kills = 0
    while not quarantined(siege):
        kills += 1
        assert kills <= 2, siege.daemon.log_text()
        pid, thread = stopped_in_a_step(siege)
        # To the very thread, which then does nothing else any more.
        assert ctypes.CDLL(None).tgkill(pid, thread, signal.SIGSEGV) == 0
        os.kill(pid, signal.SIGCONT)
        wait_until(lambda k=kills: siege.daemon.status()["worker_deaths_count"] == k)
    siege.go()
    victim.communicate(timeout=30)
    assert victim.returncode == 1, siege.daemon.log_text()
    assert kills == 2
    siege.check(worker_killed=True)
    assert siege.daemon.status()["worker_deaths_count"] == kills


def stopped_in_a_step(siege):
    """The worker and its command thread, stopped while it runs a step: between two of a kernel's
    slices, from the answer to the first on, there is nobody to blame."""
    pid = wait_until(siege.daemon.worker, what="a worker")

    def look():
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: threads_are_stopped(pid), what="a stopped worker")
        ticket, _, kernel, thread = PROGRESS_ROW.unpack_from(progress(pid), PROGRESS_HEAD)
        if ticket and kernel:
            return thread
        os.kill(pid, signal.SIGCONT)
        return None

    return pid, wait_until(look, 30, "a long kernel")


def threads_are_stopped(pid):
    """Are all threads of a process stopped?"""
    states = [pathlib.Path(task, "stat").read_text().rpartition(")")[2].split()[0]
              for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]
    return all(state == "T" for state in states)


def progress(pid):
    """The page in which a worker shows what it runs; its command thread comes first."""
    page = next(fd for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir()
                if "braze-progress" in os.readlink(fd))
    return page.read_bytes()


def quarantined(siege):
    return [k for k in siege.daemon.kernels() if k["state"] == "quarantined"]


def test_helper_killed_while_compiling(siege):
    """The kernel is compiled all the same, and nothing of the helper is left."""
    compiles = siege.daemon.status()["kernels"]["compiles"]
    program = ("import numpy, braze.numpy as np\n"
               "x = np.asarray(numpy.linspace(0, 1, 200_000))\n"
               "for i in range(200):\n"
               "    y = x\n"
               "    for _ in range(20): y = np.sqrt(y * y + 0.5)\n"
               "    got = numpy.asarray(y)\n"
               "    h = numpy.linspace(0, 1, 200_000)\n"
               "    for _ in range(20): h = numpy.sqrt(h * h + 0.5)\n"
               "    assert numpy.array_equal(got, h)\n")
    client = siege.daemon.popen(program)
    wait_until(lambda: any(k["state"] == "compiling" for k in siege.daemon.kernels()), 20,
               "a compilation")
    helper = wait_until(lambda: helper_of(siege.daemon), what="a helper")
    orphans = wait_until(lambda: children(helper), 2, "a compiler")
    kill9(helper)
    finish(client)
    wait_until(lambda: siege.daemon.status()["kernels"]["helper_deaths"] == 1)
    wait_until(lambda: siege.daemon.status()["kernels"]["compiles"] > compiles, 20,
               "the second try")
    wait_until(lambda: not any(alive(pid) for pid in orphans), 10, "the compiler's end")
    siege.check()
