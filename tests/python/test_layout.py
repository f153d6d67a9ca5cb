# SPDX-License-Identifier: Apache-2.0
"""Views, scalars and types where a Python client once differed from NumPy."""

import numpy
import pytest

import braze.numpy as np
from versions import NUMPY


def both(code, *names):
    """The named variables after code, in NumPy and in braze."""
    results = []
    for module in (numpy, np):
        space = {"np": module}
        exec(code, space)
        results.append([numpy.asarray(space[n]) for n in names])
    for want, got in zip(*results, strict=True):
        assert got.dtype == want.dtype and got.shape == want.shape, (got, want)
        assert numpy.array_equal(got, want), (got, want)


@pytest.mark.parametrize("shape", ["(2, 4, 5, 4)", "(8, 5, 4)", "(8, 20)", "(4, 2, 20)", "(-1,)"])
def test_reshape_that_must_copy_after_some_axes_fitted(shape):
    both(f"a = np.arange(160).reshape(5, 4, 8).swapaxes(0, -1).reshape({shape})", "a")


def test_ravel_copies_what_is_not_contiguous():
    both("a = np.arange(9); b = np.ravel(a[::-2]); b[0] = 70", "a", "b")
    both("a = np.arange(9); b = a[2:7].ravel(); b[0] = 70", "a", "b")
    both("a = np.arange(6).reshape(2, 3); b = np.ravel(a.T); b[0] = 70", "a", "b")


@pytest.mark.parametrize("view", [
    "s[...]", "s[None]", "s.reshape(1)", "np.expand_dims(s, 0)", "np.atleast_1d(s)", "np.ravel(s)",
    "np.asarray(s)", "np.array(s, copy=None)", "np.reshape(s, (1, 1))", "np.ascontiguousarray(s)",
])
def test_scalar_is_not_written_through_what_was_made_of_it(view):
    both(f"s = np.arange(4.0).sum(); x = {view}; x[...] = 9", "s", "x")


def test_scalar_is_no_output():
    for module in (numpy, np):
        with pytest.raises(TypeError):
            module.negative(1, out=module.arange(3).sum())


@pytest.mark.parametrize("made", [
    "np.where(np.array(True), 1, 2)", "np.array(np.arange(3).sum(), dtype='float32')",
])
def test_arrays_without_axes_that_may_be_written(made):
    both(f"a = {made}; a[...] = 7", "a")


@pytest.mark.parametrize("expression", ["a.sum()", "a.max()", "np.any(a)", "np.flip(a)"])
def test_results_of_arrays_without_axes_are_scalars(expression):
    for module in (numpy, np):
        with pytest.raises(TypeError):
            eval(expression, {"np": module, "a": module.array(2.0)})[...] = 1


def test_out_may_be_larger_than_the_operands():
    both("a = np.zeros((2, 3)); np.negative(5, out=a)", "a")
    both("a = np.zeros((2, 3), int); b = np.arange(3); np.add(b, 1, a)", "a")
    for module in (numpy, np):
        with pytest.raises(ValueError):
            module.add(module.ones(3), 1, out=module.ones((2, 1)))
        with pytest.raises(ValueError):
            module.sum(module.ones(3), out=module.ones(2))


@pytest.mark.parametrize("base", ["bool", "int8", "int32", "float16", "float32", "float64"])
@pytest.mark.parametrize("exponent", [
    "2", "2.0", "np.int64(2)", "np.float64(2)", "np.float32(2)", "np.array(2)", "np.array(2.0)",
    "np.float64(0.5)", "np.ones(3).max()", "np.arange(3).max()", "3", "np.float64(3)", "1", "0",
])
def test_types_of_powers(base, exponent):
    both(f"a = np.ones(3, '{base}') ** {exponent}", "a")
    both(f"a = np.ones(3, '{base}')[1] ** 2", "a")


@pytest.mark.skipif(NUMPY >= (2, 5), reason="NumPy refuses them")
def test_where_takes_python_integers_that_do_not_fit():
    both("a = np.where([True, False], np.array([1, 2], 'uint8'), -1)", "a")
    both("a = np.where([True, False], np.array([1, 2], 'int8'), 200)", "a")


def test_copyto_refuses_numbers_of_a_higher_kind():
    for module in (numpy, np):
        with pytest.raises(TypeError):
            module.copyto(module.zeros(3, "int32"), 2.5)
    both("a = np.zeros(3, 'float32'); np.copyto(a, 2.5); np.copyto(a[1:], True)", "a")


