/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_order.h - a loop that writes several arrays, or adds up scalars, as a loop for each of
 * them.
 *
 * Each of these does the whole turn, but stores to its own array only (lang_grid.h).  So an element
 * that a turn reads behind its store must be there already, as another loop has left it, and one
 * that it reads before must not be yet: which of two loops comes first follows from what stands
 * where, of the reads that matter for what the other one stores or adds.  Where each of two would
 * have to be before the other one (an exchange), one reads an array as it was before the loop. What
 * it needs of an array both from before a store and from behind it, it computes itself as well, and
 * keeps (lang_grid.h), if a turn stores to one element of that array.  All this is enough where no
 * turn touches what another one writes, which whoever asks has proven.  Pure. */
#ifndef BRAZE_LANG_ORDER_H
#define BRAZE_LANG_ORDER_H

#include "lang_grid.h"

#define LANG_ORDER_ARRAYS 4 /* that a loop writes */
#define LANG_ORDER_MOST	  8 /* with scalars that it adds up */

struct lang_order {
	unsigned n;
	/* Whose loops are done one after the other: of scalar k the kernel's number of arrays, and
	 * k more. */
	uint8_t array[LANG_ORDER_MOST];
	/* Of each of these loops: a bit for each array whose values from before the first one it
	 * reads. */
	uint64_t old[LANG_ORDER_MOST];
	uint32_t keeps[LANG_ORDER_MOST];
	const char *why; /* there is no such order; NULL: there is one */
};

/* g: the loop, whatever it is told to write; written: a bit for each array that it does; sum:
 * registers (struct lang_grid_sum) of scalars.  memory: of each array the first one that it shares
 * memory with, itself or one before.  false: no memory. */
bool lang_order_of(struct lang_order *out, const struct lang_grid *g, uint64_t written,
		   const uint32_t *sum, unsigned nsum, const uint8_t *memory) MUST_USE;

#endif
