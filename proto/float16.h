/* SPDX-License-Identifier: Apache-2.0 */
/* proto/float16.h - one float16 or bfloat16 number from and to a double, for immediates and
 * Python's numbers; kernels have conversions of their own (kernels/f16.h, kernels/bf16.h).
 *
 * Pure: any thread. */
#ifndef BRAZE_FLOAT16_H
#define BRAZE_FLOAT16_H

#include <stdint.h>
#include <string.h>

/* The value of float16 bits, exact. */
static inline double float16_value(uint16_t bits)
{
	const uint64_t sign = (uint64_t)(bits & 0x8000u) << 48, size = bits & 0x7fffu;
	uint64_t wide = (size << 42) + ((uint64_t)1008 << 52); /* the biases differ by 1008 */
	double d;

	if (size >= 0x7c00)
		wide = size << 42 | (uint64_t)0x7ff << 52;
	memcpy(&d, &wide, sizeof d);
	if (size < 0x400)
		d = (double)size * 0x1p-24;
	memcpy(&wide, &d, sizeof wide);
	wide |= sign;
	memcpy(&d, &wide, sizeof d);
	return d;
}

/* The bits of the float16 next to d, ties to even; beyond the greatest, infinity. */
static inline uint16_t float16_bits(double d)
{
	uint64_t wide, size;
	uint16_t sign;

	memcpy(&wide, &d, sizeof wide);
	sign = (uint16_t)(wide >> 48 & 0x8000);
	size = wide & INT64_MAX;
	if (size > (uint64_t)0x7ff << 52)
		return (uint16_t)(sign | 0x7e00 | (size >> 42 & 0x3ff));
	if (size >= (uint64_t)0x40f << 52) /* 2^16 */
		return sign | 0x7c00;
	if (size < (uint64_t)0x3f1 << 52) { /* 2^-14: below, multiples of 2^-24 */
		memcpy(&d, &size, sizeof d);
		d += 0x1p28;
		memcpy(&size, &d, sizeof size);
		return (uint16_t)(sign | (size & 0x7ff));
	}
	size += ((uint64_t)1 << 41) - 1 + (size >> 42 & 1);
	return (uint16_t)(sign | ((size >> 42) - (1008 << 10)));
}

/* The value of bfloat16 bits, the upper half of a float's, exact. */
static inline double bfloat16_value(uint16_t bits)
{
	uint32_t wide = (uint32_t)bits << 16;
	float f;

	memcpy(&f, &wide, sizeof f);
	return (double)f;
}

/* The bits of the bfloat16 next to the float next to d, ties to even, as ml_dtypes rounds. */
static inline uint16_t bfloat16_bits(double d)
{
	float f = (float)d;
	uint32_t wide;

	memcpy(&wide, &f, sizeof wide);
	if (f != f)
		return (uint16_t)((wide >> 16 & 0x8000) | 0x7fc0);
	return (uint16_t)((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
}

#endif
