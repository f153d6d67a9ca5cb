/* SPDX-License-Identifier: Apache-2.0 */
/* worker/pool.c - the threads of pool.h.
 *
 * A stretch's `claim` holds the run's number in its upper half and how many of its units are
 * claimed in its lower half.  A thread reads the loop's description, then claims by
 * compare-and-swap: success proves that the run it read about still has work, therefore that the
 * description was not being rewritten, which happens only between runs. */
#define _GNU_SOURCE /* CPU_COUNT */
#include "pool.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "cores.h"
#include "spin.h"

#define POOL_MAX    64	    /* threads; the progress page has as many rows */
#define SPIN_TURNS  2000    /* about 100 us */
#define SLEEPING_NS 50000   /* a loop predicted below this is not worth waking threads, */
#define SPINNING_NS 25000   /* where the next one may follow soon, and they will be awake for it */
#define WAIT_NS	    2000000 /* how often a waiting command thread polls */

struct pool_thread {
	struct pool *pool;
	pthread_t id;
	int index;
};

/* Neighbouring units of a run, with which a thread on one of the cores begins. */
struct pool_stretch {
	_Alignas(64) _Atomic uint64_t claim;
};

struct pool {
	_Atomic int threads; /* with the command thread; final once pool_create is through */
	int started;
	int core;	 /* that the other threads are kept away from; -1: none */
	cpu_set_t cores; /* usable */
	unsigned char stretch_of[CPU_SETSIZE]; /* with which a thread there begins */
	struct pool_thread thread[POOL_MAX];
	struct pool_stretch stretch[POOL_MAX]; /* one for each thread */
	_Alignas(64) _Atomic uint32_t epoch;   /* futex: changes with every run */
	_Atomic uint32_t sleepers;
	_Atomic uint32_t spin, stop;
	_Alignas(64) _Atomic uint32_t done; /* futex: units finished in this run */
	_Atomic uint32_t waiting;	    /* the command thread sleeps on `done` */
	_Atomic(pool_fn *) fn;
	_Atomic(void *) data;
	_Atomic uint32_t units;
};

static void futex_wait(_Atomic uint32_t *word, uint32_t seen, const struct timespec *limit)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, limit, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* Claim and do one unit of stretch `k`; false when none is left. */
static bool work_one(struct pool *p, int thread, int k)
{
	_Atomic uint64_t *claim = &p->stretch[k].claim;
	uint64_t c = atomic_load(claim);

	for (;;) {
		/* `units` first: it is written last, so the others are no older. */
		uint64_t units = atomic_load(&p->units);
		pool_fn *fn = atomic_load(&p->fn);
		void *data = atomic_load(&p->data);
		uint64_t n = (uint64_t)p->threads, first = units * (uint64_t)k / n;
		uint64_t unit = first + (uint32_t)c;

		if (unit >= units * (uint64_t)(k + 1) / n)
			return false;
		if (!atomic_compare_exchange_weak(claim, &c, c + 1))
			continue;
		fn(data, thread, (int64_t)unit);
		if (atomic_fetch_add(&p->done, 1) + 1 == units && atomic_load(&p->waiting))
			futex_wake(&p->done);
		return true;
	}
}

/* Units of the current run until none is left: those of this core first, then what others have not
 * come to yet.  Of the core and not of the thread, since the system moves threads as they wake. */
static void work(struct pool *p, int thread, pool_poll_fn *poll, void *poll_data)
{
	int core = sched_getcpu(), n = p->threads;
	int own = core >= 0 && core < CPU_SETSIZE ? p->stretch_of[core] : thread;

	for (int k = 0; k < n; k++) {
		while (work_one(p, thread, (own + k) % n)) {
			if (poll)
				poll(poll_data);
		}
	}
}

static void *thread_main(void *arg)
{
	struct pool_thread *t = arg;
	struct pool *p = t->pool;
	uint32_t seen = 0;

	while (!atomic_load(&p->stop)) {
		seen = atomic_load(&p->epoch);
		work(p, t->index, NULL, NULL);
		for (int i = 0; i < SPIN_TURNS && atomic_load(&p->spin); i++) {
			if (atomic_load(&p->epoch) != seen)
				break;
			spin_pause();
		}
		/* `sleepers` rises before the word is compared in the kernel, so
		 * pool_run either sees a sleeper or we see its new epoch. */
		atomic_fetch_add(&p->sleepers, 1);
		if (atomic_load(&p->epoch) == seen && !atomic_load(&p->stop))
			futex_wait(&p->epoch, seen, NULL);
		atomic_fetch_sub(&p->sleepers, 1);
	}
	return NULL;
}

/* A thread that is woken on the core of the thread that wakes it pushes that one
 * aside, and a whole run may pass on one core while another stays idle (measured:
 * two thirds of the runs that follow 30 ms of rest).  So the others may use every
 * core but the command thread's, which stays free to move. */
