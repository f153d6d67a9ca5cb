# SPDX-License-Identifier: Apache-2.0
"""Computations that take years and need no memory: their operands have strides of 0."""

from raw import DTYPE, Trace

SCALAR = 1 << 31  # an operand that is an immediate


def _array(trace, out, dtype):
    """An array of one element, 1."""
    trace.op("FULL", out, [SCALAR | DTYPE["INT64"]], [1, 1, 1], dtype)


def _spread(trace, out, source, shape, dtype):
    trace.op("VIEW", out, [source], [len(shape), 0, *shape, *[0] * len(shape)], dtype)


def product(a, b, dtype="FLOAT64"):
    t = Trace()
    _array(t, 1, dtype)
    _spread(t, 2, 1, a, dtype)
    _spread(t, 3, 1, b, dtype)
    return t.op("MATMUL", 4, [2, 3], dtype="none"), 4


def reduction(shape, axes, op="SUM", dtype="FLOAT64", chain=0):
    """axes: a bit for each."""
    t = Trace()
    _array(t, 1, dtype)
    _spread(t, 2, 1, shape, dtype)
    for i in range(chain):
        t.op("TAN", 10 + i, [10 + i - 1 if i else 2], dtype=dtype)
    t.op(op, 5, [10 + chain - 1 if chain else 2], [axes], dtype=dtype)
    # What has a name would be stored.
    return t.drop(*range(10, 10 + chain)), 5


def gather(shape, axes):
    t = Trace()
    _array(t, 1, "FLOAT64")
    _array(t, 2, "INT64")
    t.op("SUBTRACT", 7, [2, 2], dtype="INT64")
    _spread(t, 3, 7, shape, "INT64")
    t.op("INDEX", 4, [3, SCALAR | DTYPE["INT64"]], [1, 0], dtype="BOOL")
    t.op("TAKE", 5, [1, 4])
    return t.op("SUM", 6, [5], [axes]).drop(4, 5), 6


# Name: the operations, and the array to ask for.
ENDLESS = {
    "product": product([1, 1 << 40], [1 << 40, 1]),
    "product_of_tiles": product([512, 1 << 31], [1 << 31, 512]),
    "product_of_float32": product([64, 1 << 36], [1 << 36, 64], "FLOAT32"),
    "product_of_float16": product([64, 1 << 36], [1 << 36, 64], "FLOAT16"),
    "product_of_complex": product([200, 1 << 32], [1 << 32, 200], "COMPLEX128"),
    "product_of_integers": product([1, 1 << 40], [1 << 40, 1], "INT64"),
    "product_of_few_columns": product([4096, 1 << 28], [1 << 28, 8]),
    "product_of_few_rows_of_integers": product([3, 1 << 38], [1 << 38, 2], "INT64"),
    "product_of_a_batch": product([1 << 12, 4, 1 << 26], [1 << 12, 1 << 26, 4]),
    "product_with_a_vector": product([16, 1 << 36], [1 << 36]),
    "product_of_vectors": product([1 << 40], [1 << 40]),
    "sum": reduction([1 << 20, 1 << 20, 2], 7),
    "sum_of_long_rows": reduction([1000, 1 << 31], 2),
    "sum_of_columns": reduction([1 << 24, 1 << 16], 1),
    "any": reduction([1 << 22, 1 << 22], 3, "ANY", "BOOL"),
    "argmax": reduction([1 << 20, 1 << 21], 3, "ARGMAX"),
    "chain": reduction([1 << 20, 1 << 20], 3, chain=60),
    "gather": gather([1 << 20, 1 << 21], 3),
}
