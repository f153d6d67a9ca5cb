# SPDX-License-Identifier: Apache-2.0
"""The ranks of an MPI program on one host share its daemon, and operators see which is which."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from harness import clean_environment

RANKS = 4
PROGRAM = """
import json, os, signal, sys, time
import numpy
import braze, braze.numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()

# Buffers: what reads takes a snapshot, what is received into is open while it is written.
mine = np.arange(1000.0) + rank
parts = numpy.empty((size, 1000))
comm.Allgather(numpy.asarray(mine), parts)
total = np.zeros(1000)
with braze.host(total) as memory:
    comm.Allreduce(numpy.asarray(mine * 2), memory, op=MPI.SUM)
assert (np.asarray(parts) == np.arange(1000.0) + np.arange(size)[:, None]).all()
assert (total == 2 * (size * np.arange(1000.0) + sum(range(size)))).all()

# Objects: by pickles.
everyone = comm.allgather(np.full(3, rank))
assert [a.tolist() for a in everyone] == [[r] * 3 for r in range(size)]
assert float(comm.allreduce(mine.sum(), op=MPI.SUM)) == float(total.sum() / 2)

# A halo exchange of a stencil in rows, as its one grid gives it.
grid = numpy.random.default_rng(3).random((8 * size, 40))
own = np.asarray(grid[8 * rank: 8 * rank + 8])
up, down = (rank - 1) % size, (rank + 1) % size
for _ in range(3):
    above, below = numpy.empty(40), numpy.empty(40)
    comm.Sendrecv(numpy.asarray(own[-1]), down, 0, above, up, 0)
    comm.Sendrecv(numpy.asarray(own[0]), up, 1, below, down, 1)
    tall = np.concatenate([np.asarray(above)[None], own, np.asarray(below)[None]])
    own = own + 0.1 * (tall[:-2] + tall[2:] - 2 * own)
    grid = grid + 0.1 * (numpy.roll(grid, 1, 0) + numpy.roll(grid, -1, 0) - 2 * grid)
assert numpy.allclose(own, grid[8 * rank: 8 * rank + 8], rtol=1e-13)

# A child has a session of its own; the parent's goes on.
reading, writing = os.pipe()
child = os.fork()
if not child:
    try:
        made = float((np.arange(10.0) + rank).sum())
    except BaseException as error:
        made = repr(error)
    os.write(writing, str(made).encode())
    os._exit(0)
os.close(writing)
assert os.read(reading, 100).decode() == str(45.0 + 10 * rank)
os.waitpid(child, 0)
assert float(own.sum() - own.sum()) == 0

comm.Barrier()
if not rank:
    print("ready", flush=True)
    sys.stdin.readline()
comm.Barrier()
if rank == 1 and sys.argv[1] == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(0.5 if sys.argv[1] == "kill" else 0)
assert float((np.arange(1000.0) * 2).sum()) == 999000
print("done", rank, flush=True)
"""


@pytest.fixture
def launched(request, tmp_path):
    """mpirun with the program: a function of how it ends."""
    if not shutil.which("mpirun"):
        pytest.skip("there is no mpirun: make setup-guests")
    program = tmp_path / "ranks.py"
    program.write_text(PROGRAM)
    daemon, started = request.config.braze_daemon, []

    def launch(end):
        started.append(subprocess.Popen(
            ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
             "-np", str(RANKS), sys.executable, str(program), end],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=clean_environment(BRAZE_SOCKET=daemon.socket, TMPDIR=str(tmp_path),
                                  OMPI_MCA_btl="self,vader,tcp", OMPI_MCA_btl_tcp_if_include="lo")))
        return started[-1]

    yield launch
    for run in started:
        run.kill()
        run.wait()


def test_ranks_share_a_daemon_and_have_names(launched, request):
    daemon = request.config.braze_daemon
    run = launched("well")
    lines = []
    while "ready" not in "".join(lines[-1:]):
        lines.append(run.stdout.readline())
        assert lines[-1], "".join(lines)
    told = sorted(row["job"] for row in daemon.clients() if "rank" in row["job"])
    assert told == [f"rank {r} of {RANKS}" for r in range(RANKS)]
    assert {row["name"] for row in daemon.clients() if "rank" in row["job"]} == {"ranks.py"}
    out, _ = run.communicate("\n", timeout=60)
    assert run.returncode == 0, out
    assert sorted(line for line in out.splitlines() if line.startswith("done")) == [
        f"done {r}" for r in range(RANKS)]


def test_a_rank_that_is_killed_leaves_nothing_with_the_daemon(launched, request):
    daemon = request.config.braze_daemon
    run = launched("kill")
    out, _ = run.communicate("\n", timeout=60)
    assert run.returncode != 0, "mpirun ends the others"
    text = json.dumps(daemon.clients())
    assert "rank" not in text, text
    import braze.numpy as np

    assert float(np.ones(1000).sum()) == 1000
    assert os.path.exists(daemon.socket)
