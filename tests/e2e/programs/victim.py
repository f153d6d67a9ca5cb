# SPDX-License-Identifier: Apache-2.0
"""A client that does one thing, says "ready" before it, and tells how it went.

victim.py import   makes host arrays and has them summed, for ever
victim.py demand   waits for one long kernel, and checks its result
victim.py again    waits for one long kernel, for ever: compiled it is a short one
victim.py inplace  overwrites an array in a long kernel; others must survive
"""

import sys

import numpy

import braze
import braze.numpy as np

N = 4_000_000


def say(*words):
    print(*words, flush=True)


def long_kernel(module, x):
    for _ in range(30):
        x = module.sqrt(x * x + 1.0) / 1.5
    return x


def check_demand():
    host = numpy.linspace(0, 1, N)
    x = np.asarray(host)
    braze.wait(x)
    say("ready")
    got = numpy.asarray(long_kernel(np, x))
    assert numpy.array_equal(got, long_kernel(numpy, host))
    assert numpy.array_equal(numpy.asarray(x), host)
    say("right")


def ask_again():
    x = np.asarray(numpy.linspace(0, 1, N))
    braze.wait(x)
    say("ready")
    while True:
        braze.wait(long_kernel(np, x))


def check_inplace():
    host = numpy.linspace(0, 1, N)
    kept, lost = np.asarray(host), np.asarray(host)
    braze.wait(kept, lost)
    say("ready")
    # A part, so that the rest must stay: this is done in place.
    lost[1:] = long_kernel(np, kept[1:])
    try:
        got = numpy.asarray(lost)
    except braze.LostError as error:
        assert "overwriting" in str(error), error
        say("lost")
    else:
        assert numpy.array_equal(got[1:], long_kernel(numpy, host[1:])) and got[0] == host[0]
        say("right")
    assert numpy.array_equal(numpy.asarray(kept), host)
    assert numpy.array_equal(numpy.asarray(kept * 2.0), host * 2.0)
    lost[:] = 5.0
    assert numpy.array_equal(numpy.asarray(lost), numpy.full(N, 5.0))


def import_for_ever():
    host = numpy.linspace(0, 1, N)
    float(np.asarray(host).sum())
    say("ready")
    while True:
        float(np.asarray(host).sum())


{"import": import_for_ever, "demand": check_demand, "again": ask_again,
 "inplace": check_inplace}[sys.argv[1]]()
