# SPDX-License-Identifier: Apache-2.0
"""Dask on two hosts with a daemon each: chunks of braze's beside chunks of NumPy's.

build/venv-libraries/bin/python tests/bench/dask_chunks.py [ROUNDS]: a table of the seconds that
each program takes, the best of ROUNDS (5), taken in turns.  The hosts are those of
tests/libraries/hosts.py: namespaces of this machine, which share its cores.
"""

import json
import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "libraries")]
from hosts import Cluster  # noqa: E402

PROGRAM = """
import json, sys, time
import dask, dask.array as da, numpy
import braze.numpy as bnp
from distributed import Client, wait
client = Client(scheduler_file=sys.argv[1])
client.wait_for_workers(2, timeout=60)
plain = da.random.default_rng(7).random((6000, 4000), chunks=(1500, 2000)).persist()
ours = plain.map_blocks(bnp.asarray).persist()
wait([plain, ours])
def laplace(c):
    out = 4 * c
    out[1:-1, 1:-1] -= c[:-2, 1:-1] + c[2:, 1:-1] + c[1:-1, :-2] + c[1:-1, 2:]
    return out
PROGRAMS = {
    "sum": lambda c: c.sum(),
    "mean of columns": lambda c: c.mean(axis=0).sum(),
    "sin(x)**2 + cos(x)**2, mean": lambda c: (da.sin(c) ** 2 + da.cos(c) ** 2).mean(),
    "standardized, largest": lambda c: abs((c - c.mean(axis=0)) / c.std(axis=0)).max(),
    "stencil by map_overlap, std": lambda c: c.map_overlap(laplace, depth=1, boundary="periodic").std(),
    "covariance of 400 columns": lambda c: ((c[:, :400] - c[:, :400].mean(axis=0)).T
                                            @ (c[:, :400] - c[:, :400].mean(axis=0))).sum(),
    "made, sent and summed": lambda c: (c.rechunk((3000, 1000)) * 2).sum(axis=1).max(),
}
made = {}
for name, program in PROGRAMS.items():
    taken, values = {"numpy": [], "braze": []}, {}
    for turn in range(int(sys.argv[2]) + 1):
        for kind, c in (("numpy", plain), ("braze", ours)):
            start = time.perf_counter()
            values[kind] = float(program(c).compute())
            if turn:  # the first compiles
                taken[kind].append(time.perf_counter() - start)
    assert abs(values["numpy"] - values["braze"]) <= 1e-9 * abs(values["numpy"]), (name, values)
    made[name] = {kind: min(t) for kind, t in taken.items()}
print(json.dumps(made))
"""


def main():
    """Print the table."""
    cluster = Cluster(BRAZE_NEAR="1", BRAZE_CHECK="0", DASK_DISTRIBUTED__WORKER__MEMORY__TARGET="0.6")
    try:
        cluster.start()
        out = cluster.run(PROGRAM, sys.argv[1] if len(sys.argv) > 1 else 5, seconds=900)
    finally:
        cluster.close()
    print("| program | NumPy's chunks, ms | braze's chunks, ms | quicker by |\n|---|---|---|---|")
    for name, taken in json.loads(out.splitlines()[-1]).items():
        ratio = taken["numpy"] / taken["braze"]
        print(f"| {name} | {taken['numpy'] * 1e3:.0f} | {taken['braze'] * 1e3:.0f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
