# SPDX-License-Identifier: Apache-2.0
"""NumPy's whole namespace under braze's name: imports, names, pickles, generators, files."""

import copy
import importlib
import inspect
import pickle
import subprocess
import sys

import numpy
import pytest

import braze
import braze.numpy as np

MODULES = (
    "linalg random fft ma ma.extras testing lib lib.stride_tricks lib.format lib.scimath "
    "lib.recfunctions lib.mixins typing polynomial polynomial.chebyshev polynomial.polynomial "
    "strings char exceptions dtypes rec ctypeslib random.mtrand version core.multiarray"
).split()


@pytest.mark.parametrize("name", MODULES)
def test_a_submodule_is_imported_and_is_the_attribute(name):
    module = importlib.import_module(f"braze.numpy.{name}")
    found = np
    for part in name.split("."):
        found = getattr(found, part)
    assert found is module
    assert module.__name__ == f"braze.numpy.{name}"


def test_import_statements_find_submodules_and_their_names():
    import braze.numpy.lib.stride_tricks as tricks
    import braze.numpy.linalg
    from braze.numpy import fft
    from braze.numpy.linalg import norm
    from braze.numpy.random import default_rng

    assert type(norm(np.arange(3.0))) is np.ndarray
    assert type(tricks.sliding_window_view(np.arange(4), 2)) is np.ndarray
    assert type(fft.fft(np.arange(4.0))) is np.ndarray
    assert type(default_rng(1).normal(size=3)) is np.ndarray
    assert braze.numpy.linalg.norm is norm


def test_a_module_imported_first_of_all_brings_its_parents():
    code = "from braze.numpy.linalg import norm; import braze.numpy as np; assert np.linalg.norm is norm"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_numpy_leaves_for_later_is_left_for_later():
    code = """
import sys, numpy
before = set(sys.modules)
import braze.numpy as np
more = {m for m in set(sys.modules) - before if m.split(".")[0] not in ("braze", "importlib")}
assert more <= {"gc", "threading"}, more
before = set(sys.modules)
np.testing.assert_equal(np.random.default_rng(1).random(3).shape, (3,))
assert {"numpy.testing", "braze.numpy._testing", "braze.numpy._random"} <= set(sys.modules) - before
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_names_that_numpy_does_not_list_are_not_listed():
    assert set(dir(np)) - set(dir(numpy)) == {"empty_shared"}
    assert hasattr(np, "matlib") and hasattr(np, "distutils") == hasattr(numpy, "distutils")


@pytest.mark.parametrize("name", ["", "linalg", "random", "fft"])
def test_a_name_is_found_as_quickly_as_python_can(name):
    # Python looks into ordinary modules without a __getattr__ by place: three times as fast.
    module = getattr(np, name) if name else np
    dir(module)
    assert type(module) is type(sys) and "__getattr__" not in vars(module)


def test_a_module_that_is_left_for_later_is_one_whoever_asks():
    code = """
