# SPDX-License-Identifier: Apache-2.0
"""Functions of whole arrays, with the arguments that the standard names: type, shape and
values as NumPy's for arrays of all shapes and types."""

import braze.numpy as np
import hypothesis.extra.numpy as hynp
import numpy
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

DTYPES = ("bool", "int8", "uint16", "int64", "uint64", "float32", "float64", "complex128")
NUMERIC = DTYPES[1:]
FLOATING = DTYPES[5:]
REAL = DTYPES[:7]


def arrays(dtypes=DTYPES, low=0, high=3, side=5, min_side=0, magnitude=20):
    """Arrays of whole numbers, so that sums and products are exact in every order."""
    whole = st.integers(0, magnitude)
    shapes = hynp.array_shapes(min_dims=low, max_dims=high, min_side=min_side, max_side=side)
    return st.sampled_from(dtypes).flatmap(lambda d: hynp.arrays(
        d, shapes, elements=whole.map(lambda n: np.dtype(d).type(n % 2 if d == "bool" else n))))


def whole(mine):
    """What a function gave, as NumPy's."""
    if isinstance(mine, (tuple, list)):
        return [whole(x) for x in mine]
    return numpy.asarray(mine)


def same(mine, theirs):
    if isinstance(theirs, (tuple, list)):
        assert len(mine) == len(theirs)
        for a, b in zip(mine, theirs, strict=True):
            same(a, b)
        return
    mine, theirs = numpy.asarray(mine), numpy.asarray(theirs)
    assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
    if theirs.dtype.kind in "fc":
        rtol = 64 * numpy.finfo(theirs.dtype).eps
        numpy.testing.assert_allclose(mine, theirs, rtol=rtol, atol=rtol * 100)
    else:
        numpy.testing.assert_array_equal(mine, theirs)


def both(name, *args, **kwargs):
    """The same call on both sides, errors included."""
    def lookup(space):
        for part in name.split("."):
            space = getattr(space, part)
        return space

    def lazy(x):
        if isinstance(x, (list, tuple)):
            return type(x)(lazy(y) for y in x)
        return np.asarray(x) if isinstance(x, numpy.ndarray) else x

    with numpy.errstate(all="ignore"):
        try:
            theirs = lookup(numpy)(*args, **kwargs)
        except (ValueError, TypeError, IndexError, numpy.linalg.LinAlgError) as error:
            with pytest.raises((ValueError, TypeError, IndexError)) as mine:
                whole(lookup(np)(*lazy(args), **lazy(kwargs)))
            assert isinstance(mine.value, type(error)) or isinstance(error, type(mine.value))
            return
        same(lookup(np)(*lazy(args), **lazy(kwargs)), theirs)


def axes_of(x, none=True):
    one = st.integers(-x.ndim, x.ndim - 1) if x.ndim else st.just(0)
    return st.none() | one if none else one


@pytest.mark.parametrize("name", "sum prod max min mean all any".split())
@given(data=st.data())
def test_reductions(name, data):
    limits = {"prod": 3}
    x = data.draw(arrays(REAL if name in ("max", "min") else DTYPES,
                         magnitude=limits.get(name, 20)))
    axes = st.none() | st.lists(st.integers(0, max(x.ndim - 1, 0)), unique=True,
                                max_size=x.ndim).map(tuple) | axes_of(x)
    kwargs = {"axis": data.draw(axes), "keepdims": data.draw(st.booleans())}
    if name in ("sum", "prod"):
        kwargs["dtype"] = data.draw(st.sampled_from([None, np.dtype("float64"),
                                                     np.dtype("complex128")]))
    assume(name != "mean" or x.size)
    both(name, x, **kwargs)


@pytest.mark.parametrize("name", ["std", "var"])
@given(data=st.data())
def test_spreads(name, data):
    x = data.draw(arrays(FLOATING, low=1, min_side=3))
    both(name, x, axis=data.draw(axes_of(x)), correction=data.draw(st.sampled_from([0, 1, 0.5])),
         keepdims=data.draw(st.booleans()))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@given(data=st.data())
def test_positions(name, data):
    x = data.draw(arrays(REAL, low=1))
    both(name, x, axis=data.draw(axes_of(x)), keepdims=data.draw(st.booleans()))


@given(data=st.data())
def test_cumulative_sum(data):
    x = data.draw(arrays(low=1))
    both("cumulative_sum", x, axis=data.draw(axes_of(x, none=x.ndim == 1)),
         include_initial=data.draw(st.booleans()))


