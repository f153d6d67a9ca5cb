# SPDX-License-Identifier: Apache-2.0
"""A private daemon for the whole run; BRAZE_SOCKET names its socket, in child processes too."""

import os
import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent / "build" / "python")]
from harness import Daemon  # noqa: E402


def pytest_configure(config):
    """The daemon must run before a test module is imported."""
    config.braze_daemon = Daemon().start()
    os.environ["BRAZE_SOCKET"] = config.braze_daemon.socket
    os.environ["PYTHONPATH"] = str(TESTS.parent / "build" / "python")


def pytest_unconfigure(config):
    """Stop the daemon and remove its folder."""
    if "braze" in sys.modules:
        sys.modules["braze"].close()
    config.braze_daemon.close()
