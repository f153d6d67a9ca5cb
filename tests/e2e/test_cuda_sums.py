# SPDX-License-Identifier: Apache-2.0
"""Loops that add up scalars on cuda:0: the stand-in's bits against the processor's, how often is waited, and what
of a run that needs an element behind such a loop is done where."""

import pytest
from harness import find_nvrtc, find_standin

pytestmark = [
    pytest.mark.skipif(find_standin() is None, reason="no stand-in driver was built"),
    pytest.mark.skipif(find_nvrtc() is None, reason="there is no NVRTC"),
]

SETUP = """
import sys
sys.path.insert(0, {folder!r})
from sums_on_gpu import *
rng = numpy.random.default_rng(7)
f8 = lambda *shape: rng.standard_normal(shape)
"""


@pytest.fixture(scope="module")
def talker(gpu):
    return gpu.talker().prepared(SETUP)


FLOATS, INTEGERS = ("float64", "float32"), ("int64", "int32", "uint8")
KINDS = {
    "a dot": FLOATS, "a product": FLOATS, "a claimed difference": FLOATS, "a sum": INTEGERS,
    "a product of integers": INTEGERS, "all bits": (*INTEGERS, "bool"), "any bits": (*INTEGERS, "bool"),
    "odd bits": (*INTEGERS, "bool"),
    "the most": FLOATS + INTEGERS, "the least": FLOATS + INTEGERS,
    "the most, as Python asks": FLOATS + INTEGERS, "the last of the least": FLOATS + INTEGERS,
}
CASES = [(name, dtype) for name, types in KINDS.items() for dtype in types]


def test_all_kinds_are_tried(talker):
    assert [tuple(c) for c in talker.do("out = CASES")] == CASES


@pytest.mark.parametrize("name,dtype", CASES)
def test_any_number_of_turns(gpu, talker, name, dtype):
    """One wait for each call that has turns, none on the processor."""
    before = gpu.device("cpu")["runs"]
    assert talker.do(f"out = edges({name!r}, {dtype!r})") == [0] + [1] * 9
    assert gpu.device("cpu")["runs"] == before


@pytest.mark.parametrize("name,dtype", [c for c in CASES if c[1] in FLOATS])
def test_zeros_and_nans(talker, name, dtype):
    talker.do(f"zeros_and_nans({name!r}, {dtype!r})")


def test_complex_numbers(talker):
    talker.do("""
f = of("for i in 0..n reduction(+: s) { s += x[i] * y[i] }", "complex128")
g = of("for i in 0..n reduction(+: s) { s += x[i] * y[i] }", "complex64")
c = f8(3000) + 1j * f8(3000)
for n in (1, 1025, 3000):
    assert like(f, c, c[::-1].copy(), c[:3], n, 1 - 2j) == 1
    assert like(g, *(a.astype("c8") for a in (c, c[::-1], c[:3])), n, numpy.complex64(1 - 2j)) == 1
""")


def test_several_scalars_and_an_array(talker):
    """Of one loop, in one wait; the array is read before and behind its store."""
    assert talker.do("""
f = of('''for i in 0..n reduction(+: s, t) {
    s += x[i] * z[i]
    t -= y[i]
    u = max(u, abs(z[i]))
    z[i] = z[i] * 0.5 + x[i]
}
for i in 0..n { v = min(v, z[i]) }''', result="stuv")
out = [like(f, f8(2000), f8(2000), f8(2000), n, 0.25) for n in (0, 1, 2000)]
""") == [0, 1, 1]


def test_views(talker):
    talker.do("""
f = of("for i in 0..n reduction(+: s) { s += x[i] * y[i] }")
x, y = f8(6000), f8(6000)
ours = np.asarray(x.copy()), np.asarray(y.copy())
for cut in (slice(None, None, 2), slice(None, None, -1), slice(7, 2000, 3)):
    got = f(ours[0][cut], ours[1][cut], ours[1], len(x[cut]), 0.5)
    assert bits(got) == bits(f(x[cut], y[cut], y, len(x[cut]), 0.5))
""")


GO = {
    "norms": "norms, f8(5000)",
    "norms of float32": "norms, f8(5000).astype('f4')",
    "the most of a triangle": "triangle_most, f8(70, 90)",
    "a histogram of one": "histogram_of_one, f8(300, 40), -0.5, 0.5",
    "an empty triangle": "triangle_most, f8(0, 90)",
}


@pytest.mark.parametrize("call", GO.values(), ids=GO)
def test_functions(gpu, talker, call):
    before = gpu.device("cpu")["runs"]
    assert talker.do(f"out = [like({call}), where({call})]")[1] == ["gpu"]
    assert gpu.device("cpu")["runs"] == before


def test_a_time_loop_until_nothing_changes(gpu, talker):
    """Each turn waits for its error, once; nothing else does, and nothing is done on the processor."""
    before = gpu.device("cpu")["runs"]
    waits, turns, said = talker.do("""
u = f8(10, 12)
turns = jacobi.py_func(u.copy(), u.copy(), 0.02, 200)[0]
out = [like(jacobi, u, u.copy(), 0.02, 200), turns, where(jacobi, u, u.copy(), 0.02, 200)]
""")
    assert 3 < turns < 200
    assert waits == turns
    assert said == ["gpu"]
    assert gpu.device("cpu")["runs"] == before


def test_explanations_tell_of_waits(talker):
    (said,) = talker.do("""
x = np.asarray(f8(100))
out = [line.strip() for line in str(braze.explain(scaled, x, x + 0.0, 3)).splitlines() if "on the GPU" in line]
""")
    assert said == "on the GPU: 1 loops, whose turns are threads; a sum is waited for between them"


def test_a_loop_that_needs_a_sum(talker):
    assert talker.do("out = like(scaled, f8(3000), f8(3000), 3)") == 3


def test_the_rest_of_a_run_that_needs_an_element(talker):
    """Its first call goes and comes back; from then on it stays, and says why."""
    said = talker.do("""
like(noted, f8(500), f8(300), 3)
out = where(noted, f8(500), f8(300), 3)
for k in range(2):
    like(noted, f8(500), f8(300), 3)
""")
    assert len(said) == 1 and "touch the same bytes" in said[0], said


def test_floats_in_the_order_of_the_turns_stay(talker):
    (said,) = talker.do("like(in_order, f8(200), f8(200)); out = where(in_order, f8(200), f8(200))")
    assert "in the order of its turns" in said


def test_a_wrong_index(talker):
    """An error of the loop is one of the call, as its sum is waited for."""
    talker.do("""
f = braze.kernel_from_text('''kernel f(x: float64[:], at: int64[:]) -> (s: float64) {
    for i in 0..len(at) reduction(+: s) { s += x[at[i]] }
}''')
at = rng.integers(0, 50, 3000)
assert like(f, f8(50), at) == 1
at[2222] = 50
try:
    f(np.asarray(f8(50)), np.asarray(at))
    raise AssertionError("nothing was said")
except IndexError:
    pass
assert like(f, f8(51), at) == 1
""")


def test_a_daemon_without_them(gpu):
    """Nothing but the switch: with loops kept here the same is said by the processor."""
    talker = gpu.talker(BRAZE_KERNEL_GPU="0").prepared(SETUP)
    talker.do("like(norms, f8(3000))")
    assert talker.do("out = where(norms, f8(3000))") == []
