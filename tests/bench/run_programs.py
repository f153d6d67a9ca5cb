# SPDX-License-Identifier: Apache-2.0
"""The benchmark programs of programs/, each at three sizes, braze beside NumPy and its peers.

    build/venv/bin/python tests/bench/run_programs.py [--only NAME,...] [--sizes tiny,...]
                                                      [--no-peers] [--fresh] [--report]

Each program and size has a fresh daemon with empty caches and processes of its own: one
that checks the answer, times the first call and then calls of both in turns; then whole
processes of NumPy and of braze, whose caches are warm now; in memory one more of each whose
memory is watched.  Peers (numexpr, Numba, JAX) run warm beside NumPy in build/venv-peers,
where `make bench-peers` has made it.

Results are kept in build/reports/programs.json: a run that was interrupted, or whose time was
up (90 minutes; with QUICK=1 15: fewer rounds, no peers, no
watched memory, no whole processes in cache), goes on where it was.  Other
sources or another mode begin anew.  At the end a table is printed, and docs/benchmarks.md and
its plot are written.
"""

import argparse
import hashlib
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import time

import _daemon
from programs import report
from programs.memory import peak
from programs.table import PROGRAMS, SIZES

QUICK = os.environ.get("QUICK", "") not in ("", "0")
PEERS_PYTHON = _daemon.BUILD / "venv-peers/bin/python"
PEERS = ("numexpr", "numba", "jax")
MINUTES = 15 if QUICK else 90
# What share of the time is over when the next part begins.
SHARES = {"tiny": 0.2, "cache": 0.45, "memory": 1.0} if QUICK else \
    {"tiny": 0.15, "cache": 0.35, "memory": 0.75}
ROUNDS, BUDGET, WHOLE, LIMIT = (5, 1.0, 1, 40) if QUICK else (15, 6.0, 3, 180)


def environment(daemon=None):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("BRAZE_") and k != "OPENBLAS_CORETYPE"}
    env.update(PYTHONPATH=f"{_daemon.ROOT / 'tests/bench'}{os.pathsep}{_daemon.BUILD / 'python'}",
               PATH=f"{_daemon.BUILD / 'bin'}{os.pathsep}{env.get('PATH', '')}",
               PYTHONPYCACHEPREFIX=str(_daemon.BUILD / "pycache"))
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed has been run before
    if daemon:
        env.update(BRAZE_SOCKET=daemon.socket, BRAZE_STATUS_SOCKET=daemon.status)
    return env


def child(arguments, env, python=sys.executable, limit=LIMIT):
    """(seconds of the whole process, its lines of JSON); what went wrong as {"error": text}."""
    start = time.perf_counter()
    process = subprocess.Popen([str(python), "-m", *map(str, arguments)], env=env, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True)
    try:
        text, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        text, errors = process.communicate()
        errors += f"\nnot done in {limit} s"
    spent = time.perf_counter() - start
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    if process.returncode or not lines:
        lines.append({"error": (errors.strip().splitlines() or ["no words"])[-1][:300]})
    return spent, lines


def measure(name, size):
    """Everything about one program at one size, but peers."""
    # Should this process be killed, its daemon ends by itself.
    daemon = _daemon.Daemon("-oidle_exit_seconds=60")
    try:
        env = environment(daemon)
        _, lines = child(["programs.child", "compare", name, size, ROUNDS, BUDGET], env)
        out = lines[-1]
        if "error" in out:
            return out
        if QUICK and size == "cache":
            return out
        walls, firsts = {"numpy": [], "braze.numpy": []}, {"numpy": [], "braze.numpy": []}
        for _ in range(WHOLE):
            for module in walls:
                wall, lines = child(["programs.child", "whole", module, name, size], env)
                if "error" in lines[-1]:
                    return {**out, **lines[-1]}
                walls[module].append(wall)
                firsts[module].append(lines[-1]["first"])
        out["whole"] = {m: statistics.median(t) for m, t in walls.items()}
        out["warm_first"] = {m: statistics.median(t) for m, t in firsts.items()}
        if size == "memory" and not QUICK:
            out["peak"] = {m: peak(["programs.child", "whole", m, name, size], env, daemon)
                           for m in walls}
        return out
    finally:
        daemon.close()


