# SPDX-License-Identifier: Apache-2.0
"""Loops of kernels by several threads: the bits of one thread, whatever they do."""

import hashlib
import os
import random
import subprocess
import sys

import numpy as np
import pytest

import braze
from nest_random import Nest

CASES = int(os.environ.get("BRAZE_NESTS", 150))


def outcome(kernel, nest, seed):
    nest.rng = random.Random(seed)
    memory, args = nest.arrays()
    try:
        result = repr(kernel(*args))
    except (IndexError, ValueError) as error:
        result = str(error)
    return hashlib.sha256(memory.tobytes() + result.encode()).hexdigest()[:12]


def nests(first, count, compiled):
    """One line for each of `count` random nests."""
    for seed in range(first, first + count):
        nest = Nest(random.Random(seed))
        kernel = braze.kernel_from_text(nest.text)
        if compiled:
            kernel.compile()
        yield " ".join([str(seed)] + [outcome(kernel, nest, seed * 100 + k) for k in range(3)])


def in_process(threads, compiled, count=CASES, first=0):
    env = dict(os.environ, BRAZE_THREADS=str(threads), BRAZE_SHARE_WORK="0")
    code = (f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r}); import test_team\n"
            f"for line in test_team.nests({first}, {count}, {compiled}): print(line)")
    done = subprocess.run([sys.executable, "-c", code], env=env, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_random_nests_on_any_number_of_threads():
    want = in_process(1, False)
    assert len(want) == CASES
    for threads in (1, 2, 4):
        got = in_process(threads, True)
        wrong = [w for w, g in zip(want, got) if w != g]
        assert len(got) == CASES and not wrong, f"{threads} threads: {wrong[:5]}"
