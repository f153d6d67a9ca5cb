/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/team.c - the threads of team.h.
 *
 * In:  parts of a job.  Out: all are done.  Who finds the team at work does its parts alone.  Each
 * thread begins with a stretch of neighbouring parts of its own, the same one of each job with as
 * many parts: what it has in its caches it meets again, and no two write beside each other but at
 * one place.  Who is done takes from the ends of others' stretches.  A job begins and ends without
 * a lock where nobody sleeps: loops follow each other within microseconds, and to wake a thread
 * takes fifty. */
#define _DEFAULT_SOURCE
#include "team.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "cores.h"
#include "spin.h"

#define THREADS_MAX 64
#define SPIN_NS	    200000   /* a thread looks for the next job, or for the end of this one */
#define GAP_NS	    20000    /* between two looks: somebody else had the core */
#define SOON_NS	    50000000 /* and had one not long before: others want the cores */
#define CROWDED	    200	 /* loops after that in which nobody looks for longer than a wait takes, */
#define CROWDED_MAX 3200 /* twice as many where that comes again soon, and at most */
#define LATE_NS	    300000  /* that others' last parts take: a thread has lost the core with one */
#define AWAKE	    4	    /* where threads are awake, so much less is worth it, */
#define BUSY	    8	    /* and where others want the cores so many times as much */
#define LOOK_TURNS  16	    /* between two looks at the clock */
#define ROW_NS	    500000  /* loops that follow each other within that are in a row */
#define ROW_WORTH   4	    /* which wakes threads when it is so many times what waking costs */
#define WAIT_NS	    5000000 /* how often who waits looks whether to go on */

/* What is left of a stretch: the first part, and above it the end. */
struct stretch {
	_Alignas(64) _Atomic uint64_t left;
};

struct job {
	lang_part_fn *fn;
	void *data;
	unsigned parts, stretches;
	_Alignas(64) _Atomic unsigned done;
	struct stretch stretch[THREADS_MAX];
};

static struct team {
	pthread_mutex_t lock;
	pthread_cond_t begin, end;
	pthread_t id[THREADS_MAX];
	_Atomic unsigned started;
	struct job job;
	/* A thread counts itself in and looks for `open` then; who ends a job closes it and looks
	 * for threads inside then: one of them sees the other.  So with sleepers and told. */
	_Alignas(64) _Atomic bool open;
	_Atomic unsigned inside, told, sleepers; /* told: changes with each job */
	_Atomic bool awaited;			 /* who has the job sleeps until nobody is inside */
	_Atomic unsigned crowded;		 /* loops until threads look for long again, */
	_Atomic unsigned lasting, calm;		 /* of so many; loops since then */
	_Atomic uint64_t gap;			 /* when somebody else last had a core, in ns */
	bool over;				 /* under the lock */
} team = {.lock = PTHREAD_MUTEX_INITIALIZER,
	  .begin = PTHREAD_COND_INITIALIZER,
	  .end = PTHREAD_COND_INITIALIZER};
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER; /* of who has a job for the team */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static unsigned wanted = 1;
static uint64_t worth = 400000; /* instructions: some 50 us, for threads that sleep */

/* ---- Parts ---- */

/* The first of one's own, the last of another's; false: none is left. */
static bool claim(struct stretch *s, bool own, unsigned *part)
{
	uint64_t left = atomic_load_explicit(&s->left, memory_order_relaxed), then;

	do {
		uint32_t first = (uint32_t)left, end = (uint32_t)(left >> 32);

		if (first >= end)
			return false;
		*part = own ? first : end - 1;
		then = own ? left + 1 : left - ((uint64_t)1 << 32);
	} while (!atomic_compare_exchange_weak_explicit(&s->left, &left, then, memory_order_relaxed,
							memory_order_relaxed));
	return true;
}

/* By thread `me`, of which 0 is the one that has the job. */
static void work(struct job *j, unsigned me)
{
	unsigned part;

	for (unsigned k = 0; k < j->stretches; k++) {
		unsigned whose = (me + k) % j->stretches;

		while (claim(&j->stretch[whose], whose == me, &part)) {
			j->fn(j->data, part, me == 0);
			atomic_fetch_add_explicit(&j->done, 1, memory_order_release);
		}
	}
}

