/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/loan.c - memory that a binding reads for a while, and memory that it gives.
 *
 * A loan holds the memory where a value lies now: who writes the array meanwhile writes
 * elsewhere, or (in the arena) where the reader may see it, but nothing is unmapped or used
 * again.  What is given is a near buffer of any size: no byte is copied before its first
 * far use. */
#include "loan.h"

#include <stdlib.h>
#include <string.h>

#include "future.h"
#include "lock.h"
#include "lost.h"
#include "near_block.h"
#include "region.h"
#include "profile.h"

#define MADE_MORE 16 /* bytes of any element */

struct given {
	struct near_block block;
	braze_drop_fn *drop;
	void *of;
};

/* ---- Given memory ---- */

static struct near_block *given_block(braze_drop_fn *drop, void *of)
{
	struct given *g = aligned_alloc(64, sizeof(*g));

	if (!g)
		return NULL;
	g->block = (struct near_block){.refs = 1, .size = NEAR_GIVEN};
	g->drop = drop;
	g->of = of;
	return &g->block;
}

void loan_drop_given(struct near_block *block)
{
	struct given *g = (struct given *)(void *)block;

	g->drop(g->of);
	free(g);
}

bool loan_copy_given(struct buffer *b)
{
	void *copy = malloc(b->bytes ? b->bytes : 1);
	struct near_block *block = copy ? given_block(free, copy) : NULL;

	if (!block) {
		free(copy);
		return false;
	}
	memcpy(copy, b->at, b->bytes);
	b->block->refs--;
	block->room = b->bytes;
	b->block = block;
	b->at = copy;
	return true;
}

static struct braze_array *given_array(struct braze_session *s, enum dtype d,
				       const struct shape *shape, void *data,
				       struct near_block *block)
{
	int64_t count;

	if (shape_count(&count, shape, dtype_row(d)->bytes, NULL) || array_room(s, NULL))
		return NULL;
	struct buffer *b = array_take_buffer(s, (uint64_t)count * dtype_row(d)->bytes);
	b->block = block;
	block->room = b->bytes;
	b->at = data;
	near_grant(s->near, b->bytes);
	return near_handle(s, b, d, shape, count);
}

int braze_give(braze_array **out, braze_session *s, int dtype, int ndim, const int64_t *dims,
	       void *data, braze_drop_fn *drop, void *of)
{
	struct braze_array *a = NULL;
	struct shape shape;
	int given = 0;

	lock_take(s);
	if (s->near && !array_shape(&shape, ndim, dims, NULL)) {
		struct near_block *block = given_block(drop, of);
		a = block ? given_array(s, (enum dtype)dtype, &shape, data, block) : NULL;
		if (!a)
			free(block);
		given = a != NULL;
	}
	if (a)
		*out = a;
	lock_give(s);
	return given;
}

static struct braze_array *made_array(struct braze_session *s, enum dtype d,
				      const struct shape *shape, uint64_t bytes)
{
	void *data = bytes <= SIZE_MAX - MADE_MORE ? malloc(bytes + MADE_MORE) : NULL;
	struct near_block *block = data ? given_block(free, data) : NULL;
	struct braze_array *a = block ? given_array(s, d, shape, data, block) : NULL;

	if (!a) {
		free(data);
		free(block);
	}
	return a;
}

int braze_near_made(braze_array **out, void **data, braze_session *s, int dtype, int ndim,
		    const int64_t *dims)
{
	enum dtype d = (enum dtype)dtype;
	struct braze_array *a = NULL;
	struct shape shape;
	int64_t count = 0;

	lock_take(s);
	if (s->near && !array_shape(&shape, ndim, dims, NULL) &&
	    !shape_count(&count, &shape, dtype_row(d)->bytes, NULL)) {
		uint64_t bytes = (uint64_t)count * dtype_row(d)->bytes;
		/* Blocks have room for whole vectors. */
		a = bytes <= NEAR_WIDE ? near_array(s, d, &shape, count)
				       : made_array(s, d, &shape, bytes);
		near_grant(s->near, bytes);
	}
	if (a) {
		*out = a;
		*data = a->buf->at;
	}
	lock_give(s);
	return a != NULL;
}

/* ---- Loans ---- */

/* A near block's address is a multiple of its alignment, so its lowest bit is free. */
#define IS_BLOCK 1u

int braze_lend(braze_loan *out, braze_array *a)
{
	struct braze_session *s = a->session;
	struct buffer *b = a->buf;

	lock_take(s);
	/* Who reads a watched value is to be told what it is watched for. */
	int held = !s->forked && future_stored(a) && !b->watch;
	if (held && b->flags & BUF_NEAR) {
		b->block->refs++;
		out->hold = (char *)b->block + IS_BLOCK;
	} else if (held) {
		struct mapping *m = region_map_of(a);
		if (m)
			mapping_hold(m);
		out->hold = m;
	}
	if (held) {
		out->data = array_address(a);
		near_read(s->near);
	}
	lock_give(s);
	return held;
}

void braze_end_loan(braze_session *s, braze_loan *loan)
{
	uintptr_t at = (uintptr_t)loan->hold;

	if (!(at & IS_BLOCK)) {
		mapping_drop(loan->hold);
		return;
	}
	if (s->forked)
		return; /* the lists may have been copied half-way through a change */
	lock_take(s);
	near_drop_block(s->near_made, (struct near_block *)(void *)((char *)loan->hold - IS_BLOCK));
	lock_give(s);
}

int braze_is_near(const braze_array *a)
{
	struct braze_session *s = a->session;

	lock_take(s);
	int r = s->near && near_hand(a) && !a->buf->watch;
	lock_give(s);
	return r;
}

int braze_copies_near(braze_session *s, int dtype, int64_t count)
{
	unsigned d = (unsigned)dtype;

	lock_take(s);
	int r = s->near &&
		near_fits(s->near, near_work(s->near, OP_CAST, d, count), near_bytes(d, count));
	lock_give(s);
	return r;
}

void braze_count_near(braze_session *s)
{
	lock_take(s);
	count_near(s);
	lock_give(s);
}
