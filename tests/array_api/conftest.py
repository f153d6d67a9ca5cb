# SPDX-License-Identifier: Apache-2.0
"""A private daemon for the run; hypothesis without deadlines, and the same examples
each time unless BRAZE_SEED says otherwise."""

import os
import pathlib
import sys

import hypothesis

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import ROOT, Daemon  # noqa: E402

EXAMPLES = int(os.environ.get("BRAZE_EXAMPLES", "100"))

hypothesis.configuration.set_hypothesis_home_dir(ROOT / "build" / "hypothesis")
hypothesis.settings.register_profile(
    "standard", max_examples=EXAMPLES, deadline=None, database=None, derandomize=True,
    suppress_health_check=list(hypothesis.HealthCheck))
hypothesis.settings.load_profile("standard")


def pytest_configure(config):
    """The daemon must run before a test module is imported."""
    config.braze_daemon = Daemon().start()
    os.environ["BRAZE_SOCKET"] = config.braze_daemon.socket


def pytest_unconfigure(config):
    if "braze" in sys.modules:
        sys.modules["braze"].close()
    config.braze_daemon.close()
