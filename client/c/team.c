/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/team.c - the threads of team.h.
 *
 * In:  parts of a job.  Out: all are done.  Who finds the team at work does its parts alone.  Parts
 * are claimed by a counter; the job is told and left under the lock, so that no thread has one that
 * is over. */
#define _GNU_SOURCE /* CPU_COUNT */
#include "team.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#define THREADS_MAX 64
#define SPIN_TURNS  2000    /* for a job, or for its end: some 20 us */
#define WAIT_NS	    5000000 /* how often who waits looks whether to go on */

struct job {
	lang_part_fn *fn;
	void *data;
	unsigned parts;
	_Atomic unsigned next, done;
};

static struct team {
	pthread_mutex_t lock;
	pthread_cond_t begin, end;
	pthread_t id[THREADS_MAX];
	unsigned started;
	struct job *job;       /* under the lock; NULL: none */
	unsigned inside;       /* threads that have it; under the lock */
	_Atomic unsigned told; /* changes with each job */
	bool over;
} team = {.lock = PTHREAD_MUTEX_INITIALIZER,
	  .begin = PTHREAD_COND_INITIALIZER,
	  .end = PTHREAD_COND_INITIALIZER};
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER; /* of who has a job for the team */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static unsigned wanted = 1;
static uint64_t worth = 400000; /* instructions: some 50 us */

static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

static void work(struct job *j, bool here)
{
	unsigned part;

	while ((part = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed)) < j->parts) {
		j->fn(j->data, part, here);
		atomic_fetch_add_explicit(&j->done, 1, memory_order_release);
	}
}

/* ---- The threads ---- */

static void *thread(void *unused)
{
	unsigned seen = 0;

	pthread_mutex_lock(&team.lock);
	while (!team.over) {
		struct job *j = team.job;
		unsigned now = atomic_load_explicit(&team.told, memory_order_relaxed);

		if (j && now != seen) {
			seen = now;
			team.inside++;
			pthread_mutex_unlock(&team.lock);
			work(j, false);
			pthread_mutex_lock(&team.lock);
			if (!--team.inside)
				pthread_cond_signal(&team.end);
			pthread_mutex_unlock(&team.lock);
			for (int k = 0; k < SPIN_TURNS; k++) {
				if (atomic_load_explicit(&team.told, memory_order_relaxed) != seen)
					break;
				relax();
			}
			pthread_mutex_lock(&team.lock);
			continue;
		}
		pthread_cond_wait(&team.begin, &team.lock);
	}
	pthread_mutex_unlock(&team.lock);
	return NULL;
}

/* No thread of the parent's is here. */
static void forked(void)
{
	pthread_mutex_init(&team.lock, NULL);
	pthread_cond_init(&team.begin, NULL);
	pthread_cond_init(&team.end, NULL);
	pthread_mutex_init(&turn, NULL);
	team.started = team.inside = 0;
	team.job = NULL;
}

static void count(void)
{
	const char *text = getenv("BRAZE_THREADS");
	long n = text ? strtol(text, NULL, 10) : 0;
	cpu_set_t cores;

	if (n <= 0)
		n = sched_getaffinity(0, sizeof cores, &cores) ? 1 : CPU_COUNT(&cores);
	text = getenv("BRAZE_SHARE_WORK");
	if (text)
		worth = strtoull(text, NULL, 10);
	wanted = n < THREADS_MAX ? (unsigned)n : THREADS_MAX;
	pthread_atfork(NULL, NULL, forked);
}

/* The lock is held.  Threads that cannot be had are done without. */
static void start(void)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (team.started + 1 < wanted &&
	       !pthread_create(&team.id[team.started], NULL, thread, NULL))
		team.started++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* The library goes: its code must not be run any more. */
__attribute__((destructor)) static void stop(void)
{
	unsigned n;

	if (pthread_mutex_trylock(&turn))
		return;
	pthread_mutex_lock(&team.lock);
	team.over = true;
	n = team.started;
	team.started = 0;
	pthread_cond_broadcast(&team.begin);
	pthread_mutex_unlock(&team.lock);
	for (unsigned k = 0; k < n; k++)
		pthread_join(team.id[k], NULL);
	pthread_mutex_unlock(&turn);
}

/* ---- A job ---- */

static unsigned threads(uint64_t *least)
{
	pthread_once(&once, count);
	*least = worth;
	return wanted;
}

/* The lock is held. */
static void await_threads(void (*idle)(void *data), void *data)
{
	struct timespec until;

	while (team.inside) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += WAIT_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&team.end, &team.lock, &until);
		pthread_mutex_unlock(&team.lock);
		idle(data);
		pthread_mutex_lock(&team.lock);
	}
}

static void run(lang_part_fn *fn, void *data, unsigned parts, void (*idle)(void *data))
{
	struct job j = {.fn = fn, .data = data, .parts = parts};

	if (wanted < 2 || pthread_mutex_trylock(&turn)) {
		work(&j, true);
		return;
	}
	pthread_mutex_lock(&team.lock);
	start();
	team.job = &j;
	atomic_fetch_add_explicit(&team.told, 1, memory_order_relaxed);
	pthread_cond_broadcast(&team.begin);
	pthread_mutex_unlock(&team.lock);
	work(&j, true);
	for (int k = 0; k < SPIN_TURNS; k++) {
		if (atomic_load_explicit(&j.done, memory_order_acquire) == parts)
			break;
		relax();
	}
	pthread_mutex_lock(&team.lock);
	team.job = NULL;
	await_threads(idle, data);
	pthread_mutex_unlock(&team.lock);
	pthread_mutex_unlock(&turn);
}

const struct lang_team client_team = {threads, run};
