/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of what a mask chooses, as library steps: what is accepted, and how it is cut. */
#include "call/chosen.h"

#include <criterion/criterion.h>

static struct plan_call sum_of(int64_t n)
{
	return (struct plan_call){.call = CALL_CHOSEN,
				  .dtype = DT_FLOAT64,
				  .nloop = CHOSEN_LOOPS,
				  .op = OP_CHOSEN_SUM,
				  .extent = {n, compact_blocks(n)},
				  .operand = {{.dtype = DT_FLOAT64, .stride = {8}},
					      {.dtype = DT_BOOL, .stride = {1}},
					      {.dtype = DT_INT64, .stride = {0, 8}},
					      {.dtype = DT_FLOAT64}}};
}

Test(chosen, units_are_chunks_of_as_many_as_may_be_chosen)
{
	static const int64_t n[] = {1, 65536, 65537, 1000000}, units[] = {1, 1, 2, 16};
	struct call_units u;
	struct err err;

	for (int k = 0; k < 4; k++) {
		struct plan_call c = sum_of(n[k]);

		cr_assert_eq(call_check(&c, &err), OK, "%s", err.text);
		call_row(CALL_CHOSEN)->units(&u, &c, false);
		cr_assert(u.total == units[k] && u.kept);
	}
}

Test(chosen, trees_are_those_of_reductions)
{
	unsigned type = 0;

	cr_assert(chosen_tree(&type, OP_CHOSEN_SUM, DT_FLOAT64) == OP_SUM && type == DT_FLOAT64);
	cr_assert(chosen_tree(&type, OP_CHOSEN_SUM, DT_FLOAT16) == OP_SUM && type == DT_FLOAT32);
	cr_assert(chosen_tree(&type, OP_CHOSEN_SUM, DT_BOOL) == OP_ANY && type == DT_BOOL);
	cr_assert_eq(chosen_tree(&type, OP_CHOSEN_PROD, DT_BOOL), OP_ALL);
	cr_assert_eq(chosen_tree(&type, OP_CHOSEN_MAX, DT_BOOL), OP_MAX);
}

static void refused(const struct plan_call *c, const char *what)
{
	struct err err;

	cr_assert_eq(call_check(c, &err), E_INTERNAL, "%s", what);
}

Test(chosen, what_cannot_be_is_refused)
{
	struct plan_call c = sum_of(5000);

	c.extent[1]++;
	refused(&c, "more blocks than the mask has");
	c = sum_of(5000);
	c.extent[0] = c.extent[1] = 0;
	refused(&c, "nothing");
	c = sum_of(5000);
	c.op = OP_SUM;
	refused(&c, "no such operation");
	c = sum_of(5000);
	c.nloop = 1;
	refused(&c, "no blocks");
	for (unsigned x = 1; x <= CHOSEN_RESULT; x++) {
		c = sum_of(5000);
		c.operand[x].dtype = DT_INT16;
		refused(&c, "an operand of another type");
	}
	c = sum_of(5000);
	c.op = OP_CHOSEN_MIN;
	c.dtype = DT_FLOAT32;
	refused(&c, "extremes have the source's type");
	c = sum_of(5000);
	c.operand[0].dtype = c.operand[3].dtype = c.dtype = DT_COMPLEX64;
	c.op = OP_CHOSEN_MAX;
	refused(&c, "complex numbers have no order");
}
