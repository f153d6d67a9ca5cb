#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs of loops as they are written and as braze runs them: what is counted, not timed.

run_counts.py [--size test|small] [--write] [NAME ...].  Of each program of programs/loop_table.py: calls of
kernels and loops as they are written (`braze.unfused()`) and joined; of these, loops that may run at once, that
are vectors on one thread, and that are neither; the indices that are checked in one warm run; what guards take
of its instructions; and the instructions, loads and stores of one, written and joined, both compiled, on one
thread.  Counted is by valgrind's callgrind, which sees the machine's instructions: what a compiler keeps in a
register is no load, and a vector is one.  Valgrind has no 512-bit vectors, so the daemon runs in it, too, and
compiles for what it finds there.

Guards are all that is asked before loops run: by a call, whether types and arguments are those of its kernel;
by the kernel, whether loops may be one and claims hold; and the tests of bounds before loops, whose part is what
a run takes less by code in whose place there is one comparison.

--write puts the table into docs/benchmarks.md.
"""
import argparse
import ctypes
import json
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
unsigned long bz_checks;
void count_begin(void) { CALLGRIND_ZERO_STATS; CALLGRIND_START_INSTRUMENTATION; }
void count_end(const char *of) { CALLGRIND_STOP_INSTRUMENTATION; CALLGRIND_DUMP_STATS_AT(of); }
"""
EVENTS = {"instructions": "Ir", "loads": "Dr", "stores": "Dw"}
TOGETHER = 12  # programs of one process
# What asks before loops run, and what runs a kernel's code.
ASKING, RUNNING, CALLING = {"lang_step_fuses", "lang_step_claim"}, "lang_go_over", "site_call"
BEGIN, END = "<!-- counts: begin -->", "<!-- counts: end -->"


# ---- The child ----


def child(library, size, names, how):
    """A line of JSON for each program; how: "all", "joined" (that only) or "checks" (counted by the code itself)."""
    import braze
    from programs.loop_table import LOOPS
    from run_fusion import Calls

    requests = ctypes.CDLL(library, ctypes.RTLD_GLOBAL)
    for name in names:
        run = Calls(LOOPS[name], size)
        run.warm()
        row = {"name": name, "calls": run.counted()}
        if how == "checks":
            row["checks"] = checked(requests, run)
            row |= told_of(run)
        else:
            count(requests, run, f"{name} joined")
        if how == "all":
            with braze.unfused():
                row["apart"] = run.counted()
                count(requests, run, f"{name} apart")
        print(json.dumps(row), flush=True)


def checked(requests, run):
    number = ctypes.c_ulong.in_dll(requests, "bz_checks")
    run.restore()
    before = number.value
    run.captured(*run.arguments)
    return number.value - before


def told_of(run):
    """Of all kernels of a run: lines of their texts, and what is told of the loops there."""
    from braze import _core

    run.restore()
    _core.kernel_explain(True)
    run.captured(*run.arguments)
    _core.kernel_explain(False)
    kernels = []
    for site in run.sites:
        for specials in site.specials.values():
            kernels += [(s.made.text, _core.kernel_loops(s.kernel)) for s in specials if s.kernel is not None]
    return {"kernels": [kernel for kernel in kernels if kernel[1]]}


def count(requests, run, what):
    run()
    run.restore()
    requests.count_begin()
    run.captured(*run.arguments)
    requests.count_end(what.encode())


# ---- Daemons ----


