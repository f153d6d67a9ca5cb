# SPDX-License-Identifier: Apache-2.0
"""One program made of loops on all cores, by the clock: braze, which finds the loops itself, and Numba's `prange`.

    python -m programs.loop_cores NAME SIZE ROUNDS BUDGET

AT_ONCE names the loops that may be `prange` for Numba: the outermost ones by these variables are.  The line that is printed
is JSON; what Numba cannot do, or does wrong, is a finding.
"""

import ast
import importlib
import inspect
import json
import statistics
import sys
import time

from .loop_child import Way, compiled, same, sites_of
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
    def __init__(self, names):
        self.names = names

    def visit_For(self, node):
        if isinstance(node.target, ast.Name) and node.target.id in self.names:
            node.iter.func = ast.Name("prange", ast.Load())
            return node  # what is inside stays range: only the outermost is at once
        return self.generic_visit(node)


def numba_on_all_cores(function, names):
    """The function and its helpers under @njit(parallel=True), in a copy of their module."""
    import numba

    module = importlib.import_module(function.__module__)
    space = dict(vars(module), prange=numba.prange)
    for name, f in list(vars(module).items()):
        if not (inspect.isfunction(f) and f.__module__ == module.__name__):
            continue
        tree = ast.parse(inspect.getsource(f))
        tree.body[0].decorator_list = []
        if f is function or function.__name__ == "heat_3d" and name == "warmer":
            tree = _AtOnce(names).visit(tree)
        exec(compile(ast.fix_missing_locations(tree), module.__file__, "exec"), space)
        space[name] = numba.njit(parallel=f is function or name == "warmer")(space[name])
    return space[function.__name__]


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
