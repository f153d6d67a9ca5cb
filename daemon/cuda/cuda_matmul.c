/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_matmul.c - a slice of a matrix product: by cuBLAS in the pieces of
 * cuda_panel.h, or by our own kernel, as call/product_way.h says.
 *
 * When the library refuses a piece, our kernel does the slice's panels again: their
 * rows may reach beyond the slice, and the next slice takes them for done. */
#include <string.h>

#include "call/product_way.h"
#include "cuda_blas.h"
#include "cuda_pack.h"
#include "cuda_panel.h"
#include "cuda_worker.h"

struct multiply {
	const struct product *p;
	enum product_way way;
	unsigned element; /* bytes */
	CUdeviceptr base[3];
	struct cuda_order_range range[3]; /* that the operands touch */
	struct cuda_panel panel;
	struct cuda_pack pack;
};

/* The panel or group of C that begins with row `row` of all batches' rows. */
static struct cuda_gemm part_at(const struct multiply *x, int64_t row)
{
	const struct product *p = x->p;
	int64_t at = row / p->m, first = row % p->m;
	struct cuda_gemm g = {
		.dtype = p->dtype, .out = p->dtype, .tf32 = p->tf32, .n = p->n, .k = p->k};

	cuda_panel_at(&x->panel, p, row, &g.m, &g.count);
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

/* Of a panel: the columns from `col` on, and of k what begins at `deep`. */
static struct cuda_gemm piece_at(const struct multiply *x, const struct cuda_gemm *part,
				 int64_t col, int64_t deep)
{
	const struct product *p = x->p;
	struct cuda_gemm g = *part;

	g.n = p->n - col < x->panel.cols ? p->n - col : x->panel.cols;
	g.k = p->k - deep < x->panel.depth ? p->k - deep : x->panel.depth;
	g.base[0] += (CUdeviceptr)(deep * p->col[0]);
	g.base[1] += (CUdeviceptr)(deep * p->row[1] + col * p->col[1]);
	g.base[2] += (CUdeviceptr)(col * p->col[2]);
	g.add = deep > 0;
	return g;
}

/* May products along the last batch axis be asked for together?  Operands must lie
 * forwards, results apart. */
static bool in_groups(const struct multiply *x)
{
	const struct product *p = x->p;
	int64_t extent = (p->m - 1) * p->row[2] + (p->n - 1) * p->col[2] + x->element;
	int d = p->nbatch - 1;

	return d >= 0 && p->step[0][d] >= 0 && p->step[1][d] >= 0 && p->step[2][d] >= extent;
}

/* Sums that lie apart take four bytes an element, which is bounded, too. */
static void cut(struct multiply *x, const struct cuda *c)
{
	double budget = cuda_panel_budget(c->units, c->khz, c->single_to_double, x->p->dtype);
	double sums = (double)CUDA_PACK_SUMS * (double)x->p->k;

	if (x->way == PRODUCT_PACKED && budget > sums)
		budget = sums;
	cuda_panel_cut(&x->panel, x->p, budget, in_groups(x));
}

/* Some of a panel's columns: all of k, a part after the other. */
static enum status columns_by_library(bool *done, struct cuda_run *run, uint32_t i,
				      const struct multiply *x, const struct cuda_gemm *part,
				      int64_t col, struct err *err)
{
	enum status st = OK;

	for (int64_t deep = 0; deep < part->k && *done && st == OK && !run->cancelled;
	     deep += x->panel.depth) {
		struct cuda_gemm g = piece_at(x, part, col, deep);

		st = cuda_pack_piece(&g, &x->pack, run, i, err);
		*done = st == OK && cuda_blas_run(run->lane, &g);
	}
	if (x->pack.sums && *done && st == OK) {
		struct cuda_gemm g = piece_at(x, part, col, 0);

		st = cuda_pack_store(&g, &x->pack, run, i, err);
	}
	return st;
}

static enum status panel_by_library(bool *done, struct cuda_run *run, uint32_t i,
				    const struct multiply *x, const struct cuda_gemm *part,
				    struct err *err)
{
	enum status st = OK;

