# SPDX-License-Identifier: Apache-2.0
"""What `braze.explain` and errors say of captured loops, in the words and lines of the program; and
loops over numbers that are written out, which are counted where they lie evenly."""

import numpy as np
import pytest
from jit_checks import both

import braze


def line_of(function, text):
    """The line of the file that has this text, in a function."""
    with open(function.__code__.co_filename) as file:
        for number, line in enumerate(file, 1):
            if number > function.__code__.co_firstlineno and text in line:
                return number
    raise AssertionError(text)


def blur(image, out):
    rows, columns = image.shape
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            s = 0.0
            for di in (-1, 0, 1):
                for dj in (-1, 0, 1):
                    s += image[i + di, j + dj]
            out[i, j] = s / 9


def test_a_stencil_whose_offsets_are_written_out_is_parallel():
    quick = both(blur, np.random.default_rng(0).random((7, 9)), np.zeros((7, 9)))
    text = braze.explain(quick, np.ones((7, 9)), np.zeros((7, 9)))
    assert "for di in -1..2 {" in text and "where" not in text
    assert f"line {line_of(blur, 'for i')}: parallel, 5 turns" in text
    assert f"line {line_of(blur, 'for j')}: parallel, 7 turns" in text


def test_numbers_that_lie_evenly_are_counted():
    def f(x, out):
        n = 0
        for k in (3, 1, -1):
            out[n] = x[k] * k
            n += 1
        for k in [7]:
            out[n] = x[-k]
            n += 1
        for k in (0, 2, 4, 6, 8):
            last = k
            out[n] += x[k] * last
        return n, last
    assert "where" not in braze.explain(both(f, np.arange(1.0, 11), np.zeros(9)))


def test_a_number_that_is_read_behind_its_loop_and_one_that_is_assigned_in_it():
    def f(x):
        s = 0
        for i in range(len(x)):
            for k in (-1, 0, 1):
                s = s * 3 + k
            s += k * i
            for j in (2, 4, 6):
                j += i
                s += j
        return s, k, j
    both(f, np.arange(4.0))


def test_numbers_that_do_not_lie_evenly_are_chosen():
    def f(x):
        s = 0
        for i in range(1):
            for k in (0, 1, 3):
                s = s * 5 + x[k]
            for t in (True, False):
                s = s * 5 + t
            for v in (0.0, 0.5, 1.0):
                s = s * 5 + v
            for k in (2, 2, 2):
                s = s * 5 + k
            for k in (0, 1 << 62):
                s = s * 5 + (k > 3)
        return s
    both(f, np.arange(4.0))


def test_pairs_of_numbers_are_counted_each_by_itself():
    def f(x, out):
        for i in range(2, x.shape[0] - 2):
            for di, dj, w in ((-1, 2, 0.5), (0, 0, 2.0), (1, -2, 0.25)):
                out[i] += x[i + di, 2 + dj] * w
            for di, flag in ((5, True), (5, False)):
                out[i] = out[i] * 3 + (di if flag else 1)
    both(f, np.arange(40.0).reshape(8, 5), np.zeros(8))


def test_lines_and_names_are_those_of_the_program():
    def f(x):
        n = len(x)

        total = 0.0
        for i in range(1, n):
            x[i] = x[i - 1] * 2
        for i in range(n):
            total += x[i]
        return total
    quick = both(f, np.ones(5))
    text = braze.explain(quick, np.ones(5))
    at = line_of(f, "x[i] = x[i - 1]")
    assert f"line {at - 1}: sequential: 'x' in line {at} and 'x' in line {at} touch" in text
    assert f"line {at + 1}: sequential: 'total' in line {at + 2} passes from turn to turn" in text


def test_a_refused_claim_names_lines_of_the_program():
    def f(out):
        #pragma parallel for
        for i in range(1, len(out)):
            out[i] = out[i - 1] * 2
    at = line_of(f, "out[i] = ")
    with pytest.raises(ValueError, match=rf":{at - 1}: .*'out' in line {at} and 'out' in line {at} touch"):
        braze.jit(f)(np.ones(5))


def test_a_loop_that_stays_python_is_told_of_once():
    def f(x):
        seen = []
        for row in x:
            for v in row:
                if v > 0:
                    seen.append(v)
        return len(seen)
    quick = both(f, np.ones((30, 4)), kernel=False)
    at = f"stays Python: line {line_of(f, 'seen.append')}"
    assert braze.explain(quick).count(at) == 2  # of each of the loops


def test_loops_in_a_kernel_are_not_told_of_apart():
    text = braze.explain(both(blur, np.ones((5, 5)), np.zeros((5, 5))))
    assert text.count("called") == 1

    def f(x):
        for i in range(len(x)):
            try:
                for j in range(i):
                    x[i] += j
            finally:
                x[i] += 1
    text = braze.explain(both(f, np.ones(0), kernel=False))
    assert "stays Python" in text or "called 0 times" in text
