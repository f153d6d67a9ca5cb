/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_launch.c - see cuda_launch.h. */
#include "cuda_launch.h"

#include <string.h>

#include "cuda_geometry.h"
#include "emit/emit.h"
#include "loops/kernel_abi.h"
#include "loops/product.h"

#define MANY_WARPS  16	/* warps a multiprocessor wants busy */
#define TEAM_ROWS   128 /* of a column, that a warp of a team is there for */
#define MANY_TEAMS  16	/* teams over columns, so that the last ones cost little */
#define TILE_LEAST  16	/* a loop shorter than this is not worth tiles */
#define ROW_LEAST   256 /* a row shorter than this is not worth strips */
#define SECTOR	    32	/* bytes that memory moves at least */
#define BLOCK_LOG   10	/* binary logarithms of TREE_BLOCK, TREE_CHUNK */
#define CHUNK_LOG   16
#define SHORT	    512		/* elements of a row whose warp would mostly wait */
#define THIN_GROUPS 4		/* of a warp in bz_reduce_thin */
#define SOON	    (160 << 10) /* bytes that one block reads in the time of a launch */

struct domain {
	const struct cuda_step *s;
	unsigned loops, nreduce;
	int64_t points, reduced, chunks;
	int64_t pieces; /* of a point, each of 2^piece elements */
	unsigned piece;
	unsigned units;
};

static int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t up(int64_t n, int64_t by)
{
	return n / by + (n % by != 0);
}

static int64_t stride_of(const struct cuda_step *s, unsigned a, unsigned l)
{
	return s->stride[a * LIMIT_NDIM + l];
}

/* ---- the parameter -------------------------------------------------------------- */

static char *put(char *at, const void *from, size_t bytes)
{
	if (bytes)
		memcpy(at, from, bytes);
	return at + bytes;
}

size_t cuda_launch_args(char block[CUDA_ARGS_BYTES], const struct cuda_step *s)
{
	const struct nest *n = s->spec;
	unsigned loops = n->npar + n->nred;
	char *at = block + sizeof(struct cuda_args);

	_Static_assert(sizeof(struct cuda_args) + 8 * LIMIT_NEST_ACCESSES + 8 * LIMIT_NDIM +
				       8 * LIMIT_NEST_ACCESSES * LIMIT_NDIM +
				       16 * LIMIT_NEST_SCALARS + 16 * LIMIT_NEST_ACCESSES <
			       CUDA_ARGS_BYTES,
		       "every nest's parameter fits");
	memset(block, 0, sizeof(struct cuda_args));
	at = put(at, s->base, 8 * (size_t)n->naccess);
	at = put(at, s->extent, 8 * (size_t)loops);
	for (unsigned a = 0; a < n->naccess; a++)
		at = put(at, s->stride + a * LIMIT_NDIM, 8 * (size_t)loops);
	at = put(at, s->scalar, 16 * (size_t)n->nscalar);
	at = put(at, s->gather, 16 * (size_t)nest_gathers(n));
	return (size_t)(at - block);
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
			      .team = (uint16_t)item->team,
			      .piece = (uint16_t)item->piece,
			      .tile = item->tile};

	memcpy(block, &a, sizeof a);
}

/* ---- facts ----------------------------------------------------------------------- */

enum status cuda_launch_aligned(unsigned operand, unsigned dtype, uint64_t bits, struct err *err)
{
	const struct dtype_row *row = dtype_row(dtype);
	unsigned part = row->cls == CLASS_COMPLEX ? row->bytes / 2u : row->bytes;

	return bits & (part - 1)
		       ? err_set(err, E_UNSUPPORTED,
				 "operand %u of type %s does not lie on multiples of %u bytes, "
				 "as a GPU needs; copy the array, or use device='cpu'",
				 operand, row->name, part)
		       : OK;
}

static enum status check_alignment(const struct domain *d, struct err *err)
{
	enum status st = OK;

	for (unsigned a = 0; a < d->s->spec->naccess && st == OK; a++) {
		uint64_t bits = d->s->base[a];

		for (unsigned l = 0; l < d->loops; l++)
			bits |= d->s->extent[l] > 1 ? (uint64_t)stride_of(d->s, a, l) : 0;
		if (d->s->spec->access[a].gather)
			bits |= (uint64_t)d->s->gather[2 * nest_gather(d->s->spec, a) + 1];
		st = cuda_launch_aligned(a, d->s->spec->access[a].dtype, bits, err);
	}
	return st;
}

