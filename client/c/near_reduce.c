/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/near_reduce.c - reductions of what is at hand.
 *
 * The tree of kernels/tree.h, as the interpreter walks it: a point at a time (inner),
 * or a tile of points with one row of the reduced axes after another (outer).  The
 * bits are the same, so the choice is one of speed. */
#include <pthread.h>
#include <string.h>

#include "near.h"
#include "near_walk.h"
#include "team.h"

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

typedef char states[TIER0_STATE_BYTES];

#define CHUNKS 64 /* of one point, that threads share */

struct shared {
	const struct job *j;
	char *out;
	struct bz_acc *acc; /* of each chunk */
	pthread_t caller;   /* of tiles: who has the session's registers */
};

static int64_t bytes_of(unsigned dtype)
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

	for (int l = 0; l < w->loops.n; l++)
		n *= w->loops.extent[l];
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
	in.stride = w->loops.n == 1 && w->step[0][0] == bytes ? NULL : w->step[0];
	x = near_operand(j->n, &in, w, p, count);
	if (j->type == in.loop)
		return x;
	j->n->lib->isa->cast[in.loop][j->type](j->n->scratch->raw[1], x, x, x, count);
	return j->n->scratch->raw[1];
}

/* ---- A point at a time ---- */

static void reduce_chunk(const struct job *j, int64_t offset, int64_t lo, int64_t hi, void *state,
			 struct bz_acc *acc)
{
	j->red->init(state);
	for (int64_t e = lo, n; e < hi; e += n) {
		n = least(NEAR_BLOCK, hi - e);
		j->red->step(state, values(j, &j->inner, offset, e, n), n, e);
		if ((e + n) % TREE_BLOCK == 0 || e + n == hi)
			j->red->block(state);
	}
	j->red->end(state, hi - lo, acc);
}

static void reduce_point(const struct job *j, int64_t offset, states *state, char *made)
{
	struct bz_acc acc;

	j->red->init(state[1]);
	for (int64_t lo = 0; lo < j->total; lo += TREE_CHUNK) {
		reduce_chunk(j, offset, lo, least(lo + TREE_CHUNK, j->total), state[0], &acc);
		j->red->join(state[1], &acc);
	}
	j->red->end(state[1], j->total, &acc);
	j->red->put(&acc, made);
}

/* ---- Points and chunks of one, by several threads ---- */

/* What threads share must not be written: registers are not (there is no cast), and as rows lie one
 * behind the other and have a vector's elements, no end but the last one's is copied to be read
 * (values). */
static bool shares(const struct job *j, int64_t all)
{
	int64_t bytes = bytes_of(j->in->dtype);
	bool rows = j->par.loops.n == 1 && j->par.step[0][0] == j->total * bytes;

	return all * j->total * bytes >= NEAR_FETCHED && j->total >= TIER0_LANES &&
	       (all > 1 ? rows : j->total <= (int64_t)CHUNKS * TREE_CHUNK) &&
	       j->in->dtype == j->in->loop && j->type == j->in->loop && j->made == j->dtype &&
	       j->inner.loops.n == 1 && j->inner.step[0][0] == bytes;
}

static void some_chunks(void *data, int64_t lo, int64_t hi)
{
	const struct shared *s = data;
	_Alignas(64) states state;

	for (int64_t c = lo; c < hi; c++)
		reduce_chunk(s->j, 0, c * TREE_CHUNK, least((c + 1) * TREE_CHUNK, s->j->total),
			     state, &s->acc[c]);
}

static void some_points(void *data, int64_t lo, int64_t hi)
{
	const struct shared *s = data;
	const struct job *j = s->j;
	_Alignas(64) states state[2];
	int64_t at[LIMIT_NDIM];

	for (int64_t p = lo; p < hi; p++) {
		walk_seek(&j->par.loops, p, at);
		reduce_point(j, walk_offset(&j->par.loops, j->par.step[0], at), state,
			     s->out + p * bytes_of(j->dtype));
	}
}

/* Apart, as its memory is no matter of small reductions. */
static __attribute__((noinline)) void reduce_shared(const struct job *j, char *out, int64_t all,
						    uint64_t work)
{
	struct bz_acc acc[CHUNKS];
	struct shared s = {.j = j, .out = out, .acc = acc};
	int64_t chunks = (j->total + TREE_CHUNK - 1) / TREE_CHUNK;
	_Alignas(64) states state;

	if (all > 1 || chunks < 2) {
		near_share(some_points, &s, all, 1, work);
		return;
	}
	near_share(some_chunks, &s, chunks, 1, work);
	j->red->init(state);
	for (int64_t c = 0; c < chunks; c++)
		j->red->join(state, &acc[c]);
	j->red->end(state, j->total, &acc[0]);
	j->red->put(&acc[0], out);
}

/* ---- A tile of points at a time ---- */

/* Do the points' elements lie side by side, and rows of them evenly apart? */
static bool are_columns(const struct job *j, int64_t p, int64_t n)
{
	int last = j->par.loops.n - 1;

	return j->in->dtype == j->in->loop && j->type == j->in->loop && j->inner.loops.n == 1 &&
	       j->par.step[0][last] == bytes_of(j->in->dtype) &&
	       p % j->par.loops.extent[last] + n <= j->par.loops.extent[last];
}

/* How many of the points from p on are a tile: of long rows not those of two. */
#define LONG_ROW 8

