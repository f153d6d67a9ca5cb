/* SPDX-License-Identifier: Apache-2.0 */
/* loops/place_isa.c - the first extreme, numbers in a row, and numbers' parts, once per instruction
 * set.
 *
 * In:  PLACE_ISA, the name of the table to define.  A block's extreme is found without its place,
 * which is looked for where a block is better than all before it. */
#include "place.h"

#ifdef __AVX512F__
#include <immintrin.h>
#endif
#include <math.h>
#include <string.h>

#define ALWAYS	 static inline __attribute__((always_inline))
#define UNROLLED _Pragma("GCC unroll 4")
#define SIDE	 4   /* vectors at once */
#define BLOCK	 512 /* elements of which the extreme is known before its place */
/* Of a vector: what the processor compares in one step. */
#if defined(__AVX512F__)
#define BYTES 64
#elif defined(__AVX2__)
#define BYTES 32
#else
#define BYTES 16
#endif

#define VECTOR(T, I)                                                                               \
	typedef T vec_##T __attribute__((vector_size(BYTES)));                                     \
	typedef T mem_##T __attribute__((vector_size(BYTES), aligned(sizeof(T)), may_alias));      \
	typedef I mask_##T __attribute__((vector_size(BYTES)));
VECTOR(double, int64_t)
VECTOR(float, int32_t)
VECTOR(int64_t, int64_t)
VECTOR(int32_t, int32_t)
VECTOR(int16_t, int16_t)
VECTOR(int8_t, int8_t)
VECTOR(uint64_t, int64_t)
VECTOR(uint32_t, int32_t)
VECTOR(uint16_t, int16_t)
VECTOR(uint8_t, int8_t)

