# SPDX-License-Identifier: Apache-2.0
"""numpy.linalg where the device has a library for it: operations whose operands and results stay there.

As NumPy does, all is computed in double precision and rounded to the result's type.  A function that
may refuse a matrix waits until its factors are known, for that word alone.  A matrix goes to the
library column by column, so what it gets is the transpose; what it makes is seen through strides.
Every other device, and every call that is not plain, is NumPy's.
"""

import functools

import numpy

from braze import _core
from braze.numpy import _creation, _errstate, _fallback, _names, _shape, _ufuncs

ndarray = _core.ndarray
_exp, _log, _isnan, _absolute = map(_ufuncs.make, (numpy.exp, numpy.log, numpy.isnan, numpy.absolute))
_DOUBLE, _BOTH = numpy.dtype("f8"), numpy.dtype("c16")
_MANY, _SMALL = 512, 64  # so many matrices of fewer rows and columns are NumPy's: a call for each


def _mine(*arrays):
    """Are these stacks of matrices, with elements, for the device?"""
    for a in arrays:
        if type(a) is not ndarray or a.ndim < 2 or not a.size or a.dtype.char == "e":
            return False
        m, n = a.shape[-2:]
        if max(m, n) < _SMALL and a.size // (m * n) > _MANY:
            return False
    return _core.has_factors()


def _is_square(a):
    return a.shape[-1] == a.shape[-2]


def _types(*arrays):
    """The results' type, that of its real part, and the one that NumPy computes in."""
    kinds = [a.dtype for a in arrays]
    real = "f4" if all(d.char in "fF" for d in kinds) else "f8"
    if any(d.kind == "c" for d in kinds):
        return numpy.dtype("c8" if real == "f4" else "c16"), numpy.dtype(real), _BOTH
    return numpy.dtype(real), numpy.dtype(real), _DOUBLE


def _cast(a, dtype):
    return a if a.dtype == dtype else _core.cast(a, dtype)


def _turned(a):
    return a.swapaxes(-1, -2)


def _adjoint(a):
    return _turned(a.conj() if a.dtype.kind == "c" else a)


def _require(failed, message):
    """Wait for a word; no more than that is read."""
    if bool(failed.any()):
        raise numpy.linalg.LinAlgError(message)


@functools.cache
def _result_type(name):
    """NumPy's type of several results."""
    return type(getattr(numpy.linalg, name)(numpy.eye(1)))


def _results(name, *parts):
    kind = _result_type(name)
    return kind(*parts) if hasattr(kind, "_fields") else tuple(parts)


# ---- By factors L and U ----


def _solved(a, b, result):
    """X with a X = b, of one stack of matrices each."""
    stack = numpy.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    compute = _types(a, b)[2]
    both = [_core.broadcast_to(_turned(x), (*stack, x.shape[-1], x.shape[-2])) for x in (a, b)]
    x, _, _, info = _core.factors("solve", _core.join(both, len(stack), compute, False))
    _require(info, "Singular matrix")
    return _cast(x, result)


def solve(a, b):
    """X with a X = b."""
    vector = type(b) is ndarray and b.ndim == 1
    matrix = b[:, None] if vector else b
    if not (_mine(a, matrix) and _is_square(a) and matrix.shape[-2] == a.shape[-1]):
        return _left("solve", a, b)
    if _OLD and b.ndim == a.ndim - 1 and not vector:  # NumPy before 2 took these for vectors
        return _left("solve", a, b)
    try:
        made = _errstate.silently(_solved, a, matrix, _types(a, b)[0])
    except ValueError:  # stacks that do not fit each other
        return _left("solve", a, b)
    return made[..., 0] if vector else made


def inv(a):
    """The inverse."""
    if not (_mine(a) and _is_square(a)):
        return _left("inv", a)
    result, _, compute = _types(a)
    return _errstate.silently(_solved, a, _creation.eye(a.shape[-1], dtype=compute), result)


def _determinants(a):
    """Signs, logarithms of sizes, and their types."""
    result, real, compute = _types(a)
    factors, rows, _, info = _core.factors("lu", _cast(_turned(a), compute))
    d = _shape.diagonal(factors, 0, -2, -1)
    swaps = (rows != _creation.arange(1, a.shape[-1] + 1)).sum(-1)
    sign = _shape.where(swaps % 2 == 1, -1.0, 1.0)
    size = _absolute(d)
    sound = info == 0
    if compute == _DOUBLE:
        sign = sign * _shape.where(d < 0, -1.0, 1.0).prod(-1)
    else:
        sign = sign * (d / size).prod(-1)
    log = _log(_shape.where(sound[..., None], size, 1.0)).sum(-1)
    return _shape.where(sound, sign, 0), _shape.where(sound, log, -numpy.inf), result, real


