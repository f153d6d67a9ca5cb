# SPDX-License-Identifier: Apache-2.0
"""numpy.fft on cuda:0 by a vendor's library: the stand-in for cuFFT, which checks what it is told, and
what happens where there is none or where it fails."""

import pytest
from gpu import PATIENT, STRICT, Gpu, Refused
from gpu_calls import fixtures
from harness import find_standin, wait_until

pytestmark = pytest.mark.skipif(find_standin() is None, reason="no stand-in driver was built")

# Both sides make the same operands.  A transform's error grows with the levels it has, and is spread over
# all numbers of the result alike.
SETUP = """
import math
import warnings

def make(dtype, *shape, seed=1):
    rng = numpy.random.default_rng(seed)
    x = rng.standard_normal(shape) * 10
    if numpy.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)

def near(got, want, n):
    assert type(got) is np.ndarray, type(got)
    got = numpy.asarray(got)
    assert got.shape == want.shape and got.dtype == want.dtype, (got.dtype, want.dtype, got.shape, want.shape)
    eps = numpy.finfo(want.dtype).eps
    room = 8 * eps * (1 + math.log2(n)) * numpy.sqrt((numpy.abs(want.astype("c16")) ** 2).sum() / max(want.size, 1))
    off = numpy.abs(got.astype("c16") - want.astype("c16")).max(initial=0)
    assert off <= room, (off, room, got, want)

def check(name, a, *args, lay=lambda x: x, **kw):
    x = lay(np.asarray(a))
    want = getattr(numpy.fft, name)(lay(a), *args, **kw)
    got = getattr(np.fft, name)(x, *args, **kw)
    near(got, want, max(want.size, a.size, 2))
    assert numpy.array_equal(numpy.asarray(x), lay(a)), "its operand has changed"
"""
COMPLEX, REAL = ["complex64", "complex128"], ["float32", "float64"]
OTHERS = ["bool", "int8", "uint16", "int32", "int64", "float16"]
LENGTHS = [1, 2, 3, 5, 8, 12, 13, 17, 64, 100, 127, 1000, 1009]
LAYOUTS = ["lambda x: x", "lambda x: x[::2]", "lambda x: x[:, ::3]", "lambda x: x[::-1, ::-1]", "lambda x: x.T",
           "lambda x: x[1:5, 2:9]", "lambda x: x[:, 3]", "lambda x: x[None, :, None, :]",
           "lambda x: numpy.broadcast_to(x[2], (4, 21)) if type(x) is numpy.ndarray else np.broadcast_to(x[2], (4, 21))"]


def of_kinds(dtypes, *names):
    """Which of the transforms NumPy makes of which types."""
    return [(name, dtype) for name in names for dtype in dtypes if dtype in REAL or name not in ("rfft", "ihfft")]


shared, transforms, made = fixtures(SETUP, "cufftExec")


# ---- What it computes ----


@pytest.mark.parametrize(("name", "dtype"), of_kinds(COMPLEX + REAL, "fft", "ifft", "rfft", "irfft", "hfft", "ihfft"))
def test_lengths(transforms, name, dtype):
    """Of an axis as it is, cropped and with zeros behind."""
    transforms.do(f"""
for n in {LENGTHS}:
    check('{name}', make('{dtype}', 2, n + 1 if '{name}' in ('irfft', 'hfft') else n))
    check('{name}', make('{dtype}', 3, 20), n)
""")
    assert transforms.calls() >= 2 * len(LENGTHS)


@pytest.mark.parametrize(("name", "dtype"), of_kinds(["complex64", "float64"], "fft", "ifft", "rfft", "irfft"))
@pytest.mark.parametrize("layout", range(len(LAYOUTS)))
def test_layouts(transforms, name, dtype, layout):
    transforms.do(f"""
lay = {LAYOUTS[layout]}
a = make('{dtype}', 14, 21)
for axis in range(lay(a).ndim):
    if lay(a).shape[axis] > 1 or '{name}' in ('fft', 'rfft'):
        check('{name}', a, axis=axis, lay=lay)
        check('{name}', a, 9, axis - lay(a).ndim, lay=lay)
""")
    assert transforms.calls()


