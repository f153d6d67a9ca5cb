# SPDX-License-Identifier: Apache-2.0
"""Library steps on cuda:0, the stand-in, against the processor: the same bits, on the device.

Each program is one expression over arrays that both devices are given; what it makes is compared
byte by byte, and the processor must not have run for the GPU's client.
"""

import pytest
from gpu import Gpu, Refused
from harness import find_nvrtc, find_standin

pytestmark = [
    pytest.mark.skipif(find_standin() is None, reason="no stand-in driver was built"),
    pytest.mark.skipif(find_nvrtc() is None, reason="there is no NVRTC"),
]

SETUP = """
import braze.random, zlib
r = numpy.random.default_rng(11)
real = {}
for t in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
    real[t] = r.integers(0, 2 if t == "bool" else 100, 9001).astype(t)
for t in ("float16", "float32", "float64"):
    real[t] = r.normal(size=9001).astype(t)
    real[t][[5, 4000, 8999]] = numpy.nan, -0.0, numpy.inf
for t in ("complex64", "complex128"):
    real[t] = (r.normal(size=9001) + 1j * r.normal(size=9001)).astype(t)
mask = r.random(9001)
given = {t: np.asarray(v) for t, v in real.items()}
given_mask = np.asarray(mask)
def told(x):  # nans have the bits of whoever made them
    x = numpy.array(x, order="C")
    if x.dtype.kind in "fc":
        parts = x.reshape(-1).view(x.real.dtype)
        parts[numpy.isnan(parts)] = numpy.nan
    return [str(x.dtype), list(x.shape), zlib.crc32(x.tobytes())]

def matrix(dtype, rows, columns, lengths, wide=False):
    rng = numpy.random.default_rng(rows)
    starts = numpy.concatenate(([0], numpy.cumsum([lengths(r) for r in range(rows)])))
    entries = rng.standard_normal(starts[-1]) * 20
    if numpy.dtype(dtype).kind == "c":
        entries = entries + 1j * rng.standard_normal(starts[-1])
    made = braze.sparse((entries.astype(dtype), rng.integers(0, columns, starts[-1]), starts),
                        shape=(rows, columns if not wide else 1 << 32))
    return made

def factor(dtype, *shape):
    rng = numpy.random.default_rng(5)
    x = rng.standard_normal(shape) * 3
    if numpy.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return np.asarray(x.astype(dtype)) * np.asarray(numpy.ones(shape, dtype))
"""
ALL = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
       "float16", "float32", "float64", "complex64", "complex128"]
FEW = ["bool", "int16", "uint64", "float16", "float32", "float64", "complex64"]


def scans(types):
    for t in types:
        if t == "float16":
            continue
        a = f"given['{t}']"
        yield f"np.cumsum({a}, dtype='{t}')"
        yield f"np.cumprod({a}[:60] + {a}[0:1] * 0 + 1, dtype='{t}')"
        if "complex" not in t:
            yield f"np.minimum.accumulate({a})"
            yield f"np.maximum.accumulate({a}[::-1])"
    for t in "float64", "int16", "complex64":
        a = f"given['{t}']"
        yield f"np.cumsum({a}[:9000].reshape(3, 3000), axis=1)"
        yield f"np.cumsum({a}[:9000].reshape(3000, 3), axis=0)"
        yield f"np.cumsum({a}[:9000].reshape(2, 2250, 2)[::-1], axis=1)[:, ::3]"
        yield f"np.cumsum({a}[:1024]) + np.cumsum({a}[1:1025])"
        yield f"np.cumsum({a}[::7])"
        yield f"np.cumsum({a}[:1])"


def masks(types):
    for t in types:
        yield f"given['{t}'][given_mask < 0.3]"
    for condition in "< 0", "< 2", "< 0.001", "> 0.5":
        yield f"given['float64'][given_mask {condition}]"
        yield f"np.nonzero(given_mask {condition})[0]"
    yield "given['float32'][:9000].reshape(30, 300)[given_mask[:30] < 0.5]"
    yield "given['float32'][:9000].reshape(10, 900)[:, ::2][given_mask[:10] < 0.5]"
    yield "given['int16'][::-1][(given_mask < 0.5)[::-1]]"
    yield "np.nonzero(given_mask[:9000].reshape(30, 300) < 0.3)[1]"
    yield "np.argwhere(given_mask[:9000].reshape(10, 30, 30) < 0.3)"


