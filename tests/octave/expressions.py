# SPDX-License-Identifier: Apache-2.0
"""Random statements of Octave's, by a seed: expressions, index forms and assignments.

Each sets r.  The variables are those of `compare.m`: matrices, vectors, numbers and an array of
three axes, of every class that braze has.  Some statements are wrong on purpose.
"""

import random

MATRICES = ("a", "b", "p", "n", "f", "g", "k", "u", "z")  # 3 by 4; n has NaN, p is positive
ROWS, COLUMNS, NUMBERS = ("row", "irow"), ("col", "fcol"), ("s", "i8", "t", "2", "-1.5", "0")
OTHERS = ("cube", "square", "wide", "empty", "narrow")
BINARY = 3 * ("+", "-", ".*", "./", ".\\", ".^", "<", "<=", "==", "!=", ">", ">=", "&", "|") + ("*", "/")
UNARY = ("-", "!", "+")
ELEMENTWISE = ("abs sqrt exp log sin cos tan floor ceil round fix isnan isinf sign log2 log10 gamma "
               "double single int32 uint8 logical real conj tanh atan isfinite cosh asinh").split()
ROUNDED = "exp log sin cos tan log2 log10 gamma tanh atan cosh asinh".split()
REDUCTIONS = "sum prod max min any all mean cumsum cumprod sumsq std var median norm range".split()
SHAPES = ("{0}'", "{0}.'", "reshape({0}, [], 2)", "{0}(:)", "repmat({0}, 2, 2)", "fliplr({0})",
          "circshift({0}, 1)", "permute({0}, [2 1])", "size({0})", "numel({0})", "rot90({0})",
          "[{0}; {0}]", "[{0}, {0}]", "cat(3, {0}, {0})", "squeeze({0})", "triu({0})", "diff({0})",
          "sort({0})", "sort({0}, 'descend')", "kron({0}, [1 2])", "isequal({0}, {0})", "end_of({0})",
          "num2str({0})", "sprintf('%g ', {0})", "mat2str({0})", "class(gather({0}))", "ndims({0})",
          "columns({0})", "isempty({0})", "find({0})", "unique({0})", "nnz({0})", "flipud({0})",
          "linspace({0}(1), 5, 4)", "bitand(uint8(7), {0}(1))", "mod({0}, 3)", "atan2({0}, 2)",
          "hypot({0}, 1)", "max({0}, 1)", "min(2, {0})", "diag({0})", "isa({0}, 'float')", "tril({0})")
PLACES = (":", "1", "2", "3", "end", "end-1", "1:2", "2:3", "[1 3]", "[3 1 1]", "3:-1:1", "1:2:end",
          "[true false true]", "a(1,1:3) > 0", "[]", "7", "0", "1.5", "braze_or([2 1])", "col > 9")
VALUES = ("5", "-2.5", "single(1.5)", "int8(100)", "true", "NaN", "[]", "1:2", "[7 8 9]", "300",
          "row", "col", "a", "a(1:2, :)", "b(:, 1)'", "1i", "f(1, :)", "z", "ones(3, 4)", "'x'")


class Maker:
    """Statements, one after the other."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def one(self, of):
        return self.random.choice(of)

    def place(self):
        """Mostly one that three rows have."""
        return self.one(PLACES if self.random.random() < 0.15 else PLACES[:11])

    def operand(self, depth):
        kind = self.random.random()
        if depth and kind < 0.45:
            return f"({self.expression(depth - 1)})"
        if kind < 0.88:
            return self.one(MATRICES)
        return self.one(ROWS + COLUMNS + NUMBERS + OTHERS)

    def variable(self):
        return self.one(MATRICES + MATRICES + ROWS + COLUMNS + OTHERS + ("s",))

    def indexed(self, name):
        count = self.one((1, 2, 2, 2, 3))
        return f"{name}({', '.join(self.place() for _ in range(count))})"

    def expression(self, depth=2):
        kind = self.random.random()
        if kind < 0.4:
            return f"{self.operand(depth)} {self.one(BINARY)} {self.operand(depth)}"
        if kind < 0.47:
            return f"{self.one(UNARY)}{self.operand(depth)}"
        if kind < 0.6:
            name = self.one(ELEMENTWISE)
            # Of singles their last bits may differ, which integers made of them would show.
            of = self.one(MATRICES[:4]) if name in ROUNDED else self.operand(depth)
            return f"{name}({of})"
        if kind < 0.72:
            axis = self.one(("", "", ", 1", ", 2"))
            name = self.one(REDUCTIONS)
            axis = "" if name in ("max", "min", "std", "var", "norm", "range") else axis
            return f"{name}({self.operand(depth)}{axis})"
        if kind < 0.85:
            return self.one(SHAPES).format(self.operand(depth))
        return self.indexed(self.variable())

    def statement(self):
        kind = self.random.random()
        if kind < 0.6:
            return f"r = {self.expression()};"
        name = self.variable()
        if kind < 0.9:
            kept = "old = NAME; " if self.random.random() < 0.3 else ""
            shown = "{r, old}" if kept else "r"
            # Octave reads beyond its own array where no place of three is left (Array::assign).
            target = self.indexed("NAME")
            while target.count(",") == 2 and ("[]" in target or name == "empty"):
                target = self.indexed("NAME")
            made = f"{kept}{target} = {self.one(VALUES)}; r = NAME; r = {shown};"
            return made.replace("NAME", name)
        if kind < 0.95:
            # Of one shape: whether others may grow depends on who else holds Octave's array.
            op, name = self.one(("+=", "-=", ".*=", "./=")), self.one(MATRICES)
            return f"{name} {op} {self.one(MATRICES + NUMBERS)}; r = {name};"
        return self.one((
            f"{name}++; r = {name};", f"[r, i] = max({name}); r = {{r, i}};",
            f"r = 0; for c = {name}, r = r + sum(c(:)); end", f"v = {name}(:)'; v(2) = []; r = v;",
            f"if {name}, r = 1; else, r = 0; end", f"q.f = {name}; q.f(2) = 7; r = {{q.f, {name}}};",
            f"q = {{{name}}}; q{{1}}(1) = 3; r = {{q{{1}}, {name}}};", f"r = {name}{{1}};"))


def statements(seed, count):
    """So many statements."""
    maker = Maker(seed)
    return [maker.statement() for _ in range(count)]
