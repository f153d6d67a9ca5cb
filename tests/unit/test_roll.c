/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of a program: one partition of one turn for all of them. */
#include "trace_fixture.h"

#include <stdlib.h>

#include "nest/compilepart.h"
#include "run/job.h"

TestSuite(roll, .init = fixture_setup, .fini = fixture_teardown);

static struct device cpu = {.name = "cpu"};

static struct version *value_of(uint32_t id)
{
	return trace_current(trace_array(&trace, id));
}

static struct partition *cut(uint32_t id)
{
	struct partition *p;
	struct version *v = value_of(id);

	demand_partition(&p, &trace, &v, 1, false);
	return p;
}

/* Planned and bound. */
static struct job *bound(struct partition *p)
{
	struct job *j = calloc(1, sizeof *j);
	struct plan *plan = NULL;

	j->partition = p;
	cr_assert_eq(compilepart_run(&plan, &p->part, NULL, NULL, NULL, &err), OK, "%s", err.text);
	j->run.plan = plan;
	j->device = &cpu;
	cr_assert_eq(job_bind(j, &trace, 7, &err), OK, "%s", err.text);
	return j;
}

static void settle(struct job *j, enum job_end end)
{
	struct plan *plan = j->run.plan;

	job_settle(j, &trace, end, &err);
	job_free(j, &trace);
	plan_free(plan);
}

/* Runs all that array `id` needs; the operations that ran, and the most turns of any job. */
static unsigned run_all(uint32_t id, uint32_t *turns)
{
	struct partition *p = NULL;
	unsigned n = 0;

	*turns = 0;
	while ((p = cut(id))) {
		n += p->part.nop * p->turns;
		*turns = p->turns > *turns ? p->turns : *turns;
		settle(bound(p), JOB_DONE);
	}
	cr_assert_eq(value_of(id)->state, VERSION_STORED);
	return n;
}

/* x = sqrt(exp(x)), n times, from array 1 on, as array 2. */
static void chain(unsigned n)
{
	unary(OP_SQRT, 2, 1);
	for (unsigned i = 1; i < n; i++) {
		unary(i % 2 ? OP_EXP : OP_SQRT, 3, 2);
		drop(2);
		put(OP_VIEW, DT_FLOAT64, 1, 4, 2);
		operand(3);
		word(1);
		word(0);
		word(10);
		word(8);
		cr_assert_eq(flush(), OK, "%s", err.text);
		drop(3);
	}
}

/* a[k + 1 : k + 9] = sqrt(a[k : k + 8]) of array 1. */
static void sweep(unsigned n)
{
	for (unsigned k = 0; k < n; k++) {
		slice(10, 1, k, 8);
		slice(11, 1, k + 1, 8);
		unary(OP_SQRT, 12, 10);
		assign(11, 12);
		drop(10);
		drop(11);
		drop(12);
	}
}

Test(roll, chain_is_one_job_of_many_turns)
{
	uint32_t turns;

	import(1, 10);
	chain(3000);
	cr_assert_eq(run_all(2, &turns), 3000);
	cr_assert_geq(turns, 80);
}

Test(roll, few_operations_are_planned_as_they_are)
{
	uint32_t turns;

	import(1, 10);
	chain(1000);
	cr_assert_eq(run_all(2, &turns), 1000);
	cr_assert_eq(turns, 1);
}

Test(roll, what_a_turn_takes_over_is_named)
{
	struct partition *p = NULL;
	unsigned carried = 0;

	import(1, 10);
	chain(2000);
	p = cut(2);
	cr_assert_gt(p->turns, 8);
	for (uint32_t i = 0; i < p->part.nvalue; i++) {
		const struct part_carry *c = &p->carry[i];

		if (c->value == PART_NONE)
			continue;
		carried++;
		cr_assert_eq(p->part.value[i].role, PART_INPUT);
		cr_assert_eq(p->part.value[c->value].role, PART_OUTPUT);
		for (uint32_t t = c->lag; t < p->turns; t++)
			cr_assert_eq(partition_value(p, t, i),
				     partition_value(p, t - c->lag, c->value));
		cr_assert(partition_foreign(p, 0, i));
		cr_assert(!partition_foreign(p, c->lag, i));
	}
	cr_assert_eq(carried, 1);
	settle(bound(p), JOB_DONE);
}

