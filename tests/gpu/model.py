# SPDX-License-Identifier: Apache-2.0
"""model.py [CUDA_PROGRAM] [--check] - what share of a copy's bandwidth a kernel can have on an H100.

From what is counted, without a GPU: bytes and instructions of an element, bytes that a
multiprocessor's threads have in flight, tasks, launches.  A kernel takes

    launches + sqrt(memory^2 + issue^2 + cache^2) * (turns of the busiest multiprocessor / the mean)

where memory is bytes over bandwidth, lessened where fewer bytes are in flight than bandwidth times
latency (Little's law), issue the instructions of warps over issue slots, cache the wavefronts of
uncoalesced accesses.  Parts that overlap hinder each other a little: hence the root of squares.

Prints three tables: code as it was before, with the shares that a reading of its machine code by
hand had estimated; kernels that were measured on an H100, beside what was measured; and, by
CUDA_PROGRAM (tests/golden/cuda_program), what the sample programs become today (counted.py).
--check: fails where the model is further than 10 points from an estimate, or from a measured
kernel at 10^8 elements; where a program of today has less than 85 percent of the best copy there,
or at 10^6, where launches are most of it, less than 50 of a copy of as many bytes.
"""

import math
import sys
from dataclasses import dataclass

import counted

UNITS, CLOCK, SLOTS = 132, 1.755e9, 4  # multiprocessors, Hz, warps that issue in a cycle
BANDWIDTH, USED = 3.35e12, 0.9  # bytes a second by the data sheet; what the best copies reach
LATENCY = 600e-9  # s, of a read from memory under load
LAUNCH = 3.4e-6  # s, of a launch: the least that short kernels took there
NEEDED = BANDWIDTH / UNITS * LATENCY  # bytes in flight of a multiprocessor
AWAY = 10  # points that the model may be off
LEAST = 85  # percent of the best copy at 10^8
LEAST_SMALL = 50  # percent of a copy of as many bytes, at 10^6
REGISTERS = 65536  # of a multiprocessor
# What computes for longer than memory takes, whoever writes it: instructions of an element in
# Triton's code for the same program (count_peers.py).  At most three, and ours at most a tenth more.
COMPUTE = {"sin^2 + cos^2 float32": 58.0, "floor_divide int8": 27.6}
assert len(COMPUTE) <= 3


@dataclass
class Kernel:
    """What one kernel is made of; per element unless said otherwise."""

    name: str
    bytes: float  # that must move
    instructions: float  # of a thread
    wavefronts: float = 0  # of a warp's accesses, beyond one for each 128 bytes
    sectors: float = 1  # part of the moved sectors that is used
    flight: float = 32768  # bytes of a multiprocessor, when it is full
    task: float = 0  # elements that are given out at once; 0: blocks of a map, many and short
    flight_task: float = 0  # bytes that one task has in flight; 0: it fills what it is given
    launches: int = 1
    task_s: float = 0  # seconds that a task costs by itself

    def seconds(self, n):
        at_once = self.flight
        busy = UNITS
        uneven = 1.0
        if self.task:
            tasks = max(1, math.ceil(n / self.task))
            busy = min(UNITS, tasks)
            if self.flight_task:
                at_once = min(self.flight, self.flight_task * math.ceil(tasks / UNITS))
            uneven = math.ceil(tasks / UNITS) / (tasks / busy)
        rate = BANDWIDTH * USED * busy / UNITS * min(1, at_once / NEEDED)
        memory = self.bytes * n / self.sectors / rate
        issue = self.instructions * n / 32 / (busy * SLOTS * CLOCK)
        cache = self.wavefronts * n / (busy * CLOCK)
        own = self.task_s * (n / self.task) / busy if self.task else 0
        return self.launches * LAUNCH + math.hypot(memory, issue, cache) * min(uneven, 2) + own

    def share(self, n, best=BANDWIDTH):
        return 100 * self.bytes * n / best / self.seconds(n)


