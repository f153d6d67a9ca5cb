# SPDX-License-Identifier: Apache-2.0
"""`braze.jit`: loops of plain Python functions as kernels."""

import copy
import functools
import types

from braze import _core
from braze._jit import source
from braze._jit.kinds import Refusal


class Captured:
    """What `braze.jit` knows of a function: `function` is the one that it was given."""

    def __init__(self, function):
        self.function = function
        self.sites = []
        self.left = []
        self.whole = None  # why nothing was captured

    def explain(self):
        """What was captured, and with which types it was called."""
        f = self.function
        lines = [f"{f.__name__}, {f.__code__.co_filename}:{f.__code__.co_firstlineno}"]
        if self.whole:
            lines.append(f"  stays Python: {self.whole}")
        for site in self.sites:
            if site.calls or not site.is_row and (site.specials or not any(map(site.is_part_of, self.sites))):
                lines += _of_site(site)
        for line, reason in sorted(self.left):
            lines.append(f"  line {line}: the loop stays Python, as a whole: {reason}")
        if len(lines) == 1:
            lines.append("  it has no loops")
        return "\n".join(lines) + "\n"


def _of_site(site):
    kind = {"For": "for", "While": "while"}.get(type(site.loop).__name__, "a row")
    lines = [f"  line {site.loop.lineno}: {kind}, called {site.calls} times as a kernel"]
    if site.pragmas:
        lines.append("    pragmas: " + " ".join(p.word for p in site.pragmas))
    for specials in site.specials.values():
        for s in specials:
            if s.refusal is not None:
                at = f"line {s.refusal.line}: " if s.refusal.line else ""
                reason = f"    stays Python: {at}{s.refusal.reason}"
                if reason not in lines:
                    lines.append(reason)
                continue
            for name, known in s.made.variables.items():
                lines.append(f"    {name}: {known}")
            lines += ["    | " + text for text in s.made.text.split("\n")]
            loops = s.made.in_program(_core.kernel_loops(s.kernel) or "")
            lines += ["    " + text for text in loops.splitlines()]
    return lines


def jit(function=None):
    """A function of Python's whose loops over elements run as kernels; a decorator.

    No annotation is needed: a loop becomes a kernel for the types that it is called with, compiled if its
    runs take long, and is what it was for all others.  What is no loop stays Python: operations on whole
    arrays are braze's, and lazy, where `np` is `braze.numpy`.  Integers of Python's have 64 bits in kernels and wrap; a
    division by 0 and a logarithm of 0 give what NumPy's numbers give.  `braze.explain(f)` shows the
    kernels, and why a loop has none.  docs/python.md has the rules.
    """
    if function is None:
        return jit
    if hasattr(function, "__braze_jit__"):
        return function
    if not isinstance(function, types.FunctionType):
        raise TypeError(f"braze.jit takes a function that def makes, not {function!r}")
    known = Captured(function)
    try:
        tree = copy.deepcopy(source.tree_of(function))
        code = source.capture(function, tree, known.sites, known.left)
    except Refusal as refusal:
        known.whole, known.sites, code = refusal.reason, [], None
    out = source.function_of(function, code or function.__code__, [s.entry for s in known.sites])
    out.__defaults__, out.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    functools.update_wrapper(out, function)
    out.__braze_jit__ = known
    out.py_func = function
    return out


def captured(function, tree):
    """A function of its own text, where `function` stands: what `braze.kernel` makes."""
    known = Captured(function)
    plain = source.compiled(function, copy.deepcopy(tree))
    try:
        code = source.capture(function, tree, known.sites, known.left)
    except Refusal as refusal:
        known.whole, known.sites, code = refusal.reason, [], None
    out = source.function_of(function, code or plain, [s.entry for s in known.sites])
    out.__braze_jit__ = known
    return out


class prange:
    """`range`, for loops whose turns do not depend on each other."""

    __braze_range__ = True

    def __new__(cls, *bounds):
        return range(*bounds)


def kernel(function):
    """A work unit: what is done for one index of a range, for `parallel_for` and its kin; a decorator.

        @braze.kernel
        def axpy(i, y, x, a):
            y[i] += a * x[i]

        braze.parallel_for(len(x), axpy, y=y, x=x, a=2.0)
    """
    from braze._jit.units import Unit

    return Unit(function)


def vectorize(function):
    """A function of numbers as one of arrays, element by element; a decorator.

    Arguments are broadcast as NumPy's functions broadcast them; the result has the type that the
    function gives for theirs.  Where no kernel can be made, it is `numpy.vectorize`.
    """
    from braze._jit.elements import Elements

    return Elements(function)
