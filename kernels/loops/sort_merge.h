/* SPDX-License-Identifier: Apache-2.0 */
/* loops/sort_merge.h - two sorted runs merged: a part of sort_isa.c.
 *
 * Four stretches of the result are made at a time: what one waits for the others hide.  What lies
 * in the runs may be anybody's: it is not believed to be in order, only where it ends is. */
#ifndef BRAZE_LOOPS_SORT_MERGE_H
#define BRAZE_LOOPS_SORT_MERGE_H

#define CHAINS 4
#define LINKED 256 /* results from which on chains are worth their cuts */
#define SHORT  8   /* steps that are not */

#define ORDER_NOT(key, floating) (key)
#define ORDER_u16(key, floating) ((floating) ? equal_16(key) : (key))
#define ORDER_u32(key, floating) ((floating) ? equal_32(key) : (key))
#define ORDER_u64(key, floating) ((floating) ? equal_64(key) : (key))

/* Where places are moved with them, what is chosen is the address: gcc would branch. */
#define PICK_KEY(to, later, b, a) (to) = (later) ? *(b) : *(a)
#define PICK_ITEM(to, later, b, a)                                                                 \
	(to) = *(const __typeof__(to) *)((uintptr_t)(a) ^ (((uintptr_t)(a) ^ (uintptr_t)(b)) &     \
							   -(uintptr_t)(later)))

#define CHAINED(T, U, KEY, PICK, ORDER)                                                            \
	/* How many of the first d results come from a. */                                         \
	static int64_t cut_##T(const T *a, int64_t na, const T *b, int64_t nb, int64_t d,          \
			       bool floating)                                                      \
	{                                                                                          \
		int64_t lo = d > nb ? d - nb : 0, hi = d < na ? d : na;                            \
                                                                                                   \
		while (lo < hi) {                                                                  \
			const int64_t mid = lo + (hi - lo) / 2;                                    \
			const U x = KEY(a[mid]), y = KEY(b[d - 1 - mid]);                          \
                                                                                                   \
			if (ORDER(y, floating) < ORDER(x, floating))                               \
				hi = mid;                                                          \
			else                                                                       \
				lo = mid + 1;                                                      \
		}                                                                                  \
		return lo;                                                                         \
	}                                                                                          \
	struct chain_##T {                                                                         \
		const T *a, *b, *a_end, *b_end;                                                    \
	};                                                                                         \
	/* Steps before either run can end. */                                                     \
	ALWAYS int64_t safe_##T(const struct chain_##T *c)                                         \
	{                                                                                          \
		const int64_t a = c->a_end - c->a, b = c->b_end - c->b;                            \
                                                                                                   \
		return a < b ? a : b;                                                              \
	}                                                                                          \
	ALWAYS void step_##T(struct chain_##T *c, T *to)                                           \
	{                                                                                          \
		const bool later = KEY(*c->b) < KEY(*c->a);                                        \
                                                                                                   \
		PICK(*to, later, c->b, c->a);                                                      \
		c->a += !later;                                                                    \
		c->b += later;                                                                     \
	}                                                                                          \
	static void rest_##T(struct chain_##T c, T *to)                                            \
	{                                                                                          \
		for (int64_t n = safe_##T(&c); n; n = safe_##T(&c))                                \
			while (n--)                                                                \
				step_##T(&c, to++);                                                \
		memcpy(to, c.a, (size_t)(c.a_end - c.a) * sizeof *to);                             \
		to += c.a_end - c.a;                                                               \
		memcpy(to, c.b, (size_t)(c.b_end - c.b) * sizeof *to);                             \
	}                                                                                          \
	/* Of n results of the runs those [at, at + step): their part of both. */                  \
	static struct chain_##T part_##T(const struct chain_##T *c, int64_t at, int64_t step,      \
					 bool floating) {                                          \
		const int64_t na = c->a_end - c->a, nb = c->b_end - c->b;                          \
		const int64_t i = cut_##T(c->a, na, c->b, nb, at, floating);                       \
		int64_t j = cut_##T(c->a, na, c->b, nb, at + step, floating);                      \
                                                                                                   \
		/* What lies there may be anybody's. */                                            \
		j = j < i ? i : j > i + step ? i + step : j;                                       \
		return (struct chain_##T){c->a + i, c->b + (at - i), c->a + j,                     \
					  c->b + (at + step - j)};                                 \
	} static void linked_##T(T *to, const struct chain_##T *whole, int64_t n, bool floating)   \
	{                                                                                          \
		const int64_t q = n / CHAINS;                                                      \
		struct chain_##T c0 = part_##T(whole, 0, q, floating);                             \
		struct chain_##T c1 = part_##T(whole, q, q, floating);                             \
		struct chain_##T c2 = part_##T(whole, 2 * q, q, floating);                         \
		struct chain_##T c3 = part_##T(whole, 3 * q, n - 3 * q, floating);                 \
		T *to1 = to + q, *to2 = to1 + q, *to3 = to2 + q;                                   \
                                                                                                   \
		for (;;) {                                                                         \
			int64_t s = safe_##T(&c0), t = safe_##T(&c1);                              \
                                                                                                   \
			s = s < t ? s : t;                                                         \
			t = safe_##T(&c2);                                                         \
			s = s < t ? s : t;                                                         \
			t = safe_##T(&c3);                                                         \
			s = s < t ? s : t;                                                         \
			if (s < SHORT)                                                             \
				break;                                                             \
			for (int64_t i = 0; i < s; i++) {                                          \
				step_##T(&c0, to + i);                                             \
				step_##T(&c1, to1 + i);                                            \
				step_##T(&c2, to2 + i);                                            \
				step_##T(&c3, to3 + i);                                            \
			}                                                                          \
			to += s;                                                                   \
			to1 += s;                                                                  \
			to2 += s;                                                                  \
			to3 += s;                                                                  \
		}                                                                                  \
		rest_##T(c0, to);                                                                  \
		rest_##T(c1, to1);                                                                 \
		rest_##T(c2, to2);                                                                 \
		rest_##T(c3, to3);                                                                 \
	}
