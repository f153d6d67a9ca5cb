/* SPDX-License-Identifier: Apache-2.0 */
/* run/schedule.c - whose job sends the next packet.
 *
 * Deficit round robin (Shreedhar and Varghese, 1995) over clients, in predicted
 * microseconds: a client sends while its deficit is positive, then goes to the end
 * of the ring and gets another quantum.  What a packet really took is charged when
 * it comes back, so that a bad prediction is paid for in later turns. */
#include <stdlib.h>

#include "base/xalloc.h"
#include "executor_impl.h"

#define DEBT_MAX  (50 * (int64_t)RUN_SLICE_US)
#define SHARED_NS 1000000000 /* so long after clients met they are expected to meet again */

static struct queue *queue_find(struct executor *x, uint64_t client)
{
	struct queue *q = x->ring;

	while (q && q->client != client)
		q = q->next;
	return q;
}

static struct queue *queue_create(struct executor *x, uint64_t client)
{
	struct queue *q = xcalloc(1, sizeof *q);

	q->client = client;
	q->tail = &q->head;
	q->deficit = RUN_SLICE_US;
	*x->ring_tail = q;
	x->ring_tail = &q->next;
	return q;
}

static void queue_unlink(struct executor *x, struct queue *q)
{
	struct queue **at = &x->ring;

	while (*at != q)
		at = &(*at)->next;
	*at = q->next;
	if (x->ring_tail == &q->next)
		x->ring_tail = at;
	q->next = NULL;
}

bool schedule_shared(const struct executor *x)
{
	return !x->target && executor_clock() < x->shared_until_ns;
}

static bool others_fly(const struct executor *x, uint64_t client)
{
	for (uint32_t i = 0; i < x->nflight; i++)
		if (x->flight[i].job->client != client)
			return true;
	return false;
}

void schedule_add(struct executor *x, struct executor_job *job, bool front)
{
	struct queue *q = queue_find(x, job->client);

	if (!q)
		q = queue_create(x, job->client);
	if (q != x->ring || q->next || others_fly(x, job->client))
		x->shared_until_ns = executor_clock() + SHARED_NS;
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
	if (!q->head) {
		queue_unlink(x, q);
		free(q);
	}
	return true;
}

/* May this client's next job send now?  What ran when a worker died, with others,
 * runs alone, so that a second death shows whose fault it was. */
static bool may_send(const struct executor *x, const struct queue *q)
{
	uint32_t own = 0;

	for (uint32_t i = 0; i < x->nflight; i++) {
		if (x->flight[i].job->suspect && x->flight[i].job != q->head)
			return false;
		own += x->flight[i].job->client == q->client;
	}
	return own < (schedule_shared(x) ? 1 : CLIENT_FLIGHTS) &&
	       (!q->head->suspect || own == x->nflight);
}

struct executor_job *schedule_next(struct executor *x, struct queue **out)
{
	struct queue *q = x->ring;
	uint32_t able = 0;

	*out = NULL;
	for (struct queue *each = x->ring; each; each = each->next)
		able += may_send(x, each);
	if (!able)
		return NULL;
	/* Each turn adds a quantum and debts are bounded, so this ends. */
	while (!may_send(x, q) || (q->deficit <= 0 && able > 1)) {
		if (may_send(x, q))
			q->deficit += RUN_SLICE_US;
		queue_unlink(x, q);
		*x->ring_tail = q;
		x->ring_tail = &q->next;
		q = x->ring;
	}
	if (q->deficit <= 0) /* alone: there is nobody to owe time to */
		q->deficit = RUN_SLICE_US;
	*out = q;
	return q->head;
}

void schedule_correct(struct executor *x, uint64_t client, int64_t us)
{
	struct queue *q = queue_find(x, client);

	if (!q)
		return;
	q->deficit -= us;
	if (q->deficit < -DEBT_MAX)
		q->deficit = -DEBT_MAX;
	if (q->deficit > RUN_SLICE_US)
		q->deficit = RUN_SLICE_US;
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
	size_t bytes = marshal_packet(x, job, f);

	q->deficit -= (int64_t)f->cost_us + 1;
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
	while (x->pid >= 0 && !x->broken && x->nflight < x->flights && !x->unsent) {
		struct queue *q = NULL;
		struct executor_job *job = schedule_next(x, &q);
		int64_t bad = 0;
		struct err err = {0};

		if (!job)
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
