/* SPDX-License-Identifier: Apache-2.0 */
/* run_convert.c - cvt: every type to every type, with rounding and saturation.
 *
 * In two steps over the lanes: the source becomes a 64-bit integer or a double, which
 * lose nothing, and that becomes the result.  The few conversions that kernels are
 * full of go in one step. */
#include "run.h"
#include "half.h"
#include <fenv.h>
#include <math.h>
#include <string.h>

/* ---- one step ---- */

#define DIRECT(name, D, S, ...)                                                                    \
	static void name(struct run *r, const struct ptx_ins *i)                                   \
	{                                                                                          \
		D *d = REG(D, i->d[0]);                                                            \
		const S *a = REG(S, i->s[0]);                                                      \
		LANES(d[l] = (D)(__VA_ARGS__););                                                   \
	}

static inline f32 one_nan(f32 v)
{
	const union {
		u32 bits;
		f32 value;
	} nan = {.bits = 0x7fffffff};

	return v != v ? nan.value : v;
}

static inline f32 from_half(u16 v)
{
	_Float16 h;

	memcpy(&h, &v, sizeof(h));
	return one_nan((f32)h);
}

static inline u16 to_half(f32 v)
{
	_Float16 h = (_Float16)v;
	u16 out;

	memcpy(&out, &h, sizeof(out));
	return v != v ? 0x7fff : out;
}

