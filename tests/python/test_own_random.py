# SPDX-License-Identifier: Apache-2.0
"""braze.random: known answers, the same bits however they are made, and what statistics say of them.

Seeds are fixed, so each test gives the same answer in every run.
"""

import copy
import math
import os
import pickle
import subprocess
import sys

import numpy
import pytest

import braze
import braze.numpy as np
import braze.random
from braze import _core
from braze.random import Generator
from harness import Daemon
from near_mode import near_on
from on_device import DEVICE

N = 200_000
DRAWS = {
    "random": lambda g, size: g.random(size),
    "random32": lambda g, size: g.random(size, numpy.float32),
    "uniform": lambda g, size: g.uniform(-2, 5, size),
    "normal": lambda g, size: g.normal(3, 0.5, size),
    "normal32": lambda g, size: g.normal(3, 0.5, size, numpy.float32),
    "standard_normal": lambda g, size: g.standard_normal(size),
    "exponential": lambda g, size: g.exponential(2.5, size),
    "integers": lambda g, size: g.integers(-5, 10, size),
    "wide": lambda g, size: g.integers(-(1 << 62), 1 << 62, size),
}


def host(x):
    return numpy.asarray(x)


# ---- The generator ----

@pytest.mark.parametrize("counter, key, want", [
    ((0, 0), 0, (0xE169C58D6627E8D5, 0x9B00DBD8BC57AC4C)),
    (((1 << 64) - 1, (1 << 64) - 1), (1 << 64) - 1, (0x41C83B0E408F276D, 0x6D5451FDA20BC7C6)),
    ((0x85A308D3243F6A88, 0x0370734413198A2E), 0x299F31D0A4093822,
     (0x94FDCCEBD16CFE09, 0x24126EA15001E420)),
])
def test_known_answers(counter, key, want):
    assert _core.philox(*counter, key) == want