@pytest.mark.parametrize("name", ["sort", "argsort"])
@given(data=st.data())
def test_sorting(name, data):
    x = data.draw(arrays(REAL, low=1))
    both(name, x, axis=data.draw(axes_of(x, none=False)), stable=True)


@given(x=arrays(REAL, low=1, high=1), y=arrays(("int64", "float64"), low=0, high=2),
       side=st.sampled_from(["left", "right"]))
def test_searchsorted(x, y, side):
    order = numpy.argsort(x)
    both("searchsorted", numpy.sort(x), y, side=side)
    both("searchsorted", x, y, side=side, sorter=order)


@pytest.mark.parametrize("name", "unique_all unique_counts unique_inverse unique_values".split())
@given(x=arrays())
def test_sets(name, x):
    both(name, x)


@given(x=arrays(low=1), c=arrays(("bool",)), y=arrays(("int8", "float32")))
def test_nonzero_and_where(x, c, y):
    both("nonzero", x)
    both("where", c, x, y)


@given(data=st.data())
def test_take(data):
    x = data.draw(arrays(low=1, min_side=1))
    axis = data.draw(axes_of(x, none=False))
    n = x.shape[axis]
    both("take", x, numpy.array(data.draw(st.lists(st.integers(-n - 1, n), min_size=1))),
         axis=axis)


# ---- Shapes ----

@given(data=st.data())
def test_moving_axes(data):
    x = data.draw(arrays(high=4))
    both("permute_dims", x, tuple(data.draw(st.permutations(range(x.ndim)))))
    both("flip", x, axis=data.draw(axes_of(x)))
    both("matrix_transpose", x)
    both("expand_dims", x, axis=data.draw(st.integers(-x.ndim - 2, x.ndim + 1)))
    if x.ndim:
        both("moveaxis", x, data.draw(axes_of(x, none=False)), data.draw(axes_of(x, none=False)))
        both("squeeze", x, data.draw(axes_of(x, none=False)))
        both("unstack", x, axis=data.draw(axes_of(x, none=False)))
        both("roll", x, data.draw(st.integers(-7, 7)), axis=data.draw(axes_of(x)))
        both("repeat", x, data.draw(st.integers(0, 3)), axis=data.draw(axes_of(x)))
    both("tile", x, tuple(data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))))


@given(data=st.data())
def test_reshape(data):
    x = data.draw(arrays())
    shape = data.draw(st.permutations(x.shape).map(tuple) | st.just((-1,))
                      | st.lists(st.integers(-1, 6), max_size=3).map(tuple))
    both("reshape", x, shape, copy=data.draw(st.sampled_from([None, True])))


@given(data=st.data())
def test_joining(data):
    x = data.draw(arrays(low=1))
    y = data.draw(hynp.arrays(data.draw(st.sampled_from(NUMERIC)), x.shape, elements=st.just(3)))
    axis = data.draw(axes_of(x))
    both("concat", [x, y], axis=axis)
    both("stack", [x, y, x], axis=data.draw(st.integers(-x.ndim - 2, x.ndim + 1)))


@given(shapes=hynp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, min_side=0))
def test_broadcasting(shapes):
    x, y = (numpy.ones(s) for s in shapes.input_shapes)
    both("broadcast_arrays", x, y)
    both("broadcast_to", x, shapes.result_shape)
    both("broadcast_to", x, (7, *y.shape))


@given(x=arrays(low=0, high=1), y=arrays(low=0, high=1), indexing=st.sampled_from(["xy", "ij"]))
def test_meshgrid(x, y, indexing):
    both("meshgrid", x, y, indexing=indexing)


@given(x=arrays(low=2), k=st.integers(-5, 5))
def test_triangles(x, k):
    both("tril", x, k=k)
    both("triu", x, k=k)


# ---- Making arrays ----

@given(shape=hynp.array_shapes(min_dims=0, min_side=0), dtype=st.sampled_from(DTYPES))
def test_filled(shape, dtype):
    for name in ("zeros", "ones"):
        both(name, shape, dtype=dtype)
        both(name + "_like", numpy.empty(shape, dtype))
    both("full", shape, 1, dtype=dtype)
    both("full_like", numpy.empty(shape, dtype), 1)
    assert np.empty(shape, dtype=dtype).shape == shape
    assert np.empty_like(np.zeros(shape, dtype=dtype)).dtype == dtype