@pytest.mark.parametrize("dtype", ["complex128", "float32"])
@pytest.mark.parametrize("axis", range(4))
def test_axes_in_the_middle(transforms, dtype, axis):
    """Odd numbers of real ones are no whole pairs: they are copied, with the axis last."""
    transforms.do(f"""
for shape in ((3, 4, 5, 6), (5, 3, 7, 3), (1, 4, 1, 3), (2, 1, 9, 1)):
    a = make('{dtype}', *shape)
    check('fft', a, axis={axis})
    check('ifft', a, axis={axis}, lay=lambda x: x.transpose(2, 0, 3, 1))
    check('irfft', a, 6, axis={axis})
    check('irfft', a, 7, axis={axis}, lay=lambda x: x[..., ::-1])
    if a.dtype.kind == 'f':
        check('rfft', a, axis={axis})
        check('rfft', a, 5, axis={axis}, lay=lambda x: x.transpose(3, 1, 2, 0))
""")
    assert transforms.calls()


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2",
                                  "fftn", "ifftn", "rfftn", "irfftn"])
def test_factors(transforms, name, norm):
    transforms.do(f"""
for dtype in ('float32', 'float64', 'complex64', 'complex128'):
    if '{name}' not in ('rfft', 'ihfft', 'rfft2', 'rfftn') or dtype[0] == 'f':
        check('{name}', make(dtype, 4, 6, 10), norm={norm!r})
""")
    assert transforms.calls()


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_several_axes(transforms, name):
    transforms.do(f"""
a = make('float64', 3, 8, 5, 6)
check('{name}n', a)
check('{name}n', a, axes=(1,))
check('{name}n', a, axes=(-1, 0))
check('{name}n', a, axes=[0, 2, 1])
check('{name}n', a, (4, 7), (1, 3))
check('{name}n', a, (3, 9), (-1, 0), 'ortho')
check('{name}2', a)
check('{name}2', a, (5, 12))
check('{name}2', a, axes=(0, 1))
check('{name}2', a[0, 0], s=[4, 4], norm='forward')
""")
    assert transforms.calls()


@pytest.mark.parametrize("dtype", OTHERS)
def test_other_types(transforms, dtype):
    transforms.do(f"""
for name in ('fft', 'ifft', 'rfft', 'irfft', 'hfft', 'ihfft', 'fft2', 'irfft2', 'rfftn'):
    for norm in (None, 'ortho', 'forward'):
        check(name, make('{dtype}', 6, 9), norm=norm)
""")
    assert transforms.calls()


def test_lazy_and_fused(transforms):
    """Maps before and behind become one step each with the factor; nothing is waited for."""
    assert transforms.do("""
a, h = make('complex128', 16, 50), make('complex128', 50, seed=2)
x, f = np.asarray(a), np.asarray(h)
braze.wait(x + 1, f + 1)
before = braze.counters()['round_trips']
y = np.fft.ifft(np.fft.fft(x * 2 + 1) * f) * 3 - x
z = np.fft.irfft(np.fft.rfft(x.real) * f[:26], 50)
out = braze.counters()['round_trips'] - before
""") == 0
    assert transforms.calls() == 0
    transforms.do("""
near(y, numpy.fft.ifft(numpy.fft.fft(a * 2 + 1) * h) * 3 - a, 50)
near(z, numpy.fft.irfft(numpy.fft.rfft(a.real) * h[:26], 50), 50)
""")
    assert transforms.calls() == 4


def test_a_factor_is_part_of_what_follows(transforms):
    text = transforms.do("y = np.fft.ifft(np.asarray(make('complex128', 8, 40))) * 3 + 1\nbraze.wait(y)\n"
                         "out = braze.explain(y)")
    assert "fft.ifft of complex128, 8 of length 40" in text
    assert "(multiply, add)" in text and "step 3" not in text, text


def test_what_is_read_stays(transforms):
    """A transform to real numbers spoils what it reads, in the library: that is a copy."""
    transforms.do("""
a = make('complex128', 5, 9)
x = np.asarray(a)
y = x + 0
first, second, third = np.fft.irfft(y), np.fft.irfft(y, axis=0), y * 2
near(first, numpy.fft.irfft(a), 16)
near(second, numpy.fft.irfft(a, axis=0), 16)
assert numpy.array_equal(numpy.asarray(third), a * 2) and numpy.array_equal(numpy.asarray(y), a)
""")


