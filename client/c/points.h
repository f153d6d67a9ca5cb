/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/points.h - arrays of places, broadcast, as loops over them: what gathering and
 * scattering have in common once all is at hand. */
#ifndef BRAZE_POINTS_H
#define BRAZE_POINTS_H

#include "loops/walk.h"
#include "scatter.h"

#define POINTS_BLOCK 512 /* places whose offsets are known at a time */

struct points {
	struct walk w;
	int naxes; /* with arrays of places */
	struct scatter_axis axis[LIMIT_NDIM];
	int64_t step[LIMIT_NDIM][LIMIT_NDIM]; /* of each through the loops, in bytes */
};

/* The loops over `spread`, through which the axes' arrays of places, and what lies at `from` if
 * that is not NULL, step by stride[axis] and `from`; axes that all of them step through as through
 * one are joined.  along: the steps of `from` through the loops.  naxes is known. */
void points_lay(struct points *p, const struct shape *spread, const int64_t *const *stride,
		const int64_t *from, int64_t *along);
/* How many places there are. */
int64_t points_count(const struct points *p);
/* The k-th array's places are all inside, each asked once however it is stretched: NULL, and its
 * reach is known; else where a wrong one lies. */
const char *points_wrong(struct points *p, int k);
/* The offsets of n places of a row, `done` after its first, which `index` names. */
void points_offsets(const struct points *p, int64_t *offset, const int64_t *index, int64_t done,
		    int64_t n);

#endif
