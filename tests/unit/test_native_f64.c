/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of float64 that are braze's own with AVX-512, and libmvec's without, at each level that
 * this processor has: kernels/native_f64.h. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "loops/tier0_ops.h"

enum { N = 2048, RANGES = 6, ENDS = 6 };

/* Ends: where neighbouring numbers are looked at, as are those at 0, at the least normal number, at
 * infinity, and at their negatives. */
static const struct function {
	const char *name;
	unsigned op;
	long double (*want)(long double);
	double most; /* ulp, of braze's own */
	double range[RANGES][2];
	double end[ENDS];
} all[] = {
	{"exp",
	 OP_EXP,
	 expl,
	 0.8,
	 {{-1, 1}, {-746, 710}, {-746, -708}, {709, 710}, {-0x1p-50, 0x1p-50}},
	 {0x1.62e42fefa39efp+9, -0x1.74910d52d3051p+9, -0x1.6232bdd7abcd2p+9, 0.34657359027997264}},
	{"log",
	 OP_LOG,
	 logl,
	 0.85,
	 {{0.5, 2}, {0.9, 1.2}, {0, 0x1p-1020}, {0.999, 1.001}, {-1, 1}},
	 {1, 0.75, 1.5, 1.0625, 0.96875}},
	{"sinh",
	 OP_SINH,
	 sinhl,
	 0.9,
	 {{-2, 2}, {-711, 711}, {-40, 40}, {17, 20}, {-0x1p-1020, 0x1p-1020}, {-0x1p-20, 0x1p-20}},
	 {0x1.633ce8fb9f87dp+9, -0x1.633ce8fb9f87dp+9, 0.34657359027997264, 1.0397207708399179}},
	{"tanh",
	 OP_TANH,
	 tanhl,
	 1.01,
	 {{-2, 2}, {-20, 20}, {18, 20}, {-0x1p-1020, 0x1p-1020}, {-0x1p-20, 0x1p-20}, {0.1, 0.2}},
	 {0x1.30fc1931f09c9p+4, 0.17328679513998632, 20}},
	{"acosh",
	 OP_ARCCOSH,
	 acoshl,
	 0.9,
	 {{0.9, 3}, {1, 1.001}, {1, 1 + 0x1p-40}, {0x1p27, 0x1p29}, {-1e9, 1e9}, {1.0, 1.02}},
	 {1, 2, 0x1p28, 1.25, -1, 0x1p1023}},
};
static const double common[] = {0, 0x1p-1022, HUGE_VAL, -0.0, -0x1p-1022, -HUGE_VAL};

static double in[N], out[ISA_END][N];
static long double want[N];

static void compute(const struct function *f, enum isa_level level)
{
	tier0_table(level)->op[f->op][DT_FLOAT64]((char *)out[level], (char *)in, NULL, NULL, N);
}

/* Of infinity as of 2^1024. */
static double distance(double got, long double from)
{
	const long double top = 0x1p1024L;
	const long double a = isinf(got) ? copysignl(top, got) : got;
	const long double b = fabsl(from) > top ? copysignl(top, from) : from;
	int power;

	frexpl(fabsl(b) < top ? b : top / 2, &power);
	return (double)(fabsl(a - b) / ldexpl(1, power - 53 < -1074 ? -1074 : power - 53));
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
				cr_assert_leq(distance(got, want[i]), most,
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

static void check_beside(const struct function *f, double end)
{
	uint64_t bits;

	memcpy(&bits, &end, sizeof bits);
	for (int i = 0; i < N; i++) {
		uint64_t at = bits + (uint64_t)i - N / 2;

		memcpy(in + i, &at, sizeof at);
	}
	check(f);
}

Test(native_f64, is_near_the_true_value)
{
	for (const struct function *f = all; f < all + sizeof all / sizeof *all; f++) {
		for (int k = 0; k < 64; k++) {
			for (int i = 0; i < N; i++) {
				uint64_t bits = next();

				memcpy(in + i, &bits, sizeof bits);
			}
			check(f);
		}
		for (int k = 0; k < 32 * RANGES; k++) {
			const double *range = f->range[k / 32];

			for (int i = 0; i < N; i++)
				in[i] = range[0] +
					(range[1] - range[0]) * ((double)(next() >> 11) * 0x1p-53);
			check(f);
		}
		for (int k = 0; k < ENDS; k++)
			check_beside(f, f->end[k]);
		for (int k = 0; k < (int)(sizeof common / sizeof *common); k++)
			check_beside(f, common[k]);
	}
}

Test(native_f64, is_exact_where_it_can_be)
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
	};

	for (int k = 0; k < (int)(sizeof exact / sizeof *exact); k++) {
		const struct function f = {.op = exact[k].op};

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
Test(native_f64, depends_on_no_other_lane)
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
					in[i] = common[i % 6];
			compute(f, (enum isa_level)level);
			for (int i = 0; i < N; i += 3)
				cr_assert_eq(out[level][i], apart[i], "%s(%a) of level %d", f->name,
					     in[i], level);
		}
}
