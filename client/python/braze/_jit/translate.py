# SPDX-License-Identifier: Apache-2.0
"""A loop of Python's as a kernel's text (docs/language.md).

In:  the loop's tree, the values of what it reads.  Out: a text, its parameters and results, and the
line of Python that each of its lines says.  Types of variables are joins of what is assigned to them, so
the loop is gone over until no type changes.
"""

import ast
import keyword
import math
import re
import sys
from dataclasses import dataclass, field

import numpy as np

from braze._jit import inlined, regions
from braze._jit.expressions import UNKNOWN, Expressions, Value, cast, cast_truth, constant
from braze._jit.kinds import INT, KNOWN, WEAK, Array, Kind, Refusal, of_value, strong
from braze._jit.sections import Sections
from braze._jit.statements import Statements

PASSES = 40  # over one loop; more than types can be widened
_WORDS = frozenset("kernel fn let for in step while if elif else out inout break true continue "
                   "return and or not false base".split())


@dataclass(frozen=True)
class Held:
    """An array, some of whose axes have an index already."""

    base: str
    kind: Array
    fixed: tuple  # an index' text for each axis of the base; None: an axis that is left
    simple: bool = True

    @property
    def axes(self):
        return [k for k, text in enumerate(self.fixed) if text is None]

    def text(self):
        return f"{self.base}[{', '.join(self.fixed)}]"

    def value(self):
        return Value(self.base, self.kind, const=None, simple=False)


@dataclass
class Parameter:
    """Of the kernel: where its value comes from."""

    path: tuple
    name: str
    kind: object
    written: bool = False
    within: object = None  # an integer of Python's must fit this type


def spelled(path):
    """As Python has it: self.x, shape[0]."""
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path)[1:]


def _is_numbered(node):
    """x[0], x[-1]"""
    if not isinstance(node, ast.Subscript):
        return False
    at = node.slice.operand if isinstance(node.slice, ast.UnaryOp) \
        and isinstance(node.slice.op, ast.USub) else node.slice
    return isinstance(at, ast.Constant) and type(at.value) is int


@dataclass
class Made:
    """A kernel's text with what a call needs."""

    text: str
    parameters: list
    results: list  # (name of Python's, kind): what follows the loop reads
    given: list    # names for which a result says whether they were assigned
    returns: object  # None, or the kinds of what `return` in the loop gives
    lines: list  # of Python, for each line of the text
    variables: dict = field(default_factory=dict)

    def said(self, name):
        """What Python calls a parameter of the text."""
        paths = [p.path for p in self.parameters if p.name == name]
        return spelled(p for p in paths[0] if isinstance(p, (str, int))) if paths else name

    def in_program(self, words):
        """What is told of the text, with the lines and names of the program."""
        def line(m):
            return f"line {self.lines[int(m[1]) - 1]}" if int(m[1]) <= len(self.lines) else m[0]
        return re.sub(r"\bline (\d+)", line,
                      re.sub(r"'(\w+)'", lambda m: f"'{self.said(m[1])}'", words))


class Names:
    """Names of the kernel language for names of Python's."""

    def __init__(self):
        self.taken = set(_WORDS)

    def fresh(self, name):
        stem = name if name.isascii() and name.isidentifier() and len(name) < 48 else "v"
        out, k = stem, 1
        while out in self.taken or keyword.iskeyword(out):
            k += 1
            out = f"{stem}_{k}"
        self.taken.add(out)
        return out