def test_in_a_loop(transforms):
    """As a program of turns has it."""
    transforms.do("""
a = make('complex128', 64)
x, want = np.asarray(a), a
for k in range(40):
    x = np.fft.ifft(np.fft.fft(x) * 1.01) + x[::-1] * 0.1
    want = numpy.fft.ifft(numpy.fft.fft(want) * 1.01) + want[::-1] * 0.1
    x[3] = k
    want[3] = k
near(x, want, 2 ** 40)
""")
    assert transforms.calls() == 80


def test_many_and_long(transforms):
    transforms.do("""
check('fft', make('complex64', 3000, 16))
check('fft', make('complex128', 100003))
check('rfft', make('float32', 1 << 17))
check('irfft', make('complex64', 65537))
""")
    assert transforms.calls() == 4


def test_plans_are_kept_and_bounded(transforms):
    """One for each shape, of the last sixteen."""
    transforms.do("x = np.asarray(make('complex128', 200))\nfor k in range(5): braze.wait(np.fft.fft(x + k))")
    assert transforms.calls("cufftMakePlan") == 1
    transforms.do("for n in range(20, 45): braze.wait(np.fft.fft(x, n))")
    assert transforms.calls("cufftDestroy") >= 9
    transforms.do("braze.wait(np.fft.fft(x, 44) * 2)")
    assert transforms.calls("cufftMakePlan") == 0


def test_numpys_own_function_takes_it_too(transforms):
    transforms.do("""
a = make('complex128', 4, 8)
near(numpy.fft.fft(np.asarray(a)), numpy.fft.fft(a), 8)
near(numpy.fft.fftn(np.asarray(a)), numpy.fft.fftn(a), 32)
""")
    assert transforms.calls() == 3


# ---- What is NumPy's ----


@pytest.mark.parametrize("call", [
    "fft(x, 0)", "fft(x, -3)", "fft(x, axis=2)", "fft(x, axis=-3)", "fft(x, norm='other')", "fft(x, 2.5)",
    "rfft(x)", "ihfft(x)", "irfft(x[:, :1])", "hfft(x[:, :1])", "fftn(x, axes=(0, 5))", "fftn(x, (3,), (0, 1))",
    "fft2(x[0])", "rfftn(x)", "fftn(x, (0, 3), (0, 1))", "fft(x[:, :0])", "fft(np.asarray(3.0))", "ifft2(x, norm='no')",
    "fft(x, axis='a')", "fft(x, out=3)"])
def test_errors_are_numpys(transforms, call):
    assert transforms.do(f"""
def told(module, x, np=np):
    try:
        module.{call}
    except Exception as error:
        return [type(error).__name__, str(error)]
    return "done"
a = make('complex128', 4, 6)
with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    ours, theirs = told(np.fft, np.asarray(a)), told(numpy.fft, a, numpy)
out = [ours == theirs or (ours, theirs), theirs != "done" or numpy.__version__ < "2"]""") == [True, True]
    assert transforms.calls() == 0


def test_nothing_of_nothing(transforms):
    transforms.do("check('fft', make('complex128', 0, 6))\ncheck('rfft', make('float32', 3, 0, 5))\n"
                  "check('irfft', make('complex64', 0, 5))")
    assert transforms.calls() == 0


@pytest.mark.parametrize("device", ["cpu", "auto"])
def test_other_devices_are_numpys(transforms, device):
    transforms.do(f"""
a = make('complex128', 40, 50)
with braze.device('{device}'):
    got = np.fft.fft(np.asarray(a) * 1)

assert numpy.array_equal(numpy.asarray(got), numpy.fft.fft(a))
""")
    assert transforms.calls() == 0


@pytest.mark.parametrize("library", ["", "/nowhere/libcufft.so.12", __file__])
def test_no_library(made, library):
    t = made(env={"BRAZE_LIBCUFFT": library})
    t.do("a = make('complex128', 40, 50)\n"
         "assert numpy.array_equal(numpy.asarray(np.fft.fft(np.asarray(a) * 1)), numpy.fft.fft(a))")
    assert t.calls() == 0
    assert ("cuFFT does not load" in t.gpu.daemon.log_text()) == (library == __file__)
    # Whoever asks such a device all the same, as programs in C may, is answered by the processor.
    t.do("from braze import _core\nx = np.asarray(a) * 1\n"
         "y = numpy.asarray(_core.fourier('fft.fft', x, 1, 50))\n"
         "assert numpy.allclose(y, numpy.fft.fft(a), rtol=1e-12)")


