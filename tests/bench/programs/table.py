# SPDX-License-Identifier: Apache-2.0
"""The table of the benchmark programs: one row each.

A program is a plain function of the array module and its inputs; the same text runs
with numpy and with braze.numpy.  Sizes are the arguments of the row's `inputs`.
"""

import dataclasses
import typing

from . import delayrepay as dr
from . import images as im
from . import inputs as made
from . import learning as le
from . import linear as li
from . import numexpr_texts
from . import simulation as si
from . import stencils as st
from . import tabular as ta
from .answers import BRANCH, ELEMENT, EXACT, ITERATION, REDUCTION, RUNNING, SINGLE

SIZES = ("tiny", "cache", "memory")
GROUPS = {
    "DR": "DelayRepay's 21",
    "suite": "kernels of other suites",
    "own": "what people write",
}


@dataclasses.dataclass(frozen=True)
class Program:
    """A row.  `kind` is A for array operations, AL for those in a sequential loop."""

    function: typing.Callable
    group: str  # of GROUPS
    kind: str
    inputs: typing.Callable  # (np, *size): the arguments behind np
    check: str  # of answers.RULES
    sizes: dict  # by the names of SIZES
    writes: bool  # it writes its arguments: each call gets copies
    note: str

    @property
    def name(self):
        return self.function.__name__

    @property
    def numexpr(self):
        return getattr(numexpr_texts, self.name, None)


PROGRAMS = {}


def row(function, group, kind, inputs, check, *sizes, writes=False, note=""):
    sizes = {name: size if isinstance(size, tuple) else (size,)
             for name, size in zip(SIZES, sizes, strict=True)}
    assert group in GROUPS and kind in ("A", "AL")
    assert function.__name__ not in PROGRAMS
    PROGRAMS[function.__name__] = Program(function, group, kind, inputs, check, sizes, writes, note)


U1, U2, U3 = (made.uniforms(k) for k in (1, 2, 3))
N1, N4 = made.normals(1), made.normals(4)
SLOW = "its loops are the interpreter's: more would take NumPy too long"

# ---- DelayRepay ----
row(dr.arc_distance, "DR", "A", N4, ELEMENT, 1000, 40_000, 4_000_000)
row(dr.create_grid, "DR", "A", made.numbers, EXACT, 50, 300, 2500)
row(dr.cronbach, "DR", "A", U1, REDUCTION, (60, 60), (600, 600), (5000, 5000))
row(dr.euclidean_distance_square, "DR", "A", made.one_and_many, REDUCTION, (64, 100), (512, 500), (512, 60_000))
row(dr.evolve, "DR", "A", made.diffusion, ELEMENT, 64, 360, 3000)
row(dr.grayscott, "DR", "AL", made.reaction, SINGLE, (60, 10), (500, 40), (2500, 3), writes=True)
row(dr.harris, "DR", "A", N1, ELEMENT, (64, 64), (512, 512), (4000, 4000))
row(dr.hasting, "DR", "A", made.food_chain, ELEMENT, (), (), (), note="three numbers: one size only")
row(dr.l1norm, "DR", "A", U2, REDUCTION, (40, 40), (80, 80), (300, 300))
row(dr.l2norm, "DR", "A", U1, REDUCTION, (100, 100), (500, 500), (5000, 5000))
row(dr.laplacien, "DR", "A", N1, ELEMENT, (50, 50, 3), (250, 250, 3), (2000, 2000, 3))
row(dr.log_likelihood, "DR", "A", made.and_then(U1, 0.1, 1.1), REDUCTION, 1000, 100_000, 10_000_000)
row(dr.lstsqr, "DR", "A", U2, REDUCTION, 1000, 50_000, 10_000_000)
row(dr.nn, "DR", "AL", made.neuron, ITERATION, (1000, 20), (40_000, 20), (4_000_000, 3))
row(dr.pairwise, "DR", "A", made.line, REDUCTION, (50, 40), (200, 100), (1500, 16))
row(dr.pythagorean_id, "DR", "A", U1, ELEMENT, 1000, 100_000, 10_000_000)
row(dr.repeating, "DR", "A", made.behind(1, U1), EXACT, (100, 20), (10_000, 20), (1_000_000, 20))
row(dr.reverse_cumsum, "DR", "A", U1, REDUCTION, 1000, 100_000, 20_000_000)
row(dr.rosen, "DR", "A", made.counting, REDUCTION, 1000, 100_000, 20_000_000)
row(dr.specialconvolve, "DR", "A", made.integers_32, EXACT, 100, 700, 6000)
row(dr.vibr_energy, "DR", "A", U3, ELEMENT, 1000, 50_000, 10_000_000)

