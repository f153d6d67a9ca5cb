/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cx.h - the elementwise operations on complex types, after ew.h in the
 * prologue of kernels that have all types.
 *
 * Arithmetic, comparisons and absolute are vector code; the other functions go
 * lane by lane through libm's complex functions. */
#ifndef BZ_CX_H
#define BZ_CX_H
#if !defined(BZ_ONLY_NARROW) && !defined(BZ_NO_COMPLEX)

#define BZ_CUNARY(stem, t, real, imag)                                                             \
	BZ_FN bz_##t bz_##stem##_##t(bz_##t a)                                                     \
	{                                                                                          \
		return (bz_##t){(real), (imag)};                                                   \
	}
#define BZ_CBINARY(stem, t, real, imag)                                                            \
	BZ_FN bz_##t bz_##stem##_##t(bz_##t a, bz_##t b)                                           \
	{                                                                                          \
		return (bz_##t){(real), (imag)};                                                   \
	}
#define BZ_CTEST(stem, t, expr)                                                                    \
	BZ_FN bz_b1 bz_##stem##_##t(bz_##t a)                                                      \
	{                                                                                          \
		return BZ_B1(expr);                                                                \
	}
#define BZ_CCOMPARE(stem, t, expr)                                                                 \
	BZ_FN bz_b1 bz_##stem##_##t(bz_##t a, bz_##t b)                                            \
	{                                                                                          \
		return BZ_B1(expr);                                                                \
	}
#define BZ_CSEL(t, f, m, a, b)                                                                     \
	((bz_##t){BZ_SEL(f, m, (a).re, (b).re), BZ_SEL(f, m, (a).im, (b).im)})

/* Lexicographic order with NumPy's rule for NaN: a strictly ordered real part
 * decides only when no imaginary part is NaN. */
#define BZ_CORDER(a, b, strict, rel)                                                               \
	((((a).re strict(b).re) & ((a).im == (a).im) & ((b).im == (b).im)) |                       \
	 (((a).re == (b).re) & ((a).im rel(b).im)))
#define BZ_CNAN(a) (((a).re != (a).re) | ((a).im != (a).im))

/* Division by Smith's method (R. L. Smith, Algorithm 116, CACM 1962), both arms
 * computed and the one with the smaller ratio chosen; 0 divides by parts. */
#define BZ_CDIVIDE(t, f)                                                                           \
	BZ_FN bz_##t bz_div_##t(bz_##t a, bz_##t b)                                                \
	{                                                                                          \
		bz_##f r = bz_abs_##f(b.re), i = bz_abs_##f(b.im), one = BZ_SPLAT(f, 1);           \
		bz_k_##f wide = (bz_k_##f)(r >= i), zero = (bz_k_##f)((r == 0) & (i == 0));        \
		bz_##f big = BZ_SEL(f, wide, b.re, b.im), small = BZ_SEL(f, wide, b.im, b.re);     \
		bz_##f ratio = small / big, scale = one / (big + small * ratio);                   \
		bz_##f re = BZ_SEL(f, wide, a.re + a.im * ratio, a.re * ratio + a.im) * scale;     \
		bz_##f im = BZ_SEL(f, wide, a.im - a.re * ratio, a.im * ratio - a.re) * scale;     \
                                                                                                   \
		return (bz_##t){BZ_SEL(f, zero, a.re / r, re), BZ_SEL(f, zero, a.im / r, im)};     \
	}                                                                                          \
	BZ_FN bz_##t bz_recip_##t(bz_##t a)                                                        \
	{                                                                                          \
		bz_##f one = BZ_SPLAT(f, 1);                                                       \
		bz_k_##f wide = (bz_k_##f)(bz_abs_##f(a.im) <= bz_abs_##f(a.re));                  \
		bz_##f big = BZ_SEL(f, wide, a.re, a.im), small = BZ_SEL(f, wide, a.im, a.re);     \
		bz_##f r = small / big, d = big + small * r;                                       \
                                                                                                   \
		return (bz_##t){BZ_SEL(f, wide, one, r) / d, -BZ_SEL(f, wide, r, one) / d};        \
	}

/* z / |z|; an infinite part alone gives that axis' unit, two give NaN. */
#define BZ_CSIGN(t, f, inf)                                                                        \
	BZ_FN bz_##t bz_sign_##t(bz_##t a)                                                         \
	{                                                                                          \
		bz_##f size = bz_hypot_##f(a.re, a.im), none = BZ_SPLAT(f, 0);                     \
		bz_k_##f ire = (bz_k_##f)(bz_abs_##f(a.re) == (inf));                              \
		bz_k_##f iim = (bz_k_##f)(bz_abs_##f(a.im) == (inf));                              \
		bz_k_##f nan = (bz_k_##f)(size != size) | (ire & iim);                             \
		bz_k_##f huge = (bz_k_##f)(size == (inf)), zero = (bz_k_##f)(size == 0);           \
		bz_##t far = {BZ_SEL(f, ire, bz_sign_##f(a.re), none),                             \
			      BZ_SEL(f, ire, none, bz_sign_##f(a.im))};                            \
		bz_##t r = {a.re / size, a.im / size}, o = {none, none};                           \
		bz_##f q = none / none;                                                            \
		bz_##t bad = {q, q};                                                               \
                                                                                                   \
		r = BZ_CSEL(t, f, huge, far, r);                                                   \
		r = BZ_CSEL(t, f, zero, o, r);                                                     \
		return BZ_CSEL(t, f, nan, bad, r);                                                 \
	}

typedef _Complex float bz_j_c64;
typedef _Complex double bz_j_c128;

/* A lane as C's own complex number and back; never by arithmetic, which would
 * turn an infinite part into NaN. */
#define BZ_CLANES(t, f)                                                                            \
	BZ_FN bz_j_##t bz_x_join_##t(bz_s_##f re, bz_s_##f im)                                     \
	{                                                                                          \
		union {                                                                            \
			bz_s_##f part[2];                                                          \
			bz_j_##t z;                                                                \
		} u = {{re, im}};                                                                  \
		return u.z;                                                                        \
	}
#define BZ_CLANES1(stem, t, f, expr)                                                               \
	BZ_FN bz_##t bz_##stem##_##t(bz_##t a)                                                     \
	{                                                                                          \
		union bz_l_##f re = {a.re}, im = {a.im};                                           \
		for (int i = 0; i < BZ_W; i++) {                                                   \
			bz_j_##t z = bz_x_join_##t(re.s[i], im.s[i]);                              \
			z = (expr);                                                                \
			re.s[i] = __real__ z;                                                      \
			im.s[i] = __imag__ z;                                                      \
		}                                                                                  \
		return (bz_##t){re.v, im.v};                                                       \
	}
#define BZ_X __real__ z
#define BZ_Y __imag__ z

/* Power by NumPy's rules: exponent 0 gives 1; base 0 gives 0 for an exponent
 * whose real part is positive and NaN else; small whole exponents multiply; the rest is cpow. */
#define BZ_CPOWER(t, f, sx)                                                                        \
	BZ_FN bz_j_##t bz_x_mul_##t(bz_j_##t a, bz_j_##t b)                                        \
	{                                                                                          \
		bz_s_##f ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;       \
		return bz_x_join_##t(ar * br - ai * bi, ar * bi + ai * br);                        \
	}                                                                                          \
	static __attribute__((unused, noinline)) bz_j_##t bz_x_pow_##t(bz_j_##t a, bz_j_##t b)     \
	{                                                                                          \
		bz_s_##f br = __real__ b, bi = __imag__ b, q = 0;                                  \
		bz_j_##t r = bz_x_join_##t(1, 0), p = a;                                           \
		int n, mask;                                                                       \
                                                                                                   \
		if (br == 0 && bi == 0)                                                            \
			return r;                                                                  \
		if (__real__ a == 0 && __imag__ a == 0)                                            \
			return br > 0 ? bz_x_join_##t(0, 0) : bz_x_join_##t(q / q, q / q);         \
		if (bi != 0 || !(br > -100 && br < 100) || br != (bz_s_##f)(int)br)                \
			return __builtin_cpow##sx(a, b);                                           \
		n = (int)br;                                                                       \
		if (n == 1)                                                                        \
			return a;                                                                  \
		if (n == 2)                                                                        \
			return bz_x_mul_##t(a, a);                                                 \
		if (n == 3)                                                                        \
			return bz_x_mul_##t(a, bz_x_mul_##t(a, a));                                \
		mask = n < 0 ? -n : n;                                                             \
		for (;; p = bz_x_mul_##t(p, p)) {                                                  \
			if (mask & 1)                                                              \
				r = bz_x_mul_##t(r, p);                                            \
			mask >>= 1;                                                                \
			if (!mask)                                                                 \
				break;                                                             \
		}                                                                                  \
		if (n < 0) {                                                                       \
			bz_s_##f x = __real__ r, y = __imag__ r, e, d;                             \
			int wide = (x < 0 ? -x : x) >= (y < 0 ? -y : y);                           \
			e = wide ? y / x : x / y;                                                  \
			d = 1 / (wide ? x + y * e : y + x * e);                                    \
			r = wide ? bz_x_join_##t(d, -e * d) : bz_x_join_##t(e * d, -d);            \
		}                                                                                  \
		return r;                                                                          \
	}                                                                                          \
	BZ_FN bz_##t bz_pow_##t(bz_##t a, bz_##t b)                                                \
	{                                                                                          \
		union bz_l_##f re = {a.re}, im = {a.im}, pr = {b.re}, pi = {b.im};                 \
		for (int i = 0; i < BZ_W; i++) {                                                   \
			bz_j_##t z = bz_x_pow_##t(bz_x_join_##t(re.s[i], im.s[i]),                 \
						  bz_x_join_##t(pr.s[i], pi.s[i]));                \
			re.s[i] = __real__ z;                                                      \
			im.s[i] = __imag__ z;                                                      \
		}                                                                                  \
		return (bz_##t){re.v, im.v};                                                       \
	}

#define BZ_CMATH(t, f, sx)                                                                         \
	BZ_CLANES1(sqrt, t, f, __builtin_csqrt##sx(z))                                             \
	BZ_CLANES1(exp, t, f, __builtin_cexp##sx(z))                                               \
	BZ_CLANES1(log, t, f, __builtin_clog##sx(z))                                               \
	BZ_CLANES1(sin, t, f, __builtin_csin##sx(z))                                               \
	BZ_CLANES1(cos, t, f, __builtin_ccos##sx(z))                                               \
	BZ_CLANES1(tan, t, f, __builtin_ctan##sx(z))                                               \
	BZ_CLANES1(asin, t, f, __builtin_casin##sx(z))                                             \
	BZ_CLANES1(acos, t, f, __builtin_cacos##sx(z))                                             \
	BZ_CLANES1(atan, t, f, __builtin_catan##sx(z))                                             \
	BZ_CLANES1(sinh, t, f, __builtin_csinh##sx(z))                                             \
	BZ_CLANES1(cosh, t, f, __builtin_ccosh##sx(z))                                             \
	BZ_CLANES1(tanh, t, f, __builtin_ctanh##sx(z))                                             \
	BZ_CLANES1(asinh, t, f, __builtin_casinh##sx(z))                                           \
	BZ_CLANES1(acosh, t, f, __builtin_cacosh##sx(z))                                           \
	BZ_CLANES1(atanh, t, f, __builtin_catanh##sx(z))                                           \
	BZ_CLANES1(exp2, t, f,                                                                     \
		   __builtin_cexp##sx(                                                             \
			   bz_x_join_##t(BZ_X *(bz_s_##f)0.693147180559945309417232121458,         \
					 BZ_Y *(bz_s_##f)0.693147180559945309417232121458)))       \
	BZ_CLANES1(expm1, t, f,                                                                    \
		   bz_x_join_##t(__builtin_expm1##sx(BZ_X) * __builtin_cos##sx(BZ_Y) -             \
					 2 * __builtin_sin##sx(BZ_Y / 2) *                         \
						 __builtin_sin##sx(BZ_Y / 2),                      \
				 __builtin_exp##sx(BZ_X) * __builtin_sin##sx(BZ_Y)))               \
	BZ_CLANES1(log1p, t, f,                                                                    \
		   bz_x_join_##t(__builtin_log##sx(__builtin_hypot##sx(BZ_X + 1, BZ_Y)),           \
				 __builtin_atan2##sx(BZ_Y, BZ_X + 1)))                             \
	BZ_FN bz_##t bz_log2_##t(bz_##t a)                                                         \
	{                                                                                          \
		const bz_s_##f k = (bz_s_##f)1.442695040888963407359924681002;                     \
		bz_##t r = bz_log_##t(a);                                                          \
		return (bz_##t){r.re * k, r.im * k};                                               \
	}                                                                                          \
	BZ_FN bz_##t bz_log10_##t(bz_##t a)                                                        \
	{                                                                                          \
		const bz_s_##f k = (bz_s_##f)0.434294481903251827651128918917;                     \
		bz_##t r = bz_log_##t(a);                                                          \
		return (bz_##t){r.re * k, r.im * k};                                               \
	}

#define BZ_COMPLEX(t, f, sx, inf)                                                                  \
	BZ_SAME(pos, t)                                                                            \
	BZ_CUNARY(neg, t, bz_neg_##f(a.re), bz_neg_##f(a.im))                                      \
	BZ_CUNARY(conj, t, a.re, bz_neg_##f(a.im))                                                 \
	BZ_CUNARY(rint, t, bz_rint_##f(a.re), bz_rint_##f(a.im))                                   \
	BZ_CUNARY(square, t, a.re *a.re - a.im * a.im, a.re * a.im + a.im * a.re)                  \
	BZ_CBINARY(add, t, a.re + b.re, a.im + b.im)                                               \
	BZ_CBINARY(sub, t, a.re - b.re, a.im - b.im)                                               \
	BZ_CBINARY(mul, t, a.re *b.re - a.im * b.im, a.re * b.im + a.im * b.re)                    \
	BZ_CCOMPARE(eq, t, (a.re == b.re) & (a.im == b.im))                                        \
	BZ_CCOMPARE(ne, t, (a.re != b.re) | (a.im != b.im))                                        \
	BZ_CCOMPARE(lt, t, BZ_CORDER(a, b, <, <))                                                  \
	BZ_CCOMPARE(le, t, BZ_CORDER(a, b, <, <=))                                                 \
	BZ_CCOMPARE(gt, t, BZ_CORDER(a, b, >, >))                                                  \
	BZ_CCOMPARE(ge, t, BZ_CORDER(a, b, >, >=))                                                 \
	BZ_CTEST(isnan, t, BZ_CNAN(a))                                                             \
	BZ_CTEST(isinf, t, (bz_abs_##f(a.re) == (inf)) | (bz_abs_##f(a.im) == (inf)))              \
	BZ_CTEST(isfinite, t, (bz_abs_##f(a.re) < (inf)) & (bz_abs_##f(a.im) < (inf)))             \
	BZ_FN bz_##f bz_abs_##t(bz_##t a)                                                          \
	{                                                                                          \
		return bz_hypot_##f(a.re, a.im);                                                   \
	}                                                                                          \
	BZ_FN bz_##f bz_real_##t(bz_##t a)                                                         \
	{                                                                                          \
		return a.re;                                                                       \
	}                                                                                          \
	BZ_FN bz_##f bz_imag_##t(bz_##t a)                                                         \
	{                                                                                          \
		return a.im;                                                                       \
	}                                                                                          \
	BZ_FN bz_##t bz_where_##t(bz_b1 c, bz_##t a, bz_##t b)                                     \
	{                                                                                          \
		bz_k_##f m = BZ_MASK(f, c);                                                        \
		return BZ_CSEL(t, f, m, a, b);                                                     \
	}                                                                                          \
	BZ_FN bz_##t bz_min_##t(bz_##t a, bz_##t b)                                                \
	{                                                                                          \
		bz_k_##f m = (bz_k_##f)(BZ_CNAN(a) | BZ_CORDER(a, b, <, <=));                      \
		return BZ_CSEL(t, f, m, a, b);                                                     \
	}                                                                                          \
	BZ_FN bz_##t bz_max_##t(bz_##t a, bz_##t b)                                                \
	{                                                                                          \
		bz_k_##f m = (bz_k_##f)(BZ_CNAN(a) | BZ_CORDER(a, b, >, >=));                      \
		return BZ_CSEL(t, f, m, a, b);                                                     \
	}                                                                                          \
	BZ_FN bz_##t bz_fmin_##t(bz_##t a, bz_##t b)                                               \
	{                                                                                          \
		bz_k_##f m = (bz_k_##f)(BZ_CNAN(b) | BZ_CORDER(a, b, <, <=));                      \
		return BZ_CSEL(t, f, m, a, b);                                                     \
	}                                                                                          \
	BZ_FN bz_##t bz_fmax_##t(bz_##t a, bz_##t b)                                               \
	{                                                                                          \
		bz_k_##f m = (bz_k_##f)(BZ_CNAN(b) | BZ_CORDER(a, b, >, >=));                      \
		return BZ_CSEL(t, f, m, a, b);                                                     \
	}                                                                                          \
	BZ_CLIP_FIRST(t)                                                                           \
	BZ_CDIVIDE(t, f)                                                                           \
	BZ_CSIGN(t, f, inf)                                                                        \
	BZ_CLANES(t, f)                                                                            \
	BZ_CPOWER(t, f, sx)                                                                        \
	BZ_CMATH(t, f, sx)
BZ_COMPLEX(c64, f32, f, __builtin_inff())
BZ_COMPLEX(c128, f64, , __builtin_inf())

#endif
#endif
