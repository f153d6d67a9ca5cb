#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpuforeign.py - arrays on a GPU handed to CuPy, PyTorch and JAX in this process, and taken from them.

In:  a daemon beside it (../bin/brazed, or BRAZE_DAEMON), NumPy; those of the three libraries that
     can be imported and find a GPU.
Out: one line for each check and library ("ok", "not ok", "skip"), what the ways cost, exit
     status 1 where a check failed.

Each library is asked for the same: what it reads, that a version stays as it was, that a copy is
its own, streams with work on them, strided and odd shapes, lifetimes, and in the end the death
of the worker that the memory came from.
"""

import gc
import importlib
import os
import signal
import sys
import time

import numpy
from gpubench import DEVICE, Daemon

N = 1 << 20
results = {"ok": 0, "not ok": 0, "skip": 0}
libraries = []


def tell(what, name):
    results[what] += 1
    print(f"{what} - {name}", flush=True)


def library(cls):
    libraries.append(cls)
    return cls


class Library:
    """How one library takes, reads and makes arrays."""

    def __init__(self):
        self.module = importlib.import_module(self.imported)

    def shown(self, array):
        """By `__cuda_array_interface__`; None: the library has no way."""
        return None


@library
class Cupy(Library):
    name, imported = "CuPy", "cupy"

    def take(self, a):
        return self.module.from_dlpack(a)

    def shown(self, a):
        return self.module.asarray(a)

    def read(self, t):
        return self.module.asnumpy(t)

    def make(self, values):
        return self.module.asarray(values)

    def wait(self):
        self.module.cuda.runtime.deviceSynchronize()

    def writes(self, t):
        t[...] = 7

    def pending(self, n):
        """An array whose values are still being computed on a stream of its own."""
        stream = self.module.cuda.Stream(non_blocking=True)
        with stream:
            m = self.module.ones((2048, 2048), "f4")
            for _ in range(20):
                m = m @ m * 0 + 1
            return stream, self.module.zeros(n, "f4") + m[0, 0]

    def within(self, stream):
        return stream


@library
class Torch(Library):
    name, imported = "PyTorch", "torch"

    def __init__(self):
        super().__init__()
        self.module.zeros(1, device="cuda")

    def take(self, a):
        return self.module.from_dlpack(a)

    def shown(self, a):
        return self.module.as_tensor(a, device="cuda")

    def read(self, t):
        return t.cpu().numpy()

    def make(self, values):
        return self.module.from_numpy(numpy.ascontiguousarray(values)).cuda()

    def wait(self):
        self.module.cuda.synchronize()

    def writes(self, t):
        t.fill_(7)

    def pending(self, n):
        stream = self.module.cuda.Stream()
        with self.module.cuda.stream(stream):
            m = self.module.ones((2048, 2048), device="cuda")
            for _ in range(20):
                m = m @ m * 0 + 1
            return stream, self.module.zeros(n, device="cuda") + m[0, 0]

    def within(self, stream):
        return self.module.cuda.stream(stream)


@library
class Jax(Library):
    name, imported = "JAX", "jax"

    def __init__(self):
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        super().__init__()
        self.module.config.update("jax_enable_x64", True)
        if self.module.devices()[0].platform == "cpu":
            raise ImportError("JAX found no GPU")
        self.np = importlib.import_module("jax.numpy")

    def take(self, a):
        return self.np.from_dlpack(a)

    def read(self, t):
        return numpy.asarray(t)

    def make(self, values):
        return self.module.device_put(values)

    def wait(self):
        pass


class Checks:
    """Of one library; every method that begins with check_ is one."""

    def __init__(self, lib, daemon):
        self.lib, self.daemon = lib, daemon
        self.braze = importlib.import_module("braze")
        self.np = importlib.import_module("braze.numpy")
        self.values = numpy.arange(N, dtype="f4") % 1000

    def array(self, values=None, factor=2):
        """values * factor, which lies on the device."""
        with self.braze.device(DEVICE):
            x = self.np.asarray(self.values if values is None else values) * factor
        self.braze.wait(x)
        return x

    def same(self, got, wanted):
        got = numpy.asarray(got)
        assert got.dtype == wanted.dtype and got.shape == wanted.shape, (got.dtype, got.shape)
        assert (got == wanted).all(), f"{(got != wanted).sum()} values differ"

    def check_where_it_lies(self):
        y = self.array()
        before = self.braze.counters()["exported"]
        self.same(self.lib.read(self.lib.take(y)), self.values * 2)
        assert self.braze.counters()["exported"] > before, "it went by the host"

    def check_a_version_stays(self):
        y = self.array()
        t = self.lib.take(y)
        with self.braze.device(DEVICE):
            y *= 3
        self.same(numpy.asarray(y), self.values * 6)
        self.same(self.lib.read(t), self.values * 2)
        del y
        gc.collect()
        self.array()
        self.same(self.lib.read(t), self.values * 2)

    def check_views_types_shapes(self):
        for dtype in ("f8", "i4", "u1", "c16", "f2"):
            values = numpy.arange(6000).reshape(60, 100).astype(dtype)
            with self.braze.device(DEVICE):
                y = self.np.asarray(values) + self.np.asarray(values)
            wanted = values + values
            self.braze.wait(y)
            self.same(self.lib.read(self.lib.take(y)), wanted)
            self.same(self.lib.read(self.lib.take(y[10:20])), wanted[10:20])
            if self.lib.name != "JAX":  # takes dense arrays only
                self.same(self.lib.read(self.lib.take(y.T)), wanted.T)
                self.same(self.lib.read(self.lib.take(y[::2, 3:50:7])), wanted[::2, 3:50:7])

    def check_the_interface(self):
        y = self.array()
        shown = self.lib.shown(y)
        if shown is not None:
            self.same(self.lib.read(shown), self.values * 2)
            self.lib.writes(shown)
            self.lib.wait()
            self.same(numpy.asarray(y), self.values * 2)

    def check_taken(self):
        t = self.lib.make(self.values)
        before = self.braze.counters()
        with self.braze.device(DEVICE):
            x = self.np.from_dlpack(t)
            y = x + 1
        self.same(numpy.asarray(y), self.values + 1)
        after = self.braze.counters()
        assert after["brought"] > before["brought"], f"it came by the host: {after}"

    def check_taken_strided(self):
        if self.lib.name == "JAX":
            return
        values = numpy.arange(6000, dtype="f8").reshape(60, 100)
        t = self.lib.make(values)
        for theirs, wanted in ((t.T, values.T), (t[3:40:2, ::3], values[3:40:2, ::3])):
            with self.braze.device(DEVICE):
                self.same(numpy.asarray(self.np.from_dlpack(theirs) * 2), wanted * 2)

    def check_taken_behind_its_stream(self):
        """Its values are not there yet when it is taken, on a stream that nobody waited for."""
        if not hasattr(self.lib, "pending"):
            return
        for _ in range(5):
            stream, t = self.lib.pending(N)
            with self.lib.within(stream), self.braze.device(DEVICE):
                x = self.np.from_dlpack(t)
            self.same(numpy.asarray(x * 2), numpy.full(N, 2, "f4"))

    def check_given_to_a_stream(self):
        if not hasattr(self.lib, "pending"):
            return
        for k in range(20):
            stream, _ = self.lib.pending(8)
            y = self.array(factor=k)
            with self.lib.within(stream):
                t = self.lib.take(y)
                del y
                twice = t + t
                del t
            self.lib.wait()
            self.same(self.lib.read(twice), self.values * numpy.float32(2 * k))

    def check_there_and_back(self):
        y = self.array()
        for _ in range(10):
            with self.braze.device(DEVICE):
                y = self.np.from_dlpack(self.lib.take(y)) + 1
        self.same(numpy.asarray(y), self.values * 2 + 10)

    def check_nothing_is_left(self):
        def used():
            gc.collect()
            self.braze.wait(self.array())
            return self.daemon.device()["used_bytes"]

        first = used()
        for _ in range(50):
            self.lib.take(self.array())
        self.lib.wait()
        deadline = time.monotonic() + 5
        while used() > first + 8 * N and time.monotonic() < deadline:
            time.sleep(0.05)
        assert used() <= first + 8 * N, (first, used())

    def check_a_worker_that_dies(self):
        """What the library has stays readable; the array is lost, by name, or made again."""
        y = self.array()
        t = self.lib.take(y)
        self.lib.wait()
        old = self.worker()
        os.kill(old, signal.SIGKILL)
        time.sleep(0.3)
        self.same(self.lib.read(t), self.values * 2)
        try:
            self.same(numpy.asarray(y), self.values * 2)
        except self.braze.LostError:
            pass
        deadline = time.monotonic() + 20
        while self.worker() in (None, old) or self.daemon.device()["state"] != "usable":
            assert time.monotonic() < deadline, "no worker came"
            time.sleep(0.1)
        self.same(self.lib.read(self.lib.take(self.array())), self.values * 2)
        self.same(self.lib.read(t), self.values * 2)

    def worker(self):
        return self.daemon.device()["worker_pid"] or None


def cost(lib, checks):
    """Milliseconds to hand over 400 MB the first time and again, and to take as much."""
    y = checks.array(numpy.ones(100_000_000, "f4"))
    took = []
    for _ in range(3):
        begin = time.perf_counter()
        t = lib.take(y)
        lib.wait()
        took.append(time.perf_counter() - begin)
        del t
    theirs = lib.make(numpy.ones(100_000_000, "f4"))
    lib.wait()
    for _ in range(2):
        begin = time.perf_counter()
        with checks.braze.device(DEVICE):
            x = checks.np.from_dlpack(theirs)
        checks.braze.wait(x)
        took.append(time.perf_counter() - begin)
        del x
    print(f"# {lib.name}, 400 MB, ms: given {took[0] * 1e3:.2f}, again {took[1] * 1e3:.2f}, "
          f"{took[2] * 1e3:.2f}; taken {took[3] * 1e3:.2f}, again {took[4] * 1e3:.2f}", flush=True)


def main():
    daemon = Daemon()
    os.environ["BRAZE_SOCKET"] = daemon.socket
    os.environ["BRAZE_DEVICE"] = DEVICE
    for cls in libraries:
        try:
            lib = cls()
        except Exception as reason:
            tell("skip", f"{cls.name}: {reason}")
            continue
        checks = Checks(lib, daemon)
        for name in (n for n in dir(checks) if n.startswith("check_")):
            said = f"{lib.name}: {name[6:].replace('_', ' ')}"
            try:
                getattr(checks, name)()
                tell("ok", said)
            except Exception as reason:
                tell("not ok", f"{said}: {type(reason).__name__}: {str(reason)[:300]}")
        try:
            cost(lib, checks)
        except Exception as reason:
            tell("not ok", f"{lib.name}: what it costs: {reason}")
    daemon.close()
    print(f"# {results}")
    return 1 if results["not ok"] or not results["ok"] else 0


if __name__ == "__main__":
    sys.exit(main())
