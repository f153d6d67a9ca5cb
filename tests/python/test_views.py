# SPDX-License-Identifier: Apache-2.0
"""Views of another type, arrays that change their own layout, and a.flat."""

import numpy
import pytest

import braze.numpy as np

TYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]


def both(code, *names):
    """The named variables after code, in NumPy and in braze; errors are compared too."""
    results = []
    for m in (numpy, np):
        space = {"np": m}
        try:
            exec(code, space)
        except Exception as error:
            results.append([type(error).__mro__[-3 if isinstance(error, LookupError) else 0]])
            continue
        results.append([
            x.tolist() if hasattr(x, "tolist") else x for x in (space[n] for n in names)
        ])
    assert repr(results[1]) == repr(results[0])


@pytest.mark.parametrize("to", TYPES)
@pytest.mark.parametrize("of", TYPES)
def test_a_view_of_another_type_shows_the_same_bytes(of, to):
    if to == "?" and of[0] in "fc":
        return  # a bool of braze's is 0 or 1, also where NumPy's has another byte
    for layout in ("", ".reshape(2, 8)", ".reshape(2, 8).T", ".reshape(2, 8)[:, ::2]"):
        results = []
        for m in (numpy, np):
            a = (m.arange(16) % 2).astype(of)
            try:
                v = eval(f"a{layout}.view('{to}')", {"a": a})
                v[...] = v[::-1].copy()
            except (ValueError, TypeError) as error:
                results.append(type(error))
                continue
            results.append((v.shape, v.strides, numpy.asarray(a).tobytes(), v.base is a,
                            numpy.asarray(v).tobytes()))
        assert results[1] == results[0], layout


@pytest.mark.parametrize("n", [3, 5000])
def test_computations_see_writes_through_a_view_of_another_type(n):
    for _ in range(3):  # a kernel is compiled after some runs
        results = []
        for m in (numpy, np):
            x = m.arange(1.0, n + 1)
            y = x * 2
            bits = y.view("i8")
            bits[...] = bits + (1 << 52)  # twice as much
            z = y + 1
            y[...] = z * 3
            low = bits & 0xFFFF
            half = y.view("f4")
            half[::2] = 0
            c = m.zeros(n, "c16")
            c[...] = x
            c.view("f8")[1::2] = 7
            d = c * 2
            c.view("i8")[::2] = 0
            results.append([numpy.asarray(r) for r in (y, z, low, half, d, c, bits)])
        for want, got in zip(*results, strict=True):
            assert got.dtype == want.dtype and numpy.array_equal(got, want)


@pytest.mark.parametrize("code", [
    "a = np.arange(4); a.dtype = 'i4'; b = a.shape",
    "a = np.arange(4); a.dtype = 'f8'; b = a.dtype",
    "a = np.zeros((2, 3)); a.dtype = 'c16'; b = 0",
    "a = np.arange(4.); a.dtype = 'c16'; b = a.strides",
    "a = np.zeros((2, 4)); c = a[:, ::2]; c.dtype = 'c16'; b = 0",
    "a = np.zeros((2, 4)); c = a[:, ::2]; c.dtype = 'i8'; c[...] = 1; b = 0",
    "a = np.arange(6.).reshape(2, 3); a.strides = (8, 8); b = a.strides",
    "a = np.arange(6.).reshape(2, 3); a.strides = (8, 800); b = 0",
    "a = np.arange(6.).reshape(2, 3); a.strides = (8,); b = 0",
    "a = np.arange(6.); a.shape = (2, 3); b = a.strides",
    "a = np.arange(6.); a.shape = 2, -1; b = a.strides",
    "a = np.arange(6.); a.shape = 4; b = 0",
    "c = np.arange(6.); a = c[1:]; a.dtype = 'i8'; a[0] = 0; b = c",
    "a = np.arange(3.); a.view('i8')[1] = 0; b = a.view(np.ndarray)",
    "a = np.arange(3.); b = a.view(type=np.ndarray); b[0] = 5",
    "a = np.arange(3.); b = a.view(dtype='i8'); b[0] = 5",
    "a = np.arange(3.); b = a.view(type='i8')",
    "a = np.arange(4.).view('c16'); b = a.getfield('f8', 8); b[...] = 0",
    "a = np.arange(4.); b = a.getfield('i4', 6)",
])
def test_an_array_can_change_its_type_and_layout(code):
    both(code, "a", "b")


