/* SPDX-License-Identifier: Apache-2.0 */
/* run/recover.c - what a worker's death means for each job, and its restart.
 *
 * Which packets had begun, and with which step, the progress page tells: one on
 * the CPU, one for each client on another device.  A job that ran alone is blamed
 * when the worker died of a fault or hung; several are suspects and run again one
 * at a time.  Jobs with packets in flight run again from their beginning, unless a
 * step that overwrites an input has begun: then the job is lost.  Jobs between two
 * packets have lost nothing and go on.
 *
 * A worker that died in a trial of a kernel's geometries (cuda_tune.h) died of that, as far
 * as one can tell: no run is blamed, and that kernel is not tried again.
 *
 * A device's memory dies with its worker.  There every job goes back to the caller,
 * who knows what of its inputs is left on the host. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/log.h"
#include "executor_impl.h"

#define COLLECT_MS 1 /* between two looks at a worker that is ending */
/* With no run completed in between, after so many deaths queued jobs fail: of the worker's
 * own doing, and by somebody else's SIGKILL, which says nothing about the next worker. */
#define HOPELESS       8
#define HOPELESS_KILLS 200
#define KILLED_MS      50 /* until it is started again, then */

void recover_mark_torn(struct executor_job *job, const struct flight *f, uint32_t last_step)
{
	for (uint32_t i = 0; i < f->nstep; i++) {
		uint32_t step = f->step[i].step;

		if (step <= last_step && job->plan->step[step].tears) {
			job->torn = 1;
			job->step_torn = step;
		}
	}
}

/* Was it the code it ran that ended it?  A sanitizer, too, ends by exit status. */
static bool is_fault(int status)
{
	int signo = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	if (WIFEXITED(status))
		return WEXITSTATUS(status) != 0;
	return signo == SIGSEGV || signo == SIGBUS || signo == SIGFPE || signo == SIGILL ||
	       signo == SIGABRT || signo == SIGSYS;
}

/* A GPU's worker ends itself when its device makes no progress.  Others may have the
 * device, so what ran is not to blame as long as the driver names no error. */
static bool is_hang(const struct executor *x, int status)
{
	return x->target && WIFEXITED(status) && WEXITSTATUS(status) == WORKER_EXIT_HANG;
}

static bool is_killed(const struct executor *x, int status)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && !x->hung && !x->stuck;
}

