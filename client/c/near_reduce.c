/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/near_reduce.c - reductions of what is at hand.
 *
 * The tree of kernels/tree.h, as the interpreter walks it: a point at a time (inner),
 * or a tile of points with one row of the reduced axes after another (outer).  The
 * bits are the same, so the choice is one of speed. */
#include <string.h>

#include "near.h"
#include "near_walk.h"

#define TILE 256 /* columns */

struct job {
	const struct near *n;
	const struct near_in *in;
	const struct tier0_red *red;
	unsigned type;	/* of the tree */
	unsigned made;	/* of its result */
	unsigned dtype; /* of the elements to be stored */
	int64_t total;	/* reduced points */
	struct near_walk par, inner;
};

static unsigned bytes_of(unsigned dtype)
{
	return dtype_row(dtype)->bytes;
}

/* float16 is reduced as float32, rounded once. */
static unsigned wide(unsigned dtype)
{
	return dtype == DT_FLOAT16 ? DT_FLOAT32 : dtype;
}

const struct tier0_red *near_tree(const struct near *n, enum op op, unsigned dtype)
{
	/* Booleans add by `or` and multiply by `and`. */
	if (dtype == DT_BOOL)
		op = op == OP_SUM ? OP_ANY : op == OP_PROD ? OP_ALL : op;
	return &n->lib->isa->red[op][wide(dtype)];
}

