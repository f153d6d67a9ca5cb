/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_ew.c - NumPy's real arithmetic: every op and loop type of the
 * tables against scalar C, at every instruction set this machine can run. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "float16.h"
#include "loops/isa.h"
#include "loops/tier0_ops.h"

#define SPECIALS 24
#define PAIRS	 (SPECIALS * SPECIALS)

typedef __int128 wide;

static const struct tier0_isa *const isas[ISA_END] = {&tier0_isa_v2, &tier0_isa_v3, &tier0_isa_v4};
static const uint8_t int_types[] = {DT_INT8,  DT_INT16,	 DT_INT32,  DT_INT64,
				    DT_UINT8, DT_UINT16, DT_UINT32, DT_UINT64};

static char ra[PAIRS * 16 + 64], rb[PAIRS * 16 + 64], rc[PAIRS * 16 + 64], rd[PAIRS * 16 + 64];

static int width_of(unsigned dt)
{
	return dtype_row(dt)->bytes * 8;
}

static bool is_signed(unsigned dt)
{
	return dtype_row(dt)->cls == CLASS_INT;
}

/* v modulo the type, as C's conversion. */
static wide wrap(wide v, unsigned dt)
{
	int bits = width_of(dt);
	wide m = v & (((wide)1 << bits) - 1);

	return is_signed(dt) && (m >> (bits - 1)) ? m - ((wide)1 << bits) : m;
}

static wide int_get(const char *p, int i, unsigned dt)
{
	int bytes = dtype_row(dt)->bytes;
	uint64_t raw = 0;

	memcpy(&raw, p + i * bytes, (size_t)bytes);
	return wrap((wide)raw, dt);
}

static void int_put(char *p, int i, unsigned dt, wide v)
{
	int bytes = dtype_row(dt)->bytes;
	uint64_t raw = (uint64_t)v;

	memcpy(p + i * bytes, &raw, (size_t)bytes);
}

static wide int_special(int i, unsigned dt)
{
	static const int small[] = {0,	1, -1, 2,  -2, 3,  -3, 5,  7,
				    -7, 8, 15, 16, 31, 32, 63, 64, 100};
	int bits = width_of(dt);
	wide top = (wide)1 << (is_signed(dt) ? bits - 1 : bits);
	wide low = is_signed(dt) ? -top : 0;
	wide edge[] = {low, low + 1, top - 1, top - 2, top / 3, low / 2};

	return wrap(i < 18 ? small[i] : edge[i - 18], dt);
}

