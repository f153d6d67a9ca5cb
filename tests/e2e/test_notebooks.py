# SPDX-License-Identifier: Apache-2.0
"""Real Jupyter kernels on one daemon."""

import asyncio
import contextlib
import pathlib
import sys
import time

import nbformat
import pytest
from harness import clean_environment, fetch, wait_until
from nbclient import NotebookClient
from notebook import Notebook

PROGRAMS = pathlib.Path(__file__).parent / "programs"


@pytest.fixture
def books(daemon):
    books = []
    try:
        for name in ("notebook_sums.py", "notebook_grid.py"):
            books.append(Notebook((PROGRAMS / name).read_text().split("# cell\n"), daemon))
        yield books
    finally:
        for book in books:
            book.end()
    wait_until(lambda: daemon.status()["clients_count"] == 0)
    assert daemon.status()["arrays_count"] == 0


def test_two_notebooks(daemon, books):
    answers = []
    for i in range(4):
        for book in books:
            book.send(i)
        answers.append([book.collect() for book in books])
    check_answers(answers)
    clients = daemon.clients()
    assert {c["pid"] for c in clients} == {b.manager.provisioner.pid for b in books}
    assert all(c["demands"] > 0 and c["ops"] > 0 for c in clients)
    wait_until(lambda: all(k["state"] != "compiling" for k in daemon.kernels()), 20)
    check_figures(daemon)


def check_answers(answers):
    assert answers[0] == answers[1] == [("", None)] * 2
    assert all("True" in shown and not error for shown, error in answers[2])
    shown, error = answers[3][0]
    assert "2." in shown and "3." in shown and error is None
    assert answers[3][1][1] == "ValueError"  # a mistake raises in its own cell


def check_figures(daemon):
    """The cache's numbers in /metrics are those of /kernels."""
    _, text = fetch(daemon.status_socket, "/metrics")
    shown = dict(line.rsplit(" ", 1) for line in text.splitlines() if line[:1] != "#")
    kernels = daemon.kernels()
    ready = [k for k in kernels if k["state"] == "ready"]
    assert int(shown["braze_kernels"]) == len(kernels)
    assert int(shown["braze_kernel_misses_total"]) == len(kernels)
    assert int(shown["braze_compiles_total"]) == len(ready) > 0
    assert {k["origin_session"] for k in kernels} == {c["session"] for c in daemon.clients()}


# ---- Many of them ----

# One formula for each notebook: each makes kernels of its own.
FORMULAS = ["m.sin(x) * x", "m.cos(x) - x", "m.exp(-x) + x * x", "m.sqrt(x) * m.sin(x)", "m.tanh(x) + 1",
            "m.log1p(x) * x", "m.arctan(x) - x * x", "m.sqrt(x + 1) / (x + 2)", "m.exp(-x * x)",
            "m.abs(x - 1) * m.cos(x)", "m.maximum(x, 1) * m.sin(x)", "m.minimum(x, 1) + m.exp(-x)",
            "m.sinh(x) - x", "m.cosh(x) * m.exp(-x)", "m.expm1(x) / (x + 1)", "m.square(x) - m.sqrt(x)"]
MEBIBYTE = 1 << 20


def cells_of(formula):
    return ["import numpy\nimport braze.numpy as np",
            "host = numpy.linspace(0, 3, 300_000)\nx = np.asarray(host)",
            f"f = lambda m, x: {formula}\n"
            "for _ in range(6):\n    total = float(f(np, x).sum())\n    row = numpy.asarray(f(np, x)[::1000])\n"
            "abs(total - f(numpy, host).sum()) < 1e-9 * (1 + abs(total)) and "
            "bool(numpy.allclose(row, f(numpy, host)[::1000], rtol=1e-12))"]


def own_memory(pid):
    """Bytes of a process that no file and no other process shares."""
    with open(f"/proc/{pid}/status") as f:
        return int(next(line for line in f if line.startswith("RssAnon")).split()[1]) << 10


def ticks(pid):
    """Processor time, in hundredths of a second."""
    with open(f"/proc/{pid}/stat") as f:
        return sum(map(int, f.read().rpartition(")")[2].split()[11:13]))


def write_notebook(path, formula):
    book = nbformat.v4.new_notebook()
    book.cells = [nbformat.v4.new_code_cell(text) for text in cells_of(formula)]
    nbformat.write(book, path)


async def start(stack, path, daemon):
    """nbclient's run of a notebook file, with a kernel of its own that stays until the stack ends."""
    runs = NotebookClient(nbformat.read(path, as_version=4), timeout=120, startup_timeout=120,
                          resources={"metadata": {"path": daemon.folder}})
    runs.km = runs.create_kernel_manager()
    runs.km.kernel_spec.argv[0] = sys.executable
    await stack.enter_async_context(runs.async_setup_kernel(env=clean_environment(
        BRAZE_SOCKET=daemon.socket, IPYTHONDIR=daemon.folder + "/ipython",
        JUPYTER_RUNTIME_DIR=daemon.folder)))
    return runs


async def run_cells(runs):
    """What the last cell shows; a cell that raises ends the test."""
    for i, cell in enumerate(runs.nb.cells):
        await runs.async_execute_cell(cell, i)
    return runs.nb.cells[-1].outputs[-1]["data"]["text/plain"]


def check_memory(daemon, before, books):
    """Each kernel was compiled once, and a session has next to no memory."""
    wait_until(lambda: all(k["state"] != "compiling" for k in daemon.kernels()), 60)
    wait_until(lambda: daemon.status()["kernels"]["disk_work"] == 0)
    kernels, status = daemon.kernels(), daemon.status()
    assert len({k["key"] for k in kernels}) == len(kernels)
    ready = [k for k in kernels if k["state"] == "ready"]
    assert status["kernels"]["compiles"] == len(ready) >= len(FORMULAS)
    assert status["kernels"]["compile_failures"] == 0
    assert status["clients_count"] == books
    code = status["kernels"]["bytes"]  # that is the cache's, whoever is here
    each = (own_memory(daemon.pid) - before - code) / books
    assert each <= 2 * MEBIBYTE, f"{each / MEBIBYTE:.2f} MiB a session"
    print(f"{each / MEBIBYTE:.3f} MiB a session, {len(ready)} kernels")


def check_idle(daemon):
    began = ticks(daemon.pid), ticks(daemon.worker())
    time.sleep(5)
    ended = ticks(daemon.pid), ticks(daemon.worker())
    assert max(e - b for b, e in zip(began, ended)) <= 1, (began, ended)


@pytest.mark.long
def test_sixteen_notebooks(daemon, tmp_path):
    """nbclient runs them side by side, each another program: right, each kernel compiled once, and next
    to nothing while they do nothing."""
    daemon.run("import braze.numpy as np\nassert float(np.ones(100_000).sum()) == 1e5")
    wait_until(lambda: daemon.status()["clients_count"] == 0)
    before = own_memory(daemon.pid)

    async def all_of_them():
        async with contextlib.AsyncExitStack() as stack:
            books = []
            for i, formula in enumerate(FORMULAS):
                write_notebook(tmp_path / f"{i}.ipynb", formula)
                books.append(await start(stack, tmp_path / f"{i}.ipynb", daemon))
            assert await asyncio.gather(*map(run_cells, books)) == ["True"] * len(books)
            check_memory(daemon, before, len(books))
            check_idle(daemon)

    asyncio.run(all_of_them())
    wait_until(lambda: daemon.status()["clients_count"] == 0)
    assert daemon.status()["arrays_count"] == 0