def reductions(types):
    for t in types:
        for name in "sum", "prod", "min", "max", "any", "all":
            if t.startswith("complex") and name in ("min", "max"):
                continue
            for condition in ("< 0.3",) if name != "sum" else ("< 0.3", "< 2", "< 0.0005"):
                yield f"given['{t}'][given_mask {condition}].{name}()"
    yield "given['float64'][given_mask < -1].sum()"
    yield "given['float64'][:-1:2][(given_mask < 0.5)[1::2]].sum()"


def draws(_):
    for text in ("random({n})", "random({n}, numpy.float32)", "normal(3, 0.5, {n})",
                 "normal(3, 0.5, {n}, numpy.float32)", "exponential(2.5, {n})",
                 "integers(-5, 10, {n})", "integers(-(1 << 62), 1 << 62, {n})",
                 "integers(0, 1 << 40, {n})"):
        for n in 1, 8, 17, 20_001:
            yield f"braze.random.Generator(5).{text.format(n=n)}"
    for n in 1, 20_001:
        yield f"np.random.default_rng(3).random({n})"
        yield f"np.random.default_rng(3).random({n}, dtype='float32')"
        yield ("(lambda g: np.concatenate([g.random(3, dtype='float32'), "
               f"g.random({n}, dtype='float32')]))(np.random.default_rng(3))")
        yield f"np.random.default_rng(3).uniform(-1, 4, {n})"


def searches(types):
    for t in types:
        for side in "left", "right":
            yield (f"np.searchsorted(np.asarray(numpy.sort(real['{t}'])[:3000]), given['{t}'], "
                   f"side='{side}')")
    yield "np.searchsorted(given['float64'], given['float64'][::-1])"  # in no order
    yield "np.searchsorted(given['int64'][:1], given['int64'])"
    yield ("np.interp(given['float64'], np.asarray(numpy.sort(mask)), "
           "np.asarray(real['float64'][::-1].copy()))")
    yield "np.interp(given['float64'], np.asarray(numpy.arange(4.0)), np.asarray(mask[:8])[::2])"


def sorts(types):
    for t in types:
        yield f"np.sort(given['{t}'])"
        yield f"np.argsort(given['{t}'], kind='stable')"
    for t in "float32", "int16", "complex64":
        a = f"given['{t}'][:9000]"
        yield f"np.sort({a}.reshape(1500, 6), axis=1)"
        yield f"np.sort({a}.reshape(30, 300), axis=0)"
        yield f"np.argsort({a}.reshape(90, 100)[:, ::-2], axis=1, kind='stable')"
        yield f"np.argsort({a}.reshape(2, 4500), axis=1, kind='stable')"
        yield f"np.sort({a}.reshape(4500, 2)[::-1], axis=0)"
        for n in 1, 2, 33, 1023, 1024, 1025, 2048, 2049:
            yield f"np.sort({a}[:{n}])"
            yield f"np.argsort({a}[:{n}], kind='stable')"
    yield "np.sort(given['float64'] * 0)"  # zeros of either sign, nans
    yield "np.unique(given['int16'])"
    yield "np.median(given_mask[:8999])"


def sparse(types):
    few, steep = "lambda r: r % 7", "lambda r: 2500 if r == 300 else r % 3"
    for t in [t for t in types if t != "float16"]:
        for columns in "", ", 1", ", 5", ", 40":
            yield f"matrix('{t}', 600, 90, {few}) @ factor('{t}', 90{columns})"
    for t in "float64", "complex64", "int64":
        for columns in "", ", 3":
            yield f"matrix('{t}', 513, 90, {steep}) @ factor('{t}', 90{columns})"
            yield f"matrix('{t}', 1, 90, lambda r: 3000) @ factor('{t}', 90{columns})"
            yield f"matrix('{t}', 400, 1, {few}) @ factor('{t}', 1{columns})"
        yield f"matrix('{t}', 600, 90, {few}).T @ factor('{t}', 600)"
        yield f"factor('{t}', 3, 600) @ matrix('{t}', 600, 90, {few})"
        yield f"matrix('{t}', 60, 90, {few}) @ factor('{t}', 7, 180)[::-1, ::2].T"
        yield f"(matrix('{t}', 60, 90, {few}) @ (factor('{t}', 90) * 2 + 1)) * 3 - 1"
    yield f"matrix('float32', 60, 90, {few}, True) @ np.broadcast_to(factor('float32', 1), (1 << 32,))"


