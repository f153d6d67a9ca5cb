# SPDX-License-Identifier: Apache-2.0
"""Loops in fewer kinds of statements: `raise`, `assert` and `else` of loops as variables and `break`.

In:  a loop's tree.  Out: one that a kernel may be made of, and what is to be done behind it: the raise that
it stopped at, with the variables as they were there, or the statements of its own `else`.
"""

import ast
import copy

from braze._jit.kinds import Refusal

RAISED = "_braze_raised"  # 0, or the number of the raise that the loop has stopped at
ENDED = "_braze_ended"    # has the loop ended by itself? with a number for each loop inside

_LOOPS = ast.For, ast.While


class Plain:
    """`loop` without what kernels lack; `raises` are the statements that were taken out, by their numbers
    from 1; `otherwise` is the loop's own else."""

    def __init__(self, loop):
        self.raises = []
        self.count = 0
        self.loop = copy.deepcopy(loop)
        self.otherwise = self.loop.orelse
        self.loop.orelse = []
        own = ENDED if self.otherwise else None
        self.loop.body = self._block(self.loop.body, own)

    @property
    def set_before(self):
        """Variables that the loop begins with, and their values."""
        out = {RAISED: 0} if self.raises else {}
        if self.otherwise:
            out[ENDED] = True
        return out

    @property
    def read_behind(self):
        """Names that are looked at behind the loop."""
        parts = [*self.raises, *self.otherwise]
        names = {n.id for part in parts for n in ast.walk(part)
                 if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        return names | set(self.set_before)

    # ---- Statements ----

    def _block(self, body, ended):
        """`ended` is the variable of the loop that a `break` here leaves, if it asks."""
        return [new for statement in body for new in self._statement(statement, ended)]

    def _statement(self, node, ended):
        if isinstance(node, _LOOPS):
            return self._inner(node, ended)
        if isinstance(node, ast.Break):
            return _left(ended, node)
        if isinstance(node, ast.Raise):
            if node.exc is None:
                raise Refusal("raise of what is being handled", node)
            return self._stops(node, node, ended)
        if isinstance(node, ast.Assert):
            return self._asserted(node, ended)
        if isinstance(node, ast.If):
            node.body = self._block(node.body, ended)
            node.orelse = self._block(node.orelse, ended)
        return [node]

    def _stops(self, what, node, ended):
        self.raises.append(what)
        return [_assignment(RAISED, len(self.raises), node), *_left(ended, node)]

    def _asserted(self, node, ended):
        if not __debug__:
            return []
        error = ast.Call(ast.Name("AssertionError", ast.Load()), [node.msg] if node.msg else [], [])
        what = ast.fix_missing_locations(ast.copy_location(ast.Raise(error, None), node))
        test = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node)
        return [ast.copy_location(ast.If(test, self._stops(what, node, ended), []), node)]

    def _inner(self, node, ended):
        """A loop inside; behind it the outer one stops, too, where it has stopped for a raise."""
        self.count += 1
        own = f"{ENDED}_{self.count}" if node.orelse else None
        before = len(self.raises)
        node.body = self._block(node.body, own)
        out = [node]
        if own:
            out.insert(0, _assignment(own, True, node))
        if len(self.raises) > before:
            stop = ast.If(ast.Name(RAISED, ast.Load()), _left(ended, node), [])
            out.append(ast.fix_missing_locations(ast.copy_location(stop, node)))
        if own:
            otherwise, node.orelse = node.orelse, []
            out.append(ast.If(ast.Name(own, ast.Load()), self._block(otherwise, ended), []))
            ast.fix_missing_locations(ast.copy_location(out[-1], node))
        return out


def _left(ended, node):
    """`break`, which the loop's else is told of."""
    out = [ast.copy_location(ast.Break(), node)]
    return [_assignment(ended, False, node), *out] if ended else out


def _assignment(name, value, node):
    made = ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value))
    return ast.fix_missing_locations(ast.copy_location(made, node))
