/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_wait.c - the end of a run: seen, told, and what it took.
 *
 * The device writes a mark to host memory when a run is over.  Most runs are over soon:
 * the issuer, when nothing else is to be done, looks at the mark for a moment
 * (BRAZE_WORKER_SPIN_US) and completes the run itself, so that no thread is woken and
 * the driver is asked nothing.  A run that takes longer, or that another is put behind, is
 * handed to the waiter, which sleeps until an event behind the run has come.  From then on all
 * runs are the waiter's until none is under way: `handed` says whose they are, so that two
 * threads never complete at once, and what is issued while it is set has such an event.
 *
 * What a run took: where events stand around it, they tell.  They cost as much as a small
 * launch, so of short runs only one in BRAZE_WORKER_TIME_EACH has them; the others' time is
 * that between their issue, or the end of the one before, and their end as it was seen
 * here, less what that was too much where both were known. */
#include <sched.h>
#include <string.h>

#include "base/log.h"
#include "cuda_worker.h"
#include "loops/kernel_abi.h"

#define SHORT_NS  50000 /* a run below this is not worth two events every time */
#define FIRST	  4	/* runs of a lane that always have them */
#define LATE_MOST 40000 /* what the way to here takes at most; more is somebody else's work */
#define TURNS	  32	/* looks between two at the clock */

/* ---- telling ------------------------------------------------------------------------------ */

/* The run's word goes back to 0 before its slot is used again. */
static void word_clear(struct cuda_run *run)
{
	struct cuda *c = run->lane->c;

	cuda_context_expect(c,
			    cuda_context_write(c, c->control, run->lane->slot[run->slot].cancel, 0),
			    "clearing a cancel word");
	cuda_context_expect(c, c->api.cuStreamSynchronize(c->control), "clearing a cancel word");
}

struct wrong {
	enum status status;
	const char *text;
};

/* Has a library step found that its operands are not what it was told?  What, else NULL. */
static const struct wrong *wrong(const struct cuda_run *run)
{
	static const struct wrong what[CUDA_FAULT_END] = {
		[CUDA_FAULT_MASK] = {E_INVALID,
				     "a mask does not choose the elements that its ranks say"},
		[CUDA_FAULT_STRUCTURE] =
			{E_INVALID, "a sparse matrix's structure names columns that it does not "
				    "have, or rows that do not follow each other"},
		[CUDA_FAULT_INDEX] = {E_INDEX, "a loop's index lies outside of its array"},
		[CUDA_FAULT_STEP] = {E_INVALID, "the step of a loop is 0"},
	};
	const uint64_t *found = run->lane->slot[run->slot].found;

	for (uint32_t i = 0; i < run->nword; i++)
		if (run->word[i].check == CUDA_CALL_CHECK && found[i] != KERNEL_GOOD)
			return &what[found[i] < CUDA_FAULT_END ? found[i] : CUDA_FAULT_MASK];
	return NULL;
}

static void conclude(struct cuda_run *run)
{
	const struct wrong *what = wrong(run);
	struct err *err = &run->err;

	if (err->code != OK && err->code != E_CANCELLED)
		return;
	if (run->hung)
		err_set(err, E_TIMEOUT,
			"a step made no progress on the device for %lld ms and was stopped",
			(long long)(run->lane->c->hang_ns / 1000000));
	else if (run->cancelled && err->code == OK)
		err_set(err, E_CANCELLED, "cancelled on the device");
	if (err->code == OK && what)
		err_set(err, what->status, "%s", what->text);
}

/* Wrong places that the run's checks met, for its completion; how many. */
static uint16_t faults(struct command_fault *out, const struct cuda_run *run)
{
	const uint64_t *found = run->lane->slot[run->slot].found;
	uint16_t n = 0;

	for (uint32_t i = 0; i < run->nword; i++) {
		if (found[i] == KERNEL_GOOD)
			continue;
		out[n] = run->word[i];
		out[n++].key = found[i];
	}
	return n;
}

bool cuda_wait_times(const struct cuda_lane *l)
{
	return l->clock.runs < FIRST || l->clock.busy_ns >= SHORT_NS ||
	       l->clock.runs % l->c->time_each == 0;
}

