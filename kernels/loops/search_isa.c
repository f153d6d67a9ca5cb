/* SPDX-License-Identifier: Apache-2.0 */
/* loops/search_isa.c - the inner loops of searches, once per instruction set.
 *
 * In:  SEARCH_ISA, the name of the table to define.  The needles of a group take each step
 * together: their reads, which the caches may not have, wait side by side. */
#include "search.h"

#define ALWAYS static inline __attribute__((always_inline))
#define GROUP  32 /* needles under way: whole vectors of them, which are fetched at once */
#define FEW    8  /* of the last ones */

typedef uint8_t b1;
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef float f32;
typedef double f64;
typedef struct {
	u16 bits;
} f16;
typedef struct {
	float re, im;
} c64;
typedef struct {
	double re, im;
} c128;

/* ---- Does x come before y? ---- */

#define WHOLE(t)                                                                                   \
	ALWAYS i64 before_##t(t x, t y)                                                            \
	{                                                                                          \
		return x < y;                                                                      \
	}
WHOLE(i8)
WHOLE(i16)
WHOLE(i32)
WHOLE(i64)
WHOLE(u8)
WHOLE(u16)
WHOLE(u32)
WHOLE(u64)

/* Any byte but 0 is true: a client can scribble. */
ALWAYS i64 before_b1(b1 x, b1 y)
{
	return !x & (y != 0);
}

#define FLOATING(t)                                                                                \
	ALWAYS i64 before_##t(t x, t y)                                                            \
	{                                                                                          \
		return (x < y) | ((y != y) & (x == x));                                            \
	}
FLOATING(f32)
FLOATING(f64)

/* Numbers in the order of their bits, zeros of either sign and all nans the same. */
ALWAYS i32 rank_f16(f16 x)
{
	i32 size = x.bits & 0x7fff, sign = x.bits >> 15;

	return size > 0x7c00 ? 0x7fff : (size ^ -sign) + sign;
}

ALWAYS i64 before_f16(f16 x, f16 y)
{
	return rank_f16(x) < rank_f16(y);
}

