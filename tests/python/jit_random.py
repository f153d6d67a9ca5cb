# SPDX-License-Identifier: Apache-2.0
"""Random functions with loops over elements, as people write them, for `braze.jit`.

They stay where captured loops promise Python's answers: integers of Python's are kept small, float variables
meet float64 elements only, and what is stored fits.
"""

SIZE = 6
ARRAYS = {"x": "float64", "y": "float64", "k": "int64", "b": "uint8", "a": "float64"}  # a: SIZE by SIZE


class Program:
    def __init__(self, rng):
        self.rng = rng
        self.lines = []
        self.ints, self.floats = ["n", "m"], ["s", "t"]
        self.flags = ["done"]
        self.loops = 0
        self.line(1, "n, m, s, t = 1, 2, 0.5, -1.25")
        self.line(1, "done = False")
        for _ in range(rng.randrange(1, 3)):
            self.for_loop(1, [])
        self.line(1, "return n, m, s, t, done")
        self.text = "\n".join(["def f(x, y, k, b, a):", *self.lines, ""])
        self.data = rng.randrange(1 << 30)

    def arrays(self, np):
        g = np.random.default_rng(self.data)
        made = {name: g.integers(0, 7, SIZE).astype(dtype) for name, dtype in ARRAYS.items()}
        made["x"] *= 0.25
        made["a"] = g.integers(-4, 5, (SIZE, SIZE)) / 8
        return made

    def line(self, depth, text):
        self.lines.append("    " * depth + text)

    def pick(self, *choices):
        return self.rng.choice(choices)

    # ---- Statements ----

    def block(self, depth, counters, in_loop=True):
        kinds = ["int", "float", "flag", "store", "store", "update"]
        kinds += ["branch", "for_loop", "while_loop"] if depth < 4 else []
        kinds += ["leave"] if in_loop else []
        for _ in range(self.rng.randrange(1, 4)):
            kind = self.rng.choice(kinds)
            getattr(self, kind + "_" if kind in ("int", "float") else kind)(depth, counters)

    def int_(self, depth, counters):
        name = self.rng.choice(self.ints)
        if self.rng.random() < 0.2:
            self.line(depth, f"n, m = m, {self.whole(1, counters)} % 11")
        else:
            self.line(depth, f"{name} = {self.whole(2, counters)} % {self.pick(5, 13, 97)}")

    def float_(self, depth, counters):
        name = self.rng.choice(self.floats)
        self.line(depth, f"{name} {self.pick('=', '+=', '-=')} {self.real(2, counters)}")

    def flag(self, depth, counters):
        self.line(depth, f"done = {self.truth(2, counters)}")

    def store(self, depth, counters):
        kind = self.rng.randrange(4)
        at = self.at(counters)
        if kind == 0:
            self.line(depth, f"k[{at}] = {self.whole(2, counters)} % 50")
        elif kind == 1:
            self.line(depth, f"b[{at}] = {self.whole(1, counters)} & 127")
        elif kind == 2:
            self.line(depth, f"a[{at}, {self.at(counters)}] = {self.real(2, counters)}")
        else:
            self.line(depth, f"{self.pick('x', 'y')}[{at}] = {self.real(2, counters)}")

    def update(self, depth, counters):
        target = self.pick(f"x[{self.at(counters)}]", f"y[{self.at(counters)}]",
                           f"a[{self.at(counters)}][{self.at(counters)}]")
        self.line(depth, f"{target} {self.pick('+=', '-=', '*=')} {self.real(1, counters)} % 3.0")

    def branch(self, depth, counters):
        self.line(depth, f"if {self.truth(2, counters)}:")
        self.block(depth + 1, counters)
        if self.rng.random() < 0.4:
            self.line(depth, f"elif {self.truth(1, counters)}:")
            self.block(depth + 1, counters)
        if self.rng.random() < 0.4:
            self.line(depth, "else:")
            self.block(depth + 1, counters)

    def for_loop(self, depth, counters):
        self.loops += 1
        name = f"i{self.loops}"
        turns = self.pick("range(len(x))", "range(SIZE - 1, -1, -1)", "range(1, SIZE, 2)",
                          f"range(min({self.rng.choice(counters) if counters else 3}, SIZE))",
                          "reversed(range(a.shape[1]))", "enumerate(y)")
        if turns == "enumerate(y)":
            self.line(depth, f"for {name}, e{self.loops} in {turns}:")
            self.line(depth + 1, f"s = s * 0.5 + e{self.loops}")
        else:
            self.line(depth, f"for {name} in {turns}:")
        self.block(depth + 1, [*counters, name])

    def while_loop(self, depth, counters):
        self.loops += 1
        name = f"w{self.loops}"
        self.line(depth, f"{name} = 0")
        self.line(depth, f"while {name} < {self.rng.randrange(1, 5)} and {self.truth(1, counters)}:")
        self.line(depth + 1, f"{name} += 1")
        self.block(depth + 1, [*counters, name])

    def leave(self, depth, counters):
        word = self.pick("break", "continue", "continue", "return n, m, s, t, done")
        self.line(depth, f"if {self.truth(1, counters)} and {self.truth(1, counters)}:")
        self.line(depth + 1, word)

    # ---- Expressions ----

    def at(self, counters):
        if counters and self.rng.random() < 0.7:
            return self.rng.choice(counters)
        return self.pick(str(self.rng.randrange(-SIZE, SIZE)), "n % SIZE", "-1 - m % SIZE")

    def whole(self, depth, counters):
        if not depth:
            return self.pick("n", "m", str(self.rng.randrange(-9, 10)), f"int(k[{self.at(counters)}])",
                             f"int(b[{self.at(counters)}])", *counters)
        a, b = self.whole(depth - 1, counters), self.whole(depth - 1, counters)
        return self.pick(f"({a} {self.pick('+', '-', '*', '&', '|', '^')} {b})", f"abs({a})", f"-({a})",
                         f"({a} // {self.pick(3, -4, 7)})", f"({a} % {self.pick(3, -4, 7)})",
                         f"min({a}, {b})", f"max({a}, {b})", f"({a} << 2 >> 1)", f"~({a})",
                         f"({a} if {self.truth(depth - 1, counters)} else {b})",
                         f"int({self.truth(depth - 1, counters)})")

    def real(self, depth, counters):
        if not depth:
            return self.pick("s", "t", "0.75", f"x[{self.at(counters)}]", f"y[{self.at(counters)}]",
                             f"a[{self.at(counters)}, {self.at(counters)}]", "float(n)", "SCALE")
        a, b = self.real(depth - 1, counters), self.real(depth - 1, counters)
        return self.pick(f"({a} {self.pick('+', '-', '*')} {b})", f"({a} / ({b} * {b} + 1.0))",
                         f"abs({a})", f"min({a}, {b})", f"max({b}, {a}, 0.5)", f"({a} % 2.5)",
                         f"np.floor({a})", f"helper({a}, {b})", f"({a} // 1.5)",
                         f"({a} if {self.truth(depth - 1, counters)} else {b})",
                         f"({a} + {self.whole(0, counters)})", f"math.sqrt(abs({a}))")

    def truth(self, depth, counters):
        if not depth:
            return self.pick("done", f"{self.real(0, counters)} {self.pick('<', '>=', '!=')} "
                             f"{self.real(0, counters)}",
                             f"{self.whole(0, counters)} {self.pick('<', '>', '==')} {self.whole(0, counters)}")
        a, b = self.truth(depth - 1, counters), self.truth(depth - 1, counters)
        return self.pick(f"({a} and {b})", f"({a} or {b})", f"(not {a})",
                         f"{self.whole(0, counters)} <= {self.whole(0, counters)} < 6",
                         f"({self.whole(1, counters)} > 2)", f"bool({self.real(1, counters)} > 0)")


HELPERS = f"""
import math
import numpy as np
SIZE, SCALE = {SIZE}, 1.5

def helper(u, v):
    if u > v:
        return u - v
    while v > 4.0:
        v = v * 0.5
    return v + 0.25
"""
