/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that are braze's own with AVX-512, and libmvec's without, at each level that this
 * processor has: kernels/native_math.h. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "loops/tier0_ops.h"

enum { N = 2048, RANGES = 6, ENDS = 6 };

/* Numbers of float32, too, lie in doubles here.  Ends: where neighbouring numbers are looked at, as
 * are those at 0, at the least normal number, at infinity, and at their negatives. */
static const struct function {
	const char *name;
	unsigned op;
	enum dtype dtype;
	long double (*want)(long double);
	double most; /* ulp, of braze's own */
	double range[RANGES][2];
	double end[ENDS];
} all[] = {
	{"exp",
	 OP_EXP,
	 DT_FLOAT64,
	 expl,
	 0.8,
	 {{-1, 1}, {-746, 710}, {-746, -708}, {709, 710}, {-0x1p-50, 0x1p-50}},
	 {0x1.62e42fefa39efp+9, -0x1.74910d52d3051p+9, -0x1.6232bdd7abcd2p+9, 0.34657359027997264}},
	{"log",
	 OP_LOG,
	 DT_FLOAT64,
	 logl,
	 0.85,
	 {{0.5, 2}, {0.9, 1.2}, {0, 0x1p-1020}, {0.999, 1.001}, {-1, 1}},
	 {1, 0.75, 1.5, 1.0625, 0.96875}},
	{"sinh",
	 OP_SINH,
	 DT_FLOAT64,
	 sinhl,
	 0.9,
	 {{-2, 2}, {-711, 711}, {-40, 40}, {17, 20}, {-0x1p-1020, 0x1p-1020}, {-0x1p-20, 0x1p-20}},
	 {0x1.633ce8fb9f87dp+9, -0x1.633ce8fb9f87dp+9, 0.34657359027997264, 1.0397207708399179}},
	{"tanh",
	 OP_TANH,
	 DT_FLOAT64,
	 tanhl,
	 1.01,
	 {{-2, 2}, {-20, 20}, {18, 20}, {-0x1p-1020, 0x1p-1020}, {-0x1p-20, 0x1p-20}, {0.1, 0.2}},
	 {0x1.30fc1931f09c9p+4, 0.17328679513998632, 20}},
	{"acosh",
	 OP_ARCCOSH,
	 DT_FLOAT64,
	 acoshl,
	 0.9,
	 {{0.9, 3}, {1, 1.001}, {1, 1 + 0x1p-40}, {0x1p27, 0x1p29}, {-1e9, 1e9}, {1.0, 1.02}},
	 {1, 2, 0x1p28, 1.25, -1, 0x1p1023}},
	{"asinh",
	 OP_ARCSINH,
	 DT_FLOAT64,
	 asinhl,
	 1.05,
	 {{-2, 2}, {-0.1, 0.1}, {-0x1p-20, 0x1p-20}, {0x1p27, 0x1p29}, {-1e9, 1e9}, {0.9, 1.3}},
	 {1, -1, 0x1p28, 0x1p-53, 0.25, -0x1p1023}},
	{"log",
	 OP_LOG,
	 DT_FLOAT32,
	 logl,
	 0.8,
	 {{0.5, 2}, {0.9, 1.2}, {0, 0x1p-120}, {0.999, 1.001}, {-1, 1}},
	 {1, 0.75, 1.5, 1.0625, 0.96875}},
	{"acosh",
	 OP_ARCCOSH,
	 DT_FLOAT32,
	 acoshl,
	 1.65,
	 {{0.9, 3}, {1, 1.001}, {1, 1.2}, {0x1p27, 0x1p29}, {-1e9, 1e9}, {1.0, 1.02}},
	 {1, 2, 0x1p28, 1.25, -1, 0x1p127}},
};
static const double common[] = {0, 0x1p-1022, 0x1p-126, HUGE_VAL, -0.0, -0x1p-1022, -HUGE_VAL};

static double in[N], out[ISA_END][N];
static long double want[N];

static void compute_floats(const struct function *f, enum isa_level level)
{
	static const struct tier0_isa *const wide[] = {&tier0_isa_v2_wide, &tier0_isa_v3_wide,
						       &tier0_isa_v4_wide};
	static float x[N], y[N], other[N];

	for (int i = 0; i < N; i++)
		x[i] = (float)in[i];
	wide[level]->op[f->op][DT_FLOAT32]((char *)y, (char *)x, NULL, NULL, N);
	tier0_table(level)->op[f->op][DT_FLOAT32]((char *)other, (char *)x, NULL, NULL, N);
	cr_assert_arr_eq(y, other, sizeof y);
	for (int i = 0; i < N; i++)
		out[level][i] = y[i];
}

