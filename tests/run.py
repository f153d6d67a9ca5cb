# SPDX-License-Identifier: Apache-2.0
"""tests/run.py - run every test of the tree and count them.

In:  a build in build/ (and, with sanitizers, builds made here in build/asan, ...).
Out: failures in full; a line per part; at the end what failed, by its part; last
     line "N passed, N failed"; exit 1 when anything failed or nothing ran.
     The counts of each part in build/reports/test.json, or test-long.json: a long run
     that was interrupted goes on behind the last part that ended, on the same sources.

CTest programs written with Criterion are counted test by test, from the summary
they print; any other CTest program counts as one; pytest from its JUnit file.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import harness

ROOT = harness.ROOT
BUILD = ROOT / "build"
SYNTHESIS = re.compile(r"Tested:\s*(\d+)\s*\|\s*Passing:\s*(\d+)\s*\|\s*Failing:\s*(\d+)"
                       r"\s*\|\s*Crashing:\s*(\d+)")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Count:
    """Numbers of tests; of the failed ones also the names, where they are known."""

    def __init__(self, passed=0, failed=0, skipped=0, what=None):
        self.passed, self.failed, self.skipped = passed, failed, skipped
        self.names = [what] if what and failed else []

    def add(self, other, part=None):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        if part and other.failed:
            self.names.append(f"{part}: {other.failed} failed")
            self.names += [f"    {name}" for name in other.names]
        elif not part:
            self.names += other.names

    def __str__(self):
        text = f"{self.passed} passed, {self.failed} failed"
        return text + (f", {self.skipped} skipped" if self.skipped else "")


def say(text):
    print(text, flush=True)


def run(command, **kw):
    return subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL, cwd=ROOT, **kw)


def environment():
    """Tests find this tree's daemon, and never the user's own."""
    env = dict(os.environ)
    env.pop("BRAZE_SOCKET", None)
    env["PATH"] = f"{BUILD / 'bin'}{os.pathsep}{env.get('PATH', '')}"
    harness.keep_bytecode(env)
    # Where `make setup` puts NVRTC on a machine without a CUDA toolkit.
    env.setdefault("BRAZE_CUDA_PATHS", sysconfig.get_path("purelib"))
    env = harness.kept_environment() | env
    # A sanitizer's finding ends the process with a status no test expects.
    env.setdefault("ASAN_OPTIONS", "detect_leaks=1:abort_on_error=0:exitcode=99")
    env.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    env.setdefault("TSAN_OPTIONS", "exitcode=99")
    return env


def criterion_count(text, ok, what=None):
    """Tests of one program's output; None when it is not Criterion's."""
    found = SYNTHESIS.findall(COLOUR.sub("", text))
    if not found:
        return None
    tested, passing, failing, crashing = map(int, found[-1])
    failed = max(failing, crashing)  # a crash counts in both
    if not ok and failed == 0:
        failed = 1  # it failed outside its tests: a sanitizer, a crash at exit
    if tested == 0:
        failed = max(failed, 1)  # a test program without a test tests nothing
    return Count(passing, failed, what=what)


def ctest(folder, title, arguments, env):
    if not (folder / "CTestTestfile.cmake").exists():
        return Count()
    listed = run(["ctest", "--test-dir", folder, "--show-only=json-v1", *arguments],
                 capture_output=True, text=True, env=env)
    if listed.returncode != 0:
        sys.stderr.write(listed.stderr)
        return Count(failed=1, what="ctest cannot list the tests")
    if not json.loads(listed.stdout).get("tests"):
        return Count()
    junit = folder / "ctest.xml"
    junit.unlink(missing_ok=True)
    start = time.monotonic()
    # Only a failing program's output is of interest to people.
    run(["ctest", "--test-dir", folder, "--output-junit", junit, "--output-on-failure",
         "--no-tests=ignore", "--test-output-size-passed", "1000000",
         "--test-output-size-failed", "1000000", "--progress", *arguments], env=env)
    total = Count()
    if not junit.exists():
        return Count(failed=1, what="ctest wrote no results")
    for case in ElementTree.parse(junit).getroot().iter("testcase"):
        status = case.get("status")
        text = case.findtext("system-out") or ""
        if status in ("disabled", "notrun") and case.find("skipped") is not None \
                and "not found" not in (case.find("skipped").get("message") or ""):
            total.add(Count(skipped=1))
            continue
        ok = status == "run"
        name = case.get("name")
        total.add(criterion_count(text, ok, name)
                  or (Count(1) if ok else Count(failed=1, what=name)))
    say(f"-- {title}: {total} in {time.monotonic() - start:.0f} s")
    return total


def pytest_names(suite):
    """The tests that failed, as pytest is given them."""
    for case in suite.iter("testcase"):
        for kind in ("failure", "error"):
            for _ in case.iter(kind):
                file = (case.get("classname") or "").replace(".", "/")
                yield f"{file}.py::{case.get('name')}" + (" (teardown or setup)"
                                                          if kind == "error" else "")


SUITES = ROOT / "tests/python", ROOT / "tests/e2e"
DEVICE_SAMPLE = 60  # of so many Python tests one runs on the stand-in as well
LONG_SAMPLE = 6  # and of so many in a long run
NEAR_SUITES = ("differential", "random", "views", "semantics", "in_place", "sharing", "scalars",
               "special_values", "gather", "readonly", "interop", "layout", "orders", "numpys", "scatter")
REPORTS = BUILD / "reports"
CAMPAIGN_MINUTES = 3
PIECES, PIECES_NEAR = 8, 4


def pytest_count(junit):
    """Of a report that pytest wrote; none where there is no report."""
    total = Count()
    if junit.exists():
        for suite in ElementTree.parse(junit).getroot().iter("testsuite"):
            failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
            skipped = int(suite.get("skipped", 0))
            total.add(Count(int(suite.get("tests", 0)) - failed - skipped, failed, skipped))
            total.names += pytest_names(suite)
    return total


def pytest(env, long, title="python", folders=SUITES, to=None):
    """Run folders' tests; what pytest prints goes to the open file `to`, if there is one."""
    junit = BUILD / f"pytest-{re.sub('[^a-z0-9]+', '-', title)}.xml"
    junit.unlink(missing_ok=True)
    selection = [] if long else ["-m", "not long"]
    start = time.monotonic()
    done = run([sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider",
                f"--junitxml={junit}", *selection, *folders], env=env, stdout=to, stderr=to)
    total = pytest_count(junit)
    if done.returncode not in (0, 5) and total.failed == 0:
        total.add(Count(failed=1, what=f"pytest ended with status {done.returncode}"))
    print(f"-- {title}: {total} in {time.monotonic() - start:.0f} s", file=to, flush=True)
    return total


