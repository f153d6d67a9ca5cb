# SPDX-License-Identifier: Apache-2.0
# Cells of a notebook; test_notebooks.py runs them.
import numpy
import braze.numpy as np
# cell
host = numpy.linspace(0, 3, 60_000)
x = np.asarray(host)
# cell
for _ in range(6):
    total = float((np.sin(x) * x).sum())
abs(total - (numpy.sin(host) * host).sum()) < 1e-9 * abs(total)
# cell
np.asarray([1.0, 2.0]) + 1
