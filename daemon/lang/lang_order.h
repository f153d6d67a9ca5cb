/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_order.h - a loop that writes several arrays, as a loop for each of them.
 *
 * Each of these does the whole turn, but stores to its own array only (lang_grid.h).  So an element
 * that a turn reads behind its store must be there already, as another loop has left it, and one
 * that it reads before must not be yet: which of two loops comes first follows from what stands
 * where, of the reads that matter for what the other one stores.  That is enough where no turn
 * touches what another one writes, which whoever asks has proven.  Pure. */
#ifndef BRAZE_LANG_ORDER_H
#define BRAZE_LANG_ORDER_H

#include "lang_grid.h"

#define LANG_ORDER_MOST 4 /* arrays that a loop writes */

struct lang_order {
	unsigned n;
	uint8_t array[LANG_ORDER_MOST]; /* whose loops are done one after the other */
	const char *why;		/* there is no such order; NULL: there is one */
};

/* g: the loop, whichever array it writes; written: a bit for each that it does.  memory: of each
 * array the first one that it shares memory with, itself or one before.  false: no memory. */
bool lang_order_of(struct lang_order *out, const struct lang_grid *g, uint64_t written,
		   const uint8_t *memory) MUST_USE;

#endif
