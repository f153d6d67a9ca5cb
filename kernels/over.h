/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/over.h - quotients by one divisor, after ew.h in every prologue but those with
 * BZ_NO_OVER.
 *
 * bz_over_<t>(divisor, n) for n elements and bz_by_<t>(a, &that): the bits of a / divisor, by the
 * divisor's reciprocal.  That is rounded once, so that a product with it is within 1.5 units of the
 * quotient's last place; what the product leaves of the dividend, times the reciprocal, makes it
 * the rounded quotient (Markstein).  It holds while nothing on the way is subnormal or infinite:
 * for divisors from 2^-k to 2^k and dividends from 2^low to 2^high.  A vector with any other, a
 * zero too, is divided, and so are few elements. */
#ifndef BZ_OVER_H
#define BZ_OVER_H

#ifndef BZ_NO_OVER
#ifdef __FMA__
#if BZ_W == 16
#define BZ_BY_FMA_f32(x, y, z)	((bz_f32)__builtin_ia32_vfmaddps512_mask(x, y, z, BZ_ALL16, 4))
#define BZ_BY_OTHERS_f32(v, to) __builtin_ia32_cmpd512_mask(v, to, 5, 0xffff)
#elif BZ_W == 8
#define BZ_BY_FMA_f32(x, y, z)	__builtin_ia32_vfmaddps256(x, y, z)
#define BZ_BY_OTHERS_f32(v, to) __builtin_ia32_movmskps256((bz_f32)((v) >= (to)))
#else
#define BZ_BY_FMA_f32(x, y, z)	__builtin_ia32_vfmaddps(x, y, z)
#define BZ_BY_OTHERS_f32(v, to) __builtin_ia32_movmskps((bz_f32)((v) >= (to)))
#endif
#if BZ_W == 8
#define BZ_BY_FMA_f64(x, y, z) ((bz_f64)__builtin_ia32_vfmaddpd512_mask(x, y, z, 0xff, 4))
typedef long long bz_x_longs __attribute__((vector_size(64)));
#define BZ_BY_OTHERS_f64(v, to)                                                                    \
	__builtin_ia32_cmpq512_mask((bz_x_longs)(v), (bz_x_longs)(to), 5, 0xff)
#else
#define BZ_BY_FMA_f64(x, y, z)	__builtin_ia32_vfmaddpd256(x, y, z)
#define BZ_BY_OTHERS_f64(v, to) __builtin_ia32_movmskpd256((bz_f64)((v) >= (to)))
#endif
/* A power of two as bits, without the sign's place. */
#define BZ_FIRST_f32	((bz_s_u32)1 << 31)
#define BZ_FIRST_f64	((bz_s_u64)1 << 63)
#define BZ_POWER_f32(e) ((bz_s_u32)((e) + 127) << 24)
#define BZ_POWER_f64(e) ((bz_s_u64)((e) + 1023) << 53)
#define BZ_OVER(t, i, k, low, high)                                                                \
	struct bz_over_##t {                                                                       \
		bz_##t divisor, minus, over;                                                       \
		bz_##i to; /* of dividends' bits from the least number on */                       \
	};                                                                                         \
	BZ_FN struct bz_over_##t bz_over_##t(bz_##t divisor, bz_s_i64 n)                           \
	{                                                                                          \
		const bz_s_##t size = divisor[0] < 0 ? -divisor[0] : divisor[0];                   \
		const int good = n >= 4 * BZ_W && size >= 1 / (bz_s_##t)(1ull << (k)) &&           \
				 size <= (bz_s_##t)(1ull << (k));                                  \
                                                                                                   \
		return (struct bz_over_##t){                                                       \
			divisor, -divisor, good ? 1 / divisor : divisor,                           \
			BZ_SPLAT(i, good ? (bz_s_##i)(BZ_FIRST_##t + BZ_POWER_##t(high) -          \
						      BZ_POWER_##t(low))                           \
					 : (bz_s_##i)BZ_FIRST_##t)};                               \
	}                                                                                          \
	BZ_FN struct bz_over_##t bz_overs_##t(bz_##t divisor)                                      \
	{                                                                                          \
		const bz_k_##t bits = BZ_BITS(t, divisor) & ~BZ_FIRST_##t;                         \
		const bz_s_##t least = 1 / (bz_s_##t)(1ull << (k)),                                \
			       most = (bz_s_##t)(1ull << (k));                                     \
		const bz_##t size = (bz_##t)bits;                                                  \
		const bz_k_##t good = (bz_k_##t)((size >= least) & (size <= most));                \
                                                                                                   \
		return (struct bz_over_##t){                                                       \
			divisor, -divisor, BZ_SEL(t, good, 1 / divisor, divisor),                  \
			(bz_##i)(BZ_FIRST_##t +                                                    \
				 (good & (BZ_POWER_##t(high) - BZ_POWER_##t(low))))};              \
	}                                                                                          \
	BZ_FN struct bz_over_##t bz_over_of_##t(const struct bz_over_##t *o, int l)                \
	{                                                                                          \
		const struct bz_over_##t *const v = o + l / BZ_W;                                  \
		const int at = l % BZ_W * (int)sizeof(bz_s_##t);                                   \
                                                                                                   \
		return (struct bz_over_##t){bz_dup_##t((const char *)&v->divisor + at),            \
					    bz_dup_##t((const char *)&v->minus + at),              \
					    bz_dup_##t((const char *)&v->over + at),               \
					    bz_dup_##i((const char *)&v->to + at)};                \
	}                                                                                          \
	BZ_FN bz_##t bz_by_##t(bz_##t a, const struct bz_over_##t *o)                              \
	{                                                                                          \
		const bz_k_##t bits =                                                              \
			BZ_BITS(t, a) + BZ_BITS(t, a) + (BZ_FIRST_##t - BZ_POWER_##t(low));        \
		bz_##t q;                                                                          \
                                                                                                   \
		if (__builtin_expect(BZ_BY_OTHERS_##t((bz_##i)bits, o->to) != 0, 0))               \
			return a / o->divisor;                                                     \
		q = a * o->over;                                                                   \
		return BZ_BY_FMA_##t(BZ_BY_FMA_##t(q, o->minus, a), o->over, q);                   \
	}
#else
#define BZ_OVER(t, i, k, low, high)                                                                \
	struct bz_over_##t {                                                                       \
		bz_##t divisor;                                                                    \
	};                                                                                         \
	BZ_FN struct bz_over_##t bz_over_##t(bz_##t divisor, bz_s_i64 n)                           \
	{                                                                                          \
		(void)n;                                                                           \
		return (struct bz_over_##t){divisor};                                              \
	}                                                                                          \
	BZ_FN struct bz_over_##t bz_overs_##t(bz_##t divisor)                                      \
	{                                                                                          \
		return (struct bz_over_##t){divisor};                                              \
	}                                                                                          \
	BZ_FN struct bz_over_##t bz_over_of_##t(const struct bz_over_##t *o, int l)                \
	{                                                                                          \
		const char *const v = (const char *)&o[l / BZ_W].divisor;                          \
                                                                                                   \
		return (struct bz_over_##t){bz_dup_##t(v + l % BZ_W * (int)sizeof(bz_s_##t))};     \
	}                                                                                          \
	BZ_FN bz_##t bz_by_##t(bz_##t a, const struct bz_over_##t *o)                              \
	{                                                                                          \
		return a / o->divisor;                                                             \
	}
#endif
BZ_OVER(f32, i32, 30, -70, 90)
#ifndef BZ_ONLY_NARROW
BZ_OVER(f64, i64, 60, -800, 900)
#endif
#endif

#endif
