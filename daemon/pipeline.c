/* SPDX-License-Identifier: Apache-2.0 */
/* The one file that calls every stage in order: a packet becomes a request, its
 * ops join the trace, a demand cuts a partition out of it, the partition gets a
 * plan (cached, made at once, or by the planner thread), the plan gets storage and runs
 * in a worker (dispatch.c), and what the client waits for is answered.
 *
 * One partition of a client is planned at a time and its jobs start in this order. */
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/log.h"
#include "base/moments.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "brazed.h"
#include "cache/cache.h"
#include "cache/cache_code.h"
#include "future/reply.h"
#include "nest/compilepart.h"
#include "plan/demand.h"
#include "plan/plancache.h"
#include "plan/planner.h"
#include "run/executor.h"
#include "run/job.h"
#include "wire/conn.h"
#include "wire/decode.h"

/* Stored values kept only for pending ops may add this much to a client's peak. */
#define HELD_MIN (256ull << 20)
/* Ops of a partition that the loop plans itself: some 50 us. */
#define PLANNED_HERE 16
/* Ops that one turn of the loop may look at for one client. */
#define PUMP_OPS 2048

/* ---- Running what a ticket wants ---- */

void pipeline_no_room(struct session *s, const struct err *err)
{
	struct ticket *next;

	for (struct ticket *t = s->tickets.first; t; t = next) {
		next = t->next;
		if (ticket_settled(t))
			continue;
		if (t->kind == TICKET_CUT) {
			s->cutting = false;
			s->cut_failed = true;
		} else {
			reply_failure(s->conn, t->id, err);
		}
		ticket_remove(&s->tickets, t, &s->trace);
	}
}

static void dump_source(const struct kernel *k)
{
	char *text = cache_source(k);

	fprintf(stderr, "-- source of kernel %u\n%s", k->id, text ? text : "");
	free(text);
}

/* Who asked for it first, and where in his program. */
static void note_origin(struct kernel *k, const struct session *s)
{
	if (!*k->origin)
		snprintf(k->origin, sizeof k->origin, "%s%s%s", s->name, *s->where ? " " : "",
			 s->where);
}

/* The loop of a kernel that a step does: some session has it still. */
static void install_grid(const struct brazed *d, struct plan *plan, struct plan_step *s)
{
	struct grid *g = s->call->grid ? grid_table_find(d->grids, s->call->grid) : NULL;

	s->grid = g ? grid_ref(g) : NULL;
	plan->grids |= g != NULL;
}

/* A new plan: find its kernels, remember it. */
static void install_plan(struct session *s, const struct part *part, struct plan *plan)
{
	struct brazed *d = s->d;
	struct cache_stats before, after;

	cache_get_stats(d->cache, &before);
	for (uint32_t i = 0; i < plan->nstep; i++) {
		struct nest spec;

		if (plan->step[i].kind == STEP_CALL) {
			plan->step[i].kernel[0] =
				cache_get_call(d->cache, plan->step[i].call, 0, s->id);
			install_grid(d, plan, &plan->step[i]);
		}
		if (plan->step[i].kind != STEP_KERNEL)
			continue;
		compilepart_spec(&spec, plan->step[i].nest);
		plan->step[i].kernel[0] = cache_get(d->cache, &spec, 0, s->id);
		note_origin(plan->step[i].kernel[0], s);
		account_pay(s, plan->step[i].kernel[0]);
		if (d->dump_source)
			dump_source(plan->step[i].kernel[0]);
	}
	for (uint32_t i = 0; i < plan->nnote; i++)
		d->refusals[plan->note[i].reason % 32]++;
	s->stats.refusals += plan->nnote;
	cache_get_stats(d->cache, &after);
	s->stats.kernel_hits += after.hits - before.hits;
	s->stats.kernel_misses += after.misses - before.misses;
	s->stats.planning_ns += plan->planning_us * 1000;
	d->planning_us = plan->planning_us;
	if (plan->planning_us > d->longest_planning_us)
		d->longest_planning_us = plan->planning_us;
	plan->refs = 1;
	plancache_add(d->plans, part, plan);
}

static bool wanted(const struct session *s)
{
	for (const struct ticket *t = s->tickets.first; t; t = t->next)
		if (!t->cancelled)
			return true;
	return false;
}

static bool planned_here(const struct part *part)
{
	return part->nop + part->nlist <= PLANNED_HERE;
}

