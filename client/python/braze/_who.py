# SPDX-License-Identifier: Apache-2.0
"""What operators are told of this process: its name, its file and its environment."""

import os
import sys

from braze import _core


def _arguments():
    return getattr(sys, "argv", None) or [""]


def _in_kernel():
    return os.path.basename(_arguments()[0]).startswith("ipykernel")


def _connection_file():
    """Jupyter's file about the kernel, as its command line names it."""
    for option, value in zip(_arguments()[1:], _arguments()[2:] + [""], strict=False):
        if option in ("-f", "--f"):
            return value
        if option.startswith(("-f=", "--f=")):
            return option.partition("=")[2]
    return ""


def file():
    """The notebook's or the script's path; "" where there is none, as at a prompt."""
    main = getattr(sys.modules.get("__main__"), "__dict__", {})
    notebook = main.get("__vsc_ipynb_file__") or os.environ.get("JPY_SESSION_NAME")
    if _in_kernel():
        return str(notebook or _connection_file())
    script = _arguments()[0]
    return "" if script in ("", "-c", "-m") else os.path.abspath(script)


def name():
    """$BRAZE_NAME, else the notebook's or the script's name, else "python"."""
    given = os.environ.get("BRAZE_NAME")
    if given:
        return given
    path = file()
    if _in_kernel():
        return os.path.basename(path) if path and path != _connection_file() else "notebook"
    return os.path.basename(os.environ.get("JPY_SESSION_NAME") or path) or "python"


def environment():
    """The folder of a virtual environment, conda's name for one; "" for the system's Python."""
    if sys.prefix != sys.base_prefix:
        return sys.prefix
    return os.environ.get("CONDA_DEFAULT_ENV") or ""


class Named:
    """The session has a name, from the call on or until the block ends."""

    def __init__(self, name):
        self._name, self._old = name, _core.set_name(name)

    def __repr__(self):
        return f"<braze session {self._name!r}>"

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        _core.set_name(self._old)
