# SPDX-License-Identifier: Apache-2.0
"""What `make demo` promises: NumPy's answers, one kernel each, a table of times."""

import os
import re
import subprocess
import sys

from harness import ROOT


def test_demo():
    env = {k: v for k, v in os.environ.items() if not k.startswith("BRAZE_")}
    env["PATH"] = f"{ROOT / 'build/bin'}{os.pathsep}{env['PATH']}"
    env["PYTHONPATH"] = str(ROOT / "build/python")
    done = subprocess.run([sys.executable, ROOT / "client/python/examples/demo.py"], env=env,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    parts = done.stdout.split("   answer   ")
    assert len(parts) == 4 and parts[3].startswith("equal to NumPy")
    assert all("within" in p.splitlines()[0] or "equal" in p.splitlines()[0] for p in parts[1:])
    assert [re.search(r"kernels  (\d+) made", p)[1] for p in parts[1:3]] == ["1", "1"]
    assert parts[1].count("bz_sin_f64") == 2 and "bz_atan2_f64" in parts[2]
    table = done.stdout.split("NumPy/warm")[1].split()
    assert sum(word.endswith("x") for word in table) == 3
