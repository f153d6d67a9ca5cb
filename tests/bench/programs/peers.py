# SPDX-License-Identifier: Apache-2.0
"""Peers of braze on the same programs: numexpr, Numba and JAX, each beside NumPy.

    python -m programs.peers PEER NAME ROUNDS BUDGET SIZE...

Runs in build/venv-peers.  numexpr has its own texts (numexpr_texts.py).  Numba compiles the very
text, rewritten only so far that `np` is a global name; JAX runs the very text under `jit`, so only
programs that write nothing and read no numbers run.  A line of JSON for each size; a program that
a peer cannot run gives {"none": why}.
"""

import ast
import importlib
import inspect
import json
import os
import statistics
import sys
import textwrap

import numpy

from .answers import RULES, flat, wrong
from .table import PROGRAMS
from .timing import Call, alternate, numpy_call

CORES = len(os.sched_getaffinity(0))


class WithoutModule(ast.NodeTransformer):
    """Functions lose their parameter `np`, and calls among them the argument."""

    def __init__(self, helpers):
        self.helpers = helpers

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        if node.args.args and node.args.args[0].arg == "np":
            del node.args.args[0]
        return node

    def visit_Call(self, node):
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in self.helpers and node.args \
                and isinstance(node.args[0], ast.Name) and node.args[0].id == "np":
            del node.args[0]
        return node


def numba_function(program):
    """The program and its helpers under @njit, with `np` as a global name."""
    import numba

    module = importlib.import_module(program.function.__module__)
    functions = {n: f for n, f in vars(module).items()
                 if inspect.isfunction(f) and f.__module__ == module.__name__}
    used, todo = {}, [program.name]
    while todo:
        name = todo.pop()
        if name in used or name not in functions:
            continue
        tree = ast.parse(textwrap.dedent(inspect.getsource(functions[name])))
        used[name] = tree
        todo += [n.id for n in ast.walk(tree) if isinstance(n, ast.Name)]
    space = {"np": numpy}
    for name, tree in used.items():
        tree = ast.fix_missing_locations(WithoutModule(set(used)).visit(tree))
        exec(compile(tree, f"<{name}>", "exec"), space)  # noqa: S102 (our own text)
    for name in used:
        space[name] = numba.njit(space[name])
    compiled = space[program.name]
    return lambda _, *arguments: compiled(*arguments)


def jax_function(program, inputs):
    """The program under jit: arrays are traced, numbers are constants of the text."""
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy

    traced = [k for k, x in enumerate(inputs) if isinstance(x, numpy.ndarray)]

    def run(*arrays):
        arguments = list(inputs)
        for k, array in zip(traced, arrays, strict=True):
            arguments[k] = array
        return program.function(jax.numpy, *arguments)

    compiled = jax.jit(run)

    def call(_, *arguments):
        return jax.block_until_ready(compiled(*(arguments[k] for k in traced)))
    return call, tuple(jax.numpy.asarray(x) if isinstance(x, numpy.ndarray) else x for x in inputs)


def peer_call(peer, program, inputs):
    def keep(_):
        return None

    if peer == "numexpr":
        import numexpr

        numexpr.set_num_threads(CORES)
        if program.numexpr is None:
            raise LookupError("no text of its own")
        return Call(program, numexpr, inputs, keep, numpy.copy, program.numexpr)
    if peer == "numba":
        return Call(program, None, inputs, keep, numpy.copy, numba_function(program))
    if program.writes:
        raise LookupError("writes its arguments")
    function, arrays = jax_function(program, inputs)
    return Call(program, None, arrays, keep, numpy.copy, function)


def close_enough(got, want, rule):
    """A peer's answer: values as ours must be; types and sizes of numbers are its own affair."""
    got, want = flat(got), flat(want)
    if len(got) != len(want):
        return "another number of results"
    rule = {"exact": "reduction", "element": "reduction"}.get(rule, rule)
    for mine, right in zip(got, want, strict=True):
        right = numpy.asarray(right)
        mine = numpy.asarray(mine).astype(right.dtype)
        if mine.shape != right.shape:
            return f"shape {mine.shape}"
        fault = wrong(mine, right, rule)
        if fault:
            return fault
    return None


def measure(peer, program, size, rounds, budget):
    theirs = numpy_call(program, program.sizes[size])
    call = peer_call(peer, program, theirs.inputs)
    first, got, _ = call()
    fault = close_enough(got, theirs()[1], program.check)
    if fault:
        return {"none": f"another answer: {fault}"[:200]}
    call()
    their_times, own_times = alternate((theirs, call), rounds, budget)
    return {"first": first, "numpy": statistics.median(their_times),
            "peer": statistics.median(own_times), "rounds": len(own_times)}


def main():
    peer, name, rounds, budget, *sizes = sys.argv[1:]
    assert PROGRAMS[name].check in RULES
    for size in sizes:
        try:
            out = measure(peer, PROGRAMS[name], size, int(rounds), float(budget))
        except Exception as error:  # what a peer cannot run is a finding about it, no failure
            text = str(error).strip().splitlines() or [""]
            out = {"none": f"{type(error).__name__}: {text[0]}"[:200]}
        print(json.dumps(out), flush=True)
        if "none" in out:
            break


if __name__ == "__main__":
    main()
