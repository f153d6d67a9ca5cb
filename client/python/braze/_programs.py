# SPDX-License-Identifier: Apache-2.0
"""braze's programs as commands of a Python environment: brazed and brazectl.

The commands become the programs that this package starts and asks, wherever it is
installed; they take the same arguments."""

import os
import pathlib
import sys

from braze import _cuda


def path(name):
    """The program's path, as libbraze finds the daemon: beside the package, else in PATH."""
    from braze import _core

    daemon = pathlib.Path(_core.daemon_path())
    return daemon if name == "brazed" else daemon.parent / name


def _become(name):
    _cuda.name_packages()
    try:
        program = path(name)
        os.execv(program, [name, *sys.argv[1:]])
    except OSError as e:
        sys.exit(f"{name}: {e}")


def brazed():
    _become("brazed")


def brazectl():
    _become("brazectl")
