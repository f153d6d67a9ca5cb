/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_tier0_walk.c - joined loops, rows and indices against plain loops. */
#include <criterion/criterion.h>

#include <string.h>

#include "worker/tier0_walk.h"

static struct nest spec;
static int64_t extent[3] = {3, 4, 5}, stride[2 * LIMIT_NDIM];
static struct bz_args args = {NULL, extent, stride, NULL, NULL, 0, NULL, NULL};

static void two_accesses(int64_t a0, int64_t a1, int64_t a2)
{
	spec.npar = 3;
	spec.naccess = 2;
	memcpy(stride, (int64_t[]){a0, a1, a2}, 24);
	memcpy(stride + LIMIT_NDIM, (int64_t[]){20 * 4, 5 * 4, 4}, 24);
}

Test(tier0_walk, contiguous_loops_join_unless_an_index_is_read)
{
	struct tier0_walk w;

	two_accesses(80, 20, 4);
	tier0_walk_init(&w, &spec, &args, 0, 3, 0);
	cr_assert_eq(w.loops.n, 1);
	cr_assert_eq(w.loops.extent[0], 60);
	cr_assert_eq(w.step[0][0], 4);
	tier0_walk_init(&w, &spec, &args, 0, 3, 1u << 1);
	cr_assert_eq(w.loops.n, 3);
	two_accesses(80, 0, 4);
	tier0_walk_init(&w, &spec, &args, 0, 3, 0);
	cr_assert_eq(w.loops.n, 3, "a broadcast axis cannot join");
	tier0_walk_init(&w, &spec, &args, 0, 0, 0);
	cr_assert(w.loops.n == 1 && w.loops.extent[0] == 1, "no loop is one point");
}

Test(tier0_walk, loads_and_stores_follow_the_c_order_from_any_point)
{
	struct tier0_walk w;
	int32_t x[60], got[60], out[60];
	int64_t index[LIMIT_NDIM], third[60];

	for (int i = 0; i < 60; i++)
		x[i] = i;
	/* Access 0 reads the array transposed: element (i, j, k) is x[i + 3 j + 12 k]. */
	two_accesses(4, 12, 48);
	tier0_walk_init(&w, &spec, &args, 0, 3, 1u << 2);
	for (int from = 0; from < 60; from++) {
		int n = 60 - from;

		walk_seek(&w.loops, from, index);
		walk_load(&w.loops, w.step[0], index, (const char *)x, 4, n, (char *)got);
		tier0_walk_index(&w, 2, index, n, third);
		memset(out, 0, sizeof out);
		walk_store(&w.loops, w.step[1], index, (char *)out, 4, n, (const char *)got);
		for (int p = from; p < 60; p++) {
			int i = p / 20, j = p / 5 % 4, k = p % 5;

			cr_assert_eq(got[p - from], i + 3 * j + 12 * k);
			cr_assert_eq(third[p - from], k);
			cr_assert_eq(out[p], got[p - from]);
		}
		cr_assert(from == 0 || out[from - 1] == 0);
	}
}

/* Each element goes where it belongs, of every width, and nothing else is written. */
Test(tier0_walk, copies_between_any_two_layouts)
{
	static const int64_t from[][4] = {{60, 20, 5, 1}, {0, 0, 1, 0},	    {1, 0, 0, 0},
					  {0, 1, 0, 0},	  {-20, 5, -1, 20}, {7, 9, 0, 1}};
	static const int64_t to[][4] = {{60, 20, 5, 1}, {1, 2, 6, 30}, {180, 60, 10, 2}};
	static const unsigned widths[] = {1, 2, 4, 8, 16};
	enum { ROOM = 400 };
	static char src[ROOM * 16 + 1], dst[ROOM * 16 + 1], want[ROOM * 16 + 1];

	for (int i = 0; i < ROOM * 16; i++)
		src[i] = (char)(i * 37 + i / 256 + 1);
	for (unsigned f = 0; f < 6; f++)
		for (unsigned t = 0; t < 3; t++)
			for (unsigned b = 0; b < 5; b++) {
				int64_t bytes = widths[b], step[2][LIMIT_NDIM];
				struct walk w = {.n = 4, .extent = {2, 3, 4, 5}};

				for (int l = 0; l < 4; l++) {
					step[0][l] = from[f][l] * bytes;
					step[1][l] = to[t][l] * bytes;
				}
				memset(dst, 0, sizeof dst);
				memset(want, 0, sizeof want);
				/* One byte on: nothing lies at a multiple of its size. */
				const char *s = src + 1 + 50 * bytes;
				for (int64_t p = 0; p < 120; p++) {
					int64_t at[LIMIT_NDIM];

					walk_seek(&w, p, at);
					memcpy(want + 1 + walk_offset(&w, step[1], at),
					       s + walk_offset(&w, step[0], at), (size_t)bytes);
				}
				walk_copy(&w, step[0], step[1], s, dst + 1, (unsigned)bytes);
				cr_assert(!memcmp(dst, want, sizeof dst), "%u to %u of %u", f, t,
					  widths[b]);
			}
}