/* Do points and byte offsets, and one step of the grid beyond them, fit 32 bits? */
static bool fits_32(const struct domain *d)
{
	const int64_t most = INT32_MAX / 2;

	if (!emit_cuda_narrow(d->s->spec) || d->points > most || d->reduced > most)
		return false;
	for (unsigned a = 0; a < d->s->spec->naccess; a++) {
		__int128 reach = 0;

		for (unsigned l = 0; l < d->loops; l++) {
			__int128 s = stride_of(d->s, a, l);

			reach += (s < 0 ? -s : s) * d->s->extent[l];
		}
		if (reach > most)
			return false;
	}
	return true;
}

/* A grid for its work, at most what a GPU holds at once of a kernel of few needs. */
static void lay(struct cuda_launch *l, const struct domain *d)
{
	const struct cuda_facts any = {.units = d->units, .most_threads = CUDA_THREADS};
	const struct cuda_shape shape = {.threads = CUDA_THREADS, .blocks = CUDA_BLOCKS_PER_UNIT};

	cuda_geometry_apply(l, &shape, &any);
}

/* Bytes that accesses move at so many points, each at `reduced` reduced ones. */
static uint64_t moved(const struct domain *d, int64_t points, int64_t reduced)
{
	const struct nest *n = d->s->spec;
	double sum = 0;

	for (unsigned a = 0; a < n->naccess; a++) {
		double bytes = dtype_row(n->access[a].dtype)->bytes;
		int64_t outer = n->access[a].gather, inner = 0;

		for (unsigned l = 0; l < d->loops; l++)
			*(l < n->npar ? &outer : &inner) |= stride_of(d->s, a, l);
		sum += bytes * (outer ? (double)points : 1) * (inner ? (double)reduced : 1);
	}
	return sum < 0x1p62 ? (uint64_t)sum : 1ull << 62;
}

/* ---- maps ------------------------------------------------------------------------- */

static bool vectors(const struct domain *d, unsigned points)
{
	const struct cuda_step *s = d->s;
	unsigned last = s->spec->npar - 1u;

	if (!points || s->hi - s->lo < points)
		return false;
	/* Groups of points must not reach from one row into the next. */
	if (last && s->extent[last] % points)
		return false;
	for (unsigned a = 0; a < s->spec->naccess; a++) {
		const struct nest_access *x = &s->spec->access[a];
		uint64_t bits = s->base[a];

		for (unsigned l = 0; l < last; l++)
			bits |= s->extent[l] > 1 ? (uint64_t)stride_of(s, a, l) : 0;
		if (!x->gather && x->walk == WALK_UNIT &&
		    bits & (points * dtype_row(x->dtype)->bytes - 1))
			return false;
	}
	return true;
}

/* Are the rows so long that strips of them are mostly whole? */
static bool rows(const struct domain *d, unsigned points)
{
	int64_t row = points ? d->s->extent[d->s->spec->npar - 1] : 0;

	return row >= ROW_LEAST && row >= 3 * (int64_t)points * CUDA_LANES;
}

static bool dense(const struct cuda_step *s, unsigned a, unsigned l)
{
	int64_t bytes = dtype_row(s->spec->access[a].dtype)->bytes, by = stride_of(s, a, l);

	return by == bytes || by == -bytes;
}

/* Is access a one that a warp along the last loop reads from as many places? */
static bool scattered(const struct cuda_step *s, unsigned a)
{
	int64_t far = stride_of(s, a, s->spec->npar - 1u);

	return !s->spec->access[a].gather && (far >= SECTOR || far <= -SECTOR);
}

/* The loop along which most of what is strided along the last loop is dense. */
static bool tiles(const struct domain *d, unsigned *tile)
{
	const struct cuda_step *s = d->s;
	unsigned last = s->spec->npar - 1u, count[LIMIT_NDIM] = {0}, best = 0;

	if (!emit_cuda_tile(s->spec) || s->extent[last] < TILE_LEAST)
		return false;
	for (unsigned a = 0; a < s->spec->naccess; a++)
		for (unsigned l = 0; l < last; l++)
			count[l] += scattered(s, a) && s->extent[l] >= TILE_LEAST && dense(s, a, l);
	for (unsigned l = 1; l < last; l++)
		best = count[l] > count[best] ? l : best;
	*tile = best;
	return count[best] > 0;
}

