/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/native_math.h - functions of vectors of the instruction set's width, after native.h.
 *
 * Out: bz_n_<stem>_<t>, libmvec's or braze's own: whose each is stands here and nowhere else.  Own
 * are exp of float32 (native.h) and with AVX-512 exp, sinh, tanh and asinh of float64, log and
 * acosh of both.
 *
 * With AVX-512's instructions for powers of two and for tables in registers these are quicker than
 * libmvec's routines, and nearer, everywhere: float64's exp within 0.8 ulp, log 0.85, sinh and
 * acosh 0.9, tanh 1.01, asinh 1.05, float32's log 0.8, acosh 1.65.  With AVX2 libmvec's are as
 * quick or quicker, and are these functions there.  A lane's number depends on that lane alone,
 * NaNs are kept.  BZ_NO_MATH leaves all out. */
#if !defined(BZ_NATIVE_MATH_H) && !defined(BZ_NO_MATH)
#define BZ_NATIVE_MATH_H

/* One that is libmvec's. */
#define BZ_N_LIBRARY(stem, t)                                                                      \
	extern bz_n_##t BZ_MVEC_##t(v, stem)(bz_n_##t) __attribute__((const, nothrow));            \
	BZ_N_FN bz_n_##t bz_n_##stem##_##t(bz_n_##t x)                                             \
	{                                                                                          \
		return BZ_MVEC_##t(v, stem)(x);                                                    \
	}

#if BZ_NATIVE == 64
#define BZ_D_ALL(c)	  ((bz_n_f64){0} + (c))
#define BZ_D_FUSED	  BZ_FMA_f64
#define BZ_D_BITS(x)	  ((bz_n_i64)(x))
#define BZ_D_TOP	  BZ_D_BITS(-(bz_n_f64){0})
#define BZ_SIZE_f64(x)	  ((bz_n_f64)(BZ_D_BITS(x) & ~BZ_D_TOP))
#define BZ_SIZE_f32(x)	  ((bz_n_f32)((bz_n_i32)(x)&0x7fffffff))
#define BZ_D_SIGNED(x, y) ((bz_n_f64)(BZ_D_BITS(x) | (BZ_D_BITS(y) & BZ_D_TOP)))
/* p 2^n, and the two parts of x: 2^*k m, m from 3/4 to 3/2; m is a NaN where x < 0, *k infinite
 * where x is or is 0. */
#define BZ_SCALED_f64(p, n) __builtin_ia32_scalefpd512_mask(p, n, p, 0xff, 4)
#define BZ_SCALED_f32	    BZ_N_SCALED
#define BZ_POWER_f64(x)	    __builtin_ia32_getexppd512_mask(x, x, BZ_ALL8, 4)
#define BZ_POWER_f32(x)	    __builtin_ia32_getexpps512_mask(x, x, BZ_ALL16, 4)
#define BZ_PART_f64(x)	    __builtin_ia32_getmantpd512_mask(x, 15, x, BZ_ALL8, 4)
#define BZ_PART_f32(x)	    __builtin_ia32_getmantps512_mask(x, 15, x, BZ_ALL16, 4)
/* MIN and MAX: y where either is a NaN.  PICK: x where v and w compare so, else y.  AT: of 16
 * numbers those that the lowest four bits of i name. */
#ifdef __clang__
#define BZ_D_MIN(x, y) ((bz_n_f64)__builtin_ia32_minpd512(x, y, 4))
#define BZ_D_MAX(x, y) ((bz_n_f64)__builtin_ia32_maxpd512(x, y, 4))
#define BZ_PICK_f64(v, rel, w, x, y)                                                               \
	((bz_n_f64)__builtin_ia32_selectpd_512(__builtin_ia32_cmppd512_mask(v, w, rel, 0xff, 4),   \
					       x, y))
#define BZ_PICK_f32(v, rel, w, x, y)                                                               \
	((bz_n_f32)__builtin_ia32_selectps_512(__builtin_ia32_cmpps512_mask(v, w, rel, 0xffff, 4), \
					       x, y))
#define BZ_AT_f64(table, i) ((bz_n_f64)__builtin_ia32_vpermi2varpd512((table)[0], i, (table)[1]))
#define BZ_AT_f32(table, i) ((bz_n_f32)__builtin_ia32_permvarsf512(table, i))
#else
#define BZ_D_MIN(x, y) __builtin_ia32_minpd512_mask(x, y, y, 0xff, 4)
#define BZ_D_MAX(x, y) __builtin_ia32_maxpd512_mask(x, y, y, 0xff, 4)
#define BZ_PICK_f64(v, rel, w, x, y)                                                               \
	__builtin_ia32_blendmpd_512_mask(y, x, __builtin_ia32_cmppd512_mask(v, w, rel, 0xff, 4))
