/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_fixture.h"

#include <stdlib.h>

#include "plan/demand.h"

/* Doubles of a value that is stored whenever it is computed and has a name, and one more. */
#define SMALL (LIMIT_RECIPE_BYTES / 8)
#define LARGE (SMALL + 1)

TestSuite(demand, .init = fixture_setup, .fini = fixture_teardown);

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

/* What a job does when it succeeds. */
static void finish(struct partition *p)
{
	for (uint32_t i = 0; i < p->part.nvalue; i++)
		if (p->part.value[i].role == PART_OUTPUT) {
			version_attach(&trace, p->value[i],
				       storage_create(&trace, 64, HOME_ANY, &err));
			version_store(&trace, p->value[i]);
		}
	partition_free(&trace, p);
}

static unsigned count_role(const struct partition *p, enum part_role role)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < p->part.nvalue; i++)
		n += p->part.value[i].role == role;
	return n;
}

Test(demand, takes_only_what_the_read_needs)
{
	struct partition *p;

	import(1, 10);
	binary(OP_ADD, 2, 1, 1);
	binary(OP_MULTIPLY, 3, 1, 1);
	p = cut(2);
	cr_assert_eq(p->part.nop, 1);
	cr_assert_eq(p->part.op[0].op, OP_ADD);
	cr_assert_eq(count_role(p, PART_INPUT), 1);
	cr_assert_eq(value_of(2)->state, VERSION_RUNNING);
	cr_assert_eq(value_of(3)->state, VERSION_PENDING);
	finish(p);
	cr_assert_eq(value_of(2)->state, VERSION_STORED);
	cr_assert_null(cut(2), "nothing is pending behind a stored value");
}

Test(demand, dropped_intermediate_is_a_temporary)
{
	struct partition *p;

	import(1, 10);
	binary(OP_ADD, 2, 1, 1);
	unary(OP_SQRT, 3, 2);
	drop(2);
	p = cut(3);
	cr_assert_eq(p->part.nop, 2);
	cr_assert_eq(count_role(p, PART_TEMP), 1);
	cr_assert_eq(count_role(p, PART_OUTPUT), 1);
	finish(p);
	cr_assert_eq(trace.npending, 0);
}

Test(demand, large_cheap_live_value_is_a_recipe_first_and_stored_next_time)
{
	struct partition *p;

	import(1, LARGE);
	unary(OP_SIN, 2, 1);
	unary(OP_SQUARE, 3, 2);
	p = cut(3);
	cr_assert_eq(count_role(p, PART_OUTPUT), 1);
	finish(p);
	cr_assert_eq(value_of(2)->state, VERSION_PENDING);
	unary(OP_NEGATIVE, 4, 2);
	p = cut(4);
	cr_assert_eq(count_role(p, PART_OUTPUT), 2);
	finish(p);
	cr_assert_eq(value_of(2)->state, VERSION_STORED);
}

/* x = x + s; read(x * x), again and again: each turn's x is computed from the last one's. */
Test(demand, what_is_computed_from_a_former_recipe_is_stored)
{
	struct partition *p;

	import(1, LARGE);
	import(2, LARGE);
	for (unsigned turn = 0; turn < 6; turn++) {
		uint32_t old = turn ? 3 + 2 * (turn - 1) : 1, x = 3 + 2 * turn;

		binary(OP_ADD, x, old, 2);
		drop(old);
		unary(OP_SQUARE, x + 1, x);
		p = cut(x + 1);
		cr_assert_eq(p->part.nop, turn % 2 ? 3 : 2, "turn %u: %u", turn, p->part.nop);
		finish(p);
		cr_assert_eq(value_of(x)->state, turn % 2 ? VERSION_STORED : VERSION_PENDING);
		drop(x + 1);
	}
}

Test(demand, small_named_value_is_stored_at_once)
{
	struct partition *p;

	import(1, SMALL);
	unary(OP_SIN, 2, 1);
	unary(OP_COS, 3, 1);
	unary(OP_SQUARE, 4, 2);
	p = cut(4);
	cr_assert_eq(p->part.nop, 2, "what the read does not need stays pending");
	cr_assert_eq(count_role(p, PART_OUTPUT), 2);
	finish(p);
	cr_assert_eq(value_of(2)->state, VERSION_STORED);
	cr_assert_eq(value_of(3)->state, VERSION_PENDING);
}