# ---- Suites of NumPy kernels: dense linear algebra ----
row(li.gemm, "suite", "A", made.gemm, REDUCTION, (20, 25, 30), (200, 220, 240), (1400, 1500, 1600), writes=True)
row(li.gemver, "suite", "A", made.gemver, REDUCTION, 40, 400, 4000, writes=True)
row(li.gesummv, "suite", "A", made.gesummv, REDUCTION, 40, 300, 4000)
row(li.mvt, "suite", "A", made.mvt, REDUCTION, 40, 400, 5000, writes=True)
row(li.syrk, "suite", "AL", made.syrk, ITERATION, (20, 25), (70, 90), (120, 140), writes=True, note=SLOW)
row(li.syr2k, "suite", "AL", made.syr2k, ITERATION, (20, 25), (50, 60), (80, 90), writes=True, note=SLOW)
row(li.symm, "suite", "AL", made.symm, ITERATION, (20, 25), (60, 80), (90, 110), writes=True, note=SLOW)
row(li.trmm, "suite", "AL", made.trmm, ITERATION, (20, 25), (100, 120), (150, 180), writes=True, note=SLOW)
row(li.trisolv, "suite", "AL", made.trisolv, ITERATION, 40, 400, 4000, writes=True)
row(li.cholesky, "suite", "AL", made.definite, ITERATION, 40, 120, 200, writes=True, note=SLOW)
row(li.gramschmidt, "suite", "AL", made.seed_42, ITERATION, (24, 20), (90, 80), (160, 150), writes=True, note=SLOW)
row(li.covariance, "suite", "AL", made.covariance, REDUCTION, (60, 50), (300, 300), (1500, 600), writes=True)
row(li.clos, "suite", "AL", made.reachable, EXACT, 32, 200, 450)
row(le.gaussian_bayes, "suite", "AL", made.classes_4, REDUCTION, (60, 3), (30_000, 10), (1_000_000, 10))

# ---- Stencils, sweeps, streams ----
row(st.jacobi_1d, "suite", "AL", made.before(1, made.line_pair), ITERATION, (20, 30), (50, 100_000),
    (10, 5_000_000), writes=True)
row(st.jacobi_2d, "suite", "AL", made.before(1, made.plane_pair), ITERATION, (20, 30), (50, 250), (5, 3000),
    writes=True)
row(st.heat_3d, "suite", "AL", made.before(1, made.block_pair), ITERATION, (20, 10), (25, 40), (3, 160), writes=True)
row(st.fdtd_2d, "suite", "AL", made.cavity_2d, ITERATION, (10, 20, 30), (50, 200, 220), (5, 2000, 2500), writes=True)
row(st.hdiff, "suite", "A", made.hdiff, BRANCH, (8, 9, 10), (64, 64, 60), (256, 256, 96))
row(st.adi, "suite", "AL", made.before(1, made.adi), ITERATION, (3, 20), (5, 100), (3, 500), writes=True, note=SLOW)
row(st.fdtd_3d, "suite", "AL", made.cavity_3d, ITERATION, (5, 10, 8, 6), (50, 25, 20, 15), (4, 130, 120, 110),
    writes=True)
