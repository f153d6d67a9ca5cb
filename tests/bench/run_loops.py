# SPDX-License-Identifier: Apache-2.0
"""Programs made of loops: plain Python, NumPy, `braze.jit` and Numba's `@njit`, each beside the others.

    build/venv/bin/python tests/bench/run_loops.py [--only NAME,...] [--sizes test,...] [--report]

Each program has a fresh daemon with empty caches and a process of its own, of build/venv-peers
where `make bench-peers` has made it: for each size, the largest first, a call of each, whose answers are
compared, then warm calls in turns, on one core; and at the largest size on all cores beside `prange`.
Warm, braze's kernels are compiled.  Results are kept in build/reports/loops.json: a run that was interrupted
goes on where it was, as long as braze and the programs are the same.  At the end a table is printed and
written to docs/benchmarks.md.
"""

import argparse
import hashlib
import json
import math
import os
import pathlib
import signal
import statistics
import subprocess
import sys

import _daemon
from programs.loop_cores import AT_ONCE
from programs.loop_table import GROUPS, LOOPS, SIZES

QUICK = os.environ.get("QUICK", "") not in ("", "0")
PEERS_PYTHON = _daemon.BUILD / "venv-peers/bin/python"
ROUNDS, BUDGET, LIMIT = (5, 0.6, 90) if QUICK else (15, 4.0, 180)
BEGIN, END = "<!-- loops: begin -->", "<!-- loops: end -->"


def measure(name, sizes):
    """A row for each size.  First calls are of a process and a daemon of their own."""
    rows = run_child(name, sizes, ROUNDS)
    if name in AT_ONCE and "numba" in rows.get(SIZES[-1], {}):
        rows[SIZES[-1]].update(run_cores(name))
    for size in sizes[1:]:
        if size != "test" and "error" not in rows[size]:
            first = run_child(name, [size], 0)[size]
            rows[size].update({k: v for k, v in first.items() if k.endswith("_first") or k == "error"})
    return rows


def run_child(name, sizes, rounds):
    """What loop_child.py says of each size: the calling thread's time, of the whole work."""
    return run(sizes, ["programs.loop_child", name, str(rounds), str(BUDGET), *sizes],
               BRAZE_THREADS="1", OPENBLAS_NUM_THREADS="1")


def run_cores(name):
    """What loop_cores.py says of the largest size."""
    row = run(SIZES[-1:], ["programs.loop_cores", name, SIZES[-1], str(ROUNDS), str(BUDGET)])[SIZES[-1]]
    return {"prange_none": row["error"]} if "error" in row else row


def run(sizes, command, **more):
    """A line of JSON for each size of a process with a daemon of its own."""
    daemon = _daemon.Daemon("-oidle_exit_seconds=60")
    python = PEERS_PYTHON if PEERS_PYTHON.exists() else sys.executable
    env = {k: v for k, v in os.environ.items() if not k.startswith("BRAZE_")}
    env.update(PYTHONPATH=f"{_daemon.ROOT / 'tests/bench'}{os.pathsep}{_daemon.BUILD / 'python'}",
               BRAZE_SOCKET=daemon.socket, BRAZE_STATUS_SOCKET=daemon.status,
               PATH=f"{_daemon.BUILD / 'bin'}{os.pathsep}{env.get('PATH', '')}", **more)
    process = subprocess.Popen(
        [str(python), "-m", *command], env=env, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, start_new_session=True)
    try:
        text, errors = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        text, errors = process.communicate()
        errors += f"\nnot done in {LIMIT} s"
    finally:
        daemon.close()
    rows = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    error = {"error": (errors.strip().splitlines() or ["no words"])[-1][:200]}
    return dict(zip(sizes, rows + [error] * len(sizes)))


def stamp():
    digest = hashlib.sha256(repr((QUICK, PEERS_PYTHON.exists())).encode())
    for file in (_daemon.BUILD / "bin/brazed", *sorted((_daemon.BUILD / "python").rglob("*.so")),
                 *sorted((_daemon.ROOT / "client/python/braze/_jit").glob("*.py")),
                 *sorted((_daemon.ROOT / "tests/bench/programs").glob("loop*.py"))):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


# ---- The table ----


def ratio(row, above, below):
    return row[above] / row[below] if row.get(above) and row.get(below) else None


