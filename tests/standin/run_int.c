/* SPDX-License-Identifier: Apache-2.0 */
/* run_int.c - integer arithmetic.
 *
 * In: instructions bound by run_int_find.  Signed overflow wraps, so sums and
 * products are computed in unsigned types; division by zero gives all ones, as
 * the hardware does. */
#include "run.h"
#include <string.h>

BINARY(add, u16, a[l] + b[l])
BINARY(add, u32, a[l] + b[l])
BINARY(add, u64, a[l] + b[l])
BINARY(sub, u16, a[l] - b[l])
BINARY(sub, u32, a[l] - b[l])
BINARY(sub, u64, a[l] - b[l])
BINARY(mul, u16, (u32)a[l] * b[l])
BINARY(mul, u32, a[l] * b[l])
BINARY(mul, u64, a[l] * b[l])
BINARY(high, u16, ((u32)a[l] * b[l]) >> 16)
BINARY(high, s16, ((s32)a[l] * b[l]) >> 16)
BINARY(high, u32, ((u64)a[l] * b[l]) >> 32)
BINARY(high, s32, ((s64)a[l] * b[l]) >> 32)
BINARY(high, u64, ((u128)a[l] * b[l]) >> 64)
BINARY(high, s64, ((s128)a[l] * b[l]) >> 64)
TERNARY(mad, u16, (u32)a[l] * b[l] + c[l])
TERNARY(mad, u32, a[l] * b[l] + c[l])
TERNARY(mad, u64, a[l] * b[l] + c[l])
TERNARY(madhigh, u16, (((u32)a[l] * b[l]) >> 16) + c[l])
TERNARY(madhigh, s16, (((s32)a[l] * b[l]) >> 16) + c[l])
TERNARY(madhigh, u32, (((u64)a[l] * b[l]) >> 32) + c[l])
TERNARY(madhigh, s32, (u32)(((s64)a[l] * b[l]) >> 32) + (u32)c[l])
TERNARY(madhigh, u64, (u64)(((u128)a[l] * b[l]) >> 64) + c[l])
TERNARY(madhigh, s64, (u64)(((s128)a[l] * b[l]) >> 64) + (u64)c[l])

#define WIDE(T, W)                                                                                 \
	static void wide_##T(struct run *r, const struct ptx_ins *i)                               \
	{                                                                                          \
		W *d = REG(W, i->d[0]);                                                            \
		const T *a = REG(T, i->s[0]), *b = REG(T, i->s[1]);                                \
		LANES(d[l] = (W)a[l] * (W)b[l];);                                                  \
	}                                                                                          \
	static void madwide_##T(struct run *r, const struct ptx_ins *i)                            \
	{                                                                                          \
		W *d = REG(W, i->d[0]);                                                            \
		const T *a = REG(T, i->s[0]), *b = REG(T, i->s[1]);                                \
		const W *c = REG(W, i->s[2]);                                                      \
		LANES(d[l] = (W)((u64)((W)a[l] * (W)b[l]) + (u64)c[l]););                          \
	}
WIDE(u16, u32)
WIDE(s16, s32)
WIDE(u32, u64)
WIDE(s32, s64)

/* Products of 24-bit numbers. */
static s64 low24(u32 v)
{
	return (s64)((s32)(v << 8) >> 8);
}

BINARY(mul24, u32, (u64)(a[l] & 0xffffff) * (b[l] & 0xffffff))
BINARY(mul24, s32, low24((u32)a[l]) * low24((u32)b[l]))
BINARY(high24, u32, ((u64)(a[l] & 0xffffff) * (b[l] & 0xffffff)) >> 16)
BINARY(high24, s32, (low24((u32)a[l]) * low24((u32)b[l])) >> 16)
TERNARY(mad24, u32, (u64)(a[l] & 0xffffff) * (b[l] & 0xffffff) + c[l])
TERNARY(mad24, s32, (u32)(low24((u32)a[l]) * low24((u32)b[l])) + (u32)c[l])

#define DIVIDE(U, S)                                                                               \
	BINARY(div, U, b[l] ? a[l] / b[l] : (U)-1)                                                 \
	BINARY(rem, U, b[l] ? a[l] % b[l] : a[l])                                                  \
	BINARY(div, S, b[l] == 0 ? -1 : b[l] == -1 ? (S)(0 - (U)a[l]) : a[l] / b[l])               \
	BINARY(rem, S, b[l] == 0 ? a[l] : b[l] == -1 ? 0 : a[l] % b[l])
DIVIDE(u16, s16)
DIVIDE(u32, s32)
DIVIDE(u64, s64)

#define ORDERED(T)                                                                                 \
	BINARY(min, T, a[l] < b[l] ? a[l] : b[l])                                                  \
	BINARY(max, T, a[l] > b[l] ? a[l] : b[l])
ORDERED(u16)
ORDERED(s16)
ORDERED(u32)
ORDERED(s32)
ORDERED(u64)
ORDERED(s64)

