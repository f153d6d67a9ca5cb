/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_pre.c - casts of every pair of types; loads and stores of every
 * length; 16 lanes give the bits of 8. */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "float16.h"
#include "loops/isa.h"
#include "loops/tier0_ops.h"

#define BZ_WIDTH 16
#include "native.h"
#include "native_math.h"
#include "pre.h"
#include "ew.h"
#include "half.h"
#include "f16.h"
#include "cx.h"
#include "tree.h"

static const struct tier0_isa *const isas[ISA_END] = {&tier0_isa_v2, &tier0_isa_v3, &tier0_isa_v4};
static char src[1024], dst[1024];

/* A value put into an element of a type and read back as the first 8 bytes. */
static void put(char *p, unsigned dt, double v)
{
	float f = (float)v;
	uint16_t h = dt == DT_FLOAT16 ? float16_bits(v) : bfloat16_bits(v);
	int64_t i = dt == DT_UINT64 ? (int64_t)(uint64_t)v : (int64_t)v;

	memset(p, 0, dtype_row(dt)->bytes);
	if (dt == DT_FLOAT32 || dt == DT_COMPLEX64)
		memcpy(p, &f, 4);
	else if (dt == DT_FLOAT64 || dt == DT_COMPLEX128)
		memcpy(p, &v, 8);
	else if (dt == DT_FLOAT16 || dt == DT_BFLOAT16)
		memcpy(p, &h, 2);
	else
		memcpy(p, &i, dtype_row(dt)->bytes);
}

static double get(const char *p, unsigned dt)
{
	float f;
	double d;
	uint64_t raw = 0;
	int shift = 64 - 8 * dtype_row(dt)->bytes;

	if (dt == DT_FLOAT32 || dt == DT_COMPLEX64) {
		memcpy(&f, p, 4);
		return f;
	}
	if (dt == DT_FLOAT64 || dt == DT_COMPLEX128) {
		memcpy(&d, p, 8);
		return d;
	}
	memcpy(&raw, p, dtype_row(dt)->bytes);
	if (dt == DT_FLOAT16)
		return float16_value((uint16_t)raw);
	if (dt == DT_BFLOAT16)
		return bfloat16_value((uint16_t)raw);
	if (dtype_row(dt)->cls == CLASS_INT)
		return (double)((int64_t)(raw << shift) >> shift);
	return (double)raw;
}

Test(pre, every_cast_keeps_what_both_types_hold)
{
	static const double v[8] = {0, 1, 2, 100, 127, 3, 64, 1};

	for (int level = 0; level <= (int)isa_best(); level++)
		for (unsigned from = 0; from < DTYPE_END; from++)
			for (unsigned to = 0; to < DTYPE_END; to++) {
				for (int i = 0; i < 8; i++)
					put(src + i * dtype_row(from)->bytes, from,
					    from == DT_BOOL ? v[i] != 0 : v[i]);
				isas[level]->cast[from][to](dst, src, src, src, 8);
				for (int i = 0; i < 8; i++) {
					bool flag = from == DT_BOOL || to == DT_BOOL;
					double want = flag ? v[i] != 0 : v[i];

					cr_assert_eq(get(dst + i * dtype_row(to)->bytes, to), want,
						     "%s to %s [%d]", dtype_row(from)->suffix,
						     dtype_row(to)->suffix, i);
				}
			}
}

/* All of 64 bits, around where they have more digits than a float64 holds. */
static uint64_t long_case(int i)
{
	static const uint64_t edge[] = {0,
					1,
					UINT64_MAX,
					(uint64_t)INT64_MAX,
					(uint64_t)INT64_MIN,
					UINT64_C(1) << 53,
					UINT64_C(1) << 32,
					UINT32_MAX};
	uint64_t x = (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15);

	if (i < 64)
		return edge[i % 8] + (uint64_t)(i / 8) - 4;
	return i % 3 ? x >> i % 64 : ~(x >> i % 64);
}

Test(pre, casts_of_long_integers_round_once)
{
	static uint64_t x[4096];
	static double got[4096];

	for (int i = 0; i < 4096; i++)
		x[i] = long_case(i);
	for (int level = 0; level <= (int)isa_best(); level++) {
		isas[level]->cast[DT_INT64][DT_FLOAT64]((char *)got, (const char *)x, NULL, NULL,
							4096);
		for (int i = 0; i < 4096; i++)
			cr_assert_eq(got[i], (double)(int64_t)x[i], "%llx",
				     (unsigned long long)x[i]);
		isas[level]->cast[DT_UINT64][DT_FLOAT64]((char *)got, (const char *)x, NULL, NULL,
							 4096);
		for (int i = 0; i < 4096; i++)
			cr_assert_eq(got[i], (double)x[i], "%llx", (unsigned long long)x[i]);
	}
}

