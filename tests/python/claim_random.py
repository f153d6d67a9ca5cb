# SPDX-License-Identifier: Apache-2.0
"""Random loops under pragmas, right ones and wrong ones, over arrays that overlap in every way.

Each is written twice: as it is captured, and with a recorder that knows which turns of a claimed loop touched
the same bytes.  All sums are exact, so that their order shows in no bit.
"""

import re

import numpy as np

SIZE, SIDE = 24, 6

HELPERS = """
import numpy as np

def put(r, i, v):
    r[i] = v

def bump(r, i):
    if r[i] > 6:
        return
    r[i] += 1

def least(a, b):
    if a < b:
        return a
    return b
"""


class Recorded:
    """An array that tells of the bytes that are touched."""

    def __init__(self, array, places, recorder):
        self.array, self.places, self.recorder = array, places, recorder

    def __len__(self):
        return len(self.array)

    def __getitem__(self, at):
        item = self.array[at]
        if isinstance(item, np.ndarray):
            return Recorded(item, self.places[at], self.recorder)
        self.recorder.touch(self.places[at], item.itemsize, False)
        return item

    def __setitem__(self, at, value):
        if isinstance(value, Recorded):
            value = value.read()
        self.array[at] = value
        for place in np.ravel(self.places[at]):
            self.recorder.touch(place, self.array.itemsize, True)

    def read(self):
        for place in np.ravel(self.places):
            self.recorder.touch(place, self.array.itemsize, False)
        return self.array.copy()

    def __add__(self, value):
        return self.read() + value

    def __mod__(self, value):
        return self.read() % value

    def sum(self):
        return self.read().sum()


class Recorder:
    """For each time a claimed loop is come to: its line, the memory then, and do its turns meet?"""

    def __init__(self, memory):
        self.memory, self.open, self.seen = memory, [], []

    def begin(self, line):
        self.open.append([line, self.memory.tobytes(), {}, {}, False, -1])

    def turn(self, number):
        self.open[-1][5] = number

    def touch(self, place, size, writes):
        for loop in self.open:
            _, _, wrote, read, _, turn = loop
            for byte in range(int(place), int(place) + size):
                others = wrote.get(byte, set()) | (read.get(byte, set()) if writes else set())
                loop[4] |= bool(others - {turn})
                (wrote if writes else read).setdefault(byte, set()).add(turn)

    def end(self):
        line, memory, _, _, meets, _ = self.open.pop()
        self.seen.append((line, memory, meets))


