# SPDX-License-Identifier: Apache-2.0
"""Random kernels of two to four loops in a row, which may be one, or not."""

NAMES = ("a", "b", "c", "d")


class Program:
    """One text; its loops go over the same turns, but for a few, and name elements near by."""

    def __init__(self, rng, big):
        self.rng, self.big = rng, big
        self.rank = rng.choice((1, 1, 2))
        self.n = (rng.randrange(2000, 9000) if self.rank == 1 else rng.randrange(60, 150)) if big else \
            rng.randrange(1, 14)
        self.dtype = rng.choice(("float64", "float64", "int64", "float32"))
        self.spread = rng.choice((0, 0, 1, 2))
        self.axes = ", ".join(":" * self.rank)
        loops = [self.loop(k) for k in range(rng.randrange(2, 5))]
        heading = ", ".join(f"inout {name}: {self.dtype}[{self.axes}]" for name in NAMES)
        self.text = "\n".join([
            f"kernel f({heading}, n: int64, k: int64) -> (r: {self.dtype}, s: {self.dtype}) {{",
            f"    let t: {self.dtype} = {self.dtype}(0)",
            *(f"    {line}" for loop in loops for line in loop), "}"])

    # Arrays have a margin of 4 elements around what is gone through.

    def index(self, numbers):
        parts = []
        for number in numbers:
            far = self.rng.randrange(-self.spread, self.spread + 1)
            parts.append(f"{number} + {4 + far}" if self.rng.random() < .9 or not self.spread else f"{number} + k")
        if self.rank == 2 and self.rng.random() < .06:
            parts.reverse()
        return ", ".join(parts)

    def element(self, numbers):
        return f"{self.rng.choice(NAMES)}[{self.index(numbers)}]"

    def value(self, numbers):
        one, two = self.element(numbers), self.element(numbers)
        return self.rng.choice((one, f"{one} + {two}", f"{one} * {self.dtype}(3) - {two}", f"max({one}, {two})"))

    def bounds(self, outer):
        stops = ["n"] * 9 + ["n - 1", "len(a, 0) - 8"] + ([f"{outer} + 1"] if outer else [])
        stop = self.stop if self.rng.random() < .9 and self.stop else self.rng.choice(stops)
        if self.turn == "down":
            return f"{stop} - 1..-1 step -1"
        return f"0..{stop}" + (" step 2" if self.turn == "two" else "")

    def statement(self, numbers, k):
        kind = self.rng.randrange(10)
        if kind < 6:
            return [f"{self.element(numbers)} = {self.value(numbers)}"]
        if kind < 7:
            return [f"t = {self.value(numbers)}", f"{self.element(numbers)} = t + {self.element(numbers)}"]
        if kind < 8:
            return [f"if {self.element(numbers)} > {self.dtype}(2) {{ {self.element(numbers)} = {self.value(numbers)} }}"]
        name = self.rng.choice("rs")
        return [f"{name} = {name} + {self.element(numbers)}"]

    def loop(self, k):
        if not k or self.rng.random() < .1:
            self.turn = self.rng.choice(("up", "up", "up", "down", "two"))
            self.stop = self.rng.choice(("n", "n", None))
        i = self.rng.choice(("i", f"i{k}"))
        lines = [f"for {i} in {self.bounds(None)} {{"]
        if self.rank == 1:
            for _ in range(self.rng.randrange(1, 3)):
                lines += [f"    {line}" for line in self.statement([i], k)]
        else:
            for _ in range(self.rng.choice((1, 1, 2))):
                j = self.rng.choice(("j", f"j{k}"))
                lines.append(f"    for {j} in {self.bounds(i)} {{")
                lines += [f"        {line}" for line in self.statement([i, j], k)] + ["    }"]
        return lines + ["}"]
