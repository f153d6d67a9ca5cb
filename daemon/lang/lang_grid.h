/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_grid.h - counted loops whose turns are shared out among the threads of a GPU.
 *
 * A grid is a loop of a kernel, and perhaps those directly inside it: each thread does turns of
 * them, whatever the others do meanwhile.  It writes one array; of what a turn stores elsewhere
 * nothing is left, but that the turn itself may read it again: of the arrays that it keeps the last
 * element which it has stored to, with its value.  Or it tells what its turns add to a scalar, in
 * an array of one axis behind the kernel's: of a sum that the loop claims, whose turns each leave a
 * number, one element for each turn; of one whose order has no bits each element is of some turns,
 * in their order where elements are as many as turns, and each has what changes nothing if there
 * are none for it.
 *
 *   lang_grid_levels   which of its loops have turns that need no other, with the values of a call
 *   lang_grid_of       what a thread has to be told, if it can do such turns at all
 *
 * The second trusts nobody: a program and numbers may be made up, and what comes out is safe to be
 * run where every index is checked. */
#ifndef BRAZE_LANG_GRID_H
#define BRAZE_LANG_GRID_H

#include "lang_nest.h"

#define LANG_LEVELS	3
#define LANG_LIVE	40 /* registers that come in */
#define LANG_LEFT	8
#define LANG_NO_ARRAY	0xff
#define LANG_GRID_WORDS 480   /* of arrays and registers (contract/cuda_abi.h) */
#define LANG_GRID_CODE	8192u /* instructions of a turn, each function wherever it is called */

/* A scalar that turns add to. */
struct lang_grid_sum {
	uint32_t reg; /* of a claimed one what a turn has, CODE_ADDEND's */
	uint8_t type;
	bool claimed;
	struct lang_addition by; /* of one that is not */
};

struct lang_grid {
	const struct lang_program *program;
	uint32_t range;	 /* CODE_RANGE of the outermost loop */
	unsigned levels; /* it, and those directly inside it, that are shared out */
	unsigned fast;	 /* of the levels the one that neighbouring threads go along */
	unsigned only;	 /* number of the array that is written */
	uint32_t keeps;	 /* arrays: a bit for each */
	bool sums;	 /* it tells what is added to a scalar: */
	struct lang_grid_sum sum;
	uint32_t level[LANG_LEVELS]; /* CODE_RANGE of each level */
	/* Registers that the loop reads and does not itself write, and its bounds; but for
	 * constants.  Rising; of each its type, never an address. */
	unsigned nlive;
	uint32_t live[LANG_LIVE];
	uint8_t type[LANG_LIVE];
};

/* E_UNSUPPORTED, E_LIMIT: no thread can do it.  E_INVALID: there is no such loop or array. */
enum status lang_grid_of(struct lang_grid *out, const struct lang_program *p, uint32_t range,
			 unsigned levels, unsigned fast, unsigned only, struct err *err) MUST_USE;
/* The same, but of a grid that tells what its turns add to the scalar in a register.  E_INVALID:
 * also where they do otherwise. */
enum status lang_grid_sum(struct lang_grid *out, const struct lang_program *p, uint32_t range,
			  unsigned levels, unsigned fast, uint32_t reg, struct err *err) MUST_USE;
/* From now on it keeps these arrays, too.  E_INVALID: there is no such array besides the one that
 * is written. */
enum status lang_grid_keep(struct lang_grid *g, uint32_t arrays, struct err *err) MUST_USE;
/* The kernel's, and the one of what turns add. */
static inline unsigned lang_grid_arrays(const struct lang_grid *g)
{
	return g->program->narray + g->sums;
}
/* Words of its arrays (of each its address, extents, strides) and of its registers, two each. */
unsigned lang_grid_words(const struct lang_grid *g);
/* [instruction]: does a turn come to it, also within functions?  malloc'ed; NULL: no memory.  Of
 * loops that may be one only what they are apart is. */
uint8_t *lang_grid_code(const struct lang_grid *g);
/* [register]: the array in which an address lies, LANG_NO_ARRAY of what is none; seen: of
 * lang_grid_code.  malloc'ed; NULL: no memory. */
uint8_t *lang_grid_places(const struct lang_grid *g, const uint8_t *seen);

struct lang_levels {
	/* Loops from the outermost on whose turns are independent; 0: not even its are.  Of these
	 * the one along which most accesses go on by one element from turn to turn. */
	unsigned levels, fast;
	uint64_t work, turns;	/* instructions; turns of all the levels together; about */
	uint64_t read, written; /* arrays: a bit for each */
	bool proven;		/* no index can be wrong, and each bound inside is known */
	bool in_order;		/* floats are added up in the order of the turns: no levels */
	/* Turns of it and those inside down to each level; of the first `even` levels exactly. */
	uint64_t many[LANG_LEVELS];
	unsigned even;
	/* CODE_MOVE of constants that each turn does, to registers that are read behind the loop.
	 */
	unsigned nleft;
	uint32_t left[LANG_LEFT];
	struct lang_nest nest; /* of the outermost loop */
};
/* As lang_nest_of, but that indices which are read, or computed by more than sums, may be any of
 * their axis, and bounds of loops inside anything: threads look at them.  A scalar that the loop
 * writes may be read outside of it only where it counts its turns, is added up (nest.sum,
 * nest.claimed), or is set to a constant by each (left).  false: no memory. */
bool lang_grid_levels(struct lang_levels *out, const struct lang_program *p,
		      const struct lang_loops *loops, uint32_t range, const union lang_reg *reg,
		      const struct lang_array *array) MUST_USE;

#endif
