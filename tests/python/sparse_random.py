# SPDX-License-Identifier: Apache-2.0
"""Random loops whose indices and bounds are read from arrays: gathers, rows of sparse matrices, lists of neighbours.

Each is a text with arrays that may overlap or be strided. All indices lie inside; some count from the end. Of most no turn
touches what another one writes.
"""

import numpy as np

SIDE = 24
ROWS = SIDE - 1


class Sparse:
    def __init__(self, rng):
        self.rng = rng
        self.lines, self.depth, self.names = [], 1, 0
        # What the turns of a calm one write lies apart, and no other turn reads it.
        self.calm = rng.random() < 0.7
        self.own = rng.choice("my")
        for _ in range(rng.choice((1, 1, 2))):
            self.outer()
        self.text = "\n".join([
            "kernel f(inout x: float64[:], inout y: float64[:], inout m: float64[:,:], ptr: int64[:], col: int64[:], "
            "few: int32[:], k: int64) {", *self.lines, "}"])

    def case(self, rng):
        memory = np.arange(4 * SIDE * SIDE, dtype=np.float64) % 37 - 5
        n = SIDE * SIDE
        x = memory[rng.choice((0, 0, 1, 7, n)):][:n]
        y = memory[rng.choice((0, 1, 2, n, n)):][:n]
        m = memory[rng.choice((0, n, 2 * n, 2 * n)):][:n].reshape(SIDE, SIDE)
        if self.calm:
            x, y, m = memory[:n], memory[n:2 * n], memory[2 * n:3 * n].reshape(SIDE, SIDE)
        if rng.random() < 0.2:
            x = x[::-1]
        if rng.random() < 0.2:
            y = y[::2]
        if rng.random() < 0.1:
            m = m.T
        made = np.random.default_rng(rng.randrange(1 << 30))
        kind = rng.random()
        if kind < 0.6:
            ptr = np.concatenate([[0], np.cumsum(made.integers(0, 6, ROWS))])
        elif kind < 0.8:
            ptr = made.integers(0, 2 * SIDE, SIDE)  # rows that go back, or lie on each other
        else:
            ptr = np.full(SIDE, rng.choice((0, SIDE)))
        col = made.integers(-SIDE if rng.random() < 0.5 else 0, SIDE, 6 * SIDE)
        few = made.integers(0, rng.choice((1, 3, SIDE)), SIDE).astype(np.int32)
        return [memory], [x, y, m, ptr, col, few, rng.choice((0, 1, 2, SIDE))]

    # ---- The text ----

    def line(self, text):
        self.lines.append("  " * self.depth + text)

    def name(self):
        self.names += 1
        return f"t{self.names}"

    def index(self, number):
        """Some element of a side, by the numbers that there are."""
        return self.rng.choice((f"col[{number}]", f"few[{number}]", f"col[few[{number}]]", f"{number} * {number} % {SIDE}",
                                f"few[{number}] - {SIDE}", number, number))

    def value(self, number):
        i, j = self.index(number), self.index(number)
        if self.calm:
            mine = f"m[i, {j}]" if self.own == "m" else f"m[{i}, {j}]"
            return self.rng.choice((f"x[{i}]", f"x[{i}] * 0.5 + x[{j}]", mine, f"float64({i})"))
        return self.rng.choice((f"x[{i}]", f"y[{i}]", f"m[{i}, {j}]", f"m[{number}, {j}]", f"m[{i}, {number}]",
                                f"x[{i}] * 0.5 + y[{j}]", f"float64({i})"))

    def target(self, number, inner):
        """Mostly an element of the turn's own."""
        i, rng = self.index(inner), self.rng
        if self.calm:
            return rng.choice((f"m[i, {i}]", f"m[i, {inner}]")) if self.own == "m" else f"y[{SIDE // 2} * i + {inner}]"
        own = [f"m[{number}, {i}]", f"m[{i}, {number}]", f"m[{number}, {number}]", f"y[{number}]", f"x[{number} + k]",
               f"y[{SIDE} * {number} // {SIDE} + k]"]
        return rng.choice(own) if rng.random() < 0.85 else rng.choice((f"x[{i}]", f"m[{i}, {self.index(inner)}]"))

    def row(self, number, inner):
        """What an inner loop stores to."""
        return f"y[{number}]" if self.calm and self.own == "y" else f"m[{number}, {inner}]"

    def bounds(self, number):
        """Of a loop inside whose numbers lie within a row's, or within a side."""
        return self.rng.choice((
            (f"ptr[{number}]..ptr[{number} + 1]", True), (f"ptr[{number}]..ptr[{number} + 1]", True),
            (f"ptr[{number} + 1] - 1..ptr[{number}] - 1 step -1", True), (f"ptr[{number}]..ptr[{number} + 1] step 2", True),
            (f"0..few[{number}]", False), (f"few[{number}]..{SIDE}", False), (f"0..{number} * {number} % {SIDE}", False),
            (f"{SIDE - 1}..int64(few[{number}]) step -1", False)))

    def inner(self, number):
        """A loop of a turn, with what it adds up, or with what it stores."""
        rng, j, (bounds, row) = self.rng, "jl"[self.depth > 2], self.bounds(number)
        total = self.name()
        self.line(f"let {total} = 0.0")
        self.line(f"for {j} in {bounds} {{")
        self.depth += 1
        inner = f"col[{j}]" if row else j
        if rng.random() < 0.2:
            self.line(f"if {j} > {rng.randrange(9)} {{ {rng.choice(('break', 'continue', total + ' = 1.0'))} }}")
        if rng.random() < 0.4:
            self.line(f"if {j} {rng.choice(('>', '<', '>='))} {rng.choice((number, '3', 'k'))} {{")
            self.line(f"  {self.row(number, inner)} = {total} + x[{inner}]")
            self.line("}")
        if rng.random() < 0.2:
            self.line(f"{self.row(number, inner)} += {self.value(number)}")
        product = f"x[{inner}] * " + (f"x[{inner}]" if self.calm else f"y[{inner}]")
        self.line(f"{total} = {total} * 0.5 + " + rng.choice((f"x[{inner}]", f"m[{number}, {inner}]", product, self.value(number))))
        self.depth -= 1
        self.line("}")
        self.line(f"{self.target(number, number)} = {total}")

    def search(self, number):
        low, high = self.name(), self.name()
        self.line(f"let {low} = 0; let {high} = {SIDE}")
        self.line(f"while {low} < {high} {{ let c = ({low} + {high}) // 2")
        self.line(f"  if x[c] < {self.value(number)} {{ {low} = c + 1 }} else {{ {high} = c }} }}")
        self.line(f"{self.row(number, f'min({low}, {SIDE - 1})')} = float64({low})")

    def statements(self, number, inner):
        rng = self.rng
        for _ in range(rng.randrange(1, 4)):
            kind = rng.randrange(8)
            if kind < 3 and number == inner:
                self.inner(number)
            elif kind == 3:
                self.line(f"if {self.value(inner)} > 3.0 {{ {self.target(number, inner)} = {self.value(inner)} }}")
            elif kind == 4 and number == inner:
                self.search(number)
            else:
                self.line(f"{self.target(number, inner)} {rng.choice(('=', '=', '+='))} {self.value(inner)}")

    def outer(self):
        rng = self.rng
        around = rng.random() < 0.2
        if around:
            self.line("for turn in 0..3 {")
            self.depth += 1
        low, high, step = rng.choice((("0", str(ROWS), ""), ("0", str(ROWS), ""), ("2", "19", " step 3"),
                                      (str(ROWS - 1), "-1", " step -1"), ("k", "20", "")))
        self.line(f"for i in {low}..{high}{step} {{")
        self.depth += 1
        if rng.random() < 0.25:
            self.line(f"for j in 0..{rng.choice((str(ROWS), 'i', '9'))} {{")
            self.depth += 1
            self.statements("i", "j")
            self.depth -= 1
            self.line("}")
        else:
            self.statements("i", "i")
        self.depth -= 1
        self.line("}")
        if around:
            self.depth -= 1
            self.line("}")
