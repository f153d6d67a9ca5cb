/* SPDX-License-Identifier: Apache-2.0 */
/* What masks choose: every block against a plain loop, what is refused, steps of it. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "call/compact.h"

/* A mask of n bytes, `step` apart, of which about one in `every` is chosen; what lies between is
 * not 0. */
static struct compact_mask mask_create(int64_t n, int64_t step, unsigned every)
{
	char *at = malloc((size_t)(n * step + 1));
	uint64_t seed = (uint64_t)n;

	memset(at, 3, (size_t)(n * step + 1));
	for (int64_t i = 0; i < n; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		at[i * step] = every && !((seed >> 33) % every) ? (char)(seed >> 40 | 1) : 0;
	}
	return (struct compact_mask){at, n, step};
}

static void mask_finish(struct compact_mask *m)
{
	free((void *)(uintptr_t)m->at);
}

static const int64_t sizes[] = {1, 63, 64, 65, 4095, 4096, 4097, 9000};

Test(compact, bits_of_every_length_and_step)
{
	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
		for (int64_t step = 1; step < 4; step++)
			for (unsigned every = 0; every < 4; every++) {
				struct compact_mask m = mask_create(sizes[k], step, every);

				for (int64_t b = 0; b < compact_blocks(m.n); b++) {
					struct compact_bits bits;
					int64_t count = 0;

					compact_bits(&bits, &m, b);
					for (int64_t i = 0; i < RANK_BLOCK; i++) {
						int64_t at = b * RANK_BLOCK + i;
						bool want = at < m.n && m.at[at * step];

						cr_assert_eq(bits.word[i / 64] >> i % 64 & 1, want);
						count += want;
					}
					cr_assert_eq(bits.count, count);
				}
				mask_finish(&m);
			}
}

/* Ranks as RANKS makes them. */
static int64_t *ranks_create(const struct compact_mask *m)
{
	int64_t *rank = calloc((size_t)compact_blocks(m->n), sizeof *rank), sum = 0;
	struct compact_bits b;

	for (int64_t k = 0; k < compact_blocks(m->n); k++) {
		compact_bits(&b, m, k);
		rank[k] = sum += b.count;
	}
	return rank;
}

Test(compact, ranks_are_believed_only_where_there_is_room)
{
	int64_t rank[3] = {5, 9, 9};
	struct compact_ranks r = {(const char *)rank, 3, sizeof *rank, 9};

	cr_assert_eq(compact_begin(&r, 0, 5), 0);
	cr_assert_eq(compact_begin(&r, 1, 4), 5);
	cr_assert_eq(compact_begin(&r, 2, 0), 9);
	cr_assert_eq(compact_begin(&r, 0, 4), -1);
	cr_assert_eq(compact_begin(&r, 1, 5), -1);
	r.count = 8; /* fewer than the mask has */
	cr_assert_eq(compact_begin(&r, 1, 4), -1);
	r.count = 10; /* more: the last block would leave one out */
	cr_assert_eq(compact_begin(&r, 1, 4), 5);
	cr_assert_eq(compact_begin(&r, 2, 0), -1);
	r.count = 9;
	rank[0] = -1;
	cr_assert_eq(compact_begin(&r, 1, 10), -1);
	rank[0] = INT64_MAX;
	rank[1] = INT64_MIN + 3; /* so far apart that the difference wraps */
	cr_assert_eq(compact_begin(&r, 1, 4), -1);
}

/* Rows of `inner` elements, with gaps between elements and rows or without. */
static void check_rows(int64_t n, int64_t bytes, int64_t inner, int64_t gap)
{
	struct compact_mask m = mask_create(n, 1, (unsigned)(inner % 3));
	int64_t *rank = ranks_create(&m), blocks = compact_blocks(n), count = rank[blocks - 1];
	struct compact_rows r = {.to_step = inner * bytes,
				 .from_step = inner * bytes * gap + gap - 1,
				 .inner = inner,
				 .to_inner = bytes,
				 .from_inner = bytes * gap,
				 .bytes = bytes};
	size_t room = (size_t)(count * r.to_step);
	char *from = malloc((size_t)(n * r.from_step)), *to = malloc(room + 64), *at = to;
	struct compact_ranks k = {(const char *)rank, blocks, sizeof *rank, count};
	struct compact_bits b;

	for (int64_t i = 0; i < n * r.from_step; i++)
		from[i] = (char)(i * 7 + i / 251);
	memset(to, 0x55, room + 64);
	r.from = from;
	r.to = to;
	for (int64_t block = blocks; block-- > 0;) {
		compact_bits(&b, &m, block);
		compact_rows(&r, &b, block, compact_begin(&k, block, b.count));
	}
	for (int64_t i = 0; i < n; i++)
		for (int64_t e = 0; m.at[i] && e < inner; e++, at += bytes)
			cr_assert_eq(memcmp(at, from + i * r.from_step + e * r.from_inner,
					    (size_t)bytes),
				     0, "row %lld, %lld bytes", (long long)i, (long long)bytes);
	cr_assert_eq(at - to, (int64_t)room);
	for (int i = 0; i < 64; i++)
		cr_assert_eq(at[i], 0x55);
	free(from);
	free(to);
	free(rank);
	mask_finish(&m);
}

Test(compact, rows_of_every_size)
{
	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
		for (int64_t bytes = 1; bytes <= 16; bytes *= 2)
			for (int64_t inner = 1; inner < 5; inner++)
				for (int64_t gap = 1; gap < 3; gap++)
					check_rows(sizes[k], bytes, inner, gap);
}