#define BZ_PICK_f32(v, rel, w, x, y)                                                               \
	__builtin_ia32_blendmps_512_mask(y, x, __builtin_ia32_cmpps512_mask(v, w, rel, 0xffff, 4))
#define BZ_AT_f64(table, i) __builtin_shuffle((table)[0], (table)[1], i)
#define BZ_AT_f32(table, i) __builtin_shuffle(table, i)
#endif

/* ln 2 is two numbers of which the first has so few bits that exponents times it are exact. */
#define BZ_LN2_HIGH_f64 0x1.62e42fefa3800p-1
#define BZ_LN2_LOW_f64	0x1.ef35793c76730p-45
#define BZ_LN2_HIGH_f32 0x1.62e4p-1f
#define BZ_LN2_LOW_f32	0x1.7f7d1cp-20f

/* x = *n ln 2 + r + *l: r within half of ln 2 from 0, *l what r was rounded by. */
BZ_N_FN bz_n_f64 bz_n_reduced(bz_n_f64 x, bz_n_f64 *n, bz_n_f64 *l)
{
	const bz_n_f64 low = BZ_D_ALL(-BZ_LN2_LOW_f64);
	bz_n_f64 high, r;

	*n = BZ_ROUND_f64(x * 0x1.71547652b82fep+0, 0);
	high = BZ_D_FUSED(*n, BZ_D_ALL(-BZ_LN2_HIGH_f64), x);
	r = BZ_D_FUSED(*n, low, high);
	*l = BZ_D_FUSED(*n, low, high - r);
	return r;
}
/* (exp(r) - 1 - r) / r^2, the least of the greatest errors relative to exp(r) - 1. */
BZ_N_FN bz_n_f64 bz_n_rest_of_exp(bz_n_f64 r)
{
	bz_n_f64 p =
		BZ_D_FUSED(r, BZ_D_ALL(0x1.ae6bcf5eb23b0p-26), BZ_D_ALL(0x1.28a1e918c0565p-22));

	p = BZ_D_FUSED(r, p, BZ_D_ALL(0x1.71de87f80156fp-19));
	p = BZ_D_FUSED(r, p, BZ_D_ALL(0x1.a019a766a9698p-16));
	p = BZ_D_FUSED(r, p, BZ_D_ALL(0x1.a01a017517396p-13));
	p = BZ_D_FUSED(r, p, BZ_D_ALL(0x1.6c16c17ede4fcp-10));
	p = BZ_D_FUSED(r, p, BZ_D_ALL(0x1.1111111118fafp-7));
	p = BZ_D_FUSED(r, p, BZ_D_ALL(0x1.55555555522aep-5));
	p = BZ_D_FUSED(r, p, BZ_D_ALL(0x1.5555555555539p-3));
	return BZ_D_FUSED(r, p, BZ_D_ALL(0x1.0000000000005p-1));
}
BZ_N_FN bz_n_f64 bz_n_exp_f64(bz_n_f64 x)
{
	bz_n_f64 n, l, r, s;

	r = bz_n_reduced(BZ_D_MAX(BZ_D_ALL(-746.0), BZ_D_MIN(BZ_D_ALL(710.0), x)), &n, &l);
	s = 1 + r;
	s += BZ_D_FUSED(r * r, bz_n_rest_of_exp(r), (r - (s - 1)) + l);
	return BZ_SCALED_f64(s, n);
}
/* By e^(2 |x|) - 1 = p: p / (p + 2), the quotient with what it, p and p + 2 were rounded by. */
BZ_N_FN bz_n_f64 bz_n_tanh_f64(bz_n_f64 x)
{
	bz_n_f64 n, l, r, power, s, e, p, t, i, q;

	r = bz_n_reduced(BZ_D_MIN(BZ_D_ALL(40.0), 2 * BZ_SIZE_f64(x)), &n, &l);
	power = BZ_SCALED_f64(BZ_D_ALL(1.0), n);
	s = BZ_D_FUSED(power, r, power - 1);
	e = BZ_D_FUSED(power, r, (power - 1) - s);
	e = BZ_D_FUSED(power, BZ_D_FUSED(r * r, bz_n_rest_of_exp(r), l), e);
	p = s + e;
	e += s - p;
	t = p + 2;
	i = 1 / t;
	q = p * i;
	e = BZ_D_FUSED(-q, t, p) + BZ_D_FUSED(-q, (p - (t - 2)) + e, e);
	return BZ_D_SIGNED(BZ_D_FUSED(e, i, q), x);
}
/* sinh(n ln 2 + r) = sinh(n ln 2) cosh(r) + cosh(n ln 2) sinh(r), twice the hyperbolic functions of
 * n ln 2 being s and c times 2^n; the polynomials are of r^2. */
