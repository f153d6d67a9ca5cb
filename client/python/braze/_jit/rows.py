# SPDX-License-Identifier: Apache-2.0
"""Loops and calls of work units that stand in a row: one kernel for all of them.

In:  the statements of a captured function, or of a loop in it.  Out: a `Row`, which is captured as a loop is;
the loops around a unit, where `parallel_for` calls it.
"""

import ast
import types

from braze._jit import inlined, regions
from braze._jit.expressions import Value, cast
from braze._jit.kinds import INT, Refusal

MOST = 64  # statements of a row: a longer one is several


class Row(ast.stmt):
    """Statements that are captured together."""

    _fields = ("body",)

    def __init__(self, body=()):
        super().__init__()
        self.body, self.orelse = list(body), []
        if body:
            ast.copy_location(self, body[0])
            self.end_lineno = body[-1].end_lineno


def ends(node):
    """The first and the last statement of a row; a loop is both."""
    return (node.body[0], node.body[-1]) if isinstance(node, Row) else (node, node)


def is_unit_call(node):
    """Is it written like `parallel_for(range, unit, ...)`?  What it really is, each call sees."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    name = node.value.func
    return getattr(name, "attr", getattr(name, "id", None)) == "parallel_for"


# Of a loop that may be left before its end, others would not follow.
_LEAVES = ast.Return, ast.Raise, ast.Assert


def _may_stand(node):
    if is_unit_call(node):
        return True
    return (isinstance(node, ast.For) and isinstance(node.iter, ast.Call)
            and not any(isinstance(n, _LEAVES) or isinstance(n, regions.LOOPS) and n.orelse
                        for n in ast.walk(node)))


def rows_of(body):
    """The rows in a list of statements, each of two statements or more."""
    out, now = [], []
    for node in [*body, None]:
        if node is not None and _may_stand(node) and len(now) < MOST:
            now.append(node)
            continue
        if len(now) > 1:
            out.append(Row(now))
        now = [node] if node is not None and _may_stand(node) else []
    return out


def calls_units(node):
    return any(map(is_unit_call, ast.walk(node)))


# ---- Calls of units as loops ----

class _Call:
    """One call: the bounds of its loops, and what its unit gets by name, computed as the call would."""

    def __init__(self, scope, node):
        policy, unit = _range_and_unit(scope, node)
        given = {k.arg: k.value for k in node.value.keywords}
        self.node = node
        self.function = _function_of(scope, unit)
        self.tree = _checked(self.function, node)
        bounds = [b if isinstance(b, tuple) else (ast.Constant(0), b) for b in _bounds(scope, policy)]
        names = [a.arg for a in self.tree.args.posonlyargs + self.tree.args.args]
        self.indices = names[:len(bounds)]
        if len(self.indices) < len(bounds) or set(names[len(bounds):]) != set(given):
            raise Refusal(f"{self.function.__name__}() takes other arguments", node)
        self.bounds = [tuple(_number(scope, ast.copy_location(x, node), node) for x in pair) for pair in bounds]
        self.arrays, self.numbers = inlined.taken(scope, given)

    def write(self, scope):
        """The loops, and the unit inside."""
        counters = [scope.names.fresh(name) for name in self.indices]
        for counter, (begin, end) in zip(counters, self.bounds):
            scope.emit(f"for {counter} in {begin.at(9)}..{end.at(9)} {{", self.node)
            scope.depth += 1
        numbers = {name: Value(counter, INT, simple=True) for name, counter in zip(self.indices, counters)}
        inlined.place(scope, self.function, self.tree, self.arrays, numbers | self.numbers, self.node)
        for _ in counters:
            scope.depth -= 1
            scope.emit("}", self.node)


def write_calls(scope, nodes):
    """Of statements that call units, one behind the other.  Numbers of later ones are computed before the first
    loop, so that nothing stands between the loops, unless they are read from arrays, which loops may write."""
    waiting = []
    for node in nodes:
        kept, scope.out = scope.out, []
        call = _Call(scope, node)
        lines, scope.out = scope.out, kept
        if waiting and any("[" in text for _, text, _ in lines):
            for earlier in waiting:
                earlier.write(scope)
            waiting = []
        scope.out += lines
        waiting.append(call)
    for call in waiting:
        call.write(scope)


def _range_and_unit(scope, node):
    """The first two arguments, behind a label."""
    from braze._jit.units import parallel_for

    call = node.value
    if scope.callee(call.func) is not parallel_for:
        raise Refusal(f"{ast.unparse(call.func)}() is none of braze's", node)
    args = call.args
    if args and isinstance(args[0], ast.Constant) and isinstance(args[0].value, str):
        args = args[1:]
    if len(args) != 2 or any(isinstance(a, ast.Starred) for a in args) \
            or any(k.arg is None for k in call.keywords):
        raise Refusal("parallel_for() with other arguments", node)
    return args


def _number(scope, end, node):
    """An end of a range; it may be written again where it reads no element."""
    value = scope.index(end)
    if value.kind is None:
        return Value("0", INT, simple=True)
    value = cast(value, INT.dtype)
    return scope.temporary(value, node, INT) if "[" in value.text else value


def _function_of(scope, node):
    from braze._jit.units import Unit

    unit = scope.callee(node)
    function = unit.function if isinstance(unit, Unit) else unit
    if not isinstance(function, types.FunctionType):
        raise Refusal(f"a work unit is a function, not '{ast.unparse(node)}'", node)
    return function


def _checked(function, node):
    """A unit's tree, if it does no more than one may."""
    from braze._jit.pragmas import pragmas_of

    tree = inlined.tree_of(function)
    args = tree.args
    returned = [n for n in ast.walk(tree) if isinstance(n, ast.Return)]
    inside = [n for loop in ast.walk(tree) if isinstance(loop, regions.LOOPS) for n in ast.walk(loop)]
    if args.vararg or args.kwarg or args.kwonlyargs or args.defaults or pragmas_of(function) \
            or any(n in inside or n.value is not None for n in returned):
        raise Refusal(f"{function.__name__}() is a work unit that runs by itself", node)
    inlined.check_body(function, tree, node)
    return tree


