/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of matrix products: bounded, each point of C and of k once, slices or not. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "cuda/cuda_panel.h"

static struct product product_case(int64_t m, int64_t n, int64_t k, int64_t b0, int64_t b1)
{
	struct product p = {
		.dtype = DT_FLOAT32, .m = m, .n = n, .k = k, .nbatch = 2, .batch = {b0, b1}};

	return p;
}

static double work(const struct cuda_panel *x)
{
	return (double)x->rows * (double)x->cols * (double)x->depth * (double)x->group;
}

Test(cuda_panel, a_piece_is_bounded)
{
	static const int64_t extents[] = {1, 2, 100, 127, 128, 129, 5000, 70000, 3000000};
	enum { N = sizeof extents / sizeof *extents };

	for (int i = 0; i < N * N * N * 3; i++) {
		struct product p = product_case(extents[i % N], extents[i / N % N],
						extents[i / N / N % N], 3, 1000);
		double budget = i % 3 ? 2e8 : 5e10;
		struct cuda_panel x;

		cuda_panel_cut(&x, &p, budget, true);
		cr_assert(x.rows > 0 && x.rows <= p.m && x.cols > 0 && x.cols <= p.n);
		cr_assert(x.depth > 0 && x.depth <= p.k && x.group > 0 && x.last == 1000);
		cr_assert_leq(work(&x), budget, "%lld x %lld x %lld", (long long)p.m,
			      (long long)p.n, (long long)p.k);
		cr_assert(x.group == 1 || (x.rows == p.m && x.cols == p.n && x.depth == p.k));
		/* Whole where it may be. */
		if ((double)p.m * (double)p.n * (double)p.k <= budget)
			cr_assert(x.rows == p.m && x.cols == p.n && x.depth == p.k);
	}
}

Test(cuda_panel, extents_are_ints)
{
	struct product p = product_case(5LL << 31, 3, 1, 1, 1);
	struct cuda_panel x;

	cuda_panel_cut(&x, &p, 1e12, false);
	cr_expect(x.rows == INT32_MAX / 128 * 128 && x.cols == 3 && x.depth == 1);
	p.m = 3;
	p.n = 5LL << 31;
	cuda_panel_cut(&x, &p, 1e12, false);
	cr_expect(x.rows == 3 && x.cols == INT32_MAX / 128 * 128);
	p.n = 1;
	p.k = 5LL << 31;
	cuda_panel_cut(&x, &p, 1e12, false);
	cr_expect(x.rows == 3 && x.depth == INT32_MAX / 4096 * 4096);
}

Test(cuda_panel, the_budget_is_the_devices)
{
	/* 132 units at 1.98 GHz, 64 wide: 10 ms. */
	double single = cuda_panel_budget(132, 1980000, 2, DT_FLOAT32);

	cr_assert_float_eq(single, 132 * 64 * 1.98e9 * 0.01, 1);
	cr_assert_float_eq(cuda_panel_budget(132, 1980000, 2, DT_COMPLEX64), single / 4, 1);
	cr_assert_float_eq(cuda_panel_budget(132, 1980000, 2, DT_FLOAT64), single / 2, 1);
	cr_assert_float_eq(cuda_panel_budget(132, 1980000, 64, DT_COMPLEX128), single / 256, 1);
	/* A driver that does not tell. */
	cr_assert_float_eq(cuda_panel_budget(1, 0, 0, DT_FLOAT64), 64 * 1e9 * 0.01 / 2, 1);
}

Test(cuda_panel, groups_where_they_may_be)
{
	struct product p = product_case(10, 10, 10, 3, 1000);
	struct cuda_panel x;

	cuda_panel_cut(&x, &p, 1e9, true);
	cr_assert_eq(x.group, 64);
	cuda_panel_cut(&x, &p, 1e9, false);
	cr_assert_eq(x.group, 1);
	cuda_panel_cut(&x, &p, 5500, true);
	cr_assert_eq(x.group, 5);
}

/* Mark what slices of `step` rows do; each row of all batches must be done once. */
static void cover(const struct cuda_panel *x, const struct product *p, int64_t step)
{
	int64_t total = p->m * p->batch[0] * p->batch[1];
	unsigned char *done = calloc((size_t)total, 1);

	for (int64_t lo = 0; lo < total; lo += step) {
		int64_t hi = lo + step < total ? lo + step : total;
		int64_t row = cuda_panel_first(x, p, lo);

		cr_assert_geq(row, lo);
		while (row < hi) {
			int64_t rows = 0, count = 0;

			cuda_panel_at(x, p, row, &rows, &count);
			cr_assert(rows > 0 && count > 0);
			cr_assert(count == 1 || (rows == p->m && row % p->m == 0));
			cr_assert_leq(row / p->m % x->last + count, x->last);
			for (int64_t r = row; r < row + rows * count; r++)
				done[r]++;
			cr_assert_eq(cuda_panel_first(x, p, row), row, "it begins where it begins");
			row += rows * count;
		}
	}
	for (int64_t r = 0; r < total; r++)
		cr_assert_eq(done[r], 1, "row %lld, slices of %lld", (long long)r, (long long)step);
	free(done);
}

Test(cuda_panel, every_row_is_done_once_by_any_slices)
{
	static const int64_t steps[] = {1, 7, 128, 130, 384, 1000, 100000};
	static const double budgets[] = {1, 3e4, 3e5, 3e6, 1e12};

	for (int m = 1; m < 700; m += 173) {
		struct product p = product_case(m, 20, 10, 3, 7);

		for (int i = 0; i < 7 * 5; i++) {
			struct cuda_panel x;

			cuda_panel_cut(&x, &p, budgets[i / 7], true);
			cover(&x, &p, steps[i % 7]);
		}
	}
}

Test(cuda_panel, without_batches)
{
	struct product p = {.dtype = DT_FLOAT64, .m = 1000, .n = 1000, .k = 1000};
	struct cuda_panel x;
	int64_t rows = 0, count = 0;

	cuda_panel_cut(&x, &p, 3e8, false);
	cr_assert_eq(x.rows, 256);
	cr_assert_eq(x.last, 1);
	cr_assert_eq(cuda_panel_first(&x, &p, 1), 256);
	cr_assert_eq(cuda_panel_first(&x, &p, 769), 1000, "none begins there");
	cuda_panel_at(&x, &p, 768, &rows, &count);
	cr_assert_eq(rows, 232);
	cr_assert_eq(count, 1);
}
