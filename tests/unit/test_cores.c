/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_cores.c - how many cores a process has. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cores.h"
#include "worker/pool.h"

static void say(const char *root, const char *group, const char *text)
{
	char path[256];
	FILE *f = NULL;

	snprintf(path, sizeof path, "%s%s", root, group);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s%s/cpu.max", root, group);
	f = fopen(path, "w");
	cr_assert(f && fputs(text, f) >= 0);
	fclose(f);
}

static void is_in(const char *root, const char *text)
{
	char path[256];
	FILE *f = NULL;

	snprintf(path, sizeof path, "%s/groups", root);
	f = fopen(path, "w");
	cr_assert(f && fputs(text, f) >= 0);
	fclose(f);
}

static double own(const char *root)
{
	char path[256];

	snprintf(path, sizeof path, "%s/groups", root);
	return cores_quota_of(root, path);
}

/* A group has no more than those around it. */
Test(cores, a_control_group_may_have_little_time)
{
	char root[] = "/tmp/test-cores-XXXXXX";

	cr_assert(mkdtemp(root));
	cr_assert_eq(cores_quota(root, "/none/there"), 0);
	say(root, "/a", "max 100000\n");
	say(root, "/a/b", "max 100000\n");
	cr_assert_eq(cores_quota(root, "/a/b"), 0, "max is no bound");
	say(root, "/a", "250000 100000\n");
	cr_assert_eq(cores_quota(root, "/a/b"), 2.5);
	say(root, "/a/b", "50000 100000\n");
	cr_assert_eq(cores_quota(root, "/a/b"), 0.5);
	cr_assert_eq(cores_quota(root, "/a"), 2.5);
	cr_assert_eq(cores_quota(root, "/"), 0);
	say(root, "", "100000 100000\n");
	cr_assert_eq(cores_quota(root, "/a"), 1);
	cr_assert_eq(cores_quota(root, "/"), 1, "a container sees its own group as the root");
	say(root, "/a/b", "nonsense\n");
	cr_assert_eq(cores_quota(root, "/a/b"), 1);
	say(root, "/a/b", "5 0\n");
	cr_assert_eq(cores_quota(root, "/a/b"), 1);
	is_in(root, "5:cpu:/a\n0::/a/b\n");
	cr_assert_eq(own(root), 1, "of the hierarchy that all kinds share");
	say(root, "/a", "30000 100000\n");
	cr_assert_eq(own(root), 0.3);
	is_in(root, "5:cpu:/a\n");
	cr_assert_eq(own(root), 0);
	is_in(root, "0::/gone\n");
	cr_assert_eq(own(root), 1, "at least what is around it");
	cr_assert_eq(cores_quota_of(root, "/none/there"), 0);
	for (unsigned i = 0; i < 7; i++) {
		static const char *const made[] = {
			"/a/b/cpu.max", "/a/b", "/a/cpu.max", "/a", "/cpu.max", "/groups", ""};
		char path[256];

		snprintf(path, sizeof path, "%s%s", root, made[i]);
		cr_assert_eq(remove(path), 0);
	}
}

Test(cores, time_that_is_left_of_usable_cores_is_rounded_up)
{
	static const struct {
		int usable;
		double quota;
		int own;
	} row[] = {{64, 0, 64},	 {64, 2, 2},	  {64, 2.5, 3},	  {64, 0.3, 1}, {2, 64, 2},
		   {2, 1.5, 2},	 {2, 1, 1},	  {1, 0, 1},	  {1, 0.2, 1},	{0, 0, 1},
		   {64, 64, 64}, {64, 63.01, 64}, {64, 1e300, 64}};

	for (size_t i = 0; i < sizeof row / sizeof *row; i++)
		cr_assert_eq(cores_within(row[i].usable, row[i].quota), row[i].own, "%d of %d",
			     (int)i, row[i].usable);
}

/* The pool of a worker has as many threads, if nothing else is said. */
Test(cores, threads_are_as_many)
{
	cpu_set_t all, one;
	struct pool *p = NULL;

	cr_assert_eq(sched_getaffinity(0, sizeof all, &all), 0);
	cr_assert_geq(cores_own(), 1);
	cr_assert_leq(cores_own(), CPU_COUNT(&all));
	cr_assert_eq(pool_create(&p, 0, NULL), OK);
	cr_assert_eq(pool_threads(p), cores_own());
	pool_destroy(p);
	CPU_ZERO(&one);
	for (size_t i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	cr_assert_eq(sched_setaffinity(0, sizeof one, &one), 0);
	cr_assert_eq(cores_own(), 1);
	cr_assert_eq(pool_create(&p, 0, NULL), OK);
	cr_assert_eq(pool_threads(p), 1);
	pool_destroy(p);
	cr_assert_eq(pool_create(&p, 3, NULL), OK);
	cr_assert_eq(pool_threads(p), 3, "who says how many gets them");
	pool_destroy(p);
}
