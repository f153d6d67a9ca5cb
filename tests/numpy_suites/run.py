# SPDX-License-Identifier: Apache-2.0
"""tests/numpy_suites/run.py - NumPy's own test files against braze.numpy.

In:  the test files that the installed numpy package contains (FILES), the build in
     build/, lists of ids in deviations.txt and failures.txt.
Out: build/reports/numpy-suites.txt, a table by file and what misses a demand; exit 1
     when something does.

Each file runs first through NumPy itself with the same shim: only tests that pass
there count.  Results are kept test by test below build/numpy-suites, NumPy's for this
version of NumPy and of the shim, braze's for the very files that it is made of, so a
run that was ended goes on where it was.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent)]

import numpy  # noqa: E402
import verdict  # noqa: E402
from harness import Daemon, clean_environment  # noqa: E402
from recorder import read_lines  # noqa: E402
from rewrite import rewritten  # noqa: E402

WORK = ROOT / "build" / "numpy-suites"
REPORT = ROOT / "build" / "reports" / "numpy-suites.txt"
DOCUMENT = ROOT / "docs" / "compatibility.md"
PACKAGE = pathlib.Path(numpy.__file__).parent
CORE = "umath numeric indexing ufunc multiarray shape_base einsum item_selection"
SORTS = "_core/tests/test_multiarray.py"  # has thousands of generated sorts: a job of their own
# Seconds without a finished test after which the process is taken for dead.
SILENCE = 600
MADE_OF = ("client", "daemon", "kernels", "proto")


def test_files():
    """Paths below the numpy package, those that take longest first."""
    core = [f"_core/tests/test_{name}.py" for name in CORE.split()]
    rest = [str(p.relative_to(PACKAGE)) for folder in ("lib", "linalg")
            for p in sorted((PACKAGE / folder / "tests").glob("test_*.py"))]
    return sorted(core + rest, key=lambda p: -(PACKAGE / p).stat().st_size)


def digest(paths):
    total = hashlib.sha256()
    for path in sorted(paths):
        total.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return total.hexdigest()[:16]


def keys():
    """The folders of results: what they depend on is in their names."""
    shim = digest(HERE / name for name in ("rewrite.py", "shim.py", "recorder.py"))
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    base = f"{numpy.__version__}-py{python}-{shim}"
    own = digest(p for folder in MADE_OF for p in (ROOT / folder).rglob("*")
                 if p.is_file() and p.suffix in (".c", ".h", ".py", ".def", ".txt"))
    return {"numpy": f"numpy-{base}", "braze": f"braze-{own}-{base}"}


def write_tests():
    """The rewritten files, where pytest finds them; they are never the project's."""
    folder = WORK / "tests" / numpy.__version__
    for path in test_files():
        text = rewritten((PACKAGE / path).read_text(encoding="utf-8"))
        made = folder / path
        made.parent.mkdir(parents=True, exist_ok=True)
        if not made.exists() or made.read_text(encoding="utf-8") != text:
            made.write_text(text, encoding="utf-8")
        data = (PACKAGE / path).parent / "data"
        if data.is_dir() and not (made.parent / "data").exists():
            (made.parent / "data").symlink_to(data)
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return folder


