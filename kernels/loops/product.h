/* SPDX-License-Identifier: Apache-2.0 */
/* loops/product.h - products of two matrices by our own loops, near and in the worker.
 *
 * Each element of C is added up along the inner axis in its order, one multiplication and
 * one addition at a time.  So its bits depend neither on the layout nor on the blocks that it is
 * computed in, and, as none is contracted, not on the instruction set either; but those of larger
 * real products (product_fused) are, where the processor can, as a library's are.  Integers wrap as
 * NumPy's do, bool is OR of ANDs; float16 has no loop of its own: it is computed as
 * float32 and rounded once. */
#ifndef BRAZE_LOOPS_PRODUCT_H
#define BRAZE_LOOPS_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isa.h"
#include "limits.h"
#include "ops.h"

#define PRODUCT_STRIP	  128  /* bytes of a strip of columns: two vectors at most */
#define PRODUCT_RUN	  512  /* steps of the inner axis that a strip is packed for */
#define PRODUCT_THIN	  4    /* whose V stays in registers */
#define PRODUCT_CHUNK	  2048 /* that are added up in their order, of complex types a quarter */
#define PRODUCT_SCRATCH	  (PRODUCT_STRIP * PRODUCT_RUN) /* bytes, at a multiple of 64 */
#define PRODUCT_LONG_ROW  4096				/* bytes */
#define PRODUCT_SHORT_RUN 16

/* A matrix where it lies: bytes from a row to the next, from a column to the next. */
struct product_matrix {
	char *at;
	int64_t row, col;
};

struct product_call {
	struct product_matrix a, b, c; /* c meets neither of the others */
	int64_t m, n, k;	       /* a is m by k, b k by n */
	int64_t after; /* bytes behind c that may be spoiled: they are computed later */
	bool fused;    /* product_fused() of the shape */
};

struct product_strip;
typedef void product_strip_fn(const struct product_strip *s);
/* The sum, by the tree of kernels/tree.h, of n > 0 products of elements side by side; at most
 * TREE_CHUNK. */
typedef void product_dot_fn(char *to, const char *a, const char *b, int64_t n);
/* The same of PRODUCT_DOTS rows with one vector: memory answers several rows sooner than one. */
#define PRODUCT_DOTS 4
typedef void product_dots_fn(char *to, const char *const *rows, const char *b, int64_t n);
/* Such sums of short rows with one vector, PRODUCT_ROW bytes at most. */
#define PRODUCT_ROW 256
struct product_rows {
	const char *a, *v; /* elements side by side in both */
	int64_t step;	   /* bytes from a row to the next */
	int64_t n;	   /* products in a sum */
};
typedef void product_rows_fn(char *to, const struct product_rows *p, int64_t rows);
/* Such sums of a vector with columns that lie side by side. */
struct product_across {
	const char *v, *a;
	int64_t vstep, row; /* bytes from one product to the next */
	int64_t n;	    /* products in a sum */
	int last;	    /* the loops' own */
};
typedef void product_across_fn(char *to, const struct product_across *p, int64_t cols);

/* The loops of a type. */
struct product_loops {
	product_strip_fn *wide, *half;
	product_dot_fn *dot; /* NULL: has none, and none of these */
	product_dots_fn *dots;
	product_rows_fn *rows;
	product_across_fn *across;
	bool masked; /* they read a part of a vector by themselves */
	int bytes;   /* of an element */
	int wide_lanes, half_lanes;
};

struct product_isa {
	struct product_loops type[DTYPE_END];
};

extern const struct product_isa product_isa_v2, product_isa_v3, product_isa_v4;

/* c = a * b, or c += a * b.  k may be 0. */
void product_multiply(const struct product_loops *loops, const struct product_call *p, bool add,
		      char *scratch);

/* Products side by side; the last axis runs fastest. */
struct product_stack {
	struct product_call first;
	int axes;
	int64_t extent[LIMIT_NDIM];
	int64_t step[3][LIMIT_NDIM]; /* bytes, of a, b and c */
};

/* Products [lo, hi) of a stack. */
void product_many(const struct product_loops *loops, const struct product_stack *s, int64_t lo,
		  int64_t hi, char *scratch);

/* One row or one column, and sums long enough for the tree of a reduction. */
static inline bool product_vector(int64_t m, int64_t n, int64_t k)
{
	return (m == 1 || n == 1) && k > LIMIT_SHORT_INNER;
}

/* Does memory run across the sums of a vector with a matrix, so that a library is quicker?  By
 * bytes from one element to the next along the kept and the inner axis. */
static inline bool product_across(int64_t kept, int64_t k, int64_t kept_step, int64_t k_step)
{
	kept_step = kept_step < 0 ? -kept_step : kept_step;
	k_step = k_step < 0 ? -k_step : k_step;
	return kept_step < k_step && kept >= LIMIT_ACROSS &&
	       (double)kept * (double)k > LIMIT_TREE_PRODUCT;
}

/* Is the product of a row with such a matrix, whose columns lie `step` bytes apart, summed by
 * the tree, down the columns, whatever library there is? */
static inline bool product_summed(unsigned dtype, int64_t m, int64_t n, int64_t k, int64_t step)
{
	return m == 1 && (dtype == DT_FLOAT32 || dtype == DT_FLOAT64) &&
	       step == dtype_row(dtype)->bytes && k > LIMIT_SHORT_INNER && k <= TREE_CHUNK &&
	       (double)n * (double)k <= LIMIT_SUMMED_PRODUCT;
}

/* Is the product of a row with many short columns whose elements lie side by side, as do the row's,
 * a step of its own, summed by the tree?  By bytes from one element to the next along the inner
 * axis of both. */
static inline bool product_rowed(unsigned dtype, int64_t m, int64_t n, int64_t k, int64_t a_step,
				 int64_t b_step)
{
	int64_t bytes = dtype_row(dtype)->bytes;

	return m == 1 && (dtype == DT_FLOAT32 || dtype == DT_FLOAT64) && a_step == bytes &&
	       b_step == bytes && k * bytes <= PRODUCT_ROW && n >= LIMIT_ACROSS &&
	       (double)n * (double)k > LIMIT_TREE_PRODUCT;
}

static inline bool product_within(int64_t m, int64_t n, int64_t k, int64_t most)
{
	return m <= most && n <= most && k <= most && m * n * k <= most;
}

/* Few multiplications: one sum along the whole inner axis, near and far. */
static inline bool product_small(int64_t m, int64_t n, int64_t k)
{
	return !product_vector(m, n, k) && product_within(m, n, k, LIMIT_SHORT_PRODUCT);
}

/* Is a product of these extents computed by these loops, whatever library there is?  A
 * property of the shape, of each product of a stack. */
static inline bool product_short(int64_t m, int64_t n, int64_t k)
{
	bool side = m <= LIMIT_SHORT_SIDE || n <= LIMIT_SHORT_SIDE || k <= LIMIT_SHORT_SIDE;
	/* What clients compute themselves sooner than a trip takes. */
	bool trip = k <= PRODUCT_CHUNK && product_within(m, n, k, LIMIT_OWN_PRODUCT);

	return !product_vector(m, n, k) && (side || trip || product_small(m, n, k));
}

/* Are its multiplications contracted with its additions, where the processor can? */
static inline bool product_fused(int64_t m, int64_t n, int64_t k)
{
	return product_short(m, n, k) && !product_small(m, n, k) && k > PRODUCT_THIN;
}

#endif