static wide f_add(wide a, wide b, unsigned dt)
{
	return a + b;
}
static wide f_sub(wide a, wide b, unsigned dt)
{
	return a - b;
}
static wide f_mul(wide a, wide b, unsigned dt)
{
	return (wide)((unsigned __int128)a * (unsigned __int128)b);
}
static wide f_floor(wide a, wide b, unsigned dt)
{
	return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static wide f_rem(wide a, wide b, unsigned dt)
{
	return b == 0 ? 0 : a - b * f_floor(a, b, dt);
}
static wide f_fmod(wide a, wide b, unsigned dt)
{
	return b == 0 ? 0 : a % b;
}
static wide f_pow(wide a, wide b, unsigned dt)
{
	uint64_t r = 1;

	if (b < 0)
		return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
	for (int bit = 63; bit >= 0; bit--) {
		r *= r;
		if ((uint64_t)b >> bit & 1)
			r *= (uint64_t)a;
	}
	return (wide)r;
}
static wide f_min(wide a, wide b, unsigned dt)
{
	return a < b ? a : b;
}
static wide f_max(wide a, wide b, unsigned dt)
{
	return a > b ? a : b;
}
static wide f_and(wide a, wide b, unsigned dt)
{
	return a & b;
}
static wide f_or(wide a, wide b, unsigned dt)
{
	return a | b;
}
static wide f_xor(wide a, wide b, unsigned dt)
{
	return a ^ b;
}
static wide f_shl(wide a, wide b, unsigned dt)
{
	return b < 0 || b >= width_of(dt) ? 0 : (wide)((unsigned __int128)a << (int)b);
}
static wide f_shr(wide a, wide b, unsigned dt)
{
	return b < 0 || b >= width_of(dt) ? (a < 0 ? -1 : 0) : a >> (int)b;
}
static wide f_neg(wide a, wide b, unsigned dt)
{
	return -a;
}
static wide f_same(wide a, wide b, unsigned dt)
{
	return a;
}
static wide f_abs(wide a, wide b, unsigned dt)
{
	return a < 0 ? -a : a;
}
static wide f_sign(wide a, wide b, unsigned dt)
{
	return (a > 0) - (a < 0);
}
static wide f_square(wide a, wide b, unsigned dt)
{
	return f_mul(a, a, dt);
}
static wide f_inv(wide a, wide b, unsigned dt)
{
	return ~a;
}
static wide f_zero(wide a, wide b, unsigned dt)
{
	return 0;
}
/* 1 / 0 is what a conversion of infinity leaves on x86. */
static wide f_recip(wide a, wide b, unsigned dt)
{
	if (a == 0)
		return dt == DT_INT32 ? INT32_MIN : dt == DT_INT64 ? INT64_MIN : 0;
	return 1 / a;
}

static const struct {
	unsigned op;
	wide (*f)(wide a, wide b, unsigned dt);
} int_ops[] = {
	{OP_ADD, f_add},	  {OP_SUBTRACT, f_sub},
	{OP_MULTIPLY, f_mul},	  {OP_FLOOR_DIVIDE, f_floor},
	{OP_REMAINDER, f_rem},	  {OP_FMOD, f_fmod},
	{OP_POWER, f_pow},	  {OP_MINIMUM, f_min},
	{OP_MAXIMUM, f_max},	  {OP_FMIN, f_min},
	{OP_FMAX, f_max},	  {OP_BITWISE_AND, f_and},
	{OP_BITWISE_OR, f_or},	  {OP_BITWISE_XOR, f_xor},
	{OP_LEFT_SHIFT, f_shl},	  {OP_RIGHT_SHIFT, f_shr},
	{OP_NEGATIVE, f_neg},	  {OP_POSITIVE, f_same},
	{OP_ABSOLUTE, f_abs},	  {OP_SIGN, f_sign},
	{OP_SQUARE, f_square},	  {OP_INVERT, f_inv},
	{OP_RECIPROCAL, f_recip}, {OP_FLOOR, f_same},
	{OP_CEIL, f_same},	  {OP_TRUNC, f_same},
	{OP_CONJ, f_same},	  {OP_REAL, f_same},
	{OP_IMAG, f_zero},
};

Test(ew, integers_wrap_divide_and_shift_as_numpy)
{
	for (int level = 0; level <= (int)isa_best(); level++)
		for (size_t t = 0; t < sizeof int_types; t++)
			for (size_t k = 0; k < sizeof int_ops / sizeof int_ops[0]; k++) {
				unsigned dt = int_types[t];
				tier0_fn *fn = isas[level]->op[int_ops[k].op][dt];

				cr_assert(fn, "%s %s", op_row(int_ops[k].op)->id,
					  dtype_row(dt)->suffix);
				for (int i = 0; i < PAIRS; i++) {
					int_put(ra, i, dt, int_special(i / SPECIALS, dt));
					int_put(rb, i, dt, int_special(i % SPECIALS, dt));
				}
				fn(rd, ra, rb, rb, PAIRS);
				for (int i = 0; i < PAIRS; i++) {
					wide a = int_get(ra, i, dt), b = int_get(rb, i, dt);
					wide got = int_get(rd, i, dt);
					wide want = wrap(int_ops[k].f(a, b, dt), dt);

					cr_assert(got == want, "%s_%s(%ld, %ld) is %ld, not %ld",
						  op_row(int_ops[k].op)->id, dtype_row(dt)->suffix,
						  (long)a, (long)b, (long)got, (long)want);
				}
			}
}

/* Of 64 bits: of few and of many digits, near multiples of the divisor, at the ends of what doubles
 * hold. */
static uint64_t some_bits(void)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return state ^ state >> 29;
}

