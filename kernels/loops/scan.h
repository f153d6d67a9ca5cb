/* SPDX-License-Identifier: Apache-2.0 */
/* loops/scan.h - running sums, products and extremes, near and in the worker.
 *
 * A lane is what runs: the elements of one axis, the others fixed.  Its result is a function of
 * its length and type alone: blocks of SCAN_BLOCK elements are added up by themselves, one element
 * after the other; then each block's results are added to the last result before the block.  So
 * neither slices, threads nor the layout show in the bits, and a block can be computed before
 * those in front of it.  Lanes of one block are what NumPy computes.
 *
 * Nothing is kept between two calls: what a block is added to stands in the result. */
#ifndef BRAZE_LOOPS_SCAN_H
#define BRAZE_LOOPS_SCAN_H

#include "isa.h"
#include "lanes.h"
#include "ops.h"

#define SCAN_BLOCK 1024

/* A rectangle of elements, steps in bytes: `n` of each of `lanes` lanes.  In and out have the same
 * type and may be the same elements, but not overlap otherwise. */
struct scan_patch {
	char *to;
	const char *from;
	int64_t n, to_step, from_step;
	int64_t lanes, to_lane, from_lane;
};

/* The loops of an operation and a type.  Patches have 0 < n <= SCAN_BLOCK. */
struct scan_loops {
	/* Each lane's elements by themselves. */
	void (*local)(const struct scan_patch *p);
	/* Every element of `to` is added to `offset`, which has an element for each lane. */
	void (*add)(const struct scan_patch *p, const char *offset, int64_t offset_lane);
	int bytes; /* of an element; 0: there is no such scan */
};

enum scan_op { SCAN_SUM, SCAN_PROD, SCAN_MIN, SCAN_MAX, SCAN_END };

struct scan_isa {
	struct scan_loops loops[SCAN_END][DTYPE_END];
};

extern const struct scan_isa scan_isa_v2, scan_isa_v3, scan_isa_v4;

/* Is there a scan of the type?  Of float16 there is none: NumPy rounds after each element. */
static inline bool scan_has(unsigned op, unsigned dtype)
{
	bool ordered = op == OP_CUMMIN || op == OP_CUMMAX;

	return dtype != DT_FLOAT16 && dtype_computes(dtype) &&
	       !(ordered && dtype_row(dtype)->cls == CLASS_COMPLEX);
}

static inline const struct scan_loops *scan_loops(const struct scan_isa *isa, unsigned op,
						  unsigned dtype)
{
	return &isa->loops[op - OP_CUMSUM][dtype];
}

/* All lanes of an array. */
struct scan_call {
	const struct scan_loops *loops;
	char *to;
	const char *from;
	struct lanes lanes;
};

/* Cut into units, one block of a tile of lanes each; a tile's come one after the other. */
struct scan_cut {
	int64_t lanes, tile; /* a tile has so many lanes, the last one fewer */
	int64_t tiles, blocks;
};
/* false: more than can be counted. */
bool scan_cut(struct scan_cut *out, int64_t lanes, int64_t n) MUST_USE;

/* Blocks [lo, hi) of the lanes [first, last): */
void scan_whole(const struct scan_call *c, int64_t first, int64_t last, int64_t lo, int64_t hi);
/* the same in three steps, of which the middle one goes through the blocks in order. */
void scan_local(const struct scan_call *c, int64_t first, int64_t last, int64_t lo, int64_t hi);
void scan_join(const struct scan_call *c, int64_t first, int64_t last, int64_t lo, int64_t hi);
void scan_spread(const struct scan_call *c, int64_t first, int64_t last, int64_t lo, int64_t hi);

#endif
