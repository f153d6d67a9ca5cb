/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/future.c - demands, and waiting for what they ask. */
#include "future.h"

#include <stdlib.h>

#include "array.h"
#include "lock.h"
#include "lost.h"
#include "near.h"
#include "region.h"
#include "session.h"
#include "ticket.h"
#include "watch.h"
#include "wire.h"

/* Shall the answer say what was spent?  The daemon counts from the first demand on that asks. */
static bool is_told(struct braze_session *s)
{
	bool ask = s->profile && s->minor >= MINOR_SPENT;

	if (unlikely(s->told && !ask)) {
		pthread_mutex_lock(&s->sock);
		s->spent = (struct braze_spent){0};
		pthread_mutex_unlock(&s->sock);
	}
	s->told = ask;
	return ask;
}

/* Send the demands of f, LIMIT_DEMAND_IDS at a time; the first with what it asks besides. */
static enum status send_demands(struct braze_future *f, const uint32_t *id, struct err *err)
{
	struct braze_session *s = f->session;
	const char *where =
		s->owner.where && s->minor >= MINOR_WHERE ? s->owner.where(s->owner.data) : NULL;
	bool tell = is_told(s);
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
		if (!i && f->nalso) {
			d.n_also = f->nalso;
			d.also = (uint32_t *)id + f->n;
		}
		d.tell = tell;
		d.stay = f->kind == TICKET_COMPUTE;
		r.demand = &d;
		st = wire_send(f->session, &r, err);
	}
	return st;
}

/* The arrays' watches in one set. */
static enum status watches_of(struct watch_set **set, int n, braze_array *const *arrays,
			      struct err *err)
{
	struct braze_session *s = arrays[0]->session;
	enum status st = OK;

	for (int i = 0; i < n && !st; i++)
		if (arrays[i]->session == s && unlikely(arrays[i]->buf->watch))
			st = watch_unite(s, set, arrays[i]->buf->watch, err);
	return st;
}

/* The next item of a future whose first ticket is the session's next. */
static void add_item(struct braze_future *f, uint32_t *id, const struct braze_array *a)
{
	unsigned at = f->n + f->nalso;
	struct buffer *b = a->buf;

	id[at] = array_root(a);
	f->item[at] = (struct ticket_item){.buf = b, .version = b->version};
	b->refs++;
	b->flags |= BUF_ASKED;
	b->asked = f->session->tickets + 1;
}

static void ask(struct braze_future *f, uint32_t *id, const struct braze_array *a)
{
	if (future_stored(a))
		return;
	add_item(f, id, a);
	f->n++;
}

/* ---- What comes along ----
 *
 * What a demand computes besides is stored where it is small and the program can still name it
 * (daemon/plan/demand.c), and the next operation finds it at hand if this process knows where.
 * So the demand names the arrays that were written last and are pending, newest first. */

/* Is a's value one that the daemon may have soon, and that this demand does not name yet? */
static bool may_come(const struct braze_session *s, const struct braze_array *a)
{
	const struct buffer *b = a->buf;

	return a->serial && !(b->flags & (BUF_APART | BUF_READONLY)) && !future_stored(a) &&
	       !(b->flags & BUF_ASKED && b->asked > s->tickets);
}

static bool awaits(struct braze_session *s)
{
	pthread_mutex_lock(&s->sock);
	bool any = s->open != NULL;
	pthread_mutex_unlock(&s->sock);
	return any;
}

/* Add to f, after what it waits for, up to `most` of the arrays that were written last.  Only
 * they are remembered for the next demand. */
