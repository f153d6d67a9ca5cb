/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_panel.c - see cuda_panel.h. */
#include "cuda_panel.h"

#define PIECE_MS   10	/* that a piece takes at the rate below */
#define UNIT_WIDTH 64	/* float32 multiply-adds of a unit and clock: the least of all archs */
#define BLOCK	   128	/* panels are multiples of this */
#define DEEP	   4096 /* panels along k are multiples of this */
#define GROUP_MAX  64	/* small products asked for at once */

double cuda_panel_budget(unsigned units, unsigned khz, unsigned single_to_double, unsigned dtype)
{
	double work = (double)units * UNIT_WIDTH * (khz ? khz : 1000000) * PIECE_MS;

	if (dtype == DT_FLOAT64 || dtype == DT_COMPLEX128)
		work /= single_to_double ? single_to_double : 2;
	return dtype == DT_COMPLEX64 || dtype == DT_COMPLEX128 ? work / 4 : work;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* As much of an extent as there is room for, in whole blocks, but at least one; no more than an
 * int holds. */
static int64_t fit(double room, int64_t extent, int64_t block)
{
	if (extent > INT32_MAX && room > INT32_MAX)
		room = INT32_MAX;
	if (room >= (double)extent)
		return extent;
	return least(extent, room < (double)block ? block : (int64_t)room / block * block);
}

void cuda_panel_cut(struct cuda_panel *out, const struct product *p, double budget, bool groups)
{
	double n = (double)p->n, k = (double)p->k, whole = (double)p->m * n * k;

	*out = (struct cuda_panel){.group = 1, .last = p->nbatch ? p->batch[p->nbatch - 1] : 1};
	out->rows = fit(budget / (n * k), p->m, BLOCK);
	out->cols = fit(budget / ((double)out->rows * k), p->n, BLOCK);
	out->depth = fit(budget / ((double)out->rows * (double)out->cols), p->k, DEEP);
	if (groups && whole * 2 <= budget)
		out->group =
			least(GROUP_MAX,
			      whole * GROUP_MAX <= budget ? GROUP_MAX : (int64_t)(budget / whole));
}

int64_t cuda_panel_first(const struct cuda_panel *x, const struct product *p, int64_t row)
{
	/* Panels begin anew with each product, groups with each row of the last batch
	 * axis. */
	int64_t round = x->rows < p->m ? p->m : x->last * p->m;
	int64_t high = x->rows < p->m ? x->rows : x->group * p->m;
	int64_t begin = row / round * round, up = (row - begin + high - 1) / high * high;

	return up < round ? begin + up : begin + round;
}

void cuda_panel_at(const struct cuda_panel *x, const struct product *p, int64_t row, int64_t *rows,
		   int64_t *count)
{
	*rows = least(x->rows, p->m - row % p->m);
	*count = least(x->group, x->last - row / p->m % x->last);
}
