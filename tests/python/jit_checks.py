# SPDX-License-Identifier: Apache-2.0
"""Captured functions beside the same ones uncaptured."""

import copy

import numpy as np

import braze
import braze.numpy as bnp
from braze import jit


def same(a, b):
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(same, a, b))
    if a is None:
        return b is None
    x, y = np.asarray(a), np.asarray(b)
    return x.dtype == y.dtype and x.shape == y.shape and np.array_equal(x, y, equal_nan=x.dtype.kind in "fc")


def captured(f):
    """Did every loop at the top become a kernel, and has each been one?"""
    known = f.__braze_jit__
    assert known.sites and not known.whole, braze.explain(f)
    assert any(site.calls for site in known.sites if site is known.sites[0] or site.is_row), braze.explain(f)


def both(f, *args, kernel=True):
    """As it is and captured, on NumPy's arrays and on braze's."""
    want_args, numpys = copy.deepcopy(args), copy.deepcopy(args)
    ours = [bnp.asarray(a) if isinstance(a, np.ndarray) else a for a in copy.deepcopy(args)]
    quick = jit(f)
    with np.errstate(all="ignore"):
        want = f(*want_args)
    for have_args in (numpys, ours):
        have = quick(*have_args)
        assert same(want, have), (want, have, braze.explain(quick))
        types = want if isinstance(want, tuple) else (want,), have if isinstance(have, tuple) else (have,)
        for a, b in zip(*types):
            if type(a) in (bool, int, float, complex):
                assert isinstance(b, type(a)), braze.explain(quick)
        for a, b in zip(want_args, have_args):
            assert not isinstance(a, np.ndarray) or same(a, np.asarray(b))
    if kernel:
        captured(quick)
    return quick
