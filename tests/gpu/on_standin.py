# SPDX-License-Identifier: Apache-2.0
"""on_standin.py COMMAND... - run a command where cuda:0 is the stand-in driver.

It has little memory, so that it can run out, and looks for races in shared memory.
Exit status: the command's, or 77 where the stand-in or NVRTC is missing.
"""

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import harness  # noqa: E402

missing = ("the stand-in was not built" if not harness.find_standin() else
           "NVRTC was not found" if not harness.find_nvrtc() else "")
if missing:
    print(f"skipped: {missing} (deploy/setup.sh gets what is missing)")
    sys.exit(77)
own = harness.clean_environment(**harness.standin_environment(vram="256M", race=1))
own["BRAZE_DAEMON"] = harness.find_daemon()
own["PYTHONPATH"] = os.environ.get("PYTHONPATH", own["PYTHONPATH"])
sys.exit(subprocess.run(sys.argv[1:], env=own).returncode)