row(st.floyd_warshall, "suite", "AL", made.ways, EXACT, 60, 250, 600, writes=True)
row(st.jacobi_error, "suite", "A", U1, ELEMENT, (32, 32), (350, 350), (4000, 4000))
row(st.conv_2d, "suite", "AL", made.picture_and_taps, REDUCTION, (20, 5), (300, 5), (2000, 5))
row(st.babelstream, "suite", "AL", made.before(1, made.stream), REDUCTION, (10, 1000), (50, 40_000),
    (5, 5_000_000), writes=True)
row(st.nstream, "suite", "AL", made.before(1, made.stream_twos), EXACT, (50, 1000), (50, 40_000), (10, 5_000_000),
    writes=True)
row(st.transpose, "suite", "AL", made.before(1, made.transposable), EXACT, (20, 32), (20, 300), (4, 3000), writes=True)
row(st.vadd, "suite", "A", U2, EXACT, 1000, 40_000, 20_000_000)
row(st.saxpy, "suite", "A", made.single_pair, SINGLE, 1000, 100_000, 40_000_000)
row(st.hilbert, "suite", "A", made.numbers, ELEMENT, 32, 400, 5000)
row(st.rosen_der, "suite", "A", U1, ELEMENT, 1000, 100_000, 5_000_000)
row(st.arc_distance_pairs, "suite", "A", made.angles, ELEMENT, (30, 40), (200, 200), (1800, 2000))
row(st.softmax, "suite", "A", made.single_42, SINGLE, (2, 3, 8, 16), (4, 4, 64, 64), (16, 16, 256, 256))
row(st.azimint_naive, "suite", "AL", made.scattering, REDUCTION, (2000, 10), (50_000, 50), (4_000_000, 20))
row(st.go_fast, "suite", "AL", made.seed_42, REDUCTION, (40, 40), (400, 400), (5000, 5000))
row(si.black_scholes, "suite", "A", made.options, ELEMENT, 1000, 50_000, 3_000_000)
row(si.nb1d, "suite", "AL", made.heavenly_columns, ITERATION, (10, 3), (200, 2), (3000, 1), writes=True)
row(si.nb3d, "suite", "AL", made.heavenly, ITERATION, (10, 5), (100, 5), (1200, 1), writes=True)
row(im.julia, "suite", "AL", made.numbers, BRANCH, (40, 30), (300, 50), (1200, 20))

# ---- What people write: learning ----
row(le.network, "own", "AL", made.network, ITERATION, (100, 8, 16, 5), (4000, 16, 16, 10), (200_000, 32, 16, 2),
    writes=True)
row(le.train_losses, "own", "AL", made.regression, ITERATION, (100, 8, 50), (5000, 20, 50), (500_000, 20, 8))
row(le.logistic_regression, "own", "AL", made.two_classes, ITERATION, (100, 8, 30), (5000, 20, 30), (500_000, 20, 5))
row(le.kmeans, "own", "AL", made.clusters, ITERATION, (100, 2, 3, 5), (10_000, 4, 5, 10), (500_000, 4, 8, 2))
row(le.kmeans_bincount, "own", "AL", made.clusters, ITERATION, (100, 2, 3, 5), (10_000, 4, 5, 10),
    (500_000, 4, 8, 2))
