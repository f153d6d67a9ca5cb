# SPDX-License-Identifier: Apache-2.0
"""A captured loop at run time: a kernel for each combination of types that it is called with.

In:  the values of what the loop reads.  Out: the values of what it leaves; None, if the loop has to run
as Python's for these.
"""

import ast
import builtins
import os
import re
import sys
import types
from typing import NamedTuple

import numpy as np

from braze import _core
from braze._jit import rows
from braze._jit.kinds import Array, Kind, Refusal, of_value
from braze._jit.translate import Program, array_kind

MOST = 64  # kernels of one loop; beyond, it is a loop whose types never settle


class _Method(NamedTuple):
    """A method of C, whatever it is bound to: that is another object at each call, which nobody here is to keep."""

    of: type
    name: str


class _Special:
    """One kernel, and how its arguments come about."""

    __slots__ = ("kernel", "made", "getters", "extra", "refusal", "convert")

    def __init__(self):
        self.kernel = self.made = self.refusal = None
        self.getters, self.extra, self.convert = (), (), ()


_TOO_MANY = _Special()
_TOO_MANY.refusal = Refusal("it is called with ever new types")


class Site:
    """A loop of a function, or what stands there in a row (rows.py).  `reads` are the names that it is called with, in this order; `leaves`
    those that it gives back."""

    def __init__(self, function, plain, reads, entering, leaving, given, locals_, pragmas):
        self.function = function
        self.plain = plain
        self.loop = plain.loop
        self.reads = reads
        self.entering = entering
        self.leaves = sorted(leaving)
        self.given = sorted(given)
        self.locals = locals_
        self.pragmas = pragmas
        self.specials = {}
        self.count = 0
        self.slow_calls = 0
        self.is_row = isinstance(self.loop, rows.Row)
        self.joins = self.is_row or rows.calls_units(self.loop)
        # What the function calls; what joins calls is nothing where calls are to stay apart.
        self.entry = _core.Site(self.call, self.raise_placed, self.joins)

    @property
    def calls(self):
        return self.slow_calls + self.entry.calls

    def is_part_of(self, other):
        """Is its loop one in the other's, which ran as a kernel?"""
        return other is not self and other.calls and \
            other.loop.lineno <= self.loop.lineno <= other.loop.end_lineno

    def call(self, *values):
        """What the entry does not know, or leaves to Python."""
        special = self.special(values)
        if special.refusal is not None:
            return None
        self.slow_calls += 1
        return self.run(special, values)

    # ---- Which kernel ----

    def special(self, values):
        key = tuple(map(_class_of, values))
        for s in self.specials.get(key, ()):
            if all(self.class_at(path, values) == want for path, want in s.extra):
                return s
        if self.count >= MOST:
            return _TOO_MANY  # not kept: a program may come with a new function at each call
        s = self.make(values)
        self.specials.setdefault(key, []).append(s)
        self.count += 1
        self.enter(s, key, values)
        return s

    def enter(self, special, key, values):
        """From now on such calls are done in C: the kernel's arguments are the loop's, or parts of them; or
        there is no kernel."""
        wants = tuple(map(_want, key, values))
        places = {(name,): k for k, name in enumerate(self.reads)}
        asides = []
        for path, known in special.extra:
            root = self.reads.index(path[0]) if path[0] in self.reads else _globals_of(path)
            if root is None:
                return
            places[path] = len(wants) + len(asides)
            asides.append((_want(known, self.value(path, values)), root, path[1:]))
        if special.refusal is not None:
            self.entry.add(None, special, wants, tuple(asides), (), (), 0, 0, -1, False)
            return
        if any(path not in places for path, *_ in special.getters):
            return
        feeds = tuple(_feed(places[path], kind, written, within)
                      for path, kind, written, within in special.getters)
        made = special.made
        returns = -1 if made.returns is None else made.returns[0][0]
        nresults = len(special.convert) + len(made.given) + (returns >= 0)
        self.entry.add(special.kernel, special, wants, tuple(asides), feeds, special.convert, nresults,
                       len(made.results), returns, made.returns is not None and made.returns[0][1])

    def value(self, path, values):
        if not isinstance(path[0], str):
            return read_global(path)
        at = values[self.reads.index(path[0])] if path[0] in self.reads \
            else _global(self.function, path[0])
        for part in path[1:]:
            at = _part(at, part)
        return at

    def class_at(self, path, values):
        """None where there is nothing any more."""
        try:
            return _class_of(self.value(path, values))
        except (AttributeError, LookupError, NameError):
            return None

    def make(self, values):
        from braze._kernel import kernel_from_text

        s = _Special()
        asked = {}

        def lookup(path):
            asked[path] = value = self.value(path, values)
            return value
        try:
            s.made = Program(self.loop, lookup).make(
                self.function.__name__, self.locals, self.entering, set(self.leaves),
                set(self.given))
            if [v for v, _ in s.made.results] != self.leaves:
                raise Refusal("a name for an array is used behind the loop")
            s.kernel = kernel_from_text(s.made.text)._kernel
            self.check_row(s.kernel)
        except Refusal as refusal:
            s.refusal = refusal.with_traceback(None)  # which has the arguments
        except (ValueError, TypeError, OverflowError, NotImplementedError, OSError) as error:
            s.refusal = Refusal(_in_lines(str(error), s.made.lines if s.made else []))
        s.extra = tuple((path, _class_of(value)) for path, value in asked.items()
                        if not (len(path) == 1 or self._is_fixed(path, value, values)))
        if s.refusal is None:
            s.getters = tuple((p.path, p.kind, p.written, p.within) for p in s.made.parameters)
            returned = s.made.returns[1] if s.made.returns else ()
            s.convert = tuple(kind.weak for kind in [k for _, k in s.made.results] + list(returned))
        return s

    def _is_fixed(self, path, value, values):
        """Is it the same at each call: a name in NumPy or the like, a builtin of Python's?"""
        if not isinstance(path[0], str):
            return path[1] not in path[0].__globals__ and path[1] not in path[0].__code__.co_freevars \
                and getattr(builtins, str(path[1]), path) is value
        return len(path) == 2 and _has_fixed_names(self.value(path[:1], values))

    def check_row(self, kernel):
        """Loops by themselves are called as quickly; units are not."""
        if self.is_row and not rows.calls_units(self.loop) and not _core.kernel_rows(kernel):
            raise Refusal("no two of them become one")

    # ---- A run ----

    def run(self, special, values):
        plain = []
        for path, kind, written, within in special.getters:
            value = self.value(path, values)
            if isinstance(kind, Array):
                if written and not value.flags.writeable:
                    return None
            else:
                try:
                    if within is not None:
                        within.type(value)
                    value = kind.dtype.type(value).tobytes()
                except OverflowError:
                    return None
            plain.append(value)
        try:
            out = _core.kernel_call(special.kernel, tuple(plain))
        except (IndexError, ValueError) as error:
            self.raise_placed(error, special)
            raise
        return self.results(special, out)

    def results(self, special, out):
        made = special.made
        numbers = [v.item() if weak else v for v, weak in zip(out, special.convert)]
        nleft = len(made.results)
        rest = list(map(bool, out[len(numbers):]))
        back = numbers[:nleft] + rest[:len(made.given)]
        if made.returns is not None:
            _, alone = made.returns[0]
            given = numbers[nleft:]
            back += [rest[-1], given[0] if alone else tuple(given) if given else None]
        return back

    @property
    def may_return(self):
        return any(isinstance(n, ast.Return) for n in ast.walk(self.loop))

    def raise_placed(self, error, special):
        """Raises an error that has a kernel's line with Python's in its place."""
        found = re.match(r"kernel '.*?', line (\d+): ", str(error))
        if found:
            file = os.path.basename(self.function.__code__.co_filename)
            words = special.made.in_program(str(error)[found.end():])
            text = f"{file}:{special.made.lines[int(found[1]) - 1]}: {words}"
            raise type(error)(text) from None


