/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ew.h - the elementwise operations, after pre.h in every prologue.
 *
 * bz_<stem>_<t> for each row of proto/ops.def and each loop type its rule allows,
 * with NumPy's results.  No function traps, whatever the operands.  libmvec's
 * routines are within 4 ulp; + - * / sqrt, rounding and integers are exact. */
#ifndef BZ_EW_H
#define BZ_EW_H

/* ---- every type: tests, choice ------------------------------------------------ */

#define BZ_COMPARE1(stem, t, rel)                                                                  \
	BZ_FN bz_b1 bz_##stem##_##t(bz_##t a, bz_##t b)                                            \
	{                                                                                          \
		return BZ_B1(a rel b);                                                             \
	}
#define BZ_COMPARE(t)                                                                              \
	BZ_COMPARE1(eq, t, ==)                                                                     \
	BZ_COMPARE1(ne, t, !=)                                                                     \
	BZ_COMPARE1(lt, t, <)                                                                      \
	BZ_COMPARE1(le, t, <=)                                                                     \
	BZ_COMPARE1(gt, t, >)                                                                      \
	BZ_COMPARE1(ge, t, >=)                                                                     \
	BZ_FN bz_##t bz_where_##t(bz_b1 c, bz_##t a, bz_##t b)                                     \
	{                                                                                          \
		return BZ_SEL(t, BZ_MASK(t, c), a, b);                                             \
	}
BZ_EACH_SCALAR(BZ_COMPARE)

#define BZ_SAME(stem, t)                                                                           \
	BZ_FN bz_##t bz_##stem##_##t(bz_##t a)                                                     \
	{                                                                                          \
		return a;                                                                          \
	}
#define BZ_CONST_B1(stem, t, value)                                                                \
	BZ_FN bz_b1 bz_##stem##_##t(bz_##t a)                                                      \
	{                                                                                          \
		(void)a;                                                                           \
		return BZ_SPLAT(b1, value);                                                        \
	}
