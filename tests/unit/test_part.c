/* SPDX-License-Identifier: Apache-2.0 */
#include "../golden/part_text.h"

#include <criterion/criterion.h>

static const char good[] = "value 0 input 96\nvalue 1 temp 32\nvalue 2 output 96 prev 0 take\n"
			   "imm 0 4004000000000000 0\n"
			   "op MULTIPLY v0:float64+64[4:-8] i0:float64~ -> v1:float64+0[4:8]\n"
			   "op ASSIGN v1:float64+0[4:8] -> v2:float64+8[4:16]\n";

static void round_trips(const char *wanted)
{
	struct part p = part_text_read(wanted);
	char text[1024];
	struct err err;

	cr_assert_eq(part_check(&p, &err), OK, "%s", err.text);
	cr_assert_eq(part_print(text, sizeof text, &p), strlen(wanted));
	cr_assert_str_eq(text, wanted);
	part_text_free(&p);
}

Test(part, text_round_trips)
{
	round_trips(good);
}

static void refused(const char *text, enum status code, const char *word)
{
	struct part p = part_text_read(text);
	struct err err = {0};

	cr_assert_eq(part_check(&p, &err), code, "%s accepted (%s)", text, err.text);
	cr_assert(strstr(err.text, word), "\"%s\" lacks \"%s\"", err.text, word);
	part_text_free(&p);
}

Test(part, bad_partitions_are_refused)
{
	refused("value 0 input 80\nvalue 1 output 80\n"
		"op SQRT v0:float64+8[10] -> v1:float64[10]\n",
		E_INDEX, "touches");
	refused("value 0 input 80\nvalue 1 output 80\n"
		"op SQRT v0:float64[7] -> v1:float64[10]\n",
		E_SHAPE, "");
	refused("value 0 input 80\nvalue 1 output 80\n"
		"op SQRT v0:float64[10] -> v1:float64+72[10:-8]\n",
		E_INTERNAL, "fresh");
	refused("value 0 input 80\nvalue 1 temp 80\nvalue 2 output 80\n"
		"op SQRT v1:float64[10] -> v2:float64[10]\n",
		E_INTERNAL, "too early");
	refused("value 0 input 80\nop SQRT v0:float64[10] -> v0:float64[10]\n", E_INTERNAL,
		"again");
	refused("value 0 input 80\nvalue 1 output 80\nop SQRT i0:float64 -> v1:float64[10]\n",
		E_INTERNAL, "immediate");
	refused("value 0 input 80\nvalue 1 output 8\n"
		"op SUM axes 2 v0:float64[10] -> v1:float64[]\n",
		E_AXIS, "");
	refused("value 0 input 80\nvalue 1 output 80\nvalue 2 output 40 prev 0\n"
		"op SQRT v0:float64[10] -> v1:float64[10]\n"
		"op ASSIGN v1:float64[5] -> v2:float64[5]\n",
		E_INTERNAL, "another size");
	refused("value 0 input 80\nvalue 1 output 80\n", E_INTERNAL, "nothing makes");
}

static const char taken[] = "value 0 input 800\nvalue 1 input 24\nvalue 2 temp 24\n"
			    "value 3 output 24\nimm 0 64 0\n"
			    "op INDEX axis 2 v1:int64+0[3:8] i0:int64 -> v2:int64+0[3:8]\n"
			    "op TAKE v0:float64+0[100:8] v2:int64+0[3:8] -> v3:float64+0[3:8]\n";

