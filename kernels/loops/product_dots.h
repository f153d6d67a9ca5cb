/* SPDX-License-Identifier: Apache-2.0 */
/* loops/product_dots.h - sums of products of several rows with one vector, by the tree: a part of
 * product_isa.c.
 *
 * Rows beside each other read the vector once, and memory answers several of them sooner than
 * one. */
#ifndef BRAZE_LOOPS_PRODUCT_DOTS_H
#define BRAZE_LOOPS_PRODUCT_DOTS_H

/* Rows whose lanes stay in registers; all rows of a call where they are not short, whose lanes stay
 * in the first cache then. */
#if WIDE == 64
#define JOINED	4
#define STRIPED 0
#elif WIDE == 32
#define JOINED	2
#define STRIPED 1
#else
#define JOINED	1
#define STRIPED 0
#endif
#define MOST_JOINED (STRIPED ? PRODUCT_DOTS : JOINED)
#define STRIPED_ROW 4096 /* bytes; shorter ones are often in a cache */
#define PAGE	    4096
#define AHEAD	    (4 * PAGE)
/* A line of each page: processors read ahead within a page, and the address of the next one takes
 * as long to be found as its memory to answer. */
ALWAYS void ask_pages(const char *p, int bytes)
{
	for (int i = 0; i < bytes; i += PAGE)
		__builtin_prefetch(p + i);
}
#define DOTS_BLOCK_AT(t, T, B)                                                                     \
	/* n products from element `done` of the rows on. */                                       \
	ALWAYS void dots_block_##t(T *to, const char *const *a, const char *b, int64_t done,       \
				   int64_t n)                                                      \
	{                                                                                          \
		enum { SIZE = sizeof(T), VECTORS = 256 / B, EACH = B / SIZE };                     \
		const vec_##t##_##B none = (T)-0.0 - (vec_##t##_##B){0};                           \
		const char *at[JOINED], *v = b;                                                    \
		vec_##t##_##B sum[JOINED][VECTORS];                                                \
		T lane[EACH];                                                                      \
                                                                                                   \
		UNROLLED for (int r = 0; r < JOINED; r++)                                          \
		{                                                                                  \
			at[r] = a[r] + done * SIZE;                                                \
			UNROLLED for (int k = 0; k < VECTORS; k++) sum[r][k] = none;               \
		}                                                                                  \
		for (; n >= VECTORS * EACH; n -= VECTORS * EACH, v += 256)                         \
			UNROLLED for (int k = 0; k < VECTORS; k++)                                 \
			{                                                                          \
				vec_##t##_##B y = *(const mem_##t##_##B *)(v + k * B);             \
                                                                                                   \
				UNROLLED for (int r = 0; r < JOINED; r++) sum[r][k] +=             \
					*(const mem_##t##_##B *)(at[r] + (v - b) + k * B) * y;     \
			}                                                                          \
		UNROLLED for (int k = 0; k < VECTORS; k++)                                         \
		{                                                                                  \
			int64_t left = n - k * EACH;                                               \
                                                                                                   \
			UNROLLED for (int r = 0; r < JOINED && left > 0; r++)                      \
			{                                                                          \
				const char *x = at[r] + (v - b) + k * B;                           \
                                                                                                   \
				if (left >= EACH)                                                  \
					sum[r][k] += *(const mem_##t##_##B *)x *                   \
						     *(const mem_##t##_##B *)(v + k * B);          \
				else                                                               \
					sum[r][k] += beginning_##t(x, (int)left) *                 \
						     first_##t(v + k * B, (int)left * SIZE);       \
			}                                                                          \
		}                                                                                  \
		UNROLLED for (int r = 0; r < JOINED; r++)                                          \
		{                                                                                  \
			UNROLLED for (int w = VECTORS / 2; w >= 1; w /= 2)                         \
				UNROLLED for (int k = 0; k < w; k++) sum[r][k] += sum[r][k + w];   \
			memcpy(lane, sum[r], B);                                                   \
			UNROLLED for (int w = EACH / 2; w >= 1; w /= 2)                            \
				UNROLLED for (int k = 0; k < w; k++) lane[k] += lane[k + w];       \
			to[r] = lane[0];                                                           \
		}                                                                                  \
	}
#if STRIPED
#define STRIPES_AT(t, T, B)                                                                        \
	/* A stripe of 256 bytes of each row; `first`: there is nothing in the lanes yet. */       \
	ALWAYS void stripe_##t(vec_##t##_##B(*sum)[256 / B], const char *const *a, int64_t at,     \
			       const char *v, const bool first)                                    \
	{                                                                                          \
		UNROLLED for (int k = 0; k < 256 / B; k++)                                         \
		{                                                                                  \
			vec_##t##_##B y = *(const mem_##t##_##B *)(v + k * B);                     \
                                                                                                   \
			UNROLLED for (int r = 0; r < PRODUCT_DOTS; r++)                            \
			{                                                                          \
				vec_##t##_##B x = *(const mem_##t##_##B *)(a[r] + at + k * B) * y; \
                                                                                                   \
				sum[r][k] = first ? x : sum[r][k] + x;                             \
			}                                                                          \
		}                                                                                  \
	}                                                                                          \
	/* As dots_block, of all rows. */                                                          \
	ALWAYS void stripes_block_##t(T *to, const char *const *a, const char *b, int64_t done,    \
				      int64_t n)                                                   \
	{                                                                                          \
		enum { SIZE = sizeof(T), VECTORS = 256 / B, EACH = B / SIZE };                     \
		const vec_##t##_##B none = (T)-0.0 - (vec_##t##_##B){0};                           \
		vec_##t##_##B sum[PRODUCT_DOTS][VECTORS], s[EACH] = {0};                           \
		int64_t at = done * SIZE, end = at + n * SIZE;                                     \
		const char *v = b;                                                                 \
                                                                                                   \
		if (n >= VECTORS * EACH) {                                                         \
			stripe_##t(sum, a, at, v, true);                                           \
			at += 256, v += 256;                                                       \
		} else {                                                                           \
			for (int k = 0; k < VECTORS; k++)                                          \
				UNROLLED for (int r = 0; r < PRODUCT_DOTS; r++) sum[r][k] = none;  \
		}                                                                                  \
		for (; at + 256 <= end; at += 256, v += 256)                                       \
			stripe_##t(sum, a, at, v, false);                                          \
		for (int k = 0; at < end; k++, at += B, v += B) {                                  \
			int left = end - at < B ? (int)(end - at) : B;                             \
			vec_##t##_##B y = first_##t(v, left);                                      \
                                                                                                   \
			UNROLLED for (int r = 0; r < PRODUCT_DOTS; r++) sum[r][k] +=               \
				beginning_##t(a[r] + at, left / SIZE) * y;                         \
		}                                                                                  \
		UNROLLED for (int r = 0; r < PRODUCT_DOTS; r++)                                    \
		{                                                                                  \
			UNROLLED for (int w = VECTORS / 2; w >= 1; w /= 2)                         \
				UNROLLED for (int k = 0; k < w; k++) sum[r][k] += sum[r][k + w];   \
			s[r] = sum[r][0];                                                          \
		}                                                                                  \
		/* Lane by lane of all. */                                                         \
		FOLD_##t##_##B(s);                                                                 \
		memcpy(to, s, PRODUCT_DOTS *SIZE);                                                 \
	}
#else
#define STRIPES_AT(t, T, B)
#define stripes_block_f32 dots_block_f32 /* never, as all rows are joined */
#define stripes_block_f64 dots_block_f64
#endif
#define DOTS_AT(t, T, B)                                                                           \
	DOTS_BLOCK_AT(t, T, B)                                                                     \
	STRIPES_AT(t, T, B)                                                                        \
	ALWAYS void dots_joined_##t(char *to, const char *const *a, const char *b, int64_t n,      \
				    int64_t next, const int joined)                                \
	{                                                                                          \
		enum { BLOCK = TREE_BLOCK * sizeof(T) };                                           \
		T stack[8][MOST_JOINED], s[MOST_JOINED];                                           \
		int sp = 0;                                                                        \
                                                                                                   \
		if (STRIPED && n <= 0) /* never, but compilers ask */                              \
			__builtin_unreachable();                                                   \
		for (int64_t done = 0, block = 1; done < n; done += TREE_BLOCK, block++) {         \
			int64_t left = n - done < TREE_BLOCK ? n - done : TREE_BLOCK;              \
			int64_t at = done * (int)sizeof(T) + AHEAD, row = n * (int)sizeof(T);      \
                                                                                                   \
			for (int r = 0; r < joined; r++)                                           \
				ask_pages(a[r] + (at < row ? at : next + at - row), BLOCK);        \
			if (joined > JOINED)                                                       \
				stripes_block_##t(s, a, b + done * (int)sizeof(T), done, left);    \
			else                                                                       \
				dots_block_##t(s, a, b + done * (int)sizeof(T), done, left);       \
			for (int64_t m = block; !(m & 1); m >>= 1, sp--)                           \
				for (int r = 0; r < joined; r++)                                   \
					s[r] = stack[sp - 1][r] + s[r];                            \
			memcpy(stack[sp++], s, sizeof(T) * (size_t)joined);                        \
		}                                                                                  \
		memcpy(s, stack[--sp], sizeof(T) * (size_t)joined);                                \
		for (; sp > 0; sp--)                                                               \
			for (int r = 0; r < joined; r++)                                           \
				s[r] = stack[sp - 1][r] + s[r];                                    \
		memcpy(to, s, sizeof(T) * (size_t)joined);                                         \
	}                                                                                          \
	static void dots_##t(char *to, const char *const *a, const char *b, int64_t n)             \
	{                                                                                          \
		int64_t next = a[1] - a[0];                                                        \
                                                                                                   \
		if (STRIPED && n * (int64_t)sizeof(T) > STRIPED_ROW) {                             \
			dots_joined_##t(to, a, b, n, PRODUCT_DOTS *next, PRODUCT_DOTS);            \
			return;                                                                    \
		}                                                                                  \
		for (int r = 0; r < PRODUCT_DOTS; r += JOINED)                                     \
			dots_joined_##t(to + r * (int)sizeof(T), a + r, b, n, JOINED * next,       \
					JOINED);                                                   \
	}
#define DOTS(t, T, B) DOTS_AT(t, T, B)
DOTS(f32, float, WIDE)
DOTS(f64, double, WIDE)

#endif
