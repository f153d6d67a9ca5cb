# SPDX-License-Identifier: Apache-2.0
"""brazectl logs: the last lines of the file beside the socket, and those to come."""

import os
import pathlib
import subprocess

import pytest
from harness import find_ctl, wait_until


@pytest.fixture
def log(daemon):
    """A log of a hundred lines where a detached daemon would write it."""
    path = pathlib.Path(daemon.socket + ".log")
    path.write_text("".join(f"line {k}\n" for k in range(100)))
    yield path
    path.unlink(missing_ok=True)


def lines(daemon, *options):
    done = daemon.ctl("logs", *options)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_last_lines(daemon, log):
    assert lines(daemon) == [f"line {k}" for k in range(50, 100)]
    assert lines(daemon, "-n", "2") == lines(daemon, "--lines=2") == ["line 98", "line 99"]
    assert lines(daemon, "-n0") == []
    assert len(lines(daemon, "-n", "5000")) == 100
    log.write_text("no newline at its end")
    assert lines(daemon, "-n1") == ["no newline at its end"]
    log.write_text("")
    assert lines(daemon) == []


def test_long_logs_and_lines(daemon, log):
    log.write_text("x" * 200_000 + "\n" + "y\n" * 70_000)
    assert lines(daemon, "-n", "70000") == ["y"] * 70_000
    assert len(lines(daemon, "-n", "70001")[0]) == 200_000


def test_nothing_steers_the_terminal(daemon, log):
    log.write_bytes(b"a\x1b[2Jb\x07\n")
    assert lines(daemon) == ["a?[2Jb?"]


@pytest.mark.parametrize("options", [("-n",), ("-n", "x"), ("-n", "-3"), ("7",), ("--json",)])
def test_wrong_use(daemon, options):
    command = ("--json", "logs") if options == ("--json",) else ("logs", *options)
    assert daemon.ctl(*command).returncode == 2
    assert daemon.ctl("status", "-f").returncode == 2


def test_without_a_file_the_journal_is_asked(daemon, tmp_path):
    fake = tmp_path / "journalctl"
    fake.write_text("#!/bin/sh\necho \"$@\"\n")
    fake.chmod(0o755)
    done = daemon.ctl("logs", "-f", "-n", "3", PATH=str(tmp_path) + ":/bin:/usr/bin")
    assert done.stdout.split() == ["--user", "--unit=brazed", "-n", "3", "-f"]
    done = daemon.ctl("logs", PATH="/nowhere")
    assert done.returncode == 1 and "no journalctl" in done.stderr


def test_following_across_rotation(daemon, log):
    out = log.with_suffix(".out")
    with out.open("w") as to:
        process = subprocess.Popen([find_ctl(), "--socket", daemon.status_socket, "logs", "-f", "-n1"],
                                   stdout=to)
    try:
        wait_until(lambda: out.read_text() == "line 99\n")
        with log.open("a") as f:
            f.write("more\n")
        wait_until(lambda: out.read_text().endswith("more\n"))
        os.rename(log, str(log) + ".1")
        wait_until(lambda: process.poll() is None)
        log.write_text("new\n")
        wait_until(lambda: out.read_text() == "line 99\nmore\nnew\n")
        log.write_text("")  # cut, then shorter than it was
        wait_until(lambda: not process.poll())
        with log.open("a") as f:
            f.write("n\n")
        wait_until(lambda: out.read_text().endswith("new\nn\n"))
    finally:
        process.terminate()
        process.wait()
        for path in (out, pathlib.Path(str(log) + ".1")):
            path.unlink(missing_ok=True)
