# SPDX-License-Identifier: Apache-2.0
"""What is adapted of other packages takes braze's arrays and scalars wherever it took NumPy's."""

import inspect
import pathlib
import pickle
import subprocess
import sys
import traceback

import numpy
import pandas
import pytest
from test_calls import compare, run

import braze.numpy

PANDAS = """
df.loc[m] ; df.loc[m, ['x', 'y']] ; df.loc[n0] ; df.iloc[n0] ; df.iloc[:n0] ; df.iloc[i, n0 - 1]
s.loc[m] ; s.iloc[i] ; s.iloc[n0] ; s.take(i) ; df.head(n0) ; df.tail(n0) ; s.nlargest(n0)
s.where(m) ; s.mask(m, loss) ; df.where(df > loss) ; s.clip(loss, n0) ; s.clip(n0, loss)
df.at[n0, 'x'] ; df.iat[n0, 0] ; s.iat[n0]
df.groupby(g).sum() ; df.groupby([g, m]).mean() ; s.groupby(g).max() ; df.groupby(g > 0).x.mean()
df.set_index(g) ; df.set_index([g, i.repeat(2)]) ; df.round(n0) ; (s / 3).round(n0)
df.rolling(n0).mean() ; s.rolling(n0, min_periods=i[0] + 1).mean() ; s.shift(n0)
s.replace(s.iloc[0] * loss / loss, n0) ; df.replace({4: n0}) ; s.map({1.0: loss, 2.0: loss})
pd.Series([loss, loss]) ; pd.Series({'a': loss}) ; pd.Series(loss, index=i) ; pd.Series(a, index=g)
pd.DataFrame({'l': [loss, loss]}) ; pd.DataFrame([[loss, n0], [loss, n0]]) ; pd.DataFrame([(loss, n0)])
pd.DataFrame([{'l': loss}, {'l': 2.0}, {'l': None}]) ; pd.DataFrame([a, a]) ; pd.DataFrame({'m': m, 'g': g})
pd.DataFrame(np.ones((2, 2)), columns=i) ; pd.DataFrame(np.ones((2, 2)), index=i)
pd.Index(a) ; pd.Categorical(g) ; pd.unique(g) ; pd.factorize(g) ; pd.crosstab(g, g)
pd.date_range('2020', periods=n0) ; pd.to_timedelta(a, 's') ; pd.to_datetime(g) ; pd.to_numeric(a)
pd.cut(a, n0) ; pd.qcut(a, n0) ; pd.get_dummies(g) ; pd.concat([pd.Series(a), pd.Series(a)])
df.sample(n0, random_state=np.random.default_rng(0)) ; df.sample(n0, random_state=np.random.RandomState(0))
df.isin(a) ; df.quantile(loss / 7) ; df.query('x > @loss') ; df.pow(n0) ; df * loss ; loss * df ; a > s
df.insert(0, 'q', a) or df ; df.pivot_table(index=g) ; s.searchsorted(loss) ; df.drop(i) ; df.reindex(i)
df.apply(np.mean, axis=1) ; s.agg([np.mean]) ; df.to_numpy() @ np.ones(2) ; df.dot(np.ones(2))
np.where(s > 2, s, 0) ; np.sum(df, axis=1) ; np.exp(s) ; np.maximum(df, 2) ; np.add(s, a)
"""
SETUP = """
i = np.array([0, 2])
n0 = np.arange(3).max()
"""


@pytest.mark.parametrize("call", [c.strip() for line in PANDAS.strip().splitlines()
                                  for c in line.split(" ; ")])
@pytest.mark.filterwarnings("ignore")
def test_pandas_takes_arrays_and_scalars(call):
    theirs = run(numpy, "pandas", SETUP + call)[2]
    mine = run(braze.numpy, "pandas", SETUP + call)[2]
    compare(mine, theirs)


WRITES = {
    "a mask": "df.loc[m, 'x'] = 0",
    "a mask and values": "df.loc[m, 'x'] = a[m]",
    "a column": "df['z'] = a",
    "a scalar": "df['z'] = loss",
    "masked series": "s[m] = loss",
    "a place": "df.iloc[n0, 0] = loss",
    "one cell": "df.at[n0, 'x'] = loss",
    "one cell by place": "df.iat[n0, 0] = loss",
    "a new row": "df.loc[n0 + 5] = np.array([1.0, 2.0])",
    "an index": "s.index = g",
    "columns": "df.columns = i",
}


@pytest.mark.parametrize("what", WRITES)
@pytest.mark.filterwarnings("ignore")
def test_pandas_writes_at_and_from_arrays(what):
    code = SETUP + WRITES[what] + "\n(df, s)"
    compare(run(braze.numpy, "pandas", code)[2], run(numpy, "pandas", code)[2])


