/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_issue.c - a run's steps to the driver, in the order of the lane's stream.
 *
 * Behind each run the device writes a mark to host memory, from which its end is seen, and
 * so it does between steps: the number of the step that it has come to, which tells after a
 * death, or in a hang, what was running.  Of steps that may be at work at once (a graph's,
 * or those of several streams) the first one's mark is written, and that they are several is
 * noted.  A step has no mark where the one before it can only stand for this step: nothing
 * but copies of a few bytes, which neither hang nor fault, lies between. */
#include <stdlib.h>
#include <string.h>

#include "cuda_worker.h"

void cuda_issue_copyouts(struct cuda_run *run)
{
	for (uint32_t i = 0; i < run->ncopyout; i++) {
		const struct cuda_copyout *o = &run->copyout[i];

		memcpy(o->host->addr + o->offset, o->from, o->bytes);
	}
	run->ncopyout = 0;
	run->bounced = run->edged = 0;
}

enum status cuda_issue_settle(struct cuda_run *run, struct err *err)
{
	struct cuda_lane *l = run->lane;
	enum status st = cuda_context_check(l->c, l->c->api.cuStreamSynchronize(l->stream), err,
					    "waiting for the client's stream");

	if (st != OK)
		return st;
	/* The runs before this one, to the end of what their waiter does. */
	pthread_mutex_lock(&l->lock);
	while (l->issued != run)
		pthread_cond_wait(&l->moved, &l->lock);
	pthread_mutex_unlock(&l->lock);
	cuda_issue_copyouts(run);
	return OK;
}

enum status cuda_issue_room(struct cuda_lane *l, uint32_t launches, struct err *err)
{
	enum status st = OK;

	if (l->launches + launches > CUDA_QUEUED) {
		st = cuda_context_check(l->c, l->c->api.cuStreamSynchronize(l->stream), err,
					"waiting for launches");
		l->launches = 0;
	}
	l->launches += launches;
	return st;
}

void cuda_issue_forget(struct cuda_lane *l, uint64_t job)
{
	struct cuda_part **at = &l->parts;
	uint32_t gone = 0;

	while (*at) {
		struct cuda_part *p = *at;

		if (p->job != job) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		cuda_memory_give(l, p->addr, p->bytes);
		free(p);
		gone++;
	}
	pthread_mutex_lock(&l->lock);
	l->nparts -= gone;
	pthread_mutex_unlock(&l->lock);
}

enum status cuda_issue_mark(struct cuda_run *run, uint32_t step, bool tiny, struct err *err)
{
	struct cuda_lane *l = run->lane;
	bool quiet = !run->alone && (tiny || !run->suspect);

	run->begun = true;
	run->suspect |= !tiny;
	run->told[step].quiet = quiet;
	if (quiet)
		return OK;
	return cuda_context_check(
		l->c, cuda_context_write(l->c, l->stream, l->mark_device, run->serial + step), err,
		"marking step %u of a run", step);
}

static enum status copy_step(struct cuda_run *run, uint32_t i, struct err *err)
{
	const struct command_step *s = run->step[i];
	enum status st = cuda_step_fire(run, err);

	if (st == OK)
		st = cuda_issue_mark(run, i, s->hi - s->lo <= CUDA_SMALL_BYTES, err);
	return st == OK ? cuda_transfer_step(run, s, err) : st;
}

static enum status one_step(struct cuda_run *run, uint32_t i, struct err *err)
{
	const struct command_step *s = run->step[i];

	switch (s->kind) {
	case STEP_KERNEL:
		return cuda_step_aim(run, i, err);
	case STEP_CALL:
		return cuda_call_step(run, i, err);
	case STEP_COPY:
		return copy_step(run, i, err);
	default:
		return err_set(err, E_INTERNAL, "step %u is of kind %u", s->index, s->kind);
	}
}

static bool volley_full(const struct cuda_lane *l)
{
	return l->volley.n > CUDA_VOLLEY - CUDA_STEP_LAUNCHES;
}

