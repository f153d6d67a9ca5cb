/* SPDX-License-Identifier: Apache-2.0 */
/* loops/sort_little.h - a few keys that travel alone in order, in eight vectors of AVX2, by
 * exchanges in an order that depends on their number only: a part of sort_quick.h. */
#ifndef BRAZE_LOOPS_SORT_LITTLE_H
#define BRAZE_LOOPS_SORT_LITTLE_H

#include <immintrin.h>

#define LITTLE(w) (8 * 256 / (w))

#define every_32 _mm256_set1_epi32
#define every_64 _mm256_set1_epi64x

#define NUMBERS _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)
#define ACROSS	_mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0)

/* The lesser of each two lanes to a, the greater to b. */
ALWAYS void exchange_32(__m256i *a, __m256i *b)
{
	const __m256i lo = _mm256_min_epu32(*a, *b);

	*b = _mm256_max_epu32(*a, *b);
	*a = lo;
}
ALWAYS void exchange_64(__m256i *a, __m256i *b)
{
	const __m256d x = _mm256_castsi256_pd(*a), y = _mm256_castsi256_pd(*b);
	const __m256d turn = _mm256_castsi256_pd(_mm256_cmpgt_epi64(*a, *b));

	*a = _mm256_castpd_si256(_mm256_blendv_pd(x, y, turn));
	*b = _mm256_castpd_si256(_mm256_blendv_pd(y, x, turn));
}

/* Lanes with those that `other` has in their places; the greater ones where the mask is set. */
#define WITHIN(w, v, other, mask)                                                                  \
	do {                                                                                       \
		__m256i a_ = (v), b_ = (other);                                                    \
		exchange_##w(&a_, &b_);                                                            \
		(v) = _mm256_blend_epi32(a_, b_, mask);                                            \
	} while (0)

#define back_32(v) _mm256_permutevar8x32_epi32(v, ACROSS)
#define back_64(v) _mm256_permute4x64_epi64(v, 0x1b)

/* A vector whose keys rise, then fall, or the other way. */
ALWAYS __m256i clean_32(__m256i v)
{
	WITHIN(32, v, _mm256_permute4x64_epi64(v, 0x4e), 0xf0);
	WITHIN(32, v, _mm256_shuffle_epi32(v, 0x4e), 0xcc);
	WITHIN(32, v, _mm256_shuffle_epi32(v, 0xb1), 0xaa);
	return v;
}
ALWAYS __m256i clean_64(__m256i v)
{
	WITHIN(64, v, _mm256_permute4x64_epi64(v, 0x4e), 0xf0);
	WITHIN(64, v, _mm256_shuffle_epi32(v, 0x4e), 0xcc);
	return v;
}
/* Any vector. */
ALWAYS __m256i alone_32(__m256i v)
{
	WITHIN(32, v, _mm256_shuffle_epi32(v, 0xb1), 0xaa);
	WITHIN(32, v, _mm256_shuffle_epi32(v, 0x1b), 0xcc);
	WITHIN(32, v, _mm256_shuffle_epi32(v, 0xb1), 0xaa);
	WITHIN(32, v, back_32(v), 0xf0);
	WITHIN(32, v, _mm256_shuffle_epi32(v, 0x4e), 0xcc);
	WITHIN(32, v, _mm256_shuffle_epi32(v, 0xb1), 0xaa);
	return v;
}
ALWAYS __m256i alone_64(__m256i v)
{
	WITHIN(64, v, _mm256_shuffle_epi32(v, 0x4e), 0xcc);
	WITHIN(64, v, back_64(v), 0xf0);
	WITHIN(64, v, _mm256_shuffle_epi32(v, 0x4e), 0xcc);
	return v;
}

