# SPDX-License-Identifier: Apache-2.0
"""How large an operation may be that is computed in its call: it depends on how much work
the program does between two reads and how many threads it has (two here), and on nothing else.

Each test begins with a new session, so with the low bound."""

import numpy
import pytest

import braze
import braze.numpy as np
from near_mode import near_count, near_on
from on_device import DEVICE

pytestmark = pytest.mark.skipif(DEVICE, reason="what is computed lies on the device")

N = 100_000  # elements whose sum is too much work for the low bound, and little for a trip
CALM = 4  # stretches before the bound rises for the first time


@pytest.fixture(autouse=True)
def session():
    with near_on():
        yield


def arrays(*seeds, n=N):
    return [np.asarray(numpy.random.default_rng(seed).standard_normal(n)) for seed in seeds]


def nears(work):
    """How many operations work() computed near."""
    before = near_count()
    work()
    return near_count() - before


def stretches(work, count):
    """The same of each of `count` repetitions, and of all trips."""
    return [nears(work) for _ in range(count)]


def risen(a, b):
    return nears(lambda: braze.wait(a + b)) == 1


def rise(a, b, wanted=CALM):
    """One sum a stretch until it is near; how many were far."""
    for far in range(4 * wanted):
        if risen(a, b):
            return far
    raise AssertionError("the bound did not rise")


