# SPDX-License-Identifier: Apache-2.0
"""docs/security.md: each of its tests is there, and what no other test looks at."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest
from harness import ROOT, Daemon, alive, children, clean_environment, find_daemon, finish, kill9, wait_until

TEXT = (ROOT / "docs/security.md").read_text()
SECRETS = {"BRAZE_NAME": "name-of-ada", "SLURM_JOB_ID": "471100815", "VIRTUAL_ENV": "/srv/env-of-ada"}
PATTERN = re.compile(r"of-ada|471100815|theirs\.py")
THEIRS = """
import sys, braze.numpy as np
x = np.ones(300_000)
print(float((np.sin(x) * x + 0.25).sum()), flush=True)
for line in sys.stdin:
    print(float((np.sin(x) * x + 0.25).sum()), flush=True)
"""
OURS = """
import sys, braze, braze.numpy as np
x = np.ones(300_000)
print(float((np.sin(x) * x + 0.25).sum()), braze.explain(np.sin(x) * x + 0.25), braze.devices(), flush=True)
kept = x * 3
braze.wait(kept)
print("stored", flush=True)
sys.stdin.readline()
for ask in (lambda: float((kept + x).sum()), lambda: np.ones(1 << 36), lambda: braze.explain(kept), lambda: braze.counters()):
    try:
        print(ask())
    except Exception as e:
        print(type(e), e)
print("end", flush=True)
sys.stdin.readline()
"""


def cited():
    """(file, test) that the page names; a test alone is of the file before it."""
    file, found = None, []
    for word in re.findall(r"`([^`]+)`", TEXT):
        path, _, test = word.partition("::")
        if path.startswith(("tests/", "deploy/")):
            file = path
            found.append((path, test))
        elif word.startswith("test_"):
            found.append((file, word))
    return found


def test_each_line_of_the_table_has_tests_that_are_there():
    rows = [line for line in TEXT.splitlines() if line.startswith("|")][2:]
    assert len(rows) >= 9
    for row in rows:
        assert re.search(r"`tests/[\w/.]+::\w+`", row.split("|")[-2]), row
    assert len(cited()) > 15
    for path, test in cited():
        text = (ROOT / path).read_text()
        assert not test or re.search(rf"^(def {test}\(|Test\(\w+, {test}\))", text, re.M), (path, test)


def test_the_machines_socket_is_for_a_group_and_its_service_for_no_network():
    socket = (ROOT / "deploy/systemd/brazed.socket").read_text()
    service = (ROOT / "deploy/systemd/brazed.service.in").read_text()
    assert "SocketMode=0660\nSocketGroup=braze\n" in socket
    for line in ("User=braze", "CapabilityBoundingSet=", "NoNewPrivileges=yes", "PrivateNetwork=yes", "ProtectHome=yes",
                 "RestrictAddressFamilies=AF_UNIX", "UMask=0077", "CacheDirectoryMode=0700"):
        assert f"\n{line}\n" in service, line


def fields(message, proto):
    """Names of a message's fields, and of those of the messages in it."""
    body = re.search(rf"^message {message} \{{\n(.*?)^\}}", proto, re.M | re.S)[1]
    for kind, name in re.findall(r"^\t(?:repeated )?(\w+) (\w+) = \d+", body, re.M):
        yield name
        if kind[0].isupper():
            yield from fields(kind, proto)


def test_no_reply_has_a_field_for_who_somebody_is():
    proto = (ROOT / "proto/braze.proto").read_text()
    told, about = set(fields("Reply", proto)), set(fields("About", proto)) | {"pid", "uid", "user"}
    assert {"welcome", "session", "extent", "text"} <= told
    assert not told & about


def test_nothing_that_a_client_is_told_names_another(tmp_path):
    """Explanations of a kernel that another made, the death of a worker that it used, refusals."""
    (tmp_path / "theirs.py").write_text(THEIRS)
    with Daemon(tier=1) as daemon:
        theirs = daemon.popen(tmp_path / "theirs.py", **SECRETS)
        assert theirs.stdout.readline()
        assert PATTERN.search(str(daemon.clients())) and PATTERN.search(str(daemon.kernels()))
        ours = daemon.popen(OURS)
        said = ""
        while not said.endswith("stored\n"):
            said += ours.stdout.readline()
        theirs.stdin.write("again\n")
        theirs.stdin.flush()
        assert theirs.stdout.readline()
        kill9(daemon.worker())
        wait_until(lambda: daemon.status()["worker_deaths_count"] == 1)
        ours.stdin.write("go\n")
        ours.stdin.flush()
        while not said.endswith("end\n"):
            line = ours.stdout.readline()
            assert line, said
            said += line
        said += finish(ours)
        said += ours.stderr.read() if not ours.stderr.closed else ""
        finish(theirs)
    assert "kernel" in said and "Error" in said
    # Who goes over a limit is told which sessions of the same user hold what: nobody else's
    # (test_limits.py has another user's).
    over = [line for line in said.splitlines() if "MemoryError" in line]
    assert over and all(" of user " in line for line in over), said
    assert not PATTERN.search("\n".join(line for line in said.splitlines() if line not in over)), said


def inodes(pid):
    for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            found = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(link))
        except OSError:
            continue
        if found:
            yield found[1]


def test_the_daemon_and_its_children_have_no_network_socket():
    with Daemon(tier=1) as daemon:
        daemon.run("import braze.numpy as np\nfloat((np.ones(100_000) * 2).sum())\n")
        own = {i for pid in (daemon.pid, *children(daemon.pid)) for i in inodes(pid)}
        net = set()
        for name in ("tcp", "tcp6", "udp", "udp6", "raw", "raw6"):
            path = pathlib.Path(f"/proc/{daemon.pid}/net/{name}")
            if path.exists():
                net |= {line.split()[9] for line in path.read_text().splitlines()[1:]}
        assert len(own) >= 2 and not own & net


@pytest.mark.skipif(os.getuid() != 0, reason="only root becomes somebody else")
def test_nobody_else_connects_to_a_users_daemon(tmp_path):
    """Wherever its folder lies: here in one that others may go through."""
    run = pathlib.Path(tempfile.mkdtemp(prefix="braze-run-"))
    run.chmod(0o755)
    env = clean_environment(XDG_RUNTIME_DIR=str(run), XDG_CACHE_HOME=str(tmp_path / "cache"))
    subprocess.run([find_daemon(), "--user", "--detach"], env=env, check=True, timeout=60)
    path = run / "braze/braze-1.sock"
    pid = int(re.search(r"pid (\d+)", path.with_suffix(".sock.log").read_text())[1])
    try:
        assert (run / "braze").stat().st_mode & 0o777 == 0o700
        code = f"import socket; socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect({str(path)!r})"
        ask = ["setpriv", "--reuid=65534", "--clear-groups", "/usr/bin/python3", "-c", code]
        done = subprocess.run(ask, capture_output=True, text=True)
        assert "PermissionError" in done.stderr
        assert subprocess.run(ask[3:], capture_output=True).returncode == 0
    finally:
        os.kill(pid, 15)
        wait_until(lambda: not alive(pid), 30, "its end")
        shutil.rmtree(run)
