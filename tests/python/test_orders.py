# SPDX-License-Identifier: Apache-2.0
"""Orders and layouts: strides and flags are NumPy's."""

import copy
import itertools
import pickle

import numpy
import pytest

import braze.numpy as np

ORDERS = ["C", "F", "A", "K", "c", "f", "a", "k", None]
SOURCES = {
    "c": lambda m: m.arange(24.0).reshape(2, 3, 4),
    "f": lambda m: m.arange(24.0).reshape(4, 3, 2).T,
    "mixed": lambda m: m.arange(24.0).reshape(2, 4, 3).transpose(0, 2, 1),
    "back": lambda m: m.arange(24.0).reshape(2, 3, 4)[::-1, :, ::2],
    "wide": lambda m: m.broadcast_to(m.arange(4.0), (2, 3, 4)),
    "line": lambda m: m.arange(5.0)[::2],
    "none": lambda m: m.zeros((0, 3)),
    "point": lambda m: m.array(2.0),
}
MADE = {
    "copy.copy": lambda m, a, o: copy.copy(a),
    "copy.deepcopy": lambda m, a, o: copy.deepcopy(a),
    "pickle": lambda m, a, o: pickle.loads(pickle.dumps(a)),
    "copy": lambda m, a, o: a.copy(o),
    "np.copy": lambda m, a, o: m.copy(a, order=o),
    "array": lambda m, a, o: m.array(a, order=o),
    "array of another type": lambda m, a, o: m.array(a, "f4", order=o),
    "asarray": lambda m, a, o: m.asarray(a, order=o),
    "asanyarray": lambda m, a, o: m.asanyarray(a, order=o),
    "array that need not copy": lambda m, a, o: m.array(a, copy=None, order=o, ndmin=4),
    "astype": lambda m, a, o: a.astype("f4", order=o),
    "astype of its type": lambda m, a, o: a.astype("f8", order=o, copy=False),
    "flatten": lambda m, a, o: a.flatten(o),
    "ravel": lambda m, a, o: a.ravel(o),
    "np.ravel": lambda m, a, o: m.ravel(a, order=o),
    "reshape": lambda m, a, o: a.reshape((-1, 1), order=o),
    "np.reshape": lambda m, a, o: m.reshape(a, (1, -1), order=o),
    "zeros_like": lambda m, a, o: m.zeros_like(a, order=o),
    "ones_like of a shape": lambda m, a, o: m.ones_like(a, order=o, shape=(3, 2)),
    "full_like": lambda m, a, o: m.full_like(a, 3, order=o),
    "full_like of a row": lambda m, a, o: m.full_like(a, a.reshape(-1)[:1], order=o),
    "zeros": lambda m, a, o: m.zeros(a.shape, order=o),
    "ones": lambda m, a, o: m.ones(a.shape, "i4", order=o),
    "full": lambda m, a, o: m.full(a.shape, 7, order=o),
    "eye": lambda m, a, o: m.eye(3, 4, order=o),
    "asarray_chkfinite": lambda m, a, o: m.asarray_chkfinite(a, order=o),
}


def outcome(make, m):
    """A result's values and layout, or the kind of its error."""
    try:
        made = make(m)
    except (ValueError, TypeError) as error:
        return type(error)
    values = numpy.asarray(made)
    # Strides of axes that hold one element mean nothing.
    strides = [s for n, s in zip(made.shape, made.strides, strict=True) if n > 1 and made.size]
    return made.dtype, made.shape, strides, made.flags.num | 4, values.tolist()


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("source", SOURCES)
def test_what_is_made_in_an_order_lies_as_numpys(name, source):
    for order in [*ORDERS, "Q", "", 5, b"F"]:
        want, got = (
            outcome(lambda m: MADE[name](m, SOURCES[source](m), order), m) for m in (numpy, np)
        )
        assert got == want, order


@pytest.mark.parametrize("source", SOURCES)
def test_bytes_in_an_order(source):
    for order in [*ORDERS, "Q"]:
        want, got = [], []
        for m, to in ((numpy, want), (np, got)):
            try:
                to.append(SOURCES[source](m).tobytes(order))
            except ValueError:
                to.append(ValueError)
        assert got == want, order


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("wanted", ["C", "F", "A", "W", "O", "E", ["F", "W"], ["C", "O"],
                                    ["C", "F"], "Q", None])
def test_require(source, wanted):
    def make(m):
        a = SOURCES[source](m)
        made = m.require(a, requirements=wanted)
        same.append(made is a)
        return made

    same = []
    try:
        want, got = (outcome(make, m) for m in (numpy, np))
    except KeyError:
        with pytest.raises(KeyError):
            outcome(make, np)
        return
    assert got == want
    assert not same or same[0] == same[-1]


@pytest.mark.parametrize("name", ["asfortranarray", "ascontiguousarray"])
@pytest.mark.parametrize("source", SOURCES)
def test_what_lies_as_asked_for_is_not_copied(name, source):
    same = []

    def make(m):
        a = SOURCES[source](m)
        made = getattr(m, name)(a)
        same.append(m.shares_memory(made, a))
        return made

    want, got = (outcome(make, m) for m in (numpy, np))
    assert got == want and same[0] == same[1]


def operands(m, shape):
    """Arrays that broadcast to a shape, in every order of axes and some more."""
    n = int(numpy.prod(shape))
    for axes in itertools.permutations(range(len(shape))):
        lying = m.arange(1.0, n + 1).reshape([shape[k] for k in axes])
        yield lying.transpose([axes.index(k) for k in range(len(shape))])
    wide = (*shape[:-1], shape[-1] * 2)
    yield m.arange(2.0 * n).reshape(wide)[..., ::2]
    yield m.arange(1.0 * n).reshape(shape)[::-1]
    yield m.arange(1.0 * shape[-1])
    yield m.array(2.0)
    yield m.broadcast_to(m.arange(1.0 * shape[-1]), shape)


FUNCTIONS = {
    "+": lambda m, x, y: x + y,
    "where": lambda m, x, y: m.where(x > y, x, y),
    "sqrt": lambda m, x, y: m.sqrt(x),
    "number": lambda m, x, y: x * 2.5,
    "clip": lambda m, x, y: m.clip(x, y, 9),
}


@pytest.mark.parametrize("shape", [(2, 3), (3, 1, 4), (2, 3, 4)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_lie_as_their_operands(name, shape):
    theirs, ours = list(operands(numpy, shape)), list(operands(np, shape))
    for i, j in itertools.product(range(len(theirs)), repeat=2):
        want, got = (
            outcome(lambda m: FUNCTIONS[name](m, x[i], x[j]), m)
            for m, x in ((numpy, theirs), (np, ours))
        )
        assert got == want, (i, j)


def test_copies_of_numpys_arrays_lie_as_they_do():
    n = numpy.arange(24.0).reshape(2, 4, 3).transpose(2, 0, 1)
    for make in (np.array, np.asarray, lambda a: np.cumsum(a, axis=0)):
        assert numpy.asarray(make(n)).strides == (make(n)).strides
    assert np.array(n).strides == numpy.array(n).strides
    assert np.array(n, order="C").strides == numpy.array(n, order="C").strides


def test_an_array_in_another_order_owns_its_memory():
    for a in (np.zeros((2, 3), order="F"), np.ones((2, 3)).T + 1, np.ones((2, 3)).T.copy("K")):
        assert a.base is None and a.flags.owndata
        a[0] = 5
        assert a.tolist()[0] == [5.0] * a.shape[1]
