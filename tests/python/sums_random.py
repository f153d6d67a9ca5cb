# SPDX-License-Identifier: Apache-2.0
"""Random kernels whose loops add up scalars and write arrays, which campaign_loops.py runs in all ways.

Loops of one to three levels, of bounds that are alike in all turns or not; claimed sums and products, sums of
integers, extremes in each of their forms, some of them several times in a turn, below conditions, beside stores; and
what is computed of them behind the loops, asked by ways, and needed by the loops that follow.
"""

import numpy as np

FLOATS = "float64", "float32"
INTEGERS = "int64", "int32", "uint8", "int16"
SIDE = 9


class Sums:
    """kernel f(inout a, b, inout m, n, p) -> results: its text, and cases of arguments."""

    def __init__(self, rng):
        self.rng = rng
        self.float = rng.choice(FLOATS)
        self.integer = rng.choice(INTEGERS)
        self.lines = []
        # Variables by what is done to them: kind, and its type.
        self.results = {"s": self.float, "t": self.float, "u": self.integer, "v": self.integer, "e": self.float}
        for name, dtype in self.results.items():
            if rng.random() < 0.6:
                first = rng.choice(("3", "1", "7")) if dtype == self.integer else rng.choice(("-0.0", "1.5", "-2.25"))
                self.lines.append(f"{name} = {dtype}({first})")
        for _ in range(rng.choice((1, 1, 2, 3))):
            self.statement()
        head = ", ".join(f"{name}: {dtype}" for name, dtype in self.results.items())
        self.text = (f"kernel f(inout a: {self.float}[:], b: {self.float}[:], inout m: {self.float}[:,:], "
                     f"q: {self.integer}[:], n: int64, p: int64) -> ({head}, turns: int64) {{\n"
                     + "\n".join(self.lines) + "\n}\n")

    def statement(self):
        kind = self.rng.choice(("loop", "loop", "loop", "behind", "while", "times"))
        if kind == "while":
            self.lines.append("while turns < 4 and e == e {")
            self.loop()
            self.lines += ["turns += 1", "}"]
        elif kind == "times":
            self.lines.append("for time in 0..3 {")
            self.loop()
            self.loop()
            self.lines.append("}")
        else:
            self.loop()
        if kind == "behind":
            self.lines.append(self.rng.choice((
                "s = s * t + e", "t = sqrt(abs(s)) - e", f"u = u + v * {self.integer}(3)",
                "if s > e { turns += 1 }", "if u > v { m[0, 0] = e }", "let w = e; e = s; s = w",
                "for i in 0..p { a[i] = a[i] + s }")))

    def value(self, names):
        """Of the float type, of what a turn has; of no loop or one all is alike."""
        i, *rest = names
        inner = rest[0] if rest else i
        leaf = self.rng.choice((f"b[{i}]", f"a[{i}]", f"m[{i}, {inner}]", f"m[{inner}, {i}]", f"b[{inner}]"))
        return self.rng.choice((leaf, f"{leaf} * b[{i}]", f"abs({leaf})", f"sqrt({leaf})", f"{leaf} - {self.float}({i})"))

    def add(self, names, claimed):
        """A statement that adds to a variable, as its kind allows."""
        rng, value = self.rng, self.value(names)
        whole = rng.choice((f"q[{names[0]}]", f"{self.integer}({names[-1]})", f"q[{names[-1]}]"))
        statements = {
            "s": (f"s += {value}", f"s -= {value}") if "s" in claimed else (f"s = max(s, {value})",),
            "t": (f"t *= {value}", f"t = t * {value}") if "t" in claimed else (f"if {value} < t {{ t = {value} }}",),
            "u": ((f"u += {whole}", f"u -= {whole}"), (f"u *= {whole}",), (f"u ^= {whole}",))[len(self.lines) % 3],
            "v": ((f"v = max(v, {whole})",), (f"v = min({whole}, v)",), (f"v &= {whole}",), (f"v |= {whole}",))[
                len(self.text_so_far) % 4],
            "e": (f"e = {self.extreme}(e, {value})",),
        }
        name = rng.choice(list(statements))
        statement = rng.choice(statements[name])
        self.added.add(name)
        return f"if {value} > 0.5 {{ {statement} }}" if rng.random() < 0.2 and name not in "t" else statement

    def loop(self):
        rng = self.rng
        levels = rng.choice((1, 1, 2, 2, 3))
        names = ["i", "j", "k"][:levels]
        claimed = {name for name in "st" if rng.random() < 0.5}
        self.extreme, self.added, self.text_so_far = rng.choice(("max", "min")), set(), "".join(self.lines)
        depth, lines = 0, []
        for at, name in enumerate(names):
            bounds = rng.choice(("0..p", "0..p", "0..p", "1..p", "p - 1..-1 step -1", "0..p step 2",
                                 *([f"{names[at - 1]}..p", f"0..{names[at - 1]} + 1"] if at else [])))
            claims = "" if at else "".join(
                f" reduction({'+' if c == 's' else '*'}: {c})" for c in sorted(claimed))
            lines.append(f"for {name} in {bounds}{claims} {{")
            depth += 1
            if rng.random() < 0.15 and at + 1 < levels:
                lines.append(self.add(names[:at + 1], claimed))
        body = [self.add(names, claimed) for _ in range(rng.choice((1, 1, 2, 3)))]
        if rng.random() < 0.5:
            place = "a[i]" if levels == 1 else "m[i, j]"
            body.insert(rng.randrange(len(body) + 1), f"{place} = {place} * {self.float}(0.5) + b[i]")
        self.lines += [*lines, *body, *["}"] * depth]

    def case(self, rng):
        """Memory, and arguments that lie in it."""
        side = rng.choice((SIDE, SIDE, SIDE, 1, 2, 33))
        made = np.random.default_rng(rng.randrange(1 << 30))
        values = made.standard_normal(2 * side + side * side).astype(self.float)
        special = made.random(len(values)) < rng.choice((0, 0, 0.1, 0.6))
        values[special] = made.choice(np.array([0.0, -0.0, 1.0, np.nan, -1.0], self.float), special.sum())
        whole = made.integers(0, 100, side).astype(self.integer)
        a, b, m = values[:side], values[side:2 * side], values[2 * side:].reshape(side, side)
        return [values, whole], [a, b, m, whole, side, rng.choice((side, side, side, side - 1, 0))]
