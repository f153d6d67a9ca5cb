# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin: one line of JSON for each test, a time limit, and where to go on.

SUITE_RESULTS names the file.  Before a test {"begun": id} is written, after it
{"id", "outcome", "seconds", "message"}; tests that have a line are not run again, so
that a run which was ended, or a test that took the process with it, costs nothing.
"""

import json
import os
import signal
import time

import pytest

LIMIT_SECONDS = float(os.environ.get("SUITE_LIMIT", "240"))
SORTS = os.environ.get("SUITE_SORTS", "")  # "only", "without", "": both
MESSAGE_LIMIT = 500


class TimeLimit(BaseException):
    """The test took longer than it may; no `except Exception` stops it."""


def is_generated_sort(nodeid):
    """One of the thousands that TestMethods makes of each kind of sort and type?"""
    path, _, test = nodeid.partition("::")
    name = test.partition("[")[0].rpartition("::")[2]
    return path.endswith("test_multiarray.py") and "[" in test and any(
        word in name for word in ("sort", "partition"))


def read_lines(path):
    """Records of a results file; a torn last line is left out."""
    try:
        with open(path, encoding="utf-8") as f:
            text = f.read()
    except FileNotFoundError:
        return []
    whole = text[: text.rfind("\n") + 1]
    return [json.loads(line) for line in whole.splitlines()]


def _on_alarm(signum, frame):
    raise TimeLimit(f"took more than {LIMIT_SECONDS:g} s")


class Recorder:
    """Writes the lines of one process."""

    def __init__(self, path):
        self.done = {r["id"] for r in read_lines(path) if "id" in r}
        self.file = open(path, "a", encoding="utf-8")  # noqa: SIM115 closed by the process's end
        self.reports = []

    def write(self, **record):
        self.file.write(json.dumps(record) + "\n")
        self.file.flush()

    def finish(self, item, seconds):
        outcome, message = "passed", ""
        for report in self.reports:
            if report.failed:
                outcome, message = "failed", _message(report)
                break
            if hasattr(report, "wasxfail"):
                outcome = "xfailed" if report.skipped else "xpassed"
            elif report.skipped:
                outcome, message = "skipped", str(report.longrepr[2])
        self.write(id=item.nodeid, outcome=outcome, seconds=round(seconds, 3),
                   message=message[:MESSAGE_LIMIT])


def _message(report):
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is None:
        return report.when + ": " + str(report.longrepr)[-MESSAGE_LIMIT:]
    where = f"{os.path.basename(crash.path)}:{crash.lineno}"
    entries = getattr(getattr(report.longrepr, "reprtraceback", None), "reprentries", [])
    line = entries[0].reprfileloc.lineno if entries and getattr(
        entries[0], "reprfileloc", None) else 0
    return f"(line {line}, at {where}) " + " ".join(crash.message.split())


def pytest_configure(config):
    for mark in ("slow", "parametrize_ids", "thread_unsafe"):
        config.addinivalue_line("markers", mark)
    config.suite = Recorder(os.environ["SUITE_RESULTS"])
    signal.signal(signal.SIGALRM, _on_alarm)


def pytest_make_parametrize_id(config, val, argname):
    """A braze scalar names a test as the NumPy scalar in its place does."""
    kind = type(val)
    if (kind.__module__, kind.__name__) != ("braze.numpy", "ndarray") or not val._is_scalar:
        return None
    value = val.__array__()[()]
    return str(value) if isinstance(value, (int, float, complex)) else None


def pytest_collection_modifyitems(config, items):
    suite, kept = config.suite, []
    for item in items:
        if SORTS and is_generated_sort(item.nodeid) != (SORTS == "only"):
            continue
        if item.nodeid in suite.done:
            continue
        if item.get_closest_marker("slow"):
            suite.write(id=item.nodeid, outcome="left out", seconds=0, message="marked slow")
            continue
        kept.append(item)
    items[:] = kept


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    suite = item.config.suite
    suite.write(begun=item.nodeid)
    suite.reports = []
    start = time.monotonic()
    try:
        return (yield)
    finally:
        suite.finish(item, time.monotonic() - start)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item):
    signal.setitimer(signal.ITIMER_REAL, LIMIT_SECONDS)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    item.config.suite.reports.append(report)
    return report
