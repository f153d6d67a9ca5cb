# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends every wait.

Each way of waiting runs in a process of its own, on a computation that takes minutes at least.
When the process says that it begins, it gets a SIGINT after a moment; KeyboardInterrupt
must come out of that very statement.  How long it took is printed, not judged.
"""

import os
import signal
import subprocess
import sys
import time

import pytest

PATIENCE = 60  # for a machine that is very busy

# What all programs begin with: endless values of several kinds.
PREPARE = """
import ctypes, io, math, os, pickle, signal, struct, sys, tempfile, time
import numpy
import braze
import braze.numpy as np

signal.signal(signal.SIGINT, signal.default_int_handler)
one = np.array([1.0])
many = np.broadcast_to(one, (1 << 41,))
total = np.sum(many)
row = np.broadcast_to(one, (1, 1 << 41))
column = np.broadcast_to(np.array([[1.0]]), (1 << 41, 1))
product = row @ column
count = np.sum(np.broadcast_to(np.array([1]), (1 << 41,)))
places = np.broadcast_to(np.array([0]), (1 << 41,))
vector = np.array([1.0, 2.0]) * total
mask = vector > 0
assert float(np.sum(np.ones(10))) == 10
"""

# Name: the statement that waits.
WAITS = {
    "item": "total.item()",
    "item_of_a_product": "product.item()",
    "item_of_a_gather": "np.sum(one[places]).item()",
    "float": "float(total)",
    "int": "int(count)",
    "index": "[1, 2][count]",
    "range": "range(count)",
    "bool": "bool(total)",
    "if": "if total > 3: pass",
    "complex": "complex(total)",
    "round": "round(total)",
    "math": "math.sqrt(total)",
    "equal_in_python": "[total == 3].index(True)",
    "hash": "hash(total)",
    "asarray": "numpy.asarray(total)",
    "asarray_of_a_vector": "numpy.asarray(vector)",
    "asarray_of_a_product": "numpy.asarray(product)",
    "asarray_as_another_type": "numpy.asarray(vector, dtype='f4')",
    "array": "numpy.array(vector)",
    "array_of_a_list": "numpy.array([vector, vector])",
    "array_method": "vector.__array__()",
    "asanyarray": "numpy.asanyarray(vector)",
    "ascontiguousarray": "numpy.ascontiguousarray(vector)",
    "frombuffer": "numpy.frombuffer(vector)",
    "memoryview": "memoryview(vector)",
    "bytes": "bytes(vector)",
    "bytearray": "bytearray(vector)",
    "tobytes": "vector.tobytes()",
    "tolist": "vector.tolist()",
    "write_to_a_file": "io.BytesIO().write(vector)",
    "ctypes": "(ctypes.c_char * 8).from_buffer_copy(vector)",
    "print": "print(vector)",
    "repr": "repr(product)",
    "str": "str(total)",
    "format": "f'{total:.3f}'",
    "iteration": "for x in vector: float(x)",
    "unpacking": "x, y = vector; float(x)",
    "membership": "3.0 in vector",
    "list": "[float(x) for x in list(vector)]",
    "pickle": "pickle.dumps(vector)",
    "copy": "import copy; float(copy.deepcopy(vector)[0])",
    "save": "numpy.save(io.BytesIO(), vector)",
    "save_of_braze": "np.save(io.BytesIO(), vector)",
    "savetxt": "np.savetxt(io.StringIO(), vector)",
    "element": "float(vector[0])",
    "element_written": "vector[0] = 2.0; float(vector[0])",
    "element_read_by_a_pending_place": "[1, 2][np.zeros(3, int)[np.sum(many) > 3]]",
    "mask_read": "len(vector[mask])",
    "mask_written": "vector[mask] = 3.0; float(vector[0])",
    "nonzero": "np.nonzero(vector)",
    "fallback": "np.unique(vector)",
    "fallback_of_numpy": "numpy.nanmedian(vector)",
    "fallback_in_numpy_only": "numpy.histogram(vector)",
    "fallback_that_sorts": "np.partition(vector, 0)",
    "sorted": "float(np.sort(vector)[0])",
    "numpy_function": "float(numpy.sum(vector))",
    "out_of_numpy": "out = numpy.zeros(2); np.add(vector, 1.0, out=out)",
    "ufunc_out_of_numpy": "out = numpy.zeros(2); numpy.add(vector, 1.0, out=out)",
    "inplace_into_numpy": "out = numpy.zeros(2); out += vector",
    "assigned_to_numpy": "out = numpy.zeros(2); out[...] = vector",
    "copyto_numpy": "out = numpy.zeros(2); numpy.copyto(out, vector)",
    "dlpack": "numpy.from_dlpack(vector)",
    "dlpack_capsule": "vector.__dlpack__()",
    "braze_wait": "braze.wait(vector)",
    "host": "with braze.host(vector) as n: n[0] = 1",
    "eager": "with braze.eager(): float(np.sum(many))",
    "allclose": "np.allclose(vector, 1.0)",
    "array_equal": "np.array_equal(vector, numpy.ones(2))",
    "any": "bool(np.any(vector))",
    "where": "np.where(mask)",
    "reshape_by_a_pending_size": "np.zeros(4).reshape(int(count), -1)",
}

# Here the C code that asks for the number puts an exception of its own in the place of
# any that comes: NumPy a ValueError, which names the cause, struct its own error.
REPLACED = {
    "assigned_to_an_element_of_numpy": "out = numpy.zeros(2); out[0] = total",
    "struct": "struct.pack('d', total)",
}

CHILD = PREPARE + """
print("go", flush=True)
begin = time.monotonic()
try:
{statement}
except KeyboardInterrupt:
    print("interrupted", flush=True)
    # The session goes on, and nothing of the interrupt is left.
    assert float(numpy.asarray(np.ones(5) * 2).sum()) == 10
    assert bytes(np.zeros(2, "u1")) == bytes(2)
    print("fine", flush=True)
