# SPDX-License-Identifier: Apache-2.0
"""make bench, part together: eight programs at once, as of eight notebooks on one machine.

    build/venv/bin/python tests/bench/together.py [--rounds 5] [--seconds 1]

Eight programs of programs/table.py, each in a process of its own, begin at the same moment
and make as many calls as NumPy, alone, makes in `--seconds`.  All of them with NumPy, then
all with braze and one daemon, in turns.  A row has the seconds until each was done, the
longest call over the median one, and their ratios; the last one the sums.  Kernels are
compiled and inputs are there before anything is timed.  QUICK=1 takes fewer rounds.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

import _daemon
import run_programs
from programs.table import PROGRAMS

QUICK = os.environ.get("QUICK", "") not in ("", "0")
NAMES = {"evolve": "cache", "kmeans": "cache", "black_scholes": "cache", "jacobi_2d": "cache",
         "standardise": "cache", "life": "cache", "newton": "cache", "harris": "memory"}
assert len(NAMES) == 8


class Process:
    """A program in a process of its own: of each line it gets, one of JSON comes back."""

    def __init__(self, module, name, size, env):
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--child", module, name, size], env=env, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ready = self.answer()

    def ask(self, calls):
        self.process.stdin.write(f"{calls}\n")
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a program ended: {self.process.wait()}")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


def child(module, name, size):
    """Times calls, as many as each line of standard input asks for."""
    import numpy
    from programs.timing import Call, numpy_call

    program = PROGRAMS[name]
    call = numpy_call(program, program.sizes[size])
    if module == "braze.numpy":
        import braze
        import braze.numpy
        from programs.answers import flat

        def finish(answer):
            braze.wait(*flat(answer))

        inputs = tuple(braze.numpy.array(x) if isinstance(x, numpy.ndarray) else x
                       for x in call.inputs)
        finish(inputs)
        call = Call(program, braze.numpy, inputs, finish, braze.numpy.copy)
    print(json.dumps([call()[0] for _ in range(3)]), flush=True)
    for line in sys.stdin:
        print(json.dumps([call()[0] for _ in range(int(line))]), flush=True)


def at_once(processes, calls):
    """(name: seconds of all its calls, name: longest over median call), begun together."""
    for name, process in processes.items():
        process.ask(calls[name])
    times = {name: process.answer() for name, process in processes.items()}
    return ({name: sum(t) for name, t in times.items()},
            {name: max(t) / statistics.median(t) for name, t in times.items()})


def alone(processes, seconds):
    """How many calls each makes in so many seconds."""
    calls = {}
    for name, process in processes.items():
        process.ask(5)
        calls[name] = max(3, round(seconds / statistics.median(process.answer())))
    return calls


def measure(rounds, seconds):
    daemon = _daemon.Daemon("-oidle_exit_seconds=600")
    try:
        env = run_programs.environment(daemon)
        all_of = {m: {n: Process(m, n, size, env) for n, size in NAMES.items()}
                  for m in ("numpy", "braze.numpy")}
        calls = alone(all_of["numpy"], seconds)
        for process in all_of["braze.numpy"].values():  # until compilers are done
            for _ in range(3):
                process.ask(3)
                process.answer()
                daemon.settle()
        took = {m: [] for m in all_of}
        for _ in range(rounds):
            for module, processes in all_of.items():
                took[module].append(at_once(processes, calls))
        for processes in all_of.values():
            for process in processes.values():
                process.close()
        return calls, took
    finally:
        daemon.close()


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--rounds", type=int, default=3 if QUICK else 5)
    options.add_argument("--seconds", type=float, default=0.5 if QUICK else 1.0)
    options.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = options.parse_args()
    if options.child:
        return child(*options.child)
    calls, took = measure(options.rounds, options.seconds)

    def median(module, which, name):
        return statistics.median(r[which][name] for r in took[module])

    print(f"{'program':24} {'calls':>6} {'NumPy, s':>9} {'braze, s':>9} {'ratio':>6}   "
          "longest call over the median one: NumPy, braze")
    for name, size in NAMES.items():
        theirs, ours = (median(m, 0, name) for m in took)
        longest = [median(m, 1, name) for m in took]
        print(f"{name + '/' + size:24} {calls[name]:6} {theirs:9.2f} {ours:9.2f} "
              f"{theirs / ours:6.2f}   {longest[0]:6.1f} {longest[1]:6.1f}")
    sums = [statistics.median(sum(r[0].values()) for r in took[m]) for m in took]
    print(f"{'sum':24} {'':6} {sums[0]:9.2f} {sums[1]:9.2f} {sums[0] / sums[1]:6.2f}")


if __name__ == "__main__":
    sys.exit(main())
