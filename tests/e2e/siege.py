# SPDX-License-Identifier: Apache-2.0
"""A daemon with an innocent client at work, while a test does its worst.

After each attack check() proves that the innocent got right results, that nothing
of the attacker is left in the daemon, and that the processes are the same.
"""

import contextlib
import json
import pathlib

import pytest

from harness import Daemon, finish, is_sanitized, wait_until

INNOCENT = pathlib.Path(__file__).parent / "programs" / "innocent.py"
LEVELS = ("clients_count", "arrays_count", "pending_ops_count", "jobs_in_flight_count",
          "fds_count", "client_bytes")
LOOP_LIMIT_US = 5000


class LongTurn(AssertionError):
    """The daemon's loop was busy for too long at a stretch."""


# A virtual machine can stop for milliseconds that are charged to whatever ran: a thread
# that only reads its clocks sees 2 to 4 ms of its own time missing every ten seconds.
# What a turn does takes long each time; so a long turn counts when the attack, begun anew
# with another daemon, has it three times running.  No other failure is tried again.
steady = pytest.mark.flaky(reruns=2, only_rerun="^LongTurn")


class Siege:
    def __init__(self, daemon):
        self.daemon = daemon
        self.innocent = daemon.popen(INNOCENT)
        self.turns = 0
        self.whole = True  # the last attack was checked and did no harm
        # Kernels compiled, files written, plans chosen: from here on the levels
        # are what they will be after every turn.
        wait_until(self._steady, 30, "the end of compiling")
        self.levels = self.read_levels()
        self.pid = self.daemon.status()["pid"]
        self.worker = self.daemon.status()["worker_pid"]
        self.go()

    def _steady(self):
        self.rest()
        self.go()
        self.rest()
        if self.turns < 10 or not self._compiled():
            self.go()
            return False
        return True

    def _compiled(self):
        states = {k["state"] for k in self.daemon.kernels()}
        kernels = self.daemon.status()["kernels"]
        return not states - {"ready", "absent"} and (
            kernels["disk_writes"] >= kernels["compiles"] > 0)

    def _status_between_files(self):
        status = self.daemon.status()
        return None if status["kernels"]["disk_work"] else status

    def read_levels(self):
        # A file of the cache that is being read or written is a descriptor of nobody's.
        status = wait_until(self._status_between_files, what="the end of the disk's work")
        return {name: status[name] for name in LEVELS}

    def rest(self):
        """Pause the innocent: what it did since the last time."""
        try:
            self.innocent.stdin.write("rest\n")
            self.innocent.stdin.flush()
        except BrokenPipeError:
            finish(self.innocent)
        line = self.innocent.stdout.readline()
        if not line:  # it failed; say how
            finish(self.innocent)
            raise AssertionError("the innocent went home")
        figures = json.loads(line)
        done, self.turns = figures["turns"] - self.turns, figures["turns"]
        return done, figures["longest"]

    def go(self):
        self.innocent.stdin.write("go\n")
        self.innocent.stdin.flush()

    def check(self, worker_killed=False, patience=15):
        """All is as it was; the innocent's longest turn in seconds."""
        self.whole = False
        # At least one turn that began after the attack.
        self.rest()
        self.go()
        done, longest = self.rest()
        assert done > 0
        with contextlib.suppress(AssertionError):
            wait_until(lambda: self.read_levels() == self.levels, patience)
        assert self.read_levels() == self.levels
        status = self.daemon.status()
        assert status["pid"] == self.pid
        if worker_killed:
            assert status["worker_pid"] != self.worker
            self.worker = status["worker_pid"]
        assert status["worker_pid"] == self.worker
        self.go()
        self.check_turns(status)
        self.whole = True
        return longest

    def check_turns(self, status):
        longest = status["loop_longest_iteration_seconds"] * 1e6
        print(f"longest turn of the loop: {longest:.0f} us, "
              f"{status['loop_longest_wall_seconds'] * 1e6:.0f} us by the clock")
        if longest >= LOOP_LIMIT_US and not is_sanitized():
            raise LongTurn(f"{longest:.0f} us, at most {LOOP_LIMIT_US} are allowed")

    def end(self):
        """The innocent leaves in good order, and the daemon has kept its promise."""
        self.innocent.stdin.close()
        assert self.innocent.wait(20) == 0, self.innocent.stderr.read()
        wait_until(lambda: self.daemon.status()["clients_count"] == 0, what="its leaving")
        status = self.daemon.status()
        self.check_turns(status)
        log = self.daemon.log_text()
        assert "left open" not in log and "Sanitizer" not in log, log


@contextlib.contextmanager
def besieged(**settings):
    with Daemon(**settings) as daemon:
        siege = Siege(daemon)
        yield siege
        siege.end()
        assert daemon.stop() == 0


class Sieges:
    """One siege for many attacks, and another for those after one that did harm."""

    def __init__(self):
        self.daemon = self.siege = None

    def attack(self):
        """The siege for the next attack, whose test ends with check()."""
        if not self.siege or not self.siege.whole:
            self.give_up()
            self.daemon = Daemon().start()
            self.siege = Siege(self.daemon)
        self.siege.whole = False
        return self.siege

    def give_up(self):
        """The failure is known; what is left of the siege tells no more."""
        daemon, self.daemon, self.siege = self.daemon, None, None
        if daemon:
            daemon.close()

    def end(self):
        """After the last attack; a siege that was harmed has failed its test already."""
        try:
            if self.siege and self.siege.whole:
                self.siege.end()
                assert self.daemon.stop() == 0
        finally:
            self.give_up()