class Scope(Expressions, Sections, Statements):
    """Variables and statements of the kernel, or of a function in it."""

    def __init__(self, program, names, kinds, counters):
        self.program = program
        self.names = names
        self.kinds = kinds        # variable -> its type; shared by all passes
        self.counters = counters  # names that need no variable
        self.called = {}          # variable -> its name in the kernel
        self.counting = {}        # counter under way -> its name in the kernel
        self.aliases = {}         # name -> Held
        self.given_numbers = {}   # argument that is not assigned -> its Value
        self.out = []             # (depth, text, line)
        self.depth = 1
        self.fixed = set()        # variables whose type the program names
        self.alone = set()        # calls that are done before all else in their statement
        self.body = program.loop  # what it is the scope of
        self.changed = False

    # ---- Lines ----

    def emit(self, text, node):
        self.out.append((self.depth, text, getattr(node, "lineno", 0)))

    def aside(self, way, part):
        """What `way` makes of a part, and the lines that must come before it."""
        kept, self.out = self.out, []
        self.depth += 1
        try:
            value = way(part)
        finally:
            lines, self.out = self.out, kept
            self.depth -= 1
        return lines, value

    def in_order(self, nodes):
        """The values of expressions.  What one needs done before it comes behind the elements that those
        before it read: the first wrong index is the one that raises."""
        out = []
        for node in nodes:
            kept, self.out = self.out, []
            value = self.scalar(node)
            lines, self.out = self.out, kept
            if lines:
                out = [self.temporary(v, node) if "[" in v.text and not v.simple else v for v in out]
            self.out += lines
            out.append(value)
        return out

    def conditional(self, test, first, then, node, second=(), otherwise=()):
        self.emit(f"if {test} {{", node)
        self.out += first
        self.depth += 1
        for text in then:
            self.emit(text, node)
        if otherwise:
            self.out.append((self.depth - 1, "} else {", node.lineno))
            self.out += second
            for text in otherwise:
                self.emit(text, node)
        self.depth -= 1
        self.emit("}", node)

    def temporary(self, value, node, kind=None):
        kind = kind or value.kind
        if kind is None:
            return UNKNOWN
        name = self.names.fresh("t")
        self.declare(name, kind, value, node)
        return Value(name, kind, simple=True)

    def declare(self, name, kind, value, node):
        text = _of_type(value, kind) if value else _zero(kind)
        self.emit(f"let {name}: {kind.dtype.name} = {text}", node)

    # ---- Names ----

    def variable(self, name, node):
        if name in self.counting:
            return Value(self.counting[name], INT, simple=True)
        if name in self.given_numbers:
            return self.given_numbers[name]
        if name in self.kinds:
            kind = self.kinds[name]
            return Value(self.name_of(name), kind, simple=True) if kind else UNKNOWN
        if name in self.aliases:
            return self.aliases[name].value()
        return self.free((name,), node)

    def name_of(self, name):
        if name not in self.called:
            self.called[name] = self.names.fresh(name)
        return self.called[name]

    def is_local(self, name):
        return any(name in known for known in (self.kinds, self.counting, self.aliases, self.given_numbers))

    def path(self, node):
        """('self', 'x') of `self.x`, ('shape', 0) of `shape[0]` of a tuple or list, if it begins with what
        the loop does not make."""
        parts = []
        while isinstance(node, ast.Attribute) or _is_numbered(node):
            parts.append(node.attr if isinstance(node, ast.Attribute) else ast.literal_eval(node.slice))
            node = node.value
        if not isinstance(node, ast.Name) or self.is_local(node.id):
            return None
        path = (node.id, *reversed(parts))
        for k, part in enumerate(path):
            if isinstance(part, int) and not self._holds_several(path[:k], node):
                return None
        return path

    def _holds_several(self, path, node):
        try:
            return type(self.object(path, node)) in (tuple, list)
        except Refusal:
            return False

    def known(self, node):
        """(True, value) of a string or None that the loop does not make: kernels are made for each."""
        if isinstance(node, ast.Constant):
            return node.value is None or isinstance(node.value, str), node.value
        path = self.path(node)
        value = self.object(path, node) if path else 0
        return value is None or type(value) is str, value

    def callee(self, node):
        path = self.path(node)
        if path is None:
            raise Refusal(f"a call of '{ast.unparse(node)}', which the loop makes", node)
        return self.object(path, node)

    def dotted(self, node):
        path = self.path(node)
        if path is None:
            return None
        return self.free(path, node)

    def free(self, path, node):
        """What stands before the loop, or outside of the function."""
        value = self.object(path, node)
        if len(path) > 1 and _is_constant_module(self.object(path[:1], node)):
            if type(value) in WEAK:
                return constant(value)
        kind = of_value(value)
        if kind is None:
            kind = array_kind(value)
        if kind is None:
            words = (p for p in path if isinstance(p, (str, int)))
            raise Refusal(f"'{spelled(words)}' is {_described(value)}", node)
        return Value(self.parameter(path, kind), kind, simple=isinstance(kind, Kind))

    def is_bounded(self, value, dtype):
        """Does an integer of Python's fit for a reason?"""
        return False

    # ---- Arrays ----

    def is_array(self, node):
        try:
            self.aside(self.array, node)
        except Refusal:
            return False
        return True

    def holds_array(self, node):
        """Does an argument name an array, or a part of one that is no element?"""
        return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) \
            and not (isinstance(node, ast.Subscript) and self._is_shape(node.value)) \
            and self.is_array(node) and self.aside(self.array, node)[1].kind.ndim > 0

    def array(self, node):
        """What an expression holds of an array."""
        if isinstance(node, ast.Name) and node.id in self.aliases:
            return self.aliases[node.id]
        if isinstance(node, (ast.Name, ast.Attribute)):
            if isinstance(node, ast.Attribute) and self.path(node) is None:
                raise Refusal("an attribute of what a kernel makes", node)
            value = self.expression(node)
            if not isinstance(value.kind, Array):
                raise Refusal("an index of what is no array", node)
            return Held(value.text, value.kind, (None,) * value.kind.ndim)
        if not isinstance(node, ast.Subscript):
            raise Refusal("an index of what is no array, but of an expression", node)
        if self.path(node) is not None:
            value = self.free(self.path(node), node)
            if not isinstance(value.kind, Array):
                raise Refusal("an index of what is no array", node)
            return Held(value.text, value.kind, (None,) * value.kind.ndim)
        held = self.array(node.value)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(parts) > held.kind.ndim:
            raise Refusal(f"{len(parts)} indices of {held.kind.ndim} axes", node)
        fixed = list(held.fixed)
        simple = held.simple
        for axis, part in zip(held.axes, parts):
            if isinstance(part, ast.Slice):
                raise Refusal("a slice in place of an element", node)
            value = self.index(part)
            fixed[axis] = value.text
            simple = simple and value.simple
        kind = Array(held.kind.dtype, held.kind.ndim - len(parts))
        return Held(held.base, kind, tuple(fixed), simple)