class Piece(NamedTuple):
    """Some tests of a part, with a daemon of their own: what pytest() takes."""

    title: str
    files: list
    more: dict = {}  # noqa: RUF012 - read only; of the environment


def in_pieces(title, files, n, more):
    """Files dealt out like cards: neighbours are alike, and so are then the pieces."""
    files = sorted(files)
    return [Piece(f"{title} {i + 1}/{n}", files[i::n], more) for i in range(min(n, len(files)))]


def on_standin(long):
    """The Python suite on cuda:0 of the stand-in driver: a sample, or all of it."""
    missing = ("the stand-in was not built" if not harness.find_standin() else
               "NVRTC was not found" if not harness.find_nvrtc() else "")
    if missing:
        say(f"-- python on cuda:0: skipped, {missing} (deploy/setup.sh gets what is missing)")
        return []
    return [Piece("python on cuda:0 of the stand-in", SUITES[:1], {
        "BRAZE_TEST_DEVICE": "cuda:0",
        "BRAZE_TEST_SAMPLE": str(LONG_SAMPLE if long else DEVICE_SAMPLE)})]


def pieces_of_python(long):
    """Of each part that is tests in Python; the parts that are one piece come first, or one of
    them would be under way alone at the end."""
    compared = [SUITES[0] / f"test_{name}.py" for name in NEAR_SUITES]
    return {
        # Daemons of their own, their deaths, and what programs cost.
        "end to end": [Piece("end to end", SUITES[1:])],
        "python on cuda:0": on_standin(long),
        "python": in_pieces("python", SUITES[0].glob("test_*.py"), PIECES, {}),
        # What compares braze with NumPy, once more with small operations computed in their call.
        "python, near": in_pieces("python, near", compared, PIECES_NEAR, {"BRAZE_NEAR": "1"}),
    }


