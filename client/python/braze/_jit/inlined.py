# SPDX-License-Identifier: Apache-2.0
"""Plain functions that a captured loop calls and that take arrays, give several values or none: the
kernel language's functions take and give one number, so these stand where they are called.

In:  a scope, a function, a call of it.  Out: what it returns; its statements are written to the scope.
"""

import ast

from braze._jit import regions
from braze._jit.expressions import UNKNOWN, Value
from braze._jit.kinds import INT, Refusal, said


class NeedsInlining(Refusal):
    """A function that cannot be one of the kernel's."""


def call(scope, program, function, node):
    """The values of `return a, b`, one value alone, or None where nothing is returned."""
    if function in program.making:
        raise Refusal(f"{function.__name__}() calls itself", node)
    arrays, numbers = taken(scope, bound(function, node))
    return place(scope, function, tree_of(function), arrays, numbers, node)


def place(scope, function, tree, arrays, numbers, node):
    """The same of arguments that were taken before."""
    program = scope.program
    if any(v.kind is None for v in numbers.values()):
        return UNKNOWN
    shape = _shape(function, tree, node)
    program.making.append(function)
    try:
        inner = _settled(scope, program, function, tree, arrays, numbers, shape, node)
    finally:
        program.making.pop()
    if inner.stores and node not in scope.alone:
        raise Refusal(f"{function.__name__}() writes arrays, and is called inside an expression", node)
    inner.write(numbers, node)
    results = [Value(inner.name_of(f"return {k}"), inner.kinds[f"return {k}"], simple=True)
               for k in range(shape[0])]
    if any(v.kind is None for v in results):
        return UNKNOWN
    return tuple(results) if not shape[1] else results[0] if results else None


def tree_of(function):
    from braze._jit import source

    return source.tree_of(function)


def bound(function, node):
    """name of a parameter -> the tree of what a call gives it, or of its default."""
    tree = tree_of(function)
    args = tree.args
    params = [a.arg for a in args.posonlyargs + args.args]
    named = [k.arg for k in node.keywords]
    out = dict(zip(params, node.args))
    if len(node.args) > len(params) or args.vararg or args.kwarg or args.kwonlyargs \
            or set(named) & set(out) or not set(named) <= set(params[len(args.posonlyargs):]):
        raise Refusal(f"{function.__name__}() takes other arguments", node)
    out.update({k.arg: k.value for k in node.keywords})
    for name, value in zip(reversed(params), reversed(function.__defaults__ or ())):
        if name not in out:
            out[name] = ast.copy_location(ast.Constant(value), node)
    if len(out) < len(params):
        raise Refusal(f"{function.__name__}() lacks arguments", node)
    check_body(function, tree, node)
    return out


def check_body(function, tree, node):
    """Refuses what no kernel has."""
    for n in ast.walk(ast.Module(tree.body, [])):
        if isinstance(n, (ast.Global, ast.Nonlocal, ast.FunctionDef, ast.Yield, ast.YieldFrom)):
            raise Refusal(f"{function.__name__}() has {said(n)}", node)


def taken(scope, given):
    """Arrays, their indices taken once, and numbers, by the names of parameters."""
    arrays, numbers = {}, {}
    for name, argument in given.items():
        if not scope.holds_array(argument):
            value = scope.scalar(argument)
            # What is read here may be written by the arguments behind it.
            numbers[name] = value if value.simple else scope.temporary(value, argument)
            continue
        held = scope.array(argument)
        fixed = tuple(text if text is None or text.isalnum() else
                      scope.temporary(Value(text, INT), argument).text for text in held.fixed)
        arrays[name] = type(held)(held.base, held.kind, fixed)
        scope.looked_up(arrays[name], argument)
    return arrays, numbers


def _shape(function, tree, node):
    """How many values it returns, and whether one alone."""
    returns = [n for n in ast.walk(tree) if isinstance(n, ast.Return)]
    shapes = set()
    for n in returns:
        nothing = n.value is None or isinstance(n.value, ast.Constant) and n.value.value is None
        several = isinstance(n.value, ast.Tuple)
        shapes.add((0, True) if nothing else (len(n.value.elts), False) if several else (1, True))
    if regions.Flow().block(tree.body):
        shapes.add((0, True))
    if len(shapes) != 1:
        raise Refusal(f"{function.__name__}() returns different numbers of values", node)
    return shapes.pop()


