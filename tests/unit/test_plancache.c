/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/plancache.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static int released;

static void release(void *data, struct plan *p)
{
	(void)data;
	released++;
	free(p);
}

static struct part_value value[2];
static struct part_op op[1];
static int64_t dim[3];
static struct part part = {.nvalue = 2, .nop = 1, .ndim = 3, .value = value, .op = op, .dim = dim};

static struct plan *new_plan(void)
{
	struct plan *p = calloc(1, sizeof *p);

	p->refs = 1;
	return p;
}

Test(plancache, equal_partition_hits_and_any_difference_misses)
{
	struct plancache *c = plancache_create(1 << 20, release, NULL);
	struct plan *p = new_plan();
	struct plancache_stats s;

	cr_assert_null(plancache_find(c, &part));
	plancache_add(c, &part, p);
	cr_assert_eq(plancache_find(c, &part), p);
	dim[1] = 5;
	cr_assert_null(plancache_find(c, &part));
	dim[1] = 0;
	value[1].role = PART_TEMP;
	cr_assert_null(plancache_find(c, &part));
	value[1].role = 0;
	part.unfused = 1;
	cr_assert_null(plancache_find(c, &part));
	part.unfused = 0;
	plancache_get_stats(c, &s);
	cr_assert_eq(s.hits, 1);
	cr_assert_eq(s.misses, 4);
	plancache_unref(c, p);
	plancache_unref(c, p);
	cr_assert_eq(released, 0, "the cache still has it");
	plancache_destroy(c);
	cr_assert_eq(released, 1);
}

Test(plancache, what_is_evicted_no_longer_counts)
{
	struct plancache *c = plancache_create(8000, release, NULL);
	struct plancache_stats one, s;
	uint64_t fit;

	for (int i = 0; i < 200; i++) {
		struct plan *p = new_plan();

		dim[0] = i;
		plancache_add(c, &part, p);
		plancache_unref(c, p);
		if (!i)
			plancache_get_stats(c, &one);
	}
	plancache_get_stats(c, &s);
	fit = 8000 / one.bytes;
	cr_assert_gt(fit, 2);
	cr_assert_eq(s.count, fit, "as many are kept as there is room for");
	cr_assert_eq(s.bytes, s.count * one.bytes);
	cr_assert_eq(s.evictions, 200 - fit);
	dim[0] = 0;
	plancache_destroy(c);
}

Test(plancache, least_recently_used_goes_first_and_users_keep_theirs)
{
	struct plancache *c = plancache_create(4000, release, NULL);
	struct plan *first = new_plan(), *last;

	plancache_add(c, &part, first);
	for (int i = 1; i < 100; i++) {
		struct plan *p = new_plan();

		dim[0] = i;
		plancache_add(c, &part, p);
		plancache_unref(c, p);
	}
	dim[0] = 99;
	last = plancache_find(c, &part);
	cr_assert_not_null(last);
	cr_assert_eq(last->number, 100);
	plancache_unref(c, last);
	dim[0] = 0;
	cr_assert_null(plancache_find(c, &part), "the oldest was evicted");
	cr_assert_gt(released, 50);
	cr_assert_eq(first->refs, 1, "a plan in use survives its eviction");
	plancache_unref(c, first);
	plancache_destroy(c);
}
