# SPDX-License-Identifier: Apache-2.0
"""What the Python tests and the end-to-end tests share: private daemons.

The daemon is $BRAZED or build/bin/brazed of the source tree.  Every one has a
folder of its own for sockets, log and kernel cache, so no test touches a user's.
"""

import contextlib
import http.client
import json
import os
import pathlib
import resource
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "build" / "python"
START_SECONDS = 20
COMPILER = None  # of daemons whose compiler is not what is tested


def find_daemon():
    """The daemon's path, or None."""
    for path in (os.environ.get("BRAZED"), ROOT / "build" / "bin" / "brazed"):
        if path and os.access(path, os.X_OK):
            return str(path)
    return None


def find_ctl():
    """brazectl of the daemon's own build, else of the tree."""
    beside = pathlib.Path(find_daemon() or "/").parent / "brazectl"
    return str(beside if os.access(beside, os.X_OK) else ROOT / "build" / "bin" / "brazectl")


def is_sanitized():
    """A sanitized daemon is right, but too slow for limits on time."""
    return any("san" in part for part in pathlib.Path(find_daemon()).parts)


def crash_environment():
    """For a daemon whose worker a test makes crash: a sanitizer would report the
    signal as its own finding.  What else it finds it reports as ever."""
    return {name: os.environ.get(name, "") + ":handle_segv=0"
            for name in ("ASAN_OPTIONS", "TSAN_OPTIONS")}


def share():
    """What of a core each process gets now that wants one; 1 on an idle machine."""
    with open("/proc/loadavg") as f:
        wanting = int(f.read().split()[3].partition("/")[0])
    return min(1.0, len(os.sched_getaffinity(0)) / max(wanting, 1))


def wait_until(condition, seconds=10, what="it"):
    """The condition's first true value; fails when it does not come.

    The seconds are those of a machine of one's own: where others want its cores, each
    counts as the share of a core that one gets.  It is a hang that ends this, no lateness."""
    left, last = seconds, time.monotonic()
    while True:
        value = condition()
        if value:
            return value
        now = time.monotonic()
        left, last = left - (now - last) * share(), now
        assert left > 0, f"{what} did not happen in {seconds} s of its share of the machine"
        time.sleep(0.01)


def alive(pid):
    """Does a process run?  A zombie does not."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children(pid):
    """Process ids of a process's children; none of threads, or of a process, that end meanwhile."""
    found, gone = [], (FileNotFoundError, ProcessLookupError)
    with contextlib.suppress(*gone):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(*gone):
                words = pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text()
                found += [int(word) for word in words.split()]
    return found


def keep_bytecode(env):
    """Half of what a short program in Python takes is the translation of its modules: it is done
    once, and what it gave lies below build/, not between the sources."""
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    env["PYTHONPYCACHEPREFIX"] = str(ROOT / "build/pycache")
    return env


def clean_environment(**more):
    """This environment without what braze reads from it."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("BRAZE_", "LISTEN_"))}
    env["PYTHONPATH"] = str(PACKAGE)
    keep_bytecode(env)
    env["BRAZE_NEAR"] = "0"  # small arrays, too, are for the daemon
    env["BRAZE_CHECK"] = "1"  # a pass that breaks a form is found where it does
    env.update(more)
    return env


KEPT_DAYS, KEPT_BYTES = 14, 1 << 30


def kept_folder(name):
    """Of this user, for all trees: what compilers made of tests' texts."""
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    folder = pathlib.Path(cache) / "braze-tests" / name
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    forget(folder)
    return folder


def forget(folder, days=KEPT_DAYS, most=KEPT_BYTES):
    """Remove what was not used for so long, and of the rest the oldest, beyond so many bytes."""
    found = []
    for file in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another run's, which forgets as well
            found.append((file.stat().st_mtime, file.stat().st_size, file))
    left = sum(size for _, size, _ in found)
    for used, size, file in sorted(found):
        if left <= most and used > time.time() - days * 86400:
            break
        file.unlink(missing_ok=True)
        left -= size


