/* SPDX-License-Identifier: Apache-2.0 */
/* bfloat16: its numbers against arithmetic on bits, its types against what ml_dtypes says, and the
 * loops that stand for it. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "../golden/plan_case.h"
#include "float16.h"
#include "imm.h"
#include "loops/isa.h"
#include "loops/tier0_ops.h"

#define ALL 65536

static const struct tier0_isa *const isas[ISA_END] = {&tier0_isa_v2, &tier0_isa_v3, &tier0_isa_v4};

static uint16_t brain[ALL], back[ALL];
static float single[ALL];
static double wide[ALL];

/* The bits of the one next to a float, by its neighbours. */
static uint16_t nearest(float x)
{
	uint32_t bits, low;
	double lower, upper, d = (double)x;

	memcpy(&bits, &x, sizeof bits);
	if (isnan(x))
		return (uint16_t)(bits >> 31 << 15 | 0x7fc0);
	low = bits >> 16;
	lower = bfloat16_value((uint16_t)low);
	upper = bfloat16_value((uint16_t)(low + 1));
	if ((low & 0x7fff) == 0x7f7f) /* behind the greatest: as if there were another one */
		upper = copysign(0x1p128, d);
	if (fabs(d - lower) != fabs(upper - d))
		return (uint16_t)(fabs(d - lower) < fabs(upper - d) ? low : low + 1);
	return (uint16_t)(low & 1 ? low + 1 : low);
}

Test(bfloat16, every_number_there_and_back)
{
	for (int level = 0; level <= (int)isa_best(); level++) {
		for (unsigned i = 0; i < ALL; i++)
			brain[i] = (uint16_t)i;
		isas[level]->cast[DT_BFLOAT16][DT_FLOAT32]((char *)single, (char *)brain, NULL,
							   NULL, ALL);
		isas[level]->cast[DT_BFLOAT16][DT_FLOAT64]((char *)wide, (char *)brain, NULL, NULL,
							   ALL);
		for (unsigned i = 0; i < ALL; i++) {
			double v = bfloat16_value((uint16_t)i);
			uint32_t bits;

			memcpy(&bits, &single[i], sizeof bits);
			cr_assert_eq(bits, (uint32_t)i << 16);
			cr_assert(isnan(v) ? isnan(wide[i]) : v == wide[i], "%x", i);
		}
		isas[level]->cast[DT_FLOAT32][DT_BFLOAT16]((char *)back, (char *)single, NULL, NULL,
							   ALL);
		for (unsigned i = 0; i < ALL; i++)
			cr_assert_eq(back[i], isnan(single[i]) ? (i & 0x8000) | 0x7fc0 : i);
	}
}

/* Half-way between two and the float32 on either side of that; from float64 by way of float32. */
Test(bfloat16, rounds_to_nearest_even)
{
	for (unsigned part = 0x7fff; part <= 0x8001; part++) {
		for (unsigned i = 0; i < ALL; i++) {
			uint32_t bits = i << 16 | part;

			memcpy(&single[i], &bits, sizeof bits);
			wide[i] = (double)single[i];
		}
		for (int level = 0; level <= (int)isa_best(); level++) {
			isas[level]->cast[DT_FLOAT32][DT_BFLOAT16]((char *)back, (char *)single,
								   NULL, NULL, ALL);
			isas[level]->cast[DT_FLOAT64][DT_BFLOAT16]((char *)brain, (char *)wide,
								   NULL, NULL, ALL);
			for (unsigned i = 0; i < ALL; i++) {
				cr_assert_eq(back[i], nearest(single[i]), "%x %x", i, part);
				cr_assert_eq(brain[i], back[i]);
				cr_assert_eq(bfloat16_bits(wide[i]), back[i]);
			}
		}
	}
}

Test(bfloat16, immediates)
{
	uint64_t out[2], one[2] = {257, 0}, half[2] = {0x3fc0, 0};
	double d = 0;

	imm_cast(out, DT_BFLOAT16, one, DT_INT64);
	cr_assert_eq(out[0], 0x4380); /* 256: 257 lies between it and 258 */
	imm_cast(out, DT_FLOAT64, half, DT_BFLOAT16);
	memcpy(&d, out, sizeof d);
	cr_assert_eq(d, 1.5);
	imm_cast(out, DT_INT8, half, DT_BFLOAT16);
	cr_assert_eq(out[0], 1);
}

static void expect_types(unsigned op, struct op_arg a, struct op_arg b, unsigned in, unsigned out)
{
	struct op_arg arg[3] = {a, b};
	struct op_sig sig;
	struct err err;

	cr_assert_eq(op_infer(&sig, (enum op)op, arg, DTYPE_END, &err), OK, "%s: %s", op_text(op),
		     err.text);
	cr_assert(sig.in[0] == in && sig.out == out, "%s of %u: %u to %u", op_text(op), b.dtype,
		  sig.in[0], sig.out);
}