row(le.kalman, "own", "AL", made.tracked, ITERATION, 20, 300, 2000, note="small matrices, more steps")
row(le.kalman_many, "own", "AL", made.and_then(made.series, 0.01, 1.0), ITERATION, (30, 100), (100, 2000), (30, 500_000))
row(le.particle_filter, "own", "AL", made.observed, ITERATION, (10, 100), (20, 5000), (5, 500_000))
row(le.one_hot, "own", "A", made.labelled, REDUCTION, (200, 5, 4), (10_000, 10, 8), (1_000_000, 10, 8))
row(le.one_hot_compare, "own", "A", made.labelled, REDUCTION, (200, 5, 4), (10_000, 10, 8), (1_000_000, 10, 8))
row(le.standardise, "own", "A", N1, REDUCTION, (100, 10), (10_000, 10), (1_000_000, 20))
row(le.min_max, "own", "A", N1, ELEMENT, (100, 10), (10_000, 10), (1_000_000, 20))
row(le.correlation, "own", "A", N1, REDUCTION, (100, 10), (10_000, 10), (1_000_000, 20))
row(le.batches, "own", "AL", made.batches, ITERATION, (200, 5, 20), (10_000, 20, 100), (500_000, 20, 5000))

# ---- Simulations ----
row(si.nbody, "own", "AL", made.bodies, ITERATION, (10, 10), (100, 10), (1500, 1), writes=True)
row(si.rk4, "own", "AL", made.lorenz, ITERATION, 10, 100, 1000, note="three numbers, more steps")
row(si.rk4_many, "own", "AL", made.pendulums, ITERATION, (100, 10), (20_000, 20), (1_000_000, 2))
row(si.monte_carlo_pi, "own", "A", made.numbers, EXACT, 1000, 100_000, 10_000_000)
row(si.monte_carlo_option, "own", "AL", made.numbers, REDUCTION, (100, 10), (10_000, 50), (2_000_000, 5))
row(si.binomial_option, "own", "AL", made.numbers, ITERATION, 20, 300, 2000)
row(si.random_walks, "own", "A", made.numbers, REDUCTION, (50, 20), (1000, 200), (20_000, 500))
row(si.random_walk_loop, "own", "AL", made.numbers, EXACT, (50, 20), (10_000, 100), (1_000_000, 10))
row(si.sir, "own", "AL", made.towns, ITERATION, (10, 20), (10_000, 100), (1_000_000, 10))
row(si.annealing, "own", "AL", made.points, ITERATION, (20, 20), (1000, 200), (1_000_000, 5))
row(si.annealing_many, "own", "AL", made.pendulums_alone, BRANCH, (100, 10), (10_000, 50), (1_000_000, 5))
row(si.newton, "own", "AL", made.positive, ITERATION, 100, 20_000, 1_000_000)
row(si.newton_masked, "own", "AL", U1, ELEMENT, 100, 20_000, 2_000_000)
row(si.bisection, "own", "AL", made.behind(1, U1), ELEMENT, (100, 30), (20_000, 40), (1_000_000, 10))
row(si.pagerank, "own", "AL", made.web, ITERATION, 30, 400, 3000)
row(si.pagerank_edges, "own", "AL", made.edges, ITERATION, (50, 4, 10), (5000, 8, 20), (200_000, 10, 5))

# ---- Pictures ----
row(im.life, "own", "AL", made.cells, EXACT, (16, 5), (300, 10), (2000, 1))
row(im.life_views, "own", "AL", made.cells, EXACT, (16, 5), (300, 10), (2000, 2), writes=True)
row(im.mandelbrot, "own", "AL", made.numbers, BRANCH, (30, 20, 20), (250, 200, 40), (1500, 1200, 20))
row(im.mandelbrot_where, "own", "AL", made.numbers, BRANCH, (30, 20, 20), (250, 200, 40), (1500, 1200, 20))
row(im.fft_low_pass, "own", "A", made.signal, REDUCTION, 1000, 100_000, 4_000_000)
row(im.fft_low_pass_2d, "own", "A", made.and_then(U1, 0.1), REDUCTION, (32, 32), (250, 250), (2000, 2000))
row(im.sobel, "own", "A", U1, ELEMENT, (32, 32), (350, 350), (3000, 3000))
row(im.blur, "own", "AL", made.taps, REDUCTION, 32, 350, 2500)
row(im.grey_gamma, "own", "A", made.colours, EXACT, 32, 250, 2000)
row(im.equalise, "own", "A", made.dark, EXACT, 32, 500, 4000)
row(im.threshold, "own", "AL", made.bright_and_dark, REDUCTION, 32, 400, 2500)
row(im.otsu, "own", "A", made.dark, EXACT, 32, 500, 4000)
row(im.labels, "own", "AL", made.blobs, EXACT, 24, 160, 1000)

