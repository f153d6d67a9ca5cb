/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/native_math.h - functions of vectors of the instruction set's width, after native.h.
 *
 * Out: bz_n_<stem>_<t>, libmvec's or braze's own: whose each is stands here and nowhere else.  Own
 * are exp of float32 (native.h) and with AVX-512 exp, sinh, tanh and asinh of float64, log, acosh
 * and pow of both.
 *
 * With AVX-512's instructions for powers of two and for tables in registers these are quicker than
 * libmvec's routines, and nearer, everywhere: float64's exp within 0.8 ulp, log 0.85, sinh and
 * acosh 0.9, tanh 1.01, asinh 1.05, pow 0.8, float32's log 0.8, acosh 1.65, pow 0.52.  With AVX2
 * libmvec's are as quick or quicker, and are these functions there.  A lane's number depends on
 * that lane alone, NaNs are kept.  BZ_NO_MATH leaves all out. */
#if !defined(BZ_NATIVE_MATH_H) && !defined(BZ_NO_MATH)
#define BZ_NATIVE_MATH_H

/* One that is libmvec's. */
#define BZ_N_LIBRARY(stem, t)                                                                      \
	extern bz_n_##t BZ_MVEC_##t(v, stem)(bz_n_##t) __attribute__((const, nothrow));            \
	BZ_N_FN bz_n_##t bz_n_##stem##_##t(bz_n_##t x)                                             \
	{                                                                                          \
		return BZ_MVEC_##t(v, stem)(x);                                                    \
	}
