# SPDX-License-Identifier: Apache-2.0
"""What a captured loop may call: Python's and `math`'s functions by the tables here, NumPy's
elementwise ones, types as casts, and plain functions of numbers, which become functions of the kernel.
"""

import ast
import builtins
import math
import sys
import types

import numpy as np
from numpy._core.umath import clip  # the ufunc behind np.clip

from braze._jit import expressions as ex
from braze._jit.kinds import BOOL, COMPLEX, FLOAT, INT, KNOWN, Refusal, strong

# math's name -> the language's, all of floats.
_MATH = {"sqrt": "sqrt", "cbrt": "cbrt", "exp": "exp", "exp2": "exp2", "expm1": "expm1",
         "log1p": "log1p", "log2": "log2", "log10": "log10", "sin": "sin", "cos": "cos",
         "tan": "tan", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "sinh": "sinh",
         "cosh": "cosh", "tanh": "tanh", "asinh": "arcsinh", "acosh": "arccosh",
         "atanh": "arctanh", "fabs": "abs", "atan2": "arctan2", "hypot": "hypot", "pow": "power",
         "fmod": "fmod", "copysign": "copysign", "degrees": "degrees", "radians": "radians"}
_ROUNDED = {"floor": "floor", "ceil": "ceil", "trunc": "trunc"}
_ASKED = {"isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite"}


def call(scope, node):
    if scope.factors(node):
        return scope.product(node)
    if scope.is_reduction(node):
        return scope.reduction(node)
    if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS \
            and scope.path(node.func) is None:
        return _METHODS[node.func.attr](scope, scope.scalar(node.func.value), node)
    target = scope.callee(node.func)
    if hasattr(target, "__braze_atomic__"):
        return atomic(scope, target, node)
    function = getattr(target, "__braze_jit__", target)
    function = getattr(function, "function", function)
    if isinstance(function, types.FunctionType) and numpys(target) is None:
        return scope.program.function_call(scope, function, node)
    return _of_library(scope, target, node)


def _of_library(scope, target, node):
    """Python's, math's and NumPy's."""
    if node.keywords:
        raise Refusal("arguments by name", node)
    if any(isinstance(a, ast.Starred) for a in node.args):
        raise Refusal("arguments by *", node)
    name = getattr(target, "__name__", "")
    if getattr(math, name, None) is target:
        return _of_math(scope, name, node)
    if getattr(builtins, name, None) is target:
        way = _BUILTINS.get(name)
        if way is None:
            more = f": np.{name} of a slice is" if name in ("sum", "any", "all") else ""
            raise Refusal(f"{name}() is no part of a kernel{more}", node)
        return way(scope, node)
    ufunc = numpys(target)
    if ufunc is not None:
        return _of_numpy(scope, ufunc, node)
    raise Refusal(f"a call of {ast.unparse(node.func)}(), which no kernel has", node)


# ---- Methods of numbers ----

def _item(scope, value, node):
    """As Python's number."""
    if node.args or value.kind is None:
        return _no_arguments(value, node)
    kind = {"b": BOOL, "f": FLOAT, "c": COMPLEX}.get(value.kind.dtype.kind, INT)
    if value.kind.dtype == np.uint64:
        raise Refusal("a uint64 as an integer of Python's", node)
    value = ex.cast(value, kind.dtype)
    return ex.Value(value.text, kind, value.level, value.simple)


def _conjugate(scope, value, node):
    if node.args or value.kind is None:
        return _no_arguments(value, node)
    if value.kind.dtype.kind == "b":
        raise Refusal("conjugate() of a truth value", node)
    return ex.Value(f"conj({value.text})", value.kind) if value.kind.dtype.kind == "c" else value


def _astype(scope, value, node):
    if len(node.args) != 1 or value.kind is None:
        return _no_arguments(value, node)
    return _in_dtype(value, scope.annotated(node.args[0]).dtype, node)


def _no_arguments(value, node):
    if value.kind is not None:
        raise Refusal(f"{node.func.attr}() with such arguments", node)
    return ex.UNKNOWN


_METHODS = {"item": _item, "conjugate": _conjugate, "conj": _conjugate, "astype": _astype}

_ATOMIC = {"add": ast.Add(), "sub": ast.Sub(), "mul": ast.Mult(), "and": ast.BitAnd(),
           "or": ast.BitOr(), "xor": ast.BitXor()}