Test(part, gathers_round_trip_and_are_checked)
{
	struct part p = part_text_read(taken);
	char text[1024];
	struct err err;

	cr_assert_eq(part_check(&p, &err), OK, "%s", err.text);
	cr_assert_eq(part_print(text, sizeof text, &p), strlen(taken));
	cr_assert_str_eq(text, taken);
	p.op[0].dtype = LIMIT_NDIM;
	cr_assert_eq(part_check(&p, &err), E_INTERNAL);
	part_text_free(&p);
	refused("value 0 input 80\nvalue 1 input 24\nvalue 2 output 24\n"
		"op TAKE v0:float64[0] v1:int64[3] -> v2:float64[3]\n",
		E_INTERNAL, "empty axis");
	refused("value 0 input 80\nvalue 1 input 24\nvalue 2 output 24\n"
		"op TAKE v0:float64[] v1:int64[3] -> v2:float64[3]\n",
		E_INTERNAL, "no array");
	refused("value 0 input 80\nvalue 1 input 24\nvalue 2 output 24\n"
		"op TAKE v0:float64[11] v1:int64[3] -> v2:float64[3]\n",
		E_INDEX, "touches");
	refused("value 0 input 80\nvalue 1 input 24\nvalue 2 output 24\n"
		"op TAKE v0:float64[2,5] v1:int64[3] -> v2:float64[3]\n",
		E_SHAPE, "");
	refused("value 0 input 24\nvalue 1 input 24\nvalue 2 output 24\n"
		"op INDEX v0:int64[3] v1:int64[3] -> v2:int64[3]\n",
		E_INTERNAL, "index");
}

Test(part, searches_round_trip_and_are_checked)
{
	static const char found[] =
		"value 0 input 80\nvalue 1 input 24\nvalue 2 output 24\n"
		"op SEARCH_LEFT v0:float64+0[10:8] v1:float64+0[3:8] -> v2:int64+0[3:8]\n";

	round_trips(found);
	refused("value 0 input 80\nvalue 1 input 24\nvalue 2 output 24\n"
		"op SEARCH_LEFT v0:float64[0] v1:float64[3] -> v2:int64[3]\n",
		E_INTERNAL, "search");
	refused("value 0 input 80\nvalue 1 input 24\nvalue 2 output 24\n"
		"op SEARCH_LEFT v0:float64[10] v1:int64[3] -> v2:int64[3]\n",
		E_INTERNAL, "search");
	refused("value 0 input 80\nvalue 1 input 24\nvalue 2 output 24\n"
		"op SEARCH_RIGHT v0:float64[10] v1:float64[3] -> v2:float64[3]\n",
		E_INTERNAL, "search");
	refused("value 0 input 80\nvalue 1 input 24\nvalue 2 output 24\n"
		"op SEARCH_RIGHT v0:float64[2,5] v1:float64[3] -> v2:int64[3]\n",
		E_INTERNAL, "search");
	refused("value 0 input 80\nvalue 1 input 24\nvalue 2 output 16\n"
		"op SEARCH_RIGHT v0:float64[10] v1:float64[3] -> v2:int64[2]\n",
		E_INTERNAL, "search");
	refused("value 0 input 80\nvalue 1 input 24\nvalue 2 output 24\n"
		"op INTERP v0:float64[10] v1:float64[3] v1:float64[3] -> v2:float64[3]\n",
		E_INTERNAL, "search");
	refused("value 0 input 8\nvalue 1 input 24\nvalue 2 output 24\n"
		"op INTERP v0:float64[1] v1:float64[3] v0:float64[1] -> v2:float64[3]\n",
		E_INTERNAL, "search");
	refused("value 0 input 80\nvalue 1 output 80\nimm 0 0 0\n"
		"op SEARCH_RIGHT v0:float64[10] i0:float64 -> v1:int64[10]\n",
		E_INTERNAL, "number");
}