CHAINED(u8, u8, KEY_OF_KEY, PICK_KEY, ORDER_NOT)
CHAINED(u16, u16, KEY_OF_KEY, PICK_KEY, ORDER_u16)
CHAINED(u32, u32, KEY_OF_KEY, PICK_KEY, ORDER_u32)
CHAINED(u64, u64, KEY_OF_KEY, PICK_KEY, ORDER_u64)
CHAINED(p64, u64, KEY_OF_PLACE, PICK_ITEM, ORDER_NOT)
CHAINED(p128, u128, KEY_OF_PLACE, PICK_ITEM, ORDER_NOT)
#define LINKED_u8   linked_u8
#define LINKED_u16  linked_u16
#define LINKED_p64  linked_p64
#define LINKED_p128 linked_p128

#ifdef __AVX512F__
/* A vector at a time, of keys that travel alone: of what was read so far its greatest are held, the
 * next come from the run whose first is less, and the lesser half of both is the next result.
 * (After Inoue and others, AA-Sort, 2007.) */
#define VECTORS(w)                                                                                 \
	struct held_##w {                                                                          \
		struct chain_u##w c;                                                               \
		__m512i v;                                                                         \
	};                                                                                         \
	ALWAYS void vector_##w(struct held_##w *h, u##w *to)                                       \
	{                                                                                          \
		/* Never a branch, which it would be to guess. */                                  \
		const uintptr_t a = (uintptr_t)h->c.a, b = (uintptr_t)h->c.b;                      \
		const uintptr_t later = -(uintptr_t)(*h->c.b < *h->c.a);                           \
		__m512i lo = h->v;                                                                 \
		__m512i hi = back_##w(_mm512_loadu_si512((const void *)(a ^ ((a ^ b) & later))));  \
                                                                                                   \
		exchange_##w(&lo, &hi);                                                            \
		h->c.a = (const u##w *)(a + (64 & ~later));                                        \
		h->c.b = (const u##w *)(b + (64 & later));                                         \
		h->v = clean_##w(hi);                                                              \
		_mm512_storeu_si512(to, clean_##w(lo));                                            \
	}                                                                                          \
	ALWAYS int64_t vectors_##w(const struct held_##w *h)                                       \
	{                                                                                          \
		return safe_u##w(&h->c) / (512 / (w));                                             \
	}                                                                                          \
	/* One stretch to its end. */                                                              \
	static void held_rest_##w(struct held_##w *h, u##w *to)                                    \
	{                                                                                          \
		const int64_t per = 512 / (w);                                                     \
		struct chain_u##w c = h->c, some;                                                  \
		u##w held[512 / (w)], lesser[2 * 512 / (w)];                                       \
		bool later = false;                                                                \
		int64_t left = 0;                                                                  \
                                                                                                   \
		while (c.a_end - c.a >= per && c.b_end - c.b >= per) {                             \
			vector_##w(h, to);                                                         \
			to += per;                                                                 \
			c = h->c;                                                                  \
		}                                                                                  \
		/* Less than a vector of one: with what is held, and all that with the other. */   \
		_mm512_storeu_si512(held, h->v);                                                   \
		later = c.b_end - c.b < per;                                                       \
		left = later ? c.b_end - c.b : c.a_end - c.a;                                      \
		some = (struct chain_u##w){held, later ? c.b : c.a, held + per,                    \
					   later ? c.b_end : c.a_end};                             \
		rest_u##w(some, lesser);                                                           \
		some = (struct chain_u##w){lesser, later ? c.a : c.b, lesser + per + left,         \
					   later ? c.a_end : c.b_end};                             \
		rest_u##w(some, to);                                                               \
	}                                                                                          \
	static void held_linked_##w(u##w *to, const struct chain_u##w *whole, int64_t n,           \
				    bool floating)                                                 \
	{                                                                                          \
		const int64_t per = 512 / (w), q = n / CHAINS;                                     \
		struct held_##w h[CHAINS];                                                         \
                                                                                                   \
		for (int k = 0; k < CHAINS; k++) {                                                 \
			struct chain_u##w *c = &h[k].c;                                            \
                                                                                                   \
			*c = part_u##w(whole, k * q, k + 1 < CHAINS ? q : n - k * q, floating);    \
			if (safe_u##w(c) < per) {                                                  \
				linked_u##w(to, whole, n, floating);                               \
				return;                                                            \
			}                                                                          \
			h[k].v = _mm512_loadu_si512(c->a);                                         \
			c->a += per;                                                               \
		}                                                                                  \
		u##w *at = to;                                                                     \
		for (;;) {                                                                         \
			int64_t s = INT64_MAX;                                                     \
                                                                                                   \
			for (int k = 0; k < CHAINS; k++)                                           \
				s = vectors_##w(&h[k]) < s ? vectors_##w(&h[k]) : s;               \
			if (!s)                                                                    \
				break;                                                             \
			struct held_##w h0 = h[0], h1 = h[1], h2 = h[2], h3 = h[3];                \
			for (int64_t i = 0; i < s; i++, at += per) {                               \
				vector_##w(&h0, at);                                               \
				vector_##w(&h1, at + q);                                           \
				vector_##w(&h2, at + 2 * q);                                       \
				vector_##w(&h3, at + 3 * q);                                       \
			}                                                                          \
			h[0] = h0, h[1] = h1, h[2] = h2, h[3] = h3;                                \
		}                                                                                  \
		for (int k = 0; k < CHAINS; k++)                                                   \
			held_rest_##w(&h[k], at + k * q);                                          \
	}
VECTORS(32)
VECTORS(64)
#define LINKED_u32 held_linked_32
#define LINKED_u64 held_linked_64
#else
#define LINKED_u32 linked_u32
#define LINKED_u64 linked_u64
#endif

#endif
