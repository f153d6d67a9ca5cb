# SPDX-License-Identifier: Apache-2.0
"""%load_ext braze in IPython: a cell's profile, kernels, the daemon's state."""

import re

SHELL = ("from IPython.testing.globalipapp import start_ipython\n"
         "shell = start_ipython()\n"
         "run = lambda text: print(shell.run_cell(text).success)\n"
         "shell.run_cell('%load_ext braze\\nimport braze.numpy as np')\n")


def said(daemon, *cells):
    return daemon.run(SHELL + "".join(f"run({cell!r})\n" for cell in cells))


def test_a_cell_is_profiled(daemon):
    text = said(daemon, "%%braze\nx = np.ones(200_000)\ny = float((x * 2).sum())", "y == 4e5")
    assert "1 round trip\n" in text and "y = float((x * 2).sum())" in text
    assert "True" in text


def test_a_cell_that_fails_fails(daemon):
    text = said(daemon, "%%braze\nnp.ones(3)[7]")
    assert "IndexError" in text and "False" in text


def test_the_daemon_is_asked(daemon):
    text = said(daemon, "float((np.ones(50_000) * 2).sum())", "%braze kernels", "%braze status",
                "%braze", "%braze sessions", "%braze nonsense")
    assert "OPERATIONS" in text and "clients_count" in text and "SESSION" in text
    assert "%braze status |" in text
    line = re.search(r"^brazed 0.*; sessions: 1, arrays: .*$", text, re.M)[0]
    assert re.fullmatch(r"brazed [\d.]+, pid \d+, up \d+ s; cpu usable, \S+ s at work; sessions: 1, arrays: \d+, [\d.]+ [KM]?i?B; "
                        r"plans from the cache: \d+ %; kernels: \d+", line), line
