# SPDX-License-Identifier: Apache-2.0
"""Programs whose kernels are counted: one or more for each way that a kernel is made.

Each is a partition (tests/golden/part_text.h) of about n elements, as tests/golden/cuda_program
reads it, and the bytes that must move for it: its inputs and outputs, once.
"""

import math
from dataclasses import dataclass

BYTES = {"bool": 1, "int8": 1, "uint8": 1, "float16": 2, "int32": 4, "float32": 4, "int64": 8,
         "uint64": 8, "float64": 8, "complex64": 8, "complex128": 16}


@dataclass
class Array:
    value: int
    dtype: str
    shape: tuple

    def __str__(self):
        return f"v{self.value}:{self.dtype}[{','.join(map(str, self.shape))}]"

    def view(self, offset, *dims):
        """dims: (extent, stride in elements) each."""
        size = BYTES[self.dtype]
        inside = ",".join(f"{n}:{s * size}" for n, s in dims)
        return f"v{self.value}:{self.dtype}+{offset * size}[{inside}]"


class Part:
    def __init__(self):
        self.numbers, self.values, self.ops = [], [], []
        self.bytes = {"input": 0, "temp": 0, "output": 0}

    def _value(self, role, dtype, shape):
        size = math.prod(shape) * BYTES[dtype]
        self.values.append(f"value {len(self.values)} {role} {size}")
        self.bytes[role] += size
        return Array(len(self.values) - 1, dtype, shape)

    def input(self, dtype, *shape):
        return self._value("input", dtype, shape)

    def number(self, x):
        self.numbers.append(f"imm{'f' if isinstance(x, float) else 'i'} {len(self.numbers)} {x}")
        return f"i{len(self.numbers) - 1}:{'float64' if isinstance(x, float) else 'int64'}~"

    def op(self, name, *operands, dtype, shape, role="temp"):
        out = self._value(role, dtype, shape)
        self.ops.append(f"op {name} {' '.join(map(str, operands))} -> {out}")
        return out

    def __str__(self):
        return "\n".join(self.numbers + self.values + self.ops) + "\n"


# Each fills a Part with about n elements; what it returns is the elements that are counted, of
# maps those of the result, of reductions those that are read.

def chain(dtype, *ops):
    """`ops` one after the other: names, the last operand before, x, y or a number."""
    def fill(p, n):
        known = {"x": p.input(dtype, n)}
        if any("y" in op[1:] for op in ops):
            known["y"] = p.input(dtype, n)
        for i, (name, *operands) in enumerate(ops):
            known["_"] = p.op(name, *(known[o] if o in known else p.number(o) for o in operands),
                              dtype=dtype, shape=(n,), role="output" if i + 1 == len(ops) else "temp")
            known[i] = known["_"]
        return n
    return fill


def two(name, a, b, out):
    def fill(p, n):
        p.op(name, p.input(a, n), p.input(b, n), dtype=out, shape=(n,), role="output")
        return n
    return fill


def sines(dtype):
    def fill(p, n):
        x = p.input(dtype, n)
        parts = [p.op("SQUARE", p.op(f, x, dtype=dtype, shape=(n,)), dtype=dtype, shape=(n,))
                 for f in ("SIN", "COS")]
        p.op("ADD", *parts, dtype=dtype, shape=(n,), role="output")
        return n
    return fill


def where(p, n):
    p.op("WHERE", p.input("bool", n), p.input("float32", n), p.input("float32", n),
         dtype="float32", shape=(n,), role="output")
    return n


def gather(p, n):
    x, i = p.input("float32", n), p.input("int64", n)
    places = p.op("INDEX axis 0", i, p.number(n), dtype="int64", shape=(n,))
    p.op("TAKE", x, places, dtype="float32", shape=(n,), role="output")
    return n


def stencil(dtype):
    def fill(p, n):
        s = math.isqrt(n)
        x, m = p.input(dtype, s, s), s - 2
        at = [x.view(o, (m, s), (m, 1)) for o in (s + 1, s, s + 2, 1, 2 * s + 1)]
        sum_ = at[0]
        for other in at[1:]:
            sum_ = p.op("ADD", sum_, other, dtype=dtype, shape=(m, m))
        p.op("MULTIPLY", sum_, p.number(0.2), dtype=dtype, shape=(m, m), role="output")
        return m * m
    return fill


def broadcast(p, n):
    """A row and a column, with a matrix."""
    s = math.isqrt(n)
    x, row, column = p.input("float32", s, s), p.input("float32", s), p.input("float32", s)
    sum_ = p.op("ADD", x, row.view(0, (s, 0), (s, 1)), dtype="float32", shape=(s, s))
    p.op("ADD", sum_, column.view(0, (s, 1), (s, 0)), dtype="float32", shape=(s, s), role="output")
    return s * s


def transposed(dtype, out):
    def fill(p, n):
        s = math.isqrt(n)
        view = p.input(dtype, s, s).view(0, (s, 1), (s, s))
        if out == dtype:
            p.op("NEGATIVE", view, dtype=out, shape=(s, s), role="output")
        else:
            p.op(f"CAST as {out}", view, dtype=out, shape=(s, s), role="output")
        return s * s
    return fill