static void divide_long(unsigned dt, int kind)
{
	static const unsigned ops[] = {OP_FLOOR_DIVIDE, OP_REMAINDER, OP_FMOD};
	static wide (*const f[])(wide, wide, unsigned) = {f_floor, f_rem, f_fmod};

	for (int i = 0; i < PAIRS; i++) {
		int64_t b = (int64_t)some_bits() >> (kind & 1 ? 13 : 0) >> some_bits() % 51;
		uint64_t a =
			(uint64_t)((int64_t)some_bits() >> (kind & 2 ? 13 : 0) >> some_bits() % 51);

		if (b && kind & 4)
			a = a / (uint64_t)b * (uint64_t)b + some_bits() % 3 - 1;
		if (b && kind & 8)
			a = (some_bits() >> some_bits() % 64) * (uint64_t)b + some_bits() % 3 - 1;
		int_put(ra, i, dt, (wide)a);
		int_put(rb, i, dt, i % 8 ? b : int_special(i / 8 % SPECIALS, dt));
	}
	for (int level = 0; level <= (int)isa_best(); level++)
		for (int k = 0; k < 3; k++) {
			isas[level]->op[ops[k]][dt](rd, ra, rb, rb, PAIRS);
			for (int i = 0; i < PAIRS; i++) {
				wide a = int_get(ra, i, dt), b = int_get(rb, i, dt);
				wide got = int_get(rd, i, dt), want = wrap(f[k](a, b, dt), dt);

				cr_assert(got == want, "%s_%s(%ld, %ld) is %ld, not %ld",
					  op_row(ops[k])->id, dtype_row(dt)->suffix, (long)a,
					  (long)b, (long)got, (long)want);
			}
		}
}

Test(ew, long_integers_divide_exactly)
{
	for (int k = 0; k < 400; k++) {
		divide_long(DT_INT64, k % 16);
		divide_long(DT_UINT64, k % 16);
	}
	/* Dividends that doubles round to -2^63, which no quotient by -1 is. */
	for (int sign = -1; sign <= 1; sign += 2) {
		for (int i = 0; i < PAIRS; i++) {
			int_put(ra, i, DT_INT64, INT64_MIN + (i & 8 ? i : (wide)1 << (i & 63)));
			int_put(rb, i, DT_INT64, sign);
		}
		for (int level = 0; level <= (int)isa_best(); level++) {
			isas[level]->op[OP_FLOOR_DIVIDE][DT_INT64](rd, ra, rb, rb, PAIRS);
			for (int i = 0; i < PAIRS; i++)
				cr_assert(int_get(rd, i, DT_INT64) ==
					  wrap(sign * int_get(ra, i, DT_INT64), DT_INT64));
		}
	}
}

/* ---- floats ---------------------------------------------------------------------- */

static double float_special(int i, unsigned dt)
{
	static const double v[SPECIALS] = {
		0.0,  -0.0,  1.0,  -1.0, 2.0,  -2.0,	 0.5,	    -0.5, 1.5,	  2.5, -2.5, 3.0,
		7.25, -7.25, 1e-3, 1e10, -1e4, INFINITY, -INFINITY, NAN,  5e-324, 0,   0,    100.0};

	if (dt == DT_FLOAT16 && i >= 20 && i < 23)
		return i == 20 ? 0x1p-24 : i == 21 ? 65504 : 0x1p-14;
	if (i == 20)
		return dt == DT_FLOAT32 ? 1e-45 : 5e-324;
	if (i == 21)
		return dt == DT_FLOAT32 ? 3.4028234663852886e38 : 1.7976931348623157e308;
	if (i == 22)
		return dt == DT_FLOAT32 ? 1.1754943508222875e-38 : 2.2250738585072014e-308;
	return v[i];
}

static double float_get(const char *p, int i, unsigned dt)
{
	uint16_t h;
	float f;
	double d;

	if (dt == DT_FLOAT16) {
		memcpy(&h, p + i * 2, 2);
		return float16_value(h);
	}
	if (dt == DT_FLOAT32) {
		memcpy(&f, p + i * 4, 4);
		return f;
	}
	memcpy(&d, p + i * 8, 8);
	return d;
}

