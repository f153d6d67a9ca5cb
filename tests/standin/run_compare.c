/* SPDX-License-Identifier: Apache-2.0 */
/* run_compare.c - setp and set: comparisons of every type. */
#include "run.h"
#include "half.h"

#define COMPARE(name, T, ...)                                                                      \
	static void name##_##T(struct run *r, const struct ptx_ins *i)                             \
	{                                                                                          \
		u8 *d = REG(u8, i->d[0]);                                                          \
		const T *a = REG(T, i->s[0]), *b = REG(T, i->s[1]);                                \
		LANES(d[l] = (u8)(__VA_ARGS__););                                                  \
	}
#define ORDERED(T)                                                                                 \
	COMPARE(eq, T, a[l] == b[l])                                                               \
	COMPARE(lt, T, a[l] < b[l])                                                                \
	COMPARE(le, T, a[l] <= b[l])                                                               \
	COMPARE(gt, T, a[l] > b[l])                                                                \
	COMPARE(ge, T, a[l] >= b[l])
#define INTEGER(T) ORDERED(T) COMPARE(ne, T, a[l] != b[l])
/* Of floats, ne and all others are false for NaN, neu and its like true. */
#define FLOATING(T)                                                                                \
	ORDERED(T)                                                                                 \
	COMPARE(ne, T, a[l]<b[l] || a[l]> b[l])                                                    \
	COMPARE(equ, T, !(a[l] < b[l] || a[l] > b[l]))                                             \
	COMPARE(neu, T, a[l] != b[l])                                                              \
	COMPARE(ltu, T, !(a[l] >= b[l]))                                                           \
	COMPARE(leu, T, !(a[l] > b[l]))                                                            \
	COMPARE(gtu, T, !(a[l] <= b[l]))                                                           \
	COMPARE(geu, T, !(a[l] < b[l]))                                                            \
	COMPARE(num, T, a[l] == a[l] && b[l] == b[l])                                              \
	COMPARE(nan, T, a[l] != a[l] || b[l] != b[l])

INTEGER(u16)
INTEGER(s16)
INTEGER(u32)
INTEGER(s32)
INTEGER(u64)
INTEGER(s64)
FLOATING(f32)
FLOATING(f64)

static bool compared(unsigned compare, f64 a, f64 b)
{
	bool unordered = a != a || b != b;

	if (compare == CMP_NUM || compare == CMP_NAN)
		return unordered == (compare == CMP_NAN);
	if (unordered)
		return compare >= CMP_EQU;
	switch (compare >= CMP_EQU ? compare - CMP_EQU : compare) {
	case CMP_EQ:
		return a == b;
	case CMP_NE:
		return a != b;
	case CMP_LT:
		return a < b;
	case CMP_LE:
		return a <= b;
	case CMP_GT:
		return a > b;
	default:
		return a >= b;
	}
}

static void half(struct run *r, const struct ptx_ins *i)
{
	u8 *d = REG(u8, i->d[0]);
	const u16 *a = REG(u16, i->s[0]), *b = REG(u16, i->s[1]);
	enum ptx_type t = (enum ptx_type)i->type;

	LANES(d[l] = compared(i->compare, half_value(a[l], t), half_value(b[l], t)););
}

#define ENTRIES(op, OP)                                                                            \
	[CMP_##OP] = {                                                                             \
		[T_B16] = op##_u16, [T_U16] = op##_u16, [T_S16] = op##_s16, [T_B32] = op##_u32,    \
		[T_U32] = op##_u32, [T_S32] = op##_s32, [T_B64] = op##_u64, [T_U64] = op##_u64,    \
		[T_S64] = op##_s64, [T_F32] = op##_f32, [T_F64] = op##_f64, [T_F16] = half,        \
		[T_BF16] = half,                                                                   \
	}
#define FLOAT_ENTRIES(op, OP)                                                                      \
	[CMP_##OP] = {                                                                             \
		[T_F32] = op##_f32,                                                                \
		[T_F64] = op##_f64,                                                                \
		[T_F16] = half,                                                                    \
		[T_BF16] = half,                                                                   \
	}

static ptx_exec *const setp[CMP_NAN + 1][T_COUNT] = {
	ENTRIES(eq, EQ),	 ENTRIES(ne, NE),	  ENTRIES(lt, LT),
	ENTRIES(le, LE),	 ENTRIES(gt, GT),	  ENTRIES(ge, GE),
	FLOAT_ENTRIES(equ, EQU), FLOAT_ENTRIES(neu, NEU), FLOAT_ENTRIES(ltu, LTU),
	FLOAT_ENTRIES(leu, LEU), FLOAT_ENTRIES(gtu, GTU), FLOAT_ENTRIES(geu, GEU),
	FLOAT_ENTRIES(num, NUM), FLOAT_ENTRIES(nan, NAN),
};

/* One of the values that set compares, as a double; 64-bit integers have their own. */
static f64 value(const struct run *r, u32 offset, unsigned type, unsigned lane)
{
	switch (type) {
	case T_F16:
	case T_BF16:
		return half_value(REG(u16, offset)[lane], (enum ptx_type)type);
	case T_F32:
		return (f64)REG(f32, offset)[lane];
	case T_F64:
		return REG(f64, offset)[lane];
	case T_S32:
		return REG(s32, offset)[lane];
	case T_S16:
		return REG(s16, offset)[lane];
	case T_U16:
	case T_B16:
		return REG(u16, offset)[lane];
	default:
		return REG(u32, offset)[lane];
	}
}

/* 1.0 in a float result, all ones in an integer one. */
static void set(struct run *r, const struct ptx_ins *i)
{
	static const u64 yes[T_COUNT] = {
		[T_F16] = 0x3c00, [T_BF16] = 0x3f80,	[T_F32] = 0x3f800000, [T_U16] = 0xffff,
		[T_S16] = 0xffff, [T_U32] = 0xffffffff, [T_S32] = 0xffffffff,
	};

	LANES(u64 v = compared(i->compare, value(r, i->s[0], i->type2, l),
			       value(r, i->s[1], i->type2, l))
			      ? yes[i->type]
			      : 0;
	      if (ptx_type_bytes[i->type] == 2) REG(u16, i->d[0])[l] = (u16)v;
	      else REG(u32, i->d[0])[l] = (u32)v;);
}

ptx_exec *run_compare_find(const struct ptx_ins *i)
{
	if (i->op == OP_SETP)
		return setp[i->compare][i->type];
	if (i->op != OP_SET || ptx_type_bytes[i->type] > 4 || i->ns != 2)
		return NULL;
	bool wide = ptx_type_bytes[i->type2] == 8 && i->type2 != T_F64;
	return wide || i->type2 == T_PRED || ptx_type_bytes[i->type2] < 2 ? NULL : set;
}
