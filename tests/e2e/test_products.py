# SPDX-License-Identifier: Apache-2.0
"""A product's bits depend on its shapes, types and layouts only."""

import itertools

import pytest
import raw
from endless import ENDLESS
from harness import Daemon
from raw import Raw

# Prints a digest of each product; shapes are longer than what they are cut into along
# every dimension, and along the inner axis alone.
PROGRAM = """
import hashlib
import numpy
import braze.numpy as np

rng = numpy.random.default_rng(7)
SHAPES = [((130, 2100), (2100, 520)), ((3, 20000), (20000, 2)), ((1, 50000), (50000, 1)),
          ((5, 2, 4500), (5, 4500, 3)), ((150, 150), (150, 150)), ((90, 100), (100, 80)), ((4, 3000), (3000,)),
          ((3000,), (3000,))]
for dtype in ("f8", "f4", "f2", "c16", "c8", "i8"):
    for one, two in SHAPES[dtype == "i8":]:
        a, b = rng.standard_normal(one), rng.standard_normal(two)
        if dtype[0] == "c":
            a, b = a + 1j * rng.standard_normal(one), b - 1j * rng.standard_normal(two)
        if dtype[0] == "i":
            a, b = (a * 9).round(), (b * 9).round()
        a, b = (a / 8).astype(dtype), (b / 8).astype(dtype)
        wide = {"f2": "f4"}.get(dtype, dtype)
        want = a.astype(wide) @ b.astype(wide)
        size = {"f8": 1e-11, "c16": 1e-11, "f4": 1e-4, "c8": 1e-4, "f2": 4e-2}.get(dtype, 0)
        scale = numpy.abs(a).astype(wide) @ numpy.abs(b).astype(wide) if size else 1
        for layout in (0, 1):
            x, y = np.array(a), np.array(b)
            if layout:
                x = np.array(numpy.ascontiguousarray(a.T)).T
                y = np.array(numpy.repeat(b, 2, axis=-1))[..., ::2]
            got = numpy.asarray(x @ y)
            assert got.dtype == a.dtype and got.shape == want.shape
            assert (numpy.abs(got - want.astype(dtype)) <= size * scale).all(), (dtype, one)
            print(dtype, one, layout, hashlib.sha256(got.tobytes()).hexdigest()[:16])
"""


def digests(daemon):
    return daemon.run(PROGRAM, timeout=300, OPENBLAS_NUM_THREADS="1")


@pytest.fixture(scope="module")
def one_thread():
    with Daemon(threads=1) as daemon:
        return digests(daemon)


@pytest.mark.parametrize("threads", [2, 5])
def test_products_have_the_same_bits_on_any_number_of_threads(one_thread, threads):
    with Daemon(threads=threads) as daemon:
        assert digests(daemon) == one_thread


def test_products_have_the_same_bits_in_slices(one_thread):
    """Others ask for the CPU all the time, so that all is cut as small as can be."""
    with Daemon(threads=2) as daemon, Raw(daemon.socket) as c:
        tickets = itertools.count(1)
        trace, wanted = ENDLESS["product"]
        c.request(trace.message(), raw.demand(next(tickets), wanted))
        assert digests(daemon) == one_thread
