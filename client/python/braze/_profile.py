# SPDX-License-Identifier: Apache-2.0
"""with braze.profile() as p: what a block's time goes to, by the program's lines.

The extension adds up pieces of time for each line (profile.c); here they become tables, and
advice where one kind of them is much of the whole.
"""

import collections
import functools
import html
import linecache
import os
import time

from braze import _core

_SECONDS = ("own", "near", "numpy", "waiting", "planning", "running", "queued", "compiling",
            "memory", "copying")
_COUNTS = ("near_ops", "far_ops", "round_trips", "bytes_copied")


class Line(collections.namedtuple("Line", ("file", "line", *_SECONDS, *_COUNTS))):
    """One line's seconds and counts."""

    __slots__ = ()

    @property
    def recording(self):
        """Python's and recording's time, without what was computed in the calls."""
        return self.own - self.near

    @property
    def total(self):
        return sum(getattr(self, name) for name in _SECONDS if name != "near")

    @property
    def place(self):
        return f"{os.path.basename(self.file)}:{self.line}" if self.file else "elsewhere"

    @property
    def source(self):
        return linecache.getline(self.file, self.line).strip() if self.file else ""


def _line(row):
    file, number, *values = row
    seconds = [v * 1e-9 for v in values[:len(_SECONDS)]]
    return Line(file, number, *seconds, *values[len(_SECONDS):])


# Of the tables: title, what is shown, its meaning.
COLUMNS = (
    ("total", lambda r: r.total, "all of the line's time"),
    ("record", lambda r: r.recording, "Python, and recording operations"),
    ("near", lambda r: r.near, "small operations computed in the call (predicted)"),
    ("run", lambda r: r.running, "devices at work on what the line recorded"),
    ("plan", lambda r: r.planning, "the daemon planning new expressions"),
    ("queue", lambda r: r.queued, "work waiting for a device"),
    ("wait", lambda r: r.waiting + r.memory, "the rest of the waits: the way there and back"),
    ("compile", lambda r: r.compiling, "waits for compiled code"),
    ("copy", lambda r: r.copying, "data copied into shared memory"),
    ("numpy", lambda r: r.numpy, "functions left to NumPy"),
)


def _seconds(v):
    if v <= 0:
        return ""
    for bound, factor, unit in ((1e-3, 1e6, "us"), (1.0, 1e3, "ms")):
        if v < bound:
            return f"{v * factor:.3g} {unit}"
    return f"{v:.3g} s"


def _bytes(n):
    for unit in ("B", "KiB", "MiB"):
        if n < 1024:
            return f"{n:.3g} {unit}"
        n /= 1024
    return f"{n:.3g} GiB"


def _advise_line(row, whole):
    """What would help this line, if one kind of its time is a fifth of the whole."""
    big = whole / 5
    away = row.waiting + row.planning + row.queued
    if row.round_trips >= 50 and away > big:
        yield (f"waits for the daemon {row.round_trips} times, {_seconds(away / row.round_trips)} each "
               "besides the work: read once behind the loop, or take numpy.asarray(a) before it and "
               "read that; @braze.jit computes loops over elements as a whole")
    elif row.planning > big:
        yield ("is planned anew again and again: shapes or expressions change in every turn; keep "
               "sizes the same, or write the loop as one function under @braze.jit")
    if row.numpy > big:
        yield "is NumPy's work: braze.fallbacks() names the functions that braze leaves to it"
    if row.copying > big:
        yield (f"copies {_bytes(row.bytes_copied)} into shared memory: convert once before the loop, or "
               "make the data in braze.empty() or under braze.shared_arrays()")
    if row.compiling > big:
        yield "waits for the compiler: only the first time, the code is kept on disk"
    operations = row.near_ops + row.far_ops
    if row.own > big and operations >= 1000 and row.own / operations < 20e-6:
        yield (f"makes {operations} operations on small arrays: whole arrays instead of elements, or "
               "@braze.jit for the function")
    if row.queued > big and row.round_trips < 50:
        yield ("waits for a device that starts, which is the first time only, or computes for others: "
               "brazectl top shows for whom")


