# SPDX-License-Identifier: Apache-2.0
"""Python's statements in the kernel language: the other half of a scope, beside expressions.

In:  a statement's tree.  Out: lines, written by `self.emit`.
"""

import ast
import builtins
import itertools

import numpy as np

from braze._jit import rows
from braze._jit.expressions import UNKNOWN, Value, cast, cast_truth
from braze._jit.kinds import BOOL, INT, WEAK, Array, Refusal, join, said, strong
from braze._jit.pragmas import claim_of, sums_of


def _in_type(value, kind):
    """Written out with its type, even if it is a number of the text."""
    text = cast_truth(value).text if kind.dtype.kind == "b" else cast(value, kind.dtype).text
    return f"{kind.dtype.name}({text})" if value.const is not None else text


def _steps(nodes):
    """(first, step) of integers that are written out and lie evenly: what counts, or is counted
    from, needs no choice, and its indices can be proven.  None for others."""
    try:
        numbers = [ast.literal_eval(node) for node in nodes]
    except ValueError:
        return None
    if any(type(n) is not int or abs(n) > 1 << 30 for n in numbers):
        return None
    step = numbers[1] - numbers[0] if len(numbers) > 1 else 1
    even = all(b - a == step for a, b in zip(numbers, numbers[1:]))
    return (numbers[0], step) if even and step else None


def _of_steps(counter, first, step):
    scaled = counter if step == 1 else f"{counter} * {step}"
    return f"{scaled} {'-' if first < 0 else '+'} {abs(first)}" if first else scaled


