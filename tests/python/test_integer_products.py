# SPDX-License-Identifier: Apache-2.0
"""Products of integers that are not short: NumPy's bits, however the operands lie and whatever is around."""

import numpy
import pytest

import braze
import braze.numpy as np

TYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
LAYOUTS = ["x @ y", "x[::2] @ y", "x[:, ::-1] @ y[::-1]", "x @ y[:, ::3]", "y.T @ x.T", "x[:, 1:] @ y[1:]"]


def operands(dtype, *shapes):
    rng = numpy.random.default_rng(3)
    ends = numpy.iinfo(dtype)
    return [rng.integers(ends.min, ends.max, shape, dtype, endpoint=True) for shape in shapes]


def check(a, b, text, **names):
    x, y = np.asarray(a), np.asarray(b)
    got = numpy.asarray(eval(text, {"x": x, "y": y, "np": np, **names}))
    want = eval(text, {"x": a, "y": b, "np": numpy, **names})
    assert got.dtype == want.dtype
    numpy.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", TYPES)
def test_layouts(dtype):
    a, b = operands(dtype, (130, 121), (121, 111))
    for text in LAYOUTS:
        check(a, b, text)


@pytest.mark.parametrize("dtype", TYPES)
def test_long_inner_axes_and_stacks(dtype):
    """More than a chunk of the inner axis; stacks that share an operand."""
    check(*operands(dtype, (20, 4100), (4100, 19)), "x @ y")
    check(*operands(dtype, (3, 1, 90, 80), (2, 80, 170)), "x @ y")
    check(*operands(dtype, (2, 110, 105), (105, 104)), "(x @ y) * 3 - (x @ y).sum()")


def test_mixed_types_and_what_they_become():
    a, _ = operands("int8", (140, 120), (1,))
    _, b = operands("uint16", (1,), (120, 100))
    check(a, b, "x @ y")
    check(a, a.T.copy(), "np.matmul(x, y, dtype='int32')")
    out = np.zeros((140, 300), "int8")
    out[:, 20:160] = np.asarray(a) @ np.asarray(a).T
    want = numpy.zeros((140, 300), "int8")
    want[:, 20:160] = a @ a.T
    numpy.testing.assert_array_equal(numpy.asarray(out), want)


def test_they_are_steps_of_their_own():
    """Not sums that read a column anew for each element."""
    a, = operands("int16", (200, 200))
    x = np.asarray(a)
    c = x @ x
    braze.wait(c)
    assert "matmul of int16, 200 x 200 by 200 x 200" in braze.explain(c)
    t = x % 2 == 0
    c = t @ t
    braze.wait(c)
    assert "matmul" not in braze.explain(c)
