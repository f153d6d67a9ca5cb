/* SPDX-License-Identifier: Apache-2.0 */
/* Operands in any number: recorded, in a partition, as the steps that arrays put together become.
 */
#include "../golden/plan_same.h"
#include "call/join.h"
#include "trace_fixture.h"

TestSuite(join, .init = fixture_setup, .fini = fixture_teardown);

/* id: vector a, n times, along an axis. */
static enum status join_op(uint32_t id, uint32_t a, uint32_t n, uint64_t attr)
{
	put(OP_CONCATENATE, DT_FLOAT64, OP_LIST, 1, id);
	operand(n);
	for (uint32_t k = 0; k < n; k++)
		operand(a);
	word(attr);
	return flush();
}

Test(join, of_any_number_up_to_the_limit)
{
	const struct view *v;
	struct node *made;

	import(1, 12);
	for (uint32_t n = 1; n <= LIMIT_OPERANDS; n++) {
		cr_assert_eq(join_op(2, 1, n, 0), OK, "%s", err.text);
		v = &trace_array(&trace, 2)->view;
		cr_assert(v->shape.ndim == 1 && v->shape.dim[0] == 12 * n);
		made = trace_current(trace_array(&trace, 2))->node;
		cr_assert(made->nin == n && made->axes == 1);
		for (uint32_t k = 0; k < n; k++)
			cr_assert_eq(made->in[k].version, trace_current(trace_array(&trace, 1)));
		drop(2);
	}
}

Test(join, along_a_new_axis)
{
	import(1, 12);
	for (uint64_t axis = 0; axis < 2; axis++) {
		const struct view *v;
		const struct view *first;

		cr_assert_eq(join_op(2, 1, 5, axis | 1ull << 32), OK, "%s", err.text);
		v = &trace_array(&trace, 2)->view;
		cr_assert(v->shape.ndim == 2 && v->shape.dim[axis] == 5);
		cr_assert_eq(v->shape.dim[1 - axis], 12);
		first = &trace_current(trace_array(&trace, 2))->node->in[4].view;
		cr_assert(first->shape.ndim == 2 && first->shape.dim[axis] == 1);
		cr_assert(first->shape.dim[1 - axis] == 12 && first->stride[1 - axis] == 8);
		drop(2);
	}
}

Test(join, what_cannot_be_is_refused)
{
	import(1, 12);
	slice(3, 1, 0, 6);
	cr_assert_eq(join_op(2, 1, 0, 0), E_LIMIT, "of nothing");
	cr_assert_eq(join_op(2, 1, LIMIT_OPERANDS + 1, 0), E_LIMIT);
	cr_assert_eq(join_op(2, 1, 4, 1), E_PROTOCOL, "no such axis");
	cr_assert_eq(join_op(2, 1, 4, 2 | 1ull << 32), E_PROTOCOL);
	cr_assert_eq(join_op(2, 1, 4, 255), E_PROTOCOL);
	cr_assert_eq(join_op(2, 1, 4, 1ull << 33), E_PROTOCOL);
	cr_assert_eq(join_op(2, 1, 4, 256), E_PROTOCOL);
	put(OP_CONCATENATE, DT_FLOAT64, OP_LIST, 1, 2); /* more than there are */
	operand(9);
	operand(1);
	word(0);
	cr_assert_eq(flush(), E_PROTOCOL);
	put(OP_CONCATENATE, DT_FLOAT64, OP_LIST, 1, 2); /* fewer */
	operand(1);
	operand(1);
	operand(1);
	word(0);
	cr_assert_eq(flush(), E_PROTOCOL);
	drop(2);
	put(OP_CONCATENATE, DT_FLOAT64, OP_LIST, 0, 2);
	cr_assert_eq(flush(), E_PROTOCOL, "no number of operands");
	put(OP_CONCATENATE, DT_FLOAT64, 2, 1, 2);
	operand(1);
	operand(1);
	word(0);
	cr_assert_eq(flush(), E_PROTOCOL, "not as a list");
	put(OP_CONCATENATE, DTYPE_END, OP_LIST, 1, 2);
	operand(1);
	operand(1);
	word(0);
	cr_assert_eq(flush(), E_PROTOCOL, "no type");
	put(OP_CONCATENATE, DT_FLOAT64, OP_LIST, 2, 2);
	operand(1);
	scalar(1);
	word(0);
	cr_assert_eq(flush(), E_PROTOCOL, "of a number");
	put(OP_CONCATENATE, DT_FLOAT64, OP_LIST, 1, 2);
	operand(2);
	operand(1);
	operand(3);
	word(1ull << 32);
	cr_assert_eq(flush(), E_SHAPE, "stacked, they have one shape");
}

