/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_call.c - a slice of a library step: products by cuda_matmul.c, transforms by
 * cuda_fourier.c, factors by cuda_factors.c, loops of kernels by cuda_grid.c, products of sparse
 * matrices by cuda_sparse.h where it is asked for, others by the entries of kernels/call.cuh, which
 * are gathered as the launches of nests are. */
#include <string.h>

#include "call/draw.h"
#include "call/scan.h"
#include "call/search.h"
#include "call/sparse.h"
#include "cuda_sparse.h"
#include "cuda_worker.h"
#include "loops/kernel_abi.h"

#define WAVES	   2	     /* of blocks, at most: each of them goes on to the next work */
#define PIECE_MOST 3	     /* 2^3 blocks of the tree make a partial result at most, ... */
#define PIECE_FROM (1 << 22) /* ... of masks of so many elements; of shorter ones each block */

/* A slice as it is launched. */
struct slice {
	const struct cuda_called *c;
	struct cuda_call_args args;
	struct cuda_order_range range[CUDA_CALL_OPERANDS + 1];
	uint32_t nrange;
	uint64_t part_bytes;
	/* Blocks of bz_call and their threads; of the entries behind it, 0: there is none. */
	int64_t blocks, join, spread;
	unsigned joins; /* bz_call_join so often, args.piece counting */
	bool follows;	/* a launch of the step was gathered */
	uint32_t threads;
};

static int64_t up(int64_t n, int64_t to)
{
	return n / to + (n % to != 0);
}

bool cuda_call_checks(const struct command_step *s)
{
	unsigned call = s->kind == STEP_CALL ? steps_call_id(s) : CALL_END;

	return call == CALL_COMPACT || call == CALL_PLACES || call == CALL_CHOSEN ||
	       call == CALL_SPARSE || call == CALL_GRID;
}

/* ---- What each of them takes ---- */

static void shape_scan(struct slice *x)
{
	const struct plan_call *c = &x->c->call;
	int64_t n = c->extent[c->nloop - 1], lanes = along_lanes(c), blocks = up(n, SCAN_BLOCK);

	x->threads = CUDA_SCAN_THREADS;
	x->blocks = up(lanes * blocks, CUDA_SCAN_THREADS);
	if (blocks < 2)
		return;
	x->join = up(lanes, CUDA_WARPS); /* a warp a lane */
	x->spread = up(lanes * (n - SCAN_BLOCK), CUDA_THREADS);
}

static void shape_chosen(struct slice *x)
{
	int64_t n = x->c->call.extent[0];

	x->args.piece = n < PIECE_FROM ? 0 : PIECE_MOST;
	x->blocks = up(n, (int64_t)TREE_BLOCK << x->args.piece);
	x->part_bytes = (uint64_t)x->blocks * sizeof(struct bz_acc);
	x->join = 1;
}

/* Short lanes share tiles; runs of long ones double until there is one. */
static void shape_sort(struct slice *x)
{
	const struct plan_call *c = &x->c->call;
	int64_t n = c->extent[c->nloop - 1], lanes = along_lanes(c), size = 1;
	uint64_t all = (uint64_t)(lanes * n), keys = 2 * all * dtype_row(c->dtype)->bytes;

	while (size < n && size < CUDA_SORT_TILE)
		size *= 2;
	x->blocks = up(lanes, CUDA_SORT_TILE / size);
	if (n <= CUDA_SORT_TILE)
		return;
	x->blocks = x->join = lanes * up(n, CUDA_SORT_TILE);
	for (x->joins = 0; n > (int64_t)CUDA_SORT_TILE << x->joins;)
		x->joins++;
	x->part_bytes = (keys + 15) / 16 * 16;
	if (c->op == OP_ARGSORT)
		x->part_bytes += 2 * all * sizeof(int64_t);
}