#define BZ_BINARY(stem, t, expr)                                                                   \
	BZ_FN bz_##t bz_##stem##_##t(bz_##t a, bz_##t b)                                           \
	{                                                                                          \
		return (bz_##t)(expr);                                                             \
	}
#define BZ_UNARY(stem, t, expr)                                                                    \
	BZ_FN bz_##t bz_##stem##_##t(bz_##t a)                                                     \
	{                                                                                          \
		return (bz_##t)(expr);                                                             \
	}
/* A function of one lane at a time: x (and y) are the operands' lanes. */
#define BZ_LANES1(stem, t, expr)                                                                   \
	BZ_FN bz_##t bz_##stem##_##t(bz_##t a)                                                     \
	{                                                                                          \
		union bz_l_##t u = {a};                                                            \
		for (int i = 0; i < BZ_W; i++) {                                                   \
			bz_s_##t x = u.s[i];                                                       \
			u.s[i] = (expr);                                                           \
		}                                                                                  \
		return u.v;                                                                        \
	}
#define BZ_LANES2(stem, t, expr)                                                                   \
	BZ_FN bz_##t bz_##stem##_##t(bz_##t a, bz_##t b)                                           \
	{                                                                                          \
		union bz_l_##t u = {a}, w = {b};                                                   \
		for (int i = 0; i < BZ_W; i++) {                                                   \
			bz_s_##t x = u.s[i], y = w.s[i];                                           \
			u.s[i] = (expr);                                                           \
		}                                                                                  \
		return u.v;                                                                        \
	}
/* An x that is equal to a bound stays as it is, its zero's sign too: BZ_CLIP is for types whose
 * extremes are b where both are equal, BZ_CLIP_FIRST for those whose are a. */
#define BZ_CLIP(t)                                                                                 \
	BZ_FN bz_##t bz_clip_##t(bz_##t x, bz_##t lo, bz_##t hi)                                   \
	{                                                                                          \
		return bz_min_##t(hi, bz_max_##t(lo, x));                                          \
	}
#define BZ_CLIP_FIRST(t)                                                                           \
	BZ_FN bz_##t bz_clip_##t(bz_##t x, bz_##t lo, bz_##t hi)                                   \
	{                                                                                          \
		return bz_min_##t(bz_max_##t(x, lo), hi);                                          \
	}

/* ---- b1 and integers ---------------------------------------------------------- */

BZ_BINARY(add, b1, a | b)
BZ_BINARY(mul, b1, a &b)
BZ_BINARY(min, b1, a &b)
BZ_BINARY(max, b1, a | b)
BZ_BINARY(fmin, b1, a &b)
BZ_BINARY(fmax, b1, a | b)
BZ_BINARY(and, b1, a &b)
BZ_BINARY(or, b1, a | b)
BZ_BINARY(xor, b1, a ^ b)
BZ_BINARY(land, b1, a &b)
BZ_BINARY(lor, b1, a | b)
BZ_BINARY(lxor, b1, a ^ b)
BZ_UNARY(lnot, b1, a ^ 1)
BZ_UNARY(inv, b1, a ^ 1)
BZ_UNARY(imag, b1, a ^ a)
BZ_CLIP(b1)

#define BZ_FIXED(t)                                                                                \
	BZ_SAME(pos, t)                                                                            \
	BZ_SAME(conj, t)                                                                           \
	BZ_SAME(real, t)                                                                           \
	BZ_SAME(floor, t)                                                                          \
	BZ_SAME(ceil, t)                                                                           \
	BZ_SAME(trunc, t)                                                                          \
	BZ_SAME(rint, t)                                                                           \
	BZ_CONST_B1(isnan, t, 0)                                                                   \
	BZ_CONST_B1(isinf, t, 0)                                                                   \
	BZ_CONST_B1(isfinite, t, 1)
BZ_FIXED(b1)
BZ_SAME(abs, b1)
BZ_CONST_B1(signbit, b1, 0)

/* bz_q_: quotient towards 0 of a by b, b not 0.  Taken in floats that hold both, where it is
 * exact: two quotients of 16 bits that are not whole differ from every whole number by
 * more than float32 rounds, of 32 bits by more than float64 does.  INT_MIN / -1 leaves
 * the range and comes back INT_MIN. */
#define BZ_QUOTIENT_SHORT(t)                                                                       \
	BZ_FN bz_##t bz_q_##t(bz_##t a, bz_##t b)                                                  \
	{                                                                                          \
		return bz_cast_f32_##t(bz_cast_##t##_f32(a) / bz_cast_##t##_f32(b));               \
	}
#define BZ_QUOTIENT_WORD(t, via)                                                                   \
	BZ_FN bz_##t bz_q_##t(bz_##t a, bz_##t b)                                                  \
	{                                                                                          \
		return BZ_CVT(t, BZ_CVT(via, BZ_CVT(f64, a) / BZ_CVT(f64, b)));                    \
	}
BZ_QUOTIENT_SHORT(i8)
BZ_QUOTIENT_SHORT(i16)
BZ_QUOTIENT_WORD(i32, i32)
BZ_QUOTIENT_SHORT(u8)
BZ_QUOTIENT_SHORT(u16)
BZ_QUOTIENT_WORD(u32, i64)

/* Power by squaring, modulo the width.  A negative exponent, which the client
 * refuses, gives the quotient of 1 by the power, and 0 for base 0. */
#define BZ_POWER(t)                                                                                \
	BZ_FN bz_s_##t bz_x_pow_##t(bz_s_##t x, bz_s_##t y)                                        \
	{                                                                                          \
		bz_s_u64 base = (bz_s_u64)x, result = 1;                                           \
                                                                                                   \
		if ((bz_s_##t) - 1 < 0 && y < 0)                                                   \
			return (bz_s_##t)(x == 1 || (x == (bz_s_##t) - 1 && !(y & 1))              \
						  ? 1                                              \
						  : (x == (bz_s_##t) - 1 ? -1 : 0));               \
		for (bz_s_u64 e = (bz_s_u64)y; e; e >>= 1) {                                       \
			if (e & 1)                                                                 \
				result *= base;                                                    \
			base *= base;                                                              \
		}                                                                                  \
		return (bz_s_##t)result;                                                           \
	}

/* Sums wrap, so they are taken on the unsigned bits.  Division by 0 gives 0, as
 * does its remainder; a quotient rounds towards minus infinity, a remainder has
 * the divisor's sign.  A shift by the width or more, or by a negative count,
 * shifts everything out. */
#define BZ_TIMES_i16(a, b) (BZ_BITS(i16, a) * BZ_BITS(i16, b))
#define BZ_TIMES_i32(a, b) (BZ_BITS(i32, a) * BZ_BITS(i32, b))
#define BZ_TIMES_i64(a, b) (BZ_BITS(i64, a) * BZ_BITS(i64, b))
#define BZ_TIMES_u16(a, b) ((a) * (b))
#define BZ_TIMES_u32(a, b) ((a) * (b))
#define BZ_TIMES_u64(a, b) ((a) * (b))
/* No processor multiplies bytes, and gcc does so one by one. */
#define BZ_TIMES_u8(a, b) bz_x_cut_u16_u8(BZ_CVT(u16, a) * BZ_CVT(u16, b))
#define BZ_TIMES_i8(a, b) BZ_TIMES_u8((bz_u8)(a), (bz_u8)(b))
#define BZ_INTEGER(t)                                                                              \
	BZ_FIXED(t)                                                                                \
	BZ_BINARY(add, t, BZ_BITS(t, a) + BZ_BITS(t, b))                                           \
	BZ_BINARY(sub, t, BZ_BITS(t, a) - BZ_BITS(t, b))                                           \
	BZ_BINARY(mul, t, BZ_TIMES_##t(a, b))                                                      \
	BZ_BINARY(and, t, a &b)                                                                    \
	BZ_BINARY(or, t, a | b)                                                                    \
	BZ_BINARY(xor, t, a ^ b)                                                                   \
	BZ_BINARY(min, t, BZ_SEL(t, a < b, a, b))                                                  \
	BZ_BINARY(max, t, BZ_SEL(t, a > b, a, b))                                                  \
	BZ_BINARY(fmin, t, BZ_SEL(t, a < b, a, b))                                                 \
	BZ_BINARY(fmax, t, BZ_SEL(t, a > b, a, b))                                                 \
	BZ_UNARY(neg, t, -BZ_BITS(t, a))                                                           \
	BZ_UNARY(inv, t, ~a)                                                                       \
	BZ_UNARY(imag, t, a ^ a)                                                                   \
	BZ_UNARY(square, t, BZ_TIMES_##t(a, a))                                                    \
	BZ_UNARY(abs, t, BZ_SEL(t, a < 0, -BZ_BITS(t, a), a))                                      \
	BZ_UNARY(sign, t, (bz_##t)(a < 0) - (bz_##t)(a > 0))                                       \
	BZ_CLIP(t)                                                                                 \
	BZ_FN bz_b1 bz_signbit_##t(bz_##t a)                                                       \
	{                                                                                          \
		return BZ_B1(a < 0);                                                               \
	}                                                                                          \
	BZ_POWER(t)                                                                                \
	BZ_LANES2(pow, t, bz_x_pow_##t(x, y))
BZ_EACH_INT(BZ_INTEGER)
#define BZ_DIVISION(t)                                                                             \
	/* One step of division: quotient and remainder towards 0, 0 for divisor 0. */             \
	BZ_FN void bz_x_divmod_##t(bz_##t a, bz_##t *b, bz_##t *q, bz_##t *r)                      \
	{                                                                                          \
		bz_##t zero = (bz_##t)(*b == 0);                                                   \
                                                                                                   \
		*b = *b | (zero & 1);                                                              \
		*q = bz_q_##t(a, *b);                                                              \
		*r = (bz_##t)(BZ_BITS(t, a) - (bz_k_##t)BZ_TIMES_##t(*q, *b)) & ~zero;             \
		*q &= ~zero;                                                                       \
	}                                                                                          \
	BZ_FN bz_##t bz_fdiv_##t(bz_##t a, bz_##t b)                                               \
	{                                                                                          \
		bz_##t q, r;                                                                       \
                                                                                                   \
		bz_x_divmod_##t(a, &b, &q, &r);                                                    \
		return (bz_##t)(BZ_BITS(t, q) + (BZ_BITS(t, r != 0) & BZ_BITS(t, (r ^ b) < 0)));   \
	}                                                                                          \
	BZ_FN bz_##t bz_rem_##t(bz_##t a, bz_##t b)                                                \
	{                                                                                          \
		bz_##t q, r;                                                                       \
                                                                                                   \
		bz_x_divmod_##t(a, &b, &q, &r);                                                    \
		return (bz_##t)(BZ_BITS(t, r) +                                                    \
				(BZ_BITS(t, b) & BZ_BITS(t, r != 0) & BZ_BITS(t, (r ^ b) < 0)));   \
	}                                                                                          \
	BZ_FN bz_##t bz_fmod_##t(bz_##t a, bz_##t b)                                               \
	{                                                                                          \
		bz_##t q, r;                                                                       \
                                                                                                   \
		bz_x_divmod_##t(a, &b, &q, &r);                                                    \
		return r;                                                                          \
	}
BZ_EACH_NARROW(BZ_DIVISION)
#define BZ_SHIFTS(t)                                                                               \
	BZ_FN bz_##t bz_shl_##t(bz_##t a, bz_##t b)                                                \
	{                                                                                          \
		const bz_s_u64 bits = 8 * sizeof(bz_s_##t);                                        \
		bz_k_##t n = BZ_BITS(t, b);                                                        \
		bz_k_##t in = BZ_BITS(t, n < (__typeof__(n[0]))bits);                              \
                                                                                                   \
		return (bz_##t)((BZ_BITS(t, a) << (n & (__typeof__(n[0]))(bits - 1))) & in);       \
	}                                                                                          \
	BZ_FN bz_##t bz_shr_##t(bz_##t a, bz_##t b)                                                \
	{                                                                                          \
		const bz_s_u64 bits = 8 * sizeof(bz_s_##t);                                        \
		bz_k_##t n = BZ_BITS(t, b);                                                        \
		bz_k_##t in = BZ_BITS(t, n < (__typeof__(n[0]))bits);                              \
                                                                                                   \
		n &= (__typeof__(n[0]))(bits - 1);                                                 \
		return BZ_SEL(t, in, a >> (bz_##t)n, a < 0);                                       \
	}
BZ_SHIFTS(i32)
BZ_SHIFTS(u32)
/* Of fewer bits: as 32 bits, since no processor has shifts of them by vectors. */
#define BZ_SHIFTS_SHORT(t, word)                                                                   \
	BZ_FN bz_##t bz_shl_##t(bz_##t a, bz_##t b)                                                \
	{                                                                                          \
		bz_k_##t n = BZ_BITS(t, b);                                                        \
		bz_u32 r = (bz_u32)bz_cast_##t##_##word(a) << (bz_cast_##t##_u32(b) & 31);         \
                                                                                                   \
		return bz_cast_u32_##t(r) &                                                        \
		       (bz_##t)(n < (__typeof__(n[0]))(8 * sizeof(bz_s_##t)));                     \
	}                                                                                          \
	BZ_FN bz_##t bz_shr_##t(bz_##t a, bz_##t b)                                                \
	{                                                                                          \
		bz_k_##t n = BZ_BITS(t, b);                                                        \
		bz_##word r = bz_cast_##t##_##word(a) >> (bz_##word)(bz_cast_##t##_u32(b) & 31);   \
                                                                                                   \
		return BZ_SEL(t, n < (__typeof__(n[0]))(8 * sizeof(bz_s_##t)),                     \
			      bz_cast_##word##_##t(r), a < 0);                                     \
	}
BZ_SHIFTS_SHORT(i8, i32)
BZ_SHIFTS_SHORT(i16, i32)
BZ_SHIFTS_SHORT(u8, u32)
BZ_SHIFTS_SHORT(u16, u32)
#ifndef BZ_ONLY_NARROW
BZ_SHIFTS(i64)
BZ_SHIFTS(u64)
#endif
#ifndef BZ_ONLY_NARROW
/* 64 bits have no vector division: see below. */
BZ_FN bz_s_i64 bz_x_fdiv_i64(bz_s_i64 x, bz_s_i64 y)
{
	if (y == 0)
		return 0;
	if (y == -1)
		return (bz_s_i64)(0 - (bz_s_u64)x);
	return x / y - (x % y != 0 && (x ^ y) < 0);
}
BZ_FN bz_s_i64 bz_x_fmod_i64(bz_s_i64 x, bz_s_i64 y)
{
	return y == 0 || y == -1 ? 0 : x % y;
}
BZ_FN bz_s_i64 bz_x_rem_i64(bz_s_i64 x, bz_s_i64 y)
{
	bz_s_i64 r = bz_x_fmod_i64(x, y);

	return r != 0 && (r ^ y) < 0 ? r + y : r;
}
BZ_FN bz_s_u64 bz_x_fdiv_u64(bz_s_u64 x, bz_s_u64 y)
{
	return y ? x / y : 0;
}
BZ_FN bz_s_u64 bz_x_rem_u64(bz_s_u64 x, bz_s_u64 y)
{
	return y ? x % y : 0;
}
#endif

/* NumPy takes 1.0 / x back to the integer: 0 but for 1 and -1; 1 / 0 becomes
 * what cvtt makes of infinity, INT_MIN, cut to the type. */
#define BZ_RECIPROCAL(t, of_zero)                                                                  \
	BZ_UNARY(                                                                                  \
		recip, t,                                                                          \
		BZ_SEL(t, a == 0, BZ_SPLAT(t, of_zero),                                            \
		       (bz_##t)(a & ((a == 1) | (a == (bz_s_##t)((bz_s_##t) - 1 < 0 ? -1 : 1))))))
BZ_RECIPROCAL(i8, 0)
BZ_RECIPROCAL(i16, 0)
BZ_RECIPROCAL(i32, (bz_s_i32)0x80000000u)
BZ_RECIPROCAL(u8, 0)
BZ_RECIPROCAL(u16, 0)
BZ_RECIPROCAL(u32, 0)
#ifndef BZ_ONLY_NARROW
BZ_RECIPROCAL(i64, (bz_s_i64)0x8000000000000000u)
BZ_RECIPROCAL(u64, 0)
#endif

/* ---- floats: exact operations ------------------------------------------------- */

/* BZ_CALL splits a register into native vectors (native.h), or pads it to one, and calls f on
 * each. */
#define BZ_PIECES(t)                                                                               \
	union bz_p_##t {                                                                           \
		bz_##t v;                                                                          \
		bz_n_##t n[sizeof(bz_##t) < BZ_NATIVE ? 1 : sizeof(bz_##t) / BZ_NATIVE];           \
	};
BZ_PIECES(f32)
BZ_PIECES(f64)

#define BZ_CALL1_1(t, f, a) f(a)
#define BZ_CALL1_2(t, f, a)                                                                        \
	__extension__({                                                                            \
		union bz_p_##t u_ = {a};                                                           \
		u_.n[0] = f(u_.n[0]);                                                              \
		u_.n[1] = f(u_.n[1]);                                                              \
		u_.v;                                                                              \
	})
#if BZ_W == 4
#define BZ_TWICE(v) __builtin_shufflevector(v, v, 0, 1, 2, 3, 0, 1, 2, 3)
#define BZ_LOWER(v) __builtin_shufflevector(v, v, 0, 1, 2, 3)
#else
#define BZ_TWICE(v) __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7)
#define BZ_LOWER(v) __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7)
#endif
#define BZ_CALL1_0(t, f, a)    BZ_LOWER(f(BZ_TWICE(a)))
#define BZ_CALL2_1(t, f, a, b) f(a, b)
#define BZ_CALL2_2(t, f, a, b)                                                                     \
	__extension__({                                                                            \
		union bz_p_##t u_ = {a}, w_ = {b};                                                 \
		u_.n[0] = f(u_.n[0], w_.n[0]);                                                     \
		u_.n[1] = f(u_.n[1], w_.n[1]);                                                     \
		u_.v;                                                                              \
	})
#define BZ_CALL2_0(t, f, a, b) BZ_LOWER(f(BZ_TWICE(a), BZ_TWICE(b)))
/* Natives in a register: 1, 2, or 0 where it is half a native. */
#if BZ_NATIVE == 16
#define BZ_CALL1_f64 BZ_CALL1_2
#define BZ_CALL2_f64 BZ_CALL2_2
#else
#define BZ_CALL1_f64 BZ_CALL1_1
#define BZ_CALL2_f64 BZ_CALL2_1
#endif
#if BZ_NATIVE == 16 && defined(BZ_ONLY_NARROW)
#define BZ_CALL1_f32 BZ_CALL1_2
#define BZ_CALL2_f32 BZ_CALL2_2
#elif BZ_NATIVE == 16 || defined(BZ_ONLY_NARROW)
#define BZ_CALL1_f32 BZ_CALL1_1
#define BZ_CALL2_f32 BZ_CALL2_1
#else
#define BZ_CALL1_f32 BZ_CALL1_0
#define BZ_CALL2_f32 BZ_CALL2_0
#endif

#ifndef BZ_ONLY_NARROW
/* Division of 64 bits by way of doubles, where both operands lie within 2^51: what a quotient lacks
 * of a whole number is more than it is rounded by, so that cut to one it is right, and its product
 * with the divisor is exact.  With AVX-512 a dividend of floor_divide or remainder that lies beyond
 * is brought within first, by the quotient that doubles make of it and its product, both modulo
 * 2^64: less than the divisor and 2^12 are left, of either sign.  All else that lies beyond goes
 * element by element. */
typedef bz_s_u64 bz_n_u64 __attribute__((vector_size(BZ_NATIVE)));
BZ_PIECES(i64)
BZ_PIECES(u64)
#if BZ_NATIVE == 16
#define BZ_CALL2_i64 BZ_CALL2_2
#define BZ_CALL2_u64 BZ_CALL2_2
#else
#define BZ_CALL2_i64(t, f, a, b) f((bz_n_i64)(a), (bz_n_i64)(b))
#define BZ_CALL2_u64(t, f, a, b) f(a, b)
#endif
#if BZ_NATIVE == 64
#define BZ_N_OF(v)    __builtin_convertvector((bz_n_i64)(v), bz_n_f64)
#define BZ_N_WHOLE(v) ((bz_n_u64)__builtin_ia32_cvttpd2qq512_mask(v, (bz_n_i64){0}, BZ_ALL8, 4))
#define BZ_N_LONG(v)  __builtin_ia32_ucmpq512_mask((bz_n_i64)(v), (bz_n_i64)BZ_N_SPAN, 5, 0xff)
#else
/* By what a sum with it has in its lowest bits. */
#define BZ_N_SUM      ((bz_n_f64){0} + 0x1.8p52)
#define BZ_N_OF(v)    ((bz_n_f64)((bz_n_u64)(v) + (bz_n_u64)BZ_N_SUM) - BZ_N_SUM)
#define BZ_N_WHOLE(v) ((bz_n_u64)((v) + BZ_N_SUM) - (bz_n_u64)BZ_N_SUM)
#if BZ_NATIVE == 32
#define BZ_N_LONG(v) !__builtin_ia32_ptestz256((bz_n_i64)(v), (bz_n_i64)-BZ_N_SPAN)
#elif defined(__SSE4_1__)
#define BZ_N_LONG(v) !__builtin_ia32_ptestz128((bz_n_i64)(v), (bz_n_i64)-BZ_N_SPAN)
#else
#define BZ_N_LONG(v) (((v)[0] | (v)[1]) >> 52 != 0)
#endif
#endif
/* Its numbers lie within, where those of SHIFTED are below SPAN. */
#define BZ_N_SPAN		    ((bz_n_u64){0} + ((bz_s_u64)1 << 52))
#define BZ_SHIFTED_i64(v)	    ((bz_n_u64)(v) + ((bz_s_u64)1 << 51))
#define BZ_SHIFTED_u64(v)	    ((v) | (v) << 1)
#define BZ_QUOTIENT(x, y, q)	    BZ_N_WHOLE(q)
#define BZ_LEFT(x, y, q)	    BZ_N_WHOLE((x) - (q) * (y))
#define BZ_EACH_LONG(stem, t, a, b) bz_n_each_##stem##_##t(a, b)
#if BZ_NATIVE == 64
#define BZ_BEYOND(stem, t, a, b)                                                                   \
	(BZ_N_LONG(BZ_SHIFTED_##t(b))                                                              \
		 ? bz_n_each_##stem##_##t(a, b)                                                    \
		 : bz_n_further_##stem##_##t(a, b, BZ_N_WHOLE(BZ_N_OF(a) / BZ_N_OF(b))))
#else
#define BZ_BEYOND BZ_EACH_LONG
#endif
#define BZ_LONG_DIVISION(stem, t, mode, result, adds, beyond)                                      \
	static __attribute__((noinline, unused))                                                   \
	bz_n_##t bz_n_each_##stem##_##t(bz_n_##t a, bz_n_##t b)                                    \
	{                                                                                          \
		for (int i = 0; i < (int)(BZ_NATIVE / sizeof a[0]); i++)                           \
			a[i] = bz_x_##stem##_##t((bz_s_##t)a[i], (bz_s_##t)b[i]);                  \
		return a;                                                                          \
	}                                                                                          \
	/* b is not 0; q was taken off a already. */                                               \
	BZ_FN bz_n_##t bz_n_further_##stem##_##t(bz_n_##t a, bz_n_##t b, bz_n_u64 q)               \
	{                                                                                          \
		const bz_n_f64 x = BZ_N_OF((bz_n_u64)a - q * (bz_n_u64)b), y = BZ_N_OF(b);         \
		const bz_n_f64 more = BZ_ROUND_f64(x / y, mode);                                   \
                                                                                                   \
		return (bz_n_##t)(result(x, y, more) + (adds)*q);                                  \
	}                                                                                          \
	BZ_FN bz_n_##t bz_n_##stem##_##t(bz_n_##t a, bz_n_##t b)                                   \
	{                                                                                          \
		const bz_n_##t none = (bz_n_##t)(b == 0), by = b - none;                           \
		bz_n_##t r;                                                                        \
                                                                                                   \
		if (__builtin_expect(BZ_N_LONG(BZ_SHIFTED_##t(a) | BZ_SHIFTED_##t(by)), 0))        \
			r = beyond(stem, t, a, by);                                                \
		else                                                                               \
			r = bz_n_further_##stem##_##t(a, by, (bz_n_u64){0});                       \
		return r & ~none;                                                                  \
	}                                                                                          \
	BZ_BINARY(stem, t, BZ_CALL2_##t(t, bz_n_##stem##_##t, a, b))
BZ_LONG_DIVISION(fdiv, i64, 1, BZ_QUOTIENT, 1, BZ_BEYOND)
BZ_LONG_DIVISION(rem, i64, 1, BZ_LEFT, 0, BZ_BEYOND)
BZ_LONG_DIVISION(fmod, i64, 3, BZ_LEFT, 0, BZ_EACH_LONG)
BZ_LONG_DIVISION(fdiv, u64, 3, BZ_QUOTIENT, 1, BZ_EACH_LONG)
BZ_LONG_DIVISION(rem, u64, 3, BZ_LEFT, 0, BZ_EACH_LONG)
#define bz_x_fmod_u64 bz_x_rem_u64
BZ_LONG_DIVISION(fmod, u64, 3, BZ_LEFT, 0, BZ_EACH_LONG)
#endif

/* Python's divmod of floats; the steps are those of CPython's float_divmod. */
#define BZ_FLOAT_DIVMOD(t, s)                                                                      \
	BZ_FN bz_s_##t bz_x_rem_##t(bz_s_##t x, bz_s_##t y)                                        \
	{                                                                                          \
		bz_s_##t m = __builtin_fmod##s(x, y);                                              \
                                                                                                   \
		if (y == 0)                                                                        \
			return m;                                                                  \
		if (m == 0)                                                                        \
			return __builtin_copysign##s(0, y);                                        \
		return (y < 0) != (m < 0) ? m + y : m;                                             \
	}                                                                                          \
	BZ_FN bz_s_##t bz_x_fdiv_##t(bz_s_##t x, bz_s_##t y)                                       \
	{                                                                                          \
		bz_s_##t m, d, f;                                                                  \
                                                                                                   \
		if (y == 0)                                                                        \
			return x / y;                                                              \
		m = __builtin_fmod##s(x, y);                                                       \
		d = (x - m) / y;                                                                   \
		if (m != 0 && (y < 0) != (m < 0))                                                  \
			d -= 1;                                                                    \
		if (d == 0)                                                                        \
			return __builtin_copysign##s(0, x / y);                                    \
		f = __builtin_floor##s(d);                                                         \
		return d - f > (bz_s_##t)0.5 ? f + 1 : f;                                          \
	}

/* The lesser and the greater, a where it is a NaN.  AVX has an instruction that takes b where
 * either is one or both are 0, and one that chooses by a comparison; AVX-512 has both in one. */
#if BZ_NATIVE == 64 && !defined(__clang__)
#define BZ_EXTREME_512(op, size, mask, all, a, b)                                                  \
	__builtin_ia32_##op##size##512_mask(                                                       \
		a, b, a, (mask)__builtin_ia32_cmp##size##512_mask(a, a, 7, all, 4), 4)
#define BZ_EXTREME_256(op, a, b)                                                                   \
	__builtin_ia32_##op##ps256_mask(                                                           \
		a, b, a, (unsigned char)__builtin_ia32_cmpps256_mask(a, a, 7, 0xff))
#if BZ_W == 8
#define BZ_LESSER_f32(a, b)  BZ_EXTREME_256(min, a, b)
#define BZ_GREATER_f32(a, b) BZ_EXTREME_256(max, a, b)
#else
#define BZ_LESSER_f32(a, b)  BZ_EXTREME_512(min, ps, short, 0xffff, a, b)
#define BZ_GREATER_f32(a, b) BZ_EXTREME_512(max, ps, short, 0xffff, a, b)
#endif
#define BZ_LESSER_f64(a, b)  BZ_EXTREME_512(min, pd, unsigned char, 0xff, a, b)
#define BZ_GREATER_f64(a, b) BZ_EXTREME_512(max, pd, unsigned char, 0xff, a, b)
#elif BZ_NATIVE == 32
#define BZ_EXTREME(t, op, size, a, b)                                                              \
	(bz_##t) __builtin_ia32_blendv##size(__builtin_ia32_##op##size(a, b), a, (bz_##t)(a != a))
#if BZ_W == 4
#define BZ_LESSER_f32(a, b)  BZ_EXTREME(f32, min, ps, a, b)
#define BZ_GREATER_f32(a, b) BZ_EXTREME(f32, max, ps, a, b)
#else
#define BZ_LESSER_f32(a, b)  BZ_EXTREME(f32, min, ps256, a, b)
#define BZ_GREATER_f32(a, b) BZ_EXTREME(f32, max, ps256, a, b)
#endif
#define BZ_LESSER_f64(a, b)  BZ_EXTREME(f64, min, pd256, a, b)
#define BZ_GREATER_f64(a, b) BZ_EXTREME(f64, max, pd256, a, b)
#else
#define BZ_LESSER_f32(a, b)  BZ_SEL(f32, (a < b) | (a != a), a, b)
#define BZ_GREATER_f32(a, b) BZ_SEL(f32, (a > b) | (a != a), a, b)
#define BZ_LESSER_f64(a, b)  BZ_SEL(f64, (a < b) | (a != a), a, b)
#define BZ_GREATER_f64(a, b) BZ_SEL(f64, (a > b) | (a != a), a, b)
#endif
/* The same of whole vectors, where all quotients are below 2^52 (float32: 2^23): cut to a whole
 * number such a quotient is right, or one too far from 0 where the division rounded up to it, and
 * what it leaves of the dividend is exact either way in one fused operation.  Other lanes (divisors
 * 0, infinities, NaNs, great quotients) take their vector along, element by element. */
#ifdef __FMA__
#if BZ_NATIVE == 64
#define BZ_BEYOND_f64(v, w) __builtin_ia32_cmppd512_mask(v, w, 5, 0xff, 4)
#define BZ_BEYOND_f32(v, w) __builtin_ia32_cmpps512_mask(v, w, 5, 0xffff, 4)
#else
#define BZ_BEYOND_f64(v, w) __builtin_ia32_movmskpd256(__builtin_ia32_cmppd256(v, w, 5))
#define BZ_BEYOND_f32(v, w) __builtin_ia32_movmskps256(__builtin_ia32_cmpps256(v, w, 5))
#endif
#define BZ_N_MASK(t)	     __typeof__((bz_n_##t){0} == (bz_n_##t){0})
#define BZ_N_SEL(t, m, x, y) ((bz_n_##t)(((m) & (BZ_N_MASK(t))(x)) | (~(m) & (BZ_N_MASK(t))(y))))
#define BZ_N_LANES(stem, t, expr)                                                                  \
	BZ_FN bz_n_##t bz_n_each_##stem##_##t(bz_n_##t a, bz_n_##t b)                              \
	{                                                                                          \
		for (int i = 0; i < (int)(BZ_NATIVE / sizeof(bz_s_##t)); i++) {                    \
			bz_s_##t x = a[i], y = b[i];                                               \
			a[i] = (expr);                                                             \
		}                                                                                  \
		return a;                                                                          \
	}
#define BZ_FLOAT_REMAINDERS(t, s, bound)                                                           \
	BZ_FN bz_n_##t bz_n_signed_##t(bz_n_##t size, bz_n_##t sign)                               \
	{                                                                                          \
		const BZ_N_MASK(t) top = (BZ_N_MASK(t))(-(bz_n_##t){0});                           \
                                                                                                   \
		return BZ_N_SEL(t, top, sign, size);                                               \
	}                                                                                          \
	/* Is *m what fmod gives, in all lanes? */                                                 \
	BZ_FN int bz_n_rest_##t(bz_n_##t *m, bz_n_##t a, bz_n_##t b)                               \
	{                                                                                          \
		bz_n_##t q = BZ_ROUND_##t(a / b, 3), r = BZ_FMA_##t(-q, b, a);                     \
		bz_n_##t size = bz_n_signed_##t(q, (bz_n_##t){0}) + (r - r);                       \
                                                                                                   \
		r = BZ_N_SEL(t, ((r < 0) ^ (a < 0)) & (r != 0), r + bz_n_signed_##t(b, a), r);     \
		*m = bz_n_signed_##t(r, a);                                                        \
		return !BZ_BEYOND_##t(size, (bz_n_##t){0} + (bz_s_##t)(bound));                    \
	}                                                                                          \
	BZ_N_LANES(fmod, t, __builtin_fmod##s(x, y))                                               \
	BZ_N_LANES(rem, t, bz_x_rem_##t(x, y))                                                     \
	BZ_N_LANES(fdiv, t, bz_x_fdiv_##t(x, y))                                                   \
	BZ_FN bz_n_##t bz_n_fmod_##t(bz_n_##t a, bz_n_##t b)                                       \
	{                                                                                          \
		bz_n_##t m;                                                                        \
                                                                                                   \
		return bz_n_rest_##t(&m, a, b) ? m : bz_n_each_fmod_##t(a, b);                     \
	}                                                                                          \
	BZ_FN bz_n_##t bz_n_rem_##t(bz_n_##t a, bz_n_##t b)                                        \
	{                                                                                          \
		bz_n_##t m;                                                                        \
                                                                                                   \
		if (!bz_n_rest_##t(&m, a, b))                                                      \
			return bz_n_each_rem_##t(a, b);                                            \
		return BZ_N_SEL(t, m == 0, bz_n_signed_##t((bz_n_##t){0}, b),                      \
				BZ_N_SEL(t, (m < 0) ^ (b < 0), m + b, m));                         \
	}                                                                                          \
	BZ_FN bz_n_##t bz_n_fdiv_##t(bz_n_##t a, bz_n_##t b)                                       \
	{                                                                                          \
		bz_n_##t m, d, f;                                                                  \
                                                                                                   \
		if (!bz_n_rest_##t(&m, a, b))                                                      \
			return bz_n_each_fdiv_##t(a, b);                                           \
		d = (a - m) / b;                                                                   \
		d = BZ_N_SEL(t, ((m < 0) ^ (b < 0)) & (m != 0), d - 1, d);                         \
		f = BZ_ROUND_##t(d, 1);                                                            \
		f = BZ_N_SEL(t, d - f > (bz_s_##t)0.5, f + 1, f);                                  \
		return BZ_N_SEL(t, d == 0, bz_n_signed_##t((bz_n_##t){0}, a / b), f);              \
	}                                                                                          \
	BZ_BINARY(fdiv, t, BZ_CALL2_##t(t, bz_n_fdiv_##t, a, b))                                   \
	BZ_BINARY(rem, t, BZ_CALL2_##t(t, bz_n_rem_##t, a, b))                                     \
	BZ_BINARY(fmod, t, BZ_CALL2_##t(t, bz_n_fmod_##t, a, b))
#else
#define BZ_FLOAT_REMAINDERS(t, s, bound)                                                           \
	BZ_LANES2(fdiv, t, bz_x_fdiv_##t(x, y))                                                    \
	BZ_LANES2(rem, t, bz_x_rem_##t(x, y))                                                      \
	BZ_LANES2(fmod, t, __builtin_fmod##s(x, y))
#endif

/* AVX-512 has an instruction for either; 0, infinities and NaNs they leave out. */
#if BZ_NATIVE == 64
#define BZ_PARTED_f64(x) (BZ_MASK8) ~__builtin_ia32_fpclasspd512_mask(x, 0x9f, 0xff)
#define BZ_PARTED_f32(x) (BZ_MASK16) ~__builtin_ia32_fpclassps512_mask(x, 0x9f, 0xffff)
#define BZ_MANT_f64(x)	 __builtin_ia32_getmantpd512_mask(x, 2, x, BZ_PARTED_f64(x), 4)
#define BZ_MANT_f32(x)	 __builtin_ia32_getmantps512_mask(x, 2, x, BZ_PARTED_f32(x), 4)
#define BZ_EXPO_f64(x)	 __builtin_ia32_getexppd512_mask(x, (bz_n_f64){0} - 1, BZ_PARTED_f64(x), 4)
#define BZ_EXPO_f32(x)	 __builtin_ia32_getexpps512_mask(x, (bz_n_f32){0} - 1, BZ_PARTED_f32(x), 4)
#define BZ_MANTISSAS(t, ...)                                                                       \
	BZ_UNARY(mant, t, BZ_CALL1_##t(t, BZ_MANT_##t, a))                                         \
	BZ_UNARY(expo, t, BZ_CALL1_##t(t, BZ_EXPO_##t, a) + 1)
#else
#define BZ_MANTISSAS(t, k, whole, inf, tiny, more, up, shift, field, bias, half)                   \
	BZ_FN bz_##t bz_x_normal_##t(bz_##t a)                                                     \
	{                                                                                          \
		return BZ_SEL(t, bz_abs_##t(a) < (tiny), a * (more), a);                           \
	}                                                                                          \
	BZ_UNARY(mant, t,                                                                          \
		 BZ_SEL(t, (a == 0) | ~(bz_abs_##t(a) < (inf)), a,                                 \
			((BZ_BITS(t, bz_x_normal_##t(a)) & ~((bz_s_##k)(field) << (shift))) |      \
			 ((bz_s_##k)(half) << (shift)))))                                          \
	BZ_FN bz_##t bz_expo_##t(bz_##t a)                                                         \
	{                                                                                          \
		bz_##k bits = (BZ_BITS(t, bz_x_normal_##t(a)) >> (shift)) & (field);               \
		bz_##t e = bz_cast_##whole##_##t((bz_##whole)bits) - (bias);                       \
                                                                                                   \
		e = BZ_SEL(t, bz_abs_##t(a) < (tiny), e - (up), e);                                \
		return BZ_SEL(t, (a == 0) | ~(bz_abs_##t(a) < (inf)), BZ_SPLAT(t, 0), e);          \
	}
#endif
/* modf's fraction, with its number's sign, and 0 of infinities; frexp's mantissa, and its exponent
 * as a number of the same type.  Subnormal numbers are made greater by 2^54 (float32: 2^30) before.
 */
#define BZ_FLOAT_PARTS(t, k, whole, inf, top, tiny, more, up, shift, field, bias, half)            \
	BZ_UNARY(frac, t,                                                                          \
		 (BZ_BITS(t, BZ_SEL(t, bz_abs_##t(a) == (inf), BZ_SPLAT(t, 0),                     \
				    a - bz_trunc_##t(a))) &                                        \
		  ~(top)) |                                                                        \
			 (BZ_BITS(t, a) & (top)))                                                  \
	BZ_MANTISSAS(t, k, whole, inf, tiny, more, up, shift, field, bias, half)

/* The bits of a number where the mask says, else of 0. */
#define BZ_IF(t, m, number) (BZ_BITS(t, m) & BZ_BITS(t, BZ_SPLAT(t, number)))
#define BZ_PI		    3.141592653589793238462643383279502884
#define BZ_FLOAT(t, k, s, inf, top)                                                                \
	BZ_SAME(pos, t)                                                                            \
	BZ_SAME(conj, t)                                                                           \
	BZ_SAME(real, t)                                                                           \
	BZ_BINARY(add, t, a + b)                                                                   \
	BZ_BINARY(sub, t, a - b)                                                                   \
	BZ_BINARY(mul, t, a *b)                                                                    \
	BZ_BINARY(div, t, a / b)                                                                   \
	BZ_UNARY(neg, t, BZ_BITS(t, a) ^ (top))                                                    \
	BZ_UNARY(abs, t, BZ_BITS(t, a) & ~(top))                                                   \
	BZ_UNARY(square, t, a *a)                                                                  \
	BZ_UNARY(recip, t, 1 / a)                                                                  \
	BZ_UNARY(radians, t, a *((bz_s_##t)BZ_PI / 180))                                           \
	BZ_UNARY(degrees, t, a *(180 / (bz_s_##t)BZ_PI))                                           \
	BZ_UNARY(imag, t, BZ_SPLAT(t, 0))                                                          \
	BZ_BINARY(copysign, t, (BZ_BITS(t, a) & ~(top)) | (BZ_BITS(t, b) & (top)))                 \
	BZ_BINARY(min, t, BZ_LESSER_##t(a, b))                                                     \
	BZ_BINARY(max, t, BZ_GREATER_##t(a, b))                                                    \
	BZ_BINARY(fmin, t, BZ_SEL(t, (a < b) | (b != b), a, b))                                    \
	BZ_BINARY(fmax, t, BZ_SEL(t, (a > b) | (b != b), a, b))                                    \
	BZ_CLIP(t)                                                                                 \
	/* sign of 0 is +0, of NaN the NaN. */                                                     \
	BZ_UNARY(sign, t, BZ_SEL(t, a != a, a, BZ_IF(t, a < 0, -1) | BZ_IF(t, a > 0, 1)))          \
	BZ_BINARY(heaviside, t,                                                                    \
		  BZ_SEL(t, a != a, bz_abs_##t(a), BZ_SEL(t, a == 0, b, BZ_IF(t, a > 0, 1))))      \
	BZ_FN bz_b1 bz_isnan_##t(bz_##t a)                                                         \
	{                                                                                          \
		return BZ_B1(a != a);                                                              \
	}                                                                                          \
	BZ_FN bz_b1 bz_isinf_##t(bz_##t a)                                                         \
	{                                                                                          \
		return BZ_B1(bz_abs_##t(a) == (inf));                                              \
	}                                                                                          \
	BZ_FN bz_b1 bz_isfinite_##t(bz_##t a)                                                      \
	{                                                                                          \
		return BZ_B1(bz_abs_##t(a) < (inf));                                               \
	}                                                                                          \
	BZ_FN bz_b1 bz_signbit_##t(bz_##t a)                                                       \
	{                                                                                          \
		return BZ_B1((BZ_BITS(t, a) & (top)) != 0);                                        \
	}                                                                                          \
	BZ_FN bz_n_##t bz_n_sqrt_##t(bz_n_##t v)                                                   \
	{                                                                                          \
		return BZ_SQRT_##t(v);                                                             \
	}                                                                                          \
	BZ_FN bz_n_##t bz_n_rint_##t(bz_n_##t v)                                                   \
	{                                                                                          \
		return BZ_ROUND_##t(v, 0);                                                         \
	}                                                                                          \
	BZ_FN bz_n_##t bz_n_floor_##t(bz_n_##t v)                                                  \
	{                                                                                          \
		return BZ_ROUND_##t(v, 1);                                                         \
	}                                                                                          \
	BZ_FN bz_n_##t bz_n_ceil_##t(bz_n_##t v)                                                   \
	{                                                                                          \
		return BZ_ROUND_##t(v, 2);                                                         \
	}                                                                                          \
	BZ_FN bz_n_##t bz_n_trunc_##t(bz_n_##t v)                                                  \
	{                                                                                          \
		return BZ_ROUND_##t(v, 3);                                                         \
	}                                                                                          \
	BZ_UNARY(sqrt, t, BZ_CALL1_##t(t, bz_n_sqrt_##t, a))                                       \
	BZ_UNARY(rint, t, BZ_CALL1_##t(t, bz_n_rint_##t, a))                                       \
	BZ_UNARY(floor, t, BZ_CALL1_##t(t, bz_n_floor_##t, a))                                     \
	BZ_UNARY(ceil, t, BZ_CALL1_##t(t, bz_n_ceil_##t, a))                                       \
	BZ_UNARY(trunc, t, BZ_CALL1_##t(t, bz_n_trunc_##t, a))                                     \
	BZ_FLOAT_DIVMOD(t, s)                                                                      \
	BZ_LANES2(nextafter, t, __builtin_nextafter##s(x, y))
BZ_FLOAT(f32, u32, f, __builtin_inff(), 0x80000000u)
BZ_FLOAT_REMAINDERS(f32, f, 0x1p23f)
BZ_FLOAT_PARTS(f32, u32, i32, __builtin_inff(), 0x80000000u, 0x1p-126f, 0x1p30f, 30, 23, 0xff, 126,
	       126)
#ifndef BZ_ONLY_NARROW
BZ_FLOAT(f64, u64, , __builtin_inf(), (bz_s_u64)1 << 63)
BZ_FLOAT_REMAINDERS(f64, , 0x1p52)
BZ_FLOAT_PARTS(f64, u64, i64, __builtin_inf(), (bz_s_u64)1 << 63, 0x1p-1022, 0x1p54, 54, 52, 0x7ff,
	       1022, 1022)
#endif

/* ---- floats: functions, libmvec's or braze's own (native_math.h) ---------------- */

#ifndef BZ_NO_MATH
#define BZ_MATH1(stem, t) BZ_UNARY(stem, t, BZ_CALL1_##t(t, bz_n_##stem##_##t, a))
#define BZ_MATH2(stem, t) BZ_BINARY(stem, t, BZ_CALL2_##t(t, bz_n_##stem##_##t, a, b))

/* logaddexp: the greater plus log1p(exp(-distance)); equal operands, infinities
 * among them, add log 2; a NaN comes through the difference. */
#define BZ_MATH(t)                                                                                 \
	BZ_MATH1(cbrt, t)                                                                          \
	BZ_MATH1(exp, t)                                                                           \
	BZ_MATH1(expm1, t)                                                                         \
	BZ_MATH1(exp2, t)                                                                          \
	BZ_MATH1(log, t)                                                                           \
	BZ_MATH1(log2, t)                                                                          \
	BZ_MATH1(log10, t)                                                                         \
	BZ_MATH1(log1p, t)                                                                         \
	BZ_MATH1(sin, t)                                                                           \
	BZ_MATH1(cos, t)                                                                           \
	BZ_MATH1(tan, t)                                                                           \
	BZ_MATH1(asin, t)                                                                          \
	BZ_MATH1(acos, t)                                                                          \
	BZ_MATH1(atan, t)                                                                          \
	BZ_MATH1(sinh, t)                                                                          \
	BZ_MATH1(cosh, t)                                                                          \
	BZ_MATH1(tanh, t)                                                                          \
	BZ_MATH1(asinh, t)                                                                         \
	BZ_MATH1(acosh, t)                                                                         \
	BZ_MATH1(atanh, t)                                                                         \
	BZ_MATH2(pow, t)                                                                           \
	BZ_MATH2(atan2, t)                                                                         \
	BZ_MATH2(hypot, t)                                                                         \
	BZ_FN bz_##t bz_logaddexp_##t(bz_##t a, bz_##t b)                                          \
	{                                                                                          \
		const bz_s_##t ln2 = (bz_s_##t)0.693147180559945309417232121458176568;             \
		bz_##t d = a - b;                                                                  \
		bz_##t tail = bz_log1p_##t(bz_exp_##t(bz_neg_##t(bz_abs_##t(d))));                 \
		bz_##t r = BZ_SEL(t, a > b, a, b) + tail;                                          \
                                                                                                   \
		r = BZ_SEL(t, d != d, d, r);                                                       \
		return BZ_SEL(t, a == b, a + ln2, r);                                              \
	}
BZ_MATH(f32)
#ifndef BZ_ONLY_NARROW
BZ_MATH(f64)
#endif
#endif

#endif
