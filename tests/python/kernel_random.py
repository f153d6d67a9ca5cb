# SPDX-License-Identifier: Apache-2.0
"""Random programs, each as a kernel's text and as Python on NumPy's scalars.

Both are written by one walk, so they do the same operations in the same order; Python's numbers
are variables' types made explicit, since a kernel's variables keep their type.
"""

import numpy as np

TYPES = ("int64", "int32", "uint8", "float64", "float32")
SIZE = 7


class Program:
    def __init__(self, rng):
        self.rng = rng
        self.kernel_lines, self.python_lines = [], []
        self.variables = {}  # name -> type
        self.loops = 0
        self.types = {name: rng.choice(TYPES) for name in ("x", "y")}
        self.result = rng.choice(TYPES)
        self.data = [rng.randrange(1 << 30) for _ in range(2)]
        self.variables["r"] = self.result
        self.block(1, rng.randrange(3, 7), set())
        heading = ", ".join(f"inout {n}: {t}[:]" for n, t in self.types.items())
        self.text = "\n".join([f"kernel f({heading}) -> (r: {self.result}) {{",
                               *self.kernel_lines, "}"])
        self.python = "\n".join(["def f(x, y):", f"    r = np.{self.result}(0)",
                                 *self.python_lines, "    return r"])

    def arrays(self):
        made = {}
        for (name, dtype), seed in zip(self.types.items(), self.data):
            made[name] = np.random.default_rng(seed).integers(0, 9, SIZE).astype(dtype)
        return made

    def run(self, arrays):
        scope = {"np": np, "cast": lambda dtype, v: np.asarray(v).astype(dtype)[()]}
        exec(self.python, scope)
        with np.errstate(all="ignore"):
            return scope["f"](**arrays)

    # ---- Statements ----

    def line(self, depth, kernel, python):
        if kernel is not None:
            self.kernel_lines.append("    " * depth + kernel)
        if python is not None:
            self.python_lines.append("    " * depth + python)

    def block(self, depth, count, numbers):
        outer = dict(self.variables)
        for _ in range(count):
            kinds = ["let", "assign", "store", "store", "update"]
            kinds += ["if", "for"] if depth < 4 else []
            kinds += ["leave"] if numbers else []
            getattr(self, self.rng.choice(kinds) + "_statement")(depth, numbers)
        self.variables = outer

    def let_statement(self, depth, numbers):
        dtype = self.rng.choice(TYPES)
        name = f"v{len(self.kernel_lines)}"
        k, p = self.expression(2, numbers)
        self.line(depth, f"let {name} = {dtype}({k})", f"{name} = cast(np.{dtype}, {p})")
        self.variables[name] = dtype

    def assign_statement(self, depth, numbers):
        name = self.rng.choice(sorted(self.variables))
        dtype = self.variables[name]
        k, p = self.expression(2, numbers)
        self.line(depth, f"{name} = {dtype}({k})", f"{name} = cast(np.{dtype}, {p})")

    def store_statement(self, depth, numbers):
        name, at = self.rng.choice("xy"), self.index(numbers)
        dtype = self.types[name]
        k, p = self.expression(2, numbers)
        self.line(depth, f"{name}[{at}] = {dtype}({k})", f"{name}[{at}] = cast(np.{dtype}, {p})")

    def update_statement(self, depth, numbers):
        name, at, sign = self.rng.choice("xy"), self.index(numbers), self.rng.choice("+-*")
        dtype = self.types[name]
        k, p = self.expression(1, numbers)
        self.line(depth, f"{name}[{at}] {sign}= {dtype}({k})",
                  f"{name}[{at}] {sign}= cast(np.{dtype}, {p})")

    def if_statement(self, depth, numbers):
        k, p = self.condition(numbers)
        self.line(depth, f"if {k} {{", f"if {p}:")
        self.block(depth + 1, self.rng.randrange(1, 3), numbers)
        if self.rng.random() < 0.5:
            self.line(depth, "} else {", "else:")
            self.block(depth + 1, self.rng.randrange(1, 3), numbers)
        self.line(depth, "}", None)

    def for_statement(self, depth, numbers):
        self.loops += 1
        name = f"i{self.loops}"
        a, b, c = self.rng.choice([(0, SIZE, 1), (SIZE - 1, -1, -2), (0, 5, 3), (4, 1, 1)])
        self.line(depth, f"for {name} in {a}..{b} step {c} {{",
                  f"for {name} in map(np.int64, range({a}, {b}, {c})):")
        self.block(depth + 1, self.rng.randrange(1, 4), numbers | {name})
        self.line(depth, "}", None)

    def leave_statement(self, depth, numbers):
        word = self.rng.choice(["break", "continue"])
        k, p = self.condition(numbers)
        self.line(depth, f"if {k} {{ {word} }}", f"if {p}: {word}")

    # ---- Expressions: (kernel, Python) ----

    def index(self, numbers):
        if numbers and self.rng.random() < 0.7:
            return self.rng.choice(sorted(numbers))
        return str(self.rng.randrange(-SIZE, SIZE))

    def condition(self, numbers):
        (ka, pa), (kb, pb) = self.atom(numbers), self.atom(numbers)
        sign = self.rng.choice(["<", "<=", ">", "==", "!="])
        k, p = f"{ka} {sign} {kb}", f"{pa} {sign} {pb}"
        if self.rng.random() < 0.3:
            word = self.rng.choice(["and", "or"])
            kc, pc = self.atom(numbers)
            k, p = f"not ({k}) {word} {kc} > 2", f"not ({p}) {word} {pc} > 2"
        return k, p

    def atom(self, numbers):
        kind = self.rng.randrange(3)
        if kind == 0:
            both = self.rng.choice(sorted(self.variables) + sorted(numbers))
        else:
            both = f"{self.rng.choice('xy')}[{self.index(numbers)}]"
        return both, both

    def expression(self, depth, numbers):
        if not depth or self.rng.random() < 0.15:
            return self.atom(numbers)
        ka, pa = self.expression(depth - 1, numbers)
        kind = self.rng.randrange(6)
        if kind == 0:
            weak = self.rng.choice(["1", "2", "3", "0.5"])
            return f"({ka} * {weak})", f"({pa} * {weak})"
        kb, pb = self.expression(depth - 1, numbers)
        if kind == 1:
            name, numpys = self.rng.choice([("min", "minimum"), ("max", "maximum")])
            return f"{name}({ka}, {kb})", f"np.{numpys}({pa}, {pb})"
        if kind == 2:
            return f"abs({ka})", f"np.absolute({pa})"
        sign = self.rng.choice(["+", "-", "*", "//", "%", "/"])
        return f"({ka} {sign} {kb})", f"({pa} {sign} {pb})"
