# SPDX-License-Identifier: Apache-2.0
"""count_code.py CUDA_PROGRAM [--check] - what kernels' machine code for an H100 costs.

Compiles what the sample programs (programs.py) become, disassembles, counts (sass.py) and prints
the table of docs/kernels-cuda.md.  --check: fails where a bound below is broken.  Nothing
here is timed.  Exit status 77: NVRTC, nvdisasm or cuobjdump is missing.
"""

import sys

import counted

ELEMENTS = 1e8

# Of what a program launches: the entry, instructions an element, at most, and bytes of its widest
# access.  Of a tile all that is done for it counts, its number and the look at the cancel word too.
# Phases of a row count together.
BOUNDS = {
    "a x + y float32": ("bz_map_vector_narrow", 8, 16),
    "a x + y float64": ("bz_map_vector_narrow", 8, 16),
    "a x + y float16": ("bz_map_vector_narrow", 9, 16),
    "nine operations float32": ("bz_map_vector_narrow", 35, 16),
    "nine operations float64": ("bz_map_vector_narrow", 50, 16),
    "sin^2 + cos^2 float32": ("bz_map_vector_narrow", 64, 16),
    "sin^2 + cos^2 float64": ("bz_map_vector_narrow", 70, 16),
    "exp float32": ("bz_map_vector_narrow", 12, 16),
    "exp float64": ("bz_map_vector_narrow", 30, 16),
    "where float32": ("bz_map_vector_narrow", 6, 16),
    "greater float32": ("bz_map_vector_narrow", 7, 16),
    "float32 + float64": ("bz_map_vector_narrow", 7, 16),
    "a b + a int8": ("bz_map_vector_narrow", 5, 16),
    "floor_divide int8": ("bz_map_vector_narrow", 20, 16),
    "remainder int8": ("bz_map_vector_narrow", 17, 16),
    "floor_divide int64": ("bz_map_vector_narrow", 26, 16),
    "multiply complex64": ("bz_map_vector_narrow", 11, 16),
    "multiply complex128": ("bz_map_vector", 16, 16),
    "divide complex128": ("bz_map_vector", 64, 16),
    "gather float32": ("bz_map_vector_narrow", 32, 16),
    "5-point stencil float32": ("bz_map_row_narrow", 19, 4),
    "5-point stencil float64": ("bz_map_row_narrow", 26, 8),
    "row and column float32": ("bz_map_vector_narrow", 12, 16),
    "transposed float32": ("bz_map_tile_narrow", 22, 4),
    "transposed float32 to float64": ("bz_map_tile_narrow", 22, 8),
    "every second float32": ("bz_map_row_narrow", 10, 4),
    "sum float32": ("bz_reduce_vector", 2.5, 16),
    "sum float64": ("bz_reduce_vector", 3, 16),
    "sum complex128": ("bz_reduce_vector", 6, 16),
    "sums of rows float32": ("bz_reduce_vector", 2.5, 16),
    "sums of short rows float32": ("bz_reduce_vector", 2.5, 16),
    "sums of odd rows float32": ("bz_reduce_thin", 3, 4),
    "sums of columns float32": ("bz_reduce_column", 6, 4),
    "sums of columns float64": ("bz_reduce_column", 7, 8),
    "sums of columns of x - y float32": ("bz_reduce_column", 12, 4),
    "least of rows float64": ("bz_reduce_vector", 6, 16),
    "argmax of rows float32": ("bz_reduce_vector", 9, 16),
    "softmax of rows float32": ("bz_reduce_warp", 35, 4),
    "mean and variance of rows float32": ("bz_reduce_warp", 9, 4),
    "two reductions of rows float32": ("bz_reduce_vector", 9, 16),
}
# Instructions of divisions, which no map, stencil or reduction has in its loop for its places.  A
# tile's number is divided once for its 1024 points.
DIVISIONS = ("MUFU", "CALL")
# Programs that divide, or look for a function's value, themselves.
DIVIDE = ("nine", "divide", "remainder", "sin", "exp", "softmax")
# What is more than rows of the result by themselves is one kernel all the same.
ALONE = ("softmax", "mean and variance", "two reductions", "5-point", "nine", "row and column")
# A register or two that lie in memory for the time of a task, outside of its loops.
SPILLS = {"argsort float32": 8, "sin^2 + cos^2 float64": 40}


def row(launch):
    entry, costs, ways = launch.entry, launch.costs(), launch.ways()
    loads = sorted({i.moved("LDG") for way in ways for i in way} - {0}, reverse=True)
    stores = entry.widths("STG")
    text = " + ".join(f"{cost:.1f}" for cost in costs) or "-"
    if launch.program.library:
        text = "-"
    print(f"| {launch.program.name} | {entry.name[3:]} | {entry.registers} | {entry.stack} | "
          f"{entry.shared} | {'/'.join(map(str, loads))} | {'/'.join(map(str, stores))} | {text} | "
          f"{entry.size} |")
    return sum(costs), max(loads + stores, default=0)


def wrong_with(launch, cost, width):
    """What is not as it should be."""
    name, entry = launch.program.name, launch.entry
    if entry.stack > SPILLS.get(name, 0):
        yield f"{entry.stack} bytes of the stack"
    if launch.program.library or entry.name == "bz_finish":
        return
    wanted, most, least = BOUNDS[name]
    if entry.name != wanted:
        yield f"not by {wanted}"
    if cost > most or width < least:
        yield (f"{cost:.1f} instructions an element, {width} bytes at once; bounds are {most} and "
               f"{least}")
    if "tile" not in wanted and not name.startswith(DIVIDE) and any(entry_op in DIVISIONS for way in launch.ways()
                                           for entry_op in (i.op.split(".")[0] for i in way)):
        yield "divides in its loop"
    if "tile" in wanted and not entry.shared:
        yield "no shared memory"


def main():
    tool, check = sys.argv[1], "--check" in sys.argv[2:]
    if counted.missing_tools():
        print(f"skipped: {counted.missing_tools()}")
        return counted.MISSING
    print("| program | entry | registers | stack | shared | load bytes | store bytes | "
          "instructions an element | all |\n|---|---|---|---|---|---|---|---|---|")
    broken, steps = [], {}
    for launch in counted.launches(tool, ELEMENTS):
        name = launch.program.name
        steps.setdefault(name, set()).add((launch.step, launch.entry.name))
        broken += [f"{name}, {launch.entry.name}: {what}"
                   for what in wrong_with(launch, *row(launch))]
    broken += [f"{name}: {len(seen)} launches" for name, seen in steps.items()
               if name.startswith(ALONE) and len(seen) > 1]
    broken += [f"{name}: not found" for name in BOUNDS.keys() - steps.keys()]
    for line in broken if check else []:
        print(line, file=sys.stderr)
    return 1 if check and broken else 0


if __name__ == "__main__":
    sys.exit(main())
