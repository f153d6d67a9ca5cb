/* SPDX-License-Identifier: Apache-2.0 */
/* call/join.h - arrays that lie in memory, put one after the other as a library step.
 *
 * Operand 0 is the result, the others are the parts in the order in which they lie there.  The
 * loops are those of the axes before the one that grows; at each of their points the result has a
 * row of `run` elements, and a part a piece of it, its own `run` of elements side by side, `at`
 * bytes from the row's start.  Rows may have gaps, which other steps fill.  A unit is a piece of a
 * long row, or a few short rows: what lies side by side in the result, so that it is written in
 * order. */
#ifndef BRAZE_JOIN_H
#define BRAZE_JOIN_H

#include "call.h"

struct join_cut {
	int64_t rows, row_bytes;
	int64_t total;	    /* units */
	int64_t unit_rows;  /* of short rows; of long ones 1, ... */
	int64_t unit_bytes; /* ... of which a unit is so many bytes; of short ones a whole row */
	int64_t row_units;  /* units of a row */
};

/* Of a call that was checked. */
void join_cut(struct join_cut *out, const struct plan_call *c);

#endif
