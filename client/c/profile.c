/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/profile.c - ticks: pieces of a program's time, told where the program is. */
#include "profile.h"

#include <stdlib.h>
#include <time.h>

#include "lock.h"
#include "near.h"
#include "watch.h"

#define TICK_WORK  200000 /* predicted, in tenths of a ns, that is told at once */
#define NEAR_EVERY 128	  /* near operations, on the average */
#define FAR_EVERY  256	  /* recorded ones */
#define COPY_LEAST 16384  /* bytes; less is quicker than to look at the clock */
#define BRIEF_NS   20000  /* of a call of NumPy's; a longer one is told at once */
#define WORK_NS	   10	  /* of predicted work */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A number from 1 to 2 * every - 1. */
static uint32_t interval(struct profile *p, uint32_t every)
{
	p->random ^= p->random << 13;
	p->random ^= p->random >> 17;
	p->random ^= p->random << 5;
	return 1 + p->random % (2 * every - 1);
}

/* The predicted work of near operations since the last tick. */
static uint64_t near_done(struct braze_session *s, struct profile *p)
{
	uint64_t work = s->near_made ? s->near_made->stretch.work : 0;
	/* A read has the session count from 0. */
	uint64_t done = work >= p->work ? work - p->work : work;

	p->work = work;
	return done / WORK_NS;
}

/* From now on. */
static void begin(struct braze_session *s)
{
	struct profile *p = s->profile;

	p->large = 0;
	p->brief = interval(p, NEAR_EVERY);
	p->near = s->counters.near;
	p->span = s->profile_left = interval(p, FAR_EVERY);
	s->profile_at = s->counters.near + interval(p, NEAR_EVERY);
}

/* What of the time since the last tick was the program's, before NumPy was called. */
static uint64_t before_numpy(const struct profile *p)
{
	return p->whose == NUMPYS && p->began > p->since ? p->began - p->since : 0;
}

/* The time until now is the program's, NumPy's or a copy's: for the next tick. */
static void account(struct profile *p, uint64_t now)
{
	uint64_t ns = now > p->since ? now - p->since : 0, before = before_numpy(p);

	*(p->whose == NUMPYS   ? &p->tick.numpy_ns
	  : p->whose == COPIES ? &p->tick.copy_ns
			       : &p->tick.own_ns) += ns - before;
	p->tick.own_ns += before;
	p->since = now;
}

static void tell(struct braze_session *s, uint64_t now)
{
	struct profile *p = s->profile;

	account(p, now);
	p->tick.far = p->span - s->profile_left;
	p->tick.work += (uint64_t)PROFILE_FEW * (p->tick.far - p->large);
	p->tick.near = s->counters.near - p->near;
	p->tick.near_ns = near_done(s, p);
	if (p->tick.near_ns > p->tick.own_ns)
		p->tick.near_ns = p->tick.own_ns;
	p->tell(p->data, &p->tick);
	p->tick = (struct braze_tick){0};
	begin(s);
	p->since = now_ns(); /* what the binding does is nobody's */
}

void profile_near(struct braze_session *s)
{
	if (s->profile)
		tell(s, now_ns());
}

/* Elements that the operation goes over. */
static uint64_t points(const struct braze_array *made, const struct recorded *r)
{
	int64_t n = made->count;
	const struct braze_array *first = r->n ? r->arg[0].array : NULL;

	if (r->op == OP_MATMUL && first && first->view.shape.ndim)
		return (uint64_t)n * (uint64_t)first->view.shape.dim[first->view.shape.ndim - 1];
	for (unsigned k = 0; k < r->n; k++)
		if (r->arg[k].array && r->arg[k].array->count > n)
			n = r->arg[k].array->count;
	return (uint64_t)n;
}

/* Most are small, and all alike. */
static bool is_few(const struct braze_array *made, const struct recorded *r)
{
	const struct braze_array *first = r->arg && r->n ? r->arg[0].array : NULL;

	return made->count <= PROFILE_FEW && (!first || first->count <= PROFILE_FEW);
}

void profile_recorded(const struct braze_array *made, const struct recorded *r)
{
	struct braze_session *s = made->session;
	struct profile *p = s->profile;

	if (!p || (made->buf->flags & BUF_APART)) /* near: counted there */
		return;
	s->profile_left--;
	if (!is_few(made, r)) {
		p->large++;
		p->tick.work += (5 + op_row(r->op)->cost) * points(made, r);
	}
	if (p->tick.work >= TICK_WORK || !s->profile_left)
		tell(s, now_ns());
}

