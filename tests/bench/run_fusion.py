#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels of loops in a row: as one loop, and as they are written (braze.unfused()).

run_fusion.py [--size cache|memory] [NAME ...].  The groups of calls that PyFuser fuses (ISSTA'25), each
as one kernel.  Of each: loops before and after, and how many times quicker it is as one: compiled, and
by the code that is made at once.

run_fusion.py --calls [--size test|small|large] [NAME ...].  Its programs as functions that call work units
one after the other, under braze.jit: calls of kernels with and without unfused(), and how many times quicker
it is without.  Both compiled, the arrays the same memory in each turn.  Beside it what bytes would allow at
most: those that the calls move one after the other beyond the second and the last cache, where each finds what
the ones before have left there, by those of one that reads and writes everything once.
"""
import argparse
import ast
import inspect
import statistics
import sys
import time
from pathlib import Path

import numpy as np
from programs import loop_child
from programs.loop_table import LOOPS

import braze

EACH = "for i in 0..n {{ {} }}"
GRID = "for i in 0..n {{ for j in 0..n {{ {} }} }}"


def lines(*loops, form=EACH):
    return "\n".join(form.format(body) for body in loops)


def stream(names, count):
    return {name: np.full(count, value) for name, value in zip(names, (.1, .2, 0.0))}


def vectors(names, count):
    made = np.random.default_rng(0)
    return {name: made.random(count) for name in names}


def squares(names, count):
    side = max(int(count ** .5), 8)
    made = np.random.default_rng(0)
    return {name: made.random((side, side)) for name in names}


INTEGRATE = ["v{0}[i] += 0.00125 * f{0}[i]".format(k) for k in "xyz"]
MOVE = ["x{0}[i] += 0.005 * v{0}[i]".format(k) for k in "xyz"]
WRAP = ["if x{0}[i] > 9.0 {{ x{0}[i] -= 9.0 }} elif x{0}[i] < 0.0 {{ x{0}[i] += 9.0 }}".format(k) for k in "xyz"]
ATOMS = ["xx", "xy", "xz", "vx", "vy", "vz", "fx", "fy", "fz"]

# name: arrays, text, what makes them
PROGRAMS = {
    "babelstream": ("abc", lines("c[i] = a[i]", "b[i] = 0.4 * c[i]", "c[i] = a[i] + b[i]",
                                 "a[i] = b[i] + 0.4 * c[i]"), stream),
    "nstream": ("abc", lines(*["a[i] += b[i] + 3.0 * c[i]"] * 8), stream),
    "transpose": ("ab", lines(*["b[i, j] += a[j, i]; a[j, i] += 1.0"] * 4, form=GRID), squares),
    "jacobi_1d": ("ab", "for i in 1..n - 1 { b[i] = 0.33333 * (a[i - 1] + a[i] + a[i + 1]) }\n"
                        "for i in 1..n - 1 { a[i] = 0.33333 * (b[i - 1] + b[i] + b[i + 1]) }", stream),
    "fdtd_2d": ("abc", "for i in 1..n { for j in 0..n { a[i, j] -= 0.5 * (c[i, j] - c[i - 1, j]) } }\n"
                       "for i in 0..n { for j in 1..n { b[i, j] -= 0.5 * (c[i, j] - c[i, j - 1]) } }\n"
                       "for i in 0..n - 1 { for j in 0..n - 1 {"
                       " c[i, j] -= 0.7 * (b[i, j + 1] - b[i, j] + a[i + 1, j] - a[i, j]) } }", squares),
    "mvt": ("axyuv", lines("let s = 0.0; for j in 0..n { s += a[i, j] * u[0, j] }; x[0, i] += s",
                           "let s = 0.0; for j in 0..n { s += a[j, i] * v[0, j] }; y[0, i] += s"), squares),
    "covariance": ("am", lines("let s = 0.0; for k in 0..n { s += a[k, i] }; m[0, i] = s / float64(n)",
                               "for k in 0..n { a[k, i] -= m[0, i] }"), squares),
    "syrk": ("ac", lines("for j in 0..i + 1 { c[i, j] *= 1.2 }",
                         "for k in 0..16 { for j in 0..i + 1 { c[i, j] += 1.5 * a[i, k] * a[j, k] } }"), squares),
    "syr2k": ("abc", lines("for j in 0..i + 1 { c[i, j] *= 1.2 }",
                           "for k in 0..16 { for j in 0..i + 1 {"
                           " c[i, j] += 1.5 * a[j, k] * b[i, k] + 1.5 * b[j, k] * a[i, k] } }"), squares),
    "bayes: Z": ("xtvsj", lines("t[i] = x[i] - 0.5", "t[i] = t[i] * t[i]", "s[i] = t[i] / v[i]", "j[i] -= 0.5 * s[i]"),
                 vectors),
    "bayes: log": ("vst", lines("s[i] = 6.28 * v[i]", "t[i] = log(s[i])", "s[i] = -0.5 * t[i]"), vectors),
    "examinimd: FI II": (ATOMS, lines("; ".join(INTEGRATE), "; ".join(INTEGRATE), "; ".join(MOVE)), vectors),
    "examinimd: FI II E": (ATOMS, lines("; ".join(INTEGRATE), "; ".join(INTEGRATE), "; ".join(MOVE), *WRAP), vectors),
}
SIZES = {"cache": 60_000, "memory": 8_000_000}


def kernel_of(name):
    names, body, make = PROGRAMS[name]
    axes = ":,:" if make is squares else ":"
    heading = ", ".join(f"inout {a}: float64[{axes}]" for a in names)
    return braze.kernel_from_text(f"kernel program({heading}, n: int64) {{\n{body}\n}}")


def call(kernel, arrays):
    begun = time.process_time()
    kernel(*arrays.values(), len(next(iter(arrays.values()))))
    return time.process_time() - begun


def ratio(kernel, arrays, turns=9):
    """Turns of both by turns: what disturbs one disturbs the other."""
    call(kernel, arrays)
    rows = []
    for _ in range(turns):
        one = call(kernel, arrays)
        with braze.unfused():
            rows.append((one, call(kernel, arrays)))
    return statistics.median(b for _, b in rows) / statistics.median(a for a, _ in rows)


def loops_of(name, kernel, arrays):
    text = str(braze.explain(kernel, *arrays.values(), len(next(iter(arrays.values())))))
    body = PROGRAMS[name][1]
    before = sum(line.startswith("for i") for line in body.splitlines())
    joined = sum(len(line.split("one loop with ")[1].split(",")) for line in text.splitlines() if "one loop with" in line)
    return before, before - joined


def measure(name, size):
    names, _, make = PROGRAMS[name]
    kernel = kernel_of(name)
    arrays = make(names, SIZES[size])
    at_once = ratio(kernel, arrays, 5) if size == "cache" else None
    kernel.compile()
    compiled = ratio(kernel, arrays)
    return (*loops_of(name, kernel, arrays), at_once, compiled)


# ---- Functions that call units ----

UNITS = {name: program for name, program in LOOPS.items() if program.units}


class Calls:
    """A program's function with its arguments, captured or as it is written."""

    def __init__(self, program, size):
        plain = program.function
        self.captured = braze.jit(getattr(plain, "py_func", plain))
        self.fresh = program.arguments(size)
        self.arguments = [np.copy(a) if isinstance(a, np.ndarray) else a for a in self.fresh]
        self.program = program

    @property
    def sites(self):
        """Its own and its units', of what has run."""
        units = self.program.captured(self.program.function) if self.program.units else ()
        return [site for f in (self.captured, *units) for site in f.__braze_jit__.sites]

    def restore(self):
        for have, want in zip(self.arguments, self.fresh):
            if isinstance(want, np.ndarray):
                have[...] = want

    def warm(self):
        """All kernels that it runs, joined and apart, are compiled."""
        self()
        with braze.unfused():
            self()
        loop_child.compiled(self.sites)

    def __call__(self):
        self.restore()
        begun = time.process_time()
        self.captured(*self.arguments)
        return time.process_time() - begun

    def counted(self):
        """Calls of kernels in one run."""
        before = sum(site.calls for site in self.sites)
        self()
        return sum(site.calls for site in self.sites) - before


def measure_calls(program, size, turns=15):
    run = Calls(program, size)
    run.warm()
    after = run.counted()
    with braze.unfused():
        before = run.counted()
    rows = []
    for _ in range(turns):
        one = run()
        with braze.unfused():
            rows.append((one, run()))
    apart, one = (statistics.median(column) for column in list(zip(*rows))[::-1])
    return before, after, apart, apart / one


# ---- What memory allows ----


def caches():
    """Bytes of the second and the last cache of core 0; where nobody tells, usual ones."""
    found = []
    for level, usual in (2, 1 << 20), (3, 32 << 20):
        file = Path(f"/sys/devices/system/cpu/cpu0/cache/index{level}/size")
        found.append(int(file.read_text().strip().removesuffix("K")) << 10 if file.exists() else usual)
    return found


def touched(unit):
    """name -> (is it written?, are its places read from memory?) of the arrays of a unit's function."""
    found = {}
    for node in ast.walk(ast.parse(inspect.getsource(unit.function).strip())):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            name, place, written = node.value.id, node.slice, isinstance(node.ctx, ast.Store)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "").startswith("atomic_"):
            name, place, written = node.args[0].id, node.args[1], True
        else:
            continue
        before = found.get(name, (False, False))
        found[name] = before[0] or written, before[1] or any(isinstance(n, ast.Subscript) for n in ast.walk(place))
    return found


