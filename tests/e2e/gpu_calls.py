# SPDX-License-Identifier: Apache-2.0
"""A program on cuda:0 of the stand-in, and the calls of a vendor's library that its worker has made."""

import pathlib

import pytest
from gpu import Gpu
from test_cuda_calls import counted


class Caller:
    """A talker that has done `setup`, and what was called of the functions whose names begin with `prefix`."""

    def __init__(self, gpu, path, setup, prefix):
        self.gpu, self.path, self.setup, self.prefix = gpu, path, setup, prefix
        self.talker = gpu.talker()
        self.talker.do(setup)
        self.seen = counted(path)

    def another(self):
        """Of the same worker."""
        return Caller(self.gpu, self.path, self.setup, self.prefix)

    def do(self, code):
        return self.talker.do(code)

    def calls(self, prefix=None):
        """How many since this was asked last; none that asks for the size of a work area."""
        now, before = counted(self.path), self.seen
        self.seen = now
        return sum(n - before.get(k, 0) for k, n in now.items()
                   if k.startswith(prefix or self.prefix) and not k.endswith("bufferSize"))


def start(setup, prefix, **options):
    gpu = Gpu(**options)
    path = pathlib.Path(gpu.daemon.folder) / "calls"
    gpu.daemon.env["BRAZE_STANDIN"] += f",count={path}"
    gpu.__enter__()
    gpu.usable()
    return Caller(gpu, path, setup, prefix)


def fixtures(setup, prefix):
    """Three fixtures of a module: `shared`, its own; the same with all calls so far forgotten; `made`, which
    makes one on a daemon of the test's own."""

    @pytest.fixture(scope="module")
    def shared():
        caller = start(setup, prefix)
        yield caller
        caller.gpu.__exit__(None, None, None)

    @pytest.fixture
    def at_hand(shared):
        shared.calls()
        return shared

    @pytest.fixture
    def made():
        callers = []

        def make(**options):
            callers.append(start(setup, prefix, **options))
            return callers[-1]

        yield make
        for caller in callers:
            caller.gpu.__exit__(None, None, None)

    return shared, at_hand, made