def kept_compiler(compiler=None, folder=None, to=None):
    """Path of a compiler of kernels that keeps what it made (kept_cc.sh), or None.

    Most of what the Python tests take is gcc's time, and the texts it gets are the same from run
    to run until somebody changes what is emitted."""
    compiler = compiler or shutil.which("gcc")
    if not compiler:
        return None
    cc1, assembler = (subprocess.run([compiler, f"-print-prog-name={name}"], capture_output=True,
                                     text=True).stdout.strip() for name in ("cc1", "as"))
    tools = [os.path.realpath(shutil.which(tool) or tool) for tool in (compiler, cc1, assembler)]
    identity = "; ".join(f"{tool} {s.st_size} {s.st_mtime_ns}" for tool in tools
                         if os.path.exists(tool) and (s := os.stat(tool)))
    try:
        folder = folder or kept_folder("objects")
        to = to or ROOT / "build/kept/gcc"
        to.parent.mkdir(parents=True, exist_ok=True)
        fresh = to.with_suffix(f".{os.getpid()}")
        lines = {"COMPILER": compiler, "IDENTITY": identity, "KEPT": folder}
        fresh.write_text("#!/bin/sh\n" + "".join(
            f"{name}={shlex.quote(str(value))}\n" for name, value in lines.items())
            + (ROOT / "tests/kept_cc.sh").read_text())
        fresh.chmod(0o755)
        fresh.replace(to)
    except OSError:
        return None  # a home that cannot be written to: all is compiled each time
    return str(to)


def kept_environment():
    """For tests that use compilers and are not about them; without what there is not."""
    env = {}
    if compiler := kept_compiler():
        env["BRAZE_TEST_CC"] = compiler
    if find_standin() and find_nvrtc():
        try:
            env["BRAZE_STANDIN_KEPT"] = str(kept_folder("nvrtc"))
        except OSError:
            return env
        env["BRAZE_STANDIN_NVRTC"] = str(find_nvrtc())
        env["BRAZE_TEST_NVRTC"] = str(find_standin() / "libnvrtc.so")
    return env


# Compiled code and PTX of the stand-in's kernels, kept between runs.
STANDIN_CACHE = ROOT / "build" / "standin-cache"


def find_standin():
    """The folder of the stand-in CUDA driver and its NVRTC, or None."""
    folder = pathlib.Path(find_daemon() or "/").resolve().parent.parent / "standin"
    return folder if (folder / "libcuda.so.1").exists() else None


def find_nvrtc():
    """The real NVRTC that the stand-in's passes calls to, or None: a toolkit's, else the
    environment's own."""
    homes = [os.environ.get(name, "") for name in ("CUDA_HOME", "CUDA_PATH")]
    homes += sorted(map(str, pathlib.Path("/usr/local").glob("cuda*")), reverse=True)
    folders = [pathlib.Path(h) / "lib64" for h in homes if h]
    folders += sorted((ROOT / "build/venv").glob("lib/python3*/site-packages/nvidia/*/lib"))
    for folder in folders:
        for library in sorted(folder.glob("libnvrtc.so.[0-9]*"), key=lambda p: len(p.name)):
            return library
    return None


def standin_environment(**options):
    """Environment of a daemon whose cuda:0 is the stand-in (docs/standin.md)."""
    (STANDIN_CACHE / "ptx").mkdir(parents=True, exist_ok=True)
    return {
        "BRAZE_LIBCUDA": str(find_standin() / "libcuda.so.1"),
        "BRAZE_NVRTC": str(find_standin() / "libnvrtc.so"),
        # Never a toolkit's: that one would look for a GPU.
        "BRAZE_LIBCUBLAS": str(find_standin() / "libcublas.so.13"),
        "BRAZE_LIBCUFFT": str(find_standin() / "libcufft.so.12"),
        "BRAZE_LIBCUSOLVER": str(find_standin() / "libcusolver.so.12"),
        "BRAZE_STANDIN_PTX": str(STANDIN_CACHE / "ptx"),
        "BRAZE_STANDIN_NVRTC": str(find_nvrtc() or ""),
        "BRAZE_STANDIN_KEPT": os.environ.get("BRAZE_STANDIN_KEPT", ""),
        # It is no GPU: what takes long is no hang.
        "BRAZE_WORKER_HANG_MS": "60000",
        # Trials of geometries would take part in what a test counts and breaks.
        "BRAZE_WORKER_TUNE": "0",
        # A modelled time is that of events.
        **({"BRAZE_WORKER_TIME_EACH": "1"} if options.get("clock") == "model" else {}),
        "BRAZE_STANDIN": ",".join(f"{k}={v}" for k, v in options.items()),
    }


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("braze")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(10)
        self.sock.connect(self.path)


