# SPDX-License-Identifier: Apache-2.0
"""tolist and tobytes: NumPy's lists and bytes of every type, layout and place, without NumPy."""

import numpy
import pytest

import braze
import braze.numpy as np
from near_mode import near_on

TYPES = "?bBhHiIqQefdFD"
SHAPES = [(), (0,), (1,), (7,), (3, 4), (2, 0, 3), (0, 2), (2, 3, 2), (1, 1, 1, 1)]


def shaped(x):
    """The types of all numbers in nested lists, and the lists' lengths."""
    return [len(x), *map(shaped, x)] if type(x) is list else type(x)


def layouts(x):
    yield x
    yield x.T
    if x.ndim:
        yield x[::-1]
        yield x[..., ::2]
        yield x[:1]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("near", [True, False])
def test_as_numpys(dtype, near):
    rng = numpy.random.default_rng(ord(dtype))
    with near_on() if near else braze.eager():
        for shape in SHAPES:
            host = numpy.asarray(rng.random(shape) * 90).astype(dtype)
            for mine, theirs in zip(layouts(np.asarray(host)), layouts(host), strict=True):
                for a, b in ((mine, theirs), (mine + mine, theirs + theirs)):
                    got, want = a.tolist(), b.tolist()
                    assert repr(got) == repr(want) and shaped(got) == shaped(want)
                    assert a.tobytes() == b.tobytes()
                    assert a.tobytes("F") == b.tobytes("F") and a.tobytes(order="A") == b.tobytes(order="A")


def test_without_numpy():
    with near_on():
        a = np.asarray(numpy.arange(6.0)).reshape(2, 3)
        before = sum(braze.fallbacks().values())
        assert (a + 1).tolist() == [[1, 2, 3], [4, 5, 6]] and len(a.tobytes()) == 48
        assert sum(braze.fallbacks().values()) == before
        with pytest.raises(TypeError):
            a.tolist(1)


def test_what_a_mask_chose():
    a = np.asarray(numpy.arange(6.0))
    assert a[a > 2].tolist() == [3, 4, 5] and a[a > 2].tobytes() == numpy.arange(3.0, 6).tobytes()