@given(st.integers(-20, 20), st.integers(-20, 20), st.sampled_from([1, 2, -1, -3, 0.5]))
def test_arange(start, stop, step):
    both("arange", start, stop=stop, step=step)
    both("arange", start, stop, step, dtype="float32")


@given(st.floats(-50, 50), st.floats(-50, 50), st.integers(0, 9), st.booleans())
def test_linspace(start, stop, num, endpoint):
    both("linspace", start, stop, num, endpoint=endpoint)


@given(st.integers(0, 5), st.none() | st.integers(0, 5), st.integers(-5, 5),
       st.sampled_from(DTYPES))
def test_eye(rows, columns, k, dtype):
    both("eye", rows, columns, k=k, dtype=dtype)


@given(x=arrays(), dtype=st.sampled_from(DTYPES), copy=st.booleans())
def test_astype_and_asarray(x, dtype, copy):
    assume(x.dtype.kind != "c" or np.dtype(dtype).kind == "c")
    both("astype", x, dtype, copy=copy)
    both("asarray", x, dtype=dtype)
    both("asarray", x, copy=True)


@pytest.mark.parametrize("name", "zeros ones empty".split())
def test_devices_that_are_not_there_are_refused(name):
    assert getattr(np, name)(2, device="cpu").shape == (2,)
    with pytest.raises(ValueError, match="Device not understood"):
        getattr(np, name)(2, device="abacus")


# ---- Linear algebra and Fourier transforms ----

@given(data=st.data())
def test_products(data):
    n, k, m = (data.draw(st.integers(0, 5)) for _ in range(3))
    batch = data.draw(hynp.mutually_broadcastable_shapes(num_shapes=2, max_dims=2, min_side=0,
                                                         max_side=3)).input_shapes
    d, e = (data.draw(st.sampled_from(NUMERIC)) for _ in range(2))
    a = (numpy.arange(numpy.prod((*batch[0], n, k), dtype=int)) % 7).reshape(*batch[0], n, k)
    b = (numpy.arange(numpy.prod((*batch[1], k, m), dtype=int)) % 5).reshape(*batch[1], k, m)
    both("matmul", a.astype(d), b.astype(e))
    both("tensordot", a.astype(d), b.astype(e), axes=0)
    both("vecdot", a[..., :1, :].astype(d), numpy.swapaxes(b, -1, -2)[..., :1, :].astype(e))
    both("linalg.outer", numpy.arange(n).astype(d), numpy.arange(m).astype(e))


@pytest.mark.parametrize("name", "det inv svdvals pinv matrix_rank slogdet matrix_norm".split())
@given(data=st.data())
def test_matrices(name, data):
    n = data.draw(st.integers(1, 4))
    batch = data.draw(hynp.array_shapes(min_dims=0, max_dims=1, min_side=0, max_side=3))
    noise = numpy.arange(numpy.prod((*batch, n, n), dtype=int)).reshape(*batch, n, n) * 37 % 11
    x = (noise + 20 * numpy.eye(n)).astype(data.draw(st.sampled_from(["float64", "complex128"])))
    both("linalg." + name, x)


@pytest.mark.parametrize("name", "fft ifft fftn ifftn rfft irfft hfft ihfft fftshift".split())
@given(data=st.data())
def test_fourier(name, data):
    kinds = ("float64",) if name in ("rfft", "ihfft") else ("float64", "complex128")
    x = data.draw(arrays(kinds, low=1, min_side=2))
    kwargs = {} if name == "fftshift" else {
        "norm": data.draw(st.sampled_from(["backward", "ortho", "forward"]))}
    both("fft." + name, x, **kwargs)


# ---- Indexing ----

@given(data=st.data())
def test_basic_indices(data):
    x = data.draw(arrays(low=1, min_side=1))
    key = data.draw(hynp.basic_indices(x.shape, allow_newaxis=True))
    mine = np.asarray(x)
    same(mine[key], x[key])
    mine, theirs = np.array(x), x.copy()
    mine[key] = 1
    theirs[key] = 1
    same(mine, theirs)


@given(data=st.data())
def test_masks_and_places(data):
    x = data.draw(arrays(low=1, min_side=1))
    mask = data.draw(hynp.arrays(bool, x.shape))
    same(np.asarray(x)[np.asarray(mask)], x[mask])
    places = data.draw(hynp.integer_array_indices(x.shape))
    same(np.asarray(x)[tuple(np.asarray(p) for p in places)], x[places])
    mine, theirs = np.array(x), x.copy()
    mine[np.asarray(mask)] = 1
    theirs[mask] = 1
    same(mine, theirs)