	for (int64_t col = 0; col < part->n && *done && st == OK; col += x->panel.cols)
		st = columns_by_library(done, run, i, x, part, col, err);
	return st;
}

/* The slice's panels, whose rows are [*lo, *hi) then.  done: they are to be computed; then: all
 * that were not cancelled are. */
static enum status by_library(bool *done, struct cuda_run *run, uint32_t i,
			      const struct multiply *x, int64_t *lo, int64_t *hi, struct err *err)
{
	int64_t row = cuda_panel_first(&x->panel, x->p, *lo), end = *hi;
	enum status st = OK;

	*lo = row;
	while (row < end) {
		struct cuda_gemm g = part_at(x, row);

		if (*done && st == OK && !run->cancelled)
			st = panel_by_library(done, run, i, x, &g, err);
		row += g.count * g.m;
	}
	*hi = row;
	return st;
}

/* The whole slice, if the library is there and has room; its launches are on the lane's
 * stream, by themselves. */
static enum status with_library(bool *done, struct cuda_run *run, uint32_t i, struct multiply *x,
				int64_t *lo, int64_t *hi, struct err *err)
{
	struct cuda_gemm most = {0};
	enum status st = OK;

	*done = false;
	if (!cuda_blas_ready(run->lane))
		return OK;
	st = cuda_step_fire(run, err);
	if (st == OK)
		st = cuda_issue_mark(run, i, false, err);
	if (st != OK)
		return st;
	cuda_panel_at(&x->panel, x->p, 0, &most.m, &most.count);
	most.n = x->panel.cols;
	most.k = x->panel.depth;
	*done = cuda_pack_open(&x->pack, run->lane, x->p, &most, x->way == PRODUCT_PACKED);
	st = by_library(done, run, i, x, lo, hi, err);
	cuda_pack_close(&x->pack, run->lane);
	run->library_products += *done && *lo < *hi;
	return st;
}

/* Our own kernel's launch is gathered, as a nest's is. */
static enum status by_kernel(struct cuda_run *run, uint32_t i, const struct multiply *x, int64_t lo,
			     int64_t hi, struct err *err)
{
	const struct command_step *s = run->step[i];
	struct cuda_lane *l = run->lane;
	struct cuda_matmul_args args = {0};
	struct cuda_shot_facts f = {.threads = CUDA_THREADS,
				    .block = &args,
				    .bytes = sizeof args,
				    .range = x->range,
				    .nrange = 3};
	enum status st = OK;

	if (!run->kernel[i])
		return err_set(err, E_INTERNAL, "step %u names kernel %u, which is not known",
			       s->index, s->kernel);
	st = cuda_code_entry(&f.function, run->kernel[i], ENTRY_bz_matmul, err);
	if (st != OK)
		return st;
	cuda_launch_matmul(&args, &f.grid, x->p, x->base, lo, hi, l->slot[run->slot].cancel);
	f.turns = (uint64_t)x->p->k / 4; /* from fast memory: four take as long as a nest's */
	if (!f.grid)
		return OK;
	run->own_products++;
	cuda_step_shoot(run, i, &f);
	return OK;
}

static enum status multiply(struct cuda_run *run, uint32_t i, struct multiply *x, int64_t lo,
			    int64_t hi, struct err *err)
{
	bool done = false;
	enum status st = OK;

	x->element = dtype_row(x->p->dtype)->bytes;
	x->way = product_choose(x->p, x->base).way;
	if (x->way != PRODUCT_BY_KERNEL) {
		cut(x, run->lane->c);
		st = with_library(&done, run, i, x, &lo, &hi, err);
	}
	return done || st != OK ? st : by_kernel(run, i, x, lo, hi, err);
}

enum status cuda_matmul_step(struct cuda_run *run, uint32_t i, const struct cuda_called *c,
			     struct err *err)
{
	struct product p;
	struct multiply x = {.p = &p};

	product_of(&p, &c->call);
	memcpy(x.base, c->base, sizeof x.base);
	memcpy(x.range, c->range, sizeof x.range);
	return p.n ? multiply(run, i, &x, c->lo, c->hi, err) : OK;
}