/* What the run took on the device; its end was seen just now. */
static uint64_t busy(struct cuda_run *run)
{
	struct cuda_lane *l = run->lane;
	struct cuda *c = l->c;
	const struct cuda_slot *s = &l->slot[run->slot];
	int64_t now = cuda_worker_clock(), late = 0;
	int64_t from = run->began_ns > l->clock.over_ns ? run->began_ns : l->clock.over_ns;
	int64_t ns = now - from;
	float ms = 0;

	if (!run->began_ns)
		return 0;
	if (run->timed && c->api.cuEventElapsedTime(&ms, s->begin, s->end) == CUDA_SUCCESS) {
		late = ns - (int64_t)((double)ms * 1e6);
		late = late < 0 ? 0 : late < LATE_MOST ? late : LATE_MOST;
		l->clock.late_ns = l->clock.runs ? (3 * l->clock.late_ns + late) / 4 : late;
		ns = (int64_t)((double)ms * 1e6);
	} else {
		ns = ns - l->clock.late_ns > ns / 8 ? ns - l->clock.late_ns : ns / 8;
	}
	l->clock.runs++;
	l->clock.over_ns = now;
	l->clock.busy_ns = ns;
	spin_pace_note(&l->clock.ends, ns);
	return ns > 0 ? (uint64_t)ns : 1;
}

static void complete(struct cuda_run *run)
{
	struct cuda_lane *l = run->lane;
	struct cuda *c = l->c;
	const char *bounce = l->slot[run->slot].bounce;
	_Alignas(8) char reply[COMMAND_DONE_BYTES];
	struct command_done *done = (struct command_done *)reply;
	char *at = reply + sizeof *done;

	*done = (struct command_done){.head = {.kind = DONE_RUN, .ticket = run->ticket},
				      .busy_ns = busy(run)};
	conclude(run);
	cuda_tune_count(run, done->busy_ns);
	if (run->err.code == OK) {
		cuda_issue_copyouts(run);
		for (uint32_t i = 0; i < run->nfetch; i++) {
			const struct cuda_spot *from = &run->from[i];

			memcpy(at + i * LIMIT_INLINE_BYTES,
			       from->host ? from->host->addr + from->offset
					  : bounce + i * LIMIT_INLINE_BYTES,
			       run->fetch[i].bytes);
		}
		done->nfetch = (uint16_t)run->nfetch;
		at += run->nfetch * LIMIT_INLINE_BYTES;
		done->nfault = faults((struct command_fault *)at, run);
		at += done->nfault * sizeof(struct command_fault);
	} else {
		memcpy(done->text, run->err.text, sizeof done->text);
	}
	done->library_products = run->library_products;
	done->own_products = run->own_products;
	done->status = (uint32_t)run->err.code;
	done->head.bytes = (uint32_t)(at - reply);
	cuda_worker_send(c, done, done->head.bytes);
}

static void retire(struct cuda_lane *l, struct cuda_run *run)
{
	pthread_mutex_lock(&l->lock);
	l->issued = run->next;
	if (!l->issued)
		l->issued_tail = &l->issued;
	l->nissued--;
	l->slot[run->slot].taken = false;
	cuda_watch_show(l, false);
	if (l->handed) {
		l->handed = l->issued != NULL;
		pthread_cond_broadcast(&l->moved);
	}
	pthread_mutex_unlock(&l->lock);
	cuda_tune_leave(l->c);
	cuda_run_destroy(run);
}

/* The oldest run, which is over. */
static void finish(struct cuda_lane *l, struct cuda_run *run)
{
	bool word = false;

	pthread_mutex_lock(&l->lock);
	run->over = true; /* no cancel reaches it any more */
	word = run->word_set;
	pthread_mutex_unlock(&l->lock);
	if (word)
		word_clear(run);
	complete(run);
	retire(l, run);
}

/* ---- the issuer --------------------------------------------------------------------------- */

/* Between two looks. */
static void breathe(const struct cuda *c)
{
	spin_pause();
	if (c->crowded)
		sched_yield();
}