static inline u16 to_bfloat(f32 v)
{
	u32 b;

	memcpy(&b, &v, sizeof(b));
	return v != v ? 0x7fff : (u16)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

DIRECT(u64_u32, u64, u32, a[l])
DIRECT(s64_s32, s64, s32, a[l])
DIRECT(u32_u64, u32, u64, a[l])
DIRECT(u32_u16, u32, u16, a[l])
DIRECT(s32_s16, s32, s16, a[l])
DIRECT(u16_u32, u16, u32, a[l])
DIRECT(f32_s32, f32, s32, a[l])
DIRECT(f32_u32, f32, u32, a[l])
DIRECT(f64_s32, f64, s32, a[l])
DIRECT(f64_u32, f64, u32, a[l])
DIRECT(f64_s64, f64, s64, a[l])
DIRECT(f64_f32, f64, f32, a[l])
DIRECT(f32_f64, f32, f64, one_nan((f32)a[l]))
DIRECT(f32_f16, f32, u16, from_half(a[l]))
DIRECT(f16_f32, u16, f32, to_half(a[l]))
DIRECT(bf16_f32, u16, f32, to_bfloat(a[l]))

static const struct {
	u8 to, from;
	ptx_exec *run;
} direct[] = {
	{T_U64, T_U32, u64_u32}, {T_S64, T_U32, u64_u32},   {T_S64, T_S32, s64_s32},
	{T_U64, T_S32, s64_s32}, {T_U32, T_U64, u32_u64},   {T_S32, T_S64, u32_u64},
	{T_U32, T_S64, u32_u64}, {T_S32, T_U64, u32_u64},   {T_U32, T_U16, u32_u16},
	{T_S32, T_U16, u32_u16}, {T_S32, T_S16, s32_s16},   {T_U32, T_S16, s32_s16},
	{T_U16, T_U32, u16_u32}, {T_S16, T_S32, u16_u32},   {T_S16, T_U32, u16_u32},
	{T_U16, T_S32, u16_u32}, {T_F32, T_S32, f32_s32},   {T_F32, T_U32, f32_u32},
	{T_F64, T_S32, f64_s32}, {T_F64, T_U32, f64_u32},   {T_F64, T_S64, f64_s64},
	{T_F64, T_F32, f64_f32}, {T_F32, T_F64, f32_f64},   {T_F32, T_F16, f32_f16},
	{T_F16, T_F32, f16_f32}, {T_BF16, T_F32, bf16_f32},
};

/* ---- first step: into space->wide ---- */

static void read_float(struct run *r, const struct ptx_ins *i, f64 *out)
{
	enum ptx_type t = (enum ptx_type)i->type2;

	if (t == T_F64)
		LANES(out[l] = REG(f64, i->s[0])[l];);
	else if (t == T_F32)
		LANES(out[l] = (f64)REG(f32, i->s[0])[l];);
	else
		LANES(out[l] = half_value(REG(u16, i->s[0])[l], t););
}

/* Only the type's low bits of the register count. */
static s64 extended(u64 v, unsigned type)
{
	unsigned unused = 64 - 8u * ptx_type_bytes[type];

	return ptx_type_signed((enum ptx_type)type) ? (s64)(v << unused) >> unused
						    : (s64)(v << unused >> unused);
}

static void read_integer(struct run *r, const struct ptx_ins *i, s64 *out)
{
	LANES(out[l] = extended(run_get(r, i->s[0], i->reg_bytes2, l), i->type2););
}

/* ---- second step ---- */

static void store(struct run *r, const struct ptx_ins *i, const u64 *from)
{
	if (i->reg_bytes == 8)
		LANES(REG(u64, i->d[0])[l] = from[l];);
	else if (i->reg_bytes == 4)
		LANES(REG(u32, i->d[0])[l] = (u32)from[l];);
	else
		LANES(REG(u16, i->d[0])[l] = (u16)from[l];);
}

static f64 integral(f64 v, unsigned round)
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

static s64 lowest(unsigned type)
{
	unsigned bits = 8u * ptx_type_bytes[type];

	return ptx_type_signed((enum ptx_type)type) ? (s64)(-1ull << (bits - 1)) : 0;
}

static u64 highest(unsigned type)
{
	unsigned bits = 8u * ptx_type_bytes[type];
	u64 all = UINT64_MAX >> (64 - bits);

	return ptx_type_signed((enum ptx_type)type) ? all >> 1 : all;
}

/* Out of range goes to the nearest end, NaN to 0 or, of 64 bits, to the sign bit. */
static u64 to_integer(f64 v, unsigned type, unsigned round)
{
	bool wide = ptx_type_bytes[type] == 8;

	if (v != v)
		return wide ? 1ull << 63 : 0;
	v = integral(v, round);
	if (v <= (f64)lowest(type))
		return (u64)lowest(type);
	if (v >= (f64)highest(type))
		return highest(type);
	return v < 0 ? (u64)(s64)v : (u64)v;
}

static u64 clamped(s64 v, const struct ptx_ins *i)
{
	bool from_unsigned = !ptx_type_signed((enum ptx_type)i->type2);

	if (from_unsigned)
		return (u64)v > highest(i->type) ? highest(i->type) : (u64)v;
	if (v < lowest(i->type))
		return (u64)lowest(i->type);
	return v > 0 && (u64)v > highest(i->type) ? highest(i->type) : (u64)v;
}

static void integer_to_integer(struct run *r, const struct ptx_ins *i)
{
	s64 *wide = (s64 *)r->space->wide;

	read_integer(r, i, wide);
	if (i->sat)
		LANES(wide[l] = (s64)clamped(wide[l], i););
	LANES(wide[l] = extended((u64)wide[l], i->type););
	store(r, i, r->space->wide);
}

static void float_to_integer(struct run *r, const struct ptx_ins *i)
{
	f64 *wide = (f64 *)(void *)r->space->wide;
	u64 *bits = r->space->wide;

	read_float(r, i, wide);
	LANES(f64 v = wide[l]; bits[l] = to_integer(v, i->type, i->integer_round););
	store(r, i, bits);
}

static const int modes[] = {[ROUND_NONE] = FE_TONEAREST,
			    [ROUND_RN] = FE_TONEAREST,
			    [ROUND_RZ] = FE_TOWARDZERO,
			    [ROUND_RM] = FE_DOWNWARD,
			    [ROUND_RP] = FE_UPWARD};

static void store_f32(struct run *r, const struct ptx_ins *i, const f64 *from)
{
	LANES(REG(f32, i->d[0])[l] = one_nan((f32)from[l]););
}

static void integer_to_float(struct run *r, const struct ptx_ins *i)
{
	s64 *wide = (s64 *)r->space->wide;
	bool is_signed = ptx_type_signed((enum ptx_type)i->type2);
	enum ptx_type t = (enum ptx_type)i->type;

	read_integer(r, i, wide);
	fesetround(modes[i->round]);
	if (t == T_F64)
		LANES(REG(f64, i->d[0])[l] = is_signed ? (f64)wide[l] : (f64)(u64)wide[l];);
	else if (t == T_F32)
		LANES(REG(f32, i->d[0])[l] = is_signed ? (f32)wide[l] : (f32)(u64)wide[l];);
	fesetround(FE_TONEAREST);
	if (t != T_F64 && t != T_F32) /* a double loses bits of large numbers, not the order */
		LANES(f64 v = is_signed ? (f64)wide[l] : (f64)(u64)wide[l];
		      REG(u16, i->d[0])[l] = half_round(v, t, (enum ptx_round)i->round););
}

static void float_to_float(struct run *r, const struct ptx_ins *i)
{
	f64 *wide = (f64 *)(void *)r->space->wide;
	enum ptx_type t = (enum ptx_type)i->type;

	read_float(r, i, wide);
	if (i->integer_round)
		LANES(wide[l] = integral(wide[l], i->integer_round););
	fesetround(modes[i->round]);
	if (t == T_F64)
		LANES(REG(f64, i->d[0])[l] = wide[l];);
	else if (t == T_F32)
		store_f32(r, i, wide);
	fesetround(FE_TONEAREST);
	if (t != T_F64 && t != T_F32)
		LANES(REG(u16, i->d[0])[l] = half_round(wide[l], t, (enum ptx_round)i->round););
}

static bool plain(const struct ptx_ins *i)
{
	return i->round <= ROUND_RN && !i->integer_round && !i->sat &&
	       i->reg_bytes == ptx_type_bytes[i->type] && i->reg_bytes2 == ptx_type_bytes[i->type2];
}

static bool convertible(unsigned type)
{
	return (type >= T_U8 && type <= T_S64) || ptx_type_float((enum ptx_type)type);
}

ptx_exec *run_convert_find(const struct ptx_ins *i)
{
	bool to_float = ptx_type_float((enum ptx_type)i->type);
	bool from_float = ptx_type_float((enum ptx_type)i->type2);

	if (i->op != OP_CVT || !convertible(i->type) || !convertible(i->type2))
		return NULL;
	for (size_t k = 0; k < sizeof(direct) / sizeof(direct[0]) && plain(i); k++)
		if (direct[k].to == i->type && direct[k].from == i->type2)
			return direct[k].run;
	if (to_float)
		return from_float ? float_to_float : integer_to_float;
	return from_float ? float_to_integer : integer_to_integer;
}
