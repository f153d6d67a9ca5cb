# SPDX-License-Identifier: Apache-2.0
"""Random programs in NumPy and in braze; see random_make.py and random_check.py.

A failure prints the seed and a short program that fails.  BRAZE_RANDOM_SEEDS=A:B
chooses the seeds of the long campaign.
"""

import os
import subprocess
import sys
import threading

import numpy
import pytest

import braze
import braze.numpy as np
import random_check
import random_make

CHUNK = 25


def campaign(seeds, modes, **how):
    for seed in seeds:
        steps = random_make.program(seed, length=8 + seed % 25, rounds=seed % 2 == 0, **how)
        try:
            random_check.run(steps, modes)
        except random_check.Mismatch:
            pytest.fail(random_check.report(seed, steps, modes), pytrace=False)


@pytest.mark.parametrize("first", range(0, 400, CHUNK))
def test_small_programs(first):
    campaign(range(first, first + CHUNK), ("lazy",))


@pytest.mark.parametrize("mode", ["unfused", "eager"])
def test_modes(mode):
    campaign(range(1000, 1060), ("lazy", mode))


def test_special_values():
    campaign(range(2000, 2100), ("lazy", "unfused"), styles=("small", "special"))


@pytest.mark.parametrize("first", [3000, 3010, 3020])
def test_large_arrays(first):
    for seed in range(first, first + 10):
        campaign([seed], ("lazy",), large=True, styles=("small", "wide"))


def test_two_threads():
    """Two programs at once in one session."""
    failures = []

    def work(seeds):
        for seed in seeds:
            steps = random_make.program(seed, rounds=False)
            text = random_check.fails(steps, ("lazy",))
            if text:
                failures.append((seed, str(text)))

    threads = [threading.Thread(target=work, args=(range(k, k + 60),)) for k in (4000, 4060)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_modes_of_threads_end_with_their_blocks():
    """Blocks that overlap in time, from two threads, once left the mode on."""
    first, second = braze.eager(), braze.eager()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    assert not braze.is_stored(np.arange(500_000) + 1)  # more than is ever near


def child(seeds):
    code = f"import test_random; test_random.campaign(range({seeds}), ('lazy',))"
    paths = [os.path.dirname(__file__), *sys.path]
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True,
                            env=dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, paths))))


def test_two_sessions():
    """Two processes at once."""
    children = [child("5000, 5040"), child("5040, 5080")]
    for process in children:
        error = process.communicate(timeout=120)[1]
        assert process.returncode == 0, error


def test_fork_in_the_middle():
    """A child's own programs, and the parent's arrays afterwards."""
    kept = np.arange(1000.0) * 2
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            status = int(any(random_check.fails(random_make.program(s, rounds=False), ("lazy",))
                             for s in range(6000, 6010)))
        finally:
            os._exit(status)
    campaign(range(6010, 6020), ("lazy",))
    assert os.waitpid(pid, 0)[1] == 0
    assert float(kept.sum()) == 999000.0


def test_a_wrong_answer_is_found_and_made_short():
    """The comparison itself: a wrong function must not pass."""
    steps = [random_check.Step(t) for t in (
        "v0 = np.arange(6)", "v1 = np.ones(3)", "v2 = v0 + 1", "v3 = np.wrong(v2)", "v4 = v1 * 2")]

    def wrong(a):
        return a + (type(a) is np.ndarray)

    numpy.wrong = np.wrong = wrong
    try:
        with pytest.raises(random_check.Mismatch, match="v3"):
            random_check.run(steps)
        text = random_check.report(0, steps, ("lazy",))
    finally:
        del numpy.wrong, np.wrong
    assert "np.wrong(v2)" in text and "v1" not in text


@pytest.mark.parametrize("bad,want", [
    (-0.0, 0.0), (numpy.nan, 1.0), (numpy.float32(1), 1.0), (1.0 + 2**-52, 1.0)])
def test_differences_that_count(bad, want):
    assert random_check.differ(numpy.array([bad]), numpy.array([want]))


@pytest.mark.long
@pytest.mark.parametrize("how", ["small", "special", "large"])
def test_campaign(how):
    first, last = map(int, os.environ.get("BRAZE_RANDOM_SEEDS", "10000:13000").split(":"))
    if how == "large":
        last = first + (last - first) // 10
    styles = ("small", "special" if how == "special" else "wide")
    campaign(range(first, last), ("lazy", "unfused"), large=how == "large", styles=styles)
    assert braze.counters()["demands"] > 0


FIRST = """
import inspect, pickle, numpy, braze.numpy as np
assert not hasattr(np.random.rand, "nonsense")
for name in dir(numpy.random):
    theirs, mine = getattr(numpy.random, name), getattr(np.random, name, None)
    if name.startswith("_") or name == "test" or not callable(theirs):
        continue
    assert mine.__name__ == theirs.__name__ and (isinstance(theirs, type) or mine.__doc__ == theirs.__doc__), name
    assert mine.__module__.startswith(("braze.numpy.random", "numpy.random")), name
    if not isinstance(theirs, type):
        assert pickle.loads(pickle.dumps(mine)) is mine, name
        try:
            expected = inspect.signature(theirs)
        except ValueError:
            continue
        assert inspect.signature(mine) == expected, name
a = np.random.default_rng(5)
assert type(a.bit_generator) is type(numpy.random.default_rng(5).bit_generator)
for k in range(3):
    assert np.random.default_rng(k).random(3).tolist() == numpy.random.default_rng(k).random(3).tolist()
    assert np.random.default_rng(k).integers(0, 9, 30).tolist() == numpy.random.default_rng(k).integers(0, 9, 30).tolist()
assert set(dir(np.random.RandomState)) >= set(dir(numpy.random.RandomState))
assert set(dir(np.random.Generator)) >= set(dir(numpy.random.Generator))
"""


def test_the_first_use_shows_what_numpys_module_shows():
    subprocess.run([sys.executable, "-c", FIRST], check=True, timeout=60)