Test(roll, storage_of_dead_turns_serves_again)
{
	struct arena_stats before, during;
	struct partition *p = NULL;
	struct job *j = NULL;

	import(1, 10);
	chain(2000);
	arena_get_stats(arena, &before);
	p = cut(2);
	j = bound(p);
	arena_get_stats(arena, &during);
	cr_assert_leq(during.live_bytes - before.live_bytes, 8 * 4096, "%u turns have %llu bytes",
		      p->turns, (unsigned long long)(during.live_bytes - before.live_bytes));
	settle(j, JOB_DONE);
}

Test(roll, offsets_move_and_count_from_the_first)
{
	struct partition *p = NULL;
	int64_t move = 0, least = INT64_MAX;

	import(1, 2000);
	sweep(600);
	p = cut(1);
	cr_assert_gt(p->turns, 8);
	cr_assert_not_null(p->part.move);
	for (uint32_t k = 0; k < p->part.nop; k++) {
		const struct part_ref *r = &p->part.op[k].out;

		if (p->part.op[k].op != OP_ASSIGN)
			continue;
		move = p->part.move[r->dims];
		least = p->part.dim[r->dims] < least ? p->part.dim[r->dims] : least;
		cr_assert_eq(move, 8 * (int64_t)p->part.nop / 2, "a turn has so many assignments");
	}
	cr_assert_eq(least, 8, "the first reads at 0");
	settle(bound(p), JOB_DONE);
}

Test(roll, sweeps_that_begin_elsewhere_are_the_same_partition)
{
	struct partition *p = NULL, *q = NULL;

	import(1, 2000);
	sweep(600);
	p = cut(1);
	import(2, 10);
	slice(20, 1, 5, 10);
	assign(20, 2);
	drop(20);
	settle(bound(p), JOB_DONE);
	sweep(600);
	while ((q = cut(1)) && q->turns == 1)
		settle(bound(q), JOB_DONE);
	cr_assert_not_null(q);
	cr_assert_gt(q->turns, 8);
	settle(bound(q), JOB_DONE);
}

Test(roll, every_turn_has_immediates_of_its_own)
{
	struct partition *p = NULL;

	import(1, 10);
	for (unsigned i = 0; i < 1300; i++) {
		put(OP_MULTIPLY, 255, 2, 1, 2 + i);
		operand(1 + i);
		scalar(i);
		cr_assert_eq(flush(), OK, "%s", err.text);
		if (i)
			drop(1 + i);
	}
	p = cut(1301);
	cr_assert_gt(p->turns, 8);
	for (uint32_t t = 0; t < p->turns; t++)
		for (uint32_t k = 0; k < p->part.nimm; k++) {
			double v;

			memcpy(&v, &p->imm[2 * ((size_t)t * p->part.nimm + k)], sizeof v);
			cr_assert_eq(v, (double)(t * p->part.nimm + k));
		}
	settle(bound(p), JOB_DONE);
}

Test(roll, values_that_are_kept_have_storage_of_their_own)
{
	struct partition *p = NULL;
	struct job *j = NULL;

	import(1, 10);
	for (unsigned i = 0; i < 1300; i++)
		unary(OP_SQRT, 2 + i, 1 + i);
	p = cut(1301);
	cr_assert_gt(p->turns, 8);
	j = bound(p);
	settle(j, JOB_DONE);
	for (unsigned i = 0; i < 1200; i++) {
		struct version *v = value_of(2 + i), *w = value_of(3 + i);

		cr_assert_eq(v->state, VERSION_STORED, "%u", i);
		cr_assert_neq(v->storage, w->storage);
	}
}

