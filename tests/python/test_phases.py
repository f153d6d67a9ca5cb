# SPDX-License-Identifier: Apache-2.0
"""Maps behind reductions over the same points, as in softmax and normalisation: one kernel
each, with the bits that they have as one kernel for each operation.
"""

import itertools
import os
import time

import numpy
import pytest

import braze
import braze.numpy as np

# Shape and reduced axes: rows and columns, a block of the summation tree and more, several
# reduced axes, few points, as many as a tile takes and one more.
SHAPES = [((6, 50), -1), ((64, 50), 0), ((3, 7, 9), 1), ((5000,), 0), ((2, 3, 4, 5), (0, 2, 3)),
          ((30, 3), 1), ((2, 3000), 1), ((257, 20), 0), ((2, 33, 2), (1, 2)), ((4, 1100), 1),
          ((1, 9), 1), ((9, 1), 1), ((3, 1024), 1), ((1500, 5), 0), ((17, 128), 1), ((15, 300), 1),
          # Less than a vector, some vectors and a part of one, and turns of all accumulators with a rest.
          ((37, 10), 1), ((16, 16), 1), ((35, 33), 1), ((18, 100), 1), ((41, 7), 1), ((9, 67), 1)]

# A device that is interpreted takes seconds for each.
if os.environ.get("BRAZE_TEST_DEVICE"):
    SHAPES = SHAPES[:3] + SHAPES[6:7]


def softmax(m, x, axis):
    e = m.exp(x - m.max(x, axis=axis, keepdims=True))
    return e / m.sum(e, axis=axis, keepdims=True)


def log_softmax(m, x, axis):
    below = x - m.max(x, axis=axis, keepdims=True)
    return below - m.log(m.sum(m.exp(below), axis=axis, keepdims=True))


def layer_norm(m, x, axis):
    from_mean = x - m.mean(x, axis=axis, keepdims=True)
    variance = m.mean(from_mean * from_mean, axis=axis, keepdims=True)
    return from_mean / m.sqrt(variance + 1e-5)


def affine_norm(m, x, axis):
    """With weights of the reduced axes, and a bias."""
    return layer_norm(m, x, axis) * (m.abs(x) + 0.5) + 0.25


def variance(m, x, axis):
    return m.var(x, axis=axis)


def deviation(m, x, axis):
    return m.std(x, axis=axis) + 1


def unit_rows(m, x, axis):
    return x / m.sqrt(m.sum(x * x, axis=axis, keepdims=True))


def centred(m, x, axis):
    return x - m.mean(x, axis=axis, keepdims=True)


def scaled(m, x, axis):
    low = m.min(x, axis=axis, keepdims=True)
    return (x - low) / (m.max(x, axis=axis, keepdims=True) - low + 1)


def above_mean(m, x, axis):
    """A count of a comparison with a result: types change between the phases."""
    return m.sum(x > m.mean(x, axis=axis, keepdims=True), axis=axis)


def moments(m, x, axis):
    """Four phases."""
    unit = layer_norm(m, x, axis)
    return unit - m.max(unit * unit * unit, axis=axis, keepdims=True)


PROGRAMS = [softmax, log_softmax, layer_norm, affine_norm, variance, deviation, unit_rows, centred,
            scaled, above_mean, moments]


def _data(shape, dtype):
    return numpy.random.default_rng(7).standard_normal(shape).astype(dtype)


def _bits(a):
    return numpy.asarray(a).tobytes()


def _one_by_one(program, x, axis):
    with braze.unfused():
        return program(np, np.asarray(x), axis)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_same_bits_as_one_by_one(program):
    for (shape, axis), dtype in itertools.product(SHAPES, ("d", "f")):
        x = _data(shape, dtype)
        fused = program(np, np.asarray(x), axis)
        want = program(numpy, x, axis)

        assert fused.dtype == want.dtype and fused.shape == want.shape
        assert _bits(fused) == _bits(_one_by_one(program, x, axis)), (shape, axis, dtype)
        numpy.testing.assert_allclose(numpy.asarray(fused), want, err_msg=str((shape, axis, dtype)),
                                      rtol=2e-4 if dtype == "f" else 1e-11,
                                      atol=1e-5 if dtype == "f" else 1e-12)