BZ_N_FN bz_n_f64 bz_n_sinh_f64(bz_n_f64 x)
{
	bz_n_f64 n, l, r, z, power, s, c, a, e, even, odd;

	r = bz_n_reduced(BZ_D_MIN(BZ_D_ALL(711.0), BZ_SIZE_f64(x)), &n, &l);
	z = r * r;
	power = BZ_SCALED_f64(BZ_D_ALL(1.0), -2 * n);
	s = 1 - power;
	c = 1 + power;
	a = BZ_D_FUSED(c, r, s);
	e = BZ_D_FUSED(c, l, BZ_D_FUSED(c, r, s - a)) + ((1 - s) - power);
	odd = BZ_D_FUSED(z, BZ_D_ALL(0x1.af5ecce97a1c9p-26), BZ_D_ALL(0x1.71ddf84c3d7f3p-19));
	odd = BZ_D_FUSED(z, odd, BZ_D_ALL(0x1.a01a01afe7d2ep-13));
	odd = BZ_D_FUSED(z, odd, BZ_D_ALL(0x1.111111110f6a9p-7));
	odd = BZ_D_FUSED(z, odd, BZ_D_ALL(0x1.5555555555559p-3));
	even = BZ_D_FUSED(z, BZ_D_ALL(0x1.28b0845c5b04bp-22), BZ_D_ALL(0x1.a019964b07f12p-16));
	even = BZ_D_FUSED(z, even, BZ_D_ALL(0x1.6c16c185c6e0fp-10));
	even = BZ_D_FUSED(z, even, BZ_D_ALL(0x1.555555554ff7cp-5));
	even = BZ_D_FUSED(z, even, BZ_D_ALL(0x1.000000000000cp-1));
	a += BZ_D_FUSED(z, BZ_D_FUSED(s, even, c * r * odd), e);
	return BZ_D_SIGNED(BZ_SCALED_f64(a, n - 1), x);
}

/* Of the sixteenths of the range of a number's part m (BZ_PART): c near 1 / m, of the two beside
 * 1 it is 1, so that r = c m - 1 is from -1/32 to 1/16; and -log(c), for which c was chosen so that
 * it is a multiple of 2^-42 but for 2^-59 (float32: of 2^-16 but for 2^-32) at most. */