static void check_places(int axes, const int64_t *extent, unsigned every)
{
	struct compact_places p = {.to_step = axes * 8, .to_inner = 8, .axes = axes};
	struct compact_mask m;
	struct compact_bits b;
	int64_t n = 1, *rank, *to, *at, begin = 0;

	memcpy(p.extent, extent, (size_t)axes * sizeof *extent);
	for (int a = 0; a < axes; a++)
		n *= extent[a];
	m = mask_create(n, 1, every);
	rank = ranks_create(&m);
	to = at = malloc((size_t)(n * axes) * sizeof *to);
	p.to = (char *)to;
	for (int64_t block = 0; block < compact_blocks(n); block++) {
		compact_bits(&b, &m, block);
		compact_places(&p, &b, block, begin);
		begin += b.count;
	}
	for (int64_t i = 0; i < n; i++) {
		int64_t rest = n, left = i;

		for (int a = 0; m.at[i] && a < axes; a++) {
			rest /= extent[a];
			cr_assert_eq(*at++, left / rest);
			left %= rest;
		}
	}
	cr_assert_eq(at - to, begin * axes);
	free(to);
	free(rank);
	mask_finish(&m);
}

Test(compact, places_in_every_number_of_axes)
{
	static const int64_t extents[][5] = {
		{9000, 1, 1, 1, 1}, {90, 101, 1, 1, 1}, {9001, 1, 1, 1, 1}, {1, 5000, 2, 1, 1},
		{7, 11, 13, 5, 3},  {2, 3, 1, 1, 4099}, {4097, 2, 1, 2, 1}};

	for (size_t k = 0; k < sizeof extents / sizeof *extents; k++)
		for (int axes = 1; axes <= COMPACT_AXES; axes++)
			for (unsigned every = 0; every < 3; every++)
				check_places(axes, extents[k], every);
}

/* ---- As steps ---- */

static struct plan_call elements(void)
{
	return (struct plan_call){.call = CALL_COMPACT,
				  .dtype = DT_FLOAT64,
				  .nloop = COMPACT_LOOPS,
				  .op = OP_COMPACT,
				  .extent = {10000, 600, 70, 3},
				  .operand = {{.dtype = DT_FLOAT64, .stride = {4800, 8}},
					      {.dtype = DT_BOOL, .stride = {1}},
					      {.dtype = DT_INT64, .stride = {0, 0, 0, 8}},
					      {.dtype = DT_FLOAT64, .stride = {0, 8, 4800}}}};
}

static struct plan_call places(void)
{
	return (struct plan_call){.call = CALL_PLACES,
				  .dtype = DT_INT64,
				  .nloop = 5,
				  .op = OP_PLACES,
				  .extent = {100, 100, 70, 3, 2},
				  .operand = {{.dtype = DT_BOOL, .stride = {100, 1}},
					      {.dtype = DT_INT64, .stride = {0, 0, 0, 8}},
					      {.dtype = DT_INT64, .stride = {0, 0, 16, 0, 8}}}};
}

Test(compact, units_are_blocks_and_pieces_of_rows)
{
	struct plan_call c = elements();
	int64_t lo = 0, hi = 0, lo_byte = 0, hi_byte = 0;
	struct call_units u;

	cr_assert_eq(call_check(&c, NULL), OK);
	call_row(CALL_COMPACT)->units(&u, &c, false);
	cr_assert_eq(u.total, 9);
	cr_assert_eq(compact_unit(&lo, &hi, &c, 5), 1);
	cr_assert(lo == 512 && hi == 600);
	call_range(&lo_byte, &hi_byte, &c, COMPACT_RESULT);
	cr_assert(lo_byte == 0 && hi_byte == 70 * 4800);
	call_range(&lo_byte, &hi_byte, &c, COMPACT_RANKS);
	cr_assert(lo_byte == 0 && hi_byte == 24);
	c = places();
	cr_assert_eq(call_check(&c, NULL), OK);
	call_row(CALL_PLACES)->units(&u, &c, false);
	cr_assert_eq(u.total, 3);
}

Test(compact, wrong_steps_are_refused)
{
	for (int mistake = 0; mistake < 9; mistake++) {
		struct plan_call c = elements();

		if (mistake == 0)
			c.nloop = 3;
		else if (mistake == 1)
			c.extent[COMPACT_LOOP_BLOCKS] = 4;
		else if (mistake == 2)
			c.extent[COMPACT_LOOP_COUNT] = 10001;
		else if (mistake == 3)
			c.operand[COMPACT_MASK].dtype = DT_INT8;
		else if (mistake == 4)
			c.operand[COMPACT_RANKS].dtype = DT_UINT64;
		else if (mistake == 5)
			c.operand[COMPACT_RANKS].stride[0] = 8;
		else if (mistake == 6)
			c.operand[COMPACT_SOURCE].dtype = DT_INT64;
		else if (mistake == 7)
			c.extent[COMPACT_LOOP_MASK] = 0;
		else
			c.dtype = DT_FLOAT32;
		cr_assert_eq(call_check(&c, NULL), E_INTERNAL, "mistake %d", mistake);
	}
}

Test(compact, wrong_places_are_refused)
{
	for (int mistake = 0; mistake < 6; mistake++) {
		struct plan_call c = places();

		if (mistake == 0)
			c.nloop = PLACES_LOOPS;
		else if (mistake == 1)
			c.extent[4] = 3;
		else if (mistake == 2)
			c.operand[PLACES_MASK].stride[0] = 101;
		else if (mistake == 3)
			c.operand[PLACES_MASK].stride[1] = 2;
		else if (mistake == 4)
			c.extent[3] = 2;
		else
			c.operand[PLACES_RESULT].dtype = DT_INT32;
		cr_assert_eq(call_check(&c, NULL), E_INTERNAL, "mistake %d", mistake);
	}
}
