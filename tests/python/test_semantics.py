# SPDX-License-Identifier: Apache-2.0
"""What a lazy array in shared memory must not get wrong: aliases, exports,
element writes, scalars, mixing with NumPy, processes, threads and signals."""

import copy
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading

import numpy
import pytest

import braze
import braze.numpy as np


def run_child(code, **env):
    """Run Python code in a fresh process; its output."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **env},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# ---- element writes and exports against recorded operations ----


def test_recorded_operation_does_not_see_a_later_element_write():
    a = np.arange(4.0)
    b = a * 2
    a[0] = 5
    assert b.tolist() == [0, 2, 4, 6]
    assert a.tolist() == [5, 1, 2, 3]


def test_export_keeps_its_value_when_the_array_is_changed():
    a = np.arange(4.0)
    n = numpy.asarray(a)
    a += 1
    assert n.tolist() == [0, 1, 2, 3]
    assert a.tolist() == [1, 2, 3, 4]


def test_export_cannot_be_written():
    a = np.arange(4.0)
    n = numpy.asarray(a)
    b = a * 2
    with pytest.raises(ValueError, match="read-only"):
        n[0] = 5
    with pytest.raises(ValueError):
        n.flags.writeable = True
    assert b.tolist() == [0, 2, 4, 6]


def test_host_writes_are_seen_by_later_operations_only():
    a = np.arange(4.0)
    before = a + 1
    with braze.host(a) as n:
        n[1:3] = 9
    after = a + 1
    assert before.tolist() == [1, 2, 3, 4]
    assert after.tolist() == [1, 10, 10, 4]


def test_host_refuses_operations_inside_the_block():
    a = np.arange(4.0)
    view = a[1:]
    with braze.host(a) as n:
        n[0] = 1
        for use in (lambda: a + 1, lambda: view * 2, lambda: a[0], lambda: a.sum()):
            with pytest.raises(braze.BrazeError, match="host"):
                use()
    assert (a + 1).tolist() == [2, 2, 3, 4]
    with pytest.raises(ValueError):
        n[0] = 3


def test_many_element_reads_cost_no_round_trip():
    a = np.arange(2000.0)
    a.sum().item()
    float(a[0])  # computed alone
    float(a[1])  # stores the array
    before = braze.counters()["round_trips"]
    assert sum(float(a[i]) for i in range(2000)) == 1999000
    assert braze.counters()["round_trips"] == before


def test_many_element_writes_cost_few_round_trips():
    a = np.zeros(3000)
    before = braze.counters()["round_trips"]
    for i in range(3000):
        a[i] = i
    assert braze.counters()["round_trips"] - before < 10
    assert a.sum() == 2999 * 1500


def test_writes_between_operations():
    a = np.zeros(8)
    total = 0.0
    for i in range(50):
        a[i % 8] = i
        total += float(a.sum())
    n = numpy.zeros(8)
    want = 0.0
    for i in range(50):
        n[i % 8] = i
        want += n.sum()
    assert total == want


def test_loop_of_lazy_scalars():
    a = np.arange(400.0).reshape(20, 20) / 7
    trace = 0.0
    for i in range(20):
        trace += np.tanh(a[i, i])
    want = sum(numpy.tanh(float(a[i, i])) for i in range(20))
    assert abs(trace - want) < 1e-12


# ---- views ----


def test_views_see_writes_through_each_other():
    a = np.zeros((4, 4))
    inner = a[1:-1, 1:-1]
    inner += 1
    a[1, 1] = 7
    assert inner[0, 0] == 7
    row = a[2]
    row[:] = 3
    assert inner.tolist() == [[7, 1], [3, 3]]
    assert a.sum() == 7 + 1 + 12


def test_overlapping_assignments_read_before_they_write():
    for n in (5, 70, 5000):
        a, b = numpy.arange(float(n)), np.arange(float(n))
        a[1:] = a[:-1]
        b[1:] = b[:-1]
        a[:-1] -= a[1:]
        b[:-1] -= b[1:]
        a[::-1] = a + a[0]
        b[::-1] = b + b[0]
        assert a.tolist() == b.tolist()


def test_stencil_in_place():
    def steps(np, u):
        for _ in range(5):
            u[1:-1, 1:-1] += 0.1 * (
                u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
            )
        return u

    start = numpy.random.default_rng(1).random((12, 15))
    want = steps(numpy, start.copy())
    got = steps(np, np.array(start))
    assert numpy.array_equal(numpy.asarray(got), want)


def test_base_and_sharing():
    a = np.zeros(6)
    v = a[1:][1:]
    assert v.base is a and a.base is None
    assert np.shares_memory(a, v) and not np.shares_memory(a, a + 0)


# ---- scalars ----


def test_scalars_are_values_not_views():
    a = np.arange(3.0)
    s = a[1]
    a[1] = 9
    assert s == 1.0
    t = a.sum()
    u = t
    t += 1
    assert u == 11.0 and t == 12.0
    with pytest.raises(TypeError):
        s[()] = 3


def test_scalars_act_as_numbers():
    s = np.array([1.5, 2.5]).sum()
    assert float(s) == 4.0 and int(s) == 4 and f"{s:.2f}" == "4.00" and bool(s)
    assert hash(s) == hash(4.0) and repr(s) == "np.float64(4.0)" and str(s) == "4.0"
    assert [10, 20, 30, 40, 50][np.arange(5).max()] == 50
    assert max(1.0, s) == 4.0 and round(s, 1) == 4.0 and s in (4.0, 5.0)
    assert complex(s) == 4 + 0j and range(np.arange(3).sum())[-1] == 2
    with pytest.raises(TypeError):
        hash(np.zeros(2))


def test_python_integers_that_do_not_fit():
    a = np.zeros(3, "int8")
    with pytest.raises(OverflowError):
        a + 300
    with pytest.raises(OverflowError):
        a[0] = 300
    assert (a < 300).all()
    assert (a + 100).dtype == numpy.int8


def test_lazy_scalars_that_do_not_fit():
    """NumPy refuses a scalar where it would wrap an array; a lazy one is a scalar, too."""
    a = np.zeros(3, "int8")
    big = np.arange(301)
    for value in big.max, big.sum, big.astype(float).max:
        with pytest.raises(OverflowError):
            a[0] = value()
        with pytest.raises(OverflowError):
            a[1:] = value()
    for dtype in "uint8", "int16", "uint64":
        u, want = np.zeros(2, dtype), numpy.zeros(2, dtype)
        try:
            want[0] = numpy.int64(-300)
        except OverflowError:
            with pytest.raises(OverflowError):
                u[0] = (-big).min()
        else:
            u[0] = (-big).min()
        assert u.tolist() == want.tolist()
    a[0] = big[:30].max()
    assert a.tolist() == [29, 0, 0]
    a[1:] = big[:, None].max(1)[-2:]  # an array wraps
    assert a.tolist() == [29, 43, 44]
    np.copyto(a, big.max(), casting="unsafe")
    assert a.tolist() == [44] * 3 and np.full(2, big.max(), "int8").tolist() == [44] * 2


def test_numpy_scalars_are_strong():
    a = np.ones(3, "float32")
    assert (a * 2.0).dtype == numpy.float32
    assert (a * numpy.float64(2)).dtype == numpy.float64
    assert (numpy.float64(2) * a).dtype == numpy.float64
    assert type(numpy.float64(2) * a) is np.ndarray


# ---- mixing with NumPy ----


def test_numpy_array_with_braze_array():
    n = numpy.arange(3.0)
    a = np.ones(3)
    for value in (n + a, a + n, numpy.add(n, a), numpy.where(a > 0, n, a)):
        assert type(value) is np.ndarray
    n += a
    assert type(n) is numpy.ndarray and n.tolist() == [1, 2, 3]
    numpy.multiply(a, 2, out=n)
    assert n.tolist() == [2, 2, 2]


def test_numpy_functions_dispatch():
    a = np.arange(6.0).reshape(2, 3)
    assert type(numpy.sum(a, axis=0)) is np.ndarray
    assert type(numpy.concatenate([a, a])) is np.ndarray
    before = braze.fallbacks().get("sort", 0)
    assert type(numpy.sort(a)) is np.ndarray
    assert braze.fallbacks()["sort"] == before + 1


def test_data_given_is_copied():
    n = numpy.arange(3.0)
    a = np.asarray(n)
    b = a + n
    n[0] = 50
    assert a.tolist() == [0, 1, 2] and b.tolist() == [0, 2, 4]


def test_arena_arrays_are_taken_over_without_a_copy():
    n = braze.empty((4, 2))
    n[...] = numpy.arange(8).reshape(4, 2)
    a = np.asarray(n)
    assert (a * 2).tolist() == (numpy.arange(8).reshape(4, 2) * 2).tolist()
    with pytest.raises(ValueError):
        n[0, 0] = 3
    assert a[::-1].sum() == 28


def test_shared_arrays():
    with braze.shared_arrays():
        n = numpy.arange(100.0)
        m = n * 2
    a = np.asarray(m)
    assert a.sum() == 9900
    del n, m
    assert a.sum() == 9900


def test_fallback_that_writes_its_argument():
    a = np.array([3.0, 1.0, 2.0])
    a.sort()
    assert a.tolist() == [1, 2, 3]
    np.fill_diagonal(m := np.zeros((2, 2)), 4)
    assert m.tolist() == [[4, 0], [0, 4]]
    np.put(a, [0], [9])
    assert a.tolist() == [9, 2, 3]


def test_unsupported_types_are_numpys():
    assert type(np.zeros(3, "longdouble")) is numpy.ndarray
    assert type(np.array(["a", "b"])) is numpy.ndarray
    assert (np.ones(2, "int64") + np.ones(2, "uint64")).dtype == numpy.float64
    assert np.zeros((1,) * 9).ndim == 9


def test_random_linalg_fft():
    rng = np.random.default_rng(1)
    a = rng.random((3, 3))
    assert type(a) is np.ndarray
    assert numpy.allclose(np.linalg.inv(a) @ a, numpy.eye(3))
    assert numpy.allclose(np.fft.ifft(np.fft.fft(a)), a)


# ---- values out ----


def test_pickle_and_copy():
    a = np.arange(6.0).reshape(2, 3)[:, ::2]
    for b in (pickle.loads(pickle.dumps(a)), copy.copy(a), copy.deepcopy(a)):
        assert type(b) is np.ndarray and b.tolist() == a.tolist()
        b[0, 0] = 99
        assert a[0, 0] == 0
    s = a.sum()
    assert pickle.loads(pickle.dumps(s)) == s


def test_printing():
    for values in ([1.5, 2], [[1, 2], [3, 4]], [True, False], [1j]):
        n, a = numpy.array(values), np.array(values)
        assert repr(a) == repr(n) and str(a) == str(n)
    assert repr(np.zeros((2, 0))) == repr(numpy.zeros((2, 0)))


def test_buffer_protocol():
    a = np.arange(6, dtype="int32").reshape(2, 3)
    view = memoryview(a)
    assert view.readonly and view.shape == (2, 3) and view.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert bytes(a.T) == a.T.tobytes()
    with pytest.raises(TypeError):
        view[0, 0] = 1


def test_dlpack_and_namespace():
    a = np.arange(4.0)
    assert numpy.from_dlpack(a).tolist() == [0, 1, 2, 3]
    assert a.__array_namespace__() is np and a.to_device("cpu") is a


def test_iteration_and_unpacking():
    a = np.arange(6).reshape(3, 2)
    x, y, z = a
    assert [r.tolist() for r in a] == [[0, 1], [2, 3], [4, 5]] and z.tolist() == [4, 5]
    y += 10
    assert a[1].tolist() == [12, 13]
    assert len(a) == 3 and 13 in a and 14 not in a
    with pytest.raises(TypeError):
        iter(np.zeros(()))


# ---- laziness ----


def test_results_stay_lazy_until_read():
    a = np.ones(1_000_000)  # more than any bound computes in a call
    before = braze.counters()["demands"]
    s = (a * 2 + 1).sum() / 3
    t = s * 2
    assert braze.counters()["demands"] == before
    assert float(t) == 2_000_000
    assert braze.counters()["demands"] > before


def test_wait_takes_any_number_of_arrays_and_nothing_else():
    many = [np.zeros(1000) + i for i in range(300)]
    braze.wait(*many)
    assert all(braze.is_stored(a) for a in many)
    braze.wait(), braze.wait(numpy.zeros(3), 2.5, numpy.float32(1), many[0].sum())
    for wrong in (many, "text", None, {"a": 1}):
        with pytest.raises(TypeError, match="one by one"):
            braze.wait(wrong)


def test_deep_chain():
    a = np.zeros(3)
    for _ in range(5000):
        a = a + 1
    assert a.tolist() == [5000] * 3


def test_eager():
    with braze.eager():
        a = np.arange(5.0) + 1
        assert braze.is_stored(a)
    assert a.tolist() == [1, 2, 3, 4, 5]


def test_wait_computes_several():
    a, b = np.arange(5.0) * 2, np.arange(3) + 1
    braze.wait(a, b)
    assert braze.is_stored(a) and braze.is_stored(b)


def test_device():
    with braze.device("cpu"):
        assert (np.ones(2) + 1).tolist() == [2, 2]
    assert braze.device("cpu")(np.add)(np.arange(3), 1).tolist() == [1, 2, 3]
    with pytest.raises(braze.DeviceError), braze.device("cuda:9"):
        pass
    with pytest.raises(braze.DeviceError):
        braze.device("cuda:9")(np.add)(1, np.ones(2))


def test_precision():
    """The CPU's products do not change; names are checked, and a section ends however it does."""
    a = numpy.random.default_rng(1).standard_normal((40, 40)).astype("float32")
    with braze.device("cpu"):
        want = numpy.asarray(np.asarray(a) @ np.asarray(a)).tobytes()
        with braze.precision("tf32"):
            inside = np.asarray(a) @ np.asarray(a)
            with braze.precision("full"):
                pass
        assert numpy.asarray(inside).tobytes() == want
        assert numpy.asarray(braze.precision("tf32")(np.matmul)(np.asarray(a), a)).tobytes() == want
    with pytest.raises(ValueError, match='no precision "bf16".*"full" or "tf32"'), braze.precision("bf16"):
        pass
    with pytest.raises(ZeroDivisionError), braze.precision("tf32"):
        1 / 0
    assert braze._core.set_precision(None) is None


