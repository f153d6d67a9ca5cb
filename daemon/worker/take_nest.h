/* SPDX-License-Identifier: Apache-2.0 */
/* worker/take_nest.h - nests that only copy elements at places: by loops/take.h, whichever tier.
 *
 * Kernels go through the points one by one, each vector of them with places of its own.  Where
 * the last loop's points have a place in common, they are a row of the source, which is copied
 * as one, or, where its elements lie apart, by strips of many rows.  Only the way through the
 * points is another: elements, reports of wrong places and limits are those of kernels/gather.h. */
#ifndef BRAZE_TAKE_NEST_H
#define BRAZE_TAKE_NEST_H

#include <stdbool.h>

#include "form/nest.h"
#include "loops/kernel_abi.h"

struct take_nest {
	bool is;
	uint8_t place, source, result; /* accesses */
	bool checks;
	uint8_t size, check; /* the scalar that a place is looked at with, and its word of error */
};

/* Is it such a nest? */
void take_nest_find(struct take_nest *t, const struct nest *n);
/* Have the points of its last loop a place in common, and lie side by side in the result? */
bool take_nest_fits(const struct take_nest *t, const struct nest *n, const struct bz_args *a);
/* Do they lie apart in the source, and are there some lines of the result of them? */
bool take_nest_strips(const struct take_nest *t, const struct nest *n, const struct bz_args *a);
/* Elements of the result in a line. */
int64_t take_nest_line(const struct take_nest *t, const struct nest *n);
/* Points [lo, hi) of the flattened loops. */
void take_nest_map(const struct take_nest *t, const struct nest *n, const struct bz_args *a,
		   int64_t lo, int64_t hi);
/* Points [from, to) of the last loop, of rows [lo, hi): those are the points of the other loops. */
void take_nest_rows(const struct take_nest *t, const struct nest *n, const struct bz_args *a,
		    int64_t lo, int64_t hi, int64_t from, int64_t to);

#endif
