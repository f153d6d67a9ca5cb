/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/near_block.h - blocks and handles of near values, taken and given back in the
 * calling function: they are most of what a small operation costs.
 *
 * For the files of near values and array.c only. */
#ifndef BRAZE_NEAR_BLOCK_H
#define BRAZE_NEAR_BLOCK_H

#include <stdlib.h>

#include "apart.h"
#include "array.h"
#include "loan.h"
#include "near.h"

static inline unsigned near_class(uint64_t bytes)
{
	if (likely(bytes <= 1u << NEAR_LEAST))
		return 0;
	return 64u - (unsigned)__builtin_clzll(bytes - 1) - NEAR_LEAST;
}

static inline size_t near_class_bytes(unsigned size)
{
	return (size_t)1 << (size + NEAR_LEAST);
}

/* Bytes before a block's elements, at whose end its head lies. */
static inline size_t near_head(size_t room)
{
	return room < NEAR_EVEN ? sizeof(struct near_block) : NEAR_PAGE;
}

/* It is none of those that are cut from chunks. */
static inline void near_free_block(struct near_block *block)
{
	free((char *)(block + 1) - near_head(block->room));
}

/* A block of the class for b, at b->at. */
static inline bool near_take_block(struct near *n, struct buffer *b, unsigned size)
{
	struct near_block *block = n->free[size];

	if (likely(block != NULL)) {
		n->free[size] = block->next;
		n->kept -= block->room;
	} else {
		block = near_new_block(n, size);
		if (!block)
			return false;
	}
	block->refs = 1;
	b->block = block;
	b->at = (uint8_t *)(block + 1);
	return true;
}

/* One holder of a block less. */
static inline void near_drop_block(struct near *n, struct near_block *block)
{
	if (--block->refs)
		return;
	if (unlikely(block->size == NEAR_GIVEN)) {
		loan_drop_given(block);
		return;
	}
	/* A call that is rare keeps nothing of this in registers: the caller is on every value's
	 * way. */
	if (unlikely(n->kept + block->room > NEAR_POOL) && near_dropped(n, block))
		return;
	block->next = n->free[block->size];
	n->free[block->size] = block;
	n->kept += block->room;
}

/* b loses its block. */
static inline void near_unblock(struct braze_session *s, struct buffer *b)
{
	near_drop_block(s->near_made, b->block);
	b->block = NULL;
}

/* The first handle of a near value of b, which has a block and its address.  After array_room. */
static inline struct braze_array *near_handle(struct braze_session *s, struct buffer *b,
					      enum dtype d, const struct shape *shape,
					      int64_t count)
{
	b->flags = BUF_APART | BUF_NEAR;
	b->why = WHY_NEAR;
	b->kept = 1;
	atomic_store_explicit(&b->stored, 1, memory_order_relaxed);
	struct braze_array *a = array_take(s, b);
	b->handles = NULL;
	apart_link(a, b);
	if (likely(shape->ndim == 1)) { /* view_init, without a call */
		a->view.dtype = (uint8_t)d;
		a->view.offset = 0;
		a->view.shape.ndim = 1;
		a->view.shape.dim[0] = shape->dim[0];
		a->view.stride[0] = dtype_rows[d].bytes;
	} else {
		view_init(&a->view, d, shape);
	}
	a->count = count;
	a->contiguous = true;
	return a;
}

/* A near array of so many bytes to be filled; NULL: too large, or no memory. */
static inline struct braze_array *near_make(struct braze_session *s, enum dtype d,
					    const struct shape *shape, int64_t count,
					    uint64_t bytes)
{
	if (bytes > NEAR_MOST || array_room(s, NULL))
		return NULL;
	struct buffer *b = array_take_buffer(s, bytes);
	/* Loops write whole vectors. */
	if (unlikely(!near_take_block(s->near_made, b,
				      near_class(bytes + TIER0_LANES * dtype_rows[d].bytes - 1)))) {
		array_drop_buffer(s, b);
		return NULL;
	}
	return near_handle(s, b, d, shape, count);
}

#endif