def _store_of(loop, name):
    """Where it is assigned."""
    return next(n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == name
                and isinstance(n.ctx, ast.Store))


def array_kind(value):
    from braze import _core

    if type(value) not in (np.ndarray, np.memmap, _core.ndarray):
        return None
    if value.dtype not in KNOWN or not value.dtype.isnative or not _is_aligned(value):
        return None
    return Array(value.dtype, value.ndim) if value.ndim else strong(value.dtype)


def _is_aligned(value):
    return not isinstance(value, np.ndarray) or value.flags.aligned


def _is_constant_module(value):
    return any(value is module for module in (math, np, sys.modules.get("braze.numpy", np)))


def _described(value):
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    return f"of type {type(value).__name__}, which no kernel takes"


def _of_type(value, kind):
    if kind.dtype.kind == "b":
        return cast_truth(value).text
    return cast(value, kind.dtype).text


# ---- The kernel ----

class Kernel(Scope):
    """The scope of a kernel's body: what comes from outside is a parameter."""

    def __init__(self, program, names, kinds, counters, lookup):
        super().__init__(program, names, kinds, counters)
        self.lookup = lookup
        self.parameters = {}
        self.given = set()
        self.returns = None
        self.returned = None

    def object(self, path, node):
        try:
            return self.lookup(path)
        except (AttributeError, NameError, LookupError, TypeError) as error:
            raise Refusal(str(error), node) from None

    def parameter(self, path, kind):
        if path not in self.parameters:
            name = "_".join(str(p).lstrip("-") for p in path if isinstance(p, (str, int)))
            name = self.names.fresh(name + "_0" if name in self.kinds else name)
            self.parameters[path] = Parameter(path, name, kind)
        return self.parameters[path].name

    def store(self, base):
        for p in self.parameters.values():
            if p.name == base:
                p.written = True

    def is_bounded(self, value, dtype):
        """Is it a parameter?  Then each call sees whether it fits."""
        found = [p for p in self.parameters.values() if p.name == value.text and p.within in (None, dtype)]
        for p in found:
            p.within = dtype
        return bool(found)

    def assigned(self, name, node):
        if name in self.given:
            self.emit(f"{self.name_of(name + '_set')} = true", node)

    def leave(self, node):
        """`return` in the loop: the values are results, and every loop is left."""
        parts = [] if node.value is None else \
            node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        alone = node.value is not None and not isinstance(node.value, ast.Tuple)
        if alone and isinstance(node.value, ast.Constant) and node.value.value is None:
            parts, alone = [], False
        if alone:
            self.alone.add(node.value)
        values = [self.scalar(p) for p in parts]
        shape = (len(parts), alone)
        if self.returns is None:
            self.returns = shape
        if self.returns != shape:
            raise Refusal("returns of different numbers of values", node)
        for k, value in enumerate(values):
            self.assign(f"return {k}", value, node)
        self.emit(f"{self.name_of('returned ')} = true", node)
        self.emit("break", node)

    def leaves(self, loop, node):
        """Behind an inner loop that may have returned."""
        if any(isinstance(n, ast.Return) for n in ast.walk(loop)):
            self.emit(f"if {self.name_of('returned ')} {{ break }}", node)