static void keep_apart(struct pool *p)
{
	int here = sched_getcpu();
	cpu_set_t set = p->cores;

	if (here < 0 || here == p->core || p->threads > CPU_COUNT(&p->cores))
		return;
	p->core = here;
	CPU_CLR((size_t)here, &set);
	for (int i = 1; i <= p->started; i++)
		pthread_setaffinity_np(p->thread[i].id, sizeof set, &set);
}

static void share_cores(struct pool *p)
{
	int cores = CPU_COUNT(&p->cores), before = 0;

	for (int c = 0; c < CPU_SETSIZE; c++) {
		p->stretch_of[c] = (unsigned char)(before * p->threads / cores % p->threads);
		before += CPU_ISSET((size_t)c, &p->cores) != 0;
	}
}

enum status pool_create(struct pool **out, int threads, struct err *err)
{
	struct pool *p = NULL;
	void *mem = NULL;

	if (posix_memalign(&mem, 64, sizeof *p) != 0)
		return err_set(err, E_NOMEM, "pool: no memory for %zu bytes", sizeof *p);
	p = mem;
	memset(p, 0, sizeof *p);
	p->core = -1;
	CPU_ZERO(&p->cores);
	if (sched_getaffinity(0, sizeof p->cores, &p->cores) != 0)
		CPU_SET(0, &p->cores);
	p->threads = threads > 0 ? threads : cores_own();
	if (p->threads > POOL_MAX)
		p->threads = POOL_MAX;
	share_cores(p);
	for (int i = 1; i < p->threads; i++) {
		struct pool_thread *t = &p->thread[i];
		int rc = 0;

		t->pool = p;
		t->index = i;
		rc = pthread_create(&t->id, NULL, thread_main, t);
		if (rc != 0) { /* a limit on threads, or on memory for their stacks */
			log_warn("pool", "%d threads instead of %d: %s", i, p->threads,
				 strerror(rc));
			p->threads = i;
			break;
		}
		p->started = i;
	}
	*out = p;
	return OK;
}

void pool_destroy(struct pool *p)
{
	if (!p)
		return;
	atomic_store(&p->stop, 1);
	atomic_fetch_add(&p->epoch, 1);
	futex_wake(&p->epoch);
	for (int i = 1; i <= p->started; i++)
		pthread_join(p->thread[i].id, NULL);
	free(p);
}

int pool_threads(const struct pool *p)
{
	return p->threads;
}

void pool_spin(struct pool *p, bool spin)
{
	atomic_store(&p->spin, spin);
}

bool pool_worth_now(const struct pool *p, double ns)
{
	if (!atomic_load(&p->spin))
		return ns >= SLEEPING_NS;
	return ns >= (atomic_load(&p->sleepers) ? SPINNING_NS : POOL_AWAKE_NS);
}

/* Wait for units that other threads have claimed. */
static void join(struct pool *p, uint32_t units, pool_poll_fn *poll, void *poll_data)
{
	static const struct timespec limit = {.tv_nsec = WAIT_NS};

	for (int i = 0; i < SPIN_TURNS; i++) {
		if (atomic_load(&p->done) == units)
			return;
		spin_pause();
	}
	for (;;) {
		uint32_t done = 0;

		atomic_store(&p->waiting, 1);
		done = atomic_load(&p->done);
		if (done == units)
			break;
		futex_wait(&p->done, done, &limit);
		if (poll)
			poll(poll_data);
	}
	atomic_store(&p->waiting, 0);
}

void pool_run(struct pool *p, pool_fn *fn, void *data, int64_t units, pool_poll_fn *poll,
	      void *poll_data)
{
	uint32_t epoch = 0;

	if (units <= 0)
		return;
	if (units == 1 || p->threads == 1) {
		for (int64_t u = 0; u < units; u++) {
			fn(data, 0, u);
			if (poll)
				poll(poll_data);
		}
		return;
	}
	/* No unit can be claimed while `units` is 0, whatever `claim` says. */
	atomic_store(&p->units, 0);
	epoch = atomic_load(&p->epoch) + 1;
	for (int k = 0; k < p->threads; k++)
		atomic_store(&p->stretch[k].claim, (uint64_t)epoch << 32);
	atomic_store(&p->fn, fn);
	atomic_store(&p->data, data);
	atomic_store(&p->done, 0);
	atomic_store(&p->units, (uint32_t)units);
	atomic_store(&p->epoch, epoch);
	if (atomic_load(&p->sleepers)) {
		keep_apart(p);
		futex_wake(&p->epoch);
	}
	work(p, 0, poll, poll_data);
	join(p, (uint32_t)units, poll, poll_data);
}
