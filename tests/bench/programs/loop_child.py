# SPDX-License-Identifier: Apache-2.0
"""One program made of loops, timed: the processes of run_loops.py.

    python -m programs.loop_child NAME ROUNDS BUDGET SIZE...

A line of JSON for each size: seconds of warm calls of each way to run it, NumPy's among them where it has an
array form, at the test size plain Python's, too, and of the first call, at the first size; ROUNDS 0: of
that only.  Warm calls are told by the processor time of the calling thread, in which all of them run: what
else the machine does is not in it.
"""

import copy
import functools
import importlib
import inspect
import json
import statistics
import sys
import time
import types

import numpy as np

from .answers import wrong
from .loop_table import LOOPS
from .loops_numpy import array_form
from .timing import alternate


class Way:
    """A function with its inputs, called with copies of the arrays."""

    def __init__(self, function, arguments):
        self.function, self.arguments = function, arguments
        self.clock = time.perf_counter

    def __call__(self):
        arguments = tuple(np.copy(a) if isinstance(a, np.ndarray) else a for a in self.arguments)
        start = self.clock()
        answer = self.function(*arguments)
        return self.clock() - start, answer, arguments


def in_a_copy(function, make):
    """The function as make(f, names) makes it and its helpers, in a copy of its module's names."""
    module = importlib.import_module(function.__module__)
    names = dict(vars(module))
    for name, f in vars(module).items():
        if inspect.isfunction(f) and f.__module__ == module.__name__:
            names[name] = make(f, names)
    return names[function.__name__]


def numba_function(function):
    """Under @njit."""
    import numba

    return in_a_copy(function, lambda f, names: numba.njit(
        types.FunctionType(f.__code__, names, f.__name__, f.__defaults__)))


def sites_of(program, runs):
    return [site for f in program.captured(runs) for site in f.__braze_jit__.sites]


def compiled(sites):
    """Have the daemon compile all kernels that there are by now, and wait."""
    from braze import _core

    for site in sites:
        for specials in site.specials.values():
            for special in specials:
                if special.kernel is not None:
                    why = _core.kernel_compile(special.kernel)
                    if why:
                        raise RuntimeError(why)


def same(have, want, program):
    """Other ways' numbers may have other types."""
    parts = lambda answer: answer if isinstance(answer, tuple) else (answer,)  # noqa: E731
    have, want = parts(have), parts(want)
    if len(have) != len(want):
        return "another number of results"
    rule = "reduction" if program.check in ("exact", "element") else program.check
    for mine, right in zip(have, want):
        right = np.asarray(right)
        fault = wrong(np.asarray(mine).astype(right.dtype), right, rule)
        if fault:
            return fault
    return None


def counted(way, sites):
    """Calls of kernels and round trips of one warm call."""
    import braze

    before = sum(site.calls for site in sites), braze.counters()["round_trips"]
    way()
    return {"calls": sum(site.calls for site in sites) - before[0],
            "round_trips": braze.counters()["round_trips"] - before[1]}


def measure(program, runs, numbas, size, rounds, budget):
    arguments = program.arguments(size)
    ways, out = {"braze": Way(runs, arguments)}, {}
    out["braze_first"], answer, after = ways["braze"]()
    answer = copy.deepcopy(answer)
    sites = sites_of(program, runs)
    if rounds:
        compiled(sites)
        out.update(counted(ways["braze"], sites))
    if size == "test":
        ways["python"] = Way(program.twin, arguments)
        fault = wrong(answer, ways["python"]()[1], program.check)
        if fault:
            raise RuntimeError(f"another answer than Python's: {fault}")
    try:
        if program.units:
            raise TypeError("work units are braze's")
        ways["numba"] = Way(numbas(program.function), arguments)
        out["numba_first"], theirs, _ = ways["numba"]()
        fault = same(theirs, answer, program)
        if fault:
            raise ValueError(f"another answer: {fault}")
    except Exception as error:  # what Numba cannot run is a finding about it, no failure
        text = str(error).strip().splitlines() or [""]
        out["numba_none"] = f"{type(error).__name__}: {text[0]}"[:120]
        out.pop("numba_first", None)
        ways.pop("numba", None)
    if not rounds:
        return out
    arrays = array_form(program.name)
    if arrays:
        ways["numpy"] = Way(arrays, arguments)
        fault = same(ways["numpy"]()[1], answer, program)
        if fault:
            raise RuntimeError(f"another answer than NumPy's: {fault}")
    for way in ways.values():
        way.clock = time.thread_time
        way()
    for key, times in zip(ways, alternate(list(ways.values()), rounds, budget)):
        out[key], out[f"{key}_best"] = statistics.median(times), min(times)
    return out


def main():
    name, rounds, budget, *sizes = sys.argv[1:]
    runs = LOOPS[name].runnable()
    numbas = functools.cache(numba_function)
    for size in sizes:
        out = measure(LOOPS[name], runs, numbas, size, int(rounds), float(budget))
        if size != sizes[0]:
            out.pop("braze_first", None)
            out.pop("numba_first", None)
        print(json.dumps(out), flush=True)


if __name__ == "__main__":
    main()