class Program:
    """One kernel's text while it is made."""

    def __init__(self, loop, lookup):
        self.loop = loop
        self.lookup = lookup
        self.functions = {}  # (function, types) -> Function
        self.making = []
        self.mixed = []      # of the last pass: refusals of `common`

    def make(self, name, locals_, live_in, live_out, given):
        """Of the loop; `locals_` are the function's variables, `live_in` those of them that it reads."""
        stores = regions.stored(self.loop) & locals_
        counters = regions.own_counters(self.loop) - live_out - live_in
        kinds = {v: None for v in sorted(stores - counters)}
        for v in sorted(live_in & stores):
            kinds[v] = of_value(self.lookup((v,)))
            if kinds[v] is None:
                value = self.lookup((v,))
                raise Refusal(f"'{v}' is {_described(value)}, and is assigned in the loop"
                              + (f"; its elements are by {v}[:] = ..." if array_kind(value) else ""),
                              _store_of(self.loop, v))
        for _ in range(PASSES):
            before = dict(kinds)
            self.mixed.clear()
            names = Names()
            kernel = Kernel(self, names, kinds, counters, self.lookup)
            kernel.given = given
            self.functions = {}
            for v in sorted(kinds):
                kernel.name_of(v)
            entry = self._entry(kernel, live_in & stores)
            kernel.statement(self.loop)
            if kinds == before:
                if self.mixed:
                    raise self.mixed[0]
                return self._finish(name, kernel, entry, live_out)
        raise Refusal("types that do not settle")

    @staticmethod
    def _entry(kernel, live_in):
        """The values that variables have before the loop."""
        lines = []
        for v in sorted(live_in):
            kind = of_value(kernel.lookup((v,)))
            parameter = kernel.parameter((v,), kind)
            target = kernel.kinds[v]
            if kind == INT and target.dtype.kind in "iu":
                kernel.parameters[(v,)].within = target.dtype
            text = _of_type(Value(parameter, kind), target)
            lines.append((v, text))
        return dict(lines)

    def _finish(self, name, kernel, entry, live_out):
        results, declared = _variables(kernel, entry, live_out)
        flags = [(v, kernel.name_of(v + "_set")) for v in sorted(kernel.given)]
        returns = None
        if kernel.returns is not None:
            flags.append(("return", kernel.name_of("returned ")))
            returns = kernel.returns, [kind for v, _, kind in results if _is_returned(v)]
        line = getattr(self.loop, "lineno", 0)
        rows = [row for f in self.functions.values() for row in f.rows]
        rows.append((0, _head(kernel, name, results, flags), line))
        rows += [(1, text, line) for text in declared] + kernel.out + [(0, "}", line)]
        return Made("\n".join("    " * d + text for d, text, _ in rows),
                    list(kernel.parameters.values()),
                    [(v, kind) for v, _, kind in results if not _is_returned(v)],
                    sorted(kernel.given), returns, [line for _, _, line in rows],
                    {v: k for v, k in kernel.kinds.items()
                     if not _is_returned(v) and not v.startswith("_braze_")})

    # ---- Functions ----

    def function_call(self, scope, function, node):
        """A plain function: one of the kernel's where it takes and gives numbers."""
        before = len(scope.out)
        given = inlined.bound(function, node)
        if not any(map(scope.holds_array, given.values())):
            try:
                return self._own_function(scope, function, given, node)
            except inlined.NeedsInlining:
                del scope.out[before:]
        return inlined.call(scope, self, function, node)

    def _own_function(self, scope, function, given, node):
        """For the types that it is called with."""
        values = [scope.scalar(a) for a in given.values()]
        if any(v.kind is None for v in values):
            return UNKNOWN
        key = (function, *((p, v.kind) for p, v in zip(given, values)))
        if key not in self.functions:
            if function in self.making:
                raise Refusal(f"{function.__name__}() calls itself", node)
            self.making.append(function)
            noted = len(self.mixed)
            try:
                made = Function.make(self, function, dict(key[1:]), scope.names, node)
            finally:
                self.making.pop()
            made.mixed, self.mixed[noted:] = self.mixed[noted:], []
            self.functions[key] = made
        made = self.functions[key]
        self.mixed += made.mixed
        texts = [v.text for v in values]
        texts += [scope.free(path, node).text for path in made.free]
        return Value(f"{made.name}({', '.join(texts)})", made.kind)