#define BZ_N_LIBRARY2(name, stem, t)                                                               \
	extern bz_n_##t BZ_MVEC_##t(vv, stem)(bz_n_##t, bz_n_##t) __attribute__((const, nothrow)); \
	BZ_N_FN bz_n_##t bz_n_##name##_##t(bz_n_##t x, bz_n_##t y)                                 \
	{                                                                                          \
		return BZ_MVEC_##t(vv, stem)(x, y);                                                \
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

/* ---- Powers: x^y = e^(y log x) ----
 *
 * x = 2^k m, m from 0.7 to 1.4, in sixteen parts of this range in bits: c near 1 / m, of the part
 * from 0.98125 to 1.025 it is 1, so that r = c m - 1 is from -0.028 to 0.037; and -log(c), for
 * which c was chosen so that it is a multiple of 2^-42 but for 2^-70 at most.  Of float32 it is two
 * numbers, the first a multiple of 2^-17. */
static const bz_n_f64 bz_n_fine_f64[2][2] __attribute__((unused)) = {
	{{0x1.65bab07a3154bp+0, 0x1.56c2f2492884cp+0, 0x1.48fef8900ee17p+0, 0x1.3c4b1ee83221fp+0,
	  0x1.30890b1f78513p+0, 0x1.259ebdc7aa1b7p+0, 0x1.1b75d09b0675p+0, 0x1.11fadc6979773p+0},
	 {0x1.091cfe6f40163p+0, 1, 0x1.e7cc731a9a698p-1, 0x1.c9a7539de58eep-1, 0x1.b1706c7dd39f4p-1,
	  0x1.9ba88505bb811p-1, 0x1.87f6337765ddcp-1, 0x1.76105cdd9ed04p-1}},
	{{-0x1.56a11dd4cp-2, -0x1.2adcae22e4p-2, -0x1.00e390694bp-2, -0x1.b12336d33ap-3,
	  -0x1.638d74a55cp-3, -0x1.18ccbc8098p-3, -0x1.a15bf34bf4p-4, -0x1.16069b982cp-4},
	 {-0x1.1e8db2d04p-5, 0, 0x1.8cac2dc9fp-5, 0x1.cb9ed3b27p-4, 0x1.552453cdcep-3,
	  0x1.bebb7c5054p-3, 0x1.1192815bdap-2, 0x1.416e763d6p-2}},
};
static const bz_n_f32 bz_n_fine_f32[3] __attribute__((unused)) = {
	{0x1.65babp+0f, 0x1.56c2f2p+0f, 0x1.48fef8p+0f, 0x1.3c4b1ep+0f, 0x1.30890ap+0f,
	 0x1.259ebep+0f, 0x1.1b75dp+0f, 0x1.11fadcp+0f, 0x1.091dp+0f, 1, 0x1.e7cc74p-1f,
	 0x1.c9a754p-1f, 0x1.b1706cp-1f, 0x1.9ba886p-1f, 0x1.87f634p-1f, 0x1.76105ep-1f},
	{-0x1.56a2p-2f, -0x1.2adcp-2f, -0x1.00e4p-2f, -0x1.b124p-3f, -0x1.638cp-3f, -0x1.18ccp-3f,
	 -0x1.a158p-4f, -0x1.1608p-4f, -0x1.1e9p-5f, 0, 0x1.8cbp-5f, 0x1.cbap-4f, 0x1.5524p-3f,
	 0x1.bebcp-3f, 0x1.1192p-2f, 0x1.416ep-2f},
	{0x1.c7120ep-19f, -0x1.5a90aap-19f, 0x1.c55c5ap-20f, 0x1.9e187cp-20f, -0x1.6d182p-19f,
	 -0x1.7c1312p-20f, -0x1.f545ecp-19f, 0x1.6a90acp-20f, 0x1.0e684ap-20f, 0, -0x1.f0a142p-20f,
	 -0x1.2fbb96p-20f, 0x1.588158p-21f, -0x1.111982p-20f, 0x1.ffdbeap-20f, 0x1.cc89d8p-20f},
};
/* The powers of two by sixteenths, and what they were rounded by, relative to them. */
static const bz_n_f64 bz_n_powers_f64[2][2] __attribute__((unused)) = {
	{{1, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0, 0x1.306fe0a31b715p+0,
	  0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0},
	 {0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0,
	  0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0}},
	{{0, 0x1.79aa65d837b6dp-54, -0x1.01b15eaa59348p-55, 0x1.68efde3a8a894p-54,
	  0x1.34d754db0abb6p-55, 0x1.59f48a72a4c6dp-55, 0x1.690cebb7aafb0p-56,
	  0x1.063e1e21c5409p-54},
	 {-0x1.3b3efbf5e2228p-54, -0x1.b32dcb94da51dp-56, 0x1.db72fc1f0eab4p-55,
	  0x1.1affc2b91ce27p-56, 0x1.c1a7792cb3387p-55, 0x1.36eae30af0cb3p-56,
	  0x1.4a385a63d07a7p-56, -0x1.ff7128fd391f0p-55}},
};
static const bz_n_f32 bz_n_powers_f32[2] __attribute__((unused)) = {
	{1, 0x1.0b5586p+0f, 0x1.172b84p+0f, 0x1.2387a6p+0f, 0x1.306fep+0f, 0x1.3dea64p+0f,
	 0x1.4bfdaep+0f, 0x1.5ab07ep+0f, 0x1.6a09e6p+0f, 0x1.7a1148p+0f, 0x1.8ace54p+0f,
	 0x1.9c4918p+0f, 0x1.ae89fap+0f, 0x1.c199bep+0f, 0x1.d5818ep+0f, 0x1.ea4afap+0f},
	{0, 0x1.8d96d4p-25f, -0x1.9c0c22p-27f, 0x1.964904p-25f, 0x1.125002p-25f, 0x1.370be4p-25f,
	 -0x1.0a355p-25f, -0x1.00d8acp-27f, 0x1.26055cp-26f, -0x1.05cb44p-25f, 0x1.67a1cap-28f,
	 0x1.a3b5e4p-28f, -0x1.f9c304p-27f, -0x1.6961b4p-28f, -0x1.a5217cp-28f, 0x1.61428ep-28f},
};
/* log(1 + r + l) + e but for r - s / 2, s being r r as rounded; l / (1 + r) is what l makes of the
 * logarithm of 1 + r. */
BZ_N_FN bz_n_f64 bz_n_rest_of_two_f64(bz_n_f64 r, bz_n_f64 s, bz_n_f64 l, bz_n_f64 e)
{
	const bz_n_f64 third = BZ_D_ALL(0x1.5555555555555p-2), square = BZ_D_FUSED(r, r, -s);
	bz_n_f64 even, odd;

	e += BZ_D_FUSED(l, BZ_D_FUSED(s, s - r, s - r), l);
	e = BZ_D_FUSED(square, BZ_D_FUSED(r, third, BZ_D_ALL(-0.5)), e);
	even = BZ_D_FUSED(s, BZ_D_ALL(0x1.68ec97c4bbf0ap-4), BZ_D_ALL(0x1.c721676efc633p-4));
	odd = BZ_D_FUSED(s, BZ_D_ALL(-0x1.9a3032359ab58p-4), BZ_D_ALL(-0x1.ffffe9374b679p-4));
	even = BZ_D_FUSED(s, even, BZ_D_ALL(0x1.249248d0519d6p-3));
	odd = BZ_D_FUSED(s, odd, BZ_D_ALL(-0x1.555555560257dp-3));
	even = BZ_D_FUSED(s, even, BZ_D_ALL(0x1.999999999d23ep-3));
	odd = BZ_D_FUSED(s, odd, BZ_D_ALL(-0x1.fffffffffffcfp-3));
	e = BZ_D_FUSED(r * s, BZ_D_FUSED(r, odd, s * even), e);
	return BZ_D_FUSED(r * s, third, e);
}
BZ_N_FN bz_n_f32 bz_n_rest_of_two_f32(bz_n_f32 r, bz_n_f32 s, bz_n_f32 l, bz_n_f32 e)
{
	bz_n_f32 p = BZ_N_FUSED(r, BZ_N_ALL(-0x1.50e5p-3f), BZ_N_ALL(0x1.99df3cp-3f));

	p = BZ_N_FUSED(s, p, BZ_N_FUSED(r, BZ_N_ALL(-0x1.00004cp-2f), BZ_N_ALL(0x1.555554p-2f)));
	e += BZ_N_FUSED(l, s - r, l);
	e = BZ_N_FUSED(BZ_N_FUSED(r, r, -s), BZ_N_ALL(-0.5f), e);
	return BZ_N_FUSED(r * s, p, e);
}
/* (exp(r) - 1 - r) / r^2 of r within a sixteenth of ln 2 from 0. */
BZ_N_FN bz_n_f64 bz_n_rest_of_power_f64(bz_n_f64 r, bz_n_f64 s)
{
	bz_n_f64 p =
		BZ_D_FUSED(r, BZ_D_ALL(0x1.a01b0d25c0bd7p-13), BZ_D_ALL(0x1.6c17ee6287708p-10));

	p = BZ_D_FUSED(
		s, p,
		BZ_D_FUSED(r, BZ_D_ALL(0x1.11111110e0b16p-7), BZ_D_ALL(0x1.55555554e87dfp-5)));
	return BZ_D_FUSED(
		s, p,
		BZ_D_FUSED(r, BZ_D_ALL(0x1.5555555555556p-3), BZ_D_ALL(0x1.0000000000001p-1)));
}
BZ_N_FN bz_n_f32 bz_n_rest_of_power_f32(bz_n_f32 r, bz_n_f32 s)
{
	return BZ_N_FUSED(s, BZ_N_ALL(0x1.55565cp-5f),
			  BZ_N_FUSED(r, BZ_N_ALL(0x1.5556ep-3f), BZ_N_ALL(0.5f)));
}
#define BZ_FINE_f64(k, i)      BZ_AT_f64(bz_n_fine_f64[k], i)
#define BZ_FINE_f32(k, i)      BZ_AT_f32(bz_n_fine_f32[k], i)
#define BZ_FINEST_f64(e, i)    (e)
#define BZ_FINEST_f32(e, i)    ((e) + BZ_FINE_f32(2, i))
#define BZ_SIXTEENTH_f64(k, i) BZ_AT_f64(bz_n_powers_f64[k], i)
#define BZ_SIXTEENTH_f32(k, i) BZ_AT_f32(bz_n_powers_f32[k], i)
#define BZ_HALF_f64	       0.5
#define BZ_HALF_f32	       0.5f
#define BZ_INFINITE_f64	       __builtin_inf()
#define BZ_INFINITE_f32	       __builtin_inff()
#define BZ_LOG2_E_f64	       0x1.71547652b82fep+0
#define BZ_LOG2_E_f32	       0x1.715476p+0f
#define BZ_N_BITS_f64(x)       ((bz_n_i64)(x))
#define BZ_N_BITS_f32(x)       ((bz_n_i32)(x))
#define BZ_N_TOP_f64	       BZ_D_TOP
#define BZ_N_TOP_f32	       BZ_N_BITS_f32(-(bz_n_f32){0})
/* Is there a lane of which x is not normal or negative, or p not within the bound or a NaN? */
#define BZ_RARE_f64(x, p, bound)                                                                   \
	((unsigned char)__builtin_ia32_fpclasspd512_mask(x, 0xff, 0xff) |                          \
	 (unsigned char)__builtin_ia32_cmppd512_mask(BZ_SIZE_f64(p), BZ_D_ALL(bound), 5, 0xff, 4))
#define BZ_RARE_f32(x, p, bound)                                                                   \
	((unsigned short)__builtin_ia32_fpclassps512_mask(x, 0xff, 0xffff) |                       \
	 (unsigned short)__builtin_ia32_cmpps512_mask(BZ_SIZE_f32(p), BZ_N_ALL(bound), 5, 0xffff,  \
						      4))
#define BZ_N_CHOSEN(t, m, x, y) ((bz_n_##t)(((m)&BZ_N_BITS_##t(x)) | (~(m)&BZ_N_BITS_##t(y))))
#define BZ_N_IS_WHOLE(t, y)	(BZ_ROUND_##t(y, 3) == (y))
/* low and first: the bits of 0.4 of the least normal number, and of 0.7; more bits than shift are
 * the part's.  least: the least normal number; 2^step makes subnormal ones normal.  fixed: a sum
 * with it has sixteenths in its lowest bits.  Powers of e by less than bound are normal; by far
 * they are none or infinite. */
#define BZ_POWERS(t, low, first, fraction, shift, least, step, fixed, bound, far)                  \
	/* log(2^more x) = high + *rest, of x > 0 that is normal: float64's within 2^-64,          \
	 * float32's within 2^-34 of itself.  r is exact with l, which m c was rounded by, and its \
	 * square with what that was; of the rest, which from the third power on is a 4000th of    \
	 * the whole at most, one number holds enough. */                                          \
	BZ_N_FN bz_n_##t bz_n_log_of_two_##t(bz_n_##t x, bz_n_##t more, bz_n_##t *rest)            \
	{                                                                                          \
		const __typeof__(BZ_N_BITS_##t(x)) at = BZ_N_BITS_##t(x) - (low),                  \
						   i = at >> (shift);                              \
		const bz_n_##t k = BZ_POWER_##t((bz_n_##t)at) + (more + 1);                        \
		const bz_n_##t m = (bz_n_##t)((at & (fraction)) + (first)), c = BZ_FINE_##t(0, i); \
		const bz_n_##t logs =                                                              \
			BZ_FMA_##t(k, (bz_n_##t){0} + BZ_LN2_HIGH_##t, BZ_FINE_##t(1, i));         \
		const bz_n_##t p = m * c, r = p - 1, s = r * r,                                    \
			       half = (bz_n_##t){0} - BZ_HALF_##t;                                 \
		const bz_n_##t sum = logs + r, most = BZ_FMA_##t(s, half, sum);                    \
		bz_n_##t e = (logs - sum) + r, high;                                               \
                                                                                                   \
		e = BZ_FINEST_##t(e + BZ_FMA_##t(s, half, sum - most), i);                         \
		e = BZ_FMA_##t(k, (bz_n_##t){0} + BZ_LN2_LOW_##t, e);                              \
		e = bz_n_rest_of_two_##t(r, s, BZ_FMA_##t(m, c, -p), e);                           \
		high = most + e;                                                                   \
		*rest = e - (high - most);                                                         \
		return high;                                                                       \
	}                                                                                          \
	/* y log(2^more x) = product + *l. */                                                      \
	BZ_N_FN bz_n_##t bz_n_times_log_##t(bz_n_##t x, bz_n_##t more, bz_n_##t y, bz_n_##t *l)    \
	{                                                                                          \
		bz_n_##t rest;                                                                     \
		const bz_n_##t high = bz_n_log_of_two_##t(x, more, &rest), p = y * high;           \
                                                                                                   \
		*l = BZ_FMA_##t(y, rest, BZ_FMA_##t(y, high, -p));                                 \
		return p;                                                                          \
	}                                                                                          \
	/* e^(p + l), |p| <= far: p = n ln 2 + r, n whole sixteenths. */                           \
	BZ_N_FN bz_n_##t bz_n_exp_of_two_##t(bz_n_##t p, bz_n_##t l)                               \
	{                                                                                          \
		const bz_n_##t sum =                                                               \
			BZ_FMA_##t(p, (bz_n_##t){0} + BZ_LOG2_E_##t, (bz_n_##t){0} + (fixed));     \
		const bz_n_##t n = sum - (fixed), power = BZ_SIXTEENTH_##t(0, BZ_N_BITS_##t(sum)); \
		const bz_n_##t high = BZ_FMA_##t(n, (bz_n_##t){0} - BZ_LN2_HIGH_##t, p);           \
		const bz_n_##t rest = BZ_FMA_##t(n, (bz_n_##t){0} - BZ_LN2_LOW_##t, l);            \
		const bz_n_##t r = high + rest, s = r * r;                                         \
                                                                                                   \
		l = ((high - r) + rest) + BZ_SIXTEENTH_##t(1, BZ_N_BITS_##t(sum));                 \
		l = r + BZ_FMA_##t(s, bz_n_rest_of_power_##t(r, s), l);                            \
		return BZ_SCALED_##t(BZ_FMA_##t(power, l, power), n);                              \
	}                                                                                          \
	/* p, y log of size >= 0, where one of the two is 0 or infinite; within far, where *l is   \
	 * 0. */                                                                                   \
	BZ_N_FN bz_n_##t bz_n_within_##t(bz_n_##t size, bz_n_##t y, bz_n_##t p, bz_n_##t *l)       \
	{                                                                                          \
		const bz_n_##t endless = (bz_n_##t){0} + BZ_INFINITE_##t;                          \
                                                                                                   \
		p = BZ_N_CHOSEN(t, size == 0, y * -endless, p);                                    \
		p = BZ_N_CHOSEN(t, size == endless, y * endless, p);                               \
		p = BZ_N_CHOSEN(t, BZ_SIZE_##t(y) == endless, BZ_N_CHOSEN(t, size < 1, -y, y), p); \
		*l = BZ_N_CHOSEN(t, BZ_SIZE_##t(p) >= (far), (bz_n_##t){0}, *l);                   \
		p = BZ_N_CHOSEN(t, p >= (far), (bz_n_##t){0} + (far), p);                          \
		return BZ_N_CHOSEN(t, p <= -(far), (bz_n_##t){0} - (far), p);                      \
	}                                                                                          \
	/* x^y, r being |x|^y but where this is 1 or a NaN. */                                     \
	BZ_N_FN bz_n_##t bz_n_power_signed_##t(bz_n_##t x, bz_n_##t y, bz_n_##t r)                 \
	{                                                                                          \
		const bz_n_##t endless = (bz_n_##t){0} + BZ_INFINITE_##t;                          \
		const bz_n_##t size = BZ_SIZE_##t(x), none = endless - endless, half = y / 2;      \
		const __typeof__(BZ_N_BITS_##t(x)) whole = BZ_N_IS_WHOLE(t, y);                    \
		const __typeof__(whole) odd = whole & ~BZ_N_IS_WHOLE(t, half);                     \
		const __typeof__(whole) same =                                                     \
			(y == 0) | (x == 1) | ((size == 1) & (BZ_SIZE_##t(y) == endless));         \
                                                                                                   \
		r = (bz_n_##t)(BZ_N_BITS_##t(r) ^ (BZ_N_BITS_##t(x) & odd & BZ_N_TOP_##t));        \
		r = BZ_N_CHOSEN(t, (x < 0) & ~whole & (size < endless), none, r);                  \
		r = BZ_N_CHOSEN(t, (x != x) | (y != y), x + y, r);                                 \
		return BZ_N_CHOSEN(t, same, (bz_n_##t){0} + 1, r);                                 \
	}                                                                                          \
	/* By way of |x|, of a vector of which a lane is rare: of all others it comes out the      \
	 * same. */                                                                                \
	static __attribute__((noinline, unused))                                                   \
	bz_n_##t bz_n_rare_power_##t(bz_n_##t x, bz_n_##t y)                                       \
	{                                                                                          \
		const bz_n_##t size = BZ_SIZE_##t(x), none = {0};                                  \
		const __typeof__(BZ_N_BITS_##t(x)) small = size < (least);                         \
		bz_n_##t l, p,                                                                     \
			u = BZ_SCALED_##t(size, BZ_N_CHOSEN(t, small, none + (step), none));       \
                                                                                                   \
		p = bz_n_times_log_##t(u, BZ_N_CHOSEN(t, small, none - (step), none), y, &l);      \
		p = bz_n_within_##t(size, y, p, &l);                                               \
		return bz_n_power_signed_##t(x, y, bz_n_exp_of_two_##t(p, l));                     \
	}                                                                                          \
	BZ_N_FN bz_n_##t bz_n_power_##t(bz_n_##t x, bz_n_##t y)                                    \
	{                                                                                          \
		bz_n_##t l, p = bz_n_times_log_##t(x, (bz_n_##t){0}, y, &l);                       \
                                                                                                   \
		if (__builtin_expect(BZ_RARE_##t(x, p, bound), 0))                                 \
			return bz_n_rare_power_##t(x, y);                                          \
		return bz_n_exp_of_two_##t(p, l);                                                  \
	}
BZ_POWERS(f64, 0x0006666666666666, 0x3fe6666666666666, 0x000fffffffffffff, 48, 0x1p-1022, 54,
	  0x1.8p48, 700.0, 800.0)
BZ_POWERS(f32, 0x00333333, 0x3f333333, 0x007fffff, 19, 0x1p-126f, 30, 0x1.8p19f, 87.0f, 120.0f)
#else
BZ_N_LIBRARY(exp, f64)
BZ_N_LIBRARY(log, f64)
BZ_N_LIBRARY(sinh, f64)
BZ_N_LIBRARY(tanh, f64)
BZ_N_LIBRARY(acosh, f64)
BZ_N_LIBRARY(asinh, f64)
BZ_N_LIBRARY(log, f32)
BZ_N_LIBRARY(acosh, f32)
BZ_N_LIBRARY2(power, pow, f64)
BZ_N_LIBRARY2(power, pow, f32)
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
	BZ_N_LIBRARY(atanh, t)                                                                     \
	BZ_N_LIBRARY2(atan2, atan2, t)                                                             \
	BZ_N_LIBRARY2(hypot, hypot, t)
BZ_N_LIBRARIES(f32)
BZ_N_LIBRARIES(f64)

/* By 3 a number is multiplied, whatever the numbers beside it are raised to: less than an ulp from
 * the power, for a fraction of its time. */
#if BZ_NATIVE == 64
#define BZ_THREES_f64(y) ((unsigned char)__builtin_ia32_cmppd512_mask(y, BZ_D_ALL(3.0), 0, 0xff, 4))
#define BZ_THREES_f32(y)                                                                           \
	((unsigned short)__builtin_ia32_cmpps512_mask(y, BZ_N_ALL(3.0f), 0, 0xffff, 4))
#define BZ_CUBES(t, y, cube, power) BZ_PICK_##t(y, 0, (bz_n_##t){0} + 3, cube, power)
#define bz_n_any_power_f64	    bz_n_rare_power_f64
#define bz_n_any_power_f32	    bz_n_rare_power_f32
#else
#define bz_n_any_power_f64 bz_n_power_f64
#define bz_n_any_power_f32 bz_n_power_f32
#if BZ_NATIVE == 32
#define BZ_THREES_f64(y) __builtin_ia32_movmskpd256((bz_n_f64)((y) == 3))
#define BZ_THREES_f32(y) __builtin_ia32_movmskps256((bz_n_f32)((y) == 3))
#else
#define BZ_THREES_f64(y) __builtin_ia32_movmskpd((bz_n_f64)((y) == 3))
#define BZ_THREES_f32(y) __builtin_ia32_movmskps((bz_n_f32)((y) == 3))
#endif
#define BZ_CUBES(t, y, cube, power)                                                                \
	((bz_n_##t)((((y) == 3) & (__typeof__((y) == 3))(cube)) |                                  \
		    (((y) != 3) & (__typeof__((y) == 3))(power))))
#endif
#define BZ_CUBED(t)                                                                                \
	static __attribute__((noinline, unused))                                                   \
	bz_n_##t bz_n_some_cubes_##t(bz_n_##t x, bz_n_##t y)                                       \
	{                                                                                          \
		return BZ_CUBES(t, y, x * x * x, bz_n_any_power_##t(x, y));                        \
	}                                                                                          \
	BZ_N_FN bz_n_##t bz_n_pow_##t(bz_n_##t x, bz_n_##t y)                                      \
	{                                                                                          \
		const int cubes = BZ_THREES_##t(y);                                                \
                                                                                                   \
		if (__builtin_expect(cubes, 0))                                                    \
			return cubes == (1 << BZ_NATIVE / sizeof y[0]) - 1                         \
				       ? x * x * x                                                 \
				       : bz_n_some_cubes_##t(x, y);                                \
		return bz_n_power_##t(x, y);                                                       \
	}
BZ_CUBED(f64)
BZ_CUBED(f32)

#endif
