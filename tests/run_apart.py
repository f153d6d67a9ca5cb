# SPDX-License-Identifier: Apache-2.0
"""tests/run_apart.py - each test program and each Python file as a part of its own.

Without --device: the unit, end-to-end and Python tests on a machine that is loaded: eight
processes spin beside them.  What fails here and not on a quiet machine is a defect: a clock
that decides where progress should, or a test that asserts a time.

With --device cuda:0: the whole Python suite with its arrays on the stand-in for a GPU and its
race detector on.  `make test` has a sample of it, as each kernel is compiled by NVRTC: with
nothing kept from earlier runs it takes two cores 90 minutes.

What passed is kept in build/reports/busy.json (or device.json), so that a run that was
interrupted goes on where it was; a new build, or --again, begins anew.  busy.txt (device.txt)
beside it is the last run's log.
"""

import argparse
import concurrent.futures
import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from busy import busy  # noqa: E402
from harness import find_nvrtc, find_standin  # noqa: E402
from run import BUILD, ROOT, Count, criterion_count, environment, pytest_count, say  # noqa: E402

REPORTS = BUILD / "reports"
SPINNERS = 8
SECONDS = 1800  # of a part, before it counts as one that hangs
DEVICE_SECONDS = 4 * SECONDS  # where there may be thousands of kernels to compile


def digest(*paths):
    found = hashlib.sha256()
    for path in paths:
        found.update(Path(path).read_bytes())
    return found.hexdigest()[:16]


def unit_parts():
    """(name, command, folder, environment) of each C test program; not the long ones."""
    listed = subprocess.run(["ctest", "--test-dir", BUILD, "--show-only=json-v1", "-LE",
                             "long|bench|python", "-E", "^python$"],
                            capture_output=True, text=True, check=True)
    for test in json.loads(listed.stdout)["tests"]:
        values = {p["name"]: p["value"] for p in test["properties"]}
        more = dict(pair.split("=", 1) for pair in values.get("ENVIRONMENT", []))
        yield test["name"], test["command"], values.get("WORKING_DIRECTORY", BUILD), more


def python_parts():
    for folder in ("tests/python", "tests/e2e"):
        yield from sorted((ROOT / folder).glob("test_*.py"))


def product():
    """What all Python parts depend on."""
    extension = sorted((BUILD / "python").rglob("*.so"))
    return digest(BUILD / "bin/brazed", *extension, ROOT / "tests/harness.py")


class Run:
    def __init__(self, name, again, spinners):
        self.name = name
        self.kept = REPORTS / f"{name}.json"
        self.spinners = spinners
        self.results = {}
        if self.kept.exists() and not again:
            self.results = json.loads(self.kept.read_text())
        self.log = open(REPORTS / f"{name}.txt", "a" if self.results else "w")

    def passed(self, name, key):
        return self.results.get(name, {}).get("key") == key and not self.results[name]["failed"]

    def note(self, name, key, count, seconds, text):
        self.results[name] = {"key": key, "passed": count.passed, "failed": count.failed,
                              "skipped": count.skipped, "names": count.names,
                              "seconds": round(seconds), "spinners": self.spinners}
        beside = self.kept.with_suffix(".new")
        beside.write_text(json.dumps(self.results, indent=1))
        beside.replace(self.kept)
        line = f"-- {name}: {count} in {seconds:.0f} s"
        say(line)
        self.log.write(line + "\n" + (text if count.failed else ""))
        self.log.flush()
        if count.failed:
            say(text[-6000:])


running, stopping = set(), threading.Event()


def end_all():
    """Interrupted: nothing that was started may go on."""
    stopping.set()
    for process in list(running):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def execute(command, folder, env, seconds=SECONDS):
    """Status and output; a part that hangs is ended with all that it started."""
    process = subprocess.Popen([str(c) for c in command], cwd=folder, env=env, text=True,
                               errors="replace", stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               start_new_session=True)
    running.add(process)
    try:
        out, _ = process.communicate(timeout=seconds)
        return process.returncode, out
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, _ = process.communicate()
        return 124, f"{out}\nkilled: it did not end in {seconds} s\n"
    finally:
        running.discard(process)


