/* SPDX-License-Identifier: Apache-2.0 */
#include "reply.h"

#include <stdlib.h>
#include <string.h>

#include "../base/xalloc.h"
#include "../wire/conn.h"
#include "braze.pb-c.h"
#include "loops/loops.h"

/* What no user can have caused: say what helps meanwhile. */
#define INTERNAL_HINT                                                                              \
	"; a fault of braze: asking again may do, BRAZE_UNFUSED=1 often goes around it; please "   \
	"report it with the daemon's log"

/* The error's text, for the caller to free. */
static char *text_for_client(const struct err *err)
{
	int room = LIMIT_ERROR_TEXT - (int)sizeof INTERNAL_HINT;

	if (err->code != E_INTERNAL)
		return xstrdup(err->text);
	return xasprintf("%.*s" INTERNAL_HINT, room, err->text);
}

/* Nothing is read from a client with replies unread: what can be queued for it are the
 * answers to LIMIT_TICKET_LOAD, of which none takes more than an error's text and this, and
 * those to one request. */
#define REPLY_BYTES 128
_Static_assert(LIMIT_UNREAD_BYTES >= LIMIT_TICKET_LOAD * (LIMIT_ERROR_TEXT + REPLY_BYTES) +
					     LIMIT_EXPLAIN_TEXT + REPLY_BYTES,
	       "a client within the other limits may leave its replies unread");

static void send_reply(struct conn *c, const Braze__Wire__Reply *r, int fd)
{
	size_t n = braze__wire__reply__get_packed_size(r);
	uint8_t *bytes = xmalloc(n);

	braze__wire__reply__pack(r, bytes);
	conn_send(c, bytes, n, fd);
	free(bytes);
}

void reply_welcome(struct conn *c, uint64_t session, const struct arena *a,
		   const struct extent *lease, const char *const *device, size_t ndevice,
		   const char *notice)
{
	Braze__Wire__Welcome w = BRAZE__WIRE__WELCOME__INIT;
	Braze__Wire__Reply r = BRAZE__WIRE__REPLY__INIT;

	w.major = BRAZE_PROTO_MAJOR;
	w.minor = BRAZE_PROTO_MINOR;
	w.session = session;
	w.arena_bytes = arena_bytes(a);
	w.lease_offset = lease->offset;
	w.lease_bytes = lease->bytes;
	w.version = BRAZE_DAEMON_VERSION;
	w.device = (char **)device;
	w.n_device = ndevice;
	w.loops = loops_identity();
	w.notice = (char *)notice;
	r.welcome = &w;
	send_reply(c, &r, arena_fd(a));
}

/* Bytes of error texts in one answer: what else LIMIT_DEMAND_IDS extents and LIMIT_DEMAND_ALSO
 * words need fits beside them in a packet.  An extent without a text still has its code. */
#define TEXT_BYTES (LIMIT_PACKET_BYTES / 2)

static void fill_extent(Braze__Wire__Extent *e, const struct version *v,
			const struct reply_inline *small, size_t nsmall, size_t *text_room)
{
	braze__wire__extent__init(e);
	e->bytes = v->bytes;
	if (v->state == VERSION_FAILED) {
		char *text = text_for_client(v->error);
		size_t n = strlen(text);

		e->error = v->error->code;
		if (n <= *text_room) {
			e->text = text;
			*text_room -= n;
		} else {
			free(text);
		}
		return;
	}
	e->away = !v->storage->host;
	if (e->away)
		return;
	e->region = v->storage->share ? v->storage->share->region : 0;
	e->offset = v->storage->extent.offset;
	e->alone = version_alone(v);
	for (size_t i = 0; i < nsmall; i++)
		if (small[i].version == v) {
			e->data.data = (uint8_t *)small[i].bytes;
			e->data.len = v->bytes;
		}
}

/* Where a value lies that nobody waits for; 0: it is not stored in the arena. */
static uint64_t also_word(const struct version *v)
{
	if (v->state != VERSION_STORED || !v->storage->host || v->storage->share)
		return 0;
	return v->storage->extent.offset | ALSO_STORED | (version_alone(v) ? ALSO_ALONE : 0);
}

/* The descriptor of the first value that has memory of its own; -1: none has. */
static int first_region(const struct ticket *t)
{
	for (uint32_t i = 0; i < t->nanswer; i++)
		if (t->version[i]->state == VERSION_STORED && t->version[i]->storage->share)
			return t->version[i]->storage->share->reader;
	return -1;
}

void reply_resolved(struct conn *c, const struct ticket *t, const struct reply_inline *small,
		    size_t nsmall, uint64_t *spent)
{
	Braze__Wire__Extent *e = xcalloc(t->nanswer, sizeof *e);
	Braze__Wire__Extent **list = xcalloc(t->nanswer, sizeof *list);
	Braze__Wire__Resolved m = BRAZE__WIRE__RESOLVED__INIT;
	Braze__Wire__Reply r = BRAZE__WIRE__REPLY__INIT;
	size_t text_room = TEXT_BYTES;
	uint64_t also[LIMIT_DEMAND_ALSO];

	for (uint32_t i = 0; i < t->nanswer; i++) {
		fill_extent(&e[i], t->version[i], small, nsmall, &text_room);
		list[i] = &e[i];
	}
	m.ticket = t->id;
	m.n_extent = t->nanswer;
	m.extent = list;
	for (uint32_t i = 0; i < t->nalso; i++)
		also[i] = also_word(t->version[t->n + i]);
	m.n_also = t->nalso;
	m.also = also;
	m.n_spent = spent ? SPENT_WORDS : 0;
	m.spent = spent;
	r.resolved = &m;
	send_reply(c, &r, first_region(t));
	for (uint32_t i = 0; i < t->nanswer; i++)
		if (e[i].error && e[i].text != protobuf_c_empty_string)
			free(e[i].text);
	free(list);
	free(e);
}

