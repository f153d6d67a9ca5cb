/* SPDX-License-Identifier: Apache-2.0 */
/* worker/tier0_walk.h - walks (loops/walk.h) through loops of a nest. */
#ifndef BRAZE_TIER0_WALK_H
#define BRAZE_TIER0_WALK_H

#include "loops/kernel_abi.h"
#include "loops/walk.h"
#include "form/nest.h"

/* Consecutive loops of a nest, joined where every access permits it. */
struct tier0_walk {
	struct walk loops;
	int8_t loop[LIMIT_NDIM];		       /* the nest's loop; -1: several */
	int64_t step[LIMIT_NEST_ACCESSES][LIMIT_NDIM]; /* bytes */
};

/* Loops [from, to) of the nest.  indexed: bit l set when NI_INDEX reads loop l,
 * which is then not joined. */
void tier0_walk_init(struct tier0_walk *w, const struct nest *spec, const struct bz_args *a,
		     int from, int to, uint32_t indexed);
/* n elements of `bytes` each into dst, from the points at `index` and after, each
 * place[i] (limited to 0 .. extent - 1) times `stride` bytes from its point. */
void tier0_walk_gather(const struct tier0_walk *w, int x, const int64_t index[LIMIT_NDIM],
		       const char *base, int bytes, int64_t n, char *dst, const int64_t *place,
		       int64_t extent, int64_t stride);
/* The index of nest loop `loop` at each of n points; the walk must have it. */
void tier0_walk_index(const struct tier0_walk *w, int loop, const int64_t index[LIMIT_NDIM],
		      int64_t n, int64_t *dst);

#endif