Test(part, sparse_products_round_trip_and_are_checked)
{
	static const char made[] =
		"value 0 input 32\nvalue 1 input 32\nvalue 2 input 48\nvalue 3 output 48\n"
		"op SPARSE v0:float64+0[4:8] v1:int32+0[8:4] v2:float64+0[2:8,3:16] -> "
		"v3:float64+0[3:16,2:8]\n";
	static const char right[] =
		"value 0 input 32\nvalue 1 input 32\nvalue 2 input 48\nvalue 3 output 48\n"
		"op SPARSE v0:float64[4] v1:int32[8] v2:float64[3,2] -> v3:float64[3,2]\n";
	struct part p = part_text_read(right);
	struct err err;

	cr_assert_eq(part_check(&p, &err), OK, "%s", err.text);
	part_text_free(&p);
	refused(made, E_INTERNAL, "sparse");
	refused("value 0 input 32\nvalue 1 input 32\nvalue 2 input 24\nvalue 3 output 24\n"
		"op SPARSE v0:float64[4] v1:float32[8] v2:float64[3] -> v3:float64[3]\n",
		E_INTERNAL, "sparse");
	refused("value 0 input 32\nvalue 1 input 32\nvalue 2 input 24\nvalue 3 output 32\n"
		"op SPARSE v0:float64[4] v1:int32[8] v2:float64[3] -> v3:float64[4]\n",
		E_INTERNAL, "sparse");
	refused("value 0 input 32\nvalue 1 input 32\nvalue 2 input 24\nvalue 3 output 24\n"
		"op SPARSE v0:float64[4] v1:int32+4[4:4] v2:float64[3] -> v3:float64[3]\n",
		E_INTERNAL, "sparse");
	refused("value 0 input 32\nvalue 1 input 32\nvalue 2 input 24\nvalue 3 output 24\nimm 0 0 "
		"0\n"
		"op SPARSE v0:float64[4] v1:int32[8] i0:float64 -> v3:float64[3]\n",
		E_INTERNAL, "number");
	refused("value 0 input 16\nvalue 1 input 32\nvalue 2 input 24\nvalue 3 output 24\n"
		"op SPARSE v0:float64[2:0] v1:int32[8] v2:float64[3] -> v3:float64[5]\n",
		E_INDEX, "");
}

Test(part, transforms_round_trip_and_are_checked)
{
	static const char made[] =
		"value 0 input 96\nvalue 1 output 128\n"
		"op RFFT axes 2 v0:float64+0[2:48,6:8] -> v1:complex128+0[2:64,4:16]\n";

	round_trips(made);
	refused("value 0 input 96\nvalue 1 output 96\n"
		"op RFFT axes 2 v0:float64[2,6] -> v1:complex128[2,3]\n",
		E_INTERNAL, "extents");
	refused("value 0 input 96\nvalue 1 output 96\n"
		"op FFT axes 3 v0:complex128[2,3] -> v1:complex128[2,3]\n",
		E_INTERNAL, "axis");
	refused("value 0 input 96\nvalue 1 output 96\n"
		"op FFT axes 4 v0:complex128[2,3] -> v1:complex128[2,3]\n",
		E_INTERNAL, "axis");
	refused("value 0 input 96\nvalue 1 output 96\n"
		"op FFT axes 2 v0:complex128[2,3] -> v1:complex128[3,2]\n",
		E_INTERNAL, "extents");
	refused("value 0 input 96\nvalue 1 output 96\n"
		"op IRFFT axes 2 v0:complex128[2,3] -> v1:float64[2,6]\n",
		E_INTERNAL, "extents");
}

Test(part, factors_round_trip_and_are_checked)
{
	static const char made[] = "value 0 input 96\nvalue 1 output 192\n"
				   "op SOLVER axes 0 v0:float64+0[3:32,2:16,2:8] -> "
				   "v1:float64+0[3:64,8:8]\n";

	round_trips(made);
	refused("value 0 input 96\nvalue 1 output 192\n"
		"op SOLVER axes 11 v0:float64[3,2,2] -> v1:float64[3,8]\n",
		E_INTERNAL, "extents");
	refused("value 0 input 96\nvalue 1 output 168\n"
		"op SOLVER axes 0 v0:float64[3,2,2] -> v1:float64[3,7]\n",
		E_INTERNAL, "extents");
	refused("value 0 input 96\nvalue 1 output 192\n"
		"op SOLVER axes 0 v0:float64[3,4] -> v1:float64[3,8]\n",
		E_INTERNAL, "axes");
	refused("value 0 input 96\nvalue 1 output 256\n"
		"op SOLVER axes 0 v0:float64[4,3,1] -> v1:float64[4,8]\n",
		E_INTERNAL, "extents");
}

Test(part, draws_round_trip_and_are_checked)
{
	static const char drawn[] =
		"value 0 input 64\nvalue 1 output 24\n"
		"op DRAW_UNIFORM as float64 v0:uint64+0[8:8] -> v1:float64+0[3:8]\n";

	round_trips(drawn);
	refused("value 0 input 64\nvalue 1 output 24\n"
		"op DRAW_UNIFORM as float64 v0:uint64[4] -> v1:float64[3]\n",
		E_INTERNAL, "no state");
}
