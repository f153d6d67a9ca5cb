# SPDX-License-Identifier: Apache-2.0
"""Data-dependent indices: a[i], take, take_along_axis against NumPy, and their errors."""

import inspect
import subprocess
import sys

import numpy
import pytest

import braze
import braze.numpy as np

DTYPES = "?bhilqBHILQfdFD"


def same(got, want):
    got, want = numpy.asarray(got), numpy.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    numpy.testing.assert_array_equal(got, want)


@pytest.fixture
def native():
    """What the test does runs natively."""
    before = dict(braze.fallbacks())
    yield
    assert dict(braze.fallbacks()) == before


def data(shape, dtype="d"):
    count = int(numpy.prod(shape))
    a = (numpy.arange(count) * 7 % 101).reshape(shape)
    return (a % 2).astype(bool) if dtype == "?" else a.astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_of_elements(native, dtype):
    a, i = data((6, 5), dtype), numpy.array([0, -1, 3, 3])
    same(np.asarray(a)[np.asarray(i)], a[i])
    same(np.asarray(a)[:, np.asarray(i)], a[:, i])


@pytest.mark.parametrize("dtype", "bhilqBHILQ")
def test_every_type_of_places(native, dtype):
    a, i = data((6, 5)), numpy.array([[0, 4], [2, 2]], dtype)
    same(np.asarray(a)[np.asarray(i)], a[i])
    same(np.asarray(a)[i], a[i])


KEYS = [
    lambda i, j: i,
    lambda i, j: (slice(None), i),
    lambda i, j: (i, j),
    lambda i, j: (i, slice(1, 3), j),
    lambda i, j: (slice(None), i, j),
    lambda i, j: (i, 1),
    lambda i, j: (1, slice(None), i),
    lambda i, j: (None, i),
    lambda i, j: (i, None, j),
    lambda i, j: (Ellipsis, i),
    lambda i, j: (i, Ellipsis, j),
    lambda i, j: (slice(None, None, -1), i),
    lambda i, j: (slice(None, None, -2), i[:, None], j),
    lambda i, j: (i[:, None], j[None, :]),
    lambda i, j: (i, j, i),
    lambda i, j: (i[:, None], j, slice(None, None, -1)),
    lambda i, j: (slice(1, None), -1, j[:0]),
    lambda i, j: (i[1:2], j),
]


@pytest.mark.parametrize("key", KEYS, ids=lambda k: inspect.getsource(k).split(":", 1)[1].strip())
def test_keys(native, key):
    a = data((4, 5, 6))
    i, j = numpy.array([0, -1, 2]), numpy.array([3, 1, -4])
    for of in (a, a.transpose(2, 0, 1), a[::-1, :, ::2], numpy.broadcast_to(a[0], (4, 5, 6))):
        ours = np.asarray(a)
        if of.shape == (6, 4, 5):
            ours = ours.transpose(2, 0, 1)
        elif of.shape == (4, 5, 3):
            ours = ours[::-1, :, ::2]
            if key in (KEYS[3], KEYS[6], KEYS[9], KEYS[10], KEYS[14]):
                continue  # its last axis is too short for j
        elif not of.strides[0]:
            ours = np.broadcast_to(ours[0], (4, 5, 6))
        try:
            want = of[key(i, j)]
        except IndexError:
            with pytest.raises(IndexError):
                numpy.asarray(ours[key(np.asarray(i), np.asarray(j))])
            continue
        same(ours[key(np.asarray(i), np.asarray(j))], want)
        same(ours[key(i, j)], want)


