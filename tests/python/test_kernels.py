# SPDX-License-Identifier: Apache-2.0
"""Wrong values that fused kernels once gave; each test names the cause."""

import numpy
import pytest

import braze
import braze.numpy as np


@pytest.mark.parametrize("narrow", ["uint8", "uint16", "uint32"])
@pytest.mark.parametrize("to", ["int8", "int32", "int64", "uint64"])
def test_cast_chain_keeps_the_narrow_type_in_the_middle(narrow, to):
    x = numpy.array([3031 + 2**16 * 70001 + 2**40, 2**63 + 200, 7], "uint64")
    got = np.array(x).astype(narrow).astype(to) + 0
    assert numpy.array_equal(numpy.asarray(got), x.astype(narrow).astype(to))


@pytest.mark.parametrize("n", [5, 100, 1023, 2079, 70000])
@pytest.mark.parametrize("dtype", ["int8", "int32", "float32"])
def test_reduced_operand_that_is_read_again_in_a_wider_type(n, dtype):
    """Its register was given away before the reduction had read it."""
    x = (numpy.arange(n) % 17).astype(dtype)
    a = np.array(x)
    high, low, total, wide = a.max(), a.min(), a.sum(), np.exp(a + np.float64(0))
    braze.wait(high, low, total, wide)
    assert (int(high), int(low), float(total)) == (x.max(), x.min(), x.sum(dtype="float64"))
    assert numpy.allclose(numpy.asarray(wide), numpy.exp(x.astype(float)), rtol=1e-15)


@pytest.mark.parametrize("size", [8, 40000])
def test_recipes_that_several_jobs_of_one_trace_need(size):
    """A job that ended took a value back that a later one was computing."""
    x = numpy.arange(float(size))
    for _ in range(6):  # the later times without waiting for plans
        start = np.array(x)
        live = [start + k for k in range(10)]
        total = np.zeros(size)
        for i in range(4500):
            total = total + live[i % 10]
        assert numpy.array_equal(numpy.asarray(total), 4500 * x + 450 * 45)
        for k, a in enumerate(live):
            assert numpy.array_equal(numpy.asarray(a), x + k)


def test_clip_of_complex_numbers_with_a_nan():
    """NumPy's order of complex numbers has a rule of its own for a nan."""
    for low in (complex(0, float("nan")), complex(float("nan"), 0), 1 + 0j):
        a, b = numpy.array([3 + 0j, 1j]), numpy.array([low, low])
        want = numpy.clip(a, b, 2)
        got = numpy.asarray(np.clip(np.array(a), np.array(b), 2))
        assert got.dtype == want.dtype and numpy.array_equal(got, want, equal_nan=True)
