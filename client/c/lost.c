/* SPDX-License-Identifier: Apache-2.0 */
#include "lost.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "apart.h"
#include "future.h"
#include "watch.h"

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

	if (b->flags & BUF_APART)
		return;
	if (!(b->flags & BUF_LOSING))
		b->handles = NULL;
	b->flags |= BUF_LOSING;
	apart_link(a, b);
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
	if (b->flags & BUF_ROOT)
		s->free_ids[s->nfree_ids++] = b->root;
	b->flags = (b->flags & BUF_READONLY) | BUF_APART;
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
	if (m->refs > 1 && m->dropped > TRIM_BYTES && !m->region)
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