def _settled(scope, program, function, tree, arrays, numbers, shape, node):
    """The function's scope after the pass in which no type changed."""
    from braze._jit.translate import PASSES, Inside

    body = ast.Module(tree.body, [])
    stores = regions.stored(body)
    if stores & set(arrays):
        raise Refusal(f"'{min(stores & set(arrays))}' of {function.__name__}() is an array, and is "
                      "assigned", node)
    counters = regions.own_counters(body) - set(numbers)
    kinds = {v: None for v in sorted(stores - counters)}
    plain = {v: value for v, value in numbers.items() if _is_plain(v, value, stores)}
    kinds.update({v: value.kind for v, value in numbers.items() if v not in plain})
    kinds.update({f"return {k}": None for k in range(shape[0])})
    noted = len(program.mixed)
    for _ in range(PASSES):
        before = dict(kinds)
        del program.mixed[noted:]
        inner = Inside(scope, program, kinds, counters)
        inner.given_numbers = plain
        inner.begin(function, body, arrays)
        if kinds == before:
            return inner
    raise Refusal(f"the types in {function.__name__}() do not settle", node)


def _is_plain(name, value, stores):
    """Need it no variable of its own?  Nothing in the function changes it, and it is a name."""
    return name not in stores and value.simple and value.const is None


class Inlined:
    """What a scope does otherwise for a function that stands where it is called; `outer` calls it."""

    def begin(self, function, body, arrays):
        self.function = function
        self.body = body
        self.aliases.update(arrays)
        self.stores = set()
        loops = [n for n in ast.walk(body) if isinstance(n, regions.LOOPS)]
        inside = {id(n) for loop in loops for n in ast.walk(loop) if isinstance(n, ast.Return)}
        returns = [n for n in ast.walk(body) if isinstance(n, ast.Return)]
        # A return that does not end the body leaves a loop of one turn around it.
        self.early = [n for n in returns if n is not body.body[-1]]
        self.flagged = bool(inside)
        self.depth = self.outer.depth + bool(self.early)
        for statement in body.body:
            self.statement(statement)

    def write(self, numbers, node):
        """To the scope that calls it."""
        out = self.outer
        for name, kind in self.kinds.items():
            if name in self.aliases:
                continue
            if kind is None:
                raise Refusal(f"the type of '{name}' in {self.function.__name__}() is not known", node)
            value = numbers.get(name)
            out.declare(self.name_of(name), kind, value, node)
        if self.flagged:
            out.emit(f"let {self.name_of('returned ')} = false", node)
        if self.early:
            out.emit("while true {", node)
        out.out += self.out
        if self.early:
            if not isinstance(self.body.body[-1], ast.Return):
                out.out.append((self.depth, "break", node.lineno))
            out.emit("}", node)

    # ---- What scopes do ----

    def object(self, path, node):
        return self.outer.object(self._whole(path), node)

    def parameter(self, path, kind):
        return self.outer.parameter(self._whole(path), kind)

    def _whole(self, path):
        return path if callable(path[0]) else (self.function, *path)

    def is_bounded(self, value, dtype):
        return self.outer.is_bounded(value, dtype)

    def store(self, base):
        self.stores.add(base)
        self.outer.store(base)

    def assigned(self, name, node):
        """Nobody looks whether it was."""

    def leaves(self, loop, node):
        if any(isinstance(n, ast.Return) for n in ast.walk(loop)):
            self.emit(f"if {self.name_of('returned ')} {{ break }}", node)

    def leave(self, node):
        values = []
        for part in node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]:
            if part is None or isinstance(part, ast.Constant) and part.value is None:
                continue
            self.alone.add(part)
            value = self.scalar(part)
            values.append(value if value.simple else self.temporary(value, node))
        for k, value in enumerate(values):
            self.assign(f"return {k}", value, node)
        if self.flagged:
            self.emit(f"{self.name_of('returned ')} = true", node)
        if self.early:
            self.emit("break", node)