def shown(value):
    return "" if value is None else f"{value:.2g}" if value < 1 else f"{value:.3g}"


def mean(values):
    values = [v for v in values if v is not None]
    return math.exp(statistics.fmean(map(math.log, values))) if values else None


def table(cases):
    """Rows of Markdown: a group's geometric means, then every program at its largest size."""
    return "\n".join([*by_group(cases), "", *by_program(cases)])


def by_group(cases):
    lines = ["| group | size | programs | Python / braze | NumPy / braze | Numba / braze | first call | "
             "prange / braze, all cores |", "| --- " * 8 + "|"]
    for group in (*GROUPS, "all"):
        for size in SIZES:
            rows = [r for c, r in cases.items() if c.endswith("/" + size) and "error" not in r
                    and group in ("all", LOOPS[c.split("/")[0]].group)]
            means = [mean([ratio(r, a, b) for r in rows]) for a, b in (
                ("python", "braze"), ("numpy", "braze"), ("numba", "braze"), ("numba_first", "braze_first"),
                ("prange", "cores"))]
            if rows:
                lines.append(f"| {GROUPS.get(group, group)} | {size} | {len(rows)} | "
                             + " | ".join(map(shown, means)) + " |")
    return lines


def by_program(cases):
    lines = ["| program | front end | lines of pragmas | kernel calls | round trips | Python / braze, test | "
             "NumPy / braze, small | large | Numba / braze, small | large | "
             "prange / braze, all cores, large | braze, large, ms | first call, ms: braze | Numba | small, ms: braze | Numba |",
             "| --- " * 16 + "|"]
    for name in LOOPS:
        small, middle, large = (cases.get(f"{name}/{size}", {}) for size in SIZES)
        if small or middle or large:
            numba = [shown(ratio(r, "numba", "braze")) or r.get("numba_none", r.get("error", ""))
                     for r in (middle, large)]
            cores = [shown(ratio(large, "prange", "cores"))]
            arrays = [shown(ratio(r, "numpy", "braze")) for r in (middle, large)]
            times = [shown(1e3 * row[key]) if key in row else ""
                     for row, key in ((large, "braze"), (large, "braze_first"),
                                      (large, "numba_first"), (middle, "braze_first"),
                                      (middle, "numba_first"))]
            counts = [str(next((r[key] for r in (large, middle, small) if key in r), ""))
                      for key in ("calls", "round_trips")]
            lines.append(f"| {name} | {LOOPS[name].front_end} | {LOOPS[name].pragmas or ''} | "
                         f"{' | '.join(counts)} | {shown(ratio(small, 'python', 'braze'))} | "
                         + " | ".join(arrays + numba + cores + times) + " |")
    return lines


def write_docs(text):
    file = _daemon.ROOT / "docs/benchmarks.md"
    old = file.read_text()
    head, rest = old.split(BEGIN)
    file.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{rest.split(END)[1]}")


def run_cases(path, kept, names, sizes):
    for name in names:
        wanted = [s for s in reversed(SIZES) if s in sizes and f"{name}/{s}" not in kept["cases"]]
        if not wanted:
            continue
        rows = measure(name, wanted)
        for size, row in rows.items():
            kept["cases"][f"{name}/{size}"] = row
            print(f"{name}/{size}", row, flush=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(kept, indent=1))


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--only", default=",".join(LOOPS))
    options.add_argument("--sizes", default=",".join(SIZES))
    options.add_argument("--results", type=pathlib.Path,
                         default=_daemon.BUILD / "reports/loops.json")
    options.add_argument("--report", action="store_true", help="measure nothing")
    options.add_argument("--no-docs", action="store_true")
    options = options.parse_args()
    kept = {"stamp": stamp(), "cases": {}}
    if options.results.exists():
        old = json.loads(options.results.read_text())
        if options.report or old["stamp"] == kept["stamp"]:
            kept = old
    if not options.report:
        run_cases(options.results, kept, options.only.split(","), options.sizes.split(","))
    text = table(kept["cases"])
    print(text)
    if not options.no_docs and kept["cases"]:
        write_docs(text)
    return 1 if any("error" in r for r in kept["cases"].values()) else 0


if __name__ == "__main__":
    sys.exit(main())
