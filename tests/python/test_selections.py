# SPDX-License-Identifier: Apache-2.0
"""a[mask] that is not counted yet: lazy reductions of it have the array's bits, all else settles."""

import copy
import pickle

import numpy
import pytest

import braze.numpy as np
from braze import _core
from on_device import comparable

SIZES = (1, 63, 1000, 1025, 4096, 4097, 70_000, 300_000)
TYPES = "?bhilBHILfdFD"


def pending(mask):
    """The mask as a value that is still to be computed."""
    return np.asarray(mask.astype(float)) * 1.0 + np.zeros(mask.shape) > 0.5


def values(n, char, seed=0):
    rng = numpy.random.default_rng(seed)
    x = rng.standard_normal(n) * 50
    return (x + 1j * x[::-1] if char in "FD" else x).astype(char)


def selection(x, k):
    s = np.asarray(x)[pending(k)]
    assert type(s) is _core.selection
    return s


def same(a, b):
    a, b = numpy.asarray(a), numpy.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and comparable(a).tobytes() == comparable(b).tobytes()


@pytest.mark.parametrize("char", TYPES)
@pytest.mark.parametrize("n", SIZES)
def test_reductions_have_the_bits_of_the_array(n, char):
    x = values(n, char, n)
    for density in (0.0, 0.003, 0.4, 1.0):
        k = numpy.random.default_rng(n).random(n) < density
        of_array = np.asarray(x[k])
        for name in ("sum", "prod", "any", "all"):
            with numpy.errstate(all="ignore"):
                lazy = selection(x, k)
                made = getattr(lazy, name)()
                assert type(lazy) is _core.selection
                assert same(made, getattr(of_array, name)()), (name, density)
        if k.any():
            assert same(selection(x, k).mean(), of_array.mean())


def test_the_order_of_questions_changes_nothing():
    x, k = values(90_000, "d"), values(90_000, "d", 1) > 10
    first, then = selection(x, k), selection(x, k)
    a = float(first.sum())
    assert then.shape == (int(k.sum()),) and type(then) is np.ndarray
    assert a == float(then.sum()) == float(np.sum(selection(x, k))) == float(then.copy().sum())
    assert float(first.mean()) == float(then.mean()) == float(np.mean(selection(x, k)))
    assert first.shape == then.shape and float(first.sum()) == a


def test_value_is_of_the_time_of_reading():
    x, k = values(5000, "d"), values(5000, "d", 1) > 0
    a, m = np.asarray(x.copy()), pending(k)
    s, t = a[m], a[m]
    a += 1
    m[:] = False
    assert abs(float(s.sum()) - x[k].sum()) < 1e-8
    assert numpy.array_equal(numpy.asarray(t), x[k])


def test_several_axes_and_layouts():
    x, k = values(6000, "d").reshape(20, 300), values(6000, "d", 1).reshape(20, 300) > 0
    a, m = np.asarray(x), pending(k)
    cases = ((a, m, x[k]), (a.T, m.T, x.T[k.T]), (a[::-1, ::3], m[::-1, ::3], x[::-1, ::3][k[::-1, ::3]]))
    for b, c, want in cases:
        c = c & True  # pending, in the view's own order
        s = b[c]
        assert type(s) is _core.selection
        assert same(s.sum(), np.asarray(want).sum())
        assert numpy.array_equal(numpy.asarray(s), want)


