/* SPDX-License-Identifier: Apache-2.0 */
/* loops/sort_network.h - a few keys that travel alone in order, in up to 32 vectors of AVX-512:
 * a part of sort_quick.h.
 *
 * Vectors are put in order each, then two by two, four by four and so on, by exchanges in an order
 * that depends on their number only.  Of a number that is no power of two those behind are above
 * all keys: nothing that meets one moves. */
#ifndef BRAZE_LOOPS_SORT_NETWORK_H
#define BRAZE_LOOPS_SORT_NETWORK_H

#include <immintrin.h>

#define NETWORK_VECTORS 32
#define LITTLE(w)	(NETWORK_VECTORS * 512 / (w))
#define ALL_OF		_Pragma("GCC unroll 32")

/* The lesser of each two lanes to a, the greater to b.  Of 64 bits one comparison is chosen by: the
 * lesser and the greater of such are two operations each on some processors. */
ALWAYS void exchange_32(__m512i *a, __m512i *b)
{
	const __m512i lo = _mm512_min_epu32(*a, *b);

	*b = _mm512_max_epu32(*a, *b);
	*a = lo;
}
ALWAYS void exchange_64(__m512i *a, __m512i *b)
{
	const __mmask8 falls = _mm512_cmpgt_epu64_mask(*a, *b);
	const __m512i lo = _mm512_mask_mov_epi64(*a, falls, *b);

	*b = _mm512_mask_mov_epi64(*b, falls, *a);
	*a = lo;
}

/* Lanes with those that `other` has in their places; the greater ones where the mask is set. */
ALWAYS __m512i within_32(__m512i a, __m512i other, __mmask16 mask)
{
	return _mm512_mask_max_epu32(_mm512_min_epu32(a, other), mask, a, other);
}
ALWAYS __m512i within_64(__m512i a, __m512i other, __mmask8 mask)
{
	const __mmask8 falls = _mm512_cmpgt_epu64_mask(a, other);

	return _mm512_mask_mov_epi64(a, _kxor_mask8(falls, mask), other);
}
#define WITHIN(w, v, other, mask) ((v) = within_##w(v, other, mask))

#define back_32(v)                                                                                 \
	_mm512_permutexvar_epi32(                                                                  \
		_mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), v)
#define back_64(v) _mm512_permutexvar_epi64(_mm512_setr_epi64(7, 6, 5, 4, 3, 2, 1, 0), v)
/* Each half turned round. */
#define back_half_32(v)                                                                            \
	_mm512_permutexvar_epi32(                                                                  \
		_mm512_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8), v)

/* A vector whose keys rise, then fall, or the other way: from halves, or from quarters on. */
ALWAYS __m512i quarters_32(__m512i v)
{
	WITHIN(32, v, _mm512_permutex_epi64(v, 0x4e), 0xf0f0);
	WITHIN(32, v, _mm512_shuffle_epi32(v, 0x4e), 0xcccc);
	WITHIN(32, v, _mm512_shuffle_epi32(v, 0xb1), 0xaaaa);
	return v;
}
ALWAYS __m512i quarters_64(__m512i v)
{
	WITHIN(64, v, _mm512_permutex_epi64(v, 0x4e), 0xcc);
	WITHIN(64, v, _mm512_shuffle_epi32(v, 0x4e), 0xaa);
	return v;
}
ALWAYS __m512i clean_32(__m512i v)
{
	WITHIN(32, v, _mm512_shuffle_i64x2(v, v, 0x4e), 0xff00);
	return quarters_32(v);
}
ALWAYS __m512i clean_64(__m512i v)
{
	WITHIN(64, v, _mm512_shuffle_i64x2(v, v, 0x4e), 0xf0);
	return quarters_64(v);
}
/* Any vector. */
ALWAYS __m512i alone_32(__m512i v)
{
	WITHIN(32, v, _mm512_shuffle_epi32(v, 0xb1), 0xaaaa);
	WITHIN(32, v, _mm512_shuffle_epi32(v, 0x1b), 0xcccc);
	WITHIN(32, v, _mm512_shuffle_epi32(v, 0xb1), 0xaaaa);
	WITHIN(32, v, back_half_32(v), 0xf0f0);
	WITHIN(32, v, _mm512_shuffle_epi32(v, 0x4e), 0xcccc);
	WITHIN(32, v, _mm512_shuffle_epi32(v, 0xb1), 0xaaaa);
	WITHIN(32, v, back_32(v), 0xff00);
	return quarters_32(v);
}
ALWAYS __m512i alone_64(__m512i v)
{
	WITHIN(64, v, _mm512_shuffle_epi32(v, 0x4e), 0xaa);
	WITHIN(64, v, _mm512_permutex_epi64(v, 0x1b), 0xcc);
	WITHIN(64, v, _mm512_shuffle_epi32(v, 0x4e), 0xaa);
	WITHIN(64, v, back_64(v), 0xf0);
	return quarters_64(v);
}