static const bz_n_f64 bz_n_logs_f64[2][2] __attribute__((unused)) = {
	{{1, 0x1.db4a2339950dfp-1, 0x1.bacf914c20492p-1, 0x1.a41a41a813fbcp-1, 0x1.8f9c18f9bc134p-1,
	  0x1.7d05f413d6a1ep-1, 0x1.6c16c16c1e159p-1, 0x1.5c9882b933745p-1},
	 {0x1.4e5e0a72f1de2p+0, 0x1.4141414140a47p+0, 0x1.3521cfb2b1c6ap+0, 0x1.29e412a23fda9p+0,
	  0x1.1f7047e00b32fp+0, 0x1.15b1e5fb4b1fdp+0, 0x1.0c504813f7c96p+0, 1}},
	{{0, 0x1.30be6485e8000p-4, 0x1.29552f81ea000p-3, 0x1.9525a9bbe4000p-3, 0x1.fb9186d600000p-3,
	  0x1.2e8e2bb8c1000p-2, 0x1.5d1bdbf56c000p-2, 0x1.89a3386c0d000p-2},
	 {-0x1.1178e82283000p-2, -0x1.d1037f2652000p-3, -0x1.823c1654f4000p-3,
	  -0x1.365fcb1cd0000p-3, -0x1.da727670e4000p-4, -0x1.4d31160c9c000p-4,
	  -0x1.80da1adc98000p-5, 0}},
};
static const bz_n_f32 bz_n_logs_f32[2] __attribute__((unused)) = {
	{1, 0x1.dc87d8p-1f, 0x1.bd7fbep-1f, 0x1.a48136p-1f, 0x1.8f119p-1f, 0x1.7deacp-1f,
	 0x1.6bf76cp-1f, 0x1.5bc826p-1f, 0x1.4dac4cp+0f, 0x1.41f962p+0f, 0x1.35c0cp+0f,
	 0x1.298142p+0f, 0x1.1f36dep+0f, 0x1.147d58p+0f, 0x1.0b1f1cp+0f, 1},
	{0, 0x1.261p-4f, 0x1.1cfp-3f, 0x1.933p-3f, 0x1.fe58p-3f, 0x1.2c28p-2f, 0x1.5d74p-2f,
	 0x1.8c08p-2f, -0x1.0f58p-2f, -0x1.d598p-3f, -0x1.8658p-3f, -0x1.33b8p-3f, -0x1.d74p-4f,
	 -0x1.3b6p-4f, -0x1.5c6p-5f, 0},
};
#define BZ_LOGS_f64(k, m) BZ_AT_f64(bz_n_logs_f64[k], BZ_D_BITS(m) >> 48)
#define BZ_LOGS_f32(k, m) BZ_AT_f32(bz_n_logs_f32[k], (bz_n_i32)(m) >> 19)
/* (log(1 + r) - r) / r^2. */
BZ_N_FN bz_n_f64 bz_n_rest_of_log_f64(bz_n_f64 r)
{
	bz_n_f64 p = BZ_D_FUSED(r, BZ_D_ALL(-0x1.663253bc72e7fp-4), BZ_D_ALL(0x1.c57c5cc572135p-4));

	p = BZ_D_FUSED(r, p, BZ_D_ALL(-0x1.0009cd5257d4cp-3));
	p = BZ_D_FUSED(r, p, BZ_D_ALL(0x1.2492d6d0fdd12p-3));
	p = BZ_D_FUSED(r, p, BZ_D_ALL(-0x1.555554a74eb78p-3));
	p = BZ_D_FUSED(r, p, BZ_D_ALL(0x1.99999980cb1d1p-3));
	p = BZ_D_FUSED(r, p, BZ_D_ALL(-0x1.fffffffff3c4bp-3));
	p = BZ_D_FUSED(r, p, BZ_D_ALL(0x1.5555555555f56p-2));
	return BZ_D_FUSED(r, p, BZ_D_ALL(-0x1.0000000000002p-1));
}
BZ_N_FN bz_n_f32 bz_n_rest_of_log_f32(bz_n_f32 r)
{
	bz_n_f32 p = BZ_N_FUSED(r, BZ_N_ALL(0x1.8227bep-3f), BZ_N_ALL(-0x1.00117cp-2f));

	p = BZ_N_FUSED(r, p, BZ_N_ALL(0x1.55584p-2f));
	return BZ_N_FUSED(r, p, BZ_N_ALL(-0.5f));
}
/* What root, of z = d^2 + 2 d, was rounded by, added to l: divided by twice the root, whose
 * reciprocal is as near as the difference of bits makes it, a twentieth.  float32 does without. */
#define BZ_ROOTED_f64(l, root, z, d)                                                               \
	BZ_D_FUSED(BZ_D_FUSED(-root, root, z) + BZ_D_FUSED(d, d, 2 * d - z),                       \
		   (bz_n_f64)(0x7fcdf00000000000 - BZ_D_BITS(root)), l)
#define BZ_ROOTED_f32(l, root, z, d) (l)
/* log: k ln 2 - log(c) + log(1 + r) + e, where x = 2^k m, c is m's, and e is small.
 * acosh: log(1 + d + root), d = x - 1, root^2 = d^2 + 2 d: a NaN where d < 0.
 * asinh, of a = |x|: log(1 + a + d), d = root(a^2 + 1) - 1 = a^2 / (root + 1). */
