/* SPDX-License-Identifier: Apache-2.0 */
/* run/schedule.c - whose job sends the next packet.
 *
 * Fair queueing by virtual time on two levels (Goyal, Guo and Vin, 1996): users share the device by
 * their weights, and the clients of a user share by theirs what it gets.  Each user and each client
 * has a clock: the device time that it had, over its weight.  Of those that can send, the user who
 * is behind the others sends, and of its clients the one that is.  What a packet really took is
 * charged when it comes back, so that a bad prediction is paid for later.
 *
 * Who comes back after a pause keeps its clock, but is behind the others by CREDIT at most: a
 * session that mostly waits is served before those that mostly compute, as long as it takes less
 * than its share, and saves nothing up for later. */
#include <stdlib.h>

#include "base/xalloc.h"
#include "executor_impl.h"

#define UNIT	     1024 /* of a clock: so many are a microsecond at weight 1 */
#define CREDIT	     (5 * RUN_SLICE_US * (int64_t)UNIT)
#define LEAD	     (2 * RUN_SLICE_US * (int64_t)UNIT) /* over others with work, while packets fly */
#define DEBT_MAX     (50 * RUN_SLICE_US * (int64_t)UNIT)
#define EXPECTED_MAX 1000000000000 /* microseconds that a packet is expected to take, at most */
#define SHARED_NS    1000000000	   /* so long after clients met they are expected to meet again */

static struct queue *queue_find(const struct executor *x, uint64_t client)
{
	struct queue *q = x->queue;

	while (q && q->client != client)
		q = q->next;
	return q;
}

static struct share_user *user_get(struct executor *x, uint32_t uid)
{
	struct share_user *u = x->user;

	while (u && u->uid != uid)
		u = u->next;
	if (u)
		return u;
	u = xcalloc(1, sizeof *u);
	u->uid = uid;
	u->share.weight = 1;
	u->share.clock = x->now;
	u->next = x->user;
	x->user = u;
	return u;
}

static struct queue *queue_get(struct executor *x, uint64_t client)
{
	struct queue *q = queue_find(x, client), **at = &x->queue;

	if (q)
		return q;
	while (*at)
		at = &(*at)->next;
	q = xcalloc(1, sizeof *q);
	q->client = client;
	q->tail = &q->head;
	q->share.weight = 1;
	q->user = user_get(x, 0);
	q->share.clock = q->user->now;
	*at = q;
	return q;
}

void schedule_client_set(struct executor *x, const struct executor_client *c)
{
	struct queue *q = queue_get(x, c->client);
	struct share_user *u = user_get(x, c->uid);

	if (q->user != u) {
		q->user = u;
		q->share.clock = u->now;
	}
	u->share.weight = c->user_weight ? c->user_weight : 1;
	q->share.weight = c->weight ? c->weight : 1;
	q->held = c->held;
}

static uint32_t flies(const struct executor *x, const struct queue *q)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < x->nflight; i++)
		n += x->flight[i].job->client == q->client;
	return n;
}

void schedule_client_drop(struct executor *x, uint64_t client)
{
	struct queue **at = &x->queue, *q = NULL;

	while (*at && (*at)->client != client)
		at = &(*at)->next;
	q = *at;
	if (!q || q->head || flies(x, q))
		return;
	*at = q->next;
	free(q);
}

const struct share *schedule_client(const struct executor *x, uint64_t client)
{
	const struct queue *q = queue_find(x, client);

	return q ? &q->share : NULL;
}

const struct share *schedule_user(const struct executor *x, uint32_t uid)
{
	const struct share_user *u = x->user;

	while (u && u->uid != uid)
		u = u->next;
	return u ? &u->share : NULL;
}

void schedule_free(struct executor *x)
{
	while (x->queue) {
		struct queue *q = x->queue;

		x->queue = q->next;
		free(q);
	}
	while (x->user) {
		struct share_user *u = x->user;

		x->user = u->next;
		free(u);
	}
}

bool schedule_shared(const struct executor *x)
{
	return !x->target && executor_clock() < x->shared_until_ns;
}

/* Has it work that may be sent? */
static bool waits(const struct queue *q)
{
	return q->head && (!q->held || q->head->ending);
}

/* Has another client work here? */
static bool others_work(const struct executor *x, uint64_t client)
{
	for (uint32_t i = 0; i < x->nflight; i++)
		if (x->flight[i].job->client != client)
			return true;
	for (const struct queue *q = x->queue; q; q = q->next)
		if (q->client != client && waits(q))
			return true;
	return false;
}

static bool user_works(const struct executor *x, const struct share_user *u)
{
	for (const struct queue *q = x->queue; q; q = q->next)
		if (q->user == u && (q->head || flies(x, q)))
			return true;
	return false;
}