/* Eight vectors, each in order: their lanes are sorted across, by fewer exchanges, and turned. */
ALWAYS void square_64(__m512i *v)
{
	static const unsigned char pair[19][2] = {
		{0, 2}, {1, 3}, {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}, {0, 1}, {2, 3},
		{4, 5}, {6, 7}, {2, 4}, {3, 5}, {1, 4}, {3, 6}, {1, 2}, {3, 4}, {5, 6}};
	__m512i a[8], b[8];

	_Pragma("GCC unroll 19") for (int i = 0; i < 19; i++)
		exchange_64(&v[pair[i][0]], &v[pair[i][1]]);
	ALL_OF for (int i = 0; i < 4; i++)
	{
		a[i] = _mm512_unpacklo_epi64(v[2 * i], v[2 * i + 1]);
		a[i + 4] = _mm512_unpackhi_epi64(v[2 * i], v[2 * i + 1]);
	}
	ALL_OF for (int i = 0; i < 8; i += 2)
	{
		b[i] = _mm512_shuffle_i64x2(a[i], a[i + 1], 0x88);
		b[i + 1] = _mm512_shuffle_i64x2(a[i], a[i + 1], 0xdd);
	}
	ALL_OF for (int i = 0; i < 8; i += 4)
	{
		v[i] = _mm512_shuffle_i64x2(b[i], b[i + 2], 0x88);
		v[i + 1] = _mm512_shuffle_i64x2(b[i], b[i + 2], 0xdd);
		v[i + 2] = _mm512_shuffle_i64x2(b[i + 1], b[i + 3], 0x88);
		v[i + 3] = _mm512_shuffle_i64x2(b[i + 1], b[i + 3], 0xdd);
	}
}
/* Any nv vectors, each in order. */
ALWAYS void each_32(__m512i *v, const int nv)
{
	ALL_OF for (int i = 0; i < nv; i++) v[i] = alone_32(v[i]);
}
ALWAYS void each_64(__m512i *v, const int nv)
{
	ALL_OF for (int i = 0; i + 8 <= nv; i += 8) square_64(v + i);
	ALL_OF for (int i = nv & ~7; i < nv; i++) v[i] = alone_64(v[i]);
}

/* The first of a vector, so many times 4 bytes of it: masks would make stores slow. */
ALWAYS void put(void *to, unsigned words, __m512i v)
{
	__m256i half = _mm512_castsi512_si256(v);
	__m128i part;
	char *at = to;

	if (words & 8) {
		_mm256_storeu_si256((__m256i *)(void *)at, half);
		half = _mm512_extracti64x4_epi64(v, 1);
		at += 32;
	}
	part = _mm256_castsi256_si128(half);
	if (words & 4) {
		_mm_storeu_si128((__m128i *)(void *)at, part);
		part = _mm256_extracti128_si256(half, 1);
		at += 16;
	}
	if (words & 2) {
		_mm_storel_epi64((__m128i *)(void *)at, part);
		part = _mm_srli_si128(part, 8);
		at += 8;
	}
	if (words & 1)
		_mm_storeu_si32(at, part);
}

/* Of a vector's lanes those in front of `left`. */
#define MASK_32(left) ((__mmask16)_bzhi_u32(0xffff, (u32)((left) < 16 ? (left) : 16)))
#define MASK_64(left) ((__mmask8)_bzhi_u32(0xff, (u32)((left) < 8 ? (left) : 8)))

