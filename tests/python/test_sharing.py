# SPDX-License-Identifier: Apache-2.0
"""Results that lie in an argument's memory: what is written through one is seen in the
argument, or it cannot be written.

Every public function and method of NumPy's is called with many arguments; wherever
NumPy's result shares memory with one of them, braze's is written through and both
arguments are compared.
"""

import contextlib
import io
import warnings

import numpy
import pytest
from numpy.lib.array_utils import byte_bounds

import braze.numpy as np

ARRAYS = {
    "line": lambda m: m.arange(1.0, 7.0),
    "table": lambda m: m.arange(1.0, 10.0).reshape(3, 3),
    "block": lambda m: m.arange(1, 9).reshape(2, 2, 2),
    "fortran": lambda m: m.arange(1.0, 7.0).reshape(2, 3).T,
    "every second": lambda m: m.arange(1.0, 13.0)[::2],
    "complex": lambda m: m.arange(1.0, 5.0).reshape(2, 2) * (1 + 2j),
    "one": lambda m: m.array([[[5.0]]]),
    "point": lambda m: m.array(3.0),
    "bytes": lambda m: m.arange(1, 9).astype("u1"),
    "bools": lambda m: m.array([True, False, True, True]),
}
CALLS = {
    "a": lambda a: (a,),
    "a, 0": lambda a: (a, 0),
    "a, 1": lambda a: (a, 1),
    "a, 2": lambda a: (a, 2),
    "a, -1": lambda a: (a, -1),
    "a, 0, -1": lambda a: (a, 0, -1),
    "a, -1, 0": lambda a: (a, -1, 0),
    "a, (0,)": lambda a: (a, (0,)),
    "a, (-1,)": lambda a: (a, (-1,)),
    "a, a.shape": lambda a: (a, a.shape),
    "a, (2,) + a.shape": lambda a: (a, (2, *a.shape)),
    "a, [1]": lambda a: (a, [1]),
    "a, 1, -1": lambda a: (a, 1, -1),
    "a, None": lambda a: (a, None),
    "a, 'F'": lambda a: (a, "F"),
    "a, 'K'": lambda a: (a, "K"),
    "a, a": lambda a: (a, a),
    "[a]": lambda a: ([a],),
    "[a, a]": lambda a: ([a, a],),
    "a, a.dtype": lambda a: (a, a.dtype),
    "a, 'i8'": lambda a: (a, "i8"),
    "a, 'f8'": lambda a: (a, "f8"),
    "a, 'c16'": lambda a: (a, "c16"),
    "a, 'u1'": lambda a: (a, "u1"),
    "a, 'f4', 4": lambda a: (a, "f4", 4),
    "a, '>f8'": lambda a: (a, ">f8"),
    "a, 'V8'": lambda a: (a, "V8"),
    "'ii->i', a": lambda a: ("ii->i", a),
    "'ij->ji', a": lambda a: ("ij->ji", a),
    "'...', a": lambda a: ("...", a),
}
KEYWORDS = [{"copy": False}, {"copy": None}, {"order": "F"}, {"order": "A"}, {"axis": 0},
            {"writeable": True}, {"requirements": "C"}, {"requirements": ["F", "W"]}, {"n": 0}]
# Those that read and write files, print, change settings, or ask for what no array is.
LEFT_OUT = set(
    "save savez savez_compressed savetxt load loadtxt genfromtxt fromfile fromregex fromstring "
    "set_printoptions seterr seterrcall setbufsize errstate printoptions show_config show_runtime "
    "info test get_include tofile dump dumps frombuffer memmap setflags data ctypes base flags "
    "dtype bmat asmatrix nested_iters".split()
)
# NumPy's result can be written and braze's cannot: it would be lost.
READ_ONLY = {
    "newbyteorder": "bytes in another order",
    "byteswap": "bytes in another order",
}
SUBMODULES = ("linalg", "lib.stride_tricks", "fft")


def _module(m, name):
    for part in name.split(".") if name else ():
        m = getattr(m, part)
    return m


