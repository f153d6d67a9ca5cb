/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_depend.h - do different turns of a loop touch the same bytes?
 *
 * Asked with the numbers of a call: bounds, strides, addresses.  An access is the bytes at a sum of
 * products of loop numbers, whatever array it was written for, so that arguments which overlap are
 * nothing special.  Bounds may be sums over the numbers of the loops outside (triangles).
 *
 * The bytes of two accesses meet where the difference of their addresses lies in a short interval.
 * That is taken apart by magnitudes, as an address of several axes was put together, into equations
 * that each have few values left; what is outside their extremes ends there (GCD, ZIV, Banerjee
 * with directions, strong and weak SIV), and the rest is a system of integers (lang_system.h),
 * which decides coupled and triangular cases.  Pure. */
#ifndef BRAZE_LANG_DEPEND_H
#define BRAZE_LANG_DEPEND_H

#include "lang_system.h"

#define LANG_PATH	8  /* loops inside each other that are looked at */
#define LANG_CONDITIONS 8  /* of one access */
#define LANG_ACCESSES	64 /* of more nothing is known */

/* constant + the sum of factor[k] * number of the k-th loop of a path, the outermost first */
struct lang_affine {
	int64_t constant, factor[LANG_PATH];
};

/* A loop over start, start + step, ... before stop; both over the loops outside of it. */
struct lang_turns {
	struct lang_affine start, stop;
	int64_t step; /* not 0 */
};

struct lang_reach {
	struct lang_affine address;
	uint32_t bytes; /* of an element, not 0 */
	bool writes;
	unsigned nloop; /* of its path, the outermost first: numbers of loops */
	uint32_t loop[LANG_PATH];
	/* In turns in which these are at least 0, and perhaps not in all of those. */
	unsigned ncondition;
	struct lang_affine condition[LANG_CONDITIONS];
};

enum lang_answer { LANG_INDEPENDENT, LANG_CARRIED, LANG_UNKNOWN };

struct lang_dependence {
	enum lang_answer answer;
	unsigned first, second; /* accesses, that of the earlier turn first */
	bool constant;		/* always so many turns apart: */
	int64_t distance;
	unsigned ndirection;	   /* of the loops that both are in, the outermost first: */
	char direction[LANG_PATH]; /* =, <, > or * */
};

/* Of the loop at depth `level` of all their paths, whose loops up to there are the same ones: is
 * there a pair of accesses, one of which writes, that touches the same bytes in two of its turns,
 * in one and the same turn of each loop outside?  The first one found is told. */
struct lang_dependence lang_depend(const struct lang_turns *turns, const struct lang_reach *access,
				   unsigned n, unsigned level);

/* Do the bytes of access `first` in a turn of that loop meet those of access `second` in a later
 * one? */
struct lang_dependence lang_depend_pair(const struct lang_turns *turns,
					const struct lang_reach *access, unsigned first,
					unsigned second, unsigned level);
/* near[n * a + b]: may they touch the same bytes in any turns at all? */
void lang_depend_near(bool *near, const struct lang_turns *turns, const struct lang_reach *access,
		      unsigned n);

/* Turns of a path, the outermost loop first, in which the conditions are all at least 0. */
struct lang_stretch {
	const struct lang_turns *turns;
	const uint32_t *path;
	unsigned depth, ncondition;
	const struct lang_affine *condition;
};

/* Does the sum lie in [low, high] in all of them?  false also where that is not decided. */
bool lang_depend_within(const struct lang_stretch *s, const struct lang_affine *f, int64_t low,
			int64_t high);
/* How many turns a loop inside that path has, in the middle where it differs. */
uint64_t lang_depend_turns(const struct lang_turns *turns, const uint32_t *path, unsigned depth,
			   const struct lang_turns *t);

#endif
