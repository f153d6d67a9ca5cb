# SPDX-License-Identifier: Apache-2.0
"""End-to-end tests: real processes, a private daemon for each test or module."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
pytest.register_assert_rewrite("harness", "siege", "raw", "gpu", "wheels", "roots")
from gpu import Gpu  # noqa: E402
from harness import Daemon, find_daemon  # noqa: E402
from siege import Sieges  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "long: a campaign, left out of the normal run")


def pytest_collection_modifyitems(items):
    """Nothing here means anything without a daemon."""
    if find_daemon() is None:
        for item in items:
            if item.path.parent == pathlib.Path(__file__).parent:
                item.add_marker(pytest.mark.skip(reason="no brazed: build the tree"))


@pytest.fixture
def daemon():
    """A daemon of the test's own, with a new cache."""
    with Daemon() as private:
        yield private


@pytest.fixture(scope="module")
def gpu():
    """A daemon of the module's own, whose cuda:0 is the stand-in."""
    with Gpu() as gpu:
        gpu.usable()
        yield gpu


@pytest.fixture(scope="module")
def sieges():
    """A daemon with clients at work, for attacks one after the other."""
    sieges = Sieges()
    yield sieges
    sieges.end()


@pytest.fixture
def siege(sieges):
    return sieges.attack()