@pytest.mark.parametrize("read", [
    braze.wait, numpy.asarray, lambda x: float(x[N // 2]), lambda x: x.tolist()],
    ids=["wait", "asarray", "element", "list"])
def test_it_rises_where_each_result_is_read(read):
    a, b = arrays(1, 2)
    assert stretches(lambda: read(a + b), 8) == [0] * CALM + [1] * 4
    assert numpy.array_equal(a + b, numpy.asarray(a) + numpy.asarray(b))


def test_memory_alone_and_writes_to_it_are_a_stretch_as_well():
    x, = arrays(1, n=N // 10)

    def repeated():
        out = np.empty(N)
        out[:N // 10] = x
        out[N // 10:].reshape(N // 10, 9)[...] = x.reshape(-1, 1)
        braze.wait(out)
        return out

    assert stretches(repeated, 8) == [0] * CALM + [3] * 4
    assert numpy.array_equal(repeated(), numpy.concatenate([x, numpy.repeat(x, 9)]))


def test_what_is_updated_where_it_lies_takes_half():
    c, d = arrays(1, 2, n=1_040_000)
    want = numpy.asarray(c) * 1.5

    def update():
        nonlocal c
        c += 1.0
        braze.wait(c)

    assert stretches(update, 2) == [0] * 2
    rise(*arrays(3, 4))
    assert stretches(update, 4) == [1] * 4
    # A function's work is its own, and half of the largest counts.
    assert nears(lambda: braze.wait(np.sinh(d))) == 0
    c *= 1.5
    assert numpy.allclose(c, want + 9)


@pytest.mark.parametrize(("n", "near"), [(300_000, 1), (1_040_000, 1), (1_060_000, 0)])
def test_the_bound_rises_by_what_an_update_takes_where_it_lies(n, near):
    c, d = arrays(1, 2, n=n)
    want = numpy.asarray(c) + 10 + 5 * numpy.asarray(d)

    def update():
        nonlocal c
        c += 1.0
        braze.wait(c)

    # The first falls from the bound that a session begins with.
    counts = stretches(update, 10)
    assert counts[-2:] == [near] * 2 and counts[:CALM] == [0] * CALM

    # An array as an operand, and what is told of one is not told of what follows it.
    def another():
        nonlocal c
        c += d
        braze.wait(c)

    assert stretches(another, 5) == [near] * 5
    assert numpy.allclose(c, want)


def test_what_follows_an_update_is_told_by_itself():
    c, a, b = arrays(1, 2, 3, n=900_000)

    def update():
        nonlocal c
        c += 1.0
        braze.wait(c, a + b)

    assert sum(stretches(update, 12)) == 0  # of 90 and 180 us, with two threads, half of the larger are a trip's
    assert numpy.allclose(a + b, numpy.asarray(a) + numpy.asarray(b))


def sieve(m, n):
    prime = m.ones(n + 1, bool)
    prime[:2] = False
    for k in range(2, int(n**0.5) + 1):
        if prime[k]:
            prime[k * k::k] = False
    return m.nonzero(prime)[0]


def test_elements_apart_that_become_a_number_are_near_by_what_storing_them_takes():
    want = sieve(numpy, 300_000)
    with near_on(first=True):
        assert numpy.array_equal(sieve(np, 300_000), want)
        before = braze.counters()["round_trips"]
        prime = np.ones(300_001, bool)
        for k in range(2, 548):
            if prime[k]:
                prime[k * k::k] = False
        assert braze.counters()["round_trips"] == before


def test_one_that_is_long_is_no_fall_where_nothing_was_near_for_the_bound():
    a, b = arrays(1, 2)
    rise(a, b)
    assert risen(a, b)
    long = np.asarray(numpy.ones(1_060_000))
    assert stretches(lambda: braze.wait(long + 1), 3) == [0] * 3
    assert risen(a, b)
    # Where something was, it is.
    long = np.asarray(numpy.ones(1_020_000))
    assert nears(lambda: braze.wait((a * 2) + 1, long + 1)) == 2
    assert not risen(a, b)


# A product that is a little large, and behind it operations that are never near.
@pytest.mark.parametrize(("length", "near"), [(100, 16), (100_000, 0)])
def test_what_is_never_near_counts_as_what_it_takes(length, near):
    (x, w), i = arrays(1, 2, n=6400), numpy.arange(length) % 100
    x, w, at = x.reshape(100, 64), w.reshape(64, 100), np.asarray(i)
    braze.wait(at)

    def turn(x, w, at):
        h = x @ w
        return float((h[at, 3].mean() + h[at, 5].mean()) + (h[at, 7].mean() + h[at, 9].mean()))

    assert stretches(lambda: turn(x, w, at), 8) == [0] * CALM + [near] * 4
    assert turn(x, w, at) == pytest.approx(turn(numpy.asarray(x), numpy.asarray(w), i))


def grid(m, n):
    x, z = m.arange(n) / n, m.zeros((n, n, 3))
    z[:, :, 0] = x.reshape(-1, 1)
    z[:, :, 1] = x
    return z


@pytest.mark.parametrize(("n", "near"), [(300, 5), (430, 2)])
def test_what_is_filled_and_written_is_near_as_far_as_a_trip_saves_less(n, near):
    def repeated():
        braze.wait(grid(np, n))

    assert stretches(repeated, 8)[-2:] == [near] * 2
    assert numpy.array_equal(grid(np, n), grid(numpy, n))


@pytest.mark.parametrize("length", [0, 1, 513, 524_279, 524_288, 524_289])
def test_blocks_have_room_for_the_vectors_behind_them(length):
    a, b = arrays(1, 2)
    rise(a, b)
    x = np.full(length, 2.5)
    x[length // 2:] = 1.5
    x[::3] = x[::3] + 1
    theirs = numpy.full(length, 2.5)
    theirs[length // 2:] = 1.5
    theirs[::3] += 1
    assert numpy.array_equal(x, theirs)


def test_a_first_stretch_may_be_all_that_a_program_does():
    a, b = (numpy.random.default_rng(seed).standard_normal(N) for seed in (1, 2))
    with near_on(first=True):
        x, y = np.asarray(a), np.asarray(b)
        before = braze.counters()
        assert stretches(lambda: braze.wait(x + y), 3) == [1] * 3
        assert braze.counters()["demands"] == before["demands"]
        assert numpy.array_equal(x + y, a + b)
        # A long one, and it is as if nothing had been tried.
        assert nears(lambda: braze.wait(sum((x * k for k in range(1, 20)), y))) <= 4
        assert rise(x, y) == CALM


def test_in_a_first_stretch_results_are_near_up_to_what_shipping_saves():
    a = numpy.random.default_rng(1).standard_normal(150_000)
    with near_on(first=True):
        x = np.asarray(a)
        assert nears(lambda: braze.wait(x + 1.5)) == 0
        assert nears(lambda: braze.wait(x[:N] + 1.5)) == 0
        assert numpy.array_equal(x + 1.5, a + 1.5)


def test_near_of_a_risen_bound_waits_for_nothing():
    a, b = arrays(1, 2)
    rise(a, b)
    before = braze.counters()
    for _ in range(10):
        float((a * b).max())
    after = braze.counters()
    assert after["round_trips"] == before["round_trips"]
    assert after["ops"] == before["ops"]


LARGE = [lambda m, a: m.roll(a, 3), lambda m, a: m.roll(a, 1, 1), lambda m, a: m.roll(a, (-2, 5), (0, 1)),
         lambda m, a: m.diff(a), lambda m, a: m.diff(a, 2, 0), lambda m, a: m.tile(a, 2), lambda m, a: m.tile(a, (2, 3)),
         lambda m, a: m.column_stack((a, a[:, :2], a[:, 0])), lambda m, a: m.tile(a[:100, :100], (4, 4))]


@pytest.mark.parametrize("moved", LARGE)
def test_moved_elements_are_near_up_to_the_bound_and_lazy_beyond(moved):
    (a,) = arrays(1, n=360 * 360)
    a = a.reshape(360, 360)
    braze.wait(a)
    before = braze.counters()
    x = moved(np, a)
    after = braze.counters()
    assert after["near"] == before["near"] and after["demands"] == before["demands"]
    y = x * 2 - 1
    theirs = moved(numpy, numpy.asarray(a))
    assert y.dtype == theirs.dtype and y.shape == theirs.shape
    assert numpy.asarray(y).tobytes() == (theirs * 2 - 1).tobytes()
    assert numpy.asarray(x).tobytes() == theirs.tobytes()
    small = a[:40, :40] * 1
    assert nears(lambda: moved(np, small)) == 1
    assert numpy.array_equal(moved(np, small), moved(numpy, numpy.asarray(small)))


def test_what_lies_in_a_block_is_reduced_there_whatever_the_bound():
    """To ship it costs as much as to read it once."""
    (a,) = arrays(1)
    mask = a > -9
    braze.wait(mask)  # else what it chooses is not looked for yet
    x = a[mask]
    assert nears(lambda: braze.wait(a.sum())) == 0
    for reduced in (lambda m, x: m.sum(x), lambda m, x: m.max(x), lambda m, x: m.sum(x.reshape(100, -1), axis=1)):
        assert nears(lambda f=reduced: braze.wait(f(np, x))) == 1
        far = reduced(np, np.array(numpy.asarray(a)))
        assert numpy.asarray(reduced(np, x)).tobytes() == numpy.asarray(far).tobytes()
    (big,) = arrays(2, n=400_000)
    mask = big > -9
    braze.wait(mask)
    picked = big[mask]
    assert nears(lambda: braze.wait(picked.sum())) == 0


@pytest.mark.parametrize("n,near", [(300_000, 1), (1_020_000, 1), (1_200_000, 0)])
def test_what_was_gathered_is_reduced_for_what_shipping_it_takes(n, near):
    """More than 8 MiB the daemon reads."""
    (a,) = arrays(1)
    x = a[np.asarray(numpy.arange(n) % 97)].reshape(-1, 300)
    assert nears(lambda: braze.wait(x.mean(axis=1))) == 2 * near
    far = np.array(numpy.asarray(x)).mean(axis=1)
    assert numpy.asarray(x.mean(axis=1)).tobytes() == numpy.asarray(far).tobytes()


def test_the_bound_rises_where_each_moved_array_is_read():
    (a,) = arrays(1)
    assert stretches(lambda: braze.wait(np.roll(a, 1)), 8) == [0] * CALM + [1] * 4
    assert numpy.array_equal(np.roll(a, 1), numpy.roll(numpy.asarray(a), 1))


def test_long_stretches_stay_with_the_daemon():
    """So that their operations become one kernel."""
    a, b = arrays(1, 2)

    def chain():
        x = a
        for _ in range(12):
            x = x * b + a
        braze.wait(x)

    assert stretches(chain, 10) == [0] * 10


def test_one_long_stretch_lowers_it_and_the_next_rise_takes_longer():
    a, b = arrays(1, 2)
    assert rise(a, b) == CALM
    work = nears(lambda: braze.wait(sum((a * k for k in range(1, 20)), b)))
    assert work <= 4  # what still fitted into the stretch
    assert rise(a, b, 2 * CALM) == 2 * CALM
    braze.wait(sum((a * k for k in range(1, 20)), b))
    assert rise(a, b, 4 * CALM) == 4 * CALM


def test_after_many_falls_it_waits_for_no_more_than_it_costs():
    a, b = arrays(1, 2)
    for _ in range(6):
        rise(a, b, 32)
        braze.wait(sum((a * k for k in range(1, 20)), b))
    assert rise(a, b, 32) == 32


def test_what_waits_counts_with_its_own_work():
    """Two large products of numbers, and much that is little: a trip would be worth it if all were as large."""
    a, b = arrays(1, 2)
    x, = arrays(3, n=300)
    m, k = (y[:90_000].reshape(300, 300).copy() for y in (a, b))
    braze.wait(m), braze.wait(k)

    def read(np=np, m=m, k=k, x=x):
        return np.sqrt((1.5 * m @ x + 1.2 * k @ x) ** 2 + 1.0) - 1.0

    for _ in range(CALM):
        braze.wait(read())
    assert nears(lambda: braze.wait(read())) == 9
    with braze.unfused():
        far = numpy.asarray(read())
    assert numpy.asarray(read()).tobytes() == far.tobytes()


def test_far_work_on_a_near_result_lowers_it():
    """It would have to be copied to the daemon each time."""
    a, b = arrays(1, 2, n=90_000)
    rise(a, b)
    braze.wait((a + b).reshape(300, 300) @ (a - b).reshape(300, 300))
    assert not risen(a, b)


def test_far_work_on_other_arrays_leaves_it():
    a, b = arrays(1, 2)
    (m,) = arrays(3, n=90_000)
    m = braze.wait(m.reshape(300, 300)) or m.reshape(300, 300)
    rise(a, b)
    braze.wait(m @ m)
    assert risen(a, b)


def test_having_been_right_for_long_it_rises_quickly_again():
    a, b = arrays(1, 2)
    rise(a, b)
    braze.wait(sum((a * k for k in range(1, 20)), b))
    assert rise(a, b, 2 * CALM) == 2 * CALM
    assert stretches(lambda: braze.wait(a + b), 20) == [1] * 20
    braze.wait(sum((a * k for k in range(1, 20)), b))
    # The fall doubles what had gone back to the first count.
    assert rise(a, b, 2 * CALM) == 2 * CALM


def test_work_that_no_trip_is_worth_never_raises_it():
    (a,) = arrays(1, n=10 * N)
    assert stretches(lambda: braze.wait(np.sinh(a)), 10) == [0] * 10
    (big,) = arrays(2, n=1_060_000)
    assert stretches(lambda: braze.wait(big + 1.5), 10) == [0] * 10


def test_two_parts_of_one_operation_are_told_once():
    (a,) = arrays(1)
    assert stretches(lambda: braze.wait(*np.frexp(a)), 8) == [0] * CALM + [2] * 4


def test_nothing_between_reads_is_no_stretch():
    a, b = arrays(1, 2)
    x = a + b
    braze.wait(x)
    for _ in range(10):
        float(x[3])
    assert not risen(a, b)


def test_large_near_arrays_go_far_and_come_back():
    a, b = arrays(1, 2)
    rise(a, b)
    x = a + b  # near
    y = np.sort(x)[::-1].reshape(100, -1) @ x[:1000].reshape(1000, 1)
    want = numpy.asarray(a) + numpy.asarray(b)
    expected = numpy.sort(want)[::-1].reshape(100, -1) @ want[:1000].reshape(1000, 1)
    numpy.testing.assert_allclose(numpy.asarray(y), expected, rtol=1e-12)
    view = x[10:20]
    x[12] = 7.0
    assert float(view[2]) == 7.0
    assert float((x * 2)[12]) == 14.0


def program(seed):
    """Stretches of one to fifteen operations, of arrays around the bound: all results."""
    rng = numpy.random.default_rng(seed)
    n = int(rng.choice([3000, 20_000, 33_000, 100_000, 160_000]))
    pool = arrays(*range(4), n=n)
    results = []
    for _ in range(12):
        for _ in range(int(rng.choice([1, 1, 1, 2, 3, 15]))):
            x, y = (pool[int(k)] for k in rng.integers(0, len(pool), 2))
            kind = int(rng.integers(0, 6))
            if kind == 0:
                pool[int(rng.integers(0, 4))] = x + y
            elif kind == 1:
                pool[int(rng.integers(0, 4))] = np.where(x > y, x, y - 1)
            elif kind == 2:
                x[::3] = y[::3]
            elif kind == 3:
                x *= 0.5
            elif kind == 4:
                results.append(x[::2].sum())
            else:
                pool[int(rng.integers(0, 4))] = np.sqrt(np.abs(x)) - y[::-1]
        results.append(float(pool[int(rng.integers(0, 4))][int(rng.integers(0, n))]))
    return [numpy.asarray(r) for r in results + pool]


@pytest.mark.parametrize("seed", range(40))
def test_the_same_bits_with_every_bound(seed):
    runs = []
    for _ in range(2):
        braze.close()
        before = near_count()
        runs.append((program(seed), near_count() - before))
    (adaptive, chosen), (again, same) = runs
    assert chosen == same  # the same way in each run
    with braze.unfused():
        far = program(seed)
    for x, y, z in zip(adaptive, again, far, strict=True):
        assert x.tobytes() == y.tobytes() == z.tobytes()


@pytest.mark.parametrize("make", [
    lambda a: np.partition(a, 7), lambda a: np.random.default_rng(1).standard_normal(N),
    lambda a: a[np.argpartition(a, 7)]], ids=["partition", "normal", "gather"])
def test_what_numpy_made_goes_on_here_for_as_long_as_shipping_it_takes(make):
    a, = arrays(1)
    b = make(a)
    first = numpy.asarray(b).copy()
    assert [nears(lambda: keep.append(b + 1)) for keep in ([],)] == [1]
    assert nears(lambda: braze.wait(a + 1)) == 0
    made = [b]
    count = nears(lambda: made.extend([made[-1] + 1 for _ in range(20)]))
    assert 1 <= count < 20
    # The rest is one trip, and each value that is made there brings as much again.
    assert numpy.array_equal(made[-1], first + 1)
    assert nears(lambda: make(a) * 2) >= 1


def triangle(m, a):
    """One large operation, and many small ones on parts of its result."""
    a = a - a.mean(axis=0)
    n = a.shape[1]
    c = m.zeros((n, n))
    for i in range(n):
        c[i:, i] = c[i, i:] = a[:, i] @ a[:, i:] / (n - 1)
    return c


def mostly_near(function, a, least, most, **tolerance):
    """More than so many operations are near, with at most so many trips, and the bits of those that are far."""
    before = braze.counters()
    got = function(np, a)
    after = braze.counters()
    assert after["near"] - before["near"] > least
    assert after["round_trips"] - before["round_trips"] <= most
    with braze.unfused():
        far = function(np, a)
    assert numpy.asarray(got).tobytes() == numpy.asarray(far).tobytes()
    numpy.testing.assert_allclose(got, function(numpy, numpy.asarray(a)), **tolerance)


def test_many_small_operations_wait_once_for_what_all_of_them_need():
    (a,) = arrays(1, n=360 * 300)
    a = a.reshape(360, 300)
    braze.wait(a)
    mostly_near(triangle, a, 2 * 300, 4, atol=1e-12)


def test_small_operations_on_what_nobody_has_made_yet_wait_for_it_once():
    (a,) = arrays(1, n=200 * 300)
    a = a[:200 * 200].reshape(200, 200)

    def columns(m, a):
        low = m.zeros((200, 200))
        for k in range(200):
            low[k:, k] = (a[k:, k] - low[k:, :k] @ low[k, :k] * 1e-3) / (1 + k)
        return low

    mostly_near(columns, a, 2 * 200, 2, rtol=1e-9)


def test_small_operations_among_large_ones_wait_for_nothing():
    a, b = arrays(1, 2, n=400_000)
    x, small = a, []
    before = braze.counters()
    for _ in range(200):
        x = x * b + a
        small.append(x[:10] * 2)
    assert braze.counters()["round_trips"] == before["round_trips"]
    braze.wait(small[-1])


def test_each_wait_of_a_stretch_takes_longer_than_the_last():
    a, b = arrays(1, 2, n=400_000)
    waits, before = [], braze.counters()["round_trips"]
    for turn in range(1500):
        if turn % 100 == 0:  # what all of the next ones wait for
            a = a * b
        (a[:10] + 1) * 2 - 1
        now = braze.counters()["round_trips"]
        waits += [turn] * (now - before)
        before = now
    assert 2 <= len(waits) <= 6


def test_what_fails_meanwhile_fails_who_reads_it():
    a, = arrays(1, n=400_000)
    places = (a[:100] * 0 + a.max() * 0 + a.size).astype(int)
    bad = a[places]
    for _ in range(200):
        bad = bad + 1
    with pytest.raises(IndexError):
        braze.wait(bad)
    assert float((a[:2] * 0).sum()) == 0