#define BZ_LOGARITHMS(t, far)                                                                      \
	BZ_N_FN bz_n_##t bz_n_log_of_##t(bz_n_##t m, bz_n_##t k, bz_n_##t r, bz_n_##t e)           \
	{                                                                                          \
		const bz_n_##t high =                                                              \
			BZ_FMA_##t(k, (bz_n_##t){0} + BZ_LN2_HIGH_##t, BZ_LOGS_##t(1, m));         \
		const bz_n_##t s = high + r;                                                       \
                                                                                                   \
		e = BZ_FMA_##t(r * r, bz_n_rest_of_log_##t(r), ((high - s) + r) + e);              \
		/* Of infinite k, e is a NaN and s the result. */                                  \
		return BZ_PICK_##t(e, 3, e, s, s + e);                                             \
	}                                                                                          \
	BZ_N_FN bz_n_##t bz_n_log_##t(bz_n_##t x)                                                  \
	{                                                                                          \
		const bz_n_##t m = BZ_PART_##t(x), k = BZ_POWER_##t(x) - BZ_POWER_##t(m);          \
		const bz_n_##t r = BZ_FMA_##t(m, BZ_LOGS_##t(0, m), (bz_n_##t){0} - 1);            \
                                                                                                   \
		return bz_n_log_of_##t(m, k, r, k * BZ_LN2_LOW_##t);                               \
	}                                                                                          \
	/* log(1 + y + l), where x is far log(2 x). */                                             \
	BZ_N_FN bz_n_##t bz_n_log_far_##t(bz_n_##t x, bz_n_##t y, bz_n_##t l)                      \
	{                                                                                          \
		const bz_n_##t sum = y + 1, u = BZ_PICK_##t(x, 14, far, x, sum);                   \
		const bz_n_##t m = BZ_PART_##t(u), k = BZ_POWER_##t(u) - BZ_POWER_##t(m);          \
		const bz_n_##t c = BZ_LOGS_##t(0, m), r = BZ_FMA_##t(m, c, (bz_n_##t){0} - 1);     \
		const bz_n_##t twice = BZ_PICK_##t(x, 14, far, k + 1, k);                          \
                                                                                                   \
		l = BZ_SCALED_##t(((y - (sum - 1)) + l) * c, -k);                                  \
		l = BZ_PICK_##t(x, 14, far, (bz_n_##t){0}, BZ_FMA_##t(-l, r, l));                  \
		l = BZ_FMA_##t(twice, (bz_n_##t){0} + BZ_LN2_LOW_##t, l);                          \
		return bz_n_log_of_##t(m, twice, r, l);                                            \
	}                                                                                          \
	BZ_N_FN bz_n_##t bz_n_acosh_##t(bz_n_##t x)                                                \
	{                                                                                          \
		const bz_n_##t d = x - 1, z = BZ_FMA_##t(d, BZ_SIZE_##t(d), 2 * d);                \
		const bz_n_##t root = BZ_SQRT_##t(z), y = root + d;                                \
                                                                                                   \
		return bz_n_log_far_##t(x, y, BZ_ROOTED_##t((root - y) + d, root, z, d));          \
	}
BZ_LOGARITHMS(f64, BZ_D_ALL(0x1p28))
BZ_LOGARITHMS(f32, BZ_N_ALL(0x1p28f))
BZ_N_FN bz_n_f64 bz_n_asinh_f64(bz_n_f64 x)
{
	const bz_n_f64 a = BZ_SIZE_f64(x), root = BZ_SQRT_f64(BZ_D_FUSED(a, a, BZ_D_ALL(1.0)));
	const bz_n_f64 d = a * a / (root + 1), y = a + d;

	return BZ_D_SIGNED(bz_n_log_far_f64(a, y, (a - y) + d), x);
}
#else
BZ_N_LIBRARY(exp, f64)
BZ_N_LIBRARY(log, f64)
BZ_N_LIBRARY(sinh, f64)
BZ_N_LIBRARY(tanh, f64)
BZ_N_LIBRARY(acosh, f64)
BZ_N_LIBRARY(asinh, f64)
BZ_N_LIBRARY(log, f32)
BZ_N_LIBRARY(acosh, f32)
#endif
BZ_N_LIBRARY(sinh, f32)
BZ_N_LIBRARY(tanh, f32)
BZ_N_LIBRARY(asinh, f32)
#define BZ_N_LIBRARIES(t)                                                                          \
	BZ_N_LIBRARY(cbrt, t)                                                                      \
	BZ_N_LIBRARY(expm1, t)                                                                     \
	BZ_N_LIBRARY(exp2, t)                                                                      \
	BZ_N_LIBRARY(log2, t)                                                                      \
	BZ_N_LIBRARY(log10, t)                                                                     \
	BZ_N_LIBRARY(log1p, t)                                                                     \
	BZ_N_LIBRARY(sin, t)                                                                       \
	BZ_N_LIBRARY(cos, t)                                                                       \
	BZ_N_LIBRARY(tan, t)                                                                       \
	BZ_N_LIBRARY(asin, t)                                                                      \
	BZ_N_LIBRARY(acos, t)                                                                      \
	BZ_N_LIBRARY(atan, t)                                                                      \
	BZ_N_LIBRARY(cosh, t)                                                                      \
	BZ_N_LIBRARY(atanh, t)
BZ_N_LIBRARIES(f32)
BZ_N_LIBRARIES(f64)

#endif