class Moved:
    """Bytes that go into and out of a cache: what is touched stays there until as many others have been, what is
    written leaves it once more.  Places that are read from memory are found by no call."""

    def __init__(self, holds):
        self.holds, self.bytes, self.least, self.recent = holds, 0, {}, {}

    def touch(self, array, written, scattered):
        key, size = array.__array_interface__["data"][0], array.nbytes
        order = list(self.recent)
        later = order[order.index(key) + 1:] if key in self.recent else []
        _, dirty = self.recent.pop(key, (0, None))
        if size + sum(self.recent[other][0] for other in later) > self.holds:
            dirty = None
        cost = size * ((dirty is None) + (written and not dirty))
        self.bytes += cost
        self.recent[key] = size, bool(dirty or written)
        if scattered and size > self.holds:
            self.least[key, self.bytes] = cost
            del self.recent[key]
        else:
            self.least[key] = max(self.least.get(key, 0), size * (1 + written))

    @property
    def most(self):
        """By how many times they could be fewer: all read and written once."""
        return self.bytes / sum(self.least.values())


def most(program, size):
    """What each cache allows at most."""
    levels = [Moved(holds) for holds in caches()]
    real = {name: getattr(braze, name) for name in ("parallel_for", "parallel_reduce", "parallel_scan")}

    def noted(name):
        def call(policy, unit, **values):
            for array, how in touched(unit).items():
                if isinstance(values.get(array), np.ndarray):
                    for level in levels:
                        level.touch(values[array], *how)
            return real[name](policy, unit, **values)
        return call

    try:
        for name in real:
            setattr(braze, name, noted(name))
        program.function(*program.arguments(size))
    finally:
        for name, function in real.items():
            setattr(braze, name, function)
    return [level.most for level in levels]


