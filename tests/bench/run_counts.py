#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyFuser's programs of work units as they are written and as braze joins them: what is counted, not timed.

run_counts.py [--size test|small] [NAME ...].  Of each: calls of kernels, loops that may run at once and that
may not, and the instructions, loads and stores of one warm run, apart (`braze.unfused()`) and joined, both
compiled, on one thread.  Counted is by valgrind's callgrind, which sees the machine's instructions: what a
compiler keeps in a register is no load, and a vector is one.  Valgrind has no 512-bit vectors, so the daemon
runs in it, too, and compiles for what it finds there.
"""
import argparse
import ctypes
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import _daemon

REQUESTS = """
#include <valgrind/callgrind.h>
void count_begin(void) { CALLGRIND_ZERO_STATS; CALLGRIND_START_INSTRUMENTATION; }
void count_end(const char *of) { CALLGRIND_STOP_INSTRUMENTATION; CALLGRIND_DUMP_STATS_AT(of); }
"""
EVENTS = {"instructions": "Ir", "loads": "Dr", "stores": "Dw"}


# ---- The child, under callgrind ----


def child(library, size, names):
    """Each program once joined and once apart, each counted by itself."""
    import braze
    from programs import loop_child
    from run_fusion import UNITS, Calls

    requests = ctypes.CDLL(library)
    for name in names:
        run = Calls(UNITS[name], size)
        run()
        with braze.unfused():
            run()
        loop_child.compiled(run.sites)
        calls = {"joined": run.counted()}
        with braze.unfused():
            calls["apart"] = run.counted()
        told = str(braze.explain(run.captured, *run.arguments))
        loops = [len(set(re.findall(rf"(line [0-9]+): {word}", told))) for word in ("parallel", "sequential")]
        count(requests, run, f"{name} joined {calls['joined']} {loops[0]} {loops[1]}")
        with braze.unfused():
            count(requests, run, f"{name} apart {calls['apart']} {loops[0]} {loops[1]}")


def count(requests, run, what):
    requests.count_begin()
    run.captured(*run.arguments)
    requests.count_end(what.encode())


# ---- The parent ----


class Valgrinds:
    """A daemon in valgrind, in a folder of its own."""

    def __init__(self, folder):
        self.socket = str(folder / "brazed.sock")
        self.process = subprocess.Popen(
            ["valgrind", "-q", "--tool=none", str(_daemon.BUILD / "bin/brazed"), "-S", self.socket, "-oarena_bytes=4G",
             f"-ocache_dir={folder / 'cache'}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 120
        while not os.path.exists(self.socket):
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("no daemon came up in valgrind")
            time.sleep(0.1)

    def close(self):
        self.process.terminate()
        self.process.wait()


def counted(folder, size, names):
    """name -> way -> counts."""
    library = folder / "requests.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)], input=REQUESTS, text=True, check=True)
    daemon = Valgrinds(folder)
    env = {k: v for k, v in os.environ.items() if not k.startswith("BRAZE_")}
    env.update(BRAZE_SOCKET=daemon.socket, BRAZE_THREADS="1", OPENBLAS_NUM_THREADS="1",
               PYTHONPATH=f"{_daemon.ROOT / 'tests/bench'}{os.pathsep}{_daemon.BUILD / 'python'}")
    try:
        subprocess.run(["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", "--cache-sim=yes",
                        f"--callgrind-out-file={folder / 'counts'}", sys.executable, __file__, "--child", str(library),
                        "--size", size, *names], env=env, check=True, stderr=subprocess.DEVNULL)
    finally:
        daemon.close()
    found = {}
    for file in sorted(folder.glob("counts.*"), key=lambda f: int(f.suffix[1:])):
        text = file.read_text()
        asked = re.search(r"^desc: Trigger: Client Request: (\S+) (\S+) (\d+) (\d+) (\d+)$", text, re.MULTILINE)
        if asked:
            name, way, *numbers = asked.groups()
            events = re.search(r"^events: (.*)$", text, re.MULTILINE)[1].split()
            totals = map(int, re.search(r"^totals: (.*)$", text, re.MULTILINE)[1].split())
            of = dict(zip(events, totals))
            row = dict(zip(("calls", "parallel", "sequential"), map(int, numbers)))
            found.setdefault(name, {})[way] = row | {key: of[event] for key, event in EVENTS.items()}
    return found


def table(found):
    heads = ["program", "calls", "joined", "at once", "in order", *(f"{key}{way}" for key in EVENTS for way in (", thousands", ", joined", ", ratio"))]
    lines = [f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    ratios = {key: [] for key in EVENTS}
    for name, ways in found.items():
        apart, joined = ways["apart"], ways["joined"]
        cells = [name, apart["calls"], joined["calls"], apart["parallel"], apart["sequential"]]
        for key in EVENTS:
            ratios[key].append(apart[key] / joined[key])
            cells += [apart[key] // 1000, joined[key] // 1000, f"{ratios[key][-1]:.2f}"]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    means = [cell for key in EVENTS for cell in ("", "", f"{statistics.geometric_mean(ratios[key]):.2f}")]
    return "\n".join([*lines, f"| geometric mean | | | | | {' | '.join(means)} |"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", choices=["test", "small"], default="small")
    parser.add_argument("--child", metavar="LIBRARY", help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.child:
        return child(options.child, options.size, options.names)
    from run_fusion import UNITS

    with tempfile.TemporaryDirectory(prefix="counts-") as folder:
        print(table(counted(Path(folder), options.size, options.names or list(UNITS))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
