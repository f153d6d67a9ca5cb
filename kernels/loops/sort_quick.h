/* SPDX-License-Identifier: Apache-2.0 */
/* loops/sort_quick.h - keys that travel alone in order, by parts on either side of a key: a part of
 * sort_isa.c.
 *
 * Parts go to and fro between two places until a few items are left, which a network sorts; large
 * ones stay where they lie.  Parts that are too unequal too often are sorted by their digits. */
#ifndef BRAZE_LOOPS_SORT_QUICK_H
#define BRAZE_LOOPS_SORT_QUICK_H

#include "sort_part.h"

#ifdef __AVX512F__
#include "sort_network.h"
#else
#include "sort_little.h"
#endif

/* ---- Many ---- */

#define SAMPLE	    16
#define STAYING	    512 /* items from which on parts stay where they lie */
#define SAMPLE_FROM 500 /* items from which on a sample of so many pays; of fewer it is 8 */

#define QUICK(w)                                                                                   \
	static u##w *many_u##w(u##w *x, u##w *y, int64_t n, unsigned low, u##w least, u##w most);  \
	static u##w between_##w(const u##w *x, int64_t n)                                          \
	{                                                                                          \
		const int k = n < SAMPLE_FROM ? 8 : SAMPLE;                                        \
		u##w some[SAMPLE], sorted[SAMPLE];                                                 \
                                                                                                   \
		for (int i = 0; i < k; i++)                                                        \
			some[i] = x[(2 * i + 1) * n / (2 * k)];                                    \
		little_##w(sorted, some, k);                                                       \
		return sorted[k / 2];                                                              \
	}                                                                                          \
	/* To z, which may be where they lie. */                                                   \
	ALWAYS int64_t parted_##w(u##w *z, u##w *x, int64_t n, u##w by)                            \
	{                                                                                          \
		return z == x ? part_in_place_##w(x, n, by) : part_in_two_##w(z, x, n, by);        \
	}                                                                                          \
	/* n keys at x, which go by y, in order to x or y. */                                      \
	static void quick_##w(u##w *to, u##w *x, u##w *y, int64_t n, int depth)                    \
	{                                                                                          \
		u##w *const z = n < STAYING ? y : x, *const other = n < STAYING ? x : y, by = 0;   \
		int64_t lo = 0;                                                                    \
                                                                                                   \
		if (n <= LITTLE(w)) {                                                              \
			little_##w(to, x, (int)n);                                                 \
			return;                                                                    \
		}                                                                                  \
		if (!depth) {                                                                      \
			u##w *done = many_u##w(x, y, n, 0, 0, ALL(w));                             \
                                                                                                   \
			if (done != to)                                                            \
				memcpy(to, done, (size_t)n * sizeof *to);                          \
			return;                                                                    \
		}                                                                                  \
		by = between_##w(x, n);                                                            \
		lo = parted_##w(z, x, n, by);                                                      \
		if (lo == n) {                                                                     \
			lo = by ? parted_##w(z, x, n, by - 1) : 0;                                 \
			/* The rest are all the same. */                                           \
			if (to != z)                                                               \
				for (int64_t i = lo; i < n; i++)                                   \
					to[i] = by;                                                \
			n = lo;                                                                    \
		}                                                                                  \
		if (lo)                                                                            \
			quick_##w(to, z, other, lo, depth - 1);                                    \
		if (lo < n)                                                                        \
			quick_##w(to + lo, z + lo, other + lo, n - lo, depth - 1);                 \
	}
QUICK(32)
QUICK(64)

#endif
