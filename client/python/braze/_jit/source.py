# SPDX-License-Identifier: Apache-2.0
"""A plain function, its loops replaced by calls of sites.

In:  a function of Python's.  Out: one that does the same, in which each loop that looks like a kernel asks
its site first, and is run as it was written where the site has none.
"""

import ast
import builtins
import copy
import functools
import inspect
import textwrap
import types

from braze._jit import regions, rewrite, rows
from braze._jit.kinds import Refusal, said
from braze._jit.pragmas import mark, pragmas_of
from braze._jit.sites import Site

_SITES = "_braze_sites"
_RESULT = "_braze_result"
_OURS = "_braze_"

# What a loop may be made of; what the types are is seen when it is called.
_ALLOWED = (
    rows.Row, ast.For, ast.While, ast.If, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Pass,
    ast.Break, ast.Continue, ast.Return, ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.BoolOp,
    ast.Compare, ast.IfExp, ast.Call, ast.Attribute, ast.Subscript, ast.Slice, ast.Tuple, ast.List, ast.Set, ast.keyword,
    ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)


_OTHERS = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.AsyncFor


def tree_of(function):
    """The tree of a function's own text, with the lines of its file."""
    return _tree_of(function.__code__)


@functools.lru_cache(maxsize=4096)
def _tree_of(code):
    try:
        lines, first = inspect.getsourcelines(code)
    except (OSError, TypeError) as error:
        raise Refusal(f"its source is not there: {error}") from None
    try:
        module = ast.parse(textwrap.dedent("".join(lines)))
    except SyntaxError:
        raise Refusal("its source is no statement of its own") from None
    tree = module.body[0]
    if not isinstance(tree, ast.FunctionDef) or tree.name != code.co_name:
        raise Refusal(f"{code.co_name} is no function that def makes")
    ast.increment_lineno(tree, first - 1)
    return tree


def capture(function, tree, sites, left):
    """The code of what `tree` says, with its loops captured; None if there are none.  The tree is used up.

    `function` is whose globals and closure it has.  `sites` gets one for each captured loop, `left` a
    (line, reason) for each that stays Python whatever it is called with.
    """
    if any(isinstance(n, (ast.Name, ast.Attribute)) and _mangled(n) for n in ast.walk(tree)):
        raise Refusal("it uses names that its class makes private")
    said = pragmas_of(function)
    mark(tree, said)
    found = _Finder(function, tree, left, said)
    found.below(tree)
    if not found.sites and not found.rows:
        return None
    found.sites.update(found.rows)
    sites += found.sites.values()
    tree.body = _replaced(tree.body, {loop: k for k, loop in enumerate(found.sites)}, sites)
    return compiled(function, tree)


def _mangled(node):
    name = node.id if isinstance(node, ast.Name) else node.attr
    return name.startswith("__") and not name.endswith("__")


class _Finder:
    """The loops of a function that may become kernels."""

    def __init__(self, function, tree, left, pragmas):
        self.function = function
        self.tree = tree
        self.left = left
        self.pragmas = pragmas
        self.sites = {}  # loop -> its site
        self.rows = {}   # row -> its site
        code = compiled(function, copy.deepcopy(tree))
        self.locals = set(code.co_varnames) | set(code.co_cellvars)
        self.open = set()  # names that do not belong to the function alone
        for n in ast.walk(tree):
            if isinstance(n, (ast.Global, ast.Nonlocal)):
                self.open |= set(n.names)
        args = tree.args
        names = [a.arg for a in args.posonlyargs + args.args + args.kwonlyargs]
        names += [a.arg for a in (args.vararg, args.kwarg) if a]
        self.flow = regions.Flow(names)
        self.flow.block(tree.body)

    def below(self, node, around=False, tried=False):
        """Loops in a statement; `around`: it is inside a loop, `tried`: inside a try."""
        for part in _bodies(node):
            for row in rows.rows_of(part):
                self.row(row, around, tried)
            for statement in part:
                self.visit(statement, around, tried)
        for other in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
            self.below(other, around, tried or isinstance(node, ast.Try))

    def visit(self, node, around, tried):
        if isinstance(node, _OTHERS):
            return
        if isinstance(node, regions.LOOPS):
            try:
                self.sites[node] = self.site(node, around, tried)
            except Refusal as refusal:
                self.left.append((refusal.line or node.lineno, refusal.reason))
            around = True
        self.below(node, around, tried or isinstance(node, ast.Try))

    def row(self, row, around, tried):
        """What stands in a row has sites of its own as well, so that nobody need be told why it has none
        together."""
        try:
            self.rows[row] = self.site(row, around, tried)
        except Refusal:
            pass

    def site(self, whole, around, tried):
        """Of a loop, or of a row."""
        first, last = rows.ends(whole)
        if tried:
            raise Refusal("inside try, which may look at variables after an error", whole)
        plain = rewrite.Plain(whole)
        node = plain.loop
        for n in ast.walk(node):
            if not isinstance(n, _ALLOWED):
                raise Refusal(f"{said(n)} is no part of a kernel", n)
        stores = regions.stored(node)
        if stores & self.open:
            raise Refusal(f"'{min(stores & self.open)}' belongs to others, too", node)
        sure = self.flow.at.get(first, set()) | set(plain.set_before)
        # What `else` of loops makes sure is seen where it stands as it was written.
        needed = {v for v in regions.needed(node) if v.startswith(_OURS)} | set(plain.set_before)
        needed |= regions.needed(node) & regions.needed(whole)
        locals_ = self.locals | {v for v in stores if v.startswith(_OURS)}
        live_in = needed & locals_
        if live_in - sure:
            raise Refusal(f"'{min(live_in - sure)}' may be read before it is assigned: assign it "
                          "before the loop", node)
        live_out = stores & (regions.read_behind(self.tree, last) | plain.read_behind)
        if around:
            live_out |= stores & needed
        free = {v for v in needed - locals_ if v in self.function.__code__.co_freevars
                or v in self.function.__globals__ or not hasattr(builtins, v)}
        return Site(self.function, plain, sorted(live_in | free), live_in & stores,
                    live_out, live_out - needed, locals_, self.pragmas.get(node.lineno, []))