def test_count_nonzero_is_a_number_at_once():
    """Python's, or from NumPy 2.3 on NumPy's."""
    assert type(np.count_nonzero(np.arange(3))) in ((int,) if NUMPY < (2, 3) else (np.ndarray, numpy.intp))
    both("a = np.ones(2, 'int32') * np.count_nonzero(np.arange(3))", "a")
    assert type(np.imag(5)) is int and np.real(2.5) == 2.5


@pytest.mark.parametrize("view", ["a", "a.T", "a[:, ::2]", "a.transpose(1, 0, 2)", "a[0]", "a[0].T", "a[:, :1, :1].T",
                                  "np.asfortranarray(a)"])
@pytest.mark.parametrize("kind", ["f8", "i2", "?", "c16"])
def test_imaginary_parts_lie_as_numpys(view, kind):
    """Of real numbers they are a new array that is read only; what is reshaped is a view or can be written."""
    seen = []
    for module in (numpy, np):
        a = module.arange(40.0).reshape(2, 5, 4).astype(kind)
        parts = eval(view, {"a": a, "np": module}).imag
        flat = parts.reshape(-1)
        seen.append((parts.shape, parts.strides, parts.flags.writeable, flat.flags.writeable,
                     flat.strides, numpy.asarray(parts).tolist()))
    assert seen[0] == seen[1]


def test_extremes_of_nothing():
    for module in (numpy, np):
        for shape, axis in [((0, 0), 1), ((3, 0, 0), 2), ((0, 3), 0), ((0,), None)]:
            with pytest.raises(ValueError, match="no identity"):
                module.max(module.zeros(shape), axis=axis)
        assert module.max(module.zeros((0, 3)), axis=1).shape == (0,)


def test_empty_array_made_from_a_repeated_one_can_be_written():
    both("a = np.reciprocal(np.broadcast_to(np.ones((0, 3)), (2, 0, 3))); a[0:] = 1", "a")


def test_common_type_of_three_does_not_depend_on_their_order():
    names = "bool int8 int16 int32 uint8 uint16 uint32 float16 float32 complex64".split()
    for a in names:
        for b in names:
            for c in ("float32", "int16", "uint16", "complex64"):
                one = [numpy.ones(1, t) for t in (a, b, c)]
                want = numpy.clip(*one).dtype
                assert np.clip(*(np.array(x) for x in one)).dtype == want, (a, b, c)


@pytest.mark.parametrize("statement", [
    "np.zeros(S)", "np.empty(S)", "np.ones(S, 'f4')", "np.full(S, 2)", "np.zeros(S, order='F')", "np.zeros_like(A)", "np.array(A)", "A.copy()", "A.astype(int)", "A + 1", "np.sin(A)",
    "A > 1", "np.sort(A)", "np.concatenate([A, A])", "np.stack([A, A])", "np.where(A > 0, 1, 2)", "np.cumsum(A, 0)", "A[np.zeros(0, int)]", "A.sum(0)", "A.sum(0, keepdims=True)",
    "A.flatten()", "A.T.copy()", "np.random.rand(*S)", "A.reshape(-1, 0, 5) if not A.size else A", "A.ravel()", "np.arange(0)", "np.linspace(0, 1, 0)", "np.eye(0)", "np.array([[], []])",
    "np.zeros((3, 4))[:, :0]", "np.zeros((3, 4))[:, :0].copy()", "np.zeros((2, 0)) @ np.zeros((0, 3))", "np.zeros((0, 2)) @ np.zeros((2, 3))", "np.zeros(5)[np.zeros(5, bool)]",
])
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (2, 0, 3), (0, 0), (1, 0)])
def test_new_arrays_without_elements_have_numpys_strides(statement, shape):
    seen = []
    for module in (numpy, np):
        try:
            seen.append(eval(statement, {"np": module, "S": shape, "A": module.zeros(shape)}).strides)
        except ValueError as error:
            seen.append(type(error))
    assert seen[0] == seen[1]


def test_another_shape_in_place_counts_the_strides_of_no_elements():
    seen = []
    for module in (numpy, np):
        a, b, c = module.zeros((3, 0)), module.zeros(4), module.zeros((0, 2))
        a.shape = (0, 5)
        b.resize(0)
        shown = [a.strides, b.strides, (a + 1).strides, a.copy().strides]
        a[...] = 1.0
        c.resize((2, 2))
        b.resize(3)
        seen.append([*shown, a.shape, c.tolist(), c.strides, b.tolist(), b.strides, a.flags.writeable])
    assert seen[0] == seen[1]
