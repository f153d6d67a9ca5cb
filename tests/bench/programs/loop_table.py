# SPDX-License-Identifier: Apache-2.0
"""The table of the programs made of loops: one row each.

A program is a plain function over NumPy's arrays that gives its results, what it writes in place
included.  `reference` are sums of its results at the test size, as other runs of the same
formulas gave them.  A program of work units runs through braze even where nothing is captured of it;
its `twin` is what says the same without.
"""

import dataclasses
import inspect
import typing

import braze
import numpy as np

from . import inputs, learning, linear, stencils
from . import loop_inputs as made
from . import loops as lo
from . import loops_grids as gr
from . import loops_nests as ne
from . import loops_particles as pa
from . import loops_slices as sl
from . import loops_units as un
from .answers import BRANCH, ELEMENT, EXACT, ITERATION, REDUCTION, SINGLE

SIZES = ("test", "small", "large")
GROUPS = {
    "serial": "loops whose turns depend on each other",
    "ALPyNA": "ALPyNA's nests",
    "Velociraptor": "Velociraptor's, as loops",
    "PyFuser": "PyFuser's streams, random updates, particles and groups, as loops",
    "units": "PyFuser's programs, as work units",
    "suite": "linear algebra, grids and sums of the NumPy suites, by elements",
    "APPy": "APPy's programs: slices and pragmas",
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
    twin: typing.Callable  # the same without braze: of a program of loops, itself
    units: bool  # is it made of work units?

    @property
    def name(self):
        return self.function.__name__

    def arguments(self, size):
        return self.inputs(*self.sizes[size])

    @property
    def front_end(self):
        return "work units" if self.units else "jit, pragmas" if self.pragmas else "jit"

    @property
    def pragmas(self):
        """Lines of them."""
        return inspect.getsource(self.function).count("#pragma")

    def runnable(self):
        """It is captured; of a program of units these are, when it runs."""
        return self.function if self.units else braze.jit(self.function)

    def captured(self, ran):
        """What was captured of one that was runnable, and has run."""
        if not self.units:
            return [ran]
        named = [self.function.__globals__.get(n) for n in self.function.__code__.co_names]
        return [f for unit in named if hasattr(unit, "loops") for f in unit.loops.values()]


LOOPS = {}


def of(make):
    """Inputs of an array program, which takes NumPy first, for one of loops."""
    return lambda *size: make(np, *size)


def array_program(function):
    return lambda *arguments: function(np, *arguments)


def row(function, group, inputs, check, *sizes, reference=(), python="", twin=None):
    sizes = {name: size if isinstance(size, tuple) else (size,)
             for name, size in zip(SIZES, sizes, strict=True)}
    assert group in GROUPS and function.__name__ not in LOOPS
    LOOPS[function.__name__] = Loops(function, group, inputs, check, sizes, reference, python,
                                     twin or function, group == "units")


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
row(gr.nb3d, "Velociraptor", made.heaven_in_rows, ITERATION, (30, 3), (60, 10), (600, 10))
row(gr.fdtd_3d, "Velociraptor", of(inputs.cavity_3d), ITERATION, (4, 5, 6, 7), (10, 25, 20, 15),
    (10, 80, 80, 80))

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

row(gr.covariance, "suite", of(inputs.covariance), REDUCTION, (60, 50), (100, 80), (500, 400),
    reference=(183076.25,))
row(gr.gesummv, "suite", of(inputs.gesummv), REDUCTION, 40, 300, 3000, reference=(993.75,))
row(gr.fdtd_2d, "suite", of(inputs.cavity_2d), ITERATION, (10, 20, 30), (10, 100, 120),
    (20, 1000, 1000), reference=(3035.88546036, 1498.16658163, 3718.08439076))
row(gr.hdiff, "suite", of(inputs.hdiff), BRANCH, (8, 9, 10), (32, 32, 30), (160, 160, 100),
    reference=(359.85712892,))
row(gr.heat_3d, "suite", made.blocks, ITERATION, (20, 10), (10, 30), (10, 120),
    reference=(520.963656674,))
row(gr.jacobi_2d, "suite", made.planes, ITERATION, (20, 30), (20, 100), (20, 1000),
    reference=(7245.05548901, 7294.06039112))
row(gr.softmax, "suite", of(inputs.single_42), SINGLE, (2, 3, 8, 16), (4, 4, 32, 32),
    (8, 8, 128, 128), reference=(48,))

# ---- APPy's, with pragmas ----
row(sl.cholesky_slices, "APPy", made.definite, ITERATION, 40, 150, 700, reference=(31625.62875,))
row(sl.covariance_slices, "APPy", of(inputs.covariance), REDUCTION, (60, 50), (100, 80), (500, 400),
    reference=(183076.25,))
row(sl.fdtd_2d_slices, "APPy", of(inputs.cavity_2d), ITERATION, (10, 20, 30), (10, 100, 120),
    (20, 1000, 1000), reference=(3035.88546036, 1498.16658163, 3718.08439076))
row(sl.floyd_warshall_slices, "APPy", made.ways, EXACT, 60, 120, 400, reference=(6594,))
row(sl.gemm_slices, "APPy", made.products, REDUCTION, (20, 25, 30), (80, 80, 80), (400, 400, 400),
    reference=(4365,))
row(sl.gemver_slices, "APPy", made.vectors_and_matrix, REDUCTION, 40, 200, 2000,
    reference=(4742.52083333, 471.479887153, 104024.791001))
row(sl.gesummv_slices, "APPy", of(inputs.gesummv), REDUCTION, 40, 300, 3000, reference=(993.75,))
row(sl.go_fast_slices, "APPy", made.seed_42, REDUCTION, (40, 40), (300, 300), (3000, 3000),
    reference=(31965.9490655, 19.4788401432))
row(sl.gramschmidt_slices, "APPy", made.seed_42, ITERATION, (24, 20), (80, 70), (400, 350),
    reference=(10.2157595201, 105.799869094, 22.6637503518))
row(sl.hdiff_slices, "APPy", of(inputs.hdiff), BRANCH, (8, 9, 10), (32, 32, 30), (160, 160, 100),
    reference=(359.85712892,))
row(sl.heat_3d_slices, "APPy", made.blocks, ITERATION, (20, 10), (10, 30), (10, 120),
    reference=(520.963656674,))
row(sl.jacobi_2d_slices, "APPy", made.planes, ITERATION, (20, 30), (20, 100), (20, 1000),
    reference=(7245.05548901, 7294.06039112))
row(sl.softmax_slices, "APPy", of(inputs.single_42), SINGLE, (2, 3, 8, 16), (4, 4, 32, 32),
    (8, 8, 128, 128), reference=(48,))
row(sl.spmv_pragmas, "APPy", made.packed_rows, REDUCTION, (100, 80), (4096, 4096),
    (1_000_000, 500_000), reference=(104.560361389,))
row(sl.symm_slices, "APPy", made.half_read, REDUCTION, (20, 25), (80, 80), (400, 400),
    reference=(17923.125,))
row(sl.syr2k_slices, "APPy", made.two_factors, REDUCTION, (20, 25), (80, 80), (400, 400),
    reference=(4433.15,))
row(sl.syrk_slices, "APPy", made.one_factor, REDUCTION, (20, 25), (80, 80), (400, 400),
    reference=(2510.5,))
row(sl.trisolv_slices, "APPy", made.solvable, ITERATION, 40, 300, 4000, reference=(12.3651722142,))
row(sl.trmm_slices, "APPy", made.triangle, REDUCTION, (20, 25), (80, 80), (400, 400),
    reference=(1777.5,))
row(sl.azimint_slices, "APPy", made.scattered, REDUCTION, (2000, 10), (20_000, 20), (1_000_000, 100),
    reference=(5.02343661504,))

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
row(gr.gaussian_bayes, "PyFuser", of(inputs.classes_4), REDUCTION, (60, 3), (2000, 3), (200_000, 10),
    reference=(23.730903797, 11.388517914, -2346.37340765))
row(gr.kmeans, "PyFuser", of(inputs.clusters), ITERATION, (60, 2, 3, 4), (2000, 4, 8, 5),
    (50_000, 8, 16, 5), twin=array_program(learning.kmeans))

# ---- PyFuser's, as work units ----
row(un.adi_units, "units", made.grid_of_adi, ITERATION, (5, 20), (5, 60), (5, 300),
    reference=(-12935.3928865,), twin=array_program(stencils.adi))
row(un.covariance_units, "units", of(inputs.covariance), REDUCTION, (60, 50), (100, 80), (500, 400),
    reference=(183076.25,), twin=array_program(linear.covariance))
row(un.fdtd_2d_units, "units", of(inputs.cavity_2d), ITERATION, (10, 20, 30), (10, 100, 120),
    (20, 1000, 1000), reference=(3035.88546036, 1498.16658163, 3718.08439076),
    twin=array_program(stencils.fdtd_2d))
row(un.jacobi_1d_units, "units", made.lines, ITERATION, (20, 30), (20, 5000), (20, 1_000_000),
    reference=(16.6195126384, 16.6704372042), twin=array_program(stencils.jacobi_1d))
row(un.mvt_units, "units", of(inputs.mvt), REDUCTION, 40, 200, 2000, reference=(369.75, 369.5),
    twin=array_program(linear.mvt))
row(un.syrk_units, "units", made.one_factor, REDUCTION, (20, 25), (80, 80), (400, 400),
    reference=(2510.5,), twin=ne.syrk)
row(un.syr2k_units, "units", made.two_factors, REDUCTION, (20, 25), (80, 80), (400, 400),
    reference=(4433.15,), twin=ne.syr2k)
row(un.bayes_units, "units", made.rows_of_classes, REDUCTION, (60, 45, 3), (2000, 2000, 3), (200_000, 200_000, 10),
    twin=un.bayes_arrays)
row(un.babelstream_units, "units", made.stream, ITERATION, (10, 1000), (10, 10_000), (10, 2_000_000),
    reference=(66.4832635992, 27.701359833, 96.9547594154, 0.00184167680783), twin=pa.babelstream)
row(un.nstream_units, "units", made.stream_of_twos, EXACT, (50, 1000), (50, 10_000), (10, 5_000_000),
    reference=(400_000,), twin=pa.nstream)
row(un.transpose_units, "units", made.square, EXACT, (50, 32), (50, 100), (50, 1000),
    reference=(27_443_200, 574_976), twin=pa.transpose)
row(un.gups_units, "units", made.updates, EXACT, (4096, 10, 512), (100_000, 10, 8192),
    (5_000_000, 10, 500_000), reference=(1860,), twin=pa.gups_atomic)
row(un.examinimd_units, "units", made.crystal, ITERATION, (2, 3), (3, 20), (8, 10), twin=pa.examinimd)
row(un.dsmc_units, "units", made.electrons, BRANCH, 2000, 20_000, 1_000_000,
    reference=(2229, 1194 + 2 * 229, 2216.57026133), twin=pa.dsmc)