class Job:
    """One file on one side, in as many processes as it takes."""

    def __init__(self, side, path, sorts, folder, socket, results):
        self.side, self.path, self.sorts, self.folder = side, path, sorts, folder
        name = path.replace("/tests/", "-").replace("/", "-").removesuffix(".py")
        name += "-sorts" if sorts == "only" else ""
        self.results = results / f"{name}.jsonl"
        self.log = results / f"{name}.log"
        self.ended = results / f"{name}.done"
        self.socket = socket

    def run(self):
        if self.ended.exists():
            return
        self.results.parent.mkdir(parents=True, exist_ok=True)
        for _ in range(200):  # each turn ends the file or blames one test
            if self.one_process():
                self.ended.touch()
                return
            self.blame()
        raise RuntimeError(f"{self.path}: two hundred processes did not end it")

    def environment(self):
        more = {"SUITE_SIDE": self.side, "SUITE_SORTS": self.sorts,
                "SUITE_RESULTS": str(self.results), "BRAZE_SOCKET": self.socket,
                "OPENBLAS_NUM_THREADS": "1"}
        env = clean_environment(**more)
        env["PYTHONPATH"] = os.pathsep.join([str(HERE), env["PYTHONPATH"]])
        return env

    def one_process(self):
        """Run what has no record yet; did the process end by itself and well?"""
        with open(self.log, "ab") as log:
            child = subprocess.Popen(
                [sys.executable, "-m", "pytest", "-q", "-p", "recorder", "-p", "numpy.conftest",
                 "-p", "no:cacheprovider", "--tb=short", "--import-mode=importlib",
                 "--show-capture=no", "-rN", "--rootdir", str(self.folder),
                 "-c", str(self.folder / "pytest.ini"), str(self.folder / self.path)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment(),
                cwd=self.folder)
        size, since = -1, time.monotonic()
        while child.poll() is None:
            time.sleep(0.2)
            now = self.results.stat().st_size if self.results.exists() else 0
            if now != size:
                size, since = now, time.monotonic()
            elif time.monotonic() - since > SILENCE:
                child.kill()
                child.wait()
        if child.returncode in (2, 3, 4):
            raise RuntimeError(f"{self.side} {self.path}: pytest ended with "
                               f"{child.returncode}, see {self.log}")
        return child.returncode in (0, 1, 5)

    def blame(self):
        """The test that the process died in gets its record."""
        records = read_lines(self.results)
        done = {r["id"] for r in records if "id" in r}
        begun = [r["begun"] for r in records if "begun" in r and r["begun"] not in done]
        if not begun:
            raise RuntimeError(f"{self.side} {self.path}: died outside of a test, see {self.log}")
        with open(self.results, "a", encoding="utf-8") as f:
            f.write(json.dumps({"id": begun[-1], "outcome": "died", "seconds": 0,
                                "message": "the process died or hung"}) + "\n")


def all_jobs(folder, socket):
    for side, key in keys().items():
        results = WORK / "results" / key
        for path in test_files():
            for sorts in ("without", "only") if path == SORTS else ("",):
                yield Job(side, path, sorts, folder, socket, results)


def run_jobs(jobs, workers):
    """All jobs, some at a time; lines of progress."""
    lock, total, done = threading.Lock(), len(jobs), []

    def one(job):
        start = time.monotonic()
        job.run()
        with lock:
            done.append(job)
            print(f"-- {len(done)}/{total} {job.side} {job.path}{' sorts' * (job.sorts == 'only')}"
                  f" in {time.monotonic() - start:.0f} s", flush=True)

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for future in [pool.submit(one, job) for job in jobs]:
            future.result()


def outcomes(jobs, side):
    """id -> record of all tests of one side."""
    return {r["id"]: r for job in jobs if job.side == side
            for r in read_lines(job.results) if "id" in r}


def main():
    parser = argparse.ArgumentParser(description="NumPy's own tests against braze.numpy")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="files whose path contains this")
    parser.add_argument("--doc", action="store_true", help="write the lists into the document")
    arguments = parser.parse_args()
    if arguments.doc:
        DOCUMENT.write_text(verdict.put_into(DOCUMENT.read_text(encoding="utf-8")),
                            encoding="utf-8")
        return 0
    with Daemon() as daemon:
        jobs = [job for job in all_jobs(write_tests(), daemon.socket)
                if arguments.only in job.path]
        run_jobs(jobs, arguments.jobs)
    text, good = verdict.judge(outcomes(jobs, "numpy"), outcomes(jobs, "braze"),
                               whole=not arguments.only)
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    if not arguments.only:
        REPORT.write_text(text, encoding="utf-8")
    print(text)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
