/* SPDX-License-Identifier: Apache-2.0 */
/* worker/cuda_matmul.c - a slice of a matrix product: by cuBLAS in fixed panels, or
 * by our own kernel.
 *
 * What the library is asked for at once depends on the shape alone: panels of rows,
 * or groups of small products.  A slice does those whose first row it has, whole, so
 * the bits of a product do not depend on how it was sliced. */
#include <string.h>

#include "cuda_blas.h"
#include "cuda_worker.h"
#include "matmul.h"

#define PANEL_WORK 5e10 /* multiply-adds of a panel: a few milliseconds */
#define PANEL_ROWS 128	/* its rows are a multiple of this */
#define GROUP_MAX  64	/* small products asked for at once */

struct product {
	const struct plan_matmul *p;
	unsigned element; /* bytes */
	CUdeviceptr base[3];
	int64_t panel; /* rows */
	int64_t group; /* products */
	int64_t last;  /* extent of the last batch axis; 1: there is none */
};

/* The part of C that begins with row `row` of all batches' rows. */
static struct cuda_gemm part_at(const struct product *x, int64_t row)
{
	const struct plan_matmul *p = x->p;
	int64_t batch = row / p->m, first = row % p->m, at = batch;
	int64_t left = x->last - batch % x->last;
	struct cuda_gemm g = {.dtype = p->dtype,
			      .m = p->m - first < x->panel ? p->m - first : x->panel,
			      .n = p->n,
			      .k = p->k,
			      .count = left < x->group ? left : x->group};

	for (int i = 0; i < 3; i++) {
		g.base[i] = x->base[i];
		g.row[i] = p->row[i] / x->element;
		g.col[i] = p->col[i] / x->element;
		g.step[i] = p->nbatch ? p->step[i][p->nbatch - 1] / x->element : 0;
	}
	for (int d = p->nbatch - 1; d >= 0; d--) {
		for (int i = 0; i < 3; i++)
			g.base[i] += (CUdeviceptr)(at % p->batch[d] * p->step[i][d]);
		at /= p->batch[d];
	}
	g.base[0] += (CUdeviceptr)(first * p->row[0]);
	g.base[2] += (CUdeviceptr)(first * p->row[2]);
	return g;
}

/* Strides that are no whole elements cannot be told to the library. */
static bool whole(const struct product *x)
{
	const struct plan_matmul *p = x->p;

	for (int i = 0; i < 3; i++) {
		if (p->row[i] % x->element || p->col[i] % x->element ||
		    (p->nbatch && p->step[i][p->nbatch - 1] % x->element))
			return false;
	}
	return true;
}

static void cut(struct product *x)
{
	const struct plan_matmul *p = x->p;
	double row_work = (double)p->n * (double)p->k;
	double rows = PANEL_WORK / (row_work > 1 ? row_work : 1);

	x->last = p->nbatch ? p->batch[p->nbatch - 1] : 1;
	x->panel = rows < (double)p->m ? (int64_t)rows / PANEL_ROWS * PANEL_ROWS : p->m;
	x->panel = x->panel < PANEL_ROWS ? PANEL_ROWS : x->panel;
	x->group = 1;
	if (x->panel >= p->m) {
		int64_t fit = (int64_t)(rows / (double)p->m);

		x->group = fit < 1 ? 1 : fit < GROUP_MAX ? fit : GROUP_MAX;
	}
}

/* The first row of what follows the part that begins with `row`. */
static int64_t next_part(const struct product *x, int64_t row, const struct cuda_gemm *g)
{
	return x->panel < x->p->m ? row + g->m : row + g->count * x->p->m;
}

static enum status parts(struct cuda_run *run, const struct product *x, int64_t lo, int64_t hi,
			 struct err *err)
{
	int64_t group_rows = x->group * x->p->m, row = 0;
	enum status st = OK;

	/* The first part that begins in the slice: parts begin anew with each row of
	 * the last batch axis. */
	if (x->panel < x->p->m) {
		row = lo / x->p->m * x->p->m;
	} else {
		row = lo / (x->last * x->p->m) * (x->last * x->p->m);
		row += (lo - row) / group_rows * group_rows;
	}
	while (row < hi && st == OK && !run->cancelled) {
		struct cuda_gemm g = part_at(x, row);

		if (row >= lo)
			st = cuda_blas_run(run->lane, &g, err);
		row = next_part(x, row, &g);
	}
	return st;
}

/* Our own kernel's launch is gathered, as a nest's is. */
static enum status by_kernel(struct cuda_run *run, uint32_t i, const struct product *x,
			     const struct cuda_order_range range[3], struct err *err)
{
	const struct command_step *s = run->step[i];
	struct cuda_lane *l = run->lane;
	struct cuda_matmul_args args = {0};
	struct cuda_shot_facts f = {
		.block = &args, .bytes = sizeof args, .range = range, .nrange = 3};
	enum status st = OK;

	if (!run->kernel[i])
		return err_set(err, E_INTERNAL, "step %u names kernel %u, which is not known",
			       s->index, s->kernel);
	st = cuda_code_entry(&f.function, run->kernel[i], "bz_matmul", err);
	if (st != OK)
		return st;
	cuda_launch_matmul(&args, &f.grid, x->p, x->base, s->lo, s->hi, l->slot[run->slot].cancel);
	f.turns = (uint64_t)x->p->k / 4; /* from fast memory: four take as long as a nest's */
	if (f.grid)
		cuda_step_shoot(run, i, &f);
	return OK;
}

/* The library's launches are on the lane's stream, by themselves. */
static enum status by_library(struct cuda_run *run, uint32_t i, const struct product *x,
			      struct err *err)
{
	enum status st = cuda_step_fire(run, err);

	if (st == OK)
		st = cuda_issue_mark(run, i, err);
	return st == OK ? parts(run, x, run->step[i]->lo, run->step[i]->hi, err) : st;
}

enum status cuda_matmul_step(struct cuda_run *run, uint32_t i, struct err *err)
{
	const struct command_step *s = run->step[i];
	const struct command_place *place = (const struct command_place *)(s + 1);
	struct plan_matmul p;
	struct product x = {.p = &p};
	struct cuda_order_range range[3] = {0};
	struct cuda_gemm whole_part = {0};
	enum status st = OK;

	memcpy(&p, place + 3, sizeof p);
	st = matmul_check(&p, err);
	for (int o = 0; o < 3 && st == OK; o++) {
		struct cuda_spot spot = {0};
		int64_t lo = 0, hi = 0;

		matmul_range(&p, o, &lo, &hi);
		st = cuda_region_resolve(&spot, run, &place[o], lo, hi, err);
		if (st == OK && spot.host)
			st = err_set(err, E_INTERNAL, "operand %d of step %u is not the device's",
				     o, s->index);
		x.base[o] = spot.addr;
		range[o] = (struct cuda_order_range){spot.addr + (uint64_t)lo,
						     spot.addr + (uint64_t)hi, o == 2};
	}
	if (st != OK)
		return st;
	if (s->lo < 0 || s->lo > s->hi || s->hi > matmul_rows(&p))
		return err_set(err, E_INTERNAL, "rows [%lld, %lld) of a product of %lld rows",
			       (long long)s->lo, (long long)s->hi, (long long)matmul_rows(&p));
	if (s->lo == s->hi || p.n == 0)
		return OK;
	x.element = dtype_row(p.dtype)->bytes;
	cut(&x);
	whole_part = part_at(&x, 0);
	if (whole(&x) && cuda_blas_fits(&whole_part) && cuda_blas_ready(run->lane))
		return by_library(run, i, &x, err);
	return by_kernel(run, i, &x, range, err);
}
