/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_fixture.h"

#include "nest/compilepart.h"
#include "run/job.h"

TestSuite(job, .init = fixture_setup, .fini = fixture_teardown);

static struct device cpu = {.name = "cpu"};

static struct version *value_of(uint32_t id)
{
	return trace_current(trace_array(&trace, id));
}

/* Cut, planned and bound; E_NOMEM when there is no storage. */
static enum status try_bind(struct job **made, uint32_t id)
{
	struct version *v = value_of(id);
	struct job *j = calloc(1, sizeof *j);
	struct plan *plan = NULL;
	enum status st;

	demand_partition(&j->partition, &trace, &v, 1, false);
	cr_assert_not_null(j->partition);
	cr_assert_eq(compilepart_run(&plan, &j->partition->part, NULL, NULL, NULL, &err), OK, "%s",
		     err.text);
	j->run.plan = plan;
	j->device = &cpu;
	st = job_bind(j, &trace, 7, &err);
	*made = j;
	return st;
}

static void settle(struct job *j, enum job_end end)
{
	struct plan *plan = j->run.plan;

	job_settle(j, &trace, end, &err);
	job_free(j, &trace);
	if (plan)
		plan_free(plan);
}

static struct job *bound_job(uint32_t id)
{
	struct job *j;

	cr_assert_eq(try_bind(&j, id), OK, "%s", err.text);
	return j;
}

Test(job, places_are_inputs_where_they_lie_and_fresh_extents)
{
	struct job *j;
	const struct plan *plan;

	import(1, 100);
	unary(OP_SQRT, 2, 1);
	j = bound_job(2);
	plan = j->run.plan;
	cr_assert_eq(plan->nslot, 2);
	for (uint32_t s = 0; s < 2; s++) {
		bool input = plan->slot[s].input != PART_NONE;
		const struct storage *want = input ? value_of(1)->storage : value_of(2)->storage;

		cr_assert_eq(j->place[s].region, 7);
		cr_assert_eq(j->place[s].offset, want->extent.offset);
	}
	cr_assert_neq(j->place[0].offset, j->place[1].offset);
	settle(j, JOB_DONE);
	cr_assert_eq(value_of(2)->state, VERSION_STORED);
}

Test(job, write_that_nobody_else_sees_goes_in_place)
{
	struct storage *before;
	struct job *j;

	import(1, 100);
	before = value_of(1)->storage;
	slice(2, 1, 10, 5);
	import(3, 5);
	assign(2, 3);
	j = bound_job(1);
	cr_assert_eq(value_of(1)->storage, before);
	settle(j, JOB_DONE);
	cr_assert_eq(before->refs, 1);
}

Test(job, failure_reaches_the_outputs_and_frees_their_storage)
{
	struct arena_stats before, after;
	struct job *j;

	import(1, 100);
	unary(OP_SQRT, 2, 1);
	arena_get_stats(arena, &before);
	j = bound_job(2);
	err_set(&err, E_LOST, "the worker died");
	settle(j, JOB_FAILED);
	cr_assert_eq(value_of(2)->state, VERSION_FAILED);
	cr_assert_str_eq(value_of(2)->error->text, "the worker died");
	arena_get_stats(arena, &after);
	cr_assert_eq(after.live_bytes, before.live_bytes);
}

/* The slot of a job's only output. */
static uint32_t output_slot(const struct job *j)
{
	uint32_t s = 0;

	while (j->run.plan->slot[s].input != PART_NONE)
		s++;
	return s;
}

/* A root of an array of 80 000 bytes that a job has made, or tried to. */
static uint64_t root_made(uint32_t id, bool touched, enum job_end end)
{
	struct job *j = NULL;
	uint64_t at = 0;

	unary(OP_SQRT, id, 1);
	j = bound_job(id);
	at = j->place[output_slot(j)].offset;
	cr_assert(j->run.fresh && j->run.fresh[output_slot(j)], "it was never touched");
	cr_assert_eq(j->run.fresh[1 - output_slot(j)], 0, "a client filled its input");
	if (touched)
		memset(j->run.fresh, 0, j->run.plan->nslot);
	settle(j, end);
	drop(id);
	uv_run(&loop, UV_RUN_NOWAIT);
	return at;
}

