# SPDX-License-Identifier: Apache-2.0
"""A wait for a loop that is cancelled in any turn: asked again, it has the bits of a run without a stop."""

import os
import signal

import numpy
import pytest
from loop_programs import PROGRAMS

import braze.numpy as np

pytestmark = pytest.mark.skipif(bool(os.environ.get("BRAZE_TEST_DEVICE")), reason="interpreted: minutes")
SIZE, TURNS = 120, 900
# Of a loop that takes some ten milliseconds.
DELAYS = [0.0002, 0.0007, 0.0015, 0.003, 0.005, 0.008, 0.012, 0.02]


class Stop(Exception):
    """What the signal's handler raises."""


@pytest.fixture
def alarm():
    def stop(signum, frame):
        raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def asked(alarm, array, delay):
    """Its elements, and how many waits were stopped before they came."""
    stopped = 0
    while True:
        try:
            alarm(delay)
            made = numpy.asarray(array)
            alarm(0)
            return made, stopped
        except Stop:
            stopped += 1
            delay *= 1.5


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_cancelled_in_any_turn(program, alarm):
    want = [numpy.asarray(x) for x in program(np, TURNS, SIZE)]
    for x, y in zip(want, program(numpy, TURNS, SIZE), strict=True):
        numpy.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)
    stops = 0
    for delay in DELAYS:
        for x, y in zip(program(np, TURNS, SIZE), want, strict=True):
            got, stopped = asked(alarm, x, delay)
            assert got.tobytes() == y.tobytes()
            stops += stopped
    print(f"{program.__name__}: {stops} waits were cancelled")


def test_some_wait_is_cancelled(alarm):
    """The delays above fall into turns."""
    stops = 0
    for delay in DELAYS:
        for x in PROGRAMS[0](np, 3000, 250):
            stops += asked(alarm, x, delay)[1]
    assert stops
