/* SPDX-License-Identifier: Apache-2.0 */
/* worker/dense.h - factors of matrices by plain loops, in double precision.
 *
 * Matrices lie column by column, without gaps.  What is decided freely is decided as LAPACK does
 * it: pivots count from 1, reflectors have a first element of 1, eigenvalues rise and singular
 * values fall.  Results are LAPACK's info: 0, or the first pivot that is zero, the first minor that
 * is not positive, not 0 where nothing has converged.
 *
 * Each asks now and then, after the square of an extent at most, whether it shall go on; where it
 * shall not, it returns DENSE_STOPPED, and what it made is nothing.  NULL: always.  Pure but for
 * that; any thread. */
#ifndef BRAZE_DENSE_H
#define BRAZE_DENSE_H

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

typedef double complex dense;

#define DENSE_STOPPED (-1)
struct dense_go {
	bool (*on)(void *data);
	void *data;
};

/* In place: L below the diagonal, U on and above it. */
int dense_lu(dense *a, int64_t n, int64_t *pivot, const struct dense_go *go);
/* In place: of `count` columns. */
int dense_lu_solve(const dense *lu, const int64_t *pivot, dense *b, int64_t n, int64_t count,
		   const struct dense_go *go);
/* Of the lower triangle, in place; what is above it stays. */
int dense_cholesky(dense *a, int64_t n, const struct dense_go *go);
/* In place: R on and above the diagonal, reflectors below it. */
int dense_qr(dense *a, int64_t m, int64_t n, dense *tau, const struct dense_go *go);
/* In place: columns of Q, of which the first `count` have the reflectors. */
int dense_q(dense *a, int64_t m, int64_t columns, int64_t count, const dense *tau,
	    const struct dense_go *go);
/* Of the lower triangle, spoils a: eigenvalues, and in v eigenvectors. */
int dense_eigh(dense *a, int64_t n, double *w, dense *v, const struct dense_go *go);
/* n <= m; spoils a.  u: NULL, or `columns` of U, n or m; vt: n x n. */
int dense_svd(dense *a, int64_t m, int64_t n, double *s, dense *u, int64_t columns, dense *vt,
	      const struct dense_go *go);

#endif
