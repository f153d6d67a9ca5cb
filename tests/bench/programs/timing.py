# SPDX-License-Identifier: Apache-2.0
"""Calls of one program, timed in turns: what the processes of run_programs.py share."""

import os
import threading
import time

import numpy

ROUNDS = 15
SHORT = 1e-3  # seconds; a shorter call is timed five times as often


class Call:
    """A program with its inputs in one array module."""

    def __init__(self, program, module, inputs, finish, copy, function=None):
        self.program, self.module, self.finish, self.copy = program, module, finish, copy
        self.function = function or program.function
        self.inputs = inputs

    def __call__(self):
        """Seconds, the answer, and the arguments it got; copies are made before."""
        arguments = self.inputs
        if self.program.writes:
            arguments = tuple(self.copy(x) if hasattr(x, "shape") else x for x in arguments)
            self.finish(arguments)
        start = time.perf_counter()
        answer = self.function(self.module, *arguments)
        self.finish((answer, arguments) if self.program.writes else answer)
        return time.perf_counter() - start, answer, arguments


def numpy_call(program, size):
    return Call(program, numpy, program.inputs(numpy, *size), lambda _: None, numpy.copy)


def others_sleep():
    """Wait for this process's other threads: those of a library of NumPy's spin for a while
    after a product, on a core that who is timed next would use."""
    end = time.perf_counter() + 2
    while time.perf_counter() < end and any(map(_runs, os.listdir("/proc/self/task"))):
        time.sleep(0.005)


def _runs(task):
    if int(task) == threading.get_native_id():
        return False
    try:
        with open(f"/proc/self/task/{task}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "R"
    except (FileNotFoundError, ProcessLookupError):
        return False  # it has ended


def alternate(calls, rounds, budget):
    """Seconds of each call, in turns: as many rounds as asked for and as the budget allows."""
    times = [[] for _ in calls]
    begin = time.perf_counter()
    while True:
        for call, own in zip(calls, times, strict=True):
            others_sleep()
            own.append(call()[0])
        done, spent = len(times[0]), time.perf_counter() - begin
        wanted = rounds if max(map(max, times)) > SHORT else 5 * rounds
        if done >= wanted or spent + spent / done > budget:
            return times
