/* SPDX-License-Identifier: Apache-2.0 */
/* loops/take.h against its definition, element by element, and nothing beside them. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "loops/take.h"

#define GUARD  64
#define BEYOND 0x5a

/* A source of rows x columns elements, whose places are columns or rows; a part of the rest. */
struct shape_case {
	int64_t n, places, rest;
	int64_t step; /* elements between those of a row; places lie one or `n * step` apart */
	int64_t gap;  /* elements behind each piece of the result */
};

static const struct shape_case cases[] = {
	{1, 1, 1, 1, 0},      {1, 700, 1, 1, 0},   {1, 33, 5, 1, 0},	{1, 33, 5, 1, 3},
	{2, 9, 1, 40, 0},     {3, 100, 1, 101, 0}, {7, 13, 4, 20, 0},	{8, 13, 1, 20, 0},
	{15, 5, 1, 9, 1},     {64, 40, 1, 50, 0},  {131, 17, 2, 33, 0}, {5000, 3, 1, 10, 0},
	{2, 9, 1, 1, 0},      {5, 30, 3, 1, 0},	   {1200, 7, 1, 1, 0},	{1200, 7, 1, 9, 1},
	{16, 30, 1, 1, 2},    {31, 11, 1, 1, 0},   {300, 11, 2, 1, 0},	{5, 0, 1, 7, 0},
	{40, 600, 1, 1024, 0}};
#define NCASES (sizeof cases / sizeof cases[0])

struct buffers {
	char *from, *to, *want;
	size_t from_bytes, to_bytes;
	int64_t *offset;
};

static struct buffers make(struct take *t, const struct shape_case *c, unsigned bytes, unsigned odd)
{
	int64_t b = (int64_t)bytes, columns = c->step > 1 ? c->step : 50;
	int64_t part = c->step > 1 ? c->n * c->step
				   : columns * c->n; /* elements for a point of the rest */
	int64_t piece = c->n + c->gap, all = (c->places ? c->places : 1) * piece;
	struct buffers m = {.from_bytes = (size_t)(part * c->rest * b) + GUARD,
			    .to_bytes = (size_t)(all * c->rest * b) + 2 * GUARD};
	uint64_t seed = 7 + bytes;

	m.from = malloc(m.from_bytes);
	m.to = malloc(m.to_bytes);
	m.want = malloc(m.to_bytes);
	m.offset = malloc((size_t)(c->places + 1) * 8);
	for (size_t k = 0; k < m.from_bytes; k++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		m.from[k] = (char)(seed >> 40);
	}
	for (int64_t k = 0; k < c->places; k++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		m.offset[k] = (int64_t)(seed >> 33) % columns * (c->step > 1 ? b : c->n * b);
	}
	memset(m.to, BEYOND, m.to_bytes);
	memset(m.want, BEYOND, m.to_bytes);
	*t = (struct take){.to = m.to + GUARD + odd,
			   .from = m.from + odd,
			   .bytes = bytes,
			   .to_step = piece * b,
			   .n = c->n,
			   .step = c->step * b,
			   .rest = {1, {c->rest}},
			   .rest_to = {all * b},
			   .rest_from = {part * b}};
	return m;
}

static void define(const struct take *t, const struct shape_case *c, const struct buffers *m)
{
	char *to = m->want + (t->to - m->to);

	for (int64_t r = 0; r < c->rest; r++)
		for (int64_t k = 0; k < c->places; k++)
			for (int64_t i = 0; i < c->n; i++)
				memcpy(to + r * t->rest_to[0] + k * t->to_step + i * t->bytes,
				       t->from + r * t->rest_from[0] + m->offset[k] + i * t->step,
				       t->bytes);
}

static void check_way(const struct shape_case *c, unsigned bytes, unsigned odd, int64_t strip,
		      bool past)
{
	struct take t;
	struct buffers m = make(&t, c, bytes, odd);
	int64_t half = c->n / 3;

	define(&t, c, &m);
	t.past = past;
	t.strip = strip ? strip : take_strip(&t, m.offset, c->places);
	cr_assert(t.strip > 0);
	/* Cut where threads might cut it. */
	if (c->rest > 1) {
		take_some(&t, m.offset, c->places, 1, c->rest, 0, c->n);
		take_some(&t, m.offset, c->places, 0, 1, 0, c->n);
	} else {
		if (half && c->n > 1)
			take_some(&t, m.offset, c->places, 0, 1, 0, half);
		take_some(&t, m.offset, c->places, 0, 1, half, c->n);
	}
	take_end(&t);
	cr_assert(!memcmp(m.to, m.want, m.to_bytes), "%lld of %lld places, %u bytes, strip %lld",
		  (long long)c->n, (long long)c->places, bytes, (long long)t.strip);
	free(m.from);
	free(m.to);
	free(m.want);
	free(m.offset);
}

static void check(const struct shape_case *c, unsigned bytes, unsigned odd, int64_t strip)
{
	check_way(c, bytes, odd, strip, false);
	check_way(c, bytes, odd, strip, true);
}

Test(take_loops, every_size_and_shape)
{
	for (size_t k = 0; k < NCASES; k++)
		for (unsigned bytes = 1; bytes <= 16; bytes *= 2) {
			check(&cases[k], bytes, 0, 0);
			check(&cases[k], bytes, 3, 0); /* elements may lie at any address */
		}
}

Test(take_loops, strips_of_any_length)
{
	for (int64_t strip = 1; strip < 40; strip += 6)
		for (unsigned bytes = 1; bytes <= 16; bytes *= 2)
			check(&(struct shape_case){71, 23, 1, 60, 0}, bytes, 1, strip);
}

/* A strip is whole lines of the result, at least one, and no more of the source than a cache
 * has. */
Test(take_loops, strips_fit_a_cache)
{
	struct take t = {.bytes = 8, .n = 1000, .step = 8000};
	int64_t offset[1000];

	for (int64_t k = 0; k < 1000; k++)
		offset[k] = k * 8;
	cr_assert_eq(take_strip(&t, offset, 1000), 32); /* 126 lines for each element of a row */
	cr_assert_eq(take_strip(&t, offset, 3), 512);
	for (int64_t k = 0; k < 1000; k++)
		offset[k] = (k * 7919 % 1000) * 800;
	cr_assert_eq(take_strip(&t, offset, 1000), 8);
	t.past = true; /* eight lines */
	cr_assert_eq(take_strip(&t, offset, 1000), 64);
	for (int64_t k = 0; k < 1000; k++)
		offset[k] = -64;
	cr_assert_eq(take_strip(&t, offset, 1000), 512);
}

Test(take_loops, truths_are_one_or_none)
{
	char at[5] = {0, 1, 2, -1, 7};

	take_truths(at, 4);
	cr_assert(!memcmp(at, (char[]){0, 1, 1, 1, 7}, 5));
}
