/* SPDX-License-Identifier: Apache-2.0 */
#include "../golden/plan_case.h"
#include "call/product.h"

Test(lower, operands_are_cast_to_the_loop_type)
{
	struct plan_case c = plan_case_good("immi 0 2\nvalue 0 input 10\nvalue 1 output 80\n"
					    "op DIVIDE v0:int8[10] i0:int64~ -> v1:float64[10]\n",
					    NULL);

	plan_case_code(&c, 0,
		       "%0 = load.i8 @0\n%1 = cast.i8>f64 %0\n%2 = scalar.i64 #0=imm0\n"
		       "%3 = cast.i64>f64 %2\n%4 = div.f64 %1 %3\nstore.f64 @1 %4\n");
	plan_case_free(&c);
}

Test(lower, where_takes_a_bool_and_the_common_type)
{
	struct plan_case c =
		plan_case_good("value 0 input 40\nvalue 1 input 80\nvalue 2 output 80\n"
			       "op WHERE v0:float32[10] v0:float32[10] v1:float64[10] -> "
			       "v2:float64[10]\n",
			       NULL);

	plan_case_code(&c, 0,
		       "%0 = load.f32 @0\n%1 = cast.f32>b1 %0\n%2 = cast.f32>f64 %0\n"
		       "%3 = load.f64 @1\n%4 = where.f64 %1 %2 %3\nstore.f64 @2 %4\n");
	plan_case_free(&c);
}

Test(lower, small_integers_are_summed_in_int64)
{
	struct plan_case c = plan_case_good("value 0 input 20\nvalue 1 output 32\n"
					    "op SUM axes 2 v0:int8[4,5] -> v1:int64[4]\n",
					    NULL);
	const struct nest *n = plan_case_nest(&c, 0);

	cr_assert_eq(n->npar, 1);
	cr_assert_eq(n->nred, 1);
	cr_assert_eq(n->extent[1], 5);
	plan_case_code(&c, 0,
		       "%0 = load.i8 @0\n%1 = cast.i8>i64 %0\n%2 = reduce.sum.i64>i64 %1\n"
		       "post\nstore.i64 @1 %2\n");
	plan_case_free(&c);
}

Test(lower, a_reduction_over_one_element_keeps_a_loop)
{
	struct plan_case c = plan_case_good("value 0 input 32\nvalue 1 output 32\n"
					    "op ARGMAX axes 2 v0:float64[4,1] -> v1:int64[4]\n",
					    NULL);
	const struct nest *n = plan_case_nest(&c, 0);

	cr_assert_eq(n->nred, 1);
	cr_assert_eq(n->extent[1], 1);
	plan_case_free(&c);
}

Test(lower, empty_results_need_no_step_but_empty_sums_do)
{
	struct plan_case c = plan_case_good("value 0 input 0\nvalue 1 output 0\nvalue 2 output 32\n"
					    "op NEGATIVE v0:float64[4,0] -> v1:float64[4,0]\n"
					    "op SUM axes 2 v0:float64[4,0] -> v2:float64[4]\n",
					    NULL);

	cr_assert_eq(c.plan->nstep, 1);
	cr_assert_eq(nest_reduced(plan_case_nest(&c, 0)), 0);
	cr_assert_eq(nest_parallel(plan_case_nest(&c, 0)), 4);
	plan_case_free(&c);
}

Test(lower, floating_products_of_matrices_go_to_the_library)
{
	struct plan_case c = plan_case_good(
		"value 0 input 192\nvalue 1 input 160\nvalue 2 output 240\n"
		"op MATMUL v0:float64[2,3,4] v1:float64[4:8,5:32] -> v2:float64[2,3,5]\n",
		NULL);
	struct product of, *m = &of;

	cr_assert_eq(c.plan->step[0].kind, STEP_CALL);
	product_of(m, c.plan->step[0].call);
	cr_assert_eq(m->nbatch, 1);
	cr_assert_eq(m->batch[0], 2);
	cr_assert(m->m == 3 && m->n == 5 && m->k == 4);
	cr_assert(m->row[0] == 32 && m->col[0] == 8);
	cr_assert(m->row[1] == 8 && m->col[1] == 32);
	cr_assert(m->step[0][0] == 96 && m->step[1][0] == 0 && m->step[2][0] == 120);
	plan_case_free(&c);
}

Test(lower, a_vector_with_a_matrix_that_lies_across_is_a_row_of_a_library_product)
{
	static const char *const op[] = {
		"op MATMUL v0:float64[300] v1:float64[300,200] -> v2:float64[200]\n",
		"op MATMUL v1:float64[200:8,300:1600] v0:float64[300] -> v2:float64[200]\n"};

	for (int i = 0; i < 2; i++) {
		char text[256];
		struct plan_case c;
		struct product of, *m = &of;

		snprintf(text, sizeof text,
			 "value 0 input 2400\nvalue 1 input 480000\nvalue 2 output 1600\n%s",
			 op[i]);
		c = plan_case_good(text, NULL);
		cr_assert_eq(c.plan->step[0].kind, STEP_CALL);
		product_of(m, c.plan->step[0].call);
		cr_assert(m->m == 1 && m->n == 200 && m->k == 300);
		cr_assert(m->col[0] == 8 && m->col[1] == 8 && m->row[1] == 1600 && m->col[2] == 8);
		plan_case_free(&c);
	}
}

