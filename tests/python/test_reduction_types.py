# SPDX-License-Identifier: Apache-2.0
"""Reductions of every type, into every type: values, result types and refusals as NumPy's.

The numbers are small and whole, and their count is a power of two, so that every order of
additions gives the same, and so does every way to divide.
"""

import itertools

import numpy
import pytest
from foreign_kinds import outcome

import braze.numpy as np
from versions import NUMPY

TYPES = ("?", "b", "h", "i", "l", "B", "H", "I", "L", "e", "f", "d", "F", "D", "g", "O")
WANTED = (None, "?", "b", "l", "H", "L", "e", "f", "d", "F", "D", "g", "O", "M8[s]")
DATA = {"mixed": [[1, 2, 0, 1], [3, 1, 1, 3]], "none": [[], []]}

# With dtype=.
TYPED = {
    "sum": lambda m, a, **k: m.sum(a, **k),
    "prod": lambda m, a, **k: m.prod(a, **k),
    "a.sum": lambda m, a, **k: a.sum(**k),
    "a.prod": lambda m, a, **k: a.prod(**k),
    "mean": lambda m, a, **k: m.mean(a, **k),
    "a.mean": lambda m, a, **k: a.mean(**k),
    "var": lambda m, a, **k: m.var(a, **k),
    "std": lambda m, a, **k: m.std(a, **k),
    "trace": lambda m, a, axis=None, **k: m.trace(a, **k),
    "cumsum": lambda m, a, **k: m.cumsum(a, **k),
    "cumprod": lambda m, a, **k: m.cumprod(a, **k),
    "nansum": lambda m, a, **k: m.nansum(a, **k),
    "nanprod": lambda m, a, **k: m.nanprod(a, **k),
    **{f"{name}.{method}": lambda m, a, axis=0, name=name, method=method, **k: getattr(
        getattr(m, name), method)(a, axis=0 if axis is None and method != "reduce" else axis, **k)
       for name in ("add", "multiply", "maximum", "minimum", "logical_and", "logical_or",
                    "logical_xor", "bitwise_or", "bitwise_and", "subtract", "divide", "fmax")
       for method in ("reduce", "accumulate")},
    "add.reduceat": lambda m, a, axis=0, **k: m.add.reduceat(a, [0, 1], axis=0, **k),
}
# Without.
PLAIN = {name: lambda m, a, name=name, **k: getattr(m, name)(a, **k) for name in (
    "min", "max", "any", "all", "argmin", "argmax", "ptp", "count_nonzero", "average", "median")}


def _result(m, function, data, dtype, options):
    a = m.array(numpy.array(DATA[data], dtype))
    return function(m, a, **options)


def _different(function, data, dtype, options):
    theirs = outcome(_result, numpy, function, data, dtype, options)
    ours = outcome(_result, np, function, data, dtype, options)
    return {} if theirs == ours else {(data, dtype, str(options)): (theirs, ours)}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", TYPED)
def test_every_reduction_in_every_type(name, dtype):
    found = {}
    for wanted, axis in itertools.product(WANTED, (None, 0)):
        options = {"axis": axis} if wanted is None else {"axis": axis, "dtype": wanted}
        found |= _different(TYPED[name], "mixed", dtype, options)
    assert not found


@pytest.mark.parametrize("dtype", ("?", "h", "l", "L", "e", "d", "F", "g", "O"))
@pytest.mark.parametrize("name", [*PLAIN, "sum", "prod", "mean", "add.reduce", "maximum.reduce"])
def test_every_reduction_over_any_axes(name, dtype):
    found = {}
    function = PLAIN.get(name) or TYPED[name]
    for data, axis, keepdims in itertools.product(
        DATA, (None, 0, -1, (0, 1), (), 2, (0, 0), True, 1.0, "foo", [0], numpy.int8(1)), (False, True)
    ):
        found |= _different(function, data, dtype, {"axis": axis, "keepdims": keepdims})
    assert not found


@pytest.mark.parametrize("into", ("?", "l", "f", "d", "D", "g"))
@pytest.mark.parametrize("name", ("sum", "prod", "mean", "cumsum", "add.reduce", "multiply.reduce",
                                  "maximum.reduce", "logical_or.reduce", "add.accumulate"))
def test_every_reduction_into_an_output(name, into):
    def run(m, dtype, wanted, own):
        a = m.array(numpy.array(DATA["mixed"], dtype))
        out = (m if own else numpy).zeros((2, 4) if "cum" in name else 4, into)
        options = {"dtype": wanted} if wanted else {}
        made = TYPED[name](m, a, axis=0, out=out, **options)
        return made is out, out

    found = {}
    for dtype, wanted, own in itertools.product("?bldfFD", (None, "?", "l", "d"), (True, False)):
        theirs, ours = (outcome(run, m, dtype, wanted, own) for m in (numpy, np))
        if theirs != ours:
            found[dtype, wanted, own] = theirs, ours
    assert not found


@pytest.mark.parametrize("dtype", TYPES[:14])
def test_sums_and_products_into_bool_of_any_size(dtype):
    rng = numpy.random.default_rng(4)
    for n in (1, 31, 1024, 70_000):
        data = numpy.zeros((3, n)).astype(dtype)
        data[1, rng.integers(n)] = 1
        data[2] = 1
        for m in (numpy, np):
            a = m.array(data)
            assert m.sum(a, axis=1, dtype=bool).tolist() == [False, True, True]
            assert m.prod(a, axis=1, dtype=bool).tolist() == [False, n == 1, True]
            assert bool(m.sum(a[0], dtype=bool)) is False


def test_generators_are_left_to_numpy():
    if NUMPY < (2, 4):
        with pytest.warns(DeprecationWarning):
            assert np.sum(x for x in (1, 2, 3)) == 6
        with pytest.warns(DeprecationWarning):
            total = np.sum(np.ones(2) * k for k in range(3))
        assert type(total) is np.ndarray and total.tolist() == [3, 3]
    else:
        with pytest.raises(TypeError):
            np.sum(x for x in (1, 2, 3))
    for stack in (np.hstack, np.vstack, np.stack, np.column_stack, np.dstack, np.concatenate):
        with pytest.raises(TypeError):
            stack(np.ones(2) for _ in range(2))
    with pytest.raises(TypeError):
        np.concatenate(iter([np.ones(2)]))