def _plain(x):
    """Of one matrix NumPy's result is a number."""
    return x if x.ndim else x[()]


def slogdet(a):
    """Sign and logarithm of the determinant."""
    if not (_mine(a) and _is_square(a)):
        return _left("slogdet", a)
    sign, log, result, real = _errstate.silently(_determinants, a)
    return _results("slogdet", _plain(_cast(sign, result)), _plain(_cast(log, real)))


def _determinant(a):
    sign, log, result, _ = _determinants(a)
    return _plain(_cast(sign * _exp(log), result))


def det(a):
    """The determinant."""
    if not (_mine(a) and _is_square(a)):
        return _left("det", a)
    return _errstate.silently(_determinant, a)


# ---- By others ----


def cholesky(a, /, *, upper=False):
    """The triangle whose product with its adjoint is a."""
    if not (_mine(a) and _is_square(a)):
        return _left("cholesky", a, **({"upper": upper} if upper else {}))
    result, _, compute = _types(a)
    # The adjoint's lower triangle is the upper one, and column by column it is the conjugate.
    given = (a.conj() if a.dtype.kind == "c" else a) if upper else _turned(a)
    made, _, _, info = _core.factors("cholesky", _cast(given, compute))
    _require(info, "Matrix is not positive definite")
    made = _creation.tril(_cast(made, result))
    return _adjoint(made) if upper else made


def qr(a, mode="reduced"):
    """Columns that stand upright on each other, and the triangle that makes a of them."""
    kind = {"reduced": "qr", "complete": "qr.all", "r": "qr.r"}.get(mode) if type(mode) is str else None
    if kind is None or not _mine(a):
        return _left("qr", a, mode)
    result, _, compute = _types(a)
    r, q, _, _ = _core.factors(kind, _cast(_turned(a), compute))
    least = min(a.shape[-2:])
    r = _creation.triu(_cast(r if mode == "complete" else r[..., :least, :], result))
    return r if mode == "r" else _results("qr", _cast(q, result), r)


def _eigen(kind, a, lower):
    result, real, compute = _types(a)
    given = _turned(a) if lower else a.conj() if a.dtype.kind == "c" else a
    vectors, values, _, info = _core.factors(kind, _cast(given, compute))
    _require((info != 0) | _isnan(values).any(-1), "Eigenvalues did not converge")
    return _cast(values, real), None if vectors is None else _cast(vectors, result)


def _lower(UPLO):  # noqa: N803 NumPy's name
    """Is it the lower triangle?  None: NumPy has words about it."""
    return {"L": True, "U": False}.get(UPLO.upper()) if type(UPLO) is str else None


def eigh(a, UPLO="L"):  # noqa: N803
    """Eigenvalues and eigenvectors of a Hermitian matrix."""
    lower = _lower(UPLO)
    if lower is None or not (_mine(a) and _is_square(a)):
        return _left("eigh", a, UPLO)
    return _results("eigh", *_errstate.silently(_eigen, "eigh", a, lower))


def eigvalsh(a, UPLO="L"):  # noqa: N803
    """Eigenvalues of a Hermitian matrix."""
    lower = _lower(UPLO)
    if lower is None or not (_mine(a) and _is_square(a)):
        return _left("eigvalsh", a, UPLO)
    return _errstate.silently(_eigen, "eigvalsh", a, lower)[0]


def _singular(kind, a):
    """U, values, V^H; of a matrix with fewer rows the library gets the transpose, as it lies."""
    result, real, compute = _types(a)
    wide = a.shape[-2] < a.shape[-1]
    u, vh, s, info = _core.factors(kind, _cast(a if wide else _turned(a), compute))
    _require((info != 0) | _isnan(s).any(-1), "SVD did not converge")
    s = _cast(s, real)
    if u is None:
        return None, s, None
    u, vh = (_turned(vh), _turned(u)) if wide else (u, vh)
    return _cast(u, result), s, _cast(vh, result)


def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    """Singular values and vectors."""
    if hermitian or not _mine(a):
        return _left("svd", a, full_matrices, compute_uv, hermitian)
    kind = ("svd.all" if full_matrices else "svd") if compute_uv else "svdvals"
    u, s, vh = _errstate.silently(_singular, kind, a)
    return _results("svd", u, s, vh) if compute_uv else s


def svdvals(x, /):
    """Singular values."""
    return _errstate.silently(_singular, "svdvals", x)[1] if _mine(x) else _left("svdvals", x)


# ---- By singular values ----


def _is_number(x):
    return type(x) in (int, float) or isinstance(x, (numpy.floating, numpy.integer))


