# SPDX-License-Identifier: Apache-2.0
"""What versions of NumPy answer in different ways, beside the NumPy that is there. As a program: a line for each
difference, and exit 1."""

import sys
import warnings

import numpy

TYPES = ("bool", "int8", "int32", "uint8", "float16", "float32", "float64", "complex64")
EXPONENTS = ("2", "2.0", "3", "1", "0", "True", "2j", "m.int64(2)", "m.float64(2)", "m.float32(2)", "m.float64(3)", "m.int8(2)",
             "m.array(2)", "m.array(2.0)", "m.array(2, 'i1')", "m.float64(0.5)", "m.arange(3).max()", "m.ones(3).max()")
CALLS = {
    "float": "float(m.ones(1))", "int": "int(m.ones((1, 1)))", "complex": "complex(m.ones(1))", "a number": "float(m.array(2.0))",
    "float of many": "float(m.ones(3))", "text": "'%d' % m.ones(1)",
    "count": "(m.ones(2, 'i4') * m.count_nonzero(m.arange(3))).dtype", "counts": "m.count_nonzero(m.arange(6).reshape(2, 3), axis=0).dtype",
    "corrcoef": "m.corrcoef([[1.0, 2.0], [3.0, 5.0]])", "of complex numbers": "m.corrcoef(m.array([[1, 2j], [3, 4]])).shape",
    "with a bias": "m.corrcoef([[1.0, 2.0], [3.0, 5.0]], bias=True)",
    "size": "m.size(m.ones((2, 3)), -1)", "size of no axis": "m.size(m.ones(3), 5)", "sizes": "m.size(m.ones((2, 3)), (0, 1))",
    "reshape": "m.reshape(m.ones((2, 3)), None).shape",
    "roots at infinities": "(m.array([-m.inf, -1, -0.0]) ** m.float64(0.5)).tolist()",
    **{f"type of {t} ** {e}": f"(m.ones(3, '{t}') ** {e}).dtype" for t in TYPES for e in EXPONENTS},
}
WRITES = [f"a[{key}] = {value}" for key in ("1", "1, ...", "m.int64(1)", "...", "1:2", "[1]", "m.array([True, False, False])")
          for value in ("m.array([5.0])", "m.array([[5.0]])", "m.array(5.0)", "numpy.array([5.0])", "m.ones(1) * 5")]
WRITES += [f"a.real = {value}" for value in ("300", "2.5", "m.float16('nan')", "[1, 2, 3]", "2j")]
CALLS.update({f"{base}: {w}": (base, w) for base in ("m.arange(3.0)", "m.arange(3, dtype='i1')") for w in WRITES})


def answer(m, what):
    """A value with its type, or the class of an exception."""
    space = {"m": m, "numpy": numpy}
    try:
        if isinstance(what, str):
            value = eval(what, space)
        else:
            space["a"] = eval(what[0], space)
            exec(what[1], space)
            value = space["a"]
    except Exception as error:
        return type(error)
    return str(numpy.asarray(value)) if hasattr(value, "dtype") or isinstance(value, (list, float)) else str(value)


def differences():
    import braze.numpy as np

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, what in CALLS.items():
            ours, theirs = answer(np, what), answer(numpy, what)
            if ours != theirs and not (isinstance(theirs, type) and isinstance(ours, type) and issubclass(ours, theirs)):
                yield f"{name}: NumPy {numpy.__version__} {theirs}, braze {ours}"


if __name__ == "__main__":
    found = list(differences())
    print("\n".join(found))
    sys.exit(bool(found))
