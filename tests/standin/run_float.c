/* SPDX-License-Identifier: Apache-2.0 */
/* run_float.c - arithmetic in f32 and f64, and in f16 and bf16 through half.h.
 *
 * In: instructions bound by run_float_find; .ftz and .sat are instructions of their
 * own by now.  Results are IEEE's, in the rounding that the instruction asks for, and
 * a NaN of 16 or 32 bits is the one NaN that a GPU makes.  The approx functions are
 * computed in double and rounded: better than the hardware, never worse. */
#include "run.h"
#include "half.h"
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <string.h>

static inline f32 one_nan(f32 v)
{
	const union {
		u32 bits;
		f32 value;
	} nan = {.bits = 0x7fffffff};

	return v != v ? nan.value : v;
}

static inline u32 bits32(f32 v)
{
	u32 b;

	memcpy(&b, &v, sizeof(b));
	return b;
}

static inline f32 float32(u32 b)
{
	f32 v;

	memcpy(&v, &b, sizeof(v));
	return v;
}

static inline u64 bits64(f64 v)
{
	u64 b;

	memcpy(&b, &v, sizeof(b));
	return b;
}

static inline f64 float64(u64 b)
{
	f64 v;

	memcpy(&v, &b, sizeof(v));
	return v;
}

BINARY(add, f32, one_nan(a[l] + b[l]))
BINARY(sub, f32, one_nan(a[l] - b[l]))
BINARY(mul, f32, one_nan(a[l] * b[l]))
BINARY(div, f32, one_nan(a[l] / b[l]))
TERNARY(fma, f32, one_nan(__builtin_fmaf(a[l], b[l], c[l])))
UNARY(rcp, f32, one_nan(1.0f / a[l]))
UNARY(sqrt, f32, one_nan(sqrtf(a[l])))
BINARY(add, f64, a[l] + b[l])
BINARY(sub, f64, a[l] - b[l])
BINARY(mul, f64, a[l] * b[l])
BINARY(div, f64, a[l] / b[l])
TERNARY(fma, f64, __builtin_fma(a[l], b[l], c[l]))
UNARY(rcp, f64, 1.0 / a[l])
UNARY(sqrt, f64, sqrt(a[l]))

UNARY(abs, f32, float32(bits32(a[l]) & 0x7fffffff))
UNARY(neg, f32, float32(bits32(a[l]) ^ 0x80000000))
UNARY(abs, f64, float64(bits64(a[l]) & ~(1ull << 63)))
UNARY(neg, f64, float64(bits64(a[l]) ^ 1ull << 63))
/* The sign of a, the size of b. */
BINARY(copysign, f32, float32((bits32(a[l]) & 0x80000000) | (bits32(b[l]) & 0x7fffffff)))
BINARY(copysign, f64, float64((bits64(a[l]) & 1ull << 63) | (bits64(b[l]) & ~(1ull << 63))))

UNARY(flush, f32, fabsf(a[l]) < FLT_MIN ? float32(bits32(a[l]) & 0x80000000) : a[l])
UNARY(flush, f64, fabs(a[l]) < DBL_MIN ? float64(bits64(a[l]) & 1ull << 63) : a[l])
/* NaN becomes +0, -0 too. */
UNARY(saturate, f32, a[l] > 0 ? (a[l] < 1 ? a[l] : 1.0f) : 0.0f)
UNARY(saturate, f64, a[l] > 0 ? (a[l] < 1 ? a[l] : 1.0) : 0.0)

