/* SPDX-License-Identifier: Apache-2.0 */
#include "apart.h"

#include <string.h>

#include "future.h"
#include "lease.h"
#include "lost.h"
#include "near_block.h"
#include "profile.h"
#include "watch.h"

/* ---- Handles ---- */

static struct braze_array *take_linked(struct braze_session *s, struct buffer *b)
{
	struct braze_array *a = array_take(s, b);

	apart_link(a, b);
	return a;
}

enum status apart_view(struct braze_array **out, struct braze_array *a, const struct view *v,
		       struct err *err)
{
	enum status st = view_check(v, a->buf->bytes, err);
	int64_t count;

	if (!st && !future_stored(a))
		st = lost_error(a, err);
	if (!st)
		st = shape_count(&count, &v->shape, dtype_row(v->dtype)->bytes, err);
	if (!st)
		st = array_room(a->session, err);
	if (st)
		return st;
	a->buf->refs++;
	struct braze_array *r = take_linked(a->session, a->buf);
	view_copy(&r->view, v);
	r->count = count;
	r->contiguous = view_contiguous(v);
	*out = r;
	return OK;
}

enum status apart_snapshot(struct braze_array **out, struct braze_array *a, struct err *err)
{
	struct braze_session *s = a->session;
	enum status st = future_stored(a) ? array_room(s, err) : lost_error(a, err);
	const struct buffer *of = a->buf;

	if (st)
		return st;
	struct buffer *b = array_take_buffer(s, a->buf->bytes);
	if (of->flags & BUF_NEAR) {
		b->block = of->block;
		b->block->refs++;
	} else {
		b->map = of->map;
		mapping_hold(b->map);
	}
	b->at = of->at;
	b->why = of->why;
	b->flags = BUF_READONLY | BUF_APART | (of->flags & BUF_NEAR);
	b->kept = b->version;
	atomic_store(&b->stored, b->version);
	b->handles = NULL;
	struct braze_array *r = take_linked(s, b);
	r->view = a->view;
	r->count = a->count;
	r->contiguous = a->contiguous;
	watch_share(s, b, a->buf);
	*out = r;
	return OK;
}

/* ---- Shipping ---- */

/* One handle that shows the whole buffer in order is the import itself. */
static bool is_whole(const struct braze_array *a)
{
	const struct buffer *b = a->buf;

	return b->handles == a && !a->next && a->contiguous && a->view.offset == 0 &&
	       (uint64_t)a->count * dtype_row(a->view.dtype)->bytes == b->bytes;
}

/* A type that views of all the handles' types can be taken of. */
static enum dtype root_dtype(const struct buffer *b)
{
	enum dtype d = (enum dtype)b->handles->view.dtype;

	for (const struct braze_array *a = b->handles; a; a = a->next) {
		const struct dtype_row *row = dtype_row(a->view.dtype);
		if (row->bytes > dtype_row(d)->bytes && b->bytes % row->bytes == 0)
			d = (enum dtype)a->view.dtype;
	}
	return d;
}

static enum status import_whole(struct braze_array *a, uint64_t offset, struct err *err)
{
	struct braze_session *s = a->session;
	unsigned nimm = 2u + a->view.shape.ndim;
	enum status st = record_room(s, 0, nimm, err);

	if (st)
		return st;
	record_op(s, OP_IMPORT, a->view.dtype, a->id, 0, nimm);
	record_imm(s, offset);
	record_shape(s, &a->view.shape);
	return OK;
}

/* The buffer in one row, whose name is kept while handles without one live. */
static enum status import_viewed(struct braze_session *s, struct buffer *b, uint64_t offset,
				 struct err *err)
{
	enum dtype d = root_dtype(b);
	enum status st = array_room(s, err);

	if (!st)
		st = record_room(s, 0, 3, err);
	if (st)
		return st;
	b->root = array_take_id(s);
	record_op(s, OP_IMPORT, d, b->root, 0, 3);
	record_imm(s, offset);
	record_imm(s, 1);
	record_imm(s, b->bytes / dtype_row(d)->bytes);
	b->unnamed = 0;
	for (const struct braze_array *a = b->handles; a; a = a->next)
		b->unnamed++;
	return OK;
}

enum status apart_ship(struct braze_array *a, struct err *err)
{
	struct braze_session *s = a->session;
	struct buffer *b = a->buf;
	uint64_t offset;

	if (!future_stored(a))
		return lost_error(a, err);
	enum status st = lease_take(&offset, s, b->bytes, err);
	if (st)
		return st;
	/* Another thread was faster while this one waited for the lease. */
	if (!(b->flags & BUF_APART))
		return lease_return(s, offset, b->bytes, err);
	profile_copy(s, b->bytes);
	memcpy(s->arena + offset, b->at, b->bytes);
	profile_copied(s, b->bytes);
	bool whole = is_whole(a);
	st = whole ? import_whole(a, offset, err) : import_viewed(s, b, offset, err);
	if (st)
		return st;
	a->named = whole;
	pthread_mutex_lock(&s->sock);
	atomic_store(&b->offset, offset);
	pthread_mutex_unlock(&s->sock);
	b->flags = (b->flags & (BUF_READONLY | BUF_LOOPS)) | BUF_FRESH |
		   (whole ? 0 : BUF_VIEWS | BUF_ROOT);
	b->handles = NULL;
	/* Others' memory has no limit, so it is not kept beside the copy: whoever reads it holds
	 * it. */
	if (b->block && b->block->size == NEAR_GIVEN)
		near_unblock(s, b);
	return OK;
}