#define NETWORK(w)                                                                                 \
	/* Each n vectors of eight or fewer, whose halves are in order. */                         \
	ALWAYS void halves_##w(__m256i *v, const int n)                                            \
	{                                                                                          \
		const int m = n / 2;                                                               \
		__m256i far[4];                                                                    \
                                                                                                   \
		for (int i = 0; i < m; i++)                                                        \
			far[i] = back_##w(v[n - 1 - i]);                                           \
		for (int i = 0; i < m; i++) {                                                      \
			exchange_##w(&v[i], &far[i]);                                              \
			v[m + i] = far[i];                                                         \
		}                                                                                  \
		if (n == 8)                                                                        \
			for (int i = 0; i < 4; i++)                                                \
				exchange_##w(&v[i / 2 * 4 + i % 2], &v[i / 2 * 4 + i % 2 + 2]);    \
		if (n >= 4)                                                                        \
			for (int i = 0; i < n; i += 2)                                             \
				exchange_##w(&v[i], &v[i + 1]);                                    \
		for (int i = 0; i < n; i++)                                                        \
			v[i] = clean_##w(v[i]);                                                    \
	}                                                                                          \
	/* The first n of a vector: masks would make stores slow. */                               \
	ALWAYS void put_##w(u##w *to, int n, __m256i v)                                            \
	{                                                                                          \
		u##w last[256 / (w)] __attribute__((aligned(32)));                                 \
                                                                                                   \
		if (n >= 256 / (w)) {                                                              \
			_mm256_storeu_si256((__m256i *)(void *)to, v);                             \
			return;                                                                    \
		}                                                                                  \
		if (n <= 0)                                                                        \
			return;                                                                    \
		_mm256_store_si256((__m256i *)(void *)last, v);                                    \
		for (int i = 0; i < n; i++)                                                        \
			to[i] = last[i];                                                           \
	}                                                                                          \
	/* n keys in at most nv vectors, where they lie or elsewhere. */                           \
	ALWAYS void network_##w(u##w *to, const u##w *x, int n, const int nv)                      \
	{                                                                                          \
		const __m256i sign = every_64((w) == 64 ? (i64)SIGN(64) : 0);                      \
		const int left = n * ((w) / 32);                                                   \
		__m256i v[8];                                                                      \
                                                                                                   \
		for (int i = 0; i < nv; i++) {                                                     \
			const __m256i in =                                                         \
				_mm256_cmpgt_epi32(_mm256_set1_epi32(left - 8 * i), NUMBERS);      \
			v[i] = _mm256_maskload_epi32((const int *)(const void *)(x + 256 / (w)*i), \
						     in);                                          \
			v[i] = _mm256_xor_si256(                                                   \
				_mm256_or_si256(v[i], _mm256_xor_si256(in, every_32(-1))), sign);  \
			v[i] = alone_##w(v[i]);                                                    \
		}                                                                                  \
		if (nv >= 2)                                                                       \
			for (int i = 0; i < nv; i += 2)                                            \
				halves_##w(v + i, 2);                                              \
		if (nv >= 4)                                                                       \
			for (int i = 0; i < nv; i += 4)                                            \
				halves_##w(v + i, 4);                                              \
		if (nv == 8)                                                                       \
			halves_##w(v, 8);                                                          \
		for (int i = 0; i < nv; i++)                                                       \
			put_##w(to + 256 / (w)*i, n - 256 / (w)*i, _mm256_xor_si256(v[i], sign));  \
	}                                                                                          \
	static void little_##w(u##w *to, const u##w *x, int n)                                     \
	{                                                                                          \
		if (n <= 256 / (w))                                                                \
			network_##w(to, x, n, 1);                                                  \
		else if (n <= 2 * 256 / (w))                                                       \
			network_##w(to, x, n, 2);                                                  \
		else if (n <= 4 * 256 / (w))                                                       \
			network_##w(to, x, n, 4);                                                  \
		else                                                                               \
			network_##w(to, x, n, 8);                                                  \
	}

NETWORK(32)
NETWORK(64)

#endif
