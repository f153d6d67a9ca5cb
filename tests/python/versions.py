# SPDX-License-Identifier: Apache-2.0
"""Which NumPy the tests compare with: answers of some functions are another version's."""

import numpy

NUMPY = tuple(int(part) for part in numpy.__version__.split(".")[:2])
