/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/future.c - demands, and waiting for what they ask. */
#include "future.h"

#include <stdlib.h>

#include "array.h"
#include "lock.h"
#include "lost.h"
#include "session.h"
#include "ticket.h"
#include "wire.h"

/* Send the demands of f, LIMIT_DEMAND_IDS at a time. */
static enum status send_demands(struct braze_future *f, const uint32_t *id, struct err *err)
{
	const struct braze_session *s = f->session;
	const char *where =
		s->owner.where && s->minor >= MINOR_WHERE ? s->owner.where(s->owner.data) : NULL;
	enum status st = OK;

	for (unsigned i = 0; i < f->tickets && !st; i++) {
		Braze__Wire__Request r = BRAZE__WIRE__REQUEST__INIT;
		Braze__Wire__Demand d = BRAZE__WIRE__DEMAND__INIT;
		unsigned from = i * LIMIT_DEMAND_IDS, left = f->n - from;
		d.ticket = f->first + i;
		d.n_id = left < LIMIT_DEMAND_IDS ? left : LIMIT_DEMAND_IDS;
		d.id = (uint32_t *)id + from;
		if (!i && where)
			d.where = (char *)where;
		r.demand = &d;
		st = wire_send(f->session, &r, err);
	}
	return st;
}

enum status future_demand(struct braze_future **out, int n, braze_array *const *arrays,
			  struct err *err)
{
	struct braze_session *s = arrays[0]->session;
	struct braze_future *f = ticket_create(s, TICKET_DEMAND, (unsigned)n, err);
	uint32_t few[16], *id = n <= 16 ? few : malloc((size_t)n * sizeof(*id));
	enum status st = f && id ? OK : err_set(err, E_NOMEM, "no memory to demand %d arrays", n);

	for (int i = 0; i < n && !st; i++) {
		struct braze_array *a = arrays[i];
		if (a->session != s)
			st = err_set(err, E_INVALID, "array %d belongs to another session", i);
		else if (!future_stored(a) && a->buf->flags & BUF_LOST)
			st = lost_error(a, err);
		else if (!future_stored(a)) {
			id[f->n] = a->id;
			f->item[f->n++] = (struct ticket_item){a->buf, a->buf->version};
			a->buf->refs++;
		}
	}
	if (!st && f->n) {
		ticket_open(f, (f->n + LIMIT_DEMAND_IDS - 1) / LIMIT_DEMAND_IDS);
		s->counters.demands += f->tickets;
		st = send_demands(f, id, err);
	}
	if (st)
		ticket_destroy(f);
	else
		*out = f;
	if (id != few)
		free(id);
	return st;
}

int future_value(struct braze_array *a, braze_check_fn *check, void *data, struct err *err)
{
	/* Again when another thread wrote to the buffer while this one waited. */
	while (!future_stored(a)) {
		struct braze_future *f = NULL;
		if (lost_is(a))
			return (int)lost_error(a, err);
		int st = (int)array_usable(a->session, err);
		if (!st)
			st = (int)future_demand(&f, 1, &a, err);
		if (!st)
			st = wire_wait(f, -1, check, data, err);
		ticket_destroy(f);
		/* The connection ended meanwhile: say what is lost with it. */
		if (st && lost_is(a))
			return future_stored(a) ? 0 : (int)lost_error(a, err);
		if (st)
			return st;
	}
	return 0;
}

int braze_demand(braze_future **out, int n, braze_array *const *arrays, braze_error *error)
{
	struct err *err = err_of(error);

	if (n < 1)
		return (int)err_set(err, E_INVALID, "%d arrays demanded", n);
	struct braze_session *s = arrays[0]->session;
	lock_take(s);
	int st = (int)array_usable(s, err);
	if (!st)
		st = (int)future_demand(out, n, arrays, err);
	lock_give(s);
	return st;
}

int braze_wait(braze_future *f, int timeout_ms, braze_check_fn *check, void *data,
	       braze_error *error)
{
	struct braze_session *s = f->session;

	if (s->forked)
		return (int)wire_dead(s, err_of(error));
	lock_take(s);
	int st = wire_wait(f, timeout_ms, check, data, err_of(error));
	lock_give(s);
	return st;
}

void braze_future_release(braze_future *f)
{
	if (!f || f->session->forked)
		return;
	struct braze_session *s = f->session;
	lock_take(s);
	ticket_destroy(f);
	session_unlock(s);
}
