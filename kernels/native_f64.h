/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/native_f64.h - functions of float64 that are braze's own, after native.h.
 *
 * Out: bz_n_<stem>_f64 of exp, log, sinh, tanh and acosh.
 *
 * They are braze's own with AVX-512, whose instructions for powers of two and for tables in
 * registers make them quicker than libmvec's routines, which they do not make bigger errors than:
 * exp 0.8 ulp, log 0.9, sinh 0.9, tanh 1, acosh 0.9, everywhere.  Without, they are libmvec's,
 * which AVX2 has no quicker way than.  A lane's number depends on that lane alone, NaNs are kept.
 */
#ifndef BZ_NATIVE_F64_H
#define BZ_NATIVE_F64_H

#if BZ_NATIVE == 64
#define BZ_D_ALL(c)	((bz_n_f64){0} + (c))
#define BZ_D_FUSED	BZ_FMA_f64
#define BZ_D_BITS(x)	((bz_n_i64)(x))
#define BZ_D_TOP	BZ_D_BITS(-(bz_n_f64){0})
#define BZ_D_SIZE(x)	((bz_n_f64)(BZ_D_BITS(x) & ~BZ_D_TOP))
#define BZ_D_SIGN(x, y) ((bz_n_f64)(BZ_D_BITS(x) | (BZ_D_BITS(y) & BZ_D_TOP)))
#define BZ_D_WHOLE(t)	__builtin_ia32_rndscalepd_mask(t, 8, t, BZ_ALL8, 4)
/* p 2^n, and the two parts of x: 2^*k m, m from 3/4 to 3/2; m is a NaN where x < 0, *k infinite
 * where x is or is 0. */
#define BZ_D_SCALED(p, n) __builtin_ia32_scalefpd512_mask(p, n, p, 0xff, 4)
#define BZ_D_POWER(x)	  __builtin_ia32_getexppd512_mask(x, x, BZ_ALL8, 4)
#define BZ_D_PART(x)	  __builtin_ia32_getmantpd512_mask(x, 15, x, BZ_ALL8, 4)
/* MIN and MAX: y where either is a NaN.  PICK: x where v and w compare so, else y.  AT: of 16
 * numbers those that the lowest four bits of i name. */
#ifdef __clang__
#define BZ_D_MIN(x, y) ((bz_n_f64)__builtin_ia32_minpd512(x, y, 4))
#define BZ_D_MAX(x, y) ((bz_n_f64)__builtin_ia32_maxpd512(x, y, 4))
#define BZ_D_PICK(v, rel, w, x, y)                                                                 \
	((bz_n_f64)__builtin_ia32_selectpd_512(__builtin_ia32_cmppd512_mask(v, w, rel, 0xff, 4),   \
					       x, y))
#define BZ_D_AT(table, i) ((bz_n_f64)__builtin_ia32_vpermi2varpd512((table)[0], i, (table)[1]))
#else
#define BZ_D_MIN(x, y) __builtin_ia32_minpd512_mask(x, y, y, 0xff, 4)
#define BZ_D_MAX(x, y) __builtin_ia32_maxpd512_mask(x, y, y, 0xff, 4)
#define BZ_D_PICK(v, rel, w, x, y)                                                                 \
	__builtin_ia32_blendmpd_512_mask(y, x, __builtin_ia32_cmppd512_mask(v, w, rel, 0xff, 4))
#define BZ_D_AT(table, i) __builtin_shuffle((table)[0], (table)[1], i)
#endif

/* x = *n ln 2 + r + *l: r within half of ln 2 from 0, *l what r was rounded by.  ln 2 is two
 * numbers as above. */
BZ_N_FN bz_n_f64 bz_n_reduced(bz_n_f64 x, bz_n_f64 *n, bz_n_f64 *l)
{
	const bz_n_f64 low = BZ_D_ALL(-0x1.ef35793c76730p-45);
	bz_n_f64 high, r;

	*n = BZ_D_WHOLE(x * 0x1.71547652b82fep+0);
	high = BZ_D_FUSED(*n, BZ_D_ALL(-0x1.62e42fefa3800p-1), x);
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
	return BZ_D_SCALED(s, n);
}
/* By e^(2 |x|) - 1 = p: p / (p + 2), the quotient with what it, p and p + 2 were rounded by. */
BZ_N_FN bz_n_f64 bz_n_tanh_f64(bz_n_f64 x)
{
	bz_n_f64 n, l, r, power, s, e, p, t, i, q;

	r = bz_n_reduced(BZ_D_MIN(BZ_D_ALL(40.0), 2 * BZ_D_SIZE(x)), &n, &l);
	power = BZ_D_SCALED(BZ_D_ALL(1.0), n);
	s = BZ_D_FUSED(power, r, power - 1);
	e = BZ_D_FUSED(power, r, (power - 1) - s);
	e = BZ_D_FUSED(power, BZ_D_FUSED(r * r, bz_n_rest_of_exp(r), l), e);
	p = s + e;
	e += s - p;
	t = p + 2;
	i = 1 / t;
	q = p * i;
	e = BZ_D_FUSED(-q, t, p) + BZ_D_FUSED(-q, (p - (t - 2)) + e, e);
	return BZ_D_SIGN(BZ_D_FUSED(e, i, q), x);
}
/* sinh(n ln 2 + r) = sinh(n ln 2) cosh(r) + cosh(n ln 2) sinh(r), twice the hyperbolic functions of
 * n ln 2 being s and c times 2^n; the polynomials are of r^2. */