Test(job, memory_is_fresh_until_a_job_has_touched_it)
{
	struct job *j = NULL;
	uint64_t at = 0;

	import(1, 10000);
	root_made(2, false, JOB_CANCELLED);
	uv_run(&loop, UV_RUN_DEFAULT); /* until it is punched out */
	at = root_made(3, true, JOB_DONE);
	unary(OP_SQRT, 4, 1);
	j = bound_job(4);
	cr_assert_eq(j->place[output_slot(j)].offset, at);
	cr_assert_null(j->run.fresh, "the job before has touched it");
	settle(j, JOB_DONE);
}

Test(job, cancelled_outputs_are_pending_and_can_be_asked_for_again)
{
	struct job *j;

	import(1, 100);
	unary(OP_SQRT, 2, 1);
	settle(bound_job(2), JOB_CANCELLED);
	cr_assert_eq(value_of(2)->state, VERSION_PENDING);
	cr_assert_null(value_of(2)->storage);
	j = bound_job(2);
	settle(j, JOB_DONE);
	cr_assert_eq(value_of(2)->state, VERSION_STORED);
}

/* Cut and planned; nothing is bound. */
static struct job *planned_job(uint32_t id)
{
	struct version *v = value_of(id);
	struct job *j = calloc(1, sizeof *j);

	demand_partition(&j->partition, &trace, &v, 1, false);
	cr_assert_eq(compilepart_run(&j->run.plan, &j->partition->part, NULL, NULL, NULL, &err), OK,
		     "%s", err.text);
	j->device = &cpu;
	return j;
}

Test(job, what_reads_a_job_that_is_being_cancelled_waits_for_its_end)
{
	struct storage *fetch = NULL;
	struct job *first, *next;

	import(1, 10000); /* small ones would come along */
	unary(OP_SQRT, 2, 1);
	unary(OP_NEGATIVE, 3, 2);
	first = bound_job(2);
	next = planned_job(3);
	cr_assert_eq(job_ready(next, &trace, &fetch, &err), JOB_GO, "they are done in order");
	job_withdraw(first);
	cr_assert_eq(job_ready(next, &trace, &fetch, &err), JOB_WAIT);
	settle(first, JOB_CANCELLED);
	cr_assert_eq(job_ready(next, &trace, &fetch, &err), JOB_STOP, "it is cut out anew");
	settle(next, JOB_CANCELLED);
	settle(bound_job(3), JOB_DONE);
	cr_assert_eq(value_of(3)->state, VERSION_STORED);
}

/* Both jobs know version 2: to the first it is a recipe that stays pending, the
 * second stores it.  When the first ends it must leave the second's storage alone. */
Test(job, recipe_that_a_later_job_makes_survives_the_end_of_the_earlier)
{
	struct storage *s;
	struct job *first, *second;

	import(1, LIMIT_RECIPE_BYTES / 8 + 1);
	unary(OP_NEGATIVE, 2, 1);
	unary(OP_SQRT, 3, 2);
	first = bound_job(3);
	cr_assert_eq(value_of(2)->state, VERSION_PENDING, "a large cheap value is a recipe");
	second = bound_job(2);
	s = value_of(2)->storage;
	cr_assert_not_null(s);
	settle(first, JOB_DONE);
	cr_assert_eq(value_of(2)->state, VERSION_RUNNING);
	cr_assert_eq(value_of(2)->storage, s);
	settle(second, JOB_DONE);
	cr_assert_eq(value_of(2)->state, VERSION_STORED);
}

Test(job, quota_refuses_and_leaves_nothing_bound)
{
	struct arena_stats before, after;
	struct job *j;

	import(1, 100);
	unary(OP_SQRT, 2, 1);
	arena_get_stats(arena, &before);
	trace.quota_bytes = before.live_bytes + 100;
	cr_assert_eq(try_bind(&j, 2), E_NOMEM);
	cr_assert(strstr(err.text, "quota"), "%s", err.text);
	settle(j, JOB_CANCELLED);
	arena_get_stats(arena, &after);
	cr_assert_eq(after.live_bytes, before.live_bytes);
	cr_assert_eq(value_of(2)->state, VERSION_PENDING);
	trace.quota_bytes = 0;
}