Test(pre, casts_of_more_lanes_have_the_bits_of_the_others)
{
	static const struct tier0_isa *const wide[ISA_END] = {
		&tier0_isa_v2_wide, &tier0_isa_v3_wide, &tier0_isa_v4_wide};
	static uint32_t x[256], got[256], want[256];

	for (int i = 0; i < 256; i++)
		x[i] = (uint32_t)long_case(i + 64);
	for (int level = 0; level <= (int)isa_best(); level++)
		for (unsigned from = 0; from < DTYPE_END; from++)
			for (unsigned to = 0; to < DTYPE_END; to++) {
				if (!wide[level]->cast[from][to])
					continue;
				wide[level]->cast[from][to]((char *)got, (const char *)x, NULL,
							    NULL, 256);
				isas[level]->cast[from][to]((char *)want, (const char *)x, NULL,
							    NULL, 256);
				cr_assert(!memcmp(got, want, 256u * dtype_row(to)->bytes),
					  "%s to %s", dtype_row(from)->suffix,
					  dtype_row(to)->suffix);
			}
}

Test(pre, casts_wrap_cut_and_never_trap)
{
	static const int64_t wide[8] = {-1, 256, 0x123456789a, INT64_MIN, INT64_MAX, -129, 128, 0};
	static const double f[8] = {NAN, 1e300, -1e300, INFINITY, -5.9, 300.7, 3e9, 9.3e18};

	for (int level = 0; level <= (int)isa_best(); level++) {
		isas[level]->cast[DT_INT64][DT_INT8](dst, (const char *)wide, src, src, 8);
		for (int i = 0; i < 8; i++)
			cr_assert_eq(((int8_t *)dst)[i], (int8_t)wide[i]);
		isas[level]->cast[DT_INT64][DT_UINT64](dst, (const char *)wide, src, src, 8);
		cr_assert(!memcmp(dst, wide, 64));
		isas[level]->cast[DT_FLOAT64][DT_INT64](dst, (const char *)f, src, src, 8);
		for (int i = 0; i < 8; i++)
			cr_assert_eq(((int64_t *)dst)[i],
				     i < 4 || i == 7 ? INT64_MIN : (int64_t)f[i]);
		isas[level]->cast[DT_FLOAT64][DT_INT32](dst, (const char *)f, src, src, 8);
		for (int i = 0; i < 8; i++)
			cr_assert_eq(((int32_t *)dst)[i],
				     i < 4 || i > 5 ? INT32_MIN : (int32_t)f[i]);
		isas[level]->cast[DT_FLOAT64][DT_UINT8](dst, (const char *)f, src, src, 8);
		cr_assert(((uint8_t *)dst)[4] == 251 && ((uint8_t *)dst)[5] == 44);
		isas[level]->cast[DT_FLOAT64][DT_UINT32](dst, (const char *)f, src, src, 8);
		cr_assert(((uint32_t *)dst)[4] == (uint32_t)-5 &&
			  ((uint32_t *)dst)[6] == 3000000000u);
		isas[level]->cast[DT_FLOAT64][DT_UINT64](dst, (const char *)f, src, src, 8);
		cr_assert(((uint64_t *)dst)[7] == 9300000000000000000u &&
			  ((uint64_t *)dst)[4] == (uint64_t)-5);
		isas[level]->cast[DT_FLOAT64][DT_BOOL](dst, (const char *)f, src, src, 8);
		cr_assert(dst[0] == 1, "NaN is true");
	}
}

