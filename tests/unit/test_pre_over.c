/* SPDX-License-Identifier: Apache-2.0 */
/* Quotients by one divisor have the bits of divisions: kernels/over.h.
 * Where the processor has x86-64-v3, built for it: without fused operations they are divisions. */
#include <criterion/criterion.h>

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define BZ_WIDTH 8
#define BZ_NO_COMPLEX
#define BZ_NO_HALF
#include "native.h"
#include "native_math.h"
#include "pre.h"
#include "ew.h"
#include "over.h"

static uint64_t state = 88172645463325252u;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* A number of any significand between 2^-e and 2^e; one in eight ends in ones or zeros. */
static double number(int bits, int e)
{
	uint64_t m = draw() & ((1ull << bits) - 1);
	unsigned kind = draw() % 16;

	if (kind < 2)
		m = (kind ? ~0ull : 0) << (draw() % 3) & ((1ull << bits) - 1);
	return ldexp(1.0 + ldexp((double)m, -bits), (int)(draw() % (2u * (unsigned)e)) - e) *
	       (draw() % 2 ? 1 : -1);
}

#define SAME(t, bits_t)                                                                            \
	static void same_##t(const bz_s_##t *a, bz_s_##t divisor)                                  \
	{                                                                                          \
		struct bz_over_##t over = bz_over_##t(bz_all_of_##t(divisor), 4 * BZ_W);           \
		bz_##t v = bz_ld_##t((const char *)a), got = bz_by_##t(v, &over);                  \
                                                                                                   \
		for (int i = 0; i < BZ_W; i++) {                                                   \
			bz_s_##t want = a[i] / divisor, q = got[i];                                \
			bits_t x, y;                                                               \
                                                                                                   \
			memcpy(&x, &want, sizeof x);                                               \
			memcpy(&y, &q, sizeof y);                                                  \
			cr_assert(x == y || (isnan(want) && isnan(q)), "%a / %a: %a, not %a",      \
				  (double)a[i], (double)divisor, (double)q, (double)want);         \
		}                                                                                  \
	}
static bz_f32 bz_all_of_f32(float s)
{
	return BZ_SPLAT(f32, s);
}
static bz_f64 bz_all_of_f64(double s)
{
	return BZ_SPLAT(f64, s);
}
SAME(f32, uint32_t)
SAME(f64, uint64_t)

Test(pre_over, quotients_of_any_significands)
{
	for (int k = 0; k < 300000; k++) {
		float f[BZ_W], g = (float)number(23, k % 2 ? 8 : 62);
		double d[BZ_W], e = number(52, k % 2 ? 8 : 300);

		for (int i = 0; i < BZ_W; i++) {
			f[i] = (float)number(23, k % 3 ? 20 : 120);
			d[i] = number(52, k % 3 ? 60 : 1020);
		}
		same_f32(f, g);
		same_f64(d, e);
	}
}

/* As near as dividends get to where the quotient is rounded the other way. */
Test(pre_over, quotients_between_two_numbers)
{
	for (int k = 0; k < 300000; k++) {
		float f[BZ_W], g = (float)number(23, 2), half = (float)number(23, 2);
		double d[BZ_W], e = number(52, 2), middle = number(52, 2);

		f[0] = (float)(((double)half + ((double)nextafterf(half, 8) - half) / 2) * g);
		d[0] = (double)(((long double)middle +
				 ((long double)nextafter(middle, 8) - middle) / 2) *
				e);
		for (int i = 1; i < BZ_W; i++) {
			f[i] = nextafterf(f[i - 1], i % 2 ? 8 : -8);
			d[i] = nextafter(d[i - 1], i % 2 ? 8 : -8);
		}
		same_f32(f, g);
		same_f64(d, e);
	}
}

/* x * 2^25 - m * y = k, where m is odd, and where it has 25 bits: x / y lies k / y * 2^-25 beside
 * the middle of two numbers, and for no x nearer than with k of 1 or -1.  Of odd y, m = -k / y
 * modulo 2^25. */
Test(pre_over, quotients_nearest_to_the_middle)
{
	for (uint32_t y = (1u << 23) | 1; y < 1u << 24; y += 62) {
		uint32_t inverse = y;
		float f[BZ_W];

		for (int i = 0; i < 5; i++)
			inverse *= 2 - y * inverse;
		for (int i = 0; i < BZ_W; i++) {
			int64_t k = (i / 2 * 2 + 1) * (i % 2 ? -1 : 1);
			uint64_t m = (uint32_t)-k * inverse & ((1u << 25) - 1);

			f[i] = (float)(int64_t)((m * y + (uint64_t)k) >> 25);
		}
		same_f32(f, (float)y);
	}
}

/* One number in a vector that the short way would get wrong: a zero's sign, what is lost below the
 * normal numbers, infinities. */
Test(pre_over, vectors_with_other_numbers)
{
	static const double other[] = {
		0.0,	    -0.0,      DBL_MIN, DBL_TRUE_MIN, -3 * DBL_TRUE_MIN, DBL_MAX,
		INFINITY,   -INFINITY, NAN,	FLT_MIN,      FLT_TRUE_MIN,	 5 * FLT_TRUE_MIN,
		FLT_MAX,    0x1p-70,   0x1p-71, 0x1p90,	      0x1.fffffep89,	 0x1p-800,
		0x1.fp-801, 0x1p900};
	static const double divisor[] = {3,
					 -3,
					 1e-3,
					 0x1.fffffep0,
					 0x1.fffffffffffffp0,
					 0x1p30,
					 0x1p31,
					 0x1p-30,
					 0x1p-31,
					 0x1p60,
					 0x1p61,
					 0x1p-61,
					 0.0,
					 -0.0,
					 DBL_MIN,
					 FLT_TRUE_MIN,
					 DBL_MAX,
					 INFINITY,
					 NAN};

	for (size_t k = 0; k < sizeof other / sizeof *other; k++)
		for (size_t j = 0; j < sizeof divisor / sizeof *divisor; j++)
			for (int at = 0; at < BZ_W; at++) {
				float f[BZ_W];
				double d[BZ_W];

				for (int i = 0; i < BZ_W; i++) {
					d[i] = i == at ? other[k] : number(52, 20);
					f[i] = (float)d[i];
				}
				same_f64(d, divisor[j]);
				same_f32(f, (float)divisor[j]);
			}
}

/* Too few for a reciprocal to be worth its division. */
Test(pre_over, short_rows_are_divided)
{
	struct bz_over_f64 few = bz_over_f64(bz_all_of_f64(3), 4 * BZ_W - 1);
	bz_f64 v = bz_all_of_f64(10), got = bz_by_f64(v, &few);

	cr_assert_eq(got[0], 10.0 / 3);
#ifdef __FMA__
	cr_assert_eq(few.over[0], 3, "a reciprocal nobody asked for");
#endif
}
