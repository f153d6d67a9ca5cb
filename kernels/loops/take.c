/* SPDX-License-Identifier: Apache-2.0 */
/* loops/take.c - elements at places (see take.h). */
#include "take.h"

#include <string.h>

#include "copy_bytes.h"

#define STRIP_BYTES (256 << 10) /* of the source, that a core's own cache has in any case */
#define STRIP_MOST  4096	/* of a row of the result at a time, */
#define STRIP_PAST  512		/* and at least where lines are written past the caches */
#define PAST_LEAST  256		/* of a row, some of whose lines are whole */
#define WORD	    16		/* bytes that one move takes */
#define SHORT_ROW   256		/* bytes that no call is worth */

typedef struct {
	uint64_t part[2];
} pair;

#define UNROLLED _Pragma("GCC unroll 8")

/* n of a row's elements, which are all fetched before one is stored. */
#define STEPS(N)                                                                                   \
	do {                                                                                       \
		elem v[N];                                                                         \
		UNROLLED for (int j = 0; j < (N); j++) v[j] = *(const elem *)(src + j * step);     \
		UNROLLED for (int j = 0; j < (N); j++) dst[j] = v[j];                              \
		src += (N)*step;                                                                   \
		dst += (N);                                                                        \
	} while (0)

#define TAKE(T)                                                                                    \
	typedef struct {                                                                           \
		T v;                                                                               \
	} __attribute__((packed, may_alias)) elem;                                                 \
	for (int64_t k = 0; k < places; k++, to += t->to_step) {                                   \
		const char *src = from + offset[k];                                                \
		elem *dst = (elem *)to;                                                            \
		for (int64_t left = n / 8; left > 0; left--)                                       \
			STEPS(8);                                                                  \
		if (n & 4)                                                                         \
			STEPS(4);                                                                  \
		if (n & 2)                                                                         \
			STEPS(2);                                                                  \
		if (n & 1)                                                                         \
			*dst = *(const elem *)src;                                                 \
	}                                                                                          \
	break

/* n elements of each place's row. */
static void take_steps(const struct take *t, char *to, const char *from, const int64_t *offset,
		       int64_t places, int64_t n)
{
	const int64_t step = t->step;

	switch (t->bytes) {
	case 1: {
		TAKE(uint8_t);
	}
	case 2: {
		TAKE(uint16_t);
	}
	case 4: {
		TAKE(uint32_t);
	}
	case 8: {
		TAKE(uint64_t);
	}
	default: {
		TAKE(pair);
	}
	}
}

/* What is written so has no line fetched for it, nor does it take a source's lines' place. */
static void take_past(const struct take *t, char *to, const char *from, const int64_t *offset,
		      int64_t places, int64_t n)
{
	char row[STRIP_MOST] __attribute__((aligned(COPY_LINE)));

	for (int64_t k = 0; k < places; k++, to += t->to_step) {
		take_steps(t, row, from, &offset[k], 1, n);
		copy_lines(to, row, (size_t)n * t->bytes, true);
	}
}

/* One element of each place; of pieces of one element these lie side by side. */
#define PICK(T)                                                                                    \
	typedef struct {                                                                           \
		T v;                                                                               \
	} __attribute__((packed, may_alias)) elem;                                                 \
	if (t->to_step == (int64_t)sizeof(T))                                                      \
		for (int64_t k = 0; k < places; k++)                                               \
			((elem *)to)[k] = *(const elem *)(from + offset[k]);                       \
	else                                                                                       \
		for (int64_t k = 0; k < places; k++, to += t->to_step)                             \
			*(elem *)to = *(const elem *)(from + offset[k]);                           \
	break

static void take_elements(const struct take *t, char *to, const char *from, const int64_t *offset,
			  int64_t places)
{
	switch (t->bytes) {
	case 1: {
		PICK(uint8_t);
	}
	case 2: {
		PICK(uint16_t);
	}
	case 4: {
		PICK(uint32_t);
	}
	case 8: {
		PICK(uint64_t);
	}
	default: {
		PICK(pair);
	}
	}
}

