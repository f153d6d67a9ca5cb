#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpubench.py - braze on a GPU beside the libraries that people would use instead.

In:  a daemon beside it (../bin/brazed, or BRAZE_DAEMON), NumPy; CuPy, PyTorch and JAX
     where they can be imported, on the GPU if they find one.
Out: the tables of docs/benchmarks.md on stdout, everything as JSON with --json.

Every program is one function over an array module. A row's contenders run in turns in
this one process on the same data, already on the device, some calls in each turn, and each call
is followed by waiting for the device, where the result stays; results are compared before anything
is timed. braze computes in another process than the others: a GPU takes some 100 us to go from
one process to another, so the first call of each turn does not count. "auto" is braze choosing the
device itself.
"""

import argparse
import contextlib
import http.client
import importlib
import inspect
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy

HERE = Path(__file__).resolve().parent
DEVICE = "cuda:0"


# ---- A daemon of our own ----


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("braze")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(30)
        self.sock.connect(self.path)


class Daemon:
    """brazed with the device, on sockets in a temporary folder."""

    def __init__(self):
        named = os.environ.get("BRAZE_DAEMON")
        places = [Path(named)] if named else [HERE.parent / "bin/brazed",
                                              HERE.parents[1] / "build/bin/brazed"]
        program = next((p for p in places if os.access(p, os.X_OK)), None)
        if program is None:
            sys.exit("gpubench: no brazed found; name one with BRAZE_DAEMON")
        self.folder = tempfile.TemporaryDirectory(prefix="gpubench-")
        self.socket = os.path.join(self.folder.name, "socket")
        self.status = os.path.join(self.folder.name, "status")
        self.log = os.path.join(self.folder.name, "log")
        settings = {"socket": self.socket, "status_socket": self.status,
                    "cache_dir": os.path.join(self.folder.name, "cache"),
                    "device": f"cpu,{DEVICE}"}
        # No trials of geometries while others are measured.
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [str(program), *(f"-o{k}={v}" for k, v in settings.items())], stderr=log,
                stdin=subprocess.DEVNULL, env=os.environ | {"BRAZE_WORKER_TUNE": "0"})
        deadline = time.monotonic() + 60
        while self.device() is None or self.device()["state"] == "starting":
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit("gpubench: brazed does not start:\n" + Path(self.log).read_text())
            time.sleep(0.02)

    def ask(self, page):
        with contextlib.closing(Unix(self.status)) as connection:
            connection.request("GET", page)
            return json.loads(connection.getresponse().read())

    def device(self, name=DEVICE):
        try:
            rows = self.ask("/status")["devices"]
        except OSError:
            return None
        return next((row for row in rows if row["name"] == name), None)

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)
        self.folder.cleanup()


# ---- Programs: functions of an array module and arrays ----


def pythagoras(np, x):
    return np.sin(x) ** 2 + np.cos(x) ** 2


def arc(np, lat1, lon1, lat2, lon2):
    """Great-circle distance, by the haversine formula."""
    h = np.sin((lat2 - lat1) * 0.5) ** 2
    h = h + np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) * 0.5) ** 2
    return 12742.0 * np.arcsin(np.sqrt(np.minimum(h, 1.0 + 0 * h)))


def stencil(np, a):
    return 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])


def chain(np, x, y):
    t = x * 2 + y
    t = t * t - x
    t = (t + 1) * y
    t = t / (x * x + 1)
    return np.sqrt(np.abs(t)) - y


def softmax(np, a):
    e = np.exp(a - np.max(a, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def total(np, x, y):
    d = x - y
    return np.sum(d * d)


def rows(np, a):
    return np.sum(a * a, axis=1)


def columns(np, a):
    return np.sum(a, axis=0)


def running(np, a):
    return np.cumsum(a * a, axis=1)


def ordered(np, x):
    return np.sort(x)


def chosen(np, x):
    return x[x > 0]


def transformed(np, x):
    return np.absolute(np.fft.fft(x))


def product(np, a, b):  # noqa: ARG001 - programs are functions of a module
    return a @ b


def flat(count, low=-10.0, high=10.0):
    def make(rng, n, dtype):
        return [rng.uniform(low, high, n).astype(dtype) for _ in range(count)]

    return make


def square(columns_of_row):
    def make(rng, n, dtype):
        wide = columns_of_row or int(n**0.5)
        return [rng.uniform(-4, 4, (max(3, n // wide), wide)).astype(dtype)]

    return make


# Name: program, its operands, bytes that must move for each element and byte of it.
PROGRAMS = {
    "sin(x)^2 + cos(x)^2": (pythagoras, flat(1), 2),
    "arc distance": (arc, flat(4, -1.5, 1.5), 5),
    "12-op chain": (chain, flat(2, 1, 2), 3),
    "5-point stencil": (stencil, square(0), 2),
    "softmax of rows": (softmax, square(1000), 2),
    "sum((x - y)^2)": (total, flat(2), 2),
    "sums of rows": (rows, square(0), 1),
    "sums of columns": (columns, square(0), 1),
    "running sums of rows": (running, square(1000), 2),
    "sort": (ordered, flat(1), 2),
    "x[x > 0]": (chosen, flat(1), 2.5),
    "fft": (transformed, flat(1), 3),
}


# ---- Contenders ----


class Contender:
    """A library: how arrays get there, how a call is made and waited for."""

    def __init__(self, name):
        self.name = name

    def put(self, arrays):
        return arrays

    def call(self, program, arrays):
        return program(numpy, *arrays)

    def get(self, result):
        return numpy.asarray(result)

    def kernels(self):
        """(launches, seconds on the device) so far; None: it does not tell."""
        return None

    def peak(self):
        """Bytes of device memory at most since reset(); None: it does not tell."""
        return None

    def reset(self):
        pass


class Braze(Contender):
    def __init__(self, name, device, daemon):
        super().__init__(name)
        self.device, self.daemon = device, daemon
        self.braze = importlib.import_module("braze")
        self.np = importlib.import_module("braze.numpy")

    def put(self, arrays):
        with self.braze.device(self.device):
            mine = [self.np.asarray(a) for a in arrays]
        self.braze.wait(*mine)
        return mine

    def call(self, program, arrays):
        with self.braze.device(self.device):
            result = program(self.np, *arrays)
        self.braze.wait(result)
        return result

    def kernels(self):
        status = self.daemon.ask("/status")
        return status["steps"], status["device_busy_seconds"]

    def peak(self):
        return self.daemon.device()["used_bytes"]


class Cupy(Contender):
    def __init__(self):
        super().__init__("CuPy")
        self.cupy = importlib.import_module("cupy")
        self.cupy.zeros(1).sum().item()

    def put(self, arrays):
        return [self.cupy.asarray(a) for a in arrays]

    def call(self, program, arrays):
        result = program(self.cupy, *arrays)
        self.cupy.cuda.runtime.deviceSynchronize()
        return result

    def get(self, result):
        return self.cupy.asnumpy(result)

    def peak(self):
        return self.cupy.get_default_memory_pool().total_bytes()

    def reset(self):
        self.cupy.get_default_memory_pool().free_all_blocks()


class TorchNames:
    """The names that the programs use, in PyTorch."""

    def __init__(self, torch):
        for name in "sin cos sqrt abs exp minimum".split():
            setattr(self, name, getattr(torch, name))
        self.arcsin, self.absolute, self.fft = torch.asin, torch.abs, torch.fft
        self.torch = torch

    def sum(self, a, axis=None, keepdims=False):
        return a.sum() if axis is None else a.sum(dim=axis, keepdim=keepdims)

    def max(self, a, axis, keepdims):
        return a.amax(dim=axis, keepdim=keepdims)

    def cumsum(self, a, axis):
        return a.cumsum(dim=axis)

    def sort(self, a):
        return a.sort().values


class Torch(Contender):
    def __init__(self, compiled):
        super().__init__("torch.compile" if compiled else "PyTorch")
        self.torch = importlib.import_module("torch")
        self.device = "cuda" if self.torch.cuda.is_available() else "cpu"
        if self.device == "cpu":
            self.name += " (CPU)"
        self.np = TorchNames(self.torch)
        self.compiled = {} if compiled else None

    def put(self, arrays):
        return [self.torch.from_numpy(a).to(self.device) for a in arrays]

    def call(self, program, arrays):
        if self.compiled is None:
            result = program(self.np, *arrays)
        else:
            if program not in self.compiled:
                self.compiled[program] = self.torch.compile(lambda *a: program(self.np, *a),
                                                            dynamic=False)
            result = self.compiled[program](*arrays)
        if self.device == "cuda":
            self.torch.cuda.synchronize()
        return result

    def get(self, result):
        return result.cpu().numpy()

    def peak(self):
        return self.torch.cuda.max_memory_allocated() if self.device == "cuda" else None

    def reset(self):
        if self.compiled is not None:
            # All programs are one lambda's code, and after some shapes of that it would
            # go on without compiling.
            self.compiled.clear()
            self.torch.compiler.reset()
        if self.device == "cuda":
            self.torch.cuda.empty_cache()
            self.torch.cuda.reset_peak_memory_stats()


class Jax(Contender):
    def __init__(self):
        super().__init__("JAX")
        # Else it takes three quarters of the device, and the others find no room.
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        self.jax = importlib.import_module("jax")
        self.jax.config.update("jax_enable_x64", True)
        self.np = importlib.import_module("jax.numpy")
        self.compiled = {}
        if self.jax.devices()[0].platform == "cpu":
            self.name += " (CPU)"

    def put(self, arrays):
        return [self.jax.device_put(a) for a in arrays]

    def call(self, program, arrays):
        function = self.compiled.get(program)
        if function is None:
            function = self.jax.jit(lambda *a: program(self.np, *a))
            self.compiled[program] = function
        return function(*arrays).block_until_ready()

    def peak(self):
        stats = self.jax.devices()[0].memory_stats() or {}
        return stats.get("peak_bytes_in_use")


def brief(error):
    """One line of an exception; some have no text."""
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:150]}"


def contenders(daemon):
    """Those that are here; NumPy where no other library is."""
    found = [Braze("braze", DEVICE, daemon)]
    makers = [Cupy, lambda: Torch(False), lambda: Torch(True), Jax]
    for make in makers:
        try:
            found.append(make())
        except ImportError as e:
            print(f"# left out: {e}")
        except Exception as e:  # noqa: BLE001 - a library that is broken here is left out
            print(f"# left out: {brief(e)}")
    if len(found) == 1:
        found.append(Contender("NumPy"))
    return found


# ---- Measuring ----

IN_A_TURN = 5


def timed(function):
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def rounds_for(seconds, most):
    return max(3, min(most, int(2 / max(seconds, 1e-6))))


def same(a, b, dtype):
    """Near enough that both computed the same thing."""
    tolerance = {"float16": 1e-2, "float32": 1e-4}.get(dtype, 1e-9)
    with numpy.errstate(all="ignore"):
        return numpy.shape(a) == numpy.shape(b) and numpy.allclose(a, b, rtol=tolerance,
                                                                   atol=tolerance, equal_nan=True)


def prepare(contender, program, arrays, dtype, reference):
    """Operands there, compiled, its result right; None: it cannot. (first call, operands)"""
    try:
        contender.reset()
        mine = contender.put(arrays)
        first, result = timed(lambda: contender.call(program, mine))
        for _ in range(4):
            contender.call(program, mine)
        if not same(contender.get(result), reference, dtype):
            print(f"# {contender.name}: another result, left out")
            return None
    except Exception as e:  # noqa: BLE001 - out of memory, an operation that it lacks
        print(f"# {contender.name}: {brief(e)}")
        return None
    return first, mine


def measure(group, program, arrays, dtype, most, reference=None):
    """Rows of those that run, called in turns; `reference`: NumPy's result, where it would take long."""
    if reference is None:  # sums in double: NumPy's own of many rows in single are the least exact
        wide = "sum" in inspect.getsource(program)
        reference = program(numpy, *(a.astype("float64") if wide else a for a in arrays))
    ready = {}
    for contender in group:
        found = prepare(contender, program, arrays, dtype, reference)
        if found:
            ready[contender] = found
    del reference
    times = {c: [] for c in ready}
    before = {c: c.kernels() for c in ready}
    spent = {c: timed(lambda c=c: c.call(program, ready[c][1]))[0] for c in ready}
    turns = -(-rounds_for(sum(spent.values()), most) // IN_A_TURN)
    for _ in range(turns):
        for c in ready:
            c.call(program, ready[c][1])
            times[c] += [timed(lambda c=c: c.call(program, ready[c][1]))[0]
                         for _ in range(IN_A_TURN)]
    result = []
    for c in ready:
        row = {"name": c.name, "first_s": ready[c][0], "seconds": statistics.median(times[c]),
               "peak_bytes": c.peak(), "launches": None, "device_s": None}
        after = c.kernels()
        if after is not None:
            calls = turns * (1 + IN_A_TURN) + 1
            row["launches"] = (after[0] - before[c][0]) / calls
            row["device_s"] = (after[1] - before[c][1]) / calls
        result.append(row)
    ready.clear()
    for contender in group:
        contender.reset()  # what it keeps is room for the others
    return result


def operands(name, n, dtype):
    return PROGRAMS[name][1](numpy.random.default_rng(1), n, dtype)


def number(value, scale, digits):
    return "" if value is None else f"{value * scale:.{digits}f}"


def table(head, lines):
    print("\n| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for line in lines:
        print("| " + " | ".join(str(cell) for cell in line) + " |")


def told(found):
    """Milliseconds of each in a line, for who ends this before its tables."""
    return ", ".join(f"{r['name']} {number(r['seconds'], 1e3, 3)}" for r in found)


def throughput(group, names, sizes, dtypes, most, record):
    lines = []
    for name, (program, _, moves) in PROGRAMS.items():
        if not any(part in name for part in names):
            continue
        for dtype in dtypes:
            for n in sizes:
                arrays = operands(name, n, dtype)
                found = measure(group, program, arrays, dtype, most)
                bytes_ = moves * n * numpy.dtype(dtype).itemsize
                base = next((r["seconds"] for r in found if r["name"] == "braze"), None)
                for r in found:
                    r.update(program=name, dtype=dtype, elements=n)
                    record["throughput"].append(r)
                    host = None if r["device_s"] is None else r["seconds"] - r["device_s"]
                    lines.append([
                        name, dtype, f"{n:.0e}", r["name"], number(r["first_s"], 1e3, 1),
                        number(r["seconds"], 1e3, 3), number(r["device_s"], 1e3, 3),
                        number(host, 1e3, 3), number(bytes_ / r["seconds"], 1e-9, 0),
                        number(r["launches"], 1, 1), number(r["peak_bytes"], 2**-20, 0),
                        "" if base is None else f"{r['seconds'] / base:.2f}"])
                print(f"# {name}, {dtype}, {n:.0e}: {told(found)}", flush=True)
    table(["program", "type", "elements", "library", "first ms", "ms", "of it device ms",
           "host and waiting ms", "GB/s", "launches", "device MiB", "over braze"], lines)


def multiplied(a, b):
    """Their product by NumPy, whose BLAS has neither halves nor integers."""
    if a.dtype.kind == "f":
        return (a.astype("float64") @ b.astype("float64")).astype(a.dtype)
    return (a.astype("float64") @ b.astype("float64")).astype("int64").astype(a.dtype)


def products(group, sides, dtypes, most, record):
    """Of square matrices; halves are added up in single precision, bytes wrap."""
    lines = []
    for dtype in dtypes:
        for n in sides:
            rng = numpy.random.default_rng(2)
            low, high = (-1, 1) if numpy.dtype(dtype).kind == "f" else (-100, 100)
            arrays = [rng.uniform(low, high, (n, n)).astype(dtype) for _ in range(2)]
            found = measure(group, product, arrays, dtype, most, multiplied(*arrays))
            base = next((r["seconds"] for r in found if r["name"] == "braze"), None)
            for r in found:
                r.update(dtype=dtype, side=n)
                record["products"].append(r)
                lines.append([dtype, n, r["name"], number(r["first_s"], 1e3, 1), number(r["seconds"], 1e3, 3),
                              number(r["device_s"], 1e3, 3), number(2 * n**3 / r["seconds"], 1e-9, 0),
                              "" if base is None else f"{r['seconds'] / base:.2f}"])
            print(f"# product, {dtype}, {n}: {told(found)}", flush=True)
    table(["type", "n x n", "library", "first ms", "ms", "of it device ms", "GFLOP/s", "over braze"], lines)


def moving(daemon, sizes, most, record):
    """Operands in host memory: what bringing them there and the result back costs."""
    braze = Braze("braze", DEVICE, daemon)
    lines = []
    for n in sizes:
        x = operands("sin(x)^2 + cos(x)^2", n, "float64")
        up, there, back = [], [], []
        for _ in range(rounds_for(n / 1e8, most)):
            t, mine = timed(lambda x=x: braze.put(x))
            up.append(t)
            t, result = timed(lambda mine=mine: braze.call(pythagoras, mine))
            there.append(t)
            t, _ = timed(lambda result=result: numpy.asarray(result).sum())
            back.append(t)
            del mine, result
        row = {"elements": n, "import_s": statistics.median(up),
               "upload_and_run_s": statistics.median(there),
               "read_s": statistics.median(back)}
        record["moving"].append(row)
        lines.append([f"{n:.0e}", number(row["import_s"], 1e3, 3),
                      number(row["upload_and_run_s"], 1e3, 3), number(row["read_s"], 1e3, 3)])
    table(["elements", "copied in ms", "uploaded, run, stored ms", "summed by NumPy ms"], lines)


def placement(daemon, most, record, largest):
    """"auto" against both devices, from small to large."""
    ways = [Braze(d, d, daemon) for d in ("auto", "cpu", DEVICE)]
    for name in ("12-op chain", "sum((x - y)^2)"):
        lines, n = [], 1000
        while n <= largest:
            arrays = operands(name, n, "float64")
            runs = daemon.device()["runs"]
            found = {r["name"]: r["seconds"]
                     for r in measure(ways, PROGRAMS[name][0], arrays, "float64", most)}
            alone = daemon.device()["runs"] - runs
            if len(found) == 3:
                best = min(found["cpu"], found[DEVICE])
                record["placement"].append({"program": name, "elements": n, **found,
                                            "device_runs": alone})
                lines.append([f"{n:.0e}", *(number(found[w.name], 1e6, 1) for w in ways),
                              f"{found['auto'] / best:.2f}"])
            n *= 10
        print(f"\n{name}, float64")
        table(["elements", "auto us", "cpu us", f"{DEVICE} us", "auto over the better"], lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", default="", help="those that have one of these in their names, with commas")
    parser.add_argument("--sizes", default="1e6,1e7,1e8", help="elements, with commas")
    parser.add_argument("--types", default="float32,float64")
    parser.add_argument("--rounds", type=int, default=15, help="calls of each at most")
    parser.add_argument("--largest", type=float, default=1e8, help="for the auto device")
    parser.add_argument("--sides", default="1024,4096,8192", help="of matrices that are multiplied")
    parser.add_argument("--products", default="float16,float32,float64,int8", help="types of them")
    parser.add_argument("--parts", default="throughput,products,moving,placement")
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    sizes = [int(float(s)) for s in arguments.sizes.split(",")]
    parts = arguments.parts.split(",")
    record = {"throughput": [], "products": [], "moving": [], "placement": []}
    warnings.simplefilter("ignore")

    daemon = Daemon()
    os.environ["BRAZE_SOCKET"] = daemon.socket
    sys.path.insert(0, str(HERE))
    try:
        record["device"] = device = daemon.device()
        print(f"# {device['name']}: {device['model'] or '?'}, {device['state']} {device['text']}")
        if device["state"] != "usable":
            return 1
        if "throughput" in parts:
            throughput(contenders(daemon), arguments.programs.split(","), sizes,
                       arguments.types.split(","), arguments.rounds, record)
        if "products" in parts:
            products(contenders(daemon), [int(n) for n in arguments.sides.split(",")],
                     arguments.products.split(","), arguments.rounds, record)
        if "moving" in parts:
            moving(daemon, sizes, arguments.rounds, record)
        if "placement" in parts:
            placement(daemon, arguments.rounds, record, int(arguments.largest))
        if arguments.json:
            Path(arguments.json).write_text(json.dumps(record, indent=1))
    finally:
        if "braze" in sys.modules:
            sys.modules["braze"].close()
        daemon.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