static void compute(const struct function *f, enum isa_level level)
{
	if (f->dtype == DT_FLOAT32)
		compute_floats(f, level);
	else
		tier0_table(level)->op[f->op][DT_FLOAT64]((char *)out[level], (char *)in, NULL,
							  NULL, N);
}

/* In ulp; of infinity as of the power of two behind the greatest number. */
static double distance(const struct function *f, double got, long double from)
{
	const bool single = f->dtype == DT_FLOAT32;
	const long double top = single ? 0x1p128L : 0x1p1024L;
	const int digits = single ? 24 : 53, least = single ? -149 : -1074;
	const long double a = isinf(got) ? copysignl(top, got) : got;
	const long double b = fabsl(from) > top ? copysignl(top, from) : from;
	int power;

	frexpl(fabsl(b) < top ? b : top / 2, &power);
	return (double)(fabsl(a - b) / ldexpl(1, power - digits < least ? least : power - digits));
}

static void check(const struct function *f)
{
	for (int i = 0; i < N; i++)
		want[i] = f->want(in[i]);
	for (int level = ISA_V2; level <= (int)isa_best(); level++) {
		double most = level == ISA_V4 ? f->most : 4;

		compute(f, (enum isa_level)level);
		for (int i = 0; i < N; i++) {
			double got = out[level][i];

			if (isnan(want[i]) || isnan(got))
				cr_assert(isnan(want[i]) && isnan(got), "%s(%a) of level %d: %a",
					  f->name, in[i], level, got);
			else
				cr_assert_leq(distance(f, got, want[i]), most,
					      "%s(%a) of level %d: %a, not %La", f->name, in[i],
					      level, got, want[i]);
			if (got == 0)
				cr_assert_eq(!signbit(got), !signbit(want[i]), "%s(%a)", f->name,
					     in[i]);
		}
	}
}

static uint64_t next(void)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return state ^ state >> 29;
}

static double part(void)
{
	return (double)(next() >> 11) * 0x1p-53;
}

/* The number of a pattern of bits; and the pattern. */
static double number(const struct function *f, uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float single;
	double x;

	memcpy(&x, &bits, sizeof x);
	memcpy(&single, &low, sizeof single);
	return f->dtype == DT_FLOAT32 ? single : x;
}

static uint64_t pattern(const struct function *f, double x)
{
	float single = (float)x;
	uint32_t low;
	uint64_t bits;

	memcpy(&bits, &x, sizeof bits);
	memcpy(&low, &single, sizeof low);
	return f->dtype == DT_FLOAT32 ? low : bits;
}

static void check_beside(const struct function *f, double end)
{
	for (int i = 0; i < N; i++)
		in[i] = number(f, pattern(f, end) + (uint64_t)i - N / 2);
	check(f);
}

Test(native_math, is_near_the_true_value)
{
	for (const struct function *f = all; f < all + sizeof all / sizeof *all; f++) {
		for (int k = 0; k < 64; k++) {
			for (int i = 0; i < N; i++)
				in[i] = number(f, next());
			check(f);
		}
		for (int k = 0; k < 32 * RANGES; k++) {
			const double *range = f->range[k / 32];

			for (int i = 0; i < N; i++)
				in[i] = number(
					f, pattern(f, range[0] + (range[1] - range[0]) * part()));
			check(f);
		}
		for (int k = 0; k < ENDS; k++)
			check_beside(f, f->end[k]);
		for (int k = 0; k < (int)(sizeof common / sizeof *common); k++)
			check_beside(f, common[k]);
	}
}

