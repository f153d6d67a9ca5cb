/* SPDX-License-Identifier: Apache-2.0 */
/* loops/compact.h - what a mask chooses, in C order: elements, or their places.
 *
 * A mask is cut into blocks of RANK_BLOCK elements.  Its ranks tell how many are chosen in all
 * blocks up to each one, that one included, so that blocks are computed apart from each other.
 *
 * Mask and ranks lie where a client can write at any time: a block of the mask is read once, into
 * bits, and these are believed only where the ranks leave just as much room for them. */
#ifndef BRAZE_LOOPS_COMPACT_H
#define BRAZE_LOOPS_COMPACT_H

#include "ops.h"

#define RANK_BLOCK 4096
#define RANK_WORDS (RANK_BLOCK / 64)

#define COMPACT_AXES (LIMIT_NDIM - 3) /* of a mask whose places are asked for */

/* Can a mask of this view be cut as it lies?  It has one axis, or is C-contiguous. */
static inline bool compact_lies(const struct view *mask)
{
	return mask->shape.ndim == 1 || (mask->shape.ndim && view_contiguous(mask));
}

/* n bytes, `step` bytes apart; what is not 0 is chosen. */
struct compact_mask {
	const char *at;
	int64_t n, step;
};

/* A block's, those past the end of the mask 0. */
struct compact_bits {
	uint64_t word[RANK_WORDS];
	int64_t count; /* of ones */
};

static inline int64_t compact_blocks(int64_t n)
{
	return n / RANK_BLOCK + (n % RANK_BLOCK != 0);
}

void compact_bits(struct compact_bits *out, const struct compact_mask *m, int64_t block);

/* Of so many blocks; together they choose `count` elements. */
struct compact_ranks {
	const char *at;
	int64_t blocks, step, count;
};

/* Where the results of a block begin that chooses so many; -1: the ranks tell another number, or
 * more than there is room for. */
int64_t compact_begin(const struct compact_ranks *r, int64_t block, int64_t chosen);

/* Rows of `inner` elements of so many bytes each; steps in bytes. */
struct compact_rows {
	char *to;
	const char *from;
	int64_t to_step, from_step, inner, to_inner, from_inner, bytes;
};
/* The rows that a block chooses, from row `begin` of the result on. */
void compact_rows(const struct compact_rows *r, const struct compact_bits *b, int64_t block,
		  int64_t begin);

/* A row of coordinates in these axes for each element that is chosen, int64. */
struct compact_places {
	char *to;
	int64_t to_step, to_inner;
	int axes;
	int64_t extent[LIMIT_NDIM];
};
void compact_places(const struct compact_places *p, const struct compact_bits *b, int64_t block,
		    int64_t begin);

#endif
