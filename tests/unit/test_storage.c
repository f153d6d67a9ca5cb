/* SPDX-License-Identifier: Apache-2.0 */
#include "../golden/plan_case.h"

Test(storage, a_taken_version_lies_where_the_older_one_lay)
{
	struct plan_case c = plan_case_good("immi 0 1\nvalue 0 input 80\nvalue 1 output 80 prev 0 "
					    "take\nop ASSIGN i0:int64~ -> v1:float64[4]\n",
					    NULL);

	cr_assert_eq(c.plan->nslot, 1);
	cr_assert_eq(c.plan->slot[0].input, 0);
	cr_assert_eq(c.plan->slot[0].value, 1);
	cr_assert_eq(c.plan->step[0].tears, 1);
	cr_assert(plan_tears(c.plan));
	plan_case_free(&c);
}

Test(storage, a_version_that_is_read_later_is_not_taken)
{
	struct plan_case c = plan_case_good(
		"immi 0 1\nvalue 0 input 80\nvalue 1 output 80 prev 0 take\nvalue 2 output 80\n"
		"op ASSIGN i0:int64~ -> v1:float64[4]\n"
		"op NEGATIVE v0:float64[10] -> v2:float64[10]\n",
		NULL);

	cr_assert_neq(c.plan->value_slot[0], c.plan->value_slot[1]);
	cr_assert_eq(c.plan->slot[c.plan->value_slot[1]].input, PART_NONE);
	plan_case_free(&c);
}

Test(storage, an_output_is_never_taken)
{
	struct plan_case c = plan_case_good(
		"immi 0 1\nvalue 0 input 80\nvalue 1 output 80\nvalue 2 output 80 prev 1 take\n"
		"op SQRT v0:float64[10] -> v1:float64[10]\n"
		"op ASSIGN i0:int64~ -> v2:float64[4]\n",
		NULL);

	cr_assert_neq(c.plan->value_slot[1], c.plan->value_slot[2]);
	plan_case_free(&c);
}

Test(storage, an_empty_output_has_a_slot_and_no_step)
{
	struct plan_case c = plan_case_good("value 0 output 80 undefined\n"
					    "op EMPTY as float64 -> v0:float64[10]\n",
					    NULL);

	cr_assert_eq(c.plan->nstep, 0);
	cr_assert_eq(c.plan->nslot, 1);
	cr_assert(c.plan->slot[0].empty);
	plan_case_free(&c);
}

Test(storage, what_is_left_of_an_empty_value_is_empty)
{
	struct plan_case c = plan_case_good(
		"immi 0 1\nvalue 0 temp 80 undefined\nvalue 1 output 80 prev 0 take\n"
		"value 2 output 80\n"
		"op EMPTY as float64 -> v0:float64[10]\n"
		"op ASSIGN i0:int64~ -> v1:float64[4]\n"
		"op SQRT v1:float64[10] -> v2:float64[10]\n",
		NULL);

	cr_assert(c.plan->slot[c.plan->value_slot[1]].empty);
	cr_assert_not(c.plan->slot[c.plan->value_slot[2]].empty);
	plan_case_free(&c);
}
