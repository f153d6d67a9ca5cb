/* SPDX-License-Identifier: Apache-2.0 */
/* Every unit runs exactly once, whatever the threads do. */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "worker/pool.h"

enum { UNITS_MAX = 4096 };

struct tally {
	_Atomic uint32_t count[UNITS_MAX];
	_Atomic uint64_t threads; /* bit per thread that took part */
	int sleep_us;
	uint32_t polls;
};

static void tally_unit(void *data, int thread, int64_t unit)
{
	struct tally *t = data;

	atomic_fetch_add(&t->count[unit], 1);
	atomic_fetch_or(&t->threads, 1ull << thread);
	if (t->sleep_us)
		usleep((useconds_t)t->sleep_us);
}

static void tally_poll(void *data)
{
	struct tally *t = data;

	t->polls++;
}

static void check(struct tally *t, int64_t units, uint32_t times)
{
	for (int64_t i = 0; i < UNITS_MAX; i++)
		cr_assert_eq(t->count[i], i < units ? times : 0, "unit %ld ran %u times", (long)i,
			     t->count[i]);
}

Test(pool, each_unit_runs_once)
{
	static const int64_t sizes[] = {0, 1, 2, 3, 7, 100, UNITS_MAX};

	for (int threads = 1; threads <= 8; threads++) {
		struct pool *p = NULL;
		struct err err = {0};

		cr_assert_eq(pool_create(&p, threads, &err), OK, "%s", err.text);
		cr_assert_eq(pool_threads(p), threads);
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			struct tally t = {0};

			pool_run(p, tally_unit, &t, sizes[i], tally_poll, &t);
			check(&t, sizes[i], 1);
		}
		pool_destroy(p);
	}
}

Test(pool, load_of_many_short_runs)
{
	struct pool *p = NULL;
	struct tally *t = calloc(1, sizeof *t);
	enum { RUNS = 20000, UNITS = 5 };

	cr_assert_eq(pool_create(&p, 4, NULL), OK);
	for (int i = 0; i < RUNS; i++) {
		pool_spin(p, i / 100 % 2);
		pool_run(p, tally_unit, t, UNITS, NULL, NULL);
	}
	check(t, UNITS, RUNS);
	pool_destroy(p);
	free(t);
}

Test(pool, data_of_a_past_run_is_never_used)
{
	struct pool *p = NULL;
	enum { RUNS = 5000 };

	cr_assert_eq(pool_create(&p, 4, NULL), OK);
	for (int i = 0; i < RUNS; i++) {
		/* A late thread that ran an old unit would write into the dead one. */
		struct tally *t = calloc(1, sizeof *t);
		int64_t units = 1 + i % 9;

		pool_run(p, tally_unit, t, units, NULL, NULL);
		check(t, units, 1);
		free(t);
	}
	pool_destroy(p);
}

static void nothing(void *data, int thread, int64_t unit)
{
	(void)data;
	(void)thread;
	(void)unit;
}

/* Whoever sleeps at the moment: the bounds hold for any state of the threads. */
Test(pool, short_loops_are_shared_between_the_steps_of_one_run_only)
{
	struct pool *p = NULL;

	cr_assert_eq(pool_create(&p, 2, NULL), OK);
	cr_assert(pool_worth(p, 60000));
	cr_assert_not(pool_worth(p, 40000));
	pool_spin(p, true);
	cr_assert(pool_worth(p, 30000));
	cr_assert_not(pool_worth(p, 5000));
	for (int i = 0; i < 100000 && !pool_worth(p, 10000); i++)
		pool_run(p, nothing, NULL, 2, NULL, NULL);
	cr_assert(pool_worth(p, 10000), "threads that spin are never found awake");
	pool_spin(p, false);
	cr_assert_not(pool_worth(p, 40000));
	pool_destroy(p);
}

Test(pool, sleeping_units_overlap_and_the_caller_polls)
{
	struct pool *p = NULL;
	struct tally t = {.sleep_us = 10000};

	cr_assert_eq(pool_create(&p, 4, NULL), OK);
	usleep(20000); /* the threads are asleep by now */
	pool_run(p, tally_unit, &t, 16, tally_poll, &t);
	cr_assert_eq(t.threads, 0xf, "not every thread took part");
	cr_assert_gt(t.polls, 0);
	pool_destroy(p);
}

Test(pool, idle_pool_is_destroyed_at_once)
{
	for (int i = 0; i < 200; i++) {
		struct pool *p = NULL;

		cr_assert_eq(pool_create(&p, 4, NULL), OK);
		pool_destroy(p);
	}
	pool_destroy(NULL);
}

/* Where a limit leaves no memory for more stacks, or no more threads. */
Test(pool, fewer_threads_than_asked_for_do_as_well, .timeout = 60)
{
	struct rlimit space;
	struct pool *p = NULL;
	struct tally t = {0};
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	cr_assert_eq(fscanf(f, "%ld", &pages), 1);
	fclose(f);
	cr_assert_eq(getrlimit(RLIMIT_AS, &space), 0);
	space.rlim_cur = (rlim_t)pages * 4096 + (40 << 20);
	cr_assert_eq(setrlimit(RLIMIT_AS, &space), 0);
	cr_assert_eq(pool_create(&p, 64, NULL), OK);
	cr_assert_lt(pool_threads(p), 64);
	cr_assert_geq(pool_threads(p), 1);
	pool_run(p, tally_unit, &t, 1000, tally_poll, &t);
	check(&t, 1000, 1);
	pool_destroy(p);
}

struct mine {
	_Atomic uint32_t begun;
	_Atomic int64_t first[2];
};

/* The first unit of each thread; it waits until the other has one, too. */
static void note_first(void *data, int thread, int64_t unit)
{
	struct mine *m = data;
	int64_t none = -1;

	if (!atomic_compare_exchange_strong(&m->first[thread], &none, unit))
		return;
	atomic_fetch_add(&m->begun, 1);
	for (int i = 0; i < 500000 && atomic_load(&m->begun) < 2; i++)
		usleep(20);
}

/* Units of a core's stretch are neighbours: whoever comes first to a stretch begins at its begin,
 * and two that begin together never begin in the middle of one. */
Test(pool, threads_begin_where_stretches_begin)
{
	struct pool *p = NULL;

	cr_assert_eq(pool_create(&p, 2, NULL), OK);
	for (int64_t units = 8; units <= 9; units++) {
		struct mine m = {.first = {-1, -1}};
		int64_t half = units / 2;

		pool_run(p, note_first, &m, units, NULL, NULL);
		cr_assert_eq(m.begun, 2);
		for (int t = 0; t < 2; t++) /* both may have woken on one core */
			cr_expect(m.first[t] == 0 || m.first[t] == half || m.first[t] == 1 ||
					  m.first[t] == half + 1,
				  "thread %d began with unit %ld", t, (long)m.first[t]);
		cr_expect_neq(m.first[0], m.first[1]);
	}
	pool_destroy(p);
}
