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

#define every_32 _mm256_set1_epi32
#define every_64 _mm256_set1_epi64x

#ifdef __AVX512F__
#include "sort_network.h"
#else
#include "sort_little.h"
#endif

/* ---- Many ---- */

#define SAMPLE	    16
#define SAMPLE_FROM 500 /* items from which on a sample of so many pays; of fewer it is 8 */

#define above_32 _mm256_cmpgt_epi32
#define above_64 _mm256_cmpgt_epi64

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
QUICK(32)
QUICK(64)

#endif
