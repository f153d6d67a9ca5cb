# SPDX-License-Identifier: Apache-2.0
"""The device "auto": which one each program runs on, and why.

The device cuda:0 is the stand-in with its modelled clock, so that what kernels are
measured to take is what a GPU would, or what a test says.
"""

import json
import re

import pytest
from gpu import Gpu, Refused
from harness import find_standin, wait_until

pytestmark = pytest.mark.skipif(find_standin() is None, reason="no stand-in driver was built")

# Much arithmetic, little to read: worth a GPU however slow the CPU's threads are.
CHAIN = "np.exp(np.sin(np.exp(np.sin(np.exp(np.sin(np.cos({})))))))"
HEAVY = "out = float(" + CHAIN.format("a") + ".sum())"


def auto(device="auto", **options):
    options = {"clock": "model", "sms": 100, "race": 0, **options}
    return Gpu(device, **options)


def reasons(gpu):
    kernels = [gpu.daemon.get(f"/kernels/{k['id']}") for k in gpu.daemon.kernels()]
    return sorted({r for k in kernels for r in k["reasons"] if " runs on " in r})


def reason(gpu, *words):
    """The one reason with these words."""
    found = [r for r in reasons(gpu) if all(w in r for w in words)]
    assert len(found) == 1, "\n".join([str(words), *reasons(gpu)])
    return found[0]


def runs(gpu):
    return gpu.device("cpu")["runs"], gpu.device()["runs"]


def compiled(gpu):
    """No GPU's kernel is under way any more, and there are some."""
    kernels = [k for k in gpu.daemon.kernels() if k["arch"]]
    return kernels and all(k["state"] == "ready" for k in kernels)


def resident(talker, n=40000):
    """`a`: on the host and on the device."""
    talker.do(f"""
a = np.asarray(numpy.linspace(0, 1, {n}))
with braze.device("cuda:0"):
    braze.wait(a + 0)""")


def where(gpu, talker, code):
    """Devices that the code's plans ran on: 'cpu', 'cuda:0' or both."""
    before = runs(gpu)
    talker.do(code)
    return [name for name, old, new in zip(("cpu", "cuda:0"), before, runs(gpu)) if new > old]


def test_tiny_programs_run_on_the_cpu():
    """Predicted so, and nothing is compiled for the device.  On a machine that is so busy
    (or sanitized) that the CPU is measured slow it may be tried, and is left again."""
    with auto(slow=1000) as gpu:
        gpu.usable()
        a = gpu.talker("auto")
        a.do("small = np.asarray(numpy.arange(100.)); out = float((small * 2).sum())")
        assert where(gpu, a, "braze.wait(small * 2 + 1)") == ["cpu"]
        assert not any(k["arch"] for k in gpu.daemon.kernels())

        def settled():
            for _ in range(4):
                a.do("braze.wait(small * 2 + 1)")
            return not any(r.endswith("tried on cuda:0") for r in reasons(gpu))

        wait_until(settled, 60, "a choice")
        why = reasons(gpu)
        assert why and all("runs on cpu: predicted" in r and "(0.0 MB to move, " in r
                           and "meanwhile" not in r and "corrected" not in r for r in why), why
        if not any("tried" in r for r in why):
            assert gpu.device()["runs"] == 0


def test_programs_that_mostly_move_bytes_run_on_the_cpu():
    """Fresh host data in, everything out again: the link decides, which is measured."""
    with auto(link_gbs=0.5) as gpu:
        gpu.usable()
        a = gpu.talker("auto")
        a.do("""
x = numpy.ones(500000)
with braze.device("cuda:0"):
    numpy.asarray(np.asarray(x) + 1)""")
        device = gpu.device()
        assert device["upload_rate"] == pytest.approx(5e8, rel=0.2)
        assert device["download_rate"] == 0 or device["download_rate"] == pytest.approx(5e8, rel=0.2)
        for _ in range(5):
            assert where(gpu, a, "out = float(numpy.asarray(np.asarray(x) * 3)[7])") == ["cpu"]
        text = reason(gpu, "on the host,", "runs on cpu", "(8.0 MB to move, 1 launches)")
        assert float(re.search(r"predicted (\d+) us on cuda:0", text)[1]) > 8000


