/* SPDX-License-Identifier: Apache-2.0 */
/* call/product.h - how a matrix product is cut; broker and worker agree by this file.
 *
 * C is cut into tiles, mostly of nearly PRODUCT_ROWS by PRODUCT_COLS, of half that height where
 * there would be few and twice as wide where there are many, the inner axis into chunks; of a short
 * product (kernels/loops/product.h) that is small there is one.  A tile is the sum of its chunks'
 * products, added in their order; a chunk's product is made of panels, one after the other.  All of
 * this depends on shape and type alone, so a product's bits depend neither on its slices nor on the
 * number of threads.
 *
 * A unit is one chunk of one tile.  Units are numbered tile by tile (batches, then rows,
 * then columns, the last fastest) and chunk by chunk within a tile. */
#ifndef BRAZE_PRODUCT_H
#define BRAZE_PRODUCT_H

#include "call.h"

#define PRODUCT_ROWS	     512
#define PRODUCT_COLS	     512
#define PRODUCT_DEPTH	     512 /* of a panel; between two the threads poll */
#define PRODUCT_DEPTH_CPLX   128 /* the same of complex types, four times the work */
#define PRODUCT_CHUNK_PANELS 4
#define PRODUCT_WIDE	     (2 * PRODUCT_COLS)
#define PRODUCT_TILE	     (PRODUCT_ROWS * PRODUCT_COLS) /* elements, at most, of float16 */

/* C[m,n] = A[m,k] @ B[k,n] for every batch; strides in bytes, any sign. */
struct product {
	uint8_t dtype, nbatch;
	bool tf32; /* a GPU may round operands so; only of float32 and complex64 */
	int64_t m, n, k;
	int64_t batch[LIMIT_NDIM];
	int64_t row[3], col[3];	     /* of A, B, C: stride of the two matrix axes */
	int64_t step[3][LIMIT_NDIM]; /* stride of each batch axis */
};

/* Is TF32 a way to multiply elements of this type? */
static inline bool product_tf32(unsigned dtype)
{
	return dtype == DT_FLOAT32 || dtype == DT_COMPLEX64;
}

/* A call's loops are the batches, m, n and k; its operands A, B and C. */
void product_of(struct product *out, const struct plan_call *c);
/* The other way; slots and offsets are not touched. */
void product_call(struct plan_call *out, const struct product *p);

struct product_cut {
	int64_t rows, cols;   /* of a tile */
	int64_t down, across; /* tiles of one product */
	int64_t tiles;	      /* of all batches */
	int64_t depth, chunk; /* elements of a panel, of a chunk, along the inner axis */
	int64_t chunks;	      /* of a tile; 1 also where there is nothing to sum */
	int64_t units;
};

/* How a product of one row is summed by the tree, as a vector with a matrix; else it is not. */
enum product_sums { PRODUCT_NO_SUMS, PRODUCT_ACROSS, PRODUCT_SHORT_ROWS };
enum product_sums product_sums(const struct product *p);

/* false: there are more units than can be counted. */
bool product_cut(struct product_cut *out, const struct product *p) MUST_USE;
/* Multiplications of real numbers, at most UINT64_MAX / 2. */
uint64_t product_multiplications(const struct product *p);

#endif