Test(native_math, is_exact_where_it_can_be)
{
	static const struct {
		unsigned op;
		double x, y;
	} exact[] = {
		{OP_EXP, 0, 1},
		{OP_EXP, -0.0, 1},
		{OP_EXP, HUGE_VAL, HUGE_VAL},
		{OP_EXP, -HUGE_VAL, 0},
		{OP_LOG, 1, 0},
		{OP_LOG, 0, -HUGE_VAL},
		{OP_LOG, -0.0, -HUGE_VAL},
		{OP_LOG, HUGE_VAL, HUGE_VAL},
		{OP_SINH, 0, 0},
		{OP_SINH, -0.0, -0.0},
		{OP_SINH, -0x1p-1074, -0x1p-1074},
		{OP_SINH, HUGE_VAL, HUGE_VAL},
		{OP_SINH, -HUGE_VAL, -HUGE_VAL},
		{OP_TANH, 0, 0},
		{OP_TANH, -0.0, -0.0},
		{OP_TANH, -0x1p-1074, -0x1p-1074},
		{OP_TANH, 20, 1},
		{OP_TANH, -1e300, -1},
		{OP_TANH, HUGE_VAL, 1},
		{OP_TANH, -HUGE_VAL, -1},
		{OP_ARCCOSH, 1, 0},
		{OP_ARCCOSH, HUGE_VAL, HUGE_VAL},
		{OP_ARCSINH, 0, 0},
		{OP_ARCSINH, -0.0, -0.0},
		{OP_ARCSINH, -0x1p-1074, -0x1p-1074},
		{OP_ARCSINH, HUGE_VAL, HUGE_VAL},
		{OP_ARCSINH, -HUGE_VAL, -HUGE_VAL},
	};

	for (int k = 0; k < (int)(sizeof exact / sizeof *exact); k++) {
		const struct function f = {.op = exact[k].op, .dtype = DT_FLOAT64};

		for (int level = ISA_V2; level <= (int)isa_best(); level++) {
			for (int i = 0; i < N; i++)
				in[i] = i % 2 ? 1.5 : exact[k].x;
			compute(&f, (enum isa_level)level);
			for (int i = 0; i < N; i += 2)
				cr_assert_arr_eq(out[level] + i, &exact[k].y, sizeof exact[k].y,
						 "op %u of %a, level %d: %a", exact[k].op,
						 exact[k].x, level, out[level][i]);
		}
	}
}

/* A lane's number is a function of that lane's operand. */
Test(native_math, depends_on_no_other_lane)
{
	static double apart[N];

	for (const struct function *f = all; f < all + sizeof all / sizeof *all; f++)
		for (int level = ISA_V2; level <= (int)isa_best(); level++) {
			for (int i = 0; i < N; i++)
				in[i] = 1 + i / 7.0;
			compute(f, (enum isa_level)level);
			memcpy(apart, out[level], sizeof apart);
			for (int i = 0; i < N; i++)
				if (i % 3)
					in[i] = common[i % 7];
			compute(f, (enum isa_level)level);
			for (int i = 0; i < N; i += 3)
				cr_assert_eq(out[level][i], apart[i], "%s(%a) of level %d", f->name,
					     in[i], level);
		}
}

/* ---- Powers ---- */

static double to[N]; /* exponents of the numbers in `in` */

static void compute_powers(const struct function *f, enum isa_level level)
{
	static const struct tier0_isa *const wide[] = {&tier0_isa_v2_wide, &tier0_isa_v3_wide,
						       &tier0_isa_v4_wide};
	static float x[N], y[N], r[N], other[N];

	if (f->dtype == DT_FLOAT64) {
		tier0_table(level)->op[OP_POWER][DT_FLOAT64]((char *)out[level], (char *)in,
							     (char *)to, NULL, N);
		return;
	}
	for (int i = 0; i < N; i++) {
		x[i] = (float)in[i];
		y[i] = (float)to[i];
	}
	wide[level]->op[OP_POWER][DT_FLOAT32]((char *)r, (char *)x, (char *)y, NULL, N);
	tier0_table(level)->op[OP_POWER][DT_FLOAT32]((char *)other, (char *)x, (char *)y, NULL, N);
	cr_assert_arr_eq(r, other, sizeof r);
	for (int i = 0; i < N; i++)
		out[level][i] = r[i];
}

static void check_powers(const struct function *f)
{
	for (int i = 0; i < N; i++) {
		in[i] = isnan(in[i]) ? NAN : f->dtype == DT_FLOAT32 ? (float)in[i] : in[i];
		to[i] = isnan(to[i]) ? NAN : f->dtype == DT_FLOAT32 ? (float)to[i] : to[i];
		if (to[i] == 3) /* a product, which is not as near */
			to[i] = 5;
		want[i] = powl(in[i], to[i]);
	}
	for (int level = ISA_V2; level <= (int)isa_best(); level++) {
		double most = level == ISA_V4 ? f->most : 4;

		compute_powers(f, (enum isa_level)level);
		for (int i = 0; i < N; i++) {
			double got = out[level][i];

			if (isnan(want[i]) || isnan(got))
				cr_assert(isnan(want[i]) && isnan(got),
					  "%a ** %a of level %d: %a, not %La", in[i], to[i], level,
					  got, want[i]);
			else
				cr_assert(distance(f, got, want[i]) <= most &&
						  !signbit(got) == !signbit(want[i]),
					  "%a ** %a of level %d: %a, not %La", in[i], to[i], level,
					  got, want[i]);
		}
	}
}

