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
#include "form/part.h"

/* Where a turn has an input from: value `value` of the turn `lag` turns before.  PART_NONE, and
 * in the first `lag` turns: from outside. */
struct part_carry {
	uint32_t value, lag;
};

/* A snapshot and the versions behind its values.  Owned by whoever took it from
 * demand_partition, until partition_free.
 *
 * A Python loop records the same operations over and over.  Such a stretch is one partition:
 * `part` is its first turn, and each turn has values, immediates and, by part.move, offsets
 * of its own (roll.c). */
struct partition {
	struct part part;
	uint32_t turns;
	struct version **value; /* [turns][part.nvalue], each held */
	uint8_t *kept;		/* [part.nvalue]: a recipe, stays pending; never of several turns */
	/* Of several turns, else NULL: */
	struct part_carry *carry; /* [part.nvalue] */
	uint8_t *copied; /* [turns][part.nvalue]: it would take its predecessor's storage, which
			    is from outside and not to be taken: it works on a copy */
	uint8_t *live;	 /* [turns][part.nvalue]: somebody may name it afterwards */
	int64_t *from;	 /* [part.nvalue]: bytes that part.dim's offsets in it begin at */
	uint64_t *imm;	 /* [turns][2 * part.nimm]; part.imm is the first turn's */
	int64_t *size;	 /* [turns][part.nsize]; NULL: there are none */
};

/* Cut out the oldest ops, at most LIMIT_PARTITION_OPS, that the n wanted versions
 * need; their versions are RUNNING afterwards (but for recipes).  *out is NULL
 * when nothing is pending.  Versions that depend on a failed one fail.  Returns
 * the number of ops looked at, a measure of the time taken. */
size_t demand_partition(struct partition **out, struct trace *t, struct version *const *want,
			size_t n, bool unfused);
/* Has the turn this input from outside of the partition? */
static inline bool partition_foreign(const struct partition *p, uint32_t turn, uint32_t i)
{
	return p->part.value[i].role == PART_INPUT &&
	       (!p->carry || p->carry[i].value == PART_NONE || turn < p->carry[i].lag);
}
/* What value i is in a turn. */
static inline struct version *partition_value(const struct partition *p, uint32_t turn, uint32_t i)
{
	return p->value[(size_t)turn * p->part.nvalue + i];
}
void partition_free(struct trace *t, struct partition *p);

/* Values to store when the trace is cut because it grew too long: of the places
 * in the last half of what is pending, the one with fewest bytes crossing it is
 * chosen, and the values made before and used after it are returned (referenced;
 * *n of them, malloc'ed). */
struct version **demand_cut(struct trace *t, size_t *n);
/* Outputs of the pending ops that read v (referenced; malloc'ed). */
struct version **demand_readers(struct trace *t, struct version *v, size_t *n);

#endif