static int64_t points(const struct near_walk *w)
{
	int64_t n = 1;

	for (int l = 0; l < w->n; l++)
		n *= w->extent[l];
	return n;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Elements [p, p + count) of a walk that begins `offset` bytes from the operand. */
static const char *values(const struct job *j, const struct near_walk *w, int64_t offset, int64_t p,
			  int64_t count)
{
	int64_t bytes = bytes_of(j->in->dtype);
	struct near_in in = *j->in;
	const char *x;

	in.at += offset;
	in.reach -= offset / bytes;
	in.stride = w->n == 1 && w->step[0][0] == bytes ? NULL : w->step[0];
	x = near_operand(j->n, &in, w, p, count);
	if (j->type == in.loop)
		return x;
	j->n->lib->isa->cast[in.loop][j->type](j->n->scratch->raw[1], x, x, x, count);
	return j->n->scratch->raw[1];
}

/* ---- A point at a time ---- */

static void reduce_chunk(const struct job *j, int64_t offset, int64_t lo, int64_t hi,
			 struct bz_acc *acc)
{
	void *state = j->n->scratch->state[0];

	j->red->init(state);
	for (int64_t e = lo, n; e < hi; e += n) {
		n = least(NEAR_BLOCK, hi - e);
		j->red->step(state, values(j, &j->inner, offset, e, n), n, e);
		if ((e + n) % TREE_BLOCK == 0 || e + n == hi)
			j->red->block(state);
	}
	j->red->end(state, hi - lo, acc);
}

static void reduce_point(const struct job *j, int64_t offset, char *made)
{
	void *state = j->n->scratch->state[1];
	struct bz_acc acc;

	j->red->init(state);
	for (int64_t lo = 0; lo < j->total; lo += TREE_CHUNK) {
		reduce_chunk(j, offset, lo, least(lo + TREE_CHUNK, j->total), &acc);
		j->red->join(state, &acc);
	}
	j->red->end(state, j->total, &acc);
	j->red->put(&acc, made);
}

/* ---- A tile of points at a time ---- */

struct tile {
	tier0_fn *combine;
	int64_t n, lanes;
	size_t row; /* bytes of a lane's columns */
	uint64_t pushed;
	int sp;
};

static char *level_of(const struct job *j, int level)
{
	return j->n->scratch->stack + (size_t)level * TILE * 16;
}

static void clear_rows(const struct job *j, const struct tile *t)
{
	j->red->identity(j->n->scratch->row, (int64_t)(t->row / bytes_of(j->type)) * t->lanes);
}

/* A block of rows is complete: fold the lanes, push the columns on the counter. */
static void push_tile(const struct job *j, struct tile *t)
{
	char *acc = j->n->scratch->row;

	for (int64_t w = t->lanes / 2; w >= 1; w /= 2)
		for (int64_t k = 0; k < w; k++) {
			char *to = acc + (size_t)k * t->row;
			t->combine(to, to, acc + (size_t)(k + w) * t->row, acc, t->n);
		}
	t->pushed++;
	for (uint64_t m = t->pushed; !(m & 1); m >>= 1)
		t->combine(acc, level_of(j, --t->sp), acc, acc, t->n);
	memcpy(level_of(j, t->sp++), acc, t->row);
}

/* The n <= TILE points from p on, into the first lane's columns. */
static void reduce_tile(const struct job *j, int64_t p, int64_t n)
{
	const struct dtype_row *d = dtype_row(j->type);
	const struct loops_library *lib = j->n->lib;
	tier0_fn *fn = lib->wide->op[j->red->combine][j->type];
	struct tile t = {.combine = fn ? fn : lib->isa->op[j->red->combine][j->type],
			 .n = n,
			 .lanes = d->bytes / (d->cls == CLASS_COMPLEX ? 2 : 1) <= 4 ? 64 : 32};
	int64_t at[LIMIT_NDIM];
	char *top = j->n->scratch->row;

	t.row = (size_t)((n + TIER0_LANES - 1) & -TIER0_LANES) * d->bytes;
	clear_rows(j, &t);
	for (int64_t e = 0; e < j->total; e++) {
		near_walk_seek(&j->inner, e, at);
		int64_t offset = near_walk_offset(&j->inner, 0, at);
		char *lane = top + (size_t)(e % TREE_BLOCK % t.lanes) * t.row;
		t.combine(lane, lane, values(j, &j->par, offset, p, n), lane, n);
		if ((e + 1) % TREE_BLOCK == 0 || e + 1 == j->total) {
			push_tile(j, &t);
			if (e + 1 < j->total)
				clear_rows(j, &t);
		}
	}
	j->red->nothing(top, n);
	if (t.sp)
		memcpy(top, level_of(j, t.sp - 1), t.row);
	for (int level = t.sp - 2; level >= 0; level--)
		t.combine(top, level_of(j, level), top, top, n);
}

/* Are columns the better vectors?  Where memory runs along the points, and where the
 * reduced rows are too short to fill a block. */
static bool want_tiles(const struct job *j, int64_t n)
{
	int64_t bytes = bytes_of(j->in->dtype);
	bool along = j->par.step[0][j->par.n - 1] == bytes && j->total > 1 &&
		     j->inner.step[0][j->inner.n - 1] != bytes;

	return j->red->identity && ((along && n >= 8) || (j->total < 256 && n >= 64));
}

static void convert(const struct job *j, char *out, const char *made, int64_t n)
{
	char *to = j->n->scratch->out;

	if (j->made == j->dtype) {
		memcpy(out, made, (size_t)n * bytes_of(j->dtype));
		return;
	}
	j->n->lib->isa->cast[j->made][j->dtype](to, made, made, made, n);
	memcpy(out, to, (size_t)n * bytes_of(j->dtype));
}

static void init(struct job *j, const struct near *n, enum op op, unsigned dtype,
		 const struct shape *shape, uint32_t axes, const struct near_in *in)
{
	const int64_t *stride[1] = {in->stride};

	*j = (struct job){.n = n, .in = in, .type = wide(in->loop), .made = wide(dtype)};
	j->dtype = dtype;
	j->red = near_tree(n, op, in->loop);
	near_walk_init(&j->par, shape, ~axes, 1, stride);
	near_walk_init(&j->inner, shape, axes, 1, stride);
	j->total = points(&j->inner);
}

void near_reduction(const struct near *n, enum op op, char *out, unsigned dtype,
		    const struct shape *shape, uint32_t axes, const struct near_in *in)
{
	unsigned mode = near_enter();
	char made[TIER0_LANES * 16];
	int64_t at[LIMIT_NDIM];
	struct job j;

	init(&j, n, op, dtype, shape, axes, in);
	int64_t all = points(&j.par);
	bool tiles = want_tiles(&j, all);
	for (int64_t p = 0, take; p < all; p += take) {
		take = tiles ? least(TILE, all - p) : 1;
		if (tiles) {
			reduce_tile(&j, p, take);
		} else {
			near_walk_seek(&j.par, p, at);
			reduce_point(&j, near_walk_offset(&j.par, 0, at), made);
		}
		convert(&j, out + p * bytes_of(dtype), tiles ? n->scratch->row : made, take);
	}
	near_leave(mode);
}
