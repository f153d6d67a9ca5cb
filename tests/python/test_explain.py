# SPDX-License-Identifier: Apache-2.0
"""braze.explain: how a value was made, in words that are true."""

import re

import near_mode
import numpy
import pytest

import braze
import braze.numpy as np

FAR = "far: left to the daemon, since "


@pytest.fixture(autouse=True)
def near():
    with near_mode.near_on():
        yield


def lines(array):
    return str(braze.explain(array)).splitlines()


def steps(array):
    return [line for line in lines(array) if re.match(r"  step \d+: ", line)]


def test_a_prompt_shows_lines():
    text = braze.explain(np.ones(3) + 1)
    assert isinstance(text, str) and repr(text) == text
    assert text == "float64 array of shape (3,)\nnear: made in this process, in the call itself"


def test_a_fused_chain_is_one_step_with_its_operations():
    x = np.asarray(numpy.linspace(0, 1, 1 << 20).reshape(1024, 1024))
    y = (np.sin(x) * 2 + 1).sum(axis=1)
    told = lines(y)
    assert told[:3] == ["float64 array of shape (1024,)",
                        FAR + "an operand was not at hand in this process",
                        "it was pending until now"]
    assert re.fullmatch(r"plan \d+, 1 step, on \w+(:\d+)?, made in \d+ us", told[3])
    step, = steps(y)
    assert re.match(r"  step 1: kernel \d+ \(sin, multiply, add, sum\), loops 1024 over 1024, \d+ us "
                    r"predicted, (interpreted|compiled)", step)
    assert lines(y)[2].startswith("plan")  # it is pending no more
    assert numpy.allclose(y, (numpy.sin(numpy.asarray(x)) * 2 + 1).sum(axis=1))


def test_steps_that_stay_apart_say_why():
    x = np.asarray(numpy.arange(1e6).reshape(1000, 1000))
    y = x - x.mean(axis=0)
    z = np.sqrt(y * y) @ y
    apart = [line for line in lines(z) if " is not fused with " in line]
    assert apart and all(re.fullmatch(r"  step \d+ is not fused with step \d+: .+", line)
                         for line in apart)
    count = len(steps(z))
    for line in apart:
        later, earlier = map(int, re.findall(r"step (\d+)", line))
        assert 1 <= earlier < later <= count
    assert re.search(r"matmul of float64, 1000 x 1000 by 1000 x 1000", steps(z)[-1])


def test_stacks_of_products_say_so():
    x = np.asarray(numpy.ones((5, 100, 100)))
    step = steps(x @ x)[-1]
    assert "matmul of float64, 100 x 100 by 100 x 100, a stack of 5" in step


def test_the_reason_is_that_of_the_last_write():
    x = np.asarray(numpy.ones((1000, 1000)))
    assert lines(x)[1] == "data of this process, in memory that it shares with the daemon"
    y = x + 1
    assert lines(y)[1] == FAR + "its work or its result is more than one call may take"
    y[:] = np.sin(x) + x
    assert lines(y)[1] == FAR + "an operand was not at hand in this process"
    assert "(sin, add)" in steps(y)[-1] or "(copy)" in steps(y)[-1]
    with braze.host(y) as memory:
        memory[0, 0] = 7
    assert lines(y)[1] == "data of this process, in memory that it shares with the daemon"
    assert y[0, 0] == 7


def test_what_is_only_the_daemons_says_so():
    x = np.asarray(numpy.arange(1e6))
    place = np.asarray(numpy.arange(1 << 18)) * 3 % 1000
    told = lines(x[place])
    assert told[1] == FAR + "only the daemon does this operation, or does it with this type"
    assert "take" in told[4]
    assert lines(np.arange(5))[1].startswith("near: ")
    assert lines(np.arange(5, dtype=np.int16))[1] == told[1]


def test_modes_are_named():
    x = np.asarray(numpy.ones((1000, 1000)))
    with braze.unfused():
        y = x + 1
    assert lines(y)[1] == FAR + "the session is eager, unfused or watches floating-point errors"
    with np.errstate(divide="warn"):
        y = x / 2
    assert lines(y)[1] == FAR + "the session is eager, unfused or watches floating-point errors"
    y = x + 2
    assert lines(y)[1] == FAR + "its work or its result is more than one call may take"


def test_numbers_and_views():
    x = np.asarray(numpy.ones((1000, 1000))) * 2
    assert lines(x[::2, 3])[0] == "float64 array of shape (500,), a view of 8000000 bytes"
    assert lines(np.ones(4)[1])[0] in ("a number of this process", "float64 array of shape ()")
    with pytest.raises(TypeError, match="takes an array of braze"):
        braze.explain(numpy.ones(3))


def test_what_fails_raises_its_error():
    x = np.asarray(numpy.ones(1 << 20))
    wrong = x[np.asarray(numpy.full(1 << 17, 3)) * (1 << 20)]
    with pytest.raises(IndexError, match="out of bounds"):
        braze.explain(wrong)


def test_after_the_connection_what_this_process_knows_is_told():
    x = np.asarray(numpy.ones((1000, 1000))) + 1
    braze.wait(x)
    braze.close()
    assert lines(x) == ["float64 array of shape (1000, 1000)",
                        FAR + "its work or its result is more than one call may take"]
