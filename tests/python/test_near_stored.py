# SPDX-License-Identifier: Apache-2.0
"""Small work on arrays that are stored in the arena: what is read there, and when this process
writes there itself.

Random programs are compared with NumPy's: operations that read an old value may still be
pending when it is overwritten, views and exports of all kinds may be alive.  All values are
small whole numbers, so every order of additions gives the same sum."""

import os
import random
import resource
import subprocess
import sys
import threading

import near_mode
import numpy
import pytest

import braze
import braze.numpy as np

BOUND = (256 << 10) // 8  # elements of what is computed in the call
PROGRAMS, STEPS = 120, 60


@pytest.fixture(autouse=True, scope="module")
def near_on():
    """The other suites ask the daemon for everything (conftest.py)."""
    with near_mode.near_on():
        yield


def counted(f):
    """What f does to the counters."""
    before = braze.counters()
    f()
    after = braze.counters()
    return {k: after[k] - before[k] for k in after}


def stored(n=300, m=300):
    """A stored array above the bound, that the daemon computed, and NumPy's."""
    a = numpy.arange(n * m, dtype=float).reshape(n, m) % 17
    b = np.asarray(a) + 0
    braze.wait(b)
    return b, a.copy()


class Program:
    """Steps chosen by a seed, done with NumPy and with braze."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.pairs = []  # (braze, NumPy): arrays, and views of them that alias alike
        self.kept = []  # results: pending, maybe, while what they read is written
        self.log = []

    def below(self, n):
        return self.random.randrange(n)

    def pick(self):
        if not self.pairs or self.random.random() < 0.05:
            self.create()
        return self.random.choice(self.pairs)

    def create(self):
        columns = self.random.choice([1, 7, 64, 181, 256])
        rows = max(1, int(BOUND * self.random.choice([0.4, 0.99, 1.01, 1.7]) / columns))
        dtype = self.random.choice([float, float, numpy.int64])
        how = self.below(4)
        self.log.append(("create", rows, columns, dtype, how))
        x = numpy.arange(rows * columns).reshape(rows, columns).astype(dtype) % 13 - 6
        if how == 0:  # imported
            y = np.asarray(x)
        elif how == 1:  # computed
            y = np.asarray(x) + 0
        elif how == 2:  # only made
            x = numpy.full((rows, columns), 3, dtype)
            y = np.full((rows, columns), 3, dtype)
        else:  # computed and waited for
            y = np.asarray(x) * 1
            braze.wait(y)
        self.pairs.append((y, x.copy()))

    def key(self, shape, most=BOUND // 4):
        """A basic index, of few elements."""
        key = []
        for n in shape:
            if self.random.random() < 0.4 or n * (n if len(shape) > 1 else 1) > most:
                if self.random.random() < 0.5:
                    key.append(self.below(n))
                    continue
                start = self.below(n)
                stop = min(n, start + 1 + self.below(12))
                step = self.random.choice([1, 1, 2, -1])
                key.append(slice(stop - 1, start - 1 if start else None, -1) if step < 0
                           else slice(start, stop, step))
            else:
                key.append(slice(None, None, self.random.choice([1, -1, 3])))
        return tuple(key)

    def view(self):
        """An alias that stays alive."""
        y, x = self.pick()
        how = self.below(4)
        self.log.append(("view", how))
        if how == 0 and x.ndim == 2:
            self.pairs.append((y.T, x.T))
        elif how == 1:
            self.pairs.append((y[::-1], x[::-1]))
        elif how == 2 and x.ndim and x.shape[0] > 2:
            self.pairs.append((y[1:-1], x[1:-1]))
        elif how == 3 and x.ndim == 2:
            self.pairs.append((y[:, 0], x[:, 0]))

    def value(self, x, key):
        """Something to write there: (braze, NumPy)."""
        shape = x[key].shape
        how = self.below(6)
        number = self.below(9) - 4
        if how == 0 or not shape:
            return number, number
        if how == 1:
            given = numpy.full(shape, number, x.dtype)
            return np.asarray(given), given
        # Of the array itself or another one: at hand, pending, or of the same memory.
        other, theirs = self.pick()
        if theirs.ndim == x.ndim and theirs.dtype == x.dtype:
            try:
                mine, right = other[key], theirs[key].copy()
            except IndexError:
                return number, number
            if right.shape == shape:
                return (mine, right) if how < 4 else (mine + 1, right + 1)
        return number, number

    def write(self):
        y, x = self.pick()
        if not x.size:
            return
        key = self.key(x.shape)
        mine, right = self.value(x, key)
        self.log.append(("write", key, right if numpy.ndim(right) == 0 else "array"))
        x[key] = right
        y[key] = mine

    def write_many(self):
        y, x = self.pick()
        for _ in range(self.below(30)):
            key = tuple(self.below(n) for n in x.shape)
            if not x.size:
                return
            self.log.append(("element", key))
            x[key] = y[key] = self.below(9)

    def in_place(self):
        y, x = self.pick()
        if not x.size:
            return
        key = self.key(x.shape)
        self.log.append(("in place", key))
        part, theirs = y[key], x[key]
        if numpy.ndim(theirs) == 0:
            x[key] += 2
            y[key] += 2
            return
        how = self.below(4)
        if how == 0:
            part += 1
            theirs += 1
        elif how == 1:
            part *= -1
            theirs *= -1
        elif how == 2:
            np.minimum(part, 5, out=part)
            numpy.minimum(theirs, 5, out=theirs)
        else:
            part += part[::-1]
            theirs += theirs[::-1]

    def far(self):
        """A large result that may stay pending while its operand is written."""
        y, x = self.pick()
        self.log.append(("far",))
        self.kept.append((y * 2 + 1, x * 2 + 1))

    def near(self):
        y, x = self.pick()
        if not x.size:
            return
        key = self.key(x.shape)
        self.log.append(("near", key))
        how = self.below(4)
        if how == 0:
            self.kept.append((y[key] + 1, x[key] + 1))
        elif how == 1:
            self.kept.append((y[key].sum(), x[key].sum()))
        elif how == 2:
            row, right = y[key].ravel(), x[key].ravel()
            self.kept.append((np.dot(row, row), numpy.dot(right, right)))
        else:
            place = tuple(self.below(n) for n in x.shape)
            assert y[place] == x[place], self.log

    def export(self):
        """What has left is what it was."""
        y, x = self.pick()
        self.log.append(("export",))
        self.kept.append((numpy.asarray(y), x.copy()))

    def copy(self):
        y, x = self.pick()
        self.log.append(("copy",))
        self.pairs.append((y.copy(), x.copy()))

    def host(self):
        """NumPy writes the memory itself."""
        y, x = self.pick()
        self.log.append(("host",))
        with braze.host(y) as window:
            window[...] -= 1
        x -= 1

    def demand(self):
        y, _ = self.pick()
        self.log.append(("demand",))
        braze.wait(y)

    def forget(self):
        for things in (self.pairs, self.kept):
            if things and self.random.random() < 0.5:
                self.log.append(("forget", things is self.pairs))
                del things[self.below(len(things))]

    def check(self, things):
        for mine, right in things:
            got = numpy.asarray(mine)
            assert got.dtype == right.dtype and got.shape == right.shape, self.log
            assert numpy.array_equal(got, right), self.log

    def run(self):
        steps = [self.write] * 6 + [self.in_place] * 4 + [self.near] * 4 + [self.far] * 2 + [
            self.write_many, self.view, self.view, self.export, self.copy, self.host, self.demand,
            self.forget, self.forget]
        for _ in range(STEPS):
            self.random.choice(steps)()
            if len(self.pairs) > 8:
                del self.pairs[self.below(8)]
            if len(self.kept) > 12:
                self.check([self.kept.pop(self.below(12))])
        self.check(self.kept)
        self.check(self.pairs)


@pytest.mark.parametrize("first", range(0, PROGRAMS, 20))
def test_random_programs(first):
    for seed in range(first, first + 20):
        Program(seed).run()


def test_random_programs_in_threads():
    """Each waits while the others record, in one session."""
    near_mode.run_in_threads(Program)


# ---- What is sent ----


def test_views_of_a_stored_array_are_read_without_a_message():
    a, right = stored()
    x = np.arange(300.0)
    found = []

    def work():
        for i in range(300):
            found.append(float(a[i, 7]) + float((a[i, ::-3] + 1).sum()) + float(a[i] @ x)
                         + float(a.T[i, :20].max()) + float(np.broadcast_to(a[i, :5], (4, 5)).sum()))

    assert counted(work)["ops"] == 0
    x = numpy.arange(300.0)
    assert found == [right[i, 7] + (right[i, ::-3] + 1).sum() + right[i] @ x + right[:20, i].max()
                     + 4 * right[i, :5].sum() for i in range(300)]


def eliminate(np, a):
    n = a.shape[0]
    for i in range(1, n):
        for j in range(max(0, i - 5), i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] %= 7
        a[i] = a[i] % 5
        a[i, 1:] += a[i, :-1]
        a[i] -= a[i].min()
    return a


@pytest.mark.parametrize("use", ["none", "pending", "done", "exported", "made"])
def test_element_loops_make_no_trip_after_the_first_ones(use):
    a, right = stored()
    if use == "made":
        a, right = np.zeros((300, 300)), numpy.zeros((300, 300))
        a[:, 0] = right[:, 0] = 3
    other = a * 2 if use in ("pending", "done") else numpy.asarray(a) if use == "exported" else None
    seen = right.copy()
    if use == "done":
        braze.wait(other)
    spent = counted(lambda: eliminate(np, a))
    eliminate(numpy, right)
    assert spent["round_trips"] <= (0 if use == "none" else 2), spent
    assert spent["ops"] <= (0 if use == "none" else 20), spent
    assert numpy.array_equal(a, right)
    if other is not None:
        assert numpy.array_equal(other, seen * 2 if use != "exported" else seen)


def test_a_pending_reader_sees_what_it_was_to_see():
    a, right = stored()
    readers = []
    for k in range(6):
        readers.append((a + k, right + k))
        a[k, 3] = right[k, 3] = 100 + k
        a[:, k] = right[:, k] = -k
        a[k] += 1
        right[k] += 1
    for mine, theirs in readers:
        assert numpy.array_equal(mine, theirs)
    assert numpy.array_equal(a, right)


def test_one_small_write_a_turn_keeps_a_lazy_loop_lazy():
    a, _ = stored()

    def work():
        b = a
        for k in range(8):
            b = b * 0.5 + 1
            b[0, k] = k
        return b

    assert counted(work)["round_trips"] == 0


def test_writes_of_pending_values_stay_lazy():
    a, _ = stored()
    b = np.asarray(numpy.ones((400, 300)))

    def work():
        for k in range(30):
            a[k] = (b * k).sum(axis=0)

    assert counted(work)["round_trips"] == 0
    assert a[29].tolist() == [29 * 400] * 300


def test_the_base_may_go_before_its_views():
    a, right = stored()
    rows = [a[i] for i in range(5)]
    del a
    assert rows[2].tolist() == right[2].tolist()
    rows[3][4] = 50
    big = np.ones((400, 300)) * rows[3]
    rows[3][5] = 60
    del rows[0]
    right[3, 4] = 50
    assert big[7].tolist() == right[3].tolist()
    assert float(rows[2][5]) == 60
    del rows
    again, _ = stored()
    assert float(again[0, 1]) == 1


def test_a_read_only_export_is_not_written():
    a, right = stored()
    shown = numpy.asarray(a)
    row = numpy.from_dlpack(a[5]) if hasattr(a, "__dlpack__") else numpy.asarray(a[5])
    memory = memoryview(a)
    for k in range(4):
        a[5, k] = -1
        a[5] += 1
    assert numpy.array_equal(shown, right)
    assert numpy.array_equal(row, right[5])
    assert numpy.array_equal(numpy.asarray(memory), right)


FORKED = """
import os, sys
import numpy, braze, braze.numpy as np
a = np.asarray(numpy.ones((300, 300))) + 1
braze.wait(a)
row = a[3]
row[1] = 5
pid = os.fork()
if pid == 0:
    try:
        row[1] = 7
        a[3, 2] = 8
        a[3] += 1
    except braze.BrazeError:
        os._exit(7)
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
assert a[3, :3].tolist() == [2, 5, 2]
print("done")
"""


def test_a_forked_child_does_not_write_its_parents_memory():
    env = near_mode.near_environment()
    done = subprocess.run([sys.executable, "-c", FORKED], env=env, text=True, capture_output=True,
                          timeout=60)
    assert done.stdout == "done\n", done.stderr


def test_a_mode_that_begins_while_a_fence_is_waited_for():
    """Another thread's block switches near off between the question and the answer."""
    over, wrong = threading.Event(), []

    def switch():
        while not over.is_set():
            with braze.eager():
                np.arange(3) + 1

    thread = threading.Thread(target=switch)
    old = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread.start()
    try:
        for k in range(300):
            x = np.zeros(50_000)
            x[1] = k
            view = x[:40]
            for got, want in ((view + view, 2 * k), (view * 3, 3 * k), (np.sqrt(view * view), k)):
                x[2] = 0
                if float(got[1]) != want:
                    wrong.append((k, want))
            x[3], view[4] = x[1], view[1]
            if (float(x[3]), float(x[4])) != (k, k):
                wrong.append((k, "assigned"))
    finally:
        over.set()
        thread.join()
        sys.setswitchinterval(old)
    assert not wrong


def test_a_matrix_that_was_multiplied_is_at_hand():
    a, r = np.asarray(numpy.random.default_rng(1).random((400, 400))), np.ones(400)
    m = a / 3
    first = float((m @ r).sum())
    before = braze.counters()["round_trips"]
    assert float((m @ r).sum()) == first
    assert braze.counters()["round_trips"] == before
    numpy.testing.assert_allclose(first, (numpy.asarray(a) / 3).sum())


def test_arrays_of_one_size_are_shipped_to_pages_that_are_there():
    """Fresh ones are most of what a copy costs."""
    theirs, pages = numpy.random.default_rng(1).random(12_000), []
    big = np.zeros(12_000) + np.zeros(400_000).sum()
    braze.wait(big)
    for _ in range(40):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        braze.wait(np.cbrt(np.asarray(theirs)) + big)
        pages.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    assert sorted(pages[20:])[10] < 12, pages
