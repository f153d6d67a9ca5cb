# SPDX-License-Identifier: Apache-2.0
"""`.braze` on pandas' columns and tables and on xarray's arrays gives what NumPy gives there."""

import subprocess
import sys

import braze.accessors
import braze.numpy as np
import numpy
import pandas
import pytest
import xarray

TABLE = pandas.DataFrame({"price": [1.5, 2.5, numpy.nan], "count": [3, 1, 2], "a name": [1.0, 2.0, 3.0]},
                         index=["x", "y", "z"])
FIELD = xarray.DataArray(numpy.arange(6.0).reshape(2, 3), dims=("row", "column"),
                         coords={"row": [10, 20]}, name="heat", attrs={"unit": "K"})


def test_both_are_registered():
    assert braze.accessors.registered == ["pandas", "xarray"]


def test_a_column():
    array = TABLE.price.braze.array()
    assert type(array) is np.ndarray and array.dtype == "f8"
    numpy.testing.assert_array_equal(numpy.asarray(array), TABLE.price)
    pandas.testing.assert_series_equal(TABLE["count"].braze.map(np.sqrt), numpy.sqrt(TABLE["count"]))
    pandas.testing.assert_series_equal(TABLE.price.braze.map(lambda a: a > 2), TABLE.price > 2)


def test_what_a_column_becomes_can_be_written():
    made = TABLE.price.braze.map(lambda a: a * 2)
    made.iloc[0] = 7.0
    assert made.tolist()[:2] == [7.0, 5.0] and TABLE.price.iloc[0] == 1.5


def test_a_table():
    numpy.testing.assert_array_equal(numpy.asarray(TABLE.braze.array()), TABLE.to_numpy())
    numpy.testing.assert_array_equal(numpy.asarray(TABLE.braze.array(["count"])), TABLE[["count"]].to_numpy())
    columns = TABLE.braze.columns()
    assert list(columns) == list(TABLE.columns) and columns["count"].dtype == "i8"
    assert list(TABLE.braze.columns(["price"])) == ["price"]


def test_a_column_of_columns():
    pandas.testing.assert_series_equal(TABLE.braze.eval(lambda t: t.price * t.count), TABLE.price * TABLE["count"])
    both = TABLE.braze.eval(lambda t: {"root": np.sqrt(t.price), "more": t["a name"] + 1})
    pandas.testing.assert_frame_equal(
        both, pandas.DataFrame({"root": numpy.sqrt(TABLE.price), "more": TABLE["a name"] + 1}))


@pytest.mark.parametrize("wrong, error, text", [
    (lambda: TABLE.braze.eval(lambda t: t.cost), AttributeError, "there is no column 'cost'"),
    (lambda: TABLE.braze.eval(lambda t: t["cost"]), KeyError, "cost"),
    (lambda: TABLE.braze.eval(lambda t: t.price.sum()), ValueError, r"3 elements was expected, the function gave shape \(\)"),
    (lambda: TABLE.price.braze.map(lambda a: a[:2]), ValueError, r"shape \(2,\)"),
    (lambda: FIELD.braze.map(lambda a: a.T), ValueError, r"shape \(2, 3\) was expected, the function gave \(3, 2\)")])
def test_mistakes_say_what(wrong, error, text):
    with pytest.raises(error, match=text):
        wrong()


def test_a_field():
    assert FIELD.braze.array().shape == (2, 3)
    xarray.testing.assert_identical(FIELD.braze.map(np.sqrt), FIELD.copy(data=numpy.sqrt(FIELD.values)))


def test_one_library_is_enough():
    code = ("import sys; sys.modules['xarray'] = None\n"
            "import braze.accessors; print(braze.accessors.registered)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "['pandas']\n", done.stderr