import sys
import braze.numpy as np
later = np.random
assert "numpy.random" not in sys.modules and "braze.numpy.random" not in sys.modules
assert not hasattr(later, "__nonsense__") and "numpy.random" not in sys.modules
import braze.numpy.random
assert np.random is later is sys.modules["braze.numpy.random"] and later.__spec__.name == "braze.numpy.random"
assert np.random.Generator is later.Generator and later.__all__ == sys.modules["numpy.random"].__all__
assert "numpy.random" in repr(later) and repr(np.ma).startswith("<module 'braze.numpy.ma'")
assert "numpy.ma" not in sys.modules
from braze.numpy.ma import extras
assert np.ma.extras is extras and np.matlib.zeros is sys.modules["braze.numpy.matlib"].zeros
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_threads_that_ask_first_get_the_same():
    code = """
import sys, threading
import braze.numpy as np
sys.setswitchinterval(1e-5)
together, got = threading.Barrier(8), []
def ask():
    together.wait()
    got.append((np.random.default_rng, np.random.Generator, np.testing.assert_equal))
threads = [threading.Thread(target=ask) for _ in range(8)]
for t in threads: t.start()
for t in threads: t.join()
assert len(set(got)) == 1 and got[0][1].__module__ == "braze.numpy.random", got
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_numpy_has_not_is_not_found():
    with pytest.raises(ModuleNotFoundError, match="braze.numpy.nonsense"):
        importlib.import_module("braze.numpy.nonsense")
    with pytest.raises(ImportError, match="nonsense"):
        exec("from braze.numpy.linalg import nonsense", {})
    with pytest.raises(AttributeError, match="braze.numpy.linalg"):
        np.linalg.nonsense
    with pytest.raises(AttributeError, match="braze.numpy"):
        np.nonsense
    assert not hasattr(np.linalg, "__path__") or np.linalg.__path__ == []


def test_star_import_gives_numpys_names_and_no_more():
    space = {}
    exec("from braze.numpy import *", space)
    del space["__builtins__"]
    assert set(space) == set(numpy.__all__) == set(np.__all__)
    assert space["sort"] is np.sort and space["linalg"] is np.linalg


def test_every_listed_name_can_be_got():
    assert set(dir(numpy)) - {"__getattr__"} <= set(dir(np))
    for name in dir(np):
        getattr(np, name)
    for name in "linalg random fft ma testing lib polynomial strings char".split():
        for inner in dir(getattr(np, name)):
            getattr(getattr(np, name), inner)


PICKLED = (
    "sort median cumsum concatenate sum add load vectorize concat linalg.norm fft.fft "
    "random.rand random.default_rng random.shuffle random.Generator lib.stride_tricks.as_strided "
    "polynomial.polynomial.polyval strings.upper char.upper strings.add ma.masked_where "
    "testing.assert_equal testing.assert_raises emath.sqrt"
).split()


@pytest.mark.parametrize("name", PICKLED)
def test_functions_pickle_by_their_name(name):
    found = np
    for part in name.split("."):
        found = getattr(found, part)
    assert pickle.loads(pickle.dumps(found)) is found


POOL = """
import multiprocessing
import braze.numpy as np
if __name__ == "__main__":
    for how in "spawn", "fork":
        with multiprocessing.get_context(how).Pool(1) as pool:
            made = pool.map(np.sort, [np.array([3, 1, 2]), np.array([2.5, 0.5])])
        assert [type(m) for m in made] == [np.ndarray] * 2
        assert [m.tolist() for m in made] == [[1, 2, 3], [0.5, 2.5]]
