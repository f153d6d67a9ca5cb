/* SPDX-License-Identifier: Apache-2.0 */
#include "../golden/plan_case.h"

Test(simplify, equal_work_is_done_once)
{
	struct plan_case c = plan_case_good(
		"value 0 input 80\nvalue 1 input 80\nvalue 2 temp 80\nvalue 3 temp 80\n"
		"value 4 output 80\n"
		"op ADD v0:float64[10] v1:float64[10] -> v2:float64[10]\n"
		"op ADD v1:float64[10] v0:float64[10] -> v3:float64[10]\n"
		"op MULTIPLY v2:float64[10] v3:float64[10] -> v4:float64[10]\n",
		NULL);

	plan_case_code(&c, 0,
		       "%0 = load.f64 @0\n%1 = load.f64 @1\n%2 = add.f64 %0 %1\n"
		       "%3 = mul.f64 %2 %2\nstore.f64 @2 %3\n");
	plan_case_free(&c);
}

Test(simplify, double_negation_and_lossless_round_trips_vanish)
{
	struct plan_case c = plan_case_good(
		"value 0 input 40\nvalue 1 temp 40\nvalue 2 temp 40\nvalue 3 temp 80\n"
		"value 4 output 40\n"
		"op NEGATIVE v0:float32[10] -> v1:float32[10]\n"
		"op NEGATIVE v1:float32[10] -> v2:float32[10]\n"
		"op CAST as float64 v2:float32[10] -> v3:float64[10]\n"
		"op CAST as float32 v3:float64[10] -> v4:float32[10]\n",
		NULL);

	plan_case_code(&c, 0, "%0 = load.f32 @0\nstore.f32 @1 %0\n");
	cr_assert_eq(plan_case_nest(&c, 0)->width, 16);
	plan_case_free(&c);
}

Test(simplify, lossy_casts_and_products_with_zero_stay)
{
	struct plan_case c = plan_case_good(
		"immi 0 0\nvalue 0 input 80\nvalue 1 temp 40\nvalue 2 temp 80\nvalue 3 output 80\n"
		"op CAST as float32 v0:float64[10] -> v1:float32[10]\n"
		"op CAST as float64 v1:float32[10] -> v2:float64[10]\n"
		"op MULTIPLY v2:float64[10] i0:int64~ -> v3:float64[10]\n",
		NULL);

	plan_case_code(&c, 0,
		       "%0 = load.f64 @0\n%1 = cast.f64>f32 %0\n%2 = cast.f32>f64 %1\n"
		       "%3 = scalar.i64 #0=imm0\n%4 = cast.i64>f64 %3\n%5 = mul.f64 %2 %4\n"
		       "store.f64 @1 %5\n");
	plan_case_free(&c);
}

Test(simplify, scalars_of_equal_value_stay_apart)
{
	struct plan_case c = plan_case_good(
		"immf 0 2\nimmf 1 2\nvalue 0 input 80\nvalue 1 temp 80\nvalue 2 output 80\n"
		"op ADD v0:float64[10] i0:float64~ -> v1:float64[10]\n"
		"op MULTIPLY v1:float64[10] i1:float64~ -> v2:float64[10]\n",
		NULL);

	cr_assert_eq(plan_case_nest(&c, 0)->nscalar, 2);
	plan_case_free(&c);
}
