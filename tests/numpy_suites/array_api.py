# SPDX-License-Identifier: Apache-2.0
"""tests/numpy_suites/array_api.py - the test suite of the Array API standard, on both sides.

In:  BRAZE_ARRAY_API_TESTS, a checkout of data-apis/array-api-tests with its submodule.
     No package of PyPI's or Debian's has it, so without a checkout nothing runs here and
     this says so: tests/array_api, which are the project's own, always run.
Out: build/reports/array-api.txt; exit 1 when a test fails that NumPy passes.

100 examples of each test, version 2023.12.  A side that ended is kept, as run.py does.
"""

import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import run  # noqa: E402
from harness import Daemon, clean_environment  # noqa: E402

REPORT = run.ROOT / "build" / "reports" / "array-api.txt"
MODULES = {"numpy": "numpy", "braze": "braze.numpy"}


def results(side, key, checkout, socket):
    """Test id -> outcome, of a run that is made where there is none yet."""
    report = run.WORK / "results" / key / "array-api.json"
    if not report.exists():
        report.parent.mkdir(parents=True, exist_ok=True)
        part = report.with_suffix(".part")
        env = clean_environment(ARRAY_API_TESTS_MODULE=MODULES[side], BRAZE_SOCKET=socket,
                                ARRAY_API_TESTS_VERSION="2023.12")
        with open(report.with_suffix(".log"), "wb") as log:
            subprocess.run(
                [sys.executable, "-m", "pytest", "array_api_tests", "-q", "--max-examples", "100",
                 "--disable-deadline", "--derandomize", "-p", "no:cacheprovider",
                 "--json-report", "--json-report-omit", "collectors", "log", "keywords",
                 f"--json-report-file={part}"],
                cwd=checkout, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                check=False)
        part.rename(report)
    tests = json.loads(report.read_text(encoding="utf-8"))["tests"]
    return {test["nodeid"]: test["outcome"] for test in tests}


def main():
    checkout = os.environ.get("BRAZE_ARRAY_API_TESTS")
    if not checkout:
        print("array-api-tests: not run. It is in no package: set BRAZE_ARRAY_API_TESTS to a "
              "checkout of data-apis/array-api-tests with its submodule to run it as well.")
        return 0
    with Daemon() as daemon:
        both = {side: results(side, key, checkout, daemon.socket)
                for side, key in run.keys().items()}
    passed = [test for test, outcome in both["numpy"].items() if outcome == "passed"]
    failed = [test for test in passed if both["braze"].get(test) != "passed"]
    lines = [f"array-api-tests: of {len(passed)} that NumPy passes, {len(failed)} fail",
             *(f"    {test}: {both['braze'].get(test, 'not collected')}" for test in failed)]
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
