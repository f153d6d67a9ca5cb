# SPDX-License-Identifier: Apache-2.0
"""How daemons start, share, end and refuse."""

import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest
import raw
from harness import (Daemon, alive, clean_environment, fetch, find_ctl, find_daemon, finish,
                     wait_until)

ADD = "import braze.numpy as np, sys\nassert float(np.ones(5).sum()) == 5\n"
WAIT = ADD + "print('connected', flush=True)\nsys.stdin.readline()\n"


class Home:
    """A user's folders, with no daemon yet.  Ends what was started."""

    def __init__(self, path, **env):
        path.chmod(0o700)
        self.path = path
        self.socket = path / "braze" / "braze-1.sock"
        self.status = str(path / "braze" / "braze-1.status.sock")
        bin_folder = str(pathlib.Path(find_daemon()).parent)
        self.env = clean_environment(
            XDG_RUNTIME_DIR=str(path), XDG_CACHE_HOME=str(path / "cache"),
            XDG_CONFIG_HOME=str(path / "config"), BRAZE_DAEMON=find_daemon(),
            PATH=f"{bin_folder}{os.pathsep}{os.environ['PATH']}", **env)
        self.pids = set()

    def popen(self, program):
        return subprocess.Popen([sys.executable, "-c", program], env=self.env, text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def daemon(self):
        done = subprocess.run([find_ctl(), "--socket", self.status, "--json", "status"],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        status = json.loads(done.stdout)
        self.pids.add(status["pid"])
        return status

    def end(self):
        for pid in self.pids:
            if alive(pid):
                os.kill(pid, signal.SIGTERM)
                wait_until(lambda p=pid: not alive(p))


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path)
    yield home
    home.end()


def test_program_starts_a_daemon(home):
    """It outlives the program, and serves the next one."""
    first = home.popen(WAIT)
    assert first.stdout.readline() == "connected\n", first.stderr.read()
    pid = home.daemon()["pid"]
    assert home.socket.stat().st_mode & 0o777 == 0o600
    assert home.socket.parent.stat().st_mode & 0o777 == 0o700
    assert os.getsid(pid) != os.getsid(first.pid)
    finish(first)
    finish(home.popen(ADD))
    assert home.daemon()["pid"] == pid


def test_two_programs_start_one_daemon(home):
    both = [home.popen(WAIT) for _ in range(4)]
    assert [p.stdout.readline() for p in both] == ["connected\n"] * 4
    status = home.daemon()
    assert status["clients_count"] == 4
    for p in both:
        finish(p)


def test_idle_exit(tmp_path):
    home = Home(tmp_path, BRAZE_IDLE_EXIT_SECONDS="1")
    finish(home.popen(ADD))
    pid = home.daemon()["pid"]
    wait_until(lambda: not alive(pid), 5, "the end of an idle daemon")
    assert not home.socket.exists() and not pathlib.Path(home.status).exists()


def test_connect_at_the_moment_of_idle_exit(tmp_path):
    """Whoever comes while the daemon goes is served: by it, or by the next."""
    home = Home(tmp_path, BRAZE_IDLE_EXIT_SECONDS="1")
    pids = set()
    program = ("import time, sys, braze, braze.numpy as np\n"
               "for i in range(4):\n"
               "    assert float(np.ones(5).sum()) == 5\n"
               "    braze.close()\n"
               "    print('turn', flush=True)\n"
               "    time.sleep(1.0 - 0.004 + 0.001 * (i + float(sys.argv[1])))\n")
    clients = [subprocess.Popen([sys.executable, "-c", program, str(i / 3)], env=home.env,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True) for i in range(3)]
    for client in clients:
        assert finish(client).count("turn") == 4
    try:
        pids.add(home.daemon()["pid"])
    except AssertionError:
        pass
    for pid in pids:
        wait_until(lambda p=pid: not alive(p), 5)


def test_folder_of_somebody_else_is_refused(home):
    """Others may write there: no daemon is started or trusted."""
    home.socket.parent.mkdir()
    home.socket.parent.chmod(0o777)
    client = home.popen(ADD)
    _, err = client.communicate(timeout=60)  # waiting would not help
    assert client.returncode == 1 and "DaemonGone" in err
    assert not home.socket.exists()


ACTIVATE = """
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind(sys.argv[1])
s.listen(8)
if s.fileno() != 3:
    os.dup2(s.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execv(sys.argv[2], sys.argv[2:])
"""


def test_socket_activation(tmp_path):
    """The service manager's socket is served, and stays when the daemon goes."""
    path, status = str(tmp_path / "a.sock"), str(tmp_path / "a.status.sock")
    command = [find_daemon(), "-S", path, f"-ostatus_socket={status}", "-ocache_dir="]
    with subprocess.Popen([sys.executable, "-c", ACTIVATE, path, *command],
                          env=clean_environment(), stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: os.path.exists(status), what="the start")
        client = subprocess.run([sys.executable, "-c", ADD], timeout=30,
                                env=clean_environment(BRAZE_SOCKET=path))
        assert client.returncode == 0
        process.terminate()
        assert process.wait(10) == 0
    assert os.path.exists(path) and not os.path.exists(status)


def call(*arguments, **env):
    return subprocess.run([find_daemon(), *arguments], capture_output=True, text=True, timeout=20,
                          env=clean_environment(**env))


def test_check_config(tmp_path):
    """What it prints is a configuration file that means the same."""
    done = call("-S", str(tmp_path / "s"), "-othreads=3", "--check-config", BRAZE_TIER="0")
    assert done.returncode == 0 and not (tmp_path / "s").exists()
    words = [line.split("#")[0].strip() for line in done.stdout.splitlines()]
    assert "threads = 3" in words and "tier = 0" in words
    conf = tmp_path / "brazed.conf"
    conf.write_text(done.stdout)
    again = call("-f", str(conf), "--check-config")
    assert [line.split("#")[0].strip() for line in again.stdout.splitlines()] == words


@pytest.mark.parametrize("arguments", [
    ["--nonsense"], ["-o", "nonsense=1"], ["-o", "tier=7"], ["-o", "threads=-1"],
    ["-o", "quota_bytes=1Q"], ["-o", "threads"], ["-f", "/nonexistent/brazed.conf"], ["surplus"],
    ["--private", "x"], ["-o", "log=loud"], ["-o", "cache_memory_bytes=99999999999T"],
], ids=lambda a: " ".join(a))
def test_wrong_use(arguments):
    done = call(*arguments, "--check-config")
    assert done.returncode == 2
    assert done.stderr.startswith("brazed: ") and "-h lists" in done.stderr


def test_second_daemon_is_refused(daemon):
    done = call("-S", daemon.socket)
    assert done.returncode == 1 and "another brazed serves" in done.stderr
    daemon.run(ADD)


def test_stale_socket_is_replaced(daemon):
    daemon.kill()
    assert os.path.exists(daemon.socket)
    daemon.start()
    daemon.run(ADD)


def test_socket_that_is_too_long(tmp_path):
    done = call("-S", str(tmp_path / ("x" * 120)))
    assert done.returncode == 1 and "longer than" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stop_during_work(number):
    """It ends although its client has work without end, takes its children along and leaves
    no socket."""
    with Daemon() as daemon:
        client = daemon.popen("import numpy, braze.numpy as np\n"
                              "x = np.ones(4_000_000)\n"
                              "while True:\n"
                              "    y = x\n"
                              "    for _ in range(40): y = np.sin(y) + np.cos(y)\n"
                              "    float(y.sum())\n")
        wait_until(lambda: daemon.status()["jobs_in_flight_count"], 20, "work")
        worker = daemon.worker()
        daemon.process.send_signal(number)
        # The client would go on for ever.
        assert daemon.process.wait(60) == 0
        wait_until(lambda: not alive(worker), 20, "the worker's end")
        assert not os.path.exists(daemon.socket) and not os.path.exists(daemon.status_socket)
        assert client.wait(60) == 1 and "DaemonGone" in client.stderr.read()
        assert "left open" not in daemon.log_text()


def test_stop_is_said(daemon):
    """Clients learn why, not only that the connection is gone."""
    with raw.Raw(daemon.socket) as c:
        daemon.process.terminate()
        assert "stopping" in c.ended().text
    assert daemon.process.wait(10) == 0


def test_private_daemon(tmp_path):
    """BRAZE_PRIVATE: a child of the program, that ends with it."""
    env = clean_environment(BRAZE_PRIVATE="1", BRAZE_DAEMON=find_daemon(), BRAZE_CACHE_DIR="",
                            BRAZE_STATUS_SOCKET=str(tmp_path / "s"), XDG_CACHE_HOME=str(tmp_path))
    client = subprocess.Popen([sys.executable, "-c", WAIT], env=env, text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
    assert client.stdout.readline() == "connected\n", client.stderr.read()
    status, text = fetch(str(tmp_path / "s"), "/status")
    assert status == 200
    pid = json.loads(text)["pid"]
    finish(client)
    wait_until(lambda: not alive(pid), 5)
    assert not (tmp_path / "s").exists()