"""


def test_a_pool_maps_a_function_that_numpy_runs(tmp_path):
    (tmp_path / "pool.py").write_text(POOL)
    subprocess.run([sys.executable, tmp_path / "pool.py"], check=True, timeout=120)


def test_annotations_of_numpy_typing():
    import braze.numpy.typing as npt

    assert npt.NDArray[np.float64] == numpy.typing.NDArray[numpy.float64]
    assert npt.ArrayLike is numpy.typing.ArrayLike


def test_functions_keep_their_signatures_and_texts():
    assert inspect.signature(np.linalg.norm) == inspect.signature(numpy.linalg.norm)
    assert np.linalg.norm.__doc__ == numpy.linalg.norm.__doc__
    assert np.linalg.norm.__module__ == "braze.numpy.linalg"


# ---- Generators: NumPy's streams to the bit ----


def same(mine, theirs):
    if isinstance(theirs, (numpy.ndarray, numpy.generic)) and theirs.dtype.kind != "O":
        assert type(mine) is np.ndarray, type(mine)
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
        assert numpy.asarray(mine).tobytes() == numpy.asarray(theirs).tobytes()
    else:
        assert type(mine) is type(theirs) and mine == theirs


DRAWS = {
    "random": [(), (3,), ((2, 2), "f4")],
    "integers": [(10,), (10, 20, 5)],
    "standard_normal": [(4,)],
    "standard_exponential": [(4,)],
    "standard_gamma": [(2.0, 4)],
    "normal": [(0.0, 1.0, 5), ()],
    "uniform": [(0, 1, 5)],
    "choice": [(10, 3), ([5, 6, 7], 2), (5, 2, False, [0.1, 0.2, 0.3, 0.2, 0.2])],
    "permutation": [(5,), ([3, 4, 5],)],
    "permuted": [([[1, 2, 3], [4, 5, 6]],)],
    "multivariate_normal": [([0.0, 1.0], [[2.0, 0.5], [0.5, 1.0]], 3)],
    "multinomial": [(20, [0.2, 0.3, 0.5])],
    "dirichlet": [([1.0, 2.0, 3.0], 2)],
    "poisson": [(3.0, 4)],
    "bytes": [(5,)],
    "beta": [(1.0, 2.0, 3)],
    "gamma": [(2.0, 1.0, 3)],
    "binomial": [(10, 0.5, 3)],
    "multivariate_hypergeometric": [([10, 20, 30], 5)],
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_generators_draws_are_numpys_to_the_bit(name):
    mine, theirs = np.random.default_rng(7), numpy.random.default_rng(7)
    for arguments in DRAWS[name]:
        same(getattr(mine, name)(*arguments), getattr(theirs, name)(*arguments))
    same(mine.random(3), theirs.random(3))


LEGACY = {
    "rand": [(3,), ()], "randn": [(2, 2), ()], "randint": [(10,), (0, 10, 5)],
    "random_sample": [(4,)], "standard_normal": [(3,)], "normal": [(0.0, 1.0, 3)],
    "choice": [(10, 3), ([5, 6, 7], 2)], "permutation": [(5,)], "uniform": [(0, 1, 3)],
    "multivariate_normal": [([0.0, 1.0], [[2.0, 0.5], [0.5, 1.0]], 3)], "tomaxint": [(2,)],
    "dirichlet": [([1.0, 2.0], 2)], "random_integers": [], "bytes": [(4,)],
}


@pytest.mark.parametrize("name", LEGACY)
def test_a_random_states_draws_are_numpys_to_the_bit(name):
    assert np.random.RandomState is np.random.mtrand.RandomState
    mine, theirs = np.random.RandomState(7), numpy.random.RandomState(7)
    for arguments in LEGACY[name]:
        same(getattr(mine, name)(*arguments), getattr(theirs, name)(*arguments))
    same(mine.standard_normal(3), theirs.standard_normal(3))  # of pairs one is kept
    same(mine.standard_normal(3), theirs.standard_normal(3))


def test_every_method_of_a_generator_is_there():
    for name in ("Generator", "RandomState"):
        mine, theirs = getattr(np.random, name), getattr(numpy.random, name)
        for method in dir(theirs):
            assert hasattr(mine, method), method
            if callable(getattr(theirs, method)) and not method.startswith("_"):
                assert getattr(mine, method) is not getattr(theirs, method) or method in (
                    "spawn",), method


def test_default_rng_takes_what_numpys_takes():
    rng = np.random.default_rng(1)
    assert np.random.default_rng(rng) is rng
    assert isinstance(rng, np.random.Generator)
    theirs = numpy.random.default_rng(5)
    mine = np.random.default_rng(theirs)  # the same stream
    assert isinstance(mine, np.random.Generator)
    expect = numpy.random.default_rng(5).random(4)
    same(mine.random(2), expect[:2])
    assert theirs.random(2).tolist() == expect[2:].tolist()
    same(np.random.default_rng(np.arange(3)).random(2), numpy.random.default_rng([0, 1, 2]).random(2))
    same(np.random.default_rng(np.arange(3).sum()).random(2), numpy.random.default_rng(3).random(2))
    same(np.random.default_rng(np.random.RandomState(2)).random(2),
         numpy.random.default_rng(numpy.random.RandomState(2)).random(2))


def test_generators_are_made_spawned_copied_and_pickled():
    mine = np.random.Generator(np.random.PCG64(3))
    theirs = numpy.random.Generator(numpy.random.PCG64(3))
    for a, b in zip(mine.spawn(2), theirs.spawn(2), strict=True):
        assert type(a) is np.random.Generator
        same(a.normal(size=3), b.normal(size=3))
    for other in (pickle.loads(pickle.dumps(mine)), copy.deepcopy(mine)):
        assert type(other) is np.random.Generator
        same(other.random(2), copy.deepcopy(theirs).random(2))
    same(mine.random(2), theirs.random(2))
    state, plain = np.random.RandomState(3), numpy.random.RandomState(3)
    same(state.randn(3), plain.randn(3))
    again = pickle.loads(pickle.dumps(state))
    assert type(again) is np.random.RandomState
    same(again.randn(3), copy.deepcopy(plain).randn(3))
    state.set_state(again.get_state())
    assert repr(mine).startswith("Generator(PCG64)")


def test_draws_into_an_array_by_keyword_and_by_position():
    mine, theirs = np.random.default_rng(3), numpy.random.default_rng(3)
    for name, arguments in (("random", (3, "f8")), ("standard_normal", (3, "f8")),
                            ("standard_gamma", (2.0, 3, "f8")),
                            ("standard_exponential", (3, "f8", "zig"))):
        out, plain = np.zeros(3), numpy.zeros(3)
        assert getattr(mine, name)(*arguments, out) is out
        same(out, getattr(theirs, name)(*arguments, plain))
    out = np.zeros(3)
    assert mine.random(out=out) is out
    same(out, theirs.random(3))


def test_shuffle_works_in_place_on_arrays_and_on_lists():
    for make in (lambda n: list(range(6)), lambda n: n.arange(6), lambda n: n.arange(6).reshape(3, 2)):
        for mine, theirs in ((np.random.default_rng(3), numpy.random.default_rng(3)),
                             (np.random.RandomState(3), numpy.random.RandomState(3)),
                             (np.random, numpy.random)):
            a, b = make(np), make(numpy)
            for seeded in (np.random, numpy.random):
                seeded.seed(4)
            if theirs is numpy.random:
                mine.shuffle(a)
                numpy.random.seed(4)
                theirs.shuffle(b)
            else:
                mine.shuffle(a)
                theirs.shuffle(b)
            assert (a if isinstance(a, list) else a.tolist()) == (
                b if isinstance(b, list) else b.tolist())
    a, b = np.arange(6).reshape(2, 3), numpy.arange(6).reshape(2, 3)
    np.random.default_rng(1).shuffle(a, axis=1)
    numpy.random.default_rng(1).shuffle(b, axis=1)
    assert a.tolist() == b.tolist()


# ---- Files and functions of functions ----


def test_load_gives_our_arrays_from_both_kinds_of_file(tmp_path):
    np.save(tmp_path / "one.npy", np.arange(3.0))
    np.savez(tmp_path / "two.npz", x=np.arange(4), y=np.ones((2, 2)))
    same(np.load(tmp_path / "one.npy"), numpy.arange(3.0))
    with np.load(tmp_path / "two.npz") as archive:
        assert isinstance(archive, np.lib.npyio.NpzFile)
        assert sorted(archive) == ["x", "y"]
        same(archive["x"], numpy.arange(4))
        same(archive.f.y, numpy.ones((2, 2)))
        assert {k: type(v) for k, v in archive.items()} == {"x": np.ndarray, "y": np.ndarray}


def test_vectorize_gives_our_arrays():
    same(np.vectorize(lambda x, y: x + y)(np.arange(3), 1), numpy.arange(1, 4))

    @np.vectorize
    def double(x):
        return 2 * x

    same(double(np.arange(3)), 2 * numpy.arange(3))


def test_assertions_of_numpy_testing_know_our_arrays():
    t = np.testing
    t.assert_equal(np.arange(3), np.arange(3))
    t.assert_equal(np.arange(3).sum(), 3)
    t.assert_equal({"a": [np.arange(2)], "b": np.float64(1)}, {"a": [numpy.arange(2)], "b": 1})
    t.assert_array_equal(np.arange(3), [0, 1, 2], strict=False)
    t.assert_allclose(np.arange(3.0), [0, 1, 2], rtol=np.array(1e-7)[()])
    t.assert_almost_equal(np.ones(2), [1, 1])
    t.assert_approx_equal(np.ones(2).sum(), 2)
    t.assert_array_almost_equal(np.ones(2), [1, 1])
    t.assert_array_almost_equal_nulp(np.ones(2), np.ones(2))
    t.assert_array_less(np.zeros(2), np.ones(2))
    same(t.assert_array_max_ulp(np.ones(2), np.ones(2)),
         numpy.testing.assert_array_max_ulp(numpy.ones(2), numpy.ones(2)))
    t.assert_(np.array(True))
    with t.assert_raises(ValueError):
        np.zeros(2) + np.zeros(3)
    t.assert_raises(ValueError, np.add, np.zeros(2), np.zeros(3))
    for wrong in (lambda: t.assert_equal(np.arange(3), np.arange(1, 4)),
                  lambda: t.assert_equal([np.arange(3).sum()], [4]),
                  lambda: t.assert_allclose(np.ones(2), 2),
                  lambda: t.assert_array_equal(np.arange(3), np.arange(3.0), strict=True),
                  lambda: t.assert_array_less(np.ones(2), np.ones(2)),
                  lambda: t.assert_(np.array(False))):
        with pytest.raises(AssertionError):
            wrong()
    # NumPy's own, imported by a test that was not changed, too, where scalars are compared.
    numpy.testing.assert_equal(np.arange(3).sum(), 3)
