/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_watch.c - what the progress page shows, and the two ends of a worker
 * that it must tell of.
 *
 * A lane's row names the oldest run that is not complete and the step that the
 * device has come to, which its mark tells, or that several steps are at work: then none
 * of them is named.  The context is lost for all lanes at
 * once, so when it fails every run that had begun and had not ended is shown: those
 * are the suspects.  A run that makes no progress is cancelled, and when it does not
 * stop either, the process ends. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "cuda_error.h"
#include "cuda_worker.h"

/* The device writes the mark at any time. */
static uint32_t mark_of(const struct cuda_lane *l)
{
	return l->mark ? __atomic_load_n(l->mark, __ATOMIC_RELAXED) : 0;
}

/* Which step is it that the mark says, `at`, or the first?  Steps without a mark of their
 * own come behind copies that are over. */
static uint32_t step_at(const struct cuda_run *run, uint32_t at)
{
	uint32_t i = at < run->nstep ? at : run->nstep - 1;

	while (run->step[i]->kind == STEP_COPY && i + 1 < run->nstep && run->told[i + 1].quiet)
		i++;
	return i;
}

void cuda_watch_show(struct cuda_lane *l, bool last)
{
	const struct cuda_run *run = l->issued;
	uint32_t mark = mark_of(l), at = 0;
	uint64_t ticket = 0;

	if (l->row < 0)
		return;
	/* Which of the runs, oldest first, has the device come to? */
	while (last && run && (int32_t)(mark - (run->serial + run->nstep)) >= 0)
		run = run->next;
	if (run && (int32_t)(mark - run->serial) >= 0)
		at = mark - run->serial;
	else if (last && run && !run->begun)
		run = NULL;
	if (run && run->nstep > 0) {
		uint32_t i = step_at(run, at);
		const struct command_step *s = run->step[i];

		ticket = run->ticket;
		l->c->page->thread[l->row].step =
			run->told[i].several ? PROGRESS_SEVERAL : s->index;
		l->c->page->thread[l->row].kernel = s->kernel;
	}
	l->c->page->thread[l->row].ticket = ticket;
}

/* Has anything moved since the last look?  The lane's lock is held. */
static bool moved(struct cuda_lane *l, int64_t now)
{
	uint64_t ticket = l->issued ? l->issued->ticket : 0;
	uint32_t mark = mark_of(l);

	if (l->issued && !l->patient && l->seen.ticket == ticket && l->seen.mark == mark)
		return false;
	l->seen.ticket = ticket;
	l->seen.mark = mark;
	l->seen.since_ns = now;
	l->seen.cancelled_ns = 0;
	return true;
}

/* Show the suspects.  The process is about to end: nothing is waited for. */
static void show_last(struct cuda *c)
{
	for (struct cuda_lane *l = c->lanes; l; l = l->next) {
		bool locked = pthread_mutex_trylock(&l->lock) == 0;

		cuda_watch_show(l, true);
		if (l->row >= 0 && c->page->thread[l->row].ticket)
			log_error("cuda_watch", "client %llu was at step %d, kernel %u",
				  (unsigned long long)l->client,
				  (int)c->page->thread[l->row].step, /* -1: several */
				  c->page->thread[l->row].kernel);
		if (locked)
			pthread_mutex_unlock(&l->lock);
	}
}

/* Since when the lane's oldest run has made no progress; 0: it does. */
static int64_t stalled_since(struct cuda_lane *l, int64_t now)
{
	int64_t since = 0;

	pthread_mutex_lock(&l->lock);
	cuda_watch_show(l, false);
	if (!moved(l, now) && now - l->seen.since_ns > l->c->hang_ns)
		since = l->seen.since_ns;
	pthread_mutex_unlock(&l->lock);
	return since;
}

/* The lane hangs: stop its run, and when that has had its time, the process. */
static void stop(struct cuda_lane *l, int64_t now)
{
	struct cuda *c = l->c;
	bool over = false;

	pthread_mutex_lock(&l->lock);
	if (l->seen.cancelled_ns == 0) {
		log_warn("cuda_watch", "client %llu: no progress for %lld ms; its run is stopped",
			 (unsigned long long)l->client, (long long)(c->hang_ns / 1000000));
		l->seen.cancelled_ns = now;
		cuda_lane_stop_oldest(l);
	}
	over = now - l->seen.cancelled_ns > c->grace_ns;
	pthread_mutex_unlock(&l->lock);
	if (!over)
		return;
	log_error("cuda_watch", "client %llu: its run does not stop; the worker ends",
		  (unsigned long long)l->client);
	show_last(c);
	_exit(WORKER_EXIT_HANG);
}

/* A trial that does not end holds up clients: like a run, it is stopped, then the
 * process.  The page names its kernel. */
static bool trial_hangs(struct cuda *c, int64_t now)
{
	struct cuda_tuner *t = &c->tuner;
	bool hangs = false, over = false;

	pthread_mutex_lock(&t->lock);
	hangs = t->began_ns && now - t->began_ns > c->hang_ns;
	if (hangs)
		cuda_tune_cancel(c, now);
	over = hangs && now - t->began_ns > c->hang_ns + c->grace_ns &&
	       now - t->cancelled_ns > c->grace_ns;
	pthread_mutex_unlock(&t->lock);
	if (!over)
		return hangs;
	log_error("cuda_watch", "a trial of kernel %u does not stop; the worker ends",
		  c->page->trial);
	show_last(c);
	_exit(WORKER_EXIT_HANG);
}

static bool under_way(struct cuda *c)
{
	bool any = false;

	pthread_mutex_lock(&c->tuner.lock);
	any = c->tuner.runs || c->tuner.pending;
	pthread_mutex_unlock(&c->tuner.lock);
	return any;
}

bool cuda_watch_tick(struct cuda *c)
{
	int64_t now = cuda_worker_clock(), oldest = 0;
	struct cuda_lane *first = NULL;
	bool trial = trial_hangs(c, now);

	/* One that hangs holds up others: only the first to stall is stopped, and the
	 * others' time begins anew. */
	for (struct cuda_lane *l = c->lanes; l; l = l->next) {
		int64_t since = stalled_since(l, now);

		if (since && (!first || since < oldest)) {
			first = l;
			oldest = since;
		}
	}
	for (struct cuda_lane *l = c->lanes; l && (first || trial); l = l->next) {
		if (l != first || trial)
			l->seen.since_ns = now;
	}
	if (first && !trial)
		stop(first, now);
	return under_way(c);
}

_Noreturn void cuda_watch_fatal(struct cuda *c, CUresult rc, const char *what)
{
	static atomic_flag ending = ATOMIC_FLAG_INIT;
	char text[LIMIT_ERROR_TEXT];

	/* Other threads see the same error; the first one reports it. */
	while (atomic_flag_test_and_set(&ending))
		pause();
	log_error("cuda_watch", "%s: %s", what, cuda_error_text(text, sizeof text, &c->api, rc));
	show_last(c);
	_exit(WORKER_EXIT_FATAL);
}
