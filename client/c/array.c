/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/array.c - handles, buffers and ids, and what can be asked of an array.
 *
 * Invariant: an id is given out again only after its DROP stands in the stream. */
#include "array.h"

#include <stdlib.h>
#include <string.h>

#include "lock.h"
#include "lost.h"
#include "near_block.h"
#include "session.h"
#include "watch.h"

static enum status keep_slab(struct braze_session *s, struct slab slab, struct err *err)
{
	bool got = slab.arrays || slab.buffers;
	struct slab *grown = got ? realloc(s->slabs, (s->nslabs + 1) * sizeof(*grown)) : NULL;

	if (!grown) {
		free(slab.arrays);
		free(slab.buffers);
		return err_set(err, E_NOMEM, "no memory for array handles");
	}
	s->slabs = grown;
	s->slabs[s->nslabs++] = slab;
	return OK;
}

static enum status refill_ids(struct braze_session *s, struct err *err)
{
	uint32_t cap = s->cap_ids ? s->cap_ids * 2 : 1024;

	if (s->cap_ids >= LIMIT_IDS)
		return err_set(err, E_LIMIT, "more than %u arrays are alive: release some",
			       LIMIT_IDS);
	cap = cap < LIMIT_IDS ? cap : LIMIT_IDS;
	/* As long as the list can hold every id ever given, releasing needs no memory. */
	uint32_t *grown = realloc(s->free_ids, cap * sizeof(*grown));
	if (!grown)
		return err_set(err, E_NOMEM, "no memory for %u array ids", cap);
	s->free_ids = grown;
	s->cap_ids = cap;
	return OK;
}

enum status array_refill(struct braze_session *s, struct err *err)
{
	enum status st = OK;

	if (!s->free_arrays) {
		struct braze_array *slab = calloc(SLAB_ITEMS, sizeof(*slab));
		if ((st = keep_slab(s, (struct slab){.arrays = slab}, err)))
			return st;
		for (int i = SLAB_ITEMS - 1; i >= 0; i--) {
			slab[i].next = s->free_arrays;
			s->free_arrays = &slab[i];
		}
	}
	if (!s->free_buffers) {
		struct buffer *slab = calloc(SLAB_ITEMS, sizeof(*slab));
		if ((st = keep_slab(s, (struct slab){.buffers = slab}, err)))
			return st;
		for (int i = SLAB_ITEMS - 1; i >= 0; i--) {
			slab[i].next = s->free_buffers;
			s->free_buffers = &slab[i];
		}
	}
	if (!s->nfree_ids && s->next_id >= s->cap_ids)
		st = refill_ids(s, err);
	return st;
}

inline void array_drop_buffer(struct braze_session *s, struct buffer *b)
{
	if (--b->refs)
		return;
	if (unlikely(b->map))
		lost_drop(s, b);
	if (unlikely(b->watch))
		watch_put(s, b, NULL);
	if (b->block)
		near_unblock(s, b);
	b->next = s->free_buffers;
	s->free_buffers = b;
}

enum status array_usable(struct braze_session *s, struct err *err)
{
	if (likely(!atomic_load_explicit(&s->state, memory_order_relaxed)))
		return OK;
	return session_revive(s, err);
}

enum status array_shape(struct shape *out, int ndim, const int64_t *shape, struct err *err)
{
	if (ndim < 0 || ndim > LIMIT_NDIM)
		return err_set(err, E_LIMIT, "%d dimensions; at most %d are possible", ndim,
			       LIMIT_NDIM);
	out->ndim = (uint8_t)ndim;
	for (int i = 0; i < ndim; i++)
		out->dim[i] = shape[i];
	return OK;
}

enum status array_create(struct braze_array **out, struct braze_session *s, enum dtype d,
			 const struct shape *shape, struct err *err)
{
	int64_t count;
	enum status st = shape_count(&count, shape, dtype_row(d)->bytes, err);

	if (!st)
		st = array_type(s, d, err);
	if (!st)
		st = array_room(s, err);
	if (st)
		return st;
	struct braze_array *a =
		array_take(s, array_take_buffer(s, (uint64_t)count * dtype_row(d)->bytes));
	view_init(&a->view, d, shape);
	a->count = count;
	a->contiguous = true;
	record_far(s, a);
	*out = a;
	return OK;
}

/* ---- Handles without a name at the daemon ----
 *
 * Views of what is at hand come and go without a message.  One named handle of the buffer,
 * or the name that it had, is kept meanwhile: views are made of it. */

static inline void record_drop(struct braze_session *s, uint32_t id)
{
	/* A session that dies while its columns are sent needs no DROP any more. */
	if (!atomic_load_explicit(&s->state, memory_order_relaxed) && !record_room(s, 1, 0, NULL)) {
		record_op(s, OP_DROP, DTYPE_NONE, 0, 1, 0);
		record_in(s, id);
	}
	s->free_ids[s->nfree_ids++] = id;
}

/* r is a new view of a's buffer. */
static void unname(struct braze_array *r, const struct braze_array *a)
{
	struct buffer *b = r->buf;

	r->named = false;
	if (!(b->flags & BUF_VIEWS))
		b->root = a->id; /* all its handles have names */
	b->flags |= BUF_VIEWS;
	b->unnamed++;
}