def matrix_rank(A, tol=None, hermitian=False, *, rtol=None):  # noqa: N803
    """How many singular values are above a bound."""
    bounds = [x for x in (tol, rtol) if x is not None]
    if hermitian or len(bounds) > 1 or not all(map(_is_number, bounds)) or not _mine(A):
        return _left("matrix_rank", A, tol, hermitian, **({} if rtol is None else {"rtol": rtol}))
    s = svdvals(A)
    if tol is None:
        rtol = max(A.shape[-2:]) * float(numpy.finfo(s.dtype).eps) if rtol is None else rtol
        tol = s.max(axis=-1, keepdims=True) * float(rtol)
    return (s > tol).sum(-1)


def _condition(x, p):
    s = svdvals(x)
    r = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return _plain(_shape.where(_isnan(r) & ~_isnan(x).any((-2, -1)), numpy.inf, r))


def cond(x, p=None):
    """The largest singular value over the smallest."""
    if not (p is None or type(p) is int and p in (2, -2)) or not _mine(x):
        return _left("cond", x, p)
    return _errstate.silently(_condition, x, p)


def _pseudo(a, rcond):
    u, s, vh = svd(a, full_matrices=False)
    large = s > s.max(axis=-1, keepdims=True) * float(rcond)
    s = _shape.where(large, 1 / s, 0)
    return _adjoint(vh) @ (s[..., None] * _adjoint(u))


def pinv(a, rcond=None, hermitian=False, *, rtol=numpy._NoValue):
    """The pseudo-inverse."""
    given = {} if rtol is numpy._NoValue else {"rtol": rtol}
    bounds = [x for x in (rcond, *given.values()) if x is not None]
    if hermitian or len(bounds) > 1 or given and rcond is not None or not all(map(_is_number, bounds)) or not _mine(a):
        return _left("pinv", a, rcond, hermitian, **given)
    if given and rtol is None:
        if a.dtype.kind not in "fc":
            return _left("pinv", a, rcond, hermitian, **given)
        bounds = [max(a.shape[-2:]) * numpy.finfo(a.dtype).eps]
    return _errstate.silently(_pseudo, a, bounds[0] if bounds else 1e-15)


def _least(a, b, rcond):
    result, real, compute = _types(a, b)
    a, b = _cast(a, compute), _cast(b, compute)
    m, n = a.shape
    u, s, vh = svd(a, full_matrices=False)
    large = s > s[0] * rcond
    x = _adjoint(vh) @ (_shape.where(large, 1 / s, 0)[:, None] * (_adjoint(u) @ b))
    rank = int(large.sum())
    if rank == n and m > n:
        off = _absolute(b - a @ x)
        rest = (off * off).sum(0)
    else:
        rest = _creation.zeros((0,), real)
    return _cast(x, result), _cast(rest, real), _fallback.from_numpy(numpy.int32(rank)), _cast(s, real)


def lstsq(a, b, rcond=None):
    """The x for which a x is next to b."""
    vector = type(b) is ndarray and b.ndim == 1
    matrix = b[:, None] if vector else b
    plain = rcond is None and not _OLD or _is_number(rcond) and rcond >= 0
    if not plain or not _mine(a, matrix) or a.ndim != 2 or matrix.ndim != 2 or len(a) != len(matrix):
        return _numpys("lstsq")(a, b, **({} if rcond is None else {"rcond": rcond}))
    bound = float(numpy.finfo(float).eps) * max(a.shape) if rcond is None else float(rcond)
    x, *others = _errstate.silently(_least, a, matrix, bound)
    return x[:, 0] if vector else x, *others


# ---- What is NumPy's ----

_OLD = numpy.lib.NumpyVersion(numpy.__version__) < "2.0.0"


@functools.cache
def _numpys(name):
    return _fallback.wrapper("linalg." + name, getattr(numpy.linalg, name))


def _left(name, *args, **kwargs):
    return _numpys(name)(*args, **kwargs)


def _shown(name, mine):
    made = _names.present("linalg." + name, mine, getattr(numpy.linalg, name))
    made.__module__, made.__name__, made.__qualname__ = "braze.numpy.linalg", name, name
    return made


FUNCTIONS = {f.__name__: f for f in (solve, inv, det, slogdet, cholesky, qr, eigh, eigvalsh, svd, matrix_rank, cond,
                                     pinv, lstsq)}
if hasattr(numpy.linalg, "svdvals"):  # from NumPy 2 on
    FUNCTIONS["svdvals"] = svdvals
OWN = {"linalg." + name: _shown(name, mine) for name, mine in FUNCTIONS.items()}