def second(p, n):
    """Every second element of rows: what lies between moves as well."""
    s = math.isqrt(n)
    x = p.input("float32", s, s)
    p.op("NEGATIVE", x.view(0, (s, s), (s // 2, 2)), dtype="float32", shape=(s, s // 2),
         role="output")
    return s * (s // 2)


def reduced(op, dtype, axes, shape, out=None):
    """shape: of n."""
    def fill(p, n):
        dims = shape(n)
        left = tuple(d for k, d in enumerate(dims) if not axes >> k & 1)
        p.op(f"{op} axes {axes}", p.input(dtype, *dims), dtype=out or dtype, shape=left,
             role="output")
        return math.prod(dims)
    return fill


def column_distance(p, n):
    s = math.isqrt(n)
    x, y = p.input("float32", s, s), p.input("float32", s, s)
    d = p.op("SUBTRACT", x, y, dtype="float32", shape=(s, s))
    p.op("SUM axes 1", d, dtype="float32", shape=(s,), role="output")
    return s * s


def softmax(p, n):
    s = math.isqrt(n)
    x = p.input("float32", s, s)
    most = p.op("MAX axes 2", x, dtype="float32", shape=(s,))
    d = p.op("SUBTRACT", x, most.view(0, (s, 1), (s, 0)), dtype="float32", shape=(s, s))
    e = p.op("EXP", d, dtype="float32", shape=(s, s))
    sums = p.op("SUM axes 2", e, dtype="float32", shape=(s,))
    p.op("DIVIDE", e, sums.view(0, (s, 1), (s, 0)), dtype="float32", shape=(s, s), role="output")
    return s * s


def mean_var(p, n):
    s = math.isqrt(n)
    x = p.input("float32", s, s)
    sums = p.op("SUM axes 2", x, dtype="float32", shape=(s,))
    mean = p.op("DIVIDE", sums, p.number(float(s)), dtype="float32", shape=(s,), role="output")
    d = p.op("SUBTRACT", x, mean.view(0, (s, 1), (s, 0)), dtype="float32", shape=(s, s))
    q = p.op("SQUARE", d, dtype="float32", shape=(s, s))
    sums = p.op("SUM axes 2", q, dtype="float32", shape=(s,))
    p.op("DIVIDE", sums, p.number(float(s)), dtype="float32", shape=(s,), role="output")
    return s * s


def squares(p, n):
    """Several reductions of what is computed, and a map of the results, for each row."""
    s = math.isqrt(n)
    x, y = p.input("float32", s, s), p.input("float32", s, s)
    d = p.op("SUBTRACT", x, y, dtype="float32", shape=(s, s))
    q = p.op("SQUARE", d, dtype="float32", shape=(s, s))
    total = p.op("SUM axes 2", q, dtype="float32", shape=(s,))
    most = p.op("MAX axes 2", d, dtype="float32", shape=(s,))
    p.op("DIVIDE", total, most, dtype="float32", shape=(s,), role="output")
    return s * s


def scan(op, dtype):
    def fill(p, n):
        s = math.isqrt(n)
        p.op(f"{op} axes 2", p.input(dtype, s, s), dtype=dtype, shape=(s, s), role="output")
        return s * s
    return fill


def ordered(op, dtype, out):
    def fill(p, n):
        p.op(f"{op} axes 1", p.input(dtype, n), dtype=out, shape=(n,), role="output")
        return n
    return fill


def chosen(what):
    def fill(p, n):
        mask, x = p.input("bool", n), p.input("float32", n)
        ranks = p.op("RANKS", mask, dtype="int64", shape=(-(-n // 4096),))
        if what == "COMPACT":
            p.op(what, x, mask, ranks, dtype="float32", shape=(n // 2,), role="output")
        elif what == "PLACES":
            p.op(what, mask, ranks, dtype="int64", shape=(n // 2,), role="output")
        else:
            p.op(what, x, mask, ranks, dtype="float32", shape=(), role="output")
        return n
    return fill


def search(p, n):
    p.op("SEARCH_LEFT", p.input("float64", n), p.input("float64", n), dtype="int64", shape=(n,),
         role="output")
    return n


def interp(p, n):
    p.op("INTERP", p.input("float64", n), p.input("float64", n), p.input("float64", n),
         dtype="float64", shape=(n,), role="output")
    return n


def draw(op, dtype):
    def fill(p, n):
        p.op(f"{op} as {dtype}", p.input("uint64", 8), dtype=dtype, shape=(n,), role="output")
        return n
    return fill


def sparse(columns):
    """Ten entries a row."""
    def fill(p, n):
        rows = n // 10
        more = (columns,) if columns > 1 else ()
        p.op("SPARSE", p.input("float64", n), p.input("int32", rows + 1 + n),
             p.input("float64", rows, *more), dtype="float64", shape=(rows, *more), role="output")
        return n
    return fill


def product(dtype):
    def fill(p, n):
        s = math.isqrt(n)
        p.op("MATMUL", p.input(dtype, s, s), p.input(dtype, s, s), dtype=dtype, shape=(s, s),
             role="output")
        return s * s
    return fill


def square(n):
    return (math.isqrt(n),) * 2


@dataclass
class Program:
    name: str
    fill: callable
    library: bool = False  # a library step: its passes are more than the model knows
    phases: int = 1        # of its kernel: times that it goes over a row

    def make(self, n):
        """Its part, and how many elements are counted."""
        part = Part()
        return part, self.fill(part, int(n))


NINE = (("MULTIPLY", "x", 2.5), ("ADD", "_", "y"), ("DIVIDE", "_", "x"), ("ADD", "_", 1.5),
        ("SQUARE", "_"), ("SQRT", "_"), ("SUBTRACT", "_", "y"), ("MULTIPLY", "_", "x"),
        ("ADD", "_", 0.5))
PROGRAMS = [
    Program("a x + y float32", chain("float32", ("MULTIPLY", "x", 2.5), ("ADD", "_", "y"))),
    Program("a x + y float64", chain("float64", ("MULTIPLY", "x", 2.5), ("ADD", "_", "y"))),
    Program("a x + y float16", chain("float16", ("MULTIPLY", "x", 2.5), ("ADD", "_", "y"))),
    Program("nine operations float32", chain("float32", *NINE)),
    Program("nine operations float64", chain("float64", *NINE)),
    Program("sin^2 + cos^2 float32", sines("float32")),
    Program("sin^2 + cos^2 float64", sines("float64")),
    Program("exp float32", chain("float32", ("EXP", "x"))),
    Program("exp float64", chain("float64", ("EXP", "x"))),
    Program("where float32", where),
    Program("greater float32", two("GREATER", "float32", "float32", "bool")),
    Program("float32 + float64", two("ADD", "float32", "float64", "float64")),
    Program("a b + a int8", chain("int8", ("MULTIPLY", "x", "y"), ("ADD", "_", "x"))),
    Program("floor_divide int8", chain("int8", ("FLOOR_DIVIDE", "x", "y"))),
    Program("remainder int8", chain("int8", ("REMAINDER", "x", "y"))),
    Program("floor_divide int64", chain("int64", ("FLOOR_DIVIDE", "x", "y"))),
    Program("multiply complex64", chain("complex64", ("MULTIPLY", "x", "y"))),
    Program("multiply complex128", chain("complex128", ("MULTIPLY", "x", "y"))),
    Program("divide complex128", chain("complex128", ("DIVIDE", "x", "y"))),
    Program("gather float32", gather),
    Program("5-point stencil float32", stencil("float32")),
    Program("5-point stencil float64", stencil("float64")),
    Program("row and column float32", broadcast),
    Program("transposed float32", transposed("float32", "float32")),
    Program("transposed float32 to float64", transposed("float32", "float64")),
    Program("every second float32", second),
    Program("sum float32", reduced("SUM", "float32", 1, lambda n: (n,))),
    Program("sum float64", reduced("SUM", "float64", 1, lambda n: (n,))),
    Program("sum complex128", reduced("SUM", "complex128", 1, lambda n: (n,))),
    Program("sums of rows float32", reduced("SUM", "float32", 2, square)),
    Program("sums of short rows float32",
            reduced("SUM", "float32", 2, lambda n: (n // 128, 128))),
    Program("sums of odd rows float32",
            reduced("SUM", "float32", 2, lambda n: (n // 125, 125))),
    Program("sums of columns float32", reduced("SUM", "float32", 1, square)),
    Program("sums of columns float64", reduced("SUM", "float64", 1, square)),
    Program("sums of columns of x - y float32", column_distance),
    Program("least of rows float64", reduced("MIN", "float64", 2, square)),
    Program("argmax of rows float32", reduced("ARGMAX", "float32", 2, square, "int64")),
    Program("softmax of rows float32", softmax, phases=3),
    Program("mean and variance of rows float32", mean_var, phases=2),
    Program("two reductions of rows float32", squares),
    Program("cumsum of rows float64", scan("CUMSUM", "float64"), True),
    Program("sort float32", ordered("SORT", "float32", "float32"), True),
    Program("argsort float32", ordered("ARGSORT", "float32", "int64"), True),
    Program("elements by a mask float32", chosen("COMPACT"), True),
    Program("places by a mask", chosen("PLACES"), True),
    Program("sum by a mask float32", chosen("CHOSEN_SUM"), True),
    Program("searchsorted float64", search, True),
    Program("interp float64", interp, True),
    Program("uniform float64", draw("DRAW_UNIFORM", "float64"), True),
    Program("normal float64", draw("DRAW_NORMAL", "float64"), True),
    Program("PCG64 float64", draw("PCG64", "float64"), True),
    Program("sparse by a vector float64", sparse(1), True),
    Program("sparse by eight columns float64", sparse(8), True),
    Program("matmul float16", product("float16"), True),
    Program("matmul float32", product("float32"), True),
    Program("matmul int8", product("int8"), True),
]
