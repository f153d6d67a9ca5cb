/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/native.h - vectors of the instruction set's own width, and functions of them: at the head
 * of every C text that is generated, before pre.h and lang.h.
 *
 * Out: BZ_NATIVE, the bytes of such a vector; bz_n_f32 and bz_n_f64; BZ_MVEC_<t>(args, name),
 * libmvec's widest routine of that name; bz_n_<stem>_<t>, the functions that are braze's own.
 * Includes nothing, and knows nothing of registers (pre.h) or numbers (lang.h), which both have
 * their functions by these, and so the same bits. */
#ifndef BZ_NATIVE_H
#define BZ_NATIVE_H

#if defined(__AVX512F__)
#define BZ_NATIVE		64
#define BZ_MVEC_f64(args, name) _ZGVeN8##args##_##name
#define BZ_MVEC_f32(args, name) _ZGVeN16##args##_##name##f
#elif defined(__AVX2__)
#define BZ_NATIVE		32
#define BZ_MVEC_f64(args, name) _ZGVdN4##args##_##name
#define BZ_MVEC_f32(args, name) _ZGVdN8##args##_##name##f
#else
#define BZ_NATIVE		16
#define BZ_MVEC_f64(args, name) _ZGVbN2##args##_##name
#define BZ_MVEC_f32(args, name) _ZGVbN4##args##_##name##f
#endif
typedef float bz_n_f32 __attribute__((vector_size(BZ_NATIVE)));
typedef double bz_n_f64 __attribute__((vector_size(BZ_NATIVE)));
typedef int bz_n_i32 __attribute__((vector_size(BZ_NATIVE)));
typedef long long bz_n_i64 __attribute__((vector_size(BZ_NATIVE)));
#define BZ_N_FN static inline __attribute__((always_inline, unused))

/* All lanes, for the intrinsics that take a mask: clang declares it unsigned, gcc signed. */
#ifdef __clang__
#define BZ_ALL8	  0xff
#define BZ_ALL16  0xffff
#define BZ_MASK8  unsigned char
#define BZ_MASK16 unsigned short
#else
#define BZ_ALL8	  -1
#define BZ_ALL16  -1
#define BZ_MASK8  char
#define BZ_MASK16 short
#endif

/* Square roots. */
#if BZ_NATIVE == 64
#ifdef __clang__
#define BZ_SQRT_f64(v) ((bz_n_f64)__builtin_ia32_sqrtpd512(v, 4))
#define BZ_SQRT_f32(v) ((bz_n_f32)__builtin_ia32_sqrtps512(v, 4))
#else
#define BZ_SQRT_f64(v) __builtin_ia32_sqrtpd512_mask(v, v, BZ_ALL8, 4)
#define BZ_SQRT_f32(v) __builtin_ia32_sqrtps512_mask(v, v, BZ_ALL16, 4)
#endif
#elif BZ_NATIVE == 32
#define BZ_SQRT_f64(v) __builtin_ia32_sqrtpd256(v)
#define BZ_SQRT_f32(v) __builtin_ia32_sqrtps256(v)
#else
#define BZ_SQRT_f64(v) __builtin_ia32_sqrtpd(v)
#define BZ_SQRT_f32(v) __builtin_ia32_sqrtps(v)
#endif

/* Rounding (mode: 0 nearest even, 1 down, 2 up, 3 to zero; 8 keeps the inexact flag
 * quiet), one instruction each. */
#if BZ_NATIVE == 64
#define BZ_ROUND_f64(v, mode) __builtin_ia32_rndscalepd_mask(v, mode | 8, v, BZ_ALL8, 4)
#define BZ_ROUND_f32(v, mode) __builtin_ia32_rndscaleps_mask(v, mode | 8, v, BZ_ALL16, 4)
#elif BZ_NATIVE == 32
#define BZ_ROUND_f64(v, mode) __builtin_ia32_roundpd256(v, mode | 8)
#define BZ_ROUND_f32(v, mode) __builtin_ia32_roundps256(v, mode | 8)
#else
#ifdef __SSE4_1__
#define BZ_ROUND_f64(v, mode) __builtin_ia32_roundpd(v, mode | 8)
#define BZ_ROUND_f32(v, mode) __builtin_ia32_roundps(v, mode | 8)
#else
#define BZ_ROUND_LANES(t, s)                                                                       \
	BZ_N_FN bz_n_##t bz_n_round_##t(bz_n_##t v, int mode)                                      \
	{                                                                                          \
		for (int i = 0; i < (int)(BZ_NATIVE / sizeof v[0]); i++)                           \
			v[i] = mode == 0   ? __builtin_rint##s(v[i])                               \
			       : mode == 1 ? __builtin_floor##s(v[i])                              \
			       : mode == 2 ? __builtin_ceil##s(v[i])                               \
					   : __builtin_trunc##s(v[i]);                             \
		return v;                                                                          \
	}
BZ_ROUND_LANES(f32, f)
BZ_ROUND_LANES(f64, )
#define BZ_ROUND_f64(v, mode) bz_n_round_f64(v, mode)
#define BZ_ROUND_f32(v, mode) bz_n_round_f32(v, mode)
#endif
#endif