static void describe(char *out, size_t n, const struct executor *x, int status)
{
	if (x->hung)
		snprintf(out, n, "computed without any progress and was killed");
	else if (x->stuck)
		snprintf(out, n, "did not come back and was killed");
	else if (WIFSIGNALED(status))
		snprintf(out, n, "died of signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(out, n, "ended with status %d", WEXITSTATUS(status));
}

/* Which step of this packet had begun; -1: none. */
static int64_t begun_step(const struct executor *x, const struct flight *f)
{
	for (int i = 0; i < PROGRESS_THREADS; i++)
		if (x->progress->thread[i].ticket == f->ticket)
			return x->progress->thread[i].step;
	return -1;
}

/* What ran, for whom, when. */
static void describe_run(char *out, size_t n, const struct executor *x,
			 const struct executor_job *job, uint32_t step)
{
	time_t now = time(NULL);
	struct tm utc;
	char when[24] = "";

	strftime(when, sizeof when, "%FT%TZ", gmtime_r(&now, &utc));
	snprintf(out, n, "step %u of plan %llu, run by %s (client %llu, pid %u), %s of %s at %s",
		 step, (unsigned long long)job->plan->number, job->name ? job->name : "?",
		 (unsigned long long)job->client, job->pid,
		 x->hung ? "hung the worker" : "killed the worker", x->device, when);
}

/* Compiled for another machine than this one? */
static bool is_foreign(const struct executor *x, const struct kernel *k, int status)
{
	return !x->target && k->tier && WIFSIGNALED(status) && WTERMSIG(status) == SIGILL;
}

static void blame(const struct executor *x, const struct executor_job *job, uint32_t step,
		  int status)
{
	char what[CACHE_BLAME_TEXT];
	struct kernel *k = NULL;

	if (step < job->plan->nstep)
		k = step_kernel(x, &job->plan->step[step]);
	if (!k)
		return;
	describe_run(what, sizeof what, x, job, step);
	if (is_foreign(x, k, status)) {
		/* Its code is at fault, and nobody who runs it: the interpreter has no such. */
		log_warn("recover", "kernel %u is forgotten, here and on disk: %s", k->id, what);
		cache_refuse(x->cache, k, "this machine lacks an instruction of its code");
		return;
	}
	cache_blame(x->cache, k, what);
	log_warn("recover", "kernel %u, strike %u%s: %s", k->id, k->strikes,
		 k->strikes == KERNEL_STRIKES ? ", is quarantined" : "", what);
}

/* Was a kernel under trial?  Then it will be no more. */
static bool trial_blamed(struct executor *x)
{
	uint32_t id = x->progress->trial;
	struct kernel *k = id ? cache_find(x->cache, id) : NULL;

	if (k) {
		k->untried = 1;
		log_warn("recover", "kernel %u: no trials of its geometry any more", k->id);
	}
	return id != 0;
}

/* What a packet that had begun with this step may have torn.  On another device the input's copy on
 * the host is whole; copies come before all that overwrites; of turns any step may have been done.
 */
static void note_torn(const struct executor *x, struct flight *f, int64_t step)
{
	if (!x->target && step != STEP_INDEX_COPY)
		recover_mark_torn(f->job, f, f->turns ? UINT32_MAX : (uint32_t)step);
}

/* Packets that had begun: note what each tore, and who is to blame. */
static void judge(struct executor *x, int status)
{
	bool hang = is_hang(x, status), fault = x->hung || (is_fault(status) && !hang);
	bool trial = (fault || hang || x->stuck) && trial_blamed(x);
	struct flight *last = NULL;
	uint32_t begun = 0;

	for (uint32_t i = 0; i < x->nflight; i++) {
		struct flight *f = &x->flight[i];
		int64_t step = begun_step(x, f);

		if (step < 0)
			continue;
		begun++;
		last = f;
		f->job->attempts += !trial;
		note_torn(x, f, step);
	}
	if (!fault || !begun)
		return;
	if (begun == 1 && !trial && begun_step(x, last) != PROGRESS_SEVERAL) {
		blame(x, last->job, (uint32_t)begun_step(x, last), status);
		return;
	}
	for (uint32_t i = 0; i < x->nflight; i++)
		x->flight[i].job->suspect |= begun_step(x, &x->flight[i]) >= 0;
}

/* Put a job that had packets in flight back, or end it. */
static void settle(struct executor *x, struct executor_job *job, const char *how)
{
	struct err err = {0};

	schedule_remove(x, job);
	job->in_flight = 0;
	for (struct ended **at = &x->failing; *at; at = &(*at)->next) {
		if ((*at)->job == job) { /* it had failed already */
			err = (*at)->err;
			executor_end_later(x, job, &err);
			return;
		}
	}
	if (job->torn)
		err_set(&err, E_LOST,
			"the worker %s while step %u was overwriting its input; what it writes "
			"is lost",
			how, job->step_torn);
	else if (job->attempts >= ATTEMPTS)
		err_set(&err, E_LOST, "the worker %s; it has died %u times while running this", how,
			job->attempts);
	if (err.code != OK) {
		executor_end(x, job, JOB_FAILED, &err);
	} else if (job->cancelled) {
		executor_end(x, job, JOB_CANCELLED, NULL);
	} else if (x->target) {
		executor_end(x, job, JOB_RETURNED, NULL);
	} else {
		/* A new number: completions and partial results of the old are void. */
		job->ticket = ++x->next_job << TICKET_SHIFT;
		job->turn = job->looped = 0;
		job->step = 0;
		job->at = 0;
		job->copied = 0;
		job->copied_bytes = 0;
		job->nfault = 0;
		schedule_add(x, job, true);
	}
}

/* Jobs whose reduction lies half-done in the worker's memory restart as well. */
static void restart_split(struct executor *x, const char *how)
{
	/* Only the head of a queue has been sent in part. */
	for (struct queue *q = x->queue; q; q = q->next)
		if (q->head && q->head->at < 0)
			settle(x, q->head, how);
}

static uint64_t backoff_ms(uint32_t deaths)
{
	static const uint64_t delay[] = {0, 50, 200, 800};

	return deaths < sizeof delay / sizeof *delay ? delay[deaths] : 2000;
}

/* A device that could not be opened is tried again after 1 s, then 2, at last 60. */
static uint64_t pause_ms(uint32_t tries)
{
	uint64_t s = tries < 7 ? UINT64_C(1) << (tries ? tries - 1 : 0) : 60;

	return (s < 60 ? s : 60) * 1000;
}

/* Without a worker that can be started, waiting would be for ever. */
static void fail_all(struct executor *x, const struct err *err)
{
	struct executor_job *job = NULL;

	while ((job = schedule_first(x))) {
		schedule_remove(x, job);
		executor_end(x, job, JOB_FAILED, err);
	}
}

/* What waits is bound to memory that is gone. */
static void return_all(struct executor *x)
{
	struct executor_job *job = NULL;

	while ((job = schedule_first(x))) {
		schedule_remove(x, job);
		executor_end(x, job, JOB_RETURNED, NULL);
	}
}

static void on_collect(uv_timer_t *t)
{
	recover_death(t->data);
}

static bool among(struct executor_job *const *list, uint32_t n, const struct executor_job *job)
{
	for (uint32_t i = 0; i < n; i++)
		if (list[i] == job)
			return true;
	return false;
}

/* Start the worker again, later; is there hope? */
static bool try_again(struct executor *x, bool killed)
{
	uint64_t wait = !killed ? backoff_ms(x->deaths_in_row) : x->kills_in_row ? KILLED_MS : 0;

	if (killed)
		x->kills_in_row++;
	else
		x->deaths_in_row++;
	uv_timer_start(x->restart, recover_restart, wait, 0);
	return x->deaths_in_row <= HOPELESS && x->kills_in_row <= HOPELESS_KILLS;
}

void recover_death(struct executor *x)
{
	struct executor_job *job[FLIGHTS] = {NULL};
	uint32_t n = x->nflight;
	int pid = (int)x->pid, status = 0;
	struct err err = {0};
	char how[96];

	if (!spawn_collect(x, &status)) {
		uv_timer_stop(x->watch);
		uv_timer_start(x->restart, on_collect, COLLECT_MS, 0);
		return;
	}
	release_all(x);
	if (x->unusable) {
		export_all(x);
		err_set(&err, E_DEVICE, "%s cannot be used: %s", x->device, x->why);
		fail_all(x, &err);
		if (x->again)
			uv_timer_start(x->restart, recover_restart, pause_ms(x->tries), 0);
		return;
	}
	describe(how, sizeof how, x, status);
	log_warn("recover", "%s worker %d %s; %u runs were in flight", x->device, pid, how, n);
	x->stats.deaths++;
	judge(x, status);
	if (x->events.lost)
		x->events.lost(x->events.data);
	for (uint32_t i = 0; i < n; i++) {
		job[i] = x->flight[i].job;
		schedule_landed(x, &x->flight[i], 0); /* nobody knows what it took */
	}
	x->nflight = 0;
	x->stats.in_flight = 0;
	/* Newest first: each goes to the front of its queue. */
	for (uint32_t i = n; i-- > 0;) {
		if (!among(job, i, job[i]))
			settle(x, job[i], how);
	}
	if (x->target)
		return_all(x);
	else
		restart_split(x, how);
	if (!try_again(x, is_killed(x, status))) {
		err_set(&err, E_DEVICE, "the worker %s; it has failed %u times in a row", how,
			x->deaths_in_row + x->kills_in_row);
		fail_all(x, &err);
	}
	/* Last: who hears of it finds all else as it is from now on. */
	export_all(x);
	watch_update(x);
}

void recover_restart(uv_timer_t *t)
{
	struct executor *x = t->data;
	struct err err = {0};

	x->unusable = false;
	if (spawn_worker(x, &err) == OK) {
		schedule_send(x);
		return;
	}
	log_error("recover", "%s", err.text);
	if (!try_again(x, false)) {
		err.code = E_DEVICE;
		fail_all(x, &err);
	}
}