def test_chains_on_resident_arrays_run_on_the_device():
    """What is made there stays there and is used there; one number is read.  (b is too much
    to be made again from a each time: it is stored.)"""
    with auto() as gpu:
        gpu.usable()
        a = gpu.talker("auto")
        resident(a)
        turn = f"b = {CHAIN.format('a')} * a + 1; s = float(b.sum()); out = float({CHAIN.format('b')}.sum())"
        want = a.do(turn)
        for _ in range(3):
            wait_until(lambda: compiled(gpu), 60, "its kernels' compilation")
            a.do(turn)
        # From when its kernels are there it is always the device.
        fetches = gpu.daemon.status()["device_fetches"]
        for _ in range(6):
            assert where(gpu, a, turn) == ["cuda:0"], reasons(gpu)
            assert a.do(turn) == pytest.approx(want, rel=1e-12)
        assert gpu.daemon.status()["device_fetches"] == fetches
        text = reason(gpu, "with inputs on the device, runs on cuda:0")
        assert "(0.0 MB to move, 2 launches)" in text and "measured" in text
        assert "tried" not in text and "corrected" not in text
        explain = gpu.daemon.ctl("explain")
        assert "runs on cuda:0: predicted" in explain.stdout


def test_data_that_are_read_again_are_worth_their_copy():
    """The first run sees data that may never come again; from the second on they are
    expected to be read again and again, and one copy pays."""
    with auto(link_gbs=2) as gpu:
        gpu.usable()
        a = gpu.talker("auto")
        resident(a, 300000)  # the link is measured, the kernels are compiled
        code = "out = float((np.exp(np.sin(x)) * x).sum())"
        a.do("""
x = np.asarray(numpy.linspace(0, 1, 300000))
with braze.device("cuda:0"):
    """ + code)
        a.do("x = np.asarray(numpy.linspace(0, 2, 300000))")
        assert where(gpu, a, code) == ["cpu"], reasons(gpu)
        assert "predicted" in reason(gpu, "with inputs on the host, runs on cpu")
        for _ in range(4):
            assert where(gpu, a, code) == ["cuda:0"], reasons(gpu)
        reason(gpu, "with inputs on the host and read before, runs on cuda:0")
        reason(gpu, "with inputs on host and device, runs on cuda:0")


def test_what_the_client_has_written_is_not_on_the_device_any_more():
    with auto() as gpu:
        gpu.usable()
        a = gpu.talker("auto")
        resident(a)
        a.do(HEAVY)
        assert len(reasons(gpu)) == 1
        assert "(0.0 MB to move" in reason(gpu, "with inputs on host and device,")
        a.do("""
with braze.host(a) as h:
    h[7] = 5""")
        a.do(HEAVY)
        assert "(0.3 MB to move" in reason(gpu, "with inputs on the host,")


def test_kernels_are_compiled_while_the_first_run_is_on_the_cpu():
    with auto() as gpu:
        gpu.usable()
        a = gpu.talker("auto")
        resident(a)
        before = gpu.device()["runs"]
        assert where(gpu, a, HEAVY) == ["cpu"]
        assert "compiled meanwhile" in reason(gpu, "on host and device,", "runs on cpu")
        wait_until(lambda: compiled(gpu), 60, "the compilation")
        assert gpu.device()["runs"] == before
        assert where(gpu, a, HEAVY) == ["cuda:0"]


def test_device_as_fast_as_predicted_keeps_its_programs():
    with auto() as gpu:
        gpu.usable()
        a = gpu.talker("auto")
        resident(a)
        a.do(HEAVY)
        wait_until(lambda: compiled(gpu), 60, "the compilation")
        for _ in range(8):
            assert where(gpu, a, HEAVY) == ["cuda:0"], reasons(gpu)
        text = reason(gpu, "on host and device,", "runs on cuda:0")
        measured = float(re.search(r"; measured (\d+) us on cuda:0$", text)[1])
        assert 30 < measured < 100, "by events, not by the interpreter's time"