static void float_put(char *p, int i, unsigned dt, double v)
{
	uint16_t h = float16_bits(v);
	float f = (float)v;

	if (dt == DT_FLOAT16)
		memcpy(p + i * 2, &h, 2);
	else if (dt == DT_FLOAT32)
		memcpy(p + i * 4, &f, 4);
	else
		memcpy(p + i * 8, &v, 8);
}

/* Distance in units of the last place; 0 for equal bits and for two NaNs. */
static double ulps(double got, double want, unsigned dt)
{
	double unit;

	if (isnan(got) || isnan(want))
		return isnan(got) && isnan(want) ? 0 : 1e9;
	if (got == want)
		return signbit(got) == signbit(want) ? 0 : 1e9;
	if (isinf(got) || isinf(want))
		return 1e9;
	if (dt == DT_FLOAT16)
		return fabs(got - want) /
		       (fabs(want) < 0x1p-14 ? 0x1p-24 : ldexp(1, ilogb(want) - 10));
	unit = dt == DT_FLOAT32
		       ? (double)(nextafterf(fabsf((float)want), INFINITY) - fabsf((float)want))
		       : nextafter(fabs(want), INFINITY) - fabs(want);
	return fabs(got - want) / unit;
}

static double g_add(double a, double b)
{
	return a + b;
}
static double g_sub(double a, double b)
{
	return a - b;
}
static double g_mul(double a, double b)
{
	return a * b;
}
static double g_div(double a, double b)
{
	return a / b;
}
static double g_rem(double a, double b)
{
	double m = fmod(a, b);

	if (b == 0 || isnan(m))
		return m;
	return m == 0 ? copysign(0, b) : (m < 0) != (b < 0) ? m + b : m;
}
static double g_fraction(double a, double b)
{
	double whole;

	return modf(a, &whole);
}
static double g_mantissa(double a, double b)
{
	int e;

	return frexp(a, &e);
}
static double g_exponent(double a, double b)
{
	int e = 0;

	if (isfinite(a))
		frexp(a, &e);
	return e;
}
static double g_min(double a, double b)
{
	return a < b || isnan(a) ? a : b;
}
static double g_max(double a, double b)
{
	return a > b || isnan(a) ? a : b;
}
static double g_fmin(double a, double b)
{
	return a < b || isnan(b) ? a : b;
}
static double g_fmax(double a, double b)
{
	return a > b || isnan(b) ? a : b;
}
static double g_heaviside(double a, double b)
{
	return isnan(a) ? a : a == 0 ? b : a < 0 ? 0 : 1;
}
static double g_neg(double a, double b)
{
	return -a;
}
static double g_same(double a, double b)
{
	return a;
}
static double g_abs(double a, double b)
{
	return fabs(a);
}
static double g_sign(double a, double b)
{
	return isnan(a) ? a : (a > 0) - (a < 0);
}
static double g_square(double a, double b)
{
	return a * a;
}
static double g_recip(double a, double b)
{
	return 1 / a;
}
static double g_zero(double a, double b)
{
	return 0;
}
static double g_logaddexp(double a, double b)
{
	if (isnan(a) || isnan(b))
		return NAN;
	return a == b ? a + log(2) : fmax(a, b) + log1p(exp(-fabs(a - b)));
}
#define WRAP1(name)                                                                                \
	static double h_##name(double a, double b)                                                 \
	{                                                                                          \
		return name(a);                                                                    \
	}
WRAP1(sqrt)
WRAP1(floor)
WRAP1(ceil)
WRAP1(trunc)
WRAP1(rint)
WRAP1(cbrt)
WRAP1(exp)
WRAP1(expm1)
WRAP1(exp2)
WRAP1(log)
WRAP1(log2)
WRAP1(log10)
WRAP1(log1p)
WRAP1(sin)
WRAP1(cos)
WRAP1(tan)
WRAP1(asin)
WRAP1(acos)
WRAP1(atan)
WRAP1(sinh)
WRAP1(cosh)
WRAP1(tanh)
WRAP1(asinh)
WRAP1(acosh)
WRAP1(atanh)

