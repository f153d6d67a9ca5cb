# SPDX-License-Identifier: Apache-2.0
"""What stands in the machine code of a CUDA kernel: counted, not timed.

In: a cubin, by nvdisasm and cuobjdump.  Out: for each entry its registers, spills and size,
and what the fast way through its main loop costs: a way that stores most bytes, and of those
the one of fewest instructions.  What compilers keep for the rare case (slow divisions, ends
of rows) is not on it.  Of a reduction, which stores nothing in its loops, it is a way that loads
most; one with phases has such a loop for each.
"""

import os
import pathlib
import re
import shutil
import subprocess
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[2]
LABEL = re.compile(r"^(\.L_\S+):")
LINE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:@(!?U?P\w+)\s+)?([A-Z0-9_.]+)\s*(.*?)\s*;")
TARGET = re.compile(r"`\((\.L_\S+)\)")
ENDS = ("BRA", "EXIT", "RET", "BRX", "JMP")
WIDTH = re.compile(r"\.(U8|S8|U16|S16|64|128)\b")
BYTES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}


def find_tool(name):
    """nvdisasm or cuobjdump: the environment's own, a toolkit's, or None."""
    folders = sorted((ROOT / "build/venv").glob("lib/python3*/site-packages/nvidia/*/bin"))
    folders += [pathlib.Path(p) for p in os.environ.get("BRAZE_CUDA_TOOLS", "").split(":") if p]
    folders += sorted(pathlib.Path("/usr/local").glob("cuda*/bin"))
    for folder in folders:
        if (folder / name).exists():
            return str(folder / name)
    return shutil.which(name)


@dataclass
class Instruction:
    op: str
    predicate: str
    target: str
    text: str

    def moved(self, kind):
        """Bytes that it moves, of loads ("LDG") or stores ("STG")."""
        if self.op.split(".")[0] != kind:
            return 0
        width = WIDTH.search(self.op)
        return BYTES[width.group(1)] if width else 4


@dataclass
class Block:
    instructions: list = field(default_factory=list)
    next: list = field(default_factory=list)


@dataclass
class Entry:
    name: str
    registers: int = 0
    stack: int = 0
    shared: int = 0
    size: int = 0                              # instructions
    way: list = field(default_factory=list)    # those of one turn of the main loop
    whole: list = field(default_factory=list)  # from its first to an end, without going back
    loads: list = field(default_factory=list)  # one turn of each innermost loop that loads
    phases: list = field(default_factory=list)  # of these the first ones of each phase

    def bytes(self, kind):
        return sum(i.moved(kind) for i in self.way)

    def widths(self, kind):
        """Bytes of each access on the way, the widest first, each once."""
        return sorted({i.moved(kind) for i in self.way} - {0}, reverse=True)

    def count(self, op):
        return sum(i.op.split(".")[0] == op for i in self.way)


def _blocks(lines):
    """The basic blocks of a function, by number; what a label names."""
    blocks, labels, after = [Block()], {}, False
    for line in lines:
        label = LABEL.match(line)
        if label:
            if blocks[-1].instructions:
                blocks.append(Block())
            labels[label.group(1)] = len(blocks) - 1
            after = False
            continue
        got = LINE.match(line)
        if not got:
            continue
        if after:
            blocks.append(Block())
        target = TARGET.search(got.group(4))
        op = got.group(3)
        blocks[-1].instructions.append(
            Instruction(op, got.group(2) or "", target.group(1) if target else "", line.strip()))
        after = op.split(".")[0] in ENDS
    return blocks, labels


def _connect(blocks, labels):
    for n, block in enumerate(blocks):
        last = block.instructions[-1] if block.instructions else None
        op = last.op.split(".")[0] if last else ""
        # A branch may have a second condition beside its predicate.
        sure = op in ENDS and not last.predicate and not re.search(r"BRA(\.\S+)?\s+!?U?P",
                                                                   last.text)
        if op == "BRA" and last.target in labels:
            block.next.append(labels[last.target])
        if not sure and n + 1 < len(blocks):
            block.next.append(n + 1)


