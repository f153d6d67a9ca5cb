# SPDX-License-Identifier: Apache-2.0
"""Run a program of random_make.py in NumPy and in braze and compare.

A program is a list of steps.  The reference is NumPy, step by step; where NumPy
and braze may differ by rounding, the step says by how much, braze runs it eagerly
on the same operands, and NumPy goes on with braze's result.  So every step is
checked alone, and what the whole program reads must then be equal to the last bit
whatever is fused, cut or run in parallel.
"""

import contextlib
import io
import warnings
from typing import NamedTuple

import numpy

import braze
import braze.numpy

ULPS = 4
NATIVE = ("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
          "complex64 complex128").split()


class Step(NamedTuple):
    """One statement; ref bounds its error in `target`, guard says where it is defined."""

    text: str
    target: str = ""
    ref: str = ""
    guard: str = ""


class Mismatch(AssertionError):
    """braze and NumPy differ."""


# ---- data ----

SPECIAL = [numpy.nan, numpy.inf, -numpy.inf, -0.0, 0.0, 5e-324, -1e-310, 1e308, 1.5, -2.0, 1e-40]


def data(seed, shape, dtype, style="small"):
    """Values that a seed decides: small ones, any ones, or the special ones."""
    rng = numpy.random.default_rng(seed)
    dtype = numpy.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        low, high = (0, 10) if dtype.kind == "u" else (-6, 10)
        if style != "small":
            low, high = numpy.iinfo(dtype).min, numpy.iinfo(dtype).max
        made = numpy.asarray(rng.integers(low, high, shape, dtype, endpoint=True))
        if style == "special":
            ends = numpy.array([low, high, 0, 1], dtype)
            made = numpy.where(rng.random(shape) < 0.5, ends[rng.integers(0, 4, shape)], made)
        return numpy.asarray(made, dtype)
    if dtype.kind == "c":
        part = numpy.float32 if dtype == numpy.complex64 else numpy.float64
        made = numpy.empty(shape, dtype)
        made.real, made.imag = (data(seed + k, shape, part, style) for k in (1, 2))
        return made
    if style == "small":
        return numpy.asarray(rng.integers(-12, 20, shape) / 4).astype(dtype)
    made = numpy.asarray(rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4, shape))
    if style == "special":
        kinds = numpy.array(SPECIAL)[rng.integers(0, len(SPECIAL), shape)]
        made = numpy.where(rng.random(shape) < 0.5, kinds, made)
    with numpy.errstate(all="ignore"):
        return numpy.asarray(made).astype(dtype)


# ---- how far braze may be from NumPy: (exact value, bound) ----


def wide(x):
    """x in a type precise enough to be the truth."""
    x = numpy.asarray(x)
    if x.dtype.kind == "c":
        return x.astype(numpy.clongdouble)
    return x.astype(numpy.longdouble)


def ulp(function, *operands):
    """4 units in the last place of the true result (float16: 1); of the modulus if complex."""
    plain = function(*operands)
    if numpy.asarray(plain).dtype.kind not in "fc":
        return plain, 0
    ulps = 1 if numpy.asarray(plain).dtype.itemsize == 2 else ULPS
    if numpy.asarray(plain).dtype.kind == "c":
        return plain, 2 * ULPS * step_of(plain)
    if any(numpy.asarray(x).dtype.kind == "c" for x in operands):
        return plain, ULPS * step_of(plain)
    exact = function(*(wide(numpy.asarray(x).astype(plain.dtype, copy=False)) for x in operands))
    size = numpy.abs(plain)
    if function is numpy.logaddexp:  # its sum may cancel
        for x in operands:
            size = numpy.fmax(size, numpy.abs(x).astype(plain.dtype))
    return rounded(exact, plain.dtype), ulps * step_of(size)


def step_of(x):
    """The distance to the next number; of the larger part of a complex one."""
    x = numpy.asarray(x)
    with numpy.errstate(all="ignore"):
        return numpy.spacing(numpy.abs(x)).astype(numpy.longdouble)


def rounded(exact, dtype):
    with numpy.errstate(all="ignore"):
        return numpy.asarray(exact).astype(dtype)


