/* SPDX-License-Identifier: Apache-2.0 */
/* loops/sort_isa.c - the inner loops of sorting, once per instruction set.
 *
 * In:  SORT_ISA, the name of the table to define.  A few items are sorted by counting for each how
 * many come before it, whole vectors at a time; a block by the digits of its keys; sorted runs by
 * merging, four stretches of the result at a time.  None of it branches on what elements compare.
 */
#include "sort.h"
#include <string.h>

#define ALWAYS static inline __attribute__((always_inline))

typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef unsigned __int128 u128;
typedef struct {
	u64 key, place;
} p64;
typedef struct {
	u128 key;
	u64 place;
} p128;

#define KEY_OF_KEY(x)	(x)
#define KEY_OF_PLACE(x) ((x).key)

/* ---- Keys of elements ---- */

/* Of floating elements in the order of NumPy, by all their bits: from -inf up, then nans.  M0 and
 * P0 are the zeros', what lies above INF is a nan. */
#define SIGN(w)	 ((u##w)((u##w)1 << (w - 1)))
#define BELOW_16 0x03ffu /* of the key of -inf, were negative nans first */
#define BELOW_32 0x007fffffu
#define BELOW_64 0x000fffffffffffffu
#define M0(w)	 ((u##w)(SIGN(w) - 1 - BELOW_##w))
#define P0(w)	 ((u##w)(M0(w) + 1))
#define INF(w)	 ((u##w)(2 * (u##w)M0(w) + 1))
#define ALL(w)	 ((u##w) - 1)

