# SPDX-License-Identifier: Apache-2.0
"""Slices in captured loops against the same functions uncaptured."""

import ast
import linecache
import random

import numpy as np
import pytest

import braze
from braze import jit
from jit_checks import both
from slice_random import Program

RNG = np.random.default_rng(5)


def square(n=7):
    return RNG.integers(-8, 9, (n, n)) / 4


def test_elimination():
    def f(a):
        n = a.shape[0]
        for k in range(n):
            for i in range(k + 1, n):
                a[i, k] /= a[k, k]
                a[i, k + 1:] -= a[i, k] * a[k, k + 1:]
    both(f, square() + 40 * np.eye(7))


def test_rows_and_columns():
    def f(c, a, b, beta):
        for i in range(c.shape[0]):
            c[i, :i + 1] *= beta
            for k in range(a.shape[1]):
                c[i, :i + 1] += 1.5 * a[i, k] * a[:i + 1, k]
            b[:, i] = c[i]
            row = b[i]
            row[::-2] = row[::2]
    both(f, square(), square(), square(), 1.25)


def test_what_overlaps_is_as_numpys():
    def f(x, y):
        for i in range(1, 4):
            x[i:] = x[:-i] * 2 + y[i:]
            x[::-1] += x
            y[:3] = y[1:4]
    both(f, np.arange(8.0), np.ones(8))
    z = np.arange(9.0)
    w = z.copy()
    f(z[:-1], z[1:])
    jit(f)(w[:-1], w[1:])
    assert (z == w).all()


def test_clipped_and_empty():
    def f(x):
        n = 0
        for i in range(-9, 10):
            n += len(x)
            x[i:i + 3] += i
            x[2:i] *= 2
            x[i::-2] -= 1
        return n
    both(f, np.arange(6))


@pytest.mark.parametrize("dtype", ["f4", "i4", "u1", "c16"])
def test_types_of_elements(dtype):
    def f(x, y, w):
        for i in range(3):
            x[:2] = y[1:3] * w
            x[2:] = 7
            y[:] = -y
            y[i] = y[i] + x[0]
    both(f, np.arange(5).astype(dtype), np.arange(5).astype(dtype), 2)


def test_functions_and_conditions():
    def f(x, y):
        for i in range(1, 3):
            y[i:] = np.where(x[i:] > 1, np.sqrt(abs(x[i:])), np.minimum(x[:-i], 0.5)) * 2
            y[:i] = x[:i] <= 2
    both(f, np.linspace(-4, 5, 10), np.zeros(10))


def test_reductions():
    def f(a, x):
        s, hits, most = 0.0, np.int64(0), -1e9
        for i in range(1, a.shape[0]):
            s += np.sum(a[i, :i]) + x[i:].sum() - np.dot(a[i, :], x) + a[i] @ a[:, 0]
            most = max(most, np.max(a[:i]), a[i, :2].min() * 2)
            if np.any(a[i] > 3) and not np.all(x[:i] > 0):
                hits += np.sum(a[:, i] > 0)
            x[i] = (a[i] * 2 - 1).prod() % 5
        return s, hits, most
    both(f, square(), square()[0].copy())


def test_products_of_matrices_and_vectors():
    def f(a, b, x, y):
        for i in range(1, a.shape[0]):
            y[:] = 0.5 * a @ x + y
            y[i:] -= np.dot(a[i:, :i], x[:i])
            b[:, :] = a @ b
            b[0] = np.matmul(x, a) - b[0] + b[i, 0] * x @ x
            x[:i] = a[:i, :i] @ x[:i] / 64
        return x[0]
    # Eighths and their products: sums in any order are equal.
    both(f, square(4), square(4), square(4)[0].copy(), square(4)[1].copy())


@pytest.mark.parametrize("dtype", ["f4", "i4", "u1", "c16"])
def test_products_of_types(dtype):
    def f(a, x, y):
        for i in range(2):
            y[:] = a @ x
            x[:] = y @ a
    a = RNG.integers(0, 4, (3, 3)).astype(dtype)
    both(f, a, a[0].copy(), a[1].copy())


def test_products_whose_sides_do_not_go_together():
    def f(a, x, y):
        for i in range(2):
            y[:] = a[:, :2] @ x
    for g in (f, jit(f)):
        with pytest.raises(ValueError):
            g(np.ones((3, 3)), np.ones(3), np.ones(3))