class Function(Scope):
    """The scope of a plain function that the loop calls: it takes and gives numbers."""

    def __init__(self, program, names, kinds, counters, function):
        super().__init__(program, names, kinds, counters)
        self.function = function
        self.free_names = {}  # path -> (name, kind)
        self.returned = []    # values
        self.kind = None      # their type, when all are known

    def object(self, path, node):
        try:
            return self.program.lookup(path if callable(path[0]) else (self.function, *path))
        except (AttributeError, NameError, LookupError, TypeError) as error:
            raise Refusal(str(error), node) from None

    def parameter(self, path, kind):
        if isinstance(kind, Array):
            raise inlined.NeedsInlining(f"{self.function.__name__}() uses an array")
        path = path if callable(path[0]) else (self.function, *path)
        if path not in self.free_names:
            self.free_names[path] = (self.names.fresh("_".join(str(p).lstrip("-") for p in path[1:])), kind)
        return self.free_names[path][0]

    def store(self, base):
        raise inlined.NeedsInlining(f"{self.function.__name__}() writes an array")

    def assigned(self, name, node):
        """Nobody looks whether it was."""

    def leaves(self, loop, node):
        """`return` leaves all loops here."""

    def leave(self, node):
        if node.value is None or isinstance(node.value, ast.Tuple):
            raise inlined.NeedsInlining(f"{self.function.__name__}() returns no number", node)
        value = self.scalar(node.value)
        self.returned.append(value)
        self.emit(("return", value), node)

    @staticmethod
    def make(program, function, given, names, call):
        tree = inlined.tree_of(function)
        params = list(given)
        body = ast.Module(tree.body, [])
        if not any(isinstance(n, ast.Return) for n in ast.walk(body)):
            raise inlined.NeedsInlining(f"{function.__name__}() returns nothing", call)
        counters = regions.own_counters(body) - set(params)
        kinds = {v: None for v in sorted((regions.stored(body) | set(params)) - counters)}
        kinds.update(given)
        noted = len(program.mixed)
        for _ in range(PASSES):
            before = dict(kinds)
            del program.mixed[noted:]
            scope = Function(program, names, kinds, counters, function)
            scope.body = body
            for statement in tree.body:
                scope.statement(statement)
            scope.kind = scope.common(scope.returned, tree)
            if kinds == before and scope.kind is not None:
                return scope.finish(params, list(given.values()), tree)
        raise Refusal(f"the types in {function.__name__}() do not settle", call)

    def finish(self, params, given, tree):
        self.name = self.names.fresh(f"fn_{self.function.__name__}")
        head, rows = [], []
        for v, kind in zip(params, given):
            name = self.names.fresh(f"{v}_0")
            head.append(f"{name}: {kind.dtype.name}")
            rows.append((1, f"let {self.name_of(v)}: {self.kinds[v].dtype.name} = "
                         f"{_of_type(Value(name, kind), self.kinds[v])}", tree.lineno))
        for name, kind in self.free_names.values():
            head.append(f"{name}: {kind.dtype.name}")
        for v, kind in self.kinds.items():
            if v in params or v in self.aliases:
                continue
            if kind is None:
                raise Refusal(f"the type of '{v}' in {self.function.__name__}() is not known")
            rows.append((1, f"let {self.name_of(v)}: {kind.dtype.name} = {_zero(kind)}", tree.lineno))
        for depth, text, line in self.out:
            if isinstance(text, tuple):
                text = f"return {_of_type(text[1], self.kind)}"
            rows.append((depth, text, line))
        self.free = list(self.free_names)
        self.rows = [(0, f"fn {self.name}({', '.join(head)}) -> {self.kind.dtype.name} {{",
                      tree.lineno), *rows, (0, "}", tree.lineno)]
        return self


