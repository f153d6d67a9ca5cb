# SPDX-License-Identifier: Apache-2.0
"""Indices of every kind, alone and beside each other: NumPy's bools, which are masks as
Python's are, its 0-d arrays, its integers, ours.  Reading, writing, and what is a view.
"""

import itertools

import numpy
import pytest
from foreign_kinds import outcome

import braze.numpy as np

# What an index of the name is in the module.
INDICES = {
    "True": lambda m: True,
    "False": lambda m: False,
    "np.True_": lambda m: numpy.True_,
    "np.False_": lambda m: numpy.False_,
    "0-d True": lambda m: numpy.array(True),
    "0-d False": lambda m: numpy.array(False),
    "own True": lambda m: m.array(True),
    "scalar False": lambda m: m.array([False, True])[0],
    "1": lambda m: 1,
    "np.int8(1)": lambda m: numpy.int8(1),
    "np.uint64(1)": lambda m: numpy.uint64(1),
    "scalar 1": lambda m: m.array([0, 1])[1],
    "0-d 1": lambda m: numpy.array(1),
    "own 0-d 1": lambda m: m.array(1),
    "pending 0-d 1": lambda m: m.array(0) + m.array([1, 2])[:1].sum(keepdims=True).reshape(()),
    "0-d 1.0": lambda m: numpy.array(1.0),
    "np.float64(1)": lambda m: numpy.float64(1),
    "9": lambda m: numpy.int64(9),
    "slice": lambda m: slice(None, 1),
    "np slice": lambda m: slice(numpy.int8(0), numpy.array(1)),
    "None": lambda m: None,
    "...": lambda m: Ellipsis,
    "list": lambda m: [1, 0],
    "mask": lambda m: m.array([True, False]),
    "masked array": lambda m: numpy.ma.array([1, 0], mask=[0, 1]),
    "bools": lambda m: [numpy.True_, False],
    "empty": lambda m: [],
    "str": lambda m: "x",
}
ARRAYS = {
    "0-d": lambda m: m.array(5.0),
    "1-d": lambda m: m.array([5.0, 6.0]),
    "2-d": lambda m: m.array([[5.0, 6.0], [7.0, 8.0]]),
    "none": lambda m: m.zeros((2, 0)),
}
VALUES = {"number": lambda m: 7, "list": lambda m: [7.5], "array": lambda m: m.array([[3.0]])}
PAIRS = [*((name,) for name in INDICES), (), *itertools.product(INDICES, repeat=2)]


def _key(m, names):
    items = tuple(INDICES[name](m) for name in names)
    return items[0] if len(items) == 1 else items


def _read(m, array, names):
    return ARRAYS[array](m)[_key(m, names)]


def _shared(m, array, names):
    """Does writing what was read write the array?"""
    a = ARRAYS[array](m)
    got = a[_key(m, names)]
    got[...] = 1.5
    return a


def _written(m, array, names, value):
    a = ARRAYS[array](m)
    a[_key(m, names)] = VALUES[value](m)
    return a


def _added(m, array, names):
    a = ARRAYS[array](m)
    a[_key(m, names)] += 1
    return a


@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("first", [*INDICES, None])
def test_an_index_of_any_kind_reads_and_writes_as_numpys(array, first):
    pairs = [p for p in PAIRS if (p[0] if p else None) == first]
    forms = [(_read,), (_shared,), (_added,), *((_written, v) for v in VALUES)]
    for names, (form, *rest) in itertools.product(pairs, forms):
        theirs = outcome(form, numpy, array, names, *rest)
        ours = outcome(form, np, array, names, *rest)
        assert ours == theirs, (names, form.__name__, rest)


def test_three_indices_with_bools_between():
    for m in (numpy, np):
        a = m.array(numpy.arange(12.0).reshape(2, 3, 2))
        assert a[numpy.True_, 1, numpy.True_].shape == (1, 3, 2)
        a[1, numpy.True_, 0] = 9
        assert a.tolist()[1][0] == [9.0, 9.0] and a.tolist()[1][1] == [8.0, 9.0]
        a[numpy.False_] = 5
        assert a.sum() == numpy.arange(12.0).sum() + 5


def test_a_0_d_array_as_an_index_gives_a_copy():
    for m in (numpy, np):
        a = m.zeros((2, 2))
        for index in (numpy.array(1), m.array(1)):
            a[index][0] = 5
        assert a.tolist() == [[0, 0], [0, 0]]
        a[m.array([1, 0])[0]][0] = 5  # a number gives a view
        assert a.tolist() == [[0, 0], [5, 0]]
