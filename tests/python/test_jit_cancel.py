# SPDX-License-Identifier: Apache-2.0
"""Endless loops end: by Ctrl-C soon, with their process, and nobody else waits for them meanwhile.

Times are processor time of the process that computes, or the best of many: other load is in neither.
"""

import os
import subprocess
import sys
import time

import braze
import braze.numpy as bnp
import numpy as np
import pytest
from harness import Daemon, alive, clean_environment, wait_until
from on_device import new_daemon

LOOPS = """
import os, signal, sys, threading, time
import numpy as np
import braze

signal.signal(signal.SIGINT, signal.default_int_handler)

def endless(x):
    while x[1] == 0:
        x[0] += 1
        for i in range(2, len(x)):
            x[i] = x[i - 1] * 0.5 + x[0]
    return x[0]

way, compiled, size = sys.argv[1], sys.argv[2] == "compiled", int(sys.argv[3])
x = np.zeros(size)
if way == "text":
    f = braze.kernel_from_text('''kernel f(inout x: float64[:]) {
        while x[1] == 0 { x[0] += 1; x[2:] = x[1:-1] * 0.5 } }''')
    if compiled:
        f.compile()
else:
    f = braze.jit(endless)
    x[1] = 1
    f(x)
    x[:] = 0
    if compiled:
        from braze import _core
        for site in f.__braze_jit__.sites:
            for s in (s for rows in site.specials.values() for s in rows):
                assert not _core.kernel_compile(s.kernel)
"""

INTERRUPTED = LOOPS + """
clock = time.process_time
took = []

def stop():
    time.sleep(0.3)
    took.append(clock())
    os.kill(os.getpid(), signal.SIGINT)

for _ in range(3):
    threading.Thread(target=stop).start()
    try:
        f(x)
    except KeyboardInterrupt:
        took[-1] = clock() - took[-1]
    assert x[0] > 0
print(min(took), flush=True)
"""


def child(code, daemon, *arguments):
    env = {"BRAZE_KERNEL_CODE": "0"} if arguments[1] == "interpreted" else {}
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], text=True,
                            env=clean_environment(BRAZE_SOCKET=daemon.socket, **env),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.fixture(scope="module")
def private():
    with Daemon() as started:
        yield started


@pytest.fixture(scope="module")
def bare():
    """Compiles nothing: runs stay with the code that is made at once."""
    with Daemon(tier=0) as started:
        yield started


@pytest.mark.parametrize("size", [3, 100_000])
@pytest.mark.parametrize("how", ["interpreted", "compiled"])
@pytest.mark.parametrize("way", ["jit", "text"])
def test_ctrl_c(private, way, how, size):
    process = child(INTERRUPTED, private, way, how, size)
    said, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert float(said) < 0.25, said


@pytest.mark.parametrize("size", [3, 100_000])
@pytest.mark.parametrize("way", ["jit", "text"])
def test_ctrl_c_of_code_that_is_made_at_once(bare, way, size):
    process = child(INTERRUPTED, bare, way, "at once", size)
    said, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert float(said) < 0.25, said


@pytest.mark.parametrize("how", ["interpreted", "compiled"])
def test_death_leaves_nothing(private, how):
    process = child(LOOPS + "import braze.numpy as bnp\nx = bnp.asarray(x) + 0\n"
                    "print('go', flush=True)\nf(x)\n", private, "jit", how, 3)

    def is_there():
        return process.pid in [c["pid"] for c in private.clients()]

    try:
        assert process.stdout.readline() == "go\n", process.stderr.read()
        wait_until(is_there, 30, "its session")
    finally:
        process.kill()
        process.communicate()
    wait_until(lambda: not alive(process.pid) and not is_there(), 30, "the end of its session")


def test_others_do_not_wait():
    """Their requests go to the daemon, in which no loop runs."""
    with new_daemon() as own:
        old = os.environ["BRAZE_SOCKET"]
        process = child(LOOPS + "print('go', flush=True)\nf(x)\n", own, "jit", "compiled", 3)
        try:
            assert process.stdout.readline() == "go\n", process.stderr.read()
            braze.close()
            os.environ["BRAZE_SOCKET"] = own.socket
            best = 1.0
            for k in range(50):
                begin = time.monotonic()
                assert float((bnp.asarray(np.arange(1000.0)) * 2 + k).sum()) == 999000 + 1000 * k
                best = min(best, time.monotonic() - begin)
            assert process.poll() is None and best < 0.1, best
        finally:
            braze.close()
            os.environ["BRAZE_SOCKET"] = old
            process.kill()
            process.communicate()
