# SPDX-License-Identifier: Apache-2.0
"""Random time loops over passes that need their neighbours' elements, for strips that lean."""

import numpy as np


class Program:
    """Passes over arrays of one or two axes, mostly of like bounds; what does not keep to that is to stay as it is."""

    def __init__(self, rng):
        self.rng = rng
        self.rank = rng.choice((1, 2, 2))
        self.far = rng.choice((1, 1, 2, 3))
        self.odd = rng.random() < .3  # are there places that no strip can have?
        self.margin = 2 * self.far
        loops = [self.loop() for _ in range(rng.randrange(1, 5))]
        axes = ", ".join(":" * self.rank)
        heading = ", ".join(f"inout {name}: float64[{axes}]" for name in "abc")
        self.text = "\n".join([f"kernel lean({heading}, g: float64[:], n: int64, turns: int64, k: int64) {{",
                               "    for t in 0..turns {", *("        " + line for line in loops), "    }", "}"])
        self.n = rng.randrange(45_000, 50_000) if self.rank == 1 else rng.randrange(212, 230)

    def place(self, name, numbers):
        rng = self.rng
        parts = [number + rng.choice(("", "", f" + {rng.randrange(1, self.far + 1)}", f" - {rng.randrange(1, self.far + 1)}"))
                 for number in numbers]
        if self.odd and rng.random() < .1:
            parts[0] = rng.choice(("t", "n - 1 - i", "i + k", "3", "i + t", "i - t"))
        return f"{name}[{', '.join(parts)}]"

    def own(self, name, numbers):
        """Mostly written at its own place: a loop inside whose turns meet is not cut."""
        return f"{name}[{', '.join(numbers)}]" if self.rng.random() < .9 else self.place(name, numbers)

    def statement(self, numbers):
        rng = self.rng
        target, first, second = rng.sample("abc", 3)
        x, y, z = self.own(target, numbers), self.place(first, numbers), self.place(second, numbers)
        v = f"v{rng.randrange(10 ** 9)}"
        own = f"{target}[{', '.join(numbers)}]"
        return rng.choice((f"{x} = 0.5 * {y} + 0.25 * {z}", f"{x} = 0.5 * {y} + 0.25 * {z}", f"{x} -= 0.5 * ({y} - {z})",
                           f"{x} = 0.5 * ({y} + {z}) - 0.1 * {own}", f"let {v} = {y} - {z}; {x} = {v} * 0.3",
                           f"if {y} > {z} {{ {x} = {y} * 0.9 }}", f"{x} = max({y}, {z}) * 0.9 + g[t]"))

    def loop(self):
        rng, m = self.rng, self.margin
        low, high = rng.choice((str(m), str(m), f"{m + 1}")), rng.choice((f"n - {m}",) * 3 + (f"n - {m + 2}",))
        if self.odd and rng.random() < .1:
            high = rng.choice((f"n - {m} - t", "n // 2", "9", "k + 40"))
        body = "; ".join(self.statement(["i", "j"][:self.rank]) for _ in range(rng.randrange(1, 3)))
        if self.rank == 2:
            body = f"for j in {m}..n - {m} {{ {body} }}"
        return f"for i in {low}..{high} {{ {body} }}"

    def case(self, rng):
        """Memory, and arguments: arrays apart, or an element away from each other."""
        shape = (self.n,) * self.rank
        many = self.n ** self.rank
        made = np.random.default_rng(rng.randrange(1 << 30))
        memory = made.random(3 * many + 64)
        places = [0, many + 16, 2 * many + 32]
        if rng.random() < .15:
            places[1] = rng.randrange(3)
        views = [memory[at:at + many].reshape(shape) for at in places]
        return [memory], [*views, made.random(8), self.n, rng.choice((1, 2, 3, 5)), rng.choice((-2, 0, 1, 5))]
