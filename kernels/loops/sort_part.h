/* SPDX-License-Identifier: Apache-2.0 */
/* loops/sort_part.h - keys that travel alone, parted by one of them: a part of sort_quick.h.
 *
 * A vector at a time is put in two by one shuffle, and stored at both ends of where it goes: what
 * is too much is written over later. */
#ifndef BRAZE_LOOPS_SORT_PART_H
#define BRAZE_LOOPS_SORT_PART_H

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

/* A vector of so wide keys, and of eight lanes their order by a mask of those that go last. */
#define load_256(x)	_mm256_loadu_si256((const __m256i *)(const void *)(x))
#define store_256(x, v) _mm256_storeu_si256((__m256i *)(void *)(x), v)
#define order_32(mask)	_mm256_cvtepu8_epi32(_mm_cvtsi64_si128((i64)lane_order[mask]))

#ifdef __AVX512F__
/* Eight keys, of either width. */
#define PER(w)		  8
#define part_32		  __m256i
#define part_64		  __m512i
#define part_load_32	  load_256
#define part_load_64	  _mm512_loadu_si512
#define part_store_32	  store_256
#define part_store_64	  _mm512_storeu_si512
#define part_key_32(key)  _mm256_set1_epi32((i32)(key))
#define part_key_64(key)  _mm512_set1_epi64((i64)(key))
#define part_mask_32	  _mm256_cmpgt_epu32_mask
#define part_mask_64	  _mm512_cmpgt_epu64_mask
#define part_in_32(mask)  __builtin_popcount((unsigned)(mask))
#define part_in_64	  part_in_32
#define part_put_32(v, m) _mm256_permutevar8x32_epi32(v, order_32(m))
#define part_put_64(v, m)                                                                          \
	_mm512_permutexvar_epi64(_mm512_cvtepu8_epi64(_mm_cvtsi64_si128((i64)lane_order[m])), v)
#else
/* 32 bytes of them: of a wider key both halves are masked.  What is compared is signed. */
#define PER(w)		(256 / (w))
#define part_32		__m256i
#define part_64		__m256i
#define part_load_32	load_256
#define part_load_64	load_256
#define part_store_32	store_256
#define part_store_64	store_256
#define part_key_32(by) _mm256_set1_epi32((i32)((by) ^ SIGN(32)))
#define part_key_64(by) _mm256_set1_epi64x((i64)((by) ^ SIGN(64)))
#define part_mask_32(v, key)                                                                       \
	_mm256_movemask_ps(_mm256_castsi256_ps(                                                    \
		_mm256_cmpgt_epi32(_mm256_xor_si256(v, _mm256_set1_epi32((i32)SIGN(32))), key)))
#define part_mask_64(v, key)                                                                       \
	_mm256_movemask_ps(_mm256_castsi256_ps(                                                    \
		_mm256_cmpgt_epi64(_mm256_xor_si256(v, _mm256_set1_epi64x((i64)SIGN(64))), key)))
#define part_in_32(mask)  __builtin_popcount((unsigned)(mask))
#define part_in_64(mask)  (part_in_32(mask) / 2)
#define part_put_32(v, m) _mm256_permutevar8x32_epi32(v, order_32(m))
#define part_put_64	  part_put_32
#endif

#define PART(w)                                                                                    \
	/* The keys up to `by` to the front of y, those above it behind them; how many are in      \
	 * front. */                                                                               \
	ALWAYS int64_t part_in_two_##w(u##w *restrict y, const u##w *restrict x, int64_t n,        \
				       u##w by)                                                    \
	{                                                                                          \
		const part_##w key = part_key_##w(by);                                             \
		int64_t i = 0, lo = 0, hi = n;                                                     \
                                                                                                   \
		for (; hi - lo >= 2 * PER(w); i += PER(w)) {                                       \
			const part_##w v = part_load_##w(x + i);                                   \
			const unsigned mask = (unsigned)part_mask_##w(v, key);                     \
			const int many = part_in_##w(mask);                                        \
			const part_##w parted = part_put_##w(v, mask);                             \
                                                                                                   \
			part_store_##w(y + lo, parted);                                            \
			part_store_##w(y + hi - PER(w), parted);                                   \
			lo += PER(w) - many;                                                       \
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
	}
PART(32)
PART(64)

/* Of more keys than fit the first cache half as many bytes are gone through where they stay where
 * they lie.  What lies at either end is kept, so that there is room for what is read next: from
 * the end that has less of it, AHEAD at a time, which leaves at either as much as those may need.
 */
#define AHEAD(w) (8 * PER(w))
#define KEEP(w)	 (2 * AHEAD(w))

#define PART_IN_PLACE(w)                                                                           \
	ALWAYS int64_t part_in_place_##w(u##w *x, int64_t n, u##w by)                              \
	{                                                                                          \
		const part_##w key = part_key_##w(by);                                             \
		int64_t lo = 0, hi = n, l = AHEAD(w), r = n - AHEAD(w);                            \
		u##w kept[KEEP(w) + AHEAD(w)];                                                     \
		part_##w v[8];                                                                     \
                                                                                                   \
		memcpy(kept, x, AHEAD(w) * sizeof *x);                                             \
		memcpy(kept + AHEAD(w), x + r, AHEAD(w) * sizeof *x);                              \
		while (r - l >= AHEAD(w)) {                                                        \
			const bool left = l - lo <= hi - r;                                        \
			const u##w *from = 0;                                                      \
                                                                                                   \
			r -= left ? 0 : AHEAD(w);                                                  \
			from = left ? x + l : x + r;                                               \
			l += left ? AHEAD(w) : 0;                                                  \
			for (int k = 0; k < 8; k++)                                                \
				v[k] = part_load_##w(from + k * PER(w));                           \
			_Pragma("GCC unroll 8") for (int k = 0; k < 8; k++)                        \
			{                                                                          \
				const unsigned mask = (unsigned)part_mask_##w(v[k], key);          \
				const int many = part_in_##w(mask);                                \
				const part_##w parted = part_put_##w(v[k], mask);                  \
                                                                                                   \
				part_store_##w(x + lo, parted);                                    \
				part_store_##w(x + hi - PER(w), parted);                           \
				lo += PER(w) - many;                                               \
				hi -= many;                                                        \
			}                                                                          \
		}                                                                                  \
		memcpy(kept + KEEP(w), x + l, (size_t)(r - l) * sizeof *x);                        \
		return lo + part_in_two_##w(x + lo, kept, KEEP(w) + r - l, by);                    \
	}
PART_IN_PLACE(32)
PART_IN_PLACE(64)

#endif
