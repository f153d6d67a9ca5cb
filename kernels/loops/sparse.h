/* SPDX-License-Identifier: Apache-2.0 */
/* loops/sparse.h - products of sparse matrices, near and in the worker.
 *
 * A matrix is its entries row by row, and its structure: integers of 32 or 64 bits, of which the
 * first rows + 1 say where each row's entries begin and where the last one's end, and the others,
 * one for each entry, its column.  Each element of the product is the sum of a row's terms in the
 * order of its entries, from zero, which is SciPy's order: several rows are under way at a time,
 * since an addition waits for the one before it.
 *
 * A structure comes from a client, which may write it meanwhile: each number of it is read once
 * and looked at before it is used, so whatever it says, nothing outside of the operands is
 * touched. */
#ifndef BRAZE_LOOPS_SPARSE_H
#define BRAZE_LOOPS_SPARSE_H

#include "isa.h"
#include "ops.h"

#define SPARSE_MOST (INT64_MAX / 64) /* what sparse_terms counts to */

/* Entries and structure side by side, vectors with any steps, in bytes; a row of the result has
 * its elements side by side. */
struct sparse_patch {
	const char *entries, *structure, *from;
	char *to;
	int64_t rows, count; /* of the matrix, and its entries */
	int64_t inner;	     /* its columns: rows of what is multiplied, which are so far apart: */
	int64_t from_row, from_column, to_row;
	int64_t columns; /* of the result */
	int64_t lo, hi;	 /* rows that are computed */
};

/* false: the structure names entries or columns that are not there.  What was written then is not
 * the product. */
typedef bool sparse_fn(const struct sparse_patch *p);
struct sparse_isa {
	sparse_fn *narrow[DTYPE_END], *wide[DTYPE_END]; /* structures of int32 and int64 */
};

extern const struct sparse_isa sparse_isa_v2, sparse_isa_v3, sparse_isa_v4;

/* The types that products are computed in; others are cast.  int64 wraps, so the lower bits of
 * narrower integers' sums are right. */
static inline bool sparse_type(unsigned dtype)
{
	return dtype == DT_INT64 || dtype == DT_FLOAT32 || dtype == DT_FLOAT64 ||
	       dtype == DT_COMPLEX64 || dtype == DT_COMPLEX128;
}

static inline bool sparse_index(unsigned dtype)
{
	return dtype == DT_INT32 || dtype == DT_INT64;
}

/* Are these entries, their structure and what is multiplied?  *rows: of the matrix.  There is an
 * entry, and a column that it may name. */
static inline bool sparse_operands(int64_t *rows, const struct view *entries,
				   const struct view *structure, const struct view *from)
{
	if (entries->shape.ndim != 1 || structure->shape.ndim != 1 || from->shape.ndim < 1 ||
	    from->shape.ndim > 2 || !sparse_type(entries->dtype) || from->dtype != entries->dtype ||
	    !sparse_index(structure->dtype) || !view_contiguous(entries) ||
	    !view_contiguous(structure))
		return false;
	*rows = structure->shape.dim[0] - 1 - entries->shape.dim[0];
	return entries->shape.dim[0] && from->shape.dim[0] && *rows >= 0;
}

/* Terms of a product, and its rows' beginnings; SPARSE_MOST: those, or more. */
static inline int64_t sparse_terms(int64_t rows, int64_t count, int64_t columns)
{
	int64_t n = 0;

	if (__builtin_add_overflow(rows, count, &n) || __builtin_mul_overflow(n, columns, &n))
		return SPARSE_MOST;
	return n < SPARSE_MOST ? n : SPARSE_MOST;
}

static inline sparse_fn *sparse_loop(const struct sparse_isa *isa, unsigned index, unsigned dtype)
{
	return index == DT_INT32 ? isa->narrow[dtype] : isa->wide[dtype];
}

#endif
