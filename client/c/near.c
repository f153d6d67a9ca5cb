/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/near.c - when to compute near, and where near values lie.
 *
 * Blocks are ordinary memory of this process, in size classes of powers of two, with
 * room for whole vectors.  Not of the lease: a loop of small operations then costs the
 * daemon nothing, values outlive the connection, and shipping one is a copy of at most
 * NEAR_BYTES into pages that are warm. */
#include "near.h"

#include <stdlib.h>
#include <string.h>

#include "apart.h"
#include "array.h"

/* ---- When ---- */

static bool on_cpu(const struct braze_session *s)
{
	const char *name = s->device >= 2 ? s->device_name[s->device - 2] : "auto";

	if (s->device == 0)
		name = s->asked[0] ? s->asked : "auto";
	return !strcmp(name, "auto") || !strcmp(name, "cpu");
}

void near_switch(struct braze_session *s)
{
	/* Of other loops, or another libm, the bits may differ. */
	bool same = s->loops == loops_identity();

	bool fits = same && !s->careful && !(s->flags & (BRAZE_EAGER | BRAZE_UNFUSED)) && on_cpu(s);
	s->near = fits ? s->near_made : NULL;
}

/* Tenths of a nanosecond an element, from the worst that each loop took on the slowest
 * of the levels: ops.def tells the good case of float64. */
static uint32_t cost_of(unsigned op, unsigned d)
{
	const struct op_row *row = op_row(op);
	const struct dtype_row *type = dtype_row(d);
	unsigned cost = row->cost;
	bool function = cost >= 10;

	switch ((enum dtype_class)type->cls) {
	case CLASS_COMPLEX:
		return cost * (function ? 40 : 20);
	case CLASS_FLOAT:
		return cost * (d == DT_FLOAT16 ? 20 : function ? 10 : 5);
	default:
		return cost * (op == OP_POWER ? 5 : cost >= 4 ? 10 : 5);
	}
}

static void fill_costs(struct near *n)
{
	for (unsigned op = 0; op < OP_END; op++)
		for (unsigned d = 0; op_row(op) && d < DTYPE_END; d++) {
			bool have = op == OP_CAST || n->lib->isa->op[op][d] ||
				    n->lib->isa->red[op][d].init;
			n->cost[op][d] = have ? cost_of(op, d) : 0;
		}
}

void near_open(struct braze_session *s)
{
	const char *wish = getenv("BRAZE_NEAR");
	bool off = wish && !strcmp(wish, "0");
	const struct loops_library *lib = off || s->near_made ? NULL : near_library();

	if (lib) {
		struct near *n = calloc(1, sizeof(*n));
		struct near_scratch *scratch = aligned_alloc(64, sizeof(*scratch));
		if (n && scratch) {
			n->lib = lib;
			n->scratch = scratch;
			fill_costs(n);
			s->near_made = n;
		} else {
			free(n);
			free(scratch);
		}
	}
	near_switch(s);
}

void near_close(struct braze_session *s)
{
	struct near *n = s->near_made;

	for (int k = 0; n && k < NEAR_CLASSES; k++)
		while (n->free[k]) {
			void *next = *(void **)n->free[k];
			free(n->free[k]);
			n->free[k] = next;
		}
	if (n)
		free(n->scratch);
	free(n);
	s->near = s->near_made = NULL;
}

/* ---- Where ---- */

static unsigned class_of(uint64_t bytes)
{
	unsigned k = bytes <= 1 ? 0 : 64u - (unsigned)__builtin_clzll(bytes - 1);

	return k < NEAR_LEAST ? 0 : k - NEAR_LEAST;
}

bool near_block(struct braze_session *s, struct buffer *b, uint64_t bytes)
{
	struct near *n = s->near_made;
	unsigned k = class_of(bytes);

	if (likely(n->free[k] != NULL)) {
		b->block = n->free[k];
		n->free[k] = *(void **)n->free[k];
		n->kept -= (size_t)1 << (k + NEAR_LEAST);
	} else {
		b->block = aligned_alloc(64, (size_t)1 << (k + NEAR_LEAST));
	}
	b->size = k;
	b->at = b->block;
	return b->block != NULL;
}

void near_unblock(struct braze_session *s, struct buffer *b)
{
	struct near *n = s->near_made;
	size_t bytes = (size_t)1 << (b->size + NEAR_LEAST);

	if (n->kept + bytes <= NEAR_POOL) {
		*(void **)b->block = n->free[b->size];
		n->free[b->size] = b->block;
		n->kept += bytes;
	} else {
		free(b->block);
	}
	b->block = NULL;
}

struct braze_array *near_array(struct braze_session *s, enum dtype d, const struct shape *shape,
			       int64_t count)
{
	uint64_t bytes = (uint64_t)count * dtype_row(d)->bytes;

	if (bytes > NEAR_BYTES || array_room(s, NULL))
		return NULL;
	struct buffer *b = array_take_buffer(s, bytes);
	/* Loops write whole vectors. */
	if (unlikely(!near_block(s, b, bytes + TIER0_LANES * dtype_row(d)->bytes - 1))) {
		array_drop_buffer(s, b);
		return NULL;
	}
	b->flags = BUF_APART | BUF_NEAR;
	b->kept = 1;
	atomic_store_explicit(&b->stored, 1, memory_order_relaxed);
	b->handles = NULL;
	struct braze_array *a = array_take(s, b);
	apart_link(a, b);
	view_init(&a->view, d, shape);
	a->count = count;
	a->contiguous = true;
	return a;
}