static const struct {
	unsigned op;
	double (*f)(double a, double b);
	double ulp; /* allowed; 0: the bits must be equal */
} float_ops[] = {
	{OP_ADD, g_add, 0},	      {OP_SUBTRACT, g_sub, 0},
	{OP_MULTIPLY, g_mul, 0},      {OP_DIVIDE, g_div, 0},
	{OP_FMOD, fmod, 0},	      {OP_REMAINDER, g_rem, 0},
	{OP_COPYSIGN, copysign, 0},   {OP_MINIMUM, g_min, 0},
	{OP_MAXIMUM, g_max, 0},	      {OP_FMIN, g_fmin, 0},
	{OP_FMAX, g_fmax, 0},	      {OP_HEAVISIDE, g_heaviside, 0},
	{OP_NEGATIVE, g_neg, 0},      {OP_POSITIVE, g_same, 0},
	{OP_CONJ, g_same, 0},	      {OP_REAL, g_same, 0},
	{OP_IMAG, g_zero, 0},	      {OP_ABSOLUTE, g_abs, 0},
	{OP_SIGN, g_sign, 0},	      {OP_SQUARE, g_square, 0},
	{OP_RECIPROCAL, g_recip, 0},  {OP_SQRT, h_sqrt, 0},
	{OP_FLOOR, h_floor, 0},	      {OP_CEIL, h_ceil, 0},
	{OP_TRUNC, h_trunc, 0},	      {OP_RINT, h_rint, 0},
	{OP_CBRT, h_cbrt, 4},	      {OP_EXP, h_exp, 4},
	{OP_EXPM1, h_expm1, 4},	      {OP_EXP2, h_exp2, 4},
	{OP_LOG, h_log, 4},	      {OP_LOG2, h_log2, 4},
	{OP_LOG10, h_log10, 4},	      {OP_LOG1P, h_log1p, 4},
	{OP_SIN, h_sin, 4},	      {OP_COS, h_cos, 4},
	{OP_TAN, h_tan, 4},	      {OP_ARCSIN, h_asin, 4},
	{OP_ARCCOS, h_acos, 4},	      {OP_ARCTAN, h_atan, 4},
	{OP_SINH, h_sinh, 4},	      {OP_COSH, h_cosh, 4},
	{OP_TANH, h_tanh, 4},	      {OP_ARCSINH, h_asinh, 4},
	{OP_ARCCOSH, h_acosh, 4},     {OP_ARCTANH, h_atanh, 4},
	{OP_POWER, pow, 4},	      {OP_ARCTAN2, atan2, 4},
	{OP_HYPOT, hypot, 4},	      {OP_LOGADDEXP, g_logaddexp, 8},
	{OP_FRACTION, g_fraction, 0}, {OP_MANTISSA, g_mantissa, 0},
	{OP_EXPONENT, g_exponent, 0},
};

static bool is_extreme(double (*f)(double, double))
{
	return f == g_min || f == g_max || f == g_fmin || f == g_fmax;
}

static void float_check(const struct tier0_isa *isa, size_t k, unsigned dt)
{
	tier0_fn *fn = isa->op[float_ops[k].op][dt];

	cr_assert(fn, "%s %s", op_row(float_ops[k].op)->id, dtype_row(dt)->suffix);
	for (int i = 0; i < PAIRS; i++) {
		float_put(ra, i, dt, float_special(i / SPECIALS, dt));
		float_put(rb, i, dt, float_special(i % SPECIALS, dt));
	}
	fn(rd, ra, rb, rb, PAIRS);
	for (int i = 0; i < PAIRS; i++) {
		double a = float_get(ra, i, dt), b = float_get(rb, i, dt);
		double got = float_get(rd, i, dt), want = float_ops[k].f(a, b);

		/* The reference of a float is the double rounded, which + - * / sqrt
		 * survive (Figueroa, When is double rounding innocuous?, 1995). */
		if (dt == DT_FLOAT32)
			want = (float)want;
		if (dt == DT_FLOAT16)
			want = float16_value(float16_bits(want));
		/* Of two zeros NumPy takes the first of float16. */
		if (dt == DT_FLOAT16 && a == b && is_extreme(float_ops[k].f))
			want = a;
		cr_assert(ulps(got, want, dt) <= fmin(float_ops[k].ulp, dt == DT_FLOAT16 ? 1 : 8),
			  "%s_%s(%a, %a) is %a, not %a", op_row(float_ops[k].op)->id,
			  dtype_row(dt)->suffix, a, b, got, want);
	}
}

