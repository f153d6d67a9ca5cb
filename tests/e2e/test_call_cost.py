# SPDX-License-Identifier: Apache-2.0
"""What a call costs a Python program before anything is waited for, counted in instructions.

Counts hold on a machine of any load; the processor that valgrind makes believe has AVX2."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from harness import ROOT, clean_environment, find_daemon, is_sanitized

pytestmark = pytest.mark.skipif(not shutil.which("valgrind") or is_sanitized(),
                                reason="needs valgrind and a daemon without sanitizers")


def instructions(statement, near):
    """Of one turn, as tests/bench/calls.py counts: NumPy's and ours."""
    path = f"{pathlib.Path(find_daemon()).parent}:/usr/bin:/bin"
    done = subprocess.run([sys.executable, ROOT / "tests/bench/calls.py", "--count", statement],
                          env=clean_environment(BRAZE_NEAR=near, PATH=path), check=True,
                          capture_output=True, text=True)
    return map(int, re.search(r"^%s +(\d+) +(\d+)" % re.escape(statement), done.stdout, re.M).groups())


@pytest.mark.parametrize(("near", "most"), [("1", 860), ("0", 640)], ids=["near", "recorded"])
def test_an_addition_of_few_elements(near, most):
    theirs, ours = instructions("add operator", near)
    assert ours <= most
    assert ours < theirs
