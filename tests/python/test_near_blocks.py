# SPDX-License-Identifier: Apache-2.0
"""Where near values lie: in blocks of huge pages while those last, then of ordinary ones."""

import pathlib
import resource
import subprocess
import sys

import numpy
import pytest

import braze.numpy as np
from near_mode import near_count, near_environment, near_on

KINDS = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")


def huge_pages():
    return KINDS.exists() and "[never]" not in KINDS.read_text()


@pytest.mark.skipif(not huge_pages(), reason="the system gives no huge pages")
def test_first_results_touch_few_pages():
    host = numpy.random.default_rng(1).random(30_000)
    with near_on():
        x = np.asarray(host)
        float((np.zeros(3) + 1).sum())
        count, before = near_count(), resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        results = [x + k for k in range(5)]  # of 60 pages each
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        assert near_count() - count == 5
        assert faults < 60
        assert all(numpy.array_equal(r, host + k) for k, r in enumerate(results))


def test_more_than_the_chunks_hold():
    """Blocks of all sizes, more of them than chunks have room for, let go of in any order."""
    rng = numpy.random.default_rng(2)
    with near_on():
        alive = {}
        for turn in range(600):
            n = int(2 ** rng.uniform(0, 15))
            host = rng.random(n)
            alive[turn] = (np.asarray(host) * 2, host * 2)
            for key in [k for k in alive if rng.random() < (0.02 if turn < 400 else 0.1)]:
                mine, theirs = alive.pop(key)
                assert numpy.array_equal(mine, theirs)
        kept = [np.zeros(30_000) + k for k in range(60)]  # 15 MiB
        assert all(numpy.asarray(a)[-1] == k for k, a in enumerate(kept))
        assert all(numpy.array_equal(mine, theirs) for mine, theirs in alive.values())


@pytest.mark.parametrize("n", [1_500, 10_000, 100_000])
def test_no_load_of_an_operand_looks_like_what_was_just_stored(n):
    """Large results begin where operands do in a page, others elsewhere."""
    program = f"""
import numpy, braze.numpy as np
host = numpy.random.default_rng(1).random({n})
small = [np.asarray(host[:k]) * 2 for k in range(1, 40)]
held = [np.asarray(host)]
for _ in range(3):
    held.append(np.sqrt(held[-1]))
print(*(numpy.asarray(a).__array_interface__["data"][0] for a in held))
"""
    env = near_environment()
    done = subprocess.run([sys.executable, "-c", program], env=env, text=True, check=True,
                          capture_output=True)
    at = [int(word) for word in done.stdout.split()]
    assert len(at) == 4 and all(a % 64 == 0 for a in at)
    apart = [(b - a) % 4096 for a, b in zip(at, at[1:])]
    assert apart == [0, 0, 0] if n > 4096 else all(512 <= d <= 4096 - 512 for d in apart[1:])


def test_the_module_brings_the_loops_along_and_asks_nobody():
    program = """
import os
import braze.numpy
assert any("libbraze-near-" in line for line in open("/proc/self/maps"))
links = [f"/proc/self/fd/{n}" for n in os.listdir("/proc/self/fd") if int(n) > 2]
assert not any(os.readlink(x).startswith("socket:") for x in links if os.path.lexists(x))
"""
    env = near_environment(BRAZE_DAEMON="/bin/false")
    subprocess.run([sys.executable, "-c", program], env=env, check=True, close_fds=True)