BZ_N_FN bz_n_f64 bz_n_sinh_f64(bz_n_f64 x)
{
	bz_n_f64 n, l, r, z, power, s, c, a, e, even, odd;

	r = bz_n_reduced(BZ_D_MIN(BZ_D_ALL(711.0), BZ_D_SIZE(x)), &n, &l);
	z = r * r;
	power = BZ_D_SCALED(BZ_D_ALL(1.0), -2 * n);
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
	return BZ_D_SIGN(BZ_D_SCALED(a, n - 1), x);
}

/* Of the sixteenths of the range of a number's part m (BZ_D_PART): c near 1 / m, of the two beside
 * 1 1 itself, so that r = c m - 1 is from -1/32 to 1/16; and -log(c), for which c was chosen so
 * that it is a multiple of 2^-42 but for 2^-59 at most. */
static const bz_n_f64 bz_n_logs[2][2] __attribute__((unused)) = {
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
#define BZ_D_LOGS(k, m) BZ_D_AT(bz_n_logs[k], BZ_D_BITS(m) >> 48)
/* k ln 2 - log(c) + log(1 + r) + e, c being of m. */
BZ_N_FN bz_n_f64 bz_n_log_of(bz_n_f64 m, bz_n_f64 k, bz_n_f64 r, bz_n_f64 e)
{
	const bz_n_f64 high = BZ_D_FUSED(k, BZ_D_ALL(0x1.62e42fefa3800p-1), BZ_D_LOGS(1, m));
	const bz_n_f64 s = high + r;
	bz_n_f64 p = BZ_D_FUSED(r, BZ_D_ALL(-0x1.663253bc72e7fp-4), BZ_D_ALL(0x1.c57c5cc572135p-4));

	p = BZ_D_FUSED(r, p, BZ_D_ALL(-0x1.0009cd5257d4cp-3));
	p = BZ_D_FUSED(r, p, BZ_D_ALL(0x1.2492d6d0fdd12p-3));
	p = BZ_D_FUSED(r, p, BZ_D_ALL(-0x1.555554a74eb78p-3));
	p = BZ_D_FUSED(r, p, BZ_D_ALL(0x1.99999980cb1d1p-3));
	p = BZ_D_FUSED(r, p, BZ_D_ALL(-0x1.fffffffff3c4bp-3));
	p = BZ_D_FUSED(r, p, BZ_D_ALL(0x1.5555555555f56p-2));
	p = BZ_D_FUSED(r, p, BZ_D_ALL(-0x1.0000000000002p-1));
	e = BZ_D_FUSED(r * r, p, ((high - s) + r) + e);
	/* Of infinite k, e is a NaN and s the result. */
	return BZ_D_PICK(e, 3, e, s, s + e);
}
BZ_N_FN bz_n_f64 bz_n_log_f64(bz_n_f64 x)
{
	const bz_n_f64 m = BZ_D_PART(x), k = BZ_D_POWER(x) - BZ_D_POWER(m);
	const bz_n_f64 r = BZ_D_FUSED(m, BZ_D_LOGS(0, m), BZ_D_ALL(-1.0));

	return bz_n_log_of(m, k, r, k * 0x1.ef35793c76730p-45);
}
/* log(1 + t + root), t = x - 1, root^2 = z = t^2 + 2 t: a NaN where t < 0.  What root was rounded
 * by is divided by twice the root, whose reciprocal is as near as the difference of the exponents'
 * bits makes it: a twentieth.  From 2^28 on, it is log(2 x). */
BZ_N_FN bz_n_f64 bz_n_acosh_f64(bz_n_f64 x)
{
	const bz_n_f64 far = BZ_D_ALL(0x1p28), one = BZ_D_ALL(1.0), t = x - 1;
	const bz_n_f64 z = BZ_D_FUSED(t, BZ_D_SIZE(t), 2 * t);
	const bz_n_f64 root = BZ_SQRT_f64(z), y = root + t;
	const bz_n_f64 half = (bz_n_f64)(0x7fcdf00000000000 - BZ_D_BITS(root));
	const bz_n_f64 off = BZ_D_FUSED(-root, root, z) + BZ_D_FUSED(t, t, 2 * t - z);
	const bz_n_f64 more = BZ_D_MAX(one, y), less = BZ_D_MIN(one, y), sum = more + less;
	bz_n_f64 l = ((more - sum) + less) + BZ_D_FUSED(off, half, (root - y) + t);
	const bz_n_f64 u = BZ_D_PICK(x, 14, far, x, sum);
	const bz_n_f64 m = BZ_D_PART(u), c = BZ_D_LOGS(0, m), k = BZ_D_POWER(u) - BZ_D_POWER(m);
	const bz_n_f64 r = BZ_D_FUSED(m, c, -one);
	bz_n_f64 twice = k;

	l = BZ_D_SCALED(l * c, -k);
	l = BZ_D_PICK(x, 14, far, BZ_D_ALL(0.0), BZ_D_FUSED(-l, r, l));
	twice = BZ_D_PICK(x, 14, far, k + 1, k);
	return bz_n_log_of(m, twice, r, BZ_D_FUSED(twice, BZ_D_ALL(0x1.ef35793c76730p-45), l));
}
#else
BZ_N_LIBRARY(exp, f64)
BZ_N_LIBRARY(log, f64)
BZ_N_LIBRARY(sinh, f64)
BZ_N_LIBRARY(tanh, f64)
BZ_N_LIBRARY(acosh, f64)
#endif

#endif
