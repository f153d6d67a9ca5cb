# SPDX-License-Identifier: Apache-2.0
"""Kernels by so many threads: that is decided when a process begins."""

import os
import subprocess
import sys

HERE = os.path.dirname(__file__)


def lines_of(call, threads, **settings):
    """What `call`, "module.function(...)" of this folder, yields where every loop is shared that may be."""
    env = dict(os.environ, BRAZE_THREADS=str(threads), BRAZE_SHARE_WORK="0", **settings)
    code = (f"import sys; sys.path.insert(0, {HERE!r}); import {call.split('.')[0]}\n"
            f"for line in {call}: print(line)")
    done = subprocess.run([sys.executable, "-c", code], env=env, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()