static enum status steps(struct cuda_run *run, struct err *err)
{
	struct cuda_lane *l = run->lane;
	enum status st = OK;

	for (uint32_t i = 0; i < run->nstep && st == OK; i++) {
		if (run->cancelled)
			return err_set(err, E_CANCELLED, "cancelled before step %u",
				       run->step[i]->index);
		st = one_step(run, i, err);
		if (st == OK && volley_full(l))
			st = cuda_step_fire(run, err);
	}
	return st == OK ? cuda_step_fire(run, err) : st;
}

/* The words of the run's errors: without a report before its steps, and to pinned memory
 * behind them. */
static enum status errors_clear(struct cuda_run *run, struct err *err)
{
	struct cuda_lane *l = run->lane;
	uint32_t n = 0;

	for (uint32_t i = 0; i < run->nstep; i++)
		n += cuda_step_words(run, i);
	n = n < CUDA_ERROR_WORDS ? n : CUDA_ERROR_WORDS;
	if (!n)
		return OK;
	return cuda_context_check(
		l->c,
		l->c->api.cuMemsetD32Async(l->slot[run->slot].error, UINT32_MAX, 2 * n, l->stream),
		err, "clearing a run's errors");
}

static enum status errors_fetch(struct cuda_run *run, struct err *err)
{
	struct cuda_lane *l = run->lane;
	const struct cuda_slot *s = &l->slot[run->slot];

	if (!run->nword)
		return OK;
	return cuda_context_check(l->c,
				  l->c->api.cuMemcpyDtoHAsync_v2(s->found, s->error,
								 run->nword * sizeof(uint64_t),
								 l->stream),
				  err, "fetching a run's errors");
}

/* Small results: to pinned memory, from where the completion takes them. */
static enum status fetches(struct cuda_run *run, struct err *err)
{
	struct cuda_lane *l = run->lane;
	char *bounce = l->slot[run->slot].bounce;
	enum status st = OK;

	for (uint32_t i = 0; i < run->nfetch && st == OK; i++) {
		const struct command_fetch *f = &run->fetch[i];

		st = cuda_region_resolve(&run->from[i], run, &f->place, 0, f->bytes, err);
		if (st == OK && !run->from[i].host && f->bytes)
			st = cuda_context_check(l->c,
						l->c->api.cuMemcpyDtoHAsync_v2(
							bounce + i * LIMIT_INLINE_BYTES,
							run->from[i].addr, f->bytes, l->stream),
						err, "fetching %u bytes", f->bytes);
	}
	return st;
}

void cuda_issue(struct cuda_run *run)
{
	struct cuda_lane *l = run->lane;
	struct cuda *c = l->c;
	struct cuda_slot *slot = &l->slot[run->slot];
	struct err *err = &run->err;
	enum status st = run->err.code;

	if (st == OK && l->err.code != OK) {
		*err = l->err;
		st = l->err.code;
	}
	run->timed = cuda_wait_times(l);
	if (st == OK && run->timed)
		st = cuda_context_check(c, c->api.cuEventRecord(slot->begin, l->stream), err,
					"the beginning of a run");
	if (st != OK)
		return;
	run->began_ns = cuda_worker_clock();
	st = errors_clear(run, err);
	if (st == OK)
		st = steps(run, err);
	cuda_step_clear(l);
	if (st == OK)
		st = errors_fetch(run, err);
	if (st == OK)
		st = fetches(run, err);
	if (st != OK)
		cuda_issue_forget(l, TICKET_JOB(run->ticket));
	/* Also behind a failed step: what was launched before it must end first.  Who sees the
	 * mark finds the event there. */
	run->recorded = run->timed || l->handed;
	if (run->recorded)
		cuda_context_expect(c, c->api.cuEventRecord(slot->end, l->stream),
				    "the end of a run");
	cuda_context_expect(
		c, cuda_context_write(c, l->stream, l->mark_device, run->serial + run->nstep),
		"marking the end of a run");
	run->marked = true;
}
