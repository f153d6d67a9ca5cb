/* SPDX-License-Identifier: Apache-2.0 */
/* plan/plancache.h - plans by partition.
 *
 * The key is everything of a partition but its immediates' values: ops, types,
 * shapes, strides, offsets, which operands share a value, and every value's role.
 * Compared in full; the hash only finds the bucket.  A hit skips all planning.
 * Least recently used plans go when there are more than the bound.  Loop thread. */
#ifndef BRAZE_PLANCACHE_H
#define BRAZE_PLANCACHE_H

#include "form/plan.h"

struct plancache;

struct plancache_stats {
	uint64_t hits, misses, evictions, count, bytes;
};

/* release: called with a plan that nobody refers to any more. */
struct plancache *plancache_create(uint64_t max_bytes, void (*release)(void *, struct plan *),
				   void *data);
void plancache_destroy(struct plancache *c);
/* The plan with one more reference, or NULL. */
struct plan *plancache_find(struct plancache *c, const struct part *p);
/* The plan of this number, without a reference, or NULL. */
const struct plan *plancache_numbered(const struct plancache *c, uint64_t number);
/* Keep a plan for this partition (takes a reference of its own). */
void plancache_add(struct plancache *c, const struct part *p, struct plan *plan);
/* Plans made before, perhaps by another program: numbers go on from there. */
uint64_t plancache_taken(const struct plancache *c);
void plancache_go_on(struct plancache *c, uint64_t taken);
void plancache_unref(struct plancache *c, struct plan *plan);
/* Let go of plans that nobody else refers to and that `which` names. */
void plancache_evict(struct plancache *c, bool (*which)(void *data, const struct plan *plan),
		     void *data);
/* Calls fn for every plan, most recently used first. */
void plancache_each(const struct plancache *c, void (*fn)(void *data, const struct plan *plan),
		    void *data);
void plancache_get_stats(const struct plancache *c, struct plancache_stats *out);

#endif