#define NETWORK(w)                                                                                 \
	/* Each n vectors of nv, whose halves are in order: the later half's keys come from its    \
	 * end, and stay so in each vector. */                                                     \
	ALWAYS void halves_##w(__m512i *v, const int n, const int nv)                              \
	{                                                                                          \
		ALL_OF for (int at = 0; at < nv; at += n)                                          \
		{                                                                                  \
			ALL_OF for (int i = 0; i < n / 2; i++)                                     \
			{                                                                          \
				const int k = at + n - 1 - i;                                      \
				if (k < nv) {                                                      \
					v[k] = back_##w(v[k]);                                     \
					exchange_##w(&v[at + i], &v[k]);                           \
				}                                                                  \
			}                                                                          \
		}                                                                                  \
		ALL_OF for (int step = n / 4; step; step /= 2)                                     \
		{                                                                                  \
			ALL_OF for (int i = 0; i < nv; i++)                                        \
			{                                                                          \
				if (!(i & step) && i + step < nv)                                  \
					exchange_##w(&v[i], &v[i + step]);                         \
			}                                                                          \
		}                                                                                  \
		ALL_OF for (int i = 0; i < nv; i++) v[i] = clean_##w(v[i]);                        \
	}                                                                                          \
	/* n keys in nv vectors, where they lie or elsewhere; only the last may be a part. */      \
	ALWAYS void network_##w(u##w *to, const u##w *x, int n, const int nv)                      \
	{                                                                                          \
		const int per = 512 / (w);                                                         \
		__m512i v[NETWORK_VECTORS];                                                        \
                                                                                                   \
		ALL_OF for (int i = 0; i < nv; i++)                                                \
		{                                                                                  \
			const int left = n > i * per ? n - i * per : 0;                            \
			v[i] = _mm512_mask_loadu_epi##w(_mm512_set1_epi32(-1), MASK_##w(left),     \
							x + i * per);                              \
		}                                                                                  \
		each_##w(v, nv);                                                                   \
		ALL_OF for (int k = 2; k < 2 * nv; k *= 2) halves_##w(v, k, nv);                   \
		ALL_OF for (int i = 0; i < nv; i++)                                                \
		{                                                                                  \
			const int left = n > i * per ? n - i * per : 0;                            \
			if (left >= per)                                                           \
				_mm512_storeu_si512(to + i * per, v[i]);                           \
			else if (left)                                                             \
				put(to + i * per, (unsigned)left * ((w) / 32), v[i]);              \
		}                                                                                  \
	}                                                                                          \
	static __attribute__((noinline)) void network_most_##w(u##w *to, const u##w *x, int n)     \
	{                                                                                          \
		if (n <= 10 * 512 / (w))                                                           \
			network_##w(to, x, n, 10);                                                 \
		else if (n <= 12 * 512 / (w))                                                      \
			network_##w(to, x, n, 12);                                                 \
		else if (n <= 14 * 512 / (w))                                                      \
			network_##w(to, x, n, 14);                                                 \
		else if (n <= 16 * 512 / (w))                                                      \
			network_##w(to, x, n, 16);                                                 \
		else if (n <= 20 * 512 / (w))                                                      \
			network_##w(to, x, n, 20);                                                 \
		else if (n <= 24 * 512 / (w))                                                      \
			network_##w(to, x, n, 24);                                                 \
		else if (n <= 28 * 512 / (w))                                                      \
			network_##w(to, x, n, 28);                                                 \
		else                                                                               \
			network_##w(to, x, n, 32);                                                 \
	}                                                                                          \
	static void little_##w(u##w *to, const u##w *x, int n)                                     \
	{                                                                                          \
		switch ((n + 512 / (w)-1) / (512 / (w))) {                                         \
		case 0:                                                                            \
		case 1:                                                                            \
			network_##w(to, x, n, 1);                                                  \
			break;                                                                     \
		case 2:                                                                            \
			network_##w(to, x, n, 2);                                                  \
			break;                                                                     \
		case 3:                                                                            \
			network_##w(to, x, n, 3);                                                  \
			break;                                                                     \
		case 4:                                                                            \
			network_##w(to, x, n, 4);                                                  \
			break;                                                                     \
		case 5:                                                                            \
		case 6:                                                                            \
			network_##w(to, x, n, 6);                                                  \
			break;                                                                     \
		case 7:                                                                            \
		case 8:                                                                            \
			network_##w(to, x, n, 8);                                                  \
			break;                                                                     \
		default:                                                                           \
			network_most_##w(to, x, n);                                                \
		}                                                                                  \
	}

NETWORK(32)
NETWORK(64)

#endif
