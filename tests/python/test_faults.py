# SPDX-License-Identifier: Apache-2.0
"""Wrong places among right ones: what fails, what stays, in random programs and in turns of loops."""

import os

import fault_random
import numpy
import pytest

import braze
import braze.numpy as np

from near_mode import near_on


# A device that is interpreted takes seconds for each.
EACH = 2 if os.environ.get("BRAZE_TEST_DEVICE") else 50


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_random_programs(first):
    for number in range(first, first + EACH):
        fault_random.Program(number).run()


def test_random_programs_near():
    with near_on():
        for number in range(1000, 1000 + 3 * EACH):
            fault_random.Program(number).run()


def test_random_programs_one_by_one():
    with braze.unfused():
        for number in range(2000, 2000 + EACH):
            fault_random.Program(number).run()


TURNS = 500


def wandering(m, turns, at, kept):
    """Each turn gathers at places that it moves on, and writes a row of its own."""
    a, i = m.arange(40) / 8.0, m.asarray(at)
    rows = m.zeros((turns, 40))
    for t in range(turns):
        a = a * 0.5 + a[i] * 0.25
        i = (i + 1) % 40
        rows[t] = a
        if t % 50 == 0:
            kept.append(a.sum())
    return a, rows


def test_gathers_in_turns():
    at = numpy.random.default_rng(1).integers(0, 40, 40)
    mine, theirs = [], []
    for x, y in zip(wandering(np, TURNS, at, mine), wandering(numpy, TURNS, at, theirs), strict=True):
        numpy.testing.assert_array_equal(numpy.asarray(x), y)
    numpy.testing.assert_allclose([float(x) for x in mine], theirs, rtol=1e-12)


@pytest.mark.parametrize("first_wrong", [0, 1, 7, 60, 311, TURNS - 1])
def test_a_wrong_place_in_some_turn(first_wrong):
    """The places grow with every turn, and leave the array in one of them: what was computed
    before it stays, everything from it on fails by that place."""
    def program(m, n):
        a, i = m.arange(n) / 8.0, m.arange(8)
        free = m.zeros(8)
        seen = []
        for t in range(TURNS):
            b = a[i + t] * 0.5
            free = free * 0.5 + t
            seen.append(b + free)
        return seen, free

    n = 7 + first_wrong  # place 7 + t of turn t is the first one outside
    mine, free = program(np, n)
    theirs, want = program(numpy, 7 + TURNS)
    numpy.testing.assert_array_equal(numpy.asarray(free), want)
    for t in (*range(0, TURNS, 37), first_wrong - 1, first_wrong, TURNS - 1):
        if t < 0:
            continue
        if t < first_wrong:
            numpy.testing.assert_array_equal(numpy.asarray(mine[t]), theirs[t])
        else:
            with pytest.raises(IndexError, match="is out of bounds for axis 0 with size"):
                numpy.asarray(mine[t])


@pytest.mark.parametrize("first_wrong", [1, 60, 311])
def test_a_wrong_place_spoils_what_later_turns_carry_on(first_wrong):
    def program(m, places):
        a, carried = m.arange(50) / 8.0, m.zeros(4)
        rows = m.zeros((TURNS, 4))
        for t in range(TURNS):
            carried = carried * 0.5 + a[places[t]]
            rows[t] = carried
        return carried, rows, a * 2

    places = numpy.random.default_rng(3).integers(0, 50, (TURNS, 4))
    right = program(numpy, places)
    places[first_wrong, 2] = 50
    carried, rows, other = program(np, np.asarray(places) * 1)
    numpy.testing.assert_array_equal(numpy.asarray(other), right[2])
    for x in (carried, rows):
        with pytest.raises(IndexError, match="index 50 is out of bounds for axis 0 with size 50"):
            numpy.asarray(x)
    numpy.testing.assert_array_equal(numpy.asarray(np.arange(3.0) + 1), [1, 2, 3])


def steps(config):
    return config.braze_daemon.status()["steps"]


@pytest.mark.parametrize("first_wrong", [3, 200, 1203, 2999])
def test_gathers_of_a_loop_are_rolled_and_a_wrong_place_names_its_own_turn(request, first_wrong):
    """Thousands of gathers are a few steps, and every turn from a wrong place on tells the first one."""
    if os.environ.get("BRAZE_TEST_DEVICE"):
        pytest.skip("a GPU's worker turns nothing by itself")
    turns, n = 3000, 60
    before = steps(request.config)

    def program(m, size):
        a, at = m.arange(size) / 8.0, m.arange(n) % 7
        total, free = m.zeros(n), m.zeros(n)
        for _ in range(turns):
            total = total + a[at]  # the loop's line
            at = at + 1
            free = free * 0.5 + 1
        return total, free

    right, other = program(numpy, turns + 7)
    total, free = program(np, turns + 7)
    braze.wait(total, free)
    numpy.testing.assert_array_equal(numpy.asarray(total), right)
    assert steps(request.config) - before < turns / 4, "each turn was a step of its own"
    line = program.__code__.co_firstlineno + 4
    total, free = program(np, 6 + first_wrong)
    with pytest.raises(IndexError, match=f"index {6 + first_wrong} is out of bounds for axis 0 with size {6 + first_wrong}") as wrong:
        numpy.asarray(total)
    assert f"test_faults.py:{line}" in str(wrong.value)
    numpy.testing.assert_array_equal(numpy.asarray(free), other)


@pytest.mark.parametrize("every", [1, 7])
def test_wrong_places_of_many_turns_are_each_turns_own(every):
    """More of them than one packet's answer has room for."""
    turns, size = 1700, 50
    places = numpy.random.default_rng(5).integers(0, size, (turns, 5))
    wrong = numpy.arange(turns) % every == 0
    places[wrong, 3] = 1000 + numpy.flatnonzero(wrong)
    a, mine = np.arange(size) / 4.0, np.asarray(places) * 1
    got = [a[mine[t]] * 2.0 for t in range(turns)]
    want = numpy.arange(size) / 4.0
    for t in range(turns):
        if wrong[t]:
            with pytest.raises(IndexError, match=f"index {1000 + t} is out of bounds"):
                numpy.asarray(got[t])
        else:
            numpy.testing.assert_array_equal(numpy.asarray(got[t]), want[places[t]] * 2.0)


def test_of_two_wrong_places_of_a_value_the_first_in_the_program_is_told():
    a, b = np.arange(10) / 2.0, np.arange(12)
    i, j = np.arange(4) + 9, np.arange(4) * 9
    early = a[i]  # 10 is wrong
    places = b[j]  # 18 is wrong, and so will be what they are places of
    late = a[places] + early
    with pytest.raises(IndexError, match="index 10 is out of bounds for axis 0 with size 10"):
        numpy.asarray(late)
    with pytest.raises(IndexError, match="index 18 is out of bounds for axis 0 with size 12"):
        numpy.asarray(a[places])
