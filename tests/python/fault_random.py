# SPDX-License-Identifier: Apache-2.0
"""Random programs of gathers, scatters, masks and in-place writes some of whose places are wrong.

A program is decided by its number.  NumPy runs each statement beside braze.  What NumPy would not have
computed, for a wrong place came first, is *spoilt*: in braze it is recorded and computed later, and whoever
reads it must get an IndexError that names one of those places.  All else must be equal to the last bit:
what was written before a wrong place, and what is written where nothing waits for one, stays.

`python tests/python/fault_random.py FIRST COUNT` runs many; it prints how many statements of each kind
there were, how many raised, and how many spoilt values were read.
"""

import collections
import re
import sys

import numpy

import braze
import braze.numpy as np

SIZES = (1, 3, 8, 40, 300, 5000)
NONE = frozenset()


class Wrong(AssertionError):
    """braze and NumPy differ."""


class Program:
    """Runs as it is written.  self.theirs has NumPy's arrays, self.spoilt the wrong places that each waits for."""

    def __init__(self, number, counts=None):
        self.rng = numpy.random.default_rng(number)
        self.number, self.counts = number, counts if counts is not None else collections.Counter()
        self.theirs, self.mine, self.spoilt, self.text, self.made = {}, {}, {}, [], 0
        self.partly = set()  # of these a part was overwritten

    # ---- chance ----

    def pick(self, things):
        return things[int(self.rng.integers(len(things)))]

    def chance(self, p):
        return self.rng.random() < p

    def named(self, kind, ndim=None):
        return [n for n, x in self.theirs.items() if x.dtype.kind == kind and x.ndim and (ndim is None or x.ndim == ndim)]

    def floats(self, ndim=None):
        names = self.named("f", ndim)
        return self.pick(names[-5:]) if names else self.new_floats(ndim or 1)

    def partner(self, name):
        """Another one of the same shape, or itself."""
        shape = self.theirs[name].shape
        return self.pick([n for n in self.named("f") if self.theirs[n].shape == shape])

    # ---- variables ----

    def keep(self, value, mine, spoilt=NONE):
        name = f"v{self.made}"
        self.made += 1
        self.theirs[name], self.mine[name], self.spoilt[name] = value, mine, frozenset(spoilt)
        return name

    def say(self, kind, text):
        self.text.append(text)
        self.counts[kind] += 1

    def new_floats(self, ndim=None):
        ndim = ndim or self.pick((1, 1, 2))
        n = self.pick(SIZES)
        shape = (n,) if ndim == 1 else (self.pick((2, 5, 33)), min(n, 40))
        value = self.rng.integers(-20, 20, shape) / 4.0
        name = self.keep(value, np.asarray(value.copy()))
        self.say("made", f"{name} = floats{shape}")
        return name

    def new_places(self, size):
        """Of an axis of this size, most of them right."""
        n = self.pick((1, 4, 30, 700))
        value = self.rng.integers(-size, size, n)
        if self.chance(0.3):
            for _ in range(self.pick((1, 1, 3))):
                value[self.rng.integers(n)] = self.pick((size, size + 3, -size - 1, 10**9))
        mine = np.asarray(value.copy())
        if self.chance(0.5):  # of a computation
            mine = mine * 3 - mine * 2
        name = self.keep(value, mine)
        self.say("made", f"{name} = places({value.tolist() if n < 9 else n} of {size})")
        return name

    def places(self, size):
        names = [n for n in self.named("i", 1) if self.chance(0.5)]
        return self.pick(names[-3:]) if names and self.chance(0.4) else self.new_places(size)

    # ---- what wrong places do ----

    def wrong(self, places, size):
        x = self.theirs[places]
        return frozenset(x[(x < -size) | (x >= size)].tolist())

    def limited(self, places, size):
        return numpy.clip(self.theirs[places], -size, size - 1)

    def raises(self, f, spoilt, text):
        """f, of which some places are wrong, must say so."""
        try:
            f()
        except IndexError as error:
            found = re.search(r"index (-?\d+) is out of bounds", str(error))
            if not found or int(found[1]) not in spoilt:
                raise Wrong(f"{text}: {error}, not of {sorted(spoilt)}") from error
            self.counts["raised"] += 1
            return
        raise Wrong(f"{text}: no error for {sorted(spoilt)}")

    # ---- statements ----

    def map(self):
        a = self.floats()
        b = self.partner(a)
        f = self.pick((lambda x, y: x * 0.5 + y, lambda x, y: x - y * 0.25, lambda x, y: abs(x) - y, lambda x, y: (x > y) * 1.0))
        name = self.keep(f(self.theirs[a], self.theirs[b]), f(self.mine[a], self.mine[b]), self.spoilt[a] | self.spoilt[b])
        self.say("map", f"{name} = map({a}, {b})")

    def gather(self):
        a = self.floats()
        x = self.theirs[a]
        axis = self.pick(range(x.ndim))
        i = self.places(x.shape[axis])
        front = (slice(None),) * axis
        mine = self.mine[a][(*front, self.mine[i])] if self.chance(0.6) else np.take(self.mine[a], self.mine[i], axis)
        spoilt = self.spoilt[a] | self.spoilt[i] | self.wrong(i, x.shape[axis])
        value = x[(*front, self.limited(i, x.shape[axis]))]
        name = self.keep(value, mine, spoilt)
        self.say("gather", f"{name} = {a}[{':, ' * axis}{i}]")

    def gather_pairs(self):
        """Of two axes, one place of each."""
        a = self.floats(2)
        x, i = self.theirs[a], self.places(self.theirs[a].shape[0])
        n = self.theirs[i].size
        j = self.rng.integers(-x.shape[1], x.shape[1] + (1 if self.chance(0.2) else 0), n)
        far = frozenset(j[j >= x.shape[1]].tolist())
        mine = self.mine[a][self.mine[i], np.asarray(j) + 0]
        value = x[self.limited(i, x.shape[0]), numpy.minimum(j, x.shape[1] - 1)]
        name = self.keep(value, mine, self.spoilt[a] | self.spoilt[i] | self.wrong(i, x.shape[0]) | far)
        self.say("pairs", f"{name} = {a}[{i}, {j.tolist() if n < 9 else n}]")

    def places_of_places(self):
        i = self.places(30)
        j = self.places(self.theirs[i].size)
        n = self.theirs[i].size
        name = self.keep(self.theirs[i][self.limited(j, n)], self.mine[i][self.mine[j]], self.spoilt[i] | self.spoilt[j] | self.wrong(j, n))
        self.say("places", f"{name} = {i}[{j}]")

    def reduce(self):
        a = self.floats()
        name = self.keep(self.theirs[a].max(keepdims=True), self.mine[a].max(keepdims=True), self.spoilt[a])
        self.say("reduction", f"{name} = {a}.max(keepdims=True)")

    def scatter(self):
        """Written at once, or not at all."""
        a = self.floats(1)
        x, i = self.theirs[a], self.places(self.theirs[a].size)
        add = self.chance(0.3)
        value = self.pick((2.5, -1.0))
        spoilt = self.spoilt[a] | self.spoilt[i] | self.wrong(i, x.size)

        def write(m, array, places):
            if add:
                m.add.at(array, places, value)
            else:
                array[places] = value

        text = f"add.at({a}, {i}, {value})" if add else f"{a}[{i}] = {value}"
        self.say("scatter", text)
        if spoilt:
            return self.raises(lambda: write(np, self.mine[a], self.mine[i]), spoilt, text)
        write(np, self.mine[a], self.mine[i])
        return write(numpy, x, self.theirs[i])

    def scatter_gathered(self):
        """Values that are gathered: another computation that may fail."""
        a, b = self.floats(1), self.floats(1)
        x, y = self.theirs[a], self.theirs[b]
        i = self.places(x.size)
        spoilt = self.spoilt[a] | self.spoilt[b] | self.spoilt[i] | self.wrong(i, x.size) | self.wrong(i, y.size)
        text = f"{a}[{i}] = {b}[{i}]"
        self.say("scatter", text)

        def write(array, other, places):
            array[places] = other[places]

        if spoilt:
            return self.raises(lambda: write(self.mine[a], self.mine[b], self.mine[i]), spoilt, text)
        write(self.mine[a], self.mine[b], self.mine[i])
        return write(x, y, self.theirs[i])

    def mask_read(self):
        a = self.floats(1)
        b = self.partner(a)
        spoilt = self.spoilt[a] | self.spoilt[b]
        self.say("mask", f"{a}[{b} > 0]")
        if spoilt:
            return self.raises(lambda: numpy.asarray(self.mine[a][self.mine[b] > 0]), spoilt, f"{a}[{b} > 0]")
        value = self.theirs[a][self.theirs[b] > 0]
        if value.size:
            self.keep(value, self.mine[a][self.mine[b] > 0])
        return None

    def mask_write(self):
        """Now or later: what it writes waits for the mask."""
        a = self.floats()
        b = self.partner(a)
        self.say("mask", f"{a}[{b} > 1] = 0.5")
        spoilt = self.spoilt[a] | self.spoilt[b]
        mask = self.theirs[b] > 1
        try:
            self.mine[a][self.mine[b] > 1] = 0.5
        except IndexError:
            if not spoilt:
                raise
            self.counts["raised"] += 1
            return
        self.theirs[a][mask] = 0.5
        self.spoilt[a] = spoilt

    def slice_write(self):
        a = self.floats(1)
        b = self.partner(a)
        if self.theirs[a].size < 2:
            return  # nothing is written
        whole = self.chance(0.3)
        if self.spoilt[a] and a in self.partly and not whole:
            self.look(a)  # else what spoilt it may never be computed: nobody would see it
        self.say("slice", f"{a}[{'...' if whole else ':-1'}] = {b}[{'...' if whole else '1:'}]")
        if whole:
            self.theirs[a][...] = self.theirs[b]
            self.mine[a][...] = self.mine[b]
            self.spoilt[a] = self.spoilt[b]
            return
        self.theirs[a][:-1] = self.theirs[b][1:]
        self.mine[a][:-1] = self.mine[b][1:]
        self.spoilt[a] |= self.spoilt[b]
        self.partly.add(a)

    def turns(self):
        """A loop of gathers, as many as are rolled up; in some turn a place may be wrong."""
        if self.chance(0.9):
            return
        size, n = self.pick((3, 8, 40)), self.pick((1, 5, 30))
        count = self.pick((400, 700))
        source, at = self.rng.integers(-20, 20, size) / 4.0, self.rng.integers(-size, size, n)
        wrong_turn = int(self.rng.integers(count)) if self.chance(0.5) else count
        each = int(self.rng.integers(1, 4))
        self.say("turns", f"{count} turns over {n} places of {size}, wrong in {wrong_turn}")
        a, seen = np.asarray(source.copy()), []
        mine, total, want = np.asarray(at.copy()) * 1, np.zeros(n), numpy.zeros(n)
        far = frozenset()
        for t in range(count):
            if t == wrong_turn:
                at = numpy.where(numpy.arange(n) == n // 2, size + t, at)
                mine = np.where(np.arange(n) == n // 2, size + t, mine)
                far = frozenset([size + t])
            for _ in range(each):
                total = total * 0.5 + a[mine]
                want = want * 0.5 + source[numpy.clip(at, -size, size - 1)]
            if t < count - 1 and (t % 90 == 0 or t == wrong_turn):
                seen.append((total, want, far))
            mine, at = -1 - mine, -1 - at
        for got, value, spoilt in (*seen, (total, want, far)):
            self.look(self.keep(value, got, spoilt))

    # ---- looking ----

    def look(self, name):
        spoilt = self.spoilt[name]
        if spoilt:
            self.counts["spoilt"] += 1
            return self.raises(lambda: numpy.asarray(self.mine[name]), spoilt, f"{name}, read")
        got, want = numpy.asarray(self.mine[name]), self.theirs[name]
        if got.shape != want.shape or got.dtype != want.dtype or got.tobytes() != want.tobytes():
            raise Wrong(f"{name}: {got!r}, NumPy {want!r}")
        return None

    def read(self):
        if self.theirs:
            name = self.pick(list(self.theirs))
            self.say("read", f"check({name})")
            self.look(name)

    def wait(self):
        """Several results of one demand: the wrong ones fail, all others are there."""
        names = [n for n in self.theirs if self.chance(0.5)]
        spoilt = frozenset().union(*(self.spoilt[n] for n in names))
        self.say("wait", f"wait({', '.join(names)})")
        if spoilt:
            self.raises(lambda: braze.wait(*(self.mine[n] for n in names)), spoilt, "wait")
        elif names:
            braze.wait(*(self.mine[n] for n in names))
        for n in names:
            self.look(n)

    def forget(self):
        if len(self.theirs) > 8:
            name = self.pick(list(self.theirs))
            for each in (self.theirs, self.mine, self.spoilt):
                del each[name]

    STATEMENTS = (map, map, gather, gather, gather, gather_pairs, places_of_places, reduce, scatter, scatter, scatter_gathered,
                  mask_read, mask_write, slice_write, slice_write, turns, read, wait, forget)

    def run(self):
        """Wrong, with the program's text, where braze does otherwise."""
        try:
            for _ in range(int(self.rng.integers(4, 24))):
                self.pick(self.STATEMENTS)(self)
            self.wait()
            for name in self.rng.permutation(list(self.theirs)):
                self.look(str(name))
        except Exception as error:
            raise Wrong("\n".join([f"program {self.number}", *self.text, repr(error)])) from error
        self.counts["programs"] += 1


def main():
    first, count = map(int, sys.argv[1:])
    counts = collections.Counter()
    for number in range(first, first + count):
        try:
            Program(number, counts).run()
        except Wrong as wrong:
            counts["failed"] += 1
            print(wrong, flush=True)
    print(dict(counts), flush=True)
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
