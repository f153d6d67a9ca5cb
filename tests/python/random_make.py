# SPDX-License-Identifier: Apache-2.0
"""Random NumPy programs, decided by a seed.

The maker executes each statement in NumPy as it writes it, so that operands fit
and few statements raise.  Every variable is named v0, v1, ...
"""

import os
import warnings

import numpy

from random_check import NATIVE, REFERENCE, Step, data, separate

COMMON = ["float64", "float64", "float32", "int64", "int32", "uint8", "bool", "float16"]
SMALL = [0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33]
LARGE_ROWS = list(range(1, 41)) + [63, 64, 65, 127, 1021, 1024, 1025, 4099]

EXACT_1 = ("np.negative({0})|-{0}|+{0}|abs({0})|np.sign({0})|np.floor({0})|np.ceil({0})|"
           "np.trunc({0})|np.rint({0})|np.isnan({0})|np.isinf({0})|np.isfinite({0})|"
           "np.signbit({0})|np.logical_not({0})|~{0}|np.square({0})|np.sqrt({0})|{0} * 2|"
           "{0} + 1|1 - {0}|{0} ** 2|{0} / 2|2 / {0}|{0} // 3|{0} % 3|{0} > 1|{0} == 0|"
           "{0} * 0.5|{0} - 2.5|{0} & 3|{0} | 4|{0} ^ 1|{0} << 1|{0} >> 1|{0}.copy()|"
           "np.conj({0})|np.real({0})|np.imag({0})|np.where({0} > 0, {0}, 0)|"
           "np.zeros_like({0})|np.ones_like({0})|np.full_like({0}, 2)|np.reciprocal({0})|"
           "{0} + np.float32(1.5)|{0} * np.int8(3)|np.uint16(7) - {0}|np.positive({0})|np.radians({0})|np.degrees({0})|"
           "{0} + {0}|{0} * {0} - {0}|np.clip({0}, 1, 4)|np.clip({0}, None, 3)|"
           "np.maximum({0}, 0) + np.minimum({0}, 0)|({0} * 2 + 1) * {0}|{0} ** 0|{0} ** 1").split("|")
EXACT_1 = [e.strip() for e in EXACT_1 if e.strip() not in ("{0}", "4")] + ["{0} | 4"]
ULP_1 = ("exp expm1 exp2 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh "
         "arcsinh arccosh arctanh cbrt").split()
EXACT_2 = ("{0} + {1}|{0} - {1}|{0} * {1}|{0} / {1}|{0} // {1}|{0} % {1}|{0} < {1}|{0} <= {1}|"
           "{0} == {1}|{0} != {1}|{0} > {1}|{0} >= {1}|{0} & {1}|{0} ^ {1}|np.bitwise_or({0}, {1})|"
           "{0} << {1}|{0} >> {1}|np.fmod({0}, {1})|np.copysign({0}, {1})|np.nextafter({0}, {1})|"
           "np.heaviside({0}, {1})|np.logical_and({0}, {1})|np.logical_or({0}, {1})|"
           "np.logical_xor({0}, {1})|np.where({0} > {1}, {0}, {1})|np.where({0}, {1}, {0})|"
           "np.where({0} != 0, {0} + {1}, {1})|({0} + {1}) * {0}|np.add({0}, {1})|"
           "np.subtract({1}, {0})|{0} + {1} + {0}|divmod({0}, {1})[1]").split("|")
ZERO_2 = "maximum minimum fmax fmin".split()
ULP_2 = "arctan2 hypot logaddexp".split()
AUGMENTED = ["+=", "-=", "*=", "+=", "/=", "//=", "%=", "&=", "|=", "^=", "<<=", ">>="]
LITERALS = ["1", "2", "-1", "3", "0", "0.5", "-2.5", "True", "7", "np.float32(0.25)", "np.int16(5)",
            "np.float16(1.5)"]
SAFE_2 = ["{0} + {1}", "{0} - {1}", "{0} * {1}", "np.where({0} > {1}, {0}, {1})", "{0} < {1}"]


