/* SPDX-License-Identifier: Apache-2.0 */
/* proto/solver.h - OP_SOLVER: what it does with a matrix, and where its results lie.
 *
 * A matrix comes column by column, as LAPACK has it: the operand's last two axes count its columns
 * and its rows, those before them matrices.  For each matrix the result has one row of elements of
 * the operand's type, in which lie parts, again column by column, some of other types: a client
 * has views of them.  Client and daemon must agree on where.  Pure; any thread. */
#ifndef BRAZE_SOLVER_H
#define BRAZE_SOLVER_H

#include "ops.h"

/* What lies in which part; "real": of the type of the real part. */
enum solver_kind {
	SOLVER_LU,	 /* 0: both factors, 1: the row swapped with each row (int64, from 1) */
	SOLVER_SOLVE,	 /* of the columns behind the square, B: 0: X with A X = B */
	SOLVER_CHOLESKY, /* of the lower triangle; 0: the factor, above it anything */
	SOLVER_QR_R,	 /* 0: R on and above the diagonal */
	SOLVER_QR,	 /* the same, 1: as many columns of Q as the shorter side has elements */
	SOLVER_QR_ALL,	 /* the same, 1: all columns of Q */
	SOLVER_EIGVALSH, /* of the lower triangle; 1: eigenvalues, real, rising */
	SOLVER_EIGH,	 /* the same, 0: eigenvectors */
	SOLVER_SVDVALS,	 /* no more columns than rows; 2: singular values, real, falling */
	SOLVER_SVD,	 /* the same, 0: as many columns of U as there are values, 1: V^H */
	SOLVER_SVD_ALL,	 /* the same, 0: all columns of U */
	SOLVER_KINDS
};

#define SOLVER_PARTS   3
#define SOLVER_INFO    SOLVER_PARTS /* LAPACK's info, an int32, is a part more */
#define SOLVER_ALIGNED 16	    /* bytes that each part, and each matrix's row, begins at */
#define SOLVER_EXTENT  (1ll << 28)  /* rows or columns, at most */

struct solver_part {
	int64_t at; /* bytes from the row's start */
	int64_t rows, columns;
	uint8_t dtype;
	uint8_t ndim; /* 2: column by column; 1: `rows` numbers, 0: one; rows 0: there is no such
			 part */
};

struct solver_layout {
	int64_t rows, columns; /* of the matrix that is factored */
	int64_t right;	       /* columns of B, of Q or of U; 0: there is none */
	struct solver_part part[SOLVER_PARTS + 1];
	int64_t bytes; /* of the whole row */
};

/* False: no matrix of such extents, or of this type, has it. */
bool solver_lay(struct solver_layout *out, unsigned kind, unsigned dtype, int64_t rows,
		int64_t columns);
/* Multiplications and additions, about; of numbers of this type. */
double solver_flops(const struct solver_layout *l, unsigned kind, unsigned dtype);
const char *solver_name(unsigned kind); /* "cholesky"; NULL: there is none of this number */
int solver_find(const char *name);	/* -1: there is none */
/* Bytes of the real part of a type that is computed with; 0: it is none. */
unsigned solver_real_bytes(unsigned dtype);

#endif