def test_atoms_of_types():
    def f(b, u, h):
        s = 0
        for i in range(3):
            s += b[:i].sum() + u[i:].sum()
        return s, h[1:].max()
    both(f, np.array([True, False, True]), np.arange(3, dtype="i1"), np.arange(3, dtype="f4"), kernel=True)


def test_shapes_that_do_not_go_together():
    def f(x, n):
        for i in range(2):
            x[:n] = x[1:n]
    for g in (f, jit(f)):
        with pytest.raises(ValueError):
            g(np.arange(6.0), 4)


STAY = {
    "asked as a whole": "        if x[1:]:\n            pass\n",
    "a name for a slice": "        v = x[1:]\n        v = x[2:]\n",
    "a cast of NumPy's that is refused": "        k[1:] += 1.5\n",
    "a sum along an axis": "        x[:2] = np.sum(a, axis=0)[:2]\n",
    "a chain of comparisons": "        x[1:] = 0 < x[1:] < 3\n",
    "a product inside of a reduction": "        a[:] = np.sum(a @ a)\n",
    "a product inside of a product": "        x[:] = (a @ a) @ x\n",
    "a product that is a name": "        v = a @ a\n        a[:] = v\n",
    "a product of three axes": "        a[:] = np.ones((2, 3, 3)) @ a\n",
    "an axis that is new": "        a[:] = x[:, None]\n",
}


@pytest.mark.parametrize("name", STAY)
def test_what_stays_python(name, tmp_path):
    path = tmp_path / "made.py"
    path.write_text(f"import numpy as np\ndef f(x, k, a):\n    for i in range(2):\n{STAY[name]}    return i\n")
    space = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    results = []
    for f in (space["f"], jit(space["f"])):
        args = np.arange(3.0), np.arange(3), np.ones((3, 3))
        try:
            results.append((f(*args), *args))
        except (ValueError, TypeError) as error:
            results.append((type(error), *args))
    assert results[0][0] == results[1][0], name
    for a, b in zip(results[0][1:], results[1][1:]):
        assert np.array_equal(a, b), name
    assert "stays Python" in str(braze.explain(f))


class AsNumpys(ast.NodeTransformer):
    """The kernel language's functions by NumPy's names."""

    def visit_Call(self, node):
        self.generic_visit(node)
        name = node.func.id
        if name not in ("abs", "range"):
            name = {"min": "minimum", "max": "maximum"}.get(name, name) if len(node.args) == 2 else name
            node.func = ast.Attribute(ast.Name("np", ast.Load()), name, ast.Load())
        return node


def function_of(program, seed):
    text = f"def f(x, y, m, w, t):\n    r = {program.type}(0)\n    for i in range(1, 2):\n"
    text += "".join(f"        {line}\n" for line in program.lines) + "    return r\n"
    text = ast.unparse(ast.fix_missing_locations(AsNumpys().visit(ast.parse(text)))) + "\n"
    name = f"<random slices {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space = {"np": np}
    exec(compile(text, name, "exec"), space)
    return space["f"]


def outcome(function, program):
    made, buffer = program.arrays()
    try:
        with np.errstate(all="ignore"):
            return function(**made), buffer
    except ValueError as error:
        return type(error), buffer


def close(a, b):
    """Sums of floats are braze's."""
    if isinstance(a, type) or isinstance(b, type):
        return a is b
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.dtype.kind not in "fc":
        return a.dtype == b.dtype and np.array_equal(a, b)
    near = 1e-4 if a.dtype == np.float32 else 1e-9
    return np.allclose(a, b, rtol=near, atol=near, equal_nan=True)


@pytest.mark.parametrize("start", range(0, 100, 20))
def test_random_slices(start):
    kernels = 0
    for seed in range(start, start + 20):
        program = Program(random.Random(seed))
        f = function_of(program, seed)
        quick = jit(f)
        (want, wanted), (have, had) = outcome(f, program), outcome(quick, program)
        assert close(want, have) and close(wanted, had), (seed, want, have, program.lines)
        kernels += quick.__braze_jit__.sites[0].calls
    assert kernels >= 8