if os.environ.get("BRAZE_TEST_DEVICE"):
    # The sign of a NaN that an operation makes is the device's own.
    EXACT_1.remove("np.signbit({0})")
    EXACT_2.remove("np.copysign({0}, {1})")


class Maker:
    """Writes one program.

    variant: the same choices on another first shape and other data.
    mistakes: how often an operand is taken that need not fit, and a statement kept
    that raises."""

    def __init__(self, seed, length=20, large=False, rounds=True, styles=("small", "wide"),
                 variant=0, mistakes=0.0):
        self.rng = numpy.random.default_rng(seed)
        self.seed, self.length, self.large, self.rounds = seed, length, large, rounds
        self.styles, self.mistakes = styles, mistakes
        self.vary = numpy.random.default_rng([seed, variant]) if variant else None
        self.env = {"np": numpy, "data": data, "check": lambda x: None, "value": separate}
        self.steps, self.count = [], 0
        dtypes = NATIVE if self.chance(0.5) else COMMON
        self.dtypes = [self.pick(dtypes) for _ in range(3)]
        self.shape = self.varied(self.first_shape)

    # ---- chance ----

    def varied(self, choose):
        """What `choose` draws: the structure's own choice, or the variant's."""
        structure, plain = self.rng, choose()
        if not self.vary:
            return plain
        self.rng = self.vary
        try:
            return choose()
        finally:
            self.rng = structure

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, things):
        return things[int(self.rng.integers(len(things)))]

    def below(self, n):
        return int(self.rng.integers(n))

    # ---- shapes ----

    def first_shape(self):
        if not self.large:
            shape = tuple(self.pick(SMALL) for _ in range(self.pick([0, 1, 1, 2, 2, 3, 4, 5])))
            return shape if numpy.prod(shape) < 3000 else shape[:2]
        total = self.pick([65535, 65536, 65537, 131072, 131101, 200003, 500000, 1000003])
        rows = self.pick([1, 1, 2, 3])
        if rows == 1:
            return (total,)
        row = self.pick(LARGE_ROWS)
        if rows == 2:
            return (total // row, row) if self.chance(0.7) else (row, total // row)
        other = self.pick([2, 3, 7, 16])
        return (other, max(1, total // row // other), row)

    def related_shape(self):
        """The program's shape, or one that broadcasts with it."""
        shape = list(self.shape)
        if self.chance(0.5):
            return tuple(shape)
        if shape and self.chance(0.5):
            shape[self.below(len(shape))] = 1
        elif shape and self.chance(0.6):
            shape = shape[self.below(len(shape)) + 1 :]
        elif len(shape) < 5 and not self.large:
            shape = [self.pick([1, 2, 3]), *shape]
        return tuple(shape)

    # ---- variables ----

    def arrays(self, least=0):
        return [n for n, x in self.env.items() if n[0] == "v" and isinstance(x, numpy.ndarray)
                and x.ndim >= least]

    def numbers(self):
        return [n for n, x in self.env.items() if n[0] == "v" and n[1:].isdigit()]

    def any(self):
        names = self.numbers()
        return self.pick(names[-6:] if self.chance(0.7) else names) if names else self.create()

    def array(self, least=0):
        names = self.arrays(least)
        return self.pick(names[-6:] if self.chance(0.7) else names) if names else None

    def partner(self, name):
        """An operand that broadcasts with a variable."""
        if self.chance(0.2):
            return self.pick(LITERALS)
        if self.mistakes and self.chance(self.mistakes):
            return self.pick(self.numbers())
        x = self.env[name]
        fitting = [n for n in self.numbers() if fit(numpy.shape(self.env[n]), numpy.shape(x))]
        return self.pick(fitting)

    def new(self):
        self.count += 1
        return f"v{self.count - 1}"

    def emit(self, text, target="", ref="", guard=""):
        """Add a statement if NumPy runs it; now and then one that raises."""
        with warnings.catch_warnings(), numpy.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                if guard and not eval(guard, {**REFERENCE, **self.env}):
                    return False
                exec(text, self.env)
            except MemoryError:
                return False
            except Exception:  # noqa: BLE001 - braze must raise as well
                if self.chance(0.9 - self.mistakes):
                    return False
        self.steps.append(Step(text, target, ref, guard))
        for name in self.arrays():
            if self.env[name].ndim > 6 or self.env[name].size > (3e6 if self.large else 30000):
                self.steps.append(Step(f"del {name}"))
                del self.env[name]
        return True

    # ---- statements ----

    def create(self):
        v, dtype, shape = self.new(), self.pick(self.dtypes), self.related_shape()
        kind = self.below(12)
        if kind < 8:
            seed, style = self.varied(lambda: self.below(1000)), self.pick(self.styles)
            text = f"data({seed}, {shape}, '{dtype}', '{style}')"
            self.emit(f"{v} = np.array({text})")
        elif kind == 8:
            self.emit(f"{v} = np.{self.pick(['zeros', 'ones'])}({shape}, '{dtype}')")
        elif kind == 9:
            self.emit(f"{v} = np.full({shape}, {self.pick(['3', '1', '0'])}, '{dtype}')")
        elif kind == 10:
            size = int(numpy.prod(shape))
            dtype = dtype if dtype != "bool" and size < 100 else "float64"
            self.emit(f"{v} = np.arange({size}, dtype='{dtype}').reshape({shape})")
        else:
            self.emit(f"{v} = np.full({shape}, 1, '{dtype}'); {v}[...] = "
                      f"{self.pick(['2', 'True', '0'])}")
        if v not in self.env:
            self.emit(f"{v} = np.ones({self.shape})")
        return v

    def unary(self):
        a, v = self.any(), self.new()
        e = self.pick(EXACT_1)
        kind = numpy.asarray(self.env[a]).dtype.kind
        text = e.format(a)
        if kind == "c" and any(w in e for w in ("abs", "sqrt", "sign(", "square", "**", "/", "*",
                                                "recip")):
            if self.rounds_alike(a) and "* " not in e:
                self.emit(f"{v} = {text}", v, f"ulp(lambda x: {e.format('x')}, {a})")
            return
        zero = "clip" in e or "maximum" in e or "** 0" in e
        self.emit(f"{v} = {text}", v if zero else "", "zero_sign(0)" if zero else "")

    def rounds_alike(self, *names):
        """Has a function of these one rounding?  Of scalars whose values are at hand NumPy
        computes it, else braze: both within the bound, not always with the same bits."""
        return self.rounds and any(numpy.ndim(self.try_value(n)) for n in names)

    def function(self):
        a, v, f = self.any(), self.new(), self.pick(ULP_1)
        if not self.rounds_alike(a):
            return self.unary()
        if numpy.asarray(self.env[a]).dtype.kind == "c":
            return None
        return self.emit(f"{v} = np.{f}({a})", v, f"ulp(numpy.{f}, {a})")

    def binary(self):
        a = self.any()
        b, v = self.partner(a), self.new()
        if self.chance(0.3):
            a, b = b, a
        e = self.pick(EXACT_2 if self.chance(0.7) else SAFE_2)
        if self.chance(0.12):
            f = self.pick(ZERO_2)
            return self.emit(f"{v} = np.{f}({a}, {b})", v, "zero_sign(0)")
        if self.rounds_alike(a, b) and self.chance(0.1):
            f = self.pick(ULP_2)
            return self.emit(f"{v} = np.{f}({a}, {b})", v, f"ulp(numpy.{f}, {a}, {b})")
        if self.rounds_alike(a, b) and self.chance(0.08):
            return self.emit(f"{v} = ({a}) ** {b}", v, f"ulp(lambda x, y: x ** y, {a}, {b})",
                             f"numpy.result_type({a}, {b}).kind in 'iufb'"
                             f" and (numpy.asarray({b}) >= 0).all()")
        if self.complex(a, b) and any(w in e for w in "*/"):
            if self.rounds_alike(a, b) and "(" not in e:
                op = e[4]
                f = {"*": "multiply", "/": "divide"}[op]
                self.emit(f"{v} = {a} {op} {b}", v, f"ulp(numpy.{f}, {a}, {b})")
            return None
        return self.emit(f"{v} = {e.format(a, b)}")

    def complex(self, *names):
        return any(numpy.asarray(self.try_value(n)).dtype.kind == "c" for n in names)

    def where(self):
        a = self.any()
        b, c, v = self.partner(a), self.partner(a), self.new()
        e = self.pick(["np.where({0} > 1, {1}, {2})", "np.where({0}, {1}, {2})",
                       "np.where({1} == {2}, {0}, {1})"])
        self.emit(f"{v} = {e.format(a, b, c)}")

    def clip(self):
        a = self.any()
        low, high, v = self.partner(a), self.partner(a), self.new()
        self.emit(f"{v} = np.clip({a}, {low}, {high})", v, "zero_sign(0)")

    def cast(self):
        a, v, dtype = self.any(), self.new(), self.pick(NATIVE)
        self.emit(f"{v} = {a}.astype('{dtype}')", guard=f"fits({a}, '{dtype}')")

    def axes(self, x):
        """Keyword text of an axis argument."""
        if x.ndim == 0 or self.chance(0.25):
            return "None"
        chosen = [k for k in range(x.ndim) if self.chance(0.5)]
        if len(chosen) == 1 or self.chance(0.5):
            axis = self.below(x.ndim)
            return str(axis if self.chance(0.6) else axis - x.ndim)
        return str(tuple(chosen))

    def reduce(self):
        a = self.array()
        if a is None:
            return
        x, v = self.env[a], self.new()
        axis, keep = self.axes(x), self.chance(0.3)
        what = self.pick("sum sum sum prod min max any all argmin argmax mean var std "
                         "count_nonzero ptp".split())
        if what.startswith("arg") and axis.startswith("("):
            axis = "0"
        how = f"axis={axis}" + (", keepdims=True" if keep else "")
        if what in ("sum", "prod", "mean", "var", "std"):
            if x.dtype.kind in "fc" or what not in ("sum", "prod"):
                if self.rounds:
                    extra = ", ddof=1" if what in ("var", "std") and self.chance(0.3) else ""
                    self.emit(f"{v} = np.{what}({a}, {how}{extra})", v,
                              f"sums({a}, {how}, what='{what}'{extra})")
                return
            extra = self.pick(["", "", ", dtype='int32'", ", dtype='uint8'"])
            self.emit(f"{v} = np.{what}({a}, {how}{extra})")
        else:
            zero = what in ("min", "max", "ptp") and x.dtype.kind in "fc"
            self.emit(f"{v} = np.{what}({a}, {how})", v if zero else "",
                      "zero_sign(0)" if zero else "")

    def slice(self, n):
        kind = self.below(9)
        if kind < 3:
            return ":"
        if kind == 3:
            return "::-1"
        low, high = sorted((self.below(n + 1), self.below(n + 2)))
        if kind == 4:
            return f"{low}:"
        if kind == 5:
            return f":-{1 + self.below(n + 1)}"
        if kind == 6:
            return f"{high}:{low}:-{1 + self.below(3)}"
        return f"{low}:{high}" + self.pick(["", ":2", ":3"])

    def index(self, shape, whole=False):
        parts = []
        for n in shape:
            if n and not whole and self.chance(0.2):
                parts.append(str(self.below(2 * n) - n))
            else:
                parts.append(self.slice(n))
        if parts and self.chance(0.15):
            parts[self.below(len(parts)) :] = ["..."]
        elif parts and self.chance(0.3):
            parts = parts[: 1 + self.below(len(parts))]
        if len(shape) < 5 and self.chance(0.1):
            parts.insert(self.below(len(parts) + 1), "None")
        return ", ".join(parts) or "..."

    def view(self):
        a = self.array()
        if a is None:
            return
        x, v = self.env[a], self.new()
        kind = self.below(13)
        if kind < 7:
            self.emit(f"{v} = {a}[{self.index(x.shape)}]")
        elif kind == 7:
            self.emit(f"{v} = {a}.T")
        elif kind == 8 and x.ndim:
            axes = tuple(int(k) for k in self.rng.permutation(x.ndim))
            self.emit(f"{v} = np.transpose({a}, {axes})")
        elif kind == 9:
            self.emit(f"{v} = {a}.reshape({self.reshaped(x)})")
        elif kind == 10:
            self.emit(f"{v} = " + self.pick(["np.ravel({0})", "np.squeeze({0})", "{0}.flatten()",
                                             "np.expand_dims({0}, 0)", "np.flip({0})"]).format(a))
        elif kind == 11 and x.ndim >= 2:
            self.emit(f"{v} = " + self.pick(["np.swapaxes({0}, 0, -1)", "np.moveaxis({0}, 0, -1)",
                                             "np.diagonal({0})", "np.rot90({0})"]).format(a))
        else:
            self.emit(f"{v} = " + self.pick(["{0}.real", "{0}.imag", "{0}[...]", "{0}[None]",
                                             "{0}[..., None]"]).format(a))

    def reshaped(self, x):
        if x.size == 0 or self.chance(0.3):
            return "-1" if x.size else str(x.shape)
        factors, rest = [], x.size
        while rest > 1 and len(factors) < 4:
            divisors = [d for d in range(2, min(rest, 64) + 1) if rest % d == 0] or [rest]
            factors.append(self.pick(divisors))
            rest //= factors[-1]
        factors.append(rest)
        if self.chance(0.3):
            factors.insert(0, 1)
        return str(tuple(factors))

    def writable(self):
        names = [n for n in self.arrays() if self.env[n].flags.writeable]
        return self.pick(names[-6:] if self.chance(0.7) else names) if names else None

    def source(self, shape, dtype):
        """Text of a value that may be assigned to a target of this shape."""
        fitting = [n for n in self.numbers()
                   if fit(shape, numpy.shape(self.env[n]), into=True)]
        if not fitting or self.chance(0.2):
            return self.pick(LITERALS[:7])
        b = self.pick(fitting)
        return b if self.chance(0.6) else f"({b} {self.pick('+-')} {self.pick(LITERALS[:4])})"

    def assign(self):
        a = self.writable()
        if a is None:
            return
        x = self.env[a]
        index = self.index(x.shape)
        part = self.try_value(f"{a}[{index}]")
        if part is None:
            return
        value = self.source(numpy.shape(part), x.dtype)
        if self.chance(0.4):  # another part of the same array
            value = self.overlapping(a, numpy.shape(part)) or value
        if self.complex(a) or not self.complex(value):
            self.emit(f"{a}[{index}] = value({value})", guard=f"fits({value}, {a}.dtype)")

    def try_value(self, text):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return eval(text, self.env)
        except Exception:  # noqa: BLE001
            return None

    def overlapping(self, a, shape):
        """A slice of `a` of a shape."""
        x, parts = self.env[a], []
        if len(shape) != x.ndim:
            return None
        for n, want in zip(x.shape, shape, strict=True):
            if want > n:
                return None
            low = self.below(n - want + 1)
            if self.chance(0.3) and want:
                parts.append(f"{low + want - 1}:{low - 1 if low else ''}:-1")
            else:
                parts.append(f"{low}:{low + want}")
        return f"{a}[{', '.join(parts) or '...'}]"

    def augment(self):
        a = self.writable()
        if a is None:
            return
        x, op = self.env[a], self.pick(AUGMENTED)
        index = "" if self.chance(0.4) else f"[{self.index(x.shape, True)}]"
        part = self.try_value(f"{a}{index}")
        if part is None:
            return
        value = self.source(numpy.shape(part), x.dtype)
        if self.chance(0.4):
            value = self.overlapping(a, numpy.shape(part)) or value
        if self.complex(a, value) and op in ("*=", "/="):
            return
        self.emit(f"{a}{index} {op} {value}")

    def out(self):
        a = self.writable()
        if a is None:
            return
        shape = self.env[a].shape
        b, c = self.source(shape, None), self.source(shape, None)
        if self.complex(a, b, c):
            return
        f = self.pick("add subtract multiply less".split())
        text = self.pick(["np.{f}({b}, {c}, out={a})", "np.{f}({a}, {c}, {a})",
                          "np.negative({b}, out={a})", "np.copyto({a}, value({b}))",
                          "{a}.fill({n})", "np.square({b}, out={a})"])
        self.emit(text.format(a=a, b=b, c=c, f=f, n=self.pick(LITERALS[:4])),
                  guard=f"fits({b}, {a}.dtype) if numpy.asarray({a}).dtype.kind in 'iu' else True")

    def mask(self):
        a = self.writable()
        if a is not None:
            self.emit(f"{a}[{a} {self.pick(['>', '<', '=='])} {self.pick(LITERALS[:4])}] "
                      f"{self.pick(['=', '=', '+='])} {self.pick(['0', '1', '2'])}")

    def chosen(self):
        """What a mask chooses, kept or reduced."""
        a = self.array(1)
        if a is None:
            return
        x, v = self.env[a], self.new()
        mask = f"{a} {self.pick(['>', '<', '==', '!='])} {self.pick(LITERALS[:4])}"
        if self.chance(0.3) and x.dtype == bool:
            mask = a
        if self.chance(0.5):
            self.emit(f"{v} = {a}[{mask}]")
            return
        what = self.pick("sum sum mean prod any all max min".split())
        part = f"{a}[{mask}]"
        if what in ("sum", "prod") and x.dtype.kind not in "fc" or what in ("any", "all"):
            self.emit(f"{v} = {part}.{what}()")
        elif what in ("max", "min"):
            self.emit(f"{v} = {part}.{what}()", v, "zero_sign(0)")
        elif self.rounds and self.env["np"].any(eval(mask, self.env)):
            self.emit(f"{v} = {part}.{what}()", v, f"sums({part}, axis=None, what='{what}')")

    def places(self):
        """Reads and writes at places, of which some are wrong."""
        a = self.array(1)
        if a is None or not self.env[a].size:
            return
        x = self.env[a]
        n, wrong = x.shape[0], 3 * self.chance(0.2)
        at = [self.below(2 * n + wrong) - n for _ in range(1 + self.below(6))]
        places = f"np.asarray({at}) {self.pick(['+ 0', '* 1', ''])}".rstrip()
        kind = self.below(4)
        if kind == 0 and not wrong:
            self.emit(f"{self.new()} = {a}[{places}]")
        elif kind < 2:
            self.emit(f"check({a}[{places}])")
        elif x.flags.writeable and kind == 2:
            self.emit(f"{a}[{places}] = {self.pick(LITERALS[:5])}")
        elif x.flags.writeable and x.dtype.kind in "iu":
            self.emit(f"np.add.at({a}, {places}, 1)")

    def element(self):
        a = self.writable() if self.chance(0.5) else self.array(1)
        if a is None or not self.env[a].size:
            return
        x = self.env[a]
        at = ", ".join(str(self.below(2 * n) - n) for n in x.shape) or "()"
        kind = self.below(5)
        if kind == 0:
            self.emit(f"check({a}[{at}].item())")
        elif kind == 1:
            self.emit(f"{self.new()} = {a}[{at}]")
        elif x.flags.writeable and kind == 2 and x.ndim == 1 and x.size > 2:
            self.emit(f"for i in range(1, {min(x.size, 9)}): {a}[i] = {a}[i - 1] + {a}[i]")
        elif x.flags.writeable:
            self.emit(f"{a}[{at}] {self.pick(['=', '=', '+='])} {self.pick(LITERALS[:5])}")

    def join(self):
        a = self.array(1)
        if a is None or self.env[a].size > 400000:
            return
        b, v = self.partner(a), self.new()
        e = self.pick("np.concatenate([{0}, {1}])|np.stack([{0}, {1}])|np.concatenate([{0}, {0}], "
                      "axis=-1)|np.roll({0}, 2)|np.roll({0}, -1, axis=0)|np.tile({0}, 2)|"
                      "np.repeat({0}, 3)|np.repeat({0}, 2, axis=0)|np.diff({0})|"
                      "np.broadcast_to({0}, (2,) + {0}.shape)|np.hstack([{0}, {0}])|"
                      "np.triu({0})|np.tril({0}, -1)|np.broadcast_arrays({0}, {1})[1] + {0}|"
                      "np.vstack([{0}, {0}])|np.outer({0}, {1})".split("|"))
        if "outer" in e and (self.large or self.complex(a, b) or self.env[a].size > 100):
            return
        if "tri" in e and self.env[a].ndim == 1 and self.env[a].size > 1000:
            return  # of one row: a matrix of so many rows
        self.emit(f"{v} = {e.format(a, b)}")

    def product(self):
        a = self.array(1)
        if a is None:
            return
        x, v = self.env[a], self.new()
        if self.large and (x.ndim != 2 or x.shape[1] > 64):
            return
        b = a + ".T" if x.ndim == 2 and self.chance(0.5) and not self.large else self.array(1)
        if self.large:
            b = f"np.ones(({x.shape[1]}, 3), '{x.dtype}')"
        if self.rounds:
            self.emit(f"{v} = {a} @ {b}", v, f"product({a}, {b})")

    def alias(self):
        a = self.any()
        self.emit(f"{self.new()} = " + self.pick([a, a, f"np.asarray({a})", f"{a}.copy()"]))

    def delete(self):
        names = self.numbers()
        if len(names) > 3:
            self.emit(f"del {self.pick(names)}")

    def read(self):
        self.emit(f"check({self.any()})")

    def loop(self):
        """A statement repeated."""
        a = self.writable()
        if a is None or self.env[a].dtype.kind not in "iuf":
            return
        x, b = self.env[a], self.source(self.env[a].shape, None)
        text = self.pick([f"{a} += {b}", f"{a}[...] = {a} + {b}", f"{a} -= 1",
                          f"{a}[::-1] = {a}", f"{a}[1:] += {a}[:-1]" if x.ndim else f"{a} += 1"])
        turns = self.pick([2, 3, 5, 12])
        guard = f"all(fits(x, {a}.dtype) for x in ({a} + {turns} * {b}, {b}))"
        self.emit(f"for _ in range({turns}): {text}", guard=guard)

    def program(self):
        """All its steps."""
        for _ in range(1 + self.below(3)):
            self.create()
        kinds = [(self.create, 3), (self.unary, 14), (self.function, 4), (self.binary, 22),
                 (self.where, 4), (self.clip, 2), (self.cast, 5), (self.reduce, 8),
                 (self.view, 16), (self.assign, 9), (self.augment, 9), (self.out, 4),
                 (self.mask, 2), (self.chosen, 4), (self.places, 3), (self.element, 5), (self.join, 4), (self.product, 2),
                 (self.alias, 2), (self.delete, 5), (self.read, 5), (self.loop, 2)]
        weight = numpy.array([w for _, w in kinds], float)
        weight *= self.rng.random(len(kinds)) + 0.2  # every program has its own taste
        while len(self.steps) < self.length:
            kinds[int(self.rng.choice(len(kinds), p=weight / weight.sum()))][0]()
        return self.steps


def fit(shape, other, into=False):
    """Do two shapes broadcast (into the first)?"""
    try:
        made = numpy.broadcast_shapes(shape, other)
    except ValueError:
        return False
    return made == tuple(shape) if into else numpy.prod(made, dtype=float) < 4e6


def program(seed, **how):
    """The steps of a program."""
    return Maker(seed, **how).program()
