# SPDX-License-Identifier: Apache-2.0
"""A private daemon for the whole run, and a check for leaked descriptors.

The daemon is $BRAZED or build/bin/brazed of the source tree; BRAZE_SOCKET names
its socket in a temporary folder, so no test touches a user's daemon.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def find_daemon():
    """The daemon's path, or None."""
    for path in (os.environ.get("BRAZED"), ROOT / "build" / "bin" / "brazed"):
        if path and os.access(path, os.X_OK):
            return str(path)
    return None


def start_daemon(folder):
    """Start brazed on a socket in the folder; (process, socket path)."""
    socket = os.path.join(folder, "brazed.sock")
    env = dict(os.environ, BRAZE_CACHE_DIR=os.path.join(folder, "cache"))
    log = open(os.path.join(folder, "log"), "wb")
    process = subprocess.Popen(
        [find_daemon(), "-S", socket], stdin=subprocess.DEVNULL, stderr=log, env=env
    )
    log.close()
    deadline = time.monotonic() + 20
    while not os.path.exists(socket):
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            with open(os.path.join(folder, "log"), errors="replace") as f:
                raise RuntimeError("brazed did not start:\n" + f.read())
        time.sleep(0.01)
    return process, socket


def stop(process):
    """End a daemon that start_daemon started."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def pytest_configure(config):
    """The daemon must run before a test module is imported."""
    config.addinivalue_line("markers", "long: minutes; left out unless asked for")
    config.braze_daemon = None
    if find_daemon() is None:
        return
    folder = tempfile.mkdtemp(prefix="braze-test-")
    process, socket = start_daemon(folder)
    os.environ["BRAZE_SOCKET"] = socket
    config.braze_daemon = (process, folder)


def pytest_unconfigure(config):
    """Stop the daemon and remove its folder."""
    if getattr(config, "braze_daemon", None):
        if "braze" in sys.modules:
            sys.modules["braze"].close()
        stop(config.braze_daemon[0])
        shutil.rmtree(config.braze_daemon[1], ignore_errors=True)


def pytest_collection_modifyitems(config, items):
    """Without a daemon only test_no_daemon.py means anything."""
    if config.braze_daemon is None:
        mark = pytest.mark.skip(reason="no brazed: set BRAZED or build the tree")
        for item in items:
            if item.path.name != "test_no_daemon.py":
                item.add_marker(mark)


@pytest.fixture
def daemon():
    """A second, private daemon: (process, socket path); for tests that kill it."""
    folder = tempfile.mkdtemp(prefix="braze-test-")
    process, socket = start_daemon(folder)
    yield process, socket
    stop(process)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def no_leaked_descriptors(request):
    """A test leaves as many open descriptors as it found (connecting aside)."""
    if request.config.braze_daemon is None:
        yield
        return
    import braze.numpy

    float(braze.numpy.zeros(1)[0])  # connected before the first count
    before = len(os.listdir("/proc/self/fd"))
    yield
    after = len(os.listdir("/proc/self/fd"))
    assert after <= before, f"{after - before} descriptors leaked"
