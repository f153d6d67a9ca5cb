# SPDX-License-Identifier: Apache-2.0
"""Programs that record very much before they read, or for very long."""

import time

import pytest
from harness import ROOT, Daemon, crash_environment, kill9, wait_until

CHAIN = """
import numpy, braze.numpy as np
host = numpy.linspace(0, 1, 50)
x, want = np.asarray(host), host.copy()
for i in range(20_000):
    x = x * 0.999 + 0.001
    want = want * 0.999 + 0.001
assert numpy.array_equal(numpy.asarray(x), want)
"""

IN_PLACE = """
import numpy, braze.numpy as np
x, want = np.asarray(numpy.ones(50)), numpy.ones(50)
for i in range(10_000):
    x += 0.5
    x[1:-1] = x[:-2] * 0.5
    want += 0.5
    want[1:-1] = want[:-2] * 0.5
assert numpy.array_equal(numpy.asarray(x), want)
"""

LIVE = """
import numpy, braze, braze.numpy as np
x = np.asarray(numpy.arange(20.0))
held = [x * float(i) + 1 for i in range(5000)]
braze.wait(*held[::10])
for i in range(0, 5000, 7):
    assert numpy.array_equal(numpy.asarray(held[i]), numpy.arange(20.0) * i + 1), i
views = [h[3:7] for h in held]
del held
assert float(sum(v[0] for v in views[:50])) == sum(3.0 * i + 1 for i in range(50))
"""


@pytest.mark.parametrize("program", [CHAIN, IN_PLACE, LIVE], ids=["chain", "in place", "live"])
def test_long_trace(daemon, program):
    daemon.run(program)
    status = daemon.status()
    assert status["worker_deaths_count"] == 0 and status["pending_ops_count"] == 0


def test_loop_that_allocates(daemon):
    """Freed memory is used again: the arena stays within a few arrays."""
    client = daemon.popen(
        "import sys, braze, braze.numpy as np\n"
        "for i in range(400):\n"
        "    x = np.ones(200_000) * float(i)\n"
        "    y = x[::2] + 1\n"
        "    assert float(y[5]) == i + 1\n"
        "print('done', flush=True)\nsys.stdin.readline()")
    assert client.stdout.readline() == "done\n", client.stderr.read()
    status = daemon.status()
    # The first lease is address space only; four arrays live at once at most.
    assert status["arena_bytes"] < (64 << 20) + 20 * 1_600_000
    assert status["client_bytes"] < 4 * 1_600_000


def test_imports_in_a_loop(daemon):
    """Host data that was taken over and dropped is given back as well."""
    client = daemon.popen(
        "import sys, numpy, braze.numpy as np\n"
        "host = numpy.ones(1_000_000)\n"
        "for i in range(150):\n"
        "    assert float(np.asarray(host).sum()) == 1e6\n"
        "print('done', flush=True)\nsys.stdin.readline()")
    assert client.stdout.readline() == "done\n", client.stderr.read()
    # 1.2 GB went through.
    assert daemon.status()["arena_bytes"] < 512 << 20


def test_quota():
    """More than the quota is a MemoryError; what is freed can be used again."""
    with Daemon(quota_bytes="256M") as daemon:
        daemon.run(
            "import numpy, braze, braze.numpy as np\n"
            "held = []\n"
            "try:\n"
            "    for i in range(40):\n"
            "        held.append(np.ones(2_000_000) * float(i))\n"
            "        braze.wait(held[-1])\n"
            "except MemoryError as error:\n"
            "    assert 'quota' in str(error), error\n"
            "else:\n"
            "    raise AssertionError('40 arrays of 16 MB in 256 MiB')\n"
            "assert 5 < len(held) < 17\n"
            "assert float(held[3][7]) == 3\n"
            "held.clear()\n"
            "assert float((np.ones(2_000_000) * 2).sum()) == 4e6\n"
            "try:\n"
            "    np.asarray(numpy.ones(50_000_000))\n"
            "except MemoryError:\n"
            "    pass\n"
            "else:\n"
            "    raise AssertionError('400 MB of host data in 256 MiB')\n"
            "assert float(np.asarray(numpy.ones(1000)).sum()) == 1000\n")
        wait_until(lambda: daemon.status()["client_bytes"] == 0, what="its end")


