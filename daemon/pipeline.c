/* SPDX-License-Identifier: Apache-2.0 */
/* The one file that calls every stage in order: a packet becomes a request, its
 * ops join the trace, a demand cuts a partition out of it, the partition gets a
 * plan (cached, or made by the planner thread), the plan gets storage and runs in
 * the worker, and what the client waits for is answered.
 *
 * One partition of a client is planned at a time and its jobs run in the order of
 * binding, so a later job may read what an earlier one is still writing. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/log.h"
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
/* Ops that one turn of the loop may look at for one client. */
#define PUMP_OPS 2048

static void on_chore(uv_idle_t *idle);
static void pump(struct session *s);
static void answer(struct session *s, const struct job *fresh);

/* ---- Sessions ---- */

/* What would make one turn of the loop long goes on in the next ones, a piece for
 * one session in each. */
static void later(struct session *s)
{
	struct session **at = &s->d->chores;

	if (s->chore)
		return;
	while (*at)
		at = &(*at)->next_chore;
	*at = s;
	s->chore = true;
	s->next_chore = NULL;
	uv_idle_start(s->d->idle, on_chore);
}

static void session_free(struct session *s)
{
	struct brazed *d = s->d;

	if (!trace_clear_some(&s->trace)) {
		later(s);
		return;
	}
	trace_finish(&s->trace);
	if (s->arena) {
		executor_region_drop(d->executor, s->region);
		arena_destroy(s->arena);
	}
	*(s->prev ? &s->prev->next : &d->sessions) = s->next;
	if (s->next)
		s->next->prev = s->prev;
	d->nsession--;
	log_info("session", "%llu (%s, pid %u) ended", (unsigned long long)s->id, s->name, s->pid);
	free(s);
	if (!d->nsession && d->became_idle)
		d->became_idle(d);
}

/* The connection is over: nothing of the client's is wanted any more.  The
 * session itself goes when its last job has let go of its storage. */
static void session_end(struct session *s)
{
	s->conn = NULL;
	while (s->tickets.first)
		ticket_remove(&s->tickets, s->tickets.first, &s->trace);
	for (struct job *j = s->running; j; j = j->next)
		executor_cancel(s->d->executor, &j->run);
	if (!s->jobs)
		later(s);
}

static void on_chore(uv_idle_t *idle)
{
	struct brazed *d = idle->data;
	struct session *s = d->chores;

	d->turn.chores++;
	d->chores = s->next_chore;
	s->chore = false;
	if (!d->chores)
		uv_idle_stop(idle);
	if (s->conn)
		pump(s);
	else if (!s->jobs)
		session_free(s);
}

/* Tell the client why and close. */
static void refuse(struct session *s, const struct err *err)
{
	log_warn("session", "%llu (%s, pid %u): %s", (unsigned long long)s->id, s->name, s->pid,
		 err->text);
	reply_goodbye(s->conn, err);
	conn_close(s->conn);
	session_end(s);
}

/* What the user's other connections hold is not this one's any more; but a greedy
 * one leaves each of the others half of an even share. */
static void refresh_quota(struct session *s)
{
	uint64_t others = 0, quota = s->d->quota_bytes, left, share, n = 1;

	for (const struct session *o = s->d->sessions; o; o = o->next) {
		struct arena_stats stats;

		if (o == s || o->uid != s->uid || !o->arena)
			continue;
		arena_get_stats(o->arena, &stats);
		others += stats.live_bytes;
		n++;
	}
	left = others < quota ? quota - others : 0;
	share = quota / (2 * n);
	s->trace.quota_bytes = left > share ? left : share;
}

static enum status welcome(struct session *s, const struct request *r, struct err *err)
{
	struct brazed *d = s->d;
	struct extent lease;
	enum status st;

