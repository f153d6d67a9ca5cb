# SPDX-License-Identifier: Apache-2.0
"""Loops over many places of arrays that do not meet become vectors, however many places there are."""

import shutil
import time

import numpy as np
import pytest

import braze


def seconds(side):
    """The least time of a call that adds up a square of neighbours for each of 3000 lines' places."""
    places = [(p, q) for p in range(side) for q in range(side)]
    terms = " + ".join(f"m[i + {p}, j + {q}, k]" for p, q in places)
    kernel = braze.kernel_from_text(
        "kernel f(m: float32[:,:,:], inout z: float32[:,:,:]) { for i in 0..len(z) { for j in 0..len(z, 1) {\n"
        f"for k in 0..len(z, 2) {{ z[i, j, k] = {terms} }} }} }} }}")
    kernel.compile()
    m, z = np.random.default_rng(1).random((side + 7, side, 3000), np.float32), np.empty((8, 1, 3000), np.float32)
    least = 1.0
    for _ in range(300):
        begun = time.thread_time()
        kernel(m, z)
        least = min(least, time.thread_time() - begun)
    want = m[:8, 0]
    for p, q in places[1:]:
        want = want + m[p:p + 8, q]
    assert (z[:, 0] == want).all()
    return least


@pytest.mark.skipif(not shutil.which("gcc"), reason="the flag is gcc's")
def test_many_places_that_could_meet():
    few, many = seconds(2), seconds(4)
    assert many < 8 * few, (few, many)