class Claims:
    """f(x, y, m, q, p, k): all but p lie in one memory."""

    def __init__(self, rng):
        self.rng = rng
        self.captured, self.recorded = [], []
        self.data = rng.randrange(1 << 30)
        self.loops = 0
        self.line(0, "def f(x, y, m, q, p, k):")
        self.line(1, "s, r, w, n, low, high = 0.0, 0.0, 1.0, 0, 9.0, -9.0")
        for _ in range(rng.randrange(1, 3)):
            self.loop(1, [])
        self.line(1, "return s, r, w, n, low, high")
        self.text = HELPERS + "\n".join(self.captured) + "\n"
        self.twin = HELPERS + "\n".join(self.recorded) + "\n"

    # ---- Arguments ----

    def arrays(self):
        """Fresh ones, and all memory."""
        g = np.random.default_rng(self.data)
        memory = g.integers(0, 8, 6 * SIZE).astype(np.float64) / 2

        def view():
            step = int(g.choice((1, 1, 1, 2, -1, 0), p=(0.3, 0.2, 0.2, 0.1, 0.15, 0.05)))
            first = int(g.integers(0, SIZE)) + (SIZE if step < 0 else 0)
            return np.lib.stride_tricks.as_strided(memory[first:], (SIZE,), (8 * step,), writeable=True)

        strides = {0: (8 * SIDE, 8), 1: (8, 8 * SIDE), 2: (8, 8), 3: (16, 8), 4: (8 * (SIDE + 2), 8),
                   5: (8 * SIDE, -8)}[int(g.choice(6, p=(0.4, 0.15, 0.1, 0.1, 0.15, 0.1)))]
        made = {"x": view(), "y": view(),
                "m": np.lib.stride_tricks.as_strided(memory[int(g.integers(SIDE, 2 * SIZE)):], (SIDE, SIDE), strides),
                "q": memory.view(np.float32)[3 * SIZE:][:SIZE] if g.random() < 0.2 else memory[5 * SIZE:],
                "p": g.permutation(SIZE) if g.random() < 0.5 else g.integers(0, SIZE, SIZE), "k": int(g.integers(-2, 4))}
        return made, memory

    def run(self):
        """(what it gives or its error, the memory, the claimed loops that it came to)."""
        made, memory = self.arrays()
        base, recorder = memory.__array_interface__["data"][0], Recorder(memory)
        for name, array in made.items():
            if isinstance(array, np.ndarray) and name != "p":
                places = np.full(array.shape, array.__array_interface__["data"][0] - base)
                for axis, step in enumerate(array.strides):
                    shape = [1] * array.ndim
                    shape[axis] = -1
                    places = places + np.arange(array.shape[axis]).reshape(shape) * step
                made[name] = Recorded(array, places, recorder)
        scope = {"T": recorder}
        exec(self.twin, scope)
        with np.errstate(all="ignore"):
            try:
                result = scope["f"](**made)
            except IndexError as error:
                result = error
        return result, memory, recorder.seen + [(line, then, meets) for line, then, _, _, meets, _ in recorder.open]

    # ---- Statements ----

    def line(self, depth, text, twin=None):
        self.captured.append("    " * depth + text)
        self.recorded.append("    " * depth + (text if twin is None else twin))

    def only(self, depth, text):
        """In the recorded twin."""
        self.recorded.append("    " * depth + text)

    def pick(self, *choices):
        return self.rng.choice(choices)

    def loop(self, depth, numbers):
        self.loops += 1
        name = f"i{self.loops}"
        claim = self.pick("parallel for", "parallel for", "simd", "sequential for", "", "")
        if self.rng.random() < 0.4:
            claim += f" reduction({self.pick('sum:s', 'sum:s,r', 'prod:w', 'sum:n', 'min:low', 'max:high')})"
        begin = f"T.begin({HELPERS.count(chr(10)) + len(self.captured) + 1 + bool(claim)})"
        claimed = claim.startswith(("parallel", "simd"))
        if claimed:
            self.only(depth, begin)
        if claim:
            self.captured.append("    " * depth + f"#pragma {claim.strip()}")
        i = self.rng.choice(numbers) if numbers else "1"
        bounds = self.pick(f"{SIDE}", f"{SIDE}", f"1, {SIDE}", f"{SIDE - 1}, -1, -1", f"0, {SIDE}, 2", i, f"{i}, {SIDE}",
                           f"{i} + 1", "k", "3", "1", "0")
        self.line(depth, f"for {name} in range({bounds}):")
        if claimed:
            self.only(depth + 1, f"T.turn({name})")
        for word in re.findall(r":([\w,]+)", claim):
            for variable in word.split(","):
                self.add_up(depth + 1, variable, [*numbers, name])
        for _ in range(self.rng.randrange(1, 4)):
            self.statement(depth + 1, [*numbers, name])
        if claimed:
            self.only(depth, "T.end()")
    def add_up(self, depth, name, numbers):
        """To what the loop claims: in a way that keeps to it, or does not."""
        i = numbers[-1]
        self.line(depth, {"s": f"s += {self.value(numbers)}", "r": f"r = {self.value(numbers)} + r", "w": "w *= 0.5",
                          "n": f"n += {i}", "low": f"low = min(low, {self.value(numbers)})",
                          "high": f"high = max(high, {self.value(numbers)})"}[name]
                  if self.rng.random() < 0.9 else f"{name} = {name} + 1")

    def statement(self, depth, numbers):
        kind = self.rng.randrange(17)
        i = self.rng.choice(numbers)
        if kind < 5:
            self.line(depth, f"{self.place(numbers)} = {self.value(numbers)}")
        elif kind == 5:
            self.line(depth, f"{self.place(numbers)} += 0.5")
        elif kind == 6:
            self.line(depth, self.pick(f"s += {self.value(numbers)}", f"s = s + {self.value(numbers)}", f"n += {i}", "s += 1",
                                       f"r -= {self.value(numbers)}", "w *= 0.5" if len(numbers) < 2 else "w = -w"))
        elif kind == 7:
            self.line(depth, self.pick(f"low = min(low, {self.value(numbers)})",
                                       f"high = max(high, {self.value(numbers)})"))
        elif kind == 8 and depth < 4:
            self.line(depth, f"if {self.truth(numbers)}:")
            self.statement(depth + 1, numbers)
            if self.rng.random() < 0.5:
                self.line(depth, "else:")
                self.statement(depth + 1, numbers)
        elif kind < 12 and depth < 4:
            self.loop(depth, numbers)
        elif kind == 12:
            self.line(depth, f"t = {self.value(numbers)}")
            self.line(depth, f"{self.place(numbers)} = t + 0.5")
        elif kind == 13:
            value, corner = self.value(numbers), self.corner(numbers)
            self.line(depth, self.pick(f"put({self.pick('x', 'y', 'q')}, {self.at(numbers)}, {value})",
                                       f"put(m[{self.corner(numbers)}], {corner}, {value})",
                                       f"bump({self.pick('x', f'm[{i}]')}, {corner})"))
        elif kind == 14:
            self.line(depth, self.pick(f"m[{self.corner(numbers)}, 1:] = m[{self.corner(numbers)}, :-1] % 4",
                                       f"x[{self.pick('1:5', '::8')}] = {self.value(numbers)}",
                                       f"s += y[{self.pick(f'{i}:{i} + 3', ':4')}].sum()"))
        elif kind == 15:
            self.line(depth, f"if {self.truth(numbers)} and {self.truth(numbers)}:")
            self.line(depth + 1, self.pick("continue", "continue", "break"))
        else:
            self.line(depth, f"if -1 < {i} + k < {SIZE}:")
            self.line(depth + 1, f"{self.pick('x', 'y')}[{i} + k] = {self.value(numbers)}")

    # ---- Expressions ----

    def corner(self, numbers):
        return self.pick(*numbers, *numbers, *numbers, "0", "-1", f"{SIDE - 1} - {self.rng.choice(numbers)}",
                         f"{self.rng.choice(numbers)} - 1")

    def at(self, numbers):
        i = self.rng.choice(numbers)
        flat = f"{SIDE} * {numbers[0]} % {SIZE - SIDE} + {numbers[-1]}"
        return self.pick(i, i, i, f"{i} + 1", f"{i} + {self.rng.randrange(9)}", f"2 * {i}", flat,
                         f"3 * {numbers[0]} + {numbers[-1]}", f"-1 - {i}", f"p[{i}]", f"{i} // 2", f"{i} % 3",
                         f"least({i}, 3)", f"min({i}, 4)", f"{SIZE - 1} - {i}", f"{i} + k",
                         f"{i} + {SIZE - SIDE + self.rng.randrange(3)}", str(self.rng.randrange(6)))

    def place(self, numbers):
        if self.rng.random() < 0.4:
            a, b = self.corner(numbers), self.corner(numbers)
            return self.pick(f"m[{a}, {b}]", f"m[{a}][{b}]")
        return f"{self.pick('x', 'x', 'y', 'q')}[{self.at(numbers)}]"

    def value(self, numbers):
        first = self.place(numbers)
        return self.pick(f"{first} % 8", f"({first} + {self.place(numbers)}) % 8", "2.5",
                         f"({first} + s) % 4" if self.rng.random() < 0.2 else f"{first} % 4")

    def truth(self, numbers):
        i = self.rng.choice(numbers)
        return self.pick(f"{i} > 2", f"{i} < k", f"{self.place(numbers)} > 2", f"p[{i}] > {i}", f"{i} % 2 == 0",
                         f"1 < {i} + k <= 4")
