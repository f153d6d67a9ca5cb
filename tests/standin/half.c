/* SPDX-License-Identifier: Apache-2.0 */
/* half.c - numbers of 16 bits; see half.h. */
#include "half.h"
#include <math.h>
#include <string.h>

static double integral(double v, enum ptx_round round)
{
	switch (round) {
	case ROUND_RZ:
		return trunc(v);
	case ROUND_RM:
		return floor(v);
	case ROUND_RP:
		return ceil(v);
	default:
		return rint(v);
	}
}

/* What a value beyond the largest becomes. */
static uint16_t overflow(bool negative, enum ptx_round round, uint16_t infinity)
{
	bool stays = round == ROUND_RZ || (round == ROUND_RM && !negative) ||
		     (round == ROUND_RP && negative);

	return (uint16_t)((stays ? infinity - 1 : infinity) | (negative ? 0x8000 : 0));
}

uint16_t half_round(double v, enum ptx_type format, enum ptx_round round)
{
	const int bits = format == T_F16 ? 10 : 7, low = format == T_F16 ? -14 : -126;
	const uint16_t infinity = format == T_F16 ? 0x7c00 : 0x7f80;
	uint16_t sign = signbit(v) ? 0x8000 : 0;
	int e;

	if (v != v)
		return 0x7fff;
	if (isinf(v))
		return sign | infinity;
	if (v == 0)
		return sign;
	frexp(v, &e);
	e--; /* v = 1.xxx * 2^e */
	int exponent = e < low ? low : e;
	/* n units of the last place; 2^bits and more are normal. */
	long n = (long)fabs(integral(ldexp(v, bits - exponent), round));
	long field = exponent - low + 1;
	long encoded = n < 1 << bits ? n : (field << bits) + (n - (1 << bits));
	if (encoded >= infinity)
		return overflow(sign != 0, round, infinity);
	return (uint16_t)(sign | encoded);
}

double half_value(uint16_t v, enum ptx_type format)
{
	if (format == T_F16) {
		_Float16 h;

		memcpy(&h, &v, sizeof(h));
		return (double)(float)h;
	}
	uint32_t wide = (uint32_t)v << 16;
	float f;
	memcpy(&f, &wide, sizeof(f));
	return f;
}

/* The product is exact.  Of the sum, a bit that does not fit is kept in the last
 * place (round to odd), so that the rounding to 16 bits sees it. */
double half_fma(double a, double b, double c)
{
	double p = a * b, s = p + c, q = s - p, error = (p - (s - q)) + (c - q);
	uint64_t bits;

	memcpy(&bits, &s, sizeof(bits));
	if (error != 0 && isfinite(s) && !(bits & 1)) {
		bits += (error > 0) == (s > 0) ? 1 : -1ull;
		memcpy(&s, &bits, sizeof(s));
	}
	return s;
}
