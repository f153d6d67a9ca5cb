# SPDX-License-Identifier: Apache-2.0
"""NumPy's installed test files with their imports led through shim.py.

In:  the text of a test file of the installed numpy package.
Out: the same text, line for line, but for two things.
  - `import numpy as np`, `from numpy.testing import assert_equal` and their kind, on
    any level, take what they name from shim.module() and shim.name(); relative
    imports and those of NumPy's test helpers stay NumPy's.
  - A class that derives from ndarray derives from numpy.ndarray: braze's cannot be
    derived from, and its users write the same.
"""

import ast

_SHIM = '__import__("shim")'


def _is_numpy(name):
    return name is not None and name.split(".")[0] == "numpy"


def _plain_import(node):
    """The statements that stand for `import a.b as c, d`."""
    parts = []
    for alias in node.names:
        if not _is_numpy(alias.name):
            parts.append(f"import {alias.name}" + (f" as {alias.asname}" if alias.asname else ""))
            continue
        whole = alias.name if alias.asname else alias.name.split(".")[0]
        parts.append(f"{alias.asname or whole} = {_SHIM}.module({whole!r})")
    return "; ".join(parts)


def _from_import(node):
    """The statements that stand for `from numpy.a import b as c`."""
    return "; ".join(
        f"{alias.asname or alias.name} = {_SHIM}.name({node.module!r}, {alias.name!r})"
        for alias in node.names
    )


def _is_ndarray(base):
    return (isinstance(base, ast.Name) and base.id == "ndarray") or (
        isinstance(base, ast.Attribute)
        and base.attr == "ndarray"
        and isinstance(base.value, ast.Name)
        and base.value.id in ("np", "numpy")
    )


def _changes(tree):
    """(node, text that takes its place) of everything that changes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(_is_numpy(a.name) for a in node.names):
            yield node, _plain_import(node)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and _is_numpy(node.module):
            yield node, _from_import(node)
        elif isinstance(node, ast.ClassDef):
            for base in filter(_is_ndarray, node.bases):
                yield base, '__import__("numpy").ndarray'


def rewritten(text):
    """The file's text for a run; lines keep their numbers."""
    lines = [line.encode() for line in text.splitlines(keepends=True)]  # offsets are in bytes
    changes = sorted(_changes(ast.parse(text)), key=lambda c: (c[0].lineno, c[0].col_offset))
    for node, new in reversed(changes):
        first, last = node.lineno - 1, node.end_lineno - 1
        tail = lines[last][node.end_col_offset :]
        lines[first : last + 1] = [
            lines[first][: node.col_offset] + new.encode() + tail,
            *[b"\n"] * (last - first),
        ]
    return b"".join(lines).decode()
