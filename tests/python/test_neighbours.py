# SPDX-License-Identifier: Apache-2.0
"""Wrong answers that users of similar systems met; braze must not repeat them.

Each test is named after what went wrong there.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import textwrap

import numpy
import pytest

import braze
import braze.numpy as np


ROOT = pathlib.Path(__file__).resolve().parents[2]


def kernels():
    """How many kernels the daemon of these tests has made."""
    folder = os.path.dirname(os.environ.get("BRAZED") or str(ROOT / "build/bin/brazed"))
    done = subprocess.run([os.path.join(folder, "brazectl"), "--socket",
                           os.environ["BRAZE_SOCKET"], "--json", "status"],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["kernels"]["misses"]


def same(got, want):
    got = numpy.asarray(got)
    assert got.dtype == want.dtype and numpy.array_equal(got, want), (got, want)


def test_assignment_into_an_array_of_no_elements():
    """Elsewhere the index was taken modulo 0 and the device was lost."""
    a = np.zeros(0)
    a[:] = 5
    a[...] = np.zeros(1)
    a += 1
    with pytest.raises(IndexError):
        a[0] = 1
    with pytest.raises(IndexError):
        a[[0]] = 1
    assert a.tolist() == [] and float((np.ones(3) + 1).sum()) == 6


def test_index_out_of_range_neither_wraps_nor_reads_zeros():
    a = np.arange(5.0) * 2
    for index in (5, -6, [0, 5], [-6], numpy.array([2, 99])):
        with pytest.raises(IndexError):
            numpy.asarray(a[index])
        with pytest.raises(IndexError):
            a[index] = 1
    assert a.tolist() == [0, 2, 4, 6, 8]


def test_sum_over_an_axis_then_an_operation():
    """A fused sum(axis) + x was launched as one tiny grid or failed to compile."""
    x = numpy.random.default_rng(0).random((37, 65))
    a = np.array(x)
    assert numpy.allclose(numpy.asarray(a.sum(axis=0) + a), x.sum(axis=0) + x, rtol=1e-13)
    assert numpy.allclose(numpy.asarray(a - a.mean(axis=1, keepdims=True)),
                          x - x.mean(axis=1, keepdims=True), rtol=1e-12, atol=1e-15)
    same(a.min(axis=0) + a.max(axis=0), x.min(axis=0) + x.max(axis=0))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float32", "float64"])
def test_fused_minimum_and_maximum_of_every_type(dtype):
    x = (numpy.random.default_rng(1).random((9, 70)) * 100).astype(dtype)
    a = np.array(x)
    same(np.maximum(a, a[::-1]).max(axis=1), numpy.maximum(x, x[::-1]).max(axis=1))
    same(np.minimum(a, a[:, ::-1]).min(), numpy.minimum(x, x[:, ::-1]).min())


def test_norm_after_an_operation():
    x = numpy.arange(1.0, 9).reshape(2, 4)
    a = np.array(x) * 2
    assert abs(float(np.linalg.norm(a)) - numpy.linalg.norm(x * 2)) < 1e-12


@pytest.mark.parametrize("n", [2, 7, 64, 1000, 70001])
def test_in_place_sum_with_its_own_reverse(n):
    """x.add_(x.flip(0)) read what it had just written."""
    x, a = numpy.arange(float(n)), np.arange(float(n))
    x += x[::-1]
    a += a[::-1]
    same(a, x)
    x[: n // 2] = x[n // 2 : n // 2 * 2][::-1] + 1
    a[: n // 2] = a[n // 2 : n // 2 * 2][::-1] + 1
    same(a, x)


def test_reverse_after_an_indexed_write():
    x, a = numpy.arange(8), np.arange(8)
    for y in (x, a):
        y[numpy.array([1, 3])] = -5
        y += y[::-1]
    same(a, x)


def test_read_ordered_before_a_later_write_of_the_same_memory():
    """A read through a view of another type moved behind a write."""
    x, a = numpy.arange(6) * (1 + 2j), np.arange(6) * (1 + 2j)
    before, wanted = a.imag + 0, x.imag + 0
    a[1:4] = 7
    x[1:4] = 7
    a.imag[0] = x.imag[0] = 9
    same(before, wanted)
    same(a, x)


def test_in_place_with_a_broadcast_of_its_own_part():
    """The result depended on how the trace was cut into kernels."""
    start = numpy.arange(12.0).reshape(3, 4)
    for mode in (braze.unfused, braze.eager, contextlib.nullcontext):
        x, a = start.copy(), np.array(start)
        with mode():
            for y in (x, a):
                y += y[0]
                y *= y[:, :1]
                y[1:] -= y[:1]
        same(a, x)


def test_conditions_of_one_branch_are_not_those_of_the_other():
    """A guard tested the first of two values twice."""
    a, b = np.array([1.0, -1.0, 1.0, -1.0]), np.array([1.0, 1.0, -1.0, -1.0])
    r = np.where(a > 0, np.where(b > 0, 1, 2), np.where(b > 0, 3, 4))
    assert r.tolist() == [1, 3, 2, 4]


@pytest.mark.parametrize("start", [0.0, 10.0, -3.5])
def test_reduction_that_starts_from_a_value(start):
    """Parallel reductions elsewhere added the start once for each thread."""
    x = numpy.arange(200000, dtype=float)
    assert float(np.array(x).sum(initial=start)) == x.sum() + start
    total = np.full((), start)
    for part in np.split(np.array(x), 4):
        total += part.sum()
    assert float(total) == x.sum() + start


def test_loop_with_a_dependence_is_not_run_in_parallel():
    x, a = numpy.ones(300), np.ones(300)
    for i in range(1, 300):
        x[i] += x[i - 1]
        a[i] += a[i - 1]
    same(a, x)


def test_sums_do_not_depend_on_threads():
    """The same sum by 1, 2 and 5 threads."""
    code = """
        import numpy, braze.numpy as np
        x = np.array(numpy.random.default_rng(3).normal(size=(3, 100003)) * 1e8)
        print([float(v).hex() for v in (x.sum(), x.sum(axis=1)[1], x.std(), (x * x).mean())])
    """
    found = set()
    for threads in ("1", "2", "5"):
        env = {k: v for k, v in os.environ.items() if k not in ("BRAZE_SOCKET", "BRAZE_DEVICE")}
        brazed = os.environ.get("BRAZED")
        path = os.pathsep.join(filter(None, [brazed and os.path.dirname(brazed), env["PATH"]]))
        env.update(BRAZE_PRIVATE="1", BRAZE_THREADS=threads, PATH=path)
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env=env, text=True,
                              capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr
        found.add(done.stdout)
    assert len(found) == 1, found


def test_laziness_does_not_hoard_memory():
    """Every step's temporaries stayed alive until the first read."""
    a = np.ones(1 << 20)
    for _ in range(200):
        a = np.sqrt(a * 2 + 1)
    assert abs(float(a[5]) - (1 + 2**0.5)) < 1e-12


def test_scalar_arguments_do_not_make_kernels():
    """One compilation for each value of a constant."""
    a = np.arange(100.0)
    known = None
    for k in range(30):
        assert float((a * (0.25 + k) + k).sum()) == 4950 * (0.25 + k) + 100 * k
        if k == 3:  # by then the array is stored and its plans are made
            known = kernels()
    assert kernels() == known


def test_shapes_do_not_share_answers():
    """A kernel kept for one shape answered for another."""
    for n in list(range(1, 40)) + [65535, 65536, 65537]:
        x = numpy.arange(float(n))
        same(np.array(x)[::-1] * 2 + 1, x[::-1] * 2 + 1)
        assert float(np.array(x).sum()) == x.sum()
