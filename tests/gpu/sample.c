/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/sample.c - see sample.h. */
#include "sample.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "float16.h"

uint64_t sample_next(struct sample_rng *r)
{
	uint64_t x = r->state += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

uint32_t sample_below(struct sample_rng *r, uint32_t n)
{
	return (uint32_t)((sample_next(r) >> 32) * n >> 32);
}

/* ---- Operands ---- */

static double some_double(struct sample_rng *r, enum sample_style style, bool narrow)
{
	static const double special[] = {NAN,  INFINITY, -INFINITY, 0.0,    -0.0,    1.0,   -1.0,
					 0.5,  -2.5,	 3.0,	    4e18,   -1e19,   1e-40, 700.0,
					 -88., 1e5,	 DBL_MIN,   5e-324, DBL_MAX, 1e308, -127.5};
	uint64_t bits = sample_next(r);
	double sign = bits & 1 ? -1 : 1, unit = (double)(bits >> 11) * 0x1p-53;

	if (style == SAMPLE_SMALL)
		return ((double)sample_below(r, 33) - 12) / 4;
	if (style == SAMPLE_SPECIAL && bits & 2)
		return special[sample_below(r, sizeof special / sizeof *special)];
	return sign * (0.5 + unit) * ldexp(1, (int)sample_below(r, narrow ? 20 : 24) - 10);
}

static int64_t some_integer(struct sample_rng *r, enum sample_style style, unsigned bytes)
{
	uint64_t bits = sample_next(r);
	int64_t most = (int64_t)(UINT64_MAX >> (65 - 8 * bytes));
	const int64_t special[] = {0, 1, -1, most, -most - 1, most - 1, 2, 7};

	if (style == SAMPLE_SMALL)
		return (int64_t)(bits % 17) - 6;
	if (style == SAMPLE_SPECIAL && bits & 2)
		return special[bits >> 61];
	/* Every number of bits is as likely. */
	return (int64_t)(bits >> sample_below(r, 62)) * (bits & 4 ? 1 : -1);
}

void sample_fill(void *out, unsigned dtype, size_t n, enum sample_style style, uint64_t seed)
{
	const struct dtype_row *row = dtype_row(dtype);
	unsigned parts = row->cls == CLASS_COMPLEX ? 2 : 1, bytes = row->bytes / parts;
	struct sample_rng r = {seed * 0x2545f4914f6cdd1du + 1};
	char *at = out;

	for (size_t i = 0; i < n * parts; i++, at += bytes) {
		if (row->cls == CLASS_BOOL) {
			*at = (char)(sample_next(&r) >> 9 & 1);
		} else if (row->cls == CLASS_UINT && style == SAMPLE_SMALL) {
			uint64_t v = sample_below(&r, 11);

			memcpy(at, &v, bytes);
		} else if (row->cls == CLASS_INT || row->cls == CLASS_UINT) {
			int64_t v = some_integer(&r, style, bytes);

			memcpy(at, &v, bytes);
		} else if (bytes == 8) {
			double v = some_double(&r, style, false);

			memcpy(at, &v, 8);
		} else if (bytes == 2) {
			double d = some_double(&r, style, true);
			uint16_t v = dtype == DT_BFLOAT16 ? bfloat16_bits(d) : float16_bits(d);

			memcpy(at, &v, 2);
		} else {
			float v = (float)some_double(&r, style, true);

			memcpy(at, &v, 4);
		}
	}
}

/* ---- Comparison ---- */

static double part_of(const char *at, unsigned bytes)
{
	double d;
	float f;
	uint16_t h;

	if (bytes == 8) {
		memcpy(&d, at, 8);
		return d;
	}
	if (bytes == 2) {
		memcpy(&h, at, 2);
		return float16_value(h);
	}
	memcpy(&f, at, 4);
	return (double)f;
}

/* The distance from |x| to the next number. */
static double step_of(double x, unsigned bytes)
{
	if (bytes == 2)
		return x < 0x1p-14 ? 0x1p-24 : ldexp(1, ilogb(x) - 10);
	return bytes == 8 ? nextafter(x, INFINITY) - x : (double)nextafterf((float)x, INFINITY) - x;
}

/* Half of x; an infinity is the number that would come after the greatest. */
static double half(double x, unsigned bytes)
{
	const double most = bytes == 8 ? 0x1p1023 : bytes == 4 ? 0x1p127 : 0x1p15;

	return isinf(x) ? copysign(most, x) : x / 2;
}

/* Two parts, `size` the magnitude that ulps are counted at. */
static double apart(double a, double b, double size, unsigned bytes)
{
	double most = bytes == 8 ? DBL_MAX : bytes == 4 ? (double)FLT_MAX : 65504;

	if (a == b || (isnan(a) && isnan(b)))
		return 0;
	if (isnan(a) || isnan(b))
		return INFINITY;
	return fabs(half(a, bytes) - half(b, bytes)) / (step_of(fmin(size, most) / 2, bytes));
}

static double element_apart(const char *a, const char *b, unsigned parts, unsigned bytes,
			    double least)
{
	double x[2], y[2], size[2], whole = least, worst = 0;

	for (unsigned p = 0; p < parts; p++) {
		x[p] = part_of(a + p * bytes, bytes);
		y[p] = part_of(b + p * bytes, bytes);
		size[p] = fmax(fabs(x[p]), fabs(y[p]));
		whole = fmax(whole, size[p]);
	}
	for (unsigned p = 0; p < parts; p++)
		worst = fmax(worst, apart(x[p], y[p], isfinite(whole) ? whole : size[p], bytes));
	return worst;
}

/* Equal but for the bits of a NaN, or of zeros if `zeros`. */
static bool same_bits(const char *a, const char *b, unsigned parts, unsigned bytes, bool zeros)
{
	for (unsigned p = 0; p < parts; p++, a += bytes, b += bytes) {
		double x = part_of(a, bytes), y = part_of(b, bytes);

		if (memcmp(a, b, bytes) && !(isnan(x) && isnan(y)) && !(zeros && x == y))
			return false;
	}
	return true;
}

/* Is a complex element within `most` of what it must be? */
static bool judged(const struct sample_judge *judge, uint64_t i, const char *x, unsigned bytes,
		   double most)
{
	long double exact[2];
	double wide[2];
	float narrow[2];

	if (!judge->exact(judge->data, i, exact))
		return false;
	for (int p = 0; p < 2; p++) {
		wide[p] = (double)exact[p];
		narrow[p] = (float)exact[p];
	}
	return element_apart(x, bytes == 8 ? (const char *)wide : (const char *)narrow, 2, bytes,
			     0) <= most;
}

/* bfloat16 is the upper half of a float, which is what is compared: a unit of its last place are
 * so many of a float's. */
#define BRAIN_UNITS 65536

static const char *widened(float *out, const char *at)
{
	uint16_t bits;

	memcpy(&bits, at, sizeof bits);
	*out = (float)bfloat16_value(bits);
	return (const char *)out;
}

/* Are two elements of floats the same by the rule, or at most so far apart? */
static bool same_floats(double *ulps, const char *x, const char *y, unsigned dtype, double rule)
{
	const struct dtype_row *row = dtype_row(dtype);
	unsigned parts = row->cls == CLASS_COMPLEX ? 2 : 1, bytes = row->bytes / parts;
	double most = bytes == 2 ? fabs(rule) / 4 : fabs(rule);
	float wide[2];

	if (dtype == DT_BFLOAT16) {
		x = widened(&wide[0], x);
		y = widened(&wide[1], y);
		bytes = sizeof wide[0];
		most *= BRAIN_UNITS;
	}
	*ulps = element_apart(x, y, parts, bytes, rule == SAME_ULPS_OF_ONE ? 1 : 0);
	return rule == SAME_BITS || rule == SAME_VALUE
		       ? same_bits(x, y, parts, bytes, rule == SAME_VALUE)
		       : *ulps <= most;
}

bool sample_same(struct sample_gap *gap, const void *a, const void *b, unsigned dtype, uint64_t n,
		 double rule, const struct sample_judge *judge)
{
	const struct dtype_row *row = dtype_row(dtype);
	bool real = row->cls == CLASS_FLOAT || row->cls == CLASS_COMPLEX;
	unsigned bytes = row->cls == CLASS_COMPLEX ? row->bytes / 2u : row->bytes;
	const double most = bytes == 2 ? fabs(rule) / 4 : fabs(rule);
	const char *x = a, *y = b;

	*gap = (struct sample_gap){.first = UINT64_MAX};
	for (uint64_t i = 0; i < n; i++, x += row->bytes, y += row->bytes) {
		bool same = !memcmp(x, y, row->bytes);
		double ulps = 0;

		if (same)
			continue;
		if (real)
			same = same_floats(&ulps, x, y, dtype, rule);
		same = same || (judge && judged(judge, i, x, bytes, most));
		if (isfinite(ulps))
			gap->worst = fmax(gap->worst, ulps);
		if (same)
			continue;
		gap->differ++;
		if (gap->first == UINT64_MAX)
			gap->first = i;
	}
	return gap->differ == 0;
}

void sample_text(char *buf, size_t bytes, const void *at, unsigned dtype)
{
	const struct dtype_row *row = dtype_row(dtype);
	unsigned parts = row->cls == CLASS_COMPLEX ? 2 : 1, size = row->bytes / parts;
	int64_t v = 0;
	float f;

	switch (row->cls) {
	case CLASS_FLOAT:
		if (dtype == DT_BFLOAT16)
			snprintf(buf, bytes, "%.9g", part_of(widened(&f, at), sizeof f));
		else
			snprintf(buf, bytes, "%.17g", part_of(at, size));
		break;
	case CLASS_COMPLEX:
		snprintf(buf, bytes, "%.17g%+.17gj", part_of(at, size),
			 part_of((const char *)at + size, size));
		break;
	case CLASS_INT:
		memcpy(&v, at, size);
		v = (int64_t)((uint64_t)v << (64 - 8 * size)) >> (64 - 8 * size);
		snprintf(buf, bytes, "%lld", (long long)v);
		break;
	default:
		memcpy(&v, at, size);
		snprintf(buf, bytes, "%llu", (unsigned long long)v);
	}
}
