# SPDX-License-Identifier: Apache-2.0
"""SIGHUP reads the settings again, SIGTERM drains, and no start destroys evidence."""

import os
import re
import signal
import socket
import subprocess
import sys
import textwrap

import pytest
from harness import ROOT, Daemon, alive, clean_environment, find_daemon, finish, wait_until

ROWS = re.findall(r'^SETTING\((\w+), \w+, "[^"]*", (LIVE|RESTART), "', (
    ROOT / "daemon/config.def").read_text(), re.M)


@pytest.fixture
def reloading(tmp_path):
    """A daemon with a settings file: (daemon, write the file and reload)."""
    conf = tmp_path / "brazed.conf"
    conf.write_text("log = info\n")
    with Daemon("-f", str(conf), idle_exit_seconds=0) as daemon:
        def reload(text):
            told = daemon.log_text().count("read its settings") + daemon.log_text().count(
                "old settings stay")
            conf.write_text(text)
            daemon.process.send_signal(signal.SIGHUP)
            wait_until(lambda: daemon.log_text().count("read its settings")
                       + daemon.log_text().count("old settings stay") > told, 20, "reloading")
            assert daemon.process.poll() is None
            return daemon.log_text()
        yield daemon, reload


def test_what_can_change_is_taken_over(reloading):
    daemon, reload = reloading
    client = daemon.popen("import braze.numpy as np\n"
                          "x = np.ones(4_000_000); float(x.sum())\n"
                          "print('ready', flush=True); input()\n"
                          "try:\n    float((x + 1).sum()); print('fits')\n"
                          "except MemoryError: print('refused')\n")
    assert client.stdout.readline() == "ready\n"
    log = reload("log = debug\nquota_bytes = 8M\ncache_memory_bytes = 1M\nthreads = 3\n"
                 "socket = /tmp/elsewhere.sock\n")
    assert re.search(r"info +config +quota_bytes = 8388608 from now on", log)
    assert "log = debug from now on" in log and "cache_memory_bytes = 1048576 from now on" in log
    assert re.search(r"warn +config +threads = 3 needs a restart", log)
    # Given on the command line: the file's value changes nothing.
    assert "socket =" not in log.replace("the socket", "")
    client.stdin.write("\n")
    client.stdin.flush()
    assert finish(client) == "refused\n"
    assert " debug " in daemon.log_text()
    log = reload("quota_bytes = 1G\nlog = error\n")
    assert "quota_bytes = 1073741824 from now on" in log
    assert daemon.run("import braze.numpy as np; print(float(np.ones(4_000_000).sum() + 1))") \
        == "4000001.0\n"


@pytest.mark.parametrize("text", ["quota_bytes = lots\n", "nonsense = 1\n", "log = chatty\n",
                                  "just words\n", "device = abacus\n"])
def test_a_broken_file_keeps_the_old_settings(reloading, text):
    daemon, reload = reloading
    log = reload("quota_bytes = 1G\n" + text)
    line = next(ln for ln in log.splitlines() if "old settings stay" in ln)
    assert "brazed.conf:2" in line and " error " in line
    assert "from now on" not in log
    assert daemon.run("import braze.numpy as np; print(np.ones(3).sum())") == "3.0\n"


def test_every_setting_says_whether_it_can_be_reloaded():
    assert len(ROWS) > 12
    page = (ROOT / "docs/operators.md").read_text()
    for name, when in ROWS:
        row = next(ln for ln in page.splitlines() if ln.startswith(f"| `{name}` |"))
        assert row.split("|")[4].strip() == {"LIVE": "yes", "RESTART": "restart"}[when], row


def test_each_live_setting_is_applied_and_no_other(reloading):
    values = {"BYTES": "77M", "COUNT": "7", "TIER": "0"}
    kinds = dict(re.findall(r'^SETTING\((\w+), (\w+),', (ROOT / "daemon/config.def").read_text(),
                            re.M))
    _, reload = reloading
    own = {"log": "warn", "device": "cpu", "isolation": "user", "spin_us": "7"}
    text = {name: values.get(kinds[name], own.get(name, "none")) for name, _ in ROWS}
    text["idle_exit_seconds"] = "3600"
    log = reload("".join(f"{k} = {v}\n" for k, v in text.items()))
    # On the command line, and in the environment of every test.
    given = {"socket", "cache_dir", "idle_exit_seconds", "check"}
    for name, when in ROWS:
        if name not in given:
            assert re.search(rf"config +{name} = .*" + (
                "from now on" if when == "LIVE" else "needs a restart"), log), name


def test_a_moved_log_is_opened_again(tmp_path):
    run = tmp_path / "run"
    run.mkdir(mode=0o700)
    env = clean_environment(XDG_RUNTIME_DIR=str(run), XDG_CACHE_HOME=str(tmp_path))
    path, log = run / "braze/braze-1.sock", run / "braze/braze-1.sock.log"

    def start():
        subprocess.run([find_daemon(), "--user", "--detach"], env=env, check=True, timeout=60)
        pid = int(re.findall(r"pid (\d+)", log.read_text())[-1])
        assert alive(pid)
        return pid

    pid = start()
    try:
        first = log.read_text()
        # A second start finds the first: nothing is lost, nobody dies.
        subprocess.run([find_daemon(), "--user", "--detach"], env=env, check=True, timeout=60)
        assert log.read_text().startswith(first) and alive(pid) and path.is_socket()
        log.rename(run / "old.log")
        os.kill(pid, signal.SIGHUP)
        wait_until(log.exists, 20, "a new log")
        wait_until(lambda: "read its settings" in log.read_text(), 20, "a line in it")
        assert (run / "old.log").read_text().startswith(first)
    finally:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not alive(pid), 20, "its end")
    before = log.read_text()
    pid = start()
    try:
        assert log.read_text().startswith(before), "the log of the daemon that died is gone"
    finally:
        os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not alive(pid), 20, "its end")
    assert "Terminated: stopping" in log.read_text()


