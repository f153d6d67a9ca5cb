# SPDX-License-Identifier: Apache-2.0
"""Random sequences of what can be done with arrays on a GPU that others have as well: made, written,
exported in each way, taken back, dropped, and the worker's death.  Every byte is compared with NumPy's.

Arguments: seed, sequences, the daemon's process id, whether workers die."""

import gc
import os
import random
import signal
import sys
import time

import foreign_gpu
import numpy

import braze
import braze.numpy as np

seed, count, daemon, deaths = (int(a) for a in sys.argv[1:5])
TYPES = ["f8", "f4", "i8", "i4", "u1", "c16", "?"]


def worker():
    """The process of the GPU's worker; None: there is none just now."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as stat, open(f"/proc/{pid}/maps") as maps:
                if int(stat.read().rsplit(")", 1)[1].split()[1]) == daemon and "libcuda.so" in maps.read():
                    return int(pid)
        except OSError:
            continue
    return None


def held(pid):
    """Mappings and descriptors of exported memory that a process has."""
    with open(f"/proc/{pid}/maps") as maps:
        n = maps.read().count("standin-memory-")
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            n += "standin-memory-" in os.readlink(f"/proc/{pid}/fd/{fd}")
        except OSError:
            continue
    return n


class Sequence:
    def __init__(self, rng):
        self.rng = rng
        self.arrays = []  # of braze, with what they are to be
        self.given = []  # what another library has, with what it is to be
        self.done = dict.fromkeys(STEPS, 0)

    def data(self):
        shape = tuple(self.rng.randrange(1, 40) for _ in range(self.rng.randrange(1, 4)))
        if self.rng.random() < 0.2:
            shape = (self.rng.randrange(10000, 60000),)
        values = numpy.arange(numpy.prod(shape)).reshape(shape) * self.rng.randrange(1, 5) % 113
        return values.astype(self.rng.choice(TYPES))

    def pick(self):
        return self.rng.choice(self.arrays) if self.arrays else self.make()

    def make(self):
        data = self.data()
        other = data | True if data.dtype == bool else data + data.dtype.type(3)
        a = np.asarray(data)
        self.arrays.append([a | True if data.dtype == bool else a + data.dtype.type(3), other])
        return self.arrays[-1]

    def write(self):
        a = self.pick()
        value = a[1].dtype.type(self.rng.randrange(2))
        part = slice(self.rng.randrange(a[1].shape[0]), None) if self.rng.random() < 0.5 else ...
        a[0][part] = value
        a[1] = a[1].copy()
        a[1][part] = value

    def view(self):
        a = self.pick()
        way = self.rng.choice(["step", "back", "turn"])
        if way == "turn":
            return a[0].T, a[1].T
        step = slice(None, None, 2 if way == "step" else -1)
        return a[0][step], a[1][step]

    def put(self, taken, wanted):
        assert taken.shape == wanted.shape and taken.dtype == wanted.dtype, (taken.shape, taken.dtype)
        self.given.append((taken, wanted.copy()))

    def on_gpu(self, array):
        return array.__dlpack_device__()[0] == 2

    def share(self):
        a, wanted = self.view() if self.rng.random() < 0.3 else self.pick()
        if self.on_gpu(a):
            self.put(foreign_gpu.take(a, on=STREAM if self.rng.random() < 0.5 else None), wanted)
            assert self.given[-1][0].flags == 1

    def copy(self):
        a, wanted = self.pick()
        if not self.on_gpu(a):
            return
        way = {"version": None} if self.rng.random() < 0.5 else {"copy": True}
        taken = foreign_gpu.take(a, **way)
        new = wanted.copy()
        if new.size:  # it may be written, and nobody else sees that
            new.flat[0] = new.dtype.type(1)
            foreign_gpu.write(taken.address, new.ravel()[:1])
        self.put(taken, new)

    def show(self):
        a, wanted = self.pick()
        if not self.on_gpu(a):
            return
        (address, fixed), read = foreign_gpu.shown(a)
        assert not fixed and address == a.__cuda_array_interface__["data"][0]
        assert numpy.array_equal(read(), wanted)

    def bring(self):
        data = self.data()
        if self.rng.random() < 0.3:
            data = data[::-1].T
        kind = self.rng.choice([foreign_gpu.Array, foreign_gpu.Giver])
        theirs = kind(data, STREAM if self.rng.random() < 0.5 else None)
        if kind is foreign_gpu.Giver and self.rng.random() < 0.3:
            theirs.version = None
        self.arrays.append([braze.asarray(theirs), data])
        theirs.close()

    def drop(self):
        if self.arrays:
            self.arrays.pop(self.rng.randrange(len(self.arrays)))

    def close(self):
        if self.given:
            taken, wanted = self.given.pop(self.rng.randrange(len(self.given)))
            assert numpy.array_equal(taken.read(), wanted)
            taken.close()

    def read(self):
        a, wanted = self.pick()
        assert numpy.array_equal(numpy.asarray(a), wanted), (numpy.asarray(a), wanted)

    def check(self):
        for taken, wanted in self.given:
            assert numpy.array_equal(taken.read(), wanted)

    def die(self):
        pid = worker()
        if not deaths or self.rng.random() < 0.8 or not pid:
            return
        os.kill(pid, signal.SIGKILL)
        self.check()
        for _ in range(1000):  # until the daemon has noticed, and has another
            if worker() not in (None, pid):
                break
            time.sleep(0.01)
        self.lost()

    def lost(self):
        kept = []
        for a in self.arrays:
            try:
                assert numpy.array_equal(numpy.asarray(a[0]), a[1])
            except braze.LostError:
                LOST.append(1)
            else:
                kept.append(a)
        self.arrays = kept

    def run(self):
        for _ in range(12):
            step = self.rng.choice(STEPS)
            try:
                getattr(self, step)()
            except braze.LostError:
                if not deaths:
                    raise
                self.lost()
            self.done[step] += 1
        self.check()
        while self.given:
            self.close()


STEPS = ["make", "write", "share", "share", "copy", "show", "bring", "drop", "close", "read", "check", "die"]
STREAM = foreign_gpu.stream()
LOST = []
for k in range(count):
    one = Sequence(random.Random(f"{seed} {k}"))
    try:
        one.run()
    except BaseException:
        print(f"sequence {seed} {k}", file=sys.stderr)
        raise
    del one
gc.collect()
np.asarray(1.0).sum().item()
braze.wait(np.ones(5))
for _ in range(500):
    left = held("self"), held(worker()) if worker() else -1
    if left == (0, 0):
        break
    float((np.asarray(numpy.arange(5.0)) * 3).sum())
    time.sleep(0.02)
counters = braze.counters()
print(left[0], left[1], foreign_gpu.Array.live, len(LOST), counters["exported"], counters["brought"], counters["carried"])