def test_precision_of_the_process():
    code = "import braze.numpy as np; print((np.ones(3) + 1).sum())"
    for name, works in (("tf32", True), ("full", True), ("", True), ("half", False)):
        env = {**os.environ, "BRAZE_PRECISION": name}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
        assert (done.returncode == 0) == works
        assert works or 'BRAZE_PRECISION: no precision "half"' in done.stderr


# ---- errors at record time ----


def test_errors_name_operation_and_shapes():
    with pytest.raises(ValueError, match=r"\(3,?\).*\(4,?\)"):
        np.zeros(3) + np.zeros(4)
    with pytest.raises(TypeError) as caught:
        a = np.zeros(3, "int32")
        a += 1.5
    assert isinstance(caught.value, numpy._core._exceptions.UFuncTypeError)
    with pytest.raises(IndexError):
        np.zeros(3)[5]
    with pytest.raises(numpy.exceptions.AxisError):
        np.zeros(3).sum(axis=2)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(np.zeros(2))


# ---- processes, threads, signals ----


def test_fork():
    a = np.arange(3.0) + 1
    a.sum().item()
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        answer = b"no error"
        try:
            (a + 1).tolist()
        except braze.BrazeError:
            answer = b"refused"
        try:
            b = np.arange(4.0) * 2
            answer += b" %d" % int(b.sum())
        except BaseException as error:  # noqa: BLE001
            answer += repr(error).encode()
        os.write(writer, answer)
        os._exit(0)
    os.close(writer)
    os.waitpid(pid, 0)
    assert os.read(reader, 1000) == b"refused 12"
    os.close(reader)
    assert (a + 1).tolist() == [2, 3, 4]