def free_of_overflow(bound, size, kind):
    """The bound, or none where some order of the operations may overflow."""
    return numpy.where(numpy.isfinite(size) & (size > float(numpy.finfo(kind).max) / 4),
                       numpy.inf, bound) + numpy.where(numpy.isposinf(size), numpy.inf, 0)


def sums(x, axis=None, keepdims=False, what="sum", dtype=None, ddof=0):
    """sum, mean, var, std or prod of floats: bounds from the condition of the sum."""
    plain = getattr(numpy, what)(x, axis=axis, keepdims=keepdims, **(
        {"ddof": ddof} if what in ("var", "std") else {"dtype": dtype}))
    kind = numpy.asarray(plain).dtype
    if kind.kind not in "fc" or not numpy.asarray(x).size:
        return plain, 0
    x = numpy.asarray(x)
    w = wide(x if x.dtype.kind in (kind.kind, "c") else x.astype(kind))
    count = max(1, numpy.asarray(x).size // max(1, numpy.asarray(plain).size))
    eps = numpy.finfo(kind).eps * (24 + numpy.log2(count))
    over = {"axis": axis, "keepdims": keepdims}
    if what == "prod":
        exact, size = w.prod(**over), numpy.maximum(numpy.abs(w), 1).prod(**over)
        least = numpy.fmin.reduce(numpy.abs(w[w != 0]), initial=1)  # but for NaNs
        tiny = least ** count < numpy.finfo(kind).tiny
        return rounded(exact, kind), free_of_overflow(
            numpy.abs(exact) * eps * (1 + count), numpy.where(tiny, numpy.inf, size), kind)
    if what in ("sum", "mean"):
        exact, size = getattr(w, what)(**over), getattr(numpy.abs(w), what)(**over)
        bound = eps * size + numpy.finfo(kind).smallest_subnormal * 2
        return rounded(exact, kind), free_of_overflow(bound, size * count, kind)
    if count <= ddof:
        return plain, 0
    mean = w.mean(axis=axis, keepdims=True)
    away = numpy.abs(w - mean)
    free = count - ddof
    var = (away * away).sum(**over) / free
    size = (away * (away + eps * (numpy.abs(w) + numpy.abs(mean)))).sum(**over) / free
    near = ((numpy.abs(w).mean(axis=axis, keepdims=True) * eps) ** 2 + 0 * away).sum(**over) / free
    bound = eps * size * 2 + near + 2 * (away * numpy.abs(w) * eps).sum(**over) / free
    bound = bound + count / free * numpy.finfo(kind).smallest_subnormal
    bound = free_of_overflow(bound, var * free + numpy.fmax.reduce(numpy.abs(w), axis=None, initial=0) ** 2, kind)
    if what == "var":
        return rounded(var, kind), bound
    root = numpy.sqrt(var)
    with numpy.errstate(all="ignore"):
        return rounded(root, kind), numpy.where(root > 0, bound / root, 0) + numpy.sqrt(bound) * (
            bound >= var) + eps * root


def product(a, b):
    """A matrix product: the bound of its sums."""
    plain = numpy.matmul(a, b)
    if plain.dtype.kind not in "fc":
        return plain, 0
    x, y = wide(numpy.asarray(a, plain.dtype)), wide(numpy.asarray(b, plain.dtype))
    count = numpy.asarray(a).shape[-1]
    eps = numpy.finfo(plain.dtype).eps * (8 + count)
    size = numpy.matmul(numpy.abs(x), numpy.abs(y))
    # A product below the normal numbers is rounded to a whole subnormal, whatever its size.
    bound = eps * size + numpy.finfo(plain.dtype).smallest_subnormal * (1 + count / 2)
    return rounded(numpy.matmul(x, y), plain.dtype), free_of_overflow(bound, size, plain.dtype)


def zero_sign(x):
    """The sign of a zero is NumPy's to choose."""
    return x, 0


def fits(x, dtype):
    """May x be cast to this type with a defined result?"""
    x, dtype = numpy.asarray(x), numpy.dtype(dtype)
    if x.ndim == 0 and x.dtype.kind in "iu" and dtype.kind in "iu":
        # NumPy looks at single values: an error that depends on them.
        return numpy.iinfo(dtype).min <= int(x) <= numpy.iinfo(dtype).max
    if x.dtype.kind not in "fc" or dtype.kind not in "iu":
        return True
    x = x.real
    info = numpy.iinfo(dtype)
    return bool((numpy.isfinite(x) & (x > float(info.min) - 1 + (info.bits == 64)) &
                 (x < float(info.max) + (info.bits < 64))).all())


REFERENCE = {"ulp": ulp, "sums": sums, "product": product, "zero_sign": zero_sign, "fits": fits,
             "numpy": numpy}


# ---- comparing ----


def plain(x):
    """NumPy's view of a value; braze's scalars as NumPy's arrays of no axes."""
    if isinstance(x, braze.numpy.ndarray):
        return numpy.asarray(x)
    return numpy.asarray(x) if isinstance(x, (numpy.ndarray, numpy.generic)) else x


def differ(got, want, bound=None):
    """None, or a text that says how got differs from want."""
    got, want = plain(got), plain(want)
    if not isinstance(want, numpy.ndarray):
        if type(got) is not type(want):
            return f"type {type(got).__name__}, NumPy {type(want).__name__}"
        got, want = numpy.asarray(got), numpy.asarray(want)
    if not isinstance(got, numpy.ndarray):
        return f"{type(got).__name__} instead of an array"
    if got.dtype != want.dtype:
        return f"dtype {got.dtype}, NumPy {want.dtype}"
    if got.shape != want.shape:
        return f"shape {got.shape}, NumPy {want.shape}"
    if want.dtype.kind == "c" and bound is None:
        return differ(got.real, want.real) or differ(got.imag, want.imag)
    same = equal(got, want, bound)
    if same.all():
        return None
    where = tuple(int(i) for i in numpy.argwhere(~numpy.asarray(same))[0])
    return (f"{numpy.count_nonzero(~same)} of {want.size} elements, first at {where}: "
            f"{got[where]!r}, NumPy {want[where]!r}")


def equal(got, want, bound):
    """Which elements are equal, or as near as the bound says."""
    with numpy.errstate(all="ignore"):
        same = (got == want) | ((got != got) & (want != want))
        if bound is None and want.dtype.kind == "f":
            same &= (got != got) | (numpy.signbit(got) == numpy.signbit(want))
        elif bound is not None and want.dtype.kind in "fc":
            same |= (numpy.abs(wide(got) - wide(want)) <= bound) | numpy.isinf(bound)
            if want.dtype.kind == "c":  # what the parts of an infinity are is open
                same |= ~numpy.isfinite(want)
    return same


# ---- running ----


def separate(x):
    """A copy of an array; other values as they are."""
    return x.copy() if isinstance(x, numpy.ndarray) else x


class Reference:
    """NumPy, but for `negative` in place, which is wrong there when the elements lie
    some steps apart (four for float32, eight for float64): it gets a copy to read."""

    def __getattr__(self, name):
        return getattr(numpy, name)

    @staticmethod
    def negative(x, **kwargs):
        return numpy.negative(separate(x) if "out" in kwargs else x, **kwargs)


class Run:
    """One execution of a program with one module as np.

    `value` stands around what is assigned: NumPy assigns overlapping parts of one
    axis wrongly when their steps differ, so that it needs a copy."""

    def __init__(self, module, mode=None):
        self.log = []
        apart = separate if module is numpy else lambda x: x
        known = Reference() if module is numpy else module
        self.env = {"np": known, "data": data, "check": self.check, "value": apart}
        self.mode = mode or contextlib.nullcontext

    def check(self, value):
        # What NumPy shows is a view, braze's export a snapshot that must keep its value.
        theirs = isinstance(value, (numpy.ndarray, numpy.generic))
        self.log.append(numpy.array(value) if theirs else plain(value))

    def step(self, step):
        """Execute; the exception or None."""
        with warnings.catch_warnings(), self.mode():
            warnings.simplefilter("ignore")
            try:
                exec(step.text, self.env)
            except Exception as error:  # noqa: BLE001 - compared with the other's
                return error
        return None

    def value(self, name):
        return plain(self.env[name])

    def names(self):
        return sorted(n for n in self.env if n[0] == "v" and n[1:].isdigit())


def in_order(theirs, ours):
    """NumPy keeps its operands' memory order in more results than braze does: views of
    results are alike only when the results are laid out alike."""
    for name in theirs.names():
        x, mine = theirs.env[name], ours.env.get(name)
        if isinstance(x, numpy.ndarray) and x.flags.owndata and not x.flags.c_contiguous \
                and isinstance(mine, braze.numpy.ndarray) and mine.flags.c_contiguous:
            theirs.env[name] = x.copy("C")


def evaluate(text, run):
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return eval(text, {**REFERENCE, **run.env, "np": numpy})


def raised(step, error, want):
    if (error is None) != (want is None):
        raise Mismatch(f"{step.text}: braze {error!r}, NumPy {want!r}")
    if want is None:
        return
    for kind in (TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError):
        if isinstance(want, kind) and not isinstance(error, kind):
            raise Mismatch(f"{step.text}: braze raises {error!r}, NumPy {want!r}")


def rounding(step, theirs, ours, bounds):
    """Check a step that rounds and let NumPy go on with braze's result."""
    want, bound = bounds
    if step.ref.startswith("zero_sign"):
        want = theirs.env[step.target]
    got = ours.value(step.target)
    text = differ(got, numpy.asarray(want) if isinstance(got, numpy.ndarray) else want, bound)
    if text:
        raise Mismatch(f"{step.text}: {text}")
    mine = theirs.env[step.target]
    if isinstance(mine, numpy.ndarray):
        mine[...] = got
    elif isinstance(mine, numpy.generic):
        theirs.env[step.target] = numpy.asarray(got)[()]


def reference(steps):
    """NumPy's run beside braze's eager one: (run, the steps that were defined)."""
    theirs, ours = Run(numpy), Run(braze.numpy, braze.eager)
    done = []
    for step in steps:
        try:
            if step.guard and not evaluate(step.guard, theirs):
                continue
            bounds = evaluate(step.ref, theirs) if step.ref else None
        except Exception:  # noqa: BLE001 - a step whose operands a shrink removed
            continue
        want = theirs.step(step)
        if isinstance(want, NameError):
            continue
        done.append((step, want))
        raised(step, ours.step(step), want)
        in_order(theirs, ours)
        if bounds is not None and want is None:
            rounding(step, theirs, ours, bounds)
    finish(ours, theirs, "eager")
    return theirs, done


def finish(ours, theirs, title):
    """Everything read and everything left must be equal to the bit."""
    for number, (got, want) in enumerate(zip(ours.log, theirs.log, strict=True)):
        text = differ(got, want)
        if text:
            raise Mismatch(f"{title}: check {number}: {text}")
    if ours.names() != theirs.names():
        raise Mismatch(f"{title}: names {ours.names()}, NumPy {theirs.names()}")
    for name in ours.names():
        text = differ(ours.value(name), theirs.value(name))
        if text:
            raise Mismatch(f"{title}: {name} at the end: {text}")


MODES = {"lazy": contextlib.nullcontext, "unfused": braze.unfused, "eager": braze.eager}


def run(steps, modes=("lazy",), values=None):
    """Check a program; Mismatch when braze's answers are not NumPy's.  `values`
    collects all answers, to be compared with another daemon's."""
    theirs, done = reference(steps)
    for mode in modes:
        ours = Run(braze.numpy, MODES[mode])
        for step, want in done:
            raised(step, ours.step(step), want)
        finish(ours, theirs, mode)
        if values is not None:
            values.extend(ours.log + [ours.value(n) for n in ours.names()])


def fails(steps, modes):
    """The mismatch of a program or None."""
    try:
        run(steps, modes)
    except Mismatch as mismatch:
        return mismatch
    return None


def shrink(steps, modes=("lazy",)):
    """The shortest failing part that leaving steps out, block by block, finds."""
    size = max(1, len(steps) // 2)
    while True:
        at, smaller = 0, False
        while at < len(steps):
            rest = steps[:at] + steps[at + size :]
            if fails(rest, modes):
                steps, smaller = rest, True
            else:
                at += size
        if size == 1 and not smaller:
            return steps
        size = max(1, size // 2) if not smaller else min(size, max(1, len(steps) // 2))


def report(seed, steps, modes):
    """A failing program made short, as text to be run."""
    steps = shrink(steps, modes)
    text = io.StringIO()
    print(f"seed {seed}, {'/'.join(modes)}: {fails(steps, modes)}", file=text)
    for step in steps:
        print("    " + step.text, file=text)
    return text.getvalue()