/* It did nothing for a while: what it saved is bounded. */
static void wake(struct share *s, int64_t now)
{
	if (s->clock < now - CREDIT)
		s->clock = now - CREDIT;
}

void schedule_add(struct executor *x, struct executor_job *job, bool front)
{
	struct queue *q = queue_get(x, job->client);

	if (others_work(x, job->client))
		x->shared_until_ns = executor_clock() + SHARED_NS;
	if (!user_works(x, q->user))
		wake(&q->user->share, x->now);
	if (!q->head && !flies(x, q))
		wake(&q->share, q->user->now);
	if (front) {
		job->next = q->head;
		q->head = job;
		if (!job->next)
			q->tail = &job->next;
	} else {
		job->next = NULL;
		*q->tail = job;
		q->tail = &job->next;
	}
	x->stats.queued++;
}

bool schedule_remove(struct executor *x, struct executor_job *job)
{
	struct queue *q = queue_find(x, job->client);
	struct executor_job **at = q ? &q->head : NULL;

	while (at && *at && *at != job)
		at = &(*at)->next;
	if (!at || !*at)
		return false;
	*at = job->next;
	if (q->tail == &job->next)
		q->tail = at;
	job->next = NULL;
	x->stats.queued--;
	return true;
}

struct executor_job *schedule_first(const struct executor *x)
{
	for (const struct queue *q = x->queue; q; q = q->next)
		if (q->head)
			return q->head;
	return NULL;
}

uint64_t schedule_held(const struct executor *x)
{
	uint64_t n = 0;

	for (const struct queue *q = x->queue; q; q = q->next)
		for (const struct executor_job *j = q->held ? q->head : NULL; j; j = j->next)
			n++;
	return n;
}

/* May this client's next job, which waits, send now?  What ran when a worker died, with others,
 * runs alone, so that a second death shows whose fault it was.  Where others come and have nothing
 * just now, one packet of a client is enough for them to wait for. */
static bool may_send(const struct executor *x, const struct queue *q)
{
	uint32_t own = flies(x, q);

	for (uint32_t i = 0; i < x->nflight; i++)
		if (x->flight[i].job->suspect && x->flight[i].job != q->head)
			return false;
	if (q->head->suspect && own != x->nflight)
		return false;
	return !own || (own < CLIENT_FLIGHTS && (!schedule_shared(x) || others_work(x, q->client)));
}

/* Is a behind b? */
static bool behind(const struct queue *a, const struct queue *b)
{
	return a->user == b->user ? a->share.clock < b->share.clock
				  : a->user->share.clock < b->user->share.clock;
}

/* How far b's clock is ahead, on the level where they part. */
static int64_t lead(const struct queue *b, const struct queue *a)
{
	return a->user == b->user ? b->share.clock - a->share.clock
				  : b->user->share.clock - a->user->share.clock;
}

struct queue *schedule_next(const struct executor *x)
{
	struct queue *best = NULL, *least = NULL;

	for (struct queue *q = x->queue; q; q = q->next) {
		if (!waits(q))
			continue;
		if (!least || behind(q, least))
			least = q;
		if (may_send(x, q) && (!best || behind(q, best)))
			best = q;
	}
	/* On a device that takes many packets those of others must not crowd out one that has
	 * as many there as it may: it waits for them as long as they have no less than it. */
	if (best && x->nflight && !best->head->suspect && lead(best, least) > LEAD)
		return NULL;
	return best;
}

/* The CPU's worker has a packet that it is at and one that waits: may the next one go before that?
 * It may where it is of who is behind and has none there, who then waits for one packet and not for
 * two; but not before one of who is further behind, and what waits is not put off for ever. */
static bool overtakes(const struct executor *x, const struct queue *q)
{
	bool ahead = false;

	if (x->target || x->nflight >= x->flights + OVERTAKERS || flies(x, q))
		return false;
	for (uint32_t i = 0; i < x->nflight; i++) {
		const struct flight *f = &x->flight[i];
		const struct queue *other = queue_find(x, f->job->client);
		bool runs = f->ticket == x->progress->thread[0].ticket;

		if (f->overtaken >= OVERTAKERS && !runs)
			return false;
		if (f->rank == RANK_FIRST || !other)
			continue;
		if (!runs && behind(other, q))
			return false;
		ahead |= behind(q, other);
	}
	return ahead;
}

/* The rank of the next packet. */
static uint8_t next_rank(struct executor *x)
{
	if (x->nflight < x->flights)
		return x->nflight ? RANK_WAITS : RANK_ALONE;
	for (uint32_t i = 0; i < x->nflight; i++)
		x->flight[i].overtaken++;
	return RANK_FIRST;
}

