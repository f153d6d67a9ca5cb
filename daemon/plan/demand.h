/* SPDX-License-Identifier: Apache-2.0 */
/* plan/demand.h - which pending ops a demand needs, cut out as a partition.
 *
 * In: versions that must become stored.  Out: a snapshot of the ops that make
 * them, in trace order, with every value's role: demanded and live values are
 * outputs; a live value that a few elementwise operations make again is left
 * pending as a recipe, unless it is small and has a name; the rest are
 * temporaries.  Loop thread only. */
#ifndef BRAZE_DEMAND_H
#define BRAZE_DEMAND_H

#include "../trace/trace.h"
#include "part.h"

/* A snapshot and the versions behind its values.  Owned by whoever took it from
 * demand_partition, until partition_free. */
struct partition {
	struct part part;
	struct version **value; /* [part.nvalue], each held */
	uint8_t *kept;		/* [part.nvalue]: a recipe, stays pending */
	void *block;		/* the memory of all of it */
};

/* Cut out the oldest ops, at most LIMIT_PARTITION_OPS, that the n wanted versions
 * need; their versions are RUNNING afterwards (but for recipes).  *out is NULL
 * when nothing is pending.  Versions that depend on a failed one fail.  Returns
 * the number of ops looked at, a measure of the time taken. */
size_t demand_partition(struct partition **out, struct trace *t, struct version *const *want,
			size_t n, bool unfused);
void partition_free(struct trace *t, struct partition *p);

/* Values to store when the trace is cut because it grew too long: of the places
 * in the last half of what is pending, the one with fewest bytes crossing it is
 * chosen, and the values made before and used after it are returned (referenced;
 * *n of them, malloc'ed). */
struct version **demand_cut(struct trace *t, size_t *n);
/* Outputs of the pending ops that read v (referenced; malloc'ed). */
struct version **demand_readers(struct trace *t, struct version *v, size_t *n);

#endif
