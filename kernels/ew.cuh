/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ew.cuh - the elementwise operations, after pre.cuh.
 *
 * ew.h's rules for one element; complex types go on to cx.cuh.  Real functions of
 * CUDA's library are within 4 ulp of the CPU's. */

template <class T> BZ_FN T bz_complex_add(T a, T b);
template <class T> BZ_FN T bz_complex_sub(T a, T b);
template <class T> BZ_FN T bz_complex_mul(T a, T b);
template <class T> BZ_FN T bz_complex_div(T a, T b);
template <class T> BZ_FN T bz_complex_recip(T a);
template <class T> BZ_FN T bz_complex_sign(T a);
template <class T> BZ_FN T bz_complex_pow(T a, T b);
template <bool EQUAL, class T> BZ_FN bool bz_complex_less(T a, T b);
template <class T> BZ_FN bool bz_complex_isnan(T a);

/* ---- CUDA's library, by type ----------------------------------------------------- */

#define BZ_LIBRARY1(name)                                                                          \
	BZ_FN bz_f32 bz_m_##name(bz_f32 x)                                                         \
	{                                                                                          \
		return name##f(x);                                                                 \
	}                                                                                          \
	BZ_FN bz_f64 bz_m_##name(bz_f64 x)                                                         \
	{                                                                                          \
		return name(x);                                                                    \
	}
#define BZ_LIBRARY2(name)                                                                          \
	BZ_FN bz_f32 bz_m_##name(bz_f32 x, bz_f32 y)                                               \
	{                                                                                          \
		return name##f(x, y);                                                              \
	}                                                                                          \
	BZ_FN bz_f64 bz_m_##name(bz_f64 x, bz_f64 y)                                               \
	{                                                                                          \
		return name(x, y);                                                                 \
	}
BZ_LIBRARY1(sqrt)
BZ_LIBRARY1(cbrt)
BZ_LIBRARY1(exp)
BZ_LIBRARY1(expm1)
BZ_LIBRARY1(exp2)
BZ_LIBRARY1(log)
BZ_LIBRARY1(log2)
BZ_LIBRARY1(log10)
BZ_LIBRARY1(log1p)
BZ_LIBRARY1(sin)
BZ_LIBRARY1(cos)
BZ_LIBRARY1(tan)
BZ_LIBRARY1(asin)
BZ_LIBRARY1(acos)
BZ_LIBRARY1(atan)
BZ_LIBRARY1(sinh)
BZ_LIBRARY1(cosh)
BZ_LIBRARY1(tanh)
BZ_LIBRARY1(asinh)
BZ_LIBRARY1(acosh)
BZ_LIBRARY1(atanh)
BZ_LIBRARY1(floor)
BZ_LIBRARY1(ceil)
BZ_LIBRARY1(trunc)
BZ_LIBRARY1(rint)
BZ_LIBRARY1(fabs)
BZ_LIBRARY2(fmod)
BZ_LIBRARY2(pow)
BZ_LIBRARY2(atan2)
BZ_LIBRARY2(copysign)
BZ_LIBRARY2(nextafter)

/* CUDA's own may round up to infinity when one operand is next to the greatest number. */
BZ_FN bz_f32 bz_m_hypot(bz_f32 x, bz_f32 y)
{
	const bz_f32 size = hypotf(x, y), most = fmaxf(fabsf(x), fabsf(y));

	return isinf(size) && fminf(fabsf(x), fabsf(y)) <= most * 0x1p-13f ? most : size;
}
BZ_FN bz_f64 bz_m_hypot(bz_f64 x, bz_f64 y)
{
	const bz_f64 size = hypot(x, y), most = fmax(fabs(x), fabs(y));

	return isinf(size) && fmin(fabs(x), fabs(y)) <= most * 0x1p-27 ? most : size;
}

template <class F> BZ_FN F bz_infinity()
{
	return (F)__longlong_as_double(0x7ff0000000000000ll);
}
template <class F> BZ_FN F bz_nan()
{
	return (F)__longlong_as_double(0x7ff8000000000000ll);
}
BZ_FN bool bz_negative(bz_f32 x)
{
	return __float_as_int(x) < 0;
}
BZ_FN bool bz_negative(bz_f64 x)
{
	return __double_as_longlong(x) < 0;
}

