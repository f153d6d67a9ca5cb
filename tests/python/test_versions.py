# SPDX-License-Identifier: Apache-2.0
"""What NumPy's versions answer in different ways is answered as the one that is there does; test_wheel.py asks with others."""

import subprocess
import sys

import pytest
import version_checks


def test_answers_are_those_of_the_version_that_is_there():
    assert len(version_checks.CALLS) > 200
    assert list(version_checks.differences()) == []


@pytest.mark.parametrize(("lie", "said"), [
    ("sys.abiflags = 't'", "ImportError: braze does not run in a free-threaded Python"),
    ("numpy.__version__ = '1.26.4'", "ImportError: braze needs NumPy 2.0 or newer, and this Python has 1.26.4"),
])
def test_what_it_does_not_run_in_is_refused_by_name(lie, said):
    done = subprocess.run([sys.executable, "-c", f"import sys, numpy\n{lie}\nimport braze"], capture_output=True, text=True)
    assert done.returncode == 1 and said in done.stderr, done.stderr