/* Nobody can name it: a pending operation, which needs something else as well, reads it, no more.
 */
Test(demand, small_value_without_a_name_stays_a_recipe)
{
	struct partition *p;
	struct version *v;

	import(1, SMALL);
	unary(OP_SIN, 2, 1);
	unary(OP_SIN, 5, 1);
	binary(OP_ADD, 3, 2, 5);
	unary(OP_SQUARE, 4, 2);
	v = value_of(2);
	drop(2);
	p = cut(4);
	cr_assert_eq(count_role(p, PART_OUTPUT), 1);
	finish(p);
	cr_assert_eq(v->state, VERSION_PENDING);
}

Test(demand, small_value_that_was_written_over_stays_a_recipe)
{
	struct partition *p;
	struct version *old;

	import(1, SMALL);
	import(2, 3);
	unary(OP_SIN, 3, 1);
	unary(OP_COS, 4, 3);
	old = value_of(3);
	slice(5, 3, 0, 3);
	assign(5, 2);
	p = cut(4);
	cr_assert_eq(p->part.nop, 2);
	cr_assert_eq(count_role(p, PART_OUTPUT), 1);
	finish(p);
	cr_assert_eq(old->state, VERSION_PENDING);
	p = cut(3);
	finish(p);
	cr_assert_eq(value_of(3)->state, VERSION_STORED);
}

/* A large recipe that reads a small named value reads what is stored. */
Test(demand, recipe_does_not_keep_a_small_named_value_pending)
{
	struct partition *p;

	import(1, LARGE);
	import(2, 1);
	unary(OP_SIN, 3, 2);
	binary(OP_ADD, 4, 1, 3);
	unary(OP_SQUARE, 5, 4);
	p = cut(5);
	cr_assert_eq(count_role(p, PART_OUTPUT), 2);
	finish(p);
	cr_assert_eq(value_of(3)->state, VERSION_STORED);
	cr_assert_eq(value_of(4)->state, VERSION_PENDING);
}

Test(demand, live_reduction_is_stored)
{
	struct partition *p;

	import(1, 10);
	put(OP_SUM, 255, 1, 1, 2);
	operand(1);
	word(1);
	cr_assert_eq(flush(), OK, "%s", err.text);
	binary(OP_ADD, 3, 1, 2);
	p = cut(3);
	cr_assert_eq(count_role(p, PART_OUTPUT), 2);
	finish(p);
}

Test(demand, in_place_write_takes_storage_only_when_nobody_else_reads_it)
{
	struct partition *p;
	uint32_t v;

	import(1, 10);
	import(2, 3);
	slice(3, 1, 0, 3);
	assign(3, 2);
	p = cut(1);
	v = p->part.op[0].out.value;
	cr_assert_neq(p->part.value[v].prev, PART_NONE);
	cr_assert(p->part.value[v].take);
	finish(p);

	unary(OP_SQRT, 4, 1); /* pending reader of the present value */
	assign(3, 2);
	p = cut(1);
	v = p->part.op[0].out.value;
	cr_assert_not(p->part.value[v].take);
	finish(p);

	put(OP_PIN, 255, 1, 0, 5);
	operand(1);
	cr_assert_eq(flush(), OK);
	assign(3, 2);
	p = cut(1);
	v = p->part.op[0].out.value;
	cr_assert_not(p->part.value[v].take, "an exported snapshot must not change");
	finish(p);
}

Test(demand, recipe_that_reads_the_old_value_forbids_taking_it)
{
	struct partition *p;

	import(1, LARGE);
	import(2, 3);
	unary(OP_SIN, 4, 1);
	slice(3, 1, 0, 3);
	slice(6, 4, 0, 3);
	assign(3, 6);
	p = cut(1);
	for (uint32_t i = 0; i < p->part.nvalue; i++)
		if (p->part.value[i].prev != PART_NONE)
			cr_assert_not(p->part.value[i].take);
	cr_assert_eq(value_of(4)->state, VERSION_PENDING);
	finish(p);
}