	if (r->hello.major != BRAZE_PROTO_MAJOR)
		return err_set(err, E_VERSION,
			       "client speaks protocol %u, this daemon (%s) speaks %d: "
			       "install matching versions",
			       r->hello.major, BRAZE_DAEMON_VERSION, BRAZE_PROTO_MAJOR);
	if (r->hello.op_table != op_table_hash())
		return err_set(err, E_VERSION,
			       "client and daemon (%s) have different operation tables: "
			       "install matching versions",
			       BRAZE_DAEMON_VERSION);
	if (r->has_trace || r->has_demand || r->has_fence || r->has_lease)
		return err_set(err, E_PROTOCOL, "hello must come alone");
	snprintf(s->name, sizeof s->name, "%s", r->hello.name);
	for (char *c = s->name; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	s->flags = r->hello.flags;
	st = arena_create(&s->arena, d->loop, d->arena_bytes, err);
	if (st)
		return st;
	trace_init(&s->trace, s->arena, d->quota_bytes);
	s->region = (uint32_t)s->id;
	st = executor_region_add(d->executor, s->region, arena_fd(s->arena), arena_bytes(s->arena),
				 err);
	if (!st)
		st = arena_lease(s->arena, &lease, LIMIT_LEASE_BYTES, err);
	if (st)
		return st;
	s->welcomed = true;
	reply_welcome(s->conn, s->id, s->arena, &lease);
	log_info("session", "%llu (%s, pid %u) connected", (unsigned long long)s->id, s->name,
		 s->pid);
	return OK;
}

/* ---- Running what a ticket wants ---- */

static void job_done(struct executor_job *run, enum job_end end, const struct err *why);

/* 0: every input is there; E_CANCELLED: one is pending again; else its failure. */
static enum status inputs_ready(const struct job *j, bool done, struct err *err)
{
	const struct part *p = &j->partition->part;

