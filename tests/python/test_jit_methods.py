# SPDX-License-Identifier: Apache-2.0
"""Methods of arrays that loops look up: what is kept of them."""

import gc
import weakref

import numpy as np
import pytest

import braze.numpy
from braze import jit


@pytest.mark.parametrize("of", [np, braze.numpy])
def test_methods_are_known_by_their_types(monkeypatch, of):
    """A method that is bound anew at each call: one kernel, or none, is made, no array is kept, and no later call is Python's."""
    @jit
    def of_items(x):
        s = 0.0
        for i in range(2):
            s += x.item(i)
        return s

    @jit
    def of_list(x):
        s = 0.0
        for v in x.tolist():
            s += v
        return s
    for f in (of_items, of_list):
        refs, site = [], f.__braze_jit__.sites[0]
        for k in range(5):
            if k == 1:
                monkeypatch.setattr(type(site), "special", None)
            x = of.full(2, float(k))
            assert f(x) == 2 * k
            refs.append(weakref.ref(x))
            del x
        monkeypatch.undo()
        gc.collect()
        assert len(site.specials) == 1 and not any(ref() is not None for ref in refs)
        # Of another type it is another method.
        other = braze.numpy if of is np else np
        assert f(other.ones(2)) == 2
        assert sum(map(len, site.specials.values())) == 2