Test(demand, same_program_gives_the_same_bytes)
{
	struct partition *p, *q;

	import(1, 10);
	unary(OP_SIN, 2, 1);
	binary(OP_ADD, 3, 2, 1);
	drop(2);
	p = cut(3);
	unary(OP_SIN, 7, 1);
	binary(OP_ADD, 8, 7, 1);
	drop(7);
	q = cut(8);
	cr_assert_eq(p->part.nop, q->part.nop);
	cr_assert_eq(p->part.nvalue, q->part.nvalue);
	cr_assert_arr_eq(p->part.op, q->part.op, p->part.nop * sizeof *p->part.op);
	cr_assert_arr_eq(p->part.value, q->part.value, p->part.nvalue * sizeof *p->part.value);
	cr_assert_arr_eq(p->part.dim, q->part.dim, p->part.ndim * sizeof *p->part.dim);
	finish(p);
	finish(q);
}

Test(demand, failure_spreads_to_what_reads_it)
{
	struct partition *p;
	struct err why;

	import(1, 10);
	unary(OP_SIN, 2, 1);
	p = cut(2);
	err_set(&why, E_LOST, "lost");
	version_fail(&trace, value_of(2), &why);
	partition_free(&trace, p);
	unary(OP_COS, 3, 2);
	unary(OP_TAN, 4, 3);
	cr_assert_null(cut(4));
	cr_assert_eq(value_of(4)->state, VERSION_FAILED);
	cr_assert_str_eq(value_of(4)->error->text, "lost");
}

Test(demand, long_partition_is_cut_at_the_limit)
{
	struct partition *p;
	unsigned total = 0;

	import(1, 10);
	for (uint32_t i = 2; i < 3002; i++) {
		/* Nothing comes three times in a row in this order (Thue and Morse). */
		unary(__builtin_parity(i) ? OP_SQRT : OP_EXP, i, i - 1);
		drop(i - 1);
	}
	while ((p = cut(3001))) {
		cr_assert_leq(p->part.nop, LIMIT_PARTITION_OPS);
		total += p->part.nop;
		finish(p);
	}
	cr_assert_eq(total, 3000);
}

Test(demand, cut_falls_where_fewest_bytes_cross)
{
	struct version **v;
	size_t n;

	import(1, 100);
	for (uint32_t turn = 0; turn < 4; turn++) {
		uint32_t x = 10 * turn + 1;

		unary(OP_SIN, x + 1, x);
		unary(OP_COS, x + 2, x);
		binary(OP_ADD, x + 10, x + 1, x + 2);
		drop(x + 1);
		drop(x + 2);
		if (turn)
			drop(x);
	}
	v = demand_cut(&trace, &n);
	cr_assert_eq(n, 1, "one value crosses at the end of a turn");
	cr_assert_eq(v[0], value_of(41));
	version_unref(&trace, v[0]);
	free(v);
}

/* Least of all crosses at the very beginning, but a cut there would be followed by another
 * at once: only places in the last half count. */
Test(demand, cut_falls_in_the_last_half)
{
	struct version **v;
	size_t n;

	import(1, 1);
	import(50, 1000);
	unary(OP_SIN, 2, 1);
	for (uint32_t k = 3; k < 9; k++)
		binary(OP_ADD, k, 2, 50);
	v = demand_cut(&trace, &n);
	cr_assert_gt(n, 1, "the place with one small value lies in the first half");
	for (size_t k = 0; k < n; k++)
		version_unref(&trace, v[k]);
	free(v);
}

/* Version 3 lives for the sake of 4 only, which fails before it is made. */
Test(demand, values_that_only_failed_ones_needed_go_with_them)
{
	struct err lost;

	import(1, 10);
	unary(OP_SQRT, 2, 1);
	unary(OP_SQRT, 3, 1);
	binary(OP_ADD, 4, 3, 2);
	drop(3);
	err_set(&lost, E_LOST, "lost");
	version_fail(&trace, value_of(2), &lost);
	cr_assert_null(cut(4), "there is nothing left to run");
	cr_assert_eq(value_of(4)->state, VERSION_FAILED);
	cr_assert_str_eq(value_of(4)->error->text, "lost");
	cr_assert_eq(trace.npending, 0);
}