static void plan_ready(struct planner_job *pj)
{
	struct job *j = pj->data;
	struct session *s = j->session;

	s->d->turn.plans++;
	s->planning = NULL;
	moments_add((struct moment){.began = pj->began_ns,
				    .ended = pj->ended_ns,
				    .flow = j->run.flow,
				    .session = (uint32_t)s->id,
				    .number = j->partition->part.nop,
				    .kind = planned_here(&j->partition->part) ? MOMENT_PLAN_HERE
									      : MOMENT_PLAN});
	if (!pj->plan) {
		log_error("pipeline", "planning failed: %s", pj->err.text);
		dispatch_end(j, JOB_FAILED, &pj->err);
		return;
	}
	install_plan(s, &j->partition->part, pj->plan);
	if (!s->conn || !wanted(s) || s->d->resting) {
		j->run.plan = pj->plan;
		dispatch_end(j, JOB_CANCELLED, NULL);
		return;
	}
	dispatch_job(j, pj->plan);
	if (s->jobs)
		pipeline_pump(s);
}

/* Cut the next partition for a ticket and get it going, at the cost of the ops
 * looked at; false: nothing pending. */
static bool advance(struct session *s, const struct ticket *t, int64_t *budget)
{
	struct brazed *d = s->d;
	struct partition *p;
	struct plan *plan;
	struct job *j;

	*budget -= (int64_t)demand_partition(&p, &s->trace, t->version, t->n,
					     s->flags & HELLO_UNFUSED);
	if (!p)
		return false;
	j = xcalloc(1, sizeof *j);
	j->session = s;
	j->partition = p;
	j->since_ns = uv_hrtime();
	if (t->kind != TICKET_CUT)
		j->run.flow = moments_flow(s->id, t->id);
	session_jobs(s, 1);
	plan = plancache_find(d->plans, &p->part);
	if (plan) {
		s->stats.plan_hits++;
		dispatch_job(j, plan);
		return true;
	}
	s->stats.plan_misses++;
	s->planning = j;
	j->plan.part = &p->part;
	j->plan.done = plan_ready;
	j->plan.data = j;
	if (planned_here(&p->part))
		planner_run(d->planner, &j->plan);
	else
		planner_submit(d->planner, &j->plan);
	return true;
}

/* Bounds on what laziness may pile up, counted in trace position, never in time.
 * True: the trace is cut, and there is new work. */
static bool bound_trace(struct session *s)
{
	struct trace *t = &s->trace;
	uint64_t live = trace_live(t),
		 allowed = live / 10 * 3 > HELD_MIN ? live / 10 * 3 : HELD_MIN;
	struct version **want;
	size_t n;

	s->full = false;
	if (t->npending - t->nrunning < account_cut(s) && t->held_bytes < allowed)
		return false;
	/* While a cut runs nothing more is read: the next one falls at this very place. */
	s->full = s->cutting && !s->cut_failed;
	if (s->cutting || s->cut_failed)
		return false;
	want = demand_cut(t, &n);
	s->cutting = n > 0;
	if (n)
		ticket_add(&s->tickets, TICKET_CUT, 0, want, (uint32_t)n, 0, 0, uv_hrtime());
	free(want);
	return n > 0;
}

/* Has a cut partitions that are yet to be taken from the trace? */
static bool unsettled_cut(const struct session *s)
{
	for (const struct ticket *t = s->tickets.first; t; t = t->next)
		for (uint32_t i = 0; t->kind == TICKET_CUT && i < t->n; i++)
			if (t->version[i]->state == VERSION_PENDING)
				return true;
	return false;
}

static void pause_reading(struct session *s, bool pause)
{
	if (pause == s->paused || !s->conn)
		return;
	s->paused = pause;
	conn_pause(s->conn, pause);
}

/* What a cut's partitions are must not depend on how many packets have been read when each
 * is taken, nor the next cut's place on when this one is done: reading waits. */
void pipeline_pump(struct session *s)
{
	int64_t budget = PUMP_OPS;

	if (s->pumping)
		return;
	if (s->d->resting) {
		pipeline_answer(s, NULL);
		return;
	}
	s->pumping = true;
	do {
		struct ticket *t = s->tickets.first;

		while (t && !s->planning && budget > 0) {
			if (t->cancelled || !advance(s, t, &budget))
				t = t->next;
			else
				t = s->tickets.first; /* the list may have changed */
		}
		pipeline_answer(s, NULL);
	} while (bound_trace(s) && budget > 0);
	s->pumping = false;
	s->d->turn.operations += (uint64_t)(PUMP_OPS - budget);
	if (budget <= 0)
		session_later(s);
	/* Most packets meet no cut: the tickets are looked through only where one is. */
	pause_reading(s,
		      s->full || (s->cutting && (s->planning || budget <= 0) && unsettled_cut(s)));
}

