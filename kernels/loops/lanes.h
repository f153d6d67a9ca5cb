/* SPDX-License-Identifier: Apache-2.0 */
/* loops/lanes.h - an array in lanes, for what goes along one axis: the elements of a lane are those
 * of that axis, the others fixed. */
#ifndef BRAZE_LOOPS_LANES_H
#define BRAZE_LOOPS_LANES_H

#include <stdint.h>

#include "limits.h"

/* The axis that is gone along, and the others, of which the last moves fastest from one lane to the
 * next; of what is read and of what is written.  Steps in bytes. */
struct lanes {
	int64_t n, from_step, to_step;
	int axes;
	int64_t extent[LIMIT_NDIM];
	int64_t from_lane[LIMIT_NDIM], to_lane[LIMIT_NDIM];
};

/* One more of the other axes. */
static inline void lanes_axis(struct lanes *l, int64_t extent, int64_t from, int64_t to)
{
	l->extent[l->axes] = extent;
	l->from_lane[l->axes] = from;
	l->to_lane[l->axes] = to;
	l->axes++;
}

static inline int64_t lanes_count(const struct lanes *l)
{
	int64_t n = 1;

	for (int k = 0; k < l->axes; k++)
		n *= l->extent[k];
	return n;
}

#endif
