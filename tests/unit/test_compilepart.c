/* SPDX-License-Identifier: Apache-2.0 */
#include "nest/compilepart.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "../golden/part_text.h"

/* A chain of n additions over 1000 elements, each a temporary but the last. */
static struct part chain(unsigned n)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	struct part p;

	fprintf(f, "value 0 input 8000\nvalue 1 input 8000\n");
	for (unsigned k = 0; k < n; k++)
		fprintf(f, "value %u %s 8000\n", k + 2, k + 1 == n ? "output" : "temp");
	for (unsigned k = 0; k < n; k++)
		fprintf(f, "op ADD v%u:float64[1000] v%u:float64[1000] -> v%u:float64[1000]\n",
			k ? k + 1 : 0, k % 2, k + 2);
	fclose(f);
	p = part_text_read(text);
	free(text);
	return p;
}

static struct plan *plan_of(const struct part *p, const char *passes)
{
	struct plan *plan = NULL;
	struct err err = {0};

	cr_assert_eq(compilepart_run(&plan, p, passes, NULL, NULL, &err), OK, "%s", err.text);
	return plan;
}

Test(compilepart, chain_of_twenty_is_one_kernel_planned_within_a_millisecond)
{
	struct part p = chain(20);
	uint64_t best = UINT64_MAX;

	for (int round = 0; round < 20; round++) {
		struct plan *plan = plan_of(&p, NULL);

		cr_assert_eq(plan->nstep, 1);
		cr_assert_eq(plan->nslot, 3);
		best = plan->planning_us < best ? plan->planning_us : best;
		plan_free(plan);
	}
	cr_log_info("20 ops planned in %llu us", (unsigned long long)best);
	cr_assert_leq(best, 1000);
	part_text_free(&p);
}

Test(compilepart, thousand_ops_split_at_the_instruction_limit)
{
	struct part p = chain(1000);
	struct plan *plan = plan_of(&p, NULL);

	cr_log_info("1000 ops: %u steps in %llu us", plan->nstep,
		    (unsigned long long)plan->planning_us);
	cr_assert_gt(plan->nstep, 3);
	cr_assert_lt(plan->nstep, 10);
	cr_assert_gt(plan->nnote, 0);
	cr_assert_eq(plan->note[0].reason, FUSE_SIZE);
	plan_free(plan);
	part_text_free(&p);
}

Test(compilepart, unfused_partition_keeps_a_step_for_each_op)
{
	struct part p = chain(7);
	struct plan *plan = NULL;

	p.unfused = 1;
	plan = plan_of(&p, NULL);
	cr_assert_eq(plan->nstep, 7);
	cr_assert_eq(plan->nnote, 6);
	cr_assert_eq(plan->note[0].reason, FUSE_DISABLED);
	/* Two inputs, the output, and two temporaries that take turns. */
	cr_assert_eq(plan->nslot, 5);
	plan_free(plan);
	part_text_free(&p);
}

Test(compilepart, passes_can_be_chosen_by_name)
{
	struct part p = chain(3);
	struct plan *plan = plan_of(&p, "collapse");
	struct err err = {0};

	cr_assert_eq(plan->nstep, 3);
	plan_free(plan);
	cr_assert_eq(compilepart_run(&plan, &p, "fuse,fold", NULL, NULL, &err), E_INVALID);
	cr_assert(strstr(err.text, "\"fold\"") && strstr(err.text, "simplify"), "%s", err.text);
	cr_assert_null(plan);
	part_text_free(&p);
}

static struct nest spec_of(const char *text)
{
	struct part p = part_text_read(text);
	struct plan *plan = plan_of(&p, NULL);
	struct nest spec;

	cr_assert_eq(plan->nstep, 1);
	compilepart_spec(&spec, plan->step[0].nest);
	plan_free(plan);
	part_text_free(&p);
	return spec;
}

Test(compilepart, sizes_and_scalars_do_not_reach_the_kernel)
{
	struct nest a = spec_of("immf 0 2\nvalue 0 input 80\nvalue 1 output 80\n"
				"op MULTIPLY v0:float64[10] i0:float64~ -> v1:float64[10]\n");
	struct nest b = spec_of("immf 0 1\nimmf 1 3\nvalue 0 input 960\nvalue 1 output 960\n"
				"op MULTIPLY v0:float64[10,12] i1:float64~ -> v1:float64[10,12]\n");
	struct nest c = spec_of("immf 0 2\nvalue 0 input 160\nvalue 1 output 80\n"
				"op MULTIPLY v0:float64[10:16] i0:float64~ -> v1:float64[10]\n");

	cr_assert(memcmp(&a, &c, sizeof a), "a strided walk is a fact of the kernel");
	cr_assert_eq(nest_bytes(&a), nest_bytes(&b));
	cr_assert_arr_eq(&a, &b, nest_bytes(&a));
}
