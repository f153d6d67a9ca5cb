# SPDX-License-Identifier: Apache-2.0
"""What the results of both sides say, held against the demands and the lists.

deviations.txt has the ids of tests that fail because of what braze promises to do
otherwise; failures.txt has each other failure with its reason.  In both a line is
`id<TAB>reason`; an id without its [parameters] stands for all of the test's, and each
that fails counts.  The rate of all counts promised deviations as failures; a file's
rate, where a single test may be a fifth, leaves them out.
"""

import collections
import pathlib

from recorder import is_generated_sort

HERE = pathlib.Path(__file__).resolve().parent
OF_ALL, OF_FILE, DEVIATIONS = 0.97, 0.85, 250


def read_list(name):
    """id -> reason."""
    found = {}
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            test, _, reason = line.partition("\t")
            if test in found or not reason:
                raise ValueError(f"{name}: {line!r} is there twice or has no reason")
            found[test] = reason
    return found


def listed(test, entries):
    """The entry that a test's id stands under, or None."""
    return next((k for k in (test, test.partition("[")[0]) if k in entries), None)


class Row:
    """Counts of one file."""

    def __init__(self):
        self.counted = self.passed = self.promised = self.left_out = 0

    @property
    def rate(self):
        return self.passed / self.counted if self.counted else 1.0

    @property
    def kept(self):
        """The rate of what is not a promised deviation: what a file is judged by."""
        asked = self.counted - self.promised
        return self.passed / asked if asked else 1.0


def count(theirs, mine, deviations):
    """Rows by file, ids that fail, ids of sorts that fail."""
    rows, failed = collections.defaultdict(Row), []
    for test, record in theirs.items():
        row = rows[_part(test)]
        if record["outcome"] == "left out" or record["message"].startswith("left out"):
            row.left_out += 1
        if record["outcome"] != "passed":
            continue
        row.counted += 1
        if mine.get(test, {}).get("outcome") == "passed":
            row.passed += 1
            continue
        failed.append(test)
        row.promised += listed(test, deviations) is not None
    return rows, failed


def _part(test):
    path = test.partition("::")[0]
    return path + " (generated sorts)" if is_generated_sort(test) else path


def _section(title, about, entries):
    by_reason = collections.defaultdict(list)
    for test, reason in entries.items():
        by_reason[reason].append(test)
    lines = [f"### {title}", "", about, ""]
    for reason, tests in sorted(by_reason.items()):
        lines += [f"{reason}:", "", *(f"- `{test}`" for test in sorted(tests)), ""]
    return lines


def document():
    """The two lists as the section of docs/compatibility.md between its marks."""
    deviations, reasons = read_list("deviations.txt"), read_list("failures.txt")
    return "\n".join(
        _section("Promised deviations", "Tests that ask for what braze promises to do "
                 "otherwise. A test without its `[parameters]` stands for all of them.",
                 deviations)
        + _section("Other failures", "None is a wrong value.", reasons))


MARKS = ("<!-- made by tests/numpy_suites/run.py --doc -->\n", "<!-- end -->\n")


def put_into(text):
    """The document with its section made anew."""
    before, _, rest = text.partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    return before + MARKS[0] + document() + MARKS[1] + after


def _table(rows):
    lines = [f"{'file':48} {'counted':>8} {'passed':>7} {'rate':>7} {'promised':>9} {'left out':>9}"]
    for name, row in sorted(rows.items()):
        lines.append(f"{name:48} {row.counted:8} {row.passed:7} {row.rate:7.2%} "
                     f"{row.promised:9} {row.left_out:9}")
    return lines


def _total(rows):
    """(passed, counted) of all but the generated sorts."""
    own = [row for name, row in rows.items() if not name.endswith("(generated sorts)")]
    return sum(r.passed for r in own), sum(r.counted for r in own)


def _below(rows, rate, promised):
    """The demands on numbers that are missed."""
    if rate < OF_ALL:
        yield f"{rate:.2%} of all pass: {OF_ALL:.0%} are demanded"
    for name, row in sorted(rows.items()):
        if row.kept < OF_FILE:
            yield f"{name}: {row.kept:.2%} pass, {OF_FILE:.0%} are demanded"
    if promised > DEVIATIONS:
        yield f"{promised} promised deviations: at most {DEVIATIONS} are allowed"


def judge(theirs, mine, whole=True):
    """(report, are all demands met)"""
    deviations, reasons = read_list("deviations.txt"), read_list("failures.txt")
    rows, failed = count(theirs, mine, deviations)
    passed, counted = _total(rows)
    promised = sum(r.promised for r in rows.values())
    rate = passed / counted if counted else 0.0
    lines = [*_table(rows), f"without the generated sorts: {passed} of {counted} pass, {rate:.2%}; "
             f"{promised} failures are promised deviations"]
    missed = list(_below(rows, rate, promised))
    missed += [f"fails without a reason: {test}\n    {mine.get(test, {}).get('message', '')}"
               for test in failed if not listed(test, deviations) and not listed(test, reasons)]
    if whole:
        missed += _stale(failed, deviations, reasons)
    return "\n".join(lines + missed) + "\n", not missed


def _stale(failed, deviations, reasons):
    """Entries of the lists that no failure needs any more, or that both lists have."""
    used = {listed(t, deviations) for t in failed} | {listed(t, reasons) for t in failed}
    return [f"the lists have it, but it passes: {entry}"
            for entry in [*deviations, *reasons] if entry not in used]