def test_lists_numbers_and_pending_numbers(native):
    a = data((4, 5))
    b = np.asarray(a)
    same(b[[0, 2]], a[[0, 2]])
    same(b[[0, 2], [1, -1]], a[[0, 2], [1, -1]])
    same(b[[]], a[[]])
    same(np.take(b, 3), a.take(3))
    same(np.take(b, [[1, 2]], 1), a.take([[1, 2]], 1))
    at = np.asarray(numpy.array(2)) + 1
    same(b[at], a[3])
    assert isinstance(float(np.take(b, at)), float)


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_take(native, mode, axis):
    a, i = data((4, 5)), numpy.array([[0, 3], [-1, 1]])
    if mode != "raise":
        i = i * 7 - 3
    same(np.take(np.asarray(a), np.asarray(i), axis, mode=mode), a.take(i, axis, mode=mode))
    same(np.asarray(a).take(i, axis, mode=mode), a.take(i, axis, mode=mode))


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1])
def test_take_along_axis(native, axis):
    a = data((3, 4, 5))
    i = numpy.argsort(a, axis)
    same(np.take_along_axis(np.asarray(a), np.asarray(i), axis),
         numpy.take_along_axis(a, i, axis))
    if axis is not None:
        i = i.take([0], axis)
        same(np.take_along_axis(np.asarray(a), np.asarray(i), axis),
             numpy.take_along_axis(a, i, axis))


def test_nothing_is_taken(native):
    a, none = data((4, 5)), numpy.zeros((0, 2), int)
    same(np.asarray(a)[np.asarray(none)], a[none])
    same(np.take(np.zeros((0, 3)), np.asarray(none), 0), numpy.zeros((0, 2, 3)))


def test_what_is_left_to_numpy():
    a = data((4, 5))
    b = np.asarray(a)
    same(b[b > 50], a[a > 50])
    same(b[[True, False, True, False]], a[[True, False, True, False]])
    out = np.zeros(2)
    np.take(b, [1, 2], out=out)
    same(out, a.take([1, 2]))
    with pytest.raises(IndexError):
        b[np.asarray([0.5])]
    same(np.zeros((5, 0))[np.asarray([1])], numpy.zeros((1, 0)))


def test_gathers_fuse_with_what_surrounds_them(native):
    a, i = data((40, 50)), data((40, 50), "l") % 40
    b, j = np.asarray(a), np.asarray(i)
    row = numpy.arange(50)
    same((b[(j * 3 + 1) % 40, np.arange(50)] * 2 + 1).sum(axis=0),
         (a[(i * 3 + 1) % 40, row] * 2 + 1).sum(axis=0))
    same(np.sqrt(b)[j, 3].max(), numpy.sqrt(a)[i, 3].max())
    same(b.sum(axis=1)[j[0]] + b[j[1], 0], a.sum(axis=1)[i[0]] + a[i[1], 0])
    same(b[j[0]][j[1]][:, j[2]], a[i[0]][i[1]][:, i[2]])
    same(b[b[0].astype("l") % 40], a[a[0].astype("l") % 40])


def test_versions_hold_while_a_gather_is_pending(native):
    a, i = data((40,)), data((40,), "l") % 40
    b, j = np.asarray(a.copy()), np.asarray(i.copy())
    taken = b[j]
    b += 1
    again = b[j]
    j += 1
    b[3:9] = taken[1:7]
    same(taken, a[i])
    same(again, (a + 1)[i])
    want = a + 1
    want[3:9] = a[i][1:7]
    same(b, want)


def test_a_gather_is_a_copy(native):
    a = np.arange(6.0)
    b = a[np.asarray([1, 2])]
    b += 10
    same(a, numpy.arange(6.0))


def test_many_elements(native):
    a = data((1 << 20,))
    i = (numpy.arange(3 << 20) * 48271) % (1 << 20)
    same(np.asarray(a)[np.asarray(i)], a[i])
    same((np.asarray(a)[np.asarray(i)] * 2).sum(), (a[i] * 2).sum())


def test_other_kernels_give_the_same(native):
    a, i = data((60, 70)), data((60,), "l") % 70
    for _ in range(40):  # long enough for a compiled kernel to take over
        same((np.asarray(a)[:, np.asarray(i)] + 1).sum(axis=1), (a[:, i] + 1).sum(axis=1))


# ---- wrong places ----


@pytest.mark.parametrize("key", [[4], numpy.array([0, -5]), (slice(None), [5]), ([0], 7)],
                         ids=str)
def test_known_places_are_checked_at_once(key):
    with pytest.raises(IndexError) as theirs:
        numpy.zeros((4, 5))[key]
    with pytest.raises(IndexError) as ours:
        np.zeros((4, 5))[key]
    assert str(ours.value) == str(theirs.value)


