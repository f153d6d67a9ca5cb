/* SPDX-License-Identifier: Apache-2.0 */
/* worker/cuda_blas.h - cuBLAS, taken at run time when a product first wants it.
 *
 * Set so that a product's bits depend on its shape and values only: full precision
 * (no TF32), no atomics, a workspace of fixed size.  Where the library or a handle
 * cannot be had, products go to our own kernel.  Issuer. */
#ifndef BRAZE_CUDA_BLAS_H
#define BRAZE_CUDA_BLAS_H

#include "cuda_worker.h"

/* One product, or `count` of them that lie `step` elements apart; all C order. */
struct cuda_gemm {
	unsigned dtype;
	int64_t m, n, k, count;
	CUdeviceptr base[3];
	int64_t row[3], col[3], step[3]; /* elements */
};

/* Can the library do it, given the strides? */
bool cuda_blas_fits(const struct cuda_gemm *g);
/* Is there a handle for this lane?  Makes it the first time. */
bool cuda_blas_ready(struct cuda_lane *l);
enum status cuda_blas_run(struct cuda_lane *l, const struct cuda_gemm *g, struct err *err) MUST_USE;
void cuda_blas_close(struct cuda_lane *l);
void cuda_blas_init(struct cuda *c);
void cuda_blas_finish(struct cuda *c);

#endif
