# SPDX-License-Identifier: Apache-2.0
"""Functions of NumPy's that write what they are given: arrays that overlap, Python's
lists, outputs by position, calls that fail half-way.  Each runs with NumPy's arrays and
with ours; what they wrote must be the same.
"""

import numpy
import pytest
from foreign_kinds import outcome

import braze.numpy as np

# a: 0 .. 5; m: a matrix; b: bools; all of the module.  What is written must agree.
STATEMENTS = [
    # The source overlaps what is written.
    "np.put(a, [1, 2, 3, 4], a[:4])",
    "np.put(a, [3, 1], a[2:4])",
    "a.put([1, 2, 3, 4], a[:4])",
    "a.put(indices=a[1:3], values=a[3:])",
    "a[::-1].put([1, 2], values=a[:2])",
    "np.putmask(a[1:], [True] * 5, a[:-1])",
    "np.putmask(a, a > 2, a[::-1])",
    "np.putmask(a[:3], b[:3], a[3:])",
    "np.place(a[1:], [True] * 5, a[:-1])",
    "np.place(a, b, a[::-1])",
    "np.put_along_axis(a, np.array([1, 2]), a[:2], 0)",
    "np.put_along_axis(m, np.array([[1], [0]]), m[:, :1], 1)",
    "np.copyto(a[1:], a[:-1])",
    "np.copyto(a[:-1], a[1:], where=b[1:])",
    "np.copyto(m, m.T)",
    "np.fill_diagonal(m, m[0])",
    "np.fill_diagonal(m, m[:, 1])",
    "np.fill_diagonal(m[:1], 7)",
    "np.add.at(a, [0, 0, 1], a[:3])",
    "np.add.at(a[1:], [0, 1], a[:2])",
    "np.multiply.at(a, a[:2], a[3:5])",
    "np.negative.at(a, [0, 0])",
    "a[[0, 1, 2]] = a[[2, 1, 0]]",
    "a[1:][b[1:]] = a[:-1][b[1:]]",
    "a[b] = a[b][::-1]",
    "np.add(a[1:], a[:-1], out=a[1:])",
    "np.add(a[:-1], a[1:], a[1:])",
    "np.cumsum(a[:-1], out=a[1:])",
    "np.cumsum(a[:-1], 0, None, a[1:])",
    "np.add.accumulate(a[:-1], 0, None, a[1:])",
    "np.nancumsum(a[:-1], 0, None, a[1:])",
    "a.cumsum(0, None, a)",
    "a.cumprod(0, None, out=a)",
    "np.cumulative_sum(a, out=a)",
    "np.add.reduceat(a, [0, 2, 4], 0, None, a[:3])",
    "np.take(a, [5, 4, 3], out=a[:3])",
    "np.take(a, [5, 4, 3], None, a[:3])",
    "np.dot(m, m, out=m)",
    "np.matmul(m, m, m)",
    "np.clip(a, 1, 3, a)",
    "np.round(m, 0, m)",
    "np.choose(np.array([0, 1, 0]), [a[:3], a[3:]], a[1:4])",
    "np.compress(b, a, 0, a[: int(b.sum())])",
    # Several arrays, of which some are written.
    "np.put(a, [0], m[0]); np.put(m, [0, 1], a[3:])",
    "np.putmask(m, m > 1, a[:2])",
    "np.place(m, m > 1, [a[0], a[1]])",
    "np.modf(m, m[...], m.copy())",
    "np.divmod(a, 4, a)",
    "np.divmod(a, 4, a[...], out=None)",
    "np.frexp(m, m)",
    "np.nan_to_num(m, False, 1.0)",
    "np.median(m, overwrite_input=False)",
    "np.random.default_rng(3).random(2, 'f8', m[0])",
    "np.random.default_rng(3).standard_normal(out=m[1])",
    "np.random.default_rng(3).permuted(a, out=a)",
    "np.random.default_rng(3).shuffle(a)",
    "np.random.default_rng(3).shuffle(a[::2])",
    "np.random.default_rng(3).shuffle(m)",
    "np.random.default_rng(3).shuffle(m, 1)",
    "np.random.default_rng(3).shuffle(m.T)",
    "np.random.seed(1); np.random.shuffle(a)",
    "np.random.seed(1); np.random.shuffle(m)",
    "a.sort(); a[::-1].sort()",
    "m.sort(0)",
    "m.T.sort(0)",
    "a[::-2].partition(1)",
    "a[::-1].put([0, 1], [10, 11])",
    # Lists.
    "np.random.default_rng(0).shuffle(l)",
    "np.random.seed(0); np.random.shuffle(l)",
    "l += [m[0], [a, 1]]; np.random.default_rng(0).shuffle(l)",
    "l[:] = [a, m, a[0], (a, 2), [a, [m]]]; np.random.default_rng(5).shuffle(l)",
    "l.append(l[:2]); np.random.default_rng(5).shuffle(l[-1])",
    "np.random.default_rng(5).shuffle(numpy_array)",
    # NumPy stops, after it has written a part or before.
    "np.put(a, [0, 1, 99], [7, 8, 9])",
    "np.put(a, [0, 1, 99], [7, 8, 9], mode='clip')",
    "np.put(a, [0, -99, 2], [7, 8, 9], mode='wrap')",
    "a.put([0, 99], 5)",
    "np.add.at(a, [0, 99], 1)",
    "np.put_along_axis(a, np.array([0, 99]), 5, 0)",
    "np.place(a, b, [])",
    "np.putmask(a, [True], 1)",
    "np.copyto(a, m)",
    "np.copyto(a, 1.5)",
    "np.copyto(a, m[0, 0], 'no')",
    "np.fill_diagonal(a, 1)",
    "np.random.default_rng(0).shuffle((1, 2))",
    "np.random.default_rng(0).shuffle(5)",
]