Test(ew, floats_match_libm_on_special_and_plain_values)
{
	for (int level = 0; level <= (int)isa_best(); level++)
		for (size_t k = 0; k < sizeof float_ops / sizeof float_ops[0]; k++) {
			float_check(isas[level], k, DT_FLOAT16);
			float_check(isas[level], k, DT_FLOAT32);
			float_check(isas[level], k, DT_FLOAT64);
		}
}

Test(ew, float_floor_division_follows_python)
{
	static const double a[8] = {7, -7, 7, -7, 1, INFINITY, -0.0, 1}, /* // */
		b[8] = {2, 2, -2, INFINITY, 0.1, 2, 3, 0};
	static const double want[8] = {3, -4, -4, -1, 9, NAN, -0.0, INFINITY};

	for (int level = 0; level <= (int)isa_best(); level++) {
		isas[level]->op[OP_FLOOR_DIVIDE][DT_FLOAT64](rd, (const char *)a, (const char *)b,
							     rb, 8);
		for (int i = 0; i < 8; i++)
			cr_assert_eq(ulps(float_get(rd, i, DT_FLOAT64), want[i], DT_FLOAT64), 0,
				     "%a // %a is %a", a[i], b[i], float_get(rd, i, DT_FLOAT64));
	}
}

/* ---- comparisons, tests, choice --------------------------------------------------- */

static bool relation(unsigned op, double a, double b)
{
	return op == OP_EQUAL	     ? a == b
	       : op == OP_NOT_EQUAL  ? a != b
	       : op == OP_LESS	     ? a < b
	       : op == OP_LESS_EQUAL ? a <= b
	       : op == OP_GREATER    ? a > b
				     : a >= b;
}

static void compare_check(const struct tier0_isa *isa, unsigned dt)
{
	bool fp = dtype_row(dt)->cls == CLASS_FLOAT;

	for (int i = 0; i < PAIRS; i++) {
		if (fp) {
			float_put(ra, i, dt, float_special(i / SPECIALS, dt));
			float_put(rb, i, dt, float_special(i % SPECIALS, dt));
		} else {
			/* Small enough for a double to order them. */
			int_put(ra, i, dt, int_special(i / SPECIALS % 18, dt) % 100);
			int_put(rb, i, dt, int_special(i % 18, dt) % 100);
		}
	}
	for (unsigned op = OP_EQUAL; op <= OP_GREATER_EQUAL; op++) {
		isa->op[op][dt](rd, ra, rb, rb, PAIRS);
		for (int i = 0; i < PAIRS; i++) {
			double a = fp ? float_get(ra, i, dt) : (double)int_get(ra, i, dt);
			double b = fp ? float_get(rb, i, dt) : (double)int_get(rb, i, dt);

			cr_assert_eq(rd[i], relation(op, a, b), "%s_%s(%g, %g)", op_row(op)->id,
				     dtype_row(dt)->suffix, a, b);
		}
	}
	isa->op[OP_LESS][dt](rc, ra, rb, rb, PAIRS);
	isa->op[OP_WHERE][dt](rd, rc, ra, rb, PAIRS);
	for (int i = 0, n = dtype_row(dt)->bytes; i < PAIRS; i++)
		cr_assert(!memcmp(rd + i * n, (rc[i] ? ra : rb) + i * n, (size_t)n));
}

Test(ew, comparisons_and_where_of_every_real_type)
{
	for (int level = 0; level <= (int)isa_best(); level++) {
		for (size_t t = 0; t < sizeof int_types; t++)
			compare_check(isas[level], int_types[t]);
		compare_check(isas[level], DT_FLOAT16);
		compare_check(isas[level], DT_FLOAT32);
		compare_check(isas[level], DT_FLOAT64);
	}
}