def _functions():
    for space in ("", *SUBMODULES):
        theirs = _module(numpy, space)
        for name in dir(theirs):
            value = getattr(theirs, name, None)
            if name.startswith("_") or name in LEFT_OUT or isinstance(value, type):
                continue
            if callable(value) and not isinstance(value, numpy.ufunc):
                yield f"{space}.{name}".lstrip(".")
    for name in dir(numpy.ndarray):
        if not name.startswith("__") and name not in LEFT_OUT:
            yield "ndarray." + name


def _call(m, name, args, kwargs):
    if name.startswith("ndarray."):
        value = getattr(args[0], name.removeprefix("ndarray."))
        return value(*args[1:], **kwargs) if callable(value) else value
    return getattr(_module(m, name.rpartition(".")[0]), name.rpartition(".")[2])(*args, **kwargs)


def _arrays(x):
    if isinstance(x, (numpy.ndarray, np.ndarray)):
        return [x]
    if isinstance(x, (tuple, list)):
        return [a for y in x for a in _arrays(y)]
    return []


def _combinations():
    yield from ((call, {}) for call in CALLS)
    yield from ((call, kwargs) for kwargs in KEYWORDS for call in ("a", "a, 2", "[a, a]"))


@contextlib.contextmanager
def _quiet():
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def _shared(made, a):
    """NumPy's results that lie in a; numbers of them."""
    return [k for k, r in enumerate(_arrays(made))
            if type(r) is numpy.ndarray and r.size and numpy.may_share_memory(r, a)
            and _inside(byte_bounds(r), byte_bounds(a))]


def _inside(r, a):
    return a[0] <= r[0] and r[1] <= a[1]  # as_strided may leave the array


def _tried(name, array, call, kwargs):
    """What NumPy makes of a call, and what braze does; None where nothing is shared."""
    a = ARRAYS[array](numpy)
    try:
        made = _call(numpy, name, CALLS[call](a), kwargs)
        shared = _shared(made, a)
    except Exception:
        return None
    if not shared:
        return None
    return a, made, shared


def _write(r):
    try:
        r[...] = numpy.ones((), "u1").astype(bool) if r.dtype == bool else 7
    except (ValueError, TypeError) as error:
        return type(error)
    return None


def _differs(name, array, call, kwargs, numpys):
    """How braze differs; an empty text where it does not."""
    a, made, shared = numpys
    mine = ARRAYS[array](np)
    got = _arrays(_call(np, name, CALLS[call](mine), kwargs))
    want = _arrays(made)
    if len(got) != len(want):
        return f"{len(got)} results, NumPy {len(want)}"
    for k in shared:
        if (want[k] is a) != (got[k] is mine):
            return f"result {k} is the argument: {got[k] is mine}, NumPy {want[k] is a}"
        theirs, ours = _write(want[k]), _write(got[k])
        if theirs and not ours:
            return f"result {k} can be written, NumPy's cannot"
        if ours and not theirs and name.rpartition(".")[2] not in READ_ONLY:
            if type(got[k]) is np.ndarray or want[k].dtype in (a.dtype, "i8", "f8", "c16", "u1"):
                return f"result {k} cannot be written: {ours}"
        if ours:
            return ""
        if not numpy.array_equal(numpy.asarray(mine), a):
            return f"after writing result {k}: {mine.tolist()}, NumPy {a.tolist()}"
    return ""


@pytest.mark.parametrize("array", ARRAYS)
def test_writes_through_results_reach_the_argument(array):
    wrong, count = [], 0
    with _quiet():
        for name in _functions():
            for call, kwargs in _combinations():
                numpys = _tried(name, array, call, kwargs)
                if numpys is None:
                    continue
                count += 1
                try:
                    text = _differs(name, array, call, kwargs, numpys)
                except Exception as error:
                    text = repr(error)
                if text:
                    wrong.append(f"{name}({call}, {kwargs}): {text}")
    assert not wrong, "\n".join(wrong[:80])
    assert count > 60