class Inside(inlined.Inlined, Scope):
    """The scope of a function that stands where `outer` calls it."""

    def __init__(self, outer, program, kinds, counters):
        super().__init__(program, outer.names, kinds, counters)
        self.outer = outer


def _is_returned(name):
    """Is it what `return` in the loop gives, and no name of Python's?"""
    return name.startswith("return ")


def _variables(kernel, entry, live_out):
    """What is a result, with its name and type; lines that declare and set all others."""
    results, declared = [], []
    for v, kind in sorted(kernel.kinds.items(), key=lambda row: (_is_returned(row[0]), row[0])):
        if v in kernel.aliases:
            continue
        if kind is None:
            raise Refusal(f"the type of '{v}' is not known")
        name = kernel.name_of(v)
        if v in live_out or _is_returned(v):
            results.append((v, name, kind))
            if v in entry:
                declared.append(f"{name} = {entry[v]}")
        else:
            declared.append(f"let {name}: {kind.dtype.name} = {entry.get(v) or _zero(kind)}")
    return results, declared


def _zero(kind):
    return "false" if kind.dtype.kind == "b" else cast(constant(0), kind.dtype).text


def _head(kernel, name, results, flags):
    """The line that begins the kernel: its parameters and results."""
    given = [f"{'inout ' if p.written else ''}{p.name}: "
             f"{p.kind if isinstance(p.kind, Array) else p.kind.dtype.name}"
             for p in kernel.parameters.values()]
    back = [f"{k}: {kind.dtype.name}" for _, k, kind in results] + [f"{k}: bool" for _, k in flags]
    arrow = f" -> ({', '.join(back)})" if back else ""
    return f"kernel {kernel.names.fresh(name)}({', '.join(given)}){arrow} {{"


def elementwise(function, kinds, are_arrays):
    """A kernel that calls a function for each element.

    Out: its text, whose parameters are the result, the arguments and the function's free numbers;
    the type that the function gives; and functions that read the free numbers.
    """
    from braze._jit.sites import read_global

    program = Program(ast.Module([], []), lambda path: read_global(path))
    names = Names()
    call = ast.Call(ast.Name(function.__name__, ast.Load()),
                    [ast.Constant(0) for _ in kinds], [], lineno=0)
    program.making.append(function)
    given = dict(zip(inlined.bound(function, call), kinds))
    made = Function.make(program, function, given, names, call)
    if program.mixed:
        raise program.mixed[0]
    out, counter = names.fresh("out"), names.fresh("k")
    arguments = [names.fresh("x") for _ in kinds]
    free = [made.free_names[path] for path in made.free]
    head = [f"inout {out}: {made.kind.dtype.name}[:]"]
    head += [f"{name}: {kind.dtype.name}{'[:]' if of_array else ''}"
             for name, kind, of_array in zip(arguments, kinds, are_arrays)]
    head += [f"{name}: {kind.dtype.name}" for name, kind in free]
    given = [f"{name}[{counter}]" if of_array else name
             for name, of_array in zip(arguments, are_arrays)] + [name for name, _ in free]
    rows = [row for f in program.functions.values() for row in f.rows] + made.rows + [
        (0, f"kernel {names.fresh(function.__name__)}({', '.join(head)}) {{", 0),
        (1, f"for {counter} in 0..len({out}) {{", 0),
        (2, f"{out}[{counter}] = {made.name}({', '.join(given)})", 0), (1, "}", 0), (0, "}", 0)]
    return ("\n".join("    " * d + text for d, text, _ in rows), made.kind,
            [lambda path=path: read_global(path) for path in made.free])
