# SPDX-License-Identifier: Apache-2.0
"""What stands under a condition is done when that holds only, and conditions bound indices as far as they do."""

import numpy as np
import pytest

from kernel_ways import kernel, way  # noqa: F401

HEAD = "kernel f(in x: float64[:], inout y: float64[:]) -> (t: float64) {\n  for i in 0..len(x) {\n"


@pytest.mark.parametrize(("first", "second"), [
    ("t = float64(i) + 0.5; y[i] = t", "y[i] = 2.0"),
    ("y[i] = t", "t = t + 1.0; y[i] = t"),
    ("t = t + 1.0; y[i] = 2.0", "y[i] = t"),
    ("t = x[i]; y[i] = t", "t = 9.0; y[i] = t"),
])
def test_a_branch_sets_no_variable_of_the_other(first, second):
    x, y = np.where(np.arange(11) % 3, -1.5, 3.5), np.zeros(11)
    got = kernel(f"{HEAD} if x[i] > 0.0 {{ {first} }} else {{ {second} }}\n }}\n}}")(x, y)
    want, t = np.zeros(11), 0.0
    for i in range(11):
        values = {"t": t, "x": x, "y": want, "i": i, "float64": float}
        exec(first if x[i] > 0 else second, {}, values)
        t = values["t"]
    assert got == t and (y == want).all()


def test_a_condition_that_is_set_by_its_own_branch():
    text = f"{HEAD} if go {{ t += 1.0; y[i] = t; go = x[i] > 0.0 }} else {{ go = x[i] < -1.0 }}\n }}\n}}"
    x, y = np.array([1.0, -0.5, 2, -3, 1, -2, -2]), np.zeros(7)
    assert kernel(text.replace("for i", "let go = true; for i"))(x, y) == 4
    assert y.tolist() == [1, 2, 0, 0, 3, 4, 0]


def test_a_variable_under_a_condition_that_is_asked_for_behind_it():
    text = f"{HEAD} let go = x[i] > 0.0\n if go {{ t = 4.0 * x[i]; go = x[i] > 1.0 }}\n y[i] = float64(go) + t\n }}\n}}"
    x, y = np.array([1.0, -0.5, 2, -3, 0.5, -2]), np.zeros(6)
    assert kernel(text)(x, y) == 2
    assert y.tolist() == [4, 4, 9, 8, 2, 2]


@pytest.mark.parametrize("condition", ["j <= i * 6917529027641081856", "i * 6917529027641081856 >= j",
                                       "not (j > i * 6917529027641081856)"])
def test_a_bound_that_wraps_bounds_nothing(condition):
    """At i = -2 the product is 1 << 62."""
    memory = np.zeros(300)
    text = f"kernel f(inout x: float64[:]) {{ for i in -4..1 {{ for j in 0..100 {{ if {condition} {{ x[j] = 1.0 }} }} }} }}"
    with pytest.raises(IndexError, match="index 10 is out of bounds for axis 0 of 'x' with size 10"):
        kernel(text)(memory[100:110])
    assert not memory[:100].any() and memory[100:110].all() and not memory[110:].any()


def test_a_bound_from_below_that_wraps_bounds_nothing():
    memory = np.zeros(300)
    text = ("kernel f(inout x: float64[:]) { for i in -1..5 { for j in -100..0 {"
            " if j >= i * 6917529027641081856 { x[j] = 1.0 } } } }")
    with pytest.raises(IndexError):
        kernel(text)(memory[100:110])
    assert not memory[:100].any() and not memory[110:].any()
