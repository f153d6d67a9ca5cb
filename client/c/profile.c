/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/profile.c - ticks: pieces of a program's time, told where the program is. */
#include "profile.h"

#include <stdlib.h>

#include "base/clock.h"
#include "lock.h"
#include "near.h"
#include "watch.h"

#define TICK_WORK                                                                                  \
	1000000 /* predicted, in tenths of a ns, on the average; twice that is told at once */
#define NEAR_EVERY  256	  /* near operations, on the average */
#define FAR_EVERY   512	  /* recorded ones */
#define COPY_LEAST  16384 /* bytes; less is quicker than to look at the clock */
#define BRIEF_EVERY 128	  /* calls of NumPy's and copies that are brief */
#define BRIEF_NS    20000 /* a longer one is told at once */
#define LOOKS	    128	  /* ... if it lasts as long as so many looks where the program is */
#define WORK_NS	    10	  /* of predicted work */

/* A number from 1 to 2 * every - 1. */
static uint32_t interval(struct profile *p, uint32_t every)
{
	p->random ^= p->random << 13;
	p->random ^= p->random >> 17;
	p->random ^= p->random << 5;
	return 1 + (uint32_t)((uint64_t)p->random * (2 * every - 1) >> 32);
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

/* The next tick is due when one of these is; what is not due yet stays. */
static void rearm(struct braze_session *s)
{
	struct profile *p = s->profile;

	if (!s->profile_left)
		s->profile_left = interval(p, FAR_EVERY);
	if (s->counters.near >= s->profile_at)
		s->profile_at = s->counters.near + interval(p, NEAR_EVERY);
	if (!p->brief)
		p->brief = interval(p, BRIEF_EVERY);
	p->due = interval(p, TICK_WORK);
	p->span = s->profile_left;
	p->near = s->counters.near;
	p->large = 0;
}

/* What of the time since the last tick was the program's, before NumPy or a copy had its turn. */
static uint64_t before_turn(const struct profile *p)
{
	return p->whose != PROGRAMS && p->began > p->since ? p->began - p->since : 0;
}

/* The time until now is the program's, NumPy's or a copy's: for the next tick. */
static void account(struct profile *p, uint64_t now)
{
	uint64_t ns = now > p->since ? now - p->since : 0, before = before_turn(p);

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
	rearm(s);
	p->since = clock_ns(); /* what the binding does is nobody's */
	if (!p->look || p->since - now < p->look)
		p->look = p->since - now;
}

void profile_near(struct braze_session *s)
{
	if (s->profile)
		tell(s, clock_ns());
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
		p->tick.work += (NEAR_MOVED + op_row(r->op)->cost) * points(made, r);
	}
	if (p->tick.work >= p->due || !s->profile_left)
		tell(s, clock_ns());
}

uint64_t profile_wait(struct braze_session *s)
{
	if (!s->profile)
		return 0;
	account(s->profile, clock_ns());
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
	p->since = clock_ns();
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
	return unlikely(s->profile) ? clock_ns() : 0;
}

void profile_sent(struct braze_session *s, uint64_t began)
{
	if (began && s->profile) {
		uint64_t ns = clock_ns() - began;

		s->profile->tick.wait_ns += ns;
		s->profile->since += ns;
	}
}

/* ---- Turns of NumPy's and of copies ---- */

static void turn_begins(struct profile *p, enum profile_time whose)
{
	p->began = clock_ns();
	p->whose = whose;
}

/* One that took little is not told by itself: to look where the program is takes as long. */
static void turn_ends(struct braze_session *s, uint64_t *whose_ns)
{
	struct profile *p = s->profile;
	uint64_t now = clock_ns(), from = p->began > p->since ? p->began : p->since;
	uint64_t ns = now > from ? now - from : 0;

	if ((ns >= BRIEF_NS && ns >= LOOKS * p->look) || !--p->brief) {
		tell(s, now);
	} else {
		*whose_ns += ns;
		p->since += ns; /* what is left is the program's */
	}
	p->whose = PROGRAMS;
}

void profile_copy(struct braze_session *s, uint64_t bytes)
{
	struct profile *p = s->profile;

	if (p && p->whose == PROGRAMS && bytes >= COPY_LEAST)
		turn_begins(p, COPIES);
}

void profile_copied(struct braze_session *s, uint64_t bytes)
{
	struct profile *p = s->profile;

	if (!p || p->whose != COPIES)
		return;
	p->tick.copied += bytes;
	turn_ends(s, &p->tick.copy_ns);
}

void braze_profile_numpys(braze_session *s, int on)
{
	lock_take(s);
	struct profile *p = s->profile;
	if (p && on && p->whose != NUMPYS)
		turn_begins(p, NUMPYS);
	else if (p && !on && p->whose == NUMPYS)
		turn_ends(s, &p->tick.numpy_ns);
	lock_give(s);
}

int braze_set_profiler(braze_session *s, braze_profiler_fn *tell_fn, void *data, braze_error *error)
{
	struct profile *fresh = tell_fn ? calloc(1, sizeof(*fresh)) : NULL;

	if (tell_fn && !fresh)
		return (int)err_set(err_of(error), E_NOMEM, "no memory for a profile");
	lock_take(s);
	if (s->profile && !tell_fn)
		tell(s, clock_ns());
	free(s->profile);
	s->profile = fresh;
	s->profile_at = UINT64_MAX;
	if (fresh) {
		*fresh = (struct profile){.tell = tell_fn, .data = data, .random = 2463534242u};
		fresh->work = s->near_made ? s->near_made->stretch.work : 0;
		pthread_mutex_lock(&s->sock);
		fresh->spent = s->spent;
		pthread_mutex_unlock(&s->sock);
		s->profile_left = 0;
		s->profile_at = s->counters.near + 1;
		rearm(s);
		fresh->since = clock_ns();
	}
	watch_set_careful(s);
	lock_give(s);
	return 0;
}
