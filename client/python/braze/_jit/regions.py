# SPDX-License-Identifier: Apache-2.0
"""Which names a loop reads and leaves, by definite assignment over the syntax tree.

In:  a function's tree, a loop in it.  Out: the names that the loop needs from before it, and those that
something after it may read.
"""

import ast

LOOPS = (ast.For, ast.While)
_ELSEWHERE = (ast.Try, ast.TryStar, ast.With, ast.Match)  # breaks inside are not looked for


def stored(node):
    """Names that anything below assigns."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)
            and isinstance(n.ctx, (ast.Store, ast.Del))}


def loaded(node):
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return names | {n.target.id for n in ast.walk(node)
                    if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)}


class Flow:
    """Definite assignment: `sure` holds what every way to here has assigned, `early` what may have been
    read before."""

    def __init__(self, sure=()):
        self.sure = set(sure)
        self.early = set()
        self.at = {}  # loop or expression -> what is sure where it begins
        self.breaks = []  # what is sure at each break of the loop around

    def reads(self, node):
        if node is not None:
            self.early |= loaded(node) - self.sure

    def writes(self, target):
        self.reads_of_target(target)
        self.sure |= stored(target)

    def reads_of_target(self, target):
        for n in ast.walk(target):
            if isinstance(n, (ast.Subscript, ast.Attribute)):
                self.reads(n)

    def block(self, body):
        """False: its end is never reached."""
        for statement in body:
            if not self.statement(statement):
                return False
        return True

    def branch(self, body):
        """What is sure behind a body that may end otherwise; None: its end is not reached."""
        other = self.beside(self.breaks)
        ends = other.block(body)
        self.early |= other.early
        return other.sure if ends else None

    def beside(self, breaks):
        other = Flow(self.sure)
        other.at, other.breaks = self.at, breaks
        return other

    def left(self, loop, ended, breaks):
        """What is sure behind the loop; ended: where it ended by itself, None if it never does."""
        ways = [*breaks, ended] if ended is not None else breaks
        if ways and not any(isinstance(n, _ELSEWHERE) for n in ast.walk(loop)):
            self.sure = set.intersection(*ways)

    def statement(self, s):
        way = getattr(self, "_" + type(s).__name__, None)
        if way:
            return way(s)
        for child in ast.iter_child_nodes(s):
            self.reads(child)
        if isinstance(s, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            self.sure.add(s.name)
        elif isinstance(s, (ast.Import, ast.ImportFrom)):
            self.sure |= {(a.asname or a.name).split(".")[0] for a in s.names}
        elif isinstance(s, ast.Delete):
            self.sure -= stored(s)
        return True

    def _Assign(self, s):
        self.reads(s.value)
        for target in s.targets:
            self.writes(target)
        return True

    def _AugAssign(self, s):
        self.reads(s.value)
        self.early |= loaded(s.target) - self.sure
        if isinstance(s.target, ast.Name):
            self.early |= {s.target.id} - self.sure
        self.writes(s.target)
        return True

    def _AnnAssign(self, s):
        self.reads(s.value)
        if s.value is not None:
            self.writes(s.target)
        return True

    def _If(self, s):
        self.reads(s.test)
        ways = [w for w in (self.branch(s.body), self.branch(s.orelse)) if w is not None]
        if ways:
            self.sure = set.intersection(*ways)
        return bool(ways)

    def _For(self, s):
        self.reads(s.iter)
        self.at[s] = set(self.sure)
        other = self.beside([])
        other.writes(s.target)
        other.block(s.body)
        self.early |= other.early
        self.left(s, self.branch(s.orelse), other.breaks)
        return True

    def _While(self, s):
        self.at[s] = set(self.sure)
        self.reads(s.test)
        other = self.beside([])
        other.block(s.body)
        self.early |= other.early
        ended = self.branch(s.orelse)
        self.left(s, None if isinstance(s.test, ast.Constant) and s.test.value else ended, other.breaks)
        return True

    def _With(self, s):
        for item in s.items:
            self.reads(item.context_expr)
            if item.optional_vars is not None:
                self.writes(item.optional_vars)
        self.block(s.body)
        return True

    def _Try(self, s):
        for part in (s.body, *(h.body for h in s.handlers), s.orelse, s.finalbody):
            self.branch(part)
        return True

    def _Expr(self, s):
        self.at[s] = set(self.sure)
        self.reads(s.value)
        return True

    def _Row(self, s):
        return self.block(s.body)

    def _Return(self, s):
        self.reads(s.value)
        return False

    def _Raise(self, s):
        self.reads(s.exc)
        return False

    def _Break(self, s):
        self.breaks.append(set(self.sure))
        return False

    def _Continue(self, s):
        return False


def needed(loop):
    """What the loop may read before it has assigned it, its free names included."""
    flow = Flow()
    flow.statement(loop)
    return flow.early


def read_behind(function, loop):
    """Names that the function may read after the loop, as the loop has left them."""
    names = set()
    for n in ast.walk(function):
        if isinstance(n, (ast.Global, ast.Nonlocal)):
            names.update(n.names)
        elif isinstance(n, _INNER) and n is not function:
            names |= loaded(n)
    flow = Flow()
    for statements in _behind(function.body, loop):
        flow.block(statements)
        if any(isinstance(n, _LEAVES) for s in statements for n in ast.walk(s)):
            flow.sure.clear()  # on some way they have not been run to their end
    return names | flow.early


_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.GeneratorExp,
          ast.ListComp, ast.SetComp, ast.DictComp)
_LEAVES = ast.Break, ast.Continue, ast.Raise, ast.With


def _behind(body, loop):
    """Lists of statements that are run after the loop in `body`, one after the other; None: it is not
    there."""
    for k, statement in enumerate(body):
        if statement is loop:
            return [body[k + 1:]]
        for part, again in _parts(statement):
            found = _behind(part, loop)
            if found is not None:
                # Its next turn; whatever of it an error leaves to run.
                return [*found, [statement], body[k + 1:]] if again else [*found, body[k + 1:]]
    return None


def _parts(statement):
    """Lists of statements inside one, and whether it may run again, or end in the middle, behind them."""
    if not isinstance(statement, ast.stmt) or isinstance(statement, _INNER):
        return
    ends = isinstance(statement, (ast.Try, ast.With))
    for field in ("body", "orelse", "finalbody"):
        if getattr(statement, field, None):
            yield getattr(statement, field), ends or isinstance(statement, LOOPS) and field == "body"
    for field in ("handlers", "cases"):
        for other in getattr(statement, field, ()):
            yield other.body, ends


def own_counters(loop):
    """Names that serve as counters of `for` loops only, inside the bodies that they count."""
    outside = set()
    counters = set()

    def visit(node, counted):
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            name = node.target.id
            counters.add(name)
            if name in counted:
                outside.add(name)
            visit(node.iter, counted)
            for part in node.body:
                visit(part, counted | {name})
            for part in node.orelse:
                visit(part, counted)
            return
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store) or node.id not in counted:
                outside.add(node.id)
        for child in ast.iter_child_nodes(node):
            visit(child, counted)

    visit(loop, frozenset())
    return counters - outside
