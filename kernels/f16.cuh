/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/f16.cuh - float16, after pre.cuh, ew.cuh, cx.cuh and half.h in every CUDA prologue.
 *
 * f16.h's rules for one element: every operation is float32's, rounded once.  bz_f16
 * has no operators, so a template that is not specialised here does not compile for
 * it by accident.  Nests reduce float16 as float32. */
#ifndef BZ_NO_HALF

#define BZ_HALF_FN template <> __device__ __forceinline__

BZ_FN bool bz_half_nan(bz_f16 a)
{
	return (a.bits & 0x7fff) > 0x7c00;
}

#define BZ_HALF_BITS(stem, expr)                                                                   \
	BZ_HALF_FN bz_f16 bz_##stem<bz_f16>(bz_f16 a)                                              \
	{                                                                                          \
		return {(bz_u16)(expr)};                                                           \
	}
#define BZ_HALF_AUTO(stem, expr)                                                                   \
	BZ_HALF_FN auto bz_##stem<bz_f16>(bz_f16 a)                                                \
	{                                                                                          \
		return bz_f16{(bz_u16)(expr)};                                                     \
	}
#define BZ_HALF_TEST(stem, expr)                                                                   \
	BZ_HALF_FN bool bz_##stem<bz_f16>(bz_f16 a)                                                \
	{                                                                                          \
		return expr;                                                                       \
	}
BZ_HALF_BITS(pos, a.bits)
BZ_HALF_BITS(conj, a.bits)
BZ_HALF_BITS(neg, a.bits ^ 0x8000)
BZ_HALF_AUTO(real, a.bits)
BZ_HALF_AUTO(imag, 0)
BZ_HALF_AUTO(abs, a.bits & 0x7fff)
BZ_HALF_TEST(isnan, bz_half_nan(a))
BZ_HALF_TEST(isinf, (a.bits & 0x7fff) == 0x7c00)
BZ_HALF_TEST(isfinite, (a.bits & 0x7fff) < 0x7c00)
BZ_HALF_TEST(signbit, (a.bits & 0x8000) != 0)
BZ_HALF_FN bz_f16 bz_copysign<bz_f16>(bz_f16 a, bz_f16 b)
{
	return {(bz_u16)((a.bits & 0x7fff) | (b.bits & 0x8000))};
}
/* Numbers in their order are consecutive integers; a result of 0 has a's sign. */
BZ_FN int bz_half_order(bz_f16 a)
{
	return a.bits & 0x8000 ? -(a.bits & 0x7fff) : a.bits;
}
BZ_HALF_FN bz_f16 bz_nextafter<bz_f16>(bz_f16 a, bz_f16 b)
{
	const int from = bz_half_order(a), towards = bz_half_order(b);
	const int to = from + (towards > from) - (towards < from);

	if (bz_half_nan(a) || bz_half_nan(b))
		return {0x7e00};
	return {(bz_u16)(to < 0 ? 0x8000 - to : to ? to : a.bits & 0x8000)};
}

#define BZ_HALF1(stem)                                                                             \
	BZ_HALF_FN bz_f16 bz_##stem<bz_f16>(bz_f16 a)                                              \
	{                                                                                          \
		return bz_narrow(bz_##stem<bz_f32>(bz_widen(a)));                                  \
	}
#define BZ_HALF2(stem)                                                                             \
	BZ_HALF_FN bz_f16 bz_##stem<bz_f16>(bz_f16 a, bz_f16 b)                                    \
	{                                                                                          \
		return bz_narrow(bz_##stem<bz_f32>(bz_widen(a), bz_widen(b)));                     \
	}
#define BZ_HALF_REL(stem)                                                                          \
	BZ_HALF_FN bool bz_##stem<bz_f16>(bz_f16 a, bz_f16 b)                                      \
	{                                                                                          \
		return bz_##stem<bz_f32>(bz_widen(a), bz_widen(b));                                \
	}
BZ_EACH_HALF_REL(BZ_HALF_REL)
BZ_EACH_HALF1(BZ_HALF1)
BZ_EACH_HALF2(BZ_HALF2)
/* Of two zeros the first, as NumPy takes it of float16. */
#define BZ_HALF_EXTREME(stem, rel, skip)                                                           \
	BZ_HALF_FN bz_f16 bz_##stem<bz_f16>(bz_f16 a, bz_f16 b)                                    \
	{                                                                                          \
		return bz_half_nan(skip) || bz_widen(a) rel bz_widen(b) ? a : b;                   \
	}
BZ_HALF_EXTREME(min, <=, a)
BZ_HALF_EXTREME(max, >=, a)
BZ_HALF_EXTREME(fmin, <=, b)
BZ_HALF_EXTREME(fmax, >=, b)
BZ_HALF_FN bz_f16 bz_clip<bz_f16>(bz_f16 x, bz_f16 lo, bz_f16 hi)
{
	return bz_min<bz_f16>(bz_max<bz_f16>(x, lo), hi);
}

#endif
