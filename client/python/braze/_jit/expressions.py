# SPDX-License-Identifier: Apache-2.0
"""Python's expressions in the kernel language.

In:  an expression's tree, a scope that knows the variables.  Out: its text and its type.  What must be
done before the expression, or only under a condition, is written to the scope as statements.
"""

import ast
from dataclasses import dataclass

import numpy as np

from braze._jit import calls
from braze._jit.kinds import (BOOL, COMPLEX, FLOAT, INT, WEAK, Array, Kind, Refusal, is_integer,
                              is_narrow, join, literal, operand, said, strong)

UFUNCS = {
    ast.Add: (np.add, "+", 9), ast.Sub: (np.subtract, "-", 9), ast.Mult: (np.multiply, "*", 10),
    ast.Div: (np.true_divide, "/", 10), ast.FloorDiv: (np.floor_divide, "//", 10),
    ast.Mod: (np.remainder, "%", 10), ast.Pow: (np.power, "**", 12),
    ast.LShift: (np.left_shift, "<<", 8), ast.RShift: (np.right_shift, ">>", 8),
    ast.BitOr: (np.bitwise_or, "|", 5), ast.BitXor: (np.bitwise_xor, "^", 6),
    ast.BitAnd: (np.bitwise_and, "&", 7),
}
_COMPARE = {ast.Lt: (np.less, "<"), ast.LtE: (np.less_equal, "<="), ast.Gt: (np.greater, ">"),
            ast.GtE: (np.greater_equal, ">="), ast.Eq: (np.equal, "=="),
            ast.NotEq: (np.not_equal, "!=")}
NO_NUMBER = "an array in place of a number"
_COMPARES, _UNARY, _POWER, _ATOM = 4, 11, 12, 13


@dataclass(frozen=True)
class Value:
    """What an expression is: its text, binding as tightly as `level`; of which type; of a name or a
    number, which may be written twice.  A `const` is known as Python knows it."""

    text: str
    kind: object  # Kind, Array, or None while it is not known
    level: int = _ATOM
    simple: bool = False
    const: object = None

    def at(self, level):
        return self.text if self.level >= level else f"({self.text})"


UNKNOWN = Value("0", None, simple=True)


def constant(value):
    text, kind = literal(value)
    level = _UNARY if text.startswith("-") else _ATOM
    return Value(text, kind, level, True, value)


def cast(value, dtype):
    """The value in that type, written out where it has another."""
    if value.kind is None or value.kind.dtype == dtype:
        return value
    if value.const is not None and type(value.const) is int and np.dtype(dtype).kind in "iu":
        if not _fits(value.const, dtype):
            raise Refusal(f"{value.const} does not fit {np.dtype(dtype).name}")
    if type(value.const) is int and dtype == np.float64 and abs(value.const) < 2**53:
        return Value(repr(float(value.const)), strong(dtype), _UNARY, True)
    return Value(f"{np.dtype(dtype).name}({value.text})", strong(dtype), simple=value.simple)


def resolve(ufunc, kinds, node):
    """The types that a ufunc takes and gives."""
    try:
        return ufunc.resolve_dtypes((*map(operand, kinds), *[None] * ufunc.nout))
    except TypeError as error:
        raise Refusal(f"NumPy says: {error}", node) from None


