/* SPDX-License-Identifier: Apache-2.0 */
/* Where large values get their memory: in a file of their own, or where memory is. */
#include <criterion/criterion.h>
#include <uv.h>

#include "trace/arena.h"
#include "trace/share.h"
#include "trace/trace.h"

#define LARGE (8u << 20)

static uv_loop_t loop;
static struct shares shares;
static struct trace trace;
static struct err err;

static enum status made(void *data, const struct share *h, struct err *e)
{
	return OK;
}

static void gone(void *data, struct share *h)
{
}

static void setup(void)
{
	struct arena *a = NULL;

	uv_loop_init(&loop);
	share_start(&shares, &loop, &(struct share_events){.made = made, .gone = gone});
	cr_assert_eq(arena_create(&a, &loop, 256u << 20, &err), OK, "%s", err.text);
	trace_init(&trace, a, 0);
	trace.shares = &shares;
	trace.share_from = LARGE;
}

static void teardown(void)
{
	struct arena *a = trace.arena;

	share_leave(&trace);
	cr_assert_eq(shares.count, 0);
	trace_finish(&trace);
	arena_destroy(a);
	share_finish(&shares);
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_assert_eq(uv_loop_close(&loop), 0);
}

TestSuite(home, .init = setup, .fini = teardown);

static struct storage *value(uint64_t bytes, enum home home)
{
	struct storage *s = storage_create(&trace, bytes, home, &err);

	cr_assert_not_null(s, "%s", err.text);
	return s;
}

/* A job has written it, and nobody has it any more. */
static void use(struct storage *s)
{
	s->fresh = 0;
	storage_unref(&trace, s);
}

Test(home, what_is_large_has_memory_of_its_own)
{
	struct storage *large = value(LARGE, HOME_ANY), *small = value(LARGE - 64, HOME_ANY);

	cr_assert(large->share && large->fresh);
	cr_assert_null(small->share);
	storage_unref(&trace, large);
	storage_unref(&trace, small);
}

Test(home, memory_that_is_there_is_taken_first)
{
	struct storage *temp = value(LARGE, HOME_ARENA), *large = NULL, *other = NULL;
	uint64_t offset = temp->extent.offset;

	use(temp);
	large = value(LARGE, HOME_ANY);
	cr_assert_null(large->share);
	cr_assert_not(large->fresh);
	cr_assert_eq(large->extent.offset, offset);
	other = value(LARGE, HOME_ANY); /* now there is none */
	cr_assert(other->share && other->fresh);
	use(large);
	use(other);
	/* Of both kinds that of its own, which others can be given. */
	large = value(LARGE, HOME_ANY);
	cr_assert(large->share && !large->fresh);
	other = value(LARGE, HOME_ANY);
	cr_assert_null(other->share);
	use(large);
	use(other);
}

Test(home, what_is_to_be_published_has_its_own_in_any_case)
{
	struct storage *temp = value(LARGE, HOME_ARENA), *wanted = NULL;

	use(temp);
	wanted = value(LARGE, HOME_SHARE);
	cr_assert_not_null(wanted->share);
	use(wanted);
}

Test(home, memory_that_nobody_has_touched_is_none)
{
	struct storage *large = NULL;

	storage_unref(&trace, value(LARGE, HOME_ARENA));
	large = value(LARGE, HOME_ANY);
	cr_assert_not_null(large->share);
	use(large);
}
