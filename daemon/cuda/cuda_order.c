/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_order.c - see cuda_order.h.
 *
 * A step is worth a stream of its own when it leaves at least half of the device to
 * others and lasts longer than the events that bring it there and back.  Where fewer
 * than two such steps are independent, everything stays on one stream. */
#include "cuda_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

void cuda_order_clear(struct cuda_order *o)
{
	o->n = o->nrange = 0;
}

void cuda_order_finish(struct cuda_order *o)
{
	free(o->range);
	*o = (struct cuda_order){0};
}

static bool conflict(const struct cuda_order *o, const struct cuda_order_step *a,
		     const struct cuda_order_step *b)
{
	for (uint32_t i = 0; i < a->nrange; i++) {
		const struct cuda_order_range *x = &o->range[a->range + i];

		for (uint32_t k = 0; k < b->nrange; k++) {
			const struct cuda_order_range *y = &o->range[b->range + k];

			if ((x->write || y->write) && x->lo < y->hi && y->lo < x->hi)
				return true;
		}
	}
	return false;
}

static void set_add(struct cuda_order_set *s, uint32_t i)
{
	s->word[i / 64] |= 1ull << (i % 64);
}

static void set_join(struct cuda_order_set *s, const struct cuda_order_set *other)
{
	for (unsigned w = 0; w < CUDA_ORDER_STEPS / 64; w++)
		s->word[w] |= other->word[w];
}

void cuda_order_add(struct cuda_order *o, const struct cuda_order_range *range, uint32_t n,
		    uint32_t blocks, uint64_t turns)
{
	struct cuda_order_step *s = &o->step[o->n];

	if (o->cap - o->nrange < n) {
		o->cap = o->cap * 2 + n + 64;
		o->range = xrealloc(o->range, o->cap, sizeof *o->range);
	}
	if (n)
		memcpy(o->range + o->nrange, range, n * sizeof *range);
	*s = (struct cuda_order_step){
		.range = o->nrange, .nrange = n, .blocks = blocks, .turns = turns};
	o->nrange += n;
	/* Latest first: what that one follows need not be looked at. */
	for (uint32_t i = o->n; i-- > 0;) {
		if (cuda_order_has(&s->behind, i) || !conflict(o, &o->step[i], s))
			continue;
		set_add(&s->after, i);
		set_add(&s->behind, i);
		set_join(&s->behind, &o->step[i].behind);
	}
	o->n++;
}

static bool worth(const struct cuda_order_step *s, uint64_t blocks)
{
	return s->turns >= CUDA_ORDER_TURNS && 2ull * s->blocks <= blocks;
}

/* Is there any pair of steps worth it of which neither follows the other? */
static bool pair(const struct cuda_order *o, uint64_t blocks)
{
	for (uint32_t i = 1; i < o->n; i++) {
		for (uint32_t k = 0; k < i && worth(&o->step[i], blocks); k++) {
			if (worth(&o->step[k], blocks) && !cuda_order_has(&o->step[i].behind, k))
				return true;
		}
	}
	return false;
}

/* The stream whose last step this one follows, and so needs no event; else that of the
 * latest step it follows; -1: it follows none. */
static int followed(const struct cuda_order *o, const struct cuda_order_step *s,
		    const uint32_t last[CUDA_ORDER_STREAMS])
{
	int found = -1;

	for (uint32_t i = o->n; i-- > 0;) {
		if (!cuda_order_has(&s->after, i))
			continue;
		if (last[o->step[i].stream] == i + 1)
			return (int)o->step[i].stream;
		found = found < 0 ? (int)o->step[i].stream : found;
	}
	return found;
}

uint32_t cuda_order_spread(struct cuda_order *o, uint64_t blocks)
{
	uint64_t load[CUDA_ORDER_STREAMS] = {0};
	uint32_t last[CUDA_ORDER_STREAMS] = {0}, used = 1; /* last: its number, from 1 */
	bool several = pair(o, blocks);

	for (uint32_t i = 0; i < o->n; i++) {
		struct cuda_order_step *s = &o->step[i];
		int stream = several ? followed(o, s, last) : 0;
		uint32_t best = 0;

		for (uint32_t k = 1; several && k < CUDA_ORDER_STREAMS; k++)
			best = load[k] < load[best] ? k : best;
		/* Its predecessor's stream has gone on: another is free sooner. */
		if (stream < 0 || (last[stream] && !cuda_order_has(&s->after, last[stream] - 1)))
			stream = several && worth(s, blocks) ? (int)best : stream < 0 ? 0 : stream;
		s->stream = (uint32_t)stream;
		load[stream] += s->turns;
		last[stream] = i + 1;
		used = s->stream + 1 > used ? s->stream + 1 : used;
	}
	return used;
}
