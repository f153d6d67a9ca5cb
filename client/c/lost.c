/* SPDX-License-Identifier: Apache-2.0 */
#include "lost.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "array.h"
#include "future.h"
#include "lease.h"
#include "watch.h"
#include "wire.h"

#define TRIM_BYTES (64ull << 20) /* so much dropped is worth a look for what can go */

/* ---- Mapped memory ---- */

struct mapping *mapping_create(uint8_t *base, uint64_t bytes)
{
	struct mapping *m = calloc(1, sizeof(*m));

	if (m)
		*m = (struct mapping){.base = base, .bytes = bytes, .refs = 1};
	return m;
}

void mapping_hold(struct mapping *m)
{
	atomic_fetch_add(&m->refs, 1);
}

void mapping_drop(struct mapping *m)
{
	if (!m || atomic_fetch_sub(&m->refs, 1) != 1)
		return;
	munmap(m->base, m->bytes);
	free(m);
}

/* ---- The loss ---- */

/* Call fn for every live handle. */
static void each_handle(struct braze_session *s, void (*fn)(struct braze_array *a))
{
	for (size_t i = 0; i < s->nslabs; i++) {
		struct braze_array *a = s->slabs[i].arrays;
		for (int k = 0; a && k < SLAB_ITEMS; k++)
			if (a[k].serial)
				fn(&a[k]);
	}
}

/* Handles of a buffer that this loss is the first for make up a list. */
static void link_handle(struct braze_array *a)
{
	struct buffer *b = a->buf;

	if (b->flags & BUF_LOST)
		return;
	if (!(b->flags & BUF_LOSING))
		b->handles = NULL;
	b->flags |= BUF_LOSING;
	a->next = b->handles;
	b->handles = a;
}

/* Addresses that were given out stay valid as long as the buffer lives, so the memory
 * is held also where the value is pending.  A value that already lies in an older
 * arena, unchanged, is read there again. */
static void lose_buffer(struct braze_array *a)
{
	struct braze_session *s = a->session;
	struct buffer *b = a->buf;

	if (!(b->flags & BUF_LOSING))
		return;
	b->flags = (b->flags & BUF_READONLY) | BUF_LOST;
	if (b->map && b->kept == b->version)
		return;
	mapping_drop(b->map);
	b->map = s->map;
	mapping_hold(b->map);
	b->kept = future_stored(a) ? b->version : 0;
	b->at = b->map->base + atomic_load(&b->offset);
}

/* ---- Giving memory back ---- */

struct span {
	uint64_t from, to;
};

static int by_from(const void *x, const void *y)
{
	const struct span *a = x, *b = y;

	return a->from < b->from ? -1 : a->from > b->from;
}

/* Every stored value in m, in order; their number, or -1 when memory is out. */
static ssize_t spans_of(struct span **out, const struct braze_session *s, const struct mapping *m)
{
	size_t n = 0, cap = 64;
	struct span *span = malloc(cap * sizeof(*span)), *grown;

	for (size_t i = 0; span && i < s->nslabs; i++) {
		const struct braze_array *a = s->slabs[i].arrays;
		for (int k = 0; span && a && k < SLAB_ITEMS; k++) {
			const struct buffer *b = a[k].buf;
			if (!a[k].serial || b->map != m || !b->kept)
				continue;
			if (n == cap) {
				grown = realloc(span, (cap *= 2) * sizeof(*span));
				if (!grown)
					free(span);
				span = grown;
			}
			if (span)
				span[n++] = (struct span){(uint64_t)(b->at - m->base),
							  (uint64_t)(b->at - m->base) + b->bytes};
		}
	}
	if (!span)
		return -1;
	qsort(span, n, sizeof(*span), by_from);
	*out = span;
	return (ssize_t)n;
}

static void punch(const struct mapping *m, uint64_t from, uint64_t to)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	from = (from + page - 1) / page * page;
	to = to / page * page;
	/* Failure only means that the pages stay. */
	if (from < to && madvise(m->base + from, to - from, MADV_REMOVE))
		return;
}

/* Nobody will use the old arena but this process: what holds no value goes back. */
static void trim(const struct braze_session *s, struct mapping *m)
{
	struct span *span = NULL;
	ssize_t n = spans_of(&span, s, m);
	uint64_t at = 0;

	m->dropped = 0;
	if (n < 0)
		return;
	for (ssize_t i = 0; i < n; i++) {
		punch(m, at, span[i].from);
		at = span[i].to > at ? span[i].to : at;
	}
	punch(m, at, m->bytes);
	free(span);
}