/* The accesses that come through shared memory. */
static int64_t staged(const struct domain *d, unsigned tile)
{
	const struct cuda_step *s = d->s;
	uint32_t can = emit_cuda_staged(s->spec), out = 0;

	for (unsigned a = 0; a < s->spec->naccess; a++)
		if (can >> a & 1 && scattered(s, a) && dense(s, a, tile))
			out |= 1u << a;
	return out;
}

/* Blocks of tiles that have points of [lo, hi), at least. */
static int64_t tile_count(const struct domain *d, unsigned tile)
{
	const struct cuda_step *s = d->s;
	int64_t row = up(s->extent[s->spec->npar - 1], CUDA_TILE);
	int64_t each = CUDA_TILE * s->extent[s->spec->npar - 1];

	return s->extent[tile] ? up(s->hi - s->lo, each) * row : 0;
}

/* Turns of all threads over strips of the rows that have points of [lo, hi). */
static int64_t row_turns(const struct domain *d, unsigned points)
{
	int64_t row = d->s->extent[d->s->spec->npar - 1];
	int64_t n = up(d->s->hi, row) - d->s->lo / row;

	return n * up(row, (int64_t)points * CUDA_LANES) * CUDA_LANES;
}

static enum cuda_entry map_entry(const struct domain *d, unsigned *tile)
{
	const struct nest *n = d->s->spec;
	bool narrow = fits_32(d);

	if (vectors(d, emit_cuda_vector(n)))
		return narrow ? ENTRY_bz_map_vector_narrow : ENTRY_bz_map_vector;
	if (tiles(d, tile))
		return narrow ? ENTRY_bz_map_tile_narrow : ENTRY_bz_map_tile;
	if (rows(d, emit_cuda_row(n)))
		return narrow ? ENTRY_bz_map_row_narrow : ENTRY_bz_map_row;
	return narrow ? ENTRY_bz_map_narrow : ENTRY_bz_map;
}

static void plan_map(struct cuda_launches *out, const struct domain *d)
{
	const struct cuda_step *s = d->s;
	struct cuda_launch *l = &out->item[0];
	unsigned points, tile = 0;
	enum cuda_entry entry = map_entry(d, &tile);

	if (!emit_cuda_has(s->spec, entry))
		entry = ENTRY_bz_map;
	*l = (struct cuda_launch){.lo = s->lo, .hi = s->hi, .team = 1, .entry = entry};
	switch (entry) {
	case ENTRY_bz_map_vector:
	case ENTRY_bz_map_vector_narrow:
		points = emit_cuda_vector(s->spec);
		points *= s->spec->npar == 1 ? emit_cuda_flight(s->spec) : 1;
		l->work = up(s->hi - s->lo, points);
		break;
	case ENTRY_bz_map_tile:
	case ENTRY_bz_map_tile_narrow:
		l->kind = LAUNCH_TILES;
		l->work = tile_count(d, tile);
		l->tile = tile;
		l->clo = staged(d, tile);
		break;
	case ENTRY_bz_map_row:
	case ENTRY_bz_map_row_narrow:
		l->work = row_turns(d, emit_cuda_row(s->spec));
		break;
	default:
		l->work = s->hi - s->lo;
	}
	l->bytes = moved(d, s->hi - s->lo, 1);
	lay(l, d);
	out->n = 1;
}

/* ---- reductions --------------------------------------------------------------------- */

/* Bytes that a warp's accesses move when its threads lie along loop l. */
static int64_t spread(const struct domain *d, unsigned l)
{
	int64_t sum = 0;

	for (unsigned a = 0; a < d->s->spec->naccess; a++) {
		int64_t s = stride_of(d->s, a, l), reduced = 0;

		for (unsigned r = d->s->spec->npar; r < d->loops; r++)
			reduced |= stride_of(d->s, a, r);
		if (!reduced)
			continue; /* read once a point, not at every one */
		sum += min64(s < 0 ? -s : s, SECTOR);
	}
	return sum;
}

/* Should threads lie along the parallel loops?  Where memory is as good, the warp on
 * one point wins by its parallelism, unless the reduced points are few. */
static bool columns(const struct domain *d, int64_t points)
{
	const struct nest *n = d->s->spec;
	int64_t along, across;

	if (!n->npar || points < 2)
		return false;
	along = spread(d, d->loops - 1);
	across = spread(d, n->npar - 1u);
	if (d->s->extent[n->npar - 1] < 8 && d->reduced > 32)
		return false;
	return across < along || d->reduced <= 8;
}

