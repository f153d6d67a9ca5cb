/* SPDX-License-Identifier: Apache-2.0 */
/* worker/cuda_launch.c - the launches of a step; see cuda_launch.h. */
#include "cuda_launch.h"

#include <string.h>

#include "kernel_abi.h"

#define BLOCKS_PER_UNIT 8 /* of a grid whose blocks walk over the points */

size_t cuda_launch_args(char block[CUDA_ARGS_BYTES], const struct cuda_step *s)
{
	unsigned loops = s->spec->npar + s->spec->nred;
	char *at = block + sizeof(struct cuda_args);

	memset(block, 0, sizeof(struct cuda_args));
	memcpy(at, s->base, s->spec->naccess * sizeof *s->base);
	at += s->spec->naccess * sizeof *s->base;
	memcpy(at, s->extent, loops * sizeof *s->extent);
	at += loops * sizeof *s->extent;
	for (unsigned a = 0; a < s->spec->naccess; a++) {
		memcpy(at, s->stride + 8 * a, loops * sizeof *s->stride);
		at += loops * sizeof *s->stride;
	}
	memcpy(at, s->scalar, s->spec->nscalar * 2 * sizeof *s->scalar);
	return (size_t)(at - block) + s->spec->nscalar * 2 * sizeof *s->scalar;
}

static int64_t product_of(const int64_t *extent, unsigned n)
{
	int64_t all = 1;

	for (unsigned i = 0; i < n; i++)
		all *= extent[i];
	return all;
}

static unsigned reductions(const struct nest *n)
{
	unsigned count = 0;

	for (unsigned i = 0; i < n->ninstr; i++)
		count += n->instr[i].op == NI_REDUCE;
	return count;
}

static uint32_t grid_of(int64_t tasks, int64_t per_block, unsigned multiprocessors)
{
	int64_t blocks = (tasks + per_block - 1) / per_block;
	int64_t most = (int64_t)multiprocessors * BLOCKS_PER_UNIT;

	return (uint32_t)(blocks < most ? blocks : most);
}

static void plan_map(struct cuda_launches *out, const struct cuda_step *s, unsigned multiprocessors)
{
	bool wide = product_of(s->extent, s->spec->npar) > INT32_MAX;

	if (s->lo == s->hi)
		return;
	out->n = 1;
	out->item[0] =
		(struct cuda_launch){.entry = wide ? "bz_map_wide" : "bz_map",
				     .grid = grid_of(s->hi - s->lo, CUDA_THREADS, multiprocessors),
				     .lo = s->lo,
				     .hi = s->hi};
}

static void plan_reduce(struct cuda_launches *out, const struct cuda_step *s,
			unsigned multiprocessors)
{
	int64_t points = product_of(s->extent, s->spec->npar);
	int64_t reduced = product_of(s->extent + s->spec->npar, s->spec->nred);
	int64_t chunks = reduced / TREE_CHUNK + (reduced % TREE_CHUNK != 0);
	int64_t lo = s->split ? 0 : s->lo, hi = s->split ? points : s->hi;
	int64_t clo = s->split ? s->lo : 0, chi = s->split ? s->hi : chunks;
	int64_t width = chunks * reductions(s->spec) * (int64_t)sizeof(struct bz_acc);
	bool wide = points * (reduced > 0 ? reduced : 1) > INT32_MAX;
	bool part = s->split || chunks > 1;

	if (lo == hi)
		return;
	if (part) {
		out->part_bytes = (uint64_t)((hi - lo) * width);
		out->part_skip = (uint64_t)(lo * width);
	}
	out->item[out->n++] = (struct cuda_launch){
		.entry = wide ? "bz_reduce_warp_wide" : "bz_reduce_warp",
		.grid = grid_of((hi - lo) * (part ? chi - clo : 1), CUDA_WARPS, multiprocessors),
		.lo = lo,
		.hi = hi,
		.clo = clo,
		.chi = chi,
		.team = 1,
		.part = part};
	if (part && (!s->split || s->split & 2))
		out->item[out->n++] = (struct cuda_launch){
			.entry = "bz_finish",
			.grid = grid_of(hi - lo, CUDA_THREADS, multiprocessors),
			.lo = lo,
			.hi = hi,
			.chi = chunks,
			.part = true};
}

void cuda_launch_plan(struct cuda_launches *out, const struct cuda_step *s,
		      unsigned multiprocessors)
{
	*out = (struct cuda_launches){0};
	if (s->spec->nred == 0)
		plan_map(out, s, multiprocessors);
	else
		plan_reduce(out, s, multiprocessors);
}

void cuda_launch_set(char block[CUDA_ARGS_BYTES], const struct cuda_launches *l,
		     const struct cuda_launch *item, uint64_t cancel, uint64_t part, uint64_t error)
{
	struct cuda_args a = {.lo = item->lo,
			      .hi = item->hi,
			      .clo = item->clo,
			      .chi = item->chi,
			      .cancel = cancel,
			      .part = item->part ? part - l->part_skip : 0,
			      .error = error,
			      .team = item->team,
			      .tile = item->tile};

	memcpy(block, &a, sizeof a);
}

void cuda_launch_matmul(struct cuda_matmul_args *out, uint32_t *grid, const struct plan_matmul *p,
			const uint64_t base[3], int64_t lo, int64_t hi, uint64_t cancel)
{
	int64_t down = (p->m + CUDA_MATMUL_ROWS - 1) / CUDA_MATMUL_ROWS;
	int64_t across = (p->n + CUDA_MATMUL_COLS - 1) / CUDA_MATMUL_COLS;

	*out = (struct cuda_matmul_args){
		.m = p->m, .n = p->n, .k = p->k, .cancel = cancel, .nbatch = p->nbatch};
	/* Tile rows whose first row lies in the slice. */
	out->lo =
		(lo / p->m * down + (lo % p->m + CUDA_MATMUL_ROWS - 1) / CUDA_MATMUL_ROWS) * across;
	out->hi =
		(hi / p->m * down + (hi % p->m + CUDA_MATMUL_ROWS - 1) / CUDA_MATMUL_ROWS) * across;
	for (int x = 0; x < 3; x++) {
		out->base[x] = base[x];
		out->row[x] = p->row[x];
		out->col[x] = p->col[x];
		memcpy(out->step[x], p->step[x], sizeof out->step[x]);
	}
	memcpy(out->batch, p->batch, sizeof out->batch);
	*grid = (uint32_t)(out->hi - out->lo);
}
