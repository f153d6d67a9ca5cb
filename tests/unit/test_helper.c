/* SPDX-License-Identifier: Apache-2.0 */
/* cache/helper.c: the order in which a helper process gets its jobs. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <criterion/options.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "cache/cache.h"
#include "cache/helper.h"

/* The program doubles as the helper; Criterion's own main never sees that call. */
__attribute__((constructor)) static void helper_if_asked(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--compile-helper"))
		_exit(compile_helper_main(atoi(argv[2])));
}

#define JOBS 6

static struct fixture {
	uv_loop_t loop;
	struct helper *helper;
	char began[JOBS + 1], ended[JOBS + 1]; /* names of jobs, in that order */
	const char *hurry;		       /* of these jobs, when the first text is asked for */
	char name[JOBS];
} f;

static char *source(void *data, bool *urgent, struct err *err)
{
	strncat(f.began, data, 1);
	for (const char *c = f.hurry; c && *c; c++)
		helper_hurry(f.helper, &f.name[*c - 'a']);
	f.hurry = NULL;
	return strdup("int one(void) { return 1; }\n");
}

static void done(void *data, const struct helper_result *r)
{
	cr_assert_eq(r->status, OK, "%s", r->text);
	close(r->fd);
	strncat(f.ended, data, 1);
}

/* Submits jobs a, b, ... and hurries some before any has begun, others while the first is under
 * way; what they are done as. */
static const char *order(const char *before, const char *meanwhile)
{
	char compiler[COMPILE_PATH_BYTES];
	struct helper_config c = {
		.self = "/proc/self/exe", .compiler = compiler, .isa = isa_best()};
	struct err err = {OK, ""};

	cr_assert(compile_target_find(compiler, NULL), "no compiler");
	uv_loop_init(&f.loop);
	cr_assert_eq(helper_create(&f.helper, &f.loop, &c, &err), OK, "%s", err.text);
	f.hurry = meanwhile;
	for (int i = 0; i < JOBS; i++) {
		f.name[i] = (char)('a' + i);
		helper_submit(f.helper, 0, source, done, &f.name[i]);
	}
	for (; *before; before++)
		helper_hurry(f.helper, &f.name[*before - 'a']);
	helper_hurry(f.helper, &f); /* nobody's */
	while (strlen(f.ended) < JOBS && uv_run(&f.loop, UV_RUN_ONCE))
		;
	cr_assert_eq(helper_waiting(f.helper), 0);
	helper_destroy(f.helper);
	uv_run(&f.loop, UV_RUN_DEFAULT);
	cr_assert_eq(uv_loop_close(&f.loop), 0, "handles are left");
	cr_assert_str_eq(f.began, f.ended);
	return f.ended;
}

TestSuite(helper, .timeout = 120);

Test(helper, jobs_are_done_in_their_order)
{
	cr_assert_str_eq(order("", ""), "abcdef");
}

Test(helper, jobs_that_somebody_waits_for_come_first_in_the_order_of_the_waits)
{
	cr_assert_str_eq(order("ceb", ""), "cebadf");
}

Test(helper, the_first_and_the_last_are_jobs_like_others)
{
	cr_assert_str_eq(order("fa", ""), "fabcde");
}

Test(helper, what_is_under_way_is_not_put_aside)
{
	cr_assert_str_eq(order("", "fb"), "afbcde");
}

Test(helper, a_job_is_hurried_once)
{
	cr_assert_str_eq(order("fcf", "cfe"), "fceabd");
}
