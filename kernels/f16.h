/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/f16.h - float16, after pre.h, ew.h and half.h in every prologue.
 *
 * A register holds the bits, as memory does.  Every operation is float32's followed
 * by one rounding to nearest, ties to even, as NumPy computes them; so + - * / sqrt
 * are correctly rounded, because float32 has more than twice float16's digits.  What
 * only moves bits (sign, copy, choice) leaves a NaN as it is.  Reductions have no
 * functions here: nests reduce float16 as float32 (nest.h).
 *
 * Conversions are one instruction where the processor has F16C, else integer and
 * float operations with the same bits, NaN included.  BZ_NO_HALF leaves all out. */
#if !defined(BZ_F16_H) && !defined(BZ_NO_HALF)
#define BZ_F16_H

typedef __UINT16_TYPE__ bz_s_f16;
BZ_TYPE(f16)
typedef bz_u16 bz_k_f16;
#define BZ_CLEAN_f16(x) (void)0
BZ_MEMORY(f16)
BZ_PART(f16)
BZ_IMM_INT(f16)

/* ---- to and from float32 ------------------------------------------------------- */

#ifdef __F16C__
typedef short bz_x_h8 __attribute__((vector_size(16)));
#if BZ_W == 4
#define BZ_WIDEN(h)                                                                                \
	((bz_f32)__builtin_ia32_vcvtph2ps(                                                         \
		(bz_x_h8)__builtin_shufflevector(h, h, 0, 1, 2, 3, 0, 1, 2, 3)))
BZ_FN bz_f16 bz_x_narrow(bz_f32 f)
{
	bz_x_h8 h = __builtin_ia32_vcvtps2ph(f, 0);
	return (bz_f16)__builtin_shufflevector(h, h, 0, 1, 2, 3);
}
#define BZ_NARROW(f) bz_x_narrow(f)
#elif BZ_W == 8
#define BZ_WIDEN(h)  ((bz_f32)__builtin_ia32_vcvtph2ps256((bz_x_h8)(h)))
#define BZ_NARROW(f) ((bz_f16)__builtin_ia32_vcvtps2ph256(f, 0))
#else
typedef short bz_x_h16 __attribute__((vector_size(32)));
#define BZ_WIDEN(h)                                                                                \
	((bz_f32)__builtin_ia32_vcvtph2ps512_mask((bz_x_h16)(h), BZ_SPLAT(f32, 0), BZ_ALL16, 4))
#define BZ_NARROW(f)                                                                               \
	((bz_f16)__builtin_ia32_vcvtps2ph512_mask(f, 0, (bz_x_h16)BZ_SPLAT(f16, 0), 0xffff))
#endif
#else
#define BZ_CHOOSE(mask, a, b) (((a) & (bz_u32)(mask)) | ((b) & ~(bz_u32)(mask)))
/* The exponent's bias is 112 less than float32's; multiplying makes a number that is
 * subnormal with one bias normal with the other. */
BZ_FN bz_f32 bz_x_widen(bz_f16 h)
{
	const bz_u32 x = BZ_CVT(u32, h), size = (x & 0x7fff) << 13;
	const bz_u32 odd = (bz_u32)(size >= 0x7c00u << 13), nan = (bz_u32)(size > 0x7c00u << 13);
	const bz_u32 scaled = (bz_u32)((bz_f32)size * 0x1p112f);

	return (bz_f32)(scaled | (odd & 0x7f800000u) | (nan & 0x400000u) | (x & 0x8000) << 16);
}
/* From 2^-14 on 13 bits go, ties to even; what this carries into the exponent is
 * right, up to infinity.  Below, float16's numbers are the multiples of 2^-24, as
 * float32's are from 0.5 on.  A NaN keeps the upper bits. */
BZ_FN bz_f16 bz_x_narrow(bz_f32 f)
{
	const bz_u32 x = (bz_u32)f, size = x & 0x7fffffffu;
	const bz_u32 most = BZ_CHOOSE(size > 0x47800000u, BZ_SPLAT(u32, 0x47800000u), size);
	const bz_u32 tiny = (bz_u32)((bz_f32)size + 0.5f) - 0x3f000000u;
	bz_u32 r = ((most + 0xfffu + (most >> 13 & 1)) >> 13) - (112u << 10);

	r = BZ_CHOOSE(size < 0x38800000u, tiny, r);
	r = BZ_CHOOSE(size > 0x7f800000u, 0x7e00 | (size >> 13 & 0x3ff), r);
	return BZ_CVT(f16, r | (x >> 16 & 0x8000));
}
#define BZ_WIDEN(h)	      bz_x_widen(h)
#define BZ_NARROW(f)	      bz_x_narrow(f)
#endif

/* ---- casts ------------------------------------------------------------------------ */