def aside(piece, env, long):
    """A piece's count; what it printed is told where it failed, else its last line."""
    with tempfile.TemporaryFile("w+") as to:
        count = pytest(env | piece.more, long and "BRAZE_TEST_DEVICE" not in piece.more,
                       piece.title, piece.files, to)
        to.seek(0)
        text = to.read().rstrip()
        say(text if count.failed else text.rpartition("\n")[2])
        return count


def in_python(env, long, jobs):
    """The parts that are tests in Python. A client waits for its daemon, so that a processor for
    each piece is enough, and as many run at a time as there are jobs; of all parts together,
    but in a long run, which goes on part by part."""
    pieces, pool, running = pieces_of_python(long), ThreadPoolExecutor(jobs), {}

    def begin(names):
        for name in names:
            running[name] = [pool.submit(aside, piece, env, long) for piece in pieces[name]]

    def gather(name):
        if name not in running:
            begin([name] if long else pieces)
        total = Count(skipped=0 if pieces[name] else 1)
        for piece in running[name]:
            total.add(piece.result())
        say(f"-- {name}: {total}")
        return total

    for name in pieces:
        yield name, lambda name=name: gather(name)


def built(preset, jobs):
    """Build another preset; False when it does not build."""
    return run([ROOT / "deploy/build.sh", preset, str(jobs)]).returncode == 0


def sanitized(preset, jobs, env):
    start = time.monotonic()
    if not built(preset, jobs):
        return Count(failed=1, what="it does not build")
    say(f"-- {preset} built in {time.monotonic() - start:.0f} s")
    # Sanitized code is slow: what is labelled slow or long runs without.
    return ctest(BUILD / preset, preset, ["-LE", "long|slow|python|bench", "-E", "^python$",
                                    "-j", str(jobs)], env)


def sanitized_daemon(preset, env):
    """The Python tests against a sanitized daemon; what it reports fails too.

    This is the only thread sanitizer run: Criterion does not start under it."""
    daemon = BUILD / preset / "bin/brazed"
    if not daemon.exists():
        return Count()
    reports = BUILD / preset / "reports"
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir(parents=True)
    own = dict(env, BRAZE_DAEMON=str(daemon), BRAZED=str(daemon),
               PATH=f"{daemon.parent}{os.pathsep}{env['PATH']}")
    for name in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"):
        own[name] = f"{own[name]}:log_path={reports}/report"
    total = pytest(own, False, f"python on the {preset} daemon")
    for report in sorted(reports.iterdir()):
        text = report.read_text(errors="replace")
        if "Sanitizer" in text or "runtime error" in text:
            say(text[:4000])
            summary = re.search(r"SUMMARY: (.*)|(runtime error: .*)", text)
            total.add(Count(failed=1, what=f"{report}: {summary.group(0) if summary else ''}"))
    return total


def compiled_by_clang(jobs):
    """The product by the other compiler, warnings as errors."""
    if not shutil.which("clang"):
        say("-- clang: skipped, it is not installed (deploy/setup.sh does)")
        return Count(skipped=1)
    start = time.monotonic()
    good = built("clang", jobs)
    say(f"-- clang: built in {time.monotonic() - start:.0f} s" if good else
        "-- clang: it does not build")
    return Count(1) if good else Count(failed=1, what="it does not build")


