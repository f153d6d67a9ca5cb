# SPDX-License-Identifier: Apache-2.0
"""Work units: a function of one index, and ranges over which it is run, reduced or scanned.

In:  a function whose first parameters are indices.  Out: a function with the loops around it, captured like any
other.  Turns run in their order; what a unit adds up is added in that order.
"""

import ast
import copy
import operator
import types

import numpy as np

from braze._jit import source


class RangePolicy:
    """Indices from begin to end, without end."""

    def __init__(self, *bounds):
        if not 1 <= len(bounds) <= 2:
            raise TypeError("RangePolicy takes an end, or a begin and an end")
        self.bounds = (_whole(bounds, (0, *bounds)[-2:]),)


class MDRangePolicy:
    """Pairs, triples, ... of indices: a begin and an end for each; the last runs fastest."""

    def __init__(self, begins, ends):
        if len(begins) != len(ends) or not 1 <= len(ends) <= 6:
            raise TypeError("MDRangePolicy takes as many begins as ends, one to six")
        self.bounds = tuple(_whole(pair, pair) for pair in zip(begins, ends))


def _whole(what, pair):
    try:
        return tuple(int(b.__index__()) for b in pair)
    except AttributeError:
        raise TypeError(f"a range has integers, not {what!r}") from None


def _bounds(policy):
    """((begin, end), ...) of a policy: an int, a range, several of them, or one of the above."""
    if isinstance(policy, (RangePolicy, MDRangePolicy)):
        return policy.bounds
    if isinstance(policy, (tuple, list)):
        return tuple(b for p in policy for b in _bounds(p))
    if isinstance(policy, range):
        if policy.step != 1:
            raise ValueError("a policy's range has step 1")
        return ((policy.start, policy.stop),)
    return (_whole(policy, (0, policy)),)


class Unit:
    """What `braze.kernel` makes of a function: call it as the function itself, or run it over a range."""

    def __init__(self, function):
        if not isinstance(function, types.FunctionType):
            raise TypeError(f"braze.kernel takes a function that def makes, not {function!r}")
        self.function = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.loops = {}  # (kind, how many indices) -> the function with the loops around it

    def __call__(self, *args, **named):
        return self.function(*args, **named)

    def __repr__(self):
        return f"<braze work unit {self.__name__}>"

    def loop(self, kind, depth):
        """The function with `depth` loops around it: of kind "for", "reduce" or "scan"."""
        key = kind, depth
        if key not in self.loops:
            self.loops[key] = _around(self.function, kind, depth)
        return self.loops[key]

    @property
    def __braze_jit__(self):
        return _Several(self)


class _Several:
    """For `braze.explain`."""

    def __init__(self, unit):
        self.unit = unit
        self.function = unit.function

    def explain(self):
        loops = self.unit.loops
        if not loops:
            return f"{self.unit!r}: it has not run\n"
        return "".join(f.__braze_jit__.explain() for f in loops.values())


_MORE = {"for": 0, "reduce": 1, "scan": 2}  # parameters behind the indices: the sum, and `last`


def _around(function, kind, depth):
    from braze._jit import captured

    tree = copy.deepcopy(source.tree_of(function))
    args = _parameters(function, tree, kind, depth)
    indices, more, rest = args[:depth], args[depth:depth + _MORE[kind]], args[depth + _MORE[kind]:]
    body = _Turns().block(tree.body)
    if kind == "scan":
        body.insert(0, ast.parse(f"{more[1]} = True").body[0])
    for k in reversed(range(depth)):
        loop = ast.parse(f"for {indices[k]} in range(braze_begin_{k}, braze_end_{k}): pass").body[0]
        loop.body = body
        body = [loop]
    if kind == "reduce":
        body[0].braze_sums = [("+", more[0])]
    if more:
        annotation = _sums_type(tree.args.args[depth].annotation)
        body.insert(0, ast.parse(f"{more[0]}{annotation} = 0").body[0])
        body.append(ast.parse(f"return {more[0]}").body[0])
    for n in body:
        for m in ast.walk(n):
            if getattr(m, "lineno", tree.lineno) < tree.lineno:
                ast.copy_location(m, tree)
    bounds = [f"braze_{end}_{k}" for k in range(depth) for end in ("begin", "end")]
    tree.body = body
    tree.args = ast.arguments([], [ast.arg(a) for a in bounds + rest], None, [], [], None, [])
    return captured(function, tree)


def _parameters(function, tree, kind, depth):
    """Their names: the indices, for sums what is added to, and the rest."""
    given = tree.args
    if given.vararg or given.kwarg or given.kwonlyargs or given.defaults:
        raise TypeError(f"{function.__name__}() is a work unit: it has plain parameters")
    names = [a.arg for a in given.posonlyargs + given.args]
    if len(names) < depth + _MORE[kind]:
        raise TypeError(f"{function.__name__}() has {len(names)} parameters: {depth} indices come "
                        f"first in parallel_{kind}" + (", then the sum" if kind != "for" else ""))
    return names