def test_a_device_that_starts_is_waited_for():
    with Gpu(hold=1) as gpu:
        talker = gpu.talker()
        talker.do(SETUP)
        talker.begin("x = np.asarray(make('complex128', 8))\ny = np.fft.fft(x)\nout = 1")
        gpu.release()
        assert talker.end() == 1
        talker.do("near(y, numpy.fft.fft(make('complex128', 8)), 8)")


# ---- A library that fails ----


@pytest.mark.parametrize(("call", "code", "text"), [
    ("cufftCreate", 5, "internal error"), ("cufftSetAutoAllocation", 4, "an argument"),
    ("cufftMakePlanMany64", 8, "a size is not taken"), ("cufftSetStream", 1, "no such plan"),
    ("cufftSetWorkArea", 13, "no work area"), ("cufftExecZ2Z", 6, "the launch failed"),
    ("cufftExecZ2Z", 77, "unknown")])
def test_a_call_that_fails(made, call, code, text):
    """That transform's error; the next one is well."""
    t = made()
    t.do("x = np.asarray(make('complex128', 40)); braze.wait(x + 1)")
    t.gpu.inject(f"fail={call}:1:{code}")
    with pytest.raises(Refused, match=rf"DeviceError.*cuFFT status {code} \({text}.*length 40"):
        t.do("numpy.asarray(np.fft.fft(x) + 1)")
    t.do("near(np.fft.fft(x), numpy.fft.fft(make('complex128', 40)), 40)")
    assert t.gpu.deaths() == 0


def test_memory_that_the_pools_keep(made):
    t = made()
    t.do("x = np.asarray(make('complex128', 40)); braze.wait(x + 1)")
    t.gpu.inject("fail=cufftMakePlanMany64:1:2")
    t.do("near(np.fft.fft(x), numpy.fft.fft(make('complex128', 40)), 40)")
    assert t.calls() == 1


def test_no_memory_for_a_plan(made):
    """It fails like every job that finds no room; what the device is taken to have stays as it is."""
    t = made()
    t.do("x = np.asarray(make('complex128', 40)); braze.wait(x + 1)")
    memory = t.gpu.device()["memory_bytes"]
    t.gpu.inject(",".join(f"fail=cufftMakePlanMany64:{k}:2" for k in range(1, 7)))
    with pytest.raises(Refused, match=r"MemoryError.*cuFFT status 2 \(out of memory\) for 1 transforms of length 40"):
        t.do("numpy.asarray(np.fft.fft(x))")
    t.do("near(np.fft.fft(x), numpy.fft.fft(make('complex128', 40)), 40)")
    assert t.gpu.device()["memory_bytes"] == memory


def test_no_room_for_a_work_area(made):
    """48 MB of 72 are wanted for it beside 32 of data."""
    t = made(vram="72M", env=PATIENT)
    memory = t.gpu.device()["memory_bytes"]
    t.do("a = np.asarray(make('complex128', 1000003)); braze.wait(a * 1)")
    for _ in range(2):
        with pytest.raises(Refused, match="MemoryError.*bytes were asked for"):
            t.do("numpy.asarray(np.fft.fft(a))")
    t.do("near(np.fft.fft(a[:100003]), numpy.fft.fft(numpy.asarray(a[:100003])), 1 << 17)")
    assert t.gpu.device()["memory_bytes"] == memory
    assert t.gpu.deaths() == 0


def test_room_is_made_for_a_work_area(made):
    """Arrays that lie there go to the host for it."""
    t = made(vram="72M", env=PATIENT)
    t.do("""
keep = []
for k in range(8):
    keep.append(np.asarray(make('float64', 700000, seed=k)) * 2)
    braze.wait(keep[-1])
a = make('complex128', 300007)
near(np.fft.fft(np.asarray(a)) * 2, numpy.fft.fft(a) * 2, 1 << 19)
for k, x in enumerate(keep): assert numpy.array_equal(numpy.asarray(x), make('float64', 700000, seed=k) * 2)
""")
    assert t.gpu.deaths() == 0


