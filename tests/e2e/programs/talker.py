# SPDX-License-Identifier: Apache-2.0
"""A client that does what it is told: each line of stdin is Python, run here; the
answer is one line of JSON: what the code assigned to `out`, or the error's class
and text.  The end of stdin ends it.  TALKER_UID has it become another user before it connects."""

import json
import os
import sys

import numpy

import braze
import braze.numpy as np

if "TALKER_UID" in os.environ:  # everything is loaded: he may not be able to read it
    uid = int(os.environ["TALKER_UID"])
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
names = {"np": np, "numpy": numpy, "braze": braze}
for line in sys.stdin:
    names["out"] = None
    try:
        exec(json.loads(line), names)  # the test's own words
        answer = {"out": names["out"]}
    except Exception as e:
        answer = {"error": type(e).__name__, "text": str(e)}
    print(json.dumps(answer, default=lambda v: v.tolist()), flush=True)
