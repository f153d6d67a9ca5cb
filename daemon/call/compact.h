/* SPDX-License-Identifier: Apache-2.0 */
/* call/compact.h - what a mask chooses as library steps: ranks, elements, places.
 *
 * Units are blocks of the mask (kernels/loops/compact.h), of long rows times pieces of a row.
 *
 *   RANKS    loops: the mask, its blocks; operands: mask, result
 *   COMPACT  loops: the mask, a row, the result's rows, blocks; operands: source, mask, ranks,
 * result PLACES   loops: the mask's axes, the result's rows, blocks, coordinates; operands: mask,
 * ranks, result */
#ifndef BRAZE_COMPACT_H
#define BRAZE_COMPACT_H

#include "call.h"
#include "loops/compact.h"

enum { RANKS_MASK, RANKS_RESULT };
enum { COMPACT_SOURCE, COMPACT_MASK, COMPACT_RANKS, COMPACT_RESULT };
enum { PLACES_MASK, PLACES_RANKS, PLACES_RESULT };
enum {
	COMPACT_LOOP_MASK,
	COMPACT_LOOP_ROW,
	COMPACT_LOOP_COUNT,
	COMPACT_LOOP_BLOCKS,
	COMPACT_LOOPS
};
#define PLACES_LOOPS 3 /* besides the mask's axes */
_Static_assert(COMPACT_AXES + PLACES_LOOPS <= LIMIT_NDIM, "a loop for each");

/* The parts of a call that was checked, without addresses. */
void compact_ranks_of(struct compact_mask *mask, const struct plan_call *c);
void compact_of(struct compact_mask *mask, struct compact_ranks *ranks, struct compact_rows *rows,
		const struct plan_call *c);
void compact_places_of(struct compact_mask *mask, struct compact_ranks *ranks,
		       struct compact_places *places, const struct plan_call *c);
/* The block that a unit of COMPACT is of, and the elements of its rows: [*lo, *hi). */
int64_t compact_unit(int64_t *lo, int64_t *hi, const struct plan_call *c, int64_t unit);

#endif