BZ_FN bz_f32 bz_cast_f16_f32(bz_f16 x)
{
	return BZ_WIDEN(x);
}
BZ_FN bz_f16 bz_cast_f32_f16(bz_f32 x)
{
	return BZ_NARROW(x);
}
BZ_FN bz_f16 bz_cast_f16_f16(bz_f16 x)
{
	return x;
}
/* From float32 on, integers are exact up to 2^24, and all beyond become infinity. */
#define BZ_CAST_HALF(t)                                                                            \
	BZ_FN bz_f16 bz_cast_##t##_f16(bz_##t x)                                                   \
	{                                                                                          \
		return BZ_NARROW(bz_cast_##t##_f32(x));                                            \
	}                                                                                          \
	BZ_FN bz_##t bz_cast_f16_##t(bz_f16 x)                                                     \
	{                                                                                          \
		return bz_cast_f32_##t(BZ_WIDEN(x));                                               \
	}
BZ_CAST_HALF(b1)
BZ_EACH_INT(BZ_CAST_HALF)
#ifndef BZ_ONLY_NARROW
BZ_FN bz_f64 bz_cast_f16_f64(bz_f16 x)
{
	return BZ_CVT(f64, BZ_WIDEN(x));
}
/* Rounded once: float32 takes the number towards 0 and an odd last bit where that
 * lost something, which no tie of float16's has. */
BZ_FN bz_f16 bz_cast_f64_f16(bz_f64 x)
{
	const bz_f32 near = BZ_CVT(f32, x);
	const bz_f64 back = BZ_CVT(f64, near);
	const bz_i64 beyond = (bz_i64)(bz_abs_f64(back) > bz_abs_f64(x)),
		     lost = (bz_i64)(back != x);
	const bz_u32 cut = (bz_u32)near + (bz_u32)BZ_CVT(i32, beyond);

	return BZ_NARROW((bz_f32)(cut | (bz_u32)(BZ_CVT(i32, lost) & 1)));
}
#ifndef BZ_NO_COMPLEX
#define BZ_CAST_HALF_COMPLEX(t, f)                                                                 \
	BZ_FN bz_f16 bz_cast_##t##_f16(bz_##t x)                                                   \
	{                                                                                          \
		return bz_cast_##f##_f16(x.re);                                                    \
	}                                                                                          \
	BZ_FN bz_##t bz_cast_f16_##t(bz_f16 x)                                                     \
	{                                                                                          \
		return bz_cast_f32_##t(BZ_WIDEN(x));                                               \
	}
BZ_EACH_COMPLEX(BZ_CAST_HALF_COMPLEX)
#endif
#endif

/* ---- bits --------------------------------------------------------------------------- */

BZ_SAME(pos, f16)
BZ_SAME(conj, f16)
BZ_SAME(real, f16)
BZ_UNARY(imag, f16, a ^ a)
BZ_UNARY(neg, f16, a ^ 0x8000)
BZ_UNARY(abs, f16, a & 0x7fff)
BZ_BINARY(copysign, f16, (a & 0x7fff) | (b & 0x8000))
#define BZ_HALF_TEST(stem, expr)                                                                   \
	BZ_FN bz_b1 bz_##stem##_f16(bz_f16 a)                                                      \
	{                                                                                          \
		return BZ_B1(expr);                                                                \
	}
BZ_HALF_TEST(isnan, (a & 0x7fff) > 0x7c00)
BZ_HALF_TEST(isinf, (a & 0x7fff) == 0x7c00)
BZ_HALF_TEST(isfinite, (a & 0x7fff) < 0x7c00)
BZ_HALF_TEST(signbit, (a & 0x8000) != 0)
BZ_FN bz_f16 bz_where_f16(bz_b1 c, bz_f16 a, bz_f16 b)
{
	return BZ_SEL(f16, BZ_MASK(f16, c), a, b);
}
/* Numbers in their order are consecutive integers; a result of 0 has a's sign. */
BZ_FN bz_f16 bz_nextafter_f16(bz_f16 a, bz_f16 b)
{
	const bz_i16 x = (bz_i16)(a & 0x7fff), y = (bz_i16)(b & 0x7fff);
	const bz_i16 from = (bz_i16)BZ_SEL(i16, (bz_i16)a < 0, -x, x);
	const bz_i16 towards = (bz_i16)BZ_SEL(i16, (bz_i16)b < 0, -y, y);
	const bz_i16 to = from + (bz_i16)(towards < from) - (bz_i16)(towards > from);
	const bz_i16 nan = (bz_i16)((x > 0x7c00) | (y > 0x7c00));
	const bz_f16 sign = ((bz_f16)(to < 0) | ((bz_f16)(to == 0) & a)) & 0x8000;
	const bz_f16 size = (bz_f16)BZ_SEL(i16, to < 0, -to, to);

	return BZ_SEL(f16, nan, BZ_SPLAT(f16, 0x7e00), size | sign);
}

/* Of two zeros the first, as NumPy takes it of float16. */
#define BZ_HALF_EXTREME(stem, expr)                                                                \
	BZ_FN bz_f16 bz_##stem##_f16(bz_f16 a, bz_f16 b)                                           \
	{                                                                                          \
		const bz_f32 x = BZ_WIDEN(a), y = BZ_WIDEN(b);                                     \
		return BZ_SEL(f16, BZ_CVT(i16, expr), a, b);                                       \
	}
BZ_HALF_EXTREME(min, (x <= y) | (x != x))
BZ_HALF_EXTREME(max, (x >= y) | (x != x))
BZ_HALF_EXTREME(fmin, (x <= y) | (y != y))
BZ_HALF_EXTREME(fmax, (x >= y) | (y != y))

/* ---- through float32 ------------------------------------------------------------------ */

#define BZ_HALF1(stem) BZ_UNARY(stem, f16, BZ_NARROW(bz_##stem##_f32(BZ_WIDEN(a))))
#define BZ_HALF2(stem) BZ_BINARY(stem, f16, BZ_NARROW(bz_##stem##_f32(BZ_WIDEN(a), BZ_WIDEN(b))))
#define BZ_HALF_REL(stem)                                                                          \
	BZ_FN bz_b1 bz_##stem##_f16(bz_f16 a, bz_f16 b)                                            \
	{                                                                                          \
		return bz_##stem##_f32(BZ_WIDEN(a), BZ_WIDEN(b));                                  \
	}
BZ_EACH_HALF_REL(BZ_HALF_REL)
BZ_EACH_HALF1(BZ_HALF1)
BZ_EACH_HALF2(BZ_HALF2)
BZ_CLIP_FIRST(f16)

#endif
