/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/planner.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <uv.h>

#include "../golden/part_text.h"

#define JOBS 50

static uv_loop_t loop;
static struct planner *planner;
static pthread_t loop_thread;
static unsigned order[JOBS], ndone;

static void on_done(struct planner_job *j)
{
	cr_assert(pthread_equal(pthread_self(), loop_thread));
	order[ndone++] = *(unsigned *)j->data;
	if (ndone == JOBS)
		uv_stop(&loop);
}

static void start(const char *passes)
{
	struct planner_config c = {.passes = passes};
	struct err err;

	loop_thread = pthread_self();
	uv_loop_init(&loop);
	cr_assert_eq(planner_create(&planner, &loop, &c, &err), OK, "%s", err.text);
}

static void end(void)
{
	planner_destroy(planner);
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_assert_eq(uv_loop_close(&loop), 0);
}

static const char *const chain = "value 0 input 80\nvalue 1 temp 80\nvalue 2 output 80\n"
				 "op SQRT v0:float64[10] -> v1:float64[10]\n"
				 "op SQRT v1:float64[10] -> v2:float64[10]\n";

Test(planner, answers_every_job_in_order_on_the_loop_thread)
{
	struct part part = part_text_read(chain);
	struct planner_job job[JOBS] = {0};
	unsigned number[JOBS];

	start(NULL);
	for (unsigned k = 0; k < JOBS; k++) {
		number[k] = k;
		job[k] = (struct planner_job){.part = &part, .done = on_done, .data = &number[k]};
		planner_submit(planner, &job[k]);
	}
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_assert_eq(ndone, JOBS);
	for (unsigned k = 0; k < JOBS; k++) {
		cr_assert_eq(order[k], k);
		cr_assert(job[k].plan, "%s", job[k].err.text);
		cr_assert_eq(job[k].plan->nstep, 1);
		plan_free(job[k].plan);
	}
	end();
	part_text_free(&part);
}

static char *text_of(const struct plan *p)
{
	size_t n = plan_print(NULL, 0, p) + 1;
	char *text = malloc(n);

	plan_print(text, n, p);
	return text;
}

Test(planner, what_is_planned_within_the_call_is_the_threads_plan)
{
	struct part part = part_text_read(chain);
	unsigned number[2] = {0, 1};
	struct planner_job job[2] = {{.part = &part, .done = on_done, .data = &number[0]},
				     {.part = &part, .done = on_done, .data = &number[1]}};
	char *mine, *theirs;

	start(NULL);
	planner_submit(planner, &job[0]);
	while (!ndone)
		uv_run(&loop, UV_RUN_ONCE);
	planner_run(planner, &job[1]);
	cr_assert_eq(ndone, 2, "done before it returns");
	cr_assert_eq(order[1], 1);
	mine = text_of(job[1].plan);
	theirs = text_of(job[0].plan);
	/* What it cost is predicted, not measured. */
	cr_assert_str_eq(mine, theirs);
	free(mine);
	free(theirs);
	plan_free(job[0].plan);
	plan_free(job[1].plan);
	end();
	part_text_free(&part);
}

Test(planner, passes_that_are_named_are_the_only_ones)
{
	struct part part = part_text_read(chain);
	unsigned number = 0;
	struct planner_job job = {.part = &part, .done = on_done, .data = &number};

	start("collapse");
	planner_submit(planner, &job);
	while (!ndone)
		uv_run(&loop, UV_RUN_ONCE);
	cr_assert_eq(job.plan->nstep, 2, "nothing was fused");
	plan_free(job.plan);
	end();
	part_text_free(&part);
}

Test(planner, partition_that_breaks_a_rule_is_an_error_with_a_reason)
{
	struct part part = part_text_read("value 0 input 80\nvalue 1 output 80\n"
					  "op SQRT v0:float64[11] -> v1:float64[10]\n");
	unsigned number = 0;
	struct planner_job job = {.part = &part, .done = on_done, .data = &number};

	start(NULL);
	planner_submit(planner, &job);
	while (!ndone)
		uv_run(&loop, UV_RUN_ONCE);
	cr_assert_null(job.plan);
	cr_assert_neq(job.err.code, OK);
	cr_assert_neq(*job.err.text, 0);
	end();
	part_text_free(&part);
}

/* A job behind the one that runs is dropped; destroying waits for the latter only. */
Test(planner, is_destroyed_with_jobs_waiting)
{
	struct part part = part_text_read(chain);
	struct planner_job job[JOBS] = {0};
	unsigned number = 0;

	start(NULL);
	for (unsigned k = 0; k < JOBS; k++) {
		job[k] = (struct planner_job){.part = &part, .done = on_done, .data = &number};
		planner_submit(planner, &job[k]);
	}
	end();
	cr_assert_eq(ndone, 0, "an answer came after the end");
	for (unsigned k = 0; k < JOBS; k++)
		if (job[k].plan)
			plan_free(job[k].plan);
	part_text_free(&part);
}