/* One of the buffer's handles without a name has got one, or is gone. */
static void less_unnamed(struct braze_session *s, struct buffer *b)
{
	if (--b->unnamed)
		return;
	if (b->flags & BUF_ROOT)
		record_drop(s, b->root);
	b->flags &= ~(uint32_t)(BUF_VIEWS | BUF_ROOT);
}

enum status array_name(struct braze_array *a, struct err *err)
{
	struct braze_session *s = a->session;
	enum status st = record_room(s, 1, 2 + 2u * a->view.shape.ndim, err);

	if (st)
		return st;
	record_view(s, &a->view, a->id, a->buf->root);
	a->named = true;
	less_unnamed(s, a->buf);
	return OK;
}

/* A handle that is apart goes, or one of a buffer that has some without names: so does its
 * own name, unless that is the one to be kept. */
static __attribute__((noinline)) void release_name(struct braze_array *a)
{
	struct braze_session *s = a->session;
	struct buffer *b = a->buf;

	if (!a->named) {
		s->free_ids[s->nfree_ids++] = a->id;
		less_unnamed(s, b);
	} else if (b->root == a->id) {
		b->flags |= BUF_ROOT;
	} else {
		record_drop(s, a->id);
	}
}

enum status array_view(struct braze_array **out, struct braze_array *a, const struct view *v,
		       struct err *err)
{
	struct braze_session *s = a->session;
	int64_t count;

	if (unlikely(a->buf->flags & BUF_APART))
		return apart_view(out, a, v, err);
	enum status st = view_check(v, a->buf->bytes, err);
	if (!st)
		st = shape_count(&count, &v->shape, dtype_row(v->dtype)->bytes, err);
	if (!st)
		st = array_room(s, err);
	if (!st)
		st = record_room(s, 1, 2 + 2u * v->shape.ndim, err);
	if (st)
		return st;
	a->buf->refs++;
	struct braze_array *r = array_take(s, a->buf);
	r->view = *v;
	r->count = count;
	r->contiguous = view_contiguous(v);
	/* Either handle may be the one that is left when the buffer is asked for. */
	record_written(s, a);
	if (s->near && near_hand(a)) {
		unname(r, a);
	} else {
		record_view(s, v, r->id, array_root(a));
		record_written(s, r);
	}
	*out = r;
	return OK;
}

/* Its number is nobody's any more, or has a DROP. */
static inline void give_back(struct braze_session *s, struct braze_array *a)
{
	array_drop_buffer(s, a->buf);
	a->serial = 0;
	a->next = s->free_arrays;
	s->free_arrays = a;
	s->refs--;
}

inline void array_release(struct braze_array *a)
{
	struct braze_session *s = a->session;

	if (a->buf->flags & BUF_APART) {
		apart_unlink(a);
		s->free_ids[s->nfree_ids++] = a->id;
	} else if (a->buf->flags & BUF_VIEWS) {
		release_name(a);
	} else {
		record_drop(s, a->id);
	}
	give_back(s, a);
}

void array_forget(struct braze_array *a)
{
	struct braze_session *s = a->session;

	s->free_ids[s->nfree_ids++] = a->id;
	give_back(s, a);
}

void braze_retain(braze_array *a)
{
	atomic_fetch_add_explicit(&a->refs, 1, memory_order_relaxed);
}

/* What fails is told by the next call. */
static void tell_now(struct braze_session *s)
{
	if (!atomic_load(&s->state) && wire_flush(s, NULL))
		return;
}

/* Memory that others made is not theirs again before the daemon knows. */
static void __attribute__((noinline)) release_large(struct braze_array *a)
{
	struct braze_session *s = a->session;
	bool last = a->buf->refs == 1;

	array_release(a);
	if (last)
		tell_now(s);
}

void braze_release(braze_array *a)
{
	if (!a)
		return;
	/* The only holder need not count down: nobody else can look. */
	if (atomic_load_explicit(&a->refs, memory_order_acquire) != 1 &&
	    atomic_fetch_sub_explicit(&a->refs, 1, memory_order_acq_rel) != 1)
		return;
	struct braze_session *s = a->session;
	if (unlikely(s->forked))
		return; /* the lists may have been copied half-way through a change */
	lock_take(s);
	if (unlikely(a->buf->flags & BUF_REGION))
		release_large(a);
	else
		array_release(a);
	/* With an owner there is no lock of ours. */
	if (unlikely(!s->owned || s->refs == 0))
		session_unlock(s);
}

uint64_t braze_serial(const braze_array *a)
{
	return a->serial;
}

braze_session *braze_session_of(const braze_array *a)
{
	return a->session;
}

int braze_dtype_of(const braze_array *a)
{
	return a->view.dtype;
}

int braze_ndim(const braze_array *a)
{
	return a->view.shape.ndim;
}

const int64_t *braze_shape(const braze_array *a)
{
	return a->view.shape.dim;
}

const int64_t *braze_strides(const braze_array *a)
{
	return a->view.stride;
}

int64_t braze_offset(const braze_array *a)
{
	return a->view.offset;
}

int64_t braze_size(const braze_array *a)
{
	return a->count;
}

int braze_is_contiguous(const braze_array *a)
{
	return a->contiguous;
}

int braze_are_contiguous(const braze_array *a, const braze_array *b)
{
	return a->contiguous & b->contiguous;
}

int braze_itemsize(const braze_array *a)
{
	return dtype_row(a->view.dtype)->bytes;
}

int braze_same_buffer(const braze_array *a, const braze_array *b)
{
	return a->buf == b->buf;
}
