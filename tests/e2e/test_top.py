# SPDX-License-Identifier: Apache-2.0
"""brazectl top in a pseudo terminal: what it shows, its keys, and the terminal as it was found."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest
from harness import Daemon, finish, find_ctl, wait_until

USE = ("import sys, braze, braze.numpy as np\nbraze.session(name=sys.argv[1])\n"
       "float((np.ones(50_000) * 2).sum())\nprint('here', flush=True)\nsys.stdin.readline()\n")


class Terminal:
    """A pseudo terminal with brazectl top in it, and what it has drawn, as lines."""

    def __init__(self, daemon, rows=24, columns=80):
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        self.raw = b""
        self.process = subprocess.Popen(
            [find_ctl(), "--socket", daemon.status_socket, "top"], stdin=self.slave, stdout=self.slave,
            stderr=self.slave, env={**os.environ, "LC_ALL": "C.UTF-8"}, start_new_session=True)

    def resize(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        while select.select([self.master], [], [], 0.05)[0]:
            self.raw += os.read(self.master, 65536)
        return self.raw.decode(errors="replace")

    def lines(self):
        """Of the last whole frame."""
        frames = re.findall(r"\x1b\[H(.*?)\x1b\[J", self.read(), re.S)
        text = frames[-1] if frames else ""
        return [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", line).rstrip() for line in text.split("\r\n")]

    def shows(self, pattern):
        wait_until(lambda: re.search(pattern, "\n".join(self.lines()), re.M), 10)
        return self.lines()

    def type(self, keys):
        os.write(self.master, keys.encode())

    def end(self):
        """Its status, once it has ended; the terminal must be as it was."""
        status = self.process.wait(10)
        text = self.read()
        assert termios.tcgetattr(self.slave) == self.before
        assert text.rindex("\x1b[?1049l") > text.rindex("\x1b[?1049h")
        assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")
        return status

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture(scope="module")
def busy():
    """A daemon with three sessions."""
    with Daemon() as daemon:
        clients = [daemon.popen(USE, name) for name in ("alpha", "beta 模型", "gamma")]
        for client in clients:
            assert client.stdout.readline() == "here\n"
        yield daemon
        for client in clients:
            finish(client)


@pytest.fixture
def terminal(busy):
    made = []

    def make(*size, daemon=busy):
        made.append(Terminal(daemon, *size))
        return made[-1]

    yield make
    for t in made:
        t.close()


@pytest.mark.parametrize(("rows", "columns"), [(24, 80), (24, 160), (8, 40), (5, 20), (50, 300)])
def test_it_fits_the_terminal(terminal, rows, columns):
    t = terminal(rows, columns)
    lines = t.shows(r"alpha" if rows > 5 else r"NAME")
    assert len(lines) <= rows
    # A wide character takes two columns.
    assert all(len(line) + line.count("模") + line.count("型") <= columns for line in lines)
    if columns >= 80:
        assert "3 sessions" in lines[0] and "cpu usable" in lines[1]
        for title in ("NAME", "BUSY%", "DEVICE", "MEMORY", "QUEUE", "PLANS", "KERN"):
            assert title in lines[2]
    t.type("q")
    assert t.end() == 0


def test_resizing(terminal):
    t = terminal()
    t.shows("alpha")
    t.resize(24, 200)
    os.kill(t.process.pid, signal.SIGWINCH)
    t.shows("ENVIRONMENT")
    t.type("q")
    assert t.end() == 0


def order(lines):
    return [w for line in lines for w in re.findall(r"alpha|beta|gamma", line)]


def test_sort_reverse_and_filter(terminal):
    t = terminal()
    t.shows("gamma")
    t.type("<<<")  # BUSY%, from there to NAME
    assert order(t.shows("NAMEv")) == ["alpha", "beta", "gamma"]
    t.type("r")
    assert order(t.shows(r"NAME\^")) == ["gamma", "beta", "alpha"]
    t.type("/AMM\r")
    wait_until(lambda: order(t.lines()) == ["gamma"])
    t.shows("filter: AMM")
    t.type("/\x7f\x7f\x7f")
    wait_until(lambda: len(order(t.lines())) == 3)
    t.type("xyz")
    wait_until(lambda: order(t.lines()) == [])
    t.type("\x1b")  # gives the filter up
    wait_until(lambda: len(order(t.lines())) == 3)
    t.type("q")
    assert t.end() == 0


def test_ending_a_session_is_asked_first(terminal):
    with Daemon() as daemon:
        client = daemon.popen(USE, "victim")
        assert client.stdout.readline() == "here\n"
        t = terminal(daemon=daemon)
        t.shows("victim")
        t.type("k")
        t.shows(r"end session \d+ \(victim\)\? y or n")
        t.type("n")
        t.shows("q quit")
        assert daemon.status()["clients_count"] == 1
        t.type("ky")
        t.shows("the session was ended")
        wait_until(lambda: daemon.status()["clients_count"] == 0)
        t.shows("no session")
        t.type("k")  # nothing to end
        t.shows("q quit")
        t.type("q")
        assert t.end() == 0
        finish(client)


def test_pausing_and_resuming(terminal):
    with Daemon() as daemon:
        client = daemon.popen(USE, "victim")
        assert client.stdout.readline() == "here\n"
        t = terminal(daemon=daemon)
        t.shows("p pause  k end session")
        t.type("p")
        t.shows("the session is paused: no device works for it")
        t.shows("victim.* paused ")
        assert daemon.clients()[0]["paused"]
        t.type("\x1b")  # any key: the keys are told again
        t.shows("p resume  k end session")
        t.type("p")
        t.shows("the session goes on")
        wait_until(lambda: not daemon.clients()[0]["paused"])
        finish(client)
        t.shows("no session")
        t.type("p")  # nothing to pause
        t.shows("p pause")
        t.type("q")
        assert t.end() == 0


PUBLISH = ("import sys, braze, braze.numpy as np\nbraze.session(name='shop')\nbraze.publish(np.arange(131072.0), 'prices', to='key')\n"
           "print('here', flush=True)\nsys.stdin.readline()\n")


def test_what_is_published_is_shown(terminal):
    with Daemon() as daemon:
        assert "published" not in daemon.ctl("sessions").stdout
        client = daemon.popen(PUBLISH)
        assert client.stdout.readline() == "here\n"
        t = terminal(daemon=daemon)
        lines = t.shows("^published 1  opened 0 times  memory of their own 1.0M")
        assert "cpu usable" in lines[1] and "NAME" in lines[3] and "shop" in lines[4] and "q quit" in lines[-1] and len(lines) == 24
        above, _, below = daemon.ctl("sessions").stdout.partition("\npublished\n")
        assert "shop" in above and re.search(r"^prices +\S+ +\d+ +key ", below, re.M)
        assert daemon.ctl("published").stdout == below
        assert "prices" not in daemon.ctl("--json", "sessions").stdout
        finish(client)
        wait_until(lambda: "published" not in "\n".join(t.lines()))
        t.type("q")
        assert t.end() == 0


def test_who_is_paused_is_shown(terminal):
    with Daemon() as daemon:
        client = daemon.popen(USE, "victim")
        assert client.stdout.readline() == "here\n"
        row, = daemon.clients()
        t = terminal(daemon=daemon)
        t.shows(r"victim.* 0 ")
        assert daemon.ctl("pause", str(row["session"])).returncode == 0
        t.shows("victim.* paused ")
        assert daemon.ctl("resume", str(row["session"])).returncode == 0
        wait_until(lambda: not any("paused" in line for line in t.lines()))
        t.type("q")
        assert t.end() == 0
        finish(client)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_signals_leave_the_terminal_as_it_was(terminal, number):
    t = terminal()
    t.shows("alpha")
    os.kill(t.process.pid, number)
    assert t.end() == -number


def test_stopped_and_continued(terminal):
    t = terminal()
    t.shows("alpha")
    os.kill(t.process.pid, signal.SIGTSTP)
    wait_until(lambda: open(f"/proc/{t.process.pid}/stat").read().split()[2] == "T")
    assert termios.tcgetattr(t.slave) == t.before
    os.kill(t.process.pid, signal.SIGCONT)
    time.sleep(0.2)
    seen = len(t.raw)
    wait_until(lambda: "alpha" in t.read()[seen:])
    t.type("q")
    assert t.end() == 0


def test_the_daemon_ends_meanwhile(terminal):
    daemon = Daemon()
    with daemon:
        t = terminal(daemon=daemon)
        t.shows("no session")
    t.shows("brazed.status.sock")
    t.type("kq")
    assert t.end() == 0


def test_without_a_terminal(busy):
    done = busy.ctl("top")
    assert done.returncode == 1 and "needs a terminal" in done.stderr and not done.stdout


# ---- The same from the command line ----

def test_ending_a_session_by_its_number(daemon):
    client = daemon.popen("import sys, braze, braze.numpy as np\nx = np.ones(50_000) * 2\n"
                          "float(x.sum())\nbraze.wait(x)\nprint('here', flush=True)\nsys.stdin.readline()\n"
                          "try:\n    float((x + 1).sum())\nexcept braze.DaemonGone as e:\n"
                          "    assert 'an operator ended the session' in str(e)\n"
                          "assert float((x + 1).sum()) == 150_000\n")
    assert client.stdout.readline() == "here\n"
    number = str(int(daemon.clients()[0]["session"]))
    assert daemon.ctl("sessions", number).returncode == 2
    assert daemon.ctl("sessions", "--end").returncode == 2
    assert daemon.ctl("sessions", "4x", "--end").returncode == 2
    done = daemon.ctl("sessions", "999", "--end")
    assert done.returncode == 1 and "no session has the number 999" in done.stderr
    done = daemon.ctl("sessions", number, "--end")
    assert done.returncode == 0 and done.stdout == f"session {number} was ended\n"
    finish(client)  # it connects again, with what was stored