/* ---- tests, choice ---------------------------------------------------------------- */

template <class T> BZ_FN bool bz_eq(T a, T b)
{
	if constexpr (bz_type<T>::is_complex)
		return a.re == b.re && a.im == b.im;
	else
		return a == b;
}
template <class T> BZ_FN bool bz_ne(T a, T b)
{
	return !bz_eq<T>(a, b);
}
template <class T> BZ_FN bool bz_lt(T a, T b)
{
	if constexpr (bz_type<T>::is_complex)
		return bz_complex_less<false>(a, b);
	else
		return a < b;
}
template <class T> BZ_FN bool bz_le(T a, T b)
{
	if constexpr (bz_type<T>::is_complex)
		return bz_complex_less<true>(a, b);
	else
		return a <= b;
}
template <class T> BZ_FN bool bz_gt(T a, T b)
{
	return bz_lt<T>(b, a);
}
template <class T> BZ_FN bool bz_ge(T a, T b)
{
	return bz_le<T>(b, a);
}
template <class T> BZ_FN T bz_where(bz_b1 c, T a, T b)
{
	return c ? a : b;
}
template <class T> BZ_FN bool bz_isnan(T a)
{
	if constexpr (bz_type<T>::is_complex)
		return bz_complex_isnan(a);
	else if constexpr (bz_type<T>::is_float)
		return a != a;
	else
		return false;
}
template <class T> BZ_FN bool bz_isinf(T a)
{
	if constexpr (bz_type<T>::is_complex)
		return bz_isinf(a.re) || bz_isinf(a.im);
	else if constexpr (bz_type<T>::is_float)
		return bz_m_fabs(a) == bz_infinity<T>();
	else
		return false;
}
template <class T> BZ_FN bool bz_isfinite(T a)
{
	if constexpr (bz_type<T>::is_complex)
		return bz_isfinite(a.re) && bz_isfinite(a.im);
	else if constexpr (bz_type<T>::is_float)
		return bz_m_fabs(a) < bz_infinity<T>();
	else
		return true;
}
template <class T> BZ_FN bool bz_signbit(T a)
{
	if constexpr (bz_type<T>::is_float)
		return bz_negative(a);
	else
		return a < 0;
}

/* ---- arithmetic --------------------------------------------------------------------- */

/* Integer sums wrap, so they are taken on unsigned bits. */
template <class T> BZ_FN T bz_add(T a, T b)
{
	typedef typename bz_type<T>::wide W;

	if constexpr (bz_type<T>::is_complex)
		return bz_complex_add(a, b);
	else if constexpr (bz_type<T>::is_integer)
		return (T)((W)a + (W)b);
	else if constexpr (bz_type<T>::is_bool)
		return a || b;
	else
		return a + b;
}
template <class T> BZ_FN T bz_sub(T a, T b)
{
	typedef typename bz_type<T>::wide W;

	if constexpr (bz_type<T>::is_complex)
		return bz_complex_sub(a, b);
	else if constexpr (bz_type<T>::is_integer)
		return (T)((W)a - (W)b);
	else
		return a - b;
}
template <class T> BZ_FN T bz_mul(T a, T b)
{
	typedef typename bz_type<T>::wide W;

	if constexpr (bz_type<T>::is_complex)
		return bz_complex_mul(a, b);
	else if constexpr (bz_type<T>::is_integer)
		return (T)((W)a * (W)b);
	else if constexpr (bz_type<T>::is_bool)
		return a && b;
	else
		return a * b;
}
template <class T> BZ_FN T bz_div(T a, T b)
{
	if constexpr (bz_type<T>::is_complex)
		return bz_complex_div(a, b);
	else
		return a / b;
}
template <class T> BZ_FN T bz_neg(T a)
{
	typedef typename bz_type<T>::wide W;

	if constexpr (bz_type<T>::is_complex)
		return {-a.re, -a.im};
	else if constexpr (bz_type<T>::is_integer)
		return (T)(0 - (W)a);
	else
		return -a;
}
template <class T> BZ_FN T bz_pos(T a)
{
	return a;
}
template <class T> BZ_FN T bz_square(T a)
{
	return bz_mul<T>(a, a);
}
/* NumPy takes 1.0 / x back to the integer: 0 but for 1 and -1; 1 / 0 becomes what
 * cvtt makes of infinity, INT_MIN, cut to the type. */
