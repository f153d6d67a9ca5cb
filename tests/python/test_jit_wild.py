# SPDX-License-Identifier: Apache-2.0
"""Random loops at their edges, in Python against captured ones, interpreted and compiled.

BRAZE_WILD=FIRST:LAST has these seeds checked in place of the sample.
"""

import os

import numpy as np
import pytest
from braze import jit
from jit_wild import check_all

FIRST, LAST = map(int, os.environ.get("BRAZE_WILD", "0:200").split(":"))
PART = max(20, (LAST - FIRST) // 50)


@pytest.mark.parametrize("start", range(FIRST, LAST, PART))
def test_wild_loops(start):
    check_all(range(start, min(start + PART, LAST)))


def test_the_first_of_two_wrong_indices_in_a_chain_is_told():
    def f(x, k):
        n = 0
        for i in range(3):
            if int(x[-7]) <= int(k[6]) < 6:
                n += 1
        return n
    said = []
    for g in (f, jit(f)):
        with pytest.raises(IndexError) as caught:
            g(np.zeros(6), np.zeros(6, np.int64))
        said.append(str(caught.value))
    assert all("index -7 is out of bounds" in text for text in said), said
