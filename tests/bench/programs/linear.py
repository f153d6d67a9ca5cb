# SPDX-License-Identifier: Apache-2.0
"""Dense linear algebra: kernels of the NumPy suites, and factorisations by loops."""


def gemm(np, alpha, beta, c, a, b):
    c[:] = alpha * a @ b + beta * c
    return c


def gemver(np, alpha, beta, a, u1, v1, u2, v2, x, y, z, w):
    a += np.outer(u1, v1) + np.outer(u2, v2)
    x += beta * y @ a + z
    w += alpha * a @ x
    return a, x, w


def gesummv(np, alpha, beta, a, b, x):
    return alpha * a @ x + beta * b @ x


def mvt(np, x1, x2, y1, y2, a):
    x1 += a @ y1
    x2 += y2 @ a
    return x1, x2


def syrk(np, alpha, beta, c, a):
    """The lower triangle of a product with the own transpose."""
    for i in range(a.shape[0]):
        c[i, : i + 1] *= beta
        for k in range(a.shape[1]):
            c[i, : i + 1] += alpha * a[i, k] * a[: i + 1, k]
    return c


def syr2k(np, alpha, beta, c, a, b):
    for i in range(a.shape[0]):
        c[i, : i + 1] *= beta
        for k in range(a.shape[1]):
            c[i, : i + 1] += a[: i + 1, k] * alpha * b[i, k] + b[: i + 1, k] * alpha * a[i, k]
    return c


def symm(np, alpha, beta, c, a, b):
    """A product with a symmetric matrix, of which the lower triangle is there."""
    columns = np.empty((c.shape[1],))
    c *= beta
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[:i, j] += alpha * b[i, j] * a[i, :i]
            columns[j] = b[:i, j] @ a[i, :i]
        c[i, :] += alpha * b[i, :] * a[i, i] + alpha * columns
    return c


def trmm(np, alpha, a, b):
    """A product with a triangular matrix, column by column."""
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += np.dot(a[i + 1 :, i], b[i + 1 :, j])
    b *= alpha
    return b


def trisolv(np, low, x, b):
    for i in range(x.shape[0]):
        x[i] = (b[i] - low[i, :i] @ x[:i]) / low[i, i]
    return x


def cholesky(np, a):
    """The factor in the lower triangle, row by row."""
    a[0, 0] = np.sqrt(a[0, 0])
    for i in range(1, a.shape[0]):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] -= np.dot(a[i, :i], a[i, :i])
        a[i, i] = np.sqrt(a[i, i])
    return a


def gramschmidt(np, a):
    """Modified Gram-Schmidt: Q, R, and what is left of A."""
    q, r = np.zeros_like(a), np.zeros((a.shape[1], a.shape[1]))
    for k in range(a.shape[1]):
        r[k, k] = np.sqrt(np.dot(a[:, k], a[:, k]))
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, a.shape[1]):
            r[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * r[k, j]
    return q, r, a


def gram_schmidt_classical(np, a):
    """Gram-Schmidt with all earlier directions at once."""
    q = np.zeros(a.shape)
    for k in range(a.shape[1]):
        v = a[:, k] - q[:, :k] @ (q[:, :k].T @ a[:, k])
        q[:, k] = v / np.sqrt((v * v).sum())
    return q


def covariance(np, data):
    m = data.shape[1]
    data -= np.mean(data, axis=0)
    cov = np.zeros((m, m))
    for i in range(m):
        cov[i:, i] = cov[i, i:] = data[:, i] @ data[:, i:] / (data.shape[0] - 1)
    return cov


def lu_scalar(np, a):
    """Doolittle's factors in place, element by element."""
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            a[i, j] = (a[i, j] - a[i, :j] @ a[:j, j]) / a[j, j]
        for j in range(i, n):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return a


def lu(np, a):
    """LU without pivots by rank-1 updates of what is left."""
    for k in range(a.shape[0] - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def lu_pivoted(np, a):
    """LU with partial pivoting: rows are exchanged by an index from argmax."""
    n = a.shape[0]
    order = np.arange(n)
    for k in range(n - 1):
        p = k + int(np.argmax(np.abs(a[k:, k])))
        if p != k:
            a[[k, p]] = a[[p, k]]
            order[[k, p]] = order[[p, k]]
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a, order


def cholesky_columns(np, a):
    """Cholesky by columns, each from those left of it."""
    n = a.shape[0]
    low = np.zeros((n, n))
    for k in range(n):
        column = a[k:, k] - low[k:, :k] @ low[k, :k]
        low[k:, k] = column / np.sqrt(column[0])
    return low


def qr_householder(np, a):
    """R of the QR factorisation by reflections."""
    for k in range(a.shape[1]):
        v = a[k:, k].copy()
        length = np.sqrt((v * v).sum())
        if v[0] < 0:
            v[0] -= length
        else:
            v[0] += length
        v = v / np.sqrt((v * v).sum())
        a[k:, k:] -= 2 * np.outer(v, v @ a[k:, k:])
    return a


def clos(np, a):
    """Reflexive and transitive closure by squaring: exact, as all entries stay small enough."""
    half = a.shape[0] / 2
    while half >= 1:
        a = a @ a
        half /= 2
    return a > 0


def tridiagonal(np, low, mid, up, right):
    """Thomas's algorithm for many systems at once, one in each column."""
    n = mid.shape[0]
    c, d = np.zeros(mid.shape), np.zeros(mid.shape)
    c[0] = up[0] / mid[0]
    d[0] = right[0] / mid[0]
    for i in range(1, n):
        m = mid[i] - low[i] * c[i - 1]
        c[i] = up[i] / m
        d[i] = (right[i] - low[i] * d[i - 1]) / m
    for i in range(n - 2, -1, -1):
        d[i] -= c[i] * d[i + 1]
    return d


def power_iteration(np, a, x, tolerance):
    """The largest eigenvalue; the loop ends by a number that it reads each turn."""
    value, change, turns = 0.0, 1.0, 0
    while change > tolerance and turns < 200:
        y = a @ x
        new = float(np.sqrt((y * y).sum()))
        x = y / new
        change, value = abs(new - value) / new, new
        turns += 1
    return value, x, turns


def conjugate_gradient(np, a, b, tolerance):
    """Conjugate gradients until the residual is small."""
    x, r = np.zeros_like(b), b.copy()
    p, old = r.copy(), float(r @ r)
    while old > tolerance:
        q = a @ p
        step = old / float(p @ q)
        x += step * p
        r -= step * q
        new = float(r @ r)
        p = r + new / old * p
        old = new
    return x