def _after(m, text):
    a, e = m.arange(6), m.array([[1.5, 2.5], [-3.5, 4.5]])
    whole = {"np": m, "a": a, "m": e, "b": a % 2 == 0, "l": [1, 2, 3, 4, 5, 6],
             "numpy_array": numpy.arange(5)}
    views = [a[1:], a[::2], e.T, e[0]]  # which see what is written
    error = None
    try:
        exec(text, whole)
    except Exception as failure:
        error = type(failure).__mro__[0].__name__
    return [whole[name] for name in ("a", "m", "b", "l", "numpy_array")], views, error


@pytest.mark.parametrize("text", STATEMENTS)
def test_what_a_function_writes_is_what_numpy_writes(text):
    assert outcome(_after, np, text) == outcome(_after, numpy, text)


def test_only_what_was_written_is_assigned():
    a, source = np.arange(6), np.arange(6)
    kept = source * 2  # recorded: reads the source as it is
    before = np.asarray(source)
    np.put(a, [0, 1], source)
    np.putmask(a, source > 3, source)
    assert source is before and kept.tolist() == [0, 2, 4, 6, 8, 10]
    assert a.tolist() == [0, 1, 2, 3, 4, 5]


def test_a_list_keeps_its_objects():
    a, b, inner = np.arange(3), np.zeros(2), [np.ones(1)]
    given = [a, b, inner, 4, "x"]
    mixed = list(given)
    np.random.default_rng(2).shuffle(mixed)
    assert [next(k for k, y in enumerate(given) if y is x) for x in mixed] != [0, 1, 2, 3, 4]
    assert {id(x) for x in mixed} == {id(x) for x in given}
    assert type(inner[0]) is np.ndarray


def test_an_output_is_what_is_returned():
    a, n = np.arange(3.0), numpy.zeros(3)
    out = np.zeros(3)
    for made in (np.cumsum(a, out=out), np.add(a, 1, out=out), np.clip(a, 0, 1, out),
                 np.take(a, [0, 1, 2], out=out), np.sum(np.ones((2, 3)), 0, out=out),
                 np.cumsum(a, 0, None, out), np.deg2rad(a, out), np.deg2rad(a, out=out)):
        assert made is out
    for made in (np.cumsum(a, out=n), np.add(a, 1, out=n), np.deg2rad(a, out=n),
                 np.take(a, [0, 1, 2], out=n), np.matmul(np.ones((3, 3)), a, out=n)):
        assert made is n
    quotient, rest = np.divmod(np.arange(3), 2, out=(None, np.zeros(3, int)))
    assert quotient.tolist() == [0, 0, 1] and rest.tolist() == [0, 1, 0]


def test_a_result_does_not_spread_over_an_output_of_numpys():
    for m in (numpy, np):
        with pytest.raises(ValueError):
            np.sum(m.ones((2, 3)), axis=0, out=numpy.zeros((2, 3)))
        with pytest.raises(ValueError):
            np.mean(m.ones((2, 3)), axis=0, out=numpy.zeros((4, 3)))
