# SPDX-License-Identifier: Apache-2.0
"""Types of values in captured loops.

Python's numbers are *weak*, as for NumPy: beside a number of an array's type they take that type.
Integers are 64 bits wide, and wrap.  A local variable has one type, the join of what is assigned to it.
"""

from typing import NamedTuple

import numpy as np


class Refusal(Exception):
    """Why something stays Python: a reason, and the line where it stands."""

    def __init__(self, reason, node=None):
        super().__init__(reason)
        self.reason = reason
        self.line = getattr(node, "lineno", None)


_WORDS = {
    "Try": "try", "TryStar": "try", "Raise": "raise", "ListComp": "a list comprehension",
    "SetComp": "a set comprehension", "DictComp": "a dict comprehension", "Tuple": "a tuple",
    "GeneratorExp": "a generator", "FunctionDef": "a function's definition", "Delete": "del",
    "ClassDef": "a class", "Match": "match", "NamedExpr": ":=", "JoinedStr": "an f-string",
    "List": "a list", "Dict": "a dict", "Set": "a set", "With": "with", "Lambda": "lambda",
    "Global": "global", "Nonlocal": "nonlocal", "Import": "import", "ImportFrom": "import",
    "Starred": "*", "Await": "await", "Yield": "yield", "YieldFrom": "yield from",
}


def said(node):
    """What a program's author calls it."""
    return _WORDS.get(type(node).__name__, type(node).__name__)


class Kind(NamedTuple):
    """The type of a scalar."""

    dtype: np.dtype
    weak: bool

    def __str__(self):
        return f"{_PYTHONS[self.dtype.kind]} of Python's" if self.weak else self.dtype.name


class Array(NamedTuple):
    """The type of an array, or of what is left of one after some indices."""

    dtype: np.dtype
    ndim: int
    is_array: bool = True  # so that none equals a Kind: True is 1

    def __str__(self):
        return f"{self.dtype.name}[{', '.join(':' * self.ndim)}]"


_PYTHONS = {"b": "bool", "i": "int", "f": "float", "c": "complex"}
_CLASSES = {"b": bool, "i": int, "f": float, "c": complex}
_ORDER = "bifc"

BOOL = Kind(np.dtype(np.bool_), True)
INT = Kind(np.dtype(np.int64), True)
FLOAT = Kind(np.dtype(np.float64), True)
COMPLEX = Kind(np.dtype(np.complex128), True)
WEAK = {bool: BOOL, int: INT, float: FLOAT, complex: COMPLEX}

# What the kernel language has.
KNOWN = frozenset(np.dtype(name) for name in (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128"))


def strong(dtype):
    return Kind(np.dtype(dtype), False)


def operand(kind):
    """As `numpy.ufunc.resolve_dtypes` takes it."""
    return _CLASSES[kind.dtype.kind] if kind.weak and kind != BOOL else kind.dtype


def is_integer(kind):
    return kind.dtype.kind in "iu"


def join(a, b):
    """The type of a variable that has been one and the other; None is what is not known yet."""
    if a is None or b is None or a == b:
        return a or b
    if a.weak and b.weak:
        return max(a, b, key=lambda k: _ORDER.index(k.dtype.kind))
    if a.weak != b.weak:
        weak, firm = (a, b) if a.weak else (b, a)
        return strong(np.result_type(firm.dtype, _CLASSES[weak.dtype.kind](0)))
    return strong(np.promote_types(a.dtype, b.dtype))


# Integers that hold what programs count; all others may lack the place for a number of Python's.
_WIDE = frozenset(map(np.dtype, ("int32", "int64")))


def is_narrow(kind):
    """Is it an array's type of integers that are small, or never negative?"""
    return not kind.weak and is_integer(kind) and kind.dtype not in _WIDE


def of_value(value):
    """The type of a number as an argument; None: it is none that a kernel takes."""
    if type(value) in WEAK:
        return WEAK[type(value)]
    if isinstance(value, np.generic) and value.dtype in KNOWN:
        return strong(value.dtype)
    return None


def literal(value):
    """A number of Python's in the kernel language, and its type."""
    kind = WEAK[type(value)]
    if kind is BOOL:
        return ("true" if value else "false"), kind
    if kind is INT:
        if not -2**63 < value < 2**63:
            raise Refusal(f"the integer {value} has more than 64 bits")
        return repr(value), kind
    if kind is COMPLEX:
        real, imaginary = literal(value.real)[0], literal(abs(value.imag))[0]
        if not np.isfinite(value.imag):
            raise Refusal("a complex number that is not finite")
        sign = "-" if np.signbit(value.imag) else "+"
        return f"({real} {sign} {imaginary}j)", kind
    if value != value:
        return "(0.0 / 0.0)", kind
    if value in (np.inf, -np.inf):
        return ("(1.0 / 0.0)" if value > 0 else "(-1.0 / 0.0)"), kind
    return repr(value), kind