def _sums_type(annotation):
    """`acc: float`, `acc: np.float64`, `acc: pk.Acc[np.float64]`: the type of the sum."""
    if isinstance(annotation, ast.Subscript):
        annotation = annotation.slice
    return f": {ast.unparse(annotation)}" if annotation is not None else ""


class _Turns(ast.NodeTransformer):
    """`return` in a unit ends its turn."""

    def block(self, body):
        return [self.visit(s) for s in body] or [ast.Pass()]

    def visit_For(self, node):
        if any(isinstance(n, ast.Return) for n in ast.walk(node)):
            raise TypeError(f"line {node.lineno}: a work unit returns outside of its own loops only")
        return node

    visit_While = visit_For

    def visit_Return(self, node):
        if node.value is not None and not (isinstance(node.value, ast.Constant)
                                           and node.value.value is None):
            raise TypeError(f"line {node.lineno}: a work unit returns no value: it adds to its sum")
        return ast.copy_location(ast.Continue(), node)


def _run(kind, args, named):
    if args and isinstance(args[0], str):
        args = args[1:]  # a label, for those who profile
    if len(args) != 2:
        raise TypeError(f"parallel_{kind}() takes a range and a work unit, then arguments by name")
    policy, unit = args
    if isinstance(unit, types.FunctionType):
        unit = _unit_of(unit)
    if not isinstance(unit, Unit):
        raise TypeError(f"a work unit is a function, not {unit!r}")
    bounds = _bounds(policy)
    begun = [b for pair in bounds for b in pair]
    f = unit.loop(kind, len(bounds))
    names = f.__code__.co_varnames[len(begun):f.__code__.co_argcount]
    if set(names) != set(named):
        wrong = sorted(set(names) ^ set(named))[0]
        raise TypeError(f"{unit.__name__}() " + (f"lacks a value for '{wrong}'" if wrong in names
                                                  else f"has no parameter '{wrong}'"))
    return f(*begun, *(named[n] for n in names))


def _unit_of(function):
    """Of one that was not decorated: it goes with the function."""
    if not hasattr(function, "__braze_unit__"):
        function.__braze_unit__ = Unit(function)
    return function.__braze_unit__


def parallel_for(*args, **named):
    """parallel_for([label,] policy, unit, name=value, ...): the unit for each index of the policy.

    A policy is a number of turns, a `range`, a `RangePolicy`, or for several indices a tuple of
    those or an `MDRangePolicy`.  The unit takes the indices, then its arguments, given by name.
    """
    _run("for", args, named)


def parallel_reduce(*args, **named):
    """parallel_reduce([label,] policy, unit, name=value, ...): the sum, a number.

    The unit takes the indices, then the sum, to which it adds, then its arguments.
    """
    return _run("reduce", args, named)


def parallel_scan(*args, **named):
    """parallel_scan([label,] policy, unit, name=value, ...): the sum of all, a number.

    The unit takes the index, the sum, to which it adds, and whether the sum is the final one of
    its index: then it stores it.  Then its arguments.
    """
    return _run("scan", args, named)


# ---- Atomics ----

def _atomic(name, word, operation):
    """`atomic_NAME` and `atomic_fetch_NAME`; captured loops have the operation as a statement."""
    def fetch(array, index, operand):
        at = tuple(index) if isinstance(index, (list, tuple)) else index
        old = array[at]
        array[at] = operation(old, operand)
        return old

    def do(array, index, operand):
        fetch(array, index, operand)
    for f, prefix, more in ((do, "atomic_", ""), (fetch, "atomic_fetch_", "  Returns what was there.")):
        f.__name__ = f.__qualname__ = prefix + name
        f.__module__ = "braze"
        f.__doc__ = f"(array, index, v): array[index] = {word}, at once.{more}"
        f.__braze_atomic__ = name
        globals()[f.__name__] = f


_atomic("add", "old + v", operator.add)
_atomic("sub", "old - v", operator.sub)
_atomic("mul", "old * v", operator.mul)
_atomic("min", "the smaller of old and v", np.minimum)
_atomic("max", "the larger of old and v", np.maximum)
_atomic("and", "old & v", operator.and_)
_atomic("or", "old | v", operator.or_)
_atomic("xor", "old ^ v", operator.xor)
_atomic("exchange", "v", lambda old, v: v)


def atomic_compare_exchange(array, index, expected, desired):
    """(array, index, expected, desired): array[index] = desired where it is expected, at once; of
    integers.  Returns what was there."""
    at = tuple(index) if isinstance(index, (list, tuple)) else index
    old = array[at]
    if not isinstance(old, (np.integer, np.bool_)):
        raise TypeError(f"atomic_compare_exchange() is of integers, not of {array.dtype}")
    if old == expected:
        array[at] = desired
    return old


atomic_compare_exchange.__module__ = "braze"
atomic_compare_exchange.__braze_atomic__ = "compare_exchange"
