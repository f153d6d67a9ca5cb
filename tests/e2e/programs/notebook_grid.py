# SPDX-License-Identifier: Apache-2.0
# Cells of a notebook; test_notebooks.py runs them.
import numpy
import braze.numpy as np
# cell
a = numpy.random.default_rng(3).uniform(0, 1, (120, 90))
g = np.asarray(a)
# cell
for _ in range(6):
    g[1:-1, 1:-1] = 0.25 * (g[:-2, 1:-1] + g[2:, 1:-1] + g[1:-1, :-2] + g[1:-1, 2:])
    a[1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
bool(numpy.array_equal(numpy.asarray(g), a))
# cell
g[0, :2] @ numpy.ones((5, 5))
