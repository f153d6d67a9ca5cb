/* SPDX-License-Identifier: Apache-2.0 */
#include "../golden/points.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed = 88172645463325252u;

static int64_t draw(int64_t lo, int64_t hi)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return lo + (int64_t)(seed % (uint64_t)(hi - lo + 1));
}

struct pair {
	struct depend_access a, b;
	int64_t sa[3], sb[3], extent[3];
	unsigned nloop, nsame;
};

struct truth {
	bool overlap; /* any bytes in common */
	bool cross;   /* at different points, or only in part */
};

/* Compare every point with every other. */
static struct truth brute(const struct pair *p)
{
	int64_t i[3] = {0}, j[3];
	struct truth t = {false, false};

	for (unsigned k = 0; k < p->nloop; k++)
		if (!p->extent[k])
			return t;
	do {
		memset(j, 0, sizeof j);
		do {
			int64_t x = place(&p->a, i, p->nloop), y = place(&p->b, j, p->nloop);

			if (x >= y + p->b.bytes || y >= x + p->a.bytes)
				continue;
			t.overlap = true;
			t.cross |= x != y || p->a.bytes != p->b.bytes ||
				   memcmp(i, j, p->nsame * sizeof i[0]);
		} while (step(j, p->extent, p->nloop));
	} while (step(i, p->extent, p->nloop));
	return t;
}

static void make(struct pair *p)
{
	static const uint32_t sizes[] = {1, 4, 8};

	p->nloop = (unsigned)draw(0, 3);
	p->nsame = draw(0, 3) ? p->nloop : (unsigned)draw(0, p->nloop);
	for (unsigned k = 0; k < 3; k++) {
		p->extent[k] = draw(0, 12) ? draw(1, 5) : 0;
		p->sa[k] = draw(0, 1) ? 4 * draw(-8, 8) : draw(-20, 20);
		p->sb[k] = draw(0, 2) ? p->sa[k] : 4 * draw(-8, 8);
	}
	p->a = (struct depend_access){draw(0, 40), p->sa, sizes[draw(0, 2)]};
	p->b = (struct depend_access){draw(0, 2) ? p->a.offset : draw(0, 40), p->sb,
				      draw(0, 3) ? p->a.bytes : sizes[draw(0, 2)]};
}

Test(depend, answers_are_safe_and_exact_against_brute_force)
{
	unsigned none = 0, same = 0, missed_none = 0, missed_same = 0, unknown = 0;

	for (int round = 0; round < 60000; round++) {
		struct pair p;
		struct truth t;
		struct depend d;
		bool could_be_same = true;

		make(&p);
		t = brute(&p);
		d = depend_test(&p.a, &p.b, p.extent, p.nloop, p.nsame);
		if (d.kind == DEPEND_NONE)
			cr_assert(!t.overlap, "round %d: independent, but bytes are shared", round);
		if (d.kind == DEPEND_SAME)
			cr_assert(!t.cross, "round %d: same point, but points differ", round);
		if (d.kind == DEPEND_CROSS)
			cr_assert(t.overlap, "round %d: overlap that is none", round);
		for (unsigned k = 0; k < p.nloop; k++)
			could_be_same &= p.extent[k] < 2 || p.sa[k] == p.sb[k];
		none += !t.overlap;
		missed_none += !t.overlap && d.kind != DEPEND_NONE;
		same += t.overlap && !t.cross && could_be_same;
		missed_same += t.overlap && !t.cross && could_be_same && d.kind != DEPEND_SAME;
		unknown += d.kind == DEPEND_UNKNOWN;
	}
	cr_log_info("independent %u missed %u, same %u missed %u, unknown %u", none, missed_none,
		    same, missed_same, unknown);
	cr_assert_gt(none, 1000);
	cr_assert_gt(same, 1000);
	/* The search is exact within its budget; nearly all small cases are. */
	cr_assert_lt(missed_none * 100, none);
	cr_assert_lt(missed_same * 100, same);
}

/* Accesses that do meet, at different points, and whose search is longer than the budget:
 * not knowing is an answer, independence is not. */
