# SPDX-License-Identifier: Apache-2.0
"""Random loops at their edges, in Python against captured ones, interpreted and compiled.

BRAZE_WILD=FIRST:LAST has these seeds checked in place of the sample.
"""

import gc
import os
import random

import pytest
from jit_wild import check

FIRST, LAST = map(int, os.environ.get("BRAZE_WILD", "0:200").split(":"))
PART = max(20, (LAST - FIRST) // 50)


@pytest.mark.parametrize("start", range(FIRST, LAST, PART))
def test_wild_loops(start):
    kernels, end, failed = 0, min(start + PART, LAST), []
    for seed in range(start, end):
        wrong, ran = check(seed, seed % 5 == 0, random.Random(seed))
        kernels += ran
        failed += [wrong] if wrong else []
    gc.collect()  # captured functions go with their cycles, and only then the descriptors of their code
    assert not failed, f"{len(failed)} of {end - start}\n{failed[0]}"
    assert kernels >= (end - start) // 2