# ---- Tables and recurrences ----
row(ta.moving_average_cumsum, "own", "A", made.and_then(U1, 20), RUNNING, 1000, 100_000, 10_000_000)
row(ta.moving_average_window, "own", "A", made.and_then(U1, 20), REDUCTION, 1000, 50_000, 2_000_000)
row(ta.moving_average_convolve, "own", "A", made.and_then(U1, 20), REDUCTION, 1000, 100_000, 10_000_000)
row(ta.exponential_average, "own", "AL", made.and_then(made.series, 0.1), ITERATION, (50, 10), (200, 1000),
    (100, 200_000))
row(ta.group_bincount, "own", "A", made.grouped, REDUCTION, (1000, 10), (100_000, 100), (5_000_000, 1000))
row(ta.group_sort, "own", "A", made.keyed, REDUCTION, (1000, 10), (50_000, 100), (2_000_000, 1000))
row(ta.csv_statistics, "own", "A", made.gaps, REDUCTION, (100, 5), (10_000, 8), (500_000, 8))
row(ta.csv_rows, "own", "A", made.and_then(made.gaps, 4.0), EXACT, (100, 5), (10_000, 8), (500_000, 8))
# Windows are differences of running sums: one last place of the logarithms is 3e-13 in them.
row(ta.returns, "own", "A", made.prices, ITERATION, 250, 50_000, 5_000_000)
row(ta.histogram_bins, "own", "A", made.and_then(N1, 50), REDUCTION, 1000, 100_000, 5_000_000)
row(ta.outliers, "own", "A", N1, REDUCTION, 1000, 100_000, 5_000_000)
row(ta.edit_distance, "own", "AL", made.letters, EXACT, (20, 30), (300, 400), (50, 200_000))
row(ta.knapsack, "own", "AL", made.items, ELEMENT, (10, 100), (100, 10_000), (50, 1_000_000))
row(ta.cheapest_path, "own", "AL", U1, EXACT, (20, 30), (200, 1000), (50, 200_000))
row(ta.viterbi, "own", "AL", made.markov, ELEMENT, (4, 20), (20, 200), (400, 100))

# ---- Factorisations and solvers by loops ----
row(li.lu_scalar, "own", "AL", made.diagonal_heavy, ITERATION, 15, 80, 150, writes=True, note=SLOW)
row(li.lu, "own", "AL", made.diagonal_heavy, ITERATION, 20, 200, 600, writes=True)
row(li.lu_pivoted, "own", "AL", made.seed_42, ITERATION, (20, 20), (150, 150), (500, 500), writes=True)
row(li.cholesky_columns, "own", "AL", made.definite, ITERATION, 20, 200, 1000)
row(li.qr_householder, "own", "AL", made.seed_42, ITERATION, (24, 20), (150, 120), (500, 300), writes=True)
row(li.gram_schmidt_classical, "own", "AL", made.seed_42, ITERATION, (24, 20), (300, 100), (3000, 200))
row(li.tridiagonal, "own", "AL", made.systems, ITERATION, (20, 10), (100, 500), (100, 50_000))
row(li.power_iteration, "own", "AL", made.symmetric_and_start, ITERATION, 20, 300, 3000)
row(li.conjugate_gradient, "own", "AL", made.definite_with_tolerance, ITERATION, 20, 300, 2000)
row(st.laplace_converge, "own", "AL", made.hot_edge, ITERATION, 16, 100, 500)
row(st.wave_sensor, "own", "AL", made.drop, ITERATION, (16, 20), (200, 100), (1500, 10))