static void tests_check(const struct tier0_isa *isa, unsigned dt)
{
	for (int i = 0; i < SPECIALS; i++)
		float_put(ra, i, dt, float_special(i, dt));
	for (unsigned op = OP_ISNAN; op <= OP_SIGNBIT; op++) {
		isa->op[op][dt](rd, ra, ra, ra, SPECIALS);
		for (int i = 0; i < SPECIALS; i++) {
			double a = float_get(ra, i, dt);
			bool want = op == OP_ISNAN	? isnan(a)
				    : op == OP_ISINF	? isinf(a)
				    : op == OP_ISFINITE ? isfinite(a)
							: signbit(a);
			cr_assert_eq(rd[i], want, "%s_%s(%a)", op_row(op)->id,
				     dtype_row(dt)->suffix, a);
		}
	}
}

Test(ew, classification_of_floats_and_integers)
{
	for (int level = 0; level <= (int)isa_best(); level++) {
		tests_check(isas[level], DT_FLOAT16);
		tests_check(isas[level], DT_FLOAT32);
		tests_check(isas[level], DT_FLOAT64);
		for (int i = 0; i < SPECIALS; i++)
			int_put(ra, i, DT_INT16, int_special(i, DT_INT16));
		isas[level]->op[OP_ISFINITE][DT_INT16](rb, ra, ra, ra, SPECIALS);
		isas[level]->op[OP_ISNAN][DT_INT16](rc, ra, ra, ra, SPECIALS);
		isas[level]->op[OP_SIGNBIT][DT_INT16](rd, ra, ra, ra, SPECIALS);
		for (int i = 0; i < SPECIALS; i++) {
			cr_assert(rb[i] == 1 && rc[i] == 0);
			cr_assert_eq(rd[i], int_get(ra, i, DT_INT16) < 0);
		}
	}
}

Test(ew, bools_compute_as_logic)
{
	static const struct {
		unsigned op;
		unsigned char want[4]; /* of (0,0) (0,1) (1,0) (1,1) */
	} row[] = {
		{OP_ADD, {0, 1, 1, 1}},		  {OP_MULTIPLY, {0, 0, 0, 1}},
		{OP_MINIMUM, {0, 0, 0, 1}},	  {OP_MAXIMUM, {0, 1, 1, 1}},
		{OP_FMIN, {0, 0, 0, 1}},	  {OP_FMAX, {0, 1, 1, 1}},
		{OP_LOGICAL_AND, {0, 0, 0, 1}},	  {OP_LOGICAL_OR, {0, 1, 1, 1}},
		{OP_LOGICAL_XOR, {0, 1, 1, 0}},	  {OP_LOGICAL_NOT, {1, 1, 0, 0}},
		{OP_BITWISE_AND, {0, 0, 0, 1}},	  {OP_BITWISE_OR, {0, 1, 1, 1}},
		{OP_BITWISE_XOR, {0, 1, 1, 0}},	  {OP_INVERT, {1, 1, 0, 0}},
		{OP_EQUAL, {1, 0, 0, 1}},	  {OP_LESS, {0, 1, 0, 0}},
		{OP_GREATER_EQUAL, {1, 0, 1, 1}},
	};
	/* Any non-zero byte is true: a client may write what it likes. */
	static const char a[8] = {0, 0, 2, (char)255, 0, 0, 1, 1}, b[8] = {0, 7, 0, 1, 0, 1, 0, 1};

	for (int level = 0; level <= (int)isa_best(); level++)
		for (size_t k = 0; k < sizeof row / sizeof row[0]; k++) {
			isas[level]->op[row[k].op][DT_BOOL](rd, a, b, b, 8);
			for (int i = 0; i < 8; i++)
				cr_assert_eq(rd[i], row[k].want[i % 4], "%s [%d]",
					     op_row(row[k].op)->id, i);
		}
}

