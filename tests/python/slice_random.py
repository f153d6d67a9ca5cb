# SPDX-License-Identifier: Apache-2.0
"""Random programs of slices, which read the same as a kernel's text and as Python on NumPy.

All arrays are views of one buffer, so that what is written lies on what is read in every way.
"""

import ast

import numpy as np

import braze.numpy as bnp

TYPES = ("float64", "float32", "int64", "int32", "uint8", "complex128")
ROOM = 200
SIGNS = {"f": "+-*/", "i": "+-*", "u": "+-*", "c": "+-*/"}

# Of an axis of 4: subscripts of as many elements.
FITTING = ([":", "::-1", "0:9", "-4:", ":"], ["1:", ":-1", "-i - 1:0:-1", ":0:-1", "-3:4:i"],
           ["::2", "1::2", "::-2", "i:3", "-2:"], ["2:2", "3:1", ":0", "1:2:-1", "7:"],
           ["::3", "::-3", "1:3", ":2", "i + i:"], ["2:3", "0:1", "-1:", "1:0:-1", "i:i + 1"])


def _cast(dtype):
    return lambda v: np.asarray(v).astype(dtype)[()]


def _reduction(name):
    """The same bits: braze.numpy's reduction of the values in their order."""
    def reduce(v):
        v = np.ascontiguousarray(v)
        return np.asarray(getattr(bnp, name)(bnp.asarray(v)))[()]
    return reduce


def _dot(a, b):
    if a.shape != b.shape:
        raise ValueError("shapes")
    return _cast(a.dtype)(_reduction("sum")(a * b))


def _product(a, b):
    """a @ b, whose elements are dots, to the bit."""
    np.matmul(a, b)  # or an error
    if a.ndim == b.ndim == 1:
        return _dot(a, b)
    rows, columns = np.atleast_2d(a), b[:, None] if b.ndim == 1 else b
    out = np.empty((len(rows), columns.shape[1]), a.dtype)
    for i, j in np.ndindex(out.shape):
        out[i, j] = _dot(rows[i], columns[:, j])
    return out.reshape(out.shape[2 - a.ndim:][:a.ndim + b.ndim - 2] if a.ndim == 1 else
                       out.shape[:a.ndim + b.ndim - 2])


class _OwnProducts(ast.NodeTransformer):
    def visit_BinOp(self, node):
        self.generic_visit(node)
        if not isinstance(node.op, ast.MatMult):
            return node
        return ast.Call(ast.Name("_product", ast.Load()), [node.left, node.right], [])


def _compiled(line):
    return compile(ast.fix_missing_locations(_OwnProducts().visit(ast.parse(line))), line, "exec")


SCOPE = {t: _cast(t) for t in TYPES} | {
    "sum": _reduction("sum"), "prod": _reduction("prod"), "any": _reduction("any"),
    "all": _reduction("all"), "dot": _dot, "_product": _product, "np": np, "abs": np.absolute, "where": np.where,
    "min": lambda *v: np.minimum(*v) if len(v) == 2 else np.min(*v),
    "max": lambda *v: np.maximum(*v) if len(v) == 2 else np.max(*v)}