/* ---- Answers ---- */

static size_t small_results(struct reply_inline *out, const struct job *j)
{
	for (uint32_t i = 0; j && i < j->run.nfetch; i++) {
		out[i].version = j->fetched[i];
		out[i].bytes = j->run.fetched[i];
	}
	return j ? j->run.nfetch : 0;
}

/* So far, in the words of an answer. */
static void spent_on(uint64_t words[SPENT_WORDS], const struct session *s)
{
	const struct session_stats *has = &s->stats;

	words[0] = has->planning_ns;
	words[1] = has->busy_ns;
	words[2] = has->queue_wait_ns -
		   (has->queue_wait_ns < has->planning_ns ? has->queue_wait_ns : has->planning_ns);
	words[3] = has->ran;
}

static void resolved(struct session *s, struct ticket *t, const struct job *fresh)
{
	struct reply_inline small[JOB_FETCH];
	uint64_t spent[SPENT_WORDS];

	if (s->tell)
		spent_on(spent, s);
	for (int i = 0; i < SPENT_WORDS && s->tell; i++)
		spent[i] -= spent[i] < s->told_from[i] ? spent[i] : s->told_from[i];
	reply_resolved(s->conn, t, small, small_results(small, fresh), s->tell ? spent : NULL);
}

static void answer_one(struct session *s, struct ticket *t, const struct job *fresh)
{
	struct moment m = {.began = uv_hrtime(),
			   .flow = moments_flow(s->id, t->id),
			   .session = (uint32_t)s->id,
			   .number = t->nanswer,
			   .kind = MOMENT_ANSWER};
	bool told = t->kind != TICKET_CUT;
	struct err err;

	if (t->kind == TICKET_CUT) {
		s->cutting = false;
	} else if (t->cancelled && !ticket_settled(t)) {
		err_set(&err, E_CANCELLED, "the wait was cancelled%s%s",
			t->cancelled > 1 ? " by an operator: " : "",
			t->cancelled > 1 ? s->cancelled_by : "");
		reply_failure(s->conn, t->id, &err);
	} else if (t->kind == TICKET_PUBLISH) {
		publish_answer(s, t);
	} else {
		resolved(s, t, fresh);
	}
	ticket_remove(&s->tickets, t, &s->trace);
	m.ended = uv_hrtime();
	if (told)
		moments_add(m);
}

/* Nothing of a cancelled ticket runs any more? */
static bool at_rest(const struct ticket *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (t->version[i]->state == VERSION_RUNNING)
			return false;
	return true;
}

/* Is what this settled ticket asks for where the client wants it?  What lies on a device
 * only is fetched, if it is to be read; what went down with one has failed. */
static bool at_hand(struct session *s, const struct ticket *t, struct err *err)
{
	bool all = true;

	for (uint32_t i = 0; i < t->nanswer && !err->code; i++) {
		struct version *v = t->version[i];

		if (v->state != VERSION_STORED || v->storage->host)
			continue;
		if (storage_lost(v->storage) && version_revive(&s->trace, v)) {
			session_later(s); /* it is computed again */
			return false;
		}
		if (storage_lost(v->storage)) {
			struct err lost = {0};

			err_set(&lost, E_LOST, "lost: the array was only on a device that failed");
			version_fail(&s->trace, v, &lost);
			continue;
		}
		if (!ticket_brings(t, v))
			continue;
		all = false;
		/* What its last worker took along may be on its way to another one. */
		if (v->storage->carrying && !mirror_source(v->storage))
			continue;
		if (!v->storage->fetching && dispatch_fetch(s, v->storage, err))
			break;
	}
	return all;
}

/* The client will write the buffer itself. */
static void hand_over(struct session *s, const struct ticket *t)
{
	struct version *v = t->version[0];

	if (t->kind != TICKET_FENCE || v->state != VERSION_STORED)
		return;
	v->storage->reads = 0;
	mirror_outdate(v->storage, NULL);
	version_forget_uses(&s->trace, v);
}

