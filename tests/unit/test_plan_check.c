/* SPDX-License-Identifier: Apache-2.0 */
#include "../golden/plan_case.h"

static struct plan_case small(void)
{
	return plan_case_good("immi 0 1\nvalue 0 input 80\nvalue 1 output 80 prev 0 take\n"
			      "value 2 output 80\n"
			      "op ASSIGN i0:int64~ -> v1:float64[4]\n"
			      "op SQRT v1:float64[10] -> v2:float64[10]\n",
			      NULL);
}

static void refused(struct plan_case *c, const char *word)
{
	struct err err = {0};

	cr_assert_eq(plan_check(c->plan, &c->part, &err), E_INTERNAL, "%s was accepted", word);
	cr_assert(strstr(err.text, word), "\"%s\" lacks \"%s\"", err.text, word);
	plan_case_free(c);
}

Test(plan_check, refuses_what_breaks_a_rule)
{
	struct plan_case c = small();
	struct err err;

	cr_assert_eq(plan_check(c.plan, &c.part, &err), OK);
	cr_assert_eq(c.plan->nstep, 2);
	c.plan->step[0].tears = 0;
	refused(&c, "unmarked");
	c = small();
	c.plan->step[1].nest->access[0].offset = 8;
	refused(&c, "touches");
	c = small();
	c.plan->step[1].nest->access[0].slot = 9;
	refused(&c, "no slot");
	c = small();
	c.plan->value_slot[2] = PART_NONE;
	refused(&c, "has no slot");
	c = small();
	c.plan->step[1].nest->width = 3;
	refused(&c, "width");
	c = small();
	c.plan->slot[c.plan->value_slot[2]].value = 1;
	refused(&c, "does not own");
	c = plan_case_good("value 0 output 80 undefined\nop EMPTY as float64 -> v0:float64[10]\n",
			   NULL);
	c.plan->slot[0].empty = 0;
	refused(&c, "unwritten");
}

Test(plan_check, steps_in_the_wrong_order_are_refused)
{
	struct plan_case c = plan_case_good(
		"value 0 input 800\nvalue 1 temp 800\nvalue 2 output 8\nvalue 3 output 80\n"
		"op SQRT v0:float64[10,10] -> v1:float64[10,10]\n"
		"op SUM axes 3 v1:float64[10,10] -> v2:float64[]\n"
		"op SUM axes 1 v1:float64[10,10] -> v3:float64[10]\n",
		NULL);
	struct plan_step first = c.plan->step[0];

	c.plan->step[0] = c.plan->step[1];
	c.plan->step[1] = first;
	refused(&c, "before it is written");
}

Test(plan_check, every_refusal_has_a_text)
{
	for (int r = FUSE_OK; r < FUSE_REASON_END; r++)
		cr_assert_gt(strlen(fuse_reason_text((enum fuse_reason)r)), 3);
	cr_assert_str_eq(fuse_reason_text(FUSE_REASON_END), "?");
}

/* The sums of nothing are stored all the same, so their places count. */
Test(plan_check, result_of_an_empty_reduction_is_bounded_too)
{
	struct plan_case c = plan_case_good("value 0 input 0\nvalue 1 output 40\n"
					    "op SUM axes 2 v0:float64[5,0] -> v1:float64[5]\n",
					    NULL);

	cr_assert_eq(plan_case_nest(&c, 0)->nred, 1);
	c.plan->step[0].nest->access[c.plan->step[0].nest->naccess - 1].offset = 8;
	refused(&c, "touches");
}