uint64_t profile_wait(struct braze_session *s)
{
	if (!s->profile)
		return 0;
	account(s->profile, now_ns());
	return s->profile->since;
}

void profile_waited(struct braze_session *s, uint64_t began, enum ticket_kind kind)
{
	struct profile *p = s->profile;
	struct braze_tick *t = p ? &p->tick : NULL;
	struct braze_spent spent;

	if (!p || !began)
		return;
	pthread_mutex_lock(&s->sock);
	spent = s->spent;
	pthread_mutex_unlock(&s->sock);
	p->since = now_ns();
	t->wait_ns += p->since - began;
	t->trips = 1;
	t->kind = kind == TICKET_COMPILE ? BRAZE_WAIT_CODE
		  : kind == TICKET_LEASE ? BRAZE_WAIT_MEMORY
					 : BRAZE_WAIT_VALUE;
	if (spent.running_ns >= p->spent.running_ns) { /* else another daemon's */
		t->spent.planning_ns = spent.planning_ns - p->spent.planning_ns;
		t->spent.running_ns = spent.running_ns - p->spent.running_ns;
		t->spent.queued_ns = spent.queued_ns - p->spent.queued_ns;
		t->spent.ran = spent.ran - p->spent.ran;
	}
	p->spent = spent;
	tell(s, p->since);
}

uint64_t profile_sending(const struct braze_session *s)
{
	return unlikely(s->profile) ? now_ns() : 0;
}

void profile_sent(struct braze_session *s, uint64_t began)
{
	if (began && s->profile) {
		uint64_t ns = now_ns() - began;

		s->profile->tick.wait_ns += ns;
		s->profile->since += ns;
	}
}

void profile_copy(struct braze_session *s, uint64_t bytes)
{
	struct profile *p = s->profile;

	if (!p || p->whose == NUMPYS || bytes < COPY_LEAST)
		return;
	tell(s, now_ns());
	p->whose = COPIES;
}

void profile_copied(struct braze_session *s, uint64_t bytes)
{
	struct profile *p = s->profile;

	if (!p || p->whose != COPIES)
		return;
	p->tick.copied += bytes;
	tell(s, now_ns());
	p->whose = PROGRAMS;
}

int braze_set_profiler(braze_session *s, braze_profiler_fn *tell_fn, void *data, braze_error *error)
{
	struct profile *fresh = tell_fn ? calloc(1, sizeof(*fresh)) : NULL;

	if (tell_fn && !fresh)
		return (int)err_set(err_of(error), E_NOMEM, "no memory for a profile");
	lock_take(s);
	if (s->profile && !tell_fn)
		tell(s, now_ns());
	free(s->profile);
	s->profile = fresh;
	s->profile_at = UINT64_MAX;
	if (fresh) {
		*fresh = (struct profile){.tell = tell_fn, .data = data, .random = 2463534242u};
		fresh->work = s->near_made ? s->near_made->stretch.work : 0;
		pthread_mutex_lock(&s->sock);
		fresh->spent = s->spent;
		pthread_mutex_unlock(&s->sock);
		begin(s);
		s->profile_at = s->counters.near + 1;
		fresh->since = now_ns();
	}
	watch_set_careful(s);
	lock_give(s);
	return 0;
}

/* A call of NumPy's is over.  One that took little is not told by itself: to look where the program
 * is takes as long. */
static void numpys_over(struct braze_session *s, uint64_t now)
{
	struct profile *p = s->profile;
	uint64_t from = p->began > p->since ? p->began : p->since;
	uint64_t ns = now > from ? now - from : 0;

	if (ns >= BRIEF_NS || !--p->brief) {
		tell(s, now);
	} else {
		p->tick.numpy_ns += ns;
		p->since += ns; /* what is left is the program's */
	}
	p->whose = PROGRAMS;
}

void braze_profile_numpys(braze_session *s, int on)
{
	lock_take(s);
	struct profile *p = s->profile;
	if (p && on && p->whose != NUMPYS) {
		p->began = now_ns();
		p->whose = NUMPYS;
	} else if (p && !on && p->whose == NUMPYS) {
		numpys_over(s, now_ns());
	}
	lock_give(s);
}