static void shape(struct slice *x)
{
	const struct plan_call *c = &x->c->call;
	int64_t units = x->args.hi - x->args.lo;

	x->threads = CUDA_THREADS;
	x->joins = 1;
	switch (c->call) {
	case CALL_SCAN:
		shape_scan(x);
		break;
	case CALL_SORT:
		shape_sort(x);
		break;
	case CALL_CHOSEN:
		shape_chosen(x);
		break;
	case CALL_RANKS:
		x->join = 1;
		x->blocks = units;
		break;
	case CALL_DRAW:
		x->blocks = units * (DRAW_UNIT / CUDA_THREADS / 2);
		break;
	case CALL_SEARCH:
	case CALL_INTERP:
		x->blocks = units * (SEARCH_UNIT / CUDA_THREADS);
		break;
	case CALL_SPARSE: /* a thread has a row, or an element */
		x->blocks = up(x->c->call.extent[SPARSE_LOOP_ROWS] *
				       x->c->call.extent[SPARSE_LOOP_COLUMNS],
			       CUDA_THREADS);
		break;
	default:
		x->blocks = units;
	}
}

/* ---- Operands ---- */

enum status cuda_call_aligned(const struct cuda_called *c, unsigned x, struct err *err)
{
	const struct call_operand *o = &c->call.operand[x];
	uint64_t bits = c->base[x];

	for (unsigned l = 0; l < c->call.nloop; l++)
		bits |= c->call.extent[l] > 1 ? (uint64_t)o->stride[l] : 0;
	return cuda_launch_aligned(x, o->dtype, bits, err);
}

/* Where the operands lie, and the bytes of each that the call touches. */
static enum status resolve(struct cuda_called *c, struct cuda_run *run, uint32_t i, struct err *err)
{
	const struct command_place *place = (const struct command_place *)(run->step[i] + 1);

	for (unsigned x = 0; x < c->noperand; x++) {
		struct cuda_spot spot = {0};
		int64_t lo = 0, hi = 0;
		enum status st = OK;

		call_range(&lo, &hi, &c->call, x);
		st = cuda_region_resolve(&spot, run, &place[x], lo, hi, err);
		if (st != OK)
			return st;
		if (spot.host)
			return err_set(err, E_INTERNAL, "operand %u of step %u is not the device's",
				       x, run->step[i]->index);
		c->base[x] = spot.addr;
		c->range[x] = (struct cuda_order_range){spot.addr + (uint64_t)lo,
							spot.addr + (uint64_t)hi,
							call_writes(&c->call, x)};
	}
	return OK;
}

static enum status take(struct cuda_called *c, struct cuda_run *run, uint32_t i, struct err *err)
{
	const struct command_step *s = run->step[i];
	const struct call_row *row = NULL;
	struct call_units u;
	enum status st = steps_call(&c->call, s, err);

	if (st != OK)
		return st;
	row = call_row(c->call.call);
	c->noperand = call_operands(&c->call);
	if (row->devices == GPU_NONE ||
	    (c->noperand > CUDA_CALL_OPERANDS && c->call.call != CALL_GRID))
		return err_set(err, E_INTERNAL, "step %u: no GPU does a %s", s->index, row->name);
	row->units(&u, &c->call, true);
	c->lo = s->lo;
	c->hi = s->whole ? u.total : s->hi;
	c->elements = u.work * (uint64_t)(c->hi - c->lo);
	if (c->lo < 0 || c->lo > c->hi || c->hi > u.total)
		return err_set(err, E_INTERNAL, "units [%lld, %lld) of a %s of %lld",
			       (long long)c->lo, (long long)c->hi, row->name, (long long)u.total);
	return c->lo < c->hi ? resolve(c, run, i, err) : OK;
}

/* ---- Launches ---- */

static enum status launch(struct slice *x, struct cuda_run *run, uint32_t i, unsigned entry,
			  int64_t blocks, uint32_t threads, struct err *err)
{
	struct cuda_lane *l = run->lane;
	int64_t most = (int64_t)l->c->units * CUDA_BLOCKS_PER_UNIT * WAVES * CUDA_THREADS / threads;
	struct cuda_shot_facts f = {.threads = threads,
				    .block = &x->args,
				    .bytes = sizeof x->args,
				    .range = x->range,
				    .nrange = x->nrange};
	enum status st = OK;

	if (!blocks)
		return OK;
	st = cuda_step_entry(&f.function, run, i, (enum cuda_entry)entry, err);
	if (st != OK)
		return st;
	f.grid = (uint32_t)(blocks < most ? blocks : most);
	f.turns = x->c->elements / ((uint64_t)f.grid * threads);
	if (x->follows)
		cuda_step_follow(run, i, &f);
	else
		cuda_step_shoot(run, i, &f);
	x->follows = true;
	return OK;
}

