# SPDX-License-Identifier: Apache-2.0
"""Slices and reductions in kernels, against NumPy."""

import os
import random

import numpy as np
import pytest

import braze
import braze.numpy as bnp
from slice_random import SCOPE, Program


@pytest.fixture(autouse=True, params=["interpreted", "compiled"])
def way(request):
    kernel.compiled = request.param == "compiled"
    yield request.param


def kernel(text):
    k = braze.kernel_from_text(text)
    if kernel.compiled:
        k.compile()
    assert k.compiled == kernel.compiled
    return k


def test_random_programs(way):
    seed = int(os.environ.get("SEED", 1))
    count = int(os.environ.get("PROGRAMS", 600 if way == "interpreted" else 60))
    ends = {}
    for number in range(count):
        program = Program(random.Random(f"{seed}/{number}"))
        (arrays, buffer), (twins, wanted) = program.arrays(), program.arrays()
        result, error = program.run(twins)
        where = (f"SEED={seed} program {number}:\n{program.text}\n{program.shapes} "
                 f"{program.layouts} {error}")
        ends[type(error)] = ends.get(type(error), 0) + 1
        try:
            k = kernel(program.text)
        except ValueError as refused:
            # NumPy finds that when it gets there.
            assert "does not go into" in str(refused), where
            continue
        if error is None:
            np.testing.assert_array_equal(k(**arrays, i=1), result, err_msg=where)
        else:
            # Of two errors in one line either.
            with pytest.raises((ValueError, IndexError)) as caught:
                k(**arrays, i=1)
            assert f"line {program.at + 2}:" in str(caught.value), where
        np.testing.assert_array_equal(buffer, wanted, err_msg=where)
    assert ends[type(None)] > count / 3 and ends[ValueError] > count / 20