/* By words, of which the last two may overlap; size >= WORD. */
static inline void copy_short(char *restrict to, const char *restrict from, int64_t size)
{
	for (int64_t i = 0; i + WORD <= size; i += WORD)
		memcpy(to + i, from + i, WORD);
	memcpy(to + size - WORD, from + size - WORD, WORD);
}

/* Rows of so many bytes that lie side by side. */
static void take_rows(const struct take *t, char *to, const char *from, const int64_t *offset,
		      int64_t places, int64_t size)
{
	if (t->past && size >= PAST_LEAST)
		for (int64_t k = 0; k < places; k++, to += t->to_step)
			copy_lines(to, from + offset[k], (size_t)size, true);
	else if (size >= WORD && size <= SHORT_ROW)
		for (int64_t k = 0; k < places; k++, to += t->to_step)
			copy_short(to, from + offset[k], size);
	else
		for (int64_t k = 0; k < places; k++, to += t->to_step)
			copy_bytes(to, from + offset[k], (size_t)size);
}

int64_t take_strip(const struct take *t, const int64_t *offset, int64_t places)
{
	int64_t line = COPY_LINE / t->bytes, most = STRIP_MOST / t->bytes;
	int64_t least = 0, largest = 0, lines = places, span, strip;

	for (int64_t k = 0; k < places; k++) {
		least = k && offset[k] > least ? least : offset[k];
		largest = k && offset[k] < largest ? largest : offset[k];
	}
	/* What all places touch of one element's part of the source. */
	span = (largest - least) / COPY_LINE + 1;
	lines = span < lines ? span : lines;
	strip = lines ? STRIP_BYTES / (lines * COPY_LINE) : most;
	if (strip >= most)
		return most;
	line *= t->past ? STRIP_PAST / COPY_LINE : 1;
	return strip < line ? line : strip / line * line;
}

/* Elements [lo, hi) of all rows, at one point of the rest. */
static void take_point(const struct take *t, char *to, const char *from, const int64_t *offset,
		       int64_t places, int64_t lo, int64_t hi)
{
	int64_t bytes = (int64_t)t->bytes;

	if (t->n == 1) {
		take_elements(t, to, from, offset, places);
		return;
	}
	if (!take_strips(t)) {
		take_rows(t, to + lo * bytes, from + lo * bytes, offset, places, (hi - lo) * bytes);
		return;
	}
	for (int64_t now; lo < hi; lo += now) {
		now = hi - lo < t->strip ? hi - lo : t->strip;
		bool past = t->past && now * bytes >= PAST_LEAST && now * bytes <= STRIP_MOST;
		(past ? take_past : take_steps)(t, to + lo * bytes, from + lo * t->step, offset,
						places, now);
	}
}

void take_some(const struct take *t, const int64_t *offset, int64_t places, int64_t first,
	       int64_t end, int64_t lo, int64_t hi)
{
	int64_t at[LIMIT_NDIM] = {0};
	int last = t->rest.n - 1;

	for (int64_t left; first < end; first += left) {
		walk_seek(&t->rest, first, at);
		left = walk_row(&t->rest, at, end - first);
		char *to = t->to + walk_offset(&t->rest, t->rest_to, at);
		const char *from = t->from + walk_offset(&t->rest, t->rest_from, at);
		for (int64_t i = 0; i < left; i++)
			take_point(t, to + i * t->rest_to[last], from + i * t->rest_from[last],
				   offset, places, lo, hi);
	}
}

void take_end(const struct take *t)
{
	if (t->past)
		_mm_sfence();
}

void take_truths(char *at, int64_t n)
{
	for (int64_t k = 0; k < n; k++)
		at[k] = at[k] != 0;
}