template <class T> BZ_FN T bz_recip(T a)
{
	if constexpr (bz_type<T>::is_complex)
		return bz_complex_recip(a);
	else if constexpr (bz_type<T>::is_float)
		return 1 / a;
	else if (a == 0)
		return bz_type<T>::is_signed && sizeof(T) >= 4 ? (T)(1ull << (8 * sizeof(T) - 1)) : (T)0;
	else
		return a == 1 || (bz_type<T>::is_signed && a == (T)-1) ? a : (T)0;
}
template <class T> BZ_FN auto bz_abs(T a)
{
	if constexpr (bz_type<T>::is_complex)
		return bz_m_hypot(a.re, a.im);
	else if constexpr (bz_type<T>::is_float)
		return bz_m_fabs(a);
	else if constexpr (bz_type<T>::is_signed)
		return a < 0 ? bz_neg<T>(a) : a;
	else
		return a;
}
/* sign of 0 is +0, of NaN the NaN. */
template <class T> BZ_FN T bz_sign(T a)
{
	if constexpr (bz_type<T>::is_complex)
		return bz_complex_sign(a);
	else if constexpr (bz_type<T>::is_float)
		return a != a ? a : (T)((a > 0) - (a < 0));
	else
		return (T)((a > 0) - (a < 0));
}
template <class T> BZ_FN auto bz_real(T a)
{
	if constexpr (bz_type<T>::is_complex)
		return a.re;
	else
		return a;
}
template <class T> BZ_FN auto bz_imag(T a)
{
	if constexpr (bz_type<T>::is_complex)
		return a.im;
	else
		return (T)0;
}
template <class T> BZ_FN T bz_conj(T a)
{
	if constexpr (bz_type<T>::is_complex)
		return {a.re, -a.im};
	else
		return a;
}
template <class T> BZ_FN T bz_copysign(T a, T b)
{
	return bz_m_copysign(a, b);
}
template <class T> BZ_FN T bz_nextafter(T a, T b)
{
	return bz_m_nextafter(a, b);
}
template <class T> BZ_FN T bz_heaviside(T a, T b)
{
	return a != a ? bz_abs(a) : a == 0 ? b : (T)(a > 0);
}

/* modf's fraction, with its number's sign, and 0 of infinities; frexp's mantissa, and its
 * exponent as a number of the same type.  Subnormal numbers are made greater before. */
template <class T> BZ_FN T bz_frac(T a)
{
	return bz_m_copysign(bz_isinf(a) ? (T)0 : a - bz_m_trunc(a), a);
}
BZ_FN int bz_m_split(bz_f32 &a)
{
	const bool tiny = bz_m_fabs(a) < 0x1p-126f;
	const int bits = __float_as_int(tiny ? a * 0x1p30f : a);

	a = __int_as_float((bits & (int)0x807fffff) | 0x3f000000);
	return (bits >> 23 & 0xff) - (tiny ? 156 : 126);
}
BZ_FN int bz_m_split(bz_f64 &a)
{
	const bool tiny = bz_m_fabs(a) < 0x1p-1022;
	const long long bits = __double_as_longlong(tiny ? a * 0x1p54 : a);

	a = __longlong_as_double((bits & (long long)0x800fffffffffffff) | 0x3fe0000000000000);
	return (int)(bits >> 52 & 0x7ff) - (tiny ? 1076 : 1022);
}
template <class T> BZ_FN T bz_mant(T a)
{
	if (a != 0 && bz_isfinite(a))
		bz_m_split(a);
	return a;
}
template <class T> BZ_FN T bz_expo(T a)
{
	return a != 0 && bz_isfinite(a) ? (T)bz_m_split(a) : (T)0;
}