@pytest.mark.skipif(bool(os.environ.get("BRAZE_TEST_DEVICE")), reason="interpreted: minutes")
@pytest.mark.parametrize("columns", [128, 130])
def test_results_larger_than_the_caches(columns):
    """Whole lines of them are written past the caches, once the kernel is compiled; rows that
    share lines are not."""
    x = _data(((48 << 20) // (8 * columns), columns), "d")
    a = np.asarray(x)
    for program in layer_norm, centred:
        want = _bits(_one_by_one(program, x, -1))

        for _ in range(3):
            assert _bits(program(np, a, -1)) == want
            braze.flush()
            time.sleep(0.3)


def test_rows_of_every_length():
    """A row ends within a turn of the accumulators, at its end, or behind a segment."""
    for columns, dtype in itertools.product((*range(1, 70, 3), 127, 128, 129, 192, 257), "dfil"):
        x = _data((21, columns), "d")
        x = (x * 50).astype(dtype) if dtype in "il" else x.astype(dtype)
        for program in scaled, above_mean, variance:
            fused = program(np, np.asarray(x), -1)
            assert _bits(fused) == _bits(_one_by_one(program, x, -1)), (columns, dtype)


def test_extremes_of_rows_with_nan_and_both_zeros():
    x = numpy.random.default_rng(3).choice([0.0, -0.0, 1.0, numpy.nan, -numpy.inf], (99, 45),
                                           p=[0.4, 0.4, 0.1, 0.02, 0.08])
    for dtype in "df":
        y = x.astype(dtype)
        a = np.asarray(y)
        for name in "max", "min":
            made = getattr(np, name)(a, axis=1) + a[:, 0]
            with braze.unfused():
                apart = getattr(np, name)(np.asarray(y), axis=1) + np.asarray(y)[:, 0]
            assert _bits(made) == _bits(apart)
            numpy.testing.assert_array_equal(numpy.asarray(made),
                                             getattr(numpy, name)(y, axis=1) + y[:, 0])
        for name in "maximum", "minimum", "fmax", "fmin":
            numpy.testing.assert_array_equal(numpy.asarray(getattr(np, name)(a, a[:, ::-1])),
                                             getattr(numpy, name)(y, y[:, ::-1]))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_one_kernel(program):
    for shape, axis in ((12, 40), -1), ((40, 12), 0), ((3, 5, 7), (0, 2)):
        made = program(np, np.asarray(_data(shape, "d")), axis)
        braze.wait(made)
        assert " 1 step," in str(braze.explain(made)), str(braze.explain(made))


def test_rows_by_columns_are_not_fused():
    """A square divided by its rows' sums as if they were its columns': the second kernel would go
    across memory."""
    x = _data((40, 40), "d")
    made = np.asarray(x) / np.asarray(x).sum(axis=1)
    braze.wait(made)
    assert " 2 steps," in str(braze.explain(made))
    numpy.testing.assert_allclose(numpy.asarray(made), x / x.sum(axis=1), rtol=1e-13)


def test_views_and_results_that_are_kept():
    x = _data((40, 30), "d")
    for view in (numpy.s_[::2, ::3], numpy.s_[::-1, 5:], numpy.s_[3:4]):
        a, b = np.asarray(x)[view], x[view]
        top = a.max(axis=1, keepdims=True)
        e = np.exp(a - top)
        total = e.sum(axis=1, keepdims=True)
        y = e / total
        want = numpy.exp(b - b.max(axis=1, keepdims=True))

        numpy.testing.assert_allclose(numpy.asarray(y), want / want.sum(axis=1, keepdims=True),
                                      rtol=1e-13)
        numpy.testing.assert_allclose(numpy.asarray(e), want, rtol=1e-13)
        numpy.testing.assert_array_equal(numpy.asarray(top), b.max(axis=1, keepdims=True))
        numpy.testing.assert_allclose(numpy.asarray(total)[:, 0], want.sum(axis=1), rtol=1e-13)


def test_written_in_place():
    x = _data((50, 20), "d")
    a, b = np.asarray(x.copy()), x.copy()
    for m, c in ((np, a), (numpy, b)):
        c -= c.mean(axis=1, keepdims=True)
        c /= m.sqrt((c * c).sum(axis=1, keepdims=True))
        c[:, 1:] += c[:, :-1].max(axis=1, keepdims=True)
    numpy.testing.assert_allclose(numpy.asarray(a), b, rtol=1e-13)


def test_neighbours_of_other_points_are_not_mixed_up():
    """What is read at other points than it was written at must have been written before."""
    x = _data((40, 30), "d")
    a = np.asarray(x)
    e = np.exp(a - a.max(axis=1, keepdims=True))
    mixed = e[1:] / e[:-1].sum(axis=1, keepdims=True) + e[:-1, ::-1]
    want = numpy.exp(x - x.max(axis=1, keepdims=True))
    want = want[1:] / want[:-1].sum(axis=1, keepdims=True) + want[:-1, ::-1]

    numpy.testing.assert_allclose(numpy.asarray(mixed), want, rtol=1e-13)


def test_more_than_a_chunk_is_not_fused():
    x = _data((2, 70000), "d")
    numpy.testing.assert_allclose(numpy.asarray(softmax(np, np.asarray(x), 1)),
                                  softmax(numpy, x, 1), rtol=1e-12)
    few = _data((3, 20000), "d")
    numpy.testing.assert_allclose(numpy.asarray(softmax(np, np.asarray(few), 1)),
                                  softmax(numpy, few, 1), rtol=1e-12)


def test_gathers_and_places_behind_a_reduction():
    x = _data((30, 20), "d")
    i = numpy.arange(30)[::-1].copy()
    a, k = np.asarray(x), np.asarray(i)
    unit = a / a.max(axis=1, keepdims=True)
    want = x / x.max(axis=1, keepdims=True)

    numpy.testing.assert_array_equal(numpy.asarray(np.take(unit, k, axis=0) + 1),
                                     numpy.take(want, i, axis=0) + 1)
    numpy.testing.assert_array_equal(numpy.asarray(a.argmax(axis=1)[:, None] + a.argmin(axis=1)),
                                     x.argmax(axis=1)[:, None] + x.argmin(axis=1))


def test_long_chains_of_phases_are_cut():
    x = _data((20, 30), "d")
    a, b = np.asarray(x), x
    for _ in range(9):
        a = a - a.mean(axis=1, keepdims=True) * 0.5
        b = b - b.mean(axis=1, keepdims=True) * 0.5
    numpy.testing.assert_allclose(numpy.asarray(a), b, rtol=1e-12, atol=1e-14)