def atomic(scope, target, node):
    """`atomic_add(a, i, v)` and its kind: turns run in their order, so a plain operation is one at once."""
    what = target.__braze_atomic__
    swap = what == "compare_exchange"
    if len(node.args) != 3 + swap or node.keywords:
        raise Refusal(f"{target.__name__}() takes an array, an index and {1 + swap} values, by their places",
                      node)
    if node not in scope.alone:
        raise Refusal(f"{target.__name__}() inside an expression: assign what it gives", node)
    array, index, *operands = node.args
    parts = index.elts if isinstance(index, (ast.List, ast.Tuple)) else [index]
    index = ast.Tuple(parts, ast.Load()) if len(parts) > 1 else parts[0]
    held = scope.array(ast.copy_location(ast.Subscript(array, index, ast.Load()), node))
    if held.kind.ndim:
        raise Refusal("an atomic operation on a part of an array", node)
    old = scope.temporary(ex.Value(held.text(), strong(held.kind.dtype)), node)
    values = scope.in_order(operands)
    value = values[-1]
    if any(v.kind is None for v in values):
        return ex.UNKNOWN
    if swap:
        value = _where_expected(old, *values, node)
    elif what in _ATOMIC:
        value = scope.binary(_ATOMIC[what], old, value, node)
    elif what != "exchange":
        dtype = ex.resolve(getattr(np, what + "imum"), [old.kind, value.kind], node)[-1]
        value = ex.Value(f"{what}({ex.cast(old, dtype).text}, {ex.cast(value, dtype).text})",
                         strong(dtype))
    scope.to_element(held, value, node)
    return old


def _where_expected(old, expected, desired, node):
    dtype = old.kind.dtype
    for v in (old, expected, desired):
        if v.kind.dtype.kind not in "iu" or not v.kind.weak and v.kind.dtype != dtype:
            raise Refusal(f"a comparison and exchange of {dtype} with {v.kind.dtype}", node)
    return ex.Value(f"where({old.text} == {ex.cast(expected, dtype).text}, {ex.cast(desired, dtype).text}, "
                    f"{old.text})", strong(dtype))


def numpys(target):
    """NumPy's function or type of that name, if it is NumPy's or braze.numpy's."""
    ours = sys.modules.get("braze.numpy")  # who never imported it names nothing of it
    name = getattr(target, "__name__", "")
    if target is np.bool_ or isinstance(target, type) and issubclass(target, np.generic):
        return target
    if target is getattr(np, name, None) or target is getattr(ours, name, None):
        return getattr(np, name, None)
    return None


def _arguments(scope, node, least, most):
    if not least <= len(node.args) <= most:
        raise Refusal(f"{ast.unparse(node.func)}() with {len(node.args)} arguments", node)
    return scope.in_order(node.args)


def _of_math(scope, name, node):
    if name == "log":
        return _logarithm(scope, node)
    args = [ex.cast(v, FLOAT.dtype) for v in _arguments(scope, node, 1, 2)]
    if any(v.kind is None for v in args):
        return ex.UNKNOWN
    text = ", ".join(v.text for v in args)
    if name in _MATH:
        return ex.Value(f"{_MATH[name]}({text})", FLOAT)
    if name in _ROUNDED:
        return ex.Value(f"int64({_ROUNDED[name]}({text}))", INT)
    if name in _ASKED:
        return ex.Value(f"{_ASKED[name]}({text})", BOOL)
    raise Refusal(f"math.{name} is no part of a kernel", node)


def _logarithm(scope, node):
    args = [ex.cast(v, FLOAT.dtype) for v in _arguments(scope, node, 1, 2)]
    if any(v.kind is None for v in args):
        return ex.UNKNOWN
    first, *base = [f"log({v.text})" for v in args]
    return ex.Value(f"{first} / {base[0]}", FLOAT, 10) if base else ex.Value(first, FLOAT)


def _of_numpy(scope, function, node):
    if isinstance(function, type):
        return _as_type(scope, np.dtype(function), node)
    if function is np.where:
        return _where(scope, node)
    if function is np.clip:
        function = clip
    if not isinstance(function, np.ufunc) or function.nout != 1:
        more = ": make the array before the loop" if function.__name__ in _MAKERS else ""
        raise Refusal(f"numpy.{function.__name__} is no part of a kernel{more}", node)
    args = _arguments(scope, node, function.nin, function.nin)
    if any(v.kind is None for v in args):
        return ex.UNKNOWN
    *wanted, out = ex.resolve(function, [v.kind for v in args], node)
    args = _as_wanted(args, wanted, out, node)
    text = ", ".join(v.text for v in args)
    return ex.Value(f"{_NAMES.get(function.__name__, function.__name__)}({text})", strong(out))


def _as_wanted(args, wanted, out, node):
    """Arguments of one of NumPy's functions in the types that it takes, where the language's may take others."""
    of_two_signs = len(args) == 2 and ex.of_two_signs(*args)
    if of_two_signs and out.kind == "b":
        raise Refusal("a function that asks a uint64 and a signed integer", node)
    return [ex.cast(v, dtype) if v.kind.weak or of_two_signs else v for v, dtype in zip(args, wanted)]


_MAKERS = frozenset("zeros ones empty full zeros_like ones_like empty_like full_like array asarray "
                    "arange linspace eye copy".split())
# Where the language has another of NumPy's names for a function.
_NAMES = {"true_divide": "divide"}


def _as_type(scope, dtype, node):
    value, = _arguments(scope, node, 1, 1)
    return _in_dtype(value, dtype, node)