def test_threads():
    wrong = []

    def work(k):
        for i in range(30):
            a = np.arange(50.0) + k
            a[i] = 0
            if float(a.sum()) != 1225 + 50 * k - (i + k):
                wrong.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_interrupt_while_waiting():
    """A signal handler that raises ends the wait; the array works afterwards."""
    a = np.full((1200, 1200), 0.5)

    def stop(number, frame):
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, stop)
    try:
        for _ in range(30):
            a = a @ a / 600
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        # Without an end of its own: only the interrupt is one.
        with pytest.raises(KeyboardInterrupt):
            while True:
                float(a[0, 0])
                a = a @ a / 600
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert float(np.ones(3).sum()) == 3


def test_daemon_gone(daemon):
    process, socket = daemon
    code = """
        import os, signal, time
        import braze, braze.numpy as np
        a = np.arange(3.0) + 1
        print(a.sum())
        os.kill(int(os.environ["PID"]), signal.SIGKILL)
        time.sleep(0.3)
        try:
            for _ in range(20):
                (a + 1).tolist()
            print("no error")
        except braze.DaemonGone:
            print("gone")
    """
    out = run_child(code, BRAZE_SOCKET=socket, PID=str(process.pid), BRAZE_NO_START="1",
                    BRAZE_NEAR="0")  # what is computed near misses no daemon
    assert out.split() == ["6.0", "gone"]


