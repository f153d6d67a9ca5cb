/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_blas.h - cuBLAS, taken at run time when a product first wants it.
 *
 * Set so that a product's bits depend on the device, its shape, how its operands lie
 * and their values only: full precision (no TF32 unless a product asks for it; float16 is added
 * up in float32, all of it), no atomics, a handle and a workspace of fixed size for each lane.
 * Where the library or a handle cannot be had, or the library refuses, products go to our own
 * kernel.  Issuer. */
#ifndef BRAZE_CUDA_BLAS_H
#define BRAZE_CUDA_BLAS_H

#include "cuda_worker.h"

/* One product, or `count` of them that lie `step` elements apart; all C order. */
struct cuda_gemm {
	unsigned dtype; /* of A and B, */
	unsigned out;	/* of C: the same, or what products are added up in */
	bool tf32;	/* of float32 and complex64: operands may be rounded so */
	bool add;	/* to what is in C */
	int64_t m, n, k, count;
	CUdeviceptr base[3];
	int64_t row[3], col[3], step[3]; /* elements */
};

/* Is there a handle for this lane?  Makes it the first time. */
bool cuda_blas_ready(struct cuda_lane *l);
/* Ask for it; false: C is not, or only partly, computed, and the log tells why.  A
 * status that concerns more than this call ends the lane's use of the library. */
bool cuda_blas_run(struct cuda_lane *l, const struct cuda_gemm *g) MUST_USE;
void cuda_blas_close(struct cuda_lane *l);
void cuda_blas_init(struct cuda *c);
void cuda_blas_finish(struct cuda *c);

#endif