/* x * y + z in one instruction, rounded once: where __FMA__. */
#if BZ_NATIVE == 64
#define BZ_FMA_f64(x, y, z) ((bz_n_f64)__builtin_ia32_vfmaddpd512_mask(x, y, z, 0xff, 4))
#define BZ_FMA_f32(x, y, z) ((bz_n_f32)__builtin_ia32_vfmaddps512_mask(x, y, z, BZ_ALL16, 4))
#elif defined(__FMA__)
#define BZ_FMA_f64(x, y, z) __builtin_ia32_vfmaddpd256(x, y, z)
#define BZ_FMA_f32(x, y, z) __builtin_ia32_vfmaddps256(x, y, z)
#endif

/* exp of float32: x = n ln 2 + r with r within half of ln 2 from 0, where ln 2 is two numbers of
 * which the first has so few bits that n times it is exact; exp(r) by a polynomial of degree 6, the
 * least of the greatest relative errors that 1, 1 and five floats allow (3.2e-9, 0.05 ulp); that
 * times 2^n rounded once, so that subnormal results are as near as others.  Of no float32 is it
 * further than 0.91 ulp from e^x, without fused operations 1.18; NaNs are kept.  libmvec's routine
 * takes longer: it is called for each vector. */
#ifdef __FMA__
#define BZ_N_FUSED(x, y, z) BZ_FMA_f32(x, y, z)
#else
#define BZ_N_FUSED(x, y, z) ((x) * (y) + (z))
#endif
#define BZ_N_ALL(c) ((bz_n_f32){0} + (c))
#if BZ_NATIVE == 64
/* The second operand where either is a NaN. */
#ifdef __clang__
#define BZ_N_MIN(x, y) ((bz_n_f32)__builtin_ia32_minps512(x, y, 4))
#define BZ_N_MAX(x, y) ((bz_n_f32)__builtin_ia32_maxps512(x, y, 4))
#else
#define BZ_N_MIN(x, y) __builtin_ia32_minps512_mask(x, y, y, BZ_ALL16, 4)
#define BZ_N_MAX(x, y) __builtin_ia32_maxps512_mask(x, y, y, BZ_ALL16, 4)
#endif
#define BZ_N_SCALED(p, n) __builtin_ia32_scalefps512_mask(p, n, p, BZ_ALL16, 4)
#else
#if BZ_NATIVE == 32
#define BZ_N_MIN(x, y) __builtin_ia32_minps256(x, y)
#define BZ_N_MAX(x, y) __builtin_ia32_maxps256(x, y)
#define BZ_N_INT(t)    ((bz_n_i32)__builtin_ia32_cvtps2dq256(t))
#define BZ_N_SIGNS(n)  __builtin_ia32_movmskps256((bz_n_f32)(n))
#else
#define BZ_N_MIN(x, y) __builtin_ia32_minps(x, y)
#define BZ_N_MAX(x, y) __builtin_ia32_maxps(x, y)
#define BZ_N_INT(t)    ((bz_n_i32)__builtin_ia32_cvtps2dq(t))
#define BZ_N_SIGNS(n)  __builtin_ia32_movmskps((bz_n_f32)(n))
#endif
#define BZ_N_SCALED(p, n) bz_n_scaled(p, BZ_N_INT(n))
/* p, from 0.7 to 1.5, by two powers of two: n is from -150 to 128, and of the two products one
 * alone is rounded.  Where no lane's comes near the ends of the range its exponent takes n, which
 * is the same number in half as many steps; n of what is no number is the least of all. */
BZ_N_FN bz_n_f32 bz_n_scaled(bz_n_f32 p, bz_n_i32 n)
{
	const bz_n_i32 half = n >> 1;

	if (__builtin_expect(!BZ_N_SIGNS((n < -125) | (n > 125)), 1))
		return (bz_n_f32)((bz_n_i32)p + (n << 23));
	return p * (bz_n_f32)((half + 127) << 23) * (bz_n_f32)((n - half + 127) << 23);
}
#endif
BZ_N_FN bz_n_f32 bz_n_exp_f32(bz_n_f32 x)
{
	const bz_n_f32 c = BZ_N_MAX(BZ_N_ALL(-104.0f), BZ_N_MIN(BZ_N_ALL(89.0f), x));
	const bz_n_f32 n = BZ_ROUND_f32(c * 0x1.715476p+0f, 0);
	const bz_n_f32 high = BZ_N_FUSED(n, BZ_N_ALL(-0x1.63p-1f), c);
	const bz_n_f32 r = BZ_N_FUSED(n, BZ_N_ALL(0x1.bd0106p-13f), high);
	bz_n_f32 p = BZ_N_FUSED(r, BZ_N_ALL(0x1.6a4ce4p-10f), BZ_N_ALL(0x1.123988p-7f));

	p = BZ_N_FUSED(r, p, BZ_N_ALL(0x1.5558b0p-5f));
	p = BZ_N_FUSED(r, p, BZ_N_ALL(0x1.555492p-3f));
	p = BZ_N_FUSED(r, p, BZ_N_ALL(0x1.fffffcp-2f));
	p = BZ_N_FUSED(r, p, BZ_N_ALL(1.0f));
	p = BZ_N_FUSED(r, p, BZ_N_ALL(1.0f));
	return BZ_N_SCALED(p, n);
}

#endif