def test_a_frames_data_are_its_own():
    a = braze.numpy.array([[1.0, 2.0], [3.0, 4.0]])
    for frame in (pandas.DataFrame(a), pandas.DataFrame({"p": a[0], "q": a[1]})):
        frame.iloc[0, 0] = 9.0
        assert frame.iloc[0, 0] == 9.0
    assert a.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_what_holds_no_braze_array_passes_unchanged():
    data, index = [1.0, 2.0], ["a", "b"]
    assert pandas.Series(data, index=index).equals(pandas.Series(numpy.array(data), index=index))
    mixed = pandas.Series(["x", None, 2.0])
    assert mixed.dtype == object and mixed[2] == 2.0
    assert pandas.Series([braze.numpy.arange(2), braze.numpy.arange(3)]).dtype == object


@pytest.mark.parametrize("call", [
    "scipy.ndimage.gaussian_filter(a, 1.0, output=out) is out",
    "scipy.ndimage.uniform_filter(a, 3, out) is out",
    "scipy.ndimage.sobel(a, 0, out) is out",
    "scipy.ndimage.median_filter(a, 3, output=out) is out",
    "scipy.ndimage.convolve(a, np.ones((3, 3)), output=out) is out",
])
def test_a_filter_writes_its_output(call):
    code = "made = " + call + "\nout"
    theirs, mine = (run(m, "SciPy", code) for m in (numpy, braze.numpy))
    compare(mine[2], theirs[2])
    assert type(mine[2]) is braze.numpy.ndarray and numpy.asarray(mine[2]).any()
    assert mine[0]["made"] == theirs[0]["made"]


def test_a_filter_into_a_type_and_without_output():
    for call in ("scipy.ndimage.gaussian_filter(a, 1.0)",
                 "scipy.ndimage.gaussian_filter(a, 1.0, output=np.float32)"):
        compare(run(braze.numpy, "SciPy", call)[2], run(numpy, "SciPy", call)[2])


@pytest.mark.parametrize("call", [
    "sklearn.model_selection.train_test_split(X, y, test_size=X.max() / X.max() / 4, random_state=0)",
    "sklearn.utils.class_weight.compute_class_weight('balanced', classes=np.unique(y), y=y)",
    "sklearn.linear_model.Ridge(alpha=X.max() / X.max()).fit(X, y).coef_",
    "sklearn.cluster.KMeans(y.max() + 1, n_init=1, random_state=0).fit(X).labels_",
    "sklearn.preprocessing.KBinsDiscretizer(3, encode='ordinal', "
    "quantile_method='averaged_inverted_cdf').fit_transform(X)",
    "sklearn.decomposition.FastICA(2, random_state=0, max_iter=20).fit_transform(X)",
    "[p['a'] for p in sklearn.model_selection.ParameterGrid({'a': y[:2]})]",
])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_takes_scalars_as_parameters_and_makes_its_own_copies(call):
    code = "import sklearn.utils\n" + call
    space, before, mine = run(braze.numpy, "scikit-learn", code)
    compare(mine, run(numpy, "scikit-learn", code)[2])
    assert numpy.array_equal(numpy.asarray(space["X"]), before["X"])


@pytest.mark.parametrize("order", [
    "import braze.numpy as np, pandas as pd", "import pandas as pd, braze.numpy as np"])
def test_a_package_is_adapted_whichever_comes_first(order):
    code = f"{order}\nassert list(pd.Series([1, 2, 3])[np.arange(3) > 0]) == [2, 3]\n"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_a_package_is_not_imported_for_its_adapter():
    code = ("import sys, braze.numpy\n"
            "assert not {'pandas', 'scipy', 'sklearn', 'PIL', 'matplotlib'} & set(sys.modules)")
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_an_adapted_function_has_no_frame_and_keeps_its_name_signature_and_pickle():
    frame = pandas.DataFrame({"x": [1.0, 2.0]})
    files = frame.pipe(lambda f: [s.filename for s in traceback.extract_stack()])
    assert not any("braze" in pathlib.Path(f).parts for f in files[files.index(__file__):])
    assert list(inspect.signature(pandas.DataFrame.head).parameters) == ["self", "n"]
    assert pandas.DataFrame.head.__name__ == "head" and "first" in pandas.DataFrame.head.__doc__
    assert pickle.loads(pickle.dumps(pandas.concat)) is pandas.concat
    assert pickle.loads(pickle.dumps(pandas.DataFrame.sum)) is pandas.DataFrame.sum
    assert pickle.loads(pickle.dumps(frame.sum))().tolist() == [3.0]