@pytest.mark.parametrize("dtype", COMPLEX + REAL)
def test_the_processor_has_them_too(shared, dtype):
    """For C's clients, who may ask any device: of any kind and length."""
    names = ["fft", "ifft", "irfft"] + (["rfft"] if dtype in REAL else [])
    shared.calls()
    shared.do(f"""
from braze.numpy import _fft
has, _fft._core.has_fourier = _fft._core.has_fourier, lambda: True
try:
    with braze.device('cpu'):
        for name in {names}:
            for n in (1, 2, 3, 4, 6, 7, 12, 13, 16, 50, 101, 1000):
                for shape, axis in (((3, 20), 1), ((20, 3), 0), ((3, 20, 2), 1)):
                    a = make('{dtype}', *shape)
                    got = _fft.FUNCTIONS[name](np.asarray(a), n, axis) * 1
                    near(got, getattr(numpy.fft, name)(a, n, axis), 2 * n)
        a = make('{dtype}', 600, 90)
        near(_fft.FUNCTIONS['fftn'](np.asarray(a)), numpy.fft.fftn(a), a.size)
finally:
    _fft._core.has_fourier = has
""")
    assert shared.calls() == 0


@pytest.mark.parametrize("error", [700, 719])
def test_a_transform_breaks_the_context(made, error):
    """Its worker is started again, and so is the transform."""
    t = made()
    t.do("x = np.asarray(make('complex128', 40)); braze.wait(np.fft.fft(x))")
    t.gpu.inject(f"fault=cufftExecZ2Z:1:{error}")
    t.do("near(np.fft.fft(x) * 2, numpy.fft.fft(make('complex128', 40)) * 2, 40)")
    assert t.gpu.deaths() == 1


def test_a_transform_hangs(made):
    t = made(env=STRICT)
    t.do("x = np.asarray(make('complex128', 40)); braze.wait(np.fft.fft(x))")
    t.gpu.inject("hang=cufftExecZ2Z:1")
    t.do("near(np.fft.fft(x) * 2, numpy.fft.fft(make('complex128', 40)) * 2, 40)")
    assert t.gpu.deaths() == 1


def test_two_clients(shared):
    other = shared.another()
    shared.talker.begin("for k in range(9): check('fft', make('complex128', 30 + k, 40))")
    other.do("for k in range(9): check('irfft', make('complex64', 30 + k, 40), axis=0)")
    shared.talker.end()
    assert other.calls() >= 18


@pytest.mark.parametrize(("call", "told"), [
    ("'fft.fft', x, 1, 8", "AxisError: axis 1 is out of bounds for array of dimension 1"),
    ("'fft.fft', x, -2, 8", "AxisError"), ("'fft.fft', x, 0, 7", "fft.fft of length 7 along an axis of 8 elements"),
    ("'fft.irfft', x, 0, 16", "of length 16 along"), ("'fft.fft', x, 0, 0", "of length 0 along"),
    ("'fft.ifft', x, 0, -8", "of length -8 along"), ("'fft.rfft', x, 0, 8", "TypeError.*complex128"),
    ("'fft.fft', x.real, 0, 8", "TypeError.*float64"), ("'add', x, 0, 8", "add is no Fourier transform")])
def test_what_the_library_of_c_refuses(shared, call, told):
    with pytest.raises(Refused, match=told):
        shared.do(f"x = np.asarray(make('complex128', 8))\nbraze._core.fourier({call})")
    shared.do("near(np.fft.fft(x), numpy.fft.fft(make('complex128', 8)), 8)")


def test_another_program_goes_on(made):
    """Pending transforms, of either kind, are the new daemon's; a client that has asked knows."""
    t = made()
    t.do("a = make('complex128', 6, 30); x = np.asarray(a); braze.wait(np.fft.fft(x))\n"
         "y, z = np.fft.irfft(x * 2, 50, axis=-1), np.fft.ifft(x, axis=0); braze.flush()")
    wait_until(lambda: t.gpu.daemon.ctl("drain").returncode == 0, what="another program")
    t.gpu.usable()
    t.do("near(y, numpy.fft.irfft(a * 2, 50), 50)\nnear(z, numpy.fft.ifft(a, axis=0), 6)\n"
         "near(np.fft.fft(x * 3), numpy.fft.fft(a * 3), 30)")
