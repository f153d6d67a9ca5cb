# SPDX-License-Identifier: Apache-2.0
"""Complex zero to every kind of power, and reductions into bool: as NumPy's, and the same
bits by the interpreter and by compiled code.
"""

import itertools
import os
import sys

import numpy
import pytest

import braze.numpy as np
from harness import Daemon, wait_until

PARTS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, numpy.inf, -numpy.inf, numpy.nan]
ZEROS = [complex(x, y) for x in (0.0, -0.0) for y in (0.0, -0.0)]


def _powers(dtype):
    exponents = [complex(x, y) for x, y in itertools.product(PARTS, PARTS)]
    both = list(itertools.product(ZEROS, exponents))
    return (numpy.array(x, dtype) for x in zip(*both, strict=True))


@pytest.mark.parametrize("dtype", ("F", "D"))
def test_zero_to_a_complex_power(dtype):
    base, exponent = _powers(dtype)
    with numpy.errstate(all="ignore"):
        want = base**exponent
        numpy.testing.assert_array_equal(np.array(base) ** np.array(exponent), want)
        # NumPy's operator has short cuts for a number, and so has ours.
        for e in dict.fromkeys(exponent.tolist()):
            got = numpy.asarray(np.array(base) ** e)
            numpy.testing.assert_array_equal(got, base**e, err_msg=f"exponent {e}")


@pytest.mark.parametrize("dtype", ("?", "h", "d"))
def test_other_zeros_to_a_complex_power(dtype):
    base, exponent = numpy.zeros(4, dtype), numpy.array([9.6 - 1.3j, 1j, 2, -1])
    with numpy.errstate(all="ignore"):
        got = np.power(np.array(base), np.array(exponent))
        numpy.testing.assert_array_equal(got, base**exponent)


def print_bits():
    """For a process of its own: the bytes of everything that these tests compute."""
    for dtype in "FD":
        base, exponent = map(np.array, _powers(dtype))
        print((base**exponent).tobytes().hex())
    flags = np.array(numpy.arange(6000) % 7 == 0).reshape(3, 2000)
    for dtype in "?hdDe":
        a = flags.astype(dtype)
        for axis in (0, 1, None):
            print(np.sum(a, axis, bool).tobytes().hex(), np.prod(a, axis, bool).tobytes().hex())


def test_both_tiers_give_the_same_bits():
    code = "import test_complex_powers; test_complex_powers.print_bits()"
    paths = os.pathsep.join([os.path.dirname(__file__), *filter(None, sys.path)])
    printed = []
    for tier in (0, 1):
        with Daemon(tier=tier) as daemon:
            for _ in range(1 + tier):  # tier 1: a second time, when all is compiled
                text = daemon.run(code, timeout=300, PYTHONPATH=paths)
                printed.append(text)
                wait_until(lambda d=daemon: not any(
                    k["state"] == "compiling" for k in d.kernels()), 300, "the end of compiling")
            assert not tier or any(k["state"] == "ready" for k in daemon.kernels())
    assert printed[0] and len(set(printed)) == 1