/* Reply to every ticket whose versions are settled and where they can be read. */
void pipeline_answer(struct session *s, const struct job *fresh)
{
	struct ticket *next;

	for (struct ticket *t = s->tickets.first; t; t = next) {
		struct err err = {0};

		next = t->next;
		if (t->cancelled ? !at_rest(t) : !ticket_settled(t))
			continue;
		if (t->cancelled || t->kind == TICKET_CUT || at_hand(s, t, &err)) {
			if (t->kind == TICKET_PUBLISH && !publish_ready(s, t))
				continue;
			hand_over(s, t);
			answer_one(s, t, fresh);
		} else if (err.code) {
			reply_failure(s->conn, t->id, &err);
			ticket_remove(&s->tickets, t, &s->trace);
		}
	}
}

/* ---- Requests ---- */

static void let_go(struct session *s, struct version **v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		version_unref(&s->trace, v[i]);
}

struct ticket *pipeline_wait(struct session *s, enum ticket_kind kind, uint64_t id,
			     struct version **want, uint32_t n, uint32_t nanswer, uint32_t nalso)
{
	struct err err;

	if (s->tickets.load + n + nalso >= LIMIT_TICKET_LOAD) {
		let_go(s, want + n, nalso);
		nalso = 0;
	}
	if (account_check(s, LIMITS_queue, 1, &err)) {
		reply_failure(s->conn, id, &err);
		let_go(s, want, n + nalso);
		return NULL;
	}
	if (s->tickets.load + n < LIMIT_TICKET_LOAD)
		return ticket_add(&s->tickets, kind, id, want, n, nanswer, nalso, uv_hrtime());
	err_set(&err, E_LIMIT, "%u waits and values waited for, at most %u are possible",
		s->tickets.load, LIMIT_TICKET_LOAD);
	reply_failure(s->conn, id, &err);
	let_go(s, want, n);
	return NULL;
}

static enum status demand(struct session *s, const struct request *r, struct err *err)
{
	struct version *want[LIMIT_DEMAND_IDS + LIMIT_DEMAND_ALSO];
	uint32_t n = (uint32_t)r->demand.n, nalso = (uint32_t)r->demand.nalso;

	for (uint32_t i = 0; i < n + nalso; i++) {
		uint32_t id = i < n ? r->demand.id[i] : r->demand.also[i - n];
		struct array *a = trace_array(&s->trace, id);

		if (!a) {
			let_go(s, want, i);
			return err_set(err, E_UNKNOWN_ARRAY,
				       "demand of array %u, which does not exist", id);
		}
		want[i] = version_ref(trace_current(a));
	}
	if (*r->demand.where)
		text_clean(s->where, sizeof s->where, r->demand.where);
	if (r->demand.tell && !s->tell)
		spent_on(s->told_from, s);
	s->tell = r->demand.tell;
	s->stats.demands++;
	pipeline_wait(s, r->demand.stay ? TICKET_COMPUTE : TICKET_DEMAND, r->demand.ticket, want, n,
		      n, nalso);
	return OK;
}

/* Does the value lie where its client cannot write?  One that is to be made is made elsewhere. */
static bool lies_apart(struct trace *t, struct version *v)
{
	while (!v->storage) {
		v->home = HOME_ARENA;
		if (v->state == VERSION_FAILED || !v->node || !v->node->prev)
			return false;
		v = v->node->prev; /* whose storage it may take */
	}
	/* A program that writes its large arrays itself would have each of them copied. */
	if (v->storage->share && v->storage->home == HOME_ANY)
		t->share_from = UINT64_MAX;
	return v->storage->share != NULL;
}

/* A value of its own, in the arena, for what the client is going to write. */
static void move_value(struct trace *t, struct buffer *b)
{
	struct version *copy = record_copy(t, b->current);

	copy->home = HOME_ARENA;
	trace_supersede(t, b, copy);
}

/* The client wants to write the buffer in place: its value must be stored where
 * nobody else, present or pending, reads it. */
static enum status fence(struct session *s, const struct request *r, struct err *err)
{
	struct array *a = trace_array(&s->trace, r->fence.id);
	struct version *v, **readers, **want;
	size_t n;

	if (!a)
		return err_set(err, E_UNKNOWN_ARRAY, "fence of array %u, which does not exist",
			       r->fence.id);
	if (a->frozen)
		return err_set(err, E_READONLY, "fence of a snapshot");
	if (a->buffer->current->pins || lies_apart(&s->trace, a->buffer->current))
		move_value(&s->trace, a->buffer);
	v = a->buffer->current;
	readers = demand_readers(&s->trace, v, &n);
	want = xcalloc(n + 1, sizeof *want);
	want[0] = version_ref(v);
	memcpy(want + 1, readers, n * sizeof *want);
	s->stats.demands++;
	pipeline_wait(s, TICKET_FENCE, r->fence.ticket, want, (uint32_t)n + 1, 1, 0);
	free(readers);
	free(want);
	return OK;
}