/* name, T, the relation of what is better, that of what is as good. */
#define PLACE(name, T, before, holds)                                                              \
	ALWAYS vec_##T better_##name##_##T(vec_##T x, vec_##T best)                                \
	{                                                                                          \
		mask_##T takes = (mask_##T)(x before best), old = (mask_##T)best;                  \
                                                                                                   \
		return (vec_##T)(old ^ (takes & (old ^ (mask_##T)x)));                             \
	}                                                                                          \
	/* The extreme of n elements, whole sides of vectors; *odd: one is a NaN. */               \
	ALWAYS T extreme_##name##_##T(const T *a, int64_t n, bool *odd)                            \
	{                                                                                          \
		enum { EACH = BYTES / (int)sizeof(T) };                                            \
		vec_##T best[SIDE], all;                                                           \
		mask_##T nans = {0};                                                               \
		T lane[EACH], one;                                                                 \
		long any = 0;                                                                      \
                                                                                                   \
		UNROLLED for (int k = 0; k < SIDE; k++) best[k] = *(const mem_##T *)a;             \
		for (int64_t i = 0; i < n; i += SIDE * EACH)                                       \
			UNROLLED for (int k = 0; k < SIDE; k++)                                    \
			{                                                                          \
				vec_##T x = *(const mem_##T *)(a + i + k * EACH);                  \
				nans |= (mask_##T)(x != x);                                        \
				best[k] = better_##name##_##T(x, best[k]);                         \
			}                                                                          \
		all = better_##name##_##T(better_##name##_##T(best[0], best[1]),                   \
					  better_##name##_##T(best[2], best[3]));                  \
		memcpy(lane, &all, sizeof(lane));                                                  \
		one = lane[0];                                                                     \
		for (int k = 0; k < EACH; k++) {                                                   \
			one = lane[k] before one ? lane[k] : one;                                  \
			any |= nans[k] != 0;                                                       \
		}                                                                                  \
		*odd = any;                                                                        \
		return one;                                                                        \
	}                                                                                          \
	/* The first of n elements behind *best that is better, and so on, or is a NaN. */         \
	ALWAYS int64_t first_##name##_##T(const T *a, int64_t n, T *best, int64_t place,           \
					  int64_t from)                                            \
	{                                                                                          \
		for (int64_t k = 0; k < n; k++)                                                    \
			if (!(*best holds a[k])) {                                                 \
				*best = a[k];                                                      \
				place = from + k;                                                  \
				if (a[k] != a[k])                                                  \
					break;                                                     \
			}                                                                          \
		return place;                                                                      \
	}                                                                                          \
	static int64_t name##_##T(const void *at, int64_t n)                                       \
	{                                                                                          \
		enum { ROW = SIDE * BYTES / (int)sizeof(T) };                                      \
		const T *a = at;                                                                   \
		int64_t place = 0, i = 0, found = -1;                                              \
		T best = a[0];                                                                     \
                                                                                                   \
		if (best != best)                                                                  \
			return 0;                                                                  \
		for (int64_t take; n - i >= ROW; i += take) {                                      \
			bool odd;                                                                  \
			take = n - i < BLOCK ? (n - i) / ROW * ROW : BLOCK;                        \
			T one = extreme_##name##_##T(a + i, take, &odd);                           \
                                                                                                   \
			if (odd)                                                                   \
				break;                                                             \
			if (one before best) {                                                     \
				best = one;                                                        \
				found = i;                                                         \
			}                                                                          \
		}                                                                                  \
		if (found >= 0)                                                                    \
			for (place = found; a[place] != best;)                                     \
				place++;                                                           \
		return first_##name##_##T(a + i, n - i, &best, place, i);                          \
	}
#define EACH_TYPE(F)                                                                               \
	F(INT8, int8_t)                                                                            \
	F(INT16, int16_t)                                                                          \
	F(INT32, int32_t)                                                                          \
	F(INT64, int64_t)                                                                          \
	F(UINT8, uint8_t)                                                                          \
	F(UINT16, uint16_t)                                                                        \
	F(UINT32, uint32_t)                                                                        \
	F(UINT64, uint64_t)                                                                        \
	F(FLOAT32, float)                                                                          \
	F(FLOAT64, double)
#define BOTH(d, T)                                                                                 \
	PLACE(least, T, <, <=)                                                                     \
	PLACE(largest, T, >, >=)
EACH_TYPE(BOTH)

/* Truth is any byte but 0. */
static int64_t least_bool(const void *at, int64_t n)
{
	const char *found = memchr(at, 0, (size_t)n);

	return found ? found - (const char *)at : 0;
}

static int64_t largest_bool(const void *at, int64_t n)
{
	const char *a = at;
	int64_t k = 0;

	for (mem_int64_t x; n - k >= BYTES; k += BYTES) {
		int64_t some = 0;

		memcpy(&x, a + k, BYTES);
		for (int lane = 0; lane < BYTES / 8; lane++)
			some |= x[lane];
		if (some)
			break;
	}
	for (; k < n; k++)
		if (a[k])
			return k;
	return 0;
}

static void count_int64(void *to, const void *first, const void *step, int32_t n)
{
	uint64_t *restrict d = to, from, by;

	memcpy(&from, first, sizeof(from));
	memcpy(&by, step, sizeof(by));
	for (int32_t k = 0; k < n; k++)
		d[k] = from + (uint64_t)k * by;
}

static void count_float64(void *to, const void *first, const void *step, int32_t n)
{
	double *restrict d = to, from, by;

	memcpy(&from, first, sizeof(from));
	memcpy(&by, step, sizeof(by));
	for (int32_t k = 0; k < n; k++)
		d[k] = from + (double)k * by;
}

/* Subnormal numbers are made greater by 2^up before; 0, infinities and NaNs stay as they are, with
 * exponent 0. */
#define PARTS(T, U, I, shift, field, half, tiny, up)                                               \
	static void parts_##T(void *mantissa, int32_t *restrict exponent, const void *at,          \
			      int64_t n)                                                           \
	{                                                                                          \
		const T *restrict x = at;                                                          \
		T *restrict m = mantissa;                                                          \
                                                                                                   \
		for (int64_t k = 0; k < n; k++) {                                                  \
			union {                                                                    \
				T x;                                                               \
				U bits;                                                            \
			} given = {x[k]}, normal = given;                                          \
			const T size = given.x < 0 ? -given.x : given.x;                           \
			const I small = size < (tiny), plain = (size > 0) & (size < (T)INFINITY);  \
                                                                                                   \
			normal.x = small ? given.x * (T)((U)1 << (up)) : given.x;                  \
			I power = (I)(normal.bits >> (shift) & (field)) - (half);                  \
			power = plain ? power - (small ? (up) : 0) : 0;                            \
			normal.bits &= ~((U)(field) << (shift));                                   \
			normal.bits |= (U)(half) << (shift);                                       \
			m[k] = plain ? normal.x : given.x;                                         \
			exponent[k] = (int32_t)power;                                              \
		}                                                                                  \
	}
#ifdef __AVX512F__
/* By the instructions for either. */
static void parts_double(void *mantissa, int32_t *exponent, const void *at, int64_t n)
{
	const __m512d one = _mm512_set1_pd(1);
	const double *x = at;
	double *m = mantissa;

	for (int64_t k = 0; k < n; k += 8) {
		const __mmask8 some = (__mmask8)(n - k < 8 ? (1 << (n - k)) - 1 : 0xff);
		const __m512d v = _mm512_maskz_loadu_pd(some, x + k);
		const __mmask8 odd = _mm512_fpclass_pd_mask(v, 0x9f), plain = (__mmask8)~odd;
		const __m512d power = _mm512_add_pd(_mm512_mask_getexp_pd(-one, plain, v), one);

		_mm512_mask_storeu_pd(
			m + k, some,
			_mm512_mask_getmant_pd(v, plain, v, _MM_MANT_NORM_p5_1, _MM_MANT_SIGN_src));
		_mm256_mask_storeu_epi32(exponent + k, some, _mm512_cvttpd_epi32(power));
	}
}
#else
PARTS(double, uint64_t, int64_t, 52, 0x7ff, 1022, 0x1p-1022, 54)
#endif
PARTS(float, uint32_t, int32_t, 23, 0xff, 126, 0x1p-126f, 30)

#define LEAST(d, T)   [DT_##d] = least_##T,
#define LARGEST(d, T) [DT_##d] = largest_##T,
const struct place_isa PLACE_ISA = {
	.least = {EACH_TYPE(LEAST)[DT_BOOL] = least_bool},
	.largest = {EACH_TYPE(LARGEST)[DT_BOOL] = largest_bool},
	.count = {[DT_INT64] = count_int64, [DT_FLOAT64] = count_float64},
	.parts = {[DT_FLOAT32] = parts_float, [DT_FLOAT64] = parts_double}};
