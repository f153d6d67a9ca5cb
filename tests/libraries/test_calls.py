# SPDX-License-Identifier: Apache-2.0
"""The calls of calls.toml give with braze.numpy what they give with numpy."""

import ast
import functools
import math
import re
import textwrap
import warnings

import numpy
import pandas
import pytest
import scipy.sparse
import table
import xarray

import braze
import braze.numpy

NAMES = [f"{i:02d}-{c['library']}" for i, c in enumerate(table.CALLS)]


def run(module, library, code):
    """The names that the code leaves, and the value of its last line."""
    space = {"np": module, "__name__": __name__}
    exec(textwrap.dedent(table.DATA["setup"][library]), space)
    tree = ast.parse(textwrap.dedent(code))
    last = ast.Expression(tree.body.pop().value)
    before = {k: numpy.array(v) for k, v in space.items()
              if isinstance(v, (numpy.ndarray, braze.numpy.ndarray))}
    exec(compile(tree, library, "exec"), space)
    return space, before, eval(compile(last, library, "eval"), space)


def plain(value):
    return numpy.asarray(value) if type(value) is braze.numpy.ndarray else value


def compare_arrays(mine, theirs):
    assert isinstance(mine, (numpy.ndarray, numpy.generic, braze.numpy.ndarray)), type(mine)
    mine, theirs = numpy.asarray(mine), numpy.asarray(theirs)
    assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
    numpy.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-14)


def compare_items(mine, theirs):
    assert type(mine) is type(theirs) and len(mine) == len(theirs)
    for a, b in zip(mine, theirs, strict=True):
        compare(a, b)


def compare_dicts(mine, theirs):
    compare_items(list(mine.items()), list(theirs.items()))


def compare_categories(mine, theirs):
    pandas.testing.assert_series_equal(pandas.Series(mine), pandas.Series(theirs))


def compare_labelled(mine, theirs):
    assert type(mine) is type(theirs)
    mine = mine.map(plain) if isinstance(mine, xarray.Dataset) else mine.copy(data=plain(mine.data))
    xarray.testing.assert_allclose(mine, theirs, rtol=1e-12)


def compare_floats(mine, theirs):
    """A scalar of braze's may stand for a Python number."""
    mine = mine.item() if type(mine) is braze.numpy.ndarray and not mine.ndim else mine
    assert type(mine) is type(theirs) and math.isclose(mine, theirs, rel_tol=1e-12)


def compare_others(mine, theirs):
    assert not scipy.sparse.issparse(theirs)
    mine = mine.item() if type(mine) is braze.numpy.ndarray and not mine.ndim else mine
    assert type(mine) is type(theirs) and mine == theirs


# By the type of NumPy's result, the first that fits.
COMPARISONS = (
    ((numpy.ndarray, numpy.generic), compare_arrays),
    ((tuple, list), compare_items),
    (dict, compare_dicts),
    (pandas.DataFrame, functools.partial(pandas.testing.assert_frame_equal, rtol=1e-12)),
    (pandas.Series, functools.partial(pandas.testing.assert_series_equal, rtol=1e-12)),
    (pandas.Index, pandas.testing.assert_index_equal),
    (pandas.Categorical, compare_categories),
    ((xarray.DataArray, xarray.Dataset), compare_labelled),
    (float, compare_floats),
    (object, compare_others),
)


def compare(mine, theirs):
    """Equal values of equal types, where an array or scalar of braze's stands for NumPy's."""
    next(f for kind, f in COMPARISONS if isinstance(theirs, kind))(mine, theirs)


@pytest.mark.parametrize("call", table.CALLS, ids=NAMES)
def test_a_call_does_what_the_table_says(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, _, theirs = run(numpy, call["library"], call["call"])
        if call["outcome"] == "raises":
            with pytest.raises(Exception, match=re.escape(call["says"])):
                run(braze.numpy, call["library"], call["call"])
            mine = run(braze.numpy, call["library"], call["instead"])[2]
            compare(mine, theirs)
            return
        space, before, mine = run(braze.numpy, call["library"], call["call"])
    compare(mine, theirs)
    if "keeps" in call:
        name = call["keeps"]
        assert type(space[name]) is braze.numpy.ndarray
        assert numpy.array_equal(numpy.asarray(space[name]), before[name])


def test_the_setups_make_braze_arrays():
    """Not to compare NumPy with itself."""
    for library in table.DATA["setup"]:
        space = run(braze.numpy, library, "0")[0]
        if library not in ("Python", "sqlite3"):
            assert any(type(v) is braze.numpy.ndarray for v in space.values()), library


def test_the_page_shows_the_table():
    text = table.PAGE.read_text()
    assert table.section() in text, "run tests/libraries/table.py"
    assert len(table.CALLS) >= 60
    assert sum(c["outcome"] == "raises" for c in table.CALLS) <= 6
    for library in table.DATA["setup"]:
        assert sum(c["library"] == library for c in table.CALLS) >= 5