static void cut(struct job *j)
{
	for (uint64_t k = 0; k < j->stretches; k++) {
		uint64_t first = j->parts * k / j->stretches;
		uint64_t end = j->parts * (k + 1) / j->stretches;

		atomic_store_explicit(&j->stretch[k].left, first | end << 32, memory_order_relaxed);
	}
}

/* ---- Looking ---- */

/* Others want the cores.  A library's threads that look for work of their own for some time after
 * each call keep them until the program's next call, so what comes again soon is there to stay. */
static void set_crowded(void)
{
	unsigned lasting = atomic_load_explicit(&team.lasting, memory_order_relaxed);
	unsigned calm = atomic_load_explicit(&team.calm, memory_order_relaxed);

	if (atomic_load_explicit(&team.crowded, memory_order_relaxed))
		return;
	if (!lasting || calm > 4 * lasting)
		lasting = CROWDED;
	else if (lasting < CROWDED_MAX)
		lasting *= 2;
	atomic_store_explicit(&team.lasting, lasting, memory_order_relaxed);
	atomic_store_explicit(&team.calm, 0, memory_order_relaxed);
	atomic_store_explicit(&team.crowded, lasting, memory_order_relaxed);
}

/* Somebody else had the core: one of the many that run for a moment, or, if soon after another
 * time, one that wants it. */
static void gap(uint64_t now)
{
	uint64_t before = atomic_exchange_explicit(&team.gap, now, memory_order_relaxed);

	if (now - before < SOON_NS)
		set_crowded();
}

/* What is looked for, as long as it is worth it.  Where others want the cores nobody keeps one by
 * looking: what that costs them is more than what a wait costs here. */
static bool seen(bool (*fn)(unsigned), unsigned x)
{
	uint64_t begun = clock_ns(), last = begun, now;
	bool crowded = atomic_load_explicit(&team.crowded, memory_order_relaxed) != 0;

	while (!fn(x)) {
		for (int k = 0; k < LOOK_TURNS; k++)
			spin_pause();
		now = clock_ns();
		if (now - last > GAP_NS) {
			gap(now);
			return fn(x);
		}
		if (now - begun > (crowded ? GAP_NS : SPIN_NS))
			return fn(x);
		last = now;
	}
	return true;
}

static bool is_told(unsigned last)
{
	return atomic_load(&team.told) != last;
}

static bool is_done(unsigned unused)
{
	(void)unused;
	return atomic_load_explicit(&team.job.done, memory_order_acquire) == team.job.parts;
}

static bool is_left(unsigned unused)
{
	(void)unused;
	return !atomic_load(&team.inside);
}

/* ---- The threads ---- */

/* False: the team ends. */
static bool await_job(unsigned last)
{
	bool over;

	pthread_mutex_lock(&team.lock);
	atomic_fetch_add(&team.sleepers, 1);
	while (!team.over && !is_told(last))
		pthread_cond_wait(&team.begin, &team.lock);
	atomic_fetch_sub(&team.sleepers, 1);
	over = team.over;
	pthread_mutex_unlock(&team.lock);
	return !over;
}

static void leave(void)
{
	if (atomic_fetch_sub(&team.inside, 1) != 1 || !atomic_load(&team.awaited))
		return;
	pthread_mutex_lock(&team.lock);
	pthread_cond_signal(&team.end);
	pthread_mutex_unlock(&team.lock);
}

static void *thread(void *number)
{
	unsigned me = (unsigned)(uintptr_t)number, last = 0;

	while (seen(is_told, last) || await_job(last)) {
		last = atomic_load(&team.told);
		atomic_fetch_add(&team.inside, 1);
		if (atomic_load(&team.open) && me < team.job.stretches)
			work(&team.job, me);
		leave();
	}
	return NULL;
}

/* No thread of the parent's is here. */
static void forked(void)
{
	pthread_mutex_init(&team.lock, NULL);
	pthread_cond_init(&team.begin, NULL);
	pthread_cond_init(&team.end, NULL);
	pthread_mutex_init(&turn, NULL);
	team.started = 0;
	team.open = team.awaited = false;
	team.inside = team.sleepers = 0;
}

static void count(void)
{
	const char *text = getenv("BRAZE_THREADS");
	long n = text ? strtol(text, NULL, 10) : 0;

	if (n <= 0)
		n = cores_own();
	text = getenv("BRAZE_SHARE_WORK");
	if (text)
		worth = strtoull(text, NULL, 10);
	wanted = n < THREADS_MAX ? (unsigned)n : THREADS_MAX;
	pthread_atfork(NULL, NULL, forked);
}