class Daemon:
    """With a compiler of its own, in valgrind or not."""

    def __init__(self, folder, changes, valgrind):
        from programs import emitted

        folder.mkdir()
        self.folder, self.socket = folder, str(folder / "brazed.sock")
        self.process = subprocess.Popen(
            [*(["valgrind", "-q", "--tool=none"] if valgrind else []), str(_daemon.BUILD / "bin/brazed"), "-S", self.socket,
             "-oarena_bytes=4G", f"-ocache_dir={folder / 'cache'}", f"-ocompiler={emitted.compiler(folder, changes)}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 120
        while not os.path.exists(self.socket):
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("no daemon came up")
            time.sleep(0.1)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.terminate()
        self.process.wait()

    def compile(self, text):
        """One kernel, by a client that ends then."""
        env = {k: v for k, v in os.environ.items() if not k.startswith("BRAZE_")}
        env.update(BRAZE_SOCKET=self.socket, PYTHONPATH=str(_daemon.BUILD / "python"))
        subprocess.run([sys.executable, "-c", "import braze, sys; braze.kernel_from_text(sys.stdin.read()).compile()"],
                       env=env, input=text, text=True, check=True)

    def ask(self, library, size, names, how, valgrind):
        """What the child prints of each program; counts lie in the folder."""
        env = {k: v for k, v in os.environ.items() if not k.startswith("BRAZE_")}
        env.update(BRAZE_SOCKET=self.socket, BRAZE_THREADS="1", OPENBLAS_NUM_THREADS="1",
                   PYTHONPATH=f"{_daemon.ROOT / 'tests/bench'}{os.pathsep}{_daemon.BUILD / 'python'}")
        tool = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", "--cache-sim=yes",
                f"--callgrind-out-file={self.folder / 'counts'}"] if valgrind else []
        done = subprocess.run([*tool, sys.executable, __file__, "--child", library, "--how", how, "--size", size, *names],
                              env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode:
            print(f"{names[len(rows)]}, {how}: status {done.returncode}\n{done.stderr[-2000:]}", file=sys.stderr)
        return {row["name"]: row for row in rows}


# ---- Counts ----


def counts_in(folder):
    """(name, way) -> counts, with the guards of calls."""
    found = {}
    for file in sorted(folder.glob("counts.*"), key=lambda f: int(f.suffix[1:])):
        text = file.read_text()
        asked = re.search(r"^desc: Trigger: Client Request: (\S+) (\S+)$", text, re.MULTILINE)
        if asked:
            events = re.search(r"^events: (.*)$", text, re.MULTILINE)[1].split()
            totals = dict(zip(events, map(int, re.search(r"^totals: (.*)$", text, re.MULTILINE)[1].split())))
            found[asked.groups()] = {key: totals[event] for key, event in EVENTS.items()} | {"guards": guards_in(text)}
    return found


def guards_in(text):
    """Instructions of what calls and kernels ask: calls without the codes that they run, and those codes' questions."""
    names, caller, callee, sum_of = {}, None, None, {}
    calls = False
    for line in text.splitlines():
        called = re.match(r"(c?)fn=\((\d+)\)(?: (.*))?", line)
        if called:
            names.setdefault(called[2], called[3])
            if called[1]:
                callee = names[called[2]]
            else:
                caller = names[called[2]]
        elif line.startswith("calls="):
            calls = True
        elif calls:
            calls = False
            key = CALLING if callee == CALLING else "asking" if callee in ASKING else \
                RUNNING if caller == RUNNING and not re.match(r"lang_|mem|explain", callee) else None
            sum_of[key] = sum_of.get(key, 0) + int(line.split()[1])
    return sum_of.get(CALLING, 0) - sum_of.get(RUNNING, 0) + sum_of.get("asking", 0)


def loops_of(kernels):
    """Loops of kernels as they are written and as they run, of which so many may run at once, are vectors on one
    thread, are neither."""
    written = joined = at_once = lanes = neither = 0
    for text, told, vectors in kernels:
        loops = [(int(line), how) for line, how in re.findall(r"^ *line (\d+): (parallel|sequential)", told, re.MULTILINE)]
        lines = {line for line, _ in loops}
        written += sum(number not in lines and bool(re.match(r" *(.* )?for \w+ in ", line))
                       for number, line in enumerate(text.splitlines(), 1)) + len(loops)
        joined += len(loops)
        at_once += sum(how == "parallel" for _, how in loops)
        lanes += len(lines & vectors)
        # Of the loops of one line, as slices are, the last one is the innermost.
        last = dict(loops)
        neither += sum(how == "sequential" for _, how in loops) - sum(last[line] == "sequential" for line in lines & vectors)
    return written, joined, at_once, lanes, neither


def vectors_of(daemon, kernels):
    """Of each kernel the lines of its text whose loops are vectors."""
    from programs import emitted

    found = []
    for text, told in kernels:
        seen = {source for source, _ in emitted.sources(daemon.folder)}
        daemon.compile(text)
        fresh = [(s, v) for s, v in emitted.sources(daemon.folder) if s not in seen]
        found.append((text, told, emitted.loops_in_lanes(*fresh[0]) if fresh else set()))
    return found


def measured(folder, size, names):
    """name -> all that is counted of it."""
    library = str(folder / "requests.so")
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=REQUESTS, text=True, check=True)
    from programs import emitted

    ways = {"all": ((), True), "joined": (emitted.WITHOUT_TESTS, True), "checks": (emitted.COUNTING_CHECKS, False)}
    found = {name: {"counts": {}} for name in names}
    for how, (changes, valgrind) in ways.items():
        with Daemon(folder / how, changes, valgrind) as daemon:
            for name, row in daemon.ask(library, size, names, how, valgrind).items():
                found[name][how] = row
        for (name, way), counts in counts_in(daemon.folder).items():
            found[name]["counts"][how, way] = counts
    with Daemon(folder / "lanes", (), False) as daemon:
        for name, row in found.items():
            row["loops"] = loops_of(vectors_of(daemon, row["checks"]["kernels"]))
    return found


# ---- The table ----


def cells_of(row):
    """What stands in a program's line, and its ratios."""
    apart, joined = row["counts"]["all", "apart"], row["counts"]["all", "joined"]
    bare = row["counts"].get(("joined", "joined"), joined)
    tests = max(joined["instructions"] - bare["instructions"], 0)
    ratios = [apart[key] / joined[key] for key in EVENTS]
    counts = [cell for key, ratio in zip(EVENTS, ratios)
              for cell in (shown(apart[key]), shown(joined[key]), f"{ratio:.2f}")]
    return [row["all"]["apart"], row["all"]["calls"], *row["loops"], row["checks"]["checks"],
            f"{100 * (joined['guards'] + tests) / joined['instructions']:.1f}", *counts], ratios


def shown(number):
    """In thousands."""
    return f"{number / 1e3:.0f}"


def table(found):
    heads = ["program", "calls", "joined", "loops", "joined", "at once", "lanes", "neither", "checks", "guards, %",
             *(f"{key}{way}" for key in EVENTS for way in (", thousands", ", joined", ", ratio"))]
    lines = [f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    columns = []
    for name, row in found.items():
        cells, ratios = cells_of(row)
        columns.append(ratios)
        lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
    means = [cell for column in zip(*columns) for cell in ("", "", f"{statistics.geometric_mean(column):.2f}")]
    return "\n".join([*lines, f"| geometric mean |{' |' * 9} {' | '.join(means)} |"])


def write_docs(text):
    file = _daemon.ROOT / "docs/benchmarks.md"
    head, rest = file.read_text().split(BEGIN)
    file.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{rest.split(END)[1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", choices=["test", "small"], default="small")
    parser.add_argument("--write", action="store_true", help="the table into docs/benchmarks.md")
    parser.add_argument("--child", metavar="LIBRARY", help=argparse.SUPPRESS)
    parser.add_argument("--how", help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.child:
        return child(options.child, options.size, options.names, options.how)
    from programs.loop_table import LOOPS

    found, names = {}, options.names or list(LOOPS)
    for at in range(0, len(names), TOGETHER):
        with tempfile.TemporaryDirectory(prefix="counts-") as folder:
            found |= measured(Path(folder), options.size, names[at:at + TOGETHER])
        print(table(dict(list(found.items())[at:])), flush=True)
    if options.write:
        write_docs(table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
