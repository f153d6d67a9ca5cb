/* SPDX-License-Identifier: Apache-2.0 */
/* loops/product_isa.c - the inner loops of products, once per instruction set.
 *
 * Sums stay in registers along the inner axis: four rows by two vectors of them, or six where
 * an addition comes with its multiplication.  The order of additions is product.h's: no loop here
 * changes it. */
#include <immintrin.h>
#include <string.h>

#include "product_strip.h"

#pragma GCC diagnostic ignored "-Wpsabi"
#define ALWAYS	 static inline __attribute__((always_inline))
#define UNROLLED _Pragma("GCC unroll 16")

#if defined(__AVX512F__)
#define WIDE 64
#define HALF 32
#elif defined(__AVX2__)
#define WIDE 32
#define HALF 16
#else
#define WIDE 16
#define HALF 16
#endif

/* ---- Types ---- */

#define VECTOR(t, T, B)                                                                            \
	typedef T vec_##t##_##B __attribute__((vector_size(B)));                                   \
	typedef vec_##t##_##B mem_##t##_##B __attribute__((aligned(1), may_alias));                \
	typedef T one_##t##_##B __attribute__((aligned(1), may_alias));

/* Sums whose products are not rounded, where the processor has them. */
#if defined(__FMA__)
#define FMA_f32_64(x, y, s) _mm512_fmadd_ps(x, y, s)
#define FMA_f64_64(x, y, s) _mm512_fmadd_pd(x, y, s)
#define FMA_f32_32(x, y, s) _mm256_fmadd_ps(x, y, s)
#define FMA_f64_32(x, y, s) _mm256_fmadd_pd(x, y, s)
#define FMA_f32_16(x, y, s) _mm_fmadd_ps(x, y, s)
#define FMA_f64_16(x, y, s) _mm_fmadd_pd(x, y, s)
#define FUSED(t, B)                                                                                \
	enum { FUSES_##t##_##B = 1 };                                                              \
	ALWAYS vec_##t##_##B fused_##t##_##B(vec_##t##_##B sum, all_##t##_##B x, vec_##t##_##B y)  \
	{                                                                                          \
		return (vec_##t##_##B)FMA_##t##_##B(x, y, sum);                                    \
	}
#else
#define FUSED(t, B) UNFUSED(t, B, vec)
#endif
#define UNFUSED(t, B, many)                                                                        \
	enum { FUSES_##t##_##B = 0 };                                                              \
	ALWAYS vec_##t##_##B fused_##t##_##B(vec_##t##_##B sum, all_##t##_##B x,                   \
					     many##_##t##_##B y)                                   \
	{                                                                                          \
		return more_##t##_##B(sum, x, y);                                                  \
	}

#define LANES_AS_THEY_LIE(t, T, B)                                                                 \
	typedef vec_##t##_##B all_##t##_##B;                                                       \
	typedef vec_##t##_##B many_##t##_##B;                                                      \
	ALWAYS many_##t##_##B side_##t##_##B(vec_##t##_##B v)                                      \
	{                                                                                          \
		return v;                                                                          \
	}

/* A vector with an element in each lane.  x - 0 is x, of -0 too. */
#define LANES_NUMBERS(t, T, B)                                                                     \
	LANES_AS_THEY_LIE(t, T, B)                                                                 \
	ALWAYS all_##t##_##B repeat_##t##_##B(const char *p)                                       \
	{                                                                                          \
		return *(const one_##t##_##B *)p - (vec_##t##_##B){0};                             \
	}                                                                                          \
	ALWAYS vec_##t##_##B more_##t##_##B(vec_##t##_##B sum, all_##t##_##B x, vec_##t##_##B y)   \
	{                                                                                          \
		return sum + x * y;                                                                \
	}
#define LANES_REAL(t, T, B)  LANES_NUMBERS(t, T, B) FUSED(t, B)
#define LANES_WHOLE(t, T, B) LANES_NUMBERS(t, T, B) UNFUSED(t, B, vec)

/* A client can scribble on its arena: a stored bool is any byte. */
#define LANES_BOOL(t, T, B)                                                                        \
	LANES_AS_THEY_LIE(t, T, B)                                                                 \
	ALWAYS all_##t##_##B repeat_##t##_##B(const char *p)                                       \
	{                                                                                          \
		return (T)(*p != 0) - (vec_##t##_##B){0};                                          \
	}                                                                                          \
	ALWAYS vec_##t##_##B more_##t##_##B(vec_##t##_##B sum, all_##t##_##B x, vec_##t##_##B y)   \
	{                                                                                          \
		return sum | (x & (vec_##t##_##B)(y != 0));                                        \
	}                                                                                          \
	UNFUSED(t, B, vec)

/* Real and imaginary parts alternate: re * y, and im * y's parts exchanged, the imaginary
 * one negated.  x - y is x + (-y), so each part is what it would be by itself. */
#define LANES_COMPLEX(t, T, B)                                                                     \
	typedef struct {                                                                           \
		vec_##t##_##B re, im;                                                              \
	} all_##t##_##B;                                                                           \
	typedef struct {                                                                           \
		vec_##t##_##B v, other;                                                            \
	} many_##t##_##B;                                                                          \
	ALWAYS all_##t##_##B repeat_##t##_##B(const char *p)                                       \
	{                                                                                          \
		const one_##t##_##B *part = (const one_##t##_##B *)p;                              \
                                                                                                   \
		return (all_##t##_##B){part[0] - (vec_##t##_##B){0},                               \
				       part[1] - (vec_##t##_##B){0}};                              \
	}                                                                                          \
	ALWAYS many_##t##_##B side_##t##_##B(vec_##t##_##B v)                                      \
	{                                                                                          \
		const vec_##t##_##B sign = SIGN_##t##_##B;                                         \
                                                                                                   \
		return (many_##t##_##B){v, EXCHANGE_##t##_##B(v) * sign};                          \
	}                                                                                          \
	ALWAYS vec_##t##_##B more_##t##_##B(vec_##t##_##B sum, all_##t##_##B x, many_##t##_##B y)  \
	{                                                                                          \
		return sum + (x.re * y.v + x.im * y.other);                                        \
	}                                                                                          \
	UNFUSED(t, B, many)

#define SIGN2 -1, 1
#define SIGN4 SIGN2, SIGN2
#define SIGN8 SIGN4, SIGN4
#define SIGN_c64_16                                                                                \
	{                                                                                          \
		SIGN4                                                                              \
	}
#define SIGN_c64_32                                                                                \
	{                                                                                          \
		SIGN8                                                                              \
	}
#define SIGN_c64_64                                                                                \
	{                                                                                          \
		SIGN8, SIGN8                                                                       \
	}
#define SIGN_c128_16                                                                               \
	{                                                                                          \
		SIGN2                                                                              \
	}
#define SIGN_c128_32                                                                               \
	{                                                                                          \
		SIGN4                                                                              \
	}
#define SIGN_c128_64                                                                               \
	{                                                                                          \
		SIGN8                                                                              \
	}
#define EXCHANGE2(v) __builtin_shufflevector(v, v, 1, 0)
#define EXCHANGE4(v) __builtin_shufflevector(v, v, 1, 0, 3, 2)
#define EXCHANGE8(v) __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6)
#define EXCHANGE16(v)                                                                              \
	__builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)
#define EXCHANGE_c64_16(v)  EXCHANGE4(v)
#define EXCHANGE_c64_32(v)  EXCHANGE8(v)
#define EXCHANGE_c64_64(v)  EXCHANGE16(v)
#define EXCHANGE_c128_16(v) EXCHANGE2(v)
#define EXCHANGE_c128_32(v) EXCHANGE4(v)
#define EXCHANGE_c128_64(v) EXCHANGE8(v)

/* ---- The last vector of a row ---- */

/* Its first `bytes`, and zeros: nothing beyond them is read, or written. */
#if defined(__AVX512BW__)
#define MASKED(size)	 1
#define PART_64(p, m)	 ((__m512i)_mm512_maskz_loadu_epi8((m), (p)))
#define PART_32(p, m)	 ((__m256i)_mm256_maskz_loadu_epi8((__mmask32)(m), (p)))
#define KEEP_64(p, m, v) _mm512_mask_storeu_epi8((p), (m), (__m512i)(v))
#define KEEP_32(p, m, v) _mm256_mask_storeu_epi8((p), (__mmask32)(m), (__m256i)(v))
typedef uint64_t mask_64, mask_32;
ALWAYS uint64_t mask_of_64(int bytes)
{
	return UINT64_MAX >> (64 - bytes);
}
#define mask_of_32 mask_of_64
#elif defined(__AVX2__)
#define MASKED(size)	 ((size) >= 4)
#define PART_32(p, m)	 ((__m256i)_mm256_maskload_epi32((const int *)(p), (m)))
#define PART_16(p, m)	 ((__m128i)_mm_maskload_epi32((const int *)(p), (m)))
#define KEEP_32(p, m, v) _mm256_maskstore_epi32((int *)(p), (m), (__m256i)(v))
#define KEEP_16(p, m, v) _mm_maskstore_epi32((int *)(p), (m), (__m128i)(v))
typedef __m256i mask_32;
typedef __m128i mask_16;
ALWAYS mask_32 mask_of_32(int bytes)
{
	return _mm256_cmpgt_epi32(_mm256_set1_epi32(bytes / 4),
				  _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
ALWAYS mask_16 mask_of_16(int bytes)
{
	return _mm_cmpgt_epi32(_mm_set1_epi32(bytes / 4), _mm_setr_epi32(0, 1, 2, 3));
}
#else
#define MASKED(size)	 0
#define PART_16(p, m)	 (*(const __m128i_u *)(p))
#define KEEP_16(p, m, v) (*(__m128i_u *)(p) = (__m128i)(v))
typedef int mask_16;
ALWAYS int mask_of_16(int bytes)
{
	return bytes;
}
#endif

/* ---- A strip ---- */

/* An element's size is a constant, so that memcpy becomes a move. */
#define STRIP(t, size, B)                                                                          \
	ALWAYS vec_##t##_##B get_##t##_##B(const char *c, int bytes)                               \
	{                                                                                          \
		vec_##t##_##B v = {0};                                                             \
                                                                                                   \
		if (bytes == B)                                                                    \
			return *(const mem_##t##_##B *)c;                                          \
		if (MASKED(size) && bytes > 0)                                                     \
			return (vec_##t##_##B)PART_##B(c, mask_of_##B(bytes));                     \
		for (int i = 0; i < bytes && i < B; i += size)                                     \
			memcpy((char *)&v + i, c + i, size);                                       \
		return v;                                                                          \
	}                                                                                          \
	ALWAYS void put_##t##_##B(char *c, vec_##t##_##B v, int bytes, const char *limit)          \
	{                                                                                          \
		if (bytes == B || c + B <= limit) {                                                \
			*(mem_##t##_##B *)c = v;                                                   \
			return;                                                                    \
		}                                                                                  \
		if (MASKED(size) && bytes > 0) {                                                   \
			KEEP_##B(c, mask_of_##B(bytes), v);                                        \
			return;                                                                    \
		}                                                                                  \
		for (int i = 0; i < bytes && i < B; i += size)                                     \
			memcpy(c + i, (const char *)&v + i, size);                                 \
	}                                                                                          \
	ALWAYS many_##t##_##B read_##t##_##B(const char *v, bool part, mask_##B mask)              \
	{                                                                                          \
		(void)mask;                                                                        \
		if (part)                                                                          \
			return side_##t##_##B((vec_##t##_##B)PART_##B(v, mask));                   \
		return side_##t##_##B(*(const mem_##t##_##B *)v);                                  \
	}                                                                                          \
	ALWAYS void block_##t##_##B(const struct product_strip *p, const char *s, char *c,         \
				    const int rows, const int vectors, const bool part,            \
				    const bool fused)                                              \
	{                                                                                          \
		const int64_t srow = p->srow, scol = p->scol, vrow = p->vrow;                      \
		const mask_##B mask = mask_of_##B(p->last);                                        \
		vec_##t##_##B sum[PRODUCT_ROWS_FUSED][2];                                          \
		const char *v = p->v;                                                              \
                                                                                                   \
		for (int i = 0; i < rows; i++)                                                     \
			for (int j = 0; j < vectors; j++) {                                        \
				sum[i][j] = (vec_##t##_##B){0};                                    \
				if (p->add)                                                        \
					sum[i][j] = get_##t##_##B(c + i * p->crow + j * B,         \
								  j == vectors - 1 ? p->last : B); \
			}                                                                          \
		for (int64_t k = p->depth; k > 0; k--, s += scol, v += vrow) {                     \
			many_##t##_##B y[2];                                                       \
                                                                                                   \
			for (int j = 0; j < vectors; j++)                                          \
				y[j] = read_##t##_##B(v + j * B, part && j == vectors - 1, mask);  \
			for (int i = 0; i < rows; i++) {                                           \
				all_##t##_##B x = repeat_##t##_##B(s + i * srow);                  \
                                                                                                   \
				for (int j = 0; j < vectors; j++)                                  \
					sum[i][j] = fused ? fused_##t##_##B(sum[i][j], x, y[j])    \
							  : more_##t##_##B(sum[i][j], x, y[j]);    \
			}                                                                          \
		}                                                                                  \
		for (int i = 0; i < rows; i++)                                                     \
			for (int j = 0; j < vectors; j++)                                          \
				put_##t##_##B(c + i * p->crow + j * B, sum[i][j],                  \
					      j == vectors - 1 ? p->last : B, p->limit);           \
	}                                                                                          \
	ALWAYS void rows_##t##_##B(const struct product_strip *p, const int vectors,               \
				   const bool part, const bool fused)                              \
	{                                                                                          \
		const char *s = p->s;                                                              \
		int64_t left = p->rows;                                                            \
		char *c = p->c;                                                                    \
                                                                                                   \
		for (; fused && left >= 6; left -= 6, s += 6 * p->srow, c += 6 * p->crow)          \
			block_##t##_##B(p, s, c, 6, vectors, part, true);                          \
		for (; left >= 4; left -= 4, s += 4 * p->srow, c += 4 * p->crow)                   \
			block_##t##_##B(p, s, c, 4, vectors, part, fused);                         \
		if (left == 3)                                                                     \
			block_##t##_##B(p, s, c, 3, vectors, part, fused);                         \
		else if (left == 2)                                                                \
			block_##t##_##B(p, s, c, 2, vectors, part, fused);                         \
		else if (left == 1)                                                                \
			block_##t##_##B(p, s, c, 1, vectors, part, fused);                         \
	}                                                                                          \
	ALWAYS void any_##t##_##B(const struct product_strip *p, const bool part,                  \
				  const bool fused)                                                \
	{                                                                                          \
		if (p->vectors == 1 && part)                                                       \
			rows_##t##_##B(p, 1, true, fused);                                         \
		else if (p->vectors == 1)                                                          \
			rows_##t##_##B(p, 1, false, fused);                                        \
		else if (part)                                                                     \
			rows_##t##_##B(p, 2, true, fused);                                         \
		else                                                                               \
			rows_##t##_##B(p, 2, false, fused);                                        \
	}                                                                                          \
	/* A short inner axis: all of V stays in registers. */                                     \
	ALWAYS void thin_##t##_##B(const struct product_strip *p, const int depth,                 \
				   const int vectors, const bool part)                             \
	{                                                                                          \
		const int64_t srow = p->srow, scol = p->scol, crow = p->crow;                      \
		const mask_##B mask = mask_of_##B(p->last);                                        \
		const char *s = p->s, *limit = p->limit;                                           \
		const int last = p->last;                                                          \
		many_##t##_##B y[PRODUCT_THIN][2];                                                 \
		char *c = p->c;                                                                    \
                                                                                                   \
		for (int k = 0; k < depth; k++)                                                    \
			for (int j = 0; j < vectors; j++)                                          \
				y[k][j] = read_##t##_##B(p->v + k * p->vrow + j * B,               \
							 part && j == vectors - 1, mask);          \
		for (int64_t i = p->rows; i > 0; i--, s += srow, c += crow) {                      \
			vec_##t##_##B sum[2] = {{0}, {0}};                                         \
                                                                                                   \
			for (int k = 0; k < depth; k++) {                                          \
				all_##t##_##B x = repeat_##t##_##B(s + k * scol);                  \
                                                                                                   \
				for (int j = 0; j < vectors; j++)                                  \
					sum[j] = more_##t##_##B(sum[j], x, y[k][j]);               \
			}                                                                          \
			if (vectors == 2)                                                          \
				*(mem_##t##_##B *)c = sum[0];                                      \
			put_##t##_##B(c + (vectors - 1) * B, sum[vectors - 1], last, limit);       \
		}                                                                                  \
	}                                                                                          \
	static void strip_##t##_##B(const struct product_strip *p)                                 \
	{                                                                                          \
		const bool part = MASKED(size) && p->last != B && !p->packed;                      \
                                                                                                   \
		if (FUSES_##t##_##B && p->fused)                                                   \
			any_##t##_##B(p, part, FUSES_##t##_##B);                                   \
		else if (!p->add && p->depth <= PRODUCT_THIN && p->depth > 0)                      \
			switch (p->depth * 4 + (p->vectors - 1) * 2 + part) {                      \
				THIN(t, B, 1)                                                      \
				THIN(t, B, 2)                                                      \
				THIN(t, B, 3)                                                      \
				THIN(t, B, 4)                                                      \
			}                                                                          \
		else                                                                               \
			any_##t##_##B(p, part, false);                                             \
	}
#define THIN(t, B, k)                                                                              \
	case k * 4:                                                                                \
		thin_##t##_##B(p, k, 1, false);                                                    \
		break;                                                                             \
	case k * 4 + 1:                                                                            \
		thin_##t##_##B(p, k, 1, true);                                                     \
		break;                                                                             \
	case k * 4 + 2:                                                                            \
		thin_##t##_##B(p, k, 2, false);                                                    \
		break;                                                                             \
	case k * 4 + 3:                                                                            \
		thin_##t##_##B(p, k, 2, true);                                                     \
		break;

/* One more step, so that WIDE and HALF are numbers before they are joined to names. */
#define TYPE_AT(LANES, t, T, size, B)	 VECTOR(t, T, B) LANES(t, T, B) STRIP(t, size, B)
#define TYPE_BYTES(LANES, t, T, size, B) TYPE_AT(LANES, t, T, size, B)
#if WIDE != HALF
#define TYPE(LANES, t, T, size)                                                                    \
	TYPE_BYTES(LANES, t, T, size, WIDE)                                                        \
	TYPE_BYTES(LANES, t, T, size, HALF)
#else
#define TYPE(LANES, t, T, size) TYPE_BYTES(LANES, t, T, size, WIDE)
#endif

TYPE(LANES_BOOL, b1, uint8_t, 1)
TYPE(LANES_WHOLE, u8, uint8_t, 1)
TYPE(LANES_WHOLE, u16, uint16_t, 2)
TYPE(LANES_WHOLE, u32, uint32_t, 4)
TYPE(LANES_WHOLE, u64, uint64_t, 8)
TYPE(LANES_REAL, f32, float, 4)
TYPE(LANES_REAL, f64, double, 8)
TYPE(LANES_COMPLEX, c64, float, 8)
TYPE(LANES_COMPLEX, c128, double, 16)

/* ---- Sums of products by the tree ---- */

#define PART_AT(B)    PART_##B
#define PART(B)	      PART_AT(B)
#define MASK_OF_AT(B) mask_of_##B
#define MASK_OF(B)    MASK_OF_AT(B)
/* The first elements of a vector, and zeros.  In beginning_ these are negative ones: their
 * products change no sum. */
#define NO_SIGNS 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
#define SIGNS                                                                                      \
	-0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0,  \
		-0.0
#define FIRST_AT(t, T, B)                                                                          \
	ALWAYS vec_##t##_##B first_##t(const char *p, int bytes)                                   \
	{                                                                                          \
		if (MASKED(sizeof(T)))                                                             \
			return (vec_##t##_##B)PART(B)(p, MASK_OF(B)(bytes));                       \
		return get_##t##_##B(p, bytes);                                                    \
	}                                                                                          \
	ALWAYS vec_##t##_##B beginning_##t(const char *p, int n)                                   \
	{                                                                                          \
		static const one_##t##_##B signs[32] = {NO_SIGNS, SIGNS};                          \
		__typeof__((vec_##t##_##B){0} < 0) bits =                                          \
			(__typeof__(bits))first_##t(p, n * (int)sizeof(T));                        \
                                                                                                   \
		bits |= (__typeof__(bits))*(const mem_##t##_##B *)(signs + 16 - n);                \
		return (vec_##t##_##B)bits;                                                        \
	}
#define FIRST(t, T, B) FIRST_AT(t, T, B)
FIRST(f32, float, WIDE)
FIRST(f64, double, WIDE)

/* All lanes are vectors at once: 256 bytes of them. */
#define DOT_AT(t, T, B)                                                                            \
	static T dot_block_##t(const char *a, const char *b, int64_t n)                            \
	{                                                                                          \
		enum { SIZE = sizeof(T), VECTORS = 256 / B, EACH = B / SIZE };                     \
		const vec_##t##_##B none = (T)-0.0 - (vec_##t##_##B){0};                           \
		vec_##t##_##B sum[VECTORS];                                                        \
		T lane[EACH];                                                                      \
                                                                                                   \
		UNROLLED for (int k = 0; k < VECTORS; k++) sum[k] = none;                          \
		for (; n >= VECTORS * EACH; n -= VECTORS * EACH, a += 256, b += 256)               \
			UNROLLED for (int k = 0; k < VECTORS; k++) sum[k] +=                       \
				*(const mem_##t##_##B *)(a + k * B) *                              \
				*(const mem_##t##_##B *)(b + k * B);                               \
		UNROLLED for (int k = 0; k < VECTORS; k++)                                         \
		{                                                                                  \
			int64_t left = n - k * EACH;                                               \
                                                                                                   \
			if (left >= EACH) {                                                        \
				sum[k] += *(const mem_##t##_##B *)(a + k * B) *                    \
					  *(const mem_##t##_##B *)(b + k * B);                     \
			} else if (left > 0) {                                                     \
				sum[k] += beginning_##t(a + k * B, (int)left) *                    \
					  first_##t(b + k * B, (int)left * SIZE);                  \
			}                                                                          \
		}                                                                                  \
		UNROLLED for (int w = VECTORS / 2; w >= 1; w /= 2)                                 \
			UNROLLED for (int k = 0; k < w; k++) sum[k] += sum[k + w];                 \
		memcpy(lane, sum, B);                                                              \
		UNROLLED for (int w = EACH / 2; w >= 1; w /= 2)                                    \
			UNROLLED for (int k = 0; k < w; k++) lane[k] += lane[k + w];               \
		return lane[0];                                                                    \
	}                                                                                          \
	static void dot_##t(char *to, const char *a, const char *b, int64_t n)                     \
	{                                                                                          \
		T stack[8], s;                                                                     \
		int sp = 0;                                                                        \
                                                                                                   \
		for (int64_t done = 0, block = 1; done < n; done += TREE_BLOCK, block++) {         \
			int64_t left = n - done < TREE_BLOCK ? n - done : TREE_BLOCK;              \
                                                                                                   \
			s = dot_block_##t(a + done * (int)sizeof(T), b + done * (int)sizeof(T),    \
					  left);                                                   \
			for (int64_t m = block; !(m & 1); m >>= 1)                                 \
				s = stack[--sp] + s;                                               \
			stack[sp++] = s;                                                           \
		}                                                                                  \
		for (s = stack[--sp]; sp > 0;)                                                     \
			s = stack[--sp] + s;                                                       \
		memcpy(to, &s, sizeof(s));                                                         \
	}
#define DOT(t, T, B) DOT_AT(t, T, B)
DOT(f32, float, WIDE)
DOT(f64, double, WIDE)

/* The same of many short rows with one vector.  As many rows at once as a register has lanes:
 * the steps between the lanes of one sum become steps between registers, each of which
 * makes one register with half the lanes of each sum out of two. */
#define LANE_LO(w, i) ((i) / (w)*2 * (w) + (i) % (w))
#define LANE_HI(w, i) (LANE_LO(w, i) + (w))
#define PICK2(F, w)   F(w, 0), F(w, 1)
#define PICK4(F, w)   PICK2(F, w), F(w, 2), F(w, 3)
#define PICK8(F, w)   PICK4(F, w), F(w, 4), F(w, 5), F(w, 6), F(w, 7)
#define PICK16(F, w)                                                                               \
	PICK8(F, w), F(w, 8), F(w, 9), F(w, 10), F(w, 11), F(w, 12), F(w, 13), F(w, 14), F(w, 15)
#define HALVE(n, w, s)                                                                             \
	UNROLLED for (int k = 0; k < (w); k++)(s)[k] =                                             \
		__builtin_shufflevector((s)[2 * k], (s)[2 * k + 1], PICK##n(LANE_LO, w)) +         \
		__builtin_shufflevector((s)[2 * k], (s)[2 * k + 1], PICK##n(LANE_HI, w))
#define FOLD_f64_16(s) HALVE(2, 1, s)
#define FOLD_f32_16(s)                                                                             \
	HALVE(4, 2, s);                                                                            \
	HALVE(4, 1, s)
#define FOLD_f64_32 FOLD_f32_16
#define FOLD_f32_32(s)                                                                             \
	HALVE(8, 4, s);                                                                            \
	HALVE(8, 2, s);                                                                            \
	HALVE(8, 1, s)
#define FOLD_f64_64 FOLD_f32_32
#define FOLD_f32_64(s)                                                                             \
	HALVE(16, 8, s);                                                                           \
	HALVE(16, 4, s);                                                                           \
	HALVE(16, 2, s);                                                                           \
	HALVE(16, 1, s)
#include "product_dots.h"
#define ROWS_AT(t, T, B)                                                                           \
	/* One row, but for the steps between lanes; `last`: elements of its last vector. */       \
	ALWAYS vec_##t##_##B row_##t(const char *a, const vec_##t##_##B *v, const int vectors,     \
				     int last)                                                     \
	{                                                                                          \
		const char *end = a + (vectors - 1) * B;                                           \
		vec_##t##_##B s[PRODUCT_ROW / B];                                                  \
                                                                                                   \
		UNROLLED for (int k = 0; k < vectors - 1; k++) s[k] =                              \
			*(const mem_##t##_##B *)(a + k * B) * v[k];                                \
		if (last == (int)(B / sizeof(T)))                                                  \
			s[vectors - 1] = *(const mem_##t##_##B *)end;                              \
		else                                                                               \
			s[vectors - 1] = beginning_##t(end, last);                                 \
		s[vectors - 1] *= v[vectors - 1];                                                  \
		UNROLLED for (int w = PRODUCT_ROW / B / 2; w >= 1; w /= 2)                         \
			UNROLLED for (int k = 0; k < w; k++) if (k + w < vectors) s[k] +=          \
			s[k + w];                                                                  \
		return s[0];                                                                       \
	}                                                                                          \
	ALWAYS void rows_of_##t(char *to, const struct product_rows *p, int64_t rows,              \
				const int vectors)                                                 \
	{                                                                                          \
		enum { EACH = B / sizeof(T) };                                                     \
		const int last = (int)p->n - (vectors - 1) * EACH;                                 \
		vec_##t##_##B v[PRODUCT_ROW / B], s[EACH];                                         \
		const char *a = p->a;                                                              \
                                                                                                   \
		UNROLLED for (int k = 0; k < vectors - 1; k++) v[k] =                              \
			*(const mem_##t##_##B *)(p->v + k * B);                                    \
		v[vectors - 1] = first_##t(p->v + (vectors - 1) * B, last * (int)sizeof(T));       \
		for (; rows >= EACH; rows -= EACH, to += B) {                                      \
			UNROLLED for (int r = 0; r < EACH; r++, a += p->step) s[r] =               \
				row_##t(a, v, vectors, last);                                      \
			FOLD_##t##_##B(s);                                                         \
			*(mem_##t##_##B *)to = s[0];                                               \
		}                                                                                  \
		for (int r = 0; r < EACH; r++, a += p->step)                                       \
			s[r] = r < rows ? row_##t(a, v, vectors, last) : (vec_##t##_##B){0};       \
		FOLD_##t##_##B(s);                                                                 \
		put_##t##_##B(to, s[0], (int)rows *(int)sizeof(T), NULL);                          \
	}                                                                                          \
	static void short_rows_##t(char *to, const struct product_rows *p, int64_t rows)           \
	{                                                                                          \
		switch ((p->n * (int)sizeof(T) + B - 1) / B) {                                     \
			ROWS_CASES_##B(t)                                                          \
		}                                                                                  \
	}
#define ROWS_CASE(t, vectors)                                                                      \
	case vectors:                                                                              \
		rows_of_##t(to, p, rows, vectors);                                                 \
		break;
#define ROWS_CASES_64(t)                                                                           \
	ROWS_CASE(t, 1)                                                                            \
	ROWS_CASE(t, 2)                                                                            \
	ROWS_CASE(t, 3)                                                                            \
	ROWS_CASE(t, 4)
#define ROWS_CASES_32(t)                                                                           \
	ROWS_CASES_64(t)                                                                           \
	ROWS_CASE(t, 5)                                                                            \
	ROWS_CASE(t, 6)                                                                            \
	ROWS_CASE(t, 7)                                                                            \
	ROWS_CASE(t, 8)
#define ROWS_CASES_16(t)                                                                           \
	ROWS_CASES_32(t)                                                                           \
	ROWS_CASE(t, 9)                                                                            \
	ROWS_CASE(t, 10)                                                                           \
	ROWS_CASE(t, 11)                                                                           \
	ROWS_CASE(t, 12)                                                                           \
	ROWS_CASE(t, 13)                                                                           \
	ROWS_CASE(t, 14)                                                                           \
	ROWS_CASE(t, 15)                                                                           \
	ROWS_CASE(t, 16)
#define ROWS(t, T, B) ROWS_AT(t, T, B)
ROWS(f32, float, WIDE)
ROWS(f64, double, WIDE)

/* The same of many columns side by side: four lanes of a strip of columns stay in registers
 * while their rows are added up. */
#define ACROSS_AT(t, T, B)                                                                         \
	ALWAYS vec_##t##_##B column_##t(const struct product_across *p, const char *at, int64_t j, \
					const int vectors, const bool part)                        \
	{                                                                                          \
		if (!part || j < vectors - 1)                                                      \
			return *(const mem_##t##_##B *)(at + j * B);                               \
		return first_##t(at + j * B, p->last);                                             \
	}                                                                                          \
	/* Up to TREE_BLOCK rows from this one on. */                                              \
	ALWAYS void columns_block_##t(vec_##t##_##B *out, const struct product_across *p,          \
				      int64_t from, int64_t n, const int vectors, const bool part) \
	{                                                                                          \
		enum { LANES = 256 / sizeof(T) };                                                  \
		const vec_##t##_##B none = (T)-0.0 - (vec_##t##_##B){0};                           \
		const char *v = p->v + from * p->vstep, *a = p->a + from * p->row;                 \
		vec_##t##_##B lane[LANES][2];                                                      \
		int w = LANES / 2;                                                                 \
                                                                                                   \
		for (int l = 0; l < LANES && l < n; l += 4) {                                      \
			vec_##t##_##B sum[4][2] = {                                                \
				{none, none}, {none, none}, {none, none}, {none, none}};           \
			int64_t i = l;                                                             \
                                                                                                   \
			for (; i + 4 <= n; i += LANES)                                             \
				UNROLLED for (int r = 0; r < 4; r++)                               \
					UNROLLED for (int j = 0; j < vectors; j++) sum[r][j] +=    \
					repeat_##t##_##B(v + (i + r) * p->vstep) *                 \
					column_##t(p, a + (i + r) * p->row, j, vectors, part);     \
			UNROLLED for (int r = 0; r < 3; r++) if (i + r < n)                        \
				UNROLLED for (int j = 0; j < vectors; j++) sum[r][j] +=            \
				repeat_##t##_##B(v + (i + r) * p->vstep) *                         \
				column_##t(p, a + (i + r) * p->row, j, vectors, part);             \
			memcpy(lane[l], sum, sizeof(sum));                                         \
		}                                                                                  \
		/* Lanes without an element would add nothing. */                                  \
		for (; w >= 1; w /= 2)                                                             \
			for (int k = 0; k < w && k + w < n; k++)                                   \
				UNROLLED for (int j = 0; j < vectors; j++) lane[k][j] +=           \
					lane[k + w][j];                                            \
		UNROLLED for (int j = 0; j < vectors; j++) out[j] = lane[0][j];                    \
	}                                                                                          \
	ALWAYS void columns_##t(char *to, const struct product_across *p, const int vectors,       \
				const bool part)                                                   \
	{                                                                                          \
		vec_##t##_##B stack[8][2], s[2];                                                   \
		int sp = 0;                                                                        \
                                                                                                   \
		for (int64_t done = 0, block = 1; done < p->n; done += TREE_BLOCK, block++) {      \
			int64_t left = p->n - done < TREE_BLOCK ? p->n - done : TREE_BLOCK;        \
                                                                                                   \
			columns_block_##t(s, p, done, left, vectors, part);                        \
			for (int64_t m = block; !(m & 1); m >>= 1, sp--)                           \
				UNROLLED for (int j = 0; j < vectors; j++) s[j] =                  \
					stack[sp - 1][j] + s[j];                                   \
			UNROLLED for (int j = 0; j < vectors; j++) stack[sp][j] = s[j];            \
			sp++;                                                                      \
		}                                                                                  \
		for (sp--; sp > 0; sp--)                                                           \
			UNROLLED for (int j = 0; j < vectors; j++) stack[sp - 1][j] =              \
				stack[sp - 1][j] + stack[sp][j];                                   \
		UNROLLED for (int j = 0; j < vectors; j++) put_##t##_##B(                          \
			to + j * B, stack[0][j], j == vectors - 1 ? p->last : B, NULL);            \
	}                                                                                          \
	static void across_##t(char *to, const struct product_across *all, int64_t cols)           \
	{                                                                                          \
		const int each = B / sizeof(T);                                                    \
		struct product_across p = *all;                                                    \
                                                                                                   \
		p.last = B;                                                                        \
		for (; cols >= 2 * each; cols -= 2 * each, p.a += 2 * B, to += 2 * B)              \
			columns_##t(to, &p, 2, false);                                             \
		if (cols > each) {                                                                 \
			p.last = (int)(cols - each) * (int)sizeof(T);                              \
			columns_##t(to, &p, 2, true);                                              \
		} else if (cols > 0) {                                                             \
			p.last = (int)cols * (int)sizeof(T);                                       \
			columns_##t(to, &p, 1, true);                                              \
		}                                                                                  \
	}
#define ACROSS(t, T, B) ACROSS_AT(t, T, B)
ACROSS(f32, float, WIDE)
ACROSS(f64, double, WIDE)

#define NAME_AT(t, B) strip_##t##_##B
#define NAME(t, B)    NAME_AT(t, B)
#define ROW(t, size, sum, sums, short_rows, columns)                                               \
	{                                                                                          \
		.dot = sum, .dots = sums, .rows = short_rows, .across = columns,                   \
		.wide = NAME(t, WIDE), .half = NAME(t, HALF), .masked = MASKED(size),              \
		.bytes = size, .wide_lanes = WIDE / size, .half_lanes = HALF / size                \
	}

const struct product_isa PRODUCT_ISA = {
	.type = {[DT_BOOL] = ROW(b1, 1, NULL, NULL, NULL, NULL),
		 [DT_INT8] = ROW(u8, 1, NULL, NULL, NULL, NULL),
		 [DT_UINT8] = ROW(u8, 1, NULL, NULL, NULL, NULL),
		 [DT_INT16] = ROW(u16, 2, NULL, NULL, NULL, NULL),
		 [DT_UINT16] = ROW(u16, 2, NULL, NULL, NULL, NULL),
		 [DT_INT32] = ROW(u32, 4, NULL, NULL, NULL, NULL),
		 [DT_UINT32] = ROW(u32, 4, NULL, NULL, NULL, NULL),
		 [DT_INT64] = ROW(u64, 8, NULL, NULL, NULL, NULL),
		 [DT_UINT64] = ROW(u64, 8, NULL, NULL, NULL, NULL),
		 [DT_FLOAT32] = ROW(f32, 4, dot_f32, dots_f32, short_rows_f32, across_f32),
		 [DT_FLOAT64] = ROW(f64, 8, dot_f64, dots_f64, short_rows_f64, across_f64),
		 [DT_COMPLEX64] = ROW(c64, 8, NULL, NULL, NULL, NULL),
		 [DT_COMPLEX128] = ROW(c128, 16, NULL, NULL, NULL, NULL)},
};
