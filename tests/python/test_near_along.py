# SPDX-License-Identifier: Apache-2.0
"""What a read computed besides is at hand afterwards: loops that read something each turn wait in
their first turns only, and whatever is written meanwhile, values are NumPy's."""

import random

import near_mode
import numpy
import pytest

import braze
import braze.numpy as np

PROGRAMS, STEPS = 60, 40


@pytest.fixture(autouse=True)
def session():
    with near_mode.near_on():
        yield


def ranks(np, m, turns, tolerance):
    """Ranks of pages; what each turn spent."""
    n = m.shape[0]
    m = m / m.sum(axis=0)
    rank, spent = np.ones(n) / n, []
    for turn in range(turns):
        before = braze.counters()
        new = 0.85 * (m @ rank) + 0.15 / n
        if float(np.abs(new - rank).sum()) < tolerance:
            break
        rank = new
        after = braze.counters()
        spent.append((after["round_trips"] - before["round_trips"], after["near"] - before["near"]))
    return new, turn, spent


def links(n=260):
    """Above the bound of what is near, so that the matrix is computed by the daemon."""
    a = (numpy.arange(n * n).reshape(n, n) * 7919 % 13 < 4).astype(float)
    return a + numpy.eye(n)


def test_a_loop_that_reads_each_turn_waits_in_its_first_turns_only():
    a = links()
    mine, turns, spent = ranks(np, np.asarray(a), 60, 1e-9)
    right, wanted, _ = ranks(numpy, a, 60, 1e-9)
    assert turns == wanted > 8
    assert numpy.allclose(mine, right, rtol=1e-13, atol=0)
    trips, near = zip(*spent, strict=True)
    assert trips[0] == 1
    assert not any(trips[3:]), trips
    assert all(count >= 6 for count in near[3:]), near


def test_off_means_asked_for_each_turn(monkeypatch):
    """BRAZE_NEAR=0 neither asks nor is told: what is read is what was asked for."""
    braze.close()
    monkeypatch.setenv("BRAZE_NEAR", "0")
    a = links()
    mine, turns, spent = ranks(np, np.asarray(a), 20, 0)
    right, _, _ = ranks(numpy, a, 20, 0)
    assert numpy.allclose(mine, right, rtol=1e-13, atol=0)
    assert turns == 19 and all(each == (1, 0) for each in spent)
    braze.close()


def stored_with(other):
    """A small array that the daemon computed for the sake of another, and NumPy's."""
    big = np.asarray(numpy.arange(120_000.0).reshape(300, 400) % 7) + 0
    small = big.sum(axis=0)
    after = other(small, big)
    float(after.sum())
    return small, (numpy.arange(120_000.0).reshape(300, 400) % 7).sum(axis=0)


def test_what_comes_along_is_read_without_a_trip():
    small, right = stored_with(lambda small, big: (big * small).sum(axis=1))
    before = braze.counters()
    assert small.tolist() == right.tolist()
    assert (small + 1).tolist() == (right + 1).tolist()
    assert braze.counters()["round_trips"] == before["round_trips"]
    assert braze.counters()["ops"] == before["ops"]


def test_what_comes_along_is_written_in_place():
    """Alone at the daemon or not."""
    keep = []
    for other in (lambda small, big: (big * small).sum(axis=1),
                  lambda small, big: keep.append(small * big) or (big * small).sum(axis=1)):
        small, right = stored_with(other)
        view, seen = small[::2], right.copy()
        for k in range(5):
            small[k] = right[k] = -k
            small[10:20] += k
            right[10:20] += k
            view *= 2
            right[::2] *= 2
        assert small.tolist() == right.tolist()
    (late,) = keep
    assert numpy.array_equal(late, (numpy.arange(120_000.0).reshape(300, 400) % 7) * seen)


def test_a_read_without_a_name_computes_nothing_besides():
    """What the program dropped is not brought along."""
    big = np.asarray(numpy.ones((300, 400))) + 0
    before = braze.counters()["near"]
    assert float(((big * 3).sum(axis=0) + 1).sum()) == 400 * 901
    assert braze.counters()["near"] == before


# ---- Random programs ----


class Program:
    """Small arrays that large ones make, so that they are pending, stored and known in turn."""

    ROWS, COLUMNS = 90, 400  # 281 KiB

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.theirs = numpy.arange(self.ROWS * self.COLUMNS).reshape(self.ROWS, -1) % 11 - 5.0
        self.mine = np.asarray(self.theirs) + 0
        self.pairs = []
        self.log = []

    def below(self, n):
        return self.random.randrange(n)

    def pick(self):
        if not self.pairs:
            self.make()
        return self.random.choice(self.pairs)

    def make(self):
        k = self.below(5)
        self.log.append(("make", k))
        self.pairs.append(((self.mine + k).sum(axis=0), (self.theirs + k).sum(axis=0)))

    def combine(self):
        """Far, but for what is at hand already."""
        (a, x), (b, y) = self.pick(), self.pick()
        if x.shape != y.shape or x.ndim != 1:
            return
        how = self.below(3)
        self.log.append(("combine", how))
        if how == 0:
            self.pairs.append((a - b, x - y))
        elif how == 1 and x.shape == (self.COLUMNS,):
            self.pairs.append(((self.mine - a).max(axis=0) % 17, (self.theirs - x).max(axis=0) % 17))
        else:
            self.pairs.append((np.maximum(a, b) % 13, numpy.maximum(x, y) % 13))

    def change(self):
        (a, x), (b, y) = self.pick(), self.pick()
        how = self.below(4)
        self.log.append(("change", how))
        if how == 0:
            a[3] = x[3] = self.below(9)
        elif how == 1:
            a += 1
            x += 1
        elif how == 2 and x.shape == y.shape:
            a[...] = b
            x[...] = y.copy()
        elif x.shape[0] > 20:
            a[5:15] = self.below(9)
            x[5:15] = numpy.asarray(a[5:15])

    def view(self):
        a, x = self.pick()
        how = self.below(3)
        self.log.append(("view", how))
        if x.shape[0] < 40:
            return
        key = (slice(None, None, -1), slice(2, None), slice(None, None, 2))[how]
        self.pairs.append((a[key], x[key]))

    def export(self):
        a, x = self.pick()
        self.log.append(("export",))
        self.pairs.append((np.asarray(numpy.asarray(a)), x.copy()))

    def read(self):
        a, x = self.pick()
        self.log.append(("read",))
        assert float(a.sum()) == x.sum(), self.log

    def element(self):
        a, x = self.pick()
        k = self.below(x.shape[0])
        self.log.append(("element", k))
        assert float(a[k]) == x[k], self.log

    def forget(self):
        if self.pairs:
            del self.pairs[self.below(len(self.pairs))]

    def run(self):
        steps = [self.make] * 3 + [self.combine] * 6 + [self.change] * 6 + [self.read] * 3 + [
            self.view, self.view, self.export, self.element, self.forget, self.forget]
        for _ in range(STEPS):
            self.random.choice(steps)()
            if len(self.pairs) > 10:
                del self.pairs[self.below(10)]
        for a, x in self.pairs:
            assert numpy.array_equal(a, x), self.log


@pytest.mark.parametrize("first", range(0, PROGRAMS, 20))
def test_random_programs(first):
    for seed in range(first, first + 20):
        Program(seed).run()


def test_random_programs_in_threads():
    """One is told of what another writes and releases meanwhile."""
    near_mode.run_in_threads(Program)
