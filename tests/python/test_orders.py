# SPDX-License-Identifier: Apache-2.0
"""Orders and layouts: strides and flags are NumPy's."""

import copy
import itertools
import math
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


# ---- Results of transposed arrays lie as NumPy's ----

RESULTS = """
x[i] | x[:, [1, 0]] | x[[1, 0]] | x[[[0, 1], [1, 0]]] | x[i][:, ::-1] | x[i, [0, 1, 0]] | x[i, :, [0, 1, 0]] | x[[0, 1], None]
x[:, i.reshape(1, -1)] | x[0, i] | x[i, 0] | x[m.asarray([[0, 1], [1, 0], [1, 1]]).T] | x[(i.reshape(1, 3).repeat(2, 0).T,) * x.ndim] | x[None, :, [1, 0]] | x[[0, 1]][:, [1]]
x[x[:, 0, 0] >= 0] | x[x[:, 0, 0] < 9] | x[x[:, :, 0] >= 1] | x[x >= 0] | x[[True, False, True]] | m.take_along_axis(x, x.astype(int) % 2, 1)
x.sum(0) | x.sum(1) | x.sum(-1) | x.sum((0,)) | x.sum((0, 2)) | x.sum() | x.sum(1, keepdims=True) | x.mean(0) | x.mean(1, keepdims=True)
x.std(1) | x.var(2) | x.max(0) | x.min(1) | x.prod(0) | x.any(0) | x.all(1) | x.argmax(0) | x.argmin(1) | m.ptp(x, 0)
m.median(x, 0) | m.percentile(x, 30, 0) | m.quantile(x, [0.1, 0.5], 1) | m.count_nonzero(x, 0) | m.average(x, 0) | m.nansum(x, 0)
m.nanmean(x, 0) | m.add.reduce(x, 0) | m.logical_and.reduce(x, 0) | m.maximum.reduce(x, 1) | m.linalg.norm(x, axis=0)
m.concatenate((x, x)) | m.concatenate((x, x), 1) | m.concatenate((x, x.copy("C")), -1) | m.concatenate((x.copy("C"), x)) | m.append(x, x, 0)
m.stack((x, x)) | m.stack((x, x), 1) | m.stack((x, x), -1) | m.hstack((x, x)) | m.vstack((x, x)) | m.dstack((x, x)) | m.concatenate([x] * 5)
m.tile(x, 2) | m.repeat(x, 2, 0) | m.roll(x, 1) | m.roll(x, 1, 0) | m.round(x, 1) | x.round(1) | x.round() | m.cumsum(x, 0) | m.sort(x, 0)
m.where(x > 0, x, 0) | m.sqrt(x, dtype="f4") | x.astype("f4") | m.take(x, i, 0) | m.take(x, i, 1) | m.compress([1, 0], x, 0)
m.cross(x[:, :, :3], x[:, :, :3]) | m.isclose(x, x) | m.trapezoid(x, axis=0) | m.diff(x, axis=0) | m.clip(x, 0, 1) | m.logaddexp.reduce(x, 0)
"""
RESULTS = [text.strip() for line in RESULTS.split("\n") for text in line.split("|") if text.strip()]
PERMUTED = {
    **{"".join(map(str, p)): lambda a, p=p: (a, p) for p in itertools.permutations(range(3))},
    "with gaps": lambda a: (a[:, ::2], (2, 0, 1)),
    "back": lambda a: (a[::-1, :, ::-1], (1, 2, 0)),
    "an axis of one": lambda a: (a[:, :, :, None][:, 0], (2, 1, 0)),
}


def permuted(m, how):
    """An array whose axes have at least two elements but for one, in another order in memory."""
    a, axes = PERMUTED[how](m.arange(3 * 4 * 5.0).reshape(3, 4, 5))
    shape = numpy.transpose(numpy.empty(a.shape), axes).shape
    assert sorted(shape) == sorted(a.shape)
    return a.transpose(axes) - 1.0


@pytest.mark.parametrize("far", [False, True], ids=["as it is", "to be computed"])
@pytest.mark.parametrize("text", RESULTS)
@pytest.mark.parametrize("how", PERMUTED)
def test_results_of_permuted_arrays_lie_as_numpys(how, text, far):
    def outcome(m):
        x = permuted(m, how)
        if far and m is np:  # too large for its call, and read only in part
            big = m.zeros(1 << 20).sum()
            x = x + big
        try:
            made = eval(text, {"m": m, "x": x, "i": numpy.array([1, 0, 1])})  # noqa: S307 - our own
            values = numpy.asarray(made)
        except (ValueError, IndexError) as error:
            return type(error)
        lies = [s for s, n in zip(made.strides, made.shape, strict=True) if n > 1] if made.size else []
        return made.shape, lies, values

    theirs, ours = outcome(numpy), outcome(np)
    if isinstance(theirs, type):
        assert ours is theirs
        return
    assert ours[:2] == theirs[:2]
    numpy.testing.assert_allclose(ours[2], theirs[2], rtol=1e-12)


@pytest.mark.parametrize("read", ["x[[0, 0, 0]]", "x[:, [1, 0]]", "x.sum(1)", "m.concatenate((x, x))", "x[x[:, 0, 0] < 9]"])
@pytest.mark.parametrize("how", PERMUTED)
def test_what_reshape_answers_of_them_is_a_view_where_numpys_is(how, read):
    def outcome(m):
        made = eval(read, {"m": m, "x": permuted(m, how)})  # noqa: S307 - our own
        made.reshape(-1)[...] = 7.0
        return numpy.asarray(made)

    assert (outcome(np) == outcome(numpy)).all()


# Where what is kept is one element at each place, NumPy goes through the places as they lie.
BESIDE = {"(1, 9)[:, p]": ((1, 9), (slice(None), "p")), "(9, 1)[p]": ((9, 1), ("p",)), "(1, 9, 1)[:, p]": ((1, 9, 1), (slice(None), "p")),
          "(9, 1, 9)[p, :, p]": ((9, 1, 9), ("p", slice(None), "p")), "(1, 9)[::-1, p]": ((1, 9), (slice(None, None, -1), "p")),
          "(9, 2)[p]": ((9, 2), ("p",)), "(9,)[p]": ((9,), ("p",))}


@pytest.mark.parametrize("far", [False, True], ids=["as it is", "to be computed"])
@pytest.mark.parametrize("which", BESIDE)
def test_places_lie_as_they_do_themselves_beside_axes_of_one(which, far):
    shape, key = BESIDE[which]

    def outcome(m):
        a = m.arange(float(math.prod(shape))).reshape(shape)
        if far and m is np:
            a = a + m.zeros(1 << 20).sum()
        p = m.asarray(numpy.arange(8).reshape(2, 4)).T
        made = a[tuple(p if k == "p" else k for k in key)]
        flat = made.reshape(-1)
        flat[0] = -1.0
        return numpy.asarray(made), [s for s, n in zip(made.strides, made.shape, strict=True) if n > 1]

    theirs, ours = outcome(numpy), outcome(np)
    assert ours[1] == theirs[1]
    assert (ours[0] == theirs[0]).all()
