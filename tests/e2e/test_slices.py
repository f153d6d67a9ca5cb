# SPDX-License-Identifier: Apache-2.0
"""Slices of a GPU (MIG): the driver shows a process one of them, so each worker gets its own."""

import pytest
from gpu import Gpu, Refused
from harness import find_standin, wait_until
from test_device_memory import BEGIN, environment
from test_peers import usable

pytestmark = pytest.mark.skipif(find_standin() is None, reason="no stand-in driver was built")

SLICE = "MIG-5a5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a{:02x}"
FIRST, SECOND, THIRD = (SLICE.format(16 + k) for k in range(3))
SUM = """
with braze.device("{}"):
    out = float((np.ones(1000) * 3).sum())"""


def cut(device="cpu,cuda:0,cuda:1", visible=f"{FIRST},{THIRD}", **options):
    env = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    return Gpu(device, env=env, **{"slices": 3, "vram": "768M", "sms": 12, **options})


@pytest.fixture(scope="module")
def slices():
    with cut() as gpu:
        usable(gpu)
        yield gpu


def test_each_worker_has_a_slice_of_its_own(slices):
    rows = [slices.device(name) for name in ("cuda:0", "cuda:1")]
    assert [row["uuid"] for row in rows] == [FIRST, THIRD]
    assert all("MIG" in row["model"] for row in rows), rows
    assert len({row["worker_pid"] for row in rows}) == 2
    a = slices.talker("auto")
    for name in ("cuda:0", "cuda:1"):
        before = slices.device(name)["runs"]
        assert a.do(SUM.format(name)) == 3000
        assert slices.device(name)["runs"] > before


def test_a_slice_has_its_share_of_the_memory(slices):
    a = slices.talker("cuda:1")
    assert a.do("out = float((np.ones(20 << 20) * 2)[5])") == 2  # 160 MB of 256
    with pytest.raises(Refused, match="MemoryError.*cuda:1"):
        a.do("out = float((np.ones(40 << 20) * 2)[5])")  # 320 MB, which the whole GPU had


def test_values_go_from_slice_to_slice_by_the_host(slices):
    a = slices.talker("cuda:0")
    a.do("a = np.asarray(numpy.arange(400000.0)) * 2; braze.wait(a)")
    assert a.do("""
with braze.device("cuda:1"):
    out = float((a + 1)[399999])""") == 799999
    assert not any(p["reached"] or p["values"] for p in slices.device("cuda:1")["peers"])


@pytest.mark.parametrize("visible, names", [
    (FIRST, ["cpu", "cuda:0"]), (THIRD, ["cpu", "cuda:1"]), (SECOND, ["cpu"]),
    (f"{THIRD},{FIRST}", ["cpu", "cuda:0", "cuda:1"]), ("MIG-GPU-5a5a5a5a/1/0", ["cpu"])])
def test_a_client_gets_the_slices_of_its_list(slices, visible, names):
    a = slices.talker("auto", CUDA_VISIBLE_DEVICES=visible)
    assert a.do("out = braze.devices()") == names
    for name in ("cuda:0", "cuda:1"):
        if name in names:
            assert a.do(SUM.format(name)) == 3000
        else:
            with pytest.raises(Refused, match="CUDA_VISIBLE_DEVICES"):
                a.do(SUM.format(name))


def test_another_library_of_the_client_reads_its_slice(slices):
    """The client's own driver calls the slice number 0, the daemon cuda:1."""
    out = slices.daemon.run(BEGIN + """
x = np.asarray(numpy.arange(50000.0)) * 2
assert x.__dlpack_device__() == (2, 0), x.__dlpack_device__()
t = foreign.take(x)
assert (t.read() == numpy.arange(50000.0) * 2).all()
t.close()
print("read")
""", **environment(BRAZE_DEVICE="cuda:1", CUDA_VISIBLE_DEVICES=THIRD,
                   BRAZE_STANDIN="race=1,slices=3,vram=768M"))
    assert out.split() == ["read"]


def test_without_a_list_there_is_the_first_one():
    with cut(visible=None) as gpu:
        gpu.usable("cuda:0")
        assert gpu.device("cuda:0")["uuid"] == FIRST
        wait_until(lambda: gpu.device("cuda:1")["state"] == "unusable", what="the one that is not there")
        assert "CUDA_VISIBLE_DEVICES names them: MIG-" in str(gpu.device("cuda:1")), gpu.device("cuda:1")
        assert gpu.talker("auto").do("out = float((np.ones(1000) * 3).sum())") == 3000


def test_a_slice_that_is_not_there():
    with cut("cpu,cuda:0", visible=SLICE.format(99)) as gpu:
        wait_until(lambda: gpu.device("cuda:0")["state"] != "starting", what="the answer")
        assert gpu.device("cuda:0")["state"] == "unusable"
        assert gpu.talker("auto").do("out = float((np.ones(1000) * 3).sum())") == 3000


def test_a_worker_that_dies_comes_back_on_its_slice():
    with cut() as gpu:
        usable(gpu)
        a = gpu.talker("cuda:1")
        gpu.inject("fault=cuLaunchKernel:1:700", "cuda:1")
        assert a.do(SUM.format("cuda:1")) == 3000
        wait_until(lambda: gpu.deaths("cuda:1") == 1, what="its end")
        row = gpu.usable("cuda:1")
        assert row["uuid"] == THIRD and gpu.deaths("cuda:0") == 0
