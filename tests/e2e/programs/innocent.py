# SPDX-License-Identifier: Apache-2.0
"""A client that minds its own business: right results in every turn, or it fails.

It holds the same arrays after every turn.  "rest" on stdin answers its figures
and pauses until "go"; the end of stdin ends it.
"""

import json
import os
import select

import numpy

import braze
import braze.numpy as np

N = 20_000
rng = numpy.random.default_rng(7)
host = rng.uniform(-1, 1, N)
base = np.asarray(host)
grid = np.asarray(host[:10_000].reshape(100, 100))
held = np.asarray(host) * 3.0 + 1.0


def turn(i):
    k = float(i % 5)
    assert numpy.array_equal(numpy.asarray(base * k + held), host * k + (host * 3.0 + 1.0))
    copy = grid + 0.0
    copy[1:-1, 1:-1] = grid[:-2, 1:-1] - grid[2:, 1:-1]
    want = host[:10_000].reshape(100, 100).copy()
    grid_host = want.copy()
    want[1:-1, 1:-1] = grid_host[:-2, 1:-1] - grid_host[2:, 1:-1]
    assert numpy.array_equal(numpy.asarray(copy), want)
    assert int((np.arange(1000) + i).sum()) == 499500 + 1000 * i
    assert bool((np.sqrt(base * base) == abs(base)).all()) == bool(
        (numpy.sqrt(host * host) == abs(host)).all())


unread = b""


def word(wait):
    """The next line of stdin; None when none waits, "" at the end.  Not through
    sys.stdin, whose buffer select does not see."""
    global unread
    while b"\n" not in unread:
        if not wait and not select.select([0], [], [], 0)[0]:
            return None
        more = os.read(0, 100)
        if not more:
            return ""
        unread += more
    line, _, unread = unread.partition(b"\n")
    return line.decode()


turns = 0
turn(0)
while (said := word(False)) != "":
    if said == "rest":
        braze.flush()
        print(json.dumps({"turns": turns}), flush=True)
        if word(True) != "go":
            break
    turn(turns)
    turns += 1