def _globals_of(path):
    """Where a function's free name is looked up; None: in no dictionary."""
    function = path[0]
    if not isinstance(function, types.FunctionType) or path[1] in function.__code__.co_freevars:
        return None
    return function.__globals__


def _want(known, value):
    """As the entry in C has it."""
    if isinstance(known, Array):
        return "array", known.dtype, known.ndim
    if isinstance(known, Kind):
        return ("weak", type(known.dtype.type(0).item())) if known.weak else ("number", known.dtype)
    if type(known) is tuple:
        return "sized", *known
    if type(known) is _Method:
        return "method", value
    return ("object", known) if known is value else ("type", known)


def _feed(number, kind, written, within):
    least, most = -2**63, 2**63 - 1
    if within is not None:
        info = np.iinfo(within)
        least, most = max(least, int(info.min)), int(info.max)
    return number, kind.dtype, written, least, most


def _in_lines(text, lines):
    found = re.match(r"line (\d+), column \d+: (.*)", text, re.S)
    if not found or int(found[1]) > len(lines):
        return text
    return f"line {lines[int(found[1]) - 1]}: {found[2]}"


def _has_fixed_names(value):
    """A module whose names do not change."""
    import math

    return value in (math, np, sys.modules.get("braze.numpy"), sys.modules.get("braze")) if isinstance(value, types.ModuleType) else False


def _class_of(value):
    """What a kernel depends on: types of numbers and arrays, functions and modules themselves."""
    kind = of_value(value)
    if kind is not None:
        return kind
    kind = array_kind(value)
    if kind is not None:
        return kind
    if isinstance(value, types.BuiltinFunctionType) and not isinstance(value.__self__, (types.NoneType, types.ModuleType, type)):
        return _Method(type(value.__self__), value.__name__)
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type,
                          np.ufunc)) or type(value) is str:
        return value
    if hasattr(type(value), "__braze_jit__"):
        return value  # a work unit, a function of elements: each is one of its own
    if type(value) in (tuple, list):
        return type(value), len(value)
    return type(value)


def read_global(path):
    """(function, name, ...): what the function sees under the name now, or an attribute of it."""
    function, *names = path
    if not names:
        return function
    at = _global(function, names[0])
    for name in names[1:]:
        at = _part(at, name)
    return at


def _part(of, part):
    return of[part] if isinstance(part, int) else getattr(of, part)


def _builtin(name):
    try:
        return getattr(builtins, name)
    except AttributeError:
        raise NameError(f"name '{name}' is not defined") from None


def _global(function, name):
    """What a function sees under a name that is not its own."""
    free = function.__code__.co_freevars
    if name in free:
        return function.__closure__[free.index(name)].cell_contents
    if name in function.__globals__:
        return function.__globals__[name]
    return _builtin(name)
