# SPDX-License-Identifier: Apache-2.0
"""Random loops whose turns are independent: each reads and writes its own elements of several arrays,
in any order, and by what it has read finds others of arrays that nobody writes.
"""

import numpy as np

MOST = 300
WRITTEN = ("x", "y", "z")


class Turns:
    def __init__(self, rng):
        self.rng = rng
        self.names, self.lines = [], []
        self.written = WRITTEN[:rng.randrange(2, len(WRITTEN) + 1)]
        self.places = rng.random() < 0.5  # g is written, too
        for _ in range(rng.randrange(2, 7)):
            self.statement("    ")
        self.text = "\n".join([
            "fn within(v: float64, n: int64) -> int64 {", "  let k = int64(v)", "  if k < 0 { return 0 }",
            "  return min(k, n - 1)", "}",
            "kernel f(inout x: float64[:], inout y: float64[:], inout z: float64[:], inout g: int64[:], "
            "b: float64[:], w: float64[:, :]) {",
            "  let n = len(x)", "  for i in 0..n {", *self.lines, "  }", "}"])

    def arrays(self):
        rng = self.rng
        n = rng.choice((0, 1, 63, 64, 65, 200, MOST))
        made = np.random.default_rng(rng.randrange(1 << 30))
        x, y, z = (made.integers(-5, n + 5, n) * 0.5 for _ in WRITTEN)
        return [], [x, y, z, made.integers(0, n + 1, n), made.random(n), made.random((n, 3))]

    # ---- The text ----

    def index(self):
        rng = self.rng
        if rng.random() < 0.3:
            return f"within({rng.choice(WRITTEN)}[i], n)"
        found = rng.choice(["g[i]", f"int64({rng.choice(WRITTEN)}[i])", "i + g[i]"])
        return f"min(max({found}, 0), n - 1)"

    def value(self, depth=0):
        rng = self.rng
        kind = rng.randrange(8)
        if kind < 3:
            return f"{rng.choice(WRITTEN)}[i]"
        if kind == 3:
            return f"b[{self.index()}]"
        if kind == 4:
            return f"w[{self.index()}, {rng.randrange(3)}]"
        if kind == 5 and self.names:
            return rng.choice(self.names)
        if depth < 2:
            return f"({self.value(depth + 1)} {rng.choice('+-*')} {self.value(depth + 1)})"
        return rng.choice(["1.5", "float64(g[i])"])

    def store(self):
        rng = self.rng
        if self.places and rng.random() < 0.3:
            return f"g[i] = {self.index()}"
        return f"{rng.choice(self.written)}[i] {rng.choice(['=', '=', '+='])} {self.value()}"

    def statement(self, indent):
        rng = self.rng
        kind = rng.randrange(9)
        if kind == 0:
            name = f"t{len(self.names)}"
            self.lines.append(f"{indent}let {name} = {self.value()}")
            self.names.append(name)
        elif kind == 1:
            self.lines += [f"{indent}if {self.value()} > 20.0 {{", f"{indent}  {self.store()}", f"{indent}}}"]
        elif kind == 2:
            self.lines += [f"{indent}for k in 0..3 {{",
                           f"{indent}  {rng.choice(self.written)}[i] += w[i, k] * {self.value()}", f"{indent}}}"]
        else:
            self.lines.append(indent + self.store())
