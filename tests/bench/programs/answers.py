# SPDX-License-Identifier: Apache-2.0
"""When an answer is right: same structure, type and shape as NumPy's, values within a tolerance."""

import numbers

import numpy

# name: (relative to, tolerance, share of elements that may differ, why)
RULES = {
    "exact": ("element", 0, 0, "integers, copies, and + - * / sqrt in a given order"),
    "element": ("element", 1e-12, 0, "functions of the mathematical library differ in their last places"),
    "reduction": ("array", 1e-11, 0, "sums and products are added in another order"),
    # Of ten million numbers NumPy's is off by 2.7e-10 and braze's by 0.7e-10.
    "running": ("array", 1e-9, 0, "differences of long running sums keep what was rounded in the sums"),
    "single": ("array", 2e-5, 0, "float32"),
    "iteration": ("array", 1e-9, 0, "rounding of many turns"),
    "branch": ("element", 1e-12, 1e-3, "a comparison decides on values that differ in their last places"),
}
EXACT, ELEMENT, REDUCTION, RUNNING, SINGLE, ITERATION, BRANCH = RULES


def flat(answer):
    """The arrays and numbers of an answer, in order."""
    if not isinstance(answer, (tuple, list)):
        return [answer]
    parts = []  # it is timed with what it is for: no call for each part
    for item in answer:
        if isinstance(item, (tuple, list)):
            parts += flat(item)
        else:
            parts.append(item)
    return parts


def wrong(got, want, rule):
    """What is wrong with an answer, or None."""
    got, want = flat(got), flat(want)
    if len(got) != len(want):
        return f"{len(got)} results, not {len(want)}"
    for place, (mine, right) in enumerate(zip(got, want, strict=True)):
        fault = wrong_array(mine, right, rule)
        if fault:
            return f"result {place}: {fault}"
    return None


def wrong_array(got, want, rule):
    if isinstance(got, numbers.Number) and not hasattr(got, "dtype") \
            and type(got) is not type(want) and not hasattr(want, "dtype"):
        return f"type {type(got).__name__}, not {type(want).__name__}"
    got, want = numpy.asarray(got), numpy.asarray(want)
    if (got.shape, got.dtype) != (want.shape, want.dtype):
        return f"{got.dtype}{list(got.shape)}, not {want.dtype}{list(want.shape)}"
    relative, tolerance, share, _ = RULES[rule]
    if tolerance == 0 or want.dtype.kind in "biu":
        bad = ~((got == want) | ((got != got) & (want != want)))
    else:
        size = numpy.abs(want)
        if relative == "array" and want.size:
            size = numpy.max(size[numpy.isfinite(size)], initial=0)
        with numpy.errstate(invalid="ignore"):  # infinities are compared below
            near = numpy.abs(got - want) <= tolerance * numpy.maximum(
                size, 1e-300 if relative == "array" else 1)
        bad = ~(near | (got == want) | ((got != got) & (want != want)))
    if bad.sum() <= share * want.size:
        return None
    where = tuple(int(k) for k in numpy.argwhere(bad)[0]) if bad.ndim else ()
    return f"{int(bad.sum())} of {want.size} differ, first at {where}: {got[where]!r}, not {want[where]!r}"
