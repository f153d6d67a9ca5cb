/* SPDX-License-Identifier: Apache-2.0 */
#include "../golden/plan_case.h"

/* Softmax of rows: %s is the role of the exponentials, %s of the rows' greatest. */
static const char softmax[] =
	"value 0 input 9600\nvalue 1 temp 240\nvalue 2 temp 9600\nvalue 3 %s 9600\n"
	"value 4 temp 240\nvalue 5 output 9600\n"
	"op MAX axes 2 v0:float64[30,40] -> v1:float64[30]\n"
	"op SUBTRACT v0:float64[30,40] v1:float64+0[30:8,40:0] -> v2:float64[30,40]\n"
	"op EXP v2:float64[30,40] -> v3:float64[30,40]\n"
	"op SUM axes 2 v3:float64[30,40] -> v4:float64[30]\n"
	"op DIVIDE v3:float64[30,40] v4:float64+0[30:8,40:0] -> v5:float64[30,40]\n";

static struct plan_case with_role(const char *role, const char *passes)
{
	char text[1024];

	snprintf(text, sizeof text, softmax, role);
	return plan_case_good(text, passes);
}

Test(share, exponentials_lie_where_the_result_will)
{
	struct plan_case c = with_role("temp", NULL);

	cr_assert_eq(c.plan->nstep, 1);
	cr_assert_eq(c.plan->nslot, 2);
	/* The difference is little work and done again nowhere; exp is stored. */
	plan_case_code(&c, 0,
		       "%0 = load.f64 @0\n%1 = reduce.max.f64>f64 %0\nphase\n%2 = load.f64 @0\n"
		       "%3 = sub.f64 %2 %1\n%4 = exp.f64 %3\nstore.f64 @1 %4\n"
		       "%6 = reduce.sum.f64>f64 %4\nphase\n%7 = load.f64 @2\n"
		       "%8 = div.f64 %7 %6\nstore.f64 @3 %8\n");
	for (unsigned a = 1; a < 4; a++) {
		const struct nest_access *x = &plan_case_nest(&c, 0)->access[a];

		cr_assert(x->slot == 1 && x->stride[0] == 320 && x->stride[1] == 8);
		cr_assert_not(x->alone);
	}
	plan_case_free(&c);
}

Test(share, what_somebody_can_still_name_keeps_its_slot)
{
	struct plan_case c = with_role("output", NULL);

	cr_assert_eq(c.plan->nstep, 1);
	cr_assert_eq(c.plan->nslot, 3);
	plan_case_free(&c);
}

Test(share, without_the_pass_it_has_its_own)
{
	struct plan_case c = with_role("temp", "fuse,contract,simplify,collapse");

	cr_assert_eq(c.plan->nstep, 1);
	cr_assert_eq(c.plan->nslot, 3);
	plan_case_free(&c);
}

/* exp(x - max) is needed behind the result's own last use of it, or the result is of another
 * type: no room. */
Test(share, a_result_that_comes_too_early_or_is_of_another_type_has_no_room)
{
	struct plan_case c = plan_case_good(
		"value 0 input 9600\nvalue 1 temp 240\nvalue 2 temp 9600\nvalue 3 temp 240\n"
		"value 4 output 4800\nimmi 0 0\n"
		"op MAX axes 2 v0:float64[30,40] -> v1:float64[30]\n"
		"op POWER v0:float64[30,40] v1:float64+0[30:8,40:0] -> v2:float64[30,40]\n"
		"op SUM axes 2 v2:float64[30,40] -> v3:float64[30]\n"
		"op GREATER v2:float64[30,40] v3:float64+0[30:8,40:0] -> v4:bool[30,40]\n",
		NULL);

	cr_assert_eq(c.plan->nstep, 1);
	cr_assert_eq(c.plan->nslot, 3);
	plan_case_free(&c);
}

/* What is stored onto the source, whose rows are read again, stays apart from it. */
Test(share, a_result_whose_slot_is_read_has_no_room)
{
	struct plan_case c = plan_case_good(
		"value 0 input 9600\nvalue 1 temp 240\nvalue 2 temp 9600\nvalue 3 temp 240\n"
		"value 4 temp 9600\nvalue 5 output 9600 prev 0 take\n"
		"op MAX axes 2 v0:float64[30,40] -> v1:float64[30]\n"
		"op POWER v0:float64[30,40] v1:float64+0[30:8,40:0] -> v2:float64[30,40]\n"
		"op SUM axes 2 v2:float64[30,40] -> v3:float64[30]\n"
		"op DIVIDE v2:float64[30,40] v3:float64+0[30:8,40:0] -> v4:float64[30,40]\n"
		"op ASSIGN v4:float64[30,40] -> v5:float64[30,40]\n",
		NULL);

	cr_assert_eq(c.plan->nstep, 1);
	cr_assert_eq(c.plan->nslot, 2);
	plan_case_free(&c);
}