def fetch(status_socket, path, method="GET"):
    """(HTTP status, text) of one page of a status socket."""
    connection = _UnixConnection(status_socket)
    try:
        connection.request(method, path)
        reply = connection.getresponse()
        return reply.status, reply.read().decode()
    finally:
        connection.close()


class Daemon:
    """A brazed of one test.  Settings become -o options."""

    def __init__(self, *arguments, folder=None, env=None, limits=None, **settings):
        self.folder = folder or tempfile.mkdtemp(prefix="brazed-")
        self.own_folder = folder is None
        self.socket = os.path.join(self.folder, "brazed.sock")
        self.status_socket = os.path.join(self.folder, "brazed.status.sock")
        self.log = os.path.join(self.folder, "log")
        settings.setdefault("cache_dir", os.path.join(self.folder, "cache"))
        if COMPILER:
            settings.setdefault("compiler", COMPILER)
        self.arguments = [*arguments, *(f"-o{k}={v}" for k, v in settings.items())]
        self.env = clean_environment(**(env or {}))
        self.limits = limits or {}  # {resource.RLIMIT_...: bytes or number}
        self.process = None
        self.started = []

    def __enter__(self):
        return self.start()

    def __exit__(self, *exc):
        self.close()

    def start(self):
        # A sanitizer's or the kernel's last words are in the log; keep the old ones.
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [find_daemon(), "-S", self.socket, *self.arguments],
                stdin=subprocess.DEVNULL, stderr=log, env=self.env,
                preexec_fn=self._limit if self.limits else None)
        wait_until(self._listens, START_SECONDS, "brazed's start")
        return self

    def _limit(self):
        for what, value in self.limits.items():
            resource.setrlimit(what, (value, value))

    def _listens(self):
        assert self.process.poll() is None, "brazed did not start:\n" + self.log_text()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            return s.connect_ex(self.status_socket) == 0

    def log_text(self):
        with open(self.log, errors="replace") as f:
            return f.read()

    def failed_kernels(self):
        """Those that did not compile, as the log tells: their plans ran, but interpreted."""
        lines = self.log_text().splitlines()
        return ["\n".join(lines[i:i + 3]) for i, line in enumerate(lines) if "warn  cache     kernel " in line]

    @property
    def pid(self):
        return self.process.pid

    def stop(self):
        """End it as its operator would; its exit status."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        """Stop it and every client started here; remove its folder."""
        for client in self.started:
            if client.poll() is None:
                client.kill()
            client.wait()
            for stream in (client.stdin, client.stdout, client.stderr):
                if stream:
                    stream.close()
        self.stop()
        if self.own_folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    # ---- Asking ----

    def get(self, path):
        """A page.  A daemon that gets no share of the machine asks to try again: that is done."""
        status, text = wait_until(
            lambda: (page := fetch(self.status_socket, path))[0] != 503 and page, 60, path)
        assert status == 200, f"{path}: {status} {text[:200]}"
        return json.loads(text)

    def status(self):
        return self.get("/status")

    def kernels(self):
        return self.get("/kernels")["kernels"]

    def clients(self):
        return self.get("/clients")["clients"]

    def worker(self):
        """The worker's pid, once there is one."""
        pid = self.status()["worker_pid"]
        return pid if pid > 0 and alive(pid) else 0

    def ctl(self, *arguments, **env):
        return subprocess.run([find_ctl(), "--socket", self.status_socket, *arguments],
                              capture_output=True, text=True, env={**self.env, **env}, timeout=60)

    # ---- Clients ----

    def popen(self, program, *arguments, stdout=subprocess.PIPE, **env):
        """A Python client: a program's path, or its text."""
        head = [str(program)] if os.path.exists(str(program)) else ["-c", program]
        client = subprocess.Popen(
            [sys.executable, *head, *map(str, arguments)], stdin=subprocess.PIPE,
            stdout=stdout, stderr=subprocess.PIPE, text=True, cwd=self.folder,
            env=clean_environment(BRAZE_SOCKET=self.socket, **env))
        self.started.append(client)
        return client

    def run(self, program, *arguments, timeout=60, **env):
        """Run a Python client to its good end; what it printed."""
        return finish(self.popen(program, *arguments, **env), timeout)


def finish(client, timeout=60, expect=0):
    """Wait for a client; what it printed."""
    out, err = client.communicate(timeout=timeout)
    assert client.returncode == expect, f"status {client.returncode}\n{out}\n{err}"
    return out


def kill9(pid):
    os.kill(pid, signal.SIGKILL)
