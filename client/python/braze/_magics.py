# SPDX-License-Identifier: Apache-2.0
"""%load_ext braze: a cell's profile, the daemon's kernels and its state, in IPython."""

import json
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


def _bytes(n):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n < 1024:
            break
        n, unit = n / 1024, "TiB"
    return f"{n:.0f} {unit}" if n >= 100 else f"{n:.3g} {unit}"


def _status_line():
    """The daemon in one line."""
    text = _ask("--json", "status")
    try:
        s = json.loads(text)
    except ValueError:
        return text
    hits, misses = s["plans"]["hits"], s["plans"]["misses"]
    devices = ", ".join(f"{d['name']} {d['state']}, {d['busy_seconds']:.3g} s at work" for d in s["devices"])
    return (f"brazed {s['version']}, pid {s['pid']}, up {s['uptime_seconds']:.0f} s; {devices}; "
            f"sessions: {s['clients_count']:.0f}, arrays: {s['arrays_count']:.0f}, {_bytes(s['client_bytes'])}; "
            f"plans from the cache: {100 * hits / (hits + misses or 1):.0f} %; kernels: {s['kernels']['count']:.0f}")


def _braze_line(line):
    """%braze: the daemon in a line; %braze status | sessions | kernels [ID] | explain [ID] | doctor: as brazectl says it."""
    words = line.split()
    if not words:
        print(_status_line())
        return
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
