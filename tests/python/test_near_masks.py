# SPDX-License-Identifier: Apache-2.0
"""Masks at hand are counted in this process: nothing is waited for to know how many are chosen."""

import numpy
import pytest
from near_mode import near_on

import braze
import braze.numpy as np


@pytest.fixture(autouse=True, scope="module")
def near():
    with near_on():
        yield


def trips():
    return braze.counters()["demands"]


# Around vectors, rounds of them, blocks, and what is many.
SIZES = [*range(1, 70), 127, 128, 129, 4095, 4097, 16319, 16320, 16321, 16385, 131071, 131072, 300_001]


@pytest.mark.parametrize("share", (0.0, 0.01, 0.5, 1.0))
def test_counts_and_places(share):
    rng = numpy.random.default_rng(3)
    for n in SIZES:
        m, x = rng.random(n) < share, rng.random(n)
        for cut in (slice(None), slice(1, None), slice(None, None, -1)):
            ours, a = np.asarray(m)[cut], np.asarray(x)[cut]
            braze.wait(ours, a)
            got = a[ours]
            assert got.shape == x[cut][m[cut]].shape
            assert numpy.array_equal(numpy.asarray(got), x[cut][m[cut]])
            assert numpy.array_equal(numpy.asarray(np.flatnonzero(ours)), numpy.flatnonzero(m[cut]))
            (places,) = ours.nonzero()
            assert places.dtype == numpy.int64
            assert numpy.array_equal(numpy.asarray(places), m[cut].nonzero()[0])


@pytest.mark.parametrize("n", (10, 1000, 200_000, 2_000_000))
def test_nothing_is_waited_for(n):
    a, none, some = np.asarray(numpy.arange(n) * 0.5), np.asarray(numpy.zeros(n, bool)), np.asarray(numpy.arange(n) % 3 == 0)
    braze.wait(a, none, some)
    before = trips()
    assert a[none].shape == (0,) and np.nonzero(none)[0].shape == (0,)
    assert a.reshape(-1, 2)[none[: n // 2]].shape == (0, 2)
    assert a[some].shape == ((n + 2) // 3,)
    assert trips() == before
    assert float(a[some].sum()) == float(numpy.asarray(a)[::3].sum())


def test_a_mask_that_is_written_afterwards():
    n = 200_000
    a, m = np.asarray(numpy.arange(float(n))), np.asarray(numpy.arange(n) % 2 == 0)
    braze.wait(a, m)
    chosen = a[m]
    m[:] = False
    a[:] = -1
    assert numpy.array_equal(numpy.asarray(chosen), numpy.arange(0.0, n, 2))


@pytest.mark.parametrize("dtype", ("f8", "i8", "i2", "?", "c16"))
def test_what_a_pending_mask_chooses_of_few_at_hand_takes_one_trip(dtype):
    host = (numpy.arange(100_000) % 251).astype(dtype)
    a, far = np.asarray(host), np.asarray(numpy.random.default_rng(4).random(100_000))
    braze.wait(a, far)
    braze.wait(np.full(1_000_000, 1.0) + 1)  # a long stretch
    mask = far * 3.0 - 1.0 + far * far > 2.4  # pending, as it is too much work
    before = trips()
    chosen = a[mask]
    a[:3] = 1
    got = chosen + chosen
    assert trips() == before + 1
    picked = host[numpy.asarray(mask)]
    assert numpy.array_equal(numpy.asarray(got), picked + picked)
    assert trips() == before + 1