void lost_drop(struct braze_session *s, struct buffer *b)
{
	struct mapping *m = b->map;

	b->map = NULL;
	m->dropped += b->bytes;
	if (m->refs > 1 && m->dropped > TRIM_BYTES)
		trim(s, m);
	mapping_drop(m);
}

void lost_mark(struct braze_session *s)
{
	s->marked = true;
	s->loss = s->death;
	watch_lose(s);
	if (!s->map)
		return;		      /* it was never connected */
	pthread_mutex_lock(&s->sock); /* an answer may just be stored */
	each_handle(s, link_handle);
	each_handle(s, lose_buffer);
	pthread_mutex_unlock(&s->sock);
	trim(s, s->map);
}

/* ---- Use after the loss ---- */

enum status lost_error(const struct braze_array *a, struct err *err)
{
	const struct braze_session *s = a->session;
	uint64_t stored = atomic_load(&a->buf->stored);
	char shape[160];

	return err_set(err, E_DAEMON_GONE,
		       "%s array of shape %s is lost: %s when the connection ended (%.90s); "
		       "compute it again",
		       dtype_row(a->view.dtype)->name,
		       shape_text(&a->view.shape, shape, sizeof(shape)),
		       stored		? "a write to it was not done"
		       : s->ndevice > 1 ? "it was pending, or on a device only,"
					: "it was pending",
		       s->loss.text[0] ? s->loss.text : "the daemon is gone");
}

void lost_unlink(struct braze_array *a)
{
	struct braze_array **p = &a->buf->handles;

	while (*p && *p != a)
		p = &(*p)->next;
	if (*p)
		*p = a->next;
}

static struct braze_array *take_linked(struct braze_session *s, struct buffer *b)
{
	struct braze_array *a = array_take(s, b);

	a->next = b->handles;
	b->handles = a;
	return a;
}

enum status lost_view(struct braze_array **out, struct braze_array *a, const struct view *v,
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
	r->view = *v;
	r->count = count;
	r->contiguous = view_contiguous(v);
	*out = r;
	return OK;
}

enum status lost_snapshot(struct braze_array **out, struct braze_array *a, struct err *err)
{
	struct braze_session *s = a->session;
	enum status st = future_stored(a) ? array_room(s, err) : lost_error(a, err);

	if (st)
		return st;
	struct buffer *b = array_take_buffer(s, a->buf->bytes);
	b->flags = BUF_READONLY | BUF_LOST;
	b->map = a->buf->map;
	mapping_hold(b->map);
	b->at = a->buf->at;
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

/* The buffer in one row, which every handle views and nobody keeps. */
static enum status import_viewed(struct braze_session *s, struct buffer *b, uint64_t offset,
				 struct err *err)
{
	enum dtype d = root_dtype(b);
	enum status st = array_room(s, err);

	if (!st)
		st = record_room(s, 0, 3, err);
	if (st)
		return st;
	uint32_t root = array_take_id(s);
	record_op(s, OP_IMPORT, d, root, 0, 3);
	record_imm(s, offset);
	record_imm(s, 1);
	record_imm(s, b->bytes / dtype_row(d)->bytes);
	for (struct braze_array *a = b->handles; a && !st; a = a->next) {
		st = record_room(s, 1, 2 + 2u * a->view.shape.ndim, err);
		if (!st)
			record_view(s, &a->view, a->id, root);
	}
	if (!st)
		st = record_room(s, 1, 0, err);
	if (!st) {
		record_op(s, OP_DROP, DTYPE_NONE, 0, 1, 0);
		record_in(s, root);
	}
	s->free_ids[s->nfree_ids++] = root;
	return st;
}

enum status lost_ship(struct braze_array *a, struct err *err)
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
	if (!(b->flags & BUF_LOST))
		return lease_return(s, offset, b->bytes, err);
	memcpy(s->arena + offset, b->at, b->bytes);
	st = is_whole(a) ? import_whole(a, offset, err) : import_viewed(s, b, offset, err);
	if (st)
		return st;
	pthread_mutex_lock(&s->sock);
	atomic_store(&b->offset, offset);
	pthread_mutex_unlock(&s->sock);
	b->flags = (b->flags & BUF_READONLY) | BUF_FRESH;
	b->handles = NULL;
	return OK;
}