Test(pre, partial_loads_and_stores_touch_n_lanes_only)
{
	float in[64], out[64];

	for (int i = 0; i < 64; i++)
		in[i] = (float)i;
	for (int n = 0; n <= BZ_W; n++) {
		bz_f32 v = bz_ldn_f32((const char *)(in + 1), n), s;

		for (int i = 0; i < BZ_W; i++)
			cr_assert_eq(v[i], (float)(i < n ? 1 + i : 1));
		s = bz_ldsn_f32((const char *)(in + 50), -8, n);
		for (int i = 0; i < n; i++)
			cr_assert_eq(s[i], (float)(50 - 2 * i));
		memset(out, 0, sizeof out);
		bz_stn_f32((char *)out, n, v);
		bz_stsn_f32((char *)(out + 20), 8, n, v);
		for (int i = 0; i < BZ_W; i++) {
			cr_assert_eq(out[i], (float)(i < n ? 1 + i : 0));
			cr_assert_eq(out[20 + 2 * i], (float)(i < n ? 1 + i : 0));
			cr_assert_eq(out[21 + 2 * i], 0);
		}
	}
	bz_sts_f32((char *)out, 4, bz_lds_f32((const char *)in, 12));
	cr_assert(out[0] == 0 && out[BZ_W - 1] == 3 * (BZ_W - 1));
	bz_st_f32((char *)out, bz_ld_f32((const char *)(in + 3)));
	cr_assert(out[0] == 3 && out[BZ_W - 1] == 2 + BZ_W);
	cr_assert_eq(bz_dup_f32((const char *)(in + 9))[BZ_W - 1], 9);
}

Test(pre, immediates_and_scribbled_bools)
{
	static const char bytes[16] = {0, 1, 2, (char)0x80, (char)0xff, 0, 1, 3};
	bz_b1 b = bz_ld_b1(bytes), s = bz_ldsn_b1(bytes, 2, 4);
	bz_f32 f = bz_imm_f32(0xffffffff3fc00000u, 7);

	for (int i = 0; i < BZ_W; i++)
		cr_assert_eq(b[i], bytes[i] != 0);
	cr_assert(s[0] == 0 && s[1] == 1 && s[2] == 1 && s[3] == 1);
	cr_assert_eq(bz_dup_b1(bytes + 3)[BZ_W - 1], 1);
	cr_assert_eq(f[BZ_W - 1], 1.5f);
	cr_assert_eq(bz_imm_i16(0xffff8000u, 0)[BZ_W - 1], INT16_MIN);
	cr_assert_eq(bz_imm_b1(2, 0)[0], 1);
}

#define SAME_BITS(id, stem, t)                                                                     \
	do {                                                                                       \
		char got[sizeof(bz_##t)];                                                          \
		bz_st_##t(got, bz_##stem##_##t(bz_ld_##t(src), bz_ld_##t(src + sizeof(bz_##t))));  \
		isas[0]->op[id][DT_FLOAT32](dst, src, src + sizeof(bz_##t), src, BZ_W);            \
		cr_assert(!memcmp(got, dst, sizeof got), #stem);                                   \
	} while (0)

Test(pre, registers_of_narrow_types_have_the_bits_of_loops)
{
	for (int i = 0; i < 64; i++)
		put(src + 4 * i, DT_FLOAT32, 0.31 * i + 0.07);
	SAME_BITS(OP_ADD, add, f32);
	SAME_BITS(OP_POWER, pow, f32);
	SAME_BITS(OP_ARCTAN2, atan2, f32);
	SAME_BITS(OP_HYPOT, hypot, f32);
	SAME_BITS(OP_LOGADDEXP, logaddexp, f32);
	SAME_BITS(OP_REMAINDER, rem, f32);
	SAME_BITS(OP_FLOOR_DIVIDE, fdiv, f32);
	SAME_BITS(OP_MINIMUM, min, f32);
}

/* The tree's lanes do not depend on how many of them a register has. */
Test(pre, registers_of_narrow_types_sum_as_loops)
{
	static float x[TREE_BLOCK];
	_Alignas(64) char state[TIER0_STATE_BYTES];
	bz_f32 acc[BZ_R_f32];
	struct bz_acc out;

	for (int i = 0; i < TREE_BLOCK; i++)
		x[i] = (float)sin(i) * (float)(1 << i % 20);
	for (int k = 0; k < BZ_R_f32; k++)
		acc[k] = bz_id_add_f32();
	for (int i = 0; i < TREE_BLOCK / BZ_W; i++)
		acc[i % BZ_R_f32] =
			bz_add_f32(acc[i % BZ_R_f32], bz_ld_f32((const char *)(x + i * BZ_W)));
	isas[0]->red[OP_SUM][DT_FLOAT32].init(state);
	isas[0]->red[OP_SUM][DT_FLOAT32].step(state, (const char *)x, TREE_BLOCK, 0);
	isas[0]->red[OP_SUM][DT_FLOAT32].block(state);
	isas[0]->red[OP_SUM][DT_FLOAT32].end(state, TREE_BLOCK, &out);
	cr_assert_eq(bz_fold_add_f32(acc, TREE_BLOCK), bz_acc_get_f32(&out));
}
