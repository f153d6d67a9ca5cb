# SPDX-License-Identifier: Apache-2.0
"""The table of the programs made of loops: one row each.

A program is a plain function over NumPy's arrays that gives its results, what it writes in place
included.  `reference` are sums of its results at the test size, as other runs of the same
formulas gave them.
"""

import dataclasses
import typing

import numpy as np

from . import loop_inputs as made
from . import loops as lo
from . import loops_nests as ne
from . import loops_particles as pa
from .answers import BRANCH, ELEMENT, EXACT, ITERATION, REDUCTION, SINGLE

SIZES = ("test", "small", "large")
GROUPS = {
    "serial": "loops whose turns depend on each other",
    "ALPyNA": "ALPyNA's nests",
    "Velociraptor": "Velociraptor's, as loops",
    "PyFuser": "PyFuser's streams, random updates and particles, as loops",
    "suite": "linear algebra and sums of the NumPy suites, by elements",
}


@dataclasses.dataclass(frozen=True)
class Loops:
    """A row.  Sizes are arguments of `inputs`, by the names of SIZES."""

    function: typing.Callable
    group: str  # of GROUPS
    inputs: typing.Callable  # (*size): the arguments
    check: str  # of answers.RULES
    sizes: dict
    reference: tuple  # of sums of results; None: not known
    python: str  # why a loop of it stays Python, or ""

    @property
    def name(self):
        return self.function.__name__

    def arguments(self, size):
        return self.inputs(*self.sizes[size])


LOOPS = {}


def row(function, group, inputs, check, *sizes, reference=(), python=""):
    sizes = {name: size if isinstance(size, tuple) else (size,)
             for name, size in zip(SIZES, sizes, strict=True)}
    assert group in GROUPS and function.__name__ not in LOOPS
    LOOPS[function.__name__] = Loops(function, group, inputs, check, sizes, reference, python)


def sums(answer):
    """What references are compared with: the sum of each result."""
    parts = answer if isinstance(answer, tuple) else (answer,)
    return [float(np.sum(np.asarray(part), dtype=np.float64)) for part in parts]


# ---- Turns that depend on each other ----
row(lo.crc16, "serial", made.bytes_of, EXACT, 9, 100_000, 4_000_000, reference=(0x29B1,))
row(lo.lu, "serial", made.dominant, ITERATION, 16, 100, 500)
row(lo.cholesky, "serial", made.definite, ITERATION, 40, 150, 700, reference=(31625.62875,))
row(lo.smith_waterman, "serial", made.strands, EXACT, (30, 40), (300, 300), (3000, 3000))
row(lo.floyd_warshall, "serial", made.ways, EXACT, 60, 120, 400, reference=(6594,))
row(lo.life, "serial", made.cells, EXACT, (16, 4), (100, 10), (500, 20))
row(lo.sieve, "serial", made.size, EXACT, 1000, 100_000, 10_000_000, reference=(168,))
row(lo.queens, "serial", made.size, EXACT, 6, 8, 11, reference=(4,))
row(lo.levenshtein, "serial", made.words, EXACT, (40, 30), (500, 500), (4000, 4000))
row(lo.gauss_seidel, "serial", made.poisson, ITERATION, (12, 1e-3, 50), (60, 1e-9, 100),
    (400, 1e-9, 100))
row(lo.nussinov, "serial", made.bases, EXACT, 24, 120, 500)
row(lo.histogram_of_labels, "serial", made.labels, EXACT, (500, 7), (50_000, 100), (5_000_000, 1000))
row(lo.run_lengths, "serial", made.runs, EXACT, 300, 100_000, 10_000_000)
row(lo.ray_sphere, "serial", made.rays, ELEMENT, (30, 8), (500, 100), (20_000, 300))
row(lo.union_find, "serial", made.graph, EXACT, (60, 50), (20_000, 20_000), (1_000_000, 1_000_000))
row(lo.time_warping, "serial", made.two_series, EXACT, (30, 25), (300, 300), (2500, 2500))

# ---- ALPyNA's ----
row(ne.vadd, "ALPyNA", made.pair, EXACT, 1000, 100_000, 10_000_000, reference=(997.82829128,))
row(ne.saxpy, "ALPyNA", made.single_pair, SINGLE, 1000, 100_000, 10_000_000, reference=(1773.1878,))
row(ne.conway, "ALPyNA", made.lives, EXACT, 64, 300, 3000, reference=(1549,))
row(ne.hilbert, "ALPyNA", made.size, EXACT, 32, 300, 3000, reference=(43.8653253292,))
row(ne.jacobi_error, "ALPyNA", made.plane, EXACT, 32, 300, 3000,
    reference=(526.595327693, 249.840883494))
