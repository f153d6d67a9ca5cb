# SPDX-License-Identifier: Apache-2.0
"""One program at one size in a process of its own; the last line it prints is JSON.

    python -m programs.child compare NAME SIZE ROUNDS BUDGET
    python -m programs.child whole MODULE NAME SIZE

`compare` checks braze against NumPy, then times both in turns.  `whole` is what a user
runs: import, inputs, one call; MODULE is numpy or braze.numpy.
"""

import importlib
import json
import os
import statistics
import sys
import time

import _daemon


def compare(name, size, rounds, budget):
    import braze
    import braze.numpy
    import numpy

    from .answers import flat, wrong
    from .table import PROGRAMS
    from .timing import Call, alternate, numpy_call, others_sleep

    program = PROGRAMS[name]
    status = os.environ["BRAZE_STATUS_SOCKET"]

    def finish(answer):
        braze.wait(*flat(answer))

    def own_row():
        rows = _daemon.ask(status, "/clients")["clients"]
        return next((r for r in rows if r["pid"] == os.getpid()), {})

    def counts():
        row = own_row()
        return {**braze.counters(), "fallbacks": dict(braze.fallbacks()),
                "plans": row.get("plan_misses", 0), "hits": row.get("plan_hits", 0),
                "kernels": _daemon.ask(status, "/status")["kernels"]["misses"]}

    theirs = numpy_call(program, program.sizes[size])
    # The session and the worker are there, as when a notebook has run a cell.
    float((braze.numpy.zeros(3) + 1).sum())
    inputs = tuple(braze.numpy.array(x) if isinstance(x, numpy.ndarray) else x
                   for x in theirs.inputs)
    finish(inputs)
    mine = Call(program, braze.numpy, inputs, finish, braze.numpy.copy)

    numpy_first, want, theirs_got = theirs()
    before = counts()
    others_sleep()
    first, got, mine_got = mine()
    out = {"first": first, "numpy_first": numpy_first, "cold": difference(before, counts())}
    out["wrong"] = wrong(got, want, program.check)
    if out["wrong"] is None and program.writes:
        out["wrong"] = wrong(mine_got, theirs_got, program.check)
    del got, want, mine_got, theirs_got
    # Compilers end before what is warm is timed.
    begin = time.perf_counter()
    for _ in range(3):
        mine()
        _daemon.settle(status, budget)
        if time.perf_counter() - begin > budget:
            break
    their_times, my_times = alternate((theirs, mine), rounds, budget)
    before, spent = counts(), processor_times(status)
    mine()
    ended = processor_times(status)
    out["warm"] = difference(before, counts())
    out["processor"] = {k: ended[k] - spent[k] for k in ended}
    out.update(numpy=statistics.median(their_times), braze=statistics.median(my_times),
               best=[min(their_times), min(my_times)], rounds=len(my_times))
    print(json.dumps(out))


def processor_times(status):
    """Seconds of processor time of the client, the broker and the CPU's worker so far."""
    pages = _daemon.ask(status, "/status")
    times = {"client": time.process_time()}
    for who, pid in (("broker", pages["pid"]), ("worker", pages["worker_pid"])):
        folder = f"/proc/{pid}/task"
        times[who] = 0.0
        for task in os.listdir(folder) if pid else ():
            with open(f"{folder}/{task}/schedstat") as file:
                times[who] += int(file.read().split()[0]) * 1e-9
    return times


def difference(before, after):
    """What was counted between two states."""
    out = {k: after[k] - before[k] for k in after if k != "fallbacks"}
    old, new = before["fallbacks"], after["fallbacks"]
    out["fallbacks"] = {k: v - old.get(k, 0) for k, v in new.items() if v > old.get(k, 0)}
    return out


def whole(module, name, size):
    np = importlib.import_module(module)
    from .table import PROGRAMS

    program = PROGRAMS[name]
    if module == "numpy":
        def finish(_):
            return None
    else:
        import braze

        from .answers import flat

        def finish(answer):
            braze.wait(*flat(answer))
    inputs = program.inputs(np, *program.sizes[size])
    finish(inputs)
    start = time.perf_counter()
    finish(program.function(np, *inputs))
    print(json.dumps({"first": time.perf_counter() - start}))


def main():
    kind, *rest = sys.argv[1:]
    if kind == "compare":
        compare(rest[0], rest[1], int(rest[2]), float(rest[3]))
    else:
        whole(*rest)


if __name__ == "__main__":
    main()