Test(roll, an_input_that_others_read_is_copied)
{
	struct partition *p = NULL;
	struct job *j = NULL;
	struct storage *old = NULL;

	import(1, 2000);
	put(OP_PIN, 255, 1, 0, 5);
	operand(1);
	cr_assert_eq(flush(), OK, "%s", err.text);
	old = value_of(5)->storage;
	sweep(600);
	p = cut(1);
	cr_assert_gt(p->turns, 8);
	j = bound(p);
	cr_assert_eq(j->run.nbefore, 1);
	cr_assert_eq(j->run.copy[0].bytes, 2000 * 8);
	settle(j, JOB_DONE);
	cr_assert_eq(value_of(5)->storage, old);
	cr_assert_eq(value_of(5)->state, VERSION_STORED);
}

Test(roll, turns_that_were_not_begun_are_pending_again)
{
	struct partition *p = NULL;
	struct job *j = NULL;
	uint32_t turns = 0, all = 0;
	unsigned ran = 0;

	import(1, 10);
	chain(2000);
	p = cut(2);
	all = p->turns;
	j = bound(p);
	j->run.turns = 5;
	ran = 5 * p->part.nop;
	settle(j, JOB_DONE);
	cr_assert_eq(value_of(2)->state, VERSION_PENDING);
	cr_assert_eq(trace.npending, 2000 - ran, "the first turns are done for good");
	cr_assert_eq(run_all(2, &turns), 2000 - ran);
	cr_assert_geq(turns, all - 6);
}

Test(roll, a_failed_job_fails_what_it_owed)
{
	import(1, 10);
	chain(2000);
	err_set(&err, E_LOST, "lost");
	settle(bound(cut(2)), JOB_FAILED);
	cr_assert_null(cut(2), "what reads a failed value has failed");
	cr_assert_eq(value_of(2)->state, VERSION_FAILED);
}

Test(roll, cuts_fall_behind_whole_turns)
{
	struct version **v;
	struct partition *p;
	size_t n;

	import(1, 10);
	chain(4000);
	v = demand_cut(&trace, &n);
	cr_assert_eq(n, 1);
	demand_partition(&p, &trace, v, n, false);
	cr_assert_gt(p->turns, 8);
	cr_assert_eq(p->turns * p->part.nop % 32, 0);
	settle(bound(p), JOB_DONE);
	for (size_t i = 0; i < n; i++)
		version_unref(&trace, v[i]);
	free(v);
}

/* Arrays 100, 101, ...: what came before plus elements of vector 1, of 100, at the places that 2
 * names, each at a site of its own. */
static void gathers(unsigned n)
{
	for (unsigned k = 0; k < n; k++) {
		put(OP_INDEX, 0, 2, 2, 50);
		operand(2);
		in[columns.nin++] = 1u << 31 | DT_INT64;
		word(100);
		word(k + 1);
		put(OP_TAKE, 255, 2, 0, 51);
		operand(1);
		operand(50);
		cr_assert_eq(flush(), OK, "%s", err.text);
		binary(OP_ADD, 100 + k, k ? 99 + k : 3, 51);
		drop(50);
		drop(51);
		drop(40);
		unary(OP_SQRT, 40, 4);
	}
}

static void begin_gathers(unsigned n)
{
	import(1, 100);
	import(5, 6);
	put(OP_CAST, DT_INT64, 1, 0, 2);
	operand(5);
	import(3, 6);
	import(4, 6);
	unary(OP_SQRT, 40, 4);
	gathers(n);
}

/* The operation of the turn that check `check` of step `step` looks at: which of the turn's. */
static unsigned place_in_turn(const struct job *j, uint32_t step, uint16_t check)
{
	const struct nest *n = j->run.plan->step[step].nest;
	unsigned before = 0;

	for (unsigned i = 0; i < n->ninstr; i++)
		for (uint32_t k = 0; n->instr[i].op == OP_INDEX && n->instr[i].c == check &&
				     k < j->partition->part.nop;
		     k++) {
			const struct part_op *o = &j->partition->part.op[k];

			before += o->op == OP_INDEX;
			if (o->op == OP_INDEX &&
			    o->in[1].value == (PART_IMM | n->scalar[n->instr[n->instr[i].b].a]))
				return before - 1;
		}
	cr_assert_fail("step %u has no check %u", step, check);
	return 0;
}

