/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/f16.h - conversions of every float16, ties and ends of the range, against
 * proto/float16.h; every instruction set gives the same bits, with 8 lanes and 16. */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "float16.h"
#include "loops/isa.h"
#include "loops/tier0_ops.h"

#define HALVES 65536
#define NEAR   (7 * 0x7c00) /* numbers around each tie, of both signs */

static const struct tier0_isa *const isas[ISA_END] = {&tier0_isa_v2, &tier0_isa_v3, &tier0_isa_v4};
static uint16_t half[HALVES], narrow[2 * NEAR], other[2 * NEAR];
static float single[2 * NEAR];
static double wide[2 * NEAR];

static void every_half(void)
{
	for (unsigned h = 0; h < HALVES; h++)
		half[h] = (uint16_t)h;
}

/* Doubles at, beside and between neighbouring numbers, then the same below 0. */
static void near_every_tie(void)
{
	for (unsigned h = 0; h < 0x7c00; h++) {
		double low = float16_value((uint16_t)h), tie;
		double *at = wide + 7 * h;

		tie = (low + (h == 0x7bff ? 65536 : float16_value((uint16_t)(h + 1)))) / 2;
		at[0] = low;
		at[1] = tie;
		at[2] = nextafter(tie, 0);
		at[3] = nextafter(tie, INFINITY);
		/* float32 rounds these to the tie: rounded twice, they would be wrong. */
		at[4] = tie * (1 - 0x1p-30);
		at[5] = tie * (1 + 0x1p-30);
		at[6] = ldexp(tie, (int)(h % 300) - 100);
	}
	for (int i = 0; i < NEAR; i++)
		wide[NEAR + i] = -wide[i];
}

static void cast(int level, unsigned from, unsigned to, void *dst, const void *src, int64_t n)
{
	isas[level]->cast[from][to](dst, src, src, src, n);
}

Test(f16, every_half_as_a_float_and_back)
{
	every_half();
	for (int level = 0; level <= (int)isa_best(); level++) {
		cast(level, DT_FLOAT16, DT_FLOAT32, single, half, HALVES);
		cast(level, DT_FLOAT16, DT_FLOAT64, wide, half, HALVES);
		cast(level, DT_FLOAT32, DT_FLOAT16, narrow, single, HALVES);
		cast(level, DT_FLOAT64, DT_FLOAT16, other, wide, HALVES);
		for (unsigned h = 0; h < HALVES; h++) {
			double v = float16_value((uint16_t)h);
			bool nan = (h & 0x7fff) > 0x7c00;

			cr_assert(nan ? isnan(single[h]) && isnan(wide[h])
				      : single[h] == v && wide[h] == v,
				  "%#x", h);
			cr_assert_eq(narrow[h], nan ? h | 0x200 : h, "%#x", h);
			cr_assert_eq(other[h], nan ? h | 0x200 : h, "%#x", h);
		}
	}
}

Test(f16, doubles_and_floats_are_rounded_once)
{
	near_every_tie();
	for (int i = 0; i < 2 * NEAR; i++)
		single[i] = (float)wide[i];
	for (int level = 0; level <= (int)isa_best(); level++) {
		cast(level, DT_FLOAT64, DT_FLOAT16, narrow, wide, 2 * NEAR);
		cast(level, DT_FLOAT32, DT_FLOAT16, other, single, 2 * NEAR);
		for (int i = 0; i < 2 * NEAR; i++) {
			cr_assert_eq(narrow[i], float16_bits(wide[i]), "%a", wide[i]);
			cr_assert_eq(other[i], float16_bits(single[i]), "%a", (double)single[i]);
		}
	}
}