def words(key, draw, n):
    """Word i by the rule in docs/python.md."""
    return [_core.philox(i // 16 * 8 + i % 8, draw, key)[i // 8 % 2] for i in range(n)]


def test_elements_follow_from_their_places():
    g = Generator(77)
    g.draw = 5
    got = host(g.random(1000))
    assert g.draw == 6
    assert got.tolist() == [(w >> 11) * 2.0**-53 for w in words(77, 5, 1000)]
    got = host(g.integers(0, 1000, 1000))
    assert got.tolist() == [w * 1000 >> 64 for w in words(77, 6, 1000)]
    got = host(g.random(1000, numpy.float32))
    assert got.tolist() == [(w >> 40) * 2.0**-24 for w in words(77, 7, 1000)]
    got = host(g.exponential(size=1000))
    want = [-math.log(((w >> 11) + 1) * 2.0**-53) for w in words(77, 8, 1000)]
    numpy.testing.assert_allclose(got, want, rtol=1e-14)


@pytest.mark.parametrize("name", DRAWS)
def test_same_far_and_near_and_in_any_shape(name):
    draw = DRAWS[name]
    far = host(draw(Generator(5), N))
    with near_on():
        for n in (1, 2, 15, 16, 17, 100, 5000):
            before = braze.counters()["near"]
            x = draw(Generator(5), n)
            assert DEVICE or braze.counters()["near"] > before
            assert host(x).tobytes() == far[:n].tobytes()
        assert host(draw(Generator(5), N)).tobytes() == far.tobytes()
    for shape in ((N,), (2, N // 2), (N // 50, 1, 50)):
        x = host(draw(Generator(5), shape))
        assert x.shape == shape and x.tobytes() == far.tobytes()
    assert host(draw(Generator(5), 0)).shape == (0,)
    one = draw(Generator(5), None)
    assert type(one) in (float, int) and one == far[0]
    assert host(draw(Generator(5), ())).shape == ()


PROGRAM = """
import hashlib
import numpy
import braze.random
g = braze.random.Generator(9)
h = hashlib.sha256()
for x in (g.random(300_000), g.normal(size=300_000), g.integers(0, 7, 300_000), g.exponential(size=100_000)):
    h.update(numpy.ascontiguousarray(x).tobytes())
print(h.hexdigest())
"""


def test_same_on_any_number_of_threads():
    outcomes = set()
    for threads in (1, 2, 5):
        with Daemon(threads=threads) as daemon:
            env = {**os.environ, "BRAZE_SOCKET": daemon.socket, "BRAZE_DEVICE": ""}
            r = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True,
                               timeout=240)
        assert r.returncode == 0, r.stderr
        outcomes.add(r.stdout)
    assert len(outcomes) == 1


def test_seeds():
    assert Generator(3).key == 3 and Generator(numpy.uint64(3)).key == 3
    assert Generator((1 << 64) - 1).key == (1 << 64) - 1
    assert Generator(1 << 64).key != Generator(1 << 65).key
    assert Generator([1, 2]).key == Generator((1, 2)).key != Generator([2, 1]).key
    assert Generator().key != Generator().key
    with pytest.raises(ValueError):
        Generator(-1)
    with pytest.raises((TypeError, ValueError)):
        Generator("seed")
    braze.random.seed(12)
    a = host(braze.random.random(10))
    assert a.tolist() == host(Generator(12).random(10)).tolist()
    assert host(braze.random.normal(size=10)).tolist() != a.tolist()


def test_copies_and_children():
    g = Generator(4)
    g.random(10)
    for twin in (copy.copy(g), copy.deepcopy(g), pickle.loads(pickle.dumps(g))):
        assert type(twin) is Generator and (twin.key, twin.draw) == (g.key, g.draw)
    children = g.spawn(3) + g.spawn(2)
    assert len({c.key for c in children}) == 5
    assert len({float(c.random()) for c in children}) == 5
    again = Generator(4)
    again.random(10)
    assert [c.key for c in again.spawn(3)] == [c.key for c in children[:3]]
    assert repr(Generator(255)) == "braze.random.Generator(key=0x00000000000000ff, draw=0)"


def test_draws_differ():
    g = Generator(4)
    drawn = [host(g.random(100)).tobytes() for _ in range(50)]
    assert len(set(drawn)) == 50


# ---- Arguments ----

@pytest.mark.parametrize("call, error", [
    (lambda g: g.random(-1), ValueError),
    (lambda g: g.random((2, -1)), ValueError),
    (lambda g: g.random("x"), (TypeError, ValueError)),
    (lambda g: g.random(2.5), TypeError),
    (lambda g: g.random(2, numpy.int64), TypeError),
    (lambda g: g.random(2, numpy.float16), TypeError),
    (lambda g: g.random(1 << 62), (ValueError, MemoryError, braze.BrazeError)),
    (lambda g: g.uniform(2, 1, 3), ValueError),
    (lambda g: g.uniform(0, math.inf, 3), OverflowError),
    (lambda g: g.normal(0, -1, 3), ValueError),
    (lambda g: g.normal(math.nan, 1, 3), OverflowError),
    (lambda g: g.exponential(-1, 3), ValueError),
    (lambda g: g.integers(3, 3), ValueError),
    (lambda g: g.integers(0), ValueError),
    (lambda g: g.integers(0, 300, 3, numpy.int8), ValueError),
    (lambda g: g.integers(-1, 3, 3, numpy.uint64), ValueError),
    (lambda g: g.integers(0, 3, 3, float), TypeError),
    (lambda g: g.integers(0.5, 3), TypeError),
    (lambda g: g.choice(0, 3), ValueError),
    (lambda g: g.choice(3, 4, replace=False), ValueError),
    (lambda g: g.choice(3, 2, p=[0.5, 0.5]), ValueError),
    (lambda g: g.choice(2, 2, p=[0.5, 0.6]), ValueError),
    (lambda g: g.choice(2, 2, p=[1.5, -0.5]), ValueError),
    (lambda g: g.choice(3, 2, replace=False, p=[1, 0, 0]), ValueError),
    (lambda g: g.permutation(-1), ValueError),
])
def test_errors(call, error):
    g = Generator(1)
    with pytest.raises(error):
        call(g)


def test_a_failed_draw_does_not_count():
    g = Generator(1)
    with pytest.raises(ValueError):
        g.random(-1)
    assert g.draw == 0


def test_integer_types():
    g = Generator(6)
    for t in "bhilBHIL":
        info = numpy.iinfo(t)
        x = host(g.integers(info.min, info.max, 2000, t, endpoint=True))
        assert x.dtype == numpy.dtype(t)
        assert float(x.max()) > info.max * 0.9 and float(x.min()) <= info.min * 0.9 + (0.1 * info.max)
        y = host(g.integers(3, 5, 200, t))
        assert set(y.tolist()) == {3, 4} and y.dtype == numpy.dtype(t)
    assert set(host(g.integers(4, size=300)).tolist()) == {0, 1, 2, 3}
    assert type(g.integers(10)) is int
    assert host(g.integers(1 << 63, (1 << 64) - 1, 50, numpy.uint64)).min() >= 1 << 63


def test_of_arrays():
    g, h = Generator(6), Generator(6)
    loc, scale = numpy.arange(3.0), numpy.array([[1.0], [2.0]])
    got = host(g.normal(loc, scale))
    assert got.shape == (2, 3)
    assert got.tobytes() == (loc + scale * host(h.standard_normal((2, 3)))).tobytes()
    assert host(g.uniform(np.asarray(loc), 10, (5, 3))).shape == (5, 3)
    assert host(g.exponential(loc + 1)).shape == (3,)


def test_permutations():
    g = Generator(2)
    for n in (0, 1, 2, 10, 5000):
        order = host(g.permutation(n))
        assert order.dtype == numpy.int64 and sorted(order.tolist()) == list(range(n))
    x = numpy.arange(24).reshape(4, 6)
    rows = host(g.permutation(x))
    assert sorted(map(tuple, rows.tolist())) == sorted(map(tuple, x.tolist()))
    columns = host(g.permutation(np.asarray(x), axis=1))
    assert sorted(map(tuple, columns.T.tolist())) == sorted(map(tuple, x.T.tolist()))
    y = np.arange(100)
    g.shuffle(y)
    assert host(y).tolist() != list(range(100)) and sorted(host(y).tolist()) == list(range(100))
    # By the words' order, of equal words the earlier first.
    g = Generator(3)
    assert host(g.permutation(300)).tolist() == sorted(range(300), key=words(3, 0, 300).__getitem__)


def test_choices():
    g = Generator(2)
    assert g.choice(5) in range(5)
    assert host(g.choice(5, (3, 4))).shape == (3, 4)
    assert sorted(host(g.choice(7, 7, replace=False)).tolist()) == list(range(7))
    assert set(host(g.choice([10, 20, 30], 100)).tolist()) == {10, 20, 30}
    assert host(g.choice(numpy.arange(12).reshape(3, 4), 2, axis=1)).shape == (3, 2)
    counts = numpy.bincount(host(g.choice(3, 100_000, p=[0.2, 0, 0.8])), minlength=3)
    assert counts[1] == 0 and abs(counts[0] / 100_000 - 0.2) < 0.01
    assert set(host(g.choice(4, 2, replace=False, p=[0.5, 0, 0.5, 0])).tolist()) == {0, 2}


# ---- Statistics ----

def kolmogorov(x, distribution):
    """Largest distance of the sample's distribution, times sqrt(n): above 1.95 once in 1000."""
    x = numpy.sort(x)
    n = len(x)
    want = distribution(x)
    steps = numpy.arange(n + 1) / n
    return math.sqrt(n) * max((steps[1:] - want).max(), (want - steps[:-1]).max())


def chi_square(counts, expected):
    """In units of its deviation from its mean: beyond 4 less than once in 10 000."""
    freedom = len(counts) - 1
    return (float(((counts - expected) ** 2 / expected).sum()) - freedom) / math.sqrt(2 * freedom)


def normal_cdf(x):
    return numpy.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in x])


DISTRIBUTIONS = {
    "random": (lambda g: g.random(N), lambda x: x, (0.5, 1 / 12, 0, 1.8)),
    "random32": (lambda g: g.random(N, numpy.float32), lambda x: x, (0.5, 1 / 12, 0, 1.8)),
    "normal": (lambda g: g.normal(size=N), normal_cdf, (0, 1, 0, 3)),
    "normal32": (lambda g: g.normal(size=N, dtype=numpy.float32), normal_cdf, (0, 1, 0, 3)),
    "exponential": (lambda g: g.exponential(size=N), lambda x: 1 - numpy.exp(-x), (1, 1, 2, 9)),
}


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions(name, seed):
    draw, cdf, (mean, variance, skew, kurtosis) = DISTRIBUTIONS[name]
    x = host(draw(Generator(seed))).astype(float)
    z = (x - mean) / math.sqrt(variance)
    assert abs(z.mean()) < 4 / math.sqrt(N)
    assert abs((z**2).mean() - 1) < 4 * math.sqrt((kurtosis - 1) / N)
    assert abs((z**3).mean() - skew) < 0.35
    assert abs((z**4).mean() - kurtosis) < 0.05 * kurtosis**2
    assert kolmogorov(x, cdf) < 1.95
    u = cdf(x)
    counts = numpy.bincount((u * 1000).astype(int).clip(0, 999), minlength=1000)
    assert abs(chi_square(counts, N / 1000)) < 4
    for lag in (1, 2, 7, 8, 9, 15, 16, 17, 1000):  # what blocks and groups could share
        assert abs((z[lag:] * z[:-lag]).mean()) < 4.5 / math.sqrt(N - lag), lag
        pairs = (u[lag:] * 16).astype(int).clip(0, 15) * 16 + (u[:-lag] * 16).astype(int).clip(0, 15)
        assert abs(chi_square(numpy.bincount(pairs, minlength=256), (N - lag) / 256)) < 4.5, lag


def test_bits_are_even():
    x = host(Generator(5)._draw("random.words", N, numpy.dtype(numpy.uint64), 0, 0))
    for bit in range(64):
        ones = int((x >> numpy.uint64(bit) & numpy.uint64(1)).sum())
        assert abs(ones - N / 2) < 4.5 * math.sqrt(N) / 2, bit


@pytest.mark.parametrize("span", [2, 3, 10, 1000, 3 << 30])
def test_integers_are_even(span):
    x = host(Generator(8).integers(0, span, N))
    assert x.min() >= 0 and x.max() < span
    counts = numpy.bincount(x * min(span, 1000) // span, minlength=min(span, 1000))
    assert abs(chi_square(counts, N / len(counts))) < 4


def test_neighbouring_keys_and_draws_do_not_correlate():
    drawn = [host(Generator(k).random(20_000)) - 0.5 for k in range(20)]
    g = Generator(0)
    g.random(1)
    drawn += [host(g.random(20_000)) - 0.5 for _ in range(20)]
    table = numpy.corrcoef(numpy.array(drawn))
    assert abs(table - numpy.eye(40)).max() < 4.9 / math.sqrt(20_000)


def test_permutations_are_even():
    g = Generator(1)
    counts = numpy.zeros(24)
    places = {}
    for _ in range(2400):
        order = tuple(host(g.permutation(4)).tolist())
        counts[places.setdefault(order, len(places))] += 1
    assert len(places) == 24
    assert abs(chi_square(counts, 100)) < 4


def test_normals_reach_out():
    """Tails: as many beyond 3 and 4 deviations as there should be."""
    x = abs(host(Generator(1).normal(size=2_000_000)))
    for z in (3, 4):
        expected = 2_000_000 * math.erfc(z / math.sqrt(2))
        assert abs(int((x > z).sum()) - expected) < 4.5 * math.sqrt(expected)