row(ne.black_scholes, "ALPyNA", made.options, ELEMENT, 1000, 20_000, 1_000_000,
    reference=(3496.83344349, 29592.6267594))
row(ne.fbcorr, "ALPyNA", made.pictures, REDUCTION, (2, 8, 3, 4, 3), (4, 16, 3, 4, 3), (8, 64, 3, 8, 5),
    reference=(2240.34858404,))
row(ne.conv_2d, "ALPyNA", made.picture_and_taps, REDUCTION, (20, 5), (100, 5), (1000, 5),
    reference=(2735.14944902,))
row(ne.mandelbrot, "ALPyNA", made.size, BRANCH, (60, 40, 50), (100, 100, 50), (600, 600, 200),
    reference=(40409,))
row(ne.gemm, "ALPyNA", made.products, REDUCTION, (20, 25, 30), (80, 80, 80), (400, 400, 400),
    reference=(4365,))
row(ne.gemver, "ALPyNA", made.vectors_and_matrix, REDUCTION, 40, 200, 2000,
    reference=(4742.52083333, 471.479887153, 104024.791001))
row(ne.syr2k, "ALPyNA", made.two_factors, REDUCTION, (20, 25), (80, 80), (400, 400),
    reference=(4433.15,))

# ---- Velociraptor's ----
row(ne.arc_distance_pairs, "Velociraptor", made.angles, ELEMENT, (30, 40), (100, 100), (1000, 1000),
    reference=(589.562756624,))
row(ne.julia, "Velociraptor", made.size, BRANCH, (40, 1000, 1_000_000), (80, 1000, 1_000_000),
    (1000, 1000, 1_000_000), reference=(24244,))
row(ne.growcut, "Velociraptor", made.colonies, BRANCH, (16, 5), (40, 5), (150, 10),
    reference=(234, 78.2001434322, 133))
row(ne.rosen_der, "Velociraptor", made.vector, ELEMENT, 1000, 100_000, 5_000_000,
    reference=(32319.210722,))
row(ne.nb1d, "Velociraptor", made.heaven, ITERATION, (30, 3), (60, 10), (1000, 10))
row(ne.clos, "Velociraptor", made.size, EXACT, 32, 60, 200, reference=(122, 412))

# ---- The NumPy suites' ----
row(ne.spmv, "suite", made.packed_rows, REDUCTION, (100, 80), (4096, 4096), (1_000_000, 500_000),
    reference=(104.560361389,))
row(ne.go_fast, "suite", made.seed_42, REDUCTION, (40, 40), (300, 300), (3000, 3000),
    reference=(31965.9490655, 19.4788401432))
row(ne.azimint_naive, "suite", made.scattered, REDUCTION, (2000, 10), (20_000, 20), (1_000_000, 100),
    reference=(5.02343661504,))
row(ne.syrk, "suite", made.one_factor, REDUCTION, (20, 25), (80, 80), (400, 400), reference=(2510.5,))
row(ne.trmm, "suite", made.triangle, REDUCTION, (20, 25), (80, 80), (400, 400), reference=(1777.5,))
row(ne.symm, "suite", made.half_read, REDUCTION, (20, 25), (80, 80), (400, 400), reference=(17923.125,))
row(ne.trisolv, "suite", made.solvable, ITERATION, 40, 300, 4000, reference=(12.3651722142,))
row(ne.gramschmidt, "suite", made.seed_42, ITERATION, (24, 20), (80, 70), (400, 350),
    reference=(10.2157595201, 105.799869094, 22.6637503518))

# ---- PyFuser's ----
row(pa.babelstream, "PyFuser", made.stream, ITERATION, (10, 1000), (10, 10_000), (10, 2_000_000),
    reference=(66.4832635992, 27.701359833, 96.9547594154, 0.00184167680783))
row(pa.nstream, "PyFuser", made.stream_of_twos, EXACT, (50, 1000), (50, 10_000), (10, 5_000_000),
    reference=(400_000,))
row(pa.transpose, "PyFuser", made.square, EXACT, (50, 32), (10, 200), (5, 2000),
    reference=(27_443_200, 574_976))
row(pa.gups, "PyFuser", made.updates, EXACT, (4096, 10, 512), (100_000, 10, 8192),
    (5_000_000, 10, 500_000), reference=(1906,))
row(pa.gups_atomic, "PyFuser", made.updates, EXACT, (4096, 10, 512), (100_000, 10, 8192),
    (5_000_000, 10, 500_000), reference=(1860,))
row(pa.examinimd, "PyFuser", made.crystal, ITERATION, (2, 3), (3, 20), (8, 10))
row(pa.dsmc, "PyFuser", made.electrons, BRANCH, 2000, 20_000, 1_000_000,
    reference=(2229, 1194 + 2 * 229, 2216.57026133))
