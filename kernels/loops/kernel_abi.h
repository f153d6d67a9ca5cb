/* SPDX-License-Identifier: Apache-2.0 */
/* loops/kernel_abi.h - how a worker calls a kernel, whichever tier it is.
 *
 * The same text stands at the head of every generated source (kernels/pre.h
 * repeats it for compilers without our include path; a static assertion in
 * tier1.c compares the layouts).  Entry points of a compiled kernel:
 *
 *   nred == 0   bz_map     points [lo, hi) of the flattened parallel loops
 *   nred  > 0   bz_reduce  parallel points [lo, hi); of each, the reduced points
 *                          of chunks [clo, chi).  part == NULL: all chunks, then
 *                          the post instructions.  Otherwise the accumulators of
 *                          (point p, chunk c, reduction r) go to
 *                          part[((p - p0) * chunks + c) * nreduce + r], p0 = 0.
 *               bz_finish  combines the parts of points [lo, hi), then post
 *
 * A chunk is TREE_CHUNK reduced points.  Functions are pure but for their stores,
 * may run on many threads over disjoint ranges, and poll *cancel at least every
 * 65 536 points; after a cancel their output is undefined. */
#ifndef BRAZE_KERNEL_ABI_H
#define BRAZE_KERNEL_ABI_H

#include <stdint.h>

/* A reduction over outer loops goes fastest through this many vectors of parallel
 * points at once, and slowly through less than KERNEL_TILE_LEAST. */
#define KERNEL_TILE_VECTORS 128
#define KERNEL_TILE_LEAST   8

/* What is too large for the caches: the results, which maps and phases may write past them;
 * the operands, of which reductions may read many parts at a time, or one row to its end before
 * the next, as the processor reads its memory ahead. */
#define KERNEL_PAST  1
#define KERNEL_FAR   2
#define KERNEL_WHOLE 4

struct bz_args {
	char *const *base;	/* [access]: address of point [0,...,0] */
	const int64_t *extent;	/* [loop] */
	const int64_t *stride;	/* [access * 8 + loop], bytes */
	const uint64_t *scalar; /* [parameter * 2]: raw bits, low word first */
	const volatile uint32_t *cancel;
	uint64_t stream;       /* KERNEL_PAST and its kind.  Never shows in the bits */
	const int64_t *gather; /* [gather * 2]: steps that its places may have, and their
				  bytes */
	uint64_t *error;       /* [check]: the least bz_fault_key of a wrong place; KERNEL_GOOD */
};

/* A word of error without a report; a report; and the wrong place that it tells,
 * which is never 0. */
#define KERNEL_GOOD UINT64_MAX
static inline uint64_t bz_fault_key(int64_t place)
{
	return (uint64_t)place - 1;
}
static inline int64_t bz_fault_place(uint64_t key)
{
	return (int64_t)(key + 1);
}

/* The command thread sets the word while others run: generated code reads it as
 * volatile, C of this tree atomically, which is the same load. */
static inline int bz_cancelled(const volatile uint32_t *cancel)
{
	return __atomic_load_n(cancel, __ATOMIC_RELAXED) != 0;
}

/* One accumulator: a sum and its like in v (complex: both components), or for
 * argmin and argmax the value's bits in v[0] and its reduced index in index. */
struct bz_acc {
	uint64_t v[2];
	int64_t index; /* -1: nothing seen yet */
};

typedef void bz_map_fn(const struct bz_args *a, int64_t lo, int64_t hi);
typedef void bz_reduce_fn(const struct bz_args *a, int64_t lo, int64_t hi, int64_t clo, int64_t chi,
			  struct bz_acc *part);
typedef void bz_finish_fn(const struct bz_args *a, int64_t lo, int64_t hi,
			  const struct bz_acc *part);

#endif
