/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that are braze's own, at each level that this processor has: kernels/native.h. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "loops/tier0_ops.h"

enum { N = 4096 };

/* The numbers of `n` neighbouring bit patterns, by the wide loop and by the other. */
static void exp_at(float *out, float *in, uint32_t from, enum isa_level level)
{
	static const struct tier0_isa *const wide[] = {&tier0_isa_v2_wide, &tier0_isa_v3_wide,
						       &tier0_isa_v4_wide};
	float other[N];

	for (uint32_t i = 0; i < N; i++) {
		uint32_t bits = from + i;

		memcpy(in + i, &bits, sizeof bits);
	}
	wide[level]->op[OP_EXP][DT_FLOAT32]((char *)out, (char *)in, NULL, NULL, N);
	tier0_table(level)->op[OP_EXP][DT_FLOAT32]((char *)other, (char *)in, NULL, NULL, N);
	cr_assert_arr_eq(out, other, sizeof other);
}

static void near(float x, float got, double most)
{
	double want = exp(x), unit;
	int power;

	if (isnan(x) || (float)want == HUGE_VALF || got == HUGE_VALF) {
		/* Halfway between the greatest number and the next is 2^128 less an eighth ulp. */
		cr_assert(isnan(x) ? isnan(got)
				   : got == (float)want || fabs(want / 0x1p128 - 1) < 0x1p-24,
			  "exp(%a) is not %a", (double)x, (double)got);
		return;
	}
	frexp(want, &power);
	unit = ldexp(1, power - 24 < -149 ? -149 : power - 24);
	cr_assert_leq(fabs((double)got - want) / unit, most, "exp(%a): %a, not %a", (double)x,
		      (double)got, want);
}

/* One pattern of bits in some hundred, and all that lie at the ends of ranges. */
Test(native, exp_of_float32)
{
	static const float ends[] = {0,		-0.0f,	    88.7f,     88.72284f, -87.33655f,
				     -103.972f, -103.9721f, HUGE_VALF, -HUGE_VALF};
	static float in[N], out[ISA_END][N];
	const enum isa_level best = isa_best();

	for (uint64_t k = 0; k < (1u << 20) / 97 + sizeof ends / sizeof *ends; k++) {
		uint32_t from = (uint32_t)(k * 97 * N), end;

		if (k >= (1u << 20) / 97) {
			memcpy(&end, ends + (k - (1u << 20) / 97), sizeof end);
			from = end - N / 2;
		}
		for (int level = ISA_V2; level <= (int)best; level++) {
			exp_at(out[level], in, from, (enum isa_level)level);
			for (int i = 0; i < N; i += k % 64 ? 61 : 1)
				near(in[i], out[level][i], level == ISA_V2 ? 1.18 : 0.91);
			if (level > ISA_V3)
				cr_assert_arr_eq(out[level], out[ISA_V3], sizeof *out);
		}
	}
}

Test(native, exp_of_float32_is_exact_where_it_can_be)
{
	float in[N], out[N];

	for (int level = ISA_V2; level <= (int)isa_best(); level++) {
		exp_at(out, in, 0x80000000u - N / 2, (enum isa_level)level);
		cr_assert_eq(out[N / 2], 1, "exp(-0)");
		exp_at(out, in, 0, (enum isa_level)level);
		cr_assert_eq(out[0], 1, "exp(0)");
		exp_at(out, in, 0x7f800000u - 1, (enum isa_level)level);
		cr_assert_eq(out[1], HUGE_VALF, "exp(inf)");
		cr_assert(isnan(out[2]), "exp(nan)");
		exp_at(out, in, 0xff800000u, (enum isa_level)level);
		cr_assert(out[0] == 0 && !signbit(out[0]), "exp(-inf)");
	}
}

/* Whatever its neighbours are: at the ends of the range a whole vector takes another way. */
Test(native, exp_of_float32_beside_any_other)
{
	static const float others[] = {0, 89, -88, -104, HUGE_VALF, -HUGE_VALF, NAN};
	float in[N], alone[N], mixed[N], out[N];

	for (int level = ISA_V2; level <= (int)isa_best(); level++) {
		const struct tier0_isa *t = tier0_table((enum isa_level)level);

		for (int i = 0; i < N; i++)
			in[i] = (float)(i - N / 2) * 0.05f;
		t->op[OP_EXP][DT_FLOAT32]((char *)alone, (char *)in, NULL, NULL, N);
		for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
			for (int i = 0; i < N; i++)
				mixed[i] = i % 5 ? in[i] : others[k];
			t->op[OP_EXP][DT_FLOAT32]((char *)out, (char *)mixed, NULL, NULL, N);
			for (int i = 0; i < N; i++)
				if (i % 5)
					cr_assert_arr_eq(out + i, alone + i, sizeof *out, "exp(%a)",
							 (double)in[i]);
		}
	}
}