# Kernels as they were before, and the shares (percent, of the data sheet's bandwidth) that were
# estimated for them: name, elements, least, most.
SUM = {"task": 65536, "flight_task": 8192, "launches": 2}
BEFORE = [
    (Kernel("a x + y float32", 12, 17.5), 1e8, 85, 90),
    (Kernel("a x + y float64", 24, 31.5), 1e8, 85, 90),
    (Kernel("nine operations float32", 12, 50), 1e8, 80, 88),
    (Kernel("nine operations float64", 24, 82), 1e8, 80, 88),
    (Kernel("sin^2 + cos^2 float32", 12, 64), 1e8, 70, 85),
    (Kernel("sin^2 + cos^2 float64", 24, 60), 1e8, 75, 85),
    (Kernel("exp float32", 8, 23), 1e8, 85, 90),
    (Kernel("5-point stencil float32", 8, 54), 1e8, 60, 75),
    (Kernel("row and column float32", 8, 19), 1e8, 85, 85),
    (Kernel("where float32", 13, 16.5), 1e8, 85, 90),
    (Kernel("mask of float32", 9, 19), 1e8, 85, 90),
    (Kernel("int8 a b + a", 3, 6.8), 1e8, 85, 85),
    (Kernel("int8 floor_divide", 3, 21), 1e8, 80, 80),
    (Kernel("uint8 bits", 3, 9), 1e8, 85, 85),
    (Kernel("multiply complex64", 24, 35), 1e8, 85, 90),
    (Kernel("multiply complex128", 48, 27, sectors=0.75), 1e8, 60, 75),
    (Kernel("float16 chain", 6, 20), 1e8, 85, 85),
    (Kernel("float32 + float64", 20, 31), 1e8, 85, 85),
    (Kernel("transposed copy float32", 8, 24, wavefronts=1), 1e8, 40, 50),
    (Kernel("sum float32", 4, 3.5, **SUM), 1e6, 5, 15),
    (Kernel("sum float32", 4, 3.5, **SUM), 16.7e6, 60, 72),
    (Kernel("sum float32", 4, 3.5, **SUM), 1e8, 80, 88),
    (Kernel("sum float64", 8, 5.5, **{**SUM, "flight_task": 16384}), 1e6, 10, 20),
    (Kernel("sum float64", 8, 5.5, **{**SUM, "flight_task": 16384}), 16.7e6, 75, 80),
    (Kernel("sums of rows float32", 4, 4, task=4096, task_s=0.34e-6 / 6), 16.7e6, 60, 75),
    (Kernel("sums of columns float32", 4, 9, flight=4096), 16.7e6, 20, 33),
    # Three kernels, which move 20 bytes for the 8 that must move.
    (Kernel("softmax of rows float32", 8, 48, sectors=8 / 20, launches=3), 1e8, 30, 40),
]


def print_before():
    """Names of those that are too far off."""
    print("| kernel before | elements | estimated | model |\n|---|---|---|---|")
    far = []
    for kernel, n, least, most in BEFORE:
        share = kernel.share(n)
        print(f"| {kernel.name} | {n:.3g} | {least} to {most} % | {share:.0f} % |")
        if not least - AWAY <= share <= most + AWAY:
            far.append(f"{kernel.name}, {n:.3g} elements: {share:.0f} %, "
                       f"estimated {least} to {most}")
    return far


# Today's, as `braze-gpucheck --section bench` has them, and the shares that were measured, percent
# of the copy's 3.0 TB/s, at 10^6, 10^7 and 10^8 elements.  Bytes are those that the section counts.
COPY = 3.0e12
MEASURED = [
    (Kernel("chain of five float32", 12, 12), (55, 88, 101)),
    (Kernel("sin^2 + cos^2 float64", 16, 60), (49, 84, 96)),
    (Kernel("every second float32", 6, 9), (29, 81, 99)),
    (Kernel("transposed float32", 8, 16, wavefronts=0.1), (34, 64, 87)),
    (Kernel("5-point stencil float64", 16, 22), (50, 79, 91)),
    (Kernel("sums of rows float32", 4, 4, task=10_000, task_s=0.34e-6 / 6), (12, 92, 88)),
    (Kernel("sums of columns float32", 4, 6, flight=12_500, launches=2), (9, 64, 77)),
    (Kernel("sum float32", 4, 3.5, task=4096, launches=2), (12, 75, 94)),
]


