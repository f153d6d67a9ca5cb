# SPDX-License-Identifier: Apache-2.0
"""One program made of loops at one size, on the reference interpreter, by the code that is made at once, by the
compiler's: a digest of its answer and of its arguments afterwards.

    python loop_ways.py NAME SIZE interpreted|once|compiled
"""

import hashlib
import os
import pathlib
import sys

name, size, way = sys.argv[1:]
os.environ.pop("BRAZE_KERNEL_CODE", None)
if way == "interpreted":
    os.environ["BRAZE_KERNEL_CODE"] = "0"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))

import numpy as np  # noqa: E402
from programs.answers import flat  # noqa: E402
from programs.loop_child import compiled, sites_of  # noqa: E402
from programs.loop_table import LOOPS  # noqa: E402

program = LOOPS[name]
runs = program.runnable()
if way == "compiled":
    runs(*program.arguments("test"))  # which makes the kernels
    compiled(sites_of(program, runs))
arguments = program.arguments(size)
answer = runs(*arguments)
digest = hashlib.sha256()
for part in (*flat(answer), *arguments):
    part = np.ascontiguousarray(part)
    if part.dtype.kind in "fc":
        part = part + part.dtype.type(0)  # of two zeros one
        part[np.isnan(part)] = np.nan
    digest.update(repr((part.dtype, part.shape)).encode() + part.tobytes())
print(digest.hexdigest(), sum(site.calls for site in sites_of(program, runs)))