def calls(names, size):
    print(f"{'program':<20}{'calls':>6}{'after':>6}{'ms':>9}{'ratio':>7}{'second':>8}{'last':>7}")
    columns = []
    for name in names or list(UNITS):
        before, after, apart, ratio = measure_calls(UNITS[name], size)
        columns.append((ratio, *most(UNITS[name], size)))
        print(f"{name:<20}{before:>6}{after:>6}{apart * 1e3:>9.3f}"
              "{:>7.2f}{:>8.2f}{:>7.2f}".format(*columns[-1]), flush=True)
    means = [statistics.geometric_mean(column) for column in zip(*columns)]
    print("geometric mean {:.2f}; bytes beyond the second cache {:.2f}, beyond the last {:.2f}".format(*means))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", action="store_true")
    parser.add_argument("--size", choices=["test", "small", "large", *SIZES])
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.calls:
        return calls(options.names, options.size or "small")
    return groups(options.names or list(PROGRAMS), options.size or "cache")


def groups(names, size):
    print(f"{'program':<20}{'loops':>6}{'after':>6}{'at once':>9}{'compiled':>9}")
    found = []
    for name in names:
        before, after, at_once, compiled = measure(name, size)
        found.append(compiled)
        early = "" if at_once is None else format(at_once, ".2f")
        print(f"{name:<20}{before:>6}{after:>6}{early:>9}{compiled:>9.2f}", flush=True)
    print(f"geometric mean {statistics.geometric_mean(found):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