static void cancel(struct session *s, uint64_t id)
{
	struct ticket *t = ticket_find(&s->tickets, id);

	if (!t)
		return; /* it was answered while the cancel travelled */
	t->cancelled = 1;
	/* Later jobs may read what an earlier one no longer makes: all stop, and what
	 * other tickets want starts again. */
	dispatch_cancel(s);
}

void pipeline_cancel_all(struct session *s)
{
	struct err err;

	for (struct ticket *t = s->tickets.first; t; t = t->next)
		t->cancelled = 2;
	err_set(&err, E_CANCELLED, "the wait was cancelled by an operator: %s", s->cancelled_by);
	kernels_forget(s, &err);
	s->cut_failed = true; /* the trace is cut again when its client goes on */
	dispatch_cancel(s);
	pipeline_pump(s);
}

static void lease(struct session *s, const struct request *r)
{
	uint64_t live = trace_live(&s->trace);
	struct extent e;
	struct err err;

	session_quota(s);
	if (s->trace.quota_bytes && (r->lease.bytes > s->trace.quota_bytes ||
				     live > s->trace.quota_bytes - r->lease.bytes)) {
		err_set(&err, E_NOMEM,
			"%llu bytes of host data would pass what this user's quota leaves to "
			"the connection, %llu MiB",
			(unsigned long long)r->lease.bytes,
			(unsigned long long)(s->trace.quota_bytes >> 20));
		(void)trace_over(&s->trace, &err);
		reply_failure(s->conn, r->lease.ticket, &err);
	} else if (arena_lease(s->arena, &e, r->lease.bytes, &err)) {
		reply_failure(s->conn, r->lease.ticket, &err);
	} else {
		reply_leased(s->conn, r->lease.ticket, &e);
	}
}

static enum status explain(struct session *s, const struct request *r, struct err *err)
{
	const struct array *a = trace_array(&s->trace, r->explain.id);
	char text[LIMIT_EXPLAIN_TEXT];

	if (!a)
		return err_set(err, E_UNKNOWN_ARRAY, "explain of array %u, which does not exist",
			       r->explain.id);
	explain_version(text, sizeof text, s->d, trace_current(a));
	reply_explained(s->conn, r->explain.ticket, text);
	return OK;
}

static enum status hello(struct session *s, const struct request *r, struct err *err)
{
	if (r->has_trace || r->has_demand || r->has_fence || r->has_lease || r->has_unlease ||
	    r->has_cancel || r->has_explain || r->has_compile || r->has_about || r->has_publish ||
	    r->has_open || r->has_export || r->has_offer || r->has_grid)
		return err_set(err, E_PROTOCOL, "hello must come alone");
	return session_welcome(s, &r->hello, err);
}

/* What a choice between it and the CPU is made from.  With isolation its user's own worker begins,
 * if there is none: until it is there nothing goes there. */
static void offer_rates(struct reply_offer *o, struct session *s, struct device *dev)
{
	struct device *own = dev;
	struct executor_stats x;
	struct err err;

	if (s->d->isolated && isolate_enter(&own, s, dev, &err))
		return;
	if (dev->state != DEVICE_USABLE || own->state != DEVICE_USABLE)
		return;
	executor_get_stats(own->executor, &x);
	o->units = dev->units ? dev->units : 1;
	o->double_ratio = dev->double_ratio;
	o->memory_rate = dev->memory_rate;
	o->upload_rate = (uint64_t)(x.up_bytes_us * 1e6);
	o->download_rate = (uint64_t)(x.down_bytes_us * 1e6);
	o->capacity = dev->capacity;
	o->name = dev->name;
	o->astray = s->astray;
}

/* What has the device of a trace of this number; by cost, no library that not all have. */
static enum status offer(struct session *s, const struct request *r, struct err *err)
{
	uint32_t number = r->offer.device;
	struct device *dev = NULL;
	struct reply_offer o = {.usable = true};

	if (number > s->d->ndevice + 1)
		return err_set(err, E_PROTOCOL, "offers of device %u of %u", number, s->d->ndevice);
	number = number ? number - 1 : s->device ? s->device : s->d->preferred;
	dev = number ? &s->d->device[number - 1] : NULL;
	if (dev) {
		o.starting = dev->state == DEVICE_STARTING;
		o.usable = dev->state == DEVICE_USABLE;
		o.fourier = o.usable && dev->fourier;
		o.factors = o.usable && dev->factors;
	}
	if (!number)
		dev = choose_gpu(s);
	if (dev && dev->index && r->offer.rates)
		offer_rates(&o, s, dev);
	reply_offered(s->conn, r->offer.ticket, &o);
	return OK;
}