@pytest.mark.parametrize("code", [
    "a.resize(2, 3)", "a.resize((2, 3))", "a.resize([2, 2])", "a.resize(3)", "a.resize(0)",
    "a.resize(())", "a.resize()", "a.resize(None)", "a.resize(4, 1)", "a.resize(-1)",
    "a.resize(2.5)", "b = a[:]; a.resize(5)", "b = a[:]; a.resize(2, 2)",
    "b = a[:]; b.resize(5)", "b = a[:]; b.resize(2, 2)", "c = a; a.resize(5)",
    "c = a; a.resize(5, refcheck=False)", "a = a[::2]; a.resize(2, 1)",
    "a = np.arange(6.).reshape(3, 2).T.copy('K'); a.resize(4, 2)",
    "a = np.arange(6.).reshape(3, 2).T.copy('K'); a.resize(3, 2)",
    "a.setflags(write=False); a.resize(2, 2)",
])
def test_resize_in_place(code):
    both(f"a = np.arange(4.); {code}; s = a.shape, a.strides, a.flags.owndata", "a", "s")


@pytest.mark.parametrize("code", [
    "a.flat = [1, 2]", "a.flat = 5", "a.flat = []", "a.flat = range(9)", "a.flat[1] = 7",
    "a.flat[-1] = 7", "a.flat[9] = 7", "a.flat[1:4] = [1, 2]", "a.flat[::2] = 0",
    "a.flat[[1, 3]] = [8, 9]", "a.flat[[1, 3]] = [8]", "a.flat[...] = [3, 4]",
    "a.flat[np.array([True] + [False] * 5)] = 1", "a.T.flat = np.arange(6)",
    "a.T.flat[1:3] = [8, 9]", "r = next(a.flat)", "r = a.flat.copy()", "r = a.flat[2]",
    "r = a.flat[1:3]", "r = a.flat[[0, 5]]", "r = a.T.flat[1:4]", "r = a.flat[...]",
    "r = [x.item() for x in a.flat]", "r = len(a.flat)", "r = a.flat == a.T.copy().flat",
    "r = a.flat > 2", "r = (a.flat != a.ravel()).any()", "f = a.flat; next(f); r = f.index",
    "f = a.flat; next(f); next(f); r = f.coords", "f = a.flat; list(f); r = f.index",
    "f = a.T.flat; next(f); r = f.coords", "r = a.flat.base is a", "r = a.flat[0, 1]",
    "r = np.asarray(a.flat)", "f = a.flat; next(f); r = [x.item() for x in f]",
    "r = np.array(3.).flat[0]", "r = np.array(3.).flat.coords", "a.flat[2] = [5, 6]",
])
def test_flat(code):
    both(f"a = np.arange(6.).reshape(2, 3); r = 0; {code}", "a", "r")


@pytest.mark.parametrize("code", [
    "r = np.shares_memory(a[:2], a[2:])", "r = np.shares_memory(a[::2], a[1::2])",
    "r = np.may_share_memory(a[::2], a[1::2])", "r = np.shares_memory(a, a[3:])",
    "r = np.shares_memory(a, a.copy())", "r = np.shares_memory(a, a.reshape(2, 3).T)",
    "r = np.shares_memory(a, a.view('u1')[8:])", "r = np.may_share_memory(a[:2], a[2:])",
    "r = np.diff(a, n=0) is a", "r = np.nan_to_num(a, copy=False) is a", "r = a.conj() is a",
    "r = np.asarray(a) is a, np.require(a) is a, np.asfortranarray(a) is a, np.real(a) is a",
    "b = np.array([np.nan, 1]); np.nan_to_num(b, copy=False); r = b",
    "r = np.squeeze(a) is a, a.T is a, a.transpose() is a, a[...] is a",
    "r = np.arange(5.).byteswap(), np.arange(5).byteswap(inplace=True)",
])
def test_what_is_the_same_memory(code):
    both(f"a = np.arange(6.); {code}; r = np.asarray(r).tolist() if r is not None else r", "r", "a")


@pytest.mark.parametrize("ndim", range(4))
def test_one_axis_is_moved_anywhere(ndim):
    """Beyond the ends as well: NumPy's errors, whichever of the two is wrong."""
    for source in range(-ndim - 1, ndim + 1):
        for to in range(-ndim - 1, ndim + 1):
            both(f"b = np.moveaxis(np.ones({(2, 3, 4)[:ndim]}), {source}, {to}); shape, strides = b.shape, b.strides",
                 "shape", "strides")