class Expressions:
    """Half of a scope: `self.variable(name)`, `self.temporary`, `self.emit` are the other half's."""

    def expression(self, node):
        way = getattr(self, "_" + type(node).__name__, None)
        if way is None:
            raise Refusal(f"{said(node)} is no part of a kernel", node)
        return way(node)

    def scalar(self, node):
        part = self.section(node) if self.within else None
        if part is not None:
            return Value(part[0], strong(part[1].kind.dtype))
        value = self.expression(node)
        if isinstance(value.kind, Array):
            raise Refusal(NO_NUMBER, node)
        if value.kind is not None and not isinstance(value.kind, Kind):
            raise Refusal("neither a number nor an array", node)
        return value

    def truth(self, node):
        """In a place that asks whether it is true."""
        if isinstance(node, ast.BoolOp):
            return self._chain(node, self.truth)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return Value(f"not {self.truth(node.operand).at(3)}", BOOL, 3)
        value = self.scalar(node)
        if value.const is not None:
            return constant(bool(value.const))
        return value

    def common(self, values, node, kind=None):
        """The type of what is one value or another, and `kind` before.  Where that is a narrow one and a value
        an integer of Python's, the integer might not fit: noted, since types may widen still."""
        for value in values:
            kind = join(kind, value.kind)
        if kind is not None and is_narrow(kind) and any(
                v.kind == INT and v.const is None and not self.is_bounded(v, kind.dtype) for v in values):
            self.program.mixed.append(Refusal(
                f"an integer of Python's or one of {kind.dtype.name}, where it may not fit: int() of the "
                f"other makes both Python's, np.{kind.dtype.name}() of it both NumPy's", node))
        return kind

    # ---- Names, numbers ----

    def _Constant(self, node):
        if type(node.value) not in WEAK:
            raise Refusal(f"{node.value!r} is no number", node)
        return constant(node.value)

    def _Name(self, node):
        return self.variable(node.id, node)

    def _Attribute(self, node):
        if node.attr in ("shape", "size", "ndim") and self.is_array(node.value):
            array = self.array(node.value)
            if node.attr == "ndim":
                return constant(array.kind.ndim)
            if node.attr == "size":
                sizes = [f"len({array.base}, {k})" for k in array.axes]
                return Value(" * ".join(sizes) if sizes else "1", INT, 10 if len(sizes) > 1 else _ATOM)
            raise Refusal("a shape is read by its parts: x.shape[0]", node)
        value = self.dotted(node)
        return self._part_of_number(node) if value is None else value

    def _part_of_number(self, node):
        """z.real, z.imag"""
        if node.attr not in ("real", "imag"):
            raise Refusal(f"'.{node.attr}' of what a kernel makes", node)
        value = self.scalar(node.value)
        if value.kind is None:
            return UNKNOWN
        dtype = value.kind.dtype
        if dtype.kind == "b":
            raise Refusal(f"'.{node.attr}' of a truth value", node)
        if dtype.kind != "c":
            zero = cast(constant(0), dtype)
            return value if node.attr == "real" else Value(zero.text, value.kind, zero.level, True)
        kind = FLOAT if value.kind.weak else strong(dtype.type(0).real.dtype)
        return Value(f"{node.attr}({value.text})", kind)

    # ---- Arithmetic ----

    def _UnaryOp(self, node):
        if isinstance(node.op, ast.Not):
            return self.truth(node)
        value = self.scalar(node.operand)
        if value.kind is None:
            return UNKNOWN
        if value.const is not None and not isinstance(node.op, ast.Invert):
            return constant(-value.const if isinstance(node.op, ast.USub) else +value.const)
        if value.kind == BOOL:
            value = Value(cast(value, INT.dtype).text, INT)
        ufunc, sign = {ast.USub: (np.negative, "-"), ast.UAdd: (np.positive, "+"),
                       ast.Invert: (np.invert, "~")}[type(node.op)]
        resolve(ufunc, [value.kind], node)
        return Value(f"{sign}{value.at(_UNARY)}", value.kind, _UNARY)

    def _BinOp(self, node):
        if isinstance(node.op, ast.MatMult):
            return self.product(node)
        return self.binary(node.op, *self.in_order([node.left, node.right]), node)

    def binary(self, op, a, b, node):
        if a.kind is None or b.kind is None:
            return UNKNOWN
        if a.const is not None and b.const is not None:
            return self._folded(op, a, b, node)
        ufunc, sign, level = UFUNCS[type(op)]
        if isinstance(op, ast.Pow):
            a, b = self._power(a, b, node)
        if a.kind.weak and b.kind.weak:
            return self._of_weak(op, a, b, sign, level, node)
        first, second, out = resolve(ufunc, [a.kind, b.kind], node)
        if a.kind.weak or b.kind.weak or of_two_signs(a, b):
            a, b = cast(a, first), cast(b, second)
        return Value(between(a, sign, b, level), strong(out), level)

    def _folded(self, op, a, b, node):
        whole = ast.Expression(ast.BinOp(ast.Constant(a.const), op, ast.Constant(b.const)))
        if isinstance(op, (ast.LShift, ast.Pow)) and not -1024 <= b.const.real <= 1024:
            raise Refusal("a number of that size", node)
        try:
            result = eval(compile(ast.fix_missing_locations(whole), "<constant>", "eval"))
        except (ArithmeticError, TypeError, ValueError) as error:
            raise Refusal(f"it raises: {error}", node) from None
        return constant(result)

    def _power(self, a, b, node):
        """An integer to a negative power is a float of Python's, and an error of NumPy's."""
        if is_integer(a.kind) and is_integer(b.kind) and b.const is not None and b.const < 0:
            if not a.kind.weak:
                raise Refusal("an integer to a negative power", node)
            return Value(cast(a, FLOAT.dtype).text, FLOAT), b
        return a, b

    def _of_weak(self, op, a, b, sign, level, node):
        bits = isinstance(op, (ast.BitAnd, ast.BitOr, ast.BitXor))
        kind = join(a.kind, b.kind)
        if kind == BOOL and not bits:
            kind = INT
        if kind.dtype.kind in "fc" and (bits or isinstance(op, (ast.LShift, ast.RShift))):
            raise Refusal(f"'{sign}' of floats", node)
        if kind == COMPLEX and isinstance(op, (ast.FloorDiv, ast.Mod)):
            raise Refusal(f"'{sign}' of complex numbers", node)
        a, b = cast(a, kind.dtype), cast(b, kind.dtype)
        out = FLOAT if isinstance(op, ast.Div) and kind == INT else kind
        return Value(between(a, sign, b, level), out, level)

    # ---- Conditions ----

    def _Compare(self, node):
        folded = self._told(node)
        if folded is not None:
            return folded
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            return self._one_of_several(self.scalar(node.left), node)
        if len(node.ops) == 1:
            return self._pair(node.ops[0], *self.in_order([node.left, node.comparators[0]]), node)
        return self._chained(node)

    def _chained(self, node):
        """a < b < c: what comes later is done only if the earlier is true, and each once or without effect."""
        left, right = self.in_order([node.left, node.comparators[0]])
        if not right.simple:
            left = left if left.simple else self.temporary(left, node)  # whose error would come first
            right = self.temporary(right, node)
        parts = [self._pair(node.ops[0], left, right, node)]
        out = parts[0]
        for op, part in zip(node.ops[1:], node.comparators[1:]):
            lines, value = self.aside(self.scalar, part)
            if lines and value.kind is not None:
                out, value = self._only_if(out, lines, value, node)
            parts.append(self._pair(op, right, value, node))
            if out.kind is None or parts[-1].kind is None:
                out = UNKNOWN
            else:
                out = Value(f"{out.at(2)} and {parts[-1].at(3)}", BOOL, 2)
            right = value
        if out.kind is None:
            return UNKNOWN
        return Value(out.text, BOOL if all(p.kind.weak for p in parts) else strong(np.bool_), 2)

    def _only_if(self, test, lines, value, node):
        """Truth and a value that is worked out by lines of its own, where the truth asks for it."""
        test = self.temporary(cast_truth(test), node, BOOL)
        held = self.temporary(cast(constant(0), value.kind.dtype), node, value.kind)
        self.conditional(test.text, lines, [f"{held.text} = {value.text}"], node)
        return test, held

    def _told(self, node):
        """`w is None`, `mode == "fast"`: what the kernel's types tell; None: they do not."""
        op = node.ops[0]
        if len(node.ops) > 1 or not isinstance(op, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
            return None
        sides = node.left, node.comparators[0]
        (one, a), (other, b) = map(self.known, sides)
        if isinstance(op, (ast.Is, ast.IsNot)):
            if not (one or other) or type(a) is str or type(b) is str:
                return None
            same = one and other
        elif one and other:
            same = a == b
        else:
            return None
        return constant(same == isinstance(op, (ast.Is, ast.Eq)))

    def _one_of_several(self, value, node):
        """`v in (1, 2)`: numbers that are written out."""
        several = node.comparators[0]
        if not isinstance(several, (ast.Tuple, ast.List, ast.Set)) or not several.elts:
            raise Refusal("`in` asks for numbers that are written out: v in (1, 2)", node)
        value = value if value.simple else self.temporary(value, node)
        others = [self.scalar(v) for v in several.elts]
        if value.kind is None or any(v.kind is None for v in others):
            return UNKNOWN
        # A NaN is in a tuple of the very object.
        if any(v.const is None and v.kind.dtype.kind not in "biu" for v in others):
            raise Refusal("`in` of floats that are no numbers of the text", node)
        parts = [self._pair(ast.Eq(), value, v, node).at(3) for v in others]
        text = " or ".join(parts)
        if isinstance(node.ops[0], ast.NotIn):
            return Value(f"not ({text})", BOOL, 3)
        return Value(text, BOOL, 1 if len(parts) > 1 else 3)

    def _pair(self, op, a, b, node):
        if type(op) not in _COMPARE:
            raise Refusal("only numbers are compared, by < <= > >= == !=", node)
        ufunc, sign = _COMPARE[type(op)]
        if a.kind is None or b.kind is None:
            return UNKNOWN
        if a.const is not None and b.const is not None:
            a = Value(a.text, a.kind, a.level)
        both_weak = a.kind.weak and b.kind.weak
        if both_weak:
            kind = join(a.kind, b.kind)
            if kind == COMPLEX and sign not in ("==", "!="):
                raise Refusal("complex numbers of Python's have no order", node)
            a, b = cast(a, kind.dtype), cast(b, kind.dtype)
        elif a.kind.weak or b.kind.weak:
            a, b = self._beside_weak(ufunc, a, b, node)
        else:
            resolve(ufunc, [a.kind, b.kind], node)
        if not both_weak and of_two_signs(a, b):
            return _by_sign(a, sign, b)
        text = f"{a.at(_COMPARES + 1)} {sign} {b.at(_COMPARES + 1)}"
        return Value(text, BOOL if both_weak else strong(np.bool_), _COMPARES)

    def _beside_weak(self, ufunc, a, b, node):
        """An integer of Python's may lie outside the other's type, and is compared all the same."""
        firm, weak = (b, a) if a.kind.weak else (a, b)
        if is_integer(firm.kind) and weak.kind == INT:
            if weak.const is not None and _fits(weak.const, firm.kind.dtype):
                return a, b
            wide = np.dtype(np.int64)
            if firm.kind.dtype == np.uint64:
                if weak.const is None or weak.const < 0:
                    raise Refusal("an integer that may be negative beside a uint64", node)
                wide = np.dtype(np.uint64)
            return cast(a, wide), cast(b, wide)
        first, second = resolve(ufunc, [a.kind, b.kind], node)[:2]
        return cast(a, first), cast(b, second)

    def _BoolOp(self, node):
        """As a value: `a or b` is one of the two."""
        value = self._chain(node, self.scalar)
        return value

    def _chain(self, node, way):
        """`and`, `or`: what comes later is done only if the earlier does not tell."""
        word = "and" if isinstance(node.op, ast.And) else "or"
        level = 2 if word == "and" else 1
        out = way(node.values[0])
        for part in node.values[1:]:
            lines, value = self.aside(way, part)
            if out.kind is None or value.kind is None:
                out = UNKNOWN
                continue
            truth = way == self.truth
            kind = BOOL if truth else self.common([out, value], node)
            if not truth and (out.kind.dtype.kind != "b" or value.kind.dtype.kind != "b"):
                out = self._one_of(word, out, lines, value, kind, node)
            elif lines:
                held = self.temporary(cast_truth(out), node, BOOL)
                test = held.text if word == "and" else f"not {held.text}"
                self.conditional(test, lines, [f"{held.text} = {cast_truth(value).text}"], node)
                out = Value(held.text, kind)
            else:
                out = Value(f"{out.at(level)} {word} {value.at(level + 1)}", kind, level)
        return out

    def _one_of(self, word, a, lines, b, kind, node):
        held = self.temporary(cast(a, kind.dtype), node, kind)
        test = held.text if word == "and" else f"not {held.text}"
        self.conditional(test, lines, [f"{held.text} = {cast(b, kind.dtype).text}"], node)
        return Value(held.text, kind, simple=True)

    def _IfExp(self, node):
        return self.either(self.truth(node.test), node.body, node.orelse, node)

    def either(self, test, first, second, node):
        """The one expression or the other; only that one is worked out."""
        if test.const is not None:
            return self.scalar(first if test.const else second)
        before, a = self.aside(self.scalar, first)
        otherwise, b = self.aside(self.scalar, second)
        kind = self.common([a, b], node)
        if kind is None or test.kind is None:
            return UNKNOWN
        a, b = cast(a, kind.dtype), cast(b, kind.dtype)
        if a.simple and b.simple and not before and not otherwise:
            return Value(f"where({cast_truth(test).text}, {a.text}, {b.text})", kind)
        held = self.temporary(Value("0", INT), node, kind)
        self.conditional(test.text, before, [f"{held.text} = {a.text}"], node, otherwise,
                         [f"{held.text} = {b.text}"])
        return Value(held.text, kind, simple=True)

    # ---- Elements ----

    def _Subscript(self, node):
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape" \
                and self.is_array(node.value.value):
            return self._extent(node)
        if self.path(node) is not None:
            return self.free(self.path(node), node)
        array = self.array(node)
        if array.kind.ndim:
            return array.value()
        return Value(array.text(), strong(array.kind.dtype))

    def _extent(self, node):
        array = self.array(node.value.value)
        index = self.expression(node.slice).const
        if type(index) is not int or not -array.kind.ndim <= index < array.kind.ndim:
            raise Refusal("an axis that is no number, or not there", node)
        return Value(f"len({array.base}, {array.axes[index]})", INT)

    def index(self, node):
        kept, self.within = self.within, 0  # it is a number, in slices, too
        try:
            value = self.scalar(node)
        except Refusal as refusal:
            if refusal.reason == NO_NUMBER:
                raise Refusal("an array as an index: a mask, or places", node) from None
            raise
        finally:
            self.within = kept
        if value.kind is None:
            return value
        if not is_integer(value.kind):
            raise Refusal(f"an index of type {value.kind}", node)
        return cast(value, np.int64) if value.kind.dtype == np.uint64 else value

    # ---- Calls ----

    def _Call(self, node):
        value = self.call_of(node)
        if not isinstance(value, Value):
            raise Refusal("a function that gives no number, in place of one", node)
        return value

    def call_of(self, node):
        """What a call gives: a Value, several, or None."""
        return calls.call(self, node)


def of_two_signs(a, b):
    """A uint64 and a signed integer of an array's type, which the language does not take together."""
    return {a.kind.dtype.kind, b.kind.dtype.kind} == {"i", "u"} and not a.kind.weak \
        and not b.kind.weak and np.dtype(np.uint64) in (a.kind.dtype, b.kind.dtype)


def _by_sign(a, sign, b):
    """Their comparison: neither type has a place for all of the other's numbers."""
    signed, other = (a, b) if a.kind.dtype.kind == "i" else (b, a)
    # One that is negative is less than the other, whichever that is.
    told = {"==": False, "!=": True}.get(sign, (sign[0] == "<") == (signed is a))
    parts = [f"uint64({v.text})" if v is signed else v.at(_COMPARES + 1) for v in (a, b)]
    return Value(f"where({signed.at(_COMPARES + 1)} < 0, {str(told).lower()}, {f' {sign} '.join(parts)})",
                 strong(np.bool_))


def _fits(number, dtype):
    info = np.iinfo(dtype)
    return info.min <= number <= info.max


def cast_truth(value):
    """As a `bool`, which `not`, `where` and variables want."""
    if value.kind is None or value.kind.dtype.kind == "b":
        return value
    zero = {"f": "0.0", "c": "0j"}.get(value.kind.dtype.kind, "0")
    return Value(f"{value.at(_COMPARES + 1)} != {zero}", BOOL, _COMPARES)


def between(a, sign, b, level):
    """`**` binds to the right, all others to the left."""
    if sign == "**":
        return f"{a.at(_ATOM)} ** {b.at(_ATOM)}"
    return f"{a.at(level)} {sign} {b.at(level + 1)}"