def test_slow_device_is_left_once():
    """What was predicted is not what is measured: the CPU is tried, and stays."""
    with auto(slow=5000) as gpu:
        gpu.usable()
        a = gpu.talker("auto")
        resident(a)
        a.do(HEAVY)
        wait_until(lambda: compiled(gpu), 60, "the compilation")
        seen = [where(gpu, a, HEAVY) for _ in range(12)]
        assert seen == [["cuda:0"]] * 3 + [["cpu"]] * 9, (seen, reasons(gpu))
        text = reason(gpu, "on host and device,", "runs on cpu")
        found = re.search(r"; measured (\d+) us on cuda:0; tried on the CPU: (\d+) us; "
                          r"corrected to the CPU$", text)
        assert found, text
        assert float(found[1]) > 20000 > float(found[2])
        assert found[0] in gpu.daemon.ctl("explain").stdout


def test_nothing_is_decided_before_the_device_has_said_what_it_is():
    with auto(hold=1) as gpu:
        a = gpu.talker("auto")
        a.do("a = np.asarray(numpy.linspace(0, 1, 40000))")
        for _ in range(5):
            a.do(HEAVY)
        assert gpu.device()["state"] == "starting" and gpu.device()["runs"] == 0
        assert reasons(gpu) == []
        gpu.release()
        gpu.usable()
        a.do(HEAVY)
        wait_until(lambda: compiled(gpu), 60, "the compilation")
        assert where(gpu, a, HEAVY) == ["cuda:0"], reasons(gpu)


@pytest.mark.parametrize("error", [700, 719])
def test_quarantined_kernel_runs_on_the_cpu(error):
    """It killed the device's worker twice.  Nobody asked for that device: the CPU does it;
    who asks for it is told."""
    with auto() as gpu:
        gpu.usable()
        a = gpu.talker("auto")
        resident(a)
        want = a.do(HEAVY)
        wait_until(lambda: compiled(gpu), 60, "the compilation")
        assert where(gpu, a, HEAVY) == ["cuda:0"]
        for strike in (1, 2):
            gpu.inject(f"fault=cuLaunchKernel:1:{error}")
            assert a.do(HEAVY) == pytest.approx(want, rel=1e-12)
            assert gpu.deaths() == strike
        for _ in range(3):
            gpu.usable()
            assert where(gpu, a, HEAVY) == ["cpu"]
        assert gpu.deaths() == 2

        (bad,) = [k for k in gpu.daemon.kernels() if k["state"] == "quarantined"]
        pid = a.process.pid
        assert bad["strikes"] == 2 and bad["arch"]
        assert re.fullmatch(rf"step 0 of plan \d+, run by talker\.py \(client \d+, pid {pid}\), "
                            r"killed the worker of cuda:0 at 2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
                            bad["blame"]), bad["blame"]
        events = gpu.daemon.get("/events")["events"]
        told = [e for e in events if f"kernel {bad['id']}, strike 2, is quarantined: {bad['blame']}"
                in e["text"]]
        assert len(told) == 1 and told[0]["topic"] == "recover"
        assert bad["blame"] in gpu.daemon.ctl("events").stdout
        text = f"runs on cpu: kernel {bad['id']} is quarantined on cuda:0: {bad['blame']}"
        assert any(text in r for r in reasons(gpu)), reasons(gpu)
        assert text in gpu.daemon.ctl("explain").stdout
        doctor = gpu.daemon.ctl("doctor").stdout
        assert "1 kernel is not run any more" in doctor, doctor
        with pytest.raises(Refused, match="killed the worker of cuda:0 twice"):
            a.do(f"""
with braze.device("cuda:0"):
    {HEAVY}""")


def test_doctor_tells_what_choices_are_made_from():
    with auto(memory_gbs=800, link_gbs=2) as gpu:
        gpu.usable()
        doctor = gpu.daemon.ctl("doctor").stdout
        assert re.search(r"ok +cuda:0: memory 800 GB/s; copies to it not known yet, from it not known yet", doctor), doctor
        a = gpu.talker("auto")
        a.do("""
x = numpy.ones(500000)
with braze.device("cuda:0"):
    b = np.asarray(x) + 1; braze.wait(b)
numpy.asarray(b)""")
        doctor = gpu.daemon.ctl("doctor").stdout
        assert re.search(r"cuda:0: memory 800 GB/s; copies to it [12]\.?\d* GB/s, from it [12]\.?\d* GB/s",
                         doctor), doctor
        assert json.loads(gpu.daemon.ctl("--json", "status").stdout)