SAME = """
import numpy, braze, braze.numpy as np
x = np.asarray(numpy.linspace(0.1, 1, 3000))
seen = []
for i in range(3000):           # cut several times before anything is read
    y = np.sqrt(x * 1.0001 + 0.25)
    x = y - x * 0.5
    if i % 10 == 0:
        seen.append(y[::50].sum())
print(float(x.sum()), [float(s) for s in seen[::40]])
braze.close()
"""


def test_the_same_program_is_cut_planned_and_compiled_the_same_in_every_run(daemon):
    """No clock decides where a trace is cut: ten runs make what the first one made."""
    rows, printed = [], set()
    for _ in range(10):
        printed.add(daemon.run(SAME))
        status = daemon.status()
        rows.append((status["plans"]["misses"], status["kernels"]["misses"],
                     status["plans"]["hits"]))
    assert len(printed) == 1
    plans, kernels, _ = rows[0]
    assert plans > 0 and kernels > 0
    assert {row[:2] for row in rows} == {(plans, kernels)}
    hits = [row[2] for row in rows]
    runs = {after - before for before, after in zip(hits, hits[1:], strict=False)}
    assert runs == {hits[0] + plans}, "as many partitions in each run"


TRIANGLE = """
import sys, numpy, braze, braze.numpy as np
host = numpy.arange(300.0 * 300).reshape(300, 300) % 13 + 300 * numpy.eye(300)
def lu(m, a):
    for k in range(299):
        a[k + 1:, k] /= a[k, k]
        a[k + 1:, k + 1:] -= m.outer(a[k + 1:, k], a[k, k + 1:])
    return a
want = numpy.asarray(lu(np, np.asarray(host.copy())))
assert numpy.allclose(want, lu(numpy, host.copy()))
print("ready", flush=True)
right = lost = 0
for line in sys.stdin:
    try:
        right += numpy.array_equal(numpy.asarray(lu(np, np.asarray(host.copy()))), want)
    except braze.LostError as error:
        lost += "lost" in str(error)
    print(right, lost, flush=True)
"""


def kill_in_turns(*program):
    """Kill the worker of a program that says how many of its runs were right, and lost, so far."""
    with Daemon(env=crash_environment()) as daemon:
        client = daemon.popen(*program)
        assert client.stdout.readline() == "ready\n", client.stderr.read()
        for tries in range(1, 9):
            deaths = daemon.status()["worker_deaths_count"]
            worker = wait_until(daemon.worker, what="a worker")
            client.stdin.write("go\n")
            client.stdin.flush()
            time.sleep(0.004 * tries)  # recording takes some of it, the turns the rest
            kill9(worker)
            right, lost = map(int, client.stdout.readline().split())
            assert right + lost == tries, (right, lost)
            wait_until(lambda d=deaths: daemon.status()["worker_deaths_count"] > d, what="its death")
        client.stdin.close()
        assert client.wait(30) == 0


def test_triangular_loop_whose_worker_is_killed():
    """In whatever turn it dies, the loop's result is right, or lost by name."""
    kill_in_turns(TRIANGLE)


LOOP = """
import sys, numpy, braze, braze.numpy as np
sys.path.insert(0, sys.argv[2])
import loop_programs
program = getattr(loop_programs, sys.argv[1])
want = [numpy.asarray(x) for x in program(np, 900, 120)]
for x, y in zip(want, program(numpy, 900, 120)):
    assert numpy.allclose(x, y)
print("ready", flush=True)
right = lost = 0
for line in sys.stdin:
    made = program(np, 900, 120)
    other = np.arange(5.0) * 3
    try:
        same = [numpy.array_equal(numpy.asarray(x), y) for x, y in zip(made, want)]
        right += all(same)
    except braze.LostError as error:
        lost += "lost" in str(error)
    assert numpy.array_equal(numpy.asarray(other), numpy.arange(5.0) * 3)
    print(right, lost, flush=True)
"""


@pytest.mark.parametrize("program", ["jacobi_2d", "heat_3d", "fdtd_2d", "adi", "deriche", "gathered"])
def test_loop_whose_worker_is_killed(program):
    """In whatever turn it dies, each result is right, or lost by name; what it did not write is there."""
    kill_in_turns(LOOP, program, ROOT / "tests" / "python")