/* Warps for a task of so many blocks of the tree: at least least, at most most; more
 * where the tasks alone leave multiprocessors idle. */
static uint32_t team_for(const struct domain *d, int64_t tasks, int64_t least, int64_t most)
{
	uint32_t team = 1;

	while (team < CUDA_WARPS && team < least)
		team *= 2;
	while (team < CUDA_WARPS && team < most && tasks * team < (int64_t)d->units * MANY_WARPS)
		team *= 2;
	return team;
}

/* Blocks of the tree in a point's greatest piece. */
static int64_t blocks_of(const struct domain *d)
{
	return up(min64(d->reduced, (int64_t)1 << d->piece), TREE_BLOCK);
}

/* Have so many units of pieces (points, or 32 of them) enough to do for the whole GPU?  Every
 * multiprocessor has a task, and the warps that it wants, or as many as there can be.  Over
 * columns a block is one team, of which few are there at once: a last turn of few blocks
 * costs as much as a full one, so there are several turns. */
static bool enough(const struct domain *d, int64_t units, bool columns)
{
	int64_t tasks = units * up(d->reduced, (int64_t)1 << d->piece);

	if (columns)
		return tasks >= (int64_t)d->units * MANY_TEAMS;
	if (tasks < d->units)
		return false;
	return tasks * CUDA_WARPS >= (int64_t)d->units * MANY_WARPS || blocks_of(d) <= CUDA_WARPS;
}

/* How large pieces are: chunks, or less where those are too few.  Where each point is one
 * chunk, pieces cost a launch that combines them.  Slices of a split step have the same. */
static void cut(struct domain *d, int64_t points, bool columns)
{
	const struct nest *n = d->s->spec;
	int64_t units = columns ? up(points, 32) : points;

	d->piece = BLOCK_LOG;
	while (d->piece < CHUNK_LOG && (int64_t)1 << d->piece < d->reduced)
		d->piece++;
	if (!n->nmore &&
	    (d->chunks > 1 || d->s->split || moved(d, columns ? 32 : 1, d->reduced) > SOON))
		while (d->piece > BLOCK_LOG && !enough(d, units, columns))
			d->piece--;
	d->pieces = up(d->reduced, (int64_t)1 << d->piece);
}

/* Do accesses of so many reduced points stay in their row, on multiples of their size? */
static bool vectors_along(const struct domain *d, unsigned points)
{
	const struct cuda_step *s = d->s;
	unsigned last = d->loops - 1;

	if (!points || (s->spec->nred > 1 && s->extent[last] % points))
		return false;
	for (unsigned a = 0; a < s->spec->naccess; a++) {
		uint64_t bits = s->base[a];

		if (s->spec->access[a].walk != WALK_UNIT)
			continue;
		for (unsigned l = 0; l < last; l++)
			bits |= s->extent[l] > 1 ? (uint64_t)stride_of(s, a, l) : 0;
		if (bits & (points * dtype_row(s->spec->access[a].dtype)->bytes - 1))
			return false;
	}
	return true;
}

/* How a warp goes along reduced loops: a block at a time, or several at once by few threads
 * each, `groups` of them.  That takes 16 bytes at once where they are aligned, and of short rows
 * several; a block at a time has more warps. */
static enum cuda_entry along(const struct domain *d, int64_t points, bool narrow, unsigned *groups)
{
	unsigned vector = emit_cuda_reduce_vector(d->s->spec);
	int64_t blocks = points * up(d->reduced, TREE_BLOCK),
		busy = (int64_t)d->units * MANY_WARPS / 2;
	bool thin = emit_cuda_reduce_thin(d->s->spec) && d->reduced <= SHORT &&
		    blocks / THIN_GROUPS >= busy;

	*groups = 1;
	/* Of elements that are as wide as a vector a warp takes one row only. */
	if (vectors_along(d, vector) && blocks / vector >= busy && (vector > 1 || !thin) &&
	    (d->piece == BLOCK_LOG || blocks_of(d) >= vector)) {
		*groups = vector;
		return narrow ? ENTRY_bz_reduce_vector_narrow : ENTRY_bz_reduce_vector;
	}
	if (thin) {
		*groups = THIN_GROUPS;
		return narrow ? ENTRY_bz_reduce_thin_narrow : ENTRY_bz_reduce_thin;
	}
	return narrow ? ENTRY_bz_reduce_warp_narrow : ENTRY_bz_reduce_warp;
}