#define SIGNED(S, U)                                                                               \
	UNARY(abs, S, a[l] < 0 ? (U)(0 - (U)a[l]) : (U)a[l])                                       \
	UNARY(neg, S, 0 - (U)a[l])                                                                 \
	TERNARY(sad, S, (U)c[l] + (U)(a[l] < b[l] ? (U)b[l] - (U)a[l] : (U)a[l] - (U)b[l]))        \
	TERNARY(sad, U, c[l] + (a[l] < b[l] ? b[l] - a[l] : a[l] - b[l]))
SIGNED(s16, u16)
SIGNED(s32, u32)
SIGNED(s64, u64)

/* ---- carry chains: the last source and the second result are the carry ---- */

#define CARRY(T, W, BITS)                                                                          \
	static void addc_##T(struct run *r, const struct ptx_ins *i)                               \
	{                                                                                          \
		T *d = REG(T, i->d[0]);                                                            \
		const T *a = REG(T, i->s[0]), *b = REG(T, i->s[1]);                                \
		u8 *carry = REG(u8, i->d[1]);                                                      \
		LANES(W sum = (W)a[l] + b[l] + (i->carry_in ? carry[l] : 0); d[l] = (T)sum;        \
		      if (i->carry_out) carry[l] = (u8)(sum >> (BITS)););                          \
	}                                                                                          \
	static void subc_##T(struct run *r, const struct ptx_ins *i)                               \
	{                                                                                          \
		T *d = REG(T, i->d[0]);                                                            \
		const T *a = REG(T, i->s[0]), *b = REG(T, i->s[1]);                                \
		u8 *carry = REG(u8, i->d[1]);                                                      \
		LANES(W sum = (W)a[l] - b[l] - (i->carry_in ? carry[l] : 0); d[l] = (T)sum;        \
		      if (i->carry_out) carry[l] = (u8)((sum >> (BITS)) & 1););                    \
	}                                                                                          \
	static void madc_sum_##T(struct run *r, const struct ptx_ins *i, const T *product)         \
	{                                                                                          \
		T *d = REG(T, i->d[0]);                                                            \
		const T *c = REG(T, i->s[2]);                                                      \
		u8 *carry = REG(u8, i->d[1]);                                                      \
		LANES(W sum = (W)product[l] + c[l] + (i->carry_in ? carry[l] : 0); d[l] = (T)sum;  \
		      if (i->carry_out) carry[l] = (u8)(sum >> (BITS)););                          \
	}
CARRY(u32, u64, 32)
CARRY(u64, u128, 64)

#define MADC(name, T, U, ...)                                                                      \
	static void name##_##T(struct run *r, const struct ptx_ins *i)                             \
	{                                                                                          \
		U *product = (U *)(void *)r->space->wide;                                          \
		const T *a = REG(T, i->s[0]), *b = REG(T, i->s[1]);                                \
		LANES(product[l] = (U)(__VA_ARGS__););                                             \
		madc_sum_##U(r, i, product);                                                       \
	}
MADC(madc, u32, u32, a[l] * b[l])
MADC(madc, u64, u64, a[l] * b[l])
MADC(madchigh, u32, u32, ((u64)a[l] * b[l]) >> 32)
MADC(madchigh, s32, u32, ((s64)a[l] * b[l]) >> 32)
MADC(madchigh, u64, u64, ((u128)a[l] * b[l]) >> 64)
MADC(madchigh, s64, u64, ((s128)a[l] * b[l]) >> 64)

/* ---- products of bytes and halves ---- */

/* Byte or half n of v, extended by its type. */
static s64 piece(u32 v, unsigned n, unsigned bits, bool sign)
{
	u32 p = v >> (n * bits) & ((1u << bits) - 1);

	return sign && p >> (bits - 1) ? (s64)p - (1ll << bits) : (s64)p;
}

static void dp4a(struct run *r, const struct ptx_ins *i)
{
	u32 *d = REG(u32, i->d[0]);
	const u32 *a = REG(u32, i->s[0]), *b = REG(u32, i->s[1]), *c = REG(u32, i->s[2]);
	bool sa = ptx_type_signed(i->type), sb = ptx_type_signed(i->type2);

	LANES(s64 sum = 0;
	      for (unsigned n = 0; n < 4; n++) sum += piece(a[l], n, 8, sa) * piece(b[l], n, 8, sb);
	      d[l] = c[l] + (u32)sum;);
}

static void dp2a(struct run *r, const struct ptx_ins *i)
{
	u32 *d = REG(u32, i->d[0]);
	const u32 *a = REG(u32, i->s[0]), *b = REG(u32, i->s[1]), *c = REG(u32, i->s[2]);
	bool sa = ptx_type_signed(i->type), sb = ptx_type_signed(i->type2);
	unsigned from = i->part == PART_HI ? 2 : 0;

	LANES(s64 sum = 0; for (unsigned n = 0; n < 2; n++) sum +=
			   piece(a[l], n, 16, sa) * piece(b[l], from + n, 8, sb);
	      d[l] = c[l] + (u32)sum;);
}

