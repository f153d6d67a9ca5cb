# SPDX-License-Identifier: Apache-2.0
"""A daemon with an innocent client at work, while a test does its worst.

After each attack check() proves that the innocent got right results, that nothing
of the attacker is left in the daemon, and that the processes are the same.
"""

import contextlib
import json
import pathlib

from harness import Daemon, finish, wait_until

INNOCENT = pathlib.Path(__file__).parent / "programs" / "innocent.py"
LEVELS = ("clients_count", "arrays_count", "pending_ops_count", "jobs_in_flight_count",
          "fds_count", "client_bytes")
# What one turn of the daemon's loop may do, whoever attacks; how long that takes is the
# machine's affair, and is printed only.  A packet of each client; of operations what two
# attackers' packets can hold and what planning may look at for them and the innocent.
PACKETS_OF_A_TURN = 64
OPERATIONS_OF_A_TURN = 24_000


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
        """Pause the innocent: the turns it had since the last time."""
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
        return done

    def go(self):
        self.innocent.stdin.write("go\n")
        self.innocent.stdin.flush()

    def pass_turns(self, n):
        """Wait until the innocent has had so many more turns."""
        goal = self.turns + n
        while self.turns < goal:
            self.rest()
            self.go()

    def check(self, worker_killed=False, patience=15):
        """All is as it was."""
        self.whole = False
        # At least one turn that began after the attack.
        self.rest()
        self.go()
        assert self.rest() > 0
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

    def check_turns(self, status):
        most = status["loop_most"]
        print(f"longest turn of the loop: {status['loop_longest_iteration_seconds'] * 1e6:.0f} us, "
              f"{status['loop_longest_wall_seconds'] * 1e6:.0f} us by the clock; the most in one: "
              f"{most['packets']:.0f} packets, {most['operations']:.0f} operations")
        assert 0 < most["packets"] <= PACKETS_OF_A_TURN
        assert 0 < most["operations"] <= OPERATIONS_OF_A_TURN

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