/* Exponents by which the logarithm of the power is from -most to most. */
static void set_exponents(double most)
{
	for (int i = 0; i < N; i++)
		to[i] = (2 * part() - 1) * most / log(fabs(in[i]));
}

static const struct function powers[] = {
	{.name = "pow", .dtype = DT_FLOAT64, .most = 0.8},
	{.name = "pow", .dtype = DT_FLOAT32, .most = 0.8},
};

/* Near 1 what the logarithm lacks counts most; c of the table is 1 from 0.98125 to 1.025. */
Test(native_math, powers_are_near_the_true_value)
{
	static const double range[][2] = {{0, 2},	 {0.7, 1.4}, {0.93, 1.12}, {0.9999, 1.001},
					  {0, 0x1p-126}, {0, 1e30},  {-2, 2},	   {1.024, 1.026}};

	for (const struct function *f = powers; f < powers + 2; f++) {
		const bool single = f->dtype == DT_FLOAT32;

		for (int k = 0; k < 64 * 8; k++) {
			for (int i = 0; i < N; i++)
				in[i] = range[k % 8][0] +
					(range[k % 8][1] - range[k % 8][0]) * part();
			set_exponents(k & 64 ? 3 : single ? 104 : 746);
			check_powers(f);
		}
		for (int k = 0; k < 64; k++) {
			for (int i = 0; i < N; i++)
				in[i] = number(f, next());
			set_exponents(single ? 104 : 746);
			check_powers(f);
			for (int i = 0; i < N; i++)
				to[i] = (double)(next() % 41) - 20;
			check_powers(f);
			for (int i = 0; i < N; i++)
				to[i] = number(f, next());
			check_powers(f);
		}
	}
}

static const double odd_ones[] = {
	0,	     -0.0,	  1,	     -1,	  HUGE_VAL,
	-HUGE_VAL,   NAN,	  2,	     -2,	  5,
	-5,	     0.5,	  -0.5,	     1.5,	  -1.5,
	0x1p-149,    0x1p-126,	  -0x1p-126, 0x1p127,	  -0x1p127,
	0x1p24,	     0x1p24 - 1,  -0x1p23,   1 + 0x1p-23, 0.7,
	1 - 0x1p-24, 0x1p-1074,	  0x1p-1022, 0x1p1023,	  0x1p53 - 1,
	-0x1p53,     1 - 0x1p-53, 1e300,     -1e300,	  -1e-320,
	-1074,	     -1075,	  1024,	     1023,	  0x1.fffffffffffffp1023,
};

Test(native_math, powers_of_and_to_numbers_that_are_not_ordinary)
{
	enum { ODD = sizeof odd_ones / sizeof *odd_ones };

	cr_assert_lt(ODD * ODD, N);
	for (const struct function *f = powers; f < powers + 2; f++) {
		for (int i = 0; i < N; i++) {
			in[i] = odd_ones[i / ODD % ODD];
			to[i] = odd_ones[i % ODD];
		}
		check_powers(f);
	}
}

Test(native_math, powers_depend_on_no_other_lane)
{
	static double apart[N];

	for (const struct function *f = powers; f < powers + 2; f++)
		for (int level = ISA_V2; level <= (int)isa_best(); level++) {
			for (int i = 0; i < N; i++) {
				in[i] = 0.9 + i / 7000.0;
				to[i] = i % 50 - 20.5;
			}
			compute_powers(f, (enum isa_level)level);
			memcpy(apart, out[level], sizeof apart);
			for (int i = 0; i < N; i++)
				if (i % 3) {
					in[i] = odd_ones[i % 37];
					to[i] = odd_ones[i % 31];
				}
			compute_powers(f, (enum isa_level)level);
			for (int i = 0; i < N; i += 3)
				cr_assert_eq(out[level][i], apart[i], "%a ** %a of level %d", in[i],
					     to[i], level);
		}
}
