# SPDX-License-Identifier: Apache-2.0
"""numpy.random's generators: NumPy's numbers and state to the bit, far and near, whatever is asked."""

import copy
import pickle
import threading

import numpy
import pytest

import braze
import braze.numpy as np
from near_mode import near_on

SIZES = [None, 0, 1, 2, 7, 24, 25, 1000, 16384, 100_003, (), (3,), (2, 0, 3), (5, 7), (300, 401), [2, 3]]
KINDS = ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"]


def both(kind="PCG64", seed=1):
    make = getattr(numpy.random, kind)
    return numpy.random.Generator(make(seed)), np.random.Generator(make(seed))


def agree(got, want):
    assert isinstance(got, np.ndarray) == isinstance(want, numpy.ndarray)
    if isinstance(want, numpy.ndarray):
        got = numpy.asarray(got)
        assert got.dtype == want.dtype and got.shape == want.shape
        assert got.tobytes() == want.tobytes()
    else:
        assert type(got) is type(want) and got == want


def same_state(a, b):
    a, b = a.bit_generator.state, b.bit_generator.state
    assert repr(a) == repr(b)


@pytest.fixture(params=["far", "near"], autouse=True)
def way(request):
    if request.param == "far":
        yield
    else:
        with near_on():
            yield


@pytest.mark.parametrize("kind", KINDS)
def test_random(kind):
    theirs, ours = both(kind)
    for size in SIZES:
        for dtype in (numpy.float64, numpy.float32, "f8", "float32"):
            agree(ours.random(size, dtype), theirs.random(size, dtype))
            same_state(ours, theirs)
        agree(ours.random(size), theirs.random(size))
        agree(ours.random(size=size, dtype=numpy.float32), theirs.random(size=size, dtype=numpy.float32))
        same_state(ours, theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_uniform(kind):
    theirs, ours = both(kind)
    ranges = [(0, 1), (-3.5, 8), (1e300, 1.1e300), (2, 2), (0.1, 0.3), (-7, 0)]
    for size in SIZES:
        for low, high in ranges:
            agree(ours.uniform(low, high, size), theirs.uniform(low, high, size))
        agree(ours.uniform(size=size), theirs.uniform(size=size))
        agree(ours.uniform(0.5, size=size), theirs.uniform(0.5, size=size))
        agree(ours.uniform(high=3, size=size), theirs.uniform(high=3, size=size))
        same_state(ours, theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_what_numpy_draws(kind):
    theirs, ours = both(kind)
    calls = [
        lambda r, n: r.standard_normal(n),
        lambda r, n: r.standard_normal(n, numpy.float32),
        lambda r, n: r.standard_normal(size=n, dtype="f8"),
        lambda r, n: r.standard_exponential(n),
        lambda r, n: r.standard_exponential(n, numpy.float32),
        lambda r, n: r.standard_exponential(n, method="inv"),
        lambda r, n: r.normal(size=n),
        lambda r, n: r.normal(-2, 0.3, n),
        lambda r, n: r.normal(1, 0, n),
        lambda r, n: r.normal(loc=0.5, size=n),
        lambda r, n: r.normal(0.5, -0.0, n),
        lambda r, n: r.exponential(size=n),
        lambda r, n: r.exponential(2.5, n),
        lambda r, n: r.exponential(scale=0, size=n),
    ]
    for n in [*SIZES, 4096, 4097]:
        for call in calls:
            outcomes = []
            for r in (theirs, ours):
                try:
                    outcomes.append(call(r, n))
                except ValueError as e:  # of a scale of -0.0
                    outcomes.append(str(e))
            agree(outcomes[1], outcomes[0])
        same_state(ours, theirs)
    for wrong in (lambda r: r.normal(0, -1, 3), lambda r: r.exponential(-1), lambda r: r.standard_normal(-1),
                  lambda r: r.standard_normal(3, int), lambda r: r.normal("a", 1)):
        for r in (theirs, ours):
            with pytest.raises((ValueError, TypeError)):
                wrong(r)
    assert numpy.isnan(float(ours.normal(numpy.nan, 1))) == numpy.isnan(theirs.normal(numpy.nan, 1))
    same_state(ours, theirs)


def test_methods_want_a_generator():
    for name in ("random", "uniform", "standard_normal", "standard_exponential", "normal", "exponential"):
        with pytest.raises((TypeError, AttributeError)):
            getattr(np.random.Generator, name)(5)
        with pytest.raises((TypeError, AttributeError)):
            getattr(np.random.Generator, name)(5, size=3)


def test_of_arrays():
    theirs, ours = both()
    low = numpy.arange(6.0)
    agree(ours.uniform(np.asarray(low), 9), theirs.uniform(low, 9))
    agree(ours.uniform(low, low + 1, (4, 6)), theirs.uniform(low, low + 1, (4, 6)))
    agree(ours.uniform(np.float64(2), np.float32(5), 30), theirs.uniform(numpy.float64(2), numpy.float32(5), 30))
    agree(ours.random(np.int64(40)), theirs.random(numpy.int64(40)))
    agree(ours.random(numpy.array([4, 5])), theirs.random(numpy.array([4, 5])))
    same_state(ours, theirs)


ERRORS = {
    "negative": lambda r: r.random(-1),
    "negative axis": lambda r: r.random((3, -1)),
    "no size": lambda r: r.random("x"),
    "no number": lambda r: r.random(2.5),
    "no type": lambda r: r.random(3, numpy.int64),
    "half": lambda r: r.random(3, dtype=numpy.float16),
    "infinite": lambda r: r.uniform(0, numpy.inf, 3),
    "too far": lambda r: r.uniform(-1e308, 1e308, 3),
    "nan": lambda r: r.uniform(0, numpy.nan, 3),
    "backwards": lambda r: r.uniform(1, 0, 3),
    "word": lambda r: r.uniform("a", 1, 3),
    "unknown": lambda r: r.random(3, wrong=1),
    "many": lambda r: r.random(3, float, None, 4),
    "uniform typed": lambda r: r.uniform(0, 1, 3, dtype=float),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    theirs, ours = both()
    outcomes = []
    for rng in (theirs, ours):
        try:
            outcomes.append(numpy.asarray(ERRORS[name](rng)).tolist())
        except Exception as e:  # noqa: BLE001
            outcomes.append((type(e), str(e).replace("braze.numpy.", "").split(" got ")[0]))
    assert type(outcomes[0]) is type(outcomes[1])
    if isinstance(outcomes[0], tuple):
        assert outcomes[0][0] is outcomes[1][0]
    else:
        assert outcomes[0] == outcomes[1]
    same_state(ours, theirs)


def test_out():
    theirs, ours = both()
    for n in (5, 20000):
        a, b = numpy.empty(n), np.empty(n)
        theirs.random(out=a)
        got = ours.random(out=b)
        assert got is b
        agree(b, a)
        host = numpy.empty(n, numpy.float32)
        assert ours.random(None, numpy.float32, host) is host
        assert host.tobytes() == theirs.random(n, numpy.float32).tobytes()
        agree(ours.random(out=np.empty((n, 2)), size=(n, 2)), theirs.random((n, 2)))
    same_state(ours, theirs)


def test_halves_of_words():
    """float32 takes half a word, and leaves the other half to the next draw, and to integers."""
    theirs, ours = both()
    lengths = [1, 1, 2, 3, 0, 5, 24, 25, 26, 1001, 8192, 8193, 40_001, 3, 65_536, 1]
    for n in lengths:
        agree(ours.random(n, numpy.float32), theirs.random(n, numpy.float32))
        same_state(ours, theirs)
        if n % 3 == 0:
            agree(ours.random(n), theirs.random(n))
            agree(ours.integers(0, 100, 3, dtype=numpy.int32), theirs.integers(0, 100, 3, dtype=numpy.int32))
            same_state(ours, theirs)


def test_drawn_when_called():
    """Lazy arrays have the numbers of the call, whatever is drawn or set before they are read."""
    theirs, ours = both()
    n = 30_000
    want = [theirs.random(n), theirs.standard_normal(3), theirs.random(n), theirs.uniform(-1, 1, n)]
    got = [ours.random(n), ours.standard_normal(3), ours.random(n), ours.uniform(-1, 1, n)]
    ours.bit_generator.state = numpy.random.PCG64(99).state
    theirs.bit_generator.state = numpy.random.PCG64(99).state
    for g, w in zip(reversed(got), reversed(want)):
        agree(g, w)
    agree(ours.random(n), theirs.random(n))


def test_in_programs():
    theirs, ours = both()
    n = 50_000
    a, b = ours.random(n), ours.random(n)
    x, y = theirs.random(n), theirs.random(n)
    assert float((a * a + b * b < 1).mean()) == float((x * x + y * y < 1).mean())
    c = ours.random((200, 300))[::-2, 1::3]
    agree(c.copy(), numpy.ascontiguousarray(theirs.random((200, 300))[::-2, 1::3]))
    a[:100] = ours.random(100)
    x[:100] = theirs.random(100)
    agree(a + 1, x + 1)


def test_parts_give_the_whole():
    whole = numpy.asarray(np.random.default_rng(3).random(100_000))
    rng = np.random.default_rng(3)
    parts = [rng.random(n) for n in (1, 30, 8191, 8192, 8193, 50_000, 25_393)]
    assert numpy.concatenate([numpy.asarray(p) for p in parts]).tobytes() == whole.tobytes()


def test_slices_give_the_whole():
    n = 6_000_011
    theirs, ours = both()
    assert numpy.array_equal(numpy.asarray(ours.random(n)), theirs.random(n))
    assert numpy.array_equal(numpy.asarray(ours.random(n, numpy.float32)), theirs.random(n, numpy.float32))
    same_state(ours, theirs)


def test_what_numpy_draws_is_counted():
    rng = np.random.default_rng(1)
    names = ("standard_normal", "normal", "standard_exponential", "exponential", "integers")
    before = braze.fallbacks()
    for name in names:
        for size in (None, 3, 30_000):
            getattr(rng, name)(*([5] if name == "integers" else []), size=size)
    rng.random(10), rng.random(), rng.random(30_000), rng.uniform(size=10)
    after = braze.fallbacks()
    for name in names:
        assert after["random." + name] - before.get("random." + name, 0) == 3, name
    for name in ("random", "uniform"):
        assert after.get("random." + name, 0) == before.get("random." + name, 0), name


def test_copies_and_children():
    theirs, ours = both()
    agree(ours.random(30_000), theirs.random(30_000))
    for twin in (pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours)):
        assert type(twin) is type(ours)
        agree(twin.random(2000), copy.deepcopy(theirs).random(2000))
        same_state(ours, theirs)
    for a, b in zip(ours.spawn(3), theirs.spawn(3)):
        agree(a.random(5000), b.random(5000))
    assert np.random.default_rng(ours) is ours
    shared = np.random.Generator(ours.bit_generator)
    agree(shared.random(9000), theirs.random(9000))
    agree(ours.random(9), theirs.random(9))
    same_state(ours, theirs)


def test_subclasses():
    class Bits(numpy.random.PCG64):
        pass

    class Rng(np.random.Generator):
        def random(self, *args, **kwargs):
            return super().random(*args, **kwargs) + 1

    theirs = numpy.random.Generator(Bits(5))
    ours = Rng(Bits(5))
    for size in (3, 100, 30_000):
        agree(ours.random(size), theirs.random(size) + 1)
        agree(ours.uniform(0, 2, size), theirs.uniform(0, 2, size))
    same_state(ours, theirs)


def test_threads_share_a_generator():
    """Each number is drawn once, whoever gets it."""
    rng = np.random.default_rng(8)
    got = []

    def work():
        for k in range(60):
            got.append(numpy.asarray(rng.random(1 + 700 * (k % 9))))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    numbers = numpy.sort(numpy.concatenate(got))
    want = numpy.sort(numpy.random.default_rng(8).random(len(numbers)))
    assert numbers.tobytes() == want.tobytes()


def test_eager_and_unfused():
    for mode in (braze.eager, braze.unfused):
        theirs, ours = both()
        with mode():
            agree(ours.random(20_000), theirs.random(20_000))
            agree(ours.uniform(1, 2, 10) * 2, theirs.uniform(1, 2, 10) * 2)


def test_watched():
    theirs, ours = both()
    with np.errstate(all="raise"):
        agree(ours.random(20_000), theirs.random(20_000))


def test_legacy():
    for n in (None, 1, 10, 1000, 100_000):
        sizes = () if n is None else (n,)
        np.random.seed(4)
        got = [np.random.rand(*sizes), np.random.randn(*sizes), np.random.random(n), np.random.randint(0, 9, n)]
        numpy.random.seed(4)
        want = [numpy.random.rand(*sizes), numpy.random.randn(*sizes), numpy.random.random(n),
                numpy.random.randint(0, 9, n)]
        for g, w in zip(got, want):
            if isinstance(w, numpy.ndarray):
                agree(g, w)
            else:
                assert g == w