else:
    print("it ended by itself", flush=True)
os._exit(0)
"""


def interrupted(statement, then=""):
    """Run it, interrupt it; what the process said, and the seconds it took."""
    code = CHILD.replace("{statement}", "\n".join("    " + s for s in statement.split("\n")))
    child = subprocess.Popen([sys.executable, "-c", code + then], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        first = child.stdout.readline()
        assert first == "go\n", first + child.stdout.read()
        time.sleep(0.4)  # so that it waits; if it does not yet, it is interrupted earlier
        begin = time.monotonic()
        child.send_signal(signal.SIGINT)
        said = child.stdout.readline()
        took = time.monotonic() - begin
        said += child.stdout.read()
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
    return said, took


@pytest.mark.skipif(os.environ.get("BRAZE_TEST_DRIVER") == "own", reason="a GPU is done before")
@pytest.mark.parametrize("name", WAITS)
def test_ctrl_c_ends_the_wait(name):
    said, took = interrupted(WAITS[name])
    print(f"{name}: {took * 1000:.0f} ms")
    assert said == "interrupted\nfine\n", said


@pytest.mark.parametrize("name", REPLACED)
def test_ctrl_c_ends_a_wait_whose_exception_is_replaced(name):
    statement = f"""try:
    {REPLACED[name]}
except (ValueError, struct.error):
    raise KeyboardInterrupt"""
    assert interrupted(statement)[0] == "interrupted\nfine\n"


def test_an_export_may_be_asked_for_again_after_an_interrupt():
    """What was interrupted is remembered for the protocols that NumPy tries next, not
    for the program's next attempt at the same place."""
    statement = """for attempt in range(2):
    try:
        numpy.asarray(vector) if attempt == 0 else None
        if attempt == 1:
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        if attempt == 1:
            raise
        short = [np.ones(3), np.ones(4)]
        for a in short:
            assert numpy.asarray(a).sum() == len(a)"""
    assert interrupted(statement)[0] == "interrupted\nfine\n"
    statement = """ready = np.ones(3)
for a in (vector, ready):
    try:
        n = numpy.asarray(a)
        assert n.sum() == 3
    except KeyboardInterrupt:
        assert a is vector
raise KeyboardInterrupt"""
    assert interrupted(statement)[0] == "interrupted\nfine\n"


def test_what_another_signals_handler_raises_comes_out_of_asarray():
    """Not only KeyboardInterrupt: a time limit by SIGALRM, too."""
    statement = """def limit(number, frame):
    raise TimeoutError("too long")
signal.signal(signal.SIGALRM, limit)
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    numpy.asarray(product)
except TimeoutError:
    raise KeyboardInterrupt"""
    child = subprocess.run([sys.executable, "-c", CHILD.replace(
        "{statement}", "\n".join("    " + s for s in statement.split("\n")))],
        capture_output=True, text=True, timeout=PATIENCE)
    assert child.stdout == "go\ninterrupted\nfine\n", child.stdout + child.stderr
