/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cx.cuh - the elementwise operations on complex types, after ew.cuh.
 *
 * Arithmetic is cx.h's, formula by formula, and gives its bits.  The functions are
 * computed in double for both types, with the values of C's annex G at infinities
 * and NaN: sin, tan and their like from sinh and tanh of i z, arcsine and its like by
 * Hull, Fairgrieve and Tang (ACM TOMS 23, 1997). */
#ifndef BZ_NO_COMPLEX

/* ---- arithmetic, order ---------------------------------------------------------- */

template <class T> BZ_FN T bz_complex_add(T a, T b)
{
	return {a.re + b.re, a.im + b.im};
}
template <class T> BZ_FN T bz_complex_sub(T a, T b)
{
	return {a.re - b.re, a.im - b.im};
}
template <class T> BZ_FN T bz_complex_mul(T a, T b)
{
	return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
/* Smith's method (Algorithm 116, CACM 1962); 0 divides by parts. */
template <class T> BZ_FN T bz_complex_div(T a, T b)
{
	typedef typename bz_type<T>::part F;
	const F r = bz_m_fabs(b.re), i = bz_m_fabs(b.im);
	const bool wide = r >= i;
	const F big = wide ? b.re : b.im, small = wide ? b.im : b.re;
	const F ratio = small / big, scale = 1 / (big + small * ratio);

	if (r == 0 && i == 0)
		return {a.re / r, a.im / r};
	if (wide)
		return {(a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale};
	return {(a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale};
}
template <class T> BZ_FN T bz_complex_recip(T a)
{
	typedef typename bz_type<T>::part F;
	const bool wide = bz_m_fabs(a.im) <= bz_m_fabs(a.re);
	const F big = wide ? a.re : a.im, small = wide ? a.im : a.re;
	const F r = small / big, d = big + small * r;

	return {(wide ? (F)1 : r) / d, -(wide ? r : (F)1) / d};
}
/* z / |z|; an infinite part alone gives that axis' unit, two give NaN. */
template <class T> BZ_FN T bz_complex_sign(T a)
{
	typedef typename bz_type<T>::part F;
	const F size = bz_m_hypot(a.re, a.im);
	const bool re = bz_isinf(a.re), im = bz_isinf(a.im);

	if (size != size || (re && im))
		return {bz_nan<F>(), bz_nan<F>()};
	if (size == 0)
		return {0, 0};
	if (re || im)
		return {re ? bz_sign(a.re) : (F)0, im ? bz_sign(a.im) : (F)0};
	/* A finite number can have an infinite size; then NumPy gives this. */
	if (size == bz_infinity<F>())
		return {0, bz_sign(a.im)};
	return {a.re / size, a.im / size};
}
template <class T> BZ_FN bool bz_complex_isnan(T a)
{
	return a.re != a.re || a.im != a.im;
}
/* Lexicographic order with NumPy's rule for NaN: a strictly ordered real part
 * decides only when no imaginary part is NaN. */
template <bool EQUAL, class T> BZ_FN bool bz_complex_less(T a, T b)
{
	if (a.re == b.re)
		return EQUAL ? a.im <= b.im : a.im < b.im;
	return a.re < b.re && a.im == a.im && b.im == b.im;
}

/* ---- functions: exponentials ------------------------------------------------------ */

#define BZ_HALF_PI 1.57079632679489661923
#define BZ_PI	   3.14159265358979323846
#define BZ_LN2	   0.693147180559945309417232121458

/* i z and -i z, by which the trigonometric functions become hyperbolic ones. */
BZ_FN bz_c128 bz_times_i(bz_c128 z)
{
	return {-z.im, z.re};
}
BZ_FN bz_c128 bz_times_minus_i(bz_c128 z)
{
	return {z.im, -z.re};
}

/* v exp(x) times `scale`, where exp(x) may pass the range though the result does not: then factors
 * of exp(700) come first.  v is at most 1, so three are too many for all but a 0. */
BZ_FN bz_c128 bz_times_exp(bz_c128 v, bz_f64 x, bz_f64 scale)
{
	for (int k = 0; x > 700 && k < 3; k++, x -= 700) {
		v.re *= 1.0142320547350045e304;
		v.im *= 1.0142320547350045e304;
	}
	const bz_f64 e = scale * exp(x > 700 ? 700 : x);
	return {v.re * e, v.im * e};
}

BZ_FN bz_c128 bz_z_exp(bz_c128 z)
{
	const bz_f64 x = z.re, y = z.im;

	if (y == 0)
		return {exp(x), y};
	if (bz_isfinite(y) && !bz_isinf(x))
		return bz_times_exp({cos(y), sin(y)}, x, 1);
	if (bz_isfinite(y))
		return {copysign(exp(x), cos(y)), copysign(exp(x), sin(y))};
	if (x == -bz_infinity<bz_f64>())
		return {0, copysign(0.0, y)};
	return {bz_isinf(x) ? x : bz_nan<bz_f64>(), bz_nan<bz_f64>()};
}

/* cosh(x) cos(y) and sinh(x) sin(y), or sinh(x) cos(y) and cosh(x) sin(y). */
template <bool COSH> BZ_FN bz_c128 bz_z_hyperbolic(bz_c128 z)
{
	const bz_f64 x = z.re, y = z.im, sign = copysign(1.0, x);
	const bz_f64 re = COSH ? 1.0 : sign, im = COSH ? sign : 1.0;

	if (!bz_isfinite(y)) {
		if (x == 0) /* the part that sinh(x) is a factor of is 0 */
			return {COSH ? bz_nan<bz_f64>() : x, COSH ? 0.0 : bz_nan<bz_f64>()};
		return {bz_isinf(x) ? fabs(x) : bz_nan<bz_f64>(), bz_nan<bz_f64>()};
	}
	if (y == 0)
		return {COSH ? cosh(x) : sinh(x), COSH ? y * sign : y};
	if (fabs(x) < 22)
		return {(COSH ? cosh(x) : sinh(x)) * cos(y), (COSH ? sinh(x) : cosh(x)) * sin(y)};
	if (bz_isinf(x))
		return {re * copysign(fabs(x), cos(y)), im * copysign(fabs(x), sin(y))};
	/* Beyond 22 both are exp(|x|) / 2. */
	return bz_times_exp({re * cos(y), im * sin(y)}, fabs(x), 0.5);
}
BZ_FN bz_c128 bz_z_sinh(bz_c128 z)
{
	return bz_z_hyperbolic<false>(z);
}
BZ_FN bz_c128 bz_z_cosh(bz_c128 z)
{
	return bz_z_hyperbolic<true>(z);
}
BZ_FN bz_c128 bz_z_tanh(bz_c128 z)
{
	const bz_f64 x = z.re, y = z.im;

	if (x != x)
		return {x, y == 0 ? y : x};
	if (!bz_isfinite(y) && !bz_isinf(x))
		return {x == 0 ? x : bz_nan<bz_f64>(), bz_nan<bz_f64>()};
	if (fabs(x) >= 22) {
		const bz_f64 wave = bz_isfinite(y) ? sin(y) * cos(y) : copysign(1.0, y);

		return {copysign(1.0, x), wave * 4 * exp(-2 * fabs(x))};
	}
	const bz_f64 s = sinh(x), c = cos(y), d = s * s + c * c;
	return {s * cosh(x) / d, sin(y) * c / d};
}
BZ_FN bz_c128 bz_z_sin(bz_c128 z)
{
	if (bz_isinf(z.im) && !bz_isfinite(z.re)) /* of either sign, by C; as glibc has it */
		return {bz_nan<bz_f64>(), bz_infinity<bz_f64>()};
	return bz_times_minus_i(bz_z_sinh(bz_times_i(z)));
}
BZ_FN bz_c128 bz_z_cos(bz_c128 z)
{
	return bz_z_cosh(bz_times_i(z));
}
BZ_FN bz_c128 bz_z_tan(bz_c128 z)
{
	return bz_times_minus_i(bz_z_tanh(bz_times_i(z)));
}

/* ---- functions: roots and logarithms ------------------------------------------------ */

BZ_FN bz_c128 bz_z_sqrt(bz_c128 z)
{
	bz_f64 x = z.re, y = z.im, back = 1;

	if (x == 0 && y == 0)
		return {0, y};
	if (bz_isinf(y))
		return {fabs(y), y};
	if (bz_isinf(x))
		return x < 0 ? bz_c128{fabs(y - y), copysign(x, y)} : bz_c128{x, copysign(y - y, y)};
	if (fabs(x) > 1e300 || fabs(y) > 1e300) {
		x *= 0.0625;
		y *= 0.0625;
		back = 4;
	} else if (fabs(x) < 1e-280 && fabs(y) < 1e-280) {
		x *= 0x1p120;
		y *= 0x1p120;
		back = 0x1p-60;
	}
	const bz_f64 t = sqrt(0.5 * (fabs(x) + hypot(x, y)));
	if (x >= 0)
		return {back * t, back * (y / (2 * t))};
	return {back * (fabs(y) / (2 * t)), copysign(back * t, y)};
}

/* log |z|; near 1 from |z|^2 - 1, taken with the squares' rounding errors. */
BZ_FN bz_f64 bz_z_log_abs(bz_f64 x, bz_f64 y)
{
	const bz_f64 a = fmax(fabs(x), fabs(y)), b = fmin(fabs(x), fabs(y));
	const bz_f64 aa = a * a, bb = b * b;

	if (bz_isinf(x) || bz_isinf(y))
		return bz_infinity<bz_f64>();
	if (x != x || y != y)
		return bz_nan<bz_f64>();
	if (aa + bb >= 0.5 && aa + bb <= 3)
		return 0.5 * log1p(((aa - 1) + bb) + (fma(a, a, -aa) + fma(b, b, -bb)));
	if (a > 1e300)
		return log(hypot(x * 0.25, y * 0.25)) + 2 * BZ_LN2;
	if (a < 1e-280 && a > 0)
		return log(hypot(x * 0x1p120, y * 0x1p120)) - 120 * BZ_LN2;
	return log(hypot(x, y));
}
BZ_FN bz_c128 bz_z_log(bz_c128 z)
{
	return {bz_z_log_abs(z.re, z.im), atan2(z.im, z.re)};
}

/* arcsine (or, ACOS, arccosine) of x + i y in the first quadrant. */
template <bool ACOS> BZ_FN bz_c128 bz_z_hull_extreme(bz_f64 x, bz_f64 y)
{
	const bz_f64 root = sqrt(fabs((x - 1) * (x + 1)));

	if (x > 1e150 || y > 1e150)
		return {ACOS ? atan2(y, x) : atan2(x, y), bz_z_log_abs(x, y) + BZ_LN2};
	if (y < 1e-150 && x < 1)
		return {ACOS ? acos(x) : asin(x), y / root};
	if (y < 1e-150 && x > 1)
		return {ACOS ? y / root : BZ_HALF_PI, log1p((x - 1) + root)};
	/* x is 1, y next to nothing */
	return {ACOS ? sqrt(y) : BZ_HALF_PI - sqrt(y), sqrt(y)};
}
template <bool ACOS> BZ_FN bz_c128 bz_z_hull_common(bz_f64 x, bz_f64 y)
{
	const bz_f64 r = hypot(x + 1, y), s = hypot(x - 1, y), a = 0.5 * (r + s), b = x / a;
	const bz_f64 rp = r + (x + 1), yy = y * y;
	bz_c128 z;

	if (b <= 0.6417) {
		z.re = ACOS ? acos(b) : asin(b);
	} else {
		const bz_f64 root =
			x <= 1 ? sqrt(0.5 * (a + x) * (yy / rp + (s + (1 - x))))
			       : y * sqrt(0.5 * ((a + x) / rp + (a + x) / (s + (x - 1))));

		z.re = ACOS ? atan2(root, x) : atan2(x, root);
	}
	if (a <= 1.5) {
		const bz_f64 less = x < 1 ? 0.5 * (yy / rp + yy / (s + (1 - x)))
					  : 0.5 * (yy / rp + (s + (x - 1)));

		z.im = log1p(less + sqrt(less * (a + 1)));
	} else {
		z.im = log(a + sqrt(a * a - 1));
	}
	return z;
}
template <bool ACOS> BZ_FN bz_c128 bz_z_hull(bz_f64 x, bz_f64 y)
{
	if (x != x || y != y)
		return {x == 0 ? (ACOS ? BZ_HALF_PI : 0.0) : bz_nan<bz_f64>(),
			bz_isinf(x) || bz_isinf(y) ? bz_infinity<bz_f64>() : bz_nan<bz_f64>()};
	if (x > 1e150 || y > 1e150 || y < 1e-150)
		return bz_z_hull_extreme<ACOS>(x, y);
	return bz_z_hull_common<ACOS>(x, y);
}
BZ_FN bz_c128 bz_z_asin(bz_c128 z)
{
	const bz_c128 w = bz_z_hull<false>(fabs(z.re), fabs(z.im));

	return {copysign(w.re, z.re), copysign(w.im, z.im)};
}
BZ_FN bz_c128 bz_z_acos(bz_c128 z)
{
	const bz_c128 w = bz_z_hull<true>(fabs(z.re), fabs(z.im));

	return {bz_negative(z.re) ? BZ_PI - w.re : w.re, bz_negative(z.im) ? w.im : -w.im};
}
BZ_FN bz_c128 bz_z_asinh(bz_c128 z)
{
	return bz_times_minus_i(bz_z_asin(bz_times_i(z)));
}
BZ_FN bz_c128 bz_z_acosh(bz_c128 z)
{
	const bz_c128 w = bz_z_acos(z);

	return {fabs(w.im), copysign(w.re, z.im)};
}
BZ_FN bz_c128 bz_z_atanh(bz_c128 z)
{
	const bz_f64 x = fabs(z.re), y = fabs(z.im);
	bz_f64 re, im;

	if (bz_isinf(x) || bz_isinf(y)) {
		re = 0;
		im = y != y ? y : BZ_HALF_PI;
	} else if (x != x || y != y) {
		re = x == 0 ? x : bz_nan<bz_f64>();
		im = bz_nan<bz_f64>();
	} else if (x > 1e150 || y > 1e150) {
		const bz_f64 size = hypot(x * 0.5, y * 0.5);

		re = x * 0.5 / size * 0.5 / size;
		im = BZ_HALF_PI;
	} else {
		re = x == 1 && y < 1e-150 ? 0.5 * (BZ_LN2 - log(y))
					  : 0.25 * log1p(4 * x / ((1 - x) * (1 - x) + y * y));
		im = y == 0 && x <= 1 ? 0.0 : 0.5 * atan2(2 * y, (1 - x) * (1 + x) - y * y);
	}
	return {copysign(re, z.re), copysign(im, z.im)};
}
BZ_FN bz_c128 bz_z_atan(bz_c128 z)
{
	return bz_times_minus_i(bz_z_atanh(bz_times_i(z)));
}

#define BZ_COMPLEX_FUNCTION(stem)                                                                  \
	template <class T> BZ_FN T bz_complex_##stem(T a)                                          \
	{                                                                                          \
		return bz_cast<bz_c128, T>(bz_z_##stem(bz_cast<T, bz_c128>(a)));                   \
	}
BZ_COMPLEX_FUNCTION(sqrt)
BZ_COMPLEX_FUNCTION(exp)
BZ_COMPLEX_FUNCTION(log)
BZ_COMPLEX_FUNCTION(sin)
BZ_COMPLEX_FUNCTION(cos)
BZ_COMPLEX_FUNCTION(tan)
BZ_COMPLEX_FUNCTION(asin)
BZ_COMPLEX_FUNCTION(acos)
BZ_COMPLEX_FUNCTION(atan)
BZ_COMPLEX_FUNCTION(sinh)
BZ_COMPLEX_FUNCTION(cosh)
BZ_COMPLEX_FUNCTION(tanh)
BZ_COMPLEX_FUNCTION(asinh)
BZ_COMPLEX_FUNCTION(acosh)
BZ_COMPLEX_FUNCTION(atanh)

/* NumPy's formulas, in the type's own precision. */
template <class T> BZ_FN T bz_complex_exp2(T a)
{
	typedef typename bz_type<T>::part F;
	return bz_complex_exp(T{a.re * (F)BZ_LN2, a.im * (F)BZ_LN2});
}
template <class T> BZ_FN T bz_complex_expm1(T a)
{
	typedef typename bz_type<T>::part F;
	const F s = bz_m_sin(a.im / 2);

	return {bz_m_expm1(a.re) * bz_m_cos(a.im) - 2 * s * s, bz_m_exp(a.re) * bz_m_sin(a.im)};
}
template <class T> BZ_FN T bz_complex_log1p(T a)
{
	return {bz_m_log(bz_m_hypot(a.re + 1, a.im)), bz_m_atan2(a.im, a.re + 1)};
}
template <class T> BZ_FN T bz_complex_log2(T a)
{
	typedef typename bz_type<T>::part F;
	const T r = bz_complex_log(a);
	const F k = (F)1.442695040888963407359924681002;

	return {r.re * k, r.im * k};
}
template <class T> BZ_FN T bz_complex_log10(T a)
{
	typedef typename bz_type<T>::part F;
	const T r = bz_complex_log(a);
	const F k = (F)0.434294481903251827651128918917;

	return {r.re * k, r.im * k};
}

/* A product whose infinities survive, as C's does (annex G.5.1). */
BZ_FN bz_f64 bz_z_zero(bz_f64 x)
{
	return x != x ? copysign(0.0, x) : x;
}
BZ_FN bz_c128 bz_z_unit(bz_c128 z)
{
	return {copysign(bz_isinf(z.re) ? 1.0 : 0.0, z.re), copysign(bz_isinf(z.im) ? 1.0 : 0.0, z.im)};
}
BZ_FN bz_c128 bz_z_mul(bz_c128 a, bz_c128 b)
{
	const bz_c128 r = bz_complex_mul(a, b);
	const bool x = bz_isinf(a), y = bz_isinf(b);

	if (r.re == r.re || r.im == r.im)
		return r;
	if (!x && !y && !bz_isinf(a.re * b.re) && !bz_isinf(a.im * b.im) && !bz_isinf(a.re * b.im) &&
	    !bz_isinf(a.im * b.re))
		return r;
	a = x ? bz_z_unit(a) : bz_c128{bz_z_zero(a.re), bz_z_zero(a.im)};
	b = y ? bz_z_unit(b) : bz_c128{bz_z_zero(b.re), bz_z_zero(b.im)};
	const bz_c128 s = bz_complex_mul(a, b);
	return {bz_infinity<bz_f64>() * s.re, bz_infinity<bz_f64>() * s.im};
}

/* exp(b log a).  Rounding log a and the product costs |b log a| units of the result; so
 * what rounding left is kept: e of log a, from a / exp(log a) = 1 + e, where that is
 * more exact than the logarithm is, and q of the product. */
BZ_FN bz_c128 bz_z_pow(bz_c128 a, bz_c128 b)
{
	const bz_c128 l = bz_z_log(a), p = bz_z_mul(b, l), r = bz_z_exp(p);

	if (!(fabs(l.re) < 600 && fabs(p.re) + fabs(p.im) < 600) || p.re != p.re)
		return r;
	const bz_f64 s = exp(-l.re), c = cos(l.im), n = sin(l.im), x = a.re * s, y = a.im * s;
	const bz_c128 e = {fabs(l.re) > 2 ? fma(x, c, fma(y, n, -1.0)) : 0,
			   fabs(l.im) > 1 ? fma(y, c, -(x * n)) : 0};
	const bz_f64 rr = b.re * l.re, ii = b.im * l.im, ri = b.re * l.im, ir = b.im * l.re;
	/* The rest of each product, of their sum, and the share of e. */
	const bz_f64 dr = p.re - rr, di = p.im - ri;
	const bz_c128 q = {((rr - (p.re - dr)) - (ii + dr)) + fma(b.re, l.re, -rr) -
				   fma(b.im, l.im, -ii) + (b.re * e.re - b.im * e.im),
			   ((ri - (p.im - di)) + (ir - di)) + fma(b.re, l.im, -ri) +
				   fma(b.im, l.re, -ir) + (b.re * e.im + b.im * e.re)};
	return {r.re + (r.re * q.re - r.im * q.im), r.im + (r.im * q.re + r.re * q.im)};
}

/* Exponent 0 gives 1; base 0 gives 0 for an exponent whose real part is positive and NaN
 * else; small whole exponents multiply; the rest is exp(b log a). */
template <class T> BZ_FN T bz_complex_power(T a, int n)
{
	typedef typename bz_type<T>::part F;
	T r = {1, 0}, p = a;

	for (unsigned mask = (unsigned)(n < 0 ? -n : n);; p = bz_complex_mul(p, p)) {
		if (mask & 1)
			r = bz_complex_mul(r, p);
		mask >>= 1;
		if (!mask)
			break;
	}
	if (n > 0)
		return r;
	const bool wide = bz_m_fabs(r.re) >= bz_m_fabs(r.im);
	const F e = wide ? r.im / r.re : r.re / r.im;
	const F d = 1 / (wide ? r.re + r.im * e : r.im + r.re * e);
	return wide ? T{d, -e * d} : T{e * d, -d};
}
template <class T> BZ_FN T bz_complex_pow(T a, T b)
{
	typedef typename bz_type<T>::part F;
	const int n = b.re > -100 && b.re < 100 ? (int)b.re : 0;

	if (b.re == 0 && b.im == 0)
		return {1, 0};
	if (a.re == 0 && a.im == 0)
		return b.re > 0 ? T{0, 0} : T{bz_nan<F>(), bz_nan<F>()};
	if (b.im == 0 && n && b.re == (F)n) {
		if (n == 1)
			return a;
		if (n == 2)
			return bz_complex_mul(a, a);
		if (n == 3)
			return bz_complex_mul(a, bz_complex_mul(a, a));
		return bz_complex_power(a, n);
	}
	return bz_cast<bz_c128, T>(bz_z_pow(bz_cast<T, bz_c128>(a), bz_cast<T, bz_c128>(b)));
}

#endif
