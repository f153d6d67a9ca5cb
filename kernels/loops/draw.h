/* SPDX-License-Identifier: Apache-2.0 */
/* loops/draw.h - random numbers, near and in the worker.
 *
 * A draw is an array whose elements are functions of their place and of a state of DRAW_LENGTH
 * words: any part of it can be computed apart from the others, so that neither units, slices,
 * threads nor instruction sets show in the bits.
 *
 * OP_PCG64 gives the numbers of NumPy's PCG64, whose state jumps to the place.  All others are
 * counter-based, by Philox 4x32 of ten rounds: element i is a function of the key, the number of
 * the draw and i.  Their arithmetic is additions, products, quotients and roots of IEEE numbers
 * with nothing contracted, and no library's functions, so that another device can have the same
 * bits.
 *
 * Philox makes blocks of two 64-bit words from 64-bit numbers.  Sixteen elements come from eight
 * blocks: element 16g + 8h + l from word h of block 8g + l.  So vectors of either word are
 * stored as they are.  Two normal numbers are made from both words of a block.  Integers of a span
 * that passes 32 bits take a whole block each, block i for element i. */
#ifndef BRAZE_LOOPS_DRAW_H
#define BRAZE_LOOPS_DRAW_H

#include <string.h>

#include "isa.h"
#include "ops.h"

#define DRAW_GROUP 16 /* parts begin at a multiple of so many elements */

/* What the words are. */
enum {
	DRAW_KEY = 0,
	DRAW_NUMBER = 1, /* of the draw */
	/* OP_PCG64: state and increment, low words first; half a word that is left: bit 32 says
	 * whether there is one, the low 32 bits are it. */
	DRAW_STATE = 0,
	DRAW_STEP = 2,
	DRAW_HALF = 4,
	/* Results are low + span * x, in their own type; of integers, low + what is below span. */
	DRAW_LOW = 5,
	DRAW_SPAN = 6
};

/* Elements [first, first + n) to `to`. */
typedef void draw_fn(void *to, const uint64_t *state, uint64_t first, int64_t n);

enum draw_op { DRAW_END = OP_DRAW_WORDS - OP_PCG64 + 1 };

struct draw_isa {
	draw_fn *fill[DRAW_END][DTYPE_END];
};

extern const struct draw_isa draw_isa_v2, draw_isa_v3, draw_isa_v4;

/* NULL: there are none of that type. */
static inline draw_fn *draw_loop(const struct draw_isa *isa, unsigned op, unsigned dtype)
{
	return isa->fill[op - OP_PCG64][dtype];
}

/* PCG64's numbers. */
typedef unsigned __int128 draw_wide;
#define DRAW_PCG_FACTOR (((draw_wide)0x2360ed051fc65da4 << 64) | 0x4385df649fccf645)

/* factor and sum such that x -> factor * x + sum is `steps` steps. */
void draw_pcg_jump(draw_wide *factor, draw_wide *sum, draw_wide step, uint64_t steps);
/* The state after n elements of the type; words of DRAW_STATE and DRAW_HALF change. */
void draw_pcg_skip(uint64_t *state, unsigned dtype, uint64_t n);
/* The number that a state is told by. */
static inline uint64_t draw_pcg_word(draw_wide x)
{
	uint64_t folded = (uint64_t)(x >> 64) ^ (uint64_t)x;
	unsigned turn = (unsigned)(x >> 122);

	return folded >> turn | folded << (-turn & 63);
}

static inline draw_wide draw_wide_of(const uint64_t *low)
{
	return (draw_wide)low[1] << 64 | low[0];
}

/* One block of Philox 4x32-10. */
void draw_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

#endif
