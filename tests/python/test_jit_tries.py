# SPDX-License-Identifier: Apache-2.0
"""First programs of people who come from Numba: right, and captured, or `braze.explain` says why not."""

import copy
import inspect
import re
import warnings

import braze
import jit_tries
import jit_tries_python
import numpy as np
import pytest
from braze import jit
from jit_checks import same

X = np.array([0.5, 1.5, 2.5, 1.0, 3.5])
GIVEN = {"x": X, "y": X[::-1].copy(), "x3": X[:3].copy(), "z": X * 2, "k": np.array([3, 1, 4, 1, 2]),
         "m": np.arange(12.0).reshape(4, 3), "shape": (3, 4), "xs": [X, X + 1], "out": np.zeros(5),
         "mode": "square", "w": None, "c": X * (1 + 2j)}


def functions(module):
    return {name: f for name, f in vars(module).items() if inspect.isfunction(f)
            and f.__module__ == module.__name__ and name != "fib"}


def arguments(function):
    if inspect.getfullargspec(function).varargs:
        return [X.copy(), X.copy()]
    names = inspect.signature(function).parameters
    made = [copy.deepcopy(GIVEN[n]) if n in GIVEN else getattr(jit_tries, "Box")() if n == "self"
            else jit_tries_python.Box() for n in names]
    if function.__name__ == "sum_axis_store":
        made[1] = np.zeros(4)
    return made


def outcome(function, given):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*given)
    except Exception as error:
        return type(error), str(error)


def alike(one, other):
    if isinstance(one, tuple) and one and isinstance(one[0], type):
        return one == other
    return same(one, other)


def compared(function):
    """The captured function, when it has done the same."""
    given, theirs = arguments(function), arguments(function)
    want = outcome(function, given)
    quick = jit(function)
    have = outcome(quick, theirs)
    assert alike(want, have), (want, have, braze.explain(quick))
    assert type(want) is type(have) or hasattr(want, "dtype")
    for a, b in zip(given, theirs):
        assert not isinstance(a, np.ndarray) or same(a, b)
    return quick


@pytest.mark.parametrize("name", [*functions(jit_tries), "method"])
def test_captured(name):
    quick = compared(getattr(jit_tries, name, jit_tries.Box.method))
    text = str(braze.explain(quick))
    assert "stays Python" not in text, text
    assert any(site.calls for site in quick.__braze_jit__.sites), text


@pytest.mark.parametrize("name", functions(jit_tries_python))
def test_stays_python(name):
    function = getattr(jit_tries_python, name)
    quick = compared(function)
    text = str(braze.explain(quick))
    parts = [function] + [jit_tries_python.fib] * (name == "recursion")
    wanted = [(first + k, line.split("  # ")[1].strip()) for lines, first in map(inspect.getsourcelines, parts)
              for k, line in enumerate(lines) if "  # " in line]
    assert wanted, text
    for line, words in wanted:
        assert re.search(rf"line {line}: .*{re.escape(words)}", text), text
