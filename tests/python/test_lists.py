# SPDX-License-Identifier: Apache-2.0
"""Arrays of lists and tuples in which numbers are Python's, NumPy's and braze's."""

import numpy
import pytest

import braze.numpy as np

# A: float64, I: int64, F: float32, of one axis; M: float64 of two
LISTS = """[A[0], A[1]]  [A[0], 1]  [I[0], I[1]]  [I[0], 2.5]  [I[0], A[0]]  [F[0], 1.0]  (1, 2, 3)
((1, 2), (3, 4.0))  [(1, 2), [3, 4]]  [A.sum(), A.mean()]  [M[0, 0], M[1].sum()]  [[A[0]], [A[1]]]
[A[0], M.sum(axis=0)[0]]  [True, 1]  [A, A]  [I[0], True]  (A[0],)  ()  [I[0] * 2**40, 1]
[A[0] > 0.1, 1.0]  [A.max(), I.max(), 3]  [1, 2.5, A[2]]  [A[:1], A[:1]]  [numpy.float64(2), A[0]]
[A[:1], 1.0]  [[A[0], 1], [2]]  [I[4] - 2**62, 2**63]  [A[0], 1j]  [A[0], None]  [A[0], 'x']  ([],)"""

CALLS = [f"m.{function}({text.strip()}{dtype})" for line in LISTS.splitlines()
         for text in line.split("  ") for function in ("array", "asarray")
         for dtype in ("", ", dtype='f8'", ", dtype='i8'", ", dtype='f4'")]


def operands(m):
    return {"A": m.array([0.5, 0.3, 0.2]), "I": m.arange(5), "F": m.arange(5, dtype="f4"),
            "M": m.arange(12.0).reshape(3, 4), "m": m, "numpy": numpy}


def evaluated(call, m):
    try:
        r = eval(call, operands(m))
    except (TypeError, ValueError, OverflowError) as error:
        return type(error).__name__
    return numpy.asarray(r).dtype, r.shape, repr(numpy.asarray(r).tolist())


@pytest.mark.parametrize("call", CALLS)
def test_the_array_of_a_list_is_numpys(call):
    assert evaluated(call, np) == evaluated(call, numpy)


def test_an_array_of_values_is_its_own():
    a = np.array([0.5, 0.3])
    b = np.array([a[0], a.sum()])
    b[:] = 9
    assert a.tolist() == [0.5, 0.3]
    a[0] = 7
    assert b.tolist() == [9, 9]


def test_values_still_to_be_computed_are_waited_for():
    a = np.arange(3.0)
    for _ in range(3):
        a = a * 2
        assert np.array([a.sum(), a[1]]).tolist() == [float(a.sum()), float(a[1])]
