/* SPDX-License-Identifier: Apache-2.0 */
/* loops/sort_quick.h - keys that travel alone in order, by parts on either side of a key: a part of
 * sort_isa.c.
 *
 * A vector at a time is put in two by one shuffle, and stored at both ends of where it goes: what
 * is too much is written over later.  Parts go to and fro between two places until a few items are
 * left, which a network sorts.  Parts that are too unequal too often are sorted by their digits. */
#ifndef BRAZE_LOOPS_SORT_QUICK_H
#define BRAZE_LOOPS_SORT_QUICK_H

#include <immintrin.h>

/* For each mask of eight lanes: their numbers, those of the mask last, a byte each. */
#define MASKED(m)      ((u64)__builtin_popcount((unsigned)(m)))
#define IN_FRONT(m, i) MASKED((m) & ((1 << (i)) - 1))
#define LANE_TO(m, i)  ((m) >> (i)&1 ? 8 - MASKED(m) + IN_FRONT(m, i) : (u64)(i)-IN_FRONT(m, i))
#define LANE(m, i)     ((u64)(i) << 8 * LANE_TO(m, i))
#define ORDER_1(m)                                                                                 \
	LANE(m, 0) | LANE(m, 1) | LANE(m, 2) | LANE(m, 3) | LANE(m, 4) | LANE(m, 5) | LANE(m, 6) | \
		LANE(m, 7)
#define ORDER_4(m)  ORDER_1(m), ORDER_1((m) + 1), ORDER_1((m) + 2), ORDER_1((m) + 3)
#define ORDER_16(m) ORDER_4(m), ORDER_4((m) + 4), ORDER_4((m) + 8), ORDER_4((m) + 12)
#define ORDER_64(m) ORDER_16(m), ORDER_16((m) + 16), ORDER_16((m) + 32), ORDER_16((m) + 48)
static const u64 lane_order[256] = {ORDER_64(0), ORDER_64(64), ORDER_64(128), ORDER_64(192)};

/* ---- A few keys: eight vectors, by exchanges in an order that depends on their number only ----
 */

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

/* ---- Many ---- */

#define LITTLE(w)   (8 * 256 / (w))
#define SAMPLE	    16
#define SAMPLE_FROM 500 /* items from which on a sample of so many pays; of fewer it is 8 */

#define above_32 _mm256_cmpgt_epi32
#define above_64 _mm256_cmpgt_epi64
#define every_32 _mm256_set1_epi32
#define every_64 _mm256_set1_epi64x

#define QUICK(w)                                                                                   \
	static u##w *many_u##w(u##w *x, u##w *y, int64_t n, unsigned low, u##w least, u##w most);  \
	/* The keys up to `by` to the front of y, those above it behind them; how many are in      \
	 * front.                                                                                  \
	 */                                                                                        \
	ALWAYS int64_t part_in_two_##w(u##w *restrict y, const u##w *restrict x, int64_t n,        \
				       u##w by)                                                    \
	{                                                                                          \
		const __m256i sign = every_##w((i##w)SIGN(w)),                                     \
			      key = every_##w((i##w)(by ^ SIGN(w)));                               \
		const int64_t per = 256 / (w);                                                     \
		int64_t i = 0, lo = 0, hi = n;                                                     \
                                                                                                   \
		for (; hi - lo >= 2 * per; i += per) {                                             \
			const __m256i v =                                                          \
				_mm256_loadu_si256((const __m256i *)(const void *)(x + i));        \
			const __m256i beyond = above_##w(_mm256_xor_si256(v, sign), key);          \
			const int mask = _mm256_movemask_ps(_mm256_castsi256_ps(beyond));          \
			const int many = __builtin_popcount((unsigned)mask) / ((w) / 32);          \
			const __m128i lanes = _mm_cvtsi64_si128((i64)lane_order[mask]);            \
			const __m256i parted =                                                     \
				_mm256_permutevar8x32_epi32(v, _mm256_cvtepu8_epi32(lanes));       \
                                                                                                   \
			_mm256_storeu_si256((__m256i *)(void *)(y + lo), parted);                  \
			_mm256_storeu_si256((__m256i *)(void *)(y + hi - per), parted);            \
			lo += per - many;                                                          \
			hi -= many;                                                                \
		}                                                                                  \
		for (; i < n; i++) {                                                               \
			const bool beyond = x[i] > by;                                             \
                                                                                                   \
			y[lo] = x[i];                                                              \
			y[hi - 1] = x[i];                                                          \
			lo += !beyond;                                                             \
			hi -= beyond;                                                              \
		}                                                                                  \
		return lo;                                                                         \
	}                                                                                          \
	static u##w between_##w(const u##w *x, int64_t n)                                          \
	{                                                                                          \
		const int k = n < SAMPLE_FROM ? 8 : SAMPLE;                                        \
		u##w some[SAMPLE], sorted[SAMPLE];                                                 \
                                                                                                   \
		for (int i = 0; i < k; i++)                                                        \
			some[i] = x[(2 * i + 1) * n / (2 * k)];                                    \
		little_##w(sorted, some, k);                                                       \
		return sorted[k / 2];                                                              \
	}                                                                                          \
	/* n keys at x, which go by y, in order to x or y. */                                      \
	static void quick_##w(u##w *to, u##w *x, u##w *y, int64_t n, int depth)                    \
	{                                                                                          \
		u##w by = 0;                                                                       \
		int64_t lo = 0;                                                                    \
                                                                                                   \
		if (n <= LITTLE(w)) {                                                              \
			little_##w(to, x, (int)n);                                                 \
			return;                                                                    \
		}                                                                                  \
		if (!depth) {                                                                      \
			u##w *z = many_u##w(x, y, n, 0, 0, ALL(w));                                \
                                                                                                   \
			if (z != to)                                                               \
				memcpy(to, z, (size_t)n * sizeof *to);                             \
			return;                                                                    \
		}                                                                                  \
		by = between_##w(x, n);                                                            \
		lo = part_in_two_##w(y, x, n, by);                                                 \
		if (lo == n) {                                                                     \
			if (!by)                                                                   \
				lo = 0;                                                            \
			else                                                                       \
				lo = part_in_two_##w(y, x, n, by - 1);                             \
			/* The rest are all the same. */                                           \
			if (to == x)                                                               \
				for (int64_t i = lo; i < n; i++)                                   \
					x[i] = by;                                                 \
			n = lo;                                                                    \
		}                                                                                  \
		if (lo)                                                                            \
			quick_##w(to, y, x, lo, depth - 1);                                        \
		if (lo < n)                                                                        \
			quick_##w(to + lo, y + lo, x + lo, n - lo, depth - 1);                     \
	}
NETWORK(32)
NETWORK(64)
QUICK(32)
QUICK(64)

#endif
