# SPDX-License-Identifier: Apache-2.0
"""A private daemon for the whole run, and a check for leaked descriptors.

BRAZE_SOCKET names its socket in a temporary folder, so no test touches a user's
daemon (../harness.py tells which brazed it is).
"""

import os
import pathlib
import sys
import zlib

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
pytest.register_assert_rewrite("harness")
import harness  # noqa: E402
from harness import find_daemon  # noqa: E402
from on_device import new_daemon  # noqa: E402


def pytest_configure(config):
    """The daemon must run before a test module is imported.

    Arrays in tests are small, and what is tested is the daemon: nothing is computed in
    its call unless the run asks for it (BRAZE_NEAR=1) or the test (test_near.py).  Two
    threads share what is, on any machine: where that begins depends on how many there are."""
    os.environ.setdefault("BRAZE_NEAR", "0")
    os.environ.setdefault("BRAZE_THREADS", "2")
    config.addinivalue_line("markers", "long: minutes; left out unless asked for")
    harness.COMPILER = os.environ.get("BRAZE_TEST_CC")
    config.braze_daemon = None
    if find_daemon() is None:
        return
    config.braze_daemon = new_daemon().start()
    os.environ["BRAZE_SOCKET"] = config.braze_daemon.socket


def pytest_unconfigure(config):
    """Stop the daemon and remove its folder."""
    if getattr(config, "braze_daemon", None):
        if "braze" in sys.modules:
            sys.modules["braze"].close()
        config.braze_daemon.close()


def pytest_collection_modifyitems(config, items):
    """Without a daemon only test_no_daemon.py means anything.

    BRAZE_TEST_SAMPLE=N keeps one test of N, always the same ones, and those that say
    what lies where whole."""
    sample = int(os.environ.get("BRAZE_TEST_SAMPLE", "1"))
    if sample > 1:
        items[:] = [item for item in items if item.path.name == "test_semantics.py"
                    or zlib.crc32(item.nodeid.encode()) % sample == 0]
    if config.braze_daemon is None:
        mark = pytest.mark.skip(reason="no brazed: set BRAZED or build the tree")
        for item in items:
            if item.path.name != "test_no_daemon.py":
                item.add_marker(mark)


@pytest.fixture
def daemon():
    """A second, private daemon: (process, socket path); for tests that kill it."""
    with new_daemon() as private:
        yield private.process, private.socket


@pytest.fixture(autouse=True, scope="session")
def as_was_meant(request):
    """Every kernel compiled, and what was to run on a device did run there."""
    yield
    if request.config.braze_daemon:
        assert not request.config.braze_daemon.failed_kernels()
    device = os.environ.get("BRAZE_TEST_DEVICE")
    if device:
        own = request.config.braze_daemon
        row = next(d for d in own.status()["devices"] if d["name"] == device)
        if len({item.path for item in request.session.items}) > 1:  # of one file nothing may belong there
            assert row["runs"] > 100, row
        assert row["worker_deaths"] == 0, own.log_text()[-4000:]
        assert "cannot be had" not in own.log_text(), own.log_text()[-4000:]


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