class Profile:
    """What a block's time went to; text() and, in a notebook, the object itself show it.

    lines: rows of seconds and counts, the costliest first.  seconds: of the whole block.
    """

    def __init__(self):
        self.lines, self.seconds, self.fallbacks, self._open = [], 0.0, {}, False

    def __enter__(self):
        _core.profile_start()
        self._open = True
        self._swap(True)
        self._before = self._counts()
        self._began = time.perf_counter()
        return self

    def __exit__(self, *exc):
        self.seconds = time.perf_counter() - self._began
        self._swap(False)
        rows = [_line(row) for row in _core.profile_stop()]
        self._open = False
        now = self._counts()
        now.subtract(self._before)
        self.fallbacks = dict((+now).most_common())
        self.lines = sorted((r for r in rows if r.total > 0), key=lambda r: -r.total)

    @staticmethod
    def _counts():
        import braze

        return collections.Counter(braze.fallbacks())

    @staticmethod
    def _swap(on):
        """Calls that are left to NumPy are measured while a profile is open, and cost nothing
        else."""
        from braze.numpy import _fallback

        if not on:
            _fallback.run = _plain_run(_fallback)
            return
        plain = _plain_run(_fallback)
        measured = functools.partial(_core.profile_numpys, plain)
        measured.plain = plain
        _fallback.run = measured

    @property
    def round_trips(self):
        return sum(r.round_trips for r in self.lines)

    def advice(self):
        """What would help, a sentence for each finding."""
        whole = sum(r.total for r in self.lines)
        said = [f"{r.place} {text}" for r in self.lines[:10] for text in _advise_line(r, whole)]
        names = ", ".join(f"{n} ({k} times)" for n, k in list(self.fallbacks.items())[:5])
        if names and sum(r.numpy for r in self.lines) > whole / 5:
            said.append(f"left to NumPy: {names}")
        return said

    def _summary(self):
        measured = sum(r.total for r in self.lines)
        trips = f"{self.round_trips} round trip{'' if self.round_trips == 1 else 's'}"
        return (f"{_seconds(self.seconds) or '0 s'} in all, {_seconds(measured) or '0 s'} in lines that use "
                f"braze; {trips}")

    def _table(self, rows):
        """Titles and cells of the columns that have something to say, and of line and source."""
        shown = [c for c in COLUMNS if any(c[1](r) > 0 for r in self.lines)] or [COLUMNS[0]]
        head = [title for title, _, _ in shown] + ["trips"]
        body = [[_seconds(f(r)) for _, f, _ in shown] + [str(r.round_trips or "")] for r in rows]
        return shown, head, body

    def text(self, most=20):
        """The costliest lines as a table, and what would help."""
        if self._open:
            return "the profile is still open: its text is there once the with block has ended"
        rows = self.lines[:most]
        _, head, body = self._table(rows)
        head, places = [*head, "line"], [r.place for r in rows]
        body = [[*cells, place] for cells, place in zip(body, places, strict=True)]
        width = [max(len(r[k]) for r in [head, *body]) for k in range(len(head))]
        out = [self._summary(), ""]
        for cells, source in zip([head, *body], ["", *(r.source for r in rows)], strict=True):
            line = "  ".join(c.rjust(w) for c, w in zip(cells[:-1], width, strict=False))
            out.append(f"{line}  {cells[-1].ljust(width[-1])}  {source[:70]}".rstrip())
        if len(self.lines) > most:
            out.append(f"({len(self.lines) - most} more)")
        advice = self.advice()
        if advice:
            out += ["", "what would help", *(f"- {line}" for line in advice)]
        return "\n".join(out)

    __str__ = text

    def __repr__(self):
        return self.text()

    def _repr_html_(self):
        if self._open:
            return html.escape(self.text())
        rows = self.lines[:20]
        shown, head, body = self._table(rows)
        whole = max((r.total for r in rows), default=0) or 1
        titles = {title: meaning for title, _, meaning in shown}
        out = ["<div class='braze-profile'><p>", html.escape(self._summary()), "</p><table><thead><tr>"]
        out += [f"<th scope='col' title='{html.escape(titles.get(h, ''))}'>{h}</th>"
                for h in [*head, "line", ""]]
        out.append("</tr></thead><tbody>")
        for r, cells in zip(rows, body, strict=True):
            share = f"linear-gradient(90deg, #f5b04166 {100 * r.total / whole:.1f}%, transparent 0)"
            out += ["<tr>", *(f"<td style='text-align:right'>{c}</td>" for c in cells),
                    f"<td>{html.escape(r.place)}</td><td style='text-align:left;background:{share}'>"
                    f"<code>{html.escape(r.source[:100])}</code></td></tr>"]
        out.append("</tbody></table>")
        if self.advice():
            out += ["<p>What would help</p><ul>",
                    *(f"<li>{html.escape(line)}</li>" for line in self.advice()), "</ul>"]
        out.append("</div>")
        return "".join(out)


def _plain_run(module):
    return getattr(module.run, "plain", module.run)
