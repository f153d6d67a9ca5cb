# SPDX-License-Identifier: Apache-2.0
"""For tests of what is computed in the recording call (conftest.py has switched it off)."""

import contextlib
import os
import sys
import threading

import braze
import braze.numpy
from on_device import DEVICE

# Nothing is near in a session that names a GPU; and by itself the daemon may choose one.
PLACE = {"BRAZE_DEVICE": "cpu"} if DEVICE else {}


def near_environment(**more):
    """Of a program of its own, whose session is as users have them."""
    kept = {name: value for name, value in os.environ.items() if name not in ("BRAZE_NEAR", "BRAZE_DEVICE")}
    return {**kept, **PLACE, **more}


def first_is_over():
    """A new session's first stretch, whose bound is higher, ends with what is too large for it."""
    braze.wait(braze.numpy.full(200_000, 1.0))


@contextlib.contextmanager
def near_on(first=False):
    """Sessions as users have them, on no GPU; the one before and the last
    one inside are closed. Without `first` it is behind what a new session tries. Values that a file makes when it
    is imported are waited for there, as their session may be closed here."""
    old = {name: os.environ.pop(name) for name in ("BRAZE_NEAR", "BRAZE_DEVICE") if name in os.environ}
    os.environ.update(PLACE)
    braze.close()
    if not first:
        first_is_over()
    try:
        yield
    finally:
        braze.close()
        os.environ.pop("BRAZE_DEVICE", None)
        os.environ.update(old)


def run_in_threads(program):
    """Programs 1000 to 1005, 1010 to 1015 and 1020 to 1025, three at a time in one session."""
    failed, old = [], sys.getswitchinterval()

    def work(first):
        try:
            for seed in range(first, first + 6):
                program(seed).run()
        except BaseException as e:  # noqa: BLE001
            failed.append(e)

    sys.setswitchinterval(1e-5)
    threads = [threading.Thread(target=work, args=(1000 + 10 * k,)) for k in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    sys.setswitchinterval(old)
    assert not failed, failed[0]


def near_count():
    """Operations computed in their call so far."""
    return braze.counters()["near"]
