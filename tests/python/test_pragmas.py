# SPDX-License-Identifier: Apache-2.0
"""Comments that say how loops may run: read, checked, shown, and without effect on results."""

import re

import numpy as np
import pytest

import braze
from braze import jit

PRAGMAS = {
    "parallel for": "parallel", "sequential for": "sequential", "simd": "simd",
    "parallel for simd le(64)": "parallel simd le",
    "parallel for reduction(sum:s)": "parallel reduction",
    ":N=>parallel 1:M=>simd,le(256)": "parallel simd le",
}


@pytest.mark.parametrize("text", PRAGMAS)
def test_pragmas_change_nothing(text, tmp_path):
    path = tmp_path / "made.py"
    path.write_text(f"def f(x):\n    s = 0\n    #pragma {text}\n    for i in range(len(x)):\n"
                    "        #pragma atomic\n        x[0] += x[i]\n        s += x[i]\n    return s\n")
    space = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    f = jit(space["f"])
    assert f(np.arange(4)) == space["f"](np.arange(4))
    assert f"pragmas: {PRAGMAS[text]}" in str(braze.explain(f))


@pytest.mark.parametrize("text,reason", [
    ("paralel for", "no pragma"), ("", "without a word"), ("parallel for sequential for", "or"),
    ("parallel for reduction(sum:t)", "no 't'"), ("le(x)", "no pragma"), ("atomic", "assignment")])
def test_pragmas_are_checked(text, reason, tmp_path):
    path = tmp_path / "made.py"
    path.write_text(f"def f(x):\n    s = 0\n    #pragma {text}\n    for i in range(len(x)):\n"
                    "        s += x[i]\n    return s\n")
    space = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    with pytest.raises(ValueError, match=re.escape(f"{path}:3: ") + f".*{reason}"):
        jit(space["f"])