Test(job, small_results_come_back_with_the_completion)
{
	struct job *j;

	import(1, 100);
	put(OP_SUM, 255, 1, 1, 2);
	operand(1);
	word(1);
	cr_assert_eq(flush(), OK, "%s", err.text);
	j = bound_job(2);
	cr_assert_eq(j->run.nfetch, 1);
	cr_assert_eq(j->run.fetch[0].bytes, 8);
	cr_assert_eq(j->fetched[0], value_of(2));
	settle(j, JOB_DONE);
	unary(OP_SQRT, 3, 1);
	j = bound_job(3);
	cr_assert_eq(j->run.nfetch, 0, "800 bytes are read from the arena");
	settle(j, JOB_DONE);
}

/* id: values of vector `source`, of 100, at places that a vector of 5 names. */
static void gathered(uint32_t id, uint32_t source, uint32_t places)
{
	put(OP_INDEX, 0, 2, 2, id + 50);
	operand(places);
	in[columns.nin++] = 1u << 31 | DT_INT64;
	word(100);
	word(9);
	put(OP_TAKE, 255, 2, 0, id);
	operand(source);
	operand(id + 50);
	cr_assert_eq(flush(), OK, "%s", err.text);
	drop(id + 50);
}

static void import_places(uint32_t id)
{
	import(id + 20, 5);
	put(OP_CAST, DT_INT64, 1, 0, id);
	operand(id + 20);
	cr_assert_eq(flush(), OK, "%s", err.text);
}

/* The values of three arrays in one job. */
static struct job *job_of(uint32_t a, uint32_t b, uint32_t c)
{
	struct version *want[3] = {value_of(a), value_of(b), value_of(c)};
	struct job *j = calloc(1, sizeof *j);

	demand_partition(&j->partition, &trace, want, 3, false);
	cr_assert_eq(compilepart_run(&j->run.plan, &j->partition->part, NULL, NULL, NULL, &err), OK,
		     "%s", err.text);
	j->device = &cpu;
	cr_assert_eq(job_bind(j, &trace, 7, &err), OK, "%s", err.text);
	return j;
}

/* A check of the job finds this place. */
static void fault(struct job *j, int64_t place)
{
	j->run.fault = calloc(j->run.plan->nstep, sizeof *j->run.fault);
	for (uint32_t k = 0; k < j->run.plan->nstep; k++)
		if (nest_checks(j->run.plan->step[k].nest))
			j->run.fault[j->run.nfault++] = (struct command_fault){
				.step = (uint16_t)k, .check = 0, .key = (uint64_t)place - 1};
	cr_assert_eq(j->run.nfault, 1);
}

Test(job, a_wrong_place_fails_what_depends_on_it_and_nothing_else)
{
	struct job *j;

	import(1, 100);
	import_places(2);
	gathered(3, 1, 2);
	unary(OP_SQRT, 4, 3); /* depends on it */
	unary(OP_SQRT, 5, 1); /* does not */
	j = job_of(3, 4, 5);
	fault(j, 123);
	settle(j, JOB_DONE);
	for (uint32_t id = 3; id <= 4; id++) {
		cr_assert_eq(value_of(id)->state, VERSION_FAILED);
		cr_assert_eq(value_of(id)->error->code, E_INDEX);
		cr_assert_str_eq(value_of(id)->error->text,
				 "index 123 is out of bounds for axis 0 with size 100 at site 9");
	}
	cr_assert_eq(value_of(5)->state, VERSION_STORED);
}

Test(job, what_failed_while_a_job_ran_fails_what_it_made_of_it_only)
{
	struct job *first, *second;

	import(1, 100);
	import_places(2);
	gathered(3, 1, 2);
	first = bound_job(3);
	unary(OP_SQRT, 4, 3);
	unary(OP_COS, 5, 1);
	second = job_of(4, 4, 5);
	fault(first, -101);
	settle(first, JOB_DONE);
	cr_assert_eq(job_inputs(second, &err), OK, "%s", err.text);
	settle(second, JOB_DONE);
	cr_assert_eq(value_of(4)->state, VERSION_FAILED);
	cr_assert(strstr(value_of(4)->error->text, "index -101 "), "%s", value_of(4)->error->text);
	cr_assert_eq(value_of(5)->state, VERSION_STORED);
}
