# SPDX-License-Identifier: Apache-2.0
"""count_code.py CUDA_TABLE [--check] - what the maps' machine code for an H100 costs.

Compiles the sample maps of tests/golden/cuda_table, disassembles, counts (sass.py) and prints
the table of docs/kernels-cuda.md.  --check: fails where a bound below is broken.  Nothing
here is timed.  Exit status 77: NVRTC, nvdisasm or cuobjdump is missing.
"""

import pathlib
import subprocess
import sys
import tempfile

import sass

# Of a template's entry: instructions an element, at most, and bytes of its widest access.  Of a
# tile all that is done for it counts, its number and the look at the cancel word too.
BOUNDS = {
    ("add float16, dense", "bz_map_vector_narrow"): (8, 16),
    ("add float32, dense", "bz_map_vector_narrow"): (6, 16),
    ("add float32, dense", "bz_map_vector"): (6, 16),
    ("add float32, dense", "bz_map_row_narrow"): (10, 4),
    ("add float64, two loops", "bz_map_row_narrow"): (14, 8),
    ("add float32, transposed", "bz_map_tile_narrow"): (32, 4),
    ("multiply complex64, dense", "bz_map_vector_narrow"): (16, 16),
    ("divide complex128, dense", "bz_map_vector_narrow"): (200, 16),
    ("exp float32, dense", "bz_map_vector_narrow"): (12, 16),
}


def row(name, entry, size):
    elements = entry.bytes("STG") / size
    loads, stores = entry.widths("LDG"), entry.widths("STG")
    cost = len(entry.way) / elements if elements else float("inf")
    print(f"| {name} | {entry.name[3:]} | {entry.registers} | {entry.stack} | {entry.shared} | "
          f"{'/'.join(map(str, loads))} | {'/'.join(map(str, stores))} | {cost:.1f} | "
          f"{entry.size} |")
    return cost, max(stores, default=0)


def main():
    table, check = sys.argv[1], "--check" in sys.argv[2:]
    missing = [t for t in ("nvdisasm", "cuobjdump") if not sass.find_tool(t)]
    if missing:
        print(f"skipped: no {' and no '.join(missing)} (deploy/setup.sh gets what is missing)")
        return 77
    broken, seen = [], set()
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run([table, "--cubins", folder], capture_output=True, text=True)
        if made.returncode:
            print(made.stderr, end="")
            return made.returncode
        print("| template | entry | registers | stack | shared | load bytes | store bytes | "
              "instructions an element | all |\n|---|---|---|---|---|---|---|---|---|")
        for line in made.stdout.splitlines():
            number, size, name = line.split(", ", 2)
            for entry in sass.entries(str(pathlib.Path(folder, f"{number}.cubin"))).values():
                cost, width = row(name, entry, int(size))
                most, least = BOUNDS.get((name, entry.name), (float("inf"), 0))
                seen.add((name, entry.name))
                if cost > most or width < least:
                    broken.append(f"{name}, {entry.name}: {cost:.1f} instructions an element, "
                                  f"{width} bytes at once; bounds are {most} and {least}")
    broken += [f"{', '.join(key)}: not found" for key in BOUNDS.keys() - seen]
    for line in broken if check else []:
        print(line, file=sys.stderr)
    return 1 if check and broken else 0


if __name__ == "__main__":
    sys.exit(main())
