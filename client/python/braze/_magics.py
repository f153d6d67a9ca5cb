# SPDX-License-Identifier: Apache-2.0
"""%load_ext braze: a cell's profile, the daemon's kernels and its state, in IPython."""

import subprocess

from braze import _profile, _programs


def _ask(*words):
    """What brazectl says; its own words where no daemon answers."""
    try:
        done = subprocess.run([str(_programs.path("brazectl")), *words], capture_output=True,
                              text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"brazectl: {error}"
    return (done.stdout + done.stderr).rstrip()


def _braze_line(line):
    """%braze status | sessions | kernels [ID] | explain [ID] | doctor: as brazectl says it."""
    words = line.split() or ["status"]
    if words[0] not in ("status", "sessions", "clients", "kernels", "explain", "events", "doctor",
                        "cache", "ping"):
        print("%braze status | sessions | kernels [ID] | explain [ID] | events | cache | doctor; "
              "%%braze profiles a cell")
        return
    print(_ask(*words))


def load(shell):
    """Registers the magics with IPython's shell."""
    from IPython.display import display

    def braze_cell(line, cell):
        """%%braze: runs the cell and shows what its time went to."""
        with _profile.Profile() as profile:
            result = shell.run_cell(cell)
        display(profile)
        result.raise_error()  # what comes behind the cell does not run, as without %%braze

    shell.register_magic_function(_braze_line, "line", "braze")
    shell.register_magic_function(braze_cell, "cell", "braze")
