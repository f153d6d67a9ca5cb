/* SPDX-License-Identifier: Apache-2.0 */
#include "reply.h"

#include <stdlib.h>
#include <string.h>

#include "../base/xalloc.h"
#include "../wire/conn.h"
#include "braze.pb-c.h"

static void send_reply(struct conn *c, const Braze__Wire__Reply *r, int fd)
{
	size_t n = braze__wire__reply__get_packed_size(r);
	uint8_t *bytes = xmalloc(n);

	braze__wire__reply__pack(r, bytes);
	conn_send(c, bytes, n, fd);
	free(bytes);
}

void reply_welcome(struct conn *c, uint64_t session, const struct arena *a,
		   const struct extent *lease, const char *const *device, size_t ndevice)
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
	r.welcome = &w;
	send_reply(c, &r, arena_fd(a));
}

/* Bytes of error texts in one answer: what else LIMIT_DEMAND_IDS extents need fits
 * beside them in a packet.  An extent without a text still has its code. */
#define TEXT_BYTES (LIMIT_PACKET_BYTES / 2)

static void fill_extent(Braze__Wire__Extent *e, const struct version *v,
			const struct reply_inline *small, size_t nsmall, size_t *text_room)
{
	braze__wire__extent__init(e);
	e->bytes = v->bytes;
	if (v->state == VERSION_FAILED) {
		size_t n = strlen(v->error->text);

		e->error = v->error->code;
		if (n <= *text_room) {
			e->text = v->error->text;
			*text_room -= n;
		}
		return;
	}
	e->offset = v->storage->extent.offset;
	for (size_t i = 0; i < nsmall; i++)
		if (small[i].version == v) {
			e->data.data = (uint8_t *)small[i].bytes;
			e->data.len = v->bytes;
		}
}

void reply_resolved(struct conn *c, const struct ticket *t, const struct reply_inline *small,
		    size_t nsmall)
{
	Braze__Wire__Extent *e = xcalloc(t->nanswer, sizeof *e);
	Braze__Wire__Extent **list = xcalloc(t->nanswer, sizeof *list);
	Braze__Wire__Resolved m = BRAZE__WIRE__RESOLVED__INIT;
	Braze__Wire__Reply r = BRAZE__WIRE__REPLY__INIT;
	size_t text_room = TEXT_BYTES;

	for (uint32_t i = 0; i < t->nanswer; i++) {
		fill_extent(&e[i], t->version[i], small, nsmall, &text_room);
		list[i] = &e[i];
	}
	m.ticket = t->id;
	m.n_extent = t->nanswer;
	m.extent = list;
	r.resolved = &m;
	send_reply(c, &r, -1);
	free(list);
	free(e);
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

static void fill_failure(Braze__Wire__Failure *f, uint64_t ticket, const struct err *err)
{
	braze__wire__failure__init(f);
	f->ticket = ticket;
	f->code = err->code;
	f->text = (char *)err->text;
}

void reply_failure(struct conn *c, uint64_t ticket, const struct err *err)
{
	Braze__Wire__Failure f;
	Braze__Wire__Reply r = BRAZE__WIRE__REPLY__INIT;

	fill_failure(&f, ticket, err);
	r.failure = &f;
	send_reply(c, &r, -1);
}

void reply_goodbye(struct conn *c, const struct err *err)
{
	Braze__Wire__Failure f;
	Braze__Wire__Reply r = BRAZE__WIRE__REPLY__INIT;

	fill_failure(&f, 0, err);
	r.goodbye = &f;
	send_reply(c, &r, -1);
}