/* What waits for nothing that was asked before it. */
static enum status questions(struct session *s, const struct request *r, struct err *err)
{
	enum status st = OK;

	if (r->has_explain)
		st = explain(s, r, err);
	if (!st && r->has_compile)
		kernels_compile(s, r->compile.ticket, r->compile.text);
	if (!st && r->has_publish)
		st = publish_ask(s, &r->publish, err);
	if (!st && r->has_open)
		st = publish_open(s, &r->open, err);
	if (!st && r->has_offer)
		st = offer(s, r, err);
	if (!st && r->has_export)
		st = lend_ask(s, &r->export, err);
	return st;
}

/* What operations may name, then operations. */
static enum status record(struct session *s, const struct request *r, struct err *err)
{
	enum status st = OK;

	if (r->has_grid)
		st = record_define(&s->trace, s->d->grids, r->grid.number, &r->grid.words, 0, err);
	if (!st && r->has_trace)
		st = record_ops(&s->trace, &r->trace, err);
	return st;
}

static enum status parts(struct session *s, const struct request *r, struct err *err)
{
	enum status st = OK;

	if (r->has_about)
		session_about(s, &r->about);
	if (r->has_unlease)
		st = arena_unlease(s->arena, r->unlease.offset, r->unlease.bytes, err);
	if (trace_charge(&s->trace)) /* records of other connections count as well */
		session_quota(s);
	s->d->turn.operations += r->trace.nhead;
	if (!st)
		st = record(s, r, err);
	if (!st && r->has_demand)
		st = demand(s, r, err);
	if (!st && r->has_fence)
		st = fence(s, r, err);
	if (!st && r->has_lease)
		lease(s, r);
	if (!st && r->has_cancel)
		cancel(s, r->cancel.ticket);
	return st ? st : questions(s, r, err);
}

static enum status handle(struct session *s, const struct request *r, struct err *err)
{
	enum status st = OK;

	if (r->seq != s->seq + 1)
		return err_set(err, E_PROTOCOL,
			       "request %llu came after %llu: two processes on one connection?",
			       (unsigned long long)r->seq, (unsigned long long)s->seq);
	s->seq = r->seq;
	s->near = r->near;
	if (!s->welcomed)
		return r->has_hello ? hello(s, r, err)
				    : err_set(err, E_PROTOCOL, "the first request must be hello");
	if (r->has_hello)
		return err_set(err, E_PROTOCOL, "a second hello");
	st = parts(s, r, err);
	if (!st && r->has_trace)
		st = account_check(s, LIMITS_pending, 0, err);
	if (!st && s->trace.npending > LIMIT_PENDING_HARD)
		st = err_set(err, E_LIMIT,
			     "%u operations are pending and there is no memory to run them",
			     s->trace.npending);
	s->cut_failed = false; /* something may have been released */
	return st;
}

void pipeline_packet(struct session *s, struct packet *p)
{
	struct moment m = {.began = uv_hrtime(), .session = (uint32_t)s->id, .kind = MOMENT_PACKET};
	struct request r;
	struct err err = {0};
	enum status st;

	s->d->turn.packets++;
	st = p->nfds ? err_set(&err, E_PROTOCOL, "clients do not send descriptors")
		     : decode_request(&r, s->d->decoder, p->data, p->len, &err);
	if (!st) {
		m.number = (uint32_t)r.trace.nhead;
		m.flow = r.has_demand  ? moments_flow(s->id, r.demand.ticket)
			 : r.has_fence ? moments_flow(s->id, r.fence.ticket)
				       : 0;
		st = handle(s, &r, &err);
	}
	if (st)
		session_refuse(s, &err);
	else
		pipeline_pump(s);
	m.ended = uv_hrtime();
	moments_add(m);
}

void pipeline_release_plan(void *data, struct plan *plan)
{
	struct brazed *d = data;

	for (uint32_t i = 0; i < plan->nstep; i++) {
		grid_unref(plan->step[i].grid);
		for (int t = 0; t < LIMIT_DEVICES; t++)
			if (plan->step[i].kernel[t])
				cache_unref(d->cache, plan->step[i].kernel[t]);
	}
	plan_free(plan);
}