USES = {
    "len": len, "list": list, "reversed": lambda s: [float(v) for v in reversed(s)], "repr": repr, "str": str, "float": lambda s: float(s[0]),
    "index": lambda s: s[1:3], "plus": lambda s: s + 1, "radd": lambda s: 1 + s,
    "both": lambda s: s * s, "array": lambda s: np.arange(float(s.size)) + s,
    "numpy": lambda s: numpy.arange(3.0)[0] + s, "numpy left": lambda s: numpy.ones(1) * s,
    "ufunc": np.sqrt, "numpys ufunc": numpy.negative, "max": lambda s: s.max(), "argmin": np.argmin,
    "axis": lambda s: s.sum(axis=0), "keep": lambda s: s.sum(keepdims=True), "T": lambda s: s.T,
    "dtype": lambda s: s.sum(dtype="f4"), "shape": lambda s: s.shape, "asarray": np.asarray,
    "numpy.asarray": numpy.asarray, "copy": copy.copy, "deep": copy.deepcopy,
    "pickle": lambda s: pickle.loads(pickle.dumps(s)), "sort": np.sort, "median": np.median,
    "concatenate": lambda s: np.concatenate([s, s]), "where": lambda s: np.where(s > 0, s, 0),
    "compare": lambda s: s > 0.5, "eq": lambda s: 2.0 == s, "tolist": lambda s: s.tolist(),
    "memoryview": lambda s: bytes(memoryview(s)), "std": np.std, "matmul": lambda s: s @ s,
    "gradient": np.gradient, "unique": np.unique, "cov": np.cov, "dot": lambda s: np.dot(s, s),
    "in": lambda s: 3.0 in s, "divmod": lambda s: divmod(s, 2.0), "neg": lambda s: -s,
    "power": lambda s: s**2, "rpower": lambda s: 2.0**s, "isclose": lambda s: np.isclose(s, 1),
    "histogram": np.histogram, "interp": lambda s: np.interp(s, [0, 1], [2, 3]),
    "sum of list": lambda s: np.sum([s, s]), "flat": lambda s: list(s.flat), "fmt": lambda s: f"{s}",
    "bool": lambda s: bool(s.any()), "cumsum": lambda s: s.cumsum(), "astype": lambda s: s.astype("f4"),
}


@pytest.mark.parametrize("use", USES)
def test_everything_else_settles(use):
    x, k = values(400, "d"), values(400, "d", 1) > 10
    with numpy.errstate(all="ignore"):
        want, have = USES[use](np.asarray(x[k])), USES[use](selection(x, k))
    assert type(want) is type(have)
    if isinstance(want, (tuple, list)):
        assert len(want) == len(have) and all(same(p, q) for p, q in zip(want, have, strict=True))
    elif isinstance(want, (np.ndarray, numpy.ndarray)):
        assert same(want, have)
    else:
        assert want == have


def test_writing_and_indexing_by_it():
    x, k = values(50, "d"), values(50, "d", 1) > 10
    s, want = selection(x, k), x[k]
    s += 2
    want += 2
    s[0] = 7
    want[0] = 7
    assert numpy.array_equal(numpy.asarray(s), want)
    b = np.zeros(len(want))
    b[:] = selection(x, k)
    b += selection(x, k)
    assert numpy.array_equal(numpy.asarray(b), 2 * x[k])
    i = numpy.arange(50)
    assert numpy.array_equal(numpy.asarray(np.asarray(x)[selection(i, k)]), x[i[k]])
    assert numpy.array_equal(numpy.asarray(np.asarray(x)[selection(i, k),]), x[i[k]])
    c = np.asarray(x.copy())
    c[selection(i, k)] = selection(x, k) * 2
    want = x.copy()
    want[k] *= 2
    assert numpy.array_equal(numpy.asarray(c), want)


def test_extremes_of_nothing_raise_and_means_are_nan():
    x, k = values(70, "d"), numpy.zeros(70, bool)
    for name in ("max", "min"):
        with pytest.raises(ValueError, match="zero-size array to reduction operation"):
            getattr(selection(x, k), name)()
    assert numpy.isnan(float(selection(x, k).mean())) and float(selection(x, k).sum()) == 0


def test_an_error_of_the_mask_is_told_and_the_selection_stays():
    a, places = np.asarray(values(60, "d")), np.asarray(numpy.full(60, 99)) * 1
    for ask in (lambda s: float(s.sum()), lambda s: s.shape, lambda s: s + 1):
        s = a[np.asarray(values(60, "d") > 0)[places] & True]
        with pytest.raises(IndexError, match="99 is out of bounds"):
            ask(s)


def test_it_is_an_array_for_isinstance_and_goes_away():
    x, k = values(70, "d"), values(70, "d", 1) > 0
    s = selection(x, k)
    assert isinstance(s, np.ndarray) and s.__class__ is np.ndarray and type(s) is _core.selection
    for _ in range(1000):
        selection(x, k)
    assert s.sum().dtype == numpy.float64


def test_masks_at_hand_are_counted_at_once():
    x, k = values(400, "d"), values(400, "d", 1) > 0
    m = np.asarray(k)
    s = np.asarray(x)[m]
    assert type(s) is np.ndarray and same(s, x[k])
