# SPDX-License-Identifier: Apache-2.0
"""Random functions with loops that reach where captured loops may go wrong: indices out of bounds, read from
arrays or of triangles, integers that wrap, arguments that overlap, slices, functions that write.

What Python does is the reference: values, what is left in the arrays, and the line of an error.
"""

import gc
import linecache
import random
import re
import traceback
import warnings

import braze
import numpy as np
from braze import _core, jit
from jit_checks import same
from jit_random import HELPERS, SIZE, Program

INTEGERS = {"e": "int64", "c": "int8", "d": "int32", "u": "uint64", "b": "uint8"}
EDGES = {name: sorted({int(v) for v in (np.iinfo(t).min, np.iinfo(t).max, np.iinfo(t).max // 2, 0, 1, 3)}
                      | ({-1} if t[0] == "i" else set())) for name, t in INTEGERS.items()}
ROOM = 3 * SIZE

MORE = """
def poke(r, i, v):
    old = r[i]
    r[i] = v
    return old

def ramp(r, step):
    for i in range(1, len(r)):
        if r[i] > 40.0:
            return
        r[i] = r[i - 1] * 0.5 + step

def place(r, v):
    for i in range(len(r)):
        if r[i] > v:
            return i
    return -1
"""


class Wild(Program):
    """f(x, y, k, b, a, e, c, d, u, h); x and y lie in one buffer."""

    def __init__(self, rng):
        self.bounds = rng.choice((0, 0.02, 0.1, 0.1))  # how often an index is wrong
        super().__init__(rng)
        self.text = self.text.replace("def f(x, y, k, b, a):", "def f(x, y, k, b, a, e, c, d, u, h):")
        self.text = f"{HELPERS}{MORE}\n{self.text}"

    def arrays(self, np=np):
        """Fresh ones, with guards around them: the arguments and all memory."""
        g = np.random.default_rng(self.data)
        memory = {"xy": g.integers(-8, 9, ROOM) / 4}
        made = {}
        for name in "xy":
            step = int(g.choice((1, 1, -1, 2)))
            first = int(g.integers(0, ROOM - 2 * SIZE)) if step > 0 else int(g.integers(SIZE, ROOM))
            made[name] = memory["xy"][first::step][:SIZE]
        for name, dtype in INTEGERS.items():
            edges = np.array(EDGES[name], dtype)
            small = g.integers(0, 7, SIZE + 2).astype(dtype)
            memory[name] = np.where(g.random(SIZE + 2) < 0.5, g.choice(edges, SIZE + 2), small)
            made[name] = memory[name][1:-1]
        memory["k"] = g.integers(0, SIZE + (g.random() < 0.1), SIZE + 2)
        memory["h"] = (g.integers(-8, 9, SIZE + 2) / 4).astype(np.float32)
        memory["a"] = (g.integers(-4, 5, (SIZE + 2, SIZE + 2)) / 8).copy(order=g.choice(["C", "F"]))
        made |= {"k": memory["k"][1:-1], "h": memory["h"][-2:0:-1], "a": memory["a"][1:-1, 1:-1]}
        return made, memory

    # ---- Statements ----

    def store(self, depth, counters):
        kind = self.rng.randrange(8)
        at = self.at(counters)
        if kind < 3:
            super().store(depth, counters)
        elif kind < 5:
            self.integer_store(depth, counters)
        elif kind == 5:
            self.line(depth, f"h[{at}] = h[{self.at(counters)}] * {self.pick('0.5', '2', 'float(s)')} "
                             f"{self.pick('+', '-')} {self.pick('h[0]', '1.25', 'n')}")
        elif kind == 6:
            self.slices(depth, counters)
        else:
            self.call(depth, counters)

    def integer_store(self, depth, counters):
        name = self.pick(*INTEGERS)
        at = self.at(counters)
        if self.rng.random() < 0.3:
            self.line(depth, f"{name}[{at}] {self.pick('+', '-', '*', '|', '&', '^')}= "
                             f"{self.pick(f'{name}[{self.at(counters)}]', '3')}")
        else:
            self.line(depth, f"{name}[{at}] = {self.element(2, name, counters)}")

    def slices(self, depth, counters):
        i = self.rng.choice(counters) if counters else "2"
        of = self.pick("x", "y", "x", "a[:, 1]", f"a[{self.at(counters)}]")
        to, source = (self.pick(("1:", ":-1"), (":-1", "1:"), ("::2", "::-2"), (f"{i}:", f":{SIZE} - {i}"),
                                (":", "::-1"), ("2:4", "1:3"), (f"{i}:{i} + 1", "0"), (":0", "3:3")))
        if source == "0":
            right = f"{self.real(1, counters)}"
        else:
            right = f"{self.pick('x', 'y')}[{source}] {self.pick('+', '-', '*')} {self.real(1, counters)}"
        place = f"{of}[{to}]" if "[" not in of else f"{of[:-1]}, {to}]" if of[2] != ":" else f"a[{to}, 1]"
        if self.rng.random() < 0.5:
            self.line(depth, f"{place} {self.pick('=', '+=', '-=')} {right}")
        else:
            self.line(depth, self.pick(f"n = int(np.sum(k[{to}])) % 23", f"s = s * 0.5 + np.max({of})",
                                       f"done = bool(np.any(e[{to}] > {self.whole(0, counters)}))"))

    def call(self, depth, counters):
        at, real = self.at(counters), self.real(1, counters)
        self.line(depth, self.pick(f"t = poke(x, {at}, {real})", f"poke(y, {at}, {real})",
                                   f"ramp({self.pick('x', 'y')}, {real})", f"ramp(a[{at}], {real})",
                                   f"n = place(y, {real})", f"k[{at}] = place(x, {real}) + 1"))

    def for_loop(self, depth, counters):
        if counters and self.rng.random() < 0.4:
            self.loops += 1
            name, i = f"i{self.loops}", self.rng.choice(counters)
            self.line(depth, f"for {name} in range({self.pick(f'{i}, SIZE', f'{i}', f'{i} + 1, len(x)', f'len(y) - 1, {i}, -1')}):")
            self.block(depth + 1, [*counters, name])
        else:
            super().for_loop(depth, counters)

    # ---- Expressions ----

    def at(self, counters):
        if self.rng.random() < self.bounds:
            return self.pick("n", f"{SIZE}", f"-{SIZE} - 1", "m - 7", "k[0] + n")
        if self.rng.random() < 0.25:
            return f"k[{super().at(counters)}] % SIZE"
        return super().at(counters)

    def element(self, depth, name, counters):
        """In the type of an array of integers, which wraps."""
        if not depth:
            return self.pick(f"{name}[{self.at(counters)}]", f"{name}[{self.at(counters)}]", "2", "3")
        a, b = self.element(depth - 1, name, counters), self.element(depth - 1, name, counters)
        if not any(f"{name}[" in v for v in (a, b)):
            return a
        if f"{name}[" not in a:
            a, b = b, a
        safe = f"({b} | 1)" if f"{name}[" in b else b
        return self.pick(f"({a} {self.pick('+', '-', '*', '&', '|', '^')} {b})", f"({a} // {safe})",
                         f"({a} % {safe})", f"(~{a})", f"abs({a})", f"min({a}, {a})", f"({a} >> 3)",
                         f"({a} << 2)", f"({a} if {self.truth(0, counters)} else {a})")

    def truth(self, depth, counters):
        if not depth and self.rng.random() < 0.3:
            name = self.pick(*INTEGERS)
            return (f"{name}[{self.at(counters)}] {self.pick('<', '>=', '==', '!=')} "
                    f"{self.pick(f'{name}[{self.at(counters)}]', '3', '100')}")
        return super().truth(depth, counters)


def function_of(program, seed):
    name = f"<wild {seed}>"
    linecache.cache[name] = (len(program.text), None, program.text.splitlines(True), name)
    space = {"__name__": "wild"}
    exec(compile(program.text, name, "exec"), space)
    return space["f"]


def outcome(function, program):
    """What it gives, or the error's class, place and words; all memory afterwards."""
    made, memory = program.arrays()
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(**made), memory
    except Exception as error:
        return (type(error), _line(error), _words(error)), memory


def _line(error):
    if ".py:" not in str(error) and str(error).startswith("<wild"):
        return int(str(error).split(":")[1])
    return [row.lineno for row in traceback.extract_tb(error.__traceback__) if row.filename.startswith("<wild")][-1]


def _words(error):
    """Without the array's name, which NumPy does not say, and the axis, which it counts in a[i] for a[i][j]."""
    text = str(error)
    text = text.split(": ", 1)[1] if text.startswith("<wild") else text
    return re.sub(r"axis \d( of '[a-z]+')?", "axis", text)


def difference(one, other):
    """What two outcomes differ in, or None."""
    (given, memory), (theirs, after) = one, other
    ended = any(isinstance(v[0], type) for v in (given, theirs))
    if not (given == theirs if ended else all(map(same, given, theirs))):
        return f"{given}, and {theirs}"
    return next((f"{name}: {memory[name]}, and {after[name]}" for name in memory
                 if not same(memory[name], after[name])), None)


def check(seed, compiled, rng, kind=Wild):
    """None or what differs; how many loops ran as kernels."""
    program = kind(rng)
    function = function_of(program, seed)
    want = outcome(function, program)
    if want[0][0] is OverflowError:
        return None, 0  # what does not fit its place wraps, and goes on: docs/python.md
    quick = jit(function)
    wrong = difference(want, outcome(quick, program))
    sites = quick.__braze_jit__.sites
    kernels = [s.kernel for site in sites for rows in site.specials.values() for s in rows if s.kernel]
    if not wrong and compiled and kernels:
        failed = [why for why in map(_core.kernel_compile, kernels) if why]
        wrong = failed[0] if failed else difference(want, outcome(quick, program))
        wrong = wrong and f"compiled: {wrong}"
    if wrong:
        return f"seed {seed}: {wrong}\n{program.text}\n{braze.explain(quick)}", 0
    return None, sum(bool(site.calls) for site in sites)


def check_all(seeds, kind=Wild, part=2):
    """The program of each seed; one in `part` has a kernel, or more of them."""
    kernels, failed = 0, []
    for seed in seeds:
        wrong, ran = check(seed, seed % 5 == 0, random.Random(seed), kind)
        kernels += ran
        failed += [wrong] if wrong else []
    gc.collect()  # captured functions go with their cycles, and only then the descriptors of their code
    assert not failed, f"{len(failed)} of {len(seeds)}\n{failed[0]}"
    assert kernels >= len(seeds) // part