Test(depend, a_search_that_ran_out_claims_nothing)
{
	struct hard {
		unsigned nloop;
		int64_t offset[2], extent[4], a[4], b[4];
	} hard[] = {
		{4, {26, 4}, {7, 2, 6, 6}, {47, -26, -60, 47}, {34, 16, -42, 47}},
		{4, {113, 276}, {6, 3, 5, 2}, {-41, 41, 58, -34}, {-24, 41, 41, -54}},
		{3, {47, 152}, {3, 7, 6}, {31, 54, 54}, {42, 32, 42}},
		{4, {74, 142}, {5, 6, 4, 2}, {-15, 24, 24, 13}, {18, -21, 24, -46}},
		{4, {111, 6}, {7, 3, 6, 5}, {-57, -34, -40, 7}, {-57, 57, 60, 57}},
		{4, {5, 281}, {7, 7, 7, 4}, {30, 57, -53, 52}, {15, 57, 30, -22}},
		{4, {175, 243}, {4, 7, 3, 4}, {-29, 37, -45, -33}, {56, -49, -37, 8}},
		{4, {49, 206}, {5, 5, 3, 6}, {54, -52, -39, -50}, {-26, -52, -39, 15}},
	};
	unsigned unknown = 0;

	for (size_t k = 0; k < sizeof hard / sizeof hard[0]; k++) {
		struct hard *h = &hard[k];
		struct depend_access a = {h->offset[0], h->a, 1}, b = {h->offset[1], h->b, 1};
		struct depend d = depend_test(&a, &b, h->extent, h->nloop, h->nloop);

		cr_assert(d.kind == DEPEND_UNKNOWN || d.kind == DEPEND_CROSS, "case %zu", k);
		unknown += d.kind == DEPEND_UNKNOWN;
	}
	cr_assert_gt(unknown, 0, "no case is longer than the budget any more: find harder ones");
}

Test(depend, constant_distance_is_found)
{
	int64_t extent[2] = {100, 50}, stride[2] = {400, 8};
	struct depend_access a = {0, stride, 8}, b = {408, stride, 8};
	struct depend d = depend_test(&a, &b, extent, 2, 2);

	cr_assert_eq(d.kind, DEPEND_CROSS);
	cr_assert(!d.constant || d.distance[0] == -1, "b reaches a's place one row earlier");
	b.offset = 800;
	extent[1] = 40;
	d = depend_test(&a, &b, extent, 2, 2);
	cr_assert(d.constant);
	cr_assert_eq(d.distance[0], -2);
	cr_assert_eq(d.distance[1], 0);
}

Test(depend, interleaved_views_are_independent_at_any_size)
{
	int64_t extent[2] = {1000000, 1000000}, stride[2] = {16000000, 16};
	struct depend_access even = {0, stride, 8}, odd = {8, stride, 8};

	cr_assert_eq(depend_test(&even, &odd, extent, 2, 2).kind, DEPEND_NONE);
	cr_assert_eq(depend_test(&even, &even, extent, 2, 2).kind, DEPEND_SAME);
}

Test(depend, parts_of_elements_are_never_the_same)
{
	int64_t extent[1] = {10}, eight[1] = {8};
	struct depend_access whole = {0, eight, 8}, low = {0, eight, 4}, high = {4, eight, 4};

	cr_assert_eq(depend_test(&whole, &low, extent, 1, 1).kind, DEPEND_CROSS);
	cr_assert_eq(depend_test(&low, &high, extent, 1, 1).kind, DEPEND_NONE);
}

Test(depend, broadcast_store_meets_itself)
{
	int64_t extent[1] = {10}, zero[1] = {0};
	struct depend_access a = {0, zero, 8};

	cr_assert_eq(depend_test(&a, &a, extent, 1, 1).kind, DEPEND_CROSS);
	cr_assert_eq(depend_test(&a, &a, extent, 1, 0).kind, DEPEND_SAME);
}

Test(depend, no_distance_is_constant_along_a_loop_that_moves_nothing)
{
	int64_t extent[2] = {3, 3}, stride[2] = {100, 0};
	struct depend_access a = {0, stride, 1}, b = {0, stride, 8};
	struct depend d = depend_test(&a, &b, extent, 2, 0);

	cr_assert_eq(d.kind, DEPEND_CROSS);
	cr_assert_not(d.constant);
	d = depend_test(&a, &b, extent, 2, 1);
	cr_assert_eq(d.kind, DEPEND_CROSS);
	cr_assert_not(d.constant);
}