# ---- Ranges ----

def _bounds(scope, node):
    """Of a range: for each index its end, or (begin, end), as expressions."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return [b for part in node.elts for b in _bounds(scope, part)]
    if isinstance(node, ast.Call):
        return _of_call(scope, node)
    if scope._is_shape(node):
        return [_item(node, k) for k in range(len(scope.array(node.value).axes))]
    path = scope.path(node)
    return [node] if path is None else _of_value(scope, node, scope.object(path, node))


def _of_call(scope, node):
    from braze._jit.units import MDRangePolicy, RangePolicy

    path = scope.path(node.func)
    what = scope.object(path, node) if path else None
    if what not in (range, RangePolicy, MDRangePolicy):
        return [node]
    if node.keywords or not 1 <= len(node.args) <= 2 or any(isinstance(a, ast.Starred) for a in node.args):
        raise Refusal(f"{ast.unparse(node)} as a range of parallel_for()", node)
    if what is MDRangePolicy:
        sides = node.args
        if len(sides) != 2 or not all(isinstance(s, (ast.Tuple, ast.List)) for s in sides) \
                or len(sides[0].elts) != len(sides[1].elts):
            raise Refusal("an MDRangePolicy of other than two lists", node)
        return list(zip(sides[0].elts, sides[1].elts))
    return [tuple(node.args) if len(node.args) == 2 else node.args[0]]


def _of_value(scope, node, value):
    """Of a name for a policy or a tuple: what it holds, which each call looks up."""
    from braze._jit.units import MDRangePolicy, RangePolicy

    if isinstance(value, (RangePolicy, MDRangePolicy)):
        pairs = ast.copy_location(ast.Attribute(node, "bounds", ast.Load()), node)
        return [(_item(_item(pairs, k), 0), _item(_item(pairs, k), 1)) for k in range(len(value.bounds))]
    if type(value) in (tuple, list):
        return [b for k in range(len(value)) for b in _bounds(scope, _item(node, k))]
    if isinstance(value, range):
        raise Refusal("a range that has a name as one of parallel_for()", node)
    return [node]


def _item(node, number):
    return ast.copy_location(ast.Subscript(node, ast.copy_location(ast.Constant(number), node), ast.Load()), node)