Test(lower, a_vector_with_a_matrix_that_lies_along_is_a_sum)
{
	struct plan_case c =
		plan_case_good("value 0 input 2400\nvalue 1 input 480000\nvalue 2 output 1600\n"
			       "op MATMUL v1:float64[200,300] v0:float64[300] -> v2:float64[200]\n",
			       NULL);

	cr_assert_eq(c.plan->step[0].kind, STEP_KERNEL);
	plan_case_free(&c);
}

Test(lower, many_short_rows_with_a_vector_are_a_step)
{
	struct plan_case c =
		plan_case_good("value 0 input 160\nvalue 1 input 320000\nvalue 2 output 16000\n"
			       "op MATMUL v1:float64[2000,20] v0:float64[20] -> v2:float64[2000]\n",
			       NULL);
	struct product of, *m = &of;

	cr_assert_eq(c.plan->step[0].kind, STEP_CALL);
	product_of(m, c.plan->step[0].call);
	cr_assert(m->m == 1 && m->n == 2000 && m->k == 20);
	cr_assert(m->col[0] == 8 && m->row[1] == 8 && m->col[1] == 160);
	plan_case_free(&c);
	/* Of a vector with gaps, or of few, it is a sum. */
	c = plan_case_good("value 0 input 320\nvalue 1 input 320000\nvalue 2 output 16000\n"
			   "op MATMUL v1:float64[2000,20] v0:float64[20:16] -> v2:float64[2000]\n",
			   NULL);
	cr_assert_eq(c.plan->step[0].kind, STEP_KERNEL);
	plan_case_free(&c);
	c = plan_case_good("value 0 input 160\nvalue 1 input 160000\nvalue 2 output 8000\n"
			   "op MATMUL v1:float64[1000,20] v0:float64[20] -> v2:float64[1000]\n",
			   NULL);
	cr_assert_eq(c.plan->step[0].kind, STEP_KERNEL);
	plan_case_free(&c);
}

Test(lower, integer_products_wrap_in_their_type)
{
	struct plan_case c = plan_case_good("value 0 input 6\nvalue 1 input 3\nvalue 2 output 2\n"
					    "op MATMUL v0:int8[2,3] v1:int8[3] -> v2:int8[2]\n",
					    NULL);

	plan_case_code(&c, 0,
		       "%0 = load.i8 @0\n%1 = load.i8 @1\n%2 = mul.i8 %0 %1\n"
		       "%3 = cast.i8>i64 %2\n%4 = reduce.sum.i64>i64 %3\npost\n"
		       "%5 = cast.i64>i8 %4\nstore.i8 @2 %5\n");
	plan_case_free(&c);
}

Test(lower, overlapping_assignment_reads_before_it_writes)
{
	struct plan_case c = plan_case_good("value 0 input 80\nvalue 1 output 80 prev 0 take\n"
					    "op ASSIGN v0:float64[9] -> v1:float64+8[9]\n",
					    NULL);

	cr_assert_eq(c.plan->nstep, 2);
	cr_assert_eq(c.plan->step[0].tears, 0);
	cr_assert_eq(c.plan->step[1].tears, 1);
	plan_case_free(&c);
	c = plan_case_good("value 0 input 80\nvalue 1 output 80 prev 0 take\n"
			   "op ASSIGN v0:float64[5:16] -> v1:float64+8[5:16]\n",
			   NULL);
	cr_assert_eq(c.plan->nstep, 1, "interleaved elements never meet");
	plan_case_free(&c);
}

Test(lower, untaken_versions_are_copied_unless_covered_or_undefined)
{
	struct plan_case c = plan_case_good("immi 0 1\nvalue 0 input 80\nvalue 1 output 80 prev 0\n"
					    "op ASSIGN i0:int64~ -> v1:float64[4]\n",
					    NULL);

	cr_assert_eq(c.plan->nstep, 2);
	cr_assert_neq(c.plan->value_slot[0], c.plan->value_slot[1]);
	plan_case_free(&c);
	c = plan_case_good("immi 0 1\nvalue 0 input 80\nvalue 1 output 80 prev 0\n"
			   "op ASSIGN i0:int64~ -> v1:float64[10]\n",
			   NULL);
	cr_assert_eq(c.plan->nstep, 1);
	plan_case_free(&c);
	c = plan_case_good("immi 0 1\nvalue 0 output 80 undefined\nvalue 1 output 80 prev 0\n"
			   "op EMPTY as float64 -> v0:float64[10]\n"
			   "op ASSIGN i0:int64~ -> v1:float64[4]\n",
			   NULL);
	cr_assert_eq(c.plan->nstep, 1);
	plan_case_free(&c);
}

Test(lower, a_store_to_one_place_twice_is_refused)
{
	struct plan_case c = plan_case_make("immi 0 1\nvalue 0 input 80\nvalue 1 output 80 prev 0 "
					    "take\nop ASSIGN i0:int64~ -> v1:float64[4:0]\n",
					    NULL);

	cr_assert_null(c.plan);
	cr_assert_eq(c.err.code, E_UNSUPPORTED);
	plan_case_free(&c);
}

Test(lower, unlike_types_in_the_partition_are_an_internal_error)
{
	struct plan_case c = plan_case_make("value 0 input 80\nvalue 1 output 40\n"
					    "op SQRT v0:float64[10] -> v1:float32[10]\n",
					    NULL);

	cr_assert_null(c.plan);
	cr_assert_eq(c.err.code, E_INTERNAL);
	plan_case_free(&c);
}
