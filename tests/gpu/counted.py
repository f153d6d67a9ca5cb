# SPDX-License-Identifier: Apache-2.0
"""The launches that the sample programs become on an H100, with their machine code counted.

In: tests/golden/cuda_program, which compiles them (programs.py).  Nothing is timed, and there is no
GPU.
"""

import concurrent.futures
import os
import pathlib
import pickle
import subprocess
import sys
from dataclasses import dataclass

import programs
import sass

MISSING = 77  # exit status of a test that lacks a tool


@dataclass
class Launch:
    program: programs.Program
    part: programs.Part
    elements: int   # that are counted
    step: int
    entry: sass.Entry
    warps: int      # that have something to do; 0: not known

    @property
    def reduces(self):
        return self.entry.name.startswith("bz_reduce")

    @property
    def each(self):
        """Bytes of an element where it is counted."""
        return self.part.bytes["input" if self.reduces else "output"] / self.elements

    def costs(self):
        """Instructions an element, one for each phase; empty: not counted."""
        if self.reduces:
            return [len(way) / (moved(way, "LDG") / self.each) for way in self.ways()]
        stored = self.entry.bytes("STG")
        return [len(self.entry.way) / (stored / self.each)] if stored else []

    def ways(self):
        """Of each phase one turn of its loop."""
        if not self.reduces:
            return [self.entry.way]
        if self.program.phases > 1:
            return self.entry.phases
        return [min(self.entry.loads, key=lambda way: len(way) / moved(way, "LDG"))]


def moved(way, kind):
    return sum(i.moved(kind) for i in way)


def missing_tools():
    missing = [t for t in ("nvdisasm", "cuobjdump") if not sass.find_tool(t)]
    return f"no {' and no '.join(missing)} (deploy/setup.sh gets what is missing)" if missing else ""


def counted(cubin):
    """sass.entries(cubin), kept beside it: to disassemble takes longer than to compile."""
    kept, how = cubin.with_suffix(".counted"), pathlib.Path(sass.__file__).stat().st_mtime
    if not kept.exists() or kept.stat().st_mtime < how:
        part = kept.with_suffix(f".{os.getpid()}")
        part.write_bytes(pickle.dumps(sass.entries(str(cubin))))
        part.rename(kept)
    return pickle.loads(kept.read_bytes())


def launches(tool, n, wanted=lambda program: True):
    """Those of programs of about n elements."""
    made = {p.name: (p, *p.make(n)) for p in programs.PROGRAMS if wanted(p)}
    text = "".join(f"program {name}\n{part}" for name, (_, part, _) in made.items())
    folder = pathlib.Path(tool).resolve().with_suffix(".code")
    folder.mkdir(exist_ok=True)
    done = subprocess.run([tool, folder], input=text, capture_output=True, text=True)
    if done.returncode:
        print(done.stdout + done.stderr, end="")
        sys.exit(done.returncode)
    lines = [line.split("|") for line in done.stdout.splitlines()]
    with concurrent.futures.ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        codes = sorted({line[0] for line in lines})
        code = dict(zip(codes, pool.map(counted, (folder / f"{c}.cubin" for c in codes))))
    return [Launch(*made[name], int(step), entry, int(warps))
            for number, name, step, only, warps, _ in lines
            for entry in code[number].values() if not only or entry.name == only]