def run_unit(run, part, env):
    name, command, folder, more = part
    key, start = digest(command[0]), time.monotonic()
    if stopping.is_set() or run.passed(name, key):
        return
    status, text = execute(command, folder, dict(env, **more))
    if stopping.is_set():
        return
    count = criterion_count(text, status == 0, name) or \
        (Count(1) if status == 0 else Count(failed=1, what=name))
    run.note(name, key, count, time.monotonic() - start, text)


def run_python(run, path, env, base):
    name = str(path.relative_to(ROOT))
    key, start = base + digest(path), time.monotonic()
    if stopping.is_set() or run.passed(name, key):
        return
    junit = REPORTS / f"{run.name}-{path.parent.name}-{path.stem}.xml"
    junit.unlink(missing_ok=True)
    status, text = execute([sys.executable, "-m", "pytest", "-q", "--tb=short", "-p",
                            "no:cacheprovider", "-m", "not long", f"--junitxml={junit}", path],
                           ROOT, env, DEVICE_SECONDS if "BRAZE_TEST_DEVICE" in env else SECONDS)
    if stopping.is_set():
        return
    count = pytest_count(junit)
    junit.unlink(missing_ok=True)
    if status not in (0, 5) and not count.failed:
        count.add(Count(failed=1, what=f"{name} ended with status {status}"))
    run.note(name, key, count, time.monotonic() - start, text)


def options():
    parser = argparse.ArgumentParser(description="run each test program and file apart")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--spinners", type=int, help=f"{SPINNERS}, or 0 with a device")
    parser.add_argument("--device", help="only the Python suite, its arrays on this one of the stand-in's")
    parser.add_argument("--again", action="store_true", help="also what passed already")
    parser.add_argument("parts", nargs="*", help="only parts whose name holds one of these")
    arguments = parser.parse_args()
    if arguments.spinners is None:
        arguments.spinners = 0 if arguments.device else SPINNERS
    return arguments


def parts(run, arguments):
    """(name, what runs it, with what) of each; the longest first, so that no core waits for one at
    the end."""
    env, base = environment(), product()
    if arguments.device:
        env["BRAZE_TEST_DEVICE"] = arguments.device
        work = [(str(p.relative_to(ROOT)), run_python, (p, env, base)) for p in python_parts()
                if p.parent.name == "python"]
    else:
        work = [(str(p.relative_to(ROOT)), run_python, (p, env, base)) for p in python_parts()]
        work += [(p[0], run_unit, (p, env)) for p in unit_parts()]
    work = [w for w in work if not arguments.parts
            or any(word in w[0] for word in arguments.parts)]
    return sorted(work, key=lambda w: -run.results.get(w[0], {}).get("seconds", 60))


def summary(run, work, arguments, seconds):
    total = Count()
    for name, _, _ in work:
        r = run.results[name]
        total.add(Count(r["passed"], r["failed"], r["skipped"]))
        total.names += [f"{name}: {each}" for each in r["names"]]
    for name in total.names:
        say(name)
    how = f"on {arguments.device} of the stand-in" if arguments.device else \
        f"beside {arguments.spinners} busy loops"
    last = f"{total} {how}, {seconds:.0f} s"
    run.log.write(last + "\n")
    say(last)
    return total


def main():
    arguments = options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if arguments.device and not (find_standin() and find_nvrtc()):
        say("no stand-in was built, or there is no NVRTC: deploy/setup.sh says what it needs")
        return 1
    REPORTS.mkdir(parents=True, exist_ok=True)
    run = Run("device" if arguments.device else "busy", arguments.again, arguments.spinners)
    work, start = parts(run, arguments), time.monotonic()
    # The pool's threads start after the fork of those that spin.
    with busy(arguments.spinners), concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        try:
            for future in [pool.submit(fn, run, *rest) for _, fn, rest in work]:
                future.result()
        except BaseException:
            end_all()
            raise
    total = summary(run, work, arguments, time.monotonic() - start)
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