def test_a_child_of_a_killed_daemon_does_not_pass_for_it(tmp_path):
    """For a moment after its fork a child has what its parent listened with, and its lock."""
    run = tmp_path / "run"
    (run / "braze").mkdir(parents=True, mode=0o700)
    run.chmod(0o700)
    path = run / "braze/braze-1.sock"
    held = subprocess.Popen([sys.executable, "-c", textwrap.dedent("""\
        import fcntl, os, socket, sys, time
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.bind(sys.argv[1])
        s.listen()
        lock = open(sys.argv[1] + ".lock", "w")
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.fork():
            time.sleep(1)
        """), str(path)])
    held.wait(20)
    env = clean_environment(XDG_RUNTIME_DIR=str(run), XDG_CACHE_HOME=str(tmp_path))
    subprocess.run([find_daemon(), "--user", "--detach"], env=env, check=True, timeout=60)
    pid = int(re.findall(r"pid (\d+)", path.with_suffix(".sock.log").read_text())[-1])
    assert alive(pid)
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not alive(pid), 20, "its end")


def test_a_start_replaces_nothing_but_a_dead_socket(tmp_path):
    precious = tmp_path / "data.sock"
    precious.write_text("precious")
    for option in ("-S", "-ostatus_socket="):
        path = [option, str(precious)] if option == "-S" else [
            "-S", str(tmp_path / "a.sock"), option + str(precious)]
        done = subprocess.run([find_daemon(), *path, "-ocache_dir=none"], timeout=60,
                              env=clean_environment(), capture_output=True, text=True)
        assert done.returncode == 1 and "no socket" in done.stderr, done.stderr
        assert precious.read_text() == "precious"
    other = str(tmp_path / "other.sock")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        s.bind(other)
        s.listen()
        for kind in (["-S", other], ["-S", str(tmp_path / "b.sock"), "-ostatus_socket=" + other]):
            done = subprocess.run([find_daemon(), *kind, "-ocache_dir=none"], timeout=60,
                                  env=clean_environment(), capture_output=True, text=True)
            assert done.returncode == 1 and "listens on" in done.stderr, done.stderr
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as c:
            c.connect(other)


WORK = """
import sys, braze, braze.numpy as np
x = np.ones(3_000_000)
y = x
for _ in range(200): y = np.sin(y) + np.cos(y)
braze.wait(x)
print('ready', flush=True)
input()
try:
    print(float(y.sum()) > 0, flush=True)
except braze.DaemonGone as e:
    print(e, flush=True)
try:
    print(float((x + 1).sum()))
except braze.DaemonGone as e:
    print("gone", float(x[0]), e)
"""


def test_sigterm_lets_what_runs_finish(tmp_path):
    with Daemon(drain_seconds=300) as daemon:
        client = daemon.popen(WORK, BRAZE_NO_START="1")
        idle = daemon.popen("import braze, braze.numpy as np\nx = np.ones(3) + 1; braze.wait(x)\n"
                            "print('ready', flush=True); input()\n"
                            "try: float((x + 1).sum())\n"
                            "except Exception as e: print(x.tolist(), e)\n", BRAZE_NO_START="1")
        for c in (client, idle):
            assert c.stdout.readline() == "ready\n"
        client.stdin.write("\n")
        client.stdin.flush()
        wait_until(lambda: daemon.status()["jobs_in_flight_count"], 60, "work")
        daemon.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "stopping" in daemon.log_text(), 20, "the drain")
        if daemon.process.poll() is None:
            late = daemon.popen("import braze, braze.numpy as np\n"
                                "try: np.ones(3)\n"
                                "except braze.DaemonGone as e: print(e)\n", BRAZE_NO_START="1")
            words = finish(late)
            # What ran may have ended meanwhile, and the daemon with it, before it could answer.
            assert "stopping" in words or daemon.process.wait(60) == 0, words
        out = finish(client).splitlines()
        assert out[0] == "True", out
        assert out[1].startswith("gone 1.0"), out
        words = finish(idle, expect=0) if idle.stdin.closed else idle.communicate("\n", 60)[0]
        assert "[2.0, 2.0, 2.0]" in words, words
        assert daemon.process.wait(60) == 0
        assert "drain_seconds" not in daemon.log_text()


def test_a_drain_has_an_end():
    """Nobody's endless work keeps it; a second signal does not wait at all."""
    endless = ("import braze.numpy as np\nx = np.ones(4_000_000)\nprint('ready', flush=True)\n"
               "y = x\nfor _ in range(3000): y = np.sin(y) + np.cos(y)\nfloat(y.sum())\n")
    for drain, second, words in ((1, False, "1 clients still wait after 1 s"), (1000, True, "")):
        with Daemon(drain_seconds=drain) as daemon:
            client = daemon.popen(endless, BRAZE_NO_START="1")
            assert client.stdout.readline() == "ready\n"
            wait_until(lambda: daemon.status()["jobs_in_flight_count"], 60, "work")
            daemon.process.send_signal(signal.SIGTERM)
            if second:
                wait_until(lambda: "stopping" in daemon.log_text(), 20, "the drain")
                daemon.process.send_signal(signal.SIGTERM)
            assert daemon.process.wait(60) == 0
            assert words in daemon.log_text()
