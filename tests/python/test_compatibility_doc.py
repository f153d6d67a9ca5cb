# SPDX-License-Identifier: Apache-2.0
"""docs/compatibility.md has the lists that `make test-numpy` judges by, as they are."""

import sys

from harness import ROOT

sys.path.append(str(ROOT / "tests" / "numpy_suites"))

import verdict


def test_the_document_has_the_lists_of_ids():
    text = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
    assert verdict.MARKS[0] in text
    assert text == verdict.put_into(text), "run tests/numpy_suites/run.py --doc"


def test_no_id_is_in_both_lists():
    deviations, failures = verdict.read_list("deviations.txt"), verdict.read_list("failures.txt")
    assert not deviations.keys() & failures.keys()
    for entries in (deviations, failures):
        assert all("/tests/test_" in test and "::" in test for test in entries)


def test_a_failure_without_a_reason_misses_a_demand():
    theirs = {f"lib/tests/test_x.py::test_{n}": {"outcome": "passed", "message": ""}
              for n in range(100)}
    mine = {test: {"outcome": "passed", "message": ""} for test in theirs}
    assert verdict.judge(theirs, mine, whole=False)[1]
    mine["lib/tests/test_x.py::test_7"]["outcome"] = "failed"
    text, good = verdict.judge(theirs, mine, whole=False)
    assert not good
    assert "fails without a reason: lib/tests/test_x.py::test_7" in text
    del mine["lib/tests/test_x.py::test_7"]
    assert not verdict.judge(theirs, mine, whole=False)[1]


def test_imports_and_bases_are_led_through_the_shim():
    from rewrite import rewritten

    text = ("import numpy as np, sys\nfrom numpy.testing import (assert_,\n    assert_equal as e)\n"
            "import numpy._core.umath as ncu\n\nclass A(np.ndarray): pass\n"
            "def f():\n    from numpy import array\n    from os import path\n")
    assert rewritten(text).splitlines() == [
        "np = __import__(\"shim\").module('numpy'); import sys",
        "assert_ = __import__(\"shim\").name('numpy.testing', 'assert_'); "
        "e = __import__(\"shim\").name('numpy.testing', 'assert_equal')",
        "",
        "ncu = __import__(\"shim\").module('numpy._core.umath')",
        "",
        'class A(__import__("numpy").ndarray): pass',
        "def f():",
        "    array = __import__(\"shim\").name('numpy', 'array')",
        "    from os import path",
    ]