/* A NaN loses against a number, -0 is less than +0. */
#define ORDERED(T, BITS, FROM, CANON)                                                              \
	static inline T least_##T(T a, T b)                                                        \
	{                                                                                          \
		T equal = FROM(BITS(a) | BITS(b)), nan = a != a ? b : a;                           \
		return CANON(a < b ? a : b < a ? b : a == b ? equal : nan);                        \
	}                                                                                          \
	static inline T greatest_##T(T a, T b)                                                     \
	{                                                                                          \
		T equal = FROM(BITS(a) & BITS(b)), nan = a != a ? b : a;                           \
		return CANON(a > b ? a : b > a ? b : a == b ? equal : nan);                        \
	}                                                                                          \
	BINARY(min, T,                                                                             \
	       i->nan && (a[l] != a[l] || b[l] != b[l]) ? CANON((T)NAN) : least_##T(a[l], b[l]))   \
	BINARY(max, T,                                                                             \
	       i->nan && (a[l] != a[l] || b[l] != b[l]) ? CANON((T)NAN)                            \
							: greatest_##T(a[l], b[l]))
ORDERED(f32, bits32, float32, one_nan)
ORDERED(f64, bits64, float64, )

/* ---- approximations ---- */

/* rcp.approx.ftz.f64 and rsqrt have the upper half of the result only. */
static f64 upper_half(f64 v)
{
	return float64(bits64(v) & 0xffffffff00000000ull);
}

static void rcp_upper(struct run *r, const struct ptx_ins *i)
{
	f64 *d = REG(f64, i->d[0]);
	const f64 *a = REG(f64, i->s[0]);

	LANES(d[l] = upper_half(1.0 / a[l]););
}

static void rsqrt_upper(struct run *r, const struct ptx_ins *i)
{
	f64 *d = REG(f64, i->d[0]);
	const f64 *a = REG(f64, i->s[0]);

	LANES(d[l] = upper_half(1.0 / sqrt(a[l])););
}

UNARY(rsqrt, f32, one_nan((f32)(1.0 / sqrt((f64)a[l]))))
UNARY(rsqrt, f64, 1.0 / sqrt(a[l]))
UNARY(sin, f32, one_nan((f32)sin((f64)a[l])))
UNARY(cos, f32, one_nan((f32)cos((f64)a[l])))
UNARY(lg2, f32, one_nan((f32)log2((f64)a[l])))
UNARY(ex2, f32, one_nan((f32)exp2((f64)a[l])))
UNARY(tanh, f32, one_nan((f32)tanh((f64)a[l])))

static void testp(struct run *r, const struct ptx_ins *i)
{
	u8 *d = REG(u8, i->d[0]);
	bool single = i->type == T_F32;

	LANES(f64 v = single ? (f64)REG(f32, i->s[0])[l] : REG(f64, i->s[0])[l];
	      bool normal = fabs(v) >= (single ? (f64)FLT_MIN : DBL_MIN) && !isinf(v);
	      switch (i->mode) {
		      case 0:
			      d[l] = isfinite(v) != 0;
			      break;
		      case 1:
			      d[l] = isinf(v) != 0;
			      break;
		      case 2:
			      d[l] = v == v;
			      break;
		      case 3:
			      d[l] = v != v;
			      break;
		      case 4:
			      d[l] = normal;
			      break;
		      default:
			      d[l] = v == v && !normal && v != 0 && !isinf(v);
	      });
}

/* ---- 16 bits ---- */

static f64 half_unary(unsigned op, f64 a)
{
	switch (op) {
	case OP_EX2:
		return exp2(a);
	case OP_TANH:
		return tanh(a);
	default: /* saturate */
		return a > 0 ? (a < 1 ? a : 1.0) : 0.0;
	}
}

static f64 half_compute(const struct ptx_ins *i, f64 a, f64 b, f64 c)
{
	bool nan = i->nan && (a != a || b != b);

	switch (i->op) {
	case OP_ADD:
		return a + b;
	case OP_SUB:
		return a - b;
	case OP_MUL:
		return a * b;
	case OP_FMA:
		return half_fma(a, b, c);
	case OP_MIN:
		return nan ? NAN : least_f64(a, b);
	case OP_MAX:
		return nan ? NAN : greatest_f64(a, b);
	default:
		return half_unary(i->op, a);
	}
}

static void half(struct run *r, const struct ptx_ins *i)
{
	u16 *d = REG(u16, i->d[0]);
	const u16 *a = REG(u16, i->s[0]), *b = REG(u16, i->s[i->ns > 1 ? 1 : 0]),
		  *c = REG(u16, i->s[i->ns > 2 ? 2 : 0]);
	enum ptx_type t = (enum ptx_type)i->type;

	LANES(d[l] = half_round(half_compute(i, half_value(a[l], t), half_value(b[l], t),
					     half_value(c[l], t)),
				t, ROUND_RN););
}

UNARY(halfabs, u16, a[l] & 0x7fff)
UNARY(halfneg, u16, a[l] ^ 0x8000)

/* ---- which function ---- */

#define FLOATS(name) [T_F32] = name##_f32, [T_F64] = name##_f64
#define HALVES	     [T_F16] = half, [T_BF16] = half

static ptx_exec *const by_type[OP_COUNT][T_COUNT] = {
	[OP_ADD] = {FLOATS(add), HALVES},
	[OP_SUB] = {FLOATS(sub), HALVES},
	[OP_MUL] = {FLOATS(mul), HALVES},
	[OP_FMA] = {FLOATS(fma), HALVES},
	[OP_DIV] = {FLOATS(div)},
	[OP_MIN] = {FLOATS(min), HALVES},
	[OP_MAX] = {FLOATS(max), HALVES},
	[OP_ABS] = {FLOATS(abs), [T_F16] = halfabs_u16, [T_BF16] = halfabs_u16},
	[OP_NEG] = {FLOATS(neg), [T_F16] = halfneg_u16, [T_BF16] = halfneg_u16},
	[OP_COPYSIGN] = {FLOATS(copysign)},
	[OP_RCP] = {FLOATS(rcp)},
	[OP_SQRT] = {FLOATS(sqrt)},
	[OP_RSQRT] = {FLOATS(rsqrt)},
	[OP_SIN] = {[T_F32] = sin_f32},
	[OP_COS] = {[T_F32] = cos_f32},
	[OP_LG2] = {[T_F32] = lg2_f32},
	[OP_EX2] = {[T_F32] = ex2_f32, HALVES},
	[OP_TANH] = {[T_F32] = tanh_f32, HALVES},
	[OP_TESTP] = {[T_F32] = testp, [T_F64] = testp},
	[OP_FLUSH] = {FLOATS(flush)},
	[OP_SATURATE] = {FLOATS(saturate), HALVES},
};

static ptx_exec *nearest(const struct ptx_ins *i)
{
	if (i->approx && i->ftz && i->type == T_F64 && (i->op == OP_RCP || i->op == OP_RSQRT))
		return i->op == OP_RCP ? rcp_upper : rsqrt_upper;
	return by_type[i->op][i->type];
}

/* The processor's rounding mode, for one instruction. */
static void directed(struct run *r, const struct ptx_ins *i)
{
	static const int modes[] = {
		[ROUND_RZ] = FE_TOWARDZERO, [ROUND_RM] = FE_DOWNWARD, [ROUND_RP] = FE_UPWARD};

	fesetround(modes[i->round]);
	nearest(i)(r, i);
	fesetround(FE_TONEAREST);
}

ptx_exec *run_float_find(const struct ptx_ins *i)
{
	ptx_exec *run = nearest(i);
	bool turned = i->round == ROUND_RZ || i->round == ROUND_RM || i->round == ROUND_RP;

	if (!run || !turned)
		return run;
	return i->type == T_F32 || i->type == T_F64 ? directed : NULL;
}