/* ---- In a partition ---- */

static const char four[] = "value 0 input 24\nvalue 1 input 16\nvalue 2 output 88\n"
			   "op CONCATENATE as float64 axes 1 v0:float64+0[3:8] v1:float64+0[2:8] "
			   "v0:float64+16[3:-8] v0:float64+0[3:8] -> v2:float64+0[11:8]\n";

Test(join, a_partition_with_a_list_round_trips)
{
	struct part p = part_text_read(four);
	char text[1024];

	cr_assert_eq(part_check(&p, &err), OK, "%s", err.text);
	cr_assert(p.nlist == 4 && p.op[0].nin == 4);
	cr_assert_eq(part_print(text, sizeof text, &p), strlen(four));
	cr_assert_str_eq(text, four);
	p.op[0].in[0].value = 1;
	cr_assert_eq(part_check(&p, &err), E_INTERNAL, "the list ends before");
	p.op[0].in[0].value = UINT32_MAX;
	cr_assert_eq(part_check(&p, &err), E_INTERNAL);
	p.op[0].in[0].value = 0;
	for (uint32_t axes = 0; axes < 4; axes++, p.op[0].axes = axes)
		cr_assert_eq(part_check(&p, &err) == OK, p.op[0].axes == 1);
	p.op[0].axes = 1;
	p.list[1].dims = p.list[0].dims; /* three elements of two */
	cr_assert_neq(part_check(&p, &err), OK);
	part_text_free(&p);
}

Test(join, what_is_stored_is_one_step_and_what_is_computed_none_more)
{
	struct plan *plan = plan_same(
		"value 0 input 48\nvalue 1 input 48\nvalue 2 temp 48\nvalue 3 output 240\n"
		"op ADD v0:int64[2,3] v1:int64[2,3] -> v2:int64[2,3]\n"
		"op CONCATENATE as int64 axes 2 v0:int64[2,3] v2:int64[2,3] v1:int64[2,3] "
		"v1:int64+24[2:-24,3:8] v0:int64[2,3] -> v3:int64[2,15]\n");

	cr_assert_eq(plan->nstep, 2);
	cr_assert(plan->step[0].kind == STEP_CALL && plan->step[0].call->noperand == 5);
	cr_assert_eq(plan->step[1].kind, STEP_KERNEL);
	plan_free(plan);
}

Test(join, other_layouts_and_types_are_nests)
{
	struct plan *plan =
		plan_same("value 0 input 48\nvalue 1 input 24\nvalue 2 output 120\n"
			  "op CONCATENATE as int64 axes 1 v0:int64[3:16] v1:int32[6] v1:int32[6:4] "
			  "-> v2:int64[15]\n");

	for (uint32_t k = 0; k < plan->nstep; k++)
		cr_assert_eq(plan->step[k].kind, STEP_KERNEL);
	plan_free(plan);
}

Test(join, where_there_are_other_devices_all_are_nests)
{
	struct plan *plan = plan_same(
		"anywhere\nvalue 0 input 48\nvalue 1 output 96\n"
		"op CONCATENATE as int64 axes 1 v0:int64[6] v0:int64[6] -> v1:int64[12]\n");

	cr_assert(plan->nstep == 1 || plan->nstep == 2);
	for (uint32_t k = 0; k < plan->nstep; k++)
		cr_assert_eq(plan->step[k].kind, STEP_KERNEL);
	plan_free(plan);
}