def _bodies(node):
    return [part for field in ("body", "orelse", "finalbody")
            if isinstance(part := getattr(node, field, None), list)]


def _replaced(body, numbers, sites):
    """The statements, with what asks a site before each loop, and each row, that has one."""
    out = []
    together = {id(row.body[0]): row for row in numbers if isinstance(row, rows.Row)}
    left = []  # of a row
    for node in body:
        if id(node) in together:
            row = together[id(node)]
            left = list(row.body)
            asked = _asked(row, numbers[row], sites)
            out += asked
        if not isinstance(node, _OTHERS):
            for field in ("body", "orelse", "finalbody"):
                if isinstance(getattr(node, field, None), list):
                    setattr(node, field, _replaced(getattr(node, field), numbers, sites))
            for other in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
                other.body = _replaced(other.body, numbers, sites)
        own = _asked(node, numbers[node], sites) if node in numbers else [node]
        if left:
            asked[-1].body += own
            left.pop()
        else:
            out += own
    return out


def _asked(loop, number, sites):
    """if (r := sites[k](x, y)) is None: the loop; else: x, y = r.  Of a row what stands in it is to come."""
    site = sites[number]
    lines = [f"{name} = {value}" for name, value in site.plain.set_before.items()]
    lines += [f"{_RESULT} = {_SITES}[{number}]({', '.join(site.reads)})",
              f"if {_RESULT} is None:", "    pass", "else:"]
    lines += ["    " + line for line in _taken(site)]
    module = ast.parse("\n".join(lines))
    for n in ast.walk(module):
        ast.copy_location(n, loop)
    asked = module.body[-1]
    asked.body = [] if isinstance(loop, rows.Row) else [loop]
    asked.orelse += _behind(site.plain, loop)
    return module.body


def _behind(plain, loop):
    """What follows a loop that ran as a kernel: the raise that it has stopped at, its else."""
    out = []
    for number, what in enumerate(plain.raises, 1):
        test = ast.parse(f"{rewrite.RAISED} == {number}", mode="eval").body
        out.append(ast.If(test, [what], []))
    if plain.otherwise:
        out.append(ast.If(ast.Name(rewrite.ENDED, ast.Load()), loop.orelse, []))
    return [ast.fix_missing_locations(ast.copy_location(n, loop)) for n in out]


def _taken(site):
    """How the results come back into the variables."""
    lines = []
    for k, name in enumerate(site.leaves):
        plain = f"{name} = {_RESULT}[{k}]"
        if name in site.given:
            flag = len(site.leaves) + site.given.index(name)
            plain = f"if {_RESULT}[{flag}]: {plain}"
        lines.append(plain)
    if site.may_return:
        lines.append(f"if {_RESULT}[-2]: return {_RESULT}[-1]")
    return lines or ["pass"]


def compiled(function, tree):
    """The code of what the tree says where the function stands: it sees the same variables."""
    free = function.__code__.co_freevars
    args = tree.args
    tree.decorator_list, tree.returns = [], None
    args.defaults = [ast.Constant(None) for _ in args.defaults]
    args.kw_defaults = [d and ast.Constant(None) for d in args.kw_defaults]
    for a in args.posonlyargs + args.args + args.kwonlyargs + [args.vararg, args.kwarg]:
        if a is not None:
            a.annotation = None
    factory = ast.FunctionDef("_braze_factory", ast.arguments(
        [], [ast.arg(v) for v in (_SITES, *free)], None, [], [], None, []),
        [tree, ast.Return(ast.Name(tree.name, ast.Load()))], [], None)
    module = ast.Module([factory], [])
    ast.fix_missing_locations(module)
    code = compile(module, function.__code__.co_filename, "exec")
    for name in ("_braze_factory", tree.name):
        code = next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == name)
    return code


def function_of(function, code, entries):
    """Such code as a function beside the old one; `entries` are what it calls in place of loops."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    cells[_SITES] = types.CellType(entries)
    closure = tuple(cells[name] for name in code.co_freevars)
    if hasattr(code, "co_qualname"):
        code = code.replace(co_qualname=function.__code__.co_qualname)
    return types.FunctionType(code, function.__globals__, function.__name__, None, closure)
