# SPDX-License-Identifier: Apache-2.0
"""A wheel of the build, environments into which it is installed, and notebooks to run there."""

import json
import os
import pathlib
import signal
import subprocess
import sys

from harness import ROOT, alive, wait_until

PINNED = ROOT / "deploy/requirements.txt"


def make(folder):
    """Build the wheel into a folder; its path."""
    for command in (["deploy/venv.sh", "venv-wheel", "deploy/requirements-wheel.txt"],
                    ["deploy/wheel.sh", folder]):
        done = subprocess.run([str(c) for c in command], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return next(pathlib.Path(folder).glob("braze-*.whl"))


def pythons():
    """Every Python from 3.11 on that is here, one of each version."""
    found = {}
    for path in [sys._base_executable, "/usr/bin/python3",
                 *sorted(pathlib.Path.home().glob(".pyenv/versions/3.*/bin/python3"))]:
        done = subprocess.run([str(path), "-c", "import sys, venv, ensurepip; "
                               "print(*sys.version_info[:2], sys.abiflags)"],
                              capture_output=True, text=True)
        words = done.stdout.split()
        if done.returncode == 0 and (int(words[0]), int(words[1])) >= (3, 11):
            found.setdefault(".".join(words), str(path))
    return found


class Environment:
    """A clean environment with folders of its own for what braze writes."""

    def __init__(self, folder, python=None):
        self.folder, self.venv = folder, folder / "venv"
        for name in ("run", "home", "tmp"):
            (folder / name).mkdir(mode=0o700)
        subprocess.run([python or sys._base_executable, "-m", "venv", self.venv], check=True)
        self.python = self.venv / "bin/python"

    def variables(self, **more):
        """No more of this process's environment than any program has."""
        return {"PATH": f"{self.venv}/bin:/usr/bin:/bin", "HOME": str(self.folder / "home"),
                "XDG_RUNTIME_DIR": str(self.folder / "run"), "TMPDIR": str(self.folder / "tmp"),
                "LANG": "C.UTF-8", **more}

    def run(self, *command, check=True, **variables):
        done = subprocess.run([str(c) for c in command], env=self.variables(**variables),
                              cwd=self.folder, capture_output=True, text=True, timeout=600)
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def install(self, *what, pinned=True):
        """pip's own settings of this machine hold: where it takes packages from."""
        own = {k: v for k, v in os.environ.items() if k.startswith("PIP_") or "proxy" in k.lower()
               or k in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")}
        own["HOME"] = os.environ.get("HOME", "/")
        constraint = ["-c", PINNED] if pinned else []
        return self.run(self.python, "-m", "pip", "install", "--quiet", "--no-input",
                        "--disable-pip-version-check", *constraint, *what, **own)

    def files(self):
        return {p.relative_to(self.venv) for p in self.venv.rglob("*")
                if not p.is_dir() and "__pycache__" not in p.parts}

    def daemon(self):
        """The pid of the user's daemon."""
        done = self.run(self.venv / "bin/brazectl", "ping")
        return int(done.stdout.rpartition("(pid ")[2].rstrip(")\n"))

    def stop_daemon(self):
        pid = self.daemon()
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not alive(pid), 30, "the daemon's end")

    def processes(self):
        """What runs from this folder."""
        found = []
        for p in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                program = os.readlink(p / "exe")
            except OSError:
                continue
            if program.startswith(str(self.folder)):
                found.append((p.name, program))
        return found


# ---- Two notebooks, where braze and Jupyter are installed ----

BOOKS = """
import sys, json, nbformat
from nbclient import NotebookClient
answers = []
for cells in json.loads(sys.argv[1]):
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    NotebookClient(book, timeout=60, kernel_name="python3", allow_errors=True).execute()
    answers.append([o.get("data", {}).get("text/plain", o.get("ename"))
                    for c in book.cells for o in c.outputs if o["output_type"] != "stream"])
print(json.dumps(answers))
"""


def books():
    """The two as an argument of BOOKS."""
    names = ("notebook_sums.py", "notebook_grid.py")
    return json.dumps([(ROOT / "tests/e2e/programs" / n).read_text().split("# cell\n") for n in names])


def check_books(text):
    """What BOOKS printed."""
    sums, grid = json.loads(text.splitlines()[-1])
    assert "True" in sums[0] and "True" in grid[0] and grid[-1] == "ValueError", text
