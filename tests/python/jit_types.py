# SPDX-License-Identifier: Apache-2.0
"""Random functions with loops over elements of every type, in arrays of any layout.

NumPy's scalars and Python's numbers meet in operators, comparisons, conditions, variables and stores.  What
docs/python.md says Python does otherwise is left out: integers of Python's stay small, divisors are not 0,
and floats are brought into range before they become integers.
"""

import numpy as np
from braze._jit.kinds import BOOL, FLOAT, INT, Kind, operand, strong

SIZE = 5
REALS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32",
         "float64")
TYPES = (*REALS, "complex64", "complex128")
LAYOUTS = ("plain", "plain", "back", "step", "one buffer", "of rows", "read-only", "foreign", "no axis", "empty")

HELPERS = f"""
import numpy as np
SIZE = {SIZE}

def tame(v):
    if v > -1000000.0 and v < 1000000.0:
        return int(v % 61.0)
    return 7

def folded(v, w):
    if v > 1000.0:
        return w
    while v > w:
        v = v - w - w - 1
        if v < -w:
            return w
    return v

def both(v, w):
    if w > v:
        return w, v
    return v, w

def bump(r, i):
    if i < 0:
        return
    r[i] = r[i - 1]
    r[0] += r[i]
"""


class Typed:
    """f(x, y, z, m, c, p, n, s): x and y may overlap, m and c have 2 and 3 axes, p are places, s is a scalar."""

    def __init__(self, rng):
        self.rng = rng
        self.lines = []
        self.loops = 0
        self.types = {name: np.dtype(rng.choice(TYPES if rng.random() < 0.3 else REALS)) for name in "xyzmc"}
        self.layout = rng.choice(LAYOUTS)
        if self.layout == "one buffer":
            self.types["y"] = self.types["x"]
        self.scalar_type = np.dtype(rng.choice(REALS))
        self.data = rng.randrange(1 << 30)
        self.order = rng.choice("CF")
        self.variables = {}
        for name in "uvw":
            dtype = np.dtype(rng.choice(TYPES if rng.random() < 0.2 else REALS))
            self.variables[name] = strong(dtype)
            self.line(1, f"{name} = np.{dtype}({rng.randrange(4)})")
        self.variables |= {"k": INT, "t": FLOAT, "done": BOOL}
        self.line(1, "k, t, done = 2, 0.5, False")
        for _ in range(rng.randrange(1, 3)):
            self.loop(1, [])
        self.line(1, "return u, v, w, k, t, done")
        self.text = "\n".join([HELPERS, "def f(x, y, z, m, c, p, n, s):", *self.lines, ""])

    # ---- Arguments ----

    def arrays(self):
        """Fresh ones: the arguments, and all memory."""
        g = np.random.default_rng(self.data)
        memory = {}

        def filled(name, shape):
            dtype = self.types[name]
            if dtype.kind in "biu":
                edges = [0, 1, 3] if dtype.kind == "b" else [np.iinfo(dtype).min, np.iinfo(dtype).max, 0, 1, 5]
                return g.choice(np.array(edges).astype(dtype) if dtype.kind == "b" else
                                np.array(edges, object), shape).astype(dtype)
            parts = g.choice([0.0, -0.0, 1.5, -2.25, 3.0, 0.1, 40.0, -7.5], shape)
            if g.random() < 0.2:
                parts = np.where(g.random(shape) < 0.2, g.choice([np.nan, np.inf, -np.inf], shape), parts)
            out = np.empty(shape, dtype)
            out.real = parts
            if dtype.kind == "c":
                out.imag = parts.ravel()[::-1].reshape(shape)
            return out

        for name in "xyz":
            memory[name] = filled(name, 4 * SIZE)
        memory["m"] = filled("m", (SIZE + 1, SIZE + 1)).copy(order=self.order)
        memory["c"] = filled("c", (3, SIZE, 4)).copy(order=self.order)
        memory["p"] = g.integers(0, SIZE, SIZE)
        made = {"x": memory["x"][1:SIZE + 1], "y": memory["y"][1:SIZE + 1], "z": memory["z"][1:SIZE + 1],
                "m": memory["m"][:SIZE, 1:], "c": memory["c"][:2, :, 1:], "p": memory["p"],
                "n": int(g.integers(2, SIZE + 1)), "s": self.scalar_type.type(g.integers(0, 7))}
        self.lay(made, memory)
        return made, memory

    def lay(self, made, memory):
        layout = self.layout
        if layout == "back":
            made["x"], made["m"] = memory["x"][SIZE + 2:2:-1], made["m"][::-1, ::-1]
        elif layout == "step":
            made["y"], made["c"] = memory["y"][::3][:SIZE], made["c"].transpose(1, 2, 0)
        elif layout == "one buffer":
            memory["y"] = memory["x"]
            made["y"] = memory["x"][3:3 + SIZE][::1 if self.data % 2 else -1]
        elif layout == "of rows":
            made["z"] = made["m"][:, 1]
            made["y"] = made["m"][2]
        elif layout == "read-only":
            made["x"].flags.writeable = False
        elif layout == "foreign":
            memory["x"] = memory["x"].astype(self.types["x"].newbyteorder(">"))
            made["x"] = memory["x"][1:SIZE + 1]
        elif layout == "no axis":
            made["s"] = np.array(made["s"])
        elif layout == "empty":
            made["m"], made["c"] = made["m"][:0], made["c"][:, :, :0]

    # ---- Statements ----

    def line(self, depth, text):
        self.lines.append("    " * depth + text)

    def pick(self, *choices):
        return self.rng.choice(choices)

    def block(self, depth, counters):
        begun = len(self.lines)
        self.statements(depth, counters)
        if len(self.lines) == begun:
            self.line(depth, "k = k % 5")

    def statements(self, depth, counters):
        kinds = ["assign", "assign", "store", "store", "store", "update", "count", "call"]
        kinds += ["branch", "loop", "rows"] if depth < 4 else []
        kinds += ["leave"]
        for _ in range(self.rng.randrange(1, 4)):
            getattr(self, self.rng.choice(kinds))(depth, counters)

    def assign(self, depth, counters):
        name = self.pick(*self.variables)
        kind = self.variables[name]
        if self.rng.random() < 0.2:
            others = [v for v, other in self.variables.items() if other == kind]
            self.line(depth, f"{name}, {self.pick(*others)} = {self.pick(*others)}, {name}")
        elif kind == BOOL:
            self.line(depth, f"done = bool({self.truth(2, counters)})")
        elif kind == INT:
            self.line(depth, f"k = {self.small(2, counters)} % {self.pick(7, 13)}")
        elif kind == FLOAT:
            text, of = self.value(2, counters)
            self.line(depth, f"t = float({self.real(text, of)}) * 0.5")
        else:
            self.line(depth, f"{name} = np.{kind.dtype}({self.fit(*self.value(2, counters), kind.dtype)})")

    def store(self, depth, counters):
        place, dtype = self.element(counters)
        if self.rng.random() < 0.1:
            other, same = self.element(counters)
            if same == dtype:
                self.line(depth, f"{place}, {other} = {other}, {place}")
                return
        self.line(depth, f"{place} = {self.fit(*self.value(2, counters), dtype)}")

    def update(self, depth, counters):
        place, dtype = self.element(counters)
        text, kind = self.value(1, counters)
        if dtype.kind == "b":
            self.line(depth, f"{place} {self.pick('&', '|', '^')}= {self.truth(1, counters)}")
        elif dtype.kind in "iu":
            sign = self.pick("+", "-", "*", "|", "&", "^", "//", "%")
            value = self.fit(text, kind, dtype)
            value = f"{value} | 1" if sign in ("//", "%") else value
            self.line(depth, f"{place} {sign}= {f'np.{dtype}({value})' if kind.weak or sign in ('//', '%') else value}")
        else:
            self.line(depth, f"{place} {self.pick('+', '-', '*')}= {self.fit(text, kind, dtype)}")

    def count(self, depth, counters):
        """Places that are met several times."""
        name = self.pick("x", "y", "z")
        if self.types[name].kind in "biu":
            self.line(depth, f"{name}[p[{self.at(counters)}]] {'|' if self.types[name].kind == 'b' else '+'}= 1")
        else:
            self.line(depth, f"{name}[p[p[{self.at(counters)}]]] *= 0.5")

    def call(self, depth, counters):
        kind = self.rng.randrange(3)
        real = [v for v, k in self.variables.items() if k.dtype.kind == "f"]
        if kind == 0 and real:
            name = self.pick(*real)
            of = self.variables[name].dtype
            cast = "float" if self.variables[name].weak else f"np.{of}"
            self.line(depth, f"{name} = {cast}(folded({name}, {cast}({self.rng.randrange(1, 5)})))")
        elif kind == 1 and real:
            a, b = self.pick(*real), self.pick(*real)
            b = b if self.variables[a] == self.variables[b] else a
            self.line(depth, f"{a}, {b} = both({a}, {b})")
        elif self.types["y"].kind not in "b":
            self.line(depth, f"bump(y, {self.pick('n - 1', '-1', 'p[0]', self.at(counters))})")

    def branch(self, depth, counters):
        self.line(depth, f"if {self.truth(2, counters)}:")
        self.block(depth + 1, counters)
        if self.rng.random() < 0.5:
            self.line(depth, "else:")
            self.block(depth + 1, counters)

    def loop(self, depth, counters):
        self.loops += 1
        name = f"i{self.loops}"
        i = self.rng.choice(counters) if counters else "1"
        if self.rng.random() < 0.25:
            self.line(depth, f"{name} = {self.pick('0', '-1')}")
            self.line(depth, f"while {name} < {self.pick('3', 'n - 1')} and {self.truth(1, counters)}:")
            self.line(depth + 1, f"{name} += 1")
        else:
            self.line(depth, f"for {name} in " + self.pick("range(n)", "range(SIZE - 1, -1, -2)", f"range({i}, SIZE)",
                                                           f"range({i})", "reversed(range(1, n))", "(3, 0, 4, 0)",
                                                           "range(-1, -SIZE - 1, -1)", "p") + ":")
        self.block(depth + 1, [*counters, name])
        if self.rng.random() < 0.2:
            self.line(depth, "else:")
            self.line(depth + 1, f"k = k + {self.pick(1, 3)}")

    def rows(self, depth, counters):
        self.loops += 1
        row, name = f"r{self.loops}", f"j{self.loops}"
        self.line(depth, f"for {name}, {row} in enumerate({self.pick('m', 'c[1]', 'c[0]')}):" if self.rng.random() < 0.5
                  else f"for {name} in range(len(m)):")
        if "enumerate" not in self.lines[-1]:
            self.line(depth + 1, f"{row} = m[{self.pick(name, '-1 - ' + name)}]")
        of = self.types["c" if "(c[" in self.lines[-1] else "m"]
        self.line(depth + 1, f"done = {row}[0] == {row}[-1] or len({row}) > {self.pick(2, 3)}")
        if of.kind != "b":
            self.line(depth + 1, f"{row}[1] -= {row}[0]")
        self.block(depth + 1, [*counters])

    def leave(self, depth, counters):
        word = self.pick("break", "continue", "continue", "return u, v, w, k, t, done")
        self.line(depth, f"if {self.truth(1, counters)} and {self.truth(1, counters)}:")
        self.line(depth + 1, word)

    # ---- Expressions: text and type ----

    def at(self, counters):
        if counters and self.rng.random() < 0.75:
            return self.rng.choice(counters)
        return self.pick(str(self.rng.randrange(-SIZE, SIZE)), "n - 1", "-n", "k % SIZE")

    def element(self, counters):
        name = self.pick("x", "y", "z", "m", "c")
        at = self.at(counters)
        if name == "m":
            return self.pick(f"m[{at}, {self.at(counters)}]", f"m[{at}][{self.at(counters)}]"), self.types[name]
        if name == "c":
            return f"c[{self.pick(0, 1, -1)}, {at}, {self.pick(0, 2, -1)}]", self.types[name]
        return f"{name}[{at}]", self.types[name]

    def small(self, depth, counters):
        """An integer of Python's."""
        if not depth:
            return self.pick("k", "n", str(self.rng.randrange(-4, 9)), "len(m)", "m.shape[1]",
                             *[f"int({c})" for c in counters])
        a, b = self.small(depth - 1, counters), self.small(depth - 1, counters)
        return self.pick(f"({a} {self.pick('+', '-', '*', '&', '|', '^')} {b})", f"({a} // {self.pick(3, -2)})",
                         f"({a} % {self.pick(5, -3)})", f"max({a}, {b})", f"abs({a})", f"-({a})", f"(~{a})",
                         f"({a} >> {self.pick(1, 2)})", f"divmod({a}, 3)[1]" if depth > 5 else f"({a} << 1)",
                         f"({a} if {self.truth(0, counters)} else {b})")

    def leaf(self, counters):
        kind = self.rng.randrange(8)
        if kind < 4:
            text, dtype = self.element(counters)
            return text, strong(dtype)
        if kind == 4:
            name = self.pick(*self.variables)
            return name, self.variables[name]
        if kind == 5:
            return "s", strong(self.scalar_type)
        if kind == 6:
            return self.pick("2", "3", "1"), INT
        return self.pick("0.5", "1.75", "-2.0"), FLOAT

    def value(self, depth, counters):
        if not depth or self.rng.random() < 0.1:
            return self.leaf(counters)
        (a, one), (b, other) = self.value(depth - 1, counters), self.value(depth - 1, counters)
        way = self.rng.randrange(6)
        if way == 0 and one.dtype.kind in "iuf" and not one.weak:
            return self.pick(f"abs({a})", f"(-{a})", f"np.maximum({a}, {a})", f"np.absolute({a})"), one
        if way == 1 and one.dtype.kind in "iu" and not one.weak:
            return self.pick(f"(~{a})", f"({a} << 1)", f"({a} >> 2)", f"({a} // 3)", f"({a} % 5)", f"({a} ** 2)"), one
        if way == 2 and one == other and one.dtype.kind in "fiu":
            return self.pick(f"min({a}, {b})", f"max({a}, {b})", f"({a} if {self.truth(0, counters)} else {b})"), one
        if one.weak and other.weak:
            return self.of_pythons(a, one, b, other)
        return self.between(a, one, b, other)

    @staticmethod
    def of_pythons(a, one, b, other):
        kinds = {one.dtype.kind, other.dtype.kind}
        if "b" in kinds:
            return a, one
        return f"({a} + {b})", FLOAT if "f" in kinds else INT

    def between(self, a, one, b, other):
        """An operator whose operands are not both of Python's."""
        signs = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide, "//": np.floor_divide,
                 "%": np.remainder, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor}
        sign = self.pick(*signs)
        try:
            out = signs[sign].resolve_dtypes((operand(one), operand(other), None))[2]
        except TypeError:
            return (b, other) if one.weak else (a, one)
        if sign in ("/", "//", "%"):
            if {one.dtype.kind, other.dtype.kind} & set("bc") or not (one.dtype.kind in "iu" and other.dtype.kind in "iu"):
                sign, out = "+", np.add.resolve_dtypes((operand(one), operand(other), None))[2]
            else:
                b = f"({b} | 1)"
        return f"({a} {sign} {b})", strong(out)

    def real(self, text, kind):
        return f"{text}.real" if kind.dtype.kind == "c" else text

    def fit(self, text, kind, dtype):
        """As what is stored in such elements."""
        if dtype.kind == "c":
            return text
        if dtype.kind == "b":
            return f"{text} != 0"
        text = self.real(text, kind)
        if dtype.kind in "iu":
            if kind.dtype.kind in "fc":
                return f"tame({text})"
            return f"({text}) % 61" if kind.weak else f"({text})" if kind.dtype.kind == "b" else text
        return text

    def truth(self, depth, counters):
        if not depth:
            (a, one), (b, other) = self.leaf(counters), self.leaf(counters)
            signs = ("==", "!=") if "c" in (one.dtype.kind, other.dtype.kind) else ("<", ">=", "!=", "<=", "==")
            return self.pick("done", f"{a} {self.pick(*signs)} {b}", f"{self.small(0, counters)} < {self.small(0, counters)}",
                             f"{self.element(counters)[0]}", f"p[{self.at(counters)}] in (1, 2)")
        a, b = self.truth(depth - 1, counters), self.truth(depth - 1, counters)
        return self.pick(f"({a} and {b})", f"({a} or {b})", f"(not {a})",
                         f"0 <= {self.small(0, counters)} < {self.small(0, counters)} <= 6",
                         f"-9 < p[{self.at(counters)}] <= {self.small(0, counters)}")
