/* SPDX-License-Identifier: Apache-2.0 */
#include "region.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lost.h"
#include "pages.h"

/* ---- Mapped values ---- */

static struct mapping *map(int fd, uint64_t bytes, struct err *err)
{
	struct mapping *m = NULL;
	struct stat st;
	void *p = NULL;

	/* A file shorter than the mapping would end the program with SIGBUS. */
	if (fstat(fd, &st) || (uint64_t)st.st_size < bytes) {
		err_set(err, E_PROTOCOL, "the daemon's region is smaller than %llu bytes",
			(unsigned long long)bytes);
		return NULL;
	}
	p = pages_map_read(fd, bytes);
	if (p == MAP_FAILED) {
		err_set(err, E_NOMEM,
			"mapping an array of %llu MiB: %s; is the address space limited?",
			(unsigned long long)(bytes >> 20), strerror(errno));
		return NULL;
	}
	m = mapping_create(p, bytes);
	if (!m) {
		munmap(p, bytes);
		err_set(err, E_NOMEM, "no memory for a mapping");
		return NULL;
	}
	return m;
}

/* The buffer's value lies in m, whose reference it takes. */
static void place(struct braze_session *s, struct buffer *b, struct mapping *m)
{
	mapping_drop(b->map); /* of another value, or an earlier connection */
	b->map = m;
	b->at = m->base;
	b->kept = b->version;
	b->flags |= BUF_REGION;
	pthread_mutex_lock(&s->sock);
	atomic_store(&b->offset, (uint64_t)(uintptr_t)m->base - (uint64_t)(uintptr_t)s->arena);
	atomic_store(&b->stored, b->version);
	pthread_mutex_unlock(&s->sock);
}

enum status region_place(struct braze_session *s, struct buffer *b, int *fd, struct err *err)
{
	struct mapping *m = map(*fd, b->bytes, err);

	close(*fd);
	*fd = -1;
	if (!m)
		return err ? err->code : E_NOMEM;
	m->region = UINT32_MAX; /* of no result */
	place(s, b, m);
	return OK;
}

/* ---- The session's own results ---- */

/* To the front of what is kept, which holds a reference. */
static void keep(struct braze_session *s, struct mapping *m)
{
	unsigned i = 0;

	while (i < REGIONS_KEPT - 1 && s->beside[i] && s->beside[i] != m)
		i++;
	if (s->beside[i] != m) {
		mapping_drop(s->beside[i]);
		mapping_hold(m);
	}
	memmove(s->beside + 1, s->beside, i * sizeof(s->beside[0]));
	s->beside[0] = m;
}

static struct mapping *kept(const struct braze_session *s, uint32_t region, uint64_t bytes)
{
	for (unsigned i = 0; i < REGIONS_KEPT && s->beside[i]; i++)
		if (s->beside[i]->region == region && s->beside[i]->bytes >= bytes) {
			mapping_hold(s->beside[i]);
			return s->beside[i];
		}
	return NULL;
}

void region_forget(struct braze_session *s)
{
	for (unsigned i = 0; i < REGIONS_KEPT; i++) {
		mapping_drop(s->beside[i]);
		s->beside[i] = NULL;
	}
}

enum status region_take(struct braze_session *s, struct ticket_item *item, struct err *err)
{
	struct buffer *b = item->buf;
	bool wanted = b->version == item->version && atomic_load(&b->stored) != b->version &&
		      !(b->flags & BUF_APART);
	struct mapping *m = wanted ? kept(s, item->region, b->bytes) : NULL;
	int fd = (int)item->file - 1;
	enum status st = OK;

	if (wanted && !m && item->file) {
		m = map(fd, b->bytes, err);
		st = m ? OK : err ? err->code : E_NOMEM;
		if (m)
			m->region = item->region;
	}
	if (item->file)
		close(fd);
	item->file = item->region = 0;
	if (m) {
		keep(s, m);
		place(s, b, m);
	}
	return st;
}

void region_share(struct buffer *b, const struct buffer *of)
{
	if (!(of->flags & BUF_REGION) || of->kept != of->version)
		return;
	b->map = of->map;
	mapping_hold(b->map);
	b->at = of->at;
	b->kept = b->version;
	b->flags |= BUF_REGION;
}

void region_leave(struct buffer *b)
{
	mapping_drop(b->map);
	b->map = NULL;
	b->flags &= ~(uint32_t)BUF_REGION;
}

struct mapping *region_map_of(const struct braze_array *a)
{
	const struct buffer *b = a->buf;
	bool beside = b->flags & BUF_REGION && b->kept == atomic_load(&b->stored);

	return b->flags & BUF_APART || beside ? b->map : a->session->map;
}

/* ---- What was opened ---- */

static bool fill_view(struct view *v, const Braze__Wire__Opened *r, struct err *err)
{
	*v = (struct view){.dtype = (uint8_t)r->dtype, .offset = r->offset};
	if (!dtype_native(r->dtype) || r->n_shape > LIMIT_NDIM || r->n_stride != r->n_shape)
		return false;
	v->shape.ndim = (uint8_t)r->n_shape;
	for (size_t i = 0; i < r->n_shape; i++) {
		v->shape.dim[i] = r->shape[i];
		v->stride[i] = r->stride[i];
	}
	return !view_check(v, r->bytes, err);
}

struct opened *region_opened(const Braze__Wire__Opened *r, struct packet *p, struct err *err)
{
	struct opened *o = calloc(1, sizeof(*o));

	if (!o) {
		err_set(err, E_NOMEM, "no memory for an opened array");
		return NULL;
	}
	if (!fill_view(&o->view, r, err) || p->nfds != (r->bytes ? 1u : 0u)) {
		free(o);
		err_set(err, E_PROTOCOL, "the daemon opened an array that is none");
		return NULL;
	}
	o->bytes = r->bytes;
	o->version = r->version;
	o->fd = r->bytes ? p->fd[0] : -1;
	if (r->bytes)
		p->fd[0] = -1;
	return o;
}

void region_forget_opened(struct opened *o)
{
	if (o && o->fd >= 0)
		close(o->fd);
	free(o);
}