Test(ew, clip_takes_the_upper_bound_last_and_keeps_nan)
{
	static const double x[8] = {-5, 5, 50, NAN, 1, 1, 3, 4}, lo[8] = {0, 0, 0, 0, NAN, 0, 9, 4},
			    hi[8] = {10, 10, 10, 10, 10, NAN, 2, 4},
			    want[8] = {0, 5, 10, NAN, NAN, NAN, 2, 4};

	for (int level = 0; level <= (int)isa_best(); level++) {
		isas[level]->op[OP_CLIP][DT_FLOAT64](rd, (const char *)x, (const char *)lo,
						     (const char *)hi, 8);
		for (int i = 0; i < 8; i++)
			cr_assert_eq(ulps(float_get(rd, i, DT_FLOAT64), want[i], DT_FLOAT64), 0,
				     "[%d]", i);
	}
}

Test(ew, nextafter_steps_by_one_place)
{
	static const float a[8] = {1, 1, 0, -0.0f, INFINITY, 5, NAN, 2},
			   b[8] = {2, 0, 1, -1, 0, 5, 1, NAN};

	for (int level = 0; level <= (int)isa_best(); level++) {
		isas[level]->op[OP_NEXTAFTER][DT_FLOAT32](rd, (const char *)a, (const char *)b, rb,
							  8);
		for (int i = 0; i < 8; i++)
			cr_assert_eq(ulps(float_get(rd, i, DT_FLOAT32), nextafterf(a[i], b[i]),
					  DT_FLOAT32),
				     0, "[%d]", i);
	}
}

Test(ew, a_result_does_not_depend_on_its_lane)
{
	static const unsigned op[] = {OP_EXP, OP_SIN, OP_TANH, OP_POWER, OP_LOG1P, OP_ARCTAN2};

	for (int level = 0; level <= (int)isa_best(); level++)
		for (int k = 0; k < 6; k++)
			for (int dt = DT_FLOAT16; dt <= DT_FLOAT64; dt++) {
				int n = dtype_row((unsigned)dt)->bytes;

				for (int i = 0; i < 64; i++)
					float_put(ra, i, (unsigned)dt, 0.37 * i + 0.11);
				isas[level]->op[op[k]][dt](rd, ra, ra, ra, 64);
				for (int shift = 1; shift < 8; shift++) {
					isas[level]->op[op[k]][dt](rc, ra + shift * n,
								   ra + shift * n, ra, 56);
					cr_assert(!memcmp(rc, rd + shift * n, (size_t)(56 * n)));
				}
			}
}

/* The loops of more lanes against the others: same bits, for every op on a narrow type. */
static void compare_wide(const struct tier0_isa *isa, const struct tier0_isa *others)
{
	for (int i = 0; i < PAIRS; i++) {
		float_put(ra, i, DT_FLOAT32, float_special(i / SPECIALS, DT_FLOAT32));
		float_put(rb, i, DT_FLOAT32, float_special(i % SPECIALS, DT_FLOAT32));
	}
	for (unsigned op = 0; op < OP_END; op++)
		for (unsigned dt = 0; dt < DTYPE_END; dt++) {
			tier0_fn *more = others->op[op][dt], *fn = isa->op[op][dt];

			cr_assert(!more || fn);
			cr_assert_eq(fn && dt != DT_INT64 && dt != DT_UINT64 && dt < DT_FLOAT64,
				     more != NULL, "%u %u", op, dt);
			if (!more)
				continue;
			memset(rc, 0, sizeof rc);
			memset(rd, 0, sizeof rd);
			more(rc, ra, rb, rb, PAIRS);
			fn(rd, ra, rb, rb, PAIRS);
			cr_assert(!memcmp(rc, rd, sizeof rc), "%s %s", op_row(op)->id,
				  dtype_row(dt)->suffix);
		}
}

Test(ew, loops_of_more_lanes_have_the_bits_of_the_others)
{
	static const struct tier0_isa *const more[ISA_END] = {
		&tier0_isa_v2_wide, &tier0_isa_v3_wide, &tier0_isa_v4_wide};

	for (int level = 0; level <= (int)isa_best(); level++)
		compare_wide(isas[level], more[level]);
}
