# SPDX-License-Identifier: Apache-2.0
"""Slices in captured loops: `m[i, k:] -= m[i, k] * m[k, k:]`, `x[:i].sum()`, `y[:] = a[:k, :] @ x`.

In:  assignments to slices, reductions of them.  Out: the kernel language's own, whose shapes and order are
NumPy's.  Inside of one, a slice has the type of its elements: operators and functions of slices are those
of elements, and what asks an array as a whole (`and`, a condition, `int`) is refused.
"""

import ast
import builtins

import numpy as np

from braze._jit.expressions import UFUNCS, Value, between, cast, resolve
from braze._jit.kinds import Refusal, is_integer, strong

_REDUCTIONS = {"sum": "sum", "prod": "prod", "min": "min", "max": "max", "amin": "min",
               "amax": "max", "any": "any", "all": "all", "mean": "mean"}


class Sections:
    """What a scope does with slices."""

    within = 0  # statements on slices, or reductions, that are being written
    closed = False  # inside of a reduction or of a product, where no product of matrices is

    # ---- Slices ----

    def section(self, node):
        """The text of a part of an array that is no element, and its type; None: it is none."""
        parts = []
        if isinstance(node, ast.Subscript):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if self._is_shape(node.value):
                return None
            if self.path(node) is not None:
                parts = []
        elif not isinstance(node, (ast.Name, ast.Attribute)):
            return None
        of = node.value if parts else node
        if not self.is_array(of):
            return None
        held = self.array(of)
        if not any(isinstance(p, ast.Slice) for p in parts) and len(parts) >= held.kind.ndim:
            return None
        if len(parts) > held.kind.ndim:
            raise Refusal(f"{len(parts)} indices of {held.kind.ndim} axes", node)
        texts = list(held.fixed)
        for axis, part in zip(held.axes, parts):
            texts[axis] = self._subscript(part)
        texts = [":" if t is None else t for t in texts]
        return f"{held.base}[{', '.join(texts)}]", held

    def _subscript(self, part):
        if not isinstance(part, ast.Slice):
            return self.index(part).at(2)
        bounds = ["" if b is None else self.index(b).at(2) for b in (part.lower, part.upper)]
        step = f":{self.index(part.step).at(2)}" if part.step is not None else ""
        return ":".join(bounds) + step

    def has_section(self, node):
        """Is there a slice in an expression, but for those that a reduction takes?  What is around one must
        be done element by element."""
        if self.is_reduction(node) or not isinstance(node, ast.expr):
            return False
        if self.section(node) is not None:
            return True
        if isinstance(node, (ast.Subscript, ast.Attribute)):
            return False  # an element, a size
        inside = [self.has_section(child) for child in ast.iter_child_nodes(node)]
        if any(inside) and not self._is_elementwise(node):
            raise Refusal(f"{type(node).__name__} of a slice", node)
        return any(inside)

    def _is_elementwise(self, node):
        if isinstance(node, ast.BinOp) or self.factors(node):
            return True
        if isinstance(node, ast.UnaryOp):
            return not isinstance(node.op, ast.Not)
        if isinstance(node, ast.Compare):
            return len(node.ops) == 1
        if not isinstance(node, ast.Call) or node.keywords:
            return False
        from braze._jit.calls import numpys

        target = self.callee(node.func)
        known = numpys(target)
        return target is builtins.abs or known in (np.where, np.clip) or isinstance(known, (np.ufunc, type))

    def on_slices(self, node):
        """An expression of slices and numbers, in the type of its elements."""
        self.within += 1
        try:
            return self.scalar(node)
        finally:
            self.within -= 1

    # ---- Assignments ----

    def assign_section(self, target, node):
        text, held = target
        self.has_section(node.value)
        self.store(held.base)
        self.put(text, held.kind.dtype, self.on_slices(node.value), node)

    def update_section(self, target, node):
        """`x[a:b] += value`, which NumPy casts within a kind only."""
        text, held = target
        self.has_section(node.value)
        value = self.on_slices(node.value)
        old = Value(text, strong(held.kind.dtype))
        new = self.binary(node.op, old, value, node)
        if new.kind is None:
            return
        if not np.can_cast(new.kind.dtype, held.kind.dtype, "same_kind"):
            raise Refusal(f"{new.kind.dtype} into elements of {held.kind.dtype}", node)
        ufunc, sign, _ = UFUNCS[type(node.op)]
        if value.kind.weak:
            value = cast(value, resolve(ufunc, [old.kind, value.kind], node)[1])
        self.store(held.base)
        self.emit(f"{text} {sign}= {value.text}", node)

    # ---- Reductions ----

    def is_reduction(self, node):
        """np.sum(x[a:b]), x[a:b].sum(), np.dot(x, y), x[i, :] @ y[:, j]."""
        if self.factors(node):
            return not self.axes_of(node)
        if not isinstance(node, ast.Call):
            return False
        of_value = isinstance(node.func, ast.Attribute) and node.func.attr in _REDUCTIONS \
            and self.path(node.func) is None
        return of_value or self._is_method(node.func) or self._reduces(node.func) is not None

    def _is_method(self, func):
        """`x.sum` of an array that has a name."""
        return isinstance(func, ast.Attribute) and func.attr in _REDUCTIONS \
            and self.section(func.value) is not None

    def _reduces(self, func):
        """NumPy's function, by the language's name."""
        from braze._jit.calls import numpys

        if self.path(func) is None:
            return None
        try:
            known = numpys(self.object(self.path(func), func))
        except Refusal:
            return None
        name = getattr(known, "__name__", "")
        return "dot" if known in (np.dot, np.matmul) else _REDUCTIONS.get(name) \
            if known is getattr(np, name, None) and known is not None else None

    def reduction(self, node):
        if node.keywords:
            raise Refusal("a reduction along an axis inside a loop", node)
        word = None if self._is_method(node.func) else self._reduces(node.func)
        values = node.args if word else [node.func.value, *node.args]
        if len(values) != 1 or word == "dot":
            raise Refusal("a reduction along an axis inside a loop", node)
        word = word or _REDUCTIONS[node.func.attr]
        if not self.has_section(values[0]):
            raise Refusal("a reduction of what is no array and no slice", node)
        value = self._inside(values[0])
        if word == "mean":
            return self._mean(value, values[0], node)
        return Value(f"{word}({value.text})", _reduced(word, value.kind, node))

    def _mean(self, value, of, node):
        """The sum over the number of elements, as NumPy has it; of parts whose axes are whole."""
        part = self.section(of)
        if value.kind is None or part is None:
            raise Refusal("a mean of what is no part of an array", node)
        parts = (of.slice.elts if isinstance(of.slice, ast.Tuple) else [of.slice]) \
            if isinstance(of, ast.Subscript) and self.path(of) is None else []
        held, axes = part[1], list(part[1].axes)
        kept = axes[len(parts):]
        for axis, p in zip(axes, parts):
            if isinstance(p, ast.Slice):
                if p.lower or p.upper or p.step:
                    raise Refusal("a mean of a part of an axis: np.sum over its length", node)
                kept.append(axis)
        dtype = value.kind.dtype
        if dtype == np.float16:
            raise Refusal("a mean of float16", node)
        dtype = dtype if dtype.kind in "fc" else np.dtype(np.float64)
        count = " * ".join(f"len({held.base}, {k})" for k in sorted(kept))
        return Value(f"sum({cast(value, dtype).text}) / {dtype.name}({count})", strong(dtype), 10)

    def _dot(self, left, right, node):
        for side in (left, right):
            if self.axes_of(side) != 1 or not self.has_section(side):
                raise Refusal("a product of what are no two vectors", node)
        a, b, kind = self._of_one_type(left, right, node)
        return Value(f"dot({a.text}, {b.text})", kind)

    def _of_one_type(self, left, right, node):
        a, b = self._inside(left), self._inside(right)
        if a.kind is None or b.kind is None:
            raise Refusal("a product of what has no type yet", node)
        dtype = np.result_type(a.kind.dtype, b.kind.dtype)
        if dtype.kind == "b":
            raise Refusal("a product of truth values", node)
        return cast(a, dtype), cast(b, dtype), strong(dtype)

    # ---- Products ----

    def factors(self, node):
        """Both sides of a product: a @ b, np.dot(a, b), np.matmul(a, b); None: it is none."""
        if isinstance(node, ast.BinOp):
            return (node.left, node.right) if isinstance(node.op, ast.MatMult) else None
        if isinstance(node, ast.Call) and len(node.args) == 2 and not node.keywords \
                and not self._is_method(node.func) and self._reduces(node.func) == "dot":
            return tuple(node.args)
        return None

    def axes_of(self, node):
        """How many axes the value of an expression of parts of arrays has."""
        if self.section(node) is not None:
            return self._axes_of(node)
        sides = self.factors(node)
        if sides:
            return max(sum(map(self.axes_of, sides)) - 2, 0)
        if not isinstance(node, ast.expr) or isinstance(node, (ast.Subscript, ast.Attribute)) \
                or self.is_reduction(node):
            return 0
        return max(map(self.axes_of, ast.iter_child_nodes(node)), default=0)

    def product(self, node):
        """Of two vectors a number; of a matrix and a vector or another matrix each element is a dot."""
        left, right = self.factors(node)
        if not self.axes_of(node):
            return self._dot(left, right, node)
        if not self.within or self.closed:
            raise Refusal("a product of arrays that is not assigned to a slice at once", node)
        if not 1 <= self.axes_of(left) <= 2 or not 1 <= self.axes_of(right) <= 2:
            raise Refusal("a product of arrays of more than two axes", node)
        a, b, kind = self._of_one_type(left, right, node)
        return Value(between(a, "@", b, UFUNCS[ast.Mult][2]), kind, UFUNCS[ast.Mult][2])

    def _inside(self, node):
        kept, self.closed = self.closed, True
        try:
            return self.on_slices(node)
        finally:
            self.closed = kept

    def _axes_of(self, node):
        """How many axes a part of an array has."""
        if not isinstance(node, ast.Subscript):
            return self.array(node).kind.ndim
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return self.array(node.value).kind.ndim - sum(not isinstance(p, ast.Slice) for p in parts)


def _reduced(word, kind, node):
    """The type of a reduction of such elements."""
    if word in ("any", "all"):
        return strong(np.bool_)
    if word in ("min", "max"):
        if kind.dtype.kind == "c":
            raise Refusal("complex numbers have no order", node)
        return strong(kind.dtype)
    if kind.dtype.kind == "b" or is_integer(kind):
        return strong(np.uint64 if kind.dtype.kind == "u" else np.int64)
    return strong(kind.dtype)