#define FLOAT_KEYS(w)                                                                              \
	ALWAYS u##w of_float_##w(u##w x)                                                           \
	{                                                                                          \
		u##w turn = (u##w)((u##w)((i##w)x >> (w - 1)) | SIGN(w));                          \
		return (u##w)((u##w)(x ^ turn) - BELOW_##w);                                       \
	}                                                                                          \
	ALWAYS u##w to_float_##w(u##w key)                                                         \
	{                                                                                          \
		u##w x = (u##w)(key + BELOW_##w);                                                  \
		u##w turn = (u##w)(~(u##w)((i##w)x >> (w - 1)) | SIGN(w));                         \
		return (u##w)(x ^ turn);                                                           \
	}                                                                                          \
	/* One key for what compares equal. */                                                     \
	ALWAYS u##w equal_##w(u##w key)                                                            \
	{                                                                                          \
		key = (u##w)(key + (key == M0(w)));                                                \
		return key > INF(w) ? ALL(w) : key;                                                \
	}                                                                                          \
	ALWAYS bool is_odd_##w(u##w key)                                                           \
	{                                                                                          \
		return key == M0(w) || key > INF(w);                                               \
	}
FLOAT_KEYS(16)
FLOAT_KEYS(32)
FLOAT_KEYS(64)

/* NumPy's order of complex numbers: those without a nan by both parts, then those whose imaginary
 * part is one, by the other; then likewise for the real part; then both. */
#define COMPLEX_KEY(w, wide)                                                                       \
	ALWAYS u##wide of_complex_##w(const u##w *x)                                               \
	{                                                                                          \
		u##w re = equal_##w(of_float_##w(x[0])), im = equal_##w(of_float_##w(x[1]));       \
		bool odd = re == ALL(w), ends = im == ALL(w);                                      \
		u##w high = !(odd | ends) ? re : (u##w)(ALL(w) - 3 + odd * 2 + (odd & ends));      \
		u##w low = (!odd & ends) ? re : im;                                                \
		return (u##wide)high << w | low;                                                   \
	}
COMPLEX_KEY(32, 64)
COMPLEX_KEY(64, 128)

#define INTS(w)                                                                                    \
	ALWAYS u##w of_i##w(u##w x)                                                                \
	{                                                                                          \
		return x ^ SIGN(w);                                                                \
	}                                                                                          \
	ALWAYS u##w of_u##w(u##w x)                                                                \
	{                                                                                          \
		return x;                                                                          \
	}
INTS(8)
INTS(16)
INTS(32)
INTS(64)
ALWAYS u8 of_b1(u8 x)
{
	return x != 0;
}
#define of_f16 of_float_16
#define of_f32 of_float_32
#define of_f64 of_float_64
#define to_f16 to_float_16
#define to_f32 to_float_32
#define to_f64 to_float_64
#define to_i8  of_i8
#define to_i16 of_i16
#define to_i32 of_i32
#define to_i64 of_i64
#define to_u8  of_u8
#define to_u16 of_u16
#define to_u32 of_u32
#define to_u64 of_u64
/* Of the other types nothing is odd. */
#define odd_no(key)  0
#define odd_f16(key) is_odd_16(key)
#define odd_f32(key) is_odd_32(key)
#define odd_f64(key) is_odd_64(key)

#include "sort_turn.h"
/* ---- Elements in, elements or places out ---- */

/* Runs `body` for each element: x its address, i its number in its lane, k in the items. */
#define EACH(p, size, body)                                                                        \
	do {                                                                                       \
		const int64_t n_ = (p)->n, s_ = (p)->step, d_ = (p)->lane, l_ = (p)->lanes;        \
		char *const at_ = (p)->at;                                                         \
		if (l_ > 1 && (d_ < 0 ? -d_ : d_) < (s_ < 0 ? -s_ : s_)) {                         \
			for (int64_t i = 0; i < n_; i++)                                           \
				for (int64_t l = 0; l < l_; l++) {                                 \
					char *const x = at_ + i * s_ + l * d_;                     \
					const int64_t k = l * n_ + i;                              \
					body                                                       \
				}                                                                  \
		} else if (s_ == (size)) {                                                         \
			for (int64_t l = 0; l < l_; l++)                                           \
				for (int64_t i = 0; i < n_; i++) {                                 \
					char *const x = at_ + l * d_ + i * (size);                 \
					const int64_t k = l * n_ + i;                              \
					body                                                       \
				}                                                                  \
		} else {                                                                           \
			for (int64_t l = 0; l < l_; l++)                                           \
				for (int64_t i = 0; i < n_; i++) {                                 \
					char *const x = at_ + l * d_ + i * s_;                     \
					const int64_t k = l * n_ + i;                              \
					body                                                       \
				}                                                                  \
		}                                                                                  \
	} while (0)

/* Rows that follow each other are one. */
ALWAYS struct sort_patch joined(const struct sort_patch *p)
{
	struct sort_patch q = *p;

	if (p->lanes > 1 && p->lane == p->n * p->step) {
		q.n *= q.lanes;
		q.lanes = 1;
	}
	return q;
}

#define VALUES(name, t, to_key, from_key, odd_key)                                                 \
	ALWAYS t squares_to_##name(t *restrict to, const struct sort_patch *p)                     \
	{                                                                                          \
		t##x8 rows[TURN_SIDE], lanes[TURN_SIDE];                                           \
		t odd = 0;                                                                         \
                                                                                                   \
		SQUARES(p, {                                                                       \
			fetch_##t(rows, x, p->step);                                               \
			turn_##t(lanes, rows);                                                     \
			put_##t((char *)(to + k), p->n *(int64_t)sizeof(t), lanes);                \
		})                                                                                 \
		REST(p, { to[k] = *(const t *)x; })                                                \
		for (int64_t k = 0; k < p->n * p->lanes; k++) {                                    \
			to[k] = to_key(to[k]);                                                     \
			odd |= odd_key(to[k]);                                                     \
		}                                                                                  \
		return odd;                                                                        \
	}                                                                                          \
	ALWAYS void squares_of_##name(const struct sort_patch *p, const t *restrict from)          \
	{                                                                                          \
		t##x8 rows[TURN_SIDE], lanes[TURN_SIDE];                                           \
		t own[TURN_SIDE][TURN_SIDE];                                                       \
                                                                                                   \
		SQUARES(p, {                                                                       \
			for (int v = 0; v < TURN_SIDE; v++)                                        \
				for (int e = 0; e < TURN_SIDE; e++)                                \
					own[v][e] = from_key(from[k + v * p->n + e]);              \
			fetch_##t(lanes, (const char *)own, sizeof own[0]);                        \
			turn_##t(rows, lanes);                                                     \
			put_##t(x, p->step, rows);                                                 \
		})                                                                                 \
		REST(p, { *(t *)x = from_key(from[k]); })                                          \
	}                                                                                          \
	static bool load_##name(void *items, const struct sort_patch *from)                        \
	{                                                                                          \
		const struct sort_patch p = joined(from);                                          \
		t *restrict to = items, odd = 0;                                                   \
                                                                                                   \
		if (has_squares(&p, sizeof(t)))                                                    \
			return squares_to_##name(to, &p) != 0;                                     \
		EACH(&p, (int64_t)sizeof(t), {                                                     \
			to[k] = to_key(*(const t *)x);                                             \
			odd |= odd_key(to[k]);                                                     \
		});                                                                                \
		return odd != 0;                                                                   \
	}                                                                                          \
	static void store_##name(const struct sort_patch *to, const void *items)                   \
	{                                                                                          \
		const struct sort_patch p = joined(to);                                            \
		const t *restrict from = items;                                                    \
                                                                                                   \
		if (has_squares(&p, sizeof(t))) {                                                  \
			squares_of_##name(&p, from);                                               \
			return;                                                                    \
		}                                                                                  \
		EACH(&p, (int64_t)sizeof(t), { *(t *)x = from_key(from[k]); });                    \
	}
VALUES(b1, u8, of_b1, of_b1, odd_no)
VALUES(i8, u8, of_i8, to_i8, odd_no)
VALUES(u8, u8, of_u8, to_u8, odd_no)
VALUES(i16, u16, of_i16, to_i16, odd_no)
VALUES(u16, u16, of_u16, to_u16, odd_no)
VALUES(i32, u32, of_i32, to_i32, odd_no)
VALUES(u32, u32, of_u32, to_u32, odd_no)
VALUES(i64, u64, of_i64, to_i64, odd_no)
VALUES(u64, u64, of_u64, to_u64, odd_no)
VALUES(f16, u16, of_f16, to_f16, odd_f16)
VALUES(f32, u32, of_f32, to_f32, odd_f32)
VALUES(f64, u64, of_f64, to_f64, odd_f64)

/* Keys with places; of up to four bytes both fit 64 bits. */
#define LOAD_PLACES(name, t, size, T, item)                                                        \
	static bool load_place_##name(void *items, const struct sort_patch *from)                  \
	{                                                                                          \
		T *restrict to = items;                                                            \
                                                                                                   \
		EACH(from, (int64_t)(size), {                                                      \
			const t *e = (const t *)x;                                                 \
			const u64 place = (u64)(from->first + i);                                  \
			to[k] = item;                                                              \
		});                                                                                \
		return false;                                                                      \
	}
#define PLACED(name, t, key) LOAD_PLACES(name, t, sizeof(t), u64, (u64)(key) << 32 | place)
#define BESIDE(name, t, key) LOAD_PLACES(name, t, sizeof(t), p64, ((p64){key, place}))
PLACED(b1, u8, of_b1(*e))
PLACED(i8, u8, of_i8(*e))
PLACED(u8, u8, of_u8(*e))
PLACED(i16, u16, of_i16(*e))
PLACED(u16, u16, of_u16(*e))
PLACED(i32, u32, of_i32(*e))
PLACED(u32, u32, of_u32(*e))
PLACED(f16, u16, equal_16(of_f16(*e)))
PLACED(f32, u32, equal_32(of_f32(*e)))
BESIDE(i64, u64, of_i64(*e))
BESIDE(u64, u64, of_u64(*e))
BESIDE(f64, u64, equal_64(of_f64(*e)))
LOAD_PLACES(c64, u32, 8, p64, ((p64){of_complex_32(e), place}))
LOAD_PLACES(c128, u64, 16, p128, ((p128){of_complex_64(e), place}))

#define PLACE_OF_u64(x)	 ((u32)(x))
#define PLACE_OF_p64(x)	 ((x).place)
#define PLACE_OF_p128(x) ((x).place)
#define PLACES(T)                                                                                  \
	static void store_place_##T(const struct sort_patch *to, const void *items)                \
	{                                                                                          \
		const struct sort_patch p = joined(to);                                            \
		const T *restrict from = items;                                                    \
                                                                                                   \
		EACH(&p, 8, { *(i64 *)x = (i64)PLACE_OF_##T(from[k]); });                          \
	}                                                                                          \
	static void places_##T(int64_t *to, const void *items, int64_t n)                          \
	{                                                                                          \
		for (int64_t i = 0; i < n; i++)                                                    \
			to[i] = (i64)PLACE_OF_##T(((const T *)items)[i]);                          \
	}
PLACES(u64)
PLACES(p64)
PLACES(p128)

/* ---- A few items ---- */

#define FEW 64
#ifdef __AVX512F__
#define VECTOR 64
#elif defined __AVX2__
#define VECTOR 32
#else
#define VECTOR 16
#endif

/* How many come before each of n keys, in nv vectors: those that are less, and of the equal ones
 * those in front.  Each starts with all that lie in vectors in front of it. */
#define RANKS(S, w)                                                                                \
	typedef S vec_##w __attribute__((vector_size(VECTOR), may_alias));                         \
	enum { PER_##w = VECTOR / (int)sizeof(S) };                                                \
	ALWAYS void rank_##w(vec_##w *rank, const vec_##w *key, int n, int nv)                     \
	{                                                                                          \
		const S *one = (const S *)key;                                                     \
		vec_##w lane = {0};                                                                \
                                                                                                   \
		for (int i = 0; i < PER_##w; i++)                                                  \
			lane[i] = (S)i;                                                            \
		for (int v = 0; v < nv; v++)                                                       \
			rank[v] = (vec_##w){0} + (S)(v * PER_##w);                                 \
		for (int own = 0; own < nv; own++)                                                 \
			for (int i = 0; i < PER_##w && own * PER_##w + i < n; i++) {               \
				const vec_##w x = (vec_##w){0} + one[own * PER_##w + i];           \
                                                                                                   \
				for (int v = 0; v < own; v++)                                      \
					rank[v] -= key[v] > x;                                     \
				rank[own] -= (key[own] > x) |                                      \
					     ((key[own] == x) & (lane > (vec_##w){0} + (S)i));     \
				for (int v = own + 1; v < nv; v++)                                 \
					rank[v] += x > key[v];                                     \
			}                                                                          \
	}                                                                                          \
	ALWAYS void ranks_##w(vec_##w *rank, const vec_##w *key, int n)                            \
	{                                                                                          \
		const int nv = (n + PER_##w - 1) / PER_##w;                                        \
                                                                                                   \
		switch (nv) {                                                                      \
		case 1:                                                                            \
			rank_##w(rank, key, n, 1);                                                 \
			break;                                                                     \
		case 2:                                                                            \
			rank_##w(rank, key, n, 2);                                                 \
			break;                                                                     \
		case 3:                                                                            \
			rank_##w(rank, key, n, 3);                                                 \
			break;                                                                     \
		case 4:                                                                            \
			rank_##w(rank, key, n, 4);                                                 \
			break;                                                                     \
		default:                                                                           \
			rank_##w(rank, key, n, nv);                                                \
		}                                                                                  \
	}
RANKS(i8, 8)
RANKS(i16, 16)
#ifndef __AVX2__
RANKS(i32, 32)
#endif
RANKS(i64, 64)

#define SORT_FEW(T, w, KEY)                                                                        \
	static void few_##T(T *to, T *items, int n)                                                \
	{                                                                                          \
		i##w key[FEW] __attribute__((aligned(VECTOR)));                                    \
		i##w rank[FEW] __attribute__((aligned(VECTOR)));                                   \
                                                                                                   \
		for (int i = 0; i < n; i++)                                                        \
			key[i] = (i##w)(KEY(items[i]) ^ SIGN(w));                                  \
		for (int i = n; i < FEW && i % PER_##w; i++)                                       \
			key[i] = 0;                                                                \
		ranks_##w((vec_##w *)rank, (const vec_##w *)key, n);                               \
		for (int i = 0; i < n; i++)                                                        \
			to[rank[i]] = items[i];                                                    \
	}
SORT_FEW(u8, 8, KEY_OF_KEY)
SORT_FEW(u16, 16, KEY_OF_KEY)
#ifndef __AVX2__
SORT_FEW(u32, 32, KEY_OF_KEY)
SORT_FEW(u64, 64, KEY_OF_KEY)
#endif
SORT_FEW(p64, 64, KEY_OF_PLACE)

/* ---- A block ---- */

#ifdef __AVX2__
#include "sort_quick.h"
#define QUICK_u32 quick_32
#define QUICK_u64 quick_64
#define SMALL_u32 little_32
#define SMALL_u64 little_64
#else
#define LITTLE(w) FEW
#define SMALL_u32 few_u32
#define SMALL_u64 few_u64
#define QUICK_u32 quick_not
#define QUICK_u64 quick_not
#endif
#define quick_not(to, x, y, n, depth) (void)(to)

#define SOME	  2048
#define WIDE	  4096 /* items from which on digits of 11 bits pay for their buckets */
#define FEW_BITS  24   /* of keys: they tell up to SOME items apart, mostly; */
#define MORE_BITS 33   /* and these more */
#define PATIENCE  8    /* moves an item, to put in order what they did not */
#define LOOKED	  64   /* first items that mostly tell as much as all */
#define NARROW	  16   /* bits of keys that digits tell apart sooner than parts do, */
#ifdef __AVX512F__
#define PARTS_32 INT64_MAX
#define PARTS_64 INT64_MAX
#elif defined(__AVX2__)
#define PARTS_32 INT64_MAX
#define PARTS_64 512 /* items from which on that is so of wide keys */
#else
#define PARTS_32 0
#define PARTS_64 0
#endif
#define UNEVEN 4 /* times as many parts in parts as there should be */

/* Stable, by insertion; false: it takes too long. */
#define INSERTION(T, KEY)                                                                          \
	static bool insertion_##T(T *x, int64_t n)                                                 \
	{                                                                                          \
		int64_t left = n <= FEW ? INT64_MAX : n * PATIENCE;                                \
                                                                                                   \
		for (int64_t i = 1; i < n && left > 0; i++) {                                      \
			const T item = x[i];                                                       \
			int64_t k = i;                                                             \
                                                                                                   \
			for (; k && KEY(item) < KEY(x[k - 1]); k--)                                \
				x[k] = x[k - 1];                                                   \
			x[k] = item;                                                               \
			left -= i - k;                                                             \
		}                                                                                  \
		return left > 0;                                                                   \
	}

/* By `digits` digits of so many bits, from bit `low` of what is above `base` on, the lowest first,
 * to and fro between x and y: where they are in the end. */
#define BY_DIGITS(T, U, KEY)                                                                       \
	ALWAYS T *by_##T(T *x, T *y, int64_t n, U base, unsigned low, int digits, unsigned bits)   \
	{                                                                                          \
		const u32 mask = (1u << bits) - 1;                                                 \
		u32 count[digits][mask + 1];                                                       \
                                                                                                   \
		memset(count, 0, sizeof count);                                                    \
		for (int64_t i = 0; i < n; i++) {                                                  \
			const U key = (U)(KEY(x[i]) - base) >> low;                                \
                                                                                                   \
			for (int d = 0; d < digits; d++)                                           \
				count[d][(u32)(key >> (bits * (unsigned)d)) & mask]++;             \
		}                                                                                  \
		for (int d = 0; d < digits; d++) {                                                 \
			const unsigned shift = low + bits * (unsigned)d;                           \
			u32 sum = 0;                                                               \
			T *restrict z = y;                                                         \
                                                                                                   \
			if (count[d][(u32)((U)(KEY(x[0]) - base) >> shift) & mask] == n)           \
				continue;                                                          \
			for (u32 k = 0; k <= mask; k++) {                                          \
				const u32 here = count[d][k];                                      \
				count[d][k] = sum;                                                 \
				sum += here;                                                       \
			}                                                                          \
			for (int64_t i = 0; i < n; i++)                                            \
				z[count[d][(u32)((U)(KEY(x[i]) - base) >> shift) & mask]++] =      \
					x[i];                                                      \
			y = x;                                                                     \
			x = z;                                                                     \
		}                                                                                  \
		return x;                                                                          \
	}                                                                                          \
	static T *digits_##T(T *x, T *y, int64_t n, U base, unsigned low, int bits)                \
	{                                                                                          \
		if (n >= WIDE && bits > 8) {                                                       \
			switch ((bits + 10) / 11) {                                                \
			case 1:                                                                    \
				return by_##T(x, y, n, base, low, 1, 11);                          \
			case 2:                                                                    \
				return by_##T(x, y, n, base, low, 2, 11);                          \
			case 3:                                                                    \
				return by_##T(x, y, n, base, low, 3, 11);                          \
			default:                                                                   \
				break;                                                             \
			}                                                                          \
		}                                                                                  \
		switch ((bits + 7) / 8) {                                                          \
		case 1:                                                                            \
			return by_##T(x, y, n, base, low, 1, 8);                                   \
		case 2:                                                                            \
			return by_##T(x, y, n, base, low, 2, 8);                                   \
		case 3:                                                                            \
			return by_##T(x, y, n, base, low, 3, 8);                                   \
		default:                                                                           \
			return by_##T(x, y, n, base, low, (bits + 7) / 8, 8);                      \
		}                                                                                  \
	}

ALWAYS int bits_of(u128 x)
{
	const u64 high = (u64)(x >> 64), low = (u64)x;

	return high ? 128 - __builtin_clzll(high) : low ? 64 - __builtin_clzll(low) : 0;
}

/* Keys that differ in many bits are sorted by the first of them, and what those do not tell apart
 * by insertion; where that is much, by all. */
#define BLOCK(T, U, KEY, quick)                                                                    \
	INSERTION(T, KEY)                                                                          \
	BY_DIGITS(T, U, KEY)                                                                       \
	static T *many_##T(T *x, T *y, int64_t n, unsigned low, U least, U most)                   \
	{                                                                                          \
		const int first = n <= SOME ? FEW_BITS : n < WIDE ? 32 : MORE_BITS;                \
		int all = 0;                                                                       \
		T *z = x;                                                                          \
                                                                                                   \
		least = (U)(least >> low << low); /* what lies below is no key's */                \
		all = bits_of((U)(most - least));                                                  \
		if (all - (int)low <= first)                                                       \
			return digits_##T(x, y, n, least, low, all - (int)low);                    \
		z = digits_##T(x, y, n, least, (unsigned)(all - first), first);                    \
		if (insertion_##T(z, n))                                                           \
			return z;                                                                  \
		return digits_##T(z, z == x ? y : x, n, least, low, all - (int)low);               \
	}                                                                                          \
	static void block_##T(void *to, void *items, int64_t n, unsigned low)                      \
	{                                                                                          \
		T *x = items, *sorted = x;                                                         \
		U least = 0, most = 0, falls = 0;                                                  \
                                                                                                   \
		if (n <= ((quick) ? LITTLE(8 * (int)sizeof(T)) : FEW)) {                           \
			SMALL_##T(to, x, (int)n);                                                  \
			return;                                                                    \
		}                                                                                  \
		least = most = KEY(x[0]);                                                          \
		for (int64_t i = 1, end = n < LOOKED ? n : LOOKED; i < n; end = n) {               \
			for (; i < end; i++) {                                                     \
				const U key = KEY(x[i]);                                           \
                                                                                                   \
				falls |= key < KEY(x[i - 1]);                                      \
				least = key < least ? key : least;                                 \
				most = key > most ? key : most;                                    \
			}                                                                          \
			/* Of the first ones that is mostly known. */                              \
			if (falls && n <= (quick) &&                                               \
			    bits_of((U)(most - least)) > NARROW + (int)low) {                      \
				QUICK_##T(to, x, (T *)to, n, UNEVEN *bits_of((u128)n));            \
				return;                                                            \
			}                                                                          \
		}                                                                                  \
		if (falls)                                                                         \
			sorted = many_##T(x, to, n, low, least, most);                             \
		if (sorted != to)                                                                  \
			memcpy(to, sorted, (size_t)n * sizeof *x);                                 \
	}
#define SMALL_u8   few_u8
#define SMALL_u16  few_u16
#define SMALL_p64  few_p64
#define SMALL_p128 few_p128
#define QUICK_u8   quick_not
#define QUICK_u16  quick_not
#define QUICK_p64  quick_not
#define QUICK_p128 quick_not
BLOCK(u8, u8, KEY_OF_KEY, 0)
BLOCK(u16, u16, KEY_OF_KEY, 0)
BLOCK(u32, u32, KEY_OF_KEY, PARTS_32)
BLOCK(u64, u64, KEY_OF_KEY, PARTS_64)
BLOCK(p64, u64, KEY_OF_PLACE, 0)
static bool insertion_p128(p128 *x, int64_t n);
static void few_p128(p128 *to, p128 *items, int n)
{
	memcpy(to, items, (size_t)n * sizeof *to);
	(void)insertion_p128(to, n);
}
BLOCK(p128, u128, KEY_OF_PLACE, 0)

/* ---- Runs ---- */

#include "sort_merge.h"

#define MERGE(T, JOIN)                                                                             \
	static void merge_##T(void *to, const void *a, int64_t na, const void *b, int64_t nb,      \
			      int64_t at, int64_t n, bool floating)                                \
	{                                                                                          \
		const T *x = a, *y = b;                                                            \
		const struct chain_##T all = {x, y, x + na, y + nb};                               \
		const struct chain_##T c = part_##T(&all, at, n, floating);                        \
                                                                                                   \
		if (n < LINKED || c.a == c.a_end || c.b == c.b_end)                                \
			rest_##T(c, to);                                                           \
		else                                                                               \
			LINKED_##T(to, &c, n, floating);                                           \
		if (floating)                                                                      \
			JOIN(to, c.a, c.a_end - c.a, c.b, c.b_end - c.b);                          \
	}
#define JOIN_NOT(to, a, na, b, nb) (void)(to)

/* Where the keys from `key` on begin; above: those beyond it. */
#define BOUND(w)                                                                                   \
	static int64_t bound_##w(const u##w *x, int64_t n, u##w key, bool above)                   \
	{                                                                                          \
		int64_t lo = 0, hi = n;                                                            \
                                                                                                   \
		while (lo < hi) {                                                                  \
			const int64_t mid = lo + (hi - lo) / 2;                                    \
                                                                                                   \
			if (x[mid] < key + above)                                                  \
				lo = mid + 1;                                                      \
			else                                                                       \
				hi = mid;                                                          \
		}                                                                                  \
		return lo;                                                                         \
	}                                                                                          \
	/* What is equal in two runs, whose lie at [ka, ea) and [kb, eb): the first run's first.   \
	 * Vectors do not keep the order of one run's either. */                                   \
	static void line_up_##w(u##w *to, const u##w *a, int64_t ka, int64_t ea, const u##w *b,    \
				int64_t kb, int64_t eb)                                            \
	{                                                                                          \
		if (ka < ea)                                                                       \
			memcpy(to + ka + kb, a + ka, (size_t)(ea - ka) * sizeof *to);              \
		if (kb < eb)                                                                       \
			memcpy(to + (ka < ea ? ea : ka) + kb, b + kb,                              \
			       (size_t)(eb - kb) * sizeof *to);                                    \
	}                                                                                          \
	static void join_##w(u##w *to, const u##w *a, int64_t na, const u##w *b, int64_t nb)       \
	{                                                                                          \
		line_up_##w(to, a, bound_##w(a, na, M0(w), false), bound_##w(a, na, P0(w), true),  \
			    b, bound_##w(b, nb, M0(w), false), bound_##w(b, nb, P0(w), true));     \
		line_up_##w(to, a, bound_##w(a, na, INF(w), true), na, b,                          \
			    bound_##w(b, nb, INF(w), true), nb);                                   \
	}                                                                                          \
	/* Elements [at, end) are those of as_read between two keys, in its order. */              \
	static void as_it_was_##w(u##w *x, int64_t at, int64_t end, const u##w *as_read,           \
				  int64_t n, u##w least, u##w most)                                \
	{                                                                                          \
		if (at >= end || x[at] == x[end - 1])                                              \
			return;                                                                    \
		for (int64_t i = 0; i < n && at < end; i++)                                        \
			if (as_read[i] >= least && as_read[i] <= most)                             \
				x[at++] = as_read[i];                                              \
	}                                                                                          \
	static void settle_##w(void *block, const void *as_read, int64_t n)                        \
	{                                                                                          \
		u##w *x = block;                                                                   \
                                                                                                   \
		as_it_was_##w(x, bound_##w(x, n, M0(w), false), bound_##w(x, n, P0(w), true),      \
			      as_read, n, M0(w), P0(w));                                           \
		as_it_was_##w(x, bound_##w(x, n, INF(w), true), n, as_read, n, (u##w)(INF(w) + 1), \
			      ALL(w));                                                             \
	}
BOUND(16)
BOUND(32)
BOUND(64)

MERGE(u8, JOIN_NOT)
MERGE(u16, join_16)
MERGE(u32, join_32)
MERGE(u64, join_64)
MERGE(p64, JOIN_NOT)
MERGE(p128, JOIN_NOT)

/* ---- The table ---- */

#define VALUE(name, item, floating)                                                                \
	{                                                                                          \
		load_##name, store_##name, item, 0, floating                                       \
	}
#define PLACE(name)                                                                                \
	{                                                                                          \
		load_place_##name, store_place_u64, SORT_64, 32, false                             \
	}
#define PLACE_BESIDE(name)                                                                         \
	{                                                                                          \
		load_place_##name, store_place_p64, SORT_64_PLACE, 0, false                        \
	}
#define FETCHED(name, item)                                                                        \
	{                                                                                          \
		load_place_##name, NULL, item, 0, false                                            \
	}

const struct sort_isa SORT_ISA = {
	.loops = {[SORT_8] = {1, block_u8, NULL, merge_u8, NULL},
		  [SORT_16] = {2, block_u16, settle_16, merge_u16, NULL},
		  [SORT_32] = {4, block_u32, settle_32, merge_u32, NULL},
		  [SORT_64] = {8, block_u64, settle_64, merge_u64, places_u64},
		  [SORT_64_PLACE] = {sizeof(p64), block_p64, NULL, merge_p64, places_p64},
		  [SORT_128_PLACE] = {sizeof(p128), block_p128, NULL, merge_p128, places_p128}},
	.values = {[DT_BOOL] = VALUE(b1, SORT_8, false),
		   [DT_INT8] = VALUE(i8, SORT_8, false),
		   [DT_UINT8] = VALUE(u8, SORT_8, false),
		   [DT_INT16] = VALUE(i16, SORT_16, false),
		   [DT_UINT16] = VALUE(u16, SORT_16, false),
		   [DT_FLOAT16] = VALUE(f16, SORT_16, true),
		   [DT_INT32] = VALUE(i32, SORT_32, false),
		   [DT_UINT32] = VALUE(u32, SORT_32, false),
		   [DT_FLOAT32] = VALUE(f32, SORT_32, true),
		   [DT_INT64] = VALUE(i64, SORT_64, false),
		   [DT_UINT64] = VALUE(u64, SORT_64, false),
		   [DT_FLOAT64] = VALUE(f64, SORT_64, true),
		   [DT_COMPLEX64] = FETCHED(c64, SORT_64_PLACE),
		   [DT_COMPLEX128] = FETCHED(c128, SORT_128_PLACE)},
	.places = {[DT_BOOL] = PLACE(b1),
		   [DT_INT8] = PLACE(i8),
		   [DT_UINT8] = PLACE(u8),
		   [DT_INT16] = PLACE(i16),
		   [DT_UINT16] = PLACE(u16),
		   [DT_FLOAT16] = PLACE(f16),
		   [DT_INT32] = PLACE(i32),
		   [DT_UINT32] = PLACE(u32),
		   [DT_FLOAT32] = PLACE(f32),
		   [DT_INT64] = PLACE_BESIDE(i64),
		   [DT_UINT64] = PLACE_BESIDE(u64),
		   [DT_FLOAT64] = PLACE_BESIDE(f64),
		   [DT_COMPLEX64] = PLACE_BESIDE(c64),
		   [DT_COMPLEX128] = {load_place_c128, store_place_p128, SORT_128_PLACE, 0, false}},
};
