# SPDX-License-Identifier: Apache-2.0
"""Two hosts on this machine, with a network between them, and a Dask worker on each.

A host is a network namespace with its own user's runtime folder, so that its processes share a
daemon that no other host's do, and reach the others over TCP only.  Where this process may make no
namespaces, hosts differ by their folders alone, and TCP goes over the loopback interface.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from harness import PACKAGE, clean_environment, wait_until

NETWORK = "10.213.{}.{}"  # of this process's namespaces alone: a link has no way out
# A worker writes to disk what is more than 20 MiB of chunks, and hears soon of one that has ended.
SETTINGS = {f"DASK_DISTRIBUTED__{name}": value for name, value in {
    "WORKER__MEMORY__TARGET": "0.02", "WORKER__MEMORY__SPILL": "False",
    "WORKER__MEMORY__PAUSE": "False", "WORKER__MEMORY__TERMINATE": "False",
    "COMM__TIMEOUTS__CONNECT": "3s", "COMM__RETRY__COUNT": "0"}.items()}


def _ip(*arguments):
    return subprocess.run(["ip", *arguments], capture_output=True, text=True)


class Host:
    """One host: programs started on it, and its daemon."""

    def __init__(self, folder, name, space, address, env):
        self.folder, self.space, self.address = folder / name, space, address
        self.folder.mkdir()
        self.name, self.env, self.started = name, env, []

    def popen(self, *arguments, **env):
        """A program on this host; its output goes to the host's folder."""
        enter = ["ip", "netns", "exec", self.space] if self.space else []
        with open(self.folder / f"log.{len(self.started)}", "wb") as log:
            started = subprocess.Popen(
                [*enter, sys.executable, *map(str, arguments)], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, cwd=self.folder, start_new_session=True,
                env=clean_environment(**{
                    "XDG_RUNTIME_DIR": str(self.folder), "HOME": str(self.folder),
                    "XDG_CACHE_HOME": str(self.folder / "cache"), "PYTHONPATH": str(PACKAGE),
                    **SETTINGS, **self.env, **env}))
        self.started.append(started)
        return started

    def said(self):
        """What its programs wrote."""
        return "".join(p.read_text(errors="replace") for p in sorted(self.folder.glob("log.*")))

    def daemons(self):
        """Process ids of the brokers that run for this host's user."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit() and self._runs_here(entry):
                found.append(int(entry.name))
        return found

    def _runs_here(self, entry):
        try:
            environment = (entry / "environ").read_bytes().split(b"\0")
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            if b"XDG_RUNTIME_DIR=" + bytes(self.folder) not in environment:
                return False
        except OSError:  # it has ended
            return False
        return _is_daemon(entry) and not _is_daemon(entry.parent / parent)

    def close(self):
        """End what runs here."""
        for started in self.started:
            if started.poll() is None:
                started.kill()
            started.wait()
        for pid in self.daemons():
            os.kill(pid, 15)
        wait_until(lambda: not self.daemons(), 20, "the end of a host's daemon")


def _is_daemon(entry):
    try:
        return os.path.basename(os.readlink(entry / "exe")) == "brazed"
    except OSError:  # it has ended, or is somebody else's
        return False


class Cluster:
    """A scheduler on the first of two hosts, and a worker on each, in an environment with `env`."""

    def __init__(self, **env):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="braze-hosts-"))
        self.spaces = [f"braze-{os.getpid()}-{n}" for n in "ab"]
        self.separate = os.geteuid() == 0 and self._link()
        addresses = ([NETWORK.format(os.getpid() % 200, n) for n in (1, 2)] if self.separate
                     else ["127.0.0.1", "127.0.0.1"])
        self.hosts = [Host(self.folder, n, self.separate and space, address, env)
                      for n, space, address in zip("ab", self.spaces, addresses, strict=True)]
        self.file = self.folder / "scheduler.json"

    def _link(self):
        """Two namespaces with a cable between them."""
        net = os.getpid() % 200
        if not shutil.which("ip") or _ip("netns", "add", self.spaces[0]).returncode:
            return False
        _ip("netns", "add", self.spaces[1])
        a, b = self.spaces
        made = _ip("link", "add", "braze0", "netns", a, "type", "veth",
                   "peer", "name", "braze0", "netns", b)
        for n, space in enumerate(self.spaces, 1):
            _ip("-n", space, "addr", "add", NETWORK.format(net, n) + "/24", "dev", "braze0")
            _ip("-n", space, "link", "set", "braze0", "up")
            _ip("-n", space, "link", "set", "lo", "up")
        if made.returncode:
            self._unlink()
        return not made.returncode

    def _unlink(self):
        for space in self.spaces:
            _ip("netns", "del", space)

    def start(self):
        """Start the scheduler and the workers."""
        first = self.hosts[0]
        first.popen("-m", "distributed.cli.dask_scheduler", "--host", first.address, "--port", "0",
                    "--no-dashboard", "--no-show", "--scheduler-file", self.file)
        wait_until(lambda: self.file.exists() and self.file.stat().st_size, 60, "a scheduler")
        for host in self.hosts:
            self.add_worker(host)
        return self

    def add_worker(self, host):
        """A worker on a host."""
        return host.popen(
            "-m", "distributed.cli.dask_worker", "--scheduler-file", self.file, "--no-nanny",
            "--host", host.address, "--name", host.name, "--nthreads", "2", "--no-dashboard",
            "--memory-limit", "1GiB", "--local-directory", host.folder / "spilled",
            BRAZE_NAME=f"worker {host.name}")

    def run(self, program, *arguments, seconds=120, meanwhile=None):
        """A program on the first host, with the scheduler's file and more as its arguments; what
        it printed.  meanwhile(program) is called while it runs."""
        host = self.hosts[0]
        before = len(host.started)
        started = host.popen("-c", program, self.file, *arguments)
        if meanwhile:
            meanwhile(started)
        code = started.wait(timeout=seconds)
        out = (host.folder / f"log.{before}").read_text(errors="replace")
        assert code == 0, out + "".join(h.said()[-6000:] for h in self.hosts)
        return out

    def close(self):
        """End it all."""
        for host in reversed(self.hosts):
            host.close()
        if self.separate:
            self._unlink()
        shutil.rmtree(self.folder, ignore_errors=True)
