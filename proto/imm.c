/* SPDX-License-Identifier: Apache-2.0 */
#include "imm.h"

#include <string.h>

#include "float16.h"

unsigned imm_words(enum dtype d)
{
	return dtype_row(d)->cls == CLASS_COMPLEX ? 2 : 1;
}

/* A number wide enough for every dtype: exact integers beside a complex double. */
struct number {
	double re, im;
	int64_t i; /* the integer, modulo 2^64 */
	uint8_t integral;
	uint8_t is_unsigned;
};

/* A float, or one component of a complex number, of `bytes`; brain: of a bfloat16. */
static double as_double(uint64_t bits, unsigned bytes, bool brain)
{
	double d;
	float f;
	uint32_t low = (uint32_t)bits;

	if (bytes == 2)
		return brain ? bfloat16_value((uint16_t)bits) : float16_value((uint16_t)bits);
	if (bytes == 4) {
		memcpy(&f, &low, sizeof f);
		return f;
	}
	memcpy(&d, &bits, sizeof d);
	return d;
}

static uint64_t from_double(double d, unsigned bytes, bool brain)
{
	uint64_t bits = 0;
	float f = (float)d;

	if (bytes == 2)
		return brain ? bfloat16_bits(d) : float16_bits(d);
	if (bytes == 4)
		memcpy(&bits, &f, sizeof f);
	else
		memcpy(&bits, &d, sizeof d);
	return bits;
}

static unsigned part_bytes(const struct dtype_row *row)
{
	return row->cls == CLASS_COMPLEX ? row->bytes / 2u : row->bytes;
}

static struct number load(const uint64_t in[2], enum dtype from)
{
	struct number n = {0};
	unsigned bytes = part_bytes(dtype_row(from));
	unsigned cls = dtype_row(from)->cls;

	if (cls == CLASS_FLOAT || cls == CLASS_COMPLEX) {
		n.re = as_double(in[0], bytes, from == DT_BFLOAT16);
		n.im = cls == CLASS_COMPLEX ? as_double(in[1], bytes, false) : 0;
		return n;
	}
	n.integral = 1;
	n.is_unsigned = cls != CLASS_INT;
	n.i = (int64_t)in[0];
	n.re = n.is_unsigned ? (double)in[0] : (double)n.i;
	return n;
}

static int64_t to_integer(const struct number *n, bool is_unsigned)
{
	if (n->integral)
		return n->i;
	if (is_unsigned && n->re >= 9223372036854775808.0 && n->re < 18446744073709551616.0)
		return (int64_t)(uint64_t)n->re;
	if (!(n->re >= -9223372036854775808.0 && n->re < 9223372036854775808.0))
		return INT64_MIN;
	return (int64_t)n->re;
}

static uint64_t wrap(int64_t v, const struct dtype_row *row)
{
	unsigned drop = 64 - row->bytes * 8u;

	if (row->cls == CLASS_INT)
		return (uint64_t)((int64_t)((uint64_t)v << drop) >> drop);
	return (uint64_t)v << drop >> drop;
}

void imm_cast(uint64_t out[2], enum dtype to, const uint64_t in[2], enum dtype from)
{
	const struct dtype_row *row = dtype_row(to);
	struct number n = load(in, from);
	unsigned bytes = part_bytes(row);

	out[1] = 0;
	switch (row->cls) {
	case CLASS_BOOL:
		out[0] = n.integral ? n.i != 0 : (n.re != 0 || n.im != 0);
		return;
	case CLASS_INT:
	case CLASS_UINT:
		out[0] = wrap(to_integer(&n, row->cls == CLASS_UINT), row);
		return;
	case CLASS_COMPLEX:
		out[1] = from_double(n.im, bytes, false);
		/* fall through */
	default:
		out[0] = from_double(n.re, bytes, to == DT_BFLOAT16);
	}
}
