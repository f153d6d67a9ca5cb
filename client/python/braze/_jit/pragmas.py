# SPDX-License-Identifier: Apache-2.0
"""Pragmas: comments that say of the statement below how it may run.

    #pragma parallel for                 its turns may run in any order
    #pragma sequential for               they may not
    #pragma simd                         they may run side by side
    #pragma parallel for reduction(sum:y) le(64)
    #pragma :N=>parallel :M=>simd,le(256)    of a statement on slices, by their lengths
    #pragma atomic                       adds to a place, in any order

They promise.  What `reduction` names is added up by a tree over the turns, where the loop only adds to it.  A loop that is said to be parallel or simd is checked by each call, where nothing in it is
atomic: if its turns touch the same bytes, that is an error; where it cannot be told, they run in their order.
"""

import ast
import io
import re
import textwrap
import tokenize
from typing import NamedTuple


class Pragma(NamedTuple):
    """One clause: `parallel`, of the slices of length `of` if it is of slices; its arguments."""

    word: str
    of: str = ""
    given: tuple = ()


_REDUCTION = re.compile(r"reduction\(\s*(sum|max|min|prod|\+|\*)\s*:\s*(\w+(?:\s*,\s*\w+)*)\s*\)")
_AT_MOST = re.compile(r"le\(\s*(\d+)\s*\)")
_SLICES = re.compile(r"(\w*):(\w*)\s*=>\s*(.+)")


def parse(text, where):
    """The clauses of a pragma's text.  ValueError says what is wrong, and where."""
    out = []
    rest = text.strip()
    if not rest:
        raise ValueError(f"{where}: a pragma without a word")
    for part in _split(rest):
        out += _clause(part, where)
    return out


def _split(text):
    """At spaces, but not inside parentheses."""
    parts, depth, now = [], 0, ""
    for c in text + " ":
        depth += (c == "(") - (c == ")")
        if c.isspace() and not depth:
            if now:
                parts.append(now)
            now = ""
        else:
            now += c
    if now.strip():
        parts.append(now.strip())
    merged = []
    for p in parts:
        if p == "for" and merged and merged[-1] in ("parallel", "sequential"):
            merged[-1] += " for"
        elif merged and (p.startswith("=>") or merged[-1].endswith("=>")):
            merged[-1] += p
        else:
            merged.append(p)
    return merged


def _clause(part, where):
    if part in ("parallel for", "sequential for"):
        return [Pragma(part.split()[0])]
    if part in ("simd", "atomic", "parallel", "sequential"):
        return [Pragma(part)]
    found = _REDUCTION.fullmatch(part)
    if found:
        return [Pragma("reduction", "", (found[1], *re.split(r"\s*,\s*", found[2])))]
    found = _AT_MOST.fullmatch(part)
    if found:
        return [Pragma("le", "", (int(found[1]),))]
    found = _SLICES.fullmatch(part)
    if found:
        of = f"{found[1]}:{found[2]}"
        return [c._replace(of=of) for p in re.split(r",(?![^(]*\))", found[3])
                for c in _clause(p.strip(), where)]
    raise ValueError(f"{where}: '{part}' is no pragma: parallel for, sequential for, simd, atomic, "
                     f"reduction(sum:x), le(64), :N=>parallel")


def pragmas_of(function):
    """line of a statement -> its clauses.  ValueError for what is no pragma, or stands before nothing."""
    import inspect

    lines, first = inspect.getsourcelines(function)
    text = textwrap.dedent("".join(lines))
    file = function.__code__.co_filename
    said = {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        found = token.type == tokenize.COMMENT and re.match(r"#\s*pragma\b(.*)", token.string)
        if found:
            line = token.start[0] + first - 1
            said[line] = parse(found[1], f"{file}:{line}")
    if not said:
        return {}
    statements = {n.lineno + first - 1: n for n in ast.walk(ast.parse(text))
                  if isinstance(n, ast.stmt)}
    out = {}
    for line, clauses in sorted(said.items()):
        below = min((n for n in statements if n >= line), default=None)
        if below is None:
            raise ValueError(f"{file}:{line}: a pragma stands above the statement that it is about")
        _check(statements[below], clauses, f"{file}:{line}")
        out.setdefault(below, []).extend(clauses)
    return out


_SUMS = {"sum": "+", "prod": "*"}  # as the language has them


def _sums(clauses):
    return [(_SUMS.get(c.given[0], c.given[0]), name) for c in clauses
            if c.word == "reduction" and not c.of for name in c.given[1:]]


def mark(tree, said):
    """Loops of the tree know what is said of them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.For):
            inside = {n.lineno for n in ast.walk(node) if isinstance(n, ast.stmt)}
            atomic = any(c.word == "atomic" for line in inside for c in said.get(line, ()))
            words = [] if atomic else [c.word for c in said.get(node.lineno, ()) if not c.of]
            node.braze_sums = getattr(node, "braze_sums", []) + _sums(said.get(node.lineno, ()))
            node.braze_claim = next((w for w in ("parallel", "simd", "sequential") if w in words), "")


def claim_of(node):
    """The word before a loop of the language."""
    word = getattr(node, "braze_claim", "")
    return f"{word} " if word else ""


def sums_of(node, name_of):
    """What stands behind its bounds; name_of: a variable's name in the kernel, or None."""
    out = ""
    for op, name in getattr(node, "braze_sums", ()):
        if name_of(name):
            out += f" reduction({op}: {name_of(name)})"
    return out


def _check(statement, clauses, where):
    is_loop = isinstance(statement, (ast.For, ast.While))
    for c in clauses:
        if c.word in ("parallel", "sequential", "reduction") and not c.of and not is_loop:
            raise ValueError(f"{where}: '{c.word}' is about a loop, and none is below")
        if c.word == "atomic" and not isinstance(statement, (ast.AugAssign, ast.Assign)):
            raise ValueError(f"{where}: 'atomic' is about an assignment, and none is below")
        if c.word == "reduction":
            _check_names(statement, c.given[1:], where)
    if {"parallel", "sequential"} <= {c.word for c in clauses if not c.of}:
        raise ValueError(f"{where}: a loop is parallel or sequential")


def _check_names(statement, wanted, where):
    names = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}
    for name in wanted:
        if name not in names:
            raise ValueError(f"{where}: the loop below has no '{name}'")
