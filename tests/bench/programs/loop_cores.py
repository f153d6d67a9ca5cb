# SPDX-License-Identifier: Apache-2.0
"""One program made of loops on all cores, by the clock: braze, which finds the loops itself, and Numba's `prange`.

    python -m programs.loop_cores NAME SIZE ROUNDS BUDGET

AT_ONCE names the loops that may be `prange` for Numba: the outermost ones by these variables are.  The line that is printed
is JSON; what Numba cannot do, or does wrong, is a finding.
"""

import ast
import inspect
import json
import statistics
import sys
import time

from .loop_child import Way, compiled, in_a_copy, same, sites_of
from .loop_table import LOOPS
from .timing import alternate

# name: variables of loops, in the program's helpers, too
AT_ONCE = {
    "vadd": "i", "saxpy": "i", "conway": "i", "hilbert": "i", "jacobi_error": "i", "black_scholes": "i",
    "fbcorr": "n r", "conv_2d": "i", "mandelbrot": "y", "gemm": "i", "gemver": "i", "syr2k": "i",
    "arc_distance_pairs": "i", "julia": "i", "growcut": "i", "rosen_der": "i", "nb1d": "k", "nb3d": "k",
    "clos": "i", "spmv": "i", "go_fast": "i", "azimint_naive": "i", "syrk": "i", "trmm": "j",
    "gramschmidt": "j", "covariance": "i j", "gesummv": "i", "fdtd_2d": "i j", "hdiff": "i", "heat_3d": "i",
    "jacobi_2d": "i", "softmax": "i", "babelstream": "i", "nstream": "i", "transpose": "i",
    "examinimd": "i", "floyd_warshall": "i", "life": "i", "ray_sphere": "i",
}


class _AtOnce(ast.NodeTransformer):
    def __init__(self, variables):
        self.variables, self.found = variables, False

    def visit_For(self, node):
        if isinstance(node.target, ast.Name) and node.target.id in self.variables:
            node.iter.func = ast.Name("prange", ast.Load())
            self.found = True
            return node  # what is inside stays range: only the outermost is at once
        return self.generic_visit(node)


def numba_on_all_cores(function, variables):
    """Under @njit(parallel=True), where loops by these variables are there."""
    import numba

    def make(f, names):
        at_once = _AtOnce(variables)
        tree = at_once.visit(ast.parse(inspect.getsource(f)))
        names["prange"] = numba.prange
        exec(compile(ast.fix_missing_locations(tree), inspect.getfile(f), "exec"), names)
        return numba.njit(parallel=at_once.found)(names[f.__name__])
    return in_a_copy(function, make)


def main():
    name, size, rounds, budget = sys.argv[1:]
    program = LOOPS[name]
    runs, arguments = program.runnable(), program.arguments(size)
    mine = Way(runs, arguments)
    mine()
    compiled(sites_of(program, runs))
    answer = mine()[1]
    ways, out = [mine], {}
    try:
        ways.append(Way(numba_on_all_cores(program.function, AT_ONCE[name].split()), arguments))
        fault = same(ways[1]()[1], answer, program)
        if fault:
            raise ValueError(f"another answer: {fault}")
    except Exception as error:
        out["prange_none"] = f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"[:120]
        del ways[1:]
    for way in ways:
        way.clock = time.perf_counter
        way()
    for key, times in zip(("cores", "prange"), alternate(ways, int(rounds), float(budget))):
        out[key] = statistics.median(times)
    print(json.dumps(out), flush=True)


if __name__ == "__main__":
    main()