/* Of two that are equal, as zeros are, the second is taken; of complex ones the first. */
template <class T> BZ_FN bool bz_below(T a, T b)
{
	return bz_type<T>::is_complex ? bz_le<T>(a, b) : bz_lt<T>(a, b);
}
template <class T> BZ_FN bool bz_above(T a, T b)
{
	return bz_type<T>::is_complex ? bz_ge<T>(a, b) : bz_gt<T>(a, b);
}
/* minimum and maximum pass a NaN on, fmin and fmax pass it by. */
template <class T> BZ_FN T bz_min(T a, T b)
{
	return bz_isnan(a) || bz_below<T>(a, b) ? a : b;
}
template <class T> BZ_FN T bz_max(T a, T b)
{
	return bz_isnan(a) || bz_above<T>(a, b) ? a : b;
}
template <class T> BZ_FN T bz_fmin(T a, T b)
{
	return bz_isnan(b) || bz_below<T>(a, b) ? a : b;
}
template <class T> BZ_FN T bz_fmax(T a, T b)
{
	return bz_isnan(b) || bz_above<T>(a, b) ? a : b;
}
/* An x that is equal to a bound stays as it is, its zero's sign too. */
template <class T> BZ_FN T bz_clip(T x, T lo, T hi)
{
	return bz_type<T>::is_complex ? bz_min<T>(bz_max<T>(x, lo), hi)
				      : bz_min<T>(hi, bz_max<T>(lo, x));
}

/* ---- division with remainder --------------------------------------------------------- */

/* Towards 0; nothing for divisor 0; INT_MIN / -1 is INT_MIN. */
template <class T> BZ_FN T bz_quotient(T a, T b)
{
	if (b == 0)
		return 0;
	if (bz_type<T>::is_signed && b == (T)-1)
		return bz_neg<T>(a);
	return (T)(a / b);
}
template <class T> BZ_FN T bz_fmod(T a, T b)
{
	if constexpr (bz_type<T>::is_float)
		return bz_m_fmod(a, b);
	else
		return b == 0 ? (T)0 : bz_sub<T>(a, bz_mul<T>(bz_quotient<T>(a, b), b));
}
/* A quotient rounds towards minus infinity, a remainder has the divisor's sign.  The
 * steps for floats are those of CPython's float_divmod. */
template <class T> BZ_FN T bz_rem(T a, T b)
{
	const T m = bz_fmod<T>(a, b);

	if constexpr (bz_type<T>::is_float) {
		if (b == 0)
			return m;
		if (m == 0)
			return bz_m_copysign((T)0, b);
		return (b < 0) != (m < 0) ? m + b : m;
	} else {
		return m != 0 && (T)(m ^ b) < 0 ? bz_add<T>(m, b) : m;
	}
}
template <class T> BZ_FN T bz_fdiv(T a, T b)
{
	if constexpr (bz_type<T>::is_float) {
		T m, d, f;

		if (b == 0)
			return a / b;
		m = bz_m_fmod(a, b);
		d = (a - m) / b;
		if (m != 0 && (b < 0) != (m < 0))
			d -= 1;
		if (d == 0)
			return bz_m_copysign((T)0, a / b);
		f = bz_m_floor(d);
		return d - f > (T)0.5 ? f + 1 : f;
	} else {
		const T m = bz_fmod<T>(a, b), q = bz_quotient<T>(a, b);

		return m != 0 && (T)(m ^ b) < 0 ? bz_sub<T>(q, (T)1) : q;
	}
}

/* ---- bits ------------------------------------------------------------------------------ */

template <class T> BZ_FN T bz_and(T a, T b)
{
	return (T)(a & b);
}
template <class T> BZ_FN T bz_or(T a, T b)
{
	return (T)(a | b);
}
template <class T> BZ_FN T bz_xor(T a, T b)
{
	return (T)(a ^ b);
}
template <class T> BZ_FN T bz_inv(T a)
{
	if constexpr (bz_type<T>::is_bool)
		return !a;
	else
		return (T)~a;
}
template <class T> BZ_FN T bz_land(T a, T b)
{
	return a && b;
}
template <class T> BZ_FN T bz_lor(T a, T b)
{
	return a || b;
}
template <class T> BZ_FN T bz_lxor(T a, T b)
{
	return a != b;
}
template <class T> BZ_FN T bz_lnot(T a)
{
	return !a;
}
/* A shift by the width or more, or by a negative count, shifts everything out. */
template <class T> BZ_FN T bz_shl(T a, T b)
{
	typedef typename bz_type<T>::wide W;
	return b >= 0 && b < (T)(8 * sizeof(T)) ? (T)((W)a << (int)b) : (T)0;
}
template <class T> BZ_FN T bz_shr(T a, T b)
{
	return b >= 0 && b < (T)(8 * sizeof(T)) ? (T)(a >> (int)b) : (T)(a < 0 ? -1 : 0);
}