/* As NumPy has ml_dtypes' ufuncs take both; loops are those of other types. */
Test(bfloat16, types)
{
	static const uint8_t common[DTYPE_END] = {
		[DT_BOOL] = DT_BFLOAT16,	[DT_INT8] = DT_BFLOAT16,
		[DT_UINT8] = DT_BFLOAT16,	[DT_BFLOAT16] = DT_BFLOAT16,
		[DT_INT16] = DT_FLOAT32,	[DT_UINT16] = DT_FLOAT32,
		[DT_FLOAT16] = DT_FLOAT32,	[DT_FLOAT32] = DT_FLOAT32,
		[DT_INT32] = DT_FLOAT64,	[DT_UINT32] = DT_FLOAT64,
		[DT_INT64] = DT_FLOAT64,	[DT_UINT64] = DT_FLOAT64,
		[DT_FLOAT64] = DT_FLOAT64,	[DT_COMPLEX64] = DT_COMPLEX64,
		[DT_COMPLEX128] = DT_COMPLEX128};
	const struct op_arg x = {DT_BFLOAT16, false};

	for (unsigned d = 0; d < DTYPE_END; d++) {
		const struct op_arg y = {(uint8_t)d, false};
		unsigned in = common[d] == DT_BFLOAT16 ? DT_FLOAT32 : common[d];

		expect_types(OP_ADD, x, y, in, common[d]);
		expect_types(OP_DIVIDE, y, x, in, common[d]);
		expect_types(OP_LESS, x, y, in, DT_BOOL);
		if (dtype_row(d)->cls != CLASS_COMPLEX)
			expect_types(OP_ARCTAN2, y, x, in, common[d]);
		expect_types(OP_MATMUL, x, y, in, in);
	}
	expect_types(OP_ADD, x, (struct op_arg){DT_INT64, true}, DT_FLOAT32, DT_BFLOAT16);
	expect_types(OP_ADD, x, (struct op_arg){DT_FLOAT64, true}, DT_FLOAT32, DT_FLOAT32);
	expect_types(OP_ADD, (struct op_arg){DT_COMPLEX128, true}, x, DT_COMPLEX64, DT_COMPLEX64);
	expect_types(OP_SQRT, x, x, DT_FLOAT32, DT_BFLOAT16);
	expect_types(OP_ISNAN, x, x, DT_FLOAT32, DT_BOOL);
	expect_types(OP_SUM, x, x, DT_FLOAT32, DT_BFLOAT16);
	expect_types(OP_ARGMAX, x, x, DT_FLOAT32, DT_INT64);
	expect_types(OP_LOGICAL_AND, x, x, DT_BOOL, DT_BOOL);
}

Test(bfloat16, what_it_has_not)
{
	static const unsigned none[] = {OP_SORT,   OP_ARGSORT,	  OP_CUMSUM,	 OP_CUMMAX,
					OP_CLIP,   OP_SIGN,	  OP_NEXTAFTER,	 OP_RADIANS,
					OP_UNWRAP, OP_FFT,	  OP_CHOSEN_SUM, OP_SEARCH_LEFT,
					OP_INVERT, OP_BITWISE_AND};
	const struct op_arg arg[3] = {{DT_BFLOAT16}, {DT_BFLOAT16}, {DT_BFLOAT16}};
	struct op_sig sig;
	struct err err;

	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		cr_assert_neq(op_infer(&sig, (enum op)none[i], arg, DTYPE_END, &err), OK, "%s",
			      op_text(none[i]));
	cr_assert_neq(op_infer(&sig, OP_ARANGE, arg, DT_BFLOAT16, &err), OK);
}

Test(bfloat16, is_float32_between_casts)
{
	struct plan_case c =
		plan_case_good("immi 0 2\nvalue 0 input 20\nvalue 1 temp 20\nvalue 2 output 20\n"
			       "op MULTIPLY v0:bfloat16[10] v0:bfloat16[10] -> v1:bfloat16[10]\n"
			       "op ADD v1:bfloat16[10] v0:bfloat16[10] -> v2:bfloat16[10]\n",
			       NULL);

	plan_case_code(&c, 0,
		       "%0 = load.bf16 @0\n%1 = cast.bf16>f32 %0\n%2 = mul.f32 %1 %1\n"
		       "%3 = cast.f32>bf16 %2\n%4 = cast.bf16>f32 %3\n%5 = add.f32 %4 %1\n"
		       "%6 = cast.f32>bf16 %5\nstore.bf16 @1 %6\n");
	plan_case_free(&c);
}

/* Each loses what the other has. */
Test(bfloat16, is_no_float16)
{
	struct plan_case c =
		plan_case_good("value 0 input 20\nvalue 1 temp 20\nvalue 2 output 20\n"
			       "op CAST as float16 v0:bfloat16[10] -> v1:float16[10]\n"
			       "op CAST as bfloat16 v1:float16[10] -> v2:bfloat16[10]\n",
			       NULL);

	plan_case_code(&c, 0,
		       "%0 = load.bf16 @0\n%1 = cast.bf16>f16 %0\n%2 = cast.f16>bf16 %1\n"
		       "store.bf16 @1 %2\n");
	plan_case_free(&c);
}

Test(bfloat16, sums_are_rounded_once)
{
	struct plan_case c = plan_case_good("value 0 input 40\nvalue 1 output 8\n"
					    "op SUM axes 2 v0:bfloat16[4,5] -> v1:bfloat16[4]\n",
					    NULL);

	plan_case_code(&c, 0,
		       "%0 = load.bf16 @0\n%1 = cast.bf16>f32 %0\n%2 = reduce.sum.f32>f32 %1\n"
		       "post\n%3 = cast.f32>bf16 %2\nstore.bf16 @1 %3\n");
	plan_case_free(&c);
}