static void ask_along(struct braze_future *f, uint32_t *id, unsigned most)
{
	struct braze_session *s = f->session;
	struct braze_array *keep[LIMIT_DEMAND_ALSO];
	unsigned n = s->nwritten < WRITTEN ? s->nwritten : WRITTEN;
	/* Two questions for one value would each say that the other reads it. */
	bool others = awaits(s);

	for (unsigned i = 1; i <= n && f->nalso < most; i++) {
		struct braze_array *a = s->written[(s->nwritten - i) % WRITTEN];

		if (!may_come(s, a) || (others && a->buf->flags & BUF_ASKED))
			continue;
		keep[f->nalso] = a;
		add_item(f, id, a);
		f->nalso++;
	}
	for (unsigned i = 0; i < f->nalso; i++)
		s->written[i] = keep[f->nalso - 1 - i];
	s->nwritten = f->nalso;
}

static unsigned most_along(const struct braze_session *s)
{
	if (!s->near || s->minor < MINOR_ALSO)
		return 0;
	return s->nwritten < LIMIT_DEMAND_ALSO ? s->nwritten : LIMIT_DEMAND_ALSO;
}

/* ---- Demands ---- */

/* f is answered.  What nothing else reads, at the daemon or since it was asked for here,
 * is this process's to write; what lies beside the arena is mapped. */
static enum status take_answer(struct braze_future *f, struct err *err)
{
	enum status st = OK;

	for (unsigned i = 0; i < f->n + f->nalso; i++) {
		struct buffer *b = f->item[i].buf;
		bool mine = f->item[i].alone && b->flags & BUF_ASKED && b->asked == f->first;

		if (mine && b->version == f->item[i].version)
			b->flags = (b->flags & ~(uint32_t)BUF_ENDS) | BUF_FRESH;
		if (unlikely(b->flags & BUF_REGION) && b->kept != b->version)
			region_leave(b);
		if (unlikely(f->item[i].region) && !st)
			st = region_take(f->session, &f->item[i], err);
	}
	return st;
}

/* Fill f with what is not stored of the arrays and of their watches' flags. */
static enum status ask_all(struct braze_future *f, uint32_t *id, int n, braze_array *const *arrays,
			   struct err *err)
{
	for (int i = 0; i < n; i++) {
		if (arrays[i]->session != f->session)
			return err_set(err, E_INVALID, "array %d belongs to another session", i);
		if (!future_stored(arrays[i]) && arrays[i]->buf->flags & BUF_APART)
			return lost_error(arrays[i], err);
		ask(f, id, arrays[i]);
	}
	for (uint32_t i = 0; f->watch && i < f->watch->n; i++)
		for (int k = 0; k < WATCH_CLASSES; k++)
			if (f->watch->of[i]->flag[k])
				ask(f, id, f->watch->of[i]->flag[k]);
	return OK;
}