def test_known_places_of_take():
    for places, axis in ([20], None), ([0, -5], 0), ([[5]], 1):
        with pytest.raises(IndexError) as theirs:
            numpy.zeros((4, 5)).take(places, axis)
        with pytest.raises(IndexError) as ours:
            np.take(np.zeros((4, 5)), places, axis)
        assert str(ours.value) == str(theirs.value)
    with pytest.raises(IndexError, match="shape mismatch"):
        np.zeros((4, 5))[np.asarray([1, 2]), np.asarray([1, 2, 3])]
    with pytest.raises(IndexError, match="too many indices"):
        np.zeros(4)[np.asarray([1, 2]), 0]


def test_a_wrong_place_is_told_when_the_value_is_asked_for():
    a, i = np.arange(5.0), np.asarray([1, 9, 2, 7, -8])
    line = inspect.currentframe().f_lineno + 1
    b = a[i * 1]
    with pytest.raises(IndexError) as e:
        numpy.asarray(b)
    assert str(e.value).startswith("index 7 is out of bounds for axis 0 with size 5")
    assert f"test_gather.py:{line})" in str(e.value)
    with pytest.raises(IndexError, match="index 7 "):  # and again
        numpy.asarray(b)


def test_the_axis_is_named():
    a = np.zeros((4, 5, 6))
    i, far = np.asarray([0, 1]), np.asarray([0, 6])
    for key, text in (
        ((slice(None), far - 1, i), "index 5 is out of bounds for axis 1 with size 5"),
        ((None, i, None, slice(None), far), "index 6 is out of bounds for axis 2 with size 6"),
        ((i, -far), "index -6 is out of bounds for axis 1 with size 5"),
    ):
        with pytest.raises(IndexError, match=text):
            numpy.asarray(a[key])


def test_what_does_not_depend_on_it_can_be_had():
    a, i = np.arange(5.0), np.asarray([1, 9])
    good = a * 2
    bad = a[i] + good[0]
    later = bad * 2
    fused = np.sqrt(a) + a
    both = a[np.asarray([1, 2])] * 3
    for x in (later, bad):
        with pytest.raises(IndexError, match="index 9 "):
            numpy.asarray(x)
    same(good, numpy.arange(5.0) * 2)
    same(fused, numpy.sqrt(numpy.arange(5.0)) + numpy.arange(5.0))
    same(both, [3.0, 6.0])


def test_two_gathers_of_one_kernel_fail_apart():
    a = np.arange(50.0)
    i = np.asarray(numpy.arange(30))
    one, two, three = a[i], a[i + 30], a[i + 10]
    with pytest.raises(IndexError, match="index 50 "):
        numpy.asarray(one + two + three)
    same(one + three, numpy.arange(50.0)[:30] + numpy.arange(50.0)[10:40])


def test_a_write_of_a_wrong_gather_fails_what_is_written():
    a, i = np.arange(5.0), np.asarray([1, 9])
    kept = a * 1
    a[:2] = a[i]
    with pytest.raises(IndexError):
        numpy.asarray(a)
    same(kept, numpy.arange(5.0))


def test_reductions_of_wrong_places_fail():
    a, i = np.arange(1000.0), np.asarray(numpy.arange(300000) % 1000)
    same(a[i].sum(), numpy.arange(1000.0)[numpy.arange(300000) % 1000].sum())
    with pytest.raises(IndexError, match="index 1000 "):
        float(a[i + 1].sum())


def test_at_once_in_eager_mode():
    with braze.eager():
        a, i = np.arange(5.0), np.asarray([1, 9])
        with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 5"):
            a[i]
        same(a[i - 5], numpy.arange(5.0)[numpy.array([-4, 4])])


def test_other_clients_are_not_affected():
    program = """
import numpy, braze.numpy as np
for k in range(30):
    a = np.arange(1000.0)
    try:
        numpy.asarray(a[np.asarray([5, 1000 + k])] * 2)
    except IndexError as e:
        assert f"index {1000 + k} " in str(e), e
    else:
        raise SystemExit("no error")
"""
    child = subprocess.Popen([sys.executable, "-c", program])
    a, i = data((5000,)), data((5000,), "l")
    while child.poll() is None:
        same(np.asarray(a)[np.asarray(i)] + 1, a[i] + 1)
    assert child.returncode == 0
