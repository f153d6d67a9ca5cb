/* SPDX-License-Identifier: Apache-2.0 */
#include "../golden/plan_case.h"

Test(collapse, contiguous_loops_join)
{
	struct plan_case c = plan_case_good("value 0 input 960\nvalue 1 output 960\n"
					    "op SQRT v0:float64[4,5,6] -> v1:float64[4,5,6]\n",
					    NULL);
	const struct nest *n = plan_case_nest(&c, 0);

	cr_assert_eq(n->npar, 1);
	cr_assert_eq(n->extent[0], 120);
	cr_assert_eq(n->access[0].walk, WALK_UNIT);
	cr_assert_eq(n->access[0].alone, 1);
	plan_case_free(&c);
}

Test(collapse, a_row_that_is_broadcast_keeps_two_loops)
{
	struct plan_case c =
		plan_case_good("value 0 input 960\nvalue 1 input 48\nvalue 2 output 960\n"
			       "op ADD v0:float64[4,5,6] v1:float64[6] -> v2:float64[4,5,6]\n",
			       NULL);
	const struct nest *n = plan_case_nest(&c, 0);

	cr_assert_eq(n->npar, 2);
	cr_assert(n->extent[0] == 20 && n->extent[1] == 6);
	plan_case_free(&c);
}

Test(collapse, column_major_arrays_run_along_their_unit_stride)
{
	struct plan_case c = plan_case_good(
		"value 0 input 9600\nvalue 1 input 9600\nvalue 2 output 9600 prev 1 take\n"
		"op ASSIGN v0:float64[30:8,40:240] -> v2:float64[30:8,40:240]\n",
		NULL);
	const struct nest *n = plan_case_nest(&c, 0);

	cr_assert_eq(n->npar, 1);
	cr_assert_eq(n->extent[0], 1200);
	cr_assert_eq(n->access[1].walk, WALK_UNIT);
	plan_case_free(&c);
}

Test(collapse, reduced_loops_keep_their_order)
{
	struct plan_case c =
		plan_case_good("value 0 input 9600\nvalue 1 output 8\n"
			       "op SUM axes 3 v0:float64[30:8,40:240] -> v1:float64[]\n",
			       NULL);
	const struct nest *n = plan_case_nest(&c, 0);

	cr_assert_eq(n->nred, 2);
	cr_assert(n->extent[0] == 30 && n->extent[1] == 40);
	plan_case_free(&c);
	c = plan_case_good("value 0 input 9600\nvalue 1 output 8\n"
			   "op SUM axes 3 v0:float64[30,40] -> v1:float64[]\n",
			   NULL);
	n = plan_case_nest(&c, 0);
	cr_assert_eq(n->nred, 1);
	cr_assert_eq(n->extent[0], 1200);
	plan_case_free(&c);
}

Test(collapse, vectors_run_along_the_long_unit_stride)
{
	struct plan_case rows =
		plan_case_good("value 0 input 80000\nvalue 1 output 800\n"
			       "op SUM axes 2 v0:float64[100,100] -> v1:float64[100]\n",
			       NULL);
	struct plan_case cols =
		plan_case_good("value 0 input 80000\nvalue 1 output 800\n"
			       "op SUM axes 1 v0:float64[100,100] -> v1:float64[100]\n",
			       NULL);
	struct plan_case thin =
		plan_case_good("value 0 input 24000\nvalue 1 output 8000\n"
			       "op SUM axes 2 v0:float64[1000,3] -> v1:float64[1000]\n",
			       NULL);

	cr_assert_eq(plan_case_nest(&rows, 0)->vec, 1);
	cr_assert_eq(plan_case_nest(&cols, 0)->vec, 0);
	cr_assert_eq(plan_case_nest(&thin, 0)->vec, 0);
	plan_case_free(&rows);
	plan_case_free(&cols);
	plan_case_free(&thin);
}

Test(collapse, shifted_reads_are_not_alone_and_scalars_do_not_halve_the_width)
{
	struct plan_case c = plan_case_good(
		"imm 0 40000000 0\nvalue 0 input 400\nvalue 1 temp 396\nvalue 2 output 396\n"
		"op ADD v0:float32[99] v0:float32+4[99] -> v1:float32[99]\n"
		"op MULTIPLY v1:float32[99] i0:float32 -> v2:float32[99]\n",
		NULL);
	const struct nest *n = plan_case_nest(&c, 0);

	cr_assert_eq(n->access[0].alone, 0);
	cr_assert_eq(n->access[1].alone, 0);
	cr_assert_eq(n->access[2].alone, 1);
	cr_assert_eq(n->width, 16);
	plan_case_free(&c);
}

/* 16 lanes have no functions for it: such a kernel would not compile. */
Test(collapse, a_wide_value_that_only_scalars_make_halves_the_width)
{
	struct plan_case c =
		plan_case_good("immi 0 5\nimmi 1 3\nvalue 0 temp 792\nvalue 1 output 99\n"
			       "op FULL as int64 i0:int64 -> v0:int64[99]\n"
			       "op GREATER v0:int64[99] i1:int64 -> v1:bool[99]\n",
			       NULL);

	plan_case_code(&c, 0,
		       "%0 = scalar.i64 #0=imm0\n%1 = scalar.i64 #1=imm1\n"
		       "%2 = gt.i64>b1 %0 %1\nstore.b1 @0 %2\n");
	cr_assert_eq(plan_case_nest(&c, 0)->width, 8);
	plan_case_free(&c);
}

Test(collapse, an_indexed_loop_is_left_alone)
{
	struct plan_case c =
		plan_case_good("immi 0 5\nimmi 1 3\nvalue 0 output 96\n"
			       "op ARANGE as int64 i0:int64~ i1:int64~ -> v0:int64[12]\n",
			       NULL);

	plan_case_code(&c, 0,
		       "%0 = scalar.i64 #0=imm0\n%1 = scalar.i64 #1=imm1\n%2 = index.i64 loop0\n"
		       "%3 = mul.i64 %2 %1\n%4 = add.i64 %0 %3\nstore.i64 @0 %4\n");
	plan_case_free(&c);
}
