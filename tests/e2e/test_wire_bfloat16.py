# SPDX-License-Identifier: Apache-2.0
"""bfloat16 on the wire, as clients in C record it: numbers beside its arrays are of it, too; and its products on a GPU."""

import struct

import pytest
import raw
from gpu import Gpu
from harness import find_standin

WEAK = 1 << 31 | 1 << 8
INT64, FLOAT64 = raw.DTYPE["INT64"], raw.DTYPE["FLOAT64"]


def double(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def made(daemon, form, record):
    """The elements of array 9, which is recorded of array 2: three times 1 in bfloat16."""
    with raw.Raw(daemon.socket) as c:
        t = raw.Trace().full(1, [3], 1.0).op("CAST", 2, [1], dtype="BFLOAT16")
        c.request(record(t).message())
        (code, text, data), = c.read(1, 9).extents()
        assert code == 0, text
        return struct.unpack(form, data)


def test_numbers_are_rounded_as_arrays_are(daemon):
    """257 is 256 in bfloat16, 1.1 is one of float32; an operation's result is rounded before the next."""
    assert made(daemon, "<3H", lambda t: t.op("ADD", 9, [2, WEAK | INT64], [257])) == (0x4380,) * 3
    single, = struct.unpack("<f", struct.pack("<f", 1.1))
    assert made(daemon, "<3f", lambda t: t.op("MULTIPLY", 9, [2, WEAK | FLOAT64], [double(1.1)])) == (single,) * 3
    assert made(daemon, "<3?", lambda t: t.op("LESS", 9, [2, WEAK | INT64], [257])) == (True,) * 3
    assert made(daemon, "<3d", lambda t: t.op("ADD", 3, [2, WEAK | INT64], [257]).op("ADD", 4, [3, 3]).op(
        "CAST", 9, [4], dtype="FLOAT64")) == (512.0,) * 3
    assert made(daemon, "<d", lambda t: t.op("ADD", 3, [2, WEAK | INT64], [257]).op(
        "SUM", 4, [3], [1], dtype="BFLOAT16").op("CAST", 9, [4], dtype="FLOAT64")) == (768.0,)
    assert made(daemon, "<3H", lambda t: t.op("LESS", 3, [2, WEAK | INT64], [1]).op(
        "WHERE", 9, [3, 2, WEAK | INT64], [513])) == (0x4400,) * 3


@pytest.mark.parametrize(("name", "imm"), [("SORT", [0]), ("CUMSUM", [0]), ("SIGN", []), ("ARANGE", None)])
def test_what_it_has_not_is_refused(daemon, name, imm):
    with raw.Raw(daemon.socket) as c:
        t = raw.Trace().full(1, [3]).op("CAST", 2, [1], dtype="BFLOAT16")
        if imm is None:
            t.op(name, 3, [WEAK | INT64] * 2, [0, 1, 3], dtype="BFLOAT16")
        else:
            t.op(name, 3, [2], imm, dtype="BFLOAT16")
        c.request(t.message())
        assert "bfloat16" in c.ended().text


@pytest.mark.skipif(find_standin() is None, reason="no stand-in driver was built")
def test_products_by_tensor_cores():
    """TF32 has all of its digits, so that who asks for no TF32 gets the very products."""
    pytest.importorskip("ml_dtypes")
    with Gpu() as gpu:
        gpu.usable()
        talker = gpu.talker()
        told, near = talker.do("""
import ml_dtypes
rng = numpy.random.default_rng(1)
a, b = (rng.standard_normal((90, 80)).astype(ml_dtypes.bfloat16) for _ in range(2))
c = np.asarray(a) @ np.asarray(b).T
braze.wait(c)
want = a.astype("float64") @ b.astype("float64").T
out = [braze.explain(c), bool(numpy.allclose(numpy.asarray(c), want, 1e-6, 1e-6)) and c.dtype == "float32"]""")
        assert "by cuBLAS in TF32" in told and near
        assert gpu.daemon.status()["device_products"]["library"] > 0