static void charge(struct share *s, int64_t us)
{
	s->clock += us * UNIT / (int64_t)s->weight;
}

/* What is charged of a packet that is sent, until it is known. */
static int64_t expected_us(const struct flight *f)
{
	return f->cost_us < EXPECTED_MAX ? (int64_t)f->cost_us + 1 : EXPECTED_MAX;
}

/* Neither a debt nor a claim is without bounds. */
static void bound(struct share *s, int64_t now)
{
	if (s->clock > now + DEBT_MAX)
		s->clock = now + DEBT_MAX;
	wake(s, now);
}

void schedule_landed(struct executor *x, const struct flight *f, uint64_t busy_ns)
{
	struct queue *q = queue_find(x, f->job->client);
	int64_t more = (int64_t)(busy_ns / 1000) - expected_us(f);

	if (!q)
		return;
	q->share.busy_ns += busy_ns;
	q->user->share.busy_ns += busy_ns;
	charge(&q->share, more);
	charge(&q->user->share, more);
	bound(&q->share, q->user->now);
	bound(&q->user->share, x->now);
}

/* The first step of the job whose kernel must not run any more; -1: none. */
static int64_t quarantined_step(const struct executor *x, const struct executor_job *job)
{
	for (uint32_t i = job->turn + 1 < job->turns ? 0 : job->step; i < job->plan->nstep; i++) {
		const struct kernel *k = step_kernel(x, &job->plan->step[i]);

		if (k && k->strikes >= KERNEL_STRIKES)
			return i;
	}
	return -1;
}

static void send_one(struct executor *x, struct executor_job *job, struct queue *q)
{
	struct flight *f = &x->flight[x->nflight];
	size_t bytes = 0;

	f->rank = next_rank(x);
	f->overtaken = 0;
	bytes = marshal_packet(x, job, f);

	/* What is served now is what time has come to, for those who wake. */
	if (q->user->share.clock > x->now)
		x->now = q->user->share.clock;
	if (q->share.clock > q->user->now)
		q->user->now = q->share.clock;
	charge(&q->share, expected_us(f));
	charge(&q->user->share, expected_us(f));
	if (marshal_all_sent(job))
		schedule_remove(x, job);
	job->in_flight++;
	x->nflight++;
	x->stats.slices++;
	x->stats.steps += f->nstep;
	spawn_send(x, x->packet, bytes, -1);
}

void schedule_send(struct executor *x)
{
	while (x->pid >= 0 && !x->broken && x->nflight < FLIGHTS && !x->unsent) {
		struct queue *q = schedule_next(x);
		struct executor_job *job = q ? q->head : NULL;
		int64_t bad = 0;
		struct err err = {0};

		if (!job || (x->nflight >= x->flights && !overtakes(x, q)))
			break;
		bad = quarantined_step(x, job);
		if (bad < 0) {
			send_one(x, job, q);
			continue;
		}
		err_set(&err, E_QUARANTINED,
			"kernel %u of step %lld has killed the worker of %s twice and is not run "
			"again there",
			step_kernel(x, &job->plan->step[bad])->id, (long long)bad, x->device);
		schedule_remove(x, job);
		executor_end_later(x, job, &err);
	}
	x->stats.in_flight = x->nflight;
	watch_update(x);
}

/* ---- How much is there to do? ---- */

#define LOOK_AHEAD 16 /* jobs of a client; it waits for them itself */

/* Of what is left of a job. */
static uint64_t left_us(const struct executor *x, const struct executor_job *job)
{
	uint32_t turns = job->turns > job->turn ? job->turns - job->turn : 1;
	uint64_t us = 0;

	for (uint32_t s = turns > 1 ? 0 : job->step; s < job->plan->nstep; s++)
		us += executor_step_cost(x, &job->plan->step[s]);
	us *= turns;
	for (uint32_t c = job->copied; c < job->nbefore + job->nafter; c++)
		us += job->copy[c].bytes / COPY_BYTES_US;
	return us;
}

void schedule_load(const struct executor *x, uint64_t client, struct executor_load *out)
{
	*out = (struct executor_load){0};
	for (uint32_t i = 0; i < x->nflight; i++)
		if (x->flight[i].job->client != client)
			out->sent_us += x->flight[i].cost_us;
	for (const struct queue *q = x->queue; q; q = q->next) {
		const struct executor_job *job = q->head;

		if (q->client == client || q->held)
			continue;
		out->clients += job || flies(x, q);
		for (uint32_t n = 0; job && n < LOOK_AHEAD; n++, job = job->next)
			out->queued_us += left_us(x, job);
	}
}