class Statements:
    """What a scope does with statements."""

    def statement(self, node):
        way = getattr(self, "_do_" + type(node).__name__, None)
        if way is None:
            raise Refusal(f"{said(node)} is no part of a kernel", node)
        try:
            way(node)
        except Refusal as refusal:
            refusal.line = refusal.line or getattr(node, "lineno", None)
            raise

    def block(self, body):
        self.depth += 1
        self.in_turn(body)
        self.depth -= 1

    def in_turn(self, body):
        """Statements, those that call work units together."""
        for calls, some in itertools.groupby(body, rows.is_unit_call):
            if calls:
                rows.write_calls(self, self.alone_too(some))
            else:
                for statement in some:
                    self.statement(statement)

    def alone_too(self, nodes):
        nodes = list(nodes)
        self.alone.update(nodes)
        return nodes

    def _do_Row(self, node):
        self.in_turn(node.body)

    # ---- Assignments ----

    def assign(self, name, value, node):
        """A variable, whose type widens to hold the value."""
        if name in self.counting:
            raise Refusal(f"'{name}' counts a loop and is assigned in it", node)
        if value.kind is None:
            self.kinds.setdefault(name, None)
            return
        have = self.kinds.get(name)
        kind = have if name in self.fixed else self.common([value], node, have)
        self.kinds[name] = kind
        text = cast_truth(value).text if kind.dtype.kind == "b" else cast(value, kind.dtype).text
        self.emit(f"{self.name_of(name)} = {text}", node)
        self.assigned(name, node)

    def _do_Assign(self, node):
        self.alone.add(node.value)
        if len(node.targets) > 1:
            value = self.scalar(node.value)
            if not value.simple:
                value = self.temporary(value, node)
            for target in node.targets:
                self._to(target, value, node)
            return
        target, = node.targets
        part = self.section(target) if isinstance(target, ast.Subscript) else None
        if part is not None:
            self.assign_section(part, node)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target.elts, node)
        elif isinstance(target, ast.Name) and self._names_array(node.value):
            held = self.array(node.value)
            fixed = [text if text is None or text.lstrip("-").isdigit() else
                     self.temporary(Value(text, INT), node).text for text in held.fixed]
            held = type(held)(held.base, held.kind, tuple(fixed))
            self.looked_up(held, node.value)
            self._alias(target.id, held, node)
        else:
            self._to(target, self.scalar(node.value), node)

    def _to(self, target, value, node):
        if isinstance(target, ast.Name):
            self.assign(target.id, value, node)
        elif isinstance(target, ast.Subscript):
            self._is_no_item(target)
            self.to_element(self.array(target), value, node)
        elif isinstance(target, ast.Attribute):
            raise Refusal("an assignment to an attribute", node)
        else:
            raise Refusal("an assignment to what is neither a variable nor an element", node)

    def _is_no_item(self, target):
        if isinstance(target, ast.Subscript) and self.path(target) is not None:
            raise Refusal("an assignment to an item of a list", target)

    def to_element(self, held, value, node):
        if held.kind.ndim:
            raise Refusal("an assignment to a part of an array inside a loop", node)
        self.store(held.base)
        self.put(held.text(), held.kind.dtype, value, node)

    def put(self, place, dtype, value, node):
        """An element or a slice gets a value, cast as NumPy's assignments cast."""
        if value.kind is None:
            return
        if value.kind.dtype.kind == "c" and dtype.kind != "c":
            raise Refusal("complex numbers in an array of real ones", node)
        value = cast_truth(value) if dtype.kind == "b" else cast(value, dtype)
        self.emit(f"{place} = {value.text}", node)

    def _unpack(self, targets, node):
        if isinstance(node.value, ast.Call):
            values = self._several_of_call(node)
        elif self._is_shape(node.value):
            array = self.array(node.value.value)
            values = [Value(f"len({array.base}, {axis})", INT) for axis in array.axes]
        elif isinstance(node.value, (ast.Tuple, ast.List)):
            self.alone.update(node.value.elts)
            values = [self._kept(self.scalar(v), node) for v in node.value.elts]
        elif isinstance(node.value, ast.IfExp):
            values = self._one_of_two(node.value)
        elif (path := self.path(node.value)) and self._holds_several(path, node):
            values = self._items(path, node)
        else:
            raise Refusal("an assignment of several values that are not told apart", node)
        if len(values) != len(targets):
            raise Refusal(f"{len(values)} values for {len(targets)} names", node)
        # All values are taken before the first is assigned.
        for target, value in zip(targets, values):
            self._to(target, value, node)

    def _one_of_two(self, node):
        """a, b = (x, y) if test else (z, w): the test is made once."""
        sides = [side.elts for side in (node.body, node.orelse) if isinstance(side, (ast.Tuple, ast.List))]
        if len(sides) < 2 or len(sides[0]) != len(sides[1]):
            raise Refusal("an assignment of several values that are not told apart", node)
        test = self.truth(node.test)
        if test.const is None and test.kind is not None:
            test = self.temporary(cast_truth(test), node, BOOL)
        return [self._kept(self.either(test, a, b, node), node) for a, b in zip(*sides)]

    def _several_of_call(self, node):
        if self._is(node.value.func, builtins.divmod):
            a, b = (self.scalar(v) for v in node.value.args)
            return [self._kept(self.binary(op, a, b, node), node) for op in (ast.FloorDiv(), ast.Mod())]
        given = self.call_of(node.value)
        if not isinstance(given, tuple):
            raise Refusal("an assignment of several values that are not told apart", node)
        return given

    def _items(self, path, node):
        """Of a tuple or list that the loop does not make."""
        count = len(self.object(path, node))
        values = [self._kept(self.free((*path, k), node), node) for k in range(count)]
        if any(isinstance(v.kind, Array) for v in values):
            raise Refusal("arrays that are told apart in a loop: do it before", node)
        return values

    def _kept(self, value, node):
        """What no later assignment changes."""
        return value if value.const is not None else self.temporary(value, node)

    def _is_shape(self, node):
        return isinstance(node, ast.Attribute) and node.attr == "shape" and self.is_array(node.value)

    def _is(self, node, what):
        path = self.path(node)
        try:
            return path is not None and self.object(path, node) is what
        except Refusal:
            return False

    def _names_array(self, node):
        return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) \
            and not (isinstance(node, ast.Subscript) and self._is_shape(node.value)) \
            and self.is_array(node) and self.array(node).kind.ndim > 0

    def looked_up(self, held, node):
        """`a[i]`, a part: a wrong index raises where it stands, whether or not an element is read."""
        if not isinstance(node, ast.Subscript) or self.path(node) is not None:
            return
        before = self.aside(self.array, node.value)[1].fixed
        new = [(k, text) for k, text in enumerate(held.fixed) if text is not None and before[k] is None]
        size = [f"len({held.base}, {k})" for k, _ in new]
        wrong = [f"{text} < -{n} or {text} >= {n}" for n, (_, text) in zip(size, new)]
        if not new:
            return
        self.emit(f"if {' or '.join(wrong)} {{", node)
        self.depth += 1
        part = ", ".join("0:0" if text is None else text for text in held.fixed)
        self.emit(f"let {self.names.fresh('t')} = any({held.base}[{part}])", node)
        self.depth -= 1
        self.emit("}", node)

    def _alias(self, name, held, node):
        """`row = a[i]`: a name for a part, as long as it is the only one that it gets."""
        stores = [n for n in ast.walk(self.body) if isinstance(n, ast.Name)
                  and n.id == name and isinstance(n.ctx, ast.Store)]
        if self.kinds.get(name) is not None or len(stores) > 1:
            raise Refusal(f"'{name}' is an array, and other things besides", node)
        self.aliases[name] = held
        self.kinds.pop(name, None)

    def _do_AugAssign(self, node):
        if isinstance(node.target, ast.Name):
            self.alone.add(node.value)
            old = self.variable(node.target.id, node)
            if isinstance(old.kind, Array):
                raise Refusal("an operation on a whole array inside a loop", node)
            self.assign(node.target.id, self.binary(node.op, old, self.scalar(node.value), node), node)
            return
        if isinstance(node.target, ast.Attribute):
            raise Refusal("an assignment to an attribute", node)
        self._is_no_item(node.target)
        part = self.section(node.target)
        if part is not None:
            self.update_section(part, node)
            return
        held = self.array(node.target)
        kept, self.out = self.out, []
        value = self.scalar(node.value)
        lines, self.out = self.out, kept
        if not held.simple or lines:
            fixed = tuple(self.temporary(Value(text, INT), node).text for text in held.fixed)
            held = type(held)(held.base, held.kind, fixed)
        old = Value(held.text(), strong(held.kind.dtype))
        if lines:  # the element is read before
            old = self.temporary(old, node)
        self.out += lines
        self.to_element(held, self.binary(node.op, old, value, node), node)

    def _do_AnnAssign(self, node):
        if not isinstance(node.target, ast.Name):
            raise Refusal("a type of what is no variable", node)
        name = node.target.id
        kind = self.annotated(node.annotation)
        self.kinds[name] = kind
        self.fixed.add(name)
        if node.value is not None:
            value = self.scalar(node.value)
            if value.kind is not None and value.kind.dtype.kind == "c" and kind.dtype.kind != "c":
                raise Refusal("a complex number in a real variable", node)
            self.assign(name, value, node)

    def annotated(self, node):
        """The type that an annotation names: Python's, NumPy's, or NumPy's as a string."""
        what = node.value if isinstance(node, ast.Constant) else self.callee(node)
        if what in WEAK:
            return WEAK[what]
        try:
            return strong(np.dtype(what))
        except TypeError:
            raise Refusal(f"'{ast.unparse(node)}' names no type", node) from None

    # ---- Branches and loops ----

    def _do_If(self, node):
        test = self.tested(node.test)
        if test.const is not None:  # the other branch may be of other types
            for statement in node.body if test.const else node.orelse:
                self.statement(statement)
            return
        self.emit(f"if {test.text} {{", node)
        self.block(node.body)
        if node.orelse:
            self.emit("} else {", node.orelse[0])
            self.block(node.orelse)
        self.emit("}", node)

    def _do_While(self, node):
        if node.orelse:
            raise Refusal("else of a loop", node)
        lines, test = self.aside(self.tested, node.test)
        if lines:
            self.emit("while true {", node)
            self.out += lines
            self.depth += 1
            self.emit(f"if not {test.at(3)} {{ break }}", node)
            self.depth -= 1
        else:
            self.emit(f"while {test.text} {{", node)
        self.block(node.body)
        self.emit("}", node)
        if node is not self.program.loop:
            self.leaves(node, node)

    def _do_For(self, node):
        if node.orelse:
            raise Refusal("else of a loop", node)
        begin, end, step, bindings = self._turns(node.iter, node.target)
        direct = isinstance(node.target, ast.Name) and node.target.id in self.counters \
            and bindings is None
        counter = self.names.fresh(node.target.id if direct else "k")
        self.emit(f"{claim_of(node)}for {counter} in {begin}..{end}{step}{sums_of(node, self.summed)} {{", node)
        self.depth += 1
        if direct:
            self.counting[node.target.id] = counter
        elif bindings is None:
            self._to(node.target, Value(counter, INT, simple=True), node)
        else:
            for target, value in bindings:
                self._bind(target, value(counter), node)
        self.depth -= 1
        self.block(node.body)
        if direct:
            del self.counting[node.target.id]
        self.emit("}", node)
        if node is not self.program.loop:
            self.leaves(node, node)

    def summed(self, name):
        """A variable of numbers that a loop says it adds up."""
        return self.name_of(name) if self.kinds.get(name) else None

    def _bind(self, target, value, node):
        """What a turn gives: a number, or a row."""
        if isinstance(value, Value):
            self._to(target, value, node)
        elif isinstance(target, ast.Name):
            self._alias(target.id, value, node)
        else:
            raise Refusal("rows that are taken apart", node)

    def _turns(self, node, target):
        """Bounds of a counter, and what each name is in a turn; None: the counter itself."""
        if isinstance(node, (ast.Tuple, ast.List)):
            steps = isinstance(target, ast.Name) and _steps(node.elts)
            if not steps:
                return self._written_out(node, target)
            first, step = steps
            by = "" if step == 1 else f" step {step}"
            return str(first), str(first + step * len(node.elts)), by, None
        if isinstance(node, ast.Call):
            what = self.callee(node.func)
            if what is builtins.range or getattr(what, "__braze_range__", False):
                return (*self._range(node), None)
            if what is builtins.reversed and len(node.args) == 1:
                if not isinstance(node.args[0], ast.Call):
                    return self._backwards(node.args[0], target)
                if self.callee(node.args[0].func) is builtins.range:
                    return (*self._reversed(node.args[0]), None)
            if what is builtins.enumerate or what is builtins.zip:
                return self._several(node, target, what)
        length, value = self._elements(node)
        return "0", length, "", [(target, value)]

    def _range(self, node):
        if node.keywords or not 1 <= len(node.args) <= 3:
            raise Refusal("range() takes one to three numbers", node)
        parts = [self._bound(a) for a in node.args]
        if len(parts) == 1:
            parts.insert(0, Value("0", INT))
        step = f" step {parts[2].at(9)}" if len(parts) > 2 else ""
        return parts[0].at(9), parts[1].at(9), step

    def _reversed(self, node):
        """Of range(n) and range(a, b)."""
        if len(node.args) > 2:
            raise Refusal("reversed() of a range with a step", node)
        begin, end, _ = self._range(node)
        return f"{end} - 1", f"{begin} - 1", " step -1"

    def _backwards(self, node, target):
        """Of an array."""
        length, element = self._elements(node)
        return "0", length, "", [(target, lambda counter: element(f"{length} - 1 - {counter}"))]

    def _bound(self, node):
        value = self.index(node)
        if value.kind is None:
            return Value("0", INT)
        return cast(Value(value.text, value.kind, value.level), INT.dtype)

    def _elements(self, node):
        """Of an array: how many, and each."""
        if isinstance(node, ast.Call):
            raise Refusal(f"a loop over what {ast.unparse(node.func)}() gives", node)
        held = self.array(node)
        if not held.kind.ndim:
            raise Refusal("a loop over a number", node)
        axis = held.axes[0]
        kind = strong(held.kind.dtype)

        def element(counter):
            fixed = tuple(counter if k == axis else text for k, text in enumerate(held.fixed))
            if held.kind.ndim > 1:
                return type(held)(held.base, Array(held.kind.dtype, held.kind.ndim - 1), fixed)
            return Value(f"{held.base}[{', '.join(fixed)}]", kind)
        return f"len({held.base}, {axis})", element

    def _written_out(self, node, target):
        """for di, dj in ((0, 1), (1, 0)): each name is one of a few numbers."""
        several = isinstance(target, (ast.Tuple, ast.List))
        targets = target.elts if several else [target]
        rows = [row.elts if several and isinstance(row, (ast.Tuple, ast.List)) else [row]
                for row in node.elts]
        if not rows or any(len(row) != len(targets) for row in rows):
            raise Refusal("a loop over values of other numbers than its names", node)
        steps = [_steps(column) for column in zip(*rows)]
        rows = [[self._kept(self.scalar(v), node) for v in row] for row in rows]

        def chosen(column, steps):
            if steps:
                return lambda counter: Value(_of_steps(counter, *steps), INT, 9)
            kind = self.common(column, node)
            if kind is None or any(v.kind is None for v in column):
                return lambda counter: UNKNOWN
            texts = [_in_type(v, kind) for v in column]

            def choose(counter):
                text = texts[-1]
                for number in reversed(range(len(texts) - 1)):
                    text = f"where({counter} == {number}, {texts[number]}, {text})"
                return Value(text, kind)
            return choose
        return "0", str(len(rows)), "", [(t, chosen([row[k] for row in rows], steps[k]))
                                         for k, t in enumerate(targets)]

    def _several(self, node, target, what):
        wanted = 2 if what is builtins.enumerate else len(node.args)
        starts = [k.value for k in node.keywords if what is builtins.enumerate and k.arg == "start"]
        if not isinstance(target, ast.Tuple) or len(target.elts) != wanted or len(starts) < len(node.keywords):
            raise Refusal(f"{what.__name__}() into other names", node)
        if what is builtins.zip:
            sides = [self._elements(a) for a in node.args]
            length = sides[0][0]
            for other, _ in sides[1:]:
                length = f"min({length}, {other})"
            return "0", length, "", [(t, e) for t, (_, e) in zip(target.elts, sides)]
        starts += node.args[1:]
        first = self._bound(starts[0]).at(10) if starts else None
        inside = node.args[0]
        if isinstance(inside, ast.Call) and self.callee(inside.func) is builtins.zip:
            _, length, _, bindings = self._several(inside, target.elts[1], builtins.zip)
        else:
            length, element = self._elements(inside)
            bindings = [(target.elts[1], element)]

        def number(counter):
            return Value(f"{counter} + {first}" if first else counter, INT, 9 if first else 13)
        return "0", length, "", [(target.elts[0], number), *bindings]

    def _do_Return(self, node):
        self.leave(node)

    def _do_Break(self, node):
        self.emit("break", node)

    def _do_Continue(self, node):
        self.emit("continue", node)

    def _do_Pass(self, node):
        """Nothing."""

    def tested(self, node):
        """The truth of a whole condition."""
        self.alone.add(node.operand if isinstance(node, ast.UnaryOp) else node)
        return self.truth(node)

    def _do_Expr(self, node):
        if isinstance(node.value, ast.Call):
            self.alone.add(node.value)
            self.call_of(node.value)
        elif not isinstance(node.value, ast.Constant):
            raise Refusal("a call for what it does", node)
