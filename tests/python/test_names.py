# SPDX-License-Identifier: Apache-2.0
"""The class ndarray, ufuncs and functions as things: what programs ask of them
besides calling them."""

import gc
import inspect
import pickle
import typing
import weakref

import braze.numpy as np
from versions import NUMPY
import numpy
import pytest
from braze.numpy import _ufuncs


def test_arrays_that_numpy_keeps_pass_isinstance():
    kept = [np.zeros(2, "O"), np.array(["a"]), np.zeros(2, "g"), np.zeros(1, "i4,f8"),
            np.zeros((1,) * 9), numpy.zeros(2), numpy.ma.array([1])]
    assert all(isinstance(x, np.ndarray) for x in kept)
    assert isinstance(np.zeros(2), np.ndarray)
    assert not any(isinstance(x, np.ndarray) for x in (1, [1], None, numpy.float64(1), "a"))


def test_their_classes_pass_issubclass():
    assert issubclass(numpy.ndarray, np.ndarray)
    assert issubclass(np.matrix, np.ndarray)
    assert issubclass(np.ndarray, np.ndarray)
    assert not issubclass(int, np.ndarray)


def test_deriving_says_what_to_do():
    with pytest.raises(TypeError, match="derive from numpy.ndarray"):
        type("Mine", (np.ndarray,), {})


def test_ndarray_stands_in_annotations():
    def f(x: np.ndarray[tuple[int], np.dtype[np.float64]]) -> np.ndarray[typing.Any]:
        return x

    assert typing.get_origin(f.__annotations__["x"]) is np.ndarray
    assert len(typing.get_args(f.__annotations__["x"])) == 2
    for wrong in ((), (1, 2, 3)):
        with pytest.raises(TypeError, match="Too"):
            np.ndarray[wrong]


def test_the_class_has_every_name_of_numpys():
    public = [n for n in dir(numpy.ndarray) if not n.startswith("_")]
    assert [n for n in public if n not in dir(np.ndarray)] == []
    a = np.array([3, 1, 2])
    assert np.ndarray.argsort(a).tolist() == [1, 2, 0]
    assert np.ndarray.cumsum(a).tolist() == [3, 4, 6]
    assert np.ndarray.sort(a) is None
    assert a.tolist() == [1, 2, 3]


def test_methods_and_functions_are_documented():
    for name in "sum reshape sort astype argmax".split():
        assert getattr(np.ndarray, name).__doc__ == getattr(numpy.ndarray, name).__doc__
    for name in "sum zeros where add matmul sort".split():
        assert getattr(np, name).__doc__ == getattr(numpy, name).__doc__


def test_functions_in_a_class_bind_as_numpys_do():
    names = [n for n in dir(numpy) if callable(getattr(numpy, n)) and n != "test"
             and not isinstance(getattr(numpy, n), type) and not n.startswith("_")]
    differ = [n for n in names if hasattr(type(getattr(numpy, n)), "__get__")
              and not hasattr(type(getattr(np, n)), "__get__")]
    assert differ == []

    class Model:
        zeros, array, matmul, add, frombuffer = (
            np.zeros, np.array, np.matmul, np.add, np.frombuffer)

    m = Model()
    assert m.zeros(2).tolist() == [0, 0]
    assert m.array([1]).tolist() == [1]
    assert m.matmul([1, 2], [3, 4]) == 11
    assert m.add(1, 2) == 3
    assert m.frombuffer(b"\1\2", "u1").tolist() == [1, 2]


@pytest.mark.parametrize("name", ["zeros", "add", "matmul", "array", "power"])
def test_functions_are_pickled_by_name(name):
    assert pickle.loads(pickle.dumps(getattr(np, name))) is getattr(np, name)


def test_signatures_are_numpys():
    def shape(f):
        return [(p.name, p.kind) for p in inspect.signature(f).parameters.values()]

    differ = []
    for name in dir(numpy):
        theirs, mine = getattr(numpy, name), getattr(np, name, None)
        if name.startswith("_") or not callable(theirs) or isinstance(theirs, (type, numpy.ufunc)):
            continue
        try:
            if shape(theirs) != shape(mine):
                differ.append(name)
        except ValueError:
            continue
    assert differ == [] or NUMPY > (2, 2)  # which tell signatures of functions in C, too
    assert "device" in inspect.signature(np.asarray).parameters
    assert "correction" in inspect.signature(np.std).parameters
    assert "axis" in inspect.signature(np.ndarray.sum).parameters


def test_correction_and_ddof_exclude_each_other():
    for f in (np.std, np.var):
        with pytest.raises(ValueError, match="simultaneously"):
            f([1.0, 2, 3], ddof=1, correction=1)
    assert np.std([1.0, 2, 3], correction=1) == 1.0


# ---- Ufuncs ----

def test_ufuncs_are_ufuncs():
    assert all(isinstance(f, np.ufunc) for f in (np.add, np.matmul, np.vecdot, np.power,
                                                 np.vecmat, numpy.sqrt))
    assert not isinstance(np.sum, np.ufunc)
    assert type(np.add) is np.ufunc


@pytest.mark.parametrize("name", [n for n in dir(numpy)
                                  if isinstance(getattr(numpy, n), numpy.ufunc)])
def test_a_ufunc_says_what_numpys_says(name):
    mine, theirs = getattr(np, name), getattr(numpy, name)
    for fact in "nin nout nargs ntypes types identity signature __name__".split():
        assert getattr(mine, fact) == getattr(theirs, fact), fact
    assert repr(mine) == repr(theirs)


