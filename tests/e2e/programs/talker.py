# SPDX-License-Identifier: Apache-2.0
"""A client that does what it is told: each line of stdin is Python, run here; the
answer is one line of JSON: what the code assigned to `out`, or the error's class
and text.  The end of stdin ends it."""

import json
import sys

import numpy

import braze
import braze.numpy as np

names = {"np": np, "numpy": numpy, "braze": braze}
for line in sys.stdin:
    names["out"] = None
    try:
        exec(json.loads(line), names)  # the test's own words
        answer = {"out": names["out"]}
    except Exception as e:
        answer = {"error": type(e).__name__, "text": str(e)}
    print(json.dumps(answer, default=lambda v: v.tolist()), flush=True)