class Program:
    def __init__(self, rng):
        self.rng = rng
        self.type = rng.choice(TYPES)
        self.seed = rng.randrange(1 << 30)
        self.shapes, self.layouts = {}, {}
        for name, ndim in (("x", 1), ("y", 1), ("m", 2), ("w", 2), ("t", 3)):
            self.shapes[name] = tuple(4 if rng.random() < 0.97 else rng.choice((1, 2, 3))
                                      for _ in range(ndim))
            # In C's order or in Fortran's; no element lies on another of the same array.
            order = list(range(ndim))[::rng.choice((-1, -1, 1))]
            strides, step = [0] * ndim, rng.choice((1, 1, 2, 3))
            for k in order:
                strides[k] = step * rng.choice((1, 1, -1))
                step *= self.shapes[name][k]
            self.layouts[name] = strides, rng.randrange(8)
        self.lines = [self.statement() for _ in range(rng.randrange(1, 5))]
        heading = ", ".join(f"inout {n}: {self.type}[{','.join(':' * len(s))}]"
                            for n, s in self.shapes.items())
        self.text = "\n".join([f"kernel f({heading}, i: int64) -> (r: {self.type}) {{",
                               *("  " + line for line in self.lines), "}"])

    def arrays(self):
        """The views, and the buffer."""
        buffer = np.random.default_rng(self.seed).integers(0, 5, ROOM).astype(self.type)
        made = {}
        for name, shape in self.shapes.items():
            strides, start = self.layouts[name]
            low = sum(min(0, (n - 1) * s) for n, s in zip(shape, strides))
            reach = sum(abs(n - 1) * abs(s) for n, s in zip(shape, strides))
            assert reach < ROOM
            start = min(start, ROOM - 1 - reach) - low
            made[name] = np.lib.stride_tricks.as_strided(
                buffer[start:], shape, [s * buffer.itemsize for s in strides])
        return made, buffer

    def run(self, arrays):
        """(result, error or None) of the same lines in Python; self.at is the last that ran."""
        scope = SCOPE | arrays | {"i": np.int64(1), "r": np.zeros((), self.type)[()]}
        with np.errstate(all="ignore"):
            for self.at, line in enumerate(self.lines):
                try:
                    exec(_compiled(line), scope)
                except (ValueError, IndexError) as error:
                    return scope["r"], error
        return scope["r"], None

    # ---- Statements ----

    def statement(self):
        self.fitting = self.rng.choice(FITTING)
        if self.rng.random() < 0.25:
            return f"r = {self.type}({self.reduction()})"
        target = self.slice()
        sign = self.rng.choice(["", "", "+", "-", "*"])
        value = self.expression(2)
        return f"{target} {sign}= {value if sign else f'{self.type}({value})'}"

    # ---- Expressions ----

    def bound(self):
        return self.rng.choice(["", "", "0", "1", "2", "i", "-1", "-2", "-i", "5", "-7", "i + 1"])

    def subscript(self):
        if self.rng.random() < 0.985:
            return self.rng.choice(self.fitting)
        step = self.rng.choice(["", "", ":", ":2", ":-1", ":-2", ":i", ":-i", ":3"])
        return f"{self.bound()}:{self.bound()}{step}"

    def slice(self, ndim=None):
        name = self.rng.choice([n for n, s in self.shapes.items() if ndim in (None, len(s))])
        parts = [self.subscript() for _ in self.shapes[name]]
        for k in range(len(parts)):
            if self.rng.random() < 0.25 and len(parts) > 1 and ndim is None:
                parts[k] = self.rng.choice(["0", "i - 1", "-1", "0", "-1", "1"])
        if all(":" not in p for p in parts):
            parts[0] = ":"
        return f"{name}[{', '.join(parts)}]"

    def scalar(self):
        kind = self.rng.randrange(4)
        if kind == 0:
            return f"{self.type}({self.rng.choice('123')})"
        if kind == 1:
            return "r"
        name = self.rng.choice("xymw")
        return f"{name}[{', '.join(self.rng.choice(['0', '-1', '0']) for _ in self.shapes[name])}]"

    def reduction(self):
        names = ["sum", "sum", "prod"]
        if self.type != "complex128":
            names += ["min", "max"]
        name = self.rng.choice([*names, "dot", "any", "whole"])
        if name == "dot":
            return f"dot({self.slice(1)}, {self.slice(1)})"
        if name == "any":
            return f"{self.rng.choice(['any', 'all'])}({self.slice()} != {self.scalar()})"
        if name == "whole":
            return f"sum({self.rng.choice('xymwt')})"
        value = self.slice()
        if self.rng.random() < 0.5:
            value = f"{value} {self.rng.choice('+-*')} {self.atom()}"
        return f"{name}({value})"

    def atom(self):
        kind = self.rng.randrange(8)
        if kind == 0:
            return f"{self.type}({self.reduction()})"
        return self.scalar() if kind < 3 else self.slice()

    def product(self):
        """Of a vector and a matrix, as a rule."""
        a, b = self.rng.choice(((2, 1), (1, 2), (2, 2), (2, 2), (1, 1)))
        left, right = self.slice(a), self.slice(b)
        if self.rng.random() < 0.3:
            left = f"({left} {self.rng.choice('+-*')} {self.rng.choice([self.scalar(), self.slice(1)])})"
        return f"({left} @ {right})"

    def expression(self, depth):
        if self.rng.random() < 0.06:
            return self.product()
        if not depth or self.rng.random() < 0.2:
            return self.atom()
        a, b = self.expression(depth - 1), self.expression(depth - 1)
        if self.rng.random() < 0.1:
            return f"({a} {self.rng.choice('+-*')} {self.rng.choice('123')})"
        kind = self.rng.randrange(8)
        if kind == 0 and self.type != "complex128":
            return f"{self.rng.choice(['min', 'max'])}({a}, {b})"
        if kind == 1:
            return f"{self.type}(abs({a}))"
        if kind == 2:
            return f"where({a} == {b}, {self.type}({a}), {self.type}({b}))"
        return f"({a} {self.rng.choice(SIGNS[np.dtype(self.type).kind])} {b})"
