# SPDX-License-Identifier: Apache-2.0
"""Two real Jupyter kernels on one daemon."""

import pathlib

import pytest
from harness import fetch, wait_until
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
