# SPDX-License-Identifier: Apache-2.0
"""gpubench.py beside CuPy, PyTorch and JAX: stand-ins for them, and for the device."""

import json
import subprocess
import sys

import pytest
from harness import PACKAGE, ROOT, clean_environment, find_daemon, find_standin, standin_environment

PEERS = ROOT / "tests/gpu/peers"
PROGRAMS = 12
pytestmark = pytest.mark.skipif(find_standin() is None, reason="no stand-in driver was built")


def run(folder, *arguments, **env):
    """(what it wrote to --json, what it printed, what was called in the peers)"""
    own = clean_environment(**standin_environment(), BRAZE_DAEMON=find_daemon(),
                            PEER_CALLS=str(folder / "calls"), **env)
    (folder / "calls").write_text("")
    done = subprocess.run([sys.executable, ROOT / "tests/gpu/gpubench.py", "--sizes", "1e3",
                           "--types", "float64", "--rounds", "3", "--parts", "throughput",
                           "--json", folder / "json", *arguments],
                          env=own, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return (json.loads((folder / "json").read_text()), done.stdout,
            (folder / "calls").read_text().splitlines())


def test_beside_other_libraries(tmp_path):
    record, text, calls = run(tmp_path, PYTHONPATH=f"{PEERS}:{PACKAGE}")
    rows = record["throughput"]
    names = ["braze", "CuPy", "PyTorch", "torch.compile", "JAX"]
    assert [r["name"] for r in rows] == names * PROGRAMS, text  # none was left out anywhere
    assert {r["name"]: r["peak_bytes"] for r in rows if r["name"] != "braze"} == {
        "CuPy": 3 << 20, "PyTorch": 5 << 20, "torch.compile": 5 << 20, "JAX": 7 << 20}
    assert all(r["launches"] > 0 for r in rows if r["name"] == "braze")
    # Each waits for the device at each call, and gives its memory back.
    assert all(calls.count(f"{peer} waited") >= 8 * PROGRAMS for peer in ("cupy", "torch", "jax"))
    assert all(calls.count(f"{peer} freed") >= PROGRAMS for peer in ("cupy", "torch"))
    assert "jax: XLA_PYTHON_CLIENT_PREALLOCATE=false" in calls
    assert "jax: jax_enable_x64=True" in calls
    # A fresh compilation for each program, at its own shape.
    compiled = [c for c in calls if c.startswith("torch") and "comp" in c]
    assert compiled.count("torch compiled, dynamic=False") == PROGRAMS
    assert calls.count("jax compiled") == PROGRAMS


def test_products_beside_other_libraries(tmp_path):
    """Of halves, singles and bytes, each held against NumPy's first."""
    record, text, _ = run(tmp_path, "--parts", "products", "--sides", "24,110", "--products",
                          "float16,float32,int8", PYTHONPATH=f"{PEERS}:{PACKAGE}")
    rows = record["products"]
    names = ["braze", "CuPy", "PyTorch", "torch.compile", "JAX"]
    assert [r["name"] for r in rows] == names * 6, text
    assert {(r["dtype"], r["side"]) for r in rows} == {
        (t, n) for t in ("float16", "float32", "int8") for n in (24, 110)}
    assert not record["throughput"]
    assert "another result" not in text
    assert "GFLOP/s" in text


def test_library_that_is_broken_here(tmp_path):
    """It is left out and named; the others go on."""
    (tmp_path / "cupy.py").write_text("raise OSError('no libcudart')")
    (tmp_path / "torch.py").write_text("import cuda_that_is_not_here")
    (tmp_path / "jax.py").write_text("raise RuntimeError")
    record, text, _ = run(tmp_path, PYTHONPATH=f"{tmp_path}:{PACKAGE}")
    assert {r["name"] for r in record["throughput"]} == {"braze", "NumPy"}
    assert "# left out: OSError: no libcudart" in text
    assert "# left out: RuntimeError" in text
    assert "# left out: No module named 'cuda_that_is_not_here'" in text