def measure_peer(peer, name):
    sizes = wanted_sizes(name, SIZES)
    limit = LIMIT / 2
    _, lines = child(["programs.peers", peer, name, ROUNDS, BUDGET / 2, *sizes], environment(),
                     PEERS_PYTHON, limit)
    if "error" in lines[-1]:
        lines[-1] = {"none": lines[-1]["error"]}
    return dict(zip(sizes, lines, strict=False))


def wanted_sizes(name, sizes):
    """Sizes of a program that differ from its smaller ones."""
    own = PROGRAMS[name].sizes
    return [s for s in sizes if s == "tiny" or own[s] != own["tiny"]]


def stamp():
    """What results depend on: the built sources, the programs, how carefully they were timed."""
    digest = hashlib.sha256(repr((QUICK, ROUNDS)).encode())
    files = [_daemon.BUILD / "bin/brazed", *sorted((_daemon.BUILD / "python").rglob("*.so")),
             *sorted((_daemon.ROOT / "client/python").rglob("*.py")),
             *sorted((_daemon.ROOT / "tests/bench/programs").glob("*.py"))]
    beside = {"report.py", "plot.py", "memory.py", "peers.py", "numexpr_texts.py"}
    for file in files:
        if file.name not in beside:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def load(path, fresh):
    empty = {"stamp": stamp(), "mode": "quick" if QUICK else "full", "cases": {}, "peers": {},
             "loads": []}
    try:
        kept = json.loads(path.read_text())
    except (OSError, ValueError):
        return empty
    return empty if fresh or kept.get("stamp") != empty["stamp"] else kept


def save(path, results):
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(results, indent=1))
    fresh.replace(path)


def run_cases(path, results, names, sizes, begin):
    for size in sizes:
        for name in names:
            case = f"{name}/{size}"
            if case in results["cases"] or size not in wanted_sizes(name, [size]):
                continue
            if time.monotonic() - begin > SHARES[size] * MINUTES * 60:
                print(f"{size}: its share of the time is up; another run goes on", flush=True)
                break
            results["cases"][case] = measure(name, size)
            results["loads"].append(os.getloadavg()[0])
            save(path, results)
            print(report.line(case, results["cases"][case]), flush=True)


def run_peers(path, results, names, begin):
    if not PEERS_PYTHON.exists():
        print("peers: left out, as build/venv-peers is not there (make bench-peers)")
        return
    for name in names:
        for peer in PEERS:
            case = f"{name}/{peer}"
            if case in results["peers"]:
                continue
            if peer == "numexpr" and PROGRAMS[name].numexpr is None:
                continue
            if time.monotonic() - begin > MINUTES * 60:
                print("peers: the time is up; another run goes on", flush=True)
                return
            results["peers"][case] = measure_peer(peer, name)
            save(path, results)
            print(case, results["peers"][case], flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--only", help="names of programs, with commas")
    options.add_argument("--sizes", default=",".join(SIZES))
    options.add_argument("--no-peers", action="store_true", default=QUICK)
    options.add_argument("--peers", dest="no_peers", action="store_false")
    options.add_argument("--fresh", action="store_true", help="forget what was measured")
    options.add_argument("--report", action="store_true", help="only print what was measured")
    options.add_argument("--no-docs", action="store_true", help="leave docs/ as it is")
    options.add_argument("--results", default=report.RESULTS, type=pathlib.Path)
    options = options.parse_args()
    names = options.only.split(",") if options.only else list(PROGRAMS)
    results = json.loads(options.results.read_text()) if options.report \
        else load(options.results, options.fresh)
    begin = time.monotonic()
    if not options.report:
        run_cases(options.results, results, names, options.sizes.split(","), begin)
        if not options.no_peers:
            run_peers(options.results, results, names, begin)
    print(report.text(results))
    if not options.no_docs and results["cases"]:
        report.write_docs(results, PEERS_PYTHON, options.results)
    bad = [c for c, r in results["cases"].items() if "error" in r or r.get("wrong")]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
