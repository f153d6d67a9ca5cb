/* SPDX-License-Identifier: Apache-2.0 */
/* worker/worker_scan.c - a slice of a scan on the pool.
 *
 * With tiles of lanes enough each thread takes whole ones, block after block.  Of few tiles the
 * blocks go round by round, each round's in what the threads' caches hold: they are computed apart
 * from each other, joined by their last elements in order, and added to.  Both give the same bits
 * (kernels/loops/scan.h). */
#include "call/scan.h"
#include "worker.h"

#define SERIAL_NS     50000	/* a slice predicted below this is not worth waking threads */
#define PER_THREAD    2		/* tiles that a thread should find */
#define UNIT_ELEMENTS (1 << 15) /* that a thread takes at a time */
#define ROUND_UNITS   4		/* that it finds in a round: it may be held up in one */

/* What the pool's threads see of the step. */
struct scan_step {
	const struct worker_call *x;
	struct scan_call c;
	struct scan_cut cut;
	int64_t tile;		/* rounds: the one that they are of */
	int64_t at, end, grain; /* its blocks, and how many a thread takes */
};

static void lanes_of_tile(const struct scan_step *s, int64_t tile, int64_t *first, int64_t *last)
{
	*first = tile * s->cut.tile;
	*last = *first + s->cut.tile < s->cut.lanes ? *first + s->cut.tile : s->cut.lanes;
}

/* Blocks of the slice that the tile has. */
static void blocks_of_tile(const struct scan_step *s, int64_t tile, int64_t *lo, int64_t *hi)
{
	int64_t begin = tile * s->cut.blocks, end = begin + s->cut.blocks;

	*lo = s->x->lo > begin ? s->x->lo - begin : 0;
	*hi = (s->x->hi < end ? s->x->hi : end) - begin;
}

static void tile_unit(void *data, int thread, int64_t unit)
{
	struct scan_step *s = data;
	int64_t tile = s->x->lo / s->cut.blocks + unit, first = 0, last = 0, lo = 0, hi = 0;

	worker_unit_begin(s->x->w, s->x->cmd, thread);
	lanes_of_tile(s, tile, &first, &last);
	blocks_of_tile(s, tile, &lo, &hi);
	for (int64_t b = lo; b < hi && !bz_cancelled(&s->x->w->cancel); b += s->grain) {
		scan_whole(&s->c, first, last, b, b + s->grain < hi ? b + s->grain : hi);
		if (thread == 0)
			worker_poll(s->x->w);
	}
	worker_unit_end(s->x->w, thread);
}

/* The blocks of a round's unit, by one of the two steps that threads share. */
static void round_unit(struct scan_step *s, int thread, int64_t unit,
		       void (*fn)(const struct scan_call *c, int64_t first, int64_t last,
				  int64_t lo, int64_t hi))
{
	int64_t lo = s->at + unit * s->grain, first = 0, last = 0;

	if (bz_cancelled(&s->x->w->cancel))
		return;
	worker_unit_begin(s->x->w, s->x->cmd, thread);
	lanes_of_tile(s, s->tile, &first, &last);
	fn(&s->c, first, last, lo, lo + s->grain < s->end ? lo + s->grain : s->end);
	worker_unit_end(s->x->w, thread);
}

static void local_unit(void *data, int thread, int64_t unit)
{
	round_unit(data, thread, unit, scan_local);
}

static void spread_unit(void *data, int thread, int64_t unit)
{
	round_unit(data, thread, unit, scan_spread);
}

static void rounds(struct scan_step *s, int64_t tile, int64_t threads)
{
	struct pool *pool = s->x->w->pool;
	int64_t first = 0, last = 0, lo = 0, hi = 0, round = s->grain * ROUND_UNITS * threads;

	s->tile = tile;
	lanes_of_tile(s, tile, &first, &last);
	blocks_of_tile(s, tile, &lo, &hi);
	for (s->at = lo; s->at < hi && !bz_cancelled(&s->x->w->cancel); s->at = s->end) {
		int64_t left = hi - s->at, units = 0;

		s->end = left < round ? hi : s->at + round;
		units = (s->end - s->at + s->grain - 1) / s->grain;
		pool_run(pool, local_unit, s, units, worker_poll, s->x->w);
		scan_join(&s->c, first, last, s->at, s->end);
		pool_run(pool, spread_unit, s, units, worker_poll, s->x->w);
	}
}

/* Memory for the part of the result that the slice writes, where its units are in its order. */
static void back_result(const struct scan_step *s)
{
	const struct plan_call *c = &s->x->call;
	int64_t units = s->cut.tiles * s->cut.blocks, lo = 0, hi = 0;
	double each = 0;

	call_range(&lo, &hi, c, 1);
	if (hi - lo != (int64_t)scan_work(c) * dtype_row(c->dtype)->bytes ||
	    s->c.lanes.to_step != dtype_row(c->dtype)->bytes)
		return;
	each = (double)(hi - lo) / (double)units;
	hi = lo + (int64_t)(each * (double)s->x->hi);
	lo += (int64_t)(each * (double)s->x->lo);
	region_back(&s->x->w->regions, &s->x->place[1], lo, hi);
}

enum status worker_scan(const struct worker_call *x, struct err *err)
{
	static const struct scan_isa *const isa[ISA_END] = {&scan_isa_v2, &scan_isa_v3,
							    &scan_isa_v4};
	struct scan_step s = {.x = x};
	enum isa_level level = isa_best();
	int64_t threads = pool_threads(x->w->pool), tiles = 0, each = 0;
	double ns = 0;

	scan_of(&s.c, &s.cut, &x->call);
	s.c.loops = scan_loops(isa[level < 0 ? 0 : level], x->call.op, x->call.dtype);
	s.c.from = x->base[0];
	s.c.to = x->base[1];
	back_result(&s);
	tiles = (x->hi - 1) / s.cut.blocks - x->lo / s.cut.blocks + 1;
	each = (int64_t)scan_work(&x->call) / (s.cut.tiles * s.cut.blocks) + 1;
	s.grain = UNIT_ELEMENTS / each + 1;
	ns = call_row(CALL_SCAN)->work_ns * (double)each * (double)(x->hi - x->lo);
	if (ns < SERIAL_NS) {
		for (int64_t t = 0; t < tiles; t++)
			tile_unit(&s, 0, t);
	} else if (threads == 1 || tiles >= PER_THREAD * threads) {
		pool_run(x->w->pool, tile_unit, &s, tiles, worker_poll, x->w);
	} else {
		for (int64_t t = 0; t < tiles; t++)
			rounds(&s, x->lo / s.cut.blocks + t, threads);
	}
	if (bz_cancelled(&x->w->cancel))
		return err_set(err, E_CANCELLED, "cancelled inside step %u", x->cmd->index);
	return OK;
}