Test(demand, named_values_beside_failed_ones_are_made)
{
	struct partition *p;
	struct err lost;

	import(1, 10);
	unary(OP_SQRT, 2, 1);
	unary(OP_SQRT, 3, 1);
	binary(OP_ADD, 4, 3, 2);
	err_set(&lost, E_LOST, "lost");
	version_fail(&trace, value_of(2), &lost);
	p = cut(4);
	cr_assert_eq(value_of(4)->state, VERSION_FAILED);
	if (p)
		finish(p);
	p = cut(3);
	if (p)
		finish(p);
	cr_assert_eq(value_of(3)->state, VERSION_STORED);
}

/* ---- What runs along ---- */

static void reduce(uint32_t result, uint32_t a)
{
	put(OP_SUM, 255, 1, 1, result);
	operand(a);
	word(1);
	cr_assert_eq(flush(), OK, "%s", err.text);
}

/* 2 = 1 + 1, of which only the sum 3 and the root's sum 5 are known any more. */
static void two_sums(uint64_t n)
{
	import(1, n);
	binary(OP_ADD, 2, 1, 1);
	reduce(3, 2);
	unary(OP_SQRT, 4, 2);
	reduce(5, 4);
	drop(4);
}

/* Else the large value would be stored for the sum that nobody waits for yet. */
Test(demand, reductions_of_a_large_value_without_a_name_run_along)
{
	struct partition *p;

	two_sums(LARGE);
	drop(2);
	p = cut(3);
	cr_assert_eq(p->part.nop, 4);
	cr_assert_eq(count_role(p, PART_TEMP), 2);
	cr_assert_eq(count_role(p, PART_OUTPUT), 2);
	cr_assert_eq(value_of(5)->state, VERSION_RUNNING);
	finish(p);
	cr_assert_eq(trace.npending, 0);
}

/* What is large is a recipe, or stored, for whoever names it; a small result would take a trip. */
Test(demand, nothing_runs_along_with_what_is_large_and_has_a_name)
{
	struct partition *p;

	two_sums(LARGE);
	reduce(6, 2);
	p = cut(3);
	cr_assert_eq(p->part.nop, 2);
	cr_assert_eq(value_of(5)->state, VERSION_PENDING);
	cr_assert_eq(value_of(6)->state, VERSION_PENDING);
	finish(p);
}

/* The sum of the root has a name, and the client goes on with it itself. */
Test(demand, small_results_that_have_a_name_run_along)
{
	struct partition *p;

	two_sums(SMALL);
	drop(2);
	p = cut(3);
	cr_assert_eq(p->part.nop, 4);
	cr_assert_eq(count_role(p, PART_OUTPUT), 2);
	cr_assert_eq(value_of(5)->state, VERSION_RUNNING);
	finish(p);
	cr_assert_eq(trace.npending, 0);
}

/* Nobody could go on with it: what reads it may never be asked for. */
Test(demand, small_results_without_a_name_do_not_run_along)
{
	struct partition *p;

	import(1, SMALL);
	import(6, SMALL);
	unary(OP_SIN, 2, 1);
	unary(OP_SQRT, 4, 2);
	unary(OP_SIN, 5, 6);
	binary(OP_ADD, 7, 4, 5);
	drop(4);
	p = cut(2);
	cr_assert_eq(p->part.nop, 1);
	cr_assert_eq(value_of(7)->state, VERSION_PENDING);
	finish(p);
}

/* The root's sum needs something else that is not computed now. */
Test(demand, what_needs_more_does_not_run_along)
{
	struct partition *p;

	import(1, LARGE);
	binary(OP_ADD, 2, 1, 1);
	unary(OP_SQRT, 6, 1);
	binary(OP_MULTIPLY, 4, 2, 6);
	reduce(3, 2);
	reduce(5, 4);
	drop(2);
	drop(4);
	p = cut(3);
	cr_assert_eq(value_of(5)->state, VERSION_PENDING);
	finish(p);
}
