# SPDX-License-Identifier: Apache-2.0
"""Loops under pragmas, right and wrong: each ends as in Python, or is refuted where its turns do meet.

BRAZE_CLAIMS=FIRST:LAST has these seeds checked in place of the sample.
"""

import gc
import os
import random
import re

import numpy as np
import pytest
from braze import _core, jit
from claim_random import Claims
from jit_wild import function_of

FIRST, LAST = map(int, os.environ.get("BRAZE_CLAIMS", "0:120").split(":"))
PART = max(60, (LAST - FIRST) // 50)


def outcome(function, program):
    made, memory = program.arrays()
    with np.errstate(all="ignore"):
        try:
            return function(**made), memory
        except (IndexError, ValueError) as error:
            return error, memory


def alike(want, have):
    if isinstance(want, Exception) or isinstance(have, Exception):
        return type(want) is type(have)
    return all(float(a) == float(b) for a, b in zip(want, have))


def is_refuted(result):
    return isinstance(result, ValueError) and re.search("the loop is not (parallel|simd)", str(result))


def difference(program, outcome):
    """What differs from Python, or None."""
    want, memory, seen = program.run()
    have, after = outcome
    if is_refuted(have):
        # No turn of the loop has begun, and its turns meet.
        return None if any(meet and then == after.tobytes() for _, then, meet in seen) else f"no reason for {have}"
    if not alike(want, have):
        return f"{want!r}, and {have!r}"
    return None if memory.tobytes() == after.tobytes() else f"{memory}, and {after}"


def check(seed):
    """How the captured function ends, twice where it is compiled: 1 if it is refuted."""
    program = Claims(random.Random(seed))
    quick = jit(function_of(program, seed))
    ends = [outcome(quick, program)]
    if seed % 3 == 0:
        for row in quick.__braze_jit__.sites:
            for special in row.specials.values():
                assert not any(_core.kernel_compile(s.kernel) for s in special if s.kernel)
        ends.append(outcome(quick, program))
    for way, end in zip(("interpreted", "compiled"), ends):
        wrong = difference(program, end)
        assert not wrong, f"seed {seed}, {way}: {wrong}\n{program.text}"
    assert len({bool(is_refuted(result)) for result, _ in ends}) == 1, seed
    return bool(is_refuted(ends[0][0]))


@pytest.mark.parametrize("start", range(FIRST, LAST, PART))
def test_random_claims(start):
    refuted = sum(map(check, range(start, min(start + PART, LAST))))
    gc.collect()
    assert refuted