/* A future of TICKET_DEMAND or TICKET_COMPUTE for what is not stored of the arrays. */
static enum status future_ask(struct braze_future **out, enum ticket_kind kind, int n,
			      braze_array *const *arrays, struct err *err)
{
	struct braze_session *s = arrays[0]->session;
	struct watch_set *set = NULL;
	enum status st = watches_of(&set, n, arrays, err);
	unsigned along = most_along(s);
	unsigned most = (unsigned)n + (set ? set->n * WATCH_CLASSES : 0) + along;
	/* The flags of watches are read here. */
	struct braze_future *f =
		st ? NULL : ticket_create(s, set ? TICKET_DEMAND : kind, most, err);
	uint32_t few[16 + LIMIT_DEMAND_ALSO];
	uint32_t *id = most <= sizeof few / sizeof *few ? few : malloc(most * sizeof(*id));

	if (!f || !id) {
		st = st ? st : err_set(err, E_NOMEM, "no memory to demand %u arrays", most);
		watch_forget(s, set);
	} else {
		f->watch = set;
		st = ask_all(f, id, n, arrays, err);
	}
	if (!st && f->n) {
		if (along)
			ask_along(f, id, along);
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

enum status future_demand(struct braze_future **out, int n, braze_array *const *arrays,
			  struct err *err)
{
	return future_ask(out, TICKET_DEMAND, n, arrays, err);
}

/* Is a's present value there, and what is to be told before it? */
static bool ready(struct braze_array *a)
{
	return future_stored(a) &&
	       (likely(!a->buf->watch) || watch_known(a->session, a->buf->watch));
}

/* The watches of a buffer are known: tell them; the buffer carries those that raise. */
static int tell(struct braze_array *a, struct err *err)
{
	struct buffer *b = a->buf;
	int st = (int)watch_tell(a->session, b->watch, err);

	if (!st)
		watch_put(a->session, b, NULL);
	return st;
}

int future_value(struct braze_array *a, braze_check_fn *check, void *data, struct err *err)
{
	/* Again when another thread wrote to the buffer while this one waited. */
	while (!ready(a)) {
		struct braze_future *f = NULL;
		if (apart_is(a)) {
			if (ready(a))
				break;
			return (int)lost_error(a, err);
		}
		int st = (int)array_usable(a->session, err);
		if (!st)
			st = (int)future_demand(&f, 1, &a, err);
		if (!st)
			st = wire_wait(f, -1, check, data, err);
		if (!st)
			st = (int)take_answer(f, err);
		ticket_destroy(f);
		/* Though the value may have come while the question was withdrawn. */
		if (st == BRAZE_E_INTERRUPTED)
			return st;
		/* The connection ended meanwhile: say what is lost with it. */
		if (st && apart_is(a) && !ready(a))
			return (int)lost_error(a, err);
		if (st && !ready(a))
			return st;
	}
	near_read(a->session->near);
	return likely(!a->buf->watch) ? 0 : tell(a, err);
}

enum status future_await(int n, braze_array *const *arrays, struct err *err)
{
	const struct braze_session *s = arrays[0]->session;
	braze_check_fn *check = s->owned ? s->owner.check : NULL;
	struct braze_future *f = NULL;
	int st = (int)future_demand(&f, n, arrays, err);

	if (!st)
		st = wire_wait(f, -1, check, s->owner.data, err);
	if (!st)
		st = (int)take_answer(f, err);
	if (f)
		ticket_destroy(f);
	/* One answer maps no more than one region. */
	for (int i = 0; i < n && !st; i++)
		if (!future_stored(arrays[i]))
			st = future_value(arrays[i], check, s->owner.data, err);
	return (enum status)st;
}

int future_wait(struct braze_future *f, int timeout_ms, braze_check_fn *check, void *data,
		struct err *err)
{
	int st = wire_wait(f, timeout_ms, check, data, err);

	if (!st)
		st = (int)take_answer(f, err);
	near_read(f->session->near);
	if (!st && f->watch && watch_known(f->session, f->watch))
		st = (int)watch_tell(f->session, f->watch, err);
	return st;
}

static int ask_for(braze_future **out, enum ticket_kind kind, int n, braze_array *const *arrays,
		   struct err *err)
{
	if (n < 1)
		return (int)err_set(err, E_INVALID, "%d arrays demanded", n);
	struct braze_session *s = arrays[0]->session;
	lock_take(s);
	int st = (int)array_usable(s, err);
	if (!st)
		st = (int)future_ask(out, kind, n, arrays, err);
	lock_give(s);
	return st;
}

int braze_demand(braze_future **out, int n, braze_array *const *arrays, braze_error *error)
{
	return ask_for(out, TICKET_DEMAND, n, arrays, err_of(error));
}

int braze_compute(braze_future **out, int n, braze_array *const *arrays, braze_error *error)
{
	/* What an older daemon computes comes to the host. */
	bool may_stay = n > 0 && arrays[0]->session->minor >= MINOR_STAY;

	return ask_for(out, may_stay ? TICKET_COMPUTE : TICKET_DEMAND, n, arrays, err_of(error));
}

int braze_wait(braze_future *f, int timeout_ms, braze_check_fn *check, void *data,
	       braze_error *error)
{
	struct braze_session *s = f->session;

	if (s->forked)
		return (int)wire_dead(s, err_of(error));
	lock_take(s);
	int st = future_wait(f, timeout_ms, check, data, err_of(error));
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