def seed_of_commit():
    """--seed: each commit has its own programs, the same ones wherever it is tested."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    return ["--seed", str(int(done.stdout[:6], 16))] if done.returncode == 0 else []


def campaign(minutes, env):
    """Random programs and packets; a fuzz target is built where it lacks."""
    done = run([sys.executable, ROOT / "tests/campaign.py", "--minutes", minutes,
                *seed_of_commit()], stdout=subprocess.PIPE, text=True, env=env)
    sys.stdout.write(done.stdout)
    last = re.search(r"^(\d+) passed, (\d+) failed$", done.stdout, re.M)
    if not last:
        return Count(failed=1, what=f"it ended with status {done.returncode}")
    return Count(int(last[1]), int(last[2]), what=done.stdout.split("\n", 1)[0])


def bench(env):
    programs = [[sys.executable, p] for p in sorted((ROOT / "tests/bench").glob("*.py"))
                if not p.name.startswith("_")]
    programs += [[p] for p in sorted((BUILD / "tests/bench").glob("bench_*"))
                 if p.is_file() and os.access(p, os.X_OK)]
    if not programs:
        say("bench: this tree has no benchmarks")
        return 1
    return max(run(p, env=env).returncode for p in programs)


def parts(arguments, env):
    """(name, what runs it) of every part, in their order."""
    long, jobs = arguments.long, arguments.jobs
    # pytest is counted test by test below, so CTest does not run it as one more.
    options = ["-j", str(jobs), "-E", "^python$"] + ([] if long else ["-LE", "long|bench"])
    yield "ctest", lambda: ctest(BUILD, "ctest", options, env)
    yield from in_python(env, long, jobs)
    if not arguments.quick:
        yield "asan", lambda: sanitized("asan", jobs, env)
        yield "clang", lambda: compiled_by_clang(jobs)
        yield "campaign", lambda: campaign(CAMPAIGN_MINUTES * (4 if long else 1), env)
    if long:
        yield "python on the asan daemon", lambda: sanitized_daemon("asan", env)
        yield "python on the tsan daemon", lambda: (
            sanitized_daemon("tsan", env) if built("tsan", jobs)
            else Count(failed=1, what="it does not build"))


def sources():
    """What a result stands for: the commit, and what was changed since."""
    found = hashlib.sha256()
    for command in (["rev-parse", "HEAD"], ["diff", "HEAD"], ["status", "--porcelain"]):
        found.update(run(["git", *command], capture_output=True).stdout)
    return found.hexdigest()


class Report:
    """The counts of the parts that ended, in a file."""

    def __init__(self, name, resume):
        self.path = REPORTS / f"{name}.json"
        self.key, self.parts = sources(), {}
        if resume and self.path.exists():
            found = json.loads(self.path.read_text())
            self.parts = found["parts"] if found["sources"] == self.key else {}

    def kept(self, name):
        """The part's count of an earlier run in which nothing failed, or None."""
        row = self.parts.get(name)
        return None if not row or row["failed"] else Count(row["passed"], 0, row["skipped"])

    def add(self, name, count, seconds):
        self.parts[name] = {"passed": count.passed, "failed": count.failed,
                            "skipped": count.skipped, "what": count.names,
                            "seconds": round(seconds)}
        REPORTS.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps({"sources": self.key, "parts": self.parts}, indent=1))


def main():
    parser = argparse.ArgumentParser(description="run braze's tests and count them")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--long", action="store_true", help="long tests and sanitized daemons, "
                        "too; goes on where an earlier run of the same sources was stopped")
    parser.add_argument("--again", action="store_true", help="a long run from its beginning")
    parser.add_argument("--bench", action="store_true", help="benchmarks only")
    parser.add_argument("--quick", action="store_true", help="no sanitizer and no fuzzer")
    arguments = parser.parse_args()
    env = environment()
    if arguments.bench:
        return bench(env)
    report = Report("test-long" if arguments.long else "test",
                    arguments.long and not arguments.again)
    total = Count()
    for name, work in parts(arguments, env):
        count = report.kept(name)
        if count is not None:
            say(f"-- {name}: {count}, in an earlier run")
        else:
            start = time.monotonic()
            count = work()
            report.add(name, count, time.monotonic() - start)
        total.add(count, name)
    if total.passed + total.failed == 0:
        say("no test ran")
        total.failed = 1
    for name in total.names:
        say(name)
    say(f"{total.passed} passed, {total.failed} failed")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
