/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_adds.h - scalars that the turns of a loop only add to.
 *
 * Adding is an operation whose result has the same bits in any order: sums of integers, extremes.
 * Sums of floats have not: of these each addition's number is kept, and they are added up in
 * order.
 */
#ifndef BRAZE_LANG_ADDS_H
#define BRAZE_LANG_ADDS_H

#include "lang.h"

/* r = r op x.  OP_GREATER and its kind: r is x where x op r, and stays otherwise. */
struct lang_addition {
	uint16_t op;
	uint8_t type;
	bool back;    /* it is r = x op r */
	bool ordered; /* the order has bits */
};

/* Is the instruction part of such an addition to the register? */
bool lang_addition_to(const struct lang_program *p, uint32_t at, uint32_t reg,
		      struct lang_addition *out);
/* What changes nothing; what two parts are together, that of the earlier turns first.  Values are
 * as registers have them. */
uint64_t lang_added_nothing(const struct lang_addition *by);
uint64_t lang_added_together(const struct lang_addition *by, uint64_t a, uint64_t b);
/* Of one that is ordered: a and then n numbers as elements lie. */
uint64_t lang_added_in_order(const struct lang_addition *by, uint64_t a, const char *values,
			     uint64_t n);

#endif
