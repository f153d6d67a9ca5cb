/* SPDX-License-Identifier: Apache-2.0 */
/* form/depend.h - may two accesses touch the same bytes, and at which points?
 *
 * The one question behind fusion, in-place writes and parallel loops.  Decided
 * from byte offsets, strides and sizes over known extents, never from which
 * array an access was made for.  Pure. */
#ifndef BRAZE_DEPEND_H
#define BRAZE_DEPEND_H

#include <stdbool.h>
#include <stdint.h>

#include "limits.h"

enum depend_kind {
	DEPEND_NONE,   /* no byte is touched by both */
	DEPEND_SAME,   /* only by the same point of the loops, and the same element */
	DEPEND_CROSS,  /* by two different points, or by parts of elements */
	DEPEND_UNKNOWN /* the search ran out of budget */
};

struct depend_access {
	int64_t offset;
	const int64_t *stride; /* bytes, one per loop */
	uint32_t bytes;	       /* of one element */
	int64_t move;	       /* of the offset, from turn to turn */
};

struct depend {
	enum depend_kind kind;
	bool constant;		      /* DEPEND_CROSS: every overlap has this distance */
	int64_t distance[LIMIT_NDIM]; /* point of b minus point of a; equal strides only */
};

/* Compare a and b over loops of these extents.  Points count as the same when
 * they agree in the first nsame loops; the others may differ (a reduction's
 * result is touched once for all its reduced points).  extent[k] >= 0.  The answer holds for
 * one turn as for any later one. */
struct depend depend_test(const struct depend_access *a, const struct depend_access *b,
			  const int64_t *extent, unsigned nloop, unsigned nsame);

/* Lowest byte touched, and one past the highest; both 0 for an empty domain. */
void depend_range(int64_t *lo, int64_t *hi, const struct depend_access *a, const int64_t *extent,
		  unsigned nloop);

#endif