Test(f16, numbers_beyond_every_half)
{
	static const double v[16] = {65520,   65519.999, 1e300,	  -1e300,   INFINITY, -INFINITY,
				     0x1p-25, 5e-324,	 -5e-324, 0x1p-149, 0x1p-150, 3.4e38,
				     -3.5e38, 0x1p127,	 NAN,	  -0.0};
	static const int64_t i[16] = {65519, 65520, -65520, 1 << 24, INT64_MIN, INT64_MAX,
				      2049,  2051,  -2049,  0,	     1,		-1,
				      4097,  32770, 0,	    0};

	for (int level = 0; level <= (int)isa_best(); level++) {
		cast(level, DT_FLOAT64, DT_FLOAT16, narrow, v, 16);
		cast(level, DT_INT64, DT_FLOAT16, other, i, 16);
		for (int k = 0; k < 16; k++) {
			cr_assert_eq(narrow[k], float16_bits(v[k]), "%a", v[k]);
			cr_assert_eq(other[k], float16_bits((double)i[k]), "%lld", (long long)i[k]);
		}
	}
}

/* Every operation on the lowest level, which converts by integers, and on the others,
 * which have instructions for it. */
Test(f16, every_instruction_set_has_the_same_bits)
{
	/* Functions differ: each level has the library's routines for its vectors. */
	static const uint8_t exact[] = {
		OP_ADD,	       OP_SUBTRACT,    OP_MULTIPLY, OP_DIVIDE,	  OP_SQRT,  OP_SQUARE,
		OP_RECIPROCAL, OP_SIGN,	       OP_NEGATIVE, OP_ABSOLUTE,  OP_FLOOR, OP_RINT,
		OP_MINIMUM,    OP_MAXIMUM,     OP_FMIN,	    OP_COPYSIGN,  OP_LESS,  OP_EQUAL,
		OP_NEXTAFTER,  OP_HEAVISIDE,   OP_FMOD,	    OP_REMAINDER, OP_CLIP,  OP_ISNAN,
		OP_ISINF,      OP_FLOOR_DIVIDE};

	every_half();
	for (int h = 0; h < HALVES; h++)
		other[h] = (uint16_t)((unsigned)h * 40503u >> 3);
	for (int level = 1; level <= (int)isa_best(); level++)
		for (size_t k = 0; k < sizeof exact; k++) {
			static char want[HALVES * 2], got[HALVES * 2];

			isas[0]->op[exact[k]][DT_FLOAT16](want, (char *)half, (char *)other,
							  (char *)half, HALVES);
			isas[level]->op[exact[k]][DT_FLOAT16](got, (char *)half, (char *)other,
							      (char *)half, HALVES);
			cr_assert(!memcmp(want, got, sizeof want), "%s at level %d",
				  op_row(exact[k])->id, level);
		}
}

Test(f16, nextafter_goes_through_every_number)
{
	uint16_t up[16], top[16], bottom[16], down[16];

	for (int k = 0; k < 16; k++) {
		top[k] = 0x7c00;
		bottom[k] = 0xfc00;
	}
	every_half();
	for (int level = 0; level <= (int)isa_best(); level++)
		for (unsigned h = 0; h < 0x7c00; h += 16) {
			tier0_fn *next = isas[level]->op[OP_NEXTAFTER][DT_FLOAT16];

			next((char *)up, (char *)(half + h), (char *)top, (char *)top, 16);
			for (unsigned k = 0; k < 16; k++)
				cr_assert_eq(up[k], h + k + 1);
			next((char *)down, (char *)up, (char *)bottom, (char *)top, 16);
			cr_assert(!memcmp(down, half + h, sizeof down));
			next((char *)up, (char *)up, (char *)up, (char *)up, 16);
			cr_assert_eq(up[3], h + 4, "towards itself");
		}
	half[0] = 0;
	isas[0]->op[OP_NEXTAFTER][DT_FLOAT16]((char *)up, (char *)half, (char *)bottom, (char *)top,
					      16);
	cr_assert_eq(up[0], 0x8001, "below 0");
	half[0] = 0x8001;
	isas[0]->op[OP_NEXTAFTER][DT_FLOAT16]((char *)up, (char *)half, (char *)top, (char *)top,
					      16);
	cr_assert_eq(up[0], 0x8000, "from below, 0 is negative");
}