def _value(blocks, number, kind):
    moved = sum(i.moved(kind) for i in blocks[number].instructions)
    return moved, -len([i for i in blocks[number].instructions if i.op != "NOP"])


def _best_way(blocks, head, tail, kind):
    """From block head to block tail without going back: most bytes moved by `kind`, then fewest
    instructions.  Blocks of a loop stand between its head and its branch back."""
    best = {tail: (_value(blocks, tail, kind), [tail])}
    for n in range(tail - 1, head - 1, -1):
        for to in blocks[n].next:
            if to <= n or to not in best:
                continue
            value, way = best[to]
            mine = _value(blocks, n, kind)
            total = (mine[0] + value[0], mine[1] + value[1])
            if n not in best or total > best[n][0]:
                best[n] = (total, [n, *way])
    return best.get(head)


def _loops(blocks, kind):
    """(head, tail, bytes, instructions) of each loop that moves some, as their heads stand."""
    out = []
    for n, block in enumerate(blocks):
        for to in block.next:
            got = _best_way(blocks, to, n, kind) if to <= n else None
            if got and got[0][0]:
                out.append((to, n, got[0][0], [i for b in got[1] for i in blocks[b].instructions
                                               if i.op != "NOP"]))
    return sorted(out, key=lambda loop: loop[:2])


def main_loop(blocks):
    """The instructions of one turn of the loop that stores most for each instruction."""
    found = max(_loops(blocks, "STG"), key=lambda loop: loop[2] / len(loop[3]), default=None)
    return found[3] if found else []


def _whole(blocks):
    """From the first instruction to where it ends: the way that stores most."""
    ways = [_best_way(blocks, 0, n, "STG") for n, block in enumerate(blocks)
            if any(i.op == "EXIT" for i in block.instructions)]
    best = max((w for w in ways if w), key=lambda w: w[0], default=(None, []))
    return [i for b in best[1] for i in blocks[b].instructions if i.op != "NOP"]


def _load_loops(blocks):
    """(bytes, instructions) of the innermost loops that load."""
    loops = _loops(blocks, "LDG")
    return [a[2:] for a in loops
            if not any(b is not a and a[0] <= b[0] and b[1] <= a[1] for b in loops)]


def _phases(loops):
    """Of loops one behind another those before which no longer one stands: what an unrolled loop
    leaves is done by shorter ones behind it."""
    return [way for k, (moved, way) in enumerate(loops) if not k or moved > loops[k - 1][0]]


def entries(cubin):
    """{name: Entry} of the file `cubin`."""
    usage = subprocess.run([find_tool("cuobjdump"), "--dump-resource-usage", cubin], check=True,
                           capture_output=True, text=True).stdout
    code = subprocess.run([find_tool("nvdisasm"), "-c", cubin], check=True, capture_output=True,
                          text=True).stdout
    out = {}
    for name, registers, stack, shared in re.findall(
            r"Function (\w+):\s+REG:(\d+) STACK:(\d+) SHARED:(\d+)", usage):
        out[name] = Entry(name, int(registers), int(stack), int(shared))
    for part in re.split(r"^//-+ \.text\.", code, flags=re.M)[1:]:
        name = part.split()[0]
        if name not in out:
            continue
        lines = part.splitlines()
        # Functions that it calls stand behind it, in the same section.
        out[name].size = sum(1 for line in lines if LINE.match(line) and " NOP" not in line)
        blocks, labels = _blocks(lines)
        _connect(blocks, labels)
        out[name].way = main_loop(blocks)
        out[name].whole = _whole(blocks)
        loops = _load_loops(blocks)
        out[name].loads, out[name].phases = [way for _, way in loops], _phases(loops)
    return out
