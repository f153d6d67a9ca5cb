/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_adds.h - what the turns of a loop only add to: scalars, and elements at any places.
 *
 * Adding is an operation whose result has the same bits in any order: sums of integers, extremes.
 */
#ifndef BRAZE_LANG_ADDS_H
#define BRAZE_LANG_ADDS_H

#include "lang.h"

/* r = r op x.  OP_GREATER and its kind: r is x where x op r, and stays otherwise. */
struct lang_addition {
	uint16_t op;
	uint8_t type;
	bool back; /* it is r = x op r */
};

/* An array whose every element that a loop names is added to in one way, and not read otherwise. */
struct lang_added {
	uint32_t array;
	struct lang_addition by;
};

/* Is the instruction part of such an addition to the register? */
bool lang_addition_to(const struct lang_program *p, uint32_t at, uint32_t reg,
		      struct lang_addition *out);
/* Such arrays of the loop between two instructions, `most` at most.  No memory: none. */
unsigned lang_added_arrays(struct lang_added *out, unsigned most, const struct lang_program *p,
			   uint32_t range, uint32_t end);
/* What changes nothing; what two parts are together, that of the earlier turns first.  Values are
 * as registers have them. */
uint64_t lang_added_nothing(const struct lang_addition *by);
uint64_t lang_added_together(const struct lang_addition *by, uint64_t a, uint64_t b);

#endif
