/* SPDX-License-Identifier: Apache-2.0 */
/* loops/sort_turn.h - elements of lanes that lie side by side (columns) as rows of eight, and back:
 * a part of sort_isa.c.
 *
 * Eight elements each of eight lanes are eight vectors.  Three perfect shuffles of their rows take
 * the three bits of a row's number to those of the column's, and these to the row's. */
#ifndef BRAZE_SORT_TURN_H
#define BRAZE_SORT_TURN_H

#define TURN_SIDE 8

#ifdef __clang__
#define TURN_LOW(t, x, y)  __builtin_shufflevector(x, y, 0, 8, 1, 9, 2, 10, 3, 11)
#define TURN_HIGH(t, x, y) __builtin_shufflevector(x, y, 4, 12, 5, 13, 6, 14, 7, 15)
#else
#define TURN_LOW(t, x, y)  __builtin_shuffle(x, y, (t##x8){0, 8, 1, 9, 2, 10, 3, 11})
#define TURN_HIGH(t, x, y) __builtin_shuffle(x, y, (t##x8){4, 12, 5, 13, 6, 14, 7, 15})
#endif

#define TURN(t)                                                                                    \
	typedef t t##x8 __attribute__((vector_size(TURN_SIDE * sizeof(t))));                       \
	ALWAYS void shuffled_##t(t##x8 *restrict to, const t##x8 *restrict from)                   \
	{                                                                                          \
		for (int i = 0; i < TURN_SIDE / 2; i++) {                                          \
			to[2 * i] = TURN_LOW(t, from[i], from[i + TURN_SIDE / 2]);                 \
			to[2 * i + 1] = TURN_HIGH(t, from[i], from[i + TURN_SIDE / 2]);            \
		}                                                                                  \
	}                                                                                          \
	ALWAYS void turn_##t(t##x8 to[TURN_SIDE], t##x8 from[TURN_SIDE])                           \
	{                                                                                          \
		shuffled_##t(to, from);                                                            \
		shuffled_##t(from, to);                                                            \
		shuffled_##t(to, from);                                                            \
	}                                                                                          \
	/* Eight vectors, which lie so far apart, and back. */                                     \
	ALWAYS void fetch_##t(t##x8 to[TURN_SIDE], const char *from, int64_t step)                 \
	{                                                                                          \
		for (int i = 0; i < TURN_SIDE; i++)                                                \
			memcpy(&to[i], from + i * step, sizeof to[i]);                             \
	}                                                                                          \
	ALWAYS void put_##t(char *to, int64_t step, const t##x8 from[TURN_SIDE])                   \
	{                                                                                          \
		for (int i = 0; i < TURN_SIDE; i++)                                                \
			memcpy(to + i * step, &from[i], sizeof from[i]);                           \
	}
TURN(u8)
TURN(u16)
TURN(u32)
TURN(u64)

/* Do lanes lie side by side, so many that they fill such squares? */
ALWAYS bool has_squares(const struct sort_patch *p, int64_t size)
{
	return p->lane == size && p->lanes >= TURN_SIDE && p->n >= TURN_SIDE;
}

ALWAYS int64_t in_squares(int64_t n)
{
	return n / TURN_SIDE * TURN_SIDE;
}

/* The elements of a patch that has squares, but for its last lanes or elements. */
#define SQUARES(p, body)                                                                           \
	for (int64_t l = 0; l < in_squares((p)->lanes); l += TURN_SIDE)                            \
		for (int64_t i = 0; i < in_squares((p)->n); i += TURN_SIDE) {                      \
			char *const x = (p)->at + i * (p)->step + l * (p)->lane;                   \
			const int64_t k = l * (p)->n + i;                                          \
			body                                                                       \
		}
#define REST(p, body)                                                                              \
	for (int64_t l = 0; l < (p)->lanes; l++)                                                   \
		for (int64_t i = l < in_squares((p)->lanes) ? in_squares((p)->n) : 0; i < (p)->n;  \
		     i++) {                                                                        \
			char *const x = (p)->at + i * (p)->step + l * (p)->lane;                   \
			const int64_t k = l * (p)->n + i;                                          \
			body                                                                       \
		}

#endif
