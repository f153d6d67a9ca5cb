/* SPDX-License-Identifier: Apache-2.0 */
/* loops/compact.c - masks as bits, 64 to a word; the ones of a word are gone through one by one,
 * so that nothing is written beyond them: what follows is another thread's. */
#include "compact.h"

#include <emmintrin.h>
#include <string.h>

static uint64_t sixteen(const char *at)
{
	__m128i x = _mm_loadu_si128((const __m128i *)(const void *)at);

	return (uint64_t)_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_setzero_si128())) ^ 0xffff;
}

static uint64_t word(const char *at)
{
	return sixteen(at) | sixteen(at + 16) << 16 | sixteen(at + 32) << 32 |
	       sixteen(at + 48) << 48;
}

/* n of them, at most 64, of any step. */
static uint64_t some(const char *at, int64_t n, int64_t step)
{
	uint64_t w = 0;

	for (int64_t i = 0; i < n; i++)
		w |= (uint64_t)(at[i * step] != 0) << i;
	return w;
}

void compact_bits(struct compact_bits *out, const struct compact_mask *m, int64_t block)
{
	const char *at = m->at + block * RANK_BLOCK * m->step;
	int64_t left = m->n - block * RANK_BLOCK;

	out->count = 0;
	for (int k = 0; k < RANK_WORDS; k++, left -= 64, at += 64 * m->step) {
		uint64_t w = 0;

		if (left >= 64 && m->step == 1)
			w = word(at);
		else if (left > 0)
			w = some(at, left < 64 ? left : 64, m->step);
		out->word[k] = w;
		out->count += __builtin_popcountll(w);
	}
}

static int64_t rank(const struct compact_ranks *r, int64_t block)
{
	int64_t v = 0;

	if (block >= 0)
		memcpy(&v, r->at + block * r->step, sizeof v);
	return v;
}

int64_t compact_begin(const struct compact_ranks *r, int64_t block, int64_t chosen)
{
	int64_t begin = rank(r, block - 1), end = rank(r, block);

	if (begin < 0 || end > r->count || begin > end || end - begin != chosen)
		return -1;
	return block == r->blocks - 1 && end != r->count ? -1 : begin;
}

/* ---- Rows ---- */

/* Of one element, whose size the compiler knows. */
#define PICK(size)                                                                                 \
	for (int k = 0; k < RANK_WORDS; k++, from += 64 * r->from_step) {                          \
		uint64_t w = b->word[k];                                                           \
                                                                                                   \
		if (w == UINT64_MAX && r->from_step == (size)) {                                   \
			memcpy(to, from, 64 * (size));                                             \
			to += 64 * (size);                                                         \
			continue;                                                                  \
		}                                                                                  \
		for (; w; w &= w - 1, to += (size))                                                \
			memcpy(to, from + __builtin_ctzll(w) * r->from_step, size);                \
	}                                                                                          \
	break

static void pick(const struct compact_rows *r, const struct compact_bits *b, const char *from,
		 char *to)
{
	switch (r->bytes) {
	case 1:
		PICK(1);
	case 2:
		PICK(2);
	case 4:
		PICK(4);
	case 8:
		PICK(8);
	case 16:
		PICK(16);
	default:
		break;
	}
}

static void row(const struct compact_rows *r, const char *from, char *to)
{
	if (r->to_inner == r->bytes && r->from_inner == r->bytes) {
		memcpy(to, from, (size_t)(r->inner * r->bytes));
		return;
	}
	for (int64_t i = 0; i < r->inner; i++)
		memcpy(to + i * r->to_inner, from + i * r->from_inner, (size_t)r->bytes);
}

void compact_rows(const struct compact_rows *r, const struct compact_bits *b, int64_t block,
		  int64_t begin)
{
	const char *from = r->from + block * RANK_BLOCK * r->from_step;
	char *to = r->to + begin * r->to_step;

	if (r->inner == 1 && r->to_step == r->bytes) {
		pick(r, b, from, to);
		return;
	}
	for (int k = 0; k < RANK_WORDS; k++, from += 64 * r->from_step)
		for (uint64_t w = b->word[k]; w; w &= w - 1, to += r->to_step)
			row(r, from + __builtin_ctzll(w) * r->from_step, to);
}

/* ---- Places ---- */

/* Coordinates but for the last, of the row that begins at place `start`. */
struct corner {
	int64_t at[LIMIT_NDIM], start;
};

static void find(struct corner *c, const struct compact_places *p, int64_t place)
{
	int64_t rest = place / p->extent[p->axes - 1];

	c->start = rest * p->extent[p->axes - 1];
	for (int a = p->axes - 1; a-- > 0;) {
		c->at[a] = rest % p->extent[a];
		rest /= p->extent[a];
	}
}

static void next(struct corner *c, const struct compact_places *p)
{
	c->start += p->extent[p->axes - 1];
	for (int a = p->axes - 1; a-- > 0;) {
		if (++c->at[a] < p->extent[a])
			return;
		c->at[a] = 0;
	}
}

static void flat(const struct compact_bits *b, int64_t place, int64_t *to)
{
	for (int k = 0; k < RANK_WORDS; k++, place += 64)
		for (uint64_t w = b->word[k]; w; w &= w - 1)
			*to++ = place + __builtin_ctzll(w);
}

void compact_places(const struct compact_places *p, const struct compact_bits *b, int64_t block,
		    int64_t begin)
{
	int64_t first = block * RANK_BLOCK, last = p->axes - 1;
	char *to = p->to + begin * p->to_step;
	struct corner c;

	if (p->axes == 1) {
		flat(b, first, (int64_t *)(void *)to);
		return;
	}
	find(&c, p, first);
	for (int k = 0; k < RANK_WORDS; k++)
		for (uint64_t w = b->word[k]; w; w &= w - 1, to += p->to_step) {
			int64_t at = first + 64 * k + __builtin_ctzll(w);

			while (at - c.start >= p->extent[last])
				next(&c, p);
			at -= c.start;
			for (int64_t a = 0; a < last; a++)
				memcpy(to + a * p->to_inner, &c.at[a], sizeof c.at[a]);
			memcpy(to + last * p->to_inner, &at, sizeof at);
		}
}
