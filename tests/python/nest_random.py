# SPDX-License-Identifier: Apache-2.0
"""Random loops over elements that nearly can run at once: shifted, crossing, strided, triangular, coupled, summed up.

Each is a text with arrays that may overlap, be strided, or go backwards.
"""

import numpy as np

SIDE = 24


class Nest:
    def __init__(self, rng):
        self.rng = rng
        self.depth = rng.randrange(1, 4)
        self.lines, self.numbers = [], []
        self.sums = 0
        self.loops(0)
        results = "".join(f"{', ' if k else ''}s{k}: {t}" for k, t in enumerate(("int64", "float64", "int32")))
        self.text = "\n".join([
            f"kernel f(inout x: float64[:], inout y: float64[:], inout m: float64[:,:], c: int64[:], k: int64) "
            f"-> ({results}) {{", "  s2 = 100", *self.lines, "}"])

    def arrays(self):
        """Views of few memories, so that arguments meet."""
        rng = self.rng
        memory = np.arange(4 * SIDE * SIDE, dtype=np.float64) % 37 - 5
        n = SIDE * SIDE
        x = memory[rng.choice([0, 0, 1, 7, n]):][:n]
        y = memory[rng.choice([0, 1, 2, n, n]):][:n]
        if rng.random() < 0.2:
            x = x[::-1]
        if rng.random() < 0.2:
            y = y[::2]
        m = memory[rng.choice([0, n, 2 * n, 2 * n]):][:n].reshape(SIDE, SIDE)
        if rng.random() < 0.1:
            m = m.T
        c = np.arange(n) * 7 % 11
        return memory, [x, y, m, c, rng.choice([-3, -1, 0, 1, 2, 5, n])]

    # ---- The text ----

    def line(self, text):
        self.lines.append("  " * (len(self.numbers) + 1) + text)

    def loops(self, level):
        rng = self.rng
        name = "ijl"[level]
        low, high, step = str(rng.randrange(3)), str(SIDE - rng.randrange(3)), ""
        if self.numbers and rng.random() < 0.4:
            low = rng.choice(self.numbers) + rng.choice(["", " + 1"])
        elif self.numbers and rng.random() < 0.3:
            high = rng.choice(self.numbers)
        elif rng.random() < 0.15:
            step = " step " + rng.choice(["2", "3"])
        elif rng.random() < 0.15:
            low, high, step = str(SIDE - 1), "0", " step -1"
        claim = " reduction(+: s1)" if rng.random() < 0.25 else ""
        self.line(f"for {name} in {low}..{high}{step}{claim} {{")
        self.numbers.append(name)
        if rng.random() < 0.3:
            self.statement()
        if level + 1 < self.depth:
            self.loops(level + 1)
        else:
            for _ in range(rng.randrange(1, 4)):
                self.statement()
        self.numbers.pop()
        self.line("}")

    def flat(self):
        rng = self.rng
        number = rng.choice(self.numbers)
        return rng.choice([
            f"{number} + {rng.randrange(4)}", number, f"2 * {number} + {rng.randrange(2)}",
            f"{SIDE - 1} - {number}", str(rng.randrange(9)), f"{number} + k",
            " + ".join(f"{f} * {n}" for f, n in zip((SIDE, 1, 1), self.numbers)),
            f"-1 - {number}"])

    def corner(self):
        rng = self.rng
        a, b = rng.choice(self.numbers), rng.choice(self.numbers)
        return f"{a}, {b}" if rng.random() < 0.7 else f"{a}, {SIDE - 1} - {b}"

    def element(self):
        kind = self.rng.randrange(5)
        return (f"x[{self.flat()}]" if kind < 2 else f"y[{self.flat()}]" if kind < 3
                else f"m[{self.corner()}]")

    def value(self):
        rng = self.rng
        first = self.element()
        if rng.random() < 0.1:
            first = f"x[c[{rng.choice(self.numbers)}]]"
        return first if rng.random() < 0.4 else f"{first} * 0.5 + {self.element()}"

    def statement(self):
        rng = self.rng
        kind = rng.randrange(14)
        number = rng.choice(self.numbers)
        if kind < 6:
            self.line(f"{self.element()} {rng.choice(['=', '=', '+='])} {self.value()}")
        elif kind == 6:
            self.line(f"s0 += {number} * 3")
        elif kind == 7:
            self.line(f"s2 = {rng.choice(['min', 'max'])}(s2, int32({self.value()}))")
        elif kind == 8:
            self.line(f"s1 = {self.value()}" if rng.random() < 0.7 else f"s1 += {self.value()}")
        elif kind == 9:
            self.line(f"if {self.value()} > 3.0 {{ {self.element()} = 1.0 }}")
        elif kind == 10:
            name = f"t{len(self.lines)}"
            self.line(f"let {name} = {self.value()}")
            self.line(f"{self.element()} = {name} + 1.0")
        elif kind > 11:
            low, high = rng.choice(["0 <", "1 <=", "2 <"]), rng.choice(["< 20", f"<= {SIDE - 2}", "< k + 9"])
            join = rng.choice(["and", "and", "and", "or"])
            shifted = rng.choice([number, f"{number} + k", f"{number} - 2"])
            self.line(f"if {low} {shifted} {join} {shifted} {high} {{")
            self.line(f"  {self.element()} = m[{shifted}, {rng.choice(self.numbers)}] + x[{shifted} - 1]")
            self.line("}")
        else:
            self.line(f"if {number} > {rng.randrange(30)} {{ {rng.choice(['break', 'continue', 's0 = ' + number])} }}")