/* Absolute differences of four bytes; summed onto c with .add. */
static void vabsdiff4(struct run *r, const struct ptx_ins *i)
{
	u32 *d = REG(u32, i->d[0]);
	const u32 *a = REG(u32, i->s[0]), *b = REG(u32, i->s[1]), *c = REG(u32, i->s[2]);
	bool sa = ptx_type_signed(i->type2), sb = sa;

	LANES(u32 all = 0; u32 sum = c[l]; for (unsigned n = 0; n < 4; n++) {
		s64 v = piece(a[l], n, 8, sa) - piece(b[l], n, 8, sb);
		u32 size = (u32)(v < 0 ? -v : v);
		all |= (size & 0xff) << (8 * n);
		sum += size;
	} d[l] = i->mode ? sum : all;);
}

/* ---- which function ---- */

#define INTEGERS(name)                                                                             \
	{                                                                                          \
		[T_U16] = name##_u16, [T_S16] = name##_s16, [T_U32] = name##_u32,                  \
		[T_S32] = name##_s32, [T_U64] = name##_u64, [T_S64] = name##_s64,                  \
	}
/* The sign makes no difference. */
#define WRAPPING(name)                                                                             \
	{                                                                                          \
		[T_U16] = name##_u16, [T_S16] = name##_u16, [T_U32] = name##_u32,                  \
		[T_S32] = name##_u32, [T_U64] = name##_u64, [T_S64] = name##_u64,                  \
		[T_B16] = name##_u16, [T_B32] = name##_u32, [T_B64] = name##_u64,                  \
	}
#define CARRYING(name)                                                                             \
	{                                                                                          \
		[T_U32] = name##_u32, [T_S32] = name##_u32, [T_U64] = name##_u64,                  \
		[T_S64] = name##_u64, [T_B32] = name##_u32, [T_B64] = name##_u64,                  \
	}

static ptx_exec *const by_type[OP_COUNT][T_COUNT] = {
	[OP_ADD] = WRAPPING(add),
	[OP_SUB] = WRAPPING(sub),
	[OP_DIV] = INTEGERS(div),
	[OP_REM] = INTEGERS(rem),
	[OP_MIN] = INTEGERS(min),
	[OP_MAX] = INTEGERS(max),
	[OP_SAD] = INTEGERS(sad),
	[OP_ABS] = {[T_S16] = abs_s16, [T_S32] = abs_s32, [T_S64] = abs_s64},
	[OP_NEG] = {[T_S16] = neg_s16, [T_S32] = neg_s32, [T_S64] = neg_s64},
	[OP_ADDC] = CARRYING(addc),
	[OP_SUBC] = CARRYING(subc),
	[OP_DP4A] = {[T_U32] = dp4a, [T_S32] = dp4a},
	[OP_DP2A] = {[T_U32] = dp2a, [T_S32] = dp2a},
	[OP_VABSDIFF4] = {[T_U32] = vabsdiff4, [T_S32] = vabsdiff4},
};

static ptx_exec *const products[3][T_COUNT] = {
	[PART_LO] = WRAPPING(mul),
	[PART_HI] = INTEGERS(high),
	[PART_WIDE] =
		{[T_U16] = wide_u16, [T_S16] = wide_s16, [T_U32] = wide_u32, [T_S32] = wide_s32},
};
static ptx_exec *const sums[3][T_COUNT] = {
	[PART_LO] = WRAPPING(mad),
	[PART_HI] = INTEGERS(madhigh),
	[PART_WIDE] = {[T_U16] = madwide_u16,
		       [T_S16] = madwide_s16,
		       [T_U32] = madwide_u32,
		       [T_S32] = madwide_s32},
};
static ptx_exec *const carried[3][T_COUNT] = {
	[PART_LO] = CARRYING(madc),
	[PART_HI] = {[T_U32] = madchigh_u32,
		     [T_S32] = madchigh_s32,
		     [T_U64] = madchigh_u64,
		     [T_S64] = madchigh_s64},
};
static ptx_exec *const products24[3][T_COUNT] = {
	[PART_LO] = {[T_U32] = mul24_u32, [T_S32] = mul24_s32},
	[PART_HI] = {[T_U32] = high24_u32, [T_S32] = high24_s32},
};
static ptx_exec *const sums24[3][T_COUNT] = {
	[PART_LO] = {[T_U32] = mad24_u32, [T_S32] = mad24_s32},
};

ptx_exec *run_int_find(const struct ptx_ins *i)
{
	switch (i->op) {
	case OP_MUL:
		return products[i->part][i->type];
	case OP_MAD:
		return i->sat ? NULL : sums[i->part][i->type];
	case OP_MADC:
		return carried[i->part][i->type];
	case OP_MUL24:
		return products24[i->part][i->type];
	case OP_MAD24:
		return i->sat ? NULL : sums24[i->part][i->type];
	default:
		return i->sat ? NULL : by_type[i->op][i->type];
	}
}