/* The device writes the mark behind all that belongs to the run. */
static bool is_over(const struct cuda_lane *l, const struct cuda_run *run)
{
	uint32_t mark = __atomic_load_n(l->mark, __ATOMIC_ACQUIRE);

	return (int32_t)(mark - (run->serial + run->nstep)) >= 0;
}

/* The oldest run that is the issuer's to complete. */
static struct cuda_run *own(struct cuda_lane *l)
{
	struct cuda_run *run = NULL;

	pthread_mutex_lock(&l->lock);
	if (!l->handed)
		run = l->issued;
	pthread_mutex_unlock(&l->lock);
	return run;
}

void cuda_wait_look(struct cuda_lane *l)
{
	struct cuda_run *run = own(l);

	if (run && (!run->marked || is_over(l, run)))
		finish(l, run);
}

void cuda_wait_hand(struct cuda_lane *l)
{
	struct cuda *c = l->c;
	struct cuda_run *run = own(l);

	if (!run)
		return;
	/* The only one, and nothing is on the stream behind it. */
	if (run->marked && !run->recorded) {
		cuda_context_expect(c, c->api.cuEventRecord(l->slot[run->slot].end, l->stream),
				    "the end of a run");
		run->recorded = true;
	}
	pthread_mutex_lock(&l->lock);
	l->handed = true;
	pthread_cond_broadcast(&l->moved);
	pthread_mutex_unlock(&l->lock);
}

/* Where cores are few the looking is for those who need it least: short runs. */
static int64_t look_time(const struct cuda_lane *l, const struct spin_pace *pace)
{
	return l->c->crowded ? l->c->spin_ns : spin_pace_time(pace, l->c->spin_ns);
}

/* false: it is not over within the time, and nothing came that has to be done. */
static bool look_for_end(struct cuda_lane *l, struct cuda_run *run, int64_t until)
{
	for (unsigned i = 1;; i++) {
		if (!run->marked || is_over(l, run)) {
			finish(l, run);
			return true;
		}
		if (atomic_load_explicit(&l->queued, memory_order_relaxed))
			return true;
		if (i % TURNS == 0 && cuda_worker_clock() >= until)
			return false;
		breathe(l->c);
	}
}

void cuda_wait_idle(struct cuda_lane *l)
{
	struct cuda_run *run = own(l);
	int64_t until = cuda_worker_clock() + look_time(l, &l->clock.ends);

	if (run && !look_for_end(l, run, until))
		cuda_wait_hand(l);
	l->idle_ns = cuda_worker_clock();
	if (!l->eager)
		return;
	until = cuda_worker_clock() + look_time(l, &l->gaps);
	for (unsigned i = 1; !atomic_load_explicit(&l->queued, memory_order_relaxed); i++) {
		if (i % TURNS == 0 && cuda_worker_clock() >= until)
			return;
		breathe(l->c);
	}
}

/* ---- the waiter --------------------------------------------------------------------------- */

/* The oldest run, once it is issued and the waiter's; NULL: the lane ends. */
static struct cuda_run *next(struct cuda_lane *l)
{
	struct cuda_run *run = NULL;

	pthread_mutex_lock(&l->lock);
	while (!(l->handed && l->issued->ready) &&
	       !(l->stop && !l->head && !l->busy && !l->issued)) {
		pthread_cond_wait(&l->moved, &l->lock);
		atomic_fetch_add(&l->c->page->wakes, 1);
	}
	run = l->issued;
	pthread_mutex_unlock(&l->lock);
	return run;
}

void *cuda_wait_main(void *arg)
{
	struct cuda_lane *l = arg;
	struct cuda *c = l->c;
	struct cuda_run *run = NULL;

	cuda_context_expect(c, c->api.cuCtxSetCurrent(c->context), "the context of a waiter");
	while ((run = next(l))) {
		if (run->recorded) {
			cuda_context_expect(c, c->api.cuEventSynchronize(l->slot[run->slot].end),
					    "a run");
			atomic_fetch_add(&c->page->wakes, 1);
		}
		finish(l, run);
	}
	return NULL;
}
