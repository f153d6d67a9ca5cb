/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_sparse.h - cuSPARSE, for who names it by BRAZE_LIBCUSPARSE: products of sparse matrices
 * whose sums are its own.  Else, and where it refuses, they are our kernel's, which has the
 * processor's bits.
 *
 * The library believes what it is told, so it gets a copy of the structure that our kernel has
 * checked, in memory that no client sees.  A lane has a handle; descriptors live as long as a call.
 * Issuer, but for opening. */
#ifndef BRAZE_CUDA_SPARSE_H
#define BRAZE_CUDA_SPARSE_H

#include "cuda_worker.h"

struct cuda_sparse_product {
	unsigned dtype, index; /* DT_* of elements and of the structure */
	int64_t rows, inner, count, columns;
	bool by_columns;    /* what is multiplied lies column by column */
	int64_t from_apart; /* elements from one of its rows, or columns, to the next */
	CUdeviceptr starts, names, entries, from, to;
};

/* What the library knows of a product. */
struct cuda_sparse_job {
	struct cuda_sparse_product p;
	void *matrix, *from, *to; /* descriptors */
	uint64_t work;		  /* bytes that a call takes */
};

/* Is the library named, and there?  Loads it. */
bool cuda_sparse_open(struct cuda *c);
void cuda_sparse_finish(struct cuda *c);
/* Of a lane on whose stream nothing is left. */
void cuda_sparse_close(struct cuda_lane *l);
/* Descriptors, and the bytes of work; false: it refuses. */
bool cuda_sparse_begin(struct cuda_sparse_job *j, struct cuda_lane *l,
		       const struct cuda_sparse_product *p);
/* On the lane's stream, with so many bytes at `work`; false: it refuses, and nothing is written. */
bool cuda_sparse_run(const struct cuda_sparse_job *j, struct cuda_lane *l, CUdeviceptr work);
void cuda_sparse_end(struct cuda_sparse_job *j, struct cuda_lane *l);

#endif
