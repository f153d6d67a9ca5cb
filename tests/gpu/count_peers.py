# SPDX-License-Identifier: Apache-2.0
"""count_peers.py - what the same programs cost in Triton's code for an H100.

Compiles kernels that Triton makes, by the toolkit's ptxas where there is one (else Triton's own),
for several sizes of blocks, counts as count_code.py does, and prints the best of each.  Needs
`pip install triton` and no GPU; nothing is timed.  Exit status 77: a tool is missing.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import counted
import sass

try:
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
except ImportError:
    print("skipped: no triton")
    sys.exit(counted.MISSING)


@triton.jit
def axpy(out, x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = at < n
    tl.store(out + at, 2.5 * tl.load(x + at, there) + tl.load(y + at, there), there)


@triton.jit
def sines(out, x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = at < n
    v = tl.load(x + at, there)
    s, c = tl.sin(v), tl.cos(v)
    tl.store(out + at, s * s + c * c, there)


@triton.jit
def floor_divide(out, x, y, n, BLOCK: tl.constexpr):
    """As NumPy: towards minus infinity, 0 for a division by 0."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = at < n
    a = tl.load(x + at, there).to(tl.int32)
    b = tl.load(y + at, there).to(tl.int32)
    d = tl.where(b == 0, 1, b)
    q = a // d
    q = tl.where((a - q * d != 0) & ((a < 0) != (d < 0)), q - 1, q)
    tl.store(out + at, tl.where(b == 0, 0, q).to(tl.int8), there)


@triton.jit
def stencil(out, x, y, n, BLOCK: tl.constexpr):
    """A row of m = n - 2 points, of a square of n x n."""
    j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = x + (tl.program_id(1) + 1).to(tl.int64) * n + 1
    there = j < n - 2
    v = tl.load(row + j, there) + tl.load(row + j - 1, there) + tl.load(row + j + 1, there)
    v += tl.load(row - n + j, there) + tl.load(row + n + j, there)
    tl.store(out + tl.program_id(1).to(tl.int64) * (n - 2) + j, v * 0.2, there)


@triton.jit
def columns(out, x, y, n, BLOCK: tl.constexpr):
    """Sums over 1024 rows of so many columns; a program has 32 of them."""
    j = tl.program_id(0) * 32 + tl.arange(0, 32)
    i = tl.arange(0, BLOCK // 32)
    sums = tl.zeros((BLOCK // 32, 32), x.dtype.element_ty)
    for k in range(0, 1024, BLOCK // 32):
        sums += tl.load(x + (k + i)[:, None].to(tl.int64) * n + j[None, :])
    tl.store(out + tl.program_id(1) * n + j, tl.sum(sums, 0))


@triton.jit
def softmax(out, x, y, n, BLOCK: tl.constexpr):
    """A row that fits a block."""
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0).to(tl.int64) * n
    v = tl.load(x + row + at, at < n, -float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row + at, e / tl.sum(e, 0), at < n)


# Kernel, type, bytes of an element that are counted, and of which accesses.
KERNELS = {
    "a x + y float32": (axpy, "fp32", 4, "STG"),
    "sin^2 + cos^2 float32": (sines, "fp32", 4, "STG"),
    "floor_divide int8": (floor_divide, "i8", 1, "STG"),
    "5-point stencil float32": (stencil, "fp32", 4, "STG"),
    "sums of columns float32": (columns, "fp32", 4, "LDG"),
    "sums of columns float64": (columns, "fp64", 8, "LDG"),
    "softmax of rows float32": (softmax, "fp32", 4, "STG"),
}


def find_ptxas():
    for folder in [p for p in os.environ.get("BRAZE_CUDA_TOOLS", "").split(":") if p] + [
            "/usr/local/cuda/bin", *sorted(map(str, pathlib.Path("/usr/local").glob("cuda*/bin")))]:
        if (pathlib.Path(folder) / "ptxas").exists():
            return str(pathlib.Path(folder) / "ptxas")
    return None


def cubin(kernel, dtype, block, warps, path):
    names = dict.fromkeys(("out", "x", "y"), f"*{dtype}") | {"n": "i32"}
    aligned = {(k,): [["tt.divisibility", 16]] for k in range(4)}
    made = triton.compile(ASTSource(kernel, names, {"BLOCK": block}, aligned),
                          target=GPUTarget("cuda", 90, 32),
                          options={"num_warps": warps, "ptx_version": 80})
    if not find_ptxas():
        path.write_bytes(made.asm["cubin"])
        return True
    path.with_suffix(".ptx").write_text(made.asm["ptx"])
    done = subprocess.run([find_ptxas(), "-arch=sm_90a", path.with_suffix(".ptx"), "-o", path],
                          capture_output=True, text=True)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
    return not done.returncode


def cost(entry, kind, size):
    """Instructions an element of its loop, or of the whole where it has none."""
    ways = entry.loads if kind == "LDG" and entry.loads else [entry.whole]
    found = [len(way) / (counted.moved(way, kind) / size) for way in ways
             if counted.moved(way, kind)]
    return min(found, default=float("inf"))


def main():
    if counted.missing_tools():
        print(f"skipped: {counted.missing_tools()}")
        return counted.MISSING
    print(f"Triton {triton.__version__}, {find_ptxas() or 'its own ptxas'}\n")
    print("| program | instructions an element | block, warps |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, (kernel, dtype, size, kind) in KERNELS.items():
            best = (float("inf"), "")
            for block in (512, 1024, 2048, 4096):
                for warps in (4, 8):
                    path = pathlib.Path(folder, "k.cubin")
                    if not cubin(kernel, dtype, block, warps, path):
                        continue
                    entry, = sass.entries(str(path)).values()
                    best = min(best, (cost(entry, kind, size), f"{block}, {warps}"))
            print(f"| {name} | {best[0]:.1f} | {best[1]} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
