/* SPDX-License-Identifier: Apache-2.0 */
/* call/search.h - where needles belong among elements in order, as a library step.
 *
 * Loops: the needles, the elements among which they are searched; operands: those elements, the
 * needles, the places, side by side; of INTERP, whose results are float64, values at the elements
 * besides.  Units are stretches of needles (kernels/loops/search.h). */
#ifndef BRAZE_SEARCH_H
#define BRAZE_SEARCH_H

#include "call.h"
#include "loops/search.h"

enum { SEARCH_AMONG, SEARCH_NEEDLES, SEARCH_RESULT, SEARCH_VALUES };
enum { SEARCH_LOOP_NEEDLES, SEARCH_LOOP_AMONG, SEARCH_LOOPS };

/* The needles of the units [lo, hi) of a call that was checked, without addresses; the number of
 * the first one. */
int64_t search_of(struct search_patch *out, const struct plan_call *c, int64_t lo, int64_t hi);

#endif