static int64_t tile_points(const struct job *j, int64_t p, int64_t end)
{
	int64_t row = j->par.loops.extent[j->par.loops.n - 1], n = least(TILE, end - p);

	return row < LONG_ROW || j->inner.loops.n > 1 ? n : least(n, row - p % row);
}

/* The n <= TILE points from p on: their results, in the tile's memory. */
static const char *reduce_tile(const struct job *j, int64_t p, int64_t n, char *memory)
{
	int64_t at[LIMIT_NDIM];
	struct tile t;

	tile_init(&t, j->n->lib->isa, j->n->lib->wide, j->red, j->type, n, memory);
	if (are_columns(j, p, n)) {
		walk_seek(&j->par.loops, p, at);
		if (tile_take_all(&t, j->in->at + walk_offset(&j->par.loops, j->par.step[0], at),
				  j->inner.step[0][0], j->total))
			return tile_end(&t);
	}
	for (int64_t e = 0; e < j->total; e++) {
		walk_seek(&j->inner.loops, e, at);
		int64_t offset = walk_offset(&j->inner.loops, j->inner.step[0], at);
		tile_take(&t, values(j, &j->par, offset, p, n), e, j->total);
	}
	return tile_end(&t);
}

/* Reduced elements below which a tile of points is quicker than one after the other: where each
 * point's lie side by side, and where they do not. */
#define FEW_BESIDE 40
#define FEW_APART  256

/* Are columns the better vectors?  Where memory runs along the points, and where the
 * reduced rows are too short to fill a block. */
static bool want_tiles(const struct job *j, int64_t n)
{
	int64_t bytes = bytes_of(j->in->dtype);
	bool beside = j->inner.step[0][j->inner.loops.n - 1] == bytes;
	bool along = j->par.step[0][j->par.loops.n - 1] == bytes && j->total > 1 && !beside;

	return (j->red->identity || j->red->side) &&
	       ((along && n >= 8) || (j->total < (beside ? FEW_BESIDE : FEW_APART) && n >= 64));
}

/* May threads share tiles?  As with points: of a tile's rows only the very last is copied to be
 * read, where the operand ends with it. */
static bool shares_tiles(const struct job *j, int64_t all)
{
	int64_t bytes = bytes_of(j->in->dtype);

	return all * j->total * bytes >= NEAR_FETCHED && all >= 2 * TIER0_LANES &&
	       j->in->dtype == j->in->loop && j->type == j->in->loop && j->made == j->dtype &&
	       j->par.loops.n == 1 && j->par.step[0][0] == bytes;
}

static void do_tiles(const struct shared *s, int64_t lo, int64_t hi, char *memory)
{
	int64_t bytes = bytes_of(s->j->dtype);

	for (int64_t p = lo, n; p < hi; p += n) {
		n = tile_points(s->j, p, hi);
		memcpy(s->out + p * bytes, reduce_tile(s->j, p, n, memory), (size_t)(n * bytes));
	}
}

/* On the stack of one of ours: a program's threads may have smaller ones. */
static __attribute__((noinline)) void tiles_elsewhere(const struct shared *s, int64_t lo,
						      int64_t hi)
{
	_Alignas(64) char memory[TILE_BYTES];

	do_tiles(s, lo, hi, memory);
}

static void some_tiles(void *data, int64_t lo, int64_t hi)
{
	const struct shared *s = data;

	if (pthread_equal(pthread_self(), s->caller))
		do_tiles(s, lo, hi, s->j->n->scratch->tile);
	else
		tiles_elsewhere(s, lo, hi);
}

/* As wide a strip as each of the threads can have: of rows that lie apart long pieces are read. */
static __attribute__((noinline)) void share_tiles(const struct job *j, char *out, int64_t all,
						  uint64_t work)
{
	struct shared s = {.j = j, .out = out, .caller = pthread_self()};
	int64_t threads = team_threads(), each = (all + threads - 1) / threads;

	each = (each + TIER0_LANES - 1) / TIER0_LANES * TIER0_LANES;
	near_share(some_tiles, &s, all, each, work);
}

static void convert(const struct job *j, char *out, const char *made, int64_t n)
{
	char *to = j->n->scratch->out;

	if (j->made == j->dtype) {
		memcpy(out, made, (size_t)(n * bytes_of(j->dtype)));
		return;
	}
	j->n->lib->isa->cast[j->made][j->dtype](to, made, made, made, n);
	memcpy(out, to, (size_t)(n * bytes_of(j->dtype)));
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

	if (unlikely(all * j.total >= NEAR_FETCHED / 16) &&
	    (tiles ? shares_tiles(&j, all) : shares(&j, all))) {
		uint64_t work = near_work(n, op, in->loop, all * j.total);

		if (tiles)
			share_tiles(&j, out, all, work);
		else
			reduce_shared(&j, out, all, work);
		near_leave(mode);
		return;
	}
	for (int64_t p = 0, take; p < all; p += take) {
		const char *done = made;

		take = tiles ? tile_points(&j, p, all) : 1;
		if (tiles) {
			done = reduce_tile(&j, p, take, n->scratch->tile);
		} else {
			walk_seek(&j.par.loops, p, at);
			reduce_point(&j, walk_offset(&j.par.loops, j.par.step[0], at),
				     n->scratch->state, made);
		}
		convert(&j, out + p * bytes_of(dtype), done, take);
	}
	near_leave(mode);
}
