# SPDX-License-Identifier: Apache-2.0
"""Arrays give way to objects of other libraries that hold them as their chunks (Dask's do)."""

import numpy
import pytest

import braze
import braze.numpy as np
from braze.numpy import _fallback


class Chunked:
    """Notes what NumPy's protocols hand to it."""

    shape, dtype = (3,), numpy.dtype(float)

    def __init__(self):
        self.told = []

    def __array_ufunc__(self, function, method, *inputs, **kwargs):
        self.told.append((function.__name__, method, inputs, kwargs))
        return "by ufunc"

    def __array_function__(self, function, types, args, kwargs):
        self.told.append((function.__name__, None, args, kwargs))
        return "by function"


@pytest.fixture
def chunked(monkeypatch):
    monkeypatch.setattr(_fallback, "wrappers", [Chunked])
    return Chunked()


UFUNCS = {
    "a * w": "multiply", "a + w": "add", "a @ w": "matmul", "a > w": "less_or_greater",
    "a ** w": "power", "divmod(a, w)": "divmod", "numpy.add(a, w)": "add", "np.add(w, a)": "add",
    "np.hypot(a, w)": "hypot", "numpy.hypot(w, a)": "hypot", "a.sum() * w": "multiply",
}


@pytest.mark.parametrize("text", UFUNCS)
def test_a_ufunc_is_theirs_and_gets_the_array_itself(chunked, text):
    a, before = np.arange(3.0), braze.fallbacks()
    made = eval(text, {"a": a, "w": chunked, "np": np, "numpy": numpy, "divmod": divmod})
    assert made == "by ufunc"
    ((name, method, inputs, _),) = chunked.told
    assert name == UFUNCS[text] or name in UFUNCS[text] and method == "__call__"
    assert any(type(x) is np.ndarray for x in inputs) and any(x is chunked for x in inputs)
    assert {k: v for k, v in braze.fallbacks().items() if v != before.get(k)}.keys() <= {name}


FUNCTIONS = (
    "concatenate([a, w])", "stack([a, w])", "vstack([w, a])", "hstack([a, w])", "where(a > 0, w, a)",
    "dot(a, w)", "tensordot(a, w, 1)", "einsum('i,i', a, w)",
)


@pytest.mark.parametrize("module", [np, numpy], ids=["braze.numpy", "numpy"])
@pytest.mark.parametrize("text", FUNCTIONS)
def test_a_function_is_theirs_without_arguments_that_nobody_gave(chunked, module, text):
    a = np.arange(3.0)
    made = eval("m." + text, {"m": module, "a": a, "w": chunked})
    assert made == "by function"
    ((name, _, args, kwargs),) = chunked.told
    assert text.startswith(name) and not {"out", "dtype", "casting"} & kwargs.keys(), kwargs
    found = str(args) + str(kwargs)
    assert "Chunked" in found
    assert a.tolist() == [0, 1, 2]


def test_arguments_that_were_given_are_passed_on(chunked):
    np.concatenate([np.ones(2), chunked], 0, dtype="f4", casting="unsafe")
    ((_, _, _, kwargs),) = chunked.told
    assert kwargs == {"axis": 0, "dtype": "f4", "casting": "unsafe"}


def test_others_get_numpys_arrays():
    """Who has not said that he takes ours is given NumPy's, as ever."""
    w, a = Chunked(), np.arange(3.0)
    assert a * w == "by ufunc" and np.concatenate([a, w]) == "by function"
    assert all(type(x) is not np.ndarray for _, _, inputs, _ in w.told for x in inputs)
