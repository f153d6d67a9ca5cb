# SPDX-License-Identifier: Apache-2.0
"""A client whose environment has CUDA_VISIBLE_DEVICES gets no other GPU of the daemon."""

import pytest
from gpu import Gpu, Refused
from harness import find_standin, wait_until
from test_peers import usable
from test_place import HEAVY, compiled

pytestmark = pytest.mark.skipif(find_standin() is None, reason="no stand-in driver was built")

UUID = "GPU-5a5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a{:02x}"


def pair(**options):
    return Gpu("cpu,cuda:0,cuda:1", devices=2, **{"clock": "model", "sms": 100, "race": 0, **options})


@pytest.fixture(scope="module")
def gpus():
    with pair() as gpu:
        usable(gpu)
        assert gpu.device("cuda:1")["uuid"] == UUID.format(1)
        yield gpu


@pytest.mark.parametrize("visible, names", [
    ("0", ["cpu", "cuda:0"]), ("1", ["cpu", "cuda:1"]), ("1,0", ["cpu", "cuda:0", "cuda:1"]),
    (UUID.format(1), ["cpu", "cuda:1"]), (UUID.format(0)[:-1] + "0", ["cpu", "cuda:0"]),
    ("", ["cpu"]), ("-1", ["cpu"]), ("7", ["cpu"]), ("0,-1,1", ["cpu", "cuda:0"])])
def test_names(gpus, visible, names):
    a = gpus.talker("auto", CUDA_VISIBLE_DEVICES=visible)
    assert a.do("out = braze.devices()") == names
    for name in ("cuda:0", "cuda:1"):
        code = f"""
with braze.device("{name}"):
    out = float((np.ones(100) * 3).sum())"""
        if name in names:
            before = gpus.device(name)["runs"]
            assert a.do(code) == 300 and gpus.device(name)["runs"] > before
        else:
            with pytest.raises(Refused, match=f'no device "{name}" that CUDA_VISIBLE_DEVICES .*{visible}'):
                a.do(code)
    assert a.do("out = float((np.ones(100) * 3).sum())") == 300


def test_the_variable_that_asks_for_a_device(gpus):
    a = gpus.talker("cuda:1", CUDA_VISIBLE_DEVICES="0")
    with pytest.raises(Refused, match=r'CUDA_VISIBLE_DEVICES \("0"\) does not leave it cuda:1'):
        a.do("out = float((np.ones(100) * 3).sum())")


def test_choices_are_made_among_those(gpus):
    for visible, allowed in (("1", "cuda:1"), ("0", "cuda:0"), ("1", "cuda:1")):
        a = gpus.talker("auto", CUDA_VISIBLE_DEVICES=visible)
        a.do("a = np.asarray(numpy.linspace(0, 1, 40000))")
        before = {n: gpus.device(n)["runs"] for n in ("cuda:0", "cuda:1")}

        def went():
            a.do(HEAVY)
            return compiled(gpus) and gpus.device(allowed)["runs"] > before[allowed] + 3

        wait_until(went, 60, "the device that is left")
        other = "cuda:0" if allowed == "cuda:1" else "cuda:1"
        assert gpus.device(other)["runs"] == before[other]


def test_the_setting_gives_what_is_left():
    """The daemon's only GPU is for who asks for nothing, but not for who may not have it."""
    with Gpu("cuda:1", devices=2) as gpu:
        gpu.usable("cuda:1")
        a = gpu.talker("", CUDA_VISIBLE_DEVICES="0")
        assert a.do("out = float((np.ones(1000) * 3).sum())") == 3000
        assert gpu.device("cuda:1")["runs"] == 0
        b = gpu.talker("", CUDA_VISIBLE_DEVICES="1")
        assert b.do("out = float((np.ones(1000) * 3).sum())") == 3000
        assert gpu.device("cuda:1")["runs"] > 0


def test_a_daemon_with_a_list_of_its_own():
    """What it calls cuda:0 is the machine's number 3."""
    gpu = Gpu("cpu,cuda:0,cuda:1", devices=2, env={"CUDA_VISIBLE_DEVICES": "3,1"})
    with gpu:
        usable(gpu)
        a = gpu.talker("auto", CUDA_VISIBLE_DEVICES="3")
        assert a.do("out = braze.devices()") == ["cpu", "cuda:0"]
        assert gpu.talker("auto", CUDA_VISIBLE_DEVICES="0").do("out = braze.devices()") == ["cpu"]


def test_a_uuid_that_is_not_known_yet():
    """While its worker starts a device may be the one; when it has said who it is, it is not."""
    with pair(hold=1) as gpu:
        a = gpu.talker("auto", CUDA_VISIBLE_DEVICES=UUID.format(1))
        assert a.do("out = braze.devices()") == ["cpu", "cuda:0", "cuda:1"]
        a.begin("""
with braze.device("cuda:0"):
    out = float((np.ones(100) * 3).sum())""")
        gpu.release()
        with pytest.raises(Refused, match=r"CUDA_VISIBLE_DEVICES .*does not leave it cuda:0"):
            a.end()
        assert gpu.device("cuda:0")["runs"] == 0
        assert a.do("""
with braze.device("cuda:1"):
    out = float((np.ones(100) * 3).sum())""") == 300


def test_it_holds_after_another_program_goes_on():
    with pair() as gpu:
        usable(gpu)
        a = gpu.talker("auto", CUDA_VISIBLE_DEVICES="1")
        assert a.do("out = braze.devices()") == ["cpu", "cuda:1"]
        assert gpu.daemon.ctl("drain").returncode == 0
        usable(gpu)
        assert a.do("""
a = np.asarray(numpy.linspace(0, 1, 40000))
out = braze.devices()""") == ["cpu", "cuda:1"]
        wait_until(lambda: [a.do(HEAVY)] and gpu.device("cuda:1")["runs"] > 2, 60, "its device")
        assert gpu.device("cuda:0")["runs"] == 0
