/* SPDX-License-Identifier: Apache-2.0 */
/* proto/float16.h: every number, every tie, and what lies beside them. */
#include <criterion/criterion.h>

#include <math.h>

#include "float16.h"

Test(float16, every_number_comes_back)
{
	for (uint32_t h = 0; h < 0x10000; h++) {
		double v = float16_value((uint16_t)h);

		if ((h & 0x7fff) > 0x7c00)
			cr_assert(isnan(v) && float16_bits(v) == (h | 0x200), "%#x", h);
		else
			cr_assert_eq(float16_bits(v), h, "%#x", h);
	}
	cr_assert_eq(float16_value(0x3c00), 1);
	cr_assert_eq(float16_value(0xc500), -5);
	cr_assert_eq(float16_value(0x7bff), 65504);
	cr_assert_eq(float16_value(0x0001), 0x1p-24);
	cr_assert_eq(float16_value(0x03ff), 0x1p-14 - 0x1p-24);
	cr_assert_eq(float16_value(0xfc00), -INFINITY);
	cr_assert(signbit(float16_value(0x8000)));
}

Test(float16, between_two_numbers_the_nearer_then_the_even_one)
{
	for (uint32_t h = 0; h < 0x7c00; h++) {
		double low = float16_value((uint16_t)h);
		double high = h == 0x7bff ? 65536 : float16_value((uint16_t)(h + 1));
		double tie = (low + high) / 2;

		cr_assert_eq(float16_bits(tie), h + (h & 1), "%a", tie);
		cr_assert_eq(float16_bits(nextafter(tie, 0)), h, "%a", tie);
		cr_assert_eq(float16_bits(nextafter(tie, INFINITY)), h + 1, "%a", tie);
		cr_assert_eq(float16_bits(-tie), 0x8000 | (h + (h & 1)), "%a", tie);
	}
	cr_assert_eq(float16_bits(1e300), 0x7c00);
	cr_assert_eq(float16_bits(-INFINITY), 0xfc00);
	cr_assert_eq(float16_bits(5e-324), 0);
	cr_assert_eq(float16_bits(-5e-324), 0x8000);
}