static uint32_t checking_step(const struct job *j)
{
	for (uint32_t i = 0; i < j->run.plan->nstep; i++)
		if (j->run.plan->step[i].nest && nest_checks(j->run.plan->step[i].nest))
			return i;
	cr_assert_fail("nothing is checked");
	return 0;
}

static void expect_failed(uint32_t id, int place, unsigned site)
{
	char text[100];

	snprintf(text, sizeof text, "index %d is out of bounds for axis 0 with size 100 at site %u",
		 place, site);
	cr_assert_eq(value_of(id)->state, VERSION_FAILED, "%u", id);
	cr_assert_eq(value_of(id)->error->code, E_INDEX);
	cr_assert_str_eq(value_of(id)->error->text, text);
}

/* In turns 3 and 5, the later one noted with a lesser place: from the first one on all that is
 * carried over fails by it, and the operation of that very turn is told. */
Test(roll, a_wrong_place_of_a_turn_fails_it_and_what_later_turns_make_of_it)
{
	enum { N = 500 };
	struct command_fault *fault = calloc(2, sizeof *fault);
	struct partition *p = NULL;
	struct job *j = NULL;
	unsigned each = 0, wrong = 0;

	begin_gathers(N);
	while ((p = cut(99 + N)) && p->turns == 1)
		settle(bound(p), JOB_DONE);
	cr_assert_not_null(p, "gathers are rolled");
	j = bound(p);
	for (uint32_t k = 0; k < p->part.nop; k++)
		each += p->part.op[k].op == OP_INDEX;
	fault[0] =
		(struct command_fault){.step = (uint16_t)checking_step(j), .turn = 3, .key = 122};
	fault[1] = fault[0];
	fault[1].turn = 5;
	fault[1].key = 99;
	j->run.fault = fault;
	j->run.nfault = 2;
	/* What the stretch begins with was computed before it. */
	while (value_of(100 + wrong)->state == VERSION_STORED)
		wrong++;
	wrong += 3 * each + place_in_turn(j, fault[0].step, 0);
	cr_assert_gt(p->turns, 6);
	settle(j, JOB_DONE);
	for (unsigned k = 0; k < wrong; k++)
		cr_assert_eq(value_of(100 + k)->state, VERSION_STORED, "%u of %u", k, wrong);
	for (unsigned k = wrong; k < N; k++)
		if (value_of(100 + k)->state != VERSION_PENDING)
			expect_failed(100 + k, 123, wrong + 1);
	cr_assert_eq(value_of(100 + wrong)->state, VERSION_FAILED);
	cr_assert_null(cut(99 + N), "what reads a failed value fails");
	expect_failed(99 + N, 123, wrong + 1);
	cr_assert_neq(value_of(40)->state, VERSION_FAILED, "it does not depend on a place");
}

/* An array of the client's that failed meanwhile, read in every turn. */
Test(roll, turns_that_read_what_had_failed_fail_by_it_and_others_do_not)
{
	enum { N = 500 };
	struct partition *p = NULL;
	struct err lost = {0};
	struct job *j = NULL;

	begin_gathers(N);
	while ((p = cut(99 + N)) && p->turns == 1)
		settle(bound(p), JOB_DONE);
	j = bound(p);
	err_set(&lost, E_LOST, "gone");
	for (uint32_t i = 0; i < p->part.nvalue; i++)
		if (partition_value(p, 4, i) == value_of(1))
			version_fail(&trace, value_of(1), &lost);
	cr_assert_eq(value_of(1)->state, VERSION_FAILED);
	settle(j, JOB_DONE);
	cr_assert_null(cut(99 + N));
	cr_assert_str_eq(value_of(99 + N)->error->text, "gone");
	cr_assert_neq(value_of(40)->state, VERSION_FAILED);
}