static enum status launch_all(struct slice *x, struct cuda_run *run, uint32_t i, struct err *err)
{
	enum status st = launch(x, run, i, ENTRY_bz_call, x->blocks, x->threads, err);

	for (unsigned k = 0; k < x->joins && st == OK; k++) {
		x->args.piece = x->joins > 1 ? k : x->args.piece;
		st = launch(x, run, i, ENTRY_bz_call_join, x->join, CUDA_THREADS, err);
	}
	return st == OK ? launch(x, run, i, ENTRY_bz_call_spread, x->spread, CUDA_THREADS, err)
			: st;
}

/* Memory and words that its launches need. */
static enum status equip(struct slice *x, struct cuda_run *run, uint32_t i, struct err *err)
{
	enum status st = OK;

	if (x->part_bytes) {
		st = cuda_step_part(&x->args.part, run, i, x->part_bytes, err);
		if (st != OK)
			return st;
		x->range[x->nrange++] =
			(struct cuda_order_range){x->args.part, x->args.part + x->part_bytes, true};
	}
	return cuda_call_checks(run->step[i]) ? cuda_step_word(&x->args.error, run, i, err) : OK;
}

static enum status aim(struct slice *x, struct cuda_run *run, uint32_t i,
		       const struct cuda_called *c, struct err *err)
{
	*x = (struct slice){.c = c,
			    .nrange = c->noperand,
			    .args = {.lo = c->lo,
				     .hi = c->hi,
				     .nloop = c->call.nloop,
				     .cancel = run->lane->slot[run->slot].cancel}};
	if (!run->kernel[i])
		return err_set(err, E_INTERNAL, "step %u names kernel %u, which is not known",
			       run->step[i]->index, run->step[i]->kernel);
	memcpy(x->args.extent, c->call.extent, sizeof x->args.extent);
	memcpy(x->range, c->range, c->noperand * sizeof *c->range);
	for (unsigned k = 0; k < c->noperand; k++) {
		const struct call_operand *o = &c->call.operand[k];
		enum status st = cuda_call_aligned(c, k, err);

		if (st != OK)
			return st;
		x->args.operand[k].base = c->base[k];
		memcpy(x->args.operand[k].stride, o->stride, sizeof o->stride);
	}
	shape(x);
	return equip(x, run, i, err);
}

/* By the entries of its kernel. */
static enum status by_entries(struct cuda_run *run, uint32_t i, const struct cuda_called *c,
			      struct err *err)
{
	struct slice x;
	enum status st = aim(&x, run, i, c, err);

	return st == OK ? launch_all(&x, run, i, err) : st;
}

/* ---- Sparse matrices by cuSPARSE ---- */

#define AREA_ALIGNED   256
#define VENDOR_ALIGNED 16 /* what the library may read at once */
#define COPY_LAUNCHES  3
#define LAUNCHES       8 /* of a call of the library, about */

static uint64_t rounded(int64_t numbers, unsigned dtype)
{
	return (uint64_t)up(numbers * dtype_row(dtype)->bytes, AREA_ALIGNED) * AREA_ALIGNED;
}

/* Can the library be told of it?  Then *p is what, but for the copy of the structure. */
static bool describable(struct cuda_sparse_product *p, const struct cuda_called *c)
{
	const struct plan_call *call = &c->call;
	const struct call_operand *from = &call->operand[SPARSE_FROM];
	int64_t bytes = dtype_row(call->dtype)->bytes, row = from->stride[SPARSE_LOOP_INNER];
	int64_t column = from->stride[SPARSE_LOOP_COLUMNS], apart = 0;
	uint64_t bits = c->base[SPARSE_ENTRIES] | c->base[SPARSE_FROM] | c->base[SPARSE_RESULT];

	*p = (struct cuda_sparse_product){.dtype = call->dtype,
					  .index = call->operand[SPARSE_STRUCTURE].dtype,
					  .rows = call->extent[SPARSE_LOOP_ROWS],
					  .inner = call->extent[SPARSE_LOOP_INNER],
					  .count = call->extent[SPARSE_LOOP_ENTRIES],
					  .columns = call->extent[SPARSE_LOOP_COLUMNS],
					  .entries = c->base[SPARSE_ENTRIES],
					  .from = c->base[SPARSE_FROM],
					  .to = c->base[SPARSE_RESULT]};
	if (call->dtype == DT_INT64 || bits % VENDOR_ALIGNED)
		return false;
	if (p->columns == 1)
		return row == bytes || p->inner == 1;
	p->by_columns = column != bytes;
	apart = p->by_columns ? column : row;
	p->from_apart = apart / bytes;
	return (p->by_columns ? row : column) == bytes && apart % VENDOR_ALIGNED == 0 &&
	       p->from_apart >= (p->by_columns ? p->inner : p->columns);
}