/* Accumulators, and behind the last slice the kernel that combines them. */
static void plan_parts(struct cuda_launches *out, const struct domain *d)
{
	const struct cuda_launch *l = &out->item[0];
	int64_t points = l->hi - l->lo, warps = up(d->pieces, 32), wide = 1;
	struct cuda_launch *last = NULL;

	out->part_skip = (uint64_t)(l->lo * d->pieces * d->nreduce) * sizeof(struct bz_acc);
	out->part_bytes = (uint64_t)(points * d->pieces * d->nreduce) * sizeof(struct bz_acc);
	if (!out->part_bytes) /* stores only: the address is never used, but tells of parts */
		out->part_bytes = sizeof(struct bz_acc);
	if (d->s->split && !(d->s->split & 2))
		return;
	last = &out->item[out->n++];
	*last = (struct cuda_launch){.entry = ENTRY_bz_finish,
				     .lo = l->lo,
				     .hi = l->hi,
				     .team = 1,
				     .piece = d->piece,
				     .part = true,
				     .kind = LAUNCH_ROWS,
				     .work = points,
				     .bytes = out->part_bytes,
				     .most = (uint16_t)min64(warps, CUDA_WARPS)};
	if (warps <= 1) { /* a thread for each piece, and for what it lacks to a power of two */
		while (wide < d->pieces)
			wide *= 2;
		last->kind = LAUNCH_POINTS;
		last->work = points * wide;
	}
	lay(last, d);
}

/* The pieces of each point that a slice takes. */
static void pieces_of(struct cuda_launch *l, const struct domain *d)
{
	const struct cuda_step *s = d->s;

	l->chi = d->pieces ? d->pieces : 1;
	if (!s->split)
		return;
	l->clo = s->lo << (CHUNK_LOG - d->piece);
	l->chi = min64(s->hi << (CHUNK_LOG - d->piece), l->chi);
}

/* The warps of a team: each has room for the values of 8 turns of theirs, of `turns` in all; over
 * columns at least one for each TEAM_ROWS rows of a piece, so that much is under way. */
static void teams(struct cuda_launch *l, const struct domain *d, int64_t turns, int64_t most,
		  bool across)
{
	int64_t least = up(turns, 8), rows = min64(d->reduced, (int64_t)1 << d->piece);

	l->least = (uint16_t)team_for(d, INT32_MAX, least, 1);
	l->most = (uint16_t)team_for(d, 0, least, most);
	if (across && rows / TEAM_ROWS > least)
		least = min64(rows / TEAM_ROWS, most);
	l->team = team_for(d, l->work, least, most);
}

/* How a reduction of so many points goes, across columns or along them, and its pieces. */
static enum cuda_entry reduce_entry(struct domain *d, int64_t points, bool *across,
				    unsigned *groups)
{
	bool narrow = fits_32(d);
	enum cuda_entry entry;

	*groups = 1;
	*across = columns(d, points);
	cut(d, points, *across);
	if (*across)
		entry = narrow ? ENTRY_bz_reduce_column_narrow : ENTRY_bz_reduce_column;
	else
		entry = along(d, points, narrow, groups);
	if (emit_cuda_has(d->s->spec, entry))
		return entry;
	*groups = 1;
	*across = false;
	cut(d, points, false);
	return ENTRY_bz_reduce_warp;
}

static void plan_reduce(struct cuda_launches *out, struct domain *d)
{
	const struct cuda_step *s = d->s;
	struct cuda_launch *l = &out->item[0];
	unsigned groups = 1;
	int64_t tasks, most;
	bool across = false;

	*l = (struct cuda_launch){.lo = s->lo, .hi = s->hi};
	if (s->split) {
		l->lo = 0;
		l->hi = d->points;
	}
	if (l->lo >= l->hi)
		return;
	l->entry = reduce_entry(d, l->hi - l->lo, &across, &groups);
	pieces_of(l, d);
	if (l->clo >= l->chi)
		return;
	l->piece = d->piece;
	l->part = s->split || d->pieces > 1;
	tasks = l->chi - l->clo;
	most = blocks_of(d);
	if (across) {
		tasks *= up(l->hi - l->lo, 32);
	} else {
		tasks *= l->hi - l->lo;
		if (d->piece == BLOCK_LOG) /* each group has a task of its own */
			tasks = up(tasks, groups);
		most = up(most, groups);
	}
	l->kind = LAUNCH_TASKS;
	l->work = tasks;
	teams(l, d, most, across ? min64(d->reduced, CUDA_WARPS) : most, across);
	l->bytes = moved(d, l->hi - l->lo,
			 min64((l->chi - l->clo) << d->piece, d->reduced ? d->reduced : 1));
	lay(l, d);
	out->n = 1;
	if (l->part)
		plan_parts(out, d);
}