	for (uint32_t i = 0; i < p->nvalue; i++) {
		const struct version *v = j->partition->value[i];

		if (p->value[i].role != PART_INPUT)
			continue;
		if (v->state == VERSION_FAILED) {
			*err = *v->error;
			return err->code;
		}
		if (v->state != VERSION_STORED && (done || !v->storage))
			return err_set(err, E_CANCELLED, "an input was cancelled");
	}
	return OK;
}

static void finish_job(struct job *j, enum job_end end, const struct err *err)
{
	struct session *s = j->session;

	job_settle(j, &s->trace, end, err);
	if (s->conn)
		answer(s, end == JOB_DONE ? j : NULL);
	if (j->run.plan)
		plancache_unref(s->d->plans, j->run.plan);
	job_free(j, &s->trace);
	s->jobs--;
	if (s->conn)
		pump(s);
	else if (!s->jobs)
		later(s);
}

/* There is no room for what is asked: the waits end, the ops stay pending. */
static void fail_tickets(struct session *s, const struct err *err)
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

static void start_job(struct job *j, struct plan *plan)
{
	struct session *s = j->session;
	struct err err = {0};
	enum status st = inputs_ready(j, false, &err);

	refresh_quota(s);
	if (!st)
		st = job_bind(j, &s->trace, plan, s->region, &err);
	if (st) {
		plancache_unref(s->d->plans, plan);
		if (st == E_NOMEM)
			fail_tickets(s, &err);
		finish_job(j, st == E_CANCELLED || st == E_NOMEM ? JOB_CANCELLED : JOB_FAILED,
			   &err);
		return;
	}
	j->run.client = s->id;
	j->run.done = job_done;
	j->run.data = j;
	j->next = s->running;
	s->running = j;
	s->stats.steps += plan->nstep;
	if (plan->nstep) {
		executor_submit(s->d->executor, &j->run);
	} else { /* arrays without content need storage only */
		s->running = j->next;
		finish_job(j, JOB_DONE, NULL);
	}
}

static void job_done(struct executor_job *run, enum job_end end, const struct err *why)
{
	struct job *j = run->data, **at = &j->session->running;
	struct session *s = j->session;
	struct err err = {0};
	uint64_t spent = uv_hrtime() - j->since_ns;

	s->d->turn.jobs++;
	while (*at != j)
		at = &(*at)->next;
	*at = j->next;
	if (why)
		err = *why;
	s->stats.busy_ns += run->busy_ns;
	s->stats.queue_wait_ns += spent > run->busy_ns ? spent - run->busy_ns : 0;
	/* What it read may have failed or been cancelled after it was submitted. */
	if (end == JOB_DONE) {
		enum status st = inputs_ready(j, true, &err);

		end = !st ? JOB_DONE : st == E_CANCELLED ? JOB_CANCELLED : JOB_FAILED;
		run->torn = end == JOB_CANCELLED && plan_tears(run->plan);
	}
	if (end == JOB_CANCELLED && run->torn) {
		end = JOB_FAILED;
		err_set(&err, E_LOST, "lost: cancelled while the array was being overwritten");
	}
	finish_job(j, end, &err);
}

static void dump_source(const struct kernel *k)
{
	char *text = cache_source(k);

	fprintf(stderr, "-- source of kernel %u\n%s", k->id, text ? text : "");
	free(text);
}

/* A new plan: find its kernels, remember it. */
static void install_plan(struct session *s, const struct part *part, struct plan *plan)
{
	struct brazed *d = s->d;

	for (uint32_t i = 0; i < plan->nstep; i++) {
		struct nest spec;

		if (plan->step[i].kind != STEP_KERNEL)
			continue;
		compilepart_spec(&spec, plan->step[i].nest);
		plan->step[i].kernel = cache_get(d->cache, &spec, s->id);
		if (d->dump_source)
			dump_source(plan->step[i].kernel);
	}
	for (uint32_t i = 0; i < plan->nnote; i++)
		d->refusals[plan->note[i].reason % 32]++;
	s->stats.refusals += plan->nnote;
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

static void plan_ready(struct planner_job *pj)
{
	struct job *j = pj->data;
	struct session *s = j->session;

	s->d->turn.plans++;
	s->planning = NULL;
	if (!pj->plan) {
		log_error("pipeline", "planning failed: %s", pj->err.text);
		finish_job(j, JOB_FAILED, &pj->err);
		return;
	}
	install_plan(s, &j->partition->part, pj->plan);
	if (!s->conn || !wanted(s)) {
		plancache_unref(s->d->plans, pj->plan);
		finish_job(j, JOB_CANCELLED, NULL);
		return;
	}
	start_job(j, pj->plan);
	if (s->jobs)
		pump(s);
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
	s->jobs++;
	plan = plancache_find(d->plans, &p->part);
	if (plan) {
		s->stats.plan_hits++;
		start_job(j, plan);
		return true;
	}
	s->stats.plan_misses++;
	s->planning = j;
	j->plan.part = &p->part;
	j->plan.done = plan_ready;
	j->plan.data = j;
	planner_submit(d->planner, &j->plan);
	return true;
}

/* Bounds on what laziness may pile up, counted in trace position, never in time.
 * True: the trace is cut, and there is new work. */
static bool bound_trace(struct session *s)
{
	struct trace *t = &s->trace;
	struct arena_stats stats;
	struct version **want;
	uint64_t allowed;
	size_t n;

	arena_get_stats(s->arena, &stats);
	allowed = stats.live_bytes / 10 * 3 > HELD_MIN ? stats.live_bytes / 10 * 3 : HELD_MIN;
	if (t->npending < LIMIT_PENDING_OPS && t->held_bytes < allowed)
		return false;
	if (t->npending > 2 * LIMIT_PENDING_OPS && !s->paused && !s->cut_failed) {
		s->paused = true;
		conn_pause(s->conn, true);
	}
	if (s->cutting || s->cut_failed)
		return false;
	want = demand_cut(t, &n);
	s->cutting = n > 0;
	if (n)
		ticket_add(&s->tickets, TICKET_CUT, 0, want, (uint32_t)n, 0, uv_hrtime());
	free(want);
	return n > 0;
}

/* Start everything that the tickets want and that can start now. */
static void pump(struct session *s)
{
	int64_t budget = PUMP_OPS;

	if (s->pumping)
		return;
	s->pumping = true;
	do {
		struct ticket *t = s->tickets.first;

		while (t && !s->planning && budget > 0) {
			if (t->cancelled || !advance(s, t, &budget))
				t = t->next;
			else
				t = s->tickets.first; /* the list may have changed */
		}
		answer(s, NULL);
	} while (bound_trace(s) && budget > 0);
	s->pumping = false;
	if (budget <= 0)
		later(s);
	if (s->paused && (s->trace.npending < LIMIT_PENDING_OPS || s->cut_failed)) {
		s->paused = false;
		conn_pause(s->conn, false);
	}
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

static void answer_one(struct session *s, struct ticket *t, const struct job *fresh)
{
	struct reply_inline small[JOB_FETCH];
	struct err err;

	if (t->kind == TICKET_CUT) {
		s->cutting = false;
	} else if (t->cancelled && !ticket_settled(t)) {
		err_set(&err, E_CANCELLED, "the wait was cancelled");
		reply_failure(s->conn, t->id, &err);
	} else {
		reply_resolved(s->conn, t, small, small_results(small, fresh));
	}
	ticket_remove(&s->tickets, t, &s->trace);
}

/* Nothing of a cancelled ticket runs any more? */
static bool at_rest(const struct ticket *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (t->version[i]->state == VERSION_RUNNING)
			return false;
	return true;
}

/* Reply to every ticket whose versions are settled. */
static void answer(struct session *s, const struct job *fresh)
{
	struct ticket *next;

	for (struct ticket *t = s->tickets.first; t; t = next) {
		next = t->next;
		if (ticket_settled(t) || (t->cancelled && at_rest(t)))
			answer_one(s, t, fresh);
	}
}

/* ---- Requests ---- */

/* A ticket for these versions (takes the references), unless there are too many. */
static void wait_for(struct session *s, enum ticket_kind kind, uint64_t id, struct version **want,
		     uint32_t n, uint32_t nanswer)
{
	struct err err;

	if (s->tickets.load + n < LIMIT_TICKET_LOAD) {
		ticket_add(&s->tickets, kind, id, want, n, nanswer, uv_hrtime());
		return;
	}
	err_set(&err, E_LIMIT, "%u waits and values waited for, at most %u are possible",
		s->tickets.load, LIMIT_TICKET_LOAD);
	reply_failure(s->conn, id, &err);
	for (uint32_t i = 0; i < n; i++)
		version_unref(&s->trace, want[i]);
}

static enum status demand(struct session *s, const struct request *r, struct err *err)
{
	struct version *want[LIMIT_DEMAND_IDS];
	uint32_t n = (uint32_t)r->demand.n;

	for (uint32_t i = 0; i < n; i++) {
		struct array *a = trace_array(&s->trace, r->demand.id[i]);

		if (!a) {
			err_set(err, E_UNKNOWN_ARRAY, "demand of array %u, which does not exist",
				r->demand.id[i]);
			while (i-- > 0)
				version_unref(&s->trace, want[i]);
			return err->code;
		}
		want[i] = version_ref(trace_current(a));
	}
	s->stats.demands++;
	wait_for(s, TICKET_DEMAND, r->demand.ticket, want, n, n);
	return OK;
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
	if (a->buffer->current->pins)
		trace_supersede(&s->trace, a->buffer, record_copy(&s->trace, a->buffer->current));
	v = a->buffer->current;
	readers = demand_readers(&s->trace, v, &n);
	want = xcalloc(n + 1, sizeof *want);
	want[0] = version_ref(v);
	memcpy(want + 1, readers, n * sizeof *want);
	s->stats.demands++;
	wait_for(s, TICKET_FENCE, r->fence.ticket, want, (uint32_t)n + 1, 1);
	free(readers);
	free(want);
	return OK;
}

static void cancel(struct session *s, uint64_t id)
{
	struct ticket *t = ticket_find(&s->tickets, id);
	struct job *next;

	if (!t)
		return; /* it was answered while the cancel travelled */
	t->cancelled = 1;
	/* Later jobs may read what an earlier one no longer makes: all stop, and what
	 * other tickets want starts again. */
	for (struct job *j = s->running; j; j = next) {
		next = j->next;
		executor_cancel(s->d->executor, &j->run);
	}
}

static void lease(struct session *s, const struct request *r)
{
	struct arena_stats stats;
	struct extent e;
	struct err err;

	refresh_quota(s);
	arena_get_stats(s->arena, &stats);
	if (s->trace.quota_bytes && (r->lease.bytes > s->trace.quota_bytes ||
				     stats.live_bytes > s->trace.quota_bytes - r->lease.bytes)) {
		err_set(&err, E_NOMEM,
			"%llu bytes of host data would pass what this user's quota leaves to "
			"the connection, %llu MiB",
			(unsigned long long)r->lease.bytes,
			(unsigned long long)(s->trace.quota_bytes >> 20));
		reply_failure(s->conn, r->lease.ticket, &err);
	} else if (arena_lease(s->arena, &e, r->lease.bytes, &err)) {
		reply_failure(s->conn, r->lease.ticket, &err);
	} else {
		reply_leased(s->conn, r->lease.ticket, &e);
	}
}

static enum status handle(struct session *s, const struct request *r, struct err *err)
{
	enum status st = OK;

	if (r->seq != s->seq + 1)
		return err_set(err, E_PROTOCOL,
			       "request %llu came after %llu: two processes on one connection?",
			       (unsigned long long)r->seq, (unsigned long long)s->seq);
	s->seq = r->seq;
	if (!s->welcomed)
		return r->has_hello ? welcome(s, r, err)
				    : err_set(err, E_PROTOCOL, "the first request must be hello");
	if (r->has_hello)
		return err_set(err, E_PROTOCOL, "a second hello");
	if (r->has_unlease)
		st = arena_unlease(s->arena, r->unlease.offset, r->unlease.bytes, err);
	if (!st && r->has_trace)
		st = record_ops(&s->trace, &r->trace, err);
	if (!st && r->has_demand)
		st = demand(s, r, err);
	if (!st && r->has_fence)
		st = fence(s, r, err);
	if (!st && r->has_lease)
		lease(s, r);
	if (!st && r->has_cancel)
		cancel(s, r->cancel.ticket);
	if (!st && s->trace.npending > LIMIT_PENDING_HARD)
		st = err_set(err, E_LIMIT,
			     "%u operations are pending and there is no memory to run them",
			     s->trace.npending);
	s->cut_failed = false; /* something may have been released */
	return st;
}

static void on_packet(void *data, struct packet *p)
{
	struct session *s = data;
	struct request r;
	struct err err = {0};
	enum status st;

	s->d->turn.packets++;
	st = p->nfds ? err_set(&err, E_PROTOCOL, "clients do not send descriptors")
		     : decode_request(&r, s->d->decoder, p->data, p->len, &err);
	if (!st)
		st = handle(s, &r, &err);
	if (st)
		refuse(s, &err);
	else
		pump(s);
}

static void on_closed(void *data, const struct err *why)
{
	struct session *s = data;

	log_debug("session", "%llu: %s", (unsigned long long)s->id, why->text);
	session_end(s);
}

void pipeline_accept(struct brazed *d, int fd, uint32_t uid, uint32_t pid)
{
	static const struct conn_events events = {on_packet, on_closed};
	struct session *s;
	uint32_t same = 0;

	for (s = d->sessions; s; s = s->next)
		same += s->uid == uid;
	if (d->nsession >= LIMIT_CLIENTS || same >= LIMIT_CLIENTS_PER_UID) {
		log_warn("session", "refused pid %u: %u clients, %u of uid %u", pid, d->nsession,
			 same, uid);
		close(fd);
		return;
	}
	s = xcalloc(1, sizeof *s);
	s->d = d;
	s->id = ++d->next_session;
	s->uid = uid;
	s->pid = pid;
	snprintf(s->name, sizeof s->name, "?");
	s->conn = conn_create(d->loop, fd, &events, s);
	if (!s->conn) {
		free(s);
		return;
	}
	s->next = d->sessions;
	if (s->next)
		s->next->prev = s;
	d->sessions = s;
	d->nsession++;
}

void pipeline_start(struct brazed *d)
{
	d->idle = xcalloc(1, sizeof *d->idle);
	uv_idle_init(d->loop, d->idle);
	d->idle->data = d;
}

void pipeline_finish(struct brazed *d)
{
	uv_close((uv_handle_t *)d->idle, (uv_close_cb)free);
}

void pipeline_stop(struct brazed *d)
{
	struct session *next;
	struct err why;

	err_set(&why, E_DAEMON_GONE, "the daemon is stopping");
	for (struct session *s = d->sessions; s; s = next) {
		next = s->next;
		if (s->conn)
			refuse(s, &why);
	}
}

void pipeline_release_plan(void *data, struct plan *plan)
{
	struct brazed *d = data;

	for (uint32_t i = 0; i < plan->nstep; i++)
		if (plan->step[i].kernel)
			cache_unref(d->cache, plan->step[i].kernel);
	plan_free(plan);
}