/* Without nans first, then with one as the imaginary part, then as the real one, then both. */
#define COMPLEX(t, part)                                                                           \
	ALWAYS i64 before_##t(t x, t y)                                                            \
	{                                                                                          \
		const int cx = (x.re != x.re) * 2 + (x.im != x.im);                                \
		const int cy = (y.re != y.re) * 2 + (y.im != y.im);                                \
		const int re = before_##part(x.re, y.re) != 0,                                     \
			  im = before_##part(x.im, y.im) != 0;                                     \
		const int tie = !re & (before_##part(y.re, x.re) == 0);                            \
                                                                                                   \
		return (cx < cy) | ((cx == cy) & (re | (tie & im)));                               \
	}
COMPLEX(c64, f32)
COMPLEX(c128, f64)

/* ---- Searches ---- */

/* What comes before the answer: with `right` all that does not come after the needle. */
#define PASSES_left(t, x, key)	before_##t(x, key)
#define PASSES_right(t, x, key) (before_##t(key, x) ^ 1)

#define SEARCH(side, t)                                                                            \
	/* k needles, at most GROUP. */                                                            \
	ALWAYS void group_##side##_##t(const struct search_patch *p, i64 step, i64 first, int k)   \
	{                                                                                          \
		i64 base[GROUP];                                                                   \
		t key[GROUP];                                                                      \
                                                                                                   \
		for (int j = 0; j < k; j++) {                                                      \
			key[j] = *(const t *)(p->from + (first + j) * p->from_step);               \
			base[j] = 0;                                                               \
		}                                                                                  \
		for (i64 left = p->n; left > 1;) {                                                 \
			const i64 half = left / 2;                                                 \
			const char *middle = p->among + (half - 1) * step;                         \
                                                                                                   \
			for (int j = 0; j < k; j++) {                                              \
				const t x = *(const t *)(middle + base[j] * step);                 \
				base[j] += half & -PASSES_##side(t, x, key[j]);                    \
			}                                                                          \
			left -= half;                                                              \
		}                                                                                  \
		for (int j = 0; j < k; j++) {                                                      \
			const t x = *(const t *)(p->among + base[j] * step);                       \
			p->to[first + j] = base[j] + PASSES_##side(t, x, key[j]);                  \
		}                                                                                  \
	}                                                                                          \
	ALWAYS void all_##side##_##t(const struct search_patch *p, i64 step)                       \
	{                                                                                          \
		i64 i = 0;                                                                         \
                                                                                                   \
		for (; i + GROUP <= p->m; i += GROUP)                                              \
			group_##side##_##t(p, step, i, GROUP);                                     \
		for (; i + FEW <= p->m; i += FEW)                                                  \
			group_##side##_##t(p, step, i, FEW);                                       \
		for (; i < p->m; i++)                                                              \
			group_##side##_##t(p, step, i, 1);                                         \
	}                                                                                          \
	static void search_##side##_##t(const struct search_patch *p)                              \
	{                                                                                          \
		if (p->among_step == (i64)sizeof(t))                                               \
			all_##side##_##t(p, (i64)sizeof(t));                                       \
		else                                                                               \
			all_##side##_##t(p, p->among_step);                                        \
	}

#define EACH(X, side)                                                                              \
	X(side, b1, DT_BOOL)                                                                       \
	X(side, i8, DT_INT8)                                                                       \
	X(side, i16, DT_INT16)                                                                     \
	X(side, i32, DT_INT32)                                                                     \
	X(side, i64, DT_INT64)                                                                     \
	X(side, u8, DT_UINT8)                                                                      \
	X(side, u16, DT_UINT16)                                                                    \
	X(side, u32, DT_UINT32)                                                                    \
	X(side, u64, DT_UINT64)                                                                    \
	X(side, f16, DT_FLOAT16)                                                                   \
	X(side, f32, DT_FLOAT32)                                                                   \
	X(side, f64, DT_FLOAT64)                                                                   \
	X(side, c64, DT_COMPLEX64)                                                                 \
	X(side, c128, DT_COMPLEX128)
#define DEFINE(side, t, d) SEARCH(side, t)
#define ROW(side, t, d)	   [d] = search_##side##_##t,
EACH(DEFINE, left)
EACH(DEFINE, right)

/* ---- Lines ---- */

/* NumPy's formula, from the point before the needle, or at it; where that is a nan, from the point
 * behind. */
ALWAYS f64 on_line(f64 x, f64 x0, f64 x1, f64 y0, f64 y1)
{
	const f64 slope = (y1 - y0) / (x1 - x0), made = slope * (x - x0) + y0;
	const f64 other = slope * (x - x1) + y1;
	const f64 both = other != other && y0 == y1 ? y0 : other;
	const f64 inner = made != made ? both : made;

	return x0 == x ? y0 : inner;
}

ALWAYS f64 element(const char *at, i64 k, i64 step)
{
	return *(const f64 *)(at + k * step);
}

/* k needles.  Everything but the elements is on the stack, so that whole vectors are computed. */
ALWAYS void group_lines(const struct search_patch *p, i64 step, i64 among, i64 first, int k)
{
	const f64 low = element(p->values, 0, step), high = element(p->values, p->n - 1, step);
	const char *xp = p->among, *fp = p->values;
	const i64 last = p->n - 2;
	struct search_patch q = *p;
	f64 key[GROUP], made[GROUP];
	i64 place[GROUP];

	q.from += first * p->from_step;
	q.to = place;
	group_right_f64(&q, among, 0, k);
	for (int j = 0; j < k; j++)
		key[j] = element(q.from, j, p->from_step);
	for (int j = 0; j < k; j++) {
		const i64 at = place[j] - 1;
		const i64 some = at > last ? last : at, before = some < 0 ? 0 : some;
		const f64 inner =
			on_line(key[j], element(xp, before, among), element(xp, before + 1, among),
				element(fp, before, step), element(fp, before + 1, step));
		const f64 upper = at > last ? high : inner, all = at < 0 ? low : upper;

		made[j] = key[j] != key[j] ? key[j] : all;
	}
	for (int j = 0; j < k; j++)
		p->made[first + j] = made[j];
}

ALWAYS void all_lines(const struct search_patch *p, i64 step, i64 among)
{
	i64 i = 0;

	for (; i + GROUP <= p->m; i += GROUP)
		group_lines(p, step, among, i, GROUP);
	for (; i < p->m; i++)
		group_lines(p, step, among, i, 1);
}

static void lines(const struct search_patch *p)
{
	const i64 size = (i64)sizeof(f64);

	if (p->among_step == size && p->values_step == size)
		all_lines(p, size, size);
	else
		all_lines(p, p->values_step, p->among_step);
}

const struct search_isa SEARCH_ISA = {
	.left = {EACH(ROW, left)}, .right = {EACH(ROW, right)}, .lines = lines};