def _in_dtype(value, dtype, node):
    if dtype not in KNOWN:
        raise Refusal(f"numbers of type {dtype}", node)
    if value.kind is None:
        return ex.UNKNOWN
    if value.kind.dtype.kind == "c" and dtype.kind != "c":
        raise Refusal("a complex number as a real one", node)
    value = ex.cast(value, dtype)
    return ex.Value(value.text, strong(dtype), value.level, value.simple)


def _where(scope, node):
    test, a, b = _arguments(scope, node, 3, 3)
    if None in (test.kind, a.kind, b.kind):
        return ex.UNKNOWN
    # np.where makes arrays of Python's numbers first where both are such.
    dtype = np.result_type(ex.operand(a.kind)(0) if a.kind.weak else a.kind.dtype,
                           ex.operand(b.kind)(0) if b.kind.weak else b.kind.dtype)
    parts = ex.cast_truth(test), ex.cast(a, dtype), ex.cast(b, dtype)
    return ex.Value(f"where({', '.join(p.text for p in parts)})", strong(dtype))


# ---- Python's own ----

def _abs(scope, node):
    value, = _arguments(scope, node, 1, 1)
    if value.kind is None:
        return ex.UNKNOWN
    if value.kind == BOOL:
        return ex.Value(ex.cast(value, INT.dtype).text, INT)
    kind = value.kind
    if kind.dtype.kind == "c":
        kind = FLOAT if kind.weak else strong(np.abs(np.zeros(1, kind.dtype)).dtype)
    return ex.Value(f"abs({value.text})", kind)


def _extreme(word, sign):
    def best(scope, node):
        if len(node.args) == 1:
            raise Refusal(f"{word}() of one argument: np.{word} of a slice is one", node)
        values = _arguments(scope, node, 2, 8)
        if any(v.kind is None for v in values):
            return ex.UNKNOWN
        kind = scope.common(values, node)
        if kind.dtype.kind == "c":
            raise Refusal("complex numbers have no order", node)
        # Exactly, each as its own type: an int8 beside an int64 is widened, no more.
        values = [ex.cast(v, kind.dtype) for v in values]
        out = values[0]
        for v in values[1:]:
            if kind.dtype.kind in "biu":
                out = ex.Value(f"{word}({out.text}, {v.text})", kind)
                continue
            # Python's, which keeps the first beside what compares with nothing.
            out = out if out.simple else scope.temporary(out, node)
            v = v if v.simple else scope.temporary(v, node)
            out = ex.Value(f"where({v.at(5)} {sign} {out.at(5)}, {v.text}, {out.text})", kind)
        return out
    return best


def _length(scope, node):
    if len(node.args) != 1 or not scope.is_array(node.args[0]):
        raise Refusal("len() of what is no array", node)
    array = scope.array(node.args[0])
    if not array.kind.ndim:
        raise Refusal("len() of a number", node)
    return ex.Value(f"len({array.base}, {array.axes[0]})", INT)


def _complex(scope, node):
    """Of a part or two.  The sum is the number where the imaginary part is finite, and no real part -0."""
    if len(node.args) != 2:
        return _to(COMPLEX)(scope, node)
    parts = _arguments(scope, node, 2, 2)
    if any(v.kind is None for v in parts):
        return ex.UNKNOWN
    if any(v.kind.dtype.kind == "c" for v in parts):
        raise Refusal("complex() of complex numbers", node)
    real, imaginary = (ex.cast(v, FLOAT.dtype) for v in parts)
    return ex.Value(f"{real.at(9)} + {imaginary.at(10)} * 1j", COMPLEX, 9)


def _to(kind):
    def change(scope, node):
        said = node.args[0] if len(node.args) == 1 else None
        if kind == FLOAT and isinstance(said, ast.Constant) and isinstance(said.value, str):
            return _number(said)
        value, = _arguments(scope, node, 1, 1)
        if value.kind is None:
            return ex.UNKNOWN
        if value.kind.dtype.kind == "c" and kind != COMPLEX:
            raise Refusal("a complex number as a real one", node)
        if kind == BOOL:
            return ex.cast_truth(value)
        if value.const is not None:
            return ex.constant(type(kind.dtype.type(0).item())(value.const))
        value = ex.cast(value, kind.dtype)
        return ex.Value(value.text, kind, value.level, value.simple)
    return change


def _number(node):
    """float("inf")."""
    try:
        return ex.constant(float(node.value))
    except ValueError as error:
        raise Refusal(f"it raises: {error}", node) from None


def _round(scope, node):
    value, = _arguments(scope, node, 1, 1)
    if value.kind is None:
        return ex.UNKNOWN
    if value.kind.dtype.kind != "f":
        raise Refusal("round() of what is no float", node)
    return ex.Value(f"int64(rint({value.text}))", INT)


def _power(scope, node):
    a, b = _arguments(scope, node, 2, 2)
    return scope.binary(ast.Pow(), a, b, node)


_BUILTINS = {"abs": _abs, "min": _extreme("min", "<"), "max": _extreme("max", ">"), "len": _length,
             "int": _to(INT), "float": _to(FLOAT), "bool": _to(BOOL), "complex": _complex,
             "round": _round, "pow": _power}
