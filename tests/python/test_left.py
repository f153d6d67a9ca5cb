# SPDX-License-Identifier: Apache-2.0
"""docs/compatibility.md names the functions of NumPy's namespace that NumPy still computes, and no others."""

import re

import numpy
from harness import ROOT

import braze.numpy as np
from versions import NUMPY

# Of text, files, dates, settings, indices and other classes: nothing for braze to compute.
ELSEWHERE = set((
    "apply_along_axis apply_over_axes array2string array_repr array_str asarray_chkfinite asmatrix base_repr binary_repr bmat busday_count "
    "busday_offset common_type datetime_as_string einsum_path fromfunction fromiter fromregex genfromtxt get_include info is_busday isfortran "
    "isnat iterable loadtxt piecewise save savetxt savez savez_compressed"
).split())


def left():
    """Functions whose every call with arrays is NumPy's."""
    table = (ROOT / "client" / "python" / "fast.def").read_text(encoding="utf-8")
    in_c = set(re.findall(r'FAST\("(\w+)"', table))  # with NumPy behind them
    found = []
    for name in numpy.__all__:
        mine, theirs = getattr(np, name), getattr(numpy, name)
        if isinstance(theirs, numpy.ufunc):
            native = mine._op is not None or hasattr(mine, "_both") or name in ("matmul", "vecdot")
        else:
            native = isinstance(theirs, type) or getattr(mine, "numpy", None) is not theirs
        if callable(theirs) and not native and name not in ELSEWHERE | in_c:
            found.append(name)
    return sorted(found)


def test_the_list():
    text = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
    section = text.split("## What NumPy still computes")[1].split("\n## ")[0]
    listed = section.split("<!-- left -->")[1]
    there = {n for n in re.findall(r"`(\w+)`", listed) if hasattr(numpy, n)}
    assert sorted(there) == [n for n in left() if n in there or NUMPY <= (2, 2)]
