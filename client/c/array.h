/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/array.h - handles, buffers and ids: taken from free lists, no malloc. */
#ifndef BRAZE_ARRAY_H
#define BRAZE_ARRAY_H

#include "record.h"

/* Make room for one more handle, buffer and id; only then may an op be recorded. */
enum status array_refill(struct braze_session *s, struct err *err) MUST_USE;
/* The buffer lost a reference. */
void array_drop_buffer(struct braze_session *s, struct buffer *b);
/* Every function of the API that records starts here: the session must live, or live
 * again (BRAZE_RECONNECT: the recorder lock is let go of meanwhile). */
enum status array_usable(struct braze_session *s, struct err *err) MUST_USE;

/* A handle of a's present value, whatever is stored behind it (data.c).  Recorder lock held. */
enum status array_snapshot(struct braze_array **out, struct braze_array *a,
			   struct err *err) MUST_USE;

/* May the session have arrays of the type?  Every type but bfloat16 is as old as daemons are. */
static inline enum status array_type(struct braze_session *s, unsigned d, struct err *err)
{
	if (likely(d != DT_BFLOAT16))
		return OK;
	if (s->minor < MINOR_BRAIN)
		return err_set(err, E_UNSUPPORTED,
			       "the daemon is of a version that has no bfloat16");
	s->bfloat16 = true;
	return OK;
}

static inline enum status array_room(struct braze_session *s, struct err *err)
{
	if (likely(s->free_arrays && s->free_buffers && (s->nfree_ids || s->next_id < s->cap_ids)))
		return OK;
	return array_refill(s, err);
}

static inline uint32_t array_take_id(struct braze_session *s)
{
	return s->nfree_ids ? s->free_ids[--s->nfree_ids] : s->next_id++;
}

/* A handle with an id on buf (whose reference it takes); the view is the caller's
 * to fill.  After array_room. */
static inline struct braze_array *array_take(struct braze_session *s, struct buffer *buf)
{
	struct braze_array *a = s->free_arrays;

	s->free_arrays = a->next;
	a->session = s;
	a->buf = buf;
	a->id = array_take_id(s);
	a->named = true;
	a->serial = ++s->serial;
	atomic_store_explicit(&a->refs, 1, memory_order_relaxed);
	s->refs++;
	return a;
}

/* A pending buffer with one reference.  After array_room. */
static inline struct buffer *array_take_buffer(struct braze_session *s, uint64_t bytes)
{
	struct buffer *b = s->free_buffers;

	s->free_buffers = b->next;
	b->refs = 1;
	b->flags = 0;
	b->version = 1;
	atomic_store_explicit(&b->stored, 0, memory_order_relaxed);
	b->bytes = bytes;
	return b;
}

/* Before `uses` and `there` are looked at: from its first loop on they are this buffer's. */
static inline void array_begin_loops(struct buffer *b)
{
	if (b->flags & BUF_LOOPS)
		return;
	b->flags |= BUF_LOOPS;
	b->uses = 0;
	b->there = 0;
}

/* Where element [0,...,0] lies; of a stored value. */
static inline char *array_address(const struct braze_array *a)
{
	const struct buffer *b = a->buf;
	uint8_t *base = b->flags & BUF_APART
				? b->at
				: a->session->arena +
					  atomic_load_explicit(&b->offset, memory_order_acquire);

	return (char *)base + a->view.offset;
}

/* A C-contiguous array on a new pending buffer. */
enum status array_create(struct braze_array **out, struct braze_session *s, enum dtype d,
			 const struct shape *shape, struct err *err) MUST_USE;
/* A handle on a's buffer with view v.  Its VIEW op is recorded; of a value at hand not
 * before an operation uses it that is (array_name). */
enum status array_view(struct braze_array **out, struct braze_array *a, const struct view *v,
		       struct err *err) MUST_USE;
/* The daemon gets to know a handle that it has no name of. */
enum status array_name(struct braze_array *a, struct err *err) MUST_USE;
/* What the daemon knows a's buffer by. */
static inline uint32_t array_root(const struct braze_array *a)
{
	return a->named ? a->id : a->buf->root;
}
/* Give the handle back; its DROP is recorded.  Recorder lock held. */
void array_release(struct braze_array *a);
/* The same of one that the daemon has never heard of. */
void array_forget(struct braze_array *a);
/* One holder less.  Recorder lock held. */
static inline void array_unref(struct braze_array *a)
{
	if (atomic_fetch_sub_explicit(&a->refs, 1, memory_order_acq_rel) == 1)
		array_release(a);
}
/* Check ndim and copy the extents; E_LIMIT or E_INVALID. */
enum status array_shape(struct shape *out, int ndim, const int64_t *shape,
			struct err *err) MUST_USE;

#endif