def test_products_take_axes_and_outputs():
    a, b = np.arange(6.0).reshape(3, 2), np.arange(6.0).reshape(2, 3)
    swapped = np.matmul(a, b, axes=[(1, 0), (1, 0), (0, 1)])
    assert swapped.tolist() == (a.T @ b.T).tolist()
    out = np.zeros(3)
    assert np.vecdot(a, a, out) is out
    assert out.tolist() == [1, 13, 41]
    assert np.vecdot(a, a, axis=0).tolist() == [20, 35]
    assert np.vecdot(a, a, axes=[0, 0, ()]).tolist() == [20, 35]
    assert np.vecdot([1, 2], [3, 4]) == 11
    assert np.vecdot(np.array([1j]), np.array([2.0])) == -2j


def test_an_output_may_stretch_the_operands_of_a_product():
    a, out = np.arange(3.0).reshape(1, 3), np.zeros((5, 4, 1))
    assert np.vecdot(a, a, out=out[..., 0]).tolist() == [[5.0] * 4] * 5
    assert out.ravel().tolist() == [5.0] * 20
    wide = np.zeros((3, 2, 2))
    np.matmul(np.eye(2), np.ones((2, 2)), out=wide)
    assert wide.tolist() == np.ones((3, 2, 2)).tolist()
    with pytest.raises(ValueError, match="matmul"):
        np.matmul(np.ones((2, 2)), np.ones((2, 1)), out=np.zeros((2, 2)))


def test_reduce_takes_its_arguments_by_position():
    a = np.arange(6).reshape(2, 3)
    assert np.add.reduce(a, 0, None, None, False, 10).tolist() == [13, 15, 17]
    mask = np.array([[True, False, True]] * 2)
    assert np.add.reduce(a, 0, None, None, False, 10, mask).tolist() == [13, 10, 17]
    assert np.maximum.reduce(a, None, None, None, True, 9).tolist() == [[9]]


@pytest.mark.parametrize("wrong", [
    lambda x: x.matmul(x.ones(3), x.ones(4)),
    lambda x: x.matmul(x.ones(()), x.ones(4)),
    lambda x: x.vecdot(x.ones(()), x.ones(4)),
    lambda x: x.vecdot(x.ones(3), x.ones(4)),
    lambda x: x.matmul.reduce(x.ones((2, 2))),
    lambda x: x.matmul.at(x.ones(2), 0, 1),
    lambda x: x.matmul.outer(x.ones(2), x.ones(2)),
    lambda x: x.sqrt.outer(x.ones(2), x.ones(2)),
    lambda x: x.matmul(x.ones(2)),
    lambda x: x.matmul(x.ones((2, 2)), x.ones((2, 2)), x.ones((2, 2)), out=x.ones((2, 2))),
    lambda x: x.astype([1, 2], float),
    lambda x: x.astype(x.ones(2), float, device="gpu"),
    lambda x: x.matrix_transpose([1, 2]),
])
def test_errors_are_numpys(wrong):
    with pytest.raises(Exception) as theirs:  # noqa: PT011 any of NumPy's
        wrong(numpy)
    with pytest.raises(Exception) as mine:  # noqa: PT011
        wrong(np)
    assert isinstance(mine.value, type(theirs.value)), mine.value


def test_a_foreign_ufunc_of_a_known_name_is_itself():
    class Foreign:
        """As a library's ufunc that is called add and subtracts."""

        __name__, nin, nout, nargs, ntypes = "add", 2, 1, 3, 1
        types, identity, signature = ["dd->d"], None, None

        def __call__(self, a, b):
            return a - b

    made = _ufuncs.make(Foreign())
    assert made(np.arange(3.0), 1.0).tolist() == [-1, 0, 1]
    assert np.add(np.arange(3.0), 1.0).tolist() == [1, 2, 3]


def test_array_ufunc_takes_ufuncs_of_both_and_nothing_else():
    a = np.arange(3)
    for add in (np.add, numpy.add):
        assert a.__array_ufunc__(add, "__call__", a, a).tolist() == [0, 2, 4]
    with pytest.raises(TypeError, match="a ufunc is expected"):
        a.__array_ufunc__(1, "__call__")


def test_made_ufuncs_are_not_kept():
    class Marked:
        pass

    marked, before = Marked(), len(_ufuncs.by_numpy)
    gone = weakref.ref(marked)
    made = np.frompyfunc(lambda x, kept=marked: x, 1, 1)
    made(np.arange(2))
    assert len(_ufuncs.by_numpy) == before
    del made, marked
    gc.collect()
    assert gone() is None


# ---- Small things ----

def test_view_as_an_array_class():
    a = np.arange(4.0)
    assert type(a.view(np.ndarray)) is np.ndarray
    assert type(a.view(type=np.ndarray)) is np.ndarray
    assert type(a.view(numpy.ndarray)) is np.ndarray
    a.view(np.ndarray)[0] = 7
    assert a[0] == 7
    assert a.view("i8", np.ndarray).dtype == np.int64


def test_view_as_a_subclass_is_numpys_and_read_only():
    a = np.arange(4.0)
    for shown in (a.view(numpy.matrix), a.view(type=np.ma.MaskedArray), a.view("i8", np.recarray)):
        assert isinstance(shown, numpy.ndarray)
        assert not shown.flags.writeable
    assert a.view(np.matrix).tolist() == [[0, 1, 2, 3]]


def test_matrix_transpose_takes_lists():
    assert np.matrix_transpose([[1, 2], [3, 4]]).tolist() == [[1, 3], [2, 4]]


def test_every_listed_name_is_there():
    assert [n for n in dir(np) if not hasattr(np, n)] == []
    assert hasattr(np, "__config__")
