# SPDX-License-Identifier: Apache-2.0
"""What NumPy's versions answer in different ways is answered as the one that is there does; test_wheel.py asks with others."""

import version_checks


def test_answers_are_those_of_the_version_that_is_there():
    assert len(version_checks.CALLS) > 200
    assert list(version_checks.differences()) == []