static int64_t product(const int64_t *extent, unsigned from, unsigned to)
{
	int64_t n = 1;

	for (unsigned l = from; l < to; l++)
		n *= extent[l];
	return n;
}

enum status cuda_launch_plan(struct cuda_launches *out, const struct cuda_step *s,
			     unsigned multiprocessors, struct err *err)
{
	const struct nest *n = s->spec;
	struct domain d = {.s = s,
			   .loops = n->npar + n->nred,
			   .points = product(s->extent, 0, n->npar),
			   .reduced = product(s->extent, n->npar, n->npar + n->nred),
			   .units = multiprocessors ? multiprocessors : 1};
	enum status st;

	*out = (struct cuda_launches){0};
	d.nreduce = nest_reductions(n);
	d.chunks = up(d.reduced, TREE_CHUNK);
	if (!d.points)
		return OK;
	st = check_alignment(&d, err);
	if (st)
		return st;
	if (n->nred)
		plan_reduce(out, &d);
	else if (s->lo < s->hi)
		plan_map(out, &d);
	return OK;
}

uint16_t cuda_launch_way(const struct nest *n, unsigned multiprocessors)
{
	int64_t stride[LIMIT_NEST_ACCESSES * LIMIT_NDIM];
	uint64_t base[LIMIT_NEST_ACCESSES];
	struct cuda_step s = {.spec = n, .extent = n->extent, .stride = stride, .base = base};
	struct domain d = {.s = &s,
			   .loops = n->npar + n->nred,
			   .points = product(n->extent, 0, n->npar),
			   .reduced = product(n->extent, n->npar, n->npar + n->nred),
			   .units = multiprocessors ? multiprocessors : 1};
	unsigned tile = 0, groups;
	bool across;

	if (!d.points || !(n->npar + n->nred))
		return 0;
	for (unsigned a = 0; a < n->naccess; a++) {
		memcpy(stride + a * LIMIT_NDIM, n->access[a].stride, sizeof n->access[a].stride);
		/* Where a turn of a loop moves it, too. */
		base[a] = (uint64_t)n->access[a].offset | (uint64_t)n->access[a].move;
	}
	s.hi = d.points;
	d.chunks = up(d.reduced, TREE_CHUNK);
	return (uint16_t)(1 + (n->nred ? reduce_entry(&d, d.points, &across, &groups)
				       : map_entry(&d, &tile)));
}

/* Tiles whose first row comes before row r of all batches' rows. */
static int64_t tiles_before(const struct product *p, int64_t r)
{
	int64_t wide = up(p->n, CUDA_MATMUL_TILE), high = up(p->m, CUDA_MATMUL_TILE);

	if (p->m <= 0)
		return 0;
	return (r / p->m * high + up(r % p->m, CUDA_MATMUL_TILE)) * wide;
}

void cuda_launch_matmul(struct cuda_matmul_args *out, uint32_t *grid, const struct product *p,
			const uint64_t base[3], int64_t lo, int64_t hi, uint64_t cancel)
{
	*out = (struct cuda_matmul_args){.m = p->m,
					 .n = p->n,
					 .k = p->k,
					 .lo = tiles_before(p, lo),
					 .hi = tiles_before(p, hi),
					 .cancel = cancel,
					 .nbatch = p->nbatch,
					 .fused = product_fused(p->m, p->n, p->k)};
	memcpy(out->base, base, sizeof out->base);
	memcpy(out->row, p->row, sizeof out->row);
	memcpy(out->col, p->col, sizeof out->col);
	memcpy(out->batch, p->batch, sizeof out->batch);
	memcpy(out->step, p->step, sizeof out->step);
	*grid = (uint32_t)min64(out->hi - out->lo, INT32_MAX);
}
