/* SPDX-License-Identifier: Apache-2.0 */
/* worker/cuda_abi.h - how a worker launches a CUDA kernel.
 *
 * Every entry point takes one parameter by value: struct cuda_args, then, packed
 * and sized exactly for the nest,
 *
 *   uint64_t base[naccess]            device address of point [0,...,0]
 *   int64_t  extent[nloop]
 *   int64_t  stride[naccess][nloop]   bytes
 *   uint64_t scalar[nscalar][2]       raw bits, low word first
 *   int64_t  gather[ngather][2]       steps that a gather's places may have, their bytes
 *
 * which is less than CUDA_ARGS_BYTES for every nest within proto/limits.h.  The
 * entry points (which one, and with what grid, is cuda_launch.h's decision):
 *
 *   nred == 0   bz_map, bz_map_narrow   points [lo, hi) of the flattened loops
 *               bz_map_vector, bz_map_vector_narrow
 *                                       the same, several points of the last loop at
 *                                       once, aligned up to CUDA_VECTOR_BYTES
 *               bz_map_tile             the same, in tiles along `tile` and the last loop
 *   nred  > 0   bz_reduce_warp, bz_reduce_warp_narrow
 *               bz_reduce_column, bz_reduce_column_narrow
 *                                       parallel points [lo, hi), chunks [clo, chi) of
 *                                       each; a warp's threads lie along the reduced
 *                                       loops, or along the parallel ones.  part == 0:
 *                                       one chunk, the post instructions follow it.
 *                                       Otherwise accumulators go to part[(p * chunks +
 *                                       c) * nreduce + r], struct bz_acc of kernel_abi.h
 *               bz_finish               combines the parts of points [lo, hi), which it
 *                                       overwrites, then post
 *
 * _narrow: indices and byte offsets of 32 bits, where there are several loops to
 * divide by.  Without it they have 64.
 *
 * Lanes, blocks and chunks are those of kernels/tree.h, so the bits of a result
 * do not depend on the entry, the grid or the slices.  Kernels look at *cancel
 * between pieces of work; after a cancel their output is undefined. */
#ifndef BRAZE_CUDA_ABI_H
#define BRAZE_CUDA_ABI_H

#include <stdint.h>

#define CUDA_THREADS	  256  /* of a block, in every entry */
#define CUDA_WARPS	  8    /* of a block */
#define CUDA_VECTOR_BYTES 16   /* of the widest operand of bz_map_vector */
#define CUDA_TILE	  32   /* points of a tile along each of its loops */
#define CUDA_ARGS_BYTES	  4096 /* what the driver passes at most */

struct cuda_args {
	int64_t lo, hi, clo, chi;
	uint64_t cancel; /* device address of a uint32_t; not 0 ends the kernel */
	uint64_t part;	 /* device address of point 0, chunk 0; 0: none */
	uint64_t error;	 /* device address of a word for each check of the nest, as in struct
			    bz_args; 0: it has none */
	uint32_t team;	 /* warps that share a task: 1, 2, 4, 8 */
	uint32_t tile;	 /* loop that tiles run along, beside the last */
};

/* Matrix products: entry bz_matmul, one parameter by value, struct cuda_matmul_args.  A
 * block computes CUDA_MATMUL_TILE x CUDA_MATMUL_TILE of C; tiles are numbered batch by
 * batch, row by row.  Each element is summed in rising k from 0, a multiply and an add
 * at a time, as matmul_plain.c does. */
#define CUDA_MATMUL_TILE 64

struct cuda_matmul_args {
	int64_t m, n, k;
	int64_t lo, hi; /* tiles */
	uint64_t cancel;
	uint64_t base[3]; /* A, B, C */
	int64_t row[3], col[3];
	int64_t nbatch;
	int64_t batch[8];
	int64_t step[3][8];
};

#endif