def print_measured():
    print("\n| kernel on an H100 | 10^6 | 10^7 | 10^8 |\n|---|---|---|---|")
    far = []
    for kernel, measured in MEASURED:
        shares = [kernel.share(n, COPY) for n in (1e6, 1e7, 1e8)]
        cells = [f"{m} %, model {s:.0f}" for m, s in zip(measured, shares)]
        print(f"| {kernel.name} | {' | '.join(cells)} |")
        if abs(shares[2] - measured[2]) > AWAY:
            far.append(f"{kernel.name}: {shares[2]:.0f} %, measured {measured[2]}")
    return far


def today(tool, n):
    """What programs become: (name, the bytes that must move, its launches as kernels)."""
    out = {}
    for launch in counted.launches(tool, n, lambda program: not program.library):
        name, entry = launch.program.name, launch.entry
        bytes_, kernels = out.setdefault(name, (launch.part.bytes["input"] +
                                                launch.part.bytes["output"], []))
        if kernels:  # what combines pieces costs a launch
            kernels.append(Kernel(name, 0, 0))
            continue
        kernels.append(Kernel(name, bytes_ / launch.elements, sum(launch.costs()),
                              wavefronts=0.1 if "tile" in entry.name else 0,
                              flight=in_flight(launch)))
    return [(name, bytes_, kernels) for name, (bytes_, kernels) in out.items()]


def in_flight(launch):
    """Bytes of a multiprocessor that are under way when each thread waits for its loads: of as many
    threads as there is work for, and room."""
    room = min(2048, REGISTERS // (-(-launch.entry.registers // 8) * 8 * 32) * 32) // 256 * 256
    threads = min(room, launch.warps * 32 / UNITS)
    loads = counted.moved(launch.ways()[0], "LDG")
    if not loads:  # a tile's come before its loop: four points of a thread
        loads = 4 * launch.part.bytes["input"] / launch.elements
    return threads * loads


def print_today(tool):
    """Beside the best copy a copy of the same bytes, which has to be launched as well."""
    print("\n| program today | instructions | 10^6 | beside a copy of them | 10^8 |\n"
          "|---|---|---|---|---|")
    low, small = [], {name: (b, k) for name, b, k in today(tool, 1e6)}
    for name, bytes_, kernels in today(tool, 1e8):
        shares = []
        for n, (moved, parts) in ((1e6, small[name]), (1e8, (bytes_, kernels))):
            elements = moved / parts[0].bytes
            seconds = sum(k.seconds(elements) for k in parts)
            shares.append(100 * moved / (BANDWIDTH * USED) / seconds)
            if n == 1e6:
                copy = LAUNCH + moved / (BANDWIDTH * USED)
                shares.append(100 * copy / seconds)
        print(f"| {name} | {kernels[0].instructions:.1f} | {shares[0]:.0f} % | {shares[1]:.0f} % | "
              f"{shares[2]:.0f} % |")
        if shares[1] < LEAST_SMALL:
            low.append(f"{name}: {shares[1]:.0f} % of a copy of 10^6")
        if shares[2] < LEAST and kernels[0].instructions > 1.1 * COMPUTE.get(name, 0):
            low.append(f"{name}: {shares[2]:.0f} % at 10^8")
    return low


def main():
    tools = [a for a in sys.argv[1:] if not a.startswith("-")]
    wrong = print_before() + print_measured()
    if tools and not counted.missing_tools():
        wrong += print_today(tools[0])
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