def test_eager_by_environment():
    code = """
        import braze, braze.numpy as np
        a = np.arange(5.0) + 1
        print(braze.is_stored(a))
    """
    assert run_child(code, BRAZE_EAGER="1").strip() == "True"


@pytest.mark.parametrize("dtype", ["i1", "f8", "c16", "?"])
@pytest.mark.parametrize("value", [[5.0], [1], [[1, 2]], [], (0,)], ids=repr)
@pytest.mark.parametrize("key", [(1, 1, ...), (1, 1), (1, slice(1, 2))], ids=repr)
def test_a_sequence_is_no_element_but_what_numpy_makes_of_it(dtype, value, key):
    """bool([5.0]) is True, and still no value of an array without axes."""
    def write(m):
        a = m.zeros((3, 3), dtype)
        try:
            a[key] = value
        except (TypeError, ValueError) as error:
            return type(error)
        return numpy.asarray(a).tolist()

    assert write(np) == write(numpy)


def test_a_write_of_ones_own_waits_for_all_that_reads_the_array():
    """Of what is pending some is kept to make a device's values again, and is to be computed besides."""
    def write(m):
        a = m.arange(72.0).reshape(9, 8) / 4
        b = a + 2
        c = b * b
        d = c * 3
        c += d
        b[m.asarray([-3, 0, 6])] = 3
        return [numpy.asarray(x).tolist() for x in (c, d, b)]

    assert write(np) == write(numpy)
