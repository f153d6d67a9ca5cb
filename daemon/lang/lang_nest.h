/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_nest.h - may the turns of a counted loop run at once, with the values of this call?
 *
 * In:  a checked program, one of its loops, and what its registers and arrays are as the loop
 * begins.  Out: yes, and how its scalars come together again; or no, and why. */
#ifndef BRAZE_LANG_NEST_H
#define BRAZE_LANG_NEST_H

#include "lang.h"
#include "lang_adds.h"
#include "lang_depend.h"
#include "lang_loops.h"

#define LANG_SUMS 16 /* scalars that a loop adds up */
#define LANG_USED 64 /* registers whose values the answer depends on */
#define LANG_KEPT 32 /* instructions of a turn that are worth a number kept of each */

enum lang_why {
	NEST_NONE,	/* the turns may run at once */
	NEST_LEAVES,	/* something leaves the loop before its end */
	NEST_SLICES,	/* slices and reductions use memory of the run */
	NEST_SCALAR,	/* a turn reads a scalar that the turn before has left */
	NEST_INDEX,	/* an index is not proven to lie inside */
	NEST_DEPENDS,	/* turns touch the same bytes */
	NEST_UNDECIDED, /* whether they do is not decided */
	NEST_BOUNDS,	/* of a loop inside are not sums of numbers, or its step may be 0 */
	NEST_LARGE,	/* too much to be looked at */
	NEST_SAID,	/* the text says that it is sequential */
	NEST_END
};

/* Added up in any order: each part begins with what changes nothing.  One that is ordered: each
 * part keeps its numbers, at most so many of a turn. */
struct lang_sum_of {
	uint32_t reg, many;
	struct lang_addition by;
};

struct lang_nest {
	enum lang_why why;
	uint32_t end;  /* CODE_LOOP of the loop */
	uint64_t work; /* instructions in all its turns, about */
	uint64_t turns;
	/* The answer holds where these are as now, and the arrays; more than LANG_USED: only now.
	 */
	uint32_t used[LANG_USED];
	int64_t value[LANG_USED];
	unsigned nused;
	unsigned nsum;
	struct lang_sum_of sum[LANG_SUMS];
	/* CODE_ADDEND of each sum that the loop claims. */
	unsigned nclaimed;
	uint32_t claimed[LANG_SUMS];
	/* What is in the way: an instruction; NEST_SCALAR: a register; NEST_DEPENDS, UNDECIDED: two
	 * CODE_PLACE and what is known of them. */
	uint32_t at, other, reg;
	struct lang_dependence depends;
	bool certain; /* NEST_DEPENDS: both are in every turn, so that they meet indeed */
};

/* Of the loop whose CODE_RANGE is `range`; conditions are looked at where `loops` tells them (NULL:
 * nowhere).  false: no memory. */
bool lang_nest_of(struct lang_nest *out, const struct lang_program *p,
		  const struct lang_loops *loops, uint32_t range, const union lang_reg *reg,
		  const struct lang_array *array);
/* What is known of it, in words; bytes > 0. */
void lang_nest_say(char *text, size_t bytes, const struct lang_program *p,
		   const struct lang_nest *n);
/* Are the values that it was found with there again?  Arrays are the caller's to compare. */
bool lang_nest_again(const struct lang_nest *n, const union lang_reg *reg);
/* Could it be so in some call? */
bool lang_nest_may(const struct lang_program *p, uint32_t range);
/* Is it known, of each claim inside that somebody looks at, how often turns before have come to it?
 */
bool lang_claims_counted(const struct lang_program *p, uint32_t range);
/* CODE_LOOP of the loop of a CODE_RANGE. */
uint32_t lang_nest_end(const struct lang_program *p, uint32_t range);

#endif
