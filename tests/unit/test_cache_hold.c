/* SPDX-License-Identifier: Apache-2.0 */
/* cache/cache.c while jobs run: whose compiler waits for their end. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <string.h>
#include <uv.h>

#include "cache/cache.h"
#include "sum_nest.h"

#define MS 1000000u

struct fixture {
	uv_loop_t loop;
	struct cache *cache;
};

static void on_ready(void *data, struct kernel *k)
{
}

/* Nothing is compiled here: the loop never turns. */
static struct fixture *start(uint64_t memory_bytes)
{
	struct cache_config c = {.tier = -1, .self = "/bin/false", .memory_bytes = memory_bytes};
	struct fixture *f = calloc(1, sizeof *f);
	struct err err = {OK, ""};

	uv_loop_init(&f->loop);
	cr_assert_eq(cache_create(&f->cache, &f->loop, &c, on_ready, f, &err), OK, "%s", err.text);
	return f;
}

static void stop(struct fixture *f)
{
	cache_destroy(f->cache);
	uv_run(&f->loop, UV_RUN_DEFAULT);
	cr_assert_eq(uv_loop_close(&f->loop), 0, "handles are left");
	free(f);
}

/* The kernel of so many additions, used once more. */
static struct kernel *use(struct fixture *f, unsigned n)
{
	return cache_get(f->cache, sum_nest(n), 0, 1);
}

TestSuite(cache_hold, .timeout = 60);

Test(cache_hold, a_new_kernel_is_compiled_when_the_last_job_has_ended)
{
	struct fixture *f = start(0);
	struct kernel *k;

	cache_hold(f->cache, true);
	cache_hold(f->cache, true);
	k = use(f, 1);
	use(f, 1);
	cache_note_run(f->cache, k, 1000, MS);
	cr_assert_eq(k->state, KERNEL_ABSENT);
	cache_hold(f->cache, false);
	cr_assert_eq(k->state, KERNEL_ABSENT, "another job runs");
	cache_hold(f->cache, false);
	cr_assert_eq(k->state, KERNEL_COMPILING);
	stop(f);
}

Test(cache_hold, one_use_is_not_worth_it_at_the_end_either_and_the_next_job_need_not_end)
{
	struct fixture *f = start(0);
	struct kernel *k;

	cache_hold(f->cache, true);
	k = use(f, 1);
	cache_hold(f->cache, false);
	cr_assert_eq(k->state, KERNEL_ABSENT);
	cache_hold(f->cache, true);
	use(f, 1);
	cr_assert_eq(k->state, KERNEL_COMPILING, "the program comes again");
	stop(f);
}

Test(cache_hold, what_takes_long_or_is_waited_for_is_compiled_at_once)
{
	struct fixture *f = start(0);
	struct kernel *busy, *predicted, *wanted;

	cache_hold(f->cache, true);
	busy = use(f, 1);
	use(f, 1);
	cache_note_run(f->cache, busy, 1000, 31 * MS);
	cr_assert_eq(busy->state, KERNEL_COMPILING);
	predicted = use(f, 2);
	cache_note_run(f->cache, predicted, 1000000000, 0);
	cr_assert_eq(predicted->state, KERNEL_COMPILING);
	wanted = use(f, 3);
	cr_assert_eq(cache_want(f->cache, wanted), KERNEL_COMPILING);
	stop(f);
}

Test(cache_hold, what_waits_may_be_evicted)
{
	struct fixture *f = start(1);
	struct kernel *k[3];

	cache_hold(f->cache, true);
	for (unsigned i = 0; i < 3; i++) {
		k[i] = use(f, i + 1);
		use(f, i + 1);
	}
	cr_assert_eq(k[2]->state, KERNEL_ABSENT);
	for (unsigned i = 0; i < 3; i++) {
		cache_unref(f->cache, k[i]);
		if (i != 1) /* the middle one stays */
			cache_unref(f->cache, k[i]);
	}
	cache_hold(f->cache, false);
	cr_assert_eq(k[1]->state, KERNEL_COMPILING);
	stop(f);
}
