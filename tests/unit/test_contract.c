/* SPDX-License-Identifier: Apache-2.0 */
#include "../golden/plan_case.h"

static const char two_ops[] = "value 0 input 80\nvalue 1 %s 80\nvalue 2 output 80\n"
			      "op SQRT v0:float64[10] -> v1:float64[10]\n"
			      "op EXP v1:float64[10] -> v2:float64[10]\n";

static struct plan_case with_role(const char *role, const char *passes)
{
	char text[512];

	snprintf(text, sizeof text, two_ops, role);
	return plan_case_good(text, passes);
}

Test(contract, a_temporary_of_one_nest_has_no_storage)
{
	struct plan_case c = with_role("temp", NULL);

	cr_assert_eq(c.plan->nslot, 2);
	cr_assert_eq(c.plan->value_slot[1], PART_NONE);
	plan_case_code(&c, 0,
		       "%0 = load.f64 @0\n%1 = sqrt.f64 %0\n%2 = exp.f64 %1\nstore.f64 @1 %2\n");
	plan_case_free(&c);
}

Test(contract, an_output_is_stored_but_not_loaded_again)
{
	struct plan_case c = with_role("output", NULL);

	cr_assert_eq(c.plan->nslot, 3);
	plan_case_code(&c, 0,
		       "%0 = load.f64 @0\n%1 = sqrt.f64 %0\nstore.f64 @1 %1\n%3 = exp.f64 %1\n"
		       "store.f64 @2 %3\n");
	plan_case_free(&c);
}

Test(contract, without_the_pass_everything_stays)
{
	struct plan_case c = with_role("temp", "fuse");

	cr_assert_eq(c.plan->nstep, 1);
	cr_assert_eq(c.plan->nslot, 3);
	plan_case_code(&c, 0,
		       "%0 = load.f64 @0\n%1 = sqrt.f64 %0\nstore.f64 @1 %1\n%3 = load.f64 @2\n"
		       "%4 = exp.f64 %3\nstore.f64 @3 %4\n");
	plan_case_free(&c);
}

Test(contract, an_overwritten_store_of_the_same_element_goes)
{
	struct plan_case c = plan_case_good(
		"immi 0 1\nimmi 1 2\nvalue 0 temp 80\nvalue 1 output 80 prev 0 take\n"
		"op FULL as float64 i0:int64~ -> v0:float64[10]\n"
		"op ASSIGN i1:int64~ -> v1:float64[10]\n",
		NULL);

	cr_assert_eq(c.plan->nstep, 1);
	plan_case_code(&c, 0, "%0 = scalar.i64 #0=imm1\n%1 = cast.i64>f64 %0\nstore.f64 @0 %1\n");
	plan_case_free(&c);
}

Test(contract, a_temporary_that_two_nests_need_is_stored)
{
	struct plan_case c = plan_case_good(
		"value 0 input 800\nvalue 1 temp 800\nvalue 2 output 8\nvalue 3 output 80\n"
		"op SQRT v0:float64[10,10] -> v1:float64[10,10]\n"
		"op SUM axes 3 v1:float64[10,10] -> v2:float64[]\n"
		"op SUM axes 1 v1:float64[10,10] -> v3:float64[10]\n",
		NULL);

	cr_assert_eq(c.plan->nstep, 2);
	cr_assert_eq(c.plan->nslot, 4);
	plan_case_free(&c);
}

/* A number is written over the root's bytes, as integers: the exponential is theirs. */
Test(contract, a_value_is_not_reused_across_a_write_of_another_type)
{
	struct plan_case c = plan_case_good(
		"immi 0 1\nvalue 0 input 80\nvalue 1 temp 80\nvalue 2 temp 80 prev 1 take\n"
		"value 3 output 80\n"
		"op SQRT v0:float64[10] -> v1:float64[10]\n"
		"op ASSIGN i0:int64~ -> v2:int64[10]\n"
		"op EXP v2:float64[10] -> v3:float64[10]\n",
		NULL);

	cr_assert_eq(c.plan->nstep, 1);
	plan_case_code(
		&c, 0,
		"%0 = load.f64 @0\n%1 = sqrt.f64 %0\nstore.f64 @1 %1\n%3 = scalar.i64 #0=imm0\n"
		"store.i64 @2 %3\n%5 = load.f64 @3\n%6 = exp.f64 %5\nstore.f64 @4 %6\n");
	plan_case_free(&c);
}

/* The bits of the root are read before it is written again. */
Test(contract, a_store_that_is_read_as_another_type_stays)
{
	struct plan_case c =
		plan_case_good("immi 0 1\nvalue 0 input 80\nvalue 1 temp 80\nvalue 2 output 80\n"
			       "value 3 output 80 prev 1 take\n"
			       "op SQRT v0:float64[10] -> v1:float64[10]\n"
			       "op INVERT v1:int64[10] -> v2:int64[10]\n"
			       "op ASSIGN i0:int64~ -> v3:float64[10]\n",
			       NULL);

	cr_assert_eq(c.plan->nstep, 1);
	plan_case_code(&c, 0,
		       "%0 = load.f64 @0\n%1 = sqrt.f64 %0\nstore.f64 @1 %1\n%3 = load.i64 @2\n"
		       "%4 = inv.i64 %3\nstore.i64 @3 %4\n%6 = scalar.i64 #0=imm0\n"
		       "%7 = cast.i64>f64 %6\nstore.f64 @1 %7\n");
	plan_case_free(&c);
}
