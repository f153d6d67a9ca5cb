# SPDX-License-Identifier: Apache-2.0
"""For tests of what is computed in the recording call (conftest.py has switched it off)."""

import contextlib
import os

import braze


@contextlib.contextmanager
def near_on():
    """Sessions as users have them, on no device that they named; the one before and the last
    one inside are closed."""
    old = {name: os.environ.pop(name) for name in ("BRAZE_NEAR", "BRAZE_DEVICE") if name in os.environ}
    braze.close()
    try:
        yield
    finally:
        braze.close()
        os.environ.update(old)


def near_count():
    """Operations computed in their call so far."""
    return braze.counters()["near"]
