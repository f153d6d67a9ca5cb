/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_launch.h - one step of a nest as launches of its CUDA kernel.
 *
 * Pure: no driver, no memory, any thread.  In: a canonical nest, concrete extents,
 * strides and addresses, the slice, the size of the GPU.  Out: what to launch, in
 * order, and how many bytes of partial accumulators it needs.
 *
 *   struct cuda_launches l;
 *   char block[CUDA_ARGS_BYTES];
 *   size_t n = cuda_launch_args(block, &step);
 *   cuda_launch_plan(&l, &step, multiprocessors, &err);
 *   part = l.part_bytes ? device memory of that many bytes : 0;
 *   for each item: cuda_launch_set(block, item, cancel, part, error);
 *                  cuLaunchKernel(the entry's function, item->grid, 1, 1, item->threads, 1, 1,
 *                                 0, stream, {block}, NULL)
 *
 * Grid, threads and team are those that suit any kernel; cuda_geometry.h has better ones
 * where the kernel's needs are known. */
#ifndef BRAZE_CUDA_LAUNCH_H
#define BRAZE_CUDA_LAUNCH_H

#include "contract/cuda_abi.h"
#include "call/product.h"

#define CUDA_LAUNCHES	     2 /* items at most */
#define CUDA_BLOCKS_PER_UNIT 8 /* of CUDA_THREADS threads, resident on a multiprocessor */

struct cuda_step {
	const struct nest *spec; /* canonical: its extents and strides are not read */
	const int64_t *extent;	 /* [loop] */
	const int64_t *stride;	 /* [access * 8 + loop], bytes */
	const uint64_t *base;	 /* [access]: device addresses of point [0,...,0] */
	const uint64_t *scalar;	 /* [parameter * 2] */
	const int64_t *gather;	 /* [gather * 2] */
	int64_t lo, hi;		 /* parallel points; chunks when split */
	uint8_t split;		 /* as in struct command_step */
};

/* What the number `work` of a launch counts. */
enum cuda_launch_kind {
	LAUNCH_POINTS, /* turns of a thread */
	LAUNCH_TILES,  /* turns of a block */
	LAUNCH_TASKS,  /* turns of a team of warps */
	LAUNCH_ROWS    /* points, a block each */
};

struct cuda_launch {
	enum cuda_entry entry;
	uint32_t grid;	  /* blocks ... */
	uint32_t threads; /* ... of so many threads */
	int64_t lo, hi, clo, chi;
	uint32_t team, tile;
	uint32_t piece; /* of a reduction: 2^piece elements are a piece */
	bool part;	/* passes accumulators */
	/* What a geometry is made from. */
	enum cuda_launch_kind kind;
	int64_t work;
	uint64_t bytes;	      /* that it moves, about */
	uint16_t least, most; /* LAUNCH_TASKS: warps of a team; LAUNCH_ROWS, most: warps of
				 a block that have something to do */
};

struct cuda_launches {
	unsigned n; /* 0: there is nothing to compute */
	struct cuda_launch item[CUDA_LAUNCHES];
	/* Bytes of accumulators, 0: none.  A split step's lie still and keep their
	 * content from the first slice (split & 1) to the last (split & 2). */
	uint64_t part_bytes;
	uint64_t part_skip; /* bytes that point 0's would lie before them */
};

/* The kernel's parameter, all but what a launch changes; returns its bytes. */
size_t cuda_launch_args(char block[CUDA_ARGS_BYTES], const struct cuda_step *s);
/* A GPU faults where x86 does not: every component must lie on a multiple of its size.  bits: the
 * operand's address and strides, or-ed; E_UNSUPPORTED where one of them is none. */
enum status cuda_launch_aligned(unsigned operand, unsigned dtype, uint64_t bits,
				struct err *err) MUST_USE;
/* E_UNSUPPORTED when an operand lies where a GPU cannot read it. */
enum status cuda_launch_plan(struct cuda_launches *out, const struct cuda_step *s,
			     unsigned multiprocessors, struct err *err) MUST_USE;
/* The entry that the whole nest would take on a GPU of so many multiprocessors, its storage lying
 * on multiples of 16 bytes: what goes into nest.way of its spec.  Other slices and places take what
 * there is. */
uint16_t cuda_launch_way(const struct nest *n, unsigned multiprocessors);
/* Complete the parameter for one launch of `out`; part: where part_bytes lie. */
void cuda_launch_set(char block[CUDA_ARGS_BYTES], const struct cuda_launches *l,
		     const struct cuda_launch *item, uint64_t cancel, uint64_t part,
		     uint64_t error);

/* The same for a matrix product: the tiles whose first row is one of rows [lo, hi) over
 * all batches of C.  *grid 0: there are none. */
void cuda_launch_matmul(struct cuda_matmul_args *out, uint32_t *grid, const struct product *p,
			const uint64_t base[3], int64_t lo, int64_t hi, uint64_t cancel);

#endif
