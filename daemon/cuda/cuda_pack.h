/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_pack.h - memory beside a product's own, for what a library cannot take as it lies
 * or must not round yet: bytes are copied so that both operands lie along the inner axis,
 * in multiples of PRODUCT_PACKED_BYTES; sums lie apart in 32 bits until the last part of the inner
 * axis is in them.
 *
 * One area serves all pieces of a slice, one after the other in the order of the lane's
 * stream.  Issuer. */
#ifndef BRAZE_CUDA_PACK_H
#define BRAZE_CUDA_PACK_H

#include "call/product.h"
#include "cuda_blas.h"

#define CUDA_PACK_SUMS (1 << 24) /* that lie apart, of one piece */

struct cuda_pack {
	CUdeviceptr a, b, sums; /* 0: of this, pieces use the product's own memory */
	CUdeviceptr at;
	uint64_t bytes;
	unsigned dtype; /* of the product */
	unsigned sum;	/* of sums that lie apart */
};

/* most: extents of the largest piece.  false: there is no room, and the log tells so. */
bool cuda_pack_open(struct cuda_pack *out, struct cuda_lane *l, const struct product *p,
		    const struct cuda_gemm *most, bool packs) MUST_USE;
/* Copy a piece's operands, and have it read the copies and write its sums apart, as far as
 * this is done at all. */
enum status cuda_pack_piece(struct cuda_gemm *g, const struct cuda_pack *x, struct cuda_run *run,
			    uint32_t i, struct err *err) MUST_USE;
/* Sums of a piece to where it has C. */
enum status cuda_pack_store(const struct cuda_gemm *g, const struct cuda_pack *x,
			    struct cuda_run *run, uint32_t i, struct err *err) MUST_USE;
void cuda_pack_close(struct cuda_pack *x, struct cuda_lane *l);

#endif
