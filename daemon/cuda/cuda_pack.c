/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_pack.c - see cuda_pack.h. */
#include "cuda_pack.h"

#include "base/log.h"
#include "call/product_way.h"

#define BESIDE 256 /* areas begin at multiples of it */
#define WAVES  2   /* of blocks, at most: each of them goes on to the next tile */

static int64_t up(int64_t n, int64_t to)
{
	return (n + to - 1) / to * to;
}

/* Elements from a row of sums to the next. */
static int64_t sums_width(const struct cuda_pack *x, int64_t n)
{
	return x->a ? up(n, PRODUCT_PACKED_BYTES) : n;
}

/* Of an area the next `bytes`. */
static CUdeviceptr next(struct cuda_pack *x, int64_t bytes)
{
	CUdeviceptr at = x->bytes;

	x->bytes += (uint64_t)up(bytes, BESIDE);
	return at;
}

bool cuda_pack_open(struct cuda_pack *out, struct cuda_lane *l, const struct product *p,
		    const struct cuda_gemm *most, bool packs)
{
	int64_t n = up(most->n, PRODUCT_PACKED_BYTES), k = up(most->k, PRODUCT_PACKED_BYTES);
	struct cuda_pack x = {.dtype = p->dtype, .sum = packs ? DT_INT32 : DT_FLOAT32};
	bool apart = packs || (p->dtype == DT_FLOAT16 && most->k < p->k);
	uint64_t free_bytes = 0;
	struct err err;

	*out = x;
	if (!apart)
		return true;
	x.sums = next(&x, most->count * most->m * (packs ? n : most->n) * 4);
	x.a = packs ? next(&x, most->count * most->m * k) : 0;
	x.b = packs ? next(&x, most->count * n * k) : 0;
	if (cuda_memory_take(l, &x.at, x.bytes, &free_bytes, &err) != OK) {
		log_warn("cuda_pack", "client %llu: a product by braze's own kernel: %s",
			 (unsigned long long)l->client, err.text);
		return false;
	}
	x.sums += x.at;
	x.a += packs ? x.at : 0;
	x.b += packs ? x.at : 0;
	*out = x;
	return true;
}

void cuda_pack_close(struct cuda_pack *x, struct cuda_lane *l)
{
	if (x->bytes)
		cuda_memory_give(l, x->at, x->bytes);
	*x = (struct cuda_pack){0};
}

static enum status launch(struct cuda_run *run, uint32_t i, enum cuda_entry entry,
			  struct cuda_move_args *args, int64_t blocks, struct err *err)
{
	struct cuda_lane *l = run->lane;
	int64_t most = (int64_t)l->c->units * CUDA_BLOCKS_PER_UNIT * WAVES;
	void *params[] = {args};
	CUfunction function = NULL;
	enum status st = OK;

	if (!run->kernel[i])
		return err_set(err, E_INTERNAL, "step %u names kernel %u, which is not known",
			       run->step[i]->index, run->step[i]->kernel);
	st = cuda_step_entry(&function, run, i, entry, err);
	if (st == OK)
		st = cuda_issue_room(l, 1, err);
	if (st != OK)
		return st;
	return cuda_context_check(
		l->c,
		l->c->api.cuLaunchKernel(function, (uint32_t)(blocks < most ? blocks : most), 1, 1,
					 CUDA_THREADS, 1, 1, 0, l->stream, params, NULL),
		err, "launching kernel %u", run->kernel[i]->id);
}

static int64_t tiles(int64_t n)
{
	return up(n, CUDA_PACK_TILE) / CUDA_PACK_TILE;
}

static enum status pack(struct cuda_run *run, uint32_t i, struct cuda_move_args *args,
			struct err *err)
{
	return launch(run, i, ENTRY_bz_matmul_pack, args,
		      args->count * tiles(args->high) * tiles(args->width), err);
}

enum status cuda_pack_piece(struct cuda_gemm *g, const struct cuda_pack *x, struct cuda_run *run,
			    uint32_t i, struct err *err)
{
	int64_t n = sums_width(x, g->n), k = up(g->k, PRODUCT_PACKED_BYTES);
	struct cuda_move_args rows = {g->count, g->m,	    g->k,      g->m,	  k,
				      x->a,	g->base[0], g->row[0], g->col[0], g->step[0]};
	struct cuda_move_args cols = {g->count, g->n,	    g->k,      n,	  k,
				      x->b,	g->base[1], g->col[1], g->row[1], g->step[1]};
	enum status st = OK;

	if (!x->sums)
		return OK;
	g->out = x->sum;
	g->base[2] = x->sums;
	g->row[2] = n;
	g->col[2] = 1;
	g->step[2] = g->m * n;
	if (!x->a)
		return OK;
	st = pack(run, i, &rows, err);
	if (st == OK)
		st = pack(run, i, &cols, err);
	g->dtype = DT_INT8; /* also of bytes without a sign: what they wrap to is the same */
	g->n = n;
	g->k = k;
	g->base[0] = x->a;
	g->base[1] = x->b;
	g->row[0] = g->col[1] = k;
	g->col[0] = g->row[1] = 1;
	g->step[0] = g->m * k;
	g->step[1] = n * k;
	return st;
}

enum status cuda_pack_store(const struct cuda_gemm *g, const struct cuda_pack *x,
			    struct cuda_run *run, uint32_t i, struct err *err)
{
	int64_t bytes = dtype_row(x->dtype)->bytes;
	struct cuda_move_args args = {.count = g->count,
				      .rows = g->m,
				      .cols = g->n,
				      .high = g->m,
				      .width = sums_width(x, g->n),
				      .dense = x->sums,
				      .loose = g->base[2],
				      .row = g->row[2] * bytes,
				      .col = g->col[2] * bytes,
				      .step = g->step[2] * bytes};
	int64_t elements = args.count * args.rows * args.cols;

	return launch(run, i, ENTRY_bz_matmul_store, &args,
		      up(elements, CUDA_THREADS) / CUDA_THREADS, err);
}
