# SPDX-License-Identifier: Apache-2.0
"""For tests of what is computed in the recording call (conftest.py has switched it off)."""

import contextlib
import os

import braze


@contextlib.contextmanager
def near_on():
    """Sessions as users have them; the one before and the last one inside are closed."""
    old = os.environ.pop("BRAZE_NEAR", None)
    braze.close()
    try:
        yield
    finally:
        braze.close()
        if old is not None:
            os.environ["BRAZE_NEAR"] = old


def near_count():
    """Operations computed in their call so far."""
    return braze.counters()["near"]