@pytest.fixture(scope="module")
def gpu():
    with Gpu(cc="19.0") as gpu:
        gpu.usable()
        yield gpu


def run_all(talker, programs):
    talker.do(SETUP)
    made = []
    for text in programs:
        made.append(talker.do(f"made = {text}\nbraze.wait(made)\nout = told(made)"))
    return made


@pytest.mark.parametrize("types", [FEW, pytest.param(ALL, marks=pytest.mark.long)],
                         ids=["few", "all"])
@pytest.mark.parametrize("kind", [scans, masks, reductions, draws, searches, sorts, sparse])
def test_bits_are_the_processors(gpu, kind, types):
    programs = list(kind(types))
    want = run_all(gpu.talker("cpu", BRAZE_NEAR="0"), programs)
    device = gpu.talker(BRAZE_NEAR="0")
    device.do(SETUP)
    before = {d["name"]: d["runs"] for d in gpu.daemon.status()["devices"]}
    for text, told in zip(programs, want, strict=True):
        got = device.do(f"made = {text}\nbraze.wait(made)\nout = told(made)")
        assert got == told, text
    after = {d["name"]: d["runs"] for d in gpu.daemon.status()["devices"]}
    assert after["cuda:0"] - before["cuda:0"] >= len(programs) * 2 // 3
    assert after["cpu"] == before["cpu"], "the processor did what the device can do"


def test_what_follows_on_a_mask_stays_on_the_device(gpu):
    """No value comes to the host but what is asked for, and the number of the chosen."""
    a = gpu.talker(BRAZE_NEAR="0")
    a.do("real = numpy.random.default_rng(2).normal(size=100_000)\nx = np.asarray(real) * 2")
    fetches = gpu.daemon.status()["device_fetches"]
    assert a.do("y = x[x > 1]; z = np.cumsum(y) / 3; braze.wait(z)\n"
                "out = braze.is_stored(z)") is False
    assert gpu.daemon.status()["device_fetches"] == fetches
    assert a.do("w = real * 2; w = numpy.cumsum(w[w > 1]) / 3\n"
                "out = bool(numpy.allclose(numpy.asarray(z), w))")


def test_ranks_of_another_mask_are_an_error(gpu):
    """What a client tells wrong spoils its own run, with a reason, and nothing else."""
    a = gpu.talker(BRAZE_NEAR="0")
    a.do(SETUP)
    a.do("from braze import _core\nsum_op = _core.op_find('sum')[0]\nx = given['float64']\n"
         "m, n = given_mask < 0.5, given_mask < 0.6\n"
         "made, ranks = _core.select_reduce(sum_op, x, m, None, None)\nbraze.wait(made)")
    with pytest.raises(Refused, match="does not choose the elements that its ranks say"):
        a.do("made, _ = _core.select_reduce(sum_op, x, n, ranks, None)\nbraze.wait(made)")
    assert a.do("out = told(x[m])") == a.do("out = told(real['float64'][mask < 0.5])")
    assert gpu.device()["worker_deaths"] == 0


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("columns", ["5", "5, 3"])
def test_a_structure_that_lies_is_an_error(gpu, dtype, columns):
    """Its numbers are looked at on the device: nothing else is read, which the stand-in would find."""
    a = gpu.talker(BRAZE_NEAR="0")
    a.do(f"""
from braze import _core
right = numpy.array([0, 3, 3, 8, 0, 4, 2, 1, 1, 0, 3, 2], '{dtype}')
x, e = np.asarray(numpy.ones(({columns}))), np.asarray(numpy.arange(8.0))
def made(place, number):
    lie = right.copy()
    lie[place] = number
    y = _core.sparse_matmul(e, np.asarray(lie), x)
    braze.wait(y)
    return numpy.asarray(y).reshape(3, -1)[:, 0].tolist()
""")
    assert a.do("out = made(0, 0)") == [3, 0, 25]
    for place in range(12):
        for number in (-1, 9, 1 << 30):
            with pytest.raises(Refused, match="structure names columns that it does not have"):
                a.do(f"made({place}, {number})")
    assert a.do("out = made(0, 0)") == [3, 0, 25]
    assert gpu.device()["worker_deaths"] == 0