/* Threads that cannot be had are done without.  Their first job is one after those of now. */
static void start(void)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (team.started + 1 < wanted && !pthread_create(&team.id[team.started], NULL, thread,
							    (void *)(uintptr_t)(team.started + 1)))
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
	atomic_fetch_add(&team.told, 1);
	pthread_cond_broadcast(&team.begin);
	pthread_mutex_unlock(&team.lock);
	for (unsigned k = 0; k < n; k++)
		pthread_join(team.id[k], NULL);
	pthread_mutex_unlock(&turn);
}

/* ---- A job ---- */

static unsigned threads(uint64_t *least, uint64_t *now)
{
	bool awake = team.started && !atomic_load_explicit(&team.sleepers, memory_order_relaxed);
	unsigned crowded = atomic_load_explicit(&team.crowded, memory_order_relaxed);

	pthread_once(&once, count);
	*least = worth / AWAKE;
	*now = awake ? *least : worth;
	if (crowded) {
		*now = worth * BUSY;
		atomic_store_explicit(&team.crowded, crowded - 1, memory_order_relaxed);
	} else {
		atomic_fetch_add_explicit(&team.calm, 1, memory_order_relaxed);
	}
	return wanted;
}

unsigned team_threads(void)
{
	pthread_once(&once, count);
	return wanted;
}

/* Has the calling thread come to so much soon after what came before that waking threads pays for
 * what comes next?  As much again as it costs, and again, tells so. */
static bool in_a_row(uint64_t instructions)
{
	static _Thread_local uint64_t sum, last;
	uint64_t now = clock_ns();

	sum = now - last < ROW_NS ? sum + instructions : instructions;
	last = now;
	return sum >= worth * ROW_WORTH;
}

bool team_worth(uint64_t instructions)
{
	uint64_t least, now;

	return threads(&least, &now) > 1 && instructions >= least &&
	       (instructions >= now || (now == worth && in_a_row(instructions)));
}

static void tell(void)
{
	atomic_store(&team.open, true);
	atomic_fetch_add(&team.told, 1);
	if (!atomic_load(&team.sleepers))
		return;
	pthread_mutex_lock(&team.lock);
	pthread_cond_broadcast(&team.begin);
	pthread_mutex_unlock(&team.lock);
}

/* Until nobody is inside any more. */
static void await_threads(void (*idle)(void *data), void *data)
{
	struct timespec until;

	pthread_mutex_lock(&team.lock);
	atomic_store(&team.awaited, true);
	while (!is_left(0)) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += WAIT_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&team.end, &team.lock, &until);
		pthread_mutex_unlock(&team.lock);
		idle(data);
		pthread_mutex_lock(&team.lock);
	}
	atomic_store(&team.awaited, false);
	pthread_mutex_unlock(&team.lock);
}

static void alone(lang_part_fn *fn, void *data, unsigned parts)
{
	for (unsigned part = 0; part < parts; part++)
		fn(data, part, true);
}

/* The caller did its part from `begun` to `done` and waited for others: no longer than who is woken
 * takes, or a part that is longer? */
static void look_late(uint64_t begun, uint64_t done)
{
	uint64_t late = clock_ns() - done;

	if (late > LATE_NS && late > done - begun)
		set_crowded();
}

static void run(lang_part_fn *fn, void *data, unsigned parts, void (*idle)(void *data))
{
	struct job *j = &team.job;

	if (wanted < 2 || pthread_mutex_trylock(&turn)) {
		alone(fn, data, parts);
		return;
	}
	start();
	j->fn = fn;
	j->data = data;
	j->parts = parts;
	j->stretches = team.started + 1 < parts ? team.started + 1 : parts;
	atomic_store_explicit(&j->done, 0, memory_order_relaxed);
	cut(j);
	tell();
	uint64_t begun = clock_ns();
	work(j, 0);
	uint64_t done = clock_ns();
	seen(is_done, 0);
	atomic_store(&team.open, false);
	if (!seen(is_left, 0))
		await_threads(idle, data);
	look_late(begun, done);
	pthread_mutex_unlock(&turn);
}

const struct lang_team client_team = {threads, run};
