# SPDX-License-Identifier: Apache-2.0
"""Random loops at their edges, in Python against captured ones, interpreted and compiled.

BRAZE_WILD=FIRST:LAST has these seeds checked in place of the sample.
"""

import os

import pytest
from jit_wild import check_all

FIRST, LAST = map(int, os.environ.get("BRAZE_WILD", "0:200").split(":"))
PART = max(20, (LAST - FIRST) // 50)


@pytest.mark.parametrize("start", range(FIRST, LAST, PART))
def test_wild_loops(start):
    check_all(range(start, min(start + PART, LAST)))