void reply_published(struct conn *c, uint64_t ticket, uint64_t version, uint64_t copied,
		     const char *key)
{
	Braze__Wire__Published m = BRAZE__WIRE__PUBLISHED__INIT;
	Braze__Wire__Reply r = BRAZE__WIRE__REPLY__INIT;

	m.ticket = ticket;
	m.version = version;
	m.copied = copied;
	m.key = (char *)key;
	r.published = &m;
	send_reply(c, &r, -1);
}

void reply_opened(struct conn *c, uint64_t ticket, uint64_t version, const struct view *v,
		  uint64_t bytes, int fd)
{
	Braze__Wire__Opened m = BRAZE__WIRE__OPENED__INIT;
	Braze__Wire__Reply r = BRAZE__WIRE__REPLY__INIT;

	m.ticket = ticket;
	m.version = version;
	m.dtype = v->dtype;
	m.bytes = bytes;
	m.offset = v->offset;
	m.n_shape = m.n_stride = v->shape.ndim;
	m.shape = (int64_t *)v->shape.dim;
	m.stride = (int64_t *)v->stride;
	r.opened = &m;
	send_reply(c, &r, fd);
}

void reply_exported(struct conn *c, uint64_t ticket, uint64_t bytes, const char *device,
		    const char *uuid, int fd)
{
	Braze__Wire__Exported m = BRAZE__WIRE__EXPORTED__INIT;
	Braze__Wire__Reply r = BRAZE__WIRE__REPLY__INIT;

	m.ticket = ticket;
	m.bytes = bytes;
	m.device = (char *)device;
	m.uuid = (char *)uuid;
	r.exported = &m;
	send_reply(c, &r, fd);
}

void reply_offered(struct conn *c, uint64_t ticket, const struct reply_offer *o)
{
	Braze__Wire__Offered m = BRAZE__WIRE__OFFERED__INIT;
	Braze__Wire__Reply r = BRAZE__WIRE__REPLY__INIT;

	m.ticket = ticket;
	m.starting = o->starting;
	m.usable = o->usable;
	m.fourier = o->fourier;
	m.factors = o->factors;
	m.units = o->units;
	m.double_ratio = o->double_ratio;
	m.memory_rate = o->memory_rate;
	m.upload_rate = o->upload_rate;
	m.download_rate = o->download_rate;
	m.capacity = o->capacity;
	m.device = (char *)(o->units ? o->name : "");
	m.astray = o->astray;
	r.offered = &m;
	send_reply(c, &r, -1);
}

void reply_leased(struct conn *c, uint64_t ticket, const struct extent *e)
{
	Braze__Wire__Leased m = BRAZE__WIRE__LEASED__INIT;
	Braze__Wire__Reply r = BRAZE__WIRE__REPLY__INIT;

	m.ticket = ticket;
	m.offset = e->offset;
	m.bytes = e->bytes;
	r.leased = &m;
	send_reply(c, &r, -1);
}

void reply_explained(struct conn *c, uint64_t ticket, const char *text)
{
	Braze__Wire__Explained m = BRAZE__WIRE__EXPLAINED__INIT;
	Braze__Wire__Reply r = BRAZE__WIRE__REPLY__INIT;

	m.ticket = ticket;
	m.text = (char *)text;
	r.explained = &m;
	send_reply(c, &r, -1);
}

void reply_compiled(struct conn *c, uint64_t ticket, uint32_t kernel, int fd)
{
	Braze__Wire__Compiled m = BRAZE__WIRE__COMPILED__INIT;
	Braze__Wire__Reply r = BRAZE__WIRE__REPLY__INIT;

	m.ticket = ticket;
	m.kernel = kernel;
	r.compiled = &m;
	send_reply(c, &r, fd);
}

static void fill_failure(Braze__Wire__Failure *f, uint64_t ticket, const struct err *err)
{
	braze__wire__failure__init(f);
	f->ticket = ticket;
	f->code = err->code;
	f->text = text_for_client(err);
}

void reply_failure(struct conn *c, uint64_t ticket, const struct err *err)
{
	Braze__Wire__Failure f;
	Braze__Wire__Reply r = BRAZE__WIRE__REPLY__INIT;

	fill_failure(&f, ticket, err);
	r.failure = &f;
	send_reply(c, &r, -1);
	free(f.text);
}

void reply_goodbye(struct conn *c, const struct err *err)
{
	Braze__Wire__Failure f;
	Braze__Wire__Reply r = BRAZE__WIRE__REPLY__INIT;

	fill_failure(&f, 0, err);
	r.goodbye = &f;
	send_reply(c, &r, -1);
	free(f.text);
}
