# SPDX-License-Identifier: Apache-2.0
"""Three NumPy programs on braze: same source, same answers, other times.

Each program is a function of the array module, run once with NumPy and then with
braze.numpy. For each the demo checks the answer, asks the daemon's status socket
which kernels it made of it, and times both. It starts a daemon of its own.
"""

import http.client
import json
import os
import socket
import sys
import tempfile
import time

FOLDER = tempfile.TemporaryDirectory(prefix="braze-demo-")
STATUS = os.path.join(FOLDER.name, "demo.status.sock")
# A daemon for this process alone, so that all it tells is about these programs.
os.environ["BRAZE_PRIVATE"] = "1"
os.environ["BRAZE_STATUS_SOCKET"] = STATUS
os.environ.setdefault("BRAZE_LOG", "warn")

import numpy  # noqa: E402

try:
    import braze.numpy
except ImportError as error:
    sys.exit(f"demo: the braze package is not there ({error}); run `make build` first")

REPEATS = 5
COMPILE_SECONDS = 10  # how long warm times wait for the compiler
KERNEL_MARK = "/* ---- the kernel ---- */"


def pythagoras(np, x):
    return np.sin(x) ** 2 + np.cos(x) ** 2


def arc_distance(np, theta_1, phi_1, theta_2, phi_2):
    half = np.sin((theta_2 - theta_1) / 2) ** 2
    half = half + np.cos(theta_1) * np.cos(theta_2) * np.sin((phi_2 - phi_1) / 2) ** 2
    return 2 * np.arctan2(np.sqrt(half), np.sqrt(1 - half))


def stencil(np, grid):
    a, b = grid.copy(), grid.copy()
    for _ in range(20):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
                               + a[2:, 1:-1] + a[:-2, 1:-1])
        a, b = b, a
    return a


class UnixConnection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(10)
        self.sock.connect(STATUS)


def ask(path):
    """One page of the daemon's status socket."""
    connection = UnixConnection("braze")
    try:
        connection.request("GET", path)
        reply = connection.getresponse()
        body = reply.read()
    finally:
        connection.close()
    if reply.status != 200:
        sys.exit(f"demo: the daemon answered {path} with {reply.status}: {body[:200]!r}")
    return json.loads(body)


def kernels():
    return {k["id"]: k for k in ask("/kernels")["kernels"]}


def timed(function):
    start = time.perf_counter()
    result = function()
    return result, time.perf_counter() - start


def best(function):
    return min(timed(function)[1] for _ in range(REPEATS))


def check(name, got, want, exact):
    """braze's + - * / and sqrt are NumPy's to the last bit, functions within 4 ulp."""
    if got.dtype != want.dtype or got.shape != want.shape:
        sys.exit(f"demo: {name}: {got.dtype}{got.shape}, NumPy has {want.dtype}{want.shape}")
    if exact:
        good = numpy.array_equal(got, want)
    else:
        good = numpy.allclose(got, want, rtol=1e-12, atol=1e-12)
    error = float(numpy.max(numpy.abs(got - want)))
    print(f"   answer   {'equal to NumPy' if error == 0 else f'within {error:.1e} of NumPy'}")
    if not good:
        sys.exit(f"demo: {name}: the answer differs from NumPy's")


def await_compiled(read, before):
    """Use the program until its kernels run compiled, as a notebook would."""
    deadline = time.monotonic() + COMPILE_SECONDS
    while time.monotonic() < deadline:
        read()
        mine = [k for number, k in kernels().items() if number not in before]
        if all(k["tier"] == 1 or k["state"] == "failed" for k in mine):
            return


def show_kernels(before, with_source):
    made = [k for number, k in sorted(kernels().items()) if number not in before]
    print(f"   kernels  {len(made)} made: " + ", ".join(
        f"#{k['id']} ({k['runs']} runs, tier {k['tier']})" for k in made))
    for kernel in made if with_source else []:
        page = ask(f"/kernels/{kernel['id']}")
        prologue, _, own = page["source"].partition(KERNEL_MARK)
        print(f"\n   source of kernel #{kernel['id']} (behind {len(prologue.splitlines())} lines "
              "of prologue that every kernel shares):")
        for line in own.strip().expandtabs(4).splitlines():
            print("   | " + line)
        print()


def run(name, program, arrays, exact, with_source):
    print(f"\n{name}")
    want = program(numpy, *arrays)
    reference = best(lambda: program(numpy, *arrays))
    inputs = [braze.numpy.asarray(a) for a in arrays]
    read = lambda: numpy.asarray(program(braze.numpy, *inputs))  # noqa: E731
    before = kernels()
    got, first = timed(read)
    check(name, got, want, exact)
    del got
    await_compiled(read, before)
    warm = best(read)
    show_kernels(before, with_source)
    return name, reference, first, warm


def main():
    random = numpy.random.default_rng(1)
    n = 2_000_000
    x = random.uniform(-10, 10, n)
    places = [random.uniform(-1.5, 1.5, n // 2) for _ in range(4)]
    grid = random.uniform(0, 1, (600, 600))
    # The first use starts the daemon, which is not what is timed.
    float(braze.numpy.asarray(numpy.ones(4)).sum())
    status = ask("/status")
    print(f"brazed {status['version']}, pid {status['pid']}, worker {status['worker_pid']}")
    rows = [
        run("sin(x)**2 + cos(x)**2", pythagoras, [x], False, True),
        run("arc distance", arc_distance, places, False, True),
        run("5-point stencil, 20 steps", stencil, [grid], True, False),
    ]
    print(f"\n{'milliseconds':28}{'NumPy':>10}{'first call':>12}{'warm':>10}{'NumPy/warm':>12}")
    for name, reference, first, warm in rows:
        print(f"{name:28}{reference * 1e3:10.1f}{first * 1e3:12.1f}{warm * 1e3:10.1f}"
              f"{reference / warm:11.1f}x")


if __name__ == "__main__":
    main()
