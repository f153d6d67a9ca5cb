/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/data.c - reading values, writing them in place, snapshots.
 *
 * A value that is stored is read with no message.  Writing in place goes through
 * a fence: the daemon first runs or copies what still needs the old value. */
#include "apart.h"
#include "array.h"
#include "copy.h"
#include "future.h"
#include "lock.h"
#include "lost.h"
#include "near.h"
#include "region.h"
#include "ticket.h"
#include "watch.h"
#include "wire.h"

/* What was stored when the daemon went stays readable. */
static enum status readable(const struct braze_array *a, struct err *err)
{
	return a->session->forked ? wire_dead(a->session, err) : OK;
}

void *braze_hold(braze_array *a)
{
	struct braze_session *s = a->session;

	lock_take(s);
	struct mapping *m = region_map_of(a);
	if (m)
		mapping_hold(m);
	lock_give(s);
	return m;
}

void braze_unhold(void *hold)
{
	mapping_drop(hold);
}

int braze_is_stored(const braze_array *a)
{
	lock_take(a->session);
	int r = future_stored(a) &&
		(likely(!a->buf->watch) || watch_known(a->session, a->buf->watch));
	if (r)
		near_read(a->session->near);
	lock_give(a->session);
	return r;
}

int braze_data(const void **data, braze_array *a, braze_check_fn *check, void *cdata,
	       braze_error *error)
{
	struct err *err = err_of(error);

	lock_take(a->session);
	int st = (int)readable(a, err);
	if (!st)
		st = future_value(a, check, cdata, err);
	if (!st)
		*data = array_address(a);
	lock_give(a->session);
	return st;
}

const void *braze_at_hand(braze_array *a)
{
	const void *data = NULL;

	lock_take(a->session);
	if (likely(future_stored(a) && !a->buf->watch && !a->session->forked)) {
		near_read(a->session->near);
		data = array_address(a);
	}
	lock_give(a->session);
	return data;
}

int braze_read(void *dst, braze_array *a, braze_error *error)
{
	struct err *err = err_of(error);

	lock_take(a->session);
	int st = (int)readable(a, err);
	if (!st)
		st = future_value(a, NULL, NULL, err);
	if (!st)
		copy_gather(dst, &a->view.shape, a->contiguous ? NULL : a->view.stride,
			    array_address(a), dtype_row(a->view.dtype)->bytes);
	lock_give(a->session);
	return st;
}

/* ---- Writing in place ---- */

static int ask_fence(struct braze_array *a, braze_check_fn *check, void *data, struct err *err)
{
	struct braze_session *s = a->session;
	struct buffer *b = a->buf;
	Braze__Wire__Request r = BRAZE__WIRE__REQUEST__INIT;
	Braze__Wire__Fence fence = BRAZE__WIRE__FENCE__INIT;
	struct braze_future *f = ticket_create(s, TICKET_FENCE, 1, err);

	if (!f)
		return E_NOMEM;
	f->item[f->n++] = (struct ticket_item){.buf = b, .version = b->version};
	b->refs++;
	ticket_open(f, 1);
	fence.ticket = f->first;
	fence.id = array_root(a);
	r.fence = &fence;
	b->flags |= BUF_FENCING;
	int st = (int)wire_send(s, &r, err);
	if (!st)
		st = wire_wait(f, -1, check, data, err);
	/* An op recorded meanwhile took BUF_FENCING away: the answer is stale. */
	if (!st && (b->flags & BUF_FENCING) && b->version == f->item[0].version) {
		pthread_mutex_lock(&s->sock);
		atomic_store(&b->offset, f->offset);
		atomic_store(&b->stored, b->version);
		pthread_mutex_unlock(&s->sock);
		if (b->flags & BUF_REGION)
			region_leave(b);
		b->flags = (b->flags & ~(uint32_t)BUF_ENDS) | BUF_HOST;
	}
	b->flags &= ~(uint32_t)BUF_FENCING;
	ticket_destroy(f);
	return st;
}

