/* SPDX-License-Identifier: Apache-2.0 */
/* plan/demand_impl.h - what demand.c and roll.c share: nodes that a demand needs, and the
 * snapshot that is made of them. */
#ifndef BRAZE_DEMAND_IMPL_H
#define BRAZE_DEMAND_IMPL_H

#include "demand.h"

/* Nodes found by the walk, oldest first after sorting.  Those in it have the trace's mark. */
struct found {
	struct node **node;
	size_t n, cap;
};

/* The snapshot under construction. */
struct builder {
	struct partition *p;
	struct trace *t;
	uint32_t nvalue, nimm, ndim, nlist;
};

/* Only the oldest n. */
void demand_shorten(struct found *f, size_t n);
/* Room for a snapshot of all of them. */
struct partition *demand_allocate(const struct found *f);
/* The next operation.  The index of versions that have no number yet is PART_NONE. */
void demand_add(struct builder *b, struct node *n, bool output);
void demand_end(struct builder *b, uint8_t device);
/* A node's axes as the partition has them: where a gather stands in its program changes no plan. */
static inline uint32_t demand_axes(const struct node *n)
{
	return n->op == OP_INDEX ? 0 : n->axes;
}
/* May a new version take this one's storage?  Its inner references have been counted. */
bool demand_may_take(const struct version *prev);

/* roll.c: where the oldest operations are the same over and over, a partition of one turn
 * that stands for all of them; NULL: they are not, and *f ends before such a stretch. */
struct partition *roll_cut(struct found *f, struct trace *t);
/* The oldest nodes up to the end of a stretch's last whole turn; 0: nothing repeats. */
size_t roll_whole(const struct found *f, const struct trace *t);
void roll_free(struct partition *p);

#endif