Test(join, many_are_several_steps)
{
	char text[8192], *at = text;
	struct plan *plan;

	at += sprintf(at, "value 0 input 32\nvalue 1 output 2048\n"
			  "op CONCATENATE as int64 axes 1");
	for (int k = 0; k < LIMIT_OPERANDS; k++)
		at += sprintf(at, " v0:int64[4]");
	sprintf(at, " -> v1:int64[256]\n");
	plan = plan_same(text);
	cr_assert_eq(plan->nstep, (LIMIT_OPERANDS + CALL_OPERANDS - 2) / (CALL_OPERANDS - 1));
	plan_free(plan);
}

/* ---- The step ---- */

/* `rows` rows of `n` elements from each of two arrays. */
static struct plan_call step(int64_t rows, int64_t n)
{
	return (struct plan_call){
		.call = CALL_JOIN,
		.dtype = DT_FLOAT64,
		.nloop = 1,
		.noperand = 3,
		.op = OP_CONCATENATE,
		.extent = {rows},
		.operand = {{.dtype = DT_FLOAT64, .run = 2 * n, .stride = {n * 16}},
			    {.dtype = DT_FLOAT64, .run = n, .stride = {n * 8}},
			    {.dtype = DT_FLOAT64, .run = n, .at = n * 8, .stride = {n * 8}}}};
}

Test(join, units_go_over_the_result_once)
{
	static const int64_t rows[] = {1, 2, 1000, 100000}, n[] = {1, 7, 5000, 1000000};

	for (unsigned i = 0; i < 16; i++) {
		struct plan_call c = step(rows[i % 4], n[i / 4]);
		struct join_cut cut;
		struct call_units u;
		int64_t bytes = c.extent[0] * c.operand[0].run * 8, lo = 0, hi = 0;

		cr_assert_eq(call_check(&c, NULL), OK);
		join_cut(&cut, &c);
		cr_assert_eq(cut.rows * cut.row_bytes, bytes);
		cr_assert_geq(cut.row_units * cut.unit_bytes, cut.row_bytes);
		cr_assert_lt((cut.row_units - 1) * cut.unit_bytes, cut.row_bytes);
		cr_assert(cut.unit_rows == 1 || cut.row_units == 1);
		cr_assert_geq(cut.total / cut.row_units * cut.unit_rows, cut.rows);
		cr_assert_lt((cut.total / cut.row_units - 1) * cut.unit_rows, cut.rows);
		call_row(CALL_JOIN)->units(&u, &c, false);
		cr_assert(u.total == cut.total && u.grain == 1 && !u.kept);
		cr_assert_eq(call_row(CALL_JOIN)->work(&c), (uint64_t)bytes);
		call_range(&lo, &hi, &c, 2);
		cr_assert(lo == 0 && hi == bytes / 2);
		cr_assert(call_writes(&c, 0) && !call_writes(&c, 1) && !call_writes(&c, 2));
	}
}

Test(join, steps_that_cannot_be_are_refused)
{
	for (int mistake = 0; mistake < 12; mistake++) {
		struct plan_call c = step(10, 50);

		cr_assert_eq(call_check(&c, NULL), OK);
		if (mistake == 0)
			c.noperand = 0;
		else if (mistake == 1)
			c.noperand = CALL_OPERANDS + 1;
		else if (mistake == 2)
			c.noperand = 1;
		else if (mistake == 3)
			c.operand[1].dtype = DT_INT64;
		else if (mistake == 4)
			c.operand[2].run = 51; /* beyond the row */
		else if (mistake == 5)
			c.operand[2].at = 49 * 8; /* over the part before */
		else if (mistake == 6)
			c.operand[1].run = 0;
		else if (mistake == 7)
			c.operand[1].run = -1;
		else if (mistake == 8)
			c.operand[0].run = 0;
		else if (mistake == 9)
			c.operand[2].run = INT64_MAX / 4;
		else if (mistake == 10)
			c.operand[2].at = INT64_MAX;
		else
			c.extent[0] = INT64_MAX / 100;
		cr_assert_eq(call_check(&c, NULL), E_INTERNAL, "mistake %d", mistake);
	}
}