static int fence(struct braze_array *a, braze_check_fn *check, void *data, struct err *err)
{
	struct buffer *b = a->buf;

	if (b->flags & BUF_NEAR && !(b->flags & BUF_READONLY) && !a->session->forked)
		return near_own(a->session, b)
			       ? OK
			       : (int)err_set(err, E_NOMEM, "no memory to write to the array");
	int st = (int)array_usable(a->session, err);

	if (!st && (b->flags & BUF_READONLY))
		st = (int)err_set(err, E_READONLY, "a snapshot may not be written");
	while (!st && (b->flags & BUF_APART))
		st = (int)apart_ship(a, err);
	if (!st && (b->flags & BUF_FRESH))
		b->flags = (b->flags & ~(uint32_t)BUF_FRESH) | BUF_HOST;
	if (!st && unlikely(b->watch))
		st = future_value(a, check, data, err);
	while (!st && !(b->flags & BUF_HOST))
		st = ask_fence(a, check, data, err);
	return st;
}

enum status future_fence(struct braze_array *a, struct err *err)
{
	const struct braze_session *s = a->session;

	return (enum status)fence(a, s->owned ? s->owner.check : NULL, s->owner.data, err);
}

int braze_fence(void **data, braze_array *a, braze_check_fn *check, void *cdata, braze_error *error)
{
	lock_take(a->session);
	int st = fence(a, check, cdata, err_of(error));
	if (!st)
		*data = array_address(a);
	lock_give(a->session);
	return st;
}

int braze_is_writable(const braze_array *a)
{
	lock_take(a->session);
	uint32_t flags = a->buf->flags;
	int r = flags & BUF_HOST || (flags & BUF_NEAR && !(flags & BUF_READONLY));
	lock_give(a->session);
	return r;
}

void *braze_written_at_hand(braze_array *a)
{
	const struct buffer *b = a->buf;
	void *data = NULL;

	lock_take(a->session);
	if (likely(b->flags & BUF_NEAR && !(b->flags & BUF_READONLY) && b->block->refs == 1 &&
		   !a->session->forked))
		data = array_address(a);
	lock_give(a->session);
	return data;
}

int braze_is_ours(const braze_array *a)
{
	lock_take(a->session);
	uint32_t flags = a->buf->flags;
	int r = flags & (BUF_HOST | BUF_FRESH | BUF_NEAR) && !(flags & BUF_READONLY);
	lock_give(a->session);
	return r;
}

int braze_is_frozen(const braze_array *a)
{
	lock_take(a->session);
	int r = (a->buf->flags & BUF_READONLY) != 0;
	lock_give(a->session);
	return r;
}

/* ---- Snapshots ---- */

enum status array_snapshot(struct braze_array **out, struct braze_array *a, struct err *err)
{
	struct braze_session *s = a->session;

	if (apart_is(a))
		return apart_snapshot(out, a, err);
	enum status st = array_usable(s, err);
	/* What the host may still write is no frozen value. */
	if (!st)
		st = record_use(a, err);
	if (!st)
		st = array_room(s, err);
	if (!st)
		st = record_room(s, 1, 0, err);
	if (st)
		return st;
	struct buffer *b = array_take_buffer(s, a->buf->bytes);
	struct braze_array *r = array_take(s, b);
	b->flags = BUF_READONLY;
	b->why = a->buf->why;
	if (unlikely(a->buf->watch))
		watch_share(s, b, a->buf);
	if (future_stored(a)) {
		atomic_store(&b->offset, atomic_load(&a->buf->offset));
		atomic_store(&b->stored, b->version);
		region_share(b, a->buf);
	}
	r->view = a->view;
	r->count = a->count;
	r->contiguous = a->contiguous;
	record_op(s, OP_PIN, DTYPE_NONE, r->id, 1, 0);
	record_in(s, a->id);
	*out = r;
	return OK;
}

int braze_snapshot(braze_array **out, braze_array *a, braze_error *error)
{
	lock_take(a->session);
	int st = (int)readable(a, err_of(error));
	if (!st)
		st = (int)array_snapshot(out, a, err_of(error));
	lock_give(a->session);
	return st;
}