/* ---- functions -------------------------------------------------------------------------- */

#define BZ_ROUND(stem)                                                                             \
	template <class T> BZ_FN T bz_##stem(T a)                                                  \
	{                                                                                          \
		if constexpr (bz_type<T>::is_complex)                                                    \
			return {bz_m_##stem(a.re), bz_m_##stem(a.im)};                             \
		else if constexpr (bz_type<T>::is_float)                                                 \
			return bz_m_##stem(a);                                                     \
		else                                                                               \
			return a;                                                                  \
	}
BZ_ROUND(floor)
BZ_ROUND(ceil)
BZ_ROUND(trunc)
BZ_ROUND(rint)

#define BZ_MATH1(stem)                                                                             \
	template <class T> BZ_FN T bz_complex_##stem(T a);                                         \
	template <class T> BZ_FN T bz_##stem(T a)                                                  \
	{                                                                                          \
		if constexpr (bz_type<T>::is_complex)                                                    \
			return bz_complex_##stem(a);                                               \
		else                                                                               \
			return bz_m_##stem(a);                                                     \
	}
BZ_MATH1(sqrt)
BZ_MATH1(exp)
BZ_MATH1(expm1)
BZ_MATH1(exp2)
BZ_MATH1(log)
BZ_MATH1(log2)
BZ_MATH1(log10)
BZ_MATH1(log1p)
BZ_MATH1(sin)
BZ_MATH1(cos)
BZ_MATH1(tan)
BZ_MATH1(asin)
BZ_MATH1(acos)
BZ_MATH1(atan)
BZ_MATH1(sinh)
BZ_MATH1(cosh)
BZ_MATH1(tanh)
BZ_MATH1(asinh)
BZ_MATH1(acosh)
BZ_MATH1(atanh)
template <class T> BZ_FN T bz_cbrt(T a)
{
	return bz_m_cbrt(a);
}
template <class T> BZ_FN T bz_atan2(T a, T b)
{
	return bz_m_atan2(a, b);
}
template <class T> BZ_FN T bz_hypot(T a, T b)
{
	return bz_m_hypot(a, b);
}

/* Floats raised to 3 are multiplied, as everywhere.  Integers by squaring, modulo the width.  A
 * negative exponent, which the client refuses, gives the quotient of 1 by the power, and 0 for
 * base 0. */
template <class T> BZ_FN T bz_pow(T a, T b)
{
	if constexpr (bz_type<T>::is_complex) {
		return bz_complex_pow(a, b);
	} else if constexpr (bz_type<T>::is_float) {
		return b == 3 ? a * a * a : bz_m_pow(a, b);
	} else {
		bz_u64 base = (bz_u64)a, result = 1;

		if (bz_type<T>::is_signed && b < 0)
			return a == 1 || (a == (T)-1 && !(b & 1)) ? (T)1 : (T)(a == (T)-1 ? -1 : 0);
		for (bz_u64 e = (bz_u64)b; e; e >>= 1) {
			if (e & 1)
				result *= base;
			base *= base;
		}
		return (T)result;
	}
}

template <class T> BZ_FN T bz_radians(T a)
{
	return a * ((T)3.141592653589793238462643383279502884 / 180);
}
template <class T> BZ_FN T bz_degrees(T a)
{
	return a * (180 / (T)3.141592653589793238462643383279502884);
}
/* The greater plus log1p(exp(-distance)); equal operands, infinities among them, add
 * log 2; a NaN comes through the difference. */
template <class T> BZ_FN T bz_logaddexp(T a, T b)
{
	const T d = a - b;

	if (a == b)
		return a + (T)0.693147180559945309417232121458176568;
	if (d != d)
		return d;
	return (a > b ? a : b) + bz_m_log1p(bz_m_exp(-bz_m_fabs(d)));
}