/* Our kernel's checked copy, then the library; *done false: it refuses. */
static enum status by_vendor(bool *done, struct slice *x, struct cuda_run *run, uint32_t i,
			     struct cuda_sparse_job *j, CUdeviceptr work, struct err *err)
{
	int64_t numbers = x->c->call.extent[SPARSE_LOOP_STRUCTURE];
	enum status st = OK;

	for (x->args.piece = 0; x->args.piece < COPY_LAUNCHES && st == OK; x->args.piece++)
		st = launch(x, run, i, ENTRY_bz_call_join, up(numbers, CUDA_THREADS), CUDA_THREADS,
			    err);
	if (st == OK)
		st = cuda_step_fire(run, err);
	if (st == OK)
		st = cuda_issue_room(run->lane, LAUNCHES, err);
	if (st == OK)
		*done = cuda_sparse_run(j, run->lane, work);
	x->args.piece = 0;
	x->follows = false;
	return st;
}

/* The copy and the library's work lie in the lane's memory, in the order of its stream. */
static enum status sparse(struct cuda_run *run, uint32_t i, const struct cuda_called *c,
			  struct cuda_sparse_product *p, struct err *err)
{
	struct cuda_lane *l = run->lane;
	uint64_t starts = rounded(p->rows + 1, p->index), names = rounded(p->count, p->index);
	uint64_t bytes = AREA_ALIGNED + starts + names, free_bytes = 0;
	struct cuda_sparse_job j = {0};
	CUdeviceptr work = 0;
	bool taken = false, done = false;
	struct slice x;
	enum status st = aim(&x, run, i, c, err);

	if (st != OK)
		return st;
	if (cuda_memory_take(l, &x.args.part, bytes, &free_bytes, NULL) != OK)
		return launch_all(&x, run, i, err); /* which takes none */
	p->starts = x.args.part + AREA_ALIGNED;
	p->names = p->starts + starts;
	x.range[x.nrange++] = (struct cuda_order_range){x.args.part, x.args.part + bytes, true};
	if (cuda_sparse_begin(&j, l, p)) {
		taken = !j.work || cuda_memory_take(l, &work, j.work, &free_bytes, NULL) == OK;
		if (taken)
			st = by_vendor(&done, &x, run, i, &j, work, err);
		if (taken && j.work)
			cuda_memory_give(l, work, j.work);
	}
	cuda_sparse_end(&j, l);
	cuda_memory_give(l, x.args.part, bytes);
	x.nrange--;
	return st != OK || done ? st : launch_all(&x, run, i, err);
}

enum status cuda_call_step(struct cuda_run *run, uint32_t i, struct err *err)
{
	struct cuda_called c;
	struct cuda_sparse_product p;
	enum status st = take(&c, run, i, err);

	if (st != OK || c.lo == c.hi)
		return st;
	if (c.call.call == CALL_PRODUCT)
		return cuda_matmul_step(run, i, &c, err);
	if (c.call.call == CALL_GRID)
		return cuda_grid_step(run, i, &c, err);
	if (call_row(c.call.call)->devices == GPU_FOURIER)
		return cuda_fourier_step(run, i, &c, err);
	if (call_row(c.call.call)->devices == GPU_SOLVER)
		return cuda_factors_step(run, i, &c, err);
	if (c.call.call == CALL_SPARSE && run->lane->c->sparse && describable(&p, &c))
		return sparse(run, i, &c, &p, err);
	return by_entries(run, i, &c, err);
}
